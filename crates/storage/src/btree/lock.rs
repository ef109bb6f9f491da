//! The version lock of a node: optimistic lock coupling (Leis et al., *The ART of Practical
//! Synchronization*, DaMoN 2016) with Silo's insert version beside it.
//!
//! One word: bit 0 *locked*, bit 1 *obsolete*, above them a counter that moves with every change.
//!
//! * A reader takes the word with [`Header::read`] (waits while locked, refuses obsolete nodes),
//!   reads what it wants with relaxed loads, and calls [`Header::check`]. Only then may it believe,
//!   or follow, what it read.
//! * A writer turns a version it read into a lock with [`Header::upgrade`]: success says that all it
//!   read under that version still holds. Locks are only ever tried, never waited for while holding
//!   another (but by `clear`, top down), so there is no deadlock.
//!
//! Why that is free of data races: every field that changes is an atomic. Why it is right: the
//! release fence after locking and the acquire fence before checking order the data accesses
//! between the two version accesses (Boehm, *Can seqlocks get along with programming language
//! memory models?*, MSPC 2012), so a reader that saw any store of a writer sees its lock too.

use planaria_base::sync::atomic::{AtomicU32, AtomicU64, Ordering, fence};
use planaria_base::sync::{spin_hint, thread};

/// The attempt met a concurrent change: begin again at the root.
#[derive(Debug)]
pub(super) struct Restart;

const LOCKED: u64 = 1;
const OBSOLETE: u64 = 2;
const STEP: u64 = 4;

/// Spins before a locked node counts as contended.
const SPINS_MAX: u32 = 64;

/// The head of every node, whatever its key width: 32 bytes.
#[repr(C)]
pub(super) struct Header {
    version: AtomicU64,
    /// Moves when a key is inserted into the leaf, when it splits and when it is unlinked; not on
    /// removals or replacements (Silo §4.6).
    pub(super) insert_version: AtomicU64,
    /// Entries of a leaf, children of an inner node.
    pub(super) count: AtomicU32,
    /// 0 for a leaf, otherwise one more than the children. Never changes.
    pub(super) level: u32,
    /// Leaf: [`Marks`], packed.
    marks: AtomicU32,
    /// Leaf of a long tree: bytes of out-of-line keys that came (or went: two's complement) since
    /// they were last added to the tree's count.
    pub(super) rest_bytes: AtomicU32,
}

/// What a leaf remembers of its own history. Read and written under the lock.
#[derive(Clone, Copy)]
pub(super) struct Marks {
    /// Position of the last insert.
    pub(super) position: u8,
    /// How many inserts in a row went right behind the one before: tells ascending runs.
    pub(super) run: u8,
    /// Entries already in the tree's count.
    pub(super) accounted: u16,
}

impl Header {
    pub(super) fn new(level: u32) -> Header {
        Header {
            version: AtomicU64::new(0),
            insert_version: AtomicU64::new(0),
            count: AtomicU32::new(0),
            level,
            marks: AtomicU32::new(0),
            rest_bytes: AtomicU32::new(0),
        }
    }

    #[inline]
    pub(super) fn marks(&self) -> Marks {
        let [position, run, low, high] = self.marks.load(Ordering::Relaxed).to_le_bytes();
        Marks { position, run, accounted: u16::from_le_bytes([low, high]) }
    }

    #[inline]
    pub(super) fn set_marks(&self, marks: Marks) {
        let [low, high] = marks.accounted.to_le_bytes();
        self.marks.store(u32::from_le_bytes([marks.position, marks.run, low, high]), Ordering::Relaxed);
    }

    /// A version under which nobody writes.
    #[inline]
    pub(super) fn read(&self) -> Result<u64, Restart> {
        let version = self.version.load(Ordering::Acquire);
        if version & (LOCKED | OBSOLETE) == 0 { Ok(version) } else { self.read_contended() }
    }

    #[cold]
    fn read_contended(&self) -> Result<u64, Restart> {
        for _ in 0..SPINS_MAX {
            let version = self.version.load(Ordering::Acquire);
            if version & OBSOLETE != 0 {
                return Err(Restart);
            }
            if version & LOCKED == 0 {
                return Ok(version);
            }
            spin_hint();
        }
        Err(Restart)
    }

    /// Has everything read since [`read`](Self::read) gave `version` been one state of the node?
    #[inline]
    pub(super) fn check(&self, version: u64) -> Result<(), Restart> {
        fence(Ordering::Acquire);
        if self.version.load(Ordering::Relaxed) == version { Ok(()) } else { Err(Restart) }
    }

    /// Locks the node if it is still as it was at `version`.
    #[inline]
    pub(super) fn upgrade(&self, version: u64) -> Result<Locked<'_>, Restart> {
        match self.version.compare_exchange(version, version | LOCKED, Ordering::Acquire, Ordering::Relaxed) {
            Ok(_) => {
                // No store to the node may be seen before the lock is.
                fence(Ordering::Release);
                Ok(Locked { header: self, release: version })
            }
            Err(_) => Err(Restart),
        }
    }

    /// Waits for the lock; `None` if the node is obsolete.
    pub(super) fn lock(&self) -> Option<Locked<'_>> {
        let mut backoff = Backoff::default();
        loop {
            let version = self.version.load(Ordering::Relaxed);
            if version & OBSOLETE != 0 {
                return None;
            }
            if version & LOCKED == 0
                && let Ok(locked) = self.upgrade(version)
            {
                return Some(locked);
            }
            backoff.wait();
        }
    }

    #[inline]
    pub(super) fn count(&self) -> usize {
        self.count.load(Ordering::Relaxed) as usize
    }
}

/// A held lock. Dropped as it is, it leaves the version as it was: nothing changed.
pub(super) struct Locked<'n> {
    header: &'n Header,
    release: u64,
}

impl Locked<'_> {
    /// The node is going to change: whoever reads it now must notice. Call before the first store.
    #[inline]
    pub(super) fn change(&mut self) {
        debug_assert_eq!(self.release & OBSOLETE, 0);
        self.release = (self.release & !OBSOLETE) + STEP;
    }

    /// The node's version once this lock is given back.
    #[inline]
    pub(super) fn version_after(&self) -> u64 {
        self.release
    }

    /// Moves the insert version and returns it as (before, after).
    #[inline]
    pub(super) fn bump_insert_version(&mut self) -> (u64, u64) {
        let before = self.header.insert_version.load(Ordering::Relaxed);
        self.header.insert_version.store(before + 1, Ordering::Release);
        (before, before + 1)
    }

    /// The node leaves the tree for good.
    pub(super) fn retire(mut self) {
        self.bump_insert_version();
        self.release = (self.release + STEP) | OBSOLETE;
    }
}

impl Drop for Locked<'_> {
    #[inline]
    fn drop(&mut self) {
        self.header.version.store(self.release, Ordering::Release);
    }
}

/// Waiting that grows: a few spins, then the processor is left to others.
#[derive(Default)]
pub(super) struct Backoff(u32);

impl Backoff {
    #[cold]
    pub(super) fn wait(&mut self) {
        if cfg!(loom) || self.0 < 6 {
            for _ in 0..if cfg!(loom) { 1 } else { 1 << self.0 } {
                spin_hint();
            }
            self.0 += 1;
        } else {
            thread::yield_now();
        }
    }
}
