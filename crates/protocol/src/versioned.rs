//! Silo: optimistic concurrency control with epoch-free version words.
//!
//! **Paper.** S. Tu, W. Zheng, E. Kohler, B. Liskov, S. Madden: *Speedy Transactions in Multicore
//! In-Memory Databases*, SOSP 2013. Different from it: a version is the commit timestamp, drawn from
//! the one clock after the writes are locked and before the reads are validated, so that commit
//! timestamps are a serial order, anti-dependencies included (command logging needs that).
//!
//! **Guarantee.** Serializable in `commit_ts` order, phantoms included.
//!
//! **Header bits.** One word a record, that of every [footprint](crate::footprint).
//!
//! **Lock order.** Commit locks its records in address order, with bounded spinning. Index nodes are locked by single tree operations, below any record lock.
//!
//! **Commit.** (1) lock the write set; (2) draw `commit_ts`; (3) validate: every record read is unlocked
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
//! **Abort causes.** `Validation`, `Locked`, `Phantom`, `Key`, `Claimed`, `Past` (see [`Conflict`]).
//!
//! **Snapshots.** While one is open ([`crate::snapshot`]), a commit keeps the old image of every row that the
//! snapshot sees before it changes the row or its index entries: between (3) and (4).
//!
//! **Alone.** A worker that is alone ([`Exclusive::alone`](crate::Exclusive::alone)) validates nothing and passes claims by; it leaves their
//! bits as they are.
//!
//! **What it does not do.** Rows are claimed by transactions that say so, never because they are hot. Records
//! do not shrink.

mod claims;
mod commit;
mod dated;
mod hosted;
mod ranges;
mod read;
mod write;

use crate::claim::Claims;
use crate::footprint::cursors::{self, Cursors};
use crate::footprint::word::{ABSENT, CLAIMED, DEAD, LENIENT, LOCKED, Locking, VersionWord};
use crate::footprint::{Footprint, NONE, Origin, SPINS_MAX, State, Versioned, WriteEntry, recycle};
use crate::snapshot::Merged;
use crate::{
    CommitEnv, Conflict, CursorId, Guarantee, IfClaimed, Point, Protocol, Refused, Row, RowHandle, Savepoint,
    SerialOrder, Snapshots, Write,
};
use dated::Dated;
use planaria_base::clock::CommitClock;
use planaria_base::sync::spin_hint;
use planaria_base::{CommitTs, IndexId, Strength, TableId, WorkerId};
use planaria_storage::btree::Cursor;
use planaria_storage::{
    Arena, Glance, Header, Image, IndexSet, KeyBuf, KeyRange, RecordPtr, Table, TableSet,
};
use ranges::Ranges;
use std::sync::Arc;

/// What a record carries: its version word.
pub struct SiloHeader(VersionWord);

impl Versioned for SiloHeader {
    #[inline]
    fn word(&self) -> &VersionWord {
        &self.0
    }
}

impl Header for SiloHeader {
    fn absent() -> Self {
        SiloHeader(VersionWord::new(ABSENT))
    }
    fn glance(&self) -> Glance {
        let word = self.0.load();
        match word {
            _ if word & LOCKED != 0 => Glance::Busy,
            _ if word & ABSENT != 0 => Glance::Absent,
            _ => Glance::Row(CommitTs(word & !CLAIMED), word),
        }
    }
    fn holds(&self, word: u64) -> bool {
        self.0.is_unchanged(word)
    }
    fn is_present(&self) -> bool {
        self.0.load() & (ABSENT | DEAD) == 0
    }
    fn set_present(&self, present: bool) {
        self.0.publish(if present { 0 } else { ABSENT });
    }
}

type Ptr = RecordPtr<SiloHeader>;

/// Silo. The parameters switch validation of reads and of nodes off, for tests that must catch it; and, for tests of
/// what others do then, a scheme that promises no order.
pub struct SiloWith<const READS: bool, const NODES: bool, const ORDER: bool = true> {
    snapshots: Arc<Snapshots>,
    claims: Arc<Claims>,
}

/// Silo as it should be.
pub type Silo = SiloWith<true, true>;

/// An element of the read set, and what a [`RowHandle`] stands for.
#[derive(Clone, Copy)]
struct Access {
    record: Ptr,
    /// The version that was read, with [`LENIENT`] if it need not hold; [`OWN`] if the record's write
    /// answers for it.
    version: u64,
}

/// In place of a version: the record is in the write set, whose version is checked when it is locked.
const OWN: u64 = u64::MAX;

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
pub struct SiloTxn {
    foot: Footprint<SiloHeader>,
    accesses: Vec<Access>,
    /// What was asked for, if the transaction is `ranged`.
    ranges: Ranges,
    /// Everything that it reads it reads as ranges: see `ranges`.
    ranged: bool,
    cursors: Cursors<Look>,
    /// The writes are installed: nothing can be taken back any more.
    installed: bool,
    claims: Arc<Claims>,
    /// Its level and its moment, if it claims what it writes.
    dated: Dated,
    /// Every row is claimed before it is changed.
    claiming: bool,
    /// Nobody else runs a transaction.
    alone: bool,
    /// Records that this transaction has claimed, and how strongly at least.
    held: Vec<(Ptr, Strength)>,
    /// What the last [`Conflict::Claimed`] was about.
    blocked: Option<Blocked>,
}

/// What stands in a transaction's way.
#[derive(Clone, Copy)]
enum Blocked {
    /// The claim of this record.
    Record(Ptr, TableId, Strength),
    /// The transaction of this worker is putting a key in, with this placeholder, at this version.
    Placeholder(Ptr, u64),
}

impl SiloTxn {
    fn new(id: WorkerId, claims: Arc<Claims>, snapshots: Arc<Snapshots>) -> SiloTxn {
        SiloTxn {
            foot: Footprint::new(usize::from(id.0)),
            accesses: Vec::new(),
            ranges: Ranges::default(),
            ranged: false,
            cursors: Cursors::default(),
            installed: false,
            claims,
            dated: Dated::new(snapshots),
            claiming: false,
            alone: false,
            held: Vec::new(),
            blocked: None,
        }
    }

    /// Forgets the transaction, lets go of its claims and leaves the epoch.
    fn end(&mut self) {
        self.clear();
        if self.claiming || !self.held.is_empty() || self.blocked.is_some() {
            self.let_go();
        }
        self.foot.participant.unpin();
    }

    /// Forgets what was read and written.
    fn clear(&mut self) {
        recycle(&mut self.accesses);
        self.foot.clear();
        if self.ranged {
            self.ranges.clear();
        }
        self.installed = false;
        self.cursors.close_all();
    }

    #[inline]
    fn push_access(&mut self, record: Ptr, version: u64) -> RowHandle {
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

    /// See [`Protocol::newest_met`].
    fn newest_met(&self, tables: &TableSet<SiloHeader>) -> Option<CommitTs> {
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

impl<const READS: bool, const NODES: bool, const ORDER: bool> Protocol for SiloWith<READS, NODES, ORDER> {
    type Header = SiloHeader;
    type Txn = SiloTxn;

    const NAME: &'static str = "silo";
    const CONCURRENT: bool = true;
    const GUARANTEE: Guarantee =
        Guarantee { order: if ORDER { Some(SerialOrder::CommitTs) } else { None }, phantoms: false };

    fn worker(&self, id: WorkerId) -> SiloTxn {
        SiloTxn::new(id, self.claims.clone(), self.snapshots.clone())
    }

    #[inline]
    fn begin(&self, txn: &mut SiloTxn) {
        // After `retry` it still is.
        if !txn.foot.participant.is_pinned() {
            txn.foot.participant.pin();
        }
    }

    #[inline]
    fn try_begin(&self, txn: &mut SiloTxn) -> bool {
        self.begin(txn);
        true
    }

    fn is_active(&self, txn: &SiloTxn) -> bool {
        txn.foot.participant.is_pinned()
    }

    #[inline]
    fn get(
        &self,
        txn: &mut SiloTxn,
        table: &Table<SiloHeader>,
        index: IndexId,
        key: &KeyBuf,
        arena: &mut Arena,
    ) -> Result<Option<Row>, Conflict> {
        txn.get(table, index, key, arena)
    }

    #[inline]
    fn unused(&self, txn: &mut SiloTxn, row: RowHandle) {
        if row.0 & dated::PAST != 0 {
            txn.dated.unused(row);
        }
    }

    #[inline]
    fn only_presence(&self, txn: &mut SiloTxn, row: RowHandle) {
        if row.0 & dated::PAST != 0 {
            return;
        }
        let access = &mut txn.accesses[row.0 as usize];
        if access.version != OWN {
            access.version |= PRESENCE;
        }
    }

    fn scan_open(
        &self,
        txn: &mut SiloTxn,
        table: &Table<SiloHeader>,
        index: IndexId,
        range: &KeyRange,
        descending: bool,
    ) -> CursorId {
        txn.scan_open(table.id(), index, range, descending)
    }

    #[inline]
    fn scan_next(
        &self,
        txn: &mut SiloTxn,
        table: &Table<SiloHeader>,
        cursor: CursorId,
        arena: &mut Arena,
    ) -> Result<Option<Row>, Conflict> {
        txn.scan_next(table, cursor, arena)
    }

    fn scan_close(&self, txn: &mut SiloTxn, cursor: CursorId) {
        txn.cursors.close(cursor);
    }

    #[inline]
    fn load(
        &self,
        txn: &mut SiloTxn,
        table: &Table<SiloHeader>,
        row: RowHandle,
        arena: &mut Arena,
    ) -> Result<Option<Image>, Conflict> {
        let _ = table;
        txn.load(row, arena)
    }

    fn insert(
        &self,
        txn: &mut SiloTxn,
        table: &Table<SiloHeader>,
        image: &[u64],
    ) -> Result<Result<RowHandle, Refused>, Conflict> {
        txn.insert(table, image)
    }

    fn update(
        &self,
        txn: &mut SiloTxn,
        table: &Table<SiloHeader>,
        row: RowHandle,
        image: &[u64],
        touched: IndexSet,
    ) -> Result<Result<(), Refused>, Conflict> {
        txn.update(table, row, image, touched)
    }

    fn delete(&self, txn: &mut SiloTxn, table: &Table<SiloHeader>, row: RowHandle) -> Result<bool, Conflict> {
        txn.delete(table, row)
    }

    #[inline]
    fn savepoint(&self, txn: &mut SiloTxn) -> Savepoint {
        txn.foot.savepoint()
    }

    fn rollback_to(&self, txn: &mut SiloTxn, savepoint: Savepoint, _tables: &TableSet<SiloHeader>) {
        txn.foot.rollback_to(savepoint);
    }

    #[inline]
    fn release(&self, txn: &mut SiloTxn, savepoint: Savepoint) {
        txn.foot.release(savepoint);
    }

    fn validate(&self, txn: &mut SiloTxn, tables: &TableSet<SiloHeader>) -> bool {
        txn.is_sound::<READS, NODES>(tables)
    }

    fn is_read_only(&self, txn: &SiloTxn) -> bool {
        !txn.foot.has_effect()
    }

    fn newest_met(&self, txn: &SiloTxn, tables: &TableSet<SiloHeader>) -> Option<CommitTs> {
        txn.newest_met(tables)
    }

    fn keep_before_images(&self, txn: &mut SiloTxn, keep: bool) {
        txn.foot.keeps_before = keep;
    }

    fn writes(&self, txn: &SiloTxn, f: &mut dyn FnMut(Write<'_>)) {
        txn.foot.for_each_write(f);
    }

    fn commit(
        &self,
        txn: &mut SiloTxn,
        tables: &TableSet<SiloHeader>,
        env: impl CommitEnv<Self>,
    ) -> Result<CommitTs, Conflict> {
        txn.commit::<READS, NODES, Self>(tables, &self.snapshots, env)
    }

    fn abort(&self, txn: &mut SiloTxn, tables: &TableSet<SiloHeader>) {
        if txn.installed {
            txn.end();
        } else if txn.foot.participant.is_pinned() {
            txn.abort(tables);
        }
    }

    fn rest(&self, txn: &mut SiloTxn) {
        txn.foot.participant.flush();
    }
}
