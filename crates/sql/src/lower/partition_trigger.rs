//! Triggers of single partitions.
//!
//! ```text
//!  a row of the root     triggers of the root and of its leaves, in the order of their names;
//!                        one of a leaf:  CASE WHEN (bounds of the leaf) THEN true ELSE false END, then its WHEN
//!  INSERT INTO leaf ..   BEFORE INSERT triggers of that leaf, wherever the row belongs, and of no other
//!  a statement           triggers of the leaf that it names, else of the root
//! ```
//!
//! A partition has no rows of its own, so who changes rows of the root calls its triggers, too. Their routines take rows as
//! the partition has them, whose columns may be in another order than those of the root.

use super::Lowerer;
use super::constraint::Values;
use super::moved::Routed;
use super::trigger::told_apart;
use planaria_base::{Datum, Error, Result, TableId, Type};
use planaria_catalog::{Catalog, Table, Trigger, TriggerEvent, TriggerTime};
use planaria_ir::{Func, Reg};

impl<'c> Lowerer<'c> {
    /// The row triggers of the partitions of a root.
    pub(super) fn partition_triggers<'t>(
        &self,
        table: &'t Table,
    ) -> impl Iterator<Item = &'t Trigger> + use<'t, 'c>
    where
        'c: 't,
    {
        let catalog: &'c Catalog = self.catalog;
        catalog.leaves_with_triggers(table).flat_map(|leaf| &leaf.triggers).filter(|t| t.each_row)
    }

    /// Adds the row triggers of partitions that an event fires, with the columns of the root that they name; whether there are any.
    pub(super) fn add_partition_triggers(
        &self,
        table: &Table,
        event: TriggerEvent,
        time: TriggerTime,
        all: &mut Vec<Trigger>,
    ) -> bool {
        let before = all.len();
        let named = self.leaf_of_insert(table, event, time);
        for leaf in self.catalog.leaves_with_triggers(table) {
            if named.is_some_and(|named| named != leaf.id) {
                continue;
            }
            for trigger in leaf.fired(event, time, true, self.replica()) {
                let of_root = |c: &planaria_base::ColumnId| table.column(&leaf.columns[c.index()].name);
                let columns = trigger.columns.iter().filter_map(of_root).map(|(id, _)| id).collect();
                all.push(Trigger { columns, ..trigger.clone() });
            }
        }
        all.len() > before
    }

    /// The leaf that an INSERT names, whose BEFORE triggers may yet bring the row within its bounds.
    fn leaf_of_insert(&self, table: &Table, event: TriggerEvent, time: TriggerTime) -> Option<TableId> {
        let asked_first = event == TriggerEvent::Insert && time == TriggerTime::Before;
        self.leaf_within(table).filter(|_| asked_first).map(|leaf| leaf.id)
    }

    /// The partition whose trigger this is, of those that rows of a root fire.
    pub(super) fn of_partition(&self, table: &Table, trigger: &Trigger) -> Option<&'c Table> {
        if table.leaves().is_empty() {
            return None;
        }
        let catalog: &'c Catalog = self.catalog;
        let of = catalog.procedure(told_apart(trigger)).fires.filter(|of| *of != table.id)?;
        catalog.tables.get(of.index())?.as_deref()
    }

    /// The columns of a row, as the routine of a trigger takes them.
    pub(super) fn taken_by(&self, table: &Table, trigger: &Trigger) -> Vec<usize> {
        match self.of_partition(table, trigger) {
            None => table.visible().map(|(id, _)| id.index()).collect(),
            Some(partition) => {
                let of_root = partition.visible().filter_map(|(_, c)| table.column(&c.name));
                of_root.map(|(id, _)| id.index()).collect()
            }
        }
    }

    /// Whether a trigger is to fire for a row: it is within the bounds of the partition whose trigger it is, and meets its WHEN.
    /// `None` where nothing is asked. `routed`: where the row was to be before triggers fired that may have moved it.
    pub(super) fn trigger_condition(
        &mut self,
        table: &Table,
        trigger: &Trigger,
        event: TriggerEvent,
        (old, new): (&Values, &Values),
        routed: Option<&Routed>,
    ) -> Result<Option<Reg>> {
        let named = self.leaf_of_insert(table, event, trigger.time);
        let partition = self.of_partition(table, trigger).filter(|partition| named != Some(partition.id));
        let Some(partition) = partition else {
            return self.when_holds(table, trigger, event, old, new);
        };
        let within = match routed {
            Some(routed) => {
                let name = super::moved::full_name(self.catalog, partition);
                let name = self.constant(Datum::Text(name), Type::Text);
                let elsewhere = self.apply(Func::Distinct, vec![routed.partition, name], Type::Bool);
                self.apply(Func::Not, vec![elsewhere], Type::Bool)
            }
            None => self.is_within(table, partition.id, if event.has_old() { old } else { new })?,
        };
        if trigger.condition.is_none() {
            return Ok(Some(within));
        }
        let fires = self.temp(Type::Bool);
        let no = self.truth(false);
        self.copy(fires, no);
        self.when(within, |l| {
            if let Some(holds) = l.when_holds(table, trigger, event, old, new)? {
                l.copy(fires, holds);
            }
            Ok(())
        })?;
        Ok(Some(fires))
    }

    /// Whether a row is within the bounds of a leaf.
    fn is_within(&mut self, table: &Table, leaf: TableId, row: &Values) -> Result<Reg> {
        let condition = table.leaves().iter().find(|(id, _)| *id == leaf).map(|(_, condition)| condition);
        let condition = condition.ok_or_else(|| Error::internal("a trigger of a partition that is none"))?;
        let shadow = self.shadow_rel(table, &table.name);
        self.rel_mut(shadow).regs = self.routing_values(table, row);
        self.available.push(shadow);
        let text = format!("CASE WHEN {condition} THEN true ELSE false END");
        let within = self.bind_over_row(table, shadow, &text).and_then(|e| {
            let e = self.operand(e, &Type::Bool)?;
            self.value(&e)
        });
        self.available.pop();
        within
    }

    /// The partition that a statement on rows of a root names, if it has statement triggers, with those of its columns that
    /// an UPDATE names.
    pub(super) fn partition_named(&self, table: &Table, named: &[usize]) -> Option<(&'c Table, Vec<usize>)> {
        let leaf = self.leaf_within(table)?;
        if leaf.triggers.iter().all(|t| t.each_row) {
            return None;
        }
        let own = named.iter().filter_map(|c| leaf.column(&table.columns.get(*c)?.name));
        Some((leaf, own.map(|(id, _)| id.index()).collect()))
    }
}
