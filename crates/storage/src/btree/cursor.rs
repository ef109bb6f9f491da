//! Range cursors, in both directions.
//!
//! A cursor copies a chunk of a leaf's entries into its own buffer and checks the leaf's version;
//! from then on they are its own. Chunks start small (a `LIMIT 1` copies little) and grow. Where
//! it goes on is kept as a *key*: behind the last entry handed over, or, when the leaf is
//! exhausted, at the separator that bounds the leaf in the direction of travel. So whatever happens
//! to the leaf between two chunks, the cursor finds its place again from the root.
//!
//! (The tree's side of this is in `fill`.) Usually nothing has happened: the cursor also remembers the leaf and the parent with their
//! versions, and takes up from there if they still stand, without a descent. It follows these
//! pointers only under the pin that it got them under.
//!
//! Why no key is missed: at the moment of its check a leaf held all keys between the bound it was
//! entered with and the separator that it is left with. If keys come in, or the leaf splits, after
//! that, its insert version tells. If a neighbour's range is added to it (the neighbour was empty,
//! and unlinked), the cursor comes back to it.
//!
//! Why none is handed out twice: a leaf holds no key at its separator or beyond, at the version it was
//! read at. The separator of the last leaf of an inner node lies in a node further up, and moves when a
//! neighbour of the *inner* node is unlinked: neither the leaf nor its parent changes by that. So the
//! node that a separator was taken from is checked once the leaf's version is known.

#![allow(unsafe_code)] // a cursor may move to another thread

use super::lock::Header;
use super::{NodeRef, OrderedIndex};
use crate::reclaim::Pinned;
use std::cmp::Ordering;
use std::ops::Bound;

/// Entries copied first.
const CHUNK_MIN: usize = 8;
/// Entries up to the end of the range that are copied at once.
pub(super) const CHUNK_LAST: usize = 16;
/// By how much the next chunk is larger.
pub(super) const CHUNK_GROWTH: usize = 4;

/// One end of a range, with its words in a reused buffer.
#[derive(Clone, Debug, Default)]
pub(super) struct End {
    pub(super) words: Vec<u64>,
    pub(super) kind: Kind,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) enum Kind {
    #[default]
    Unbounded,
    Included,
    Excluded,
}

impl End {
    #[inline]
    pub(super) fn set(&mut self, kind: Kind, words: &[u64]) {
        self.kind = kind;
        self.words.clear();
        self.words.extend_from_slice(words);
    }

    fn set_bound(&mut self, bound: Bound<&[u64]>) {
        match bound {
            Bound::Unbounded => self.set(Kind::Unbounded, &[]),
            Bound::Included(words) => self.set(Kind::Included, words),
            Bound::Excluded(words) => self.set(Kind::Excluded, words),
        }
    }
}

/// Compares key words as if followed by endless zeros, as indexes do.
pub fn compare_keys(a: &[u64], b: &[u64]) -> Ordering {
    let common = a.len().min(b.len());
    a[..common].cmp(&b[..common]).then_with(|| {
        if a[common..].iter().any(|&word| word != 0) {
            Ordering::Greater
        } else if b[common..].iter().any(|&word| word != 0) {
            Ordering::Less
        } else {
            Ordering::Equal
        }
    })
}

/// Where the last chunk came from.
#[derive(Clone, Copy)]
pub(super) struct Place {
    /// The pin that protects the pointers.
    pub(super) pin: u64,
    pub(super) leaf: *const Header,
    pub(super) leaf_version: u64,
    /// Where the next chunk begins in the leaf (descending: ends); `None` if the leaf is exhausted.
    pub(super) position: Option<usize>,
    /// The parent, null if the leaf is the root, and which child the leaf is.
    pub(super) parent: *const Header,
    pub(super) parent_version: u64,
    pub(super) child: usize,
}

/// A range cursor. Reusable: its buffers stay.
pub struct Cursor {
    pub(super) descending: bool,
    /// The range is exhausted once the buffer is.
    pub(super) finished: bool,
    /// Where the next chunk begins, and where the range ends, in the direction of travel.
    pub(super) start: End,
    pub(super) end: End,
    /// Buffered entries from `at` on. Keys lie one after the other: `stride` words each, or, if that
    /// is 0, up to the word given in `key_ends`.
    pub(super) values: Vec<u64>,
    pub(super) keys: Vec<u64>,
    pub(super) key_ends: Vec<u32>,
    pub(super) stride: usize,
    pub(super) at: usize,
    pub(super) chunk: usize,
    pub(super) place: Option<Place>,
    /// The separator that bounds the current leaf, in the direction of travel, and the one that
    /// bounds its parent.
    pub(super) fence: End,
    pub(super) parent_fence: End,
    /// The node that `parent_fence` was read in, and its version then. Null if there is no such separator.
    pub(super) parent_fence_in: (*const Header, u64),
    pub(super) last_node: Option<NodeRef>,
}

// SAFETY: the remembered pointers are followed only under the pin that protects them, whichever
// thread holds it.
unsafe impl Send for Cursor {}

impl Default for Cursor {
    fn default() -> Self {
        Self::new()
    }
}

impl Cursor {
    /// A cursor over nothing.
    pub fn new() -> Cursor {
        Cursor {
            descending: false,
            finished: true,
            start: End::default(),
            end: End::default(),
            values: Vec::new(),
            keys: Vec::new(),
            key_ends: Vec::new(),
            stride: 0,
            at: 0,
            chunk: CHUNK_MIN,
            place: None,
            fence: End::default(),
            parent_fence: End::default(),
            parent_fence_in: (std::ptr::null(), 0),
            last_node: None,
        }
    }

    /// Begins a scan of the keys between two bounds, from the lower up or, `descending`, from the
    /// upper down.
    pub fn open(&mut self, lower: Bound<&[u64]>, upper: Bound<&[u64]>, descending: bool) {
        let (start, end) = if descending { (upper, lower) } else { (lower, upper) };
        self.start.set_bound(start);
        self.end.set_bound(end);
        self.descending = descending;
        self.finished = false;
        self.clear();
        self.chunk = CHUNK_MIN;
        self.place = None;
        self.last_node = None;
    }

    /// The next entry. `on_node` hears of every leaf that the scan depends on, also of one that
    /// turned out to hold nothing, before an entry of it is returned.
    ///
    /// The key has the words that the tree holds; compare it with [`compare_keys`].
    #[inline]
    pub fn next<T: OrderedIndex + ?Sized>(
        &mut self,
        tree: &T,
        pin: Pinned<'_>,
        mut on_node: impl FnMut(NodeRef),
    ) -> Option<(&[u64], u64)> {
        if self.at == self.values.len() {
            if self.finished {
                return None;
            }
            tree.fill(self, pin, &mut on_node);
            if self.values.is_empty() {
                return None;
            }
        }
        let i = self.at;
        self.at += 1;
        Some((self.key(i), self.values[i]))
    }

    /// The key of the entry that [`Cursor::next`] returned last.
    #[inline]
    pub fn last_key(&self) -> &[u64] {
        self.key(self.at - 1)
    }

    /// The key of the entry that [`Cursor::next`] returned before that, of the same chunk.
    pub fn last_key_but_one(&self) -> &[u64] {
        self.key(self.at - 2)
    }

    /// The key of the entry that [`Cursor::next`] returned last, if that was one.
    pub fn came_to(&self) -> Option<&[u64]> {
        (self.at > 0).then(|| self.last_key())
    }

    /// Values that are already buffered and will be returned next: worth a prefetch.
    #[inline]
    pub fn upcoming(&self) -> &[u64] {
        &self.values[self.at..]
    }

    #[inline]
    pub(super) fn key(&self, i: usize) -> &[u64] {
        if self.stride > 0 {
            &self.keys[i * self.stride..(i + 1) * self.stride]
        } else {
            let from = if i == 0 { 0 } else { self.key_ends[i - 1] as usize };
            &self.keys[from..self.key_ends[i] as usize]
        }
    }

    pub(super) fn clear(&mut self) {
        self.values.clear();
        self.keys.clear();
        self.key_ends.clear();
        self.at = 0;
    }

    /// The next chunk begins behind buffered entry `i`.
    pub(super) fn start_behind(&mut self, i: usize) {
        let Cursor { start, keys, key_ends, stride, .. } = self;
        let last = if *stride > 0 {
            &keys[i * *stride..(i + 1) * *stride]
        } else {
            &keys[if i == 0 { 0 } else { key_ends[i - 1] as usize }..key_ends[i] as usize]
        };
        start.set(Kind::Excluded, last);
    }

    /// The next chunk begins where the leaf ends.
    pub(super) fn start_at_fence(&mut self) {
        let kind = if self.descending { Kind::Excluded } else { Kind::Included };
        self.start.set(kind, &self.fence.words);
    }

    /// Is the key at or beyond the end of the range?
    fn is_beyond_end(&self, key: &[u64]) -> bool {
        if self.end.kind == Kind::Unbounded {
            return false;
        }
        let mut order = compare_keys(key, &self.end.words);
        if self.descending {
            order = order.reverse();
        }
        order == Ordering::Greater || (order == Ordering::Equal && self.end.kind == Kind::Excluded)
    }

    /// Does the range end within the leaf that `fence` bounds?
    pub(super) fn ends_at_fence(&self) -> bool {
        match (self.fence.kind, self.end.kind) {
            (Kind::Unbounded, _) => true,
            (_, Kind::Unbounded) => false,
            // What is left lies at the fence or above; descending, all of it below the fence.
            _ if self.descending => compare_keys(&self.fence.words, &self.end.words).is_le(),
            _ => self.is_beyond_end(&self.fence.words),
        }
    }
}
