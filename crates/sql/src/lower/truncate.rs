//! TRUNCATE as a program: in a routine, where triggers see it, and within a transaction block. Rows are deleted one by one, and
//! nobody looks at keys: all tables that refer to one of these are among them, or it fails. DELETE triggers do not fire.
//!
//! And the triggers of a COPY FROM, which inserts its rows one statement after the other: whoever copies fires what is to
//! fire once, and what is to see all rows.

use super::Lowerer;
use super::bound::Item;
use super::constraint::Values;
use super::trigger::ChangedRow;
use planaria_base::{Datum, Error, Level, Result, SqlState, TableId, Type};
use planaria_catalog::{Object, Privileges, Table, TriggerEvent, TriggerTime};
use planaria_ir::{ErrorFields, OpKind, ProgramKind, ReadMode, StateSource};
use planaria_syntax::ast::{CopyTriggers, Name};

impl<'c> Lowerer<'c> {
    /// The tables that lose their rows. Where one that keeps them refers to one of these, the program fails.
    fn truncated(&mut self, names: &[Name], cascade: bool) -> Result<Vec<&'c Table>> {
        let mut all: Vec<TableId> = Vec::new();
        for name in names {
            let table = self.named_table(name)?;
            if table.materialized.is_some() {
                let message = format!("\"{}\" is not a table", table.name);
                return Err(Error::new(SqlState::WRONG_OBJECT_TYPE, message));
            }
            if !all.contains(&table.id) {
                all.push(table.id);
            }
        }
        let mut next = 0;
        while next < all.len() {
            // Keys name the root. What logs have of routines stays as it was.
            let referred = match self.program.kind {
                ProgramKind::Statement => self.catalog.partition_root(all[next]).id,
                _ => all[next],
            };
            let children: Vec<&Table> = self.catalog.references_to(referred).map(|(t, _)| t).collect();
            for child in children {
                if all.contains(&child.id) {
                    continue;
                }
                if cascade {
                    self.tell_cascade(&child.name);
                    all.push(child.id);
                } else {
                    let parent = self.catalog.table_by_id(all[next]);
                    self.refuse_referenced(&parent.name, &child.name);
                }
            }
            next += 1;
        }
        all.iter().for_each(|id| self.require(Object::Table(*id), Privileges::TRUNCATE));
        Ok(all.into_iter().map(|id| self.catalog.table_by_id(id)).collect())
    }

    fn tell_cascade(&mut self, child: &str) {
        let message = format!("truncate cascades to table \"{child}\"");
        let message = self.constant(Datum::Text(message), Type::Text);
        let state = StateSource::Known(SqlState::SUCCESSFUL_COMPLETION);
        self.emit(OpKind::Raise { level: Level::Notice, state, message, fields: ErrorFields::default() });
    }

    fn refuse_referenced(&mut self, parent: &str, child: &str) {
        let detail = format!("Table \"{child}\" references \"{parent}\".");
        let hint = format!("Truncate table \"{child}\" at the same time, or use TRUNCATE ... CASCADE.");
        let fields = ErrorFields {
            detail: Some(self.constant(Datum::Text(detail), Type::Text)),
            hint: Some(self.constant(Datum::Text(hint), Type::Text)),
            ..ErrorFields::default()
        };
        let message = "cannot truncate a table referenced in a foreign key constraint";
        self.raise(SqlState::FEATURE_NOT_SUPPORTED, message, fields);
    }

    fn named_table(&self, name: &Name) -> Result<&'c Table> {
        let wanted = self.catalog.located(
            super::bind_call::named(self.catalog, name)
                .map_err(|e| super::bind_call::relation_error(name, e))?,
        );
        self.catalog.table(wanted).ok_or_else(|| match self.catalog.view(wanted) {
            Some(view) => {
                let message = format!("\"{}\" is not a table", view.name);
                Error::new(SqlState::WRONG_OBJECT_TYPE, message)
            }
            None => super::bind_from::missing_relation(name),
        })
    }

    pub(super) fn emit_truncate(
        &mut self,
        names: &[Name],
        restart_identity: bool,
        cascade: bool,
        locked: bool,
    ) -> Result<()> {
        let tables = self.truncated(names, cascade)?;
        let named = if locked { names } else { &[] };
        let locked =
            named.iter().map(|name| self.named_table(name).map(|t| t.id)).collect::<Result<Vec<_>>>()?;
        self.push_frame();

        for table in &tables {
            self.fire_statement(table, TriggerEvent::Truncate, &[], TriggerTime::Before, &[])?;
        }
        for table in &tables {
            // The rows of a partition are with its root; nothing is empty of itself.
            let whole = self.catalog.partition_root(table.id);
            let rel = self.table_rel(whole.id, &whole.name);
            self.rel_mut(rel).row_used = true;
            // Rows of other partitions come and go meanwhile. Those of this one are there as of now, and nobody adds any
            // before this transaction ends.
            if whole.id != table.id && locked.contains(&table.id) {
                self.rel_mut(rel).mode = ReadMode::Lenient;
            }
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
        let named = self.named_table(table)?;
        self.require(Object::Table(named.id), Privileges::INSERT);
        // The rows of a partition are with its root.
        let table = self.catalog.partition_root(named.id);
        self.within = named.partition.is_some().then_some(named.id);
        let time = match which {
            CopyTriggers::Before => TriggerTime::Before,
            CopyTriggers::After => TriggerTime::After,
            CopyTriggers::AfterRow => {
                let none: Values = vec![None; table.columns.len()];
                let mut new = none.clone();
                for (_, column) in named.visible() {
                    let param = self.declare_parameter(&column.ty);
                    if let Some((id, _)) = table.column(&column.name) {
                        new[id.index()] = Some(param);
                    }
                }
                let row = ChangedRow { event: TriggerEvent::Insert, named: &[], old: &none, new: &new };
                self.single_row = true;
                let made = self.copied_rows(named);
                return self.fire_after_copied(table, &row, &made);
            }
        };
        let made = if time == TriggerTime::After { self.copied_rows(named) } else { Vec::new() };
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
