//! Old versions of rows, for who reads the past.
//!
//! While somebody reads a snapshot, a commit that changes a row first keeps its image of before, by the row's record
//! ([`images`]). The indexes are changed as ever; nothing in them waits for the reader, and a key is free for another row
//! at once. So a commit that takes an entry out of an index puts all versions of the row that had the entry's key
//! *here*, beside that index, under the key.
//!
//! ```text
//!  waiting: version, version, ..
//!  key --BTree--> newest --> older --> ..      each: [begin, end) in commit timestamps, the image
//! ```
//!
//! 1. A version was the row of its key from the commit at `begin` to the one at `end`: a snapshot of
//!    timestamp S sees it if `begin <= S < end`. Versions of one key never overlap.
//! 2. The chain of a key is immutable but for its beginning, which changes by one compare-and-swap of the
//!    tree's value; what is unlinked is retired.
//! 3. *Order of looking.* A writer puts a version here before it changes the record or the index. So who
//!    looked into the index (or the record) first, and here afterwards, misses nothing.
//! 4. *Who looks makes the tree.* A commit only adds what it keeps to those that [wait](Waiting); whoever looks for a key
//!    enters them into the tree before. Most are forgotten before anybody looks.
//! 5. *Forgetting.* What somebody still needs is picked out of the rest key by key ([`OldVersions::sweep`]). Where
//!    nobody needs anything the whole tree goes at once ([`OldVersions::take`]); it is freed later, when nobody can
//!    look at it any more ([`Taken::free`]).
//!
//! There is no tree until somebody looks for a version; a count of zero answers most questions.

#![allow(unsafe_code)] // chains of versions behind the tree's values

use crate::btree::{BTree, Cursor, Insert};
use crate::reclaim::{Participant, Pinned};
use planaria_base::CommitTs;
use planaria_base::sync::atomic::{AtomicBool, AtomicPtr, AtomicU64, Ordering};
use planaria_base::sync::model::Mutex;
use std::ops::Bound;
use std::ptr;
use std::sync::Arc;
use waiting::Waiting;

mod images;
mod waiting;

pub(crate) use images::OldImages;
pub use images::{Forgetting, Keeper, free_spare, give_back_spare, spare_bytes};

/// Up to this many young versions are left alone.
const YOUNG_MIN: u64 = 2000;
const UNHARMED: &str = "nobody panics while sweeping";
/// Keys swept under one pin, and versions freed without a rest: a long sweep must not hold back reclamation.
const AT_A_TIME: usize = 256;

/// One version of a row.
struct Version {
    begin: CommitTs,
    end: CommitTs,
    /// Shared by the lists of all indexes that have it.
    image: Arc<[u64]>,
    /// Bytes of the image, in one of these lists.
    counted: u64,
    /// An older one of the same key, or null.
    next: *const Version,
}

impl Version {
    fn is_seen_at(&self, at: CommitTs) -> bool {
        self.begin <= at && at < self.end
    }

    /// Bytes it takes, its share of the image aside.
    const BYTES: u64 = size_of::<Version>() as u64;
}

/// What old versions take.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct OldUse {
    /// Versions of rows.
    pub versions: u64,
    /// Bytes of their images and of what leads to them.
    pub bytes: u64,
}

/// How a version is kept.
#[derive(Clone, Copy, Debug)]
pub struct Kept {
    /// The oldest of those that read the table does not need it.
    pub young: bool,
    /// No other list has its image.
    pub first: bool,
}

/// The old versions of one index.
pub struct OldVersions {
    /// Put since somebody last looked.
    waiting: Mutex<Waiting>,
    /// How many of those are in no tree yet. Who takes some out to enter them counts them until it has.
    not_entered: AtomicU64,
    /// Held by whoever takes out what waits; by who sweeps and takes the tree, too, within `sweeping`.
    entering: Mutex<()>,
    /// Null until a version is entered, and after they were taken.
    tree: AtomicPtr<BTree>,
    /// Held by whoever takes the tree, and by whoever sweeps some keys: what is taken is not being swept.
    sweeping: Mutex<()>,
    key_words_max: usize,
    /// Versions that are in, or just coming.
    versions: AtomicU64,
    image_bytes: AtomicU64,
    tree_bytes: AtomicU64,
    /// Bytes of what was taken out and is still there.
    taken_bytes: Arc<std::sync::atomic::AtomicU64>,
    /// Versions put since the last sweep that the oldest reader of the table does not need.
    young: AtomicU64,
}

/// # Safety
/// `word` was the value of a tree while the caller was pinned, and it still is; or nobody else can reach it.
unsafe fn chain<'p>(word: u64) -> Option<&'p Version> {
    let version = std::ptr::with_exposed_provenance::<Version>(word as usize);
    // SAFETY: as promised; values are addresses of versions.
    unsafe { version.as_ref() }
}

fn address(version: *const Version) -> u64 {
    version.expose_provenance() as u64
}

/// # Safety
/// `version` was made by `Box::into_raw`, and nobody can reach it any more.
unsafe fn free(version: *mut u8) {
    // SAFETY: as promised.
    drop(unsafe { Box::from_raw(version.cast::<Version>()) });
}

impl OldVersions {
    pub(crate) fn new(key_words_max: usize) -> OldVersions {
        OldVersions {
            waiting: Mutex::new(Waiting::default()),
            not_entered: AtomicU64::new(0),
            entering: Mutex::new(()),
            tree: AtomicPtr::new(ptr::null_mut()),
            sweeping: Mutex::new(()),
            key_words_max,
            versions: AtomicU64::new(0),
            image_bytes: AtomicU64::new(0),
            tree_bytes: AtomicU64::new(0),
            taken_bytes: Arc::default(),
            young: AtomicU64::new(0),
        }
    }

    /// Whether there is none. Asked after looking into the index, it tells the truth about the keys that
    /// were looked for there.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.versions.load(Ordering::Acquire) == 0
    }

    /// What it takes. Of what was taken out the bytes count until they are free.
    pub fn memory(&self) -> OldUse {
        let taken = self.taken_bytes.load(Ordering::Relaxed);
        let here = self.here();
        OldUse { bytes: here.bytes + taken, ..here }
    }

    fn here(&self) -> OldUse {
        let versions = self.versions.load(Ordering::Relaxed);
        let tree = if versions == 0 { 0 } else { self.tree_bytes.load(Ordering::Relaxed) };
        let bytes = versions * Version::BYTES + self.image_bytes.load(Ordering::Relaxed) + tree;
        OldUse { versions, bytes }
    }

    /// Whether it pays to look for versions that were kept for young readers, who have gone, while an older one goes on
    /// reading: since the last sweep many were, and a third of all there are now.
    pub fn has_many_young(&self) -> bool {
        let (young, all) = (self.young.load(Ordering::Relaxed), self.versions.load(Ordering::Relaxed));
        young > YOUNG_MIN && young > all / 3
    }

    #[inline]
    fn tree<'p>(&self, _pin: Pinned<'p>) -> Option<&'p BTree> {
        // SAFETY: found under this pin; after it was taken it is freed when all pins of now are gone.
        unsafe { self.tree.load(Ordering::Acquire).as_ref() }
    }

    #[cold]
    fn new_tree<'p>(&self, pin: Pinned<'p>) -> &'p BTree {
        let new = Box::into_raw(Box::new(BTree::new(self.key_words_max)));
        match self.tree.compare_exchange(ptr::null_mut(), new, Ordering::AcqRel, Ordering::Acquire) {
            // SAFETY: as in `tree`.
            Ok(_) => unsafe { &*new },
            Err(_) => {
                // SAFETY: nobody has seen it.
                drop(unsafe { Box::from_raw(new) });
                self.tree(pin).unwrap_or_else(|| self.new_tree(pin))
            }
        }
    }

    /// Adds a version. Call before the row or its index entries change.
    pub fn put(
        &self,
        key: &[u64],
        (begin, end): (CommitTs, CommitTs),
        image: &Arc<[u64]>,
        Kept { young, first }: Kept,
    ) {
        debug_assert!(begin < end);
        // Before it can be found, so that it never finds the count at zero.
        self.versions.fetch_add(1, Ordering::AcqRel);
        if young {
            self.young.fetch_add(1, Ordering::Relaxed);
        }
        let counted = if first { size_of_val(&**image) as u64 } else { 0 };
        self.image_bytes.fetch_add(counted, Ordering::Relaxed);
        let image = image.clone();
        let version = Version { begin, end, image, counted, next: ptr::null() };
        let mut waiting = self.waiting.lock().expect(UNHARMED);
        waiting.push(key, version);
        // Who has taken some out to enter them says so when it has: whoever looks meanwhile waits for that in any case.
        self.not_entered.store(waiting.len(), Ordering::Release);
    }

    /// The tree, with all that was put before this was called.
    #[inline]
    fn entered<'p>(&self, pin: Pinned<'p>) -> Option<&'p BTree> {
        if self.not_entered.load(Ordering::Acquire) > 0 {
            self.enter_all(pin);
        }
        self.tree(pin)
    }

    #[cold]
    fn enter_all(&self, pin: Pinned<'_>) {
        let _alone = self.entering.lock().expect(UNHARMED);
        let taken = std::mem::take(&mut *self.waiting.lock().expect(UNHARMED));
        if !taken.is_empty() {
            let tree = self.tree(pin).unwrap_or_else(|| self.new_tree(pin));
            taken.for_each(|key, version| enter(tree, pin, key, version));
            self.tree_bytes.store(tree.bytes(), Ordering::Relaxed);
        }
        let waiting = self.waiting.lock().expect(UNHARMED);
        self.not_entered.store(waiting.len(), Ordering::Release);
    }

    /// Forgets those of what waits that `needed(begin, end)` refuses.
    fn sweep_waiting(&self, needed: &dyn Fn(CommitTs, CommitTs) -> bool) {
        if self.not_entered.load(Ordering::Acquire) == 0 {
            return;
        }
        let _alone = self.entering.lock().expect(UNHARMED);
        let mut taken = std::mem::take(&mut *self.waiting.lock().expect(UNHARMED));
        let (mut gone, mut gone_bytes) = (0, 0);
        taken.retain(|version| {
            let stays = needed(version.begin, version.end);
            if !stays {
                (gone, gone_bytes) = (gone + 1, gone_bytes + version.counted);
            }
            stays
        });
        let mut waiting = self.waiting.lock().expect(UNHARMED);
        taken.append(&mut waiting);
        *waiting = taken;
        self.not_entered.store(waiting.len(), Ordering::Release);
        drop(waiting);
        self.versions.fetch_sub(gone, Ordering::AcqRel);
        self.image_bytes.fetch_sub(gone_bytes, Ordering::Relaxed);
    }

    /// The image of the row that had this key in a snapshot, if an old version has it.
    #[inline]
    pub fn find<'p>(&self, pin: Pinned<'p>, key: &[u64], at: CommitTs) -> Option<&'p [u64]> {
        if self.is_empty() {
            return None;
        }
        let word = self.entered(pin)?.get(pin, key).0?;
        Self::seen(pin, word, at)
    }

    /// Calls `f` with begin, end and image of every version of a key.
    pub fn for_each(&self, pin: Pinned<'_>, key: &[u64], mut f: impl FnMut(CommitTs, CommitTs, &Arc<[u64]>)) {
        if self.is_empty() {
            return;
        }
        let Some(word) = self.entered(pin).and_then(|tree| tree.get(pin, key).0) else { return };
        // SAFETY: found in the tree under this pin; what is unlinked from a chain is retired.
        let mut next = unsafe { chain(word) };
        while let Some(version) = next {
            f(version.begin, version.end, &version.image);
            // SAFETY: as above.
            next = unsafe { version.next.as_ref() };
        }
    }

    fn seen<'p>(_pin: Pinned<'p>, word: u64, at: CommitTs) -> Option<&'p [u64]> {
        // SAFETY: found in the tree under this pin; what is unlinked from a chain is retired.
        let mut next = unsafe { chain::<'p>(word) };
        while let Some(version) = next {
            if version.is_seen_at(at) {
                return Some(&version.image);
            }
            // SAFETY: as above.
            next = unsafe { version.next.as_ref() };
        }
        None
    }

    /// The next key of a cursor whose row in a snapshot is an old version, and that row.
    pub fn next<'c, 'p>(
        &self,
        cursor: &'c mut Cursor,
        pin: Pinned<'p>,
        at: CommitTs,
    ) -> Option<(&'c [u64], &'p [u64])> {
        // A cursor that finds no tree, as the first version is just coming, would begin at its beginning again when there is one.
        let tree = self.entered(pin).unwrap_or_else(|| self.new_tree(pin));
        loop {
            let (_, word) = cursor.next(tree, pin, |_| ())?;
            if let Some(image) = Self::seen(pin, word, at) {
                return Some((cursor.last_key(), image));
            }
        }
    }

    /// Forgets the versions that `needed(begin, end)` refuses. Calls `rest` now and then, with nothing pinned, and
    /// ends where that says `false`; whether it came to the end.
    pub fn sweep(
        &self,
        participant: &mut Participant,
        needed: &dyn Fn(CommitTs, CommitTs) -> bool,
        rest: &mut dyn FnMut() -> bool,
    ) -> bool {
        let mut cursor = Cursor::new();
        cursor.open(Bound::Unbounded, Bound::Unbounded, false);
        self.young.store(0, Ordering::Relaxed);
        self.sweep_waiting(needed);
        while !self.is_empty() {
            {
                let guard = participant.guard();
                let _here = self.sweeping.lock().expect(UNHARMED);
                let Some(tree) = self.tree(guard.pinned()) else { break };
                for _ in 0..AT_A_TIME {
                    if cursor.next(tree, guard.pinned(), |_| ()).is_none() {
                        self.tree_bytes.store(tree.bytes(), Ordering::Relaxed);
                        return true;
                    }
                    self.sweep_key(tree, guard.pinned(), cursor.last_key(), needed);
                }
            }
            if !rest() {
                return false;
            }
        }
        true
    }

    /// Takes all versions out at once, unless they are being swept, or entered. For whoever knows that nobody needs any
    /// of them, and that nobody puts one meanwhile. `None` as well if none was in the tree.
    pub fn take(&self) -> Option<Taken> {
        let _here = self.sweeping.try_lock().ok()?;
        let _alone = self.entering.try_lock().ok()?;
        let waiting = std::mem::take(&mut *self.waiting.lock().expect(UNHARMED));
        self.not_entered.store(0, Ordering::Release);
        let tree = self.tree.swap(ptr::null_mut(), Ordering::AcqRel);
        self.versions.fetch_sub(waiting.len(), Ordering::AcqRel);
        self.image_bytes.fetch_sub(waiting.counted(), Ordering::Relaxed);
        let OldUse { versions, bytes } = self.here();
        self.versions.store(0, Ordering::Release);
        self.image_bytes.store(0, Ordering::Relaxed);
        self.tree_bytes.store(0, Ordering::Relaxed);
        self.young.store(0, Ordering::Relaxed);
        if tree.is_null() {
            return None;
        }
        self.taken_bytes.fetch_add(bytes, Ordering::Relaxed);
        let counted = self.taken_bytes.clone();
        Some(Taken { tree, unseen: Arc::default(), versions, bytes, counted })
    }

    fn sweep_key(
        &self,
        tree: &BTree,
        pin: Pinned<'_>,
        key: &[u64],
        needed: &dyn Fn(CommitTs, CommitTs) -> bool,
    ) {
        while let Some(head) = tree.get(pin, key).0 {
            let (mut kept, mut gone, mut gone_bytes) = (Vec::new(), 0, 0);
            // SAFETY: found in the tree under this pin.
            let mut next = unsafe { chain(head) };
            while let Some(version) = next {
                if needed(version.begin, version.end) {
                    kept.push(version);
                } else {
                    (gone, gone_bytes) = (gone + 1, gone_bytes + version.counted);
                }
                // SAFETY: as above.
                next = unsafe { version.next.as_ref() };
            }
            if gone == 0 {
                return;
            }
            // The kept ones are made anew: a reader may be walking on the old chain.
            let mut new: *const Version = std::ptr::null();
            for Version { begin, end, image, counted, .. } in kept.into_iter().rev() {
                let (begin, end, counted, image) = (*begin, *end, *counted, image.clone());
                new = Box::into_raw(Box::new(Version { begin, end, image, counted, next: new }));
            }
            let done = if new.is_null() {
                tree.remove(pin, key, head)
            } else {
                tree.replace(pin, key, head, address(new))
            };
            if done {
                self.versions.fetch_sub(gone, Ordering::AcqRel);
                self.image_bytes.fetch_sub(gone_bytes, Ordering::Relaxed);
            }
            // SAFETY: unlinked just now, or never linked.
            unsafe { retire_chain(if done { head } else { address(new) }, pin) };
            if done {
                return;
            }
        }
    }
}

/// Puts a version at the beginning of its key's chain.
fn enter(tree: &BTree, pin: Pinned<'_>, key: &[u64], version: Version) {
    let new = Box::into_raw(Box::new(version));
    loop {
        let head = tree.get(pin, key).0;
        // SAFETY: not in the tree yet, so it is ours alone.
        unsafe { (*new).next = ptr::with_exposed_provenance(head.unwrap_or(0) as usize) };
        let done = match head {
            None => matches!(tree.insert(pin, key, address(new)), Insert::Done(_)),
            Some(old) => tree.replace(pin, key, old, address(new)),
        };
        if done {
            return;
        }
    }
}

/// # Safety
/// The chain is out of the tree, and retired once.
unsafe fn retire_chain(word: u64, pin: Pinned<'_>) {
    // By pointers: what was reached by a reference may not be freed through it.
    let mut next = std::ptr::with_exposed_provenance_mut::<Version>(word as usize);
    while !next.is_null() {
        let version = next;
        // SAFETY: as promised; every version was made by `Box::into_raw`.
        unsafe {
            next = (*version).next.cast_mut();
            pin.retire(version.cast(), free);
        }
    }
}

impl Drop for OldVersions {
    fn drop(&mut self) {
        // By a swap, as loom's cells have no `get_mut`.
        let tree = self.tree.swap(ptr::null_mut(), Ordering::AcqRel);
        if !tree.is_null() {
            // SAFETY: nobody else can reach it any more.
            unsafe { free_tree(*Box::from_raw(tree), &mut || {}) };
        }
    }
}

/// # Safety
/// Nobody else can reach the tree's chains any more; each version is in one.
unsafe fn free_tree(mut tree: BTree, rest: &mut dyn FnMut()) {
    let mut freed = 0;
    tree.values(&mut |word| {
        let mut next = ptr::with_exposed_provenance_mut::<Version>(word as usize);
        while !next.is_null() {
            // SAFETY: as promised.
            let version = unsafe { Box::from_raw(next) };
            next = version.next.cast_mut();
            freed += 1;
            if freed % AT_A_TIME == 0 {
                rest();
            }
        }
    });
}

/// # Safety
/// `flag` has been made by `Arc::into_raw`, for this.
unsafe fn raise(flag: *mut u8) {
    // SAFETY: as promised.
    let flag = unsafe { Arc::from_raw(flag.cast::<AtomicBool>()) };
    flag.store(true, Ordering::Release);
}

/// # Safety
/// `tree` was made by `Box::into_raw`, and nobody can reach it any more, nor its chains.
unsafe fn free_at_once(tree: *mut u8) {
    // SAFETY: as promised.
    unsafe { free_tree(*Box::from_raw(tree.cast()), &mut || {}) };
}

/// Old versions that nobody needs, out of their index. If it is dropped, they are freed by any thread, at one go, as
/// soon as nobody can look at them any more.
#[derive(Debug)]
pub struct Taken {
    tree: *mut BTree,
    /// Nobody can look at it any more.
    unseen: Arc<AtomicBool>,
    versions: u64,
    bytes: u64,
    /// Where the bytes count.
    counted: Arc<std::sync::atomic::AtomicU64>,
}

impl Taken {
    /// How many there are.
    pub fn versions(&self) -> u64 {
        self.versions
    }

    /// Begins to wait until nobody can look at them any more. To be called once, or they are never free.
    pub fn expire(&self, pin: Pinned<'_>) {
        let flag = Arc::into_raw(self.unseen.clone()).cast_mut();
        // SAFETY: a count of the flag of its own, given back once. Who pins from now on does not find the tree.
        unsafe { pin.retire(flag.cast(), raise) };
    }

    /// Frees them if nobody can look at them any more, calling `rest` now and then; else gives them back. Who calls
    /// again and again lets go of pins, and [flushes](Participant::flush), in between.
    pub fn free(mut self, rest: &mut dyn FnMut()) -> Result<(), Taken> {
        if !self.unseen.load(Ordering::Acquire) {
            return Err(self);
        }
        let tree = std::mem::replace(&mut self.tree, ptr::null_mut());
        // SAFETY: all who were pinned when it was taken are gone, and it is freed once.
        unsafe { free_tree(*Box::from_raw(tree), rest) };
        Ok(())
    }
}

impl Drop for Taken {
    fn drop(&mut self) {
        self.counted.fetch_sub(self.bytes, Ordering::Relaxed);
        if !self.tree.is_null() {
            let mut participant = Participant::new();
            let guard = participant.guard();
            // SAFETY: nobody who pins from now on finds it, and it is freed once.
            unsafe { guard.pinned().retire(self.tree.cast(), free_at_once) };
        }
    }
}

// SAFETY: nobody else will free what it points at.
unsafe impl Send for Taken {}

// SAFETY: versions are immutable once they can be found, and freed by the rules of `reclaim`.
unsafe impl Send for Version {}
// SAFETY: as above.
unsafe impl Sync for Version {}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    const KEPT: Kept = Kept { young: false, first: true };

    fn image(word: u64) -> Arc<[u64]> {
        Arc::from([word, word])
    }

    fn all(old: &OldVersions, pin: Pinned<'_>, at: u64, descending: bool) -> Vec<(u64, u64)> {
        let mut cursor = Cursor::new();
        cursor.open(Bound::Unbounded, Bound::Unbounded, descending);
        let mut rows = Vec::new();
        while let Some((key, image)) = old.next(&mut cursor, pin, CommitTs(at)) {
            rows.push((key[0], image[0]));
        }
        rows
    }

    #[test]
    fn a_snapshot_finds_the_version_of_its_time() {
        let old = OldVersions::new(1);
        let mut participant = Participant::new();
        let guard = participant.guard();
        let pin = guard.pinned();
        assert!(old.is_empty());
        assert_eq!(old.find(pin, &[7], CommitTs(1)), None);
        old.put(&[7], (CommitTs(1), CommitTs(3)), &image(70), KEPT);
        old.put(&[7], (CommitTs(3), CommitTs(4)), &image(71), KEPT);
        old.put(&[9], (CommitTs(0), CommitTs(2)), &image(90), KEPT);
        let find = |key: u64, at: u64| old.find(pin, &[key], CommitTs(at)).map(|image| image[0]);
        assert_eq!([0, 1, 2, 3, 4].map(|at| find(7, at)), [None, Some(70), Some(70), Some(71), None]);
        assert_eq!([1, 2].map(|at| find(9, at)), [Some(90), None]);
        assert_eq!(all(&old, pin, 1, false), [(7, 70), (9, 90)]);
        assert_eq!(all(&old, pin, 1, true), [(9, 90), (7, 70)]);
        assert_eq!(all(&old, pin, 3, false), [(7, 71)]);
        let mut versions = Vec::new();
        old.for_each(pin, &[7], |begin, end, _| versions.push((begin.0, end.0)));
        assert_eq!(versions, [(3, 4), (1, 3)]);
    }

    /// So many, but for Miri, which takes its time.
    const KEYS: u64 = if cfg!(miri) { 20 } else { 5000 };
    const VERSIONS: u64 = if cfg!(miri) { 20 } else { 500 };

    #[test]
    fn what_is_not_needed_is_forgotten_in_any_order() {
        let old = OldVersions::new(9);
        let mut participant = Participant::new();
        for key in 0..KEYS {
            // Keys of two lengths, in a tree of long keys.
            let long = [key, 1, 2, 3, 4, 5, 6, 7, 8];
            let key = if key % 2 == 0 { &long[..1] } else { &long[..] };
            for begin in 1..=3 {
                old.put(key, (CommitTs(begin), CommitTs(begin + 1)), &image(begin), KEPT);
            }
        }
        assert_eq!(old.memory().versions, 3 * KEYS);
        old.sweep(&mut participant, &|begin, _| begin != CommitTs(2), &mut || true);
        assert_eq!(old.memory().versions, 2 * KEYS);
        assert_eq!(all(&old, participant.guard().pinned(), 2, false), []);
        assert_eq!(all(&old, participant.guard().pinned(), 3, false).len() as u64, KEYS);
        old.sweep(&mut participant, &|_, end| end == CommitTs(2), &mut || true);
        assert_eq!(all(&old, participant.guard().pinned(), 1, true).len() as u64, KEYS);
        old.sweep(&mut participant, &|_, _| false, &mut || true);
        assert_eq!(old.memory(), OldUse::default());
        // Used again, and dropped with something in it.
        old.put(&[1], (CommitTs(1), CommitTs(2)), &image(1), KEPT);
        assert_eq!(old.memory().versions, 1);
        drop((old, participant));
        crate::reclaim::free_what_is_left();
    }

    #[test]
    fn a_cursor_does_not_come_back_for_the_first_version() {
        let old = OldVersions::new(1);
        let mut participant = Participant::new();
        let guard = participant.guard();
        let mut cursor = Cursor::new();
        cursor.open(Bound::Unbounded, Bound::Unbounded, false);
        // As it is while somebody puts it: counted, and not there yet.
        old.versions.fetch_add(1, Ordering::AcqRel);
        assert_eq!(old.next(&mut cursor, guard.pinned(), CommitTs(1)), None);
        old.versions.fetch_sub(1, Ordering::AcqRel);
        old.put(&[7], (CommitTs(1), CommitTs(3)), &image(70), KEPT);
        assert_eq!(old.next(&mut cursor, guard.pinned(), CommitTs(1)), None, "it has passed by");
        assert_eq!(all(&old, guard.pinned(), 1, false), [(7, 70)]);
    }

    #[test]
    fn what_nobody_has_looked_for_is_forgotten_as_well() {
        let old = OldVersions::new(9);
        let mut participant = Participant::new();
        let long = |key: u64| [key, 1, 2, 3, 4, 5, 6, 7, 8];
        let put = |key: u64, begin: u64| {
            // Of two lengths, so that keys move when others go.
            let (long, times) = (long(key), (CommitTs(begin), CommitTs(begin + 1)));
            let key = if key.is_multiple_of(2) { &long[..1] } else { &long[..] };
            old.put(key, times, &image(begin), KEPT);
        };
        (0..20).for_each(|key| put(key, 1 + key % 3));
        old.sweep(&mut participant, &|begin, _| begin == CommitTs(2), &mut || true);
        (0..20).for_each(|key| put(key, 4));
        assert!(old.tree(participant.guard().pinned()).is_none(), "nobody has looked");
        let guard = participant.guard();
        let kept: Vec<(u64, u64)> = (0..20).filter(|key| key % 3 == 1).map(|key| (key, 2)).collect();
        assert_eq!(old.memory().versions, 20 + kept.len() as u64);
        assert_eq!(all(&old, guard.pinned(), 2, false), kept);
        assert_eq!(all(&old, guard.pinned(), 4, false), (0..20).map(|key| (key, 4)).collect::<Vec<_>>());
        put(1, 5);
        let mut begun = Vec::new();
        old.for_each(guard.pinned(), &long(1), |begin, _, _| begun.push(begin.0));
        assert_eq!(begun, [5, 4, 2]);
        drop(guard);
        // Some in the tree, one not.
        put(3, 6);
        drop(old.take());
        assert!(old.is_empty() && old.find(participant.guard().pinned(), &long(3), CommitTs(6)).is_none());
        // None in the tree.
        put(3, 6);
        assert!(old.take().is_none() && old.is_empty());
        crate::reclaim::free_what_is_left();
        assert_eq!(old.memory(), OldUse::default());
    }

    #[test]
    fn what_nobody_needs_is_taken_at_once() {
        let old = OldVersions::new(1);
        let (mut reader, mut other) = (Participant::new(), Participant::new());
        assert!(old.take().is_none());
        for key in 0..KEYS {
            old.put(&[key], (CommitTs(1), CommitTs(3)), &image(key), KEPT);
            old.put(&[key], (CommitTs(3), CommitTs(4)), &image(key), KEPT);
        }
        let guard = reader.guard();
        let seen = old.find(guard.pinned(), &[1], CommitTs(2));
        let before = old.memory();
        let mut taken = old.take().expect("there are some");
        taken.expire(other.guard().pinned());
        assert_eq!((taken.versions(), before.versions), (2 * KEYS, 2 * KEYS));
        assert_eq!(old.memory(), OldUse { versions: 0, ..before });
        assert_eq!(old.find(guard.pinned(), &[1], CommitTs(2)), None);
        other.flush();
        taken = taken.free(&mut || {}).expect_err("somebody looks at it");
        assert_eq!(seen, Some(&[1, 1][..]));
        drop(guard);
        // New ones, beside those taken.
        old.put(&[1], (CommitTs(5), CommitTs(6)), &image(7), KEPT);
        let mut rests = 0;
        while let Err(not_yet) = taken.free(&mut || rests += 1) {
            taken = not_yet;
            other.flush();
            // Other tests pin, too.
            std::thread::yield_now();
        }
        assert_eq!(rests, 2 * KEYS / AT_A_TIME as u64);
        assert!(old.memory().versions == 1 && old.memory().bytes < before.bytes);
        // One that nobody frees.
        drop(old.take());
        assert_eq!(old.memory(), OldUse::default());
        drop((old, reader, other));
        crate::reclaim::free_what_is_left();
    }

    #[test]
    fn versions_come_from_many_threads_while_others_are_forgotten() {
        let old = OldVersions::new(1);
        let needed = |begin: CommitTs| begin.0.is_multiple_of(2) || begin.0 % 10 == 3;
        std::thread::scope(|scope| {
            for thread in 0..4u64 {
                let old = &old;
                scope.spawn(move || {
                    let mut participant = Participant::new();
                    for n in 1..=VERSIONS {
                        let guard = participant.guard();
                        let begin = CommitTs(10 * n + thread);
                        old.put(&[n % 7], (begin, CommitTs(begin.0 + 1)), &image(begin.0), KEPT);
                        let found = old.find(guard.pinned(), &[n % 7], begin);
                        // What is not needed may have been forgotten at once.
                        if found.is_some() || needed(begin) {
                            assert_eq!(found, Some(&[begin.0; 2][..]));
                        }
                    }
                });
            }
            let mut participant = Participant::new();
            for _ in 0..if cfg!(miri) { 5 } else { 50 } {
                old.sweep(&mut participant, &|begin, _| needed(begin), &mut || true);
                std::thread::yield_now();
            }
        });
        old.sweep(&mut Participant::new(), &|begin, _| begin.0 % 10 == 3, &mut || true);
        assert_eq!(old.memory().versions, VERSIONS);
        drop(old);
        crate::reclaim::free_what_is_left();
    }
}

#[cfg(all(test, loom))]
mod model;
