//! What PostgreSQL's catalogs say of types, functions, operators and conversions, by name and OID.
//!
//! Most of it is in the rows of the system catalogs. `more.txt` has what PostgreSQL has besides and the engine does in its own
//! way: functions (`f`: name, result, type of variadic arguments, arguments) and operators (`o`: name, result, operands).

use planaria_base::Datum;
use planaria_base::oid::Oid;
use planaria_catalog::system::{self, SystemRelation};
use std::collections::HashMap;
use std::sync::LazyLock;

/// A line of `pg_type`.
pub(super) struct TypeLine {
    pub(super) category: char,
    pub(super) preferred: bool,
    /// What its elements are; 0 of anything but an array.
    pub(super) element: Oid,
    pub(super) array: Oid,
}

/// A line of `pg_proc`.
pub(super) struct FunctionLine {
    pub(super) result: Oid,
    pub(super) args: Vec<Oid>,
    /// The type of the elements of a VARIADIC last argument; 0: there is none.
    pub(super) variadic: Oid,
}

/// A line of `pg_operator`.
pub(super) struct OperatorLine {
    /// 0 of a prefix operator.
    pub(super) left: Oid,
    pub(super) right: Oid,
    pub(super) result: Oid,
}

/// A line of `pg_cast`.
#[derive(Clone, Copy)]
pub(super) struct CastLine {
    /// `i`, `a` or `e`.
    pub(super) context: char,
    /// `f`, `b` or `i`.
    pub(super) method: char,
}

struct Lines {
    relation: &'static SystemRelation,
}

impl Lines {
    fn of(name: &str) -> Lines {
        Lines { relation: system::unqualified(name).expect("a relation of the system") }
    }
    fn rows(&self) -> &'static [Vec<Datum>] {
        system::fixed_rows(self.relation.id)
    }
    fn column(&self, name: &str) -> usize {
        self.relation.column(name).expect("a column of it")
    }
}

fn number(value: &Datum) -> Oid {
    match value {
        Datum::Int(n) => *n as Oid,
        _ => 0,
    }
}

fn letter(value: &Datum) -> char {
    match value {
        Datum::Text(text) => text.chars().next().unwrap_or(' '),
        _ => ' ',
    }
}

fn text(value: &Datum) -> &str {
    match value {
        Datum::Text(text) => text,
        _ => "",
    }
}

/// The lines of `more.txt` of a kind: name and numbers.
fn more(kind: &str) -> impl Iterator<Item = (&'static str, Vec<Oid>)> {
    include_str!("more.txt").lines().filter_map(move |line| {
        let mut fields = line.split('\t');
        if fields.next() != Some(kind) {
            return None;
        }
        let name = fields.next()?;
        Some((name, fields.flat_map(str::split_whitespace).filter_map(|n| n.parse().ok()).collect()))
    })
}

static TYPES: LazyLock<HashMap<Oid, TypeLine>> = LazyLock::new(|| {
    let lines = Lines::of("pg_type");
    let [oid, category, preferred, subscript, element, array] =
        ["oid", "typcategory", "typispreferred", "typsubscript", "typelem", "typarray"]
            .map(|c| lines.column(c));
    // Of a type that is no array `typelem` is what a part of its bytes is.
    const ARRAY_SUBSCRIPTS: Oid = 6179;
    let line = |row: &Vec<Datum>| {
        let of_array = letter(&row[category]) == 'A' || number(&row[subscript]) == ARRAY_SUBSCRIPTS;
        let element = if of_array { number(&row[element]) } else { 0 };
        let preferred = row[preferred] == Datum::Bool(true);
        let line =
            TypeLine { category: letter(&row[category]), preferred, element, array: number(&row[array]) };
        (number(&row[oid]), line)
    };
    lines.rows().iter().map(line).collect()
});

static FUNCTIONS: LazyLock<HashMap<&'static str, Vec<FunctionLine>>> = LazyLock::new(|| {
    let lines = Lines::of("pg_proc");
    let [name, namespace, result, args, variadic] =
        ["proname", "pronamespace", "prorettype", "proargtypes", "provariadic"].map(|c| lines.column(c));
    let mut all: HashMap<&'static str, Vec<FunctionLine>> = HashMap::new();
    for row in lines.rows() {
        if number(&row[namespace]) != planaria_base::oid::PG_CATALOG {
            continue;
        }
        let types = match &row[args] {
            Datum::Array(types) => types.iter().map(number).collect(),
            _ => Vec::new(),
        };
        all.entry(text(&row[name])).or_default().push(FunctionLine {
            result: number(&row[result]),
            args: types,
            variadic: number(&row[variadic]),
        });
    }
    for (name, numbers) in more("f") {
        let [result, variadic, ref args @ ..] = numbers[..] else { continue };
        all.entry(name).or_default().push(FunctionLine { result, args: args.to_vec(), variadic });
    }
    all
});

static OPERATORS: LazyLock<HashMap<&'static str, Vec<OperatorLine>>> = LazyLock::new(|| {
    let lines = Lines::of("pg_operator");
    let [name, left, right, result] =
        ["oprname", "oprleft", "oprright", "oprresult"].map(|c| lines.column(c));
    let mut all: HashMap<&'static str, Vec<OperatorLine>> = HashMap::new();
    for row in lines.rows() {
        let line = OperatorLine {
            left: number(&row[left]),
            right: number(&row[right]),
            result: number(&row[result]),
        };
        all.entry(text(&row[name])).or_default().push(line);
    }
    for (name, numbers) in more("o") {
        let [result, left, right] = numbers[..] else { continue };
        all.entry(name).or_default().push(OperatorLine { left, right, result });
    }
    all
});

static CASTS: LazyLock<HashMap<(Oid, Oid), CastLine>> = LazyLock::new(|| {
    let lines = Lines::of("pg_cast");
    let [source, target, context, method] =
        ["castsource", "casttarget", "castcontext", "castmethod"].map(|c| lines.column(c));
    let line = |row: &Vec<Datum>| {
        let cast = CastLine { context: letter(&row[context]), method: letter(&row[method]) };
        ((number(&row[source]), number(&row[target])), cast)
    };
    lines.rows().iter().map(line).collect()
});

/// A type that every database has.
pub(super) fn type_line(oid: Oid) -> Option<&'static TypeLine> {
    TYPES.get(&oid)
}

/// Built-in functions of a name.
pub(super) fn functions(name: &str) -> &'static [FunctionLine] {
    FUNCTIONS.get(name).map_or(&[], Vec::as_slice)
}

/// Operators of a name.
pub(super) fn operators(name: &str) -> &'static [OperatorLine] {
    OPERATORS.get(name).map_or(&[], Vec::as_slice)
}

/// The conversion from one type to another.
pub(super) fn cast(source: Oid, target: Oid) -> Option<CastLine> {
    CASTS.get(&(source, target)).copied()
}
