//! UPDATE and DELETE with WHERE CURRENT OF, in bodies that are carried out by steps.
//!
//! 1. Where a body has such a statement, the cursors that it opens keep the keys of their rows, if these are rows of one table: the
//!    query gets them as its last columns, which are taken from the cursor's rows before anybody fetches some.
//! 2. The statement becomes one by that key, whose values are hidden variables.

use super::{Frame, Steps, hidden, named};
use planaria_base::{Datum, Error, Result, SqlState};
use planaria_exec::CursorAt;
use planaria_sql::lower;
use planaria_syntax::ast::plpgsql::{Opened, StepKind, Stmt, StmtKind};
use planaria_syntax::ast::{Name, Position, Statement, StatementKind};

/// Where the cursor of a loop stands whose rows were fetched ahead: it is closed by then.
pub(super) struct Ahead {
    cursor: String,
    /// How many transactions had been ended when it was opened.
    ends: Option<u32>,
    at: Option<CursorAt>,
}

fn invalid(message: String) -> Error {
    Error::new(SqlState::new("24000"), message)
}

impl Steps<'_> {
    /// OPEN of a cursor for a query, which keeps the keys of its rows.
    pub(super) fn open_keyed(&mut self, statement: &Stmt, cursor: &Name, query: &Statement) -> Result<()> {
        let keyed = match &query.kind {
            StatementKind::Query(query) => lower::keyed(&self.ground.catalog(), query),
            _ => None,
        };
        // What has no key there, or none that may be read, or one whose name a variable has, is of no single table.
        let keyed = keyed.filter(|(with_keys, ..)| {
            let query = StepKind::Query(Box::new(with_keys.clone()));
            let step = self.step_of(query);
            self.ground.may_run(step)
        });
        let Some((with_keys, table, keys)) = keyed else {
            return self.plain(statement);
        };
        let mut opening = statement.clone();
        if let StmtKind::Open { what, .. } = &mut opening.kind {
            let kind = StatementKind::Query(Box::new(with_keys));
            *what = Opened::Query(Box::new(Statement { kind, ..query.clone() }));
        }
        self.plain(&opening)?;
        match self.portal(cursor) {
            Some(name) => self.ground.split_cursor(&name, table, &keys),
            None => Err(Error::internal("a cursor without a name")),
        }
    }

    /// The name of the cursor that a variable means.
    fn portal(&self, cursor: &Name) -> Option<String> {
        match &self.find(cursor.parts.last()?)?.value {
            Datum::Text(name) => Some(name.clone()),
            _ => None,
        }
    }

    /// Where the cursor of a loop stands, for what changes its rows.
    pub(super) fn stands(&self, cursor: &Name) -> Option<CursorAt> {
        self.ground.cursor_at(&self.portal(cursor)?).filter(|_| self.keeps_keys)
    }

    /// The rows of a loop's cursor have been fetched.
    pub(super) fn begin_ahead(&mut self, cursor: &Name) {
        let (cursor, ends) = (self.portal(cursor).unwrap_or_default(), self.ends);
        self.ahead.push(Ahead { cursor, ends, at: None });
    }

    /// The loop goes on to another of them.
    pub(super) fn stands_ahead(&mut self, at: Option<CursorAt>) {
        if let Some(ahead) = self.ahead.last_mut() {
            ahead.at = at;
        }
    }

    /// The loop has ended.
    pub(super) fn end_ahead(&mut self) {
        self.ahead.pop();
    }

    /// The statement, for the row that the cursor stands on.
    pub(super) fn change_current(
        &mut self,
        statement: &Statement,
        cursor: &Name,
        position: Position,
    ) -> Result<()> {
        let variable = cursor.parts.last().and_then(|name| self.find(name));
        let name = match variable.map(|variable| &variable.value) {
            None => cursor.parts.join("."),
            Some(Datum::Text(name)) => name.clone(),
            Some(_) => {
                let message = format!("cursor variable \"{}\" is null", cursor.parts.join("."));
                return Err(Error::new(SqlState::NULL_VALUE_NOT_ALLOWED, message));
            }
        };
        let ahead = self.ahead.iter().rev().find(|ahead| ahead.cursor == name);
        if ahead.is_some_and(|ahead| ahead.ends != self.ends) {
            return Err(invalid(format!("cursor \"{name}\" is held from a previous transaction")));
        }
        let at = match ahead {
            Some(ahead) => ahead.at.clone(),
            None => self.ground.cursor_at(&name),
        };
        let at = at.ok_or_else(|| {
            Error::new(SqlState::INVALID_CURSOR_NAME, format!("cursor \"{name}\" does not exist"))
        })?;
        let table = match &statement.kind {
            StatementKind::Update(update) => &update.table,
            StatementKind::Delete(delete) => &delete.table,
            _ => return Err(Error::internal("a statement without a table")),
        };
        let other = || {
            let local = table.parts.last().cloned().unwrap_or_default();
            invalid(format!("cursor \"{name}\" is not a simply updatable scan of table \"{local}\""))
        };
        let (of, keys) = at.keys.ok_or_else(other)?;
        let variable = |place: usize| format!("(current {place})");
        let catalog = self.ground.catalog();
        let by_key = lower::by_values(&catalog, statement, of, &keys, &|place, _| {
            named(&variable(place), cursor.position).kind
        });
        let by_key = by_key.ok_or_else(other)?;
        let row = at.row.ok_or_else(|| invalid(format!("cursor \"{name}\" is not positioned on a row")))?;
        let values = keys.iter().zip(row).enumerate();
        let variables = values.map(|(place, (key, value))| hidden(&variable(place), key.ty.clone(), value));
        let depth = self.frames.len();
        self.frames.push(Frame { label: None, variables: variables.collect() });
        let kind = StmtKind::Sql(Box::new(by_key));
        let done = self.plain(&Stmt { position, end: statement.end, kind });
        self.frames.truncate(depth);
        done
    }
}
