//! Functions and operators of `jsonpath`.
//!
//! Their last two arguments, variables and whether to be silent, may be left out or named; the operators are silent. Those
//! whose names end in `_tz` are also given when the transaction began, for times of day beside such with a zone.

use super::Lowerer;
use super::bound::{Bound, BoundKind};
use super::functions::ambiguous;
use super::resolve::{Choice, choose};
use super::types::unmodified;
use planaria_base::types::PackedType;
use planaria_base::{Datum, Result, Type};
use planaria_ir::{Draw, Func};
use planaria_syntax::ast::{Argument, Expr, ExprKind, FunctionCall};

pub(super) const JSONPATH: Type = Type::Packed(PackedType::JsonPath);

/// The function that lists what is found, and the same with time zones.
const LISTS: [&str; 2] = ["jsonb_path_query", "jsonb_path_query_tz"];

/// Whether a function is one of these and lists what is found.
pub(super) fn lists(name: &str) -> bool {
    LISTS.contains(&name)
}

/// The function of a name, what it answers, and whether it knows time zones.
fn function(name: &str) -> Option<(Func, Type, bool)> {
    let values = || Type::Array(Box::new(Type::Jsonb));
    Some(match name {
        "jsonb_path_exists" => (Func::JsonPathExists, Type::Bool, false),
        "jsonb_path_match" => (Func::JsonPathMatch, Type::Bool, false),
        "jsonb_path_query" => (Func::JsonPathValues, values(), false),
        "jsonb_path_query_array" => (Func::JsonPathArray, Type::Jsonb, false),
        "jsonb_path_query_first" => (Func::JsonPathFirst, Type::Jsonb, false),
        "jsonb_path_exists_tz" => (Func::JsonPathExistsTz, Type::Bool, true),
        "jsonb_path_match_tz" => (Func::JsonPathMatchTz, Type::Bool, true),
        "jsonb_path_query_tz" => (Func::JsonPathValuesTz, values(), true),
        "jsonb_path_query_array_tz" => (Func::JsonPathArrayTz, Type::Jsonb, true),
        "jsonb_path_query_first_tz" => (Func::JsonPathFirstTz, Type::Jsonb, true),
        _ => return None,
    })
}

/// The arguments of a call that names some, in their order; `None` where none is named, or where they are not its own.
pub(super) fn unnamed(name: &str, call: &FunctionCall, position: u32) -> Option<Vec<Argument>> {
    const PARTS: [&str; 4] = ["target", "path", "vars", "silent"];
    function(name)?;
    if call.variadic || call.args.iter().all(|arg| arg.name.is_none()) {
        return None;
    }
    let [target, path, vars, silent] = super::parts::given(call, PARTS)?;
    let literal = |kind| Expr { position, kind };
    let values = [
        target?,
        path?,
        vars.unwrap_or_else(|| literal(ExprKind::String("{}".to_owned()))),
        silent.unwrap_or_else(|| literal(ExprKind::Bool(false))),
    ];
    Some(super::parts::unnamed(values))
}

impl Lowerer<'_> {
    /// A call of such a function; `None` where the name is another's, or the arguments are.
    pub(super) fn bind_json_path(
        &mut self,
        name: &str,
        args: &[Bound],
        position: u32,
    ) -> Result<Option<Bound>> {
        let Some((func, ty, zoned)) = function(name) else { return Ok(None) };
        let all = [Type::Jsonb, JSONPATH, Type::Jsonb, Type::Bool];
        let Some(wanted) = all.get(..args.len()).filter(|wanted| wanted.len() >= 2) else { return Ok(None) };
        let types: Vec<Type> = args.iter().map(|a| unmodified(&a.ty)).collect();
        match choose(&[wanted.to_vec()], &types) {
            Choice::One(_) => {}
            Choice::None => return Ok(None),
            Choice::Ambiguous => return Err(ambiguous(name, &types, position)),
        }
        let mut bound = Vec::with_capacity(5);
        for (arg, ty) in args.iter().zip(wanted) {
            bound.push(self.operand(arg.clone(), ty)?);
        }
        bound.extend(rest(bound.len(), false, position));
        if zoned {
            let now = BoundKind::Draw(Draw::TransactionTimestamp);
            bound.push(Bound::new(now, Type::TimestampTz, position));
        }
        Ok(Some(Bound::apply(func, bound, ty, position)))
    }

    /// `@?` and `@@`.
    pub(super) fn json_path_operator(
        &mut self,
        func: Func,
        left: &Bound,
        right: &Bound,
        position: u32,
    ) -> Result<Bound> {
        let mut args =
            vec![self.operand(left.clone(), &Type::Jsonb)?, self.operand(right.clone(), &JSONPATH)?];
        args.extend(rest(2, true, position));
        Ok(Bound::apply(func, args, Type::Bool, position))
    }
}

/// The arguments behind those that are given.
fn rest(given: usize, silent: bool, position: u32) -> impl Iterator<Item = Bound> {
    let vars = Bound::constant(Datum::Jsonb("{}".to_owned()), Type::Jsonb, position);
    let silent = Bound::constant(Datum::Bool(silent), Type::Bool, position);
    [vars, silent].into_iter().skip(given.saturating_sub(2))
}
