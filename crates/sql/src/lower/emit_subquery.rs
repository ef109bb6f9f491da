//! Subqueries in expressions: once where they do not depend on the loops around, else in their place.

use super::Lowerer;
use super::bound::{Bound, BoundKind, BoundQuery, RelId};
use planaria_base::{Datum, Error, Result, SqlState, Type};
use planaria_ir::{CollDecl, CollKind, ErrorFields, Func, OpKind, Reg, RegKind};

impl Lowerer<'_> {
    /// Emits something that need be computed only once where it does not depend on the loops around: at
    /// its first use, behind a flag. `results` are the registers that `f` writes, with what they start from.
    pub(super) fn once(
        &mut self,
        query: &BoundQuery,
        results: &[(Reg, Reg)],
        f: &mut dyn FnMut(&mut Self) -> Result<()>,
    ) -> Result<()> {
        let frame = self.frame_of(query);
        let Some(frame) = frame else {
            for (result, start) in results {
                self.copy(*result, *start);
            }
            return self.subplan(f);
        };
        let mut done = None;
        let no = self.truth(false);
        self.at_frame(frame, |l| {
            let flag = l.temp(Type::Bool);
            l.copy(flag, no);
            for (result, start) in results {
                l.copy(*result, *start);
            }
            done = Some(flag);
            Ok(())
        })?;
        let done = done.expect("set by the closure");
        let yes = self.truth(true);
        self.unless(done, |l| {
            l.subplan(&mut *f)?;
            l.copy(done, yes);
            Ok(())
        })
    }

    /// The outermost frame at which everything that a query needs from outside is there; `None` where
    /// that is the present place.
    pub(super) fn frame_of(&mut self, query: &BoundQuery) -> Option<usize> {
        let free = self.free_rels(query);
        let frame = (self.turn_frame(query)..self.frames.len()).find(|i| {
            let there = &self.available[..self.frames[*i].available.min(self.available.len())];
            free.iter().all(|r| there.contains(r))
        })?;
        (self.frames[frame].available < self.available.len()).then_some(frame)
    }

    /// The relations from outside that a query uses.
    pub(super) fn free_rels(&mut self, query: &BoundQuery) -> Vec<RelId> {
        let mut own = Vec::new();
        self.query_rels(query, &mut own);
        let wrapped = Bound::new(BoundKind::Exists(Box::new(query.clone())), Type::Bool, 0);
        own.extend(self.inner_rels_deep(&wrapped));
        self.rels_in(&wrapped).into_iter().filter(|r| !own.contains(r)).collect()
    }

    fn inner_rels_deep(&mut self, e: &Bound) -> Vec<RelId> {
        self.inner_rels(e)
    }

    pub(super) fn eval_subquery(&mut self, query: &BoundQuery, ty: &Type, dst: Option<Reg>) -> Result<Reg> {
        let result = self.temp(ty.clone());
        let null = self.constant(Datum::Null, ty.clone());
        self.once(query, &[(result, null)], &mut |l| {
            let single = l.is_single_row(query);
            if single {
                l.emit_query(query, None, &mut |l, row| {
                    let src = l.exactly(row[0].reg, ty);
                    l.copy(result, src);
                    Ok(())
                })?;
                return Ok(());
            }
            let rows = l.temp(Type::Bool);
            let (no, yes) = (l.truth(false), l.truth(true));
            l.copy(rows, no);
            l.emit_query(query, Some(2), &mut |l, row| {
                if !l.at_most_one_row() {
                    l.when(rows, |l| {
                        let message = "more than one row returned by a subquery used as an expression";
                        l.raise(SqlState::CARDINALITY_VIOLATION, message, ErrorFields::default());
                        Ok(())
                    })?;
                    l.copy(rows, yes);
                }
                let src = l.exactly(row[0].reg, ty);
                l.copy(result, src);
                Ok(())
            })
        })?;
        Ok(self.deliver(result, dst))
    }

    /// Aggregates without GROUP BY, and SELECT without FROM.
    fn is_single_row(&self, query: &BoundQuery) -> bool {
        match &query.body {
            super::bound::Body::Select(select) => match &select.grouping {
                Some(g) => !g.grouped,
                None => select.from.is_empty(),
            },
            _ => false,
        }
    }

    pub(super) fn eval_exists(&mut self, query: &BoundQuery, dst: Option<Reg>) -> Result<Reg> {
        if let Some(found) = self.hashed_exists(query)? {
            return Ok(self.deliver(found, dst));
        }
        let result = self.temp(Type::Bool);
        let (no, yes) = (self.truth(false), self.truth(true));
        self.once(query, &[(result, no)], &mut |l| {
            l.emit_query(query, Some(1), &mut |l, _| {
                l.copy(result, yes);
                Ok(())
            })
        })?;
        Ok(self.deliver(result, dst))
    }

    pub(super) fn eval_in_query(
        &mut self,
        values: &[Bound],
        query: &BoundQuery,
        dst: Option<Reg>,
    ) -> Result<Reg> {
        let mut left = Vec::with_capacity(values.len());
        // What is looked for is not rounded to the columns' precision.
        let types: Vec<Type> = query.columns.iter().map(|c| c.ty.base()).collect();
        for (value, ty) in values.iter().zip(&types) {
            let reg = self.value(value)?;
            left.push(self.exactly(reg, ty));
        }
        let kinds: Vec<RegKind> = types.iter().map(|ty| RegKind::Value(ty.clone())).collect();
        let map =
            self.program.coll(CollDecl { kind: CollKind::Map, keys: kinds.clone(), values: Vec::new() });
        // Rows that are partly NULL are compared one by one: (1, NULL) is not (2, 3), but may be (1, 3).
        let list = (values.len() > 1)
            .then(|| self.program.coll(CollDecl { kind: CollKind::List, keys: Vec::new(), values: kinds }));
        // Whether a row with a NULL among its columns was seen: then "not found" may be unknown.
        let nulls = self.temp(Type::Bool);
        let (no, yes) = (self.truth(false), self.truth(true));
        self.once(query, &[(nulls, no)], &mut |l| {
            l.emit(OpKind::Clear { coll: map });
            if let Some(coll) = list {
                l.emit(OpKind::Clear { coll });
            }
            l.emit_query(query, None, &mut |l, row| {
                let keys: Vec<Reg> = row.iter().zip(&types).map(|(t, ty)| l.exactly(t.reg, ty)).collect();
                if let Some(coll) = list {
                    l.emit(OpKind::Push { coll, values: keys.clone() });
                }
                let missing = l.any_null(&keys);
                let then = l.block(|l| {
                    l.copy(nulls, yes);
                    Ok(())
                })?;
                let otherwise = l.block(|l| {
                    l.emit(OpKind::MapPut { coll: map, keys, values: Vec::new() });
                    Ok(())
                })?;
                l.emit(OpKind::If { cond: missing, then, otherwise });
                Ok(())
            })
        })?;
        let result = self.temp(Type::Bool);
        self.emit(OpKind::MapGet { coll: map, keys: left.clone(), found: result, values: Vec::new() });
        let null = self.constant(Datum::Null, Type::Bool);
        self.unless(result, |l| {
            let missing = l.any_null(&left);
            if let Some(coll) = list {
                let either = l.apply(Func::Or, vec![missing, nulls], Type::Bool);
                return l.when(either, |l| l.compare_each(&left, coll, result));
            }
            // x IN (nothing) is false even for NULL.
            let len = l.temp(Type::Int8);
            l.emit(OpKind::Len { dst: len, coll: map });
            let zero = l.int8(0);
            let any = l.apply(Func::IntGt, vec![len, zero], Type::Bool);
            let unknown = l.apply(Func::And, vec![any, missing], Type::Bool);
            let unknown = l.apply(Func::Or, vec![unknown, nulls], Type::Bool);
            l.when(unknown, |l| {
                l.copy(result, null);
                Ok(())
            })
        })?;
        Ok(self.deliver(result, dst))
    }

    /// `result` = whether a row equals any of a list, three-valued.
    fn compare_each(&mut self, row: &[Reg], coll: planaria_ir::Coll, result: Reg) -> Result<()> {
        let types: Vec<Type> =
            row.iter().map(|r| self.program.type_of(*r).cloned().unwrap_or(Type::Text)).collect();
        let kinds = self.program.colls[coll.index()].values.clone();
        let columns: Vec<Reg> = kinds.iter().map(|k| self.program.reg(k.clone(), None)).collect();
        let label = self.label();
        let body = self.block(|l| {
            let mut all: Option<Reg> = None;
            for ((a, b), ty) in row.iter().zip(&columns).zip(&types) {
                let equal = super::operators::comparison(planaria_syntax::ast::BinaryOp::Eq, ty.class())
                    .ok_or_else(|| Error::internal("a type without equality"))?;
                let one = l.apply(equal, vec![*a, *b], Type::Bool);
                all = Some(match all {
                    None => one,
                    Some(all) => l.apply(Func::And, vec![all, one], Type::Bool),
                });
            }
            if let Some(all) = all {
                l.emit(OpKind::Apply { dst: result, func: Func::Or, args: vec![result, all] });
            }
            Ok(())
        })?;
        self.emit(OpKind::ForEach { coll, columns, entry: None, label, body });
        Ok(())
    }

    pub(super) fn eval_quantified_query(
        &mut self,
        value: &Bound,
        query: &BoundQuery,
        func: Func,
        all: bool,
        dst: Option<Reg>,
    ) -> Result<Reg> {
        let value = self.value(value)?;
        let result = self.temp(Type::Bool);
        let start = self.truth(all);
        if self.frame_of(query).is_some() {
            // Its rows are the same whenever it is asked.
            let ty = query.columns[0].ty.clone();
            let kind = RegKind::Value(ty.clone());
            let decl = CollDecl { kind: CollKind::List, keys: Vec::new(), values: vec![kind] };
            let list = self.program.coll(decl);
            self.once(query, &[], &mut |l| {
                l.emit(OpKind::Clear { coll: list });
                l.emit_query(query, None, &mut |l, row| {
                    let values = vec![l.exactly(row[0].reg, &ty)];
                    l.emit(OpKind::Push { coll: list, values });
                    Ok(())
                })
            })?;
            self.copy(result, start);
            let (label, item, one) = (self.label(), self.temp(ty.clone()), self.temp(Type::Bool));
            let body = self.block(|l| {
                l.emit(OpKind::Apply { dst: one, func, args: vec![value, item] });
                l.fold_quantifier(result, one, all, label)
            })?;
            self.emit(OpKind::ForEach { coll: list, columns: vec![item], entry: None, label, body });
            return Ok(self.deliver(result, dst));
        }
        self.copy(result, start);
        let label = self.label();
        let body = self.block(|l| {
            l.emit_query(query, None, &mut |l, row| {
                let one = l.temp(Type::Bool);
                l.emit(OpKind::Apply { dst: one, func, args: vec![value, row[0].reg] });
                l.fold_quantifier(result, one, all, label)
            })
        })?;
        self.emit(OpKind::Block { label, body });
        Ok(self.deliver(result, dst))
    }
}
