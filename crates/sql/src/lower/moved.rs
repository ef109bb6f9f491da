//! Rows of partitioned tables that triggers see.
//!
//! ```text
//!  INSERT:  some partition takes the row? else 23514  ->  BEFORE INSERT, each: still in that partition? else 0A000
//!  UPDATE:  BEFORE UPDATE  ->  in another partition now?
//!             no:   Update                                                               ->  AFTER UPDATE
//!             yes:  BEFORE DELETE  ->  some partition takes it?  ->  BEFORE INSERT  ->  Update  ->  AFTER DELETE, AFTER INSERT
//! ```
//!
//! To storage a row that moves is updated, as partitions have no rows of their own; to triggers it is deleted and inserted. The
//! transition tables of the UPDATE have it. Tables with triggers of former versions go on as they did
//! ([`planaria_catalog::Trigger::routes_first`]).

use super::Lowerer;
use super::bound::{Bound, BoundKind, RelId};
use super::constraint::Values;
use super::referential::Waiting;
use super::trigger::ChangedRow;
use planaria_base::text_io::quote_literal;
use planaria_base::{Datum, Result, SqlState, Type};
use planaria_catalog::{Catalog, Table, Transition, Trigger, TriggerEvent, TriggerTime};
use planaria_ir::verify::comparable;
use planaria_ir::{ErrorFields, Func, OpKind, ProgramKind, Reg};

/// The partition that a row was to be in before its triggers fired.
pub(super) struct Routed {
    /// As messages have it.
    pub(super) partition: Reg,
    /// Triggers that set these columns may have moved it; `None`: whatever they set, as a partition was named.
    columns: Option<Vec<usize>>,
    /// Its name alone, where triggers of its own may have moved it.
    relation: Option<Reg>,
}

impl<'c> Lowerer<'c> {
    /// Whether triggers of rows see which partition a row is in.
    fn routes_first(&self, table: &Table) -> bool {
        let all = || table.triggers.iter().chain(self.partition_triggers(table)).filter(|t| t.each_row);
        table.is_partitioned()
            && table.partition.is_none()
            && all().next().is_some()
            && all().all(|t| t.routes_first)
    }

    /// Whether the partition of a row that is inserted is found before anything fires at it.
    pub(super) fn routes_before_triggers(&self, table: &Table) -> bool {
        self.routes_first(table) && self.fires_before(table, TriggerEvent::Insert, &[])
    }

    /// The columns that the partition of a row depends on: all, where keys are expressions.
    fn routing_columns(&self, table: &Table) -> Vec<usize> {
        let mut partitioned = vec![table.id];
        for (leaf, _) in table.leaves() {
            partitioned.extend(self.catalog.partition_ancestors(*leaf));
        }
        partitioned.sort_unstable();
        partitioned.dedup();
        let mut all = Vec::new();
        for of in partitioned {
            for key in self.catalog.table_by_id(of).partitioning.iter().flat_map(|p| &p.keys) {
                match key.column.as_ref().and_then(|name| table.column(name)) {
                    Some((id, _)) => all.push(id.index()),
                    None => all.extend(table.visible().map(|(id, _)| id.index())),
                }
            }
        }
        all.sort_unstable();
        all.dedup();
        all
    }

    /// The partition without partitions that the statement names, if it is one of this table.
    pub(super) fn leaf_within(&self, table: &Table) -> Option<&'c Table> {
        let leaf = self.catalog.table_by_id(self.within?);
        let root = self.catalog.partition_root(leaf.id).id;
        (!leaf.is_partitioned() && root == table.id && leaf.id != root).then_some(leaf)
    }

    /// Whether an UPDATE of these columns may move rows that triggers see. Who names a partition without partitions moves none.
    pub(super) fn may_move(&self, table: &Table, named: &[usize]) -> bool {
        if self.leaf_within(table).is_some() || !self.routes_first(table) {
            return false;
        }
        let mut changed = named.to_vec();
        for trigger in self.fired(table, TriggerEvent::Update, named, TriggerTime::Before, true) {
            changed.extend(self.assigned_by(table, &trigger));
        }
        self.routing_columns(table).iter().any(|c| changed.contains(c))
    }

    /// The columns that tell whether ON CONFLICT DO UPDATE, which sets these, moves its row to another partition; none where it cannot,
    /// or where nobody asks: routines may move rows so, as logs have calls that did.
    pub(super) fn told_by(&self, table: &Table, set: &[usize]) -> Vec<usize> {
        let statement = self.program.kind == ProgramKind::Statement;
        if !statement || !table.is_partitioned() {
            return Vec::new();
        }
        let columns = self.routing_columns(table);
        if columns.iter().any(|c| set.contains(c)) { columns } else { Vec::new() }
    }

    /// Whether BEFORE UPDATE triggers have a say in what ON CONFLICT DO UPDATE, which sets these, does to a row of a partitioned table.
    pub(super) fn told_by_triggers(&self, table: &Table, set: &[usize]) -> bool {
        let statement = self.program.kind == ProgramKind::Statement;
        statement && self.may_move(table, set) && self.fires_before(table, TriggerEvent::Update, set)
    }

    /// 0A000 where ON CONFLICT DO UPDATE is about to move a row to another partition, or to where there is none.
    pub(super) fn check_upsert_stays(
        &mut self,
        table: &Table,
        existing: RelId,
        set: &[(usize, Reg, bool)],
    ) -> Result<()> {
        let named: Vec<usize> = set.iter().map(|(c, ..)| *c).collect();
        let columns = self.told_by(table, &named);
        if columns.is_empty() {
            return Ok(());
        }
        let old = self.row_values(existing, &columns);
        let mut new = old.clone();
        for (column, reg, _) in set {
            new[*column] = Some(self.exactly(*reg, &table.columns[*column].ty));
        }
        let (was, is) = (self.partition_of(table, &old)?, self.partition_of(table, &new)?);
        let moved = self.apply(Func::Distinct, vec![was, is], Type::Bool);
        self.raising(moved, |l| {
            let detail = "The result tuple would appear in a different partition than the original tuple.";
            let detail = l.constant(Datum::Text(detail.to_owned()), Type::Text);
            let fields = ErrorFields { detail: Some(detail), ..ErrorFields::default() };
            l.raise(SqlState::FEATURE_NOT_SUPPORTED, "invalid ON UPDATE specification".to_owned(), fields);
            Ok(())
        })
    }

    /// The columns that BEFORE INSERT triggers may set.
    pub(super) fn assigned_by_inserts(&self, table: &Table) -> Vec<usize> {
        let fired = self.fired(table, TriggerEvent::Insert, &[], TriggerTime::Before, true);
        let mut all: Vec<usize> = fired.iter().flat_map(|t| self.assigned_by(table, t)).collect();
        all.sort_unstable();
        all.dedup();
        all
    }

    /// What the partition of a row depends on, in the types of the columns.
    pub(super) fn routing_values(&mut self, table: &Table, row: &Values) -> Values {
        let mut regs: Values = vec![None; table.columns.len()];
        for column in self.routing_columns(table) {
            regs[column] = row[column].map(|reg| self.exactly(reg, &table.columns[column].ty));
        }
        regs
    }

    /// The partition of a row; the empty text where none takes it.
    fn partition_of(&mut self, table: &Table, row: &Values) -> Result<Reg> {
        let catalog = self.catalog;
        self.of_leaf(table, row, &|leaf| full_name(catalog, leaf))
    }

    /// A text for the leaf that a row is of; the empty text where there is none.
    fn of_leaf(&mut self, table: &Table, row: &Values, name: &dyn Fn(&Table) -> String) -> Result<Reg> {
        if table.leaves().is_empty() {
            return Ok(self.constant(Datum::Text(String::new()), Type::Text));
        }
        let shadow = self.shadow_rel(table, &table.name);
        self.rel_mut(shadow).regs = self.routing_values(table, row);
        self.available.push(shadow);
        let name = |id| quote_literal(&name(self.catalog.table_by_id(id)));
        let whens: Vec<String> =
            table.leaves().iter().map(|(id, c)| format!("WHEN {c} THEN {}", name(*id))).collect();
        let e = self.bind_over_row(table, shadow, &format!("CASE {} ELSE '' END", whens.join(" ")))?;
        let e = self.operand(e, &Type::Text)?;
        let value = self.value(&e);
        self.available.pop();
        value
    }

    /// 23514 where no partition takes a row.
    pub(super) fn check_proposed(&mut self, table: &Table, row: &Values) -> Result<()> {
        let shadow = self.shadow_rel(table, &table.name);
        let row = self.routing_values(table, row);
        self.rel_mut(shadow).regs = row.clone();
        self.available.push(shadow);
        let done = self.check_routes(table, shadow, None, &mut |_| row.clone());
        self.available.pop();
        done
    }

    /// What is remembered of a row that is inserted while its triggers fire; `None` where they cannot move it.
    pub(super) fn routed(&mut self, table: &Table, row: &ChangedRow<'_>) -> Result<Option<Routed>> {
        if row.event != TriggerEvent::Insert || !self.routes_before_triggers(table) {
            return Ok(None);
        }
        if let Some(leaf) = self.leaf_within(table) {
            let name = full_name(self.catalog, leaf);
            let partition = self.constant(Datum::Text(name), Type::Text);
            return Ok(Some(Routed { partition, columns: None, relation: None }));
        }
        let (columns, assigned) = (self.routing_columns(table), self.assigned_by_inserts(table));
        if !columns.iter().any(|c| assigned.contains(c)) {
            return Ok(None);
        }
        let partition = self.partition_of(table, row.new)?;
        let fired = self.fired(table, TriggerEvent::Insert, &[], TriggerTime::Before, true);
        let own = fired.iter().any(|t| {
            let sets = self.assigned_by(table, t);
            self.of_partition(table, t).is_some() && columns.iter().any(|c| sets.contains(c))
        });
        let relation = own.then(|| self.of_leaf(table, row.new, &|leaf| leaf.name.clone())).transpose()?;
        Ok(Some(Routed { partition, columns: Some(columns), relation }))
    }

    /// Of a row that a partition was named for, the columns that a trigger may set as they are before it fires: one that leaves the row as it
    /// was does not move it, wherever it belongs.
    pub(super) fn before_trigger(
        &mut self,
        table: &Table,
        routed: Option<&Routed>,
        trigger: &Trigger,
        new: &Values,
    ) -> Option<Values> {
        routed.filter(|routed| routed.columns.is_none())?;
        let mut was: Values = vec![None; new.len()];
        for column in self.assigned_by(table, trigger) {
            let Some(reg) = new[column] else { continue };
            let ty = super::trigger::value_type(&table.columns[column].ty);
            if comparable(&ty, &ty) {
                let kept = self.temp(ty);
                self.copy(kept, reg);
                was[column] = Some(kept);
            }
        }
        Some(was)
    }

    /// 23514 where the triggers of a partition have made of a row what is not within its bounds.
    pub(super) fn check_routed(&mut self, table: &Table, routed: &Routed, new: &Values) -> Result<()> {
        let Some(relation) = routed.relation else { return Ok(()) };
        let now = self.partition_of(table, new)?;
        let moved = self.apply(Func::Distinct, vec![routed.partition, now], Type::Bool);
        self.raising(moved, |l| {
            let detail = l.failing_row(table, new)?;
            let fields = ErrorFields { detail, ..ErrorFields::default() };
            let around = ("new row for relation \"", "\" violates partition constraint");
            l.raise_of_row(SqlState::CHECK_VIOLATION, table, Some(relation), around, fields)
        })
    }

    /// 0A000 where a trigger has moved a row that is inserted. `was`: of [`Lowerer::before_trigger`].
    pub(super) fn check_stays(
        &mut self,
        table: &Table,
        routed: &Routed,
        trigger: &Trigger,
        new: &Values,
        was: Option<&Values>,
    ) -> Result<()> {
        let assigned = self.assigned_by(table, trigger);
        let concerned = |c: &usize| routed.columns.as_ref().is_none_or(|columns| columns.contains(c));
        if !assigned.iter().any(concerned) {
            return Ok(());
        }
        let now = self.partition_of(table, new)?;
        let mut moved = self.apply(Func::Distinct, vec![routed.partition, now], Type::Bool);
        if let Some(was) = was {
            let mut changed = self.truth(false);
            for (was, is) in was.iter().zip(new).filter_map(|(was, is)| was.zip(*is)) {
                let differs = self.apply(Func::Distinct, vec![was, is], Type::Bool);
                changed = self.apply(Func::Or, vec![changed, differs], Type::Bool);
            }
            moved = self.apply(Func::And, vec![moved, changed], Type::Bool);
        }
        self.raising(moved, |l| {
            let text = |t: String| Bound::constant(Datum::Text(t), Type::Text, 0);
            let before =
                format!("Before executing trigger \"{}\", the row was to be in partition \"", trigger.name);
            let was = Bound::new(BoundKind::Reg(routed.partition), Type::Text, 0);
            let parts = vec![text(before), was, text("\".".to_owned())];
            let detail = l.value(&Bound::apply(Func::Concat, parts, Type::Text, 0))?;
            let message =
                "moving row to another partition during a BEFORE FOR EACH ROW trigger is not supported";
            let fields = ErrorFields { detail: Some(detail), ..ErrorFields::default() };
            l.raise(SqlState::FEATURE_NOT_SUPPORTED, message.to_owned(), fields);
            Ok(())
        })
    }

    /// Stores an UPDATE's row that BEFORE UPDATE triggers have seen, and which may have moved. `old`: the row as it was, `row`: as
    /// they leave it; `set`: what is stored of it.
    #[allow(clippy::too_many_arguments)]
    pub(super) fn store_moving(
        &mut self,
        table: &Table,
        target: RelId,
        named: &[usize],
        (old, row): (&Values, &Values),
        set: &[(usize, Reg, bool)],
        waiting: &mut Waiting,
        then: &mut dyn FnMut(&mut Lowerer<'_>, &Values) -> Result<()>,
    ) -> Result<()> {
        let none: Values = vec![None; table.columns.len()];
        let (was, is) = (self.partition_of(table, old)?, self.partition_of(table, row)?);
        let moved = self.apply(Func::Distinct, vec![was, is], Type::Bool);
        let (mut new, mut set) = (row.clone(), set.to_vec());
        let computed: Vec<usize> =
            table.visible().filter(|(_, c)| c.generated().is_some()).map(|(id, _)| id.index()).collect();
        for column in self.assigned_by_inserts(table) {
            let ty = super::trigger::value_type(&table.columns[column].ty);
            let reg = self.temp(ty.clone());
            let src = match new[column] {
                Some(reg) => self.exactly(reg, &ty),
                None => self.constant(Datum::Null, ty),
            };
            self.copy(reg, src);
            new[column] = Some(reg);
            set.retain(|(c, ..)| *c != column);
            set.push((column, reg, false));
        }
        let (stored, gone) = (self.temp(Type::Bool), self.temp(Type::Bool));
        let (no, yes) = (self.truth(false), self.truth(true));
        self.copy(stored, yes);
        self.copy(gone, no);
        let leaves = ChangedRow { event: TriggerEvent::Delete, named: &[], old, new: &none };
        self.when(moved, |l| {
            l.copy(stored, no);
            l.before_row(table, &leaves, &mut |l, _, _| {
                l.check_untouched(table, &leaves, target)?;
                l.check_proposed(table, &new)?;
                l.copy(gone, yes);
                // What is generated is there, as it was to be stored.
                let mut seen = new.clone();
                l.generate_row(table, &mut seen, &computed)?;
                let comes = ChangedRow { event: TriggerEvent::Insert, named: &[], old: &none, new: &seen };
                l.before_row_known(table, &comes, &mut |l, row, assigned| {
                    for column in assigned {
                        if let (Some(dst), Some(src)) = (new[*column], row[*column]) {
                            l.copy(dst, src);
                        }
                    }
                    l.copy(gone, no);
                    l.copy(stored, yes);
                    Ok(())
                })
            })
        })?;
        // A trigger has kept it from being inserted: it was deleted.
        self.when(gone, |l| {
            let row = l.row_reg(target);
            l.emit(OpKind::Delete { table: table.id, row });
            l.row_deleted(table.id, old, waiting)?;
            let changed = ChangedRow { event: TriggerEvent::Update, named, old, new: &none };
            l.keep_transition(table, &changed, Some(Transition::Old), &mut waiting.made)?;
            l.after_event(table, &leaves, waiting)
        })?;
        self.when(stored, |l| {
            let (stored, merged) = l.store_change(table, target, named, &set, waiting)?;
            then(l, &stored)?;
            let changed = ChangedRow { event: TriggerEvent::Update, named, old, new: &merged };
            l.keep_row(table, &changed, waiting)?;
            let comes = ChangedRow { event: TriggerEvent::Insert, named: &[], old: &none, new: &merged };
            l.when(moved, |l| {
                l.after_event(table, &leaves, waiting)?;
                l.after_event(table, &comes, waiting)
            })?;
            l.unless(moved, |l| l.after_event(table, &changed, waiting))
        })
    }
}

/// As messages about triggers have it.
pub(super) fn full_name(catalog: &Catalog, leaf: &Table) -> String {
    format!("{}.{}", catalog.schema_name(leaf.schema), leaf.name)
}
