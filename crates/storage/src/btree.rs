//! The ordered index: a concurrent B+-tree from keys of `u64` words to a `u64` (a record pointer).
//!
//! # Protocol
//!
//! Optimistic lock coupling (`lock`): readers never write shared memory; they read a node's version,
//! the node, and the version again. Writers lock only the nodes that they change.
//!
//! 1. *Descend*: version of the root, child, check, version of the child, check the parent again,
//!    and so on. Any failed check restarts the operation at the root.
//! 2. *Get*: search the leaf, check.
//! 3. *Insert*: full inner nodes met on the way are split at once, so a parent has room. The leaf is
//!    locked by upgrading the version it was searched under; a full one is split, its parent locked
//!    before it, and the key put into the right half within the same critical section.
//! 4. *Remove*: a leaf that becomes empty is unlinked, together with the inner nodes that held
//!    nothing else. Half-empty neighbours are not merged: moving keys between leaves would abort
//!    transactions that only read them.
//! 5. *Scan*: a cursor copies some entries of a leaf, checks, hands them out; then continues behind
//!    the last one, or with the separator that bounds the leaf. There are no sibling pointers: the
//!    separators of the parent serve both directions and leave nothing to repair on unlinking.
//!
//! Lock order: top down; locks are tried, not waited for, but by `clear`.
//!
//! # Phantoms (Silo §4.6)
//!
//! A leaf's *insert version* moves when a key is put into it, when it splits and when it is unlinked.
//! [`NodeRef`] is a leaf with the insert version it had. Whoever remembers the [`NodeRef`] of every
//! leaf that a scan or a failed lookup visited, and finds all of them [current](NodeRef::is_current)
//! later, knows that no key has come into the ranges it read. [`Insert::Done`] says how a
//! transaction's own insert moved a leaf on, so that it does not invalidate its own reads. A node
//! set must keep the *first* version it saw of a leaf.
//!
//! # Memory
//!
//! Nodes and out-of-line keys are freed through `reclaim`: every operation asks for a [`Pinned`].
//! Leaves that grow by ascending runs are left full when they split.
//!
//! # Keys
//!
//! Big-endian words of a prefix-free order-preserving encoding; they compare as if followed by
//! endless zeros. Up to [`FIXED_WORDS_MAX`] words are held in the node; longer ones keep their first
//! words there and the others aside (`key`).

#![allow(unsafe_code)] // `NodeRef::is_current` looks at a node; see there

mod ahead;
mod cursor;
mod fill;
mod finger;
mod insert;
mod key;
mod lock;
mod node;
mod pool;
mod remove;
mod separators;
#[cfg(all(test, not(loom)))]
mod tests;
mod tree;

pub use ahead::{Stepped, Walk};
pub use cursor::{Cursor, compare_keys};
pub use finger::{Finger, Fingers, GROUP};
pub use tree::Tree;

use crate::reclaim::Pinned;
use lock::Header;
use planaria_base::limits::INDEX_KEY_BYTES_MAX;
use planaria_base::sync::atomic::Ordering;

/// Keys of up to this many words are held in the nodes whole.
pub const FIXED_WORDS_MAX: usize = 6;

/// Trees with fewer levels above the leaves are not walked ahead: a few thousand entries, which are in caches if anybody
/// looks at them.
const WALKED_LEVELS_MIN: u32 = 2;

/// A leaf and the insert version that it had: an element of a transaction's node set.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct NodeRef {
    node: *const Header,
    insert_version: u64,
    /// The pin that keeps the node in memory.
    pin: u64,
}

// SAFETY: plain data; the pointer is followed only by `is_current`, which checks that the pin that
// protects the node is still in place.
unsafe impl Send for NodeRef {}
// SAFETY: as above.
unsafe impl Sync for NodeRef {}

impl NodeRef {
    #[inline]
    fn new(header: &Header, pin: Pinned<'_>) -> NodeRef {
        NodeRef {
            node: header,
            insert_version: header.insert_version.load(Ordering::Relaxed),
            pin: pin.serial(),
        }
    }

    /// The leaf's identity, among nodes seen under the same pin.
    #[inline]
    pub fn node(&self) -> usize {
        self.node.addr()
    }

    /// The insert version that was seen.
    #[inline]
    pub fn insert_version(&self) -> u64 {
        self.insert_version
    }

    /// Has no key come into the leaf since, and is it still in the tree? Panics if the pin under
    /// which it was seen has ended.
    #[inline]
    pub fn is_current(&self, pin: Pinned<'_>) -> bool {
        assert_eq!(self.pin, pin.serial(), "a node outlives only the pin that it was seen under");
        // SAFETY: the node was in the tree under this very pin, so it is not freed yet.
        unsafe { &*self.node }.insert_version.load(Ordering::Acquire) == self.insert_version
    }
}

/// What an insert did.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Insert {
    /// The key is in.
    Done(NodeChanges),
    /// The key was there: its value, and the leaf.
    Exists(u64, NodeRef),
}

/// How an insert changed the leaves.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct NodeChanges {
    /// The leaf that the key belonged to, as it was before.
    pub before: NodeRef,
    /// The same leaf as it is now.
    pub after: NodeRef,
    /// The leaf that a split moved the upper part of its range to.
    pub created: Option<NodeRef>,
}

impl NodeChanges {
    /// Moves a transaction's own node set along: an element equal to `before` becomes `after`, and
    /// `created` joins it. An element that had moved for somebody else's sake stays, and fails.
    pub fn apply(&self, node_set: &mut Vec<NodeRef>) {
        let mut found = false;
        for node in node_set.iter_mut().filter(|node| **node == self.before) {
            *node = self.after;
            found = true;
        }
        if found {
            node_set.extend(self.created);
        }
    }
}

/// The operations of an ordered index; [`BTree`] is what tables use.
pub trait OrderedIndex: Send + Sync {
    /// The value of the key, and the leaf that it is in, or would be.
    fn get(&self, pin: Pinned<'_>, key: &[u64]) -> (Option<u64>, NodeRef);
    /// Inserts the key if it is absent. `value` is not 0.
    fn insert(&self, pin: Pinned<'_>, key: &[u64], value: u64) -> Insert;
    /// Replaces the key's value if it is `old`. Does not count as an insert.
    fn replace(&self, pin: Pinned<'_>, key: &[u64], old: u64, new: u64) -> bool;
    /// Removes the key if its value is `value`.
    fn remove(&self, pin: Pinned<'_>, key: &[u64], value: u64) -> bool;
    /// Removes everything.
    fn clear(&self, pin: Pinned<'_>);
    /// Entries, approximately: a leaf is counted anew when an eighth of it has changed.
    fn entries(&self) -> u64;
    /// Bytes of nodes and out-of-line keys.
    fn bytes(&self) -> u64;
    /// Fills a cursor's buffer with its next entries; called by [`Cursor::next`].
    #[doc(hidden)]
    fn fill(&self, cursor: &mut Cursor, pin: Pinned<'_>, on_node: &mut dyn FnMut(NodeRef));
}

macro_rules! shapes {
    ($($shape:ident($words:literal, $long:literal, $leaf:literal, $inner:literal);)*) => {
        enum Shape { $($shape(Tree<$words, $long, $leaf, $inner>),)* }

        macro_rules! dispatch {
            ($self:expr, $tree:ident => $call:expr) => {
                match &$self.0 { $(Shape::$shape($tree) => $call,)* }
            };
        }
    };
}

// Nodes of 1 to 2 KiB, full cache lines.
shapes! {
    Fixed1(1, false, 62, 62);
    Fixed2(2, false, 62, 62);
    Fixed3(3, false, 63, 63);
    Fixed4(4, false, 50, 50);
    Fixed5(5, false, 42, 42);
    Fixed6(6, false, 36, 36);
    Long(4, true, 50, 50);
}

/// An ordered index; the node layout is chosen once by the longest key.
pub struct BTree(Shape);

impl BTree {
    /// An empty index for keys of up to `key_words_max` words.
    pub fn new(key_words_max: usize) -> BTree {
        assert!(key_words_max <= INDEX_KEY_BYTES_MAX.div_ceil(8), "keys are limited");
        BTree(match key_words_max {
            0 | 1 => Shape::Fixed1(Tree::new()),
            2 => Shape::Fixed2(Tree::new()),
            3 => Shape::Fixed3(Tree::new()),
            4 => Shape::Fixed4(Tree::new()),
            5 => Shape::Fixed5(Tree::new()),
            6 => Shape::Fixed6(Tree::new()),
            _ => Shape::Long(Tree::new()),
        })
    }
    /// See [`OrderedIndex::get`].
    #[inline]
    pub fn get(&self, pin: Pinned<'_>, key: &[u64]) -> (Option<u64>, NodeRef) {
        dispatch!(self, tree => tree.get(pin, key))
    }
    /// A walk down from the root, to be gone on with by [`BTree::walk_on`] under the same pin; `None` where that would not pay.
    #[inline]
    pub fn walk(&self, pin: Pinned<'_>) -> Option<Walk> {
        dispatch!(self, tree => tree.walk(pin))
    }
    /// A step of a walk of this tree. Panics if the pin under which it was begun has ended.
    #[inline]
    pub fn walk_on(&self, walk: &mut Walk, pin: Pinned<'_>, key: &[u64]) -> Stepped {
        dispatch!(self, tree => tree.walk_on(walk, pin, key))
    }
    /// See [`OrderedIndex::insert`].
    #[inline]
    pub fn insert(&self, pin: Pinned<'_>, key: &[u64], value: u64) -> Insert {
        dispatch!(self, tree => tree.insert(pin, key, value))
    }
    /// The value of the key, looked for from where the last key was found; leaves the finger there.
    #[inline]
    pub fn get_near(&self, finger: &mut Finger, pin: Pinned<'_>, key: &[u64]) -> Option<u64> {
        dispatch!(self, tree => tree.get_near(finger, pin, key))
    }
    /// Calls `found` with the value of each of `count` keys ([`GROUP`] at most), which are in order, looked for together: `None` where
    /// there is none, and where somebody was changing it. Leaves the finger anywhere.
    #[inline]
    pub fn get_group<'k>(
        &self,
        finger: &mut Finger,
        pin: Pinned<'_>,
        count: usize,
        key: impl Fn(usize) -> &'k [u64],
        found: impl FnMut(usize, Option<u64>),
    ) {
        dispatch!(self, tree => tree.get_group(finger, pin, count, key, found))
    }
    /// Inserts the key, if it is absent, from where the last one was; else answers with its value.
    /// `value` is not 0.
    #[inline]
    pub fn insert_near(
        &self,
        finger: &mut Finger,
        pin: Pinned<'_>,
        key: &[u64],
        value: u64,
    ) -> Result<(), u64> {
        dispatch!(self, tree => tree.insert_near(finger, pin, key, value))
    }
    /// [`BTree::insert`], from where the last ones went: `value` is not 0.
    #[inline]
    pub fn insert_among(&self, fingers: &mut Fingers, pin: Pinned<'_>, key: &[u64], value: u64) -> Insert {
        dispatch!(self, tree => tree.insert_among(fingers, pin, key, value))
    }
    /// See [`OrderedIndex::replace`].
    pub fn replace(&self, pin: Pinned<'_>, key: &[u64], old: u64, new: u64) -> bool {
        dispatch!(self, tree => tree.replace(pin, key, old, new))
    }
    /// See [`OrderedIndex::remove`].
    pub fn remove(&self, pin: Pinned<'_>, key: &[u64], value: u64) -> bool {
        dispatch!(self, tree => tree.remove(pin, key, value))
    }
    /// Keys, ascending, that cut it into about `wanted` ranges with about as many entries each; at most
    /// `wanted - 1`, fewer in a small tree.
    pub fn separators(&self, wanted: usize, pin: Pinned<'_>) -> Vec<Vec<u64>> {
        dispatch!(self, tree => tree.separators(wanted, pin))
    }
    /// See [`OrderedIndex::clear`].
    pub fn clear(&self, pin: Pinned<'_>) {
        dispatch!(self, tree => tree.clear(pin))
    }
    /// All values, for whoever has the tree for himself: no pin is needed.
    pub fn values(&mut self, f: &mut dyn FnMut(u64)) {
        dispatch!(self, tree => tree.values_below(tree.root.load(Ordering::Acquire), f))
    }
    /// See [`OrderedIndex::entries`].
    pub fn entries(&self) -> u64 {
        dispatch!(self, tree => tree.entries())
    }
    /// See [`OrderedIndex::bytes`].
    pub fn bytes(&self) -> u64 {
        dispatch!(self, tree => tree.bytes())
    }
}

impl OrderedIndex for BTree {
    fn get(&self, pin: Pinned<'_>, key: &[u64]) -> (Option<u64>, NodeRef) {
        self.get(pin, key)
    }
    fn insert(&self, pin: Pinned<'_>, key: &[u64], value: u64) -> Insert {
        self.insert(pin, key, value)
    }
    fn replace(&self, pin: Pinned<'_>, key: &[u64], old: u64, new: u64) -> bool {
        self.replace(pin, key, old, new)
    }
    fn remove(&self, pin: Pinned<'_>, key: &[u64], value: u64) -> bool {
        self.remove(pin, key, value)
    }
    fn clear(&self, pin: Pinned<'_>) {
        self.clear(pin)
    }
    fn entries(&self) -> u64 {
        self.entries()
    }
    fn bytes(&self) -> u64 {
        self.bytes()
    }
    fn fill(&self, cursor: &mut Cursor, pin: Pinned<'_>, on_node: &mut dyn FnMut(NodeRef)) {
        dispatch!(self, tree => tree.fill(cursor, pin, on_node))
    }
}
