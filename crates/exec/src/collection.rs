//! Collections: the rows between the loops of a query.
//!
//! Rows lie flat in one vector of slots, in the order they came; a row is its keys, then its values.
//! Maps and multimaps have an open-addressing index beside: a bucket holds 32 bits of the key's hash
//! and the number of the *first* row with the key. A multimap chains the rows of a key through
//! `next`, and its first row knows the last. Nothing is freed before the worker ends: a collection is
//! cleared and used again, and the index is only as large as its present use needs, so that clearing
//! is cheap.
//!
//! Keys are equal as GROUP BY has it: NULL equals NULL, 1.0 equals 1.00.

use crate::functions;
use crate::heap::Heap;
use crate::slot::Slot;
use planaria_base::{Error, Result, SqlState, limits};
use planaria_ir::{CollKind, SortKey};
use std::cmp::Ordering;

/// Rows and slots that [`Collection::open`] keeps; beyond, memory goes back after use.
const KEPT_SLOTS_MAX: usize = 1 << 16;
const END: u32 = u32::MAX;
const BUCKETS_MIN: usize = 16;
/// Rows that are sorted, or merged, without asking whether to go on.
const RUN_ROWS: usize = 1 << 16;

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
    order: Vec<u32>,
    /// Where runs of `order` are merged.
    merged: Vec<u32>,
    sorted: Vec<Slot>,
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
        self.buckets.clear();
        self.heads = 0;
        self.next.clear();
        self.last.clear();
    }

    /// Bytes of the rows and of what finds them; what they point to is the heap's.
    pub fn bytes(&self) -> usize {
        let places = self.next.len() + self.last.len() + self.order.len() + self.merged.len();
        let slots = self.rows.len() + self.sorted.len();
        slots * size_of::<Slot>() + self.buckets.len() * size_of::<u64>() + places * size_of::<u32>()
    }

    /// Number of rows.
    #[inline]
    pub fn len(&self) -> usize {
        self.len
    }

    /// A row: keys, then values.
    #[inline]
    pub fn row(&self, row: usize) -> &[Slot] {
        &self.rows[row * self.width..][..self.width]
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
        self.rows[row * self.width + self.keys + column] = value;
    }

    /// The first row with the key.
    #[inline]
    pub fn find(&self, key: &[Slot], heap: &Heap) -> Option<usize> {
        if self.heads == 0 {
            return None;
        }
        self.probe(hash_key(key, heap), key, heap).ok()
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
            if (bucket >> 32) as u32 == hash && same_key(&self.row(row)[..self.keys], key, heap) {
                return Ok(row);
            }
            at = (at + 1) & mask;
        }
    }

    /// Sets the values of a key of a map, or appends a row to a multimap. `row` is keys, then values.
    pub fn put(&mut self, row: &[Slot], heap: &Heap) -> Result<()> {
        debug_assert!(row.len() == self.width && self.kind != CollKind::List);
        if self.heads * 8 >= self.buckets.len() * 7 {
            self.grow();
        }
        let key = &row[..self.keys];
        let hash = hash_key(key, heap);
        let new = self.len as u32;
        match self.probe(hash, key, heap) {
            Ok(head) if self.kind == CollKind::Map => {
                let at = head * self.width;
                self.rows[at + self.keys..at + self.width].copy_from_slice(&row[self.keys..]);
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

    /// Bytes that [`Collection::sort`] takes for the time of it.
    pub fn sort_bytes(&self) -> usize {
        self.rows.len() * size_of::<Slot>() + 2 * self.len * size_of::<u32>()
    }

    /// Sorts the rows, stably; `keys` count from the first column. Runs of a bounded length are sorted and then
    /// merged, and between `goes_on` is asked: after an error of it the rows are in the order they were.
    pub fn sort(
        &mut self,
        keys: &[SortKey],
        heap: &Heap,
        goes_on: &mut dyn FnMut() -> Result<()>,
    ) -> Result<()> {
        if self.len < 2 {
            return Ok(());
        }
        self.order.clear();
        self.order.extend(0..self.len as u32);
        let (rows, width) = (&self.rows, self.width);
        let row = |at: u32| &rows[at as usize * width..][..width];
        // The number of the row decides last: stable, and unlike the stable sort of std without memory.
        let compare = |a: &u32, b: &u32| compare_rows(row(*a), row(*b), keys, heap).then_with(|| a.cmp(b));
        for run in self.order.chunks_mut(RUN_ROWS) {
            run.sort_unstable_by(compare);
            goes_on()?;
        }
        let mut sorted = RUN_ROWS;
        while sorted < self.len {
            self.merged.clear();
            for pair in self.order.chunks(2 * sorted) {
                let (a, b) = pair.split_at(sorted.min(pair.len()));
                merge(a, b, compare, &mut self.merged, goes_on)?;
            }
            std::mem::swap(&mut self.order, &mut self.merged);
            sorted *= 2;
        }
        self.sorted.clear();
        for places in self.order.chunks(RUN_ROWS) {
            for at in places {
                self.sorted.extend_from_slice(row(*at));
            }
            goes_on()?;
        }
        std::mem::swap(&mut self.rows, &mut self.sorted);
        self.sorted.clear();
        if self.sorted.capacity() > KEPT_SLOTS_MAX {
            (self.sorted, self.order, self.merged) = (Vec::new(), Vec::new(), Vec::new());
        }
        Ok(())
    }
}

/// Appends two sorted runs to `out` as one.
fn merge(
    mut a: &[u32],
    mut b: &[u32],
    compare: impl Fn(&u32, &u32) -> Ordering,
    out: &mut Vec<u32>,
    goes_on: &mut dyn FnMut() -> Result<()>,
) -> Result<()> {
    let in_order = match (a.last(), b.first()) {
        (Some(last), Some(first)) => compare(last, first).is_lt(),
        _ => true,
    };
    if in_order {
        out.extend_from_slice(a);
        a = &[];
    }
    let mut left = RUN_ROWS;
    while let ([x, after_a @ ..], [y, after_b @ ..]) = (a, b) {
        if compare(x, y).is_lt() {
            out.push(*x);
            a = after_a;
        } else {
            out.push(*y);
            b = after_b;
        }
        left -= 1;
        if left == 0 {
            left = RUN_ROWS;
            goes_on()?;
        }
    }
    out.extend_from_slice(a);
    out.extend_from_slice(b);
    Ok(())
}

fn compare_rows(a: &[Slot], b: &[Slot], keys: &[SortKey], heap: &Heap) -> Ordering {
    for key in keys {
        let (x, y) = (a[key.column as usize], b[key.column as usize]);
        let order = match (x, y) {
            (Slot::Null, Slot::Null) => Ordering::Equal,
            (Slot::Null, _) => return if key.nulls_first { Ordering::Less } else { Ordering::Greater },
            (_, Slot::Null) => return if key.nulls_first { Ordering::Greater } else { Ordering::Less },
            (Slot::Int(x), Slot::Int(y)) => x.cmp(&y),
            (Slot::Text(x), Slot::Text(y)) => heap.bytes(x).cmp(heap.bytes(y)),
            (x, y) => functions::compare(x, y, heap),
        };
        if order != Ordering::Equal {
            return if key.descending { order.reverse() } else { order };
        }
    }
    Ordering::Equal
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
            other => functions::hash(other, heap),
        };
        hash = (hash.rotate_left(23) ^ one).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        hash ^= hash >> 32;
    }
    hash as u32
}

#[cold]
fn too_large() -> Error {
    Error::new(SqlState::PROGRAM_LIMIT_EXCEEDED, "intermediate result exceeds 4 GiB")
        .with_hint("Split the work into smaller statements.")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn list(n: usize) -> Collection {
        let mut list = Collection::default();
        list.open(CollKind::List, 0, 2);
        for i in 0..n as i64 {
            let key = (i * 7919) % 1000;
            list.push([Slot::Int(key), Slot::Int(i)].into_iter()).unwrap();
        }
        list
    }

    #[test]
    fn long_lists_are_sorted_stably_run_by_run() {
        let heap = Heap::new();
        let key = |descending| [SortKey { column: 0, descending, nulls_first: false }];
        for n in [0, 1, 2, RUN_ROWS - 1, RUN_ROWS + 1, 3 * RUN_ROWS, 5 * RUN_ROWS + 17] {
            let mut list = list(n);
            for descending in [false, true, true] {
                let mut asked = 0;
                let mut goes_on = || {
                    asked += 1;
                    Ok(())
                };
                list.sort(&key(descending), &heap, &mut goes_on).unwrap();
                assert!(asked >= 2 * (n / RUN_ROWS), "{asked}");
                let place = |at: usize| (list.row(at)[0].int(), list.row(at)[1].int());
                for at in 1..n {
                    let (before, this) = (place(at - 1), place(at));
                    let in_order = if descending { before.0 > this.0 } else { before.0 < this.0 };
                    assert!(in_order || before.0 == this.0 && before.1 < this.1, "{before:?} {this:?}");
                }
            }
        }
    }

    #[test]
    fn a_sort_can_be_given_up() {
        let heap = Heap::new();
        let key = [SortKey { column: 0, descending: false, nulls_first: false }];
        for n in 0..12 {
            let mut list = list(3 * RUN_ROWS);
            let mut left = n;
            let outcome = list.sort(&key, &heap, &mut || {
                left -= 1;
                if left < 0 { Err(too_large()) } else { Ok(()) }
            });
            if outcome.is_err() {
                assert!((0..list.len()).all(|at| list.row(at)[1].int() == at as i64), "as it was");
            }
            assert_eq!(list.len(), 3 * RUN_ROWS);
        }
    }
}
