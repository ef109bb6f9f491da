//! Schemas of random shapes (keys of columns of all types, unique and partial indexes, foreign keys with actions, generated
//! columns, checks, identities, triggers) with procedures over them; calls, statements, blocks, schema changes and checkpoints
//! in turns: every scheme of recovery restores what they left.

use crate::cut_shapes::{Dice, restored_by_every_scheme};
use crate::cut_together::{does, said};
use planaria::{Database, Session, SqlState};
use std::fmt::Write;

/// A type of columns: its name, few values, so that keys meet, and another value made of one.
struct Type {
    name: &'static str,
    values: [&'static str; 4],
    change: &'static str,
}

const fn ty(name: &'static str, values: [&'static str; 4], change: &'static str) -> Type {
    Type { name, values, change }
}

/// The first one counts things.
const INT: usize = 0;
const TYPES: [Type; 17] = [
    ty("int", ["1", "2", "3", "4"], "# + 1"),
    ty("bigint", ["1", "2", "5000000000", "-4"], "# - 1"),
    ty("smallint", ["1", "2", "3", "-4"], "(# % 3)::smallint"),
    ty("text", ["'a'", "'b'", "''", "'a text longer than others'"], "left(# || 'z', 12)"),
    ty("varchar(4)", ["'a'", "'ab'", "'abc'", "''"], "left('q' || #, 4)"),
    ty("char(3)", ["'a'", "'ab'", "'abc'", "''"], "upper(#)"),
    ty("date", ["'2024-01-01'", "'2024-01-02'", "'1999-12-31'", "'2024-02-29'"], "# + 1"),
    ty("numeric(6,2)", ["1", "1.50", "2.25", "-3"], "# * 1.5"),
    ty("numeric", ["1", "1.0", "2.50", "-3"], "# + 0.25"),
    ty(
        "uuid",
        ["md5('1')::uuid", "md5('2')::uuid", "md5('a')::uuid", "md5('b')::uuid"],
        "md5(#::text)::uuid",
    ),
    ty("bool", ["true", "false", "true", "false"], "NOT #"),
    ty(
        "timestamp",
        ["'2024-01-01 10:00'", "'2024-01-01 10:00:00.5'", "'1999-12-31'", "'2024-01-02'"],
        "# + interval '1 hour'",
    ),
    ty("bytea", [r"'\x01'", r"'\x0100'", r"'\x'", r"'\xff'"], "# || '\\x00'::bytea"),
    ty("float8", ["1.5", "0", "'-0'", "'NaN'"], "# * 2"),
    ty("int[]", ["'{1,2}'", "'{}'", "'{NULL}'", "'{1,2,3}'"], "# || 4"),
    ty("interval", ["'1 day'", "'24 hours'", "'1 mon'", "'0'"], "# * 2"),
    ty("mood", ["'calm'", "'glad'", "'wild'", "'glad'"], "coalesce(nullif(#, 'wild'), 'calm')"),
];

#[derive(Clone)]
struct Column {
    name: String,
    ty: usize,
}

struct Table {
    name: String,
    /// The first ones are its key; generated ones are not among them.
    columns: Vec<Column>,
    keys: usize,
    /// Columns that are read only.
    generated: Vec<Column>,
}

impl Table {
    fn of(&self, ty: usize) -> Vec<&str> {
        let all = self.columns.iter().chain(&self.generated);
        all.filter(|c| c.ty == ty).map(|c| c.name.as_str()).collect()
    }

    fn key(&self) -> String {
        names(&self.columns[..self.keys])
    }
}

fn names(columns: &[Column]) -> String {
    columns.iter().map(|c| c.name.as_str()).collect::<Vec<_>>().join(", ")
}

/// What there is, and what has been done.
pub(crate) struct World {
    tables: Vec<Table>,
    /// The types of parameters of each procedure; and those of functions, which answer the same.
    procedures: Vec<Vec<usize>>,
    functions: Vec<usize>,
    added: usize,
    /// Queries that answer nothing: rows whose parents are gone.
    pub(crate) orphans: Vec<String>,
    /// What defines it: a statement each.
    pub(crate) schema: Vec<String>,
}

const ACTIONS: [&str; 7] =
    ["CASCADE", "CASCADE", "CASCADE", "SET NULL", "SET NULL", "SET DEFAULT", "NO ACTION"];

impl World {
    pub(crate) fn new(dice: &mut Dice) -> World {
        let mut world = World {
            tables: Vec::new(),
            procedures: Vec::new(),
            functions: Vec::new(),
            added: 0,
            orphans: Vec::new(),
            schema: vec![
                "CREATE TYPE mood AS ENUM ('calm', 'glad', 'wild')".to_owned(),
                "CREATE SEQUENCE s".to_owned(),
                format!(
                    "CREATE TABLE l ({}what text, k text, n int DEFAULT 7, at timestamptz DEFAULT now())",
                    dice.one(&[
                        "id serial PRIMARY KEY, ",
                        "id int GENERATED ALWAYS AS IDENTITY UNIQUE, ",
                        ""
                    ])
                ),
                "CREATE TABLE c (id int PRIMARY KEY, n int NOT NULL DEFAULT 0)".to_owned(),
                "INSERT INTO c SELECT i FROM generate_series(0, 4) i".to_owned(),
            ],
        };
        for number in 0..2 + dice.below(2) {
            world.table(dice, number);
        }
        for number in 0..2 {
            let function = world.function(dice, number);
            world.schema.push(function);
        }
        for table in 0..world.tables.len() {
            if dice.below(2) == 0 {
                let trigger = world.trigger(dice, table);
                world.schema.extend(trigger);
            }
        }
        for number in 0..5 {
            let mut types: Vec<usize> = vec![INT];
            for _ in 0..2 {
                let table = &world.tables[dice.below(world.tables.len())];
                types.extend(table.columns[..table.keys].iter().map(|c| c.ty));
            }
            world.procedures.push(types);
            let procedure = world.procedure(dice, number, "");
            world.schema.push(procedure);
        }
        for table in 0..world.tables.len() {
            for _ in 0..8 {
                let mut body = Body::of(&world, dice, true);
                let row = body.insert(table);
                world.schema.push(row);
            }
        }
        world
    }

    fn table(&mut self, dice: &mut Dice, number: usize) {
        let column = |name: String, dice: &mut Dice| Column { name, ty: dice.below(TYPES.len()) };
        let mut columns: Vec<Column> =
            (0..1 + dice.below(3)).map(|n| column(format!("k{n}"), dice)).collect();
        if dice.below(3) == 0 {
            columns[0].ty = INT;
        }
        let mut keys = columns.len();
        let mut clauses = Vec::new();
        let name = format!("t{number}");
        // A parent: by columns of its own, or by its key.
        if number > 0 && dice.below(4) > 0 {
            let parent = &self.tables[dice.below(self.tables.len())];
            let to = &parent.columns[..parent.keys];
            let by_key = dice.below(3) == 0;
            let own: Vec<Column> =
                to.iter().map(|c| Column { name: format!("f{}", c.name), ty: c.ty }).collect();
            let actions = |dice: &mut Dice| match by_key {
                true => dice.one(&["CASCADE", "CASCADE", "NO ACTION"]).to_owned(),
                false => dice.one(&ACTIONS).to_owned(),
            };
            clauses.push(format!(
                "FOREIGN KEY ({}) REFERENCES {} ON DELETE {} ON UPDATE {}{}",
                names(&own),
                parent.name,
                actions(dice),
                actions(dice),
                dice.one(&["", "", "", " DEFERRABLE INITIALLY DEFERRED"])
            ));
            let on: Vec<String> =
                to.iter().map(|c| format!("{name}.f{0} = {1}.{0}", c.name, parent.name)).collect();
            let known = names(&own).replace(", ", " IS NOT NULL AND ");
            self.orphans.push(format!(
                "SELECT 1 FROM {name} WHERE {known} IS NOT NULL AND NOT EXISTS (SELECT 1 FROM {} WHERE {})",
                parent.name,
                on.join(" AND ")
            ));
            if by_key {
                columns.truncate(dice.below(2));
                columns = own.into_iter().chain(columns).collect();
                keys = columns.len();
            } else {
                columns.extend(own);
            }
        }
        let values = columns.len();
        columns.extend((0..2 + dice.below(3)).map(|n| column(format!("v{n}"), dice)));
        columns.push(Column { name: "w".to_owned(), ty: INT });
        let mut lines: Vec<String> = columns
            .iter()
            .enumerate()
            .map(|(n, c)| {
                let ty = &TYPES[c.ty];
                let value = ty.values[dice.below(4)];
                let more = match dice.below(if n < keys { 3 } else { 9 }) {
                    0 => format!(" DEFAULT {value}"),
                    3 if n >= values => format!(" NOT NULL DEFAULT {value}"),
                    4 if n >= values => format!(" CHECK ({} <> {value})", c.name),
                    5 if c.ty == INT => " DEFAULT nextval('s')".to_owned(),
                    _ => String::new(),
                };
                format!("{} {}{more}", c.name, ty.name)
            })
            .collect();
        let value = |dice: &mut Dice| columns[values + dice.below(columns.len() - values)].clone();
        let mut generated = Vec::new();
        if dice.below(3) == 0 {
            let of = value(dice);
            let (ty, made) = match dice.below(2) {
                0 => (10, format!("{} IS NULL", of.name)),
                _ => (
                    of.ty,
                    format!("coalesce({}, {}::{})", of.name, TYPES[of.ty].values[0], TYPES[of.ty].name),
                ),
            };
            lines.push(format!("g {} GENERATED ALWAYS AS ({made}) STORED", TYPES[ty].name));
            generated.push(Column { name: "g".to_owned(), ty });
        }
        let is_divided = columns[0].ty == INT && dice.below(3) == 0;
        match dice.below(6) {
            0 if !is_divided => lines.push(format!("UNIQUE ({})", value(dice).name)),
            1 => lines.push(format!("UNIQUE ({}, {})", columns[0].name, value(dice).name)),
            2 => lines.push(format!("UNIQUE NULLS NOT DISTINCT ({}, {})", value(dice).name, columns[0].name)),
            _ => {}
        }
        lines.push(format!("PRIMARY KEY ({})", names(&columns[..keys])));
        lines.extend(clauses);
        let divided =
            if is_divided { format!(" PARTITION BY RANGE ({})", columns[0].name) } else { String::new() };
        self.schema.push(format!("CREATE TABLE {name} ({}){divided}", lines.join(", ")));
        if is_divided {
            self.schema.extend([
                format!("CREATE TABLE {name}_low PARTITION OF {name} FOR VALUES FROM (MINVALUE) TO (3)"),
                format!("CREATE TABLE {name}_rest PARTITION OF {name} DEFAULT"),
            ]);
        }
        for _ in 0..dice.below(3) {
            let (of, other) = (value(dice), value(dice));
            let not = TYPES[other.ty].values[0];
            self.schema.push(match dice.below(5) {
                0 => format!("CREATE INDEX ON {name} ({})", of.name),
                1 => format!("CREATE INDEX ON {name} ({}, {})", of.name, columns[0].name),
                2 => format!("CREATE INDEX ON {name} ({}) WHERE {} <> {not}", of.name, other.name),
                3 if !is_divided => {
                    format!("CREATE UNIQUE INDEX ON {name} ({}) WHERE {} = {not}", of.name, other.name)
                }
                _ => format!("CREATE INDEX ON {name} (coalesce(w, 0), {})", of.name),
            });
        }
        self.tables.push(Table { name, columns, keys, generated });
    }

    /// A function that reads, and at times writes, too.
    fn function(&mut self, dice: &mut Dice, number: usize) -> String {
        let table = &self.tables[dice.below(self.tables.len())];
        let (key, value) = (&table.columns[0], &table.columns[dice.below(table.columns.len())]);
        let (name, ty) = (format!("f{number}"), TYPES[key.ty].name);
        let read = match value.ty == key.ty {
            true => format!("SELECT max({}::text)::{ty}", value.name),
            false => "SELECT x".to_owned(),
        };
        let writes = dice.one(&["", "UPDATE c SET n = n + 1 WHERE id = 1;", "PERFORM nextval('s');"]);
        let text = format!(
            "CREATE FUNCTION {name}(x {ty}) RETURNS {ty} LANGUAGE plpgsql AS $$ DECLARE r {ty}; BEGIN {writes}
             {read} INTO r FROM {} WHERE {} = x; IF r IS NULL THEN RETURN x; END IF; RETURN r; END $$",
            table.name, key.name
        );
        self.functions.push(key.ty);
        text
    }

    fn trigger(&mut self, dice: &mut Dice, number: usize) -> Vec<String> {
        let table = &self.tables[number];
        let name = &table.name;
        let value = &table.columns[table.columns.len() - 1 - dice.below(2)];
        let changed = TYPES[value.ty].change.replace('#', &format!("NEW.{}", value.name));
        let (when, body) = match dice.below(6) {
            0 => (
                "BEFORE INSERT OR UPDATE ON # FOR EACH ROW",
                format!("IF NEW.{0} IS NOT NULL THEN NEW.{0} := {changed}; END IF; RETURN NEW;", value.name),
            ),
            1 => (
                "BEFORE UPDATE OR DELETE ON # FOR EACH ROW",
                "IF OLD.w = 3 THEN RETURN NULL; END IF; IF TG_OP = 'DELETE' THEN RETURN OLD; END IF; NEW.w := OLD.w + 1; RETURN NEW;"
                    .to_owned(),
            ),
            2 => (
                "AFTER INSERT OR UPDATE ON # FOR EACH ROW",
                format!("INSERT INTO l (what, k, n) VALUES (TG_OP, NEW.{}::text, NEW.w); RETURN NULL;", table.columns[0].name),
            ),
            3 => (
                "AFTER UPDATE OR DELETE ON # FOR EACH ROW",
                "UPDATE c SET n = n + coalesce(OLD.w, 1) % 5 WHERE id = abs(OLD.w % 5); RETURN NULL;".to_owned(),
            ),
            4 => (
                "AFTER INSERT OR DELETE OR UPDATE ON # FOR EACH STATEMENT",
                "UPDATE c SET n = n + 1 WHERE id = 0; INSERT INTO l (what, k) VALUES (TG_OP, clock_timestamp()::text); RETURN NULL;"
                    .to_owned(),
            ),
            _ => (
                "AFTER UPDATE ON # REFERENCING NEW TABLE AS fresh FOR EACH STATEMENT",
                "INSERT INTO l (what, n) SELECT 'fresh', sum(w) FROM fresh; RETURN NULL;".to_owned(),
            ),
        };
        vec![
            format!(
                "CREATE OR REPLACE FUNCTION on_{name}() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN {body} END $$"
            ),
            format!("CREATE TRIGGER on_{name} {} EXECUTE FUNCTION on_{name}()", when.replace('#', name)),
        ]
    }

    fn procedure(&self, dice: &mut Dice, number: usize, or_replace: &str) -> String {
        let mut body = Body::of(self, dice, false);
        body.number = number;
        body.plain = number.is_multiple_of(2);
        let mut head = String::new();
        for (n, ty) in self.procedures[number].iter().enumerate() {
            body.scope.push(Column { name: format!("p{n}"), ty: *ty });
            write!(head, "p{n} {}, ", TYPES[*ty].name).expect("a text");
        }
        let mut declared = String::new();
        for (n, ty) in TYPES.iter().enumerate() {
            for (of, unset) in [("x", 6), ("y", 2)] {
                let first = match body.dice.below(unset) {
                    0 => String::new(),
                    at => format!(" := {}", ty.values[at % 4]),
                };
                writeln!(declared, "{of}{n} {}{first};", ty.name).expect("a text");
                body.scope.push(Column { name: format!("{of}{n}"), ty: n });
            }
        }
        for _ in 0..2 + body.dice.below(5) {
            body.statement(2);
        }
        let text = body.text;
        format!(
            "CREATE {or_replace}PROCEDURE p{number}({head}list int[]) LANGUAGE plpgsql AS $$\nDECLARE {declared}BEGIN\n{text}END $$"
        )
    }

    pub(crate) fn call(&self, dice: &mut Dice) -> String {
        let number = dice.below(self.procedures.len());
        let value = |ty: usize, dice: &mut Dice| match dice.below(12) {
            0 => "NULL".to_owned(),
            n => format!("{}::{}", TYPES[ty].values[n % 4], TYPES[ty].name),
        };
        let arguments: String = self.procedures[number].iter().map(|ty| value(*ty, dice) + ", ").collect();
        format!("CALL p{number}({arguments}{})", dice.one(&["'{}'", "'{1,2}'", "'{3,NULL,1}'", "NULL"]))
    }

    /// What somebody does: a call or a statement; a block of some; or a change of the schema.
    pub(crate) fn step(&mut self, dice: &mut Dice, changes_schema: bool) -> Vec<String> {
        let statement = |world: &World, dice: &mut Dice| match dice.below(2) {
            0 => world.call(dice),
            _ => {
                let mut body = Body::of(world, dice, true);
                body.change();
                body.text.trim_end().trim_end_matches(';').to_owned()
            }
        };
        match dice.below(if changes_schema { 16 } else { 14 }) {
            0..=9 => vec![self.call(dice)],
            10 | 11 => vec![statement(self, dice)],
            12 | 13 => {
                let level = dice.one(&["SERIALIZABLE", "SERIALIZABLE", "REPEATABLE READ", "READ COMMITTED"]);
                let mut all = vec![format!("BEGIN ISOLATION LEVEL {level}")];
                for _ in 0..2 + dice.below(2) {
                    match dice.below(4) {
                        0 => {
                            all.extend(["SAVEPOINT a".to_owned(), statement(self, dice)]);
                            all.push(dice.one(&["ROLLBACK TO a", "RELEASE a"]).to_owned());
                        }
                        _ => all.push(statement(self, dice)),
                    }
                }
                all.push("COMMIT".to_owned());
                all
            }
            _ => vec![self.schema_change(dice)],
        }
    }

    fn schema_change(&mut self, dice: &mut Dice) -> String {
        let at = dice.below(self.tables.len());
        let (name, n) = (self.tables[at].name.clone(), self.added);
        match dice.below(7) {
            0 => {
                self.added += 1;
                let ty = dice.below(TYPES.len());
                let default = match (ty, dice.below(3)) {
                    (_, 0) => String::new(),
                    (INT, 1) => " DEFAULT nextval('s')".to_owned(),
                    (9, 1) => " DEFAULT gen_random_uuid()".to_owned(),
                    (13, 1) => " DEFAULT random()".to_owned(),
                    _ => format!(" DEFAULT {}", TYPES[ty].values[2]),
                };
                self.tables[at].columns.push(Column { name: format!("n{n}"), ty });
                format!("ALTER TABLE {name} ADD COLUMN n{n} {}{default}", TYPES[ty].name)
            }
            1 => {
                let table = &self.tables[at];
                let column = &table.columns[dice.below(table.columns.len())].name;
                format!("CREATE INDEX ON {name} ({column}, w)")
            }
            2 => format!("ALTER TABLE {name} {} TRIGGER ALL", dice.one(&["DISABLE", "ENABLE"])),
            3 => "CHECKPOINT".to_owned(),
            4 => {
                let mut changes = self.trigger(dice, at);
                changes.swap_remove(0)
            }
            _ => {
                let number = dice.below(self.procedures.len());
                self.procedure(dice, number, "OR REPLACE ")
            }
        }
    }
}

/// Statements in the making.
struct Body<'w> {
    world: &'w World,
    dice: &'w mut Dice,
    text: String,
    /// Variables.
    scope: Vec<Column>,
    labels: usize,
    /// Which procedure it is: it calls those before it.
    number: usize,
    /// Statements that are cut, most of them: by keys that are parameters.
    plain: bool,
    /// Of a client, who has no variables.
    sql: bool,
}

impl<'w> Body<'w> {
    fn of(world: &'w World, dice: &'w mut Dice, sql: bool) -> Body<'w> {
        Body { world, dice, text: String::new(), scope: Vec::new(), labels: 0, number: 0, plain: false, sql }
    }

    fn line(&mut self, line: &str) {
        self.text += line;
        self.text.push('\n');
    }

    fn literal(&mut self, ty: usize) -> String {
        format!("{}::{}", TYPES[ty].values[self.dice.below(4)], TYPES[ty].name)
    }

    /// What is at hand of a type: a variable, a column of a row.
    fn known(&mut self, ty: usize, row: Option<&Table>) -> Option<String> {
        if let Some(table) = row.filter(|_| self.dice.below(2) == 0) {
            let of = table.of(ty);
            if !of.is_empty() {
                return Some(format!("{}.{}", table.name, self.dice.one(&of)));
            }
        }
        let of: Vec<&str> = self.scope.iter().filter(|c| c.ty == ty).map(|c| c.name.as_str()).collect();
        (!of.is_empty()).then(|| self.dice.one(&of).to_owned())
    }

    fn value(&mut self, ty: usize, row: Option<&Table>, depth: usize) -> String {
        match self.dice.below(if depth == 0 { 6 } else { 14 }) {
            0 | 1 => self.literal(ty),
            2..=5 => self.known(ty, row).unwrap_or_else(|| self.literal(ty)),
            6..=8 => match self.known(ty, row) {
                Some(of) => format!("({})", TYPES[ty].change.replace('#', &of)),
                None => self.literal(ty),
            },
            9 => format!("coalesce({}, {})", self.value(ty, row, 0), self.value(ty, row, depth - 1)),
            10 => format!(
                "CASE WHEN {} THEN {} ELSE {} END",
                self.condition(row),
                self.value(ty, row, 0),
                self.value(ty, row, depth - 1)
            ),
            11 if !self.plain => match self.world.functions.iter().position(|of| *of == ty) {
                Some(f) => format!("f{f}({})", self.value(ty, row, 0)),
                None => self.literal(ty),
            },
            12 if !self.plain => {
                let table = &self.world.tables[self.dice.below(self.world.tables.len())];
                match table.of(ty).first().map(|c| (*c).to_owned()) {
                    Some(column) => {
                        let key = self.found(table);
                        let name = &table.name;
                        format!(
                            "(SELECT max({name}.{column}::text)::{} FROM {name} WHERE {key})",
                            TYPES[ty].name
                        )
                    }
                    None => "NULL".to_owned(),
                }
            }
            12 | 13 => match TYPES[ty].name {
                "int" => self.dice.one(&["nextval('s')::int", "floor(random() * 4)::int"]).to_owned(),
                "timestamp" => self.dice.one(&["localtimestamp", "clock_timestamp()::timestamp"]).to_owned(),
                "uuid" => "gen_random_uuid()".to_owned(),
                "date" => "now()::date".to_owned(),
                "float8" => "random()".to_owned(),
                _ if self.dice.below(3) == 0 => format!("NULL::{}", TYPES[ty].name),
                _ => self.literal(ty),
            },
            _ => self.literal(ty),
        }
    }

    fn condition(&mut self, row: Option<&Table>) -> String {
        let ty = self.dice.below(TYPES.len());
        let of = self.known(ty, row).unwrap_or_else(|| self.literal(ty));
        match self.dice.below(6) {
            0 => format!("{of} IS NULL"),
            1 => format!("{of} <> {}", self.value(ty, row, 0)),
            2 => format!("{of} < {}", self.value(ty, row, 0)),
            3 if !self.sql && row.is_none() => "FOUND".to_owned(),
            4 => format!("{of} IN ({}, {})", self.literal(ty), self.literal(ty)),
            _ => format!("{of} >= {}", self.literal(ty)),
        }
    }

    fn operand(&mut self, ty: usize) -> String {
        let parameters: Vec<String> = self
            .scope
            .iter()
            .filter(|c| c.ty == ty && c.name.starts_with('p'))
            .map(|c| c.name.clone())
            .collect();
        match parameters.is_empty() || self.dice.below(if self.plain { 9 } else { 3 }) == 0 {
            true => self.value(ty, None, usize::from(!self.plain)),
            false => parameters[self.dice.below(parameters.len())].clone(),
        }
    }

    /// Which rows: those of a key, most times.
    fn found(&mut self, table: &Table) -> String {
        let mut all = Vec::new();
        for (n, column) in table.columns[..table.keys].iter().enumerate() {
            let name = format!("{}.{}", table.name, column.name);
            let operand = self.operand(column.ty);
            match self.dice.below(14) {
                0 if n > 0 => break,
                1 => all.push(format!("{name} >= {operand}")),
                2 => all.push(format!("{name} IN ({operand}, {})", self.literal(column.ty))),
                3 => all.push(format!("{name} BETWEEN {} AND {operand}", self.literal(column.ty))),
                _ => all.push(format!("{name} = {operand}")),
            }
        }
        if self.dice.below(6) == 0 {
            let column = &table.columns[self.dice.below(table.columns.len())];
            let how = self.dice.one(&["=", "<>", "<", "IS NOT DISTINCT FROM"]);
            all.push(format!("{}.{} {how} {}", table.name, column.name, self.operand(column.ty)));
        }
        all.join(" AND ")
    }

    fn any_table(&mut self) -> &'w Table {
        let world: &'w World = self.world;
        &world.tables[self.dice.below(world.tables.len())]
    }

    fn set(&mut self, table: &Table, alias: Option<&Table>) -> String {
        // At times columns of the key, too.
        let from = table.keys * usize::from(self.dice.below(5) > 0);
        let (at, count) = (from + self.dice.below(table.columns.len() - from), 1 + self.dice.below(3));
        let columns = table.columns[at..].iter().take(count);
        let set: Vec<String> =
            columns.map(|c| format!("{} = {}", c.name, self.value(c.ty, alias, 2))).collect();
        set.join(", ")
    }

    /// `RETURNING` of a column into a variable of its type.
    fn returning(&mut self, table: &Table) -> String {
        if self.sql || self.dice.below(4) > 0 {
            return String::new();
        }
        let column = &table.columns[self.dice.below(table.columns.len())];
        format!(" RETURNING {}.{} INTO x{}", table.name, column.name, column.ty)
    }

    fn insert(&mut self, table: usize) -> String {
        let world: &'w World = self.world;
        let table = &world.tables[table];
        // Some columns are left to their defaults.
        let columns: Vec<&Column> = table
            .columns
            .iter()
            .enumerate()
            .filter(|(n, c)| *n < table.keys || c.name.starts_with('f') || self.dice.below(6) > 0)
            .map(|(_, c)| c)
            .collect();
        let list = columns.iter().map(|c| c.name.as_str()).collect::<Vec<_>>().join(", ");
        let values: Vec<String> = columns
            .iter()
            .enumerate()
            .map(|(n, c)| if n < table.keys { self.operand(c.ty) } else { self.value(c.ty, None, 1) })
            .collect();
        let source = match self.dice.below(8) {
            0 if !self.plain => format!("SELECT {} FROM c WHERE id < 2", values.join(", ")),
            _ => format!("VALUES ({})", values.join(", ")),
        };
        let conflict = match self.dice.below(5) {
            0 | 1 => " ON CONFLICT DO NOTHING".to_owned(),
            2 => {
                let column = &table.columns[table.keys + self.dice.below(table.columns.len() - table.keys)];
                let value = match self.dice.below(2) {
                    0 => format!("EXCLUDED.{}", column.name),
                    _ => self.value(column.ty, Some(table), 1),
                };
                format!(" ON CONFLICT ({}) DO UPDATE SET {} = {value}", table.key(), column.name)
            }
            _ => String::new(),
        };
        let returning = self.returning(table);
        format!("INSERT INTO {} ({list}) {source}{conflict}{returning}", table.name)
    }

    /// A statement that changes rows.
    fn change(&mut self) {
        let table = self.any_table();
        let (name, number) = (&table.name, self.dice.below(self.world.tables.len()));
        let line = match self.dice.below(if self.plain { 9 } else { 16 }) {
            0..=3 => {
                let (set, found, returning) =
                    (self.set(table, Some(table)), self.found(table), self.returning(table));
                format!("UPDATE {name} SET {set} WHERE {found}{returning};")
            }
            4..=6 => format!("{};", self.insert(number)),
            7 => {
                let (found, returning) = (self.found(table), self.returning(table));
                format!("DELETE FROM {name} WHERE {found}{returning};")
            }
            8 => {
                format!("UPDATE c SET n = n + {} WHERE id = {};", self.value(INT, None, 1), self.operand(INT))
            }
            9 => {
                let other = self.any_table();
                if other.name == *name {
                    return self.change();
                }
                let (set, found, also) = (self.set(table, Some(other)), self.found(table), self.found(other));
                format!("UPDATE {name} SET {set} FROM {} WHERE {found} AND {also};", other.name)
            }
            10 => {
                let key: Vec<String> = table.columns[..table.keys]
                    .iter()
                    .map(|c| format!("{} AS {}", self.operand(c.ty), c.name))
                    .collect();
                let on: Vec<String> = table.columns[..table.keys]
                    .iter()
                    .map(|c| format!("{name}.{0} = m.{0}", c.name))
                    .collect();
                let keys: Vec<String> =
                    table.columns[..table.keys].iter().map(|c| format!("m.{}", c.name)).collect();
                let last = &table.columns[table.columns.len() - 1];
                let value = self.value(last.ty, Some(table), 1);
                let condition = self.condition(Some(table));
                format!(
                    "MERGE INTO {name} USING (SELECT {}) m ON {} WHEN MATCHED AND {condition} THEN DELETE \
                     WHEN MATCHED THEN UPDATE SET {} = {value} WHEN NOT MATCHED THEN INSERT ({}) VALUES ({});",
                    key.join(", "),
                    on.join(" AND "),
                    last.name,
                    table.key(),
                    keys.join(", ")
                )
            }
            11 => {
                let (found, also) = (self.found(table), self.insert(number));
                let also = also.split(" RETURNING ").next().unwrap_or_default().to_owned();
                format!("WITH gone AS (DELETE FROM {name} WHERE {found} RETURNING 1) {also};")
            }
            12 => {
                let found = self.found(table);
                format!("INSERT INTO l (what, n) SELECT '{name}', w FROM {name} WHERE {found};")
            }
            13 => format!("UPDATE {name} SET w = coalesce(w, 0) + 1;"),
            14 => format!("DELETE FROM {name} WHERE w = {};", self.operand(INT)),
            _ => {
                let column = &table.columns[0];
                let (to, from) = (self.operand(column.ty), self.operand(column.ty));
                format!("UPDATE {name} SET {0} = {to} WHERE {0} = {from};", column.name)
            }
        };
        self.line(&line);
    }

    fn statements(&mut self, depth: usize) {
        for _ in 0..1 + self.dice.below(2) {
            self.statement(depth);
        }
    }

    fn statement(&mut self, depth: usize) {
        let ty = self.dice.below(TYPES.len());
        match self.dice.below(match (depth, self.plain) {
            (0, _) => 13,
            (_, true) => 18,
            (_, false) => 26,
        }) {
            0..=5 => self.change(),
            6 => {
                let value = self.value(ty, None, 2);
                let of = self.dice.one(&["x", "y"]);
                self.line(&format!("{of}{ty} := {value};"));
            }
            7 | 8 => {
                let table = self.any_table();
                let (a, b) = (
                    &table.columns[self.dice.below(table.columns.len())],
                    &table.columns[self.dice.below(table.columns.len())],
                );
                let (found, end) = (self.found(table), self.dice.one(&["", "", " FOR UPDATE"]));
                let limit =
                    if self.plain { String::new() } else { format!(" ORDER BY {} LIMIT 1", table.key()) };
                self.line(&format!(
                    "SELECT {}, {} INTO x{}, y{} FROM {} WHERE {found}{limit}{end};",
                    a.name, b.name, a.ty, b.ty, table.name
                ));
            }
            9 => {
                let number = self.dice.below(5);
                self.line(&format!(
                    "INSERT INTO l (what, k, n) VALUES ('{number}', clock_timestamp()::text, p0);"
                ));
            }
            10 if self.number > 0 => {
                let to = self.dice.below(self.number);
                let world: &'w World = self.world;
                let arguments: String =
                    world.procedures[to].iter().map(|ty| self.operand(*ty) + ", ").collect();
                self.line(&format!("CALL p{to}({arguments}list);"));
            }
            10 => {
                let table = self.any_table();
                let found = self.found(table);
                self.line(&format!("PERFORM 1 FROM {} WHERE {found} FOR UPDATE;", table.name));
            }
            11 => {
                let table = self.any_table();
                let found = self.found(table);
                self.line(&format!("SELECT sum(w), count(*) INTO x0, x1 FROM {} WHERE {found};", table.name));
            }
            12 => {
                self.change();
                self.line("GET DIAGNOSTICS y0 = ROW_COUNT;");
            }
            13..=15 => {
                let condition = self.condition(None);
                self.line(&format!("IF {condition} THEN"));
                self.statements(depth - 1);
                if self.dice.below(2) == 0 {
                    self.line("ELSE");
                    self.statements(depth - 1);
                }
                self.line("END IF;");
            }
            16 => {
                self.line("IF NOT FOUND THEN");
                let line = self.dice.one(&["RAISE EXCEPTION 'none';", "RETURN;", "x0 := 4;"]);
                self.line(line);
                self.line("END IF;");
            }
            17 => {
                self.labels += 1;
                let variable = format!("i{}", self.labels);
                self.line(&format!("FOR {variable} IN 1..least(p0, 3) LOOP"));
                self.scope.push(Column { name: variable, ty: INT });
                self.statements(depth - 1);
                self.scope.pop();
                self.line("END LOOP;");
            }
            18 => {
                self.line("FOREACH x0 IN ARRAY list LOOP");
                self.statements(depth - 1);
                self.line("END LOOP;");
            }
            19 => {
                self.labels += 1;
                let (row, table) = (format!("r{}", self.labels), self.any_table());
                let (found, order) = (self.found(table), self.dice.one(&["", "DESC"]));
                self.line(&format!(
                    "DECLARE {row} {0}%ROWTYPE; BEGIN FOR {row} IN SELECT * FROM {0} WHERE {found} ORDER BY {1} {order} LOOP",
                    table.name,
                    table.columns[table.keys..].first().map_or("w", |c| &c.name).to_owned() + ", " + &table.key()
                ));
                let before = self.scope.len();
                self.scope.extend(
                    table.columns.iter().map(|c| Column { name: format!("{row}.{}", c.name), ty: c.ty }),
                );
                self.statements(depth - 1);
                self.scope.truncate(before);
                self.line("END LOOP; END;");
            }
            20 => {
                self.line("BEGIN");
                self.statements(depth - 1);
                let condition = self.dice.one(&["OTHERS", "unique_violation OR foreign_key_violation"]);
                self.line(&format!("EXCEPTION WHEN {condition} THEN"));
                self.statements(depth - 1);
                self.line("END;");
            }
            21 => {
                let table = self.any_table();
                let column = &table.columns[0];
                let operand = self.operand(column.ty);
                self.line(&format!(
                    "EXECUTE 'UPDATE {} SET w = w + 1 WHERE {} = $1' USING {operand};",
                    table.name, column.name
                ));
            }
            22 => {
                self.labels += 1;
                let (cursor, table) = (format!("u{}", self.labels), self.any_table());
                let (found, set) = (self.found(table), self.set(table, Some(table)));
                self.line(&format!(
                    "DECLARE {cursor} CURSOR FOR SELECT w FROM {0} WHERE {found} ORDER BY {1} FOR UPDATE; BEGIN OPEN {cursor};
                     LOOP FETCH {cursor} INTO x0; EXIT WHEN NOT FOUND; UPDATE {0} SET {set} WHERE CURRENT OF {cursor}; END LOOP;
                     CLOSE {cursor}; END;",
                    table.name,
                    table.key()
                ));
            }
            23 => {
                let line = self.dice.one(&[
                    "TRUNCATE l;",
                    "DELETE FROM l WHERE what <> '0';",
                    "UPDATE l SET n = n + 1, k = 'k' WHERE n > 2;",
                    "INSERT INTO l (what, n) SELECT what, count(*) FROM l WHERE n < 9 GROUP BY what;",
                ]);
                self.line(line);
            }
            24 => self.line("IF p0 = 3 THEN COMMIT; END IF;"),
            _ => {
                // The same key again.
                let at = self.dice.below(self.world.tables.len());
                let table = &self.world.tables[at];
                let key: Vec<String> =
                    table.columns[..table.keys].iter().map(|c| self.operand(c.ty)).collect();
                let by = table.columns.iter().zip(&key).map(|(c, k)| format!("{} = {k}", c.name));
                let by = by.collect::<Vec<_>>().join(" AND ");
                self.line(&format!("DELETE FROM {} WHERE {by};", table.name));
                self.line(&format!(
                    "INSERT INTO {} ({}) VALUES ({});",
                    table.name,
                    table.key(),
                    key.join(", ")
                ));
            }
        }
    }
}

/// Makes what a world is made of. What is not supported, as documented, is left out; anything else that is wrong with a
/// definition is a mistake of this generator. Rows may break constraints.
pub(crate) fn made(session: &mut Session, schema: &[String]) -> String {
    let mut text = String::new();
    for statement in schema {
        let done = does(session, std::slice::from_ref(statement), &text);
        write!(text, "{statement};").expect("a text");
        if let Err(error) = &done {
            let is_supported = error.sqlstate() != SqlState::FEATURE_NOT_SUPPORTED;
            assert!(!statement.starts_with("CREATE") || !is_supported, "{error:?}\n{text}");
            write!(text, " -- {}", error.sqlstate().as_str()).expect("a text");
        }
        text.push('\n');
    }
    text
}

fn fill(db: &Database, dice: &mut Dice, seed: u64) -> String {
    let mut world = World::new(dice);
    let mut session = db.session().expect("a seat");
    session.execute("SET statement_timeout = '300s'", ()).expect("sets");
    let mut text = format!("seed {seed}\n") + &made(&mut session, &world.schema);
    for _ in 0..40 {
        let step = world.step(dice, true);
        let done = does(&mut session, &step, &text);
        text += &said(&step, done.err());
    }
    text
}

#[test]
fn calls_over_random_schemas_are_restored() {
    restored_by_every_scheme(20, fill);
}
