//! Tables as they were before a statement with changes in WITH.
//!
//! What a part has changed is not seen by those that come behind it, but by RETURNING: they read the table as it was
//! when the statement began. So what they read of such a table is put into a list in front of the first part, and read
//! from there. Conditions that need nothing but the table's columns, constants and variables, and cannot fail, are looked at as
//! the list is made, so it holds the rows that are asked for, found by an index where there is one; other conditions wait, and the list is the whole
//! table.
//!
//! A list has no rows that could be changed or locked: a part that changes rows of a table which one before it changes, or locks them,
//! is refused ([`Lowerer::apart`](super::with_changes)).

use super::Lowerer;
use super::apart::Changed;
use super::bound::{Body, Bound, BoundKind, BoundQuery, BoundSelect, Distinct, Item, RelId, RelKind};
use super::emit_query::Frame;
use planaria_base::{Result, TableId};
use planaria_ir::{Coll, Output};

/// The statement whose parts are being lowered.
pub(super) struct Before {
    /// The place in front of its first part.
    frame: Frame,
    /// Registers that there were by then.
    known: usize,
    /// What the parts have changed that are done.
    pub changed: Changed,
}

impl Lowerer<'_> {
    /// A statement with changes in WITH begins here.
    pub(super) fn before_parts(&self) -> Before {
        let block = self.blocks.len() - 1;
        let frame = Frame { block, index: self.blocks[block].len(), available: self.available.len() };
        Before { frame, known: self.program.regs.len(), changed: Changed::default() }
    }

    /// Has the tables among these relations that were changed before be read as they were. All that names them is bound.
    pub(super) fn read_as_before(
        &mut self,
        from: &[Item],
        target: Option<RelId>,
        filter: &mut Vec<Bound>,
    ) -> Result<()> {
        if self.before.as_ref().is_none_or(|before| before.changed.is_nothing()) {
            return Ok(());
        }
        for rel in self.rels_of(from) {
            let RelKind::Table(table) = self.rel(rel).kind else { continue };
            let changed = self.before.as_ref().is_some_and(|before| before.changed.has(table));
            if changed && target != Some(rel) && !self.rel(rel).row_used {
                self.read_from_list(rel, table, filter);
            }
        }
        Ok(())
    }

    fn read_from_list(&mut self, rel: RelId, table: TableId, filter: &mut Vec<Bound>) {
        let name = self.catalog.table_by_id(table).name.clone();
        let inner = self.table_rel(table, &name);
        // Conditions of policies come before all others.
        let secured = filter.iter().any(|e| matches!(e.kind, BoundKind::Secured(_)));
        let mut own = Vec::new();
        if !secured && !self.rel(rel).nullable {
            for mut e in std::mem::take(filter) {
                if !self.is_known_before(rel, &e) {
                    filter.push(e);
                    continue;
                }
                self.visit(&mut e, &mut |_, e| {
                    if let BoundKind::Column(of, _) = &mut e.kind {
                        *of = inner;
                    }
                    true
                });
                own.push(e);
            }
        }
        let columns: Vec<Output> = self
            .rel(inner)
            .columns
            .iter()
            .map(|(name, ty)| Output { name: name.clone(), ty: ty.clone() })
            .collect();
        let outputs =
            columns.iter().enumerate().map(|(i, c)| Bound::column(inner, i, c.ty.clone(), 0)).collect();
        let body = Body::Select(Box::new(BoundSelect {
            from: vec![Item::Rel(inner)],
            filter: own,
            grouping: None,
            windows: None,
            outputs,
            visible: columns.len(),
            distinct: Distinct::No,
            apart: None,
        }));
        let query = BoundQuery::plain(body, columns);
        let place = self.add_cte(&format!("{name} as it was"), query);
        self.ctes[place].before = true;
        self.ctes[place].uses = 1;
        self.rel_mut(rel).kind = RelKind::Cte(place);
    }

    /// Whether a condition needs a relation's columns and what there was before the first part, and cannot fail.
    fn is_known_before(&mut self, rel: RelId, e: &Bound) -> bool {
        let Some(known) = self.before.as_ref().map(|before| before.known) else { return false };
        let mut fits = true;
        let mut e = e.clone();
        // Nobody may have asked for rows of which it cannot be computed.
        self.visit(&mut e, &mut |_, e| {
            fits &= match &e.kind {
                BoundKind::Column(of, _) => *of == rel,
                BoundKind::Reg(reg) => (reg.0 as usize) < known,
                BoundKind::Apply(func, _) => func.total(),
                BoundKind::Const(_)
                | BoundKind::Param(_)
                | BoundKind::Relabel(_)
                | BoundKind::And(..)
                | BoundKind::Or(..)
                | BoundKind::InList(..)
                | BoundKind::Quantified(..) => true,
                _ => false,
            };
            fits
        });
        fits
    }

    /// The list of a table as it was, made in front of the first part.
    pub(super) fn list_before(&mut self, index: usize, query: &BoundQuery, what: &str) -> Result<Coll> {
        let Some(before) = &self.before else {
            return Err(planaria_base::Error::internal("a table as it was, before no part"));
        };
        let around = std::mem::replace(&mut self.frames, vec![before.frame]);
        let done = self.list_of(query, 0, what);
        let frames = std::mem::replace(&mut self.frames, around);
        if let (Some(before), Some(frame)) = (&mut self.before, frames.first()) {
            before.frame = *frame;
        }
        let list = done?;
        self.ctes[index].list = Some(list);
        Ok(list)
    }
}
