//! The operations.

use crate::{Coll, Func, Label, OpId, Question, Reg};
use planaria_base::{
    ColumnId, Datum, IndexId, Level, ProcedureId, RoleId, SequenceId, SqlState, Strength, SystemId, TableId,
};

/// A sequence of operations.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Block(pub Vec<Op>);

/// One operation, with its place in the source.
#[derive(Clone, PartialEq, Debug)]
pub struct Op {
    /// Identity within the program; set by [`crate::Program::renumber`].
    pub id: OpId,
    /// Byte offset in the source text of the procedure or statement; for errors and EXPLAIN.
    pub position: u32,
    /// What it does.
    pub kind: OpKind,
}

/// The keys of an index a scan visits: all entries whose leading columns equal `prefix` and whose
/// next column lies within the bounds. A NULL among prefix or bounds matches nothing.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Range {
    /// Values of the leading index columns.
    pub prefix: Vec<Reg>,
    /// Lower bound of the next column.
    pub lower: Option<Bound>,
    /// Upper bound of the next column.
    pub upper: Option<Bound>,
}

/// One end of a range.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Bound {
    /// The value.
    pub reg: Reg,
    /// Whether the value itself is inside.
    pub inclusive: bool,
}

/// Order of one column of a list.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SortKey {
    /// Position among the list's values.
    pub column: u32,
    /// Descending.
    pub descending: bool,
    /// NULLs before everything else.
    pub nulls_first: bool,
}

/// An input from outside the transaction: drawn once, logged with the call, reproduced by replay.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Draw {
    /// `now()`: microseconds since 2000-01-01 UTC, the same throughout the transaction.
    TransactionTimestamp,
    /// `statement_timestamp()`: when the statement began that the client sent. Of a transaction that is one statement
    /// the same as `now()`, and drawn with it.
    StatementTimestamp,
    /// `clock_timestamp()`: anew at each call.
    ClockTimestamp,
    /// `random()`: a float8 in [0, 1).
    Random,
    /// `gen_random_uuid()`.
    Uuid,
    /// `txid_current()`: a number that no other transaction has, the same throughout this one.
    TransactionId,
    /// `lastval()`: the value that the session has drawn last, of whatever sequence.
    LastValue,
    /// The next value that the logged call kept ([`OpKind::Keep`]), of the register's type. Only in
    /// plan programs.
    Kept,
    /// `current_user`: text.
    CurrentUser,
    /// `session_user`: the same.
    SessionUser,
    /// What `current_setting` answered: a text, or NULL. Only in programs of committed calls, where the question
    /// ([`Question::Setting`]) stood.
    Setting,
    /// `current_database()`: the name by which the session's client calls the database. A call that asks for it is logged by
    /// values.
    CurrentDatabase,
    /// Whether the role that runs the program now has what it needs rights for, by its number. Only in
    /// guarded programs; those are never logged as calls.
    Permitted(u32),
    /// Whether the policies of a table bind the role that runs the program now.
    RowSecurity(TableId),
    /// Whether that role has the privileges of another: a policy is for it.
    ActsAs(RoleId),
    /// Whether the session wants an error rather than rows that policies have picked: `row_security = off`.
    RowSecurityOff,
}

/// What to do with a row that another transaction has claimed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum IfClaimed {
    /// Wait for it.
    Wait,
    /// Say so: NOWAIT.
    Refuse,
    /// Pass over it, as if it had not been read: SKIP LOCKED.
    Skip,
}

/// Where the SQLSTATE of a RAISE comes from.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum StateSource {
    /// Known when the program was made.
    Known(SqlState),
    /// Text computed at run time (`USING ERRCODE = expression`): a code or a condition name.
    Computed(Reg),
    /// The error being handled is raised again (`RAISE;`). Only inside a handler.
    Current,
}

/// Optional fields of a raised error; registers hold text.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct ErrorFields {
    /// DETAIL
    pub detail: Option<Reg>,
    /// HINT
    pub hint: Option<Reg>,
    /// Name of the violated constraint.
    pub constraint: Option<String>,
    /// Table.
    pub table: Option<String>,
    /// Column.
    pub column: Option<String>,
    /// The schema of what it is about, where that is said.
    pub schema: Option<String>,
    /// Type: a domain.
    pub datatype: Option<String>,
    /// Those of the names that are computed.
    pub computed: Vec<(Diagnostic, Reg)>,
    /// Whether it was found when its statement was lowered: it points into the text of that.
    pub found: bool,
}

impl ErrorFields {
    /// The registers that the fields are in.
    pub fn regs(&self) -> impl Iterator<Item = &Reg> {
        self.detail.iter().chain(&self.hint).chain(self.computed.iter().map(|(_, r)| r))
    }
    /// The same, to be changed.
    pub fn regs_mut(&mut self) -> impl Iterator<Item = &mut Reg> {
        self.detail.iter_mut().chain(&mut self.hint).chain(self.computed.iter_mut().map(|(_, r)| r))
    }
}

/// What [`OpKind::Execute`] does.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub enum Run {
    /// Runs the text.
    #[default]
    Statement,
    /// The same, where the last arguments are arrays of rows that the text can read as tables, by these names: transition tables.
    Among(Vec<String>),
    /// The same of a `SET CONSTRAINTS` that stands in the body: what errors tell of it is what they tell of the body.
    Constraints,
    /// Runs the text, a query, and opens a cursor for its rows; with `columns`, of these names, for the rows of the list
    /// `rows`, and the text is not looked at. The cursor's name is in `name` (read); if that is NULL, it gets one (written).
    Open {
        /// The name.
        name: Reg,
        /// Of the rows that are there already.
        columns: Option<Vec<String>>,
        /// NO SCROLL
        forward_only: bool,
    },
    /// Moves the cursor whose name is the text, by the one argument (bigint); the rows that it meets go to `rows`.
    Fetch(Step),
    /// Closes the cursor whose name is the text.
    Close,
    /// Carries a routine out statement by statement, for its arguments; what it answers with goes to `rows`, and the text is
    /// not looked at.
    Steps(ProcedureId),
}

/// How the number of a FETCH counts.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Step {
    /// So many rows on, each of which is met; back, if negative.
    Forward,
    /// To the row of that number; from the end, if negative.
    Absolute,
    /// To the row that is so many further.
    Relative,
}

impl Step {
    /// All, with their names in the text form.
    pub const ALL: [(Step, &str); 3] =
        [(Step::Forward, "forward"), (Step::Absolute, "absolute"), (Step::Relative, "relative")];

    /// Its name.
    pub fn name(self) -> &'static str {
        Self::ALL.iter().find(|(step, _)| *step == self).map_or("", |(_, name)| name)
    }
}

/// What a handler catches.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Catch {
    /// `WHEN others`: all but `query_canceled` and `assert_failure`.
    Others,
    /// One SQLSTATE; one that ends in `000` catches its whole class.
    State(SqlState),
}

impl Catch {
    /// Whether it catches an error of this SQLSTATE.
    pub fn catches(&self, state: SqlState) -> bool {
        match self {
            Catch::Others => state != SqlState::QUERY_CANCELED && state != SqlState::ASSERT_FAILURE,
            Catch::State(wanted) => {
                *wanted == state || (wanted.0.ends_with(b"000") && wanted.class() == state.class())
            }
        }
    }
}

/// What GET STACKED DIAGNOSTICS can ask of an error, besides SQLSTATE and message.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Diagnostic {
    /// PG_EXCEPTION_DETAIL
    Detail,
    /// PG_EXCEPTION_HINT
    Hint,
    /// PG_EXCEPTION_CONTEXT
    Context,
    /// SCHEMA_NAME
    Schema,
    /// TABLE_NAME
    Table,
    /// COLUMN_NAME
    Column,
    /// CONSTRAINT_NAME
    Constraint,
    /// PG_DATATYPE_NAME
    DataType,
}

impl Diagnostic {
    /// The names among them, which RAISE can give.
    pub const NAMES: [Diagnostic; 5] =
        [Self::Constraint, Self::Table, Self::Column, Self::Schema, Self::DataType];
    /// The option of RAISE that gives it.
    pub fn raised_as(self) -> &'static str {
        match self {
            Self::Detail => "detail",
            Self::Hint => "hint",
            Self::Context => "context",
            Self::Schema => "schema",
            Self::Table => "table",
            Self::Column => "column",
            Self::Constraint => "constraint",
            Self::DataType => "datatype",
        }
    }
    /// All, with their names in SQL (without `pg_exception_`), which are those in the text form.
    pub const ALL: [(Diagnostic, &str); 8] = [
        (Diagnostic::Detail, "detail"),
        (Diagnostic::Hint, "hint"),
        (Diagnostic::Context, "context"),
        (Diagnostic::Schema, "schema_name"),
        (Diagnostic::Table, "table_name"),
        (Diagnostic::Column, "column_name"),
        (Diagnostic::Constraint, "constraint_name"),
        (Diagnostic::DataType, "pg_datatype_name"),
    ];

    /// Its name.
    pub fn name(self) -> &'static str {
        Self::ALL.iter().find(|(d, _)| *d == self).map_or("", |(_, name)| name)
    }
}

/// A handler of a `Try`.
#[derive(Clone, PartialEq, Debug)]
pub struct Handler {
    /// Conditions, any of which selects the handler.
    pub catches: Vec<Catch>,
    /// Receives SQLSTATE as text.
    pub sqlstate: Reg,
    /// Receives the message.
    pub sqlerrm: Reg,
    /// Receive more about the error, as text; empty where it does not say.
    pub diagnostics: Vec<(Diagnostic, Reg)>,
    /// Runs after the region's writes were undone.
    pub body: Block,
}

/// How what an operation reads stands to what others commit meanwhile.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum ReadMode {
    /// As the transaction's level says.
    #[default]
    Plain,
    /// What is met need not hold at commit, but for the rows that are claimed or changed.
    Lenient,
    /// For the sake of a constraint: it is read as of now, and has to hold at commit, at every level.
    Check,
    /// The same of the row that a foreign key refers to: a transaction that claims what it changes shares its key, so that
    /// others wait before they take it away.
    Parent,
    /// Whether a key is free, for ON CONFLICT: as of now. That it is taken has to hold at commit where what is read has to.
    Arbiter,
    /// It is not read at all, and writes nothing: the program is going to look it up. Only in what a program does ahead.
    Ahead,
}

impl ReadMode {
    /// Whether it reads as of now, for the sake of a constraint.
    pub const fn is_for_constraint(self) -> bool {
        matches!(self, ReadMode::Check | ReadMode::Parent | ReadMode::Arbiter)
    }

    /// That of a point read: it is never lenient.
    pub const fn of_point(self) -> ReadMode {
        match self {
            ReadMode::Plain | ReadMode::Lenient => ReadMode::Plain,
            ReadMode::Check => ReadMode::Check,
            ReadMode::Parent => ReadMode::Parent,
            ReadMode::Arbiter => ReadMode::Arbiter,
            ReadMode::Ahead => ReadMode::Ahead,
        }
    }
}

/// The kinds of operation. `dst` and other written registers are documented as such; every other
/// register is read.
#[derive(Clone, PartialEq, Debug)]
#[allow(missing_docs)] // The fields are what the variant's text names.
pub enum OpKind {
    // ---- values ----
    /// `dst` = constant.
    Const { dst: Reg, value: Datum },
    /// `dst` = `src`; same kind.
    Copy { dst: Reg, src: Reg },
    /// `dst` = `func(args)`.
    Apply { dst: Reg, func: Func, args: Vec<Reg> },
    /// `dst` = `src` converted to the type of `dst` and its modifier (length, precision).
    /// `explicit` is `CAST`/`::`, which truncates `varchar(n)`; an assignment raises 22001 instead.
    Cast { dst: Reg, src: Reg, explicit: bool },
    /// `dst` = an input from outside.
    Draw { dst: Reg, input: Draw },
    /// `dst` (bigint) = next value of a sequence.
    NextValue { dst: Reg, sequence: SequenceId },
    /// `dst` (bigint) = value last drawn from the sequence in this session (`currval`).
    CurrentValue { dst: Reg, sequence: SequenceId },
    /// `setval(sequence, value, is_called)`.
    SetValue { sequence: SequenceId, value: Reg, is_called: Reg },
    /// `array[index] = value` in place; a NULL array becomes one with that element.
    ArraySet { array: Reg, index: Reg, value: Reg },

    // ---- control ----
    /// Runs `then` where `cond` is true, `otherwise` where it is false or NULL.
    If { cond: Reg, then: Block, otherwise: Block },
    /// Repeats `body` until it is left.
    Loop { label: Label, body: Block },
    /// Runs `body` once; `Exit` leaves it.
    Block { label: Label, body: Block },
    /// Leaves the region of that label.
    Exit { label: Label },
    /// Starts the next turn of the loop-like region of that label.
    Continue { label: Label },
    /// Ends the program.
    Return,
    /// Runs `body` in a savepoint. An error undoes its writes and selects the first handler that
    /// catches it; registers and collections keep their values.
    Try { body: Block, handlers: Vec<Handler> },
    /// Reports a message, or raises an error at `Level::Exception`.
    Raise { level: Level, state: StateSource, message: Reg, fields: ErrorFields },
    /// Tells those that listen to a channel, when the transaction commits. Replay tells nobody.
    Notify { channel: Reg, payload: Reg },
    /// Ends the transaction, and begins the next one: COMMIT and ROLLBACK in a procedure. Registers and collections
    /// keep their values. Where the caller's transaction is not its own to end, an error.
    EndTransaction { commit: bool },

    // ---- calls ----
    /// Calls a procedure or scalar function: `args` for its IN and INOUT parameters in order,
    /// `outs` (written) for its `outs`.
    Call { procedure: ProcedureId, args: Vec<Reg>, outs: Vec<Reg> },
    /// Calls a set-returning function; the rows it emits are appended to the list `into`.
    CallSet { procedure: ProcedureId, args: Vec<Reg>, into: Coll },
    /// Runs SQL text made at run time with `args` as `$1..`. Rows, converted to the list's column
    /// types, are appended to `rows` if given; `row_count` (bigint, written) is the number of rows
    /// returned or affected. Makes the transaction ad hoc. What else it may do with the text and with cursors of the
    /// session says `run`.
    Execute { text: Reg, args: Vec<Reg>, rows: Option<Coll>, row_count: Reg, run: Run },
    /// Adds a row to the program's answer (statements, set-returning functions).
    Emit { values: Vec<Reg> },
    /// Hands values to the log, behind the inputs drawn so far: those from which a parallel replay knows,
    /// before it runs anything, which rows the call touches.
    Keep { values: Vec<Reg> },
    /// Hands a piece with its arguments to the planner of a replay. Only in plan programs.
    Piece { piece: u32, args: Vec<Reg> },

    /// `dst` = what the engine answers from the catalog or the session.
    Ask { dst: Reg, question: Question, args: Vec<Reg> },
    /// Appends the rows of a system relation, of each these columns, to the list `into`.
    SystemRows { relation: SystemId, columns: Vec<ColumnId>, into: Coll },

    // ---- tables ----
    /// Point read by the full key of a unique index. Writes `row` (NULL if none) and, where a row
    /// was found, `columns`; else these become NULL.
    Get {
        table: TableId,
        index: IndexId,
        key: Vec<Reg>,
        mode: ReadMode,
        row: Reg,
        columns: Vec<(ColumnId, Reg)>,
    },
    /// Runs `body` for each row in the range, in index order; writes `row` and `columns` for it.
    Scan {
        table: TableId,
        index: IndexId,
        range: Range,
        descending: bool,
        mode: ReadMode,
        row: Reg,
        columns: Vec<(ColumnId, Reg)>,
        label: Label,
        body: Block,
    },
    /// Writes `columns` from the row's current image (the transaction's own writes included).
    Load { table: TableId, row: Reg, columns: Vec<(ColumnId, Reg)> },
    /// Inserts a row, `values` in column order, each already of its column's type. Writes `row`.
    /// Raises 23505 where a unique key exists.
    Insert { table: TableId, values: Vec<Reg>, row: Option<Reg> },
    /// Changes columns of a row; values already of their columns' types. Raises 23505.
    Update { table: TableId, row: Reg, set: Vec<(ColumnId, Reg)> },
    /// Deletes a row.
    Delete { table: TableId, row: Reg },

    /// Claims a row (NULL is none) before it is changed, in a transaction that waits for others. Writes
    /// `granted` (boolean): false where another has it; never with `Wait`. Makes a call ad hoc, but for `Wait`.
    Claim { table: TableId, row: Reg, strength: Strength, if_claimed: IfClaimed, granted: Reg },

    // ---- collections ----
    /// Empties it.
    Clear { coll: Coll },
    /// Appends a row to a list.
    Push { coll: Coll, values: Vec<Reg> },
    /// Appends rows of constants to a list: `VALUES` of thousands of rows need no register for each.
    Fill { coll: Coll, rows: std::sync::Arc<[Vec<Datum>]> },
    /// `dst` (bigint) = number of rows.
    Len { dst: Reg, coll: Coll },
    /// Sorts a list, stably.
    Sort { coll: Coll, keys: Vec<SortKey> },
    /// Behind each `Push` to a list that is then sorted so, and of which the rows behind the first `offset` + `limit`
    /// are not wanted (NULL: no limit, no offset) but, with `ties`, for those that tie with the last of these: forgets
    /// such rows, some or all.
    Trim { coll: Coll, keys: Vec<SortKey>, limit: Reg, offset: Option<Reg>, ties: bool },
    /// Looks a key up in a map: writes `found` (boolean) and, where found, `values`.
    MapGet { coll: Coll, keys: Vec<Reg>, found: Reg, values: Vec<Reg> },
    /// Sets the values of a key of a map, or appends a row to a multimap.
    MapPut { coll: Coll, keys: Vec<Reg>, values: Vec<Reg> },
    /// Runs `body` for each row in order; writes `columns` (keys, then values), and `entry`
    /// (bigint), the row's number. The body must not change the collection but by `SetEntry`.
    ForEach { coll: Coll, columns: Vec<Reg>, entry: Option<Reg>, label: Label, body: Block },
    /// The same for the rows of a multimap with that key; `values` without the keys.
    ForMatches { coll: Coll, keys: Vec<Reg>, values: Vec<Reg>, entry: Option<Reg>, label: Label, body: Block },
    /// Sets one value column of row number `entry`.
    SetEntry { coll: Coll, entry: Reg, column: u32, value: Reg },
}

impl Block {
    /// Calls `f` for every operation, outer before inner, in program order.
    pub fn visit<'a>(&'a self, f: &mut impl FnMut(&'a Op)) {
        for op in &self.0 {
            f(op);
            op.kind.blocks(&mut |b| b.visit(f));
        }
    }
    /// The same, to change.
    pub fn visit_mut(&mut self, f: &mut impl FnMut(&mut Op)) {
        for op in &mut self.0 {
            f(op);
            op.kind.blocks_mut(&mut |b| b.visit_mut(f));
        }
    }
}

impl OpKind {
    /// Calls `f` for each block directly inside.
    pub fn blocks<'a>(&'a self, f: &mut dyn FnMut(&'a Block)) {
        match self {
            OpKind::If { then, otherwise, .. } => {
                f(then);
                f(otherwise);
            }
            OpKind::Loop { body, .. }
            | OpKind::Block { body, .. }
            | OpKind::Scan { body, .. }
            | OpKind::ForEach { body, .. }
            | OpKind::ForMatches { body, .. } => f(body),
            OpKind::Try { body, handlers } => {
                f(body);
                handlers.iter().for_each(|h| f(&h.body));
            }
            _ => {}
        }
    }
    /// The same, to change.
    pub fn blocks_mut(&mut self, f: &mut dyn FnMut(&mut Block)) {
        match self {
            OpKind::If { then, otherwise, .. } => {
                f(then);
                f(otherwise);
            }
            OpKind::Loop { body, .. }
            | OpKind::Block { body, .. }
            | OpKind::Scan { body, .. }
            | OpKind::ForEach { body, .. }
            | OpKind::ForMatches { body, .. } => f(body),
            OpKind::Try { body, handlers } => {
                f(body);
                handlers.iter_mut().for_each(|h| f(&mut h.body));
            }
            _ => {}
        }
    }

    /// Calls `f` for each register this operation itself reads (not those its blocks read).
    pub fn reads(&self, f: &mut dyn FnMut(Reg)) {
        match self {
            OpKind::Const { .. }
            | OpKind::Draw { .. }
            | OpKind::NextValue { .. }
            | OpKind::CurrentValue { .. }
            | OpKind::Loop { .. }
            | OpKind::Block { .. }
            | OpKind::Exit { .. }
            | OpKind::Continue { .. }
            | OpKind::Return
            | OpKind::EndTransaction { .. }
            | OpKind::Try { .. }
            | OpKind::Clear { .. }
            | OpKind::Fill { .. }
            | OpKind::Len { .. }
            | OpKind::Sort { .. }
            | OpKind::SystemRows { .. }
            | OpKind::ForEach { .. } => {}
            OpKind::Copy { src, .. } | OpKind::Cast { src, .. } => f(*src),
            OpKind::Apply { args, .. }
            | OpKind::Ask { args, .. }
            | OpKind::Call { args, .. }
            | OpKind::CallSet { args, .. }
            | OpKind::Piece { args, .. } => args.iter().for_each(|r| f(*r)),
            OpKind::SetValue { value, is_called, .. } => {
                f(*value);
                f(*is_called);
            }
            OpKind::ArraySet { array, index, value } => {
                f(*array);
                f(*index);
                f(*value);
            }
            OpKind::If { cond, .. } => f(*cond),
            OpKind::Raise { state, message, fields, .. } => {
                if let StateSource::Computed(r) = state {
                    f(*r);
                }
                f(*message);
                fields.regs().for_each(|r| f(*r));
            }
            OpKind::Notify { channel, payload } => {
                f(*channel);
                f(*payload);
            }
            OpKind::Execute { text, args, run, .. } => {
                f(*text);
                args.iter().for_each(|r| f(*r));
                if let Run::Open { name, .. } = run {
                    f(*name);
                }
            }
            OpKind::Emit { values }
            | OpKind::Keep { values }
            | OpKind::Push { values, .. }
            | OpKind::Insert { values, .. } => {
                values.iter().for_each(|r| f(*r));
            }
            OpKind::Trim { limit, offset, .. } => {
                f(*limit);
                offset.iter().for_each(|r| f(*r));
            }
            OpKind::Get { key, .. } => key.iter().for_each(|r| f(*r)),
            OpKind::Scan { range, .. } => {
                range.prefix.iter().for_each(|r| f(*r));
                range.lower.iter().chain(&range.upper).for_each(|b| f(b.reg));
            }
            OpKind::Load { row, .. } | OpKind::Delete { row, .. } | OpKind::Claim { row, .. } => f(*row),
            OpKind::Update { row, set, .. } => {
                f(*row);
                set.iter().for_each(|(_, r)| f(*r));
            }
            OpKind::MapGet { keys, .. } | OpKind::ForMatches { keys, .. } => {
                keys.iter().for_each(|r| f(*r));
            }
            OpKind::MapPut { keys, values, .. } => {
                keys.iter().chain(values).for_each(|r| f(*r));
            }
            OpKind::SetEntry { entry, value, .. } => {
                f(*entry);
                f(*value);
            }
        }
    }

    /// Calls `f` for each register this operation itself writes.
    pub fn writes(&self, f: &mut dyn FnMut(Reg)) {
        match self {
            OpKind::Const { dst, .. }
            | OpKind::Copy { dst, .. }
            | OpKind::Apply { dst, .. }
            | OpKind::Ask { dst, .. }
            | OpKind::Cast { dst, .. }
            | OpKind::Draw { dst, .. }
            | OpKind::NextValue { dst, .. }
            | OpKind::CurrentValue { dst, .. }
            | OpKind::Len { dst, .. } => f(*dst),
            OpKind::ArraySet { array, .. } => f(*array),
            OpKind::Try { handlers, .. } => handlers.iter().for_each(|h| {
                f(h.sqlstate);
                f(h.sqlerrm);
                h.diagnostics.iter().for_each(|(_, r)| f(*r));
            }),
            OpKind::Call { outs, .. } => outs.iter().for_each(|r| f(*r)),
            OpKind::Execute { row_count, run, .. } => {
                f(*row_count);
                if let Run::Open { name, .. } = run {
                    f(*name);
                }
            }
            OpKind::Get { row, columns, .. } | OpKind::Scan { row, columns, .. } => {
                f(*row);
                columns.iter().for_each(|(_, r)| f(*r));
            }
            OpKind::Load { columns, .. } => columns.iter().for_each(|(_, r)| f(*r)),
            OpKind::Insert { row, .. } => row.iter().for_each(|r| f(*r)),
            OpKind::Claim { granted, .. } => f(*granted),
            OpKind::MapGet { found, values, .. } => {
                f(*found);
                values.iter().for_each(|r| f(*r));
            }
            OpKind::ForEach { columns, entry, .. } => {
                columns.iter().chain(entry).for_each(|r| f(*r));
            }
            OpKind::ForMatches { values, entry, .. } => {
                values.iter().chain(entry).for_each(|r| f(*r));
            }
            _ => {}
        }
    }

    /// The table this operation reads or writes, if any.
    pub fn table(&self) -> Option<TableId> {
        match self {
            OpKind::Get { table, .. }
            | OpKind::Scan { table, .. }
            | OpKind::Load { table, .. }
            | OpKind::Insert { table, .. }
            | OpKind::Update { table, .. }
            | OpKind::Delete { table, .. }
            | OpKind::Claim { table, .. } => Some(*table),
            _ => None,
        }
    }

    /// The label of the region that this operation is.
    pub fn label(&self) -> Option<Label> {
        match self {
            OpKind::Loop { label, .. }
            | OpKind::Block { label, .. }
            | OpKind::Scan { label, .. }
            | OpKind::ForEach { label, .. }
            | OpKind::ForMatches { label, .. } => Some(*label),
            _ => None,
        }
    }

    /// The collection that this operation changes.
    pub fn changed_collection(&self) -> Option<Coll> {
        match self {
            OpKind::Clear { coll }
            | OpKind::Push { coll, .. }
            | OpKind::Fill { coll, .. }
            | OpKind::Sort { coll, .. }
            | OpKind::Trim { coll, .. }
            | OpKind::MapPut { coll, .. }
            | OpKind::SetEntry { coll, .. } => Some(*coll),
            OpKind::CallSet { into, .. } | OpKind::SystemRows { into, .. } => Some(*into),
            OpKind::Execute { rows, .. } => *rows,
            _ => None,
        }
    }

    /// The collection that this operation looks into.
    pub fn read_collection(&self) -> Option<Coll> {
        match self {
            OpKind::Len { coll, .. }
            | OpKind::MapGet { coll, .. }
            | OpKind::ForEach { coll, .. }
            | OpKind::ForMatches { coll, .. } => Some(*coll),
            OpKind::Execute { rows, run: Run::Open { .. }, .. } => *rows,
            _ => None,
        }
    }

    /// Whether this operation changes a table.
    pub fn is_write(&self) -> bool {
        matches!(self, OpKind::Insert { .. } | OpKind::Update { .. } | OpKind::Delete { .. })
    }
}
