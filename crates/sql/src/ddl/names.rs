//! Names of things: which schema is meant, and the names PostgreSQL makes up.

use planaria_base::{Error, Result, SqlState};
use planaria_catalog::{Catalog, PUBLIC, Table};
use planaria_syntax::ast::Name;

/// Longest identifier, in bytes (PostgreSQL's NAMEDATALEN is one more).
const NAME_BYTES_MAX: usize = 63;

/// The relation or routine a name means, in the only schema there is. `creating`: the name of
/// something new, so that a reserved schema is refused rather than searched.
pub(super) fn local(name: &Name, creating: bool) -> Result<&str> {
    let (schema, local) = match &name.parts[..] {
        [local] => (None, local),
        [schema, local] => (Some(schema.as_str()), local),
        _ => {
            let what = format!("cross-database references are not implemented: \"{}\"", name.parts.join("."));
            return Err(Error::unsupported(what, "Leave the database name out.").at(name.position));
        }
    };
    let error = match schema {
        None | Some(PUBLIC) => return Ok(local),
        Some("pg_temp") => temporary(),
        Some(reserved @ ("pg_catalog" | "information_schema")) if creating => {
            let message = format!("permission denied to create \"{reserved}.{local}\"");
            Error::new(SqlState::INSUFFICIENT_PRIVILEGE, message)
                .detail("System catalog modifications are currently disallowed.")
        }
        Some("pg_catalog" | "information_schema") => no_relation(name),
        Some(other) => {
            Error::new(SqlState::INVALID_SCHEMA_NAME, format!("schema \"{other}\" does not exist"))
        }
    };
    Err(error.at(name.position))
}

/// The same for a relation that is to be changed: 42501 for one of the system's.
pub(super) fn local_relation(name: &Name) -> Result<&str> {
    match crate::lower::system::named(name) {
        Some(system) => Err(crate::lower::system::read_only(system, None, name.position)),
        None => local(name, false),
    }
}

/// 0A000 for TEMPORARY.
pub(super) fn temporary() -> Error {
    Error::unsupported("temporary tables are not supported", "Use an ordinary table and drop it.")
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

/// A free name for a relation (index, sequence).
pub(super) fn relation(catalog: &Catalog, table: &str, columns: &[&str], label: &str) -> String {
    choose(table, &joined(columns), label, |n| catalog.relation_exists(n) || any_constraint(catalog, n))
}

/// A free name for a CHECK or FOREIGN KEY of a table.
pub(super) fn constraint(catalog: &Catalog, table: &Table, columns: &[&str], label: &str) -> String {
    choose(&table.name, &joined(columns), label, |n| table.has_constraint(n) || any_constraint(catalog, n))
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

fn any_constraint(catalog: &Catalog, name: &str) -> bool {
    catalog.tables_with_constraint(name).next().is_some()
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

/// The table a statement names; 42809 where it is another kind of relation.
pub(super) fn table<'c>(catalog: &'c Catalog, name: &Name) -> Result<&'c Table> {
    let known = local_relation(name)?;
    if let Some(table) = catalog.table(known) {
        return Ok(table);
    }
    if catalog.relation_exists(known) {
        let message = format!("\"{known}\" is not a table");
        return Err(Error::new(SqlState::WRONG_OBJECT_TYPE, message).at(name.position));
    }
    Err(no_relation(name))
}
