//! The engine: one database over one protocol.
//!
//! * [`schema_version`]: one catalog version with its tables and compiled procedures, how their calls are logged
//!   and replayed, and what a role may run; [`sequence`]: where sequences stand; [`graph`]: graphs of procedures;
//! * [`gate`]: transactions pass it, changes of the schema close it; [`table_locks`], [`advisory`]: locks that
//!   statements take; [`waits`]: who waits for whom; [`nap`]: waiting in the midst of a program;
//! * [`channels`]: LISTEN and NOTIFY;
//! * [`program`]: what a running program may ask;
//! * [`snapshot`]: the state as of a moment; [`exported`]: what sessions share of them; [`sweeper`], [`collector`]: old versions that nobody needs any more;
//! * [`memory`]: what may be taken of the machine's;
//! * [`checkpoint`]: what goes into one, and comes out; [`checkpointer`]: when they are written; [`budget`]: what a restart
//!   would take.
//!
//! It knows no session: what a client's session does with it is in [`crate::session`], opening and recovering a database
//! in [`crate::opening`] and [`crate::replay`].
//!
//! Nothing of it is generic over the protocol: that is behind two doors, [`worker`] for what a session does in its
//! transactions and [`store`] for the rest, and is chosen when a database is opened.

pub(crate) mod advisory;
pub(crate) mod budget;
#[cfg(test)]
mod catalog_format;
pub(crate) mod channels;
pub(crate) mod checkpoint;
pub(crate) mod checkpointer;
pub(crate) mod collector;
pub(crate) mod copy;
pub(crate) mod counters;
pub(crate) mod exported;
pub(crate) mod forecast;
pub(crate) mod gate;
pub(crate) mod graph;
pub(crate) mod memory;
pub(crate) mod names;
pub(crate) mod nap;
pub(crate) mod open_snapshots;
pub(crate) mod own_thread;
pub(crate) mod program;
pub(crate) mod put_in_place;
pub(crate) mod schema_version;
pub(crate) mod sequence;
pub(crate) mod snapshot;
pub(crate) mod store;
pub(crate) mod sweeper;
pub(crate) mod table_locks;
pub(crate) mod teller;
mod unforeseen;
pub(crate) mod waits;
pub(crate) mod worker;
pub(crate) mod written;

use crate::options::{Options, RecoveryReport};
use crate::system::{LockInfo, RestartFacts, SnapshotInfo, Vitals};
use crate::{Durability, LogKind, Scheme};
use arc_swap::ArcSwap;
use planaria_base::chunks::Chunks;
use planaria_base::clock::CommitClock;
use planaria_base::limits::WORKERS_MAX;
use planaria_base::sync::{Mutex, OnceLock};
use planaria_base::{Error, Result, SqlState, WallClock, WorkerId};
use planaria_catalog::Catalog;
use planaria_log::Log;
use planaria_protocol::{BackoffKind, Traits};
use planaria_storage::Process;
use schema_version::SchemaVersion;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI32, AtomicU64, AtomicUsize, Ordering};
use std::time::Duration;
use store::Store;

pub(crate) use checkpoint::decode_catalog;

/// A database over a protocol.
pub(crate) struct Engine {
    pub(crate) store: Arc<dyn Store>,
    pub(crate) traits: Traits,
    /// How attempts wait that have met others.
    pub(crate) backoff: BackoffKind,
    /// How long a transaction that is healed holds its locks.
    pub(crate) healing_max: Duration,
    pub(crate) heal_with_stale_inputs: bool,
    pub(crate) look_ahead: bool,
    pub(crate) clock: Arc<CommitClock>,
    pub(crate) gate: gate::Gate,
    pub(crate) locks: table_locks::TableLocks,
    pub(crate) advisory: advisory::AdvisoryLocks,
    pub(crate) channels: Arc<channels::Channels>,
    /// Those that are giving up their waits, as they were part of a ring.
    pub(crate) victims: Mutex<Vec<WorkerId>>,
    pub(crate) schema: ArcSwap<SchemaVersion>,
    /// Number of `schema`, on a line of its own that is only read in normal operation.
    pub(crate) version: AtomicU64,
    /// When the schema was last changed, in an epoch that is no earlier: rows may show the change.
    pub(crate) changed: AtomicU64,
    /// Set once recovery is done.
    pub(crate) log: OnceLock<Arc<Log>>,
    pub(crate) log_kind: LogKind,
    /// How a log is replayed when the database is opened as it was: the scheme and its threads.
    pub(crate) replays_with: (Scheme, usize),
    pub(crate) waits_for_disk: bool,
    pub(crate) counters: counters::Counters,
    /// By worker, what `pg_backend_pid` answers to the session that waits or is waited for.
    pub(crate) processes: Box<[AtomicI32]>,
    /// What takes as long is slow: 0 for nothing.
    pub(crate) slow_statement: std::time::Duration,
    /// Of transactions that stay on a thread, which.
    pub(crate) on_threads: own_thread::OnThreads,
    /// When it was made: microseconds since 2000-01-01 UTC.
    pub(crate) started: i64,
    pub(crate) recovery: Mutex<Option<RecoveryReport>>,
    /// Who is connected to the server, if there is one.
    pub(crate) clients: crate::serving::clients::Lent<dyn crate::serving::Clients>,
    /// The server itself.
    pub(crate) host: crate::serving::clients::Lent<dyn crate::serving::Host>,
    pub(crate) open_snapshots: open_snapshots::SnapshotList,
    /// What sessions share of them.
    pub(crate) exported: exported::ExportedSnapshots,
    /// What transaction blocks read.
    pub(crate) block_moments: open_snapshots::BlockMoments,
    /// Held by who writes a checkpoint.
    pub(crate) checkpoints: Mutex<Checkpoints>,
    /// How many wait for the one that is being written.
    pub(crate) checkpoints_awaited: AtomicUsize,
    /// Threads that write a checkpoint or backup.
    pub(crate) checkpoint_threads: usize,
    pub(crate) budget: Mutex<budget::Budget>,
    /// The database is being closed: a checkpoint under way is given up.
    pub(crate) stopping: Arc<AtomicBool>,
    /// It has been closed: no statement begins any more.
    pub(crate) closed: AtomicBool,
    /// The process that opened it.
    pub(crate) process: Process,
    pub(crate) checkpoint_on_close: bool,
    pub(crate) meter: memory::Meter,
    /// Bytes that are claimed once it is open.
    pub(crate) memory_reserve: u64,
    /// When checkpoints are written by themselves.
    pub(crate) policy: Mutex<crate::options::CheckpointPolicy>,
    pub(crate) wall_clock: WallClock,
    /// The last number that a transaction has asked for.
    transaction_ids: AtomicU64,
    /// What all sessions begin with, unless the database says otherwise.
    pub(crate) defaults: ArcSwap<Vec<(String, String)>>,
}

/// What the engine knows of its checkpoints.
pub(crate) struct Checkpoints {
    /// Number of the next one.
    pub(crate) next: u32,
    /// The log before a checkpoint stays.
    keep_log: bool,
}

impl Checkpoints {
    pub(crate) fn new(options: &Options) -> Checkpoints {
        Checkpoints { next: 1, keep_log: options.keep_log }
    }
}

impl Engine {
    /// An empty one. The store has the same clock.
    pub(crate) fn new(
        store: Arc<dyn Store>,
        clock: Arc<CommitClock>,
        options: &Options,
    ) -> Result<Arc<Engine>> {
        options.check()?;
        if options.heal_always {
            store.heal_always();
        }
        store.remember(options.healing_remembers);
        let budget = options.memory_budget.unwrap_or_else(memory::default_budget);
        memory::check_reserve(options.memory_reserve, budget)?;
        let catalog = Arc::new(Catalog::default());
        let schema = SchemaVersion::new(catalog, store.no_tables(), Chunks::default());
        Ok(Arc::new(Engine {
            traits: store.traits(),
            backoff: options.backoff,
            healing_max: options.healing_max,
            heal_with_stale_inputs: options.heal_with_stale_inputs,
            look_ahead: options.look_ahead,
            store,
            clock,
            gate: gate::Gate::new(),
            locks: table_locks::TableLocks::new(),
            advisory: advisory::AdvisoryLocks::new(),
            channels: Arc::default(),
            victims: Mutex::default(),
            version: AtomicU64::new(schema.version()),
            schema: ArcSwap::from_pointee(schema),
            changed: AtomicU64::new(0),
            log: OnceLock::new(),
            log_kind: options.log,
            replays_with: (options.recovery, options.recovery_threads),
            waits_for_disk: options.durability == Durability::Fsync,
            counters: counters::Counters::new(),
            processes: (0..WORKERS_MAX).map(|_| AtomicI32::new(0)).collect(),
            slow_statement: options.slow_statement,
            on_threads: own_thread::OnThreads::new(WORKERS_MAX),
            started: options.wall_clock.micros(),
            recovery: Mutex::new(None),
            clients: Default::default(),
            host: Default::default(),
            open_snapshots: Default::default(),
            exported: Default::default(),
            block_moments: Default::default(),
            checkpoints: Mutex::new(Checkpoints::new(options)),
            checkpoints_awaited: AtomicUsize::new(0),
            checkpoint_threads: options.checkpoint_threads,
            budget: Mutex::default(),
            stopping: Arc::default(),
            closed: AtomicBool::new(false),
            process: Process::this(),
            checkpoint_on_close: options.checkpoint_on_close,
            meter: memory::Meter::new(budget),
            memory_reserve: options.memory_reserve,
            policy: Mutex::new(options.checkpoints),
            wall_clock: options.wall_clock.clone(),
            transaction_ids: AtomicU64::new(0),
            defaults: ArcSwap::from_pointee(options.defaults.clone()),
        }))
    }

    /// Whether no statement may begin any more.
    #[inline]
    pub(crate) fn is_over(&self) -> bool {
        self.closed.load(Ordering::Relaxed) || self.process.is_copy()
    }

    /// 57P01 where the database has been closed, 55000 in a process that did not open it.
    pub(crate) fn check_open(&self) -> Result<()> {
        if self.process.is_copy() {
            return Err(planaria_log::of_another_process());
        }
        if self.closed.load(Ordering::Relaxed) {
            return Err(Error::new(SqlState::ADMIN_SHUTDOWN, "the database has been closed"));
        }
        Ok(())
    }

    /// Makes a schema version the current one. The caller has the gate closed.
    pub(crate) fn install(&self, schema: Arc<SchemaVersion>) {
        let version = schema.version();
        self.schema.store(schema);
        self.changed.store(self.clock.epoch().0, Ordering::Release);
        self.version.store(version, Ordering::Release);
    }
}

impl Vitals for Engine {
    fn transaction_id(&self) -> i64 {
        // A restart begins in an epoch that no commit was in. So nothing is kept of the numbers: those of an epoch lie below
        // those of the next, as long as fewer than 2^20 are asked for in each.
        let least = self.clock.now().epoch().0 << 20;
        let next = |last: u64| Some((last + 1).max(least));
        let last = self.transaction_ids.fetch_update(Ordering::Relaxed, Ordering::Relaxed, next).unwrap_or(0);
        (last + 1).max(least) as i64
    }

    fn transactions(&self) -> (u64, u64) {
        let aborts = self.counters.aborts().into_iter().map(|(_, n)| n).sum();
        (self.counters.commits(), aborts)
    }

    fn outcomes(&self) -> Vec<(&'static str, &'static str, u64)> {
        let aborts = self.counters.aborts().into_iter().map(|(cause, n)| ("aborts", cause, n));
        let healing = self.counters.healing().counters().map(|(what, n)| ("healing", what, n));
        std::iter::once(("transactions", "commits", self.counters.commits()))
            .chain(aborts)
            .chain(healing)
            .collect()
    }

    fn snapshots(&self) -> Vec<SnapshotInfo> {
        let mut all = self.open_snapshots.all();
        all.extend(self.block_moments.all().map(|(worker, at, opened)| SnapshotInfo {
            epoch: at.epoch(),
            opened,
            session: self.process(worker),
        }));
        all.sort_by_key(|info| info.opened);
        all
    }

    fn budget(&self) -> (Option<u64>, u64, u64) {
        (self.meter.budget(), self.meter.sessions(), self.meter.log_buffers())
    }

    fn restart(&self) -> RestartFacts {
        let log_bytes = self.log.get().map_or(0, |log| log.stats().bytes);
        let tables = self.schema.load().tables.iter().count();
        let target = self.policy.lock().restart_target;
        self.budget.lock().facts(log_bytes, tables, target)
    }

    fn locks(&self) -> Vec<LockInfo> {
        Engine::all_locks(self)
    }

    fn pauses(&self) -> Vec<(i32, (&'static str, &'static str))> {
        let paused = self.counters.paused().into_iter();
        paused.map(|(worker, pause)| (self.process(worker), pause.event())).collect()
    }

    fn blockers(&self, process: i32) -> Vec<i32> {
        Engine::blockers(self, process)
    }
}
