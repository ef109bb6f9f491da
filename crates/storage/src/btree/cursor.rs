//! Range cursors, in both directions.
//!
//! A cursor copies a chunk of a leaf's entries into its own buffer and checks the leaf's version;
//! from then on they are its own. Chunks start small (a `LIMIT 1` copies little) and double. Where
//! it goes on is kept as a *key*: behind the last entry handed over, or, when the leaf is
//! exhausted, at the separator that bounds the leaf in the direction of travel. So whatever happens
//! to the leaf between two chunks, the cursor finds its place again from the root.
//!
//! Usually nothing has happened: the cursor also remembers the leaf and the parent with their
//! versions, and takes up from there if they still stand, without a descent. It follows these
//! pointers only under the pin that it got them under.
//!
//! Why no key is missed: at the moment of its check a leaf held all keys between the bound it was
//! entered with and the separator that it is left with. If keys come in, or the leaf splits, after
//! that, its insert version tells. If a neighbour's range is added to it (the neighbour was empty,
//! and unlinked), the cursor comes back to it.

#![allow(unsafe_code)] // follows remembered node pointers; each site names the check that allows it

use super::key::{Probe, Rest, inline_words, rest_of};
use super::lock::{Backoff, Header, Restart};
use super::node::Node;
use super::tree::Tree;
use super::{NodeRef, OrderedIndex};
use crate::reclaim::Pinned;
use std::cmp::Ordering;
use std::ops::Bound;

/// Entries copied first; the next chunks double.
const CHUNK_MIN: usize = 8;

/// One end of a range, with its words in a reused buffer.
#[derive(Clone, Debug, Default)]
struct End {
    words: Vec<u64>,
    kind: Kind,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
enum Kind {
    #[default]
    Unbounded,
    Included,
    Excluded,
}

impl End {
    fn set(&mut self, kind: Kind, words: &[u64]) {
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
struct Place {
    /// The pin that protects the pointers.
    pin: u64,
    leaf: *const Header,
    leaf_version: u64,
    /// The next position in the leaf: ascending, the first not copied; descending, the last copied.
    position: usize,
    /// The parent, null if the leaf is the root, and which child the leaf is.
    parent: *const Header,
    parent_version: u64,
    child: usize,
}

/// A range cursor. Reusable: its buffers stay.
pub struct Cursor {
    descending: bool,
    /// The range is exhausted once the buffer is.
    finished: bool,
    /// Where the next chunk begins, and where the range ends, in the direction of travel.
    start: End,
    end: End,
    /// Buffered entries from `at` on. Keys lie one after the other: `stride` words each, or, if that
    /// is 0, up to the word given in `key_ends`.
    values: Vec<u64>,
    keys: Vec<u64>,
    key_ends: Vec<u32>,
    stride: usize,
    at: usize,
    chunk: usize,
    place: Option<Place>,
    /// The separator that bounds the current leaf, and its parent, in the direction of travel.
    fence: End,
    parent_fence: End,
    last_node: Option<NodeRef>,
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

    /// Values that are already buffered and will be returned next: worth a prefetch.
    #[inline]
    pub fn upcoming(&self) -> &[u64] {
        &self.values[self.at..]
    }

    #[inline]
    fn key(&self, i: usize) -> &[u64] {
        if self.stride > 0 {
            &self.keys[i * self.stride..(i + 1) * self.stride]
        } else {
            let from = if i == 0 { 0 } else { self.key_ends[i - 1] as usize };
            &self.keys[from..self.key_ends[i] as usize]
        }
    }

    fn clear(&mut self) {
        self.values.clear();
        self.keys.clear();
        self.key_ends.clear();
        self.at = 0;
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
    fn ends_at_fence(&self) -> bool {
        match (self.fence.kind, self.end.kind) {
            (Kind::Unbounded, _) => true,
            (_, Kind::Unbounded) => false,
            // What is left lies at the fence or above; descending, all of it below the fence.
            _ if self.descending => compare_keys(&self.fence.words, &self.end.words).is_le(),
            _ => self.is_beyond_end(&self.fence.words),
        }
    }
}

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

impl<const W: usize, const LONG: bool, const L: usize, const I: usize> Tree<W, LONG, L, I> {
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
            None => {
                // Ascending: the first entry inside the range; descending: one past the last.
                let or_equal = cursor.descending == (cursor.start.kind == Kind::Included);
                match cursor.start.kind {
                    Kind::Unbounded => {
                        if cursor.descending {
                            n
                        } else {
                            0
                        }
                    }
                    _ => leaf.rank(n, &Probe::<W, LONG>::new(&cursor.start.words), or_equal, version)?,
                }
            }
        };
        let left = if cursor.descending { position } else { n.saturating_sub(position) };
        let chunk = left.min(cursor.chunk);
        let index = |i: usize| if cursor.descending { position - 1 - i } else { position + i };
        let mut cells = [[0; W]; L];
        for (i, cell) in cells[..chunk].iter_mut().enumerate() {
            *cell = leaf.cell(index(i));
        }
        cursor.values.extend((0..chunk).map(|i| leaf.slot(index(i))));
        let node = NodeRef::new(&leaf.header, pin);
        leaf.header.check(version)?;

        // The chunk is real: from here on nothing can fail.
        for cell in &cells[..chunk] {
            cursor.keys.extend_from_slice(&cell[..inline_words(W, LONG)]);
            if LONG {
                // SAFETY: the cell was in a leaf that checked, under this pin.
                cursor.keys.extend_from_slice(unsafe { Rest::words(rest_of::<W, LONG>(cell)) });
                cursor.key_ends.push(cursor.keys.len() as u32);
            }
        }
        if cursor.last_node != Some(node) {
            cursor.last_node = Some(node);
            on_node(node);
        }
        if chunk > 0 && cursor.is_beyond_end(cursor.key(chunk - 1)) {
            let inside = (0..chunk).take_while(|&i| !cursor.is_beyond_end(cursor.key(i))).count();
            cursor.values.truncate(inside);
            cursor.finished = true;
            return Ok(());
        }
        cursor.chunk = (cursor.chunk * 2).min(L);
        if chunk < left {
            let Cursor { start, keys, .. } = cursor;
            let from = match cursor.key_ends.len() {
                0 => keys.len() - W,
                1 => 0,
                ends => cursor.key_ends[ends - 2] as usize,
            };
            start.set(Kind::Excluded, &keys[from..]);
        } else if cursor.ends_at_fence() {
            cursor.finished = true;
            return Ok(());
        } else {
            let kind = if cursor.descending { Kind::Excluded } else { Kind::Included };
            let Cursor { start, fence, .. } = cursor;
            start.set(kind, &fence.words);
        }
        cursor.place = Some(Place {
            pin: pin.serial(),
            leaf: &leaf.header,
            leaf_version: version,
            position: if chunk < left { index(chunk - 1) + !cursor.descending as usize } else { usize::MAX },
            parent: entered.parent,
            parent_version: entered.parent_version,
            child: entered.child,
        });
        Ok(())
    }

    /// Finds the leaf to go on in: the same, its sibling, or whichever a descent leads to.
    fn enter(&self, cursor: &mut Cursor, pin: Pinned<'_>) -> Result<Entered<'_, W, L>, Restart> {
        if let Some(place) = cursor.place.take().filter(|place| place.pin == pin.serial()) {
            let Place { leaf_version: version, parent, parent_version, child, .. } = place;
            if place.position != usize::MAX {
                // SAFETY: in the tree under this very pin, hence not freed.
                let leaf = unsafe { self.leaf(place.leaf) };
                if leaf.header.check(version).is_ok() {
                    let position = Some(place.position);
                    return Ok(Entered { leaf, version, position, parent, parent_version, child });
                }
            } else if let Some(entered) = self.sibling(cursor, place)? {
                return Ok(entered);
            }
        }
        self.descend(cursor)
    }

    /// The neighbour under the same parent, if there is one and the parent has not changed.
    fn sibling(&self, cursor: &mut Cursor, place: Place) -> Result<Option<Entered<'_, W, L>>, Restart> {
        let Place { parent, parent_version, .. } = place;
        if parent.is_null() {
            return Ok(None);
        }
        // SAFETY: in the tree under this very pin, hence not freed.
        let inner = unsafe { self.inner(parent) };
        let n = inner.count();
        if inner.header.check(parent_version).is_err() {
            return Ok(None);
        }
        let child = if cursor.descending {
            place.child.checked_sub(1)
        } else {
            Some(place.child + 1).filter(|&child| child < n)
        };
        let Some(child) = child else { return Ok(None) };
        let Cursor { fence, parent_fence, .. } = cursor;
        fence.clone_from(parent_fence);
        Self::read_fence(inner, parent_version, n, child, cursor.descending, fence)?;
        let (header, version) = self.step(inner, parent_version, child)?;
        // SAFETY: the child of a node on level 1, reached under a check.
        let leaf = unsafe { self.leaf(header) };
        Ok(Some(Entered { leaf, version, position: None, parent, parent_version, child }))
    }

    /// Narrows `fence` to the separator beside child `child` of `n`, in the direction of travel.
    fn read_fence(
        inner: &Node<W, I>,
        version: u64,
        n: usize,
        child: usize,
        descending: bool,
        fence: &mut End,
    ) -> Result<(), Restart> {
        let separator =
            if descending { child.checked_sub(1) } else { Some(child).filter(|&child| child + 1 < n) };
        if let Some(separator) = separator {
            let cell = inner.cell(separator);
            fence.set(Kind::Included, &cell[..inline_words(W, LONG)]);
            if LONG {
                inner.header.check(version)?;
                // SAFETY: the cell was in a node that checked, under the caller's pin.
                fence.words.extend_from_slice(unsafe { Rest::words(rest_of::<W, LONG>(&cell)) });
            }
        }
        Ok(())
    }

    fn descend(&self, cursor: &mut Cursor) -> Result<Entered<'_, W, L>, Restart> {
        let Cursor { start, fence, parent_fence, descending, .. } = cursor;
        let probe = Probe::<W, LONG>::new(&start.words);
        fence.set(Kind::Unbounded, &[]);
        parent_fence.set(Kind::Unbounded, &[]);
        let (mut node, mut version) = self.root()?;
        let (mut parent, mut parent_version, mut child) = (std::ptr::null(), 0, 0);
        while node.level > 0 {
            // SAFETY: `node` was reached under a check and is no leaf.
            let inner = unsafe { self.inner(node) };
            let n = inner.count().max(1);
            child = match start.kind {
                Kind::Unbounded => {
                    if *descending {
                        n - 1
                    } else {
                        0
                    }
                }
                // Keys below an excluded upper bound that is itself a separator lie left of it.
                kind => {
                    let or_equal = !(*descending && kind == Kind::Excluded);
                    inner.rank(n - 1, &probe, or_equal, version)?
                }
            };
            if node.level == 1 {
                parent_fence.clone_from(fence);
            }
            Self::read_fence(inner, version, n, child, *descending, fence)?;
            (parent, parent_version) = (node, version);
            (node, version) = self.step(inner, version, child)?;
        }
        // SAFETY: `node` was reached under a check and is a leaf.
        let leaf = unsafe { self.leaf(node) };
        Ok(Entered { leaf, version, position: None, parent, parent_version, child })
    }
}
