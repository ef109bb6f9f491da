//! Cursors: their declarations, OPEN, FETCH and MOVE.

use planaria_base::{Error, Result, SqlState};

use super::super::lex::Kind;
use super::super::parser::Parser;
use crate::ast::plpgsql::{DeclarationKind, Opened, PlDirection, StmtKind};
use crate::ast::{Expr, Name};

impl Parser<'_> {
    /// `[[NO] SCROLL] CURSOR [(parameter type, ..)] FOR | IS query`, the semicolon left.
    pub(super) fn pl_cursor(&mut self) -> Result<DeclarationKind> {
        let scroll = self.pl_scroll();
        self.expect_word("cursor")?;
        let parameters = match self.at_kind(Kind::LeftParen) {
            true => self.paren_list(|p| Ok((p.pl_name()?, p.type_name()?)))?,
            false => Vec::new(),
        };
        if !self.eat_word("is") {
            self.expect_word("for")?;
        }
        let end = self.pl_semicolon()?;
        let query = Box::new(self.within(end, Self::whole_statement)?);
        Ok(DeclarationKind::Cursor { scroll, parameters, query })
    }

    fn pl_scroll(&mut self) -> Option<bool> {
        if self.eat_words(&["no", "scroll"]) { Some(false) } else { self.eat_word("scroll").then_some(true) }
    }

    /// The name of a cursor variable, or a parameter's number.
    pub(super) fn pl_cursor_name(&mut self) -> Result<Name> {
        let position = self.position();
        if self.at_kind(Kind::Parameter) {
            let parts = vec![self.bump().text(self.text).to_owned()];
            return Ok(Name { parts, position });
        }
        let mut parts = vec![self.pl_name()?];
        while self.eat(Kind::Dot) {
            parts.push(self.label()?);
        }
        Ok(Name { parts, position })
    }

    /// `[(value | name := value, ..)]`
    pub(super) fn pl_cursor_arguments(&mut self) -> Result<Vec<(Option<String>, Expr)>> {
        if !self.at_kind(Kind::LeftParen) {
            return Ok(Vec::new());
        }
        self.paren_list(|p| {
            let named = p.at_pl_name()
                && (p.peek_at(1).kind == Kind::ColonEquals || p.peek_at(1).text(p.text) == "=>");
            if !named {
                return Ok((None, p.expr()?));
            }
            let name = p.pl_name()?;
            p.bump();
            Ok((Some(name), p.expr()?))
        })
    }

    /// `OPEN cursor [(arguments)];`, `OPEN cursor [[NO] SCROLL] FOR query | EXECUTE text [USING ..];`
    pub(super) fn pl_open(&mut self) -> Result<StmtKind> {
        self.bump();
        let cursor = self.pl_cursor_name()?;
        if self.at_kind(Kind::LeftParen) || self.at_kind(Kind::Semicolon) {
            let what = Opened::Bound(self.pl_cursor_arguments()?);
            self.expect(Kind::Semicolon)?;
            return Ok(StmtKind::Open { cursor, scroll: None, what });
        }
        let scroll = self.pl_scroll();
        self.expect_word("for")?;
        let what = if self.eat_word("execute") {
            let text = self.pl_expr_until(&["using"], &[])?;
            Opened::Execute { text, using: self.pl_using()? }
        } else {
            let end = self.pl_semicolon()?;
            Opened::Query(Box::new(self.within(end, Self::whole_statement)?))
        };
        self.expect(Kind::Semicolon)?;
        Ok(StmtKind::Open { cursor, scroll, what })
    }

    /// `FETCH [direction] [FROM | IN] cursor INTO targets;`, `MOVE [direction] [FROM | IN] cursor;`
    pub(super) fn pl_fetch(&mut self, moves: bool) -> Result<StmtKind> {
        self.bump();
        let position = self.position();
        let direction = self.pl_direction()?;
        let several = matches!(direction, PlDirection::Count(..) | PlDirection::All(_));
        if !self.eat_word("from") {
            self.eat_word("in");
        }
        let cursor = self.pl_cursor_name()?;
        let into = match moves {
            true => None,
            false => Some(self.pl_into()?),
        };
        self.expect(Kind::Semicolon)?;
        if several && !moves {
            // PostgreSQL does not know it either.
            let message = "FETCH statement cannot return multiple rows";
            return Err(Error::new(SqlState::FEATURE_NOT_SUPPORTED, message).at(position));
        }
        Ok(StmtKind::Fetch { cursor, direction, into })
    }

    fn pl_direction(&mut self) -> Result<PlDirection> {
        // What is no direction is the cursor's name.
        let named =
            matches!(self.peek_at(1).kind, Kind::Semicolon | Kind::Dot) || self.at_word_ahead(1, "into");
        if self.at_any(&["from", "in"]) || named && (self.at_pl_name() || self.at_kind(Kind::Parameter)) {
            return Ok(PlDirection::Forward(1));
        }
        let word = self.word();
        let plain = match word.as_str() {
            "next" => Some(PlDirection::Forward(1)),
            "prior" => Some(PlDirection::Forward(-1)),
            "first" => Some(PlDirection::Absolute(1)),
            "last" => Some(PlDirection::Absolute(-1)),
            "all" => Some(PlDirection::All(false)),
            _ => None,
        };
        if let Some(direction) = plain {
            self.bump();
            return Ok(direction);
        }
        match word.as_str() {
            "absolute" => {
                self.bump();
                Ok(PlDirection::To(self.pl_expr_until(&["from", "in"], &[])?))
            }
            "relative" => {
                self.bump();
                Ok(PlDirection::By(self.pl_expr_until(&["from", "in"], &[])?))
            }
            "forward" | "backward" => {
                let back = word.as_str() == "backward";
                self.bump();
                if self.eat_word("all") {
                    return Ok(PlDirection::All(back));
                }
                let ends = matches!(self.peek_at(1).kind, Kind::Semicolon) || self.at_word_ahead(1, "into");
                if self.at_any(&["from", "in"]) || ends {
                    return Ok(PlDirection::Forward(if back { -1 } else { 1 }));
                }
                Ok(PlDirection::Count(self.pl_expr_until(&["from", "in"], &[])?, back))
            }
            _ => Ok(PlDirection::Count(self.pl_expr_until(&["from", "in"], &[])?, false)),
        }
    }
}
