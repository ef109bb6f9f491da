//! How a database is opened.

use crate::database::Database;
use planaria_base::{Error, Result, WallClock};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use planaria_protocol::Remembers;
pub use planaria_protocol::{BackoffKind, ProtocolKind};
pub use planaria_recovery::Scheme;
use planaria_recovery::TaskRecord;

/// An enum with the names of its variants on the command line.
macro_rules! named {
    ($(#[$doc:meta])* $name:ident $what:literal { $($(#[$vdoc:meta])* $variant:ident $text:literal,)* }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
        pub enum $name { $($(#[$vdoc])* $variant,)* }

        impl $name {
            /// All of them.
            pub const ALL: &[$name] = &[$($name::$variant),*];
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(match self { $($name::$variant => $text,)* })
            }
        }

        impl std::str::FromStr for $name {
            type Err = String;
            fn from_str(s: &str) -> Result<Self, String> {
                match s {
                    $($text => Ok($name::$variant),)*
                    _ => Err(format!("there is no {} \"{s}\"; there are: {}", $what, [$($text),*].join(", "))),
                }
            }
        }
    };
}

pub(crate) use named;

named! {
    /// What a procedure call writes to the log.
    LogKind "log kind" {
        /// The call: procedure, arguments, drawn inputs.
        #[default]
        Command "command",
        /// The rows it changed: after-images by primary key.
        Logical "logical",
        /// The rows it changed: after-images with the locations of the old and the new version.
        Physical "physical",
        /// The rows it changed: before- and after-images of what changed in them.
        Physiological "physiological",
        /// The call or the rows it changed, whichever costs less: decided for each procedure.
        Adaptive "adaptive",
        /// Nothing: what is in memory is gone with the process.
        Off "off",
    }
}

named! {
    /// When a caller hears of a commit.
    Durability "durability" {
        /// When it is on disk.
        #[default]
        Fsync "fsync",
        /// At once; it reaches the disk some 10 ms later.
        Async "async",
        /// At once; nothing is written.
        Off "off",
    }
}

impl From<Durability> for planaria_log::Durability {
    fn from(durability: Durability) -> Self {
        match durability {
            Durability::Fsync => planaria_log::Durability::Fsync,
            Durability::Async => planaria_log::Durability::Async,
            Durability::Off => planaria_log::Durability::Off,
        }
    }
}

/// What a recovery does at the moment.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum RecoveryStage {
    /// The rows of a checkpoint are loaded.
    Load,
    /// The log is read once, to know that it is whole and where it ends.
    #[default]
    Check,
    /// Transactions are read, planned and replayed.
    Replay,
    /// Indexes are brought in line with replayed rows, in schemes that do not do it on the way. May come
    /// more than once.
    Index,
}

/// Progress of a recovery under way.
#[derive(Clone, Copy, Debug, Default)]
pub struct RecoveryProgress {
    /// What is being done.
    pub stage: RecoveryStage,
    /// In stage `Load`: rows loaded.
    pub rows: u64,
    /// In stage `Load`: rows of the checkpoint.
    pub rows_total: u64,
    /// In stage `Load`: bytes of rows read, as stored.
    pub load_bytes: u64,
    /// In stage `Load`: bytes of rows of the checkpoint, as stored.
    pub load_bytes_total: u64,
    /// Records checked so far, and in the end all there are: as many as transactions to replay.
    pub records: u64,
    /// Bytes of log replayed.
    pub bytes_done: u64,
    /// Bytes of log checked so far, and in the end all there are.
    pub bytes_total: u64,
    /// Transactions replayed.
    pub transactions: u64,
    /// Transactions read and planned; ahead of `transactions` in schemes that plan.
    pub planned: u64,
    /// In stage `Index`: index entries that are in.
    pub index_entries: u64,
    /// In stage `Index`: index entries to be put in; 0 while they are gathered.
    pub index_entries_total: u64,
    /// About how long it will take until the database is open; `None`: it is too early to tell.
    pub left: Option<Duration>,
}

/// Where the time of a recovery went: sums over its threads.
#[derive(Clone, Copy, Debug, Default)]
pub struct RecoveryPhases {
    /// Reading and decoding the log.
    pub load: Duration,
    /// Working out what is to be done.
    pub plan: Duration,
    /// Doing it.
    pub execute: Duration,
    /// Waiting for work.
    pub wait: Duration,
    /// Building indexes, where that is a phase of its own.
    pub index: Duration,
}

/// The checkpoint that a recovery began with.
#[derive(Clone, Debug, Default)]
pub struct LoadedCheckpoint {
    /// Its number.
    pub number: u32,
    /// The epoch whose end it shows: the log after it was replayed.
    pub epoch: u64,
    /// Rows.
    pub rows: u64,
    /// Bytes of them, as stored.
    pub bytes: u64,
    /// Time for loading.
    pub took: Duration,
    /// Newer checkpoints that are damaged, and how. The log after this one was still whole.
    pub passed_over: Vec<Error>,
}

/// What a recovery did.
#[derive(Clone, Debug, Default)]
pub struct RecoveryReport {
    /// The checkpoint it began with, if there was one.
    pub checkpoint: Option<LoadedCheckpoint>,
    /// The scheme it used.
    pub scheme: Scheme,
    /// Threads that replayed.
    pub threads: usize,
    /// Transactions replayed with nobody else at work (all of them in a serial scheme).
    pub barriers: u64,
    /// Where the time went.
    pub phases: RecoveryPhases,
    /// Transactions replayed.
    pub transactions: u64,
    /// Of these, procedure calls run again.
    pub calls: u64,
    /// Transactions of the epoch that a crash tore, which scheme `aries` redid and undid again; not among
    /// `transactions`.
    pub undone: u64,
    /// Bytes of log read.
    pub log_bytes: u64,
    /// Time for reading and replaying.
    pub replay: Duration,
    /// The longest single transaction.
    pub longest_transaction: Duration,
    /// Every task, where [`LabOptions::record_recovery_tasks`](crate::lab::LabOptions::record_recovery_tasks) asked for it and the scheme has tasks.
    pub tasks: Vec<TaskRecord>,
}

/// When checkpoints are written without being asked for; 0 of each: never for that reason.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct CheckpointPolicy {
    pub(crate) timeout: Duration,
    pub(crate) log_bytes_max: u64,
    pub(crate) restart_target: Duration,
}

/// How the log is laid out in files; what users need not choose.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LogFiles {
    pub(crate) segment_bytes_max: u64,
    pub(crate) segment_epochs_max: u64,
    pub(crate) threads: bool,
}

pub(crate) type OnRecovery = Arc<dyn Fn(RecoveryProgress) + Send + Sync>;

/// Builds a database: protocol, log, durability.
///
/// ```
/// # fn main() -> planaria::Result<()> {
/// use planaria::{Options, ProtocolKind};
/// let db = Options::new().protocol(ProtocolKind::Serial).in_memory()?;
/// # Ok(()) }
/// ```
#[derive(Clone)]
pub struct Options {
    pub(crate) protocol: ProtocolKind,
    pub(crate) backoff: BackoffKind,
    pub(crate) healing_max: Duration,
    pub(crate) heal_always: bool,
    pub(crate) heal_with_stale_inputs: bool,
    pub(crate) healing_remembers: Remembers,
    pub(crate) look_ahead: bool,
    pub(crate) log: LogKind,
    pub(crate) durability: Durability,
    pub(crate) loggers: usize,
    pub(crate) recovery: Scheme,
    pub(crate) recovery_threads: usize,
    pub(crate) recovery_batch: Option<usize>,
    pub(crate) record_recovery_tasks: bool,
    pub(crate) checkpoint_threads: usize,
    pub(crate) checkpoints: CheckpointPolicy,
    pub(crate) checkpoint_on_close: bool,
    pub(crate) keep_log: bool,
    pub(crate) log_files: LogFiles,
    pub(crate) wall_clock: WallClock,
    pub(crate) defaults: Vec<(String, String)>,
    pub(crate) memory_budget: Option<u64>,
    pub(crate) memory_reserve: u64,
    pub(crate) on_recovery: Option<OnRecovery>,
    pub(crate) slow_statement: Duration,
}

impl Default for Options {
    fn default() -> Self {
        Options::new()
    }
}

impl Options {
    /// Protocol `silo`, command log, durability `fsync`, one logger.
    pub fn new() -> Options {
        let log = planaria_log::Options::default();
        Options {
            protocol: ProtocolKind::default(),
            backoff: BackoffKind::default(),
            healing_max: planaria_base::limits::HEALING_MAX,
            heal_always: false,
            heal_with_stale_inputs: false,
            healing_remembers: Remembers::default(),
            look_ahead: true,
            log: LogKind::Command,
            durability: Durability::Fsync,
            loggers: 1,
            recovery: Scheme::default(),
            recovery_threads: std::thread::available_parallelism().map_or(1, |n| n.get()),
            recovery_batch: None,
            record_recovery_tasks: false,
            checkpoint_threads: std::thread::available_parallelism().map_or(1, |n| n.get()),
            checkpoints: CheckpointPolicy::default(),
            checkpoint_on_close: false,
            keep_log: false,
            log_files: LogFiles {
                segment_bytes_max: log.segment_bytes_max,
                segment_epochs_max: log.segment_epochs_max,
                threads: log.threads,
            },
            wall_clock: WallClock::default(),
            defaults: Vec::new(),
            memory_budget: None,
            memory_reserve: 0,
            on_recovery: None,
            slow_statement: Duration::from_secs(1),
        }
    }
    /// Chooses the concurrency protocol.
    #[must_use]
    pub fn protocol(mut self, protocol: ProtocolKind) -> Options {
        self.protocol = protocol;
        self
    }
    /// Chooses how a call, or a statement of a block, that has met others waits before it is tried again. By default the
    /// longer the more often; to compare protocols as papers do, [`BackoffKind::None`].
    #[must_use]
    pub fn backoff(mut self, kind: BackoffKind) -> Options {
        self.backoff = kind;
        self
    }
    /// Chooses how long a call that is healed may hold its locks, under protocols that heal, before it lets go of them and begins
    /// anew: 2 ms. Programs without loops, which are over soon, are not asked.
    #[must_use]
    pub fn healing_max(mut self, time: Duration) -> Options {
        self.healing_max = time;
        self
    }
    /// Chooses whether calls fetch rows that they are known to look up before they begin, all at once. They do, if nobody says
    /// otherwise; it changes no answer. To measure what it gains.
    #[must_use]
    pub fn look_ahead(mut self, on: bool) -> Options {
        self.look_ahead = on;
        self
    }
    /// Chooses what calls write to the log.
    #[must_use]
    pub fn log(mut self, log: LogKind) -> Options {
        self.log = log;
        self
    }
    /// Chooses when a caller hears of a commit.
    #[must_use]
    pub fn durability(mut self, durability: Durability) -> Options {
        self.durability = durability;
        self
    }
    /// Number of logger threads, each with its own files; at least 1.
    #[must_use]
    pub fn loggers(mut self, loggers: usize) -> Options {
        self.loggers = loggers.max(1);
        self
    }
    /// Chooses how the log is replayed; every scheme leads to the same rows.
    #[must_use]
    pub fn recovery(mut self, scheme: Scheme) -> Options {
        self.recovery = scheme;
        self
    }
    /// Threads that replay the log, if the scheme has use for more than one; at least 1. One a core
    /// without.
    #[must_use]
    pub fn recovery_threads(mut self, threads: usize) -> Options {
        self.recovery_threads = threads.max(1);
        self
    }
    /// Transactions a batch of replay, at least 1; the scheme's own choice without.
    #[must_use]
    pub fn recovery_batch(mut self, transactions: usize) -> Options {
        self.recovery_batch = Some(transactions.max(1));
        self
    }
    /// Threads that write a checkpoint, each into a file of its own; at least 1. One a core without.
    #[must_use]
    pub fn checkpoint_threads(mut self, threads: usize) -> Options {
        self.checkpoint_threads = threads.max(1);
        self
    }
    /// Writes a checkpoint so long after the last one, if anything was logged since; never by time with 0,
    /// the default.
    #[must_use]
    pub fn checkpoint_timeout(mut self, timeout: Duration) -> Options {
        self.checkpoints.timeout = timeout;
        self
    }
    /// Writes a checkpoint when the log after the last one has so many bytes; never by size with 0, the
    /// default.
    #[must_use]
    pub fn max_wal_size(mut self, bytes: u64) -> Options {
        self.checkpoints.log_bytes_max = bytes;
        self
    }
    /// Writes checkpoints so that opening the database again would not take longer than this, as far as
    /// they can help: see [`Restart`](crate::Restart). Not for this reason with 0, the default.
    #[must_use]
    pub fn restart_target(mut self, time: Duration) -> Options {
        self.checkpoints.restart_target = time;
        self
    }
    /// Whether [`Database::close`] writes a checkpoint, so that opening replays nothing.
    #[must_use]
    pub fn checkpoint_on_close(mut self, write: bool) -> Options {
        self.checkpoint_on_close = write;
        self
    }
    /// Whether the log before a checkpoint stays: with it and a backup, any moment since the backup can be
    /// restored. Without, the next checkpoint deletes it.
    #[must_use]
    pub fn keep_log(mut self, keep: bool) -> Options {
        self.keep_log = keep;
        self
    }
    /// Bytes that rows, indexes, old versions of rows and what sessions compute with may take together. A
    /// statement that would take more fails with 53200, and its transaction is rolled back; reads and
    /// deletes go on. 0: no budget. Without: four fifths of the memory that the machine, or the control
    /// group, lets the process have.
    ///
    /// Rows are counted as they are stored, in steps: the budget may be passed by a little. What a database
    /// that is opened has already is never refused.
    #[must_use]
    pub fn memory_budget(mut self, bytes: u64) -> Options {
        self.memory_budget = Some(bytes);
        self
    }
    /// Bytes for rows and indexes to come that are claimed when the database is open: the system hands them out and clears them then, and not
    /// when a transaction needs them. What is freed later goes back to the system. Without it a little is kept ready, as much as the database has
    /// been growing by. 53200 where so much is not free, 22023 where it is more than the [budget](Options::memory_budget), against
    /// which it counts only once rows are in it.
    #[must_use]
    pub fn memory_reserve(mut self, bytes: u64) -> Options {
        self.memory_reserve = bytes;
        self
    }
    /// Is told of a recovery's progress, some times a second, by the thread that opens.
    #[must_use]
    pub fn on_recovery(mut self, f: impl Fn(RecoveryProgress) + Send + Sync + 'static) -> Options {
        self.on_recovery = Some(Arc::new(f));
        self
    }
    /// How long a statement or call takes at least to be told as a slow one, where the cargo feature `tracing` is on: 1 s;
    /// with 0 none is.
    #[must_use]
    pub fn slow_statement(mut self, time: Duration) -> Options {
        self.slow_statement = time;
        self
    }
    /// All sessions begin with this setting, as `default_transaction_isolation` or `statement_timeout`, unless `ALTER
    /// DATABASE .. SET` or `ALTER ROLE .. SET` says otherwise. The database does not open where there is no such setting
    /// (42704), or it cannot have the value (22023).
    #[must_use]
    pub fn set(mut self, name: impl Into<String>, value: impl Into<String>) -> Options {
        self.defaults.push((name.into(), value.into()));
        self
    }

    /// Whether a database can be opened with these: 42704, 22023 and 55P02 for what sessions cannot begin with.
    pub fn check(&self) -> Result<()> {
        self.defaults
            .iter()
            .try_for_each(|(name, value)| crate::settings::check_default(name, std::slice::from_ref(value)))
    }
    /// Opens the database in a directory, making it if it is not there, and recovers it.
    pub fn open(self, path: impl AsRef<Path>) -> Result<Database> {
        Database::open_with(path.as_ref(), self)
    }
    /// A database without a directory; gone when dropped.
    pub fn in_memory(self) -> Result<Database> {
        Database::in_memory_with(self)
    }
}
