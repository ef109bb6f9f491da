//! Execution: the pieces of one class and partition, in key order.
//!
//! The queues of all chunks are gathered and sorted by key; pieces of one key stay in commit
//! order. What follows is a sweep over the partition's rows: neighbours in the order
//! are neighbours in the indexes.

use super::kernel::{Bank, HandsOver, Register, Surroundings};
use super::layout::{Class, Layout};
use super::planner::{Queues, out_of_place};
use super::segment::{CHANGE, Chunk, Descriptor, PIECES_MAX, PUT, Segment, TAKE};
use super::worker::Worker;
use super::{feed::unreadable, image};
use crate::World;
use planaria_base::{Error, IndexId, Result, SequenceId, Type};
use planaria_base::{Level, sync::RwLockReadGuard};
use planaria_exec::{Context, Dynamic, Heap, Host, Link, Slot};
use planaria_ir::Draw;
use planaria_protocol::serial::Key;
use planaria_protocol::{Protocol, RowHandle};
use planaria_storage::record::prefetch_bytes;
use planaria_storage::{Header, KeyBuf, TableSet};
use std::ops::Range;

/// How many pieces ahead operands are fetched.
const OPERANDS_AHEAD: usize = 8;
/// Pieces between two ends of a transaction: what was deleted waits for it.
const PIECES_PER_TRANSACTION: usize = 256;
/// Rows that are fetched together, before the first of them is needed.
const AHEAD: usize = planaria_storage::btree::GROUP;

/// Runs the pieces of these queues of a segment. `sorted`: pieces of different keys may change places.
#[inline(never)]
pub(super) fn run<H: Header>(
    worker: &mut Worker<H>,
    world: &World<H>,
    segment: &Segment,
    queues: Range<usize>,
    sorted: bool,
) -> Result<()> {
    let layout = &*segment.layout;
    let class = layout.class_of(queues.start);
    let mut chunks = Vec::with_capacity(segment.parts.len());
    for part in &segment.parts {
        chunks.push(part.chunk.read());
    }
    for giver in segment.givers(class) {
        chunks.push(segment.handed[giver].read());
    }
    let mut order = std::mem::take(&mut worker.order);
    order.clear();
    for (number, chunk) in (0u16..).zip(&chunks) {
        order.extend(chunk.in_queues(queues.clone()).iter().map(|d| Descriptor { chunk: number, ..*d }));
    }
    let parts = segment.parts.len();
    // Where in the commit order a piece stands: what was handed over, where the piece stood that did.
    let place = |d: &Descriptor| match usize::from(d.chunk) {
        chunk if chunk < parts => (d.chunk, d.sequence),
        chunk => chunks[chunk].origins[d.sequence as usize],
    };
    // A single queue of a chunk is in commit order, and so are the chunks.
    let in_order = queues.len() == 1 && chunks.len() == parts;
    if sorted || !in_order {
        worker.sorter.sort(&mut order, sorted, in_order, place);
    }
    let mut handed = match layout.classes[class].gives {
        true => Some(segment.handed[queues.start].write()),
        false => None,
    };
    if let Some(chunk) = &mut handed {
        chunk.begin(layout.classes.len());
    }
    let outcome =
        run_in_order(worker, world, segment, &layout.classes[class], &chunks, &order, handed.as_deref_mut());
    worker.order = order;
    if let Some(chunk) = &mut handed {
        chunk.divide(layout.queues.len(), &mut worker.spare);
    }
    outcome
}

fn run_in_order<H: Header>(
    worker: &mut Worker<H>,
    world: &World<H>,
    segment: &Segment,
    class: &Class,
    chunks: &[RwLockReadGuard<'_, Chunk>],
    order: &[Descriptor],
    mut handed: Option<&mut Chunk>,
) -> Result<()> {
    let layout = &*segment.layout;
    // Where the sort key is the whole primary key, rows are fetched before they are needed.
    let exact = class.exact.map(|table| &**world.tables.get(table));
    let key_words = exact.map_or(0, |t| t.index(IndexId::PRIMARY).codec().key_words_max());
    let mut ahead = [None; AHEAD];
    for group in order.chunks(PIECES_PER_TRANSACTION) {
        worker.protocol.begin(&mut worker.txn);
        for (at, descriptor) in group.iter().enumerate() {
            if let (Some(table), true) = (exact, at % AHEAD == 0) {
                let (mut wanted, mut places) = ([(Key::default(), 0); AHEAD], [0; AHEAD]);
                let mut count = 0;
                for (place, descriptor) in group[at..].iter().take(AHEAD).enumerate() {
                    let bytes = row_bytes(layout, descriptor);
                    ahead[place] = None;
                    if bytes > 0 {
                        (wanted[count], places[count]) = ((key_of(descriptor), bytes), place);
                        count += 1;
                    }
                }
                worker
                    .txn
                    .look_ahead(table, &wanted[..count], key_words, |i, found| ahead[places[i]] = found);
            }
            // Operands lie where the planner put them, in no order now.
            if let Some(next) = group.get(at + OPERANDS_AHEAD)
                && next.piece < PIECES_MAX
            {
                let operands = &chunks[usize::from(next.chunk)].operands;
                let lines = layout.forms.pieces[usize::from(next.piece)].lines;
                let operands = operands.get(next.operands as usize..).unwrap_or_default();
                prefetch_bytes(operands, usize::from(lines));
            }
            let chunk = &chunks[usize::from(descriptor.chunk)];
            let done = match descriptor.piece {
                CHANGE | TAKE | PUT => {
                    let batch = &segment.parts[usize::from(descriptor.chunk)].batch;
                    let effect = batch.effect_at(descriptor.operands as usize).ok_or_else(unreadable);
                    effect.and_then(|effect| {
                        image::put_in_place(worker, &world.tables, &effect, descriptor.piece)
                    })
                }
                piece => {
                    let operands = &chunk.operands[descriptor.operands as usize..];
                    let given = match exact {
                        Some(table) if row_bytes(layout, descriptor) > 0 => {
                            let key = key_of(descriptor);
                            worker.txn.found(table, &key[..key_words], ahead[at % AHEAD])
                        }
                        _ => None,
                    };
                    let mut executor = Executor {
                        segment,
                        tables: &world.tables,
                        handed: handed.as_deref_mut(),
                        // What was handed over hands over in the place of the piece that it came from.
                        origin: match usize::from(descriptor.chunk) < segment.parts.len() {
                            true => (descriptor.chunk, descriptor.sequence),
                            false => chunk.origins[descriptor.sequence as usize],
                        },
                        piece,
                    };
                    run_piece(worker, world, given, operands, &mut executor)
                }
            };
            if let Err(error) = done {
                let mut place = (descriptor.chunk, descriptor.sequence);
                if usize::from(place.0) >= segment.parts.len() {
                    place = chunk.origins[place.1 as usize];
                }
                worker.current = chunks[usize::from(place.0)].transaction(place.1);
                return Err(error);
            }
        }
        worker.end_transaction(&world.tables);
    }
    Ok(())
}

/// How much of the row of its own key a piece is likely to look at; 0 if it does not want it.
#[inline]
fn row_bytes(layout: &Layout, descriptor: &Descriptor) -> u32 {
    layout.forms.pieces.get(usize::from(descriptor.piece)).map_or(0, |form| form.row_bytes)
}

/// The words of a sort key.
#[inline]
fn key_of(descriptor: &Descriptor) -> Key {
    [descriptor.key, u64::from(descriptor.key_low) << 32]
}

#[inline]
fn run_piece<H: Header>(
    worker: &mut Worker<H>,
    world: &World<H>,
    given: Option<RowHandle>,
    operands: &[u8],
    executor: &mut Executor<'_, H>,
) -> Result<()> {
    let number = usize::from(executor.piece);
    let layout = &*executor.segment.layout;
    let form = &layout.forms.pieces[number];
    if let Some(row) = &form.row {
        let Worker { protocol, txn, scratch, .. } = worker;
        let mut around = Surroundings { protocol, txn, tables: &world.tables, scratch };
        return around.insert_row(row.table, operands);
    }
    if let Some(kernel) = &form.kernel {
        let Worker { protocol, txn, scratch, banks, .. } = worker;
        let bank = banks.get(layout.forms.id, layout.forms.plans.len() + number, kernel);
        let mut around = Surroundings { protocol, txn, tables: &world.tables, scratch };
        return kernel.run_packed(bank, (&form.packing, operands), given, &mut around, executor);
    }
    let piece = layout.compiled(number)?;
    let Worker { machine, slots, .. } = worker;
    machine.reset();
    slots.clear();
    form.packing.take(operands, machine.heap_mut(), |_, slot| slots.push(slot))?;
    let mut ctx = Context {
        protocol: &worker.protocol,
        txn: &mut worker.txn,
        tables: &world.tables,
        link: &*world.routines as &dyn Link,
        host: executor,
        calls: Default::default(),
    };
    worker.machine.run(&piece.code, &worker.slots, &mut ctx).map_err(Error::from)
}

/// A piece's surroundings: everything it needs it was given.
struct Executor<'e, H: Header> {
    segment: &'e Segment,
    tables: &'e TableSet<H>,
    /// Where what it hands over goes.
    handed: Option<&'e mut Chunk>,
    /// Its place in the commit order.
    origin: (u16, u32),
    /// Its number among all.
    piece: u16,
}

impl<H: Header> Executor<'_, H> {
    #[inline]
    fn give(&mut self, piece: u32, value: impl Fn(usize) -> Slot, heap: &Heap) -> Result<()> {
        let Some(chunk) = self.handed.as_deref_mut() else {
            return Err(out_of_place("a piece of a piece that gives none"));
        };
        let layout = &*self.segment.layout;
        let own = &layout.pieces[usize::from(self.piece)];
        let number = layout.procedures[own.procedure as usize].first_piece as usize + piece as usize;
        chunk.origins.push(self.origin);
        let whole = &self.segment.whole;
        let mut queues = Queues { layout, tables: self.tables, whole, chunk, key: KeyBuf::new() };
        queues.push_piece(number, value, heap)
    }
}

impl<H: Header> HandsOver for Executor<'_, H> {
    #[inline]
    fn hand_over(&mut self, piece: u32, args: &[Register], bank: &Bank, heap: &Heap) -> Result<()> {
        self.give(piece, |i| bank[usize::from(args[i])], heap)
    }
}

impl<H: Header> Host for Executor<'_, H> {
    fn draw(&mut self, _: Draw) -> Result<Slot> {
        Err(out_of_place("an input"))
    }
    fn next_value(&mut self, _: SequenceId) -> Result<i64> {
        Err(out_of_place("nextval"))
    }
    fn current_value(&mut self, _: SequenceId) -> Result<i64> {
        Err(out_of_place("currval"))
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
    fn piece(&mut self, piece: u32, args: &[Slot], heap: &Heap) -> Result<()> {
        self.give(piece, |i| args[i], heap)
    }
}
