//! `pg_extension` and what can be made.

use super::Facts;
use super::rows::Rows;
use planaria_base::oid;
use planaria_base::{Datum, Type};
use planaria_catalog::AVAILABLE_EXTENSIONS;

/// What a database has from the start.
const PLPGSQL: (&str, &str, &str) = ("plpgsql", "1.0", "PL/pgSQL procedural language");

/// `pg_extension`: those that were made.
pub(super) fn extensions(facts: &Facts<'_>, rows: &mut Rows) {
    let catalog = facts.catalog;
    for extension in &catalog.extensions {
        rows.add(|r| {
            r.set("oid", catalog.extension_oid(&extension.name))
                .set("extname", &extension.name)
                .set("extowner", catalog.role_oid(extension.owner))
                .set("extnamespace", catalog.schema_oid(extension.schema))
                .set("extrelocatable", true)
                .set("extversion", &extension.version);
        });
    }
}

/// `pg_available_extensions`
pub(super) fn available(facts: &Facts<'_>, rows: &mut Rows) {
    let (name, version, comment) = PLPGSQL;
    rows.add(|r| {
        r.set("name", name)
            .set("default_version", version)
            .set("installed_version", version)
            .set("comment", comment);
    });
    for extension in &AVAILABLE_EXTENSIONS {
        let installed = facts.catalog.extension(extension.name).map(|e| e.version.clone());
        rows.add(|r| {
            r.set("name", extension.name)
                .set("default_version", extension.default_version())
                .set("installed_version", installed)
                .set("comment", extension.comment);
        });
    }
}

/// `pg_available_extension_versions`
pub(super) fn versions(facts: &Facts<'_>, rows: &mut Rows) {
    let (name, version, comment) = PLPGSQL;
    rows.add(|r| {
        r.set("name", name)
            .set("version", version)
            .set("installed", true)
            .set("superuser", true)
            .set("trusted", true)
            .set("relocatable", false)
            .set("schema", "pg_catalog")
            .set("comment", comment);
    });
    for extension in &AVAILABLE_EXTENSIONS {
        let installed = facts.catalog.extension(extension.name).map(|e| e.version.as_str());
        for version in extension.versions {
            rows.add(|r| {
                r.set("name", extension.name)
                    .set("version", *version)
                    .set("installed", installed == Some(*version))
                    .set("superuser", true)
                    .set("trusted", true)
                    .set("relocatable", true)
                    .set("comment", extension.comment);
            });
        }
    }
}

/// Functions for input and output: those of `text`, which the type's are.
const TEXT_IO: [oid::Oid; 4] = [46, 47, 2414, 2415];
const ARRAY_IO: [oid::Oid; 4] = [750, 751, 2400, 2401];
const ARRAY_SUBSCRIPT: oid::Oid = 6179;
pub(super) const DEFAULT_COLLATION: oid::Oid = 100;

/// The lines of `citext` and its array in `pg_type`.
pub(super) fn types(facts: &Facts<'_>, rows: &mut Rows) {
    let catalog = facts.catalog;
    let Some(extension) = catalog.extension("citext") else { return };
    let (own, array) = (oid::of(&Type::Citext), oid::array_of(&Type::Citext));
    for is_array in [false, true] {
        let io = if is_array { ARRAY_IO } else { TEXT_IO };
        rows.add(|r| {
            r.set("oid", if is_array { array } else { own })
                .set("typname", if is_array { "_citext" } else { "citext" })
                .set("typnamespace", catalog.schema_oid(extension.schema))
                .set("typowner", catalog.role_oid(extension.owner))
                .set("typlen", -1)
                .set("typbyval", false)
                .set("typcategory", if is_array { 'A' } else { 'S' })
                .set("typtype", 'b')
                .set("typsubscript", if is_array { ARRAY_SUBSCRIPT } else { 0 })
                .set("typelem", if is_array { own } else { 0 })
                .set("typarray", if is_array { 0 } else { array })
                .set("typinput", io[0])
                .set("typoutput", io[1])
                .set("typreceive", io[2])
                .set("typsend", io[3])
                .set("typalign", 'i')
                .set("typstorage", 'x')
                .set("typcollation", Datum::Int(DEFAULT_COLLATION.into()));
        });
    }
}
