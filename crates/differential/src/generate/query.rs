//! SELECT.

use super::{Generator, Name, Statement};
use crate::schema::Ty;
use crate::tree::{Node, expr, list, opt, seq, text};

/// FROM and the names it gives.
struct From {
    node: Node,
    names: Vec<Name>,
}

impl Generator {
    pub(super) fn query(&mut self) -> Statement {
        if self.rng.chance(12) {
            // Without rows, so that what fails does so for certain.
            let types: Vec<Ty> = (0..self.rng.between(1, 3)).map(|_| self.some_type(&[])).collect();
            // One that fails, as the order of constants is not SQL's to say.
            let risky = self.rng.below(types.len() * 2);
            let mut items: Vec<Node> = Vec::new();
            for (i, ty) in types.iter().enumerate() {
                self.may_fail = false;
                items.push(match i == risky {
                    true => self.risky_expression(*ty, &[], 1),
                    false => self.expression(*ty, &[], 3),
                });
            }
            self.may_fail = false;
            return Statement { node: seq([text("SELECT "), list(items, 1)]), ordered: false };
        }
        let (node, types) = self.select(2, None);
        self.with_order(node, types.len())
    }

    /// Adds ORDER BY over all columns, perhaps with LIMIT, or nothing.
    fn with_order(&mut self, node: Node, columns: usize) -> Statement {
        if !self.rng.chance(45) {
            return Statement { node, ordered: false };
        }
        let limit = if self.rng.chance(40) {
            let offset =
                if self.rng.chance(30) { format!(" OFFSET {}", self.rng.below(4)) } else { String::new() };
            text(format!(" LIMIT {}{offset}", self.rng.below(6)))
        } else {
            text("")
        };
        let order = self.total_order(columns);
        Statement { node: seq([node, order, opt(limit)]), ordered: true }
    }

    fn total_order(&mut self, columns: usize) -> Node {
        let items = (1..=columns).map(|i| {
            let direction = *self.rng.pick(&["", "", " DESC", " NULLS FIRST", " DESC NULLS LAST"]);
            format!("{i}{direction}")
        });
        text(format!(" ORDER BY {}", items.collect::<Vec<_>>().join(", ")))
    }

    /// A query without ORDER BY, and the types of its columns (as `types` wants them, if given).
    pub(super) fn select(&mut self, depth: usize, types: Option<&[Ty]>) -> (Node, Vec<Ty>) {
        if depth > 0 && self.rng.chance(12) {
            let (left, types) = self.select(depth - 1, types);
            let (right, _) = self.select(depth - 1, Some(&types));
            let op =
                *self.rng.pick(&["UNION", "UNION ALL", "INTERSECT", "EXCEPT", "EXCEPT ALL", "INTERSECT ALL"]);
            return (seq([text("("), left, text(format!(") {op} (")), right, text(")")]), types);
        }
        if depth > 0 && self.rng.chance(8) {
            return self.with_cte(depth, types);
        }
        let from = self.from(depth);
        let filter = match self.rng.chance(60) {
            true => opt(seq([text(" WHERE "), self.filter(&from.names, depth)])),
            false => text(""),
        };
        let grouped = self.rng.chance(35);
        let wanted: Vec<Ty> = match types {
            Some(types) => types.to_vec(),
            None => (0..self.rng.between(1, 4)).map(|_| self.some_type(&from.names)).collect(),
        };
        if grouped {
            return self.grouped(from, filter, types);
        }
        let mut items: Vec<Node> = Vec::new();
        for ty in &wanted {
            let item = match self.rng.below(20) {
                0 if depth > 0 => self.scalar_subquery(*ty, &from.names, depth),
                1 if types.is_none() && matches!(ty, Ty::Int8) => self.window(&from.names),
                _ => self.expression(*ty, &from.names, 2),
            };
            items.push(item);
        }
        let distinct = if self.rng.chance(12) { opt(text("DISTINCT ")) } else { text("") };
        let min = items.len();
        let node = seq([text("SELECT "), distinct, list(items, min), text(" FROM "), from.node, filter]);
        (node, wanted)
    }

    fn with_cte(&mut self, depth: usize, types: Option<&[Ty]>) -> (Node, Vec<Ty>) {
        let (inner, own) = self.select(depth - 1, None);
        let name = self.alias("w");
        let columns: Vec<String> = (0..own.len()).map(|i| format!("x{i}")).collect();
        let names: Vec<Name> =
            own.iter().zip(&columns).map(|(ty, c)| Name { text: format!("{name}.{c}"), ty: *ty }).collect();
        let wanted: Vec<Ty> = match types {
            Some(types) => types.to_vec(),
            None => (0..self.rng.between(1, 3)).map(|_| self.some_type(&names)).collect(),
        };
        let items = self.row(&wanted, &names, 2);
        let head = format!("WITH {name} ({}) AS (", columns.join(", "));
        let node = seq([text(head), inner, text(") SELECT "), items, text(format!(" FROM {name}"))]);
        (node, wanted)
    }

    fn grouped(&mut self, from: From, filter: Node, types: Option<&[Ty]>) -> (Node, Vec<Ty>) {
        let keys: Vec<Name> = (0..self.rng.below(3)).map(|_| self.rng.pick(&from.names).clone()).collect();
        let mut items = Vec::new();
        let mut own = Vec::new();
        let count = types.map_or(self.rng.between(1, 3) as usize, <[Ty]>::len);
        for i in 0..count {
            let (ty, node) = match types.map(|t| t[i]) {
                Some(ty) => {
                    let (other, node) = self.aggregate(&from.names);
                    match other == ty {
                        true => (ty, node),
                        false => (ty, expr(ty, [text(format!("max({})", ty.simple()))])),
                    }
                }
                None if !keys.is_empty() && self.rng.chance(40) => {
                    let key = self.rng.pick(&keys).clone();
                    (key.ty, text(key.text))
                }
                None => self.aggregate(&from.names),
            };
            // There is no greatest of these.
            let (ty, node) = match node.render().starts_with("max(")
                && matches!(ty, Ty::Bool | Ty::Uuid | Ty::Jsonb | Ty::Texts)
            {
                true => (ty, expr(ty, [text(ty.simple())])),
                false => (ty, node),
            };
            items.push(node);
            own.push(if ty == Ty::Varchar { Ty::Text } else { ty });
        }
        let group = match keys.is_empty() {
            true => text(""),
            false => {
                let mut texts: Vec<String> = keys.iter().map(|k| k.text.clone()).collect();
                texts.dedup();
                let all = texts.join(", ");
                text(match self.rng.below(8) {
                    0 => format!(" GROUP BY ROLLUP ({all})"),
                    1 => format!(" GROUP BY CUBE ({all})"),
                    2 => format!(" GROUP BY GROUPING SETS (({all}), ({}))", texts[0]),
                    _ => format!(" GROUP BY {all}"),
                })
            }
        };
        let having = match self.rng.chance(20) {
            true => opt(seq([text(" HAVING "), self.having(&from.names)])),
            false => text(""),
        };
        let min = items.len();
        let node = seq([text("SELECT "), list(items, min), text(" FROM "), from.node, filter, group, having]);
        (node, own)
    }

    fn having(&mut self, names: &[Name]) -> Node {
        let before = std::mem::replace(&mut self.may_fail, false);
        let (ty, node) = self.aggregate(names);
        let other = ty.literal(&mut self.rng);
        self.may_fail = before;
        expr(Ty::Bool, [node, text(format!(" {} {other}", self.rng.pick(&["=", "<>", "<", ">="])))])
    }

    /// `rank() OVER (..)` and its like: whose values do not depend on the order of equal rows.
    fn window(&mut self, names: &[Name]) -> Node {
        let partition = self.rng.pick(names).text.clone();
        let order = self.rng.pick(names).text.clone();
        let (before, behind) = (self.rng.below(3), self.rng.below(3));
        let form = match self.rng.below(9) {
            0 => format!("rank() OVER (PARTITION BY {partition} ORDER BY {order})"),
            1 => format!("dense_rank() OVER (ORDER BY {order} DESC)"),
            2 => format!("count(*) OVER (PARTITION BY {partition})"),
            3 => format!("count({order}) OVER (ORDER BY {partition})"),
            4 => format!(
                "count({partition}) OVER (PARTITION BY {partition} ORDER BY {order} GROUPS BETWEEN {before} PRECEDING AND {behind} FOLLOWING)"
            ),
            5 => format!(
                "count({order}) OVER (ORDER BY {partition} RANGE BETWEEN CURRENT ROW AND UNBOUNDED FOLLOWING)"
            ),
            6 => format!("(cume_dist() OVER (PARTITION BY {partition} ORDER BY {order}) * 1000)::bigint"),
            7 => format!("(percent_rank() OVER (ORDER BY {order} DESC) * 1000)::bigint"),
            _ => "count(*) OVER ()".to_owned(),
        };
        expr(Ty::Int8, [text(form)])
    }

    /// A condition, perhaps with a subquery.
    pub(super) fn filter(&mut self, names: &[Name], depth: usize) -> Node {
        if depth > 0 && self.rng.chance(18) {
            let before = std::mem::replace(&mut self.may_fail, false);
            let node = self.subquery_condition(names, depth);
            self.may_fail = before;
            return node;
        }
        self.condition(names, 3)
    }

    fn subquery_condition(&mut self, names: &[Name], depth: usize) -> Node {
        let alias = self.alias("s");
        let table = self.rng.pick(&self.tables).clone();
        let inner = Self::names(&table, &alias);
        let mut both = inner.clone();
        both.extend(names.iter().cloned());
        let condition = self.condition(&both, depth);
        match self.rng.below(4) {
            0 | 1 => {
                let not = *self.rng.pick(&["", "NOT "]);
                let head = format!("{not}EXISTS (SELECT 1 FROM {} {alias} WHERE ", table.name);
                expr(Ty::Bool, [text(head), condition, text(")")])
            }
            2 => {
                let ty = match self.rng.pick(&inner).ty {
                    Ty::Varchar => Ty::Text,
                    ty => ty,
                };
                let left = self.expression(ty, names, 1);
                let right = self.expression(ty, &inner, 1);
                let not = *self.rng.pick(&["", "NOT "]);
                let head = text(format!(" {not}IN (SELECT "));
                let tail = text(format!(" FROM {} {alias} WHERE ", table.name));
                expr(Ty::Bool, [text("("), left, head, right, tail, condition, text("))")])
            }
            _ => {
                let left = self.expression(Ty::Int4, names, 1);
                let right = self.expression(Ty::Int4, &inner, 1);
                let op = *self.rng.pick(&["= ANY", "< ALL", ">= ANY", "<> ALL"]);
                let head = text(format!(" {op} (SELECT "));
                let tail = text(format!(" FROM {} {alias} WHERE ", table.name));
                expr(Ty::Bool, [text("("), left, head, right, tail, condition, text("))")])
            }
        }
    }

    /// A subquery of one row.
    fn scalar_subquery(&mut self, ty: Ty, names: &[Name], depth: usize) -> Node {
        let alias = self.alias("s");
        let table = self.rng.pick(&self.tables).clone();
        let inner = Self::names(&table, &alias);
        let mut both = inner.clone();
        both.extend(names.iter().cloned());
        let before = std::mem::replace(&mut self.may_fail, false);
        let condition = self.condition(&both, depth);
        let value = self.expression(ty, &inner, 1);
        self.may_fail = before;
        let head = text("(SELECT ");
        let tail = text(format!(" FROM {} {alias} WHERE ", table.name));
        expr(ty, [head, value, tail, condition, text(" ORDER BY 1 LIMIT 1)")])
    }

    fn from(&mut self, depth: usize) -> From {
        let mut from = self.source(depth);
        for _ in 0..[0, 0, 0, 1, 1, 2][self.rng.below(6)] {
            let right = self.source(depth.saturating_sub(1));
            let kind = *self.rng.pick(&[
                "JOIN",
                "JOIN",
                "LEFT JOIN",
                "LEFT JOIN",
                "RIGHT JOIN",
                "FULL JOIN",
                "CROSS JOIN",
            ]);
            let mut on = None;
            if kind != "CROSS JOIN" {
                let pairs: Vec<(String, String)> = from
                    .names
                    .iter()
                    .flat_map(|a| {
                        right.names.iter().filter(|b| b.ty == a.ty).map(|b| (a.text.clone(), b.text.clone()))
                    })
                    .collect();
                let Some((a, b)) = (!pairs.is_empty()).then(|| self.rng.pick(&pairs).clone()) else {
                    continue;
                };
                let mut both = from.names.clone();
                both.extend(right.names.iter().cloned());
                let mut parts = vec![text(format!(" ON {a} = {b}"))];
                if kind != "FULL JOIN" && self.rng.chance(25) {
                    parts.push(opt(seq([text(" AND "), self.condition(&both, 2)])));
                }
                on = Some(seq(parts));
            }
            from.node = seq([from.node, text(format!(" {kind} ")), right.node, on.unwrap_or(text(""))]);
            from.names.extend(right.names);
        }
        from
    }

    fn source(&mut self, depth: usize) -> From {
        let alias = self.alias("a");
        if depth > 1 && self.rng.chance(12) {
            let before = std::mem::replace(&mut self.may_fail, false);
            let (node, types) = self.select(depth - 2, None);
            self.may_fail = before;
            let columns: Vec<String> = (0..types.len()).map(|i| format!("x{i}")).collect();
            let names = types
                .iter()
                .zip(&columns)
                .map(|(ty, c)| Name { text: format!("{alias}.{c}"), ty: *ty })
                .collect();
            let tail = text(format!(") AS {alias} ({})", columns.join(", ")));
            return From { node: seq([text("("), node, tail]), names };
        }
        if !self.views.is_empty() && self.rng.chance(12) {
            let (view, columns) = self.rng.pick(&self.views).clone();
            let names =
                columns.iter().map(|n| Name { text: format!("{alias}.{}", n.text), ty: n.ty }).collect();
            return From { node: text(format!("{view} AS {alias}")), names };
        }
        if self.rng.chance(4) {
            let names = vec![Name { text: format!("{alias}.n"), ty: Ty::Int4 }];
            let to = self.rng.between(0, 4);
            return From { node: text(format!("generate_series(1, {to}) AS {alias} (n)")), names };
        }
        let table = self.rng.pick(&self.tables).clone();
        From { node: text(format!("{} AS {alias}", table.name)), names: Self::names(&table, &alias) }
    }

    pub(super) fn view(&mut self) -> Statement {
        let (node, types) = self.select(1, None);
        let columns: Vec<String> = (0..types.len()).map(|i| format!("v{i}")).collect();
        let head = text(format!("CREATE VIEW v ({}) AS ", columns.join(", ")));
        let names = types.iter().zip(columns).map(|(ty, text)| Name { text, ty: *ty }).collect();
        self.views.push(("v".to_owned(), names));
        Statement { node: seq([head, node]), ordered: false }
    }
}
