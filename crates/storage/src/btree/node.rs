//! Nodes: a header, key cells, slots.
//!
//! ```text
//! leaf    level 0   keys[0..count] ascending          slots[i] = value of keys[i]
//! inner   level n   keys[0..count-1] ascending        slots[0..count] = children, of level n-1
//!                   child i holds keys k with  keys[i-1] <= k < keys[i]
//! ```
//!
//! Both have the same shape, an inner node merely leaves its last key cell empty. All of it is
//! read optimistically: relaxed loads, believed after [`Header::check`]. Cells at or beyond `count`
//! hold whatever was there before.

#![allow(unsafe_code)] // follows child pointers and rests; each site names the check that allows it

use super::key::{Cell, Probe, Rest, rest_of};
use super::lock::{Header, Restart};
use super::pool;
use planaria_base::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::alloc::Layout;
use std::cmp::Ordering;
use std::hint::select_unpredictable;

/// A node of `N` entries (children) with keys of `W` words.
#[repr(C, align(64))]
pub(super) struct Node<const W: usize, const N: usize> {
    pub(super) header: Header,
    keys: [[AtomicU64; W]; N],
    slots: [AtomicU64; N],
}

/// Lines of a node asked for at once: more than the processor has buffers for only waits.
#[cfg(all(target_arch = "x86_64", not(loom)))]
const PREFETCH_LINES_MAX: usize = 16;

/// A cell's words, each of them read for itself.
#[inline]
pub(super) fn load<const W: usize>(cell: &[AtomicU64; W]) -> Cell<W> {
    std::array::from_fn(|w| cell[w].load(Relaxed))
}

impl<const W: usize, const N: usize> Node<W, N> {
    /// An empty node that nobody else knows yet.
    pub(super) fn allocate(level: u32) -> *mut Self {
        const { assert!(N >= 3, "a split leaves both halves with an entry") };
        let node = pool::allocate(Layout::new::<Self>()).cast::<Self>();
        // SAFETY: the memory is large and aligned enough for a node and ours alone.
        unsafe {
            #[cfg(not(loom))]
            {
                node.write_bytes(0, 1); // all-zero atomics are zeros
                (&raw mut (*node).header).write(Header::new(level));
            }
            #[cfg(loom)]
            node.write(Node {
                header: Header::new(level),
                keys: std::array::from_fn(|_| std::array::from_fn(|_| AtomicU64::new(0))),
                slots: std::array::from_fn(|_| AtomicU64::new(0)),
            });
        }
        node.expose_provenance();
        node
    }

    /// The node that begins with a header. A reference to the header may not be used for what lies behind it, so
    /// the pointer is made of the address: [`allocate`](Self::allocate) exposed the whole node.
    #[inline]
    pub(super) fn around(header: *const Header) -> *mut Self {
        std::ptr::with_exposed_provenance_mut(header.addr())
    }

    /// Frees a node, not what it points to.
    ///
    /// # Safety
    /// `node` came from [`allocate`](Self::allocate) and nobody can reach it any more.
    pub(super) unsafe fn free(node: *mut u8) {
        // SAFETY: as promised by the caller.
        unsafe {
            node.cast::<Self>().drop_in_place();
            pool::deallocate(node, Layout::new::<Self>())
        }
    }

    /// Entries (children), never more than there is room for, even in a torn read.
    #[inline]
    pub(super) fn count(&self) -> usize {
        self.header.count().min(N)
    }

    pub(super) fn set_count(&self, count: usize) {
        self.header.count.store(count as u32, Relaxed);
    }

    #[inline]
    pub(super) fn cell(&self, i: usize) -> Cell<W> {
        load(&self.keys[i])
    }

    /// The `n` entries from `from` on.
    #[inline]
    pub(super) fn entries(&self, from: usize, n: usize) -> (&[[AtomicU64; W]], &[AtomicU64]) {
        (&self.keys[from..from + n], &self.slots[from..from + n])
    }

    #[inline]
    pub(super) fn set_cell(&self, i: usize, cell: &Cell<W>) {
        for (word, value) in self.keys[i].iter().zip(cell) {
            word.store(*value, Relaxed);
        }
    }

    #[inline]
    pub(super) fn slot(&self, i: usize) -> u64 {
        self.slots[i].load(Relaxed)
    }

    #[inline]
    pub(super) fn set_slot(&self, i: usize, value: u64) {
        self.slots[i].store(value, Relaxed);
    }

    /// The child at `i`; to be followed only after a check.
    #[inline]
    pub(super) fn child(&self, i: usize) -> *const Header {
        std::ptr::with_exposed_provenance(self.slot(i) as usize)
    }

    pub(super) fn set_child(&self, i: usize, child: *const Header) {
        self.set_slot(i, child.expose_provenance() as u64);
    }

    /// How many of the first `n` cells are below the probe (`or_equal`: below or equal to it).
    #[inline]
    pub(super) fn rank<const LONG: bool>(
        &self,
        n: usize,
        probe: &Probe<'_, W, LONG>,
        or_equal: bool,
        version: u64,
    ) -> Result<usize, Restart> {
        debug_assert!(n <= N);
        if LONG {
            return self.rank_long(n, probe, or_equal, version);
        }
        // A probe that goes on where the cells end is above an equal cell.
        Ok(if or_equal || !probe.rest.is_empty() {
            self.rank_by(n, |cell| !probe.is_below(cell))
        } else {
            self.rank_by(n, |cell| probe.is_above(cell))
        })
    }

    /// Binary search without branches on keys: their outcome is a coin toss, and a lost one costs as
    /// much as the whole search.
    #[inline(always)]
    fn rank_by(&self, n: usize, below: impl Fn(&Cell<W>) -> bool) -> usize {
        assert!(n <= N);
        // SAFETY: of the cells below, `base + len <= n <= N` holds before and after every step.
        let below = |i: usize| below(&load(unsafe { self.keys.get_unchecked(i) }));
        let mut base = 0;
        let mut len = n;
        while len > 1 {
            let half = len / 2;
            base = select_unpredictable(below(base + half - 1), base + half, base);
            len -= half;
        }
        base + (len == 1 && below(base)) as usize
    }

    /// The words in the cells decide nearly always, without branches on keys; rests are looked at among cells that are alike.
    fn rank_long<const LONG: bool>(
        &self,
        n: usize,
        probe: &Probe<'_, W, LONG>,
        or_equal: bool,
        version: u64,
    ) -> Result<usize, Restart> {
        let mut base = self.rank_by(n, |cell| probe.is_above(cell));
        // Under a torn read there may be fewer than were counted: whatever comes of it is checked.
        if base == n || probe.is_below(&self.cell(base)) {
            return Ok(base);
        }
        let mut len = 1;
        if base + 1 < n && !probe.is_below(&self.cell(base + 1)) {
            len = self.rank_by(n, |cell| !probe.is_below(cell)).saturating_sub(base);
        }
        while len > 0 {
            let half = len / 2;
            let order = self.compare(base + half, probe, version)?;
            if order == Ordering::Less || (or_equal && order == Ordering::Equal) {
                base += half + 1;
                len -= half + 1;
            } else {
                len = half;
            }
        }
        Ok(base)
    }

    /// The order of cell `i` against the probe. Follows a rest only after a check of the version.
    #[inline(always)]
    pub(super) fn compare<const LONG: bool>(
        &self,
        i: usize,
        probe: &Probe<'_, W, LONG>,
        version: u64,
    ) -> Result<Ordering, Restart> {
        let cell = self.cell(i);
        let order = probe.cmp_inline(&cell).reverse();
        if order != Ordering::Equal {
            return Ok(order);
        }
        let rest = rest_of::<W, LONG>(&cell);
        if rest == 0 {
            return Ok(if probe.rest.is_empty() { Ordering::Equal } else { Ordering::Less });
        }
        self.header.check(version)?;
        // SAFETY: the check says that the cell was in the node at `version`, while the caller was
        // pinned: it is pinned throughout every tree operation.
        Ok(unsafe { Rest::words(rest) }.cmp(probe.rest))
    }

    /// Opens a gap at `i` among `count` entries and fills it. Needs the lock and room.
    pub(super) fn insert_entry(&self, i: usize, count: usize, cell: &Cell<W>, value: u64) {
        debug_assert!(i <= count && count < N);
        for j in (i..count).rev() {
            self.set_cell(j + 1, &self.cell(j));
            self.set_slot(j + 1, self.slot(j));
        }
        self.set_cell(i, cell);
        self.set_slot(i, value);
        self.set_count(count + 1);
    }

    /// Closes the gap of entry `i` among `count`. Needs the lock.
    pub(super) fn remove_entry(&self, i: usize, count: usize) {
        for j in i + 1..count {
            self.set_cell(j - 1, &self.cell(j));
            self.set_slot(j - 1, self.slot(j));
        }
        self.set_count(count - 1);
    }

    /// Puts `child` right of child `i` of `count`, `cell` between them. Needs the lock and room.
    pub(super) fn insert_child(&self, i: usize, count: usize, cell: &Cell<W>, child: *const Header) {
        debug_assert!(i < count && count < N && self.header.level > 0);
        for j in (i..count - 1).rev() {
            self.set_cell(j + 1, &self.cell(j));
        }
        for j in (i + 1..count).rev() {
            self.set_slot(j + 1, self.slot(j));
        }
        self.set_cell(i, cell);
        self.set_child(i + 1, child);
        self.set_count(count + 1);
    }

    /// Takes child `i` of `count >= 2` out; its keys now belong to its left neighbour, or its right
    /// one if it was the first. Returns the separator that went with it. Needs the lock.
    pub(super) fn remove_child(&self, i: usize, count: usize) -> Cell<W> {
        debug_assert!(i < count && count >= 2 && self.header.level > 0);
        let separator = i.saturating_sub(1);
        let cell = self.cell(separator);
        for j in separator + 1..count - 1 {
            self.set_cell(j - 1, &self.cell(j));
        }
        for j in i + 1..count {
            self.set_slot(j - 1, self.slot(j));
        }
        self.set_count(count - 1);
        cell
    }

    /// Moves entries `from..count` to the empty node `to`. Needs the lock.
    pub(super) fn move_tail(&self, from: usize, count: usize, to: &Self) {
        for (j, i) in (from..count).enumerate() {
            to.set_cell(j, &self.cell(i));
            to.set_slot(j, self.slot(i));
        }
        to.set_count(count - from);
        self.set_count(from);
    }

    /// Asks for the lines that a search will touch.
    #[inline]
    pub(super) fn prefetch(_node: *const Header) {
        #[cfg(all(target_arch = "x86_64", not(loom)))]
        {
            let lines = size_of::<Self>().div_ceil(64).min(PREFETCH_LINES_MAX);
            for line in 0..lines {
                // SAFETY: a prefetch never faults, whatever the address.
                unsafe {
                    std::arch::x86_64::_mm_prefetch::<{ std::arch::x86_64::_MM_HINT_T0 }>(
                        _node.cast::<i8>().wrapping_add(line * 64),
                    )
                }
            }
        }
    }
}
