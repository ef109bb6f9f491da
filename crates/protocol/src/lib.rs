//! Concurrency control: a shelf of schemes behind one trait.
//!
//! A [`Protocol`] reads and writes rows for transactions and decides at commit whether they may take
//! effect. One file per scheme plus one line in [`for_each_protocol`]; the list makes
//! [`ProtocolKind`], its parsing, its dispatch and a run of the conformance tests. Each scheme's file
//! opens with: paper, guarantee, header bits, lock order, abort causes, what it does not do.
//!
//! # What every entry gives
//!
//! 1. *Serializability in `commit_ts` order*: running the committed transactions one after the other
//!    in the order of their commit timestamps gives the same results and the same tables.
//! 2. *Own writes*: a transaction reads what it wrote itself, through every index.
//! 3. *Uniqueness*: `insert` and `update` refuse with [`Refused::Duplicate`] where a committed row (or an
//!    own one) has the key, and that answer is a read like any other: validated at commit. A key that
//!    another transaction is just putting in is a [`Conflict`].
//! 4. *Savepoints*: [`Savepoints::rollback_to`] undoes writes; what was read stays read.
//! 5. *Snapshots*: between [`SnapshotSource::open_snapshot`] and [`SnapshotSource::close_snapshot`] a
//!    [`SnapshotReader`] reads the state of one moment, while transactions go on ([`snapshot`]).
//! 6. After a [`Conflict`] only `abort`, `retry` or `go_back` makes sense; then the transaction, or what
//!    it did since a [`RestartPoint`], may be tried again.
//! 7. *Waiting*, where transactions overlap: one that claims what it changes ([`RowLocks::claim_writes`])
//!    never finds a row that it has claimed changed by another, and whoever meets a claim can wait for it.
//!    See `claim`.
//!
//! What is read before `commit` says so may be inconsistent under an optimistic scheme
//! ([`Protocol::validate`] tells), but is always memory-safe.
//!
//! What no scheme should write anew is in [`footprint`]: the write set, what it has put into indexes, savepoints, the
//! leaves that were looked at, cursors. Schemes over version words, which differ in what they lock when, share more: all of
//! `versioned`, but their rules.
//!
//! Schemes know records, indexes and the commit clock; never a log, SQL or the executor. Everything
//! here is statically dispatched: the scheme is chosen once, by [`ProtocolKind::dispatch`].

pub mod backoff;
mod capability;
mod claim;
mod columns;
mod door;
mod environment;
mod footprint;
mod guarantee;
pub mod healing;
pub mod hybrid;
pub mod mvocc;
pub mod occ;
pub mod partitioned;
pub mod serial;
mod shelf;
pub mod silo;
pub mod snapshot;
pub mod two_phase;
pub mod unvalidated;
mod versioned;

pub use backoff::{Backoff, BackoffKind};
pub use capability::{
    Effects, Exclusive, Heals, Hints, Hosted, Known, Levels, LocksMark, LongLived, RestartPoint,
    RestartPoints, RowLocks, Savepoints, SnapshotSource,
};
pub use claim::{ClaimInfo, Unclaimed, Wait};
pub use columns::{ColumnSet, ColumnsRead};
pub use environment::{CommitEnv, Telling};
pub use guarantee::{Guarantee, SerialOrder, Traits};
pub use healing::{Heal, Healed, Healing, Remembers};
pub use hybrid::Hybrid;
pub use mvocc::Mvocc;
pub use occ::Occ;
pub use partitioned::Partitioned;
pub use planaria_base::Isolation;
pub use serial::Serial;
pub use shelf::{ProtocolJob, ProtocolKind};
pub use silo::Silo;
pub use snapshot::{Closed, Moment, Opened, SnapshotReader, Snapshots, Tables};
pub use two_phase::TwoPhase;
pub use unvalidated::UpperBound;

use planaria_base::{CommitTs, Error, IndexId, SqlState, TableId, WorkerId};
use planaria_storage::{Arena, ArenaFull, Header, Image, IndexSet, KeyBuf, KeyRange, Table, TableSet};

/// Why a transaction cannot go on.
// As wide as the words of a `Row`: so a result with either is handed on in whole words.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
#[repr(u32)]
pub enum Conflict {
    /// A row that was read has been changed since.
    Validation,
    /// A row stays locked by another transaction.
    Locked,
    /// Keys have come into a range that was read.
    Phantom,
    /// Another transaction is putting the same unique key in.
    Key,
    /// Another transaction has claimed a row, or is putting a key in and will take its time:
    /// [`RowLocks::await_claim`] waits for it.
    Claimed,
    /// Not a conflict: the transaction has used up its arena. Trying again does not help.
    ArenaFull,
    /// Not a conflict: the transaction reads a snapshot, and wanted to write.
    ReadOnly,
    /// Not a conflict: the transaction reads so much that it does so in a snapshot.
    Long,
    /// A row has been changed since the moment as of which the transaction reads: see [`Levels`].
    Past,
}

impl Conflict {
    /// All of them, in the order of their numbers: for counters.
    pub const ALL: [Conflict; 9] = [
        Conflict::Validation,
        Conflict::Locked,
        Conflict::Phantom,
        Conflict::Key,
        Conflict::Claimed,
        Conflict::ArenaFull,
        Conflict::ReadOnly,
        Conflict::Long,
        Conflict::Past,
    ];

    /// Its name in metrics.
    pub const fn name(self) -> &'static str {
        match self {
            Conflict::Validation => "validation",
            Conflict::Locked => "locked",
            Conflict::Phantom => "phantom",
            Conflict::Key => "key",
            Conflict::Claimed => "claimed",
            Conflict::ArenaFull => "arena_full",
            Conflict::ReadOnly => "read_only",
            Conflict::Long => "long",
            Conflict::Past => "past",
        }
    }

    /// Whether another attempt may succeed.
    #[inline]
    pub const fn is_retryable(self) -> bool {
        !matches!(self, Conflict::ArenaFull | Conflict::ReadOnly)
    }
}

impl From<ArenaFull> for Conflict {
    #[cold]
    fn from(_: ArenaFull) -> Conflict {
        Conflict::ArenaFull
    }
}

impl From<Conflict> for Error {
    #[cold]
    fn from(conflict: Conflict) -> Error {
        match conflict {
            Conflict::ArenaFull => ArenaFull.into(),
            Conflict::ReadOnly => {
                Error::new(SqlState::READ_ONLY_SQL_TRANSACTION, "cannot write in a read-only transaction")
            }
            Conflict::Past => Error::new(
                SqlState::SERIALIZATION_FAILURE,
                "could not serialize access due to concurrent update",
            )
            .with_hint("The transaction might succeed if retried."),
            _ => Error::new(
                SqlState::SERIALIZATION_FAILURE,
                "could not serialize access due to concurrent transactions",
            )
            .with_detail(format!("Reason: {}.", conflict.name()))
            .with_hint("The transaction might succeed if retried."),
        }
    }
}

/// Why a write is refused; the transaction goes on.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Refused {
    /// A row with the same key is in this unique index.
    Duplicate(IndexId),
    /// The row's key of this index is longer than a key may be.
    KeyTooLong(IndexId),
}

/// What to do with a row that another transaction has claimed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum IfClaimed {
    /// Wait for it.
    Wait,
    /// Say so.
    Refuse,
    /// Pass over it, as if it had not been read.
    Skip,
}

/// A row that a transaction has read or inserted, for as long as the transaction lasts.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct RowHandle(pub u32);

/// An open cursor of a transaction.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct CursorId(pub u32);

/// A row as read: its handle, and its image in the caller's arena.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Row {
    /// For `load`, `update` and `delete`.
    pub handle: RowHandle,
    /// The image as of this read.
    pub image: Image,
}

/// What a transaction did to a row.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum WriteKind {
    /// The row is new; `image` is the row.
    Insert,
    /// The row was there before; `image` is the row as it is now.
    Update,
    /// The row is gone; `image` is the row as it was.
    Delete,
}

/// The net effect of a transaction on one row.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Write<'a> {
    /// The table.
    pub table: TableId,
    /// What happened.
    pub kind: WriteKind,
    /// Image.
    pub image: &'a [u64],
    /// The row as it was before the transaction, of an update or delete, if before-images are kept
    /// ([`Effects::keep_before_images`]); empty otherwise.
    pub before: &'a [u64],
    /// The record's address. It belongs to this row, and to no other, from the insert of the row to its
    /// delete, as long as the process runs and the table is not rewritten.
    pub location: u64,
}

/// A concurrency control scheme: what it takes to run transactions. What else a program, a session or a database asks of it
/// are traits of their own ([`Hosted`] is all of them).
///
/// A worker's [`Protocol::Txn`] runs one transaction at a time: `begin`, any number of operations,
/// then `commit` or `abort`. It is reused, and allocates nothing in the steady state. Tables are
/// passed in by the caller; a table that the transaction has written to stays in the [`TableSet`], the
/// same table, until the transaction ends. A `Txn` is dropped only between transactions: index entries
/// of a running one would stay.
pub trait Protocol: Send + Sync + Sized + 'static {
    /// What each record carries for it.
    type Header: Header;
    /// A worker's state.
    type Txn: Send;

    /// Its name, as users write it.
    const NAME: &'static str;
    /// Whether transactions of different workers may overlap; otherwise `begin` waits.
    const CONCURRENT: bool;
    /// What it promises of the transactions that it commits.
    const GUARANTEE: Guarantee;
    /// Whether transactions may write at all.
    const WRITES: bool = true;

    /// State for a worker.
    fn worker(&self, id: WorkerId) -> Self::Txn;

    /// Starts a transaction.
    fn begin(&self, txn: &mut Self::Txn);

    /// Reads the row with this full key of a unique index (made by `KeyCodec::encode_key`).
    fn get(
        &self,
        txn: &mut Self::Txn,
        table: &Table<Self::Header>,
        index: IndexId,
        key: &KeyBuf,
        arena: &mut Arena,
    ) -> Result<Option<Row>, Conflict>;

    /// Opens a cursor over a range of an index. Cursors nest; one sees the rows as they are when it
    /// comes to them, and need not see rows that the transaction inserts or moves meanwhile.
    fn scan_open(
        &self,
        txn: &mut Self::Txn,
        table: &Table<Self::Header>,
        index: IndexId,
        range: &KeyRange,
        descending: bool,
    ) -> CursorId;

    /// The next row of a cursor, in index order.
    fn scan_next(
        &self,
        txn: &mut Self::Txn,
        table: &Table<Self::Header>,
        cursor: CursorId,
        arena: &mut Arena,
    ) -> Result<Option<Row>, Conflict>;

    /// Closes a cursor. Those left open end with the transaction.
    fn scan_close(&self, txn: &mut Self::Txn, cursor: CursorId);

    /// The row's present image, own writes included; `None` if the transaction deleted it.
    fn load(
        &self,
        txn: &mut Self::Txn,
        table: &Table<Self::Header>,
        row: RowHandle,
        arena: &mut Arena,
    ) -> Result<Option<Image>, Conflict>;

    /// Inserts a row.
    fn insert(
        &self,
        txn: &mut Self::Txn,
        table: &Table<Self::Header>,
        image: &[u64],
    ) -> Result<Result<RowHandle, Refused>, Conflict>;

    /// Replaces a row's image. `touched` are the indexes with a changed column (`Table::touched`),
    /// never the primary one: a changed primary key is a delete and an insert. A row that the
    /// transaction itself has deleted stays so.
    fn update(
        &self,
        txn: &mut Self::Txn,
        table: &Table<Self::Header>,
        row: RowHandle,
        image: &[u64],
        touched: IndexSet,
    ) -> Result<Result<(), Refused>, Conflict>;

    /// Deletes a row. `false` if the transaction had deleted it already.
    fn delete(
        &self,
        txn: &mut Self::Txn,
        table: &Table<Self::Header>,
        row: RowHandle,
    ) -> Result<bool, Conflict>;

    /// Whether everything read so far still holds: for transactions that may be zombies.
    fn validate(&self, txn: &mut Self::Txn, tables: &TableSet<Self::Header>) -> bool;

    /// Commits, and tells its surroundings as soon as the outcome is certain. A transaction that wrote nothing draws no timestamp: its place
    /// is right before the commit that will draw the one returned. After an error, too, the
    /// transaction is over, as after `retry`; but one that claims what it writes is as it was before where it met
    /// [`Conflict::Locked`], and may try again.
    fn commit(
        &self,
        txn: &mut Self::Txn,
        tables: &TableSet<Self::Header>,
        env: impl CommitEnv<Self>,
    ) -> Result<CommitTs, Conflict>;

    /// Takes everything back, and gives the transaction up: what begins next is none of its attempts. Otherwise it does
    /// nothing if no transaction is running.
    fn abort(&self, txn: &mut Self::Txn, tables: &TableSet<Self::Header>);
}

/// A point in a transaction to which its writes can return.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Savepoint {
    /// Number of writes at that point.
    writes: u32,
    /// Length of the undo log at that point.
    undo: u32,
    /// Identity within the transaction.
    serial: u32,
    /// The enclosing savepoint's `writes` and `serial`.
    outer: (u32, u32),
}
