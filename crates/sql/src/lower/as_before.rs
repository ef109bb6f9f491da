//! Tables as they were before a statement with changes in WITH.
//!
//! What a part has changed is not seen by those that come behind it, but by RETURNING: they read the table as it was
//! when the statement began. So what they read of such a table is put into a list in front of the first part, and read
//! from there. Conditions that need nothing but the table's columns, constants and variables, and cannot fail, are looked at as
//! the list is made, so it holds the rows that are asked for, found by an index where there is one; other conditions wait, and the list is the whole
//! table.
//!
//! The same goes for what RETURNING, and the UPDATE of ON CONFLICT, ask of the table that the statement itself changes, and of
//! those that foreign keys and triggers change with its rows: they see them as they were before its first row. Where one row at most is changed, that is asked before it is; else they read a list, made
//! where the statement begins.
//!
//! A list has no rows that could be changed or locked. A part that changes rows of a table which one before it changes looks for
//! them in the table, and leaves those alone whose keys are among what the statement has stored or changed: the others are as they were. One that locks
//! them, or cannot tell, is refused ([`Lowerer::apart`](super::with_changes)).

use super::Lowerer;
use super::apart::Changed;
use super::bind_query::BoundCte;
use super::bound::{Body, Bound, BoundKind, BoundQuery, BoundSelect, Distinct, Item, RelId, RelKind};
use super::dml::Returning;
use super::emit_query::Frame;
use super::referential::Waiting;
use planaria_base::{ColumnId, Datum, Result, SqlState, TableId, Type};
use planaria_catalog::{ReferentialAction, Table, TriggerEvent, TriggerTime, Volatility};
use planaria_ir::{Coll, CollDecl, CollKind, ErrorFields, OpKind, Output, Reg, RegKind};
use planaria_syntax::ast::Name;
use std::collections::{BTreeMap, BTreeSet};

/// The statement whose parts are being lowered.
pub(super) struct Before {
    /// The place in front of its first part.
    frame: Frame,
    /// Registers that there were by then.
    known: usize,
    /// What the parts have changed that are done.
    pub changed: Changed,
    /// Tables whose rows a part may change by ON CONFLICT, or that a part changes behind another, with the keys of those that
    /// the statement has stored or changed.
    stored: Vec<(TableId, Coll)>,
    /// What of `changed` is not told by these keys: it was changed by foreign keys, triggers or functions.
    pub besides: Changed,
    /// What the parts do to tables of their own, and whose statement triggers fire for it: those that have begun, and those, in
    /// turn, that are still to come.
    pub begun: Vec<(TableId, TriggerEvent)>,
    pub to_come: Vec<Vec<(TableId, TriggerEvent)>>,
    /// What the parts leave for the end of the statement: their AFTER triggers, with the partition that a part names.
    pub late: Vec<(Waiting, Option<TableId>)>,
    /// Handles of the rows that parts look for in such tables, and change if no part before them has.
    left_alone: Vec<Reg>,
}

impl Lowerer<'_> {
    /// A statement with changes in WITH begins here.
    pub(super) fn before_parts(&self) -> Before {
        let block = self.blocks.len() - 1;
        let frame = Frame { block, index: self.blocks[block].len(), available: self.available.len() };
        Before {
            frame,
            known: self.program.regs.len(),
            changed: Changed::default(),
            stored: Vec::new(),
            besides: Changed::default(),
            begun: Vec::new(),
            to_come: Vec::new(),
            late: Vec::new(),
            left_alone: Vec::new(),
        }
    }

    /// Of a statement with changes in WITH: no row that a part has stored may be changed by ON CONFLICT, in these tables, or by a part
    /// that changes rows of a table behind another. `targets`: the tables of the parts in turn, and whether rows are changed there.
    pub(super) fn keeps_stored<'n>(
        &mut self,
        upserts: impl Iterator<Item = &'n Name>,
        targets: impl Iterator<Item = (&'n Name, bool)>,
    ) {
        if self.reads_after {
            return;
        }
        let mut tables = BTreeSet::new();
        for name in upserts {
            let Ok(wanted) = self.meant(name) else { continue };
            tables.extend(self.catalog.table(self.catalog.located(wanted)).map(|table| table.id));
        }
        let mut met = BTreeSet::new();
        for (name, changes) in targets {
            let Some(table) = self.stored_in(name) else { continue };
            if !met.insert(table) && changes {
                tables.insert(table);
            }
        }
        for id in tables {
            let table = self.catalog.table_by_id(id);
            let kind = |c: &ColumnId| RegKind::Value(table.columns[c.index()].ty.clone());
            let keys = table.indexes[0].columns.iter().map(kind).collect();
            let coll = self.program.coll(CollDecl { kind: CollKind::Map, keys, values: Vec::new() });
            self.emit(OpKind::Clear { coll });
            if let Some(before) = &mut self.before {
                before.stored.push((id, coll));
            }
        }
    }

    /// The table that the rows of a table, a partition or an updatable view are stored in.
    pub(super) fn stored_in(&mut self, name: &Name) -> Option<TableId> {
        let wanted = self.catalog.located(self.meant(name).ok()?);
        let table = match self.catalog.table(wanted) {
            Some(table) => table,
            None => super::updatable::table_behind(self.catalog, self.catalog.view(wanted)?)?,
        };
        Some(if table.slice().is_some() { self.catalog.partition_root(table.id).id } else { table.id })
    }

    /// Whether foreign keys change rows of a table along with others of it.
    pub(super) fn acts_on_itself(&self, table: TableId) -> bool {
        let own = |event| self.acted_on(table, event, None).iter().any(|(child, _)| *child == table);
        own(TriggerEvent::Delete) || own(TriggerEvent::Update)
    }

    /// Of a part that changes rows of a table: that none before it has stored or changed the row, if any may have and it can be told.
    pub(super) fn not_changed_before(&mut self, table: &Table, target: RelId) -> Option<Bound> {
        let before = self.before.as_ref()?;
        if !before.changed.has(table.id) || before.besides.has(table.id) {
            return None;
        }
        let stored = self.stored_keys(table.id)?;
        let row = self.row_reg(target);
        self.before.as_mut()?.left_alone.push(row);
        let keys = table.indexes[0].columns.iter().map(|c| c.index());
        let keys =
            keys.map(|c| Bound::column(target, c, table.columns[c].ty.clone(), self.position)).collect();
        let known = Bound::new(BoundKind::NotAmong(stored, keys), Type::Bool, self.position);
        // In front of all others, which may fail over values that the statement has stored.
        Some(Bound::new(BoundKind::Secured(Box::new(known)), Type::Bool, self.position))
    }

    /// The row of such a table that is about to be changed is looked up once more, by this handle: no part before has changed it.
    pub(super) fn looks_again(&mut self, table: TableId, row: Reg) {
        let kept = self.stored_keys(table).is_some();
        if let Some(before) = self.before.as_mut().filter(|before| kept && !before.besides.has(table)) {
            before.left_alone.push(row);
        }
    }

    /// Whether this is the handle of a row that is changed only if no part before has changed it.
    pub(super) fn is_left_alone(&self, row: Reg) -> bool {
        self.before.as_ref().is_some_and(|before| before.left_alone.contains(&row))
    }

    /// Where the keys of the rows of a table are kept that the statement has stored or changed.
    pub(super) fn stored_keys(&self, table: TableId) -> Option<Coll> {
        let stored = self.before.as_ref()?.stored.iter().find(|(id, _)| *id == table);
        stored.map(|(_, coll)| *coll)
    }

    /// Puts down that the statement has stored the row of this key.
    pub(super) fn note_stored(&mut self, table: &Table, key: &mut dyn FnMut(&mut Self, usize) -> Reg) {
        if let Some(coll) = self.stored_keys(table.id) {
            let keys = table.indexes[0].columns.iter().map(|c| key(self, c.index())).collect();
            self.emit(OpKind::MapPut { coll, keys, values: Vec::new() });
        }
    }

    /// 21000 where the statement has stored the row of a relation, which ON CONFLICT is about to change.
    pub(super) fn check_not_stored(&mut self, table: &Table, existing: RelId) -> Result<()> {
        let Some(coll) = self.stored_keys(table.id) else { return Ok(()) };
        let keys = table.indexes[0].columns.iter().map(|c| self.column_reg(existing, c.index())).collect();
        self.raise_second_time(coll, keys)
    }

    /// 21000 where a key is among those of the rows that the statement has stored.
    pub(super) fn raise_second_time(&mut self, coll: Coll, keys: Vec<Reg>) -> Result<()> {
        let found = self.temp(Type::Bool);
        self.emit(OpKind::MapGet { coll, keys, found, values: Vec::new() });
        self.when(found, |l| {
            let message = "ON CONFLICT DO UPDATE command cannot affect row a second time";
            let hint = "Ensure that no rows proposed for insertion within the same command have duplicate constrained values.";
            let hint = l.constant(Datum::Text(hint.to_owned()), Type::Text);
            let fields = ErrorFields { hint: Some(hint), ..ErrorFields::default() };
            l.raise(SqlState::CARDINALITY_VIOLATION, message, fields);
            Ok(())
        })
    }

    /// Has the tables among these relations that were changed before be read as they were. All that names them is bound.
    pub(super) fn read_as_before(
        &mut self,
        from: &[Item],
        target: Option<RelId>,
        filter: &mut Vec<Bound>,
    ) -> Result<()> {
        if self.before.as_ref().is_none_or(|before| before.changed.is_nothing()) {
            return Ok(());
        }
        for rel in self.rels_of(from) {
            let RelKind::Table(table) = self.rel(rel).kind else { continue };
            let changed = self.before.as_ref().is_some_and(|before| before.changed.has(table));
            if changed && target != Some(rel) && !self.rel(rel).row_used {
                self.read_from_list(rel, table, filter);
            }
        }
        Ok(())
    }

    fn read_from_list(&mut self, rel: RelId, table: TableId, filter: &mut Vec<Bound>) {
        let name = self.catalog.table_by_id(table).name.clone();
        let inner = self.table_rel(table, &name);
        // Conditions of policies come before all others.
        let secured = filter.iter().any(|e| matches!(e.kind, BoundKind::Secured(_)));
        let mut own = Vec::new();
        if !secured && !self.rel(rel).nullable {
            for mut e in std::mem::take(filter) {
                if !self.is_known_before(rel, &e) {
                    filter.push(e);
                    continue;
                }
                self.visit(&mut e, &mut |_, e| {
                    if let BoundKind::Column(of, _) = &mut e.kind {
                        *of = inner;
                    }
                    true
                });
                own.push(e);
            }
        }
        let query = self.whole_rows(inner, own);
        let place = self.add_cte(&format!("{name} as it was"), query);
        self.ctes[place].before = true;
        self.ctes[place].uses = 1;
        self.rel_mut(rel).kind = RelKind::Cte(place);
    }

    /// All columns of a relation's rows that meet conditions.
    fn whole_rows(&self, rel: RelId, filter: Vec<Bound>) -> BoundQuery {
        let columns: Vec<Output> = self
            .rel(rel)
            .columns
            .iter()
            .map(|(name, ty)| Output { name: name.clone(), ty: ty.clone() })
            .collect();
        let outputs =
            columns.iter().enumerate().map(|(i, c)| Bound::column(rel, i, c.ty.clone(), 0)).collect();
        let body = Body::Select(Box::new(BoundSelect {
            from: vec![Item::Rel(rel)],
            filter,
            grouping: None,
            windows: None,
            outputs,
            visible: columns.len(),
            distinct: Distinct::No,
            apart: None,
        }));
        BoundQuery::plain(body, columns)
    }

    // ---- the table that the statement itself changes ----

    /// What a statement has changed by the time RETURNING is computed: the table, those whose rows go or change with rows of it,
    /// and what triggers change that fire in front of a row or in its place.
    pub(super) fn changed_with(&self, table: &Table, events: &[TriggerEvent], named: &[usize]) -> Changed {
        let mut changed = Changed::default();
        changed.add(table.id);
        if self.reads_after {
            return changed;
        }
        let mut next: Vec<(TableId, TriggerEvent)> = Vec::new();
        let mut seen = Vec::new();
        for event in events {
            for trigger in self.fired(table, *event, named, table.asks(), true) {
                changed.add_function(self.catalog, trigger.function);
            }
            next.extend(self.acted_on(table.id, *event, Some(named)));
        }
        while let Some((id, event)) = next.pop() {
            if seen.contains(&(id, event)) {
                continue;
            }
            seen.push((id, event));
            changed.add(id);
            let table = self.catalog.table_by_id(id);
            let all = table.triggers.iter().chain(self.partition_triggers(table));
            for trigger in all.filter(|t| t.each_row && t.time == TriggerTime::Before) {
                changed.add_function(self.catalog, trigger.function);
            }
            next.extend(self.acted_on(id, event, None));
        }
        changed
    }

    /// Tables on whose rows foreign keys act when rows of this one are deleted, or keys are changed.
    fn acted_on(
        &self,
        table: TableId,
        event: TriggerEvent,
        named: Option<&[usize]>,
    ) -> Vec<(TableId, TriggerEvent)> {
        let mut all = Vec::new();
        for (child, key) in self.catalog.references_to(table) {
            let changes = |c: &ColumnId| named.is_none_or(|named| named.contains(&c.index()));
            let action = match event {
                TriggerEvent::Delete => key.on_delete,
                TriggerEvent::Update if key.parent_columns.iter().any(changes) => key.on_update,
                _ => continue,
            };
            match action {
                ReferentialAction::Restrict => {}
                ReferentialAction::Cascade => all.push((child.id, event)),
                ReferentialAction::SetNull | ReferentialAction::SetDefault => {
                    all.push((child.id, TriggerEvent::Update));
                }
            }
        }
        all
    }

    /// Has RETURNING ask tables as they were. `one`: one row at most is changed, and all of it is known before it is.
    pub(super) fn ask_before(
        &mut self,
        returning: &mut Returning,
        changed: &Changed,
        one: bool,
    ) -> Result<()> {
        if self.reads_after {
            return Ok(());
        }
        for e in &mut returning.values {
            match one {
                true => self.take_before(e, changed, &mut returning.early),
                false => self.call_before(e, changed, &mut returning.once),
            }
        }
        let values: Vec<Bound> = returning.values.clone();
        self.read_listed(&values, changed)
    }

    /// Has the functions that are not volatile, ask such a table and are called whatever the row is called in front of the first
    /// row that is changed.
    fn call_before(&mut self, e: &mut Bound, changed: &Changed, once: &mut Vec<(Bound, Reg, Reg)>) {
        self.visit(e, &mut |l, e| {
            let asks = match &e.kind {
                BoundKind::Call(id, _) => {
                    l.catalog.procedure(*id).volatility != Volatility::Volatile
                        && changed.met_by(l.catalog, *id).is_some()
                }
                BoundKind::Case(..) | BoundKind::Coalesce(_) | BoundKind::And(..) | BoundKind::Or(..) => {
                    return false;
                }
                _ => return true,
            };
            let mut known = asks;
            l.visit(&mut e.clone(), &mut |_, e| {
                known &= matches!(
                    e.kind,
                    BoundKind::Call(..)
                        | BoundKind::Apply(..)
                        | BoundKind::Const(_)
                        | BoundKind::Param(_)
                        | BoundKind::Reg(_)
                        | BoundKind::Relabel(_)
                );
                known
            });
            if !known || l.calls_volatile(e) {
                return true;
            }
            let (reg, called) = (l.temp(e.ty.clone()), l.temp(Type::Bool));
            l.emit(OpKind::Const { dst: reg, value: Datum::Null });
            l.emit(OpKind::Const { dst: called, value: Datum::Bool(false) });
            let known = Bound::new(BoundKind::Reg(reg), e.ty.clone(), e.position);
            once.push((std::mem::replace(e, known), reg, called));
            false
        });
    }

    /// Calls those functions, in front of the first row.
    pub(super) fn asked_once(&mut self, returning: &Returning) -> Result<()> {
        for (e, reg, called) in &returning.once {
            self.unless(*called, |l| {
                l.value_into(e, *reg)?;
                l.emit(OpKind::Const { dst: *called, value: Datum::Bool(true) });
                Ok(())
            })?;
        }
        Ok(())
    }

    /// The same of the UPDATE of ON CONFLICT, where more than one row may be stored: of its expressions, and of what asks as
    /// its queries do that give several columns.
    pub(super) fn conflict_before(
        &mut self,
        mut asked: Vec<&mut Bound>,
        mut all: Vec<Bound>,
        table: &Table,
    ) -> Result<()> {
        if self.reads_after {
            return Ok(());
        }
        self.before_changes(asked.iter_mut().map(|e| &mut **e), table)?;
        all.extend(asked.into_iter().map(|e| e.clone()));
        let mut changed = Changed::default();
        changed.add(table.id);
        self.read_listed(&all, &changed)
    }

    /// Computes what RETURNING has asked of the table, with the new values of the row that is about to be changed.
    pub(super) fn asked_before(
        &mut self,
        returning: &Returning,
        table: &Table,
        rel: RelId,
        set: &[(usize, Reg, bool)],
    ) -> Result<()> {
        self.asked_once(returning)?;
        if returning.early.is_empty() {
            return Ok(());
        }
        let old = self.rel(rel).regs.clone();
        for (column, reg, _) in set {
            let reg = self.exactly(*reg, &table.columns[*column].ty);
            self.rel_mut(rel).regs[*column] = Some(reg);
        }
        let mut done = Ok(());
        for (e, reg) in &returning.early {
            done = done.and_then(|()| self.value_into(e, *reg));
        }
        self.rel_mut(rel).regs = old;
        done
    }

    /// Takes out of an expression what asks such a table and is asked whatever else the expression is.
    fn take_before(&mut self, e: &mut Bound, changed: &Changed, early: &mut Vec<(Bound, Reg)>) {
        self.visit(e, &mut |l, e| {
            let asks = match &e.kind {
                BoundKind::Subquery(_)
                | BoundKind::Exists(_)
                | BoundKind::ArrayQuery(_)
                | BoundKind::InQuery(..)
                | BoundKind::QuantifiedQuery(..) => l.asks(e, changed),
                // One that is volatile sees what is changed.
                BoundKind::Call(id, _)
                    if l.catalog.procedure(*id).volatility != Volatility::Volatile
                        && changed.met_by(l.catalog, *id).is_some() =>
                {
                    true
                }
                // Not all of these is computed.
                BoundKind::Case(..) | BoundKind::Coalesce(_) | BoundKind::And(..) | BoundKind::Or(..) => {
                    false
                }
                _ => return true,
            };
            let mut whole = asks && !l.calls_volatile(e);
            l.visit(&mut e.clone(), &mut |_, e| {
                whole &= !matches!(e.kind, BoundKind::LetRef(_));
                whole
            });
            if whole {
                let reg = l.temp(e.ty.clone());
                let known = Bound::new(BoundKind::Reg(reg), e.ty.clone(), e.position);
                early.push((std::mem::replace(e, known), reg));
            }
            false
        });
    }

    /// Whether queries in an expression read a table that is changed.
    pub(super) fn asks(&mut self, e: &Bound, changed: &Changed) -> bool {
        let rels = self.inner_rels(e);
        rels.iter().any(|rel| matches!(self.rel(*rel).kind, RelKind::Table(id) if changed.has(id)))
    }

    /// Has queries in these expressions read such tables from lists that are made where the statement begins. All uses of
    /// columns are counted.
    fn read_listed(&mut self, asked: &[Bound], changed: &Changed) -> Result<()> {
        let mut by_table: BTreeMap<TableId, Vec<RelId>> = BTreeMap::new();
        for rel in asked.iter().flat_map(|e| self.inner_rels(e)).collect::<Vec<_>>() {
            match self.rel(rel).kind {
                RelKind::Table(id) if changed.has(id) && !self.rel(rel).row_used => {
                    by_table.entry(id).or_default().push(rel);
                }
                _ => {}
            }
        }
        for (id, rels) in by_table {
            self.listed_table(self.catalog.table_by_id(id), rels)?;
        }
        Ok(())
    }

    fn listed_table(&mut self, table: &Table, rels: Vec<RelId>) -> Result<()> {
        let inner = self.table_rel(table.id, &table.name);
        let mut query = self.whole_rows(inner, Vec::new());
        let needed = vec![true; query.columns.len()];
        self.count_query(&mut query, &needed);
        let name = format!("{} as it was", table.name);
        let list = self.list_of(&query, 0, &format!("CTE {name}"))?;
        let columns = self.rel(inner).columns.clone();
        self.ctes.push(BoundCte::listed(name, columns, Some(list)));
        let place = self.ctes.len() - 1;
        for rel in rels {
            self.rel_mut(rel).kind = RelKind::Cte(place);
        }
        Ok(())
    }

    /// Whether a condition needs a relation's columns and what there was before the first part, and cannot fail.
    fn is_known_before(&mut self, rel: RelId, e: &Bound) -> bool {
        let Some(known) = self.before.as_ref().map(|before| before.known) else { return false };
        let mut fits = true;
        let mut e = e.clone();
        // Nobody may have asked for rows of which it cannot be computed.
        self.visit(&mut e, &mut |_, e| {
            fits &= match &e.kind {
                BoundKind::Column(of, _) => *of == rel,
                BoundKind::Reg(reg) => (reg.0 as usize) < known,
                BoundKind::Apply(func, _) => func.total(),
                BoundKind::Const(_)
                | BoundKind::Param(_)
                | BoundKind::Relabel(_)
                | BoundKind::And(..)
                | BoundKind::Or(..)
                | BoundKind::InList(..)
                | BoundKind::Quantified(..) => true,
                _ => false,
            };
            fits
        });
        fits
    }

    /// The list of a table as it was, made in front of the first part.
    pub(super) fn list_before(&mut self, index: usize, query: &BoundQuery, what: &str) -> Result<Coll> {
        let Some(before) = &self.before else {
            return Err(planaria_base::Error::internal("a table as it was, before no part"));
        };
        let around = std::mem::replace(&mut self.frames, vec![before.frame]);
        let done = self.list_of(query, 0, what);
        let frames = std::mem::replace(&mut self.frames, around);
        if let (Some(before), Some(frame)) = (&mut self.before, frames.first()) {
            before.frame = *frame;
        }
        let list = done?;
        self.ctes[index].list = Some(list);
        Ok(list)
    }
}
