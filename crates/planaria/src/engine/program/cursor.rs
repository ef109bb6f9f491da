//! Cursors of SQL: DECLARE runs the query and keeps its rows, FETCH and MOVE walk among them, either way.
//!
//! A cursor ends with its transaction, one WITH HOLD with its session, or when its transaction is rolled back.
//!
//! Programs open cursors, too: those of PL/pgSQL whose names leave their routines. A statement that is run again finds the
//! cursors as they were before it, and so does nobody after one that failed ([`Cursors::end_statement`]).

use crate::engine::memory::Kept;
use crate::row::{Columns, Row, Rows};
use crate::system::{CursorInfo, OpenCursors};
use planaria_base::shape::Shape;
use planaria_base::{Datum, Error, Result, SqlState, TableId};
use planaria_exec::CursorAt;
use planaria_ir::Output;
use planaria_syntax::ast::cursor::Direction;
use std::collections::HashMap;
use std::sync::Arc;

/// See the module's head.
#[derive(Clone)]
pub(crate) struct Cursor {
    /// The DECLARE, as it was sent.
    pub(crate) statement: Box<str>,
    /// The moment of its statement: microseconds since 2000-01-01 UTC.
    pub(crate) created: i64,
    pub(crate) columns: Columns,
    pub(crate) rows: Arc<Vec<Row>>,
    /// What tells its rows apart, for WHERE CURRENT OF.
    pub(crate) keys: Option<Keys>,
    /// 0: before the first row; one more than there are: behind the last.
    pub(crate) at: usize,
    pub(crate) forward_only: bool,
    /// WITH HOLD
    pub(crate) hold: bool,
    /// The transaction that declared it is still open.
    pub(crate) fresh: bool,
    /// Savepoints that were set when it was declared, and still are: going back to one of before ends it.
    pub(crate) savepoints: usize,
    /// Cursors that were opened before it in this session.
    pub(crate) number: u64,
    /// The memory of its rows.
    pub(crate) _kept: Arc<Kept>,
}

/// The keys of a cursor's rows, which are those of one table.
#[derive(Clone)]
pub(crate) struct Keys {
    pub(crate) table: TableId,
    pub(crate) columns: Arc<[Output]>,
    pub(crate) rows: Arc<Vec<Vec<Datum>>>,
}

/// The rows of a cursor that is being opened.
pub(crate) struct Opening {
    number: u64,
    statement: Box<str>,
    columns: Columns,
    rows: Vec<Row>,
}

impl Cursor {
    /// Where it stands.
    pub(crate) fn stands(&self) -> CursorAt {
        let row = |keys: &Keys| keys.rows.get(self.at.checked_sub(1)?).cloned();
        CursorAt {
            keys: self.keys.as_ref().map(|keys| (keys.table, keys.columns.clone())),
            row: self.keys.as_ref().and_then(row),
        }
    }
}

/// The cursors of a session.
#[derive(Default)]
pub(crate) struct Cursors {
    pub(crate) open: HashMap<String, Cursor>,
    /// As they were before the statement, where its program has opened, moved or closed any.
    before: Option<HashMap<String, Cursor>>,
    /// Those that programs are about to open, innermost last.
    opening: Vec<Opening>,
    /// Numbers given so far: to cursors, and to those without a name.
    pub(crate) opened: u64,
    unnamed: u64,
}

/// Takes the key of each row from behind its columns.
pub(crate) fn split_keys(rows: &mut Rows, table: TableId, columns: Vec<Output>) -> Keys {
    let visible = rows.columns.len() - columns.len();
    let shown: Columns = rows.columns[..visible].iter().cloned().collect();
    let mut keys = Vec::with_capacity(rows.rows.len());
    for row in &mut rows.rows {
        keys.push(row.values.split_off(visible));
        row.columns = shown.clone();
    }
    rows.columns = shown;
    Keys { table, columns: columns.into(), rows: Arc::new(keys) }
}

/// 34000
pub(crate) fn no_cursor(name: &str) -> Error {
    Error::new(SqlState::INVALID_CURSOR_NAME, format!("cursor \"{name}\" does not exist"))
}

impl Cursors {
    /// A program is about to change something about them.
    fn change(&mut self) -> &mut HashMap<String, Cursor> {
        if self.before.is_none() {
            self.before = Some(self.open.clone());
        }
        &mut self.open
    }

    /// The end of a statement is nothing to them.
    #[inline]
    pub(crate) fn rests(&self) -> bool {
        self.opening.is_empty() && self.before.is_none()
    }

    /// A statement has ended, or is going to be run again.
    #[cold]
    pub(crate) fn end_statement(&mut self, done: bool, in_block: bool) {
        self.opening.clear();
        let Some(before) = self.before.take() else { return };
        if !done {
            self.open = before;
        } else if !in_block {
            self.open.retain(|_, c| c.hold);
        }
    }

    /// A program opens a cursor for rows that it is going to give.
    pub(crate) fn begin(&mut self, statement: &str, columns: Columns) {
        self.opened += 1;
        let opening = Opening { number: self.opened, statement: statement.into(), columns, rows: Vec::new() };
        self.opening.push(opening);
    }

    /// Where the rows of the program go, if it opens a cursor: their columns, and the rows so far.
    pub(crate) fn opening(&mut self) -> Option<(&Columns, &mut Vec<Row>)> {
        self.opening.last_mut().map(|o| (&o.columns, &mut o.rows))
    }

    /// All rows have come; answers with the cursor's name. 42P03
    pub(crate) fn finish(
        &mut self,
        name: Option<&str>,
        forward_only: bool,
        created: i64,
        savepoints: usize,
        keep: impl FnOnce(u64) -> Result<Kept>,
    ) -> Result<String> {
        let opening = self.opening.pop().ok_or_else(|| Error::internal("no cursor is being opened"))?;
        let name = match name {
            Some(name) => name.to_owned(),
            None => loop {
                self.unnamed += 1;
                let name = format!("<unnamed portal {}>", self.unnamed);
                if !self.open.contains_key(&name) {
                    break name;
                }
            },
        };
        let bytes: usize = opening.rows.iter().map(row_bytes).sum();
        let cursor = Cursor {
            statement: opening.statement,
            created,
            columns: opening.columns,
            keys: None,
            rows: Arc::new(opening.rows),
            at: 0,
            forward_only,
            hold: false,
            fresh: true,
            savepoints,
            number: opening.number,
            _kept: Arc::new(keep(bytes as u64)?),
        };
        self.change().insert(name.clone(), cursor);
        Ok(name)
    }

    /// The cursor of a name, to be moved by a program. 34000
    pub(crate) fn moved(&mut self, name: &str) -> Result<&mut Cursor> {
        self.change().get_mut(name).ok_or_else(|| no_cursor(name))
    }

    /// The last columns of a cursor's rows are the keys of these rows, which are of a table. 34000
    pub(crate) fn split(&mut self, name: &str, table: TableId, keys: &[Output]) -> Result<()> {
        let cursor = self.moved(name)?;
        let all = Arc::unwrap_or_clone(std::mem::take(&mut cursor.rows));
        let mut rows = Rows { columns: cursor.columns.clone(), rows: all };
        cursor.keys = Some(split_keys(&mut rows, table, keys.to_vec()));
        cursor.columns = rows.columns;
        cursor.rows = Arc::new(rows.rows);
        Ok(())
    }

    /// CLOSE of a program. 34000
    pub(crate) fn close(&mut self, name: &str) -> Result<()> {
        self.change().remove(name).map(|_| ()).ok_or_else(|| no_cursor(name))
    }

    /// A program takes back what it did since so many cursors had been opened.
    pub(crate) fn close_since(&mut self, opened: u64) {
        self.opening.retain(|o| o.number <= opened);
        if self.open.values().any(|c| c.number > opened) {
            self.change().retain(|_, c| c.number <= opened);
        }
    }
}

/// What a row takes.
pub(crate) fn row_bytes(row: &Row) -> usize {
    size_of::<Row>() + row.values.iter().map(value_bytes).sum::<usize>()
}

/// What a value takes.
pub(crate) fn value_bytes(value: &Datum) -> usize {
    size_of::<Datum>()
        + match value {
            Datum::Text(s) | Datum::Reg(_, s) => s.len(),
            Datum::Bytea(b) => b.len(),
            Datum::Jsonb(s) | Datum::Citext(s) => s.len(),
            Datum::Long(n) => n.bytes_about(),
            Datum::Array(items) => items.iter().map(value_bytes).sum(),
            Datum::Shaped(of) => size_of::<Shape>() + of.elements().iter().map(value_bytes).sum::<usize>(),
            _ => 0,
        }
}

impl OpenCursors for Cursors {
    fn each(&self, f: &mut dyn FnMut(CursorInfo<'_>)) {
        for (name, cursor) in &self.open {
            let Cursor { statement, created, hold, forward_only, .. } = cursor;
            f(CursorInfo { name, statement, created: *created, hold: *hold, forward_only: *forward_only });
        }
    }
}

impl Cursor {
    /// Moves, and answers with the positions of the rows it came to, from 0, in the order they are met.
    pub(crate) fn go(&mut self, direction: Direction) -> Result<Vec<usize>> {
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
            .with_hint("Declare it with SCROLL option to enable backward scan."));
        }
        self.at = to as usize;
        Ok(met)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::memory::Meter;
    use Direction::{Absolute, BackwardAll, Forward, ForwardAll, Relative};

    fn cursor(rows: usize) -> Cursor {
        let columns = Columns::default();
        let heap = planaria_exec::Heap::new();
        let rows = (0..rows).map(|_| Row::of(&columns, Vec::new(), &heap)).collect();
        Cursor {
            statement: "".into(),
            created: 0,
            columns,
            keys: None,
            rows: Arc::new(rows),
            at: 0,
            forward_only: false,
            hold: false,
            savepoints: 0,
            number: 0,
            fresh: true,
            _kept: Arc::new(Meter::new(0).keep_anyway(0)),
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
