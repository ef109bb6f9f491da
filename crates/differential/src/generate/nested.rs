//! Queries in queries: LATERAL, WITH, recursion and subqueries, which read columns of those around them.

use super::{Generator, Name, Statement, plain};
use crate::rng::Rng;
use crate::schema::{Column, Table, Ty};
use crate::tree::{self, Node, expr, list, opt, seq, text};

/// A query of WITH that can be read.
#[derive(Clone, Debug)]
struct Common {
    name: String,
    types: Vec<Ty>,
}

/// What a query sees from outside.
#[derive(Clone, Debug, Default)]
struct Scope {
    outer: Vec<Name>,
    commons: Vec<Common>,
}

impl Scope {
    /// As seen by what stands inside a query that has these names.
    fn within(&self, names: &[Name]) -> Scope {
        let mut scope = self.clone();
        scope.outer.extend(names.iter().cloned());
        scope
    }
}

/// Something to select from: its text, and the names that it gives.
struct Source {
    node: Node,
    names: Vec<Name>,
}

/// Types of columns that queries hand on.
const TYPES: &[Ty] = &[Ty::Int4, Ty::Int4, Ty::Int4, Ty::Text, Ty::Text, Ty::Bool, Ty::Numeric];

const TABLES: &[(&str, &str, &[(&str, Ty)])] = &[
    (
        "r0",
        "id integer PRIMARY KEY, a integer, b integer, c text, d numeric(6,2)",
        &[("id", Ty::Int4), ("a", Ty::Int4), ("b", Ty::Int4), ("c", Ty::Text), ("d", Ty::Numeric)],
    ),
    (
        "r1",
        "id integer PRIMARY KEY, a integer, c text",
        &[("id", Ty::Int4), ("a", Ty::Int4), ("c", Ty::Text)],
    ),
    ("r2", "a integer, b integer, c text", &[("a", Ty::Int4), ("b", Ty::Int4), ("c", Ty::Text)]),
];

/// The script of a case.
pub(super) fn script(rng: Rng) -> Vec<Statement> {
    let tables = TABLES.iter().map(|(name, _, columns)| table(name, columns)).collect();
    let mut g = Generator::new(rng, tables);
    g.outer_aggregates = g.rng.chance(15);
    let mut all: Vec<Statement> = Vec::new();
    for (n, (name, definition, _)) in TABLES.iter().enumerate() {
        all.push(plain(text(format!("CREATE TABLE {name} ({definition})"))));
        if g.rng.chance(35) {
            all.push(plain(text(format!("CREATE INDEX ON {name} (a)"))));
        }
        let rows = g.rows(n);
        all.push(plain(text(format!("INSERT INTO {name} VALUES {rows}"))));
    }
    if g.rng.chance(35) {
        let (node, types) = g.nested(&Scope::default(), 2, None);
        let columns: Vec<String> = (0..types.len()).map(|i| format!("x{i}")).collect();
        all.push(plain(seq([text(format!("CREATE VIEW v ({}) AS ", columns.join(", "))), node])));
        let names = types.iter().zip(columns).map(|(ty, text)| Name { text, ty: *ty }).collect();
        g.views.push(("v".to_owned(), names));
    }
    for _ in 0..g.rng.between(6, 12) {
        let statement = if g.rng.chance(86) { g.nested_query() } else { plain(g.nested_change()) };
        all.push(statement);
    }
    all.extend(TABLES.iter().map(|(name, ..)| plain(text(format!("SELECT * FROM {name}")))));
    all
}

fn table(name: &str, columns: &[(&str, Ty)]) -> Table {
    let column = |(name, ty): &(&str, Ty)| Column {
        name: (*name).to_owned(),
        ty: *ty,
        optional: true,
        serial: false,
        key: *name == "id",
    };
    Table {
        name: name.to_owned(),
        columns: columns.iter().map(column).collect(),
        id: None,
        primary: Vec::new(),
        create: Vec::new(),
    }
}

/// Names of columns of a query.
fn columns(alias: &str, types: &[Ty]) -> (String, Vec<Name>) {
    let all: Vec<String> = (0..types.len()).map(|i| format!("x{i}")).collect();
    let names =
        types.iter().zip(&all).map(|(ty, c)| Name { text: format!("{alias}.{c}"), ty: *ty }).collect();
    (all.join(", "), names)
}

/// `ORDER BY` all columns.
fn total(columns: usize) -> String {
    let all: Vec<String> = (1..=columns).map(|i| i.to_string()).collect();
    format!(" ORDER BY {}", all.join(", "))
}

/// Text and numeric come in lengths, and recursion wants the same type of both.
fn exact(ty: Ty, node: Node) -> Node {
    match ty {
        Ty::Text => expr(ty, [text("("), node, text(")::text")]),
        // Of equal numbers, the one that is kept shows its scale.
        Ty::Numeric => expr(ty, [text("("), node, text(")::numeric(30,2)")]),
        _ => node,
    }
}

impl Generator {
    fn rows(&mut self, table: usize) -> String {
        let mut rows = Vec::new();
        for id in 1..=self.rng.between(2, 5) {
            let cells: Vec<String> = TABLES[table]
                .2
                .iter()
                .map(|(name, ty)| match ty {
                    _ if *name == "id" => id.to_string(),
                    _ if self.rng.chance(15) => "NULL".to_owned(),
                    Ty::Text => (*self.rng.pick(&["'a'", "'b'", "'abc'", "''", "'x y'"])).to_owned(),
                    Ty::Numeric => (*self.rng.pick(&["1.50", "2", "-0.25", "3.10"])).to_owned(),
                    _ => self.rng.between(0, 4).to_string(),
                })
                .collect();
            rows.push(format!("({})", cells.join(", ")));
        }
        rows.join(", ")
    }

    fn nested_query(&mut self) -> Statement {
        let depth = *self.rng.pick(&[1, 2, 2, 3]);
        let (node, types) = self.nested(&Scope::default(), depth, None);
        if !self.rng.chance(35) {
            return plain(node);
        }
        let mut parts = vec![text("SELECT * FROM ("), node, text(") AS z"), text(total(types.len()))];
        if self.rng.chance(50) {
            let limit = match self.rng.chance(25) {
                true => format!(" LIMIT (SELECT count(*) FROM {})", TABLES[self.rng.below(3)].0),
                false => format!(" OFFSET {} LIMIT {}", self.rng.below(2), self.rng.below(5)),
            };
            parts.push(opt(text(limit)));
        }
        Statement { node: seq(parts), ordered: true }
    }

    fn nested_change(&mut self) -> Node {
        let alias = self.alias("c");
        let names = Self::names(&self.tables[0], &alias);
        let scope = Scope::default().within(&names);
        match self.rng.below(4) {
            0 => {
                let (node, _) = self.nested(&Scope::default(), 2, Some(&[Ty::Int4, Ty::Int4, Ty::Text]));
                seq([text("INSERT INTO r2 SELECT * FROM ("), node, text(") AS z ORDER BY 1, 2, 3 LIMIT 3")])
            }
            1 => {
                let value = self.scalar(&scope, &names, Ty::Int4, 2);
                let filter = self.test(&scope, &names, 2);
                seq([
                    text(format!("UPDATE r0 AS {alias} SET b = ")),
                    value,
                    opt(seq([text(" WHERE "), filter])),
                ])
            }
            2 => {
                let filter = self.test(&scope, &names, 2);
                seq([text(format!("DELETE FROM r0 AS {alias} WHERE ")), filter, text(" RETURNING *")])
            }
            _ => {
                let name = self.alias("w");
                let (node, types) = self.nested(&Scope::default(), 2, Some(&[Ty::Int4]));
                let (columns, _) = columns(&name, &types);
                let head = format!("WITH {name} ({columns}) AS (");
                let tail = format!(
                    ") UPDATE r1 AS {alias} SET a = 3 WHERE EXISTS (SELECT FROM {name} WHERE x0 = {alias}.id)"
                );
                seq([text(head), node, text(tail)])
            }
        }
    }

    /// A query, and the types of its columns (those of `wanted`, if given).
    fn nested(&mut self, scope: &Scope, depth: usize, wanted: Option<&[Ty]>) -> (Node, Vec<Ty>) {
        let types: Vec<Ty> = match wanted {
            Some(types) => types.to_vec(),
            None => (0..self.rng.between(1, 3)).map(|_| *self.rng.pick(TYPES)).collect(),
        };
        let node = match self.rng.below(100) {
            0..=27 if depth > 0 => self.with(scope, depth, &types),
            28..=40 if depth > 0 => self.both(scope, depth, &types),
            41..=46 => {
                let rows = (0..self.rng.between(1, 3)).map(|_| {
                    let row = self.items(&scope.outer, &types);
                    seq([text("("), row, text(")")])
                });
                let rows = rows.collect();
                seq([text("VALUES "), list(rows, 1)])
            }
            47..=50 => {
                let row = self.items(&scope.outer, &types);
                let filter = match scope.outer.is_empty() {
                    true => text(""),
                    false => opt(seq([text(" WHERE "), self.condition(&scope.outer, 1)])),
                };
                seq([text("SELECT "), row, filter])
            }
            51..=60 => self.groups(scope, depth, &types),
            61..=65 => self.first_of(scope, depth, &types),
            _ => self.plain_select(scope, depth, &types),
        };
        (tree::query(&types, node), types)
    }

    fn items(&mut self, names: &[Name], types: &[Ty]) -> Node {
        let mut items = Vec::new();
        for ty in types {
            // Bare columns of any level, mostly.
            let fit: Vec<&Name> = names.iter().filter(|n| n.ty == *ty).collect();
            if !fit.is_empty() && self.rng.chance(60) {
                let node = expr(*ty, [text(self.rng.pick(&fit).text.clone())]);
                items.push(if *ty == Ty::Numeric { exact(*ty, node) } else { node });
                continue;
            }
            let node = self.expression(*ty, names, 1);
            items.push(exact(*ty, node));
        }
        let min = items.len();
        list(items, min)
    }

    fn plain_select(&mut self, scope: &Scope, depth: usize, types: &[Ty]) -> Node {
        let from = self.joined(scope, depth);
        let mut all = scope.outer.clone();
        all.extend(from.names.iter().cloned());
        let inside = scope.within(&from.names);
        let mut items = Vec::new();
        for ty in types {
            items.push(match self.rng.below(10) {
                0 if depth > 0 => exact(*ty, self.scalar(&inside, &from.names, *ty, depth)),
                1 if *ty == Ty::Bool && depth > 0 => self.test(&inside, &from.names, depth),
                2 if *ty == Ty::Int4 => expr(Ty::Int4, [self.over(&from.names), text("::integer")]),
                3..=5 => self.items(&scope.outer, &[*ty]),
                6 | 7 => self.items(&from.names, &[*ty]),
                _ => self.items(&all, &[*ty]),
            });
        }
        let min = items.len();
        let distinct = if self.rng.chance(10) { opt(text("DISTINCT ")) } else { text("") };
        let filter = self.filtered(&inside, &from.names, depth);
        let node = seq([text("SELECT "), distinct, list(items, min), text(" FROM "), from.node, filter]);
        if !self.rng.chance(12) {
            return node;
        }
        let limit = format!("{} LIMIT {}", total(types.len()), self.rng.between(1, 3));
        seq([text("("), node, opt(text(limit)), text(")")])
    }

    fn filtered(&mut self, inside: &Scope, own: &[Name], depth: usize) -> Node {
        match self.rng.chance(50) {
            true => opt(seq([text(" WHERE "), self.test(inside, own, depth)])),
            false => text(""),
        }
    }

    /// A window function whose values do not depend on the order of equal rows.
    fn over(&mut self, names: &[Name]) -> Node {
        let (a, b) = (self.rng.pick(names).text.clone(), self.rng.pick(names).text.clone());
        let forms = [
            format!("count(*) OVER (PARTITION BY {a})"),
            format!("rank() OVER (PARTITION BY {a} ORDER BY {b})"),
            format!("dense_rank() OVER (ORDER BY {a} DESC)"),
            format!("count({b}) OVER (ORDER BY {a})"),
            format!("(row_number() OVER (PARTITION BY {a} ORDER BY {b}) * 0)"),
            format!("count({a}) OVER (ORDER BY {b} GROUPS BETWEEN 1 PRECEDING AND CURRENT ROW)"),
            format!("count({a}) OVER (ORDER BY {b} DESC GROUPS BETWEEN 2 FOLLOWING AND UNBOUNDED FOLLOWING)"),
            format!(
                "count(*) OVER (PARTITION BY {a} ORDER BY {b} ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING)"
            ),
        ];
        text(self.rng.pick(&forms).clone())
    }

    /// Aggregates, of columns around the query too: those whose arguments are all from there are computed there.
    fn groups(&mut self, scope: &Scope, depth: usize, types: &[Ty]) -> Node {
        let from = self.joined(scope, depth.min(1));
        let mut keys: Vec<Name> = Vec::new();
        for _ in 0..self.rng.below(3) {
            let key = self.rng.pick(&from.names).clone();
            if !keys.iter().any(|k| k.text == key.text) {
                keys.push(key);
            }
        }
        let mut seen = scope.outer.clone();
        seen.extend(keys.iter().cloned());
        let mut items = Vec::new();
        for ty in types {
            let node = match self.rng.below(10) {
                0 | 1 => self.items(&seen, &[*ty]),
                2 if depth > 0 => self.scalar(&scope.within(&keys), &keys, *ty, 1),
                3..=5 if depth > 0 && self.outer_aggregates => self.of_outer(&from.names, *ty),
                _ => self.total_of(&from.names, &scope.outer, *ty),
            };
            items.push(exact(*ty, node));
        }
        let min = items.len();
        let filter = self.filtered(&scope.within(&from.names), &from.names, depth.min(1));
        let group: Vec<&str> = keys.iter().map(|k| k.text.as_str()).collect();
        let group = if keys.is_empty() { String::new() } else { format!(" GROUP BY {}", group.join(", ")) };
        let having = match self.rng.below(8) {
            0 => {
                let value = self.total_of(&from.names, &scope.outer, Ty::Int4);
                opt(seq([text(" HAVING "), value, text(format!(" < {}", self.rng.between(1, 5)))]))
            }
            1 if self.outer_aggregates => {
                let value = self.of_outer(&from.names, Ty::Int4);
                opt(seq([text(" HAVING "), value, text(" IS NOT NULL")]))
            }
            _ => text(""),
        };
        seq([text("SELECT "), list(items, min), text(" FROM "), from.node, filter, text(group), having])
    }

    /// An aggregate over a query's own rows.
    fn total_of(&mut self, own: &[Name], outer: &[Name], ty: Ty) -> Node {
        let ints: Vec<&Name> = own.iter().filter(|n| n.ty == Ty::Int4).collect();
        let mut all = own.to_vec();
        all.extend(outer.iter().cloned());
        // With a column of its own it is this query's, whatever else is in it.
        let arg = match ints.is_empty() {
            true => format!("({} IS NULL)::integer", self.rng.pick(own).text),
            false => self.rng.pick(&ints).text.clone(),
        };
        let more = self.expression(Ty::Int4, &all, 1);
        let sum = |f: &str| [text(format!("{f}({arg} + ")), more.clone(), text(")")];
        match ty {
            Ty::Bool => expr(ty, [text("bool_or("), seq(sum("")), text(" > 2)")]),
            Ty::Text => expr(ty, [text("max("), seq(sum("")), text(")::text")]),
            Ty::Numeric => expr(ty, [text("round("), seq(sum("avg")), text(", 2)")]),
            _ => {
                let f = *self.rng.pick(&["sum", "count", "min", "max"]);
                expr(Ty::Int4, [seq(sum(f)), text("::integer")])
            }
        }
    }

    /// A subquery with an aggregate that belongs to the query around it.
    fn of_outer(&mut self, own: &[Name], ty: Ty) -> Node {
        let name = self.rng.pick(own).clone();
        let (column, alias) = (name.text, self.alias("i"));
        let call = match self.rng.below(3) {
            0 => format!("count(DISTINCT {column})"),
            1 if name.ty != Ty::Bool => format!("max({column})"),
            _ => format!("count({column})"),
        };
        let value = match ty {
            Ty::Bool => format!("{call} IS NOT NULL"),
            Ty::Text => format!("{call}::text"),
            _ => format!("count({column})"),
        };
        let cast = ty.name();
        let n = self.rng.between(1, 3);
        let form = match self.rng.below(5) {
            0 => format!("(SELECT ({value})::{cast})"),
            1 => format!("(SELECT ({value})::{cast} FROM r1 {alias} WHERE {alias}.id = {n})"),
            2 => format!(
                "(SELECT (SELECT ({value})::{cast} FROM r0 {alias}2 LIMIT 1) FROM r1 {alias} LIMIT 1)"
            ),
            3 if ty == Ty::Bool => {
                format!("EXISTS (SELECT FROM r1 {alias} WHERE {alias}.id <= count({column}))")
            }
            3 if ty == Ty::Int4 => {
                format!("(SELECT count({column}) + count({alias}.a) FROM r1 {alias})::integer")
            }
            _ => format!("(SELECT ({value})::{cast} FROM r1 {alias} ORDER BY {alias}.id LIMIT 1)"),
        };
        expr(ty, [text(form)])
    }

    fn first_of(&mut self, scope: &Scope, depth: usize, types: &[Ty]) -> Node {
        let from = self.joined(scope, depth.min(1));
        let mut all = scope.outer.clone();
        all.extend(from.names.iter().cloned());
        let items = self.items(&all, types);
        let filter = self.filtered(&scope.within(&from.names), &from.names, depth.min(1));
        let count = self.rng.between(1, types.len() as i64) as usize;
        let on: Vec<String> = (1..=count).map(|i| i.to_string()).collect();
        let head = format!("(SELECT DISTINCT ON ({}) ", on.join(", "));
        let tail = format!("{})", total(types.len()));
        seq([text(head), items, text(" FROM "), from.node, filter, text(tail)])
    }

    fn both(&mut self, scope: &Scope, depth: usize, types: &[Ty]) -> Node {
        let (left, _) = self.nested(scope, depth - 1, Some(types));
        let (right, _) = self.nested(scope, depth - 1, Some(types));
        let op = *self.rng.pick(&["UNION", "UNION ALL", "UNION ALL", "EXCEPT", "INTERSECT", "EXCEPT ALL"]);
        seq([text("(("), left, text(format!(") {op} (")), right, text("))")])
    }

    /// A subquery of one row.
    fn scalar(&mut self, inside: &Scope, own: &[Name], ty: Ty, depth: usize) -> Node {
        let (node, _) = self.nested(inside, depth.saturating_sub(1), Some(&[ty]));
        let alias = self.alias("q");
        let value = match self.rng.below(4) {
            0 if ty == Ty::Int4 => format!("(SELECT count({alias}.x0)::integer FROM ("),
            1 if matches!(ty, Ty::Int4 | Ty::Text | Ty::Numeric) => format!("(SELECT max({alias}.x0) FROM ("),
            _ => format!("(SELECT {alias}.x0 FROM ("),
        };
        let single = value.contains("(SELECT q");
        let tail = format!(") AS {alias} (x0){})", if single { " ORDER BY 1 LIMIT 1" } else { "" });
        let filter = match !own.is_empty() && self.rng.chance(10) {
            true => {
                let condition = self.condition(own, 1);
                seq([text(format!(") AS {alias} (x0) WHERE ")), condition])
            }
            false => return expr(ty, [text(value), node, text(tail)]),
        };
        let end = if single { " ORDER BY 1 LIMIT 1)" } else { ")" };
        expr(ty, [text(value), node, filter, text(end)])
    }

    /// A condition, perhaps with a subquery.
    fn test(&mut self, inside: &Scope, own: &[Name], depth: usize) -> Node {
        let near = if own.is_empty() || self.rng.chance(30) { inside.outer.clone() } else { own.to_vec() };
        if depth == 0 || self.rng.chance(50) {
            return self.condition(&near, 1);
        }
        match self.rng.below(3) {
            0 => {
                let (node, _) = self.nested(inside, depth - 1, None);
                let not = *self.rng.pick(&["", "NOT "]);
                expr(Ty::Bool, [text(format!("{not}EXISTS (")), node, text(")")])
            }
            1 => {
                let ty = *self.rng.pick(TYPES);
                let left = self.expression(ty, &near, 1);
                let (node, _) = self.nested(inside, depth - 1, Some(&[ty]));
                let word = *self.rng.pick(&["IN", "NOT IN", "= ANY", "< ALL", "<> ALL", ">= ANY"]);
                expr(Ty::Bool, [text("("), left, text(format!(" {word} (")), node, text("))")])
            }
            _ => {
                let left = self.expression(Ty::Int4, &near, 1);
                let right = self.scalar(inside, own, Ty::Int4, depth);
                expr(Ty::Bool, [text("("), left, text(" <= "), right, text(")")])
            }
        }
    }

    /// FROM: one source or more, each of which may read those to its left where it is LATERAL.
    fn joined(&mut self, scope: &Scope, depth: usize) -> Source {
        let mut from = self.single(scope, depth);
        for _ in 0..[0, 1, 1, 1, 2][self.rng.below(5)] {
            if depth > 0 && self.rng.chance(55) {
                self.join_lateral(scope, &mut from, depth);
                continue;
            }
            let right = self.single(scope, depth.saturating_sub(1));
            let pairs: Vec<(String, String)> = from
                .names
                .iter()
                .flat_map(|a| {
                    right.names.iter().filter(|b| b.ty == a.ty).map(|b| (a.text.clone(), b.text.clone()))
                })
                .collect();
            if pairs.is_empty() {
                continue;
            }
            let (a, b) = self.rng.pick(&pairs).clone();
            let kind = *self.rng.pick(&["JOIN", "LEFT JOIN", "LEFT JOIN", "RIGHT JOIN", "FULL JOIN"]);
            let mut on = vec![text(format!(" ON {a} = {b}"))];
            if kind != "FULL JOIN" && self.rng.chance(25) {
                let mut all = scope.outer.clone();
                all.extend(from.names.iter().chain(&right.names).cloned());
                on.push(opt(seq([text(" AND "), self.condition(&all, 1)])));
            }
            from.node = seq([from.node, opt(seq([text(format!(" {kind} ")), right.node, seq(on)]))]);
            from.names.extend(right.names);
        }
        from
    }

    fn join_lateral(&mut self, scope: &Scope, from: &mut Source, depth: usize) {
        let inside = scope.within(&from.names);
        if self.rng.chance(15) {
            let alias = self.alias("g");
            let ints: Vec<&Name> = inside.outer.iter().filter(|n| n.ty == Ty::Int4).collect();
            let to = if ints.is_empty() { "2".to_owned() } else { self.rng.pick(&ints).text.clone() };
            let call = match self.rng.chance(60) {
                true => format!("generate_series(1, least({to}, 3))"),
                false => format!("unnest(ARRAY[{to}, 7])"),
            };
            let (join, on) = *self.rng.pick(&[(" CROSS JOIN ", ""), (" LEFT JOIN ", " ON true")]);
            let node = text(format!("{join}LATERAL {call} AS {alias} (x0){on}"));
            from.node = seq([std::mem::replace(&mut from.node, text("")), opt(node)]);
            from.names.push(Name { text: format!("{alias}.x0"), ty: Ty::Int4 });
            return;
        }
        let (node, types) = match depth > 1 && self.rng.chance(25) {
            true => {
                let types = [*self.rng.pick(TYPES), *self.rng.pick(TYPES)];
                (tree::query(&types, self.with(&inside, depth - 1, &types)), types.to_vec())
            }
            false => self.nested(&inside, depth - 1, None),
        };
        let alias = self.alias("l");
        let (columns, names) = columns(&alias, &types);
        let kind = *self.rng.pick(&["LEFT JOIN", "LEFT JOIN", "JOIN", "CROSS JOIN"]);
        let on = match kind {
            "CROSS JOIN" => text(""),
            _ if self.rng.chance(50) => text(" ON true"),
            _ => {
                let mut all = from.names.clone();
                all.extend(names.iter().cloned());
                seq([text(" ON "), self.condition(&all, 1)])
            }
        };
        let (head, tail) = (format!(" {kind} LATERAL ("), format!(") AS {alias} ({columns})"));
        let before = std::mem::replace(&mut from.node, text(""));
        from.node = seq([before, opt(seq([text(head), node, text(tail), on]))]);
        from.names.extend(names);
    }

    fn single(&mut self, scope: &Scope, depth: usize) -> Source {
        let alias = self.alias("a");
        if !scope.commons.is_empty() && self.rng.chance(60) {
            let common = self.rng.pick(&scope.commons).clone();
            let (columns, names) = columns(&alias, &common.types);
            return Source { node: text(format!("{} AS {alias} ({columns})", common.name)), names };
        }
        if depth > 0 && self.rng.chance(20) {
            let (node, types) = self.nested(scope, depth - 1, None);
            let (columns, names) = columns(&alias, &types);
            return Source { node: seq([text("("), node, text(format!(") AS {alias} ({columns})"))]), names };
        }
        if !self.views.is_empty() && self.rng.chance(12) {
            let (view, columns) = self.views[0].clone();
            let names =
                columns.iter().map(|n| Name { text: format!("{alias}.{}", n.text), ty: n.ty }).collect();
            return Source { node: text(format!("{view} AS {alias}")), names };
        }
        let table = self.rng.pick(&self.tables).clone();
        Source { node: text(format!("{} AS {alias}", table.name)), names: Self::names(&table, &alias) }
    }

    /// `WITH ..` and a query that reads it, once or more often.
    fn with(&mut self, scope: &Scope, depth: usize, types: &[Ty]) -> Node {
        let mut scope = scope.clone();
        let mut definitions = Vec::new();
        let mut recursive = false;
        for _ in 0..[1, 1, 2, 3][self.rng.below(4)] {
            if self.rng.chance(40) {
                recursive = true;
                definitions.push(self.recursive(&mut scope, depth));
                continue;
            }
            let (node, types) = match self.rng.chance(25) {
                true => {
                    let types = [*self.rng.pick(TYPES), *self.rng.pick(TYPES)];
                    (tree::query(&types, self.both(&scope, depth, &types)), types.to_vec())
                }
                false => self.nested(&scope, depth - 1, None),
            };
            let name = self.alias("w");
            let (columns, _) = columns("", &types);
            let kept = *self.rng.pick(&["", "", "MATERIALIZED ", "NOT MATERIALIZED "]);
            definitions.push(seq([
                text(format!("{name} ({columns}) AS ")),
                opt(text(kept)),
                text("("),
                node,
                text(")"),
            ]));
            scope.commons.push(Common { name, types });
        }
        let body = self.plain_select(&scope, depth - 1, types);
        let body = tree::query(types, body);
        let word = if recursive { "WITH RECURSIVE " } else { "WITH " };
        seq([text("("), text(word), list(definitions, 1), text(" "), body, text(")")])
    }

    /// A recursive query: it counts in its first column, and ends.
    fn recursive(&mut self, scope: &mut Scope, depth: usize) -> Node {
        let name = self.alias("w");
        let more: Vec<Ty> = (0..self.rng.below(3)).map(|_| *self.rng.pick(TYPES)).collect();
        let mut types = vec![Ty::Int4];
        types.extend(&more);
        let first = match self.rng.below(3) {
            0 if !more.is_empty() => {
                let (node, _) = self.nested(scope, depth - 1, Some(&more));
                let (columns, _) = columns("", &more);
                let head = text(format!("(SELECT 1, {columns} FROM ("));
                seq([head, node, text(format!(") AS z ({columns}){} LIMIT 2)", total(more.len() + 1)))])
            }
            _ => {
                let rows = (0..self.rng.between(1, 2)).map(|n| {
                    let mut row = vec![text(format!("({n}"))];
                    if !more.is_empty() {
                        row.extend([text(", "), self.items(&scope.outer, &more)]);
                    }
                    row.push(text(")"));
                    seq(row)
                });
                let rows = rows.collect();
                seq([text("VALUES "), list(rows, 1)])
            }
        };
        let own = Common { name: name.clone(), types: types.clone() };
        let again = self.again(scope, &own, &more, depth);
        let op = *self.rng.pick(&["UNION ALL", "UNION ALL", "UNION"]);
        let (columns, _) = columns("", &types);
        scope.commons.push(own);
        seq([text(format!("{name} ({columns}) AS (")), first, text(format!(" {op} ")), again, text(")")])
    }

    /// A recursive term.
    fn again(&mut self, scope: &Scope, own: &Common, more: &[Ty], depth: usize) -> Node {
        let alias = self.alias("r");
        let (all, names) = columns(&alias, &own.types);
        let base = format!("{} AS {alias} ({all})", own.name);
        let to = self.rng.between(2, 3);
        let stop = format!(" WHERE {alias}.x0 < {to}");
        let inside = scope.within(&names);
        let mut seen = scope.outer.clone();
        seen.extend(names.iter().cloned());
        let items = |g: &mut Self, seen: &[Name]| match more.is_empty() {
            true => text(""),
            false => seq([text(", "), g.items(seen, more)]),
        };
        let head = format!("SELECT {alias}.x0 + 1");
        match self.rng.below(8) {
            0 => {
                let items = items(self, &seen);
                seq([text(head), items, text(format!(" FROM {base}{stop}"))])
            }
            1 => {
                let right = self.single(scope, 0);
                let on = self.rng.pick(&right.names).clone();
                seen.extend(right.names.iter().cloned());
                let items = items(self, &seen);
                let on = match on.ty {
                    Ty::Int4 => format!("{} = {alias}.x0", on.text),
                    _ => format!("{} IS NULL", on.text),
                };
                seq([
                    text(head),
                    items,
                    text(format!(" FROM {base} JOIN ")),
                    right.node,
                    text(format!(" ON {on}{stop}")),
                ])
            }
            2 | 3 if depth > 0 => {
                let (node, types) = self.nested(&inside, depth - 1, None);
                let l = self.alias("l");
                let (columns, names) = columns(&l, &types);
                seen.extend(names);
                let items = items(self, &seen);
                let join = *self.rng.pick(&["CROSS JOIN LATERAL", "LEFT JOIN LATERAL"]);
                let on = if join.starts_with("LEFT") { " ON true" } else { "" };
                seq([
                    text(head),
                    items,
                    text(format!(" FROM {base} {join} (SELECT * FROM (")),
                    node,
                    text(format!(") AS z{} LIMIT 2) AS {l} ({columns}){on}{stop}", total(types.len()))),
                ])
            }
            4..=6 => self.again_with(scope, own, more, &base, &stop, &alias),
            _ if depth > 0 => {
                let items = items(self, &seen);
                let filter = self.test(&inside, &names, depth - 1);
                seq([text(head), items, text(format!(" FROM {base}{stop} AND ")), filter])
            }
            _ => {
                let items = items(self, &seen);
                seq([text(head), items, text(format!(" FROM {base}{stop}"))])
            }
        }
    }

    /// A recursive term with a WITH of its own, read once or twice.
    fn again_with(
        &mut self,
        scope: &Scope,
        own: &Common,
        more: &[Ty],
        base: &str,
        stop: &str,
        alias: &str,
    ) -> Node {
        let (v, p, q) = (self.alias("v"), self.alias("p"), self.alias("q"));
        // It reads what the recursion has so far, or something else.
        let reads = self.rng.chance(60);
        let (definition, types) = match reads {
            true => (text(format!("SELECT * FROM {base}{stop}")), own.types.clone()),
            false => self.nested(scope, 0, None),
        };
        let (columns, _) = columns("", &types);
        let (all, names) = self::columns(&p, &types);
        let mut seen = scope.outer.clone();
        seen.extend(names);
        let other = match self.rng.below(4) {
            0 => String::new(),
            1 => format!(" CROSS JOIN (SELECT count(*) AS n FROM {v}) AS {q}"),
            2 => format!(" LEFT JOIN {v} AS {q} ({all}) ON {q}.x0 = {p}.x0"),
            _ => format!(" JOIN {v} AS {q} ({all}) ON {q}.x0 IS NOT DISTINCT FROM {p}.x0"),
        };
        let word = *self.rng.pick(&["", "", "MATERIALIZED "]);
        let mut parts = vec![text(format!("(WITH {v} ({columns}) AS {word}(")), definition, text(") ")];
        let (head, from) = match reads {
            true => (format!("SELECT {p}.x0 + 1"), format!(" FROM {v} AS {p} ({all}){other}")),
            false => {
                let order = total(types.len());
                let from = format!(
                    " FROM {base} CROSS JOIN (SELECT * FROM {v}{order} LIMIT 1) AS {p} ({all}){other}{stop}"
                );
                (format!("SELECT {alias}.x0 + 1"), from)
            }
        };
        parts.push(text(head));
        if !more.is_empty() {
            parts.extend([text(", "), self.items(&seen, more)]);
        }
        parts.push(text(from));
        parts.push(text(")"));
        seq(parts)
    }
}
