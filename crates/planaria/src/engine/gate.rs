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

use parking_lot::{Condvar, Mutex, MutexGuard};
use planaria_base::limits::WORKERS_MAX;
use planaria_base::{Error, Result, SqlState, WorkerId};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

#[repr(align(128))]
#[derive(Default)]
struct Seat {
    inside: AtomicBool,
}

/// See the module's head.
pub(crate) struct Gate {
    seats: Box<[Seat]>,
    closed: AtomicBool,
    /// Held by the schema change under way.
    exclusive: Mutex<()>,
    reopened: Condvar,
    waiting: Mutex<()>,
    free: Mutex<Vec<u16>>,
    /// The last seat, for whoever opens a snapshot for a checkpoint: no flood of sessions keeps it out.
    apart: Mutex<()>,
    /// Highest seat ever taken, so that a schema change does not look at all of them.
    seats_used: AtomicU64,
}

/// A schema change has the engine for itself as long as this lives.
pub(crate) struct Exclusive<'g> {
    gate: &'g Gate,
    _exclusive: MutexGuard<'g, ()>,
}

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
            exclusive: Mutex::new(()),
            reopened: Condvar::new(),
            waiting: Mutex::new(()),
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

    /// Passes the gate; waits while a schema change is under way.
    #[inline]
    pub(crate) fn enter(&self, worker: WorkerId) {
        let seat = &self.seats[worker.0 as usize];
        seat.inside.store(true, Ordering::SeqCst);
        if self.closed.load(Ordering::SeqCst) {
            self.enter_slowly(seat);
        }
    }

    #[cold]
    fn enter_slowly(&self, seat: &Seat) {
        loop {
            seat.inside.store(false, Ordering::SeqCst);
            let mut waiting = self.waiting.lock();
            while self.closed.load(Ordering::SeqCst) {
                self.reopened.wait(&mut waiting);
            }
            drop(waiting);
            seat.inside.store(true, Ordering::SeqCst);
            if !self.closed.load(Ordering::SeqCst) {
                return;
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
        let exclusive = self.exclusive.lock();
        self.closed.store(true, Ordering::SeqCst);
        let used = &self.seats[..self.seats_used.load(Ordering::SeqCst) as usize];
        for seat in used.iter().chain(&self.seats[SESSIONS_MAX..]) {
            while seat.inside.load(Ordering::SeqCst) {
                std::thread::yield_now();
            }
        }
        Exclusive { gate: self, _exclusive: exclusive }
    }
}

impl Drop for Exclusive<'_> {
    fn drop(&mut self) {
        let _waiting = self.gate.waiting.lock();
        self.gate.closed.store(false, Ordering::SeqCst);
        self.gate.reopened.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::AtomicU32;

    #[test]
    fn a_schema_change_is_alone() {
        let gate = Gate::new();
        let (inside, changing, changes) = (AtomicU32::new(0), AtomicBool::new(false), AtomicU32::new(0));
        std::thread::scope(|scope| {
            for _ in 0..3 {
                scope.spawn(|| {
                    let worker = gate.sit_down().expect("a seat");
                    while changes.load(Ordering::SeqCst) < 100 {
                        gate.enter(worker);
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
}
