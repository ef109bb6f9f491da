//! What hangs on tables: partitions, triggers, policies, views, exclusion, generated columns, routines that walk.
//!
//! Rows are looked at in no order that counts: a trigger writes what it sees into `journal`, whose rows are compared sorted.
//! Keys are changed of one row at a time, or all to the same, so that no engine passes through a state that another does
//! not.

use super::sorts::{KEYS, SORTS, Sort};
use super::{Statement, plain};
use crate::rng::Rng;
use crate::tree::{Node, Node::List, list, opt, seq, text};

#[derive(Clone, Debug)]
struct Column {
    name: String,
    sort: &'static Sort,
    generated: bool,
    /// A unique index or an exclusion is over it.
    keyed: bool,
}

/// A partition, and its bounds.
#[derive(Clone, Debug)]
struct Partition {
    name: String,
    bounds: String,
    attached: bool,
}

#[derive(Clone, Debug)]
struct Relation {
    name: String,
    columns: Vec<Column>,
    /// Its partition key is the column `k`.
    key: Option<&'static Sort>,
    parts: Vec<Partition>,
    primary: bool,
    view: Option<String>,
}

struct Script {
    rng: Rng,
    tables: Vec<Relation>,
    stored: Vec<String>,
    walks: Vec<String>,
    next: i64,
    names: usize,
    open: bool,
    as_reader: bool,
}

/// The script of a case.
pub(super) fn script(rng: Rng) -> Vec<Statement> {
    let mut s = Script {
        rng,
        tables: Vec::new(),
        stored: Vec::new(),
        walks: Vec::new(),
        next: 1,
        names: 0,
        open: false,
        as_reader: false,
    };
    let mut all = vec![text("CREATE TABLE journal (what text, old text, new text)")];
    for n in 0..s.rng.between(2, 3) {
        all.extend(s.table(n));
    }
    for at in 0..s.tables.len() {
        all.push(s.insert(at));
        all.push(s.insert(at));
        all.extend(s.hang(at));
    }
    all.push(text("GRANT ALL ON ALL TABLES IN SCHEMA public TO reader"));
    all.push(text("GRANT USAGE ON SCHEMA public TO reader"));
    let mut ordered = Vec::new();
    for _ in 0..s.rng.between(14, 28) {
        let at = s.rng.below(s.tables.len());
        let more = s.statement(at);
        // A query that says an order says it last.
        ordered.extend(more);
    }
    all.extend(ordered);
    all.push(text(if s.rng.chance(85) { "COMMIT" } else { "ROLLBACK" }));
    all.push(text("RESET ROLE"));
    for table in &s.tables {
        let name = &table.name;
        all.push(text(match table.key {
            Some(_) => format!("SELECT tableoid::regclass, * FROM {name}"),
            None => format!("SELECT * FROM {name}"),
        }));
        for part in &table.parts {
            all.push(text(format!("SELECT * FROM {}", part.name)));
        }
        if let Some(view) = &table.view {
            all.push(text(format!("SELECT * FROM {view}")));
        }
    }
    all.extend(s.stored.iter().map(|v| text(format!("SELECT * FROM {v}"))));
    all.push(text("SELECT * FROM journal"));
    all.push(text(
        "SELECT relname, pg_get_expr(relpartbound, oid) FROM pg_class WHERE relispartition AND relkind IN ('r', 'p')",
    ));
    all.push(text("SELECT tgname, tgrelid::regclass, tgenabled FROM pg_trigger WHERE NOT tgisinternal AND tgparentid = 0"));
    all.into_iter().map(statement).collect()
}

/// Rows of queries that end in ORDER BY come in that order.
fn statement(node: Node) -> Statement {
    let ordered = node.render().contains(" ORDER BY 1, 2, 3");
    Statement { ordered, ..plain(node) }
}

impl Relation {
    fn free(&self) -> Vec<&Column> {
        self.columns.iter().filter(|c| !c.generated).collect()
    }

    /// `id`, `k` if there is one, and those that are given values.
    fn names(&self) -> String {
        let mut names = vec!["id"];
        names.extend(self.key.map(|_| "k"));
        names.extend(self.free().iter().map(|c| c.name.as_str()));
        names.join(", ")
    }

    fn identity(&self) -> &'static str {
        if self.key.is_some() { "id, k" } else { "id" }
    }
}

impl Script {
    fn name(&mut self, prefix: &str) -> String {
        self.names += 1;
        format!("{prefix}{}", self.names)
    }

    fn table(&mut self, n: i64) -> Vec<Node> {
        let name = format!("t{n}");
        let key = self.rng.chance(65).then(|| self.rng.pick(KEYS));
        let primary = self.rng.chance(80);
        let mut columns: Vec<Column> = Vec::new();
        let mut defs = vec![text("id integer")];
        defs.extend(key.map(|k| text(format!("k {}", k.name))));
        for i in 0..self.rng.between(2, 4) {
            let sort = self.rng.pick(SORTS);
            let (name, mut keyed) = (format!("c{i}"), false);
            let mut def = vec![text(format!("{name} {}", sort.name))];
            match self.rng.below(10) {
                0 => def.push(opt(text(format!(" DEFAULT {}", self.rng.pick(sort.literals))))),
                1 => def.push(opt(text(format!(" CHECK ({})", sort.condition(&mut self.rng, &name))))),
                2 => def.push(opt(text(" NOT NULL"))),
                3 if key.is_none() && sort.name.ends_with("range") => {
                    keyed = true;
                    def.push(opt(text(format!(", EXCLUDE USING gist ({name} WITH &&)"))));
                }
                _ => {}
            }
            defs.push(seq(def));
            columns.push(Column { name, sort, generated: false, keyed });
        }
        if self.rng.chance(40) {
            let base = self.rng.pick(&columns).clone();
            // What depends on the time zone cannot be generated.
            if !["timestamptz", "interval", "daterange"].contains(&base.sort.name) {
                let expression = self.rng.pick(base.sort.same).replace("{}", &base.name);
                let ty = base.sort.name;
                defs.push(opt(text(format!("g {ty} GENERATED ALWAYS AS ({expression}) STORED"))));
                columns.push(Column { name: "g".to_owned(), sort: base.sort, generated: true, keyed: true });
            }
        }
        if primary {
            defs.push(text(format!("PRIMARY KEY (id{})", if key.is_some() { ", k" } else { "" })));
        }
        let mut table = Relation { name, columns, key, parts: Vec::new(), primary, view: None };
        let mut create = vec![text(format!("CREATE TABLE {} (", table.name)), list(defs, 2), text(")")];
        let mut all = Vec::new();
        if let Some(key) = key {
            let (strategy, bounds) = self.bounds(key);
            create.push(text(format!(" PARTITION BY {strategy} (k)")));
            for (i, bounds) in bounds.into_iter().enumerate() {
                let part = format!("{}p{i}", table.name);
                let sub =
                    if bounds != "DEFAULT" && self.rng.chance(15) { " PARTITION BY HASH (id)" } else { "" };
                all.push(text(format!(
                    "CREATE TABLE {part} PARTITION OF {} {}{bounds}{sub}",
                    table.name,
                    if bounds == "DEFAULT" { "" } else { "FOR VALUES " }
                )));
                for i in 0..if sub.is_empty() { 0 } else { 2 } {
                    all.push(text(format!(
                        "CREATE TABLE {part}{} PARTITION OF {part} FOR VALUES WITH (MODULUS 2, REMAINDER {i})",
                        ["a", "b"][i]
                    )));
                }
                table.parts.push(Partition { name: part, bounds, attached: true });
            }
        }
        all.insert(0, seq(create));
        self.tables.push(table);
        all
    }

    fn bounds(&mut self, key: &Sort) -> (&'static str, Vec<String>) {
        let mut all: Vec<String> = Vec::new();
        let strategy = match (key.name, self.rng.below(3)) {
            (_, 0) if key.name != "mood" => {
                let modulus = self.rng.between(2, 3);
                all.extend((0..modulus).map(|i| format!("WITH (MODULUS {modulus}, REMAINDER {i})")));
                return ("HASH", all);
            }
            ("integer" | "date" | "text", 1) => {
                let cuts: [&str; 2] = match key.name {
                    "integer" => ["2", "5"],
                    "date" => ["'2024-01-15'", "'2024-07-04'"],
                    _ => ["'abc'", "'x'"],
                };
                all.push(format!("FROM (MINVALUE) TO ({})", cuts[0]));
                all.push(format!("FROM ({}) TO ({})", cuts[0], cuts[1]));
                if self.rng.chance(50) {
                    all.push(format!("FROM ({}) TO (MAXVALUE)", cuts[1]));
                }
                "RANGE"
            }
            _ => {
                let half = key.literals.len() / 2;
                let null = if self.rng.chance(40) { ", NULL" } else { "" };
                all.push(format!("IN ({}{null})", key.literals[..half].join(", ")));
                all.push(format!("IN ({})", key.literals[half..key.literals.len() - 1].join(", ")));
                "LIST"
            }
        };
        if self.rng.chance(55) {
            all.push("DEFAULT".to_owned());
        }
        (strategy, all)
    }

    /// Triggers, policies, views, indexes of a table.
    fn hang(&mut self, at: usize) -> Vec<Node> {
        let mut all = Vec::new();
        if self.rng.chance(45) {
            all.extend(self.row_trigger(at));
        }
        if self.rng.chance(35) {
            all.extend(self.statement_trigger(at));
        }
        if self.rng.chance(20) {
            all.extend(self.deferred_trigger(at));
        }
        if self.rng.chance(35) {
            all.extend(self.policies(at));
        }
        if self.rng.chance(45) {
            all.push(self.view(at));
        }
        if self.rng.chance(30) {
            all.push(self.stored_view(at));
        }
        if self.rng.chance(40) {
            all.push(self.index(at));
        }
        if self.rng.chance(35) {
            all.push(self.walk(at));
        }
        all
    }

    fn column(&mut self, at: usize) -> Column {
        self.rng.pick(&self.tables[at].columns).clone()
    }

    fn free_column(&mut self, at: usize) -> Option<Column> {
        let free: Vec<Column> =
            self.tables[at].columns.iter().filter(|c| !c.generated && !c.keyed).cloned().collect();
        if free.is_empty() { None } else { Some(self.rng.pick(&free).clone()) }
    }

    fn row_trigger(&mut self, at: usize) -> Vec<Node> {
        let (table, name) = (self.tables[at].name.clone(), self.name("g"));
        let c = self.column(at);
        let before = self.rng.chance(55);
        let events =
            *self.rng.pick(&["INSERT", "INSERT OR UPDATE", "INSERT OR UPDATE OR DELETE", "UPDATE", "DELETE"]);
        let mut body = format!(
            "INSERT INTO journal VALUES (TG_NAME || ' ' || TG_OP || ' ' || TG_WHEN || ' ' || TG_TABLE_NAME, OLD.{0}::text, NEW.{0}::text);",
            if before && c.generated { "id" } else { c.name.as_str() }
        );
        if before
            && self.rng.chance(50)
            && let Some(c) = self.free_column(at)
        {
            let value = c.sort.expression(&mut self.rng, &format!("NEW.{}", c.name));
            body += &format!(" IF TG_OP <> 'DELETE' THEN NEW.{} := {value}; END IF;", c.name);
        }
        if let Some(key) = self.tables[at].key.filter(|_| before && self.rng.chance(12)) {
            let value = self.rng.pick(key.literals);
            body += &format!(" IF TG_OP <> 'DELETE' AND NEW.id % 3 = 1 THEN NEW.k := {value}; END IF;");
        }
        if before && self.rng.chance(25) {
            body += " IF TG_OP = 'INSERT' AND NEW.id % 5 = 4 THEN RETURN NULL; END IF;";
        }
        if self.rng.chance(10) {
            body += " IF TG_OP = 'DELETE' AND OLD.id % 7 = 6 THEN RAISE EXCEPTION 'row % stays', OLD.id USING ERRCODE = '23001'; END IF;";
        }
        body += " IF TG_OP = 'DELETE' THEN RETURN OLD; END IF; RETURN NEW;";
        let when = match (events, self.rng.chance(25)) {
            ("INSERT" | "INSERT OR UPDATE", true) => " WHEN (NEW.id > 2)",
            ("DELETE", true) => " WHEN (OLD.id > 2)",
            ("UPDATE", true) => " WHEN (OLD.* IS DISTINCT FROM NEW.*)",
            _ => "",
        };
        let when = if before && when.contains("OLD.*") { "" } else { when };
        vec![
            text(format!(
                "CREATE FUNCTION f{name}() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN {body} END $$"
            )),
            seq([
                text(format!(
                    "CREATE TRIGGER {name} {} {events} ON {table} FOR EACH ROW",
                    if before { "BEFORE" } else { "AFTER" }
                )),
                opt(text(when)),
                text(format!(" EXECUTE FUNCTION f{name}()")),
            ]),
        ]
    }

    fn statement_trigger(&mut self, at: usize) -> Vec<Node> {
        let (table, name) = (self.tables[at].name.clone(), self.name("g"));
        let c = self.column(at);
        let (event, old, new) =
            *self.rng.pick(&[("INSERT", false, true), ("UPDATE", true, true), ("DELETE", true, false)]);
        let all = |rows: &str| {
            format!(
                "(SELECT count(*) || ':' || coalesce(string_agg(id || '=' || coalesce({}::text, '-'), ' ' ORDER BY id, {}::text), '') FROM {rows})",
                c.name, c.name
            )
        };
        let (was, is) = (
            if old { all("gone") } else { "NULL".to_owned() },
            if new { all("fresh") } else { "NULL".to_owned() },
        );
        let referencing = match (old, new) {
            (true, true) => "OLD TABLE AS gone NEW TABLE AS fresh",
            (true, _) => "OLD TABLE AS gone",
            _ => "NEW TABLE AS fresh",
        };
        vec![
            text(format!(
                "CREATE FUNCTION f{name}() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN INSERT INTO journal VALUES (TG_NAME || TG_OP || TG_LEVEL, {was}, {is}); RETURN NULL; END $$"
            )),
            text(format!(
                "CREATE TRIGGER {name} AFTER {event} ON {table} REFERENCING {referencing} FOR EACH STATEMENT EXECUTE FUNCTION f{name}()"
            )),
        ]
    }

    fn deferred_trigger(&mut self, at: usize) -> Vec<Node> {
        let (table, name) = (self.tables[at].name.clone(), self.name("g"));
        let initially = *self.rng.pick(&["DEFERRED", "IMMEDIATE"]);
        let body = match self.rng.below(2) {
            0 => format!("INSERT INTO journal SELECT '{name}', NEW.id::text, count(*)::text FROM {table};"),
            _ => format!(
                "IF (SELECT count(*) FROM {table}) > 12 THEN RAISE EXCEPTION 'too many rows' USING ERRCODE = '23514'; END IF;"
            ),
        };
        vec![
            text(format!(
                "CREATE FUNCTION f{name}() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN {body} RETURN NULL; END $$"
            )),
            text(format!(
                "CREATE CONSTRAINT TRIGGER {name} AFTER INSERT OR UPDATE ON {table} DEFERRABLE INITIALLY {initially} FOR EACH ROW EXECUTE FUNCTION f{name}()"
            )),
        ]
    }

    fn policies(&mut self, at: usize) -> Vec<Node> {
        let table = self.tables[at].name.clone();
        let mut all = vec![text(format!("ALTER TABLE {table} ENABLE ROW LEVEL SECURITY"))];
        for _ in 0..self.rng.between(1, 3) {
            let (name, c) = (self.name("pol"), self.column(at));
            let command = *self.rng.pick(&["ALL", "ALL", "SELECT", "INSERT", "UPDATE", "DELETE"]);
            let restrictive = if self.rng.chance(20) { " AS RESTRICTIVE" } else { "" };
            let to = if self.rng.chance(60) { " TO reader" } else { "" };
            let using = match self.rng.chance(40) {
                true => "id % 3 <> 1".to_owned(),
                false => c.sort.condition(&mut self.rng, &c.name),
            };
            let check = if self.rng.chance(50) {
                "id > 0".to_owned()
            } else {
                c.sort.condition(&mut self.rng, &c.name)
            };
            let using = if command == "INSERT" { String::new() } else { format!(" USING ({using})") };
            let check = match command {
                "SELECT" | "DELETE" => String::new(),
                "INSERT" => format!(" WITH CHECK ({check})"),
                _ if self.rng.chance(50) => format!(" WITH CHECK ({check})"),
                _ => String::new(),
            };
            all.push(text(format!(
                "CREATE POLICY {name} ON {table}{restrictive} FOR {command}{to}{using}{check}"
            )));
        }
        all
    }

    fn view(&mut self, at: usize) -> Node {
        let name = self.name("v");
        let c = self.column(at);
        let condition = c.sort.condition(&mut self.rng, &c.name);
        let option = *self.rng.pick(&["", " WITH CHECK OPTION", " WITH LOCAL CHECK OPTION"]);
        let table = &mut self.tables[at];
        let mut names = table.names();
        if table.columns.iter().any(|c| c.generated) {
            names += ", g";
        }
        table.view = Some(name.clone());
        seq([
            text(format!("CREATE VIEW {name} AS SELECT {names} FROM {}", table.name)),
            opt(text(format!(" WHERE {condition}"))),
            opt(text(option)),
        ])
    }

    fn stored_view(&mut self, at: usize) -> Node {
        let name = self.name("m");
        let c = self.column(at);
        self.stored.push(name.clone());
        let data = if self.rng.chance(20) { " WITH NO DATA" } else { "" };
        text(format!(
            "CREATE MATERIALIZED VIEW {name} AS SELECT {0}, count(*) AS n, min(id) AS low FROM {1} GROUP BY {0}{data}",
            c.name, self.tables[at].name
        ))
    }

    fn index(&mut self, at: usize) -> Node {
        let c = self.column(at);
        let keyable = !["jsonb", "text[]", "integer[]", "mood[]"].contains(&c.sort.name);
        let table = self.tables[at].name.clone();
        let d = self.column(at);
        let condition = d.sort.condition(&mut self.rng, &d.name);
        let partial = opt(text(format!(" WHERE {condition}")));
        match self.rng.below(3) {
            0 if self.tables[at].key.is_none() => {
                // Updates row by row could meet it on the way.
                for column in &mut self.tables[at].columns {
                    column.keyed |= column.name == c.name || column.name == d.name;
                }
                seq([text(format!("CREATE UNIQUE INDEX ON {table} (({}::text), (id % 4))", c.name)), partial])
            }
            1 if keyable => seq([text(format!("CREATE INDEX ON {table} ({}, id)", c.name)), partial]),
            _ => seq([text(format!("CREATE INDEX ON {table} (id, ({}::text))", d.name)), partial]),
        }
    }

    /// A procedure that goes through rows with a cursor, and changes some.
    fn walk(&mut self, at: usize) -> Node {
        let name = self.name("walk");
        let filter = self.filter(at);
        let table = self.tables[at].name.clone();
        let order = self.tables[at].identity();
        let change = match self.free_column(at) {
            Some(c) if self.rng.chance(70) => {
                let value = c.sort.expression(&mut self.rng, &c.name);
                format!("UPDATE {table} SET {} = {value} WHERE CURRENT OF cu", c.name)
            }
            _ => format!("DELETE FROM {table} WHERE CURRENT OF cu"),
        };
        let end = *self.rng.pick(&[
            "",
            " TRUNCATE journal;",
            " EXCEPTION WHEN integrity_constraint_violation OR data_exception THEN done := -1;",
        ]);
        self.walks.push(name.clone());
        text(format!(
            "CREATE PROCEDURE {name}(INOUT done integer) LANGUAGE plpgsql AS $$ DECLARE cu CURSOR FOR SELECT * FROM {table} WHERE {filter} ORDER BY {order} FOR UPDATE; r record; BEGIN OPEN cu; LOOP FETCH cu INTO r; EXIT WHEN NOT FOUND OR done > 3; IF r.id % 2 = 0 THEN {change}; END IF; done := done + 1; END LOOP; CLOSE cu;{end} END $$"
        ))
    }

    fn filter(&mut self, at: usize) -> String {
        let (key, c) = (self.tables[at].key, self.column(at));
        let one = match (key, self.rng.below(4)) {
            (Some(key), 0 | 1) => key.condition(&mut self.rng, "k"),
            (_, 2) => {
                format!("id {} {}", self.rng.pick(&["<", ">", "=", "<>"]), self.rng.between(1, self.next))
            }
            _ => c.sort.condition(&mut self.rng, &c.name),
        };
        if self.rng.chance(25) {
            let c = self.column(at);
            let word = *self.rng.pick(&["AND", "OR"]);
            return format!("({one}) {word} ({})", c.sort.condition(&mut self.rng, &c.name));
        }
        one
    }

    fn row(&mut self, at: usize, fresh: bool, typed: bool) -> String {
        let table = self.tables[at].clone();
        let id = if fresh { self.next } else { self.rng.between(1, self.next) };
        self.next += i64::from(fresh);
        let mut values = vec![id.to_string()];
        let cast =
            |value: String, sort: &Sort| if typed { format!("({value})::{}", sort.name) } else { value };
        if let Some(key) = table.key {
            let value = if self.rng.chance(4) {
                "NULL".to_owned()
            } else {
                (*self.rng.pick(key.literals)).to_owned()
            };
            values.push(cast(value, key));
        }
        for c in table.free() {
            let default = !typed && self.rng.chance(6);
            values.push(if default {
                "DEFAULT".to_owned()
            } else {
                cast(c.sort.value(&mut self.rng), c.sort)
            });
        }
        format!("({})", values.join(", "))
    }

    fn insert(&mut self, at: usize) -> Node {
        let fresh = self.rng.chance(85) || !self.tables[at].primary;
        let rows: Vec<Node> = (0..self.rng.between(1, 4)).map(|_| text(self.row(at, fresh, false))).collect();
        let table = self.tables[at].clone();
        let target = match (&table.view, self.rng.chance(20)) {
            (Some(view), true) => view.clone(),
            _ => table.name.clone(),
        };
        let mut parts =
            vec![text(format!("INSERT INTO {target} ({}) VALUES ", table.names())), list(rows, 1)];
        if table.primary && self.rng.chance(if fresh { 15 } else { 70 }) {
            let keyed = table.columns.iter().any(|c| c.keyed && !c.generated);
            match self.free_column(at) {
                Some(c) if !keyed && self.rng.chance(70) => {
                    let value = match self.rng.chance(50) {
                        true => format!("excluded.{}", c.name),
                        false => c.sort.expression(&mut self.rng, &format!("{target}.{}", c.name)),
                    };
                    parts.push(opt(text(format!(
                        " ON CONFLICT ({}) DO UPDATE SET {} = {value}",
                        table.identity(),
                        c.name
                    ))));
                }
                _ => parts.push(opt(text(" ON CONFLICT DO NOTHING"))),
            }
        }
        parts.push(self.returning(at));
        seq(parts)
    }

    fn returning(&mut self, at: usize) -> Node {
        if self.rng.chance(70) {
            return text("");
        }
        let c = self.column(at);
        let shown = self.rng.pick(c.sort.shown).replace("{}", &c.name);
        let all = *self.rng.pick(&["*", "id"]);
        opt(text(format!(" RETURNING {all}, {shown}")))
    }

    fn target(&mut self, at: usize) -> String {
        let table = &self.tables[at];
        match (&table.view, self.rng.below(10)) {
            (Some(view), 0..=2) => view.clone(),
            // What single partitions are asked.
            (_, 3) if !table.parts.is_empty() => self.rng.pick(&table.parts).name.clone(),
            _ => table.name.clone(),
        }
    }

    fn update(&mut self, at: usize) -> Node {
        let (table, target) = (self.tables[at].clone(), self.target(at));
        let mut items = Vec::new();
        if let Some(c) = self.free_column(at) {
            items.push(text(format!("{} = {}", c.name, c.sort.expression(&mut self.rng, &c.name))));
        }
        if let Some(key) = table.key.filter(|_| self.rng.chance(30)) {
            items.push(text(format!("k = {}", self.rng.pick(key.literals))));
        }
        if items.is_empty() {
            return self.query(at);
        }
        let filter = self.filter(at);
        let returning = self.returning(at);
        seq([
            text(format!("UPDATE {target} SET ")),
            list(items, 1),
            opt(text(format!(" WHERE {filter}"))),
            returning,
        ])
    }

    fn delete(&mut self, at: usize) -> Node {
        let (target, filter) = (self.target(at), self.filter(at));
        let returning = self.returning(at);
        seq([text(format!("DELETE FROM {target} WHERE ({filter}) AND id % 3 <> 0")), returning])
    }

    fn merge(&mut self, at: usize) -> Node {
        let rows: Vec<Node> = (0..self.rng.between(1, 3))
            .map(|_| {
                let fresh = self.rng.chance(40) || !self.tables[at].primary;
                text(self.row(at, fresh, true))
            })
            .collect();
        let table = self.tables[at].clone();
        let names = table.names();
        let c = self.column(at);
        let condition = c.sort.condition(&mut self.rng, &format!("t.{}", c.name));
        let on = if table.key.is_some() { "t.id = s.id AND t.k = s.k" } else { "t.id = s.id" };
        let mut whens = Vec::new();
        if self.rng.chance(40) {
            whens.push(text(format!(
                " WHEN MATCHED AND {condition} THEN {}",
                self.rng.pick(&["DELETE", "DO NOTHING"])
            )));
        }
        if let Some(c) = self.free_column(at) {
            let of = *self.rng.pick(&["s", "t"]);
            let value = c.sort.expression(&mut self.rng, &format!("{of}.{}", c.name));
            whens.push(text(format!(" WHEN MATCHED THEN UPDATE SET {} = {value}", c.name)));
        }
        let values: Vec<String> = names.split(", ").map(|n| format!("s.{n}")).collect();
        whens.push(text(format!(" WHEN NOT MATCHED THEN INSERT ({names}) VALUES ({})", values.join(", "))));
        seq([
            text(format!("MERGE INTO {} t USING (VALUES ", table.name)),
            list(rows, 1),
            text(format!(") s ({names}) ON {on}")),
            List { items: whens, separator: "", min: 1 },
        ])
    }

    fn with(&mut self, at: usize) -> Node {
        let (table, c, filter) = (self.tables[at].name.clone(), self.column(at), self.filter(at));
        let change = match (self.rng.below(3), self.free_column(at)) {
            (0, _) => format!("DELETE FROM {table} WHERE id % 4 = 1 AND ({filter})"),
            (1, Some(c)) => {
                format!("UPDATE {table} SET {} = {} WHERE {filter}", c.name, c.sort.value(&mut self.rng))
            }
            _ => format!(
                "INSERT INTO {table} ({}) VALUES {}",
                self.tables[at].names(),
                self.row(at, true, false)
            ),
        };
        let c = &c.name;
        let then = match self.rng.below(2) {
            0 => format!("INSERT INTO journal SELECT 'with', id::text, {c}::text FROM w RETURNING *"),
            _ => format!(
                "SELECT count(*), string_agg(coalesce({c}::text, '-'), ',' ORDER BY {c}::text) FROM w"
            ),
        };
        text(format!("WITH w AS ({change} RETURNING id, {c}) {then}"))
    }

    fn query(&mut self, at: usize) -> Node {
        let (target, table, c) = (self.target(at), self.tables[at].clone(), self.column(at));
        let filter = opt(text(format!(" WHERE {}", self.filter(at))));
        let shown: Vec<Node> = (0..self.rng.between(1, 3))
            .map(|_| {
                let c = self.column(at);
                text(self.rng.pick(c.sort.shown).replace("{}", &c.name))
            })
            .collect();
        match self.rng.below(6) {
            0 => seq([
                text(format!("SELECT {0}, count(*), count(DISTINCT id) FROM {target}", c.name)),
                filter,
                text(format!(" GROUP BY {} ORDER BY 1, 2, 3", c.name)),
            ]),
            1 => seq([
                text(format!("SELECT id, {}, ", c.name)),
                list(shown, 1),
                text(format!(" FROM {target}")),
                filter,
                text(format!(" ORDER BY {}, {}, id", c.name, table.identity())),
            ]),
            2 => {
                let other = self.rng.below(self.tables.len());
                let d = self.column(other);
                let on = match d.sort.name == c.sort.name {
                    true => format!("a.{} = b.{}", c.name, d.name),
                    false => "a.id = b.id".to_owned(),
                };
                let join = *self.rng.pick(&["JOIN", "LEFT JOIN", "FULL JOIN"]);
                let other = self.target(other);
                text(format!(
                    "SELECT a.id, a.{}, b.id, b.{} FROM {target} a {join} {other} b ON {on}",
                    c.name, d.name
                ))
            }
            3 if table.key.is_some() => seq([
                text(format!("SELECT tableoid::regclass, count(*), min(id), max(id) FROM {}", table.name)),
                filter,
                text(" GROUP BY 1"),
            ]),
            4 => text(format!(
                "SELECT id, {0}, row_number() OVER (ORDER BY {0}, {1}), lag(id) OVER (PARTITION BY {0} ORDER BY {1}) FROM {2}",
                c.name,
                table.identity(),
                table.name
            )),
            _ => seq([text("SELECT id, "), list(shown, 1), text(format!(" FROM {target}")), filter]),
        }
    }

    /// Changes of the schema.
    fn define(&mut self, at: usize) -> Node {
        let table = self.tables[at].clone();
        let name = &table.name;
        match self.rng.below(14) {
            0..=3 if !table.parts.is_empty() => {
                let n = self.rng.below(table.parts.len());
                let part = &mut self.tables[at].parts[n];
                part.attached = !part.attached;
                let values = if part.bounds == "DEFAULT" { "" } else { "FOR VALUES " };
                match part.attached {
                    true => text(format!(
                        "ALTER TABLE {name} ATTACH PARTITION {} {values}{}",
                        part.name, part.bounds
                    )),
                    false => text(format!("ALTER TABLE {name} DETACH PARTITION {}", part.name)),
                }
            }
            4 if table.key.is_some() => {
                let part = self.name(&format!("{name}q"));
                let value = table.key.map_or("1", |k| k.literals[k.literals.len() - 1]);
                text(format!("CREATE TABLE {part} PARTITION OF {name} FOR VALUES IN ({value})"))
            }
            5 => {
                let sort = self.rng.pick(SORTS);
                let column = self.name("c");
                let default = match self.rng.chance(60) {
                    true => format!(" DEFAULT {}", self.rng.pick(sort.literals)),
                    false => String::new(),
                };
                self.tables[at].columns.push(Column {
                    name: column.clone(),
                    sort,
                    generated: false,
                    keyed: false,
                });
                text(format!("ALTER TABLE {name} ADD COLUMN {column} {}{default}", sort.name))
            }
            6 => self.index(at),
            7 => {
                let word = *self.rng.pick(&["ENABLE", "DISABLE"]);
                text(format!("ALTER TABLE {name} {word} TRIGGER {}", self.rng.pick(&["USER", "ALL"])))
            }
            8 => {
                let word = *self.rng.pick(&["ENABLE", "DISABLE", "FORCE", "NO FORCE"]);
                text(format!("ALTER TABLE {name} {word} ROW LEVEL SECURITY"))
            }
            9 => match table.parts.is_empty() {
                false if self.rng.chance(60) => {
                    text(format!("TRUNCATE {}", self.rng.pick(&table.parts).name))
                }
                _ => text("TRUNCATE journal"),
            },
            10 => {
                let d = self.name("d");
                let count = self.rng.between(1, 3);
                text(format!(
                    "DO $$ DECLARE n integer; BEGIN FOR i IN 1..{count} LOOP EXECUTE format('CREATE TABLE %I AS SELECT * FROM {name}', '{d}_' || i); END LOOP; SELECT count(*) INTO n FROM {d}_1; INSERT INTO journal VALUES ('do', n::text, NULL); IF n > 5 THEN DROP TABLE {d}_1; END IF; END $$"
                ))
            }
            11 => {
                let c = self.column(at);
                let condition = c.sort.condition(&mut self.rng, &c.name);
                let not_valid = *self.rng.pick(&["", " NOT VALID"]);
                text(format!("ALTER TABLE {name} ADD CHECK ({condition}){not_valid}"))
            }
            12 => {
                let c = self.column(at);
                let more = *self.rng.pick(&["SET NOT NULL", "DROP NOT NULL", "DROP DEFAULT"]);
                text(format!("ALTER TABLE {name} ALTER COLUMN {} {more}", c.name))
            }
            _ => match self.stored.is_empty() {
                false => text(format!("REFRESH MATERIALIZED VIEW {}", self.rng.pick(&self.stored))),
                true => text(format!("COMMENT ON TABLE {name} IS 'seen'")),
            },
        }
    }

    fn statement(&mut self, at: usize) -> Vec<Node> {
        match self.rng.below(100) {
            0..=17 => vec![self.insert(at)],
            18..=32 => vec![self.update(at)],
            33..=38 => vec![self.delete(at)],
            39..=46 => vec![self.merge(at)],
            47..=53 => vec![self.with(at)],
            54..=70 => vec![self.query(at)],
            71..=82 => vec![self.define(at)],
            83..=86 if !self.walks.is_empty() => {
                vec![text(format!("CALL {}(0)", self.rng.pick(&self.walks)))]
            }
            83..=88 => {
                self.as_reader = !self.as_reader;
                vec![text(if self.as_reader { "SET ROLE reader" } else { "RESET ROLE" })]
            }
            89..=92 if self.open => {
                let (name, filter) = (self.name("cu"), self.filter(at));
                let table = &self.tables[at];
                vec![
                    text(format!(
                        "DECLARE {name} CURSOR FOR SELECT * FROM {} WHERE {filter} ORDER BY {}",
                        table.name,
                        table.identity()
                    )),
                    text(format!("FETCH 2 FROM {name}")),
                    text(format!("FETCH ALL FROM {name}")),
                    text(format!("CLOSE {name}")),
                ]
            }
            _ => {
                let word = match (self.open, self.rng.below(8)) {
                    (false, _) => "BEGIN",
                    (true, 0 | 1) => "COMMIT",
                    (true, 2) => "ROLLBACK",
                    (true, 3 | 4) => "SAVEPOINT s",
                    (true, 5) => "ROLLBACK TO s",
                    (true, 6) => "SET CONSTRAINTS ALL DEFERRED",
                    (true, _) => "SET CONSTRAINTS ALL IMMEDIATE",
                };
                self.open = self.open && !matches!(word, "COMMIT" | "ROLLBACK") || word == "BEGIN";
                vec![text(word)]
            }
        }
    }
}
