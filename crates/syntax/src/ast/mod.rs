//! The syntax tree: what the parser hands to the binder.
//!
//! Made from text by [`crate::parse`]; nothing behind this module knows tokens. Every node that an
//! error can point at carries its byte position in the text. Names are folded
//! already: lower case unless they were quoted.

mod aggregate;
mod alter;
mod call;
mod comment;
pub mod copy;
pub mod cursor;
mod from;
mod index;
mod lock;
pub mod locking;
mod operator;
mod partition;
pub mod plpgsql;
mod policy;
mod rights;
mod routine;
mod rows;
mod statistics;
mod trigger;
mod user_type;
mod view;
pub mod visit;
mod window;
mod with;

pub use aggregate::{AggregateChange, CreateAggregate, MovingAggregate};
pub use alter::{AlterIndex, AlterTable, Parameter, Told};
pub use call::{Argument, FunctionCall};
pub use comment::CommentTarget;
pub use from::{JoinCondition, JoinKind, TableAlias};
pub use index::{CreateIndex, Exclude, ExcludeElement, IndexItem};
pub use lock::{LockMode, LockTable, Maintain, Maintained};
pub use operator::{BinaryOp, JsonOp, SimilarOp, UnaryOp};
pub use partition::{PartitionBy, PartitionOf, PartitionSpec, PartitionSpecKind, RangeDatum};
pub use policy::{CreatePolicy, PolicyChange};
pub use rights::{
    ColumnPrivilege, DefaultsChange, DefaultsFor, DefaultsKind, DefaultsOf, GrantStatement, GrantTarget,
    OwnedObject, RoleChange, RoleName, RoleOption, RoleSpec, RoutineRef,
};
pub use routine::*;
pub use rows::*;
pub use statistics::{StatisticsAlteration, StatisticsChange};
pub use trigger::{CopyTriggers, CreateTrigger, Transition, TriggerNames, TriggerTiming};
pub use user_type::{
    AlterDomain, AlterEnum, CastChange, CastMethod, CastTypes, ExtensionChange, LabelPlace, TypeRef,
};
pub use view::{AlterView, ViewOptions};
pub use window::{Frame, FrameEdge, FrameExclusion, FrameUnits, Window};
pub use with::{Cte, Cycle, Search};

use planaria_base::{Isolation, Type};

/// Byte offset in the text that was parsed.
pub type Position = u32;

/// A possibly qualified name: `schema.table`, `pg_catalog.now`.
#[derive(Clone, PartialEq, Debug)]
pub struct Name {
    /// Parts, outermost first; at least one.
    pub parts: Vec<String>,
    /// Where it stands.
    pub position: Position,
}

/// An expression with its place.
#[derive(Clone, PartialEq, Debug)]
pub struct Expr {
    /// Where it stands (of an operator: the operator).
    pub position: Position,
    /// What it is.
    pub kind: ExprKind,
}

impl Query {
    /// Whether it reads a relation of that bare name.
    pub fn mentions(&self, relation: &str) -> bool {
        let mut found = false;
        visit::query(self, &mut |node| {
            if let visit::Node::Relation(name) = node {
                found |= name.parts == [relation];
            }
        });
        found
    }
}

impl Expr {
    /// Names of the columns (or variables) it mentions, without qualifiers, those of queries inside
    /// included.
    pub fn column_names(&self) -> Vec<String> {
        let mut names = Vec::new();
        visit::expr(self, &mut |node| {
            if let visit::Node::Expr(Expr { kind: ExprKind::Column(name), .. }) = node {
                names.extend(name.parts.last().cloned());
            }
        });
        names
    }

    /// The shape of its tree, without positions: what is said alike has the same.
    pub fn shape(&self) -> String {
        let tree = format!("{self:?}");
        let mut parts = tree.split("position: ");
        let first = parts.next().unwrap_or_default().to_owned();
        parts.fold(first, |shape, part| shape + part.trim_start_matches(|c: char| c.is_ascii_digit()))
    }
}

impl Statement {
    /// The first `$n` in it, and where it stands.
    pub fn first_parameter(&self) -> Option<(u32, Position)> {
        let mut first: Option<(u32, Position)> = None;
        visit::statement(self, &mut |node| {
            if let visit::Node::Expr(Expr { kind: ExprKind::Parameter(n), position }) = node
                && first.is_none_or(|(_, before)| *position < before)
            {
                first = Some((*n, *position));
            }
        });
        first
    }
}

/// Expressions.
#[derive(Clone, PartialEq, Debug)]
#[allow(missing_docs, reason = "fields are named after the clause in the line above them")]
pub enum ExprKind {
    /// NULL
    Null,
    /// TRUE, FALSE
    Bool(bool),
    /// A number without point or exponent, as written.
    Integer(String),
    /// A number with point or exponent, as written.
    Decimal(String),
    /// A string literal of type unknown, escapes resolved.
    String(String),
    /// `b''`/`x''`: the digits behind their `b` or `x`.
    BitString(String),
    /// `a`, `t.a`, `v.field`: column, variable or field.
    Column(Name),
    /// `*` or `t.*` (in a select list, count(*) is [`FunctionCall::star`]).
    Star(Option<Name>),
    /// `$1`
    Parameter(u32),
    /// Prefix operator: `-`, `+`, `~`, `NOT`.
    Unary(UnaryOp, Box<Expr>),
    /// Infix operator.
    Binary(BinaryOp, Box<Expr>, Box<Expr>),
    /// The rest of a long chain of operators of one precedence, applied from left to right
    Chain(Box<Expr>, Vec<(BinaryOp, Position, Expr)>),
    /// `e IS [NOT] NULL | TRUE | FALSE | UNKNOWN`
    Is { expr: Box<Expr>, what: IsWhat, negated: bool },
    /// `a IS [NOT] DISTINCT FROM b`
    IsDistinctFrom { left: Box<Expr>, right: Box<Expr>, negated: bool },
    /// `e [NOT] BETWEEN [SYMMETRIC] low AND high`
    Between { expr: Box<Expr>, low: Box<Expr>, high: Box<Expr>, negated: bool, symmetric: bool },
    /// `e [NOT] IN (a, b, ...)`
    InList { expr: Box<Expr>, list: Vec<Expr>, negated: bool },
    /// `e [NOT] IN (SELECT ...)`; `e` may be a row.
    InQuery { expr: Box<Expr>, query: Box<Query>, negated: bool },
    /// `e op ANY|SOME|ALL (array)`
    Quantified { expr: Box<Expr>, op: BinaryOp, all: bool, array: Box<Expr> },
    /// `e op ANY|SOME|ALL (SELECT ...)`
    QuantifiedQuery { expr: Box<Expr>, op: BinaryOp, all: bool, query: Box<Query> },
    /// `e [NOT] LIKE|ILIKE pattern [ESCAPE c]`
    Like { expr: Box<Expr>, pattern: Box<Expr>, escape: Option<Box<Expr>>, insensitive: bool, negated: bool },
    /// `f(args)`, aggregates and window functions included. Special syntax becomes a plain call:
    /// `substring(a FROM b FOR c)`, `position(a IN b)` (`position(b, a)`), `trim(BOTH a FROM b)` (`btrim`/`ltrim`/
    /// `rtrim`), `extract(f FROM e)` (`extract('f', e)`), `overlay`.
    Call(Box<FunctionCall>),
    /// `current_timestamp`, `localtimestamp`, `current_date`, `current_user`, ...: keyword in
    /// lower case, precision if given.
    SqlValue(String, Option<u32>),
    /// `CAST(e AS t)`, `e::t`, and `t 'literal'`
    Cast(Box<Expr>, TypeName),
    /// `CASE [operand] WHEN .. THEN .. ELSE .. END`
    Case { operand: Option<Box<Expr>>, whens: Vec<(Expr, Expr)>, otherwise: Option<Box<Expr>> },
    /// `COALESCE(..)`
    Coalesce(Vec<Expr>),
    /// `NULLIF(a, b)`
    NullIf(Box<Expr>, Box<Expr>),
    /// `GREATEST(..)`
    Greatest(Vec<Expr>),
    /// `LEAST(..)`
    Least(Vec<Expr>),
    /// `ARRAY[..]`
    Array(Vec<Expr>),
    /// `ARRAY(SELECT ..)`
    ArrayQuery(Box<Query>),
    /// `(a, b)` or `ROW(a, b)`
    Row(Vec<Expr>),
    /// `a[i]`, `a[i][j:k]`
    Subscripts(Box<Expr>, Vec<Subscript>),
    /// `(e).field`
    Field(Box<Expr>, String),
    /// `(e).*`: all fields of a row, as items of a list
    Fields(Box<Expr>),
    /// `(SELECT ..)`
    Subquery(Box<Query>),
    /// `[NOT] EXISTS (SELECT ..)`: negation is a unary NOT
    Exists(Box<Query>),
    /// `e AT TIME ZONE z`
    AtTimeZone(Box<Expr>, Box<Expr>),
    /// `e COLLATE c`
    Collate(Box<Expr>, Name),
}

/// After IS.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum IsWhat {
    /// NULL
    Null,
    /// TRUE
    True,
    /// FALSE
    False,
    /// UNKNOWN
    Unknown,
}

/// A type as written.
#[derive(Clone, PartialEq, Debug)]
pub struct TypeName {
    /// Where it stands.
    pub position: Position,
    /// What it says.
    pub kind: TypeNameKind,
}

/// Kinds of type name.
#[derive(Clone, PartialEq, Debug)]
pub enum TypeNameKind {
    /// A built-in type, arrays included.
    Known(Type),
    /// `serial`, `bigserial`, `smallserial`: the integer type behind it.
    Serial(Type),
    /// Any other name: a table's row type or `SETOF`-able relation, `regclass`, or unknown (42704).
    Named(Name),
    /// An array of such a type
    NamedArray(Name),
    /// `table.column%TYPE` or `variable%TYPE`
    OfColumn(Name),
    /// `table%ROWTYPE`
    RowOf(Name),
    /// `record`
    Record,
    /// `trigger`, `anyelement`, ...: pseudo types, by name
    Pseudo(String),
}

/// ORDER BY item.
#[derive(Clone, PartialEq, Debug)]
pub struct OrderItem {
    /// Expression, output name or position.
    pub expr: Expr,
    /// DESC
    pub descending: bool,
    /// NULLS FIRST / LAST if said.
    pub nulls_first: Option<bool>,
}

/// A query: SELECT, VALUES or set operation, with its tail.
#[derive(Clone, PartialEq, Debug)]
pub struct Query {
    /// WITH
    pub with: Vec<Cte>,
    /// WITH RECURSIVE
    pub recursive: bool,
    /// Body.
    pub body: QueryBody,
    /// ORDER BY
    pub order_by: Vec<OrderItem>,
    /// LIMIT / FETCH FIRST
    pub limit: Option<Expr>,
    /// FETCH FIRST .. WITH TIES
    pub ties: bool,
    /// OFFSET
    pub offset: Option<Expr>,
    /// FOR UPDATE and its like
    pub locking: Vec<locking::Locking>,
    /// Where it stands.
    pub position: Position,
}

impl Query {
    /// Nothing but a body.
    pub fn new(body: QueryBody, position: Position) -> Query {
        Query {
            with: Vec::new(),
            recursive: false,
            body,
            order_by: Vec::new(),
            limit: None,
            ties: false,
            offset: None,
            locking: Vec::new(),
            position,
        }
    }
}

/// What a query is.
#[derive(Clone, PartialEq, Debug)]
#[allow(missing_docs, reason = "fields are named after the clause in the line above them")]
pub enum QueryBody {
    /// SELECT
    Select(Box<Select>),
    /// VALUES
    Values(Vec<Vec<Expr>>),
    /// `a UNION [ALL] b` and so on; operands may carry their own ORDER BY / LIMIT in parentheses
    /// `more`: further operands of a long chain of the same UNION
    SetOp { op: SetOp, all: bool, left: Box<Query>, right: Box<Query>, more: Vec<Query> },
}

/// Set operators.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SetOp {
    /// UNION
    Union,
    /// EXCEPT
    Except,
    /// INTERSECT
    Intersect,
}

/// SELECT core.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Select {
    /// DISTINCT; `Some(exprs)` is DISTINCT ON when not empty
    pub distinct: Option<Vec<Expr>>,
    /// Select list.
    pub items: Vec<SelectItem>,
    /// PL/pgSQL: `INTO [STRICT] targets`
    pub into: Option<Into>,
    /// FROM, comma separated.
    pub from: Vec<TableRef>,
    /// WHERE
    pub filter: Option<Expr>,
    /// GROUP BY (expressions, output names or positions)
    pub group_by: Vec<Expr>,
    /// GROUPING SETS, ROLLUP and CUBE: the sets that they stand for, of expressions as in `group_by`; none: one of all.
    pub grouping_sets: Vec<Vec<Expr>>,
    /// HAVING
    pub having: Option<Expr>,
    /// WINDOW name AS (..)
    pub windows: Vec<(String, Window)>,
}

/// Select item: expression (possibly a star) and alias.
#[derive(Clone, PartialEq, Debug)]
pub struct SelectItem {
    /// Expression.
    pub expr: Expr,
    /// AS name
    pub alias: Option<String>,
}

/// `INTO [STRICT] target, ...`
#[derive(Clone, PartialEq, Debug)]
pub struct Into {
    /// STRICT
    pub strict: bool,
    /// Variables: `v`, `v.field`, `a[i]`.
    pub targets: Vec<Expr>,
    /// Where it stands.
    pub position: Position,
    /// Where it ends.
    pub end: Position,
}

/// FROM item.
#[derive(Clone, PartialEq, Debug)]
#[allow(missing_docs, reason = "fields are named after the clause in the line above them")]
pub enum TableRef {
    /// A table, view or CTE.
    Relation { name: Name, only: bool, alias: Option<TableAlias> },
    /// `(SELECT ..) AS a`
    Derived { query: Box<Query>, alias: Option<TableAlias>, lateral: bool },
    /// `f(..) AS a(c)`, `f(..) AS a(c type)`; `WITH ORDINALITY`
    Function {
        call: Box<FunctionCall>,
        alias: Option<TableAlias>,
        /// The column definition list: names and types.
        definitions: Vec<(String, TypeName)>,
        lateral: bool,
        ordinality: bool,
        position: Position,
    },
    /// `ROWS FROM (f(..), g(..)) [WITH ORDINALITY] AS a(c)`: their rows side by side
    RowsFrom {
        /// Each with its column definition list.
        calls: Vec<(FunctionCall, Vec<(String, TypeName)>)>,
        alias: Option<TableAlias>,
        ordinality: bool,
        position: Position,
    },
    /// `t TABLESAMPLE method (args) [REPEATABLE (seed)]`: a part of the rows of a Relation
    Sample { table: Box<TableRef>, method: Name, args: Vec<Expr>, seed: Option<Box<Expr>> },
    /// Join.
    Join {
        kind: JoinKind,
        left: Box<TableRef>,
        right: Box<TableRef>,
        condition: JoinCondition,
        position: Position,
    },
}

/// A statement with the text range it came from.
#[derive(Clone, PartialEq, Debug)]
pub struct Statement {
    /// First byte.
    pub position: Position,
    /// Byte after its last (without the semicolon).
    pub end: Position,
    /// What it is.
    pub kind: StatementKind,
}

/// Statements.
#[derive(Clone, PartialEq, Debug)]
#[allow(missing_docs, reason = "fields are named after the clause in the line above them")]
pub enum StatementKind {
    /// SELECT, VALUES, TABLE, set operations
    Query(Box<Query>),
    /// INSERT
    Insert(Box<Insert>),
    /// UPDATE
    Update(Box<Update>),
    /// DELETE
    Delete(Box<Delete>),
    /// MERGE
    Merge(Box<Merge>),
    /// CALL
    Call { call: FunctionCall, position: Position },
    /// DO: the body between the quotes, and where it begins
    Do { body: String, body_position: Position, language: Option<String> },
    /// Transaction control
    Transaction(Transaction),
    /// CREATE TABLE
    CreateTable(Box<CreateTable>),
    /// CREATE TABLE .. AS query
    CreateTableAs {
        name: Name,
        if_not_exists: bool,
        unlogged: bool,
        columns: Vec<String>,
        query: Box<Query>,
        with_data: bool,
        on_commit: planaria_catalog::OnCommit,
    },
    /// CREATE [UNIQUE] INDEX
    CreateIndex(Box<CreateIndex>),
    /// CREATE [OR REPLACE] VIEW; `query_text` is its text
    CreateView {
        name: Name,
        or_replace: bool,
        columns: Vec<String>,
        options: ViewOptions,
        query: Box<Query>,
        query_text: String,
    },
    /// CREATE MATERIALIZED VIEW; `query_text` is the query's text
    CreateMaterialized {
        name: Name,
        if_not_exists: bool,
        columns: Vec<String>,
        query: Box<Query>,
        query_text: String,
        with_data: bool,
    },
    /// REFRESH MATERIALIZED VIEW
    Refresh { name: Name, concurrently: bool, with_data: bool },
    /// ALTER VIEW, but for names and owners
    AlterView { name: Name, if_exists: bool, action: AlterView },
    /// CREATE SEQUENCE
    CreateSequence { name: Name, if_not_exists: bool, options: SequenceOptions },
    /// ALTER SEQUENCE
    AlterSequence { name: Name, if_exists: bool, options: SequenceOptions },
    /// CREATE TYPE .. AS ENUM
    CreateEnum { name: Name, labels: Vec<String> },
    /// CREATE TYPE .. AS (..)
    CreateComposite { name: Name, attributes: Vec<ColumnDef> },
    /// ALTER TYPE of a composite type, as ALTER TABLE does it
    AlterComposite { name: Name, actions: Vec<AlterTable> },
    /// CREATE DOMAIN
    CreateDomain { name: Name, ty: TypeName, constraints: Vec<Constraint> },
    /// ALTER TYPE of an enumerated type
    AlterEnum { name: Name, action: AlterEnum },
    /// ALTER DOMAIN
    AlterDomain { name: Name, action: AlterDomain },
    /// ALTER TYPE | DOMAIN .. RENAME TO
    RenameType { ty: TypeRef, to: String },
    /// DROP TYPE | DOMAIN
    DropType { domain: bool, names: Vec<Name>, if_exists: bool, cascade: bool },
    /// CREATE CAST, DROP CAST
    Cast(Box<CastChange>),
    /// CREATE, ALTER, DROP STATISTICS
    Statistics(Box<StatisticsChange>),
    /// CREATE AGGREGATE, DROP AGGREGATE
    Aggregate(Box<AggregateChange>),
    /// CREATE EXTENSION, DROP EXTENSION
    Extension(Box<ExtensionChange>),
    /// CREATE FUNCTION / PROCEDURE
    CreateRoutine(Box<CreateRoutine>),
    /// CREATE SCHEMA
    CreateSchema {
        /// Its name; that of the owner where none is given.
        name: Option<String>,
        /// IF NOT EXISTS
        if_not_exists: bool,
        /// AUTHORIZATION
        owner: Option<RoleSpec>,
        /// What is made in it.
        elements: Vec<Statement>,
    },
    /// ALTER SCHEMA .. RENAME TO
    RenameSchema { name: String, to: String },
    /// ALTER FUNCTION | PROCEDURE | ROUTINE, but for OWNER TO and SET SCHEMA
    AlterRoutine { routine: RoutineRef, options: RoutineOptions },
    /// ALTER .. SET SCHEMA
    SetSchema { object: OwnedObject, schema: String },
    /// DROP TABLE | INDEX | VIEW | SEQUENCE | SCHEMA
    Drop { object: ObjectKind, names: Vec<Name>, if_exists: bool, cascade: bool },
    /// DROP FUNCTION | PROCEDURE | ROUTINE; argument types if given
    DropRoutine {
        names: Vec<(Name, Option<Vec<TypeName>>)>,
        procedure: Option<bool>,
        if_exists: bool,
        cascade: bool,
    },
    /// CREATE TRIGGER
    CreateTrigger(Box<CreateTrigger>),
    /// DROP TRIGGER name ON table
    DropTrigger { name: String, table: Name, if_exists: bool },
    /// ALTER TRIGGER name ON table RENAME TO
    RenameTrigger { name: String, table: Name, to: String },
    /// No statement of SQL: fires the triggers of a table into which rows are copied
    FireCopyTriggers { table: Name, which: CopyTriggers },
    /// No statement of SQL: a step of a DO block that is carried out statement by statement
    Step(Box<plpgsql::Step>),
    /// No statement of SQL: one that can read its last parameters, which are arrays of rows, as tables; those without a name it does
    /// not name
    Among(Box<Statement>, Vec<Option<String>>),
    /// CREATE POLICY
    CreatePolicy(Box<CreatePolicy>),
    /// ALTER POLICY name ON table; IF EXISTS is about the table
    AlterPolicy { name: String, table: Name, if_exists: bool, change: Box<PolicyChange> },
    /// DROP POLICY name ON table
    DropPolicy { name: String, table: Name, if_exists: bool },
    /// ALTER TABLE
    AlterTable { name: Name, if_exists: bool, only: bool, actions: Vec<AlterTable> },
    /// ALTER INDEX name ..
    AlterIndex { name: Name, if_exists: bool, action: AlterIndex },
    /// ALTER INDEX name ATTACH PARTITION index
    AttachIndex { name: Name, index: Name },
    /// ALTER INDEX | VIEW | SEQUENCE .. RENAME TO
    Rename { object: ObjectKind, name: Name, to: String, if_exists: bool },
    /// TRUNCATE
    Truncate {
        /// Tables.
        names: Vec<Name>,
        /// RESTART IDENTITY
        restart_identity: bool,
        /// CASCADE
        cascade: bool,
        /// Those of the names that are partitions are locked: nobody else writes to them before the transaction ends.
        locked: bool,
    },
    /// EXPLAIN of a statement
    Explain {
        /// ANALYZE
        analyze: bool,
        /// FORMAT
        format: ExplainFormat,
        /// SUMMARY: times are told; where nothing is said, with ANALYZE.
        summary: Option<bool>,
        /// What is explained.
        statement: Box<Statement>,
    },
    /// `EXPLAIN PROCEDURE name [(types)]`: ours
    ExplainProcedure { name: Name, args: Option<Vec<TypeName>> },
    /// `EXPLAIN RECOVERY`: ours
    ExplainRecovery,
    /// SET [SESSION | LOCAL] name = value; `None` is DEFAULT / RESET
    Set { name: String, value: Option<Vec<String>>, local: bool },
    /// SET TRANSACTION, or SET SESSION CHARACTERISTICS AS TRANSACTION, which says what is the `default`
    SetModes { default: bool, read_only: Option<bool>, isolation: Option<Isolation> },
    /// SET TRANSACTION SNAPSHOT
    SetSnapshot(String),
    /// SHOW name | ALL
    Show(String),
    /// PREPARE name [(types)] AS statement
    Prepare { name: String, types: Vec<TypeName>, statement: Box<Statement> },
    /// EXECUTE name (args)
    ExecutePrepared { name: String, args: Vec<Expr> },
    /// CREATE TABLE .. AS EXECUTE name [(args)]; where EXECUTE stands, and where that ends.
    CreateTableExecute { name: String, args: Vec<Expr>, from: Position, to: Position },
    /// DEALLOCATE [ALL | name]
    Deallocate(Option<String>),
    /// LOCK TABLE
    LockTable(LockTable),
    /// VACUUM, ANALYZE, REINDEX, CLUSTER
    Maintain(Maintain),
    /// What changes nothing here: the command tag
    NoOperation(String),
    /// DECLARE name CURSOR
    DeclareCursor(cursor::DeclareCursor),
    /// FETCH, or MOVE
    Fetch { name: String, direction: cursor::Direction, moves: bool },
    /// CLOSE [name | ALL]
    CloseCursor(Option<String>),
    /// COPY
    Copy(Box<copy::Copy>),
    /// NOTIFY channel, payload
    Notify { channel: String, payload: String },
    /// LISTEN channel
    Listen(String),
    /// UNLISTEN channel | *
    Unlisten(Option<String>),
    /// DISCARD: ALL, or what else is said
    Discard(String),
    /// CHECKPOINT
    Checkpoint,
    /// BACKUP TO directory
    Backup(String),
    /// CREATE ROLE | USER | GROUP
    CreateRole { name: RoleSpec, options: Vec<RoleOption> },
    /// ALTER ROLE and ALTER GROUP
    AlterRole { role: RoleSpec, change: RoleChange },
    /// ALTER ROLE .. SET | RESET, ALTER DATABASE .. SET | RESET: what sessions begin with
    AlterDefaults { of: DefaultsOf, change: DefaultsChange },
    /// ALTER SYSTEM: what the server begins with
    AlterSystem(DefaultsChange),
    /// DROP ROLE | USER | GROUP
    DropRole { roles: Vec<RoleSpec>, if_exists: bool },
    /// GRANT and REVOKE of privileges on objects
    Grant(Box<GrantStatement>),
    /// GRANT and REVOKE of membership in roles; `admin`: WITH ADMIN OPTION, ADMIN OPTION FOR
    GrantRole {
        revoke: bool,
        roles: Vec<(String, Position)>,
        members: Vec<RoleSpec>,
        admin: bool,
        granted_by: Option<RoleSpec>,
        cascade: bool,
    },
    /// ALTER .. OWNER TO of anything but a table (which is an action of ALTER TABLE)
    AlterOwner { object: OwnedObject, owner: RoleSpec },
    /// COMMENT ON; `None`: IS NULL
    Comment { on: CommentTarget, text: Option<String> },
    /// SET CONSTRAINTS; `None`: ALL
    SetConstraints { names: Option<Vec<Name>>, deferred: bool },
    /// REASSIGN OWNED BY .. TO ..
    ReassignOwned { from: Vec<RoleSpec>, to: RoleSpec },
    /// DROP OWNED BY ..
    DropOwned { roles: Vec<RoleSpec>, cascade: bool },
    /// SET ROLE; `None`: NONE, RESET ROLE
    SetRole { name: Option<String>, local: bool },
    /// SET SESSION AUTHORIZATION; `None`: DEFAULT, RESET
    SetSessionAuthorization { name: Option<String>, local: bool },
    /// Anything else the grammar knows and Planaria does not: what it is called
    Unsupported(String),
}

/// Kinds of object in DROP and RENAME.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ObjectKind {
    /// TABLE
    Table,
    /// INDEX
    Index,
    /// VIEW
    View,
    /// MATERIALIZED VIEW
    MaterializedView,
    /// SEQUENCE
    Sequence,
    /// SCHEMA
    Schema,
}

/// Transaction control.
#[derive(Clone, PartialEq, Debug)]
pub enum Transaction {
    /// BEGIN / START TRANSACTION; read only if said
    Begin {
        /// READ ONLY or READ WRITE
        read_only: Option<bool>,
        /// ISOLATION LEVEL
        isolation: Option<Isolation>,
    },
    /// COMMIT / END
    Commit,
    /// ROLLBACK / ABORT
    Rollback,
    /// COMMIT AND CHAIN: then a block like it begins
    CommitAndChain,
    /// ROLLBACK AND CHAIN
    RollbackAndChain,
    /// SAVEPOINT
    Savepoint(String),
    /// RELEASE [SAVEPOINT]
    Release(String),
    /// ROLLBACK TO [SAVEPOINT]
    RollbackTo(String),
}

impl Transaction {
    /// Whether it gets out of a block that has failed, or back to before it did.
    pub fn leaves_failure(&self) -> bool {
        matches!(
            self,
            Transaction::Commit
                | Transaction::Rollback
                | Transaction::CommitAndChain
                | Transaction::RollbackAndChain
                | Transaction::RollbackTo(_)
        )
    }
}

/// CREATE TABLE
#[derive(Clone, PartialEq, Debug)]
pub struct CreateTable {
    /// Name.
    pub name: Name,
    /// IF NOT EXISTS
    pub if_not_exists: bool,
    /// ON COMMIT
    pub on_commit: planaria_catalog::OnCommit,
    /// UNLOGGED
    pub unlogged: bool,
    /// Columns.
    pub columns: Vec<ColumnDef>,
    /// Table constraints.
    pub constraints: Vec<Constraint>,
    /// LIKE
    pub likes: Vec<Like>,
    /// PARTITION BY
    pub partition_by: Option<PartitionBy>,
    /// PARTITION OF; the columns are the parent's
    pub partition_of: Option<PartitionOf>,
    /// WITH (parameters)
    pub parameters: Vec<Parameter>,
    /// INHERITS ...: what is not supported, by name and place
    pub unsupported: Option<(String, Position)>,
}

/// How EXPLAIN answers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ExplainFormat {
    /// Lines.
    Text,
    /// JSON
    Json,
    /// XML
    Xml,
    /// YAML
    Yaml,
}

/// `LIKE table [INCLUDING .. | EXCLUDING ..]`: the columns of another table, and what is taken with them.
#[derive(Clone, PartialEq, Debug)]
pub struct Like {
    /// The table.
    pub table: Name,
    /// How many of the columns stand before it.
    pub place: usize,
    /// COMMENTS
    pub comments: bool,
    /// CONSTRAINTS: checks
    pub constraints: bool,
    /// DEFAULTS
    pub defaults: bool,
    /// GENERATED
    pub generated: bool,
    /// IDENTITY
    pub identity: bool,
    /// INDEXES, and the constraints that have one
    pub indexes: bool,
    /// STATISTICS
    pub statistics: bool,
    /// STORAGE
    pub storage: bool,
    /// COMPRESSION
    pub compression: bool,
}

/// A column definition.
#[derive(Clone, PartialEq, Debug)]
pub struct ColumnDef {
    /// Name.
    pub name: String,
    /// Type.
    pub ty: TypeName,
    /// Constraints in order.
    pub constraints: Vec<Constraint>,
    /// COLLATE, and what is said of how it is stored.
    pub told: Option<Box<planaria_catalog::ColumnTold>>,
    /// A method of COMPRESSION that there is not.
    pub unknown_compression: Option<String>,
    /// Where it stands.
    pub position: Position,
}

/// A constraint of a column or a table.
#[derive(Clone, PartialEq, Debug)]
pub struct Constraint {
    /// CONSTRAINT name
    pub name: Option<String>,
    /// What it demands.
    pub kind: ConstraintKind,
    /// NOT VALID
    pub not_valid: bool,
    /// When a PRIMARY KEY, UNIQUE or EXCLUDE is checked; a foreign key says it itself.
    pub check: planaria_catalog::CheckTime,
    /// Where it stands.
    pub position: Position,
}

/// Kinds of constraint; `columns` is empty where it belongs to the column it stands at.
#[derive(Clone, PartialEq, Debug)]
#[allow(missing_docs, reason = "fields are named after the clause in the line above them")]
pub enum ConstraintKind {
    /// NOT NULL
    NotNull,
    /// NULL
    Null,
    /// DEFAULT expression; text as written
    Default { expr: Expr, text: String },
    /// GENERATED .. AS IDENTITY
    Identity { always: bool, options: SequenceOptions },
    /// GENERATED ALWAYS AS (expr) STORED; text as written
    GeneratedStored { expr: Expr, text: String },
    /// PRIMARY KEY
    PrimaryKey { columns: Vec<String>, included: Vec<String> },
    /// UNIQUE
    Unique { columns: Vec<String>, equal_nulls: bool, included: Vec<String> },
    /// PRIMARY KEY or UNIQUE that an index becomes (USING INDEX)
    UsingIndex { primary: bool, index: String },
    /// CHECK; text as written, without the parentheses
    Check { expr: Expr, text: String },
    /// FOREIGN KEY / REFERENCES
    ForeignKey {
        columns: Vec<String>,
        parent: Name,
        parent_columns: Vec<String>,
        match_full: bool,
        /// None is NO ACTION.
        on_delete: Option<planaria_catalog::ReferentialAction>,
        /// `ON DELETE SET NULL (columns)`
        set_columns: Vec<String>,
        on_update: Option<planaria_catalog::ReferentialAction>,
        check: planaria_catalog::CheckTime,
    },
    /// EXCLUDE
    Exclude(Box<Exclude>),
    /// Others (refused)
    Unsupported(String),
}

/// Options of a sequence.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct SequenceOptions {
    /// SEQUENCE NAME, of an identity column
    pub name: Option<Name>,
    /// AS type
    pub ty: Option<Type>,
    /// START WITH
    pub start: Option<i64>,
    /// INCREMENT BY
    pub increment: Option<i64>,
    /// MINVALUE (`Some(None)`: NO MINVALUE)
    pub min: Option<Option<i64>>,
    /// MAXVALUE
    pub max: Option<Option<i64>>,
    /// CYCLE
    pub cycle: Option<bool>,
    /// CACHE
    pub cache: Option<i64>,
    /// RESTART [WITH n]
    pub restart: Option<Option<i64>>,
    /// OWNED BY table.column (`Some(None)`: NONE)
    pub owned_by: Option<Option<Name>>,
}
