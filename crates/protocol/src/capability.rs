//! What a scheme can do beyond running transactions: each ability a trait of its own, and nothing done by default.
//!
//! A program needs [`RowLocks`], since it may say `FOR UPDATE`; a database needs all of them, which is [`Hosted`].
//! Readers of snapshots and replay's scheme are neither asked for points nor for snapshots, and have none.

use crate::snapshot::{Closed, Opened, Tables};
use crate::{ClaimInfo, Conflict, CursorId, IfClaimed, Protocol, RowHandle, Savepoint, Unclaimed, Wait};
use planaria_base::clock::CommitClock;
use planaria_base::{Strength, TableId};
use planaria_storage::{Table, TableSet};
use std::time::Duration;

/// Rows are locked from a statement to the end of the transaction, and whoever meets such a lock can wait for it.
///
/// Locks are taken by transactions that say so ([`RowLocks::claim_writes`]): of them, none finds a row that it has
/// locked changed by another.
pub trait RowLocks: Protocol {
    /// From now to its end the transaction claims every row before it changes it; where another has the
    /// claim, it meets [`Conflict::Claimed`].
    fn claim_writes(&self, txn: &mut Self::Txn);

    /// What the cursor meets is no part of what was read, but for rows that are claimed or changed.
    fn scan_leniently(&self, txn: &mut Self::Txn, cursor: CursorId);

    /// Claims a row that has been read, if the transaction claims what it changes; otherwise looks whether
    /// others are in the way. `false`: they are. With [`IfClaimed::Wait`] that is [`Conflict::Claimed`], or, to a
    /// transaction that claims nothing, the row as it is.
    fn claim(
        &self,
        txn: &mut Self::Txn,
        table: &Table<Self::Header>,
        row: RowHandle,
        strength: Strength,
        if_claimed: IfClaimed,
    ) -> Result<bool, Conflict>;

    /// Waits for what the last [`Conflict::Claimed`] was about, after `go_back` or `retry`: when it is over,
    /// the claim is the transaction's. `patience` says how long to sleep before it is asked again.
    fn await_claim(
        &self,
        txn: &mut Self::Txn,
        patience: &mut dyn FnMut() -> Option<Duration>,
    ) -> Result<(), Unclaimed>;

    /// The claims that are held or waited for.
    fn claims(&self) -> Vec<ClaimInfo>;

    /// Who waits for whom.
    fn waits(&self) -> Vec<Wait>;
}

/// A transaction returns to an earlier point of its own, or to its beginning, and tries again.
pub trait Points: Protocol {
    /// Remembers what has been written and read. Points nest with savepoints and end by `pass`.
    fn point(&self, txn: &mut Self::Txn) -> Point;

    /// Undoes all writes since the point, and forgets what was read since: whoever calls this has not
    /// let anything out of it. The point stays in force. Whether what was read before still holds.
    fn go_back(&self, txn: &mut Self::Txn, point: Point, tables: &TableSet<Self::Header>) -> bool;

    /// Ends the point.
    fn pass(&self, txn: &mut Self::Txn, point: Point);

    /// Takes everything back, as `abort`, for another attempt: claims are kept, and if there are any, the
    /// transaction goes on in the next `begin`.
    fn retry(&self, txn: &mut Self::Txn, tables: &TableSet<Self::Header>);
}

/// A point in a transaction to which it can return, writes and reads. See [`Points::go_back`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Point {
    pub(crate) savepoint: Savepoint,
    /// Elements of the read set and of the node set at that point, and whether a node had moved.
    pub(crate) reads: u32,
    pub(crate) nodes: u32,
    pub(crate) moved: bool,
    /// Ranges that were read.
    pub(crate) ranges: u32,
}

/// One worker has the database to itself for a while, although others have transactions open.
pub trait Exclusive: Protocol {
    /// From now on nobody else runs transactions, or no longer so. Others may have some open: while this
    /// worker is alone, they do nothing but take them back. What an alone worker reads holds, and rows that
    /// others have claimed are changed all the same: whoever claimed one will not be able to commit.
    fn alone(&self, txn: &mut Self::Txn, alone: bool);

    /// [`Protocol::keep_before_images`] from now on, for what the running transaction has written as well. What it
    /// has read must hold ([`Protocol::validate`]), and nobody else may commit meanwhile.
    fn keep_before_images_now(&self, txn: &mut Self::Txn) -> Result<(), Conflict>;
}

/// What [`SnapshotReader`](crate::SnapshotReader)s read is kept while others change it.
pub trait SnapshotSource: Protocol {
    /// Opens a snapshot of the open epoch, which it returns: once that epoch has ended, it can be read by
    /// [`SnapshotReader`](crate::SnapshotReader)s, until it is closed. Where transactions do not overlap, they wait
    /// for that, and there is none while one of them runs.
    fn open_snapshot(&self, clock: &CommitClock) -> Option<Opened>;

    /// A snapshot is not read any more at the keys of a table from the first, below the second, in words of the
    /// primary index.
    fn leave_range(&self, id: Opened, table: TableId, from: Option<&[u64]>, to: Option<&[u64]>);

    /// A snapshot is not read any more in a table: see [`Snapshots::leave_table`](crate::Snapshots::leave_table).
    fn leave_table(
        &self,
        id: Opened,
        table: TableId,
        clock: &CommitClock,
        tables: Tables<'_, Self::Header>,
    ) -> Closed<Self::Header>;

    /// Closes a snapshot: see [`Snapshots::close`](crate::Snapshots::close).
    fn close_snapshot(
        &self,
        id: Opened,
        clock: &CommitClock,
        tables: Tables<'_, Self::Header>,
    ) -> Closed<Self::Header>;
}

/// A scheme that a database can be run with.
pub trait Hosted: RowLocks + Points + Exclusive + SnapshotSource {
    /// A new instance, for one database.
    fn new() -> Self;
}
