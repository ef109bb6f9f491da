//! The engine: one database over one protocol.
//!
//! * [`schema_version`]: one catalog version with its tables and compiled procedures; [`plan`]: how their calls
//!   are logged and replayed;
//! * [`session`]: attempts and commits; [`statement`]: what kind of statement goes where; [`named`]: those that
//!   have names;
//! * [`reading`]: transactions and statements that read a snapshot of an epoch;
//! * [`serve`]: statements as a server runs them: their rows lent, the disk not waited for;
//! * [`user`]: who a session is; [`permit`]: what that role may run;
//! * [`host`]: what a running program may ask (inputs, sequences, messages);
//! * [`schema`]: changes of the catalog, behind the [`gate`]; [`rewrite`]: what they do to stored rows;
//!   [`schema_block`]: the same in transaction blocks;
//! * [`waiting`]: rows that others have claimed; [`sweeper`]: old versions that nobody needs any more;
//! * [`memory`]: what may be taken of the machine's;
//! * [`replay`]: the engine's side of recovery; [`checkpoint`]: that of checkpoints;
//!   [`checkpointer`]: when they are written; [`budget`]: what a restart would take.
//!
//! Everything is generic over the protocol and dispatched once, when a database is opened; the
//! traits [`EngineApi`] and [`SessionApi`] are the way in, one virtual call per statement.

mod bind;
mod block;
mod budget;
mod cache;
mod cancel;
#[cfg(test)]
mod catalog_format;
mod checkpoint;
mod checkpointer;
mod collector;
mod copy;
mod counters;
pub(crate) mod cursor;
mod deferred;
mod explain;
mod explain_recovery;
mod gate;
mod graph;
mod host;
mod locking;
mod memory;
mod named;
mod origin;
mod permit;
mod pieces;
mod plan;
mod reading;
mod record;
mod replay;
mod rewrite;
mod schema;
mod schema_block;
mod schema_version;
mod sequence;
mod serve;
mod session;
pub(crate) mod settings;
mod statement;
mod sweeper;
mod table_locks;
mod truncate;
mod user;
mod waiting;

use crate::clients::Clients;
use crate::graph::{Graph, GraphRequest};
use crate::options::{Options, RecoveryPhases, RecoveryReport};
use crate::params::Params;
use crate::row::{Column, Rows};
use crate::session::{Notice, PreparedCall, StatementResult, Submitted};
use crate::sink::RowSink;
use crate::statement::{Done, Parsed, TransactionStatus};
use crate::stats::{CheckpointReport, Memory, Stats};
use crate::system::{Stock, Vitals};
use crate::ticket::Ticket;
use crate::{Durability, LogKind, Scheme};
use arc_swap::ArcSwap;
use checkpoint::FULL_SPEED;
use checkpointer::Checkpointer;
use collector::Collector;
use planaria_base::chunks::Chunks;
use planaria_base::clock::CommitClock;
use planaria_base::limits::WORKERS_MAX;
use planaria_base::sync::{Instant, Mutex, OnceLock};
use planaria_base::{CommitTs, Datum, Epoch, Error, ProcedureId, Result, RoleId, SqlState, Type, WallClock};
use planaria_catalog::Catalog;
use planaria_checkpoint::Manifest;
use planaria_exec::Code;
use planaria_log::{Device, Log, LogReader, LogSummary, PlannerVersion, Until};
use planaria_protocol::{ClaimInfo, Hosted, ProtocolJob};
use planaria_storage::reclaim::Participant;
use planaria_storage::{Process, TableSet};
use planaria_syntax::ast;
use schema_version::SchemaVersion;
use session::SessionCore;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI32, AtomicU64, AtomicUsize, Ordering};
use std::time::Duration;

pub(crate) use budget::RestartFacts;
pub(crate) use checkpoint::decode_catalog;
pub(crate) use reading::SnapshotInfo;
pub(crate) use serve::KeptState;
pub(crate) use statement::PreparedStatement;
pub(crate) use waiting::Sleeper;

/// The version of the planner whose plans the log is written under: part of the log's header, because a
/// call replays as it ran only under the plans it ran with.
///
/// Execution goes up when a procedure of the same catalog may read rows in another order or draw other
/// inputs than before: then logs with calls cannot be opened any more. Keeping goes up when a procedure may
/// keep other values than before (`planaria_analysis::regrow`): then calls that kept some are replayed one
/// by one, without what they kept.
const PLANNER_VERSION: PlannerVersion = PlannerVersion::new(1, 3);

/// A call's target under one catalog version.
pub(crate) struct Resolved {
    /// The catalog version and the role: see [`user::stamp`].
    stamp: u64,
    id: ProcedureId,
    /// The role may not run all of it: it asks.
    guarded: bool,
    parameters: Arc<[Type]>,
    defaults: Defaults,
    columns: Arc<[Column]>,
}

/// Defaults of the parameters that a call leaves out.
enum Defaults {
    /// The same in each call.
    Values(Vec<Datum>),
    /// Computed in each call, before it.
    Computed { code: Box<Code>, only_reads: bool, touches: Arc<table_locks::Touches> },
}

/// The engine, whatever its protocol.
pub(crate) trait EngineApi: Send + Sync {
    /// 55000 in a process that did not open it.
    fn check_process(&self) -> Result<()>;
    fn session(&self) -> Result<Box<dyn SessionApi>>;
    fn catalog(&self) -> Arc<Catalog>;
    fn stats(&self) -> Stats;
    fn identity(&self) -> Option<[u8; 16]>;
    /// What somebody else holds goes from so many bytes to so many; 53200 where that may be refused.
    fn hold(&self, before: u64, now: u64, refusable: bool) -> Result<()>;
    fn recovery(&self) -> Option<RecoveryReport>;
    fn digests(&self) -> Result<Vec<(String, u128)>>;
    fn check(&self) -> Result<()>;
    fn graph(&self, request: &GraphRequest) -> Result<Graph>;
    fn open_on_copy(&self, device: Option<Arc<dyn Device>>, options: &Options) -> Result<Arc<dyn EngineApi>>;
    fn flush(&self) -> Result<()>;
    fn served_to(&self, clients: &Arc<dyn Clients>);
    /// Spread over about so much time.
    fn checkpoint(&self, time: Duration) -> Result<CheckpointReport>;
    fn close(&self) -> Result<()>;
    /// Writes the database into an empty directory. Of one that was replayed to be restored: the identity the
    /// copy gets, a new one without, and the epoch it shows at least.
    fn backup(
        &self,
        device: Arc<dyn Device>,
        restored: Option<(Option<[u8; 16]>, Epoch)>,
    ) -> Result<CheckpointReport>;
}

/// A session, whatever the protocol.
pub(crate) trait SessionApi: Send {
    /// Runs one statement and waits until it is durable.
    fn statement(
        &mut self,
        statement: &ast::Statement,
        text: &str,
        params: &dyn Params,
    ) -> Result<StatementResult>;
    /// The same from its text, which is kept analysed.
    fn statement_text(&mut self, text: &str, params: &dyn Params) -> Result<StatementResult>;
    fn prepare(&mut self, text: &str) -> Result<Arc<PreparedStatement>>;
    fn run_prepared(&mut self, statement: &PreparedStatement, params: &dyn Params)
    -> Result<StatementResult>;
    /// Analyses a parsed statement whose first parameters have these types, where they are known.
    fn prepare_parsed(&mut self, parsed: &Parsed, types: &[Option<Type>]) -> Result<Arc<PreparedStatement>>;
    fn recall(&mut self, text: &str, types: &[Option<Type>]) -> Option<Arc<PreparedStatement>>;
    fn remember(&mut self, text: &str, statement: &Arc<PreparedStatement>);
    fn name(&mut self, name: &str, statement: &Arc<PreparedStatement>) -> Result<()>;
    fn named(&self, name: &str) -> Option<&Arc<PreparedStatement>>;
    fn forget(&mut self, name: &str);
    /// The columns of a cursor, if there is one of that name.
    fn cursor(&self, name: &str) -> Option<Arc<[Column]>>;
    /// The next rows of a cursor, at most `n` (0: all).
    fn fetch(&mut self, name: &str, n: usize) -> Result<Rows>;
    fn close_cursor(&mut self, name: &str);
    /// Runs a statement without waiting for the disk; its rows go to the sink.
    fn start(
        &mut self,
        statement: &PreparedStatement,
        params: &dyn Params,
        sink: &mut dyn RowSink,
    ) -> Result<Done>;
    /// BEGIN, COMMIT or ROLLBACK, without waiting for the disk; the command tag.
    fn control(&mut self, transaction: &ast::Transaction) -> Result<(String, Ticket)>;
    /// The open transaction block has failed.
    fn fail_block(&mut self);
    /// Puts the state of another session in place of this one's.
    fn swap_state(&mut self, state: &mut KeptState);
    fn wait(&mut self, ticket: &Ticket) -> Result<()>;
    /// Becomes the session of a role, as if it had logged in.
    fn log_in_as(&mut self, role: &str) -> Result<()>;
    fn cancelled_by(&mut self, flag: &Arc<AtomicBool>);
    /// What cancels this session's statements.
    fn cancel_flag(&self) -> Arc<AtomicBool>;
    /// When statements end that are begun from now on; `None`: when `statement_timeout` says.
    fn ends_by(&mut self, deadline: Option<Instant>);
    /// 57014 where a statement that is under way is to end.
    fn check_cancelled(&self) -> Result<()>;
    fn numbered(&mut self, number: i32);
    fn role(&self) -> RoleId;
    fn sleeps_by(&mut self, sleeper: Sleeper);
    /// Place of the last transaction that committed, and whether it drew it.
    fn last_commit(&self) -> Option<(CommitTs, bool)>;
    fn set(&mut self, name: &str, value: &str) -> Result<()>;
    fn setting(&self, name: &str) -> Result<&str>;
    fn settings_changes(&self) -> u64;
    fn setting_milliseconds(&self, name: &str) -> u64;
    fn resolve_call(&mut self, name: &str, arguments: usize) -> Result<Arc<Resolved>>;
    fn submit(&mut self, call: &PreparedCall, params: &dyn Params) -> Result<Submitted>;
    fn transaction_status(&self) -> TransactionStatus;
    fn take_notices(&mut self) -> Vec<Notice>;
    fn catalog(&mut self) -> Arc<Catalog>;
    /// After a panic of one of its methods: undoes what is open; from now on statements are refused.
    fn panicked(&mut self);
    fn has_panicked(&self) -> bool;
}

/// A database over a protocol.
pub(crate) struct Engine<P: Hosted> {
    protocol: P,
    clock: Arc<CommitClock>,
    gate: gate::Gate,
    locks: table_locks::TableLocks,
    schema: ArcSwap<SchemaVersion<P::Header>>,
    /// Number of `schema`, on a line of its own that is only read in normal operation.
    version: AtomicU64,
    /// Set once recovery is done.
    log: OnceLock<Arc<Log>>,
    log_kind: LogKind,
    /// How a log is replayed when the database is opened as it was: the scheme and its threads.
    replays_with: (Scheme, usize),
    waits_for_disk: bool,
    counters: counters::Counters,
    /// By worker, what `pg_backend_pid` answers to the session that waits or is waited for.
    processes: Box<[AtomicI32]>,
    /// When it was made: microseconds since 2000-01-01 UTC.
    started: i64,
    recovery: Mutex<Option<RecoveryReport>>,
    /// Who is connected to the server, if there is one.
    clients: crate::clients::Lent,
    open_snapshots: reading::SnapshotList,
    /// Held by who writes a checkpoint.
    checkpoints: Mutex<checkpoint::Checkpoints>,
    /// How many wait for the one that is being written.
    checkpoints_awaited: AtomicUsize,
    /// Threads that write a checkpoint or backup.
    checkpoint_threads: usize,
    sweeper: sweeper::Sweeper<P::Header>,
    budget: Mutex<budget::Budget>,
    /// The database is being closed: a checkpoint under way is given up.
    stopping: Arc<AtomicBool>,
    /// It has been closed: no statement begins any more.
    closed: AtomicBool,
    /// The process that opened it.
    process: Process,
    checkpoint_on_close: bool,
    meter: memory::Meter,
    /// How long opening should take at most; 0 without a target.
    restart_target: Duration,
    pub(crate) wall_clock: WallClock,
}

/// Opens an engine: on a device, or in memory.
pub(crate) fn open_engine(device: Option<Arc<dyn Device>>, options: Options) -> Result<Arc<dyn EngineApi>> {
    struct Open(Option<Arc<dyn Device>>, Options);
    impl ProtocolJob for Open {
        type Output = Result<Arc<dyn EngineApi>>;
        fn run<P: Hosted>(self) -> Self::Output {
            open_engine_over::<P>(self.0, self.1)
        }
    }
    options.protocol.dispatch(Open(device, options))
}

/// The same over a protocol that need not be of the shelf.
pub(crate) fn open_engine_over<P: Hosted>(
    device: Option<Arc<dyn Device>>,
    options: Options,
) -> Result<Arc<dyn EngineApi>> {
    let engine = Engine::<P>::new(Arc::new(CommitClock::new(Epoch(1))), &options)?;
    Handle::open(engine.start(device, &options)?, &options)
}

/// An engine in memory, in the state that a checkpoint and the log after it say, all of it or up to and with
/// a transaction; nothing is written.
pub(crate) fn replay_engine(
    device: &dyn Device,
    checkpoint: Option<&Manifest>,
    reader: &LogReader,
    until: Option<Until>,
    options: Options,
) -> Result<Arc<dyn EngineApi>> {
    struct Replay<'r>(&'r dyn Device, Option<&'r Manifest>, &'r LogReader, Option<Until>, Options);
    impl ProtocolJob for Replay<'_> {
        type Output = Result<Arc<dyn EngineApi>>;
        fn run<P: Hosted>(self) -> Self::Output {
            let Replay(device, checkpoint, reader, until, options) = self;
            let engine = Engine::<P>::new(Arc::new(CommitClock::new(Epoch(1))), &options)?;
            if let Some(manifest) = checkpoint {
                let mut teller = replay::Teller::new(options.on_recovery.clone());
                engine.restore_one(device, manifest, options.recovery_threads, &mut teller)?;
            }
            engine.replay(reader, until, &options)?;
            let collector = Collector::start(&engine)?;
            Ok(Arc::new(Handle(engine, None, collector)))
        }
    }
    options.protocol.dispatch(Replay(device, checkpoint, reader, until, options))
}

impl<P: Hosted> Engine<P> {
    fn new(clock: Arc<CommitClock>, options: &Options) -> Result<Arc<Engine<P>>> {
        let catalog = Arc::new(Catalog::default());
        let schema = SchemaVersion::new(catalog, TableSet::default(), Chunks::default())?;
        Ok(Arc::new(Engine {
            protocol: P::new(),
            clock,
            gate: gate::Gate::new(),
            locks: table_locks::TableLocks::new(),
            version: AtomicU64::new(schema.version()),
            schema: ArcSwap::from_pointee(schema),
            log: OnceLock::new(),
            log_kind: options.log,
            replays_with: (options.recovery, options.recovery_threads),
            waits_for_disk: options.durability == Durability::Fsync,
            counters: counters::Counters::new(),
            processes: (0..WORKERS_MAX).map(|_| AtomicI32::new(0)).collect(),
            started: options.wall_clock.micros(),
            recovery: Mutex::new(None),
            clients: crate::clients::Lent::default(),
            open_snapshots: Default::default(),
            checkpoints: Mutex::new(checkpoint::Checkpoints::new(options)),
            checkpoints_awaited: AtomicUsize::new(0),
            checkpoint_threads: options.checkpoint_threads,
            sweeper: sweeper::Sweeper::default(),
            budget: Mutex::default(),
            stopping: Arc::default(),
            closed: AtomicBool::new(false),
            process: Process::this(),
            checkpoint_on_close: options.checkpoint_on_close,
            meter: memory::Meter::new(options.memory_budget.unwrap_or_else(memory::default_budget)),
            restart_target: options.checkpoints.restart_target,
            wall_clock: options.wall_clock.clone(),
        }))
    }

    /// Recovers what is on the device and goes on logging there; without one, or where nothing is to
    /// be logged, the database lives in memory.
    fn start(self: Arc<Self>, device: Option<Arc<dyn Device>>, options: &Options) -> Result<Arc<Engine<P>>> {
        match device {
            Some(device) if options.log != LogKind::Off && options.durability != Durability::Off => {
                self.recover(device, options)
            }
            _ => Ok(self),
        }
    }

    /// Recovers the database on a device, then goes on logging there.
    fn recover(self: Arc<Self>, device: Arc<dyn Device>, options: &Options) -> Result<Arc<Engine<P>>> {
        let engine = self;
        let mut teller = replay::Teller::new(options.on_recovery.clone());
        let lock = LogReader::lock(&*device)?;
        let found = planaria_checkpoint::find(&*device)?;
        let restored = engine.restore(&*device, &found, options, &mut teller)?;
        let after = restored.epoch();
        let began = Instant::now();
        let mut tell = |found: &LogSummary| teller.checked(found);
        let reader =
            LogReader::open_after(device.clone(), lock, after, &mut tell).map_err(|e| restored.why_not(e))?;
        if restored.loaded.is_none() && reader.database().is_none() {
            // Not a new database, but one whose only copy this may be.
            restored.nothing_whole(&*device, &found)?;
        }
        let loaded = restored.loaded;
        engine.replay(&reader, None, options)?;
        engine.budget.lock().replayed(reader.summary().bytes, began.elapsed());
        let log = reader.resume(
            engine.clock.clone(),
            planaria_log::Options {
                durability: options.durability.into(),
                loggers: options.loggers,
                planner_version: PLANNER_VERSION,
                keep: options.keep_log,
                database: loaded.as_ref().and(found.database()),
                wall_clock: options.wall_clock.clone(),
                segment_bytes_max: options.log_files.segment_bytes_max,
                segment_epochs_max: options.log_files.segment_epochs_max,
                threads: options.log_files.threads,
                ..Default::default()
            },
        )?;
        // What a crash between a checkpoint and the deletion behind it has left.
        planaria_checkpoint::clean(&*device, loaded.as_ref().map(|c| c.number))?;
        if after > Epoch(0) && !options.keep_log {
            log.delete_through(after)?;
        }
        engine.checkpoints.lock().next = found.next;
        if let Some(loaded) = loaded {
            engine.recovery.lock().get_or_insert_default().checkpoint = Some(loaded);
        }
        let log = Arc::new(log);
        engine.meter.count_log(&log);
        engine.log.set(log).map_err(|_| Error::internal("two logs"))?;
        Ok(engine)
    }

    /// Brings the engine to the state that a log says, all of it or up to and with a transaction.
    fn replay(self: &Arc<Self>, reader: &LogReader, until: Option<Until>, options: &Options) -> Result<()> {
        let engine = self;
        let summary = reader.summary();
        if summary.records > 0 {
            let mut replay = replay::Replay::new(engine, options.on_recovery.clone(), summary.records)?;
            let mut batches = reader.batches(summary.base).replayed_by(PLANNER_VERSION);
            if let Some(until) = until {
                batches = batches.until(until);
            }
            let scheme = options.recovery;
            let mut how = planaria_recovery::Options {
                threads: options.recovery_threads,
                record_tasks: options.record_recovery_tasks,
                ..Default::default()
            };
            how.batch = options.recovery_batch.unwrap_or(how.batch);
            let report = scheme.replay(batches, summary.bytes, &how, &mut replay)?;
            *engine.recovery.lock() = Some(RecoveryReport {
                checkpoint: None,
                scheme,
                threads: report.threads,
                barriers: report.barriers,
                phases: RecoveryPhases {
                    load: report.load,
                    plan: report.plan,
                    execute: report.execute,
                    wait: report.wait,
                    index: report.index,
                },
                transactions: report.transactions,
                calls: report.calls,
                undone: report.undone,
                log_bytes: report.log_bytes,
                replay: report.replay,
                longest_transaction: report.longest_transaction,
                tasks: report.tasks,
            });
        }
        Ok(())
    }

    /// Whether no statement may begin any more.
    #[inline]
    fn is_over(&self) -> bool {
        self.closed.load(Ordering::Relaxed) || self.process.is_copy()
    }

    /// 57P01 where the database has been closed, 55000 in a process that did not open it.
    fn check_open(&self) -> Result<()> {
        if self.process.is_copy() {
            return Err(planaria_log::of_another_process());
        }
        if self.closed.load(Ordering::Relaxed) {
            return Err(Error::new(SqlState::ADMIN_SHUTDOWN, "the database has been closed"));
        }
        Ok(())
    }

    /// Makes a schema version the current one. The caller has the gate closed.
    fn install(&self, schema: Arc<SchemaVersion<P::Header>>) {
        let version = schema.version();
        self.schema.store(schema);
        self.version.store(version, Ordering::Release);
    }
}

impl<P: Hosted> Vitals for Engine<P> {
    fn snapshots(&self) -> Vec<SnapshotInfo> {
        self.open_snapshots.all()
    }

    fn budget(&self) -> (Option<u64>, u64, u64) {
        (self.meter.budget(), self.meter.sessions(), self.meter.log_buffers())
    }

    fn restart(&self) -> RestartFacts {
        let log_bytes = self.log.get().map_or(0, |log| log.stats().bytes);
        let tables = self.schema.load().tables.iter().count();
        self.budget.lock().facts(log_bytes, tables, self.restart_target)
    }

    fn at_gate(&self) -> Vec<(i32, bool)> {
        let process = |w: planaria_base::WorkerId| self.processes[usize::from(w.0)].load(Ordering::Relaxed);
        self.gate.at_gate().into_iter().map(|at| (process(at.worker), at.holds)).collect()
    }

    fn claims(&self) -> Vec<(i32, ClaimInfo)> {
        let process = |c: &ClaimInfo| self.processes[usize::from(c.worker.0)].load(Ordering::Relaxed);
        self.protocol.claims().into_iter().map(|c| (process(&c), c)).collect()
    }
}

/// The engine as [`EngineApi`]: sessions need to share it. Dropping it ends its threads.
struct Handle<P: Hosted>(
    Arc<Engine<P>>,
    #[allow(dead_code, reason = "dropping it is its use")] Option<Checkpointer>,
    #[allow(dead_code, reason = "dropping it is its use")] Option<Collector>,
);

impl<P: Hosted> Handle<P> {
    fn open(engine: Arc<Engine<P>>, options: &Options) -> Result<Arc<dyn EngineApi>> {
        let checkpointer = Checkpointer::start(&engine, options.checkpoints)?;
        let collector = Collector::start(&engine)?;
        Ok(Arc::new(Handle(engine, checkpointer, collector)))
    }
}

impl<P: Hosted> EngineApi for Handle<P> {
    fn check_process(&self) -> Result<()> {
        if self.0.process.is_copy() { self.0.check_open() } else { Ok(()) }
    }

    fn session(&self) -> Result<Box<dyn SessionApi>> {
        self.0.check_open()?;
        Ok(Box::new(SessionCore::new(self.0.clone())?))
    }

    fn catalog(&self) -> Arc<Catalog> {
        self.0.schema.load().catalog.clone()
    }

    fn stats(&self) -> Stats {
        let engine = &*self.0;
        let memory = Memory {
            session_bytes: engine.meter.sessions(),
            log_buffer_bytes: engine.meter.log_buffers(),
            budget: engine.meter.budget(),
            ..engine.schema.load().memory()
        };
        let log = engine.log.get().map(|l| l.stats());
        Stats {
            commits: engine.counters.commits(),
            open_snapshots: engine.open_snapshots.all().len() as u64,
            aborts: engine.counters.aborts(),
            log_records: log.as_ref().map_or(0, |l| l.records),
            log_bytes: log.as_ref().map_or(0, |l| l.bytes),
            fsyncs: log.as_ref().map_or(0, |l| l.syncs),
            sync_time: log.as_ref().map_or(Duration::ZERO, |l| l.sync_time),
            sync_histogram: log.as_ref().map_or(Vec::new(), |l| l.sync_histogram.to_vec()),
            memory,
            checkpoint: engine.checkpoint_stats(),
        }
    }

    fn identity(&self) -> Option<[u8; 16]> {
        self.0.log.get().and_then(|log| log.database())
    }

    fn hold(&self, before: u64, now: u64, refusable: bool) -> Result<()> {
        let engine = &*self.0;
        engine.meter.hold(before, now, refusable, || engine.schema.load())
    }

    fn served_to(&self, clients: &Arc<dyn Clients>) {
        self.0.clients.set(clients);
    }

    fn recovery(&self) -> Option<RecoveryReport> {
        self.0.recovery.lock().clone()
    }

    fn digests(&self) -> Result<Vec<(String, u128)>> {
        let engine = &*self.0;
        engine.check_open()?;
        engine.gate.check_not_own("computing digests")?;
        let _alone = engine.gate.close();
        let schema = engine.schema.load_full();
        let mut participant = Participant::new();
        let guard = participant.guard();
        let mut digests: Vec<(String, u128)> = schema
            .tables
            .digest(guard.pinned())
            .into_iter()
            .map(|(id, d)| {
                let name = schema.catalog.table_by_id(id).name.clone();
                (name, u128::from(d.rows) << 64 | u128::from(d.hash))
            })
            .collect();
        digests.sort();
        Ok(digests)
    }

    fn check(&self) -> Result<()> {
        self.0.check_open()?;
        self.0.gate.check_not_own("a check")?;
        let _alone = self.0.gate.close();
        let schema = self.0.schema.load_full();
        let mut participant = Participant::new();
        let guard = participant.guard();
        for table in schema.tables.iter() {
            table.check(guard.pinned()).map_err(|what| {
                let name = &schema.catalog.table_by_id(table.id()).name;
                Error::new(SqlState::DATA_CORRUPTED, format!("table \"{name}\" is damaged: {what}"))
            })?;
        }
        Ok(())
    }

    fn graph(&self, request: &GraphRequest) -> Result<Graph> {
        graph::graph(&self.0.schema.load_full(), request)
    }

    fn open_on_copy(&self, device: Option<Arc<dyn Device>>, options: &Options) -> Result<Arc<dyn EngineApi>> {
        self.0.check_open()?;
        let copy = Engine::<P>::new(Arc::new(CommitClock::new(self.0.clock.epoch().next())), options)?;
        copy.install(Arc::new(self.0.copy_state()?));
        Handle::open(copy.start(device, options)?, options)
    }

    fn checkpoint(&self, time: Duration) -> Result<CheckpointReport> {
        self.0.check_open()?;
        self.0.gate.check_not_own("a checkpoint")?;
        let start = Instant::now();
        // The last blocks have to be on disk in time, too.
        let due = || start.elapsed().as_secs_f64() / time.as_secs_f64().max(f64::MIN_POSITIVE);
        self.0.checkpoint(&|| Ok(()), &|share| self.0.leave_cores(share, &due))
    }

    fn close(&self) -> Result<()> {
        let engine = &self.0;
        engine.check_open()?;
        engine.closed.store(true, Ordering::SeqCst);
        // A block that is changing the schema will not be committed any more, and must not be waited for.
        let written = match engine.checkpoint_on_close && !engine.gate.is_held() {
            true => engine.checkpoint(&|| Ok(()), FULL_SPEED).map(|_| ()),
            false => Ok(()),
        };
        // Nobody may write among the files of whoever opens them next.
        engine.stopping.store(true, Ordering::SeqCst);
        drop(engine.checkpoints.lock());
        written.and(engine.log.get().map_or(Ok(()), |log| log.stop()))
    }

    fn backup(
        &self,
        device: Arc<dyn Device>,
        restored: Option<(Option<[u8; 16]>, Epoch)>,
    ) -> Result<CheckpointReport> {
        self.0.check_open()?;
        self.0.gate.check_not_own("a backup")?;
        self.0.backup(&*device, restored, &|| Ok(()))
    }

    fn flush(&self) -> Result<()> {
        self.0.check_open()?;
        self.0.log.get().map_or(Ok(()), |log| log.flush().map(|_| ()))
    }
}

impl<P: Hosted> SessionApi for SessionCore<P> {
    fn statement(
        &mut self,
        statement: &ast::Statement,
        text: &str,
        params: &dyn Params,
    ) -> Result<StatementResult> {
        self.in_time(|s| {
            let outcome = s.run_statement(statement, text, params);
            s.finish(outcome)
        })
    }
    fn statement_text(&mut self, text: &str, params: &dyn Params) -> Result<StatementResult> {
        self.in_time(|s| {
            let outcome = s.prepare_text(text, params).and_then(|p| s.run_prepared_statement(&p, params));
            s.finish(outcome)
        })
    }
    fn prepare(&mut self, text: &str) -> Result<Arc<PreparedStatement>> {
        self.in_time(|s| s.prepare_text(text, &()))
    }
    fn run_prepared(
        &mut self,
        statement: &PreparedStatement,
        params: &dyn Params,
    ) -> Result<StatementResult> {
        self.in_time(|s| {
            let outcome = s.run_prepared_statement(statement, params);
            s.finish(outcome)
        })
    }
    fn prepare_parsed(&mut self, parsed: &Parsed, types: &[Option<Type>]) -> Result<Arc<PreparedStatement>> {
        let outcome = self.in_time(|s| s.prepare_statement(parsed, types));
        self.fail_block_on_error(outcome)
    }
    fn start(
        &mut self,
        statement: &PreparedStatement,
        params: &dyn Params,
        sink: &mut dyn RowSink,
    ) -> Result<Done> {
        let outcome = self.in_time(|s| s.start_statement(statement, params, sink));
        self.fail_block_on_error(outcome)
    }
    fn log_in_as(&mut self, role: &str) -> Result<()> {
        SessionCore::log_in_as(self, role)
    }
    fn panicked(&mut self) {
        self.panicked = true;
        // Not what it reads: that goes with the session.
        self.undo();
        self.block = session::Block::None;
        self.engine.gate.leave(self.worker);
    }
    fn has_panicked(&self) -> bool {
        self.panicked
    }
    fn fail_block(&mut self) {
        if matches!(self.block, session::Block::Open) {
            self.block_failed(false);
        }
    }
    fn control(&mut self, transaction: &ast::Transaction) -> Result<(String, Ticket)> {
        self.notices.clear();
        let tag = self.in_time(|s| s.transaction_control(transaction))?.tag;
        Ok((tag, std::mem::replace(&mut self.pending, Ticket::done())))
    }
    fn recall(&mut self, text: &str, types: &[Option<Type>]) -> Option<Arc<PreparedStatement>> {
        self.recall_statement(text, types)
    }
    fn remember(&mut self, text: &str, statement: &Arc<PreparedStatement>) {
        self.remember_statement(text, statement);
    }
    fn name(&mut self, name: &str, statement: &Arc<PreparedStatement>) -> Result<()> {
        self.name_statement(name, statement)
    }
    fn named(&self, name: &str) -> Option<&Arc<PreparedStatement>> {
        self.statements.named.get(name)
    }
    fn forget(&mut self, name: &str) {
        self.statements.named.remove(name);
    }
    fn wait(&mut self, ticket: &Ticket) -> Result<()> {
        self.until_durable(ticket)
    }
    fn swap_state(&mut self, state: &mut KeptState) {
        self.give_memory_back();
        self.exchange_state(state);
    }
    fn cancelled_by(&mut self, flag: &Arc<AtomicBool>) {
        self.cancel.listen_to(flag);
        self.watch = None;
    }
    fn cancel_flag(&self) -> Arc<AtomicBool> {
        self.cancel.flag().clone()
    }
    fn ends_by(&mut self, deadline: Option<Instant>) {
        self.cancel.ends_by(deadline);
    }
    fn check_cancelled(&self) -> Result<()> {
        self.cancel.check()
    }
    fn cursor(&self, name: &str) -> Option<Arc<[Column]>> {
        self.cursor_columns(name)
    }
    fn fetch(&mut self, name: &str, n: usize) -> Result<Rows> {
        let outcome = self.check_block(None).and_then(|()| self.fetch_next(name, n));
        let rows = self.fail_block_on_error(outcome)?;
        self.ticket_in_block()?.wait()?;
        Ok(rows)
    }
    fn close_cursor(&mut self, name: &str) {
        self.cursors.remove(name);
    }
    fn numbered(&mut self, number: i32) {
        self.number = Some(number);
    }
    fn role(&self) -> RoleId {
        self.user.session()
    }
    fn sleeps_by(&mut self, sleeper: Sleeper) {
        self.sleeps_by = sleeper;
    }
    fn last_commit(&self) -> Option<(CommitTs, bool)> {
        self.last_commit
    }
    fn set(&mut self, name: &str, value: &str) -> Result<()> {
        self.settings.set(name, Some(&[value.to_owned()]), false)
    }
    fn setting(&self, name: &str) -> Result<&str> {
        self.settings.get(name)
    }
    fn settings_changes(&self) -> u64 {
        self.settings.changes()
    }
    fn setting_milliseconds(&self, name: &str) -> u64 {
        self.settings.milliseconds(name)
    }
    fn resolve_call(&mut self, name: &str, arguments: usize) -> Result<Arc<Resolved>> {
        self.in_time(|s| s.resolve(name, arguments)).map(Arc::new)
    }
    fn submit(&mut self, call: &PreparedCall, params: &dyn Params) -> Result<Submitted> {
        let outcome = self.in_time(|s| s.submit_call(call, params));
        self.fail_block_on_error(outcome)
    }
    fn transaction_status(&self) -> TransactionStatus {
        match self.block {
            session::Block::None => TransactionStatus::Idle,
            session::Block::Open => TransactionStatus::Open,
            session::Block::Failed => TransactionStatus::Failed,
        }
    }
    fn take_notices(&mut self) -> Vec<Notice> {
        std::mem::take(&mut self.notices)
    }
    fn catalog(&mut self) -> Arc<Catalog> {
        self.newest_catalog()
    }
}
