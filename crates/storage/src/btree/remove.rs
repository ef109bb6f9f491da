//! Removals, unlinking of empty leaves, clearing, and the end of a tree.
//!
//! A leaf that loses its last entry is unlinked at once (free-at-empty: Johnson and Shasha, *B-trees
//! with inserts and deletes: why free-at-empty is better than merge-at-half*, 1993). Inner nodes
//! that lead to nothing else go with it: the deepest ancestor with another child loses the whole
//! chain. The root gives way to its child when it has only one left. The last leaf of a tree stays,
//! empty, as the root.

#![allow(unsafe_code)] // follows node pointers and retires nodes

use super::insert::Parent;
use super::key::{Probe, Rest, rest_of, retire_cell};
use super::lock::{Backoff, Header, Locked, Restart};
use super::node::Node;
use super::tree::{Found, Tree};
use crate::reclaim::Pinned;
use planaria_base::sync::atomic::Ordering::{Acquire, Relaxed, Release};

/// What a walk over a subtree found.
#[derive(Default)]
struct Removed {
    entries: i64,
    leaves: i64,
    inners: i64,
    rests: i64,
}

impl<const W: usize, const LONG: bool, const L: usize, const I: usize> Tree<W, LONG, L, I> {
    pub(super) fn try_remove(
        &self,
        pin: Pinned<'_>,
        probe: &Probe<'_, W, LONG>,
        value: u64,
    ) -> Result<bool, Restart> {
        let Found { leaf, version } = self.find(probe)?;
        let n = leaf.count();
        match Self::position(leaf, probe, version)? {
            Ok(p) if leaf.slot(p) == value => {
                if n == 1 && self.root.load(Relaxed).cast_const() != &raw const leaf.header {
                    return self.unlink_leaf(pin, probe, value);
                }
                let mut locked = leaf.header.upgrade(version)?;
                locked.change();
                self.take(pin, leaf, p, n);
                Ok(true)
            }
            _ => leaf.header.check(version).map(|()| false),
        }
    }

    /// Takes entry `p` of `n` out of a locked leaf.
    fn take(&self, pin: Pinned<'_>, leaf: &Node<W, L>, p: usize, n: usize) {
        let cell = leaf.cell(p);
        leaf.remove_entry(p, n);
        let mut bytes = 0;
        if LONG {
            // SAFETY: the leaf is locked, the cell was in it, and is no more.
            unsafe {
                bytes = Rest::bytes(rest_of::<W, LONG>(&cell)) as i64;
                retire_cell::<W, LONG>(&cell, pin);
            }
        }
        self.account(&leaf.header, -bytes, false);
    }

    /// Removes the only entry of a leaf, and the leaf. Descends anew, remembering the way.
    #[cold]
    fn unlink_leaf(&self, pin: Pinned<'_>, probe: &Probe<'_, W, LONG>, value: u64) -> Result<bool, Restart> {
        let (mut node, mut version) = self.root()?;
        let mut path: Vec<Parent<'_, W, I>> = Vec::with_capacity(16);
        while node.level > 0 {
            // SAFETY: `node` was reached under a check and is no leaf.
            let inner = unsafe { self.inner(node) };
            let child = inner.rank(inner.count().saturating_sub(1), probe, true, version)?;
            let below = self.step(inner, version, child)?;
            path.push(Parent { inner, version, child });
            (node, version) = below;
        }
        // SAFETY: `node` was reached under a check and is a leaf.
        let leaf = unsafe { self.leaf(node) };
        let n = leaf.count();
        let p = match Self::position(leaf, probe, version)? {
            Ok(p) if leaf.slot(p) == value => p,
            _ => return leaf.header.check(version).map(|()| false),
        };
        if n > 1 {
            return Err(Restart);
        }
        // The deepest ancestor that keeps a child, and the chain below it that goes. What is read
        // here is confirmed by the upgrades.
        let top = path.iter().rposition(|above| above.inner.count() >= 2);
        let chain = &path[top.map_or(0, |top| top + 1)..];
        let mut locked_top = top.map(|top| path[top].inner.header.upgrade(path[top].version)).transpose()?;
        let locked_chain: Vec<Locked<'_>> =
            chain.iter().map(|below| below.inner.header.upgrade(below.version)).collect::<Result<_, _>>()?;
        let mut locked = leaf.header.upgrade(version)?;

        locked.change();
        self.take(pin, leaf, p, n);
        self.account(&leaf.header, 0, true);
        if let (Some(top), Some(locked_top)) = (top, &mut locked_top) {
            locked_top.change();
            self.unlink_child(pin, &path[top]);
            locked.retire();
            // SAFETY: just unlinked, and obsolete to whoever holds it.
            unsafe { self.retire_node(&leaf.header, pin) };
            self.stats.leaves.fetch_sub(1, Relaxed);
        } else {
            // Nothing but this leaf is left. The lock of the root, or of the leaf itself if that is
            // the root, guards the pointer.
            self.root.store((&raw const leaf.header).cast_mut(), Release);
        }
        self.stats.inners.fetch_sub(chain.len() as i64, Relaxed);
        for (below, locked) in chain.iter().zip(locked_chain) {
            locked.retire();
            // SAFETY: as above.
            unsafe { self.retire_node(&below.inner.header, pin) };
        }
        if let (Some(0), Some(locked)) = (top, locked_top)
            && path[0].inner.count() == 1
        {
            let root = path[0].inner;
            self.root.store(root.child(0).cast_mut(), Release);
            self.stats.inners.fetch_sub(1, Relaxed);
            locked.retire();
            // SAFETY: the root pointer has moved on.
            unsafe { self.retire_node(&root.header, pin) };
        }
        Ok(true)
    }

    /// Takes a child, and the separator beside it, out of a locked node.
    fn unlink_child(&self, pin: Pinned<'_>, parent: &Parent<'_, W, I>) {
        let separator = parent.inner.remove_child(parent.child, parent.inner.count());
        if LONG {
            // SAFETY: the node is locked, the separator was in it, and is no more.
            unsafe {
                let bytes = Rest::bytes(rest_of::<W, LONG>(&separator)) as i64;
                self.stats.rests.fetch_sub(bytes, Relaxed);
                retire_cell::<W, LONG>(&separator, pin);
            }
        }
    }

    /// # Safety
    /// The node is unlinked and obsolete, and retired once.
    unsafe fn retire_node(&self, node: &Header, pin: Pinned<'_>) {
        let free = if node.level == 0 { Node::<W, L>::free } else { Node::<W, I>::free };
        // SAFETY: as promised by the caller.
        unsafe { pin.retire(Node::<W, L>::around(node).cast(), free) }
    }

    /// Replaces the whole content by an empty leaf. The insert versions of all leaves move.
    pub(super) fn clear_nodes(&self, pin: Pinned<'_>) {
        let mut backoff = Backoff::default();
        let (root, mut locked) = loop {
            let root = self.root.load(Acquire);
            // SAFETY: the root is not freed while the caller is pinned.
            let header = unsafe { &*root };
            if let Some(locked) = header.lock()
                && self.root.load(Relaxed) == root
            {
                break (header, locked);
            }
            backoff.wait();
        };
        // Whoever has the old leaves in its node set must know before anybody inserts anew; and
        // nothing is retired before the root pointer has moved on.
        let mut removed = Removed::default();
        self.condemn(root, &mut locked, &mut removed);
        self.stats.leaves.fetch_add(1, Relaxed);
        self.root.store(Node::<W, L>::allocate(0).cast(), Release);
        locked.retire();
        self.retire_subtree(root, pin, &mut removed);
        self.stats.entries.fetch_sub(removed.entries, Relaxed);
        self.stats.leaves.fetch_sub(removed.leaves, Relaxed);
        self.stats.inners.fetch_sub(removed.inners, Relaxed);
        self.stats.rests.fetch_sub(removed.rests, Relaxed);
    }

    /// Makes all nodes below a locked one obsolete, and moves their insert versions and its own.
    fn condemn(&self, node: &Header, locked: &mut Locked<'_>, removed: &mut Removed) {
        locked.change();
        locked.bump_insert_version();
        if node.level == 0 {
            removed.leaves += 1;
            removed.entries += i64::from(node.marks().accounted);
            removed.rests -= i64::from(node.rest_bytes.load(Relaxed) as i32);
            return;
        }
        removed.inners += 1;
        for child in self.children(node) {
            // SAFETY: the parent is locked, so this is its child and stays it.
            let child = unsafe { &*child };
            let mut locked = child.lock().expect("a child is unlinked only under its parent's lock");
            self.condemn(child, &mut locked, removed);
            locked.retire();
        }
    }

    /// Retires a condemned subtree: nothing points to it, and nobody changes it any more.
    fn retire_subtree(&self, node: &Header, pin: Pinned<'_>, removed: &mut Removed) {
        for cell in self.cells(node) {
            // SAFETY: the cell's node is out of the tree.
            unsafe {
                removed.rests += Rest::bytes(rest_of::<W, LONG>(&cell)) as i64;
                retire_cell::<W, LONG>(&cell, pin);
            }
        }
        if node.level > 0 {
            for child in self.children(node) {
                // SAFETY: not freed while the caller is pinned.
                self.retire_subtree(unsafe { &*child }, pin, removed);
            }
        }
        // SAFETY: out of the tree and obsolete.
        unsafe { self.retire_node(node, pin) };
    }

    /// The cells that own a rest, of a node that nobody else changes.
    fn cells(&self, node: &Header) -> Vec<[u64; W]> {
        if !LONG {
            Vec::new()
        } else if node.level == 0 {
            // SAFETY: a leaf of this tree.
            let leaf = unsafe { self.leaf(node) };
            (0..leaf.count()).map(|i| leaf.cell(i)).collect()
        } else {
            // SAFETY: an inner node of this tree.
            let inner = unsafe { self.inner(node) };
            (0..inner.count() - 1).map(|i| inner.cell(i)).collect()
        }
    }

    fn children(&self, node: &Header) -> Vec<*const Header> {
        // SAFETY: an inner node of this tree.
        let inner = unsafe { self.inner(node) };
        (0..inner.count()).map(|i| inner.child(i)).collect()
    }

    /// Calls `f` with every value below a node of a tree that nobody else can reach.
    pub(super) fn values_below(&self, node: *const Header, f: &mut dyn FnMut(u64)) {
        // SAFETY: the caller has exclusive access to the tree.
        unsafe {
            if (*node).level == 0 {
                let leaf = self.leaf(node);
                (0..leaf.count()).for_each(|i| f(leaf.slot(i)));
            } else {
                self.children(&*node).into_iter().for_each(|child| self.values_below(child, f));
            }
        }
    }

    /// Frees a subtree that nobody else can reach.
    fn free_subtree(&self, node: *const Header) {
        // SAFETY: `drop` has exclusive access to the tree.
        unsafe {
            for cell in self.cells(&*node) {
                Rest::free(rest_of::<W, LONG>(&cell));
            }
            if (*node).level == 0 {
                Node::<W, L>::free(Node::<W, L>::around(node).cast());
            } else {
                for child in self.children(&*node) {
                    self.free_subtree(child);
                }
                Node::<W, I>::free(Node::<W, I>::around(node).cast());
            }
        }
    }
}

impl<const W: usize, const LONG: bool, const L: usize, const I: usize> Drop for Tree<W, LONG, L, I> {
    fn drop(&mut self) {
        self.free_subtree(self.root.load(Acquire));
    }
}
