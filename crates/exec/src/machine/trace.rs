//! What the operations of programs were given and have answered, for who compares two runs of one transaction
//! (`planaria::session::healing`). Debug builds only, and only of machines that were asked for it.
//!
//! Each program that runs has a [`Frame`]; in it there is an [`Event`] for every operation on tables that was run, for each
//! call, and for each range that was scanned, with digests of the values. Which row it is that a handle stands for differs
//! from run to run, so rows are told by their primary keys, or not at all.

use super::Machine;
use crate::code::*;
use crate::heap::Heap;
use crate::slot::Slot;
use planaria_ir::{OpId, Program};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;

/// Of runs that do more nothing is remembered.
const EVENTS_MAX: usize = 10_000;

/// What one operation was given and has answered, once.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Event {
    /// Which.
    pub op: OpId,
    /// A digest of its key, or of the values that it writes. None: that is not known.
    pub input: Option<u64>,
    /// A digest of what it has found, or whether it could be done.
    pub output: u64,
}

/// One run of one program.
#[derive(Clone, Debug)]
pub struct Frame {
    /// As it was compiled.
    pub program: Arc<Program>,
    /// A digest of its arguments.
    pub args: u64,
    /// In the order in which they began.
    pub events: Vec<Event>,
    /// Digests of the inputs that it has drawn itself.
    pub draws: Vec<u64>,
    /// It has come to its end.
    pub ended: bool,
}

/// The runs of programs, in the order in which they began.
#[derive(Clone, Default, Debug)]
pub struct Trace {
    /// See there.
    pub frames: Vec<Frame>,
    /// It has asked for what no table has.
    pub is_partial: bool,
    /// Frames that run, innermost last.
    open: Vec<usize>,
    /// The event of each open scan, by its height among all: its frame, and which of that.
    scans: Vec<Option<(usize, usize)>>,
    events: usize,
    /// The primary key of the row that is being changed.
    row: Option<u64>,
}

/// A call that has begun: the frames so far, and what it is given.
#[derive(Clone, Copy)]
pub(super) struct Began {
    frames: usize,
    input: u64,
}

impl Trace {
    fn event(&mut self, op: OpId, input: impl Into<Option<u64>>, output: u64) -> Option<(usize, usize)> {
        let frame = *self.open.last()?;
        self.events += 1;
        let events = &mut self.frames[frame].events;
        events.push(Event { op, input: input.into(), output });
        Some((frame, events.len() - 1))
    }

    /// A row is about to be changed that has this key.
    pub(super) fn changes(&mut self, key: &[u64]) {
        self.row = Some(both(0, key));
    }

    /// What is no row, and may be another in another run.
    fn drawn(&mut self, value: u64) {
        if let Some(frame) = self.open.last() {
            self.frames[*frame].draws.push(value);
        }
    }
}

/// Adds a value.
fn add(slot: Slot, heap: &Heap, to: &mut DefaultHasher) {
    match slot {
        Slot::Array(array) => heap.elements(array).iter().for_each(|element| add(*element, heap, to)),
        slot => format!("{:?}", heap.field(slot)).hash(to),
    }
}

fn digest<'s>(slots: impl IntoIterator<Item = &'s R>, frame: &[Slot], heap: &Heap) -> u64 {
    let mut hasher = DefaultHasher::new();
    let wanted = slots.into_iter().filter(|r| **r != NONE);
    wanted.for_each(|r| add(frame[usize::from(*r)], heap, &mut hasher));
    hasher.finish()
}

fn both(a: u64, b: impl Hash) -> u64 {
    let mut hasher = DefaultHasher::new();
    (a, b).hash(&mut hasher);
    hasher.finish()
}

impl Machine {
    /// What runs from now on is traced.
    pub fn begin_trace(&mut self) {
        self.trace = Some(Box::default());
    }

    /// The trace since then, if it was asked for.
    pub fn take_trace(&mut self) -> Option<Trace> {
        self.trace.take().map(|trace| *trace)
    }

    /// The trace so far.
    pub fn trace(&self) -> Option<&Trace> {
        self.trace.as_deref()
    }

    /// A program begins.
    pub(super) fn trace_begin(&mut self, code: &Code, frame: &[Slot]) {
        self.trace.take_if(|trace| trace.events > EVENTS_MAX);
        let (Some(trace), Some(program)) = (&mut self.trace, code.program.0.clone()) else { return };
        let args = digest(&code.inputs, frame, &self.heap);
        trace.open.push(trace.frames.len());
        trace.events += 1;
        let (events, draws) = (Vec::new(), Vec::new());
        trace.frames.push(Frame { program, args, events, draws, ended: false });
    }

    /// It ends.
    pub(super) fn trace_end(&mut self, ended: bool) {
        let Some(trace) = &mut self.trace else { return };
        if let Some(frame) = trace.open.pop() {
            trace.frames[frame].ended = ended;
        }
    }

    /// Something is called with these.
    pub(super) fn trace_call(&self, args: &[R], frame: &[Slot]) -> Option<Began> {
        let trace = self.trace.as_ref()?;
        Some(Began { frames: trace.frames.len(), input: digest(args, frame, &self.heap) })
    }

    /// It has come back: it has answered what all that ran in it has answered.
    pub(super) fn trace_called(&mut self, began: Option<Began>, op: OpId, done: bool) {
        let (Some(trace), Some(began)) = (&mut self.trace, began) else { return };
        let mut output = u64::from(done);
        for frame in trace.frames.iter().skip(began.frames) {
            let events = frame.events.iter().map(|event| (event.op.0, event.input, event.output));
            output = both(output, (frame.args, events.collect::<Vec<_>>(), &frame.draws));
        }
        trace.event(op, began.input, output);
    }

    /// An operation has been run, and what came of it is in the frame.
    #[inline(never)]
    pub(super) fn traced(&mut self, code: &Code, pc: usize, frame: &[Slot], done: bool) {
        self.trace.take_if(|trace| trace.events > EVENTS_MAX);
        let Some(trace) = &mut self.trace else { return };
        let (op, heap) = (code.places[pc].op, &self.heap);
        let found = |reads: &Reads, row: R| {
            let is_there = row == NONE || !frame[usize::from(row)].is_null();
            both(digest(reads.columns.iter().map(|read| &read.dst), frame, heap), is_there)
        };
        match code.insts[pc] {
            Inst::Get { get } | Inst::GetAgain { get } => {
                let desc = &code.gets[usize::from(get)];
                // What it has found may be where its key was.
                let lost = desc.reads.columns.iter().any(|read| desc.key.contains(&read.dst));
                let key = (!lost).then(|| digest(&desc.key, frame, heap));
                trace.event(op, key, found(&desc.reads, desc.row));
            }
            Inst::Load { load } => {
                trace.event(op, 0, found(&code.loads[usize::from(load)].reads, NONE));
            }
            Inst::ScanOpen { scan } => {
                let desc = &code.scans[usize::from(scan)];
                let bounds = desc.lower.iter().chain(&desc.upper).map(|(r, _)| r);
                let input = digest(desc.prefix.iter().chain(bounds), frame, heap);
                let event = trace.event(op, input, 0);
                trace.scans.truncate(self.cursors.len() - 1);
                trace.scans.push(event);
            }
            Inst::ScanNext { scan, .. } | Inst::ScanAdd { scan, .. } | Inst::ScanRead { scan } => {
                let desc = &code.scans[usize::from(scan)];
                let row = match code.insts[pc] {
                    Inst::ScanAdd { dst, .. } => digest([&dst], frame, heap),
                    Inst::ScanRead { .. } => found(&desc.later, NONE),
                    _ if done => found(&desc.reads, NONE),
                    _ => 0,
                };
                // At its end it has been closed.
                let height = self.cursors.len() - usize::from(done);
                if let Some(Some((frame, event))) = trace.scans.get(height) {
                    let output = &mut trace.frames[*frame].events[*event].output;
                    *output = both(*output, (row, done));
                }
            }
            Inst::Insert { insert } => {
                let desc = &code.inserts[usize::from(insert)];
                trace.event(op, digest(&desc.values, frame, heap), done.into());
            }
            Inst::Update { update } => {
                let desc = &code.updates[usize::from(update)];
                let set = digest(desc.set.iter().map(|(_, r)| r), frame, heap);
                let none = frame[usize::from(desc.row)].is_null().then_some(0);
                let row = trace.row.take().or(none);
                trace.event(op, row.map(|row| both(row, set)), done.into());
            }
            Inst::Delete { .. } => {
                trace.event(op, 0, done.into());
            }
            Inst::Draw { dst, .. } | Inst::NextValue { dst, .. } | Inst::CurrentValue { dst, .. } => {
                trace.drawn(digest([&dst], frame, heap));
            }
            // So are what others hold and what is asked of the engine.
            Inst::Ask { ask } => trace.drawn(digest([&code.asks[usize::from(ask)].dst], frame, heap)),
            Inst::Claim { granted, .. } => trace.drawn(digest([&granted], frame, heap)),
            Inst::SystemRows { .. } => trace.is_partial = true,
            _ => {}
        }
    }
}
