//! EXCLUDE constraints, and UNIQUE and PRIMARY KEY where they are DEFERRABLE: when a row has been stored, no other may have keys
//! for which all of the constraint's operators are true.
//!
//! 1. The rows whose first keys are equal to the new row's, and, for a range that must not overlap, those that begin no later
//!    than it ends, are read by the constraint's index: as of now, whatever the level, and what was read has to hold at
//!    commit. So two transactions that store rows in each other's way do not both commit.
//! 2. The other operators are asked of each. The row itself, which is there by now, is told by its primary key.
//! 3. A key that is NULL is in nobody's way, as is a row that does not meet the constraint's condition: its first key is NULL.
//! 4. What is DEFERRABLE waits until the statement has stored all its rows, so that they may exchange their keys. Then it asks the
//!    session whether it is to wait on. What is INITIALLY DEFERRED is no business of the statement: the transaction looks at the
//!    keys that it has written when it commits, as at foreign keys ([`deferred_exclusion`]). A row that was changed again, or
//!    is gone by then, is in nobody's way.

use super::Lowerer;
use super::bound::{Bound, BoundKind, Item, RelId};
use super::constraint::Values;
use super::referential::Waiting;
use planaria_base::text_io::quote_ident;
use planaria_base::{Datum, Error, Result, SqlState, TableId, Type};
use planaria_catalog::{Catalog, CheckTime, ExclusionOperator, Index, Table};
use planaria_ir::{
    Coll, ErrorFields, Func, OpKind, Output, Param, ParamMode, Program, ProgramKind, ReadMode, Reg, RegKind,
};
use planaria_syntax::ast::BinaryOp;

/// Keys of rows that are looked at when the statement has changed all its rows.
pub(super) struct LateExclusion {
    table: TableId,
    constraint: String,
    list: Coll,
}

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
        waiting: &mut Waiting,
    ) -> Result<()> {
        for index in exclusions(table) {
            if changed.is_some_and(|changed| !index.columns.iter().any(|c| changed.contains(&c.index()))) {
                continue;
            }
            let keys = known(values, &index.columns)?;
            let own = known(values, &table.indexes[0].columns)?;
            let at_once = waiting.at_once(self.single_row);
            match index.check() {
                CheckTime::Deferred => {}
                CheckTime::Deferrable if !at_once => {
                    let list = self.exclusion_list(table, index, waiting);
                    self.emit(OpKind::Push { coll: list, values: [keys, own].concat() });
                }
                check => self.unless_put_off(table.id, &index.name, check, |l| {
                    l.unless_null(table, index, &keys, |l| {
                        l.for_conflicts(table, index, &keys, Some(&own), &mut |l, rel| {
                            l.cold(|l| l.raise_conflict(table, index, &keys, rel))
                        })
                    })
                })?,
            }
        }
        Ok(())
    }

    /// The list of keys of rows that are looked at when the statement has changed all its rows: each with what tells its row.
    fn exclusion_list(&mut self, table: &Table, index: &Index, waiting: &mut Waiting) -> Coll {
        let same = |c: &&LateExclusion| c.table == table.id && c.constraint == index.name;
        if let Some(late) = waiting.exclusions.iter().find(same) {
            return late.list;
        }
        let columns = index.columns.iter().chain(&table.indexes[0].columns);
        let kinds = columns.map(|c| RegKind::Value(table.columns[c.index()].ty.clone())).collect();
        let list = self.waiting_list(kinds);
        waiting.exclusions.push(LateExclusion { table: table.id, constraint: index.name.clone(), list });
        list
    }

    /// Looks at all keys that wait for the end of the statement.
    pub(super) fn check_late_exclusions(&mut self, waiting: &Waiting) -> Result<()> {
        for LateExclusion { table, constraint, list } in &waiting.exclusions {
            let table = self.catalog.table_by_id(*table);
            let index = index_of(table, constraint)?;
            self.unless_put_off(table.id, constraint, index.check(), |l| {
                let columns = index.columns.iter().chain(&table.indexes[0].columns);
                let columns: Vec<Reg> =
                    columns.map(|c| l.temp(table.columns[c.index()].ty.clone())).collect();
                let (keys, own) = columns.split_at(index.columns.len());
                let label = l.label();
                let body = l.block(|l| l.check_row_since(table, index, keys, own))?;
                l.emit(OpKind::ForEach { coll: *list, columns: columns.clone(), entry: None, label, body });
                Ok(())
            })?;
        }
        Ok(())
    }

    /// The same as a row is stored for one that was stored before: it may have been changed again since, or be gone.
    fn check_row_since(&mut self, table: &Table, index: &Index, keys: &[Reg], own: &[Reg]) -> Result<()> {
        self.unless_null(table, index, keys, |l| {
            l.for_conflicts(table, index, keys, Some(own), &mut |l, rel| {
                let still = l.row_still_has(table, index, keys, own)?;
                l.raising(still, |l| l.raise_conflict(table, index, keys, rel))
            })
        })
    }

    /// Whether the row of a primary key is there, with these keys.
    fn row_still_has(&mut self, table: &Table, index: &Index, keys: &[Reg], own: &[Reg]) -> Result<Reg> {
        let found = self.temp(Type::Bool);
        let (no, yes) = (self.truth(false), self.truth(true));
        self.copy(found, no);
        let (rel, position) = (self.table_rel(table.id, ""), self.position);
        let columns = table.indexes[0].columns.iter().zip(own).chain(index.columns.iter().zip(keys));
        let mut filter = Vec::new();
        for (column, key) in columns {
            let ty = self.rel(rel).columns[column.index()].1.clone();
            let left = Bound::column(rel, column.index(), ty.clone(), position);
            let right = Bound::new(BoundKind::Reg(*key), ty, position);
            filter.push(self.binary(BinaryOp::Eq, left, right, position)?);
        }
        filter.iter_mut().for_each(|e| self.count(e));
        self.rel_mut(rel).row_used = true;
        self.rel_mut(rel).mode = ReadMode::Check;
        let label = self.label();
        let body = self.block(|l| {
            l.push_frame();
            let plan = l.plan_group(&[Item::Rel(rel)], &filter, &[])?;
            let done = l.emit_plan(&plan, &mut |l| {
                l.copy(found, yes);
                l.emit(OpKind::Exit { label });
                Ok(())
            });
            l.pop_frame();
            done
        })?;
        self.emit(OpKind::Block { label, body });
        Ok(found)
    }

    /// 23P01 or 23505: the row in `there` is in the way of these keys.
    fn raise_conflict(&mut self, table: &Table, index: &Index, keys: &[Reg], there: RelId) -> Result<()> {
        let mut fields = ErrorFields {
            constraint: Some(index.name.clone()),
            table: Some(table.name.clone()),
            ..ErrorFields::default()
        };
        if index.excludes() {
            let there: Vec<Reg> = index.columns.iter().map(|c| self.column_reg(there, c.index())).collect();
            let words = "conflicts with existing key";
            fields.detail = Some(self.conflict_detail(table, index, keys, &there, words)?);
            let message = format!("conflicting key value violates exclusion constraint \"{}\"", index.name);
            self.raise(SqlState::EXCLUSION_VIOLATION, message, fields);
            return Ok(());
        }
        if self.tells_rows(table) {
            let named = index.columns.iter().map(|c| &table.columns[c.index()]);
            // In quotes where need be; what is computed is shown as it is written.
            let named: Vec<(String, &Type)> = named
                .map(|c| (if c.hidden { c.name.clone() } else { quote_ident(&c.name) }, &c.ty))
                .collect();
            let columns: Vec<(&str, &Type)> = named.iter().map(|(name, ty)| (name.as_str(), *ty)).collect();
            fields.detail = Some(self.key_detail(&columns, keys, " already exists.")?);
        }
        let message = format!("duplicate key value violates unique constraint \"{}\"", index.name);
        self.raise(SqlState::UNIQUE_VIOLATION, message, fields);
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

/// The index of a constraint.
fn index_of<'t>(table: &'t Table, constraint: &str) -> Result<&'t Index> {
    let mut found = table.indexes.iter().filter(|i| i.exclusion.is_some());
    let missing = || Error::internal("an exclusion constraint that is not there");
    found.find(|i| i.name == constraint).ok_or_else(missing)
}

/// The program that looks at a row of `table` when the transaction commits. It takes the keys that it was stored with, none of
/// them NULL, and its primary key.
pub fn deferred_exclusion(catalog: &Catalog, table: TableId, constraint: &str) -> Result<Program> {
    let table = catalog.table_by_id(table);
    let index = index_of(table, constraint)?;
    let mut l = Lowerer::new(catalog, format!("check of {constraint}"), ProgramKind::Statement);
    let mut values = Vec::new();
    for column in index.columns.iter().chain(&table.indexes[0].columns) {
        let (name, ty) = (format!("value {}", values.len() + 1), table.columns[column.index()].ty.clone());
        let reg = l.program.reg(RegKind::Value(ty.clone()), Some(name.clone()));
        l.program.params.push(Param { name, ty, mode: ParamMode::In, reg });
        values.push(reg);
    }
    let (keys, own) = values.split_at(index.columns.len());
    l.check_row_since(table, index, keys, own)?;
    l.finish()
}

/// A program that emits, for rows that are in each other's way, what the error is to say of two of them.
pub(crate) fn exclusion_violations(catalog: &Catalog, table: TableId, name: &str) -> Result<Program> {
    let mut l = Lowerer::new(catalog, "validation", ProgramKind::Statement);
    let table = catalog.table_by_id(table);
    let index = index_of(table, name)?;
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
                        let detail = if index.excludes() {
                            l.conflict_detail(table, index, &keys, &there, "conflicts with key")?
                        } else {
                            let named = index.columns.iter().map(|c| &table.columns[c.index()]);
                            let columns: Vec<(&str, &Type)> =
                                named.map(|c| (c.name.as_str(), &c.ty)).collect();
                            l.key_detail(&columns, &keys, " is duplicated.")?
                        };
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
