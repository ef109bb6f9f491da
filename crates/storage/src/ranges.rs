//! Whole tables in ranges of the primary key, so that several threads can go through one.

#![allow(unsafe_code)] // record lifetimes: each call says who vouches

use crate::btree::Cursor;
use crate::reclaim::Pinned;
use crate::record::{Header, RecordPtr};
use crate::table::Table;
use planaria_base::IndexId;
use std::ops::Bound;

impl<H: Header> Table<H> {
    /// Keys of the primary index, ascending, that cut the table into about `wanted` ranges with about as
    /// many rows each.
    pub fn separators(&self, wanted: usize, pin: Pinned<'_>) -> Vec<Vec<u64>> {
        self.index(IndexId::PRIMARY).tree().separators(wanted, pin)
    }

    /// Calls `f` with the image of every row whose primary key is `from` or above and below `to`, in order
    /// of the keys, until it fails. For whoever is alone with the table: of rows changed meanwhile it shows
    /// anything.
    pub fn for_each_row_in<E>(
        &self,
        from: Option<&[u64]>,
        to: Option<&[u64]>,
        pin: Pinned<'_>,
        mut f: impl FnMut(&[u64]) -> Result<(), E>,
    ) -> Result<(), E> {
        let tree = self.index(IndexId::PRIMARY).tree();
        let mut cursor = Cursor::new();
        let from = from.map_or(Bound::Unbounded, Bound::Included);
        cursor.open(from, to.map_or(Bound::Unbounded, Bound::Excluded), false);
        let mut image = Vec::new();
        while let Some((_, word)) = cursor.next(tree, pin, |_| ()) {
            // SAFETY: found in an index of this table under this pin.
            let record = unsafe { RecordPtr::<H>::from_word(word).deref(pin) };
            if record.header().is_present() {
                image.clear();
                record.read_to_vec(&mut image);
                f(&image)?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use crate::btree::BTree;
    use crate::reclaim::Participant;

    const ENTRIES: u64 = if cfg!(miri) { 800 } else { 20_000 };
    const WANTED: &[usize] = if cfg!(miri) { &[1, 2, 7] } else { &[1, 2, 7, 64] };

    #[test]
    fn separators_cut_a_tree_evenly() {
        let mut participant = Participant::new();
        let guard = participant.guard();
        let pin = guard.pinned();
        for words in [1, 8] {
            let tree = BTree::new(words);
            assert!(tree.separators(4, pin).is_empty(), "an empty tree has one range");
            let key = |i: u64| (0..words as u64).map(|w| if w + 1 == words as u64 { i } else { 7 }).collect();
            for i in 1..=ENTRIES {
                let key: Vec<u64> = key(i);
                tree.insert(pin, &key, i);
            }
            for &wanted in WANTED {
                let keys = tree.separators(wanted, pin);
                assert!(keys.len() < wanted, "{wanted}: {}", keys.len());
                assert!(keys.len() + 1 >= wanted / 2, "{wanted}: {}", keys.len());
                assert!(keys.is_sorted());
                let mut last = 0;
                let ends = keys.iter().map(|k| k[words - 1]).chain([ENTRIES + 1]);
                let sizes: Vec<u64> = ends.map(|end| end - std::mem::replace(&mut last, end)).collect();
                let (least, most) = (sizes.iter().min(), sizes.iter().max());
                assert!(most.is_some_and(|m| *m <= 5 * least.unwrap_or(&0)), "{sizes:?}");
            }
        }
    }
}
