//! EXCLUDE constraints: when a row has been stored, no other may have keys for which all of the constraint's operators are
//! true.
//!
//! 1. The rows whose first keys are equal to the new row's, and, for a range that must not overlap, those that begin no later
//!    than it ends, are read by the constraint's index: as of now, whatever the level, and what was read has to hold at
//!    commit. So two transactions that store rows in each other's way do not both commit.
//! 2. The other operators are asked of each. The row itself, which is there by now, is told by its primary key.
//! 3. A key that is NULL is in nobody's way, as is a row that does not meet the constraint's condition: its first key is NULL.

use super::Lowerer;
use super::bound::{Bound, BoundKind, Item, RelId};
use super::constraint::Values;
use planaria_base::{Datum, Error, Result, SqlState, TableId, Type};
use planaria_catalog::{Catalog, ExclusionOperator, Index, Table};
use planaria_ir::{ErrorFields, Func, OpKind, Output, Program, ProgramKind, ReadMode, Reg};
use planaria_syntax::ast::BinaryOp;

/// The exclusion constraints of a table.
fn exclusions(table: &Table) -> impl Iterator<Item = &Index> {
    table.indexes.iter().filter(|i| i.exclusion.is_some())
}

/// The columns that the exclusion constraints need that have one of `changed` among their keys: those keys, and what tells
/// the row.
pub(super) fn needs(table: &Table, changed: &[usize]) -> Vec<usize> {
    let concerned = exclusions(table).filter(|i| i.columns.iter().any(|c| changed.contains(&c.index())));
    let keys: Vec<usize> = concerned.flat_map(|i| &i.columns).map(|c| c.index()).collect();
    let own = table.indexes[0].columns.iter().map(|c| c.index()).filter(|_| !keys.is_empty());
    own.chain(keys.iter().copied()).collect()
}

impl Lowerer<'_> {
    /// 23P01 where a row that has just been stored is in the way of another. `changed`: the columns that are new.
    pub(super) fn check_exclusions(
        &mut self,
        table: &Table,
        values: &Values,
        changed: Option<&[usize]>,
    ) -> Result<()> {
        for index in exclusions(table) {
            if changed.is_some_and(|changed| !index.columns.iter().any(|c| changed.contains(&c.index()))) {
                continue;
            }
            let keys = known(values, &index.columns)?;
            let own = known(values, &table.indexes[0].columns)?;
            self.unless_null(table, index, &keys, |l| {
                l.for_conflicts(table, index, &keys, Some(&own), &mut |l, rel| {
                    l.cold(|l| {
                        let there: Vec<Reg> =
                            index.columns.iter().map(|c| l.column_reg(rel, c.index())).collect();
                        let detail =
                            l.conflict_detail(table, index, &keys, &there, "conflicts with existing key")?;
                        let message =
                            format!("conflicting key value violates exclusion constraint \"{}\"", index.name);
                        let fields = ErrorFields {
                            detail: Some(detail),
                            constraint: Some(index.name.clone()),
                            table: Some(table.name.clone()),
                            ..ErrorFields::default()
                        };
                        l.raise(SqlState::EXCLUSION_VIOLATION, message, fields);
                        Ok(())
                    })
                })
            })?;
        }
        Ok(())
    }

    /// Whether a row that is not stored yet would be in the way of another.
    pub(super) fn conflict_found(&mut self, table: &Table, index: &Index, keys: &[Reg]) -> Result<Reg> {
        let found = self.temp(Type::Bool);
        let (no, yes) = (self.truth(false), self.truth(true));
        self.copy(found, no);
        self.unless_null(table, index, keys, |l| {
            let label = l.label();
            let body = l.block(|l| {
                l.for_conflicts(table, index, keys, None, &mut |l, _| {
                    l.copy(found, yes);
                    l.emit(OpKind::Exit { label });
                    Ok(())
                })
            })?;
            l.emit(OpKind::Block { label, body });
            Ok(())
        })?;
        Ok(found)
    }

    fn unless_null(
        &mut self,
        table: &Table,
        index: &Index,
        keys: &[Reg],
        then: impl FnOnce(&mut Self) -> Result<()>,
    ) -> Result<()> {
        let columns = index.columns.iter().zip(keys);
        let maybe: Vec<Reg> =
            columns.filter(|(c, _)| !table.columns[c.index()].not_null).map(|(_, reg)| *reg).collect();
        if maybe.is_empty() {
            return then(self);
        }
        let null = self.any_null(&maybe);
        self.unless(null, then)
    }

    /// Runs `body` for each row with which these keys are in conflict, but the row of the primary key `own`.
    fn for_conflicts(
        &mut self,
        table: &Table,
        index: &Index,
        keys: &[Reg],
        own: Option<&[Reg]>,
        body: &mut dyn FnMut(&mut Lowerer<'_>, RelId) -> Result<()>,
    ) -> Result<()> {
        let exclusion =
            index.exclusion.as_ref().ok_or_else(|| Error::internal("an index that excludes nothing"))?;
        let rel = self.table_rel(table.id, "");
        let position = self.position;
        let mut filter = Vec::new();
        for ((column, key), operator) in index.columns.iter().zip(keys).zip(&exclusion.operators) {
            let ty = self.rel(rel).columns[column.index()].1.clone();
            let left = Bound::column(rel, column.index(), ty.clone(), position);
            let right = Bound::new(BoundKind::Reg(*key), ty.clone(), position);
            let which = match operator {
                ExclusionOperator::Equal => BinaryOp::Eq,
                ExclusionOperator::NotEqual => BinaryOp::Ne,
                ExclusionOperator::Overlaps => {
                    let ceiling = self.apply(Func::RangeCeiling, vec![*key], ty.clone());
                    let ceiling = Bound::new(BoundKind::Reg(ceiling), ty, position);
                    let args = vec![left.clone(), ceiling];
                    filter.push(Bound::apply(Func::BytesLe, args, Type::Bool, position));
                    BinaryOp::Overlaps
                }
            };
            filter.push(self.binary(which, left, right, position)?);
        }
        if let Some(own) = own {
            let mut other: Option<Bound> = None;
            for (column, key) in table.indexes[0].columns.iter().zip(own) {
                let ty = self.rel(rel).columns[column.index()].1.clone();
                let left = Bound::column(rel, column.index(), ty.clone(), position);
                let right = Bound::new(BoundKind::Reg(*key), ty, position);
                let differs = Bound::apply(Func::Distinct, vec![left, right], Type::Bool, position);
                other = Some(match other {
                    None => differs,
                    Some(any) => any.or(differs),
                });
            }
            filter.extend(other);
        }
        filter.iter_mut().for_each(|e| self.count(e));
        for column in &index.columns {
            self.rel_mut(rel).uses[column.index()] += 1;
        }
        self.rel_mut(rel).row_used = true;
        self.rel_mut(rel).mode = ReadMode::Check;
        let items = [Item::Rel(rel)];
        self.push_frame();
        let plan = self.plan_group(&items, &filter, &[])?;
        let done = self.emit_plan(&plan, &mut |l| body(l, rel));
        self.pop_frame();
        done
    }

    /// `Key (a, b)=(1, 2) conflicts with existing key (a, b)=(1, 3).`
    fn conflict_detail(
        &mut self,
        table: &Table,
        index: &Index,
        new: &[Reg],
        there: &[Reg],
        words: &str,
    ) -> Result<Reg> {
        let text = |t: String| Bound::constant(Datum::Text(t), Type::Text, 0);
        let said: Vec<usize> = table.said_keys(index).collect();
        let names: Vec<String> = said.iter().map(|at| table.key_text(index, *at)).collect();
        let names = names.join(", ");
        let mut parts = vec![text(format!("Key ({names})=("))];
        for (values, close) in [(new, format!(") {words} ({names})=(")), (there, ").".to_owned())] {
            for (i, at) in said.iter().enumerate() {
                if i > 0 {
                    parts.push(text(", ".to_owned()));
                }
                let ty = table.columns[index.columns[*at].index()].ty.clone();
                let value = Bound::new(BoundKind::Reg(values[*at]), ty, 0);
                parts.push(self.output_text(value)?);
            }
            parts.push(text(close));
        }
        self.value(&Bound::apply(Func::Concat, parts, Type::Text, 0))
    }
}

/// The values of columns, which are known.
fn known(values: &Values, columns: &[planaria_base::ColumnId]) -> Result<Vec<Reg>> {
    let of = |c: &planaria_base::ColumnId| {
        values[c.index()].ok_or_else(|| Error::internal("a key of an exclusion constraint was not loaded"))
    };
    columns.iter().map(of).collect()
}

/// A program that emits, for rows that are in each other's way, what the error is to say of two of them.
pub(crate) fn exclusion_violations(catalog: &Catalog, table: TableId, name: &str) -> Result<Program> {
    let mut l = Lowerer::new(catalog, "validation", ProgramKind::Statement);
    let table = catalog.table_by_id(table);
    let index = table.indexes.iter().find(|i| i.name == name && i.exclusion.is_some());
    let index = index.ok_or_else(|| Error::internal("an exclusion constraint that is not there"))?;
    l.program.outputs = vec![Output { name: "detail".to_owned(), ty: Type::Text }];
    l.statement(|l| -> Result<()> {
        let rel = l.table_rel(table.id, "");
        for column in index.columns.iter().chain(&table.indexes[0].columns) {
            l.rel_mut(rel).uses[column.index()] += 1;
        }
        l.push_frame();
        let plan = l.plan_group(&[Item::Rel(rel)], &[], &[])?;
        let label = l.label();
        let body = l.block(|l| {
            l.emit_plan(&plan, &mut |l| {
                let keys: Vec<Reg> = index.columns.iter().map(|c| l.column_reg(rel, c.index())).collect();
                let own: Vec<Reg> =
                    table.indexes[0].columns.iter().map(|c| l.column_reg(rel, c.index())).collect();
                l.unless_null(table, index, &keys, |l| {
                    l.for_conflicts(table, index, &keys, Some(&own), &mut |l, other| {
                        let there: Vec<Reg> =
                            index.columns.iter().map(|c| l.column_reg(other, c.index())).collect();
                        let words = "conflicts with key";
                        let detail = l.conflict_detail(table, index, &keys, &there, words)?;
                        l.emit(OpKind::Emit { values: vec![detail] });
                        l.emit(OpKind::Exit { label });
                        Ok(())
                    })
                })
            })
        })?;
        l.emit(OpKind::Block { label, body });
        l.pop_frame();
        Ok(())
    })?;
    l.finish()
}
