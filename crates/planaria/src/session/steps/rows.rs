//! What a routine that is carried out by steps returns, and rows of cursors of which nothing is known beforehand.

use super::variables::record_type;
use super::{Flow, Frame, Gives, Steps, hidden, named};
use planaria_base::{Datum, Error, ProcedureId, Result, Type};
use planaria_syntax::ast::plpgsql::{StepKind, Stmt, StmtKind};
use planaria_syntax::ast::{Expr, ExprKind, Name};

/// What the variables are called that a row is fetched into.
const FETCHED: &str = "(fetched)";

impl Steps<'_> {
    /// RETURN of a value or a row.
    pub(super) fn return_(&mut self, statement: &Stmt, value: &Expr) -> Result<Flow> {
        match &self.gives {
            Gives::Value(ty) => {
                let ty = ty.clone();
                self.returned = Some(vec![self.converted(value, ty)?]);
            }
            Gives::Row(routine) => {
                let routine = *routine;
                let there = match &value.kind {
                    ExprKind::Null => Some(false),
                    ExprKind::Row(_) => Some(true),
                    // What a variable is, is asked for by its name alone.
                    ExprKind::Column(_) => {
                        Some(self.step(StepKind::Value(value.clone()))?.only()?.1 != Datum::Null)
                    }
                    _ => None,
                };
                let next = Stmt { kind: StmtKind::ReturnNext(Some(value.clone())), ..statement.clone() };
                let answer = self.step(StepKind::Rows(Box::new(next), routine))?;
                self.returned = answer.rows.into_iter().next();
                if let Some(row) = self.returned.as_mut().filter(|_| self.tells_row) {
                    let there = there.unwrap_or_else(|| row.iter().any(|value| *value != Datum::Null));
                    row.push(Datum::Bool(there));
                }
            }
            Gives::Before(row) => {
                let row = row.clone();
                self.returned = Some(self.before_row(value, row, statement.position)?);
            }
            Gives::Nothing => {
                self.step(StepKind::Value(value.clone()))?;
                self.returned = Some(Vec::new());
            }
            // It says itself what is wrong with it.
            Gives::Outs | Gives::Set(_) => self.plain(statement)?,
        }
        Ok(Flow::Return)
    }

    /// RETURN NEXT and RETURN QUERY.
    pub(super) fn return_rows(&mut self, statement: &Stmt, routine: ProcedureId) -> Result<()> {
        let answer = self.step(StepKind::Rows(Box::new(statement.clone()), routine))?;
        if !matches!(statement.kind, StmtKind::ReturnNext(_)) {
            self.found = !answer.rows.is_empty();
            self.row_count = answer.rows.len() as i64;
        }
        answer.rows.iter().try_for_each(|row| self.ground.answer(row))
    }

    /// FETCH into a record, which takes the structure of what the cursor has.
    pub(super) fn fetch_record(&mut self, statement: &Stmt, cursor: &Name, record: &str) -> Result<()> {
        let variable = cursor.parts.last().and_then(|name| self.find(name));
        let columns = match variable.map(|v| &v.value) {
            Some(Datum::Text(name)) => self.ground.cursor_columns(name),
            _ => None,
        };
        // Of no such cursor FETCH says so itself.
        let columns = columns.unwrap_or_else(|| vec![(String::new(), Type::Text)]);
        let place = |at: usize| format!("{FETCHED} {at}");
        let variables = columns.iter().enumerate().map(|(at, (_, ty))| {
            let mut variable = hidden(&place(at), ty.clone(), Datum::Null);
            variable.known.as_value = true;
            variable
        });
        let depth = self.frames.len();
        self.frames.push(Frame { label: None, variables: variables.collect() });
        let mut statement = statement.clone();
        if let StmtKind::Fetch { into: Some(into), .. } = &mut statement.kind {
            into.targets = (0..columns.len()).map(|at| named(&place(at), into.position)).collect();
        }
        self.plain(&statement)?;
        let frame = self.frames.drain(depth..).next();
        let frame = frame.ok_or_else(|| Error::internal("a step without its variables"))?;
        let fetched = Datum::Array(frame.variables.into_iter().map(|variable| variable.value).collect());
        let ty = Type::Record(record_type(&columns));
        let value = if self.found { fetched } else { Datum::Null };
        self.set_record(record, Some(ty), value).map_err(|error| self.placed(error, statement.position))
    }
}
