//! The machine: one worker's registers, heap and collections, running code over a protocol.
//!
//! # Frames
//!
//! A program runs in a frame, a vector of [`Slot`]s from a pool. A nested call parks the caller's
//! frame on `parked`, where compaction can find it, and runs the callee by recursion of
//! [`Machine::execute`]; so the running frame is a local of the loop (`steps`) and its accesses cost a
//! bounds check. Collections, open scans, savepoints and handled errors stand on stacks of the
//! machine; a frame remembers how high each was when it began.
//!
//! # Memory
//!
//! Everything is kept from transaction to transaction: in the steady state nothing is allocated. Texts
//! of rows are not copied out of the images that the protocol put into the arena; an image none of
//! whose texts is read is dropped as soon as it is decoded. At jumps backwards, where every live value
//! is in a register or a collection, the heap is compacted once it has grown enough (`compact`).
//!
//! # Errors
//!
//! An error looks for a handler in the frames from the innermost outwards: the region's writes are
//! undone, its cursors closed, and the handler runs with registers and collections as they are. A
//! [`Conflict`] is never caught; the machine is usable again at once, for the next attempt.
//!
//! Jumps backwards also count: every [`limits::TURNS_PER_CHECK`] of them the reads are validated (a
//! zombie must not loop for ever on what it saw) and cancellation is looked for.
//!
//! The operation of every instruction is known ([`Code`] keeps its `OpId`). In debug builds a machine can be asked to remember
//! what each was given and has answered (`trace`): tests of healing compare two runs.

mod call;
mod compact;
mod error;
mod pace;
mod step;
mod steps;
mod suspended;
mod table;
#[cfg(debug_assertions)]
mod trace;
mod value;

use crate::code::{Code, R};
use crate::collection::Collection;
use crate::heap::Heap;
use crate::host::{Beside, Context, Host, Interrupt};
use crate::slot::Slot;
use planaria_base::types::TypeClass;
use planaria_base::{Datum, Error, ProcedureId, Result, SqlState, TableId, Type, limits, stack};
use planaria_protocol::{CursorId, LocksMark, Row, RowLocks, Savepoint};
use planaria_storage::{Arena, KeyBuf, KeyRange, LookAhead};

pub use compact::tidy;
pub use pace::Pace;
pub use suspended::Suspended;
#[cfg(debug_assertions)]
pub use trace::{Event, Frame, Trace};

/// A worker's state for running programs. See the module's head.
pub struct Machine {
    heap: Heap,
    /// The other heap of compaction; empty between compactions.
    spare: Heap,
    /// Bytes of heap in use at which it is compacted.
    compact_at: usize,
    turns: u32,
    /// Times that `turns` ran out in this run.
    checks: u32,
    pool: Vec<Vec<Slot>>,
    /// Frames of callers, outermost first.
    parked: Vec<Vec<Slot>>,
    colls: Vec<Collection>,
    colls_used: usize,
    /// Open scans, innermost last; `None` where the range was empty.
    cursors: Vec<Option<(TableId, CursorId)>>,
    /// By height in that stack, of scans that are read as a whole.
    batches: Vec<Batch>,
    tries: Vec<TryEntry>,
    /// Errors being handled, innermost last.
    caught: Vec<Error>,
    /// Whether an error was handled in this run.
    handled: bool,
    /// A row on its way into a collection, a call or out.
    row: Vec<Slot>,
    /// Lookups that are about to be made ahead, or were last. And whether any are.
    ahead: LookAhead,
    looks_ahead: bool,
    /// The same of calls to come, by [`Machine::run_ahead`]; whether that runs, and whether what runs now is one of these calls.
    asked: LookAhead,
    runs_ahead: bool,
    served: bool,
    key: KeyBuf,
    old_key: KeyBuf,
    range: KeyRange,
    image: Vec<u64>,
    /// The row that is updated.
    loaded: Arena,
    /// How many of the programs that run are triggers'.
    trigger_depth: u32,
    /// How much deeper the next call of one is: see [`planaria_ir::Question::DeeperTrigger`].
    deeper_trigger: u32,
    /// How many of the programs that run have no transaction of their own to end.
    atomic: u32,
    /// The program has ended its transaction, and is to go on.
    suspended: Option<Box<Suspended>>,
    outs: Vec<Slot>,
    row_count: Option<i64>,
    /// Operations on tables, of all runs.
    pub pace: Pace,
    #[cfg(debug_assertions)]
    trace: Option<Box<Trace>>,
}

/// Rows of a scan that have been read together, with their images; those from `at` on are still to come.
#[derive(Default)]
struct Batch {
    rows: Vec<Row>,
    at: usize,
    images: Arena,
}

/// An open savepoint region.
struct TryEntry {
    region: u16,
    savepoint: Savepoint,
    cursors: usize,
    caught: usize,
    /// What had been done beside rows, and the rows that had been locked.
    beside: Beside,
    rows: LocksMark,
}

/// Where the rows go that a program emits.
#[derive(Clone, Copy)]
enum Sink<'a> {
    /// To the host.
    Host,
    /// To a list, by its number among all open collections.
    List(usize),
    /// The same, converted from these types to those of the list.
    Convert { list: usize, from: &'a [Type], to: &'a [Option<Type>] },
    /// Nowhere.
    Nowhere,
}

/// Heights of the stacks when a frame began.
#[derive(Clone, Copy)]
struct Base {
    colls: usize,
    cursors: usize,
    tries: usize,
    caught: usize,
}

impl Default for Machine {
    fn default() -> Machine {
        Machine::new()
    }
}

impl Machine {
    /// A machine for one worker.
    pub fn new() -> Machine {
        Machine {
            heap: Heap::new(),
            spare: Heap::new(),
            compact_at: compact::COMPACT_BYTES_MIN,
            turns: limits::TURNS_PER_CHECK,
            checks: 0,
            pool: Vec::new(),
            parked: Vec::new(),
            colls: Vec::new(),
            colls_used: 0,
            cursors: Vec::new(),
            batches: Vec::new(),
            tries: Vec::new(),
            caught: Vec::new(),
            handled: false,
            row: Vec::new(),
            ahead: LookAhead::default(),
            looks_ahead: false,
            asked: LookAhead::default(),
            runs_ahead: false,
            served: false,
            key: KeyBuf::new(),
            old_key: KeyBuf::new(),
            range: KeyRange::all(),
            image: Vec::new(),
            loaded: Arena::new(),
            outs: Vec::new(),
            trigger_depth: 0,
            deeper_trigger: 0,
            atomic: 0,
            suspended: None,
            row_count: None,
            pace: Pace::default(),
            #[cfg(debug_assertions)]
            trace: None,
        }
    }

    /// A machine whose programs look ahead, if they have been compiled so.
    pub fn looking_ahead(looks_ahead: bool) -> Machine {
        Machine { looks_ahead, ..Machine::new() }
    }

    /// Forgets the last run: its results and everything in the heap. To be called before arguments
    /// are put into the heap for [`Machine::run`]; [`Machine::call`] does it itself.
    pub fn reset(&mut self) {
        self.heap.clear();
        self.compact_at = compact::COMPACT_BYTES_MIN;
        self.outs.clear();
        self.row_count = None;
        // All empty already, unless the last run panicked.
        self.parked.clear();
        self.cursors.clear();
        self.tries.clear();
        self.caught.clear();
        self.ahead.clear();
        self.colls_used = 0;
        self.atomic = 0;
        self.suspended = None;
    }

    /// Texts and arrays of arguments and results.
    pub fn heap(&self) -> &Heap {
        &self.heap
    }
    /// The same, to put arguments in.
    pub fn heap_mut(&mut self) -> &mut Heap {
        &mut self.heap
    }
    /// The answer of the last run: the program's `outs`.
    pub fn outs(&self) -> &[Slot] {
        &self.outs
    }
    /// Rows affected by the last run, of a statement.
    pub fn row_count(&self) -> Option<i64> {
        self.row_count
    }

    /// Whether a handler ran in the last run, of the program or of one it called.
    pub fn handled(&self) -> bool {
        self.handled
    }

    /// Runs a program with these arguments (its IN and INOUT parameters in order). Each must be of its
    /// parameter's type; `42804` if it is not even of its class.
    pub fn call<P: RowLocks, H: Host + ?Sized>(
        &mut self,
        code: &Code,
        args: &[Datum],
        ctx: &mut Context<'_, P, H>,
    ) -> Result<(), Interrupt> {
        self.reset();
        check_arguments(code, args)?;
        let mut frame = self.take_frame(code);
        for (reg, arg) in code.inputs.iter().zip(args) {
            match self.heap.push_datum(arg) {
                Ok(slot) => frame[usize::from(*reg)] = slot,
                Err(e) => {
                    self.pool.push(frame);
                    return Err(e.into());
                }
            }
        }
        self.top(code, frame, ctx)
    }

    /// The same with arguments that are in this machine's heap since [`Machine::reset`].
    pub fn run<P: RowLocks, H: Host + ?Sized>(
        &mut self,
        code: &Code,
        args: &[Slot],
        ctx: &mut Context<'_, P, H>,
    ) -> Result<(), Interrupt> {
        if args.len() != code.inputs.len() {
            return Err(wrong_count(code, args.len()).into());
        }
        let mut frame = self.take_frame(code);
        for (reg, arg) in code.inputs.iter().zip(args) {
            frame[usize::from(*reg)] = *arg;
        }
        self.top(code, frame, ctx)
    }

    /// Runs what asks for the rows of a call that will come ([`planaria_analysis::waves`]): its lookups join those of others.
    pub fn run_ahead<P: RowLocks, H: Host + ?Sized>(
        &mut self,
        code: &Code,
        args: &[Slot],
        ctx: &mut Context<'_, P, H>,
    ) -> Result<(), Interrupt> {
        self.runs_ahead = true;
        let ended = self.run(code, args, ctx);
        self.runs_ahead = false;
        ended
    }

    /// The lookups of calls to come.
    pub fn asked(&mut self) -> &mut LookAhead {
        &mut self.asked
    }

    /// What runs next is this one of the calls that lookups were made for ahead, or none of them.
    #[inline]
    pub fn serve(&mut self, call: Option<u32>) {
        self.served = call.is_some_and(|call| self.asked.serve(call));
    }

    /// Bytes that are taken by what the program computes with.
    fn held_bytes(&self) -> usize {
        self.heap.capacity() + self.collected_bytes()
    }

    fn collected_bytes(&self) -> usize {
        self.colls[..self.colls_used].iter().map(Collection::bytes).sum()
    }

    fn top<P: RowLocks, H: Host + ?Sized>(
        &mut self,
        code: &Code,
        mut frame: Vec<Slot>,
        ctx: &mut Context<'_, P, H>,
    ) -> Result<(), Interrupt> {
        self.turns = limits::TURNS_PER_CHECK;
        self.checks = 0;
        self.handled = false;
        // Where the stack is that deep calls are measured on.
        stack::check()?;
        let ended = self.execute(code, &mut frame, Sink::Host, ctx);
        self.end_top(code, frame, ended)
    }

    /// The outermost program has ended.
    fn end_top(
        &mut self,
        code: &Code,
        frame: Vec<Slot>,
        ended: Result<(), Interrupt>,
    ) -> Result<(), Interrupt> {
        if ended.is_ok() {
            self.outs.extend(code.outs.iter().map(|r| frame[usize::from(*r)]));
            self.row_count = code.row_count.and_then(|r| match frame[usize::from(r)] {
                Slot::Int(n) => Some(n),
                _ => None,
            });
        }
        self.recycle(frame);
        debug_assert!(self.parked.is_empty() && self.cursors.is_empty() && self.tries.is_empty());
        debug_assert!(self.caught.is_empty() && self.colls_used == 0);
        ended
    }

    /// A frame as it is when the program starts.
    #[inline]
    fn take_frame(&mut self, code: &Code) -> Vec<Slot> {
        let mut frame = self.pool.pop().unwrap_or_default();
        frame.clear();
        frame.extend_from_slice(&code.template);
        frame
    }
    #[inline]
    fn recycle(&mut self, frame: Vec<Slot>) {
        self.pool.push(frame);
    }

    /// Runs a program in its frame. The stacks are as before afterwards, however it ends.
    fn execute<P: RowLocks, H: Host + ?Sized>(
        &mut self,
        code: &Code,
        frame: &mut Vec<Slot>,
        sink: Sink<'_>,
        ctx: &mut Context<'_, P, H>,
    ) -> Result<(), Interrupt> {
        let base = Base {
            colls: self.colls_used,
            cursors: self.cursors.len(),
            tries: self.tries.len(),
            caught: self.caught.len(),
        };
        self.colls_used += code.colls.len();
        if self.colls.len() < self.colls_used {
            self.colls.resize_with(self.colls_used, Collection::default);
        }
        for (coll, desc) in self.colls[base.colls..].iter_mut().zip(&code.colls) {
            coll.open(desc.kind, desc.keys.into(), desc.values.into());
        }
        let caller = code.definer.map(|role| ctx.host.become_user(role));
        #[cfg(debug_assertions)]
        self.trace_begin(code, frame);
        let ended = match code.own {
            None => self.steps(code, frame, sink, base, ctx),
            Some(routine) => self.steps_within(routine, code, frame, sink, base, ctx),
        };
        #[cfg(debug_assertions)]
        self.trace_end(ended.is_ok());
        if let Some(caller) = caller {
            ctx.host.become_user(caller);
        }
        self.colls_used = base.colls;
        if ended.is_err() {
            self.close_cursors(base.cursors, ctx);
            self.tries.truncate(base.tries);
            self.caught.truncate(base.caught);
        }
        ended
    }

    /// The steps of a routine that has settings, or a path, of its own.
    #[inline(never)]
    fn steps_within<P: RowLocks, H: Host + ?Sized>(
        &mut self,
        routine: ProcedureId,
        code: &Code,
        frame: &mut Vec<Slot>,
        sink: Sink<'_>,
        base: Base,
        ctx: &mut Context<'_, P, H>,
    ) -> Result<(), Interrupt> {
        ctx.host.enter(routine)?;
        ctx.host.settle_forms(&mut self.heap);
        let ended = match ctx.link.within(routine) {
            None => self.steps(code, frame, sink, base, ctx),
            Some(link) => {
                let mut within = Context {
                    protocol: ctx.protocol,
                    txn: &mut *ctx.txn,
                    tables: ctx.tables,
                    link: &*link,
                    host: &mut *ctx.host,
                    calls: ctx.calls,
                };
                self.steps(code, frame, sink, base, &mut within)
            }
        };
        ctx.host.leave(routine, matches!(ended, Err(Interrupt::Conflict(_))));
        ctx.host.settle_forms(&mut self.heap);
        ended
    }

    /// Closes the scans above this height of the stack.
    fn close_cursors<P: RowLocks, H: Host + ?Sized>(&mut self, height: usize, ctx: &mut Context<'_, P, H>) {
        while self.cursors.len() > height {
            if let Some(Some((_, cursor))) = self.cursors.pop() {
                ctx.protocol.scan_close(ctx.txn, cursor);
            }
        }
    }

    /// 54001 where no further call may be nested. Beyond what every stack has room for, the stack says; a call so deep is not
    /// logged as one, since whoever replays it may have less.
    #[inline]
    fn deeper(&mut self) -> Result<()> {
        match self.parked.len() < limits::CALL_DEPTH_SURE {
            true => Ok(()),
            false => self.far_deeper(),
        }
    }

    #[cold]
    fn far_deeper(&mut self) -> Result<()> {
        self.heap.depends_on_forms();
        stack::check()
    }

    /// Parks the caller's frame and runs `code` with these arguments; the callee's frame comes back.
    fn nested<P: RowLocks, H: Host + ?Sized>(
        &mut self,
        code: &Code,
        args: &[R],
        frame: &mut Vec<Slot>,
        sink: Sink<'_>,
        ctx: &mut Context<'_, P, H>,
    ) -> Result<Vec<Slot>, Interrupt> {
        self.deeper()?;
        if args.len() != code.inputs.len() {
            return Err(wrong_count(code, args.len()).into());
        }
        let mut inner = self.take_frame(code);
        for (to, from) in code.inputs.iter().zip(args) {
            inner[usize::from(*to)] = frame[usize::from(*from)];
        }
        self.inside(code, inner, frame, sink, ctx)
    }

    /// Parks the caller's frame and runs `code` in a frame that has its arguments.
    #[inline]
    fn inside<P: RowLocks, H: Host + ?Sized>(
        &mut self,
        code: &Code,
        mut inner: Vec<Slot>,
        frame: &mut Vec<Slot>,
        sink: Sink<'_>,
        ctx: &mut Context<'_, P, H>,
    ) -> Result<Vec<Slot>, Interrupt> {
        self.parked.push(std::mem::take(frame));
        self.atomic += u32::from(code.is_atomic);
        let ended = self.execute(code, &mut inner, sink, ctx);
        self.atomic -= u32::from(code.is_atomic);
        *frame = self.parked.pop().unwrap_or_default();
        match ended {
            Ok(()) => Ok(inner),
            Err(e) => {
                self.recycle(inner);
                Err(e)
            }
        }
    }
}

#[cold]
fn wrong_count(code: &Code, given: usize) -> Error {
    Error::new(
        SqlState::UNDEFINED_FUNCTION,
        format!("{} takes {} arguments, {given} given", code.name, code.inputs.len()),
    )
}

fn check_arguments(code: &Code, args: &[Datum]) -> Result<()> {
    if args.len() != code.inputs.len() {
        return Err(wrong_count(code, args.len()));
    }
    match args.iter().zip(&code.input_types).position(|(arg, ty)| !fits(arg, ty)) {
        None => Ok(()),
        Some(at) => Err(wrong_argument(code, at)),
    }
}

#[cold]
fn wrong_argument(code: &Code, at: usize) -> Error {
    Error::new(
        SqlState::DATATYPE_MISMATCH,
        format!("argument {} of {} must be {}", at + 1, code.name, code.input_types[at]),
    )
}

/// Whether a value is of a type's class, and within the type's range.
fn fits(value: &Datum, ty: &Type) -> bool {
    match (value, ty) {
        (Datum::Null, _) => true,
        (Datum::Int(n), Type::Int2) => i16::try_from(*n).is_ok(),
        (Datum::Int(n), Type::Int4 | Type::Date) => i32::try_from(*n).is_ok(),
        (Datum::Array(items), Type::Array(of)) => items.iter().all(|item| fits(item, of)),
        (Datum::Shaped(array), Type::Array(of)) => array.elements().iter().all(|item| fits(item, of)),
        (Datum::Array(items), Type::Record(row)) => {
            items.len() == row.len() && items.iter().zip(row.iter()).all(|(item, (_, of))| fits(item, of))
        }
        (value, ty) => matches!(
            (value, ty.class()),
            (Datum::Bool(_), TypeClass::Bool)
                | (
                    Datum::Int(_),
                    TypeClass::Integer | TypeClass::DateTime | TypeClass::Time | TypeClass::Enum
                )
                | (Datum::Interval(_), TypeClass::Interval)
                | (Datum::Float(_), TypeClass::Float)
                | (Datum::Numeric(_) | Datum::Long(_), TypeClass::Numeric)
                | (Datum::Text(_), TypeClass::Text | TypeClass::Other)
                | (Datum::Bytea(_), TypeClass::Bytea | TypeClass::Range)
                | (Datum::Jsonb(_), TypeClass::Json)
                | (Datum::Citext(_), TypeClass::Citext)
                | (Datum::Uuid(_), TypeClass::Uuid)
        ),
    }
}
