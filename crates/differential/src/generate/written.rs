//! Scripts of three kinds that are written by grammars ([`super::grammar`]): values, definitions, programs.

use super::grammar::{Grammar, Writer};
use super::{Statement, plain};
use crate::rng::Rng;
use crate::tree::{Node, text};
use std::sync::LazyLock;

static VALUES: LazyLock<Grammar> = LazyLock::new(|| {
    Grammar::read(&[
        include_str!("grammars/values.txt"),
        include_str!("grammars/values_plain.txt"),
        include_str!("grammars/values_more.txt"),
    ])
});

static DEFINITIONS: LazyLock<Grammar> = LazyLock::new(|| {
    Grammar::read(&[include_str!("grammars/definitions.txt"), include_str!("grammars/definitions_shown.txt")])
});

static PROGRAMS: LazyLock<Grammar> =
    LazyLock::new(|| Grammar::read(&[include_str!("grammars/programs.txt")]));

/// What tables have at the end of a script of programs.
const AFTER: [&str; 7] = [
    "COMMIT",
    "SELECT * FROM acc",
    "SELECT * FROM item",
    "SELECT * FROM part",
    "SELECT what, v FROM log",
    "SELECT * FROM kept",
    "SELECT * FROM leak",
];

/// A query that says an order says it for all rows that it gives.
fn statement(node: Node) -> Statement {
    let said = node.render();
    Statement { ordered: said.starts_with("SELECT") && said.contains(" ORDER BY "), ..plain(node) }
}

fn script(make: impl FnOnce(&mut Writer<'_>) -> Vec<Node>, grammar: &Grammar, rng: Rng) -> Vec<Statement> {
    make(&mut grammar.writer(rng)).into_iter().map(statement).collect()
}

/// Expressions over all types.
pub(super) fn values(rng: Rng) -> Vec<Statement> {
    let make = |w: &mut Writer<'_>| {
        let mut all = w.statements("script", 2);
        (0..3).for_each(|_| all.extend(w.statements("insert", 3)));
        for _ in 0..w.rng.between(25, 40) {
            let depth = w.rng.between(2, 4) as usize;
            all.extend(w.statements("statement", depth));
        }
        all
    };
    script(make, &VALUES, rng)
}

/// Definitions, and what the catalogs say of them.
pub(super) fn definitions(rng: Rng) -> Vec<Statement> {
    let shown = DEFINITIONS.all("show");
    let make = |w: &mut Writer<'_>| {
        let mut all = w.statements("script", 3);
        for _ in 0..w.rng.between(12, 24) {
            all.extend(w.statements("statement", 4));
            if w.rng.chance(12) {
                all.push(text(w.rng.pick(shown)));
            }
        }
        all.extend(shown.iter().map(text));
        all
    };
    script(make, &DEFINITIONS, rng)
}

/// Routines, triggers, and statements that run them.
pub(super) fn programs(rng: Rng) -> Vec<Statement> {
    let make = |w: &mut Writer<'_>| {
        let mut all = w.statements("script", 3);
        all.extend(w.statements("parts", 1));
        for _ in 0..w.rng.between(4, 8) {
            all.extend(w.statements("make", 6));
        }
        for _ in 0..w.rng.between(10, 18) {
            all.extend(w.statements("statement", 5));
        }
        all.extend(AFTER.map(text));
        all
    };
    script(make, &PROGRAMS, rng)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn grammars_have_no_loose_ends() {
        let nothing = Vec::<String>::new();
        assert_eq!(VALUES.loose_ends(&["script", "insert", "statement"]), nothing);
        assert_eq!(DEFINITIONS.loose_ends(&["script", "statement", "show"]), nothing);
        assert_eq!(PROGRAMS.loose_ends(&["script", "parts", "make", "statement"]), nothing);
    }
}
