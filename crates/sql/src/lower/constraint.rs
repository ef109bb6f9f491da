//! Constraints of a row about to be stored: NOT NULL, CHECK, foreign keys; and what the change of a
//! referenced row does to those that refer to it.

use super::Lowerer;
use super::bound::{Bound, BoundKind, Item, RelId};
use super::names::Names;
use crate::ast::BinaryOp;
use planaria_base::{ColumnId, Datum, Error, Result, SqlState, TableId, Type};
use planaria_catalog::{CheckTime, ForeignKey, ReferentialAction, Table};
use planaria_ir::{Coll, CollKind, ErrorFields, Func, OpKind, Reg, RegKind};

/// A row's values by column, where they are known.
pub(super) type Values = Vec<Option<Reg>>;

impl<'c> Lowerer<'c> {
    /// NOT NULL of those columns that may be NULL: all in one test, then which one it was. `row` gives
    /// the whole row for the error's detail.
    pub(super) fn check_not_null(
        &mut self,
        table: &Table,
        candidates: &[(usize, Reg)],
        row: &mut dyn FnMut(&mut Self) -> Values,
    ) -> Result<()> {
        if candidates.is_empty() {
            return Ok(());
        }
        let regs: Vec<Reg> = candidates.iter().map(|(_, r)| *r).collect();
        let missing = self.any_null(&regs);
        self.raising(missing, |l| {
            let values = row(l);
            let detail = l.failing_row(table, &values)?;
            for (i, (column, reg)) in candidates.iter().enumerate() {
                let name = &table.columns[*column].name;
                let message = format!(
                    "null value in column \"{name}\" of relation \"{}\" violates not-null constraint",
                    table.name
                );
                let fields = ErrorFields {
                    detail: Some(detail),
                    table: Some(table.name.clone()),
                    column: Some(name.clone()),
                    ..ErrorFields::default()
                };
                // The last one needs no test: one of them is NULL.
                if i + 1 == candidates.len() {
                    l.raise(SqlState::NOT_NULL_VIOLATION, message, fields);
                    continue;
                }
                let null = l.apply(Func::IsNull, vec![*reg], Type::Bool);
                l.when(null, |l| {
                    l.raise(SqlState::NOT_NULL_VIOLATION, message, fields);
                    Ok(())
                })?;
            }
            Ok(())
        })
    }

    /// `Failing row contains (1, null, abc).`
    fn failing_row(&mut self, table: &Table, values: &Values) -> Result<Reg> {
        let text = |t: &str| Bound::constant(Datum::Text(t.to_owned()), Type::Text, 0);
        let mut parts = vec![text("Failing row contains (")];
        let mut first = true;
        for (column, reg) in table.columns.iter().zip(values) {
            if column.hidden {
                continue;
            }
            if !first {
                parts.push(text(", "));
            }
            first = false;
            let Some(reg) = reg else { continue };
            let value = Bound::new(BoundKind::Reg(*reg), column.ty.clone(), 0);
            let shown = self.output_text(value)?;
            let shown = BoundKind::Coalesce(vec![shown, text("null")]);
            parts.push(Bound::new(shown, Type::Text, 0));
        }
        parts.push(text(")."));
        self.value(&Bound::apply(Func::Concat, parts, Type::Text, 0))
    }

    /// CHECK constraints over a row in a shadow relation; those that read one of `changed`.
    pub(super) fn check_row(
        &mut self,
        table: &Table,
        rel: RelId,
        changed: Option<&[usize]>,
        load: &mut dyn FnMut(&mut Self, &[usize]),
        row: &mut dyn FnMut(&mut Self) -> Values,
    ) -> Result<()> {
        for check in &table.checks {
            let scope = super::Scope::new();
            let mut names = Names::of(&scope);
            names.sources.push(self.shadow_source(table, rel, &table.name));
            let position = self.position;
            let e = self.bind_text_in(&names, &check.expression, position)?;
            let e = self.boolean(e, "CHECK")?;
            let mut used: Vec<usize> =
                self.columns_of(&e).into_iter().filter(|(r, _)| *r == rel).map(|(_, c)| c).collect();
            used.sort_unstable();
            used.dedup();
            if changed.is_some_and(|changed| !used.iter().any(|c| changed.contains(c))) {
                continue;
            }
            load(self, &used);
            let holds = self.value(&e)?;
            let fails = self.apply(Func::IsFalse, vec![holds], Type::Bool);
            self.raising(fails, |l| {
                let values = row(l);
                let detail = l.failing_row(table, &values)?;
                let message = format!(
                    "new row for relation \"{}\" violates check constraint \"{}\"",
                    table.name, check.name
                );
                let fields = ErrorFields {
                    detail: Some(detail),
                    constraint: Some(check.name.clone()),
                    table: Some(table.name.clone()),
                    ..ErrorFields::default()
                };
                l.raise(SqlState::CHECK_VIOLATION, message, fields);
                Ok(())
            })?;
        }
        Ok(())
    }

    /// The foreign key's parent must be there, unless a column is NULL. One that is deferred is looked at when the
    /// transaction commits ([`deferred_key`](super::deferred_key)).
    pub(super) fn check_parent(
        &mut self,
        child: &Table,
        key: &ForeignKey,
        values: &[Reg],
        maybe_null: &[Reg],
    ) -> Result<()> {
        if key.check == CheckTime::Deferred {
            return Ok(());
        }
        let look = |l: &mut Self| -> Result<()> {
            let values_there = l.parent_values(child, key, values);
            let missing = l.parent_missing(key, &values_there)?;
            l.raising(missing, |l| l.raise_orphan(child, key, values))
        };
        if maybe_null.is_empty() {
            return look(self);
        }
        let null = self.any_null(maybe_null);
        self.unless(null, |l| look(l))
    }

    /// A child's key as the parent's types have it.
    pub(super) fn parent_values(&mut self, child: &Table, key: &ForeignKey, values: &[Reg]) -> Vec<Reg> {
        let parent = self.catalog.table_by_id(key.parent);
        let columns = key.columns.iter().zip(&key.parent_columns).zip(values);
        let mut converted = Vec::with_capacity(values.len());
        for ((from, to), reg) in columns {
            let (from, to) = (&child.columns[from.index()].ty, &parent.columns[to.index()].ty);
            converted.push(if from.class() == to.class() { *reg } else { self.exactly(*reg, &to.base()) });
        }
        converted
    }

    /// Whether there is no parent of this key, in the order of the foreign key's columns.
    pub(super) fn parent_missing(&mut self, key: &ForeignKey, values: &[Reg]) -> Result<Reg> {
        let parent = self.catalog.table_by_id(key.parent);
        let index = &parent.indexes[key.parent_index.index()];
        let mut regs = Vec::with_capacity(values.len());
        for column in &index.columns {
            let at = key.parent_columns.iter().position(|c| c == column);
            regs.push(
                values[at.ok_or_else(|| Error::internal("a foreign key that misses an index column"))?],
            );
        }
        let row = self.program.reg(RegKind::Row(parent.id), None);
        let (table, index) = (parent.id, key.parent_index);
        self.emit(OpKind::Get { table, index, key: regs, row, columns: Vec::new() });
        Ok(self.apply(Func::IsNull, vec![row], Type::Bool))
    }

    /// 23503 for a child without a parent.
    pub(super) fn raise_orphan(&mut self, child: &Table, key: &ForeignKey, values: &[Reg]) -> Result<()> {
        let named = key.columns.iter().map(|c| &child.columns[c.index()]);
        let columns: Vec<(&str, &Type)> = named.map(|c| (c.name.as_str(), &c.ty)).collect();
        let parent = self.catalog.table_by_id(key.parent);
        let tail = format!(" is not present in table \"{}\".", parent.name);
        let detail = self.key_detail(&columns, values, &tail)?;
        let message = format!(
            "insert or update on table \"{}\" violates foreign key constraint \"{}\"",
            child.name, key.name
        );
        self.raise(SqlState::FOREIGN_KEY_VIOLATION, message, foreign_fields(&key.name, &child.name, detail));
        Ok(())
    }

    /// `Key (a, b)=(1, 2)` and a tail.
    fn key_detail(&mut self, columns: &[(&str, &Type)], values: &[Reg], tail: &str) -> Result<Reg> {
        let text = |t: String| Bound::constant(Datum::Text(t), Type::Text, 0);
        let names: Vec<&str> = columns.iter().map(|(n, _)| *n).collect();
        let mut parts = vec![text(format!("Key ({})=(", names.join(", ")))];
        for (i, ((_, ty), reg)) in columns.iter().zip(values).enumerate() {
            if i > 0 {
                parts.push(text(", ".to_owned()));
            }
            let value = Bound::new(BoundKind::Reg(*reg), (*ty).clone(), 0);
            parts.push(self.output_text(value)?);
        }
        parts.push(text(format!("){tail}")));
        self.value(&Bound::apply(Func::Concat, parts, Type::Text, 0))
    }

    /// The columns of a table that foreign keys refer to.
    pub(super) fn referenced_columns(&self, table: TableId) -> Vec<usize> {
        let mut columns: Vec<usize> = self
            .catalog
            .references_to(table)
            .flat_map(|(_, k)| k.parent_columns.iter().map(|c| c.index()))
            .collect();
        columns.sort_unstable();
        columns.dedup();
        columns
    }

    /// What the rows that refer to a deleted row undergo. `old` has its referenced columns. Errors of
    /// keys within one table are found at the end of the statement: `deferred` collects them.
    pub(super) fn after_delete(
        &mut self,
        parent: TableId,
        old: &Values,
        deferred: &mut Deferred,
    ) -> Result<()> {
        let references: Vec<(TableId, ForeignKey)> =
            self.catalog.references_to(parent).map(|(t, k)| (t.id, k.clone())).collect();
        for (child, key) in references {
            let values = key_values(&key, old)?;
            match key.on_delete {
                ReferentialAction::Restrict if child == parent => {
                    self.defer_reference(child, &key, &values, deferred);
                }
                ReferentialAction::Restrict => self.refuse_references(child, &key, &values)?,
                ReferentialAction::Cascade => self.cascade_delete(child, &key, &values, deferred)?,
                ReferentialAction::SetNull | ReferentialAction::SetDefault => {
                    self.reset_references(child, &key, key.on_delete, &values, deferred)?;
                }
            }
        }
        Ok(())
    }

    /// What the rows that refer to a row with a changed key undergo.
    pub(super) fn after_update(
        &mut self,
        parent: TableId,
        changed: &[usize],
        old: &Values,
        new: &Values,
        deferred: &mut Deferred,
    ) -> Result<()> {
        let references: Vec<(TableId, ForeignKey)> =
            self.catalog.references_to(parent).map(|(t, k)| (t.id, k.clone())).collect();
        for (child, key) in references {
            if !key.parent_columns.iter().any(|c| changed.contains(&c.index())) {
                continue;
            }
            let before = key_values(&key, old)?;
            let after = key_values(&key, new)?;
            let mut differs: Option<Reg> = None;
            for (a, b) in before.iter().zip(&after).filter(|(a, b)| a != b) {
                let one = self.apply(Func::Distinct, vec![*a, *b], Type::Bool);
                differs = Some(match differs {
                    None => one,
                    Some(any) => self.apply(Func::Or, vec![any, one], Type::Bool),
                });
            }
            let Some(differs) = differs else { continue };
            self.when(differs, |l| match key.on_update {
                ReferentialAction::Restrict if child == parent => {
                    l.defer_reference(child, &key, &before, deferred);
                    Ok(())
                }
                ReferentialAction::Restrict => l.refuse_references(child, &key, &before),
                ReferentialAction::Cascade => {
                    let set = key.columns.iter().copied().zip(after.iter().copied()).collect();
                    l.update_references(child, &key, &before, set, deferred)
                }
                ReferentialAction::SetNull | ReferentialAction::SetDefault => {
                    l.reset_references(child, &key, key.on_update, &before, deferred)
                }
            })?;
        }
        Ok(())
    }

    /// Runs `body` for each row of `child` whose key has these values.
    fn for_references(
        &mut self,
        child: TableId,
        key: &ForeignKey,
        values: &[Reg],
        wanted: &[usize],
        body: &mut dyn FnMut(&mut Lowerer<'_>, RelId) -> Result<()>,
    ) -> Result<()> {
        let rel = self.table_rel(child, "");
        let catalog = self.catalog;
        let parent = catalog.table_by_id(key.parent);
        let mut filter = Vec::with_capacity(values.len());
        for ((column, value), parent_column) in key.columns.iter().zip(values).zip(&key.parent_columns) {
            let ty = catalog.table_by_id(child).columns[column.index()].ty.clone();
            let left = Bound::column(rel, column.index(), ty, self.position);
            let ty = parent.columns[parent_column.index()].ty.clone();
            let right = Bound::new(BoundKind::Reg(*value), ty, self.position);
            let mut equal = self.binary(BinaryOp::Eq, left, right, self.position)?;
            self.count(&mut equal);
            filter.push(equal);
        }
        for column in wanted {
            self.rel_mut(rel).uses[*column] += 1;
        }
        self.rel_mut(rel).row_used = true;
        let items = [Item::Rel(rel)];
        self.push_frame();
        let plan = self.plan_group(&items, &filter, &[])?;
        let done = self.emit_plan(&plan, &mut |l| body(l, rel));
        self.pop_frame();
        done
    }

    fn refuse_references(&mut self, child: TableId, key: &ForeignKey, values: &[Reg]) -> Result<()> {
        if key.check == CheckTime::Deferred {
            return Ok(());
        }
        let found = self.child_found(child, key, values)?;
        self.raising(found, |l| l.raise_referenced(child, key, values))
    }

    /// Whether a row refers to a parent of this key.
    pub(super) fn child_found(&mut self, child: TableId, key: &ForeignKey, values: &[Reg]) -> Result<Reg> {
        let found = self.temp(Type::Bool);
        let (no, yes) = (self.truth(false), self.truth(true));
        self.copy(found, no);
        let label = self.label();
        let body = self.block(|l| {
            l.for_references(child, key, values, &[], &mut |l, _| {
                l.copy(found, yes);
                l.emit(OpKind::Exit { label });
                Ok(())
            })
        })?;
        self.emit(OpKind::Block { label, body });
        Ok(found)
    }

    /// 23503 for a parent that is referred to.
    pub(super) fn raise_referenced(
        &mut self,
        child: TableId,
        key: &ForeignKey,
        values: &[Reg],
    ) -> Result<()> {
        let catalog = self.catalog;
        let (parent, child) = (catalog.table_by_id(key.parent), catalog.table_by_id(child));
        let named = key.parent_columns.iter().map(|c| &parent.columns[c.index()]);
        let columns: Vec<(&str, &Type)> = named.map(|c| (c.name.as_str(), &c.ty)).collect();
        let tail = format!(" is still referenced from table \"{}\".", child.name);
        let detail = self.key_detail(&columns, values, &tail)?;
        let message = format!(
            "update or delete on table \"{}\" violates foreign key constraint \"{}\" on table \"{}\"",
            parent.name, key.name, child.name
        );
        self.raise(SqlState::FOREIGN_KEY_VIOLATION, message, foreign_fields(&key.name, &child.name, detail));
        Ok(())
    }

    fn cascade_delete(
        &mut self,
        child: TableId,
        key: &ForeignKey,
        values: &[Reg],
        deferred: &mut Deferred,
    ) -> Result<()> {
        self.cascading(child, key, |l| {
            let wanted = l.referenced_columns(child);
            l.for_references(child, key, values, &wanted, &mut |l, rel| {
                let row = l.row_reg(rel);
                l.emit(OpKind::Delete { table: child, row });
                let old = l.row_values(rel, &wanted);
                l.after_delete(child, &old, deferred)
            })
        })
    }

    /// Guards against foreign keys that cascade in a circle, which no finite program follows.
    fn cascading(
        &mut self,
        child: TableId,
        key: &ForeignKey,
        f: impl FnOnce(&mut Self) -> Result<()>,
    ) -> Result<()> {
        if self.cascade.contains(&child) || child == key.parent {
            return Err(Error::unsupported(
                "a foreign key that cascades in a circle is not supported",
                "change the rows from the last to the first in statements of their own",
            ));
        }
        self.cascade.push(child);
        let done = f(self);
        self.cascade.pop();
        done
    }

    fn reset_references(
        &mut self,
        child: TableId,
        key: &ForeignKey,
        action: ReferentialAction,
        values: &[Reg],
        deferred: &mut Deferred,
    ) -> Result<()> {
        let catalog = self.catalog;
        let table = catalog.table_by_id(child);
        let mut set = Vec::with_capacity(key.columns.len());
        for column in &key.columns {
            let value = if action == ReferentialAction::SetDefault {
                self.default_value(table, column.index(), self.position)?
            } else {
                Bound::null(table.columns[column.index()].ty.clone(), self.position)
            };
            let reg = self.exact(&value)?;
            set.push((*column, reg));
        }
        self.update_references(child, key, values, set, deferred)
    }

    /// Sets columns of the rows that refer to a key.
    fn update_references(
        &mut self,
        child: TableId,
        key: &ForeignKey,
        values: &[Reg],
        set: Vec<(ColumnId, Reg)>,
        deferred: &mut Deferred,
    ) -> Result<()> {
        let catalog = self.catalog;
        let table = catalog.table_by_id(child);
        self.cascading(child, key, |l| {
            let mut set = set.clone();
            for (column, reg) in &mut set {
                *reg = l.exactly(*reg, &table.columns[column.index()].ty);
            }
            let changed: Vec<usize> = set.iter().map(|(c, _)| c.index()).collect();
            let wanted = l.referenced_columns(child);
            // The rows first: changing them moves them within the index they are found by.
            let list = l.coll(CollKind::List, Vec::new(), {
                let mut kinds = vec![RegKind::Row(child)];
                kinds.extend(wanted.iter().map(|c| RegKind::Value(table.columns[*c].ty.clone())));
                kinds
            });
            l.for_references(child, key, values, &wanted, &mut |l, rel| {
                let mut row = vec![l.row_reg(rel)];
                row.extend(l.row_values(rel, &wanted).into_iter().flatten());
                l.emit(OpKind::Push { coll: list, values: row });
                Ok(())
            })?;
            let row = l.program.reg(RegKind::Row(child), None);
            let regs: Vec<Reg> = wanted.iter().map(|c| l.temp(table.columns[*c].ty.clone())).collect();
            let columns = [vec![row], regs.clone()].concat();
            let label = l.label();
            let body = l.block(|l| {
                let nulls: Vec<(usize, Reg)> = set
                    .iter()
                    .filter(|(c, _)| table.columns[c.index()].not_null)
                    .map(|(c, r)| (c.index(), *r))
                    .collect();
                l.check_not_null(table, &nulls, &mut |l| l.loaded_row(table, row, &set))?;
                l.emit(OpKind::Update { table: child, row, set: set.clone() });
                let mut old: Values = vec![None; table.columns.len()];
                for (column, reg) in wanted.iter().zip(&regs) {
                    old[*column] = Some(*reg);
                }
                let mut new = old.clone();
                for (column, reg) in &set {
                    new[column.index()] = Some(*reg);
                }
                l.after_update(child, &changed, &old, &new, deferred)?;
                for other in &table.foreign_keys {
                    let touched = other.columns.iter().any(|c| changed.contains(&c.index()));
                    if touched
                        && other.name != key.name
                        && other.columns.iter().all(|c| new[c.index()].is_some())
                    {
                        let values: Vec<Reg> =
                            other.columns.iter().map(|c| new[c.index()].expect("just seen")).collect();
                        l.check_parent(table, other, &values, &values)?;
                    }
                }
                Ok(())
            })?;
            l.emit(OpKind::ForEach { coll: list, columns, entry: None, label, body });
            Ok(())
        })
    }

    /// The row as it would be, for the detail of an error: loaded anew, with what is set.
    pub(super) fn loaded_row(&mut self, table: &Table, row: Reg, set: &[(ColumnId, Reg)]) -> Values {
        let regs: Vec<Reg> = table.columns.iter().map(|c| self.temp(c.ty.clone())).collect();
        let columns = regs.iter().enumerate().map(|(i, r)| (ColumnId::from(i), *r)).collect();
        self.emit(OpKind::Load { table: table.id, row, columns });
        let mut values: Values = regs.into_iter().map(Some).collect();
        for (column, reg) in set {
            values[column.index()] = Some(*reg);
        }
        values
    }

    /// Registers of a relation's columns, by column.
    pub(super) fn row_values(&mut self, rel: RelId, columns: &[usize]) -> Values {
        let width = self.rel(rel).columns.len();
        let mut values = vec![None; width];
        for column in columns {
            values[*column] = Some(self.column_reg(rel, *column));
        }
        values
    }

    // ---- checks at the end of the statement ----

    fn defer_reference(&mut self, child: TableId, key: &ForeignKey, values: &[Reg], deferred: &mut Deferred) {
        if key.check == CheckTime::Deferred {
            return;
        }
        let coll = self.deferred_list(child, key, true, deferred);
        self.emit(OpKind::Push { coll, values: values.to_vec() });
    }

    /// One row of several: its parent is looked for when all are stored.
    pub(super) fn defer_parent(
        &mut self,
        child: &Table,
        key: &ForeignKey,
        values: &[Reg],
        deferred: &mut Deferred,
    ) {
        if key.check == CheckTime::Deferred {
            return;
        }
        let coll = self.deferred_list(child.id, key, false, deferred);
        self.emit(OpKind::Push { coll, values: values.to_vec() });
    }

    fn deferred_list(
        &mut self,
        child: TableId,
        key: &ForeignKey,
        referenced: bool,
        deferred: &mut Deferred,
    ) -> Coll {
        let same =
            |d: &&DeferredCheck| d.key.name == key.name && d.child == child && d.referenced == referenced;
        if let Some(found) = deferred.0.iter().find(same) {
            return found.list;
        }
        let catalog = self.catalog;
        let (table, columns) = if referenced {
            (catalog.table_by_id(key.parent), &key.parent_columns)
        } else {
            (catalog.table_by_id(child), &key.columns)
        };
        let kinds = columns.iter().map(|c| RegKind::Value(table.columns[c.index()].ty.clone())).collect();
        let decl = planaria_ir::CollDecl { kind: CollKind::List, keys: Vec::new(), values: kinds };
        let list = self.program.coll(decl);
        // Emptied where the statement begins.
        let cleared = self.at_frame(0, |l| {
            l.emit(OpKind::Clear { coll: list });
            Ok(())
        });
        debug_assert!(cleared.is_ok());
        deferred.0.push(DeferredCheck { child, key: key.clone(), referenced, list });
        list
    }

    /// Emits the checks that were put off.
    pub(super) fn check_deferred(&mut self, deferred: Deferred) -> Result<()> {
        let catalog = self.catalog;
        for DeferredCheck { child, key, referenced, list } in deferred.0 {
            let parent = catalog.table_by_id(key.parent);
            let (table, columns) = if referenced {
                (parent, &key.parent_columns)
            } else {
                (catalog.table_by_id(child), &key.columns)
            };
            let regs: Vec<Reg> =
                columns.iter().map(|c| self.temp(table.columns[c.index()].ty.clone())).collect();
            let label = self.label();
            let body = self.block(|l| {
                if !referenced {
                    return l.check_parent(table, &key, &regs, &regs);
                }
                // The key may be there again.
                let gone = l.parent_missing(&key, &regs)?;
                l.when(gone, |l| l.refuse_references(child, &key, &regs))
            })?;
            self.emit(OpKind::ForEach { coll: list, columns: regs, entry: None, label, body });
        }
        Ok(())
    }

    /// Whether changes of a table reach other rows by foreign keys within it.
    pub(super) fn refers_to_itself(&self, table: &Table) -> bool {
        table.foreign_keys.iter().any(|k| k.parent == table.id)
    }
}

/// Checks that wait for the end of the statement.
#[derive(Default)]
pub(super) struct Deferred(Vec<DeferredCheck>);

struct DeferredCheck {
    child: TableId,
    key: ForeignKey,
    /// The list holds keys of parents that are gone (else keys of children).
    referenced: bool,
    list: Coll,
}

fn key_values(key: &ForeignKey, row: &Values) -> Result<Vec<Reg>> {
    key.parent_columns
        .iter()
        .map(|c| row[c.index()].ok_or_else(|| Error::internal("a referenced column was not loaded")))
        .collect()
}

fn foreign_fields(key: &str, table: &str, detail: Reg) -> ErrorFields {
    ErrorFields {
        detail: Some(detail),
        constraint: Some(key.to_owned()),
        table: Some(table.to_owned()),
        ..ErrorFields::default()
    }
}
