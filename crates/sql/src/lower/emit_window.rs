//! Window functions. The rows are kept in a list with a column for each result. For each window the list is
//! sorted by its partition and order; a first pass numbers partitions and peers (rows that the order
//! does not tell apart) and fills in what depends on rows before; what depends on rows behind (an
//! aggregate's value at the last peer, `lead`) goes through a map and is filled in by a second pass.

use super::Lowerer;
use super::bound::{Bound, BoundSelect, WindowCall, WindowKind, Windows};
use super::emit_frame::{Framed, Place};
use super::emit_group::State;
use super::emit_join::Then;
use planaria_base::{Datum, Result, Type, watch};
use planaria_ir::{Coll, CollDecl, CollKind, Func, OpKind, Reg, RegKind, SortKey};

/// Where the parts of a window stand in the list's rows.
struct Spec {
    partition: Vec<usize>,
    /// Position, descending, NULLs first.
    order: Vec<(usize, bool, bool)>,
    /// Hidden columns: number of the partition, number of the peer group.
    part: usize,
    peer: usize,
    calls: Vec<usize>,
}

/// The list's columns while it is put together.
struct Columns {
    kinds: Vec<RegKind>,
    /// What each holds at first: an expression, or NULL.
    start: Vec<Option<Bound>>,
}

impl Columns {
    fn add(&mut self, e: &Bound) -> usize {
        let found = self.start.iter().position(|s| s.as_ref() == Some(e));
        found.unwrap_or_else(|| {
            self.kinds.push(RegKind::Value(e.ty.clone()));
            self.start.push(Some(e.clone()));
            self.start.len() - 1
        })
    }
    fn empty(&mut self, ty: Type) -> usize {
        self.kinds.push(RegKind::Value(ty));
        self.start.push(None);
        self.start.len() - 1
    }
}

impl Lowerer<'_> {
    /// Emits `rows`, computes the window functions over them, and emits `then` for each.
    pub(super) fn emit_windows(
        &mut self,
        select: &BoundSelect,
        windows: &Windows,
        rows: &mut dyn FnMut(&mut Lowerer<'_>, &mut Then<'_>) -> Result<()>,
        then: &mut Then<'_>,
    ) -> Result<()> {
        let node = self.note("WindowAgg");
        let rels = match &select.grouping {
            Some(grouping) => vec![grouping.rel],
            None => self.rels_of(&select.from),
        };
        let carried = self.carried(&rels);
        let mut columns = Columns { kinds: Vec::new(), start: Vec::new() };
        let results: Vec<usize> = windows.calls.iter().map(|c| columns.empty(c.ty.clone())).collect();
        let mut specs: Vec<(&WindowCall, Spec)> = Vec::new();
        let mut args: Vec<Vec<usize>> = Vec::new();
        for (i, call) in windows.calls.iter().enumerate() {
            let inputs: Vec<&Bound> = match &call.kind {
                WindowKind::Aggregate(a) => a.args.iter().chain(&a.filter).chain(&call.args).collect(),
                _ => call.args.iter().collect(),
            };
            args.push(inputs.into_iter().map(|e| columns.add(e)).collect());
            let same =
                |(c, _): &&mut (&WindowCall, Spec)| c.partition == call.partition && c.order == call.order;
            if let Some((_, spec)) = specs.iter_mut().find(same) {
                spec.calls.push(i);
                continue;
            }
            let partition = call.partition.iter().map(|e| columns.add(e)).collect();
            let order = call.order.iter().map(|(e, d, n)| (columns.add(e), *d, *n)).collect();
            let part = columns.empty(Type::Int8);
            let peer = columns.empty(Type::Int8);
            specs.push((call, Spec { partition, order, part, peer, calls: vec![i] }));
        }
        let own = columns.kinds.len();
        let mut kinds = columns.kinds.clone();
        kinds.extend(carried.iter().map(|c| c.kind.clone()));
        let list = self.coll(CollKind::List, Vec::new(), kinds.clone());
        let depth = self.explains.depth;
        self.explains.depth += 1;
        let pushed = rows(self, &mut |l| {
            let mut values = Vec::with_capacity(own);
            for (kind, start) in columns.kinds.iter().zip(&columns.start) {
                values.push(match (start, kind) {
                    (Some(e), _) => l.exact(e)?,
                    (None, RegKind::Value(ty)) => l.constant(Datum::Null, ty.clone()),
                    (None, RegKind::Row(_)) => unreachable!("handles are carried, not made"),
                });
            }
            values.extend(l.carried_regs(&carried));
            l.emit(OpKind::Push { coll: list, values });
            Ok(())
        });
        self.explains.depth = depth;
        pushed?;
        for (_, spec) in &specs {
            watch::check()?;
            self.emit_spec(windows, spec, list, &kinds, &args, &results)?;
        }
        let mut regs = self.fresh(&kinds[..own]);
        let results = results.iter().map(|r| Some(regs[*r])).collect();
        regs.extend(self.renew(&carried));
        self.rel_mut(windows.rel).regs = results;
        let mut all = rels;
        all.push(windows.rel);
        let label = self.label();
        let body = self.block(|l| {
            l.passed(node);
            l.with_rels(&all, then)
        })?;
        self.emit(OpKind::ForEach { coll: list, columns: regs, entry: None, label, body });
        Ok(())
    }

    fn fresh(&mut self, kinds: &[RegKind]) -> Vec<Reg> {
        kinds.iter().map(|k| self.program.reg(k.clone(), None)).collect()
    }

    fn emit_spec(
        &mut self,
        windows: &Windows,
        spec: &Spec,
        list: Coll,
        kinds: &[RegKind],
        args: &[Vec<usize>],
        results: &[usize],
    ) -> Result<()> {
        let frame = self.frames.len() - 1;
        let mut keys: Vec<SortKey> = spec
            .partition
            .iter()
            .map(|c| SortKey { column: *c as u32, descending: false, nulls_first: false })
            .collect();
        keys.extend(spec.order.iter().map(|(c, descending, nulls_first)| SortKey {
            column: *c as u32,
            descending: *descending,
            nulls_first: *nulls_first,
        }));
        if !keys.is_empty() {
            self.emit(OpKind::Sort { coll: list, keys });
        }
        let zero = self.int8(0);
        let [part, peer, number, rank, dense] = [(); 5].map(|()| self.temp(Type::Int8));
        for reg in [part, peer, number, rank, dense] {
            self.copy(reg, zero);
        }
        // What each call keeps between rows, and for the second pass.
        let mut kept: Vec<Kept> = Vec::new();
        let is_framed = |i: &usize| windows.calls[*i].frame.is_some();
        let edges = if spec.calls.iter().any(is_framed) { Some(self.window_edges()) } else { None };
        for i in &spec.calls {
            let call = &windows.calls[*i];
            if let Some(frame) = &call.frame {
                kept.push(Kept::Framed(self.framed(call, frame, &args[*i])?));
                continue;
            }
            kept.push(match &call.kind {
                WindowKind::Aggregate(a) => {
                    let mut aggregate = a.clone();
                    // NULLs and FILTER are looked at row by row, whatever the group.
                    aggregate.distinct = false;
                    let state = self.state(&aggregate, false)?;
                    for (reg, start) in &state.regs {
                        self.copy(*reg, *start);
                    }
                    let map = self.window_map(vec![Type::Int8], vec![call.ty.clone()]);
                    Kept::Aggregate(state, map)
                }
                WindowKind::LastValue => Kept::Map(self.window_map(vec![Type::Int8], vec![call.ty.clone()])),
                WindowKind::Lag { .. } => {
                    Kept::Map(self.window_map(vec![Type::Int8], vec![call.ty.clone(), Type::Int8]))
                }
                WindowKind::FirstValue => {
                    let reg = self.temp(call.ty.clone());
                    let null = self.constant(Datum::Null, call.ty.clone());
                    self.copy(reg, null);
                    Kept::First(reg)
                }
                WindowKind::RowNumber | WindowKind::Rank | WindowKind::DenseRank | WindowKind::NthValue => {
                    Kept::Nothing
                }
            });
        }
        let row = self.fresh(kinds);
        let by: Vec<usize> = spec.partition.clone();
        let peers: Vec<usize> = spec.order.iter().map(|(c, ..)| *c).collect();
        let former: Vec<(usize, Reg)> = by
            .iter()
            .chain(&peers)
            .map(|c| {
                let reg = self.program.reg(kinds[*c].clone(), None);
                let RegKind::Value(ty) = &kinds[*c] else { unreachable!("sort keys are values") };
                let null = self.constant(Datum::Null, ty.clone());
                self.copy(reg, null);
                (*c, reg)
            })
            .collect();
        let (label, entry) = (self.label(), self.temp(Type::Int8));
        let group = if spec.order.is_empty() { part } else { peer };
        let body = self.block(|l| {
            let mut new_part = l.apply(Func::IntEq, vec![part, zero], Type::Bool);
            for (c, reg) in &former[..by.len()] {
                let other = l.apply(Func::Distinct, vec![row[*c], *reg], Type::Bool);
                new_part = l.apply(Func::Or, vec![new_part, other], Type::Bool);
            }
            let mut new_peer = new_part;
            for (c, reg) in &former[by.len()..] {
                let other = l.apply(Func::Distinct, vec![row[*c], *reg], Type::Bool);
                new_peer = l.apply(Func::Or, vec![new_peer, other], Type::Bool);
            }
            for (c, reg) in &former {
                l.copy(*reg, row[*c]);
            }
            let one = l.int8(1);
            let step = |l: &mut Lowerer<'_>, reg| {
                l.emit(OpKind::Apply { dst: reg, func: Func::Int8Add, args: vec![reg, one] });
            };
            l.when(new_part, |l| {
                step(l, part);
                if let Some(edges) = &edges {
                    let (keys, values) = (vec![part], vec![entry]);
                    l.emit(OpKind::MapPut { coll: edges.part[0], keys, values });
                }
                l.copy(number, zero);
                l.copy(dense, zero);
                for ((i, kept), args) in
                    spec.calls.iter().zip(&kept).zip(spec.calls.iter().map(|i| &args[*i]))
                {
                    let _ = i;
                    match kept {
                        Kept::Aggregate(state, _) => {
                            for (reg, start) in &state.regs {
                                l.copy(*reg, *start);
                            }
                        }
                        Kept::First(reg) => {
                            let src = l.exactly(row[args[0]], &windows.calls[*i].ty);
                            l.copy(*reg, src);
                        }
                        _ => {}
                    }
                }
                Ok(())
            })?;
            step(l, number);
            l.when(new_peer, |l| {
                step(l, peer);
                if let Some(edges) = &edges {
                    let (keys, values) = (vec![peer], vec![entry]);
                    l.emit(OpKind::MapPut { coll: edges.peer[0], keys, values });
                }
                l.copy(rank, number);
                step(l, dense);
                Ok(())
            })?;
            if let Some(edges) = &edges {
                let last = |coll, key| OpKind::MapPut { coll, keys: vec![key], values: vec![entry] };
                l.emit(last(edges.part[1], part));
                l.emit(last(edges.peer[1], peer));
            }
            l.emit(OpKind::SetEntry { coll: list, entry, column: spec.part as u32, value: part });
            l.emit(OpKind::SetEntry { coll: list, entry, column: spec.peer as u32, value: peer });
            for (i, kept) in spec.calls.iter().zip(&kept) {
                let call = &windows.calls[*i];
                let set = |value| OpKind::SetEntry { coll: list, entry, column: results[*i] as u32, value };
                match (&call.kind, kept) {
                    (_, Kept::Framed(framed)) => l.keep_for_frame(framed, &row, entry),
                    (WindowKind::RowNumber, _) => l.emit(set(number)),
                    (WindowKind::Rank, _) => l.emit(set(rank)),
                    (WindowKind::DenseRank, _) => l.emit(set(dense)),
                    (WindowKind::FirstValue, Kept::First(reg)) => l.emit(set(*reg)),
                    (WindowKind::LastValue, Kept::Map(map)) => {
                        let value = l.exactly(row[args[*i][0]], &call.ty);
                        l.emit(OpKind::MapPut { coll: *map, keys: vec![group], values: vec![value] });
                    }
                    (WindowKind::Lag { .. }, Kept::Map(map)) => {
                        let value = l.exactly(row[args[*i][0]], &call.ty);
                        l.emit(OpKind::MapPut { coll: *map, keys: vec![entry], values: vec![value, part] });
                    }
                    (WindowKind::Aggregate(a), Kept::Aggregate(state, map)) => {
                        // Its inputs are columns of the list now.
                        let mut aggregate = a.clone();
                        let n = aggregate.args.len();
                        for (e, c) in aggregate.args.iter_mut().zip(&args[*i]) {
                            e.kind = super::bound::BoundKind::Reg(row[*c]);
                        }
                        if let Some(filter) = &mut aggregate.filter {
                            filter.kind = super::bound::BoundKind::Reg(row[args[*i][n]]);
                        }
                        l.update_state(frame, &aggregate, state, &[])?;
                        let value = l.result(&aggregate, state)?;
                        l.emit(OpKind::MapPut { coll: *map, keys: vec![group], values: vec![value] });
                    }
                    _ => {}
                }
            }
            Ok(())
        })?;
        self.emit(OpKind::ForEach { coll: list, columns: row.clone(), entry: Some(entry), label, body });
        let behind = |k: &Kept| matches!(k, Kept::Aggregate(..) | Kept::Map(_) | Kept::Framed(_));
        if !kept.iter().any(behind) {
            return Ok(());
        }
        let label = self.label();
        let group = if spec.order.is_empty() { spec.part } else { spec.peer };
        let body = self.block(|l| {
            for (i, kept) in spec.calls.iter().zip(&kept) {
                let call = &windows.calls[*i];
                if let (Kept::Framed(framed), Some(edges)) = (kept, &edges) {
                    let (_, descending, nulls_first) = spec.order.first().copied().unwrap_or_default();
                    let (part, peer) = (row[spec.part], row[spec.peer]);
                    let place = Place { row: &row, entry, part, peer, descending, nulls_first };
                    let value = l.framed_value(frame, call, framed, edges, &place)?;
                    l.emit(OpKind::SetEntry { coll: list, entry, column: results[*i] as u32, value });
                    continue;
                }
                let (Kept::Aggregate(_, map) | Kept::Map(map)) = kept else { continue };
                let (found, value) = (l.temp(Type::Bool), l.temp(call.ty.clone()));
                if let WindowKind::Lag { lead } = call.kind {
                    let func = if lead { Func::Int8Add } else { Func::Int8Sub };
                    let (offset, default) = (row[args[*i][1]], row[args[*i][2]]);
                    let at = l.apply(func, vec![entry, offset], Type::Int8);
                    let there = l.temp(Type::Int8);
                    let values = vec![value, there];
                    l.emit(OpKind::MapGet { coll: *map, keys: vec![at], found, values });
                    let same = l.apply(Func::IntEq, vec![there, row[spec.part]], Type::Bool);
                    let found = l.apply(Func::And, vec![found, same], Type::Bool);
                    l.unless(found, |l| {
                        let default = l.exactly(default, &call.ty);
                        l.copy(value, default);
                        Ok(())
                    })?;
                } else {
                    l.emit(OpKind::MapGet { coll: *map, keys: vec![row[group]], found, values: vec![value] });
                }
                l.emit(OpKind::SetEntry { coll: list, entry, column: results[*i] as u32, value });
            }
            Ok(())
        })?;
        self.emit(OpKind::ForEach { coll: list, columns: row, entry: Some(entry), label, body });
        Ok(())
    }

    pub(super) fn window_map(&mut self, keys: Vec<Type>, values: Vec<Type>) -> Coll {
        let kinds = |types: Vec<Type>| types.into_iter().map(RegKind::Value).collect();
        let decl = CollDecl { kind: CollKind::Map, keys: kinds(keys), values: kinds(values) };
        let coll = self.program.coll(decl);
        self.emit(OpKind::Clear { coll });
        coll
    }
}

/// What a window function keeps between rows.
enum Kept {
    Nothing,
    First(Reg),
    Map(Coll),
    Aggregate(State, Coll),
    Framed(Framed),
}
