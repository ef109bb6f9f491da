//! What is done to a bound query before it is planned: group keys and aggregates become columns, conditions
//! move into derived tables, unused outputs go, uses of columns are counted.

use super::Lowerer;
use super::bound::{
    Aggregate, AggregateKind, Body, Bound, BoundKind, BoundQuery, BoundSelect, Distinct, Grouping, Item,
    RelId, RelKind, WindowCall, WindowKind,
};
use planaria_base::{Error, Result, SqlState};
use planaria_catalog::Volatility;
use std::collections::BTreeSet;

/// CTEs that a visit has met: each is visited once, behind everything else, however often and however deep below
/// others it is read.
#[derive(Default)]
struct Met {
    all: BTreeSet<usize>,
    left: Vec<usize>,
}

impl Bound {
    /// Evaluating it twice, or not at all, makes no difference and costs little.
    pub fn is_cheap(&self) -> bool {
        let mut cheap = self.is_plain() && !matches!(&self.kind, BoundKind::Ask(..));
        self.children(&mut |e| cheap = cheap && e.is_cheap(), &mut |_| {});
        cheap
    }

    /// Nothing is missed where it is not evaluated.
    pub fn is_discardable(&self) -> bool {
        let acts = matches!(&self.kind, BoundKind::Ask(question, _) if question.acts());
        let mut all = self.is_plain() && !acts;
        self.children(&mut |e| all = all && e.is_discardable(), &mut |_| {});
        all
    }

    /// By itself it draws nothing, calls nothing and has no query in it.
    pub fn is_plain(&self) -> bool {
        !matches!(
            &self.kind,
            BoundKind::Draw(_)
                | BoundKind::NextValue(_)
                | BoundKind::CurrentValue(_)
                | BoundKind::SetValue(..)
                | BoundKind::ByText(..)
                | BoundKind::Call(..)
                | BoundKind::Subquery(_)
                | BoundKind::Exists(_)
                | BoundKind::InQuery(..)
                | BoundKind::QuantifiedQuery(..)
                | BoundKind::ArrayQuery(_)
        )
    }
}

/// Visits every expression of a select that belongs to its own level.
pub(super) fn select_exprs(select: &mut BoundSelect, f: &mut dyn FnMut(&mut Bound)) {
    select.outputs.iter_mut().for_each(&mut *f);
    if let Some(windows) = &mut select.windows {
        windows.calls.iter_mut().for_each(|w| window_exprs(w, f));
    }
    if let Some(grouping) = &mut select.grouping {
        grouping.having.iter_mut().for_each(&mut *f);
        grouping.keys.iter_mut().for_each(&mut *f);
        grouping.aggregates.iter_mut().for_each(|a| aggregate_exprs(a, f));
    }
    select.filter.iter_mut().for_each(&mut *f);
    item_exprs(&mut select.from, f);
}

fn aggregate_exprs(a: &mut Aggregate, f: &mut dyn FnMut(&mut Bound)) {
    a.args.iter_mut().for_each(&mut *f);
    a.filter.iter_mut().for_each(&mut *f);
    a.order.iter_mut().for_each(|(e, ..)| f(e));
}

fn window_exprs(w: &mut WindowCall, f: &mut dyn FnMut(&mut Bound)) {
    w.args.iter_mut().for_each(&mut *f);
    w.partition.iter_mut().for_each(&mut *f);
    w.order.iter_mut().for_each(|(e, ..)| f(e));
    if let WindowKind::Aggregate(a) = &mut w.kind {
        aggregate_exprs(a, f);
    }
}

fn item_exprs(items: &mut [Item], f: &mut dyn FnMut(&mut Bound)) {
    for item in items {
        match item {
            Item::Rel(_) => {}
            Item::Outer { right, on, .. } => {
                on.iter_mut().for_each(&mut *f);
                item_exprs(right, f);
            }
            Item::Full { left, left_filter, right, right_filter, on } => {
                on.iter_mut().chain(left_filter).chain(right_filter).for_each(&mut *f);
                item_exprs(left, f);
                item_exprs(right, f);
            }
        }
    }
}

/// The expressions of a relation itself.
pub(super) fn rel_exprs(kind: &mut RelKind, f: &mut dyn FnMut(&mut Bound)) {
    match kind {
        RelKind::Series { start, stop, step, .. } => {
            f(start);
            f(stop);
            f(step);
        }
        RelKind::Unnest { array, .. } => f(array),
        RelKind::CallSet { args, .. } | RelKind::CallRow { args, .. } | RelKind::Row(args) => {
            args.iter_mut().for_each(f)
        }
        RelKind::Table(_)
        | RelKind::System(_)
        | RelKind::Query(_)
        | RelKind::Cte(_)
        | RelKind::Work(_)
        | RelKind::Zip(_)
        | RelKind::Pseudo => {}
    }
}

impl Lowerer<'_> {
    /// Calls `f` for every expression of an expression, from outside in, those of queries inside
    /// included. Where `f` says false, it goes no deeper.
    pub(super) fn visit(&mut self, e: &mut Bound, f: &mut dyn FnMut(&mut Self, &mut Bound) -> bool) {
        let mut met = Met::default();
        self.visit_expr(e, &mut met, f);
        self.visit_met(&mut met, f);
    }

    /// The same for all of a query.
    pub(super) fn visit_query(
        &mut self,
        q: &mut BoundQuery,
        f: &mut dyn FnMut(&mut Self, &mut Bound) -> bool,
    ) {
        let mut met = Met::default();
        self.visit_level(q, &mut met, f);
        self.visit_met(&mut met, f);
    }

    /// The CTEs that were met, one after another.
    fn visit_met(&mut self, met: &mut Met, f: &mut dyn FnMut(&mut Self, &mut Bound) -> bool) {
        while let Some(index) = met.left.pop() {
            if let Some(mut query) = self.ctes[index].query.take() {
                self.visit_level(&mut query, met, f);
                self.ctes[index].query = Some(query);
            }
            if let Some(mut turn) = self.ctes[index].turn.take() {
                self.visit_level(&mut turn.query, met, f);
                self.ctes[index].turn = Some(turn);
            }
        }
    }

    fn visit_expr(&mut self, e: &mut Bound, met: &mut Met, f: &mut dyn FnMut(&mut Self, &mut Bound) -> bool) {
        if !f(self, e) {
            return;
        }
        let mut children: Vec<&mut Bound> = Vec::new();
        let mut queries: Vec<&mut BoundQuery> = Vec::new();
        collect(e, &mut children, &mut queries);
        for child in children {
            self.visit_expr(child, met, f);
        }
        for query in queries {
            self.visit_level(query, met, f);
        }
    }

    fn visit_level(
        &mut self,
        q: &mut BoundQuery,
        met: &mut Met,
        f: &mut dyn FnMut(&mut Self, &mut Bound) -> bool,
    ) {
        q.limit.iter_mut().chain(&mut q.offset).for_each(|e| self.visit_expr(e, met, f));
        match &mut q.body {
            Body::Select(select) => {
                select_exprs(select, &mut |e| self.visit_expr(e, met, f));
                for rel in self.rels_of(&select.from) {
                    self.visit_rel(rel, met, f);
                }
            }
            Body::Values(rows) => rows.iter_mut().flatten().for_each(|e| self.visit_expr(e, met, f)),
            Body::SetOp(set) => {
                set.sides_mut().for_each(|side| self.visit_level(side, met, f));
            }
        }
    }

    fn visit_rel(&mut self, rel: RelId, met: &mut Met, f: &mut dyn FnMut(&mut Self, &mut Bound) -> bool) {
        let mut kind = std::mem::replace(&mut self.rel_mut(rel).kind, RelKind::Pseudo);
        match &mut kind {
            RelKind::Query(query) => self.visit_level(query, met, f),
            RelKind::Cte(index) => {
                if met.all.insert(*index) {
                    met.left.push(*index);
                }
            }
            RelKind::Zip(parts) => parts.iter().for_each(|part| self.visit_rel(*part, met, f)),
            other => rel_exprs(other, &mut |e| {
                self.visit_expr(e, met, f);
            }),
        }
        self.rel_mut(rel).kind = kind;
    }

    /// All columns an expression names, those in queries inside included.
    pub(super) fn columns_of(&mut self, e: &Bound) -> Vec<(RelId, usize)> {
        let mut columns = Vec::new();
        let mut e = e.clone();
        self.visit(&mut e, &mut |_, e| {
            if let BoundKind::Column(rel, column) = e.kind {
                columns.push((rel, column));
            }
            true
        });
        columns
    }

    /// The relations on whose rows an expression depends.
    pub(super) fn rels_in(&mut self, e: &Bound) -> Vec<RelId> {
        let mut rels = Vec::new();
        let mut e = e.clone();
        self.visit(&mut e, &mut |_, e| {
            match &e.kind {
                BoundKind::Column(rel, _) => rels.push(*rel),
                BoundKind::PerRow(of, _) => rels.extend(of),
                _ => {}
            }
            true
        });
        rels.sort_unstable();
        rels.dedup();
        rels
    }

    /// Whether an expression may have another value each time it is evaluated.
    pub(super) fn is_volatile(&mut self, e: &Bound) -> bool {
        let mut volatile = false;
        let mut e = e.clone();
        self.visit(&mut e, &mut |l, e| {
            volatile |= match &e.kind {
                BoundKind::Draw(draw) => !draw.is_stable(),
                BoundKind::NextValue(_) | BoundKind::SetValue(..) | BoundKind::CurrentValue(_) => true,
                BoundKind::ByText(..) => true,
                BoundKind::Ask(question, _) => question.acts(),
                BoundKind::Call(id, _) => l.catalog.procedure(*id).volatility == Volatility::Volatile,
                _ => false,
            };
            !volatile
        });
        volatile
    }

    /// Whether an expression calls users' volatile functions: these see what their statement has changed so far.
    pub(super) fn calls_volatile(&mut self, e: &Bound) -> bool {
        let volatile = |l: &Self, id| l.catalog.procedure(id).volatility == Volatility::Volatile;
        let mut calls = self.inner_rels(e).into_iter().any(|rel| match &self.rel(rel).kind {
            RelKind::CallSet { procedure, .. } | RelKind::CallRow { procedure, .. } => {
                volatile(self, *procedure)
            }
            _ => false,
        });
        self.visit(&mut e.clone(), &mut |l, e| {
            calls |= matches!(e.kind, BoundKind::Call(id, _) if volatile(l, id));
            !calls
        });
        calls
    }

    /// Ties conditions that name no column of these items but may differ each time to the rows they stand beside.
    pub(super) fn per_row(&mut self, conditions: &mut [Bound], items: &[Item]) {
        let locals = self.rels_of(items);
        for e in conditions {
            if self.is_volatile(e)
                && !self.rels_in(e).iter().any(|r| locals.contains(r))
                && !locals.is_empty()
            {
                let inner = std::mem::replace(e, Bound::bool(true, 0));
                let (ty, position) = (inner.ty.clone(), inner.position);
                *e = Bound::new(BoundKind::PerRow(locals.clone(), Box::new(inner)), ty, position);
            }
        }
    }

    /// Whether a query asks for anything that its transaction draws, itself or through functions: then it is
    /// computed where and as often as it stands.
    pub(super) fn draws(&mut self, query: &BoundQuery) -> bool {
        let mut e = Bound::new(BoundKind::Exists(Box::new(query.clone())), planaria_base::Type::Bool, 0);
        let pure = |l: &Self, id| l.catalog.procedure(id).volatility == Volatility::Immutable;
        let by_function = self.inner_rels(&e).into_iter().any(|rel| match &self.rel(rel).kind {
            RelKind::CallSet { procedure, .. } | RelKind::CallRow { procedure, .. } => {
                !pure(self, *procedure)
            }
            _ => false,
        });
        let mut draws = by_function;
        self.visit(&mut e, &mut |l, e| {
            draws |= match &e.kind {
                BoundKind::Draw(_)
                | BoundKind::NextValue(_)
                | BoundKind::CurrentValue(_)
                | BoundKind::SetValue(..)
                | BoundKind::ByText(..) => true,
                BoundKind::Ask(question, _) => question.acts(),
                BoundKind::Call(id, _) => !pure(l, *id),
                _ => false,
            };
            !draws
        });
        draws
    }

    /// Everything of an expression from a catalog text stands where that was referred to.
    pub(super) fn reposition(&mut self, e: &mut Bound, position: u32) {
        self.visit(e, &mut |_, e| {
            e.position = position;
            true
        });
    }

    pub(super) fn reposition_query(&mut self, q: &mut BoundQuery, position: u32) {
        self.visit_query(q, &mut |_, e| {
            e.position = position;
            true
        });
    }

    /// After grouping, expressions may speak of group keys and aggregates only: keys become columns of
    /// the group, columns that depend on a whole primary key among the keys become `First`
    /// aggregates, others are 42803.
    pub(super) fn regroup(
        &mut self,
        grouping: &mut Grouping,
        locals: &[RelId],
        outputs: &mut [Bound],
        windows: &mut [WindowCall],
        window_rel: RelId,
    ) -> Result<()> {
        let mut error = None;
        let Grouping { rel, keys, aggregates, having, sets, .. } = grouping;
        let group_rel = *rel;
        // With grouping sets, what depends on keys depends on those that all sets have.
        let in_all = |at: usize| sets.iter().all(|set| set[at]);
        let common: Vec<Bound> = match sets.is_empty() {
            true => keys.clone(),
            false => {
                keys[1..].iter().enumerate().filter(|(at, _)| in_all(*at)).map(|(_, k)| k.clone()).collect()
            }
        };
        let mut regroup = |l: &mut Self, e: &mut Bound| -> bool {
            if error.is_some() {
                return false;
            }
            if let Some(i) = keys.iter().position(|k| k == e) {
                let position = e.position;
                *e = Bound::column(group_rel, i, e.ty.clone(), position);
                return false;
            }
            let BoundKind::Column(rel, column) = e.kind else { return true };
            if rel == group_rel || rel == window_rel || !locals.contains(&rel) {
                return true;
            }
            if l.depends_on_keys(rel, &common) {
                if let RelKind::Table(table) = l.rel(rel).kind {
                    l.keys_relied_on.push(table);
                }
                let first = Aggregate {
                    kind: AggregateKind::First,
                    args: vec![e.clone()],
                    distinct: false,
                    filter: None,
                    order: Vec::new(),
                    ty: e.ty.clone(),
                };
                let at = aggregates.iter().position(|a| *a == first).unwrap_or_else(|| {
                    aggregates.push(first);
                    aggregates.len() - 1
                });
                *e = Bound::column(group_rel, keys.len() + at, e.ty.clone(), e.position);
                return true;
            }
            let relation = l.rel(rel);
            let message = format!(
                "column \"{}.{}\" must appear in the GROUP BY clause or be used in an aggregate function",
                relation.name, relation.columns[column].0
            );
            let ungrouped = Error::new(SqlState::GROUPING_ERROR, message).at(e.position);
            error = Some(match l.direct.contains(&e.position) {
                true => ungrouped.with_detail(
                    "Direct arguments of an ordered-set aggregate must use only grouped columns.",
                ),
                false => ungrouped,
            });
            false
        };
        for e in outputs.iter_mut().chain(having.iter_mut()) {
            self.visit(e, &mut regroup);
        }
        for w in windows {
            window_exprs(w, &mut |e| self.visit(e, &mut regroup));
        }
        error.map_or(Ok(()), Err)
    }

    /// Whether the group keys hold the whole primary key of a table.
    fn depends_on_keys(&self, rel: RelId, keys: &[Bound]) -> bool {
        let table = match self.rel(rel).kind {
            RelKind::Table(table) => self.catalog.table_by_id(table),
            RelKind::System(id) => {
                let oid = planaria_catalog::system::by_id(id).column("oid");
                return oid.is_some_and(|oid| keys.iter().any(|k| k.as_column() == Some((rel, oid))));
            }
            _ => return false,
        };
        table.has_primary_key
            && table.indexes[0].columns.iter().all(|c| {
                keys.iter()
                    .any(|k| k.ty != planaria_base::Type::TID && k.as_column() == Some((rel, c.index())))
            })
    }

    /// Moves conditions over one derived table alone into it, where they can use its indexes.
    pub(super) fn push_down(&mut self, items: &[Item], filter: &mut Vec<Bound>) -> Result<()> {
        for item in items {
            let Item::Rel(rel) = item else { continue };
            if !matches!(self.rel(*rel).kind, RelKind::Query(_)) {
                continue;
            }
            let RelKind::Query(mut query) = std::mem::replace(&mut self.rel_mut(*rel).kind, RelKind::Pseudo)
            else {
                continue;
            };
            let locals = self.rels_of(items);
            let mut kept = Vec::new();
            for condition in filter.drain(..) {
                let rels = self.rels_in(&condition);
                let alone = rels.contains(rel) && rels.iter().all(|r| r == rel || !locals.contains(r));
                if !(alone && condition.is_cheap() && self.push_into(&mut query, *rel, &condition)) {
                    kept.push(condition);
                }
            }
            *filter = kept;
            self.rel_mut(*rel).kind = RelKind::Query(query);
        }
        Ok(())
    }

    /// Adds a condition over a derived table's columns to its query; false where that would change
    /// its meaning.
    fn push_into(&mut self, query: &mut BoundQuery, rel: RelId, condition: &Bound) -> bool {
        if !self.can_push(query, rel, condition) {
            return false;
        }
        self.do_push(query, rel, condition);
        true
    }

    fn can_push(&mut self, query: &BoundQuery, rel: RelId, condition: &Bound) -> bool {
        if query.limit.is_some() || query.offset.is_some() || !query.locks.is_empty() {
            return false;
        }
        let used = self.columns_of(condition);
        match &query.body {
            Body::Values(_) => false,
            Body::SetOp(set) => set.sides().all(|side| self.can_push(side, rel, condition)),
            Body::Select(select) => {
                if select.windows.is_some() || matches!(select.distinct, Distinct::On(_)) {
                    return false;
                }
                used.iter().filter(|(r, _)| *r == rel).all(|(_, column)| {
                    let output = &select.outputs[*column];
                    let keys_only = match &select.grouping {
                        None => true,
                        Some(g) => {
                            g.grouped
                                && g.sets.is_empty()
                                && self
                                    .columns_of(output)
                                    .iter()
                                    .all(|(r, c)| *r != g.rel || *c < g.keys.len())
                                && g.keys.iter().all(Bound::is_cheap)
                        }
                    };
                    output.is_cheap() && keys_only
                })
            }
        }
    }

    fn do_push(&mut self, query: &mut BoundQuery, rel: RelId, condition: &Bound) {
        match &mut query.body {
            Body::Values(_) => {}
            Body::SetOp(set) => {
                set.sides_mut().for_each(|side| self.do_push(side, rel, condition));
            }
            Body::Select(select) => {
                let mut condition = condition.clone();
                let outputs = &select.outputs;
                self.visit(&mut condition, &mut |_, e| match e.kind {
                    BoundKind::Column(r, column) if r == rel => {
                        let position = e.position;
                        *e = Bound { position, ..outputs[column].clone() };
                        false
                    }
                    _ => true,
                });
                if let Some(grouping) = &select.grouping {
                    let (group, keys) = (grouping.rel, &grouping.keys);
                    self.visit(&mut condition, &mut |_, e| match e.kind {
                        BoundKind::Column(r, column) if r == group => {
                            *e = keys[column].clone();
                            false
                        }
                        _ => true,
                    });
                }
                condition.conjuncts(&mut select.filter);
                let from = std::mem::take(&mut select.from);
                // A derived table within may take it further.
                let pushed = self.push_down(&from, &mut select.filter);
                debug_assert!(pushed.is_ok());
                select.from = from;
            }
        }
    }

    /// Counts the uses of columns, so that others are not loaded; outputs nobody needs become NULL.
    pub(super) fn count_query(&mut self, q: &mut BoundQuery, needed: &[bool]) {
        for e in q.limit.iter_mut().chain(&mut q.offset) {
            self.count(e);
        }
        match &mut q.body {
            Body::Values(rows) => rows.iter_mut().flatten().for_each(|e| self.count(e)),
            Body::SetOp(set) => {
                let all = vec![true; needed.len()];
                let needed = if set.all && q.order.is_empty() && set.op == planaria_syntax::ast::SetOp::Union
                {
                    needed
                } else {
                    &all
                };
                set.sides_mut().for_each(|side| self.count_query(side, needed));
            }
            Body::Select(select) => {
                if select.distinct == Distinct::No {
                    for (i, output) in select.outputs[..select.visible].iter_mut().enumerate() {
                        let sorts = q.order.iter().any(|o| o.output == i);
                        if !needed[i] && !sorts && output.is_discardable() {
                            *output = Bound::null(output.ty.clone(), output.position);
                        }
                    }
                }
                select_exprs(select, &mut |e| self.count(e));
                for rel in self.rels_of(&select.from).into_iter().rev() {
                    self.count_rel(rel);
                }
            }
        }
    }

    fn count_rel(&mut self, rel: RelId) {
        let mut kind = std::mem::replace(&mut self.rel_mut(rel).kind, RelKind::Pseudo);
        match &mut kind {
            RelKind::Query(query) => {
                let needed: Vec<bool> = self.rel(rel).uses.iter().map(|n| *n > 0).collect();
                self.count_query(query, &needed);
            }
            RelKind::Cte(index) => {
                // Once, by its first reference; what it reads before it, so that nobody goes deep.
                if !self.ctes[*index].counted {
                    for below in self.ctes_below(*index) {
                        self.count_cte(below);
                    }
                    self.count_cte(*index);
                }
            }
            RelKind::Zip(parts) => parts.iter().for_each(|part| self.count_rel(*part)),
            other => rel_exprs(other, &mut |e| self.count(e)),
        }
        self.rel_mut(rel).kind = kind;
    }

    pub(super) fn count_cte(&mut self, index: usize) {
        let cte = &mut self.ctes[index];
        if !cte.counted
            && let Some(mut query) = cte.query.take()
        {
            cte.counted = true;
            let needed = vec![true; query.columns.len()];
            self.count_query(&mut query, &needed);
            self.ctes[index].query = Some(query);
            if let Some(mut turn) = self.ctes[index].turn.take() {
                self.count_query(&mut turn.query, &needed);
                self.ctes[index].turn = Some(turn);
            }
        }
    }

    /// The CTEs that one reads, through others too, each behind those that it reads.
    pub(super) fn ctes_below(&self, index: usize) -> BTreeSet<usize> {
        let mut below = BTreeSet::new();
        let mut left = vec![index];
        while let Some(index) = left.pop() {
            left.extend(self.ctes[index].reads.iter().filter(|read| below.insert(**read)));
        }
        below
    }

    /// Counts the uses of columns in an expression.
    pub(super) fn count(&mut self, e: &mut Bound) {
        if let BoundKind::Column(rel, column) = e.kind {
            self.rel_mut(rel).uses[column] += 1;
            return;
        }
        let exists = matches!(e.kind, BoundKind::Exists(_));
        let mut children: Vec<&mut Bound> = Vec::new();
        let mut queries: Vec<&mut BoundQuery> = Vec::new();
        collect(e, &mut children, &mut queries);
        for child in children {
            self.count(child);
        }
        for query in queries {
            let needed = vec![!exists; query.columns.len()];
            self.count_query(query, &needed);
        }
    }

    /// Takes back what a condition counted on one relation: an access path has consumed it.
    pub(super) fn uncount(&mut self, e: &Bound, rel: RelId) {
        for (r, column) in self.columns_of(e) {
            if r == rel {
                let uses = &mut self.rel_mut(rel).uses[column];
                *uses = uses.saturating_sub(1);
            }
        }
    }
}

/// Splits an expression into what is directly inside it.
fn collect<'a>(e: &'a mut Bound, children: &mut Vec<&'a mut Bound>, queries: &mut Vec<&'a mut BoundQuery>) {
    match &mut e.kind {
        BoundKind::Const(_)
        | BoundKind::Reg(_)
        | BoundKind::Param(_)
        | BoundKind::Column(..)
        | BoundKind::LetRef(_)
        | BoundKind::Draw(_)
        | BoundKind::NextValue(_)
        | BoundKind::CurrentValue(_) => {}
        BoundKind::Apply(_, args)
        | BoundKind::Coalesce(args)
        | BoundKind::Ask(_, args)
        | BoundKind::Call(_, args)
        | BoundKind::ByText(args)
        | BoundKind::NotAmong(_, args)
        | BoundKind::Row(args) => children.extend(args),
        BoundKind::Cast(e, _)
        | BoundKind::Relabel(e)
        | BoundKind::PerRow(_, e)
        | BoundKind::Secured(e)
        | BoundKind::InDomain(e, _) => children.push(e),
        BoundKind::And(a, b)
        | BoundKind::Or(a, b)
        | BoundKind::SetValue(_, a, b)
        | BoundKind::Quantified(a, b, ..) => children.extend([&mut **a, &mut **b]),
        BoundKind::Let(values, body) => {
            children.extend(values.iter_mut().map(|(_, e)| e));
            children.push(body);
        }
        BoundKind::Case(whens, otherwise) => {
            for (when, then) in whens {
                children.extend([when, then]);
            }
            children.push(otherwise);
        }
        BoundKind::InList(e, list, _) => {
            children.push(e);
            children.extend(list);
        }
        BoundKind::InQuery(left, query) => {
            children.extend(left);
            queries.push(query);
        }
        BoundKind::QuantifiedQuery(e, query, ..) => {
            children.push(e);
            queries.push(query);
        }
        BoundKind::Subquery(query) | BoundKind::Exists(query) | BoundKind::ArrayQuery(query) => {
            queries.push(query)
        }
    }
}
