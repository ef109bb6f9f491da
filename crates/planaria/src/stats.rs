//! What a database tells of itself.

use std::time::Duration;

/// Counters since the database was opened, and memory now.
#[derive(Clone, Debug, Default)]
pub struct Stats {
    /// Transactions committed.
    pub commits: u64,
    /// Attempts aborted and tried again, by cause.
    pub aborts: Vec<(&'static str, u64)>,
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
}

/// Memory of tables and indexes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Memory {
    /// Rows.
    pub rows: u64,
    /// Bytes of records, headers and slack included.
    pub row_bytes: u64,
    /// Index entries, primary ones included.
    pub index_entries: u64,
    /// Bytes of index nodes.
    pub index_bytes: u64,
    /// Old versions of rows, kept for readers of snapshots.
    pub old_versions: u64,
    /// Bytes of those.
    pub old_version_bytes: u64,
}
