//! Arguments of built-in functions that have names and defaults: in their order, with those that are left out.

use planaria_syntax::ast::{Argument, Expr, ExprKind, FunctionCall};

/// The arguments of a call that are given, in the order of these names; `None` where they are not its own.
pub(super) fn given<const N: usize>(call: &FunctionCall, names: [&str; N]) -> Option<[Option<Expr>; N]> {
    let mut parts = [const { None }; N];
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
