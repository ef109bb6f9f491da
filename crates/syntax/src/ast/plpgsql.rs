//! The syntax tree of a PL/pgSQL body. Positions count from the start of the *body* text.

use super::{Expr, Into, Name, Position, Query, Statement, Transaction, TypeName};

/// What of SQL has no meaning in a body: SAVEPOINT, START TRANSACTION and the like.
pub const TRANSACTION_CONTROL: &str = "transaction control";

/// What a name is that both a variable and a column have.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub enum VariableConflict {
    /// 42702
    #[default]
    Error,
    /// `use_variable`
    Variable,
    /// `use_column`
    Column,
}

/// `<<label>> DECLARE .. BEGIN .. EXCEPTION .. END label`
#[derive(Clone, PartialEq, Debug)]
pub struct PlBlock {
    /// `#variable_conflict`, of the whole body.
    pub conflict: VariableConflict,
    /// Label.
    pub label: Option<String>,
    /// Declarations.
    pub declarations: Vec<Declaration>,
    /// Statements.
    pub body: Vec<Stmt>,
    /// EXCEPTION handlers; none: no savepoint.
    pub handlers: Vec<PlHandler>,
    /// Where it stands.
    pub position: Position,
}

/// A declaration.
#[derive(Clone, PartialEq, Debug)]
pub struct Declaration {
    /// Name.
    pub name: String,
    /// What it declares.
    pub kind: DeclarationKind,
    /// Where it stands.
    pub position: Position,
    /// Where it ends: behind its semicolon.
    pub end: Position,
}

/// Kinds of declaration.
#[derive(Clone, PartialEq, Debug)]
#[allow(missing_docs, reason = "fields are named after the clause in the line above them")]
pub enum DeclarationKind {
    /// `name [CONSTANT] type [NOT NULL] [:= expr]`
    Variable { ty: TypeName, constant: bool, not_null: bool, default: Option<Expr> },
    /// `name ALIAS FOR other` (`$1` is the text `$1`)
    Alias(String),
    /// `name [[NO] SCROLL] CURSOR [(parameter type, ..)] FOR query`
    Cursor { scroll: Option<bool>, parameters: Vec<(String, TypeName)>, query: Box<Statement> },
}

/// `WHEN conditions THEN statements`
#[derive(Clone, PartialEq, Debug)]
pub struct PlHandler {
    /// Conditions.
    pub conditions: Vec<Condition>,
    /// Statements.
    pub body: Vec<Stmt>,
}

/// A condition of a handler.
#[derive(Clone, PartialEq, Debug)]
pub enum Condition {
    /// A name (`unique_violation`, `others`)
    Name(String, Position),
    /// SQLSTATE 'xxxxx'
    State(String, Position),
}

/// A statement with its place.
#[derive(Clone, PartialEq, Debug)]
pub struct Stmt {
    /// Where it stands.
    pub position: Position,
    /// Where it ends: behind its semicolon.
    pub end: Position,
    /// What it is.
    pub kind: StmtKind,
}

/// Statements of PL/pgSQL.
#[derive(Clone, PartialEq, Debug)]
#[allow(missing_docs, reason = "fields are named after the clause in the line above them")]
pub enum StmtKind {
    /// `target := expr`
    Assign { target: Expr, value: Expr },
    /// Nested block.
    Block(Box<PlBlock>),
    /// IF .. ELSIF .. ELSE
    If { branches: Vec<(Expr, Vec<Stmt>)>, otherwise: Vec<Stmt> },
    /// CASE [operand] WHEN values THEN ..; without ELSE, no match raises 20000
    Case { operand: Option<Expr>, whens: Vec<(Vec<Expr>, Vec<Stmt>)>, otherwise: Option<Vec<Stmt>> },
    /// LOOP
    Loop { label: Option<String>, body: Vec<Stmt> },
    /// WHILE
    While { label: Option<String>, condition: Expr, body: Vec<Stmt> },
    /// FOR i IN [REVERSE] a..b [BY s]
    ForRange {
        label: Option<String>,
        variable: String,
        reverse: bool,
        from: Expr,
        to: Expr,
        step: Option<Expr>,
        body: Vec<Stmt>,
    },
    /// FOR targets IN query
    ForQuery { label: Option<String>, targets: Vec<Expr>, query: Box<Statement>, body: Vec<Stmt> },
    /// FOR targets IN EXECUTE text USING args
    ForExecute { label: Option<String>, targets: Vec<Expr>, text: Expr, using: Vec<Expr>, body: Vec<Stmt> },
    /// FOREACH target IN ARRAY array
    ForEach { label: Option<String>, targets: Vec<Expr>, slice: Option<u32>, array: Expr, body: Vec<Stmt> },
    /// EXIT [label] [WHEN condition]
    Exit { label: Option<String>, when: Option<Expr> },
    /// CONTINUE [label] [WHEN condition]
    Continue { label: Option<String>, when: Option<Expr> },
    /// RETURN [expr]
    Return(Option<Expr>),
    /// RETURN NEXT [expr]
    ReturnNext(Option<Expr>),
    /// RETURN QUERY query, or INSERT, UPDATE, DELETE
    ReturnQuery(Box<Statement>),
    /// RETURN QUERY EXECUTE text USING args
    ReturnQueryExecute { text: Expr, using: Vec<Expr> },
    /// RAISE
    Raise(Box<Raise>),
    /// ASSERT condition [, message]
    Assert { condition: Expr, message: Option<Expr> },
    /// PERFORM query (its text with SELECT instead of PERFORM)
    Perform(Box<Query>),
    /// A SQL statement; INTO stands in its tree
    Sql(Box<Statement>),
    /// EXECUTE text [INTO ..] [USING ..]
    Execute { text: Expr, into: Option<Into>, using: Vec<Expr> },
    /// GET [CURRENT] DIAGNOSTICS target = item, ..
    GetDiagnostics { stacked: bool, items: Vec<(Expr, String)> },
    /// OPEN cursor ..
    Open { cursor: Name, scroll: Option<bool>, what: Opened },
    /// FETCH [direction FROM] cursor INTO targets; MOVE, without targets
    Fetch { cursor: Name, direction: PlDirection, into: Option<Into> },
    /// CLOSE cursor
    Close(Name),
    /// FOR target IN cursor [(arguments)]
    ForCursor {
        label: Option<String>,
        targets: Vec<Expr>,
        cursor: Name,
        args: Vec<(Option<String>, Expr)>,
        body: Vec<Stmt>,
    },
    /// NULL
    Null,
    /// COMMIT / ROLLBACK [AND [NO] CHAIN]
    Transaction(Transaction),
    /// What is not supported, by name
    Unsupported(String),
}

/// RAISE
#[derive(Clone, PartialEq, Debug)]
pub struct Raise {
    /// Level; EXCEPTION if not said.
    pub level: planaria_base::Level,
    /// What it raises.
    pub what: RaiseWhat,
    /// USING option = expr; option in lower case
    pub using: Vec<(String, Expr)>,
}

/// What a RAISE raises.
#[derive(Clone, PartialEq, Debug)]
pub enum RaiseWhat {
    /// `RAISE;`: the current error again
    Current,
    /// A format with arguments.
    Format(String, Vec<Expr>),
    /// A condition name.
    Condition(String),
    /// SQLSTATE 'xxxxx'
    State(String),
    /// Only USING options.
    Nothing,
}

/// What OPEN opens a cursor for.
#[derive(Clone, PartialEq, Debug)]
#[allow(missing_docs, reason = "fields are named after the clause in the line above them")]
pub enum Opened {
    /// The query of its declaration, with these arguments
    Bound(Vec<(Option<String>, Expr)>),
    /// `FOR query`
    Query(Box<Statement>),
    /// `FOR EXECUTE text USING args`
    Execute { text: Expr, using: Vec<Expr> },
}

/// Where FETCH and MOVE of PL/pgSQL go.
#[derive(Clone, PartialEq, Debug)]
pub enum PlDirection {
    /// So many rows on; NEXT, PRIOR, FORWARD, BACKWARD
    Forward(i64),
    /// FORWARD n; BACKWARD n where `true`; more than one row, so only of MOVE
    Count(Expr, bool),
    /// [FORWARD] ALL; BACKWARD ALL where `true`
    All(bool),
    /// FIRST, LAST (-1)
    Absolute(i64),
    /// ABSOLUTE n
    To(Expr),
    /// RELATIVE n
    By(Expr),
}

/// One step of a body that is carried out statement by statement, and the variables that it sees. No parser makes one.
#[derive(Clone, PartialEq, Debug)]
pub struct Step {
    /// The text of the whole body: positions count in it.
    pub body: std::sync::Arc<str>,
    /// What errors call the body: `inline_code_block`, or a routine with its types.
    pub title: std::sync::Arc<str>,
    /// `#variable_conflict`
    pub conflict: VariableConflict,
    /// Blocks around it, from outer to inner.
    pub frames: Vec<StepFrame>,
    /// So many variables of the outermost one are parameters, which have numbers.
    pub parameters: usize,
    /// Tables of rows that it can read, by their names, with the types of the arrays that they are passed as: transition tables.
    pub tables: Vec<(String, planaria_base::Type)>,
    /// What is done.
    pub kind: StepKind,
}

/// A block's variables, as a [`Step`] sees them.
#[derive(Clone, PartialEq, Debug)]
pub struct StepFrame {
    /// The block's label.
    pub label: Option<String>,
    /// Its variables.
    pub variables: Vec<StepVariable>,
}

/// A variable that a [`Step`] sees.
#[derive(Clone, PartialEq, Debug)]
pub struct StepVariable {
    /// Name.
    pub name: String,
    /// Type; `None`: a record that has no structure yet.
    pub ty: Option<planaria_base::Type>,
    /// CONSTANT
    pub constant: bool,
    /// NOT NULL
    pub not_null: bool,
    /// The domain that it is of.
    pub domain: Option<planaria_base::TypeId>,
    /// A row in it is one value, to which a column is assigned.
    pub as_value: bool,
}

/// What a [`Step`] does.
#[derive(Clone, PartialEq, Debug)]
pub enum StepKind {
    /// A statement without others in it. The answer is a row: all variables, FOUND and ROW_COUNT.
    Statement(Box<Stmt>),
    /// A declaration. The answer is the variable's value, of type `void` for a record without a structure; and the number of the
    /// domain that it is of.
    Declare(Declaration),
    /// A query, whose rows are the answer.
    Query(Box<Query>),
    /// INSERT, UPDATE or DELETE with RETURNING, whose rows are the answer.
    Change(Box<Statement>),
    /// An expression, whose value is the answer.
    Value(Expr),
    /// The answer is a row of the variables.
    Row,
    /// RETURN NEXT or RETURN QUERY of this routine, whose rows are the answer; RETURN NEXT also for the RETURN of a row.
    Rows(Box<Stmt>, planaria_base::ProcedureId),
}
