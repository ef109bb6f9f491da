//! Simplification of a program before it is lowered: what lowering SQL leaves behind.
//!
//! Before it is lowered to code ([`simplify`]), in this order: functions and casts of constants are computed; what is computed or looked up again is found (`again`); reads of
//! a copy become reads of its original while both are the same; what computes a value that nobody reads is dropped, columns of
//! rows included; constants that are made at run time move to where they are needed (`constants`). Before it is lowered to another
//! form ([`for_all_forms`]): what of that holds whatever the form is, and branches whose condition is known.
//!
//! Registers are mutable, so a constant is known only where its register is *settled*: written once
//! in the whole program, and before it is read. The verifier vouches for the latter but for named
//! registers, the variables, which may be read as NULL before.

use super::again::{self, Again};
use crate::functions;
use planaria_base::{Datum, Type};
use planaria_ir::{Block, Func, Label, Op, OpKind, Program, ReadMode, Reg, StateSource};
use std::collections::HashMap;

/// Texts longer than this are made anew at run time rather than kept in the code.
const FOLDED_BYTES_MAX: usize = 16 << 10;

/// How often each register is read and written.
#[derive(Default, Debug)]
pub(super) struct Uses {
    pub reads: Vec<u32>,
    pub writes: Vec<u32>,
    /// Written once, before every read.
    pub settled: Vec<bool>,
    /// Read by more than questions whether it is NULL.
    pub taken: Vec<bool>,
}

impl Uses {
    pub fn of(program: &Program) -> Uses {
        let count = program.regs.len();
        let mut uses = Uses {
            reads: vec![0; count],
            writes: vec![0; count],
            settled: vec![false; count],
            ..Uses::default()
        };
        for param in &program.params {
            uses.writes[param.reg.index()] += 1;
        }
        let answer = || program.outs.iter().chain(&program.row_count);
        answer().for_each(|r| uses.reads[r.index()] += 1);
        uses.straight(&program.body, &mut Vec::new(), &mut true);
        for (r, decl) in program.regs.iter().enumerate() {
            uses.settled[r] = uses.writes[r] == 1 && (uses.settled[r] || decl.name.is_none());
        }
        // What answers is read wherever the program returns: no operation says so.
        answer().for_each(|r| uses.settled[r.index()] = false);
        uses
    }

    /// Counts a block that runs once, from its beginning to its end as long as `whole`: no `Exit` of
    /// one of the blocks around it has been seen. What it writes is settled if not read so far.
    fn straight(&mut self, block: &Block, labels: &mut Vec<Label>, whole: &mut bool) {
        for op in &block.0 {
            if let OpKind::Block { label, body } = &op.kind {
                labels.push(*label);
                self.straight(body, labels, whole);
                continue;
            }
            op.kind.reads(&mut |r| self.reads[r.index()] += 1);
            op.kind.writes(&mut |r| {
                self.settled[r.index()] = *whole && self.reads[r.index()] == 0;
                self.writes[r.index()] += 1;
            });
            op.kind.blocks(&mut |b| {
                b.visit(&mut |inner| {
                    if let OpKind::Exit { label } = inner.kind {
                        *whole &= !labels.contains(&label);
                    }
                    inner.kind.reads(&mut |r| self.reads[r.index()] += 1);
                    inner.kind.writes(&mut |r| self.writes[r.index()] += 1);
                });
            });
            if matches!(op.kind, OpKind::Exit { .. } | OpKind::Return) {
                *whole = false;
            }
        }
    }
}

/// Simplifies a program, which may look ahead in the block of this label; returns the uses that are left, and the lookups that
/// are made again.
pub(super) fn simplify(program: &mut Program, ahead: Option<Label>) -> (Uses, Again) {
    fold_constants(program, true);
    let again = again::find(program, ahead);
    let mut originals = Vec::new();
    forward_copies(&mut program.body, &mut originals);
    let mut uses = Uses::of(program);
    // A row that was found is found again by its register.
    again.values().for_each(|r| uses.reads[r.index()] += 1);
    while sweep(&mut program.body, &mut uses) {}
    super::constants::place(&mut program.body, &mut uses);
    uses.taken = taken(program);
    again.values().for_each(|r| uses.taken[r.index()] = true);
    (uses, again)
}

/// Folds constants, finds what is computed again, forwards copies, drops what nobody reads, and decides branches whose condition is
/// known. Lookups are not merged, and what lies in a heap is not folded: it would be made where a copy was enough.
pub(super) fn for_all_forms(program: &mut Program) {
    fold_constants(program, false);
    decide(program);
    again::find_values(program);
    forward_copies(&mut program.body, &mut Vec::new());
    let mut uses = Uses::of(program);
    while sweep(&mut program.body, &mut uses) {}
}

/// Puts the way that is taken in the place of each branch whose condition is a constant.
fn decide(program: &mut Program) {
    fn within(block: &mut Block, known: &HashMap<Reg, bool>) {
        let mut ops = Vec::with_capacity(block.0.len());
        for mut op in std::mem::take(&mut block.0) {
            op.kind.blocks_mut(&mut |inner| within(inner, known));
            match op.kind {
                OpKind::If { cond, then, otherwise } if known.contains_key(&cond) => {
                    ops.extend(if known[&cond] { then.0 } else { otherwise.0 });
                }
                kind => ops.push(Op { kind, ..op }),
            }
        }
        block.0 = ops;
    }
    let settled = Uses::of(program).settled;
    let mut known = HashMap::new();
    program.body.visit(&mut |op| {
        if let OpKind::Const { dst, value: value @ (Datum::Bool(_) | Datum::Null) } = &op.kind
            && settled[dst.index()]
        {
            known.insert(*dst, *value == Datum::Bool(true));
        }
    });
    within(&mut program.body, &known);
}

fn taken(program: &Program) -> Vec<bool> {
    let mut taken = vec![false; program.regs.len()];
    program.outs.iter().chain(&program.row_count).for_each(|r| taken[r.index()] = true);
    program.body.visit(&mut |op| {
        if !matches!(op.kind, OpKind::Apply { func: Func::IsNull | Func::IsNotNull, .. }) {
            op.kind.reads(&mut |r| taken[r.index()] = true);
        }
    });
    taken
}

/// Computes functions and casts whose arguments are all constant. `texts`: also where the outcome lies in the heap.
fn fold_constants(program: &mut Program, texts: bool) {
    let settled = Uses::of(program).settled;
    let once = |r: Reg| settled[r.index()];
    let mut known: Vec<Option<Datum>> = vec![None; program.regs.len()];
    let mut body = std::mem::take(&mut program.body);
    body.visit_mut(&mut |op| {
        let folded = match &op.kind {
            OpKind::Const { dst, value } if once(*dst) => {
                known[dst.index()] = Some(value.clone());
                return;
            }
            OpKind::Copy { dst, src } if once(*dst) => known[src.index()].clone().map(|v| (*dst, v)),
            // Which time zone and styles count is known when it runs.
            OpKind::Apply { func, .. } if func.reads_zone() => None,
            OpKind::Apply { dst, func, args } if once(*dst) => {
                let args: Option<Vec<Datum>> = args.iter().map(|a| known[a.index()].clone()).collect();
                args.and_then(|args| functions::fold(*func, &args).ok()).map(|v| (*dst, v))
            }
            OpKind::Cast { dst, src, explicit } if once(*dst) => {
                match (&known[src.index()], program.type_of(*src), program.type_of(*dst)) {
                    (_, Some(from), Some(to))
                        if from.base() != to.base()
                            && (from.has_zone()
                                || to.has_zone()
                                || from.has_style() != to.has_style()
                                || from.has_bytes() != to.has_bytes()
                                || from.has_floats() && is_textual(&to.base())) =>
                    {
                        None
                    }
                    (Some(v), Some(from), Some(to)) => {
                        functions::fold_cast(v, from, to, *explicit).ok().map(|v| (*dst, v))
                    }
                    _ => None,
                }
            }
            _ => None,
        };
        if let Some((dst, value)) = folded
            && if texts { size(&value) <= FOLDED_BYTES_MAX } else { lies_in_no_heap(&value) }
        {
            known[dst.index()] = Some(value.clone());
            op.kind = OpKind::Const { dst, value };
        }
    });
    program.body = body;
}

/// Whether a value of a type with digits is text in this one.
fn is_textual(ty: &Type) -> bool {
    !matches!(
        ty,
        Type::Float4 | Type::Float8 | Type::Int2 | Type::Int4 | Type::Int8 | Type::Numeric(_) | Type::Bool
    )
}

fn lies_in_no_heap(value: &Datum) -> bool {
    matches!(
        value,
        Datum::Null
            | Datum::Bool(_)
            | Datum::Int(_)
            | Datum::Float(_)
            | Datum::Numeric(_)
            | Datum::Uuid(_)
            | Datum::Interval(_)
    )
}

fn size(value: &Datum) -> usize {
    match value {
        Datum::Text(s) | Datum::Jsonb(s) | Datum::Citext(s) => s.len(),
        Datum::Bytea(b) => b.len(),
        Datum::Long(n) => n.bytes_about(),
        Datum::Array(items) => items.iter().map(|i| size(i) + 24).sum(),
        Datum::Shaped(of) => of.elements().iter().map(|i| size(i) + 24).sum(),
        _ => 0,
    }
}

/// Copies remembered at a time; more are forgotten, the oldest first.
const COPIES_MAX: usize = 64;

/// Replaces reads of copies. `originals` are pairs (copy, original) that hold the same value here.
fn forward_copies(block: &mut Block, originals: &mut Vec<(Reg, Reg)>) {
    for op in &mut block.0 {
        reads_mut(&mut op.kind, &mut |reg| {
            if let Some((_, original)) = originals.iter().find(|(copy, _)| copy == reg) {
                *reg = *original;
            }
        });
        let forget = |originals: &mut Vec<(Reg, Reg)>, r: Reg| {
            originals.retain(|(copy, original)| *copy != r && *original != r);
        };
        op.kind.writes(&mut |r| forget(originals, r));
        let mut nested = false;
        op.kind.blocks(&mut |b| {
            nested = true;
            b.visit(&mut |inner| inner.kind.writes(&mut |r| forget(originals, r)));
        });
        if nested {
            op.kind.blocks_mut(&mut |b| forward_copies(b, &mut originals.clone()));
        } else if let OpKind::Copy { dst, src } = op.kind
            && dst != src
        {
            if originals.len() == COPIES_MAX {
                originals.remove(0);
            }
            originals.push((dst, src));
        }
    }
}

/// Drops operations whose results nobody reads; `true` if there were any.
fn sweep(block: &mut Block, uses: &mut Uses) -> bool {
    let before = block.0.len();
    let mut changed = false;
    block.0.retain(|op| {
        if !is_dead(&op.kind, uses) {
            return true;
        }
        op.kind.reads(&mut |r| uses.reads[r.index()] -= 1);
        op.kind.writes(&mut |r| uses.writes[r.index()] -= 1);
        false
    });
    for op in &mut block.0 {
        match &mut op.kind {
            OpKind::Get { columns, .. } | OpKind::Scan { columns, .. } | OpKind::Load { columns, .. } => {
                columns.retain(|(_, r)| {
                    let read = uses.reads[r.index()] > 0;
                    uses.writes[r.index()] -= u32::from(!read);
                    read
                });
            }
            _ => {}
        }
        op.kind.blocks_mut(&mut |b| changed |= sweep(b, uses));
    }
    changed || block.0.len() != before
}

fn is_dead(kind: &OpKind, uses: &Uses) -> bool {
    let removable = match kind {
        OpKind::Const { .. } | OpKind::Len { .. } | OpKind::MapGet { .. } | OpKind::Load { .. } => true,
        OpKind::Get { mode, .. } => *mode != ReadMode::Ahead,
        OpKind::Copy { dst, src } => dst == src || uses.reads[dst.index()] == 0,
        OpKind::Apply { func, .. } => func.total(),
        _ => false,
    };
    let mut read = false;
    kind.writes(&mut |r| read |= uses.reads[r.index()] > 0);
    removable && (!read || matches!(kind, OpKind::Copy { dst, src } if dst == src))
}

/// Calls `f` for each register an operation reads, to change it; not for arrays it also writes.
fn reads_mut(kind: &mut OpKind, f: &mut dyn FnMut(&mut Reg)) {
    match kind {
        OpKind::Const { .. }
        | OpKind::Draw { .. }
        | OpKind::NextValue { .. }
        | OpKind::CurrentValue { .. }
        | OpKind::Loop { .. }
        | OpKind::Block { .. }
        | OpKind::Exit { .. }
        | OpKind::Continue { .. }
        | OpKind::Return
        | OpKind::EndTransaction { .. }
        | OpKind::Try { .. }
        | OpKind::Clear { .. }
        | OpKind::Fill { .. }
        | OpKind::Len { .. }
        | OpKind::Sort { .. }
        | OpKind::SystemRows { .. }
        | OpKind::ForEach { .. } => {}
        OpKind::Copy { src, .. } | OpKind::Cast { src, .. } => f(src),
        OpKind::Apply { args, .. }
        | OpKind::Ask { args, .. }
        | OpKind::Call { args, .. }
        | OpKind::CallSet { args, .. }
        | OpKind::Piece { args, .. } => args.iter_mut().for_each(f),
        OpKind::SetValue { value, is_called, .. } => {
            f(value);
            f(is_called);
        }
        OpKind::Notify { channel, payload } => {
            f(channel);
            f(payload);
        }
        OpKind::ArraySet { index, value, .. } => {
            f(index);
            f(value);
        }
        OpKind::If { cond, .. } => f(cond),
        OpKind::Raise { state, message, fields, .. } => {
            if let StateSource::Computed(r) = state {
                f(r);
            }
            f(message);
            fields.regs_mut().for_each(f);
        }
        // The name of a cursor is written, too.
        OpKind::Execute { text, args, .. } => {
            f(text);
            args.iter_mut().for_each(f);
        }
        OpKind::Emit { values }
        | OpKind::Keep { values }
        | OpKind::Push { values, .. }
        | OpKind::Insert { values, .. } => values.iter_mut().for_each(f),
        OpKind::Trim { limit, offset, .. } => {
            f(limit);
            offset.iter_mut().for_each(f);
        }
        OpKind::Get { key, .. } => key.iter_mut().for_each(f),
        OpKind::Scan { range, .. } => {
            range.prefix.iter_mut().for_each(&mut *f);
            range.lower.iter_mut().chain(&mut range.upper).for_each(|b| f(&mut b.reg));
        }
        OpKind::Load { row, .. } | OpKind::Delete { row, .. } | OpKind::Claim { row, .. } => f(row),
        OpKind::Update { row, set, .. } => {
            f(row);
            set.iter_mut().for_each(|(_, r)| f(r));
        }
        OpKind::MapGet { keys, .. } | OpKind::ForMatches { keys, .. } => keys.iter_mut().for_each(f),
        OpKind::MapPut { keys, values, .. } => keys.iter_mut().chain(values).for_each(f),
        OpKind::SetEntry { entry, value, .. } => {
            f(entry);
            f(value);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn body(ops: &str) -> String {
        let regs = "  reg a: int4\n  reg b: int4\n  reg r2: int4\n  reg r3: int4\n  reg r4: bool\n  reg r5: text\n  reg r6: text\n";
        let text = format!(
            "procedure p\n{regs}  reg x: int4\n  reg c: bool\n  param in x: int4 = x\n  param in c: bool = c\n  labels 1\nbegin\n{ops}end\n"
        );
        let mut program = planaria_ir::text::parse(&text).expect("a program");
        for_all_forms(&mut program);
        let text = program.to_string();
        text[text.find("begin").expect("a body")..].replace("  ", "").replace('\n', "; ")
    }

    #[test]
    fn of_a_condition_that_is_known_the_way_that_is_taken_is_left() {
        let ops = "  r4 = const false\n  if r4 {\n    piece 0 (x)\n  } else {\n    piece 1 (x)\n    if c {\n      piece 2 (x)\n    }\n  }\n";
        assert_eq!(body(ops), "begin; piece 1 (x); if c {; piece 2 (x); }; end; ");
        // A variable may be NULL where it is asked.
        let ops = "  if c {\n    a = const 1\n  }\n  piece 0 (a)\n";
        assert!(body(ops).contains("if c {; a = const 1"), "{}", body(ops));
    }

    #[test]
    fn sums_are_made_once_and_copies_are_read_through() {
        let ops = "  a = copy x\n  r2 = int4.add(a, x)\n  r3 = int4.add(x, a)\n  b = copy r3\n  piece 0 (a, r2, b)\n";
        assert_eq!(body(ops), "begin; r2 = int4.add(x, x); piece 0 (x, r2, r2); end; ");
    }

    #[test]
    fn what_lies_in_a_heap_is_not_folded() {
        let ops = "  r5 = const 'a'\n  r6 = text.concat(r5, r5)\n  piece 0 (r6)\n";
        assert!(body(ops).contains("text.concat"), "{}", body(ops));
    }
}
