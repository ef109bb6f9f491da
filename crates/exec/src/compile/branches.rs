//! Branches on what a branch just before has decided: jump threading, on structured code.
//!
//! `SELECT .. INTO v` and `IF FOUND` are lowered one after the other, so that a flag is set in the branches of a first `If` and asked
//! by a second one. Where both ways through the first say which way the second takes, the branches of the second
//! move to the ends of those of the first, and what stands between them goes along:
//!
//! ```text
//! f = false
//! if found { v = x; f = true }          if found { } else { raise }
//! g = not(f)                       =>   v = x                        (what nobody reads is dropped later)
//! if g { raise }
//! ```
//!
//! Nothing but such small operations is copied. A branch whose condition is known becomes the way that is taken; and where one way
//! of a branch leaves the block, the other one goes on behind it, so that what it has read and computed is known there.

use super::simplify::lies_in_no_heap;
use planaria_base::{Datum, Level};
use planaria_ir::{Block, Func, Op, OpKind, Reg, StateSource};

/// Operations between two branches that are copied into both ways.
const BETWEEN_MAX: usize = 5;
/// Operations looked at ahead, for each of a program: nests and rows of thousands of branches are joined in part.
const STEPS_PER_OP: usize = 64;
/// Conditions that are remembered at a time; more are forgotten, the oldest first.
const FACTS_MAX: usize = 64;

/// What is known of a register.
#[derive(Clone, Copy, PartialEq, Debug)]
enum Truth {
    True,
    False,
    Null,
    /// False or NULL.
    NotTrue,
}

impl Truth {
    fn of(value: &Datum) -> Option<Truth> {
        match value {
            Datum::Bool(true) => Some(Truth::True),
            Datum::Bool(false) => Some(Truth::False),
            Datum::Null => Some(Truth::Null),
            _ => None,
        }
    }

    /// As the condition of a branch.
    fn holds(self) -> bool {
        self == Truth::True
    }

    /// What a function answers for it.
    fn through(self, func: Func) -> Option<Truth> {
        let exactly = |holds: bool| Some(if holds { Truth::True } else { Truth::False });
        match (func, self) {
            (Func::Not, Truth::Null) => Some(Truth::Null),
            (Func::Not, Truth::True | Truth::False) => exactly(self == Truth::False),
            (Func::IsNull, Truth::True | Truth::False | Truth::Null) => exactly(self == Truth::Null),
            (Func::IsNotNull, Truth::True | Truth::False | Truth::Null) => exactly(self != Truth::Null),
            (Func::IsTrue, _) => exactly(self == Truth::True),
            _ => None,
        }
    }
}

/// What is known at a point of the program.
#[derive(Clone, Default)]
struct Facts(Vec<(Reg, Truth)>);

impl Facts {
    fn get(&self, reg: Reg) -> Option<Truth> {
        self.0.iter().find(|(r, _)| *r == reg).map(|(_, truth)| *truth)
    }

    fn set(&mut self, reg: Reg, truth: Option<Truth>) {
        self.0.retain(|(r, _)| *r != reg);
        if let Some(truth) = truth {
            if self.0.len() == FACTS_MAX {
                self.0.remove(0);
            }
            self.0.push((reg, truth));
        }
    }

    /// The same where a branch on `cond` has been taken.
    fn branch(&self, cond: Reg, holds: bool) -> Facts {
        let mut facts = self.clone();
        if holds || self.get(cond).is_none() {
            facts.set(cond, Some(if holds { Truth::True } else { Truth::NotTrue }));
        }
        facts
    }

    /// Forgets what blocks inside of an operation write, and it itself.
    fn forget(&mut self, kind: &OpKind) {
        kind.writes(&mut |r| self.set(r, None));
        kind.blocks(&mut |block| block.visit(&mut |op| op.kind.writes(&mut |r| self.set(r, None))));
    }

    /// What holds here and there.
    fn both(mut self, other: &Facts) -> Facts {
        self.0.retain(|(reg, truth)| other.get(*reg) == Some(*truth));
        self
    }

    /// What an operation without blocks makes of it.
    fn step(&mut self, kind: &OpKind) {
        match kind {
            OpKind::Const { dst, value } => self.set(*dst, Truth::of(value)),
            OpKind::Copy { dst, src } => self.set(*dst, self.get(*src)),
            OpKind::Apply { dst, func, args } if args.len() == 1 => {
                self.set(*dst, self.get(args[0]).and_then(|truth| truth.through(*func)));
            }
            kind => self.forget(kind),
        }
    }
}

/// What is known where several ways meet; `None` is a way that does not come so far.
fn meet(ways: [Option<Facts>; 2]) -> Option<Facts> {
    match ways {
        [Some(one), Some(other)] => Some(one.both(&other)),
        [one, other] => one.or(other),
    }
}

/// Whether what stands behind it cannot be reached from it.
fn leaves(kind: &OpKind) -> bool {
    match kind {
        OpKind::Exit { .. } | OpKind::Continue { .. } | OpKind::Return => true,
        OpKind::Raise { level, state, .. } => {
            *level == Level::Exception || matches!(state, StateSource::Current)
        }
        _ => false,
    }
}

/// Whether the end of a block is not reached.
fn is_left(block: &Block) -> bool {
    match block.0.last().map(|op| &op.kind) {
        Some(OpKind::If { then, otherwise, .. }) => is_left(then) && is_left(otherwise),
        Some(kind) => leaves(kind),
        None => false,
    }
}

/// What is known at the end of a block, if that is reached. `steps` are taken from those that are left.
fn end(block: &Block, mut facts: Facts, steps: &mut usize) -> Option<Facts> {
    *steps = steps.saturating_sub(block.0.len());
    for op in &block.0 {
        match &op.kind {
            OpKind::If { cond, then, otherwise } => {
                let ways = [(then, true), (otherwise, false)];
                facts = meet(ways.map(|(way, holds)| end(way, facts.branch(*cond, holds), steps)))?;
            }
            kind if leaves(kind) => return None,
            kind => facts.step(kind),
        }
    }
    Some(facts)
}

/// Whether it may be copied: it is done in a moment, touches registers alone, and cannot fail.
fn is_small(kind: &OpKind) -> bool {
    match kind {
        OpKind::Const { value, .. } => lies_in_no_heap(value),
        OpKind::Copy { .. } => true,
        OpKind::Apply { func, .. } => {
            matches!(func, Func::Not | Func::IsNull | Func::IsNotNull | Func::IsTrue)
        }
        _ => false,
    }
}

/// Joins branches in a program's body.
pub(super) fn join(body: &mut Block) {
    let mut ops = 0;
    body.visit(&mut |_| ops += 1);
    within(body, Facts::default(), &mut (ops * STEPS_PER_OP));
}

/// The same in a block; what is known at its end, if that is reached.
fn within(block: &mut Block, mut facts: Facts, steps: &mut usize) -> Option<Facts> {
    let ops = &mut block.0;
    let mut at = 0;
    while at < ops.len() {
        while *steps > 0 && join_next(ops, at, &facts, steps) {}
        match &mut ops[at].kind {
            OpKind::If { cond, then, otherwise } => {
                if let Some(truth) = facts.get(*cond) {
                    let taken = std::mem::take(if truth.holds() { then } else { otherwise });
                    ops.splice(at..=at, taken.0);
                    continue;
                }
                let goes_on = match (is_left(then), is_left(otherwise)) {
                    (false, true) => std::mem::take(then),
                    (true, false) => std::mem::take(otherwise),
                    _ => Block::default(),
                };
                if !goes_on.0.is_empty() {
                    ops.splice(at + 1..at + 1, goes_on.0);
                    continue;
                }
                let ways = [(then, true), (otherwise, false)];
                let ends = ways.map(|(way, holds)| within(way, facts.branch(*cond, holds), steps));
                facts = meet(ends)?;
            }
            OpKind::Block { body, .. } => {
                within(body, facts.clone(), steps);
                facts.forget(&ops[at].kind);
            }
            kind if leaves(kind) => return None,
            kind => {
                // What is known in a turn of a loop, or in a handler, is what nothing inside changes.
                facts.step(kind);
                kind.blocks_mut(&mut |inner| {
                    within(inner, facts.clone(), steps);
                });
                if let OpKind::Copy { dst, .. } | OpKind::Apply { dst, .. } = kind
                    && let Some(truth @ (Truth::True | Truth::False)) = facts.get(*dst)
                {
                    *kind = OpKind::Const { dst: *dst, value: Datum::Bool(truth.holds()) };
                }
            }
        }
        at += 1;
    }
    Some(facts)
}

/// Joins the branch at `at` with the next one, if both its ways say how that is decided, and differently.
fn join_next(ops: &mut Vec<Op>, at: usize, facts: &Facts, steps: &mut usize) -> bool {
    let OpKind::If { cond, then, otherwise } = &ops[at].kind else { return false };
    let between = ops[at + 1..].iter().take_while(|op| is_small(&op.kind)).take(BETWEEN_MAX).count();
    let next = at + 1 + between;
    let Some(OpKind::If { cond: asked, .. }) = ops.get(next).map(|op| &op.kind) else { return false };
    let mut decided = |way: &Block, holds: bool| -> Option<bool> {
        let mut facts = end(way, facts.branch(*cond, holds), steps)?;
        ops[at + 1..next].iter().for_each(|op| facts.step(&op.kind));
        facts.get(*asked).map(Truth::holds)
    };
    let (Some(on_then), Some(on_otherwise)) = (decided(then, true), decided(otherwise, false)) else {
        return false;
    };
    if on_then == on_otherwise {
        return false;
    }
    let mut between: Vec<Op> = ops.drain(at + 1..=next).collect();
    let Some(OpKind::If { then: mut one, otherwise: mut other, .. }) = between.pop().map(|op| op.kind) else {
        unreachable!("it was a branch");
    };
    if !on_then {
        std::mem::swap(&mut one, &mut other);
    }
    if let OpKind::If { then, otherwise, .. } = &mut ops[at].kind {
        then.0.extend(between.iter().cloned().chain(one.0));
        otherwise.0.extend(between.into_iter().chain(other.0));
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The body of a program afterwards.
    fn joined(ops: &str) -> String {
        let text = format!(
            "procedure p\n  reg x: int8\n  reg c: bool\n  reg d: bool\n  reg f: bool\n  reg g: bool\n  reg h: bool\n  reg v: int8\n  reg t: text\n  reg u: text\n  reg r: row t0\n  reg y: int8\n  param in x: int8 = x\n  param in c: bool = c\n  param in d: bool = d\n  labels 3\nbegin\n{ops}end\n"
        );
        let mut program = planaria_ir::text::parse(&text).expect("a program");
        join(&mut program.body);
        let text = program.to_string();
        text[text.find("begin").expect("a body")..].replace("  ", "").replace('\n', "; ")
    }

    #[test]
    fn a_flag_that_one_branch_sets_decides_the_next() {
        let ops = "  f = const false\n  get t0.i0 (x) -> r, c0 = y\n  h = is.notnull(r)\n  if h {\n    v = copy y\n    f = const true\n  }\n  g = not(f)\n  if g {\n    raise exception 'P0002' t\n  }\n  piece 0 (v)\n";
        assert_eq!(
            joined(ops),
            "begin; f = const false; get t0.i0 (x) -> r, c0 = y; h = is.notnull(r); if h {; } else {; g = const true; raise exception 'P0002' t; }; v = copy y; f = const true; g = const false; piece 0 (v); end; "
        );
    }

    #[test]
    fn a_way_that_is_left_decides_nothing() {
        // Behind the first branch `f` is true on every way that comes so far.
        let ops = "  f = const false\n  if c {\n    f = const true\n  } else {\n    return\n  }\n  if f {\n    piece 0 (x)\n  } else {\n    piece 1 (x)\n  }\n";
        assert_eq!(
            joined(ops),
            "begin; f = const false; if c {; } else {; return; }; f = const true; piece 0 (x); end; "
        );
    }

    #[test]
    fn what_is_not_known_on_one_way_stays() {
        let ops =
            "  if c {\n    f = const true\n  } else {\n    f = copy d\n  }\n  if f {\n    piece 0 (x)\n  }\n";
        assert_eq!(joined(ops), format!("begin; {}end; ", ops.replace("  ", "").replace('\n', "; ")));
    }

    #[test]
    fn a_condition_that_is_asked_again_is_known_in_its_branches() {
        let ops = "  if c {\n    if c {\n      piece 0 (x)\n    }\n  } else {\n    if c {\n      piece 1 (x)\n    } else {\n      piece 2 (x)\n    }\n  }\n";
        assert_eq!(joined(ops), "begin; if c {; piece 0 (x); } else {; piece 2 (x); }; end; ");
        // NOT of what is false or NULL may be NULL, too.
        let ops = "  if c {\n    piece 0 (x)\n  }\n  g = not(c)\n  if g {\n    piece 1 (x)\n  }\n";
        assert!(joined(ops).contains("if g {"), "{}", joined(ops));
    }

    #[test]
    fn what_a_loop_changes_is_not_known_in_it() {
        let ops = "  f = const true\n  loop l0 {\n    if f {\n      piece 0 (x)\n    } else {\n      exit l0\n    }\n    f = copy c\n  }\n";
        assert!(joined(ops).contains("if f {"), "{}", joined(ops));
        let ops = "  f = const true\n  loop l0 {\n    if f {\n      exit l0\n    }\n    piece 0 (x)\n  }\n";
        assert!(!joined(ops).contains("if f {"), "{}", joined(ops));
    }

    #[test]
    fn a_block_that_is_left_may_leave_everything_as_it_was() {
        let ops = "  f = const false\n  block l1 {\n    if c {\n      exit l1\n    }\n    f = const true\n  }\n  if f {\n    piece 0 (x)\n  }\n";
        assert!(joined(ops).contains("if f {"), "{}", joined(ops));
    }

    #[test]
    fn what_an_error_leaves_behind_is_not_known_in_its_handler() {
        let ops = "  f = const false\n  try {\n    f = const true\n    y = int8.add(x, x)\n    f = const false\n  } handle others -> (t, u) {\n    if f {\n      piece 0 (x)\n    }\n  }\n";
        assert!(joined(ops).contains("if f {"), "{}", joined(ops));
    }
}
