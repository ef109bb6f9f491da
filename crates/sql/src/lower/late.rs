//! Outputs that are computed after sorting.
//!
//! `SELECT nextval('s'), a FROM t ORDER BY a LIMIT 3` draws three numbers, in the order of `a`: what may have another
//! value each time, and is nothing that is sorted by, is computed for the rows that are left, in their order. So the
//! query becomes a derived table that has what such outputs are computed from, and they stand around it, with LIMIT.

use super::Lowerer;
use super::bound::{Body, Bound, BoundKind, BoundQuery, BoundSelect, Distinct, Item, RelId, RelKind};
use planaria_base::Type;
use planaria_ir::Output;

impl Lowerer<'_> {
    /// See the module's head.
    pub(super) fn volatile_after_sorting(&mut self, mut query: BoundQuery) -> BoundQuery {
        let Body::Select(select) = &mut query.body else { return query };
        // DISTINCT ON takes its rows before their other outputs are computed.
        let on = match &select.distinct {
            Distinct::No => Vec::new(),
            Distinct::On(on) => on.clone(),
            _ => return query,
        };
        if query.order.is_empty() {
            return query;
        }
        let mut late = Vec::new();
        for (i, output) in select.outputs[..select.visible].iter().enumerate() {
            let sorts = on.contains(&i) || query.order.iter().any(|o| o.output == i);
            late.push(!sorts && self.is_volatile(output));
        }
        if !late.contains(&true) {
            return query;
        }
        let mut own = self.rels_of(&select.from);
        own.extend(select.grouping.iter().map(|g| g.rel).chain(select.windows.iter().map(|w| w.rel)));
        // Outputs that stay, what the others need, outputs that only sort.
        let hidden = select.outputs.split_off(select.visible);
        let mut early = Vec::new();
        let mut place = vec![0; late.len()];
        for (i, output) in select.outputs.iter().enumerate().filter(|(i, _)| !late[*i]) {
            place[i] = early.len();
            early.push(output.clone());
        }
        let needed = self.columns_needed(&select.outputs, &late, &own);
        let first = early.len();
        early.extend(needed.iter().map(|(_, _, column)| column.clone()));
        let visible = early.len();
        let moved = |output: usize| match output.checked_sub(late.len()) {
            Some(hidden) => visible + hidden,
            None => place[output],
        };
        for order in &mut query.order {
            order.output = moved(order.output);
        }
        if let Distinct::On(on) = &mut select.distinct {
            on.iter_mut().for_each(|o| *o = moved(*o));
        }
        let columns: Vec<(String, Type)> = early.iter().map(|e| (String::new(), e.ty.clone())).collect();
        early.extend(hidden);
        let mut outputs = std::mem::replace(&mut select.outputs, early);
        select.visible = visible;
        let shown = columns.iter().map(|(name, ty)| Output { name: name.clone(), ty: ty.clone() }).collect();
        let shown = std::mem::replace(&mut query.columns, shown);
        // Rows that OFFSET passes over are computed.
        let (limit, offset) = (query.limit.take(), query.offset.take());
        let rel = self.new_rel("", columns, RelKind::Query(Box::new(query)));
        for (i, output) in outputs.iter_mut().enumerate() {
            if !late[i] {
                output.kind = BoundKind::Column(rel, place[i]);
                continue;
            }
            self.visit(output, &mut |_, e| {
                if let BoundKind::Column(of, column) = e.kind
                    && let Some(n) = needed.iter().position(|(r, c, _)| (*r, *c) == (of, column))
                {
                    e.kind = BoundKind::Column(rel, first + n);
                }
                true
            });
        }
        let select = BoundSelect {
            from: vec![Item::Rel(rel)],
            filter: Vec::new(),
            grouping: None,
            windows: None,
            visible: outputs.len(),
            outputs,
            distinct: Distinct::No,
        };
        BoundQuery {
            body: Body::Select(Box::new(select)),
            columns: shown,
            order: Vec::new(),
            limit,
            offset,
            locks: Vec::new(),
        }
    }

    /// Columns of these relations that the late ones among the outputs name.
    fn columns_needed(
        &mut self,
        outputs: &[Bound],
        late: &[bool],
        own: &[RelId],
    ) -> Vec<(RelId, usize, Bound)> {
        let mut needed: Vec<(RelId, usize, Bound)> = Vec::new();
        for (output, _) in outputs.iter().zip(late).filter(|(_, late)| **late) {
            self.visit(&mut output.clone(), &mut |_, e| {
                if let BoundKind::Column(rel, column) = e.kind
                    && own.contains(&rel)
                    && needed.iter().all(|(r, c, _)| (*r, *c) != (rel, column))
                {
                    needed.push((rel, column, e.clone()));
                }
                true
            });
        }
        needed
    }
}
