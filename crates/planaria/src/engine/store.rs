//! The door between a database and its protocol: what is done once for a database, or once for a snapshot, a checkpoint or
//! a restart. For what a session does there is [`Worker`].

use crate::engine::schema_version::SchemaVersion;
use crate::engine::sweeper::Sweeper;
use crate::engine::worker::{Reader, ReaderOf, Worker, WorkerOf};
use planaria_base::clock::CommitClock;
use planaria_base::{CommitTs, Result, TableId, WorkerId};
use planaria_checkpoint::{LoadOptions, LoadProgress, Loaded, Manifest};
use planaria_log::{Batches, Call, Device, Effect};
use planaria_protocol::{ClaimInfo, Hosted, Moment, Opened, Remembers, Traits, Wait};
use planaria_recovery::{self as recovery, Progress, Replayer, Report, Scheme, Target, World};
use planaria_storage::{Header, Table, TableSet, Tables};
use std::marker::PhantomData;
use std::sync::Arc;

/// The sets of tables that old versions may be kept in for a snapshot: asked for when it is clear that some may go.
pub(crate) type Versions<'v> = &'v mut dyn FnMut() -> Vec<Tables>;

/// A database's protocol, whatever it is.
pub(crate) trait Store: Send + Sync {
    /// Another one of the same protocol, for another database.
    fn another(&self, clock: Arc<CommitClock>) -> Arc<dyn Store>;
    fn traits(&self) -> Traits;
    /// See [`Heals`](planaria_protocol::Heals).
    fn heal_always(&self);
    fn remember(&self, what: Remembers);
    /// An empty set: its tables carry what the protocol wants.
    fn no_tables(&self) -> Tables;
    fn worker(&self, id: WorkerId) -> Box<dyn Worker>;
    /// What reads the state as of `at`.
    fn reader(&self, at: CommitTs, worker: WorkerId) -> Box<dyn Reader>;
    /// See [`RowLocks`](planaria_protocol::RowLocks).
    fn claims(&self) -> Vec<ClaimInfo>;
    fn waits(&self) -> Vec<Wait>;

    // ---- snapshots: see [`SnapshotSource`](planaria_protocol::SnapshotSource) ----

    fn open_snapshot(&self, moment: Moment) -> Option<Opened>;
    fn leave_range(&self, id: Opened, table: TableId, from: Option<&[u64]>, to: Option<&[u64]>);
    /// What is not needed any more is forgotten, now or soon.
    fn leave_table(&self, id: Opened, table: TableId, versions: Versions<'_>);
    fn close_snapshot(&self, id: Opened, versions: Versions<'_>);
    fn forget_closed(&self, versions: Versions<'_>);

    // ---- jobs as long as a restart ----

    /// Fills empty tables with the rows of a checkpoint.
    fn load(
        &self,
        device: &dyn Device,
        manifest: &Manifest,
        tables: &Tables,
        options: LoadOptions,
        tell: &mut dyn FnMut(LoadProgress),
    ) -> Result<Loaded>;
    /// Replays the batches of a log, which hold `bytes` of records.
    fn replay(
        &self,
        scheme: Scheme,
        batches: Batches,
        bytes: u64,
        how: &recovery::Options,
        target: &mut dyn Replayed,
    ) -> Result<Report>;
}

/// What a log is replayed into, whatever the protocol.
pub(crate) trait Replayed: Replayer {
    /// What is in force now. See [`Target::world`].
    fn schema(&self) -> Arc<SchemaVersion>;
}

/// A [`Store`] of a protocol.
pub(crate) struct StoreOf<P: Hosted> {
    protocol: Arc<P>,
    clock: Arc<CommitClock>,
    sweeper: Sweeper<P::Header>,
}

impl<P: Hosted> StoreOf<P> {
    pub(crate) fn new(clock: Arc<CommitClock>) -> StoreOf<P> {
        StoreOf { protocol: Arc::new(P::new()), clock, sweeper: Sweeper::default() }
    }
}

/// The tables with old versions: where one has been rewritten meanwhile, they are kept for it, too.
fn with_old<H: Header>(versions: &[Tables], which: impl Fn(TableId) -> bool) -> Vec<Arc<Table<H>>> {
    let mut all: Vec<Arc<Table<H>>> = Vec::new();
    for tables in versions {
        let old = tables.of::<H>().iter().filter(|table| which(table.id()) && table.has_old_versions());
        for table in old {
            if !all.iter().any(|known| Arc::ptr_eq(known, table)) {
                all.push(table.clone());
            }
        }
    }
    all
}

impl<P: Hosted> Store for StoreOf<P> {
    fn another(&self, clock: Arc<CommitClock>) -> Arc<dyn Store> {
        Arc::new(StoreOf::<P>::new(clock))
    }

    fn traits(&self) -> Traits {
        Traits::of::<P>()
    }

    fn heal_always(&self) {
        self.protocol.heal_always();
    }

    fn remember(&self, what: Remembers) {
        self.protocol.remember(what);
    }

    fn no_tables(&self) -> Tables {
        TableSet::<P::Header>::new().into()
    }

    fn worker(&self, id: WorkerId) -> Box<dyn Worker> {
        Box::new(WorkerOf::new(self.protocol.clone(), self.clock.clone(), id))
    }

    fn reader(&self, at: CommitTs, worker: WorkerId) -> Box<dyn Reader> {
        Box::new(ReaderOf::<P::Header>::new(at, worker))
    }

    fn claims(&self) -> Vec<ClaimInfo> {
        self.protocol.claims()
    }

    fn waits(&self) -> Vec<Wait> {
        self.protocol.waits()
    }

    fn open_snapshot(&self, moment: Moment) -> Option<Opened> {
        self.protocol.open_snapshot(&self.clock, moment)
    }

    fn leave_range(&self, id: Opened, table: TableId, from: Option<&[u64]>, to: Option<&[u64]>) {
        self.protocol.leave_range(id, table, from, to);
    }

    fn leave_table(&self, id: Opened, table: TableId, versions: Versions<'_>) {
        let mut tables = || with_old(&versions(), |other| other == table);
        self.sweeper.sweep(self.protocol.leave_table(id, table, &self.clock, &mut tables));
    }

    fn close_snapshot(&self, id: Opened, versions: Versions<'_>) {
        let mut tables = || with_old(&versions(), |_| true);
        self.sweeper.sweep(self.protocol.close_snapshot(id, &self.clock, &mut tables));
    }

    fn forget_closed(&self, versions: Versions<'_>) {
        let mut tables = || with_old(&versions(), |_| true);
        self.sweeper.sweep(self.protocol.forget_closed(&self.clock, &mut tables));
    }

    fn load(
        &self,
        device: &dyn Device,
        manifest: &Manifest,
        tables: &Tables,
        options: LoadOptions,
        tell: &mut dyn FnMut(LoadProgress),
    ) -> Result<Loaded> {
        planaria_checkpoint::load(device, manifest, tables.of::<P::Header>(), options, tell)
    }

    fn replay(
        &self,
        scheme: Scheme,
        batches: Batches,
        bytes: u64,
        how: &recovery::Options,
        target: &mut dyn Replayed,
    ) -> Result<Report> {
        let mut target = TargetOf::<P::Header> { replayed: target, header: PhantomData };
        scheme.replay(batches, bytes, how, &mut target)
    }
}

/// A [`Replayed`] as the schemes see it.
struct TargetOf<'t, H: Header> {
    replayed: &'t mut dyn Replayed,
    header: PhantomData<fn() -> H>,
}

impl<H: Header> Replayer for TargetOf<'_, H> {
    fn call(&mut self, commit_ts: CommitTs, call: Call) -> Result<()> {
        self.replayed.call(commit_ts, call)
    }
    fn coming(&mut self, calls: &[&Call]) {
        self.replayed.coming(calls);
    }
    fn effects(&mut self, commit_ts: CommitTs, effects: Vec<Effect>) -> Result<()> {
        self.replayed.effects(commit_ts, effects)
    }
    fn progress(&mut self, progress: Progress) {
        self.replayed.progress(progress);
    }
    fn indexing(&mut self, entries: u64, entries_total: u64) {
        self.replayed.indexing(entries, entries_total);
    }
    fn reached(&mut self, commit_ts: CommitTs) {
        self.replayed.reached(commit_ts);
    }
}

impl<H: Header> Target for TargetOf<'_, H> {
    type Header = H;

    fn world(&self) -> Arc<World<H>> {
        let schema = self.replayed.schema();
        Arc::new(World { tables: schema.tables.of().clone(), routines: schema })
    }
}
