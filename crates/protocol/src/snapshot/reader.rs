//! The reader of a snapshot, as an entry of the shelf: every compiled program that writes nothing runs on it.
//!
//! **Guarantee.** All reads of a transaction are of the state at one commit timestamp.
//!
//! **Header bits.** Whatever [`Header::glance`] shows. Over headers without versions it reads what is there:
//! right where nobody writes meanwhile (`serial`).
//!
//! **Lock order.** None: it waits for commits that are installing a row that it comes to; where versions stay as they are,
//! only for those that it has to see.
//!
//! **Abort causes.** A full arena; a write.
//!
//! # Where a row is
//!
//! See `past`. An answer "no such row" needs one look more: a commit that the snapshot
//! sees may have been handing the entry to another row, which it did before it unlocked the record.

#![allow(unsafe_code)] // looks at records; see `door`

use super::past::{Merged, Step, has_key, old_image};
use crate::capability::has_room;
use crate::claim::{ClaimInfo, Unclaimed, Wait};
use crate::door::{Met, look};
use crate::{
    Backoff, CommitEnv, Conflict, CursorId, Guarantee, Hints, IfClaimed, LocksMark, Protocol, Refused, Row,
    RowHandle, RowLocks, Savepoint, Savepoints,
};
use planaria_base::{CommitTs, Error, IndexId, Strength, TableId, WorkerId};
use planaria_storage::btree::compare_keys;
use planaria_storage::reclaim::{Participant, Pinned};
use planaria_storage::{
    Arena, Glance, Header, Image, IndexSet, KeyBuf, KeyRange, LookAhead, RecordRef, Table, TableSet,
    VersionStorage,
};
use std::marker::PhantomData;
use std::time::Duration;

/// See the module's head.
pub struct SnapshotReader<H>(PhantomData<fn() -> H>);

/// Where the image of a [`RowHandle`] is.
#[derive(Clone, Copy)]
enum Held {
    /// In this record, or kept by it, or among the old versions of its primary key.
    Record(u64),
    /// It was an old version: a copy.
    Copied(Image),
}

struct OpenCursor {
    index: IndexId,
    open: bool,
    scan: Merged,
}

/// A worker's reading transaction.
pub struct ReaderTxn {
    participant: Participant,
    worker: usize,
    at: CommitTs,
    rows: Vec<Held>,
    /// Copies of old versions that handles stand for.
    copies: Arena,
    cursors: Vec<OpenCursor>,
    key: KeyBuf,
    /// The newest of the commits whose rows it has met as they are now; whether it has met others; and the tables in which
    /// it has looked for rows that need not be there.
    newest: CommitTs,
    shown_past: bool,
    looked: Vec<TableId>,
}

impl ReaderTxn {
    /// The snapshot that the transactions to come read. It is announced; of an epoch, that has ended.
    pub fn read_at(&mut self, at: CommitTs) {
        self.at = at;
    }

    fn look_in(&mut self, table: TableId) {
        if !self.looked.contains(&table) {
            self.looked.push(table);
        }
    }

    /// See [`crate::Effects::newest_met`].
    pub(crate) fn newest_met<H: Header>(&self, tables: &TableSet<H>) -> Option<CommitTs> {
        if self.shown_past {
            return Some(self.at);
        }
        let mut newest = self.newest;
        for table in &self.looked {
            newest = newest.max(tables.try_get(*table)?.last_removal());
        }
        let nothing = newest == CommitTs(0) && self.looked.is_empty();
        (!nothing).then_some(newest.min(self.at))
    }

    fn hold(&mut self, held: Held) -> RowHandle {
        self.rows.push(held);
        RowHandle((self.rows.len() - 1) as u32)
    }

    fn end(&mut self) {
        self.rows.clear();
        self.copies.reset();
        (self.newest, self.shown_past) = (CommitTs(0), false);
        self.looked.clear();
        self.cursors.iter_mut().for_each(|cursor| cursor.open = false);
        self.participant.unpin();
    }
}

/// What a record says of the snapshot.
enum Seen<'p, H> {
    /// Its row is in the snapshot, as it is since this commit.
    Row(CommitTs, Image),
    /// Its row has changed since, or is about to.
    Later(RecordRef<'p, H>),
    /// It has no row.
    Nothing,
}

/// Reads a record, waiting for whoever is changing it.
fn read<'p, H: Header>(
    record: Met<H>,
    pin: Pinned<'p>,
    at: CommitTs,
    worker: usize,
    arena: &mut Arena,
) -> Result<Seen<'p, H>, Conflict> {
    let shown = look(record, pin);
    let mut backoff = Backoff::new(worker as u64);
    loop {
        match shown.header().glance() {
            Glance::Busy if H::Versions::INTACT && shown.header().changes_after(at) => {
                return Ok(Seen::Later(shown));
            }
            Glance::Busy => backoff.wait(),
            Glance::Absent => return Ok(Seen::Nothing),
            Glance::Row(since, _) if since > at => return Ok(Seen::Later(shown)),
            Glance::Row(since, word) => {
                let mark = arena.mark();
                let image = shown.read(arena)?;
                if shown.header().holds(word) {
                    return Ok(Seen::Row(since, image));
                }
                arena.truncate(mark);
            }
        }
    }
}

impl<H: Header> SnapshotReader<H> {
    /// A reader; one is as good as another.
    pub fn new() -> SnapshotReader<H> {
        SnapshotReader(PhantomData)
    }

    /// Hands over the rows of a table in order of the primary key, in words as stored: those from key `from`
    /// on and below `to`, in words of the primary index. Begins transactions of its own, so that a long walk
    /// does not hold back reclamation. Ends at the first error.
    pub fn for_each_row(
        &self,
        txn: &mut ReaderTxn,
        table: &Table<H>,
        from: Option<&[u64]>,
        to: Option<&[u64]>,
        each: &mut dyn FnMut(&[u64]) -> Result<(), Error>,
    ) -> Result<(), Error> {
        let mut arena = Arena::new();
        let mut last: Option<Vec<u64>> = None;
        loop {
            self.begin(txn);
            let lower = last.as_deref().or(from).unwrap_or(&[]);
            let range = KeyRange::of_words(lower, to);
            let cursor = self.scan_open(txn, table, IndexId::PRIMARY, &range, false);
            let outcome = self.some_rows(txn, table, cursor, last.as_deref(), &mut arena, each);
            let came_to = txn.cursors[cursor.0 as usize].scan.key().map(<[u64]>::to_vec);
            txn.end();
            if !outcome? {
                return Ok(());
            }
            last = came_to;
        }
    }

    /// Some rows of a scan but that with key `not`; whether there may be more.
    fn some_rows(
        &self,
        txn: &mut ReaderTxn,
        table: &Table<H>,
        cursor: CursorId,
        not: Option<&[u64]>,
        arena: &mut Arena,
        each: &mut dyn FnMut(&[u64]) -> Result<(), Error>,
    ) -> Result<bool, Error> {
        for _ in 0..ROWS_PER_PIN {
            arena.reset();
            let Some(row) = self.scan_next(txn, table, cursor, arena)? else { return Ok(false) };
            self.unused(txn, row.handle);
            let key = txn.cursors[cursor.0 as usize].scan.key();
            if not.is_none() || key.zip(not).is_none_or(|(key, not)| compare_keys(key, not).is_ne()) {
                each(row.image.words(arena))?;
            }
        }
        Ok(true)
    }

    /// The row with a key in the snapshot; `entry` is what the index has for the key.
    fn row_of(
        txn: &mut ReaderTxn,
        table: &Table<H>,
        id: IndexId,
        key: &[u64],
        mut entry: Option<u64>,
        arena: &mut Arena,
    ) -> Result<Option<Row>, Conflict> {
        let index = table.index(id);
        loop {
            let ReaderTxn { participant, worker, at, key: scratch, .. } = txn;
            let (pin, at) = (participant.pinned(), *at);
            let mark = arena.mark();
            let mut later = None;
            if let Some(word) = entry {
                // SAFETY: found, or kept.
                match read::<H>(unsafe { Met::from_word(word) }, pin, at, *worker, arena)? {
                    Seen::Row(since, image) if has_key(index, id, image.words(arena), key, scratch) => {
                        txn.newest = txn.newest.max(since);
                        let handle = txn.hold(Held::Record(word));
                        return Ok(Some(Row { handle, image }));
                    }
                    Seen::Later(record) => later = Some(record),
                    Seen::Row(..) | Seen::Nothing => {}
                }
            }
            let old = old_image(table, (id, key), later, at, pin, scratch);
            arena.truncate(mark);
            if let Some(old) = old {
                txn.shown_past = true;
                return Self::old_row(&mut txn.rows, &mut txn.copies, old, arena).map(Some);
            }
            // What led nowhere may lead somewhere by now. Every turn takes a commit in between.
            let again = index.tree().get(pin, key).0;
            if entry.is_none() || again == entry {
                txn.look_in(table.id());
                return Ok(None);
            }
            entry = again;
        }
    }

    fn old_row(
        rows: &mut Vec<Held>,
        copies: &mut Arena,
        old: &[u64],
        arena: &mut Arena,
    ) -> Result<Row, Conflict> {
        let len = old.len() as u32;
        let image = Image { offset: arena.push_words(old)?, len };
        rows.push(Held::Copied(Image { offset: copies.push_words(old)?, len }));
        Ok(Row { handle: RowHandle((rows.len() - 1) as u32), image })
    }
}

impl<H: Header> Default for SnapshotReader<H> {
    fn default() -> Self {
        SnapshotReader::new()
    }
}

impl<H: Header> Protocol for SnapshotReader<H> {
    type Header = H;
    type Txn = ReaderTxn;

    const NAME: &'static str = "snapshot";
    const CONCURRENT: bool = true;
    const WRITES: bool = false;
    const GUARANTEE: Guarantee = Guarantee::SERIALIZABLE;

    fn worker(&self, id: WorkerId) -> ReaderTxn {
        ReaderTxn {
            participant: Participant::new(),
            worker: usize::from(id.0),
            at: CommitTs(0),
            rows: Vec::new(),
            copies: Arena::new(),
            cursors: Vec::new(),
            key: KeyBuf::new(),
            newest: CommitTs(0),
            shown_past: false,
            looked: Vec::new(),
        }
    }

    fn begin(&self, txn: &mut ReaderTxn) {
        txn.participant.pin();
    }

    fn get(
        &self,
        txn: &mut ReaderTxn,
        table: &Table<H>,
        index: IndexId,
        key: &KeyBuf,
        arena: &mut Arena,
    ) -> Result<Option<Row>, Conflict> {
        let (entry, _) = table.index(index).tree().get(txn.participant.pinned(), key.words());
        Self::row_of(txn, table, index, key.words(), entry, arena)
    }

    fn scan_open(
        &self,
        txn: &mut ReaderTxn,
        table: &Table<H>,
        index: IndexId,
        range: &KeyRange,
        descending: bool,
    ) -> CursorId {
        txn.look_in(table.id());
        let at = txn.cursors.iter().position(|c| !c.open).unwrap_or_else(|| {
            txn.cursors.push(OpenCursor { index, open: false, scan: Merged::default() });
            txn.cursors.len() - 1
        });
        let slot = &mut txn.cursors[at];
        (slot.index, slot.open) = (index, true);
        slot.scan.open(range, descending);
        CursorId(at as u32)
    }

    fn scan_next(
        &self,
        txn: &mut ReaderTxn,
        table: &Table<H>,
        cursor: CursorId,
        arena: &mut Arena,
    ) -> Result<Option<Row>, Conflict> {
        loop {
            let ReaderTxn { participant, at, cursors, rows, copies, shown_past, .. } = txn;
            let (pin, c) = (participant.pinned(), &mut cursors[cursor.0 as usize]);
            let (id, index) = (c.index, table.index(c.index));
            let word = match c.scan.step::<H>(index, pin, *at, |_| ()) {
                Step::End => return Ok(None),
                Step::Entry(word) => word,
                Step::Old => {
                    let key = c.scan.key().unwrap_or_default();
                    match index.old().find(pin, key, *at) {
                        Some(old) => {
                            *shown_past = true;
                            return Self::old_row(rows, copies, old, arena).map(Some);
                        }
                        None => continue,
                    }
                }
            };
            let key = c.scan.take_key();
            let row = Self::row_of(txn, table, id, &key, Some(word), arena);
            txn.cursors[cursor.0 as usize].scan.put_key(key);
            if let Some(row) = row? {
                return Ok(Some(row));
            }
        }
    }

    fn scan_close(&self, txn: &mut ReaderTxn, cursor: CursorId) {
        txn.cursors[cursor.0 as usize].open = false;
    }

    fn load(
        &self,
        txn: &mut ReaderTxn,
        table: &Table<H>,
        row: RowHandle,
        arena: &mut Arena,
    ) -> Result<Option<Image>, Conflict> {
        let word = match txn.rows[row.0 as usize] {
            Held::Copied(image) => {
                let offset = arena.push_words(image.words(&txn.copies))?;
                return Ok(Some(Image { offset, len: image.len }));
            }
            Held::Record(word) => word,
        };
        let ReaderTxn { participant, worker, at, key, .. } = txn;
        // SAFETY: found, or kept.
        let (pin, record) = (participant.pinned(), unsafe { Met::from_word(word) });
        let old = match read::<H>(record, pin, *at, *worker, arena)? {
            Seen::Row(_, image) => return Ok(Some(image)),
            Seen::Later(record) => table.kept(record, *at, pin),
            Seen::Nothing => {
                // Deleted since: its last image is still there, and has its primary key.
                let mark = arena.mark();
                let last = look::<H>(record, pin).read(arena)?;
                let primary = table.index(IndexId::PRIMARY);
                let encoded = primary.codec().encode_row(last.words(arena), key);
                arena.truncate(mark);
                encoded.ok().and_then(|()| primary.old().find(pin, key.words(), *at))
            }
        };
        let Some(old) = old else { return Ok(None) };
        Ok(Some(Image { offset: arena.push_words(old)?, len: old.len() as u32 }))
    }

    fn insert(
        &self,
        _txn: &mut ReaderTxn,
        _table: &Table<H>,
        _image: &[u64],
    ) -> Result<Result<RowHandle, Refused>, Conflict> {
        Err(Conflict::ReadOnly)
    }

    fn update(
        &self,
        _txn: &mut ReaderTxn,
        _table: &Table<H>,
        _row: RowHandle,
        _image: &[u64],
        _touched: IndexSet,
    ) -> Result<Result<(), Refused>, Conflict> {
        Err(Conflict::ReadOnly)
    }

    fn delete(&self, _txn: &mut ReaderTxn, _table: &Table<H>, _row: RowHandle) -> Result<bool, Conflict> {
        Err(Conflict::ReadOnly)
    }

    fn validate(&self, _txn: &mut ReaderTxn, _tables: &TableSet<H>) -> bool {
        true
    }

    /// The place of the transaction is right behind the last commit that it sees.
    fn commit(
        &self,
        txn: &mut ReaderTxn,
        _tables: &TableSet<H>,
        env: impl CommitEnv<Self>,
    ) -> Result<CommitTs, Conflict> {
        let ts = txn.at.next();
        env.committed(ts, txn);
        txn.end();
        Ok(ts)
    }

    fn abort(&self, txn: &mut ReaderTxn, _tables: &TableSet<H>) {
        if txn.participant.is_pinned() {
            txn.end();
        }
    }
}

impl<H: Header> Hints for SnapshotReader<H> {
    fn look_ahead(&self, txn: &mut ReaderTxn, tables: &TableSet<H>, ahead: &mut LookAhead) {
        if txn.participant.is_pinned() {
            ahead.run(tables, txn.participant.pinned());
        } else {
            ahead.clear();
        }
    }

    /// A snapshot is what it is.
    #[inline]
    fn reads_stand(&self, _txn: &ReaderTxn) -> bool {
        true
    }

    fn scan_some(
        &self,
        txn: &mut ReaderTxn,
        table: &Table<H>,
        cursor: CursorId,
        (arena, rows): (&mut Arena, &mut Vec<Row>),
    ) -> Result<(), Conflict> {
        while let Some(row) = self.scan_next(txn, table, cursor, arena)? {
            rows.push(row);
            if !has_room(arena, rows) {
                break;
            }
        }
        Ok(())
    }

    #[inline]
    fn unused(&self, txn: &mut ReaderTxn, row: RowHandle) {
        if row.0 as usize + 1 == txn.rows.len() {
            txn.rows.pop();
            if txn.rows.is_empty() {
                txn.copies.reset();
            }
        }
    }
}

impl<H: Header> Savepoints for SnapshotReader<H> {
    fn savepoint(&self, _txn: &mut ReaderTxn) -> Savepoint {
        Savepoint { writes: 0, undo: 0, serial: 0, outer: (0, 0) }
    }

    fn rollback_to(&self, _txn: &mut ReaderTxn, _savepoint: Savepoint, _tables: &TableSet<H>) {}

    fn release(&self, _txn: &mut ReaderTxn, _savepoint: Savepoint) {}
}

/// Whoever reads the past has nothing to lock and nobody to wait for.
impl<H: Header> RowLocks for SnapshotReader<H> {
    fn claim_writes(&self, _txn: &mut ReaderTxn) {}

    fn scan_leniently(&self, _txn: &mut ReaderTxn, _cursor: CursorId) {}

    fn claim(
        &self,
        _txn: &mut ReaderTxn,
        _table: &Table<H>,
        _row: RowHandle,
        _strength: Strength,
        _if_claimed: IfClaimed,
    ) -> Result<bool, Conflict> {
        Ok(true)
    }

    fn await_claim(
        &self,
        _txn: &mut ReaderTxn,
        _patience: &mut dyn FnMut() -> Option<Duration>,
    ) -> Result<(), Unclaimed> {
        Ok(())
    }

    fn locked(&self, _txn: &ReaderTxn) -> LocksMark {
        LocksMark::default()
    }

    fn unlock_to(&self, _txn: &mut ReaderTxn, _mark: LocksMark) {}

    fn claims(&self) -> Vec<ClaimInfo> {
        Vec::new()
    }

    fn waits(&self) -> Vec<Wait> {
        Vec::new()
    }

    fn for_constraint(&self, _txn: &mut ReaderTxn, _on: bool) {}

    fn only_key(&self, _txn: &mut ReaderTxn, _table: &Table<H>, _index: IndexId, _row: RowHandle) {}

    fn share_key(&self, _txn: &mut ReaderTxn, _table: &Table<H>, _row: RowHandle) -> Result<bool, Conflict> {
        Ok(false)
    }

    fn need_not_hold(&self, _txn: &mut ReaderTxn, _row: RowHandle) -> bool {
        true
    }
}

/// Rows that a walk through a table hands over under one pin.
const ROWS_PER_PIN: usize = 4096;
