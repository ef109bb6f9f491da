//! INSERT.
//!
//! ```text
//!  for each proposed row:  defaults, conversions -> NOT NULL, CHECK -> [conflict?] -> Insert | Update
//!                          -> foreign keys -> count, RETURNING
//! ```
//!
//! The rows of a query that reads the table itself are collected first: a statement does not see its
//! own rows.

use super::bound::{Bound, BoundKind, BoundQuery, RelId};
use super::constraint::Values;
use super::dml::{Returning, XID};
use super::names::{Names, Source};
use super::policy::PolicyCheck;
use super::proposed::Proposed;
use super::referential::Waiting;
use super::trigger::{ChangedRow, Own};
use super::types::CastContext;
use super::updatable::{Target, ViewCheck};
use super::update::Multiple;
use super::{Lowerer, Scope, Sink, Typed};
use planaria_base::{ColumnId, Error, IndexId, Result, SqlState, Type};
use planaria_catalog::{CheckTime, Privileges, Table, TriggerEvent, TriggerTime};
use planaria_ir::{CollKind, ErrorFields, Func, OpKind, Output, ReadMode, Reg, RegKind};
use planaria_syntax::ast::{ConflictTarget, IndexItem, Insert, OnConflict};

/// What `xmax` says of a row that was updated: some transaction.
const UPDATED: i64 = 1;

/// Where the proposed rows come from; values are for the given columns, in their types.
pub(super) enum Rows {
    One(Vec<Bound>),
    Several(Vec<Vec<Bound>>),
    Query(Box<BoundQuery>),
}

/// ON CONFLICT, bound.
pub(super) struct Conflict {
    arbiters: Vec<IndexId>,
    update: Option<ConflictSet>,
}

struct ConflictSet {
    /// The row that is there.
    existing: RelId,
    /// The row that was proposed.
    excluded: RelId,
    set: Vec<(usize, Bound)>,
    /// Subqueries that give several of these values.
    multiple: Vec<Multiple>,
    filter: Vec<Bound>,
    /// What policies ask of the row that is there.
    met: Vec<PolicyCheck>,
    /// What views ask of the row that was updated.
    checks: Vec<ViewCheck>,
}

impl Lowerer<'_> {
    pub(super) fn describe_insert(&mut self, scope: &Scope, insert: &Insert) -> Result<Vec<Output>> {
        let target = self.target(&insert.table, "insert")?;
        let alias = insert.alias.as_deref().unwrap_or(target.name());
        let mut level = Names::of(scope);
        self.bind_with(&mut level, &insert.with, insert.recursive)?;
        self.given_columns(&target, insert)?;
        let (names, _) = self.returned_names(&level, &target, alias, None)?;
        Ok(self.bind_returning(&names, &insert.returning)?.outputs)
    }

    pub(super) fn emit_insert(&mut self, scope: &Scope, insert: &Insert, sink: &mut Sink<'_>) -> Result<Reg> {
        let target = self.target(&insert.table, "insert")?;
        let outer = std::mem::replace(&mut self.within, target.partition());
        let done = self.emit_insert_into(scope, insert, &target, sink);
        self.within = outer;
        done
    }

    fn emit_insert_into(
        &mut self,
        scope: &Scope,
        insert: &Insert,
        target: &Target<'_>,
        sink: &mut Sink<'_>,
    ) -> Result<Reg> {
        let table = target.table;
        let alias = insert.alias.as_deref().unwrap_or(target.name()).to_owned();
        let mut level = Names::of(scope);
        self.push_frame();
        self.bind_with(&mut level, &insert.with, insert.recursive)?;
        let mut given = self.given_columns(target, insert)?;
        // DEFAULT is a value, too, where a column is named.
        let named = given.clone();
        let mut rows = self.bind_rows(&level, target, insert, &mut given)?;
        let named = if insert.columns.is_empty() { &given } else { &named };
        self.note_columns(target, &target.writes, named.iter().copied());
        let may_update = insert.on_conflict.as_ref().is_some_and(|on| on.update.is_some());
        let xmax = (may_update && !insert.returning.is_empty()).then(|| self.temp(XID));
        let (names, shadow) = self.returned_names(&level, target, &alias, xmax)?;
        let mut returning = self.bind_returning(&names, &insert.returning)?;
        returning.xmax = xmax.filter(|xmax| self.uses_register(&mut returning.values, *xmax));
        self.require_reads(target, shadow);
        let mut conflict = match &insert.on_conflict {
            Some(on) => Some(self.bind_conflict(&level, target, &alias, on)?),
            None => None,
        };
        let existing = conflict.as_ref().and_then(|c| c.update.as_ref()).map(|u| u.existing);
        let reads = self.rights.reads_any(&[&[shadow], existing.as_slice()].concat())
            || insert.on_conflict.as_ref().is_some_and(|on| on.target.is_some());
        self.secure_insert(target, shadow, reads)?;
        if let Some(update) = conflict.as_mut().and_then(|c| c.update.as_mut()) {
            update.met = self.secure_conflict(target, update.existing, reads)?;
        }
        let checks = self.target_checks(target, shadow)?;
        let fires = self.fires_before(table, TriggerEvent::Insert, &[]);
        // What the query found before the first row is stored.
        let mut collects = false;
        if let Rows::Query(query) = &mut rows {
            let probe = Bound::new(BoundKind::Exists(query.clone()), Type::Bool, 0);
            collects = self.reads_table(&probe, table.id);
            if collects
                && self.calls_volatile(&probe)
                && let Some(split) = self.calls_after_finding(query, table.id)
            {
                (**query, collects) = (split, false);
            }
            // Triggers may change what the query reads.
            collects |= fires;
        }
        // Uses, for the queries inside.
        match &mut rows {
            Rows::One(row) => row.iter_mut().for_each(|e| self.count(e)),
            Rows::Several(rows) => rows.iter_mut().flatten().for_each(|e| self.count(e)),
            Rows::Query(query) => {
                let needed = vec![true; query.columns.len()];
                self.count_query(query, &needed);
            }
        }
        self.count_returning(&mut returning);
        if let Some(ConflictSet { existing, set, multiple, filter, .. }) =
            conflict.as_mut().and_then(|c| c.update.as_mut())
        {
            multiple.iter_mut().for_each(|m| self.count_multiple(m));
            set.iter_mut().map(|(_, e)| e).chain(filter).for_each(|e| self.count(e));
            // What RETURNING wants of a row that is updated is what was there.
            let wanted: Vec<u32> = self.rel(shadow).uses.clone();
            for (uses, n) in self.rel_mut(*existing).uses.iter_mut().zip(wanted) {
                *uses += n;
            }
        }
        let updates = conflict.as_ref().and_then(|c| c.update.as_ref());
        let named: Vec<usize> = updates.iter().flat_map(|u| &u.set).map(|(column, _)| *column).collect();
        let events = [TriggerEvent::Insert, TriggerEvent::Update];
        let events = if updates.is_some() { &events[..] } else { &events[..1] };
        let changed_with = self.changed_with(table, events, &named);
        self.before_all(&mut returning.values, &changed_with)?;
        if target.instead().is_some() {
            self.ask_before(&mut returning, &changed_with, false)?;
        } else {
            let one = matches!(rows, Rows::One(_)) && !fires;
            let update = conflict.as_mut().and_then(|c| c.update.as_mut());
            self.ask_before(&mut returning, &changed_with, one && update.is_none())?;
            if let Some(ConflictSet { set, multiple, filter, .. }) = update.filter(|_| !one) {
                let queries = multiple.iter().map(Multiple::probe).collect();
                let asked: Vec<&mut Bound> = set.iter_mut().map(|(_, e)| e).chain(filter).collect();
                self.conflict_before(asked, queries, table)?;
            }
        }
        let calls = match &mut rows {
            // A function sees the rows stored before it is called, a query does not.
            Rows::Several(rows) if rows.iter().flatten().any(|e| self.calls_volatile(e)) => {
                self.before_changes(rows.iter_mut().flatten(), table)?;
                true
            }
            _ => false,
        };
        self.note_on("Insert", &table.name);
        let depth = self.explains.depth;
        self.explains.depth += 1;
        let single = matches!(rows, Rows::One(_));
        // One row is stored, or the statement fails.
        let certain = single && conflict.is_none() && !fires;
        let count = if certain { self.int8(1) } else { self.counter() };
        let updated: Option<Vec<usize>> = conflict
            .as_ref()
            .and_then(|c| c.update.as_ref().map(|u| u.set.iter().map(|(column, _)| *column).collect()));
        if !insert.copied {
            self.fire_statement(table, TriggerEvent::Insert, &[], TriggerTime::Before, &[])?;
        }
        if let Some(named) = &updated {
            self.fire_statement(table, TriggerEvent::Update, named, TriggerTime::Before, &[])?;
        }
        let before = std::mem::replace(&mut self.single_row, single);
        let mut waiting = Waiting::default();
        waiting.copied = insert.copied;
        waiting.own.extend(updated.map(|named| Own { table: table.id, event: TriggerEvent::Update, named }));
        if !insert.copied && target.instead().is_none() {
            waiting.own.push(Own { table: table.id, event: TriggerEvent::Insert, named: Vec::new() });
        }
        let mut seen = None;
        // A query whose rows are converted when their turn comes.
        let is_later = |query: &BoundQuery| {
            let mut pairs = query.columns.iter().zip(&given);
            pairs.any(|(from, to)| table.columns.get(*to).is_some_and(|to| from.ty != to.ty))
        };
        let converts = matches!(&rows, Rows::Query(query) if is_later(query));
        let mut each = |l: &mut Lowerer<'_>, values: &[Typed]| {
            let (checks, given) = (&checks[..], &given[..]);
            let row = Proposed { target, checks, given, values, shadow, single, certain, converts };
            l.store(&row, conflict.as_ref(), &returning, count, &mut waiting, &mut seen, sink)
        };
        match &rows {
            Rows::One(row) => {
                let mut values = Vec::with_capacity(row.len());
                for e in row {
                    values.push(Typed { reg: self.exact(e)?, ty: e.ty.clone() });
                }
                each(self, &values)?;
            }
            Rows::Several(rows) if calls => {
                for row in rows {
                    let mut values = Vec::with_capacity(row.len());
                    for e in row {
                        values.push(Typed { reg: self.exact(e)?, ty: e.ty.clone() });
                    }
                    each(self, &values)?;
                }
            }
            Rows::Several(rows) => {
                let types: Vec<Type> = given.iter().map(|c| table.columns[*c].ty.clone()).collect();
                // A list has at least one column, were it only to count its rows.
                let dummy = types.is_empty();
                let mut kinds: Vec<RegKind> = types.iter().cloned().map(RegKind::Value).collect();
                if dummy {
                    kinds.push(RegKind::Value(Type::Bool));
                }
                let list = self.coll(CollKind::List, Vec::new(), kinds);
                if dummy {
                    let yes = self.truth(true);
                    rows.iter().for_each(|_| self.emit(OpKind::Push { coll: list, values: vec![yes] }));
                } else {
                    self.push_values(list, rows, &types)?;
                }
                if dummy {
                    self.for_list(list, &[Type::Bool], &mut |l, _| each(l, &[]))?;
                } else {
                    self.for_list(list, &types, &mut each)?;
                }
            }
            Rows::Query(query) => {
                if collects {
                    let types: Vec<Type> = query.columns.iter().map(|c| c.ty.clone()).collect();
                    let kinds = types.iter().cloned().map(RegKind::Value).collect();
                    let list = self.coll(CollKind::List, Vec::new(), kinds);
                    self.emit_query(query, None, &mut |l, row| {
                        let values = row.iter().map(|t| l.exactly(t.reg, &t.ty)).collect();
                        l.emit(OpKind::Push { coll: list, values });
                        Ok(())
                    })?;
                    self.for_list(list, &types, &mut each)?;
                } else {
                    self.emit_query(query, None, &mut each)?;
                }
            }
        }
        self.end_statement(waiting)?;
        if target.instead().is_some() {
            self.fire_statement(table, TriggerEvent::Insert, &[], TriggerTime::After, &[])?;
        }
        self.single_row = before;
        self.explains.depth = depth;
        self.pop_frame();
        Ok(count)
    }

    // ---- ON CONFLICT ----

    fn bind_conflict(
        &mut self,
        level: &Names<'_>,
        target: &Target<'_>,
        alias: &str,
        on: &OnConflict,
    ) -> Result<Conflict> {
        let table = target.table;
        let unique = |i: &usize| table.indexes[*i].is_unique();
        let excludes = |i: &usize| table.indexes[*i].excludes();
        let arbiters: Vec<usize> = match &on.target {
            None => {
                if on.update.is_some() {
                    let message = "ON CONFLICT DO UPDATE requires inference specification or constraint name";
                    return Err(Error::new(SqlState::SYNTAX_ERROR, message)
                        .with_hint("For example, ON CONFLICT (column_name).")
                        .at(on.position));
                }
                (0..table.indexes.len()).filter(|i| unique(i) || excludes(i)).collect()
            }
            Some(ConflictTarget::Columns { items, predicate }) => {
                let mut named = Vec::new();
                for item in items {
                    if let IndexItem::Column(name) = item {
                        named.extend(target.found(name, on.position)?);
                    }
                }
                let reads = self.require_target(target, Privileges::SELECT);
                self.note_columns(target, &reads, named);
                let mut found: Vec<usize> = Vec::new();
                for i in (0..table.indexes.len()).filter(unique) {
                    if found.is_empty() && self.is_target(target, i, items, predicate.as_deref(), alias)? {
                        found.push(i);
                    }
                }
                if found.is_empty() {
                    let message =
                        "there is no unique or exclusion constraint matching the ON CONFLICT specification";
                    return Err(Error::new(SqlState::INVALID_COLUMN_REFERENCE, message).at(on.position));
                }
                found
            }
            Some(ConflictTarget::Constraint(name)) => {
                let named = self.named_index(target, name);
                let found = (0..table.indexes.len())
                    .filter(|i| (unique(i) || excludes(i)) && named == Some(*i))
                    .take(1)
                    .collect::<Vec<_>>();
                if found.is_empty() {
                    let message =
                        format!("constraint \"{name}\" for table \"{}\" does not exist", target.name());
                    return Err(Error::new(SqlState::UNDEFINED_OBJECT, message).at(on.position));
                }
                if on.update.is_some() && found.iter().any(excludes) {
                    let message = "ON CONFLICT DO UPDATE not supported with exclusion constraints";
                    return Err(Error::new(SqlState::WRONG_OBJECT_TYPE, message));
                }
                let reads = self.require_target(target, Privileges::SELECT);
                let keys = found.iter().flat_map(|i| &table.indexes[*i].columns).map(|c| c.index());
                self.note_columns(target, &reads, keys);
                found
            }
        };
        let arbiters = arbiters
            .into_iter()
            // A hidden row id never conflicts.
            .filter(|i| {
                let of_row_id = |c: &ColumnId| table.columns[c.index()].is_row_id();
                !table.indexes[*i].columns.iter().any(of_row_id)
            })
            .map(|i| IndexId(i as u16))
            .collect();
        let Some(update) = &on.update else { return Ok(Conflict { arbiters, update: None }) };
        let existing = self.table_rel(table.id, alias);
        self.rel_mut(existing).row_used = true;
        let excluded = self.shadow_rel(table, "excluded");
        let mut names = Names::new(level.outer, level.scope, level.ctes.clone());
        names.sources.push(self.target_source(target, existing, alias)?.0);
        let mut proposed: Source = self.target_source(target, excluded, "excluded")?.0;
        // An unqualified name means the row that is there.
        for column in &mut proposed.columns {
            column.merged = true;
        }
        names.sources.push(proposed);
        let writes = self.require_target(target, Privileges::UPDATE);
        let (set, multiple) = self.bind_set(&names, target, &update.set)?;
        self.note_columns(target, &writes, set.iter().map(|(column, _)| *column));
        let mut filter = Vec::new();
        if let Some(e) = &update.filter {
            self.outside("WHERE", |l| l.bind_condition(&names, e, "WHERE"))?.conjuncts(&mut filter);
        }
        self.require_reads(target, existing);
        self.require_reads(target, excluded);
        let checks = self.target_checks(target, existing)?;
        Ok(Conflict {
            arbiters,
            update: Some(ConflictSet { existing, excluded, set, multiple, filter, met: Vec::new(), checks }),
        })
    }

    // ---- one row ----

    /// Stores a proposed row, with everything its constraints and triggers ask for.
    #[allow(clippy::too_many_arguments)]
    pub(super) fn store(
        &mut self,
        row: &Proposed<'_>,
        conflict: Option<&Conflict>,
        returning: &Returning,
        count: Reg,
        waiting: &mut Waiting,
        seen: &mut Option<planaria_ir::Coll>,
        sink: &mut Sink<'_>,
    ) -> Result<()> {
        let table = row.target.table;
        let mut regs: Vec<Reg> = Vec::with_capacity(table.columns.len());
        let mut nullable: Vec<(usize, Reg)> = Vec::new();
        for (i, column) in table.columns.iter().enumerate() {
            let given = row.given.iter().position(|c| *c == i);
            let (reg, never_null) = match given {
                Some(at) => {
                    let value = &row.values[at];
                    let value = match row.converts && value.ty != column.ty {
                        true => self.cast(value.clone(), &column.ty, CastContext::Assignment)?,
                        false => value.reg,
                    };
                    (self.exactly(value, &column.ty), self.is_constant_value(value))
                }
                None => {
                    let e = self.target_default(row.target, i, self.position)?;
                    (self.exact(&e)?, self.never_null(&e))
                }
            };
            if column.not_null && !never_null {
                nullable.push((i, reg));
            }
            regs.push(reg);
        }
        let none: Values = vec![None; table.columns.len()];
        let proposed: Values = regs.iter().copied().map(Some).collect();
        let inserted = ChangedRow { event: TriggerEvent::Insert, named: &[], old: &none, new: &proposed };
        if row.target.instead().is_some() {
            self.asked_once(returning)?;
            return self.before_row(table, &inserted, &mut |l, new, _| {
                l.rel_mut(row.shadow).regs = new.clone();
                l.available.push(row.shadow);
                l.count_row(count, row.single);
                let done = l.give(returning, sink);
                l.available.pop();
                done
            });
        }
        if self.routes_before_triggers(table) {
            self.check_partition_named(row, &proposed)?;
            self.check_proposed(table, &proposed)?;
        }
        self.before_row(table, &inserted, &mut |l, new, assigned| {
            let (mut regs, mut nullable) = (regs.clone(), nullable.clone());
            for column in assigned {
                regs[*column] = new[*column].unwrap_or(regs[*column]);
                if table.columns[*column].not_null && !nullable.iter().any(|(c, _)| c == column) {
                    nullable.push((*column, regs[*column]));
                }
            }
            nullable.sort_unstable_by_key(|(column, _)| *column);
            l.store_row(row, regs, nullable, conflict, returning, count, waiting, seen, sink)
        })
    }

    /// Stores a row that triggers have seen.
    #[allow(clippy::too_many_arguments)]
    fn store_row(
        &mut self,
        row: &Proposed<'_>,
        mut regs: Vec<Reg>,
        mut nullable: Vec<(usize, Reg)>,
        conflict: Option<&Conflict>,
        returning: &Returning,
        count: Reg,
        waiting: &mut Waiting,
        seen: &mut Option<planaria_ir::Coll>,
        sink: &mut Sink<'_>,
    ) -> Result<()> {
        let (table, shadow) = (row.target.table, row.shadow);
        let mut values: Values = regs.iter().copied().map(Some).collect();
        let all: Vec<usize> = (0..table.columns.len()).collect();
        self.generate_row(table, &mut values, &all)?;
        let generated = |i: usize| table.columns[i].generated().is_some();
        for (i, value) in values.iter().enumerate().filter(|(i, _)| generated(*i)) {
            regs[i] = value.unwrap_or(regs[i]);
        }
        for (i, reg) in &mut nullable {
            *reg = regs[*i];
        }
        let stored: Vec<(usize, Reg)> = regs.iter().copied().enumerate().collect();
        self.check_domains(table, &stored)?;
        self.rel_mut(shadow).regs = values.clone();
        self.available.push(shadow);
        self.check_stored(shadow, &values)?;
        if !self.routes_before_triggers(table) {
            self.check_routes(table, shadow, None, &mut |_| values.clone())?;
        }
        self.check_not_null(table, &nullable, &mut |_| values.clone())?;
        self.check_row(table, shadow, None, &mut |_, _| {}, &mut |_| values.clone())?;
        let insert = |l: &mut Lowerer<'_>, waiting: &mut Waiting| -> Result<()> {
            l.asked_before(returning, table, shadow, &[])?;
            l.emit(OpKind::Insert { table: table.id, values: regs.clone(), row: None });
            l.note_stored(table, &mut |_, c| regs[c]);
            l.check_exclusions(table, &values, None, waiting)?;
            l.check_views(table, row.checks, &mut |_| values.clone())?;
            for key in l.checked_keys(table) {
                let parents: Vec<Reg> = key.columns.iter().map(|c| regs[c.index()]).collect();
                l.check_match(table, key, &parents)?;
                // As in PostgreSQL, when all rows are stored: a row's parent may come later.
                if !row.single {
                    l.parent_later(table, key, &parents, waiting);
                    continue;
                }
                let maybe_null: Vec<Reg> = key
                    .columns
                    .iter()
                    .filter(|c| !table.columns[c.index()].not_null)
                    .map(|c| regs[c.index()])
                    .collect();
                l.check_parent(table, key, &parents, &maybe_null)?;
            }
            Ok(())
        };
        let none: Values = vec![None; table.columns.len()];
        let inserted = ChangedRow { event: TriggerEvent::Insert, named: &[], old: &none, new: &values };
        match conflict {
            None => {
                insert(self, waiting)?;
                if !row.certain {
                    self.count_row(count, row.single);
                }
                self.give(returning, sink)?;
                self.after_row(table, &inserted, waiting)?;
            }
            Some(Conflict { arbiters, update: None }) => {
                self.unless_taken(table, arbiters, &regs, &mut |l| {
                    insert(l, waiting)?;
                    l.count_row(count, row.single);
                    l.give(returning, sink)?;
                    l.after_row(table, &inserted, waiting)
                })?;
            }
            Some(Conflict { arbiters, update: Some(update) }) => {
                let arbiter = arbiters[0];
                self.asked_once(returning)?;
                self.set_xmax(returning, UPDATED);
                let mut insert = |l: &mut Lowerer<'_>, waiting: &mut Waiting| {
                    insert(l, waiting)?;
                    l.set_xmax(returning, 0);
                    l.after_row(table, &inserted, waiting)
                };
                self.upsert(row, &regs, arbiter, update, waiting, seen, &mut insert, &mut |l| {
                    l.count_row(count, row.single);
                    l.give(returning, sink)
                })?;
            }
        }
        self.available.pop();
        Ok(())
    }

    /// Says of the row that is returned whether it was there before. PostgreSQL has locked it then, and `xmax` is the
    /// transaction that has.
    fn set_xmax(&mut self, returning: &Returning, xmax: i64) {
        if let Some(reg) = returning.xmax {
            let value = self.constant(planaria_base::Datum::Int(xmax), XID);
            self.copy(reg, value);
        }
    }

    /// Whether an expression is of that register.
    fn uses_register(&mut self, expressions: &mut [Bound], reg: Reg) -> bool {
        let mut uses = false;
        for e in expressions {
            self.visit(e, &mut |_, e| {
                uses |= matches!(e.kind, BoundKind::Reg(r) if r == reg);
                !uses
            });
        }
        uses
    }

    /// Whether a register is a constant's that is not NULL.
    fn is_constant_value(&self, reg: Reg) -> bool {
        self.constant_values.get(&reg.0).is_some_and(|value| !value.is_null())
    }

    fn unless_taken(
        &mut self,
        table: &Table,
        arbiters: &[IndexId],
        regs: &[Reg],
        then: &mut dyn FnMut(&mut Lowerer<'_>) -> Result<()>,
    ) -> Result<()> {
        let Some((index, rest)) = arbiters.split_first() else { return then(self) };
        let of = &table.indexes[index.index()];
        if of.check() != CheckTime::NotDeferrable {
            self.raise_no_arbiter(table, of);
            return Ok(());
        }
        let key: Vec<Reg> = of.columns.iter().map(|c| regs[c.index()]).collect();
        if of.exclusion.is_some() {
            let found = self.conflict_found(table, of, &key)?;
            return self.unless(found, |l| l.unless_taken(table, rest, regs, then));
        }
        let row = self.program.reg(RegKind::Row(table.id), None);
        let (index, mode, columns) = (*index, ReadMode::Arbiter, Vec::new());
        self.emit(OpKind::Get { table: table.id, index, key, mode, row, columns });
        let free = self.apply(Func::IsNull, vec![row], Type::Bool);
        self.when(free, |l| l.unless_taken(table, rest, regs, then))
    }

    /// 55000, where a row is proposed.
    fn raise_no_arbiter(&mut self, table: &Table, index: &planaria_catalog::Index) {
        let message =
            "ON CONFLICT does not support deferrable unique constraints/exclusion constraints as arbiters";
        let fields = ErrorFields {
            constraint: Some(index.name.clone()),
            table: Some(table.name.clone()),
            ..ErrorFields::default()
        };
        self.raise(SqlState::OBJECT_NOT_IN_PREREQUISITE_STATE, message, fields);
    }

    /// ON CONFLICT DO UPDATE: probes the arbiter, then inserts or updates.
    #[allow(clippy::too_many_arguments)]
    fn upsert(
        &mut self,
        proposed: &Proposed<'_>,
        regs: &[Reg],
        arbiter: IndexId,
        update: &ConflictSet,
        waiting: &mut Waiting,
        seen: &mut Option<planaria_ir::Coll>,
        insert: &mut dyn FnMut(&mut Lowerer<'_>, &mut Waiting) -> Result<()>,
        done: &mut dyn FnMut(&mut Lowerer<'_>) -> Result<()>,
    ) -> Result<()> {
        let (table, shadow) = (proposed.target.table, proposed.shadow);
        if table.indexes[arbiter.index()].check() != CheckTime::NotDeferrable {
            self.raise_no_arbiter(table, &table.indexes[arbiter.index()]);
            return Ok(());
        }
        let existing = update.existing;
        let key: Vec<Reg> = table.indexes[arbiter.index()].columns.iter().map(|c| regs[c.index()]).collect();
        // What the update reads besides what was asked for: referenced and checked columns.
        let set_columns: Vec<usize> = update.set.iter().map(|(c, _)| *c).collect();
        let mut extra = self.update_needs(table, &set_columns)?;
        extra.extend(self.told_by(table, &set_columns));
        for column in extra {
            self.rel_mut(existing).uses[column] += 1;
        }
        if self.stored_keys(table.id).is_some() {
            self.use_key(table, existing);
        }
        let used: Vec<usize> =
            self.rel(existing).uses.iter().enumerate().filter(|(_, n)| **n > 0).map(|(i, _)| i).collect();
        let columns =
            used.iter().map(|c| (ColumnId::from(*c), self.column_reg(existing, *c))).collect::<Vec<_>>();
        let row = self.row_reg(existing);
        let (index, mode) = (arbiter, ReadMode::Arbiter);
        self.emit(OpKind::Get { table: table.id, index, key: key.clone(), mode, row, columns });
        // The row as it is in the end, for RETURNING.
        let returned: Vec<usize> =
            self.rel(shadow).uses.iter().enumerate().filter(|(_, n)| **n > 0).map(|(i, _)| i).collect();
        let results: Vec<(usize, Reg)> =
            returned.iter().map(|c| (*c, self.temp(table.columns[*c].ty.clone()))).collect();
        for (column, reg) in &results {
            let null = self.constant(planaria_base::Datum::Null, table.columns[*column].ty.clone());
            self.copy(*reg, null);
        }
        let stored = self.temp(Type::Bool);
        let (no, yes) = (self.truth(false), self.truth(true));
        self.copy(stored, no);
        // The same row twice in one statement is an error.
        let kinds: Vec<RegKind> = table.indexes[arbiter.index()]
            .columns
            .iter()
            .map(|c| RegKind::Value(table.columns[c.index()].ty.clone()))
            .collect();
        let touched = (!proposed.single).then(|| {
            *seen.get_or_insert_with(|| {
                let decl = planaria_ir::CollDecl { kind: CollKind::Map, keys: kinds, values: Vec::new() };
                self.program.coll(decl)
            })
        });
        if let Some(coll) = touched {
            self.at_frame(0, |l| {
                l.emit(OpKind::Clear { coll });
                Ok(())
            })?;
        }
        let mark = |l: &mut Lowerer<'_>| {
            if let Some(coll) = touched {
                l.emit(OpKind::MapPut { coll, keys: key.clone(), values: Vec::new() });
            }
        };
        let free = self.apply(Func::IsNull, vec![row], Type::Bool);
        let then = self.block(|l| {
            insert(l, waiting)?;
            mark(l);
            for (column, reg) in &results {
                l.copy(*reg, regs[*column]);
            }
            l.copy(stored, yes);
            Ok(())
        })?;
        self.rel_mut(update.excluded).regs = regs.iter().copied().map(Some).collect();
        let otherwise = self.block(|l| {
            if let Some(coll) = touched {
                l.raise_second_time(coll, key.clone())?;
            }
            l.check_not_stored(table, existing)?;
            l.with_rels(&[existing, update.excluded], &mut |l| {
                l.filtered(&update.filter, &mut |l| {
                    l.check_policies(&update.met)?;
                    let set = l.new_values(&update.set, &update.multiple)?;
                    // What triggers make of the row counts, where there are any.
                    let named: Vec<usize> = set.iter().map(|(c, ..)| *c).collect();
                    match l.told_by_triggers(table, &named) {
                        true => l.upserting = true,
                        false => l.check_upsert_stays(table, existing, &set)?,
                    }
                    l.change_row(table, existing, &set, waiting, &mut |l, new| {
                        mark(l);
                        l.note_stored(table, &mut |l, c| new[c].unwrap_or_else(|| l.column_reg(existing, c)));
                        if !update.checks.is_empty() {
                            let old = l.rel(existing).regs.clone();
                            for (reg, new) in l.rel_mut(existing).regs.iter_mut().zip(new) {
                                *reg = new.or(*reg);
                            }
                            let done = l.check_changed(table, existing, &update.checks, new);
                            l.rel_mut(existing).regs = old;
                            done?;
                        }
                        for (column, reg) in &results {
                            let src = match new[*column] {
                                Some(new) => new,
                                None => l.column_reg(existing, *column),
                            };
                            l.copy(*reg, src);
                        }
                        l.copy(stored, yes);
                        Ok(())
                    })
                })
            })
        })?;
        self.emit(OpKind::If { cond: free, then, otherwise });
        let mut row: Values = regs.iter().copied().map(Some).collect();
        for (column, reg) in &results {
            row[*column] = Some(*reg);
        }
        self.rel_mut(shadow).regs = row;
        self.when(stored, |l| done(l))
    }
}
