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

use super::Lowerer;
use super::bound::RelId;
use super::constraint::Values;
use super::deferred::{is_deferrable, rows_of};
use super::moved::Routed;
use super::plpgsql::{Assigned, assigned, may_write};
use super::referential::Waiting;
use super::transition::Made;
use planaria_base::{ColumnId, Datum, Error, IndexId, ProcedureId, Result, SqlState, TableId, Type};
use planaria_catalog::{
    Catalog, ForeignKey, Procedure, ROWS_TOLD, Table, Trigger, TriggerEvent, TriggerTime,
};
use planaria_ir::verify::comparable;
use planaria_ir::{Coll, ErrorFields, Func, OpKind, Question, ReadMode, Reg, RegKind};

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

/// What tells a trigger from others of its table and of the partitions: names do not.
pub(super) fn told_apart(trigger: &Trigger) -> ProcedureId {
    trigger.firings.first().map_or(trigger.function, |firing| firing.routine)
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
    /// Triggers with a condition, which was computed when the row was put in.
    flags: Vec<ProcedureId>,
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
        let mut all: Vec<Trigger> =
            table.fired(event, time, each_row, self.replica()).filter(concerned).cloned().collect();
        if each_row && self.add_partition_triggers(table, event, time, &mut all) {
            all.retain(|t| concerned(&t));
            all.sort_by(|a, b| a.name.cmp(&b.name));
        }
        all
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
        let mut args = self.row_arguments(table, &self.taken_by(table, trigger), rows);
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

    /// Columns of rows, as routines take them.
    pub(super) fn row_arguments(&mut self, table: &Table, taken: &[usize], rows: &[&Values]) -> Vec<Reg> {
        let mut args = Vec::new();
        for row in rows {
            for column in taken {
                let ty = value_type(&table.columns[*column].ty);
                args.push(match row[*column] {
                    Some(reg) => self.exactly(reg, &ty),
                    None => self.constant(Datum::Null, ty),
                });
            }
        }
        args
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
        let Some((trigger, rest)) = triggers.split_first() else {
            if let Some(routed) = routed {
                self.check_routed(table, routed, new)?;
            }
            return then(self, new, set);
        };
        let was = self.before_trigger(table, routed, trigger, new);
        let condition = self.trigger_condition(table, trigger, row.event, (row.old, new), routed)?;
        // One of the partition's own may make what it wants of the row, until all have fired.
        let moves_none = self.of_partition(table, trigger).is_none();
        let goes_on = self.temp(Type::Bool);
        let call = |l: &mut Self| {
            let mut outs = vec![goes_on];
            if row.event.has_new() {
                let own = l.assigned_by(table, trigger);
                for column in l.taken_by(table, trigger) {
                    outs.push(match new[column].filter(|_| own.contains(&column)) {
                        Some(reg) => reg,
                        None => l.temp(value_type(&table.columns[column].ty)),
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
            if let Some(routed) = routed.filter(|_| moves_none) {
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
        values.extend(
            flags.iter().map(|flag| conditions.iter().find(|(of, _)| of == flag).map_or(no, |c| c.1)),
        );
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
        let after = |t: &Trigger| t.each_row && t.time == TriggerTime::After;
        let flagged = table.triggers.iter().filter(|t| after(t) && t.condition.is_some());
        let of_partitions = self.partition_triggers(table).filter(|t| after(t));
        let flags: Vec<ProcedureId> = flagged.chain(of_partitions).map(told_apart).collect();
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
        conditions: &[(ProcedureId, Reg)],
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
            match conditions.iter().find(|(of, _)| *of == told_apart(trigger)) {
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
            if table.triggers.iter().chain(self.partition_triggers(table)).any(is_deferrable) {
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
            &[(ProcedureId, Reg)],
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
        let flags: Vec<(ProcedureId, Reg)> =
            queue.flags.iter().map(|of| (*of, self.temp(Type::Bool))).collect();
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
                let fires = table.slice().is_none() || table.triggers.iter().any(|t| !t.each_row);
                fires.then_some(table.id)
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
        let of_partition = self.partition_named(table, named);
        let (table, named) =
            of_partition.as_ref().map_or((table, named), |(table, named)| (*table, &named[..]));
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
            match self.trigger_condition(table, &trigger, event, (&none, &none), None)? {
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
