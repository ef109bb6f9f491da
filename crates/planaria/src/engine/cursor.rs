//! Cursors of SQL: DECLARE runs the query and keeps its rows, FETCH and MOVE walk among them, either way.
//!
//! A cursor ends with its transaction, one WITH HOLD with its session, or when its transaction is rolled back.

use super::answer::done;
use super::memory::Kept;
use super::session::{Block, SessionCore};
use crate::params::Params;
use crate::row::{Column, Row, Rows};
use crate::session::StatementResult;
use planaria_base::{Datum, Error, Result, SqlState, Type};
use planaria_protocol::Hosted;
use planaria_sql::lower::ParamTypes;
use planaria_syntax::ast::cursor::{DeclareCursor, Direction};
use std::collections::HashMap;
use std::sync::Arc;

/// See the module's head.
pub(crate) struct Cursor {
    /// The DECLARE, as it was sent.
    pub(crate) statement: Box<str>,
    /// The moment of its statement: microseconds since 2000-01-01 UTC.
    pub(crate) created: i64,
    columns: Arc<[Column]>,
    rows: Vec<Row>,
    /// 0: before the first row; one more than there are: behind the last.
    at: usize,
    pub(crate) forward_only: bool,
    /// WITH HOLD
    pub(crate) hold: bool,
    /// The transaction that declared it is still open.
    fresh: bool,
    /// Savepoints that were set when it was declared, and still are: going back to one of before ends it.
    savepoints: usize,
    /// The memory of its rows.
    _kept: Kept,
}

pub(crate) type Cursors = HashMap<String, Cursor>;

impl Cursor {
    /// Moves, and answers with the positions of the rows it came to, from 0, in the order they are met.
    fn go(&mut self, direction: Direction) -> Result<Vec<usize>> {
        let (last, at) = (self.rows.len() as i64, self.at as i64);
        let clamp = |to: i64| to.clamp(0, last + 1);
        let one = |to: i64| if (1..=last).contains(&to) { vec![to as usize - 1] } else { Vec::new() };
        let (to, met): (i64, Vec<usize>) = match direction {
            Direction::Forward(0) | Direction::Relative(0) => (at, one(at)),
            Direction::Forward(n) if n > 0 => {
                let to = clamp(at.saturating_add(n));
                (to, (at..to.min(last)).map(|i| i as usize).collect())
            }
            Direction::ForwardAll => (last + 1, (at..last).map(|i| i as usize).collect()),
            Direction::Forward(n) => {
                let to = clamp(at.saturating_add(n));
                (to, (to.max(1)..at).rev().map(|i| i as usize - 1).collect())
            }
            Direction::BackwardAll => (0, (1..at).rev().map(|i| i as usize - 1).collect()),
            Direction::Absolute(n) => {
                let to = clamp(if n < 0 { (last + 1).saturating_add(n) } else { n });
                (to, one(to))
            }
            Direction::Relative(n) => {
                let to = clamp(at.saturating_add(n));
                (to, one(to))
            }
        };
        if self.forward_only && (to < at || matches!(direction, Direction::Absolute(n) if n < 0)) {
            return Err(Error::new(
                SqlState::OBJECT_NOT_IN_PREREQUISITE_STATE,
                "cursor can only scan forward",
            )
            .hint("Declare it with SCROLL option to enable backward scan."));
        }
        self.at = to as usize;
        Ok(met)
    }
}

/// What a row takes.
fn row_bytes(row: &Row) -> usize {
    fn of(value: &Datum) -> usize {
        size_of::<Datum>()
            + match value {
                Datum::Text(s) | Datum::Reg(_, s) => s.len(),
                Datum::Bytea(b) => b.len(),
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

impl<P: Hosted> SessionCore<P> {
    /// `types`: those of the query's parameters, where they are known.
    pub(super) fn declare_cursor(
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

    pub(super) fn fetch(&mut self, name: &str, direction: Direction, moves: bool) -> Result<StatementResult> {
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

    pub(super) fn close_cursor(&mut self, name: Option<&str>) -> Result<StatementResult> {
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
    pub(super) fn cursor_columns(&self, name: &str) -> Option<Arc<[Column]>> {
        self.cursors.get(name).map(|c| c.columns.clone())
    }

    /// The next rows of a cursor, at most `n` of them (0: all).
    pub(super) fn fetch_next(&mut self, name: &str, n: usize) -> Result<Rows> {
        let direction = if n == 0 { Direction::ForwardAll } else { Direction::Forward(n as i64) };
        let answer = self.fetch(name, direction, false)?;
        Ok(answer.rows.unwrap_or_else(Rows::empty))
    }

    /// The transaction goes back to a savepoint, by its number.
    pub(super) fn end_cursors_since(&mut self, savepoint: usize) {
        self.cursors.retain(|_, c| !c.fresh || c.savepoints <= savepoint);
    }

    /// Savepoints from number `len` on are released.
    pub(super) fn cursors_belong_to(&mut self, len: usize) {
        self.cursors.values_mut().for_each(|c| c.savepoints = c.savepoints.min(len));
    }

    /// The end of a transaction block.
    pub(super) fn end_cursors(&mut self, committed: bool) {
        self.cursors.retain(|_, c| c.hold && (committed || !c.fresh));
        self.cursors.values_mut().for_each(|c| c.fresh = false);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::memory::Meter;
    use Direction::{Absolute, BackwardAll, Forward, ForwardAll, Relative};

    fn cursor(rows: usize) -> Cursor {
        let columns: Arc<[Column]> = Arc::from([]);
        let rows = (0..rows).map(|_| Row { columns: columns.clone(), values: Vec::new() }).collect();
        Cursor {
            statement: "".into(),
            created: 0,
            columns,
            rows,
            at: 0,
            forward_only: false,
            hold: false,
            savepoints: 0,
            fresh: true,
            _kept: Meter::new(0).keep_anyway(0),
        }
    }

    /// As PostgreSQL 15 answers to the same moves over generate_series(1, 5), less one.
    #[test]
    fn moves_meet_the_rows_that_postgresql_meets() {
        let mut c = cursor(5);
        let mut go = |direction| c.go(direction).expect("either way");
        assert_eq!(go(Forward(2)), [0, 1]);
        assert_eq!(go(Forward(0)), [1]);
        assert_eq!(go(Forward(-1)), [0]);
        assert_eq!(go(Forward(10)), [1, 2, 3, 4]);
        assert!(go(Forward(1)).is_empty());
        assert_eq!(go(Forward(-1)), [4]);
        assert_eq!(go(Absolute(2)), [1]);
        assert_eq!(go(Relative(2)), [3]);
        assert_eq!(go(Absolute(-1)), [4]);
        assert!(go(Absolute(-9)).is_empty());
        assert_eq!(go(ForwardAll), [0, 1, 2, 3, 4]);
        assert_eq!(go(BackwardAll), [4, 3, 2, 1, 0]);
        assert!(go(Relative(i64::MAX)).is_empty());
        assert_eq!(go(Forward(i64::MIN)), [4, 3, 2, 1, 0]);
    }

    #[test]
    fn one_that_cannot_scroll_goes_forward_only() {
        let mut c = Cursor { forward_only: true, ..cursor(3) };
        assert_eq!(c.go(Forward(2)), Ok(vec![0, 1]));
        assert_eq!(c.go(Forward(-1)).expect_err("refused").sqlstate().as_str(), "55000");
    }
}
