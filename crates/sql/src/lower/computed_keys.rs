//! Indexes over expressions, and over some of the rows: where a condition says what such an index keeps.
//!
//! Each of their computed keys is in a hidden generated column ([`planaria_catalog::IndexDefinition`]). A condition over the
//! key's expression is one over that column, in each row; with a condition of the index, in each row that meets it. So where a
//! query demands that, whatever it says of the expression it says of the column.

use super::Lowerer;
use super::bound::{Bound, RelId, RelKind};
use super::names::Names;
use super::scope::Scope;
use super::updatable::Target;
use planaria_base::Result;
use planaria_catalog::{IndexKey, Table};
use planaria_syntax::ast::{Expr, IndexItem};
use std::rc::Rc;

/// A key of an index that is in a hidden column.
#[derive(Debug)]
pub(super) struct ComputedKey {
    /// The hidden column.
    pub column: usize,
    /// What it keeps.
    pub of: Bound,
    /// Where: what must be true of the row.
    pub demands: Vec<Bound>,
}

impl Lowerer<'_> {
    /// The computed keys of a table's indexes, over a relation of the table.
    pub(super) fn computed_keys(&mut self, rel: RelId) -> Result<Rc<Vec<ComputedKey>>> {
        if let Some(keys) = self.computed_keys.get(&rel) {
            return Ok(keys.clone());
        }
        let mut all = Vec::new();
        if let RelKind::Table(id) = self.rel(rel).kind {
            let table = self.catalog.table_by_id(id);
            for index in &table.indexes {
                let Some(definition) = &index.definition else { continue };
                let former = index.columns.iter().map(|c| &table.columns[c.index()]);
                let former = former.clone().any(|c| c.hidden && c.generated().is_some() && !c.computed_anew);
                let around = std::mem::replace(&mut self.former_reals, former);
                let demands = match &definition.predicate {
                    Some(text) => self.bound_over(rel, table, text).map(Bound::into_conjuncts),
                    None => Ok(Vec::new()),
                };
                self.former_reals = around;
                let demands = demands?;
                for (at, (key, column)) in definition.keys.iter().zip(&index.columns).enumerate() {
                    let hidden = &table.columns[column.index()];
                    if !hidden.hidden || hidden.generated().is_none() {
                        continue;
                    }
                    // Calls that were logged found by it what they found.
                    if !self.reads_after && super::generated::is_blind(table, column.index())? {
                        continue;
                    }
                    let around = std::mem::replace(&mut self.former_reals, former);
                    let of = match key {
                        IndexKey::Column(column) => Ok(self.column_of(rel, column.index())),
                        IndexKey::Expression(text) => self.bound_over(rel, table, text),
                    };
                    self.former_reals = around;
                    let of = of?;
                    // The first key alone is NULL elsewhere.
                    let demands = if at == 0 { demands.clone() } else { Vec::new() };
                    all.push(ComputedKey { column: column.index(), of, demands });
                }
            }
        }
        let all = Rc::new(all);
        self.computed_keys.insert(rel, all.clone());
        Ok(all)
    }

    fn column_of(&self, rel: RelId, column: usize) -> Bound {
        let ty = self.rel(rel).columns[column].1.clone();
        Bound::new(super::bound::BoundKind::Column(rel, column), ty, 0)
    }

    fn bound_over(&mut self, rel: RelId, table: &Table, text: &str) -> Result<Bound> {
        let scope = Scope::new();
        let mut names = Names::of(&scope);
        names.sources.push(self.source_of(rel, &table.name));
        let position = self.position;
        self.bind_text_in(&names, text, position)
    }

    /// Whether an index is what the target of ON CONFLICT says: its keys in any order, and for one over some of the rows, a
    /// condition that says as much.
    pub(super) fn is_target(
        &mut self,
        target: &Target<'_>,
        index: usize,
        items: &[IndexItem],
        predicate: Option<&Expr>,
        alias: &str,
    ) -> Result<bool> {
        let table = target.table;
        let index = &table.indexes[index];
        let rel = self.table_rel(table.id, alias);
        let scope = Scope::new();
        let mut names = Names::of(&scope);
        names.sources.push(self.target_source(target, rel, alias)?.0);
        let mut wanted = Vec::new();
        for item in items {
            wanted.push(match item {
                IndexItem::Column(name) => {
                    let Some(column) = target.found(name, 0)? else { return Ok(false) };
                    self.column_of(rel, column)
                }
                IndexItem::Expression(expr, _) => self.outside("ON CONFLICT", |l| l.bind(&names, expr))?,
            });
        }
        let mut keys = Vec::new();
        for (at, column) in index.columns.iter().enumerate() {
            keys.push(match index.definition.as_ref().map(|d| &d.keys[at]) {
                Some(IndexKey::Column(column)) => self.column_of(rel, column.index()),
                Some(IndexKey::Expression(text)) => self.bound_over(rel, table, text)?,
                None => self.column_of(rel, column.index()),
            });
        }
        let among = |all: &[Bound], one: &Bound| all.iter().any(|other| other.means(one));
        if !keys.iter().all(|k| among(&wanted, k)) || !wanted.iter().all(|w| among(&keys, w)) {
            return Ok(false);
        }
        let Some(text) = index.definition.as_ref().and_then(|d| d.predicate.as_ref()) else {
            return Ok(true);
        };
        let Some(predicate) = predicate else { return Ok(false) };
        let said = self.outside("ON CONFLICT", |l| l.bind(&names, predicate))?.into_conjuncts();
        let demanded = self.bound_over(rel, table, text)?.into_conjuncts();
        Ok(demanded.iter().all(|d| among(&said, d)))
    }
}
