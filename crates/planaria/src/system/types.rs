//! `pg_type`: row types of tables and views and types of users, beside those that every database has; `pg_enum`.

use super::Facts;
use super::rows::{Row, Rows, fixed};
use planaria_base::oid::{self, Oid};
use planaria_base::types::RowType;
use planaria_base::{Datum, Type, TypeId};
use planaria_catalog::oids::Object;
use planaria_catalog::{Catalog, Domain, TypeKind, UserType, key};
use std::collections::HashMap;

/// What a column takes over from its type.
pub(super) struct Shape {
    pub(super) len: i64,
    pub(super) by_value: Datum,
    pub(super) align: Datum,
    pub(super) storage: Datum,
    pub(super) collation: Oid,
}

/// By the type's OID.
pub(super) fn shapes() -> HashMap<Oid, Shape> {
    fixed("pg_type")
        .map(|t| {
            let shape = Shape {
                len: t.int("typlen"),
                by_value: t.value("typbyval"),
                align: t.value("typalign"),
                storage: t.value("typstorage"),
                collation: t.int("typcollation") as Oid,
            };
            (t.int("oid") as Oid, shape)
        })
        .collect()
}

/// Functions for input and output of rows and arrays: text in and out, binary in and out.
const RECORD_IO: [Oid; 4] = [2290, 2291, 2402, 2403];
const ARRAY_IO: [Oid; 4] = [750, 751, 2400, 2401];

/// `pg_type`
pub(super) fn types(facts: &Facts<'_>, rows: &mut Rows) {
    let catalog = facts.catalog;
    let tables = catalog.tables.iter().flatten();
    let tables = tables.map(|t| (t.schema, &t.name, catalog.table_oid(t.id), &t.rights, t.composite));
    let views = catalog.plain_views().map(|v| (v.schema, &v.name, catalog.view_oid(v), &v.rights, false));
    for (schema, name, relation, rights, composite) in tables.chain(views) {
        let row_type = catalog.oids.of(&Object::RowType(key(schema, name)));
        let array = catalog.oids.of(&Object::RowTypeArray(key(schema, name)));
        for (is_array, oid, io) in [(false, row_type, RECORD_IO), (true, array, ARRAY_IO)] {
            rows.add(|r| {
                r.set("oid", oid)
                    .set("typname", if is_array { format!("_{name}") } else { name.clone() })
                    .set("typnamespace", catalog.schema_oid(schema))
                    .set("typowner", catalog.role_oid(rights.owner))
                    .set("typlen", -1)
                    .set("typbyval", false)
                    .set("typcategory", if is_array { 'A' } else { 'C' })
                    .set("typtype", if is_array { 'b' } else { 'c' })
                    .set("typrelid", if is_array { 0 } else { relation })
                    .set("typelem", if is_array { row_type } else { 0 })
                    .set("typarray", if is_array { 0 } else { array })
                    .set("typinput", io[0])
                    .set("typoutput", io[1])
                    .set("typreceive", io[2])
                    .set("typsend", io[3])
                    .set("typalign", 'd')
                    .set("typstorage", 'x');
                if composite && !is_array {
                    r.set("typacl", rights.display(catalog));
                }
            });
        }
    }
    let shapes = shapes();
    for ty in catalog.types.iter().flatten() {
        user_type(catalog, ty, &shapes, rows);
    }
}

/// Functions for input and output of enumerated types, and those that read a domain's values.
const ENUM_IO: [Oid; 4] = [3506, 3507, 3532, 3533];
const DOMAIN_IN: [Oid; 2] = [2597, 2598];

/// The OID of a type, or of the domain that stands for it.
pub(super) fn declared_oid(catalog: &Catalog, ty: &Type, domain: Option<TypeId>) -> Oid {
    match (domain, ty) {
        (Some(_), _) => catalog.declared_oid(ty, domain),
        (None, Type::Record(RowType { of: Some(of), .. })) => {
            let table = catalog.table_by_id(of.table);
            catalog.oids.of(&Object::RowType(key(table.schema, &table.name)))
        }
        (None, ty) => oid::of(ty),
    }
}

/// A type of the user's, and its arrays.
fn user_type(catalog: &Catalog, ty: &UserType, shapes: &HashMap<Oid, Shape>, rows: &mut Rows) {
    let (own, array) = (catalog.type_oid(ty.id), catalog.oids.of(&Object::TypeArray(ty.id)));
    let owner = catalog.role_oid(ty.rights.owner);
    let align = match &ty.kind {
        TypeKind::Enum(_) => 'i'.to_string(),
        TypeKind::Domain(domain) => match shapes.get(&oid::of(&domain.base)).map(|s| s.align.clone()) {
            Some(Datum::Text(align)) => align,
            _ => 'i'.to_string(),
        },
    };
    rows.add(|r| {
        r.set("oid", own)
            .set("typname", &ty.name)
            .set("typnamespace", catalog.schema_oid(ty.schema))
            .set("typowner", owner)
            .set("typacl", ty.rights.display(catalog))
            .set("typarray", array);
        match &ty.kind {
            TypeKind::Enum(_) => {
                r.set("typlen", 4)
                    .set("typbyval", true)
                    .set("typtype", 'e')
                    .set("typcategory", 'E')
                    .set("typinput", ENUM_IO[0])
                    .set("typoutput", ENUM_IO[1])
                    .set("typreceive", ENUM_IO[2])
                    .set("typsend", ENUM_IO[3])
                    .set("typalign", 'i')
                    .set("typstorage", 'p');
            }
            TypeKind::Domain(domain) => of_domain(r, catalog, domain, shapes),
        }
    });
    rows.add(|r| {
        r.set("oid", array)
            .set("typname", format!("_{}", ty.name))
            .set("typnamespace", catalog.schema_oid(ty.schema))
            .set("typowner", owner)
            .set("typlen", -1)
            .set("typbyval", false)
            .set("typtype", 'b')
            .set("typcategory", 'A')
            .set("typelem", own)
            .set("typinput", ARRAY_IO[0])
            .set("typoutput", ARRAY_IO[1])
            .set("typreceive", ARRAY_IO[2])
            .set("typsend", ARRAY_IO[3])
            .set("typalign", if align == "d" { "d" } else { "i" })
            .set("typstorage", 'x');
    });
}

fn of_domain(row: &mut Row<'_>, catalog: &Catalog, domain: &Domain, shapes: &HashMap<Oid, Shape>) {
    let base = oid::of(&domain.base);
    let plain = fixed("pg_type").find(|t| t.int("oid") == i64::from(base));
    if let Some(plain) = plain {
        for column in ["typcategory", "typoutput", "typsend"] {
            row.set(column, plain.value(column));
        }
    } else if let Type::Array(_) = &domain.base {
        row.set("typcategory", 'A').set("typoutput", ARRAY_IO[1]).set("typsend", ARRAY_IO[3]);
    } else if let Type::Enum(_) = &domain.base {
        row.set("typcategory", 'E').set("typoutput", ENUM_IO[1]).set("typsend", ENUM_IO[3]);
    }
    if let Some(shape) = shapes.get(&base) {
        row.set("typlen", shape.len)
            .set("typbyval", shape.by_value.clone())
            .set("typalign", shape.align.clone())
            .set("typstorage", shape.storage.clone())
            .set("typcollation", shape.collation);
    }
    row.set("typtype", 'd')
        .set("typbasetype", declared_oid(catalog, &domain.base, domain.over))
        .set("typtypmod", if domain.over.is_some() { -1 } else { oid::modifier(&domain.base) })
        .set("typnotnull", domain.not_null)
        .set("typinput", DOMAIN_IN[0])
        .set("typreceive", DOMAIN_IN[1])
        .set("typndims", i32::from(matches!(domain.base, Type::Array(_))));
    if let Some(text) = &domain.default {
        let text = super::shown::domain_default(catalog, domain, text);
        row.set("typdefault", text.clone()).set("typdefaultbin", text);
    }
}

/// `pg_enum`
pub(super) fn labels(facts: &Facts<'_>, rows: &mut Rows) {
    let catalog = facts.catalog;
    for ty in catalog.types.iter().flatten() {
        let TypeKind::Enum(of) = &ty.kind else { continue };
        for (at, label) in of.labels().iter().enumerate() {
            rows.add(|r| {
                r.set("oid", catalog.oids.of(&Object::Label(ty.id, label.rank)))
                    .set("enumtypid", of.oid())
                    .set("enumsortorder", (at + 1) as f64)
                    .set("enumlabel", &label.text);
            });
        }
    }
}

/// `pg_cast`: those of users.
pub(super) fn casts(facts: &Facts<'_>, rows: &mut Rows) {
    for cast in &facts.catalog.casts {
        rows.add(|r| {
            r.set("oid", facts.catalog.cast_oid(cast))
                .set("castsource", cast.source)
                .set("casttarget", cast.target)
                .set("castfunc", 0)
                .set("castcontext", cast.context.letter())
                .set("castmethod", 'i');
        });
    }
}
