//! Looking ahead: the paths of several keys are gone down together, a level of each in turn.
//!
//! A lookup waits for memory at each level, and for the next one it has to know the last. Lookups that are known
//! beforehand do not depend on each other: while the lines of one node come, others are looked at (*asynchronous memory
//! access chaining*, Kocberber et al., PVLDB 2015). What is found is a hint and no answer: the lookup is made all the same, later,
//! when what it looks at has come. So a [`Walk`] checks no more than it needs to follow no pointer that it must not follow.

#![allow(unsafe_code)] // follows node pointers; each site names the check that allows it

use super::key::Probe;
use super::lock::Header;
use super::node::Node;
use super::tree::Tree;
use crate::reclaim::Pinned;

/// A key on its way down. Of use for one tree, under one pin.
#[derive(Clone, Copy, Debug)]
pub struct Walk {
    node: *const Header,
    tree: u64,
    pin: u64,
}

impl Walk {
    /// Where it is. To be compared only.
    pub(super) fn node(&self) -> *const Header {
        self.node
    }
}

/// What a step of a walk came to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Stepped {
    /// A level down; the lines of the next node are on their way.
    Down,
    /// The key's value, as far as one can tell.
    Found(u64),
    /// There is nothing, or somebody was changing it.
    Nothing,
}

impl<const W: usize, const LONG: bool, const L: usize, const I: usize> Tree<W, LONG, L, I> {
    /// A walk from the root; `None` where the tree is so low that all of it is in the processor's caches.
    #[inline]
    pub(super) fn walk(&self, pin: Pinned<'_>) -> Option<Walk> {
        let (root, _) = self.root().ok()?;
        (root.level >= super::WALKED_LEVELS_MIN).then_some(Walk {
            node: root,
            tree: self.id,
            pin: pin.serial(),
        })
    }

    /// Looks at the walk's node for the key.
    #[inline]
    pub(super) fn walk_on(&self, walk: &mut Walk, pin: Pinned<'_>, key: &[u64]) -> Stepped {
        let here = (self.id, pin.serial());
        assert_eq!(
            (walk.tree, walk.pin),
            here,
            "a walk goes on in its tree, under the pin that it began under"
        );
        let probe = Probe::<W, LONG>::new(key);
        // SAFETY: it is a node of this tree, which was in it under this very pin: the root, or the child of a node that
        // was checked as it was looked up. So it is not freed yet; that it may have left the tree since does no harm.
        let node = unsafe { &*walk.node };
        let Ok(version) = node.read() else { return Stepped::Nothing };
        if node.level > 0 {
            // SAFETY: as above, and no leaf: a node's level never changes.
            let inner = unsafe { self.inner(node) };
            let Ok(i) = inner.rank(inner.count().saturating_sub(1), &probe, true, version) else {
                return Stepped::Nothing;
            };
            let child = inner.child(i);
            if inner.header.check(version).is_err() {
                return Stepped::Nothing;
            }
            if node.level == 1 {
                Node::<W, L>::prefetch(child);
            } else {
                Node::<W, I>::prefetch(child);
            }
            walk.node = child;
            return Stepped::Down;
        }
        // SAFETY: as above, a leaf.
        let leaf = unsafe { self.leaf(node) };
        match Self::position(leaf, &probe, version) {
            Ok(Ok(at)) => {
                let value = leaf.slot(at);
                if leaf.header.check(version).is_ok() { Stepped::Found(value) } else { Stepped::Nothing }
            }
            _ => Stepped::Nothing,
        }
    }
}
