//! Keys in nodes: a cell of `W` words.
//!
//! *Fixed* trees (`LONG = false`): the cell is the key, zero padded.
//!
//! *Long* trees (`LONG = true`): the first `W - 1` words of the cell are the key's first words, the
//! last is 0 or points to a [`Rest`]: an immutable block with the remaining words. It is looked at
//! only when the inline words tie. Every cell owns its rest; who takes a cell out of the tree
//! retires the rest.
//!
//! Keys compare as word strings extended by zeros without end, so trailing zero words do not count
//! (key encodings are prefix-free: padding is unambiguous). Rests are stored without them.

#![allow(unsafe_code)] // allocates rests and follows pointers to them

use crate::reclaim::Pinned;
use std::alloc::{Layout, alloc, dealloc, handle_alloc_error};
use std::cmp::Ordering;

/// A key as a node holds it.
pub(super) type Cell<const W: usize> = [u64; W];

/// Words of a key held in the cell itself.
pub(super) const fn inline_words(w: usize, long: bool) -> usize {
    if long { w - 1 } else { w }
}

/// The word of a cell that says where the rest of the key is; 0 if nowhere.
#[inline]
pub(super) fn rest_of<const W: usize, const LONG: bool>(cell: &Cell<W>) -> u64 {
    if LONG { cell[W - 1] } else { 0 }
}

/// `a < b` by the words of a key, as the borrow of a long subtraction: no branch on the words.
#[inline]
fn less<const W: usize, const LONG: bool>(a: &Cell<W>, b: &Cell<W>) -> bool {
    let mut borrow = false;
    for w in (0..inline_words(W, LONG)).rev() {
        let (difference, below) = a[w].overflowing_sub(b[w]);
        borrow = below | (difference < borrow as u64);
    }
    borrow
}

fn trimmed(mut words: &[u64]) -> &[u64] {
    while let [head @ .., 0] = words {
        words = head;
    }
    words
}

/// A key being looked for. It may be longer than any key of the index: then it equals none, but
/// bounds a range.
#[derive(Clone, Copy)]
pub(super) struct Probe<'k, const W: usize, const LONG: bool> {
    /// As in a cell; the last word of a long tree's cell is 0 here.
    pub(super) words: Cell<W>,
    /// What does not fit in the cell, without trailing zeros.
    pub(super) rest: &'k [u64],
}

impl<'k, const W: usize, const LONG: bool> Probe<'k, W, LONG> {
    #[inline]
    pub(super) fn new(key: &'k [u64]) -> Self {
        if !LONG && let Ok(words) = Cell::<W>::try_from(key) {
            return Probe { words, rest: &[] };
        }
        let inline = inline_words(W, LONG);
        let (head, rest) = key.split_at(key.len().min(inline));
        let mut words = [0; W];
        words[..head.len()].copy_from_slice(head);
        Probe { words, rest: trimmed(rest) }
    }

    /// Is the probe's inline part above the cell's?
    #[inline]
    pub(super) fn is_above(&self, cell: &Cell<W>) -> bool {
        less::<W, LONG>(cell, &self.words)
    }

    /// Is the probe's inline part below the cell's?
    #[inline]
    pub(super) fn is_below(&self, cell: &Cell<W>) -> bool {
        less::<W, LONG>(&self.words, cell)
    }

    /// The order of the inline words against those of a cell.
    #[inline]
    pub(super) fn cmp_inline(&self, cell: &Cell<W>) -> Ordering {
        self.words[..inline_words(W, LONG)].cmp(&cell[..inline_words(W, LONG)])
    }
}

/// The out-of-line words of a long key: a length, then the words.
pub(super) struct Rest;

impl Rest {
    fn layout(len: usize) -> Layout {
        Layout::array::<u64>(len + 1).expect("key lengths are limited")
    }

    /// The last word of a cell for these words: 0 if there are none.
    pub(super) fn allocate(words: &[u64]) -> u64 {
        let words = trimmed(words);
        if words.is_empty() {
            return 0;
        }
        let layout = Self::layout(words.len());
        // SAFETY: the layout is not empty.
        let block = unsafe { alloc(layout) }.cast::<u64>();
        if block.is_null() {
            handle_alloc_error(layout)
        }
        // SAFETY: the block has room for the length and the words, and is ours alone.
        unsafe {
            block.write(words.len() as u64);
            block.add(1).copy_from_nonoverlapping(words.as_ptr(), words.len());
        }
        block.expose_provenance() as u64
    }

    /// The words behind the last word of a cell.
    ///
    /// # Safety
    /// `rest` was in a cell of a validated node while the caller was pinned, and it still is; or
    /// the caller owns it.
    #[inline]
    pub(super) unsafe fn words<'r>(rest: u64) -> &'r [u64] {
        if rest == 0 {
            return &[];
        }
        let block = std::ptr::with_exposed_provenance::<u64>(rest as usize);
        // SAFETY: made by `allocate`; immutable until freed, and not freed while the caller is pinned.
        unsafe { std::slice::from_raw_parts(block.add(1), block.read() as usize) }
    }

    /// Bytes that a rest takes.
    ///
    /// # Safety
    /// As for [`words`](Self::words).
    pub(super) unsafe fn bytes(rest: u64) -> usize {
        // SAFETY: as promised by the caller.
        if rest == 0 { 0 } else { Self::layout(unsafe { Self::words(rest) }.len()).size() }
    }

    /// Frees a rest.
    ///
    /// # Safety
    /// The caller owns it and nobody can reach it any more.
    pub(super) unsafe fn free(rest: u64) {
        if rest != 0 {
            // SAFETY: as promised by the caller.
            unsafe { free_block(std::ptr::with_exposed_provenance_mut(rest as usize)) }
        }
    }

    /// Frees a rest once no reader can hold it any more.
    ///
    /// # Safety
    /// It has been taken out of the tree, and is retired once.
    pub(super) unsafe fn retire(rest: u64, pin: Pinned<'_>) {
        if rest != 0 {
            // SAFETY: as promised by the caller; the deleter needs nothing but the block.
            unsafe { pin.retire(std::ptr::with_exposed_provenance_mut(rest as usize), free_block) }
        }
    }
}

/// # Safety
/// `block` was made by `Rest::allocate` and nobody can reach it any more.
unsafe fn free_block(block: *mut u8) {
    // SAFETY: the block starts with its length.
    unsafe { dealloc(block, Rest::layout(block.cast::<u64>().read() as usize)) }
}

/// A cell that is not in the tree yet and owns its rest.
pub(super) struct OwnedCell<const W: usize, const LONG: bool>(Cell<W>);

impl<const W: usize, const LONG: bool> OwnedCell<W, LONG> {
    pub(super) fn new(probe: &Probe<'_, W, LONG>) -> Self {
        assert!(LONG || probe.rest.is_empty(), "a key longer than the index was made for");
        let mut cell = probe.words;
        if LONG {
            cell[W - 1] = Rest::allocate(probe.rest);
        }
        OwnedCell(cell)
    }

    /// The shortest cell `s` with `left < s <= right`.
    ///
    /// # Safety
    /// The rests of both cells may be read (see [`Rest::words`]).
    pub(super) unsafe fn separator(left: &Cell<W>, right: &Cell<W>) -> Self {
        let mut cell = *right;
        if LONG {
            let inline = W - 1;
            cell[inline] = 0;
            match (0..inline).find(|&i| left[i] != right[i]) {
                Some(differs) => cell[differs + 1..].fill(0),
                None => {
                    // SAFETY: as promised by the caller.
                    let (l, r) = unsafe { (Rest::words(left[inline]), Rest::words(right[inline])) };
                    let differs = (0..r.len()).find(|&i| l.get(i).copied().unwrap_or(0) != r[i]);
                    cell[inline] = Rest::allocate(&r[..=differs.expect("left < right")]);
                }
            }
        }
        OwnedCell(cell)
    }

    /// A cell that has just been taken out of one node on its way to another.
    pub(super) fn adopt(cell: Cell<W>) -> Self {
        OwnedCell(cell)
    }

    /// Gives the cell, and its rest, to the tree.
    pub(super) fn into_cell(self) -> Cell<W> {
        let cell = self.0;
        std::mem::forget(self);
        cell
    }
}

impl<const W: usize, const LONG: bool> Drop for OwnedCell<W, LONG> {
    fn drop(&mut self) {
        if LONG {
            // SAFETY: the cell never got into the tree.
            unsafe { Rest::free(self.0[W - 1]) }
        }
    }
}

/// Retires the rest of a cell that left the tree.
///
/// # Safety
/// As for [`Rest::retire`].
pub(super) unsafe fn retire_cell<const W: usize, const LONG: bool>(cell: &Cell<W>, pin: Pinned<'_>) {
    if LONG {
        // SAFETY: as promised by the caller.
        unsafe { Rest::retire(cell[W - 1], pin) }
    }
}
