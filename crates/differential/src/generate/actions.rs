//! Referential actions: keys that change and go, with children of children, in rings and in diamonds.
//!
//! A parent's key and the columns that refer to it may differ in type: then a value that cascades is
//! assigned, and rounds, is too long or out of range. Children have defaults (some without a parent),
//! CHECK, NOT NULL and UNIQUE, for an action to run into.

use super::{Statement, plain};
use crate::rng::Rng;
use crate::tree::{Node, list, opt, seq, text};

/// Types that can refer to each other.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Domain {
    Int,
    Numeric,
    Text,
    Stamp,
    Float,
}

impl Domain {
    fn parents(self) -> &'static [&'static str] {
        match self {
            Domain::Int => &["integer", "integer", "bigint", "smallint"],
            Domain::Numeric => &["numeric(8,2)", "numeric", "numeric(6,1)"],
            Domain::Text => &["text", "varchar(8)"],
            Domain::Stamp => &["timestamp"],
            Domain::Float => &["double precision"],
        }
    }

    fn children(self) -> &'static [&'static str] {
        match self {
            Domain::Int => &["integer", "integer", "bigint", "smallint"],
            Domain::Numeric => &["numeric(8,2)", "numeric(8,1)", "numeric(4,0)", "integer", "numeric"],
            Domain::Text => &["text", "varchar(8)", "varchar(2)"],
            Domain::Stamp => &["timestamp", "date"],
            Domain::Float => &["double precision", "integer"],
        }
    }

    /// The n-th value, of 1 to 9: every type of the domain has it.
    fn value(self, n: i64) -> String {
        match self {
            Domain::Text => format!("'{}'", (b'a' + n as u8) as char),
            Domain::Stamp => format!("'2024-01-0{n}'"),
            _ => n.to_string(),
        }
    }

    /// A change of a key after which keys differ still, row by row: it is far, and another one each time. Some are too
    /// wide for a narrower child. None is lost when it is rounded: PostgreSQL asks for no parent of a child that
    /// cascading leaves as it was.
    fn moved(self, rng: &mut Rng, column: &str, one: bool) -> String {
        let far = rng.between(11, 900);
        let letter = |rng: &mut Rng| (b'a' + rng.below(26) as u8) as char;
        match (self, rng.below(5)) {
            (Domain::Int, 0) => format!("{column} + {}", 40_000 + far),
            (Domain::Numeric, 0) => format!("{column} + {}", 12_000 + far),
            (Domain::Numeric, 1) => format!("{column} + {far}.5"),
            (Domain::Numeric, 2) => format!("{column} + {far}.25"),
            (Domain::Float, 0) => format!("{column} + {far}.5"),
            (Domain::Int | Domain::Numeric | Domain::Float, 3) => format!("- {column} - {far}"),
            (Domain::Int | Domain::Numeric | Domain::Float, _) => format!("{column} + {far}"),
            (Domain::Text, 0..=2) if one => format!("{column} || '{}'", letter(rng)),
            (Domain::Text, _) => format!("'{}{}{}' || {column}", letter(rng), letter(rng), letter(rng)),
            (Domain::Stamp, 0) => format!("{column} + interval '{far} days 1 hour'"),
            (Domain::Stamp, 1) => format!("{column} - interval '{far} days 30 minutes'"),
            (Domain::Stamp, _) => format!("{column} + interval '{far} days'"),
        }
    }
}

/// A column of a key, or one that refers to it.
#[derive(Clone, Debug)]
struct KeyColumn {
    name: String,
    domain: Domain,
}

/// Columns that can be referred to.
#[derive(Clone, Debug)]
struct Key {
    table: usize,
    parts: Vec<KeyColumn>,
    primary: bool,
}

/// A foreign key.
#[derive(Clone, Debug)]
struct Link {
    parts: Vec<KeyColumn>,
    /// Which key it refers to.
    to: usize,
    /// Its columns are a key themselves.
    unique: bool,
}

#[derive(Clone, Debug)]
struct Kin {
    name: String,
    /// The key that its rows are inserted with, unless that is a link's.
    own: Option<Vec<KeyColumn>>,
    links: Vec<Link>,
}

const ACTIONS: &[&str] = &[
    "CASCADE",
    "CASCADE",
    "CASCADE",
    "CASCADE",
    "SET NULL",
    "SET NULL",
    "SET DEFAULT",
    "SET DEFAULT",
    "RESTRICT",
    "NO ACTION",
];

struct Relations {
    rng: Rng,
    tables: Vec<Kin>,
    keys: Vec<Key>,
    /// How many values were given as new keys.
    given: i64,
    /// Some keys keep their rows from going.
    keeps: bool,
    /// Rows are reached in several ways.
    diamonds: bool,
    /// The open block has said SET CONSTRAINTS ALL IMMEDIATE. Here constraints are then looked at when the whole
    /// statement ends, so a handler in a routine does not see them: `docs/sql.md` says so.
    immediate: bool,
}

/// The script of a case.
pub(super) fn script(rng: Rng) -> Vec<Statement> {
    let mut r = Relations {
        rng,
        tables: Vec::new(),
        keys: Vec::new(),
        given: 0,
        keeps: false,
        diamonds: false,
        immediate: false,
    };
    let mut all = Vec::new();
    let count = r.rng.between(2, 5) as usize;
    for n in 0..count {
        all.extend(r.table(n));
    }
    if r.rng.chance(20) {
        all.extend(r.ring());
    }
    for table in 0..count {
        for _ in 0..r.rng.between(3, 5) {
            all.push(r.insert(table));
        }
    }
    let mut open = 0;
    for _ in 0..r.rng.between(6, 14) {
        if open == 0 && r.rng.chance(15) {
            all.push(text("BEGIN"));
            if r.rng.chance(15) {
                all.push(text("SET CONSTRAINTS ALL DEFERRED"));
            }
            open = r.rng.between(1, 4);
            continue;
        }
        all.push(r.change());
        if r.rng.chance(35) {
            let table = r.rng.pick(&r.tables).name.clone();
            all.push(text(format!("SELECT * FROM {table}")));
        }
        if open > 0 {
            open -= 1;
            r.immediate &= open > 0;
            match (open, r.rng.below(10)) {
                (0, 0) => all.push(text("ROLLBACK")),
                (0, _) => all.push(text("COMMIT")),
                (_, 0) => all.push(text("SAVEPOINT s")),
                (_, 1) => all.push(text("ROLLBACK TO s")),
                (_, 2) => {
                    r.immediate = true;
                    all.push(text("SET CONSTRAINTS ALL IMMEDIATE"));
                }
                _ => {}
            }
        }
    }
    all.push(text("COMMIT"));
    all.extend(r.tables.iter().map(|t| text(format!("SELECT * FROM {}", t.name))));
    all.into_iter().map(plain).collect()
}

fn names(parts: &[KeyColumn]) -> String {
    parts.iter().map(|p| p.name.as_str()).collect::<Vec<_>>().join(", ")
}

impl Relations {
    /// A table that refers to those before it, perhaps to itself.
    fn table(&mut self, n: usize) -> Vec<Node> {
        let name = format!("t{n}");
        let mut defs = Vec::new();
        let mut kin = Kin { name: name.clone(), own: None, links: Vec::new() };
        let mut more = Vec::new();
        // A child whose key is its parent's has no other.
        let identified = n > 0 && self.rng.chance(15);
        if !identified {
            let parts = self.own_key();
            for part in &parts {
                let ty = *self.rng.pick(part.domain.parents());
                defs.push(text(format!("{} {ty}", part.name)));
            }
            let unique = n == 0 && self.rng.chance(15);
            let kind = if unique { "UNIQUE" } else { "PRIMARY KEY" };
            defs.push(text(format!("{kind} ({})", names(&parts))));
            self.keys.push(Key { table: n, parts: parts.clone(), primary: !unique });
            kin.own = Some(parts);
        }
        let links = if n == 0 { 0 } else { [1, 1, 1, 2][self.rng.below(4)] };
        for l in 0..links {
            let to = match self.rng.chance(55) {
                true => self.keys.iter().rposition(|k| k.table < n).unwrap_or(0),
                false => self.rng.below(self.keys.len()),
            };
            let to = if self.keys[to].table == n { 0 } else { to };
            let link = self.link(&mut defs, &mut more, &name, l, to, identified && l == 0);
            kin.links.push(link);
        }
        self.diamonds |= links > 1;
        if !identified && self.rng.chance(12) {
            self.diamonds |= links > 0;
            let to = self.keys.len() - 1;
            let link = self.link(&mut defs, &mut more, &name, links, to, false);
            kin.links.push(link);
        }
        defs.push(seq([text("n integer DEFAULT 1"), opt(text(" CHECK (n < 100)"))]));
        for link in &kin.links {
            if link.unique {
                self.keys.push(Key { table: n, parts: link.parts.clone(), primary: identified });
            }
        }
        self.tables.push(kin);
        let mut all = vec![seq([text(format!("CREATE TABLE {name} (")), list(defs, 1), text(")")])];
        all.extend(more);
        all
    }

    fn own_key(&mut self) -> Vec<KeyColumn> {
        let domains = [
            Domain::Int,
            Domain::Int,
            Domain::Int,
            Domain::Numeric,
            Domain::Numeric,
            Domain::Text,
            Domain::Stamp,
            Domain::Float,
        ];
        let first = *self.rng.pick(&domains);
        if self.rng.chance(70) {
            return vec![KeyColumn { name: "id".to_owned(), domain: first }];
        }
        let second = *self.rng.pick(&domains);
        vec![
            KeyColumn { name: "k1".to_owned(), domain: first },
            KeyColumn { name: "k2".to_owned(), domain: second },
        ]
    }

    /// Columns that refer to a key: their definitions go to `defs`.
    fn link(
        &mut self,
        defs: &mut Vec<Node>,
        more: &mut Vec<Node>,
        table: &str,
        l: usize,
        to: usize,
        primary: bool,
    ) -> Link {
        let key = self.keys[to].clone();
        let mut parts = Vec::new();
        for (i, part) in key.parts.iter().enumerate() {
            let name = format!("f{l}{}", (b'a' + i as u8) as char);
            let domain = part.domain;
            let ty = *self.rng.pick(domain.children());
            let mut def = vec![text(format!("{name} {ty}"))];
            if self.rng.chance(45) {
                let value = match self.rng.chance(12) {
                    true => "NULL".to_owned(),
                    false => {
                        let n = *self.rng.pick(&[1, 1, 2, 3, 9]);
                        domain.value(n)
                    }
                };
                def.push(opt(text(format!(" DEFAULT {value}"))));
            }
            if !primary && self.rng.chance(10) {
                def.push(opt(text(" NOT NULL")));
            }
            if self.rng.chance(28) {
                let v = domain.value(self.rng.between(3, 9));
                let check = match self.rng.below(5) {
                    0 | 1 => format!("{name} < {v}"),
                    2 => format!("{name} <> {v}"),
                    3 => format!("{name} IS NOT NULL OR n > 2"),
                    _ => format!("{name} IS NULL OR {name} <= {v} OR n > 3"),
                };
                def.push(opt(text(format!(" CHECK ({check})"))));
            }
            defs.push(seq(def));
            parts.push(KeyColumn { name, domain });
        }
        let unique = primary || self.rng.chance(18);
        if unique {
            let kind = if primary { "PRIMARY KEY" } else { "UNIQUE" };
            let def = text(format!("{kind} ({})", names(&parts)));
            defs.push(if primary { def } else { opt(def) });
        } else if self.rng.chance(25) {
            more.push(text(format!("CREATE INDEX ON {table} ({})", names(&parts))));
        }
        defs.push(self.reference(&key, &parts));
        Link { parts, to, unique }
    }

    fn reference(&mut self, key: &Key, parts: &[KeyColumn]) -> Node {
        let mut restricts = false;
        let parent = format!("t{}", key.table);
        let mut def =
            vec![text(format!("FOREIGN KEY ({}) REFERENCES {parent} ({})", names(parts), names(&key.parts)))];
        for event in ["DELETE", "UPDATE"] {
            let action = *self.rng.pick(ACTIONS);
            let given = self.rng.chance(88);
            self.keeps |= !given || matches!(action, "RESTRICT" | "NO ACTION");
            restricts |= action == "RESTRICT";
            if given {
                let some = match action.starts_with("SET") && event == "DELETE" && parts.len() > 1 {
                    true if self.rng.chance(20) => format!(" ({})", parts[0].name),
                    _ => String::new(),
                };
                def.push(opt(text(format!(" ON {event} {action}{some}"))));
            }
        }
        // RESTRICT cannot be deferred; here it is NO ACTION.
        if !restricts && self.rng.chance(20) {
            def.push(opt(text(" DEFERRABLE INITIALLY DEFERRED")));
        }
        seq(def)
    }

    /// A column of the first table that refers to the last: rows of both may need each other.
    fn ring(&mut self) -> Vec<Node> {
        self.diamonds = true;
        let to = self.keys.len() - 1;
        let key = self.keys[to].clone();
        let mut parts = Vec::new();
        let mut all = Vec::new();
        for (i, part) in key.parts.iter().enumerate() {
            let name = format!("g{}", (b'a' + i as u8) as char);
            let ty = *self.rng.pick(part.domain.children());
            all.push(text(format!("ALTER TABLE t0 ADD COLUMN {name} {ty}")));
            parts.push(KeyColumn { name, domain: part.domain });
        }
        let reference = self.reference(&key, &parts);
        all.push(seq([text("ALTER TABLE t0 ADD "), reference]));
        self.tables[0].links.push(Link { parts, to, unique: false });
        all
    }

    /// A row; most have a parent.
    fn insert(&mut self, at: usize) -> Node {
        let table = self.tables[at].clone();
        let mut columns = Vec::new();
        let mut values = Vec::new();
        self.given += 1;
        let new = self.given % 9 + 1;
        for (i, part) in table.own.iter().flatten().enumerate() {
            columns.push(part.name.clone());
            values.push(part.domain.value(if i == 0 { new } else { self.rng.between(1, 3) }));
        }
        for link in &table.links {
            // Columns are left out together, for their defaults.
            if self.rng.chance(12) {
                continue;
            }
            let row = match link.unique {
                true => new,
                false => self.rng.between(1, 9),
            };
            for part in &link.parts {
                columns.push(part.name.clone());
                let null = self.rng.chance(10);
                values.push(if null { "NULL".to_owned() } else { self.present(link.to, part, row) });
            }
        }
        if self.rng.chance(50) {
            columns.push("n".to_owned());
            values.push(self.rng.between(0, 6).to_string());
        }
        if columns.is_empty() {
            return text(format!("INSERT INTO {} DEFAULT VALUES", table.name));
        }
        text(format!("INSERT INTO {} ({}) VALUES ({})", table.name, columns.join(", "), values.join(", ")))
    }

    /// A value that a key may well have: by its place, or what it was made with.
    fn present(&mut self, to: usize, part: &KeyColumn, row: i64) -> String {
        let key = &self.keys[to];
        // The same row for all parts of a key.
        let i = part.name.bytes().last().map_or(0, |c| usize::from(c.saturating_sub(b'a')));
        let column = &key.parts[i.min(key.parts.len() - 1)].name;
        if self.rng.chance(6) {
            return part.domain.value(row);
        }
        format!(
            "(SELECT {column} FROM t{} WHERE {column} IS NOT NULL ORDER BY {} OFFSET {} LIMIT 1)",
            key.table,
            names(&key.parts),
            row % 4
        )
    }

    fn change(&mut self) -> Node {
        let node = match self.rng.below(100) {
            0..=37 => self.move_key(),
            38..=62 => self.delete(),
            63..=75 => self.move_child(),
            76..=84 => self.upsert(),
            _ => {
                let table = self.rng.below(self.tables.len());
                self.insert(table)
            }
        };
        if self.rng.chance(15) && !self.immediate && node.render().starts_with("DELETE") {
            let (head, tail) = ("DO $$ BEGIN ", "; EXCEPTION WHEN OTHERS THEN RAISE NOTICE 'caught'; END $$");
            return seq([text(head), node, text(tail)]);
        }
        if self.rng.chance(12) {
            return seq([node, opt(text(" RETURNING *"))]);
        }
        node
    }

    /// A key that others refer to, mostly.
    fn key(&mut self) -> Key {
        let linked: Vec<usize> = self.tables.iter().flat_map(|t| t.links.iter().map(|l| l.to)).collect();
        let at = match !linked.is_empty() && self.rng.chance(90) {
            true => *self.rng.pick(&linked),
            false => self.rng.below(self.keys.len()),
        };
        self.keys[at].clone()
    }

    fn one_row(&mut self, key: &Key) -> Node {
        let (table, column) = (format!("t{}", key.table), &key.parts[0].name);
        let end = *self.rng.pick(&["min", "max"]);
        let first = format!(" WHERE {column} = (SELECT {end}({column}) FROM {table})");
        let Some(second) = key.parts.get(1) else { return text(first) };
        let second = &second.name;
        text(format!("{first} AND {second} = (SELECT max({second}) FROM {table}{first})"))
    }

    /// Rows of a table by a key of it: one, some, all. One only, where PostgreSQL asks whether a first row may go
    /// before a second has taken along those that refer to both.
    fn rows(&mut self, key: &Key) -> Node {
        if self.keeps && self.diamonds {
            return self.one_row(key);
        }
        let table = format!("t{}", key.table);
        let column = key.parts[0].name.clone();
        let domain = key.parts[0].domain;
        match self.rng.below(12) {
            0..=3 => {
                let end = *self.rng.pick(&["min", "max"]);
                text(format!(" WHERE {column} = (SELECT {end}({column}) FROM {table})"))
            }
            4 | 5 => {
                let n = self.rng.between(1, 9);
                text(format!(" WHERE {column} = {}", domain.value(n)))
            }
            6 => {
                let n = self.rng.between(2, 5);
                text(format!(" WHERE {column} < {}", domain.value(n)))
            }
            7 => {
                let (a, b) = (self.rng.between(1, 9), self.rng.between(1, 9));
                text(format!(" WHERE {column} IN ({}, {})", domain.value(a), domain.value(b)))
            }
            8 => text(format!(" WHERE n = {}", self.rng.between(0, 4))),
            9 => text(format!(" WHERE n > {}", self.rng.between(0, 3))),
            10 => text(format!(" WHERE {column} > (SELECT min({column}) FROM {table})")),
            _ => text(""),
        }
    }

    fn move_key(&mut self) -> Node {
        let key = self.key();
        let mut items = Vec::new();
        let one = self.rng.chance(35);
        let mut parts = key.parts.clone();
        if parts.len() > 1 && self.rng.chance(50) {
            let gone = self.rng.below(2);
            parts.remove(gone);
        }
        for part in &parts {
            let value = match self.rng.below(10) {
                0 if !key.primary => "NULL".to_owned(),
                1..=3 if one => {
                    let n = self.rng.between(1, 9);
                    part.domain.value(n)
                }
                _ => part.domain.moved(&mut self.rng, &part.name, one),
            };
            items.push(text(format!("{} = {value}", part.name)));
        }
        if self.rng.chance(20) {
            items.push(text(format!("n = {}", self.rng.between(0, 5))));
        }
        let rows = if one { self.one_row(&key) } else { opt(self.rows(&key)) };
        seq([text(format!("UPDATE t{} SET ", key.table)), list(items, 1), rows])
    }

    fn delete(&mut self) -> Node {
        let key = self.key();
        let rows = self.rows(&key);
        let rows = if rows.render().is_empty() { text(" WHERE n < 2") } else { rows };
        seq([text(format!("DELETE FROM t{}", key.table)), opt(rows)])
    }

    fn linked(&mut self) -> Option<(Kin, Link)> {
        let kin: Vec<&Kin> = self.tables.iter().filter(|t| !t.links.is_empty()).collect();
        let kin = (*self.rng.pick(if kin.is_empty() { return None } else { &kin })).clone();
        let link = self.rng.pick(&kin.links).clone();
        Some((kin, link))
    }

    fn move_child(&mut self) -> Node {
        let Some((kin, link)) = self.linked() else { return self.delete() };
        let row = self.rng.between(0, 3);
        let mut items = Vec::new();
        for part in &link.parts {
            let value = match self.rng.below(10) {
                0 => "NULL".to_owned(),
                1 => "DEFAULT".to_owned(),
                _ => self.present(link.to, part, row),
            };
            items.push(text(format!("{} = {value}", part.name)));
        }
        let rows = match self.rng.chance(60) {
            true => text(format!(" WHERE n = {}", self.rng.between(0, 4))),
            false => text(""),
        };
        seq([text(format!("UPDATE {} SET ", kin.name)), list(items, 1), opt(rows)])
    }

    /// A key that changes where another was to be inserted.
    fn upsert(&mut self) -> Node {
        let key = self.key();
        let insert = self.insert(key.table);
        let part = key.parts[0].clone();
        let value = match self.rng.chance(70) {
            true => part.domain.moved(&mut self.rng, &format!("t{}.{}", key.table, part.name), true),
            false => {
                let n = self.rng.between(1, 9);
                part.domain.value(n)
            }
        };
        let action = format!(" ON CONFLICT ({}) DO UPDATE SET {} = {value}", names(&key.parts), part.name);
        seq([insert, opt(text(action))])
    }
}
