//! Which DO blocks are carried out statement by statement: those that change the schema, and those whose records take rows
//! of SQL text made at run time. A program is compiled whole, before its first operation, under one schema, and knows the
//! types of all that it computes with; nothing of that can be known there.

use planaria_sql::ddl::is_ddl;
use planaria_syntax::ast::plpgsql::{DeclarationKind, PlBlock, Stmt, StmtKind};
use planaria_syntax::ast::{Expr, ExprKind, StatementKind, TypeNameKind};
use planaria_syntax::parse;

/// What such statements begin with.
const CHANGES: &[&str] = &["create", "alter", "drop", "grant", "revoke", "comment", "refresh", "reindex"];

/// Whether the body of a DO block is to be carried out statement by statement.
pub(crate) fn goes_by_steps(body: &str) -> bool {
    let Ok(block) = parse::plpgsql(body) else { return false };
    let mut records = Vec::new();
    records_of(&block, &mut records);
    any_in_block(&block, &|statement| needs_steps(statement, &records))
}

fn needs_steps(statement: &Stmt, records: &[String]) -> bool {
    match &statement.kind {
        StmtKind::Sql(sql) => is_ddl(sql) && !matches!(sql.kind, StatementKind::Truncate { .. }),
        StmtKind::Execute { text, into, .. } => {
            changes_schema(text) || into.as_ref().is_some_and(|into| is_record(&into.targets, records))
        }
        StmtKind::ForExecute { targets, .. } => is_record(targets, records),
        _ => false,
    }
}

/// Whether the text of EXECUTE begins as a change of the schema does, as far as one sees.
fn changes_schema(text: &Expr) -> bool {
    let first = first_text(text).unwrap_or_default().trim_start();
    let word = first.split(|c: char| !c.is_ascii_alphabetic()).next().unwrap_or_default();
    CHANGES.iter().any(|change| word.eq_ignore_ascii_case(change))
}

fn first_text(e: &Expr) -> Option<&str> {
    match &e.kind {
        ExprKind::String(text) => Some(text),
        ExprKind::Binary(_, left, _) => first_text(left),
        ExprKind::Chain(first, _) => first_text(first),
        ExprKind::Call(call) => call.args.first().and_then(|argument| first_text(&argument.value)),
        _ => None,
    }
}

fn is_record(targets: &[Expr], records: &[String]) -> bool {
    matches!(targets, [Expr { kind: ExprKind::Column(name), .. }] if matches!(&name.parts[..], [one] if records.contains(one)))
}

/// Names that are records somewhere in the body.
fn records_of(block: &PlBlock, records: &mut Vec<String>) {
    for declaration in &block.declarations {
        if let DeclarationKind::Variable { ty, .. } = &declaration.kind
            && matches!(ty.kind, TypeNameKind::Record)
        {
            records.push(declaration.name.clone());
        }
    }
    let mut inner = |statements: &[Stmt]| {
        for statement in statements {
            for_blocks(statement, &mut |block| records_of(block, records));
        }
    };
    inner(&block.body);
    block.handlers.iter().for_each(|handler| inner(&handler.body));
}

fn for_blocks(statement: &Stmt, f: &mut dyn FnMut(&PlBlock)) {
    match &statement.kind {
        StmtKind::Block(block) => f(block),
        _ => for_lists(statement, &mut |list| list.iter().for_each(|inner| for_blocks(inner, f))),
    }
}

fn any_in_block(block: &PlBlock, wanted: &dyn Fn(&Stmt) -> bool) -> bool {
    any(&block.body, wanted) || block.handlers.iter().any(|handler| any(&handler.body, wanted))
}

fn any(statements: &[Stmt], wanted: &dyn Fn(&Stmt) -> bool) -> bool {
    statements.iter().any(|statement| {
        let mut found = wanted(statement);
        match &statement.kind {
            StmtKind::Block(block) => found |= any_in_block(block, wanted),
            _ => for_lists(statement, &mut |list| found |= any(list, wanted)),
        }
        found
    })
}

/// The statements within a statement that is no block.
fn for_lists(statement: &Stmt, f: &mut dyn FnMut(&[Stmt])) {
    match &statement.kind {
        StmtKind::If { branches, otherwise } => {
            branches.iter().for_each(|(_, body)| f(body));
            f(otherwise);
        }
        StmtKind::Case { whens, otherwise, .. } => {
            whens.iter().for_each(|(_, body)| f(body));
            otherwise.iter().for_each(|body| f(body));
        }
        StmtKind::Loop { body, .. }
        | StmtKind::While { body, .. }
        | StmtKind::ForRange { body, .. }
        | StmtKind::ForQuery { body, .. }
        | StmtKind::ForExecute { body, .. }
        | StmtKind::ForEach { body, .. }
        | StmtKind::ForCursor { body, .. } => f(body),
        _ => {}
    }
}
