//! What of a program has no effect.
//!
//! * [`remove_dead`]: backward liveness over the structured regions; operations that feed nothing go.
//! * [`without_raises`]: errors, of a call that committed.

use planaria_ir::{Block, Label, Op, OpKind, Program, Reg};
use std::collections::{BTreeMap, BTreeSet};

/// Whether an operation does something beyond its registers and collections.
pub fn is_effect(kind: &OpKind) -> bool {
    matches!(
        kind,
        OpKind::Insert { .. }
            | OpKind::Update { .. }
            | OpKind::Delete { .. }
            | OpKind::Claim { .. }
            | OpKind::Draw { .. }
            | OpKind::NextValue { .. }
            | OpKind::CurrentValue { .. }
            | OpKind::SetValue { .. }
            | OpKind::Execute { .. }
            | OpKind::Keep { .. }
            | OpKind::Piece { .. }
            | OpKind::Raise { .. }
            | OpKind::Notify { .. }
            | OpKind::EndTransaction { .. }
    )
}

/// Regions within regions of a program that is cut: what the passes over them do grows with the square of it.
pub const NESTING_MAX: usize = 64;
/// Loops within loops: each of them is gone through at least twice for each turn of the one around it.
pub const LOOPS_MAX: usize = 8;
/// Operations of a program that is cut.
pub const OPERATIONS_MAX: usize = 20_000;

/// Whether the passes over a program end soon.
pub fn is_small(program: &Program) -> bool {
    fn count(block: &Block, level: usize, loops: usize, operations: &mut usize) -> bool {
        *operations += block.0.len();
        let mut small = level <= NESTING_MAX && loops <= LOOPS_MAX && *operations <= OPERATIONS_MAX;
        for op in &block.0 {
            if !small {
                break;
            }
            let turns = op.kind.label().is_some() && !matches!(op.kind, OpKind::Block { .. });
            let loops = loops + usize::from(turns);
            op.kind.blocks(&mut |inner| small = small && count(inner, level + 1, loops, operations));
        }
        small
    }
    count(&program.body, 0, 0, &mut 0)
}

/// Whether a block contains an effect.
pub fn has_effect(block: &Block) -> bool {
    let mut found = false;
    block.visit(&mut |op| found |= is_effect(&op.kind));
    found
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
    let mut dead = Dead { targets: BTreeMap::new(), removed: false };
    let none = Live { regs: vec![false; program.regs.len()], colls: vec![false; program.colls.len()] };
    loop {
        dead.removed = false;
        dead.block(&mut program.body, &mut none.clone(), true);
        if !dead.removed {
            let mut labels = BTreeSet::new();
            program.body.visit(&mut |op| labels.extend(op.kind.label()));
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
    /// Something was, since that was last asked. (Programs are not compared: a NaN in one is no equal of itself.)
    removed: bool,
}

impl Dead {
    /// `live`: after the block, then before it. Answers how many operations feed something; the others go if it is the `last`
    /// time that the block is gone through. (What turns is gone through until nothing more is live.)
    fn block(&mut self, block: &mut Block, live: &mut Live, last: bool) -> usize {
        let mut feeds: Vec<bool> = block.0.iter_mut().rev().map(|op| self.op(op, live, last)).collect();
        let count = feeds.iter().filter(|feeds| **feeds).count();
        if last && count < feeds.len() {
            self.removed = true;
            block.0.retain(|_| feeds.pop().unwrap_or(true));
        }
        count
    }

    fn op(&mut self, op: &mut Op, live: &mut Live, last: bool) -> bool {
        match &mut op.kind {
            OpKind::Exit { label } => {
                live.clone_from(&self.targets[label].exit);
                return true;
            }
            OpKind::Continue { label } => {
                live.clone_from(&self.targets[label].next);
                return true;
            }
            OpKind::Return => {
                live.regs.fill(false);
                live.colls.fill(false);
                return true;
            }
            OpKind::If { cond, then, otherwise } => {
                let mut other = live.clone();
                let feed = self.block(then, live, last) + self.block(otherwise, &mut other, last);
                live.add(&other);
                if feed == 0 {
                    return false;
                }
                live.regs[cond.index()] = true;
                return true;
            }
            _ => {}
        }
        if let Some(label) = op.kind.label() {
            return self.region(op, label, live, last);
        }
        let mut needed = is_effect(&op.kind);
        op.kind.writes(&mut |r| needed |= live.has(r));
        if let Some(coll) = op.kind.changed_collection() {
            needed |= live.colls[coll.index()];
        }
        if !needed {
            return false;
        }
        if last && let OpKind::Get { columns, .. } | OpKind::Load { columns, .. } = &mut op.kind {
            let before = columns.len();
            columns.retain(|(_, r)| live.has(*r));
            self.removed |= columns.len() < before;
        }
        // What is written only sometimes stays live; nothing is read by a `Clear`.
        let sometimes = matches!(op.kind, OpKind::MapGet { .. } | OpKind::ArraySet { .. });
        if !sometimes {
            op.kind.writes(&mut |r| live.regs[r.index()] = false);
        }
        op.kind.reads(&mut |r| live.regs[r.index()] = true);
        if let Some(coll) = op.kind.read_collection() {
            live.colls[coll.index()] = true;
        }
        true
    }

    fn region(&mut self, op: &mut Op, label: Label, live: &mut Live, last: bool) -> bool {
        if !needed(op, label, live) {
            return false;
        }
        let turns = !matches!(op.kind, OpKind::Block { .. });
        let entered_always = matches!(op.kind, OpKind::Block { .. } | OpKind::Loop { .. });
        let mut head = live.clone();
        if entered_always {
            head.regs.fill(false);
            head.colls.fill(false);
        }
        // What is live at the head of a loop is known when a turn adds nothing.
        let mut known = !turns;
        loop {
            self.targets.insert(label, Target { exit: live.clone(), next: head.clone() });
            let mut at = if turns { head.clone() } else { live.clone() };
            let ends = known && last;
            op.kind.blocks_mut(&mut |body| {
                self.block(body, &mut at, ends);
            });
            let wanted = at.clone();
            op.kind.writes(&mut |r| at.regs[r.index()] = false);
            let mut next = head.clone();
            next.add(&at);
            if turns && next != head {
                head = next;
                continue;
            }
            if last && !known {
                known = true;
                continue;
            }
            if last && let OpKind::Scan { columns, .. } = &mut op.kind {
                let before = columns.len();
                columns.retain(|(_, r)| wanted.has(*r) || live.has(*r));
                self.removed |= columns.len() < before;
            }
            let mut before = if entered_always { at } else { head };
            op.kind.reads(&mut |r| before.regs[r.index()] = true);
            if let Some(coll) = op.kind.read_collection() {
                before.colls[coll.index()] = true;
            }
            self.targets.remove(&label);
            *live = before;
            return true;
        }
    }
}

/// Whether a region does anything: has an effect, leaves an enclosing region, or writes what is live.
fn needed(op: &Op, label: Label, live: &Live) -> bool {
    let mut inside = vec![label];
    let mut needed = false;
    let mut body = &Block::default();
    op.kind.blocks(&mut |b| body = b);
    body.visit(&mut |op| inside.extend(op.kind.label()));
    op.kind.writes(&mut |r| needed |= live.has(r));
    body.visit(&mut |op| {
        needed |= is_effect(&op.kind) || matches!(op.kind, OpKind::Return);
        if let OpKind::Exit { label } | OpKind::Continue { label } = &op.kind {
            needed |= !inside.contains(label);
        }
        op.kind.writes(&mut |r| needed |= live.has(r));
        if let Some(coll) = op.kind.changed_collection() {
            needed |= live.colls[coll.index()];
        }
    });
    needed
}

/// The block without errors raised, which a call that committed never came to, without what it told others, and without
/// what only saves memory: what a call keeps is the same with it.
pub fn without_raises(block: Block) -> Block {
    let keep =
        |op: &Op| !matches!(op.kind, OpKind::Raise { .. } | OpKind::Notify { .. } | OpKind::Trim { .. });
    let ops = block.0.into_iter().filter(keep).map(|mut op| {
        op.kind.blocks_mut(&mut |b| *b = without_raises(std::mem::take(b)));
        op
    });
    Block(ops.collect())
}
