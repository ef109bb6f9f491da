//! What a database tells of itself.

use std::time::Duration;

/// Counters since the database was opened, and memory now.
#[derive(Clone, Debug, Default)]
pub struct Stats {
    /// Transactions committed.
    pub commits: u64,
    /// Attempts aborted and tried again, by cause.
    pub aborts: Vec<(&'static str, u64)>,
    /// Attempts that were healed instead, under protocols that can.
    pub healing: Healing,
    /// Sessions that do not go on at present.
    pub waiting: Waiting,
    /// Snapshots that are being read.
    pub open_snapshots: u64,
    /// Records written to the log.
    pub log_records: u64,
    /// Bytes written to the log.
    pub log_bytes: u64,
    /// Times the log was synced.
    pub fsyncs: u64,
    /// Time that took together.
    pub sync_time: Duration,
    /// How many syncs took how long: entry `i` counts those below `2^i` microseconds, from `2^(i-1)` on.
    pub sync_histogram: Vec<u64>,
    /// Memory of the tables.
    pub memory: Memory,
    /// Checkpoints, and what a restart would take.
    pub checkpoint: CheckpointStats,
}

/// What healing has taken: of attempts whose reads did not hold, what was run again of them under locks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Healing {
    /// Transactions that committed so.
    pub commits: u64,
    /// Times that programs were run again under locks.
    pub runs: u64,
    /// Lookups of those runs that needed no index.
    pub known: u64,
    /// Lookups that did.
    pub repeated: u64,
    /// Rows that had changed, but in nothing that was read.
    pub false_invalidations: u64,
    /// Times that locks were let go of to be taken in order.
    pub relocks: u64,
}

impl Healing {
    /// Each with its name in metrics.
    pub fn counters(&self) -> [(&'static str, u64); 6] {
        [
            ("commits", self.commits),
            ("runs", self.runs),
            ("known_lookups", self.known),
            ("repeated_lookups", self.repeated),
            ("false_invalidations", self.false_invalidations),
            ("relocks", self.relocks),
        ]
    }
}

/// Sessions that do not go on, by what keeps them; `pg_stat_activity` says which they are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Waiting {
    /// For rows, tables, advisory locks, the end of a schema change.
    pub locks: u64,
    /// Until a failed attempt is made again.
    pub retries: u64,
    /// Being healed, under locks.
    pub heals: u64,
}

impl Waiting {
    /// Each with its name in metrics.
    pub fn counts(&self) -> [(&'static str, u64); 3] {
        [("lock", self.locks), ("retry", self.retries), ("heal", self.heals)]
    }
}

/// The newest checkpoint, what has been logged since, and how long opening the database would take.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct CheckpointStats {
    /// Number of the newest one; 0 if there is none.
    pub number: u32,
    /// The epoch whose end it shows.
    pub epoch: u64,
    /// Its rows.
    pub rows: u64,
    /// Bytes of them, as stored.
    pub bytes: u64,
    /// Since it was written, or the database opened.
    pub age: Duration,
    /// Checkpoints written since the database was opened.
    pub written: u64,
    /// Checkpoints that could not be written since then.
    pub failed: u64,
    /// Bytes of log after it.
    pub log_bytes: u64,
    /// What opening would take now.
    pub restart: Restart,
}

/// How long opening a database would take.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Restart {
    /// Loading the checkpoint.
    pub load: Duration,
    /// Checking and replaying the log after it.
    pub replay: Duration,
    /// Whether the rates behind this were measured on this database, not assumed.
    pub measured: bool,
}

impl Restart {
    /// Both.
    pub fn total(&self) -> Duration {
        self.load + self.replay
    }
}

/// A checkpoint that was written. All 0 where nothing is logged: there is nothing to write then.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CheckpointReport {
    /// Its number, from 1.
    pub number: u32,
    /// The epoch whose end it shows.
    pub epoch: u64,
    /// Rows.
    pub rows: u64,
    /// Bytes of rows, as stored.
    pub bytes: u64,
    /// Bytes of rows before compression.
    pub raw_bytes: u64,
    /// Files of the log that were deleted after it.
    pub log_files_deleted: usize,
    /// Time for writing.
    pub took: Duration,
}

/// Memory of tables and indexes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Memory {
    /// Rows.
    pub rows: u64,
    /// Bytes of records, headers and slack included.
    pub row_bytes: u64,
    /// Bytes taken from the system for rows, free ones among them.
    pub row_bytes_reserved: u64,
    /// Index entries, primary ones included.
    pub index_entries: u64,
    /// Bytes of index nodes.
    pub index_bytes: u64,
    /// Old versions of rows, kept for readers of snapshots.
    pub old_versions: u64,
    /// Bytes of those.
    pub old_version_bytes: u64,
    /// Bytes taken from the system for old versions to come, of whichever database of the process.
    pub old_version_bytes_spare: u64,
    /// Bytes taken from the system, and cleared, for rows and index nodes to come, of whichever database of the process.
    pub ready_bytes: u64,
    /// Bytes that sessions take for what they compute with and have not committed yet, as far as they have
    /// told, and for rows of open cursors.
    pub session_bytes: u64,
    /// Bytes of log records that wait for being written.
    pub log_buffer_bytes: u64,
    /// What all of it may take ([`Options::memory_budget`](crate::Options::memory_budget)); `None`: no budget.
    pub budget: Option<u64>,
}

impl Memory {
    /// All bytes: what counts against the budget.
    pub fn bytes(&self) -> u64 {
        self.row_bytes
            + self.index_bytes
            + self.old_version_bytes
            + self.session_bytes
            + self.log_buffer_bytes
    }
}
