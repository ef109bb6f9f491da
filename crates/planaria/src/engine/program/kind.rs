//! Kinds of statements: which become programs, their command tags, the columns of the others.

use crate::row::{Column, Columns};
use crate::settings::show_columns;
use planaria_base::Type;
use planaria_base::types::SystemType;
use planaria_syntax::ast::{ExplainFormat, Statement, StatementKind};

/// Whether the statement becomes a program (as against a change of the schema or the session).
pub(crate) fn is_program(statement: &Statement) -> bool {
    if let StatementKind::Do { body, .. } = &statement.kind {
        return !planaria_sql::lower::plpgsql::goes_by_steps(body);
    }
    matches!(
        statement.kind,
        StatementKind::Query(_)
            | StatementKind::Insert(_)
            | StatementKind::Update(_)
            | StatementKind::Delete(_)
            | StatementKind::Merge(_)
            | StatementKind::Call { .. }
            | StatementKind::Step(_)
            | StatementKind::Notify { .. }
            | StatementKind::FireCopyTriggers { .. }
    )
}

/// The first word or words of a program's command tag.
pub(crate) fn tag_name(statement: &Statement) -> &'static str {
    match &statement.kind {
        StatementKind::Query(_) => "SELECT",
        StatementKind::Insert(_) => "INSERT",
        StatementKind::Update(_) => "UPDATE",
        StatementKind::Delete(_) => "DELETE",
        StatementKind::Merge(_) => "MERGE",
        StatementKind::Call { .. } => "CALL",
        StatementKind::Do { .. } | StatementKind::Step(_) => "DO",
        StatementKind::Notify { .. } => "NOTIFY",
        _ => "",
    }
}

/// The command tag.
pub(crate) fn tag(statement: &Statement, count: u64) -> String {
    match tag_name(statement) {
        "INSERT" => format!("INSERT 0 {count}"),
        name @ ("SELECT" | "UPDATE" | "DELETE" | "MERGE") => format!("{name} {count}"),
        name => name.to_owned(),
    }
}

/// The columns of a statement that is no program, as far as they are known before it runs.
pub(crate) fn utility_columns(statement: &Statement) -> Columns {
    let ty = match &statement.kind {
        StatementKind::Explain { format: ExplainFormat::Json, .. } => Type::System(SystemType::Json),
        _ => Type::Text,
    };
    let names = match &statement.kind {
        StatementKind::Show(name) if name.eq_ignore_ascii_case("recovery") => vec!["what", "value"],
        StatementKind::Show(name) => show_columns(name),
        StatementKind::Explain { .. }
        | StatementKind::ExplainProcedure { .. }
        | StatementKind::ExplainRecovery => vec!["QUERY PLAN"],
        _ => return Columns::default(),
    };
    names.into_iter().map(|n| Column { name: n.to_owned(), ty: ty.clone(), origin: None }).collect()
}
