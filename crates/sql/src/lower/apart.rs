//! Queries whose functions change what they read.
//!
//! PostgreSQL reads all rows of a statement as they were when it began; what the functions that it calls change is seen
//! by their own statements alone. Here a statement reads the rows as they are. So where a function may change a table
//! that the query reads, the reading comes first: the rows are found, with the subqueries over such tables, and kept in
//! a list; then the functions are called for each. Those in FROM are joined last, behind that list.
//!
//! What a function may change is told by its text, and the texts of the functions and triggers that it leads to: the
//! tables whose names occur there, or any where it has EXECUTE ([`Changed`]). UPDATE and DELETE find their rows first
//! for every volatile function ([`Lowerer::calls_of`]).

use super::Lowerer;
use super::bound::{Body, Bound, BoundKind, BoundQuery, BoundSelect, Item, RelId, RelKind};
use super::emit_join::Then;
use super::plan::{JoinPlan, Step};
use planaria_base::{Error, ProcedureId, Result, TableId, Type};
use planaria_catalog::{Catalog, Procedure, Table, Volatility};
use planaria_ir::{CollKind, OpKind, Reg, RegKind};
use std::collections::BTreeSet;

/// Tables that functions may change.
#[derive(Clone, Default)]
pub(super) struct Changed {
    any: bool,
    tables: BTreeSet<TableId>,
}

impl Changed {
    pub(super) fn has(&self, table: TableId) -> bool {
        self.any || self.tables.contains(&table)
    }

    pub(super) fn is_nothing(&self) -> bool {
        !self.any && self.tables.is_empty()
    }

    pub(super) fn add(&mut self, table: TableId) {
        self.tables.insert(table);
    }

    pub(super) fn join(&mut self, other: &Changed) {
        self.any |= other.any;
        self.tables.extend(&other.tables);
    }

    /// One of these tables that a function leads to, by its text.
    pub(super) fn met_by(&self, catalog: &Catalog, function: ProcedureId) -> Option<TableId> {
        let mut reached = Reached::new(catalog);
        reached.functions.push(catalog.behind(function));
        reached.follow();
        reached.tables.into_iter().find(|table| self.has(*table))
    }

    /// Adds what a function may change, itself or through what it leads to.
    pub(super) fn add_function(&mut self, catalog: &Catalog, function: ProcedureId) {
        let mut reached = Reached::new(catalog);
        reached.functions.push(catalog.behind(function));
        reached.follow();
        if reached.changes {
            self.any |= reached.any;
            self.tables.extend(reached.tables);
        }
    }
}

/// What a function leads to, by the words of its text.
struct Reached<'c> {
    catalog: &'c Catalog,
    functions: Vec<&'c Procedure>,
    seen: BTreeSet<ProcedureId>,
    tables: BTreeSet<TableId>,
    views: BTreeSet<&'c str>,
    /// It has statements that change something, and such as are made when they run.
    changes: bool,
    any: bool,
}

impl<'c> Reached<'c> {
    fn new(catalog: &'c Catalog) -> Reached<'c> {
        Reached {
            catalog,
            functions: Vec::new(),
            seen: BTreeSet::new(),
            tables: BTreeSet::new(),
            views: BTreeSet::new(),
            changes: false,
            any: false,
        }
    }

    fn follow(&mut self) {
        while let Some(function) = self.functions.pop() {
            if self.seen.insert(function.id) {
                self.words(&function.body);
            }
        }
    }

    /// Those of comments and literals, too: where a quote ends, only the parser knows.
    fn words(&mut self, text: &'c str) {
        const CHANGES: [&str; 7] = ["insert", "update", "delete", "merge", "truncate", "copy", "execute"];
        let mut texts = vec![text];
        while let Some(text) = texts.pop() {
            for word in text.split(|c: char| !(c.is_alphanumeric() || c == '_' || c == '$')) {
                let lower = word.to_lowercase();
                self.changes |= CHANGES.contains(&lower.as_str());
                self.any |= lower == "execute";
                for name in [Some(lower.as_str()), (lower != word).then_some(word)].into_iter().flatten() {
                    self.functions.extend(self.catalog.routines_called(name));
                    let tables: Vec<&Table> = self.catalog.tables_called(name).collect();
                    tables.into_iter().for_each(|table| self.table(table));
                    // A change of a view is one of the tables behind it.
                    for view in self.catalog.views.values().filter(|view| view.name == name) {
                        if self.views.insert(&view.query) {
                            texts.push(&view.query);
                            self.triggers(view.rows.as_deref());
                        }
                    }
                }
            }
        }
    }

    fn table(&mut self, table: &'c Table) {
        let mut next = vec![table];
        while let Some(table) = next.pop() {
            if self.tables.insert(table.id) {
                next.extend(self.catalog.references_to(table.id).map(|(child, _)| child));
                self.triggers(Some(table));
            }
        }
    }

    fn triggers(&mut self, table: Option<&'c Table>) {
        let of_partitions = table.into_iter().flat_map(|table| self.catalog.leaves_with_triggers(table));
        let triggers = table.into_iter().chain(of_partitions).flat_map(|table| &table.triggers);
        self.functions.extend(triggers.map(|t| self.catalog.procedure(t.function)));
    }
}

/// What of a query comes after all its rows are found.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct Apart {
    /// Conditions that call what changes its tables.
    called: Vec<Bound>,
    /// What reads such tables, with the registers that hold it by then.
    early: Vec<(Bound, Reg)>,
    /// Functions in FROM that change them.
    from: Vec<RelId>,
    /// Such tables.
    read: BTreeSet<TableId>,
}

impl Lowerer<'_> {
    /// What the volatile functions that an expression calls may change.
    fn changed_by(&mut self, e: &Bound, changed: &mut Changed) {
        let mut called = BTreeSet::new();
        self.visit(&mut e.clone(), &mut |l, e| {
            if let BoundKind::Call(id, _) = e.kind
                && l.catalog.procedure(id).volatility == Volatility::Volatile
            {
                called.insert(id);
            }
            true
        });
        for id in called {
            changed.add_function(self.catalog, id);
        }
    }

    /// A query calls it.
    pub(super) fn meets_routine(&mut self, id: ProcedureId) {
        self.meets_volatile |= self.catalog.procedure(id).volatility == Volatility::Volatile;
    }

    /// What a function in FROM may change.
    fn changed_by_rel(&mut self, rel: RelId) -> Changed {
        let mut changed = Changed::default();
        let given = match self.rel(rel).kind.clone() {
            RelKind::CallSet { procedure, args, .. } | RelKind::CallRow { procedure, args } => {
                if self.catalog.procedure(procedure).volatility == Volatility::Volatile {
                    changed.add_function(self.catalog, procedure);
                }
                args
            }
            RelKind::Row(values) => values,
            RelKind::Series { start, stop, step, .. } => vec![start, stop, step],
            RelKind::Unnest { array, .. } => vec![array],
            _ => Vec::new(),
        };
        for e in &given {
            self.changed_by(e, &mut changed);
        }
        changed
    }

    /// Whether an item of FROM calls what has to be called last.
    pub(super) fn is_called_last(&self, item: &Item) -> bool {
        !self.called_last.is_empty()
            && self.rels_of(std::slice::from_ref(item)).iter().any(|rel| self.called_last.contains(rel))
    }

    fn changes_any(&mut self, e: &Bound, among: &BTreeSet<TableId>) -> bool {
        let mut changed = Changed::default();
        self.changed_by(e, &mut changed);
        among.iter().any(|t| changed.has(*t))
    }

    /// The query with what its functions could change read first; `None` where they change nothing that it reads.
    pub(super) fn apart_from_calls(&mut self, query: &BoundQuery) -> Option<BoundQuery> {
        if !self.meets_volatile {
            return None;
        }
        let Body::Select(select) = &query.body else { return None };
        let of_groups = select.grouping.iter().flat_map(|g| &g.aggregates).flat_map(|a| &a.args);
        let of_windows = select.windows.iter().flat_map(|w| &w.calls).flat_map(|c| &c.args);
        let all: Vec<&Bound> =
            select.outputs.iter().chain(&select.filter).chain(of_groups).chain(of_windows).collect();
        let mut changed = Changed::default();
        for e in &all {
            self.changed_by(e, &mut changed);
        }
        let mut from: Vec<(RelId, Changed)> = Vec::new();
        for rel in self.rels_of(&select.from) {
            let by_rel = self.changed_by_rel(rel);
            if !by_rel.is_nothing() {
                changed.any |= by_rel.any;
                changed.tables.extend(&by_rel.tables);
                from.push((rel, by_rel));
            }
        }
        if changed.is_nothing() {
            return None;
        }
        let whole = Bound::new(BoundKind::Exists(Box::new(query.clone())), Type::Bool, 0);
        let read: BTreeSet<TableId> = self.changed_among(&whole, &changed);
        if read.is_empty() {
            return None;
        }
        let from: Vec<RelId> = from
            .into_iter()
            .filter(|(_, changed)| read.iter().any(|table| changed.has(*table)))
            .map(|(rel, _)| rel)
            .collect();
        self.called_last.extend(&from);
        let (filter, mut called): (Vec<Bound>, Vec<Bound>) =
            select.filter.iter().cloned().partition(|e| !self.changes_any(e, &read));
        let mut select = BoundSelect { filter, ..(**select).clone() };
        let mut early = Vec::new();
        let of_rows = if select.grouping.is_none() && select.windows.is_none() {
            select.outputs.as_mut_slice()
        } else {
            &mut []
        };
        for e in of_rows.iter_mut().chain(&mut called) {
            self.take_early(e, &changed, &read, &from, &mut early);
        }
        select.apart = Some(Box::new(Apart { called, early, from, read }));
        Some(BoundQuery { body: Body::Select(Box::new(select)), ..query.clone() })
    }

    /// Takes out of an expression what is to be computed before anything changes: its subqueries over tables that
    /// may change, but for those that call what changes them.
    fn take_early(
        &mut self,
        e: &mut Bound,
        changed: &Changed,
        read: &BTreeSet<TableId>,
        from: &[RelId],
        early: &mut Vec<(Bound, Reg)>,
    ) {
        self.visit(e, &mut |l, e| {
            let is_query = matches!(
                e.kind,
                BoundKind::Subquery(_)
                    | BoundKind::Exists(_)
                    | BoundKind::ArrayQuery(_)
                    | BoundKind::InQuery(..)
                    | BoundKind::QuantifiedQuery(..)
            );
            if !is_query {
                return true;
            }
            // What it is compared with may be known only in the midst of the expression.
            let mut apart = !l.changed_among(e, changed).is_empty() && !l.changes_any(e, read);
            l.visit(&mut e.clone(), &mut |_, e| {
                apart &= match e.kind {
                    BoundKind::LetRef(_) => false,
                    BoundKind::Column(rel, _) => !from.contains(&rel),
                    _ => true,
                };
                apart
            });
            if apart {
                let reg = l.temp(e.ty.clone());
                let known = Bound::new(BoundKind::Reg(reg), e.ty.clone(), e.position);
                early.push((std::mem::replace(e, known), reg));
            }
            false
        });
    }

    /// The tables that are read in an expression, of those that may change.
    fn changed_among(&mut self, e: &Bound, changed: &Changed) -> BTreeSet<TableId> {
        let rels = self.inner_rels(e).into_iter();
        rels.filter_map(|rel| match self.rel(rel).kind {
            RelKind::Table(table) if changed.has(table) => Some(table),
            _ => None,
        })
        .collect()
    }

    /// Runs `then` for the rows of a plan, after all of them are found.
    pub(super) fn emit_apart(
        &mut self,
        frame: usize,
        plan: &JoinPlan,
        apart: &Apart,
        then: &mut Then<'_>,
    ) -> Result<()> {
        let early = |l: &mut Lowerer<'_>| -> Result<()> {
            for (e, reg) in &apart.early {
                l.value_into(e, *reg)?;
            }
            Ok(())
        };
        let (at, called) = self.called_from(plan, apart)?;
        if plan.single {
            return self.emit_rows_at(frame, plan, &mut |l| {
                early(l)?;
                l.filtered(&apart.called, then)
            });
        }
        let rels: Vec<RelId> = plan.rels.iter().copied().filter(|rel| !called.contains(rel)).collect();
        let carried = self.carried(&rels);
        let mut columns: Vec<Reg> = apart.early.iter().map(|(_, reg)| *reg).collect();
        let mut kinds: Vec<RegKind> = apart.early.iter().map(|(e, _)| RegKind::Value(e.ty.clone())).collect();
        kinds.extend(carried.iter().map(|c| c.kind.clone()));
        let list = self.coll(CollKind::List, Vec::new(), kinds);
        let node = self.note("Materialize");
        let depth = self.explains.depth;
        self.explains.depth += 1;
        let done = self.filtered(&plan.first, &mut |l| {
            l.emit_steps(frame, &plan.steps[..at], &mut |l| {
                early(l)?;
                l.passed(node);
                let mut values = columns.clone();
                values.extend(l.carried_regs(&carried));
                l.emit(OpKind::Push { coll: list, values });
                Ok(())
            })
        });
        self.explains.depth = depth;
        done?;
        columns.extend(self.renew(&carried));
        // What is computed once for all rows of the list is computed now that they are found.
        self.push_frame();
        let frame = self.frames.len() - 1;
        let label = self.label();
        let body = self.block(|l| {
            l.with_rels(&rels, &mut |l| {
                l.emit_steps(frame, &plan.steps[at..], &mut |l| l.filtered(&apart.called, then))
            })
        });
        self.pop_frame();
        let body = body?;
        self.emit(OpKind::ForEach { coll: list, columns, entry: None, label, body });
        Ok(())
    }

    /// Before which step of a plan all rows must be found, and the relations that the steps from there on bring.
    fn called_from(&self, plan: &JoinPlan, apart: &Apart) -> Result<(usize, Vec<RelId>)> {
        let calls = |step: &Step| step.source.rels().iter().any(|rel| apart.from.contains(rel));
        let at = plan.steps.iter().position(calls).unwrap_or(plan.steps.len());
        let mut rels: Vec<RelId> = plan.steps[at..].iter().flat_map(|step| step.source.rels()).collect();
        for rel in rels.clone() {
            match &self.rel(rel).kind {
                RelKind::Zip(parts) => rels.extend(parts),
                RelKind::Table(table) if apart.read.contains(table) => {
                    let name = &self.catalog.table_by_id(*table).name;
                    return Err(Error::unsupported(
                        format!("reading \"{name}\" behind a function in FROM that may change it"),
                        "call the function in a statement of its own",
                    ));
                }
                _ => {}
            }
        }
        Ok((at, rels))
    }

    /// Adds what the calls in operations may change.
    pub(super) fn changed_in(&self, block: &planaria_ir::Block, changed: &mut Changed) {
        let mut called = BTreeSet::<ProcedureId>::new();
        block.visit(&mut |op| {
            if let OpKind::Call { procedure, .. } | OpKind::CallSet { procedure, .. } = &op.kind {
                called.insert(*procedure);
            }
        });
        for id in called {
            changed.add_function(self.catalog, id);
        }
    }
}
