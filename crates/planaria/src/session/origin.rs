//! Which columns of an answer are plain columns of tables: what RowDescription says of them, and drivers need
//! to change rows through a result, or to know of a column's default.
//!
//! Found by names in the query as it is written: a plain SELECT (no set operation) whose FROM has only tables,
//! views and joins of them. Where a name is not certain the column has no origin, which is never wrong.

use crate::row::Origin;
use planaria_catalog::{Catalog, Wanted};
use planaria_syntax::ast::{Expr, ExprKind, JoinCondition, Name, QueryBody, StatementKind, TableRef};

/// A table or view of a FROM clause.
struct Source<'c> {
    /// As it is called there.
    shown: String,
    oid: u32,
    /// Columns with their numbers.
    columns: Vec<(&'c str, i16)>,
}

/// The origins of a statement's columns, of which there are `count`.
pub(crate) fn origins(catalog: &Catalog, statement: &StatementKind, count: usize) -> Vec<Option<Origin>> {
    let nothing = || vec![None; count];
    let StatementKind::Query(query) = statement else { return nothing() };
    let QueryBody::Select(select) = &query.body else { return nothing() };
    let mut sources = Vec::new();
    let with = |name: &str| query.with.iter().any(|w| w.name == name);
    if !select.from.iter().all(|item| collect(catalog, item, &with, &mut sources)) {
        return nothing();
    }
    let mut found = Vec::new();
    for item in &select.items {
        match &item.expr.kind {
            ExprKind::Star(None) => sources.iter().for_each(|s| found.extend(s.all())),
            ExprKind::Star(Some(of)) => match sources.iter().find(|s| Some(&s.shown) == of.parts.last()) {
                Some(source) => found.extend(source.all()),
                None => return nothing(),
            },
            _ => found.push(origin(&sources, &item.expr)),
        }
    }
    if found.len() == count { found } else { nothing() }
}

/// Adds what a FROM item names; false where it is something else than tables and views.
fn collect<'c>(
    catalog: &'c Catalog,
    item: &TableRef,
    with: &dyn Fn(&str) -> bool,
    sources: &mut Vec<Source<'c>>,
) -> bool {
    match item {
        TableRef::Relation { name, alias, .. } => {
            let schema = name.parts.len().checked_sub(2).map(|at| name.parts[at].as_str());
            let Some(table) = name.parts.last() else { return false };
            let wanted: Option<Wanted<'_>> = match schema {
                None => Some(table.into()),
                Some(schema) => catalog.schema(schema).map(|id| (id, table.as_str()).into()),
            };
            let renamed = alias.as_ref().is_some_and(|a| !a.columns.is_empty());
            if renamed || schema.is_none() && with(table) {
                return false;
            }
            let shown = alias.as_ref().map_or(table, |a| &a.name).clone();
            if let Some(table) = wanted.and_then(|wanted| catalog.table(catalog.located(wanted))) {
                let columns =
                    table.visible().map(|(id, c)| (c.name.as_str(), id.index() as i16 + 1)).collect();
                sources.push(Source { shown, oid: catalog.table_oid(table.id), columns });
                return true;
            }
            // The columns of a view are known to the planner alone.
            false
        }
        TableRef::Join { left, right, condition, .. } => {
            // USING and NATURAL join columns into one.
            matches!(condition, JoinCondition::On(_) | JoinCondition::None)
                && collect(catalog, left, with, sources)
                && collect(catalog, right, with, sources)
        }
        TableRef::Sample { table, .. } => collect(catalog, table, with, sources),
        TableRef::Derived { .. } | TableRef::Function { .. } => false,
    }
}

impl Source<'_> {
    fn all(&self) -> impl Iterator<Item = Option<Origin>> {
        self.columns.iter().map(|(_, number)| Some(Origin { table: self.oid, column: *number }))
    }

    fn column(&self, name: &str) -> Option<Origin> {
        let (_, number) = self.columns.iter().find(|(n, _)| *n == name)?;
        Some(Origin { table: self.oid, column: *number })
    }
}

fn origin(sources: &[Source<'_>], expr: &Expr) -> Option<Origin> {
    let ExprKind::Column(Name { parts, .. }) = &expr.kind else { return None };
    match &parts[..] {
        [name] => {
            let mut found = sources.iter().filter_map(|s| s.column(name));
            let first = found.next();
            if found.next().is_some() { None } else { first }
        }
        [.., source, name] => sources.iter().find(|s| s.shown == *source)?.column(name),
        [] => None,
    }
}
