//! Transactions run again one after the other, over the rows as they are.
//!
//! A call that the log has was committed: it takes nothing back, is alone, and nobody waits for its answer. So it runs over
//! [`SerialOn`] without before-images, takes its arguments and inputs from the bytes of the log, and shares a pin with the
//! calls next to it, whose rows were fetched together. That is the ground on which `regrow` and `llr-p` stand, too: schemes
//! that are compared differ in what they do, not in what they pay for a row.
//!
//! What needs more than rows and inputs is left to the engine ([`Target::call`](crate::Replayer::call)): calls that may
//! take back what they did (a block with handlers), that end transactions, run text made at run time, ask questions of
//! the catalog or the session, set sequences, tell others, or were logged under another planner. So are changes of the
//! schema.

use crate::regrow::{CHANGE, PUT, TAKE, Worker, put_in_place, unreadable};
use crate::{Routines, World};
use planaria_base::value::{ValueReader, ValueWriter};
use planaria_base::{Error, Level, ProcedureId, Result, SequenceId, SequencePlace, SqlState, Type};
use planaria_exec::values::{read_slot, write_slot};
use planaria_exec::{Code, Context, Dynamic, Heap, Host, Link, Slot};
use planaria_ir::{Draw, OpKind, Program};
use planaria_log::{Keeping, RawEffects, RawRecord};
use planaria_protocol::{Hints, Protocol};
use planaria_storage::Header;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// Programs for a call that ask for its rows: the second one reads what the first has fetched.
const WAVES: usize = 2;

/// See the module's head.
pub(crate) struct Rerun<H: Header> {
    world: Arc<World<H>>,
    worker: Worker<H>,
    /// Whether calls of a procedure, with kept values or without, need nothing but rows and inputs.
    plain: BTreeMap<(ProcedureId, bool), bool>,
    kept: Kept,
}

/// Where values of the log are compared with those that are computed.
#[derive(Default)]
struct Kept {
    heap: Heap,
    computed: Vec<u8>,
    logged: Vec<u8>,
}

impl Kept {
    /// Whether they have the same bits.
    fn are_same(&mut self, computed: Slot, heap: &Heap, logged: Slot) -> bool {
        match (computed, logged) {
            (Slot::Int(computed), Slot::Int(logged)) => computed == logged,
            _ => {
                self.computed.clear();
                self.logged.clear();
                write_slot(&mut ValueWriter::new(&mut self.computed, 1), computed, heap);
                write_slot(&mut ValueWriter::new(&mut self.logged, 1), logged, &self.heap);
                self.computed == self.logged
            }
        }
    }
}

/// Puts a call's arguments where a program takes them.
#[inline]
fn take_args<H: Header>(worker: &mut Worker<H>, args: usize, values: &mut ValueReader<'_>) -> Result<()> {
    worker.machine.reset();
    worker.slots.clear();
    for _ in 0..args {
        let slot = read_slot(values, worker.machine.heap_mut())?.ok_or_else(unreadable)?;
        worker.slots.push(slot);
    }
    Ok(())
}

/// Whether a call needs nothing but rows and inputs, with all that it calls.
fn is_plain(routines: &dyn Routines, id: ProcedureId, keeps: bool) -> bool {
    let program = match keeps {
        true => routines.keeping(id).ok().flatten(),
        false => routines.program(id).ok(),
    };
    program.is_some_and(|program| is_plain_program(routines, program, &mut BTreeSet::new()))
        && routines.within(id).is_none()
}

fn is_plain_program(routines: &dyn Routines, program: &Program, seen: &mut BTreeSet<ProcedureId>) -> bool {
    let mut plain = true;
    program.body.visit(&mut |op| {
        plain = plain
            && match &op.kind {
                OpKind::Try { .. }
                | OpKind::EndTransaction { .. }
                | OpKind::Execute { .. }
                | OpKind::Ask { .. }
                | OpKind::SystemRows { .. }
                | OpKind::Notify { .. }
                | OpKind::SetValue { .. }
                | OpKind::CurrentValue { .. }
                | OpKind::Piece { .. } => false,
                OpKind::Draw { input, .. } => matches!(
                    input,
                    Draw::TransactionTimestamp
                        | Draw::StatementTimestamp
                        | Draw::ClockTimestamp
                        | Draw::Random
                        | Draw::Uuid
                ),
                OpKind::Call { procedure, .. } | OpKind::CallSet { procedure, .. } => {
                    !seen.insert(*procedure)
                        || routines.within(*procedure).is_none()
                            && routines
                                .program(*procedure)
                                .is_ok_and(|program| is_plain_program(routines, program, seen))
                }
                _ => true,
            };
    });
    plain
}

impl<H: Header> Rerun<H> {
    pub(crate) fn new(world: Arc<World<H>>) -> Rerun<H> {
        Rerun { world, worker: Worker::new(0), plain: BTreeMap::new(), kept: Kept::default() }
    }

    /// The schema may have changed. Between two groups.
    pub(crate) fn enter(&mut self, world: Arc<World<H>>) {
        if !Arc::ptr_eq(&self.world.routines, &world.routines) {
            self.plain.clear();
        }
        self.world = world;
    }

    /// Whether [`Rerun::run`] can do it.
    pub(crate) fn can(&mut self, record: &RawRecord<'_>) -> bool {
        let Some((id, ..)) = record.call() else {
            let Some(mut effects) = record.effects() else { return false };
            let known = effects.by_ref().all(|e| match e.table() {
                Some(table) => self.world.tables.try_get(table).is_some(),
                None => e.place().is_some(),
            });
            return known && effects.is_whole();
        };
        let keeps = match record.keeping() {
            Keeping::No => false,
            Keeping::Yes => true,
            Keeping::ByAnother => return false,
        };
        let routines = &*self.world.routines;
        *self.plain.entry((id, keeps)).or_insert_with(|| is_plain(routines, id, keeps))
    }

    /// Begins a group of transactions, each of which [`Rerun::run`] can do, and fetches rows that they will look up.
    pub(crate) fn begin(&mut self, records: &[RawRecord<'_>]) -> Result<()> {
        let Rerun { world, worker, .. } = self;
        worker.protocol.begin(&mut worker.txn);
        worker.machine.serve(None);
        worker.machine.asked().begin_calls();
        if records.len() < 2 {
            return Ok(());
        }
        for wave in 0..WAVES {
            let mut any = false;
            for (n, record) in (0u32..).zip(records) {
                let Some((id, args, _, mut values)) = record.call() else { continue };
                let Some(code) = world.routines.waves(id).get(wave) else { continue };
                worker.machine.asked().of_call(n);
                // The second one finds what the first has fetched.
                worker.machine.serve(Some(n));
                take_args(worker, args, &mut values)?;
                let mut host = NoHost;
                let routines = &*world.routines;
                let Worker { machine, protocol, txn, slots, .. } = worker;
                let mut ctx = Context {
                    protocol,
                    txn,
                    tables: &world.tables,
                    link: routines as &dyn Link,
                    host: &mut host,
                    calls: Default::default(),
                };
                // Errors will be seen when the call runs.
                any |= machine.run_ahead(code, slots, &mut ctx).is_ok();
            }
            if !any {
                break;
            }
            worker.protocol.look_ahead(&mut worker.txn, &world.tables, worker.machine.asked());
        }
        worker.machine.serve(None);
        Ok(())
    }

    /// Ends the group.
    pub(crate) fn end(&mut self) {
        self.worker.end_transaction(&self.world.tables);
    }

    /// After an error: what was done stays, and the target is lost.
    pub(crate) fn give_up(&mut self) {
        self.worker.give_up(&self.world.tables);
    }

    /// Does again what a transaction did, the n-th of the group.
    pub(crate) fn run(&mut self, n: usize, record: &RawRecord<'_>) -> Result<()> {
        match record.effects() {
            Some(effects) => self.effects(effects),
            None => self.call(n, record),
        }
    }

    fn call(&mut self, n: usize, record: &RawRecord<'_>) -> Result<()> {
        let Rerun { world, worker, kept, .. } = self;
        let (id, args, inputs, mut values) = record.call().ok_or_else(unreadable)?;
        let routines = &*world.routines;
        let code: &Code = routines.replayed(id, record.keeping())?;
        worker.machine.serve(Some(n as u32));
        take_args(worker, args, &mut values)?;
        let mut host = RerunHost { routines, values, inputs, now: None, procedure: id, kept };
        let Worker { machine, protocol, txn, slots, .. } = worker;
        let mut ctx = Context {
            protocol,
            txn,
            tables: &world.tables,
            link: routines as &dyn Link,
            host: &mut host,
            calls: Default::default(),
        };
        machine.run(code, slots, &mut ctx)?;
        if host.inputs > 0 {
            let what = "replay drew fewer inputs than the log has";
            return Err(Error::new(SqlState::DATA_CORRUPTED, what));
        }
        Ok(())
    }

    /// Old rows first, then the new ones: unique keys may have wandered between rows.
    fn effects(&mut self, effects: RawEffects<'_>) -> Result<()> {
        let Rerun { world, worker, .. } = self;
        for first in [true, false] {
            for effect in effects.clone() {
                let Some(table) = effect.table() else {
                    if let (true, Some((sequence, place))) = (first, effect.place()) {
                        world.routines.observe_sequence(sequence, place);
                    }
                    continue;
                };
                let stored = world.tables.get(table);
                let is_update = !effect.is_insert() && !effect.is_delete();
                let moves = is_update && stored.secondary().any(|(_, index)| index.codec().unique());
                let its_turn = if first { !effect.is_insert() } else { effect.is_insert() || moves };
                if !its_turn {
                    continue;
                }
                if effect.is_insert()
                    && let Some(planaria_log::RowChange::Insert { row, .. }) =
                        effect.change(&mut worker.change)
                {
                    stored.expect_image(row)?;
                    world.routines.observe_row(table, row);
                }
                let piece = match (moves, first) {
                    (false, _) => CHANGE,
                    (true, true) => TAKE,
                    (true, false) => PUT,
                };
                put_in_place(worker, &world.tables, &effect, piece)?;
            }
        }
        Ok(())
    }
}

/// A call's surroundings: gives it the logged inputs, compares what it keeps with what the log has.
struct RerunHost<'r> {
    routines: &'r dyn Routines,
    values: ValueReader<'r>,
    /// Inputs that were not asked for yet.
    inputs: usize,
    now: Option<Slot>,
    procedure: ProcedureId,
    kept: &'r mut Kept,
}

impl RerunHost<'_> {
    fn input(&mut self) -> Result<Slot> {
        self.inputs = self.inputs.checked_sub(1).ok_or_else(missing_input)?;
        self.kept.heap.clear();
        read_slot(&mut self.values, &mut self.kept.heap)?.ok_or_else(unreadable)
    }
}

#[cold]
fn missing_input() -> Error {
    Error::new(SqlState::DATA_CORRUPTED, "replay asks for an input that the log does not have")
}

#[cold]
fn not_plain(what: &str) -> Error {
    Error::internal(format!("{what} in a call that needs only rows and inputs"))
}

impl Host for RerunHost<'_> {
    fn draw(&mut self, input: Draw) -> Result<Slot> {
        // The transaction is one statement.
        let is_now = matches!(input, Draw::TransactionTimestamp | Draw::StatementTimestamp);
        if let (true, Some(now)) = (is_now, self.now) {
            return Ok(now);
        }
        let value = self.input()?;
        match (input, value) {
            (Draw::TransactionTimestamp | Draw::StatementTimestamp | Draw::ClockTimestamp, Slot::Int(_))
            | (Draw::Random, Slot::Float(_))
            | (Draw::Uuid, Slot::Uuid(_)) => {}
            _ => return Err(missing_input()),
        }
        if is_now {
            self.now = Some(value);
        }
        Ok(value)
    }
    fn next_value(&mut self, sequence: SequenceId) -> Result<i64> {
        let place = match self.input()? {
            Slot::Int(value) => Some(SequencePlace::given(0, value)),
            Slot::Array(both) => match self.kept.heap.elements(both) {
                [Slot::Int(value), Slot::Int(generation)] => SequencePlace::of_pair(*value, *generation),
                _ => None,
            },
            _ => None,
        };
        let place = place.ok_or_else(missing_input)?;
        self.routines.observe_sequence(sequence, place);
        Ok(place.value)
    }
    fn current_value(&mut self, _: SequenceId) -> Result<i64> {
        Err(not_plain("currval"))
    }
    fn set_value(&mut self, _: SequenceId, _: i64, _: bool) -> Result<()> {
        Err(not_plain("setval"))
    }
    fn notice(&mut self, _: Level, _: &Error) {}
    fn row(&mut self, _: &[Slot], _: &Heap) -> Result<()> {
        Ok(())
    }
    fn execute(&mut self, _: &str, _: &[Type], _: &[String]) -> Result<Dynamic> {
        Err(not_plain("EXECUTE"))
    }
    fn keep(&mut self, values: &[Slot], heap: &Heap) -> Result<()> {
        for computed in values {
            let logged = self.input()?;
            if !self.kept.are_same(*computed, heap, logged) {
                let computed = heap.to_datum(*computed);
                let logged = self.kept.heap.to_datum(logged);
                let id = self.procedure.0;
                return Err(Error::new(
                    SqlState::DATA_CORRUPTED,
                    format!("replay of procedure {id} computes {computed:?} where the log has {logged:?}"),
                ));
            }
        }
        Ok(())
    }
}

/// What asks for rows asks for nothing else.
struct NoHost;

impl Host for NoHost {
    fn draw(&mut self, _: Draw) -> Result<Slot> {
        Err(not_plain("an input"))
    }
    fn next_value(&mut self, _: SequenceId) -> Result<i64> {
        Err(not_plain("nextval"))
    }
    fn current_value(&mut self, _: SequenceId) -> Result<i64> {
        Err(not_plain("currval"))
    }
    fn set_value(&mut self, _: SequenceId, _: i64, _: bool) -> Result<()> {
        Err(not_plain("setval"))
    }
    fn notice(&mut self, _: Level, _: &Error) {}
    fn row(&mut self, _: &[Slot], _: &Heap) -> Result<()> {
        Ok(())
    }
    fn execute(&mut self, _: &str, _: &[Type], _: &[String]) -> Result<Dynamic> {
        Err(not_plain("EXECUTE"))
    }
    fn keep(&mut self, _: &[Slot], _: &Heap) -> Result<()> {
        Err(not_plain("a value for the log"))
    }
}
