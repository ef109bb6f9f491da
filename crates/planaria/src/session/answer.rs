//! Answers that no program gives.

use crate::row::{Column, Columns, Row, Rows};
use crate::session::StatementResult;
use planaria_base::datetime::Styles;
use planaria_base::types::SystemType;
use planaria_base::{Datum, Type};
use planaria_syntax::ast::ExplainFormat;

/// A statement without rows that is done.
pub(crate) fn done(tag: &str) -> StatementResult {
    StatementResult { tag: tag.to_owned(), rows: None, count: 0, notices: Vec::new(), position: 0 }
}

/// A table of texts as an answer.
pub(crate) fn table_result(tag: &str, names: Vec<&str>, lines: Vec<Vec<String>>) -> StatementResult {
    let columns: Columns =
        names.into_iter().map(|n| Column { name: n.to_owned(), ty: Type::Text, origin: None }).collect();
    let rows: Vec<Row> = lines
        .into_iter()
        .map(|line| Row {
            columns: columns.clone(),
            values: line.into_iter().map(Datum::Text).collect(),
            zone: None,
            styles: Styles::DEFAULT,
        })
        .collect();
    let count = rows.len() as u64;
    let rows = Some(Rows { columns, rows });
    StatementResult { tag: tag.to_owned(), rows, count, notices: Vec::new(), position: 0 }
}

/// The answer of an EXPLAIN in a format that is one value, from its JSON.
pub(crate) fn plan_result(plan: String, format: ExplainFormat) -> StatementResult {
    let ty = if format == ExplainFormat::Json { Type::System(SystemType::Json) } else { Type::Text };
    let plan = super::explain_formats::explained(plan, format);
    let columns = Columns::from_iter([Column { name: "QUERY PLAN".to_owned(), ty, origin: None }]);
    let row = Row {
        columns: columns.clone(),
        values: vec![Datum::Text(plan)],
        zone: None,
        styles: Styles::DEFAULT,
    };
    let rows = Some(Rows { columns, rows: vec![row] });
    StatementResult { tag: "EXPLAIN".to_owned(), rows, count: 0, notices: Vec::new(), position: 0 }
}

/// The answer of an EXPLAIN.
pub(crate) fn lines_result(lines: Vec<String>) -> StatementResult {
    let mut result =
        table_result("EXPLAIN", vec!["QUERY PLAN"], lines.into_iter().map(|l| vec![l]).collect());
    result.count = 0;
    result
}
