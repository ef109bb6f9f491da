//! DECLARE, FETCH, MOVE and CLOSE: see [`cursor`](crate::engine::program::cursor).

use crate::engine::program::cursor::Cursor;
use crate::params::Params;
use crate::row::{Column, Row, Rows};
use crate::session::StatementResult;
use crate::session::answer::done;
use crate::session::core::{Block, SessionCore};
use planaria_base::{Datum, Error, Result, SqlState, Type};
use planaria_sql::lower::{self, ParamTypes};
use planaria_syntax::ast::StatementKind;
use planaria_syntax::ast::cursor::{DeclareCursor, Direction};
use std::sync::Arc;

/// What a row takes.
fn row_bytes(row: &Row) -> usize {
    fn of(value: &Datum) -> usize {
        size_of::<Datum>()
            + match value {
                Datum::Text(s) | Datum::Reg(_, s) => s.len(),
                Datum::Bytea(b) => b.len(),
                Datum::Jsonb(s) => s.len(),
                Datum::Array(items) => items.iter().map(of).sum(),
                _ => 0,
            }
    }
    size_of::<Row>() + row.values.iter().map(of).sum::<usize>()
}

/// 34000
fn no_cursor(name: &str) -> Error {
    Error::new(SqlState::INVALID_CURSOR_NAME, format!("cursor \"{name}\" does not exist"))
}

impl SessionCore {
    /// `types`: those of the query's parameters, where they are known.
    pub(crate) fn declare_cursor(
        &mut self,
        declare: &DeclareCursor,
        text: &str,
        params: &dyn Params,
        types: &[Type],
    ) -> Result<StatementResult> {
        if !declare.hold && matches!(self.block, Block::None) {
            return Err(Error::new(
                SqlState::NO_ACTIVE_SQL_TRANSACTION,
                "DECLARE CURSOR can only be used in transaction blocks",
            ));
        }
        if self.cursors.contains_key(&declare.name) {
            let message = format!("cursor \"{}\" already exists", declare.name);
            return Err(Error::new(SqlState::DUPLICATE_CURSOR, message));
        }
        if let StatementKind::Query(query) = &declare.query.kind
            && lower::changes_in_with(query)
        {
            let message = "DECLARE CURSOR must not contain data-modifying statements in WITH";
            return Err(Error::new(SqlState::FEATURE_NOT_SUPPORTED, message));
        }
        let fresh = !matches!(self.block, Block::None);
        let types = ParamTypes(types.iter().cloned().map(Some).collect());
        let query = self.analyse_declared((*declare.query).clone(), text, types)?;
        let answer = self.run_program(&query, params)?;
        let rows = answer.rows.unwrap_or_else(Rows::empty);
        let bytes: usize = rows.rows.iter().map(row_bytes).sum();
        let cursor = Cursor {
            _kept: self.engine.meter.keep(bytes as u64, &self.schema)?,
            statement: text.into(),
            created: self.inputs.moment(),
            columns: rows.columns.clone(),
            rows: rows.rows,
            at: 0,
            forward_only: declare.scroll == Some(false),
            hold: declare.hold,
            fresh,
            savepoints: self.savepoints.len(),
        };
        self.cursors.insert(declare.name.clone(), cursor);
        let mut result = done("DECLARE CURSOR");
        result.notices = answer.notices;
        Ok(result)
    }

    pub(crate) fn fetch(&mut self, name: &str, direction: Direction, moves: bool) -> Result<StatementResult> {
        let cursor = self.cursors.get_mut(name).ok_or_else(|| no_cursor(name))?;
        let met = cursor.go(direction)?;
        let mut result = done(&format!("{} {}", if moves { "MOVE" } else { "FETCH" }, met.len()));
        result.count = met.len() as u64;
        if !moves {
            let rows = met.into_iter().map(|i| cursor.rows[i].clone()).collect();
            result.rows = Some(Rows { columns: cursor.columns.clone(), rows });
        }
        Ok(result)
    }

    pub(crate) fn close_cursor(&mut self, name: Option<&str>) -> Result<StatementResult> {
        match name {
            None => {
                self.cursors.clear();
                Ok(done("CLOSE CURSOR ALL"))
            }
            Some(name) => {
                self.cursors.remove(name).ok_or_else(|| no_cursor(name))?;
                Ok(done("CLOSE CURSOR"))
            }
        }
    }

    /// The columns that FETCH answers with; `None` where there is no such cursor.
    pub(crate) fn cursor_columns(&self, name: &str) -> Option<Arc<[Column]>> {
        self.cursors.get(name).map(|c| c.columns.clone())
    }

    /// The next rows of a cursor, at most `n` of them (0: all).
    pub(crate) fn fetch_next(&mut self, name: &str, n: usize) -> Result<Rows> {
        let direction = if n == 0 { Direction::ForwardAll } else { Direction::Forward(n as i64) };
        let answer = self.fetch(name, direction, false)?;
        Ok(answer.rows.unwrap_or_else(Rows::empty))
    }

    /// The transaction goes back to a savepoint, by its number.
    pub(crate) fn end_cursors_since(&mut self, savepoint: usize) {
        self.cursors.retain(|_, c| !c.fresh || c.savepoints <= savepoint);
    }

    /// Savepoints from number `len` on are released.
    pub(crate) fn cursors_belong_to(&mut self, len: usize) {
        self.cursors.values_mut().for_each(|c| c.savepoints = c.savepoints.min(len));
    }

    /// The end of a transaction block.
    pub(crate) fn end_cursors(&mut self, committed: bool) {
        self.cursors.retain(|_, c| c.hold && (committed || !c.fresh));
        self.cursors.values_mut().for_each(|c| c.fresh = false);
    }
}
