//! Joins by hash table: inner, outer and full ones, and semi joins of EXISTS and IN.
//!
//! The build side is collected once, into a multimap by its keys, before the loops around the join;
//! the probe side looks its keys up. What the build side's rows carry is what the query uses of them.

use super::Lowerer;
use super::bound::{Bound, BoundKind, BoundQuery, RelId, RelKind};
use super::emit_join::{Carried, Then, wider};
use super::plan::{Hash, JoinPlan, Outer};
use planaria_base::{Datum, Result, Type};
use planaria_ir::{Coll, CollDecl, CollKind, Func, OpKind, Reg, RegKind};

impl Lowerer<'_> {
    /// Builds the table of a hash join at a frame. Its values are what is carried, then `extra`.
    pub(super) fn build_hash(
        &mut self,
        frame: usize,
        hash: &Hash,
        carried: &[Carried],
        keep_nulls: bool,
        extra: &[Reg],
    ) -> Result<(Coll, Vec<Type>)> {
        let types: Vec<Type> = hash.keys.iter().map(|(b, p)| wider([&b.ty, &p.ty].into_iter())).collect();
        let kinds = types.iter().cloned().map(RegKind::Value).collect();
        let mut values: Vec<RegKind> = carried.iter().map(|c| c.kind.clone()).collect();
        values.extend(extra.iter().map(|r| self.program.kind_of(*r).clone()));
        let kind = if hash.unique { CollKind::Map } else { CollKind::MultiMap };
        let coll = self.program.coll(CollDecl { kind, keys: kinds, values });
        let frame = self.system_frame(hash).unwrap_or(frame);
        let done = self.at_frame(frame, |l| {
            l.emit(OpKind::Clear { coll });
            let node = l.note("Hash");
            let mut build = |l: &mut Lowerer<'_>| {
                l.passed(node);
                let mut keys = Vec::with_capacity(types.len());
                let mut nullable = Vec::new();
                for ((build, _), ty) in hash.keys.iter().zip(&types) {
                    let reg = l.value(build)?;
                    let reg = l.exactly(reg, ty);
                    if !keep_nulls && !l.never_null(build) {
                        nullable.push(reg);
                    }
                    keys.push(reg);
                }
                let put = |l: &mut Lowerer<'_>| {
                    let mut values = l.carried_regs(carried);
                    values.extend(extra);
                    l.emit(OpKind::MapPut { coll, keys: keys.clone(), values });
                    Ok(())
                };
                if nullable.is_empty() {
                    return put(l);
                }
                // A NULL equals nothing: such rows join with none.
                let missing = l.any_null(&nullable);
                l.unless(missing, |l| put(l))
            };
            l.below(|l| l.emit_plan(&hash.build, &mut build))
        });
        done.map(|()| (coll, types))
    }

    pub(super) fn probe_keys(&mut self, hash: &Hash, types: &[Type]) -> Result<Vec<Reg>> {
        let mut keys = Vec::with_capacity(types.len());
        for ((_, probe), ty) in hash.keys.iter().zip(types) {
            let reg = self.value(probe)?;
            keys.push(self.exactly(reg, ty));
        }
        Ok(keys)
    }

    pub(super) fn emit_hash(&mut self, frame: usize, hash: &Hash, then: &mut Then<'_>) -> Result<()> {
        let carried = self.carried(&hash.rels);
        let (coll, types) = self.build_hash(frame, hash, &carried, false, &[])?;
        let values = self.renew(&carried);
        let keys = self.probe_keys(hash, &types)?;
        if hash.unique {
            let found = self.temp(Type::Bool);
            self.emit(OpKind::MapGet { coll, keys, found, values });
            return self.when(found, |l| l.with_rels(&hash.rels, then));
        }
        let label = self.label();
        let body = self.block(|l| l.with_rels(&hash.rels, then))?;
        self.emit(OpKind::ForMatches { coll, keys, values, entry: None, label, body });
        Ok(())
    }

    // ---- outer joins ----

    pub(super) fn emit_outer(
        &mut self,
        frame: usize,
        rels: &[RelId],
        how: &Outer,
        then: &mut Then<'_>,
    ) -> Result<()> {
        match how {
            Outer::Get { rel, path, rest } => {
                self.note_access(*rel, path);
                let key = self.prefix(path, None)?;
                let row = self.row_reg(*rel);
                let columns = self.loaded(*rel);
                let (table, index) = (path.table, path.index);
                let mode = self.rel(*rel).mode.of_point();
                self.emit(OpKind::Get { table, index, key, mode, row, columns });
                if !rest.is_empty() {
                    // A row that fails the conditions is as if it were not there.
                    let carried = self.carried(rels);
                    let regs = self.carried_regs(&carried);
                    self.unless_all(rest, rels, &mut |l| {
                        l.nullify(&carried, &regs);
                        Ok(())
                    })?;
                }
                self.with_rels(rels, then)
            }
            Outer::Hash(hash, rest) if hash.unique => {
                let carried = self.carried(&hash.rels);
                let (coll, types) = self.build_hash(frame, hash, &carried, false, &[])?;
                let values = self.renew(&carried);
                let keys = self.probe_keys(hash, &types)?;
                let found = self.temp(Type::Bool);
                self.emit(OpKind::MapGet { coll, keys, found, values: values.clone() });
                if !rest.is_empty() {
                    let (carried, values) = (&carried, &values);
                    self.unless_all(rest, rels, &mut |l| {
                        l.nullify(carried, values);
                        Ok(())
                    })?;
                }
                self.unless(found, |l| {
                    l.nullify(&carried, &values);
                    Ok(())
                })?;
                self.with_rels(rels, then)
            }
            Outer::Hash(hash, rest) => {
                let carried = self.carried(&hash.rels);
                let (coll, types) = self.build_hash(frame, hash, &carried, false, &[])?;
                let values = self.renew(&carried);
                let keys = self.probe_keys(hash, &types)?;
                self.emit_matches(&carried, rels, then, &mut |l, push| {
                    let label = l.label();
                    let (keys, values) = (keys.clone(), values.clone());
                    let body = l.block(|l| l.with_rels(rels, &mut |l| l.filtered(rest, push)))?;
                    l.emit(OpKind::ForMatches { coll, keys, values, entry: None, label, body });
                    Ok(())
                })
            }
            Outer::Nested(plan) => {
                let carried = self.carried(rels);
                self.emit_matches(&carried, rels, then, &mut |l, push| l.emit_plan_at(frame, plan, push))
            }
        }
    }

    /// Runs `f` where not all conditions are true.
    pub(super) fn unless_all(
        &mut self,
        conditions: &[Bound],
        rels: &[RelId],
        f: &mut Then<'_>,
    ) -> Result<()> {
        self.with_rels(rels, &mut |l| {
            let mut all = Bound::bool(true, 0);
            for (i, e) in conditions.iter().enumerate() {
                all = if i == 0 { e.clone() } else { all.and(e.clone()) };
            }
            let cond = l.truth_of(&all)?;
            l.unless(cond, |l| f(l))
        })
    }

    /// The rows of the nullable side that match, or one of NULLs: they are collected, so that what comes
    /// behind is emitted once.
    pub(super) fn emit_matches(
        &mut self,
        carried: &[Carried],
        rels: &[RelId],
        then: &mut Then<'_>,
        matches: &mut dyn FnMut(&mut Lowerer<'_>, &mut Then<'_>) -> Result<()>,
    ) -> Result<()> {
        let kinds: Vec<RegKind> = carried.iter().map(|c| c.kind.clone()).collect();
        // A list has at least one column, were it only to count its rows.
        let dummy = kinds.is_empty();
        let kinds = if dummy { vec![RegKind::Value(Type::Bool)] } else { kinds };
        let list = self.coll(CollKind::List, Vec::new(), kinds);
        let yes = self.truth(true);
        matches(self, &mut |l| {
            let values = if dummy { vec![yes] } else { l.carried_regs(carried) };
            l.emit(OpKind::Push { coll: list, values });
            Ok(())
        })?;
        let regs = if dummy { vec![self.temp(Type::Bool)] } else { self.renew(carried) };
        let len = self.temp(Type::Int8);
        self.emit(OpKind::Len { dst: len, coll: list });
        let zero = self.int8(0);
        let none = self.apply(Func::IntEq, vec![len, zero], Type::Bool);
        self.when(none, |l| {
            if dummy {
                l.copy(regs[0], yes);
            } else {
                l.nullify(carried, &regs);
            }
            l.emit(OpKind::Push { coll: list, values: regs.clone() });
            Ok(())
        })?;
        let label = self.label();
        let body = self.block(|l| l.with_rels(rels, then))?;
        self.emit(OpKind::ForEach { coll: list, columns: regs, entry: None, label, body });
        Ok(())
    }

    /// FULL JOIN: all rows are collected first, by the hash table with a mark on each row that matched.
    pub(super) fn emit_full(
        &mut self,
        frame: usize,
        left: &JoinPlan,
        left_rels: &[RelId],
        hash: &Hash,
        rest: &[Bound],
        then: &mut Then<'_>,
    ) -> Result<()> {
        let node = self.note_with("Hash Join", |_, node| node.join = Some("Full"));
        self.hash_condition(node, &hash.keys);
        let depth = self.explains.depth;
        self.explains.depth += 1;
        let left_carried = self.carried(left_rels);
        let right_carried = self.carried(&hash.rels);
        let (no, yes) = (self.truth(false), self.truth(true));
        let (coll, types) = self.build_hash(frame, hash, &right_carried, true, &[no])?;
        let right_regs = self.renew(&right_carried);
        let mut kinds: Vec<RegKind> =
            left_carried.iter().chain(&right_carried).map(|c| c.kind.clone()).collect();
        let dummy = kinds.is_empty();
        if dummy {
            kinds.push(RegKind::Value(Type::Bool));
        }
        let list = self.program.coll(CollDecl { kind: CollKind::List, keys: Vec::new(), values: kinds });
        let mark = right_carried.len() as u32;
        let mut left_regs = Vec::new();
        self.at_frame(frame, |l| {
            l.emit(OpKind::Clear { coll: list });
            let push = |l: &mut Lowerer<'_>, left: &[Reg], right: &[Reg]| {
                let mut values = [left, right].concat();
                if dummy {
                    values.push(yes);
                }
                l.emit(OpKind::Push { coll: list, values });
            };
            let flag = l.temp(Type::Bool);
            l.emit_plan(left, &mut |l| {
                let left = l.carried_regs(&left_carried);
                let matched = l.temp(Type::Bool);
                l.copy(matched, no);
                let keys = l.probe_keys(hash, &types)?;
                let nullable: Vec<Reg> = hash
                    .keys
                    .iter()
                    .zip(&keys)
                    .filter(|((_, p), _)| !l.never_null(p))
                    .map(|(_, r)| *r)
                    .collect();
                let probe = |l: &mut Lowerer<'_>| {
                    let (label, entry) = (l.label(), l.temp(Type::Int8));
                    let mut values = right_regs.clone();
                    values.push(flag);
                    let body = l.block(|l| {
                        l.with_rels(&[left_rels, &hash.rels].concat(), &mut |l| {
                            l.filtered(rest, &mut |l| {
                                l.copy(matched, yes);
                                l.emit(OpKind::SetEntry { coll, entry, column: mark, value: yes });
                                push(l, &left, &right_regs);
                                Ok(())
                            })
                        })
                    })?;
                    l.emit(OpKind::ForMatches { coll, keys, values, entry: Some(entry), label, body });
                    Ok(())
                };
                if nullable.is_empty() {
                    probe(l)?;
                } else {
                    let missing = l.any_null(&nullable);
                    l.unless(missing, probe)?;
                }
                l.unless(matched, |l| {
                    let nulls = l.null_regs(&right_carried);
                    push(l, &left, &nulls);
                    Ok(())
                })
            })?;
            let keys: Vec<Reg> = types.iter().map(|ty| l.temp(ty.clone())).collect();
            let mut columns = keys;
            columns.extend(&right_regs);
            columns.push(flag);
            let label = l.label();
            let body = l.block(|l| {
                l.unless(flag, |l| {
                    let nulls = l.null_regs(&left_carried);
                    push(l, &nulls, &right_regs);
                    Ok(())
                })
            })?;
            l.emit(OpKind::ForEach { coll, columns, entry: None, label, body });
            left_regs = l.renew(&left_carried);
            Ok(())
        })?;
        self.explains.depth = depth;
        let mut columns = [left_regs, right_regs].concat();
        if dummy {
            columns.push(self.temp(Type::Bool));
        }
        let label = self.label();
        let rels = [left_rels, &hash.rels].concat();
        let body = self.block(|l| l.with_rels(&rels, then))?;
        self.emit(OpKind::ForEach { coll: list, columns, entry: None, label, body });
        Ok(())
    }

    pub(super) fn null_regs(&mut self, carried: &[Carried]) -> Vec<Reg> {
        carried
            .iter()
            .map(|c| match &c.kind {
                RegKind::Value(ty) => self.constant(Datum::Null, ty.clone()),
                RegKind::Row(table) => {
                    let dst = self.program.reg(RegKind::Row(*table), None);
                    self.emit(OpKind::Const { dst, value: Datum::Null });
                    dst
                }
            })
            .collect()
    }

    /// EXISTS over equalities with the query around it, which no index helps: a set of the inner values,
    /// built once. `None` where that does not fit.
    pub(super) fn hashed_exists(&mut self, query: &BoundQuery) -> Result<Option<Reg>> {
        use super::bound::{Body, Item};
        let Body::Select(select) = &query.body else { return Ok(None) };
        let whole = query.limit.is_none() && query.offset.is_none() && query.locks.is_empty();
        let wrapped = Bound::new(BoundKind::Exists(Box::new(query.clone())), Type::Bool, 0);
        if self.is_volatile(&wrapped) {
            return Ok(None);
        }
        if select.grouping.is_some() || !whole {
            return Ok(None);
        }
        let locals = self.rels_of(&select.from);
        let mut own = Vec::new();
        let mut keys = Vec::new();
        for e in &select.filter {
            match self.hash_key(&locals, e) {
                Some(key) => keys.push(key),
                None => own.push(e.clone()),
            }
        }
        if keys.is_empty() {
            return Ok(None);
        }
        // A key that an index knows is better looked up there.
        for item in &select.from {
            if let Item::Rel(rel) = item
                && matches!(self.rel(*rel).kind, RelKind::Table(_))
            {
                let conditions = self.conditions(&select.filter, &locals);
                if self.best_path(*rel, &conditions, &[]).score < super::plan::HASH {
                    return Ok(None);
                }
            }
        }
        // Where it can be built: outside of the loops it is looked up in.
        let inner = BoundQuery {
            body: Body::Select(Box::new(super::bound::BoundSelect {
                filter: own.clone(),
                ..(**select).clone()
            })),
            ..query.clone()
        };
        let Some(frame) = self.frame_of(&inner) else { return Ok(None) };
        let types: Vec<Type> = keys.iter().map(|(b, p)| wider([&b.ty, &p.ty].into_iter())).collect();
        let kinds = types.iter().cloned().map(RegKind::Value).collect();
        let set = self.program.coll(CollDecl { kind: CollKind::Map, keys: kinds, values: Vec::new() });
        let done = self.at_frame(frame, |l| {
            l.emit(OpKind::Clear { coll: set });
            l.push_frame();
            let plan = l.plan_group(&select.from, &own, &[])?;
            let mut build = |l: &mut Lowerer<'_>| {
                let mut regs = Vec::with_capacity(keys.len());
                let mut nullable = Vec::new();
                for ((build, _), ty) in keys.iter().zip(&types) {
                    let reg = l.value(build)?;
                    let reg = l.exactly(reg, ty);
                    if !l.never_null(build) {
                        nullable.push(reg);
                    }
                    regs.push(reg);
                }
                let put = OpKind::MapPut { coll: set, keys: regs, values: Vec::new() };
                if nullable.is_empty() {
                    l.emit(put);
                    return Ok(());
                }
                let missing = l.any_null(&nullable);
                l.unless(missing, |l| {
                    l.emit(put);
                    Ok(())
                })
            };
            l.subplan(|l| l.emit_plan(&plan, &mut build))?;
            l.pop_frame();
            Ok(())
        });
        done?;
        let mut probe = Vec::with_capacity(keys.len());
        for ((_, e), ty) in keys.iter().zip(&types) {
            let reg = self.value(e)?;
            probe.push(self.exactly(reg, ty));
        }
        let found = self.temp(Type::Bool);
        self.emit(OpKind::MapGet { coll: set, keys: probe, found, values: Vec::new() });
        Ok(Some(found))
    }

    // ---- EXPLAIN ----
}
