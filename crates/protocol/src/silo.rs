//! Silo: optimistic concurrency control with epoch-free version words.
//!
//! **Paper.** S. Tu, W. Zheng, E. Kohler, B. Liskov, S. Madden: *Speedy Transactions in Multicore
//! In-Memory Databases*, SOSP 2013. Different from it: a version is the commit timestamp, drawn from
//! the one clock after the writes are locked and before the reads are validated, so that commit
//! timestamps are a serial order, anti-dependencies included (command logging needs that).
//!
//! **Guarantee.** Serializable in `commit_ts` order, phantoms included.
//!
//! **Header bits.** One word a record.
//!
//! ```text
//!  63      62       61     60        59 .. 0
//!  LOCKED  ABSENT   DEAD   CLAIMED   commit timestamp of the last write
//! ```
//!
//! ABSENT: no row here, either not yet (the placeholder of an insert that has not committed) or no
//! more. DEAD (with ABSENT): never again; the record is being taken out of the indexes. A record goes
//! from placeholder to present to dead, never back: who inserts a key anew takes a new record. A
//! placeholder of a transaction that claims has its worker's number, plus one, in the low bits. CLAIMED:
//! only the holder of the record's claim may lock it (`crate::claim`); it is no part of the version.
//!
//! **Lock order.** Commit locks its records in address order, with bounded spinning. Index nodes are locked by single tree operations, below any record lock.
//!
//! **Commit.** (1) lock the write set; (2) draw `commit_ts`; (3) validate: every record read is unlocked
//! (or locked by us) and at the version read, every index leaf in the node set at its insert version;
//! (4) hand index entries over, remove old ones, install images, unlock with `commit_ts`; unlink and
//! retire the dead.
//!
//! **Index entries.** INSERT puts the entries in at once, pointing to an absent placeholder; UPDATE of
//! indexed columns adds the new entries at once (*early* ones) and removes the old ones at commit, under
//! the record's lock. So an entry of a secondary index may lead to a row with another key, and whoever
//! follows one compares. An early entry is its transaction's alone: others who need the key, be it for
//! the same row, meet a conflict. If a transaction gives a key up (deletes its row, or moves it away)
//! and then uses it for another row, the entry must show the old row to others until commit: this is a
//! *takeover*, a note that commit carries out by replacing the entry's value under both locks before
//! the old row is unlocked. Its own reads follow the note; other readers who find an entry's record
//! dead or moved away look the key up once more. A dead record may have early entries of transactions
//! that will fail; they remove them before they end, and the record is retired late enough for that.
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
//! **Savepoints.** Writes are never removed from the write set before the end; undoing turns an insert
//! into a dead placeholder and an update into no write. Only states older than the savepoint are
//! logged, so taking one costs a few stores.
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
mod sets;
mod word;
mod write;

use crate::claim::Claims;
use crate::snapshot::Merged;
use crate::{
    Conflict, CursorId, Guarantee, IfClaimed, Point, Protocol, Refused, Row, RowHandle, Savepoint,
    SerialOrder, Snapshots, Write, WriteKind,
};
use dated::Dated;
use planaria_base::clock::CommitClock;
use planaria_base::sync::spin_hint;
use planaria_base::{CommitTs, IndexId, Strength, TableId, WorkerId};
use planaria_storage::btree::Cursor;
use planaria_storage::reclaim::Participant;
use planaria_storage::{
    Arena, Glance, Header, Image, IndexSet, KeyBuf, KeyRange, RecordPtr, Table, TableSet,
};
use ranges::Ranges;
use sets::{NodeSet, PointerMap};
use std::sync::Arc;
use word::{ABSENT, CLAIMED, DEAD, LOCKED, Locking, VersionWord};

/// Looks at a locked record before giving up. A holder that runs needs well under a microsecond; one
/// that lost its processor is not worth waiting for.
const SPINS_MAX: u32 = 512;

/// What a record carries: its version word.
pub struct SiloHeader(VersionWord);

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

/// In a version: the row may change. The place of a lock, which no version has.
const LENIENT: u64 = LOCKED;

/// In the version of a row that was read: it may change, but must be there. No row that is there has both.
const PRESENCE: u64 = LENIENT | ABSENT;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Origin {
    /// A placeholder of this transaction.
    Insert,
    /// A committed row.
    Row,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum State {
    /// The row shall be `image`.
    Live,
    /// The row shall not be.
    Dead,
    /// Undone: the row stays as it is. Only of `Origin::Row`.
    Unwritten,
}

/// An element of the write set: there is one per record.
#[derive(Clone, Copy)]
struct WriteEntry {
    record: Ptr,
    /// The version that was read (of an insert: the placeholder's).
    version: u64,
    /// In the transaction's images. Of a dead row: as it was.
    image: Image,
    /// Indexes in which the row's key may have changed.
    touched: IndexSet,
    table: TableId,
    /// The last savepoint for which the entry's state was logged.
    saved: u32,
    /// The first of its takeovers, and of the entries it added; [`NONE`].
    takeovers: u32,
    extras: u32,
    origin: Origin,
    state: State,
    /// Of the claim that commit needs, where others have claimed the row.
    strength: Strength,
}

const NONE: u32 = u32::MAX;

/// An entry of `index` that points to the record of write `from` belongs to write `to` after commit.
struct Takeover {
    index: IndexId,
    from: u32,
    to: u32,
    next: u32,
}

/// An index entry that this transaction added and that the final row may not need.
struct Extra {
    write: u32,
    index: IndexId,
    key: Image,
    next: u32,
}

struct Undo {
    write: u32,
    state: State,
    image: Image,
    saved: u32,
}

struct OpenCursor {
    cursor: Cursor,
    index: IndexId,
    open: bool,
    /// What it meets is not remembered.
    lenient: bool,
    /// Its number among the ranges of the transaction; [`NONE`].
    range: u32,
    /// It reads as of the transaction's moment, by `past`.
    dated: bool,
    past: Merged,
}

/// A worker's transaction.
pub struct SiloTxn {
    participant: Participant,
    worker: usize,
    accesses: Vec<Access>,
    nodes: NodeSet,
    /// What was asked for, if the transaction is `ranged`.
    ranges: Ranges,
    /// Everything that it reads it reads as ranges: see `ranges`.
    ranged: bool,
    writes: Vec<WriteEntry>,
    write_map: PointerMap,
    /// If before-images are kept: number and before-image of each write of a committed row, ascending.
    before: Vec<(u32, Image)>,
    keeps_before: bool,
    takeovers: Vec<Takeover>,
    extras: Vec<Extra>,
    undo: Vec<Undo>,
    /// Writes before the innermost savepoint, its identity, and the last identity given.
    floor: u32,
    savepoint: u32,
    savepoints: u32,
    /// After-images, before-images and keys.
    images: Arena,
    cursors: Vec<OpenCursor>,
    cursors_open: u32,
    /// Tables in which it has looked for rows that need not be there.
    looked: Vec<TableId>,
    /// Addresses and numbers of the writes in lock order.
    order: Vec<(u64, u32)>,
    key: KeyBuf,
    other_key: KeyBuf,
    scratch: Vec<u64>,
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

/// Elements that the sets keep room for between transactions.
const KEEP: usize = 1 << 20;

#[inline]
fn find_write(map: &PointerMap, writes: &[WriteEntry], record: Ptr) -> Option<u32> {
    map.find(record.to_word(), writes.len(), |i| writes[i].record.to_word())
}

fn recycle<T>(set: &mut Vec<T>) {
    set.clear();
    if set.capacity() > KEEP {
        set.shrink_to(KEEP);
    }
}

impl SiloTxn {
    fn new(id: WorkerId, claims: Arc<Claims>, snapshots: Arc<Snapshots>) -> SiloTxn {
        SiloTxn {
            participant: Participant::new(),
            worker: usize::from(id.0),
            accesses: Vec::new(),
            nodes: NodeSet::default(),
            ranges: Ranges::default(),
            ranged: false,
            writes: Vec::new(),
            write_map: PointerMap::default(),
            before: Vec::new(),
            keeps_before: false,
            takeovers: Vec::new(),
            extras: Vec::new(),
            undo: Vec::new(),
            floor: 0,
            savepoint: 0,
            savepoints: 0,
            images: Arena::new(),
            cursors: Vec::new(),
            cursors_open: 0,
            looked: Vec::new(),
            order: Vec::new(),
            key: KeyBuf::new(),
            other_key: KeyBuf::new(),
            scratch: Vec::new(),
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
        self.participant.unpin();
    }

    /// Forgets what was read and written.
    fn clear(&mut self) {
        recycle(&mut self.accesses);
        self.nodes.clear();
        if self.ranged {
            self.ranges.clear();
        }
        if !self.writes.is_empty() {
            recycle(&mut self.writes);
            self.write_map.clear();
            recycle(&mut self.before);
            self.takeovers.clear();
            recycle(&mut self.extras);
            self.undo.clear();
            self.images.reset();
            recycle(&mut self.order);
        }
        self.installed = false;
        self.looked.clear();
        (self.floor, self.savepoint, self.savepoints) = (0, 0, 0);
        if self.cursors_open > 0 {
            self.cursors.iter_mut().for_each(|c| c.open = false);
            self.cursors_open = 0;
        }
    }

    /// The write of a record, if there is one.
    #[inline]
    fn find_write(&self, record: Ptr) -> Option<u32> {
        find_write(&self.write_map, &self.writes, record)
    }

    fn push_write(&mut self, write: WriteEntry) -> u32 {
        let at = self.writes.len();
        let record = write.record.to_word();
        self.writes.push(write);
        let SiloTxn { write_map, writes, .. } = self;
        write_map.insert(record, at, |i| writes[i].record.to_word());
        at as u32
    }

    #[inline]
    fn push_access(&mut self, record: Ptr, version: u64) -> RowHandle {
        self.accesses.push(Access { record, version });
        RowHandle((self.accesses.len() - 1) as u32)
    }

    /// The handle of a row that this transaction has written.
    #[inline]
    fn own_row(&mut self, write: u32, arena: &mut Arena) -> Result<Row, Conflict> {
        let WriteEntry { record, image, .. } = self.writes[write as usize];
        let offset = arena.push_words(image.words(&self.images))?;
        let handle = self.push_access(record, OWN);
        Ok(Row { handle, image: Image { offset, len: image.len } })
    }

    /// Notes that the transaction has seen what is not in a table.
    #[inline]
    fn look_in(&mut self, table: TableId) {
        if !self.looked.contains(&table) {
            self.looked.push(table);
        }
    }

    /// See [`Protocol::newest_met`].
    fn newest_met(&self, tables: &TableSet<SiloHeader>) -> Option<CommitTs> {
        if self.accesses.is_empty() && self.looked.is_empty() {
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
        for table in &self.looked {
            newest = newest.max(tables.try_get(*table)?.last_removal());
        }
        Some(self.dated.newest_shown(newest))
    }

    /// Whether the transaction will change anything.
    fn has_effect(&self) -> bool {
        self.writes.iter().any(|write| match write.state {
            State::Live => true,
            State::Dead => write.origin == Origin::Row,
            State::Unwritten => false,
        })
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
        if !txn.participant.is_pinned() {
            txn.participant.pin();
        }
    }

    #[inline]
    fn try_begin(&self, txn: &mut SiloTxn) -> bool {
        self.begin(txn);
        true
    }

    fn is_active(&self, txn: &SiloTxn) -> bool {
        txn.participant.is_pinned()
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
        txn.scan_close(cursor);
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
        let outer = (txn.floor, txn.savepoint);
        txn.savepoints += 1;
        txn.savepoint = txn.savepoints;
        txn.floor = txn.writes.len() as u32;
        Savepoint { writes: txn.floor, undo: txn.undo.len() as u32, serial: txn.savepoint, outer }
    }

    fn rollback_to(&self, txn: &mut SiloTxn, savepoint: Savepoint, _tables: &TableSet<SiloHeader>) {
        txn.rollback_to(savepoint);
    }

    #[inline]
    fn release(&self, txn: &mut SiloTxn, savepoint: Savepoint) {
        (txn.floor, txn.savepoint) = savepoint.outer;
        if txn.savepoint == 0 {
            // Nothing is left to go back to.
            txn.undo.clear();
        }
    }

    fn validate(&self, txn: &mut SiloTxn, tables: &TableSet<SiloHeader>) -> bool {
        txn.is_sound::<READS, NODES>(tables)
    }

    fn is_read_only(&self, txn: &SiloTxn) -> bool {
        !txn.has_effect()
    }

    fn newest_met(&self, txn: &SiloTxn, tables: &TableSet<SiloHeader>) -> Option<CommitTs> {
        txn.newest_met(tables)
    }

    fn keep_before_images(&self, txn: &mut SiloTxn, keep: bool) {
        txn.keeps_before = keep;
    }

    fn writes(&self, txn: &SiloTxn, f: &mut dyn FnMut(Write<'_>)) {
        let mut kept = txn.before.iter().peekable();
        for (i, write) in (0u32..).zip(&txn.writes) {
            let before =
                kept.next_if(|(of, _)| *of == i).map_or(&[][..], |(_, image)| image.words(&txn.images));
            let kind = match (write.origin, write.state) {
                (Origin::Insert, State::Live) => WriteKind::Insert,
                (Origin::Row, State::Live) => WriteKind::Update,
                (Origin::Row, State::Dead) => WriteKind::Delete,
                (Origin::Insert, _) | (_, State::Unwritten) => continue,
            };
            let image = write.image.words(&txn.images);
            f(Write { table: write.table, kind, image, before, location: write.record.to_word() });
        }
    }

    fn commit(
        &self,
        txn: &mut SiloTxn,
        tables: &TableSet<SiloHeader>,
        clock: &CommitClock,
        committed: impl FnOnce(CommitTs, &SiloTxn),
    ) -> Result<CommitTs, Conflict> {
        txn.commit::<READS, NODES>(tables, clock, &self.snapshots, committed)
    }

    fn abort(&self, txn: &mut SiloTxn, tables: &TableSet<SiloHeader>) {
        if txn.installed {
            txn.end();
        } else if txn.participant.is_pinned() {
            txn.abort(tables);
        }
    }

    fn rest(&self, txn: &mut SiloTxn) {
        txn.participant.flush();
    }
}
