//! Tables: a row layout, the memory of its records, and its indexes.
//!
//! A table knows nothing of transactions: protocols find records through its indexes, look at them by
//! [`RecordPtr::deref`], and change them by [`Table::write`]. What looks at whole tables (digest,
//! consistency check, loading) is for whoever is alone with them.
//!
//! A dropped table is freed by `reclaim`: whoever is pinned may go on looking at its records.

#![allow(unsafe_code)] // record lifetimes: each call names who vouches

use crate::btree::{BTree, Cursor, Insert};
use crate::heap::Heap;
use crate::key::{KeyBuf, KeyCodec};
use crate::old::{Forgetting, OldUse, OldVersions, Taken};
use crate::reclaim::{Participant, Pinned};
use crate::record::{self, Header, RecordPtr, RecordRef};
use crate::row::{ColumnSpec, RowLayout};
use crate::versions::{Needed, VersionStorage};
use planaria_base::chunks::Chunks;
use planaria_base::sync::atomic::{AtomicU64, Ordering};
use planaria_base::sync::spin_hint;
use planaria_base::{ColumnId, CommitTs, Error, IndexId, Result, SqlState, TableId};
use std::convert::Infallible;
use std::marker::PhantomData;
use std::mem::ManuallyDrop;
use std::ops::Bound;
use std::sync::Arc;

/// Indexes of a table: an [`IndexSet`] has a bit for each.
pub const INDEXES_MAX: usize = 64;

/// An index to be made.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct IndexSpec {
    /// The indexed columns, in order.
    pub columns: Vec<ColumnId>,
    /// Whether no two rows may have equal values in all of them.
    pub unique: bool,
    /// Of a unique index: whether NULLs are equal (NULLS NOT DISTINCT).
    pub equal_nulls: bool,
}

/// A table to be made. The first index is the primary one: unique, over columns that are never NULL.
#[derive(Clone, Copy, Debug)]
pub struct TableSpec<'a> {
    /// Columns, the hidden row id of tables without a primary key included.
    pub columns: &'a [ColumnSpec],
    /// Indexes; [`IndexId`] is the position.
    pub indexes: &'a [IndexSpec],
}

/// A set of indexes of one table.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct IndexSet(pub u64);

impl IndexSet {
    /// No index.
    pub const EMPTY: IndexSet = IndexSet(0);
    /// Whether it is empty.
    #[inline]
    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }
    /// Whether the index is in it.
    #[inline]
    pub const fn contains(self, index: IndexId) -> bool {
        self.0 >> index.0 & 1 == 1
    }
    /// Adds an index.
    #[inline]
    pub const fn insert(&mut self, index: IndexId) {
        self.0 |= 1 << index.0;
    }
    /// Both.
    #[inline]
    #[must_use]
    pub const fn union(self, other: IndexSet) -> IndexSet {
        IndexSet(self.0 | other.0)
    }
    /// Its members in ascending order.
    #[inline]
    pub fn iter(self) -> impl Iterator<Item = IndexId> {
        let mut bits = self.0;
        std::iter::from_fn(move || {
            let lowest = bits.trailing_zeros();
            bits &= bits.wrapping_sub(1);
            (lowest < 64).then_some(IndexId(lowest as u16))
        })
    }
}

/// One index of a table.
pub struct Index {
    tree: BTree,
    codec: KeyCodec,
    old: OldVersions,
}

impl Index {
    /// From keys to record addresses.
    #[inline]
    pub fn tree(&self) -> &BTree {
        &self.tree
    }
    /// How its keys are made.
    #[inline]
    pub fn codec(&self) -> &KeyCodec {
        &self.codec
    }
    /// What it has led to, for readers of snapshots.
    #[inline]
    pub fn old(&self) -> &OldVersions {
        &self.old
    }
}

/// A table whatever its records carry: the layout of its rows, and its indexes.
pub struct Shape {
    layout: RowLayout,
    indexes: Box<[Index]>,
}

impl Shape {
    /// The layout of its rows.
    #[inline]
    pub fn layout(&self) -> &RowLayout {
        &self.layout
    }
    /// Its indexes, by [`IndexId`].
    #[inline]
    pub fn indexes(&self) -> &[Index] {
        &self.indexes
    }
    /// One index.
    #[inline]
    #[allow(clippy::should_implement_trait)] // the field's word for it
    pub fn index(&self, id: IndexId) -> &Index {
        &self.indexes[id.index()]
    }
    /// The indexes but the primary one.
    #[inline]
    pub fn secondary(&self) -> impl Iterator<Item = (IndexId, &Index)> {
        (1u16..).map(IndexId).zip(&self.indexes[1..])
    }
    /// The indexes whose keys depend on one of these columns: what `Protocol::update` is told.
    pub fn touched(&self, columns: impl IntoIterator<Item = ColumnId>) -> IndexSet {
        let mut set = IndexSet::EMPTY;
        for column in columns {
            for (i, index) in (0u16..).zip(self.indexes()) {
                if index.codec.depends_on(column) {
                    set.insert(IndexId(i));
                }
            }
        }
        set
    }
}

struct Inner<V> {
    shape: Shape,
    heap: Heap,
    versions: V,
}

/// A table whose records carry headers `H`.
pub struct Table<H: Header> {
    id: TableId,
    inner: ManuallyDrop<Box<Inner<H::Versions>>>,
    /// See [`Table::last_removal`].
    removal: AtomicU64,
    _records: PhantomData<fn() -> H>,
}

/// What a table takes. Counts of entries lag a little behind.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct MemoryUse {
    /// Rows: entries of the primary index.
    pub rows: u64,
    /// Bytes of records in use.
    pub row_bytes: u64,
    /// Bytes taken from the system for records.
    pub row_bytes_reserved: u64,
    /// Entries of all indexes.
    pub index_entries: u64,
    /// Bytes of all indexes.
    pub index_bytes: u64,
}

/// A fingerprint of a table's rows, whatever the order in which they came.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct TableDigest {
    /// Number of rows.
    pub rows: u64,
    /// Sum of the hashes of their images.
    pub hash: u64,
}

impl<H: Header> Table<H> {
    /// An empty table.
    pub fn new(id: TableId, spec: TableSpec<'_>) -> Result<Table<H>> {
        let layout = RowLayout::new(spec.columns)?;
        let Some(primary) = spec.indexes.first().filter(|primary| primary.unique) else {
            return Err(Error::internal("a table needs a unique primary index"));
        };
        if spec.indexes.len() > INDEXES_MAX {
            return Err(Error::new(
                SqlState::PROGRAM_LIMIT_EXCEEDED,
                format!("a table has at most {INDEXES_MAX} indexes"),
            ));
        }
        if primary.columns.iter().any(|id| layout.column(*id).nullable()) {
            return Err(Error::internal("columns of a primary key are never NULL"));
        }
        let index = |spec: &IndexSpec| {
            let codec = KeyCodec::new(&layout, spec, &primary.columns)?;
            let words = codec.key_words_max();
            Ok(Index { tree: BTree::new(words), old: OldVersions::new(words), codec })
        };
        let indexes = spec.indexes.iter().map(index).collect::<Result<_>>()?;
        let (shape, versions) = (Shape { layout, indexes }, H::Versions::new());
        let inner = Box::new(Inner { shape, heap: Heap::new(), versions });
        let removal = AtomicU64::new(0);
        Ok(Table { id, inner: ManuallyDrop::new(inner), removal, _records: PhantomData })
    }

    /// Its identity.
    #[inline]
    pub fn id(&self) -> TableId {
        self.id
    }
    /// What is known of it without its records.
    #[inline]
    pub fn shape(&self) -> &Shape {
        &self.inner.shape
    }
    /// See [`Shape::layout`].
    #[inline]
    pub fn layout(&self) -> &RowLayout {
        self.shape().layout()
    }
    /// See [`Shape::indexes`].
    #[inline]
    pub fn indexes(&self) -> &[Index] {
        self.shape().indexes()
    }
    /// See [`Shape::index`].
    #[inline]
    #[allow(clippy::should_implement_trait)] // the field's word for it
    pub fn index(&self, id: IndexId) -> &Index {
        self.shape().index(id)
    }
    /// See [`Shape::secondary`].
    #[inline]
    pub fn secondary(&self) -> impl Iterator<Item = (IndexId, &Index)> {
        self.shape().secondary()
    }
    /// A commit is about to take rows, or entries of rows that change, out of the indexes.
    #[inline]
    pub fn removes(&self, ts: CommitTs) {
        if self.removal.load(Ordering::Relaxed) < ts.0 {
            self.removal.fetch_max(ts.0, Ordering::Release);
        }
    }
    /// The newest commit that has done so: whoever did not find what it took out, and then asks, is told of it.
    #[inline]
    pub fn last_removal(&self) -> CommitTs {
        CommitTs(self.removal.load(Ordering::Acquire))
    }
    /// See [`Shape::touched`].
    pub fn touched(&self, columns: impl IntoIterator<Item = ColumnId>) -> IndexSet {
        self.shape().touched(columns)
    }

    /// A new record that no index knows, absent, with room for `words` words.
    #[inline]
    pub fn allocate(&self, worker: usize, words: usize) -> RecordPtr<H> {
        record::allocate(&self.inner.heap, worker, words)
    }

    /// Replaces a record's image; no version is made of the one before. The caller is the only writer: it holds the
    /// record's lock, or is the only one who knows it. (Two at once would mix their images, nothing worse.)
    #[inline]
    pub fn write(&self, record: RecordRef<'_, H>, image: &[u64], worker: usize, pin: Pinned<'_>) {
        self.inner.versions.overwrite(record, image, &self.inner.heap, worker, pin);
    }

    /// The same by the commit at `ts`, as of which it is a new version: see [`VersionStorage::install`].
    #[inline]
    pub fn install(
        &self,
        record: RecordRef<'_, H>,
        image: &[u64],
        ts: CommitTs,
        worker: usize,
        pin: Pinned<'_>,
    ) {
        self.inner.versions.install(record, image, ts, &self.inner.heap, worker, pin);
    }

    /// Frees a record when no reader can hold it any more.
    ///
    /// # Safety
    /// It is of this table, and retired or freed once. No index leads to it any more, but for entries
    /// of transactions that are pinned now, and remove them before they unpin.
    pub unsafe fn retire(&self, record: RecordPtr<H>, pin: Pinned<'_>) {
        // SAFETY: as promised; the heap is alive, and stays so for the retired block.
        unsafe { self.inner.versions.retire(record, pin) }
    }

    /// Frees a record at once.
    ///
    /// # Safety
    /// As for [`Table::retire`], and nobody looks at it.
    pub unsafe fn free(&self, record: RecordPtr<H>) {
        // SAFETY: as promised.
        unsafe { record::free(record) }
    }

    /// What it takes.
    pub fn memory(&self) -> MemoryUse {
        let entries = |index: &Index| index.tree.entries();
        MemoryUse {
            rows: entries(&self.indexes()[0]),
            row_bytes: self.inner.heap.used_bytes(),
            row_bytes_reserved: self.inner.heap.reserved_bytes(),
            index_entries: self.indexes().iter().map(entries).sum(),
            index_bytes: self.indexes().iter().map(|index| index.tree.bytes()).sum(),
        }
    }

    /// Gives memory of rows in which there are none any more back to the system. Answers with its bytes.
    pub fn give_back(&self) -> u64 {
        self.inner.heap.give_back()
    }

    /// Begins to keep versions for the commit of a worker that is about to change rows. Who has a keeper already, of
    /// whichever table, does not wait for another one ([`Table::try_keeper`]): somebody may wait for the one that it has.
    #[inline]
    pub fn keeper<'k>(&'k self, worker: usize, pin: Pinned<'k>) -> TableKeeper<'k, H> {
        loop {
            if let Some(keeper) = self.try_keeper(worker, pin) {
                return keeper;
            }
            spin_hint();
        }
    }

    /// The same, unless so many are at it that it would have to wait.
    #[inline]
    pub fn try_keeper<'k>(&'k self, worker: usize, pin: Pinned<'k>) -> Option<TableKeeper<'k, H>> {
        let versions = &self.inner.versions;
        Some(TableKeeper { versions, keeper: versions.try_keeper(worker, pin)?, worker, pin })
    }

    /// The image that a record had at a moment, if it is another now; or is about to be, where versions stay as they
    /// are. The record may have been another row then: with another key.
    pub fn kept<'p>(&self, record: RecordRef<'p, H>, at: CommitTs, pin: Pinned<'p>) -> Option<&'p [u64]> {
        self.inner.versions.find(record, at, pin)
    }

    /// Calls `f` with begin, end and image of everything that was [kept](TableKeeper::keep) of a record.
    pub fn for_each_kept(
        &self,
        record: RecordRef<'_, H>,
        pin: Pinned<'_>,
        f: impl FnMut(CommitTs, CommitTs, &[u64]),
    ) {
        self.inner.versions.for_each(record, pin, f);
    }

    /// What its old versions take. (Those of deleted rows may count twice for a while.)
    pub fn old_versions(&self) -> OldUse {
        let mut all = self.inner.versions.memory();
        all.versions += self.indexes()[0].old.memory().versions;
        all.bytes += self.indexes().iter().map(|index| index.old.memory().bytes).sum::<u64>();
        all
    }

    /// Whether there is any old version.
    pub fn has_old_versions(&self) -> bool {
        !self.inner.versions.is_empty() || self.has_old_keys()
    }

    /// Whether there is any beside an index.
    pub fn has_old_keys(&self) -> bool {
        self.indexes().iter().any(|index| !index.old.is_empty())
    }

    /// See [`OldVersions::has_many_young`].
    pub fn has_many_young_keys(&self) -> bool {
        self.indexes()[0].old.has_many_young()
    }

    /// Takes all old versions beside the indexes out, as [`OldVersions::take`] does, and under its conditions.
    pub fn take_old_keys(&self) -> impl Iterator<Item = Taken> {
        self.indexes().iter().filter_map(|index| index.old.take())
    }

    /// Nobody puts an old version meanwhile, and those that are there end at `until` at the latest.
    pub fn seal_old_versions(&self, until: CommitTs) {
        self.inner.versions.seal(until);
    }

    /// Forgets old versions that were sealed, as far as that is to be had at little cost.
    pub fn forget_sealed(
        &self,
        participant: &mut Participant,
        what: &Forgetting<'_>,
        rest: &mut dyn FnMut() -> bool,
    ) {
        self.inner.versions.sweep::<H>(participant, what, rest);
    }

    /// Forgets the old versions beside the indexes that `needed(begin, end)` refuses, as [`OldVersions::sweep`] does.
    pub fn sweep_old_keys(
        &self,
        participant: &mut Participant,
        needed: &dyn Fn(CommitTs, CommitTs) -> bool,
        rest: &mut dyn FnMut() -> bool,
    ) {
        let _all = self.indexes().iter().all(|index| index.old.sweep(participant, needed, rest));
    }

    /// Calls `f` with every row, in order of the primary key. For whoever is alone with the table: of
    /// rows changed meanwhile it shows anything.
    pub fn for_each_row(&self, pin: Pinned<'_>, mut f: impl FnMut(&[u64])) {
        let done = self.try_for_each_row(pin, |image| {
            f(image);
            Ok::<(), Infallible>(())
        });
        let Ok(()) = done;
    }

    /// The same until the first error.
    pub fn try_for_each_row<E>(
        &self,
        pin: Pinned<'_>,
        mut f: impl FnMut(&[u64]) -> Result<(), E>,
    ) -> Result<(), E> {
        let mut image = Vec::new();
        self.try_for_each_entry(IndexId::PRIMARY, pin, |_, record| {
            if !record.header().is_present() {
                return Ok(());
            }
            image.clear();
            record.read_to_vec(&mut image);
            f(&image)
        })
    }

    fn for_each_entry(&self, index: IndexId, pin: Pinned<'_>, mut f: impl FnMut(&[u64], RecordRef<'_, H>)) {
        let done = self.try_for_each_entry(index, pin, |key, record| {
            f(key, record);
            Ok::<(), Infallible>(())
        });
        let Ok(()) = done;
    }

    fn try_for_each_entry<E>(
        &self,
        index: IndexId,
        pin: Pinned<'_>,
        mut f: impl FnMut(&[u64], RecordRef<'_, H>) -> Result<(), E>,
    ) -> Result<(), E> {
        let tree = &self.index(index).tree;
        let mut cursor = Cursor::new();
        cursor.open(Bound::Unbounded, Bound::Unbounded, false);
        while let Some((key, word)) = cursor.next(tree, pin, |_| ()) {
            // SAFETY: found in an index of this table under this pin.
            f(key, unsafe { RecordPtr::<H>::from_word(word).deref(pin) })?;
        }
        Ok(())
    }

    /// A fingerprint of its rows. For whoever is alone with the table.
    pub fn digest(&self, pin: Pinned<'_>) -> TableDigest {
        let mut digest = TableDigest::default();
        self.for_each_row(pin, |image| {
            digest.rows += 1;
            digest.hash = digest.hash.wrapping_add(hash_image(image));
        });
        digest
    }

    /// XX001 unless words that come from a file are an image of a row: see [`RowLayout::is_image`].
    #[inline]
    pub fn expect_image(&self, words: &[u64]) -> Result<()> {
        if self.layout().is_image(words) { Ok(()) } else { Err(self.no_image()) }
    }

    #[cold]
    fn no_image(&self) -> Error {
        Error::new(SqlState::DATA_CORRUPTED, format!("what is to be a row of table {} is none", self.id()))
    }

    /// Adds a row, present at once. For whoever is alone with the table. `Err` names an index that
    /// has its key already, or none if a key is too long; the row is not added then.
    pub fn load(&self, image: &[u64], worker: usize, pin: Pinned<'_>) -> Result<(), Option<IndexId>> {
        let mut key = KeyBuf::new();
        let record = self.allocate(worker, image.len());
        // SAFETY: allocated under this pin.
        let shown = unsafe { record.deref(pin) };
        self.write(shown, image, worker, pin);
        shown.header().set_present(true);
        for (i, index) in (0u16..).zip(self.indexes()) {
            let refused = match index.codec.encode_row(image, &mut key) {
                Ok(()) => match index.tree.insert(pin, key.words(), record.to_word()) {
                    Insert::Done(_) => continue,
                    Insert::Exists(..) => Some(IndexId(i)),
                },
                Err(_) => None,
            };
            for index in &self.indexes()[..usize::from(i)] {
                let _ = index.codec.encode_row(image, &mut key);
                index.tree.remove(pin, key.words(), record.to_word());
            }
            // SAFETY: out of every index; concurrent readers may have met it there.
            unsafe { self.retire(record, pin) };
            return Err(refused);
        }
        Ok(())
    }

    /// Checks that every row stands in every index once, under its key, and nothing else does. For
    /// whoever is alone with the table; says what is wrong.
    pub fn check(&self, pin: Pinned<'_>) -> Result<(), String> {
        let (mut image, mut expected) = (Vec::new(), KeyBuf::new());
        let mut counts = Vec::new();
        for (i, index) in (0u16..).zip(self.indexes()) {
            let mut count = 0u64;
            let mut problem = None;
            self.for_each_entry(IndexId(i), pin, |key, record| {
                count += 1;
                if !record.header().is_present() {
                    problem = Some("an entry leads to an absent record".to_owned());
                    return;
                }
                image.clear();
                record.read_to_vec(&mut image);
                let _ = index.codec.encode_row(&image, &mut expected);
                if !expected.equals_words(key) {
                    problem = Some(format!("an entry's key is {key:x?}, its row's {expected:?}"));
                }
                let primary = &self.indexes()[0];
                let _ = primary.codec.encode_row(&image, &mut expected);
                if primary.tree.get(pin, expected.words()).0 != Some(record.ptr().to_word()) {
                    problem = Some("the primary index does not lead to an entry's record".to_owned());
                }
            });
            if let Some(problem) = problem {
                return Err(format!("table {} index {i}: {problem}", self.id));
            }
            counts.push(count);
        }
        if counts.iter().any(|count| *count != counts[0]) {
            return Err(format!("table {}: indexes have {counts:?} entries", self.id));
        }
        Ok(())
    }
}

/// Keeps the versions of a table's rows that one commit is about to change. See [`Table::keeper`].
pub struct TableKeeper<'k, H: Header> {
    versions: &'k H::Versions,
    keeper: <H::Versions as VersionStorage>::Keeper<'k>,
    worker: usize,
    pin: Pinned<'k>,
}

impl<H: Header> TableKeeper<'_, H> {
    /// Keeps a record's image, which it has had from one commit to another that is about to change it. The caller holds the
    /// record's lock. Of what was kept before, that may go which is not `needed` any more. See [`VersionStorage::keep`].
    #[inline]
    pub fn keep(&mut self, record: RecordRef<'_, H>, lifetime: (CommitTs, CommitTs), needed: Needed<'_>) {
        self.versions.keep(&mut self.keeper, record, lifetime, needed, self.worker, self.pin);
    }
}

impl<H: Header> Drop for Table<H> {
    fn drop(&mut self) {
        // SAFETY: taken once, here.
        let inner = unsafe { ManuallyDrop::take(&mut self.inner) };
        let mut participant = Participant::new();
        unsafe fn free<V>(inner: *mut u8) {
            // SAFETY: the box retired below. It needs nothing else.
            drop(unsafe { Box::from_raw(inner.cast::<Inner<V>>()) });
        }
        // SAFETY: nobody who pins from now on can reach the table.
        unsafe { participant.guard().pinned().retire(Box::into_raw(inner).cast(), free::<H::Versions>) };
        // A table is big, and perhaps nobody retires anything after it: if nobody is pinned, it goes now.
        for _ in 0..EPOCHS_TO_FREE {
            participant.flush();
        }
    }
}

/// Epochs that must pass before what was retired is freed, and the one it is sealed in.
const EPOCHS_TO_FREE: u32 = 3;

/// Hash of an image: a folded multiplication per word.
pub fn hash_image(image: &[u64]) -> u64 {
    const K: u64 = 0x9e37_79b9_7f4a_7c15;
    image.iter().fold(K ^ image.len() as u64, |hash, word| {
        let product = u128::from(hash ^ word) * u128::from(K | 1) + u128::from(hash);
        (product as u64) ^ (product >> 64) as u64
    })
}

/// The tables of a database version, by id. Cloning shares the tables.
pub struct TableSet<H: Header> {
    tables: Chunks<Arc<Table<H>>>,
}

impl<H: Header> Clone for TableSet<H> {
    fn clone(&self) -> Self {
        TableSet { tables: self.tables.clone() }
    }
}
impl<H: Header> Default for TableSet<H> {
    fn default() -> Self {
        TableSet::new()
    }
}

impl<H: Header> TableSet<H> {
    /// No tables.
    pub const fn new() -> Self {
        TableSet { tables: Chunks::new() }
    }
    /// Adds a table, or puts it in place of the one with its id.
    pub fn insert(&mut self, table: Arc<Table<H>>) {
        self.tables.set(table.id().index(), Some(table));
    }
    /// Removes a table.
    pub fn remove(&mut self, id: TableId) -> Option<Arc<Table<H>>> {
        self.tables.set(id.index(), None)
    }
    /// A table, if it is there.
    #[inline]
    pub fn try_get(&self, id: TableId) -> Option<&Arc<Table<H>>> {
        self.tables.get(id.index())
    }
    /// A table that is known to be there.
    #[inline]
    pub fn get(&self, id: TableId) -> &Arc<Table<H>> {
        self.try_get(id).expect("a transaction's table is in its table set")
    }
    /// All tables, by id.
    pub fn iter(&self) -> impl Iterator<Item = &Arc<Table<H>>> {
        self.tables.iter()
    }
    /// Fingerprints of all tables, by id. For whoever is alone with them.
    pub fn digest(&self, pin: Pinned<'_>) -> Vec<(TableId, TableDigest)> {
        self.iter().map(|table| (table.id(), table.digest(pin))).collect()
    }
}

#[cfg(test)]
mod tests;
