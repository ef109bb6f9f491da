//! JSON made of values: `to_json` and its like, and the aggregates that gather it.
//!
//! A value becomes JSON by a cast to `json`, which SQL has of texts alone, and there means something else. The aggregates
//! are `string_agg` with something around it.

use super::Lowerer;
use super::bound::{Bound, BoundKind};
use super::types::CastContext;
use planaria_base::types::{SystemType, TypeClass};
use planaria_base::{Datum, Error, Result, SqlState, Type};
use planaria_ir::Func;
use planaria_syntax::ast::{Argument, Expr, ExprKind, FunctionCall, Name};

const JSON: Type = Type::System(SystemType::Json);

/// Functions that only [`aggregate`] calls: no name of SQL has a blank, but for one in quotes.
const TEXT_OF: &str = "json text";
const SEPARATOR: &str = "json separator";
const PAIR: &str = "json pair";
const ENCLOSED: &str = "json enclosed";

fn text(value: &str, position: u32) -> Bound {
    Bound::constant(Datum::Text(value.to_owned()), Type::Text, position)
}

/// `json_agg` and `json_object_agg` as calls of other functions; `None` for all else.
pub(super) fn aggregate(name: &str, call: &FunctionCall, position: u32) -> Option<FunctionCall> {
    let plain = |name: &str, args: Vec<Expr>| {
        let name = Name { parts: vec![name.to_owned()], position };
        FunctionCall::plain(name, args.into_iter().map(|value| Argument { name: None, value }).collect())
    };
    let expr = |call: FunctionCall| Expr { position, kind: ExprKind::Call(Box::new(call)) };
    let literal = |text: &str| Expr { position, kind: ExprKind::String(text.to_owned()) };
    let values: Vec<Expr> = call.args.iter().map(|arg| arg.value.clone()).collect();
    let (parts, between, [open, close]) = match (name, &values[..]) {
        ("json_agg", [value]) => {
            let separator = expr(plain(SEPARATOR, vec![value.clone()]));
            (expr(plain(TEXT_OF, values)), separator, ["[", "]"])
        }
        ("json_object_agg", [_, _]) => (expr(plain(PAIR, values)), literal(", "), ["{ ", " }"]),
        _ => return None,
    };
    let gathered = FunctionCall {
        distinct: call.distinct,
        order_by: call.order_by.clone(),
        filter: call.filter.clone(),
        over: call.over.clone(),
        ..plain("string_agg", vec![parts, between])
    };
    Some(plain(ENCLOSED, vec![literal(open), expr(gathered), literal(close)]))
}

impl Lowerer<'_> {
    /// A call of a function that makes JSON; `None` where the name is no such function's.
    pub(super) fn bind_json(&mut self, name: &str, args: &[Bound], position: u32) -> Result<Option<Bound>> {
        let concat = |parts, ty| Ok(Some(Bound::apply(Func::Concat, parts, ty, position)));
        match (name, args) {
            ("to_json", [value]) => self.json_of(value.clone()).map(Some),
            ("row_to_json", [value]) if matches!(value.ty, Type::Record(_)) => {
                self.json_of(value.clone()).map(Some)
            }
            ("array_to_json", [value]) if value.ty.element().is_some() => {
                self.json_of(value.clone()).map(Some)
            }
            ("json_build_array", _) => {
                let mut parts = vec![text("[", position)];
                for (i, value) in args.iter().enumerate() {
                    if i > 0 {
                        parts.push(text(", ", position));
                    }
                    parts.push(self.json_text(value.clone())?);
                }
                parts.push(text("]", position));
                concat(parts, JSON)
            }
            ("json_build_object", _) => {
                if !args.len().is_multiple_of(2) {
                    let message = "argument list must have even number of elements";
                    let hint =
                        "The arguments of json_build_object() must consist of alternating keys and values.";
                    let error = Error::new(SqlState::INVALID_PARAMETER_VALUE, message);
                    return Err(error.hint(hint).at(position));
                }
                let mut parts = vec![text("{", position)];
                for (i, pair) in args.chunks(2).enumerate() {
                    if i > 0 {
                        parts.push(text(", ", position));
                    }
                    parts.extend(self.json_pair(2 * i as i64 + 1, &pair[0], &pair[1], position)?);
                }
                parts.push(text("}", position));
                concat(parts, JSON)
            }
            (TEXT_OF, [value]) => self.json_text(value.clone()).map(Some),
            (SEPARATOR, [value]) => {
                let structured = matches!(value.ty, Type::Array(_) | Type::Record(_));
                Ok(Some(text(if structured { ", \n " } else { ", " }, position)))
            }
            (PAIR, [key, value]) => {
                let parts = self.json_pair(0, key, value, position)?;
                concat(parts, Type::Text)
            }
            // Of nothing there is nothing, not even what encloses it.
            (ENCLOSED, [open, inner, close]) => {
                let open = self.operand(open.clone(), &Type::Text)?;
                let close = self.operand(close.clone(), &Type::Text)?;
                let begun = Bound::apply(Func::TextConcat, vec![open, inner.clone()], Type::Text, position);
                Ok(Some(Bound::apply(Func::TextConcat, vec![begun, close], JSON, position)))
            }
            _ => Ok(None),
        }
    }

    /// A key and its value; which argument of the call the key is, 0 for an aggregate's.
    fn json_pair(&mut self, argument: i64, key: &Bound, value: &Bound, position: u32) -> Result<Vec<Bound>> {
        let key = self.output_text(key.clone())?;
        let argument = Bound::constant(Datum::Int(argument), Type::Int8, position);
        let key = Bound::apply(Func::JsonKey, vec![key, argument], Type::Text, position);
        Ok(vec![key, text(" : ", position), self.json_text(value.clone())?])
    }

    /// A value as JSON; NULL stays NULL.
    fn json_of(&mut self, value: Bound) -> Result<Bound> {
        let value = self.settle(value)?;
        let position = value.position;
        if value.ty == JSON {
            return Ok(value);
        }
        if value.ty.class() == TypeClass::Text {
            let value = self.output_text(value)?;
            return Ok(Bound::apply(Func::JsonQuote, vec![value], JSON, position));
        }
        Ok(Bound::new(BoundKind::Cast(Box::new(value), true), JSON, position))
    }

    /// The text of a value as JSON, `null` of NULL.
    fn json_text(&mut self, value: Bound) -> Result<Bound> {
        let json = self.json_of(value)?;
        let position = json.position;
        let json = self.coerce(json, &Type::Text, CastContext::Explicit)?;
        Ok(Bound::new(BoundKind::Coalesce(vec![json, text("null", position)]), Type::Text, position))
    }
}
