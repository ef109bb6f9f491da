//! The tree of one key shape: descent, lookup, replacement.

#![allow(unsafe_code)] // follows node pointers; each site names the check that allows it

use super::key::Probe;
use super::lock::{Backoff, Header, Restart};
use super::node::Node;
use super::{NodeRef, OrderedIndex};
use crate::reclaim::Pinned;
use planaria_base::sync::atomic::{AtomicI64, AtomicPtr, Ordering};

/// Trees that have been made.
static TREES: std::sync::atomic::AtomicU64 = std::sync::atomic::AtomicU64::new(1);

/// A B+-tree whose cells have `W` words (see `key`), `L` entries a leaf and `I` children an inner
/// node. Use [`BTree`](super::BTree) unless the shape matters, as it does to tests.
pub struct Tree<const W: usize, const LONG: bool, const L: usize, const I: usize> {
    /// Of no other tree, not even one that comes to its address later: who remembers a node remembers of which tree.
    pub(super) id: u64,
    /// Changes only under the lock of the node that it points to.
    pub(super) root: AtomicPtr<Header>,
    pub(super) stats: Stats,
}

/// What is counted, at node granularity.
pub(super) struct Stats {
    pub(super) entries: AtomicI64,
    pub(super) leaves: AtomicI64,
    pub(super) inners: AtomicI64,
    /// Bytes of out-of-line keys.
    pub(super) rests: AtomicI64,
}

/// Where an ordinary descent ended.
pub(super) struct Found<'t, const W: usize, const L: usize, const I: usize> {
    pub(super) leaf: &'t Node<W, L>,
    pub(super) version: u64,
}

// SAFETY: the raw root pointer is shared under the tree's protocol (see the head of `btree`).
unsafe impl<const W: usize, const LONG: bool, const L: usize, const I: usize> Send for Tree<W, LONG, L, I> {}
// SAFETY: as above.
unsafe impl<const W: usize, const LONG: bool, const L: usize, const I: usize> Sync for Tree<W, LONG, L, I> {}

impl<const W: usize, const LONG: bool, const L: usize, const I: usize> Tree<W, LONG, L, I> {
    /// An empty tree.
    pub fn new() -> Self {
        const { assert!(W > LONG as usize, "a cell holds a word of the key") };
        Tree {
            id: TREES.fetch_add(1, Ordering::Relaxed),
            root: AtomicPtr::new(Node::<W, L>::allocate(0).cast()),
            stats: Stats {
                entries: AtomicI64::new(0),
                leaves: AtomicI64::new(1),
                inners: AtomicI64::new(0),
                rests: AtomicI64::new(0),
            },
        }
    }

    /// # Safety
    /// `node` is a leaf of this tree, reached under a check by a pinned caller (or owned).
    #[inline]
    pub(super) unsafe fn leaf(&self, node: *const Header) -> &Node<W, L> {
        // SAFETY: as promised by the caller; nodes outlive every pin that can reach them.
        unsafe { &*Node::around(node) }
    }

    /// # Safety
    /// As for [`leaf`](Self::leaf), but an inner node.
    #[inline]
    pub(super) unsafe fn inner(&self, node: *const Header) -> &Node<W, I> {
        // SAFETY: as promised by the caller.
        unsafe { &*Node::around(node) }
    }

    /// The root and a version at which it was the root.
    #[inline]
    pub(super) fn root(&self) -> Result<(&Header, u64), Restart> {
        let root = self.root.load(Ordering::Acquire);
        // SAFETY: the root is never freed while the caller is pinned: it is retired after the
        // pointer has moved on.
        let header = unsafe { &*root };
        let version = header.read()?;
        // The old root of a grown tree is half a tree.
        if self.root.load(Ordering::Acquire) != root {
            return Err(Restart);
        }
        Ok((header, version))
    }

    /// Steps from `inner`, believed at `version`, to its child `i`.
    #[inline]
    pub(super) fn step(&self, inner: &Node<W, I>, version: u64, i: usize) -> Result<(&Header, u64), Restart> {
        let child = inner.child(i);
        inner.header.check(version)?;
        if inner.header.level == 1 {
            Node::<W, L>::prefetch(child);
        } else {
            Node::<W, I>::prefetch(child);
        }
        // SAFETY: the check says that this is a child of `inner`, hence a node that was in the
        // tree while the caller was pinned.
        let child = unsafe { &*child };
        let child_version = child.read()?;
        // The child's version belongs to the child as it was under this parent.
        inner.header.check(version)?;
        Ok((child, child_version))
    }

    #[inline]
    pub(super) fn find(&self, probe: &Probe<'_, W, LONG>) -> Result<Found<'_, W, L, I>, Restart> {
        let (mut node, mut version) = self.root()?;
        while node.level > 0 {
            // SAFETY: `node` was reached under a check and is no leaf.
            let inner = unsafe { self.inner(node) };
            let n = inner.count();
            let i = inner.rank(n.saturating_sub(1), probe, true, version)?;
            (node, version) = self.step(inner, version, i)?;
        }
        // SAFETY: `node` was reached under a check and is a leaf.
        Ok(Found { leaf: unsafe { self.leaf(node) }, version })
    }

    /// The position of the key in a leaf: `Ok` where it is, `Err` where it would be.
    #[inline]
    pub(super) fn position(
        leaf: &Node<W, L>,
        probe: &Probe<'_, W, LONG>,
        version: u64,
    ) -> Result<Result<usize, usize>, Restart> {
        let n = leaf.count();
        let p = leaf.rank(n, probe, false, version)?;
        Ok(if p < n && leaf.compare(p, probe, version)?.is_eq() { Ok(p) } else { Err(p) })
    }

    #[inline]
    pub(super) fn retrying<T>(mut attempt: impl FnMut() -> Result<T, Restart>) -> T {
        let mut backoff = Backoff::default();
        loop {
            match attempt() {
                Ok(done) => return done,
                Err(Restart) => backoff.wait(),
            }
        }
    }

    #[inline]
    fn try_get(
        &self,
        pin: Pinned<'_>,
        probe: &Probe<'_, W, LONG>,
    ) -> Result<(Option<u64>, NodeRef), Restart> {
        let Found { leaf, version } = self.find(probe)?;
        let value = Self::position(leaf, probe, version)?.ok().map(|p| leaf.slot(p));
        let node = NodeRef::new(&leaf.header, pin);
        leaf.header.check(version)?;
        Ok((value, node))
    }

    fn try_replace(&self, probe: &Probe<'_, W, LONG>, old: u64, new: u64) -> Result<bool, Restart> {
        let Found { leaf, version } = self.find(probe)?;
        match Self::position(leaf, probe, version)? {
            Ok(p) if leaf.slot(p) == old => {
                let mut locked = leaf.header.upgrade(version)?;
                locked.change();
                leaf.set_slot(p, new);
                Ok(true)
            }
            _ => leaf.header.check(version).map(|()| false),
        }
    }
}

impl<const W: usize, const LONG: bool, const L: usize, const I: usize> Default for Tree<W, LONG, L, I> {
    fn default() -> Self {
        Self::new()
    }
}

impl<const W: usize, const LONG: bool, const L: usize, const I: usize> OrderedIndex for Tree<W, LONG, L, I> {
    #[inline]
    fn get(&self, pin: Pinned<'_>, key: &[u64]) -> (Option<u64>, NodeRef) {
        let probe = Probe::new(key);
        Self::retrying(|| self.try_get(pin, &probe))
    }

    fn insert(&self, pin: Pinned<'_>, key: &[u64], value: u64) -> super::Insert {
        debug_assert_ne!(value, 0, "0 is no value");
        self.insert_probe(pin, &Probe::new(key), value)
    }

    fn replace(&self, _pin: Pinned<'_>, key: &[u64], old: u64, new: u64) -> bool {
        debug_assert_ne!(new, 0, "0 is no value");
        let probe = Probe::new(key);
        Self::retrying(|| self.try_replace(&probe, old, new))
    }

    fn remove(&self, pin: Pinned<'_>, key: &[u64], value: u64) -> bool {
        let probe = Probe::new(key);
        Self::retrying(|| self.try_remove(pin, &probe, value))
    }

    fn clear(&self, pin: Pinned<'_>) {
        self.clear_nodes(pin);
    }

    fn entries(&self) -> u64 {
        self.stats.entries.load(Ordering::Relaxed).max(0) as u64
    }

    fn bytes(&self) -> u64 {
        let nodes = |count: &AtomicI64, size: usize| count.load(Ordering::Relaxed) * size as i64;
        let bytes = nodes(&self.stats.leaves, size_of::<Node<W, L>>())
            + nodes(&self.stats.inners, size_of::<Node<W, I>>())
            + self.stats.rests.load(Ordering::Relaxed);
        bytes.max(0) as u64
    }

    fn fill(&self, cursor: &mut super::Cursor, pin: Pinned<'_>, on_node: &mut dyn FnMut(NodeRef)) {
        self.fill_cursor(cursor, pin, on_node);
    }
}
