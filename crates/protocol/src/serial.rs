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
//! **Lock order.** One turn, taken by `begin`, given back by `commit` and `abort`.
//!
//! **Abort causes.** None but a full arena.
//!
//! **Snapshots.** An open one has the turn: it is exclusive like everything else, and its readers look at
//! what is there.
//!
//! **What it does not do.** Anything at once: a transaction that waits for its client makes all wait.
//!
//! It is the oracle of the conformance tests, and what replays a command log: with nobody else about,
//! reads check nothing and writes go straight to the records and indexes. The undo log holds before-
//! images; a savepoint is a position in it.

#![allow(unsafe_code)] // looks at records; see `door`

mod hosted;
mod turn;
mod write;

use crate::door::{Met, look};
use crate::footprint::cursors::{Cursors, PREFETCH_AHEAD};
use crate::{
    CommitEnv, Conflict, CursorId, Effects, Guarantee, Protocol, Refused, Row, RowHandle, Savepoint,
    Savepoints, Write, WriteKind,
};
use planaria_base::sync::atomic::{AtomicU64, Ordering};
use planaria_base::sync::point;
use planaria_base::{CommitTs, IndexId, TableId, WorkerId};
use planaria_storage::btree::Finger;
use planaria_storage::reclaim::{Participant, Pinned};
use planaria_storage::{
    Arena, Header, Image, IndexSet, KeyBuf, KeyRange, RecordPtr, Single, Table, TableSet,
};
use std::collections::HashSet;
use std::marker::PhantomData;
use turn::Turn;

/// Whether there is a row.
pub struct SerialHeader(AtomicU64);

impl Header for SerialHeader {
    type Versions = Single;

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
///
/// Without `UNDO` it keeps no before-images: nothing can be rolled back, `abort` only ends the
/// transaction, `writes` tells nothing. That is for replay, where whatever fails fails for good. Several
/// workers may then be at it at once, each with an instance of its own, on tables that they share: if no two
/// touch the same row.
pub struct SerialOn<H, const UNDO: bool = true> {
    turn: Turn,
    _header: PhantomData<fn() -> H>,
}

/// Serial execution over its own headers.
pub type Serial = SerialOn<SerialHeader>;

#[derive(Clone, Copy)]
struct Undo<H> {
    kind: WriteKind,
    table: TableId,
    record: Met<H>,
    /// Of an update: the image before, and the indexes whose keys moved.
    old: Image,
    touched: IndexSet,
}

/// A worker's transaction.
pub struct SerialTxn<H> {
    participant: Participant,
    worker: usize,
    /// What [`RowHandle`]s stand for.
    rows: Vec<Met<H>>,
    undo: Vec<Undo<H>>,
    /// Whether `writes` gives before-images.
    keeps_before: bool,
    images: Arena,
    cursors: Cursors<()>,
    key: KeyBuf,
    other_key: KeyBuf,
    scratch: Vec<u64>,
    savepoints: u32,
    /// By table: where in the primary index the last row was. Without `UNDO` only: rows come in order.
    fingers: Vec<Finger>,
    /// Nothing can be taken back any more.
    installed: bool,
}

/// A primary key of two words at most.
pub type Key = [u64; 2];

/// A record that was looked for ahead; of use in the same transaction.
pub struct Ahead<H> {
    record: Met<H>,
    /// What it was found under.
    pin: u64,
}

impl<H> Clone for Ahead<H> {
    #[inline]
    fn clone(&self) -> Self {
        *self
    }
}
impl<H> Copy for Ahead<H> {}

/// The finger of a table, and the pin to use it under.
#[inline]
fn finger<'t>(
    fingers: &'t mut Vec<Finger>,
    participant: &'t Participant,
    table: TableId,
) -> (&'t mut Finger, Pinned<'t>) {
    if fingers.len() <= table.index() {
        fingers.resize_with(table.index() + 1, Finger::default);
    }
    (&mut fingers[table.index()], participant.pinned())
}

impl<H: Header> SerialTxn<H> {
    /// Finds the records with these primary keys, of `words` words each, in order, and has so many bytes of them fetched, for
    /// [`SerialTxn::found`] later in this transaction. Without `UNDO` alone, as what follows.
    #[inline]
    pub fn look_ahead(
        &mut self,
        table: &Table<H>,
        wanted: &[(Key, u32)],
        words: usize,
        mut found: impl FnMut(usize, Option<Ahead<H>>),
    ) {
        let (finger, pin) = finger(&mut self.fingers, &self.participant, table.id());
        let tree = table.index(IndexId::PRIMARY).tree();
        let key = |i: usize| &wanted[i].0[..words];
        tree.get_group(finger, pin, wanted.len(), key, |i, word| {
            found(
                i,
                word.map(|word| {
                    // SAFETY: found; it is followed under the pin of that number alone.
                    let record = unsafe { Met::<H>::from_word(word) };
                    record.prefetch_image(wanted[i].1 as usize);
                    Ahead { record, pin: pin.serial() }
                }),
            );
        });
    }

    /// The row with these words of a primary key, that was looked for ahead. A row that is gone meanwhile
    /// may have come again as another record, and one that was not there may have come.
    #[inline]
    pub fn found(&mut self, table: &Table<H>, key: &[u64], ahead: Option<Ahead<H>>) -> Option<RowHandle> {
        let pin = self.participant.pinned();
        let is_present = |a: &Ahead<H>| look(a.record, pin).header().is_present();
        let stands = |a: &Ahead<H>| a.pin == pin.serial() && is_present(a);
        let record = match ahead.filter(stands) {
            Some(ahead) => ahead.record,
            None => {
                let (finger, pin) = finger(&mut self.fingers, &self.participant, table.id());
                let word = table.index(IndexId::PRIMARY).tree().get_near(finger, pin, key)?;
                // SAFETY: found.
                unsafe { Met::from_word(word) }
            }
        };
        self.rows.push(record);
        Some(RowHandle((self.rows.len() - 1) as u32))
    }

    /// The row with this key of a unique index, not copied: see [`SerialTxn::words`]. Without `UNDO` alone.
    #[inline]
    pub fn find(&mut self, table: &Table<H>, index: IndexId, key: &KeyBuf) -> Option<RowHandle> {
        let record = self.record_of(table, index, key)?;
        // The columns that will be read lie on other lines than the header.
        record.prefetch_image(table.layout().fixed_bytes());
        self.rows.push(record);
        Some(RowHandle((self.rows.len() - 1) as u32))
    }

    /// The words of a row that this transaction found, where they are. They change with the next update.
    #[inline]
    pub fn words(&self, row: RowHandle) -> &[AtomicU64] {
        // SAFETY: this scheme's transaction is alone: readers of snapshots exclude it.
        unsafe { look(self.rows[row.0 as usize], self.participant.pinned()).words() }
    }

    /// The next row of a scan of a primary index, not copied. Without `UNDO` alone.
    pub fn next_row(&mut self, table: &Table<H>, cursor: CursorId) -> Option<RowHandle> {
        let slot = &mut self.cursors[cursor];
        debug_assert_eq!(slot.index, IndexId::PRIMARY, "entries of others may be stale");
        let pin = self.participant.pinned();
        loop {
            if let Some(ahead) = slot.cursor.upcoming().get(PREFETCH_AHEAD) {
                RecordPtr::<H>::from_word(*ahead).prefetch();
            }
            let (_, word) = slot.cursor.next(table.index(slot.index).tree(), pin, |_| ())?;
            // SAFETY: found.
            let record: Met<H> = unsafe { Met::from_word(word) };
            if look(record, pin).header().is_present() {
                self.rows.push(record);
                return Some(RowHandle((self.rows.len() - 1) as u32));
            }
        }
    }

    /// The record with this key.
    #[inline]
    fn record_of(&mut self, table: &Table<H>, index: IndexId, key: &KeyBuf) -> Option<Met<H>> {
        if index != IndexId::PRIMARY {
            let (found, _) = table.index(index).tree().get(self.participant.pinned(), key.words());
            // SAFETY: found.
            return found.map(|word| unsafe { Met::from_word(word) });
        }
        let (finger, pin) = finger(&mut self.fingers, &self.participant, table.id());
        // SAFETY: found.
        table
            .index(index)
            .tree()
            .get_near(finger, pin, key.words())
            .map(|word| unsafe { Met::from_word(word) })
    }

    #[inline]
    fn read(&mut self, record: Met<H>, arena: &mut Arena) -> Result<Row, Conflict> {
        let image = look(record, self.participant.pinned()).read(arena)?;
        self.rows.push(record);
        Ok(Row { handle: RowHandle((self.rows.len() - 1) as u32), image })
    }
}

impl<H: Header, const UNDO: bool> Default for SerialOn<H, UNDO> {
    fn default() -> Self {
        SerialOn::new()
    }
}

impl<H: Header, const UNDO: bool> SerialOn<H, UNDO> {
    /// A new instance.
    pub fn new() -> Self {
        SerialOn { turn: Turn::new(), _header: PhantomData }
    }

    fn end(&self, txn: &mut SerialTxn<H>) {
        txn.rows.clear();
        txn.undo.clear();
        txn.images.reset();
        txn.cursors.close_all();
        txn.savepoints = 0;
        txn.installed = false;
        txn.participant.unpin();
        self.turn.give_back();
    }
}

impl<H: Header, const UNDO: bool> Protocol for SerialOn<H, UNDO> {
    type Header = H;
    type Txn = SerialTxn<H>;

    const NAME: &'static str = "serial";
    const CONCURRENT: bool = false;
    const GUARANTEE: Guarantee = Guarantee::SERIALIZABLE;

    fn worker(&self, id: WorkerId) -> SerialTxn<H> {
        SerialTxn {
            participant: Participant::new(),
            worker: usize::from(id.0),
            rows: Vec::new(),
            undo: Vec::new(),
            keeps_before: false,
            images: Arena::new(),
            cursors: Cursors::default(),
            key: KeyBuf::new(),
            other_key: KeyBuf::new(),
            scratch: Vec::new(),
            savepoints: 0,
            fingers: Vec::new(),
            installed: false,
        }
    }

    #[inline]
    fn begin(&self, txn: &mut SerialTxn<H>) {
        self.turn.take(txn.worker);
        txn.participant.pin();
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
        let found = if UNDO {
            let (found, _) = table.index(index).tree().get(txn.participant.pinned(), key.words());
            // SAFETY: found.
            found.map(|word| unsafe { Met::from_word(word) })
        } else {
            txn.record_of(table, index, key)
        };
        found.map(|record| txn.read(record, arena)).transpose()
    }

    fn scan_open(
        &self,
        txn: &mut SerialTxn<H>,
        _table: &Table<H>,
        index: IndexId,
        range: &KeyRange,
        descending: bool,
    ) -> CursorId {
        txn.cursors.open(index, range, descending)
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
            let slot = &mut txn.cursors[cursor];
            let (id, pin) = (slot.index, txn.participant.pinned());
            if let Some(ahead) = slot.cursor.upcoming().get(PREFETCH_AHEAD) {
                RecordPtr::<H>::from_word(*ahead).prefetch();
            }
            let index = table.index(id);
            let Some((key, word)) = slot.cursor.next(index.tree(), pin, |_| ()) else { return Ok(None) };
            // SAFETY: found.
            let record: Met<H> = unsafe { Met::from_word(word) };
            let shown = look(record, pin);
            // What the cursor copied may have been deleted or moved by this transaction since.
            if !shown.header().is_present() {
                continue;
            }
            let image = shown.read(arena)?;
            if id != IndexId::PRIMARY && (!UNDO || !txn.undo.is_empty()) {
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
        txn.cursors.close(cursor);
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
        Ok(txn.insert::<UNDO>(table, image))
    }

    fn update(
        &self,
        txn: &mut SerialTxn<H>,
        table: &Table<H>,
        row: RowHandle,
        image: &[u64],
        touched: IndexSet,
    ) -> Result<Result<(), Refused>, Conflict> {
        txn.update::<UNDO>(table, row, image, touched)
    }

    fn delete(&self, txn: &mut SerialTxn<H>, table: &Table<H>, row: RowHandle) -> Result<bool, Conflict> {
        Ok(txn.delete(table, row))
    }

    fn validate(&self, _txn: &mut SerialTxn<H>, _tables: &TableSet<H>) -> bool {
        true
    }

    fn commit(
        &self,
        txn: &mut SerialTxn<H>,
        tables: &TableSet<H>,
        env: impl CommitEnv<Self>,
    ) -> Result<CommitTs, Conflict> {
        let ts = if txn.undo.is_empty() { env.clock().now() } else { env.clock().draw() };
        point("has drawn its timestamp");
        txn.installed = true;
        env.committed(ts, txn);
        point("has said what it committed");
        txn.retire_deleted(tables);
        self.end(txn);
        Ok(ts)
    }

    fn abort(&self, txn: &mut SerialTxn<H>, tables: &TableSet<H>) {
        if !txn.participant.is_pinned() {
            return;
        }
        if txn.installed || !UNDO {
            txn.retire_deleted(tables);
        } else {
            txn.undo_to(0, tables);
        }
        self.end(txn);
    }
}

impl<H: Header, const UNDO: bool> Savepoints for SerialOn<H, UNDO> {
    fn savepoint(&self, txn: &mut SerialTxn<H>) -> Savepoint {
        txn.savepoints += 1;
        Savepoint { writes: 0, undo: txn.undo.len() as u32, serial: txn.savepoints, outer: (0, 0) }
    }

    fn rollback_to(&self, txn: &mut SerialTxn<H>, savepoint: Savepoint, tables: &TableSet<H>) {
        assert!(UNDO || txn.undo.len() == savepoint.undo as usize, "nothing is kept to be undone");
        txn.undo_to(savepoint.undo as usize, tables);
    }

    fn release(&self, _txn: &mut SerialTxn<H>, _savepoint: Savepoint) {}
}

impl<H: Header, const UNDO: bool> Effects for SerialOn<H, UNDO> {
    fn newest_met(&self, _txn: &SerialTxn<H>, _tables: &TableSet<H>) -> Option<CommitTs> {
        None
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
}
