//! Parts of FROM.

use super::{Expr, Position};

/// `AS name (columns)`
#[derive(Clone, PartialEq, Debug)]
pub struct TableAlias {
    /// Name.
    pub name: String,
    /// Column names.
    pub columns: Vec<String>,
}

/// Kinds of join.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum JoinKind {
    /// INNER
    Inner,
    /// LEFT
    Left,
    /// RIGHT
    Right,
    /// FULL
    Full,
    /// CROSS
    Cross,
}

/// Join condition.
#[derive(Clone, PartialEq, Debug)]
pub enum JoinCondition {
    /// CROSS
    None,
    /// ON
    On(Expr),
    /// USING (..)
    Using(Vec<String>),
    /// NATURAL; where the join ends
    Natural(Position),
}
