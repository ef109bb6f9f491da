//! The bound tree: names resolved, types known, nothing decided about how.
//!
//! A column is a relation ([`RelId`], unique in the program being lowered) and a position. Group
//! keys, aggregates and window results are columns of pseudo relations, so that everything after
//! binding speaks of columns, registers and constants only. A reference to a relation of an outer
//! query is an ordinary column: when the inner query is emitted, its register holds the value.

use planaria_base::{Datum, ProcedureId, SequenceId, Strength, SystemId, TableId, Type, TypeId};
use planaria_ir::{Coll, Draw, Func, IfClaimed, Output, Question, ReadMode, Reg};
use planaria_syntax::ast::{FrameExclusion, FrameUnits};

/// A relation of a FROM clause, or a pseudo relation.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(super) struct RelId(pub u32);

/// A typed expression. Equality ignores positions.
#[derive(Clone, Debug)]
pub(super) struct Bound {
    pub ty: Type,
    pub position: u32,
    pub kind: BoundKind,
    /// A literal of what is kept as text, which nobody has given a type yet.
    pub kept: bool,
}

impl PartialEq for Bound {
    fn eq(&self, other: &Bound) -> bool {
        self.ty == other.ty && self.kind == other.kind
    }
}

/// Kinds of bound expression.
#[derive(Clone, PartialEq, Debug)]
pub(super) enum BoundKind {
    /// A literal; of type `Unknown` (text or NULL) until its context gives it one.
    Const(Datum),
    /// A variable.
    Reg(Reg),
    /// `$n` of a statement (0-based); of type `Unknown` until inferred.
    Param(usize),
    /// A column.
    Column(RelId, usize),
    /// A function or operator; arguments of its classes.
    Apply(Func, Vec<Bound>),
    /// A conversion that computes.
    Cast(Box<Bound>, bool),
    /// A conversion that only changes how the same value is called: integer to bigint, varchar to
    /// text.
    Relabel(Box<Bound>),
    /// The value, which must meet the conditions of a domain, or (`None`) whose fields must meet those of theirs.
    InDomain(Box<Bound>, Option<TypeId>),
    /// A condition that is to be computed for each combination of rows of these relations, though it names none of
    /// their columns: it calls something volatile.
    PerRow(Vec<RelId>, Box<Bound>),
    /// A condition of a policy: checked before those of the statement ([`super::policy`]).
    Secured(Box<Bound>),
    /// Lazy from left to right where that can be told apart.
    And(Box<Bound>, Box<Bound>),
    Or(Box<Bound>, Box<Bound>),
    /// Searched CASE.
    Case(Vec<(Bound, Bound)>, Box<Bound>),
    Coalesce(Vec<Bound>),
    /// Evaluates values in turn, each once; those behind, and the body, refer to them by `LetRef`.
    Let(Vec<(u32, Bound)>, Box<Bound>),
    LetRef(u32),
    Draw(Draw),
    NextValue(SequenceId),
    CurrentValue(SequenceId),
    SetValue(SequenceId, Box<Bound>, Box<Bound>),
    /// A function of a sequence whose name is computed: how the text begins that calls it, the name, and what else it is given. See
    /// [`sequence_names`](super::sequence_names).
    ByText(Vec<Bound>),
    /// What only the engine can answer.
    Ask(Question, Vec<Bound>),
    /// A scalar function of the user's.
    Call(ProcedureId, Vec<Bound>),
    /// A row; only compared.
    Row(Vec<Bound>),
    /// Scalar subquery.
    Subquery(Box<BoundQuery>),
    Exists(Box<BoundQuery>),
    /// `(left, ..) IN (query)`, the query's outputs converted to the types of left.
    InQuery(Vec<Bound>, Box<BoundQuery>),
    /// `e IN (list)`: all of one type; the function compares two of it for equality.
    InList(Box<Bound>, Vec<Bound>, Func),
    /// `e op ANY (array)` (false) or `ALL` (true).
    Quantified(Box<Bound>, Box<Bound>, Func, bool),
    /// `e op ANY/ALL (query)`.
    QuantifiedQuery(Box<Bound>, Box<BoundQuery>, Func, bool),
    /// `ARRAY(SELECT ..)`
    ArrayQuery(Box<BoundQuery>),
    /// A map of the program does not have this key.
    NotAmong(Coll, Vec<Bound>),
}

/// A query.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct BoundQuery {
    pub body: Body,
    /// Names and types of the visible columns.
    pub columns: Vec<Output>,
    /// Sort keys, by output.
    pub order: Vec<Order>,
    pub limit: Option<Bound>,
    /// Rows that are in no order with the last one of LIMIT are given too.
    pub ties: bool,
    pub offset: Option<Bound>,
    /// Rows that are claimed before they are given.
    pub locks: Vec<Lock>,
}

impl BoundQuery {
    /// Nothing but a body.
    pub fn plain(body: Body, columns: Vec<Output>) -> BoundQuery {
        let (limit, offset) = (None, None);
        BoundQuery { body, columns, order: Vec::new(), limit, ties: false, offset, locks: Vec::new() }
    }
}

/// A table of FROM whose rows are claimed.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) struct Lock {
    pub rel: RelId,
    pub table: TableId,
    pub strength: Strength,
    pub if_claimed: IfClaimed,
}

/// What computes the rows.
#[derive(Clone, PartialEq, Debug)]
pub(super) enum Body {
    Select(Box<BoundSelect>),
    Values(Vec<Vec<Bound>>),
    SetOp(Box<BoundSetOp>),
}

/// UNION, EXCEPT, INTERSECT.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct BoundSetOp {
    pub op: planaria_syntax::ast::SetOp,
    pub all: bool,
    /// All sides' outputs are of the same types.
    pub left: BoundQuery,
    pub right: BoundQuery,
    /// Further sides of a long UNION.
    pub more: Vec<BoundQuery>,
}

impl BoundSetOp {
    /// All sides, from left to right.
    pub fn sides(&self) -> impl Iterator<Item = &BoundQuery> {
        [&self.left, &self.right].into_iter().chain(&self.more)
    }
    /// The same to be changed.
    pub fn sides_mut(&mut self) -> impl Iterator<Item = &mut BoundQuery> {
        [&mut self.left, &mut self.right].into_iter().chain(&mut self.more)
    }
}

/// A sort key.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) struct Order {
    /// Position among the outputs (hidden ones included).
    pub output: usize,
    pub descending: bool,
    pub nulls_first: bool,
}

/// SELECT.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct BoundSelect {
    pub from: Vec<Item>,
    /// WHERE and inner join conditions, split at AND.
    pub filter: Vec<Bound>,
    pub grouping: Option<Grouping>,
    pub windows: Option<Windows>,
    /// Visible outputs, then hidden ones that only sort or tell rows apart.
    pub outputs: Vec<Bound>,
    pub visible: usize,
    pub distinct: Distinct,
    /// What comes after all rows are found.
    pub apart: Option<Box<super::apart::Apart>>,
}

/// DISTINCT.
#[derive(Clone, PartialEq, Debug)]
pub(super) enum Distinct {
    No,
    All,
    /// By these outputs, the first row of each.
    On(Vec<usize>),
}

/// A member of a group of inner joins.
#[derive(Clone, PartialEq, Debug)]
pub(super) enum Item {
    Rel(RelId),
    /// The nullable side of a LEFT JOIN whose other side is among the group's other items.
    Outer {
        right: Vec<Item>,
        /// Conditions that concern the right side alone or both.
        on: Vec<Bound>,
        /// Relations of the left side.
        requires: Vec<RelId>,
    },
    /// FULL JOIN.
    Full {
        left: Vec<Item>,
        left_filter: Vec<Bound>,
        right: Vec<Item>,
        right_filter: Vec<Bound>,
        on: Vec<Bound>,
    },
}

/// Aggregation: GROUP BY, or aggregates without it.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct Grouping {
    /// Its columns: keys, then aggregates.
    pub rel: RelId,
    pub keys: Vec<Bound>,
    pub aggregates: Vec<Aggregate>,
    pub having: Vec<Bound>,
    /// GROUP BY was written (else there is one row always).
    pub grouped: bool,
    /// GROUPING SETS: which of the keys each has. Then the first key is the set's number.
    pub sets: Vec<Vec<bool>>,
}

/// Aggregate functions.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum AggregateKind {
    CountStar,
    Count,
    /// Adds with this function.
    Sum(Func),
    /// Adds with this function; answers numeric.
    AvgNumeric(Func),
    /// Adds, then divides by the count as a double: of doubles and intervals.
    AvgByFloat,
    Min,
    Max,
    /// A column that depends on the group keys.
    First,
    ArrayAgg,
    StringAgg,
    /// One that a user made.
    Own(ProcedureId),
}

/// An aggregate call.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct Aggregate {
    pub kind: AggregateKind,
    /// Already converted to what the kind adds or compares.
    pub args: Vec<Bound>,
    pub distinct: bool,
    pub filter: Option<Bound>,
    pub order: Vec<(Bound, bool, bool)>,
    pub ty: Type,
}

/// Window functions of one SELECT.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct Windows {
    /// Its columns: a result for each call.
    pub rel: RelId,
    pub calls: Vec<WindowCall>,
}

/// Window functions.
#[derive(Clone, PartialEq, Debug)]
pub(super) enum WindowKind {
    RowNumber,
    Rank,
    DenseRank,
    /// Value, offset (negative: lead), default.
    Lag {
        lead: bool,
    },
    FirstValue,
    LastValue,
    /// Value, number.
    NthValue,
    Aggregate(Aggregate),
}

/// The frame of a window function, where it is not the one that there is without a word of it.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct WindowFrame {
    pub units: FrameUnits,
    pub start: WindowEdge,
    pub end: WindowEdge,
    pub exclude: FrameExclusion,
}

/// An edge of a frame. Two of the call's arguments belong to an offset: whether it is negative (NULL: it is NULL), and the
/// offset or, of RANGE, the value at the edge.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) enum WindowEdge {
    Unbounded,
    Current,
    Preceding { negative: usize, offset: usize },
    Following { negative: usize, offset: usize },
}

/// A window function call.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct WindowCall {
    pub kind: WindowKind,
    /// Of an aggregate: nothing but the frame's.
    pub args: Vec<Bound>,
    pub frame: Option<WindowFrame>,
    pub partition: Vec<Bound>,
    /// Expression, descending, NULLs first.
    pub order: Vec<(Bound, bool, bool)>,
    pub ty: Type,
}

/// A relation.
#[derive(Clone, Debug)]
pub(super) struct Rel {
    /// Alias, for plans.
    pub name: String,
    pub columns: Vec<(String, Type)>,
    pub kind: RelKind,
    /// On the nullable side of an outer join.
    pub nullable: bool,
    /// How many expressions use a column; those consumed by an access path no longer count.
    pub uses: Vec<u32>,
    /// Registers of the columns, made when first asked for.
    pub regs: Vec<Option<Reg>>,
    /// The row's handle.
    pub row: Option<Reg>,
    /// The handle is needed (target of UPDATE, DELETE; FOR UPDATE).
    pub row_used: bool,
    /// SKIP LOCKED: rows that are passed over count as not read.
    pub mode: ReadMode,
}

/// Kinds of relation.
#[derive(Clone, PartialEq, Debug)]
pub(super) enum RelKind {
    Table(TableId),
    /// A relation of the system catalogs.
    System(SystemId),
    /// Derived table, view, or CTE that is used once.
    Query(Box<BoundQuery>),
    /// A CTE, by its position in the lowerer's list.
    Cte(usize),
    /// The rows that the last turn of a recursive CTE added, inside its definition.
    Work(usize),
    /// Set-returning functions of one select list, side by side: as many rows as the longest has.
    Zip(Vec<RelId>),
    /// `generate_series(start, stop, step)`
    Series {
        start: Bound,
        stop: Bound,
        step: Bound,
        ordinality: bool,
    },
    /// `unnest(array)`
    Unnest {
        array: Bound,
        ordinality: bool,
    },
    /// A set-returning function of the user's.
    CallSet {
        procedure: ProcedureId,
        args: Vec<Bound>,
        ordinality: bool,
    },
    /// A scalar function in FROM with several result columns.
    CallRow {
        procedure: ProcedureId,
        args: Vec<Bound>,
    },
    /// Expressions: one row.
    Row(Vec<Bound>),
    /// Registers set by whoever made it: group results, EXCLUDED, set operations.
    Pseudo,
}

impl Bound {
    pub fn new(kind: BoundKind, ty: Type, position: u32) -> Bound {
        Bound { ty, position, kind, kept: false }
    }
    pub fn constant(value: Datum, ty: Type, position: u32) -> Bound {
        Bound::new(BoundKind::Const(value), ty, position)
    }
    pub fn null(ty: Type, position: u32) -> Bound {
        Bound::constant(Datum::Null, ty, position)
    }
    pub fn bool(value: bool, position: u32) -> Bound {
        Bound::constant(Datum::Bool(value), Type::Bool, position)
    }
    pub fn column(rel: RelId, column: usize, ty: Type, position: u32) -> Bound {
        Bound::new(BoundKind::Column(rel, column), ty, position)
    }
    pub fn apply(func: Func, args: Vec<Bound>, ty: Type, position: u32) -> Bound {
        Bound::new(BoundKind::Apply(func, args), ty, position)
    }
    pub fn and(self, right: Bound) -> Bound {
        let position = right.position;
        Bound::new(BoundKind::And(Box::new(self), Box::new(right)), Type::Bool, position)
    }
    pub fn or(self, right: Bound) -> Bound {
        let position = right.position;
        Bound::new(BoundKind::Or(Box::new(self), Box::new(right)), Type::Bool, position)
    }
    pub fn negated(self) -> Bound {
        let position = self.position;
        Bound::apply(Func::Not, vec![self], Type::Bool, position)
    }
    /// The parts of a condition that AND joins.
    pub fn into_conjuncts(self) -> Vec<Bound> {
        let mut all = Vec::new();
        self.conjuncts(&mut all);
        all
    }
    /// Without the conversions that change nothing.
    pub fn stripped(&self) -> &Bound {
        match &self.kind {
            BoundKind::Relabel(inner) => inner.stripped(),
            _ => self,
        }
    }
    /// Whether two expressions are the same but for conversions that change nothing, wherever they stand:
    /// `lower(email)` of a `varchar` is `lower((email)::text)`.
    pub fn means(&self, other: &Bound) -> bool {
        let (a, b) = (self.stripped(), other.stripped());
        match (&a.kind, &b.kind) {
            (BoundKind::Apply(f, x), BoundKind::Apply(g, y)) => {
                f == g && x.len() == y.len() && x.iter().zip(y).all(|(x, y)| x.means(y))
            }
            (BoundKind::Coalesce(x), BoundKind::Coalesce(y)) => {
                x.len() == y.len() && x.iter().zip(y).all(|(x, y)| x.means(y))
            }
            (BoundKind::Cast(x, how), BoundKind::Cast(y, other)) => {
                how == other && a.ty == b.ty && x.means(y)
            }
            (BoundKind::Const(x), BoundKind::Const(y)) => x == y && a.ty.base() == b.ty.base(),
            (x, y) => x == y,
        }
    }
    /// The column this is, if it is one.
    pub fn as_column(&self) -> Option<(RelId, usize)> {
        match self.stripped().kind {
            BoundKind::Column(rel, column) => Some((rel, column)),
            _ => None,
        }
    }
    pub fn as_const(&self) -> Option<&Datum> {
        match &self.kind {
            BoundKind::Const(value) => Some(value),
            _ => None,
        }
    }
    /// Cheap to evaluate twice, and the same both times.
    pub fn is_simple(&self) -> bool {
        matches!(
            self.stripped().kind,
            BoundKind::Const(_)
                | BoundKind::Reg(_)
                | BoundKind::Param(_)
                | BoundKind::Column(..)
                | BoundKind::LetRef(_)
        )
    }

    /// Splits at AND into `out`.
    pub fn conjuncts(self, out: &mut Vec<Bound>) {
        match self.kind {
            BoundKind::And(a, b) => {
                a.conjuncts(out);
                b.conjuncts(out);
            }
            BoundKind::Const(Datum::Bool(true)) => {}
            _ => out.push(self),
        }
    }

    /// Calls `f` for each expression directly inside, subqueries' included when `queries`.
    pub fn children<'a>(&'a self, f: &mut dyn FnMut(&'a Bound), queries: &mut dyn FnMut(&'a BoundQuery)) {
        match &self.kind {
            BoundKind::Const(_)
            | BoundKind::Reg(_)
            | BoundKind::Param(_)
            | BoundKind::Column(..)
            | BoundKind::LetRef(_)
            | BoundKind::Draw(_)
            | BoundKind::NextValue(_)
            | BoundKind::CurrentValue(_) => {}
            BoundKind::Apply(_, args)
            | BoundKind::Coalesce(args)
            | BoundKind::Ask(_, args)
            | BoundKind::Call(_, args)
            | BoundKind::ByText(args)
            | BoundKind::NotAmong(_, args)
            | BoundKind::Row(args) => args.iter().for_each(f),
            BoundKind::Cast(e, _)
            | BoundKind::Relabel(e)
            | BoundKind::PerRow(_, e)
            | BoundKind::Secured(e)
            | BoundKind::InDomain(e, _) => f(e),
            BoundKind::And(a, b)
            | BoundKind::Or(a, b)
            | BoundKind::SetValue(_, a, b)
            | BoundKind::Quantified(a, b, ..) => {
                f(a);
                f(b);
            }
            BoundKind::Let(values, body) => {
                values.iter().for_each(|(_, e)| f(e));
                f(body);
            }
            BoundKind::Case(whens, otherwise) => {
                for (when, then) in whens {
                    f(when);
                    f(then);
                }
                f(otherwise);
            }
            BoundKind::InList(e, list, _) => {
                f(e);
                list.iter().for_each(f);
            }
            BoundKind::InQuery(left, query) => {
                left.iter().for_each(f);
                queries(query);
            }
            BoundKind::QuantifiedQuery(e, query, ..) => {
                f(e);
                queries(query);
            }
            BoundKind::Subquery(query) | BoundKind::Exists(query) | BoundKind::ArrayQuery(query) => {
                queries(query)
            }
        }
    }
}

impl Order {
    pub fn key(self, column: u32) -> planaria_ir::SortKey {
        planaria_ir::SortKey { column, descending: self.descending, nulls_first: self.nulls_first }
    }
}
