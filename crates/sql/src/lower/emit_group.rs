//! Aggregation. Without GROUP BY the states live in registers; with it, in the values of a map that the
//! loop updates and a second loop reads.

use super::bound::{Aggregate, AggregateKind, Bound, BoundSelect, Grouping, Item};
use super::emit_join::Then;
use super::plan::{JoinPlan, Source, Wanted};
use super::{Lowerer, Typed};
use planaria_base::datetime::Interval;
use planaria_base::packed::{PackedType, money};
use planaria_base::{Datum, Numeric, Result, Type};
use planaria_ir::{Coll, CollKind, Func, OpKind, Reg, RegKind, SortKey};

/// The state of one aggregate.
pub(super) struct State {
    /// Registers and what they start with.
    pub regs: Vec<(Reg, Reg)>,
    /// `count(DISTINCT x)` of the whole input is the size of a map.
    set: Option<Coll>,
}

impl Lowerer<'_> {
    /// `min(column)` or `max(column)` of one table: the first entry in that order, if an index has it.
    pub(super) fn extreme(&self, select: &BoundSelect) -> Option<Wanted> {
        let grouping = select.grouping.as_ref().filter(|g| !g.grouped && g.keys.is_empty())?;
        let [aggregate] = &grouping.aggregates[..] else { return None };
        let [Item::Rel(table)] = select.from[..] else { return None };
        let descending = match aggregate.kind {
            AggregateKind::Min => false,
            AggregateKind::Max => true,
            _ => return None,
        };
        let (rel, column) = aggregate.args[0].as_column()?;
        (rel == table && aggregate.filter.is_none()).then_some(Wanted {
            rel,
            column,
            descending,
            nulls_first: descending,
        })
    }

    pub(super) fn emit_grouping(
        &mut self,
        select: &BoundSelect,
        grouping: &Grouping,
        plan: &JoinPlan,
        then: &mut Then<'_>,
    ) -> Result<()> {
        let passes = passes(grouping, self.form > 0);
        if passes.iter().any(|pass| !pass.order.is_empty()) {
            return self.emit_sorted_grouping(select, grouping, plan, &passes, then);
        }
        let rows = &mut |l: &mut Lowerer<'_>, _: &Pass<'_>, each: &mut Then<'_>| l.emit_plan(plan, each);
        if let Some(_wanted) = self.extreme(select)
            && plan.ordered
            && matches!(&plan.steps[..], [step] if matches!(step.source, Source::Access { .. }))
        {
            return self.emit_extreme(grouping, plan, then);
        }
        self.emit_groups(grouping, &passes, rows, then)
    }

    /// Aggregates the rows that `rows` gives in each pass.
    fn emit_groups(
        &mut self,
        grouping: &Grouping,
        passes: &[Pass<'_>],
        rows: &mut Rows<'_>,
        then: &mut Then<'_>,
    ) -> Result<()> {
        let frame = self.frames.len() - 1;
        let node = self.note_groups(if grouping.grouped { "HashAggregate" } else { "Aggregate" }, grouping);
        let depth = self.explains.depth;
        self.explains.depth += 1;
        let mut counted = |l: &mut Lowerer<'_>| {
            l.explains.depth = depth;
            l.passed(node);
            then(l)
        };
        let then: &mut Then<'_> = &mut counted;
        let mut states = Vec::with_capacity(grouping.aggregates.len());
        for aggregate in &grouping.aggregates {
            let mut state = self.state(aggregate, grouping.grouped)?;
            // A group of nothing has no sum.
            if !grouping.sets.is_empty()
                && matches!(aggregate.kind, AggregateKind::Sum(_))
                && state.regs.len() == 1
            {
                state.regs.push((self.temp(Type::Bool), self.truth(false)));
            }
            states.push(state);
        }
        let done = if grouping.grouped {
            self.emit_map(frame, grouping, &states, passes, rows, then)
        } else {
            self.emit_whole(frame, grouping, &states, passes, rows, then)
        };
        self.explains.depth = depth;
        done
    }

    /// All rows are one group, and there is one row in any case.
    fn emit_whole(
        &mut self,
        frame: usize,
        grouping: &Grouping,
        states: &[State],
        passes: &[Pass<'_>],
        rows: &mut Rows<'_>,
        then: &mut Then<'_>,
    ) -> Result<()> {
        for (reg, start) in states.iter().flat_map(|s| &s.regs) {
            self.copy(*reg, *start);
        }
        for pass in passes {
            rows(self, pass, &mut |l| {
                for i in &pass.aggregates {
                    l.update_state(frame, &grouping.aggregates[*i], &states[*i], &[])?;
                }
                Ok(())
            })?;
        }
        self.emit_results(grouping, states, &[], then)
    }

    fn emit_map(
        &mut self,
        frame: usize,
        grouping: &Grouping,
        states: &[State],
        passes: &[Pass<'_>],
        rows: &mut Rows<'_>,
        then: &mut Then<'_>,
    ) -> Result<()> {
        let key_kinds: Vec<RegKind> = grouping.keys.iter().map(|k| RegKind::Value(k.ty.clone())).collect();
        let regs: Vec<Reg> = states.iter().flat_map(|s| s.regs.iter().map(|(r, _)| *r)).collect();
        let kinds: Vec<RegKind> = regs.iter().map(|r| self.program.kind_of(*r).clone()).collect();
        let map = self.coll(CollKind::Map, key_kinds.clone(), kinds);
        let found = self.temp(Type::Bool);
        self.put_empty_sets(grouping, states, map);
        for (n, pass) in passes.iter().enumerate() {
            let group = |l: &mut Lowerer<'_>, keys: &[Typed]| {
                let key_regs: Vec<Reg> = keys.iter().map(|k| k.reg).collect();
                if regs.is_empty() {
                    l.emit(OpKind::MapPut { coll: map, keys: key_regs, values: Vec::new() });
                    return Ok(());
                }
                let get = OpKind::MapGet { coll: map, keys: key_regs.clone(), found, values: regs.clone() };
                l.emit(get);
                // Every row's group is there after the first pass.
                let start = |l: &mut Lowerer<'_>| {
                    for (aggregate, state) in grouping.aggregates.iter().zip(states) {
                        if aggregate.kind == AggregateKind::First {
                            l.value_into(&aggregate.args[0], state.regs[0].0)?;
                            continue;
                        }
                        for (reg, start) in &state.regs {
                            l.copy(*reg, *start);
                        }
                    }
                    Ok(())
                };
                if n == 0 {
                    l.unless(found, start)?;
                }
                for i in &pass.aggregates {
                    l.update_state(frame, &grouping.aggregates[*i], &states[*i], keys)?;
                }
                l.emit(OpKind::MapPut { coll: map, keys: key_regs, values: regs.clone() });
                Ok(())
            };
            rows(self, pass, &mut |l| {
                let written = usize::from(!grouping.sets.is_empty());
                let mut keys = Vec::with_capacity(grouping.keys.len());
                for key in &grouping.keys[written..] {
                    keys.push(Typed { reg: l.exact(key)?, ty: key.ty.clone() });
                }
                if grouping.sets.is_empty() {
                    return group(l, &keys);
                }
                // The row is in a group of each set.
                for (number, set) in grouping.sets.iter().enumerate() {
                    let of_set = l.keys_of_set(number, set, &keys);
                    group(l, &of_set)?;
                }
                Ok(())
            })?;
        }
        let keys: Vec<Reg> = grouping.keys.iter().map(|k| self.temp(k.ty.clone())).collect();
        let columns = keys.iter().chain(&regs).copied().collect();
        let label = self.label();
        let body = self.block(|l| l.emit_results(grouping, states, &keys, then))?;
        self.emit(OpKind::ForEach { coll: map, columns, entry: None, label, body });
        Ok(())
    }

    /// The keys of a row's group in a grouping set: its number, then NULL for those that it has not.
    fn keys_of_set(&mut self, number: usize, set: &[bool], keys: &[Typed]) -> Vec<Typed> {
        let mut all = vec![Typed { reg: self.int8(number as i64), ty: Type::Int8 }];
        for (key, has) in keys.iter().zip(set) {
            let reg = if *has { key.reg } else { self.constant(Datum::Null, key.ty.clone()) };
            all.push(Typed { reg, ty: key.ty.clone() });
        }
        all
    }

    /// A set of no keys has its one group even where there is no row.
    fn put_empty_sets(&mut self, grouping: &Grouping, states: &[State], map: Coll) {
        let regs: Vec<Reg> = states.iter().flat_map(|s| s.regs.iter().map(|(r, _)| *r)).collect();
        let of_none = |set: &&Vec<bool>| set.iter().all(|has| !has);
        for (number, _) in grouping.sets.iter().enumerate().filter(|(_, set)| of_none(set)) {
            for (reg, start) in states.iter().flat_map(|s| &s.regs) {
                self.copy(*reg, *start);
            }
            let mut keys = vec![self.int8(number as i64)];
            for key in &grouping.keys[1..] {
                keys.push(self.constant(Datum::Null, key.ty.clone()));
            }
            self.emit(OpKind::MapPut { coll: map, keys, values: regs.clone() });
        }
    }

    /// Results of a group, HAVING, what comes behind.
    fn emit_results(
        &mut self,
        grouping: &Grouping,
        states: &[State],
        keys: &[Reg],
        then: &mut Then<'_>,
    ) -> Result<()> {
        let mut row: Vec<Option<Reg>> = keys.iter().copied().map(Some).collect();
        for (i, (aggregate, state)) in grouping.aggregates.iter().zip(states).enumerate() {
            // A result nobody uses is not computed.
            let used = self.rel(grouping.rel).uses.get(keys.len() + i).is_none_or(|n| *n > 0);
            row.push(if used { Some(self.result(aggregate, state)?) } else { None });
        }
        self.rel_mut(grouping.rel).regs = row;
        self.with_rels(&[grouping.rel], &mut |l| l.filtered(&grouping.having, then))
    }

    /// The first entry of an index that is not NULL.
    fn emit_extreme(&mut self, grouping: &Grouping, plan: &JoinPlan, then: &mut Then<'_>) -> Result<()> {
        let node = self.note_groups("Aggregate", grouping);
        let depth = self.explains.depth;
        self.explains.depth += 1;
        let argument = &grouping.aggregates[0].args[0];
        let ty = grouping.aggregates[0].ty.clone();
        let result = self.temp(ty.clone());
        let null = self.constant(Datum::Null, ty);
        self.copy(result, null);
        let label = self.label();
        let body = self.block(|l| {
            l.emit_plan(plan, &mut |l| {
                let take = |l: &mut Lowerer<'_>| {
                    l.value_into(argument, result)?;
                    l.emit(OpKind::Exit { label });
                    Ok(())
                };
                if l.never_null(argument) {
                    return take(l);
                }
                let value = l.value(argument)?;
                let there = l.apply(Func::IsNotNull, vec![value], Type::Bool);
                l.when(there, take)
            })
        })?;
        self.emit(OpKind::Block { label, body });
        self.explains.depth = depth;
        self.rel_mut(grouping.rel).regs = vec![Some(result)];
        self.with_rels(&[grouping.rel], &mut |l| {
            l.filtered(&grouping.having, &mut |l| {
                l.passed(node);
                then(l)
            })
        })
    }

    /// `array_agg(x ORDER BY y)`: the input is sorted first, anew for each order that is asked for.
    fn emit_sorted_grouping(
        &mut self,
        select: &BoundSelect,
        grouping: &Grouping,
        plan: &JoinPlan,
        passes: &[Pass<'_>],
        then: &mut Then<'_>,
    ) -> Result<()> {
        let depth = self.explains.depth;
        self.note_sorted_groups(if grouping.grouped { "HashAggregate" } else { "Aggregate" }, grouping);
        self.explains.depth += 1;
        let sort = self.note("Sort");
        let rels = self.rels_of(&select.from);
        let carried = self.carried(&rels);
        let mut sorted: Vec<&Bound> = Vec::new();
        for (e, ..) in passes.iter().flat_map(|pass| pass.order) {
            if !sorted.contains(&e) {
                sorted.push(e);
            }
        }
        let mut kinds: Vec<RegKind> = sorted.iter().map(|e| RegKind::Value(e.ty.clone())).collect();
        kinds.extend(carried.iter().map(|c| c.kind.clone()));
        let list = self.coll(CollKind::List, Vec::new(), kinds);
        self.explains.depth += 1;
        self.emit_plan(plan, &mut |l| {
            l.passed(sort);
            let mut values = Vec::new();
            for e in &sorted {
                values.push(l.exact(e)?);
            }
            values.extend(l.carried_regs(&carried));
            l.emit(OpKind::Push { coll: list, values });
            Ok(())
        })?;
        self.explains.depth = depth;
        let mut columns: Vec<Reg> = sorted.iter().map(|e| self.temp(e.ty.clone())).collect();
        columns.extend(self.renew(&carried));
        let key = |(e, descending, nulls_first): &(Bound, bool, bool)| SortKey {
            column: sorted.iter().position(|s| *s == e).unwrap_or_default() as u32,
            descending: *descending,
            nulls_first: *nulls_first,
        };
        self.emit_groups(
            grouping,
            passes,
            &mut |l, pass, each| {
                if !pass.order.is_empty() {
                    l.emit(OpKind::Sort { coll: list, keys: pass.order.iter().map(key).collect() });
                }
                let label = l.label();
                let columns = columns.clone();
                let body = l.block(|l| l.with_rels(&rels, each))?;
                l.emit(OpKind::ForEach { coll: list, columns, entry: None, label, body });
                Ok(())
            },
            then,
        )
    }

    // ---- one aggregate ----

    /// The registers of an aggregate's state, with the constants they start from.
    pub(super) fn state(&mut self, a: &Aggregate, grouped: bool) -> Result<State> {
        let plain = |regs| State { regs, set: None };
        Ok(match a.kind {
            AggregateKind::Count if a.distinct && !grouped => {
                let kind = RegKind::Value(a.args[0].ty.clone());
                State { regs: Vec::new(), set: Some(self.coll(CollKind::Map, vec![kind], Vec::new())) }
            }
            AggregateKind::CountStar | AggregateKind::Count => {
                plain(vec![(self.temp(Type::Int8), self.int8(0))])
            }
            AggregateKind::Sum(_) => {
                let sum = (self.temp(a.ty.clone()), self.zero(&a.ty));
                // A group has a row; where that is all it takes, its sum is there.
                if grouped && a.filter.is_none() && self.never_null(&a.args[0]) {
                    return Ok(plain(vec![sum]));
                }
                plain(vec![sum, (self.temp(Type::Bool), self.truth(false))])
            }
            AggregateKind::AvgNumeric(func) => {
                let ty = if func == Func::Int8Add { Type::Int8 } else { Type::Numeric(None) };
                let sum = (self.temp(ty.clone()), self.zero(&ty));
                plain(vec![sum, (self.temp(Type::Int8), self.int8(0))])
            }
            AggregateKind::AvgByFloat => {
                let sum = (self.temp(a.ty.clone()), self.zero(&a.ty));
                plain(vec![sum, (self.temp(Type::Int8), self.int8(0))])
            }
            AggregateKind::Own(id) => plain(self.own_state(id)?),
            AggregateKind::Min
            | AggregateKind::Max
            | AggregateKind::First
            | AggregateKind::ArrayAgg
            | AggregateKind::StringAgg => {
                let null = self.constant(Datum::Null, a.ty.clone());
                plain(vec![(self.temp(a.ty.clone()), null)])
            }
        })
    }

    fn zero(&mut self, ty: &Type) -> Reg {
        let zero = match ty {
            Type::Numeric(_) => Datum::Numeric(Numeric::ZERO),
            Type::Float4 | Type::Float8 => Datum::Float(0.0),
            Type::Interval => Datum::Interval(Interval::ZERO),
            Type::Packed(PackedType::Money) => Datum::Bytea(money::encode(0).to_vec()),
            _ => Datum::Int(0),
        };
        self.constant(zero, ty.clone())
    }

    /// Adds the present row to an aggregate's state.
    pub(super) fn update_state(
        &mut self,
        frame: usize,
        a: &Aggregate,
        state: &State,
        keys: &[Typed],
    ) -> Result<()> {
        if a.kind == AggregateKind::First {
            return Ok(());
        }
        let filter: Vec<Bound> = a.filter.iter().cloned().collect();
        self.filtered(&filter, &mut |l| {
            if let AggregateKind::Own(id) = a.kind {
                return l.update_own(frame, a, id, state, keys);
            }
            if a.kind == AggregateKind::CountStar {
                return l.add_one(state.regs[0].0);
            }
            let value = l.exact(&a.args[0])?;
            // All but array_agg leave NULLs out; min and max do so by themselves.
            let skips = !matches!(a.kind, AggregateKind::ArrayAgg | AggregateKind::Min | AggregateKind::Max)
                && !l.never_null(&a.args[0]);
            let add = |l: &mut Lowerer<'_>| {
                if let Some(coll) = state.set {
                    l.emit(OpKind::MapPut { coll, keys: vec![value], values: Vec::new() });
                    return Ok(());
                }
                if !a.distinct {
                    return l.add_value(a, state, value);
                }
                let mut all = keys.to_vec();
                all.push(Typed { reg: value, ty: a.args[0].ty.clone() });
                for e in a.args[1..].iter().filter(|e| e.as_const().is_none()) {
                    all.push(Typed { reg: l.exact(e)?, ty: e.ty.clone() });
                }
                l.unseen(frame, &all, &mut |l| l.add_value(a, state, value))
            };
            if !skips {
                return add(l);
            }
            let there = l.apply(Func::IsNotNull, vec![value], Type::Bool);
            l.when(there, |l| add(l))
        })
    }

    fn add_one(&mut self, reg: Reg) -> Result<()> {
        let one = self.int8(1);
        self.emit(OpKind::Apply { dst: reg, func: Func::Int8Add, args: vec![reg, one] });
        Ok(())
    }

    fn add_value(&mut self, a: &Aggregate, state: &State, value: Reg) -> Result<()> {
        let Some((acc, _)) = state.regs.first().copied() else { return Ok(()) };
        let fold = |l: &mut Lowerer<'_>, func, args| l.emit(OpKind::Apply { dst: acc, func, args });
        match a.kind {
            AggregateKind::Count => self.add_one(acc)?,
            AggregateKind::Sum(func) => {
                fold(self, func, vec![acc, value]);
                if let Some((seen, _)) = state.regs.get(1) {
                    let yes = self.truth(true);
                    self.copy(*seen, yes);
                }
            }
            AggregateKind::AvgNumeric(func) => {
                fold(self, func, vec![acc, value]);
                self.add_one(state.regs[1].0)?;
            }
            AggregateKind::AvgByFloat => {
                let add = if a.ty == Type::Interval { Func::IntervalAdd } else { Func::FltAdd };
                fold(self, add, vec![acc, value]);
                self.add_one(state.regs[1].0)?;
            }
            AggregateKind::Min => fold(self, Func::Min, vec![acc, value]),
            AggregateKind::Max => fold(self, Func::Max, vec![acc, value]),
            AggregateKind::ArrayAgg => fold(self, Func::ArrayAppend, vec![acc, value]),
            AggregateKind::StringAgg => {
                let first = self.apply(Func::IsNull, vec![acc], Type::Bool);
                let then = self.block(|l| {
                    l.copy(acc, value);
                    Ok(())
                })?;
                let otherwise = self.block(|l| {
                    let between = l.value(&a.args[1])?;
                    if a.ty != Type::Bytea {
                        l.emit(OpKind::Apply {
                            dst: acc,
                            func: Func::Concat,
                            args: vec![acc, between, value],
                        });
                        return Ok(());
                    }
                    // What stands between them may be NULL, which is nothing.
                    let nothing = l.constant(Datum::Bytea(Vec::new()), Type::Bytea);
                    let between = l.apply(Func::Greatest, vec![between, nothing], Type::Bytea);
                    for next in [between, value] {
                        l.emit(OpKind::Apply { dst: acc, func: Func::BytesConcat, args: vec![acc, next] });
                    }
                    Ok(())
                })?;
                self.emit(OpKind::If { cond: first, then, otherwise });
            }
            AggregateKind::CountStar | AggregateKind::First | AggregateKind::Own(_) => {}
        }
        Ok(())
    }

    /// The result of an aggregate's state.
    pub(super) fn result(&mut self, a: &Aggregate, state: &State) -> Result<Reg> {
        if let Some(coll) = state.set {
            let dst = self.temp(Type::Int8);
            self.emit(OpKind::Len { dst, coll });
            return Ok(dst);
        }
        let acc = state.regs[0].0;
        match a.kind {
            AggregateKind::Sum(_) => {
                let Some((seen, _)) = state.regs.get(1) else { return Ok(acc) };
                self.choose_or_null(*seen, &a.ty, |_| Ok(acc))
            }
            AggregateKind::AvgNumeric(_) => {
                let count = state.regs[1].0;
                let zero = self.int8(0);
                let any = self.apply(Func::IntGt, vec![count, zero], Type::Bool);
                self.choose_or_null(any, &a.ty, |l| {
                    let sum = l.exactly(acc, &Type::Numeric(None));
                    Ok(l.apply(Func::NumAvg, vec![sum, count], Type::Numeric(None)))
                })
            }
            AggregateKind::AvgByFloat => {
                let count = state.regs[1].0;
                let zero = self.int8(0);
                let any = self.apply(Func::IntGt, vec![count, zero], Type::Bool);
                self.choose_or_null(any, &a.ty, |l| {
                    let count = l.exactly(count, &Type::Float8);
                    let divide = if a.ty == Type::Interval { Func::IntervalDiv } else { Func::FltDiv };
                    Ok(l.apply(divide, vec![acc, count], a.ty.clone()))
                })
            }
            AggregateKind::Own(id) => self.own_result(a, id, state),
            _ => Ok(acc),
        }
    }

    fn choose_or_null(
        &mut self,
        cond: Reg,
        ty: &Type,
        value: impl FnOnce(&mut Self) -> Result<Reg>,
    ) -> Result<Reg> {
        let dst = self.temp(ty.clone());
        let null = self.constant(Datum::Null, ty.clone());
        let then = self.block(|l| {
            let src = value(l)?;
            l.copy(dst, src);
            Ok(())
        })?;
        let otherwise = self.block(|l| {
            l.copy(dst, null);
            Ok(())
        })?;
        self.emit(OpKind::If { cond, then, otherwise });
        Ok(dst)
    }
}

/// A walk over the input in one order, for the aggregates that want it.
struct Pass<'a> {
    order: &'a [(Bound, bool, bool)],
    aggregates: Vec<usize>,
}

/// Gives the rows of a pass.
type Rows<'r> = dyn FnMut(&mut Lowerer<'_>, &Pass<'_>, &mut Then<'_>) -> Result<()> + 'r;

/// Whether it makes a difference in which order an aggregate gets its rows.
fn has_order(kind: &AggregateKind) -> bool {
    match kind {
        AggregateKind::ArrayAgg
        | AggregateKind::StringAgg
        | AggregateKind::Own(_)
        | AggregateKind::AvgByFloat => true,
        AggregateKind::Sum(func) => matches!(func, Func::FltAdd | Func::RealAdd),
        _ => false,
    }
}

/// As many passes as there are orders, and, `apart`, one before them for aggregates that take the rows as they come; those
/// that do not mind go along with the first.
fn passes(grouping: &Grouping, apart: bool) -> Vec<Pass<'_>> {
    let mut passes: Vec<Pass<'_>> = Vec::new();
    for (i, a) in grouping.aggregates.iter().enumerate().filter(|(_, a)| !a.order.is_empty()) {
        match passes.iter_mut().find(|pass| pass.order == a.order) {
            Some(pass) => pass.aggregates.push(i),
            None => passes.push(Pass { order: &a.order, aggregates: vec![i] }),
        }
    }
    if passes.is_empty() {
        passes.push(Pass { order: &[], aggregates: Vec::new() });
    }
    let plain = grouping.aggregates.iter().enumerate().filter(|(_, a)| a.order.is_empty());
    if apart && !passes[0].order.is_empty() && plain.clone().any(|(_, a)| has_order(&a.kind)) {
        passes.insert(0, Pass { order: &[], aggregates: Vec::new() });
    }
    passes[0].aggregates.extend(plain.map(|(i, _)| i));
    passes
}
