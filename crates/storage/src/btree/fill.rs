//! The tree's side of a cursor: finding the leaf and copying a chunk of it (see `cursor`).

#![allow(unsafe_code)] // follows remembered node pointers; each site names the check that allows it

use super::NodeRef;
use super::cursor::{CHUNK_GROWTH, CHUNK_LAST, Cursor, End, Kind, Place};
use super::key::{Cell, Probe, Rest, inline_words, rest_of};
use super::lock::{Backoff, Header, Restart};
use super::node::{Node, load};
use super::tree::Tree;
use crate::reclaim::Pinned;
use planaria_base::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::cmp::Ordering;

/// A leaf at a version, entered by a cursor.
struct Entered<'t, const W: usize, const L: usize> {
    leaf: &'t Node<W, L>,
    version: u64,
    /// Known if the cursor comes back to the leaf it was at.
    position: Option<usize>,
    parent: *const Header,
    parent_version: u64,
    child: usize,
}

/// A separator, if there is one. Its rest, if any, is readable: it was in a node that checked.
type Fence<const W: usize> = Option<Cell<W>>;

/// A separator, and the node that it was read in, with its version.
#[derive(Clone, Copy)]
struct FenceIn<'t, const W: usize> {
    cell: Cell<W>,
    node: &'t Header,
    version: u64,
}

impl<const W: usize, const LONG: bool, const L: usize, const I: usize> Tree<W, LONG, L, I> {
    /// Buffers the next chunk that holds an entry, unless the range ends before.
    pub(super) fn fill_cursor(&self, cursor: &mut Cursor, pin: Pinned<'_>, on_node: &mut dyn FnMut(NodeRef)) {
        let mut backoff = Backoff::default();
        cursor.clear();
        cursor.stride = if LONG { 0 } else { W };
        while cursor.values.is_empty() && !cursor.finished {
            if let Err(Restart) = self.try_fill(cursor, pin, on_node) {
                cursor.clear();
                cursor.place = None;
                backoff.wait();
            }
        }
    }

    fn try_fill(
        &self,
        cursor: &mut Cursor,
        pin: Pinned<'_>,
        on_node: &mut dyn FnMut(NodeRef),
    ) -> Result<(), Restart> {
        let entered = self.enter(cursor, pin)?;
        let Entered { leaf, version, .. } = entered;
        let n = leaf.count();
        let position = match entered.position {
            Some(position) => position,
            None => Self::first_position(cursor, leaf, n, version)?,
        };
        let (left, ends_here) = match Self::end_position(cursor, leaf, n, version)? {
            Some(end) if cursor.descending => (position.saturating_sub(end), true),
            Some(end) => (end.saturating_sub(position), true),
            None if cursor.descending => (position, false),
            None => (n.saturating_sub(position), false),
        };
        let chunk = if ends_here && left <= CHUNK_LAST { left } else { left.min(cursor.chunk) };
        // Where the chunk lies in the leaf, and where the next one begins.
        let (from, next) = if cursor.descending {
            (position - chunk, position - chunk)
        } else {
            (position, position + chunk)
        };
        let node = NodeRef::new(&leaf.header, pin);
        let (cells, slots) = leaf.entries(from, chunk);
        if cursor.descending {
            Self::copy(cursor, leaf, version, cells.iter().rev(), slots.iter().rev())?;
        } else {
            Self::copy(cursor, leaf, version, cells.iter(), slots.iter())?;
        }

        // The chunk is real: from here on nothing can fail.
        if cursor.last_node != Some(node) {
            cursor.last_node = Some(node);
            on_node(node);
        }
        if ends_here && chunk == left {
            cursor.finished = true;
            return Ok(());
        }
        cursor.chunk = (cursor.chunk * CHUNK_GROWTH).min(L);
        if chunk < left {
            cursor.start_behind(chunk - 1);
        } else if cursor.ends_at_fence() {
            cursor.finished = true;
            return Ok(());
        } else {
            cursor.start_at_fence();
        }
        let Entered { parent, parent_version, child, .. } = entered;
        let place = Place {
            pin: pin.serial(),
            leaf: &leaf.header,
            leaf_version: version,
            position: (chunk < left).then_some(next),
            parent,
            parent_version,
            child,
        };
        if left - chunk < cursor.chunk {
            self.prefetch_sibling(&place, cursor.descending);
        }
        cursor.place = Some(place);
        Ok(())
    }

    /// Ascending: the first entry inside the range; descending: one past the last.
    fn first_position(cursor: &Cursor, leaf: &Node<W, L>, n: usize, version: u64) -> Result<usize, Restart> {
        if cursor.start.kind == Kind::Unbounded {
            return Ok(if cursor.descending { n } else { 0 });
        }
        let or_equal = cursor.descending == (cursor.start.kind == Kind::Included);
        leaf.rank(n, &Probe::<W, LONG>::new(&cursor.start.words), or_equal, version)
    }

    /// Where the range ends, if it does so before the leaf does: one past the last entry inside; descending, the last one.
    fn end_position(
        cursor: &Cursor,
        leaf: &Node<W, L>,
        n: usize,
        version: u64,
    ) -> Result<Option<usize>, Restart> {
        let end = &cursor.end;
        if end.kind == Kind::Unbounded || n == 0 {
            return Ok(None);
        }
        let probe = Probe::<W, LONG>::new(&end.words);
        let excluded = end.kind == Kind::Excluded;
        // Mostly the whole leaf is inside, and one entry tells.
        let last = if cursor.descending { 0 } else { n - 1 };
        let inside = match leaf.compare(last, &probe, version)? {
            Ordering::Equal => !excluded,
            order => order.is_gt() == cursor.descending,
        };
        if inside {
            return Ok(None);
        }
        leaf.rank(n, &probe, excluded == cursor.descending, version).map(Some)
    }

    /// Copies entries of a leaf to the (empty) buffer, in this order, and checks that they are real.
    #[inline]
    fn copy<'n>(
        cursor: &mut Cursor,
        leaf: &Node<W, L>,
        version: u64,
        cells: impl ExactSizeIterator<Item = &'n [AtomicU64; W]>,
        slots: impl ExactSizeIterator<Item = &'n AtomicU64>,
    ) -> Result<(), Restart> {
        let Cursor { values, keys, key_ends, .. } = cursor;
        values.extend(slots.map(|slot| slot.load(Relaxed)));
        if !LONG {
            keys.resize(cells.len() * W, 0);
            for (key, cell) in keys.chunks_exact_mut(W).zip(cells) {
                key.iter_mut().zip(cell).for_each(|(word, source)| *word = source.load(Relaxed));
            }
            return leaf.header.check(version);
        }
        let count = cells.len();
        let mut copies = [[0; W]; L];
        for (copy, cell) in copies.iter_mut().zip(cells) {
            *copy = load(cell);
        }
        leaf.header.check(version)?;
        for cell in &copies[..count] {
            push_key::<W, LONG>(cell, keys);
            key_ends.push(keys.len() as u32);
        }
        Ok(())
    }

    /// Finds the leaf to go on in: the same, its sibling, or whichever a descent leads to.
    fn enter(&self, cursor: &mut Cursor, pin: Pinned<'_>) -> Result<Entered<'_, W, L>, Restart> {
        if let Some(place) = cursor.place.take().filter(|place| place.pin == pin.serial()) {
            let Place { leaf_version: version, parent, parent_version, child, .. } = place;
            if place.position.is_some() {
                // SAFETY: in the tree under this very pin, hence not freed.
                let leaf = unsafe { self.leaf(place.leaf) };
                if leaf.header.check(version).is_ok() {
                    let position = place.position;
                    return Ok(Entered { leaf, version, position, parent, parent_version, child });
                }
            } else if let Some(entered) = self.sibling(cursor, &place)? {
                return Ok(entered);
            }
        }
        self.descend(cursor)
    }

    /// The parent of the leaf, which child of how many is its neighbour, if the parent still stands.
    fn neighbour(&self, place: &Place, descending: bool) -> Option<(&Node<W, I>, usize, usize)> {
        if place.parent.is_null() {
            return None;
        }
        // SAFETY: in the tree under this very pin, hence not freed.
        let inner = unsafe { self.inner(place.parent) };
        let n = inner.count();
        inner.header.check(place.parent_version).ok()?;
        let child = if descending {
            place.child.checked_sub(1)
        } else {
            Some(place.child + 1).filter(|&child| child < n)
        };
        child.map(|child| (inner, child, n))
    }

    fn prefetch_sibling(&self, place: &Place, descending: bool) {
        if let Some((inner, child, _)) = self.neighbour(place, descending) {
            Node::<W, L>::prefetch(inner.child(child));
        }
    }

    /// Steps to the neighbour under the same parent.
    fn sibling(&self, cursor: &mut Cursor, place: &Place) -> Result<Option<Entered<'_, W, L>>, Restart> {
        let Some((inner, child, n)) = self.neighbour(place, cursor.descending) else { return Ok(None) };
        let Place { parent, parent_version, .. } = *place;
        let fence = Self::fence(inner, n, child, cursor.descending);
        let (header, version) = self.step(inner, parent_version, child)?;
        let Cursor { fence: bound, parent_fence, parent_fence_in, .. } = cursor;
        match fence {
            Some(_) => set_fence::<W, LONG>(bound, fence),
            None => {
                let (node, version) = *parent_fence_in;
                if !node.is_null() {
                    // SAFETY: in the tree under the pin of the place, hence not freed.
                    unsafe { &*node }.check(version)?;
                }
                bound.clone_from(parent_fence);
            }
        }
        // SAFETY: the child of a node on level 1, reached under a check.
        let leaf = unsafe { self.leaf(header) };
        Ok(Some(Entered { leaf, version, position: None, parent, parent_version, child }))
    }

    /// The separator beside child `child` of `n`, in the direction of travel.
    #[inline]
    fn fence(inner: &Node<W, I>, n: usize, child: usize, descending: bool) -> Fence<W> {
        let separator =
            if descending { child.checked_sub(1) } else { Some(child).filter(|&child| child + 1 < n) };
        separator.map(|i| inner.cell(i))
    }

    /// Finds the leaf where the range begins, and its fences.
    fn descend(&self, cursor: &mut Cursor) -> Result<Entered<'_, W, L>, Restart> {
        let descending = cursor.descending;
        let start = &cursor.start;
        let probe = Probe::<W, LONG>::new(&start.words);
        let (mut fence, mut parent_fence): (Option<FenceIn<'_, W>>, _) = (None, None);
        let (mut node, mut version) = self.root()?;
        let (mut parent, mut parent_version, mut child) = (std::ptr::null(), 0, 0);
        while node.level > 0 {
            // SAFETY: `node` was reached under a check and is no leaf.
            let inner = unsafe { self.inner(node) };
            let n = inner.count().max(1);
            child = match start.kind {
                Kind::Unbounded if descending => n - 1,
                Kind::Unbounded => 0,
                // Keys below an excluded upper bound that is itself a separator lie left of it.
                kind => inner.rank(n - 1, &probe, !(descending && kind == Kind::Excluded), version)?,
            };
            if node.level == 1 {
                parent_fence = fence;
            }
            if let Some(cell) = Self::fence(inner, n, child, descending) {
                fence = Some(FenceIn { cell, node, version });
            }
            (parent, parent_version) = (node, version);
            (node, version) = self.step(inner, version, child)?;
        }
        if let Some(fence) = fence {
            fence.node.check(fence.version)?;
        }
        set_fence::<W, LONG>(&mut cursor.fence, fence.map(|fence| fence.cell));
        set_fence::<W, LONG>(&mut cursor.parent_fence, parent_fence.map(|fence| fence.cell));
        cursor.parent_fence_in =
            parent_fence.map_or((std::ptr::null(), 0), |fence| (&raw const *fence.node, fence.version));
        // SAFETY: `node` was reached under a check and is a leaf.
        let leaf = unsafe { self.leaf(node) };
        Ok(Entered { leaf, version, position: None, parent, parent_version, child })
    }
}

/// Appends all words of a key that was in a node that checked, under the caller's pin.
#[inline]
pub(super) fn push_key<const W: usize, const LONG: bool>(cell: &Cell<W>, words: &mut Vec<u64>) {
    words.extend_from_slice(&cell[..inline_words(W, LONG)]);
    if LONG {
        // SAFETY: as the caller promises.
        words.extend_from_slice(unsafe { Rest::words(rest_of::<W, LONG>(cell)) });
    }
}

fn set_fence<const W: usize, const LONG: bool>(end: &mut End, fence: Fence<W>) {
    match fence {
        None => end.set(Kind::Unbounded, &[]),
        Some(cell) => {
            end.set(Kind::Included, &[]);
            push_key::<W, LONG>(&cell, &mut end.words);
        }
    }
}
