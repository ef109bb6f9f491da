//! Histories of transactions, and what must hold of them.
//!
//! A history is what the clients of a protocol saw: per committed transaction its place in the commit
//! order and its operations with their answers. Every write has a [`Version`] of its own that is
//! stored in the row, so that a read says which write it saw (recoverability in the sense of K.
//! Kingsbury, P. Alvaro: *Elle*, VLDB 2020). Two checks:
//!
//! 1. [`History::check_order`]: executing the transactions one after the other in the order of their
//!    commit timestamps on a model gives the same answers: reads, scans by any index, refusals. This is
//!    what command replay relies on.
//! 2. [`History::check_graph`]: the direct serialization graph (A. Adya, B. Liskov, P. O'Neil:
//!    *Generalized Isolation Level Definitions*, ICDE 2000) has no cycle and no read of aborted or
//!    intermediate versions. Weaker, but it names the anomaly and the transactions in it.

mod graph;
mod model;

pub use model::Model;

use planaria_base::CommitTs;
use std::fmt;

/// A write: unique within a history.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Version(pub u64);

impl Version {
    /// The `nth` write of a transaction.
    pub fn new(transaction: u32, nth: u32) -> Version {
        Version(u64::from(transaction) << 16 | u64::from(nth))
    }
    /// The transaction that wrote it.
    pub fn transaction(self) -> u32 {
        (self.0 >> 16) as u32
    }
}

impl fmt::Debug for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "T{}.{}", self.transaction(), self.0 & 0xffff)
    }
}

/// A row of the tables that histories are about.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct RowState {
    /// Its last write.
    pub version: Version,
    /// An attribute with a non-unique index.
    pub group: i64,
    /// An attribute with a unique index, or NULL.
    pub tag: Option<i64>,
}

/// By which index a scan goes.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum By {
    /// The primary key.
    Key,
    /// [`RowState::group`], then the primary key.
    Group,
    /// [`RowState::tag`]; rows without one are not visited.
    Tag,
}

/// An operation with its answer. Keys are (table, primary key).
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Op {
    /// A lookup by unique index, and the row found.
    Get {
        /// Table.
        table: u32,
        /// Index: `Key` or `Tag`.
        by: By,
        /// Value looked up.
        value: i64,
        /// Key and version found.
        found: Option<(i64, Version)>,
    },
    /// A scan of the rows with `low <= value <= high`, to its end.
    Scan {
        /// Table.
        table: u32,
        /// Index.
        by: By,
        /// Least value.
        low: i64,
        /// Greatest value.
        high: i64,
        /// From the greatest value down.
        descending: bool,
        /// Keys and versions in the order they came.
        rows: Vec<(i64, Version)>,
    },
    /// A row was put in, or replaced.
    Put {
        /// Table.
        table: u32,
        /// Key.
        key: i64,
        /// The row as it is now.
        row: RowState,
    },
    /// A row was removed.
    Remove {
        /// Table.
        table: u32,
        /// Key.
        key: i64,
    },
    /// A write was refused because another row has the value in a unique index.
    Refused {
        /// Table.
        table: u32,
        /// Index.
        by: By,
        /// The value.
        value: i64,
    },
    /// The writes from operation number `to` on were undone.
    Undone {
        /// Position among the transaction's operations.
        to: usize,
    },
}

/// A committed transaction.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Transaction {
    /// Its number, as in its versions.
    pub id: u32,
    /// Its place. One that wrote nothing comes before the one that drew the same timestamp.
    pub ts: CommitTs,
    /// Whether it drew its timestamp.
    pub drew: bool,
    /// What it did.
    pub ops: Vec<Op>,
}

impl Transaction {
    /// Whether it tried to write.
    pub fn writes(&self) -> bool {
        writes(&self.ops)
    }
}

/// Whether one of these tries to write.
pub fn writes(ops: &[Op]) -> bool {
    !ops.iter().all(|op| matches!(op, Op::Get { .. } | Op::Scan { .. }))
}

/// Of the operations of a transaction below SERIALIZABLE those that have a place in the order: its writes, without those
/// that were undone. What it read was as of another moment, and the keys of what it undid were anybody's from then on.
/// Positions stay, as operations that undo name others by them.
pub fn keep_effects(ops: &mut [Op]) {
    const NOTHING: Op = Op::Undone { to: usize::MAX };
    for at in 0..ops.len() {
        match ops[at] {
            Op::Undone { to } => ops[to.min(at)..at].fill(NOTHING),
            Op::Put { .. } | Op::Remove { .. } => {}
            _ => ops[at] = NOTHING,
        }
    }
}

/// The committed transactions of a run.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct History {
    transactions: Vec<Transaction>,
}

/// What is wrong with a history.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Violation(pub String);

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl History {
    /// From the transactions of all workers, in any order.
    pub fn new(mut transactions: Vec<Transaction>) -> History {
        transactions.sort_by_key(|t| (t.ts, t.drew));
        History { transactions }
    }

    /// In commit order.
    pub fn transactions(&self) -> &[Transaction] {
        &self.transactions
    }

    /// Executes the history in commit order from `initial`; the model at its end.
    pub fn check_order(&self, initial: Model) -> Result<Model, Violation> {
        if let Some(pair) =
            self.transactions.windows(2).find(|w| w[0].ts == w[1].ts && w[0].drew && w[1].drew)
        {
            return Err(Violation(format!("T{} and T{} drew one timestamp", pair[0].id, pair[1].id)));
        }
        let mut model = initial;
        for transaction in &self.transactions {
            model.execute(transaction)?;
        }
        Ok(model)
    }

    /// Looks for cycles of the direct serialization graph.
    pub fn check_graph(&self, initial: &Model) -> Result<(), Violation> {
        graph::check(self, initial)
    }

    /// Both checks.
    pub fn check(&self, initial: Model) -> Result<Model, Violation> {
        self.check_graph(&initial)?;
        self.check_order(initial)
    }
}

#[cfg(test)]
mod tests;
