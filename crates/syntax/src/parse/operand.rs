//! Operands of expressions (`c_expr`): literals, columns, parentheses, CASE, casts, subqueries.

use planaria_base::{Error, Result, SqlState};

use super::keyword::Class;
use super::lex::Kind;
use super::literal;
use super::parser::Parser;
use crate::ast::{Expr, ExprKind, Name, Position, Subscript};

impl Parser<'_> {
    /// An operand with the subscripts and fields behind it, and its casts.
    pub(crate) fn operand(&mut self) -> Result<Expr> {
        let mut expr = self.primary()?;
        while self.at_kind(Kind::ColonColon) {
            let position = self.bump().start;
            let ty = self.type_name()?;
            expr = Expr { position, kind: ExprKind::Cast(Box::new(expr), ty) };
            self.grow()?;
        }
        Ok(expr)
    }

    fn primary(&mut self) -> Result<Expr> {
        let token = self.peek();
        let position = token.start;
        let kind = match token.kind {
            Kind::Word => return self.word_operand(),
            Kind::Quoted | Kind::UnicodeQuoted => return self.named(),
            Kind::Integer => ExprKind::Integer(self.bump().text(self.text).to_owned()),
            Kind::Decimal => ExprKind::Decimal(self.bump().text(self.text).to_owned()),
            Kind::BitString => ExprKind::BitString(literal::string(self.bump(), self.text, '\\')?),
            Kind::Parameter => {
                self.bump();
                let number = token.text(self.text)[1..].parse().map_err(|_| {
                    Error::new(SqlState::SYNTAX_ERROR, "parameter number too large").at(position)
                })?;
                return self.indirection(Expr { position, kind: ExprKind::Parameter(number) });
            }
            Kind::LeftParen => return self.parenthesized(),
            _ if self.at_string() => ExprKind::String(self.string()?),
            _ => return self.fail(),
        };
        Ok(Expr { position, kind })
    }

    /// `(e)`, `(a, b)`, `(SELECT ..)`
    fn parenthesized(&mut self) -> Result<Expr> {
        let position = self.position();
        if self.at_paren_query() {
            let query = Box::new(self.paren_query()?);
            return self.indirection(Expr { position, kind: ExprKind::Subquery(query) });
        }
        let mut items = self.paren_list(Self::expr)?;
        if items.len() > 1 {
            return Ok(Expr { position, kind: ExprKind::Row(items) });
        }
        let inner = items.pop().expect("a list has an item");
        self.indirection(inner)
    }

    /// `.field`, `[i]`, `[a:b]` behind an operand that is no plain name.
    pub(crate) fn indirection(&mut self, mut expr: Expr) -> Result<Expr> {
        loop {
            let position = self.position();
            if self.at_kind(Kind::Dot) {
                self.bump();
                if self.eat_operator("*") {
                    return Ok(Expr { position, kind: ExprKind::Fields(Box::new(expr)) });
                }
                let field = self.label()?;
                expr = Expr { position, kind: ExprKind::Field(Box::new(expr), field) };
            } else if self.at_kind(Kind::LeftBracket) {
                let all = self.subscripts()?;
                expr = Expr { position, kind: ExprKind::Subscripts(Box::new(expr), all) };
            } else {
                return Ok(expr);
            }
            self.grow()?;
        }
    }

    /// What is in brackets, one pair behind the other.
    pub(crate) fn subscripts(&mut self) -> Result<Vec<Subscript>> {
        let mut all = Vec::new();
        while self.eat(Kind::LeftBracket) {
            let low = match self.at_kind(Kind::Colon) {
                true => None,
                false => Some(self.expr()?),
            };
            all.push(if self.eat(Kind::Colon) {
                let high = match self.at_kind(Kind::RightBracket) {
                    true => None,
                    false => Some(self.expr()?),
                };
                Subscript::Slice(low, high)
            } else {
                match low {
                    Some(index) => Subscript::Element(index),
                    None => return self.fail(),
                }
            });
            self.expect(Kind::RightBracket)?;
            self.grow()?;
        }
        Ok(all)
    }

    /// An operand that begins with a word: a keyword's own syntax, or a name.
    fn word_operand(&mut self) -> Result<Expr> {
        let position = self.position();
        let word = self.word();
        let followed = self.peek_at(1).kind;
        let kind = match word.as_str() {
            "null" => self.constant(ExprKind::Null),
            "true" => self.constant(ExprKind::Bool(true)),
            "false" => self.constant(ExprKind::Bool(false)),
            "case" => return self.case(),
            "array" if matches!(followed, Kind::LeftBracket | Kind::LeftParen) => {
                let array = self.array()?;
                return self.indirection(array);
            }
            "row" if followed == Kind::LeftParen => {
                self.bump();
                self.row()?
            }
            "exists" if followed == Kind::LeftParen => {
                self.bump();
                if !self.at_paren_query() {
                    self.bump();
                    return self.fail();
                }
                ExprKind::Exists(Box::new(self.paren_query()?))
            }
            "default" => {
                let message = "DEFAULT is not allowed in this context";
                return Err(self.syntax_error(message, position));
            }
            "current_date" | "current_user" | "current_role" | "session_user" | "user"
            | "current_catalog" => self.constant(ExprKind::SqlValue(word.as_str().to_owned(), None)),
            "current_schema" if followed != Kind::LeftParen => {
                self.constant(ExprKind::SqlValue(word.as_str().to_owned(), None))
            }
            "current_time" | "current_timestamp" | "localtime" | "localtimestamp" => {
                self.bump();
                let precision = match self.eat(Kind::LeftParen) {
                    true => {
                        let precision = self.small_integer()?;
                        self.expect(Kind::RightParen)?;
                        Some(precision)
                    }
                    false => None,
                };
                ExprKind::SqlValue(word.as_str().to_owned(), precision)
            }
            "collation" if self.at_word_ahead(1, "for") => {
                return self.unsupported("COLLATION FOR", position);
            }
            _ if followed == Kind::LeftParen && self.at_special_function() => {
                let call = self.special_function()?;
                return self.indirection(call);
            }
            _ if self.at_type_keyword() && self.at_typed_literal() => return self.typed_literal(),
            _ => return self.named(),
        };
        Ok(Expr { position, kind })
    }

    /// Whether a literal follows the type at the cursor; else the type's name is a column.
    fn at_typed_literal(&self) -> bool {
        self.at_string_ahead(1)
            || self.peek_at(1).kind == Kind::LeftParen
            || matches!(self.word_at(1).as_str(), "varying" | "precision" | "char" | "character")
            || matches!(self.word_at(1).as_str(), "with" | "without") && self.at_word_ahead(2, "time")
    }

    fn constant(&mut self, kind: ExprKind) -> ExprKind {
        self.bump();
        kind
    }

    /// `ROW (..)`, the word taken.
    fn row(&mut self) -> Result<ExprKind> {
        self.expect(Kind::LeftParen)?;
        if self.eat(Kind::RightParen) {
            return Ok(ExprKind::Row(Vec::new()));
        }
        let items = self.list(Self::expr)?;
        self.expect(Kind::RightParen)?;
        Ok(ExprKind::Row(items))
    }

    /// `ARRAY[..]`, `ARRAY(SELECT ..)`
    fn array(&mut self) -> Result<Expr> {
        let position = self.bump().start;
        if self.at_kind(Kind::LeftParen) {
            let query = Box::new(self.paren_query()?);
            return Ok(Expr { position, kind: ExprKind::ArrayQuery(query) });
        }
        self.array_items(position)
    }

    fn array_items(&mut self, position: Position) -> Result<Expr> {
        self.expect(Kind::LeftBracket)?;
        let items = match self.at_kind(Kind::RightBracket) {
            true => Vec::new(),
            // Either all are rows in brackets, or none is.
            false if self.at_kind(Kind::LeftBracket) => self.list(Self::array_row)?,
            false => self.list(Self::expr)?,
        };
        self.expect(Kind::RightBracket)?;
        Ok(Expr { position, kind: ExprKind::Array(items) })
    }

    /// A row of ARRAY in brackets.
    fn array_row(&mut self) -> Result<Expr> {
        if !self.at_kind(Kind::LeftBracket) {
            return self.fail();
        }
        let position = self.position();
        self.nested(|p| p.array_items(position))
    }

    fn case(&mut self) -> Result<Expr> {
        let position = self.bump().start;
        let operand = match self.at_word("when") {
            true => None,
            false => Some(self.boxed()?),
        };
        let mut whens = Vec::new();
        self.expect_word("when")?;
        loop {
            let when = self.expr()?;
            self.expect_word("then")?;
            whens.push((when, self.expr()?));
            if !self.eat_word("when") {
                break;
            }
        }
        let otherwise = match self.eat_word("else") {
            true => Some(self.boxed()?),
            false => None,
        };
        self.expect_word("end")?;
        Ok(Expr { position, kind: ExprKind::Case { operand, whens, otherwise } })
    }

    /// A column, a call, or `type 'literal'`: what begins with a name.
    fn named(&mut self) -> Result<Expr> {
        let position = self.position();
        let class = self.class_at(0);
        let mut parts = Vec::with_capacity(2);
        if matches!(class, None | Some(Class::Reserved)) {
            return self.fail();
        }
        parts.push(self.label()?);
        while self.at_kind(Kind::Dot) {
            self.bump();
            if self.eat_operator("*") {
                let name = Name { parts, position };
                return Ok(Expr { position, kind: ExprKind::Star(Some(name)) });
            }
            parts.push(self.label()?);
        }
        let simple = parts.len() == 1;
        let name = Name { parts, position };
        let may_call = !simple || class != Some(Class::ColumnName);
        if self.at_kind(Kind::LeftParen) && may_call {
            let behind = self.index();
            let call = self.call(name.clone())?;
            if self.at_string() {
                self.seek(behind);
                return self.literal_of_named_type(name);
            }
            let call = Expr { position, kind: ExprKind::Call(Box::new(call)) };
            return self.indirection(call);
        }
        if self.at_string() && may_call {
            return self.literal_of_named_type(name);
        }
        if simple && class == Some(Class::TypeOrFunction) {
            return self.fail();
        }
        self.indirection(Expr { position, kind: ExprKind::Column(name) })
    }

    /// `date '2026-01-01'`: goes back and reads the name as a type.
    fn literal_of_named_type(&mut self, name: Name) -> Result<Expr> {
        let behind = self.index();
        self.seek(behind - (2 * name.parts.len() - 1));
        if self.position() != name.position {
            // A name in U&"" notation takes more tokens; no type is written so.
            self.seek(behind);
            return self.fail();
        }
        self.typed_literal()
    }
}
