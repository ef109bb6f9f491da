//! What a scheme can do beyond running transactions: each ability a trait of its own, and nothing done by default, but
//! where that is never wrong ([`Hints`]).
//!
//! A program needs [`RowLocks`], since it may say `FOR UPDATE`, and with it [`Savepoints`] and [`Hints`]; a database needs all
//! of them, which is [`Hosted`]. Readers of snapshots and replay's scheme are neither asked for points nor for snapshots,
//! and have none.

use crate::snapshot::{Closed, Moment, Opened, Tables};
use crate::{
    ClaimInfo, ColumnsRead, Conflict, CursorId, Heal, Healed, IfClaimed, Isolation, Protocol, Remembers, Row,
    RowHandle, Savepoint, Unclaimed, Wait, Write,
};
use planaria_base::clock::CommitClock;
use planaria_base::{CommitTs, IndexId, Strength, TableId};
use planaria_storage::{Arena, Found, KeyBuf, LookAhead, Part, Table, TableSet};
use std::time::Duration;

/// What is known of a lookup before it is made.
#[derive(Clone, Copy, Default)]
pub struct Known<'k> {
    /// The record that the path of its key has led to.
    pub found: Option<Found>,
    /// What of the row is wanted, by a primary key: the rest of its image may be anything.
    pub part: Option<&'k Part>,
}

/// What the caller knows beforehand, or of what it has read: a scheme that makes nothing of it is slower, or has more conflicts,
/// and never wrong.
pub trait Hints: Protocol {
    /// These lookups are going to be made, or some of them: whatever fetches their rows beforehand. It answers nothing; where paths
    /// led stands in the group. A scheme that does nothing is slower, not wrong.
    #[inline]
    fn look_ahead(&self, _txn: &mut Self::Txn, _tables: &TableSet<Self::Header>, ahead: &mut LookAhead) {
        ahead.clear();
    }

    /// What has been found ahead stays so from this transaction to those that come, until [`Hints::let_go`]: for calls that come one
    /// upon the other. A scheme that finds nothing ahead does nothing.
    fn hold(&self, _txn: &mut Self::Txn) {}

    /// Ends [`Hints::hold`].
    fn let_go(&self, _txn: &mut Self::Txn) {}

    /// [`Protocol::get`] with what is known beforehand. To make nothing of it is slower, not wrong.
    #[inline]
    fn get_knowing(
        &self,
        txn: &mut Self::Txn,
        table: &Table<Self::Header>,
        index: IndexId,
        key: &KeyBuf,
        _known: Known<'_>,
        arena: &mut Arena,
    ) -> Result<Option<Row>, Conflict> {
        self.get(txn, table, index, key, arena)
    }

    /// Whether what the transaction has read of a row stands until its end, but for what it changes itself: else the row is looked
    /// up again where the program does so. To do that is slower, not wrong.
    #[inline]
    fn reads_stand(&self, _txn: &Self::Txn) -> bool {
        false
    }

    /// The next rows of a cursor, to be appended to `rows`: one at least, if there is one, and others as long as
    /// there is room ([`has_room`]). The caller is going to read them all, and writes nothing meanwhile. One at a time is slower, not wrong.
    #[inline]
    fn scan_some(
        &self,
        txn: &mut Self::Txn,
        table: &Table<Self::Header>,
        cursor: CursorId,
        (arena, rows): (&mut Arena, &mut Vec<Row>),
    ) -> Result<(), Conflict> {
        rows.extend(self.scan_next(txn, table, cursor, arena)?);
        Ok(())
    }

    /// The caller is not going to use the handle of the row it has just got.
    #[inline(always)]
    fn unused(&self, txn: &mut Self::Txn, row: RowHandle) {
        let _ = (txn, row);
    }

    /// The caller relies on nothing of the row that it has just got by primary key but that it is there, and is not
    /// going to use its handle: the row may be changed by others, as under PostgreSQL's FOR KEY SHARE.
    #[inline(always)]
    fn only_presence(&self, txn: &mut Self::Txn, row: RowHandle) {
        self.unused(txn, row);
    }
}

/// Rows that a scan reads together, and words of them.
const ROWS_MAX: usize = 32;
const WORDS_MAX: usize = 4096;

/// Whether [`Hints::scan_some`] may append another row.
#[inline]
pub(crate) fn has_room(arena: &Arena, rows: &[Row]) -> bool {
    rows.len() < ROWS_MAX && arena.used_words() < WORDS_MAX
}

/// Writes are undone back to an earlier state of the transaction, which goes on.
pub trait Savepoints: Protocol {
    /// Remembers the present state of the writes. Savepoints nest, and end in reverse order, each by
    /// `release`.
    fn savepoint(&self, txn: &mut Self::Txn) -> Savepoint;

    /// Undoes all writes since the savepoint, which stays in force.
    fn rollback_to(&self, txn: &mut Self::Txn, savepoint: Savepoint, tables: &TableSet<Self::Header>);

    /// Ends the savepoint; its writes belong to what is around it.
    fn release(&self, txn: &mut Self::Txn, savepoint: Savepoint);
}

/// What a transaction has done, for those that log it or wait for what it has seen.
pub trait Effects: Protocol {
    /// Whether nothing has been written (what was undone aside).
    fn is_read_only(&self, txn: &Self::Txn) -> bool;

    /// Of a transaction that has written nothing, the newest of the commits that it has seen anything of: of those
    /// that wrote the rows it has met, and those that took rows out of where it has looked. `None` where that is not known.
    fn newest_met(&self, txn: &Self::Txn, tables: &TableSet<Self::Header>) -> Option<CommitTs>;

    /// Whether this worker's transactions keep before-images for [`Effects::writes`], from the next one
    /// on. At first they do not.
    fn keep_before_images(&self, txn: &mut Self::Txn, keep: bool);

    /// Calls `f` with the net effect on each row, once per row, in the order of the rows' first writes.
    /// Whoever applies them to a copy of the tables deletes all old rows first and then adds the new
    /// ones: unique keys may have wandered between rows.
    fn writes(&self, txn: &Self::Txn, f: &mut dyn FnMut(Write<'_>));
}

/// Workers that live as long as somebody's session.
pub trait LongLived: Protocol {
    /// [`Protocol::begin`], unless it would have to wait for another to end: whether it has started.
    fn try_begin(&self, txn: &mut Self::Txn) -> bool;

    /// Whether a transaction is running.
    fn is_active(&self, txn: &Self::Txn) -> bool;

    /// The worker goes idle: memory that it has yet to free is left to the others. Only between
    /// transactions.
    fn rest(&self, txn: &mut Self::Txn);
}

/// A transaction whose reads have become stale is mended instead of repeated: see [`healing`](crate::healing).
pub trait Heals: Protocol {
    /// Whether transactions can be healed: see [`Heals::heal`].
    const HEALS: bool;

    /// From now on whatever can be healed is, also where repeating it would cost less: for experiments and tests. By
    /// itself a scheme may decide that for each call.
    fn heal_always(&self);

    /// What transactions that may be healed remember, of workers that there will be: for experiments. At first
    /// everything.
    fn remember(&self, what: Remembers);

    /// Whether the caller is going to run the transaction again if [`Heals::heal`] asks for it; not, if it does not say
    /// so. Where commit fails, such a transaction may be open still: it is to be healed then, tried again or aborted.
    fn may_heal(&self, txn: &mut Self::Txn, may: bool);

    /// The transaction has failed for this cause, in commit or before: what becomes of it. `columns`: what it may have
    /// read; not known: all. See [`healing`](crate::healing).
    fn heal(
        &self,
        txn: &mut Self::Txn,
        tables: &TableSet<Self::Header>,
        cause: Conflict,
        columns: Option<&ColumnsRead>,
    ) -> Heal;

    /// What healing has taken of this worker since it was asked last.
    fn take_healed(&self, txn: &mut Self::Txn) -> Healed;
}

/// Rows are locked from a statement to the end of the transaction, and whoever meets such a lock can wait for it.
///
/// Locks are taken by transactions that say so ([`RowLocks::claim_writes`]): of them, none finds a row that it has
/// locked changed by another.
pub trait RowLocks: Savepoints + Hints {
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
    /// [`Savepoints::rollback_to`]. What a repeated statement has waited for since counts, too.
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

    /// The statement has ended well: nothing is kept for its moment any more, if that was its own. An error is what COMMIT
    /// would find, if that is cheap to know by now: the transaction has changed something, and what it has read does not hold.
    fn end_statement(&self, txn: &mut Self::Txn, tables: &TableSet<Self::Header>) -> Result<(), Conflict>;

    /// As of when the transaction reads, if it has a moment.
    fn moment(&self, txn: &Self::Txn) -> Option<CommitTs>;

    /// After [`RestartPoints::go_back`] for a conflict, and after waiting: the statement is going to run again, as of now if the
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
pub trait RestartPoints: Protocol {
    /// Remembers what has been written and read. They nest with savepoints and end by `pass`.
    fn point(&self, txn: &mut Self::Txn) -> RestartPoint;

    /// Undoes all writes since the point, and forgets what was read since: whoever calls this has not
    /// let anything out of it. The point stays in force.
    fn go_back(&self, txn: &mut Self::Txn, point: RestartPoint, tables: &TableSet<Self::Header>);

    /// Ends the point.
    fn pass(&self, txn: &mut Self::Txn, point: RestartPoint);

    /// Takes everything back, as `abort`, for another attempt: claims are kept, and if there are any, the
    /// transaction goes on in the next `begin`. What begins next is a repetition to the scheme, until it commits or is
    /// aborted.
    fn retry(&self, txn: &mut Self::Txn, tables: &TableSet<Self::Header>);
}

/// A point in a transaction to which it can return, writes and reads. See [`RestartPoints::go_back`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RestartPoint {
    pub(crate) savepoint: Savepoint,
    /// Elements of the read set and of the node set at that point, and whether a node had moved.
    pub(crate) reads: u32,
    pub(crate) nodes: u32,
    pub(crate) moved: bool,
    /// Ranges that were read.
    pub(crate) ranges: u32,
}

/// One worker has the database, or tables of it, to itself for a while, although others have transactions open.
pub trait Exclusive: Protocol {
    /// Whether everything that the transaction has read holds now, so that it may change what it likes: before its worker is
    /// alone.
    fn holds_now(&self, txn: &mut Self::Txn, tables: &TableSet<Self::Header>) -> bool;

    /// From now on nobody else runs transactions, or none that have to do with the tables of this worker's in a way that
    /// would matter to either; or no longer so. Others may have such transactions open: while this
    /// worker is alone, they do nothing but take them back. What an alone worker reads holds, and rows that
    /// others have claimed are changed all the same: whoever claimed one will not be able to commit.
    fn alone(&self, txn: &mut Self::Txn, alone: bool);

    /// [`Effects::keep_before_images`] from now on, for what the running transaction has written as well. What it
    /// has read must hold ([`Protocol::validate`]), and nobody else may commit meanwhile.
    fn keep_before_images_now(&self, txn: &mut Self::Txn) -> Result<(), Conflict>;
}

/// What [`SnapshotReader`](crate::SnapshotReader)s read is kept while others change it.
pub trait SnapshotSource: Protocol {
    /// The transaction, which has begun and done nothing yet, is going to write nothing. Whether the scheme makes use of
    /// that: then what it reads is one state, that of now, and it never fails for others.
    fn only_reads(&self, txn: &mut Self::Txn, clock: &CommitClock) -> bool;

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
pub trait Hosted:
    RowLocks + Levels + RestartPoints + Exclusive + SnapshotSource + Effects + Heals + LongLived
{
    /// A new instance, for one database.
    fn new() -> Self;
}
