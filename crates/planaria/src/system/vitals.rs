//! What the engine and a session tell the catalogs of themselves: which do not know them.

use crate::stats::{CheckpointStats, Memory};
use planaria_base::{Epoch, SequenceId, Strength, TableId, Type};
use planaria_storage::OldUse;
use planaria_syntax::ast::LockMode;
use std::time::Duration;

/// How much there is of a table: live rows, bytes of rows, bytes of indexes.
#[derive(Clone, Copy, Default)]
pub(crate) struct Amount {
    pub(crate) rows: u64,
    pub(crate) row_bytes: u64,
    pub(crate) index_bytes: u64,
}

/// The engine as the catalogs speak of it.
pub(crate) trait Vitals {
    /// Transactions that have committed, and attempts that have not, since the database was opened.
    fn transactions(&self) -> (u64, u64);
    /// What became of transactions since then, and of their attempts: about what, its name, how often.
    fn outcomes(&self) -> Vec<(&'static str, &'static str, u64)>;
    /// Snapshots that are open.
    fn snapshots(&self) -> Vec<SnapshotInfo>;
    /// What a restart would take.
    fn restart(&self) -> RestartFacts;
    /// The memory budget, if there is one, what sessions take, and what the log has not written yet.
    fn budget(&self) -> (Option<u64>, u64, u64);
    /// What sessions have locked, and what they wait for.
    fn locks(&self) -> Vec<LockInfo>;
    /// The sessions that do not go on and wait for no lock, by their numbers, with the wait events of that: types and names.
    fn pauses(&self) -> Vec<(i32, (&'static str, &'static str))>;
    /// A number for a transaction, which no other has, before or after a restart.
    fn transaction_id(&self) -> i64;
    /// The sessions that a session waits for, by their numbers, in rising order.
    fn blockers(&self, process: i32) -> Vec<i32>;
}

/// Storage as the catalogs speak of it.
pub(crate) trait Stock {
    /// How much there is of a table.
    fn amount(&self, table: TableId) -> Amount;
    /// The value last drawn from a sequence; `None` before the first.
    fn last_value(&self, sequence: SequenceId) -> Option<i64>;
    /// What a sequence shows as a relation: a value, and whether it was given or is the next to be.
    fn sequence_row(&self, sequence: SequenceId) -> Option<(i64, bool)>;
    /// What all of it takes.
    fn memory(&self) -> Memory;
    /// What is kept of rows for the readers of snapshots.
    fn old_versions(&self) -> OldUse;
}

/// The cursors of a session as the catalogs speak of them.
pub(crate) trait OpenCursors {
    /// Calls `f` for each.
    fn each(&self, f: &mut dyn FnMut(CursorInfo<'_>));
}

/// A cursor that DECLARE has made.
pub(crate) struct CursorInfo<'a> {
    pub(crate) name: &'a str,
    /// The DECLARE, as it was sent.
    pub(crate) statement: &'a str,
    /// The moment of its statement: microseconds since 2000-01-01 UTC.
    pub(crate) created: i64,
    /// WITH HOLD
    pub(crate) hold: bool,
    /// NO SCROLL
    pub(crate) forward_only: bool,
}

/// The statements that a session has names for.
pub(crate) trait NamedStatements {
    /// Calls `f` for each.
    fn each(&self, f: &mut dyn FnMut(NamedInfo<'_>));
}

/// A statement with a name.
pub(crate) struct NamedInfo<'a> {
    pub(crate) name: &'a str,
    /// What the client sent.
    pub(crate) text: &'a str,
    pub(crate) parameters: &'a [Type],
    /// When it got the name: microseconds since 2000-01-01 UTC.
    pub(crate) since: i64,
    /// By PREPARE; else by a message.
    pub(crate) by_sql: bool,
}

/// An open snapshot, for people.
#[derive(Clone, Debug)]
pub(crate) struct SnapshotInfo {
    /// That of its moment.
    pub(crate) epoch: Epoch,
    /// Microseconds since 2000-01-01 UTC.
    pub(crate) opened: i64,
    /// Number of the session that reads it; 0 for none.
    pub(crate) session: i32,
}

/// What a restart would take, and why.
pub(crate) struct RestartFacts {
    pub(crate) stats: CheckpointStats,
    /// Bytes of rows, as stored, loaded in a second, and bytes of records replayed: measured or assumed.
    pub(crate) load_rate: f64,
    pub(crate) replay_rate: f64,
    /// 0: none.
    pub(crate) target: Duration,
    /// When the last checkpoint that failed did so, in microseconds since 2000-01-01 UTC, and why.
    pub(crate) last_failure: Option<(i64, String)>,
}

/// What a session waits for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Awaited {
    /// A lock of this mode on a table.
    Table(LockMode, TableId),
    /// A row of a table, locked so strongly.
    Row(TableId, Strength),
    /// The end of a transaction.
    End,
    /// An advisory lock.
    Advisory(AdvisoryLock),
    /// The end of a change of the schema.
    Gate,
}

/// Something that a session has locked, or waits for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct LockInfo {
    /// The number of the session.
    pub(crate) process: i32,
    pub(crate) what: Awaited,
    pub(crate) granted: bool,
}

impl LockInfo {
    /// PostgreSQL's name of the mode.
    pub(crate) fn mode(&self) -> &'static str {
        match self.what {
            Awaited::Table(mode, _) => mode.name(),
            Awaited::Row(_, strength) => strength.mode(),
            Awaited::End => "ShareLock",
            Awaited::Advisory(lock) => lock.mode(),
            Awaited::Gate if self.granted => "AccessExclusiveLock",
            Awaited::Gate => "AccessShareLock",
        }
    }
}

/// A lock on a key.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub(crate) struct AdvisoryLock {
    /// A `bigint`, or the first of two `int`s in its upper half and the second in its lower.
    pub(crate) key: u64,
    /// The key is two `int`s: those are keys of another kind.
    pub(crate) pair: bool,
    /// Several sessions can have it at once, if all have it shared.
    pub(crate) shared: bool,
}

impl AdvisoryLock {
    /// Its mode, as PostgreSQL names it.
    pub(crate) fn mode(self) -> &'static str {
        if self.shared { "ShareLock" } else { "ExclusiveLock" }
    }

    /// The key as `pg_locks` has it: `classid`, `objid`, `objsubid`.
    pub(crate) fn tag(self) -> (u32, u32, u16) {
        ((self.key >> 32) as u32, self.key as u32, if self.pair { 2 } else { 1 })
    }
}
