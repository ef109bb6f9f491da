//! Waiting for rows that other transactions have claimed.
//!
//! A transaction block claims each row before it changes it (`planaria_protocol`, `claim`); so do queries
//! FOR UPDATE in a block. Its statements wait for claims, and begin anew when they have them: a
//! statement of a block is repeated as long as what the block read before still holds. So blocks that meet
//! on a row take turns, and one fails with 40001 only where it relies on something that it read without
//! claiming it.
//!
//! A statement alone and a call claim nothing at first. Where they would change a claimed row they
//! take themselves back, line up as a block would, and keep the claims until they have succeeded: a flood
//! of calls cannot overtake a block, nor a line of blocks keep a call out. Their deadlocks are nobody's
//! concern: one gives its claims up and begins again.
//!
//! Nobody waits inside the gate, nor sleeps there by `pg_sleep`: a schema change can overtake who waits. Who waits
//! *at* the gate, for a block that changes the schema to end, waits as for a claim. A thread that serves others as well
//! is told before it sleeps ([`SessionCore::sleeps_by`]).

use super::Engine;
use super::advisory::AdvisoryLock;
use super::cancel::Cancel;
use super::gate::{Gate, Patience};
use super::refusal::{gave_up, schema_changed};
use super::schema_version::SchemaVersion;
use super::session::SessionCore;
use super::waits::{Edge, LOOK, Lookout};
use planaria_base::sync::{Instant, thread};
use planaria_base::{Error, Result, WorkerId};
use planaria_exec::Code;
use planaria_protocol::{Hosted, Unclaimed, Wait};
use planaria_storage::Header;
use std::sync::atomic::Ordering;
use std::time::Duration;

/// How a thread says that it is going to sleep: it runs what it is given.
pub(crate) type Sleeper = fn(&mut dyn FnMut());
/// The same while it sleeps by `pg_sleep`.
const TICK: Duration = Duration::from_millis(5);

/// Who sleeps by `pg_sleep`, and in what.
pub(super) struct Nap<'a, H: Header> {
    pub(super) sleeps_by: Sleeper,
    pub(super) cancel: &'a Cancel,
    pub(super) code: &'a Code,
    pub(super) schema: &'a SchemaVersion<H>,
}

impl<P: Hosted> Engine<P> {
    /// `pg_sleep`, outside of the gate. 57014 when the statement is cancelled; 40001 where the schema was changed
    /// meanwhile and the program may rely on it: as for a transaction block between its statements. What `reads` a
    /// snapshot reads tables that stay.
    pub(super) fn sleep(
        &self,
        worker: WorkerId,
        nap: &Nap<'_, P::Header>,
        reads: bool,
        seconds: f64,
    ) -> Result<()> {
        let time = Duration::try_from_secs_f64(seconds.max(0.0)).unwrap_or(Duration::MAX);
        // A schema change that runs programs of its own has closed the gate, and stays.
        let inside = self.gate.stands_inside(worker);
        if inside {
            self.gate.leave(worker);
        }
        let mut cancelled = false;
        (nap.sleeps_by)(&mut || {
            let start = Instant::now();
            while let Some(left) = time.checked_sub(start.elapsed()).filter(|left| !left.is_zero()) {
                cancelled = nap.cancel.is_due();
                if cancelled {
                    return;
                }
                thread::sleep(left.min(TICK));
            }
            cancelled = inside && !self.gate.enter_patiently(worker, &mut || !nap.cancel.is_due());
        });
        if cancelled {
            return Err(nap.cancel.error());
        }
        let stale = self.version.load(Ordering::Acquire) != nap.schema.version();
        if inside && stale && !reads && nap.code.touches_tables() {
            return Err(schema_changed());
        }
        Ok(())
    }
}

impl<P: Hosted> Engine<P> {
    /// Waits for an advisory lock where the program is, for so many milliseconds at most if that is not 0: outside of the
    /// gate, or with the gate closed.
    pub(super) fn await_key(
        &self,
        worker: WorkerId,
        nap: &Nap<'_, P::Header>,
        lock: AdvisoryLock,
        limit: u64,
    ) -> Result<()> {
        let deadline = (limit > 0).then(|| Instant::now() + Duration::from_millis(limit));
        let mut lookout = Lookout::new(self, worker, nap.cancel, deadline);
        let mut came = false;
        (nap.sleeps_by)(&mut || came = self.advisory.wait(worker, lock, &mut || lookout.look()));
        if came { Ok(()) } else { Err(lookout.error(&nap.schema.catalog)) }
    }
}

impl<P: Hosted> SessionCore<P> {
    /// Waits for what the last attempt found claimed, outside of the gate. 57014 where the statement is
    /// cancelled, 55P03 where `lock_timeout` has passed; a deadlock is the inner error.
    pub(super) fn await_claim(&mut self) -> Result<Result<(), Vec<Wait>>> {
        self.show_process();
        if let Some(wanted) = self.barred.take() {
            if !self.is_in_block() {
                // Who waits for a table or a key keeps nobody waiting for rows.
                let schema = self.schema.clone();
                self.abandon(&schema);
            }
            return self.await_locks(&wanted).map(Ok);
        }
        let deadline = self.lock_deadline();
        let (mut out_of_time, mut outcome) = (false, Ok(()));
        let (protocol, txn, cancel) = (&self.engine.protocol, &mut self.txn, &self.cancel);
        (self.sleeps_by)(&mut || {
            outcome = protocol.await_claim(txn, &mut || {
                if cancel.is_due() {
                    return None;
                }
                let Some(deadline) = deadline else { return Some(LOOK) };
                let left = deadline.saturating_duration_since(Instant::now());
                out_of_time = left.is_zero();
                (!out_of_time).then(|| left.min(LOOK))
            });
        });
        match outcome {
            Ok(()) => Ok(Ok(())),
            Err(Unclaimed::Deadlock(ring)) => Ok(Err(ring)),
            Err(Unclaimed::GivenUp) => Err(gave_up(out_of_time, cancel)),
        }
    }

    /// When a statement that waits from now on has waited for `lock_timeout`.
    pub(super) fn lock_deadline(&self) -> Option<Instant> {
        let limit = self.settings.milliseconds("lock_timeout");
        (limit > 0).then(|| Instant::now() + Duration::from_millis(limit))
    }

    /// Waits until the schema change under way is over, and passes the gate. Errors as those of
    /// [`Self::await_claim`].
    #[cold]
    pub(super) fn await_gate(&mut self) -> Result<()> {
        let worker = self.worker;
        self.at_gate(&mut |gate, patience| gate.enter_patiently(worker, patience))
    }

    /// Closes the gate, waiting for whoever has closed it and for the statements inside. Errors as those of
    /// [`Self::await_claim`].
    pub(super) fn close_gate(&mut self) -> Result<()> {
        self.at_gate(&mut |gate, patience| gate.close_patiently(patience))
    }

    fn at_gate(&mut self, wait: &mut dyn FnMut(&Gate, Patience<'_>) -> bool) -> Result<()> {
        self.show_process();
        let deadline = self.lock_deadline();
        let (cancel, gate, worker) = (&self.cancel, &self.engine.gate, self.worker);
        let (mut out_of_time, mut came) = (false, false);
        (self.sleeps_by)(&mut || {
            let patience: Patience<'_> = &mut || {
                out_of_time = deadline.is_some_and(|deadline| Instant::now() >= deadline);
                !out_of_time && !cancel.is_due()
            };
            came = gate.seen_waiting(worker, || wait(gate, patience));
        });
        if came { Ok(()) } else { Err(gave_up(out_of_time, cancel)) }
    }

    /// Whoever waits for this session's transaction can be told of it by the number that clients know.
    pub(super) fn show_process(&self) {
        let number = self.number.unwrap_or(i32::from(self.worker.0) + 1);
        self.engine.processes[usize::from(self.worker.0)].store(number, Ordering::Relaxed);
    }

    /// Ends the transaction, and with it its claims.
    pub(super) fn abandon(&mut self, schema: &SchemaVersion<P::Header>) {
        if self.changing.is_some() {
            return self.undo_schema();
        }
        // Where the gate is closed, too: whoever is alone must not be kept waiting by what is not to be.
        let inside = self.engine.gate.try_enter(self.worker);
        self.engine.protocol.abort(&mut self.txn, &schema.tables);
        if inside {
            self.leave();
        }
    }

    /// 40P01: the statement would wait for itself.
    #[cold]
    pub(super) fn deadlock(&self, ring: &[Wait]) -> Error {
        let ring: Vec<Edge> = ring.iter().map(Edge::of_claim).collect();
        self.engine.deadlock(&self.schema.catalog, &ring)
    }
}
