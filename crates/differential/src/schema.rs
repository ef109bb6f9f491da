//! Random schemas: tables with keys, checks, defaults, foreign keys.

use crate::rng::Rng;
use crate::tree::{Node, list, opt, seq, text};

/// Types that are generated.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[allow(missing_docs, reason = "they are PostgreSQL's")]
pub enum Ty {
    Bool,
    Int2,
    Int4,
    Int8,
    Numeric,
    Float8,
    Real,
    Text,
    Varchar,
    Date,
    Timestamp,
    Time,
    Interval,
    Uuid,
    Jsonb,
    Texts,
    Mood,
}

/// The types of users that scripts begin with.
pub const USER_TYPES: [&str; 2] = [
    "CREATE TYPE mood AS ENUM ('sad', 'ok', 'happy', 'Very happy')",
    "CREATE DOMAIN level AS integer CHECK (VALUE > -3) CONSTRAINT \"some\" CHECK (VALUE <> 7)",
];

impl Ty {
    /// Whether a key has such columns.
    pub fn is_of_keys(self) -> bool {
        !matches!(self, Ty::Jsonb | Ty::Texts)
    }

    /// Types of columns.
    pub const COLUMNS: &[Ty] = &[
        Ty::Int4,
        Ty::Int4,
        Ty::Int4,
        Ty::Int8,
        Ty::Int2,
        Ty::Numeric,
        Ty::Numeric,
        Ty::Text,
        Ty::Text,
        Ty::Varchar,
        Ty::Bool,
        Ty::Float8,
        Ty::Real,
        Ty::Date,
        Ty::Timestamp,
        Ty::Time,
        Ty::Uuid,
        Ty::Jsonb,
        Ty::Texts,
        Ty::Mood,
        Ty::Mood,
    ];

    /// As a column's type.
    pub fn column(self) -> &'static str {
        match self {
            Ty::Numeric => "numeric(12,2)",
            Ty::Varchar => "varchar(8)",
            Ty::Timestamp => "timestamp(3)",
            Ty::Time => "time(1)",
            other => other.name(),
        }
    }
    /// As a variable's type and in casts.
    pub fn name(self) -> &'static str {
        match self {
            Ty::Bool => "boolean",
            Ty::Int2 => "smallint",
            Ty::Int4 => "integer",
            Ty::Int8 => "bigint",
            Ty::Numeric => "numeric",
            Ty::Float8 => "double precision",
            Ty::Real => "real",
            Ty::Time => "time",
            Ty::Text | Ty::Varchar => "text",
            Ty::Date => "date",
            Ty::Timestamp => "timestamp",
            Ty::Interval => "interval",
            Ty::Uuid => "uuid",
            Ty::Jsonb => "jsonb",
            Ty::Texts => "text[]",
            Ty::Mood => "mood",
        }
    }
    /// A value as simple as can be.
    pub fn simple(self) -> &'static str {
        match self {
            Ty::Bool => "true",
            Ty::Int2 => "0::smallint",
            Ty::Int4 => "0",
            Ty::Int8 => "0::bigint",
            Ty::Numeric => "0.0",
            Ty::Float8 => "0::double precision",
            Ty::Real => "0::real",
            Ty::Time => "time '00:00'",
            Ty::Text | Ty::Varchar => "'a'::text",
            Ty::Date => "date '2024-01-01'",
            Ty::Timestamp => "timestamp '2024-01-01'",
            Ty::Interval => "interval '1 day'",
            Ty::Uuid => "'00000000-0000-0000-0000-000000000001'::uuid",
            Ty::Jsonb => "'{}'::jsonb",
            Ty::Texts => "'{}'::text[]",
            Ty::Mood => "'ok'::mood",
        }
    }
    /// A literal.
    pub fn literal(self, rng: &mut Rng) -> String {
        match self {
            Ty::Bool => rng.pick(&["true", "false"]).to_string(),
            Ty::Int2 => format!("{}::smallint", rng.between(-3, 9)),
            Ty::Int4 if rng.chance(3) => rng.pick(&["65536", "(-(-7))", "1000000"]).to_string(),
            Ty::Int4 => rng.between(-3, 9).to_string(),
            Ty::Int8 if rng.chance(5) => rng.pick(&["4294967296", "(-5000000000)"]).to_string(),
            Ty::Int8 => format!("{}::bigint", rng.between(-3, 9)),
            Ty::Numeric => rng
                .pick(&["0.00", "1.50", "-2.25", "10.0", "99.99", "0.005", "12345.678", "-0.1", "3.0"])
                .to_string(),
            Ty::Float8 => {
                format!("{}::double precision", rng.pick(&["0", "0.5", "-1.25", "3", "1024", "7.75"]))
            }
            Ty::Text | Ty::Varchar => rng
                .pick(&[
                    "''",
                    "'a'",
                    "'b'",
                    "'abc'",
                    "'Hello'",
                    "'x y'",
                    "'%a_'",
                    "'it''s'",
                    "' p '",
                    "'\u{e4}b'",
                    "'12'",
                ])
                .to_string(),
            Ty::Date => format!(
                "date '{}'",
                rng.pick(&["2024-01-01", "2024-02-29", "1999-12-31", "2023-03-15", "2024-12-31"])
            ),
            Ty::Timestamp => format!(
                "timestamp '{}'",
                rng.pick(&[
                    "2024-01-01 00:00:00",
                    "2024-02-29 12:30:45.5",
                    "2024-03-01 23:59:59.9996",
                    "1999-12-31 23:59:59",
                    "2023-07-04 06:00"
                ])
            ),
            Ty::Real => {
                format!("{}::real", rng.pick(&["0", "0.5", "1.1", "-3.3", "1e6", "16777217", "0.0001"]))
            }
            Ty::Time => {
                format!("time '{}'", rng.pick(&["00:00", "10:30", "23:59:59.95", "24:00", "04:05:06.789"]))
            }
            Ty::Interval => {
                let texts = [
                    "1 day",
                    "02:30:00",
                    "-3 days",
                    "1 day 12:00",
                    "0",
                    "1 mon",
                    "-1 year 3 days",
                    "30 days",
                    "25:00",
                ];
                format!("interval '{}'", rng.pick(&texts))
            }
            Ty::Mood => format!("'{}'::mood", rng.pick(&["sad", "ok", "happy", "Very happy"])),
            Ty::Uuid => format!("'00000000-0000-0000-0000-00000000000{}'::uuid", rng.between(0, 5)),
            Ty::Texts => {
                format!("'{}'::text[]", rng.pick(&["{}", "{a}", "{a,b}", "{NULL,\"c d\"}", "{12,ä,\"\"}"]))
            }
            Ty::Jsonb => {
                let texts = [
                    "null",
                    "2",
                    "1.0",
                    "\"a\"",
                    "true",
                    "[]",
                    "{}",
                    "[1, \"a\", null, {\"a\": 2}]",
                    "{\"a\": 1, \"b\": [1, 2.50]}",
                    "{\"b\": {\"a\": \"x y\"}, \"a\": null, \"ä\": -1e2}",
                    "[[1], [\"b\"]]",
                ];
                format!("'{}'::jsonb", rng.pick(&texts))
            }
        }
    }
}

/// A column.
#[derive(Clone, Debug)]
pub struct Column {
    /// Name.
    pub name: String,
    /// Type.
    pub ty: Ty,
    /// May be given no value.
    pub optional: bool,
    /// Its values are handed out by a sequence.
    pub serial: bool,
    /// Part of a unique key.
    pub key: bool,
}

/// A table.
#[derive(Clone, Debug)]
pub struct Table {
    /// Name.
    pub name: String,
    /// Columns.
    pub columns: Vec<Column>,
    /// Its primary key, if it has one column.
    pub id: Option<usize>,
    /// Columns of the primary key.
    pub primary: Vec<usize>,
    /// The statements that make it.
    pub create: Vec<Node>,
}

/// Tables, each may refer to those before it.
pub fn tables(rng: &mut Rng) -> Vec<Table> {
    let mut all: Vec<Table> = Vec::new();
    for n in 0..rng.between(2, 4) as usize {
        let table = table(rng, n, &all);
        all.push(table);
    }
    all
}

fn table(rng: &mut Rng, n: usize, before: &[Table]) -> Table {
    let name = format!("t{n}");
    let mut columns: Vec<Column> = Vec::new();
    let mut defs: Vec<Node> = Vec::new();
    let mut primary = Vec::new();
    let column = |columns: &mut Vec<Column>, name: &str, ty: Ty, optional: bool, serial: bool, key: bool| {
        columns.push(Column { name: name.to_owned(), ty, optional, serial, key });
        columns.len() - 1
    };
    match rng.below(10) {
        0..=4 => {
            primary.push(column(&mut columns, "id", Ty::Int4, false, false, true));
            defs.push(text("id integer PRIMARY KEY"));
        }
        5 | 6 => {
            primary.push(column(&mut columns, "id", Ty::Int4, true, true, true));
            defs.push(text(*rng.pick(&[
                "id serial PRIMARY KEY",
                "id integer GENERATED BY DEFAULT AS IDENTITY PRIMARY KEY",
            ])));
        }
        7 | 8 => {
            primary.push(column(&mut columns, "k1", Ty::Int4, false, false, true));
            primary.push(column(
                &mut columns,
                "k2",
                *rng.pick(&[Ty::Text, Ty::Int8, Ty::Date]),
                false,
                false,
                true,
            ));
            let second = columns[1].ty.column();
            defs.push(text(format!("k1 integer, k2 {second}, PRIMARY KEY (k1, k2)")));
        }
        _ => {}
    }
    let mut indexes = Vec::new();
    for i in 0..rng.between(2, 5) as usize {
        let ty = *rng.pick(Ty::COLUMNS);
        let name = format!("c{i}");
        // A row that a domain refuses has drawn a number of a serial column where the value comes later: other ones than there.
        let serial = columns.iter().any(|c| c.serial);
        let column_type = if ty == Ty::Int4 && rng.chance(15) && !serial { "level" } else { ty.column() };
        let mut parts = vec![text(format!("{name} {column_type}"))];
        let mut optional = true;
        let mut key = false;
        let parents: Vec<&Table> = before.iter().filter(|t| t.id.is_some()).collect();
        if ty == Ty::Int4 && !parents.is_empty() && rng.chance(50) {
            let parent = rng.pick(&parents);
            let action =
                *rng.pick(&["", "", " ON DELETE CASCADE", " ON DELETE SET NULL", " ON UPDATE CASCADE"]);
            parts.push(opt(text(format!(" REFERENCES {}{action}", parent.name))));
        }
        if rng.chance(20) && !parts.iter().any(|p| p.render().contains("SET NULL")) {
            parts.push(opt(text(" NOT NULL")));
            optional = false;
        }
        if rng.chance(30) {
            parts.push(opt(text(format!(" DEFAULT {}", ty.literal(rng)))));
            optional = true;
        }
        if ty.is_of_keys() && rng.chance(12) {
            parts.push(opt(text(" UNIQUE")));
            key = true;
        }
        if rng.chance(25) {
            let check = match ty {
                Ty::Int2 | Ty::Int4 | Ty::Int8 | Ty::Numeric | Ty::Float8 => {
                    format!(" CHECK ({name} {} {})", rng.pick(&["<", ">=", "<>"]), rng.between(-2, 8))
                }
                Ty::Text | Ty::Varchar => format!(" CHECK (length({name}) < {})", rng.between(3, 7)),
                _ => String::new(),
            };
            parts.push(opt(text(check)));
        }
        column(&mut columns, &name, ty, optional, false, key);
        defs.push(seq(parts));
        if ty.is_of_keys() && rng.chance(20) {
            indexes.push(text(format!("CREATE INDEX ON t{n} ({name})")));
        }
    }
    let no_keys = |c: &Column| matches!(c.name.as_str(), "c0" | "c1") && !c.ty.is_of_keys();
    if !columns.iter().any(no_keys) && rng.chance(10) {
        defs.push(text("UNIQUE (c0, c1)"));
        for c in columns.iter_mut().filter(|c| c.name == "c0" || c.name == "c1") {
            c.key = true;
        }
    }
    let mut create = vec![seq([text(format!("CREATE TABLE {name} (")), list(defs, 1), text(")")])];
    create.extend(indexes);
    let id = if primary.len() == 1 { Some(primary[0]) } else { None };
    Table { name, columns, id, primary, create }
}
