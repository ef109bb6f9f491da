//! The order of joins and how each relation is reached.
//!
//! Rules, a function of the catalog alone: at every step the item with the best access is next.
//!
//! ```text
//!   unique key known  <  IN list over a unique key  <  longest index prefix (+ range)
//!     <  hash join  <  outer join  <  index range  <  function, derived table  <  full scan
//! ```
//!
//! Ties go to the textual order; among full scans the first table is the one that makes most others
//! reachable by index. Where several make as many, and no order is wanted, a statement outside of routines starts with one
//! that has conditions of its own, so that few rows are looked up; where the others are hashed, with one that has none, so
//! that few rows are hashed. (A routine's plan stays as it was: of calls that were logged, replay must read rows in the same order.) A condition is checked at the first step where all its columns are known; one that
//! an access path has consumed is not checked again.

use super::Lowerer;
use super::apart::Apart;
use super::bound::{Body, Bound, BoundKind, BoundQuery, Item, RelId, RelKind};
use super::path::{Path, PathChoice};
use planaria_base::{Error, Result, SqlState, Type, watch};
use planaria_catalog::{ASKED_ONCE, Volatility};
use planaria_ir::{Func, ProgramKind};

/// A column a query is to be ordered by.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) struct Wanted {
    pub rel: RelId,
    pub column: usize,
    pub descending: bool,
    pub nulls_first: bool,
}

/// A group of joins, in the order they are done.
#[derive(Debug, Default)]
pub(super) struct JoinPlan {
    /// Conditions over nothing of the group: checked once, first.
    pub first: Vec<Bound>,
    pub steps: Vec<Step>,
    /// Rows come in the wanted order.
    pub ordered: bool,
    /// There is at most one row.
    pub single: bool,
    /// Its relations.
    pub rels: Vec<RelId>,
    /// What comes after all rows are found.
    pub apart: Option<Box<Apart>>,
}

/// One join: a source, and the conditions that can be checked behind it.
#[derive(Debug)]
pub(super) struct Step {
    pub source: Source,
    pub filter: Vec<Bound>,
}

/// How a relation is joined.
#[derive(Debug)]
pub(super) enum Source {
    Access {
        rel: RelId,
        path: Path,
    },
    /// A relation that computes its rows; `keep` if they are computed once for several turns.
    Produce {
        rel: RelId,
        keep: bool,
    },
    Hash(Hash),
    Outer {
        rels: Vec<RelId>,
        how: Outer,
    },
    Full {
        left: JoinPlan,
        left_rels: Vec<RelId>,
        hash: Hash,
        rest: Vec<Bound>,
    },
}

/// A hash join: the build side is computed once, before the loops around.
#[derive(Debug)]
pub(super) struct Hash {
    pub build: JoinPlan,
    pub rels: Vec<RelId>,
    /// Expressions over the build side, and over what is known at the probe.
    pub keys: Vec<(Bound, Bound)>,
    /// At most one row has a key.
    pub unique: bool,
}

impl Source {
    /// The relations whose rows it brings.
    pub(super) fn rels(&self) -> Vec<RelId> {
        match self {
            Source::Access { rel, .. } | Source::Produce { rel, .. } => vec![*rel],
            Source::Hash(hash) => hash.rels.clone(),
            Source::Outer { rels, .. } => rels.clone(),
            Source::Full { left_rels, hash, .. } => left_rels.iter().chain(&hash.rels).copied().collect(),
        }
    }
}

/// How the nullable side of an outer join is reached.
#[derive(Debug)]
pub(super) enum Outer {
    /// By a unique key; the conditions are checked on the row found.
    Get {
        rel: RelId,
        path: Path,
        rest: Vec<Bound>,
    },
    Hash(Hash, Vec<Bound>),
    Nested(JoinPlan),
}

/// A condition and the relations of the group it concerns.
#[derive(Clone, Debug)]
pub(super) struct Condition {
    pub e: Bound,
    pub rels: Vec<RelId>,
    /// It is a policy's, and is checked before those that are not.
    pub secured: bool,
}

impl Condition {
    fn new(e: &Bound, rels: Vec<RelId>) -> Condition {
        match &e.kind {
            BoundKind::Secured(inner) => Condition { e: (**inner).clone(), rels, secured: true },
            _ => Condition { e: e.clone(), rels, secured: false },
        }
    }

    /// The condition as it stands in a filter.
    fn into_bound(self) -> Bound {
        if !self.secured {
            return self.e;
        }
        let (ty, position) = (self.e.ty.clone(), self.e.position);
        Bound::new(BoundKind::Secured(Box::new(self.e)), ty, position)
    }
}

/// Anything better is an index that is given a key.
pub(super) const HASH: u32 = 50;
const OUTER: u32 = 55;
const PRODUCE: u32 = 70;
const DERIVED: u32 = 75;
/// Functions that change what is read ([`super::apart`]).
const LAST: u32 = u32::MAX;

impl Lowerer<'_> {
    pub(super) fn is_available(&self, rel: RelId) -> bool {
        self.available.contains(&rel)
    }

    /// Plans a group of joins. What is available outside of it is in `self.available`.
    pub(super) fn plan_group(
        &mut self,
        items: &[Item],
        filter: &[Bound],
        order: &[Wanted],
    ) -> Result<JoinPlan> {
        let locals = self.rels_of(items);
        let mut conditions: Vec<Condition> = Vec::with_capacity(filter.len());
        for e in filter {
            let rels = self.rels_in(e).into_iter().filter(|r| locals.contains(r)).collect();
            conditions.push(Condition::new(e, rels));
        }
        let mut plan = JoinPlan { single: true, rels: locals.clone(), ..JoinPlan::default() };
        let known = self.available.len();
        self.take_ready(&mut conditions, &locals, &mut plan.first);
        let mut left: Vec<&Item> = items.iter().collect();
        while !left.is_empty() {
            let at = self.next_item(&left, &conditions, &locals, plan.steps.is_empty(), order)?;
            let item = left.remove(at);
            let first = plan.steps.is_empty();
            let source = self.plan_item(item, &mut conditions, &locals, first, order)?;
            plan.single &= is_single(&source);
            let mut filter = Vec::new();
            self.take_ready(&mut conditions, &locals, &mut filter);
            plan.steps.push(Step { source, filter });
        }
        self.available.truncate(known);
        if let Some(condition) = conditions.first() {
            return Err(Error::internal(format!("a condition was not placed: {:?}", condition.rels)));
        }
        plan.ordered = self.satisfies(&mut plan.steps, order);
        Ok(plan)
    }

    /// Moves the conditions whose relations are all available.
    fn take_ready(&mut self, conditions: &mut Vec<Condition>, locals: &[RelId], ready: &mut Vec<Bound>) {
        let mut taken = Vec::new();
        for condition in std::mem::take(conditions) {
            if !condition.rels.iter().all(|r| self.is_available(*r)) {
                conditions.push(condition);
            } else {
                taken.push(condition);
            }
        }
        let mut late: Vec<((bool, u8), Bound)> = Vec::with_capacity(taken.len());
        for condition in taken {
            late.push(((!condition.secured, self.lateness(&condition.e, locals)), condition.e));
        }
        late.sort_by_key(|(key, _)| *key);
        ready.extend(late.into_iter().map(|(_, e)| e));
    }

    /// How late a condition is checked: those that cost little first, then those that ask for what a query answers once for all
    /// rows, then those with functions and queries for each row. In programs of former forms there are two kinds alone.
    fn lateness(&mut self, e: &Bound, locals: &[RelId]) -> u8 {
        match e.is_cheap() {
            true => 0,
            false if self.form >= ASKED_ONCE && self.asks_once(e, locals) => 1,
            false => 2,
        }
    }

    fn asks_once(&mut self, e: &Bound, locals: &[RelId]) -> bool {
        match &e.kind {
            BoundKind::Subquery(query) | BoundKind::Exists(query) => {
                !self.draws(query) && !self.rels_in(e).iter().any(|rel| locals.contains(rel))
            }
            _ => {
                let mut once = e.is_plain() && !matches!(&e.kind, BoundKind::Ask(..));
                let mut queries = false;
                e.children(&mut |e| once = once && self.asks_once(e, locals), &mut |_| queries = true);
                once && !queries
            }
        }
    }

    /// Which item is best done next.
    fn next_item(
        &mut self,
        left: &[&Item],
        conditions: &[Condition],
        locals: &[RelId],
        first: bool,
        order: &[Wanted],
    ) -> Result<usize> {
        let mut best: Option<(u32, usize)> = None;
        for (i, item) in left.iter().enumerate() {
            watch::check()?;
            let Some(score) = self.score(item, conditions, locals, first, order) else { continue };
            if best.is_none_or(|(s, _)| score < s) {
                best = Some((score, i));
            }
        }
        let Some((score, mut chosen)) = best else {
            return Err(Error::new(
                SqlState::INVALID_COLUMN_REFERENCE,
                "invalid reference to FROM-clause entry in a lateral item",
            ));
        };
        // Nothing is reachable by a key: start where most others become so.
        if score >= OUTER && left.len() > 1 && left.len() <= 12 {
            let weighs = order.is_empty() && self.program.kind == ProgramKind::Statement;
            let mut most = (0, false);
            for (i, item) in left.iter().enumerate() {
                let Item::Rel(rel) = item else { continue };
                if self.score(item, conditions, locals, first, order).is_none_or(|s| s > score.max(100)) {
                    continue;
                }
                let known = self.available.len();
                self.available.push(*rel);
                let (mut reached, mut hashed) = (0, 0);
                for (j, other) in left.iter().enumerate() {
                    let near = |s: u32| s < HASH;
                    if i != j && self.score(other, conditions, locals, false, &[]).is_some_and(near) {
                        reached += 1;
                    }
                    if let Item::Rel(other) = other
                        && i != j
                        && self.hash_keys(&[*other], conditions).is_some()
                    {
                        hashed += 1;
                    }
                }
                self.available.truncate(known);
                let filtered = conditions.iter().any(|c| c.rels == [*rel]);
                let better = match reached {
                    0 => hashed > 0 && !filtered,
                    _ => filtered,
                };
                let found = (reached, weighs && better);
                if found > most {
                    most = found;
                    chosen = i;
                }
            }
        }
        Ok(chosen)
    }

    /// How good it would be to do an item now; `None` where it needs relations that are not available.
    fn score(
        &mut self,
        item: &Item,
        conditions: &[Condition],
        locals: &[RelId],
        first: bool,
        order: &[Wanted],
    ) -> Option<u32> {
        let rel = match item {
            Item::Outer { right, on, requires } => {
                // Besides what it is joined to: what a part of it, or its condition, uses of the rest.
                let own = self.rels_of(right);
                let mut needs = self.free_rels_of_items(right);
                needs.extend(on.iter().flat_map(|e| self.rels_in(e)));
                needs.retain(|r| locals.contains(r) && !own.contains(r));
                let score = if self.is_called_last(item) { LAST } else { OUTER };
                return needs.iter().chain(requires).all(|r| self.is_available(*r)).then_some(score);
            }
            Item::Full { .. } => {
                let needs = self.free_rels_of_items(std::slice::from_ref(item));
                let there = |r: &RelId| !locals.contains(r) || self.is_available(*r);
                return needs.iter().all(there).then_some(DERIVED);
            }
            Item::Rel(rel) => *rel,
        };
        if !self.dependencies(rel).iter().all(|r| !locals.contains(r) || self.is_available(*r)) {
            return None;
        }
        if self.is_called_last(item) {
            return Some(LAST);
        }
        // The rows of a system relation are hashed once for all turns of a query around this one.
        let system = matches!(self.rel(rel).kind, RelKind::System(_));
        let hashable = (!first || system) && self.hash_keys(&[rel], conditions).is_some();
        Some(match self.rel(rel).kind {
            RelKind::Table(_) => {
                let score = self.best_path(rel, conditions, order).score;
                if hashable { score.min(HASH) } else { score }
            }
            RelKind::Row(_) | RelKind::CallRow { .. } => 2,
            RelKind::System(_) => match (hashable, first) {
                (true, _) => HASH,
                (_, true) => DERIVED,
                _ => DERIVED + 15,
            },
            RelKind::Query(_) | RelKind::Cte(_) => match (hashable, first) {
                (true, _) if !self.is_lateral(rel, locals) => HASH,
                (_, true) => DERIVED,
                _ => DERIVED + 15,
            },
            RelKind::Pseudo => 1,
            _ => PRODUCE,
        })
    }

    /// The relations that a relation's own expressions need.
    fn dependencies(&mut self, rel: RelId) -> Vec<RelId> {
        let kind = self.rel(rel).kind.clone();
        let exprs: Vec<Bound> = match kind {
            RelKind::Series { start, stop, step, .. } => vec![start, stop, step],
            RelKind::Zip(parts) => return parts.into_iter().flat_map(|p| self.dependencies(p)).collect(),
            RelKind::Unnest { array, .. } => vec![array],
            RelKind::CallSet { args, .. } | RelKind::CallRow { args, .. } | RelKind::Row(args) => args,
            RelKind::Query(mut query) => {
                let mut rels = Vec::new();
                self.visit_query(&mut query, &mut |_, e| {
                    if let BoundKind::Column(r, _) = e.kind {
                        rels.push(r);
                    }
                    true
                });
                return rels;
            }
            RelKind::Cte(index) => {
                let cte = &self.ctes[index];
                let turn = cte.turn.as_ref().map(|turn| turn.query.clone());
                let mut rels = Vec::new();
                for mut query in cte.query.clone().into_iter().chain(turn) {
                    self.visit_query(&mut query, &mut |_, e| {
                        if let BoundKind::Column(r, _) = e.kind {
                            rels.push(r);
                        }
                        true
                    });
                }
                return rels;
            }
            _ => return Vec::new(),
        };
        exprs.iter().flat_map(|e| self.rels_in(e)).collect()
    }

    fn is_lateral(&mut self, rel: RelId, locals: &[RelId]) -> bool {
        self.dependencies(rel).iter().any(|r| locals.contains(r) || self.is_around(*r))
    }

    fn plan_item(
        &mut self,
        item: &Item,
        conditions: &mut Vec<Condition>,
        locals: &[RelId],
        first: bool,
        order: &[Wanted],
    ) -> Result<Source> {
        match item {
            Item::Rel(rel) => self.plan_rel(*rel, conditions, locals, first, order),
            Item::Outer { right, on, .. } => self.plan_outer(right, on),
            Item::Full { left, left_filter, right, right_filter, on } => {
                let left_rels = self.rels_of(left);
                let right_rels = self.rels_of(right);
                let known = self.available.len();
                let left_plan = self.plan_build(left, left_filter)?;
                let build = self.plan_build(right, right_filter)?;
                self.available.extend(&left_rels);
                let mut conditions = self.conditions(on, &[&left_rels[..], &right_rels[..]].concat());
                let Some(keys) = self.take_hash_keys(&right_rels, &mut conditions) else {
                    return Err(Error::unsupported(
                        "FULL JOIN is only supported with merge-joinable or hash-joinable join conditions",
                        "join on equal columns",
                    ));
                };
                self.available.truncate(known);
                self.available.extend(left_rels.iter().chain(&right_rels));
                let hash = Hash { build, rels: right_rels, keys, unique: false };
                let rest = conditions.into_iter().map(|c| c.e).collect();
                Ok(Source::Full { left: left_plan, left_rels, hash, rest })
            }
        }
    }

    fn plan_rel(
        &mut self,
        rel: RelId,
        conditions: &mut Vec<Condition>,
        locals: &[RelId],
        first: bool,
        order: &[Wanted],
    ) -> Result<Source> {
        let is_table = matches!(self.rel(rel).kind, RelKind::Table(_));
        if is_table {
            let choice = self.best_path(rel, conditions, order);
            if choice.score < HASH || first || self.hash_keys(&[rel], conditions).is_none() {
                let path = self.take_path(rel, choice, conditions);
                self.available.push(rel);
                return Ok(Source::Access { rel, path });
            }
        }
        let system = matches!(self.rel(rel).kind, RelKind::System(_));
        let hashable =
            is_table || system || matches!(self.rel(rel).kind, RelKind::Query(_) | RelKind::Cte(_));
        if (!first || system)
            && hashable
            && !self.is_lateral(rel, locals)
            && let Some(keys) = self.take_hash_keys(&[rel], conditions)
        {
            let mut own = Vec::new();
            conditions.retain(|c| {
                let mut alone = c.rels == [rel];
                if alone {
                    // What speaks of a query around would tie the table of a system relation to its turns.
                    let all = self.rels_in(&c.e);
                    alone = all.iter().all(|r| *r == rel || !system && !self.is_around(*r));
                }
                if alone {
                    own.push(c.clone().into_bound());
                }
                !alone
            });
            let build = self.plan_build(&[Item::Rel(rel)], &own)?;
            let unique = self.unique_build(&[Item::Rel(rel)], &keys);
            self.available.push(rel);
            return Ok(Source::Hash(Hash { build, rels: vec![rel], keys, unique }));
        }
        let keep = !first
            && !self.is_lateral(rel, locals)
            && (matches!(self.rel(rel).kind, RelKind::Query(_)) || self.rows_differ(rel));
        self.available.push(rel);
        if let RelKind::Zip(parts) = &self.rel(rel).kind {
            let parts = parts.clone();
            self.available.extend(parts);
        }
        Ok(Source::Produce { rel, keep })
    }

    /// Whether a relation that computes its rows may give others each time: they are computed once.
    fn rows_differ(&mut self, rel: RelId) -> bool {
        let exprs = match self.rel(rel).kind.clone() {
            RelKind::CallSet { procedure, args, .. } | RelKind::CallRow { procedure, args } => {
                if self.catalog.procedure(procedure).volatility == Volatility::Volatile {
                    return true;
                }
                args
            }
            RelKind::Row(values) => values,
            RelKind::Series { start, stop, step, .. } => vec![start, stop, step],
            RelKind::Unnest { array, .. } => vec![array],
            RelKind::Query(query) => vec![Bound::new(BoundKind::Exists(query), Type::Bool, 0)],
            RelKind::Zip(_)
            | RelKind::Table(_)
            | RelKind::System(_)
            | RelKind::Cte(_)
            | RelKind::Work(_)
            | RelKind::Pseudo => Vec::new(),
        };
        exprs.iter().any(|e| self.is_volatile(e))
    }

    /// Plans what is computed before the loops of the group around it.
    fn plan_build(&mut self, items: &[Item], filter: &[Bound]) -> Result<JoinPlan> {
        let base = self.frames.last().map_or(0, |f| f.available);
        let around = self.available.split_off(base);
        let plan = self.plan_group(items, filter, &[]);
        self.available.extend(around);
        plan
    }

    fn plan_outer(&mut self, right: &[Item], on: &[Bound]) -> Result<Source> {
        let rels = self.rels_of(right);
        let mut conditions = self.conditions(on, &rels);
        // One table, reached by a unique key.
        if let [Item::Rel(rel)] = right
            && matches!(self.rel(*rel).kind, RelKind::Table(_))
        {
            let choice = self.best_path(*rel, &conditions, &[]);
            if choice.is_get() {
                let path = self.take_path(*rel, choice, &mut conditions);
                self.available.push(*rel);
                conditions.sort_by_key(|c| !c.secured);
                let rest = conditions.into_iter().map(|c| c.e).collect();
                return Ok(Source::Outer { rels, how: Outer::Get { rel: *rel, path, rest } });
            }
        }
        // An index still beats a hash table where its prefix is known.
        let indexed = match right {
            [Item::Rel(rel)] if matches!(self.rel(*rel).kind, RelKind::Table(_)) => {
                self.best_path(*rel, &conditions, &[]).score < HASH
            }
            [Item::Rel(_)] => false,
            _ => {
                let mut reachable = false;
                for item in right {
                    let Item::Rel(rel) = item else { continue };
                    if matches!(self.rel(*rel).kind, RelKind::Table(_)) {
                        reachable |= self.best_path(*rel, &conditions, &[]).score < HASH;
                    }
                }
                reachable
            }
        };
        let free = self.free_rels_of_items(right);
        let lateral = free.iter().any(|r| self.is_around(*r));
        if !indexed
            && !lateral
            && let Some(keys) = self.take_hash_keys(&rels, &mut conditions)
        {
            // What can be checked while the table is built, and what needs the other side.
            let (mut own, mut rest) = (Vec::new(), Vec::new());
            for condition in conditions {
                let all = self.rels_in(&condition.e);
                let within = all.iter().all(|r| rels.contains(r) || !self.is_around(*r));
                if within { &mut own } else { &mut rest }.push(condition.into_bound());
            }
            let build = self.plan_build(right, &own)?;
            let unique = self.unique_build(right, &keys);
            self.available.extend(&rels);
            let hash = Hash { build, rels: rels.clone(), keys, unique };
            return Ok(Source::Outer { rels, how: Outer::Hash(hash, rest) });
        }
        let mut plan = self.plan_group(right, on, &[])?;
        for step in &mut plan.steps {
            let Source::Produce { rel, keep } = &mut step.source else { continue };
            *keep |= self.rows_differ(*rel) && !self.is_lateral(*rel, &rels);
        }
        self.available.extend(&rels);
        Ok(Source::Outer { rels, how: Outer::Nested(plan) })
    }

    /// Whether a relation belongs to a query around this one.
    fn is_outside(&self, rel: RelId) -> bool {
        let base = self.frames.last().map_or(0, |f| f.available);
        self.available[..base.min(self.available.len())].contains(&rel)
    }

    /// Whether it is one of the loops around that belong to the same query: what is computed before them cannot use it.
    fn is_around(&self, rel: RelId) -> bool {
        self.is_available(rel) && !self.is_outside(rel)
    }

    pub(super) fn conditions(&mut self, filter: &[Bound], locals: &[RelId]) -> Vec<Condition> {
        filter
            .iter()
            .map(|e| {
                let rels = self.rels_in(e).into_iter().filter(|r| locals.contains(r)).collect();
                Condition::new(e, rels)
            })
            .collect()
    }

    /// Equalities between expressions over `build` alone and expressions over what is available.
    fn hash_keys(&mut self, build: &[RelId], conditions: &[Condition]) -> Option<Vec<usize>> {
        let mut found = Vec::new();
        for (i, condition) in conditions.iter().enumerate() {
            if self.hash_key(build, &condition.e).is_some() {
                found.push(i);
            }
        }
        (!found.is_empty()).then_some(found)
    }

    /// The build side and the probe side of an equality.
    pub(super) fn hash_key(&mut self, build: &[RelId], e: &Bound) -> Option<(Bound, Bound)> {
        let BoundKind::Apply(func, args) = &e.kind else { return None };
        if !is_equality(*func) || !e.is_cheap() {
            return None;
        }
        let [a, b] = &args[..] else { return None };
        let inside = |rels: &[RelId]| !rels.is_empty() && rels.iter().all(|r| build.contains(r));
        let (ra, rb) = (self.rels_in(a), self.rels_in(b));
        let probe = |l: &Self, rels: &[RelId]| {
            !rels.is_empty() && rels.iter().all(|r| !build.contains(r) && l.is_available(*r))
        };
        if inside(&ra) && probe(self, &rb) {
            Some((a.clone(), b.clone()))
        } else if inside(&rb) && probe(self, &ra) {
            Some((b.clone(), a.clone()))
        } else {
            None
        }
    }

    /// Takes the equalities out of the conditions.
    fn take_hash_keys(
        &mut self,
        build: &[RelId],
        conditions: &mut Vec<Condition>,
    ) -> Option<Vec<(Bound, Bound)>> {
        let found = self.hash_keys(build, conditions)?;
        let mut keys = Vec::with_capacity(found.len());
        for i in found.into_iter().rev() {
            let condition = conditions.remove(i);
            keys.push(self.hash_key(build, &condition.e).expect("found above"));
        }
        keys.reverse();
        Some(keys)
    }

    /// Whether no two rows of the build side have the same keys: it is grouped by (a part of) them.
    fn unique_build(&mut self, items: &[Item], keys: &[(Bound, Bound)]) -> bool {
        let [Item::Rel(rel)] = items else { return false };
        let columns: Vec<usize> = keys
            .iter()
            .filter_map(|(b, _)| b.as_column())
            .filter(|(r, _)| r == rel)
            .map(|(_, c)| c)
            .collect();
        match &self.rel(*rel).kind {
            RelKind::Query(query) => unique_output(query, &columns),
            RelKind::Table(table) => {
                let table = self.catalog.table_by_id(*table);
                table
                    .indexes
                    .iter()
                    .any(|i| i.unique && i.columns.iter().all(|c| columns.contains(&c.index())))
            }
            RelKind::System(id) => {
                let oid = planaria_catalog::system::by_id(*id).column("oid");
                oid.is_some_and(|oid| columns.contains(&oid))
            }
            _ => false,
        }
    }

    /// The relations that items need from outside: for rows that they compute, and for the conditions of joins
    /// among them.
    fn free_rels_of_items(&mut self, items: &[Item]) -> Vec<RelId> {
        let rels = self.rels_of(items);
        let mut needs: Vec<RelId> = rels.iter().flat_map(|r| self.dependencies(*r)).collect();
        let mut conditions = Vec::new();
        conditions_within(items, &mut conditions);
        needs.extend(conditions.into_iter().flat_map(|e| self.rels_in(e)));
        needs.retain(|r| !rels.contains(r));
        needs
    }

    /// Whether the steps give the wanted order; sets the direction of scans that help.
    fn satisfies(&mut self, steps: &mut [Step], order: &[Wanted]) -> bool {
        let mut wanted = order;
        let mut constant: Vec<RelId> = Vec::new();
        for step in steps {
            while let Some(next) = wanted.first()
                && constant.contains(&next.rel)
            {
                wanted = &wanted[1..];
            }
            if wanted.is_empty() {
                return true;
            }
            match &mut step.source {
                Source::Access { rel, path } => {
                    let rel = *rel;
                    match self.order_by_path(rel, path, wanted) {
                        Some((rest, whole)) => {
                            wanted = rest;
                            if whole {
                                constant.push(rel);
                            } else if !wanted.is_empty() {
                                return false;
                            }
                        }
                        None => return false,
                    }
                }
                Source::Outer { how: Outer::Get { rel, .. }, .. } => constant.push(*rel),
                Source::Produce { rel, .. }
                    if matches!(self.rel(*rel).kind, RelKind::Row(_) | RelKind::CallRow { .. }) =>
                {
                    constant.push(*rel)
                }
                _ => return false,
            }
        }
        wanted.iter().all(|w| constant.contains(&w.rel))
    }

    pub(super) fn take_path(
        &mut self,
        rel: RelId,
        choice: PathChoice,
        conditions: &mut Vec<Condition>,
    ) -> Path {
        let mut consumed = choice.consumed;
        consumed.sort_unstable();
        consumed.dedup();
        for i in consumed.into_iter().rev() {
            let condition = conditions.remove(i);
            self.uncount(&condition.e, rel);
        }
        choice.path
    }
}

/// The conditions of joins among items.
fn conditions_within<'i>(items: &'i [Item], all: &mut Vec<&'i Bound>) {
    for item in items {
        match item {
            Item::Rel(_) => {}
            Item::Outer { right, on, .. } => {
                all.extend(on);
                conditions_within(right, all);
            }
            Item::Full { left, left_filter, right, right_filter, on } => {
                all.extend([left_filter, right_filter, on].into_iter().flatten());
                conditions_within(left, all);
                conditions_within(right, all);
            }
        }
    }
}

/// Functions that test equality.
pub(super) fn is_equality(func: Func) -> bool {
    matches!(
        func,
        Func::IntEq
            | Func::NumEq
            | Func::TextEq
            | Func::CitextEq
            | Func::BoolEq
            | Func::UuidEq
            | Func::BytesEq
            | Func::FltEq
            | Func::IntervalEq
    )
}

pub(super) fn is_single(source: &Source) -> bool {
    match source {
        Source::Access { path, .. } => path.is_get(),
        Source::Hash(hash) => hash.unique,
        Source::Outer { how: Outer::Get { .. }, .. } => true,
        Source::Outer { how: Outer::Hash(hash, _), .. } => hash.unique,
        _ => false,
    }
}

/// Whether no two rows of a query agree in all of these columns.
fn unique_output(query: &BoundQuery, columns: &[usize]) -> bool {
    let Body::Select(select) = &query.body else { return false };
    if select.distinct == super::bound::Distinct::All && (0..select.visible).all(|c| columns.contains(&c)) {
        return true;
    }
    let Some(grouping) = &select.grouping else { return false };
    (0..grouping.keys.len())
        .all(|k| columns.iter().any(|c| select.outputs[*c].as_column() == Some((grouping.rel, k))))
}
