//! Fingers: lookups and inserts that begin where the last one ended.
//!
//! Whoever goes through keys in order meets the same leaf again and again. A finger remembers the leaf
//! with its version and the separators that bound it: as long as the version stands and the next key
//! lies between them, there is nothing to descend for. A separator can only move outwards while the
//! leaf's version stands (a neighbour's range is added to it), so what was inside stays inside.
//!
//! Trees of long keys take no fingers: their separators may lie aside.

#![allow(unsafe_code)] // goes back to a leaf; see `near`

use super::ahead::Stepped;
use super::key::{Cell, OwnedCell, Probe};
use super::lock::{Header, Restart};
use super::node::Node;
use super::tree::Tree;
use super::{FIXED_WORDS_MAX, Insert, NodeChanges, NodeRef, OrderedIndex};
use crate::reclaim::Pinned;

/// A place in a tree. Of use under the pin that it was got under, and for that tree.
pub struct Finger {
    pin: u64,
    tree: u64,
    /// Null where none of its leaves has been remembered yet.
    leaf: *const Header,
    version: u64,
    /// No key of the leaf is below; `None`: it is the first.
    lower: Option<[u64; FIXED_WORDS_MAX]>,
    /// Every key of the leaf is below; `None`: it is the last.
    upper: Option<[u64; FIXED_WORDS_MAX]>,
    /// Most keys of the last group lay in leaves of their own.
    apart: bool,
}

/// Keys that are looked for together, at most.
pub const GROUP: usize = 16;
/// Smaller groups say little of how far apart keys are.
const GROUP_TELLS: usize = 8;

// SAFETY: the leaf is looked at only under the pin that protects it, whichever thread holds it.
unsafe impl Send for Finger {}

/// Trees that a transaction inserts into in turns.
const FINGERS: usize = 8;

/// Where a transaction has inserted. Runs of keys (the lines of an order) go to one leaf, mostly; the first insert into a tree
/// tells nothing of whether others follow, so it descends as ever, and the second one is remembered.
#[derive(Default)]
pub struct Fingers {
    fingers: [Finger; FINGERS],
    /// Whose turn it is to be used for another tree.
    next: usize,
}

impl Default for Finger {
    fn default() -> Self {
        Finger { pin: 0, tree: 0, leaf: std::ptr::null(), version: 0, lower: None, upper: None, apart: false }
    }
}

fn widen<const W: usize>(cell: &Cell<W>) -> [u64; FIXED_WORDS_MAX] {
    std::array::from_fn(|i| if i < W { cell[i] } else { 0 })
}

fn narrow<const W: usize>(words: &[u64; FIXED_WORDS_MAX]) -> Cell<W> {
    std::array::from_fn(|i| words[i])
}

impl<const W: usize, const LONG: bool, const L: usize, const I: usize> Tree<W, LONG, L, I> {
    /// Whether it is on this tree, and of use.
    #[inline]
    fn has(&self, finger: &Finger, pin: Pinned<'_>) -> bool {
        (finger.tree, finger.pin) == (self.id, pin.serial())
    }

    /// The finger's leaf, if the key belongs there and nothing has changed in it.
    #[inline]
    fn near(&self, finger: &Finger, pin: Pinned<'_>, probe: &Probe<'_, W, LONG>) -> Option<&Node<W, L>> {
        if !self.has(finger, pin) || finger.leaf.is_null() {
            return None;
        }
        let within = finger.lower.as_ref().is_none_or(|lower| !probe.is_below(&narrow(lower)))
            && finger.upper.as_ref().is_none_or(|upper| probe.is_below(&narrow(upper)));
        if !within {
            return None;
        }
        // SAFETY: in this tree under this very pin, hence not freed.
        let leaf = unsafe { self.leaf(finger.leaf) };
        leaf.header.check(finger.version).ok().map(|()| leaf)
    }

    /// Descends to the key's leaf and puts the finger there.
    fn point(&self, finger: &mut Finger, pin: Pinned<'_>, probe: &Probe<'_, W, LONG>) -> Result<(), Restart> {
        finger.pin = 0;
        let (mut lower, mut upper) = (None, None);
        let (mut node, mut version) = self.root()?;
        while node.level > 0 {
            // SAFETY: `node` was reached under a check and is no leaf.
            let inner = unsafe { self.inner(node) };
            let n = inner.count().max(1);
            let child = inner.rank(n - 1, probe, true, version)?;
            if child > 0 {
                lower = Some(widen(&inner.cell(child - 1)));
            }
            if child + 1 < n {
                upper = Some(widen(&inner.cell(child)));
            }
            // Checks the version under which the separators were read.
            (node, version) = self.step(inner, version, child)?;
        }
        let apart = finger.apart;
        *finger = Finger { pin: pin.serial(), tree: self.id, leaf: node, version, lower, upper, apart };
        Ok(())
    }

    pub(super) fn get_near(&self, finger: &mut Finger, pin: Pinned<'_>, key: &[u64]) -> Option<u64> {
        let probe = Probe::<W, LONG>::new(key);
        if LONG || !probe.rest.is_empty() {
            return self.get(pin, key).0;
        }
        Self::retrying(|| {
            if self.near(finger, pin, &probe).is_none() {
                self.point(finger, pin, &probe)?;
            }
            // SAFETY: as in `near`.
            let leaf = unsafe { self.leaf(finger.leaf) };
            let found = Self::position(leaf, &probe, finger.version)?.ok().map(|p| leaf.slot(p));
            leaf.header.check(finger.version)?;
            Ok(found)
        })
    }

    /// The values of `count` keys ([`GROUP`] at most), which are in order: `None` where there is none, or where somebody was in the way.
    /// Keys in leaves of their own are gone down to together, so that the leaves' lines come together (see `ahead`).
    pub(super) fn get_group<'k>(
        &self,
        finger: &mut Finger,
        pin: Pinned<'_>,
        count: usize,
        key: impl Fn(usize) -> &'k [u64],
        mut found: impl FnMut(usize, Option<u64>),
    ) {
        assert!(count <= GROUP, "a group has so many keys at most");
        let mut leaves = 0;
        let walk = if finger.apart { self.walk(pin) } else { None };
        if let Some(walk) = walk {
            let mut walks = [Some(walk); GROUP];
            let mut last = std::ptr::null();
            let mut goes_on = true;
            while std::mem::take(&mut goes_on) {
                for (i, slot) in walks[..count].iter_mut().enumerate() {
                    let Some(walk) = slot else { continue };
                    let value = match self.walk_on(walk, pin, key(i)) {
                        Stepped::Down => {
                            goes_on = true;
                            continue;
                        }
                        Stepped::Found(value) => Some(value),
                        Stepped::Nothing => None,
                    };
                    leaves += usize::from(walk.node() != last);
                    last = walk.node();
                    *slot = None;
                    found(i, value);
                }
            }
        } else {
            for i in 0..count {
                let last = finger.leaf;
                let value = self.get_near(finger, pin, key(i));
                leaves += usize::from(finger.leaf != last);
                found(i, value);
            }
        }
        if count >= GROUP_TELLS {
            finger.apart = leaves * 2 > count;
        }
    }

    /// Inserts an absent key where the finger is, or where it comes to. `None`: the leaf is full, or somebody was quicker, or the
    /// key is there.
    #[inline]
    fn insert_at(
        &self,
        finger: &mut Finger,
        pin: Pinned<'_>,
        probe: &Probe<'_, W, LONG>,
        value: u64,
    ) -> Option<NodeChanges> {
        if LONG || !probe.rest.is_empty() {
            return None;
        }
        if self.near(finger, pin, probe).is_none() {
            self.point(finger, pin, probe).ok()?;
        }
        // SAFETY: as in `near`.
        let leaf = unsafe { self.leaf(finger.leaf) };
        let n = leaf.count();
        if n >= L {
            return None;
        }
        let Ok(Err(p)) = Self::position(leaf, probe, finger.version) else { return None };
        let mut locked = leaf.header.upgrade(finger.version).ok()?;
        locked.change();
        let before = NodeRef::new(&leaf.header, pin);
        locked.bump_insert_version();
        self.put(leaf, p, n, OwnedCell::new(probe), value);
        finger.version = locked.version_after();
        Some(NodeChanges { before, after: NodeRef::new(&leaf.header, pin), created: None })
    }

    pub(super) fn insert_near(
        &self,
        finger: &mut Finger,
        pin: Pinned<'_>,
        key: &[u64],
        value: u64,
    ) -> Result<(), u64> {
        let probe = Probe::<W, LONG>::new(key);
        if self.insert_at(finger, pin, &probe, value).is_some() {
            return Ok(());
        }
        match self.insert_probe(pin, &probe, value) {
            Insert::Exists(there, _) => Err(there),
            Insert::Done(_) => Ok(()),
        }
    }

    /// See [`BTree::insert_among`](super::BTree::insert_among).
    pub fn insert_among(&self, fingers: &mut Fingers, pin: Pinned<'_>, key: &[u64], value: u64) -> Insert {
        let probe = Probe::<W, LONG>::new(key);
        let on_this = fingers.fingers.iter_mut().find(|finger| self.has(finger, pin));
        match on_this {
            Some(finger) => {
                if let Some(changes) = self.insert_at(finger, pin, &probe, value) {
                    return Insert::Done(changes);
                }
            }
            None => {
                let finger = &mut fingers.fingers[fingers.next];
                fingers.next = (fingers.next + 1) % FINGERS;
                (finger.tree, finger.pin, finger.leaf) = (self.id, pin.serial(), std::ptr::null());
            }
        }
        self.insert_probe(pin, &probe, value)
    }
}
