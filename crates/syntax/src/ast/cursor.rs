//! Cursors: DECLARE, FETCH, MOVE.

use super::Statement;

/// DECLARE
#[derive(Clone, PartialEq, Debug)]
pub struct DeclareCursor {
    /// Name.
    pub name: String,
    /// SCROLL or NO SCROLL, if said.
    pub scroll: Option<bool>,
    /// WITH HOLD: it outlives its transaction.
    pub hold: bool,
    /// The query.
    pub query: Box<Statement>,
}

/// Where FETCH and MOVE go.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Direction {
    /// So many rows on; backwards if negative.
    Forward(i64),
    /// FORWARD ALL
    ForwardAll,
    /// BACKWARD ALL
    BackwardAll,
    /// The row of this number, from 1; from the end if negative.
    Absolute(i64),
    /// The row that is so many further.
    Relative(i64),
}
