//! What is known of a call that committed.
//!
//! A logged call committed, and no exception handler of it ran (a call in which one ran is logged by its
//! effects). So:
//!
//! * a branch that always raises was not taken, and its condition has no say over what follows;
//! * nor was a branch before it in which the condition became what the guard refuses: `IF NOT FOUND THEN
//!   RAISE` tells that the row was there;
//! * of an exception block its body is left, with no savepoint;
//! * messages, answers and notifications are not replayed;
//! * it was no part of a transaction block, so what only blocks can defer was not deferred ([`Question::in_a_call`]);
//! * what a setting was stands in the log ([`Question::is_input`]).
//!
//! [`Question::is_input`]: planaria_ir::Question::is_input
//! [`Question::in_a_call`]: planaria_ir::Question::in_a_call

use planaria_base::{Datum, Level, ProcedureId};
use planaria_ir::{Block, Draw, Func, Label, Op, OpKind, Program, Reg};
use std::collections::BTreeMap;

/// The program as replay of a logged call meets it. For every call that raises no error, it does to the
/// tables what the program does. Operations keep their numbers.
pub fn committed(program: &Program) -> Program {
    committed_by(program, false)
}

/// The same; `formerly`: a guard says something of those that have left before it, too, as it did once.
pub(crate) fn committed_by(program: &Program, formerly: bool) -> Program {
    let (constants, answers) = constants(program);
    let body = Committed { constants, answers, formerly }.block(&program.body);
    Program { body, ..program.clone() }
}

/// The same with the calls of other routines replaced by their bodies, where that can be.
pub fn committed_whole<'p>(
    program: &Program,
    callee: &dyn Fn(ProcedureId) -> Option<&'p Program>,
) -> Program {
    match crate::inline(program, callee) {
        Ok(flat) => committed(&flat),
        Err(_) => committed(program),
    }
}

/// Boolean registers that are written once, by a constant, and those by what is answered alike in all calls.
fn constants(program: &Program) -> (BTreeMap<Reg, bool>, BTreeMap<Reg, bool>) {
    let mut writes: BTreeMap<Reg, u32> = BTreeMap::new();
    let (mut constants, mut answers) = (BTreeMap::new(), BTreeMap::new());
    program.body.visit(&mut |op| {
        op.kind.writes(&mut |r| *writes.entry(r).or_default() += 1);
        if let OpKind::Const { dst, value: Datum::Bool(value) } = &op.kind {
            constants.insert(*dst, *value);
        }
        if let OpKind::Ask { dst, question, .. } = &op.kind
            && let Some(value) = question.in_a_call()
        {
            answers.insert(*dst, value);
        }
    });
    let once = |r: &Reg| writes[r] == 1 && !program.params.iter().any(|p| p.reg == *r);
    constants.retain(|r, _| once(r));
    answers.retain(|r, _| once(r));
    (constants, answers)
}

/// What a guard says of a condition, by having let the call pass.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Known {
    True,
    NotTrue,
    NotFalse,
}

struct Committed {
    constants: BTreeMap<Reg, bool>,
    answers: BTreeMap<Reg, bool>,
    /// See [`committed_by`].
    formerly: bool,
}

impl Committed {
    fn block(&self, block: &Block) -> Block {
        let mut out: Vec<Op> = Vec::new();
        for op in &block.0 {
            match &op.kind {
                OpKind::Try { body, .. } => out.extend(self.block(body).0),
                OpKind::If { cond, then, otherwise } if let Some(answer) = self.answers.get(cond) => {
                    out.extend(self.block(if *answer { then } else { otherwise }).0);
                }
                OpKind::If { cond, then, otherwise } => {
                    let (then, otherwise) = (self.block(then), self.block(otherwise));
                    if raises(&then) {
                        self.assume(&mut out, *cond, Known::NotTrue);
                        out.extend(otherwise.0);
                    } else if raises(&otherwise) {
                        self.assume(&mut out, *cond, Known::True);
                        out.extend(then.0);
                    } else {
                        out.push(Op { kind: OpKind::If { cond: *cond, then, otherwise }, ..*op });
                    }
                }
                OpKind::Raise { level, .. } if *level != Level::Exception => {}
                OpKind::Emit { .. } | OpKind::Notify { .. } | OpKind::EndTransaction { .. } => {}
                OpKind::Ask { dst, question, .. } if let Some(answer) = question.in_a_call() => {
                    let value = Datum::Bool(answer);
                    out.push(Op { kind: OpKind::Const { dst: *dst, value }, ..*op });
                }
                OpKind::Ask { dst, question, .. } if question.is_input() => {
                    out.push(Op { kind: OpKind::Draw { dst: *dst, input: Draw::Setting }, ..*op });
                }
                kind => {
                    let mut kind = kind.clone();
                    kind.blocks_mut(&mut |b| *b = self.block(b));
                    out.push(Op { kind, ..*op });
                }
            }
            // What stands behind an operation that ends the block is never reached.
            if out.last().is_some_and(ends) {
                break;
            }
        }
        Block(out)
    }

    /// The operations before a guard, knowing what it says of `reg`: a branch in which the register
    /// became something else was not taken.
    fn assume(&self, ops: &mut Vec<Op>, reg: Reg, known: Known) {
        let Some(at) = ops.iter().rposition(|op| writes_inside(op, reg)) else { return };
        // Whoever has left in between has met no guard.
        if !self.formerly && ops[at + 1..].iter().any(|op| leaves(op, &mut Vec::new())) {
            return;
        }
        match &ops[at].kind {
            OpKind::Copy { src, .. } => {
                let src = *src;
                self.assume_before(ops, at, src, known);
            }
            OpKind::Apply { func: Func::Not, args, .. } => {
                let arg = args[0];
                let inner = match known {
                    Known::True => Known::NotTrue,
                    Known::NotTrue => Known::NotFalse,
                    Known::NotFalse => Known::NotTrue,
                };
                // NOT of something that is not false may still be NULL of NULL.
                if known != Known::NotFalse {
                    self.assume_before(ops, at, arg, inner);
                }
            }
            OpKind::If { cond, then, otherwise } => {
                let cond = *cond;
                let before = self.ends_as(&ops[..at], reg);
                let value = |block: &Block| {
                    if block.0.iter().any(|op| writes_inside(op, reg)) {
                        self.ends_as(&block.0, reg)
                    } else {
                        before
                    }
                };
                let wrong = |value: Option<bool>| match value {
                    Some(true) => known == Known::NotTrue,
                    Some(false) => known != Known::NotTrue,
                    None => false,
                };
                if jumps(then) || jumps(otherwise) {
                    return;
                }
                let taken = match (wrong(value(then)), wrong(value(otherwise))) {
                    (false, true) => (then.clone(), Known::True),
                    (true, false) => (otherwise.clone(), Known::NotTrue),
                    _ => return,
                };
                ops.splice(at..=at, taken.0.0);
                self.assume_before(ops, at, cond, taken.1);
            }
            _ => {}
        }
    }

    fn assume_before(&self, ops: &mut Vec<Op>, at: usize, reg: Reg, known: Known) {
        let rest = ops.split_off(at);
        self.assume(ops, reg, known);
        ops.extend(rest);
    }

    /// The constant that a register holds at the end, if that is evident.
    fn ends_as(&self, ops: &[Op], reg: Reg) -> Option<bool> {
        match &ops.iter().rfind(|op| writes_inside(op, reg))?.kind {
            OpKind::Const { value: Datum::Bool(value), .. } => Some(*value),
            OpKind::Copy { src, .. } => self.constants.get(src).copied(),
            _ => None,
        }
    }
}

fn writes_inside(op: &Op, reg: Reg) -> bool {
    let mut found = false;
    op.kind.writes(&mut |r| found |= r == reg);
    op.kind.blocks(&mut |b| found |= b.0.iter().any(|op| writes_inside(op, reg)));
    found
}

/// Whether there is any jump in a block.
fn jumps(block: &Block) -> bool {
    let mut jumps = false;
    block.visit(&mut |op| {
        jumps |= matches!(op.kind, OpKind::Exit { .. } | OpKind::Continue { .. } | OpKind::Return);
    });
    jumps
}

/// Whether nothing behind the operation is reached.
fn ends(op: &Op) -> bool {
    is_raise(op) || matches!(op.kind, OpKind::Return | OpKind::Exit { .. } | OpKind::Continue { .. })
}

fn is_raise(op: &Op) -> bool {
    matches!(op.kind, OpKind::Raise { level: Level::Exception, .. })
}

/// Whether the block, which has no handlers any more, ends in an error whenever it runs to an end.
fn raises(block: &Block) -> bool {
    for op in &block.0 {
        let always = match &op.kind {
            OpKind::If { then, otherwise, .. } => raises(then) && raises(otherwise),
            _ => is_raise(op),
        };
        if always {
            return true;
        }
        if leaves(op, &mut Vec::new()) {
            return false;
        }
    }
    false
}

/// Whether the operation may jump out of itself, other than by an error.
fn leaves(op: &Op, inside: &mut Vec<Label>) -> bool {
    match &op.kind {
        OpKind::Return => true,
        OpKind::Exit { label } | OpKind::Continue { label } => !inside.contains(label),
        kind => {
            let own = kind.label();
            inside.extend(own);
            let mut any = false;
            kind.blocks(&mut |b| any |= b.0.iter().any(|o| leaves(o, inside)));
            if own.is_some() {
                inside.pop();
            }
            any
        }
    }
}
