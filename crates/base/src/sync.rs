//! The door to atomics, threads, locks and time.
//!
//! Outside of tests everything behind it is the operating system's. Two kinds of tests put something else there:
//!
//! * *loom* (`--cfg loom`) goes through the interleavings of a few atomics: [`atomic`], [`model`], [`spin_hint`].
//! * *a simulation* ([`simulation`]) runs the threads of a whole database one at a time, by a seed. It takes part at
//!   run time: each place where a thread can wait, and some where it cannot, asks whether this thread belongs to
//!   one. That is a load and a branch where there is none.
//!
//! So whoever can wait does it by what stands here: [`Mutex`], [`RwLock`], [`Condvar`], [`OnceLock`], [`channel`],
//! [`thread`], [`spin_hint`]; asks [`Instant`] for the time; and takes chance from [`entropy`].

pub mod channel;
mod lock;
mod once;
pub mod simulation;
pub mod thread;
mod time;

pub use lock::{Condvar, Mutex, MutexGuard, RwLock, RwLockReadGuard, RwLockWriteGuard};
pub use once::OnceLock;
pub use time::Instant;

use simulation::Place;

/// Atomics, from std or from the model checker.
pub mod atomic {
    #[cfg(loom)]
    pub use loom::sync::atomic::{
        AtomicBool, AtomicI64, AtomicPtr, AtomicU8, AtomicU32, AtomicU64, AtomicUsize, Ordering, fence,
    };
    #[cfg(not(loom))]
    pub use std::sync::atomic::{
        AtomicBool, AtomicI64, AtomicPtr, AtomicU8, AtomicU32, AtomicU64, AtomicUsize, Ordering, fence,
    };
}

/// Locks of what loom goes through: whoever has one waits for nothing, so that a simulation need not know of them.
pub mod model {
    #[cfg(loom)]
    pub use loom::sync::{Mutex, MutexGuard, RwLock, RwLockReadGuard, RwLockWriteGuard};
    #[cfg(not(loom))]
    pub use std::sync::{Mutex, MutexGuard, RwLock, RwLockReadGuard, RwLockWriteGuard};
}

/// Loom's locks with the interface of parking_lot, for rooms that use that in the product.
#[cfg(loom)]
pub mod unpoisoned {
    use loom::sync::MutexGuard;

    /// See [`loom::sync::Mutex`].
    #[derive(Debug, Default)]
    pub struct Mutex<T>(loom::sync::Mutex<T>);

    impl<T> Mutex<T> {
        /// A free one.
        pub fn new(value: T) -> Mutex<T> {
            Mutex(loom::sync::Mutex::new(value))
        }
        /// Waits for it.
        pub fn lock(&self) -> MutexGuard<'_, T> {
            self.0.lock().expect("a model ends with its first panic")
        }
        /// Takes it if it is free.
        pub fn try_lock(&self) -> Option<MutexGuard<'_, T>> {
            self.0.try_lock().ok()
        }
    }
}

/// Tells the processor (or the model checker, or the simulation) that this thread waits for another.
#[inline]
#[track_caller]
pub fn spin_hint() {
    #[cfg(not(loom))]
    {
        if let Some(simulation) = simulation::current() {
            return simulation.give_way(Place::here("spins", ""));
        }
        std::hint::spin_loop();
    }
    #[cfg(loom)]
    loom::thread::yield_now();
}

/// A place, said by its name, where a simulation may let another thread go on. Nothing elsewhere.
#[inline(always)]
#[track_caller]
pub fn point(what: &'static str) {
    if let Some(simulation) = simulation::current() {
        simulation.point(Place::here(what, ""));
    }
}

/// 64 bits that nobody can foresee: what `source` draws, or what the simulation's seed says.
pub fn entropy(source: impl FnOnce() -> u64) -> u64 {
    simulation::current().map_or_else(source, |simulation| simulation.draw())
}
