//! Random scripts in the dialect that both engines speak.
//!
//! What the engines may answer differently and still be right is not generated: rows without an order
//! that counts, errors that depend on which row is looked at first, sums of floats in any order, updates of
//! unique columns row by row.

mod actions;
mod change;
mod expression;
mod grammar;
mod nested;
mod objects;
mod query;
mod routine;
mod sorts;
mod volatile;
mod written;

use crate::rng::Rng;
use crate::schema::{self, Table, Ty};
use crate::tree::{Node, text};
use routine::Routine;

/// What a script is about.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    /// Statements of all kinds, routines, transactions.
    Mixed,
    /// Referential actions.
    Actions,
    /// LATERAL, WITH, recursion, subqueries.
    Nested,
    /// How often volatile expressions are computed.
    Volatile,
    /// Partitions, triggers, policies, views, types.
    Objects,
    /// Expressions over all types, with values at their edges.
    Values,
    /// Definitions, and what the catalogs say of them.
    Definitions,
    /// Routines with all that PL/pgSQL has, triggers, changes of rows in all ways.
    Programs,
}

impl Kind {
    /// All of them, by their names.
    pub const ALL: &[(&str, Kind)] = &[
        ("mixed", Kind::Mixed),
        ("actions", Kind::Actions),
        ("nested", Kind::Nested),
        ("volatile", Kind::Volatile),
        ("objects", Kind::Objects),
        ("values", Kind::Values),
        ("definitions", Kind::Definitions),
        ("programs", Kind::Programs),
    ];
}

/// A statement of a script.
#[derive(Clone, Debug)]
pub struct Statement {
    /// Its text, in parts that can be left out.
    pub node: Node,
    /// Its rows come in an order that counts.
    pub ordered: bool,
}

/// Something that can be named in an expression.
#[derive(Clone, Debug)]
struct Name {
    text: String,
    ty: Ty,
}

/// A generator at work.
pub struct Generator {
    rng: Rng,
    tables: Vec<Table>,
    views: Vec<(String, Vec<Name>)>,
    routines: Vec<Routine>,
    /// Expressions may raise errors: where every row of a statement is computed whatever the plan.
    may_fail: bool,
    aliases: usize,
    /// Subqueries may have aggregates of the query around them.
    outer_aggregates: bool,
}

fn plain(node: Node) -> Statement {
    Statement { node, ordered: false }
}

/// The script of a case.
pub fn script(kind: Kind, seed: u64, case: u64) -> Vec<Statement> {
    let rng = Rng::new(seed, case);
    let mut all: Vec<Statement> = schema::USER_TYPES.iter().map(|t| plain(text(*t))).collect();
    all.extend(match kind {
        Kind::Mixed => mixed(rng),
        Kind::Actions => actions::script(rng),
        Kind::Nested => nested::script(rng),
        Kind::Volatile => volatile::script(rng),
        Kind::Objects => objects::script(rng),
        Kind::Values => written::values(rng),
        Kind::Definitions => written::definitions(rng),
        Kind::Programs => written::programs(rng),
    });
    all
}

fn mixed(mut rng: Rng) -> Vec<Statement> {
    let tables = schema::tables(&mut rng);
    let mut g = Generator::new(rng, tables);
    let mut all: Vec<Statement> = g.tables.iter().flat_map(|t| t.create.clone()).map(plain).collect();
    for _ in 0..g.rng.between(3, 7) {
        let insert = g.insert(true);
        all.push(insert);
    }
    if g.rng.chance(50) {
        let view = g.view();
        all.push(view);
    }
    for _ in 0..g.rng.between(0, 3) {
        let routine = g.routine();
        all.push(routine);
    }
    let mut open = false;
    for _ in 0..g.rng.between(12, 24) {
        if g.rng.chance(8) {
            let word = match (open, g.rng.below(5)) {
                (false, _) => "BEGIN",
                (true, 0 | 1) => "COMMIT",
                (true, 2) => "ROLLBACK",
                (true, 3) => "SAVEPOINT s",
                (true, _) => "ROLLBACK TO s",
            };
            open = open && !matches!(word, "COMMIT" | "ROLLBACK") || word == "BEGIN";
            all.push(plain(text(word)));
            continue;
        }
        let statement = g.statement();
        all.push(statement);
    }
    all.push(plain(text(if g.rng.chance(80) { "COMMIT" } else { "ROLLBACK" })));
    for table in &g.tables {
        all.push(plain(text(format!("SELECT * FROM {}", table.name))));
    }
    all
}

impl Generator {
    fn new(rng: Rng, tables: Vec<Table>) -> Generator {
        Generator {
            rng,
            tables,
            views: Vec::new(),
            routines: Vec::new(),
            may_fail: false,
            aliases: 0,
            outer_aggregates: false,
        }
    }

    fn statement(&mut self) -> Statement {
        match self.rng.below(100) {
            0..=44 => self.query(),
            45..=59 => self.insert(false),
            60..=74 => self.update(),
            75..=81 => self.delete(),
            _ if self.routines.is_empty() => self.query(),
            _ => self.call(),
        }
    }

    fn alias(&mut self, prefix: &str) -> String {
        self.aliases += 1;
        format!("{prefix}{}", self.aliases)
    }

    /// A table's columns, qualified.
    fn names(table: &Table, alias: &str) -> Vec<Name> {
        table.columns.iter().map(|c| Name { text: format!("{alias}.{}", c.name), ty: c.ty }).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seed_gives_the_same_script_again() {
        for (name, kind) in Kind::ALL {
            let render =
                |case| -> Vec<String> { script(*kind, 7, case).iter().map(|s| s.node.render()).collect() };
            for case in 0..50 {
                let first = render(case);
                assert_eq!(first, render(case), "{name} {case}");
                assert!(first.len() > 8, "{name} {case}: {first:?}");
            }
        }
    }
}
