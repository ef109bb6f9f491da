//! Outputs that are computed after the rows have been found.
//!
//! `SELECT nextval('s'), a FROM t ORDER BY a LIMIT 3` draws three numbers, in the order of `a`: what may have another
//! value each time, and is nothing that is sorted by, is computed for the rows that are left, in their order. So the
//! query becomes a derived table that has what such outputs are computed from, and they stand around it, with LIMIT.
//!
//! INSERT of a query that reads the table it changes does likewise with what calls volatile functions: these see the
//! rows that the statement has stored so far, the query does not.

use super::Lowerer;
use super::bound::{Body, Bound, BoundKind, BoundQuery, BoundSelect, Distinct, Item, RelId, RelKind};
use planaria_base::{TableId, Type};
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
        self.split_late(query, &late, Vec::new(), false)
    }

    /// A query of which what calls volatile functions is computed when all of its rows have been found, row by row.
    /// None where it has no such place: sorted by what is volatile, made distinct, a set operation. What reads the
    /// changed table itself stays, too.
    pub(super) fn calls_after_finding(&mut self, query: &BoundQuery, changed: TableId) -> Option<BoundQuery> {
        let mut query = query.clone();
        let ordered = !query.order.is_empty();
        let Body::Select(select) = &mut query.body else { return None };
        if ordered || !matches!(select.distinct, Distinct::No) {
            return None;
        }
        let mut conditions = Vec::new();
        if select.grouping.is_none() && select.windows.is_none() {
            (conditions, select.filter) = std::mem::take(&mut select.filter)
                .into_iter()
                .partition(|e| self.calls_volatile(e) && !self.reads_table(e, changed));
        }
        let outputs = select.outputs.iter();
        let late: Vec<bool> =
            outputs.map(|output| self.is_volatile(output) && !self.reads_table(output, changed)).collect();
        Some(self.split_late(query, &late, conditions, true))
    }

    /// Splits a query in one that has what the late outputs and conditions are computed from, and one around it that
    /// computes them; what is `kept` has found all of its rows before.
    fn split_late(
        &mut self,
        mut query: BoundQuery,
        late: &[bool],
        mut conditions: Vec<Bound>,
        kept: bool,
    ) -> BoundQuery {
        let Body::Select(select) = &mut query.body else { return query };
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
        let after = select.outputs.iter().zip(late).filter(|(_, late)| **late).map(|(output, _)| output);
        let after: Vec<Bound> = after.chain(&conditions).cloned().collect();
        let needed = self.columns_needed(&after, &own);
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
        let (limit, offset) = match query.ties {
            // Which rows tie is known where they are sorted.
            true => (None, None),
            false => (query.limit.take(), query.offset.take()),
        };
        let kind = if kept {
            let index = self.add_cte("rows", query);
            // Whatever is read more than once has a list.
            self.ctes[index].uses = 2;
            RelKind::Cte(index)
        } else {
            RelKind::Query(Box::new(query))
        };
        let rel = self.new_rel("", columns, kind);
        for (i, output) in outputs.iter_mut().enumerate().filter(|(i, _)| !late[*i]) {
            output.kind = BoundKind::Column(rel, place[i]);
        }
        let after = outputs.iter_mut().zip(late).filter(|(_, late)| **late).map(|(output, _)| output);
        for e in after.chain(&mut conditions) {
            self.visit(e, &mut |_, e| {
                match &mut e.kind {
                    BoundKind::Column(of, column) => {
                        if let Some(n) = needed.iter().position(|(r, c, _)| (r, c) == (&*of, &*column)) {
                            e.kind = BoundKind::Column(rel, first + n);
                        }
                    }
                    BoundKind::PerRow(rels, _) if rels.iter().any(|r| own.contains(r)) => *rels = vec![rel],
                    _ => {}
                }
                true
            });
        }
        let select = BoundSelect {
            from: vec![Item::Rel(rel)],
            filter: conditions,
            grouping: None,
            windows: None,
            visible: outputs.len(),
            outputs,
            distinct: Distinct::No,
            apart: None,
        };
        BoundQuery {
            body: Body::Select(Box::new(select)),
            columns: shown,
            order: Vec::new(),
            limit,
            ties: false,
            offset,
            locks: Vec::new(),
        }
    }

    /// Columns of these relations that these expressions name.
    fn columns_needed(&mut self, late: &[Bound], own: &[RelId]) -> Vec<(RelId, usize, Bound)> {
        let mut needed: Vec<(RelId, usize, Bound)> = Vec::new();
        for e in late {
            self.visit(&mut e.clone(), &mut |_, e| {
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
