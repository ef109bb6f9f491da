//! Schemes over version words: what they have in common, which is all but what they lock when.
//!
//! A transaction reads images under a version check, buffers its writes in a [footprint](crate::footprint), and commits
//! by locks, a timestamp and validation. A scheme is this with [`Rules`] of its own.
//!
//! **Header.** The version word of the [footprint](crate::footprint), and whatever the scheme has beside it.
//!
//! **Commit.** (1) lock the write set, in address order, with bounded spinning; and what the rules lock beside; (2) draw
//! `commit_ts`; (3) validate: every record read is unlocked
//! (or locked by us) and at the version read, every index leaf in the node set at its insert version;
//! (4) hand index entries over, remove old ones, install images, unlock with `commit_ts`; unlink and
//! retire the dead.
//!
//! **Why failed lookups stay failed.** No entry: the leaf is in the node set. A placeholder: it is in
//! the read set, and its version changes when its insert commits or is taken back. A dead record or a
//! row that does not match: leaf *and* record are in the sets.
//!
//! **Ranges.** A transaction that claims what it writes takes long; what it asked for it remembers as ranges, and looks at
//! them again where a leaf has moved, before it calls that a conflict: see `ranges`.
//!
//! **Levels.** A transaction that claims what it writes has a level ([`Levels`](crate::Levels)) and reads as of a moment
//! of its own: see `dated`.
//!
//! **Snapshots.** While one is open ([`crate::snapshot`]), a commit keeps the old image of every row that the
//! snapshot sees before it changes the row or its index entries: between (3) and (4).
//!
//! **Readers.** Where the rules say so, a transaction that says that it writes nothing reads as of its begin: see `reading`.
//!
//! **Alone.** A worker that is alone ([`Exclusive::alone`](crate::Exclusive::alone)) validates nothing and passes claims and locks by; it leaves
//! them as they are.

mod claims;
mod commit;
mod dated;
mod heal;
mod heat;
mod hosted;
mod keeping;
mod overlook;
mod ranges;
mod read;
mod reading;
mod rules;
mod write;

use crate::claim::Claims;
use crate::door::Met;
use crate::footprint::cursors::{self, Cursors};
use crate::footprint::word::{ABSENT, CLAIMED, DEAD, LENIENT, LOCKED, Locking, VersionWord};
use crate::footprint::{Footprint, NONE, Origin, SPINS_MAX, State, Versioned, WriteEntry, recycle};
use crate::snapshot::Merged;
use crate::{
    CommitEnv, Conflict, CursorId, Guarantee, IfClaimed, LocksMark, Protocol, Refused, Remembers,
    RestartPoint, Row, RowHandle, Snapshots,
};
pub use rules::Rules;
use std::hint::cold_path;

use dated::Dated;
use heal::Cache;
use heat::Regime;
use planaria_base::clock::CommitClock;
use planaria_base::sync::atomic::{AtomicU8, Ordering::Relaxed};
use planaria_base::sync::spin_hint;
use planaria_base::{CommitTs, IndexId, Strength, TableId, WorkerId};
use planaria_storage::btree::Cursor;
use planaria_storage::{Arena, Image, IndexSet, KeyBuf, KeyRange, RecordPtr, Table, TableSet};
use ranges::Ranges;
use reading::Reading;
use std::cell::Cell;
use std::sync::Arc;

pub(crate) type Ptr<R> = Met<<R as Rules>::Header>;

/// A scheme over version words: what all have, by the rules of one.
pub struct OverVersions<R: Rules> {
    snapshots: Arc<Snapshots>,
    claims: Arc<Claims>,
    regime: Arc<Regime>,
    /// What new workers [remember](crate::Remembers).
    remembers: AtomicU8,
    /// See [`Rules::locks`].
    locks: R::Locks,
}

impl<R: Rules> OverVersions<R> {
    fn remembers(&self) -> Remembers {
        let now = self.remembers.load(Relaxed);
        let all = [Remembers::Nothing, Remembers::Lookups, Remembers::Rows];
        all.into_iter().find(|what| *what as u8 == now).unwrap_or_default()
    }
}

/// An element of the read set, and what a [`RowHandle`] stands for.
#[derive(Clone, Copy)]
pub struct Access<R: Rules> {
    pub(crate) record: Ptr<R>,
    /// The version that was read, with [`LENIENT`] if it need not hold; [`OWN`] if the record's write
    /// answers for it.
    pub(crate) version: u64,
}

/// In place of a version: the record is in the write set, whose version is checked when it is locked.
pub(crate) const OWN: u64 = u64::MAX;

/// In the version of a row that was read: it may change, but must be there. No row that is there has both.
const PRESENCE: u64 = LENIENT | ABSENT;

/// What is known of an open cursor.
#[derive(Default)]
struct Look {
    /// What it meets is not remembered.
    lenient: bool,
    /// Its number among the ranges of the transaction; [`NONE`].
    range: u32,
    /// It reads as of the transaction's moment, by `past`.
    dated: bool,
    past: Merged,
}

type OpenCursor = cursors::OpenCursor<Look>;

/// A worker's transaction.
pub struct Txn<R: Rules> {
    pub(crate) foot: Footprint<R::Header>,
    pub(crate) accesses: Vec<Access<R>>,
    /// What was asked for, if the transaction is `ranged`.
    ranges: Ranges<R>,
    /// Everything that it reads it reads as ranges: see `ranges`.
    ranged: bool,
    cursors: Cursors<Look>,
    /// The writes are installed: nothing can be taken back any more.
    installed: bool,
    claims: Arc<Claims>,
    /// Its level and its moment, if it claims what it writes.
    dated: Dated,
    /// Every row is claimed before it is changed.
    pub(crate) claiming: bool,
    /// Nobody else runs a transaction.
    pub(crate) alone: bool,
    /// An attempt has failed, and what runs is another: see [`RestartPoints::retry`](crate::RestartPoints::retry).
    pub(crate) repeated: bool,
    /// It has locked words of rows that others have claimed.
    beside: Cell<bool>,
    /// What this transaction has claimed, one after another.
    held: Vec<Held<R>>,
    /// What the last [`Conflict::Claimed`] was about.
    blocked: Option<Blocked<R>>,
    /// What the rules have locked.
    pub(crate) locks: R::Locks,
    heal: Cache,
    reading: Reading,
}

/// A claim that a transaction has been granted, or one that was raised.
#[derive(Clone, Copy)]
struct Held<R: Rules> {
    record: Ptr<R>,
    strength: Strength,
    /// How strongly it had the record before.
    before: Option<Strength>,
}

/// What stands in a transaction's way.
#[derive(Clone, Copy)]
enum Blocked<R: Rules> {
    /// The claim of this record.
    Record(Ptr<R>, TableId, Strength),
    /// The transaction of this worker is putting a key in, with this placeholder, at this version.
    Placeholder(Ptr<R>, u64),
}

impl<R: Rules> Txn<R> {
    fn new(over: &OverVersions<R>, id: WorkerId) -> Txn<R> {
        Txn {
            foot: Footprint::new(usize::from(id.0)),
            accesses: Vec::new(),
            ranges: Ranges::default(),
            ranged: false,
            cursors: Cursors::default(),
            installed: false,
            claims: over.claims.clone(),
            dated: Dated::new(over.snapshots.clone()),
            claiming: false,
            alone: false,
            repeated: false,
            beside: Cell::new(false),
            held: Vec::new(),
            blocked: None,
            locks: R::locks(&over.locks),
            heal: Cache::new(over.regime.clone(), over.remembers()),
            reading: Reading::default(),
        }
    }

    /// Forgets the transaction, lets go of its claims and leaves the epoch.
    fn end(&mut self) {
        self.clear();
        if self.claiming || !self.held.is_empty() || self.blocked.is_some() {
            cold_path();
            self.let_go();
        }
        self.foot.participant.unpin();
        self.repeated = false;
    }

    /// Forgets what was read and written.
    fn clear(&mut self) {
        R::let_go(self);
        if R::HEALS {
            self.heal.clear();
        }
        recycle(&mut self.accesses);
        self.foot.clear();
        if self.ranged {
            cold_path();
            self.ranges.clear();
        }
        self.installed = false;
        self.beside.set(false);
        self.cursors.close_all();
    }

    #[inline]
    fn push_access(&mut self, record: Ptr<R>, version: u64) -> RowHandle {
        self.accesses.push(Access { record, version });
        RowHandle((self.accesses.len() - 1) as u32)
    }

    /// The handle of a row that this transaction has written.
    #[inline]
    fn own_row(&mut self, write: u32, arena: &mut Arena) -> Result<Row, Conflict> {
        let image = self.foot.copy_image(write, arena)?;
        let handle = self.push_access(self.foot.writes[write as usize].record, OWN);
        Ok(Row { handle, image })
    }

    /// See [`crate::Effects::newest_met`].
    fn newest_met(&self, tables: &TableSet<R::Header>) -> Option<CommitTs> {
        if self.accesses.is_empty() && self.foot.looked.is_empty() {
            return None;
        }
        let mut newest = CommitTs(0);
        for access in &self.accesses {
            match access.version {
                OWN => return None,
                // A placeholder shows nothing of anybody.
                version if version & PRESENCE == ABSENT => {}
                version => newest = newest.max(CommitTs(version & !(PRESENCE | CLAIMED))),
            }
        }
        for table in &self.foot.looked {
            newest = newest.max(tables.try_get(*table)?.last_removal());
        }
        Some(self.dated.newest_shown(newest))
    }
}

impl<R: Rules> Protocol for OverVersions<R> {
    type Header = R::Header;
    type Txn = Txn<R>;

    const NAME: &'static str = R::NAME;
    const CONCURRENT: bool = true;
    const GUARANTEE: Guarantee = R::GUARANTEE;

    fn worker(&self, id: WorkerId) -> Txn<R> {
        Txn::new(self, id)
    }

    #[inline]
    fn begin(&self, txn: &mut Txn<R>) {
        // After `retry` it still is.
        if !txn.foot.participant.is_pinned() {
            txn.foot.participant.pin();
        }
    }

    #[inline]
    fn get(
        &self,
        txn: &mut Txn<R>,
        table: &Table<R::Header>,
        index: IndexId,
        key: &KeyBuf,
        arena: &mut Arena,
    ) -> Result<Option<Row>, Conflict> {
        if let Some((reader, txn)) = txn.reader() {
            return reader.get(txn, table, index, key, arena);
        }
        let row = txn.get(table, index, key, arena)?;
        if let Some(row) = row {
            R::has_met(txn, table, row, arena)?;
        }
        Ok(row)
    }

    fn scan_open(
        &self,
        txn: &mut Txn<R>,
        table: &Table<R::Header>,
        index: IndexId,
        range: &KeyRange,
        descending: bool,
    ) -> CursorId {
        if let Some((reader, txn)) = txn.reader() {
            return reader.scan_open(txn, table, index, range, descending);
        }
        txn.scan_open(table.id(), index, range, descending)
    }

    #[inline]
    fn scan_next(
        &self,
        txn: &mut Txn<R>,
        table: &Table<R::Header>,
        cursor: CursorId,
        arena: &mut Arena,
    ) -> Result<Option<Row>, Conflict> {
        if let Some((reader, txn)) = txn.reader() {
            return reader.scan_next(txn, table, cursor, arena);
        }
        txn.scan_next(table, cursor, arena)
    }

    fn scan_close(&self, txn: &mut Txn<R>, cursor: CursorId) {
        if let Some((reader, txn)) = txn.reader() {
            return reader.scan_close(txn, cursor);
        }
        if let Some(slot) = txn.cursors.close(cursor)
            && slot.more.range != NONE
        {
            txn.ranges.reach_cursor(slot);
        }
    }

    #[inline]
    fn load(
        &self,
        txn: &mut Txn<R>,
        table: &Table<R::Header>,
        row: RowHandle,
        arena: &mut Arena,
    ) -> Result<Option<Image>, Conflict> {
        if let Some((reader, txn)) = txn.reader() {
            return reader.load(txn, table, row, arena);
        }
        txn.load(row, arena)
    }

    fn insert(
        &self,
        txn: &mut Txn<R>,
        table: &Table<R::Header>,
        image: &[u64],
    ) -> Result<Result<RowHandle, Refused>, Conflict> {
        if txn.is_reader() {
            return Err(Conflict::ReadOnly);
        }
        R::will_put(txn, table, image)?;
        txn.insert(table, image)
    }

    fn update(
        &self,
        txn: &mut Txn<R>,
        table: &Table<R::Header>,
        row: RowHandle,
        image: &[u64],
        touched: IndexSet,
    ) -> Result<Result<(), Refused>, Conflict> {
        if txn.is_reader() {
            return Err(Conflict::ReadOnly);
        }
        R::will_change(txn, table, row)?;
        txn.update(table, row, image, touched)
    }

    fn delete(&self, txn: &mut Txn<R>, table: &Table<R::Header>, row: RowHandle) -> Result<bool, Conflict> {
        if txn.is_reader() {
            return Err(Conflict::ReadOnly);
        }
        R::will_change(txn, table, row)?;
        txn.delete(table, row)
    }

    fn validate(&self, txn: &mut Txn<R>, tables: &TableSet<R::Header>) -> bool {
        txn.is_reader() || txn.is_sound(tables)
    }

    fn commit(
        &self,
        txn: &mut Txn<R>,
        tables: &TableSet<R::Header>,
        env: impl CommitEnv<Self>,
    ) -> Result<CommitTs, Conflict> {
        txn.commit(tables, &self.snapshots, env)
    }

    fn abort(&self, txn: &mut Txn<R>, tables: &TableSet<R::Header>) {
        if txn.installed {
            txn.end();
        } else if txn.foot.participant.is_pinned() {
            txn.abort(tables);
        }
        txn.repeated = false;
    }
}
