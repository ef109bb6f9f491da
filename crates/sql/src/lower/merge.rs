//! MERGE.
//!
//! ```text
//!  source [LEFT] JOIN target  ->  rows found  ->  for each: the first WHEN that applies -> INSERT | UPDATE | DELETE
//! ```
//!
//! All rows are found before the first is changed, unless there is one at most. Which WHEN applies to a row and what it
//! is given is computed when its turn comes, as PostgreSQL does. Expressions that read the table are computed for all rows
//! before the first change: they see the table as it was.

use super::bound::{Body, Bound, BoundKind, BoundQuery, Item, RelId, RelKind};
use super::constraint::Values;
use super::dml::Returning;
use super::emit_join::Carried;
use super::insert::Rows;
use super::names::Names;
use super::plan::{JoinPlan, Source, is_single};
use super::policy::MergeChecks;
use super::proposed::Proposed;
use super::referential::Waiting;
use super::rights::AccessId;
use super::trigger::Own;
use super::updatable::{Target, ViewCheck};
use super::update::Multiple;
use super::{Lowerer, Scope, Typed};
use planaria_base::{Datum, Error, Result, SqlState, Type};
use planaria_catalog::{Privileges, Table, TriggerEvent, TriggerTime};
use planaria_ir::{Coll, CollDecl, CollKind, ErrorFields, Func, OpKind, Reg, RegKind};
use planaria_syntax::ast::{Expr, Merge, MergeAction, MergeWhen};

/// WHEN, bound.
struct When {
    matched: bool,
    condition: Option<Bound>,
    action: Action,
}

enum Action {
    Nothing,
    Update {
        set: Vec<(usize, Bound)>,
        multiple: Vec<Multiple>,
    },
    Delete,
    /// Values for these columns.
    Insert {
        given: Vec<usize>,
        values: Vec<Bound>,
    },
}

impl Action {
    /// The columns that it computes values for.
    fn columns(&self) -> Vec<usize> {
        match self {
            Action::Update { set, .. } => set.iter().map(|(column, _)| *column).collect(),
            Action::Insert { given, .. } => given.clone(),
            Action::Nothing | Action::Delete => Vec::new(),
        }
    }

    /// What it computes.
    fn expressions(&mut self) -> Vec<&mut Bound> {
        match self {
            Action::Update { set, .. } => set.iter_mut().map(|(_, e)| e).collect(),
            Action::Insert { values, .. } => values.iter_mut().collect(),
            Action::Nothing | Action::Delete => Vec::new(),
        }
    }

    fn event(&self) -> Option<TriggerEvent> {
        match self {
            Action::Nothing => None,
            Action::Update { .. } => Some(TriggerEvent::Update),
            Action::Delete => Some(TriggerEvent::Delete),
            Action::Insert { .. } => Some(TriggerEvent::Insert),
        }
    }
}

/// A MERGE whose rows are being changed.
struct Merging<'a> {
    place: &'a Target<'a>,
    table: &'a Table,
    target: RelId,
    /// The relation of rows as they are inserted.
    shadow: RelId,
    whens: &'a [When],
    /// What policies ask of the rows that are changed.
    checks: &'a MergeChecks,
    /// That a row is within the bounds of the partition that the statement names: one that is updated, and one that is inserted.
    bounds: [Vec<ViewCheck>; 2],
    /// There is one row at most.
    single: bool,
    count: Reg,
    /// Keys of the rows that were changed.
    seen: Option<Coll>,
}

/// Which WHEN a row takes, and the values that go with each.
struct Choice {
    number: Reg,
    values: Vec<Vec<Reg>>,
}

impl Lowerer<'_> {
    pub(super) fn emit_merge(&mut self, scope: &Scope, merge: &Merge) -> Result<Reg> {
        check_reached(merge)?;
        let place = self.target(&merge.table, "merge")?;
        let outer = std::mem::replace(&mut self.within, place.partition());
        let done = self.emit_merge_into(scope, merge, &place);
        self.within = outer;
        done
    }

    fn emit_merge_into(&mut self, scope: &Scope, merge: &Merge, place: &Target<'_>) -> Result<Reg> {
        let table = place.table;
        let alias = merge.alias.as_deref().unwrap_or(place.name()).to_owned();
        let mut level = Names::of(scope);
        self.push_frame();
        self.bind_with(&mut level, &merge.with, false)?;
        let accesses = self.require_actions(place, merge);
        let target = self.table_rel(table.id, &alias);
        self.rel_mut(target).row_used = true;
        let from = std::slice::from_ref(&merge.source);
        let (source, mut filter, _) = self.outside("USING", |l| l.bind_from(&mut level, from))?;
        if level.source_here(&alias).is_some() {
            let message = format!("name \"{alias}\" specified more than once");
            return Err(Error::new(SqlState::DUPLICATE_ALIAS, message)
                .with_detail("The name is used both as MERGE target table and data source.")
                .at(merge.table.position));
        }
        let mut beside = Names::new(level.outer, level.scope, level.ctes.clone());
        beside.sources.clone_from(&level.sources);
        // Of a partition: the conditions of its bounds.
        let (mut own, mut within) = match place.partition() {
            Some(_) => self.target_source(place, target, &alias)?,
            None => {
                let mut own = self.source_of(target, &alias);
                self.track_target(place, target, &mut own);
                (own, Vec::new())
            }
        };
        own.relation = (alias != place.name()).then(|| place.name().to_owned());
        level.sources.push(own);
        let mut on = Vec::new();
        let condition = |l: &mut Self| l.bind_condition(&level, &merge.on, "JOIN/ON");
        self.outside("JOIN conditions", condition)?.conjuncts(&mut on);
        let mut items = source.clone();
        items.push(Item::Rel(target));
        on.append(&mut within);
        self.per_row(&mut on, &items);
        if merge.whens.iter().any(|when| !when.matched) {
            self.rel_mut(target).nullable = true;
            let requires = self.rels_of(&source);
            items = source;
            items.push(Item::Outer { right: vec![Item::Rel(target)], on, requires });
        } else {
            filter.extend(on);
        }
        self.push_down(&items, &mut filter)?;
        let mut whens = self.bind_whens(&level, &beside, place, &alias, merge)?;
        for (when, access) in whens.iter().zip(accesses) {
            self.note_columns(place, &access, when.action.columns());
        }
        self.require_reads(place, target);
        let shadow = self.shadow_rel(table, &alias);
        let (visible, checks) = self.secure_merge(place, target, shadow)?;
        let bounds = [self.target_checks(place, target)?, self.target_checks(place, shadow)?];
        match items.last_mut() {
            Some(Item::Outer { on, .. }) if merge.whens.iter().any(|when| !when.matched) => {
                on.extend(visible)
            }
            _ => filter.extend(visible),
        }
        self.name_all_updated(table, target, &mut whens);
        self.read_as_before(&items, Some(target), &mut filter)?;
        // Uses of columns.
        filter.iter_mut().for_each(|e| self.count(e));
        for when in &mut whens {
            when.condition.iter_mut().for_each(|e| self.count(e));
            if let Action::Update { multiple, .. } = &mut when.action {
                multiple.iter_mut().for_each(|m| self.count_multiple(m));
            }
            when.action.expressions().into_iter().for_each(|e| self.count(e));
        }
        self.count_items(&items);
        let mut needs = Vec::new();
        for when in &whens {
            match &when.action {
                Action::Update { .. } => needs.extend(self.update_needs(table, &when.action.columns())?),
                Action::Delete => needs.extend(self.delete_needs(table)),
                Action::Insert { .. } | Action::Nothing => {}
            }
        }
        for column in needs {
            self.rel_mut(target).uses[column] += 1;
        }
        self.use_key(table, target);
        let early = self.reads_early(table, &whens);
        let plan = self.plan_group(&items, &filter, &[])?;
        let single = self.finds_one(&plan);
        self.note_on("Merge", &table.name);
        let depth = self.explains.depth;
        self.explains.depth += 1;
        let count = self.counter();
        let own = may_do(table, &whens);
        for Own { event, named, .. } in own.iter().rev() {
            self.fire_statement(table, *event, named, TriggerTime::Before, &[])?;
        }
        let before = std::mem::replace(&mut self.single_row, single);
        let seen = if single { None } else { Some(self.changed_keys(table)?) };
        let merging = Merging {
            place,
            table,
            target,
            shadow,
            whens: &whens,
            checks: &checks,
            bounds,
            single,
            count,
            seen,
        };
        let mut waiting = Waiting::default();
        waiting.own = own;
        if single {
            self.emit_plan(&plan, &mut |l| l.merge_row(&merging, &mut waiting))?;
        } else {
            let rels = self.rels_of(&items);
            self.merge_rows(&merging, &plan, &rels, early, &mut waiting)?;
        }
        self.end_statement(waiting)?;
        self.single_row = before;
        self.explains.depth = depth;
        self.pop_frame();
        Ok(count)
    }

    // ---- binding ----

    /// Answers with the accesses of each WHEN whose columns are to be said.
    fn require_actions(&mut self, place: &Target<'_>, merge: &Merge) -> Vec<Vec<Option<AccessId>>> {
        if merge.whens.iter().all(|when| when.action == MergeAction::Nothing) {
            self.require_target(place, Privileges::SELECT);
        }
        let mut access_of = |when: &MergeWhen| match when.action {
            MergeAction::Nothing => Vec::new(),
            MergeAction::Update(_) => self.require_target(place, Privileges::UPDATE),
            MergeAction::Delete => self.require_target(place, Privileges::DELETE),
            MergeAction::Insert(_) => self.require_target(place, Privileges::INSERT),
        };
        merge.whens.iter().map(&mut access_of).collect()
    }

    /// Binds all WHEN: over both sides, or the source alone (`beside`).
    fn bind_whens(
        &mut self,
        both: &Names<'_>,
        beside: &Names<'_>,
        place: &Target<'_>,
        alias: &str,
        merge: &Merge,
    ) -> Result<Vec<When>> {
        let mut whens = Vec::with_capacity(merge.whens.len());
        for when in &merge.whens {
            let names = if when.matched { both } else { beside };
            let mut bind = || {
                let condition = match &when.condition {
                    Some(e) => Some(self.bind_when(names, e)?),
                    None => None,
                };
                let action = match &when.action {
                    MergeAction::Nothing => Action::Nothing,
                    MergeAction::Delete => Action::Delete,
                    MergeAction::Update(set) => {
                        let (set, multiple) = self.bind_set(names, place, set)?;
                        Action::Update { set, multiple }
                    }
                    MergeAction::Insert(insert) => {
                        let mut given = self.given_columns(place, insert)?;
                        match self.bind_rows(names, place, insert, &mut given)? {
                            Rows::One(values) => Action::Insert { given, values },
                            _ => return Err(Error::internal("MERGE inserts one row")),
                        }
                    }
                };
                Ok(When { matched: when.matched, condition, action })
            };
            let bound = bind();
            whens.push(if when.matched {
                bound?
            } else {
                bound.map_err(|e| unseen(e, place.table, alias))?
            });
        }
        Ok(whens)
    }

    fn bind_when(&mut self, names: &Names<'_>, e: &Expr) -> Result<Bound> {
        self.outside("MERGE WHEN conditions", |l| l.bind_condition(names, e, "WHEN"))
    }

    /// To triggers of certain columns, every UPDATE of a MERGE is one of all columns that any of them sets. So each sets
    /// those of the others to what they are.
    fn name_all_updated(&self, table: &Table, target: RelId, whens: &mut [When]) {
        let mut triggers = table.triggers.iter().chain(self.partition_triggers(table));
        if triggers.all(|t| t.columns.is_empty()) {
            return;
        }
        let named = updated(whens);
        for when in whens {
            let Action::Update { set, .. } = &mut when.action else { continue };
            for column in &named {
                if !set.iter().any(|(c, _)| c == column) && table.columns[*column].generated().is_none() {
                    let ty = table.columns[*column].ty.clone();
                    let kept = BoundKind::Column(target, *column);
                    set.push((*column, Bound::new(kept, ty, 0)));
                }
            }
        }
    }

    // ---- rows ----

    /// Whether the source has one row at most, and so few rows of the target join it.
    fn finds_one(&self, plan: &JoinPlan) -> bool {
        plan.steps.iter().all(|step| {
            is_single(&step.source)
                || matches!(&step.source, Source::Produce { rel, .. } if match &self.rel(*rel).kind {
                    RelKind::Row(_) => true,
                    RelKind::Query(query) => gives_one_row(query),
                    _ => false,
                })
        })
    }

    /// Whether an expression reads the table, and so is to be computed before the first change.
    fn reads_early(&mut self, table: &Table, whens: &[When]) -> bool {
        let mut all: Vec<Bound> = Vec::new();
        for when in whens {
            all.extend(when.condition.clone());
            match &when.action {
                Action::Update { set, multiple } => {
                    all.extend(set.iter().map(|(_, e)| e.clone()));
                    all.extend(multiple.iter().map(Multiple::probe));
                }
                Action::Insert { values, .. } => all.extend(values.clone()),
                Action::Delete | Action::Nothing => {}
            }
        }
        all.iter().any(|e| self.reads_table(e, table.id))
    }

    /// The map of keys of changed rows, emptied where the statement begins.
    fn changed_keys(&mut self, table: &Table) -> Result<Coll> {
        let kind = |c: &planaria_base::ColumnId| RegKind::Value(table.columns[c.index()].ty.clone());
        let keys = table.indexes[0].columns.iter().map(kind).collect();
        let seen = self.program.coll(CollDecl { kind: CollKind::Map, keys, values: Vec::new() });
        self.at_frame(0, |l| {
            l.emit(OpKind::Clear { coll: seen });
            Ok(())
        })?;
        Ok(seen)
    }

    /// Finds all rows, then changes them; `early`: computes all that they are given between.
    fn merge_rows(
        &mut self,
        merging: &Merging<'_>,
        plan: &JoinPlan,
        rels: &[RelId],
        early: bool,
        waiting: &mut Waiting,
    ) -> Result<()> {
        let carried = self.carried(rels);
        let kinds: Vec<RegKind> = carried.iter().map(|c| c.kind.clone()).collect();
        let list = self.coll(CollKind::List, Vec::new(), kinds.clone());
        self.emit_plan(plan, &mut |l| {
            let values = l.carried_regs(&carried);
            l.emit(OpKind::Push { coll: list, values });
            Ok(())
        })?;
        if !early {
            return self.for_found(list, rels, &carried, Vec::new(), &mut |l| l.merge_row(merging, waiting));
        }
        let choice = self.choice(merging);
        let mut all = vec![RegKind::Value(Type::Int4)];
        for reg in choice.values.iter().flatten() {
            all.push(self.program.kind_of(*reg).clone());
        }
        all.extend(kinds);
        let computed = self.coll(CollKind::List, Vec::new(), all);
        self.for_found(list, rels, &carried, Vec::new(), &mut |l| {
            l.choose(merging, &choice)?;
            let mut values = vec![choice.number];
            values.extend(choice.values.iter().flatten());
            values.extend(l.carried_regs(&carried));
            l.emit(OpKind::Push { coll: computed, values });
            Ok(())
        })?;
        let choice = self.choice(merging);
        let mut front = vec![choice.number];
        front.extend(choice.values.iter().flatten());
        self.for_found(computed, rels, &carried, front, &mut |l| {
            for (at, (when, values)) in merging.whens.iter().zip(&choice.values).enumerate() {
                let number = l.constant(Datum::Int(at as i64), Type::Int4);
                let chosen = l.apply(Func::IntEq, vec![choice.number, number], Type::Bool);
                l.when(chosen, |l| l.merge_action(merging, &when.action, values, waiting))?;
            }
            Ok(())
        })
    }

    /// Goes through rows that were found; `front`: registers of what stands before them in the list.
    fn for_found(
        &mut self,
        list: Coll,
        rels: &[RelId],
        carried: &[Carried],
        front: Vec<Reg>,
        then: &mut dyn FnMut(&mut Lowerer<'_>) -> Result<()>,
    ) -> Result<()> {
        let mut columns = front;
        columns.extend(self.renew(carried));
        let label = self.label();
        let body = self.block(|l| l.with_rels(rels, &mut |l| then(l)))?;
        self.emit(OpKind::ForEach { coll: list, columns, entry: None, label, body });
        Ok(())
    }

    /// New registers for what a row is to be given.
    fn choice(&mut self, merging: &Merging<'_>) -> Choice {
        let number = self.program.reg(RegKind::Value(Type::Int4), None);
        let mut values = Vec::with_capacity(merging.whens.len());
        for when in merging.whens {
            let columns = when.action.columns();
            let types = columns.iter().map(|c| merging.table.columns[*c].ty.clone());
            values.push(types.map(|ty| self.program.reg(RegKind::Value(ty), None)).collect());
        }
        Choice { number, values }
    }

    /// Which WHEN the present row takes, and its values.
    fn choose(&mut self, merging: &Merging<'_>, choice: &Choice) -> Result<()> {
        let none = self.constant(Datum::Int(-1), Type::Int4);
        self.copy(choice.number, none);
        for (when, regs) in merging.whens.iter().zip(&choice.values) {
            for (column, reg) in when.action.columns().iter().zip(regs) {
                let null = self.constant(Datum::Null, merging.table.columns[*column].ty.clone());
                self.copy(*reg, null);
            }
        }
        self.each_side(merging, &mut |l, at, when| {
            let number = l.constant(Datum::Int(at as i64), Type::Int4);
            l.copy(choice.number, number);
            let values = l.action_values(merging, &when.action)?;
            for (reg, value) in choice.values[at].iter().zip(values) {
                l.copy(*reg, value);
            }
            Ok(())
        })
    }

    /// The first WHEN that applies to the present row, done.
    fn merge_row(&mut self, merging: &Merging<'_>, waiting: &mut Waiting) -> Result<()> {
        self.each_side(merging, &mut |l, _, when| {
            let values = l.action_values(merging, &when.action)?;
            l.merge_action(merging, &when.action, &values, waiting)
        })
    }

    /// `then` for the first WHEN that applies to the present row.
    fn each_side(
        &mut self,
        merging: &Merging<'_>,
        then: &mut dyn FnMut(&mut Lowerer<'_>, usize, &When) -> Result<()>,
    ) -> Result<()> {
        let of = |matched: bool| -> Vec<(usize, &When)> {
            merging.whens.iter().enumerate().filter(|(_, when)| when.matched == matched).collect()
        };
        let (there, missing) = (of(true), of(false));
        if missing.is_empty() {
            return self.first_that_applies(&there, then);
        }
        let row = self.row_reg(merging.target);
        let cond = self.apply(Func::IsNull, vec![row], Type::Bool);
        let missing = self.block(|l| l.first_that_applies(&missing, then))?;
        let otherwise = self.block(|l| l.first_that_applies(&there, then))?;
        self.emit(OpKind::If { cond, then: missing, otherwise });
        Ok(())
    }

    fn first_that_applies(
        &mut self,
        whens: &[(usize, &When)],
        then: &mut dyn FnMut(&mut Lowerer<'_>, usize, &When) -> Result<()>,
    ) -> Result<()> {
        let Some(((at, when), rest)) = whens.split_first() else { return Ok(()) };
        let Some(condition) = &when.condition else { return then(self, *at, when) };
        let before = self.at(condition.position);
        let cond = self.truth_of(condition)?;
        self.at(before);
        let body = self.block(|l| then(l, *at, when))?;
        let otherwise = self.block(|l| l.first_that_applies(rest, then))?;
        self.emit(OpKind::If { cond, then: body, otherwise });
        Ok(())
    }

    /// The values that an action gives its columns.
    fn action_values(&mut self, merging: &Merging<'_>, action: &Action) -> Result<Vec<Reg>> {
        match action {
            Action::Nothing | Action::Delete => Ok(Vec::new()),
            Action::Update { set, multiple } => {
                let values = self.new_values(set, multiple)?;
                let exact = |(c, reg, _): (usize, Reg, bool)| (reg, merging.table.columns[c].ty.clone());
                Ok(values.into_iter().map(exact).map(|(reg, ty)| self.exactly(reg, &ty)).collect())
            }
            Action::Insert { given, values } => {
                let mut regs = Vec::with_capacity(values.len());
                for (column, e) in given.iter().zip(values) {
                    let reg = self.exact(e)?;
                    regs.push(self.exactly(reg, &merging.table.columns[*column].ty));
                }
                Ok(regs)
            }
        }
    }

    fn merge_action(
        &mut self,
        merging: &Merging<'_>,
        action: &Action,
        values: &[Reg],
        waiting: &mut Waiting,
    ) -> Result<()> {
        let Merging { table, target, count, single, .. } = *merging;
        match action {
            Action::Nothing => Ok(()),
            Action::Insert { given, .. } => {
                let typed = given
                    .iter()
                    .zip(values)
                    .map(|(column, reg)| Typed { reg: *reg, ty: table.columns[*column].ty.clone() });
                let values: Vec<Typed> = typed.collect();
                let (shadow, certain) = (merging.shadow, false);
                let target = merging.place;
                let (checks, values, converts) = (&merging.bounds[1][..], &values[..], false);
                let row = Proposed { target, checks, given, values, shadow, single, certain, converts };
                let none = Returning {
                    outputs: Vec::new(),
                    values: Vec::new(),
                    xmax: None,
                    early: Vec::new(),
                    once: Vec::new(),
                };
                self.store(&row, None, &none, count, waiting, &mut None, &mut |_, _| Ok(()))
            }
            Action::Update { set, .. } => {
                self.check_unchanged(merging)?;
                self.check_policies(&merging.checks.update)?;
                let mut new = Vec::with_capacity(set.len());
                for ((column, e), reg) in set.iter().zip(values) {
                    new.push((*column, *reg, self.never_null(e)));
                }
                self.change_row(table, target, &new, waiting, &mut |l, new| {
                    l.check_bounds(merging, new)?;
                    l.note_changed(merging);
                    Ok(())
                })
            }
            Action::Delete => {
                self.check_unchanged(merging)?;
                self.check_policies(&merging.checks.delete)?;
                self.remove_row(table, target, waiting, &mut |l| {
                    l.note_changed(merging);
                    Ok(())
                })
            }
        }
    }

    /// 23514 where a row that was updated is no longer within the partition that the statement names.
    fn check_bounds(&mut self, merging: &Merging<'_>, new: &Values) -> Result<()> {
        let [updated, _] = &merging.bounds;
        if updated.is_empty() {
            return Ok(());
        }
        let old = self.rel(merging.target).regs.clone();
        for (reg, new) in self.rel_mut(merging.target).regs.iter_mut().zip(new) {
            *reg = new.or(*reg);
        }
        let done = self.check_changed(merging.table, merging.target, updated, new);
        self.rel_mut(merging.target).regs = old;
        done
    }

    fn key_of(&mut self, merging: &Merging<'_>) -> Vec<Reg> {
        let key = merging.table.indexes[0].columns.iter();
        key.map(|c| self.column_reg(merging.target, c.index())).collect()
    }

    /// 21000 where the statement has changed the present row already.
    fn check_unchanged(&mut self, merging: &Merging<'_>) -> Result<()> {
        let Some(coll) = merging.seen else { return Ok(()) };
        let keys = self.key_of(merging);
        let found = self.temp(Type::Bool);
        self.emit(OpKind::MapGet { coll, keys, found, values: Vec::new() });
        self.raising(found, |l| {
            let hint = "Ensure that not more than one source row matches any one target row.";
            let hint = l.constant(Datum::Text(hint.to_owned()), Type::Text);
            let fields = ErrorFields { hint: Some(hint), ..ErrorFields::default() };
            let message = "MERGE command cannot affect row a second time";
            l.raise(SqlState::CARDINALITY_VIOLATION, message, fields);
            Ok(())
        })
    }

    /// The present row was changed.
    fn note_changed(&mut self, merging: &Merging<'_>) {
        self.count_row(merging.count, merging.single);
        if let Some(coll) = merging.seen {
            let keys = self.key_of(merging);
            self.emit(OpKind::MapPut { coll, keys, values: Vec::new() });
        }
    }
}

/// All that may be done, whether or not it is: its statement triggers fire, in the order of those AFTER.
fn may_do(table: &Table, whens: &[When]) -> Vec<Own> {
    let named = updated(whens);
    let events = [TriggerEvent::Delete, TriggerEvent::Update, TriggerEvent::Insert].into_iter();
    let done = events.filter(|event| whens.iter().any(|when| when.action.event() == Some(*event)));
    let of = |event| if event == TriggerEvent::Update { named.clone() } else { Vec::new() };
    done.map(|event| Own { table: table.id, event, named: of(event) }).collect()
}

/// The columns that any UPDATE sets.
fn updated(whens: &[When]) -> Vec<usize> {
    let updates = whens.iter().filter(|when| matches!(when.action, Action::Update { .. }));
    let mut columns: Vec<usize> = updates.flat_map(|when| when.action.columns()).collect();
    columns.sort_unstable();
    columns.dedup();
    columns
}

/// Whether a query without FROM has one row at most.
fn gives_one_row(query: &BoundQuery) -> bool {
    match &query.body {
        Body::Select(select) => {
            select.from.is_empty() && select.grouping.as_ref().is_none_or(|g| g.sets.is_empty())
        }
        Body::Values(rows) => rows.len() == 1,
        _ => false,
    }
}

/// 42601 for a WHEN behind one of its kind that applies always.
fn check_reached(merge: &Merge) -> Result<()> {
    let (mut there, mut missing) = (false, false);
    for when in &merge.whens {
        let ended = if when.matched { &mut there } else { &mut missing };
        if *ended {
            let message = "unreachable WHEN clause specified after unconditional WHEN clause";
            return Err(Error::new(SqlState::SYNTAX_ERROR, message).at(merge.table.position));
        }
        *ended |= when.condition.is_none();
    }
    Ok(())
}

/// An error of WHEN NOT MATCHED, where the table's columns cannot be used.
fn unseen(error: Error, table: &Table, alias: &str) -> Error {
    let Some(position) = error.position() else { return error };
    if error.sqlstate() == SqlState::UNDEFINED_TABLE
        && error.message() == format!("missing FROM-clause entry for table \"{alias}\"")
    {
        let message = format!("invalid reference to FROM-clause entry for table \"{alias}\"");
        return Error::new(SqlState::UNDEFINED_TABLE, message)
            .with_hint(format!(
                "There is an entry for table \"{alias}\", but it cannot be referenced from this part of the query."
            ))
            .at(position);
    }
    let missing = |name: &str| error.message() == format!("column \"{name}\" does not exist");
    let column = table.columns.iter().filter(|c| !c.hidden).map(|c| c.name.clone()).find(|n| missing(n));
    match column.filter(|_| error.sqlstate() == SqlState::UNDEFINED_COLUMN) {
        Some(name) => error.with_hint(format!(
            "There is a column named \"{name}\" in table \"{alias}\", but it cannot be referenced from this part of the query."
        )),
        None => error,
    }
}
