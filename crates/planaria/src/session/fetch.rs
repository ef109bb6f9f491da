//! DECLARE, FETCH, MOVE and CLOSE: see [`cursor`](crate::engine::program::cursor).

use crate::engine::program::cursor::{Cursor, no_cursor, row_bytes, split_keys};
use crate::params::Params;
use crate::row::{Columns, Rows};
use crate::session::StatementResult;
use crate::session::answer::done;
use crate::session::core::{Block, SessionCore};
use planaria_base::{Error, Result, SqlState, Type};
use planaria_sql::lower::{self, ParamTypes};
use planaria_syntax::ast::StatementKind;
use planaria_syntax::ast::cursor::{DeclareCursor, Direction};
use std::sync::Arc;

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
        if self.cursors.open.contains_key(&declare.name) {
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
        let types: Vec<Option<Type>> = types.iter().cloned().map(Some).collect();
        let keyed = self.keyed_query(declare).and_then(|(query, table, keys)| {
            let query = self.analyse_declared(query, text, ParamTypes(types.clone())).ok()?;
            Some((query, Some((table, keys))))
        });
        let (query, keys) = match keyed {
            Some(keyed) => keyed,
            None => (self.analyse_declared((*declare.query).clone(), text, ParamTypes(types))?, None),
        };
        let answer = self.run_program(&query, params)?;
        let mut rows = answer.rows.unwrap_or_else(Rows::empty);
        let bytes: usize = rows.rows.iter().map(row_bytes).sum();
        let keys = keys.map(|(table, columns)| split_keys(&mut rows, table, columns));
        self.cursors.opened += 1;
        let cursor = Cursor {
            number: self.cursors.opened,
            _kept: Arc::new(self.engine.meter.keep(bytes as u64, &self.schema)?),
            statement: text.into(),
            created: self.inputs.moment(),
            columns: rows.columns.clone(),
            keys,
            rows: Arc::new(rows.rows),
            at: 0,
            forward_only: declare.scroll == Some(false),
            hold: declare.hold,
            fresh,
            savepoints: self.savepoints.len(),
        };
        self.cursors.open.insert(declare.name.clone(), cursor);
        let mut result = done("DECLARE CURSOR");
        result.notices = answer.notices;
        Ok(result)
    }

    pub(crate) fn fetch(&mut self, name: &str, direction: Direction, moves: bool) -> Result<StatementResult> {
        let cursor = self.cursors.open.get_mut(name).ok_or_else(|| no_cursor(name))?;
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
                self.cursors.open.clear();
                Ok(done("CLOSE CURSOR ALL"))
            }
            Some(name) => {
                self.cursors.open.remove(name).ok_or_else(|| no_cursor(name))?;
                Ok(done("CLOSE CURSOR"))
            }
        }
    }

    /// The columns that FETCH answers with; `None` where there is no such cursor.
    pub(crate) fn cursor_columns(&self, name: &str) -> Option<Columns> {
        self.cursors.open.get(name).map(|c| c.columns.clone())
    }

    /// The next rows of a cursor, at most `n` of them (0: all).
    pub(crate) fn fetch_next(&mut self, name: &str, n: usize) -> Result<Rows> {
        let direction = if n == 0 { Direction::ForwardAll } else { Direction::Forward(n as i64) };
        let answer = self.fetch(name, direction, false)?;
        Ok(answer.rows.unwrap_or_else(Rows::empty))
    }

    /// The transaction goes back to a savepoint, by its number.
    pub(crate) fn end_cursors_since(&mut self, savepoint: usize) {
        self.cursors.open.retain(|_, c| !c.fresh || c.savepoints <= savepoint);
    }

    /// Savepoints from number `len` on are released.
    pub(crate) fn cursors_belong_to(&mut self, len: usize) {
        self.cursors.open.values_mut().for_each(|c| c.savepoints = c.savepoints.min(len));
    }

    /// A statement has ended, or is going to be run again.
    #[inline]
    pub(crate) fn end_statement_of_cursors(&mut self, done: bool) {
        if self.cursors.rests() {
            return;
        }
        let in_block = self.is_in_block();
        self.cursors.end_statement(done, in_block);
    }

    /// The end of a transaction block.
    pub(crate) fn end_cursors(&mut self, committed: bool) {
        self.cursors.open.retain(|_, c| c.hold && (committed || !c.fresh));
        self.cursors.open.values_mut().for_each(|c| c.fresh = false);
    }
}
