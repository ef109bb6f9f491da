//! Statements for those who serve others: parsed, analysed, run without waiting for the disk.
//!
//! ```text
//!  text --parse--> Parsed --Session::prepare_parsed--> Statement --Session::start--> Done, rows in a sink
//! ```

use crate::params::Params;
use crate::row::{Column, Rows};
use crate::session::Session;
pub use crate::session::copy_triggers::{CopiedRow, CopyTriggers};
use crate::session::prepared::PreparedStatement;
use crate::session::serve::KeptState;
use crate::sink::RowSink;
use crate::ticket::Ticket;
use planaria_base::{Error, Result, RoleId, SqlState, Type};
use planaria_syntax::ast;
pub use planaria_syntax::ast::copy::{CopyColumns, CopyFormat, CopyHeader, CopyOptions};
use std::borrow::Cow;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Instant;

/// A statement of a text, not yet looked up in any catalog.
#[derive(Clone, Debug)]
pub struct Parsed {
    pub(crate) text: Arc<str>,
    pub(crate) statement: ast::Statement,
}

/// All statements of a text; none where it is empty. 42601 with a position where it is wrong
/// anywhere: then nothing of it should run.
pub fn parse(text: &str) -> Result<Vec<Parsed>> {
    let statements = planaria_syntax::parse::statements(text)?;
    let text: Arc<str> = text.into();
    Ok(statements.into_iter().map(|statement| Parsed { text: text.clone(), statement }).collect())
}

/// What a statement does to its session and transaction.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum StatementKind {
    /// A query, a change of rows, a call, a DO block.
    Program,
    /// BEGIN
    Begin,
    /// COMMIT
    Commit,
    /// ROLLBACK
    Rollback,
    /// SAVEPOINT, RELEASE, ROLLBACK TO
    Savepoint,
    /// A change of the schema.
    Schema,
    /// Anything else: settings, EXPLAIN, prepared statements.
    Utility,
}

impl StatementKind {
    fn of(statement: &ast::Statement) -> StatementKind {
        use ast::Transaction as T;
        match &statement.kind {
            ast::StatementKind::Transaction(T::Begin { .. }) => StatementKind::Begin,
            ast::StatementKind::Transaction(T::Commit) => StatementKind::Commit,
            ast::StatementKind::Transaction(T::Rollback) => StatementKind::Rollback,
            ast::StatementKind::Transaction(_) => StatementKind::Savepoint,
            ast::StatementKind::Query(_)
            | ast::StatementKind::Insert(_)
            | ast::StatementKind::Update(_)
            | ast::StatementKind::Delete(_)
            | ast::StatementKind::Call { .. }
            | ast::StatementKind::Do { .. } => StatementKind::Program,
            _ if planaria_sql::ddl::is_ddl(statement) => StatementKind::Schema,
            _ => StatementKind::Utility,
        }
    }
}

impl Parsed {
    /// What it does to its session and transaction.
    pub fn kind(&self) -> StatementKind {
        StatementKind::of(&self.statement)
    }
    /// The text it stands in.
    pub fn text(&self) -> &str {
        &self.text
    }
    /// Where it begins in its text, in bytes.
    pub fn position(&self) -> usize {
        self.statement.position as usize
    }
    /// 42P02 for who has no parameters to give it: of the first `$n` in it.
    pub fn without_parameters(&self) -> Error {
        let (n, position) = self.statement.first_parameter().unwrap_or((1, self.statement.position));
        Error::new(SqlState::UNDEFINED_PARAMETER, format!("there is no parameter ${n}")).at(position)
    }
}

/// A statement with parameters, analysed once.
#[derive(Clone)]
pub struct Statement {
    pub(crate) inner: Arc<PreparedStatement>,
    /// Of its parameters, where it has them by name.
    pub(crate) names: Option<Arc<[String]>>,
}

impl std::fmt::Debug for Statement {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Statement").field(&self.text()).finish()
    }
}

impl Statement {
    /// The text.
    pub fn text(&self) -> &str {
        &self.inner.text
    }
    /// The same, to keep.
    pub fn shared_text(&self) -> &Arc<str> {
        &self.inner.text
    }
    /// The columns of its answer; none where it has no rows.
    pub fn columns(&self) -> &[Column] {
        &self.inner.columns
    }
    /// The same, to keep.
    pub fn shared_columns(&self) -> Arc<[Column]> {
        self.inner.columns.clone()
    }
    /// The types of its parameters: as declared, else inferred from where they stand.
    pub fn parameters(&self) -> &[Type] {
        // Those of COPY are its columns.
        if self.is_copy() { &[] } else { &self.inner.parameters }
    }
    /// What it does to its session and transaction.
    pub fn kind(&self) -> StatementKind {
        StatementKind::of(&self.inner.statement)
    }
    /// The routine that it calls, if it is nothing but `CALL f(..)` or `SELECT f(..)`; as it is written, for
    /// counting.
    pub fn calls(&self) -> Option<&str> {
        let call = match &self.inner.statement.kind {
            ast::StatementKind::Call { call, .. } => call,
            ast::StatementKind::Query(query) => match &query.body {
                ast::QueryBody::Select(select) if select.from.is_empty() => match &*select.items {
                    [ast::SelectItem { expr: ast::Expr { kind: ast::ExprKind::Call(call), .. }, .. }] => call,
                    _ => return None,
                },
                _ => return None,
            },
            _ => return None,
        };
        call.name.parts.last().map(String::as_str)
    }
    /// For FETCH (true) and MOVE (false) forward: the cursor, and how many rows (0: all).
    pub fn walks(&self) -> Option<(&str, bool, usize)> {
        use ast::cursor::Direction;
        let ast::StatementKind::Fetch { name, direction, moves } = &self.inner.statement.kind else {
            return None;
        };
        let n = match direction {
            Direction::Forward(n) => usize::try_from(*n).ok().filter(|n| *n > 0)?,
            Direction::ForwardAll => 0,
            _ => return None,
        };
        Some((name, !moves, n))
    }
    /// Whether it is COPY.
    pub fn is_copy(&self) -> bool {
        self.inner.copy.is_some()
    }
    /// For COPY: the form of the data, and whether it comes in. Then the statement is the INSERT of one
    /// row, with a parameter for each column, or the query whose rows go out.
    pub fn copy(&self) -> Option<CopyForm<'_>> {
        let copy = self.inner.copy.as_deref()?;
        let names = match &self.inner.statement.kind {
            ast::StatementKind::Insert(insert) => {
                insert.columns.iter().map(|(name, _)| name.as_str()).collect()
            }
            _ => self.columns().iter().map(|c| c.name.as_str()).collect(),
        };
        let table = match &copy.source {
            ast::copy::CopySource::Table(name, _) => name.parts.last().map_or("", String::as_str),
            ast::copy::CopySource::Statement(_) => "",
        };
        Some(CopyForm {
            from: copy.from,
            table,
            columns: names,
            types: &self.inner.parameters,
            options: &copy.options,
        })
    }
    /// Whether a transaction that has failed takes it.
    pub fn leaves_failed_transaction(&self) -> bool {
        matches!(
            &self.inner.statement.kind,
            ast::StatementKind::Transaction(
                ast::Transaction::Rollback | ast::Transaction::Commit | ast::Transaction::RollbackTo(_)
            )
        )
    }
}

/// What COPY says of its data.
#[derive(Clone, Debug)]
pub struct CopyForm<'a> {
    /// FROM STDIN, or TO STDOUT.
    pub from: bool,
    /// The table; empty where it is a query.
    pub table: &'a str,
    /// The names of the columns.
    pub columns: Vec<&'a str>,
    /// Of FROM STDIN: the types of the values.
    pub types: &'a [Type],
    /// The rest.
    pub options: &'a CopyOptions,
}

/// What a statement did that was [started](Session::start). Its rows went to the sink.
#[derive(Debug)]
pub struct Done {
    /// The command tag of PostgreSQL without its count: `INSERT`, `CREATE TABLE`.
    pub tag: Cow<'static, str>,
    /// Rows affected or returned.
    pub count: u64,
    /// Rows of a statement that is no program, such as SHOW: these are few and do not go to the sink.
    pub rows: Option<Rows>,
    /// Its way to the disk: nobody may hear of it before that.
    pub ticket: Ticket,
}

impl Done {
    /// Appends the command tag with its count: `INSERT 0 1`, `SELECT 3`, `CREATE TABLE`.
    pub fn write_tag(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(self.tag.as_bytes());
        let zero: &[u8] = match &*self.tag {
            "INSERT" => b" 0 ",
            "SELECT" | "UPDATE" | "DELETE" | "FETCH" | "MOVE" | "COPY" => b" ",
            _ => return,
        };
        out.extend_from_slice(zero);
        planaria_base::text_io::write_int(out, self.count as i64);
    }
}

/// Where a session's transaction stands.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum TransactionStatus {
    /// None is open.
    Idle,
    /// One is open.
    Open,
    /// One is open and has failed; only ROLLBACK leaves it.
    Failed,
}

/// What a client's session is between transactions: settings, statements named by PREPARE, last
/// values of sequences. A server keeps one for each client, and a session for each transaction that is
/// open: see [`Session::swap_state`].
#[derive(Default)]
pub struct SessionState(KeptState);

impl Session {
    /// Analyses a parsed statement. Parameters take the types given, the others those that their
    /// context wants.
    pub fn prepare_parsed(&mut self, parsed: &Parsed, types: &[Option<Type>]) -> Result<Statement> {
        Ok(Statement { inner: self.api.prepare_parsed(parsed, types)?, names: None })
    }

    /// How a statement reads and writes, as EXPLAIN has it; `None` where it is no query and changes no rows.
    pub fn plan(&mut self, statement: &Statement) -> Result<Option<String>> {
        self.api.plan(&statement.inner)
    }

    /// The statement of a text that was [remembered](Session::remember), if it is still what it was.
    pub fn recall(&mut self, text: &str, types: &[Option<Type>]) -> Option<Statement> {
        self.api.recall(text, types).map(|inner| Statement { inner, names: None })
    }

    /// Keeps the statement that is the whole of a text, so that the text need not be analysed again soon.
    pub fn remember(&mut self, text: &str, statement: &Statement) {
        self.api.remember(text, &statement.inner);
    }

    /// The type of the user's that has the OID, or arrays of which have it: what a client may declare a parameter to be.
    pub fn user_type(&mut self, oid: u32) -> Option<Type> {
        self.api.user_type(oid)
    }

    /// Gives a statement a name, as PREPARE does; 42P05 where it is taken.
    pub fn name(&mut self, name: &str, statement: &Statement) -> Result<()> {
        self.api.name(name, &statement.inner)
    }

    /// The statement of that name, by PREPARE or [`Session::name`].
    pub fn named(&self, name: &str) -> Option<Statement> {
        self.api.named(name).map(|inner| Statement { inner: inner.clone(), names: None })
    }

    /// Forgets a name; it may not be there.
    pub fn forget(&mut self, name: &str) {
        self.api.forget(name);
    }

    /// The columns of a cursor of DECLARE; `None` where there is none of that name.
    pub fn cursor(&self, name: &str) -> Option<Arc<[Column]>> {
        self.api.cursor(name)
    }

    /// The next rows of a cursor, at most `n` of them (0: all), as FETCH has them. 34000 where there is none of
    /// that name.
    pub fn fetch(&mut self, name: &str, n: usize) -> Result<Rows> {
        self.api.fetch_rows(name, n)
    }

    /// Closes a cursor; it may not be there.
    pub fn close_cursor(&mut self, name: &str) {
        self.api.drop_cursor(name);
    }

    /// Runs a statement and returns as soon as it is committed in memory; its rows go to `sink` on the
    /// way. Nobody may hear of any of it before the ticket says that it is on disk.
    pub fn start(
        &mut self,
        statement: &Statement,
        params: &dyn Params,
        sink: &mut dyn RowSink,
    ) -> Result<Done> {
        self.api.start(&statement.inner, params, sink)
    }

    /// For COPY FROM: what is to be run instead of its statement, where triggers fire around the rows.
    pub fn copy_triggers(&mut self, statement: &Statement) -> Result<Option<CopyTriggers>> {
        self.api.triggers_of_copy(&statement.inner)
    }

    /// Begins a transaction block, as BEGIN does.
    pub fn begin(&mut self) -> Result<()> {
        self.api.control(&ast::Transaction::Begin { read_only: None, isolation: None }).map(|_| ())
    }

    /// Commits the transaction block, as COMMIT does, and returns as soon as that is done in memory. A
    /// block that had failed is rolled back, which is no error. 40001 where it cannot be serialized.
    pub fn commit(&mut self) -> Result<Ticket> {
        self.api.control(&ast::Transaction::Commit).map(|(_, ticket)| ticket)
    }

    /// Rolls the transaction block back, as ROLLBACK does.
    pub fn rollback(&mut self) -> Result<()> {
        self.api.control(&ast::Transaction::Rollback).map(|_| ())
    }

    /// The transaction block, if one is open, cannot be committed any more: something that belongs to it
    /// failed before the engine heard of it.
    pub fn fail_transaction(&mut self) {
        self.api.fail_block();
    }

    /// Whether the session has advisory locks: those stay with it, and end with it.
    pub fn keeps_locks(&self) -> bool {
        self.api.keeps_locks()
    }

    /// Exchanges what this session is with what another one was. Not while a transaction is open, nor while it
    /// [keeps locks](Session::keeps_locks).
    pub fn swap_state(&mut self, state: &mut SessionState) {
        self.api.swap_state(&mut state.0);
    }

    /// Statements of this session end with 57014 soon after the flag was set. Who sets it clears it.
    pub fn cancelled_by(&mut self, flag: &Arc<AtomicBool>) {
        self.api.cancelled_by(flag);
    }

    /// When statements that are begun from now on end with 57014, whatever `statement_timeout` says; `None`: when
    /// that says.
    pub fn ends_by(&mut self, deadline: Option<Instant>) {
        self.api.ends_by(deadline.map(Into::into));
    }

    /// 57014 where the statement under way is to end: for whoever does a part of it.
    pub fn check_cancelled(&self) -> Result<()> {
        self.api.check_cancelled()
    }

    /// The number that `pg_backend_pid` answers from now on; part of the session's state.
    pub fn numbered(&mut self, number: i32) {
        self.api.numbered(number);
    }

    /// The role that logged in.
    pub fn role(&self) -> RoleId {
        self.api.role()
    }

    /// Before this session's thread waits for a row that another transaction has claimed, it calls this
    /// with what is to run then: for threads that serve others as well. At first that just runs.
    pub fn sleeps_by(&mut self, sleeper: fn(&mut dyn FnMut())) {
        self.api.sleeps_by(sleeper);
    }

    /// The value of a setting, as SHOW has it; 42704 where there is none of that name.
    pub fn setting(&self, name: &str) -> Result<&str> {
        self.api.setting(name)
    }

    /// Sets a setting from one text, as SET does; 42704 for an unknown one, 22023 for a value it cannot have.
    pub fn set(&mut self, name: &str, value: &str) -> Result<()> {
        self.api.set(name, value)
    }

    /// The same as the client has said it when it connected: RESET goes back to that.
    pub fn begin_with(&mut self, name: &str, value: &str) -> Result<()> {
        self.api.begin_with(name, value)
    }

    /// A setting that is a time, in milliseconds; 0 where it is off.
    pub fn setting_milliseconds(&self, name: &str) -> u64 {
        self.api.setting_milliseconds(name)
    }

    /// A number that moves when settings change.
    pub fn settings_changes(&self) -> u64 {
        self.api.settings_changes()
    }

    /// Where the transaction stands.
    pub fn transaction_status(&self) -> TransactionStatus {
        self.api.transaction_status()
    }

    /// Whether BEGIN was said and neither COMMIT nor ROLLBACK since.
    pub fn in_transaction(&self) -> bool {
        self.transaction_status() != TransactionStatus::Idle
    }
}
