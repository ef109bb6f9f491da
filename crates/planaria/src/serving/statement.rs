//! Statements as a server has them: parsed before any session sees them, and asked what they do.

use crate::row::Rows;
use crate::sealed::Sealed;
use crate::statement::Statement;
use crate::ticket::Ticket;
use planaria_base::{Error, Result, SqlState, Type};
use planaria_syntax::ast;
use planaria_syntax::ast::copy::CopyOptions;
use std::borrow::Cow;
use std::sync::Arc;

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
    /// COMMIT AND CHAIN, ROLLBACK AND CHAIN
    Chain,
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
            ast::StatementKind::Transaction(T::CommitAndChain | T::RollbackAndChain) => StatementKind::Chain,
            ast::StatementKind::Transaction(_) => StatementKind::Savepoint,
            ast::StatementKind::Query(_)
            | ast::StatementKind::Insert(_)
            | ast::StatementKind::Update(_)
            | ast::StatementKind::Delete(_)
            | ast::StatementKind::Merge(_)
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

/// What a statement does, for whoever does a part of it.
pub trait ServedStatement: Sealed {
    /// Whether it is COPY.
    fn is_copy(&self) -> bool;
    /// Its text, to keep.
    fn shared_text(&self) -> &Arc<str>;
    /// What it does to its session and transaction.
    fn kind(&self) -> StatementKind;
    /// The routine that it calls, if it is nothing but `CALL f(..)` or `SELECT f(..)`; as it is written, for
    /// counting.
    fn calls(&self) -> Option<&str>;
    /// For FETCH (true) and MOVE (false) forward: the cursor, and how many rows (0: all).
    fn walks(&self) -> Option<(&str, bool, usize)>;
    /// For COPY: the form of the data, and whether it comes in. Then the statement is the INSERT of one
    /// row, with a parameter for each column, or the query whose rows go out.
    fn copy(&self) -> Option<CopyForm<'_>>;
    /// Whether a transaction that has failed takes it.
    fn leaves_failed_transaction(&self) -> bool;
}

impl ServedStatement for Statement {
    fn is_copy(&self) -> bool {
        self.inner.copy.is_some()
    }
    fn shared_text(&self) -> &Arc<str> {
        &self.inner.text
    }
    fn kind(&self) -> StatementKind {
        StatementKind::of(&self.inner.statement)
    }
    fn calls(&self) -> Option<&str> {
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
    fn walks(&self) -> Option<(&str, bool, usize)> {
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
    fn copy(&self) -> Option<CopyForm<'_>> {
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
    fn leaves_failed_transaction(&self) -> bool {
        matches!(
            &self.inner.statement.kind,
            ast::StatementKind::Transaction(transaction) if transaction.leaves_failure()
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

/// What a statement did that was [started](crate::serving::ServedSession::start). Its rows went to the sink.
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
            "SELECT" | "UPDATE" | "DELETE" | "MERGE" | "FETCH" | "MOVE" | "COPY" => b" ",
            _ => return,
        };
        out.extend_from_slice(zero);
        planaria_base::text_io::write_int(out, self.count as i64);
    }
}
