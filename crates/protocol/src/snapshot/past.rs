//! Where a row of a snapshot is, for all who read one.
//!
//! The row of key k in the snapshot at S is where the index leads, if that record has k since S or before;
//! else, changed since, but not in k, it was kept by that record; else it is among the old versions of k in this index
//! ([`old_image`]). Index and record are looked at before the old versions, which were put there before the change.
//!
//! A scan merges two cursors, over the index and over its old versions ([`Merged`]). Each time the first has copied a new
//! chunk of the index, the second begins anew behind the last key; so it misses none that had been taken
//! out of the chunk by then.

use planaria_base::{CommitTs, IndexId};
use planaria_storage::btree::{Cursor, NodeRef, compare_keys};
use planaria_storage::reclaim::Pinned;
use planaria_storage::{Header, Index, KeyBuf, KeyRange, RecordPtr, RecordRef, Table};
use std::cmp::Ordering;
use std::ops::Bound;

/// How many rows ahead of a scan records are fetched.
const PREFETCH_AHEAD: usize = 4;

/// Whether a row has this key of an index; rows never change their primary key.
#[inline]
pub(crate) fn has_key(index: &Index, id: IndexId, image: &[u64], key: &[u64], scratch: &mut KeyBuf) -> bool {
    id == IndexId::PRIMARY || had_key(index, image, key, scratch)
}

/// The same of a row that was in a record once.
fn had_key(index: &Index, image: &[u64], key: &[u64], scratch: &mut KeyBuf) -> bool {
    // A row whose key is too long has no entry.
    index.codec().encode_row(image, scratch).is_ok() && scratch.equals_words(key)
}

/// The old version that had a key of an index at `at`. `later`: the record to which the entry leads, whose row is as it is
/// since later.
pub(crate) fn old_image<'p, H: Header>(
    table: &Table<H>,
    (id, key): (IndexId, &[u64]),
    later: Option<RecordRef<'p, H>>,
    at: CommitTs,
    pin: Pinned<'p>,
    scratch: &mut KeyBuf,
) -> Option<&'p [u64]> {
    let index = table.index(id);
    let kept = later.and_then(|record| table.kept(record, at, pin));
    // The record may have been a row with another key.
    let kept = kept.filter(|image| had_key(index, image, key, scratch));
    kept.or_else(|| index.old().find(pin, key, at))
}

/// Where a scan has come to.
pub(crate) enum Step {
    /// To its end.
    End,
    /// To a key that the index does not have any more, or leads to another row with.
    Old,
    /// To an entry of the index.
    Entry(u64),
}

/// A scan over an index and its old versions.
#[derive(Default)]
pub(crate) struct Merged {
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
    /// Where the last key is that was handed out or passed by.
    last: Last,
    /// That key, if it is kept.
    kept: Vec<u64>,
}

/// Where the last key of a scan is: it is copied only where a cursor is about to lose it.
#[derive(Clone, Copy, PartialEq, Eq, Default)]
enum Last {
    /// There was none.
    #[default]
    Nowhere,
    /// The last one of the cursor over the index; the last but one, if that has been moved on since.
    Main,
    /// The last one of the cursor over old versions.
    Old,
    Kept,
}

impl Merged {
    pub(crate) fn open(&mut self, range: &KeyRange, descending: bool) {
        (self.word, self.done, self.fresh, self.pending) = (None, false, false, false);
        self.last = Last::Nowhere;
        self.descending = descending;
        self.range.clone_from(range);
        if range.is_empty() {
            self.main = Cursor::new();
        } else {
            let upper = range.upper().map_or(Bound::Unbounded, Bound::Excluded);
            self.main.open(Bound::Included(range.lower()), upper, descending);
        }
    }

    /// The key of the last step.
    #[inline]
    pub(crate) fn key(&self) -> Option<&[u64]> {
        match self.last {
            Last::Nowhere => None,
            Last::Main => Some(self.main.last_key()),
            Last::Old => Some(self.old.last_key()),
            Last::Kept => Some(&self.kept),
        }
    }

    /// The same, to be given back by [`Merged::put_key`] before the next step.
    pub(crate) fn take_key(&mut self) -> Vec<u64> {
        self.keep_key();
        std::mem::take(&mut self.kept)
    }

    pub(crate) fn put_key(&mut self, key: Vec<u64>) {
        self.kept = key;
    }

    fn keep_key(&mut self) {
        let Merged { last, kept, main, old, .. } = self;
        let key = match *last {
            Last::Nowhere | Last::Kept => return,
            Last::Main => main.last_key(),
            Last::Old => old.last_key(),
        };
        kept.clear();
        kept.extend_from_slice(key);
        *last = Last::Kept;
    }

    /// The next key of the snapshot at `at`, as far as the index and its old versions tell. Calls `visit` for the
    /// leaves of the index.
    #[inline]
    pub(crate) fn step<H: Header>(
        &mut self,
        index: &Index,
        pin: Pinned<'_>,
        at: CommitTs,
        mut visit: impl FnMut(NodeRef),
    ) -> Step {
        if self.range.is_empty() {
            return Step::End;
        }
        if self.word.is_none() && !self.done {
            if let Some(ahead) = self.main.upcoming().get(PREFETCH_AHEAD) {
                RecordPtr::<H>::from_word(*ahead).prefetch();
            }
            if self.main.upcoming().is_empty() {
                self.keep_key();
                self.fresh = false;
            }
            self.word = self.main.next(index.tree(), pin, &mut visit).map(|(_, word)| word);
            self.done = self.word.is_none();
        }
        // After the index: see the head.
        if index.old().is_empty() {
            self.pending = false;
            return match self.word.take() {
                Some(word) => {
                    self.last = Last::Main;
                    Step::Entry(word)
                }
                None => Step::End,
            };
        }
        self.step_merging(index, pin, at)
    }

    /// The key that comes first, of the index or of its old versions.
    #[inline(never)]
    fn step_merging(&mut self, index: &Index, pin: Pinned<'_>, at: CommitTs) -> Step {
        if !self.fresh {
            self.refresh_old();
        }
        if !self.pending {
            if self.last == Last::Old {
                // The cursor passes by it, whether it comes to another or to its end.
                self.keep_key();
            }
            self.pending = index.old().next(&mut self.old, pin, at).is_some();
        }
        let order = match (self.pending, self.word) {
            (false, None) => return Step::End,
            (true, None) => Ordering::Less,
            (true, Some(_)) => self.compare_pending(),
            (false, Some(_)) => Ordering::Greater,
        };
        self.pending &= order == Ordering::Greater;
        match self.word {
            Some(word) if order != Ordering::Less => {
                self.word = None;
                self.last = Last::Main;
                Step::Entry(word)
            }
            _ => {
                self.last = Last::Old;
                Step::Old
            }
        }
    }

    /// Begins with the old versions behind the last key.
    fn refresh_old(&mut self) {
        if self.last == Last::Main {
            // The cursor has been moved on within its chunk; else the key would be kept.
            self.kept.clear();
            self.kept.extend_from_slice(self.main.last_key_but_one());
            self.last = Last::Kept;
        }
        self.keep_key();
        let (mut lower, mut upper) = (
            Bound::Included(self.range.lower()),
            self.range.upper().map_or(Bound::Unbounded, Bound::Excluded),
        );
        if self.last == Last::Kept {
            let last = &self.kept[..];
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
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use crate::silo::SiloHeader;
    use planaria_base::{ColumnId, Epoch, TableId, Type};
    use planaria_storage::reclaim::Participant;
    use planaria_storage::{ColumnSpec, IndexSpec, Kept, TableSpec};
    use std::sync::Arc;

    /// A scan that ends in old versions, one of which is of no use to it, still knows its last key.
    #[test]
    fn the_last_key_is_known_after_the_end() {
        let columns = [ColumnSpec { ty: Type::Int8, nullable: false }];
        let indexes = [IndexSpec { columns: vec![ColumnId(0)], unique: true, equal_nulls: false }];
        let spec = TableSpec { columns: &columns, indexes: &indexes };
        let table = Table::<SiloHeader>::new(TableId(1), spec).expect("a table");
        let index = table.index(IndexId::PRIMARY);
        let mut participant = Participant::new();
        let guard = participant.guard();
        let pin = guard.pinned();
        let ts = |epoch: u64| Epoch(epoch).first_ts();
        let image: Arc<[u64]> = Arc::new([0; 4]);
        let kept = Kept { young: false, first: true };
        index.old().put(&[5], (ts(2), ts(9)), &image, kept);
        for others in [false, true] {
            if others {
                index.old().put(&[3], (ts(7), ts(9)), &image, kept);
                index.old().put(&[7], (ts(7), ts(9)), &image, kept);
            }
            for descending in [false, true] {
                let mut scan = Merged::default();
                scan.open(&KeyRange::all(), descending);
                assert_eq!(scan.key(), None);
                let step = |scan: &mut Merged| scan.step::<SiloHeader>(index, pin, ts(5), |_| ());
                assert!(matches!(step(&mut scan), Step::Old));
                assert_eq!(scan.key(), Some(&[5][..]));
                assert!(matches!(step(&mut scan), Step::End));
                assert_eq!(scan.key(), Some(&[5][..]));
            }
        }
    }
}
