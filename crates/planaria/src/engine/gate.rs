//! The gate between transactions and schema changes.
//!
//! Every attempt of a transaction passes the gate and stands inside until it ends; a schema change
//! closes the gate, waits until nobody stands inside, and has the engine for itself. It is Dekker's
//! protocol, one side of which is every core's own cache line:
//!
//! 1. a worker writes `inside` (its own word), then reads `closed`; if closed it steps back;
//! 2. a schema change writes `closed`, then reads every worker's `inside` until all are out.
//!
//! With sequential consistency between the write and the read on both sides, never both pass.
//! Cost for a transaction: one store with a fence to a line no other core writes.
//!
//! An interactive transaction stands inside only while one of its statements runs. A schema change
//! in between leaves it with an old snapshot; its next statement finds that and ends in 40001.
//!
//! A transaction block that changes the schema keeps the gate closed until its end
//! ([`schema_block`](super::schema_block)), which may be long: who waits at the gate does so with patience that
//! can end. What takes a transaction back does not wait: nothing of it was there for others.

use planaria_base::limits::WORKERS_MAX;
use planaria_base::sync::{Condvar, Mutex, MutexGuard, thread};
use planaria_base::{Error, Result, SqlState, WorkerId};
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::thread::ThreadId;
use std::time::Duration;

/// How often whoever waits is asked whether it goes on waiting.
const LOOK: Duration = Duration::from_millis(20);
/// Looks at the seats before whoever closes the gate begins to sleep between two.
const LOOKS_AWAKE: u32 = 1_000;
/// How long it sleeps.
const NAP: Duration = Duration::from_micros(100);

/// Asked now and then by whoever waits: whether to go on waiting.
pub(crate) type Patience<'p> = &'p mut dyn FnMut() -> bool;

#[repr(align(128))]
#[derive(Default)]
struct Seat {
    inside: AtomicBool,
    /// Waits at the gate, to be seen by others.
    waits: AtomicBool,
}

/// A worker at the gate.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct AtGate {
    pub(crate) worker: WorkerId,
    /// It keeps the gate closed; else it waits.
    pub(crate) holds: bool,
}

/// See the module's head.
pub(crate) struct Gate {
    seats: Box<[Seat]>,
    closed: AtomicBool,
    /// A transaction block has closed it, and keeps it so until its end: its seat, from 1; 0 where none does.
    held: AtomicU32,
    /// The thread that ran the block's first change.
    holder: Mutex<Option<ThreadId>>,
    /// Whether a schema change is under way, or about to be.
    taken: Mutex<bool>,
    reopened: Condvar,
    free: Mutex<Vec<u16>>,
    /// The last seat, for whoever opens a snapshot for a checkpoint: no flood of sessions keeps it out.
    apart: Mutex<()>,
    /// Highest seat ever taken, so that a schema change does not look at all of them.
    seats_used: AtomicU64,
}

/// A schema change has the engine for itself as long as this lives.
pub(crate) struct Exclusive<'g>(&'g Gate);

/// Seats for sessions.
const SESSIONS_MAX: usize = WORKERS_MAX - 1;

/// The seat apart from the sessions.
pub(crate) struct Apart<'g> {
    gate: &'g Gate,
    pub(crate) worker: WorkerId,
    _held: MutexGuard<'g, ()>,
}

impl Drop for Apart<'_> {
    fn drop(&mut self) {
        self.gate.leave(self.worker);
    }
}

impl Gate {
    pub(crate) fn new() -> Gate {
        Gate {
            seats: (0..WORKERS_MAX).map(|_| Seat::default()).collect(),
            closed: AtomicBool::new(false),
            held: AtomicU32::new(0),
            holder: Mutex::new(None),
            taken: Mutex::new(false),
            reopened: Condvar::new(),
            free: Mutex::new((0..SESSIONS_MAX as u16).rev().collect()),
            apart: Mutex::new(()),
            seats_used: AtomicU64::new(0),
        }
    }

    /// Takes a seat; 53300 where all are taken.
    pub(crate) fn sit_down(&self) -> Result<WorkerId> {
        let seat = self.free.lock().pop().ok_or_else(|| {
            Error::new(SqlState::TOO_MANY_CONNECTIONS, "all seats for sessions are taken")
                .detail(format!("At most {SESSIONS_MAX} sessions can be open."))
        })?;
        self.seats_used.fetch_max(u64::from(seat) + 1, Ordering::SeqCst);
        Ok(WorkerId(seat))
    }

    /// Takes the seat apart from the sessions, for a short time; waits for whoever has it.
    pub(crate) fn sit_apart(&self) -> Apart<'_> {
        let held = self.apart.lock();
        Apart { gate: self, worker: WorkerId(SESSIONS_MAX as u16), _held: held }
    }

    /// Gives the seat back.
    pub(crate) fn stand_up(&self, worker: WorkerId) {
        self.leave(worker);
        self.free.lock().push(worker.0);
    }

    /// Passes the gate if it is open: whether it was.
    #[inline]
    pub(crate) fn try_enter(&self, worker: WorkerId) -> bool {
        let seat = &self.seats[worker.0 as usize];
        seat.inside.store(true, Ordering::SeqCst);
        let open = !self.closed.load(Ordering::SeqCst);
        if !open {
            self.leave(worker);
        }
        open
    }

    /// Passes the gate; waits while a schema change is under way, as long as the patience lasts: whether it did.
    #[cold]
    pub(crate) fn enter_patiently(&self, worker: WorkerId, patience: Patience<'_>) -> bool {
        loop {
            if self.try_enter(worker) {
                return true;
            }
            let mut taken = self.taken.lock();
            while self.closed.load(Ordering::SeqCst) {
                if !patience() {
                    return false;
                }
                self.reopened.wait_for(&mut taken, LOOK);
            }
        }
    }

    /// Whether this worker stands inside: for itself to ask.
    pub(crate) fn stands_inside(&self, worker: WorkerId) -> bool {
        self.seats[worker.0 as usize].inside.load(Ordering::Relaxed)
    }

    /// Leaves.
    #[inline]
    pub(crate) fn leave(&self, worker: WorkerId) {
        self.seats[worker.0 as usize].inside.store(false, Ordering::Release);
    }

    /// Closes the gate behind the last transaction inside. The caller must not stand inside.
    pub(crate) fn close(&self) -> Exclusive<'_> {
        self.close_patiently(&mut || true);
        Exclusive::closed(self)
    }

    /// The same as long as the patience lasts: whether it did. Then it is the caller's to [open](Self::open).
    pub(crate) fn close_patiently(&self, patience: Patience<'_>) -> bool {
        let mut taken = self.taken.lock();
        while *taken {
            if !patience() {
                return false;
            }
            self.reopened.wait_for(&mut taken, LOOK);
        }
        *taken = true;
        drop(taken);
        self.closed.store(true, Ordering::SeqCst);
        let mut looks = 0;
        let used = &self.seats[..self.seats_used.load(Ordering::SeqCst) as usize];
        for seat in used.iter().chain(&self.seats[SESSIONS_MAX..]) {
            while seat.inside.load(Ordering::SeqCst) {
                looks += 1;
                if looks < LOOKS_AWAKE {
                    thread::yield_now();
                } else if patience() {
                    thread::sleep(NAP);
                } else {
                    self.open();
                    return false;
                }
            }
        }
        true
    }

    /// Whoever has closed it keeps it closed beyond the statement.
    pub(crate) fn hold(&self, worker: WorkerId) {
        *self.holder.lock() = Some(std::thread::current().id());
        self.held.store(u32::from(worker.0) + 1, Ordering::SeqCst);
    }

    /// Whether a transaction block keeps it closed.
    pub(crate) fn is_held(&self) -> bool {
        self.held.load(Ordering::SeqCst) != 0
    }

    /// Runs what waits at the gate so that others see that this worker does.
    pub(crate) fn seen_waiting<T>(&self, worker: WorkerId, wait: impl FnOnce() -> T) -> T {
        let seat = &self.seats[usize::from(worker.0)];
        seat.waits.store(true, Ordering::Relaxed);
        let done = wait();
        seat.waits.store(false, Ordering::Relaxed);
        done
    }

    /// Who holds it, and who waits at it: sessions alone.
    pub(crate) fn at_gate(&self) -> Vec<AtGate> {
        let holder = self.held.load(Ordering::SeqCst).checked_sub(1);
        let holder = holder.map(|seat| AtGate { worker: WorkerId(seat as u16), holds: true });
        let used = &self.seats[..self.seats_used.load(Ordering::SeqCst) as usize];
        let waits = used.iter().enumerate().filter(|(_, seat)| seat.waits.load(Ordering::Relaxed));
        let waiting = waits.map(|(seat, _)| AtGate { worker: WorkerId(seat as u16), holds: false });
        holder.into_iter().chain(waiting).collect()
    }

    /// 25001 where this thread would wait for itself to end a block: what takes the whole database is none of the
    /// block's statements.
    pub(crate) fn check_not_own(&self, what: &str) -> Result<()> {
        if *self.holder.lock() != Some(std::thread::current().id()) {
            return Ok(());
        }
        let message = format!("{what} cannot wait for a transaction block of its own thread");
        Err(Error::new(SqlState::ACTIVE_SQL_TRANSACTION, message)
            .detail("The block has changed the schema, and has the database for itself until it ends.")
            .hint("Commit it or roll it back first."))
    }

    /// Opens the gate, by who closed it.
    pub(crate) fn open(&self) {
        let mut taken = self.taken.lock();
        debug_assert!(*taken, "a gate is opened by who closed it");
        *taken = false;
        *self.holder.lock() = None;
        self.held.store(0, Ordering::SeqCst);
        self.closed.store(false, Ordering::SeqCst);
        self.reopened.notify_all();
    }
}

impl Exclusive<'_> {
    /// Of a gate that the caller has closed.
    pub(crate) fn closed(gate: &Gate) -> Exclusive<'_> {
        Exclusive(gate)
    }
}

impl Drop for Exclusive<'_> {
    fn drop(&mut self) {
        self.0.open();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_schema_change_is_alone() {
        let gate = Gate::new();
        let (inside, changing, changes) = (AtomicU32::new(0), AtomicBool::new(false), AtomicU32::new(0));
        thread::scope(|scope| {
            for _ in 0..3 {
                scope.spawn(|| {
                    let worker = gate.sit_down().expect("a seat");
                    while changes.load(Ordering::SeqCst) < 100 {
                        assert!(gate.enter_patiently(worker, &mut || true));
                        inside.fetch_add(1, Ordering::SeqCst);
                        assert!(!changing.load(Ordering::SeqCst));
                        inside.fetch_sub(1, Ordering::SeqCst);
                        gate.leave(worker);
                    }
                    gate.stand_up(worker);
                });
            }
            for _ in 0..100 {
                let exclusive = gate.close();
                changing.store(true, Ordering::SeqCst);
                assert_eq!(inside.load(Ordering::SeqCst), 0);
                changing.store(false, Ordering::SeqCst);
                drop(exclusive);
                changes.fetch_add(1, Ordering::SeqCst);
            }
        });
    }

    #[test]
    fn whoever_waits_can_give_up() {
        let gate = Gate::new();
        let worker = gate.sit_down().expect("a seat");
        let twice = |left: &mut u32| {
            *left = left.saturating_sub(1);
            *left > 0
        };
        let alone = gate.close();
        let mut left = 2;
        assert!(!gate.try_enter(worker) && !gate.enter_patiently(worker, &mut || twice(&mut left)));
        left = 2;
        assert!(!gate.close_patiently(&mut || twice(&mut left)), "another has closed it");
        drop(alone);
        assert!(gate.try_enter(worker));
        left = 2;
        assert!(!gate.close_patiently(&mut || twice(&mut left)), "somebody is inside");
        gate.leave(worker);
        drop(gate.close());
        assert!(gate.enter_patiently(worker, &mut || true));
    }
}
