//! Memory for records: slabs per table, carved from [chunks](crate::chunk).
//!
//! 1. A heap has a few *shards*; a worker allocates from the one its number selects, so the shard's
//!    lock is uncontended. Records are carved one behind the other, in order of insertion and whatever
//!    their size: rows inserted together lie together, and nothing is lost to slabs per size.
//! 2. Sizes are rounded to *classes*: exact to the word up to 32 words, then eight per doubling. A
//!    freed block goes to its shard's free list of that class and serves the next of the class.
//! 3. Blocks over [`CLASS_WORDS_MAX`] words come from the global allocator.
//! 4. The first chunk of a shard stays on small pages, so that a small table costs little; the others are huge pages.
//!
//! Blocks find their shard by the chunk's alignment. A *retired* block (freed later, by `reclaim`)
//! holds the shard alive; a block in use does not: dropping the heap frees all of them at once. Chunks without
//! a block in use go back to the system when somebody asks for it ([`give_back`]).

#![allow(unsafe_code)] // an allocator

mod give_back;

use crate::chunk::{self, CHUNK};
use crate::reclaim::Pinned;
use std::alloc::{Layout, alloc, dealloc, handle_alloc_error};
use std::collections::HashSet;
use std::ptr::null_mut;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

/// Largest block carved from a chunk.
pub const CLASS_WORDS_MAX: usize = 8192;
const CLASSES: usize = 32 + 8 * 8;
/// The class of blocks from the global allocator.
const HUGE: u8 = u8::MAX;
const SHARDS_MAX: usize = 32;
/// Every block comes from the global allocator (`--cfg blocks_apart`): then Miri and AddressSanitizer know where
/// each ends, and when it was freed.
const APART: bool = cfg!(blocks_apart);

const _: () = assert!(class_words(CLASSES as u8) == CLASS_WORDS_MAX);
const _: () = assert!(CLASSES < HUGE as usize);

/// The smallest class of at least `words` words; classes are numbered from 1.
const fn class_of(words: usize) -> u8 {
    if words <= 32 {
        return if words == 0 { 1 } else { words as u8 };
    }
    // 2^k < words <= 2^(k+1), in eight steps.
    let k = (words - 1).ilog2();
    let step = 1 << (k - 3);
    let nth = (words - (1 << k)).div_ceil(step);
    (32 + (k as usize - 5) * 8 + nth) as u8
}

/// Words of a block of a class.
const fn class_words(class: u8) -> usize {
    if class <= 32 {
        return class as usize;
    }
    let (k, nth) = ((class as usize - 33) / 8 + 5, (class as usize - 33) % 8 + 1);
    (1 << k) + nth * (1 << (k - 3))
}

#[repr(C, align(64))]
struct ChunkHead {
    shard: *const Shard,
}

struct Shard {
    inner: Mutex<ShardInner>,
    /// Bytes of blocks in use or retired and not yet freed.
    used: AtomicU64,
}

struct ShardInner {
    /// First free block per class; the first word of each points to the next.
    free: [*mut u64; CLASSES + 1],
    fresh: *mut u8,
    fresh_bytes: usize,
    chunks: Vec<*mut u8>,
    huge: HashSet<usize>,
    huge_bytes: u64,
}

// SAFETY: the pointers are to memory that the shard owns; the mutex guards them.
unsafe impl Send for ShardInner {}

impl Shard {
    fn new() -> Arc<Shard> {
        Arc::new(Shard {
            inner: Mutex::new(ShardInner {
                free: [null_mut(); CLASSES + 1],
                fresh: null_mut(),
                fresh_bytes: 0,
                chunks: Vec::new(),
                huge: HashSet::new(),
                huge_bytes: 0,
            }),
            used: AtomicU64::new(0),
        })
    }

    fn lock(&self) -> MutexGuard<'_, ShardInner> {
        // Nothing in here panics halfway through a change.
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn account(&self, _held: &MutexGuard<'_, ShardInner>, bytes: i64) {
        // Under the lock: a plain store suffices, and nobody waits for a locked instruction.
        let used = self.used.load(Ordering::Relaxed).wrapping_add_signed(bytes);
        self.used.store(used, Ordering::Relaxed);
    }

    #[inline]
    fn allocate(self: &Arc<Self>, class: u8) -> *mut u64 {
        let mut inner = self.lock();
        let bytes = class_words(class) * 8;
        self.account(&inner, bytes as i64);
        let head = inner.free[class as usize];
        if !head.is_null() {
            // SAFETY: the first word of a free block points to the next one (see `free`).
            inner.free[class as usize] = unsafe { head.cast::<*mut u64>().read() };
            return head;
        }
        if inner.fresh_bytes < bytes {
            self.open_chunk(&mut inner);
        }
        let block = inner.fresh;
        // SAFETY: at least `bytes` bytes of the chunk are left behind `fresh`.
        inner.fresh = unsafe { block.add(bytes) };
        inner.fresh_bytes -= bytes;
        block.cast()
    }

    #[cold]
    #[inline(never)]
    fn open_chunk(self: &Arc<Self>, inner: &mut ShardInner) {
        // What is left of the old chunk (less than the largest class) serves smaller classes.
        while inner.fresh_bytes >= 8 {
            let mut class = class_of((inner.fresh_bytes / 8).min(CLASS_WORDS_MAX));
            if class_words(class) * 8 > inner.fresh_bytes {
                class -= 1;
            }
            let block = inner.fresh;
            // SAFETY: the block lies within what is left of the chunk and is nobody's.
            unsafe {
                block.cast::<*mut u64>().write(inner.free[class as usize]);
                inner.fresh = block.add(class_words(class) * 8);
            }
            inner.free[class as usize] = block.cast();
            inner.fresh_bytes -= class_words(class) * 8;
        }
        let chunk = if inner.chunks.is_empty() { chunk::map(false) } else { chunk::take() };
        // A pointer of the count's, not of a reference to what is counted: `retire` counts by it.
        let shard = Arc::as_ptr(self);
        // SAFETY: a fresh chunk, large enough and aligned for its head.
        unsafe { chunk.cast::<ChunkHead>().write(ChunkHead { shard }) };
        inner.chunks.push(chunk);
        // SAFETY: the head is smaller than the chunk.
        inner.fresh = unsafe { chunk.add(size_of::<ChunkHead>()) };
        inner.fresh_bytes = CHUNK - size_of::<ChunkHead>();
    }

    /// # Safety
    /// `block` came from `allocate` of this shard with this class and nobody uses it any more.
    unsafe fn free(&self, block: *mut u64, class: u8) {
        let mut inner = self.lock();
        self.account(&inner, -((class_words(class) * 8) as i64));
        if cfg!(debug_assertions) {
            // A record that is looked at after its end has a descriptor that leads nowhere.
            // SAFETY: the caller gives the block up.
            unsafe { block.write_bytes(0xdd, class_words(class)) };
        }
        // SAFETY: the caller gives the block up; it has at least one word.
        unsafe { block.cast::<*mut u64>().write(inner.free[class as usize]) };
        inner.free[class as usize] = block;
    }
}

impl Drop for Shard {
    fn drop(&mut self) {
        let inner = self.inner.get_mut().unwrap_or_else(PoisonError::into_inner);
        for block in inner.huge.drain() {
            // SAFETY: a huge block that was not freed, and whose heap is gone.
            unsafe { HugeHead::release(std::ptr::with_exposed_provenance_mut(block)) }
        }
        for chunk in inner.chunks.drain(..) {
            // SAFETY: mapped by `open_chunk`; every block in it is free, or belonged to a heap that
            // is gone.
            unsafe { chunk::unmap(chunk) }
        }
    }
}

/// Stands before a huge block.
#[repr(C)]
struct HugeHead {
    shard: *const Shard,
    words: usize,
}

impl HugeHead {
    fn layout(words: usize) -> Layout {
        Layout::from_size_align(size_of::<HugeHead>() + words * 8, 8).expect("rows are limited")
    }
    /// # Safety
    /// `block` is a huge block.
    unsafe fn of(block: *mut u64) -> *mut HugeHead {
        // SAFETY: the head stands right before the block, in the same allocation.
        unsafe { block.cast::<HugeHead>().sub(1) }
    }
    /// # Safety
    /// `block` is a huge block that nobody uses any more.
    unsafe fn release(block: *mut u64) {
        // SAFETY: as promised.
        unsafe {
            let head = HugeHead::of(block);
            dealloc(head.cast(), HugeHead::layout((*head).words));
        }
    }
}

/// The memory of one table's records.
pub struct Heap {
    shards: Box<[OnceLock<Arc<Shard>>]>,
}

/// A block just allocated: uninitialised.
pub(crate) struct Block {
    pub(crate) start: *mut u64,
    pub(crate) class: u8,
}

impl Heap {
    pub(crate) fn new() -> Heap {
        let cores = std::thread::available_parallelism().map_or(1, |n| n.get());
        let shards = cores.next_power_of_two().min(SHARDS_MAX);
        Heap { shards: (0..shards).map(|_| OnceLock::new()).collect() }
    }

    fn shard(&self, worker: usize) -> &Arc<Shard> {
        self.shards[worker & (self.shards.len() - 1)].get_or_init(Shard::new)
    }

    /// A block of at least `words` words.
    #[inline]
    pub(crate) fn allocate(&self, worker: usize, words: usize) -> Block {
        let shard = self.shard(worker);
        if words > CLASS_WORDS_MAX || APART {
            return Self::allocate_huge(shard, words);
        }
        let class = class_of(words);
        Block { start: shard.allocate(class), class }
    }

    #[cold]
    fn allocate_huge(shard: &Arc<Shard>, words: usize) -> Block {
        let layout = HugeHead::layout(words);
        // SAFETY: the layout is not empty.
        let head = unsafe { alloc(layout) }.cast::<HugeHead>();
        if head.is_null() {
            handle_alloc_error(layout)
        }
        // SAFETY: room for the head and `words` words behind it.
        let start = unsafe {
            head.write(HugeHead { shard: Arc::as_ptr(shard), words });
            head.add(1).cast::<u64>()
        };
        let mut inner = shard.lock();
        inner.huge.insert(start.expose_provenance());
        inner.huge_bytes += layout.size() as u64;
        shard.account(&inner, layout.size() as i64);
        Block { start, class: HUGE }
    }

    /// Words of a block of a class; for huge ones, of this block.
    ///
    /// # Safety
    /// `block` was allocated with this class and is not freed.
    #[inline]
    pub(crate) unsafe fn words(block: *mut u64, class: u8) -> usize {
        if class == HUGE {
            // SAFETY: as promised.
            unsafe { (*HugeHead::of(block)).words }
        } else {
            class_words(class)
        }
    }

    /// # Safety
    /// `block` was allocated with this class by a heap whose shards are alive.
    unsafe fn shard_of(block: *mut u64, class: u8) -> *const Shard {
        if class == HUGE {
            // SAFETY: as promised.
            return unsafe { (*HugeHead::of(block)).shard };
        }
        let head = block.map_addr(|a| a & !(CHUNK - 1)).cast::<ChunkHead>();
        // SAFETY: chunks are aligned to their size and begin with their head.
        unsafe { (*head).shard }
    }

    /// Frees a block.
    ///
    /// # Safety
    /// It was allocated with this class, its heap is alive, nobody uses it any more.
    pub(crate) unsafe fn free(block: *mut u64, class: u8) {
        // SAFETY: as promised.
        unsafe {
            let shard = &*Heap::shard_of(block, class);
            if class == HUGE {
                let mut inner = shard.lock();
                inner.huge.remove(&block.expose_provenance());
                let bytes = HugeHead::layout((*HugeHead::of(block)).words).size();
                inner.huge_bytes -= bytes as u64;
                shard.account(&inner, -(bytes as i64));
                drop(inner);
                HugeHead::release(block);
            } else {
                shard.free(block, class);
            }
        }
    }

    /// Frees a block with `deleter` (which calls [`Heap::free_retired`]) when no reader can hold it.
    ///
    /// # Safety
    /// As for [`Heap::free`], but that readers pinned now may still use it, and lead others to it;
    /// retired once.
    pub(crate) unsafe fn retire(block: *mut u64, class: u8, pin: Pinned<'_>, deleter: unsafe fn(*mut u8)) {
        // SAFETY: as promised; the count taken here keeps the shard for the deleter.
        unsafe {
            Arc::increment_strong_count(Heap::shard_of(block, class));
            pin.retire_late(block.cast(), deleter, Heap::words(block, class) * 8);
        }
    }

    /// Frees a retired block, and its hold on the shard.
    ///
    /// # Safety
    /// Called once for each retirement, with the block's class.
    pub(crate) unsafe fn free_retired(block: *mut u64, class: u8) {
        // SAFETY: as promised; the shard is alive by the count that `retire` took.
        unsafe {
            let shard = Heap::shard_of(block, class);
            Heap::free(block, class);
            Arc::decrement_strong_count(shard);
        }
    }

    /// Bytes of blocks in use, those retired and not yet freed included.
    pub(crate) fn used_bytes(&self) -> u64 {
        self.shards.iter().filter_map(OnceLock::get).map(|s| s.used.load(Ordering::Relaxed)).sum()
    }

    /// Bytes taken from the system.
    pub(crate) fn reserved_bytes(&self) -> u64 {
        let chunks = |s: &Arc<Shard>| (s.lock().chunks.len() * CHUNK) as u64;
        self.shards.iter().filter_map(OnceLock::get).map(chunks).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn classes_cover_all_sizes_with_little_loss() {
        for words in 1..=CLASS_WORDS_MAX {
            let class = class_of(words);
            assert!(class as usize <= CLASSES);
            assert!(class_words(class) >= words, "{words}");
            assert!(class == 1 || class_words(class - 1) < words, "{words} fits a smaller class");
            assert!(class_words(class) * 8 <= words * 9 + 8, "{words} loses more than an eighth");
        }
    }

    #[test]
    #[cfg(not(blocks_apart))]
    fn chunks_without_blocks_go_back_and_the_others_serve_on() {
        let heap = Heap::new();
        let words = if cfg!(miri) { 8000 } else { 100 };
        let per_chunk = CHUNK / 8 / words;
        let mut blocks: Vec<Block> = (0..6 * per_chunk).map(|_| heap.allocate(0, words)).collect();
        let reserved = heap.reserved_bytes();
        assert_eq!(heap.give_back(), 0, "all are in use");
        // One block in the third chunk stays.
        let stays = blocks.swap_remove(2 * per_chunk + per_chunk / 2);
        for block in &blocks[..5 * per_chunk] {
            // SAFETY: nobody else knows the block.
            unsafe { Heap::free(block.start, block.class) };
        }
        let given = heap.give_back();
        assert!(given >= 2 * CHUNK as u64 && given < reserved, "{given} of {reserved}");
        assert_eq!(heap.reserved_bytes(), reserved - given);
        assert_eq!(heap.give_back(), 0, "once");
        // SAFETY: the block is in use.
        unsafe { stays.start.write(7) };
        let again: Vec<Block> = (0..5 * per_chunk).map(|_| heap.allocate(0, words)).collect();
        for block in &again {
            assert_ne!(block.start, stays.start);
            // SAFETY: allocated above.
            unsafe { block.start.write_bytes(0xff, words) };
        }
        // SAFETY: the block is in use.
        assert_eq!(unsafe { stays.start.read() }, 7);
    }

    #[test]
    #[cfg(not(blocks_apart))]
    fn blocks_are_disjoint_recycled_and_accounted() {
        let heap = Heap::new();
        let blocks: Vec<Block> = (1..3000).map(|n| heap.allocate(0, n % 700 + 1)).collect();
        let mut spans: Vec<_> = blocks.iter().map(|b| (b.start.addr(), class_words(b.class) * 8)).collect();
        spans.sort_unstable();
        assert!(spans.windows(2).all(|w| w[0].0 + w[0].1 <= w[1].0));
        assert_eq!(heap.used_bytes(), spans.iter().map(|s| s.1 as u64).sum::<u64>());
        let (first, class) = (blocks[500].start, blocks[500].class);
        // SAFETY: nobody else knows the block.
        unsafe { Heap::free(first, class) };
        assert_eq!(heap.allocate(0, class_words(class)).start, first);
        let huge = heap.allocate(0, 1 << 20);
        // SAFETY: the block is alive.
        assert_eq!(unsafe { Heap::words(huge.start, huge.class) }, 1 << 20);
        let before = heap.used_bytes();
        // SAFETY: nobody else knows the block.
        unsafe { Heap::free(huge.start, huge.class) };
        assert!(heap.used_bytes() + (8 << 20) <= before);
        assert!(heap.reserved_bytes() >= 4 << 20);
    }
}
