//! Function calls: arguments, aggregates, windows, and the functions with a syntax of their own.

use planaria_base::{Error, Result, SqlState};

use super::lex::Kind;
use super::parser::Parser;
use crate::ast::{
    Argument, Expr, ExprKind, Frame, FrameEdge, FrameExclusion, FrameUnits, FunctionCall, Name, OrderItem,
    Position, UnaryOp, Window,
};

/// Functions with a syntax of their own; those of XML and JSON are refused.
#[rustfmt::skip]
const SPECIAL: &[&str] = &[
    "cast", "coalesce", "nullif", "greatest", "least", "extract", "substring", "position", "overlay", "trim",
    "treat", "normalize", "grouping", "xmlconcat", "xmlelement", "xmlexists", "xmlforest", "xmlparse", "xmlpi",
    "xmlroot", "xmlserialize", "xmltable", "json_array", "json_query", "json_exists",
    "json_value", "json_scalar", "json_serialize", "json_objectagg", "json_arrayagg",
];

impl Parser<'_> {
    /// A call behind its name: `(args) [FILTER ..] [OVER ..]`.
    pub(crate) fn call(&mut self, name: Name) -> Result<FunctionCall> {
        let mut call = self.plain_call(name)?;
        let at = self.position();
        if self.eat_words(&["within", "group"]) {
            if !call.order_by.is_empty() {
                return Err(self.syntax_error("cannot use multiple ORDER BY clauses with WITHIN GROUP", at));
            }
            if call.distinct {
                return Err(self.syntax_error("cannot use DISTINCT with WITHIN GROUP", at));
            }
            self.expect(Kind::LeftParen)?;
            call.order_by = self.order_by()?;
            self.expect(Kind::RightParen)?;
            call.within_group = true;
        }
        if self.at_word("filter") && self.peek_at(1).kind == Kind::LeftParen {
            self.bump();
            self.bump();
            self.expect_word("where")?;
            call.filter = Some(self.expr()?);
            self.expect(Kind::RightParen)?;
        }
        if self.at_words(&["ignore", "nulls"]) || self.at_words(&["respect", "nulls"]) {
            return self.unsupported("IGNORE NULLS or RESPECT NULLS", self.position());
        }
        if self.eat_word("over") {
            call.over = Some(match self.at_kind(Kind::LeftParen) {
                true => self.window()?,
                false => {
                    let position = self.position();
                    Window { name: Some(self.name()?), bare: true, position, ..Window::default() }
                }
            });
        }
        Ok(call)
    }

    /// A call without what follows its parenthesis.
    pub(crate) fn plain_call(&mut self, name: Name) -> Result<FunctionCall> {
        let mut call = FunctionCall::plain(name, Vec::new());
        self.expect(Kind::LeftParen)?;
        if self.eat(Kind::RightParen) {
            return Ok(call);
        }
        if self.at_operator("*") && self.peek_at(1).kind == Kind::RightParen {
            self.bump();
            self.bump();
            call.star = true;
            return Ok(call);
        }
        call.distinct = self.eat_word("distinct");
        if !call.distinct {
            self.eat_word("all");
        }
        loop {
            call.variadic = self.eat_word("variadic");
            call.args.push(self.argument()?);
            if call.variadic || !self.eat(Kind::Comma) {
                break;
            }
        }
        if self.at_word("order") {
            call.order_by = self.order_by()?;
        }
        self.expect(Kind::RightParen)?;
        Ok(call)
    }

    fn argument(&mut self) -> Result<Argument> {
        let named = self.at_function_name_ahead(0)
            && (self.peek_at(1).kind == Kind::ColonEquals
                || self.peek_at(1).kind == Kind::Operator && self.peek_at(1).text(self.text) == "=>");
        let name = match named {
            true => {
                let name = self.function_name()?;
                self.bump();
                Some(name)
            }
            false => None,
        };
        Ok(Argument { name, value: self.expr()? })
    }

    /// `([name] [PARTITION BY ..] [ORDER BY ..] [frame])`
    pub(crate) fn window(&mut self) -> Result<Window> {
        let mut window = Window { position: self.position(), ..Window::default() };
        self.expect(Kind::LeftParen)?;
        let frame = |p: &Self| p.at_any(&["range", "rows", "groups"]);
        if self.at_name() && !self.at_words(&["partition", "by"]) && !frame(self) {
            window.name = Some(self.name()?);
        }
        if self.eat_words(&["partition", "by"]) {
            window.partition_by = self.list(Self::expr)?;
        }
        if self.at_word("order") {
            window.order_by = self.order_by()?;
        }
        if frame(self) {
            window.frame = Some(self.frame()?);
        }
        self.expect(Kind::RightParen)?;
        Ok(window)
    }

    /// `ROWS | RANGE | GROUPS edge`, or `.. BETWEEN edge AND edge`.
    fn frame(&mut self) -> Result<Frame> {
        let units = match self.word().as_str() {
            "rows" => FrameUnits::Rows,
            "range" => FrameUnits::Range,
            _ => FrameUnits::Groups,
        };
        let position = self.bump().start;
        let wrong = |message: &str, at| Err(Error::new(SqlState::WINDOWING_ERROR, message).at(at));
        let between = self.eat_word("between");
        let at = self.position();
        let (start, ahead) = self.frame_edge()?;
        if start == FrameEdge::Unbounded && ahead {
            return wrong("frame start cannot be UNBOUNDED FOLLOWING", at);
        }
        let end = match between {
            true => {
                self.expect_word("and")?;
                let at = self.position();
                let (end, ahead) = self.frame_edge()?;
                match (&start, &end) {
                    (_, FrameEdge::Unbounded) if !ahead => {
                        return wrong("frame end cannot be UNBOUNDED PRECEDING", at);
                    }
                    (FrameEdge::Current, FrameEdge::Preceding(_)) => {
                        return wrong("frame starting from current row cannot have preceding rows", at);
                    }
                    (FrameEdge::Following(_), FrameEdge::Preceding(_) | FrameEdge::Current) => {
                        return wrong("frame starting from following row cannot have preceding rows", at);
                    }
                    _ => end,
                }
            }
            false if matches!(start, FrameEdge::Following(_)) => {
                return wrong("frame starting from following row cannot end with current row", at);
            }
            false => FrameEdge::Current,
        };
        let exclude = match () {
            () if !self.eat_word("exclude") => FrameExclusion::Nothing,
            () if self.eat_words(&["no", "others"]) => FrameExclusion::Nothing,
            () if self.eat_words(&["current", "row"]) => FrameExclusion::Row,
            () if self.eat_word("group") => FrameExclusion::Group,
            () if self.eat_word("ties") => FrameExclusion::Ties,
            () => return self.fail(),
        };
        Ok(Frame { units, start, end, exclude, position })
    }

    /// An edge of a frame, and whether it is FOLLOWING.
    fn frame_edge(&mut self) -> Result<(FrameEdge, bool)> {
        if self.eat_words(&["current", "row"]) {
            return Ok((FrameEdge::Current, false));
        }
        let offset = if self.eat_word("unbounded") { None } else { Some(self.expr()?) };
        let ahead = match () {
            () if self.eat_word("preceding") => false,
            () if self.eat_word("following") => true,
            () => return self.fail(),
        };
        let edge = match offset {
            None => FrameEdge::Unbounded,
            Some(e) if ahead => FrameEdge::Following(e),
            Some(e) => FrameEdge::Preceding(e),
        };
        Ok((edge, ahead))
    }

    /// `ORDER BY item, ...`
    pub(crate) fn order_by(&mut self) -> Result<Vec<OrderItem>> {
        self.expect_words(&["order", "by"])?;
        self.list(|p| {
            let expr = p.expr()?;
            if p.at_word("using") {
                return p.unsupported("ORDER BY USING", p.position());
            }
            let descending = p.eat_word("desc");
            if !descending {
                p.eat_word("asc");
            }
            let nulls_first = p.nulls_order()?;
            Ok(OrderItem { expr, descending, nulls_first })
        })
    }

    /// `NULLS FIRST | LAST`
    pub(crate) fn nulls_order(&mut self) -> Result<Option<bool>> {
        if !self.at_words(&["nulls", "first"]) && !self.at_words(&["nulls", "last"]) {
            return Ok(None);
        }
        self.bump();
        let first = self.at_word("first");
        self.bump();
        Ok(Some(first))
    }

    /// Whether a word comes next whose parentheses have a syntax of their own.
    pub(crate) fn at_special_function(&self) -> bool {
        SPECIAL.contains(&self.word().as_str())
    }

    /// A function with a syntax of its own, `(` behind the word.
    pub(crate) fn special_function(&mut self) -> Result<Expr> {
        let position = self.position();
        let word = self.word();
        self.bump();
        let kind = match word.as_str() {
            "coalesce" => ExprKind::Coalesce(self.paren_list(Self::expr)?),
            "greatest" => ExprKind::Greatest(self.paren_list(Self::expr)?),
            "least" => ExprKind::Least(self.paren_list(Self::expr)?),
            other => {
                self.bump();
                let kind = match other {
                    "cast" => {
                        let value = self.boxed()?;
                        self.expect_word("as")?;
                        ExprKind::Cast(value, self.type_name()?)
                    }
                    "nullif" => {
                        let left = self.boxed()?;
                        self.expect(Kind::Comma)?;
                        ExprKind::NullIf(left, self.boxed()?)
                    }
                    "extract" => self.extract(position)?,
                    "substring" => self.substring(position)?,
                    "grouping" => {
                        let mut args = vec![self.expr()?];
                        self.more_arguments(&mut args)?;
                        make_call("grouping", args, position)
                    }
                    "position" => self.position_in(position)?,
                    "overlay" => self.overlay(position)?,
                    "trim" => self.trim(position)?,
                    "normalize" => {
                        let mut args = vec![self.expr()?];
                        if self.eat(Kind::Comma) {
                            args.push(self.normal_form()?);
                        }
                        worded_call("normalize", args, position)
                    }
                    _ => {
                        return self.unsupported(&format!("{}()", other.to_uppercase()), position);
                    }
                };
                self.expect(Kind::RightParen)?;
                kind
            }
        };
        Ok(Expr { position, kind })
    }

    /// `NFC` and its like, as a text.
    fn normal_form(&mut self) -> Result<Expr> {
        let position = self.position();
        let word = self.word();
        if !["nfc", "nfd", "nfkc", "nfkd"].contains(&word.as_str()) {
            return self.fail();
        }
        self.bump();
        Ok(Expr { position, kind: ExprKind::String(word.as_str().to_uppercase()) })
    }

    /// `[form] NORMALIZED`, behind `IS [NOT]`.
    pub(crate) fn is_normalized(&mut self, text: Expr, negated: bool, position: Position) -> Result<Expr> {
        let form = match self.at_word("normalized") {
            true => Expr { position, kind: ExprKind::String("NFC".to_owned()) },
            false => self.normal_form()?,
        };
        self.expect_word("normalized")?;
        let call = Expr { position, kind: own_call("is_normalized", vec![text, form], position) };
        Ok(match negated {
            true => Expr { position, kind: ExprKind::Unary(UnaryOp::Not, Box::new(call)) },
            false => call,
        })
    }

    /// `extract(field FROM e)`
    fn extract(&mut self, position: Position) -> Result<ExprKind> {
        let at = self.position();
        let field = match self.at_string() {
            true => self.string()?.to_ascii_lowercase(),
            false => self.label()?,
        };
        self.expect_word("from")?;
        let field = Expr { position: at, kind: ExprKind::String(field) };
        let value = self.expr()?;
        Ok(worded_call("extract", vec![field, value], position))
    }

    /// `substring(s FROM a FOR n)` in any order, or plain arguments.
    fn substring(&mut self, position: Position) -> Result<ExprKind> {
        let mut args = vec![self.expr()?];
        if self.at_word("similar") {
            let at = self.bump().start;
            let mut pattern = vec![self.expr()?];
            self.expect_word("escape")?;
            pattern.push(self.expr()?);
            args.push(Expr { position: at, kind: own_call("similar_to_escape", pattern, at) });
            return Ok(worded_call("substring", args, position));
        }
        if self.eat_word("from") {
            args.push(self.expr()?);
            if self.eat_word("for") {
                args.push(self.expr()?);
            }
        } else if self.at_word("for") {
            let at = self.bump().start;
            let length = self.expr()?;
            args.push(match self.eat_word("from") {
                true => self.expr()?,
                false => Expr { position: at, kind: ExprKind::Integer("1".to_owned()) },
            });
            args.push(length);
        } else {
            self.more_arguments(&mut args)?;
            return Ok(make_call("substring", args, position));
        }
        Ok(worded_call("substring", args, position))
    }

    /// `position(part IN whole)`: the call has the whole first.
    fn position_in(&mut self, position: Position) -> Result<ExprKind> {
        let part = self.restricted_expr()?;
        self.expect_word("in")?;
        let whole = self.restricted_expr()?;
        Ok(worded_call("position", vec![whole, part], position))
    }

    /// `overlay(s PLACING r FROM a [FOR n])`, or plain arguments.
    fn overlay(&mut self, position: Position) -> Result<ExprKind> {
        let mut args = vec![self.expr()?];
        if self.eat_word("placing") {
            args.push(self.expr()?);
            self.expect_word("from")?;
            args.push(self.expr()?);
            if self.eat_word("for") {
                args.push(self.expr()?);
            }
        } else {
            self.more_arguments(&mut args)?;
            return Ok(make_call("overlay", args, position));
        }
        Ok(worded_call("overlay", args, position))
    }

    /// `trim([BOTH | LEADING | TRAILING] [chars] FROM s)`, `trim(s, chars)`
    fn trim(&mut self, position: Position) -> Result<ExprKind> {
        let mut function = "btrim";
        for (word, name) in [("both", "btrim"), ("leading", "ltrim"), ("trailing", "rtrim")] {
            if self.eat_word(word) {
                function = name;
                break;
            }
        }
        let mut args = Vec::new();
        if self.eat_word("from") {
            args.push(self.expr()?);
            self.more_arguments(&mut args)?;
        } else {
            let first = self.expr()?;
            if self.eat_word("from") {
                args.push(self.expr()?);
                args.push(first);
            } else {
                args.push(first);
                self.more_arguments(&mut args)?;
            }
        }
        Ok(worded_call(function, args, position))
    }

    fn more_arguments(&mut self, args: &mut Vec<Expr>) -> Result<()> {
        while self.eat(Kind::Comma) {
            args.push(self.expr()?);
        }
        Ok(())
    }
}

/// A call that means a function of `pg_catalog`, whatever else has its name.
fn own_call(name: &str, args: Vec<Expr>, position: Position) -> ExprKind {
    let args = args.into_iter().map(|value| Argument { name: None, value }).collect();
    let parts = vec!["pg_catalog".to_owned(), name.to_owned()];
    ExprKind::Call(Box::new(FunctionCall::plain(Name { parts, position }, args)))
}

fn make_call(name: &str, args: Vec<Expr>, position: Position) -> ExprKind {
    let args = args.into_iter().map(|value| Argument { name: None, value }).collect();
    ExprKind::Call(Box::new(FunctionCall::plain(Name { parts: vec![name.to_owned()], position }, args)))
}

/// The same with words between its arguments.
fn worded_call(name: &str, args: Vec<Expr>, position: Position) -> ExprKind {
    let args = args.into_iter().map(|value| Argument { name: None, value }).collect();
    let name = Name { parts: vec![name.to_owned()], position };
    ExprKind::Call(Box::new(FunctionCall { worded: true, ..FunctionCall::plain(name, args) }))
}
