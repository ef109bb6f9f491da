//! INSERT, UPDATE, DELETE.

use super::{Generator, Name, Statement};
use crate::schema::{Column, Table, Ty};
use crate::tree::{Node, list, opt, seq, text};

fn stored(ty: Ty) -> Ty {
    if ty == Ty::Varchar { Ty::Text } else { ty }
}

impl Generator {
    /// An INSERT; `simple`: of constants, most of which are new keys.
    pub(super) fn insert(&mut self, simple: bool) -> Statement {
        let table = self.rng.pick(&self.tables).clone();
        let chosen: Vec<Column> = table
            .columns
            .iter()
            .filter(|c| !c.serial && (!c.optional || self.rng.chance(75)))
            .cloned()
            .collect();
        if chosen.is_empty() {
            return self.returning(
                text(format!("INSERT INTO {} DEFAULT VALUES", table.name)),
                &table,
                &table.name,
            );
        }
        let names: Vec<&str> = chosen.iter().map(|c| c.name.as_str()).collect();
        let head = text(format!("INSERT INTO {} ({}) ", table.name, names.join(", ")));
        let source = if !simple && self.rng.chance(20) {
            let types: Vec<Ty> = chosen.iter().map(|c| stored(c.ty)).collect();
            let (query, _) = self.select(1, Some(&types));
            let order: Vec<String> = (1..=types.len()).map(|i| i.to_string()).collect();
            seq([query, text(format!(" ORDER BY {} LIMIT 5", order.join(", ")))])
        } else {
            // One that fails has drawn a number of a serial column in PostgreSQL, if that comes first; here never.
            let simple = simple || table.columns.iter().any(|c| c.serial);
            let rows = self.rng.between(1, 4);
            let rows = (0..rows).map(|_| self.values(&chosen, simple)).collect();
            seq([text("VALUES "), list(rows, 1)])
        };
        let mut parts = vec![head, source];
        if !simple && !table.primary.is_empty() && self.rng.chance(35) {
            parts.push(self.on_conflict(&table));
        }
        self.returning(seq(parts), &table, &table.name)
    }

    fn values(&mut self, columns: &[Column], simple: bool) -> Node {
        let mut items = Vec::new();
        for c in columns {
            let ty = stored(c.ty);
            let item = if c.optional && self.rng.chance(6) {
                text("DEFAULT")
            } else if c.key && c.ty == Ty::Int4 {
                text(self.rng.between(0, 20).to_string())
            } else if simple || self.rng.chance(60) {
                text(if self.rng.chance(10) { "NULL".to_owned() } else { ty.literal(&mut self.rng) })
            } else {
                self.may_fail = true;
                let node = self.expression(ty, &[], 2);
                self.may_fail = false;
                node
            };
            items.push(item);
        }
        let min = items.len();
        seq([text("("), list(items, min), text(")")])
    }

    fn on_conflict(&mut self, table: &Table) -> Node {
        let keys: Vec<&str> = table.primary.iter().map(|c| table.columns[*c].name.as_str()).collect();
        if self.rng.chance(30) {
            let target = *self.rng.pick(&["", " (key)"]);
            return opt(text(format!(" ON CONFLICT{} DO NOTHING", target.replace("key", &keys.join(", ")))));
        }
        let mut names = Self::names(table, &table.name);
        names.extend(Self::names(table, "excluded"));
        let set = self.set(table, &names);
        let Some(set) = set else { return text("") };
        let mut parts = vec![text(format!(" ON CONFLICT ({}) DO UPDATE SET ", keys.join(", "))), set];
        if self.rng.chance(25) {
            parts.push(opt(seq([text(" WHERE "), self.condition(&names, 2)])));
        }
        opt(seq(parts))
    }

    /// `column = value, ..` for columns without unique keys.
    fn set(&mut self, table: &Table, names: &[Name]) -> Option<Node> {
        let free: Vec<&Column> = table.columns.iter().filter(|c| !c.key).collect();
        if free.is_empty() {
            return None;
        }
        let mut chosen: Vec<&Column> = Vec::new();
        for _ in 0..self.rng.between(1, 2) {
            let c = *self.rng.pick(&free);
            if !chosen.iter().any(|d| d.name == c.name) {
                chosen.push(c);
            }
        }
        let mut items = Vec::new();
        for c in chosen {
            let value = match self.rng.chance(6) {
                true => text("DEFAULT"),
                // What is too long is found when PostgreSQL plans, rows or not.
                false if c.ty == Ty::Varchar => {
                    let value = self.expression(Ty::Text, names, 2);
                    seq([text("left("), value, text(", 8)")])
                }
                false => self.expression(c.ty, names, 2),
            };
            items.push(seq([text(format!("{} = ", c.name)), value]));
        }
        Some(list(items, 1))
    }

    pub(super) fn update(&mut self) -> Statement {
        let table = self.rng.pick(&self.tables).clone();
        let alias = self.alias("u");
        let mut names = Self::names(&table, &alias);
        let mut join = None;
        // A row must meet no more than one other: that is joined by its key.
        let parents: Vec<&Table> = self.tables.iter().filter(|t| t.id.is_some()).collect();
        if !parents.is_empty() && self.rng.chance(20) {
            let parent = (*self.rng.pick(&parents)).clone();
            let ints: Vec<String> =
                table.columns.iter().filter(|c| c.ty == Ty::Int4).map(|c| c.name.clone()).collect();
            if !ints.is_empty() {
                let other = self.alias("f");
                let column = self.rng.pick(&ints);
                join = Some((
                    format!(" FROM {} AS {other}", parent.name),
                    format!("{alias}.{column} = {other}.id"),
                ));
                names.extend(Self::names(&parent, &other));
            }
        }
        let Some(set) = self.set(&table, &names) else { return self.query() };
        let mut parts = vec![text(format!("UPDATE {} AS {alias} SET ", table.name)), set];
        let condition = self.filter(&names, 1);
        match join {
            Some((from, on)) => {
                parts.push(text(format!("{from} WHERE {on}")));
                parts.push(opt(seq([text(" AND "), condition])));
            }
            None => parts.push(opt(seq([text(" WHERE "), condition]))),
        }
        self.returning(seq(parts), &table, &alias)
    }

    pub(super) fn delete(&mut self) -> Statement {
        let table = self.rng.pick(&self.tables).clone();
        let alias = self.alias("d");
        let names = Self::names(&table, &alias);
        let condition = self.filter(&names, 1);
        let head = text(format!("DELETE FROM {} AS {alias} WHERE ", table.name));
        self.returning(seq([head, condition]), &table, &alias)
    }

    fn returning(&mut self, node: Node, table: &Table, alias: &str) -> Statement {
        let node = match self.rng.chance(30) {
            true => {
                let names = Self::names(table, alias);
                let types: Vec<Ty> = (0..self.rng.between(1, 3)).map(|_| self.some_type(&names)).collect();
                seq([node, opt(seq([text(" RETURNING "), self.row(&types, &names, 1)]))])
            }
            false => node,
        };
        Statement { node, ordered: false }
    }
}
