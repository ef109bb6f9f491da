//! Statements of PL/pgSQL.

use planaria_base::Result;

use super::super::lex::Kind;
use super::super::parser::Parser;
use crate::ast::plpgsql::{Stmt, StmtKind, TRANSACTION_CONTROL};
use crate::ast::{Expr, StatementKind, Transaction};

/// Items of GET CURRENT DIAGNOSTICS.
const CURRENT_ITEMS: &[&str] = &["row_count"];
/// The item of both.
const CONTEXT_ITEM: &str = "pg_context";
/// Items of GET STACKED DIAGNOSTICS.
const STACKED_ITEMS: &[&str] = &[
    "returned_sqlstate",
    "message_text",
    "pg_exception_detail",
    "pg_exception_hint",
    "pg_exception_context",
    "column_name",
    "constraint_name",
    "pg_datatype_name",
    "table_name",
    "schema_name",
];

impl Parser<'_> {
    /// Statements up to a word that ends them, which is left.
    pub(super) fn pl_statements(&mut self) -> Result<Vec<Stmt>> {
        let mut statements = Vec::new();
        loop {
            if self.at_end() {
                return self.fail();
            }
            let ends = self.at_any(&["end", "else", "elsif", "elseif", "when"])
                || self.at_words(&["exception", "when"]);
            if ends && !self.at_assignment() {
                return Ok(statements);
            }
            statements.push(self.nested(Self::pl_statement)?);
        }
    }

    /// Whether an assignment comes next: no statement has `:=`, `=`, `.` or `[` as second token.
    fn at_assignment(&self) -> bool {
        let named = self.at_pl_name() || self.at_kind(Kind::Parameter);
        named
            && (matches!(self.peek_at(1).kind, Kind::ColonEquals | Kind::Dot | Kind::LeftBracket)
                || self.peek_at(1).kind == Kind::Operator && self.peek_at(1).text(self.text) == "=")
    }

    fn pl_statement(&mut self) -> Result<Stmt> {
        let position = self.position();
        if self.at_assignment() {
            let kind = self.pl_assignment()?;
            return Ok(Stmt { position, end: self.end_of_last(), kind });
        }
        let label = self.pl_label()?;
        let word = self.word();
        let kind = match word.as_str() {
            "declare" | "begin" => {
                let block = self.pl_block_behind_label(label, position)?;
                self.expect(Kind::Semicolon)?;
                StmtKind::Block(Box::new(block))
            }
            "loop" => self.pl_loop(label)?,
            "while" => self.pl_while(label)?,
            "for" => self.pl_for(label)?,
            "foreach" => self.pl_foreach(label)?,
            _ if label.is_some() => return self.fail(),
            "if" => self.pl_if()?,
            "case" => self.pl_case()?,
            "exit" | "continue" => self.pl_exit()?,
            "return" => self.pl_return()?,
            "raise" => self.pl_raise()?,
            "assert" => self.pl_assert()?,
            "perform" => self.pl_perform()?,
            "execute" => self.pl_execute()?,
            "get" => self.pl_diagnostics()?,
            "null" => {
                self.bump();
                self.expect(Kind::Semicolon)?;
                StmtKind::Null
            }
            "open" => self.pl_open()?,
            "fetch" => self.pl_fetch(false)?,
            "move" => self.pl_fetch(true)?,
            "close" => {
                self.bump();
                let cursor = self.pl_cursor_name()?;
                self.expect(Kind::Semicolon)?;
                StmtKind::Close(cursor)
            }
            "commit" | "rollback" => {
                self.bump();
                let ends = match word.as_str() {
                    "commit" => self.ends(Transaction::Commit, Transaction::CommitAndChain)?,
                    _ => self.ends(Transaction::Rollback, Transaction::RollbackAndChain)?,
                };
                self.expect(Kind::Semicolon)?;
                StmtKind::Transaction(ends)
            }
            _ => self.pl_sql_statement()?,
        };
        Ok(Stmt { position, end: self.end_of_last(), kind })
    }

    /// A statement of SQL.
    fn pl_sql_statement(&mut self) -> Result<StmtKind> {
        let end = self.pl_semicolon()?;
        let statement = self.pl_sql(end)?;
        self.expect(Kind::Semicolon)?;
        Ok(match statement.kind {
            StatementKind::Transaction(_) => StmtKind::Unsupported(TRANSACTION_CONTROL.to_owned()),
            StatementKind::Unsupported(name) => StmtKind::Unsupported(name),
            _ => StmtKind::Sql(Box::new(statement)),
        })
    }

    fn pl_assignment(&mut self) -> Result<StmtKind> {
        let target = self.pl_target()?;
        if !self.eat(Kind::ColonEquals) && !self.eat_operator("=") {
            return self.fail();
        }
        let value = self.pl_expr_until(&[], &[])?;
        self.expect(Kind::Semicolon)?;
        Ok(StmtKind::Assign { target, value })
    }

    fn pl_exit(&mut self) -> Result<StmtKind> {
        let leaves = self.at_word("exit");
        self.bump();
        let label = match self.at_pl_name() {
            true => Some(self.pl_name()?),
            false => None,
        };
        let when = match self.eat_word("when") {
            true => Some(self.pl_expr_until(&[], &[])?),
            false => None,
        };
        self.expect(Kind::Semicolon)?;
        Ok(if leaves { StmtKind::Exit { label, when } } else { StmtKind::Continue { label, when } })
    }

    fn pl_return(&mut self) -> Result<StmtKind> {
        self.bump();
        let kind = if self.eat_word("next") {
            StmtKind::ReturnNext(self.pl_optional_expr()?)
        } else if self.at_words(&["query", "execute"]) {
            self.bump();
            self.bump();
            let text = self.pl_expr_until(&["using"], &[])?;
            StmtKind::ReturnQueryExecute { text, using: self.pl_using()? }
        } else if self.at_word("query") && self.peek_at(1).kind != Kind::Semicolon {
            self.bump();
            let end = self.pl_semicolon()?;
            StmtKind::ReturnQuery(Box::new(self.within(end, Self::whole_statement)?))
        } else {
            StmtKind::Return(self.pl_optional_expr()?)
        };
        self.expect(Kind::Semicolon)?;
        Ok(kind)
    }

    fn pl_optional_expr(&mut self) -> Result<Option<Expr>> {
        if self.at_kind(Kind::Semicolon) { Ok(None) } else { self.pl_expr_until(&[], &[]).map(Some) }
    }

    /// `[USING e, ...]` up to the semicolon or one of the words of EXECUTE and FOR.
    pub(super) fn pl_using(&mut self) -> Result<Vec<Expr>> {
        let mut args = Vec::new();
        if self.eat_word("using") {
            loop {
                args.push(self.pl_expr_until(&["into", "loop"], &[Kind::Comma])?);
                if !self.eat(Kind::Comma) {
                    break;
                }
            }
        }
        Ok(args)
    }

    fn pl_assert(&mut self) -> Result<StmtKind> {
        self.bump();
        let condition = self.pl_expr_until(&[], &[Kind::Comma])?;
        let message = match self.eat(Kind::Comma) {
            true => Some(self.pl_expr_until(&[], &[])?),
            false => None,
        };
        self.expect(Kind::Semicolon)?;
        Ok(StmtKind::Assert { condition, message })
    }

    fn pl_perform(&mut self) -> Result<StmtKind> {
        let position = self.bump().start;
        let end = self.pl_semicolon()?;
        let query = self.within(end, |p| p.query_behind_select(position))?;
        self.expect(Kind::Semicolon)?;
        Ok(StmtKind::Perform(Box::new(query)))
    }

    /// `EXECUTE text [INTO ..] [USING ..]`, the two in any order.
    fn pl_execute(&mut self) -> Result<StmtKind> {
        self.bump();
        let text = self.pl_expr_until(&["into", "using"], &[])?;
        let (mut into, mut using) = (None, Vec::new());
        loop {
            let position = self.position();
            if self.at_word("into") {
                if into.is_some() {
                    return Err(self.syntax_error("INTO specified more than once", position));
                }
                into = Some(self.pl_into()?);
            } else if self.at_word("using") && using.is_empty() {
                using = self.pl_using()?;
            } else {
                self.expect(Kind::Semicolon)?;
                return Ok(StmtKind::Execute { text, into, using });
            }
        }
    }

    /// `GET [CURRENT | STACKED] DIAGNOSTICS target = item, ...;`
    fn pl_diagnostics(&mut self) -> Result<StmtKind> {
        self.bump();
        let stacked = self.eat_word("stacked");
        if !stacked {
            self.eat_word("current");
        }
        self.expect_word("diagnostics")?;
        let items = self.list(|p| {
            let target = p.pl_target()?;
            if !p.eat(Kind::ColonEquals) && !p.eat_operator("=") {
                return p.fail();
            }
            let position = p.position();
            let written = p.peek().text(p.text).to_owned();
            let item = p.label()?;
            let (known, other) = match stacked {
                true => (STACKED_ITEMS, CURRENT_ITEMS),
                false => (CURRENT_ITEMS, STACKED_ITEMS),
            };
            if item == CONTEXT_ITEM || known.contains(&item.as_str()) {
                return Ok((target, item));
            }
            let message = match other.contains(&item.as_str()) {
                true => format!(
                    "diagnostics item {} is not allowed in GET {} DIAGNOSTICS",
                    item.to_uppercase(),
                    if stacked { "STACKED" } else { "CURRENT" }
                ),
                false => format!("unrecognized GET DIAGNOSTICS item at or near \"{written}\""),
            };
            Err(p.syntax_error(message, position))
        })?;
        self.expect(Kind::Semicolon)?;
        Ok(StmtKind::GetDiagnostics { stacked, items })
    }
}
