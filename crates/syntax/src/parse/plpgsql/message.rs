//! RAISE.

use planaria_base::{Level, Result};

use super::super::lex::Kind;
use super::super::parser::Parser;
use crate::ast::plpgsql::{Raise, RaiseWhat, StmtKind};
use crate::ast::{Expr, Position};

/// What USING may set.
const OPTIONS: &[&str] =
    &["message", "detail", "hint", "errcode", "column", "constraint", "datatype", "table", "schema"];

impl Parser<'_> {
    /// `RAISE [level] ['format', args | condition | SQLSTATE 'x'] [USING option = e, ...];`
    pub(super) fn pl_raise(&mut self) -> Result<StmtKind> {
        self.bump();
        if self.eat(Kind::Semicolon) {
            let raise = Raise { level: Level::Exception, what: RaiseWhat::Current, using: Vec::new() };
            return Ok(StmtKind::Raise(Box::new(raise)));
        }
        let level = Level::ALL.into_iter().find(|level| self.eat_word(level.word()));
        let level = level.unwrap_or(Level::Exception);
        let what = if self.at_string() {
            self.pl_format()?
        } else if self.at_word("using") {
            RaiseWhat::Nothing
        } else if self.at_word("sqlstate") && self.at_string_ahead(1) {
            self.bump();
            RaiseWhat::State(self.pl_sqlstate()?)
        } else {
            RaiseWhat::Condition(self.pl_name()?)
        };
        let using = self.pl_raise_options()?;
        self.expect(Kind::Semicolon)?;
        Ok(StmtKind::Raise(Box::new(Raise { level, what, using })))
    }

    /// `'format' [, arg]...`: as many arguments as the format has `%`, `%%` being one of its own.
    fn pl_format(&mut self) -> Result<RaiseWhat> {
        let position = self.position();
        let format = self.string()?;
        let mut args = Vec::new();
        while self.eat(Kind::Comma) {
            args.push(self.pl_expr_until(&["using"], &[Kind::Comma])?);
        }
        self.check_places(&format, args.len(), position)?;
        Ok(RaiseWhat::Format(format, args))
    }

    fn check_places(&self, format: &str, args: usize, position: Position) -> Result<()> {
        let places = format.replace("%%", "").matches('%').count();
        match places.cmp(&args) {
            std::cmp::Ordering::Equal => Ok(()),
            std::cmp::Ordering::Less => {
                Err(self.syntax_error("too many parameters specified for RAISE", position))
            }
            std::cmp::Ordering::Greater => {
                Err(self.syntax_error("too few parameters specified for RAISE", position))
            }
        }
    }

    fn pl_raise_options(&mut self) -> Result<Vec<(String, Expr)>> {
        let mut options = Vec::new();
        if !self.eat_word("using") {
            return Ok(options);
        }
        loop {
            let position = self.position();
            let option = self.label()?;
            if !OPTIONS.contains(&option.as_str()) {
                return Err(self.syntax_error("unrecognized RAISE statement option", position));
            }
            if !self.eat_operator("=") && !self.eat(Kind::ColonEquals) {
                return self.fail();
            }
            options.push((option, self.pl_expr_until(&[], &[Kind::Comma])?));
            if !self.eat(Kind::Comma) {
                return Ok(options);
            }
        }
    }
}
