//! What recovery needs of tables beyond loading: rows before any index knows them, rows found by key,
//! and index entries put in sorted.
//!
//! A row under restoration is [`Unlinked`]: its owner alone knows it, so it is written without a latch,
//! and freed if it is dropped. Once an index has it ([`Unlinked::link`], [`Unlinked::into_word`]) it is a
//! row like any other.
//!
//! The caller sees to it that entries and rows agree in the end: what it adds to an index by word it
//! removes before the row goes. [`Table::check`] tells.

#![allow(unsafe_code)] // record lifetimes: each call says who vouches

use crate::btree::Insert;
use crate::key::KeyBuf;
use crate::reclaim::{Lasting, Pinned};
use crate::record::{Header, RecordPtr, RecordRef};
use crate::table::{Index, Table};
use planaria_base::IndexId;
use std::ops::Range;

/// A record that no index knows: its owner's alone.
pub struct Unlinked<'t, H: Header> {
    table: &'t Table<H>,
    record: RecordPtr<H>,
}

impl<'t, H: Header> Unlinked<'t, H> {
    /// Looks at the record.
    #[inline]
    fn shown<'p>(&'p self, pin: Pinned<'p>) -> RecordRef<'p, H> {
        // SAFETY: ours alone, and alive until we are dropped.
        unsafe { self.record.deref(pin) }
    }

    /// Replaces its image, and makes it hold a row.
    #[inline]
    pub fn write(&mut self, image: &[u64], worker: usize, pin: Pinned<'_>) {
        let shown = self.shown(pin);
        self.table.write(shown, image, worker, pin);
        shown.header().set_present(true);
    }

    /// Makes it hold no row.
    #[inline]
    pub fn clear(&mut self, pin: Pinned<'_>) {
        self.shown(pin).header().set_present(false);
    }

    /// Appends its image, if it holds a row; whether it does.
    #[inline]
    pub fn read(&self, out: &mut Vec<u64>, pin: Pinned<'_>) -> bool {
        let shown = self.shown(pin);
        if shown.header().is_present() {
            shown.read_to_vec(out);
        }
        shown.header().is_present()
    }

    /// Its table.
    #[inline]
    pub fn table(&self) -> &'t Table<H> {
        self.table
    }

    /// Puts it into the primary index and shows what the key leads to then: this record, or the one
    /// that the key led to already, and this one is freed.
    #[inline]
    pub fn link<'p>(self, key: &[u64], pin: Pinned<'_>, lasting: Lasting<'p>) -> RecordRef<'p, H> {
        let index = self.table.index(IndexId::PRIMARY);
        let word = match index.tree().insert(pin, key, self.record.to_word()) {
            Insert::Done(_) => self.into_word(),
            Insert::Exists(word, _) => word,
        };
        // SAFETY: it is in an index of the table.
        unsafe { RecordPtr::from_word(word).deref_lasting(lasting) }
    }

    /// Its address, for [`Entries`]. It is not freed any more but with its table.
    #[inline]
    pub fn into_word(self) -> u64 {
        let word = self.record.to_word();
        std::mem::forget(self);
        word
    }
}

impl<H: Header> Drop for Unlinked<'_, H> {
    fn drop(&mut self) {
        // SAFETY: no index has ever had it, so nobody looks at it.
        unsafe { self.table.free(self.record) }
    }
}

impl<H: Header> Table<H> {
    /// A new record without an image, absent, that no index knows, with room for `words` words.
    #[inline]
    pub fn unlinked(&self, words: usize, worker: usize) -> Unlinked<'_, H> {
        Unlinked { table: self, record: self.allocate(worker, words) }
    }

    /// The record that the primary index has under a key. The caller was started while the pin behind
    /// `lasting` held, so that it keeps what is found now.
    #[inline]
    pub fn find<'p>(&self, key: &[u64], pin: Pinned<'_>, lasting: Lasting<'p>) -> Option<RecordRef<'p, H>> {
        let (word, _) = self.index(IndexId::PRIMARY).tree().get(pin, key);
        // SAFETY: found in an index of this table while the pin holds.
        word.map(|word| unsafe { RecordPtr::from_word(word).deref_lasting(lasting) })
    }

    /// Whether its primary index is empty.
    pub fn is_empty(&self, pin: Pinned<'_>) -> bool {
        let mut cursor = crate::btree::Cursor::new();
        cursor.open(std::ops::Bound::Unbounded, std::ops::Bound::Unbounded, false);
        cursor.next(self.index(IndexId::PRIMARY).tree(), pin, |_| ()).is_none()
    }

    /// Takes a record out of the primary index, and frees it once nobody can look at it any more; no
    /// other index has it. `false` if it does not stand under that key.
    pub fn remove(&self, key: &[u64], record: RecordRef<'_, H>, pin: Pinned<'_>) -> bool {
        let removed = self.index(IndexId::PRIMARY).tree().remove(pin, key, record.ptr().to_word());
        if removed {
            // SAFETY: whoever removes the primary entry, and that is one, retires the record; no index
            // leads to it any more.
            unsafe { self.retire(record.ptr(), pin) };
        }
        removed
    }
}

/// Entries for one index, to be put in sorted: runs of neighbours meet the same leaves, and leave them
/// full.
#[derive(Default)]
pub struct Entries {
    /// The keys' words, one key behind the other.
    keys: Vec<u64>,
    entries: Vec<Entry>,
}

struct Entry {
    /// The first word of the key: most comparisons end there.
    head: u64,
    /// Where the key begins in `keys`.
    at: usize,
    len: u32,
    record: u64,
}

impl Entries {
    /// None.
    pub fn new() -> Entries {
        Entries::default()
    }

    /// Number of entries.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Adds an entry.
    #[inline]
    pub fn push(&mut self, key: &KeyBuf, record: u64) {
        let words = key.words();
        let (head, at) = (words.first().copied().unwrap_or(0), self.keys.len());
        self.keys.extend_from_slice(words);
        self.entries.push(Entry { head, at, len: words.len() as u32, record });
    }

    /// Moves the entries of `other` here.
    pub fn append(&mut self, mut other: Entries) {
        if self.is_empty() {
            *self = other;
            return;
        }
        let base = self.keys.len();
        self.keys.append(&mut other.keys);
        self.entries.extend(other.entries.into_iter().map(|e| Entry { at: e.at + base, ..e }));
    }

    fn key(&self, entry: &Entry) -> &[u64] {
        &self.keys[entry.at..entry.at + entry.len as usize]
    }

    /// Sorts them by key.
    pub fn sort(&mut self) {
        let keys = &self.keys;
        let key = |e: &Entry| &keys[e.at..e.at + e.len as usize];
        self.entries.sort_unstable_by(|a, b| a.head.cmp(&b.head).then_with(|| key(a).cmp(key(b))));
    }

    /// Puts the entries numbered `range` into an index, in their order. `Err` is the number of one whose
    /// key the index has already; those before it are in.
    pub fn insert_into(&self, index: &Index, range: Range<usize>, pin: Pinned<'_>) -> Result<(), usize> {
        for i in range {
            let entry = &self.entries[i];
            if let Insert::Exists(..) = index.tree().insert(pin, self.key(entry), entry.record) {
                return Err(i);
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
