//! Queries: WITH, SELECT, VALUES, set operations, ORDER BY, LIMIT.

use super::Lowerer;
use super::bind_call::{Clause, Collector};
use super::bound::{
    Body, Bound, BoundKind, BoundQuery, BoundSelect, BoundSetOp, Distinct, Grouping, Item, Order, RelId,
    RelKind, Windows,
};
use super::names::Names;
use super::recursion;
use super::types::{CastContext, has_order, told_apart};
use planaria_base::{Error, Result, SqlState, Type, stack, watch};
use planaria_ir::Output;
use planaria_syntax::ast::{
    Cte, Expr, ExprKind, OrderItem, Query, QueryBody, Select, SelectItem, SetOp, StatementKind, TypeNameKind,
};
use std::borrow::Cow;

/// A common table expression that was bound.
pub(super) struct BoundCte {
    pub name: String,
    pub query: Option<BoundQuery>,
    pub columns: Vec<(String, Type)>,
    /// References; one is expanded in place.
    pub uses: u32,
    /// The CTEs that its query reads itself.
    pub reads: Vec<usize>,
    /// How many CTEs read each other below it.
    pub height: u32,
    /// The uses of columns in it were counted.
    pub counted: bool,
    /// Where its rows are, once computed.
    pub list: Option<planaria_ir::Coll>,
    /// WITH RECURSIVE: what each turn adds to the rows of `query`.
    pub turn: Option<Turn>,
    /// How many of its last columns SEARCH and CYCLE add.
    pub tracked: usize,
    pub before: bool, // A table as it was: its list is made before all parts of the statement.
}

/// The recursive term of a recursive CTE.
pub(super) struct Turn {
    pub query: BoundQuery,
    /// UNION ALL: rows that were there already are added again.
    pub all: bool,
    /// Where the rows of the last turn are, while it is emitted.
    pub work: Option<planaria_ir::Coll>,
    /// The first frame within the loop over the turns, while it is emitted: what reads those rows is computed there.
    pub frame: Option<usize>,
}

impl Lowerer<'_> {
    /// Binds a subquery.
    pub(super) fn bind_query(&mut self, names: &Names<'_>, q: &Query) -> Result<BoundQuery> {
        self.bind_level(names.inner(), q, false)
    }

    /// Binds a query whose names are `level`'s; literals of unknown type stay so if `keep_unknown`.
    pub(super) fn bind_level(
        &mut self,
        level: Names<'_>,
        q: &Query,
        keep_unknown: bool,
    ) -> Result<BoundQuery> {
        if self.views.is_some() {
            return self.bind_level_here(level, q, keep_unknown);
        }
        // The outermost query: what its parts share is made in front of it. It may be a part of views that a statement
        // changes rows through.
        self.views = Some(Default::default());
        let known = self.expanding.len();
        let (bound, expanding) = (self.bind_level_here(level, q, keep_unknown), self.expanding.len());
        self.views = None;
        debug_assert!(bound.is_err() || expanding == known);
        bound
    }

    fn bind_level_here(&mut self, mut level: Names<'_>, q: &Query, keep_unknown: bool) -> Result<BoundQuery> {
        self.depth += 1;
        if self.depth > planaria_base::limits::NESTING_MAX {
            let message = "query is nested too deeply";
            return Err(Error::new(SqlState::STATEMENT_TOO_COMPLEX, message).at(q.position));
        }
        stack::check().map_err(|e| e.at(q.position))?;
        watch::check()?;
        self.bind_with(&mut level, &q.with, q.recursive)?;
        let locked = self.rights.locked;
        let locked_of = self.rights.locked_of.clone();
        if !q.locking.is_empty() {
            self.rights.locked = true;
            self.rights.locked_of = super::locking::locked_names(&q.locking);
        }
        let mut query = match &q.body {
            QueryBody::Select(select) => self.bind_select(&mut level, select, &q.order_by, keep_unknown)?,
            QueryBody::Values(rows) => {
                let mut query = self.bind_values(&level, rows, keep_unknown, q.position)?;
                query.order = self.output_order(&query.columns, &q.order_by)?;
                query
            }
            QueryBody::SetOp { op, all, left, right, more } => {
                let sides: Vec<&Query> = [&**left, &**right].into_iter().chain(more).collect();
                let mut query = self.bind_set_op(&level, *op, *all, &sides, q.position)?;
                query.order = self.output_order(&query.columns, &q.order_by)?;
                query
            }
        };
        self.rights.locked = locked;
        self.rights.locked_of = locked_of;
        query.locks = self.bind_locking(&level, q, &query.body)?;
        // LIMIT and OFFSET see no FROM items.
        let bare = Names::new(level.outer, level.scope, level.ctes);
        for (e, what) in [(&q.limit, "LIMIT"), (&q.offset, "OFFSET")] {
            let Some(e) = e else { continue };
            let bound = self.outside(what, |l| l.bind(&bare, e))?;
            let (ty, position) = (bound.ty.clone(), bound.position);
            // As int8 it is counted; numerics are rounded, as PostgreSQL does.
            let bound = self.coerce(bound, &Type::Int8, CastContext::Assignment).map_err(|_| {
                let message = format!("argument of {what} must be type bigint, not type {ty}");
                Error::new(SqlState::DATATYPE_MISMATCH, message).at(position)
            })?;
            match what {
                "LIMIT" => query.limit = Some(bound),
                _ => query.offset = Some(bound),
            }
        }
        query.ties = q.ties;
        self.depth -= 1;
        Ok(self.volatile_after_sorting(query))
    }

    /// Makes the CTEs of a WITH clause known.
    pub(super) fn bind_with(&mut self, level: &mut Names<'_>, with: &[Cte], recursive: bool) -> Result<()> {
        // What stands around the whole statement.
        if level.outer.is_none() && level.ctes.is_empty() && self.expanding.is_empty() {
            level.ctes.clone_from(&self.given);
        }
        for (i, cte) in with.iter().enumerate() {
            if with[..i].iter().any(|other| other.name == cte.name) {
                let message = format!("WITH query name \"{}\" specified more than once", cte.name);
                return Err(Error::new(SqlState::DUPLICATE_ALIAS, message).at(cte.statement.position));
            }
        }
        let ordered = if recursive { recursion::after_what_they_read(with)? } else { with.iter().collect() };
        for (i, cte) in ordered.into_iter().enumerate() {
            let StatementKind::Query(q) = &cte.statement.kind else {
                let message = "WITH clause containing a data-modifying statement must be at the top level";
                return Err(Error::new(SqlState::FEATURE_NOT_SUPPORTED, message).at(cte.statement.position));
            };
            let around = std::mem::take(&mut self.cte_reads);
            if recursive && let Some(terms) = recursion::terms(cte, q)? {
                let place = self.bind_recursive(level, cte, q, &terms)?;
                self.read_by(place, around);
                level.ctes.push((cte.name.clone(), place));
                continue;
            }
            super::tracks::check_recursive(cte)?;
            if !recursive {
                level.later = with[i..].iter().map(|cte| cte.name.clone()).collect();
            }
            let mut query = self.bind_query(level, q)?;
            rename(&mut query.columns, &cte.columns, &cte.name, q.position)?;
            let place = self.add_cte(&cte.name, query);
            self.read_by(place, around);
            level.ctes.push((cte.name.clone(), place));
        }
        level.later.clear();
        Ok(())
    }

    /// What was read since `around` was taken away is what this CTE reads.
    pub(super) fn read_by(&mut self, place: usize, around: Vec<usize>) {
        let reads = std::mem::replace(&mut self.cte_reads, around);
        self.ctes[place].height = 1 + reads.iter().map(|r| self.ctes[*r].height).max().unwrap_or(0);
        self.ctes[place].reads = reads;
    }

    pub(super) fn add_cte(&mut self, name: &str, query: BoundQuery) -> usize {
        let columns = query.columns.iter().map(|c| (c.name.clone(), c.ty.clone())).collect();
        self.ctes.push(BoundCte {
            name: name.to_owned(),
            query: Some(query),
            columns,
            uses: 0,
            reads: Vec::new(),
            height: 1,
            counted: false,
            list: None,
            turn: None,
            tracked: 0,
            before: false,
        });
        self.ctes.len() - 1
    }

    /// A CTE that refers to itself: its first term has the columns, the other sees the rows of the last
    /// turn.
    fn bind_recursive(
        &mut self,
        level: &Names<'_>,
        cte: &Cte,
        q: &Query,
        terms: &recursion::Terms<'_>,
    ) -> Result<usize> {
        let (right, position) = (terms.turn, q.position);
        let mut around = level.inner();
        self.bind_with(&mut around, &q.with, q.recursive)?;
        let mut query = self.bind_query(&around, &terms.first)?;
        rename(&mut query.columns, &cte.columns, &cte.name, position)?;
        let width = query.columns.len();
        let tracking = self.track_first(cte, terms, &mut query)?;
        let right = tracking.as_ref().unwrap_or(right);
        let types: Vec<Type> = query.columns.iter().map(|c| c.ty.clone()).collect();
        let place = self.add_cte(&cte.name, query);
        self.ctes[place].tracked = types.len() - width;
        self.working.push(place);
        around.ctes.push((cte.name.clone(), place));
        let bound = self.bind_level(around.inner(), right, true);
        self.working.pop();
        let mut turn = bound?;
        if turn.columns.len() != types.len() {
            let message = "each UNION query must have the same number of columns";
            return Err(Error::new(SqlState::SYNTAX_ERROR, message).at(first_item(right)));
        }
        self.track_turn(cte, width, &types, &mut turn)?;
        for (i, ty) in types.iter().enumerate() {
            let overall = self.common_type("UNION", &[(ty, position), (&turn.columns[i].ty, position)])?;
            if overall != *ty {
                let message = format!(
                    "recursive query \"{}\" column {} has type {ty} in non-recursive term but type {overall} overall",
                    cte.name,
                    i + 1
                );
                return Err(Error::new(SqlState::DATATYPE_MISMATCH, message)
                    .with_hint("Cast the output of the non-recursive term to the correct type.")
                    .at(position));
            }
            self.coerce_output(&mut turn, i, ty)?;
        }
        self.ctes[place].turn = Some(Turn { query: turn, all: terms.all, work: None, frame: None });
        Ok(place)
    }

    /// A relation for a reference to a CTE.
    pub(super) fn cte_rel(&mut self, index: usize, alias: &str) -> RelId {
        let columns = self.ctes[index].columns.clone();
        if self.working.contains(&index) {
            return self.new_rel(alias, columns, RelKind::Work(index));
        }
        self.ctes[index].uses += 1;
        self.cte_reads.push(index);
        self.new_rel(alias, columns, RelKind::Cte(index))
    }

    fn bind_values(
        &mut self,
        level: &Names<'_>,
        rows: &[Vec<Expr>],
        keep_unknown: bool,
        position: u32,
    ) -> Result<BoundQuery> {
        let rows = rows
            .iter()
            .map(|row| self.outside("VALUES", |l| l.spread(level, row)))
            .collect::<Result<Vec<_>>>()?;
        let width = rows.first().map_or(0, |row| row.len());
        if let Some(other) = rows.iter().find(|r| r.len() != width) {
            let message = "VALUES lists must all be the same length";
            let at = other.first().map_or(position, |e| e.position);
            return Err(Error::new(SqlState::SYNTAX_ERROR, message).at(at));
        }
        let mut bound = rows
            .iter()
            .map(|row| row.iter().map(|e| self.outside("VALUES", |l| l.bind(level, e))).collect())
            .collect::<Result<Vec<Vec<_>>>>()?;
        let mut columns = Vec::with_capacity(width);
        for i in 0..width {
            let column: Vec<Bound> = bound.iter().map(|row| row[i].clone()).collect();
            let ty = if keep_unknown && column.iter().all(|c| c.ty == Type::Unknown) {
                Type::Unknown
            } else {
                let (column, ty) = self.unify("VALUES", column)?;
                for (row, e) in bound.iter_mut().zip(column) {
                    row[i] = e;
                }
                ty
            };
            columns.push(Output { name: format!("column{}", i + 1), ty });
        }
        Ok(BoundQuery::plain(Body::Values(bound), columns))
    }

    fn bind_set_op(
        &mut self,
        level: &Names<'_>,
        op: SetOp,
        all: bool,
        sides: &[&Query],
        position: u32,
    ) -> Result<BoundQuery> {
        let what = match op {
            SetOp::Union => "UNION",
            SetOp::Except => "EXCEPT",
            SetOp::Intersect => "INTERSECT",
        };
        // The types are worked out from left to right, as if the operations nested.
        let mut types: Option<Vec<Type>> = None;
        let mut bound = Vec::with_capacity(sides.len());
        for side in sides {
            let query = self.bind_level(level.inner(), side, true)?;
            let own: Vec<Type> = query.columns.iter().map(|c| c.ty.clone()).collect();
            bound.push(query);
            let Some(before) = types.replace(own) else { continue };
            let own = types.take().unwrap_or_default();
            if before.len() != own.len() {
                let message = format!("each {what} query must have the same number of columns");
                return Err(Error::new(SqlState::SYNTAX_ERROR, message).at(first_item(side)));
            }
            let pairs = before.iter().zip(&own);
            let common = pairs.map(|(l, r)| self.common_type(what, &[(l, position), (r, position)]));
            types = Some(common.collect::<Result<_>>()?);
        }
        for (i, ty) in types.unwrap_or_default().iter().enumerate() {
            if op != SetOp::Union || !all {
                told_apart(ty, position)?;
            }
            bound.iter_mut().try_for_each(|side| self.coerce_output(side, i, ty))?;
        }
        let mut bound = bound.into_iter();
        let (Some(left), Some(right)) = (bound.next(), bound.next()) else {
            return Err(Error::internal("a set operation of one query"));
        };
        let columns = left.columns.clone();
        let body = Body::SetOp(Box::new(BoundSetOp { op, all, left, right, more: bound.collect() }));
        Ok(BoundQuery::plain(body, columns))
    }

    /// Converts one output column of a query.
    pub(super) fn coerce_output(&mut self, query: &mut BoundQuery, column: usize, ty: &Type) -> Result<()> {
        if query.columns[column].ty == *ty {
            return Ok(());
        }
        if is_told_apart(query, column) {
            self.derive(query);
        }
        let convert = |l: &mut Self, e: &mut Bound| -> Result<()> {
            let old = std::mem::replace(e, Bound::bool(true, 0));
            *e = l.coerce(old, ty, CastContext::Assignment)?;
            Ok(())
        };
        match &mut query.body {
            Body::Select(select) => convert(self, &mut select.outputs[column])?,
            Body::Values(rows) => rows.iter_mut().try_for_each(|row| convert(self, &mut row[column]))?,
            Body::SetOp(set) => {
                set.sides_mut().try_for_each(|side| self.coerce_output(side, column, ty))?;
            }
        }
        query.columns[column].ty = ty.clone();
        Ok(())
    }

    /// Makes a query the derived table of one that gives its columns.
    pub(super) fn derive(&mut self, query: &mut BoundQuery) {
        let columns = query.columns.clone();
        let of = columns.iter().map(|c| (c.name.clone(), c.ty.clone())).collect();
        let nothing = BoundQuery::plain(Body::Values(Vec::new()), columns.clone());
        let inner = std::mem::replace(query, nothing);
        let rel = self.new_rel("", of, RelKind::Query(Box::new(inner)));
        let outputs = columns.iter().enumerate().map(|(i, c)| Bound::column(rel, i, c.ty.clone(), 0));
        query.body = Body::Select(Box::new(BoundSelect {
            from: vec![Item::Rel(rel)],
            filter: Vec::new(),
            grouping: None,
            windows: None,
            outputs: outputs.collect(),
            visible: columns.len(),
            distinct: Distinct::No,
            apart: None,
        }));
    }

    /// ORDER BY of a set operation or VALUES: output names and positions only.
    fn output_order(&mut self, columns: &[Output], order_by: &[OrderItem]) -> Result<Vec<Order>> {
        order_by
            .iter()
            .map(|item| {
                // Two columns of one name are two, whatever gives them.
                let output = match position_of("ORDER BY", columns, &item.expr, |_, _| false)? {
                    Some(output) => output,
                    None if matches!(&item.expr.kind, ExprKind::Column(name) if name.parts.len() == 1) => {
                        let ExprKind::Column(name) = &item.expr.kind else { unreachable!("just seen") };
                        let message = format!("column \"{}\" does not exist", name.parts[0]);
                        return Err(
                            Error::new(SqlState::UNDEFINED_COLUMN, message).at(item.expr.position)
                        );
                    }
                    None => {
                        let message = "invalid UNION/INTERSECT/EXCEPT ORDER BY clause";
                        return Err(Error::new(SqlState::FEATURE_NOT_SUPPORTED, message)
                            .with_detail("Only result column names can be used, not expressions or functions.")
                            .with_hint(
                                "Add the expression/function to every SELECT, or move the UNION into a FROM clause.",
                            )
                            .at(item.expr.position));
                    }
                };
                Ok(order(output, item))
            })
            .collect()
    }

    fn bind_select(
        &mut self,
        level: &mut Names<'_>,
        select: &Select,
        order_by: &[OrderItem],
        keep_unknown: bool,
    ) -> Result<BoundQuery> {
        let group_rel = self.new_rel("group", Vec::new(), RelKind::Pseudo);
        let window_rel = self.new_rel("window", Vec::new(), RelKind::Pseudo);
        self.collectors.push(Collector {
            clause: Clause::From,
            group_rel,
            keys: 0,
            grouped_by: Default::default(),
            aggregates: Vec::new(),
            window_rel,
            windows: Vec::new(),
            named_windows: select.windows.clone(),
            sets: Vec::new(),
            set_calls: 0,
        });
        level.collector = Some(self.collectors.len() - 1);
        let bound = self
            .bind_select_parts(level, select, order_by, keep_unknown)
            .and_then(|bound| self.check_windows(&select.windows).map(|()| bound));
        self.collectors.pop();
        bound
    }

    fn bind_select_parts(
        &mut self,
        level: &mut Names<'_>,
        select: &Select,
        order_by: &[OrderItem],
        keep_unknown: bool,
    ) -> Result<BoundQuery> {
        let (mut from, mut filter, star) = self.bind_from(level, &select.from)?;
        // Subqueries elsewhere are not locked.
        self.rights.locked = false;
        if let Some(e) = &select.filter {
            let bound = self.in_clause(Clause::Where, |l| l.bind_condition(level, e, "WHERE"))?;
            let mut conditions = Vec::new();
            bound.conjuncts(&mut conditions);
            self.per_row(&mut conditions, &from);
            filter.extend(conditions);
        }
        self.note_items(level, &select.items, &star)?;
        let items = self.expand(level, &select.items, &star)?;
        // Group keys first: aggregates are numbered after them.
        let (keys, chosen, grouping_sets) = self.bind_group_keys(level, select, order_by, &items)?;
        let collector = self.collectors.last_mut().expect("pushed by bind_select");
        collector.keys = keys.len();
        // Those that are grouped by are joined before; the same calls in the list are the keys.
        let key_sets = collector.sets.len();
        collector.grouped_by = (keys.clone(), grouping_sets.clone());
        let (group_rel, window_rel) = (collector.group_rel, collector.window_rel);
        let mut outputs = Vec::with_capacity(items.len());
        let mut columns = Vec::with_capacity(items.len());
        for (at, item) in items.iter().enumerate() {
            let key = chosen.iter().find(|(chosen, _)| *chosen == at);
            let mut bound = match (key, item) {
                (Some((_, key)), Selected::Item(_)) => key.clone(),
                (_, Selected::Bound(_, bound)) => bound.clone(),
                (_, Selected::Item(item)) => self.in_clause(Clause::Select, |l| l.bind(level, &item.expr))?,
            };
            if !keep_unknown {
                bound = self.settle(bound)?;
            }
            columns.push(Output { name: item.name(), ty: bound.ty.clone() });
            outputs.push(bound);
        }
        let visible = outputs.len();
        let having = match &select.having {
            Some(e) => {
                let bound = self.in_clause(Clause::Having, |l| l.bind_condition(level, e, "HAVING"))?;
                let mut having = Vec::new();
                bound.conjuncts(&mut having);
                Some(having)
            }
            None => None,
        };
        let plain_distinct = select.distinct.as_ref().is_some_and(|on| on.is_empty());
        let mut orders = Vec::new();
        for item in order_by {
            let output = match position_of("ORDER BY", &columns, &item.expr, |a, b| outputs[a] == outputs[b])?
            {
                Some(output) => output,
                None => {
                    let e = self.in_clause(Clause::OrderBy, |l| l.bind(level, &item.expr))?;
                    let e = self.settle(e)?;
                    self.output_of(&mut outputs, e, plain_distinct, visible)?
                }
            };
            has_order(&outputs[output].ty, item.expr.position)?;
            orders.push(order(output, item));
        }
        let distinct = match &select.distinct {
            None => Distinct::No,
            Some(on) if on.is_empty() => {
                outputs[..visible].iter().try_for_each(|e| told_apart(&e.ty, e.position))?;
                Distinct::All
            }
            Some(on) => {
                let mut by = Vec::new();
                for e in on {
                    let same = |a: usize, b: usize| outputs[a] == outputs[b];
                    by.push(match position_of("DISTINCT ON", &columns, e, same)? {
                        Some(output) => output,
                        None => {
                            let e = self.in_clause(Clause::OrderBy, |l| l.bind(level, e))?;
                            let e = self.settle(e)?;
                            self.output_of(&mut outputs, e, false, visible)?
                        }
                    });
                }
                let leading = orders.iter().take(by.len());
                if leading.clone().any(|o| !by.contains(&o.output)) {
                    let message = "SELECT DISTINCT ON expressions must match initial ORDER BY expressions";
                    return Err(Error::new(SqlState::INVALID_COLUMN_REFERENCE, message).at(on[0].position));
                }
                Distinct::On(by)
            }
        };
        let collector = self.collectors.last_mut().expect("pushed by bind_select");
        let aggregates = std::mem::take(&mut collector.aggregates);
        let mut windows = std::mem::take(&mut collector.windows);
        if level.turn && !aggregates.is_empty() {
            let message = "aggregate functions are not allowed in a recursive query's recursive term";
            return Err(Error::new(SqlState::INVALID_RECURSION, message));
        }
        let mut sets = std::mem::take(&mut collector.sets);
        let mut after = Vec::new();
        let grouped = !select.group_by.is_empty() || !grouping_sets.is_empty();
        let grouping = if grouped || !aggregates.is_empty() || having.is_some() {
            after = sets.split_off(key_sets);
            if !after.is_empty() && !windows.is_empty() {
                return Err(Error::unsupported(
                    "a set-returning function beside aggregates and window functions is not supported",
                    "call it in FROM",
                ));
            }
            self.join_sets(&mut from, std::mem::take(&mut sets));
            let mut grouping = Grouping {
                rel: group_rel,
                keys,
                aggregates,
                having: having.unwrap_or_default(),
                grouped,
                sets: grouping_sets,
            };
            let locals = self.rels_of(&from);
            // What the functions are given is of the groups, too.
            let width = outputs.len();
            outputs.extend(self.given_to_sets(&after));
            self.regroup(&mut grouping, &locals, &mut outputs, &mut windows, window_rel)?;
            let given = outputs.split_off(width);
            self.give_to_sets(&after, given);
            let columns: Vec<(String, Type)> = grouping
                .keys
                .iter()
                .map(|k| k.ty.clone())
                .chain(grouping.aggregates.iter().map(|a| a.ty.clone()))
                .map(|ty| (String::new(), ty))
                .collect();
            self.set_columns(group_rel, columns);
            match after.is_empty() {
                true => Some(grouping),
                false => {
                    self.push_down(&from, &mut filter)?;
                    self.read_as_before(&from, None, &mut filter)?;
                    self.group_before_sets(&mut from, &mut filter, grouping);
                    None
                }
            }
        } else {
            None
        };
        sets.extend(after);
        self.join_sets(&mut from, sets);
        let windows = if windows.is_empty() {
            None
        } else {
            let columns = windows.iter().map(|w| (String::new(), w.ty.clone())).collect();
            self.set_columns(window_rel, columns);
            Some(Windows { rel: window_rel, calls: windows })
        };
        self.push_down(&from, &mut filter)?;
        self.read_as_before(&from, None, &mut filter)?;
        for (column, output) in columns.iter_mut().zip(&outputs) {
            column.ty = output.ty.clone();
        }
        let body = BoundSelect { from, filter, grouping, windows, outputs, visible, distinct, apart: None };
        Ok(BoundQuery {
            body: Body::Select(Box::new(body)),
            columns,
            order: orders,
            limit: None,
            ties: false,
            offset: None,
            locks: Vec::new(),
        })
    }

    /// Joins set-returning functions of the select list: side by side, where there are several.
    fn join_sets(&mut self, from: &mut Vec<Item>, sets: Vec<RelId>) {
        match sets[..] {
            [] => {}
            [one] => from.push(Item::Rel(one)),
            _ => {
                let zip = self.new_rel("functions", Vec::new(), RelKind::Zip(sets));
                from.push(Item::Rel(zip));
            }
        }
    }

    /// Gives a pseudo relation its columns.
    pub(super) fn set_columns(&mut self, rel: RelId, columns: Vec<(String, Type)>) {
        let n = columns.len();
        let rel = self.rel_mut(rel);
        rel.columns = columns;
        rel.uses = vec![0; n];
        rel.regs = vec![None; n];
    }

    /// The output that an expression is, hidden if it has to be added.
    fn output_of(
        &mut self,
        outputs: &mut Vec<Bound>,
        e: Bound,
        distinct: bool,
        visible: usize,
    ) -> Result<usize> {
        if let Some(at) = outputs.iter().position(|o| *o == e) {
            return Ok(at);
        }
        // With plain DISTINCT it would change what is distinct.
        if distinct && outputs.len() == visible {
            let message = "for SELECT DISTINCT, ORDER BY expressions must appear in select list";
            return Err(Error::new(SqlState::INVALID_COLUMN_REFERENCE, message).at(e.position));
        }
        outputs.push(e);
        Ok(outputs.len() - 1)
    }
}

/// An item of the select list, stars expanded.
pub(super) enum Selected<'a> {
    Item(Cow<'a, SelectItem>),
    /// A column of a star.
    Bound(String, Bound),
}

impl Selected<'_> {
    pub(super) fn name(&self) -> String {
        match self {
            Selected::Bound(name, _) => name.clone(),
            Selected::Item(item) => item.alias.clone().unwrap_or_else(|| output_name(&item.expr)),
        }
    }
}

impl Lowerer<'_> {
    fn expand<'a>(
        &mut self,
        level: &Names<'_>,
        items: &'a [SelectItem],
        star: &[(String, Bound)],
    ) -> Result<Vec<Selected<'a>>> {
        let mut expanded = Vec::with_capacity(items.len());
        for item in items {
            match &item.expr.kind {
                ExprKind::Star(qualifier) => {
                    if let Some(name) = qualifier {
                        self.must_hold(level.scope, &name.parts, item.expr.position)?;
                    }
                    let columns = star_columns(level, qualifier.as_ref(), star, item.expr.position)?;
                    self.note_star(level, qualifier.as_ref());
                    expanded.extend(columns.into_iter().map(|(name, mut e)| {
                        e.position = item.expr.position;
                        Selected::Bound(name, e)
                    }));
                }
                ExprKind::Fields(inner) => {
                    let at = item.expr.position;
                    let items = self.in_clause(Clause::Select, |l| l.fields_of(level, inner, at))?;
                    expanded.extend(items.into_iter().map(|item| Selected::Item(Cow::Owned(item))));
                }
                _ => expanded.push(Selected::Item(Cow::Borrowed(item))),
            }
        }
        Ok(expanded)
    }
}

/// The columns of `*`, `t.*` or `record.*`.
pub(super) fn star_columns(
    level: &Names<'_>,
    qualifier: Option<&planaria_syntax::ast::Name>,
    star: &[(String, Bound)],
    position: u32,
) -> Result<Vec<(String, Bound)>> {
    let Some(name) = qualifier else {
        if level.sources.is_empty() {
            let message = "SELECT * with no tables specified is not valid";
            return Err(Error::new(SqlState::SYNTAX_ERROR, message).at(position));
        }
        return Ok(star.to_vec());
    };
    let table = name.parts.last().map_or("", String::as_str);
    if let Some(source) = level.source_here(table) {
        return Ok(source.columns.iter().map(|c| (c.name.clone(), c.expr.clone())).collect());
    }
    if let Some(super::scope::Found::Variable(super::Variable::Row { fields, .. })) =
        level.scope.lookup(&name.parts)
    {
        let field = |(name, t): &(String, super::Typed)| {
            (name.clone(), Bound::new(BoundKind::Reg(t.reg), t.ty.clone(), position))
        };
        return Ok(fields.iter().map(field).collect());
    }
    let message = format!("missing FROM-clause entry for table \"{table}\"");
    Err(Error::new(SqlState::UNDEFINED_TABLE, message).at(position))
}

/// ORDER BY or DISTINCT ON by an output's position or name; 42702 where the name is that of several outputs
/// that are not the same.
fn position_of(
    clause: &str,
    columns: &[Output],
    e: &Expr,
    same: impl Fn(usize, usize) -> bool,
) -> Result<Option<usize>> {
    match &e.kind {
        ExprKind::Integer(text) => {
            let at = text.parse::<usize>().ok().filter(|n| (1..=columns.len()).contains(n));
            at.map(|n| Some(n - 1)).ok_or_else(|| not_in_list(clause, text, e.position))
        }
        ExprKind::Column(name) if name.parts.len() == 1 => {
            let mut named = (0..columns.len()).filter(|i| columns[*i].name == name.parts[0]);
            let Some(first) = named.next() else { return Ok(None) };
            if named.any(|other| !same(first, other)) {
                return Err(ambiguous_output(clause, &name.parts[0], e.position));
            }
            Ok(Some(first))
        }
        _ => Ok(None),
    }
}

pub(super) fn ambiguous_output(clause: &str, name: &str, at: u32) -> Error {
    Error::new(SqlState::AMBIGUOUS_COLUMN, format!("{clause} \"{name}\" is ambiguous")).at(at)
}

pub(super) fn not_in_list(clause: &str, position: &str, at: u32) -> Error {
    let message = format!("{clause} position {position} is not in select list");
    Error::new(SqlState::INVALID_COLUMN_REFERENCE, message).at(at)
}

fn order(output: usize, item: &OrderItem) -> Order {
    Order { output, descending: item.descending, nulls_first: item.nulls_first.unwrap_or(item.descending) }
}

/// Gives columns the names of an alias list.
pub(super) fn rename(columns: &mut [Output], names: &[String], table: &str, position: u32) -> Result<()> {
    if names.len() > columns.len() {
        let (has, said) = (columns.len(), names.len());
        let message = format!("table \"{table}\" has {has} columns available but {said} columns specified");
        return Err(Error::new(SqlState::INVALID_COLUMN_REFERENCE, message).at(position));
    }
    for (column, name) in columns.iter_mut().zip(names) {
        column.name.clone_from(name);
    }
    Ok(())
}

/// The name of an output column without alias, as PostgreSQL makes it up.
pub(crate) fn output_name(e: &Expr) -> String {
    figure(e).unwrap_or_else(|| "?column?".to_owned())
}

fn figure(e: &Expr) -> Option<String> {
    figured(e).map(|(name, _)| name)
}

/// The name, and whether it is a better one than that of a type or CASE around it.
fn figured(e: &Expr) -> Option<(String, bool)> {
    let named = |s: &str| Some((s.to_owned(), true));
    let strong = |name: Option<String>| name.map(|name| (name, true));
    match &e.kind {
        ExprKind::Column(name) => strong(name.parts.last().cloned()),
        ExprKind::Field(_, field) => named(field),
        ExprKind::Call(call) => strong(call.name.parts.last().cloned()),
        ExprKind::SqlValue(keyword, _) => named(keyword),
        ExprKind::Cast(inner, ty) => match figured(inner) {
            Some((name, true)) => Some((name, true)),
            other => type_name(&ty.kind).map(|name| (name, false)).or(other),
        },
        ExprKind::Case { otherwise, .. } => match otherwise.as_ref().and_then(|e| figured(e)) {
            Some((name, true)) => Some((name, true)),
            _ => Some(("case".to_owned(), false)),
        },
        ExprKind::Coalesce(_) => named("coalesce"),
        ExprKind::NullIf(..) => named("nullif"),
        ExprKind::Greatest(_) => named("greatest"),
        ExprKind::Least(_) => named("least"),
        ExprKind::Array(_) | ExprKind::ArrayQuery(_) => named("array"),
        ExprKind::Row(_) => named("row"),
        ExprKind::Exists(_) => named("exists"),
        ExprKind::Subscripts(inner, _) => figured(inner),
        ExprKind::Collate(inner, _) => figured(inner),
        ExprKind::AtTimeZone(..) => named("timezone"),
        ExprKind::Subquery(query) => named(&first_name(query)),
        _ => None,
    }
}

/// Whether rows are told apart or sorted by what this output is before it is converted.
fn is_told_apart(query: &BoundQuery, column: usize) -> bool {
    let sorted = query.order.iter().any(|o| o.output == column);
    match &query.body {
        Body::Select(select) => {
            let distinct = match &select.distinct {
                Distinct::No => false,
                Distinct::All => true,
                Distinct::On(outputs) => outputs.contains(&column),
            };
            (sorted || distinct) && !matches!(select.outputs[column].kind, BoundKind::Const(_))
        }
        Body::Values(_) => sorted,
        Body::SetOp(set) => sorted || set.op != SetOp::Union || !set.all,
    }
}

/// The name of the first column of a query's answer.
fn first_name(query: &Query) -> String {
    match &query.body {
        QueryBody::Select(select) => {
            let first = select.items.first();
            let name = first.and_then(|item| item.alias.clone().or_else(|| figure(&item.expr)));
            name.unwrap_or_else(|| "?column?".to_owned())
        }
        QueryBody::Values(_) => "column1".to_owned(),
        QueryBody::SetOp { left, .. } => first_name(left),
    }
}

/// Where the first column of a query's answer is written.
fn first_item(query: &Query) -> u32 {
    let first = match &query.body {
        QueryBody::Select(select) => select.items.first().map(|item| &item.expr),
        QueryBody::Values(rows) => rows.first().and_then(|row| row.first()),
        QueryBody::SetOp { left, .. } => return first_item(left),
    };
    first.map_or(query.position, |e| e.position)
}

fn type_name(kind: &TypeNameKind) -> Option<String> {
    let base = |ty: &Type| match ty.plain() {
        Type::Bool => "bool",
        Type::Int2 => "int2",
        Type::Int4 => "int4",
        Type::Int8 => "int8",
        Type::Numeric(_) => "numeric",
        Type::Float4 => "float4",
        Type::Float8 => "float8",
        Type::Varchar(_) => "varchar",
        Type::Char(_) => "bpchar",
        Type::Bytea => "bytea",
        Type::Date => "date",
        Type::Time => "time",
        Type::Timestamp => "timestamp",
        Type::TimestampTz => "timestamptz",
        Type::Interval => "interval",
        Type::Uuid => "uuid",
        Type::System(system) => system.name().trim_matches('"'),
        _ => "text",
    };
    match kind {
        TypeNameKind::Known(Type::Array(of)) => Some(base(of).to_owned()),
        TypeNameKind::Known(ty) => Some(base(ty).to_owned()),
        TypeNameKind::Named(name) => name.parts.last().cloned(),
        _ => None,
    }
}
