//! Names of things: which schema is meant, and the names PostgreSQL makes up.

use planaria_base::{Error, Result, SchemaId, SqlState};
use planaria_catalog::system::is_system_schema;
use planaria_catalog::{Catalog, Table, Wanted, no_schema};
use planaria_syntax::ast::{Name, ObjectKind};

/// Longest identifier, in bytes (PostgreSQL's NAMEDATALEN is one more).
const NAME_BYTES_MAX: usize = 63;

/// Schema and name of a qualified name.
fn parts(name: &Name) -> Result<(Option<&str>, &str)> {
    match &name.parts[..] {
        [local] => Ok((None, local)),
        [schema, local] => Ok((Some(schema), local)),
        _ => {
            let what = format!("cross-database references are not implemented: \"{}\"", name.parts.join("."));
            Err(Error::new(SqlState::FEATURE_NOT_SUPPORTED, what).at(name.position))
        }
    }
}

/// What a name means that a statement uses. 3F000 where there is no such schema.
pub(super) fn wanted<'n>(catalog: &Catalog, name: &'n Name) -> Result<Wanted<'n>> {
    let (schema, local) = parts(name)?;
    let error = match schema {
        None => return Ok(local.into()),
        Some(reserved) if is_system_schema(reserved) => no_relation(name),
        Some(other) => match catalog.schema(other) {
            Some(id) => return Ok((id, local).into()),
            None => no_schema(other),
        },
    };
    Err(error.at(name.position))
}

/// Schema and name of something new.
pub(super) fn new<'n>(catalog: &Catalog, name: &'n Name) -> Result<(SchemaId, &'n str)> {
    let (schema, local) = parts(name)?;
    let error = match schema {
        None => return Ok((catalog.creation_schema().map_err(|e| e.at(name.position))?, local)),
        Some(reserved) if is_system_schema(reserved) => {
            let message = format!("permission denied to create \"{reserved}.{local}\"");
            Error::new(SqlState::INSUFFICIENT_PRIVILEGE, message)
                .with_detail("System catalog modifications are currently disallowed.")
        }
        Some(other) => match catalog.schema(other) {
            Some(id) => return Ok((id, local)),
            None => no_schema(other),
        },
    };
    Err(error.at(name.position))
}

/// What a name means that is to be a relation's, in its schema.
pub(super) fn relation_wanted<'n>(catalog: &Catalog, name: &'n Name) -> Result<Wanted<'n>> {
    wanted(catalog, name).map(|wanted| catalog.located(wanted))
}

/// The same for a relation that is to be changed: 42501 for one of the system's.
pub(super) fn own_relation<'n>(catalog: &Catalog, name: &'n Name) -> Result<Wanted<'n>> {
    match crate::lower::system::named(name) {
        Some(system) => Err(crate::lower::system::read_only(system, None, name.position)),
        None => relation_wanted(catalog, name),
    }
}

/// Cuts `a` and `b` so that `a_b_label` is no longer than an identifier may be: the longer one first
/// (PostgreSQL's makeObjectName).
fn object_name(a: &str, b: &str, label: &str) -> String {
    let overhead = label.len() + 1 + usize::from(!b.is_empty());
    let (mut na, mut nb) = (a.len(), b.len());
    while na + nb + overhead > NAME_BYTES_MAX && (na > 0 || nb > 0) {
        if na > nb {
            na -= 1;
        } else {
            nb -= 1;
        }
    }
    let cut = |s: &str, mut n: usize| {
        while !s.is_char_boundary(n) {
            n -= 1;
        }
        s[..n].to_owned()
    };
    let (a, b) = (cut(a, na), cut(b, nb));
    if b.is_empty() { format!("{a}_{label}") } else { format!("{a}_{b}_{label}") }
}

/// The first of `a_b_label`, `a_b_label1`, ... that is free.
fn choose(a: &str, b: &str, label: &str, taken: impl Fn(&str) -> bool) -> String {
    let mut n = 0u32;
    loop {
        let suffix = if n == 0 { label.to_owned() } else { format!("{label}{n}") };
        let name = object_name(a, b, &suffix);
        if !taken(&name) {
            return name;
        }
        n += 1;
    }
}

/// A free name for a relation that goes with a table (index, sequence).
pub(super) fn relation(catalog: &Catalog, table: &Table, columns: &[&str], label: &str) -> String {
    relation_in(catalog, table.schema, &table.name, columns, label)
}

/// A free name for statistics of a table.
pub(super) fn statistics(table: &str, labels: &[String], taken: impl Fn(&str) -> bool) -> String {
    let labels: Vec<&str> = labels.iter().map(String::as_str).collect();
    choose(table, &joined(&labels), "stat", taken)
}

/// The same before the table is there.
pub(super) fn relation_in(
    catalog: &Catalog,
    schema: SchemaId,
    table: &str,
    columns: &[&str],
    label: &str,
) -> String {
    let taken = |n: &str| catalog.relation_exists((schema, n)) || any_constraint(catalog, schema, n);
    choose(table, &joined(columns), label, taken)
}

/// A free name for a CHECK or FOREIGN KEY of a table.
pub(super) fn constraint(catalog: &Catalog, table: &Table, columns: &[&str], label: &str) -> String {
    choose(&table.name, &joined(columns), label, |n| {
        table.has_constraint(n) || any_constraint(catalog, table.schema, n)
    })
}

/// A free name for a condition of a domain.
pub(super) fn domain_constraint(domain: &str, taken: impl Fn(&str) -> bool) -> String {
    choose(domain, "", "check", taken)
}

/// Column names joined as PostgreSQL does for made-up names.
fn joined(columns: &[&str]) -> String {
    let mut all = columns.join("_");
    while all.len() > NAME_BYTES_MAX {
        all.pop();
    }
    all
}

fn any_constraint(catalog: &Catalog, schema: SchemaId, name: &str) -> bool {
    catalog.tables_with_constraint(name).any(|table| table.schema == schema)
}

/// 42P07
pub(super) fn relation_exists(name: &str) -> Error {
    Error::new(SqlState::DUPLICATE_TABLE, format!("relation \"{name}\" already exists"))
}

/// 42P01 as statements other than DROP say it.
pub(super) fn no_relation(name: &Name) -> Error {
    let shown = name.parts.join(".");
    Error::new(SqlState::UNDEFINED_TABLE, format!("relation \"{shown}\" does not exist")).at(name.position)
}

/// 42710
pub(super) fn constraint_exists(name: &str, table: &str) -> Error {
    let message = format!("constraint \"{name}\" for relation \"{table}\" already exists");
    Error::new(SqlState::DUPLICATE_OBJECT, message)
}

/// What a relation that is no table is, where there is one of that name: ALTER TABLE renames it, too.
pub(super) fn kind_of(catalog: &Catalog, name: &Name) -> Option<ObjectKind> {
    let known = own_relation(catalog, name).ok()?;
    if catalog.view(known).is_some() {
        return Some(ObjectKind::View);
    }
    match catalog.sequence(known) {
        Some(_) => Some(ObjectKind::Sequence),
        None => catalog.index(known).map(|_| ObjectKind::Index),
    }
}

/// The table a statement names; 42809 where it is another kind of relation.
pub(super) fn table<'c>(catalog: &'c Catalog, name: &Name) -> Result<&'c Table> {
    let known = own_relation(catalog, name)?;
    if let Some(table) = catalog.table(known) {
        return Ok(table);
    }
    if catalog.relation_exists(known) {
        let message = format!("\"{known}\" is not a table");
        return Err(Error::new(SqlState::WRONG_OBJECT_TYPE, message).at(name.position));
    }
    Err(no_relation(name))
}
