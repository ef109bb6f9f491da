//! WITH.

use super::{Expr, Position, Statement};

/// A common table expression.
#[derive(Clone, PartialEq, Debug)]
pub struct Cte {
    /// Name.
    pub name: String,
    /// Column names.
    pub columns: Vec<String>,
    /// Its statement (a query, or DML with RETURNING).
    pub statement: Box<Statement>,
    /// SEARCH
    pub search: Option<Search>,
    /// CYCLE
    pub cycle: Option<Cycle>,
}

/// `SEARCH {DEPTH | BREADTH} FIRST BY columns SET name`
#[derive(Clone, PartialEq, Debug)]
pub struct Search {
    /// BREADTH
    pub breadth: bool,
    /// BY
    pub columns: Vec<String>,
    /// SET
    pub sequence: String,
    /// Where it stands.
    pub position: Position,
}

/// `CYCLE columns SET mark [TO value DEFAULT otherwise] USING path`
#[derive(Clone, PartialEq, Debug)]
pub struct Cycle {
    /// What tells rows apart.
    pub columns: Vec<String>,
    /// SET
    pub mark: String,
    /// TO: of rows that close a cycle.
    pub value: Expr,
    /// DEFAULT: of the others.
    pub otherwise: Expr,
    /// USING
    pub path: String,
    /// Where it stands.
    pub position: Position,
}
