//! An expression or a query as PostgreSQL's parser understands it: names resolved, conversions in their places.

use planaria_base::oid::Oid;
use planaria_syntax::ast::{FrameExclusion, FrameUnits, JoinKind, SetOp};

/// A type with its modifier, -1 without.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Ty {
    pub(super) oid: Oid,
    pub(super) modifier: i32,
}

impl Ty {
    pub(super) const fn plain(oid: Oid) -> Ty {
        Ty { oid, modifier: -1 }
    }
}

/// Whether somebody wrote a conversion.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Form {
    Explicit,
    Implicit,
}

/// How a value is converted: what decides about parentheses around it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum CastKind {
    /// By a function.
    Function,
    /// Anything else: it counts as what is converted does.
    Other,
}

/// What has words of its own between its arguments.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Worded {
    AtTimeZone,
    Extract,
    IsNormalized,
    Normalize,
    Overlaps,
    Overlay,
    Position,
    Substring,
    Trim(&'static str),
}

/// Calls of functions.
#[derive(Clone, Debug)]
pub(super) struct CallNode {
    /// As it is written, with its schema where that is needed.
    pub(super) name: String,
    pub(super) args: Vec<(Option<String>, Node)>,
    pub(super) variadic: bool,
    pub(super) distinct: bool,
    pub(super) star: bool,
    pub(super) order: Vec<SortNode>,
    /// WITHIN GROUP: `order` stands there.
    pub(super) within: bool,
    pub(super) filter: Option<Node>,
    pub(super) over: Option<WindowNode>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Logic {
    And,
    Or,
    Not,
}

/// An expression.
#[derive(Clone, Debug)]
pub(super) struct Node {
    pub(super) ty: Ty,
    pub(super) kind: NodeKind,
}

#[derive(Clone, Debug)]
pub(super) enum NodeKind {
    /// A column of a relation by its number, or of none: a merged one, which stands alone.
    Column(Option<usize>, String),
    /// A whole row of a relation by its number.
    Whole(usize),
    /// VALUE of a domain's condition.
    Value,
    /// The operand of CASE, within its conditions.
    CaseOperand,
    /// A constant as its type prints it; `None`: NULL. Of type unknown before its context gives it one.
    Const(Option<String>),
    Call(Box<CallNode>),
    Worded(Worded, Vec<Node>),
    Operator(String, Vec<Node>),
    Distinct(Box<Node>, Box<Node>),
    NullIf(Box<Node>, Box<Node>),
    /// `left op ANY (array)`; true: ALL
    Quantified(String, bool, Box<Node>, Box<Node>),
    Logic(Logic, Vec<Node>),
    Cast(CastKind, Form, Box<Node>),
    Domain(Form, Box<Node>),
    Case(Option<Box<Node>>, Vec<(Node, Node)>, Box<Node>),
    Array(Vec<Node>),
    Row(Vec<Node>),
    /// `ROW(..) op ROW(..)`
    RowCompare(String, Vec<Node>, Vec<Node>),
    Coalesce(Vec<Node>),
    /// GREATEST or LEAST
    MinMax(&'static str, Vec<Node>),
    /// `CURRENT_TIMESTAMP(3)`
    SqlValue(String),
    /// IS [NOT] NULL
    Null(Box<Node>, bool),
    /// IS [NOT] TRUE and so on
    Truth(Box<Node>, &'static str),
    Subscripts(Box<Node>, Vec<SubscriptNode>),
    Field(Box<Node>, String),
    Collate(Box<Node>, String),
    Sublink(Box<Sublink>),
}

#[derive(Clone, Debug)]
pub(super) enum SubscriptNode {
    Element(Node),
    Slice(Option<Node>, Option<Node>),
}

#[derive(Clone, Debug)]
pub(super) struct Sublink {
    pub(super) kind: SublinkKind,
    /// What is compared with the query's rows.
    pub(super) test: Vec<Node>,
    pub(super) query: QueryNode,
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum SublinkKind {
    Exists,
    Scalar,
    Array,
    /// The operator, and whether it is ALL.
    Quantified(String, bool),
}

#[derive(Clone, Debug)]
pub(super) struct SortNode {
    pub(super) expr: Node,
    /// The number of the output, where that is written.
    pub(super) number: usize,
    pub(super) descending: bool,
    pub(super) nulls_first: bool,
}

#[derive(Clone, Debug)]
pub(super) struct WindowNode {
    /// A window of the WINDOW clause: of a call the window itself, of a window the one that it goes on from.
    pub(super) name: Option<String>,
    /// Whether there is nothing else: OVER name.
    pub(super) named: bool,
    pub(super) partition: Vec<Node>,
    pub(super) order: Vec<SortNode>,
    pub(super) frame: Option<FrameNode>,
}

#[derive(Clone, Debug)]
pub(super) struct FrameNode {
    pub(super) units: FrameUnits,
    pub(super) between: bool,
    pub(super) start: EdgeNode,
    pub(super) end: EdgeNode,
    pub(super) exclude: FrameExclusion,
}

#[derive(Clone, Debug)]
pub(super) enum EdgeNode {
    Unbounded,
    Current,
    Preceding(Node),
    Following(Node),
}

#[derive(Clone, Debug)]
pub(super) struct QueryNode {
    pub(super) with: Vec<CteNode>,
    pub(super) recursive: bool,
    pub(super) body: BodyNode,
    pub(super) order: Vec<SortNode>,
    pub(super) limit: Option<Node>,
    pub(super) ties: bool,
    pub(super) offset: Option<Node>,
    /// Names and types of its outputs.
    pub(super) columns: Vec<(String, Ty)>,
    /// Numbers of the relations of its FROM, in order.
    pub(super) relations: Vec<usize>,
}

impl QueryNode {
    /// Whether it is nothing but its body.
    pub(super) fn is_bare(&self) -> bool {
        self.with.is_empty() && self.order.is_empty() && self.limit.is_none() && self.offset.is_none()
    }
}

#[derive(Clone, Debug)]
pub(super) struct CteNode {
    pub(super) name: String,
    pub(super) columns: Vec<String>,
    pub(super) query: QueryNode,
}

#[derive(Clone, Debug)]
pub(super) enum BodyNode {
    Select(Box<SelectNode>),
    Values(Vec<Vec<Node>>),
    SetOp(SetOp, bool, Box<QueryNode>, Box<QueryNode>),
}

#[derive(Clone, Debug)]
pub(super) struct SelectNode {
    /// DISTINCT; with expressions: ON them
    pub(super) distinct: Option<Vec<Node>>,
    pub(super) items: Vec<(Node, String)>,
    pub(super) from: Vec<FromNode>,
    pub(super) filter: Option<Node>,
    pub(super) group: Vec<Node>,
    pub(super) having: Option<Node>,
    pub(super) windows: Vec<(String, WindowNode)>,
}

#[derive(Clone, Debug)]
pub(super) enum FromNode {
    /// A relation by its number.
    Relation(usize),
    Join {
        kind: JoinKind,
        left: Box<FromNode>,
        right: Box<FromNode>,
        using: Vec<String>,
        on: Option<Node>,
    },
}

/// A relation of FROM.
#[derive(Clone, Debug)]
pub(super) struct Relation {
    /// The alias that was given, or what it is called without one.
    pub(super) name: String,
    pub(super) aliased: bool,
    /// Names of its columns.
    pub(super) columns: Vec<String>,
    /// Whether they are written behind the alias.
    pub(super) shows_columns: bool,
    pub(super) lateral: bool,
    /// The type of its rows.
    pub(super) row: Ty,
    pub(super) kind: RelationKind,
}

#[derive(Clone, Debug)]
pub(super) enum RelationKind {
    /// A table or view, as it is written.
    Stored {
        shown: String,
        only: bool,
    },
    Cte(String),
    Query(Box<QueryNode>),
    Function {
        call: Box<Node>,
        ordinality: bool,
    },
}
