//! Joins: each step of a plan is a region, the next step stands inside it.

use super::bound::{Bound, BoundKind, BoundQuery, RelId, RelKind};
use super::explain::NodeId;
use super::path::{Key, Path, Values};
use super::plan::{JoinPlan, Source, Step};
use super::{Lowerer, Typed};
use planaria_base::datetime::Interval;
use planaria_base::limits::{CHAIN_NESTING_MAX, CTE_NESTING_MAX};
use planaria_base::{ColumnId, Datum, Error, Result, SqlState, Type};
use planaria_ir::{Block, Coll, CollDecl, CollKind, ErrorFields, Func, OpKind, Range, Reg, RegKind, SortKey};

/// Steps that are joined, and the nodes of their joins in the plan.
struct Steps<'p> {
    frame: usize,
    steps: &'p [Step],
    nodes: Vec<NodeId>,
    /// Depth of the outermost join.
    depth: usize,
}

/// What is emitted inside a region.
pub(super) type Then<'t> = dyn FnMut(&mut Lowerer<'_>) -> Result<()> + 't;

impl Lowerer<'_> {
    /// Emits the joins of a plan; `then` inside the innermost.
    pub(super) fn emit_plan(&mut self, plan: &JoinPlan, then: &mut Then<'_>) -> Result<()> {
        self.emit_plan_at(self.frames.len() - 1, plan, then)
    }

    /// The same; what it builds stands at that frame.
    pub(super) fn emit_plan_at(&mut self, frame: usize, plan: &JoinPlan, then: &mut Then<'_>) -> Result<()> {
        match &plan.apart {
            None => self.emit_rows_at(frame, plan, then),
            Some(apart) => self.emit_apart(frame, plan, apart, then),
        }
    }

    /// The same, row by row as they are found.
    pub(super) fn emit_rows_at(&mut self, frame: usize, plan: &JoinPlan, then: &mut Then<'_>) -> Result<()> {
        if plan.steps.is_empty() {
            let node = self.note("Result");
            self.show_conditions(node, "One-Time Filter", &plan.first);
            return self.filtered(&plan.first, &mut |l| {
                l.passed(node);
                then(l)
            });
        }
        self.filtered(&plan.first, &mut |l| {
            let first = l.next_node();
            l.emit_steps(frame, &plan.steps, &mut |l| {
                l.show_conditions(first, "One-Time Filter", &plan.first);
                then(l)
            })
        })
    }

    /// Joins steps, each inside those before it; `then` inside the innermost.
    pub(super) fn emit_steps(&mut self, frame: usize, steps: &[Step], then: &mut Then<'_>) -> Result<()> {
        let depth = self.explains.depth;
        let nodes = self.note_joins(steps);
        let done = self.emit_step(&Steps { frame, steps, nodes, depth }, 0, then);
        self.explains.depth = depth;
        done
    }

    fn emit_step(&mut self, all: &Steps<'_>, at: usize, then: &mut Then<'_>) -> Result<()> {
        let Some(step) = all.steps.get(at) else {
            self.explains.depth = all.depth;
            return then(self);
        };
        let frame = all.frame;
        // The last join is the outermost node.
        let depth = all.depth + all.steps.len() - at.max(1);
        self.explains.depth = depth;
        let node = self.next_node();
        let mut inner = |l: &mut Lowerer<'_>| {
            l.explains.depth = depth;
            l.filters(node, all.nodes[at], step);
            l.filtered(&step.filter, &mut |l| {
                l.passed(node);
                l.passed(all.nodes[at]);
                l.emit_step(all, at + 1, then)
            })
        };
        match &step.source {
            Source::Access { rel, path } => self.emit_access(*rel, path, &mut inner),
            Source::Produce { rel, keep: false } => self.emit_produce(*rel, &mut inner),
            Source::Produce { rel, keep: true } => self.emit_kept(frame, *rel, &mut inner),
            Source::Hash(hash) => self.emit_hash(frame, hash, &mut inner),
            Source::Outer { rels, how } => self.emit_outer(frame, rels, how, &mut inner),
            Source::Full { left, left_rels, hash, rest } => {
                self.emit_full(frame, left, left_rels, hash, rest, &mut inner)
            }
        }
    }

    /// Shows the conditions behind a step: of its own rows, or of those of the join.
    fn filters(&mut self, source: NodeId, join: NodeId, step: &Step) {
        if !self.explains.shows() {
            return;
        }
        let own = step.source.rels();
        let (of_source, of_join): (Vec<Bound>, Vec<Bound>) =
            step.filter.iter().cloned().partition(|e| self.rels_in(e).iter().all(|rel| own.contains(rel)));
        self.show_conditions(source, "Filter", &of_source);
        self.show_conditions(if join.is_some() { join } else { source }, "Join Filter", &of_join);
    }

    /// Runs `then` where all conditions are true.
    pub(super) fn filtered(&mut self, filter: &[Bound], then: &mut Then<'_>) -> Result<()> {
        if filter.len() > CHAIN_NESTING_MAX {
            return self.filtered_in_a_row(filter, then);
        }
        let Some((first, rest)) = filter.split_first() else { return then(self) };
        let before = self.at(first.position);
        let cond = self.truth_of(first)?;
        let body = self.block(|l| l.filtered(rest, then))?;
        self.emit(OpKind::If { cond, then: body, otherwise: Block::default() });
        self.at(before);
        Ok(())
    }

    /// The same for so many conditions that they must not nest: a block is left at the first that does not hold.
    fn filtered_in_a_row(&mut self, filter: &[Bound], then: &mut Then<'_>) -> Result<()> {
        let holds = self.temp(Type::Bool);
        let (no, yes) = (self.truth(false), self.truth(true));
        self.copy(holds, no);
        let label = self.label();
        let body = self.block(|l| {
            for condition in filter {
                let before = l.at(condition.position);
                let cond = l.truth_of(condition)?;
                l.unless(cond, |l| {
                    l.emit(OpKind::Exit { label });
                    Ok(())
                })?;
                l.at(before);
            }
            l.copy(holds, yes);
            Ok(())
        })?;
        self.emit(OpKind::Block { label, body });
        self.when(holds, |l| then(l))
    }

    /// Makes relations available to what `then` emits.
    pub(super) fn with_rels(&mut self, rels: &[RelId], then: &mut Then<'_>) -> Result<()> {
        self.available.extend(rels);
        let known = self.available.len();
        let done = then(self);
        debug_assert!(done.is_err() || self.available.len() == known);
        self.available.truncate(known - rels.len());
        done
    }

    // ---- tables ----

    /// Columns of a table's relation that are used, with their registers.
    pub(super) fn loaded(&mut self, rel: RelId) -> Vec<(ColumnId, Reg)> {
        let used: Vec<usize> =
            self.rel(rel).uses.iter().enumerate().filter(|(_, n)| **n > 0).map(|(i, _)| i).collect();
        used.into_iter().map(|c| (ColumnId::from(c), self.column_reg(rel, c))).collect()
    }

    /// The register of a relation's row handle.
    pub(super) fn row_reg(&mut self, rel: RelId) -> Reg {
        if let Some(row) = self.rel(rel).row {
            return row;
        }
        let RelKind::Table(table) = self.rel(rel).kind else { unreachable!("only tables have rows") };
        let row = self.program.reg(RegKind::Row(table), None);
        self.rel_mut(rel).row = Some(row);
        row
    }

    pub(super) fn emit_access(&mut self, rel: RelId, path: &Path, then: &mut Then<'_>) -> Result<()> {
        self.note_access(rel, path);
        let any = path.prefix.iter().position(|k| matches!(k, Key::Any(_)));
        let Some(at) = any else {
            let prefix = self.prefix(path, None)?;
            return self.emit_reach(rel, path, prefix, then);
        };
        let Key::Any(values) = &path.prefix[at] else { unreachable!("found above") };
        // What does not depend on the value is computed before the loop over the values.
        let fixed = self.prefix(path, Some(at))?;
        self.emit_values_loop(rel, path, at, values, &mut |l, value| {
            let mut prefix = fixed.clone();
            prefix[at] = value;
            l.emit_reach(rel, path, prefix, then)
        })
    }

    /// The registers of a path's key; at `skip` stands one that is not meant.
    pub(super) fn prefix(&mut self, path: &Path, skip: Option<usize>) -> Result<Vec<Reg>> {
        let mut regs = Vec::with_capacity(path.prefix.len());
        for (i, key) in path.prefix.iter().enumerate() {
            match key {
                Key::One(e) => regs.push(self.value(e)?),
                Key::Any(_) if Some(i) == skip => {
                    let placeholder = self.truth(true);
                    regs.push(placeholder);
                }
                Key::Any(_) => return Err(Error::internal("two sets of values in one path")),
            }
        }
        Ok(regs)
    }

    /// A point read or a scan.
    pub(super) fn emit_reach(
        &mut self,
        rel: RelId,
        path: &Path,
        prefix: Vec<Reg>,
        then: &mut Then<'_>,
    ) -> Result<()> {
        let row = self.row_reg(rel);
        if path.full {
            let columns = self.loaded(rel);
            let (table, index) = (path.table, path.index);
            let mode = self.rel(rel).mode.of_point();
            self.emit(OpKind::Get { table, index, key: prefix, mode, row, columns });
            let found = self.apply(Func::IsNotNull, vec![row], Type::Bool);
            return self.when(found, |l| l.with_rels(&[rel], then));
        }
        let bound = |l: &mut Self, b: &Option<(Bound, bool)>| -> Result<Option<planaria_ir::Bound>> {
            b.as_ref()
                .map(|(e, inclusive)| Ok(planaria_ir::Bound { reg: l.value(e)?, inclusive: *inclusive }))
                .transpose()
        };
        let lower = bound(self, &path.lower)?;
        let upper = bound(self, &path.upper)?;
        let columns = self.loaded(rel);
        let label = self.label();
        let body = self.block(|l| l.with_rels(&[rel], then))?;
        self.emit(OpKind::Scan {
            table: path.table,
            index: path.index,
            range: Range { prefix, lower, upper },
            descending: path.descending,
            mode: self.rel(rel).mode,
            row,
            columns,
            label,
            body,
        });
        Ok(())
    }

    /// Runs `body` for each of a set of values: not NULL, none twice, in index order.
    pub(super) fn emit_values_loop(
        &mut self,
        rel: RelId,
        path: &Path,
        at: usize,
        values: &Values,
        body: &mut dyn FnMut(&mut Lowerer<'_>, Reg) -> Result<()>,
    ) -> Result<()> {
        let table = self.catalog.table_by_id(path.table);
        let column = table.indexes[path.index.index()].columns[at].index();
        let _ = rel;
        let ty = match (values, &table.columns[column].ty) {
            (Values::List(list), _) => wider(list.iter().map(|e| &e.ty)),
            (Values::Array(e), _) => match &e.ty {
                Type::Array(of) => (**of).clone(),
                other => other.clone(),
            },
            (Values::Query(q), _) => q.columns[0].ty.clone(),
        };
        let list = self.coll(CollKind::List, Vec::new(), vec![RegKind::Value(ty.clone())]);
        let push = |l: &mut Lowerer<'_>, value: Reg, maybe_null: bool| {
            let value = l.exactly(value, &ty);
            let op = OpKind::Push { coll: list, values: vec![value] };
            if !maybe_null {
                l.emit(op);
                return Ok(());
            }
            let there = l.apply(Func::IsNotNull, vec![value], Type::Bool);
            l.when(there, |l| {
                l.emit(op);
                Ok(())
            })
        };
        match values {
            Values::List(items) => {
                for e in items {
                    let value = self.value(e)?;
                    let maybe_null = !self.never_null(e);
                    push(self, value, maybe_null)?;
                }
            }
            Values::Array(e) => {
                let array = self.value(e)?;
                let there = self.apply(Func::IsNotNull, vec![array], Type::Bool);
                self.when(there, |l| l.for_elements(array, &ty, &mut |l, value, _| push(l, value, true)))?;
            }
            Values::Query(query) => {
                self.emit_query(query, None, &mut |l, row| push(l, row[0].reg, true))?;
            }
        }
        let order = SortKey { column: 0, descending: path.descending, nulls_first: path.descending };
        self.emit(OpKind::Sort { coll: list, keys: vec![order] });
        // Equal values are neighbours now.
        let (value, last) = (self.temp(ty.clone()), self.temp(ty.clone()));
        let null = self.constant(Datum::Null, ty);
        self.copy(last, null);
        let label = self.label();
        let block = self.block(|l| {
            let other = l.apply(Func::Distinct, vec![value, last], Type::Bool);
            l.when(other, |l| {
                l.copy(last, value);
                body(l, value)
            })
        })?;
        self.emit(OpKind::ForEach { coll: list, columns: vec![value], entry: None, label, body: block });
        Ok(())
    }

    // ---- relations that compute their rows ----

    pub(super) fn emit_produce(&mut self, rel: RelId, then: &mut Then<'_>) -> Result<()> {
        let kind = self.rel(rel).kind.clone();
        let name = self.rel(rel).name.clone();
        match kind {
            RelKind::Table(_) => Err(Error::internal("a table is accessed, not produced")),
            RelKind::Pseudo => self.with_rels(&[rel], then),
            RelKind::Query(query) => {
                self.note_on("Subquery Scan", &name);
                self.below(|l| {
                    l.emit_query(&query, None, &mut |l, row| {
                        l.set_columns_to(rel, row);
                        l.with_rels(&[rel], then)
                    })
                })
            }
            RelKind::Cte(index) => self.emit_cte(rel, index, then),
            RelKind::System(id) => self.emit_system(rel, id, then),
            RelKind::Work(index) => {
                let list = self.ctes[index].turn.as_ref().and_then(|t| t.work);
                let list =
                    list.ok_or_else(|| Error::internal("a recursive reference outside of its turn"))?;
                self.note_scan("WorkTable Scan", &name, rel);
                let columns: Vec<Reg> =
                    (0..self.rel(rel).columns.len()).map(|c| self.column_reg(rel, c)).collect();
                self.iterate(rel, list, columns, false, then)
            }
            RelKind::Zip(parts) => self.emit_zip(rel, &parts, then),
            RelKind::Row(values) => {
                let mut row = Vec::with_capacity(values.len());
                for e in &values {
                    row.push(Typed { reg: self.exact(e)?, ty: e.ty.clone() });
                }
                self.set_columns_to(rel, &row);
                self.with_rels(&[rel], then)
            }
            RelKind::CallRow { procedure, args } => {
                self.note_on("Function Scan", &name);
                let mut regs = Vec::with_capacity(args.len());
                for e in &args {
                    regs.push(self.exact(e)?);
                }
                let mut outs: Vec<Reg> =
                    (0..self.rel(rel).columns.len()).map(|c| self.column_reg(rel, c)).collect();
                if self.catalog.procedure(procedure).says_row() {
                    outs.push(self.temp(Type::Bool));
                }
                self.emit(OpKind::Call { procedure, args: regs, outs });
                self.with_rels(&[rel], then)
            }
            RelKind::CallSet { procedure, args, ordinality } => {
                self.note_on("Function Scan", &name);
                let mut regs = Vec::with_capacity(args.len());
                for e in &args {
                    regs.push(self.exact(e)?);
                }
                let width = self.rel(rel).columns.len() - ordinality as usize;
                let kinds: Vec<RegKind> =
                    self.rel(rel).columns[..width].iter().map(|(_, ty)| RegKind::Value(ty.clone())).collect();
                let list = self.coll(CollKind::List, Vec::new(), kinds);
                // STRICT: no rows for a NULL.
                let nullable: Vec<Reg> = args
                    .iter()
                    .zip(&regs)
                    .filter(|(e, _)| self.catalog.procedure(procedure).strict && !self.never_null(e))
                    .map(|(_, r)| *r)
                    .collect();
                let call = OpKind::CallSet { procedure, args: regs, into: list };
                if nullable.is_empty() {
                    self.emit(call);
                } else {
                    let missing = self.any_null(&nullable);
                    self.unless(missing, |l| {
                        l.emit(call);
                        Ok(())
                    })?;
                }
                let columns: Vec<Reg> = (0..width).map(|c| self.column_reg(rel, c)).collect();
                self.iterate(rel, list, columns, ordinality, then)
            }
            RelKind::Unnest { array, ordinality } => {
                self.note_on("Function Scan", &name);
                let Some(of) = array.ty.element() else {
                    return Err(Error::internal("unnest of no array"));
                };
                let array = self.value(&array)?;
                // In FROM the fields of rows are columns.
                let fields = match &of {
                    Type::Record(row) if self.rel(rel).columns[0].1 != of => Some(row.clone()),
                    _ => None,
                };
                let number = self.ordinal(rel, ordinality);
                let there = self.apply(Func::IsNotNull, vec![array], Type::Bool);
                self.when(there, |l| {
                    l.for_elements(array, &of, &mut |l, element, _| {
                        match &fields {
                            Some(row) => {
                                for (i, (_, field)) in l.unpacked(element, row, None).iter().enumerate() {
                                    l.rel_mut(rel).regs[i] = Some(field.reg);
                                }
                            }
                            None => l.rel_mut(rel).regs[0] = Some(element),
                        }
                        l.next_ordinal(number);
                        l.with_rels(&[rel], then)
                    })
                })
            }
            RelKind::Series { start, stop, step, ordinality } => {
                self.note_on("Function Scan", &name);
                self.emit_series(rel, &start, &stop, &step, ordinality, then)
            }
        }
    }

    /// A relation's columns are these registers from here on.
    pub(super) fn set_columns_to(&mut self, rel: RelId, row: &[Typed]) {
        let regs = row.iter().map(|t| Some(t.reg)).collect();
        self.rel_mut(rel).regs = regs;
    }

    /// The register of WITH ORDINALITY, at zero.
    pub(super) fn ordinal(&mut self, rel: RelId, ordinality: bool) -> Option<Reg> {
        ordinality.then(|| {
            let column = self.rel(rel).columns.len() - 1;
            let reg = self.column_reg(rel, column);
            let zero = self.int8(0);
            self.copy(reg, zero);
            reg
        })
    }

    pub(super) fn next_ordinal(&mut self, number: Option<Reg>) {
        if let Some(reg) = number {
            let one = self.int8(1);
            self.emit(OpKind::Apply { dst: reg, func: Func::Int8Add, args: vec![reg, one] });
        }
    }

    /// Runs `then` for each row of a collection.
    pub(super) fn iterate(
        &mut self,
        rel: RelId,
        coll: Coll,
        columns: Vec<Reg>,
        ordinality: bool,
        then: &mut Then<'_>,
    ) -> Result<()> {
        let number = self.ordinal(rel, ordinality);
        let label = self.label();
        let body = self.block(|l| {
            l.next_ordinal(number);
            l.with_rels(&[rel], then)
        })?;
        self.emit(OpKind::ForEach { coll, columns, entry: None, label, body });
        Ok(())
    }

    pub(super) fn emit_series(
        &mut self,
        rel: RelId,
        start: &Bound,
        stop: &Bound,
        step: &Bound,
        ordinality: bool,
        then: &mut Then<'_>,
    ) -> Result<()> {
        use planaria_base::types::TypeClass;
        let ty = start.ty.clone();
        let (add, le, ge) = match ty.class() {
            TypeClass::Integer if ty == Type::Int8 => (Func::Int8Add, Func::IntLe, Func::IntGe),
            TypeClass::Integer => (Func::Int4Add, Func::IntLe, Func::IntGe),
            TypeClass::Numeric => (Func::NumAdd, Func::NumLe, Func::NumGe),
            _ if *ty.plain() == Type::TimestampTz => (Func::TzAddInterval, Func::IntLe, Func::IntGe),
            _ => (Func::TimestampAddInterval, Func::IntLe, Func::IntGe),
        };
        let first = self.exact(start)?;
        let stop_bound = stop;
        let stop = self.value(stop)?;
        let by = self.value(step)?;
        let at = self.column_reg(rel, 0);
        if ty.class() == TypeClass::Numeric {
            for (bound, reg, what) in
                [(start, first, "start value"), (stop_bound, stop, "stop value"), (step, by, "step size")]
            {
                self.must_be_finite(bound, reg, what)?;
            }
        }
        // Which way it goes: known, or asked at the start.
        let sign = match step.as_const() {
            Some(Datum::Int(n)) if *n != 0 => Some(*n > 0),
            Some(Datum::Numeric(n)) if n.mantissa() != 0 => Some(n.mantissa() > 0),
            Some(Datum::Interval(i)) if i.span() != 0 => Some(i.span() > 0),
            _ => None,
        };
        let upwards = match sign {
            Some(_) => None,
            None => {
                let zero = match ty.class() {
                    TypeClass::Numeric => {
                        self.constant(Datum::Numeric(planaria_base::Numeric::ZERO), Type::Numeric(None))
                    }
                    TypeClass::Integer => self.int8(0),
                    _ => self.constant(Datum::Interval(Interval::ZERO), Type::Interval),
                };
                let (eq, gt) = match ty.class() {
                    TypeClass::Numeric => (Func::NumEq, Func::NumGt),
                    TypeClass::Integer => (Func::IntEq, Func::IntGt),
                    _ => (Func::IntervalEq, Func::IntervalGt),
                };
                let none = self.apply(eq, vec![by, zero], Type::Bool);
                self.when(none, |l| {
                    let message = "step size cannot equal zero";
                    l.raise(SqlState::INVALID_PARAMETER_VALUE, message, ErrorFields::default());
                    Ok(())
                })?;
                Some(self.apply(gt, vec![by, zero], Type::Bool))
            }
        };
        let number = self.ordinal(rel, ordinality);
        self.copy(at, first);
        let label = self.label();
        let body = self.block(|l| {
            let within = match (sign, upwards) {
                (Some(true), _) => l.apply(le, vec![at, stop], Type::Bool),
                (Some(false), _) => l.apply(ge, vec![at, stop], Type::Bool),
                (None, Some(up)) => {
                    let within = l.temp(Type::Bool);
                    let a = l.block(|l| {
                        l.emit(OpKind::Apply { dst: within, func: le, args: vec![at, stop] });
                        Ok(())
                    })?;
                    let b = l.block(|l| {
                        l.emit(OpKind::Apply { dst: within, func: ge, args: vec![at, stop] });
                        Ok(())
                    })?;
                    l.emit(OpKind::If { cond: up, then: a, otherwise: b });
                    within
                }
                (None, None) => unreachable!("one of them is known"),
            };
            let turn = l.block(|l| {
                l.next_ordinal(number);
                l.with_rels(&[rel], then)?;
                // The last value may be the greatest of its type: no step beyond it.
                if ty.class() == TypeClass::Integer {
                    let last = l.apply(Func::IntEq, vec![at, stop], Type::Bool);
                    l.when(last, |l| {
                        l.emit(OpKind::Exit { label });
                        Ok(())
                    })?;
                }
                l.emit(OpKind::Apply { dst: at, func: add, args: vec![at, by] });
                Ok(())
            })?;
            let leave = l.block(|l| {
                l.emit(OpKind::Exit { label });
                Ok(())
            })?;
            l.emit(OpKind::If { cond: within, then: turn, otherwise: leave });
            Ok(())
        })?;
        self.emit(OpKind::Loop { label, body });
        Ok(())
    }

    /// A reference to a CTE: in place if it is the only one, else a loop over its rows, which are
    /// computed at the outermost frame.
    pub(super) fn emit_cte(&mut self, rel: RelId, index: usize, then: &mut Then<'_>) -> Result<()> {
        self.collect_below(index)?;
        let name = self.ctes[index].name.clone();
        if self.ctes[index].turn.is_some() && self.ctes[index].list.is_none() && self.is_read_here(index) {
            self.note_scan("CTE Scan", &name, rel);
            return self.below(|l| {
                l.emit_recursion(index, &mut |l, row| {
                    l.set_columns_to(rel, row);
                    l.with_rels(&[rel], then)
                })
            });
        }
        if self.ctes[index].turn.is_none()
            && self.ctes[index].uses == 1
            && !self.ctes[index].before
            && self.ctes[index].list.is_none()
            && let Some(query) = self.ctes[index].query.clone()
            && !self.is_volatile(&Bound::new(BoundKind::Exists(Box::new(query.clone())), Type::Bool, 0))
        {
            self.note_on("Subquery Scan", &name);
            return self.below(|l| {
                l.emit_query(&query, None, &mut |l, row| {
                    l.set_columns_to(rel, row);
                    l.with_rels(&[rel], then)
                })
            });
        }
        let list = self.cte_list(index)?;
        self.note_scan("CTE Scan", &name, rel);
        let columns: Vec<Reg> = (0..self.rel(rel).columns.len()).map(|c| self.column_reg(rel, c)).collect();
        self.iterate(rel, list, columns, false, then)
    }

    /// The rows of a CTE in a list, made when first asked for.
    fn cte_list(&mut self, index: usize) -> Result<Coll> {
        if let Some(list) = self.ctes[index].list {
            return Ok(list);
        }
        if self.ctes[index].turn.is_some() {
            return self.recursive_list(index);
        }
        if self.ctes[index].before {
            self.count_cte(index);
        }
        let query = self.ctes[index].query.clone().ok_or_else(|| Error::internal("a CTE without a query"))?;
        let what = format!("CTE {}", self.ctes[index].name);
        if self.ctes[index].before {
            return self.list_before(index, &query, &what);
        }
        let frame = self.frame_for(&query);
        let list = self.list_of(&query, frame, &what)?;
        self.ctes[index].list = Some(list);
        Ok(list)
    }

    /// The rows of a CTE in its list, here, before anybody asks.
    pub(super) fn make_list(&mut self, index: usize) -> Result<()> {
        for below in self.ctes_below(index) {
            self.count_cte(below);
        }
        self.count_cte(index);
        self.push_frame();
        let done = self.cte_list(index);
        self.pop_frame();
        done.map(drop)
    }

    /// Before a CTE that stands on many others: the rows of some of these, from below, so that what is emitted
    /// inside each other has a limit however long the chain is.
    fn collect_below(&mut self, index: usize) -> Result<()> {
        if self.ctes[index].height <= CTE_NESTING_MAX {
            return Ok(());
        }
        for below in self.ctes_below(index) {
            let cte = &self.ctes[below];
            if !cte.height.is_multiple_of(CTE_NESTING_MAX) || cte.list.is_some() {
                continue;
            }
            let Some(query) = cte.query.clone() else { continue };
            // What it needs of a query around it may not be there yet.
            if self.free_rels(&query).iter().all(|r| self.is_available(*r)) && !self.draws(&query) {
                self.cte_list(below)?;
            }
        }
        Ok(())
    }

    /// Whether a recursive CTE is read at one place only, and computed there as often as it would be elsewhere.
    fn is_read_here(&mut self, index: usize) -> bool {
        let cte = &self.ctes[index];
        let (Some(first), Some(turn)) = (&cte.query, &cte.turn) else { return false };
        if cte.uses != 1 {
            return false;
        }
        let (first, turn) = (first.clone(), turn.query.clone());
        let frame = self.frame_for(&first).max(self.frame_for(&turn));
        self.frames[frame].available == self.available.len() && !self.draws(&first) && !self.draws(&turn)
    }

    /// The outermost frame at which a query can be computed.
    pub(super) fn frame_for(&mut self, query: &BoundQuery) -> usize {
        let free = self.free_rels(query);
        (self.turn_frame(query)..self.frames.len())
            .find(|i| {
                let there = &self.available[..self.frames[*i].available.min(self.available.len())];
                free.iter().all(|r| there.contains(r))
            })
            .unwrap_or(self.frames.len() - 1)
    }

    /// The rows of a query in a list, computed at a frame.
    pub(super) fn list_of(&mut self, query: &BoundQuery, frame: usize, what: &str) -> Result<Coll> {
        let list = self.list_for(query);
        self.at_frame(frame, |l| {
            l.emit(OpKind::Clear { coll: list });
            if what.starts_with("CTE ") {
                return l.named_below(what, |l| l.push_rows(query, list));
            }
            let node = l.note(what);
            l.below(|l| l.push_rows_of(query, list, node))
        })?;
        Ok(list)
    }

    /// A list for the rows of a query.
    fn list_for(&mut self, query: &BoundQuery) -> Coll {
        let kinds = query.columns.iter().map(|c| RegKind::Value(c.ty.clone())).collect();
        self.program.coll(CollDecl { kind: CollKind::List, keys: Vec::new(), values: kinds })
    }

    /// Puts the rows of a query into a list.
    fn push_rows(&mut self, query: &BoundQuery, list: Coll) -> Result<()> {
        self.push_rows_of(query, list, NodeId::default())
    }

    fn push_rows_of(&mut self, query: &BoundQuery, list: Coll, node: NodeId) -> Result<()> {
        self.emit_query(query, None, &mut |l, row| {
            l.passed(node);
            let values = row.iter().map(|t| l.exactly(t.reg, &t.ty)).collect();
            l.emit(OpKind::Push { coll: list, values });
            Ok(())
        })
    }

    /// The rows of a query in a list, computed here where a turn of a frame's loop comes to it first: what is volatile
    /// is not to be computed for loops without a turn.
    fn list_when_asked(&mut self, query: &BoundQuery, frame: usize) -> Result<Coll> {
        let list = self.list_for(query);
        let (done, no, yes) = (self.temp(Type::Bool), self.truth(false), self.truth(true));
        self.at_frame(frame, |l| {
            l.emit(OpKind::Clear { coll: list });
            l.copy(done, no);
            Ok(())
        })?;
        self.unless(done, |l| {
            l.copy(done, yes);
            let node = l.note("Materialize");
            l.below(|l| l.push_rows_of(query, list, node))
        })?;
        Ok(list)
    }

    /// The rows of a relation that computes them in a list, computed at a frame.
    fn list_of_rel(&mut self, rel: RelId, frame: usize) -> Result<Coll> {
        let types: Vec<Type> = self.rel(rel).columns.iter().map(|(_, ty)| ty.clone()).collect();
        let values = types.iter().cloned().map(RegKind::Value).collect();
        let list = self.program.coll(CollDecl { kind: CollKind::List, keys: Vec::new(), values });
        self.at_frame(frame, |l| {
            l.emit(OpKind::Clear { coll: list });
            let node = l.note("Materialize");
            let mut push = |l: &mut Lowerer<'_>| {
                l.passed(node);
                let regs: Vec<Reg> = (0..types.len()).map(|c| l.column_reg(rel, c)).collect();
                let values = regs.iter().zip(&types).map(|(reg, ty)| l.exactly(*reg, ty)).collect();
                l.emit(OpKind::Push { coll: list, values });
                Ok(())
            };
            l.below(|l| l.emit_produce(rel, &mut push))
        })?;
        Ok(list)
    }

    /// A derived table that several turns of an outer loop need: computed once.
    pub(super) fn emit_kept(&mut self, frame: usize, rel: RelId, then: &mut Then<'_>) -> Result<()> {
        let width = self.rel(rel).columns.len();
        let list = match self.rel(rel).kind.clone() {
            RelKind::Query(query) => {
                let probe = Bound::new(BoundKind::Exists(query.clone()), Type::Bool, 0);
                if self.is_volatile(&probe) {
                    self.list_when_asked(&query, frame)?
                } else {
                    self.list_of(&query, frame, "Materialize")?
                }
            }
            _ => self.list_of_rel(rel, frame)?,
        };
        self.rel_mut(rel).regs = vec![None; width];
        let columns: Vec<Reg> = (0..width).map(|c| self.column_reg(rel, c)).collect();
        self.iterate(rel, list, columns, false, then)
    }

    // ---- hash joins ----

    /// The registers that carry relations' rows through a collection: used columns, and handles of
    /// rows that are changed later.
    pub(super) fn carried(&mut self, rels: &[RelId]) -> Vec<Carried> {
        let mut carried = Vec::new();
        for rel in rels {
            let used: Vec<usize> =
                self.rel(*rel).uses.iter().enumerate().filter(|(_, n)| **n > 0).map(|(i, _)| i).collect();
            for column in used {
                let ty = self.rel(*rel).columns[column].1.clone();
                carried.push(Carried { rel: *rel, column: Some(column), kind: RegKind::Value(ty) });
            }
            if self.rel(*rel).row_used
                && let RelKind::Table(table) = self.rel(*rel).kind
            {
                carried.push(Carried { rel: *rel, column: None, kind: RegKind::Row(table) });
            }
        }
        carried
    }

    /// The registers that hold them now.
    pub(super) fn carried_regs(&mut self, carried: &[Carried]) -> Vec<Reg> {
        carried
            .iter()
            .map(|c| match (c.column, &c.kind) {
                (Some(column), RegKind::Value(ty)) => {
                    let reg = self.column_reg(c.rel, column);
                    self.exactly(reg, ty)
                }
                _ => self.row_reg(c.rel),
            })
            .collect()
    }

    /// New registers for them: those so far may be constants' or variables' own.
    pub(super) fn renew(&mut self, carried: &[Carried]) -> Vec<Reg> {
        carried
            .iter()
            .map(|c| match c.column {
                Some(column) => {
                    self.rel_mut(c.rel).regs[column] = None;
                    self.column_reg(c.rel, column)
                }
                None => {
                    self.rel_mut(c.rel).row = None;
                    self.row_reg(c.rel)
                }
            })
            .collect()
    }

    /// Sets them all to NULL.
    pub(super) fn nullify(&mut self, carried: &[Carried], regs: &[Reg]) {
        for (c, reg) in carried.iter().zip(regs) {
            match &c.kind {
                RegKind::Value(ty) => {
                    let null = self.constant(Datum::Null, ty.clone());
                    self.copy(*reg, null);
                }
                RegKind::Row(_) => self.emit(OpKind::Const { dst: *reg, value: Datum::Null }),
            }
        }
    }
}

/// Something of a relation's row that goes through a collection: a column, or the handle.
pub(super) struct Carried {
    rel: RelId,
    column: Option<usize>,
    pub kind: RegKind,
}

/// A type that holds values of all of these, which are of one class.
pub(super) fn wider<'t>(types: impl Iterator<Item = &'t Type>) -> Type {
    let mut chosen: Option<Type> = None;
    for ty in types {
        chosen = Some(match chosen {
            None => ty.clone(),
            Some(c) if c == *ty || planaria_ir::verify::holds(&c, ty) => c,
            Some(c) if planaria_ir::verify::holds(ty, &c) => ty.clone(),
            Some(c) => super::types::unmodified(&c),
        });
    }
    chosen.unwrap_or(Type::Text)
}
