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
//! Nobody waits inside the gate, nor sleeps there by `pg_sleep` ([`nap`](crate::engine::nap)): a schema change can overtake who waits. Who waits
//! *at* the gate, for a block that changes the schema to end, waits as for a claim. A thread that serves others as well
//! is told before it sleeps ([`SessionCore::sleeps_by`]).

use crate::engine::counters::Pause;
use crate::engine::gate::{Gate, Patience};
use crate::engine::program::refusal::gave_up;
use crate::engine::schema_version::SchemaVersion;
use crate::engine::waits::{Edge, LOOK};
use crate::session::core::SessionCore;
use planaria_base::sync::Instant;
use planaria_base::{Error, Result};
use planaria_protocol::{Backoff, Unclaimed, Wait};
use std::sync::atomic::Ordering;
use std::time::Duration;

impl SessionCore {
    /// How the attempts of a call, or of a statement of a block, wait.
    #[inline]
    pub(crate) fn backoff(&self) -> Backoff {
        let kind = self.pauses.asked.backoff.unwrap_or(self.engine.backoff);
        Backoff::of(kind, u64::from(self.worker.0) + 1)
    }

    /// Waits before the next attempt; others see that.
    #[cold]
    pub(crate) fn wait_to_retry(&self, backoff: &mut Backoff) {
        self.show_process();
        self.engine.counters.pause(self.worker, Some(Pause::Retry));
        backoff.wait();
        self.engine.counters.pause(self.worker, None);
    }

    /// Waits for what the last attempt found claimed, outside of the gate. 57014 where the statement is
    /// cancelled, 55P03 where `lock_timeout` has passed; a deadlock is the inner error.
    pub(crate) fn await_claim(&mut self) -> Result<Result<(), Vec<Wait>>> {
        let outcome = self.await_wanted();
        self.settings.waited();
        outcome
    }

    fn await_wanted(&mut self) -> Result<Result<(), Vec<Wait>>> {
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
        let (mut out_of_time, mut hopeless, mut outcome) = (false, None, Ok(()));
        let (txn, cancel) = (&mut self.txn, &self.cancel);
        let (engine, worker) = (&*self.engine, self.worker);
        (self.sleeps_by)(&mut || {
            outcome = txn.await_claim(&mut || {
                hopeless = engine.hopeless(worker);
                if hopeless.is_some() || cancel.is_due() {
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
            Err(Unclaimed::GivenUp) => Err(hopeless.unwrap_or_else(|| gave_up(out_of_time, cancel))),
        }
    }

    /// When a statement that waits from now on has waited for `lock_timeout`.
    pub(crate) fn lock_deadline(&self) -> Option<Instant> {
        let limit = self.settings.lock_timeout();
        (limit > 0).then(|| Instant::now() + Duration::from_millis(limit))
    }

    /// Waits until the schema change under way is over, and passes the gate. Errors as those of
    /// [`Self::await_claim`].
    #[cold]
    pub(crate) fn await_gate(&mut self) -> Result<()> {
        let worker = self.worker;
        self.at_gate(&mut |gate, patience| gate.enter_patiently(worker, patience))
    }

    /// Closes the gate, waiting for whoever has closed it and for the statements inside. Errors as those of
    /// [`Self::await_claim`].
    pub(crate) fn close_gate(&mut self) -> Result<()> {
        self.at_gate(&mut |gate, patience| gate.close_patiently(patience))
    }

    /// Waits at the gate. Errors as those of [`Self::await_claim`].
    pub(crate) fn at_gate(&mut self, wait: &mut dyn FnMut(&Gate, Patience<'_>) -> bool) -> Result<()> {
        self.end_calls();
        self.show_process();
        let deadline = self.lock_deadline();
        let (cancel, engine, worker) = (&self.cancel, &*self.engine, self.worker);
        let gate = &engine.gate;
        let (mut out_of_time, mut hopeless, mut came) = (false, None, false);
        (self.sleeps_by)(&mut || {
            let patience: Patience<'_> = &mut || {
                out_of_time = deadline.is_some_and(|deadline| Instant::now() >= deadline);
                hopeless = engine.hopeless(worker);
                hopeless.is_none() && !out_of_time && !cancel.is_due()
            };
            came = gate.seen_waiting(worker, || wait(gate, patience));
        });
        if came { Ok(()) } else { Err(hopeless.unwrap_or_else(|| gave_up(out_of_time, cancel))) }
    }

    /// Whoever waits for this session's transaction can be told of it by the number that clients know.
    pub(crate) fn show_process(&self) {
        let number = self.process();
        self.engine.processes[usize::from(self.worker.0)].store(number, Ordering::Relaxed);
    }

    /// Ends the transaction, and with it its claims.
    pub(crate) fn abandon(&mut self, schema: &SchemaVersion) {
        if self.changing.is_some() {
            return self.undo_schema();
        }
        // Where the gate is closed, too: whoever is alone must not be kept waiting by what is not to be.
        let inside = self.engine.gate.try_enter(self.worker);
        self.txn.abort(&schema.tables);
        if inside {
            self.leave();
        }
    }

    /// 40P01: the statement would wait for itself.
    #[cold]
    pub(crate) fn deadlock(&self, ring: &[Wait]) -> Error {
        let ring: Vec<Edge> = ring.iter().map(Edge::of_claim).collect();
        self.engine.deadlock(&self.schema.catalog, &ring)
    }
}
