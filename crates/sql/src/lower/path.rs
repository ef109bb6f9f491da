//! Access paths of one table: which index, and which of its columns the conditions determine.

use super::Lowerer;
use super::bound::{Bound, BoundKind, BoundQuery, RelId, RelKind};
use super::computed_keys::ComputedKey;
use super::plan::{Condition, Wanted, is_equality};
use planaria_base::{IndexId, TableId, Type};
use planaria_catalog::Table;
use planaria_ir::Func;
use std::collections::BTreeSet;

/// How a table is reached.
#[derive(Debug)]
pub(super) struct Path {
    pub table: TableId,
    pub index: IndexId,
    /// Values of the leading index columns.
    pub prefix: Vec<Key>,
    pub lower: Option<(Bound, bool)>,
    pub upper: Option<(Bound, bool)>,
    pub descending: bool,
    /// The prefix is the full key of a unique index.
    pub full: bool,
}

/// The value of a key column.
#[derive(Debug)]
pub(super) enum Key {
    One(Bound),
    /// Any of these, in their order and without repetition; at most one in a path.
    Any(Values),
}

/// A set of values.
#[derive(Clone, Debug)]
pub(super) enum Values {
    List(Vec<Bound>),
    Array(Bound),
    Query(Box<BoundQuery>),
}

/// A path with what it is worth.
pub(super) struct PathChoice {
    pub path: Path,
    /// Lower is better; see [`super::plan`].
    pub score: u32,
    /// The conditions it makes needless, by position.
    pub consumed: Vec<usize>,
}

/// What a condition says about a column.
#[derive(Clone)]
enum Form {
    Equal(Bound),
    Lower(Bound, bool),
    Upper(Bound, bool),
    Any(Values),
}

impl Path {
    /// At most one row.
    pub fn is_get(&self) -> bool {
        self.full && !self.has_any()
    }
    pub fn has_any(&self) -> bool {
        self.prefix.iter().any(|k| matches!(k, Key::Any(_)))
    }
}

impl PathChoice {
    pub fn is_get(&self) -> bool {
        self.path.is_get()
    }
}

impl Lowerer<'_> {
    /// The best path to a table, given the conditions whose other side is available.
    pub(super) fn best_path(&mut self, rel: RelId, conditions: &[Condition], order: &[Wanted]) -> PathChoice {
        let RelKind::Table(id) = self.rel(rel).kind else { unreachable!("paths lead to tables") };
        let table = self.catalog.table_by_id(id);
        let keys = self.computed_keys(rel).unwrap_or_default();
        // Of those that keep some of the rows, the ones that have all that are wanted.
        let demanded = |e: &Bound| conditions.iter().any(|c| c.e == *e);
        let keys: Vec<&ComputedKey> = keys.iter().filter(|k| k.demands.iter().all(demanded)).collect();
        self.as_columns = keys.iter().map(|k| (k.of.clone(), k.column)).collect();
        let mut forms: Vec<(usize, usize, Form)> = Vec::new();
        for (i, condition) in conditions.iter().enumerate() {
            if condition.rels.contains(&rel)
                && let Some((column, form)) = self.form(rel, &condition.e)
            {
                for key in &keys {
                    if key.of.as_column() == Some((rel, column)) {
                        forms.push((i, key.column, form.clone()));
                    }
                }
                forms.push((i, column, form));
            }
        }
        self.as_columns.clear();
        let mut best: Option<(u32, bool, IndexId)> = None;
        for i in 0..table.indexes.len() {
            let index = IndexId(i as u16);
            let (score, sorted) = rate(table, index, &forms, rel, order);
            if best.is_none_or(|(s, o, _)| score < s || score == s && sorted && !o) {
                best = Some((score, sorted, index));
            }
        }
        let (score, _, index) = best.expect("every table has a primary index");
        let (path, consumed) = make(table, index, forms);
        PathChoice { path, score, consumed }
    }

    /// What a condition says about a column of the relation, its other side being available.
    fn form(&mut self, rel: RelId, e: &Bound) -> Option<(usize, Form)> {
        match &e.kind {
            // A boolean column by itself.
            BoundKind::Column(r, column) if *r == rel => {
                Some((*column, Form::Equal(Bound::bool(true, e.position))))
            }
            BoundKind::Apply(Func::Not, args) => match args[0].kind {
                BoundKind::Column(r, column) if r == rel => {
                    Some((column, Form::Equal(Bound::bool(false, e.position))))
                }
                _ => None,
            },
            BoundKind::Apply(Func::ArrayContainsElement, args) => {
                let column = self.own_column(rel, &args[0])?;
                let array = args[1].clone();
                let Type::Array(of) = &array.ty else { return None };
                let ty = &self.rel(rel).columns[column].1;
                (of.class() == ty.class() && self.is_known(rel, &array))
                    .then_some((column, Form::Any(Values::Array(array))))
            }
            BoundKind::Apply(func, args) => {
                let [a, b] = &args[..] else { return None };
                let (column, value, flipped) = match (self.own_column(rel, a), self.own_column(rel, b)) {
                    (Some(column), None) if self.is_known(rel, b) => (column, b, false),
                    (None, Some(column)) if self.is_known(rel, a) => (column, a, true),
                    _ => return None,
                };
                let value = value.clone();
                if is_equality(*func) {
                    return Some((column, Form::Equal(value)));
                }
                let (lower, inclusive) = bound_of(*func)?;
                Some((
                    column,
                    if lower != flipped {
                        Form::Lower(value, inclusive)
                    } else {
                        Form::Upper(value, inclusive)
                    },
                ))
            }
            BoundKind::InList(value, list, _) => {
                let column = self.own_column(rel, value)?;
                list.iter()
                    .all(|e| self.is_known(rel, e))
                    .then(|| (column, Form::Any(Values::List(list.clone()))))
            }
            BoundKind::InQuery(values, query) => {
                let [value] = &values[..] else { return None };
                let column = self.own_column(rel, value)?;
                let probe = Bound::new(BoundKind::Exists(query.clone()), Type::Bool, e.position);
                self.is_known(rel, &probe).then(|| (column, Form::Any(Values::Query(query.clone()))))
            }
            _ => None,
        }
    }

    /// The column of the relation that an expression is, if it is no more than that.
    fn own_column(&self, rel: RelId, e: &Bound) -> Option<usize> {
        let Some((r, column)) = e.as_column() else {
            let found = self.as_columns.iter().find(|(of, _)| of == e);
            return found.map(|(_, column)| *column);
        };
        // A timestamp called timestamptz has the same keys; so have all other relabelled ones.
        (r == rel && e.ty.class() == self.rel(rel).columns[column].1.class()).then_some(column)
    }

    /// Whether an expression can be computed before the relation is read: all its columns that are
    /// not of queries inside it are available.
    fn is_known(&mut self, rel: RelId, e: &Bound) -> bool {
        if self.is_volatile(e) {
            return false;
        }
        let inner = self.inner_rels(e);
        self.rels_in(e).iter().all(|r| *r != rel && (inner.contains(r) || self.is_available(*r)))
    }

    /// The relations of queries inside an expression.
    pub(super) fn inner_rels(&mut self, e: &Bound) -> Vec<RelId> {
        let mut rels = Vec::new();
        let mut queries: Vec<BoundQuery> = Vec::new();
        let mut e = e.clone();
        self.visit(&mut e, &mut |_, e| {
            match &e.kind {
                BoundKind::Subquery(q)
                | BoundKind::Exists(q)
                | BoundKind::ArrayQuery(q)
                | BoundKind::InQuery(_, q)
                | BoundKind::QuantifiedQuery(_, q, ..) => queries.push((**q).clone()),
                _ => {}
            }
            true
        });
        for query in &queries {
            self.query_rels(query, &mut rels);
        }
        rels
    }

    /// The relations of a query itself, pseudo relations included.
    pub(super) fn query_rels(&self, query: &BoundQuery, rels: &mut Vec<RelId>) {
        let mut left = Vec::new();
        self.level_rels(query, rels, &mut left);
        // Each CTE once, and not inside each other: there may be many.
        let mut seen = BTreeSet::new();
        while let Some(index) = left.pop() {
            if !seen.insert(index) {
                continue;
            }
            let cte = &self.ctes[index];
            for query in cte.query.iter().chain(cte.turn.as_ref().map(|turn| &turn.query)) {
                self.level_rels(query, rels, &mut left);
            }
        }
    }

    fn level_rels(&self, query: &BoundQuery, rels: &mut Vec<RelId>, ctes: &mut Vec<usize>) {
        match &query.body {
            super::bound::Body::Values(_) => {}
            super::bound::Body::SetOp(set) => {
                set.sides().for_each(|side| self.level_rels(side, rels, ctes));
            }
            super::bound::Body::Select(select) => {
                for rel in self.rels_of(&select.from) {
                    rels.push(rel);
                    match &self.rel(rel).kind {
                        RelKind::Query(query) => self.level_rels(query, rels, ctes),
                        RelKind::Cte(index) => ctes.push(*index),
                        _ => {}
                    }
                }
                rels.extend(select.grouping.as_ref().map(|g| g.rel));
                rels.extend(select.windows.as_ref().map(|w| w.rel));
            }
        }
    }

    /// Whether a path gives the first of the wanted order; returns what of it is left, and whether the
    /// order tells all rows of the relation apart. Sets the scan's direction.
    pub(super) fn order_by_path<'w>(
        &self,
        rel: RelId,
        path: &mut Path,
        mut wanted: &'w [Wanted],
    ) -> Option<(&'w [Wanted], bool)> {
        let table = self.catalog.table_by_id(path.table);
        if path.is_get() {
            return Some((wanted, true));
        }
        let columns = sort_columns(table, path.index);
        let fixed: Vec<usize> = columns
            .iter()
            .zip(&path.prefix)
            .filter(|(_, k)| matches!(k, Key::One(_)))
            .map(|(c, _)| *c)
            .collect();
        let mut descending = None;
        let mut at = columns.iter().copied().filter(|c| !fixed.contains(c));
        while let Some(next) = wanted.first() {
            if next.rel == rel && fixed.contains(&next.column) {
                wanted = &wanted[1..];
                continue;
            }
            let Some(column) = at.next() else { break };
            if next.rel != rel || next.column != column {
                return None;
            }
            let nulls = next.nulls_first == next.descending || table.columns[column].not_null;
            if !nulls || *descending.get_or_insert(next.descending) != next.descending {
                return None;
            }
            wanted = &wanted[1..];
        }
        if let Some(descending) = descending {
            path.descending = descending;
        }
        // Every column of the index (with the appended primary key) was used: rows are told apart.
        Some((wanted, at.next().is_none()))
    }
}

/// The columns by which an index sorts rows, with the appended primary key.
fn sort_columns(table: &Table, index: IndexId) -> Vec<usize> {
    let own = &table.indexes[index.index()];
    let mut columns: Vec<usize> = own.columns.iter().map(|c| c.index()).collect();
    let total = own.unique && own.columns.iter().all(|c| table.columns[c.index()].not_null);
    if !total {
        for c in &table.indexes[0].columns {
            if !columns.contains(&c.index()) {
                columns.push(c.index());
            }
        }
    }
    columns
}

/// Whether a comparison of a column bounds it from below, and inclusively.
fn bound_of(func: Func) -> Option<(bool, bool)> {
    use Func::*;
    Some(match func {
        IntLt | NumLt | FltLt | TextLt | BoolLt | BytesLt | UuidLt | IntervalLt => (false, false),
        IntLe | NumLe | FltLe | TextLe | BoolLe | BytesLe | UuidLe | IntervalLe => (false, true),
        IntGt | NumGt | FltGt | TextGt | BoolGt | BytesGt | UuidGt | IntervalGt => (true, false),
        IntGe | NumGe | FltGe | TextGe | BoolGe | BytesGe | UuidGe | IntervalGe => (true, true),
        _ => return None,
    })
}

/// How many leading columns of an index are determined, whether by a set of values, and what bounds the
/// next.
fn matched(
    table: &Table,
    index: IndexId,
    forms: &[(usize, usize, Form)],
) -> (Vec<usize>, bool, [Option<usize>; 2]) {
    let mut used = Vec::new();
    let mut any = false;
    let columns = &table.indexes[index.index()].columns;
    let find = |column: usize, wanted: &dyn Fn(&Form) -> bool| {
        forms.iter().position(|(_, c, form)| *c == column && wanted(form))
    };
    for column in columns {
        let column = column.index();
        if let Some(at) = find(column, &|f| matches!(f, Form::Equal(_))) {
            used.push(at);
        } else if !any && let Some(at) = find(column, &|f| matches!(f, Form::Any(_))) {
            any = true;
            used.push(at);
        } else {
            let lower = find(column, &|f| matches!(f, Form::Lower(..)));
            let upper = find(column, &|f| matches!(f, Form::Upper(..)));
            return (used, any, [lower, upper]);
        }
    }
    (used, any, [None, None])
}

fn rate(
    table: &Table,
    index: IndexId,
    forms: &[(usize, usize, Form)],
    rel: RelId,
    order: &[Wanted],
) -> (u32, bool) {
    let (used, any, bounds) = matched(table, index, forms);
    let own = &table.indexes[index.index()];
    let equal: Vec<usize> =
        used.iter().filter(|at| matches!(forms[**at].2, Form::Equal(_))).map(|at| forms[*at].1).collect();
    let next = order.iter().find(|w| !(w.rel == rel && equal.contains(&w.column)));
    let mut columns = sort_columns(table, index).into_iter().filter(|c| !equal.contains(c));
    let sorted = next.is_none_or(|w| w.rel == rel && columns.next() == Some(w.column)) && !order.is_empty();
    let bounded = bounds.iter().flatten().count() as u32;
    let score = if own.unique && used.len() == own.columns.len() {
        any as u32
    } else if !used.is_empty() {
        20 + 4 * (8 - used.len().min(7) as u32) - bounded + 2 * any as u32
    } else if bounded > 0 {
        64 - bounded
    } else {
        // A full scan: by the primary index, unless another gives the order.
        match (sorted, index) {
            (true, _) => 98,
            (false, IndexId::PRIMARY) => 99,
            _ => 100,
        }
    };
    (score, sorted)
}

fn make(table: &Table, index: IndexId, forms: Vec<(usize, usize, Form)>) -> (Path, Vec<usize>) {
    let (used, _, bounds) = matched(table, index, &forms);
    let full = {
        let own = &table.indexes[index.index()];
        own.unique && used.len() == own.columns.len()
    };
    let mut consumed = Vec::new();
    // An index may have a column twice: then its value is wanted twice.
    let take = |at: usize, consumed: &mut Vec<usize>| {
        let (condition, _, form) = &forms[at];
        consumed.push(*condition);
        form.clone()
    };
    let mut prefix = Vec::with_capacity(used.len());
    for at in used {
        prefix.push(match take(at, &mut consumed) {
            Form::Equal(value) => Key::One(value),
            Form::Any(values) => Key::Any(values),
            Form::Lower(..) | Form::Upper(..) => unreachable!("a prefix is made of equalities"),
        });
    }
    let mut bound = |at: Option<usize>| {
        at.map(|at| match take(at, &mut consumed) {
            Form::Lower(value, inclusive) | Form::Upper(value, inclusive) => (value, inclusive),
            Form::Equal(_) | Form::Any(_) => unreachable!("bounds are inequalities"),
        })
    };
    let lower = bound(bounds[0]);
    let upper = bound(bounds[1]);
    let path = Path { table: table.id, index, prefix, lower, upper, descending: false, full };
    (path, consumed)
}
