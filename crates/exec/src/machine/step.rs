//! The loop that runs instructions.
//!
//! [`Machine::steps`] enters [`Machine::hot`] and takes over whenever that stops: for a call, which
//! parks the frame, and for an error, which looks for a handler. The hot loop holds the frame as a
//! slice; what is more than a few machine instructions is a function of its own, out of line and given
//! `code` whole, so that the loop's state stays in registers. Instructions that touch neither the
//! protocol nor the host and are not hot either are one function for all protocols
//! ([`Machine::common`]).

use super::{Base, Machine, Sink, TryEntry};
use crate::code::*;
use crate::functions::{self, fast, order};
use crate::heap::Heap;
use crate::host::{Context, Host, Interrupt};
use crate::slot::Slot;
use planaria_base::limits;
use planaria_ir::{Func, Question};
use planaria_protocol::{Conflict, RowLocks};

/// Rows of a list whose lookups are made ahead together.
pub(super) const EACH_AHEAD: usize = 16;

/// Why the hot loop stopped.
enum Stop {
    Return,
    Call(u16),
    Execute(u16),
    Fail(Interrupt),
}

impl Machine {
    /// Runs `code` from its beginning to its return.
    pub(super) fn steps<P: RowLocks, H: Host + ?Sized>(
        &mut self,
        code: &Code,
        frame: &mut Vec<Slot>,
        sink: Sink<'_>,
        base: Base,
        ctx: &mut Context<'_, P, H>,
    ) -> Result<(), Interrupt> {
        let pc = if self.runs_ahead || self.looks_ahead && !self.served { 0 } else { code.begin as usize };
        self.steps_from(pc, Ok(()), code, frame, sink, base, ctx)
    }

    /// The same from `pc` on, where what stands before it has ended so.
    #[allow(clippy::too_many_arguments, reason = "a program, where it goes on, and what it runs in")]
    pub(super) fn steps_from<P: RowLocks, H: Host + ?Sized>(
        &mut self,
        mut pc: usize,
        mut ended: Result<(), Interrupt>,
        code: &Code,
        frame: &mut Vec<Slot>,
        sink: Sink<'_>,
        base: Base,
        ctx: &mut Context<'_, P, H>,
    ) -> Result<(), Interrupt> {
        loop {
            match ended {
                Ok(()) => {}
                // Looking ahead, it has found that it cannot; who runs into the same will say so.
                Err(Interrupt::Error(_)) if pc <= code.begin as usize => {
                    pc = code.begin as usize - 1;
                    // Whatever was to end the program is asked for again at its first turn.
                    self.turns = self.turns.max(1);
                }
                // `pc` is behind the instruction that failed.
                Err(Interrupt::Error(e)) => pc = self.handle(code, pc - 1, e, frame, base, ctx)?,
                Err(Interrupt::TransactionEnds) => {
                    self.note_level(code, pc, base);
                    return Err(Interrupt::TransactionEnds);
                }
                Err(conflict) => return Err(conflict),
            }
            let (next, stop) = self.hot(code, pc, frame, sink, base, ctx);
            pc = next;
            #[cfg(debug_assertions)]
            let began = match stop {
                Stop::Call(call) => self.trace_call(&code.calls[usize::from(call)].args, frame),
                Stop::Execute(execute) => self.trace_call(&code.executes[usize::from(execute)].args, frame),
                Stop::Return | Stop::Fail(_) => None,
            };
            ended = match stop {
                Stop::Return => return Ok(()),
                Stop::Call(call) => {
                    self.call_procedure(&code.calls[usize::from(call)], code, pc - 1, frame, base, ctx)
                }
                Stop::Execute(execute) => {
                    self.call_dynamic(&code.executes[usize::from(execute)], code, pc - 1, frame, base, ctx)
                }
                Stop::Fail(interrupt) => Err(interrupt),
            };
            #[cfg(debug_assertions)]
            self.trace_called(began, code.places[pc - 1].op, ended.is_ok());
        }
    }

    /// Runs instructions from `pc` on; returns the position behind the one that stopped it.
    fn hot<P: RowLocks, H: Host + ?Sized>(
        &mut self,
        code: &Code,
        mut pc: usize,
        frame: &mut [Slot],
        sink: Sink<'_>,
        base: Base,
        ctx: &mut Context<'_, P, H>,
    ) -> (usize, Stop) {
        let insts = &code.insts[..];
        macro_rules! attempt {
            ($result:expr) => {
                match $result {
                    Ok(value) => value,
                    Err(e) => {
                        std::hint::cold_path();
                        return (pc, Stop::Fail(e.into()));
                    }
                }
            };
        }
        macro_rules! reg {
            ($r:expr) => {
                frame[usize::from($r)]
            };
        }
        macro_rules! ints {
            ($dst:expr, $a:expr, $b:expr, $f:expr) => {
                reg!($dst) = match (reg!($a), reg!($b)) {
                    (Slot::Int(a), Slot::Int(b)) => Slot::Int(attempt!($f(a, b))),
                    _ => Slot::Null,
                }
            };
        }
        macro_rules! nums {
            ($func:ident, $dst:expr, $a:expr, $b:expr, $f:expr) => {
                reg!($dst) = match (reg!($a), reg!($b)) {
                    (Slot::Numeric(a), Slot::Numeric(b)) if let Ok(n) = $f(a, b) => Slot::Numeric(n),
                    (a, b) => attempt!(functions::number::apply_two(Func::$func, a, b, &mut self.heap)),
                }
            };
        }
        macro_rules! order {
            ($class:ident, $a:expr, $b:expr, $cmp:expr) => {
                match (reg!($a), reg!($b)) {
                    (Slot::$class(a), Slot::$class(b)) => Some($cmp(a, b)),
                    _ => None,
                }
            };
        }
        macro_rules! compare {
            ($test:expr, $dst:expr, $order:expr) => {
                reg!($dst) = match $order {
                    Some(order) => Slot::Bool($test.holds(order)),
                    None => Slot::Null,
                }
            };
        }
        macro_rules! jump_if {
            ($to:expr, $holds:expr) => {
                if $holds {
                    pc = $to as usize;
                }
            };
        }
        macro_rules! holds {
            ($test:expr, $order:expr) => {
                match $order {
                    Some(order) => $test.holds(order),
                    None => $test.holds_null(),
                }
            };
        }
        // Whether it could be done, or there was another row.
        macro_rules! traced {
            ($done:expr) => {
                #[cfg(debug_assertions)]
                self.traced(code, pc - 1, frame, $done);
            };
        }
        loop {
            // By reference: a copy would go through memory and back, operand by operand.
            let inst = &insts[pc];
            pc += 1;
            match *inst {
                // ---- values ----
                Inst::Copy { dst, src } => reg!(dst) = reg!(src),
                Inst::AddInt4 { dst, a, b } => ints!(dst, a, b, fast::int4_add),
                Inst::SubInt4 { dst, a, b } => ints!(dst, a, b, fast::int4_sub),
                Inst::MulInt4 { dst, a, b } => ints!(dst, a, b, fast::int4_mul),
                Inst::AddInt8 { dst, a, b } => ints!(dst, a, b, fast::int8_add),
                Inst::SubInt8 { dst, a, b } => ints!(dst, a, b, fast::int8_sub),
                Inst::MulInt8 { dst, a, b } => ints!(dst, a, b, fast::int8_mul),
                Inst::ModInt { dst, a, b } => ints!(dst, a, b, fast::int_mod),
                Inst::BitsInt { bits, dst, a, b } => {
                    reg!(dst) = match (reg!(a), reg!(b)) {
                        (Slot::Int(a), Slot::Int(b)) => Slot::Int(match bits {
                            Bits::And => a & b,
                            Bits::Or => a | b,
                            Bits::Xor => a ^ b,
                        }),
                        _ => Slot::Null,
                    }
                }
                Inst::AddNum { dst, a, b } => nums!(NumAdd, dst, a, b, fast::num_add),
                Inst::SubNum { dst, a, b } => nums!(NumSub, dst, a, b, fast::num_sub),
                Inst::MulNum { dst, a, b } => nums!(NumMul, dst, a, b, mul_num),
                Inst::Concat { dst, a, b } => {
                    reg!(dst) = match (reg!(a), reg!(b)) {
                        (Slot::Text(a), Slot::Text(b)) => attempt!(fast::text_concat(&mut self.heap, a, b)),
                        _ => Slot::Null,
                    }
                }
                Inst::CompareInt { test, dst, a, b } => {
                    compare!(test, dst, order!(Int, a, b, |a: i64, b| a.cmp(&b)));
                }
                Inst::CompareNum { test, dst, a, b } => {
                    compare!(test, dst, functions::number::order(reg!(a), reg!(b), &self.heap));
                }
                Inst::CompareText { test, dst, a, b } => {
                    compare!(test, dst, order!(Text, a, b, |a, b| fast::text_cmp(&self.heap, a, b)));
                }
                Inst::IsNull { dst, src } => reg!(dst) = Slot::Bool(reg!(src).is_null()),
                Inst::IsNotNull { dst, src } => reg!(dst) = Slot::Bool(!reg!(src).is_null()),
                Inst::Not { dst, src } => {
                    reg!(dst) = match reg!(src) {
                        Slot::Bool(b) => Slot::Bool(!b),
                        _ => Slot::Null,
                    }
                }
                Inst::And { dst, a, b } => {
                    reg!(dst) = match (reg!(a), reg!(b)) {
                        (Slot::Bool(false), _) | (_, Slot::Bool(false)) => Slot::Bool(false),
                        (Slot::Bool(true), Slot::Bool(true)) => Slot::Bool(true),
                        _ => Slot::Null,
                    }
                }
                Inst::Or { dst, a, b } => {
                    reg!(dst) = match (reg!(a), reg!(b)) {
                        (Slot::Bool(true), _) | (_, Slot::Bool(true)) => Slot::Bool(true),
                        (Slot::Bool(false), Slot::Bool(false)) => Slot::Bool(false),
                        _ => Slot::Null,
                    }
                }
                Inst::Element { dst, array, index, nth } => {
                    reg!(dst) = match (reg!(array), reg!(index)) {
                        (Slot::Array(a), Slot::Int(i)) if nth || a.is_list() => {
                            functions::nth_element(&self.heap, a, i)
                        }
                        (Slot::Array(a), Slot::Int(i)) => functions::element(&self.heap, a, i),
                        _ => Slot::Null,
                    }
                }
                Inst::Apply1 { func, dst, a } => {
                    reg!(dst) = attempt!(functions::call(func, &[reg!(a)], &mut self.heap));
                }
                Inst::Apply2 { func, dst, a, b } => {
                    reg!(dst) = attempt!(functions::call(func, &[reg!(a), reg!(b)], &mut self.heap));
                }
                Inst::Best { func, dst, a, b } => {
                    reg!(dst) = order::best(func, reg!(a), reg!(b), &self.heap);
                }
                Inst::Bests { func, pairs } => bests(func, code.run(pairs), frame, &self.heap),
                Inst::CastInt { bytes, dst, src } => {
                    reg!(dst) = match reg!(src) {
                        Slot::Int(n) if bytes == 4 => Slot::Int(attempt!(fast::int4(Some(n)))),
                        Slot::Int(n) => Slot::Int(attempt!(fast::int2(Some(n)))),
                        other => other,
                    }
                }
                Inst::CastNum { dst, src, cast } => {
                    let desc = &code.casts[usize::from(cast)];
                    reg!(dst) = match reg!(src) {
                        Slot::Numeric(packed) => {
                            let n = packed.unpack();
                            if i16::from(n.scale()) == desc.scale && n.mantissa().abs() < desc.bound {
                                Slot::Numeric(packed)
                            } else {
                                attempt!(functions::cast(
                                    reg!(src),
                                    &desc.from,
                                    &desc.to,
                                    desc.explicit,
                                    &mut self.heap
                                ))
                            }
                        }
                        Slot::Null => Slot::Null,
                        other => {
                            attempt!(functions::cast(
                                other,
                                &desc.from,
                                &desc.to,
                                desc.explicit,
                                &mut self.heap
                            ))
                        }
                    }
                }
                Inst::Disown { owner } => reg!(owner) = Slot::Null,
                Inst::Const { .. }
                | Inst::ApplyN { .. }
                | Inst::Cast { .. }
                | Inst::ArraySet { .. }
                | Inst::Clear { .. }
                | Inst::Push { .. }
                | Inst::Fill { .. }
                | Inst::Len { .. }
                | Inst::MapGet { .. }
                | Inst::MapPut { .. }
                | Inst::MatchFirst { .. }
                | Inst::SetEntry { .. } => {
                    attempt!(self.common(*inst, code, frame, base));
                }
                Inst::EachNext { end, .. } | Inst::MatchNext { end, .. } => {
                    jump_if!(end, !attempt!(self.common(*inst, code, frame, base)));
                }
                Inst::EachAhead { each, at } => {
                    // `at` is the number of the row behind the present one.
                    let row = frame[usize::from(at)].int() as usize - 1;
                    if row.is_multiple_of(EACH_AHEAD) && self.looks_ahead {
                        self.look_ahead_of_list(&code.eachs[usize::from(each)], row, frame, base, ctx);
                    }
                }
                Inst::Sort { coll, keys } => {
                    attempt!(self.sort(code, coll, keys, base, ctx.host));
                }
                Inst::Trim { trim } => {
                    attempt!(self.trim(&code.trims[usize::from(trim)], frame, base, ctx.host));
                }
                Inst::Draw { dst, input } => {
                    reg!(dst) = attempt!(ctx.host.draw(input));
                    traced!(true);
                }
                Inst::Name { dst, of } => {
                    let name = attempt!(ctx.host.name(of));
                    reg!(dst) = attempt!(self.heap.text(&name));
                }
                Inst::Kept { dst, ty } => {
                    reg!(dst) = attempt!(ctx.host.kept(&code.kept[usize::from(ty)], &mut self.heap));
                }
                Inst::NextValue { dst, sequence } => {
                    reg!(dst) = Slot::Int(attempt!(ctx.host.next_value(sequence)));
                    traced!(true);
                }
                Inst::CurrentValue { dst, sequence } => {
                    reg!(dst) = Slot::Int(attempt!(ctx.host.current_value(sequence)));
                    traced!(true);
                }
                Inst::SetValue { value, is_called, sequence } => {
                    if let (Slot::Int(value), Slot::Bool(called)) = (reg!(value), reg!(is_called)) {
                        attempt!(ctx.host.set_value(sequence, value, called));
                    }
                }

                // ---- control ----
                Inst::Jump { to } => pc = to as usize,
                Inst::Back { to } => {
                    self.turns -= 1;
                    if self.turns == 0 || self.heap.used() > self.compact_at {
                        // The error is the jump's, not of what it goes back to.
                        attempt!(self.safe_point(frame, ctx));
                        if pc <= code.begin as usize {
                            // Enough of looking ahead.
                            pc = code.begin as usize - 1;
                            continue;
                        }
                    }
                    pc = to as usize;
                }
                Inst::JumpBool { when, src, to } => {
                    let value = reg!(src);
                    jump_if!(
                        to,
                        match when {
                            When::True => matches!(value, Slot::Bool(true)),
                            When::NotTrue => !matches!(value, Slot::Bool(true)),
                            When::False => matches!(value, Slot::Bool(false)),
                            When::NotFalse => !matches!(value, Slot::Bool(false)),
                        }
                    );
                }
                Inst::JumpNull { src, to } => jump_if!(to, reg!(src).is_null()),
                Inst::JumpNotNull { src, to } => jump_if!(to, !reg!(src).is_null()),
                Inst::JumpAnyNull { wanted, regs, to } => {
                    let any = code.run(regs).iter().any(|r| reg!(*r).is_null());
                    jump_if!(to, any == wanted);
                }
                Inst::JumpInt { test, a, b, to } => {
                    jump_if!(to, holds!(test, order!(Int, a, b, |a: i64, b| a.cmp(&b))));
                }
                Inst::JumpNum { test, a, b, to } => {
                    jump_if!(to, holds!(test, functions::number::order(reg!(a), reg!(b), &self.heap)));
                }
                Inst::JumpText { test, a, b, to } => {
                    jump_if!(to, holds!(test, order!(Text, a, b, |a, b| fast::text_cmp(&self.heap, a, b))));
                }
                Inst::Ahead { ahead, end } => {
                    jump_if!(end, self.join_ahead(&code.aheads[usize::from(ahead)], frame, ctx));
                }
                Inst::LookAhead if self.runs_ahead => {}
                Inst::LookAhead => ctx.protocol.look_ahead(ctx.txn, ctx.tables, &mut self.ahead),
                Inst::Return => return (pc, Stop::Return),
                Inst::TryEnter { region } => {
                    let savepoint = ctx.protocol.savepoint(ctx.txn);
                    let (cursors, caught) = (self.cursors.len(), self.caught.len());
                    let (beside, rows) = (ctx.host.beside(), ctx.protocol.locked(ctx.txn));
                    self.tries.push(TryEntry { region, savepoint, cursors, caught, beside, rows });
                }
                Inst::TryLeave => {
                    if let Some(entry) = self.tries.pop() {
                        ctx.protocol.release(ctx.txn, entry.savepoint);
                    }
                }
                Inst::HandlerLeave => {
                    self.caught.pop();
                }
                Inst::Raise { raise } => {
                    attempt!(self.raise(&code.raises[usize::from(raise)], frame, ctx.host));
                }
                Inst::EndTransaction { commit } => {
                    return (pc, Stop::Fail(self.end_transaction(commit, frame, ctx.host)));
                }
                Inst::Notify { channel, payload } => {
                    let told =
                        self.notify(frame[usize::from(channel)], frame[usize::from(payload)], ctx.host);
                    attempt!(told);
                }

                // ---- calls ----
                Inst::Call { call } => return (pc, Stop::Call(call)),
                Inst::Execute { execute } => return (pc, Stop::Execute(execute)),
                Inst::Emit { values } => attempt!(self.emit(code.run(values), frame, sink, ctx.host)),

                Inst::Ask { ask } => {
                    let desc = &code.asks[usize::from(ask)];
                    if desc.question == Question::CallStack {
                        attempt!(self.call_stack(desc, code, pc - 1, frame, ctx.calls));
                    } else {
                        attempt!(self.ask(desc, frame, ctx.host));
                    }
                    traced!(true);
                }
                Inst::SystemRows { rows } => {
                    attempt!(self.system_rows(&code.system_rows[usize::from(rows)], base, ctx.host));
                    traced!(true);
                }
                Inst::Keep { values } => attempt!(self.keep(code.run(values), frame, ctx.host)),
                Inst::Piece { piece, args } => {
                    attempt!(self.piece(piece, code.run(args), frame, ctx.host));
                }

                // ---- tables ----
                Inst::Get { get } => {
                    attempt!(self.get(code, get, frame, ctx));
                    traced!(true);
                }
                Inst::GetAgain { get } => {
                    if ctx.protocol.reads_stand(ctx.txn) {
                        let desc = &code.gets[usize::from(get)];
                        if desc.row != NONE {
                            frame[usize::from(desc.row)] = frame[usize::from(desc.again)];
                        }
                    } else {
                        attempt!(self.get(code, get, frame, ctx));
                    }
                    traced!(true);
                }
                Inst::Load { load } => {
                    attempt!(self.load(code, load, frame, ctx));
                    traced!(true);
                }
                Inst::ScanOpen { scan } => {
                    self.scan_open(code, scan, frame, ctx);
                    traced!(true);
                }
                Inst::ScanNext { scan, end } => {
                    let goes_on = attempt!(self.scan_next(code, scan, frame, ctx));
                    traced!(goes_on);
                    jump_if!(end, !goes_on);
                }
                Inst::ScanRead { scan } => {
                    attempt!(self.scan_read(code, scan, frame));
                    traced!(true);
                }
                Inst::ScanAdd { scan, dst, by, end } => {
                    let rows = attempt!(self.scan_batch(code, scan, ctx));
                    for _ in 0..rows {
                        ints!(dst, dst, by, fast::int8_add);
                    }
                    traced!(rows > 0);
                    jump_if!(end, rows == 0);
                }
                Inst::ScanClose => {
                    let height = self.cursors.len().saturating_sub(1);
                    self.close_cursors(height, ctx);
                }
                Inst::Insert { insert } => {
                    let done = self.insert(code, insert, frame, ctx);
                    traced!(done.is_ok());
                    attempt!(done);
                }
                Inst::Update { update } => {
                    let done = self.update(code, update, frame, ctx);
                    traced!(done.is_ok());
                    attempt!(done);
                }
                Inst::Delete { table, row } => {
                    let done = self.delete(table, reg!(row), ctx);
                    traced!(done.is_ok());
                    attempt!(done);
                }
                Inst::Claim { table, row, strength, if_claimed, granted } => {
                    let claimed = attempt!(self.claim(table, reg!(row), strength, if_claimed, ctx));
                    if granted != NONE {
                        frame[usize::from(granted)] = Slot::Bool(claimed);
                    }
                    traced!(true);
                }
            }
        }
    }

    /// What has to be done at a jump backwards now and then.
    #[cold]
    #[inline(never)]
    pub(super) fn safe_point<P: RowLocks, H: Host + ?Sized>(
        &mut self,
        frame: &mut [Slot],
        ctx: &mut Context<'_, P, H>,
    ) -> Result<(), Interrupt> {
        ctx.host.check_interrupt()?;
        if self.turns == 0 {
            self.turns = limits::TURNS_PER_CHECK;
            self.checks += 1;
            if self.checks == limits::CHECKS_BEFORE_SNAPSHOT && ctx.host.may_change_over() {
                return Err(Conflict::Long.into());
            }
            // Validation costs as much as was read: at the powers of two, so that a transaction that
            // reads a million rows validates them a few times and not hundreds of times.
            if self.checks.is_power_of_two() && !ctx.protocol.validate(ctx.txn, ctx.tables) {
                return Err(Conflict::Validation.into());
            }
        }
        if self.heap.used() > self.compact_at {
            // Half of the slots may be moved when the other heap is full: no handler may see them.
            self.compact(frame).map_err(|_| Conflict::ArenaFull)?;
        }
        ctx.host.holds(self.held_bytes())?;
        Ok(())
    }
}

/// Steps of folds: pairs of what is kept and what comes.
#[inline(never)]
fn bests(func: Func, pairs: &[R], frame: &mut [Slot], heap: &Heap) {
    let greatest = matches!(func, Func::Greatest | Func::Max);
    for pair in pairs.chunks_exact(2) {
        let (kept, new) = (usize::from(pair[0]), frame[usize::from(pair[1])]);
        match (frame[kept], new) {
            // Mostly nothing changes, and nothing is written.
            (Slot::Int(old), Slot::Int(n)) => {
                if old != n && (n > old) == greatest {
                    frame[kept] = new;
                }
            }
            (old, new) => frame[kept] = order::best(func, old, new, heap),
        }
    }
}

/// Out of line: multiplying 128 bits takes many registers.
#[inline(never)]
fn mul_num(
    a: planaria_base::numeric::PackedNumeric,
    b: planaria_base::numeric::PackedNumeric,
) -> planaria_base::Result<planaria_base::numeric::PackedNumeric> {
    fast::num_mul(a, b)
}
