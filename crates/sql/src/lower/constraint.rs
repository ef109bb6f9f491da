//! Constraints of a row about to be stored: NOT NULL, CHECK, foreign keys. What the change of a referenced row does
//! to those that refer to it is in [`referential`](super::referential).

use super::Lowerer;
use super::bound::{Bound, BoundKind, RelId};
use super::names::Names;
use planaria_base::{ColumnId, Datum, Error, Result, SqlState, TableId, Type};
use planaria_catalog::{Check, ForeignKey, ROWS_TOLD, Table};
use planaria_ir::verify::comparable;
use planaria_ir::{ErrorFields, Func, OpKind, ProgramKind, ReadMode, Reg, RegKind};

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
                let before = format!("null value in column \"{name}\" of relation \"");
                let behind = "\" violates not-null constraint";
                let fields = ErrorFields { detail, column: Some(name.clone()), ..ErrorFields::default() };
                let raise = |l: &mut Self| {
                    let relation = l.relation_of_row(table, &values)?;
                    l.raise_of_row(SqlState::NOT_NULL_VIOLATION, table, relation, (&before, behind), fields)
                };
                // The last one needs no test: one of them is NULL.
                if i + 1 == candidates.len() {
                    raise(l)?;
                    continue;
                }
                let null = l.apply(Func::IsNull, vec![*reg], Type::Bool);
                l.when(null, raise)?;
            }
            Ok(())
        })
    }

    /// `Failing row contains (1, null, abc).`
    pub(super) fn failing_row(&mut self, table: &Table, values: &Values) -> Result<Option<Reg>> {
        if !self.tells_rows(table) {
            return Ok(None);
        }
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
            let shown = Bound::apply(Func::InDetail, vec![shown], Type::Text, 0);
            let shown = BoundKind::Coalesce(vec![shown, text("null")]);
            parts.push(Bound::new(shown, Type::Text, 0));
        }
        parts.push(text(")."));
        self.value(&Bound::apply(Func::Concat, parts, Type::Text, 0)).map(Some)
    }

    /// CHECK constraints over a row in a shadow relation; those that read one of `changed`, or are volatile.
    pub(super) fn check_row(
        &mut self,
        table: &Table,
        rel: RelId,
        changed: Option<&[usize]>,
        load: &mut dyn FnMut(&mut Self, &[usize]),
        row: &mut dyn FnMut(&mut Self) -> Values,
    ) -> Result<()> {
        self.check_partition_rules(table, rel, changed, row)?;
        // As in PostgreSQL: of several that do not hold, the first by name is told of.
        let mut checks: Vec<_> = table.checks.iter().collect();
        checks.sort_by(|a, b| a.name.cmp(&b.name));
        for check in checks {
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
            let unchanged = changed.is_some_and(|changed| !used.iter().any(|c| changed.contains(c)));
            if unchanged && !self.asks_always(check) && !self.is_volatile(&e) {
                continue;
            }
            load(self, &used);
            let holds = self.value(&e)?;
            let fails = self.apply(Func::IsFalse, vec![holds], Type::Bool);
            self.raising(fails, |l| {
                let values = row(l);
                let detail = l.failing_row(table, &values)?;
                let behind = format!("\" violates check constraint \"{}\"", check.name);
                let around = ("new row for relation \"", behind.as_str());
                let relation = l.relation_of_row(table, &values)?;
                let constraint = Some(check.name.clone());
                let fields = ErrorFields { detail, constraint, ..ErrorFields::default() };
                l.raise_of_row(SqlState::CHECK_VIOLATION, table, relation, around, fields)
            })?;
        }
        Ok(())
    }

    /// Whether a CHECK is asked of rows none of whose columns in it has changed: they may violate one that is NOT VALID. Routines
    /// of former versions do not ask it, as logs have calls that stored such rows.
    pub(super) fn asks_always(&self, check: &Check) -> bool {
        check.not_valid && self.form >= ROWS_TOLD
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
        self.unless_put_off(child.id, &key.name, key.check, |l| {
            l.check_parent_now(child, key, values, maybe_null)
        })
    }

    /// The same, whatever is deferred.
    pub(super) fn check_parent_now(
        &mut self,
        child: &Table,
        key: &ForeignKey,
        values: &[Reg],
        maybe_null: &[Reg],
    ) -> Result<()> {
        let look = |l: &mut Self| -> Result<()> {
            let values_there = l.parent_values(child, key, values);
            let missing = l.parent_missing(key, &values_there, ReadMode::Parent)?;
            l.raising(missing, |l| l.raise_orphan(child, key, values))
        };
        if maybe_null.is_empty() {
            return look(self);
        }
        let null = self.any_null(maybe_null);
        self.unless(null, |l| look(l))
    }

    /// MATCH FULL: of a key of several columns all are NULL or none is.
    pub(super) fn check_match(&mut self, child: &Table, key: &ForeignKey, values: &[Reg]) -> Result<()> {
        if !key.match_full || values.len() < 2 {
            return Ok(());
        }
        let any = self.any_null(values);
        self.when(any, |l| {
            let nulls: Vec<Reg> =
                values.iter().map(|v| l.apply(Func::IsNull, vec![*v], Type::Bool)).collect();
            let all = nulls.into_iter().reduce(|a, b| l.apply(Func::And, vec![a, b], Type::Bool));
            let all = all.ok_or_else(|| Error::internal("a key without columns"))?;
            let mixed = l.apply(Func::Not, vec![all], Type::Bool);
            l.raising(mixed, |l| {
                let detail = l.constant(Datum::Text(MIXED_KEY.to_owned()), Type::Text);
                l.raise(
                    SqlState::FOREIGN_KEY_VIOLATION,
                    orphan_message(child, key),
                    foreign_fields(&key.name, &child.name, detail),
                );
                Ok(())
            })
        })
    }

    /// A child's key as the parent's types have it.
    pub(super) fn parent_values(&mut self, child: &Table, key: &ForeignKey, values: &[Reg]) -> Vec<Reg> {
        let parent = self.catalog.table_by_id(key.parent);
        let columns = key.columns.iter().zip(&key.parent_columns).zip(values);
        let mut converted = Vec::with_capacity(values.len());
        for ((from, to), reg) in columns {
            let (from, to) = (&child.columns[from.index()].ty, &parent.columns[to.index()].ty);
            converted.push(if comparable(from, to) { *reg } else { self.exactly(*reg, &to.base()) });
        }
        converted
    }

    /// Whether there is no parent of this key, in the order of the foreign key's columns.
    pub(super) fn parent_missing(&mut self, key: &ForeignKey, values: &[Reg], mode: ReadMode) -> Result<Reg> {
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
        self.emit(OpKind::Get { table, index, key: regs, mode, row, columns: Vec::new() });
        Ok(self.apply(Func::IsNull, vec![row], Type::Bool))
    }

    /// 23503 for a child without a parent.
    pub(super) fn raise_orphan(&mut self, child: &Table, key: &ForeignKey, values: &[Reg]) -> Result<()> {
        let named = key.columns.iter().map(|c| &child.columns[c.index()]);
        let columns: Vec<(&str, &Type)> = named.map(|c| (c.name.as_str(), &c.ty)).collect();
        let parent = self.catalog.table_by_id(key.parent);
        let tail = format!(" is not present in table \"{}\".", parent.name);
        let detail = self.foreign_detail(child, &columns, values, &tail)?;
        let fields = foreign_fields(&key.name, &child.name, detail);
        let relation = self.relation_of_child(child, key, values)?;
        let behind = format!("\" violates foreign key constraint \"{}\"", key.name);
        self.raise_of_row(SqlState::FOREIGN_KEY_VIOLATION, child, relation, (ORPHAN, &behind), fields)
    }

    /// The relation of a stored row that has a key, as [`relation_of_row`](Self::relation_of_row) says it. Routines do not look for it: what
    /// they read, and keep for replay, is what it was.
    fn relation_of_child(&mut self, child: &Table, key: &ForeignKey, values: &[Reg]) -> Result<Option<Reg>> {
        if child.leaves().is_empty() || self.program.kind != ProgramKind::Statement {
            return Ok(None);
        }
        let relation = self.temp(Type::Text);
        let own = self.constant(Datum::Text(child.name.clone()), Type::Text);
        self.copy(relation, own);
        let all: Vec<usize> = (0..child.columns.len()).collect();
        let label = self.label();
        let rel = self.table_rel(child.id, "");
        let body = self.block(|l| {
            l.for_references(rel, key, values, &all, &mut |l| {
                let row = l.row_values(rel, &all);
                if let Some(found) = l.relation_of_row(child, &row)? {
                    l.copy(relation, found);
                }
                l.emit(OpKind::Exit { label });
                Ok(())
            })
        })?;
        self.emit(OpKind::Block { label, body });
        Ok(Some(relation))
    }

    /// The same of a foreign key that a change of a table violates: without the values where policies may hide its rows.
    pub(super) fn foreign_detail(
        &mut self,
        changed: &Table,
        columns: &[(&str, &Type)],
        values: &[Reg],
        tail: &str,
    ) -> Result<Reg> {
        match self.tells_rows(changed) {
            true => self.key_detail(columns, values, tail),
            false => Ok(self.constant(Datum::Text(format!("Key{tail}")), Type::Text)),
        }
    }

    /// `Key (a, b)=(1, 2)` and a tail.
    pub(super) fn key_detail(
        &mut self,
        columns: &[(&str, &Type)],
        values: &[Reg],
        tail: &str,
    ) -> Result<Reg> {
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

    /// Whether changes of a table reach other rows by foreign keys within it.
    pub(super) fn refers_to_itself(&self, table: &Table) -> bool {
        table.foreign_keys.iter().any(|k| k.parent == table.id)
    }
}

/// The DETAIL of a MATCH FULL key that is NULL in part.
pub(crate) const MIXED_KEY: &str = "MATCH FULL does not allow mixing of null and nonnull key values.";

/// How the message of an orphan begins.
const ORPHAN: &str = "insert or update on table \"";

fn orphan_message(child: &Table, key: &ForeignKey) -> String {
    format!("{ORPHAN}{}\" violates foreign key constraint \"{}\"", child.name, key.name)
}

pub(super) fn foreign_fields(key: &str, table: &str, detail: Reg) -> ErrorFields {
    ErrorFields {
        detail: Some(detail),
        constraint: Some(key.to_owned()),
        table: Some(table.to_owned()),
        ..ErrorFields::default()
    }
}
