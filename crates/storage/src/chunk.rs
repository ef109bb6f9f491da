//! Chunks: 2 MiB of memory on a boundary of as much, of which records and the nodes of indexes are carved.
//!
//! 1. A huge page is asked for: one fault and one TLB entry instead of 512.
//! 2. The system clears memory when it is touched first, and whoever touches it waits for that: 4 % of the time of a TPC-C run. So
//!    some chunks are kept *ready*, touched by somebody whom no transaction waits for: twice as many as are
//!    taken from one time that [`top_up`] comes by to the next, so that a load that goes on finds what it needs. When fewer are taken,
//!    they go back little by little.
//! 3. What somebody has [claimed](claim) at start is ready from then on, until it is taken or the claim ends.
//!
//! Ready chunks are the process's, whichever database takes them.

#![allow(unsafe_code)] // an allocator

use planaria_base::sync::thread;
use planaria_base::{Error, Result, SqlState};
use std::alloc::{Layout, handle_alloc_error};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Bytes of a chunk, and its alignment.
pub(crate) const CHUNK: usize = 2 << 20;

/// Chunks that are kept ready, at least and at most, once so many have been taken: small databases have none.
const READY_MIN: usize = 2;
const READY_MAX: usize = 32;
const READY_AFTER: usize = 16;

/// What the system clears at a time, at least.
const PAGE: usize = 4096;

struct Ready {
    chunks: Vec<*mut u8>,
    /// Of these so many were claimed.
    claimed: usize,
    /// Chunks taken since somebody topped up, and how many that used to be.
    taken: usize,
    pace: usize,
    /// Chunks taken since a database ended.
    taken_ever: usize,
}

// SAFETY: the chunks are nobody's.
unsafe impl Send for Ready {}

static READY: Mutex<Ready> =
    Mutex::new(Ready { chunks: Vec::new(), claimed: 0, taken: 0, pace: 0, taken_ever: 0 });

fn ready() -> MutexGuard<'static, Ready> {
    // Nothing in here panics halfway through a change.
    READY.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A chunk of huge pages, ready if there is one.
pub(crate) fn take() -> *mut u8 {
    let mut ready = ready();
    ready.taken += 1;
    ready.taken_ever += 1;
    if let Some(chunk) = ready.chunks.pop() {
        // What was claimed is for this.
        ready.claimed = ready.claimed.min(ready.chunks.len());
        return chunk;
    }
    drop(ready);
    map(true)
}

/// A chunk; a small table is better off with small pages.
pub(crate) fn map(huge_pages: bool) -> *mut u8 {
    imp::map(huge_pages).unwrap_or_else(|| handle_alloc_error(Layout::new::<[u8; CHUNK]>()))
}

/// # Safety
/// `chunk` came from this module and nothing in it is used any more.
pub(crate) unsafe fn unmap(chunk: *mut u8) {
    // SAFETY: as promised.
    unsafe { imp::unmap(chunk) }
}

/// A chunk that has been touched.
fn touched() -> Option<*mut u8> {
    let chunk = imp::map(true)?;
    for page in (0..CHUNK).step_by(PAGE) {
        // SAFETY: within the chunk, which is nobody else's. Volatile, or it would not be done at all.
        unsafe { chunk.add(page).write_volatile(0) };
    }
    Some(chunk)
}

/// Bytes that are ready.
pub fn ready_bytes() -> u64 {
    (ready().chunks.len() * CHUNK) as u64
}

/// Makes chunks ready for those who come next, or gives some back; to be called now and then.
pub fn top_up() {
    let mut now = ready();
    let taken = std::mem::take(&mut now.taken);
    if now.taken_ever < READY_AFTER {
        return;
    }
    // It grows at once, and shrinks slowly.
    now.pace = taken.max(now.pace - now.pace.div_ceil(4));
    let wanted = now.claimed.max((2 * now.pace).clamp(READY_MIN, READY_MAX));
    if now.chunks.len() > 2 * wanted {
        let given = now.chunks.split_off(2 * wanted);
        drop(now);
        // SAFETY: nobody has them any more.
        given.into_iter().for_each(|chunk| unsafe { unmap(chunk) });
        return;
    }
    // Whoever takes some meanwhile does not wait.
    while now.chunks.len() < wanted {
        drop(now);
        let Some(chunk) = touched() else { return };
        now = ready();
        now.chunks.push(chunk);
    }
}

/// Memory that was claimed at start, as far as it has not been taken.
#[derive(Debug)]
pub struct Claim(usize);

/// Makes at least so many bytes ready, on all cores. 53200 where the system has none.
pub fn claim(bytes: u64) -> Result<Claim> {
    let chunks = usize::try_from(bytes.div_ceil(CHUNK as u64)).unwrap_or(usize::MAX);
    let threads = std::thread::available_parallelism().map_or(1, usize::from).min(chunks.max(1));
    let touch = |chunks: usize| {
        for _ in 0..chunks {
            let Some(chunk) = touched() else { return false };
            let mut ready = ready();
            ready.chunks.push(chunk);
            ready.claimed += 1;
        }
        true
    };
    let done = thread::scope(|scope| {
        let share = |nth: usize| chunks / threads + usize::from(nth < chunks % threads);
        let others: Vec<_> = (1..threads).map(|nth| scope.spawn(move || touch(share(nth)))).collect();
        let own = touch(share(0));
        others.into_iter().all(|thread| thread.join().unwrap_or(false)) && own
    });
    let claim = Claim(chunks);
    if done {
        return Ok(claim);
    }
    let message = format!("the system has no {} MiB of memory to claim", chunks * CHUNK >> 20);
    Err(Error::new(SqlState::OUT_OF_MEMORY, message).with_hint("Lower memory_reserve."))
}

impl Drop for Claim {
    fn drop(&mut self) {
        let mut ready = ready();
        ready.claimed = ready.claimed.saturating_sub(self.0);
        drop(ready);
        free_ready();
    }
}

/// Gives back what is ready and was not claimed: a database has ended.
pub fn free_ready() {
    let mut ready = ready();
    let kept = ready.claimed.min(ready.chunks.len());
    let given = ready.chunks.split_off(kept);
    ready.taken_ever = 0;
    drop(ready);
    // SAFETY: nobody has them any more.
    given.into_iter().for_each(|chunk| unsafe { unmap(chunk) });
}

#[cfg(all(target_os = "linux", not(miri)))]
mod imp {
    use super::CHUNK;

    pub(super) fn map(huge_pages: bool) -> Option<*mut u8> {
        // SAFETY: a fresh anonymous mapping; what lies before and behind the aligned chunk is unmapped
        // again and was never used.
        unsafe {
            let mapped = libc::mmap(
                std::ptr::null_mut(),
                2 * CHUNK,
                libc::PROT_READ | libc::PROT_WRITE,
                libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE,
                -1,
                0,
            );
            if mapped == libc::MAP_FAILED {
                return None;
            }
            let mapped = mapped.cast::<u8>();
            let before = mapped.align_offset(CHUNK);
            if before > 0 {
                libc::munmap(mapped.cast(), before);
            }
            let chunk = mapped.add(before);
            if before < CHUNK {
                libc::munmap(chunk.add(CHUNK).cast(), CHUNK - before);
            }
            let advice = if huge_pages { libc::MADV_HUGEPAGE } else { libc::MADV_NOHUGEPAGE };
            // Only advice: without it, it is slower or larger, not wrong.
            libc::madvise(chunk.cast(), CHUNK, advice);
            Some(chunk)
        }
    }

    /// # Safety
    /// `chunk` came from `map` and nothing in it is used any more.
    pub(super) unsafe fn unmap(chunk: *mut u8) {
        // SAFETY: as promised.
        unsafe { libc::munmap(chunk.cast(), CHUNK) };
    }
}

#[cfg(not(all(target_os = "linux", not(miri))))]
mod imp {
    use super::CHUNK;
    use std::alloc::{Layout, alloc, dealloc};

    const LAYOUT: Layout = match Layout::from_size_align(CHUNK, CHUNK) {
        Ok(layout) => layout,
        Err(_) => panic!("a power of two"),
    };

    pub(super) fn map(_huge_pages: bool) -> Option<*mut u8> {
        // SAFETY: not empty.
        let chunk = unsafe { alloc(LAYOUT) };
        (!chunk.is_null()).then_some(chunk)
    }

    /// # Safety
    /// `chunk` came from `map` and nothing in it is used any more.
    pub(super) unsafe fn unmap(chunk: *mut u8) {
        // SAFETY: as promised.
        unsafe { dealloc(chunk, LAYOUT) }
    }
}
