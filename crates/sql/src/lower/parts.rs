//! Arguments of built-in functions that have names and defaults: in their order, with those that are left out.

use planaria_syntax::ast::{Argument, Expr, ExprKind, FunctionCall};

/// The arguments of a call that are given, in the order of these names; `None` where they are not its own.
pub(super) fn given<const N: usize>(call: &FunctionCall, names: [&str; N]) -> Option<[Option<Expr>; N]> {
    let mut parts = [const { None }; N];
    for (i, arg) in call.args.iter().enumerate() {
        let at = match &arg.name {
            Some(name) => names.iter().position(|part| part == name)?,
            None if call.args[..i].iter().any(|arg| arg.name.is_some()) => return None,
            None => i,
        };
        if parts.get(at)?.is_some() {
            return None;
        }
        parts[at] = Some(arg.value.clone());
    }
    Some(parts)
}

/// Expressions as arguments without names.
pub(super) fn unnamed(values: impl IntoIterator<Item = Expr>) -> Vec<Argument> {
    values.into_iter().map(|value| Argument { name: None, value }).collect()
}

/// The arguments of `make_interval` in their order; `None` where none is left out or named.
pub(super) fn of_interval(call: &FunctionCall, position: u32) -> Option<Vec<Argument>> {
    const PARTS: [&str; 7] = ["years", "months", "weeks", "days", "hours", "mins", "secs"];
    if call.args.len() == PARTS.len() && call.args.iter().all(|a| a.name.is_none()) || call.variadic {
        return None;
    }
    let zero = || Expr { position, kind: ExprKind::Integer("0".to_owned()) };
    Some(unnamed(given(call, PARTS)?.into_iter().map(|part| part.unwrap_or_else(zero))))
}

/// The names of the arguments of functions that have some, and what those are that may be left out.
fn names_of(name: &str) -> Option<(&'static [&'static str], &'static [ExprKind])> {
    const TRUE: &[ExprKind] = &[ExprKind::Bool(true)];
    // The treatment of NULL is filled in below.
    const LAX: &[ExprKind] = &[ExprKind::Bool(true), ExprKind::Null];
    const FALSE: &[ExprKind] = &[ExprKind::Bool(false)];
    Some(match name {
        "jsonb_set" => (&["jsonb_in", "path", "replacement", "create_if_missing"], TRUE),
        "jsonb_set_lax" => {
            (&["jsonb_in", "path", "replacement", "create_if_missing", "null_value_treatment"], LAX)
        }
        "jsonb_insert" => (&["jsonb_in", "path", "replacement", "insert_after"], FALSE),
        "json_populate_record" | "json_populate_recordset" => (&["base", "from_json"], &[]),
        "json_array_elements"
        | "jsonb_array_elements"
        | "json_array_elements_text"
        | "jsonb_array_elements_text"
        | "json_each"
        | "jsonb_each"
        | "json_each_text"
        | "jsonb_each_text" => (&["from_json"], &[]),
        "make_date" => (&["year", "month", "day"], &[]),
        "make_time" => (&["hour", "min", "sec"], &[]),
        "make_timestamp" => (&["year", "month", "mday", "hour", "min", "sec"], &[]),
        "parse_ident" => (&["str", "strict"], TRUE),
        _ => return None,
    })
}

/// The arguments of a call that names some, in the order of the function; `None` where it names none, or others.
pub(super) fn arguments_in_order(name: &str, call: &FunctionCall, position: u32) -> Option<Vec<Argument>> {
    if call.variadic || call.args.iter().all(|arg| arg.name.is_none()) {
        return None;
    }
    let zoned = ["year", "month", "mday", "hour", "min", "sec", "timezone"];
    let (names, defaults): (&[&str], &[ExprKind]) = match name {
        "make_timestamptz" => (&zoned[..call.args.len().clamp(6, 7)], &[]),
        _ => names_of(name)?,
    };
    let mut parts: Vec<Option<Expr>> = vec![None; names.len()];
    for (i, arg) in call.args.iter().enumerate() {
        let at = match &arg.name {
            Some(name) => names.iter().position(|part| part == name)?,
            None => i,
        };
        if parts.get(at)?.is_some() {
            return None;
        }
        parts[at] = Some(arg.value.clone());
    }
    let required = names.len() - defaults.len();
    let mut values = Vec::new();
    for (at, part) in parts.into_iter().enumerate() {
        values.push(match part {
            Some(value) => value,
            None if at < required => return None,
            // What NULL is treated as where nothing is said.
            None if names[at] == "null_value_treatment" => {
                Expr { position, kind: ExprKind::String("use_json_null".to_owned()) }
            }
            None => Expr { position, kind: defaults[at - required].clone() },
        });
    }
    Some(unnamed(values))
}
