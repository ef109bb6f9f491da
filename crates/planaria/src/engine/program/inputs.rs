//! The inputs of a transaction: drawn once and recorded for the log; replay hands the recorded ones out again, in the same order,
//! to the same program.

use crate::engine::program::handed::Handed;
use crate::engine::program::random::{Chance, Secret};
use crate::engine::program::same::same;
use crate::engine::program::under_locks::UnderLocks;
use crate::engine::sequence::SessionSequences;
use planaria_base::{Datum, Error, ProcedureId, Result, SequencePlace, SqlState, WallClock};
use planaria_exec::heap::Heap;
use planaria_exec::slot::Slot;
use planaria_ir::Draw;

/// Names and settings that a call has among its inputs at most.
const TEXTS_MAX: usize = 100;

/// The inputs of a call that is replayed.
pub(crate) struct Recorded {
    /// What was called, for errors.
    pub(crate) procedure: ProcedureId,
    /// In the order in which they came.
    pub(crate) values: Vec<Datum>,
}

/// Inputs of the transaction under way.
#[derive(Default)]
pub(crate) struct Inputs {
    /// Drawn and kept so far, in order. Texts and arrays lie in the session's heap of kept values.
    pub(crate) drawn: Vec<Slot>,
    /// Given by the log, to be handed out again. `None` in normal operation.
    pub(crate) recorded: Option<Recorded>,
    pub(super) given: usize,
    /// The program has asked for something that no record of a call holds.
    pub(crate) unlogged: bool,
    pub(super) now: Option<i64>,
    /// The time of the transaction, drawn before recording began anew.
    pub(super) kept_now: Option<i64>,
    /// In a transaction block, when it began, and when its statement did.
    pub(super) block: Option<i64>,
    pub(super) statement: i64,
    /// What `txid_current()` says, once it has been asked.
    pub(super) transaction: Option<i64>,
    /// What `random()` draws from.
    pub(super) chance: Chance,
    /// What UUIDs are drawn from.
    pub(super) secret: Secret,
    /// Names and settings among them.
    pub(super) texts: usize,
    /// What was given in this transaction, for a run that heals it, and what such a run may do.
    pub(crate) handed: Handed,
    pub(crate) under_locks: UnderLocks,
    pub(crate) wall_clock: WallClock,
}

impl Inputs {
    /// None so far, of this clock.
    pub(crate) fn of(wall_clock: WallClock) -> Inputs {
        Inputs { wall_clock, ..Inputs::default() }
    }

    /// Exchanges what is a client's for another client's: all else belongs to a transaction, or to the session that runs it.
    pub(crate) fn exchange(&mut self, other: &mut Chance) {
        let Inputs {
            chance,
            // Nobody learns anything of it from what another has drawn.
            secret: _,
            drawn: _,
            recorded: _,
            given: _,
            unlogged: _,
            now: _,
            kept_now: _,
            block: _,
            statement: _,
            transaction: _,
            texts: _,
            handed: _,
            under_locks: _,
            wall_clock: _,
        } = self;
        std::mem::swap(chance, other);
    }

    pub(crate) fn begin(&mut self) {
        self.record_anew();
        self.handed.clear();
        self.under_locks.end();
        self.now = None;
        self.kept_now = None;
        if self.block.is_none() {
            self.transaction = None;
        }
    }

    /// What `now()` says, if it has not been asked yet.
    pub(super) fn transaction_time(&self) -> i64 {
        self.kept_now.or(self.block).unwrap_or_else(|| self.wall_clock.micros())
    }

    /// The present moment: microseconds since 2000-01-01 UTC.
    pub(crate) fn moment(&self) -> i64 {
        self.wall_clock.micros()
    }

    /// Fixes what `now()` says, before time goes by that somebody could see.
    pub(super) fn settle_time(&mut self) {
        if self.now.is_none() {
            self.kept_now = Some(self.transaction_time());
        }
    }

    /// A transaction block begins.
    pub(crate) fn begin_block(&mut self) {
        self.statement = self.wall_clock.micros();
        self.block = Some(self.statement);
        self.transaction = None;
    }

    /// A statement of a block begins.
    pub(crate) fn begin_statement(&mut self) {
        self.statement = self.wall_clock.micros();
    }

    /// When the statement began.
    pub(crate) fn statement(&self) -> i64 {
        self.statement
    }

    /// The block has ended.
    pub(crate) fn end_block(&mut self) {
        self.block = None;
        self.transaction = None;
    }

    /// Forgets what was drawn, but for the time of the transaction: the same if drawn again.
    pub(crate) fn record_anew(&mut self) {
        self.drawn.clear();
        self.texts = 0;
        self.given = 0;
        self.unlogged = false;
        self.kept_now = self.now.take();
    }

    /// The transaction runs again: its time stays, and what it has drawn is handed out again. It is recorded anew, unless a
    /// test wants to see what happens otherwise.
    pub(crate) fn begin_again(&mut self, sequences: &mut SessionSequences, stale: bool) {
        let now = self.now.or(self.kept_now);
        let drawn = std::mem::take(&mut self.drawn);
        self.record_anew();
        if stale {
            self.drawn = drawn;
        }
        self.kept_now = now;
        self.handed.again(&mut |sequence, current| sequences.put_back(sequence, current));
    }

    /// Something is asked that no record of a call says: the call must not be logged as one, and none that was gets there.
    pub(super) fn beyond_a_call(&mut self) -> Result<()> {
        if self.recorded.is_some() {
            return Err(missing_input());
        }
        self.under_locks.refuse()?;
        self.unlogged = true;
        Ok(())
    }

    /// On replay, the next recorded input, if there is one more.
    pub(super) fn next_recorded(&mut self) -> Option<Option<&Datum>> {
        let recorded = self.recorded.as_ref()?;
        self.given += 1;
        Some(recorded.values.get(self.given - 1))
    }

    /// The next recorded input, on replay: of this draw.
    pub(super) fn replayed(&mut self, input: Draw) -> Option<Result<Slot>> {
        Some(match (input, self.next_recorded()?) {
            (
                Draw::TransactionTimestamp | Draw::StatementTimestamp | Draw::ClockTimestamp,
                Some(Datum::Int(n)),
            ) => Ok(Slot::Int(*n)),
            (Draw::Random, Some(Datum::Float(x))) => Ok(Slot::Float(*x)),
            (Draw::Uuid, Some(Datum::Uuid(u))) => Ok(Slot::Uuid(*u)),
            (Draw::TransactionId | Draw::LastValue, Some(Datum::Int(n))) => Ok(Slot::Int(*n)),
            (Draw::RowSecurity(_) | Draw::ActsAs(_) | Draw::RowSecurityOff, Some(Datum::Bool(answer))) => {
                Ok(Slot::Bool(*answer))
            }
            _ => Err(missing_input()),
        })
    }

    /// A name.
    pub(super) fn replayed_name(&mut self) -> Option<Result<String>> {
        Some(match self.next_recorded()? {
            Some(Datum::Text(name)) => Ok(name.clone()),
            _ => Err(missing_input()),
        })
    }

    /// What a setting was; NULL where there was none.
    pub(super) fn replayed_setting(&mut self, heap: &mut Heap) -> Option<Result<Slot>> {
        Some(match self.next_recorded()? {
            Some(Datum::Text(value)) => heap.text(value),
            Some(Datum::Null) => Ok(Slot::Null),
            _ => Err(missing_input()),
        })
    }

    /// A text is an input of the call. Where there are too many the call is logged by the rows that it changes: it may have
    /// asked anew for each of a million rows.
    pub(super) fn count_text(&mut self) -> Result<()> {
        self.texts += 1;
        if self.texts > TEXTS_MAX && self.recorded.is_none() { self.beyond_a_call() } else { Ok(()) }
    }

    /// The same for the value of a sequence, with its place.
    pub(super) fn replayed_value(&mut self) -> Option<Result<SequencePlace>> {
        let datum = self.next_recorded()?;
        Some(datum.and_then(SequencePlace::of_input).ok_or_else(missing_input))
    }

    /// Takes values that the program keeps: into `kept_heap` for the log, or, on replay, compares them
    /// with the recorded ones.
    pub(super) fn keep(
        &mut self,
        values: &[Slot],
        heap: &Heap,
        kept_heap: &mut Heap,
        name: impl Fn(ProcedureId) -> String,
    ) -> Result<()> {
        let Some(recorded) = &self.recorded else {
            for slot in values {
                self.drawn.push(Heap::relocate(*slot, heap, kept_heap)?);
            }
            return Ok(());
        };
        for slot in values {
            let logged = recorded.values.get(self.given).ok_or_else(missing_input)?;
            self.given += 1;
            let computed = heap.to_datum(*slot);
            if !same(&computed, logged) {
                return Err(Error::new(
                    SqlState::DATA_CORRUPTED,
                    format!(
                        "replay of procedure {} computes {computed:?} where the log has {logged:?}",
                        name(recorded.procedure)
                    ),
                ));
            }
        }
        Ok(())
    }

    /// Whether replay has handed out every recorded input.
    pub(crate) fn all_given(&self) -> bool {
        self.recorded.as_ref().is_none_or(|r| r.values.len() == self.given)
    }

    /// Draws an input.
    pub(super) fn draw(&mut self, input: Draw) -> Result<Slot> {
        Ok(match input {
            Draw::TransactionTimestamp => Slot::Int(self.transaction_time()),
            Draw::ClockTimestamp => {
                self.settle_time();
                Slot::Int(self.wall_clock.micros())
            }
            Draw::Random => Slot::Float(self.chance.next()),
            Draw::Uuid => Slot::Uuid(self.secret.uuid()?),
            Draw::Kept
            | Draw::Setting
            | Draw::TransactionId
            | Draw::LastValue
            | Draw::StatementTimestamp
            | Draw::CurrentUser
            | Draw::SessionUser
            | Draw::CurrentDatabase
            | Draw::Permitted(_)
            | Draw::RowSecurity(_)
            | Draw::ActsAs(_)
            | Draw::RowSecurityOff => {
                return Err(Error::internal("the engine and the session know this"));
            }
        })
    }
}

#[cold]
pub(super) fn missing_input() -> Error {
    Error::new(SqlState::DATA_CORRUPTED, "replay asks for an input that the log does not have")
}
