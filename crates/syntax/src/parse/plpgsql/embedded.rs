//! SQL inside PL/pgSQL: windows for expressions and statements, and INTO.
//!
//! INTO may stand nearly anywhere in a SQL statement. So it is found by its tokens, as PostgreSQL
//! does (not behind INSERT or MERGE), its targets are read, and the statement is parsed without
//! these tokens; all positions stay.

use planaria_base::Result;

use super::super::lex::{Kind, Token};
use super::super::parser::Parser;
use crate::ast::{
    Expr, ExprKind, Into, Position, Query, QueryBody, Select, SelectItem, Statement, StatementKind,
    TableAlias, TableRef,
};

impl Parser<'_> {
    /// Index of the first of these words (or of a semicolon, a comma, `..` if `kinds` has them)
    /// outside of parentheses and CASE.
    pub(super) fn pl_find(&self, words: &[&str], kinds: &[Kind]) -> Option<usize> {
        let (mut depth, mut cases) = (0usize, 0usize);
        for index in self.index()..self.window_end() {
            let ahead = index - self.index();
            let token = self.peek_at(ahead);
            let outside = depth == 0 && cases == 0;
            if outside && kinds.contains(&token.kind) {
                return Some(index);
            }
            match token.kind {
                Kind::LeftParen | Kind::LeftBracket => depth += 1,
                Kind::RightParen | Kind::RightBracket => depth = depth.checked_sub(1)?,
                Kind::Semicolon if depth == 0 => return None,
                Kind::Word if depth == 0 => {
                    if outside && words.iter().any(|word| self.at_word_ahead(ahead, word)) {
                        return Some(index);
                    }
                    if self.at_word_ahead(ahead, "case") {
                        cases += 1;
                    } else if self.at_word_ahead(ahead, "end") {
                        cases = cases.saturating_sub(1);
                    }
                }
                _ => {}
            }
        }
        None
    }

    /// Index of the semicolon that ends the statement.
    pub(super) fn pl_semicolon(&self) -> Result<usize> {
        let mut depth = 0usize;
        for index in self.index()..self.window_end() {
            match self.tokens()[index].kind {
                Kind::LeftParen | Kind::LeftBracket => depth += 1,
                Kind::RightParen | Kind::RightBracket => depth = depth.saturating_sub(1),
                Kind::Semicolon if depth == 0 => return Ok(index),
                _ => {}
            }
        }
        // The error stands where the statement stops making sense; at the latest at the end.
        Ok(self.window_end())
    }

    /// Index of the first of the words, before the semicolon; an error where it should be.
    pub(super) fn pl_until(&self, words: &[&str], kinds: &[Kind]) -> Result<usize> {
        match self.pl_find(words, kinds) {
            Some(index) => Ok(index),
            None => self.pl_semicolon(),
        }
    }

    /// An expression up to one of these words or kinds, which is left.
    pub(super) fn pl_expr_until(&mut self, words: &[&str], kinds: &[Kind]) -> Result<Expr> {
        let end = self.pl_until(words, kinds)?;
        self.pl_expr_to(end)
    }

    /// An expression that ends at that token. As in PostgreSQL it is what may stand behind SELECT:
    /// `count(*) FROM t` is a query for one value.
    pub(super) fn pl_expr_to(&mut self, end: usize) -> Result<Expr> {
        let start = self.index();
        let position = self.position();
        self.within(end, |p| {
            let expr = p.expr()?;
            if p.at_end() || !p.at_any(&["from", "where", "group", "having", "order", "limit", "union"]) {
                return Ok(expr);
            }
            p.seek(start);
            let query = Box::new(p.query_behind_select(position)?);
            Ok(Expr { position, kind: ExprKind::Subquery(query) })
        })
    }

    /// A target of an assignment, INTO or a loop: `v`, `v.field`, `a[i]`, `$1`.
    pub(super) fn pl_target(&mut self) -> Result<Expr> {
        let position = self.position();
        if !self.at_kind(Kind::Parameter) && !self.at_pl_name() {
            return self.fail();
        }
        let target = self.pl_target_operand()?;
        let mut inner = &target;
        loop {
            match &inner.kind {
                ExprKind::Column(_) | ExprKind::Parameter(_) => return Ok(target),
                ExprKind::Subscripts(base, _) | ExprKind::Field(base, _) => inner = base,
                _ => return Err(self.syntax_error("syntax error in a target", position)),
            }
        }
    }

    /// The target as an operand; a variable may have the name of a function keyword.
    fn pl_target_operand(&mut self) -> Result<Expr> {
        let position = self.position();
        if self.at_kind(Kind::Parameter) {
            return self.operand();
        }
        let mut parts = vec![self.pl_name()?];
        while self.at_kind(Kind::Dot) {
            self.bump();
            parts.push(self.label()?);
        }
        let name = crate::ast::Name { parts, position };
        self.indirection(Expr { position, kind: ExprKind::Column(name) })
    }

    /// `INTO [STRICT] target, ...`
    pub(super) fn pl_into(&mut self) -> Result<Into> {
        let position = self.position();
        self.expect_word("into")?;
        let strict = self.eat_word("strict");
        let targets = self.list(Self::pl_target)?;
        Ok(Into { strict, targets, position, end: self.end_of_last() })
    }

    /// A SQL statement that ends at that token, with its INTO.
    pub(super) fn pl_sql(&mut self, end: usize) -> Result<Statement> {
        let start = self.index();
        let Some(at) = self.pl_find_into(end)? else {
            return self.within(end, Self::whole_statement);
        };
        self.seek(at);
        let into = self.within_prefix(end, Self::pl_into)?;
        let mut tokens: Vec<Token> = Vec::with_capacity(end - start + 1);
        tokens.extend_from_slice(&self.tokens()[start..at]);
        tokens.extend_from_slice(&self.tokens()[self.index()..=end]);
        let mut statement = self.over(&tokens).whole_statement()?;
        // Without the tokens of INTO the last one may stand before it.
        statement.end = self.tokens()[end - 1].end;
        self.seek(end);
        self.put_into(&mut statement, into)?;
        Ok(statement)
    }

    /// Runs `f` in a window that it need not use up.
    fn within_prefix<T>(&mut self, end: usize, f: impl FnOnce(&mut Self) -> Result<T>) -> Result<T> {
        let mut behind = end;
        let result = self.within(end, |p| {
            let value = f(p)?;
            behind = p.index();
            p.seek(end);
            Ok(value)
        })?;
        self.seek(behind);
        Ok(result)
    }

    /// Index of the INTO of the statement at the cursor.
    fn pl_find_into(&self, end: usize) -> Result<Option<usize>> {
        let mut found = None;
        for index in self.index()..end {
            let ahead = index - self.index();
            if !self.at_word_ahead(ahead, "into") {
                continue;
            }
            let target_of_change = ahead > 0
                && (self.at_word_ahead(ahead - 1, "insert") || self.at_word_ahead(ahead - 1, "merge"));
            if target_of_change {
                continue;
            }
            if found.replace(index).is_some() {
                let at = self.peek_at(ahead).start;
                return Err(self.syntax_error("INTO specified more than once", at));
            }
        }
        Ok(found)
    }

    /// Writes INTO into the statement's tree.
    fn put_into(&self, statement: &mut Statement, into: Into) -> Result<()> {
        let no_data = |p: &Self| {
            let message = "INTO used with a command that cannot return data";
            Err(p.syntax_error(message, into.position))
        };
        match &mut statement.kind {
            StatementKind::Query(query) => put_into_query(query, into),
            StatementKind::Insert(insert) if !insert.returning.is_empty() => insert.into = Some(into),
            StatementKind::Update(update) if !update.returning.is_empty() => update.into = Some(into),
            StatementKind::Delete(delete) if !delete.returning.is_empty() => delete.into = Some(into),
            StatementKind::Explain { .. } | StatementKind::Show(_) | StatementKind::Unsupported(_) => {
                return self.unsupported("INTO of this statement", into.position);
            }
            _ => return no_data(self),
        }
        Ok(())
    }
}

/// INTO belongs to a SELECT. A VALUES or a set operation becomes the FROM of one.
fn put_into_query(query: &mut Query, into: Into) {
    if let QueryBody::Select(select) = &mut query.body {
        select.into = Some(into);
        return;
    }
    let position: Position = query.position;
    let empty = Query::new(QueryBody::Values(Vec::new()), position);
    let inner = std::mem::replace(query, empty);
    let alias = TableAlias { name: "unnamed_subquery".to_owned(), columns: Vec::new() };
    let star = Expr { position, kind: ExprKind::Star(None) };
    query.body = QueryBody::Select(Box::new(Select {
        items: vec![SelectItem { expr: star, alias: None }],
        into: Some(into),
        from: vec![TableRef::Derived { query: Box::new(inner), alias: Some(alias), lateral: false }],
        ..Select::default()
    }));
}
