//! Calls replaced by the bodies of what they call, so that one program is the whole transaction: the
//! graph of a nested transaction is then the graph of a flat one.
//!
//! `call p (a, b) -> (c)` at some place becomes
//!
//! ```text
//!   x = copy a    y = copy b         ; the parameters
//!   v = const null    clear x3       ; where the call may run again: variables start as NULL, and
//!   block l { body of p }            ; collections empty, each time; a RETURN leaves the block
//!   c = copy z                       ; the answer
//! ```
//!
//! with registers, collections and labels of the callee renamed, and so on inside the body. For a
//! set-returning function, its `emit` pushes onto the list of the call. The block's label is in
//! [`Program::inlined`], from which errors get the CONTEXT that the call would have given them.
//!
//! Behaviour is that of the calls, but for their limits: depth does not count, as what is inlined cannot
//! recurse.

use planaria_base::{ProcedureId, limits};
use planaria_ir::verify::holds;
use planaria_ir::{Block, Coll, Entity, Inlined, Label, Op, OpId, OpKind, Param, ParamMode, Program, Reg};
use std::collections::BTreeMap;
use std::fmt;

/// Programs do not become larger than this many operations by inlining.
pub const INLINED_OPS_MAX: usize = 20_000;

/// Why calls were not inlined.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum NotInlined {
    /// There is no program of this procedure (it cannot be compiled, and so fails when called).
    Unknown(ProcedureId),
    /// The procedure calls itself, directly or through others.
    Recursive(ProcedureId),
    /// More than [`INLINED_OPS_MAX`] operations.
    TooLarge,
    /// Blocks would be nested more than [`limits::BLOCKS_MAX`] levels deep.
    TooDeep,
    /// The parameter's register has a narrower type than the arguments it is passed.
    Narrow(ProcedureId, String),
}

impl fmt::Display for NotInlined {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            NotInlined::Unknown(p) => write!(f, "it calls {p}, which has no program"),
            NotInlined::Recursive(p) => write!(f, "{p} calls itself"),
            NotInlined::TooLarge => {
                write!(f, "with the procedures it calls it has more than {INLINED_OPS_MAX} operations")
            }
            NotInlined::TooDeep => {
                write!(
                    f,
                    "with the procedures it calls it nests more than {} levels deep",
                    limits::BLOCKS_MAX
                )
            }
            NotInlined::Narrow(p, name) => {
                write!(f, "parameter {name} of {p} is narrower than its arguments")
            }
        }
    }
}

/// The program with every call replaced by what it calls, operations numbered anew. `callee` gives the
/// programs of procedures.
pub fn inline<'p>(
    program: &Program,
    callee: &dyn Fn(ProcedureId) -> Option<&'p Program>,
) -> Result<Program, NotInlined> {
    inline_except(program, callee, &|_| false)
}

/// The same, but calls of procedures for which `left` holds stay.
pub fn inline_except<'p>(
    program: &Program,
    callee: &dyn Fn(ProcedureId) -> Option<&'p Program>,
    left: &dyn Fn(ProcedureId) -> bool,
) -> Result<Program, NotInlined> {
    let mut out = program.clone();
    let body = std::mem::take(&mut out.body);
    let mut inliner = Inliner { out, callee, left, stack: Vec::new(), ops: 0, height: 0 };
    let top = Frame { regs: 0, colls: 0, labels: 0, end: None, sink: None };
    let body = inliner.block(body, &top, false)?;
    let mut out = inliner.out;
    out.body = body;
    out.renumber();
    Ok(out)
}

struct Inliner<'p, 'c> {
    /// The program that comes to be, without its body.
    out: Program,
    callee: &'c dyn Fn(ProcedureId) -> Option<&'p Program>,
    left: &'c dyn Fn(ProcedureId) -> bool,
    /// Procedures whose bodies are being put in, outermost first.
    stack: Vec<ProcedureId>,
    ops: usize,
    /// How deep the blocks are nested.
    height: usize,
}

/// How the entities of one program are called in the whole.
struct Frame {
    /// What is added to the numbers of its registers, collections and labels.
    regs: u32,
    colls: u32,
    labels: u32,
    /// What a `Return` leaves; `None` in the outermost program.
    end: Option<Label>,
    /// Where its rows go; `None`: to the answer of the whole.
    sink: Option<Coll>,
}

/// A call, its entities renamed.
struct Call {
    procedure: ProcedureId,
    args: Vec<Reg>,
    outs: Vec<Reg>,
    into: Option<Coll>,
    position: u32,
    /// Whether it may run more than once.
    repeats: bool,
}

/// Whether an operation that is not inside another one writes a register.
fn writes_at_top(body: &Block, reg: Reg) -> bool {
    body.0.iter().any(|op| {
        let mut written = false;
        op.kind.writes(&mut |r| written |= r == reg);
        written
    })
}

impl Inliner<'_, '_> {
    fn block(&mut self, block: Block, frame: &Frame, repeats: bool) -> Result<Block, NotInlined> {
        self.height += 1;
        if self.height > limits::BLOCKS_MAX {
            return Err(NotInlined::TooDeep);
        }
        let mut ops = Vec::with_capacity(block.0.len());
        for mut op in block.0 {
            op.kind.entities_mut(&mut |entity| match entity {
                Entity::Reg(r) => r.0 += frame.regs,
                Entity::Coll(c) => c.0 += frame.colls,
                Entity::Label(l) => l.0 += frame.labels,
            });
            let position = op.position;
            match op.kind {
                OpKind::Call { procedure, args, outs } if !(self.left)(procedure) => {
                    self.call(Call { procedure, args, outs, into: None, position, repeats }, &mut ops)?;
                    continue;
                }
                OpKind::CallSet { procedure, args, into } if !(self.left)(procedure) => {
                    let outs = Vec::new();
                    self.call(Call { procedure, args, outs, into: Some(into), position, repeats }, &mut ops)?;
                    continue;
                }
                OpKind::Return if let Some(label) = frame.end => op.kind = OpKind::Exit { label },
                OpKind::Emit { values } if let Some(coll) = frame.sink => {
                    op.kind = OpKind::Push { coll, values };
                }
                ref mut kind => {
                    let repeats = repeats
                        || matches!(
                            kind,
                            OpKind::Loop { .. }
                                | OpKind::Scan { .. }
                                | OpKind::ForEach { .. }
                                | OpKind::ForMatches { .. }
                        );
                    let mut done = Ok(());
                    kind.blocks_mut(&mut |inner| {
                        if done.is_ok() {
                            match self.block(std::mem::take(inner), frame, repeats) {
                                Ok(block) => *inner = block,
                                Err(e) => done = Err(e),
                            }
                        }
                    });
                    done?;
                }
            }
            self.push(&mut ops, op)?;
        }
        self.height -= 1;
        Ok(Block(ops))
    }

    fn push(&mut self, ops: &mut Vec<Op>, op: Op) -> Result<(), NotInlined> {
        self.ops += 1;
        if self.ops > INLINED_OPS_MAX {
            return Err(NotInlined::TooLarge);
        }
        ops.push(op);
        Ok(())
    }

    fn call(&mut self, call: Call, ops: &mut Vec<Op>) -> Result<(), NotInlined> {
        let Call { procedure, args, outs, into, position, repeats } = call;
        if self.stack.contains(&procedure) {
            return Err(NotInlined::Recursive(procedure));
        }
        let callee = (self.callee)(procedure).ok_or(NotInlined::Unknown(procedure))?;
        let label = Label(self.out.labels);
        let frame = Frame {
            regs: self.out.regs.len() as u32,
            colls: self.out.colls.len() as u32,
            labels: label.0 + 1,
            end: Some(label),
            sink: into,
        };
        self.out.labels += 1 + callee.labels;
        self.out.regs.extend(callee.regs.iter().cloned());
        self.out.colls.extend(callee.colls.iter().cloned());
        let renamed = |r: Reg| Reg(r.0 + frame.regs);
        let op = |kind| Op { id: OpId(0), position, kind };

        let is_input = |p: &&Param| p.mode != ParamMode::Out;
        let inputs: Vec<&Param> = callee.params.iter().filter(is_input).collect();
        for (param, src) in inputs.iter().zip(args) {
            let dst = renamed(param.reg);
            let fits = match (self.out.type_of(dst), self.out.type_of(src)) {
                (Some(to), Some(from)) => holds(to, from),
                _ => false,
            };
            if !fits {
                return Err(NotInlined::Narrow(procedure, param.name.clone()));
            }
            self.push(ops, op(OpKind::Copy { dst, src }))?;
        }
        // Temporaries are written before they are read; variables and answers may not be. The first time variables are
        // NULL by themselves, answers of a query without rows are not.
        for (at, decl) in callee.regs.iter().enumerate() {
            let reg = Reg::from(at);
            let answer = callee.outs.contains(&reg);
            let unset = match repeats {
                true => decl.name.is_some() || answer,
                false => answer && decl.name.is_none() && !writes_at_top(&callee.body, reg),
            };
            if unset && !inputs.iter().any(|p| p.reg == reg) {
                let value = planaria_base::Datum::Null;
                self.push(ops, op(OpKind::Const { dst: renamed(reg), value }))?;
            }
        }
        if repeats {
            for at in 0..callee.colls.len() {
                self.push(ops, op(OpKind::Clear { coll: Coll(at as u32 + frame.colls) }))?;
            }
        }
        let inner: BTreeMap<Label, Inlined> =
            callee.inlined.iter().map(|(l, i)| (Label(l.0 + frame.labels), *i)).collect();
        self.out.inlined.extend(inner);
        self.out.inlined.insert(label, Inlined { procedure, set: into.is_some() });

        self.stack.push(procedure);
        let body = self.block(callee.body.clone(), &frame, repeats)?;
        self.stack.pop();
        self.push(ops, op(OpKind::Block { label, body }))?;
        for (dst, from) in outs.into_iter().zip(&callee.outs) {
            self.push(ops, op(OpKind::Copy { dst, src: renamed(*from) }))?;
        }
        Ok(())
    }
}
