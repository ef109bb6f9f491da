//! Copies at the end of branches taken out of a program.
//!
//! ```text
//! if c { a = x } else { a = y }      if c { b = x } else { b = y }
//! b = copy a                     =>
//! ```
//!
//! Values that branches choose among come out of the analysis that way, a copy for each branch they are
//! in. Where nothing but the copy reads `a`, and the operation before it does nothing with `b`, that
//! operation may as well write `b`.

use planaria_ir::{Block, Op, OpKind, Program, Reg};

/// The program without them.
pub(super) fn without_copies(program: &Program) -> Program {
    let mut program = program.clone();
    let mut body = std::mem::take(&mut program.body);
    while once(&mut body, &program) {}
    program.body = body;
    program
}

#[derive(Default)]
struct Uses {
    reads: u32,
    writes: u32,
    /// Writes that can go elsewhere.
    movable: u32,
}

fn uses(block: &Block, reg: Reg) -> Uses {
    let mut uses = Uses::default();
    block.visit(&mut |op| {
        op.kind.reads(&mut |r| uses.reads += u32::from(r == reg));
        op.kind.writes(&mut |r| uses.writes += u32::from(r == reg));
        uses.movable += u32::from(result(&op.kind) == Some(reg));
    });
    uses
}

/// The one register that a value operation writes.
fn result(kind: &OpKind) -> Option<Reg> {
    match kind {
        OpKind::Copy { dst, .. }
        | OpKind::Apply { dst, .. }
        | OpKind::Cast { dst, .. }
        | OpKind::Const { dst, .. } => Some(*dst),
        _ => None,
    }
}

/// Takes one out; whether there was one.
fn once(body: &mut Block, program: &Program) -> bool {
    let Some((a, b)) = find(body, body, program) else { return false };
    remove(body, a, b)
}

/// Registers of a copy `b = a` that can go.
fn find(block: &Block, whole: &Block, program: &Program) -> Option<(Reg, Reg)> {
    for (at, op) in block.0.iter().enumerate() {
        let mut inner = None;
        op.kind.blocks(&mut |b| inner = inner.or_else(|| find(b, whole, program)));
        if inner.is_some() {
            return inner;
        }
        let OpKind::Copy { dst, src } = op.kind else { continue };
        let Some(before) = at.checked_sub(1).map(|before| &block.0[before]) else { continue };
        let is_if = matches!(before.kind, OpKind::If { .. });
        if !(is_if || result(&before.kind).is_some())
            || program.kind_of(dst) != program.kind_of(src)
            || dst == src
        {
            continue;
        }
        if program.params.iter().any(|p| p.reg == src) || program.outs.contains(&src) {
            continue;
        }
        let one = Block(vec![before.clone()]);
        let mut leaves = false;
        one.visit(&mut |op| {
            leaves |= matches!(op.kind, OpKind::Exit { .. } | OpKind::Continue { .. } | OpKind::Return);
        });
        let (of_src, of_dst, everywhere) = (uses(&one, src), uses(&one, dst), uses(whole, src));
        if !leaves
            && of_dst.reads + of_dst.writes == 0
            && of_src.reads == 0
            && of_src.writes > 0
            && of_src.movable == everywhere.writes
            && everywhere.reads == 1
            && writes_always(before, src)
        {
            return Some((src, dst));
        }
    }
    None
}

/// Whether the operation writes the register whichever way it goes.
fn writes_always(op: &Op, reg: Reg) -> bool {
    let always = |block: &Block| block.0.iter().any(|op| writes_always(op, reg));
    match &op.kind {
        OpKind::If { then, otherwise, .. } => always(then) && always(otherwise),
        kind => result(kind) == Some(reg),
    }
}

/// Takes `b = a` out, and has `b` written instead of `a`.
fn remove(block: &mut Block, a: Reg, b: Reg) -> bool {
    let is_it = |op: &Op| matches!(op.kind, OpKind::Copy { dst, src } if (dst, src) == (b, a));
    if let Some(at) = block.0.iter().position(is_it) {
        block.0.remove(at);
        let mut one = Block(vec![block.0.remove(at - 1)]);
        one.visit_mut(&mut |op| match &mut op.kind {
            OpKind::Copy { dst, .. }
            | OpKind::Apply { dst, .. }
            | OpKind::Cast { dst, .. }
            | OpKind::Const { dst, .. }
                if *dst == a =>
            {
                *dst = b;
            }
            _ => {}
        });
        block.0.splice(at - 1..at - 1, one.0);
        return true;
    }
    let mut done = false;
    for op in &mut block.0 {
        op.kind.blocks_mut(&mut |inner| done = done || remove(inner, a, b));
    }
    done
}

#[cfg(test)]
mod tests {
    use super::*;

    fn body(ops: &str) -> String {
        let regs: String = ["a", "b", "x", "y", "z"].iter().map(|r| format!("  reg {r}: int4\n")).collect();
        let text = format!(
            "procedure p\n{regs}  reg c: bool\n  param in x: int4 = x\n  param in y: int4 = y\n  param in c: bool = c\n  labels 1\nbegin\n{ops}end\n"
        );
        let program = planaria_ir::text::parse(&text).unwrap();
        let text = without_copies(&program).to_string();
        text[text.find("begin").unwrap()..].replace("  ", "").replace('\n', "; ")
    }

    #[test]
    fn a_value_that_branches_choose_is_written_where_it_is_wanted() {
        let nested = "  if c {\n    a = copy x\n  } else {\n    if c {\n      z = copy y\n    } else {\n      z = copy x\n    }\n    a = copy z\n  }\n  b = copy a\n  piece 0 (b)\n";
        let expected = "begin; if c {; b = copy x; } else {; if c {; b = copy y; } else {; b = copy x; }; }; piece 0 (b); end; ";
        assert_eq!(body(nested), expected);
    }

    #[test]
    fn a_copy_stays_where_taking_it_out_would_show() {
        // Read twice; written on one branch only; the target is read meanwhile; left in between.
        for ops in [
            "  a = int4.add(x, y)\n  b = copy a\n  piece 0 (a, b)\n",
            "  if c {\n    a = copy x\n  }\n  b = copy a\n  piece 0 (b)\n",
            "  if c {\n    a = int4.add(b, x)\n  } else {\n    a = copy y\n  }\n  b = copy a\n  piece 0 (b)\n",
            "  loop l0 {\n    if c {\n      a = copy x\n      exit l0\n    } else {\n      a = copy y\n    }\n    b = copy a\n  }\n  piece 0 (b)\n",
        ] {
            assert!(body(ops).contains("b = copy a"), "{ops}");
        }
    }
}
