//! `pg_describe_object`: what an object of the catalogs is, in words.

use super::Facts;
use super::relations::system_relation;
use super::rows::fixed;
use planaria_base::oid::Oid;
use planaria_base::types::SystemType;
use planaria_base::{Datum, oid};
use planaria_catalog::oids::{DATABASE_OID, Object};
use planaria_catalog::{Catalog, reg};

/// An object of a catalog (by the catalog's OID), or one of its columns; `None` where there is none.
pub(super) fn describe(facts: &Facts<'_>, class: Oid, object: Oid, column: i64) -> Option<String> {
    let catalog = facts.catalog;
    let shown = |ty: SystemType| reg::show(catalog, ty, object);
    let known = catalog.oids.object(object);
    let system = object < oid::FIRST_NORMAL;
    match class {
        1259 => relation(catalog, object, column),
        1255 if known.is_some() || system => Some(format!("function {}", shown(SystemType::RegProcedure))),
        1247 if known.is_some() || system => Some(format!("type {}", shown(SystemType::RegType))),
        2606 => match known? {
            Object::Constraint(table, name) => {
                Some(format!("constraint {name} on table {}", catalog.table_by_id(*table).name))
            }
            Object::DomainConstraint(_, name) => Some(format!("constraint {name}")),
            _ => None,
        },
        2604 => match known? {
            Object::Default(table, name) => {
                Some(format!("default value for column {name} of table {}", catalog.table_by_id(*table).name))
            }
            _ => None,
        },
        2618 => match known? {
            Object::Rule(key) => {
                let (schema, view) = planaria_catalog::of_key(key);
                let stored = catalog.views.get(key).is_some_and(|v| v.stored);
                let kind = if stored { "materialized view" } else { "view" };
                Some(format!("rule _RETURN on {kind} {}", catalog.shown_relation(schema, view)))
            }
            _ => None,
        },
        2615 if reg::namespace_name(catalog, object).is_some() => {
            Some(format!("schema {}", shown(SystemType::RegNamespace)))
        }
        2605 => match known? {
            Object::Cast(source, target) => {
                let [from, to] = [*source, *target].map(|oid| reg::type_name(catalog, oid));
                Some(format!("cast from {} to {}", from?, to?))
            }
            _ => None,
        },
        2620 => match known? {
            Object::Trigger(table, name) => {
                let table = catalog.table_by_id(*table);
                Some(format!("trigger {name} on table {}", catalog.shown_relation(table.schema, &table.name)))
            }
            Object::ViewTrigger(key, name) => {
                let (schema, view) = planaria_catalog::of_key(key);
                Some(format!("trigger {name} on view {}", catalog.shown_relation(schema, view)))
            }
            _ => None,
        },
        3256 => match known? {
            Object::Policy(table, name) => {
                let table = catalog.table_by_id(*table);
                Some(format!("policy {name} on table {}", catalog.shown_relation(table.schema, &table.name)))
            }
            _ => None,
        },
        3381 => {
            let found = catalog.statistics_of_oid(object);
            found.map(|(_, of)| format!("statistics object {}", catalog.shown_statistics(of)))
        }
        1260 => catalog.role_of_oid(object).map(|role| format!("role {}", role.name)),
        1262 if object == DATABASE_OID => Some(format!("database {}", facts.settings.database())),
        2612 => named("pg_language", "lanname", object).map(|name| format!("language {name}")),
        3079 => match known {
            Some(Object::Extension(name)) => {
                Some(format!("extension {}", planaria_base::text_io::quote_ident(name)))
            }
            _ => named("pg_extension", "extname", object).map(|name| format!("extension {name}")),
        },
        _ => None,
    }
}

fn named(relation: &str, column: &str, object: Oid) -> Option<String> {
    let row = fixed(relation).find(|row| row.int("oid") == i64::from(object))?;
    match row.value(column) {
        Datum::Text(name) => Some(name),
        _ => None,
    }
}

fn relation(catalog: &Catalog, object: Oid, column: i64) -> Option<String> {
    let at = usize::try_from(column).ok().and_then(|n| n.checked_sub(1));
    let name = reg::show(catalog, SystemType::RegClass, object);
    let (kind, columns): (_, Vec<&str>) = match (system_relation(object), catalog.oids.object(object)) {
        (Some(relation), _) => {
            let kind = if relation.view { "view" } else { "table" };
            (kind, relation.columns.iter().map(|c| c.name).collect())
        }
        (None, Some(Object::Table(id))) => {
            let table = catalog.table_by_id(*id);
            let kind = if table.materialized.is_some() { "materialized view" } else { "table" };
            if column != 0 {
                let (_, found) = table.column_numbered(column)?;
                return Some(format!("column {} of {kind} {name}", found.name));
            }
            (kind, Vec::new())
        }
        (None, Some(Object::View(view))) => {
            ("view", catalog.views.get(view)?.columns.iter().map(String::as_str).collect())
        }
        (None, Some(Object::Index(..))) => ("index", Vec::new()),
        (None, Some(Object::Sequence(_))) => ("sequence", Vec::new()),
        _ => return None,
    };
    match at {
        None => Some(format!("{kind} {name}")),
        Some(at) => columns.get(at).map(|column| format!("column {column} of {kind} {name}")),
    }
}
