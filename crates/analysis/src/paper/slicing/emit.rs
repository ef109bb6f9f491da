//! Writes the program of a part.

use super::chains::is_region;
use super::demand::{Cut, Demand, Pass, Place, passed_type};
use super::{Input, SliceProgram, Uncut};
use planaria_base::{Datum, Level, Type};
use planaria_ir::{
    Block, Draw, Func, Op, OpId, OpKind, Param, ParamMode, Program, ProgramKind, Reg, RegKind,
};
use std::collections::{BTreeMap, BTreeSet};

/// Where a value that passes stands in the program: a plain register, or an array with a place in it.
#[derive(Clone, Copy)]
struct Tape {
    reg: Reg,
    /// The number of the element read last.
    at: Option<Reg>,
    /// It is such an array. A value that passes once may be one itself.
    often: bool,
}

/// Keys to hand over: registers before operations, and expressions that are computed first.
#[derive(Default)]
pub(super) struct Keys {
    /// By operation.
    pub(super) at: BTreeMap<u32, Vec<Reg>>,
    /// Computed when the program starts, into registers of their own; then handed over.
    pub(super) first: Vec<First>,
    /// The registers of `first` to hand over.
    pub(super) known: BTreeSet<Reg>,
    /// Types of the registers that `first` adds behind those of the program.
    pub(super) added: Vec<RegKind>,
}

/// A step of computing keys.
pub(super) enum First {
    /// An operation on values.
    Op(OpKind),
    /// A register gets a value that was handed over.
    Take(Reg, Pass),
}

struct Emitter<'a, 'p> {
    cut: &'a Cut<'p>,
    demand: &'a Demand<'a, 'p>,
    keys: &'a Keys,
    out: Program,
    /// Runs first.
    start: Vec<Op>,
    fetch: BTreeMap<Pass, Tape>,
    gives: BTreeMap<Pass, Tape>,
    inputs: Vec<(Input, Param)>,
}

/// The program of a part that is handed `values` by number, and hands over `gives`.
pub(super) fn emit(
    cut: &Cut<'_>,
    demand: &Demand<'_, '_>,
    gives: &BTreeSet<Pass>,
    keys: &Keys,
    values: &BTreeMap<Pass, usize>,
    name: String,
) -> Result<SliceProgram, Uncut> {
    let program = cut.program;
    let mut out = Program::new(name, ProgramKind::Procedure);
    (out.regs, out.colls, out.labels) = (program.regs.clone(), program.colls.clone(), program.labels);
    for kind in &keys.added {
        out.reg(kind.clone(), None);
    }
    let mut emitter = Emitter {
        cut,
        demand,
        keys,
        out,
        start: Vec::new(),
        fetch: BTreeMap::new(),
        gives: BTreeMap::new(),
        inputs: Vec::new(),
    };
    for pass in demand.fetch.keys() {
        emitter.open_input(*pass, values[pass]);
    }
    let mut outputs = Vec::new();
    for pass in gives {
        let tape = emitter.open_output(*pass);
        emitter.out.outs.push(tape.reg);
        let ty = emitter.out.type_of(tape.reg).cloned().unwrap_or(Type::Bool);
        emitter.out.outputs.push(planaria_ir::Output { name: format!("v{}", values[pass]), ty });
        outputs.push(values[pass]);
    }
    for first in &keys.first {
        let kind = match first {
            First::Op(kind) => kind.clone(),
            First::Take(dst, pass) => OpKind::Copy { dst: *dst, src: emitter.fetch[pass].reg },
        };
        emitter.start.push(op(kind, 0));
    }
    for reg in &keys.known {
        emitter.start.push(op(OpKind::Piece { piece: 0, args: vec![*reg] }, 0));
    }
    let body = emitter.block(&program.body, false);
    emitter.finish(body, outputs)
}

fn op(kind: OpKind, position: u32) -> Op {
    Op { id: OpId(0), position, kind }
}

impl Emitter<'_, '_> {
    fn variable(&mut self, ty: Type, what: &str) -> Reg {
        let name = format!("{what}{}", self.out.regs.len());
        self.out.reg(RegKind::Value(ty), Some(name))
    }

    fn passed(&self, (_, reg): Pass) -> Type {
        reg.map_or(Type::Bool, |r| passed_type(self.cut.program.kind_of(r)))
    }

    fn open_input(&mut self, pass: Pass, value: usize) {
        let mut ty = self.passed(pass);
        let mut at = None;
        if self.cut.passes_often(pass.0) {
            ty = Type::Array(Box::new(ty));
            let counter = self.variable(Type::Int8, "at");
            self.start.push(op(OpKind::Const { dst: counter, value: Datum::Int(0) }, 0));
            at = Some(counter);
        }
        let reg = self.variable(ty.clone(), "in");
        let param = Param { name: format!("v{value}"), ty, mode: ParamMode::In, reg };
        self.inputs.push((Input::Value(value), param));
        self.fetch.insert(pass, Tape { reg, at, often: at.is_some() });
    }

    fn open_output(&mut self, pass: Pass) -> Tape {
        let mut ty = self.passed(pass);
        let often = self.cut.passes_often(pass.0);
        if often {
            ty = Type::Array(Box::new(ty));
        }
        let tape = Tape { reg: self.variable(ty, "out"), at: None, often };
        self.gives.insert(pass, tape);
        tape
    }

    /// Reads the next value of a tape into `dst`, of the type that passes.
    fn next(&mut self, tape: Tape, dst: Reg, position: u32, to: &mut Vec<Op>) {
        let Some(at) = tape.at else {
            to.push(op(OpKind::Copy { dst, src: tape.reg }, position));
            return;
        };
        let one = self.out.value(Type::Int8);
        to.push(op(OpKind::Const { dst: one, value: Datum::Int(1) }, position));
        to.push(op(OpKind::Apply { dst: at, func: Func::Int8Add, args: vec![at, one] }, position));
        to.push(op(OpKind::Apply { dst, func: Func::ArrayGet, args: vec![tape.reg, at] }, position));
    }

    /// Values that come in at a place.
    fn take_all(&mut self, place: Place, position: u32, to: &mut Vec<Op>) {
        let here: Vec<(Pass, Tape)> =
            self.fetch.range((place, None)..=(place, Some(Reg(u32::MAX)))).map(|(p, t)| (*p, *t)).collect();
        for ((_, reg), tape) in here {
            let Some(reg) = reg else { continue };
            if let RegKind::Value(_) = self.cut.program.kind_of(reg) {
                self.next(tape, reg, position, to);
                continue;
            }
            // A row of elsewhere is known to be there or not, no more: its register holds a boolean here.
            let (none, yes, no) = (self.out.value(Type::Bool), Datum::Bool(true), Datum::Null);
            self.next(tape, none, position, to);
            let set = |value| Block(vec![op(OpKind::Const { dst: reg, value }, position)]);
            to.push(op(OpKind::If { cond: none, then: set(no), otherwise: set(yes) }, position));
        }
    }

    fn put(&mut self, tape: Tape, value: Reg, position: u32, to: &mut Vec<Op>) {
        let dst = tape.reg;
        to.push(match tape.often {
            true => op(OpKind::Apply { dst, func: Func::ArrayAppend, args: vec![dst, value] }, position),
            false => op(OpKind::Copy { dst, src: value }, position),
        });
    }

    /// Values that go out at a place.
    fn give_all(&mut self, place: Place, position: u32, to: &mut Vec<Op>) {
        let here: Vec<(Pass, Tape)> =
            self.gives.range((place, None)..=(place, Some(Reg(u32::MAX)))).map(|(p, t)| (*p, *t)).collect();
        for ((_, reg), tape) in here {
            let Some(reg) = reg else { continue };
            let value = match self.cut.program.kind_of(reg) {
                RegKind::Value(_) => reg,
                RegKind::Row(_) => {
                    let none = self.out.value(Type::Bool);
                    to.push(op(OpKind::Apply { dst: none, func: Func::IsNull, args: vec![reg] }, position));
                    none
                }
            };
            self.put(tape, value, position, to);
        }
    }

    /// Says whether a scan has another turn.
    fn give_more(&mut self, scan: u32, more: bool, position: u32, to: &mut Vec<Op>) {
        if let Some(tape) = self.gives.get(&(Place::More(scan), None)).copied() {
            let value = self.out.value(Type::Bool);
            to.push(op(OpKind::Const { dst: value, value: Datum::Bool(more) }, position));
            self.put(tape, value, position, to);
        }
    }

    fn block(&mut self, block: &Block, nested: bool) -> Block {
        let mut to = Vec::new();
        for o in &block.0 {
            let (id, position) = (o.id.0, o.position);
            for reg in self.keys.at.get(&id).into_iter().flatten() {
                to.push(op(OpKind::Piece { piece: 0, args: vec![*reg] }, position));
            }
            let own = self.demand.exec.contains(&id);
            match &o.kind {
                OpKind::Scan { .. } if self.demand.regions.contains(&id) && !own => {
                    self.other_scan(o, &mut to);
                }
                kind if is_region(kind) && self.demand.regions.contains(&id) => {
                    let kind = self.region(o);
                    to.push(op(kind, position));
                    self.give_more(id, false, position, &mut to);
                }
                OpKind::Raise { level: Level::Exception, .. } if nested => {
                    // Never reached; what follows relies on that.
                    to.push(op(OpKind::Return, position));
                }
                OpKind::Keep { values } if own => {
                    for value in values {
                        let ty = self.cut.program.type_of(*value).cloned().unwrap_or(Type::Bool);
                        let dst = self.variable(ty, "kept");
                        to.push(op(OpKind::Draw { dst, input: Draw::Kept }, position));
                    }
                }
                kind if own => to.push(op(kind.clone(), position)),
                _ => {}
            }
            self.take_all(Place::After(id), position, &mut to);
            self.give_all(Place::After(id), position, &mut to);
        }
        Block(to)
    }

    fn region(&mut self, o: &Op) -> OpKind {
        let mut kind = o.kind.clone();
        let mut inner = Vec::new();
        o.kind.blocks(&mut |b| inner.push(b));
        let mut inner: Vec<Block> = inner.into_iter().map(|b| self.block(b, true)).collect();
        if let OpKind::Scan { .. } = o.kind {
            let mut first = Vec::new();
            self.give_more(o.id.0, true, o.position, &mut first);
            self.give_all(Place::Turn(o.id.0), o.position, &mut first);
            first.append(&mut inner[0].0);
            inner[0].0 = first;
        }
        let mut inner = inner.into_iter();
        kind.blocks_mut(&mut |b| *b = inner.next().unwrap_or_default());
        kind
    }

    /// A scan that another part does: as many turns, with the values from there.
    fn other_scan(&mut self, o: &Op, to: &mut Vec<Op>) {
        let OpKind::Scan { label, body, .. } = &o.kind else { return };
        let (id, position) = (o.id.0, o.position);
        let mut turn = Vec::new();
        let more = self.out.value(Type::Bool);
        if let Some(tape) = self.fetch.get(&(Place::More(id), None)).copied() {
            self.next(tape, more, position, &mut turn);
        }
        let end = Block(vec![op(OpKind::Exit { label: *label }, position)]);
        turn.push(op(OpKind::If { cond: more, then: Block::default(), otherwise: end }, position));
        self.take_all(Place::Turn(id), position, &mut turn);
        turn.append(&mut self.block(body, true).0);
        to.push(op(OpKind::Loop { label: *label, body: Block(turn) }, position));
    }

    fn finish(mut self, body: Block, outputs: Vec<usize>) -> Result<SliceProgram, Uncut> {
        self.start.extend(body.0);
        self.out.body = Block(std::mem::take(&mut self.start));
        self.retype()?;
        let mut read = BTreeSet::new();
        self.out.body.visit(&mut |o| {
            o.kind.reads(&mut |r| {
                read.insert(r);
            });
        });
        read.extend(self.gives.keys().filter_map(|(_, r)| *r));
        let mut inputs = Vec::new();
        let given = self.cut.program.params.iter().filter(|p| p.mode != ParamMode::Out);
        for (i, param) in given.enumerate().filter(|(_, p)| read.contains(&p.reg)) {
            inputs.push(Input::Arg(i));
            self.out.params.push(Param { mode: ParamMode::In, ..param.clone() });
        }
        for (input, param) in std::mem::take(&mut self.inputs) {
            inputs.push(input);
            self.out.params.push(param);
        }
        // OUT parameters are variables that start as NULL.
        for param in self.cut.program.params.iter().filter(|p| p.mode == ParamMode::Out) {
            self.out.regs[param.reg.index()].name.get_or_insert_with(|| param.name.clone());
        }
        self.out.renumber();
        Ok(SliceProgram { program: self.out, inputs, outputs })
    }

    /// Lets the registers of rows of elsewhere hold booleans, and those they are copied to.
    fn retype(&mut self) -> Result<(), Uncut> {
        let is_row = |r: &Reg| matches!(self.cut.program.kind_of(*r), RegKind::Row(_));
        let mut rows: BTreeSet<Reg> = self.fetch.keys().filter_map(|(_, r)| *r).filter(is_row).collect();
        if rows.is_empty() {
            return Ok(());
        }
        let mut copies = Vec::new();
        self.out.body.visit(&mut |o| {
            if let OpKind::Copy { dst, src } = o.kind {
                copies.push((dst, src));
            }
        });
        loop {
            let before = rows.len();
            for (dst, src) in &copies {
                if rows.contains(src) || rows.contains(dst) {
                    rows.extend([*dst, *src]);
                }
            }
            if rows.len() == before {
                break;
            }
        }
        let mut real = false;
        self.out.body.visit(&mut |o| match &o.kind {
            OpKind::Copy { .. } | OpKind::Const { .. } | OpKind::Apply { .. } => {}
            kind => {
                kind.reads(&mut |r| real |= rows.contains(&r));
                kind.writes(&mut |r| real |= rows.contains(&r));
            }
        });
        if real {
            return Err(Uncut::Rows);
        }
        for row in rows {
            self.out.regs[row.index()].kind = RegKind::Value(Type::Bool);
        }
        Ok(())
    }
}
