//! Queries: bound tree and plan -> operations. The stages of a SELECT nest from the inside out:
//!
//! ```text
//!   joins -> WHERE -> GROUP BY (a map, then a loop over it) -> HAVING -> windows (a list, sorted)
//!         -> outputs -> DISTINCT (a map) -> ORDER BY (a list, sorted) -> OFFSET, LIMIT -> sink
//! ```
//!
//! A stage that is not needed leaves no trace: an index that gives the order saves the sort, and a LIMIT then
//! leaves the scan.

use super::bound::{Body, Bound, BoundQuery, BoundSelect, BoundSetOp, Distinct, Order};
use super::explain::NodeId;
use super::plan::{JoinPlan, Wanted};
use super::{Lowerer, Sink, Typed};
use planaria_base::{Datum, Result, SqlState, Type, stack, watch};
use planaria_ir::{Coll, CollKind, ErrorFields, Func, Label, OpKind, Reg, RegKind, SortKey};
use planaria_syntax::ast::SetOp;

/// A place that dominates what is emitted behind it: where hash tables are built and flags are set.
#[derive(Clone, Copy, Debug)]
pub(super) struct Frame {
    /// Which block of the stack, and where in it.
    pub block: usize,
    pub index: usize,
    /// How many relations were available there.
    pub available: usize,
}

/// LIMIT and OFFSET at work.
#[derive(Clone)]
struct Tail {
    label: Label,
    /// Leave once this many rows were given.
    limit: Option<(Reg, Count)>,
    /// How many rows were left out so far, of how many.
    offset: Option<(Reg, Reg)>,
    /// WITH TIES: what the last row of LIMIT is sorted by, by output.
    ties: Option<Vec<(usize, Reg)>>,
}

impl Tail {
    /// LIMIT, and OFFSET: of how many rows in front all the others may be forgotten.
    fn first(&self) -> Option<(Reg, Option<Reg>)> {
        let (limit, _) = self.limit.as_ref()?;
        Some((*limit, self.offset.map(|(_, count)| count)))
    }
}

#[derive(Clone)]
enum Count {
    /// The first row is the last.
    One,
    /// Rows given so far.
    Counter(Reg),
}

impl Lowerer<'_> {
    pub(super) fn push_frame(&mut self) {
        let block = self.blocks.len() - 1;
        let frame = Frame { block, index: self.blocks[block].len(), available: self.available.len() };
        self.frames.push(frame);
    }

    pub(super) fn pop_frame(&mut self) {
        self.frames.pop().expect("a frame was pushed");
    }

    /// Emits something at a frame, before all that was emitted behind it.
    pub(super) fn at_frame(&mut self, frame: usize, f: impl FnOnce(&mut Self) -> Result<()>) -> Result<()> {
        let Frame { block, index, available } = self.frames[frame];
        let upper = self.blocks.split_off(block + 1);
        let tail = self.blocks[block].split_off(index);
        let inner = self.frames.split_off(frame + 1);
        let around = self.available.split_off(available);
        let done = f(self);
        self.available.extend(around);
        let end = self.blocks[block].len();
        self.blocks[block].extend(tail);
        self.blocks.extend(upper);
        let grown = end - index;
        self.frames[frame].index = end;
        self.frames.extend(inner.into_iter().map(|mut f| {
            if f.block == block {
                f.index += grown;
            }
            f
        }));
        // Outer frames in the same block stand before this one, or at the same place: they stay.
        done
    }

    /// Emits a query; at most `rows` of its rows are wanted. `sink` may be called more than once.
    pub(super) fn emit_query(
        &mut self,
        query: &BoundQuery,
        rows: Option<u32>,
        sink: &mut Sink<'_>,
    ) -> Result<()> {
        stack::check().map_err(|e| e.at(self.position))?;
        watch::check()?;
        self.push_frame();
        let known = self.available.len();
        let done = self.emit_query_here(query, rows, sink);
        self.available.truncate(known);
        self.pop_frame();
        done
    }

    fn emit_query_here(&mut self, query: &BoundQuery, rows: Option<u32>, sink: &mut Sink<'_>) -> Result<()> {
        let apart = self.apart_from_calls(query);
        let query = apart.as_ref().unwrap_or(query);
        let visible = query.columns.len();
        let frame = self.frames.len() - 1;
        let (plan, ordered) = match &query.body {
            Body::Select(select) => {
                let wanted = match self.extreme(select) {
                    Some(first) => Some(vec![first]),
                    None => self.wanted(select, &query.order),
                };
                let mut plan =
                    self.plan_group(&select.from, &select.filter, wanted.as_deref().unwrap_or(&[]))?;
                plan.apart.clone_from(&select.apart);
                let ordered = plan.ordered && wanted.is_some();
                (Some(plan), ordered)
            }
            _ => (None, query.order.is_empty()),
        };
        let single = match (&query.body, &plan) {
            (Body::Select(select), Some(plan)) => match &select.grouping {
                Some(g) => !g.grouped,
                None => plan.single,
            },
            (Body::Values(rows), _) => rows.len() <= 1,
            _ => false,
        };
        let on = match &query.body {
            Body::Select(s) => match &s.distinct {
                Distinct::On(on) => on.clone(),
                _ => Vec::new(),
            },
            _ => Vec::new(),
        };
        let sorts = !single && !query.order.is_empty() && !ordered;
        // Outputs that only sort are not needed where nothing is sorted.
        let mut width = self.width(query);
        if !sorts
            && on.is_empty()
            && !query.ties
            && let Body::Select(select) = &query.body
        {
            for hidden in &select.outputs[select.visible..] {
                for (rel, _) in self.columns_of(hidden) {
                    self.uncount(hidden, rel);
                }
            }
            width = select.visible;
        }
        let one =
            !query.ties && matches!(query.limit.as_ref().and_then(Bound::as_const), Some(Datum::Int(0 | 1)));
        let before = std::mem::replace(&mut self.single_row, single || one || rows == Some(1));
        let bare = rows != Some(0) && query.limit.is_none() && query.offset.is_none();
        let certain = bare && self.gives_one_row(query);
        let certain = std::mem::replace(&mut self.certain_row, certain);
        let depth = self.explains.depth;
        let limit = if query.limit.is_some() || query.offset.is_some() {
            let node = self.note("Limit");
            self.explains.depth += 1;
            node
        } else {
            NodeId::default()
        };
        let mut above = [NodeId::default(); 2];
        for (node, (there, kind)) in
            above.iter_mut().zip([(!query.locks.is_empty(), "LockRows"), (!on.is_empty(), "Unique")])
        {
            if there {
                *node = self.note(kind);
                self.explains.depth += 1;
            }
        }
        let mut counted = |l: &mut Lowerer<'_>, row: &[Typed]| {
            l.explains.depth = depth;
            above.iter().chain([&limit]).for_each(|node| l.passed(*node));
            sink(l, row)
        };
        let sink: &mut Sink<'_> = &mut counted;
        // Whether rows tie is seen in outputs that only sort.
        let shown = if query.ties { width } else { visible };
        let tail = self.tail(query, rows.filter(|_| !query.ties), single)?;
        // What comes between may leave rows out.
        let first = tail.as_ref().filter(|_| on.is_empty() && query.locks.is_empty()).and_then(Tail::first);
        let mut body = |l: &mut Lowerer<'_>, sink: &mut Sink<'_>| {
            if !sorts {
                return l.emit_body(query, plan.as_ref(), width, &mut |l, row| {
                    l.claimed(&query.locks, &mut |l| l.distinct_on(frame, &on, shown, row, sink))
                });
            }
            let sort = l.note_sort(query);
            let types = output_types(query);
            let mut kinds: Vec<RegKind> = types.iter().cloned().map(RegKind::Value).collect();
            kinds.extend(query.locks.iter().map(|lock| RegKind::Row(lock.table)));
            let list = l.coll(CollKind::List, Vec::new(), kinds);
            let keys: Vec<SortKey> = query.order.iter().map(|o| o.key(o.output as u32)).collect();
            let inner = l.explains.depth;
            l.explains.depth += 1;
            let pushed = l.emit_body(query, plan.as_ref(), width, &mut |l, row| {
                let mut values: Vec<Reg> = row.iter().map(|t| l.exactly(t.reg, &t.ty)).collect();
                values.extend(query.locks.iter().map(|lock| l.row_reg(lock.rel)));
                l.emit(OpKind::Push { coll: list, values });
                if let Some((limit, offset)) = first {
                    let keys = keys.clone();
                    l.emit(OpKind::Trim { coll: list, keys, limit, offset, ties: query.ties });
                }
                Ok(())
            });
            l.explains.depth = inner;
            pushed?;
            l.emit(OpKind::Sort { coll: list, keys });
            l.for_claimed(list, &types, &query.locks, &mut |l, row| {
                l.passed(sort);
                l.distinct_on(frame, &on, shown, row, sink)
            })
        };
        let done = if query.ties {
            let outer = rows.map(|rows| self.first_rows(rows));
            self.with_tail(outer, sink, &mut |l, sink| {
                l.with_tail(tail.clone(), &mut |l, row| sink(l, &row[..visible]), &mut body)
            })
        } else {
            self.with_tail(tail, sink, &mut body)
        };
        self.explains.depth = depth;
        self.single_row = before;
        self.certain_row = certain;
        done
    }

    /// The node of a query's ORDER BY.
    fn note_sort(&mut self, query: &BoundQuery) -> NodeId {
        let node = self.note("Sort");
        if let Body::Select(select) = &query.body
            && let Some(grouping) = &select.grouping
        {
            self.name_groups(grouping);
        }
        self.sort_keys(node, &query.order, &|l, output| match &query.body {
            Body::Select(select) => l.show(&select.outputs[output]),
            _ => query.columns.get(output).map_or_else(String::new, |column| column.name.clone()),
        });
        node
    }

    /// Aggregates without GROUP BY and HAVING, and SELECT without FROM and WHERE.
    fn gives_one_row(&self, query: &BoundQuery) -> bool {
        match &query.body {
            Body::Select(select) => match &select.grouping {
                Some(g) => !g.grouped && g.having.is_empty(),
                None => select.from.is_empty() && select.filter.is_empty(),
            },
            Body::Values(rows) => rows.len() == 1,
            Body::SetOp(_) => false,
        }
    }

    /// ORDER BY as columns of relations, where it is nothing else and an index might give it.
    fn wanted(&self, select: &BoundSelect, order: &[Order]) -> Option<Vec<Wanted>> {
        if select.grouping.is_some() || select.windows.is_some() || order.is_empty() {
            return None;
        }
        order
            .iter()
            .map(|o| {
                let (rel, column) = select.outputs[o.output].as_column()?;
                Some(Wanted { rel, column, descending: o.descending, nulls_first: o.nulls_first })
            })
            .collect()
    }

    /// Runs `body` for each row of a list.
    pub(super) fn for_list(&mut self, coll: Coll, types: &[Type], body: &mut Sink<'_>) -> Result<()> {
        let row: Vec<Typed> =
            types.iter().map(|ty| Typed { reg: self.temp(ty.clone()), ty: ty.clone() }).collect();
        let label = self.label();
        let columns = row.iter().map(|t| t.reg).collect();
        let body = self.block(|l| body(l, &row))?;
        self.emit(OpKind::ForEach { coll, columns, entry: None, label, body });
        Ok(())
    }

    // ---- LIMIT, OFFSET ----

    fn tail(&mut self, query: &BoundQuery, rows: Option<u32>, single: bool) -> Result<Option<Tail>> {
        let constant = |e: &Option<Bound>| match e.as_ref().and_then(Bound::as_const) {
            Some(Datum::Int(n)) => Some(*n),
            _ => None,
        };
        // The caller's limit matters where the query's own is not known to be smaller.
        let own = constant(&query.limit);
        let wanted = rows.map(i64::from).filter(|n| own.is_none_or(|own| *n <= own));
        if query.limit.is_none() && query.offset.is_none() && (wanted.is_none() || single) {
            return Ok(None);
        }
        let label = self.label();
        let mut tail = Tail { label, limit: None, offset: None, ties: None };
        if let Some(e) = &query.offset {
            let count = self.row_count(e, SqlState::INVALID_ROW_COUNT_IN_RESULT_OFFSET_CLAUSE, "OFFSET")?;
            let skipped = self.temp(Type::Int8);
            let zero = self.int8(0);
            self.copy(skipped, zero);
            tail.offset = Some((skipped, count));
        }
        let computed = match (&query.limit, own) {
            (Some(e), None) => {
                Some(self.row_count(e, SqlState::INVALID_ROW_COUNT_IN_LIMIT_CLAUSE, "LIMIT")?)
            }
            (Some(e), Some(n)) if n < 0 => {
                Some(self.row_count(e, SqlState::INVALID_ROW_COUNT_IN_LIMIT_CLAUSE, "LIMIT")?)
            }
            (Some(_), Some(n)) => Some(self.int8(wanted.unwrap_or(n).min(n))),
            (None, _) => wanted.map(|n| self.int8(n)),
        };
        // LIMIT NULL is a NULL constant: no limit.
        let unlimited = query.limit.as_ref().is_some_and(|e| matches!(e.as_const(), Some(Datum::Null)));
        let limit = match computed {
            Some(_) if unlimited => wanted.map(|n| self.int8(n)),
            other => other,
        };
        if let Some(limit) = limit {
            let known =
                if unlimited || query.limit.is_none() { wanted } else { own.map(|n| wanted.unwrap_or(n)) };
            let count = if known == Some(1) && !query.ties {
                Count::One
            } else {
                let counter = self.temp(Type::Int8);
                let zero = self.int8(0);
                self.copy(counter, zero);
                Count::Counter(counter)
            };
            tail.limit = Some((limit, count));
        }
        if query.ties && tail.limit.is_some() {
            let types = output_types(query);
            let mut keys = Vec::with_capacity(query.order.len());
            for order in &query.order {
                let ty = types[order.output].clone();
                let (last, null) = (self.temp(ty.clone()), self.constant(Datum::Null, ty));
                self.copy(last, null);
                keys.push((order.output, last));
            }
            tail.ties = Some(keys);
        }
        Ok(Some(tail))
    }

    /// No more than so many rows.
    fn first_rows(&mut self, rows: u32) -> Tail {
        let (label, limit) = (self.label(), self.int8(i64::from(rows)));
        let count = match rows {
            1 => Count::One,
            _ => Count::Counter(self.counter()),
        };
        Tail { label, limit: Some((limit, count)), offset: None, ties: None }
    }

    /// The value of LIMIT or OFFSET; an error if it is negative.
    fn row_count(&mut self, e: &Bound, state: SqlState, what: &str) -> Result<Reg> {
        let reg = self.exact(e)?;
        if !matches!(e.as_const(), Some(Datum::Int(0..)) | Some(Datum::Null)) {
            let zero = self.int8(0);
            let negative = self.apply(Func::IntLt, vec![reg, zero], Type::Bool);
            let message = format!("{what} must not be negative");
            self.when(negative, |l| {
                l.raise(state, message, ErrorFields::default());
                Ok(())
            })?;
        }
        Ok(reg)
    }

    /// Emits `rows` with a sink that counts.
    fn with_tail(
        &mut self,
        tail: Option<Tail>,
        sink: &mut Sink<'_>,
        rows: &mut dyn FnMut(&mut Lowerer<'_>, &mut Sink<'_>) -> Result<()>,
    ) -> Result<()> {
        let Some(Tail { label, limit, offset, ties }) = tail else { return rows(self, sink) };
        let body = self.block(|l| {
            // LIMIT 0 runs nothing.
            if let Some((limit, Count::Counter(given))) = &limit {
                let none = l.apply(Func::IntLe, vec![*limit, *given], Type::Bool);
                l.when(none, |l| {
                    l.emit(OpKind::Exit { label });
                    Ok(())
                })?;
            }
            rows(l, &mut |l: &mut Lowerer<'_>, row: &[Typed]| {
                let mut give = |l: &mut Lowerer<'_>| {
                    if let (Some((limit, Count::Counter(given))), Some(ties)) = (&limit, &ties) {
                        return l.give_ties(label, *limit, *given, ties, row, sink);
                    }
                    sink(l, row)?;
                    match &limit {
                        None => {}
                        Some((_, Count::One)) => l.emit(OpKind::Exit { label }),
                        Some((limit, Count::Counter(given))) => {
                            let one = l.int8(1);
                            let args = vec![*given, one];
                            l.emit(OpKind::Apply { dst: *given, func: Func::Int8Add, args });
                            let full = l.apply(Func::IntGe, vec![*given, *limit], Type::Bool);
                            l.when(full, |l| {
                                l.emit(OpKind::Exit { label });
                                Ok(())
                            })?;
                        }
                    }
                    Ok(())
                };
                let Some((skipped, count)) = offset else { return give(l) };
                let skip = l.apply(Func::IntLt, vec![skipped, count], Type::Bool);
                let then = l.block(|l| {
                    let one = l.int8(1);
                    let args = vec![skipped, one];
                    l.emit(OpKind::Apply { dst: skipped, func: Func::Int8Add, args });
                    Ok(())
                })?;
                let otherwise = l.block(|l| give(l))?;
                l.emit(OpKind::If { cond: skip, then, otherwise });
                Ok(())
            })
        })?;
        self.emit(OpKind::Block { label, body });
        Ok(())
    }

    /// Gives a row, unless LIMIT has given its rows and this one does not tie with the last of them.
    fn give_ties(
        &mut self,
        label: Label,
        limit: Reg,
        given: Reg,
        ties: &[(usize, Reg)],
        row: &[Typed],
        sink: &mut Sink<'_>,
    ) -> Result<()> {
        let full = self.apply(Func::IntGe, vec![given, limit], Type::Bool);
        let behind = self.block(|l| {
            for (output, last) in ties {
                let value = l.exactly(row[*output].reg, &row[*output].ty);
                let differs = l.apply(Func::Distinct, vec![*last, value], Type::Bool);
                l.when(differs, |l| {
                    l.emit(OpKind::Exit { label });
                    Ok(())
                })?;
            }
            Ok(())
        })?;
        let within = self.block(|l| {
            for (output, last) in ties {
                let value = l.exactly(row[*output].reg, &row[*output].ty);
                l.copy(*last, value);
            }
            let one = l.int8(1);
            l.emit(OpKind::Apply { dst: given, func: Func::Int8Add, args: vec![given, one] });
            Ok(())
        })?;
        self.emit(OpKind::If { cond: full, then: behind, otherwise: within });
        sink(self, row)
    }

    /// DISTINCT ON: passes the first row of each combination; drops the hidden outputs.
    fn distinct_on(
        &mut self,
        frame: usize,
        on: &[usize],
        visible: usize,
        row: &[Typed],
        sink: &mut Sink<'_>,
    ) -> Result<()> {
        if on.is_empty() {
            return sink(self, &row[..visible]);
        }
        let keys: Vec<Typed> = on.iter().map(|i| row[*i].clone()).collect();
        self.unseen(frame, &keys, &mut |l| sink(l, &row[..visible]))
    }

    /// Runs `then` where this combination of values comes for the first time since that frame.
    pub(super) fn unseen(
        &mut self,
        frame: usize,
        keys: &[Typed],
        then: &mut dyn FnMut(&mut Lowerer<'_>) -> Result<()>,
    ) -> Result<()> {
        let kinds = keys.iter().map(|t| RegKind::Value(t.ty.clone())).collect();
        let decl = planaria_ir::CollDecl { kind: CollKind::Map, keys: kinds, values: Vec::new() };
        let seen = self.program.coll(decl);
        self.at_frame(frame, |l| {
            l.emit(OpKind::Clear { coll: seen });
            Ok(())
        })?;
        let regs: Vec<Reg> = keys.iter().map(|t| self.exactly(t.reg, &t.ty)).collect();
        let found = self.temp(Type::Bool);
        self.emit(OpKind::MapGet { coll: seen, keys: regs.clone(), found, values: Vec::new() });
        self.unless(found, |l| {
            l.emit(OpKind::MapPut { coll: seen, keys: regs, values: Vec::new() });
            then(l)
        })
    }

    // ---- bodies ----

    /// Number of outputs, hidden ones included.
    fn width(&self, query: &BoundQuery) -> usize {
        match &query.body {
            Body::Select(select) => select.outputs.len(),
            _ => query.columns.len(),
        }
    }

    /// Emits the rows of a query's body, the first `width` outputs.
    fn emit_body(
        &mut self,
        query: &BoundQuery,
        plan: Option<&JoinPlan>,
        width: usize,
        sink: &mut Sink<'_>,
    ) -> Result<()> {
        match &query.body {
            Body::Select(select) => {
                let plan = plan.expect("a SELECT was planned");
                if select.distinct == Distinct::All {
                    let node = self.note("Unique");
                    let visible = select.visible;
                    let frame = self.frames.len() - 1;
                    return self.below(|l| {
                        l.emit_select(select, plan, width, &mut |l, row| {
                            l.unseen(frame, &row[..visible], &mut |l| {
                                l.passed(node);
                                sink(l, row)
                            })
                        })
                    });
                }
                self.emit_select(select, plan, width, sink)
            }
            Body::Values(rows) => self.emit_values(query, rows, sink),
            Body::SetOp(set) => self.emit_set_op(query, set, sink),
        }
    }

    fn emit_values(&mut self, query: &BoundQuery, rows: &[Vec<Bound>], sink: &mut Sink<'_>) -> Result<()> {
        // One row of expressions is what PostgreSQL calls a result.
        let node = match rows {
            [_] => self.note("Result"),
            _ => self.note_on("Values Scan", "\"*VALUES*\""),
        };
        let mut counted = |l: &mut Lowerer<'_>, row: &[Typed]| {
            l.passed(node);
            sink(l, row)
        };
        let sink: &mut Sink<'_> = &mut counted;
        let types: Vec<Type> = query.columns.iter().map(|c| c.ty.clone()).collect();
        let evaluate = |l: &mut Lowerer<'_>, row: &[Bound]| -> Result<Vec<Typed>> {
            row.iter().map(|e| Ok(Typed { reg: l.exact(e)?, ty: e.ty.clone() })).collect()
        };
        if let [row] = rows {
            let row = evaluate(self, row)?;
            return sink(self, &row);
        }
        let kinds = types.iter().cloned().map(RegKind::Value).collect();
        let list = self.coll(CollKind::List, Vec::new(), kinds);
        self.push_values(list, rows, &types)?;
        self.for_list(list, &types, sink)
    }

    /// Appends rows of values to a list of these types: many constant ones at once.
    pub(super) fn push_values(&mut self, list: Coll, rows: &[Vec<Bound>], types: &[Type]) -> Result<()> {
        /// From so many rows on.
        const MANY: usize = 64;
        let constant = |row: &Vec<Bound>| -> Option<Vec<Datum>> {
            let values = row.iter().zip(types).map(|(e, ty)| e.as_const().filter(|_| e.ty == *ty).cloned());
            values.collect()
        };
        let mut left = rows;
        while let Some(row) = left.first() {
            if left.len() >= MANY {
                let filled: Vec<Vec<Datum>> = left.iter().map_while(constant).collect();
                if filled.len() >= MANY {
                    watch::check()?;
                    left = &left[filled.len()..];
                    self.emit(OpKind::Fill { coll: list, rows: filled.into() });
                    continue;
                }
            }
            let values = row.iter().map(|e| self.exact(e)).collect::<Result<_>>()?;
            self.emit(OpKind::Push { coll: list, values });
            left = &left[1..];
        }
        Ok(())
    }

    fn emit_set_op(&mut self, query: &BoundQuery, set: &BoundSetOp, sink: &mut Sink<'_>) -> Result<()> {
        let node = self.note(match (set.op, set.all) {
            (SetOp::Union, true) => "Append",
            (SetOp::Union, false) => "HashAggregate",
            (SetOp::Except, true) => "HashSetOp Except All",
            (SetOp::Except, false) => "HashSetOp Except",
            (SetOp::Intersect, true) => "HashSetOp Intersect All",
            (SetOp::Intersect, false) => "HashSetOp Intersect",
        });
        let mut counted = |l: &mut Lowerer<'_>, row: &[Typed]| {
            l.passed(node);
            sink(l, row)
        };
        self.below(|l| l.emit_set_op_here(query, set, &mut counted))
    }

    fn emit_set_op_here(&mut self, query: &BoundQuery, set: &BoundSetOp, sink: &mut Sink<'_>) -> Result<()> {
        let types: Vec<Type> = query.columns.iter().map(|c| c.ty.clone()).collect();
        let kinds: Vec<RegKind> = types.iter().cloned().map(RegKind::Value).collect();
        let exact = |l: &mut Lowerer<'_>, row: &[Typed]| -> Vec<Reg> {
            row.iter().zip(&types).map(|(t, ty)| l.exactly(t.reg, ty)).collect()
        };
        if set.op == SetOp::Union {
            // One loop at the end, so that the sink is emitted once.
            let coll = if set.all {
                self.coll(CollKind::List, Vec::new(), kinds)
            } else {
                self.coll(CollKind::Map, kinds, Vec::new())
            };
            for side in set.sides() {
                self.emit_query(side, None, &mut |l, row| {
                    let values = exact(l, row);
                    l.emit(match set.all {
                        true => OpKind::Push { coll, values },
                        false => OpKind::MapPut { coll, keys: values, values: Vec::new() },
                    });
                    Ok(())
                })?;
            }
            return self.for_list(coll, &types, sink);
        }
        // The right side by row, with how often it occurs.
        let right = self.coll(CollKind::Map, kinds.clone(), vec![RegKind::Value(Type::Int8)]);
        let (count, found) = (self.temp(Type::Int8), self.temp(Type::Bool));
        let (zero, one) = (self.int8(0), self.int8(1));
        self.emit_query(&set.right, None, &mut |l, row| {
            let keys = exact(l, row);
            l.copy(count, zero);
            l.emit(OpKind::MapGet { coll: right, keys: keys.clone(), found, values: vec![count] });
            l.unless(found, |l| {
                l.copy(count, zero);
                Ok(())
            })?;
            l.emit(OpKind::Apply { dst: count, func: Func::Int8Add, args: vec![count, one] });
            l.emit(OpKind::MapPut { coll: right, keys, values: vec![count] });
            Ok(())
        })?;
        let except = set.op == SetOp::Except;
        let seen = (!set.all).then(|| self.coll(CollKind::Map, kinds, Vec::new()));
        self.emit_query(&set.left, None, &mut |l, row| {
            let keys = exact(l, row);
            let given: Vec<Typed> =
                keys.iter().zip(&types).map(|(reg, ty)| Typed { reg: *reg, ty: ty.clone() }).collect();
            l.emit(OpKind::MapGet { coll: right, keys: keys.clone(), found, values: vec![count] });
            if let Some(seen) = seen {
                let wanted = if except { l.apply(Func::Not, vec![found], Type::Bool) } else { found };
                return l.when(wanted, |l| {
                    let before = l.temp(Type::Bool);
                    let get =
                        OpKind::MapGet { coll: seen, keys: keys.clone(), found: before, values: vec![] };
                    l.emit(get);
                    l.unless(before, |l| {
                        l.emit(OpKind::MapPut { coll: seen, keys, values: Vec::new() });
                        sink(l, &given)
                    })
                });
            }
            // ALL: each row on the right takes (EXCEPT) or keeps (INTERSECT) one on the left.
            l.unless(found, |l| {
                l.copy(count, zero);
                Ok(())
            })?;
            let left = l.apply(Func::IntGt, vec![count, zero], Type::Bool);
            let take = l.block(|l| {
                l.emit(OpKind::Apply { dst: count, func: Func::Int8Sub, args: vec![count, one] });
                l.emit(OpKind::MapPut { coll: right, keys: keys.clone(), values: vec![count] });
                if except { Ok(()) } else { sink(l, &given) }
            })?;
            let none = l.block(|l| if except { sink(l, &given) } else { Ok(()) })?;
            l.emit(OpKind::If { cond: left, then: take, otherwise: none });
            Ok(())
        })
    }

    /// Joins, grouping, windows, outputs.
    fn emit_select(
        &mut self,
        select: &BoundSelect,
        plan: &JoinPlan,
        width: usize,
        sink: &mut Sink<'_>,
    ) -> Result<()> {
        let mut outputs = |l: &mut Lowerer<'_>| {
            let mut row = Vec::with_capacity(width);
            for e in &select.outputs[..width] {
                let reg = l.value(e)?;
                row.push(Typed { reg, ty: e.ty.clone() });
            }
            sink(l, &row)
        };
        match &select.windows {
            None => self.emit_grouped(select, plan, &mut outputs),
            Some(windows) => self.emit_windows(
                select,
                windows,
                &mut |l, then| l.emit_grouped(select, plan, then),
                &mut outputs,
            ),
        }
    }

    fn emit_grouped(
        &mut self,
        select: &BoundSelect,
        plan: &JoinPlan,
        then: &mut dyn FnMut(&mut Lowerer<'_>) -> Result<()>,
    ) -> Result<()> {
        match &select.grouping {
            None => self.emit_plan(plan, then),
            Some(grouping) => self.emit_grouping(select, grouping, plan, then),
        }
    }
}

/// Types of a query's outputs, hidden ones included.
fn output_types(query: &BoundQuery) -> Vec<Type> {
    match &query.body {
        Body::Select(select) => select.outputs.iter().map(|e| e.ty.clone()).collect(),
        _ => query.columns.iter().map(|c| c.ty.clone()).collect(),
    }
}
