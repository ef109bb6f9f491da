//! The door between SQL and the protocol: one worker's transactions, whatever the protocol.
//!
//! What is called for each row knows the protocol's type: a program runs behind the door as a whole ([`Worker::run`]), and
//! what is put in place is, too. What is called once a statement or once a transaction is a method here. So a session knows
//! no protocol, and what it asks of one is this list.
//!
//! A worker reads and writes the tables of a schema version that it is handed with each call; they carry what its protocol
//! wants.

use crate::engine::program::host::SessionHost;
use crate::engine::put_in_place::put_in_place;
use crate::engine::schema_version::SchemaVersion;
use crate::engine::written::{Written, WrittenBy};
use planaria_base::clock::CommitClock;
use planaria_base::{CommitTs, Result, TableId, WorkerId};
use planaria_exec::slot::Slot;
use planaria_exec::{Code, Context, Interrupt, Machine, Suspended};
use planaria_log::Effect;
use planaria_protocol::snapshot::ReaderTxn;
use planaria_protocol::{
    ColumnsRead, Conflict, Heal, Healed, Hosted, Isolation, LocksMark, Protocol, RestartPoint, RowLocks,
    Savepoint, SnapshotReader, Telling, Unclaimed,
};
use planaria_storage::{Header, Tables};
use std::sync::Arc;
use std::time::Duration;

/// A program with all that it runs with but the host.
pub(crate) struct Run<'r> {
    /// What it computes in, and answers from.
    pub(crate) machine: &'r mut Machine,
    pub(crate) code: &'r Code,
    pub(crate) args: &'r [Slot],
    /// What it was compiled under.
    pub(crate) at: &'r SchemaVersion,
    /// Where it goes on, if it has been begun in another transaction.
    pub(crate) from: Option<&'r Suspended>,
}

impl Run<'_> {
    #[inline]
    fn over<P: RowLocks>(
        self,
        protocol: &P,
        txn: &mut P::Txn,
        host: &mut SessionHost<'_>,
    ) -> Result<(), Interrupt> {
        let Run { machine, code, args, at, from } = self;
        let calls = Default::default();
        let mut context = Context { protocol, txn, tables: at.tables.of(), link: at, host, calls };
        match from {
            None => machine.run(code, args, &mut context),
            Some(from) => machine.resume(code, from, &mut context),
        }
    }
}

/// What is told of a commit once its outcome is certain: its place in the order, and what it wrote.
pub(crate) type Committed<'c> = &'c mut dyn FnMut(CommitTs, &dyn Written);

/// For [`Worker::commit`], which runs it once at most: it is dropped when the commit is over, whatever its outcome.
pub(crate) fn once<'f>(
    f: impl FnOnce(CommitTs, &dyn Written) + 'f,
) -> impl FnMut(CommitTs, &dyn Written) + 'f {
    let mut f = Some(f);
    move |ts, written| {
        if let Some(f) = f.take() {
            f(ts, written);
        }
    }
}

/// See the module's head. Methods without a comment are those of the same name of [`Protocol`] and its capabilities.
pub(crate) trait Worker: Written + Send {
    // ---- a transaction ----

    fn begin(&mut self);
    fn try_begin(&mut self) -> bool;
    fn only_reads(&mut self) -> bool;
    fn is_active(&self) -> bool;
    fn is_read_only(&self) -> bool;
    fn newest_met(&self, at: &Tables) -> Option<CommitTs>;
    fn validate(&mut self, at: &Tables) -> bool;
    fn abort(&mut self, at: &Tables);
    fn retry(&mut self, at: &Tables);
    fn commit(&mut self, at: &Tables, committed: Committed<'_>) -> Result<CommitTs, Conflict>;

    fn may_heal(&mut self, may: bool);
    fn heal(&mut self, at: &Tables, cause: Conflict, columns: Option<&ColumnsRead>) -> Heal;
    fn take_healed(&mut self) -> Healed;

    // ---- rows ----

    /// Runs a program.
    fn run(&mut self, run: Run<'_>, host: &mut SessionHost<'_>) -> Result<(), Interrupt>;
    /// Runs what asks for rows of a call that will come, and what has been asked for is fetched: both in a transaction that is
    /// going to be aborted.
    fn run_ahead(&mut self, run: Run<'_>, host: &mut SessionHost<'_>) -> Result<(), Interrupt>;
    fn fetch(&mut self, machine: &mut Machine, at: &Tables);
    /// What has been found so stays found in transactions to come, until `let_go`.
    fn hold(&mut self);
    fn let_go(&mut self);
    /// Does what the log says, computing in the machine's heap.
    fn put_in_place(&mut self, effects: &[Effect], at: &SchemaVersion, machine: &mut Machine) -> Result<()>;

    // ---- within a transaction ----

    fn savepoint(&mut self) -> Savepoint;
    fn rollback_to(&mut self, savepoint: Savepoint, at: &Tables);
    fn release(&mut self, savepoint: Savepoint);
    fn point(&mut self) -> RestartPoint;
    fn go_back(&mut self, point: RestartPoint, at: &Tables);
    fn pass(&mut self, point: RestartPoint);
    fn for_constraint(&mut self, on: bool);
    fn keep_before_images(&mut self, keep: bool);

    // ---- levels ----

    fn set_level(&mut self, level: Isolation);
    fn begin_statement(&mut self);
    fn will_read(&mut self, columns: &ColumnsRead);
    fn is_behind(&self) -> bool;
    fn moment(&self) -> Option<CommitTs>;
    fn end_statement(&mut self, at: &Tables) -> Result<(), Conflict>;
    fn move_on(&mut self, at: &Tables, cause: Conflict) -> bool;

    // ---- others ----

    fn claim_writes(&mut self);
    fn locked(&self) -> LocksMark;
    fn unlock_to(&mut self, mark: LocksMark);
    fn await_claim(&mut self, patience: &mut dyn FnMut() -> Option<Duration>) -> Result<(), Unclaimed>;
    fn holds_now(&mut self, at: &Tables) -> bool;
    fn alone(&mut self, alone: bool);
    fn keep_before_images_now(&mut self) -> Result<(), Conflict>;
}

/// What reads a snapshot, whatever its records carry.
pub(crate) trait Reader: Send {
    fn begin(&mut self);
    /// Runs a program. What it would write fails.
    fn run(&mut self, run: Run<'_>, host: &mut SessionHost<'_>) -> Result<(), Interrupt>;
    /// Nothing is read any more before the next `begin`.
    fn end(&mut self, at: &Tables);
    /// See [`SnapshotReader::for_each_row`].
    fn for_each_row(
        &mut self,
        at: &Tables,
        table: TableId,
        from: Option<&[u64]>,
        to: Option<&[u64]>,
        each: &mut dyn FnMut(&[u64]) -> Result<()>,
    ) -> Result<()>;
}

/// A [`Worker`] of a protocol.
pub(crate) struct WorkerOf<P: Hosted> {
    protocol: Arc<P>,
    clock: Arc<CommitClock>,
    txn: P::Txn,
}

impl<P: Hosted> WorkerOf<P> {
    pub(crate) fn new(protocol: Arc<P>, clock: Arc<CommitClock>, id: WorkerId) -> WorkerOf<P> {
        WorkerOf { txn: protocol.worker(id), protocol, clock }
    }
}

impl<P: Hosted> Written for WorkerOf<P> {
    fn for_each(&self, f: &mut dyn FnMut(planaria_protocol::Write<'_>)) {
        WrittenBy(&*self.protocol, &self.txn).for_each(f);
    }
}

impl<P: Hosted> Worker for WorkerOf<P> {
    fn begin(&mut self) {
        self.protocol.begin(&mut self.txn);
    }

    fn try_begin(&mut self) -> bool {
        self.protocol.try_begin(&mut self.txn)
    }

    fn only_reads(&mut self) -> bool {
        self.protocol.only_reads(&mut self.txn, &self.clock)
    }

    fn is_active(&self) -> bool {
        self.protocol.is_active(&self.txn)
    }

    fn is_read_only(&self) -> bool {
        self.protocol.is_read_only(&self.txn)
    }

    fn newest_met(&self, at: &Tables) -> Option<CommitTs> {
        self.protocol.newest_met(&self.txn, at.of())
    }

    fn validate(&mut self, at: &Tables) -> bool {
        self.protocol.validate(&mut self.txn, at.of())
    }

    fn abort(&mut self, at: &Tables) {
        self.protocol.abort(&mut self.txn, at.of());
    }

    fn retry(&mut self, at: &Tables) {
        self.protocol.retry(&mut self.txn, at.of());
    }

    fn commit(&mut self, at: &Tables, committed: Committed<'_>) -> Result<CommitTs, Conflict> {
        let WorkerOf { protocol, clock, txn } = self;
        let told = |ts, txn: &P::Txn| committed(ts, &WrittenBy(&**protocol, txn));
        protocol.commit(txn, at.of(), Telling(clock, told))
    }

    fn may_heal(&mut self, may: bool) {
        self.protocol.may_heal(&mut self.txn, may);
    }

    fn heal(&mut self, at: &Tables, cause: Conflict, columns: Option<&ColumnsRead>) -> Heal {
        self.protocol.heal(&mut self.txn, at.of(), cause, columns)
    }

    fn take_healed(&mut self) -> Healed {
        self.protocol.take_healed(&mut self.txn)
    }

    fn run(&mut self, run: Run<'_>, host: &mut SessionHost<'_>) -> Result<(), Interrupt> {
        run.over(&*self.protocol, &mut self.txn, host)
    }

    fn run_ahead(&mut self, run: Run<'_>, host: &mut SessionHost<'_>) -> Result<(), Interrupt> {
        let Run { machine, code, args, at, from: _ } = run;
        let (protocol, txn, calls) = (&*self.protocol, &mut self.txn, Default::default());
        machine.run_ahead(
            code,
            args,
            &mut Context { protocol, txn, tables: at.tables.of(), link: at, host, calls },
        )
    }

    fn fetch(&mut self, machine: &mut Machine, at: &Tables) {
        self.protocol.look_ahead(&mut self.txn, at.of(), machine.asked());
    }

    fn hold(&mut self) {
        self.protocol.hold(&mut self.txn);
    }

    fn let_go(&mut self) {
        self.protocol.let_go(&mut self.txn);
    }

    fn put_in_place(&mut self, effects: &[Effect], at: &SchemaVersion, machine: &mut Machine) -> Result<()> {
        put_in_place(&*self.protocol, &mut self.txn, effects, at, &mut machine.heap_mut().arena)
    }

    fn savepoint(&mut self) -> Savepoint {
        self.protocol.savepoint(&mut self.txn)
    }

    fn rollback_to(&mut self, savepoint: Savepoint, at: &Tables) {
        self.protocol.rollback_to(&mut self.txn, savepoint, at.of());
    }

    fn release(&mut self, savepoint: Savepoint) {
        self.protocol.release(&mut self.txn, savepoint);
    }

    fn point(&mut self) -> RestartPoint {
        self.protocol.point(&mut self.txn)
    }

    fn go_back(&mut self, point: RestartPoint, at: &Tables) {
        self.protocol.go_back(&mut self.txn, point, at.of());
    }

    fn pass(&mut self, point: RestartPoint) {
        self.protocol.pass(&mut self.txn, point);
    }

    fn for_constraint(&mut self, on: bool) {
        self.protocol.for_constraint(&mut self.txn, on);
    }

    fn keep_before_images(&mut self, keep: bool) {
        self.protocol.keep_before_images(&mut self.txn, keep);
    }

    fn set_level(&mut self, level: Isolation) {
        self.protocol.set_level(&mut self.txn, level);
    }

    fn begin_statement(&mut self) {
        self.protocol.begin_statement(&mut self.txn, &self.clock);
    }

    fn will_read(&mut self, columns: &ColumnsRead) {
        self.protocol.will_read(&mut self.txn, columns);
    }

    fn is_behind(&self) -> bool {
        self.protocol.is_behind(&self.txn)
    }

    fn moment(&self) -> Option<CommitTs> {
        self.protocol.moment(&self.txn)
    }

    fn end_statement(&mut self, at: &Tables) -> Result<(), Conflict> {
        self.protocol.end_statement(&mut self.txn, at.of())
    }

    fn move_on(&mut self, at: &Tables, cause: Conflict) -> bool {
        self.protocol.move_on(&mut self.txn, at.of(), &self.clock, cause)
    }

    fn locked(&self) -> LocksMark {
        self.protocol.locked(&self.txn)
    }

    fn unlock_to(&mut self, mark: LocksMark) {
        self.protocol.unlock_to(&mut self.txn, mark);
    }

    fn claim_writes(&mut self) {
        self.protocol.claim_writes(&mut self.txn);
    }

    fn await_claim(&mut self, patience: &mut dyn FnMut() -> Option<Duration>) -> Result<(), Unclaimed> {
        self.protocol.await_claim(&mut self.txn, patience)
    }

    fn holds_now(&mut self, at: &Tables) -> bool {
        self.protocol.holds_now(&mut self.txn, at.of())
    }

    fn alone(&mut self, alone: bool) {
        self.protocol.alone(&mut self.txn, alone);
    }

    fn keep_before_images_now(&mut self) -> Result<(), Conflict> {
        self.protocol.keep_before_images_now(&mut self.txn)
    }
}

/// A [`Reader`] of records with these headers.
pub(crate) struct ReaderOf<H: Header> {
    protocol: SnapshotReader<H>,
    txn: ReaderTxn,
}

impl<H: Header> ReaderOf<H> {
    /// Reads the state as of `at`.
    pub(crate) fn new(at: CommitTs, worker: WorkerId) -> ReaderOf<H> {
        let protocol = SnapshotReader::new();
        let mut txn = protocol.worker(worker);
        txn.read_at(at);
        ReaderOf { protocol, txn }
    }
}

impl<H: Header> Reader for ReaderOf<H> {
    fn begin(&mut self) {
        self.protocol.begin(&mut self.txn);
    }

    fn run(&mut self, run: Run<'_>, host: &mut SessionHost<'_>) -> Result<(), Interrupt> {
        run.over(&self.protocol, &mut self.txn, host)
    }

    fn end(&mut self, at: &Tables) {
        self.protocol.abort(&mut self.txn, at.of());
    }
    fn for_each_row(
        &mut self,
        at: &Tables,
        table: TableId,
        from: Option<&[u64]>,
        to: Option<&[u64]>,
        each: &mut dyn FnMut(&[u64]) -> Result<()>,
    ) -> Result<()> {
        self.protocol.for_each_row(&mut self.txn, at.of().get(table), from, to, each)
    }
}
