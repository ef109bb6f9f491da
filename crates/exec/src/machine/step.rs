//! The loop that runs instructions.

use super::{Base, Machine, Sink, TryEntry};
use crate::code::*;
use crate::functions::{self, fast};
use crate::host::{Context, Dynamic, Host, Interrupt};
use crate::slot::Slot;
use planaria_base::{Error, Result, SqlState, limits};
use planaria_protocol::{Conflict, Protocol};
use std::cmp::Ordering;

/// Arguments of a function that are gathered without a vector.
const ARGS_INLINE: usize = 8;

#[inline(always)]
fn order_of_ints(a: i64, b: i64) -> Ordering {
    a.cmp(&b)
}

impl Machine {
    /// Runs `code` from its beginning to its return.
    pub(super) fn steps<P: Protocol, H: Host + ?Sized>(
        &mut self,
        code: &Code,
        frame: &mut Vec<Slot>,
        sink: Sink<'_>,
        base: Base,
        ctx: &mut Context<'_, P, H>,
    ) -> Result<(), Interrupt> {
        let insts = &code.insts[..];
        let mut pc = 0usize;
        loop {
            // Leaves this block by an error of the instruction at `pc - 1`.
            let error: Interrupt = 'running: {
                macro_rules! attempt {
                    ($result:expr) => {
                        match $result {
                            Ok(value) => value,
                            Err(e) => break 'running Interrupt::from(e),
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
                    ($dst:expr, $a:expr, $b:expr, $f:expr) => {
                        reg!($dst) = match (reg!($a), reg!($b)) {
                            (Slot::Numeric(a), Slot::Numeric(b)) => Slot::Numeric(attempt!($f(a, b))),
                            _ => Slot::Null,
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
                    ($test:expr, $order:expr, $to:expr) => {{
                        let holds = match $order {
                            Some(order) => $test.holds(order),
                            None => $test.holds_null(),
                        };
                        if holds {
                            pc = $to as usize;
                        }
                    }};
                }
                macro_rules! int_order {
                    ($a:expr, $b:expr) => {
                        match (reg!($a), reg!($b)) {
                            (Slot::Int(a), Slot::Int(b)) => Some(order_of_ints(a, b)),
                            _ => None,
                        }
                    };
                }
                macro_rules! num_order {
                    ($a:expr, $b:expr) => {
                        match (reg!($a), reg!($b)) {
                            (Slot::Numeric(a), Slot::Numeric(b)) => Some(fast::num_cmp(a, b)),
                            _ => None,
                        }
                    };
                }
                macro_rules! text_order {
                    ($a:expr, $b:expr) => {
                        match (reg!($a), reg!($b)) {
                            (Slot::Text(a), Slot::Text(b)) => Some(fast::text_cmp(&self.heap, a, b)),
                            _ => None,
                        }
                    };
                }
                loop {
                    let inst = insts[pc];
                    pc += 1;
                    match inst {
                        // ---- values ----
                        Inst::Const { dst, constant } => {
                            reg!(dst) = attempt!(self.heap.push_datum(&code.constants[constant as usize]));
                        }
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
                        Inst::AddNum { dst, a, b } => nums!(dst, a, b, fast::num_add),
                        Inst::SubNum { dst, a, b } => nums!(dst, a, b, fast::num_sub),
                        Inst::MulNum { dst, a, b } => nums!(dst, a, b, fast::num_mul),
                        Inst::Concat { dst, a, b } => {
                            reg!(dst) = match (reg!(a), reg!(b)) {
                                (Slot::Text(a), Slot::Text(b)) => {
                                    attempt!(fast::text_concat(&mut self.heap, a, b))
                                }
                                _ => Slot::Null,
                            }
                        }
                        Inst::CompareInt { test, dst, a, b } => compare!(test, dst, int_order!(a, b)),
                        Inst::CompareNum { test, dst, a, b } => compare!(test, dst, num_order!(a, b)),
                        Inst::CompareText { test, dst, a, b } => compare!(test, dst, text_order!(a, b)),
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
                        Inst::Element { dst, array, index } => {
                            reg!(dst) = match (reg!(array), reg!(index)) {
                                (Slot::Array(a), Slot::Int(i)) if i >= 1 && i <= i64::from(a.len) => {
                                    self.heap.elements(a)[i as usize - 1]
                                }
                                _ => Slot::Null,
                            }
                        }
                        Inst::Apply1 { func, dst, a } => {
                            reg!(dst) = attempt!(functions::call(func, &[reg!(a)], &mut self.heap));
                        }
                        Inst::Apply2 { func, dst, a, b } => {
                            reg!(dst) = attempt!(functions::call(func, &[reg!(a), reg!(b)], &mut self.heap));
                        }
                        Inst::ApplyN { func, dst, args } => {
                            reg!(dst) = attempt!(self.apply(func, code.run(args), frame));
                        }
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
                                Slot::Numeric(n) => {
                                    let n = n.unpack();
                                    if n.scale() == desc.scale && n.mantissa().abs() < desc.bound {
                                        reg!(src)
                                    } else {
                                        let rescaled = n.rescale(desc.precision, desc.scale);
                                        Slot::numeric(attempt!(rescaled))
                                    }
                                }
                                other => other,
                            }
                        }
                        Inst::Cast { dst, src, cast } => {
                            let desc = &code.casts[usize::from(cast)];
                            reg!(dst) = match reg!(src) {
                                Slot::Null => Slot::Null,
                                value => attempt!(functions::cast(
                                    value,
                                    &desc.from,
                                    &desc.to,
                                    desc.explicit,
                                    &mut self.heap
                                )),
                            }
                        }
                        Inst::Draw { dst, input } => reg!(dst) = attempt!(ctx.host.draw(input)),
                        Inst::NextValue { dst, sequence } => {
                            reg!(dst) = Slot::Int(attempt!(ctx.host.next_value(sequence)));
                        }
                        Inst::CurrentValue { dst, sequence } => {
                            reg!(dst) = Slot::Int(attempt!(ctx.host.current_value(sequence)));
                        }
                        Inst::SetValue { value, is_called, sequence } => {
                            if let (Slot::Int(value), Slot::Bool(called)) = (reg!(value), reg!(is_called)) {
                                attempt!(ctx.host.set_value(sequence, value, called));
                            }
                        }
                        Inst::ArraySet { array, index, value, owner } => {
                            attempt!(self.array_set(frame, array, index, value, owner));
                        }
                        Inst::Disown { owner } => reg!(owner) = Slot::Null,

                        // ---- control ----
                        Inst::Jump { to } => pc = to as usize,
                        Inst::Back { to } => {
                            pc = to as usize;
                            self.turns -= 1;
                            if self.turns == 0 || self.heap.used() > self.compact_at {
                                attempt!(self.safe_point(frame, ctx));
                            }
                        }
                        Inst::JumpBool { when, src, to } => {
                            let value = reg!(src);
                            let holds = match when {
                                When::True => matches!(value, Slot::Bool(true)),
                                When::NotTrue => !matches!(value, Slot::Bool(true)),
                                When::False => matches!(value, Slot::Bool(false)),
                                When::NotFalse => !matches!(value, Slot::Bool(false)),
                            };
                            if holds {
                                pc = to as usize;
                            }
                        }
                        Inst::JumpNull { src, to } => {
                            if reg!(src).is_null() {
                                pc = to as usize;
                            }
                        }
                        Inst::JumpNotNull { src, to } => {
                            if !reg!(src).is_null() {
                                pc = to as usize;
                            }
                        }
                        Inst::JumpInt { test, a, b, to } => jump_if!(test, int_order!(a, b), to),
                        Inst::JumpNum { test, a, b, to } => jump_if!(test, num_order!(a, b), to),
                        Inst::JumpText { test, a, b, to } => jump_if!(test, text_order!(a, b), to),
                        Inst::Return => return Ok(()),
                        Inst::TryEnter { region } => {
                            let savepoint = ctx.protocol.savepoint(ctx.txn);
                            self.tries.push(TryEntry {
                                region,
                                savepoint,
                                cursors: self.cursors.len(),
                                caught: self.caught.len(),
                            });
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

                        // ---- calls ----
                        Inst::Call { call } => {
                            attempt!(self.call_procedure(&code.calls[usize::from(call)], frame, base, ctx));
                        }
                        Inst::Execute { execute } => {
                            let desc = &code.executes[usize::from(execute)];
                            attempt!(self.call_dynamic(desc, code, frame, base, ctx));
                        }
                        Inst::Emit { values } => attempt!(self.emit(code.run(values), frame, sink, ctx.host)),

                        // ---- tables ----
                        Inst::Get { get } => attempt!(self.get(&code.gets[usize::from(get)], frame, ctx)),
                        Inst::Load { load } => {
                            attempt!(self.load(&code.loads[usize::from(load)], frame, ctx))
                        }
                        Inst::ScanOpen { scan } => {
                            self.scan_open(&code.scans[usize::from(scan)], frame, ctx);
                        }
                        Inst::ScanNext { scan, end } => {
                            if !attempt!(self.scan_next(&code.scans[usize::from(scan)], frame, ctx)) {
                                pc = end as usize;
                            }
                        }
                        Inst::ScanClose => {
                            let height = self.cursors.len().saturating_sub(1);
                            self.close_cursors(height, ctx);
                        }
                        Inst::Insert { insert } => {
                            attempt!(self.insert(&code.inserts[usize::from(insert)], frame, ctx));
                        }
                        Inst::Update { update } => {
                            attempt!(self.update(&code.updates[usize::from(update)], frame, ctx));
                        }
                        Inst::Delete { table, row } => attempt!(self.delete(table, reg!(row), ctx)),

                        // ---- collections ----
                        Inst::Clear { coll } => self.colls[base.colls + usize::from(coll)].clear(),
                        Inst::Push { coll, values } => {
                            let row = code.run(values).iter().map(|r| reg!(*r));
                            attempt!(self.colls[base.colls + usize::from(coll)].push(row));
                        }
                        Inst::Len { coll, dst } => {
                            reg!(dst) = Slot::Int(self.colls[base.colls + usize::from(coll)].len() as i64);
                        }
                        Inst::Sort { coll, keys } => {
                            let keys = &code.sorts[usize::from(keys)];
                            self.colls[base.colls + usize::from(coll)].sort(keys, &self.heap);
                        }
                        Inst::MapGet { map } => {
                            self.map_get(&code.maps[usize::from(map)], frame, base);
                        }
                        Inst::MapPut { coll, row } => {
                            self.row.clear();
                            self.row.extend(code.run(row).iter().map(|r| reg!(*r)));
                            let coll = &mut self.colls[base.colls + usize::from(coll)];
                            attempt!(coll.put(&self.row, &self.heap));
                        }
                        Inst::EachNext { each, at, end } => {
                            let desc = &code.eachs[usize::from(each)];
                            let coll = &self.colls[base.colls + usize::from(desc.coll)];
                            let row = reg!(at).int();
                            if row as usize >= coll.len() {
                                pc = end as usize;
                            } else {
                                reg!(at) = Slot::Int(row + 1);
                                spread(coll.row(row as usize), desc, row, frame);
                            }
                        }
                        Inst::MatchFirst { each, at } => {
                            let desc = &code.eachs[usize::from(each)];
                            self.row.clear();
                            self.row.extend(desc.keys.iter().map(|r| reg!(*r)));
                            let coll = &self.colls[base.colls + usize::from(desc.coll)];
                            reg!(at) = row_number(coll.find(&self.row, &self.heap));
                        }
                        Inst::MatchNext { each, at, end } => match reg!(at) {
                            Slot::Int(row) => {
                                let desc = &code.eachs[usize::from(each)];
                                let coll = &self.colls[base.colls + usize::from(desc.coll)];
                                reg!(at) = row_number(coll.next_match(row as usize));
                                spread(coll.values(row as usize), desc, row, frame);
                            }
                            _ => pc = end as usize,
                        },
                        Inst::SetEntry { coll, column, entry, value } => {
                            let (entry, value) = (reg!(entry).int(), reg!(value));
                            let coll = &mut self.colls[base.colls + usize::from(coll)];
                            coll.set(entry as usize, usize::from(column), value);
                        }
                    }
                }
            };
            match error {
                Interrupt::Error(e) => pc = self.handle(code, pc - 1, e, frame, base, ctx)?,
                conflict => return Err(conflict),
            }
        }
    }

    /// Calls a function of any number of arguments.
    #[inline(never)]
    fn apply(&mut self, func: planaria_ir::Func, args: &[R], frame: &[Slot]) -> Result<Slot> {
        if args.len() <= ARGS_INLINE {
            let mut gathered = [Slot::Null; ARGS_INLINE];
            for (to, from) in gathered.iter_mut().zip(args) {
                *to = frame[usize::from(*from)];
            }
            return functions::call(func, &gathered[..args.len()], &mut self.heap);
        }
        let mut gathered = std::mem::take(&mut self.row);
        gathered.clear();
        gathered.extend(args.iter().map(|r| frame[usize::from(*r)]));
        let result = functions::call(func, &gathered, &mut self.heap);
        self.row = gathered;
        result
    }

    /// `array[index] = value`; in place once the array is this register's alone.
    #[inline(never)]
    fn array_set(&mut self, frame: &mut [Slot], array: R, index: R, value: R, owner: R) -> Result<()> {
        let Slot::Int(at) = frame[usize::from(index)] else {
            return Err(Error::new(
                SqlState::NULL_VALUE_NOT_ALLOWED,
                "array subscript in assignment must not be null",
            ));
        };
        let mut whole = frame[usize::from(array)];
        if let (Slot::Array(shared), false) = (whole, frame[usize::from(owner)].is_true()) {
            self.row.clear();
            self.row.extend_from_slice(self.heap.elements(shared));
            whole = self.heap.array(&self.row)?;
        }
        frame[usize::from(array)] = self.heap.array_set_in_place(whole, at, frame[usize::from(value)])?;
        frame[usize::from(owner)] = Slot::Bool(true);
        Ok(())
    }

    /// What has to be done at a jump backwards now and then.
    #[cold]
    #[inline(never)]
    fn safe_point<P: Protocol, H: Host + ?Sized>(
        &mut self,
        frame: &mut [Slot],
        ctx: &mut Context<'_, P, H>,
    ) -> Result<(), Interrupt> {
        if self.turns == 0 {
            self.turns = limits::TURNS_PER_CHECK;
            if ctx.host.interrupted() {
                return Err(canceled().into());
            }
            if !ctx.protocol.validate(ctx.txn) {
                return Err(Conflict::Validation.into());
            }
        }
        if self.heap.used() > self.compact_at {
            // Half of the slots may be moved when the other heap is full: no handler may see them.
            self.compact(frame).map_err(|_| Conflict::ArenaFull)?;
        }
        Ok(())
    }

    fn call_procedure<P: Protocol, H: Host + ?Sized>(
        &mut self,
        desc: &CallDesc,
        frame: &mut Vec<Slot>,
        base: Base,
        ctx: &mut Context<'_, P, H>,
    ) -> Result<(), Interrupt> {
        let code = ctx.link.code(desc.procedure)?;
        let sink = match desc.into {
            Some(list) => Sink::List(base.colls + usize::from(list)),
            None => Sink::Nowhere,
        };
        let inner = self.nested(code, &desc.args, frame, sink, ctx)?;
        for (to, from) in desc.outs.iter().zip(&code.outs) {
            if *to != NONE {
                frame[usize::from(*to)] = inner[usize::from(*from)];
            }
        }
        self.recycle(inner);
        Ok(())
    }

    #[cold]
    fn call_dynamic<P: Protocol, H: Host + ?Sized>(
        &mut self,
        desc: &ExecuteDesc,
        caller: &Code,
        frame: &mut Vec<Slot>,
        base: Base,
        ctx: &mut Context<'_, P, H>,
    ) -> Result<(), Interrupt> {
        let Slot::Text(text) = frame[usize::from(desc.text)] else {
            return Err(Error::new(
                SqlState::NULL_VALUE_NOT_ALLOWED,
                "query string argument of EXECUTE is null",
            )
            .into());
        };
        let count = match ctx.host.execute(self.heap.str(text), &desc.types)? {
            Dynamic::Done(count) => count,
            Dynamic::Code(code) => {
                let list = desc.rows.map(|list| base.colls + usize::from(list));
                let sink = match (list, desc.rows) {
                    (Some(list), Some(number)) => Sink::Convert {
                        list,
                        from: &code.output_types,
                        to: &caller.colls[usize::from(number)].types,
                    },
                    _ => Sink::Nowhere,
                };
                let before = list.map_or(0, |list| self.colls[list].len());
                let inner = self.nested(&code, &desc.args, frame, sink, ctx)?;
                let affected = code.row_count.map(|r| inner[usize::from(r)]);
                self.recycle(inner);
                match affected {
                    Some(Slot::Int(count)) => count,
                    _ => list.map_or(0, |list| (self.colls[list].len() - before) as i64),
                }
            }
        };
        if desc.row_count != NONE {
            frame[usize::from(desc.row_count)] = Slot::Int(count);
        }
        Ok(())
    }

    fn emit<H: Host + ?Sized>(
        &mut self,
        values: &[R],
        frame: &[Slot],
        sink: Sink<'_>,
        host: &mut H,
    ) -> Result<()> {
        let row = values.iter().map(|r| frame[usize::from(*r)]);
        match sink {
            Sink::Nowhere => Ok(()),
            Sink::List(list) => self.colls[list].push(row),
            Sink::Host => {
                self.row.clear();
                self.row.extend(row);
                host.row(&self.row, &self.heap)
            }
            Sink::Convert { list, from, to } => {
                // As SELECT INTO has it: missing columns are NULL, further ones are left out.
                let mut converted = std::mem::take(&mut self.row);
                converted.clear();
                let mut row = row.zip(from);
                for wanted in to {
                    let slot = match (row.next(), wanted) {
                        (Some((Slot::Null, _)) | None, _) | (_, None) => Slot::Null,
                        (Some((slot, from)), Some(to)) if from == to => slot,
                        (Some((slot, from)), Some(to)) => {
                            functions::cast(slot, from, to, false, &mut self.heap)?
                        }
                    };
                    converted.push(slot);
                }
                let pushed = self.colls[list].push(converted.iter().copied());
                self.row = converted;
                pushed
            }
        }
    }

    fn map_get(&mut self, desc: &MapDesc, frame: &mut [Slot], base: Base) {
        self.row.clear();
        self.row.extend(desc.keys.iter().map(|r| frame[usize::from(*r)]));
        let coll = &self.colls[base.colls + usize::from(desc.coll)];
        let found = coll.find(&self.row, &self.heap);
        if let Some(row) = found {
            for (dst, value) in desc.values.iter().zip(coll.values(row)) {
                if *dst != NONE {
                    frame[usize::from(*dst)] = *value;
                }
            }
        }
        if desc.found != NONE {
            frame[usize::from(desc.found)] = Slot::Bool(found.is_some());
        }
    }
}

/// Writes a row of a collection, and its number, to registers.
#[inline(always)]
fn spread(row: &[Slot], desc: &EachDesc, number: i64, frame: &mut [Slot]) {
    for (dst, value) in desc.columns.iter().zip(row) {
        if *dst != NONE {
            frame[usize::from(*dst)] = *value;
        }
    }
    if desc.entry != NONE {
        frame[usize::from(desc.entry)] = Slot::Int(number);
    }
}

#[inline(always)]
fn row_number(row: Option<usize>) -> Slot {
    row.map_or(Slot::Null, |row| Slot::Int(row as i64))
}

#[cold]
fn canceled() -> Error {
    Error::new(SqlState::QUERY_CANCELED, "canceling statement due to user request")
}
