//! What may take the place of the operating system's scheduler and clock.
//!
//! The threads of a simulation are real ones, but only the one that *runs* does: all others wait inside of one of the
//! calls below. So between two calls nobody else of the simulation does anything, and a lock that cannot be had is
//! held by a thread that waits.

use std::cell::RefCell;
use std::panic::Location;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

/// Number of a thread of a simulation, in the order in which they were started, from 0.
pub type ThreadNumber = u32;

/// What a thread waits for. Addresses tell apart, and order nothing.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum On {
    /// That the lock at this address is free.
    Lock(usize),
    /// That somebody notifies the condition variable at this address.
    Signal(usize),
    /// That the thread ends.
    End(ThreadNumber),
    /// That somebody unparks the thread.
    Unpark(ThreadNumber),
    /// For time alone.
    Time,
}

/// Where a thread is, for people and for the trace.
#[derive(Clone, Copy, Debug)]
pub struct Place {
    /// What it does there.
    pub what: &'static str,
    /// The type of what it does it with; may be empty.
    pub with: &'static str,
    /// Where in the source.
    pub at: &'static Location<'static>,
}

impl Place {
    /// The caller's.
    #[track_caller]
    pub fn here(what: &'static str, with: &'static str) -> Place {
        Place { what, with, at: Location::caller() }
    }
}

impl std::fmt::Display for Place {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}", self.what)?;
        if !self.with.is_empty() {
            write!(f, " {}", self.with)?;
        }
        write!(f, " at {}:{}", self.at.file(), self.at.line())
    }
}

/// A scheduler and a clock. All but [`begin`](Simulation::begin) is called by the thread that runs.
pub trait Simulation: Send + Sync {
    /// Another thread may go on here.
    fn point(&self, place: Place);
    /// Another thread should go on here: this one waits for it.
    fn give_way(&self, place: Place);
    /// The thread goes on when it is woken, or after `longest`. Whether it was woken.
    fn block(&self, on: On, longest: Option<Duration>, place: Place) -> bool;
    /// Those that wait for it can go on, or one of them; they do not yet.
    fn wake(&self, on: On, all: bool);
    /// The thread has the lock at this address, until it wakes those that wait for it.
    fn holds(&self, lock: usize, place: Place);
    /// Time since the simulation began.
    fn now(&self) -> Duration;
    /// Chance.
    fn draw(&self) -> u64;
    /// Something happened that must happen again if the run is repeated.
    fn note(&self, what: u64);
    /// A thread is about to be started.
    fn enlist(&self, name: Option<&str>) -> ThreadNumber;
    /// The thread that was started waits until it is its turn.
    fn begin(&self, thread: ThreadNumber);
    /// The thread ends; or, if it is another one, it could not be started.
    fn end(&self, thread: ThreadNumber);
    /// Whether a thread has ended.
    fn has_ended(&self, thread: ThreadNumber) -> bool;
    /// The thread that runs.
    fn running(&self) -> ThreadNumber;
    /// Whether the run is to be the same when it is repeated, so that nothing may follow from addresses.
    fn is_repeatable(&self) -> bool;
}

/// Alone on its cache line, as it is read everywhere.
#[repr(align(128))]
struct Count(AtomicUsize);

/// Threads of simulations in this process.
static THREADS: Count = Count(AtomicUsize::new(0));

thread_local! {
    static CURRENT: RefCell<Option<Arc<dyn Simulation>>> = const { RefCell::new(None) };
}

/// The simulation that this thread belongs to.
#[inline(always)]
pub fn current() -> Option<Arc<dyn Simulation>> {
    if THREADS.0.load(Ordering::Relaxed) == 0 { None } else { look() }
}

#[cold]
#[inline(never)]
fn look() -> Option<Arc<dyn Simulation>> {
    CURRENT.try_with(|current| current.try_borrow().ok()?.clone()).ok().flatten()
}

/// Whether addresses are an order: not in a run that is to be the same when it is repeated.
#[inline(always)]
pub fn orders_by_address() -> bool {
    current().is_none_or(|simulation| !simulation.is_repeatable())
}

/// Something happened that must happen again if the run is repeated.
pub fn note(what: impl FnOnce() -> u64) {
    if let Some(simulation) = current() {
        simulation.note(what());
    }
}

/// Runs `f` as this thread of a simulation, which has enlisted it.
pub fn take_part<T>(simulation: Arc<dyn Simulation>, thread: ThreadNumber, f: impl FnOnce() -> T) -> T {
    /// Also if `f` unwinds.
    struct End(Arc<dyn Simulation>, ThreadNumber);
    impl Drop for End {
        fn drop(&mut self) {
            let _ = CURRENT.try_with(|current| current.take());
            THREADS.0.fetch_sub(1, Ordering::Relaxed);
            self.0.end(self.1);
        }
    }
    THREADS.0.fetch_add(1, Ordering::Relaxed);
    CURRENT.with(|current| current.replace(Some(simulation.clone())));
    simulation.begin(thread);
    let _end = End(simulation, thread);
    f()
}
