//! A session's core: attempts, commits, answers.
//!
//! One call, in steps:
//!
//! 1. pass the [gate](crate::engine::gate), look whether the schema changed;
//! 2. begin, bind the arguments, run the code;
//! 3. commit: hold the epoch open, lock, draw `commit_ts`, validate, install (the protocol), append
//!    the record to the worker's own buffer, let the epoch go;
//! 4. a conflict anywhere: abort, back off or [wait](crate::session::waiting), again from 1. An error: report it only
//!    if what was read is consistent (validates), else it is a conflict too. What only reads, and conflicts
//!    often or takes long, goes on in a [snapshot](crate::session::reading).

use crate::engine::Engine;
use crate::engine::advisory::own::OwnLocks;
use crate::engine::channels::{Ears, Said};
use crate::engine::counters::Pause;
use crate::engine::exported::Exporter;
use crate::engine::memory::Share;
use crate::engine::nap::{Nap, Sleeper};
use crate::engine::program::at::At;
use crate::engine::program::cancel::Cancel;
use crate::engine::program::deferred::Deferred;
use crate::engine::program::host::SessionHost;
use crate::engine::program::inputs::Inputs;
use crate::engine::program::keys::Keys;
use crate::engine::program::refusal::{gave_up, not_serialized};
use crate::engine::schema_version::{LogAs, Routine, SchemaVersion};
use crate::engine::sequence::{SequenceEffect, SessionSequences};
use crate::engine::snapshot::Reading;
use crate::engine::table_locks::Wanted;
use crate::engine::worker::{Run, Worker, once};
use crate::engine::written::Written;
use crate::notice::Notice;
use crate::options::LogKind;
use crate::params::{ParamRef, Params};
use crate::row::{Columns, Row, Rows};
use crate::session::healing::Touched;
use crate::session::pauses::Pausing;
use crate::session::record::RowForm;
use crate::session::several::Several;
use crate::session::user::User;
use crate::session::{bind, record};
use crate::settings::Settings;
use crate::sink::{RowRef, RowSink, reborrow};
use crate::ticket::{Pending, SessionLog, Ticket};
use planaria_base::limits::ATTEMPTS_MAX;
use planaria_base::sync::Instant;
use planaria_base::{CommitTs, Datum, Epoch, ProcedureId, Result, SequenceId, Type, WorkerId};
use planaria_catalog::reg;
use planaria_exec::values::write_slot;
use planaria_exec::{Code, Interrupt, Machine, heap::Heap, slot::Slot};
use planaria_log::{Effect, ValueWriter, WorkerLog};
use planaria_protocol::{Backoff, Conflict, Isolation};
use std::cell::Cell;
use std::hint::cold_path;
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// Attempts of a statement that only reads before it does so in a snapshot.
const TRIES: u32 = 3;

/// What a transaction of several statements is in.
#[derive(Default)]
pub(crate) enum Block {
    /// No BEGIN: every statement is a transaction.
    #[default]
    None,
    /// Between BEGIN and COMMIT.
    Open,
    /// A statement failed; only ROLLBACK leaves.
    Failed,
}

/// See the module's head.
#[allow(clippy::redundant_allocation, reason = "the outer count is this session's alone")]
pub(crate) struct SessionCore {
    pub(crate) engine: Arc<Engine>,
    pub(crate) worker: WorkerId,
    /// Counted once here, so that a call's own handle touches no count that cores share.
    pub(crate) schema: Arc<Arc<SchemaVersion>>,
    pub(crate) txn: Box<dyn Worker>,
    pub(crate) machine: Machine,
    pub(crate) log: Option<WorkerLog>,
    pub(crate) session_log: Option<Arc<SessionLog>>,
    /// Place of the last commit, and whether it drew it.
    pub(crate) last_commit: Option<(CommitTs, bool)>,
    /// If the last transaction only read, and it is known: the newest commit that it has seen anything of.
    pub(crate) met: Option<CommitTs>,
    pub(crate) inputs: Inputs,
    pub(crate) sequences: SessionSequences,
    pub(crate) effects: Vec<SequenceEffect>,
    pub(crate) notices: Vec<Notice>,
    pub(crate) rows: Vec<Row>,
    /// Rows that the last program gave to a sink.
    pub(crate) sunk: u64,
    pub(crate) args: Vec<Slot>,
    /// The arguments of a call that will be logged, out of the program's reach.
    pub(crate) kept_args: Vec<Slot>,
    /// What they and the kept values point to.
    pub(crate) kept_heap: Heap,
    pub(crate) block: Block,
    /// What reads a snapshot, in place of `txn`.
    pub(crate) reading: Option<Box<Reading>>,
    /// The open block may not write.
    pub(crate) read_only: bool,
    /// The level of the block.
    pub(crate) isolation: Isolation,
    /// A query has been run in the open block.
    pub(crate) used: bool,
    /// What runs now, as a transaction of its own, only reads.
    pub(crate) pure: bool,
    /// The open transaction cannot be committed any more, whatever is rolled back in it.
    pub(crate) doomed: bool,
    pub(crate) savepoints: Vec<crate::session::savepoint::Mark>,
    /// What the last attempt would have had to wait for, because others have locked tables or keys.
    pub(crate) barred: Option<Wanted>,
    /// Its advisory locks.
    pub(crate) own_locks: OwnLocks,
    /// What its transaction has to tell others.
    pub(crate) said: Said,
    /// What it hears.
    pub(crate) ears: Ears,
    /// The open block has locked tables, or noted what it touched.
    pub(crate) has_locks: bool,
    /// What the statement of a block was compiled for, where the schema has changed since, and whether that is no matter.
    pub(crate) compiled_for: Option<(Arc<Arc<SchemaVersion>>, bool)>,
    /// It was compiled for another one than it would need, and has not run.
    pub(crate) outdated: bool,
    /// What the open block ran under, where it goes on under another schema, and its moment then.
    pub(crate) followed_from: Option<(Arc<Arc<SchemaVersion>>, Option<CommitTs>)>,
    /// What its transaction has put off.
    pub(crate) deferred: Deferred,
    pub(crate) trigger_codes: crate::session::deferred_triggers::TriggerCodes,
    /// What the open block has done to the schema.
    pub(crate) changing: Option<Box<crate::session::changing::SchemaBlock>>,
    pub(crate) cancel: Cancel,
    /// What statements ask that do not come by here; with the thread while one runs.
    pub(crate) watch: Option<Box<planaria_base::watch::Watch>>,
    pub(crate) sleeps_by: Sleeper,
    pub(crate) no_columns: Columns,
    pub(crate) statements: crate::session::prepared::StatementCache,
    pub(crate) calls: crate::session::prepared::KnownCalls,
    pub(crate) settings: Settings,
    /// Its temporary relations.
    pub(crate) temporary: crate::session::temporary::Temporary,
    /// A change of the schema is the engine's own.
    pub(crate) internal: bool,
    /// The schema along the session's path, and what it was found for.
    pub(crate) scoped: Option<(crate::session::path::Seen, Arc<Arc<SchemaVersion>>)>,
    /// The state of the settings whose time zone and styles the machine computes in.
    pub(crate) forms_seen: u64,
    pub(crate) cursors: crate::engine::program::cursor::Cursors,
    pub(crate) user: User,
    /// What `pg_backend_pid` answers, where it is not the number of the slot.
    pub(crate) number: Option<i32>,
    /// The way to the disk of what the last statement committed, until somebody waits for it.
    pub(crate) pending: Pending,
    /// Memory that this session takes.
    pub(crate) share: Share,
    /// What runs now may read this.
    pub(crate) touched: Touched,
    /// A statement has panicked: no other can run.
    pub(crate) panicked: bool,
    pub(crate) pauses: Pausing,
    /// The call that runs is several transactions, or may be.
    pub(crate) several: Several,
    /// What runs asks for rows of calls to come: see [`queue`](crate::session::queue).
    pub(crate) runs_ahead: bool,
}

impl SessionCore {
    /// Nothing of the last statement is looked at any more: what nobody counts between statements is given back, if it was much.
    pub(crate) fn give_memory_back(&mut self) {
        if self.share.was_much() {
            let pace = self.machine.pace;
            (self.machine, self.kept_heap) = (Machine::looking_ahead(self.engine.look_ahead), Heap::new());
            self.machine.pace = pace;
            self.forms_seen = u64::MAX;
            (self.rows, self.args, self.kept_args) = (Vec::new(), Vec::new(), Vec::new());
            self.effects = Vec::new();
        }
    }

    pub(crate) fn new(engine: Arc<Engine>) -> Result<SessionCore> {
        let worker = engine.gate.sit_down()?;
        engine.counters.open(worker);
        let log = engine.log.get().map(|l| l.worker()).transpose()?;
        let mut txn = engine.store.worker(worker);
        let schema = Arc::new(engine.schema.load_full());
        txn.keep_before_images(keeps_before_images(&engine, log.is_some(), &schema));
        let mut session = SessionCore {
            worker,
            schema,
            txn,
            machine: Machine::looking_ahead(engine.look_ahead),
            log,
            session_log: engine.log.get().map(|l| Arc::new(SessionLog(l.clone()))),
            last_commit: None,
            met: None,
            inputs: Inputs::of(engine.wall_clock.clone()),
            sequences: SessionSequences::default(),
            effects: Vec::new(),
            notices: Vec::new(),
            rows: Vec::new(),
            sunk: 0,
            args: Vec::new(),
            kept_args: Vec::new(),
            kept_heap: Heap::new(),
            block: Block::None,
            reading: None,
            read_only: false,
            isolation: Isolation::Serializable,
            used: false,
            pure: false,
            doomed: false,
            savepoints: Vec::new(),
            barred: None,
            own_locks: OwnLocks::default(),
            said: Said::default(),
            ears: Ears::default(),
            has_locks: false,
            compiled_for: None,
            outdated: false,
            followed_from: None,
            deferred: Deferred::default(),
            trigger_codes: Default::default(),
            changing: None,
            cancel: Cancel::default(),
            watch: None,
            sleeps_by: |sleep| sleep(),
            no_columns: Columns::default(),
            statements: Default::default(),
            calls: Default::default(),
            settings: Settings::default(),
            temporary: Default::default(),
            internal: false,
            scoped: None,
            forms_seen: u64::MAX,
            cursors: Default::default(),
            user: User::default(),
            number: None,
            pending: Pending::none(),
            share: Share::new(worker),
            touched: Touched::default(),
            panicked: false,
            pauses: Pausing::default(),
            several: Several::default(),
            runs_ahead: false,
            engine,
        };
        session.inputs.handed.keeps = session.engine.traits.heals;
        session.begin_with_defaults();
        Ok(session)
    }

    /// Passes the gate with the newest schema. Errors as [`Self::go_in`].
    #[inline]
    pub(crate) fn enter(&mut self) -> Result<()> {
        self.go_in()?;
        if self.is_stale() {
            self.refresh();
        }
        Ok(())
    }

    /// Passes the gate. 57014 or 55P03 where it is closed and the statement waits no longer.
    #[inline]
    pub(crate) fn go_in(&mut self) -> Result<()> {
        // Whoever has closed it is inside.
        if self.changing.is_some() || self.engine.gate.try_enter(self.worker) {
            return Ok(());
        }
        self.await_gate()
    }

    #[cold]
    pub(crate) fn refresh(&mut self) {
        self.refresh_to(Arc::new(self.engine.schema.load_full()));
    }

    #[allow(clippy::redundant_allocation, reason = "the outer count is this session's alone")]
    pub(crate) fn refresh_to(&mut self, schema: Arc<Arc<SchemaVersion>>) {
        self.schema = schema;
        self.end_calls();
        self.sequences.forget_runs();
        self.touched = Touched::default();
        self.keep_before_images();
    }

    /// Before-images are kept where the log or a deferred foreign key asks for them.
    pub(crate) fn keep_before_images(&mut self) {
        let keeps = keeps_before_images(&self.engine, self.log.is_some(), &self.schema);
        self.txn.keep_before_images(keeps);
    }

    /// Whether the schema has changed since this session last looked.
    #[inline]
    pub(crate) fn is_stale(&self) -> bool {
        self.engine.version.load(Ordering::Acquire) != self.schema.version() && self.changing.is_none()
    }

    #[inline]
    pub(crate) fn leave(&self) {
        self.engine.gate.leave(self.worker);
    }

    /// Runs `body` as one transaction, as often as it takes; it says how the transaction is logged.
    pub(crate) fn transact(
        &mut self,
        body: &mut dyn FnMut(&mut Self, &SchemaVersion) -> Result<LogAs, Interrupt>,
    ) -> Result<(CommitTs, bool)> {
        let outcome = self.transact_often(body);
        let committed = outcome.is_ok() && !std::mem::take(&mut self.several.rolled_back);
        self.end_locks();
        self.settings.end_statement(committed);
        self.follow_role();
        self.end_statement_of_cursors(committed);
        self.share.end_transaction(&self.engine.meter);
        outcome
    }

    fn transact_often(
        &mut self,
        body: &mut dyn FnMut(&mut Self, &SchemaVersion) -> Result<LogAs, Interrupt>,
    ) -> Result<(CommitTs, bool)> {
        self.notices.clear();
        let mut backoff = self.backoff();
        // Of the last attempt, whose claims are kept.
        #[allow(clippy::redundant_allocation, reason = "it is the session's")]
        let mut last: Option<Arc<Arc<SchemaVersion>>> = None;
        for attempt in 1..=ATTEMPTS_MAX {
            // Who meets others again and again is cancelled here.
            let goes_on = if attempt > 1 { self.check_cancelled() } else { Ok(()) };
            if let Err(error) = goes_on.and_then(|()| self.enter()) {
                cold_path();
                last.inspect(|last| self.abandon(last));
                return Err(error);
            }
            if let Some(last) = last.take()
                && last.base() != self.schema.version()
            {
                self.txn.abort(&last.tables);
            }
            self.pure = false;
            self.begin_in_turn()?;
            let schema = self.scoped();
            self.pauses.begin_attempt();
            let outcome = self.attempt(&schema, body);
            if let Err(interrupt) = &outcome {
                cold_path();
                match interrupt {
                    Interrupt::Conflict(cause) if cause.is_retryable() => {
                        self.txn.retry(&schema.tables);
                    }
                    _ => self.txn.abort(&schema.tables),
                }
                // Where the log has failed, nothing comes after it.
                let _ = self.log_sequences(&|_| true);
            }
            self.leave();
            match outcome {
                Ok(done) => {
                    self.engine.counters.commit(self.worker);
                    return Ok(done);
                }
                Err(Interrupt::TransactionEnds) => {
                    self.several.rolled_back = true;
                    self.said.take_back();
                    return Ok((self.engine.clock.now(), false));
                }
                Err(Interrupt::Error(error)) => return Err(error),
                Err(Interrupt::Conflict(cause)) if !cause.is_retryable() => return Err(cause.into()),
                Err(Interrupt::Conflict(cause)) => {
                    // Nobody waits for long with what calls to come have found.
                    self.end_calls();
                    self.engine.counters.abort(self.worker, cause);
                    self.notices.clear();
                    self.settings.end_statement(false);
                    self.end_statement_of_cursors(false);
                    self.own_locks.take_back();
                    self.said.take_back();
                    self.deferred.take_back();
                    let reads_often = self.pure
                        && attempt >= TRIES
                        && self.engine.traits.concurrent
                        && self.barred.is_none();
                    if cause == Conflict::Long || reads_often {
                        // Its attempts here are over.
                        self.abandon(&schema);
                        return self.transact_in_snapshot(body);
                    }
                    if cause == Conflict::Claimed {
                        match self.await_claim() {
                            Ok(Ok(())) => {}
                            Ok(Err(_)) => self.abandon(&schema),
                            Err(error) => {
                                self.abandon(&schema);
                                return Err(error);
                            }
                        }
                    } else {
                        self.wait_to_retry(&mut backoff);
                    }
                    self.pauses.lose_attempt();
                    last = Some(schema);
                }
            }
        }
        if let Some(last) = last {
            self.abandon(&last);
        }
        Err(not_serialized())
    }

    /// Begins a transaction whose turn it is: nobody else is about.
    pub(crate) fn begin(&mut self) {
        self.txn.begin();
        self.begin_state();
    }

    /// Begins a transaction, inside the gate, with the newest schema. Where transactions come one after another it waits for its
    /// turn outside, as the one whose turn it is may have to come in. 57014 where the statement is cancelled: then it is outside.
    #[inline]
    pub(crate) fn begin_in_turn(&mut self) -> Result<()> {
        if !self.txn.try_begin() {
            self.await_turn()?;
        }
        self.begin_state();
        Ok(())
    }

    /// Others see that it waits; `lock_timeout` ends it, too (55P03).
    #[cold]
    fn await_turn(&mut self) -> Result<()> {
        self.show_process();
        let deadline = self.lock_deadline();
        let mut backoff = Backoff::new(u64::from(self.worker.0) + 1);
        loop {
            self.leave();
            self.check_cancelled()?;
            if deadline.is_some_and(|deadline| Instant::now() >= deadline) {
                return Err(gave_up(true, &self.cancel));
            }
            self.engine.counters.pause(self.worker, Some(Pause::Turn));
            backoff.wait();
            self.engine.counters.pause(self.worker, None);
            self.enter()?;
            if self.txn.try_begin() {
                return Ok(());
            }
        }
    }

    /// The same but for the protocol's part.
    pub(crate) fn begin_state(&mut self) {
        self.inputs.begin();
        self.effects.clear();
        self.begin_results();
    }

    /// What runs next computes in the session's time zone, and in its styles of dates and intervals.
    #[inline]
    fn settle_forms(&mut self) {
        let changes = self.settings.changes();
        if self.forms_seen != changes {
            self.forms_seen = changes;
            self.settings.settle_forms(self.machine.heap_mut());
        }
    }

    /// Nothing has been computed yet.
    pub(crate) fn begin_results(&mut self) {
        self.met = None;
        self.touched.begin();
        self.rows.clear();
        self.sunk = 0;
        self.share.begin_transaction();
        self.kept_heap.clear();
        self.machine.reset();
        self.machine.heap_mut().used_forms();
        self.own_locks.begin();
        self.said.begin();
        self.deferred.begin();
    }

    /// An error computed from reads that do not hold is no error but a conflict; what they have led to goes on in variables.
    pub(crate) fn believable(&mut self, interrupt: Interrupt) -> Interrupt {
        match interrupt {
            Interrupt::Error(error) if self.reading.is_some() => Interrupt::Error(error),
            Interrupt::Error(_) | Interrupt::TransactionEnds if !self.txn.validate(&self.schema.tables) => {
                Interrupt::Conflict(Conflict::Validation)
            }
            other => other,
        }
    }

    /// What a call that is a whole transaction runs here, and how it is logged.
    #[inline]
    pub(crate) fn logged_call<'s>(
        &self,
        schema: &'s SchemaVersion,
        id: ProcedureId,
        routine: &'s Routine,
    ) -> Result<(&'s Code, LogAs)> {
        let as_call = match self.engine.log_kind {
            _ if self.log.is_none() || !self.engine.traits.guarantee.replays_calls() => false,
            LogKind::Command => true,
            LogKind::Adaptive => schema.planned(id).as_ref().is_ok_and(|planned| planned.cost.prefers_call()),
            LogKind::Off | LogKind::Logical | LogKind::Physical | LogKind::Physiological => false,
        };
        if as_call { schema.logged_call(id, routine) } else { Ok((&routine.code, LogAs::Values)) }
    }

    /// Runs a program in the transaction that is open. `encode`: as a call that will be logged as such.
    pub(crate) fn run(
        &mut self,
        schema: &SchemaVersion,
        code: &Code,
        parameters: &[Type],
        columns: &Columns,
        params: &dyn Params,
        encode: bool,
    ) -> Result<(), Interrupt> {
        self.run_to(schema, code, parameters, columns, params, encode, None)
    }

    /// The same; its rows go to `sink`, if there is one.
    #[allow(clippy::too_many_arguments, reason = "a program, its parameters and where its rows go")]
    pub(crate) fn run_to(
        &mut self,
        schema: &SchemaVersion,
        code: &Code,
        parameters: &[Type],
        columns: &Columns,
        params: &dyn Params,
        encode: bool,
        sink: Option<&mut dyn RowSink>,
    ) -> Result<(), Interrupt> {
        self.settle_forms();
        if self.several.goes_on() {
            return self.machine_run(schema, code, columns, false, sink, true);
        }
        self.args.clear();
        for (i, ty) in parameters.iter().enumerate() {
            let slot = match (params.param(i), ty) {
                // Names mean something only with a catalog.
                (ParamRef::Text(name), Type::System(system)) if system.is_reg() => {
                    Slot::Int(i64::from(reg::find(&schema.catalog, *system, name)?))
                }
                (param, ty) => bind::bind(param, ty, i + 1, self.machine.heap_mut())?,
            };
            self.args.push(slot);
        }
        if encode && self.log.is_some() {
            // A copy, because the program may move its heap before the record is written.
            self.kept_args.clear();
            self.kept_heap.clear();
            for slot in &self.args {
                self.kept_args.push(Heap::relocate(*slot, self.machine.heap(), &mut self.kept_heap)?);
            }
        }
        self.machine_run(schema, code, columns, false, sink, false)
    }

    /// The same with arguments of the right types, for replay; `quiet`: nobody wants the answer.
    pub(crate) fn run_datums(
        &mut self,
        schema: &SchemaVersion,
        code: &Code,
        args: &[Datum],
        quiet: bool,
    ) -> Result<(), Interrupt> {
        self.settle_forms();
        self.args.clear();
        for arg in args {
            let slot = self.machine.heap_mut().push_datum(arg)?;
            self.args.push(slot);
        }
        let columns = self.no_columns.clone();
        self.machine_run(schema, code, &columns, quiet, None, false)
    }

    /// The same with arguments that are in the heap already; the answer is the machine's `outs`.
    pub(crate) fn run_args(&mut self, schema: &SchemaVersion, code: &Code) -> Result<(), Interrupt> {
        self.settle_forms();
        let columns = self.no_columns.clone();
        self.machine_run(schema, code, &columns, true, None, false)
    }

    /// Once the forms are settled.
    #[allow(clippy::too_many_arguments, reason = "a program, and where its rows go")]
    fn machine_run(
        &mut self,
        schema: &SchemaVersion,
        code: &Code,
        columns: &Columns,
        quiet: bool,
        mut sink: Option<&mut dyn RowSink>,
        goes_on: bool,
    ) -> Result<(), Interrupt> {
        if let Some(sink) = &mut sink {
            sink.restart();
        }
        let process = self.process();
        let engine = &*self.engine;
        let nap = Nap { sleeps_by: self.sleeps_by, cancel: &self.cancel, code, schema };
        let (worker, reads) = (self.worker, self.reading.is_some());
        let sleep = |seconds| engine.sleep(worker, &nap, reads, seconds);
        let wait = |lock, limit| engine.await_key(worker, &nap, lock, limit);
        let repeats = !reads && engine.gate.stands_inside(worker);
        let from = if goes_on { self.several.next() } else { None };
        self.settings.begin_program();
        let mut host = SessionHost {
            schema: At::Session(schema),
            home: &self.schema,
            outer: Vec::new(),
            role: self.user.current(),
            session_user: self.user.session(),
            inputs: &mut self.inputs,
            kept_heap: &mut self.kept_heap,
            sequences: &mut self.sequences,
            effects: &mut self.effects,
            notices: &mut self.notices,
            columns,
            rows: &mut self.rows,
            sink: reborrow(&mut sink),
            sunk: &mut self.sunk,
            cancel: &self.cancel,
            quiet,
            settings: &mut self.settings,
            savepoints: self.savepoints.len(),
            cursors: &mut self.cursors,
            statements: &self.statements.named,
            session: process,
            exporter: Exporter { all: &engine.exported, exports: None },
            clients: &self.engine.clients,
            host: &self.engine.host,
            started: self.engine.started,
            named: None,
            vitals: &*self.engine,
            meter: &self.engine.meter,
            share: &mut self.share,
            sleep: &sleep,
            keys: Keys {
                all: &engine.advisory,
                own: &mut self.own_locks,
                worker,
                process: &engine.processes[usize::from(worker.0)],
                barred: &mut self.barred,
                wait: (!repeats).then_some(&wait),
            },
            stepwise: crate::session::steps::within,
            channels: &engine.channels,
            said: &mut self.said,
            deferred: &mut self.deferred,
            ears: &self.ears,
            read_only: self.reading.is_some(),
            may_change_over: self.pure && self.reading.is_none() && engine.traits.concurrent,
            may_end_transaction: self.several.may && !reads,
        };
        let run = Run { machine: &mut self.machine, code, args: &self.args, at: schema, from };
        let ended = match self.reading.as_deref_mut() {
            None if self.runs_ahead => self.txn.run_ahead(run, &mut host),
            None => self.txn.run(run, &mut host),
            Some(Reading { reader, exports, .. }) => {
                host.exporter.exports = Some((exports, self.isolation));
                reader.run(run, &mut host)
            }
        };
        if let Err(Interrupt::Conflict(_)) = &ended {
            self.settings.wait();
        }
        ended?;
        let outs = self.machine.outs();
        if outs.is_empty() || quiet {
            return Ok(());
        }
        // Behind the columns of a row may stand whether there is one.
        let outs = if outs.len() == columns.len() + 1 { &outs[..columns.len()] } else { outs };
        if let Some(sink) = sink {
            self.sunk += 1;
            sink.row(RowRef::new(outs, self.machine.heap()))?;
        } else {
            let values = outs.iter().map(|s| self.machine.heap().to_datum(*s)).collect();
            self.rows.push(Row::of(columns, values, self.machine.heap()));
        }
        Ok(())
    }

    /// Does what the log says in the transaction that is open.
    pub(crate) fn put_in_place(&mut self, effects: &[Effect]) -> Result<()> {
        self.txn.put_in_place(effects, &self.schema, &mut self.machine)
    }

    /// Commits without a record: replay.
    pub(crate) fn commit_unlogged(&mut self, schema: &SchemaVersion) -> Result<(), Interrupt> {
        self.txn.commit(&schema.tables, &mut |_, _| {})?;
        Ok(())
    }

    /// Commits what is open. On an error (the log failed) the transaction is still open.
    /// Answers with the timestamp, and whether anything was logged.
    pub(crate) fn commit(
        &mut self,
        schema: &SchemaVersion,
        log_as: LogAs,
    ) -> Result<(CommitTs, bool), Interrupt> {
        if schema.has_deferred {
            self.check_deferred(schema).map_err(|interrupt| self.believable(interrupt))?;
        }
        let engine = &*self.engine;
        let read_only = self.txn.is_read_only();
        self.met =
            if read_only && !self.inputs.unlogged { self.txn.newest_met(&schema.tables) } else { None };
        // A log of calls does not say in which time zone they ran, nor in which styles.
        self.inputs.unlogged |= self.machine.heap_mut().used_forms();
        let speaks = !self.said.is_empty();
        let began = speaks.then(|| engine.channels.begin_commit(engine.clock.now()));
        let process = self.process();
        let (said, ears, mut place) = (&mut self.said, &mut self.ears, None);
        let Some(log) = self.log.as_mut().filter(|_| !(read_only && self.effects.is_empty())) else {
            let mut put = |ts, _: &dyn Written| {
                if speaks {
                    place = engine.channels.put_in_line(ts, process, said, ears);
                }
            };
            let outcome = self.txn.commit(&schema.tables, &mut put);
            let ts = self.told(outcome, began, place)?;
            self.last_commit = Some((ts, !read_only));
            return Ok((ts, false));
        };
        let log_as = match engine.log_kind {
            LogKind::Logical | LogKind::Physical | LogKind::Physiological => LogAs::Values,
            // Replay of a call takes it that no error was raised: so it needs nothing of what a handler
            // left undone. And that no sequence has moved beyond the inputs, and nothing was asked which is not in
            // the record: the analysis sees to that beforehand, here it is made sure of. And that what it has read still
            // holds at its place, which for who wrote no row is drawn when all is over (below): others may be in between.
            LogKind::Off | LogKind::Command | LogKind::Adaptive
                if read_only
                    || self.machine.handled()
                    || self.inputs.unlogged
                    || self.inputs.handed.has_left_over()
                    || self.several.goes_on() =>
            {
                LogAs::Values
            }
            LogKind::Off | LogKind::Command | LogKind::Adaptive => log_as,
        };
        let commit = match log.enter() {
            Ok(commit) => commit,
            Err(error) => {
                began.into_iter().for_each(|began| engine.channels.end_commit(began, None, false));
                return Err(error.into());
            }
        };
        engine.counters.committing(self.worker);
        let (inputs, effects) = (&self.inputs.drawn, &self.effects);
        let (args, heap) = (&self.kept_args, &self.kept_heap);
        // Who moved a sequence and wrote no row drew no timestamp: the record has one of its own, perhaps of a
        // later epoch, and that is the one to wait for.
        let drawn = Cell::new(None);
        let append = |ts: CommitTs, written: &dyn Written| {
            let ts = if read_only { engine.clock.draw() } else { ts };
            drawn.set(Some(ts));
            if speaks {
                place = engine.channels.put_in_line(ts, process, said, ears);
            }
            match log_as {
                LogAs::Call { procedure, keeping } => {
                    let write = |w: &mut ValueWriter<'_>| {
                        args.iter().chain(inputs).for_each(|slot| write_slot(w, *slot, heap));
                    };
                    if keeping {
                        commit.keeping_call(ts, procedure, args.len(), inputs.len(), write)
                    } else {
                        commit.call(ts, procedure, args.len(), inputs.len(), write)
                    }
                }
                LogAs::Values => commit.effects(ts, |w| {
                    record::write_sequences(w, effects);
                    let form = RowForm::of(engine.log_kind);
                    record::write_rows(w, form, schema, written);
                }),
            };
        };
        let outcome = self.txn.commit(&schema.tables, &mut once(append));
        engine.counters.committed(self.worker, log.newest());
        let ts = self.told(outcome, began, place)?;
        self.last_commit = Some((ts, !read_only));
        Ok((drawn.get().unwrap_or(ts), true))
    }

    /// Logs where the statement brought sequences, whatever becomes of its transaction, inside the gate: no change
    /// of the schema comes between. Those that are not `known` so are of a schema that is not committed, and are
    /// logged with it.
    pub(crate) fn log_sequences(&mut self, known: &dyn Fn(SequenceId) -> bool) -> Result<()> {
        if self.effects.is_empty() {
            return Ok(());
        }
        let (shared, own): (Vec<_>, _) = self.effects.drain(..).partition(|effect| known(effect.sequence));
        self.effects = own;
        let Some(log) = self.log.as_mut().filter(|_| !shared.is_empty()) else { return Ok(()) };
        let commit = log.enter()?;
        self.engine.counters.committing(self.worker);
        let epoch = commit.effects(self.engine.clock.draw(), |w| record::write_sequences(w, &shared));
        self.engine.counters.committed(self.worker, epoch);
        self.sequences.logged(epoch);
        Ok(())
    }

    /// The ticket of a commit.
    pub(crate) fn ticket(&self, ts: CommitTs, logged: bool) -> Ticket {
        match &self.session_log {
            Some(log) if self.engine.waits_for_disk => {
                let durable = log.0.durable_epoch();
                // Numbers that it may tell, though its own record, if it has one, says nothing of them.
                let drawn = self.sequences.newest_logged();
                let saw_durable = || self.met_only_durable(durable) || self.saw_only_durable(log, ts);
                if durable >= ts.epoch() || !logged && saw_durable() {
                    if durable >= drawn { Ticket::done() } else { Ticket::new(drawn, log) }
                } else {
                    Ticket::new(ts.epoch().max(drawn), log)
                }
            }
            _ => Ticket::done(),
        }
    }

    /// The ticket of a statement's answer within a block. What a snapshot shows is waited for, once. A block that
    /// may write is not held up at each of its statements: what they show counts when COMMIT is answered, which
    /// waits for all of it. But what a failed log has lost is shown to nobody any more.
    pub(crate) fn ticket_in_block(&mut self) -> Result<Ticket> {
        if let Some(reading) = &self.reading {
            return Ok(self.ticket(reading.open.at, false));
        }
        let lost = match &self.session_log {
            Some(log) if self.engine.waits_for_disk => log.0.health().err().filter(|_| {
                let now = self.engine.clock.now();
                !self.saw_only_durable(log, now)
            }),
            _ => None,
        };
        self.fail_block_on_error(lost.map_or(Ok(Ticket::done()), Err))
    }

    /// Whether what the last transaction has read is known, and on disk.
    fn met_only_durable(&self, durable: Epoch) -> bool {
        let changed = Epoch(self.engine.changed.load(Ordering::Acquire));
        self.met.is_some_and(|newest| newest.epoch().max(changed) <= durable)
    }

    /// Whether nothing is on its way to the disk that a reader at `ts` may have seen: then its answer
    /// needs no epoch of its own. A commit under way counts, as it may be visible already.
    fn saw_only_durable(&self, log: &SessionLog, ts: CommitTs) -> bool {
        let newest = self.engine.counters.newest_logged(log.0.durable_epoch());
        newest.is_some_and(|newest| newest <= log.0.durable_epoch().min(ts.epoch()))
    }

    /// The rows of the last program.
    pub(crate) fn take_rows(&mut self, columns: &Columns) -> Rows {
        Rows { columns: columns.clone(), rows: std::mem::take(&mut self.rows) }
    }
}

fn keeps_before_images(engine: &Engine, logs: bool, schema: &SchemaVersion) -> bool {
    logs && RowForm::of(engine.log_kind) == RowForm::Physiological || schema.has_deferred
}

impl SessionCore {
    /// Undoes the transaction that is open: of a block, or of a statement that panicked. Others may wait for what
    /// it has claimed.
    pub(crate) fn undo(&mut self) {
        if self.changing.is_some() {
            self.undo_schema();
        } else if self.txn.is_active() {
            let schema = self.schema.clone();
            self.txn.abort(&schema.tables);
        }
        self.share.end_transaction(&self.engine.meter);
        self.end_locks();
    }
}

impl Drop for SessionCore {
    fn drop(&mut self) {
        self.undo();
        if self.temporary.made && !self.panicked {
            self.block = Block::None;
            // What stays goes when the next session makes some here, or when the database is opened.
            let _ = self.drop_temporary();
        }
        self.end_own_locks();
        self.engine.gate.give_back_slot(self.worker);
    }
}
