//! Loops over several collections: recursive CTEs, and set-returning functions side by side.

use super::bound::{Bound, BoundKind, BoundQuery, RelId, RelKind};
use super::emit_join::Then;
use super::{Lowerer, Sink};
use planaria_base::{Error, Result, Type};
use planaria_ir::{Coll, CollDecl, CollKind, Func, OpKind, Reg, RegKind};

impl Lowerer<'_> {
    /// The rows of a recursive CTE in a list, computed at the outermost frame that has what it needs.
    pub(super) fn recursive_list(&mut self, index: usize) -> Result<Coll> {
        let (first, turn) = self.recursive_terms(index)?;
        let frame = self.frame_for(&first).max(self.frame_for(&turn));
        let rows = self.recursive_coll(&first);
        self.at_frame(frame, |l| l.emit_terms(index, rows, &first, &turn, None))?;
        self.ctes[index].list = Some(rows);
        Ok(rows)
    }

    /// The rows of a recursive CTE that is read here and nowhere else, given as they come: who has enough of them
    /// leaves.
    pub(super) fn emit_recursion(&mut self, index: usize, sink: &mut Sink<'_>) -> Result<()> {
        let (first, turn) = self.recursive_terms(index)?;
        let rows = self.recursive_coll(&first);
        self.emit_terms(index, rows, &first, &turn, Some(sink))
    }

    fn recursive_terms(&self, index: usize) -> Result<(BoundQuery, BoundQuery)> {
        let first = self.ctes[index].query.clone().ok_or_else(|| Error::internal("a CTE without a query"))?;
        let turn = self.ctes[index].turn.as_ref().ok_or_else(|| Error::internal("no recursive term"))?;
        Ok((first, turn.query.clone()))
    }

    /// A list for rows of a recursive CTE.
    fn recursive_coll(&mut self, first: &BoundQuery) -> Coll {
        let values = first.columns.iter().map(|c| RegKind::Value(c.ty.clone())).collect();
        self.program.coll(CollDecl { kind: CollKind::List, keys: Vec::new(), values })
    }

    /// The two terms:
    ///
    /// ```text
    ///   rows, work := first term
    ///   while work is not empty:
    ///       give work to the sink, if there is one
    ///       next := recursive term over work;  rows += next;  work := next
    /// ```
    ///
    /// For UNION without ALL, rows that were there before are in neither. The rows are kept where they are given
    /// to a sink, too: a recursion without end is to meet the memory budget.
    fn emit_terms(
        &mut self,
        index: usize,
        rows: Coll,
        first: &BoundQuery,
        query: &BoundQuery,
        mut sink: Option<&mut Sink<'_>>,
    ) -> Result<()> {
        let all = self.ctes[index].turn.as_ref().is_some_and(|turn| turn.all);
        let types: Vec<Type> = first.columns.iter().map(|c| c.ty.clone()).collect();
        let kinds: Vec<RegKind> = types.iter().cloned().map(RegKind::Value).collect();
        let (work, next) = (self.recursive_coll(first), self.recursive_coll(first));
        let seen = (!all)
            .then(|| CollDecl { kind: CollKind::Map, keys: kinds, values: Vec::new() })
            .map(|decl| self.program.coll(decl));
        let name = self.ctes[index].name.clone();
        self.note_on("Recursive Union", &name);
        let depth = self.explains.depth;
        self.explains.depth += 1;
        for coll in [rows, work].into_iter().chain(seen) {
            self.emit(OpKind::Clear { coll });
        }
        let take = |l: &mut Lowerer<'_>, values: Vec<Reg>, also: Coll| {
            let push = |l: &mut Lowerer<'_>| {
                l.emit(OpKind::Push { coll: rows, values: values.clone() });
                l.emit(OpKind::Push { coll: also, values: values.clone() });
                Ok(())
            };
            let Some(seen) = seen else { return push(l) };
            let found = l.temp(Type::Bool);
            l.emit(OpKind::MapGet { coll: seen, keys: values.clone(), found, values: Vec::new() });
            l.unless(found, |l| {
                l.emit(OpKind::MapPut { coll: seen, keys: values.clone(), values: Vec::new() });
                push(l)
            })
        };
        self.emit_query(first, None, &mut |l, row| {
            let values = row.iter().map(|t| l.exactly(t.reg, &t.ty)).collect();
            take(l, values, work)
        })?;
        if let Some(turn) = &mut self.ctes[index].turn {
            turn.work = Some(work);
        }
        let label = self.label();
        let body = self.block(|l| {
            let len = l.temp(Type::Int8);
            l.emit(OpKind::Len { dst: len, coll: work });
            let zero = l.int8(0);
            let done = l.apply(Func::IntEq, vec![len, zero], Type::Bool);
            l.when(done, |l| {
                l.emit(OpKind::Exit { label });
                Ok(())
            })?;
            if let Some(sink) = sink.as_mut() {
                l.for_list(work, &types, sink)?;
            }
            l.explains.depth = depth + 1;
            l.emit(OpKind::Clear { coll: next });
            let within = l.frames.len();
            l.set_turn_frame(index, Some(within));
            let done = l.emit_query(query, None, &mut |l, row| {
                let values = row.iter().map(|t| l.exactly(t.reg, &t.ty)).collect();
                take(l, values, next)
            });
            l.set_turn_frame(index, None);
            done?;
            l.emit(OpKind::Clear { coll: work });
            l.for_list(next, &types, &mut |l, row| {
                let values = row.iter().map(|t| t.reg).collect();
                l.emit(OpKind::Push { coll: work, values });
                Ok(())
            })
        })?;
        self.emit(OpKind::Loop { label, body });
        self.explains.depth = depth;
        Ok(())
    }

    fn set_turn_frame(&mut self, index: usize, frame: Option<usize>) {
        if let Some(turn) = &mut self.ctes[index].turn {
            turn.frame = frame;
        }
    }

    /// The first frame at which a query can be computed for the sake of the recursive terms whose last rows it reads.
    pub(super) fn turn_frame(&mut self, query: &BoundQuery) -> usize {
        if self.ctes.iter().all(|cte| cte.turn.as_ref().is_none_or(|turn| turn.frame.is_none())) {
            return 0;
        }
        let wrapped = Bound::new(BoundKind::Exists(Box::new(query.clone())), Type::Bool, 0);
        let rels = self.inner_rels(&wrapped);
        let frames = rels.iter().filter_map(|rel| match self.rel(*rel).kind {
            RelKind::Work(index) => self.ctes[index].turn.as_ref().and_then(|turn| turn.frame),
            _ => None,
        });
        frames.max().unwrap_or(0)
    }

    /// Set-returning functions side by side: each is collected by the number of its rows, then one loop
    /// goes up to the longest; the others are NULL beyond their end.
    pub(super) fn emit_zip(&mut self, rel: RelId, parts: &[RelId], then: &mut Then<'_>) -> Result<()> {
        let (zero, one) = (self.int8(0), self.int8(1));
        let longest = self.temp(Type::Int8);
        self.copy(longest, zero);
        let mut collected = Vec::new();
        for part in parts {
            let types: Vec<Type> = self.rel(*part).columns.iter().map(|(_, ty)| ty.clone()).collect();
            let values = types.iter().cloned().map(RegKind::Value).collect();
            let map = self.coll(CollKind::Map, vec![RegKind::Value(Type::Int8)], values);
            let count = self.temp(Type::Int8);
            self.copy(count, zero);
            self.emit_produce(*part, &mut |l| {
                l.emit(OpKind::Apply { dst: count, func: Func::Int8Add, args: vec![count, one] });
                let values = (0..types.len())
                    .map(|c| {
                        let reg = l.column_reg(*part, c);
                        l.exactly(reg, &types[c])
                    })
                    .collect();
                l.emit(OpKind::MapPut { coll: map, keys: vec![count], values });
                Ok(())
            })?;
            self.emit(OpKind::Apply { dst: longest, func: Func::Greatest, args: vec![longest, count] });
            // What was collected is read into registers of its own.
            self.rel_mut(*part).regs = vec![None; types.len()];
            let regs: Vec<Reg> = (0..types.len()).map(|c| self.column_reg(*part, c)).collect();
            collected.push((map, regs, types));
        }
        let at = self.temp(Type::Int8);
        self.copy(at, zero);
        let label = self.label();
        let mut rels = vec![rel];
        rels.extend(parts);
        let body = self.block(|l| {
            let done = l.apply(Func::IntGe, vec![at, longest], Type::Bool);
            l.when(done, |l| {
                l.emit(OpKind::Exit { label });
                Ok(())
            })?;
            l.emit(OpKind::Apply { dst: at, func: Func::Int8Add, args: vec![at, one] });
            for (map, regs, types) in &collected {
                for (reg, ty) in regs.iter().zip(types) {
                    let null = l.constant(planaria_base::Datum::Null, ty.clone());
                    l.copy(*reg, null);
                }
                let found = l.temp(Type::Bool);
                l.emit(OpKind::MapGet { coll: *map, keys: vec![at], found, values: regs.clone() });
            }
            l.with_rels(&rels, then)
        })?;
        self.emit(OpKind::Loop { label, body });
        Ok(())
    }
}
