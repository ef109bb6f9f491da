//! Triggers, where a program changes rows: what it calls for the table's triggers.
//!
//! ```text
//!  call BEFORE STATEMENT routines
//!  for each row:  call BEFORE ROW routines -> (goes on?, the row as they leave it) -> constraints, change
//!                 -> a row for the queue
//!  end of the statement:  foreign keys -> the queue: call AFTER ROW routines -> call AFTER STATEMENT routines
//! ```
//!
//! A routine of a trigger takes the visible columns of NEW, then those of OLD, as far as its event has such rows, and one
//! that fires before a row answers with whether the change is to be made and the columns of NEW ([`shape`]). Which of
//! these it may have changed is known from its text ([`assigned`](super::plpgsql::assigned)): the others stay what they are
//! to the analysis.
//!
//! AFTER ROW triggers see all that the statement has changed, so rows wait in a queue, one for each table, with what
//! their WHEN conditions said. What is deferred ([`super::deferred`]) waits on, until the transaction ends. *Transition tables* are kept beside it, if triggers want them ([`super::transition`]). *Sites* are the places where a program puts rows in: each is about one event and one list
//! of changed columns, from which it is known which triggers fire. A statement that changes one row at most has no queue.

use super::bound::{Bound, BoundKind, RelId};
use super::constraint::Values;
use super::deferred::{is_deferrable, rows_of};
use super::moved::Routed;
use super::names::Names;
use super::plpgsql::{Assigned, assigned, may_write};
use super::referential::Waiting;
use super::transition::Made;
use super::{Lowerer, Scope};
use planaria_base::{ColumnId, Datum, Error, IndexId, Result, SqlState, TableId, Type};
use planaria_catalog::{
    Catalog, ForeignKey, Procedure, ROWS_TOLD, Table, Trigger, TriggerEvent, TriggerTime,
};
use planaria_ir::verify::comparable;
use planaria_ir::{Coll, ErrorFields, Func, OpKind, ProgramKind, Question, ReadMode, Reg, RegKind};
use planaria_syntax::ast::visit::{self, Node};
use planaria_syntax::ast::{CreateTrigger, Expr, ExprKind};

/// Types of what a trigger's routine takes, and of what it answers with.
pub(super) fn shape(table: &Table, trigger: &Trigger, event: TriggerEvent) -> (Vec<Type>, Vec<Type>) {
    let tables = trigger.transitions().map(|_| super::transition::rows_type(table));
    if !trigger.each_row {
        return (tables.collect(), Vec::new());
    }
    let row = || table.visible().map(|(_, c)| value_type(&c.ty));
    let rows = usize::from(event.has_new()) + usize::from(event.has_old());
    let inputs = (0..rows).flat_map(|_| row()).chain(tables).collect();
    let mut outputs = Vec::new();
    if trigger.time != TriggerTime::After {
        outputs.push(Type::Bool);
        if event.has_new() {
            outputs.extend(row());
        }
    }
    (inputs, outputs)
}

/// The same of a routine.
pub(super) fn routine_shape(catalog: &Catalog, routine: &Procedure) -> Option<(Vec<Type>, Vec<Type>)> {
    catalog.trigger_of(routine).map(|(table, trigger, event)| shape(table, trigger, event))
}

/// However an interval is kept, it is one to a trigger.
pub(super) fn value_type(ty: &Type) -> Type {
    if *ty == Type::OldInterval { Type::Interval } else { ty.clone() }
}

/// A row of AFTER ROW triggers that waits for the end of the statement.
pub(super) struct Fired {
    table: TableId,
    /// The event, where keys have changed the rows: behind them its AFTER STATEMENT triggers fire.
    by_key: Option<TriggerEvent>,
    list: Coll,
    sites: Vec<Site>,
    /// Conditions that were computed when the row was put in: triggers by name.
    flags: Vec<String>,
}

/// A place that puts rows into a queue.
#[derive(Clone, PartialEq)]
struct Site {
    event: TriggerEvent,
    /// The columns that an UPDATE names.
    named: Vec<usize>,
}

/// A row that is changed, with what it was.
#[derive(Clone, Copy)]
pub(super) struct ChangedRow<'v> {
    pub event: TriggerEvent,
    /// The columns that an UPDATE names.
    pub named: &'v [usize],
    pub old: &'v Values,
    pub new: &'v Values,
}

/// What a statement does to its own table: its statement triggers.
pub(super) struct Own {
    pub table: TableId,
    pub event: TriggerEvent,
    /// The columns that an UPDATE names.
    pub named: Vec<usize>,
}

/// AFTER STATEMENT triggers of tables that keys have changed rows of; true where they have.
pub(super) struct Followed {
    table: TableId,
    event: TriggerEvent,
    named: Vec<usize>,
    acted: Reg,
}

impl Lowerer<'_> {
    /// Whether changes of another server are applied: neither triggers fire then, but for those that say so, nor do foreign keys
    /// hold.
    pub(super) fn replica(&self) -> bool {
        self.catalog.path().is_replica()
    }

    /// The foreign keys of a table whose parents are looked for.
    pub(super) fn checked_keys<'t>(
        &self,
        table: &'t Table,
    ) -> impl Iterator<Item = &'t ForeignKey> + use<'t> {
        let replica = self.replica();
        table.foreign_keys.iter().filter(move |key| !replica && !key.unchecked)
    }

    /// The triggers that an event fires, in the order of their names. `named`: what an UPDATE sets.
    pub(super) fn fired(
        &self,
        table: &Table,
        event: TriggerEvent,
        named: &[usize],
        time: TriggerTime,
        each_row: bool,
    ) -> Vec<Trigger> {
        let concerned = |t: &&Trigger| {
            event != TriggerEvent::Update
                || t.columns.is_empty()
                || t.columns.iter().any(|c| named.contains(&c.index()))
        };
        table.fired(event, time, each_row, self.replica()).filter(concerned).cloned().collect()
    }

    /// Whether anything fires before a row is changed so.
    pub(super) fn fires_before(&self, table: &Table, event: TriggerEvent, named: &[usize]) -> bool {
        !self.fired(table, event, named, table.asks(), true).is_empty()
    }

    /// Whether triggers look at rows that are changed so: then all their columns are needed.
    pub(super) fn fires_at_rows(&self, table: &Table, event: TriggerEvent, named: &[usize]) -> bool {
        self.fires_before(table, event, named)
            || table.transitions(event, self.replica()).next().is_some()
            || !self.fired(table, event, named, TriggerTime::After, true).is_empty()
    }

    /// The columns that an UPDATE may change: those that it names and those that triggers may set.
    pub(super) fn with_assigned(&self, table: &Table, named: &[usize]) -> Vec<usize> {
        let mut all = named.to_vec();
        for trigger in self.fired(table, TriggerEvent::Update, named, table.asks(), true) {
            let more = self.assigned_by(table, &trigger);
            all.extend(more.into_iter().filter(|c| !named.contains(c)));
        }
        if self.may_move(table, named) {
            let more = self.assigned_by_inserts(table);
            all.extend(more.into_iter().filter(|c| !named.contains(c)));
        }
        all[named.len()..].sort_unstable();
        all.dedup();
        all
    }

    /// The columns of NEW that a trigger's function may set; those that are computed are not its to set.
    pub(super) fn assigned_by(&self, table: &Table, trigger: &Trigger) -> Vec<usize> {
        let assigned = assigned(self.catalog.procedure(trigger.function));
        let may = |name: &str| match &assigned {
            Assigned::Any => true,
            Assigned::Fields(fields) => fields.iter().any(|f| f == name),
        };
        let set = table.visible().filter(|(_, c)| c.generated().is_none() && may(&c.name));
        set.map(|(id, _)| id.index()).collect()
    }

    /// Whether any routine may ask for `pg_trigger_depth()`, as far as texts tell: a trigger's may call another.
    fn depth_is_asked_for(&mut self) -> bool {
        let catalog = self.catalog;
        *self.depth_asked.get_or_insert_with(|| {
            let asks = |body: &str| body.to_ascii_lowercase().contains("pg_trigger_depth");
            catalog.procedures.iter().any(|routine| asks(&routine.body))
        })
    }

    /// Calls the routine of a trigger.
    fn call_trigger(
        &mut self,
        table: &Table,
        trigger: &Trigger,
        event: TriggerEvent,
        rows: &[&Values],
        made: &[Made],
        outs: Vec<Reg>,
    ) -> Result<()> {
        let routine = trigger.routine(event).ok_or_else(|| Error::internal("a trigger of another event"))?;
        let mut args = self.row_arguments(table, rows);
        for (which, _) in trigger.transitions() {
            args.push(self.transition_rows(table, event, which, made));
        }
        self.note(&format!("Trigger {}", trigger.name));
        if self.within_key && self.depth_is_asked_for() {
            let dst = self.temp(Type::Bool);
            self.emit(OpKind::Ask { dst, question: Question::DeeperTrigger, args: Vec::new() });
        }
        self.emit(OpKind::Call { procedure: routine, args, outs });
        Ok(())
    }

    /// The visible columns of rows, as routines take them.
    pub(super) fn row_arguments(&mut self, table: &Table, rows: &[&Values]) -> Vec<Reg> {
        let mut args = Vec::new();
        for row in rows {
            for (id, column) in table.visible() {
                let ty = value_type(&column.ty);
                args.push(match row[id.index()] {
                    Some(reg) => self.exactly(reg, &ty),
                    None => self.constant(Datum::Null, ty),
                });
            }
        }
        args
    }

    /// A trigger's WHEN over a row; `None` where it has none.
    fn trigger_condition(
        &mut self,
        table: &Table,
        trigger: &Trigger,
        event: TriggerEvent,
        old: &Values,
        new: &Values,
    ) -> Result<Option<Reg>> {
        let Some(text) = &trigger.condition else { return Ok(None) };
        let scope = Scope::new();
        let mut names = Names::of(&scope);
        let mut rels = Vec::new();
        for (there, alias, row) in [(event.has_old(), "old", old), (event.has_new(), "new", new)] {
            if !there || !trigger.each_row {
                continue;
            }
            let rel = self.shadow_rel(table, alias);
            names.sources.push(self.shadow_source(table, rel, alias));
            let mut regs = row.clone();
            for (id, column) in table.visible() {
                if regs[id.index()].is_none() {
                    regs[id.index()] = Some(self.constant(Datum::Null, column.ty.clone()));
                }
            }
            self.rel_mut(rel).regs = regs;
            rels.push(rel);
        }
        let position = self.position;
        let e = self.outside("WHEN", |l| l.bind_text_in(&names, text, position))?;
        let mut e = self.boolean(e, "WHEN")?;
        self.count(&mut e);
        let mut truth = None;
        self.with_rels(&rels, &mut |l| {
            truth = Some(l.truth_of(&e)?);
            Ok(())
        })?;
        Ok(truth)
    }

    /// BEFORE ROW triggers, or INSTEAD OF triggers of a view; then, unless one of them has said that the row is to be left alone, `then` with the row as they
    /// leave it and the columns that they may have set.
    pub(super) fn before_row(
        &mut self,
        table: &Table,
        row: &ChangedRow<'_>,
        then: &mut dyn FnMut(&mut Lowerer<'_>, &Values, &[usize]) -> Result<()>,
    ) -> Result<()> {
        let mut new = row.new.clone();
        // Not computed yet.
        for (id, _) in table.visible().filter(|(_, c)| c.generated().is_some()) {
            new[id.index()] = None;
        }
        self.before_row_known(table, &ChangedRow { new: &new, ..*row }, then)
    }

    /// The same of a row with all its columns.
    pub(super) fn before_row_known(
        &mut self,
        table: &Table,
        row: &ChangedRow<'_>,
        then: &mut dyn FnMut(&mut Lowerer<'_>, &Values, &[usize]) -> Result<()>,
    ) -> Result<()> {
        let triggers = self.fired(table, row.event, row.named, table.asks(), true);
        let mut new = row.new.clone();
        let mut set: Vec<usize> = Vec::new();
        for trigger in triggers.iter().filter(|_| row.event.has_new()) {
            set.extend(self.assigned_by(table, trigger));
        }
        set.sort_unstable();
        set.dedup();
        for column in &set {
            let ty = value_type(&table.columns[*column].ty);
            let reg = self.temp(ty.clone());
            let src = match new[*column] {
                Some(reg) => self.exactly(reg, &ty),
                None => self.constant(Datum::Null, ty),
            };
            self.copy(reg, src);
            new[*column] = Some(reg);
        }
        let routed = self.routed(table, row)?;
        self.before_row_from(table, row, &triggers, &new, (&set, routed.as_ref()), then)
    }

    fn before_row_from(
        &mut self,
        table: &Table,
        row: &ChangedRow<'_>,
        triggers: &[Trigger],
        new: &Values,
        (set, routed): (&[usize], Option<&Routed>),
        then: &mut dyn FnMut(&mut Lowerer<'_>, &Values, &[usize]) -> Result<()>,
    ) -> Result<()> {
        let Some((trigger, rest)) = triggers.split_first() else { return then(self, new, set) };
        let was = self.before_trigger(table, routed, trigger, new);
        let condition = self.trigger_condition(table, trigger, row.event, row.old, new)?;
        let goes_on = self.temp(Type::Bool);
        let call = |l: &mut Self| {
            let mut outs = vec![goes_on];
            if row.event.has_new() {
                let own = l.assigned_by(table, trigger);
                for (id, column) in table.visible() {
                    outs.push(match new[id.index()].filter(|_| own.contains(&id.index())) {
                        Some(reg) => reg,
                        None => l.temp(value_type(&column.ty)),
                    });
                }
            }
            let rows: Vec<&Values> = match (row.event.has_new(), row.event.has_old()) {
                (true, true) => vec![new, row.old],
                (true, false) => vec![new],
                _ => vec![row.old],
            };
            l.call_trigger(table, trigger, row.event, &rows, &[], outs)
        };
        match condition {
            None => call(self)?,
            Some(condition) => {
                let yes = self.truth(true);
                self.copy(goes_on, yes);
                self.when(condition, call)?;
            }
        }
        self.when(goes_on, |l| {
            if let Some(routed) = routed {
                l.check_stays(table, routed, trigger, new, was.as_ref())?;
            }
            l.before_row_from(table, row, rest, new, (set, routed), then)
        })
    }

    /// 27000 where a row is not any more as it was found: a trigger that fired meanwhile has changed it.
    pub(super) fn check_untouched(
        &mut self,
        table: &Table,
        row: &ChangedRow<'_>,
        target: RelId,
    ) -> Result<()> {
        let triggers = self.fired(table, row.event, row.named, TriggerTime::Before, true);
        let writes = |t: &Trigger| may_write(self.catalog, self.catalog.procedure(t.function));
        if !triggers.iter().any(writes) {
            return Ok(());
        }
        let key = table.indexes[0].columns.iter().map(|c| self.column_reg(target, c.index())).collect();
        let there = self.program.reg(RegKind::Row(table.id), None);
        self.looks_again(table.id, there);
        let visible: Vec<(ColumnId, Type)> = table
            .visible()
            .map(|(id, c)| (id, value_type(&c.ty)))
            .filter(|(_, ty)| comparable(ty, ty))
            .collect();
        let columns: Vec<(ColumnId, Reg)> = visible.into_iter().map(|(id, ty)| (id, self.temp(ty))).collect();
        let (index, mode) = (IndexId::PRIMARY, ReadMode::Plain);
        self.emit(OpKind::Get { table: table.id, index, key, mode, row: there, columns: columns.clone() });
        let mut changed = self.apply(Func::IsNull, vec![there], Type::Bool);
        for (id, now) in columns {
            let Some(was) = row.old[id.index()] else { continue };
            let differs = self.apply(Func::Distinct, vec![was, now], Type::Bool);
            changed = self.apply(Func::Or, vec![changed, differs], Type::Bool);
        }
        self.raising(changed, |l| {
            let verb = if row.event == TriggerEvent::Delete { "deleted" } else { "updated" };
            let message =
                format!("tuple to be {verb} was already modified by an operation triggered by the current command");
            let hint = "Consider using an AFTER trigger instead of a BEFORE trigger to propagate changes to other rows.";
            let hint = l.constant(Datum::Text(hint.to_owned()), Type::Text);
            let fields = ErrorFields { hint: Some(hint), ..ErrorFields::default() };
            l.raise(SqlState::TRIGGERED_DATA_CHANGE_VIOLATION, message, fields);
            Ok(())
        })
    }

    /// The own rows of a statement that wait for their AFTER ROW triggers, if each of its rows is among them, and none of these
    /// triggers waits for more: where in the list.
    pub(super) fn all_wait(&self, table: TableId, waiting: &Waiting) -> Option<usize> {
        let at = waiting.fired.iter().position(|f| f.table == table && f.by_key.is_none())?;
        let [Site { event, named }] = &waiting.fired[at].sites[..] else { return None };
        let triggers = self.fired(self.catalog.table_by_id(table), *event, named, TriggerTime::After, true);
        let waits = |t: &Trigger| is_deferrable(t) || t.transitions().next().is_some();
        (self.all_are_put(table) && !triggers.iter().any(waits)).then_some(at)
    }

    /// A row was changed: its AFTER ROW triggers fire when the statement ends.
    pub(super) fn after_row(
        &mut self,
        table: &Table,
        row: &ChangedRow<'_>,
        waiting: &mut Waiting,
    ) -> Result<()> {
        self.keep_row(table, row, waiting)?;
        self.after_event(table, row, waiting)
    }

    /// A changed row, for transition tables.
    pub(super) fn keep_row(
        &mut self,
        table: &Table,
        row: &ChangedRow<'_>,
        waiting: &mut Waiting,
    ) -> Result<()> {
        match waiting.copied && !waiting.by_key {
            true => Ok(()),
            false => self.keep_transition(table, row, None, &mut waiting.made),
        }
    }

    /// An event of a row: its AFTER ROW triggers fire when the statement ends.
    pub(super) fn after_event(
        &mut self,
        table: &Table,
        row: &ChangedRow<'_>,
        waiting: &mut Waiting,
    ) -> Result<()> {
        let triggers = self.fired(table, row.event, row.named, TriggerTime::After, true);
        if triggers.is_empty() || waiting.copied && !waiting.by_key {
            return Ok(());
        }
        if waiting.at_once(self.single_row) && !self.fires_late() {
            return self.fire_after_row(table, row, &triggers, &waiting.made);
        }
        let conditions = self.trigger_conditions(table, row, &triggers)?;
        let site = Site { event: row.event, named: row.named.to_vec() };
        let at = self.after_queue(table, row.event, waiting);
        let queue = &mut waiting.fired[at];
        let number = queue.sites.iter().position(|s| *s == site).unwrap_or_else(|| {
            queue.sites.push(site);
            queue.sites.len() - 1
        });
        let (list, flags) = (queue.list, queue.flags.clone());
        let number = self.constant(Datum::Int(number as i64), Type::Int4);
        let mut values = vec![number];
        for (there, row) in [(row.event.has_new(), row.new), (row.event.has_old(), row.old)] {
            for (id, column) in table.visible() {
                let ty = value_type(&column.ty);
                values.push(match row[id.index()].filter(|_| there) {
                    Some(reg) => self.exactly(reg, &ty),
                    None => self.constant(Datum::Null, ty),
                });
            }
        }
        let no = self.truth(false);
        values
            .extend(flags.iter().map(|name| conditions.iter().find(|(n, _)| n == name).map_or(no, |c| c.1)));
        if conditions.len() < triggers.len() || self.all_are_put(table.id) {
            self.emit(OpKind::Push { coll: list, values });
            return Ok(());
        }
        // None fires unless its condition holds.
        let mut any = conditions[0].1;
        for (_, condition) in &conditions[1..] {
            any = self.apply(Func::Or, vec![any, *condition], Type::Bool);
        }
        self.when(any, |l| {
            l.emit(OpKind::Push { coll: list, values });
            Ok(())
        })
    }

    /// What the WHEN conditions of triggers say of a row, by the names of the triggers.
    fn trigger_conditions(
        &mut self,
        table: &Table,
        row: &ChangedRow<'_>,
        triggers: &[Trigger],
    ) -> Result<Vec<(String, Reg)>> {
        let mut conditions = Vec::new();
        for trigger in triggers {
            let condition = self.trigger_condition(table, trigger, row.event, row.old, row.new)?;
            conditions.extend(condition.map(|reg| (trigger.name.clone(), reg)));
        }
        Ok(conditions)
    }

    /// AFTER ROW triggers, here.
    fn fire_after_row(
        &mut self,
        table: &Table,
        row: &ChangedRow<'_>,
        triggers: &[Trigger],
        made: &[Made],
    ) -> Result<()> {
        let conditions = self.trigger_conditions(table, row, triggers)?;
        self.defer_after(table, row.event, triggers, &conditions, row.old, row.new)?;
        self.call_after(table, row.event, triggers, &conditions, row.old, row.new, made)
    }

    /// The same for a row of a COPY, which is there.
    pub(super) fn fire_after_copied(
        &mut self,
        table: &Table,
        row: &ChangedRow<'_>,
        made: &[Made],
    ) -> Result<()> {
        let triggers = self.fired(table, row.event, row.named, TriggerTime::After, true);
        self.fire_after_row(table, row, &triggers, made)
    }

    /// The queue of a table's AFTER ROW triggers: the site, NEW, OLD, what conditions said.
    fn after_queue(&mut self, table: &Table, event: TriggerEvent, waiting: &mut Waiting) -> usize {
        let by_key = waiting.by_key.then_some(event);
        if let Some(at) = waiting.fired.iter().position(|f| f.table == table.id && f.by_key == by_key) {
            return at;
        }
        let flagged = |t: &&Trigger| t.each_row && t.time == TriggerTime::After && t.condition.is_some();
        let flags: Vec<String> = table.triggers.iter().filter(flagged).map(|t| t.name.clone()).collect();
        let row = || table.visible().map(|(_, c)| RegKind::Value(value_type(&c.ty)));
        let mut values = vec![RegKind::Value(Type::Int4)];
        values.extend(row().chain(row()));
        values.extend(flags.iter().map(|_| RegKind::Value(Type::Bool)));
        let list = self.waiting_list(values);
        waiting.fired.push(Fired { table: table.id, by_key, list, sites: Vec::new(), flags });
        waiting.fired.len() - 1
    }

    /// Calls the routines of AFTER ROW triggers for a row, but of those that are deferred.
    #[allow(clippy::too_many_arguments)]
    pub(super) fn call_after(
        &mut self,
        table: &Table,
        event: TriggerEvent,
        triggers: &[Trigger],
        conditions: &[(String, Reg)],
        old: &Values,
        new: &Values,
        made: &[Made],
    ) -> Result<()> {
        let rows = rows_of(event, new, old);
        for trigger in triggers {
            let call = |l: &mut Self| {
                let call = |l: &mut Self| l.call_trigger(table, trigger, event, &rows, made, Vec::new());
                match is_deferrable(trigger) {
                    true => l.unless_deferred(table, trigger, event, call),
                    false => call(l),
                }
            };
            match conditions.iter().find(|(name, _)| *name == trigger.name) {
                Some((_, holds)) => self.when(*holds, call)?,
                None => call(self)?,
            }
        }
        Ok(())
    }

    /// Calls the routines of all AFTER triggers: of the rows that the statement has changed, its own, then of the rows that
    /// keys have changed and of those tables. Where a key has changed the statement's own table, that is one statement.
    pub(super) fn fire_after(&mut self, waiting: &Waiting) -> Result<()> {
        let Waiting { fired, followed, made, own, .. } = waiting;
        let (by_key, rows): (Vec<&Fired>, Vec<&Fired>) = fired.iter().partition(|f| f.by_key.is_some());
        self.fire_after_rows(&rows, waiting)?;
        for Own { table, event, named } in own {
            if !followed.iter().any(|f| f.table == *table && f.event == *event) {
                let table = self.catalog.table_by_id(*table);
                self.fire_statement(table, *event, named, TriggerTime::After, made)?;
            }
        }
        self.fire_after_rows(&by_key, waiting)?;
        let queued = |f: &&Followed| by_key.iter().any(|q| q.table == f.table && q.by_key == Some(f.event));
        followed.iter().filter(|f| !queued(f)).try_for_each(|f| self.fire_followed(f, waiting))
    }

    fn fire_after_rows(&mut self, fired: &[&Fired], waiting: &Waiting) -> Result<()> {
        let Waiting { followed, made, .. } = waiting;
        // What is deferred waits in the order of the rows, before anything fires that changes others.
        for queue in fired {
            let table = self.catalog.table_by_id(queue.table);
            if table.triggers.iter().any(is_deferrable) {
                self.for_waiting_rows(queue, &mut |l, event, triggers, flags, old, new| {
                    l.defer_after(table, event, triggers, flags, old, new)
                })?;
            }
        }
        for queue in fired {
            let table = self.catalog.table_by_id(queue.table);
            self.for_waiting_rows(queue, &mut |l, event, triggers, flags, old, new| {
                l.call_after(table, event, triggers, flags, old, new, made)
            })?;
            let behind = |f: &&Followed| f.table == queue.table && Some(f.event) == queue.by_key;
            followed.iter().filter(behind).try_for_each(|f| self.fire_followed(f, waiting))?;
        }
        Ok(())
    }

    /// For each row that waits in a queue: the event, its triggers, what conditions said of them, OLD and NEW.
    pub(super) fn for_waiting_rows(
        &mut self,
        queue: &Fired,
        f: &mut dyn FnMut(
            &mut Self,
            TriggerEvent,
            &[Trigger],
            &[(String, Reg)],
            &Values,
            &Values,
        ) -> Result<()>,
    ) -> Result<()> {
        let table = self.catalog.table_by_id(queue.table);
        let site = self.temp(Type::Int4);
        let mut columns = vec![site];
        let mut fresh = |l: &mut Self| {
            let mut row: Values = vec![None; table.columns.len()];
            for (id, column) in table.visible() {
                let reg = l.temp(value_type(&column.ty));
                row[id.index()] = Some(reg);
                columns.push(reg);
            }
            row
        };
        let (new, old) = (fresh(self), fresh(self));
        let flags: Vec<(String, Reg)> =
            queue.flags.iter().map(|name| (name.clone(), self.temp(Type::Bool))).collect();
        columns.extend(flags.iter().map(|(_, reg)| *reg));
        let label = self.label();
        let body = self.block(|l| {
            for (number, Site { event, named }) in queue.sites.iter().enumerate() {
                let triggers = l.fired(table, *event, named, TriggerTime::After, true);
                if queue.sites.len() == 1 {
                    f(l, *event, &triggers, &flags, &old, &new)?;
                    continue;
                }
                let number = l.constant(Datum::Int(number as i64), Type::Int4);
                let here = l.apply(Func::IntEq, vec![site, number], Type::Bool);
                l.when(here, |l| f(l, *event, &triggers, &flags, &old, &new))?;
            }
            Ok(())
        })?;
        self.emit(OpKind::ForEach { coll: queue.list, columns, entry: None, label, body });
        Ok(())
    }

    /// The parts of a statement, in turn: for each, the table and what it does there. The triggers of a table fire once for what
    /// several parts do to it: in front of the first of them, and behind the last. In routines of former versions each part fires
    /// them, as logs have calls that did.
    pub(super) fn fires_once<'n>(
        &mut self,
        parts: impl Iterator<Item = (Option<&'n planaria_syntax::ast::Name>, Vec<TriggerEvent>)>,
    ) {
        if self.form < ROWS_TOLD {
            return;
        }
        let mut to_come = Vec::new();
        for (name, events) in parts {
            let table = name.and_then(|name| {
                let table = self.catalog.table(self.catalog.located(self.meant(name).ok()?))?;
                // Whoever names a partition makes no statement about the partitioned table.
                table.slice().is_none().then_some(table.id)
            });
            to_come
                .push(table.map_or_else(Vec::new, |table| events.into_iter().map(|e| (table, e)).collect()));
        }
        if let Some(before) = &mut self.before {
            to_come.reverse();
            before.to_come = to_come;
        }
    }

    /// Whether AFTER triggers wait until all parts of the statement are done. In routines of former versions each part fires them
    /// when it ends.
    pub(super) fn fires_late(&self) -> bool {
        self.before.is_some() && self.form >= ROWS_TOLD
    }

    /// Has the AFTER triggers of a part wait.
    pub(super) fn fire_later(&mut self, mut waiting: Waiting) {
        let within = self.within;
        if let Some(before) = &mut self.before {
            let once_more =
                |own: &Own| before.to_come.iter().any(|part| part.contains(&(own.table, own.event)));
            waiting.own.retain(|own| !once_more(own));
            before.late.push((waiting, within));
        }
    }

    /// Fires those that have waited.
    pub(super) fn fire_late(&mut self, late: Vec<(Waiting, Option<TableId>)>) -> Result<()> {
        let (single, outer) = (std::mem::replace(&mut self.single_row, false), self.within);
        for (waiting, within) in late {
            self.within = within;
            self.fire_after(&waiting)?;
        }
        (self.single_row, self.within) = (single, outer);
        Ok(())
    }

    /// The next part of a statement begins.
    pub(super) fn part_begins(&mut self) {
        if let Some(before) = &mut self.before {
            before.to_come.pop();
        }
    }

    /// Calls the routines of a table's statement triggers; `made`: what the statement has kept for them.
    pub(super) fn fire_statement(
        &mut self,
        table: &Table,
        event: TriggerEvent,
        named: &[usize],
        time: TriggerTime,
        made: &[Made],
    ) -> Result<()> {
        let own = (table.id, event);
        let fires = match &mut self.before {
            None => true,
            Some(before) if time == TriggerTime::Before && self.form >= ROWS_TOLD => {
                let first = !before.begun.contains(&own);
                before.begun.push(own);
                first
            }
            Some(before) => {
                time != TriggerTime::After || !before.to_come.iter().any(|part| part.contains(&own))
            }
        };
        match fires {
            true => self.fire_any_statement(table, event, named, time, made),
            false => Ok(()),
        }
    }

    /// The same, whatever other parts do to the table.
    fn fire_any_statement(
        &mut self,
        table: &Table,
        event: TriggerEvent,
        named: &[usize],
        time: TriggerTime,
        made: &[Made],
    ) -> Result<()> {
        // Whoever names a partition makes no statement about the partitioned table.
        if self.within.is_some_and(|within| self.catalog.partition_root(within).id == table.id) {
            return Ok(());
        }
        let none: Values = Vec::new();
        for trigger in self.fired(table, event, named, time, false) {
            let call = |l: &mut Self| l.call_trigger(table, &trigger, event, &[], made, Vec::new());
            match self.trigger_condition(table, &trigger, event, &none, &none)? {
                Some(condition) => self.when(condition, call)?,
                None => call(self)?,
            }
        }
        Ok(())
    }

    /// A foreign key is about to change rows of a table: its BEFORE STATEMENT triggers fire the first time, those AFTER
    /// when the statement ends.
    pub(super) fn key_acts(
        &mut self,
        table: &Table,
        event: TriggerEvent,
        named: &[usize],
        waiting: &mut Waiting,
    ) -> Result<()> {
        let any = [TriggerTime::Before, TriggerTime::After]
            .into_iter()
            .any(|time| !self.fired(table, event, named, time, false).is_empty());
        if !any {
            return Ok(());
        }
        let own = waiting.own.iter().any(|o| o.table == table.id && o.event == event);
        let known = |f: &&Followed| f.table == table.id && f.event == event && (own || f.named == named);
        let acted = match waiting.followed.iter().find(known) {
            Some(followed) => followed.acted,
            None => {
                let acted = self.program.reg(RegKind::Value(Type::Bool), Some("(key acted)".to_owned()));
                let no = self.truth(false);
                self.at_frame(0, |l| {
                    l.copy(acted, no);
                    Ok(())
                })?;
                waiting.followed.push(Followed { table: table.id, event, named: named.to_vec(), acted });
                acted
            }
        };
        if own {
            return Ok(());
        }
        self.unless(acted, |l| {
            let yes = l.truth(true);
            l.copy(acted, yes);
            // The key is a trigger of its own.
            let within = std::mem::replace(&mut l.within_key, true);
            let done = l.fire_any_statement(table, event, named, TriggerTime::Before, &[]);
            l.within_key = within;
            done
        })
    }

    fn fire_followed(&mut self, followed: &Followed, waiting: &Waiting) -> Result<()> {
        let Followed { table, event, named, acted } = followed;
        let own = waiting.own.iter().find(|o| o.table == *table && o.event == *event);
        let (table, made) = (self.catalog.table_by_id(*table), &waiting.made);
        if let Some(own) = own {
            return self.fire_statement(table, *event, &own.named, TriggerTime::After, made);
        }
        self.when(*acted, |l| l.fire_any_statement(table, *event, named, TriggerTime::After, made))
    }
}

/// The columns of a row that triggers look at, and those that tell it from others.
pub(super) fn seen_by_triggers(table: &Table) -> Vec<usize> {
    let key = table.indexes[0].columns.iter().map(|c| c.index());
    let mut all: Vec<usize> = table.visible().map(|(id, _)| id.index()).chain(key).collect();
    all.sort_unstable();
    all.dedup();
    all
}

/// What CREATE TRIGGER finds wrong with a WHEN condition.
pub(crate) fn check_trigger_condition(
    catalog: &Catalog,
    table: &Table,
    create: &CreateTrigger,
) -> Result<()> {
    let Some((expr, _)) = &create.condition else { return Ok(()) };
    let mut l = Lowerer::new(catalog, "trigger", ProgramKind::Statement);
    let scope = Scope::new();
    let mut names = Names::of(&scope);
    for alias in ["old", "new"] {
        let rel = l.shadow_rel(table, alias);
        names.sources.push(l.shadow_source(table, rel, alias));
    }
    let bound = l.outside("WHEN", |l| l.bind(&names, expr));
    // PostgreSQL compares rows without looking at their columns first, so what follows is said before that.
    let (bound, uncompared) = match bound {
        Err(error) if error.sqlstate() == SqlState::UNDEFINED_FUNCTION => (None, Err(error)),
        other => (Some(l.boolean(other?, "WHEN")?), Ok(())),
    };
    debug_assert!(!matches!(bound, Some(Bound { kind: BoundKind::Subquery(_), .. })));
    let refuse = |message: String, e: &Expr| {
        Err(Error::new(SqlState::INVALID_OBJECT_DEFINITION, message).at(e.position))
    };
    let mut done = Ok(());
    visit::expr(expr, &mut |node| {
        let Node::Expr(e) = node else { return };
        let (ExprKind::Column(name) | ExprKind::Star(Some(name))) = &e.kind else { return };
        let Some(row) = name.parts.first().filter(|n| *n == "old" || *n == "new") else { return };
        if done.is_err() {
            return;
        }
        if !create.each_row {
            let message = "statement trigger's WHEN condition cannot reference column values".to_owned();
            done = refuse(message, e);
            return;
        }
        let lacks = match row.as_str() {
            "old" => (TriggerEvent::Insert, "INSERT", "OLD"),
            _ => (TriggerEvent::Delete, "DELETE", "NEW"),
        };
        if create.events.contains(&lacks.0) {
            let (event, row) = (lacks.1, lacks.2);
            done = refuse(format!("{event} trigger's WHEN condition cannot reference {row} values"), e);
            return;
        }
        let before = create.timing == planaria_syntax::ast::TriggerTiming::Before && row == "new";
        let field = name.parts.get(1).filter(|_| !matches!(e.kind, ExprKind::Star(_)));
        let computed = |c: &&planaria_catalog::Column| {
            !c.hidden && c.generated().is_some() && field.is_none_or(|f| *f == c.name)
        };
        if let Some(column) = table.columns.iter().find(computed).filter(|_| before) {
            let message = "BEFORE trigger's WHEN condition cannot reference NEW generated columns";
            let detail = match field {
                Some(_) => format!("Column \"{}\" is a generated column.", column.name),
                None => "A whole-row reference is used and the table contains generated columns.".to_owned(),
            };
            done = refuse(message.to_owned(), e).map_err(|error: Error| error.with_detail(detail));
        }
    });
    done.and(uncompared)
}
