//! Writes that nobody reads: what computes a value that is written again, or not asked for any more, before anything reads it.
//!
//! A walk backwards through the program says which registers are *live*: read on some way from here before they are written. Turns
//! of loops are walked until nothing is added. An error may go from anywhere in a `Try` to its handlers, with
//! registers as they are then: within it, what the handlers read is live throughout.

use super::again::Again;
use super::simplify::{Uses, is_removable};
use planaria_ir::{Block, Label, Op, OpKind, Program, Reg};
use std::collections::HashMap;

/// Steps that a program is worth: operations times words of registers, times walks. Beyond that writes stay.
const STEPS_MAX: usize = 20_000_000;
const WALKS_MAX: usize = 24;

/// A set of registers.
#[derive(Clone, PartialEq, Default)]
struct Set(Vec<u64>);

impl Set {
    fn new(regs: usize) -> Set {
        Set(vec![0; regs.div_ceil(64)])
    }
    fn has(&self, reg: Reg) -> bool {
        self.0[reg.index() / 64] >> (reg.index() % 64) & 1 != 0
    }
    fn add(&mut self, reg: Reg) {
        self.0[reg.index() / 64] |= 1 << (reg.index() % 64);
    }
    fn take(&mut self, reg: Reg) {
        self.0[reg.index() / 64] &= !(1 << (reg.index() % 64));
    }
    fn add_all(&mut self, other: &Set) {
        self.0.iter_mut().zip(&other.0).for_each(|(a, b)| *a |= b);
    }
}

/// Drops writes that nobody reads from a program; `again` are lookups that find with an earlier one.
pub(super) fn drop_unread(program: &mut Program, again: &Again) {
    let mut ops = 0;
    program.body.visit(&mut |_| ops += 1);
    let regs = program.regs.len();
    if ops * (regs.div_ceil(64) + 8) * 4 > STEPS_MAX || !is_written_again(program) {
        return;
    }
    let mut answer = Set::new(regs);
    program.outs.iter().chain(&program.row_count).for_each(|r| answer.add(*r));
    let mut body = std::mem::take(&mut program.body);
    let mut walk = Walk {
        answer,
        again,
        exits: HashMap::new(),
        turns: HashMap::new(),
        handled: Set::new(regs),
        grown: false,
        drops: false,
    };
    for _ in 0..WALKS_MAX {
        walk.grown = false;
        walk.block(&mut body, walk.answer.clone());
        if !walk.grown {
            walk.drops = true;
            walk.block(&mut body, walk.answer.clone());
            break;
        }
    }
    program.body = body;
}

/// Whether there is anything that the counts of [`Uses`] do not say.
fn is_written_again(program: &Program) -> bool {
    let uses = Uses::of(program);
    uses.reads.iter().zip(&uses.writes).any(|(reads, writes)| *reads > 0 && *writes > 1)
}

struct Walk<'p> {
    /// What is read where the program ends.
    answer: Set,
    again: &'p Again,
    /// What is live where a region with this label is left.
    exits: HashMap<Label, Set>,
    /// What is live where a turn of it begins, so far.
    turns: HashMap<Label, Set>,
    /// What handlers around read.
    handled: Set,
    /// Whether a turn has been found to read more.
    grown: bool,
    /// Whether writes are dropped now.
    drops: bool,
}

impl Walk<'_> {
    /// What is live at a block's beginning, of what is at its end.
    fn block(&mut self, block: &mut Block, mut live: Set) -> Set {
        let mut at = block.0.len();
        while at > 0 {
            at -= 1;
            live.add_all(&self.handled);
            if self.drops && self.is_dropped(&mut block.0[at], &live) {
                block.0.remove(at);
                continue;
            }
            live = self.op(&mut block.0[at], live);
        }
        live.add_all(&self.handled);
        live
    }

    /// Whether nobody reads what it writes; columns that nobody reads are dropped.
    fn is_dropped(&self, op: &mut Op, live: &Set) -> bool {
        if self.again.contains_key(&op.id) {
            return false;
        }
        let mut read = false;
        op.kind.writes(&mut |r| read |= live.has(r));
        if !read && is_removable(&op.kind) {
            return true;
        }
        if let OpKind::Get { columns, .. } | OpKind::Load { columns, .. } = &mut op.kind {
            columns.retain(|(_, r)| live.has(*r));
        }
        false
    }

    /// What is live before an operation, of what is behind it.
    fn op(&mut self, op: &mut Op, mut live: Set) -> Set {
        match &mut op.kind {
            OpKind::If { cond, then, otherwise } => {
                let mut before = self.block(then, live.clone());
                before.add_all(&self.block(otherwise, live));
                before.add(*cond);
                before
            }
            OpKind::Block { label, body } => {
                self.exits.insert(*label, live.clone());
                self.block(body, live)
            }
            OpKind::Loop { label, body } => {
                self.exits.insert(*label, live.clone());
                let turn = self.turn(*label, &live);
                let begins = self.block(body, turn);
                self.begins(*label, &begins);
                begins
            }
            kind @ (OpKind::Scan { .. } | OpKind::ForEach { .. } | OpKind::ForMatches { .. }) => {
                let label = kind.label().unwrap_or(Label(u32::MAX));
                self.exits.insert(label, live.clone());
                self.turn(label, &live);
                // Behind the last row comes what is behind all.
                self.begins(label, &live);
                let turn = self.turn(label, &live);
                let mut begins = Set::default();
                kind.blocks_mut(&mut |body| begins = self.block(body, turn.clone()));
                kind.writes(&mut |r| begins.take(r));
                self.begins(label, &begins);
                // There may be no turn at all, which writes nothing.
                live.add_all(&begins);
                kind.reads(&mut |r| live.add(r));
                live
            }
            OpKind::Try { body, handlers } => {
                let around = self.handled.clone();
                for handler in handlers {
                    let mut read = self.block(&mut handler.body, live.clone());
                    read.take(handler.sqlstate);
                    read.take(handler.sqlerrm);
                    handler.diagnostics.iter().for_each(|(_, r)| read.take(*r));
                    read.add_all(&around);
                    self.handled.add_all(&read);
                }
                let before = self.block(body, live);
                self.handled = around;
                before
            }
            OpKind::Exit { label } => self.exits.get(label).cloned().unwrap_or(live),
            OpKind::Continue { label } => self.turns.get(label).cloned().unwrap_or(live),
            OpKind::Return => self.answer.clone(),
            kind => {
                // An array is changed in place; what an earlier lookup has read already is not written again.
                let stays = matches!(kind, OpKind::ArraySet { .. }) || self.again.contains_key(&op.id);
                if !stays {
                    kind.writes(&mut |r| live.take(r));
                }
                kind.reads(&mut |r| live.add(r));
                if let Some(row) = self.again.get(&op.id) {
                    live.add(*row);
                }
                live
            }
        }
    }

    /// What is live where the next turn begins.
    fn turn(&mut self, label: Label, like: &Set) -> Set {
        self.turns.entry(label).or_insert_with(|| Set(vec![0; like.0.len()])).clone()
    }

    /// A turn reads these.
    fn begins(&mut self, label: Label, begins: &Set) {
        if let Some(known) = self.turns.get_mut(&label) {
            let before = known.clone();
            known.add_all(begins);
            self.grown |= *known != before;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The body of a program afterwards.
    fn left(ops: &str) -> String {
        let text = format!(
            "procedure p\n  reg x: int8\n  reg c: bool\n  reg a: int8\n  reg b: int8\n  reg s: text\n  reg m: text\n  reg r: row t0\n  reg q: row t0\n  reg y: int8\n  param in x: int8 = x\n  param in c: bool = c\n  outs (b)\n  labels 3\nbegin\n{ops}end\n"
        );
        let mut program = planaria_ir::text::parse(&text).expect("a program");
        program.renumber();
        drop_unread(&mut program, &Again::new());
        let text = program.to_string();
        text[text.find("begin").expect("a body")..].replace("  ", "").replace('\n', "; ")
    }

    fn stays(ops: &str) {
        assert_eq!(left(ops), format!("begin; {}end; ", ops.replace("  ", "").replace('\n', "; ")));
    }

    #[test]
    fn what_is_written_again_is_not_written_before() {
        let ops = "  a = copy x\n  b = copy a\n  a = const 1\n  if c {\n    a = const 2\n  } else {\n    a = const 3\n  }\n  piece 0 (a)\n  a = const 4\n";
        assert_eq!(
            left(ops),
            "begin; a = copy x; b = copy a; if c {; a = const 2; } else {; a = const 3; }; piece 0 (a); end; "
        );
        stays("  a = const 1\n  if c {\n    a = const 2\n  }\n  piece 0 (a)\n  a = copy x\n  b = copy a\n");
    }

    #[test]
    fn what_the_next_turn_reads_stays() {
        stays(
            "  a = const 1\n  loop l0 {\n    if c {\n      exit l0\n    }\n    piece 0 (a)\n    a = copy x\n    b = copy a\n  }\n",
        );
        stays(
            "  a = const 1\n  loop l0 {\n    if c {\n      a = const 2\n      continue l0\n    }\n    piece 0 (a)\n    exit l0\n  }\n",
        );
        let ops = "  a = const 1\n  loop l0 {\n    a = const 2\n    piece 0 (a)\n    if c {\n      exit l0\n    }\n    a = const 3\n  }\n";
        assert_eq!(left(ops), "begin; loop l0 {; a = const 2; piece 0 (a); if c {; exit l0; }; }; end; ");
    }

    #[test]
    fn a_scan_may_have_no_row() {
        stays("  a = const 1\n  scan t0.i0 () -> r, c0 = a as l1 {\n    piece 0 (a)\n  }\n  piece 1 (a)\n");
    }

    #[test]
    fn what_a_handler_reads_stays() {
        let ops = "  try {\n    a = const 1\n    y = int8.add(x, x)\n    a = const 2\n    y = int8.add(y, x)\n    a = const 3\n  } handle others -> (s, m) {\n    piece 0 (a)\n  }\n  a = copy x\n  b = copy a\n  a = const 4\n";
        assert_eq!(
            left(ops),
            format!(
                "begin; {}end; ",
                ops.replace("  a = const 4\n", "").replace("  ", "").replace('\n', "; ")
            )
        );
    }

    #[test]
    fn what_answers_is_read_at_every_return() {
        stays(
            "  a = const 1\n  b = copy a\n  if c {\n    return\n  }\n  b = const 2\n  a = copy x\n  piece 0 (a)\n",
        );
    }

    #[test]
    fn columns_that_are_written_again_are_not_read() {
        let ops = "  get t0.i0 (x) -> r, c0 = y, c1 = a\n  a = const 1\n  piece 0 (y, a)\n";
        assert_eq!(left(ops), "begin; get t0.i0 (x) -> r, c0 = y; a = const 1; piece 0 (y, a); end; ");
    }
}
