//! The database, its schemas and roles, settings, sessions, counters.

use super::Facts;
use super::rows::Rows;
use planaria_base::Datum;
use planaria_base::oid::{self, Oid};
use planaria_catalog::system::{INFORMATION_SCHEMA, INFORMATION_SCHEMA_OID, PG_CATALOG};

/// The role that made the database.
pub(super) const SUPERUSER: Oid = planaria_catalog::reg::SUPERUSER_OID;
/// Its name.
pub(super) const SUPERUSER_NAME: &str = "planaria";
/// The name of the database.
pub(super) const DATABASE: &str = "planaria";
/// Its OID.
const DATABASE_OID: Oid = 5;

/// `pg_namespace`
pub(super) fn namespaces(_: &Facts<'_>, rows: &mut Rows) {
    let schemas = [
        (oid::PG_CATALOG, PG_CATALOG, SUPERUSER),
        (oid::PUBLIC, planaria_catalog::PUBLIC, SUPERUSER),
        (INFORMATION_SCHEMA_OID, INFORMATION_SCHEMA, SUPERUSER),
    ];
    for (oid, name, owner) in schemas {
        rows.add(|r| {
            r.set("oid", oid).set("nspname", name).set("nspowner", owner);
        });
    }
}

/// `pg_database`
pub(super) fn databases(_: &Facts<'_>, rows: &mut Rows) {
    rows.add(|r| {
        r.set("oid", DATABASE_OID)
            .set("datname", DATABASE)
            .set("datdba", SUPERUSER)
            .set("encoding", 6)
            .set("datlocprovider", 'c')
            .set("datistemplate", false)
            .set("datallowconn", true)
            .set("datconnlimit", -1)
            .set("datfrozenxid", 0)
            .set("datminmxid", 0)
            .set("dattablespace", 1663)
            .set("datcollate", "C")
            .set("datctype", "C.UTF-8");
    });
}

/// `pg_authid`
pub(super) fn roles(_: &Facts<'_>, rows: &mut Rows) {
    rows.add(|r| {
        r.set("oid", SUPERUSER).set("rolname", SUPERUSER_NAME).set("rolconnlimit", -1);
        for right in [
            "rolsuper",
            "rolinherit",
            "rolcreaterole",
            "rolcreatedb",
            "rolcanlogin",
            "rolreplication",
            "rolbypassrls",
        ] {
            r.set(right, true);
        }
    });
}

/// `pg_settings`
pub(super) fn settings(facts: &Facts<'_>, rows: &mut Rows) {
    let Ok((_, settings)) = facts.settings.show("all") else { return };
    for line in settings {
        let [name, setting, description] = &line[..] else { continue };
        rows.add(|r| {
            r.set("name", name)
                .set("setting", setting)
                .set("short_desc", description)
                .set("category", "Planaria")
                .set("context", "user")
                .set("vartype", if matches!(setting.as_str(), "on" | "off") { "bool" } else { "string" })
                .set("source", "default")
                .set("boot_val", setting)
                .set("reset_val", setting)
                .set("pending_restart", false);
        });
    }
}

/// `pg_stat_activity`: the session that asks.
pub(super) fn activity(facts: &Facts<'_>, rows: &mut Rows) {
    rows.add(|r| {
        r.set("datid", DATABASE_OID)
            .set("datname", DATABASE)
            .set("pid", facts.session)
            .set("usesysid", SUPERUSER)
            .set("usename", SUPERUSER_NAME)
            .set("application_name", facts.settings.get("application_name").unwrap_or_default())
            .set("xact_start", Datum::Int(facts.now))
            .set("query_start", Datum::Int(facts.now))
            .set("state", "active")
            .set("backend_type", "client backend");
    });
}

/// `pg_stat_all_tables`: how many rows there are. Scans and changes are not counted by table.
pub(super) fn table_statistics(facts: &Facts<'_>, rows: &mut Rows) {
    for table in facts.catalog.tables.iter().flatten() {
        let amount = facts.stock.amount(table.id);
        rows.add(|r| {
            r.set("relid", facts.catalog.table_oid(table.id))
                .set("schemaname", planaria_catalog::PUBLIC)
                .set("relname", &table.name)
                .set("n_live_tup", amount.rows as i64)
                .set("n_dead_tup", 0);
            for counter in ["vacuum_count", "autovacuum_count", "analyze_count", "autoanalyze_count"] {
                r.set(counter, 0);
            }
        });
    }
}
