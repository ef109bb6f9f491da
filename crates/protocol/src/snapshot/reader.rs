//! The reader of a snapshot, as an entry of the shelf: every compiled program that writes nothing runs on it.
//!
//! **Guarantee.** All reads of a transaction are of the state at the end of one epoch.
//!
//! **Header bits.** Whatever [`Header::glance`] shows. Over headers without versions it reads what is there:
//! right where nobody writes meanwhile (`serial`).
//!
//! **Lock order.** None: it waits for commits that are installing a row that it comes to.
//!
//! **Abort causes.** A full arena; a write.
//!
//! # Where a row is
//!
//! The row of key k in the snapshot of S is where the index leads, if that record has k since S or before;
//! else it is among the old versions of k in this index; or, reached by another index and changed since, but
//! not in k, among those of its primary key. Index and record are looked at before the old versions, which
//! were put there before the change. An answer "no such row" needs one look more: a commit that the snapshot
//! sees may have been handing the entry to another row, which it did before it unlocked the record.
//!
//! A scan merges two cursors, over the index and over its old versions. Each time the first has copied a new
//! chunk of the index, the second begins anew behind the last key; so it misses none that had been taken
//! out of the chunk by then.

#![allow(unsafe_code)] // looks at records; see `door`

use crate::claim::{ClaimInfo, Unclaimed, Wait};
use crate::door::look;
use crate::{
    Backoff, Conflict, CursorId, Guarantee, IfClaimed, Protocol, Refused, Row, RowHandle, RowLocks,
    Savepoint, SerialOrder, Write,
};
use planaria_base::clock::CommitClock;
use planaria_base::{CommitTs, Epoch, Error, IndexId, Strength, WorkerId};
use planaria_storage::btree::{Cursor, compare_keys};
use planaria_storage::reclaim::{Participant, Pinned};
use planaria_storage::{
    Arena, Glance, Header, Image, Index, IndexSet, KeyBuf, KeyRange, RecordPtr, Table, TableSet,
};
use std::cmp::Ordering;
use std::marker::PhantomData;
use std::ops::Bound;
use std::time::Duration;

/// See the module's head.
pub struct SnapshotReader<H>(PhantomData<fn() -> H>);

/// Where the image of a [`RowHandle`] is.
#[derive(Clone, Copy)]
enum Held {
    /// In this record, or among the old versions of its primary key.
    Record(u64),
    /// It was an old version: a copy.
    Copied(Image),
}

struct OpenCursor {
    index: IndexId,
    open: bool,
    range: KeyRange,
    descending: bool,
    /// Over the index. Its last entry is still to be handed out if `word` is one.
    main: Cursor,
    word: Option<u64>,
    /// The index has no more.
    done: bool,
    /// Over its old versions; of use while `fresh`. Its last entry is still to be handed out if `pending`.
    old: Cursor,
    fresh: bool,
    pending: bool,
    /// The last key handed out or passed by.
    last: Option<Vec<u64>>,
}

impl OpenCursor {
    /// Begins with the old versions behind the last key.
    fn refresh_old(&mut self) {
        let (mut lower, mut upper) = (
            Bound::Included(self.range.lower()),
            self.range.upper().map_or(Bound::Unbounded, Bound::Excluded),
        );
        if let Some(last) = &self.last {
            *(if self.descending { &mut upper } else { &mut lower }) = Bound::Excluded(last);
        }
        self.old.open(lower, upper, self.descending);
        (self.fresh, self.pending) = (true, false);
    }

    /// How the pending key of the old versions stands to that of the index, in the order of the scan.
    fn compare_pending(&self) -> Ordering {
        let order = compare_keys(self.old.last_key(), self.main.last_key());
        if self.descending { order.reverse() } else { order }
    }

    fn pass(&mut self, old: bool) {
        let key = if old { self.old.last_key() } else { self.main.last_key() };
        let last = self.last.get_or_insert_default();
        last.clear();
        last.extend_from_slice(key);
    }
}

/// A worker's reading transaction.
pub struct ReaderTxn {
    participant: Participant,
    worker: usize,
    at: Epoch,
    rows: Vec<Held>,
    /// Copies of old versions that handles stand for.
    copies: Arena,
    cursors: Vec<OpenCursor>,
    key: KeyBuf,
}

impl ReaderTxn {
    /// The snapshot that the transactions to come read. It is announced, and its epoch has ended.
    pub fn read_at(&mut self, epoch: Epoch) {
        self.at = epoch;
    }

    fn hold(&mut self, held: Held) -> RowHandle {
        self.rows.push(held);
        RowHandle((self.rows.len() - 1) as u32)
    }

    fn end(&mut self) {
        self.rows.clear();
        self.copies.reset();
        self.cursors.iter_mut().for_each(|cursor| cursor.open = false);
        self.participant.unpin();
    }
}

/// What a record says of the snapshot.
enum Seen {
    /// Its row is in the snapshot.
    Row(Image),
    /// Its row has changed since.
    Later(Image),
    /// It has no row.
    Nothing,
}

/// Reads a record, waiting for whoever is changing it.
fn read<H: Header>(
    record: RecordPtr<H>,
    pin: Pinned<'_>,
    at: Epoch,
    worker: usize,
    arena: &mut Arena,
) -> Result<Seen, Conflict> {
    // SAFETY: found or kept; whoever reads a snapshot asks with what an index has
    // given it under this pin.
    let shown = unsafe { look(record, pin) };
    let mut backoff = Backoff::new(worker as u64);
    loop {
        match shown.header().glance() {
            Glance::Busy => backoff.wait(),
            Glance::Absent => return Ok(Seen::Nothing),
            Glance::Row(since, word) => {
                let mark = arena.mark();
                let image = shown.read(arena)?;
                if shown.header().holds(word) {
                    return Ok(if since <= at { Seen::Row(image) } else { Seen::Later(image) });
                }
                arena.truncate(mark);
            }
        }
    }
}

/// Whether a row has this key of an index.
fn has_key(index: &Index, id: IndexId, image: &[u64], key: &[u64], scratch: &mut KeyBuf) -> bool {
    id == IndexId::PRIMARY || (index.codec().encode_row(image, scratch).is_ok() && scratch.equals_words(key))
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
            let came_to = txn.cursors[cursor.0 as usize].last.take();
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
            let key = txn.cursors[cursor.0 as usize].last.as_deref();
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
            if let Some(word) = entry {
                match read::<H>(RecordPtr::from_word(word), pin, at, *worker, arena)? {
                    Seen::Row(image) if has_key(index, id, image.words(arena), key, scratch) => {
                        let handle = txn.hold(Held::Record(word));
                        return Ok(Some(Row { handle, image }));
                    }
                    Seen::Later(image) if id != IndexId::PRIMARY => {
                        let primary = table.index(IndexId::PRIMARY);
                        let old = match primary.codec().encode_row(image.words(arena), scratch) {
                            Ok(()) => primary.old().find(pin, scratch.words(), at),
                            Err(_) => None,
                        };
                        arena.truncate(mark);
                        if let Some(old) = old.filter(|old| has_key(index, id, old, key, scratch)) {
                            return Self::old_row(&mut txn.rows, &mut txn.copies, old, arena).map(Some);
                        }
                    }
                    Seen::Row(_) | Seen::Later(_) | Seen::Nothing => arena.truncate(mark),
                }
            }
            if let Some(old) = index.old().find(pin, key, at) {
                return Self::old_row(&mut txn.rows, &mut txn.copies, old, arena).map(Some);
            }
            // What led nowhere may lead somewhere by now. Every turn takes a commit in between.
            let again = index.tree().get(pin, key).0;
            if entry.is_none() || again == entry {
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
    const GUARANTEE: Guarantee = Guarantee { order: Some(SerialOrder::CommitTs), phantoms: false };

    fn worker(&self, id: WorkerId) -> ReaderTxn {
        ReaderTxn {
            participant: Participant::new(),
            worker: usize::from(id.0),
            at: Epoch(0),
            rows: Vec::new(),
            copies: Arena::new(),
            cursors: Vec::new(),
            key: KeyBuf::new(),
        }
    }

    fn begin(&self, txn: &mut ReaderTxn) {
        txn.participant.pin();
    }

    fn try_begin(&self, txn: &mut ReaderTxn) -> bool {
        self.begin(txn);
        true
    }

    fn is_active(&self, txn: &ReaderTxn) -> bool {
        txn.participant.is_pinned()
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
        _table: &Table<H>,
        index: IndexId,
        range: &KeyRange,
        descending: bool,
    ) -> CursorId {
        let at = txn.cursors.iter().position(|c| !c.open).unwrap_or_else(|| {
            txn.cursors.push(OpenCursor {
                index,
                open: false,
                range: KeyRange::all(),
                descending,
                main: Cursor::new(),
                word: None,
                done: false,
                old: Cursor::new(),
                fresh: false,
                pending: false,
                last: None,
            });
            txn.cursors.len() - 1
        });
        let slot = &mut txn.cursors[at];
        (slot.index, slot.open, slot.descending) = (index, true, descending);
        (slot.word, slot.done, slot.fresh, slot.pending, slot.last) = (None, false, false, false, None);
        slot.range.clone_from(range);
        if range.is_empty() {
            slot.main = Cursor::new();
        } else {
            let upper = range.upper().map_or(Bound::Unbounded, Bound::Excluded);
            slot.main.open(Bound::Included(range.lower()), upper, descending);
        }
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
            let ReaderTxn { participant, at, cursors, rows, copies, .. } = txn;
            let (pin, c) = (participant.pinned(), &mut cursors[cursor.0 as usize]);
            let index = table.index(c.index);
            if c.range.is_empty() {
                return Ok(None);
            }
            if c.word.is_none() && !c.done {
                if let Some(ahead) = c.main.upcoming().get(PREFETCH_AHEAD) {
                    RecordPtr::<H>::from_word(*ahead).prefetch();
                }
                c.fresh &= !c.main.upcoming().is_empty();
                c.word = c.main.next(index.tree(), pin, |_| ()).map(|(_, word)| word);
                c.done = c.word.is_none();
            }
            // After the index: see the head.
            if !index.old().is_empty() {
                if !c.fresh {
                    c.refresh_old();
                }
                if !c.pending {
                    c.pending = index.old().next(&mut c.old, pin, *at).is_some();
                }
            } else {
                c.pending = false;
            }
            let order = match (c.pending, c.word) {
                (false, None) => return Ok(None),
                (true, None) => Ordering::Less,
                (true, Some(_)) => c.compare_pending(),
                (false, Some(_)) => Ordering::Greater,
            };
            c.pending &= order == Ordering::Greater;
            c.pass(order == Ordering::Less);
            if order == Ordering::Less {
                match index.old().find(pin, c.old.last_key(), *at) {
                    Some(old) => return Self::old_row(rows, copies, old, arena).map(Some),
                    None => continue,
                }
            }
            let (id, entry) = (c.index, c.word.take());
            let key = c.last.take().unwrap_or_default();
            let row = Self::row_of(txn, table, id, &key, entry, arena);
            txn.cursors[cursor.0 as usize].last = Some(key);
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
        let (pin, mark) = (participant.pinned(), arena.mark());
        let image = match read::<H>(RecordPtr::from_word(word), pin, *at, *worker, arena)? {
            Seen::Row(image) => return Ok(Some(image)),
            Seen::Later(image) => image,
            // Deleted since: its last image is still there, and has its primary key.
            // SAFETY: kept.
            Seen::Nothing => unsafe { look::<H>(RecordPtr::from_word(word), pin) }.read(arena)?,
        };
        let primary = table.index(IndexId::PRIMARY);
        let encoded = primary.codec().encode_row(image.words(arena), key);
        arena.truncate(mark);
        match encoded.ok().and_then(|()| primary.old().find(pin, key.words(), *at)) {
            Some(old) => Ok(Some(Image { offset: arena.push_words(old)?, len: old.len() as u32 })),
            None => Ok(None),
        }
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

    fn savepoint(&self, _txn: &mut ReaderTxn) -> Savepoint {
        Savepoint { writes: 0, undo: 0, serial: 0, outer: (0, 0) }
    }

    fn rollback_to(&self, _txn: &mut ReaderTxn, _savepoint: Savepoint, _tables: &TableSet<H>) {}

    fn release(&self, _txn: &mut ReaderTxn, _savepoint: Savepoint) {}

    fn validate(&self, _txn: &mut ReaderTxn, _tables: &TableSet<H>) -> bool {
        true
    }

    fn is_read_only(&self, _txn: &ReaderTxn) -> bool {
        true
    }

    fn keep_before_images(&self, _txn: &mut ReaderTxn, _keep: bool) {}

    fn writes(&self, _txn: &ReaderTxn, _f: &mut dyn FnMut(Write<'_>)) {}

    /// The place of the transaction is the end of its epoch.
    fn commit(
        &self,
        txn: &mut ReaderTxn,
        _tables: &TableSet<H>,
        _clock: &CommitClock,
        committed: impl FnOnce(CommitTs, &ReaderTxn),
    ) -> Result<CommitTs, Conflict> {
        let ts = CommitTs(txn.at.next().first_ts().0 - 1);
        committed(ts, txn);
        txn.end();
        Ok(ts)
    }

    fn abort(&self, txn: &mut ReaderTxn, _tables: &TableSet<H>) {
        if txn.participant.is_pinned() {
            txn.end();
        }
    }

    fn rest(&self, txn: &mut ReaderTxn) {
        txn.participant.flush();
    }
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

    fn claims(&self) -> Vec<ClaimInfo> {
        Vec::new()
    }

    fn waits(&self) -> Vec<Wait> {
        Vec::new()
    }
}

/// Rows that a walk through a table hands over under one pin.
const ROWS_PER_PIN: usize = 4096;
/// How many rows ahead of a scan records are fetched.
const PREFETCH_AHEAD: usize = 4;
