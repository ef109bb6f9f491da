//! The database, its schemas and roles, settings, sessions, counters.

use super::Facts;
use super::rows::Rows;
use super::{Awaited, RestartFacts};
use planaria_base::datetime::{Interval, Zone, zone};
use planaria_base::oid::{self, Oid};
use planaria_base::{Datum, RoleId, TableId};
use planaria_catalog::oids::{DATABASE_OID, SUPERUSER_OID};
use planaria_catalog::system::{INFORMATION_SCHEMA, INFORMATION_SCHEMA_OID, PG_CATALOG};
use planaria_catalog::{
    Catalog, DATABASE_OWNER, MONITOR, PREDEFINED, SUPERUSER, acl_name, grants_with_names,
};
use std::collections::HashMap;
use std::time::Duration;

/// OID of the catalog of databases.
const PG_DATABASE: Oid = 1262;

/// `pg_namespace`
pub(super) fn namespaces(facts: &Facts<'_>, rows: &mut Rows) {
    let catalog = facts.catalog;
    for (oid, name) in [(oid::PG_CATALOG, PG_CATALOG), (INFORMATION_SCHEMA_OID, INFORMATION_SCHEMA)] {
        rows.add(|r| {
            r.set("oid", oid).set("nspname", name).set("nspowner", SUPERUSER_OID);
        });
    }
    rows.add(|r| {
        let owner = catalog.schema_rights.owner;
        let owner = if owner == SUPERUSER { DATABASE_OWNER.1 } else { catalog.role_oid(owner) };
        r.set("oid", oid::PUBLIC)
            .set("nspname", planaria_catalog::PUBLIC)
            .set("nspowner", owner)
            .set("nspacl", rights_on_public(catalog));
    });
    for schema in catalog.schemas.iter().flatten() {
        rows.add(|r| {
            r.set("oid", catalog.schema_oid(schema.id))
                .set("nspname", &schema.name)
                .set("nspowner", catalog.role_oid(schema.rights.owner))
                .set("nspacl", schema.rights.display(catalog));
        });
    }
}

/// Rights on the schema `public`. Where nobody has given it away it is the first superuser's, who is shown as the owner of the
/// database, whoever that is: so PostgreSQL's server is set up. Before anybody has changed them they are not those of any
/// schema, and pg_dump knows that.
fn rights_on_public(catalog: &Catalog) -> Vec<String> {
    let rights = &catalog.schema_rights;
    let name = |role: RoleId| match role {
        SUPERUSER if rights.owner == SUPERUSER => DATABASE_OWNER.0.to_owned(),
        role => acl_name(&catalog.role_name(role)),
    };
    match &rights.grants {
        Some(grants) => {
            let mut grants = grants.clone();
            grants.sort_by_key(|grant| grant.grantee != Some(rights.owner));
            grants_with_names(&grants, &name)
        }
        None => {
            let owner = name(rights.owner);
            vec![format!("{owner}=UC/{owner}"), format!("=U/{owner}")]
        }
    }
}

/// `pg_database`
pub(super) fn databases(facts: &Facts<'_>, rows: &mut Rows) {
    let rights = &facts.catalog.database_rights;
    rows.add(|r| {
        r.set("oid", DATABASE_OID)
            .set("datname", facts.settings.database())
            .set("datdba", facts.catalog.role_oid(rights.owner))
            .set("datacl", rights.display(facts.catalog))
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

/// `pg_authid`. Verifiers of passwords are for superusers.
pub(super) fn roles(facts: &Facts<'_>, rows: &mut Rows) {
    let catalog = facts.catalog;
    let trusted = catalog.is_superuser(facts.role);
    for role in catalog.roles.iter().flatten() {
        rows.add(|r| {
            r.set("oid", catalog.role_oid(role.id))
                .set("rolname", &role.name)
                .set("rolsuper", role.superuser)
                .set("rolinherit", role.inherit)
                .set("rolcreaterole", role.create_role)
                .set("rolcreatedb", role.create_db)
                .set("rolcanlogin", role.login)
                .set("rolreplication", role.replication)
                .set("rolbypassrls", role.bypass_rls)
                .set("rolconnlimit", role.connection_limit)
                .set("rolpassword", role.verifier.as_ref().filter(|_| trusted))
                .set("rolvaliduntil", role.valid_until);
        });
    }
    // Those that have had no member yet.
    for (name, oid) in PREDEFINED.iter().filter(|(name, _)| catalog.role(name).is_none()) {
        rows.add(|r| {
            r.set("oid", *oid)
                .set("rolname", *name)
                .set("rolinherit", true)
                .set("rolcreaterole", false)
                .set("rolcreatedb", false)
                .set("rolcanlogin", false)
                .set("rolreplication", false)
                .set("rolbypassrls", false)
                .set("rolconnlimit", -1);
        });
    }
}

/// `pg_auth_members`
pub(super) fn members(facts: &Facts<'_>, rows: &mut Rows) {
    let catalog = facts.catalog;
    for role in catalog.roles.iter().flatten() {
        for group in &role.member_of {
            rows.add(|r| {
                r.set("roleid", catalog.role_oid(group.role))
                    .set("member", catalog.role_oid(role.id))
                    .set("grantor", catalog.role_oid(group.grantor))
                    .set("admin_option", group.admin);
            });
        }
    }
    for of in MONITOR.1 {
        rows.add(|r| {
            r.set("roleid", predefined(of))
                .set("member", predefined(MONITOR.0))
                .set("grantor", catalog.role_oid(SUPERUSER))
                .set("admin_option", false);
        });
    }
}

/// The OID of a predefined role, which may be none of the catalog's yet.
fn predefined(name: &str) -> Option<Oid> {
    PREDEFINED.iter().find(|(predefined, _)| *predefined == name).map(|(_, oid)| *oid)
}

/// `pg_db_role_setting`
pub(super) fn defaults(facts: &Facts<'_>, rows: &mut Rows) {
    let catalog = facts.catalog;
    for defaults in &catalog.defaults {
        let config = defaults.settings.iter().map(|(name, value)| format!("{name}={value}"));
        rows.add(|r| {
            r.set("setdatabase", if defaults.in_database { DATABASE_OID } else { 0 })
                .set("setrole", defaults.role.map_or(0, |role| catalog.role_oid(role)))
                .set("setconfig", config.collect::<Vec<_>>());
        });
    }
}

/// `pg_settings`
pub(super) fn settings(facts: &Facts<'_>, rows: &mut Rows) {
    let Ok((_, settings)) = facts.settings.show("all") else { return };
    let of_server = facts.host.as_ref().map(|host| host.settings()).unwrap_or_default();
    for s in &of_server {
        rows.add(|r| {
            r.set("name", &s.name)
                .set("setting", &s.value)
                .set("short_desc", &s.description)
                .set("category", "Server")
                .set("context", if s.reloadable { "sighup" } else { "postmaster" })
                .set("vartype", s.kind)
                .set("source", s.source)
                .set("boot_val", &s.default)
                .set("reset_val", &s.value)
                .set("pending_restart", s.pending_restart);
        });
    }
    for line in settings {
        let [name, setting, description] = &line[..] else { continue };
        if of_server.iter().any(|s| s.name == *name) {
            continue;
        }
        let (initial, default) = facts.settings.origins(name);
        let reset = initial.unwrap_or(default);
        let kind = crate::settings::shown::kind(name, setting);
        rows.add(|r| {
            r.set("name", name)
                .set("setting", kind.value(setting))
                .set("short_desc", description)
                .set("category", "Planaria")
                .set("context", "user")
                .set("vartype", kind.vartype)
                .set(
                    "source",
                    match initial {
                        _ if setting.as_str() != reset => "session",
                        Some(_) => "user",
                        None => "default",
                    },
                )
                .set("boot_val", kind.value(default))
                .set("reset_val", kind.value(reset))
                .set("pending_restart", false);
            if let Some(unit) = kind.unit {
                r.set("unit", unit);
            }
            if !kind.words.is_empty() {
                r.set("enumvals", kind.words.clone());
            }
        });
    }
}

/// `pg_stat_statements`: what statements have taken, by their texts without constants. Texts are for those who have the
/// privileges of the role that ran them.
pub(super) fn statements(facts: &Facts<'_>, rows: &mut Rows) {
    let catalog = facts.catalog;
    for s in facts.host.as_ref().map(|host| host.statements()).unwrap_or_default() {
        let visible = catalog.has_privileges_of(facts.role, s.role);
        rows.add(|r| {
            r.set("userid", catalog.role_oid(s.role))
                .set("dbid", DATABASE_OID)
                .set("toplevel", true)
                .set("queryid", visible.then_some(s.id))
                .set("query", if visible { &*s.text } else { "<insufficient privilege>" })
                .set("calls", s.calls as i64)
                .set("total_exec_time", s.total)
                .set("min_exec_time", s.min)
                .set("max_exec_time", s.max)
                .set("mean_exec_time", s.total / s.calls.max(1) as f64)
                .set("stddev_exec_time", s.deviation)
                .set("rows", s.rows as i64);
        });
    }
}

/// `pg_cursors`
pub(super) fn cursors(facts: &Facts<'_>, rows: &mut Rows) {
    facts.cursors.each(&mut |cursor| {
        rows.add(|r| {
            r.set("name", cursor.name)
                .set("statement", cursor.statement)
                .set("is_holdable", cursor.hold)
                .set("is_binary", false)
                .set("is_scrollable", !cursor.forward_only)
                .set("creation_time", cursor.created);
        });
    });
}

/// `pg_prepared_statements`. Plans follow from rules, so nobody plans for values.
pub(super) fn named_statements(facts: &Facts<'_>, rows: &mut Rows) {
    facts.statements.each(&mut |named| {
        let types = named.parameters.iter().map(oid::of).collect::<Vec<_>>();
        rows.add(|r| {
            r.set("name", named.name)
                .set("statement", named.text)
                .set("prepare_time", named.since)
                .set("parameter_types", types)
                .set("from_sql", named.by_sql)
                .set("generic_plans", 0i64)
                .set("custom_plans", 0i64);
        });
    });
}

/// `pg_stat_activity`: all clients of the server; the session that asks where there is no server.
///
/// What a client does is for those who have the privileges of its role.
pub(super) fn activity(facts: &Facts<'_>, rows: &mut Rows) {
    let Some(clients) = &facts.clients else { return own_activity(facts, rows) };
    let catalog = facts.catalog;
    let blocked = facts.vitals.locks().into_iter().filter(|lock| !lock.granted);
    let blocked: HashMap<i32, &str> = blocked.map(|lock| (lock.process, lock_type(lock.what))).collect();
    let paused: HashMap<i32, _> = facts.vitals.pauses().into_iter().collect();
    for client in clients.list() {
        let visible = catalog.has_privileges_of(facts.role, client.role);
        rows.add(|r| {
            r.set("datid", DATABASE_OID)
                .set("datname", facts.settings.database())
                .set("pid", client.number)
                .set("usesysid", catalog.role_oid(client.role))
                .set("usename", catalog.role_name(client.role))
                .set("application_name", client.application_name);
            if !visible {
                r.set("query", "<insufficient privilege>");
                return;
            }
            let blocked = blocked.get(&client.number).map(|on| ("Lock", *on));
            let paused = paused.get(&client.number).copied();
            let (kind, event) = blocked.or(paused).or(client.waits_for).unzip();
            r.set("client_addr", client.address.map(|a| a.ip().to_string()))
                .set("client_port", client.address.map_or(-1, |a| i32::from(a.port())))
                .set("backend_start", client.connected)
                .set("xact_start", client.transaction_since)
                .set("query_start", client.statement_since)
                .set("state_change", client.state_since)
                .set("wait_event_type", kind)
                .set("wait_event", event)
                .set("state", client.state.name())
                .set("query", &*client.statement)
                .set("backend_type", "client backend");
        });
    }
}

/// `pg_stat_activity` of a session that is embedded.
fn own_activity(facts: &Facts<'_>, rows: &mut Rows) {
    rows.add(|r| {
        r.set("datid", DATABASE_OID)
            .set("datname", facts.settings.database())
            .set("pid", facts.session)
            .set("usesysid", facts.catalog.role_oid(facts.session_user))
            .set("usename", facts.catalog.role_name(facts.session_user))
            .set("application_name", facts.settings.get("application_name").unwrap_or_default())
            .set("xact_start", Datum::Int(facts.now))
            .set("query_start", Datum::Int(facts.now))
            .set("state", "active")
            .set("backend_type", "client backend");
    });
}

/// What is locked, in PostgreSQL's words.
fn lock_type(what: Awaited) -> &'static str {
    match what {
        Awaited::Table(..) => "relation",
        Awaited::Row(..) => "tuple",
        Awaited::End => "transactionid",
        Awaited::Advisory(_) => "advisory",
        Awaited::Gate => "object",
    }
}

/// `pg_locks`: tables that open blocks have touched or locked, advisory locks, rows that transactions have claimed,
/// and what is waited for: those, transactions whose end is waited for, and the gate that a block has closed which changes
/// the schema, a lock on the whole database. A row that is locked is told from others by no column.
pub(super) fn locks(facts: &Facts<'_>, rows: &mut Rows) {
    // The table may be one of another catalog version.
    let exists = |t: &TableId| facts.catalog.tables.get(t.index()).is_some_and(Option::is_some);
    let oid = |table| Some(table).filter(exists).map(|t| facts.catalog.table_oid(t));
    for lock in facts.vitals.locks() {
        rows.add(|r| {
            r.set("locktype", lock_type(lock.what))
                .set("pid", lock.process)
                .set("mode", lock.mode())
                .set("granted", lock.granted)
                .set("fastpath", false);
            match lock.what {
                Awaited::Table(_, table) | Awaited::Row(table, _) => {
                    r.set("database", DATABASE_OID).set("relation", oid(table));
                }
                Awaited::End => {}
                Awaited::Advisory(key) => {
                    let (class, object, kind) = key.tag();
                    r.set("database", DATABASE_OID)
                        .set("classid", class)
                        .set("objid", object)
                        .set("objsubid", i32::from(kind));
                }
                Awaited::Gate => {
                    r.set("database", DATABASE_OID)
                        .set("classid", PG_DATABASE)
                        .set("objid", DATABASE_OID)
                        .set("objsubid", 0);
                }
            }
        });
    }
}

/// `planaria_snapshots`: those that are being read. The old versions are those kept for all of them.
pub(super) fn snapshots(facts: &Facts<'_>, rows: &mut Rows) {
    let kept = facts.stock.old_versions();
    for snapshot in facts.vitals.snapshots() {
        rows.add(|r| {
            r.set("epoch", snapshot.epoch.0 as i64)
                .set("pid", snapshot.session)
                .set("opened", Datum::Int(snapshot.opened))
                .set("age", Datum::Interval(Interval::of_micros((facts.now - snapshot.opened).max(0))))
                .set("old_versions", kept.versions as i64)
                .set("old_version_bytes", kept.bytes as i64);
        });
    }
}

/// `planaria_restart`: how long opening the database would take, from what; and how its checkpoints fare.
pub(super) fn restart(facts: &Facts<'_>, rows: &mut Rows) {
    let RestartFacts { stats, load_rate, replay_rate, target, last_failure } = facts.vitals.restart();
    let interval = |time: Duration| Datum::Interval(Interval::of_micros(time.as_micros() as i64));
    let (failed_at, why) = last_failure.map_or((None, None), |(at, why)| (Some(Datum::Int(at)), Some(why)));
    rows.add(|r| {
        r.set("checkpoint", i64::from(stats.number))
            .set("checkpoint_bytes", stats.bytes as i64)
            .set("load_bytes_per_second", Datum::Float(load_rate))
            .set("log_bytes", stats.log_bytes as i64)
            .set("replay_bytes_per_second", Datum::Float(replay_rate))
            .set("measured", stats.restart.measured)
            .set("estimate", interval(stats.restart.total()))
            .set("target", (!target.is_zero()).then(|| interval(target)))
            .set("written", stats.written as i64)
            .set("failed", stats.failed as i64)
            .set("last_failure", failed_at)
            .set("last_error", why);
    });
}

/// `planaria_transactions`: what became of them, and what was done again for them.
pub(super) fn outcomes(facts: &Facts<'_>, rows: &mut Rows) {
    for (about, name, count) in facts.vitals.outcomes() {
        rows.add(|r| {
            r.set("about", about).set("name", name).set("count", count as i64);
        });
    }
}

/// `planaria_memory`: what the database takes of its memory budget.
pub(super) fn memory(facts: &Facts<'_>, rows: &mut Rows) {
    let m = facts.stock.memory();
    let (budget, sessions, log_buffers) = facts.vitals.budget();
    rows.add(|r| {
        r.set("budget", budget.map(|b| b as i64))
            .set("used", (m.bytes() + sessions + log_buffers) as i64)
            .set("rows", m.row_bytes as i64)
            .set("indexes", m.index_bytes as i64)
            .set("old_versions", m.old_version_bytes as i64)
            .set("sessions", sessions as i64)
            .set("log_buffers", log_buffers as i64);
    });
}

/// `pg_timezone_names`: the zones that there are, as they are now.
pub(super) fn time_zones(facts: &Facts<'_>, rows: &mut Rows) {
    for zone in zone::names().filter_map(|name| Zone::named(&name)) {
        let (called, summer) = zone.called_at(facts.now);
        let offset = Interval { months: 0, days: 0, micros: zone.offset_at(facts.now) };
        rows.add(|r| {
            r.set("name", zone.name())
                .set("abbrev", called)
                .set("utc_offset", Datum::Interval(offset))
                .set("is_dst", summer);
        });
    }
}

/// Abbreviations that stand for the time of a summer.
const SUMMERS: [&str; 52] = [
    "ACDT", "ACSST", "ADT", "AEDT", "AESST", "AKDT", "ALMST", "AWSST", "AZOST", "BDST", "BRST", "BST",
    "CADT", "CDT", "CEST", "CETDST", "CHADT", "CLST", "CLT", "EASST", "EAST", "EDT", "EEST", "EETDST",
    "EGST", "FJST", "FNST", "IDT", "KDT", "KGST", "LHDT", "MDT", "MEST", "MESZ", "METDST", "MSD", "MUST",
    "NDT", "NZDT", "PDT", "PKST", "PMDT", "PYST", "SADT", "ULAST", "UYST", "UZST", "WADT", "WDT", "WETDST",
    "WGST", "YEKST",
];

/// `pg_timezone_abbrevs`
pub(super) fn time_zone_abbreviations(rows: &mut Rows) {
    for (name, seconds) in zone::abbreviations() {
        let offset = Interval { months: 0, days: 0, micros: i64::from(*seconds) * 1_000_000 };
        rows.add(|r| {
            r.set("abbrev", name.to_ascii_uppercase())
                .set("utc_offset", Datum::Interval(offset))
                .set("is_dst", SUMMERS.contains(&name.to_ascii_uppercase().as_str()));
        });
    }
}

/// `pg_stat_database`: transactions, rows and clients. There are no blocks to be read.
pub(super) fn database_statistics(facts: &Facts<'_>, rows: &mut Rows) {
    let (commits, aborts) = facts.vitals.transactions();
    let clients = facts.clients.as_ref().map_or(1, |clients| clients.list().len());
    rows.add(|r| {
        r.set("datid", DATABASE_OID)
            .set("datname", facts.settings.database())
            .set("numbackends", clients as i64)
            .set("xact_commit", commits as i64)
            .set("xact_rollback", aborts as i64);
        for counter in ["blks_read", "blks_hit", "temp_files", "temp_bytes", "conflicts"] {
            r.set(counter, 0);
        }
    });
}

/// `pg_stat_all_tables`: how many rows there are. Scans and changes are not counted by table.
pub(super) fn table_statistics(facts: &Facts<'_>, rows: &mut Rows) {
    for table in facts.catalog.tables.iter().flatten().filter(|t| !t.composite) {
        let amount = facts.stock.amount(table.id);
        rows.add(|r| {
            r.set("relid", facts.catalog.table_oid(table.id))
                .set("schemaname", facts.catalog.schema_name(table.schema))
                .set("relname", &table.name)
                .set("n_live_tup", amount.rows as i64)
                .set("n_dead_tup", 0);
            for counter in ["vacuum_count", "autovacuum_count", "analyze_count", "autoanalyze_count"] {
                r.set(counter, 0);
            }
        });
    }
}
