//! Expressions with operators: precedence climbing over PostgreSQL's table (`gram.y`).
//!
//! ```text
//!  1 OR                       left        7 other operators, OPERATOR()   left
//!  2 AND                      left        8 + -                           left
//!  3 NOT                      prefix      9 * / %                         left
//!  4 IS [NOT] ..  ISNULL  NOTNULL        10 ^                             left
//!  5 < > = <= >= <>           none       11 AT TIME ZONE                  left
//!  6 BETWEEN IN LIKE ..       none       12 COLLATE                       left
//!                                        13 - + (prefix)
//!                                        14 [ ]   15 ::   16 .            with the operand
//! ```
//!
//! `none`: not associative, `a < b < c` is an error. A prefix operator takes its operand by its own
//! precedence wherever it stands: `a * - b` and `a = NOT b = c` are legal. The low bound of BETWEEN
//! and column defaults are *restricted* (`b_expr`): no AND, OR, NOT, IN, LIKE, IS NULL.
//!
//! Machines write chains with thousands of operands. Long ones of AND or OR become balanced trees: they are
//! associative. Others nest to the left at first; what is left of them is a list ([`ExprKind::Chain`]).

use planaria_base::limits::{CHAIN_NESTING_MAX, CHAIN_OPERANDS_MAX};
use planaria_base::{Error, Result, SqlState};

use super::lex::Kind;
use super::parser::Parser;
use crate::ast::{
    Argument, BinaryOp, Expr, ExprKind, FunctionCall, IsWhat, JsonOp, Name, Position, SimilarOp, UnaryOp,
};

/// Precedences.
mod level {
    pub(super) const OR: u8 = 1;
    pub(super) const AND: u8 = 2;
    pub(super) const NOT: u8 = 3;
    pub(super) const IS: u8 = 4;
    pub(super) const COMPARISON: u8 = 5;
    pub(super) const MATCH: u8 = 6;
    pub(super) const OPERATOR: u8 = 7;
    pub(super) const SUM: u8 = 8;
    pub(super) const PRODUCT: u8 = 9;
    pub(super) const POWER: u8 = 10;
    pub(super) const AT: u8 = 11;
    pub(super) const COLLATE: u8 = 12;
    pub(super) const SIGN: u8 = 13;
}

/// What may follow an operand.
#[derive(Clone, Copy, PartialEq)]
enum Infix {
    Logic(BinaryOp),
    Is,
    IsNull(bool),
    Binary(BinaryOp),
    Match {
        negated: bool,
    },
    Like {
        insensitive: bool,
        negated: bool,
    },
    AtTimeZone,
    Collate,
    Overlaps,
    /// An operator that PostgreSQL may know and we do not.
    Unknown,
    /// `OPERATOR(schema.op)`
    Qualified,
}

impl Parser<'_> {
    /// An expression (`a_expr`).
    pub(crate) fn expr(&mut self) -> Result<Expr> {
        self.climb(0, false)
    }

    /// A restricted expression (`b_expr`).
    pub(crate) fn restricted_expr(&mut self) -> Result<Expr> {
        self.climb(0, true)
    }

    /// An expression in a box.
    pub(crate) fn boxed(&mut self) -> Result<Box<Expr>> {
        Ok(Box::new(self.expr()?))
    }

    fn climb(&mut self, min: u8, restricted: bool) -> Result<Expr> {
        self.nested(|p| {
            let mut left = p.prefix(restricted)?;
            // The level of the operator that was just applied, if it cannot be chained.
            let mut closed = None;
            // How many operators of one level have been applied one after the other.
            let (mut chained, mut times) = (0, 0);
            while let Some((infix, level)) = p.infix(restricted) {
                if level < min {
                    break;
                }
                if closed == Some(level) {
                    return p.fail();
                }
                let in_chain = matches!(infix, Infix::Binary(_)) && level != level::COMPARISON;
                times = if in_chain && chained == level { times + 1 } else { 1 };
                chained = if in_chain { level } else { 0 };
                if times >= CHAIN_NESTING_MAX {
                    left = p.rest_of_chain(left, level, restricted)?;
                    (chained, times) = (0, 0);
                } else {
                    left = p.apply(left, infix, level, restricted, &mut closed)?;
                }
                p.grow()?;
            }
            Ok(left)
        })
    }

    /// A prefix operator with its operand, or an operand.
    fn prefix(&mut self, restricted: bool) -> Result<Expr> {
        let position = self.position();
        if self.at_kind(Kind::Operator) {
            let text = self.token_text();
            let (op, level) = match text {
                "-" | "+" => (prefix_operator(text), level::SIGN),
                "*" | "/" | "<" | ">" | "=" | "<=" | ">=" | "<>" | "!=" | "%" | "^" | "=>" => {
                    return self.fail();
                }
                other => (prefix_operator(other), level::OPERATOR),
            };
            let Some(op) = op else {
                return self.unsupported(&format!("prefix operator {text}"), position);
            };
            self.bump();
            let operand = Box::new(self.climb(level + 1, restricted)?);
            return Ok(Expr { position, kind: ExprKind::Unary(op, operand) });
        }
        if self.at_word("operator") && self.peek_at(1).kind == Kind::LeftParen {
            let (schema, text) = self.operator_in_schema()?;
            let Some(op) = prefix_operator(&text).filter(|_| schema.is_none_or(|s| s == "pg_catalog")) else {
                return self.unsupported(&format!("prefix operator {text}"), position);
            };
            // As that of an operator of no name of its own.
            let operand = Box::new(self.climb(level::OPERATOR + 1, restricted)?);
            return Ok(Expr { position, kind: ExprKind::Unary(op, operand) });
        }
        if !restricted && self.at_word("not") {
            self.bump();
            let operand = Box::new(self.climb(level::NOT, false)?);
            return Ok(Expr { position, kind: ExprKind::Unary(UnaryOp::Not, operand) });
        }
        self.operand()
    }

    /// The operator at the cursor with its level.
    fn infix(&self, restricted: bool) -> Option<(Infix, u8)> {
        match self.peek().kind {
            Kind::Operator => Some(self.symbol(self.token_text())),
            Kind::Word => {
                let word = self.word();
                let found = match word.as_str() {
                    "is" => (Infix::Is, level::IS),
                    "operator" if self.peek_at(1).kind == Kind::LeftParen => {
                        (Infix::Qualified, level::OPERATOR)
                    }
                    _ if restricted => return None,
                    "or" => (Infix::Logic(BinaryOp::Or), level::OR),
                    "and" => (Infix::Logic(BinaryOp::And), level::AND),
                    "isnull" => (Infix::IsNull(false), level::IS),
                    "notnull" => (Infix::IsNull(true), level::IS),
                    // SUBSTRING has one of its own.
                    "similar" if self.word_at(1).as_str() != "to" => return None,
                    "between" | "in" | "like" | "ilike" | "similar" => {
                        (Infix::Match { negated: false }, level::MATCH)
                    }
                    "not"
                        if matches!(
                            self.word_at(1).as_str(),
                            "between" | "in" | "like" | "ilike" | "similar"
                        ) =>
                    {
                        (Infix::Match { negated: true }, level::MATCH)
                    }
                    "overlaps" => (Infix::Overlaps, level::OPERATOR),
                    "at" if self.at_words(&["at", "local"]) => (Infix::AtTimeZone, level::AT),
                    "at" if self.at_words(&["at", "time", "zone"]) => (Infix::AtTimeZone, level::AT),
                    "collate" => (Infix::Collate, level::COLLATE),
                    _ => return None,
                };
                Some(found)
            }
            _ => None,
        }
    }

    fn symbol(&self, text: &str) -> (Infix, u8) {
        match (text, binary_operator(text)) {
            ("<" | ">" | "=" | "<=" | ">=" | "<>" | "!=", Some(op)) => (Infix::Binary(op), level::COMPARISON),
            ("+" | "-", Some(op)) => (Infix::Binary(op), level::SUM),
            ("*" | "/" | "%", Some(op)) => (Infix::Binary(op), level::PRODUCT),
            ("^", Some(op)) => (Infix::Binary(op), level::POWER),
            (_, Some(op)) => (Infix::Binary(op), level::OPERATOR),
            ("~~" | "!~~" | "~~*" | "!~~*", None) => (like_operator(text), level::OPERATOR),
            (_, None) => (Infix::Unknown, level::OPERATOR),
        }
    }

    /// Applies the operator at the cursor to `left`.
    fn apply(
        &mut self,
        left: Expr,
        infix: Infix,
        level: u8,
        restricted: bool,
        closed: &mut Option<u8>,
    ) -> Result<Expr> {
        let position = self.position();
        *closed = None;
        let kind = match infix {
            Infix::Logic(op) => return self.chain(left, op, level),
            Infix::Binary(op) => {
                self.bump();
                if self.at_quantifier() {
                    return self.quantified(left, op, position);
                }
                let right = Box::new(self.climb(level + 1, restricted)?);
                *closed = (level == level::COMPARISON).then_some(level);
                ExprKind::Binary(op, Box::new(left), right)
            }
            Infix::Qualified => {
                let op = match self.qualified_operator()? {
                    Infix::Binary(op) => op,
                    Infix::Like { insensitive, negated } => {
                        return self.like(left, insensitive, negated, level, restricted, position);
                    }
                    _ => return self.fail(),
                };
                if self.at_quantifier() {
                    return self.quantified(left, op, position);
                }
                let right = Box::new(self.climb(level + 1, restricted)?);
                ExprKind::Binary(op, Box::new(left), right)
            }
            Infix::Is => return self.is(left, restricted, closed),
            Infix::IsNull(negated) => {
                self.bump();
                ExprKind::Is { expr: Box::new(left), what: IsWhat::Null, negated }
            }
            Infix::Match { negated } => return self.matching(left, negated, closed),
            Infix::Like { insensitive, negated } => {
                self.bump();
                return self.like(left, insensitive, negated, level, restricted, position);
            }
            Infix::Overlaps => {
                self.bump();
                let right = self.climb(level + 1, restricted)?;
                let sides = [left, right].map(|side| match side.kind {
                    ExprKind::Row(fields) if fields.len() == 2 => Some(fields),
                    _ => None,
                });
                let [Some(left), Some(right)] = sides else {
                    let message = "wrong number of parameters on a side of OVERLAPS expression";
                    return Err(Error::new(SqlState::SYNTAX_ERROR, message).at(position));
                };
                let args = left.into_iter().chain(right).map(|value| Argument { name: None, value });
                let parts = vec!["pg_catalog".to_owned(), "overlaps".to_owned()];
                ExprKind::Call(Box::new(FunctionCall::plain(Name { parts, position }, args.collect())))
            }
            Infix::AtTimeZone if self.at_word_ahead(1, "local") => {
                return self.unsupported("AT LOCAL", position);
            }
            Infix::AtTimeZone => {
                self.expect_words(&["at", "time", "zone"])?;
                ExprKind::AtTimeZone(Box::new(left), Box::new(self.climb(level + 1, false)?))
            }
            Infix::Collate => {
                self.bump();
                ExprKind::Collate(Box::new(left), self.qualified_name()?)
            }
            Infix::Unknown if self.at_operator("=>") => return self.fail(),
            Infix::Unknown => {
                return self.unsupported(&format!("operator {}", self.token_text()), position);
            }
        };
        Ok(Expr { position, kind })
    }

    /// `left + b - c ...` where `left` is a long chain already: operators of one level.
    fn rest_of_chain(&mut self, left: Expr, level: u8, restricted: bool) -> Result<Expr> {
        let position = left.position;
        let mut rest = Vec::new();
        while let Some((Infix::Binary(op), at)) = self.infix(restricted)
            && at == level
            && !(matches!(self.word_at(1).as_str(), "any" | "some" | "all")
                && self.peek_at(2).kind == Kind::LeftParen)
        {
            if rest.len() + CHAIN_NESTING_MAX >= CHAIN_OPERANDS_MAX {
                return Err(self.too_long());
            }
            let position = self.bump().start;
            rest.push((op, position, self.climb(level + 1, restricted)?));
        }
        if rest.is_empty() {
            // An operator with ANY or ALL: it closes the chain.
            let Some((infix, _)) = self.infix(restricted) else { return self.fail() };
            return self.apply(left, infix, level, restricted, &mut None);
        }
        Ok(Expr { position, kind: ExprKind::Chain(Box::new(left), rest) })
    }

    /// `left AND b AND c ...` (or OR): all operands of the chain.
    fn chain(&mut self, left: Expr, op: BinaryOp, level: u8) -> Result<Expr> {
        let word = if op == BinaryOp::And { "and" } else { "or" };
        let mut operands = vec![left];
        let mut positions = Vec::new();
        while self.at_word(word) {
            positions.push(self.bump().start);
            operands.push(self.climb(level + 1, false)?);
            if operands.len() <= CHAIN_NESTING_MAX {
                self.grow()?;
            }
        }
        if operands.len() > CHAIN_NESTING_MAX {
            return Ok(balanced(op, &mut operands.into_iter(), &positions));
        }
        let mut operands = operands.into_iter();
        let first = operands.next().expect("a chain has a first operand");
        Ok(operands.zip(positions).fold(first, |left, (right, position)| Expr {
            position,
            kind: ExprKind::Binary(op, Box::new(left), Box::new(right)),
        }))
    }

    /// Whether `ANY (` or its like is at the cursor.
    fn at_quantifier(&self) -> bool {
        self.at_any(&["any", "some", "all"]) && self.peek_at(1).kind == Kind::LeftParen
    }

    /// `left op ANY (..)`, the operator taken.
    fn quantified(&mut self, left: Expr, op: BinaryOp, position: Position) -> Result<Expr> {
        let all = self.at_word("all");
        self.bump();
        let expr = Box::new(left);
        let kind = if self.at_paren_query() {
            let query = Box::new(self.paren_query()?);
            ExprKind::QuantifiedQuery { expr, op, all, query }
        } else {
            self.expect(Kind::LeftParen)?;
            let array = self.boxed()?;
            self.expect(Kind::RightParen)?;
            ExprKind::Quantified { expr, op, all, array }
        };
        Ok(Expr { position, kind })
    }

    /// What stands behind `~~` and its like.
    fn like(
        &mut self,
        left: Expr,
        insensitive: bool,
        negated: bool,
        level: u8,
        restricted: bool,
        position: Position,
    ) -> Result<Expr> {
        if self.at_quantifier() {
            return self.quantified(left, BinaryOp::Like { insensitive, negated }, position);
        }
        let pattern = Box::new(self.climb(level + 1, restricted)?);
        let kind = ExprKind::Like { expr: Box::new(left), pattern, escape: None, insensitive, negated };
        Ok(Expr { position, kind })
    }

    /// `OPERATOR(schema.op)`
    fn qualified_operator(&mut self) -> Result<Infix> {
        let position = self.position();
        let (schema, text) = self.operator_in_schema()?;
        match self.symbol(&text).0 {
            op @ (Infix::Binary(_) | Infix::Like { .. })
                if schema.as_deref().is_none_or(|s| s == "pg_catalog") =>
            {
                Ok(op)
            }
            _ => self.unsupported(&format!("operator {text}"), position),
        }
    }

    /// The schema and the operator of `OPERATOR(schema.op)`.
    fn operator_in_schema(&mut self) -> Result<(Option<String>, String)> {
        self.bump();
        self.expect(Kind::LeftParen)?;
        let mut schema = None;
        while self.at_name() {
            schema = Some(self.name()?);
            self.expect(Kind::Dot)?;
        }
        if !self.at_kind(Kind::Operator) {
            return self.fail();
        }
        let text = self.bump().text(self.text).to_owned();
        self.expect(Kind::RightParen)?;
        Ok((schema, text))
    }

    /// `left IS [NOT] ..`
    fn is(&mut self, left: Expr, restricted: bool, closed: &mut Option<u8>) -> Result<Expr> {
        let position = self.bump().start;
        let negated = self.eat_word("not");
        if ["normalized", "nfc", "nfd", "nfkc", "nfkd"].contains(&self.word().as_str()) && !restricted {
            return self.is_normalized(left, negated, position);
        }
        let expr = Box::new(left);
        if self.eat_words(&["distinct", "from"]) {
            let right = Box::new(self.climb(level::IS + 1, restricted)?);
            *closed = Some(level::IS);
            return Ok(Expr { position, kind: ExprKind::IsDistinctFrom { left: expr, right, negated } });
        }
        let word = self.word();
        let what = match word.as_str() {
            "document" | "json" => {
                return self.unsupported(&format!("IS {}", word.as_str().to_uppercase()), position);
            }
            _ if restricted => return self.fail(),
            "null" => IsWhat::Null,
            "true" => IsWhat::True,
            "false" => IsWhat::False,
            "unknown" => IsWhat::Unknown,
            _ => return self.fail(),
        };
        self.bump();
        Ok(Expr { position, kind: ExprKind::Is { expr, what, negated } })
    }

    /// `left [NOT] BETWEEN | IN | LIKE | ILIKE ..`
    fn matching(&mut self, left: Expr, negated: bool, closed: &mut Option<u8>) -> Result<Expr> {
        let position = self.position();
        if negated {
            self.bump();
        }
        let word = self.word();
        self.bump();
        let expr = Box::new(left);
        let kind = match word.as_str() {
            "between" => {
                let symmetric = self.eat_word("symmetric");
                if !symmetric {
                    self.eat_word("asymmetric");
                }
                let low = Box::new(self.restricted_expr()?);
                self.expect_word("and")?;
                let high = Box::new(self.climb(level::MATCH + 1, false)?);
                *closed = Some(level::MATCH);
                ExprKind::Between { expr, low, high, negated, symmetric }
            }
            "in" if self.at_paren_query() => {
                let query = Box::new(self.paren_query()?);
                ExprKind::InQuery { expr, query, negated }
            }
            "in" => ExprKind::InList { expr, list: self.paren_list(Self::expr)?, negated },
            "like" | "ilike" => {
                let insensitive = word.as_str() == "ilike";
                if self.at_quantifier() {
                    return self.quantified(*expr, BinaryOp::Like { insensitive, negated }, position);
                }
                let pattern = Box::new(self.climb(level::MATCH + 1, false)?);
                let escape = match self.eat_word("escape") {
                    true => Some(Box::new(self.climb(level::MATCH + 1, false)?)),
                    false => None,
                };
                *closed = Some(level::MATCH);
                ExprKind::Like { expr, pattern, escape, insensitive, negated }
            }
            // As PostgreSQL keeps it.
            _ => {
                self.expect_word("to")?;
                let mut args = vec![self.climb(level::MATCH + 1, false)?];
                if self.eat_word("escape") {
                    args.push(self.climb(level::MATCH + 1, false)?);
                }
                *closed = Some(level::MATCH);
                let name = vec!["pg_catalog".to_owned(), "similar_to_escape".to_owned()];
                let args = args.into_iter().map(|value| Argument { name: None, value }).collect();
                let call = FunctionCall::plain(Name { parts: name, position }, args);
                let pattern = Expr { position, kind: ExprKind::Call(Box::new(call)) };
                let op = BinaryOp::Regex { insensitive: false, negated };
                ExprKind::Binary(op, expr, Box::new(pattern))
            }
        };
        Ok(Expr { position, kind })
    }
}

/// LIKE and ILIKE as operators.
fn like_operator(text: &str) -> Infix {
    Infix::Like { insensitive: text.ends_with('*'), negated: text.starts_with('!') }
}

/// The operator behind its symbol.
fn binary_operator(text: &str) -> Option<BinaryOp> {
    let regex = |insensitive, negated| BinaryOp::Regex { insensitive, negated };
    Some(match text {
        "=" => BinaryOp::Eq,
        "<>" | "!=" => BinaryOp::Ne,
        "<" => BinaryOp::Lt,
        "<=" => BinaryOp::Le,
        ">" => BinaryOp::Gt,
        ">=" => BinaryOp::Ge,
        "+" => BinaryOp::Add,
        "-" => BinaryOp::Sub,
        "*" => BinaryOp::Mul,
        "/" => BinaryOp::Div,
        "%" => BinaryOp::Mod,
        "^" => BinaryOp::Pow,
        "||" => BinaryOp::Concat,
        "&" => BinaryOp::BitAnd,
        "|" => BinaryOp::BitOr,
        "#" => BinaryOp::BitXor,
        "<<" => BinaryOp::Shl,
        ">>" => BinaryOp::Shr,
        "~" => regex(false, false),
        "~*" => regex(true, false),
        "!~" => regex(false, true),
        "!~*" => regex(true, true),
        "@>" => BinaryOp::Contains,
        "<@" => BinaryOp::ContainedBy,
        "&&" => BinaryOp::Overlaps,
        "&<" => BinaryOp::EndsWithin,
        "&>" => BinaryOp::BeginsWithin,
        "-|-" => BinaryOp::Adjacent,
        "^@" => BinaryOp::BeginsWith,
        "<<=" => BinaryOp::WithinOrSame,
        ">>=" => BinaryOp::HoldsOrSame,
        "@@" => BinaryOp::Matches,
        "<->" => BinaryOp::FollowedBy,
        _ => {
            let similar = SimilarOp::ALL.into_iter().find(|op| op.symbol() == text).map(BinaryOp::Similar);
            return similar
                .or_else(|| JsonOp::ALL.into_iter().find(|op| op.symbol() == text).map(BinaryOp::Json));
        }
    })
}

/// A balanced tree over `positions.len() + 1` operands, in their order.
fn balanced(op: BinaryOp, operands: &mut impl Iterator<Item = Expr>, positions: &[Position]) -> Expr {
    if positions.is_empty() {
        return operands.next().expect("one more operand than operators");
    }
    let middle = positions.len() / 2;
    let left = balanced(op, operands, &positions[..middle]);
    let right = balanced(op, operands, &positions[middle + 1..]);
    Expr { position: positions[middle], kind: ExprKind::Binary(op, Box::new(left), Box::new(right)) }
}

/// An operator that stands before its operand.
fn prefix_operator(text: &str) -> Option<UnaryOp> {
    Some(match text {
        "-" => UnaryOp::Minus,
        "+" => UnaryOp::Plus,
        "~" => UnaryOp::BitNot,
        "@" => UnaryOp::Abs,
        "|/" => UnaryOp::SquareRoot,
        "||/" => UnaryOp::CubeRoot,
        "!!" => UnaryOp::NotFound,
        _ => return None,
    })
}
