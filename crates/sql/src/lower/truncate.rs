//! TRUNCATE as a program: where triggers see it, and within a transaction block. Rows are deleted one by one, and nobody
//! looks at keys: all tables that refer to one of these are among them. DELETE triggers do not fire.
//!
//! And the triggers of a COPY FROM, which inserts its rows one statement after the other: whoever copies fires what is to
//! fire once, and what is to see all rows.

use super::Lowerer;
use super::bound::Item;
use super::constraint::Values;
use super::trigger::ChangedRow;
use planaria_base::{Datum, Result, TableId, Type};
use planaria_catalog::{Object, Privileges, Table, TriggerEvent, TriggerTime};
use planaria_ir::OpKind;
use planaria_syntax::ast::{CopyTriggers, Name};

impl<'c> Lowerer<'c> {
    fn truncated(&mut self, names: &[Name], cascade: bool) -> Result<Vec<&'c Table>> {
        let mut all: Vec<TableId> = Vec::new();
        for name in names {
            let id = self.named_table(name)?.id;
            if !all.contains(&id) {
                all.push(id);
            }
        }
        let mut next = 0;
        while next < all.len() && cascade {
            let children: Vec<TableId> = self.catalog.references_to(all[next]).map(|(t, _)| t.id).collect();
            for child in children {
                if !all.contains(&child) {
                    all.push(child);
                }
            }
            next += 1;
        }
        all.iter().for_each(|id| self.require(Object::Table(*id), Privileges::TRUNCATE));
        Ok(all.into_iter().map(|id| self.catalog.table_by_id(id)).collect())
    }

    fn named_table(&self, name: &Name) -> Result<&'c Table> {
        let wanted = self.catalog.located(super::bind_call::named(self.catalog, name)?);
        self.catalog.table(wanted).ok_or_else(|| super::bind_from::missing_relation(name))
    }

    pub(super) fn emit_truncate(
        &mut self,
        names: &[Name],
        restart_identity: bool,
        cascade: bool,
    ) -> Result<()> {
        let tables = self.truncated(names, cascade)?;
        self.push_frame();

        for table in &tables {
            self.fire_statement(table, TriggerEvent::Truncate, &[], TriggerTime::Before, &[])?;
        }
        for table in &tables {
            // The rows of a partition are with its root; nothing is empty of itself.
            let whole = self.catalog.partition_root(table.id);
            let rel = self.table_rel(whole.id, &whole.name);
            self.rel_mut(rel).row_used = true;
            let mut filter = self.slice_conditions(table, whole, rel)?;
            filter.iter_mut().for_each(|e| self.count(e));
            let plan = self.plan_group(&[Item::Rel(rel)], &filter, &[])?;
            self.emit_plan(&plan, &mut |l| {
                let row = l.row_reg(rel);
                l.emit(OpKind::Delete { table: whole.id, row });
                Ok(())
            })?;
        }
        for table in tables.iter().filter(|_| restart_identity) {
            let owned: Vec<_> =
                self.catalog.sequences_of(table.id).filter(|s| !s.hidden).map(|s| (s.id, s.start)).collect();
            for (sequence, start) in owned {
                let value = self.constant(Datum::Int(start), Type::Int8);
                let is_called = self.truth(false);
                self.emit(OpKind::SetValue { sequence, value, is_called });
            }
        }
        for table in &tables {
            self.fire_statement(table, TriggerEvent::Truncate, &[], TriggerTime::After, &[])?;
        }
        self.pop_frame();
        Ok(())
    }

    /// What of a COPY's triggers fires here.
    pub(super) fn emit_copy_triggers(&mut self, table: &Name, which: CopyTriggers) -> Result<()> {
        let table = self.named_table(table)?;
        self.require(Object::Table(table.id), Privileges::INSERT);
        let time = match which {
            CopyTriggers::Before => TriggerTime::Before,
            CopyTriggers::After => TriggerTime::After,
            CopyTriggers::AfterRow => {
                let none: Values = vec![None; table.columns.len()];
                let mut new = none.clone();
                for (id, column) in table.visible() {
                    let param = self.declare_parameter(&column.ty);
                    new[id.index()] = Some(param);
                }
                let row = ChangedRow { event: TriggerEvent::Insert, named: &[], old: &none, new: &new };
                self.single_row = true;
                let made = self.copied_rows(table);
                return self.fire_after_copied(table, &row, &made);
            }
        };
        let made = if time == TriggerTime::After { self.copied_rows(table) } else { Vec::new() };
        self.fire_statement(table, TriggerEvent::Insert, &[], time, &made)
    }

    /// The next parameter of the statement, of a type.
    fn declare_parameter(&mut self, ty: &Type) -> planaria_ir::Reg {
        let ty = if *ty == Type::OldInterval { Type::Interval } else { ty.clone() };
        let reg = self.temp(ty.clone());
        self.params.push(Some(super::Typed { reg, ty }));
        reg
    }
}
