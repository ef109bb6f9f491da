//! A program as replay of a logged call meets it.

use planaria_base::ProcedureId;
use planaria_ir::{Block, Label, Level, Op, OpKind, Program};

/// The program as replay of a logged call meets it. A logged call committed, and no handler ran in it
/// (such calls are logged by values): so no `RAISE EXCEPTION` was reached. Branches that always raise are
/// gone, and with them the guard's say over what follows; of an EXCEPTION block its body is left, with no
/// savepoint. For every call that raises no error, the program does what it did. Operations keep their
/// numbers.
pub fn replayed(program: &Program) -> Program {
    let mut program = program.clone();
    program.body = prune(std::mem::take(&mut program.body));
    program
}

/// The same with the calls of other routines replaced by their bodies, where that can be.
pub fn as_replayed<'p>(program: &Program, callee: &dyn Fn(ProcedureId) -> Option<&'p Program>) -> Program {
    match crate::inline(program, callee) {
        Ok(flat) => replayed(&flat),
        Err(_) => replayed(program),
    }
}

fn prune(block: Block) -> Block {
    let mut kept = Vec::new();
    for mut op in block.0 {
        match op.kind {
            OpKind::Try { body, .. } => kept.extend(prune(body).0),
            OpKind::If { cond, then, otherwise } => match (raises(&then), raises(&otherwise)) {
                (true, false) => kept.extend(prune(otherwise).0),
                (false, true) => kept.extend(prune(then).0),
                _ => {
                    let kind = OpKind::If { cond, then: prune(then), otherwise: prune(otherwise) };
                    kept.push(Op { kind, ..op });
                }
            },
            _ => {
                op.kind.blocks_mut(&mut |b| *b = prune(std::mem::take(b)));
                kept.push(op);
            }
        }
        // What stands behind an operation that ends the block is never reached.
        if kept.last().is_some_and(|op| {
            matches!(op.kind, OpKind::Return | OpKind::Exit { .. } | OpKind::Continue { .. }) || is_raise(op)
        }) {
            break;
        }
    }
    Block(kept)
}

fn is_raise(op: &Op) -> bool {
    matches!(op.kind, OpKind::Raise { level: Level::Exception, .. })
}

/// Whether the block ends in an error whenever it runs to an end.
fn raises(block: &Block) -> bool {
    for op in &block.0 {
        let always = match &op.kind {
            OpKind::If { then, otherwise, .. } => raises(then) && raises(otherwise),
            OpKind::Try { body, handlers } => raises(body) && handlers.iter().all(|h| raises(&h.body)),
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
            let own = label(kind);
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

fn label(kind: &OpKind) -> Option<Label> {
    match kind {
        OpKind::Loop { label, .. }
        | OpKind::Block { label, .. }
        | OpKind::Scan { label, .. }
        | OpKind::ForEach { label, .. }
        | OpKind::ForMatches { label, .. } => Some(*label),
        _ => None,
    }
}
