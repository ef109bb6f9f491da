//! `pg_trigger`.

use super::Facts;
use super::rows::Rows;
use planaria_base::Datum;
use planaria_catalog::oids::Object;
use planaria_catalog::{CheckTime, Trigger, TriggerEnabled, TriggerEvent, TriggerTime, View};

/// `tgtype`: bits, as PostgreSQL has them.
fn kind(trigger: &Trigger) -> i16 {
    let mut bits = i16::from(trigger.each_row);
    bits |= match trigger.time {
        TriggerTime::Before => 1 << 1,
        TriggerTime::After => 0,
        TriggerTime::InsteadOf => 1 << 6,
    };
    for firing in &trigger.firings {
        bits |= match firing.event {
            TriggerEvent::Insert => 1 << 2,
            TriggerEvent::Delete => 1 << 3,
            TriggerEvent::Update => 1 << 4,
            TriggerEvent::Truncate => 1 << 5,
        };
    }
    bits
}

/// `tgargs`: each behind the other, with a zero at its end.
fn arguments(trigger: &Trigger) -> Datum {
    let bytes = trigger.arguments.iter().flat_map(|a| a.bytes().chain([0]));
    Datum::Bytea(bytes.collect())
}

/// `pg_trigger`: those of users. Foreign keys have none here.
pub(super) fn triggers(facts: &Facts<'_>, rows: &mut Rows) {
    let catalog = facts.catalog;
    let views =
        catalog.views.values().flat_map(|v| v.rows.as_deref().map(|rows| (catalog.view_oid(v), rows)));
    let tables = catalog.tables.iter().flatten().map(|t| (catalog.table_oid(t.id), &**t));
    for (relation, table) in tables.chain(views) {
        for trigger in &table.triggers {
            let constraint = catalog.oids.of(&Object::Constraint(table.id, trigger.name.clone()));
            let oid = match table.id == View::ROWS {
                true => catalog.oids.of(&Object::ViewTrigger(
                    planaria_catalog::key(table.schema, &table.name),
                    trigger.name.clone(),
                )),
                false => catalog.trigger_oid(table.id, &trigger.name),
            };
            rows.add(|r| {
                r.set("oid", oid)
                    .set("tgrelid", relation)
                    .set("tgname", &trigger.name)
                    .set("tgfoid", catalog.routine_oid(catalog.procedure(trigger.function)))
                    .set("tgtype", kind(trigger))
                    .set(
                        "tgenabled",
                        match trigger.enabled {
                            TriggerEnabled::Origin => 'O',
                            TriggerEnabled::Always => 'A',
                            TriggerEnabled::Replica => 'R',
                            TriggerEnabled::Disabled => 'D',
                        },
                    )
                    .set("tgisinternal", false)
                    .set("tgparentid", 0)
                    .set("tgconstrrelid", 0)
                    .set("tgconstrindid", 0)
                    .set("tgconstraint", if trigger.constraint.is_some() { constraint } else { 0 })
                    .set(
                        "tgdeferrable",
                        matches!(trigger.constraint, Some(c) if c != CheckTime::NotDeferrable),
                    )
                    .set("tginitdeferred", trigger.constraint == Some(CheckTime::Deferred))
                    .set("tgnargs", trigger.arguments.len())
                    .set("tgattr", trigger.columns.iter().map(|c| table.number(*c)).collect::<Vec<i16>>())
                    .set("tgargs", arguments(trigger))
                    .set("tgoldtable", trigger.old_table.clone())
                    .set("tgnewtable", trigger.new_table.clone())
                    .set(
                        "tgqual",
                        trigger
                            .condition
                            .as_deref()
                            .map(|c| super::shown::trigger_condition(catalog, table, c, false)),
                    );
            });
        }
    }
}
