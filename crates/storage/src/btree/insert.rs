//! Inserts and splits.
//!
//! Full inner nodes are split on the way down (then the insert starts again), so whoever splits a
//! leaf finds room in the parent and locks two nodes at most. A leaf is split and the key inserted
//! in one critical section: the insert version of each leaf moves once.
//!
//! Where to split: in the middle, unless the leaf has been growing by an ascending run. Then the
//! left half keeps everything up to the run's end: a bulk load, or a table whose keys are drawn from
//! a sequence (per prefix or overall), leaves full leaves behind.

#![allow(unsafe_code)] // builds nodes and takes references to them

use super::key::{OwnedCell, Probe, Rest, rest_of};
use super::lock::{Header, Locked, Restart};
use super::node::Node;
use super::tree::Tree;
use super::{Insert, NodeChanges, NodeRef};
use crate::reclaim::Pinned;
use planaria_base::sync::atomic::Ordering::{Relaxed, Release};
use planaria_base::sync::point;

/// Inserts in a row that make an ascending run.
const RUN_MIN: u8 = 4;

/// The inner node above, and which child was taken.
#[derive(Clone, Copy)]
pub(super) struct Parent<'t, const W: usize, const I: usize> {
    pub(super) inner: &'t Node<W, I>,
    pub(super) version: u64,
    pub(super) child: usize,
}

impl<const W: usize, const LONG: bool, const L: usize, const I: usize> Tree<W, LONG, L, I> {
    #[inline]
    pub(super) fn insert_probe(&self, pin: Pinned<'_>, probe: &Probe<'_, W, LONG>, value: u64) -> Insert {
        // Made when the key turns out to be absent; kept over restarts, freed if it is not used.
        let mut cell = None;
        Self::retrying(|| self.try_insert(pin, probe, value, &mut cell))
    }

    fn try_insert(
        &self,
        pin: Pinned<'_>,
        probe: &Probe<'_, W, LONG>,
        value: u64,
        cell: &mut Option<OwnedCell<W, LONG>>,
    ) -> Result<Insert, Restart> {
        let (mut node, mut version) = self.root()?;
        let mut parent = None;
        while node.level > 0 {
            // SAFETY: `node` was reached under a check and is no leaf.
            let inner = unsafe { self.inner(node) };
            let n = inner.count();
            let child = inner.rank(n.saturating_sub(1), probe, true, version)?;
            if n == I {
                self.split_inner(parent, inner, version, child)?;
                return Err(Restart);
            }
            let below = self.step(inner, version, child)?;
            parent = Some(Parent { inner, version, child });
            (node, version) = below;
        }
        // SAFETY: `node` was reached under a check and is a leaf.
        let leaf = unsafe { self.leaf(node) };
        let n = leaf.count();
        match Self::position(leaf, probe, version)? {
            Ok(p) => {
                let exists = Insert::Exists(leaf.slot(p), NodeRef::new(&leaf.header, pin));
                leaf.header.check(version)?;
                Ok(exists)
            }
            Err(p) => {
                cell.get_or_insert_with(|| OwnedCell::new(probe));
                let changes = if n < L {
                    let mut locked = leaf.header.upgrade(version)?;
                    locked.change();
                    let before = NodeRef::new(&leaf.header, pin);
                    locked.bump_insert_version();
                    self.put(leaf, p, n, cell.take().expect("just made"), value);
                    NodeChanges { before, after: NodeRef::new(&leaf.header, pin), created: None }
                } else {
                    let mut above = Self::lock_parent(parent)?;
                    let mut locked = leaf.header.upgrade(version)?;
                    if let Some(above) = &mut above {
                        above.change();
                    }
                    locked.change();
                    let before = NodeRef::new(&leaf.header, pin);
                    // First of all: once the right half can be reached, others insert there.
                    locked.bump_insert_version();
                    let cell = cell.take().expect("just made");
                    let created = self.split_leaf(pin, parent, leaf, p, cell, value);
                    NodeChanges { before, after: NodeRef::new(&leaf.header, pin), created: Some(created) }
                };
                Ok(Insert::Done(changes))
            }
        }
    }

    /// Puts an entry at `p` of the `n < L` of a leaf that is locked or nobody else's.
    #[inline]
    pub(super) fn put(&self, leaf: &Node<W, L>, p: usize, n: usize, cell: OwnedCell<W, LONG>, value: u64) {
        let cell = cell.into_cell();
        leaf.insert_entry(p, n, &cell, value);
        let mut marks = leaf.header.marks();
        let ascending = n > 0 && p == marks.position as usize + 1;
        marks.run = if ascending { marks.run.saturating_add(1) } else { 0 };
        marks.position = p as u8;
        leaf.header.set_marks(marks);
        // SAFETY: the rest, if any, belongs to the tree, in a leaf that is locked.
        let bytes = unsafe { Rest::bytes(rest_of::<W, LONG>(&cell)) } as i64;
        self.account(&leaf.header, bytes, false);
    }

    /// Takes note of a locked leaf's count, and of `rest_bytes` that came or went with an entry: in
    /// the tree's shared counters only when an eighth of the leaf has changed, or `now`.
    #[inline]
    pub(super) fn account(&self, leaf: &Header, rest_bytes: i64, now: bool) {
        let pending = rest_bytes + i64::from(leaf.rest_bytes.load(Relaxed) as i32);
        let mut marks = leaf.marks();
        let grown = leaf.count() as i64 - i64::from(marks.accounted);
        if !now && grown.abs() <= leaf.count() as i64 / 8 {
            if LONG {
                leaf.rest_bytes.store(pending as i32 as u32, Relaxed);
            }
            return;
        }
        marks.accounted = leaf.count() as u16;
        leaf.set_marks(marks);
        self.stats.entries.fetch_add(grown, Relaxed);
        if LONG {
            leaf.rest_bytes.store(0, Relaxed);
            self.stats.rests.fetch_add(pending, Relaxed);
        }
    }

    #[inline]
    fn lock_parent<'t>(parent: Option<Parent<'t, W, I>>) -> Result<Option<Locked<'t>>, Restart> {
        parent.map(|above| above.inner.header.upgrade(above.version)).transpose()
    }

    /// Splits a full leaf for an entry at `p`, and links the new right half, which is returned as it was before anybody else could
    /// reach it: what others put there from then on must not pass for this insert's doing. The
    /// leaf and its parent are locked; without a parent the leaf is the root, whose lock guards the
    /// root pointer.
    #[cold]
    fn split_leaf(
        &self,
        pin: Pinned<'_>,
        parent: Option<Parent<'_, W, I>>,
        leaf: &Node<W, L>,
        p: usize,
        cell: OwnedCell<W, LONG>,
        value: u64,
    ) -> NodeRef {
        let marks = leaf.header.marks();
        let ascending = marks.run >= RUN_MIN && p == marks.position as usize + 1;
        // So many entries stay, and the new one goes to this side.
        let (stay, left) = match (ascending, p == L) {
            (true, true) => (L, false),
            (true, false) => (p, true),
            (false, _) => (L / 2, p <= L / 2),
        };
        // SAFETY: fresh, and from here on a node of this tree.
        let right = unsafe { &*Node::<W, L>::allocate(0) };
        leaf.move_tail(stay, L, right);
        if left {
            self.put(leaf, p, stay, cell, value);
        } else {
            self.put(right, p - stay, L - stay, cell, value);
            if ascending {
                right.header.set_marks(super::lock::Marks { run: marks.run, ..right.header.marks() });
            }
        }
        self.account(&leaf.header, 0, true);
        self.account(&right.header, 0, true);
        self.stats.leaves.fetch_add(1, Relaxed);
        // SAFETY: both cells are in leaves that are locked or not linked yet.
        let separator = unsafe { OwnedCell::separator(&leaf.cell(leaf.count() - 1), &right.cell(0)) };
        let created = NodeRef::new(&right.header, pin);
        self.link(parent, &leaf.header, separator, &right.header);
        created
    }

    /// Splits a full inner node on the way to its child `i`.
    #[cold]
    fn split_inner(
        &self,
        parent: Option<Parent<'_, W, I>>,
        inner: &Node<W, I>,
        version: u64,
        i: usize,
    ) -> Result<(), Restart> {
        let mut above = Self::lock_parent(parent)?;
        let mut locked = inner.header.upgrade(version)?;
        if let Some(above) = &mut above {
            above.change();
        }
        locked.change();
        // On the way to the last child: likely an ascending run, which fills only the right half.
        let stay = if i == I - 1 { I - (I / 8).max(1) } else { I / 2 };
        // SAFETY: fresh, and from here on a node of this tree.
        let right = unsafe { &*Node::<W, I>::allocate(inner.header.level) };
        inner.move_tail(stay, I, right);
        self.stats.inners.fetch_add(1, Relaxed);
        // The key between the halves moves up, with its rest.
        let separator = OwnedCell::adopt(inner.cell(stay - 1));
        self.link(parent, &inner.header, separator, &right.header);
        Ok(())
    }

    /// Makes `right` the neighbour of `left`, under the locked parent or a new root.
    fn link(
        &self,
        parent: Option<Parent<'_, W, I>>,
        left: &Header,
        separator: OwnedCell<W, LONG>,
        right: &Header,
    ) {
        let separator = separator.into_cell();
        if LONG {
            // SAFETY: the rest, if any, is the tree's, and its node is locked.
            let bytes = unsafe { Rest::bytes(rest_of::<W, LONG>(&separator)) };
            if left.level == 0 && bytes > 0 {
                self.stats.rests.fetch_add(bytes as i64, Relaxed);
            }
        }
        match parent {
            Some(Parent { inner, child, .. }) => {
                inner.insert_child(child, inner.count(), &separator, right);
            }
            None => {
                let root = Node::<W, I>::allocate(left.level + 1);
                // SAFETY: fresh and still ours alone.
                let node = unsafe { &*root };
                node.set_child(0, left);
                node.set_child(1, right);
                node.set_cell(0, &separator);
                node.set_count(2);
                self.stats.inners.fetch_add(1, Relaxed);
                self.root.store(root.cast(), Release);
                // Nobody is kept from the new root.
                point("has put a root above");
            }
        }
    }
}
