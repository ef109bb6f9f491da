//! Chunks: 2 MiB of memory on a boundary of as much, of which records and the nodes of indexes are carved.
//!
//! 1. A huge page is asked for: one fault and one TLB entry instead of 512.
//! 2. The system clears memory when it is touched first, and whoever touches it waits for that: 4 % of the time of a TPC-C run. So
//!    some chunks are kept *ready*, touched by somebody whom no transaction waits for ([`Keeper::top_up`]): twice as many as are
//!    taken in a while, so that a load that goes on finds what it needs. When fewer are taken, they go back little by little.
//! 3. What a database has [claimed](claim) is ready from then on, until it is taken or the database ends.
//!
//! Chunks that are ready are the process's, whichever database takes them: those that nobody has claimed first. What is freed later goes
//! back to the system.

#![allow(unsafe_code)] // an allocator

use planaria_base::sync::Instant;
use planaria_base::{Error, Result, SqlState};
use std::alloc::{Layout, handle_alloc_error};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// Bytes of a chunk, and its alignment.
pub(crate) const CHUNK: usize = 2 << 20;

/// Chunks that are kept ready, at least and at most, once so many have been taken: small databases have none.
const READY_MIN: usize = 2;
const READY_MAX: usize = 32;
const READY_AFTER: usize = 16;
/// What "a while" is; in four of them a pace is forgotten. Who comes by again sooner than a twentieth of one has nothing to do.
const WHILE: Duration = Duration::from_millis(200);

/// What the system clears at a time, at least.
const PAGE: usize = 4096;

/// Chunks that nobody uses.
struct Unused(Vec<*mut u8>);

// SAFETY: the chunks are nobody's.
unsafe impl Send for Unused {}

impl Drop for Unused {
    fn drop(&mut self) {
        // SAFETY: nobody has them any more.
        self.0.drain(..).for_each(|chunk| unsafe { unmap(chunk) });
    }
}

struct Ready {
    chunks: Unused,
    /// By claim, the oldest first.
    claims: Vec<(u64, Unused)>,
    last_claim: u64,
    keepers: usize,
    /// Chunks taken since somebody topped up, and when that was.
    taken: usize,
    topped_up: Option<Instant>,
    /// Chunks that are taken in a while.
    pace: f64,
    /// Chunks taken since there was no keeper.
    taken_ever: usize,
}

static READY: Mutex<Ready> = Mutex::new(Ready {
    chunks: Unused(Vec::new()),
    claims: Vec::new(),
    last_claim: 0,
    keepers: 0,
    taken: 0,
    topped_up: None,
    pace: 0.0,
    taken_ever: 0,
});

fn ready() -> MutexGuard<'static, Ready> {
    // Nothing in here panics halfway through a change.
    READY.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Ready {
    fn claimed(&self) -> usize {
        self.claims.iter().map(|(_, chunks)| chunks.0.len()).sum()
    }

    fn pop(&mut self) -> Option<*mut u8> {
        self.chunks.0.pop().or_else(|| self.claims.iter_mut().find_map(|(_, chunks)| chunks.0.pop()))
    }
}

/// A chunk of huge pages, ready if there is one.
pub(crate) fn take() -> *mut u8 {
    let mut ready = ready();
    ready.taken += 1;
    ready.taken_ever += 1;
    let chunk = ready.pop();
    drop(ready);
    chunk.unwrap_or_else(|| map(true))
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

/// Bytes that are ready, claimed or not.
pub fn ready_bytes() -> u64 {
    let ready = ready();
    ((ready.chunks.0.len() + ready.claimed()) * CHUNK) as u64
}

/// Somebody who keeps memory ready. With the last one what nobody has claimed goes back.
#[derive(Debug)]
pub struct Keeper(());

impl Keeper {
    /// To be dropped when its database ends.
    #[allow(clippy::new_without_default, reason = "its use is that there is one")]
    pub fn new() -> Keeper {
        ready().keepers += 1;
        Keeper(())
    }

    /// Makes chunks ready for those who come next, or gives some back; to be called now and then. It takes no more than
    /// a quarter of `room`, which is in bytes, and stops when it is to.
    pub fn top_up(&self, room: u64, stops: impl Fn() -> bool) {
        let now = Instant::now();
        let mut ready = ready();
        let passed = ready.topped_up.map_or(WHILE, |last| now - last);
        if passed < WHILE / 20 || ready.taken_ever < READY_AFTER {
            return;
        }
        ready.topped_up = Some(now);
        let whiles = passed.as_secs_f64() / WHILE.as_secs_f64();
        let taken = std::mem::take(&mut ready.taken) as f64;
        // It grows at once, and shrinks slowly.
        ready.pace = (taken / whiles).max(ready.pace * (1.0 - whiles / 4.0).max(0.0));
        let room = usize::try_from(room / 4 / CHUNK as u64).unwrap_or(usize::MAX);
        let wanted = ((2.0 * ready.pace) as usize).clamp(READY_MIN, READY_MAX).min(room);
        let wanted = wanted.saturating_sub(ready.claimed());
        let have = ready.chunks.0.len();
        if have > 2 * wanted {
            let given = Unused(ready.chunks.0.split_off(2 * wanted));
            drop(ready);
            return drop(given);
        }
        drop(ready);
        for _ in have..wanted {
            if stops() {
                return;
            }
            let Some(chunk) = touched() else { return };
            self::ready().chunks.0.push(chunk);
        }
    }
}

impl Drop for Keeper {
    fn drop(&mut self) {
        let mut ready = ready();
        ready.keepers -= 1;
        if ready.keepers > 0 {
            return;
        }
        let given = std::mem::replace(&mut ready.chunks, Unused(Vec::new()));
        (ready.taken, ready.taken_ever, ready.pace, ready.topped_up) = (0, 0, 0.0, None);
        drop(ready);
        drop(given);
    }
}

/// Memory that was claimed; what has not been taken goes back with it.
#[derive(Debug)]
pub struct Claim(u64);

/// Makes so many bytes ready. 53200 where the system gives none; that there is so much is for the caller to find out: the
/// system says so only when it is too late.
pub fn claim(bytes: u64) -> Result<Claim> {
    let mut chunks = Unused(Vec::new());
    for _ in 0..bytes.div_ceil(CHUNK as u64) {
        let Some(chunk) = touched() else {
            let message = format!("the system has no {} MiB of memory to claim", bytes >> 20);
            return Err(Error::new(SqlState::OUT_OF_MEMORY, message).with_hint("Lower memory_reserve."));
        };
        chunks.0.push(chunk);
    }
    let mut ready = ready();
    ready.last_claim += 1;
    let id = ready.last_claim;
    ready.claims.push((id, chunks));
    Ok(Claim(id))
}

impl Drop for Claim {
    fn drop(&mut self) {
        let mut ready = ready();
        let at = ready.claims.iter().position(|(id, _)| *id == self.0);
        let given = at.map(|at| ready.claims.remove(at));
        drop(ready);
        drop(given);
    }
}

#[cfg(all(target_os = "linux", not(miri)))]
mod imp {
    use super::CHUNK;

    fn map_bytes(bytes: usize) -> Option<*mut u8> {
        // SAFETY: a fresh anonymous mapping.
        let mapped = unsafe {
            libc::mmap(
                std::ptr::null_mut(),
                bytes,
                libc::PROT_READ | libc::PROT_WRITE,
                libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE,
                -1,
                0,
            )
        };
        (mapped != libc::MAP_FAILED).then_some(mapped.cast())
    }

    /// The system puts one mapping below the other, so behind an aligned one the next is aligned, too, and both are one to
    /// it: a process may have some 65,000 of them.
    fn map_aligned() -> Option<*mut u8> {
        let chunk = map_bytes(CHUNK)?;
        if chunk.align_offset(CHUNK) == 0 {
            return Some(chunk);
        }
        // SAFETY: just mapped, and not used.
        unsafe { libc::munmap(chunk.cast(), CHUNK) };
        let mapped = map_bytes(2 * CHUNK)?;
        let before = mapped.align_offset(CHUNK);
        // SAFETY: what lies before and behind the aligned chunk was just mapped, too, and never used.
        unsafe {
            if before > 0 {
                libc::munmap(mapped.cast(), before);
            }
            let chunk = mapped.add(before);
            if before < CHUNK {
                libc::munmap(chunk.add(CHUNK).cast(), CHUNK - before);
            }
            Some(chunk)
        }
    }

    pub(super) fn map(huge_pages: bool) -> Option<*mut u8> {
        let chunk = map_aligned()?;
        // SAFETY: a mapping of this process.
        unsafe {
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
