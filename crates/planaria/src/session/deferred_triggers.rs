//! Constraint triggers that are deferred fire here: see [`engine::program::deferred`](crate::engine::program::deferred).
//!
//! At the end of a single statement or call, before it commits, within the same attempt; in a block as a statement of its own,
//! before COMMIT does anything else: so it is tried again alone where it meets others. Foreign keys that are deferred are
//! looked at behind that.

use crate::engine::program::constraints::trigger_of;
use crate::engine::program::deferred::{Event, Modes};
use crate::engine::schema_version::SchemaVersion;
use crate::engine::table_locks::Touches;
use crate::session::constraints::PendingKey;
use crate::session::core::SessionCore;
use crate::session::user::stamp;
use planaria_base::oid::Oid;
use planaria_base::{Error, Result, SqlState, TableId};
use planaria_catalog::{Catalog, Table, TriggerEvent};
use planaria_exec::{Code, Interrupt, Machine};
use planaria_sql::ddl::lock::table_named;
use planaria_sql::lower;
use planaria_syntax::ast::{AlterTable, StatementKind};
use planaria_syntax::parse;
use std::sync::Arc;

/// Programs that call triggers, under one schema and for one role.
#[derive(Default)]
pub(crate) struct TriggerCodes {
    stamp: u64,
    codes: Vec<(Oid, TriggerEvent, Arc<Code>, Arc<Touches>)>,
}

impl SessionCore {
    /// Fires all that waits.
    #[cold]
    pub(crate) fn fire_deferred(&mut self, schema: &SchemaVersion) -> Result<(), Interrupt> {
        self.fire_waiting(schema, &|_, _| true)
    }

    /// The same before a block commits. After an error the block has failed.
    pub(crate) fn fire_deferred_in_block(&mut self) -> Result<()> {
        self.in_block(|s| {
            let schema = s.schema();
            s.fire_deferred(&schema)
        })
    }

    /// Fires what waits for triggers that are immediate now.
    pub(crate) fn fire_immediate(&mut self, schema: &SchemaVersion) -> Result<(), Interrupt> {
        let catalog = schema.catalog.clone();
        self.fire_waiting(schema, &|modes, event| {
            let trigger = trigger_of(&catalog, event);
            let made = trigger.and_then(|t| Some((&t.name, t.constraint?)));
            made.is_some_and(|(name, made)| modes.is_immediate(event.table, name, made))
        })
    }

    fn fire_waiting(
        &mut self,
        schema: &SchemaVersion,
        wanted: &dyn Fn(&Modes, &Event) -> bool,
    ) -> Result<(), Interrupt> {
        if self.deferred.next(0, wanted).is_none() {
            return Ok(());
        }
        // What the statement has answered with stays as it is.
        let machine = std::mem::replace(&mut self.machine, Machine::new());
        let rows = std::mem::take(&mut self.rows);
        self.settings.settle_forms(self.machine.heap_mut());
        self.pure = false;
        let outcome = self.fire_each(schema, wanted);
        self.machine = machine;
        self.rows = rows;
        // A trigger may have set others.
        self.forms_seen = u64::MAX;
        outcome
    }

    fn fire_each(
        &mut self,
        schema: &SchemaVersion,
        wanted: &dyn Fn(&Modes, &Event) -> bool,
    ) -> Result<(), Interrupt> {
        let mut at = 0;
        while let Some((number, event)) = self.deferred.next(at, wanted) {
            let event = event.clone();
            self.deferred.fire(number);
            self.check_cancelled()?;
            at = number + 1;
            if let Some((code, touches)) = self.trigger_code(schema, &event)? {
                self.touch(&touches)?;
                self.machine.reset();
                self.run_datums(schema, &code, &event.values, false)?;
            }
        }
        Ok(())
    }

    /// The program for an event, with the rights of whoever commits; `None`: the trigger was dropped since.
    fn trigger_code(
        &mut self,
        schema: &SchemaVersion,
        event: &Event,
    ) -> Result<Option<(Arc<Code>, Arc<Touches>)>> {
        let role = self.user.current();
        let now = stamp(schema.version(), role);
        if self.trigger_codes.stamp != now {
            self.trigger_codes = TriggerCodes { stamp: now, codes: Vec::new() };
        }
        let same = |(trigger, which, ..): &&(Oid, TriggerEvent, _, _)| {
            (*trigger, *which) == (event.trigger, event.event)
        };
        if let Some((.., code, touches)) = self.trigger_codes.codes.iter().find(same) {
            return Ok(Some((code.clone(), touches.clone())));
        }
        let Some(trigger) = trigger_of(&schema.catalog, event) else { return Ok(None) };
        let program = lower::deferred_trigger(&schema.catalog, event.table, trigger, event.event)?;
        let code = Arc::new(schema.compile_as(role, &program)?);
        let touches = schema.touches(&program);
        self.trigger_codes.codes.push((event.trigger, event.event, code.clone(), touches.clone()));
        Ok(Some((code, touches)))
    }

    /// 55006 where rows of a table wait for its triggers, or for those of its partitions.
    pub(crate) fn refuse_waiting(&self, catalog: &Catalog, table: TableId, command: &str) -> Result<()> {
        let there = |id: TableId| catalog.tables.get(id.index()).is_some_and(|t| t.is_some());
        let of = |id: TableId| there(id) && catalog.partition_root(id).id == table;
        match self.deferred.waiting().any(|event| event.table == table || of(event.table)) {
            true => Err(waits(command, &catalog.table_by_id(table).name)),
            false => Ok(()),
        }
    }

    /// The same where a change of the schema is about a table whose rows wait.
    pub(crate) fn refuse_waiting_change(
        &self,
        old: &SchemaVersion,
        new: &SchemaVersion,
        (tag, text): (&str, &str),
        keys: &[PendingKey],
    ) -> Result<()> {
        let altered = altered(&old.catalog, tag, text);
        let types = |t: &Table| t.visible().map(|(id, c)| (id, c.ty.clone())).collect::<Vec<_>>();
        let of_keys = keys.iter().flat_map(|key| &key.tables);
        for table in self.deferred.waiting().map(|event| &event.table).chain(of_keys) {
            let before = old.catalog.table_by_id(*table);
            let after = new.catalog.tables.get(table.index()).and_then(|t| t.as_deref());
            let command = match after {
                None => "DROP TABLE",
                Some(_) if altered == Some(*table) => tag,
                Some(after) if tag == "CREATE INDEX" && before.index_count() != after.index_count() => tag,
                Some(_) if !old.shares_table(new, *table) && tag.starts_with("TRUNCATE") => "TRUNCATE",
                Some(after) if !old.shares_table(new, *table) || types(before) != types(after) => {
                    "ALTER TABLE"
                }
                Some(after) if tag == "ALTER TABLE" && !is_renamed(before, after) => tag,
                // Whatever else it is, the rows are still what triggers take; one that is gone does not fire.
                Some(_) => continue,
            };
            return Err(waits(command, &before.name));
        }
        // They are found again by the constraint's name.
        for key in keys {
            let is_there = |table: &Table| {
                table.foreign_keys.iter().any(|k| k.name == key.constraint)
                    || table.indexes.iter().any(|i| i.constraint && i.name == key.constraint)
            };
            if !is_there(new.catalog.table_by_id(key.child)) {
                return Err(waits("ALTER TABLE", &old.catalog.table_by_id(key.child).name));
            }
        }
        Ok(())
    }
}

/// The table that an ALTER TABLE is about, if it is more than a name that it changes.
fn altered(catalog: &Catalog, tag: &str, text: &str) -> Option<TableId> {
    if tag != "ALTER TABLE" {
        return None;
    }
    let statement = parse::statements(text).ok()?.pop()?;
    let StatementKind::AlterTable { name, actions, .. } = &statement.kind else { return None };
    let is_name = |action: &AlterTable| {
        matches!(
            action,
            AlterTable::RenameTable(_)
                | AlterTable::RenameColumn { .. }
                | AlterTable::RenameConstraint { .. }
        )
    };
    table_named(catalog, name).filter(|_| !actions.iter().all(is_name)).map(|table| table.id)
}

/// Whether a table has become another one by its name alone, its schema, or the names of its columns.
fn is_renamed(before: &Table, after: &Table) -> bool {
    let mut renamed = before.clone();
    renamed.name.clone_from(&after.name);
    renamed.schema = after.schema;
    for (column, now) in renamed.columns.iter_mut().zip(&after.columns) {
        column.name.clone_from(&now.name);
    }
    // DISABLE TRIGGER ALL of the parent: what the rows of this one wait for is looked at all the same.
    for (key, now) in renamed.foreign_keys.iter_mut().zip(&after.foreign_keys) {
        key.inactive = now.inactive;
    }
    renamed == *after
}

fn waits(command: &str, table: &str) -> Error {
    let message = format!("cannot {command} \"{table}\" because it has pending trigger events");
    Error::new(SqlState::OBJECT_IN_USE, message)
}
