//! The engine: one database over one protocol.
//!
//! * [`api`]: the way in; [`opening`]: an engine is opened;
//! * [`schema_version`]: one catalog version with its tables and compiled procedures, how their calls are logged
//!   and replayed, and what a role may run;
//! * [`session`]: attempts and commits; [`statement`]: what kind of statement goes where; [`named`]: those that
//!   have names;
//! * [`snapshot`]: the state at the end of an epoch; [`reading`]: transactions and statements that read one;
//! * [`serve`]: statements as a server runs them: their rows lent, the disk not waited for;
//! * [`user`]: who a session is; [`cancel`], [`cursor`], [`prepared`], [`constraints`], [`savepoint`], [`changing`]: what else one
//!   keeps;
//! * [`host`]: what a running program may ask (inputs, sequences, messages);
//! * [`schema`]: changes of the catalog, behind the [`gate`]; [`rewrite`]: what they do to stored rows;
//!   [`schema_block`]: the same in transaction blocks;
//! * [`waiting`]: rows that others have claimed; [`nap`]: waiting in the midst of a program; [`sweeper`]: old versions that nobody needs any more;
//! * [`memory`]: what may be taken of the machine's;
//! * [`replay`]: the engine's side of recovery; [`checkpoint`]: that of checkpoints;
//!   [`checkpointer`]: when they are written; [`budget`]: what a restart would take.
//!
//! Nothing of it is generic over the protocol: that is behind two doors, [`worker`] for what a session does in its
//! transactions and [`store`] for the rest, and is chosen when a database is opened.

mod advisory;
mod answer;
mod api;
mod bind;
mod block;
mod budget;
mod cache;
mod cancel;
#[cfg(test)]
mod catalog_format;
mod changing;
mod checkpoint;
mod checkpointer;
mod collector;
mod constraints;
mod copy;
mod counters;
pub(crate) mod cursor;
mod deferred;
mod dynamic;
mod explain;
mod explain_recovery;
mod fetch;
mod gate;
mod graph;
mod host;
mod in_time;
mod keys;
mod kind;
mod locking;
mod memory;
mod named;
mod names;
mod nap;
mod open_snapshots;
mod opening;
mod origin;
mod prepared;
mod put_in_place;
mod reading;
mod record;
mod refusal;
mod replay;
mod rewrite;
mod role;
mod savepoint;
mod schema;
mod schema_block;
mod schema_version;
mod sequence;
mod serve;
mod session;
pub(crate) mod settings;
mod snapshot;
mod statement;
mod store;
mod sweeper;
mod table_locks;
mod teller;
mod truncate;
mod user;
mod waiting;
pub(crate) mod waits;
mod worker;
mod written;

use crate::options::{Options, RecoveryReport};
use crate::system::Vitals;
use crate::{Durability, LogKind, Scheme};
use arc_swap::ArcSwap;
use planaria_base::chunks::Chunks;
use planaria_base::clock::CommitClock;
use planaria_base::limits::WORKERS_MAX;
use planaria_base::sync::{Mutex, OnceLock};
use planaria_base::{Error, Result, SqlState, WallClock};
use planaria_catalog::Catalog;
use planaria_log::Log;
use planaria_protocol::Traits;
use planaria_storage::Process;
use schema_version::SchemaVersion;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI32, AtomicU64, AtomicUsize, Ordering};
use std::time::Duration;
use store::Store;

pub(crate) use api::EngineHandle;
pub(crate) use budget::RestartFacts;
pub(crate) use checkpoint::decode_catalog;
pub(crate) use open_snapshots::SnapshotInfo;
pub(crate) use opening::{open_engine, open_engine_over, replay_engine};
pub(crate) use prepared::{PreparedStatement, Resolved};
pub(crate) use serve::KeptState;
pub(crate) use session::SessionCore;

/// A database over a protocol.
pub(crate) struct Engine {
    store: Arc<dyn Store>,
    traits: Traits,
    clock: Arc<CommitClock>,
    gate: gate::Gate,
    locks: table_locks::TableLocks,
    advisory: advisory::AdvisoryLocks,
    schema: ArcSwap<SchemaVersion>,
    /// Number of `schema`, on a line of its own that is only read in normal operation.
    version: AtomicU64,
    /// When the schema was last changed, in an epoch that is no earlier: rows may show the change.
    changed: AtomicU64,
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
    open_snapshots: open_snapshots::SnapshotList,
    /// Held by who writes a checkpoint.
    checkpoints: Mutex<Checkpoints>,
    /// How many wait for the one that is being written.
    checkpoints_awaited: AtomicUsize,
    /// Threads that write a checkpoint or backup.
    checkpoint_threads: usize,
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
    /// What all sessions begin with, unless the database says otherwise.
    defaults: Vec<(String, String)>,
}

/// What the engine knows of its checkpoints.
struct Checkpoints {
    /// Number of the next one.
    next: u32,
    /// The log before a checkpoint stays.
    keep_log: bool,
}

impl Checkpoints {
    fn new(options: &Options) -> Checkpoints {
        Checkpoints { next: 1, keep_log: options.keep_log }
    }
}

impl Engine {
    /// An empty one. The store has the same clock.
    fn new(store: Arc<dyn Store>, clock: Arc<CommitClock>, options: &Options) -> Result<Arc<Engine>> {
        for (name, value) in &options.defaults {
            settings::check_default(name, std::slice::from_ref(value))?;
        }
        let catalog = Arc::new(Catalog::default());
        let schema = SchemaVersion::new(catalog, store.no_tables(), Chunks::default())?;
        Ok(Arc::new(Engine {
            traits: store.traits(),
            store,
            clock,
            gate: gate::Gate::new(),
            locks: table_locks::TableLocks::new(),
            advisory: advisory::AdvisoryLocks::new(),
            version: AtomicU64::new(schema.version()),
            schema: ArcSwap::from_pointee(schema),
            changed: AtomicU64::new(0),
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
            checkpoints: Mutex::new(Checkpoints::new(options)),
            checkpoints_awaited: AtomicUsize::new(0),
            checkpoint_threads: options.checkpoint_threads,
            budget: Mutex::default(),
            stopping: Arc::default(),
            closed: AtomicBool::new(false),
            process: Process::this(),
            checkpoint_on_close: options.checkpoint_on_close,
            meter: memory::Meter::new(options.memory_budget.unwrap_or_else(memory::default_budget)),
            restart_target: options.checkpoints.restart_target,
            wall_clock: options.wall_clock.clone(),
            defaults: options.defaults.clone(),
        }))
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
    fn install(&self, schema: Arc<SchemaVersion>) {
        let version = schema.version();
        self.schema.store(schema);
        self.changed.store(self.clock.epoch().0, Ordering::Release);
        self.version.store(version, Ordering::Release);
    }
}

impl Vitals for Engine {
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

    fn locks(&self) -> Vec<waits::LockInfo> {
        Engine::all_locks(self)
    }

    fn blockers(&self, process: i32) -> Vec<i32> {
        Engine::blockers(self, process)
    }
}
