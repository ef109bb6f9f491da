//! The gate between transactions and schema changes.
//!
//! Every attempt of a transaction passes the gate and stands inside until it ends; a schema change
//! closes the gate, waits until nobody stands inside, and has the engine for itself. It is Dekker's
//! protocol, one side of which is every core's own cache line ([`slots`]):
//!
//! 1. a worker writes that it is inside (its own word), then reads `closed`; if closed it steps back;
//! 2. a schema change writes `closed`, then reads every worker's word until all are out.
//!
//! With sequential consistency between the write and the read on both sides, never both pass.
//! Cost for a transaction: one store with a fence to a line no other core writes.
//!
//! **Nobody stands long before a gate that is closed for nothing.** While somebody inside takes long, a change that
//! waits for him would keep everybody else out. So
//!
//! 1. a change closes the gate for a *window*: where not all have left by its end, it opens the gate again;
//! 2. then it looks who is inside, and tries again as soon as nobody has been there for longer than a window: all
//!    of them will have left within the next one, if they are what they were so far. Others pass for at least
//!    [`PAUSE`] windows;
//! 3. windows double, up to [`WINDOW_MAX`], while that does not come about.
//!
//! So a change stops others for [`WINDOW_MAX`] at a time and a fifth of the time, and for nothing at all behind a
//! statement that runs for minutes; and no flood of statements that take less than [`WINDOW_MAX`] each keeps it
//! waiting. Statements that take longer and always overlap do, until its `lock_timeout`.
//!
//! An interactive transaction stands inside only while one of its statements runs. A schema change
//! in between leaves it with an old schema; its next statement finds that and ends in 40001.
//!
//! A transaction block that changes the schema has the gate until its end ([`schema_block`](crate::session::schema_block)),
//! which may be long: who waits at the gate does so with patience that can end. What takes a transaction back does not
//! wait: nothing of it was there for others. Between its changes the block [lends](Gate::lend) the gate where it can
//! ([`beside`](crate::session::beside)): then all pass but other changes.

mod slots;

use planaria_base::limits::WORKERS_MAX;
use planaria_base::sync::{Condvar, Instant, Mutex, MutexGuard, thread};
use planaria_base::{Error, Result, SqlState, WorkerId};
use slots::Slots;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::thread::ThreadId;
use std::time::Duration;

/// How often whoever waits is asked whether it goes on waiting.
const LOOK: Duration = Duration::from_millis(20);
/// Looks at the slots before whoever closes the gate begins to sleep between two.
const LOOKS_AWAKE: u32 = 1_000;
/// How long it sleeps.
const NAP: Duration = Duration::from_micros(100);

/// How long the gate is closed for those inside to leave, at first and at most.
const WINDOW_MIN: Duration = Duration::from_millis(20);
const WINDOW_MAX: Duration = Duration::from_millis(500);
/// For how many windows it stays open then, at least.
const PAUSE: u32 = 4;
/// How often whoever waits for a good moment looks who is inside.
const GLANCE: Duration = Duration::from_millis(1);

/// What [`slots`] is made of.
mod atomic {
    pub(crate) use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

    /// Sequentially consistent stores come before such loads; the model checker must be told.
    #[inline(always)]
    pub(crate) fn store_before_load() {}
}

/// Asked now and then by whoever waits: whether to go on waiting.
pub(crate) type Patience<'p> = &'p mut dyn FnMut() -> bool;

/// A worker at the gate.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct AtGate {
    pub(crate) worker: WorkerId,
    /// It keeps the gate closed; else it waits.
    pub(crate) holds: bool,
}

/// See the module's head.
pub(crate) struct Gate {
    slots: Slots,
    /// By slot: waits at the gate, to be seen by others.
    waits: Box<[AtomicBool]>,
    /// A transaction block has closed it, and has it until its end: its slot, from 1; 0 where none does.
    held: AtomicU32,
    /// The thread that ran the block's first change.
    holder: Mutex<Option<ThreadId>>,
    /// Whether a schema change is under way, or about to be.
    taken: Mutex<bool>,
    reopened: Condvar,
    free: Mutex<Vec<u16>>,
    /// The last slot, for whoever opens a snapshot for a checkpoint: no flood of sessions keeps it out.
    apart: Mutex<()>,
    /// Highest slot ever taken, so that a schema change does not look at all of them.
    slots_used: AtomicU64,
}

/// A schema change has the engine for itself as long as this lives.
pub(crate) struct Exclusive<'g>(&'g Gate);

/// Whether all inside have left.
enum Left {
    All,
    /// Not within the window.
    Some,
    /// Whoever waited has no patience left.
    GivenUp,
}

/// Slots for sessions.
const SESSIONS_MAX: usize = WORKERS_MAX - 1;

/// The slot apart from the sessions.
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
            slots: Slots::new(WORKERS_MAX),
            waits: (0..WORKERS_MAX).map(|_| AtomicBool::new(false)).collect(),
            held: AtomicU32::new(0),
            holder: Mutex::new(None),
            taken: Mutex::new(false),
            reopened: Condvar::new(),
            free: Mutex::new((0..SESSIONS_MAX as u16).rev().collect()),
            apart: Mutex::new(()),
            slots_used: AtomicU64::new(0),
        }
    }

    /// Takes a slot; 53300 where all are taken.
    pub(crate) fn sit_down(&self) -> Result<WorkerId> {
        let slot = self.free.lock().pop().ok_or_else(|| {
            Error::new(SqlState::TOO_MANY_CONNECTIONS, "all slots for sessions are taken")
                .with_detail(format!("At most {SESSIONS_MAX} sessions can be open."))
        })?;
        self.slots_used.fetch_max(u64::from(slot) + 1, Ordering::SeqCst);
        Ok(WorkerId(slot))
    }

    /// Takes the slot apart from the sessions, for a short time; waits for whoever has it.
    pub(crate) fn take_apart(&self) -> Apart<'_> {
        let held = self.apart.lock();
        Apart { gate: self, worker: WorkerId(SESSIONS_MAX as u16), _held: held }
    }

    /// Gives the slot back.
    pub(crate) fn give_back_slot(&self, worker: WorkerId) {
        self.leave(worker);
        self.free.lock().push(worker.0);
    }

    /// Passes the gate if it is open: whether it was.
    #[inline]
    pub(crate) fn try_enter(&self, worker: WorkerId) -> bool {
        self.slots.try_enter(usize::from(worker.0))
    }

    /// Passes the gate; waits while a schema change is under way, as long as the patience lasts: whether it did.
    #[cold]
    pub(crate) fn enter_patiently(&self, worker: WorkerId, patience: Patience<'_>) -> bool {
        loop {
            if self.try_enter(worker) {
                return true;
            }
            let mut taken = self.taken.lock();
            while self.slots.is_closed() {
                if !patience() {
                    return false;
                }
                self.reopened.wait_for(&mut taken, LOOK);
            }
        }
    }

    /// Whether this worker stands inside: for itself to ask.
    pub(crate) fn stands_inside(&self, worker: WorkerId) -> bool {
        self.slots.visit(usize::from(worker.0)).is_some()
    }

    /// Leaves.
    #[inline]
    pub(crate) fn leave(&self, worker: WorkerId) {
        self.slots.leave(usize::from(worker.0));
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
        let closed = self.close_again(patience);
        if !closed {
            self.open();
        }
        closed
    }

    /// Whoever has closed it lets the others pass, but for those who would close it, too.
    pub(crate) fn lend(&self) {
        self.let_pass();
    }

    /// Closes it for whoever has [lent](Self::lend) it, as long as the patience lasts: whether it did. If not it stays
    /// lent.
    pub(crate) fn close_again(&self, patience: Patience<'_>) -> bool {
        let mut window = WINDOW_MIN;
        loop {
            self.slots.close();
            match self.until_all_left(window, patience) {
                Left::All => return true,
                Left::Some => self.let_pass(),
                Left::GivenUp => break,
            }
            if !self.until_good_moment(&mut window, patience) {
                break;
            }
        }
        self.let_pass();
        false
    }

    /// The slots that may be taken.
    fn used(&self) -> impl Iterator<Item = usize> + use<> {
        (0..self.slots_used.load(Ordering::SeqCst) as usize).chain(SESSIONS_MAX..WORKERS_MAX)
    }

    /// With the gate closed: waits until nobody is inside.
    fn until_all_left(&self, window: Duration, patience: Patience<'_>) -> Left {
        let (mut looks, mut end) = (0, None);
        for slot in self.used() {
            while self.slots.visit(slot).is_some() {
                looks += 1;
                if looks < LOOKS_AWAKE {
                    thread::yield_now();
                    continue;
                }
                if !patience() {
                    return Left::GivenUp;
                }
                let now = Instant::now();
                if now >= *end.get_or_insert(now + window) {
                    return Left::Some;
                }
                thread::sleep(NAP);
            }
        }
        Left::All
    }

    /// Opens the gate for a while, by who has closed it and goes on waiting.
    fn let_pass(&self) {
        let _taken = self.taken.lock();
        self.slots.reopen();
        self.reopened.notify_all();
    }

    /// With the gate open: waits until nobody has been inside for longer than a window, which grows meanwhile. False
    /// where the patience is over.
    fn until_good_moment(&self, window: &mut Duration, patience: Patience<'_>) -> bool {
        let mut began = Instant::now();
        // The visits that were seen, and when first.
        let mut seen: Vec<Option<(u64, Instant)>> = Vec::new();
        loop {
            let now = Instant::now();
            let mut oldest = Duration::ZERO;
            for (i, slot) in self.used().enumerate() {
                if seen.len() <= i {
                    seen.push(None);
                }
                let visit = self.slots.visit(slot);
                let before = seen[i].filter(|(number, _)| Some(*number) == visit);
                seen[i] = visit.map(|number| before.unwrap_or((number, now)));
                oldest = oldest.max(seen[i].map_or(Duration::ZERO, |(_, since)| now.duration_since(since)));
            }
            if now.duration_since(began) >= *window * PAUSE {
                if oldest < *window {
                    return true;
                }
                *window = (*window * 2).min(WINDOW_MAX);
                began = now;
            }
            if !patience() {
                return false;
            }
            thread::sleep(GLANCE);
        }
    }

    /// Waits until each worker but this one has been outside, as long as the patience lasts: whether it did.
    pub(crate) fn outlast(&self, worker: WorkerId, patience: Patience<'_>) -> bool {
        let mut looks = 0;
        for slot in self.used().filter(|slot| *slot != usize::from(worker.0)) {
            let first = self.slots.visit(slot);
            while first.is_some() && self.slots.visit(slot) == first {
                looks += 1;
                if looks < LOOKS_AWAKE {
                    thread::yield_now();
                } else if patience() {
                    thread::sleep(NAP);
                } else {
                    return false;
                }
            }
        }
        true
    }

    /// Whoever has closed it has it beyond the statement.
    pub(crate) fn hold(&self, worker: WorkerId) {
        *self.holder.lock() = Some(std::thread::current().id());
        self.held.store(u32::from(worker.0) + 1, Ordering::SeqCst);
    }

    /// Whether a transaction block has it.
    pub(crate) fn is_held(&self) -> bool {
        self.held.load(Ordering::SeqCst) != 0
    }

    /// Runs what waits at the gate so that others see that this worker does.
    pub(crate) fn seen_waiting<T>(&self, worker: WorkerId, wait: impl FnOnce() -> T) -> T {
        let waits = &self.waits[usize::from(worker.0)];
        waits.store(true, Ordering::Relaxed);
        let done = wait();
        waits.store(false, Ordering::Relaxed);
        done
    }

    /// Who holds it, and who waits at it: sessions alone.
    pub(crate) fn at_gate(&self) -> Vec<AtGate> {
        let holder = self.held.load(Ordering::SeqCst).checked_sub(1);
        let holder = holder.map(|slot| AtGate { worker: WorkerId(slot as u16), holds: true });
        let used = &self.waits[..self.slots_used.load(Ordering::SeqCst) as usize];
        let waits = used.iter().enumerate().filter(|(_, waits)| waits.load(Ordering::Relaxed));
        let waiting = waits.map(|(slot, _)| AtGate { worker: WorkerId(slot as u16), holds: false });
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
            .with_detail("The transaction block has changed the schema, and holds the database exclusively until it ends.")
            .with_hint("Commit it or roll it back first."))
    }

    /// Opens the gate, by who closed it.
    pub(crate) fn open(&self) {
        let mut taken = self.taken.lock();
        debug_assert!(*taken, "a gate is opened by who closed it");
        *taken = false;
        *self.holder.lock() = None;
        self.held.store(0, Ordering::SeqCst);
        self.slots.reopen();
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
mod tests;
