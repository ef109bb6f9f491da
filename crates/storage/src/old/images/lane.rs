//! Where old images stand: one behind the other in chunks of memory, a lane for each writer.
//!
//! ```text
//!  lane --> chunk: [version, image][version, image].. --> chunk: [version, image]..|filled        (room)
//! ```
//!
//! A writer copies past the caches, and says at the end of a commit how far its lane is filled ([`Writer::publish`]): what
//! stands before can be found from then on, and stays as it is. Chunks of generations that are gone are filled again.

use planaria_base::CommitTs;
use planaria_base::sync::atomic::{AtomicPtr, AtomicU64, AtomicUsize, Ordering, Ordering::Relaxed};
use planaria_base::sync::model;
use std::cell::UnsafeCell;
use std::mem::MaybeUninit;
use std::ptr;
use std::sync::{Mutex, MutexGuard};
use std::time::{Duration, Instant};

const UNHARMED: &str = "nobody panics with spare chunks";

/// Words of a chunk.
const CHUNK_MIN: usize = 512;
pub(super) const CHUNK_MAX: usize = 32 << 10;
/// Chunks of [`CHUNK_MAX`] that are kept to be filled again: 256 MB.
const SPARE_MAX: usize = 1024;
/// What was not needed for so long is given back.
pub(super) const UNUSED: Duration = Duration::from_secs(20);

/// One version of a row. Its image stands behind it.
#[repr(C)]
pub(super) struct Version {
    /// An older one in the same bucket, or null. Written once, before the bucket leads here; of the standard library, as a
    /// model's is no word.
    pub(super) next: std::sync::atomic::AtomicPtr<Version>,
    pub(super) record: u64,
    pub(super) begin: CommitTs,
    pub(super) end: CommitTs,
    words: u64,
}

const HEAD_WORDS: usize = size_of::<Version>() / size_of::<u64>();

// [`Writer::put`] writes it word by word.
const _: () = assert!(
    std::mem::offset_of!(Version, record) == 8
        && std::mem::offset_of!(Version, begin) == 16
        && std::mem::offset_of!(Version, end) == 24
        && std::mem::offset_of!(Version, words) == 32
        && HEAD_WORDS == 5
);

impl Version {
    pub(super) fn image(&self) -> &[u64] {
        // SAFETY: `Keeper::put` has put that many words behind it, in the same chunk.
        unsafe { std::slice::from_raw_parts(ptr::from_ref(self).add(1).cast(), self.words as usize) }
    }
}

pub(super) type Words = Box<[UnsafeCell<MaybeUninit<u64>>]>;

pub(super) fn new_words(size: usize) -> Words {
    let words = Box::into_raw(Box::<[u64]>::new_uninit_slice(size));
    // SAFETY: a cell is as what is in it.
    unsafe { Box::from_raw(words as *mut [UnsafeCell<MaybeUninit<u64>>]) }
}

/// Writes a word past the caches: hardly any image is ever looked at, and what a transaction works with shall stay in them.
///
/// # Safety
/// As for [`ptr::write`]; and before anybody reads it, whoever has written it says [`arrive`].
#[inline]
unsafe fn pass(to: *mut u64, word: u64) {
    #[cfg(all(target_arch = "x86_64", not(any(miri, loom))))]
    // SAFETY: as promised.
    unsafe {
        std::arch::x86_64::_mm_stream_si64(to.cast(), word.cast_signed());
    }
    #[cfg(not(all(target_arch = "x86_64", not(any(miri, loom)))))]
    // SAFETY: as promised.
    unsafe {
        to.write(word);
    }
}

/// What was passed comes before all that this thread writes from now on.
#[inline]
fn arrive() {
    #[cfg(all(target_arch = "x86_64", not(any(miri, loom))))]
    // SAFETY: all processors of the kind have it.
    unsafe {
        std::arch::x86_64::_mm_sfence();
    }
}

/// Memory with versions one behind the other.
struct Chunk {
    words: Words,
    /// As many words of it are versions that can be found. Only the owner of the lane writes it.
    filled: AtomicUsize,
    /// The one to be filled after this, or null.
    next: AtomicPtr<Chunk>,
}

impl Chunk {
    fn new(words: Words) -> *mut Chunk {
        Box::into_raw(Box::new(Chunk {
            words,
            filled: AtomicUsize::new(0),
            next: AtomicPtr::new(ptr::null_mut()),
        }))
    }

    /// The version that begins at a word.
    fn version(&self, at: usize) -> *mut Version {
        debug_assert!(at < self.words.len());
        self.words.as_ptr().wrapping_add(at).cast_mut().cast()
    }
}

/// Where versions go one behind the other.
#[derive(Default)]
pub(super) struct Lane {
    first: AtomicPtr<Chunk>,
    /// Held by whoever puts some.
    pub(super) writer: model::Mutex<Writer>,
    /// How many there are. Only the owner writes it.
    pub(super) versions: AtomicU64,
}

impl Lane {
    /// Gives its memory away, which nobody else can reach any more.
    pub(super) fn empty(&self) {
        // By a swap, as loom's cells have no `get_mut`.
        let mut next = self.first.swap(ptr::null_mut(), Ordering::AcqRel);
        while !next.is_null() {
            // SAFETY: made by `Box::into_raw`; nobody can reach its versions any more.
            let chunk = unsafe { Box::from_raw(next) };
            next = chunk.next.load(Relaxed);
            // Freed when nobody waits for it.
            let unfit = Spare::lock().put(chunk.words);
            drop(unfit);
        }
    }
}

/// Where the next version goes.
pub(super) struct Writer {
    /// Null before the first one.
    chunk: *mut Chunk,
    /// Words before it in the chunk.
    at: usize,
    chunks: usize,
    /// Of all its chunks.
    pub(super) words: u64,
    pub(super) versions: u64,
}

impl Default for Writer {
    fn default() -> Self {
        Writer { chunk: ptr::null_mut(), at: 0, chunks: 0, words: 0, versions: 0 }
    }
}

// SAFETY: the chunk is the lane's own, and it is written by who holds the writer.
unsafe impl Send for Writer {}

impl Writer {
    /// Adds a version to the lane that this is the writer of.
    #[inline]
    pub(super) fn put(
        &mut self,
        lane: &Lane,
        record: u64,
        (begin, end): (CommitTs, CommitTs),
        image: impl ExactSizeIterator<Item = u64>,
    ) {
        debug_assert!(begin < end);
        let words = image.len();
        let needed = HEAD_WORDS + words;
        // SAFETY: a chunk of the lane, which goes with its generation.
        let mut chunk = unsafe { self.chunk.as_ref() };
        if chunk.is_none_or(|chunk| chunk.words.len() - self.at < needed) {
            self.grow(lane, needed);
            // SAFETY: as above.
            chunk = unsafe { self.chunk.as_ref() };
        }
        let Some(chunk) = chunk else { return };
        let version = chunk.version(self.at).cast::<u64>();
        // SAFETY: `needed` words from there on are in the chunk, and nobody else's until it is said to be filled so far. The
        // iterator is asked for as many words as it has promised, no more.
        unsafe {
            let to = version.add(HEAD_WORDS);
            let mut copied = 0;
            for word in image.take(words) {
                pass(to.add(copied), word);
                copied += 1;
            }
            // As `Version` has them.
            for (at, word) in [0, record, begin.0, end.0, copied as u64].into_iter().enumerate() {
                pass(version.add(at), word);
            }
            self.at += HEAD_WORDS + copied;
        }
        self.versions += 1;
    }

    /// What was put can be found.
    pub(super) fn publish(&self, lane: &Lane) {
        arrive();
        // SAFETY: as in `put`.
        if let Some(chunk) = unsafe { self.chunk.as_ref() } {
            chunk.filled.store(self.at, Ordering::Release);
        }
        lane.versions.store(self.versions, Relaxed);
    }

    /// A chunk with room for so many words.
    #[cold]
    fn grow(&mut self, lane: &Lane, needed: usize) {
        let size = (CHUNK_MIN << self.chunks.min(16)).min(CHUNK_MAX).max(needed);
        let words = if size == CHUNK_MAX { Spare::lock().take() } else { None };
        let new = Chunk::new(words.unwrap_or_else(|| new_words(size)));
        self.publish(lane);
        // SAFETY: a chunk of this lane, which goes with its generation.
        let before = unsafe { self.chunk.as_ref() }.map_or(&lane.first, |chunk| &chunk.next);
        before.store(new, Ordering::Release);
        (self.chunk, self.at) = (new, 0);
        self.chunks += 1;
        self.words += size as u64;
    }
}

/// Where somebody has come to in a lane.
#[derive(Clone, Copy)]
pub(super) struct Place {
    chunk: *const Chunk,
    at: usize,
}

// SAFETY: leads to a chunk of the generation that it belongs to.
unsafe impl Send for Place {}

impl Place {
    pub(super) const START: Place = Place { chunk: ptr::null(), at: 0 };

    /// The next version of a lane, if there is one more.
    pub(super) fn next<'l>(&mut self, lane: &'l Lane) -> Option<&'l Version> {
        loop {
            // SAFETY: chunks of a lane go with its generation.
            let chunk: Option<&'l Chunk> = unsafe { self.chunk.as_ref() };
            let Some(chunk) = chunk else {
                self.chunk = lane.first.load(Ordering::Acquire);
                if self.chunk.is_null() {
                    return None;
                }
                continue;
            };
            // Before it is asked how far this one is filled: once there is a next one that does not change.
            let next = chunk.next.load(Ordering::Acquire);
            if self.at < chunk.filled.load(Ordering::Acquire) {
                // SAFETY: a version begins there, written before the chunk was said to be filled so far.
                let version: &'l Version = unsafe { &*chunk.version(self.at) };
                self.at += HEAD_WORDS + version.words as usize;
                return Some(version);
            }
            if next.is_null() {
                return None;
            }
            (self.chunk, self.at) = (next, 0);
        }
    }
}

/// Memory of generations that are gone, of all tables, to be filled again: what comes fresh from the system has to be cleared
/// by it, page by page, while a commit waits, which costs more than all the copying.
static SPARE: Mutex<Spare> = Mutex::new(Spare { chunks: Vec::new(), least: 0, since: None });

pub(super) struct Spare {
    /// Of [`CHUNK_MAX`] words each.
    pub(super) chunks: Vec<Words>,
    /// There have been no fewer since then.
    pub(super) least: usize,
    pub(super) since: Option<Instant>,
}

// SAFETY: plain memory that nobody reads.
unsafe impl Send for Spare {}

impl Spare {
    fn lock() -> MutexGuard<'static, Spare> {
        SPARE.lock().expect(UNHARMED)
    }

    pub(super) fn take(&mut self) -> Option<Words> {
        let words = self.chunks.pop();
        self.least = self.least.min(self.chunks.len());
        words
    }

    /// Gives back what is of no use.
    pub(super) fn put(&mut self, words: Words) -> Option<Words> {
        if words.len() != CHUNK_MAX || self.chunks.len() >= SPARE_MAX {
            return Some(words);
        }
        self.chunks.push(words);
        None
    }

    /// Those that have not been needed for long enough.
    pub(super) fn unused(&mut self, now: Instant) -> Vec<Words> {
        if now.duration_since(*self.since.get_or_insert(now)) < UNUSED {
            return Vec::new();
        }
        let unused = self.chunks.split_off(self.chunks.len() - self.least);
        (self.least, self.since) = (self.chunks.len(), Some(now));
        unused
    }
}

/// Bytes that are kept to be filled with old versions.
#[must_use]
pub fn spare_bytes() -> u64 {
    (Spare::lock().chunks.len() * CHUNK_MAX * size_of::<u64>()) as u64
}

/// Gives all of it back to the system.
pub fn free_spare() {
    let mut spare = Spare::lock();
    let all = std::mem::take(&mut spare.chunks);
    spare.least = 0;
    drop(spare);
    drop(all);
}

/// Gives memory back to the system that has not been needed for old versions for a while. For whoever comes by now and
/// then.
pub fn give_back_spare() {
    let unused = Spare::lock().unused(Instant::now());
    drop(unused);
}
