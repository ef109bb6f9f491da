//! DELETE. Rows are deleted as they are found, unless something else in the statement reads the
//! table; with USING, a row that joins several times is deleted once. Volatile functions of its condition are
//! called row by row (`update::collected`).

use super::bound::{Bound, Item};
use super::instead::InsteadOf;
use super::names::Names;
use super::referential::Waiting;
use super::trigger::Own;
use super::updatable::Target;
use super::update::once_each;
use super::{Lowerer, Scope, Sink};
use planaria_base::Result;
use planaria_catalog::{PolicyCommand, TriggerEvent, TriggerTime};
use planaria_ir::{CollKind, OpKind, Output, Reg};
use planaria_syntax::ast::Delete;

impl Lowerer<'_> {
    pub(super) fn describe_delete(&mut self, scope: &Scope, delete: &Delete) -> Result<Vec<Output>> {
        let changed = self.target(&delete.table, "delete")?;
        if let Some(view) = changed.instead() {
            return self.describe_instead(scope, view, &InsteadOf::delete(delete));
        }
        let table = changed.table;
        let alias = delete.alias.as_deref().unwrap_or(changed.name());
        let mut level = Names::of(scope);
        self.bind_with(&mut level, &delete.with, delete.recursive)?;
        let target = self.table_rel(table.id, alias);
        level.sources.push(self.target_source(&changed, target, alias)?.0);
        self.outside("USING", |l| l.bind_from(&mut level, &delete.using))?;
        Ok(self.bind_returning(&level, &delete.returning)?.outputs)
    }

    pub(super) fn emit_delete(&mut self, scope: &Scope, delete: &Delete, sink: &mut Sink<'_>) -> Result<Reg> {
        if delete.only {
            self.refuse_only(&delete.table)?;
        }
        let changed = self.target(&delete.table, "delete")?;
        if let Some(view) = changed.instead() {
            return self.emit_instead(scope, view, &InsteadOf::delete(delete), &[], sink);
        }
        let outer = std::mem::replace(&mut self.within, changed.partition());
        let done = self.emit_delete_from(scope, delete, &changed, sink);
        self.within = outer;
        done
    }

    fn emit_delete_from(
        &mut self,
        scope: &Scope,
        delete: &Delete,
        changed: &Target<'_>,
        sink: &mut Sink<'_>,
    ) -> Result<Reg> {
        let table = changed.table;
        let alias = delete.alias.as_deref().unwrap_or(changed.name()).to_owned();
        let mut level = Names::of(scope);
        self.push_frame();
        self.bind_with(&mut level, &delete.with, delete.recursive)?;
        let target = self.table_rel(table.id, &alias);
        self.rel_mut(target).row_used = true;
        let (source, mut seen) = self.target_source(changed, target, &alias)?;
        level.sources.push(source);
        let (using, mut filter, _) = self.outside("USING", |l| l.bind_from(&mut level, &delete.using))?;
        let mut items = vec![Item::Rel(target)];
        items.extend(using);
        self.per_row(&mut seen, &items);
        filter.extend(seen);
        if let Some(e) = &delete.filter {
            super::dml::refuse_current_of(e)?;
            let mut conditions = Vec::new();
            self.outside("WHERE", |l| l.bind_condition(&level, e, "WHERE"))?.conjuncts(&mut conditions);
            self.per_row(&mut conditions, &items);
            filter.extend(conditions);
        }
        self.push_down(&items, &mut filter)?;
        let mut returning = self.bind_returning(&level, &delete.returning)?;
        self.require_reads(changed, target);
        filter.extend(self.changeable_rows(changed, target, PolicyCommand::Delete)?);
        self.read_as_before(&items, Some(target), &mut filter)?;
        filter.extend(self.not_changed_before(table, target));
        filter.iter_mut().for_each(|e| self.count(e));
        self.count_items(&items);
        self.count_returning(&mut returning);
        for column in &self.delete_needs(table) {
            self.rel_mut(target).uses[*column] += 1;
        }
        if !delete.using.is_empty() {
            self.use_key(table, target);
        }
        let changed_with = self.changed_with(table, &[TriggerEvent::Delete], &[]);
        self.before_all(&mut returning.values, &changed_with)?;
        let mut calling: Vec<&mut Bound> = filter.iter_mut().collect();
        calling.retain(|e| self.calls_volatile(e));
        self.before_changes(calling, table)?;
        let none: &[Bound] = &[];
        let reads = self.statement_reads(table, &items, target, &filter, none, &[]);
        let late = self.calls_of(&mut filter, table.id);
        let plan = self.plan_group(&items, &filter, &[])?;
        self.ask_before(&mut returning, &changed_with, plan.single)?;
        let once = once_each(&plan, target);
        // Triggers may change what the rows are found by.
        let reads = reads || self.fires_before(table, TriggerEvent::Delete, &[]) && !plan.single;
        self.note_on("Delete", &table.name);
        let depth = self.explains.depth;
        self.explains.depth += 1;
        let count = self.counter();
        self.fire_statement(table, TriggerEvent::Delete, &[], TriggerTime::Before, &[])?;
        let before = std::mem::replace(&mut self.single_row, plan.single);
        let mut waiting = Waiting::default();
        waiting.own.push(Own { table: table.id, event: TriggerEvent::Delete, named: Vec::new() });
        let mut apply = |l: &mut Lowerer<'_>| {
            l.asked_before(&returning, table, target, &[])?;
            l.remove_row(table, target, &mut waiting, &mut |l| {
                l.count_row(count, plan.single);

                l.give(&returning, sink)
            })
        };
        if once && !reads && late.is_empty() {
            self.emit_plan(&plan, &mut apply)?;
        } else {
            let rels = self.rels_of(&items);
            let carried = self.carried(&rels);
            let kinds = carried.iter().map(|c| c.kind.clone()).collect();
            let list = self.coll(CollKind::List, Vec::new(), kinds);
            let keys: Vec<usize> = table.indexes[0].columns.iter().map(|c| c.index()).collect();
            self.emit_plan(&plan, &mut |l| {
                let push = |l: &mut Lowerer<'_>| {
                    let values = l.carried_regs(&carried);
                    l.emit(OpKind::Push { coll: list, values });
                    Ok(())
                };
                if once || !late.is_empty() {
                    return push(l);
                }
                l.unless_seen(target, &keys, &mut |l| push(l))
            })?;
            let columns = self.renew(&carried);
            let label = self.label();
            let body = self.block(|l| {
                l.with_rels(&rels, &mut |l| {
                    l.filtered(&late, &mut |l| {
                        if once || late.is_empty() {
                            return apply(l);
                        }
                        l.unless_seen(target, &keys, &mut apply)
                    })
                })
            })?;
            self.emit(OpKind::ForEach { coll: list, columns, entry: None, label, body });
        }
        self.end_statement(waiting)?;
        self.single_row = before;
        self.explains.depth = depth;
        self.pop_frame();
        Ok(count)
    }
}
