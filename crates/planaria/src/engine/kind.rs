//! Kinds of statements, and their command tags.

use planaria_syntax::ast::{Statement, StatementKind};

/// Whether the statement becomes a program (as against a change of the schema or the session).
pub(super) fn is_program(statement: &Statement) -> bool {
    matches!(
        statement.kind,
        StatementKind::Query(_)
            | StatementKind::Insert(_)
            | StatementKind::Update(_)
            | StatementKind::Delete(_)
            | StatementKind::Call { .. }
            | StatementKind::Do { .. }
    )
}

/// The first word or words of a program's command tag.
pub(super) fn tag_name(statement: &Statement) -> &'static str {
    match &statement.kind {
        StatementKind::Query(_) => "SELECT",
        StatementKind::Insert(_) => "INSERT",
        StatementKind::Update(_) => "UPDATE",
        StatementKind::Delete(_) => "DELETE",
        StatementKind::Call { .. } => "CALL",
        StatementKind::Do { .. } => "DO",
        _ => "",
    }
}

/// The command tag.
pub(super) fn tag(statement: &Statement, count: u64) -> String {
    match tag_name(statement) {
        "INSERT" => format!("INSERT 0 {count}"),
        name @ ("SELECT" | "UPDATE" | "DELETE") => format!("{name} {count}"),
        name => name.to_owned(),
    }
}
