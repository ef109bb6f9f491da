//! JSON: what is made of values (`to_json` and its like, the aggregates that gather it), and what is asked of it.
//!
//! A value becomes JSON by a cast to `json`, which SQL has of texts alone, and there means something else; `jsonb` is made
//! of that JSON's text. The aggregates are `string_agg` with something around it.

use super::Lowerer;
use super::bind_aggregate::GATHERED;
use super::bound::{Bound, BoundKind};
use super::functions::no_function;
use super::types::CastContext;
use planaria_base::types::TypeClass;
use planaria_base::{Datum, Error, Result, SqlState, Type};
use planaria_ir::Func;
use planaria_syntax::ast::{Argument, BinaryOp, Expr, ExprKind, FunctionCall, JsonOp, Name};

const JSON: Type = Type::JSON;

/// Functions that only [`aggregate`] calls: no name of SQL has a blank, but for one in quotes.
const TEXT_OF: &str = "json text";
const SEPARATOR: &str = "json separator";
const PAIR: &str = "json pair";
/// The same of a list: which argument the key would be, key, value.
pub(super) const PAIR_AT: &str = "json pair at";
/// Nothing, or the error of a list of so many that is no list of pairs: how many, what the error's list is of.
pub(super) const EVEN: &str = "json even";
/// The text of a value as JSON.
pub(super) const ITEM: &str = TEXT_OF;
const ENCLOSED: &str = "json enclosed";
const MADE: &str = "json made";
pub(super) const KEYS: &str = "json keys";
pub(super) const VALUES: &str = "json values";
pub(super) const TEXTS: &str = "json texts";
/// A value of the function's type, which is given beside it.
pub(super) const GIVEN: &str = "json given";

/// jsonb of a JSON text.
fn made_jsonb(json: Bound) -> Bound {
    let position = json.position;
    Bound::apply(Func::JsonbIn, vec![json], Type::Jsonb, position)
}

fn text(value: &str, position: u32) -> Bound {
    Bound::constant(Datum::Text(value.to_owned()), Type::Text, position)
}

/// Whether a call tells values apart, which then come in their own order and not in that of their texts.
pub(super) fn tells_apart(name: &str, call: &FunctionCall) -> bool {
    name == "jsonb_agg" && call.distinct && call.args.len() == 1
}

/// `json_agg` and `json_object_agg` as calls of other functions; `None` for all else. `in_array`: of what is told apart an
/// array is made first.
pub(super) fn aggregate(
    name: &str,
    call: &FunctionCall,
    in_array: bool,
    position: u32,
) -> Option<FunctionCall> {
    let plain = |name: &str, args: Vec<Expr>| {
        let name = Name { parts: vec![name.to_owned()], position };
        FunctionCall::plain(name, args.into_iter().map(|value| Argument { name: None, value }).collect())
    };
    let expr = |call: FunctionCall| Expr { position, kind: ExprKind::Call(Box::new(call)) };
    let literal = |text: &str| Expr { position, kind: ExprKind::String(text.to_owned()) };
    if in_array {
        let array =
            FunctionCall { name: Name { parts: vec![GATHERED.to_owned()], position }, ..call.clone() };
        return Some(plain("to_jsonb", vec![expr(array)]));
    }
    let values: Vec<Expr> = call.args.iter().map(|arg| arg.value.clone()).collect();
    let (parts, between, [open, close]) = match (name, &values[..]) {
        ("json_agg" | "jsonb_agg", [value]) => {
            let separator = expr(plain(SEPARATOR, vec![value.clone()]));
            (expr(plain(TEXT_OF, values)), separator, ["[", "]"])
        }
        ("json_object_agg" | "jsonb_object_agg", [_, _]) => {
            (expr(plain(PAIR, values)), literal(", "), ["{ ", " }"])
        }
        _ => return None,
    };
    let gathered = FunctionCall {
        distinct: call.distinct,
        order_by: call.order_by.clone(),
        filter: call.filter.clone(),
        over: call.over.clone(),
        ..plain("string_agg", vec![parts, between])
    };
    let whole = plain(ENCLOSED, vec![literal(open), expr(gathered), literal(close)]);
    Some(if name.starts_with("jsonb") { plain(MADE, vec![expr(whole)]) } else { whole })
}

/// A function that lists what is in a value: which, by how, and the name of its column.
pub(super) fn listing(name: &str) -> Option<(&'static str, Func, &'static str)> {
    Some(match name {
        "json_array_elements" => ("json_array_elements", Func::JsonElements, "value"),
        "jsonb_array_elements" => ("jsonb_array_elements", Func::JsonElements, "value"),
        "json_array_elements_text" => ("json_array_elements_text", Func::JsonElementTexts, "value"),
        "jsonb_array_elements_text" => ("jsonb_array_elements_text", Func::JsonElementTexts, "value"),
        "json_object_keys" => ("json_object_keys", Func::JsonKeys, "json_object_keys"),
        "jsonb_object_keys" => ("jsonb_object_keys", Func::JsonKeys, "jsonb_object_keys"),
        _ => return None,
    })
}

impl Lowerer<'_> {
    /// What `value[key] = new` stands for.
    pub(super) fn put_into_json(&mut self, whole: &Bound, key: &Bound, new: &Bound) -> Result<Bound> {
        let position = whole.position;
        let number = matches!(key.ty, Type::Int2 | Type::Int4);
        if !number && !super::operators::is_string(&key.ty) && key.ty != Type::Unknown {
            let message = format!("subscript type {} is not supported", key.ty);
            return Err(Error::new(SqlState::DATATYPE_MISMATCH, message)
                .at(key.position)
                .with_hint("jsonb subscript must be coercible to either integer or text."));
        }
        let key = self.coerce(key.clone(), &Type::Text, CastContext::Assignment)?;
        let new = self.coerce(new.clone(), &Type::Jsonb, CastContext::Assignment)?;
        let args = vec![whole.clone(), key, new, Bound::bool(number, position)];
        Ok(Bound::apply(Func::JsonbPut, args, Type::Jsonb, position))
    }

    /// A call of a function of JSON; `None` where the name is no such function's, or the arguments are of other types.
    pub(super) fn bind_json(&mut self, name: &str, args: &[Bound], position: u32) -> Result<Option<Bound>> {
        let binary = name.starts_with("jsonb_") || name == "to_jsonb";
        let plain = match name {
            "to_jsonb" => "to_json".to_owned(),
            _ => name.replacen("jsonb_", "json_", 1),
        };
        if let Some(made) = self.make_json(name, &plain, args, position)? {
            return Ok(Some(if binary { made_jsonb(made) } else { made }));
        }
        let ty = if binary { Type::Jsonb } else { JSON };
        // Of another type's value there is no such function.
        let takes = |value: &Bound| value.ty == Type::Unknown || value.ty == ty;
        if plain.starts_with("json_") && !args.first().is_none_or(takes) {
            return Ok(None);
        }
        let apply = |func, args, ty| Ok(Some(Bound::apply(func, args, ty, position)));
        let texts = Type::Array(Box::new(Type::Text));
        match (plain.as_str(), args) {
            ("json_typeof", [value]) => {
                let value = self.operand(value.clone(), &ty)?;
                apply(Func::JsonTypeof, vec![value], Type::Text)
            }
            ("json_array_length", [value]) => {
                let value = self.operand(value.clone(), &ty)?;
                apply(Func::JsonLength, vec![value], Type::Int4)
            }
            ("json_strip_nulls", [value]) => {
                let value = self.operand(value.clone(), &ty)?;
                apply(Func::JsonStripNulls, vec![value], ty)
            }
            ("json_extract_path" | "json_extract_path_text", [value, steps @ ..]) if !steps.is_empty() => {
                let value = self.operand(value.clone(), &ty)?;
                let steps = match steps {
                    [all] if all.ty.element().is_some() => self.operand(all.clone(), &texts)?,
                    _ => {
                        let steps: Result<Vec<Bound>> =
                            steps.iter().map(|step| self.operand(step.clone(), &Type::Text)).collect();
                        Bound::apply(Func::ArrayMake, steps?, texts, position)
                    }
                };
                match plain.as_str() {
                    "json_extract_path" => apply(Func::JsonPath, vec![value, steps], ty),
                    _ => apply(Func::JsonPathText, vec![value, steps], Type::Text),
                }
            }
            ("json_pretty", [value]) if binary => {
                let value = self.operand(value.clone(), &ty)?;
                apply(Func::JsonbPretty, vec![value], Type::Text)
            }
            ("json_set" | "json_insert", [target, path, new, rest @ ..]) if binary && rest.len() < 2 => {
                let set = plain == "json_set";
                let flag = match rest {
                    [flag] => self.operand(flag.clone(), &Type::Bool)?,
                    _ => Bound::constant(Datum::Bool(set), Type::Bool, position),
                };
                let args = vec![
                    self.operand(target.clone(), &ty)?,
                    self.operand(path.clone(), &texts)?,
                    self.operand(new.clone(), &ty)?,
                    flag,
                ];
                apply(if set { Func::JsonbSet } else { Func::JsonbInsert }, args, ty)
            }
            ("json_set_lax", [target, path, new, rest @ ..]) if binary && rest.len() < 3 => {
                let create = rest.first().cloned().unwrap_or_else(|| Bound::bool(true, position));
                let json_null = Datum::Text("use_json_null".into());
                let treatment =
                    rest.get(1).cloned().unwrap_or_else(|| Bound::constant(json_null, Type::Text, position));
                let args = vec![
                    self.operand(target.clone(), &ty)?,
                    self.operand(path.clone(), &texts)?,
                    self.operand(new.clone(), &ty)?,
                    self.operand(create, &Type::Bool)?,
                    self.operand(treatment, &Type::Text)?,
                ];
                apply(Func::JsonbSetLax, args, ty)
            }
            (GIVEN | KEYS | VALUES | TEXTS, [value, function]) => {
                let function = function.clone();
                let BoundKind::Const(Datum::Text(which)) = &function.kind else { return Ok(None) };
                let ty = if which.starts_with("jsonb") { Type::Jsonb } else { JSON };
                if value.ty != Type::Unknown && value.ty != ty {
                    return Err(no_function(which, std::slice::from_ref(&value.ty), position));
                }
                let value = self.operand(value.clone(), &ty)?;
                if plain == GIVEN {
                    return Ok(Some(value));
                }
                let function = self.operand(function, &Type::Text)?;
                let (func, of) = match plain.as_str() {
                    KEYS => (Func::JsonKeys, Type::Text),
                    VALUES => (Func::JsonValues, ty),
                    _ => (Func::JsonValueTexts, Type::Text),
                };
                apply(func, vec![value, function], Type::Array(Box::new(of)))
            }
            _ => Ok(None),
        }
    }

    /// `value[step]`: a path of one step, which may be given as a number.
    pub(super) fn json_subscript(&mut self, value: Bound, step: Bound, position: u32) -> Result<Bound> {
        let is_step = |ty: &Type| {
            matches!(ty, Type::Int2 | Type::Int4 | Type::Unknown)
                || super::operators::is_string(ty) && *ty != JSON
        };
        if !is_step(&step.ty) {
            let message = format!("subscript type {} is not supported", step.ty);
            let hint = "jsonb subscript must be coercible to either integer or text.";
            return Err(Error::new(SqlState::DATATYPE_MISMATCH, message).with_hint(hint).at(position));
        }
        let step = self.coerce(step, &Type::Text, CastContext::Assignment)?;
        let path = Bound::apply(Func::ArrayMake, vec![step], Type::Array(Box::new(Type::Text)), position);
        Ok(Bound::apply(Func::JsonPath, vec![value, path], Type::Jsonb, position))
    }

    /// What a function of [`listing`] lists, as an array, and the name of its column.
    pub(super) fn json_list(
        &mut self,
        (name, func, column): (&'static str, Func, &'static str),
        value: Bound,
        position: u32,
    ) -> Result<(Bound, &'static str)> {
        let ty = if name.starts_with("jsonb") { Type::Jsonb } else { JSON };
        if value.ty != Type::Unknown && value.ty != ty {
            return Err(no_function(name, &[value.ty], position));
        }
        let of = if func == Func::JsonElements { ty.clone() } else { Type::Text };
        let args = vec![self.operand(value, &ty)?, text(name, position)];
        Ok((Bound::apply(func, args, Type::Array(Box::new(of)), position), column))
    }

    /// An infix operator with JSON on one side; `None` where no such operator is meant.
    pub(super) fn json_operator(
        &mut self,
        which: BinaryOp,
        left: &Bound,
        right: &Bound,
        position: u32,
    ) -> Result<Option<Bound>> {
        let is_json = |ty: &Type| matches!(ty, Type::Jsonb | &JSON);
        let (l, r) = (&left.ty, &right.ty);
        let both = |a: &Type, b: &Type| *a == Type::Jsonb && matches!(b, Type::Jsonb | Type::Unknown);
        let small = |ty: &Type| matches!(ty, Type::Int2 | Type::Int4);
        let is_text = |ty: &Type| super::operators::is_string(ty) && *ty != JSON || *ty == Type::Unknown;
        let texts = Type::Array(Box::new(Type::Text));
        let of_texts =
            |ty: &Type| *ty == Type::Unknown || ty.element().is_some_and(|of| of.class() == TypeClass::Text);
        let no = || Err(super::operators::no_operator(super::operators::symbol(which), Some(l), r, position));
        if which == BinaryOp::Json(JsonOp::PathExists) {
            let path = |ty: &Type| matches!(ty, Type::Unknown | &super::jsonpath::JSONPATH);
            if !matches!(l, Type::Jsonb | Type::Unknown) || !path(r) {
                return no();
            }
            return self.json_path_operator(Func::JsonPathExists, left, right, position).map(Some);
        }
        // What is on the right, and what comes out.
        let (func, of, ty) = match which {
            BinaryOp::Json(_) if !is_json(l) => return no(),
            BinaryOp::Json(op) => {
                let (func, of, ty) = match op {
                    JsonOp::Get if small(r) => (Func::JsonElement, Type::Int4, l.clone()),
                    JsonOp::GetText if small(r) => (Func::JsonElementText, Type::Int4, Type::Text),
                    JsonOp::Get if is_text(r) => (Func::JsonField, Type::Text, l.clone()),
                    JsonOp::GetText if is_text(r) => (Func::JsonFieldText, Type::Text, Type::Text),
                    JsonOp::Path if of_texts(r) => (Func::JsonPath, texts, l.clone()),
                    JsonOp::PathText if of_texts(r) => (Func::JsonPathText, texts, Type::Text),
                    JsonOp::Has if is_text(r) => (Func::JsonbHas, Type::Text, Type::Bool),
                    JsonOp::HasAny if of_texts(r) => (Func::JsonbHasAny, texts, Type::Bool),
                    JsonOp::HasAll if of_texts(r) => (Func::JsonbHasAll, texts, Type::Bool),
                    JsonOp::WithoutPath if of_texts(r) => (Func::JsonbWithoutPath, texts, Type::Jsonb),
                    _ => return no(),
                };
                let either = matches!(op, JsonOp::Get | JsonOp::GetText | JsonOp::Path | JsonOp::PathText);
                if !either && *l != Type::Jsonb {
                    return no();
                }
                (func, of, ty)
            }
            BinaryOp::Sub if *l == Type::Jsonb => match r {
                r if small(r) => (Func::JsonbWithoutAt, Type::Int4, Type::Jsonb),
                r if is_text(r) => (Func::JsonbWithout, Type::Text, Type::Jsonb),
                r if of_texts(r) => (Func::JsonbWithoutAll, texts, Type::Jsonb),
                _ => return no(),
            },
            BinaryOp::Contains | BinaryOp::ContainedBy | BinaryOp::Concat if both(l, r) || both(r, l) => {
                let mut args = vec![
                    self.operand(left.clone(), &Type::Jsonb)?,
                    self.operand(right.clone(), &Type::Jsonb)?,
                ];
                if which == BinaryOp::ContainedBy {
                    args.reverse();
                }
                let (func, ty) = match which {
                    BinaryOp::Concat => (Func::JsonbConcat, Type::Jsonb),
                    _ => (Func::JsonbContains, Type::Bool),
                };
                return Ok(Some(Bound::apply(func, args, ty, position)));
            }
            // json has no operators but those that look into it.
            BinaryOp::Concat => return Ok(None),
            _ if *l == JSON || *r == JSON => return no(),
            _ => return Ok(None),
        };
        let args = vec![left.clone(), self.operand(right.clone(), &of)?];
        Ok(Some(Bound::apply(func, args, ty, position)))
    }

    /// A call of a function that makes JSON; `None` where the name is no such function's. `name` as it is called, `plain`
    /// without the b.
    fn make_json(&mut self, name: &str, plain: &str, args: &[Bound], position: u32) -> Result<Option<Bound>> {
        let concat = |parts, ty| Ok(Some(Bound::apply(Func::Concat, parts, ty, position)));
        match (plain, args) {
            ("to_json" | TEXT_OF, [value]) if value.ty == Type::Unknown => {
                let message = "could not determine polymorphic type because input has type unknown";
                Err(Error::new(SqlState::DATATYPE_MISMATCH, message).at(position))
            }
            ("to_json", [value]) => self.json_of(value.clone()).map(Some),
            ("row_to_json", [value]) if matches!(value.ty, Type::Record(_)) => {
                self.json_of(value.clone()).map(Some)
            }
            ("array_to_json", [value]) if value.ty.element().is_some() => {
                self.json_of(value.clone()).map(Some)
            }
            ("array_to_json", [value, lines]) | ("row_to_json", [value, lines])
                if value.ty.element().is_some() == (plain == "array_to_json")
                    && (plain == "array_to_json" || matches!(value.ty, Type::Record(_))) =>
            {
                let lines = self.operand(lines.clone(), &Type::Bool)?;
                let json = self.json_of(value.clone())?;
                self.with_let(json, |_, json| {
                    let apart = Bound::apply(Func::JsonLines, vec![json.clone()], JSON, position);
                    let never = Bound::apply(Func::IsNull, vec![lines.clone()], Type::Bool, position);
                    let whens = vec![(never, Bound::null(JSON, position)), (lines, apart)];
                    Ok(Bound::new(BoundKind::Case(whens, Box::new(json)), JSON, position))
                })
                .map(Some)
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
                        format!("The arguments of {name}() must consist of alternating keys and values.");
                    let error = Error::new(SqlState::INVALID_PARAMETER_VALUE, message);
                    return Err(error.with_hint(hint).at(position));
                }
                let mut parts = vec![text("{", position)];
                for (i, pair) in args.chunks(2).enumerate() {
                    if i > 0 {
                        parts.push(text(", ", position));
                    }
                    let at = 2 * i as i64 + 1;
                    let at = if name == plain { at } else { -at };
                    parts.extend(self.json_pair(at, &pair[0], &pair[1], position)?);
                }
                parts.push(text("}", position));
                concat(parts, JSON)
            }
            ("json_object", [pairs]) => {
                let pairs = self.operand(pairs.clone(), &Type::Array(Box::new(Type::Text)))?;
                Ok(Some(Bound::apply(Func::JsonObject, vec![pairs], JSON, position)))
            }
            ("json_object", [keys, values]) => {
                let texts = Type::Array(Box::new(Type::Text));
                let args = vec![self.operand(keys.clone(), &texts)?, self.operand(values.clone(), &texts)?];
                Ok(Some(Bound::apply(Func::JsonObjectOf, args, JSON, position)))
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
            (PAIR_AT, [at, key, value]) => {
                let at = self.operand(at.clone(), &Type::Int8)?;
                let key = self.output_text(key.clone())?;
                let key = Bound::apply(Func::JsonKey, vec![key, at], Type::Text, position);
                concat(vec![key, text(" : ", position), self.json_text(value.clone())?], Type::Text)
            }
            (EVEN, [count, at]) => {
                let two = Bound::constant(Datum::Int(2), Type::Int4, position);
                let rest = Bound::apply(Func::IntMod, vec![count.clone(), two], Type::Int4, position);
                let zero = Bound::constant(Datum::Int(0), Type::Int4, position);
                let even = Bound::apply(Func::IntEq, vec![rest, zero], Type::Bool, position);
                let at = self.operand(at.clone(), &Type::Int8)?;
                let null = Bound::null(Type::Text, position);
                let wrong = Bound::apply(Func::JsonKey, vec![null, at], Type::Text, position);
                let kind = BoundKind::Case(vec![(even, text("", position))], Box::new(wrong));
                Ok(Some(Bound::new(kind, Type::Text, position)))
            }
            // Of nothing there is nothing, not even what encloses it.
            (ENCLOSED, [open, inner, close]) => {
                let open = self.operand(open.clone(), &Type::Text)?;
                let close = self.operand(close.clone(), &Type::Text)?;
                let begun = Bound::apply(Func::TextConcat, vec![open, inner.clone()], Type::Text, position);
                Ok(Some(Bound::apply(Func::TextConcat, vec![begun, close], JSON, position)))
            }
            (MADE, [json]) => Ok(Some(made_jsonb(json.clone()))),
            _ => Ok(None),
        }
    }

    /// A key and its value; which argument of the call the key is, 0 for an aggregate's, negative for a jsonb's.
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
        if super::operators::is_string(&value.ty) {
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
