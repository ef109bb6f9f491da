//! What a scheme can do beyond running transactions: each ability a trait of its own, and nothing done by default.
//!
//! A program needs [`RowLocks`], since it may say `FOR UPDATE`; a database needs all of them, which is [`Hosted`].
//! Readers of snapshots and replay's scheme are neither asked for points nor for snapshots, and have none.

use crate::snapshot::{Closed, Moment, Opened, Tables};
use crate::{
    ClaimInfo, ColumnsRead, Conflict, CursorId, IfClaimed, Isolation, Protocol, RowHandle, Savepoint,
    Unclaimed, Wait,
};
use planaria_base::clock::CommitClock;
use planaria_base::{CommitTs, IndexId, Strength, TableId};
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

    /// What the transaction has claimed so far.
    fn locked(&self, txn: &Self::Txn) -> LocksMark;

    /// Lets go of what was claimed since, as a transaction does that goes back to a savepoint of then; before or after
    /// [`Protocol::rollback_to`]. What a repeated statement has waited for since counts, too.
    fn unlock_to(&self, txn: &mut Self::Txn, mark: LocksMark);

    /// The claims that are held or waited for.
    fn claims(&self) -> Vec<ClaimInfo>;

    /// Who waits for whom.
    fn waits(&self) -> Vec<Wait>;

    /// What is read until this is switched off is read for the sake of a constraint: it is as of now, and has to hold at
    /// commit, whatever the transaction's level ([`Levels`]).
    fn for_constraint(&self, txn: &mut Self::Txn, on: bool);

    /// Of a row that was read so by a key it matters only that it is there with this key.
    fn only_key(&self, txn: &mut Self::Txn, table: &Table<Self::Header>, index: IndexId, row: RowHandle);

    /// A row that was read so shall stay, with its key: a transaction that claims what it changes shares it
    /// ([`Strength::KeyShare`]), so that others wait before they take it away. Whether it does, so that it matters only that the
    /// row is there.
    fn share_key(
        &self,
        txn: &mut Self::Txn,
        table: &Table<Self::Header>,
        row: RowHandle,
    ) -> Result<bool, Conflict>;

    /// A row that was read so need not stay: no constraint rests on that it is there. Answers whether it need not hold by now,
    /// which is up to the transaction's level.
    fn need_not_hold(&self, txn: &mut Self::Txn, row: RowHandle) -> bool;
}

/// So far a transaction had come with its locks. See [`RowLocks::unlock_to`].
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct LocksMark {
    pub(crate) held: u32,
    /// Elements of the read set.
    pub(crate) reads: u32,
}

/// Transactions of a level: as long as it says, they read the state of one moment while others go on.
///
/// *Read committed*: each statement has a moment of its own, and nothing that it reads needs to hold. *Repeatable read*:
/// all have that of the first one; a row that has changed since cannot be changed ([`Conflict::Past`]).
/// *Serializable*: the same, and what was read has to hold at commit, if the transaction writes; a row holds as long as
/// the columns that were read have their values ([`Levels::will_read`]). Where a row has changed, the moment is moved on
/// as long as everything that was read before holds there, too; where it does not, a transaction that has written nothing
/// goes on in the past, and may not write any more.
///
/// Reads for the sake of constraints are as of now, and hold at commit, at every level ([`RowLocks::for_constraint`]).
pub trait Levels: RowLocks {
    /// The level of a transaction that claims its writes and has read nothing yet.
    fn set_level(&self, txn: &mut Self::Txn, level: Isolation);

    /// A statement begins: it has its moment from now on.
    fn begin_statement(&self, txn: &mut Self::Txn, clock: &CommitClock);

    /// What the statement, or a part of it, may read. Of one that does not say so every column counts.
    fn will_read(&self, txn: &mut Self::Txn, columns: &ColumnsRead);

    /// Whether the statement has met what has changed since, and should be run again as of now. That is no question
    /// of right or wrong: it has read one state.
    fn is_behind(&self, txn: &Self::Txn) -> bool;

    /// The statement has ended well: nothing is kept for its moment any more, if that was its own.
    fn end_statement(&self, txn: &mut Self::Txn);

    /// As of when the transaction reads, if it has a moment.
    fn moment(&self, txn: &Self::Txn) -> Option<CommitTs>;

    /// After [`Points::go_back`] for a conflict, and after waiting: the statement is going to run again, as of now if the
    /// level allows it. `false`: the transaction cannot go on.
    fn move_on(
        &self,
        txn: &mut Self::Txn,
        tables: &TableSet<Self::Header>,
        clock: &CommitClock,
        cause: Conflict,
    ) -> bool;
}

/// A transaction returns to an earlier point of its own, or to its beginning, and tries again.
pub trait Points: Protocol {
    /// Remembers what has been written and read. Points nest with savepoints and end by `pass`.
    fn point(&self, txn: &mut Self::Txn) -> Point;

    /// Undoes all writes since the point, and forgets what was read since: whoever calls this has not
    /// let anything out of it. The point stays in force.
    fn go_back(&self, txn: &mut Self::Txn, point: Point, tables: &TableSet<Self::Header>);

    /// Ends the point.
    fn pass(&self, txn: &mut Self::Txn, point: Point);

    /// Takes everything back, as `abort`, for another attempt: claims are kept, and if there are any, the
    /// transaction goes on in the next `begin`. What begins next is a repetition to the scheme, until it commits or is
    /// aborted.
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
    /// Whether everything that the transaction has read holds now, so that it may change what it likes: before its worker is
    /// alone.
    fn holds_now(&self, txn: &mut Self::Txn, tables: &TableSet<Self::Header>) -> bool;

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
    /// Opens a snapshot, to be read by [`SnapshotReader`](crate::SnapshotReader)s until it is closed; of an epoch, once
    /// that has ended. Where transactions do not overlap, they wait
    /// for that, and there is none while one of them runs.
    fn open_snapshot(&self, clock: &CommitClock, moment: Moment) -> Option<Opened>;

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

    /// What there is to forget of what [`Levels`] have closed: see
    /// [`Snapshots::forget_closed`](crate::Snapshots::forget_closed).
    fn forget_closed(&self, clock: &CommitClock, tables: Tables<'_, Self::Header>) -> Closed<Self::Header>;

    /// Closes a snapshot: see [`Snapshots::close`](crate::Snapshots::close).
    fn close_snapshot(
        &self,
        id: Opened,
        clock: &CommitClock,
        tables: Tables<'_, Self::Header>,
    ) -> Closed<Self::Header>;
}

/// A scheme that a database can be run with.
pub trait Hosted: RowLocks + Levels + Points + Exclusive + SnapshotSource {
    /// A new instance, for one database.
    fn new() -> Self;
}
