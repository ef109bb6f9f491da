//! GET DIAGNOSTICS of a body that is carried out by steps.

use super::{Steps, refused};
use planaria_base::{Datum, Error, Result, SqlState, Type};
use planaria_syntax::ast::Position;

impl Steps<'_> {
    pub(super) fn diagnostic(&self, stacked: bool, item: &str, at: Position) -> Result<(Type, Datum)> {
        let text = |text: Option<&str>| (Type::Text, Datum::Text(text.unwrap_or_default().to_owned()));
        if !stacked {
            return match item {
                "row_count" => Ok((Type::Int8, Datum::Int(self.row_count))),
                _ => Err(self.placed(refused(&format!("diagnostics item {}", item.to_uppercase())), at)),
            };
        }
        let Some(error) = self.handled.last() else {
            let message = "GET STACKED DIAGNOSTICS cannot be used outside an exception handler";
            return Err(self.placed(Error::new(SqlState::new("0Z002"), message), at));
        };
        let fields = error.fields();
        Ok(match item {
            "returned_sqlstate" => text(Some(error.sqlstate().as_str())),
            "message_text" => text(Some(error.message())),
            "pg_exception_detail" => text(fields.detail.as_deref()),
            "pg_exception_hint" => text(fields.hint.as_deref()),
            "pg_exception_context" => text(fields.context.as_deref()),
            "constraint_name" => text(fields.constraint.as_deref()),
            "table_name" => text(fields.table.as_deref()),
            "column_name" => text(fields.column.as_deref()),
            "schema_name" => text(fields.schema.as_deref().or(fields.table.as_ref().map(|_| "public"))),
            "pg_datatype_name" => text(fields.datatype.as_deref()),
            other => {
                return Err(self.placed(refused(&format!("diagnostics item {}", other.to_uppercase())), at));
            }
        })
    }
}
