//! Replay plans, compiled.

use planaria_base::TableId;
use planaria_exec::Code;
use planaria_ir::{Draw, OpKind, Program};

/// How the calls of one procedure are replayed in pieces.
#[derive(Debug)]
pub struct CompiledPlan {
    /// Runs when the log is read: takes the call's arguments, reads only what no piece changes, and hands
    /// over pieces.
    pub plan: Code,
    /// What `plan` was made from.
    pub program: Program,
    /// The pieces, by number.
    pub pieces: Vec<CompiledPiece>,
    /// Tables that `plan` reads.
    pub reads: Vec<TableId>,
    /// Whether `plan` takes kept values: then it is for calls that kept them, else for those that did not.
    pub keeps: bool,
}

/// A part of a procedure that touches rows of one key prefix.
#[derive(Debug)]
pub struct CompiledPiece {
    /// Runs at execution; its parameters are what the plan handed over.
    pub code: Code,
    /// What `code` was made from.
    pub program: Program,
    /// Tables it touches.
    pub tables: Vec<TableId>,
    /// Number of leading parameters that are the leading primary key columns, in key order, of every
    /// row it touches.
    pub key: usize,
    /// Pieces it hands over when it has run: of tables with higher ids than its own.
    pub hands_over: Vec<u32>,
}

impl CompiledPlan {
    /// From the code of the plan, the program it was made from, and the pieces.
    pub fn new(plan: Code, program: Program, pieces: Vec<CompiledPiece>) -> CompiledPlan {
        let mut keeps = false;
        program.body.visit(&mut |op| keeps |= matches!(op.kind, OpKind::Draw { input: Draw::Kept, .. }));
        CompiledPlan { plan, pieces, reads: tables_of(&program), keeps, program }
    }
}

/// The tables that a program reads or writes itself (not those of procedures it calls), ascending.
fn tables_of(program: &Program) -> Vec<TableId> {
    let mut tables = Vec::new();
    program.body.visit(&mut |op| match &op.kind {
        OpKind::Get { table, .. }
        | OpKind::Load { table, .. }
        | OpKind::Scan { table, .. }
        | OpKind::Insert { table, .. }
        | OpKind::Update { table, .. }
        | OpKind::Delete { table, .. } => tables.push(*table),
        _ => {}
    });
    tables.sort_unstable();
    tables.dedup();
    tables
}
