//! Trigger functions that are carried out by steps: their records take rows of which nothing is known beforehand.
//!
//! NEW and OLD are variables of the table's row type around the body, as `TG_OP` and its like are, and transition tables are passed to
//! every step. One that fires before a row answers with whether that goes on, and with the row.

use super::{Frame, Gives, Steps, hidden};
use planaria_base::types::RowType;
use planaria_base::{Datum, Error, Result, SqlState, Type};
use planaria_sql::lower::plpgsql::Fired;
use planaria_syntax::ast::plpgsql::{PlBlock, StepKind};
use planaria_syntax::ast::{Expr, Position};

impl Steps<'_> {
    /// Carries a trigger function out, and answers for it.
    pub(super) fn trigger(
        &mut self,
        name: &str,
        fired: &Fired,
        block: &PlBlock,
        arguments: Vec<Datum>,
    ) -> Result<()> {
        let mut arguments = arguments.into_iter();
        let mut next = || arguments.next().ok_or_else(|| Error::internal("a trigger without its arguments"));
        let mut variables = Vec::new();
        for (name, row, there) in &fired.rows {
            let value = match there {
                true => Datum::Array(row.iter().map(|_| next()).collect::<Result<_>>()?),
                false => Datum::Null,
            };
            variables.push(hidden(name, Type::Record(row.clone()), value));
        }
        for (name, ty) in &fired.tables {
            self.tables.push((name.clone(), ty.clone(), next()?));
        }
        for (name, ty) in &fired.words {
            variables.push(hidden(name, ty.clone(), next()?));
        }
        let [(_, new, _), _] = &fired.rows;
        self.gives = match fired.answers {
            Some(stored) => Gives::Before(stored.then(|| new.clone())),
            None => Gives::Nothing,
        };
        self.frames.push(Frame { label: Some(name.to_owned()), variables });
        self.block(block)?;
        let Some(row) = self.returned.take() else {
            let message = "control reached end of trigger procedure without RETURN";
            let error = Error::new(SqlState::FUNCTION_EXECUTED_NO_RETURN_STATEMENT, message);
            return Err(error.context(format!("PL/pgSQL function {}", self.title)));
        };
        match fired.answers {
            Some(_) => self.ground.answer(&row),
            None => Ok(()),
        }
    }

    /// What is wrong with a row is told where the function has ended.
    fn exiting(&self, error: Error) -> Error {
        error.context(format!("PL/pgSQL function {} during function exit", self.title))
    }

    /// RETURN of one that fires before a row: whether that goes on, and the row.
    pub(super) fn before_row(
        &mut self,
        value: &Expr,
        stored: Option<RowType>,
        at: Position,
    ) -> Result<Vec<Datum>> {
        let (ty, value) = self.step(StepKind::Value(value.clone()))?.only()?;
        let nothing = vec![Datum::Null; stored.as_ref().map_or(0, |row| row.len())];
        let (fields, row) = match (value, ty) {
            (Datum::Null, _) => return Ok([vec![Datum::Bool(false)], nothing].concat()),
            (Datum::Array(fields), Type::Record(row)) => (fields, row),
            _ => {
                let message = "cannot return non-composite value from function returning composite type";
                return Err(self.placed(Error::new(SqlState::DATATYPE_MISMATCH, message), at));
            }
        };
        let Some(stored) = stored else { return Ok(vec![Datum::Bool(true)]) };
        let wrong = |detail: String| {
            let message = "returned row structure does not match the structure of the triggering table";
            Error::new(SqlState::DATATYPE_MISMATCH, message).with_detail(detail)
        };
        for (at_column, ((_, is), (_, wanted))) in row.iter().zip(stored.iter()).enumerate() {
            let is = if *is == Type::Unknown { &Type::Text } else { is };
            if is.base() != wanted.base() {
                let column = at_column + 1;
                let detail =
                    format!("Returned type {is} does not match expected type {wanted} in column {column}.");
                return Err(self.exiting(wrong(detail)));
            }
        }
        if row.len() != stored.len() {
            let (got, wanted) = (row.len(), stored.len());
            let detail = format!(
                "Number of returned columns ({got}) does not match expected column count ({wanted})."
            );
            return Err(self.exiting(wrong(detail)));
        }
        Ok([vec![Datum::Bool(true)], fields].concat())
    }
}
