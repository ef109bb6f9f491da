//! Collections: the rows between the loops of a query.
//!
//! Rows lie flat in one vector of slots, in the order they came; a row is its keys, then its values.
//! Maps and multimaps have an open-addressing index beside: a bucket holds 32 bits of the key's hash
//! and the number of the *first* row with the key. A multimap chains the rows of a key through
//! `next`, and its first row knows the last. Nothing is freed before the worker ends: a collection is
//! cleared and used again, and the index is only as large as its present use needs, so that clearing
//! is cheap. How lists are sorted says `sort.rs`.
//!
//! Keys are equal as GROUP BY has it: NULL equals NULL, 1.0 equals 1.00.

mod sort;

use crate::functions;
use crate::heap::Heap;
use crate::slot::Slot;
use planaria_base::{Error, Result, SqlState, limits};
use planaria_ir::CollKind;
use sort::Place;
use std::cmp::Ordering;

/// Rows and slots that [`Collection::open`] keeps; beyond, memory goes back after use.
const KEPT_SLOTS_MAX: usize = 1 << 16;
const END: u32 = u32::MAX;
const BUCKETS_MIN: usize = 16;

/// A list, map or multimap.
#[derive(Clone)]
pub(crate) struct Collection {
    kind: CollKind,
    keys: usize,
    width: usize,
    rows: Vec<Slot>,
    len: usize,
    /// `hash << 32 | row + 1`; 0 is empty. A power of two, at most 7/8 full; empty for lists.
    buckets: Vec<u64>,
    heads: usize,
    /// Multimap: the next row with the same key.
    next: Vec<u32>,
    /// Multimap: for the first row of a key, the last one.
    last: Vec<u32>,
    order: Vec<Place>,
    /// Where runs of `order` are merged.
    merged: Vec<Place>,
    sorted: Vec<Slot>,
    /// Of a large list that has been sorted: where its rows stand. Empty if they stand in their order.
    places: Vec<u32>,
    /// Of a map: the row that was looked up last, if it was there.
    recent: Option<u32>,
    /// So many rows in front are sorted, and are all that was kept of those that came before the others.
    kept: usize,
}

impl Default for Collection {
    fn default() -> Collection {
        Collection {
            kind: CollKind::List,
            keys: 0,
            width: 0,
            rows: Vec::new(),
            len: 0,
            buckets: Vec::new(),
            heads: 0,
            next: Vec::new(),
            last: Vec::new(),
            order: Vec::new(),
            merged: Vec::new(),
            sorted: Vec::new(),
            places: Vec::new(),
            recent: None,
            kept: 0,
        }
    }
}

impl Collection {
    /// Becomes an empty collection of this shape.
    pub fn open(&mut self, kind: CollKind, keys: usize, values: usize) {
        self.kind = kind;
        self.keys = keys;
        self.width = keys + values;
        if self.rows.capacity() > KEPT_SLOTS_MAX {
            *self = Collection { kind, keys, width: self.width, ..Collection::default() };
        }
        self.clear();
    }

    /// Forgets the rows.
    #[inline]
    pub fn clear(&mut self) {
        if self.len == 0 {
            return;
        }
        self.rows.clear();
        self.len = 0;
        self.kept = 0;
        self.places.clear();
        self.recent = None;
        self.buckets.clear();
        self.heads = 0;
        self.next.clear();
        self.last.clear();
    }

    /// Bytes of the rows and of what finds them; what they point to is the heap's.
    pub fn bytes(&self) -> usize {
        let chains = self.next.len() + self.last.len() + self.places.len();
        let places = self.order.len() + self.merged.len();
        let slots = self.rows.len() + self.sorted.len();
        slots * size_of::<Slot>()
            + self.buckets.len() * size_of::<u64>()
            + chains * size_of::<u32>()
            + places * size_of::<Place>()
    }

    /// Number of rows.
    #[inline]
    pub fn len(&self) -> usize {
        self.len
    }

    /// A row: keys, then values.
    #[inline]
    pub fn row(&self, row: usize) -> &[Slot] {
        self.stored(self.place(row))
    }

    /// Where a row stands.
    #[inline]
    fn place(&self, row: usize) -> usize {
        if self.places.is_empty() { row } else { self.places[row] as usize }
    }

    #[inline]
    fn stored(&self, place: usize) -> &[Slot] {
        &self.rows[place * self.width..][..self.width]
    }

    /// A row is going to be read, and then those behind it: where they are scattered, one is fetched meanwhile.
    #[inline]
    pub fn come_to(&self, row: usize) {
        const AHEAD: usize = 8;
        if let Some(place) = self.places.get(row + AHEAD) {
            std::hint::black_box(
                self.rows.get(*place as usize * self.width).is_some_and(|slot| slot.is_null()),
            );
        }
    }

    /// The values of a row.
    #[inline]
    pub fn values(&self, row: usize) -> &[Slot] {
        &self.row(row)[self.keys..]
    }

    /// Every slot, for relocation.
    pub fn slots_mut(&mut self) -> &mut [Slot] {
        &mut self.rows
    }

    /// Appends a row to a list.
    #[inline]
    pub fn push(&mut self, row: impl ExactSizeIterator<Item = Slot>) -> Result<()> {
        debug_assert!(row.len() == self.width);
        self.check_room()?;
        self.rows.extend(row);
        if !self.places.is_empty() {
            self.places.push(self.len as u32);
        }
        self.len += 1;
        Ok(())
    }

    #[inline]
    fn check_room(&self) -> Result<()> {
        if self.rows.len() >= limits::ARENA_BYTES_MAX / size_of::<Slot>() || self.len >= END as usize - 1 {
            return Err(too_large());
        }
        Ok(())
    }

    /// Sets a column of a row; `column` counts from the first value.
    #[inline]
    pub fn set(&mut self, row: usize, column: usize, value: Slot) {
        let at = self.place(row) * self.width + self.keys + column;
        self.rows[at] = value;
    }

    /// The first row with the key.
    #[inline]
    pub fn find(&self, key: &[Slot], heap: &Heap) -> Option<usize> {
        if self.heads == 0 {
            return None;
        }
        self.probe(hash_key(key, heap), key, heap).ok()
    }

    /// The row of a map with the key. If it is put next, it need not be found again.
    #[inline]
    pub fn look_up(&mut self, key: &[Slot], heap: &Heap) -> Option<usize> {
        let found = self.find(key, heap);
        self.recent = found.map(|row| row as u32);
        found
    }

    /// The row after this one with the same key, of a multimap.
    #[inline]
    pub fn next_match(&self, row: usize) -> Option<usize> {
        let next = self.next[row];
        (next != END).then_some(next as usize)
    }

    /// The row with the key, or the bucket where it would go.
    #[inline]
    fn probe(&self, hash: u32, key: &[Slot], heap: &Heap) -> Result<usize, usize> {
        let mask = self.buckets.len() - 1;
        let mut at = hash as usize & mask;
        loop {
            let bucket = self.buckets[at];
            if bucket == 0 {
                return Err(at);
            }
            let row = (bucket as u32 - 1) as usize;
            if (bucket >> 32) as u32 == hash && same_key(&self.stored(row)[..self.keys], key, heap) {
                return Ok(row);
            }
            at = (at + 1) & mask;
        }
    }

    /// Sets the values of a key of a map, or appends a row to a multimap. `row` is keys, then values.
    pub fn put(&mut self, row: &[Slot], heap: &Heap) -> Result<()> {
        debug_assert!(row.len() == self.width && self.kind != CollKind::List);
        let key = &row[..self.keys];
        if let Some(head) = self.recent.map(|row| row as usize)
            && same_key(&self.stored(head)[..self.keys], key, heap)
        {
            self.set_values(head, row);
            return Ok(());
        }
        if self.heads * 8 >= self.buckets.len() * 7 {
            self.grow();
        }
        let hash = hash_key(key, heap);
        let new = self.len as u32;
        match self.probe(hash, key, heap) {
            Ok(head) if self.kind == CollKind::Map => {
                self.set_values(head, row);
                return Ok(());
            }
            Ok(head) => {
                self.check_room()?;
                let last = std::mem::replace(&mut self.last[head], new);
                self.next[last as usize] = new;
            }
            Err(bucket) => {
                self.check_room()?;
                self.buckets[bucket] = u64::from(hash) << 32 | u64::from(new + 1);
                self.heads += 1;
            }
        }
        if self.kind == CollKind::MultiMap {
            self.next.push(END);
            self.last.push(new);
        }
        self.rows.extend_from_slice(row);
        self.len += 1;
        Ok(())
    }

    #[inline]
    fn set_values(&mut self, place: usize, row: &[Slot]) {
        let at = place * self.width;
        self.rows[at + self.keys..at + self.width].copy_from_slice(&row[self.keys..]);
    }

    #[cold]
    fn grow(&mut self) {
        let size = (self.buckets.len() * 2).max(BUCKETS_MIN);
        let entries = self.buckets.len();
        // Old and new table in one vector: no second allocation lives across calls. The hashes stand
        // in the buckets, so the rows need not be touched.
        self.buckets.resize(entries + size, 0);
        let (from, to) = self.buckets.split_at_mut(entries);
        for bucket in from.iter().filter(|b| **b != 0) {
            let mut at = (*bucket >> 32) as usize & (size - 1);
            while to[at] != 0 {
                at = (at + 1) & (size - 1);
            }
            to[at] = *bucket;
        }
        self.buckets.copy_within(entries.., 0);
        self.buckets.truncate(size);
    }
}

#[inline]
fn same_key(a: &[Slot], b: &[Slot], heap: &Heap) -> bool {
    a.iter().zip(b).all(|(x, y)| match (*x, *y) {
        (Slot::Int(x), Slot::Int(y)) => x == y,
        (Slot::Null, Slot::Null) => true,
        (Slot::Null, _) | (_, Slot::Null) => false,
        (Slot::Text(x), Slot::Text(y)) => heap.bytes(x) == heap.bytes(y),
        (x, y) => functions::compare(x, y, heap) == Ordering::Equal,
    })
}

#[inline]
fn hash_key(key: &[Slot], heap: &Heap) -> u32 {
    let mut hash = 0u64;
    for slot in key {
        let one = match *slot {
            Slot::Int(n) => n as u64,
            Slot::Null => 0x9e37_79b9_7f4a_7c15,
            Slot::Text(b) if b.len <= 16 => hash_short(heap.bytes(b)),
            other => functions::hash(other, heap),
        };
        hash = (hash.rotate_left(23) ^ one).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        hash ^= hash >> 32;
    }
    hash as u32
}

/// A hash of up to 16 bytes: two words that have them all, multiplied to 128 bits and folded.
#[inline]
fn hash_short(bytes: &[u8]) -> u64 {
    let four =
        |at: usize| u64::from(u32::from_le_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]]));
    let len = bytes.len();
    let (a, b) = match len {
        8.. => (four(0) | four(4) << 32, four(len - 8) | four(len - 4) << 32),
        4.. => (four(0), four(len - 4)),
        1.. => (u64::from(bytes[0]), u64::from(bytes[len / 2]) << 8 | u64::from(bytes[len - 1])),
        0 => (0, 0),
    };
    let (a, b) = (a ^ 0x9e37_79b9_7f4a_7c15, b ^ 0xd6e8_feb8_6659_fd93 ^ (len as u64) << 56);
    let product = u128::from(a) * u128::from(b);
    product as u64 ^ (product >> 64) as u64
}

#[cold]
fn too_large() -> Error {
    Error::new(SqlState::PROGRAM_LIMIT_EXCEEDED, "intermediate result exceeds 4 GiB")
        .with_hint("Split the work into smaller statements.")
}
