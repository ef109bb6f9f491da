//! What PostgreSQL 15 has and Planaria has not, yet: functions, operators and types by name.
//!
//! "Does not exist" (42883, 42704) is said of what PostgreSQL does not know either; of the others it is said that they are
//! not supported (0A000), when a routine that names one is created, so that no handler ever sees it. The names were
//! taken from PostgreSQL by `data/regenerate.sh`.

use planaria_base::{Error, Type, oid};
use std::collections::HashMap;
use std::sync::LazyLock;

/// Lines of a kind, a name, and lists of types.
const NAMES: &str = include_str!("../../data/postgres_names.txt");

const HINT: &str = "docs/sql.md lists what is.";

/// Of a function that nobody is expected to call by name.
const INNER_HINT: &str = "Write the operator, cast, comparison or aggregate that it is part of.";

/// Kind and name, with the rest of the line.
static LINES: LazyLock<HashMap<(&str, &str), &str>> = LazyLock::new(|| {
    let line = |line: &'static str| {
        let (kind, rest) = line.split_once(' ')?;
        let (name, rest) = rest.split_once(' ').unwrap_or((rest, ""));
        Some(((kind, name), rest))
    };
    NAMES.lines().filter_map(line).collect()
});

/// 0A000 for a function that PostgreSQL would find for such arguments.
pub(super) fn function(name: &str, args: &[Type]) -> Option<Error> {
    let fits = |form: &str| {
        let (least, types) = form.split_once(':').unwrap_or((form, ""));
        let (least, many) = least.strip_suffix('*').map_or((least, false), |least| (least, true));
        let types: Vec<&str> = types.split(',').filter(|t| !t.is_empty()).collect();
        let least: usize = least.parse().unwrap_or(types.len());
        let enough = args.len() >= least && (many || args.len() <= types.len());
        // The last of many stands for each of the rest.
        enough
            && args.iter().enumerate().all(|(i, arg)| {
                let of_range = |to: &str| to == "anyrange" && matches!(arg, Type::Range(_));
                types
                    .get(i)
                    .or(types.last())
                    .is_some_and(|to| i >= types.len() || takes(to, arg) || of_range(to) || many)
            })
    };
    let has = |kind| LINES.get(&(kind, name)).is_some_and(|forms| forms.split(' ').any(fits));
    let hint = if has("function") { HINT } else { has("inner").then_some(INNER_HINT)? };
    let types: Vec<String> = args.iter().map(super::operators::base_name).collect();
    Some(Error::unsupported(format!("function {name}({}) is not supported yet", types.join(", ")), hint))
}

/// The same for an operator; `left` is none of a prefix operator.
pub(super) fn operator(symbol: &str, left: Option<&Type>, right: &Type) -> Option<Error> {
    let fits = |form: &str| {
        let (l, r) = form.split_once(',').unwrap_or(("", form));
        l.is_empty() == left.is_none() && left.is_none_or(|left| takes(l, left)) && takes(r, right)
    };
    let forms = LINES.get(&("operator", symbol))?;
    forms.split(' ').any(fits).then(|| {
        let left = left.map(|left| super::operators::base_name(left) + " ").unwrap_or_default();
        let right = super::operators::base_name(right);
        Error::unsupported(format!("operator {left}{symbol} {right} is not supported yet"), HINT)
    })
}

/// The same for a type.
pub(crate) fn named_type(name: &str) -> Option<Error> {
    let plain = name.strip_prefix('_').unwrap_or(name);
    LINES
        .contains_key(&("type", plain))
        .then(|| Error::unsupported(format!("type \"{name}\" is not supported yet"), HINT))
}

/// Whether PostgreSQL would pass a value of a type for a parameter without a cast being written.
fn takes(parameter: &str, arg: &Type) -> bool {
    let from = oid::name(arg);
    if *arg == Type::Unknown || from == parameter {
        return true;
    }
    match parameter {
        "any" | "anyelement" | "anycompatible" => true,
        "anynonarray" | "anycompatiblenonarray" => arg.element().is_none(),
        "anyarray" | "anycompatiblearray" => arg.element().is_some(),
        _ => {
            // Each is passed for those behind it.
            let chains: &[&[&str]] = &[
                &["int2", "int4", "int8", "numeric", "float4", "float8"],
                &["date", "timestamp", "timestamptz"],
                &["time", "timetz"],
                &["bpchar", "varchar", "text"],
                &["name", "text"],
                &["int2", "oid"],
                &["int4", "oid"],
                &["int8", "oid"],
            ];
            chains.iter().any(|chain| {
                let place = |name: &str| chain.iter().position(|t| *t == name);
                matches!((place(&from), place(parameter)), (Some(from), Some(to)) if from < to)
            })
        }
    }
}
