//! INSERT, UPDATE, DELETE and MERGE.

use super::{Cte, Expr, ExprKind, IndexItem, Into, Name, Position, Query, SelectItem, TableRef};

/// INSERT
#[derive(Clone, PartialEq, Debug)]
pub struct Insert {
    /// WITH
    pub with: Vec<Cte>,
    /// RECURSIVE
    pub recursive: bool,
    /// Table.
    pub table: Name,
    /// AS alias
    pub alias: Option<String>,
    /// Columns; empty: all in order. One of which parts are given stands here for each of them.
    pub columns: Vec<(String, Position)>,
    /// For each of the columns the way to the part of it that is given; empty where none is a part.
    pub parts: Vec<Vec<Step>>,
    /// OVERRIDING SYSTEM VALUE (`true`) / USER VALUE (`false`)
    pub overriding: Option<bool>,
    /// Rows.
    pub source: InsertSource,
    /// ON CONFLICT
    pub on_conflict: Option<OnConflict>,
    /// RETURNING
    pub returning: Vec<SelectItem>,
    /// PL/pgSQL: INTO of RETURNING
    pub into: Option<Into>,
    /// A row of COPY FROM: who copies fires the triggers that fire once, or see all rows
    pub copied: bool,
}

impl Insert {
    /// The way to the part of a column that an item of the list gives; empty: it gives the column.
    pub fn part(&self, item: usize) -> &[Step] {
        self.parts.get(item).map_or(&[], Vec::as_slice)
    }
    /// Whether parts of columns are given.
    pub fn has_parts(&self) -> bool {
        !self.parts.is_empty()
    }
}

/// A way into a value that is assigned to.
#[derive(Clone, PartialEq, Debug)]
pub enum Step {
    /// `[i]`, `[i][j:k]`
    Subscripts(Vec<Subscript>),
    /// `.f`
    Field(String),
}

impl Step {
    /// The field that it leads to, if it does.
    pub fn field(&self) -> Option<&str> {
        match self {
            Step::Field(name) => Some(name),
            Step::Subscripts(_) => None,
        }
    }
}

/// Where the rows of an INSERT come from. In VALUES, `None` is DEFAULT.
#[derive(Clone, PartialEq, Debug)]
pub enum InsertSource {
    /// VALUES lists
    Values(Vec<Vec<Option<Expr>>>),
    /// A query.
    Query(Box<Query>),
    /// DEFAULT VALUES, and where that stands
    Default(Position),
}

/// ON CONFLICT
#[derive(Clone, PartialEq, Debug)]
pub struct OnConflict {
    /// Target.
    pub target: Option<ConflictTarget>,
    /// DO UPDATE SET ..; `None` is DO NOTHING.
    pub update: Option<ConflictUpdate>,
    /// Where it stands.
    pub position: Position,
}

/// Target of ON CONFLICT.
#[derive(Clone, PartialEq, Debug)]
#[allow(missing_docs, reason = "fields are named after the clause in the line above them")]
pub enum ConflictTarget {
    /// (columns) [WHERE condition]
    Columns { items: Vec<IndexItem>, predicate: Option<Box<Expr>> },
    /// ON CONSTRAINT name
    Constraint(String),
}

/// DO UPDATE
#[derive(Clone, PartialEq, Debug)]
pub struct ConflictUpdate {
    /// SET
    pub set: Vec<Assignment>,
    /// WHERE
    pub filter: Option<Expr>,
}

/// `column = value` of SET; `None` is DEFAULT. `(a, b) = (1, 2)` becomes two; `(a, b) = (SELECT ..)` keeps
/// both columns.
#[derive(Clone, PartialEq, Debug)]
pub struct Assignment {
    /// Columns with positions.
    pub columns: Vec<(String, Position)>,
    /// Value: one expression for one column, a Subquery for several.
    pub value: Option<Expr>,
}

/// What stands in brackets behind a value.
#[derive(Clone, PartialEq, Debug)]
pub enum Subscript {
    /// `[i]`
    Element(Expr),
    /// `[i:j]`; a bound that is left out is that of the array
    Slice(Option<Expr>, Option<Expr>),
}

impl Subscript {
    /// The expressions in it.
    pub fn exprs(&self) -> impl Iterator<Item = &Expr> {
        let (first, second) = match self {
            Subscript::Element(e) => (Some(e), None),
            Subscript::Slice(low, high) => (low.as_ref(), high.as_ref()),
        };
        first.into_iter().chain(second)
    }
}

/// The function that an assignment to a slice calls: array, of each bound whether it is given (`1`, `0`), those that are,
/// new elements -> array.
pub const PUT_SLICE: &str = "our put slice";

/// The function that an assignment to an element calls: array, a subscript for each dimension, value -> array.
pub const PUT: &str = "our put";

/// The function that an assignment to a field calls: row, name, value -> row.
pub const PUT_FIELD: &str = "our put field";

/// The function that WHERE CURRENT OF calls, of a cursor.
pub const CURRENT_OF: &str = "our current of";

/// The cursor of WHERE CURRENT OF, if a condition is that.
pub fn current_of(condition: &Expr) -> Option<&Name> {
    match &condition.kind {
        ExprKind::Call(call) if call.name.parts == [CURRENT_OF] => match &call.args.first()?.value.kind {
            ExprKind::Column(name) => Some(name),
            _ => None,
        },
        _ => None,
    }
}

/// UPDATE
#[derive(Clone, PartialEq, Debug)]
pub struct Update {
    /// WITH
    pub with: Vec<Cte>,
    /// RECURSIVE
    pub recursive: bool,
    /// Table.
    pub table: Name,
    /// ONLY
    pub only: bool,
    /// AS alias
    pub alias: Option<String>,
    /// SET
    pub set: Vec<Assignment>,
    /// FROM
    pub from: Vec<TableRef>,
    /// WHERE
    pub filter: Option<Expr>,
    /// RETURNING
    pub returning: Vec<SelectItem>,
    /// PL/pgSQL: INTO of RETURNING
    pub into: Option<Into>,
}

/// DELETE
#[derive(Clone, PartialEq, Debug)]
pub struct Delete {
    /// WITH
    pub with: Vec<Cte>,
    /// RECURSIVE
    pub recursive: bool,
    /// Table.
    pub table: Name,
    /// ONLY
    pub only: bool,
    /// AS alias
    pub alias: Option<String>,
    /// USING
    pub using: Vec<TableRef>,
    /// WHERE
    pub filter: Option<Expr>,
    /// RETURNING
    pub returning: Vec<SelectItem>,
    /// PL/pgSQL: INTO of RETURNING
    pub into: Option<Into>,
}

/// MERGE
#[derive(Clone, PartialEq, Debug)]
pub struct Merge {
    /// WITH
    pub with: Vec<Cte>,
    /// Table.
    pub table: Name,
    /// AS alias
    pub alias: Option<String>,
    /// USING
    pub source: TableRef,
    /// ON
    pub on: Expr,
    /// What becomes of the rows, in the order in which that is tried.
    pub whens: Vec<MergeWhen>,
}

/// WHEN [NOT] MATCHED [AND condition] THEN action
#[derive(Clone, PartialEq, Debug)]
pub struct MergeWhen {
    /// Of rows that are in the table.
    pub matched: bool,
    /// AND
    pub condition: Option<Expr>,
    /// THEN
    pub action: MergeAction,
}

/// What MERGE does with a row.
#[derive(Clone, PartialEq, Debug)]
pub enum MergeAction {
    /// DO NOTHING
    Nothing,
    /// UPDATE SET
    Update(Vec<Assignment>),
    /// DELETE
    Delete,
    /// INSERT, of one row: VALUES or DEFAULT VALUES
    Insert(Box<Insert>),
}
