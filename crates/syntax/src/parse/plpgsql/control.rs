//! IF, CASE and the loops.

use planaria_base::Result;

use super::super::lex::Kind;
use super::super::parser::Parser;
use crate::ast::plpgsql::{Stmt, StmtKind};
use crate::ast::{Expr, ExprKind};

impl Parser<'_> {
    pub(super) fn pl_if(&mut self) -> Result<StmtKind> {
        self.bump();
        let mut branches = vec![self.pl_branch()?];
        while self.eat_word("elsif") || self.eat_word("elseif") {
            branches.push(self.pl_branch()?);
        }
        let otherwise = match self.eat_word("else") {
            true => self.pl_statements()?,
            false => Vec::new(),
        };
        self.expect_words(&["end", "if"])?;
        self.expect(Kind::Semicolon)?;
        Ok(StmtKind::If { branches, otherwise })
    }

    /// `condition THEN statements`
    fn pl_branch(&mut self) -> Result<(Expr, Vec<Stmt>)> {
        let condition = self.pl_expr_until(&["then"], &[])?;
        self.expect_word("then")?;
        Ok((condition, self.pl_statements()?))
    }

    pub(super) fn pl_case(&mut self) -> Result<StmtKind> {
        self.bump();
        let operand = match self.at_word("when") {
            true => None,
            false => Some(self.pl_expr_until(&["when"], &[])?),
        };
        let mut whens = Vec::new();
        self.expect_word("when")?;
        loop {
            let mut values = vec![self.pl_case_value()?];
            while operand.is_some() && self.eat(Kind::Comma) {
                values.push(self.pl_case_value()?);
            }
            self.expect_word("then")?;
            whens.push((values, self.pl_statements()?));
            if !self.eat_word("when") {
                break;
            }
        }
        let otherwise = match self.eat_word("else") {
            true => Some(self.pl_statements()?),
            false => None,
        };
        self.expect_words(&["end", "case"])?;
        self.expect(Kind::Semicolon)?;
        Ok(StmtKind::Case { operand, whens, otherwise })
    }

    fn pl_case_value(&mut self) -> Result<Expr> {
        self.pl_expr_until(&["then"], &[Kind::Comma])
    }

    /// `LOOP statements END LOOP [label];`
    fn pl_loop_body(&mut self, label: Option<&str>) -> Result<Vec<Stmt>> {
        self.expect_word("loop")?;
        let body = self.pl_statements()?;
        self.expect_words(&["end", "loop"])?;
        self.pl_end_label(label)?;
        self.expect(Kind::Semicolon)?;
        Ok(body)
    }

    pub(super) fn pl_loop(&mut self, label: Option<String>) -> Result<StmtKind> {
        let body = self.pl_loop_body(label.as_deref())?;
        Ok(StmtKind::Loop { label, body })
    }

    pub(super) fn pl_while(&mut self, label: Option<String>) -> Result<StmtKind> {
        self.bump();
        let condition = self.pl_expr_until(&["loop"], &[])?;
        let body = self.pl_loop_body(label.as_deref())?;
        Ok(StmtKind::While { label, condition, body })
    }

    /// The four kinds of FOR are told apart by what follows IN, as PostgreSQL does: EXECUTE, a
    /// cursor's name before LOOP, `..` somewhere before LOOP, else a query.
    pub(super) fn pl_for(&mut self, label: Option<String>) -> Result<StmtKind> {
        let start = self.bump().start;
        let mut targets = self.list(Self::pl_target)?;
        self.expect_word("in")?;
        if self.eat_word("execute") {
            let text = self.pl_expr_until(&["using", "loop"], &[])?;
            let using = self.pl_using()?;
            let body = self.pl_loop_body(label.as_deref())?;
            return Ok(StmtKind::ForExecute { label, targets, text, using, body });
        }
        if self.at_cursor_loop() {
            let cursor = self.pl_cursor_name()?;
            let args = self.pl_cursor_arguments()?;
            let body = self.pl_loop_body(label.as_deref())?;
            return Ok(StmtKind::ForCursor { label, targets, cursor, args, body });
        }
        let end = self.pl_until(&["loop"], &[])?;
        let range = self.pl_find(&["loop"], &[Kind::DotDot]).filter(|at| *at < end);
        let Some(dots) = range else {
            let query = Box::new(self.within(end, Self::whole_statement)?);
            let body = self.pl_loop_body(label.as_deref())?;
            return Ok(StmtKind::ForQuery { label, targets, query, body });
        };
        let variable = match targets.pop().map(|target| target.kind) {
            Some(ExprKind::Column(mut name)) if targets.is_empty() && name.parts.len() == 1 => {
                name.parts.remove(0)
            }
            _ => {
                let message = "integer FOR loop must have only one target variable";
                return Err(self.syntax_error(message, start));
            }
        };
        let reverse = self.eat_word("reverse");
        let from = self.pl_expr_to(dots)?;
        self.bump();
        let to = self.pl_expr_until(&["by", "loop"], &[])?;
        let step = match self.eat_word("by") {
            true => Some(self.pl_expr_until(&["loop"], &[])?),
            false => None,
        };
        let body = self.pl_loop_body(label.as_deref())?;
        Ok(StmtKind::ForRange { label, variable, reverse, from, to, step, body })
    }

    /// Whether `name LOOP` or `name(..) LOOP` comes next.
    fn at_cursor_loop(&self) -> bool {
        if !self.at_pl_name() || self.at_query() {
            return false;
        }
        let mut behind = 1;
        if self.peek_at(1).kind == Kind::LeftParen {
            match self.closing(self.index() + 1) {
                Some(close) => behind = close + 1 - self.index(),
                None => return false,
            }
        }
        self.at_word_ahead(behind, "loop")
    }

    /// `FOREACH target, .. [SLICE n] IN ARRAY e LOOP ..`
    pub(super) fn pl_foreach(&mut self, label: Option<String>) -> Result<StmtKind> {
        self.bump();
        let targets = self.list(Self::pl_target)?;
        let slice = match self.eat_word("slice") {
            true => Some(self.small_integer()?),
            false => None,
        };
        self.expect_words(&["in", "array"])?;
        let array = self.pl_expr_until(&["loop"], &[])?;
        let body = self.pl_loop_body(label.as_deref())?;
        Ok(StmtKind::ForEach { label, targets, slice, array, body })
    }
}
