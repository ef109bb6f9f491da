//! UPDATE and DELETE of a view whose INSTEAD OF triggers do what is to be done.
//!
//! ```text
//!  rows of the view that the statement means  ->  list
//!  for each: OLD is the row, NEW the same with what SET says: call the triggers -> goes on? count, RETURNING
//! ```
//!
//! The rows are found first: what the triggers change is what the view reads. INSERT is where it is for tables
//! (`insert`): there is nothing to find.

use super::bound::{Bound, Item};
use super::constraint::Values;
use super::names::Names;
use super::rights::AccessId;
use super::trigger::ChangedRow;
use super::updatable::Target;
use super::{Lowerer, Scope, Sink};
use planaria_base::{Error, Result, Type};
use planaria_catalog::{Object, Privileges, TriggerEvent, TriggerTime, View};
use planaria_ir::{CollKind, OpKind, Output, Reg, RegKind};
use planaria_syntax::ast::{Assignment, Cte, Delete, Expr, Name, SelectItem, TableAlias, TableRef, Update};

/// An UPDATE or DELETE.
pub(super) struct InsteadOf<'s> {
    event: TriggerEvent,
    name: &'s Name,
    alias: Option<&'s str>,
    with: &'s [Cte],
    recursive: bool,
    from: &'s [TableRef],
    filter: Option<&'s Expr>,
    set: &'s [Assignment],
    returning: &'s [SelectItem],
}

impl<'s> InsteadOf<'s> {
    pub fn update(s: &'s Update) -> InsteadOf<'s> {
        InsteadOf {
            event: TriggerEvent::Update,
            name: &s.table,
            alias: s.alias.as_deref(),
            with: &s.with,
            recursive: s.recursive,
            from: &s.from,
            filter: s.filter.as_ref(),
            set: &s.set,
            returning: &s.returning,
        }
    }

    pub fn delete(s: &'s Delete) -> InsteadOf<'s> {
        InsteadOf {
            event: TriggerEvent::Delete,
            name: &s.table,
            alias: s.alias.as_deref(),
            with: &s.with,
            recursive: s.recursive,
            from: &s.using,
            filter: s.filter.as_ref(),
            set: &[],
            returning: &s.returning,
        }
    }

    /// The clause that says what else is joined.
    fn clause(&self) -> &'static str {
        if self.event == TriggerEvent::Update { "FROM" } else { "USING" }
    }
}

impl Lowerer<'_> {
    /// The rows of the view as the first item of FROM.
    fn view_rows(
        &mut self,
        level: &mut Names<'_>,
        view: &View,
        s: &InsteadOf<'_>,
    ) -> Result<(Vec<Item>, Vec<Bound>, Option<AccessId>)> {
        let parts = vec![self.catalog.schema_name(view.schema).to_owned(), view.name.clone()];
        let name = Name { parts, position: s.name.position };
        let alias = TableAlias { name: s.alias.unwrap_or(&view.name).to_owned(), columns: Vec::new() };
        let read = self.rights.reads();
        self.rights.unread = true;
        let from = [TableRef::Relation { name, only: false, alias: Some(alias) }];
        let bound = self.outside(s.clause(), |l| l.bind_from(level, &from));
        self.rights.unread = false;
        self.rights.forget_reads(read);
        self.rights.through_view = true;
        let (items, filter, _) = bound?;
        let object = Object::View(view.key());
        let access = self.new_access(&object);
        if let Some(access) = access {
            Self::track(&mut level.sources[0], access, self.catalog.named_columns(&object));
        }
        Ok((items, filter, access))
    }

    pub(super) fn describe_instead(
        &mut self,
        scope: &Scope,
        view: &View,
        s: &InsteadOf<'_>,
    ) -> Result<Vec<Output>> {
        let mut level = Names::of(scope);
        self.bind_with(&mut level, s.with, s.recursive)?;
        self.view_rows(&mut level, view, s)?;
        self.outside(s.clause(), |l| l.bind_from(&mut level, s.from))?;
        Ok(self.bind_returning(&level, s.returning)?.outputs)
    }

    pub(super) fn emit_instead(
        &mut self,
        scope: &Scope,
        view: &View,
        s: &InsteadOf<'_>,
        writes: &[Option<AccessId>],
        sink: &mut Sink<'_>,
    ) -> Result<Reg> {
        let row = view.rows.as_deref().ok_or_else(|| Error::internal("a view without triggers"))?;
        let mut level = Names::of(scope);
        self.push_frame();
        self.bind_with(&mut level, s.with, s.recursive)?;
        let (mut items, mut filter, access) = self.view_rows(&mut level, view, s)?;
        let own = self.rels_of(&items);
        let mut old: Vec<Bound> = level.sources[0].columns.iter().map(|c| c.expr.clone()).collect();
        let (from, more, _) = self.outside(s.clause(), |l| l.bind_from(&mut level, s.from))?;
        let others = self.rels_of(&from);
        items.extend(from);
        filter.extend(more);
        if let Some(e) = s.filter {
            let mut conditions = Vec::new();
            self.outside("WHERE", |l| l.bind_condition(&level, e, "WHERE"))?.conjuncts(&mut conditions);
            self.per_row(&mut conditions, &items);
            filter.extend(conditions);
        }
        self.push_down(&items, &mut filter)?;
        let given = Target::table(row);
        let (mut set, mut multiple) = self.bind_set(&level, &given, s.set)?;
        self.note_columns(&given, writes, set.iter().map(|(column, _)| *column));
        // RETURNING sees the row as the triggers leave it.
        let alias = s.alias.unwrap_or(&view.name);
        let shadow = self.shadow_rel(row, alias);
        let mut names = Names::new(level.outer, level.scope, level.ctes.clone());
        names.sources.clone_from(&level.sources);
        names.sources[0] = self.shadow_source(row, shadow, alias);
        if let Some(access) = access {
            let columns = self.catalog.named_columns(&Object::View(view.key()));
            Self::track(&mut names.sources[0], access, columns);
        }
        let mut returning = self.bind_returning(&names, s.returning)?;
        if self.rights.reads_any(&own) || self.rights.reads_any(&[shadow]) {
            match access {
                Some(access) => self.require_access(access, Object::View(view.key()), Privileges::SELECT),
                None => self.require(Object::View(view.key()), Privileges::SELECT),
            }
        }
        filter.iter_mut().chain(&mut old).for_each(|e| self.count(e));
        set.iter_mut().for_each(|(_, e)| self.count(e));
        multiple.iter_mut().for_each(|m| self.count_multiple(m));
        self.count_items(&items);
        self.count_returning(&mut returning);
        let changed_with = self.changed_with(row, &[s.event], &[]);
        if !self.reads_after {
            self.before_all(&mut returning.values, &changed_with)?;
        }
        self.ask_before(&mut returning, &changed_with, false)?;
        let plan = self.plan_group(&items, &filter, &[])?;
        let verb = if s.event == TriggerEvent::Update { "Update" } else { "Delete" };
        self.note_on(verb, &view.name);
        let depth = self.explains.depth;
        self.explains.depth += 1;
        let count = self.counter();
        let named: Vec<usize> = set.iter().map(|(c, _)| *c).collect();
        self.fire_statement(row, s.event, &named, TriggerTime::Before, &[])?;
        let before = std::mem::replace(&mut self.single_row, false);
        let carried = self.carried(&others);
        let types: Vec<Type> = row.columns.iter().map(|c| c.ty.clone()).collect();
        let given = named.iter().map(|c| types[*c].clone());
        let mut kinds: Vec<RegKind> = types.iter().cloned().chain(given).map(RegKind::Value).collect();
        let width = kinds.len();
        kinds.extend(carried.iter().map(|c| c.kind.clone()));
        let list = self.coll(CollKind::List, Vec::new(), kinds.clone());
        self.emit_plan(&plan, &mut |l| {
            let mut values = Vec::with_capacity(kinds.len());
            for (e, ty) in old.iter().zip(&types) {
                let reg = l.exact(e)?;
                values.push(l.exactly(reg, ty));
            }
            values.extend(l.new_values(&set, &multiple)?.into_iter().map(|(_, reg, _)| reg));
            values.extend(l.carried_regs(&carried));
            l.emit(OpKind::Push { coll: list, values });
            Ok(())
        })?;
        let mut columns: Vec<Reg> =
            kinds[..width].iter().map(|k| self.program.reg(k.clone(), None)).collect();
        let was: Values = columns[..types.len()].iter().copied().map(Some).collect();
        let mut proposed = was.clone();
        for (column, reg) in named.iter().zip(&columns[types.len()..]) {
            proposed[*column] = Some(*reg);
        }
        columns.extend(self.renew(&carried));
        let label = self.label();
        let body = self.block(|l| {
            l.with_rels(&others, &mut |l| {
                l.asked_once(&returning)?;
                let changed = ChangedRow { event: s.event, named: &named, old: &was, new: &proposed };
                l.before_row(row, &changed, &mut |l, new, _| {
                    l.count_row(count, false);
                    l.rel_mut(shadow).regs = if s.event.has_new() { new.clone() } else { was.clone() };
                    l.available.push(shadow);
                    let done = l.give(&returning, sink);
                    l.available.pop();
                    done
                })
            })
        })?;
        self.emit(OpKind::ForEach { coll: list, columns, entry: None, label, body });
        self.fire_statement(row, s.event, &named, TriggerTime::After, &[])?;
        self.single_row = before;
        self.explains.depth = depth;
        self.pop_frame();
        Ok(count)
    }
}
