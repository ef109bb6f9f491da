//! DECLARE, FETCH, MOVE, CLOSE.

use planaria_base::Result;

use super::lex::Kind;
use super::parser::Parser;
use crate::ast::StatementKind;
use crate::ast::cursor::{DeclareCursor, Direction};

impl Parser<'_> {
    /// `DECLARE name [options] CURSOR [WITH HOLD] FOR query`
    pub(crate) fn declare_cursor(&mut self) -> Result<StatementKind> {
        self.bump();
        let name = self.name()?;
        let mut scroll = None;
        loop {
            let position = self.position();
            if self.eat_words(&["no", "scroll"]) {
                scroll = Some(false);
            } else if self.eat_word("scroll") {
                scroll = Some(true);
            } else if self.eat_word("binary") {
                return self.unsupported("a BINARY cursor", position);
            } else if !self.eat_word("insensitive") && !self.eat_word("asensitive") {
                break;
            }
        }
        self.expect_word("cursor")?;
        let mut hold = false;
        if self.eat_word("with") {
            self.expect_word("hold")?;
            hold = true;
        } else if self.eat_word("without") {
            self.expect_word("hold")?;
        }
        self.expect_word("for")?;
        if self.at_any(&["insert", "update", "delete", "merge"]) {
            return self.fail();
        }
        let position = self.position();
        let query = Box::new(self.preparable()?);
        if !matches!(query.kind, StatementKind::Query(_)) {
            return self.unsupported("DECLARE CURSOR for a statement that changes rows", position);
        }
        Ok(StatementKind::DeclareCursor(DeclareCursor { name, scroll, hold, query }))
    }

    /// `FETCH | MOVE [direction] [FROM | IN] name`
    pub(crate) fn fetch(&mut self, moves: bool) -> Result<StatementKind> {
        self.bump();
        let direction = self.direction()?;
        if !self.eat_word("from") {
            self.eat_word("in");
        }
        Ok(StatementKind::Fetch { name: self.name()?, direction, moves })
    }

    fn direction(&mut self) -> Result<Direction> {
        // What is no direction is the cursor's name; so is a direction with nothing behind it.
        if self.peek_at(1).kind == Kind::End {
            return Ok(Direction::Forward(1));
        }
        let word = self.word();
        let plain = match word.as_str() {
            "next" => Some(Direction::Forward(1)),
            "prior" => Some(Direction::Forward(-1)),
            "first" => Some(Direction::Absolute(1)),
            "last" => Some(Direction::Absolute(-1)),
            "all" => Some(Direction::ForwardAll),
            _ => None,
        };
        if let Some(direction) = plain {
            self.bump();
            return Ok(direction);
        }
        match word.as_str() {
            "absolute" | "relative" => {
                self.bump();
                let n = self.signed_integer()?;
                Ok(if word.as_str() == "absolute" { Direction::Absolute(n) } else { Direction::Relative(n) })
            }
            "forward" | "backward" => {
                self.bump();
                let forward = word.as_str() == "forward";
                if self.eat_word("all") {
                    return Ok(if forward { Direction::ForwardAll } else { Direction::BackwardAll });
                }
                let n = if self.at_count() { self.signed_integer()? } else { 1 };
                Ok(Direction::Forward(if forward { n } else { n.saturating_neg() }))
            }
            _ if self.at_count() => Ok(Direction::Forward(self.signed_integer()?)),
            _ => Ok(Direction::Forward(1)),
        }
    }

    fn at_count(&self) -> bool {
        self.at_kind(Kind::Integer) || self.at_operator("-") || self.at_operator("+")
    }

    /// `CLOSE name | ALL`
    pub(crate) fn close_cursor(&mut self) -> Result<StatementKind> {
        self.bump();
        let name = if self.eat_word("all") { None } else { Some(self.name()?) };
        Ok(StatementKind::CloseCursor(name))
    }
}
