//! Which process something belongs to.
//!
//! After `fork()` the child has a copy of the memory and of nothing that goes on in it: no other thread, no lock
//! that they would have given back, but the same open files. So whoever has threads or files of its own keeps a
//! [`Process`], and a copy of it does nothing.

#![allow(unsafe_code)]

use std::sync::Once;
use std::sync::atomic::{AtomicU32, Ordering};

/// How often this memory was copied.
static COPIES: AtomicU32 = AtomicU32::new(0);
static WATCHED: Once = Once::new();

/// The process that something was made in.
#[derive(Clone, Copy, Debug)]
pub struct Process(u32);

impl Process {
    /// This one.
    pub fn this() -> Process {
        WATCHED.call_once(watch);
        Process(COPIES.load(Ordering::Relaxed))
    }

    /// Whether this is not the process any more, but a child with a copy of its memory. Costs a load.
    #[inline]
    pub fn is_copy(self) -> bool {
        COPIES.load(Ordering::Relaxed) != self.0
    }
}

extern "C" fn in_child() {
    COPIES.fetch_add(1, Ordering::Relaxed);
}

#[cfg(not(miri))]
fn watch() {
    // SAFETY: the handler lives as long as the program, and does nothing but write a static atomic, which is
    // allowed where other threads may have held any lock.
    let outcome = unsafe { libc::pthread_atfork(None, None, Some(in_child)) };
    assert_eq!(outcome, 0, "there is no memory for a handler of fork");
}

#[cfg(miri)]
fn watch() {
    let _ = in_child;
}
