//! `pg_type`: row types of tables and views, beside those that every database has.

use super::Facts;
use super::rows::{Rows, fixed};
use planaria_base::Datum;
use planaria_base::oid::{self, Oid};
use planaria_catalog::oids::Object;
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
    let tables = catalog.tables.iter().flatten().map(|t| (&t.name, catalog.table_oid(t.id), t.rights.owner));
    let views = catalog.views.values().map(|v| (&v.name, catalog.view_oid(v), v.rights.owner));
    for (name, relation, owner) in tables.chain(views) {
        let row_type = catalog.oids.of(&Object::RowType(name.clone()));
        let array = catalog.oids.of(&Object::RowTypeArray(name.clone()));
        for (is_array, oid, io) in [(false, row_type, RECORD_IO), (true, array, ARRAY_IO)] {
            rows.add(|r| {
                r.set("oid", oid)
                    .set("typname", if is_array { format!("_{name}") } else { name.clone() })
                    .set("typnamespace", oid::PUBLIC)
                    .set("typowner", catalog.role_oid(owner))
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
            });
        }
    }
}
