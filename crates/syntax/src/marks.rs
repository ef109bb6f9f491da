//! What CONTEXT says of a place in the body of a routine: line, kind of statement, and its text, in PostgreSQL's words.
//!
//! The marks of a body are made when an error asks for them: it is parsed once more. Whoever asks keeps them.

use std::ops::Range;

use crate::ast::plpgsql::{DeclarationKind, PlBlock, Stmt, StmtKind};
use crate::ast::{Expr, ExprKind, Into, Position, QueryBody, Statement, StatementKind, Transaction, visit};
use crate::parse;

/// A piece of a body, and what an error in it is told with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mark {
    /// Which piece: the innermost one counts.
    pub piece: Range<Position>,
    /// What stands behind the name of the routine: `line 3 at IF`; `None`: PostgreSQL says nothing of the routine.
    pub told: Option<String>,
    /// A line before it: the SQL statement, or the expression that needed one.
    pub statement: Option<String>,
    /// The text that PostgreSQL analyses of it, and the place in the body that would be its first: what is wrong with the text is
    /// shown in it.
    pub query: Option<(String, i64)>,
}

/// The innermost mark around a place: marks stand in the order of their beginnings, outer ones first.
pub fn innermost(marks: &[Mark], position: Position) -> Option<&Mark> {
    marks.iter().rev().find(|mark| mark.piece.contains(&position))
}

/// The marks of a body in PL/pgSQL; none where it does not parse.
pub fn plpgsql(body: &str) -> Vec<Mark> {
    let mut marks = Marks { body, found: Vec::new(), walked: Vec::new() };
    if let Ok(block) = parse::plpgsql(body) {
        marks.block(&block);
    }
    marks.found
}

/// The marks of a body in SQL. Of a single query without tables PostgreSQL has put the expression into the caller's statement: it
/// says nothing of the routine.
pub fn sql(body: &str) -> Vec<Mark> {
    let (Ok(ranges), Ok(statements)) = (parse::split(body), parse::statements(body)) else {
        return Vec::new();
    };
    let inlined = match statements.as_slice() {
        [Statement { kind: StatementKind::Query(query), .. }] => match &query.body {
            QueryBody::Select(select) => {
                query.with.is_empty()
                    && select.from.is_empty()
                    && select.items.iter().all(|item| !asks(&item.expr))
            }
            _ => false,
        },
        _ => false,
    };
    let mark = |(at, range): (usize, Range<usize>)| Mark {
        piece: range.start as Position..range.end as Position + 1,
        told: (!inlined).then(|| format!("statement {}", at + 1)),
        statement: None,
        query: None,
    };
    ranges.into_iter().enumerate().map(mark).collect()
}

struct Marks<'b> {
    body: &'b str,
    found: Vec<Mark>,
    /// Statements that ask the query of a cursor for rows: its name, their kind and line.
    walked: Vec<(String, &'static str, usize)>,
}

impl Marks<'_> {
    fn line(&self, position: Position) -> usize {
        let before = self.body.as_bytes().get(..position as usize).unwrap_or_default();
        before.iter().filter(|byte| **byte == b'\n').count() + 1
    }

    fn text(&self, piece: Range<Position>) -> &str {
        self.body.get(piece.start as usize..piece.end as usize).unwrap_or_default().trim()
    }

    fn block(&mut self, block: &PlBlock) {
        for declaration in &block.declarations {
            if !matches!(declaration.kind, DeclarationKind::Variable { .. }) {
                continue;
            }
            let line = self.line(declaration.position);
            self.found.push(Mark {
                piece: declaration.position..declaration.end,
                told: Some(format!("line {line} during statement block local variable initialization")),
                statement: None,
                query: None,
            });
        }
        let walked = self.walked.len();
        self.statements(&block.body);
        for handler in &block.handlers {
            self.statements(&handler.body);
        }
        for declaration in &block.declarations {
            if matches!(declaration.kind, DeclarationKind::Cursor { .. }) {
                self.cursor(&declaration.name, declaration.position..declaration.end, walked);
            }
        }
    }

    /// The query of a cursor fails where its rows are asked for: that is told, if only one statement does. `walked`: where those of
    /// the cursor's block begin.
    fn cursor(&mut self, name: &str, piece: Range<Position>, walked: usize) {
        let of_kind = |kind: &str| {
            let mut all = self.walked[walked..].iter().filter(|(of, k, _)| of == name && *k == kind);
            all.next().filter(|_| all.next().is_none())
        };
        let found = ["FETCH", "FOR over cursor", "OPEN"].into_iter().find_map(of_kind);
        if let Some((_, kind, line)) = found {
            let told = Some(format!("line {line} at {kind}"));
            self.found.push(Mark { piece, told, statement: None, query: None });
        }
    }

    fn statements(&mut self, statements: &[Stmt]) {
        for statement in statements {
            self.statement(statement);
        }
    }

    fn statement(&mut self, stmt: &Stmt) {
        let piece = stmt.position..stmt.end;
        let told = format!("line {} at {}", self.line(stmt.position), kind(&stmt.kind));
        if let StmtKind::Open { cursor, .. }
        | StmtKind::Fetch { cursor, .. }
        | StmtKind::ForCursor { cursor, .. } = &stmt.kind
            && let Some(name) = cursor.parts.last()
        {
            self.walked.push((name.clone(), kind(&stmt.kind), self.line(stmt.position)));
        }
        let query = self.query_of(stmt);
        let statement = query.as_ref().and_then(|(text, _)| told_of(stmt, text));
        self.found.push(Mark { piece, told: Some(told), statement, query });
        match &stmt.kind {
            StmtKind::Block(block) => self.block(block),
            StmtKind::If { branches, otherwise } => {
                for (_, body) in branches {
                    self.statements(body);
                }
                self.statements(otherwise);
            }
            StmtKind::Case { whens, otherwise, .. } => {
                for (_, body) in whens {
                    self.statements(body);
                }
                self.statements(otherwise.as_deref().unwrap_or_default());
            }
            StmtKind::Loop { body, .. }
            | StmtKind::While { body, .. }
            | StmtKind::ForRange { body, .. }
            | StmtKind::ForQuery { body, .. }
            | StmtKind::ForExecute { body, .. }
            | StmtKind::ForCursor { body, .. }
            | StmtKind::ForEach { body, .. } => self.statements(body),
            _ => {}
        }
    }

    /// The text of the SQL statement that a statement is, or of its expression.
    fn query_of(&self, stmt: &Stmt) -> Option<(String, i64)> {
        // Without the semicolon.
        let whole = stmt.position..stmt.end.saturating_sub(1);
        let begins = |text: &str| text.as_ptr().addr() as i64 - self.body.as_ptr().addr() as i64;
        // Behind the words that PL/pgSQL has before it.
        let behind = |words: &[&str]| {
            let mut rest = self.text(whole.clone());
            for word in words {
                rest = rest.get(word.len()..).unwrap_or_default().trim_start();
            }
            (rest.to_owned(), begins(rest))
        };
        match &stmt.kind {
            StmtKind::Sql(statement) => {
                let at = begins(self.text(whole.clone()));
                Some((self.without_into(whole, into_of(statement)), at))
            }
            StmtKind::Perform(_) => {
                let (text, at) = behind(&["perform"]);
                Some((format!("SELECT {text}"), at - "SELECT ".len() as i64))
            }
            StmtKind::ReturnQuery(_) => Some(behind(&["return", "query"])),
            StmtKind::Assign { .. } => Some(behind(&[])),
            StmtKind::Return(Some(_)) => Some(behind(&["return"])),
            _ => None,
        }
    }

    /// A statement's text with blanks where INTO and its targets stand.
    fn without_into(&self, whole: Range<Position>, into: Option<&Into>) -> String {
        let Some(into) = into else { return self.text(whole).to_owned() };
        let before = self.body.get(whole.start as usize..into.position as usize).unwrap_or_default();
        let behind = self.body.get(into.end as usize..whole.end as usize).unwrap_or_default();
        let blanks = " ".repeat(into.end.saturating_sub(into.position) as usize);
        format!("{before}{blanks}{behind}").trim().to_owned()
    }
}

/// The line that names the SQL statement that a statement is, or that its expression needs: one with a query in it.
fn told_of(stmt: &Stmt, text: &str) -> Option<String> {
    match &stmt.kind {
        StmtKind::Sql(_) | StmtKind::Perform(_) | StmtKind::ReturnQuery(_) => {
            Some(format!("SQL statement \"{text}\""))
        }
        StmtKind::Assign { value, .. } if asks(value) => Some(format!("PL/pgSQL assignment \"{text}\"")),
        StmtKind::Return(Some(value)) if asks(value) => Some(format!("SQL expression \"{text}\"")),
        _ => None,
    }
}

fn into_of(statement: &Statement) -> Option<&Into> {
    match &statement.kind {
        StatementKind::Query(query) => match &query.body {
            QueryBody::Select(select) => select.into.as_ref(),
            _ => None,
        },
        StatementKind::Insert(insert) => insert.into.as_ref(),
        StatementKind::Update(update) => update.into.as_ref(),
        StatementKind::Delete(delete) => delete.into.as_ref(),
        _ => None,
    }
}

/// What PostgreSQL calls a statement.
fn kind(stmt: &StmtKind) -> &'static str {
    match stmt {
        StmtKind::Assign { .. } => "assignment",
        StmtKind::Block(_) => "statement block",
        StmtKind::If { .. } => "IF",
        StmtKind::Case { .. } => "CASE",
        StmtKind::Loop { .. } => "LOOP",
        StmtKind::While { .. } => "WHILE",
        StmtKind::ForRange { .. } => "FOR with integer loop variable",
        StmtKind::ForQuery { .. } => "FOR over SELECT rows",
        StmtKind::ForExecute { .. } => "FOR over EXECUTE statement",
        StmtKind::ForCursor { .. } => "FOR over cursor",
        StmtKind::Open { .. } => "OPEN",
        StmtKind::Fetch { into: Some(_), .. } => "FETCH",
        StmtKind::Fetch { into: None, .. } => "MOVE",
        StmtKind::Close(_) => "CLOSE",
        StmtKind::ForEach { .. } => "FOREACH over array",
        StmtKind::Exit { .. } => "EXIT",
        StmtKind::Continue { .. } => "CONTINUE",
        StmtKind::Return(_) => "RETURN",
        StmtKind::ReturnNext(_) => "RETURN NEXT",
        StmtKind::ReturnQuery(_) | StmtKind::ReturnQueryExecute { .. } => "RETURN QUERY",
        StmtKind::Raise(_) => "RAISE",
        StmtKind::Assert { .. } => "ASSERT",
        StmtKind::Perform(_) => "PERFORM",
        StmtKind::Sql(statement) if matches!(statement.kind, StatementKind::Call { .. }) => "CALL",
        StmtKind::Sql(_) => "SQL statement",
        StmtKind::Execute { .. } => "EXECUTE",
        StmtKind::GetDiagnostics { stacked: false, .. } => "GET DIAGNOSTICS",
        StmtKind::GetDiagnostics { stacked: true, .. } => "GET STACKED DIAGNOSTICS",
        StmtKind::Null => "NULL",
        StmtKind::Transaction(Transaction::Commit | Transaction::CommitAndChain) => "COMMIT",
        StmtKind::Transaction(_) => "ROLLBACK",
        StmtKind::Unsupported(_) => "statement",
    }
}

/// Whether an expression has a query in it, so that PostgreSQL runs it as one.
fn asks(expr: &Expr) -> bool {
    let mut found = false;
    visit::expr(expr, &mut |node| {
        found |= matches!(
            node,
            visit::Node::Expr(Expr {
                kind: ExprKind::Subquery(_)
                    | ExprKind::Exists(_)
                    | ExprKind::InQuery { .. }
                    | ExprKind::QuantifiedQuery { .. }
                    | ExprKind::ArrayQuery(_),
                ..
            })
        );
    });
    found
}
