//! Transactions that run again where that heals them, under the locks that the protocol has taken
//! ([`planaria_protocol::healing`]).
//!
//! 1. An attempt fails: at commit, or before that by a conflict or an error that does not hold.
//! 2. The protocol locks what it has read and written, and says what is to be done: to run again, or no more than to commit.
//! 3. The body runs again, in the same transaction. Inputs that were drawn are handed out again
//!    ([`Handed`](crate::engine::program::handed::Handed)); all else that the run before has made (rows, messages, values that were kept for the
//!    log) is forgotten. So the record is that of the run that commits.
//! 4. Commit decides anew whether it has only read and how it is logged. It has the log's epoch open only from here on, as
//!    ever: running again is outside.
//!
//! **Who is not healed.** Blocks, as a client has seen their answers. What asks for more than a record of a call says
//! (`Inputs::unlogged`): it may wait for others, or take long. A run that comes to do so, or holds its locks for
//! [`healing_max`](crate::Options::healing_max), ends there, and is tried again without them.

#[cfg(debug_assertions)]
mod checked;

use crate::engine::counters::Pause;
use crate::engine::schema_version::{LogAs, SchemaVersion};
use crate::engine::table_locks::Touches;
use crate::session::core::SessionCore;
use planaria_base::CommitTs;
use planaria_base::sync::Instant;
use planaria_exec::Interrupt;
use planaria_protocol::{ColumnsRead, Conflict, Heal};
use std::sync::Arc;

/// What a transaction runs.
pub(crate) type Body<'b> = &'b mut dyn FnMut(&mut SessionCore, &SchemaVersion) -> Result<LogAs, Interrupt>;

/// Programs that are remembered without counting them again, which would be a write that all cores share.
const PROGRAMS: usize = 32;

/// What the programs of the running transaction may read.
#[derive(Default)]
pub(crate) struct Touched {
    known: Vec<Arc<Touches>>,
    /// Those of this run, by their places in `known`.
    now: Vec<usize>,
    /// Of several.
    columns: ColumnsRead,
}

impl Touched {
    /// A run begins.
    #[inline]
    pub(crate) fn begin(&mut self) {
        self.now.clear();
    }

    #[inline]
    pub(crate) fn note(&mut self, touches: &Arc<Touches>) {
        let at = self.known.iter().position(|known| Arc::ptr_eq(known, touches));
        let at = at.unwrap_or_else(|| self.learn(touches));
        self.now.push(at);
    }

    #[cold]
    fn learn(&mut self, touches: &Arc<Touches>) -> usize {
        if self.known.len() >= PROGRAMS && self.now.is_empty() {
            self.known.clear();
        }
        self.known.push(touches.clone());
        self.known.len() - 1
    }

    /// All columns that were read; `None`: not known.
    fn columns(&mut self) -> Option<&ColumnsRead> {
        match &self.now[..] {
            [] => None,
            [one] => Some(&self.known[*one].columns),
            several => {
                self.columns.clear();
                several.iter().for_each(|at| self.columns.union(&self.known[*at].columns));
                Some(&self.columns)
            }
        }
    }
}

impl SessionCore {
    /// Runs the body of a transaction that has begun, and commits it. `last` is how the run would be logged, if it came so far.
    #[inline]
    pub(crate) fn run_and_commit(
        &mut self,
        schema: &SchemaVersion,
        body: Body<'_>,
        last: &mut Option<LogAs>,
    ) -> Result<(CommitTs, bool), Interrupt> {
        *last = None;
        let ended = match body(self, schema) {
            Err(Interrupt::TransactionEnds) if self.machine.commits() => Ok(LogAs::Values),
            ended => ended,
        };
        match ended {
            // A handler has caught what was to end it.
            Ok(_) if self.inputs.under_locks.is_spoilt() => Err(Conflict::Validation.into()),
            Ok(log_as) => {
                *last = Some(log_as);
                if !self.deferred.is_empty() {
                    self.fire_deferred(schema).map_err(|interrupt| self.believable(interrupt))?;
                }
                if !self.inputs.under_locks.are_held() {
                    self.pause();
                }
                if self.engine.traits.heals {
                    let may = !self.inputs.unlogged && !self.pauses.asked.unhealed;
                    self.txn.may_heal(may);
                }
                self.commit(schema, log_as)
            }
            Err(interrupt) => Err(self.believable(interrupt)),
        }
    }

    /// One attempt at a transaction that has begun.
    #[inline]
    pub(crate) fn attempt(
        &mut self,
        schema: &SchemaVersion,
        body: Body<'_>,
    ) -> Result<(CommitTs, bool), Interrupt> {
        let mut last = None;
        if !self.engine.traits.heals {
            return self.run_and_commit(schema, body, &mut last);
        }
        self.txn.may_heal(!self.pauses.asked.unhealed);
        #[cfg(debug_assertions)]
        self.machine.begin_trace();
        match self.run_and_commit(schema, body, &mut last) {
            Err(Interrupt::Conflict(cause)) => self.heal(schema, body, last, cause),
            outcome => outcome,
        }
    }

    /// Heals the attempt that has failed for this cause, as far as that goes.
    #[cold]
    fn heal(
        &mut self,
        schema: &SchemaVersion,
        body: Body<'_>,
        mut last: Option<LogAs>,
        mut cause: Conflict,
    ) -> Result<(CommitTs, bool), Interrupt> {
        let mut until = None;
        let mut shown = false;
        let outcome = loop {
            // Whoever is cancelled hears of it before the next attempt; whoever has to wait for the log does so without locks.
            let waits = self.log.as_ref().is_some_and(|log| !log.has_room());
            if waits || self.inputs.unlogged || self.pauses.asked.unhealed || self.cancel.is_due() {
                break Err(cause.into());
            }
            // What deferred keys make commit read is not among the columns of the programs.
            let columns = if schema.has_deferred { None } else { self.touched.columns() };
            let healed = self.txn.heal(&schema.tables, cause, columns);
            if healed == Heal::Run && !shown {
                self.show_process();
                self.engine.counters.pause(self.worker, Some(Pause::Heal));
                shown = true;
            }
            let outcome = match (healed, last) {
                (Heal::Commit, Some(log_as)) => self.commit(schema, log_as),
                (Heal::Run, _) => {
                    let until = *until.get_or_insert_with(|| Instant::now() + self.engine.healing_max);
                    self.begin_again(until);
                    #[cfg(debug_assertions)]
                    let before = self.machine.take_trace();
                    #[cfg(debug_assertions)]
                    self.machine.begin_trace();
                    let outcome = self.run_and_commit(schema, body, &mut last);
                    #[cfg(debug_assertions)]
                    if let (Some(before), Some(after)) = (&before, self.machine.trace()) {
                        checked::check(before, after);
                    }
                    outcome
                }
                _ => break Err(cause.into()),
            };
            let is_over = outcome.is_err() && self.inputs.under_locks.is_over();
            match outcome {
                Err(Interrupt::Conflict(next)) if !is_over => cause = next,
                Err(Interrupt::Error(_)) if is_over => break Err(Conflict::Validation.into()),
                outcome => break outcome,
            }
        };
        self.inputs.under_locks.end();
        if shown {
            self.engine.counters.pause(self.worker, None);
        }
        let healed = self.txn.take_healed();
        self.engine.counters.heal(self.worker, outcome.is_ok(), &healed);
        outcome
    }

    /// What the last run has made is forgotten, but for what it has drawn.
    fn begin_again(&mut self, until: Instant) {
        self.inputs.begin_again(&mut self.sequences, self.engine.heal_with_stale_inputs);
        self.inputs.under_locks.begin(until);
        self.notices.clear();
        self.settings.end_statement(false);
        self.said.take_back();
        self.deferred.take_back();
        self.end_statement_of_cursors(false);
        self.begin_results();
    }
}
