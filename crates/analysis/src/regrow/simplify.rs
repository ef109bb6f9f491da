//! What is known of a call that committed, and what of it has no effect.
//!
//! * [`as_replayed`]: a logged call committed and no exception handler of it ran (a call in which one
//!   ran is logged by its effects), so a branch that can only raise was not taken, and an exception
//!   block is its body. Messages and answers are not replayed.
//! * [`remove_dead`]: backward liveness over the structured regions; operations that feed nothing go.

use planaria_base::Datum;
use planaria_ir::{Block, Coll, Func, Label, Level, Op, OpKind, Program, Reg};
use std::collections::{BTreeMap, BTreeSet};

/// The body without guards, handlers, messages and answers.
pub fn as_replayed(program: &Program) -> Block {
    Replayed { constants: constants(program) }.block(&program.body)
}

/// Boolean registers that are written once, by a constant.
fn constants(program: &Program) -> BTreeMap<Reg, bool> {
    let mut writes: BTreeMap<Reg, u32> = BTreeMap::new();
    let mut constants = BTreeMap::new();
    program.body.visit(&mut |op| {
        op.kind.writes(&mut |r| *writes.entry(r).or_default() += 1);
        if let OpKind::Const { dst, value: Datum::Bool(value) } = &op.kind {
            constants.insert(*dst, *value);
        }
    });
    constants.retain(|r, _| writes[r] == 1 && !program.params.iter().any(|p| p.reg == *r));
    constants
}

/// What a guard says of a condition, by having let the call pass.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Known {
    True,
    NotTrue,
    NotFalse,
}

struct Replayed {
    constants: BTreeMap<Reg, bool>,
}

impl Replayed {
    fn block(&self, block: &Block) -> Block {
        let mut out: Vec<Op> = Vec::new();
        for op in &block.0 {
            match &op.kind {
                OpKind::Try { body, .. } => out.extend(self.block(body).0),
                OpKind::If { cond, then, otherwise } => {
                    let (then, otherwise) = (self.block(then), self.block(otherwise));
                    if always_raises(&then) {
                        self.assume(&mut out, *cond, Known::NotTrue);
                        out.extend(otherwise.0);
                    } else if always_raises(&otherwise) {
                        self.assume(&mut out, *cond, Known::True);
                        out.extend(then.0);
                    } else {
                        out.push(Op { kind: OpKind::If { cond: *cond, then, otherwise }, ..*op });
                    }
                }
                OpKind::Raise { level, .. } if *level != Level::Exception => {}
                OpKind::Emit { .. } => {}
                kind => {
                    let mut kind = kind.clone();
                    kind.blocks_mut(&mut |b| *b = self.block(b));
                    out.push(Op { kind, ..*op });
                }
            }
        }
        Block(out)
    }

    /// The operations before a guard, knowing what it says of `reg`: a branch in which the register
    /// became something else was not taken.
    fn assume(&self, ops: &mut Vec<Op>, reg: Reg, known: Known) {
        let Some(at) = ops.iter().rposition(|op| writes_inside(op, reg)) else { return };
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
                if leaves(then) || leaves(otherwise) {
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

/// Whether control may leave a block other than by its end.
fn leaves(block: &Block) -> bool {
    let mut leaves = false;
    block.visit(&mut |op| {
        leaves |= matches!(op.kind, OpKind::Exit { .. } | OpKind::Continue { .. } | OpKind::Return);
    });
    leaves
}

/// Whether every way through the block ends in an error.
fn always_raises(block: &Block) -> bool {
    !leaves(block)
        && match block.0.last().map(|op| &op.kind) {
            Some(OpKind::Raise { .. }) => true,
            Some(OpKind::If { then, otherwise, .. }) => always_raises(then) && always_raises(otherwise),
            _ => false,
        }
}

/// Whether an operation does something beyond its registers and collections.
pub fn is_effect(kind: &OpKind) -> bool {
    matches!(
        kind,
        OpKind::Insert { .. }
            | OpKind::Update { .. }
            | OpKind::Delete { .. }
            | OpKind::Draw { .. }
            | OpKind::NextValue { .. }
            | OpKind::CurrentValue { .. }
            | OpKind::SetValue { .. }
            | OpKind::Execute { .. }
            | OpKind::Keep { .. }
            | OpKind::Piece { .. }
            | OpKind::Raise { .. }
    )
}

/// Whether a block contains an effect.
pub fn has_effect(block: &Block) -> bool {
    let mut found = false;
    block.visit(&mut |op| found |= is_effect(&op.kind));
    found
}

/// The label of a loop-like operation.
pub fn label_of(kind: &OpKind) -> Option<Label> {
    match kind {
        OpKind::Loop { label, .. }
        | OpKind::Block { label, .. }
        | OpKind::Scan { label, .. }
        | OpKind::ForEach { label, .. }
        | OpKind::ForMatches { label, .. } => Some(*label),
        _ => None,
    }
}

/// The collection an operation changes.
pub fn changed_collection(kind: &OpKind) -> Option<Coll> {
    match kind {
        OpKind::Clear { coll }
        | OpKind::Push { coll, .. }
        | OpKind::Sort { coll, .. }
        | OpKind::MapPut { coll, .. }
        | OpKind::SetEntry { coll, .. } => Some(*coll),
        OpKind::CallSet { into, .. } => Some(*into),
        OpKind::Execute { rows, .. } => *rows,
        _ => None,
    }
}

/// The collection an operation looks into.
pub fn read_collection(kind: &OpKind) -> Option<Coll> {
    match kind {
        OpKind::Len { coll, .. }
        | OpKind::MapGet { coll, .. }
        | OpKind::ForEach { coll, .. }
        | OpKind::ForMatches { coll, .. } => Some(*coll),
        _ => None,
    }
}

#[derive(Clone, PartialEq, Eq)]
struct Live {
    regs: Vec<bool>,
    colls: Vec<bool>,
}

impl Live {
    fn add(&mut self, other: &Live) {
        self.regs.iter_mut().zip(&other.regs).for_each(|(a, b)| *a |= b);
        self.colls.iter_mut().zip(&other.colls).for_each(|(a, b)| *a |= b);
    }
    fn has(&self, reg: Reg) -> bool {
        self.regs[reg.index()]
    }
}

/// Removes what feeds no effect. The program's answer counts as nothing; `outs` are cleared.
pub fn remove_dead(program: &mut Program) {
    program.outs.clear();
    program.outputs.clear();
    program.row_count = None;
    let mut dead = Dead { targets: BTreeMap::new() };
    let none = Live { regs: vec![false; program.regs.len()], colls: vec![false; program.colls.len()] };
    loop {
        let before = program.body.clone();
        let mut live = none.clone();
        let body = std::mem::take(&mut program.body);
        program.body = dead.block(body, &mut live);
        if program.body == before {
            let mut labels = BTreeSet::new();
            program.body.visit(&mut |op| labels.extend(label_of(&op.kind)));
            program.inlined.retain(|label, _| labels.contains(label));
            return;
        }
    }
}

/// What is live where a region is left, and where it starts its next turn.
struct Target {
    exit: Live,
    next: Live,
}

struct Dead {
    targets: BTreeMap<Label, Target>,
}

impl Dead {
    /// `live`: after the block, then before it.
    fn block(&mut self, block: Block, live: &mut Live) -> Block {
        let mut out = Vec::new();
        for op in block.0.into_iter().rev() {
            if let Some(op) = self.op(op, live) {
                out.push(op);
            }
        }
        out.reverse();
        Block(out)
    }

    fn op(&mut self, mut op: Op, live: &mut Live) -> Option<Op> {
        match &mut op.kind {
            OpKind::Exit { label } => {
                live.clone_from(&self.targets[label].exit);
                return Some(op);
            }
            OpKind::Continue { label } => {
                live.clone_from(&self.targets[label].next);
                return Some(op);
            }
            OpKind::Return => {
                live.regs.fill(false);
                live.colls.fill(false);
                return Some(op);
            }
            OpKind::If { cond, then, otherwise } => {
                let mut other = live.clone();
                *then = self.block(std::mem::take(then), live);
                *otherwise = self.block(std::mem::take(otherwise), &mut other);
                live.add(&other);
                if then.0.is_empty() && otherwise.0.is_empty() {
                    return None;
                }
                live.regs[cond.index()] = true;
                return Some(op);
            }
            _ => {}
        }
        if let Some(label) = label_of(&op.kind) {
            return self.region(op, label, live);
        }
        let mut needed = is_effect(&op.kind);
        op.kind.writes(&mut |r| needed |= live.has(r));
        if let Some(coll) = changed_collection(&op.kind) {
            needed |= live.colls[coll.index()];
        }
        if !needed {
            return None;
        }
        if let OpKind::Get { columns, .. } | OpKind::Load { columns, .. } = &mut op.kind {
            columns.retain(|(_, r)| live.has(*r));
        }
        // What is written only sometimes stays live; nothing is read by a `Clear`.
        let sometimes = matches!(op.kind, OpKind::MapGet { .. } | OpKind::ArraySet { .. });
        if !sometimes {
            op.kind.writes(&mut |r| live.regs[r.index()] = false);
        }
        op.kind.reads(&mut |r| live.regs[r.index()] = true);
        if let Some(coll) = read_collection(&op.kind) {
            live.colls[coll.index()] = true;
        }
        Some(op)
    }

    fn region(&mut self, mut op: Op, label: Label, live: &mut Live) -> Option<Op> {
        if !needed(&op, label, live) {
            return None;
        }
        let turns = !matches!(op.kind, OpKind::Block { .. });
        let entered_always = matches!(op.kind, OpKind::Block { .. } | OpKind::Loop { .. });
        let mut head = live.clone();
        if entered_always {
            head.regs.fill(false);
            head.colls.fill(false);
        }
        loop {
            self.targets.insert(label, Target { exit: live.clone(), next: head.clone() });
            let mut at = if turns { head.clone() } else { live.clone() };
            let mut body = Block::default();
            op.kind.blocks(&mut |b| body = b.clone());
            let body = self.block(body, &mut at);
            let wanted = at.clone();
            op.kind.writes(&mut |r| at.regs[r.index()] = false);
            let mut next = head.clone();
            next.add(&at);
            if !turns || next == head {
                if let OpKind::Scan { columns, .. } = &mut op.kind {
                    columns.retain(|(_, r)| wanted.has(*r) || live.has(*r));
                }
                let mut kept = body;
                op.kind.blocks_mut(&mut |b| std::mem::swap(b, &mut kept));
                let mut before = if entered_always { at } else { head };
                op.kind.reads(&mut |r| before.regs[r.index()] = true);
                if let Some(coll) = read_collection(&op.kind) {
                    before.colls[coll.index()] = true;
                }
                self.targets.remove(&label);
                *live = before;
                return Some(op);
            }
            head = next;
        }
    }
}

/// Whether a region does anything: has an effect, leaves an enclosing region, or writes what is live.
fn needed(op: &Op, label: Label, live: &Live) -> bool {
    let mut inside = vec![label];
    let mut needed = false;
    let mut body = &Block::default();
    op.kind.blocks(&mut |b| body = b);
    body.visit(&mut |op| inside.extend(label_of(&op.kind)));
    op.kind.writes(&mut |r| needed |= live.has(r));
    body.visit(&mut |op| {
        needed |= is_effect(&op.kind) || matches!(op.kind, OpKind::Return);
        if let OpKind::Exit { label } | OpKind::Continue { label } = &op.kind {
            needed |= !inside.contains(label);
        }
        op.kind.writes(&mut |r| needed |= live.has(r));
        if let Some(coll) = changed_collection(&op.kind) {
            needed |= live.colls[coll.index()];
        }
    });
    needed
}

/// The block without errors raised: a call that committed never came to them.
pub fn without_raises(block: Block) -> Block {
    let keep = |op: &Op| !matches!(op.kind, OpKind::Raise { .. });
    let ops = block.0.into_iter().filter(keep).map(|mut op| {
        op.kind.blocks_mut(&mut |b| *b = without_raises(std::mem::take(b)));
        op
    });
    Block(ops.collect())
}
