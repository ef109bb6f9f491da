//! Planning: from the records of a part to pieces in queues.
//!
//! A call's plan program runs on its arguments and logged inputs; what it hands over by `Piece` goes to
//! the queue of the piece's class and partition, its operands to the chunk. An effect goes there as it
//! is: a reference into the log batch.

use super::feed::unreadable;
use super::kernel::{Bank, HandsOver, NewRow, Register, Surroundings};
use super::layout::{Layout, PieceInfo, SortKey, sort_key};
use super::segment::{CHANGE, Chunk, Descriptor, PUT, Segment, SegmentPart, TAKE};
use super::worker::Worker;
use crate::{Routines, World};
use planaria_base::{
    Datum, Error, IndexId, Level, ProcedureId, Result, SequenceId, SequencePlace, SqlState, Type,
};
use planaria_exec::values::read_slot;
use planaria_exec::{Context, Dynamic, Heap, Host, Link, Slot};
use planaria_ir::Draw;
use planaria_log::{ChangeBuf, RawEffects, RawRecord, RowChange, ValueReader};
use planaria_protocol::Protocol;
use planaria_storage::record::prefetch_bytes;
use planaria_storage::{Header, KeyBuf, TableSet};
use std::sync::atomic::{AtomicBool, Ordering};

/// Bytes of operands of a part at most, beside the last ones. A segment should come to a few megabytes: where a single call
/// makes so many of them, running it as it was called is as good.
/// (Less where tests look for faults, so that they come to it.)
const OPERANDS_MAX: usize = if cfg!(debug_assertions) { 16 << 20 } else { 256 << 20 };
/// Errors of a plan that its procedure need not have had: it did not keep all that it changes side by side.
const MEMORY: [SqlState; 2] = [SqlState::PROGRAM_LIMIT_EXCEEDED, SqlState::OUT_OF_MEMORY];
/// Calls between two ends of the transaction that the plans read in.
const CALLS_PER_TRANSACTION: u32 = 256;
/// How many records ahead their bytes are fetched: they lie in the order in which workers wrote them.
const RECORDS_AHEAD: usize = 4;
/// One piece in so many gives a sample of the keys, while classes are still being divided.
const SAMPLE_EVERY: u32 = 8;

/// Plans one part of a segment. If it comes to too much, the segment is given up: planning has changed nothing.
#[inline(never)]
pub(super) fn plan_part<H: Header>(
    worker: &mut Worker<H>,
    world: &World<H>,
    segment: &Segment,
    part: &SegmentPart,
) -> Result<()> {
    let mut chunk = part.chunk.write();
    let outcome = match segment.is_given_up() {
        true => Ok(()),
        false => plan_into(&mut chunk, worker, world, segment, part),
    };
    // A handler of the procedure may have caught it.
    let too_much = |error: &Error| MEMORY.contains(&error.sqlstate());
    if segment.is_given_up() || chunk.overflowed || outcome.as_ref().err().is_some_and(too_much) {
        if outcome.is_err() {
            worker.give_up(&world.tables);
        }
        segment.given_up.store(true, Ordering::Release);
        *chunk = Chunk::default();
        chunk.begin(segment.layout.classes.len());
        chunk.divide(segment.layout.queues.len(), &mut worker.spare);
        return Ok(());
    }
    outcome.inspect_err(|_| worker.give_up(&world.tables))
}

fn plan_into<H: Header>(
    chunk: &mut Chunk,
    worker: &mut Worker<H>,
    world: &World<H>,
    segment: &Segment,
    part: &SegmentPart,
) -> Result<()> {
    let layout = &*segment.layout;
    chunk.begin(layout.classes.len());
    chunk.operands_max = OPERANDS_MAX;
    let (pieces, bytes) = segment.so_far.expect(part.records.len());
    chunk.reserve(pieces, bytes);
    let mut calls = 0;
    worker.protocol.begin(&mut worker.txn);
    for at in part.records.clone() {
        prefetch_bytes(part.batch.bytes_from(at + RECORDS_AHEAD), 2);
        let record = part.batch.get(at);
        worker.current = record.commit_ts();
        let sequence = chunk.sequence;
        chunk.transactions.push((sequence, record.commit_ts()));
        let (whole, key) = (&segment.whole[..], std::mem::take(&mut worker.key));
        let mut queues = Queues { layout, tables: &world.tables, whole, chunk, key };
        let planned = match record.effects() {
            Some(effects) => plan_effects(world, effects, part, &mut queues, &mut worker.change),
            None => {
                calls += 1;
                plan_call(worker, world, &record, &mut queues)
            }
        };
        worker.key = queues.key;
        planned?;
        if calls == CALLS_PER_TRANSACTION {
            calls = 0;
            worker.end_transaction(&world.tables);
            worker.protocol.begin(&mut worker.txn);
        }
    }
    worker.end_transaction(&world.tables);
    chunk.divide(layout.queues.len(), &mut worker.spare);
    Ok(())
}

/// Where pieces go.
pub(super) struct Queues<'c, H: Header> {
    pub layout: &'c Layout,
    pub tables: &'c TableSet<H>,
    pub whole: &'c [AtomicBool],
    pub chunk: &'c mut Chunk,
    pub key: KeyBuf,
}

impl<H: Header> Queues<'_, H> {
    /// Queues a piece with its operands; `number` among all pieces.
    #[inline]
    pub(super) fn push_piece(
        &mut self,
        number: usize,
        value: impl Fn(usize) -> Slot,
        heap: &Heap,
    ) -> Result<()> {
        let layout = self.layout;
        let info = &layout.pieces[number];
        let Some(class) = info.class else { return Ok(()) };
        let form = &layout.forms.pieces[number];
        let key = match form.key.sort_key(&value) {
            Some(key) => key,
            None => self.encoded_key(info, class, &value, heap),
        };
        if form.row.is_some() {
            NewRow::align(&mut self.chunk.operands);
        }
        if self.chunk.operands.len() > self.chunk.operands_max {
            return Err(self.overflow());
        }
        let operands = self.chunk.operands.len() as u32;
        let Chunk { operands: out, image, .. } = &mut *self.chunk;
        match &form.row {
            Some(row) => row.put(out, value, heap, self.tables.get(row.table).layout(), image)?,
            None => form.packing.put(out, value, heap)?,
        }
        self.push(class, key, info.disturbs, operands, number as u16);
        Ok(())
    }

    #[cold]
    fn overflow(&mut self) -> Error {
        self.chunk.overflowed = true;
        Error::new(SqlState::PROGRAM_LIMIT_EXCEEDED, "operands of pieces take too much memory")
    }

    #[inline(never)]
    fn encoded_key(
        &mut self,
        info: &PieceInfo,
        class: u16,
        value: &dyn Fn(usize) -> Slot,
        heap: &Heap,
    ) -> SortKey {
        let prefix = self.layout.classes[usize::from(class)].prefix;
        self.key.clear();
        if prefix > 0 {
            let codec = self.tables.get(info.table).index(IndexId::PRIMARY).codec();
            // A key that no row can have: the piece does nothing, wherever it does it.
            if !codec.encode_prefix_with(prefix, |i| heap.field(value(i)), &mut self.key) {
                self.key.clear();
            }
        }
        sort_key(&self.key)
    }

    /// Queues a piece or an effect.
    #[inline]
    fn push(&mut self, class: u16, (key, key_low): SortKey, disturbs: bool, operands: u32, piece: u16) {
        let class_info = &self.layout.classes[usize::from(class)];
        if disturbs {
            self.whole[usize::from(class)].store(true, Ordering::Relaxed);
        }
        let sequence = self.chunk.sequence;
        self.chunk.sequence = sequence.wrapping_add(1);
        if self.layout.samples && sequence.is_multiple_of(SAMPLE_EVERY) {
            self.chunk.samples[usize::from(class)].push((key, key_low));
        }
        let queue = class_info.queue((key, key_low)) as u16;
        self.chunk.pieces.push(Descriptor { key, key_low, sequence, operands, chunk: queue, piece });
    }
}

/// Old rows first, then the new ones: unique keys may have wandered between rows.
fn plan_effects<H: Header>(
    world: &World<H>,
    effects: RawEffects<'_>,
    part: &SegmentPart,
    queues: &mut Queues<'_, H>,
    buf: &mut ChangeBuf,
) -> Result<()> {
    let layout = queues.layout;
    for first in [true, false] {
        for effect in effects.clone() {
            let Some(table) = effect.table() else {
                if let (true, Some((sequence, place))) = (first, effect.place()) {
                    world.routines.observe_sequence(sequence, place);
                }
                continue;
            };
            let info = layout.tables[table.index()];
            let moves = info.unique_secondary && !effect.is_insert() && !effect.is_delete();
            let its_turn = if first { !effect.is_insert() } else { effect.is_insert() || moves };
            if !its_turn {
                continue;
            }
            let class = &layout.classes[usize::from(info.class)];
            let stored = world.tables.get(table);
            let codec = stored.index(IndexId::PRIMARY).codec();
            queues.key.clear();
            if class.prefix > 0 || effect.is_insert() {
                match effect.change(buf).ok_or_else(unreadable)? {
                    RowChange::Insert { row, .. } => {
                        stored.expect_image(row)?;
                        world.routines.observe_row(table, row);
                        codec.encode_row_prefix(row, class.prefix, &mut queues.key);
                    }
                    RowChange::Update { row, .. } => {
                        stored.expect_image(row)?;
                        codec.encode_row_prefix(row, class.prefix, &mut queues.key);
                    }
                    RowChange::Delete { key, .. } | RowChange::Patch { key, .. } => {
                        for byte in &key[..codec.prefix_len(key, class.prefix)] {
                            queues.key.push(u64::from(*byte), 1);
                        }
                    }
                }
            }
            let place = part.batch.place_of(&effect) as u32;
            let piece = match (moves, first) {
                (false, _) => CHANGE,
                (true, true) => TAKE,
                (true, false) => PUT,
            };
            queues.push(
                info.class,
                sort_key(&queues.key),
                info.dangerous && !effect.is_insert(),
                place,
                piece,
            );
        }
    }
    Ok(())
}

fn plan_call<H: Header>(
    worker: &mut Worker<H>,
    world: &World<H>,
    record: &RawRecord<'_>,
    queues: &mut Queues<'_, H>,
) -> Result<()> {
    let (id, args, inputs, mut values) = record.call().ok_or_else(unreadable)?;
    let layout = queues.layout;
    let number = layout.numbers[id.index()] as usize;
    let procedure = &layout.procedures[number];
    let (first, pieces) = (procedure.first_piece as usize, procedure.pieces as usize);
    let routines = &*world.routines;
    if let Some(kernel) = &layout.forms.plans[number] {
        let Worker { protocol, txn, scratch, banks, .. } = worker;
        let bank = banks.get(layout.forms.id, number, kernel);
        kernel.take_logged(bank, args, &mut values, &mut scratch.heap)?.ok_or_else(unreadable)?;
        let mut host = Planner { queues, routines, values, inputs, now: None, first, pieces };
        let mut around = Surroundings { protocol, txn, tables: &world.tables, scratch };
        kernel.run(bank, None, &mut around, &mut host)?;
        return all_given(host.inputs, id);
    }
    worker.machine.reset();
    worker.slots.clear();
    for _ in 0..args {
        let slot = read_slot(&mut values, worker.machine.heap_mut())?.ok_or_else(unreadable)?;
        worker.slots.push(slot);
    }
    let mut host = Planner { queues, routines, values, inputs, now: None, first, pieces };
    let mut ctx = Context {
        protocol: &worker.protocol,
        txn: &mut worker.txn,
        tables: &world.tables,
        link: routines as &dyn Link,
        host: &mut host,
        calls: Default::default(),
    };
    worker.machine.run(&layout.plan(number)?.plan, &worker.slots, &mut ctx)?;
    all_given(host.inputs, id)
}

fn all_given(left: usize, id: ProcedureId) -> Result<()> {
    if left == 0 {
        return Ok(());
    }
    Err(Error::new(
        SqlState::DATA_CORRUPTED,
        format!("the plan of procedure {} takes fewer inputs than the log has", id.0),
    ))
}

/// A plan's surroundings: gives it the logged inputs, takes its pieces.
struct Planner<'p, 'c, H: Header> {
    queues: &'p mut Queues<'c, H>,
    routines: &'p dyn Routines,
    values: ValueReader<'p>,
    /// Inputs that were not asked for yet.
    inputs: usize,
    now: Option<Slot>,
    /// Number of the procedure's first piece.
    first: usize,
    /// How many it has.
    pieces: usize,
}

impl<H: Header> HandsOver for Planner<'_, '_, H> {
    #[inline]
    fn hand_over(&mut self, piece: u32, args: &[Register], bank: &Bank, heap: &Heap) -> Result<()> {
        let number = self.number(piece)?;
        self.queues.push_piece(number, |i| bank[usize::from(args[i])], heap)
    }
}

impl<H: Header> Planner<'_, '_, H> {
    fn number(&self, piece: u32) -> Result<usize> {
        if piece as usize >= self.pieces {
            return Err(out_of_place("an unknown piece"));
        }
        Ok(self.first + piece as usize)
    }

    fn input(&mut self, heap: &mut Heap) -> Result<Slot> {
        self.inputs = self.inputs.checked_sub(1).ok_or_else(missing_input)?;
        read_slot(&mut self.values, heap)?.ok_or_else(unreadable)
    }

    /// An input that lies in no heap.
    fn plain_input(&mut self) -> Result<Slot> {
        match self.input(&mut Heap::new())? {
            Slot::Text(_)
            | Slot::Bytea(_)
            | Slot::Jsonb(_)
            | Slot::Citext(_)
            | Slot::Array(_)
            | Slot::Long(_) => Err(missing_input()),
            plain => Ok(plain),
        }
    }

    fn int_input(&mut self) -> Result<i64> {
        match self.plain_input()? {
            Slot::Int(n) => Ok(n),
            _ => Err(missing_input()),
        }
    }

    fn place_input(&mut self) -> Result<SequencePlace> {
        let mut heap = Heap::new();
        let place = match self.input(&mut heap)? {
            Slot::Int(value) => Some(SequencePlace::given(0, value)),
            Slot::Array(both) => match heap.elements(both) {
                [Slot::Int(value), Slot::Int(generation)] => SequencePlace::of_pair(*value, *generation),
                _ => None,
            },
            _ => None,
        };
        place.ok_or_else(missing_input)
    }
}

#[cold]
fn missing_input() -> Error {
    Error::new(SqlState::DATA_CORRUPTED, "replay asks for an input that the log does not have")
}

#[cold]
pub(super) fn out_of_place(what: &str) -> Error {
    Error::internal(format!("{what} in a part of a procedure that is replayed"))
}

impl<H: Header> Host for Planner<'_, '_, H> {
    fn draw(&mut self, input: Draw) -> Result<Slot> {
        // The transaction is one statement.
        let is_now = matches!(input, Draw::TransactionTimestamp | Draw::StatementTimestamp);
        if let (true, Some(now)) = (is_now, self.now) {
            return Ok(now);
        }
        let value = self.plain_input()?;
        if is_now {
            self.now = Some(value);
        }
        Ok(value)
    }
    fn name(&mut self, _: Draw) -> Result<String> {
        let mut heap = Heap::new();
        let input = self.input(&mut heap)?;
        match heap.to_datum(input) {
            Datum::Text(name) => Ok(name),
            _ => Err(missing_input()),
        }
    }
    fn next_value(&mut self, sequence: SequenceId) -> Result<i64> {
        let place = self.place_input()?;
        self.routines.observe_sequence(sequence, place);
        Ok(place.value)
    }
    fn current_value(&mut self, _: SequenceId) -> Result<i64> {
        self.int_input()
    }
    fn set_value(&mut self, _: SequenceId, _: i64, _: bool) -> Result<()> {
        Err(out_of_place("setval"))
    }
    fn notice(&mut self, _: Level, _: &Error) {}
    fn row(&mut self, _: &[Slot], _: &Heap) -> Result<()> {
        Ok(())
    }
    fn execute(&mut self, _: &str, _: &[Type], _: &[String]) -> Result<Dynamic> {
        Err(out_of_place("EXECUTE"))
    }
    fn keep(&mut self, _: &[Slot], _: &Heap) -> Result<()> {
        Err(out_of_place("a value for the log"))
    }
    fn kept(&mut self, _: &Type, heap: &mut Heap) -> Result<Slot> {
        self.input(heap)
    }
    #[inline]
    fn piece(&mut self, piece: u32, args: &[Slot], heap: &Heap) -> Result<()> {
        let number = self.number(piece)?;
        self.queues.push_piece(number, |i| args[i], heap)
    }
}
