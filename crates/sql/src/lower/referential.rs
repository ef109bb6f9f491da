//! Foreign keys behind a change: what becomes of the rows that refer to a changed row, and checks that wait.
//!
//! As with PostgreSQL's triggers, this happens when the statement has changed all its rows:
//!
//! 1. A change of a row that others may refer to is an *event*: its referenced columns before and after.
//! 2. Events of one kind (the table, and whether rows are deleted or which columns change) wait in one queue, and one
//!    piece of code does for each what its keys ask for: refuse, or delete or update the rows that refer to it.
//!    That is a DELETE or UPDATE like any other: all of the row's constraints hold, and it makes events of its own.
//! 3. Where such code makes events for itself or for code before it (keys that lead in a circle, a table that
//!    refers to itself), all of it is repeated until no event is left.
//! 4. Then every key that a row was given on the way must have a parent, if a row still has it.
//!
//! A statement that changes one row at most does the first step of this at once, without a queue.

use super::Lowerer;
use super::bound::{Bound, BoundKind, Item, RelId};
use super::constraint::{Values, foreign_fields};
use super::exclusion::LateExclusion;
use super::transition::Made;
use super::trigger::{ChangedRow, Fired, Followed, Own, seen_by_triggers};
use planaria_base::{Error, Result, SqlState, TableId, Type};
use planaria_catalog::{CheckTime, ForeignKey, ReferentialAction, Table, TriggerEvent};
use planaria_ir::{Block, Coll, CollDecl, CollKind, Func, OpKind, ProgramKind, ReadMode, Reg, RegKind};
use planaria_syntax::ast::BinaryOp;

/// What the names of the triggers begin with that foreign keys are in PostgreSQL: triggers fire by name.
const KEYS_TRIGGER: &str = "RI_ConstraintTrigger_";

/// What a statement leaves for its end.
#[derive(Default)]
pub(super) struct Waiting {
    queues: Vec<Queue>,
    checks: Vec<Check>,
    /// Of exclusion constraints and keys that are DEFERRABLE.
    pub(super) exclusions: Vec<LateExclusion>,
    /// What is changed now, a key changes.
    pub(super) by_key: bool,
    /// The queue whose code is being emitted.
    current: Option<usize>,
    /// An event was made for code that stands before the one that makes it.
    circle: bool,
    /// Keys change or delete rows.
    acted: bool,
    /// The row of a COPY: who copies fires its AFTER ROW triggers.
    pub(super) copied: bool,
    /// Rows whose AFTER ROW triggers are to fire.
    pub(super) fired: Vec<Fired>,
    /// Statement triggers of tables that keys change.
    pub(super) followed: Vec<Followed>,
    /// Transition tables.
    pub(super) made: Vec<Made>,
    /// The statement triggers that fire for the statement itself.
    pub(super) own: Vec<Own>,
}

impl Waiting {
    /// Whether what happens behind a change can happen at once: nothing else changes.
    pub(super) fn at_once(&self, single_row: bool) -> bool {
        single_row && !self.by_key
    }
}

/// A kind of event.
#[derive(Clone)]
struct Queue {
    table: TableId,
    change: Change,
    /// The referenced columns that concern it.
    columns: Vec<usize>,
    /// Their values before, and for updates after.
    list: Coll,
}

#[derive(Clone, PartialEq)]
enum Change {
    Deleted,
    /// These columns may have changed.
    Updated(Vec<usize>),
}

/// Keys of children whose parents are looked for at the end.
struct Check {
    child: TableId,
    key: ForeignKey,
    list: Coll,
}

/// A foreign key with the table that has it.
type Reference = (TableId, ForeignKey);

impl Lowerer<'_> {
    /// A row was deleted; `old` has its referenced columns.
    pub(super) fn row_deleted(&mut self, table: TableId, old: &Values, waiting: &mut Waiting) -> Result<()> {
        self.row_changed(table, Change::Deleted, old, old, waiting)
    }

    /// Some columns of a row were set; `old` and `new` have its referenced columns.
    pub(super) fn row_updated(
        &mut self,
        table: TableId,
        changed: &[usize],
        old: &Values,
        new: &Values,
        waiting: &mut Waiting,
    ) -> Result<()> {
        let mut changed = changed.to_vec();
        changed.sort_unstable();
        self.row_changed(table, Change::Updated(changed), old, new, waiting)
    }

    fn row_changed(
        &mut self,
        table: TableId,
        mut change: Change,
        old: &Values,
        new: &Values,
        waiting: &mut Waiting,
    ) -> Result<()> {
        let keys = self.references(table, &change);
        if keys.is_empty() {
            return Ok(());
        }
        let mut columns: Vec<usize> =
            keys.iter().flat_map(|(_, k)| k.parent_columns.iter().map(|c| c.index())).collect();
        columns.sort_unstable();
        columns.dedup();
        if let Change::Updated(changed) = &mut change {
            changed.retain(|c| columns.contains(c));
        }
        // Nobody else's rows change behind this one, and none can take the place of one that is gone.
        let only_refused = change == Change::Deleted
            && keys.iter().all(|(child, k)| k.on_delete == ReferentialAction::Restrict && *child != table);
        if !waiting.by_key && (self.single_row || only_refused) {
            return self.follow(table, &change, old, new, false, waiting);
        }
        let queue = self.queue(table, &change, &columns, waiting);
        let mut values = values_of(old, &columns)?;
        if change != Change::Deleted {
            values.extend(values_of(new, &columns)?);
        }
        self.emit(OpKind::Push { coll: queue, values });
        Ok(())
    }

    /// The keys that a change concerns.
    fn references(&self, table: TableId, change: &Change) -> Vec<Reference> {
        let concerned = |k: &ForeignKey| match change {
            Change::Deleted => true,
            Change::Updated(changed) => k.parent_columns.iter().any(|c| changed.contains(&c.index())),
        };
        let keys =
            self.catalog.references_to(table).filter(|(_, k)| concerned(k) && !k.inactive && !self.replica());
        keys.map(|(t, k)| (t.id, k.clone())).collect()
    }

    /// The list of a kind of event.
    fn queue(&mut self, table: TableId, change: &Change, columns: &[usize], waiting: &mut Waiting) -> Coll {
        if let Some(at) = waiting.queues.iter().position(|q| q.table == table && q.change == *change) {
            waiting.circle |= waiting.current.is_some_and(|current| at <= current);
            return waiting.queues[at].list;
        }
        let definition = self.catalog.table_by_id(table);
        let mut kinds: Vec<RegKind> =
            columns.iter().map(|c| RegKind::Value(definition.columns[*c].ty.clone())).collect();
        if *change != Change::Deleted {
            kinds.extend(kinds.clone());
        }
        let list = self.waiting_list(kinds);
        waiting.queues.push(Queue { table, change: change.clone(), columns: columns.to_vec(), list });
        list
    }

    /// A list that is emptied where the statement begins.
    pub(super) fn waiting_list(&mut self, values: Vec<RegKind>) -> Coll {
        let list = self.program.coll(CollDecl { kind: CollKind::List, keys: Vec::new(), values });
        let cleared = self.at_frame(0, |l| {
            l.emit(OpKind::Clear { coll: list });
            Ok(())
        });
        debug_assert!(cleared.is_ok());
        list
    }

    /// What the keys ask for behind one event. `late`: other rows have changed as well.
    fn follow(
        &mut self,
        table: TableId,
        change: &Change,
        old: &Values,
        new: &Values,
        late: bool,
        waiting: &mut Waiting,
    ) -> Result<()> {
        for (child, key) in self.references(table, change) {
            let columns: Vec<usize> = key.parent_columns.iter().map(|c| c.index()).collect();
            let before = values_of(old, &columns)?;
            if *change == Change::Deleted {
                self.act(child, &key, key.on_delete, &before, None, late, waiting)?;
                continue;
            }
            let after = values_of(new, &columns)?;
            let mut differs: Option<Reg> = None;
            for (a, b) in before.iter().zip(&after).filter(|(a, b)| a != b) {
                // What refers to a key is written as the key is, letters of either case included.
                let written = |l: &mut Self, reg: Reg| match l.program.type_of(reg) {
                    Some(Type::Citext) => l.exactly(reg, &Type::Text),
                    _ => reg,
                };
                let args = vec![written(self, *a), written(self, *b)];
                let one = self.apply(Func::Distinct, args, Type::Bool);
                differs = Some(match differs {
                    None => one,
                    Some(any) => self.apply(Func::Or, vec![any, one], Type::Bool),
                });
            }
            let Some(differs) = differs else { continue };
            self.when(differs, |l| l.act(child, &key, key.on_update, &before, Some(&after), late, waiting))?;
        }
        Ok(())
    }

    #[allow(clippy::too_many_arguments)]
    fn act(
        &mut self,
        child: TableId,
        key: &ForeignKey,
        action: ReferentialAction,
        before: &[Reg],
        after: Option<&[Reg]>,
        late: bool,
        waiting: &mut Waiting,
    ) -> Result<()> {
        match (action, after) {
            (ReferentialAction::Restrict, _) => {
                let never = if after.is_none() { key.restricts_delete } else { key.restricts_update };
                let check = if never { CheckTime::NotDeferrable } else { key.check };
                self.unless_put_off(child, &key.name, check, |l| {
                    if late {
                        return l.refuse_unless_back(child, key, before);
                    }
                    let found = l.child_found(child, key, before)?;
                    l.raising(found, |l| l.raise_referenced(child, key, before))
                })
            }
            (ReferentialAction::Cascade, None) => self.delete_children(child, key, before, waiting),
            (ReferentialAction::Cascade, Some(after)) => {
                self.update_children(child, key, before, false, &mut |_, at| Ok((after[at], false)), waiting)
            }
            (ReferentialAction::SetNull, _) => {
                let table = self.catalog.table_by_id(child);
                let null = |l: &mut Self, at: usize| {
                    let ty = table.columns[key.columns[at].index()].ty.clone();
                    Ok((l.constant(planaria_base::Datum::Null, ty), false))
                };
                self.update_children(child, key, before, after.is_none(), &mut { null }, waiting)
            }
            (ReferentialAction::SetDefault, _) => {
                let table = self.catalog.table_by_id(child);
                let default = |l: &mut Self, at: usize| {
                    let value = l.default_value(table, key.columns[at].index(), l.position)?;
                    Ok((l.exact(&value)?, l.never_null(&value)))
                };
                self.update_children(child, key, before, after.is_none(), &mut { default }, waiting)?;
                // The default may be the very key that is gone.
                self.refuse_unless_back(child, key, before)
            }
        }
    }

    /// Runs `body` for each row of a table's relation whose key has these values.
    pub(super) fn for_references(
        &mut self,
        rel: RelId,
        key: &ForeignKey,
        values: &[Reg],
        wanted: &[usize],
        body: &mut dyn FnMut(&mut Lowerer<'_>) -> Result<()>,
    ) -> Result<()> {
        let parent = self.catalog.table_by_id(key.parent);
        let mut filter = Vec::with_capacity(values.len());
        for ((column, value), parent_column) in key.columns.iter().zip(values).zip(&key.parent_columns) {
            let ty = self.rel(rel).columns[column.index()].1.clone();
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
        self.rel_mut(rel).mode = ReadMode::Check;
        let items = [Item::Rel(rel)];
        self.push_frame();
        let plan = self.plan_group(&items, &filter, &[])?;
        let done = self.emit_plan(&plan, body);
        self.pop_frame();
        done
    }

    /// Whether a row refers to a parent of this key.
    pub(super) fn child_found(&mut self, child: TableId, key: &ForeignKey, values: &[Reg]) -> Result<Reg> {
        let found = self.temp(Type::Bool);
        let (no, yes) = (self.truth(false), self.truth(true));
        self.copy(found, no);
        let label = self.label();
        let rel = self.table_rel(child, "");
        let body = self.block(|l| {
            l.for_references(rel, key, values, &[], &mut |l| {
                l.copy(found, yes);
                l.emit(OpKind::Exit { label });
                Ok(())
            })
        })?;
        self.emit(OpKind::Block { label, body });
        Ok(found)
    }

    /// 23503 where a row refers to a key that no parent has any more.
    fn refuse_unless_back(&mut self, child: TableId, key: &ForeignKey, values: &[Reg]) -> Result<()> {
        let gone = self.parent_missing(key, values, ReadMode::Check)?;
        self.when(gone, |l| {
            let found = l.child_found(child, key, values)?;
            l.raising(found, |l| l.raise_referenced(child, key, values))
        })
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
        let detail = self.foreign_detail(parent, &columns, values, &tail)?;
        let message = format!(
            "update or delete on table \"{}\" violates foreign key constraint \"{}\" on table \"{}\"",
            parent.name, key.name, child.name
        );
        self.raise(SqlState::FOREIGN_KEY_VIOLATION, message, foreign_fields(&key.name, &child.name, detail));
        Ok(())
    }

    fn delete_children(
        &mut self,
        child: TableId,
        key: &ForeignKey,
        values: &[Reg],
        waiting: &mut Waiting,
    ) -> Result<()> {
        let table = self.catalog.table_by_id(child);
        let wanted = self.delete_needs(table);
        let rel = self.table_rel(child, "");
        self.key_acts(table, TriggerEvent::Delete, &[], waiting)?;
        if self.fires_before(table, TriggerEvent::Delete, &[]) {
            // A trigger may change what the rows are found by.
            return self.delete_children_later(table, rel, key, values, &wanted, waiting);
        }
        self.as_key(waiting, |l, waiting| {
            l.for_references(rel, key, values, &wanted, &mut |l| {
                l.remove_row(table, rel, waiting, &mut |_| Ok(()))
            })
        })
    }

    fn delete_children_later(
        &mut self,
        table: &Table,
        rel: RelId,
        key: &ForeignKey,
        values: &[Reg],
        wanted: &[usize],
        waiting: &mut Waiting,
    ) -> Result<()> {
        let mut kinds = vec![RegKind::Row(table.id)];
        kinds.extend(wanted.iter().map(|c| RegKind::Value(self.rel(rel).columns[*c].1.clone())));
        let list = self.coll(CollKind::List, Vec::new(), kinds);
        self.for_references(rel, key, values, wanted, &mut |l| {
            let mut row = vec![l.row_reg(rel)];
            row.extend(wanted.iter().map(|c| l.column_reg(rel, *c)));
            l.emit(OpKind::Push { coll: list, values: row });
            Ok(())
        })?;
        let relation = self.rel_mut(rel);
        relation.regs.fill(None);
        relation.row = None;
        let mut columns = vec![self.row_reg(rel)];
        columns.extend(wanted.iter().map(|c| self.column_reg(rel, *c)).collect::<Vec<_>>());
        let label = self.label();
        let body = self.as_key(waiting, |l, waiting| {
            l.block(|l| l.with_rels(&[rel], &mut |l| l.remove_row(table, rel, waiting, &mut |_| Ok(()))))
        })?;
        self.emit(OpKind::ForEach { coll: list, columns, entry: None, label, body });
        Ok(())
    }

    /// Columns that deleting a row needs.
    pub(super) fn delete_needs(&self, table: &Table) -> Vec<usize> {
        if self.fires_at_rows(table, TriggerEvent::Delete, &[]) {
            return seen_by_triggers(table);
        }
        self.referenced_columns(table.id)
    }

    /// Deletes the present row of `target`, with everything its keys and triggers ask for; then, unless a trigger has kept
    /// it, `then`.
    pub(super) fn remove_row(
        &mut self,
        table: &Table,
        target: RelId,
        waiting: &mut Waiting,
        then: &mut dyn FnMut(&mut Lowerer<'_>) -> Result<()>,
    ) -> Result<()> {
        let needs = self.delete_needs(table);
        let old = self.row_values(target, &needs);
        let none: Values = vec![None; table.columns.len()];
        let changed = ChangedRow { event: TriggerEvent::Delete, named: &[], old: &old, new: &none };
        self.before_row(table, &changed, &mut |l, _, _| {
            l.check_untouched(table, &changed, target)?;
            let row = l.row_reg(target);
            l.emit(OpKind::Delete { table: table.id, row });
            l.row_deleted(table.id, &old, waiting)?;
            then(l)?;
            l.after_row(table, &changed, waiting)
        })
    }

    /// Sets the key of the rows that have these values in it: `value` gives what its columns become, by place, and
    /// whether that is known not to be NULL.
    fn update_children(
        &mut self,
        child: TableId,
        key: &ForeignKey,
        values: &[Reg],
        deleted: bool,
        value: &mut dyn FnMut(&mut Self, usize) -> Result<(Reg, bool)>,
        waiting: &mut Waiting,
    ) -> Result<()> {
        let table = self.catalog.table_by_id(child);
        let all = key.set_columns.is_empty() || !deleted;
        let changed: Vec<(usize, usize)> = (key.columns.iter().enumerate())
            .filter(|(_, c)| all || key.set_columns.contains(c))
            .map(|(at, c)| (at, c.index()))
            .collect();
        let columns: Vec<usize> = changed.iter().map(|(_, column)| *column).collect();
        let wanted = self.update_needs(table, &columns)?;
        self.key_acts(table, TriggerEvent::Update, &columns, waiting)?;
        // The rows first: changing them moves them within the index they are found by.
        let mut kinds = vec![RegKind::Row(child)];
        kinds.extend(wanted.iter().map(|c| RegKind::Value(table.columns[*c].ty.clone())));
        let list = self.coll(CollKind::List, Vec::new(), kinds);
        let rel = self.table_rel(child, "");
        self.for_references(rel, key, values, &wanted, &mut |l| {
            let mut row = vec![l.row_reg(rel)];
            row.extend(wanted.iter().map(|c| l.column_reg(rel, *c)));
            l.emit(OpKind::Push { coll: list, values: row });
            Ok(())
        })?;
        let relation = self.rel_mut(rel);
        relation.regs.fill(None);
        relation.row = None;
        let mut columns = vec![self.row_reg(rel)];
        columns.extend(wanted.iter().map(|c| self.column_reg(rel, *c)).collect::<Vec<_>>());
        let label = self.label();
        let body = self.as_key(waiting, |l, waiting| {
            l.block(|l| {
                let mut set = Vec::with_capacity(changed.len());
                for (at, column) in &changed {
                    let (reg, never_null) = value(l, *at)?;
                    set.push((*column, reg, never_null));
                }
                l.available.push(rel);
                let done = l.change_row(table, rel, &set, waiting, &mut |_, _| Ok(()));
                l.available.pop();
                done
            })
        })?;
        self.emit(OpKind::ForEach { coll: list, columns, entry: None, label, body });
        Ok(())
    }

    /// Emits changes that a key makes: their events always wait.
    fn as_key<R>(&mut self, waiting: &mut Waiting, f: impl FnOnce(&mut Self, &mut Waiting) -> R) -> R {
        waiting.acted = true;
        let single = std::mem::replace(&mut self.single_row, false);
        let outer = std::mem::replace(&mut waiting.by_key, true);
        let within = std::mem::replace(&mut self.within_key, true);
        let done = f(self, waiting);
        self.within_key = within;
        waiting.by_key = outer;
        self.single_row = single;
        done
    }

    // ---- the end of the statement ----

    /// A key whose parent is looked for when all rows are stored.
    pub(super) fn parent_later(
        &mut self,
        child: &Table,
        key: &ForeignKey,
        values: &[Reg],
        waiting: &mut Waiting,
    ) {
        if key.check == CheckTime::Deferred {
            return;
        }
        let same = |c: &&Check| c.key.name == key.name && c.child == child.id;
        let list = match waiting.checks.iter().find(same) {
            Some(check) => check.list,
            None => {
                let columns = key.columns.iter().map(|c| child.columns[c.index()].ty.clone());
                let list = self.waiting_list(columns.map(RegKind::Value).collect());
                waiting.checks.push(Check { child: child.id, key: key.clone(), list });
                list
            }
        };
        self.emit(OpKind::Push { coll: list, values: values.to_vec() });
    }

    /// Whether a row whose columns these are waits with its own keys, as others may change along with it.
    pub(super) fn keys_wait(&self, table: &Table, changed: &[usize], waiting: &Waiting) -> bool {
        waiting.by_key || !self.references(table.id, &Change::Updated(changed.to_vec())).is_empty()
    }

    /// Emits all that waits for the statement's end.
    pub(super) fn end_statement(&mut self, mut waiting: Waiting) -> Result<()> {
        let single = std::mem::replace(&mut self.single_row, false);
        let queued = !waiting.queues.is_empty();
        self.check_late_exclusions(&waiting)?;
        match self.with_own_triggers(&waiting) {
            Some(at) => self.run_with_triggers(at, &mut waiting)?,
            None => self.run_queues(&mut waiting)?,
        }
        if waiting.acted {
            self.check_late_exclusions(&waiting)?;
        }
        let followed = queued || waiting.acted;
        for Check { child, key, list } in &waiting.checks {
            self.unless_put_off(*child, &key.name, key.check, |l| {
                l.check_list(*child, key, *list, followed)
            })?;
        }
        self.kept.extend(waiting.made.iter().map(Made::of));
        match self.fires_late() {
            true => self.fire_later(waiting),
            false => self.fire_after(&waiting)?,
        }
        self.single_row = single;
        Ok(())
    }

    /// The rows that wait for triggers, where what keys ask for behind each row of the statement is done in turn with the AFTER ROW
    /// triggers of that row, as in PostgreSQL, for which keys are such triggers, too. Not where keys lead on from the rows that they
    /// change; nor in routines, as logs have calls in which all keys went first.
    fn with_own_triggers(&self, waiting: &Waiting) -> Option<usize> {
        let [Queue { table, .. }] = &waiting.queues[..] else { return None };
        let statement = self.program.kind == ProgramKind::Statement;
        let leads_on = |child: &Table| self.catalog.references_to(child.id).next().is_some();
        let on = self.catalog.references_to(*table).any(|(child, _)| leads_on(child));
        (statement && !on && !self.fires_late()).then(|| self.all_wait(*table, waiting)).flatten()
    }

    /// Whether all rows of a statement are put into the queue of its AFTER ROW triggers, whatever their conditions say: keys may take
    /// turns with them.
    pub(super) fn all_are_put(&self, table: TableId) -> bool {
        self.program.kind == ProgramKind::Statement && self.catalog.references_to(table).next().is_some()
    }

    /// For each row of the statement: its AFTER ROW triggers, and among them, by name, what keys ask for.
    fn run_with_triggers(&mut self, at: usize, waiting: &mut Waiting) -> Result<()> {
        let fired = waiting.fired.remove(at);
        let Queue { table, change, .. } = waiting.queues[0].clone();
        let definition = self.catalog.table_by_id(table);
        waiting.current = Some(0);
        self.for_waiting_rows(&fired, &mut |l, event, triggers, flags, old, new| {
            let first = triggers.iter().take_while(|t| *t.name < *KEYS_TRIGGER).count();
            let (first, then) = triggers.split_at(first);
            l.call_after(definition, event, first, flags, old, new, &[])?;
            l.follow(table, &change, old, new, true, waiting)?;
            l.call_after(definition, event, then, flags, old, new, &[])
        })?;
        waiting.current = None;
        Ok(())
    }

    fn run_queues(&mut self, waiting: &mut Waiting) -> Result<()> {
        let mut bodies: Vec<(Coll, Vec<Reg>, Block)> = Vec::new();
        // The code of one queue may ask for more.
        while let Some(queue) = waiting.queues.get(bodies.len()).cloned() {
            waiting.current = Some(bodies.len());
            let table = self.catalog.table_by_id(queue.table);
            let mut columns = Vec::new();
            let mut fresh = |l: &mut Self| {
                let mut row: Values = vec![None; table.columns.len()];
                for column in &queue.columns {
                    let reg = l.temp(table.columns[*column].ty.clone());
                    row[*column] = Some(reg);
                    columns.push(reg);
                }
                row
            };
            let old = fresh(self);
            let new = if queue.change == Change::Deleted { old.clone() } else { fresh(self) };
            let body = self.block(|l| l.follow(queue.table, &queue.change, &old, &new, true, waiting))?;
            bodies.push((queue.list, columns, body));
        }
        waiting.current = None;
        if !waiting.circle {
            for (coll, columns, body) in bodies {
                let label = self.label();
                self.emit(OpKind::ForEach { coll, columns, entry: None, label, body });
            }
            return Ok(());
        }
        let more = self.temp(Type::Bool);
        let (no, yes) = (self.truth(false), self.truth(true));
        let around = self.label();
        let rounds = self.block(|l| {
            l.copy(more, no);
            for (coll, columns, body) in bodies {
                // What this round adds to the list is for the next.
                let kinds = l.program.colls[coll.index()].values.clone();
                let work = l.coll(CollKind::List, Vec::new(), kinds);
                let label = l.label();
                let take = l.block(|l| {
                    l.copy(more, yes);
                    l.emit(OpKind::Push { coll: work, values: columns.clone() });
                    Ok(())
                })?;
                l.emit(OpKind::ForEach { coll, columns: columns.clone(), entry: None, label, body: take });
                l.emit(OpKind::Clear { coll });
                let label = l.label();
                l.emit(OpKind::ForEach { coll: work, columns, entry: None, label, body });
            }
            l.unless(more, |l| {
                l.emit(OpKind::Exit { label: around });
                Ok(())
            })
        })?;
        self.emit(OpKind::Loop { label: around, body: rounds });
        Ok(())
    }

    /// Each key of a list has a parent; where keys have changed rows since (`followed`), unless no row has it any
    /// more.
    fn check_list(&mut self, child: TableId, key: &ForeignKey, list: Coll, followed: bool) -> Result<()> {
        let table = self.catalog.table_by_id(child);
        let columns: Vec<Reg> =
            key.columns.iter().map(|c| self.temp(table.columns[c.index()].ty.clone())).collect();
        let label = self.label();
        let body = self.block(|l| {
            if !followed {
                return l.check_parent_now(table, key, &columns, &columns);
            }
            let null = l.any_null(&columns);
            l.unless(null, |l| {
                let there = l.parent_values(table, key, &columns);
                let missing = l.parent_missing(key, &there, ReadMode::Parent)?;
                l.when(missing, |l| {
                    let found = l.child_found(child, key, &there)?;
                    l.raising(found, |l| l.raise_orphan(table, key, &columns))
                })
            })
        })?;
        self.emit(OpKind::ForEach { coll: list, columns, entry: None, label, body });
        Ok(())
    }
}

fn values_of(row: &Values, columns: &[usize]) -> Result<Vec<Reg>> {
    let loaded = |c: &usize| row[*c].ok_or_else(|| Error::internal("a referenced column was not loaded"));
    columns.iter().map(loaded).collect()
}
