//! The emitter: instructions, labels and what is done on the fly.
//!
//! Jumps hold label numbers until [`Emitter::finish`] resolves them. Three things happen while
//! instructions are appended, none of them across a label:
//!
//! 1. what cannot be reached is not emitted;
//! 2. a copy of a temporary that the instruction before computed is dropped, and that instruction
//!    writes to the copy's destination ([`Emitter::copy`]);
//! 3. a jump on a temporary that the instruction before computed swallows that instruction
//!    ([`Emitter::branch`]).

use super::simplify::Uses;
use crate::code::*;
use crate::slot::Slot;
use planaria_base::{Datum, Error, Result, SqlState};
use planaria_ir::{Func, OpId, Reg};
use std::collections::HashMap;

/// A place in the code that jumps refer to; a number until the end.
pub(super) type Label = Pc;

const UNBOUND: Pc = Pc::MAX;

/// The instructions with their jumps resolved, the place of each, and where labels came to stand.
pub(super) struct Resolved {
    pub insts: Box<[Inst]>,
    pub places: Box<[Place]>,
    pub labels: Vec<Pc>,
}

pub(super) struct Emitter {
    pub insts: Vec<Inst>,
    places: Vec<Place>,
    /// Where what is being emitted comes from.
    pub place: Place,
    labels: Vec<Pc>,
    /// Instructions before this one have a label behind them: not to be touched.
    barrier: usize,
    unreachable: bool,
    /// The frame at entry.
    pub template: Vec<Slot>,
    /// Frame position of each register of the program, once it has one.
    frame: Vec<R>,
    scalars: HashMap<(u8, u64, u64), R>,
    /// The register of the program at each frame position, if there is one.
    registers: Vec<Option<Reg>>,
    pub operands: Vec<R>,
    pub constants: Vec<Datum>,
    pub gets: Vec<GetDesc>,
    pub loads: Vec<LoadDesc>,
    pub scans: Vec<ScanDesc>,
    pub calls: Vec<CallDesc>,
    /// How often each frame position is read and written.
    pub uses: Uses,
}

#[cold]
fn too_complex() -> Error {
    Error::new(SqlState::STATEMENT_TOO_COMPLEX, "program is too complex")
        .with_hint("Split it into several procedures.")
}

/// A number for a side table.
pub(super) fn number<T>(table: &mut Vec<T>, desc: T) -> Result<u16> {
    let at = u16::try_from(table.len()).ok().filter(|at| *at != u16::MAX).ok_or_else(too_complex)?;
    table.push(desc);
    Ok(at)
}

impl Emitter {
    pub fn new(registers: usize) -> Emitter {
        Emitter {
            insts: Vec::new(),
            places: Vec::new(),
            place: Place { position: 0, op: OpId(0), site: NO_SITE },
            labels: Vec::new(),
            barrier: 0,
            unreachable: false,
            template: Vec::new(),
            frame: vec![NONE; registers],
            scalars: HashMap::new(),
            registers: Vec::new(),
            operands: Vec::new(),
            constants: Vec::new(),
            gets: Vec::new(),
            loads: Vec::new(),
            scans: Vec::new(),
            calls: Vec::new(),
            uses: Uses::default(),
        }
    }

    // ---- frame ----

    /// A position of the frame that starts with this value.
    fn position(&mut self, initial: Slot) -> Result<R> {
        let at = u16::try_from(self.template.len()).ok().filter(|at| *at != NONE).ok_or_else(too_complex)?;
        self.template.push(initial);
        self.registers.push(None);
        Ok(at)
    }
    /// The frame position of a register.
    pub fn reg(&mut self, reg: Reg) -> Result<R> {
        if self.frame[reg.index()] == NONE {
            let at = self.position(Slot::Null)?;
            self.frame[reg.index()] = at;
            self.registers[usize::from(at)] = Some(reg);
        }
        Ok(self.frame[reg.index()])
    }
    /// The same, or [`NONE`] for a register that is never read.
    pub fn target(&mut self, reg: Reg) -> Result<R> {
        if self.uses.reads[reg.index()] == 0 { Ok(NONE) } else { self.reg(reg) }
    }
    /// Frame positions of registers.
    pub fn regs(&mut self, regs: &[Reg]) -> Result<Box<[R]>> {
        regs.iter().map(|r| self.reg(*r)).collect()
    }
    /// Where results go, [`NONE`] for those nobody reads.
    pub fn targets(&mut self, regs: &[Reg]) -> Result<Box<[R]>> {
        regs.iter().map(|r| self.target(*r)).collect()
    }
    /// Lets a register that is written once stand for a constant.
    pub fn bind_constant(&mut self, reg: Reg, value: Slot) -> Result<()> {
        self.frame[reg.index()] = self.scalar(value)?;
        Ok(())
    }
    /// A frame position that always holds this value (no text, no array).
    pub fn scalar(&mut self, value: Slot) -> Result<R> {
        // Same bits, same constant: 1.0 and 1.00 are two.
        let key = match value {
            Slot::Null => (0, 0, 0),
            Slot::Bool(b) => (1, u64::from(b), 0),
            Slot::Int(n) => (2, n as u64, 0),
            Slot::Float(x) => (3, x.to_bits(), 0),
            Slot::Numeric(n) => (4, n.0[0], n.0[1]),
            Slot::Uuid(u) => {
                let u = u128::from_le_bytes(u);
                (5, u as u64, (u >> 64) as u64)
            }
            Slot::Interval(i) => {
                let dates = u64::from(i.months as u32) << 32 | u64::from(i.days as u32);
                (6, i.micros as u64, dates)
            }
            other => unreachable!("{other:?} lives in the heap"),
        };
        if let Some(at) = self.scalars.get(&key) {
            return Ok(*at);
        }
        let at = self.position(value)?;
        self.scalars.insert(key, at);
        Ok(at)
    }
    /// A hidden register.
    pub fn hidden(&mut self) -> Result<R> {
        self.position(Slot::Null)
    }
    /// Operands that do not fit an instruction.
    pub fn run(&mut self, regs: &[R]) -> Result<Run> {
        let len = u16::try_from(regs.len()).map_err(|_| too_complex())?;
        let at = u32::try_from(self.operands.len()).map_err(|_| too_complex())?;
        self.operands.push(len);
        self.operands.extend_from_slice(regs);
        Ok(Run(at))
    }

    /// Appends operands to a run, if it is the last and has room.
    fn extend(&mut self, run: Run, regs: &[R]) -> bool {
        let at = run.0 as usize;
        let len = usize::from(self.operands[at]);
        let Some(longer) =
            u16::try_from(len + regs.len()).ok().filter(|_| at + 1 + len == self.operands.len())
        else {
            return false;
        };
        self.operands[at] = longer;
        self.operands.extend_from_slice(regs);
        true
    }

    // ---- labels ----

    pub fn label(&mut self) -> Label {
        self.labels.push(UNBOUND);
        (self.labels.len() - 1) as Label
    }
    pub fn bind(&mut self, label: Label) {
        self.labels[label as usize] = self.insts.len() as Pc;
        self.barrier = self.insts.len();
        self.unreachable = false;
    }
    /// Whether what follows can be reached.
    pub fn is_reachable(&self) -> bool {
        !self.unreachable
    }

    // ---- instructions ----

    pub fn emit(&mut self, inst: Inst) {
        if self.unreachable {
            return;
        }
        self.insts.push(inst);
        self.places.push(self.place);
        if matches!(inst, Inst::Jump { .. } | Inst::Back { .. } | Inst::Return) {
            self.unreachable = true;
        }
    }
    /// Nothing that follows can be reached, up to the next label.
    pub fn end_path(&mut self) {
        self.unreachable = true;
    }
    pub fn jump(&mut self, to: Label) {
        self.emit(Inst::Jump { to });
    }

    /// The last instruction, if no label stands behind it.
    fn last(&self) -> Option<Inst> {
        if self.unreachable || self.insts.len() <= self.barrier { None } else { self.insts.last().copied() }
    }
    fn pop(&mut self) {
        self.insts.pop();
        self.places.pop();
    }
    /// Whether a frame position is a temporary: written once, read once.
    fn is_temporary(&self, at: R) -> bool {
        self.registers[usize::from(at)]
            .is_some_and(|reg| self.uses.reads[reg.index()] == 1 && self.uses.writes[reg.index()] == 1)
    }

    /// `dst = src`, or the instruction before writes `dst` at once.
    pub fn copy(&mut self, dst: R, src: R) {
        if dst == src {
            return;
        }
        if self.is_temporary(src) && self.redirect(dst, src) {
            return;
        }
        self.emit(Inst::Copy { dst, src });
    }

    /// Lets the last instruction write `to` instead of `from`.
    fn redirect(&mut self, to: R, from: R) -> bool {
        let Some(mut last) = self.last() else { return false };
        let reads = match last {
            Inst::Get { get } => Some(&mut self.gets[get as usize].reads),
            Inst::Load { load } => Some(&mut self.loads[load as usize].reads),
            Inst::ScanNext { scan, .. } => Some(&mut self.scans[scan as usize].reads),
            Inst::ScanRead { scan } => Some(&mut self.scans[scan as usize].later),
            _ => None,
        };
        if let Some(reads) = reads {
            let mut found = None;
            for (i, read) in reads.columns.iter().enumerate() {
                if read.dst == to {
                    return false;
                }
                if read.dst == from {
                    found = Some(i);
                }
            }
            if let Some(i) = found {
                reads.columns[i].dst = to;
            }
            return found.is_some();
        }
        if let Inst::Call { call } = last {
            let outs = &mut self.calls[call as usize].outs;
            if outs.contains(&to) {
                return false;
            }
            return match outs.iter_mut().find(|out| **out == from) {
                Some(out) => {
                    *out = to;
                    true
                }
                None => false,
            };
        }
        match result_of(&mut last) {
            Some(dst) if *dst == from => *dst = to,
            _ => return false,
        }
        if let Some(end) = self.insts.last_mut() {
            *end = last;
        }
        true
    }

    /// GREATEST, LEAST, min or max of two; as a step of a fold it joins the step before it.
    pub fn best(&mut self, func: Func, dst: R, a: R, b: R) -> Result<()> {
        match self.last() {
            Some(Inst::Best { func: before, dst: acc, a: from, b: value })
                if before == func && acc == from && dst == a =>
            {
                let pairs = self.run(&[acc, value, dst, b])?;
                self.pop();
                self.emit(Inst::Bests { func, pairs });
            }
            Some(Inst::Bests { func: before, pairs })
                if before == func && dst == a && self.extend(pairs, &[dst, b]) => {}
            _ => self.emit(Inst::Best { func, dst, a, b }),
        }
        Ok(())
    }

    /// Jumps to `to` when the boolean `cond` is as wanted.
    pub fn branch(&mut self, cond: R, when: When, to: Label) {
        if self.is_temporary(cond)
            && let Some(last) = self.last()
            && self.swallow(last, cond, when, to)
        {
            return;
        }
        self.emit(Inst::JumpBool { when, src: cond, to });
    }

    /// Replaces the computation of `cond`, the last instruction, by jumps.
    fn swallow(&mut self, last: Inst, cond: R, when: When, to: Label) -> bool {
        let wanted = |test: Test| match when {
            When::True => test,
            When::NotTrue => test.complement(),
            When::False => test.negate(),
            When::NotFalse => Test(test.0 | Test::NULL),
        };
        match last {
            Inst::CompareInt { test, dst, a, b } if dst == cond => {
                self.pop();
                self.emit(Inst::JumpInt { test: wanted(test), a, b, to });
            }
            Inst::CompareNum { test, dst, a, b } if dst == cond => {
                self.pop();
                self.emit(Inst::JumpNum { test: wanted(test), a, b, to });
            }
            Inst::CompareText { test, dst, a, b } if dst == cond => {
                self.pop();
                self.emit(Inst::JumpText { test: wanted(test), a, b, to });
            }
            Inst::IsNull { dst, src } | Inst::IsNotNull { dst, src } if dst == cond => {
                self.pop();
                let on_null =
                    matches!(last, Inst::IsNull { .. }) == matches!(when, When::True | When::NotFalse);
                self.emit(if on_null { Inst::JumpNull { src, to } } else { Inst::JumpNotNull { src, to } });
            }
            Inst::Not { dst, src } if dst == cond => {
                self.pop();
                let when = match when {
                    When::True => When::False,
                    When::False => When::True,
                    When::NotTrue => When::NotFalse,
                    When::NotFalse => When::NotTrue,
                };
                self.branch(src, when, to);
            }
            Inst::Apply1 { func: Func::IsTrue, dst, a } if dst == cond => {
                self.pop();
                let positive = matches!(when, When::True | When::NotFalse);
                self.branch(a, if positive { When::True } else { When::NotTrue }, to);
            }
            Inst::Apply1 { func: Func::IsFalse, dst, a } if dst == cond => {
                self.pop();
                let positive = matches!(when, When::True | When::NotFalse);
                self.branch(a, if positive { When::False } else { When::NotFalse }, to);
            }
            Inst::ApplyN { func: Func::AnyNull, dst, args } if dst == cond => {
                self.pop();
                let wanted = matches!(when, When::True | When::NotFalse);
                self.emit(Inst::JumpAnyNull { wanted, regs: args, to });
            }
            // Three-valued: (a AND b) is true when both are; it is not true when one is not.
            Inst::And { dst, a, b } if dst == cond && matches!(when, When::True | When::NotTrue) => {
                self.pop();
                self.both(a, b, When::NotTrue, when == When::NotTrue, to);
            }
            Inst::Or { dst, a, b } if dst == cond && matches!(when, When::True | When::NotTrue) => {
                self.pop();
                self.both(a, b, When::True, when == When::True, to);
            }
            _ => return false,
        }
        true
    }

    /// Two conditions, either of which decides when it is `deciding`. If they decide for the jump
    /// (`jumps`), each jumps to `to`; else the first skips what the second, not deciding, jumps on.
    fn both(&mut self, a: R, b: R, deciding: When, jumps: bool, to: Label) {
        // b may have been computed by the last instruction, behind a's: set it aside meanwhile.
        let aside = self.last().filter(|last| {
            let mut last = *last;
            self.is_temporary(b) && is_pure_test(&last) && result_of(&mut last).is_some_and(|r| *r == b)
        });
        if aside.is_some() {
            self.pop();
        }
        let second = match (deciding, jumps) {
            (When::NotTrue, true) => When::NotTrue,
            (When::NotTrue, false) => When::True,
            (_, true) => When::True,
            (_, false) => When::NotTrue,
        };
        let skip = if jumps { to } else { self.label() };
        self.branch(a, deciding, skip);
        if let Some(inst) = aside {
            self.emit(inst);
        }
        self.branch(b, second, to);
        if !jumps {
            self.bind(skip);
        }
    }

    /// Resolves labels, threads jumps to jumps, drops jumps to the next instruction.
    pub fn finish(&mut self) -> Resolved {
        let labels = &self.labels;
        let resolve = |label: Pc| labels[label as usize];
        for inst in &mut self.insts {
            if let Some(to) = target_of(inst) {
                *to = resolve(*to);
            }
        }
        // A jump to an unconditional jump goes where that one goes; a cycle ends by counting.
        for at in 0..self.insts.len() {
            let mut inst = self.insts[at];
            let Some(to) = target_of(&mut inst) else { continue };
            for _ in 0..8 {
                match self.insts[*to as usize] {
                    Inst::Jump { to: further } => *to = further,
                    _ => break,
                }
            }
            self.insts[at] = inst;
        }
        let keep: Vec<bool> = self
            .insts
            .iter()
            .enumerate()
            .map(|(at, inst)| !matches!(inst, Inst::Jump { to } if *to as usize == at + 1))
            .collect();
        let mut moved = Vec::with_capacity(keep.len() + 1);
        let mut count = 0;
        for kept in &keep {
            moved.push(count);
            count += Pc::from(*kept);
        }
        moved.push(count);
        let mut insts = Vec::with_capacity(count as usize);
        let mut places = Vec::with_capacity(count as usize);
        for (at, mut inst) in std::mem::take(&mut self.insts).into_iter().enumerate() {
            if keep[at] {
                if let Some(to) = target_of(&mut inst) {
                    *to = moved[*to as usize];
                }
                insts.push(inst);
                places.push(self.places[at]);
            }
        }
        let labels =
            self.labels.iter().map(|at| if *at == UNBOUND { UNBOUND } else { moved[*at as usize] }).collect();
        Resolved { insts: insts.into(), places: places.into(), labels }
    }
}

/// Whether an instruction does nothing but compute a boolean, and cannot fail.
fn is_pure_test(inst: &Inst) -> bool {
    matches!(
        inst,
        Inst::CompareInt { .. }
            | Inst::CompareNum { .. }
            | Inst::CompareText { .. }
            | Inst::IsNull { .. }
            | Inst::IsNotNull { .. }
            | Inst::Not { .. }
    )
}

/// The register that an instruction computes, if it is one and all it does to the frame.
fn result_of(inst: &mut Inst) -> Option<&mut R> {
    match inst {
        Inst::Const { dst, .. }
        | Inst::Copy { dst, .. }
        | Inst::AddInt4 { dst, .. }
        | Inst::SubInt4 { dst, .. }
        | Inst::MulInt4 { dst, .. }
        | Inst::AddInt8 { dst, .. }
        | Inst::SubInt8 { dst, .. }
        | Inst::MulInt8 { dst, .. }
        | Inst::AddNum { dst, .. }
        | Inst::SubNum { dst, .. }
        | Inst::MulNum { dst, .. }
        | Inst::ModInt { dst, .. }
        | Inst::BitsInt { dst, .. }
        | Inst::Concat { dst, .. }
        | Inst::CompareInt { dst, .. }
        | Inst::CompareNum { dst, .. }
        | Inst::CompareText { dst, .. }
        | Inst::IsNull { dst, .. }
        | Inst::IsNotNull { dst, .. }
        | Inst::Not { dst, .. }
        | Inst::And { dst, .. }
        | Inst::Or { dst, .. }
        | Inst::Element { dst, .. }
        | Inst::Apply1 { dst, .. }
        | Inst::Apply2 { dst, .. }
        | Inst::ApplyN { dst, .. }
        | Inst::Best { dst, .. }
        | Inst::CastInt { dst, .. }
        | Inst::CastNum { dst, .. }
        | Inst::Cast { dst, .. }
        | Inst::Kept { dst, .. }
        | Inst::Name { dst, .. }
        | Inst::Draw { dst, .. }
        | Inst::NextValue { dst, .. }
        | Inst::CurrentValue { dst, .. }
        | Inst::Len { dst, .. } => Some(dst),
        _ => None,
    }
}

/// The jump target of an instruction.
fn target_of(inst: &mut Inst) -> Option<&mut Pc> {
    match inst {
        Inst::Jump { to }
        | Inst::Back { to }
        | Inst::JumpBool { to, .. }
        | Inst::JumpNull { to, .. }
        | Inst::JumpNotNull { to, .. }
        | Inst::JumpAnyNull { to, .. }
        | Inst::JumpInt { to, .. }
        | Inst::JumpNum { to, .. }
        | Inst::JumpText { to, .. } => Some(to),
        Inst::Ahead { end, .. } => Some(end),
        Inst::ScanNext { end, .. } | Inst::ScanAdd { end, .. } => Some(end),
        Inst::EachNext { end, .. } | Inst::MatchNext { end, .. } => Some(end),
        _ => None,
    }
}
