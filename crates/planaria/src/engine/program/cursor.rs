//! Cursors of SQL: DECLARE runs the query and keeps its rows, FETCH and MOVE walk among them, either way.
//!
//! A cursor ends with its transaction, one WITH HOLD with its session, or when its transaction is rolled back.

use crate::engine::memory::Kept;
use crate::row::{Column, Row};
use crate::system::{CursorInfo, OpenCursors};
use planaria_base::{Error, Result, SqlState};
use planaria_syntax::ast::cursor::Direction;
use std::collections::HashMap;
use std::sync::Arc;

/// See the module's head.
pub(crate) struct Cursor {
    /// The DECLARE, as it was sent.
    pub(crate) statement: Box<str>,
    /// The moment of its statement: microseconds since 2000-01-01 UTC.
    pub(crate) created: i64,
    pub(crate) columns: Arc<[Column]>,
    pub(crate) rows: Vec<Row>,
    /// 0: before the first row; one more than there are: behind the last.
    pub(crate) at: usize,
    pub(crate) forward_only: bool,
    /// WITH HOLD
    pub(crate) hold: bool,
    /// The transaction that declared it is still open.
    pub(crate) fresh: bool,
    /// Savepoints that were set when it was declared, and still are: going back to one of before ends it.
    pub(crate) savepoints: usize,
    /// The memory of its rows.
    pub(crate) _kept: Kept,
}

pub(crate) type Cursors = HashMap<String, Cursor>;

impl OpenCursors for Cursors {
    fn each(&self, f: &mut dyn FnMut(CursorInfo<'_>)) {
        for (name, cursor) in self {
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
        let columns: Arc<[Column]> = Arc::from([]);
        let rows =
            (0..rows).map(|_| Row { columns: columns.clone(), values: Vec::new(), zone: None }).collect();
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
