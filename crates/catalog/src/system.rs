//! The relations of `pg_catalog` and `information_schema`, as data: names, OIDs, columns.
//!
//! They are *virtual*: nothing of them is stored. Each is of one of three kinds:
//!
//! 1. rows that are the same in every database (types, operators, ...), in `system/rows.txt`;
//! 2. rows that the engine makes from the catalog when a query reads the relation;
//! 3. a view over those, in `system/views.sql`.
//!
//! A relation may have rows of the first two kinds. One with neither is empty: there are no text
//! search configurations, foreign servers, publications and so on here.
//!
//! Names, OIDs, columns and their order are PostgreSQL 15's, because clients send queries that were
//! written for it. `system/relations.txt` and `system/rows.txt` were made from one.

use planaria_base::oid::{self, Oid};
use planaria_base::types::SystemType;
use planaria_base::{Datum, SystemId, Type};
use std::collections::HashMap;
use std::sync::LazyLock;

/// Name of the schema of system relations, types and functions.
pub const PG_CATALOG: &str = "pg_catalog";
/// Name of the schema of the standard's views.
pub const INFORMATION_SCHEMA: &str = "information_schema";

/// A relation of the system catalogs.
#[derive(Debug)]
pub struct SystemRelation {
    /// Its place in [`relations`].
    pub id: SystemId,
    /// Its OID in PostgreSQL.
    pub oid: Oid,
    /// `pg_catalog` or `information_schema`.
    pub schema: &'static str,
    /// Name.
    pub name: &'static str,
    /// Shown as a view (it may have rows of its own here nevertheless).
    pub view: bool,
    /// Columns in order.
    pub columns: Vec<SystemColumn>,
    /// The query it is a view of.
    pub query: Option<&'static str>,
}

/// A column of a system relation.
#[derive(Debug)]
pub struct SystemColumn {
    /// Name.
    pub name: &'static str,
    /// Type.
    pub ty: Type,
    /// NOT NULL.
    pub not_null: bool,
    /// What it is in a row whose maker sets nothing.
    pub default: Datum,
}

impl SystemRelation {
    /// A column's position by its name.
    pub fn column(&self, name: &str) -> Option<usize> {
        self.columns.iter().position(|c| c.name == name)
    }
    /// The OID of its namespace.
    pub fn namespace(&self) -> Oid {
        if self.schema == PG_CATALOG { oid::PG_CATALOG } else { INFORMATION_SCHEMA_OID }
    }
}

/// Namespace `information_schema`.
pub const INFORMATION_SCHEMA_OID: Oid = 13_207;

static RELATIONS: LazyLock<Vec<SystemRelation>> = LazyLock::new(parse_relations);
static BY_NAME: LazyLock<HashMap<(&'static str, &'static str), SystemId>> =
    LazyLock::new(|| relations().iter().map(|r| ((r.schema, r.name), r.id)).collect());
static FIXED: LazyLock<HashMap<SystemId, Vec<Vec<Datum>>>> = LazyLock::new(parse_rows);

/// All of them, by [`SystemId`].
pub fn relations() -> &'static [SystemRelation] {
    &RELATIONS
}

/// A relation by its id. Panics where there is none: ids come from here.
pub fn by_id(id: SystemId) -> &'static SystemRelation {
    &RELATIONS[id.index()]
}

/// A relation by schema and name.
pub fn relation(schema: &str, name: &str) -> Option<&'static SystemRelation> {
    BY_NAME.get(&(schema, name)).map(|id| by_id(*id))
}

/// A relation of `pg_catalog`, which is searched before every other schema.
pub fn unqualified(name: &str) -> Option<&'static SystemRelation> {
    relation(PG_CATALOG, name)
}

/// Whether a schema is one of the system's.
pub fn is_system_schema(name: &str) -> bool {
    matches!(name, PG_CATALOG | INFORMATION_SCHEMA)
}

/// Rows that are the same in every database.
pub fn fixed_rows(id: SystemId) -> &'static [Vec<Datum>] {
    FIXED.get(&id).map_or(&[], Vec::as_slice)
}

/// A type of the catalogs' data by name, `[]` behind for arrays.
fn parse_type(name: &str) -> Type {
    if let Some(of) = name.strip_suffix("[]") {
        return Type::Array(Box::new(parse_type(of)));
    }
    match name {
        "bool" => Type::Bool,
        "bytea" => Type::Bytea,
        "jsonb" => Type::Jsonb,
        "int2" => Type::Int2,
        "int4" => Type::Int4,
        "int8" => Type::Int8,
        "float8" => Type::Float8,
        "numeric" => Type::Numeric(None),
        "text" => Type::Text,
        "varchar" => Type::Varchar(None),
        "varchar(3)" => Type::Varchar(Some(3)),
        "timestamptz" => Type::TimestampTz,
        "interval" => Type::Interval,
        other => {
            let system = SystemType::by_name(other.trim_matches('"'));
            Type::System(system.unwrap_or_else(|| panic!("the catalogs' data name a type {other}")))
        }
    }
}

fn parse_relations() -> Vec<SystemRelation> {
    let mut relations: Vec<SystemRelation> = Vec::new();
    let mut pending: Vec<(usize, String)> = Vec::new();
    let lines = include_str!("system/relations.txt").lines().filter(|l| !l.starts_with('#'));
    for line in lines {
        if let Some(more) = line.strip_prefix("    ") {
            let (_, columns) = pending.last_mut().expect("columns follow a relation");
            if !columns.is_empty() {
                columns.push(' ');
            }
            columns.push_str(more);
            continue;
        }
        let mut words = line.split(' ');
        let (schema, name) = words.next().and_then(|w| w.split_once('.')).expect("schema.name");
        let oid = words.next().and_then(|w| w.parse().ok()).expect("an oid");
        let view = words.next() == Some("view");
        let schema = if schema == PG_CATALOG { PG_CATALOG } else { INFORMATION_SCHEMA };
        let id = SystemId::from(relations.len());
        pending.push((relations.len(), String::new()));
        relations.push(SystemRelation { id, oid, schema, name, view, columns: Vec::new(), query: None });
    }
    for (at, columns) in pending {
        // The text lives as long as the program.
        let columns: &'static str = columns.leak();
        relations[at].columns = columns.split(", ").map(parse_column).collect();
    }
    for (name, query) in views() {
        let view = relations.iter_mut().find(|r| format!("{}.{}", r.schema, r.name) == name);
        view.unwrap_or_else(|| panic!("{name} is a view of no relation")).query = Some(query);
    }
    relations
}

/// `name type [not null] [= value]`
fn parse_column(text: &'static str) -> SystemColumn {
    let (declaration, default) = match text.split_once(" = ") {
        Some((declaration, default)) => (declaration, Some(default.trim_matches('\''))),
        None => (text, None),
    };
    let (declaration, not_null) = match declaration.strip_suffix(" not null") {
        Some(declaration) => (declaration, true),
        None => (declaration, false),
    };
    let (name, ty) = declaration.split_once(' ').expect("name and type");
    let ty = parse_type(ty);
    let default = default.map_or(Datum::Null, |text| Datum::parse(&ty, text).expect("a value of the column"));
    SystemColumn { name, ty, not_null, default }
}

/// Views: `-- view schema.name`, then the query up to a semicolon.
fn views() -> impl Iterator<Item = (&'static str, &'static str)> {
    include_str!("system/views.sql").split("-- view ").skip(1).map(|part| {
        let (name, query) = part.split_once('\n').expect("a name on a line of its own");
        (name.trim(), query.trim().trim_end_matches(';'))
    })
}

fn parse_rows() -> HashMap<SystemId, Vec<Vec<Datum>>> {
    let mut rows: HashMap<SystemId, Vec<Vec<Datum>>> = HashMap::new();
    let mut shape: Option<(&'static SystemRelation, Vec<usize>)> = None;
    for line in include_str!("system/rows.txt").lines().filter(|l| !l.starts_with('#')) {
        if let Some(head) = line.strip_prefix("= ") {
            let (name, columns) = head.split_once(": ").expect("relation: columns");
            let (schema, name) = name.split_once('.').unwrap_or((PG_CATALOG, name));
            let relation = relation(schema, name).expect("a relation");
            let column = |c: &str| relation.column(c).unwrap_or_else(|| panic!("{name} has no {c}"));
            shape = Some((relation, columns.split(' ').map(column).collect()));
            continue;
        }
        let (relation, columns) = shape.as_ref().expect("a head stands first");
        let mut row: Vec<Datum> = relation.columns.iter().map(|c| c.default.clone()).collect();
        for (column, text) in columns.iter().zip(line.split('\t')) {
            row[*column] = match text {
                "\\N" => Datum::Null,
                text => Datum::parse(&relation.columns[*column].ty, text).expect("a value of the column"),
            };
        }
        rows.entry(relation.id).or_default().push(row);
    }
    rows
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn data_are_well_formed() {
        assert!(relations().len() > 100);
        let class = unqualified("pg_class").expect("there is one");
        assert_eq!((class.oid, class.schema, class.view), (1259, PG_CATALOG, false));
        assert_eq!(class.columns[class.column("relkind").expect("has it")].ty, Type::CHAR);
        assert!(relation(INFORMATION_SCHEMA, "columns").is_some_and(|r| r.view && r.query.is_some()));
        assert!(unqualified("columns").is_none());
        for relation in relations() {
            for row in fixed_rows(relation.id) {
                for (column, value) in relation.columns.iter().zip(row) {
                    assert!(!column.not_null || !value.is_null(), "{}.{}", relation.name, column.name);
                }
            }
        }
    }

    #[test]
    fn types_agree_with_what_is_known_of_them() {
        let types = unqualified("pg_type").expect("there is one");
        let column = |name: &str| types.column(name).expect("has it");
        for ty in oid::scalars() {
            let rows = fixed_rows(types.id);
            let row = rows.iter().find(|r| r[column("oid")] == Datum::Int(i64::from(oid::of(&ty))));
            let row = row.unwrap_or_else(|| panic!("{ty} has no row"));
            assert_eq!(row[column("typname")], Datum::Text(oid::name(&ty)));
            assert_eq!(row[column("typlen")], Datum::Int(i64::from(oid::length(&ty))), "{ty}");
            assert_eq!(row[column("typarray")], Datum::Int(i64::from(oid::array_of(&ty))), "{ty}");
        }
    }
}
