//! Serial execution: one transaction at a time, changes in place, undo on abort.
//!
//! **Paper.** None needed; the argument for it is in M. Stonebraker et al.: *The End of an
//! Architectural Era*, VLDB 2007, §2.
//!
//! **Guarantee.** Serial, hence serializable; commit timestamps ascend in the order of execution.
//!
//! **Header bits.** Any: it works over the header of another scheme ([`SerialOn`]) and leaves its tables
//! as that scheme finds them. Replay uses this, so that a recovered table need not be converted.
//!
//! **Lock order.** One gate, taken by `begin`, given back by `commit` and `abort`.
//!
//! **Abort causes.** None but a full arena.
//!
//! **What it does not do.** Anything at once: a transaction that waits for its client makes all wait.
//!
//! It is the oracle of the conformance tests, and what replays a command log: with nobody else about,
//! reads check nothing and writes go straight to the records and indexes. The undo log holds before-
//! images; a savepoint is a position in it.

mod write;

use crate::door::look;
use crate::{Backoff, Conflict, CursorId, Protocol, Refused, Row, RowHandle, Savepoint, Write, WriteKind};
use planaria_base::clock::CommitClock;
use planaria_base::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use planaria_base::{CommitTs, IndexId, TableId, WorkerId};
use planaria_storage::btree::Cursor;
use planaria_storage::reclaim::Participant;
use planaria_storage::{Arena, Header, Image, IndexSet, KeyBuf, KeyRange, RecordPtr, Table, TableSet};
use std::collections::HashSet;
use std::marker::PhantomData;
use std::ops::Bound;

/// Whether there is a row.
pub struct SerialHeader(AtomicU64);

impl Header for SerialHeader {
    fn absent() -> Self {
        SerialHeader(AtomicU64::new(0))
    }
    fn is_present(&self) -> bool {
        self.0.load(Ordering::Relaxed) != 0
    }
    fn set_present(&self, present: bool) {
        self.0.store(u64::from(present), Ordering::Relaxed);
    }
}

/// Serial execution over records with headers `H`.
pub struct SerialOn<H> {
    busy: AtomicBool,
    _header: PhantomData<fn() -> H>,
}

/// Serial execution over its own headers.
pub type Serial = SerialOn<SerialHeader>;

#[derive(Clone, Copy)]
struct Undo<H> {
    kind: WriteKind,
    table: TableId,
    record: RecordPtr<H>,
    /// Of an update: the image before, and the indexes whose keys moved.
    old: Image,
    touched: IndexSet,
}

struct OpenCursor {
    cursor: Cursor,
    index: IndexId,
    open: bool,
}

/// A worker's transaction.
pub struct SerialTxn<H> {
    participant: Participant,
    worker: usize,
    /// What [`RowHandle`]s stand for.
    rows: Vec<RecordPtr<H>>,
    undo: Vec<Undo<H>>,
    /// Whether `writes` gives before-images.
    keeps_before: bool,
    images: Arena,
    cursors: Vec<OpenCursor>,
    key: KeyBuf,
    other_key: KeyBuf,
    scratch: Vec<u64>,
    savepoints: u32,
    /// Nothing can be taken back any more.
    installed: bool,
}

impl<H: Header> SerialTxn<H> {
    #[inline]
    fn read(&mut self, record: RecordPtr<H>, arena: &mut Arena) -> Result<Row, Conflict> {
        let image = look(record, self.participant.pinned()).read(arena)?;
        self.rows.push(record);
        Ok(Row { handle: RowHandle((self.rows.len() - 1) as u32), image })
    }
}

impl<H: Header> SerialOn<H> {
    fn end(&self, txn: &mut SerialTxn<H>) {
        txn.rows.clear();
        txn.undo.clear();
        txn.images.reset();
        txn.cursors.iter_mut().for_each(|c| c.open = false);
        txn.savepoints = 0;
        txn.installed = false;
        txn.participant.unpin();
        self.busy.store(false, Ordering::Release);
    }
}

impl<H: Header> Protocol for SerialOn<H> {
    type Header = H;
    type Txn = SerialTxn<H>;

    const NAME: &'static str = "serial";
    const CONCURRENT: bool = false;

    fn new() -> Self {
        SerialOn { busy: AtomicBool::new(false), _header: PhantomData }
    }

    fn worker(&self, id: WorkerId) -> SerialTxn<H> {
        SerialTxn {
            participant: Participant::new(),
            worker: usize::from(id.0),
            rows: Vec::new(),
            undo: Vec::new(),
            keeps_before: false,
            images: Arena::new(),
            cursors: Vec::new(),
            key: KeyBuf::new(),
            other_key: KeyBuf::new(),
            scratch: Vec::new(),
            savepoints: 0,
            installed: false,
        }
    }

    #[inline]
    fn begin(&self, txn: &mut SerialTxn<H>) {
        if self.busy.swap(true, Ordering::Acquire) {
            let mut backoff = Backoff::new(txn.worker as u64);
            while self.busy.load(Ordering::Relaxed) || self.busy.swap(true, Ordering::Acquire) {
                backoff.wait();
            }
        }
        txn.participant.pin();
    }

    fn is_active(&self, txn: &SerialTxn<H>) -> bool {
        txn.participant.is_pinned()
    }

    #[inline]
    fn get(
        &self,
        txn: &mut SerialTxn<H>,
        table: &Table<H>,
        index: IndexId,
        key: &KeyBuf,
        arena: &mut Arena,
    ) -> Result<Option<Row>, Conflict> {
        let (found, _) = table.index(index).tree().get(txn.participant.pinned(), key.words());
        found.map(|word| txn.read(RecordPtr::from_word(word), arena)).transpose()
    }

    fn scan_open(
        &self,
        txn: &mut SerialTxn<H>,
        _table: &Table<H>,
        index: IndexId,
        range: &KeyRange,
        descending: bool,
    ) -> CursorId {
        let at = txn.cursors.iter().position(|c| !c.open).unwrap_or_else(|| {
            txn.cursors.push(OpenCursor { cursor: Cursor::new(), index, open: false });
            txn.cursors.len() - 1
        });
        let slot = &mut txn.cursors[at];
        (slot.index, slot.open) = (index, true);
        if range.is_empty() {
            slot.cursor = Cursor::new();
        } else {
            let upper = range.upper().map_or(Bound::Unbounded, Bound::Excluded);
            slot.cursor.open(Bound::Included(range.lower()), upper, descending);
        }
        CursorId(at as u32)
    }

    #[inline]
    fn scan_next(
        &self,
        txn: &mut SerialTxn<H>,
        table: &Table<H>,
        cursor: CursorId,
        arena: &mut Arena,
    ) -> Result<Option<Row>, Conflict> {
        loop {
            let slot = &mut txn.cursors[cursor.0 as usize];
            let (id, pin) = (slot.index, txn.participant.pinned());
            if let Some(ahead) = slot.cursor.upcoming().get(PREFETCH_AHEAD) {
                RecordPtr::<H>::from_word(*ahead).prefetch();
            }
            let index = table.index(id);
            let Some((key, word)) = slot.cursor.next(index.tree(), pin, |_| ()) else { return Ok(None) };
            let record: RecordPtr<H> = RecordPtr::from_word(word);
            let shown = look(record, pin);
            // What the cursor copied may have been deleted or moved by this transaction since.
            if !shown.header().is_present() {
                continue;
            }
            let image = shown.read(arena)?;
            if id != IndexId::PRIMARY && !txn.undo.is_empty() {
                let encoded = index.codec().encode_row(image.words(arena), &mut txn.key);
                if encoded.is_err() || !txn.key.equals_words(key) {
                    continue;
                }
            }
            txn.rows.push(record);
            return Ok(Some(Row { handle: RowHandle((txn.rows.len() - 1) as u32), image }));
        }
    }

    fn scan_close(&self, txn: &mut SerialTxn<H>, cursor: CursorId) {
        txn.cursors[cursor.0 as usize].open = false;
    }

    #[inline]
    fn load(
        &self,
        txn: &mut SerialTxn<H>,
        _table: &Table<H>,
        row: RowHandle,
        arena: &mut Arena,
    ) -> Result<Option<Image>, Conflict> {
        let shown = look(txn.rows[row.0 as usize], txn.participant.pinned());
        Ok(if shown.header().is_present() { Some(shown.read(arena)?) } else { None })
    }

    fn insert(
        &self,
        txn: &mut SerialTxn<H>,
        table: &Table<H>,
        image: &[u64],
    ) -> Result<Result<RowHandle, Refused>, Conflict> {
        Ok(txn.insert(table, image))
    }

    fn update(
        &self,
        txn: &mut SerialTxn<H>,
        table: &Table<H>,
        row: RowHandle,
        image: &[u64],
        touched: IndexSet,
    ) -> Result<Result<(), Refused>, Conflict> {
        txn.update(table, row, image, touched)
    }

    fn delete(&self, txn: &mut SerialTxn<H>, table: &Table<H>, row: RowHandle) -> Result<bool, Conflict> {
        Ok(txn.delete(table, row))
    }

    fn savepoint(&self, txn: &mut SerialTxn<H>) -> Savepoint {
        txn.savepoints += 1;
        Savepoint { writes: 0, undo: txn.undo.len() as u32, serial: txn.savepoints, outer: (0, 0) }
    }

    fn rollback_to(&self, txn: &mut SerialTxn<H>, savepoint: Savepoint, tables: &TableSet<H>) {
        txn.undo_to(savepoint.undo as usize, tables);
    }

    fn release(&self, _txn: &mut SerialTxn<H>, _savepoint: Savepoint) {}

    fn validate(&self, _txn: &mut SerialTxn<H>) -> bool {
        true
    }

    fn is_read_only(&self, txn: &SerialTxn<H>) -> bool {
        txn.undo.is_empty()
    }

    fn keep_before_images(&self, txn: &mut SerialTxn<H>, keep: bool) {
        txn.keeps_before = keep;
    }

    fn writes(&self, txn: &SerialTxn<H>, f: &mut dyn FnMut(Write<'_>)) {
        let mut seen = HashSet::new();
        let mut image = Vec::new();
        for first in &txn.undo {
            if !seen.insert(first.record.to_word()) {
                continue;
            }
            let shown = look(first.record, txn.participant.pinned());
            let kind = match (first.kind, shown.header().is_present()) {
                (WriteKind::Insert, true) => WriteKind::Insert,
                (WriteKind::Insert, false) => continue,
                (_, true) => WriteKind::Update,
                (_, false) => WriteKind::Delete,
            };
            image.clear();
            shown.read_to_vec(&mut image);
            let before = match first.kind {
                _ if !txn.keeps_before => &[][..],
                WriteKind::Insert => &[][..],
                WriteKind::Update => first.old.words(&txn.images),
                WriteKind::Delete => &image,
            };
            f(Write { table: first.table, kind, image: &image, before, location: first.record.to_word() });
        }
    }

    fn commit(
        &self,
        txn: &mut SerialTxn<H>,
        tables: &TableSet<H>,
        clock: &CommitClock,
        committed: impl FnOnce(CommitTs, &SerialTxn<H>),
    ) -> Result<CommitTs, Conflict> {
        let ts = if txn.undo.is_empty() { clock.now() } else { clock.draw() };
        txn.installed = true;
        committed(ts, txn);
        txn.retire_deleted(tables);
        self.end(txn);
        Ok(ts)
    }

    fn abort(&self, txn: &mut SerialTxn<H>, tables: &TableSet<H>) {
        if !txn.participant.is_pinned() {
            return;
        }
        if txn.installed {
            txn.retire_deleted(tables);
        } else {
            txn.undo_to(0, tables);
        }
        self.end(txn);
    }

    fn rest(&self, txn: &mut SerialTxn<H>) {
        txn.participant.flush();
    }
}

/// How many rows ahead of a scan records are fetched.
const PREFETCH_AHEAD: usize = 4;
