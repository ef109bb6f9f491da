//! UPDATE.
//!
//! Rows are changed as they are found where that is safe: a point read, or a scan by an index none of whose
//! columns is set, with nothing else in the statement reading the table. Otherwise (the Halloween
//! problem) the rows and their new values are collected first. With FROM, a row that joins several times is
//! changed once.
//!
//! Users' volatile functions see what the statement has changed so far. So where they are called, rows are collected
//! by the other conditions, and these functions called for one row after the other, each before its row is changed.

use super::Lowerer;
use super::bound::{Bound, BoundKind, BoundQuery, Item, RelId, RelKind};
use super::constraint::Values;
use super::instead::InsteadOf;
use super::names::Names;
use super::plan::{JoinPlan, Source};
use super::referential::Waiting;
use super::trigger::{ChangedRow, Own, seen_by_triggers};
use super::updatable::{Target, ViewCheck};
use super::{Scope, Sink};
use planaria_base::{ColumnId, Error, Result, SqlState, TableId, Type};
use planaria_catalog::{ColumnDefault, PolicyCommand, ROWS_TOLD, Table, TriggerEvent, TriggerTime};
use planaria_ir::{CollDecl, CollKind, ErrorFields, Func, OpKind, Output, Reg, RegKind};
use planaria_syntax::ast::{Assignment, ExprKind, Name, PUT, PUT_FIELD, PUT_SLICE, Update};

/// A subquery that gives several columns of SET; its values are in these registers.
pub(super) struct Multiple {
    query: BoundQuery,
    regs: Vec<Reg>,
}

impl Multiple {
    /// An expression that asks what the subquery asks.
    pub(super) fn probe(&self) -> Bound {
        Bound::new(BoundKind::Exists(Box::new(self.query.clone())), Type::Bool, 0)
    }
}

/// How the rows of the target are found.
struct Found<'a> {
    table: &'a Table,
    target: RelId,
    items: &'a [Item],
    plan: &'a JoinPlan,
    /// Each at most once.
    single_each: bool,
}

impl Lowerer<'_> {
    pub(super) fn describe_update(&mut self, scope: &Scope, update: &Update) -> Result<Vec<Output>> {
        let changed = self.target(&update.table, "update")?;
        if let Some(view) = changed.instead() {
            return self.describe_instead(scope, view, &InsteadOf::update(update));
        }
        let table = changed.table;
        let alias = update.alias.as_deref().unwrap_or(changed.name());
        let mut level = Names::of(scope);
        self.bind_with(&mut level, &update.with, update.recursive)?;
        let target = self.table_rel(table.id, alias);
        level.sources.push(self.target_source(&changed, target, alias)?.0);
        self.outside("FROM", |l| l.bind_from(&mut level, &update.from))?;
        Ok(self.bind_returning(&level, &update.returning)?.outputs)
    }

    pub(super) fn emit_update(&mut self, scope: &Scope, update: &Update, sink: &mut Sink<'_>) -> Result<Reg> {
        if update.only {
            self.refuse_only(&update.table)?;
        }
        let changed = self.target(&update.table, "update")?;
        if let Some(view) = changed.instead() {
            return self.emit_instead(scope, view, &InsteadOf::update(update), &changed.writes, sink);
        }
        let outer = std::mem::replace(&mut self.within, changed.partition());
        let done = self.emit_update_of(scope, update, &changed, sink);
        self.within = outer;
        done
    }

    fn emit_update_of(
        &mut self,
        scope: &Scope,
        update: &Update,
        changed: &Target<'_>,
        sink: &mut Sink<'_>,
    ) -> Result<Reg> {
        let table = changed.table;
        let alias = update.alias.as_deref().unwrap_or(changed.name()).to_owned();
        let mut level = Names::of(scope);
        self.push_frame();
        self.bind_with(&mut level, &update.with, update.recursive)?;
        let target = self.table_rel(table.id, &alias);
        self.rel_mut(target).row_used = true;
        let (source, mut seen) = self.target_source(changed, target, &alias)?;
        level.sources.push(source);
        let (from, mut filter, _) = self.outside("FROM", |l| l.bind_from(&mut level, &update.from))?;
        let mut items = vec![Item::Rel(target)];
        items.extend(from);
        self.per_row(&mut seen, &items);
        filter.extend(seen);
        if let Some(e) = &update.filter {
            super::dml::refuse_current_of(e)?;
            let mut conditions = Vec::new();
            self.outside("WHERE", |l| l.bind_condition(&level, e, "WHERE"))?.conjuncts(&mut conditions);
            self.per_row(&mut conditions, &items);
            filter.extend(conditions);
        }
        self.push_down(&items, &mut filter)?;
        let (mut set, mut multiple) = self.bind_set(&level, changed, &update.set)?;
        self.note_columns(changed, &changed.writes, set.iter().map(|(column, _)| *column));
        let mut returning = self.bind_returning(&level, &update.returning)?;
        self.require_reads(changed, target);
        filter.extend(self.changeable_rows(changed, target, PolicyCommand::Update)?);
        self.read_as_before(&items, Some(target), &mut filter)?;
        filter.extend(self.not_changed_before(table, target));
        let checks = self.target_checks(changed, target)?;
        // Uses of columns.
        filter.iter_mut().chain(set.iter_mut().map(|(_, e)| e)).for_each(|e| self.count(e));
        multiple.iter_mut().for_each(|m| self.count_multiple(m));
        self.count_items(&items);
        self.count_returning(&mut returning);
        let columns: Vec<usize> = set.iter().map(|(c, _)| *c).collect();
        let named = columns.clone();
        let columns = self.with_generated(table, &self.with_assigned(table, &columns))?;
        for column in self.update_needs(table, &named)? {
            self.rel_mut(target).uses[column] += 1;
        }
        let distinct = !update.from.is_empty();
        if distinct || self.stored_keys(table.id).is_some() {
            self.use_key(table, target);
        }
        let moves = self.may_move(table, &named);
        let events = [TriggerEvent::Update, TriggerEvent::Delete, TriggerEvent::Insert];
        let events = if moves { &events[..] } else { &events[..1] };
        let changed_with = self.changed_with(table, events, &columns);
        self.before_all(&mut returning.values, &changed_with)?;
        let mut calling: Vec<&mut Bound> = filter.iter_mut().chain(set.iter_mut().map(|(_, e)| e)).collect();
        calling.retain(|e| self.calls_volatile(e));
        self.before_changes(calling, table)?;
        let values: Vec<Bound> = set.iter().map(|(_, e)| e.clone()).collect();
        let reads = self.statement_reads(table, &items, target, &filter, &values, &multiple);
        let called = self.calls_of(&mut filter, table.id);
        let fires = moves || self.fires_before(table, TriggerEvent::Update, &named);
        let by_row = fires || !called.is_empty() || self.new_values_call(&values, &multiple);
        let plan = self.plan_group(&items, &filter, &[])?;
        let generates = table.columns.iter().any(|c| c.generated().is_some());
        self.ask_before(&mut returning, &changed_with, plan.single && !fires && !generates)?;
        let single_each = once_each(&plan, target);
        let in_place = !reads
            && (!by_row || plan.single)
            && single_each
            && self.keeps_its_path(table, &plan, target, &columns);
        self.note_on("Update", &table.name);
        let depth = self.explains.depth;
        self.explains.depth += 1;
        let count = self.counter();
        self.fire_statement(table, TriggerEvent::Update, &named, TriggerTime::Before, &[])?;
        let before = std::mem::replace(&mut self.single_row, plan.single);
        let mut waiting = Waiting::default();
        waiting.own.push(Own { table: table.id, event: TriggerEvent::Update, named });
        let mut apply = |l: &mut Lowerer<'_>, set: &[(usize, Reg, bool)]| {
            l.asked_before(&returning, table, target, set)?;
            l.change_row(table, target, set, &mut waiting, &mut |l, new| {
                l.count_row(count, plan.single);
                l.note_stored(table, &mut |l, c| new[c].unwrap_or_else(|| l.column_reg(target, c)));
                if returning.values.is_empty() && checks.is_empty() {
                    return Ok(());
                }
                // RETURNING and CHECK OPTION see the new values.
                let old = l.rel(target).regs.clone();
                for (reg, new) in l.rel_mut(target).regs.iter_mut().zip(new) {
                    if new.is_some() {
                        *reg = *new;
                    }
                }
                let done =
                    l.check_changed(table, target, &checks, new).and_then(|()| l.give(&returning, sink));
                l.rel_mut(target).regs = old;
                done
            })
        };
        if in_place {
            self.emit_plan(&plan, &mut |l| {
                l.filtered(&called, &mut |l| {
                    let set = l.new_values(&set, &multiple)?;
                    apply(l, &set)
                })
            })?;
        } else if by_row {
            let found = Found { table, target, items: &items, plan: &plan, single_each };
            self.by_row(&found, &called, &set, &multiple, &mut apply)?;
        } else {
            self.collected(
                table,
                target,
                &items,
                &plan,
                (!single_each).then_some(()),
                &set,
                &multiple,
                &mut apply,
            )?;
        }
        self.end_statement(waiting)?;
        self.single_row = before;
        self.explains.depth = depth;
        self.pop_frame();
        Ok(count)
    }

    /// Columns that changing these columns needs besides: of keys that others refer to, of checks and
    /// foreign keys that a changed column takes part in.
    pub(super) fn update_needs(&mut self, table: &Table, changed: &[usize]) -> Result<Vec<usize>> {
        let fires = self.may_move(table, changed) || self.fires_at_rows(table, TriggerEvent::Update, changed);
        let changed = &self.with_assigned(table, changed)[..];
        let assigned = changed;
        let changed = &self.with_generated(table, changed)?[..];
        let mut needs = self.generated_reads(table, changed)?;
        needs.retain(|c| !assigned.contains(c));
        for (_, key) in self.catalog.references_to(table.id) {
            if key.parent_columns.iter().any(|c| changed.contains(&c.index())) {
                needs.extend(key.parent_columns.iter().map(|c| c.index()));
            }
        }
        for key in &table.foreign_keys {
            if key.columns.iter().any(|c| changed.contains(&c.index())) {
                let all = self.form >= ROWS_TOLD;
                needs.extend(key.columns.iter().map(|c| c.index()).filter(|c| all || !changed.contains(c)));
            }
        }
        needs.extend(super::exclusion::needs(table, changed).into_iter().filter(|c| !changed.contains(c)));
        for check in &table.checks {
            let shadow = self.shadow_rel(table, &table.name);
            let scope = Scope::new();
            let mut names = Names::of(&scope);
            names.sources.push(self.shadow_source(table, shadow, &table.name));
            let e = self.bind_text_in(&names, &check.expression, self.position)?;
            let used: Vec<usize> =
                self.columns_of(&e).into_iter().filter(|(r, _)| *r == shadow).map(|(_, c)| c).collect();
            if used.iter().any(|c| changed.contains(c)) || self.asks_always(check) || self.is_volatile(&e) {
                needs.extend(used.into_iter().filter(|c| !changed.contains(c)));
            }
        }
        needs.extend(self.rule_needs(table, changed)?);
        if fires {
            needs.extend(seen_by_triggers(table));
        }
        needs.sort_unstable();
        needs.dedup();
        Ok(needs)
    }

    /// The primary key of the target is needed to tell its rows apart.
    pub(super) fn use_key(&mut self, table: &Table, target: RelId) {
        for column in &table.indexes[0].columns {
            self.rel_mut(target).uses[column.index()] += 1;
        }
    }

    /// Counts the uses of columns inside FROM items.
    pub(super) fn count_items(&mut self, items: &[Item]) {
        let select = super::bound::BoundSelect {
            from: items.to_vec(),
            filter: Vec::new(),
            grouping: None,
            windows: None,
            outputs: Vec::new(),
            visible: 0,
            distinct: super::bound::Distinct::No,
            apart: None,
        };
        let mut query = BoundQuery::plain(super::bound::Body::Select(Box::new(select)), Vec::new());
        self.count_query(&mut query, &[]);
    }

    /// Whether anything in the statement but its target reads the table.
    pub(super) fn statement_reads(
        &mut self,
        table: &Table,
        items: &[Item],
        target: RelId,
        filter: &[Bound],
        values: &[Bound],
        multiple: &[Multiple],
    ) -> bool {
        let mut probes: Vec<Bound> = filter.iter().chain(values).cloned().collect();
        probes.extend(multiple.iter().map(Multiple::probe));
        if probes.iter().any(|e| self.reads_table(e, table.id)) || self.refers_to_itself(table) {
            return true;
        }
        self.rels_of(items).into_iter().filter(|r| *r != target).any(|r| match self.rel(r).kind.clone() {
            RelKind::Table(t) => t == table.id,
            RelKind::Query(q) => {
                let probe = Bound::new(BoundKind::Exists(q), Type::Bool, 0);
                self.reads_table(&probe, table.id)
            }
            RelKind::Row(_) | RelKind::Series { .. } | RelKind::Unnest { .. } | RelKind::System(_) => false,
            _ => true,
        })
    }

    /// Whether changing these columns leaves the index alone by which the target is found.
    fn keeps_its_path(&self, table: &Table, plan: &JoinPlan, target: RelId, changed: &[usize]) -> bool {
        plan.steps.iter().all(|step| match &step.source {
            Source::Access { rel, path } if *rel == target => {
                if path.is_get() {
                    return true;
                }
                let primary = &table.indexes[0].columns;
                let index = &table.indexes[path.index.index()].columns;
                !index.iter().chain(primary).any(|c| changed.contains(&c.index()))
            }
            _ => true,
        })
    }

    /// Binds SET: new values by column, and subqueries that give several.
    pub(super) fn bind_set(
        &mut self,
        names: &Names<'_>,
        target: &Target<'_>,
        assignments: &[Assignment],
    ) -> Result<(Vec<(usize, Bound)>, Vec<Multiple>)> {
        let table = target.table;
        let mut set: Vec<(usize, Bound)> = Vec::new();
        let mut multiple = Vec::new();
        // As in PostgreSQL, what is wrong with the values is told of before columns that are not there.
        let mut named = assignments.iter().flat_map(|a| &a.columns);
        if let Some(error) = named.find_map(|(name, position)| target.found(name, *position).err()) {
            for value in assignments.iter().filter_map(|a| a.value.as_ref()) {
                match &value.kind {
                    // What becomes of a column whose part is set, which is not there.
                    ExprKind::Call(call) if is_put(&call.name) => {}
                    ExprKind::Row(fields) => {
                        for e in fields {
                            self.outside("UPDATE", |l| l.bind(names, e))?;
                        }
                    }
                    ExprKind::Subquery(query) => {
                        self.outside("UPDATE", |l| l.bind_query(names, query))?;
                    }
                    _ => {
                        self.outside("UPDATE", |l| l.bind(names, value))?;
                    }
                }
            }
            return Err(error);
        }
        for assignment in assignments {
            let mut columns = Vec::with_capacity(assignment.columns.len());
            for (name, position) in &assignment.columns {
                let column = target.column(name, *position)?;
                if set.iter().any(|(c, _)| *c == column) || columns.iter().any(|(c, _)| *c == column) {
                    let again =
                        assignments.iter().flat_map(|a| &a.columns).filter(|(n, _)| n == name).count() > 1;
                    let name = if again { name } else { &table.columns[column].name };
                    let message = format!("multiple assignments to same column \"{name}\"");
                    return Err(Error::new(SqlState::SYNTAX_ERROR, message).at(*position));
                }
                columns.push((column, *position));
            }
            let Some(value) = &assignment.value else {
                for (column, position) in columns {
                    set.push((column, self.update_default(target, column, position)?));
                }
                continue;
            };
            let values: Vec<Bound> = match (&columns[..], &value.kind) {
                ([_], ExprKind::Row(fields)) if fields.len() == 1 => {
                    vec![self.outside("UPDATE", |l| l.bind(names, &fields[0]))?]
                }
                ([_], _) => vec![self.outside("UPDATE", |l| l.bind(names, value))?],
                (_, ExprKind::Row(fields)) => {
                    let fields = self.outside("UPDATE", |l| l.spread(names, fields))?;
                    let bind = |l: &mut Self, e| l.outside("UPDATE", |l| l.bind(names, e));
                    fields.iter().map(|e| bind(self, e)).collect::<Result<_>>()?
                }
                (_, ExprKind::Subquery(query)) => {
                    let query = self.outside("UPDATE", |l| l.bind_query(names, query))?;
                    let regs: Vec<Reg> = query.columns.iter().map(|c| self.temp(c.ty.clone())).collect();
                    let values = query
                        .columns
                        .iter()
                        .zip(&regs)
                        .map(|(c, r)| Bound::new(BoundKind::Reg(*r), c.ty.clone(), value.position))
                        .collect();
                    multiple.push(Multiple { query, regs });
                    values
                }
                _ => {
                    let message =
                        "source for a multiple-column UPDATE item must be a sub-SELECT or ROW() expression";
                    return Err(Error::new(SqlState::FEATURE_NOT_SUPPORTED, message)
                        .with_hint("Write the values in parentheses.")
                        .at(value.position));
                }
            };
            if values.len() != columns.len() {
                let message = "number of columns does not match number of values";
                return Err(Error::new(SqlState::SYNTAX_ERROR, message).at(value.position));
            }
            for ((column, _), value) in columns.into_iter().zip(values) {
                if table.columns[column].generated().is_some() {
                    let name = &table.columns[column].name;
                    return Err(super::generated::cannot_be_given(name, false));
                }
                if matches!(table.columns[column].default, ColumnDefault::Identity { always: true, .. }) {
                    let name = &table.columns[column].name;
                    let message = format!("column \"{name}\" can only be updated to DEFAULT");
                    return Err(Error::new(SqlState::GENERATED_ALWAYS, message).with_detail(format!(
                        "Column \"{name}\" is an identity column defined as GENERATED ALWAYS."
                    )));
                }
                set.push((column, self.assign(value, target, column)?));
            }
        }
        Ok((set, multiple))
    }

    /// CHECK OPTION over the row of `target` as it is now; the columns in `new` were set.
    pub(super) fn check_changed(
        &mut self,
        table: &Table,
        target: RelId,
        checks: &[ViewCheck],
        new: &Values,
    ) -> Result<()> {
        let row = self.row_reg(target);
        let set: Vec<(ColumnId, Reg)> =
            new.iter().enumerate().filter_map(|(c, r)| r.map(|r| (ColumnId::from(c), r))).collect();
        self.check_views(table, checks, &mut |l| l.loaded_row(table, row, &set))
    }

    /// Counts the uses of columns in a subquery that gives several values.
    pub(super) fn count_multiple(&mut self, m: &mut Multiple) {
        let needed = vec![true; m.query.columns.len()];
        self.count_query(&mut m.query, &needed);
    }

    /// Evaluates SET for the present row.
    pub(super) fn new_values(
        &mut self,
        set: &[(usize, Bound)],
        multiple: &[Multiple],
    ) -> Result<Vec<(usize, Reg, bool)>> {
        for m in multiple {
            let (seen, no, yes) = (self.temp(Type::Bool), self.truth(false), self.truth(true));
            let mut start = vec![(seen, no)];
            for (reg, column) in m.regs.iter().zip(&m.query.columns) {
                start.push((*reg, self.constant(planaria_base::Datum::Null, column.ty.clone())));
            }
            self.once(&m.query, &start, &mut |l| {
                l.emit_query(&m.query, Some(2), &mut |l, row| {
                    if !l.at_most_one_row() {
                        l.when(seen, |l| {
                            let message = "more than one row returned by a subquery used as an expression";
                            l.raise(SqlState::CARDINALITY_VIOLATION, message, ErrorFields::default());
                            Ok(())
                        })?;
                        l.copy(seen, yes);
                    }
                    for (reg, value) in m.regs.iter().zip(row) {
                        let src = l.exactly(value.reg, &value.ty);
                        l.copy(*reg, src);
                    }
                    Ok(())
                })
            })?;
        }
        let mut values = Vec::with_capacity(set.len());
        for (column, e) in set {
            values.push((*column, self.exact(e)?, self.never_null(e)));
        }
        Ok(values)
    }

    /// Changes the present row of `target`, with everything its constraints and triggers ask for; then, unless a trigger
    /// has left the row alone, `then` with the new values by column.
    pub(super) fn change_row(
        &mut self,
        table: &Table,
        target: RelId,
        set: &[(usize, Reg, bool)],
        waiting: &mut Waiting,
        then: &mut dyn FnMut(&mut Lowerer<'_>, &Values) -> Result<()>,
    ) -> Result<()> {
        let named: Vec<usize> = set.iter().map(|(c, ..)| *c).collect();
        let upserting = std::mem::take(&mut self.upserting);
        let moves = self.may_move(table, &named);
        if !moves && !self.fires_at_rows(table, TriggerEvent::Update, &named) {
            let (new, _) = self.store_change(table, target, &named, set, waiting)?;
            return then(self, &new);
        }
        let old = self.row_values(target, &seen_by_triggers(table));
        let mut proposed = old.clone();
        for (column, reg, _) in set {
            proposed[*column] = Some(self.exactly(*reg, &table.columns[*column].ty));
        }
        let changed = ChangedRow { event: TriggerEvent::Update, named: &named, old: &old, new: &proposed };
        self.before_row(table, &changed, &mut |l, row, assigned| {
            l.check_untouched(table, &changed, target)?;
            let mut set = set.to_vec();
            set.retain(|(c, ..)| !assigned.contains(c));
            for column in assigned {
                let reg = row[*column].ok_or_else(|| Error::internal("a trigger's column was not loaded"))?;
                set.push((*column, reg, false));
            }
            if upserting {
                l.check_upsert_stays(table, target, &set)?;
            }
            if moves {
                return l.store_moving(table, target, &named, (&old, row), &set, waiting, then);
            }
            let (new, merged) = l.store_change(table, target, &named, &set, waiting)?;
            then(l, &new)?;
            let changed = ChangedRow { event: TriggerEvent::Update, named: &named, old: &old, new: &merged };
            l.after_row(table, &changed, waiting)
        })
    }

    /// Changes the present row of `target`, with everything its constraints ask for. Answers with the new values by
    /// column, and with those of the row where they are known. `statement`: the columns that the statement sets.
    pub(super) fn store_change(
        &mut self,
        table: &Table,
        target: RelId,
        statement: &[usize],
        set: &[(usize, Reg, bool)],
        waiting: &mut Waiting,
    ) -> Result<(Values, Values)> {
        let row = self.row_reg(target);
        let mut new: Values = vec![None; table.columns.len()];
        let mut ops = Vec::with_capacity(set.len());
        let mut nullable = Vec::new();
        // What is given for a generated column is DEFAULT: it is computed.
        let given = |c: &usize| table.columns[*c].generated().is_none();
        for (column, reg, never_null) in set.iter().filter(|(c, ..)| given(c)) {
            let reg = self.exactly(*reg, &table.columns[*column].ty);
            new[*column] = Some(reg);
            ops.push((ColumnId::from(*column), reg));
            if table.columns[*column].not_null && !never_null {
                nullable.push((*column, reg));
            }
        }
        let stored: Vec<(usize, Reg)> = ops.iter().map(|(c, reg)| (c.index(), *reg)).collect();
        self.check_domains(table, &stored)?;
        let named: Vec<usize> = set.iter().map(|(c, ..)| *c).collect();
        let changed = self.with_generated(table, &named)?;
        let mut old: Values = vec![None; table.columns.len()];
        let mut merged = new.clone();
        for column in self.update_needs(table, statement)? {
            let reg = self.column_reg(target, column);
            old[column] = Some(reg);
            merged[column].get_or_insert(reg);
        }
        let computed: Vec<usize> = changed.iter().copied().filter(|c| !given(c)).collect();
        self.generate_row(table, &mut merged, &computed)?;
        for column in &computed {
            let reg =
                merged[*column].ok_or_else(|| Error::internal("a generated column was not computed"))?;
            new[*column] = Some(reg);
            ops.push((ColumnId::from(*column), reg));
            if table.columns[*column].not_null {
                nullable.push((*column, reg));
            }
        }
        self.check_stored(target, &new)?;
        if !table.row_rules().is_empty() {
            let shadow = self.shadow_rel(table, &table.name);
            self.rel_mut(shadow).regs = merged.clone();
            self.available.push(shadow);
            self.check_routes(table, shadow, Some(&changed), &mut |l| l.loaded_row(table, row, &ops))?;
            self.available.pop();
        }
        self.check_not_null(table, &nullable, &mut |l| l.loaded_row(table, row, &ops))?;
        if !table.checks.is_empty() || !table.row_rules().is_empty() {
            let shadow = self.shadow_rel(table, &table.name);
            self.rel_mut(shadow).regs = merged.clone();
            self.available.push(shadow);
            self.check_row(table, shadow, Some(&changed), &mut |_, _| {}, &mut |l| {
                l.loaded_row(table, row, &ops)
            })?;
            self.available.pop();
        }
        self.emit(OpKind::Update { table: table.id, row, set: ops });
        self.check_exclusions(table, &merged, Some(&changed), waiting)?;
        let wait = self.keys_wait(table, &changed, waiting);
        for key in self.checked_keys(table) {
            if !key.columns.iter().any(|c| changed.contains(&c.index())) {
                continue;
            }
            let values: Vec<Reg> = key
                .columns
                .iter()
                .map(|c| merged[c.index()].ok_or_else(|| Error::internal("a key column was not loaded")))
                .collect::<Result<_>>()?;
            self.check_match(table, key, &values)?;
            if wait || key.parent == table.id {
                self.parent_later(table, key, &values, waiting);
                continue;
            }
            // A row that keeps its key is as good as it was.
            let kept: Option<Vec<Reg>> = key.columns.iter().map(|c| old[c.index()]).collect();
            if let Some(kept) = kept.filter(|_| self.form >= ROWS_TOLD) {
                let mut same = self.truth(true);
                for (was, is) in kept.into_iter().zip(&values) {
                    let one = self.apply(Func::NotDistinct, vec![was, *is], Type::Bool);
                    same = self.apply(Func::And, vec![same, one], Type::Bool);
                }
                let check = self.block(|l| l.check_parent(table, key, &values, &values))?;
                self.emit(OpKind::If { cond: same, then: Default::default(), otherwise: check });
                continue;
            }
            let maybe_null: Vec<Reg> = key
                .columns
                .iter()
                .zip(&values)
                .filter(|(c, _)| !table.columns[c.index()].not_null)
                .map(|(_, r)| *r)
                .collect();
            self.check_parent(table, key, &values, &maybe_null)?;
        }
        self.row_updated(table.id, &changed, &old, &merged, waiting)?;
        Ok((new, merged))
    }

    /// Finds all rows with their new values first, then changes them.
    #[allow(clippy::too_many_arguments)]
    fn collected(
        &mut self,
        table: &Table,
        target: RelId,
        items: &[Item],
        plan: &JoinPlan,
        repeated: Option<()>,
        set: &[(usize, Bound)],
        multiple: &[Multiple],
        apply: &mut dyn FnMut(&mut Lowerer<'_>, &[(usize, Reg, bool)]) -> Result<()>,
    ) -> Result<()> {
        let rels = self.rels_of(items);
        let carried = self.carried(&rels);
        let mut kinds: Vec<RegKind> =
            set.iter().map(|(c, _)| RegKind::Value(table.columns[*c].ty.clone())).collect();
        let width = kinds.len();
        kinds.extend(carried.iter().map(|c| c.kind.clone()));
        let keys: Vec<usize> = table.indexes[0].columns.iter().map(|c| c.index()).collect();
        let key_kinds: Vec<RegKind> =
            keys.iter().map(|c| RegKind::Value(table.columns[*c].ty.clone())).collect();
        let coll = match repeated {
            Some(()) => self.coll(CollKind::Map, key_kinds.clone(), kinds.clone()),
            None => self.coll(CollKind::List, Vec::new(), kinds.clone()),
        };
        self.emit_plan(plan, &mut |l| {
            let put = |l: &mut Lowerer<'_>| -> Result<Vec<Reg>> {
                let mut values: Vec<Reg> =
                    l.new_values(set, multiple)?.into_iter().map(|(_, r, _)| r).collect();
                values.extend(l.carried_regs(&carried));
                Ok(values)
            };
            if repeated.is_none() {
                let values = put(l)?;
                l.emit(OpKind::Push { coll, values });
                return Ok(());
            }
            let key: Vec<Reg> = keys.iter().map(|c| l.column_reg(target, *c)).collect();
            l.unless_seen(target, &keys, &mut |l| {
                let values = put(l)?;
                l.emit(OpKind::MapPut { coll, keys: key.clone(), values });
                Ok(())
            })
        })?;
        let mut columns: Vec<Reg> = Vec::new();
        if repeated.is_some() {
            columns.extend(key_kinds.iter().map(|k| self.program.reg(k.clone(), None)));
        }
        let values: Vec<Reg> = kinds[..width].iter().map(|k| self.program.reg(k.clone(), None)).collect();
        columns.extend(&values);
        columns.extend(self.renew(&carried));
        let set: Vec<(usize, Reg, bool)> =
            set.iter().zip(&values).map(|((c, e), r)| (*c, *r, self.never_null(e))).collect();
        let label = self.label();
        let body = self.block(|l| l.with_rels(&rels, &mut |l| apply(l, &set)))?;
        self.emit(OpKind::ForEach { coll, columns, entry: None, label, body });
        Ok(())
    }

    /// The conditions that call users' volatile functions, taken out of a filter. One that reads the changed table
    /// itself stays: it is to see the rows as they were.
    pub(super) fn calls_of(&mut self, filter: &mut Vec<Bound>, table: TableId) -> Vec<Bound> {
        let (calls, others) = std::mem::take(filter).into_iter().partition(|e| {
            !matches!(e.kind, BoundKind::Secured(_)) && self.calls_volatile(e) && !self.reads_table(e, table)
        });
        *filter = others;
        calls
    }

    /// Whether SET calls users' volatile functions.
    fn new_values_call(&mut self, values: &[Bound], multiple: &[Multiple]) -> bool {
        let queries: Vec<Bound> = multiple.iter().map(Multiple::probe).collect();
        values.iter().chain(&queries).any(|e| self.calls_volatile(e))
    }

    /// Finds all rows first; then, for each, calls functions, computes new values, changes it. New values that read
    /// the table are computed as the row is found.
    fn by_row(
        &mut self,
        found: &Found<'_>,
        called: &[Bound],
        set: &[(usize, Bound)],
        multiple: &[Multiple],
        apply: &mut dyn FnMut(&mut Lowerer<'_>, &[(usize, Reg, bool)]) -> Result<()>,
    ) -> Result<()> {
        let Found { table, target, .. } = *found;
        let rels = self.rels_of(found.items);
        let carried = self.carried(&rels);
        // Subqueries that give several columns are computed where the values that come of them are.
        let early_queries = multiple.iter().any(|m| self.reads_table(&m.probe(), table.id));
        let is_early = |l: &mut Self, e: &Bound| {
            let mut early = l.reads_table(e, table.id);
            l.visit(&mut e.clone(), &mut |_, e| {
                let given = |r: &Reg| multiple.iter().any(|m| m.regs.contains(r));
                early |= early_queries && matches!(&e.kind, BoundKind::Reg(r) if given(r));
                true
            });
            early
        };
        let (early, late): (Vec<_>, Vec<_>) = set.iter().cloned().partition(|(_, e)| is_early(self, e));
        let (early_multiple, late_multiple): (&[Multiple], &[Multiple]) =
            if early_queries { (multiple, &[]) } else { (&[], multiple) };
        let mut kinds: Vec<RegKind> =
            early.iter().map(|(c, _)| RegKind::Value(table.columns[*c].ty.clone())).collect();
        let width = kinds.len();
        kinds.extend(carried.iter().map(|c| c.kind.clone()));
        let coll = self.coll(CollKind::List, Vec::new(), kinds.clone());
        self.emit_plan(found.plan, &mut |l| {
            let mut values: Vec<Reg> =
                l.new_values(&early, early_multiple)?.into_iter().map(|(_, r, _)| r).collect();
            values.extend(l.carried_regs(&carried));
            l.emit(OpKind::Push { coll, values });
            Ok(())
        })?;
        let values: Vec<Reg> = kinds[..width].iter().map(|k| self.program.reg(k.clone(), None)).collect();
        let mut columns = values.clone();
        columns.extend(self.renew(&carried));
        let early: Vec<(usize, Reg, bool)> =
            early.iter().zip(&values).map(|((c, e), r)| (*c, *r, self.never_null(e))).collect();
        let keys: Vec<usize> = table.indexes[0].columns.iter().map(|c| c.index()).collect();
        let label = self.label();
        let body = self.block(|l| {
            l.with_rels(&rels, &mut |l| {
                l.filtered(called, &mut |l| {
                    let mut set = l.new_values(&late, late_multiple)?;
                    set.extend(&early);
                    if found.single_each {
                        return apply(l, &set);
                    }
                    l.unless_seen(target, &keys, &mut |l| apply(l, &set))
                })
            })
        })?;
        self.emit(OpKind::ForEach { coll, columns, entry: None, label, body });
        Ok(())
    }

    /// Does what is to be done once for each row of the target, by its primary key.
    pub(super) fn unless_seen(
        &mut self,
        target: RelId,
        keys: &[usize],
        then: &mut dyn FnMut(&mut Lowerer<'_>) -> Result<()>,
    ) -> Result<()> {
        let kind = |c: &usize| RegKind::Value(self.rel(target).columns[*c].1.clone());
        let kinds: Vec<RegKind> = keys.iter().map(kind).collect();
        let key: Vec<Reg> = keys.iter().map(|c| self.column_reg(target, *c)).collect();
        // Emptied where the statement begins.
        let seen = self.program.coll(CollDecl { kind: CollKind::Map, keys: kinds, values: Vec::new() });
        self.at_frame(0, |l| {
            l.emit(OpKind::Clear { coll: seen });
            Ok(())
        })?;
        let found = self.temp(Type::Bool);
        self.emit(OpKind::MapGet { coll: seen, keys: key.clone(), found, values: Vec::new() });
        self.unless(found, |l| {
            l.emit(OpKind::MapPut { coll: seen, keys: key, values: Vec::new() });
            then(l)
        })
    }
}

/// Whether a function makes of a column what it becomes where a part of it is set.
fn is_put(name: &Name) -> bool {
    matches!(&name.parts[..], [name] if [PUT, PUT_FIELD, PUT_SLICE].contains(&name.as_str()))
}

/// Whether each row of the target comes at most once: it is reached first and joins single rows only.
pub(super) fn once_each(plan: &JoinPlan, target: RelId) -> bool {
    match &plan.steps[..] {
        [first, rest @ ..] => {
            matches!(&first.source, Source::Access { rel, .. } if *rel == target)
                && rest.iter().all(|s| super::plan::is_single(&s.source))
        }
        [] => true,
    }
}
