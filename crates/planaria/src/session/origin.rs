//! Which columns of an answer are plain columns of tables: what RowDescription says of them, and drivers need
//! to change rows through a result, or to know of a column's default.
//!
//! Found by names in the statement as it is written: a plain SELECT (no set operation) whose FROM has only tables,
//! views and joins of them, or RETURNING of a statement that changes a table. Where a name is not certain the column has no origin, which is never wrong.

use crate::row::Origin;
use planaria_catalog::{Catalog, Wanted};
use planaria_syntax::ast::{
    Cte, Expr, ExprKind, JoinCondition, Name, QueryBody, SelectItem, StatementKind, TableAlias, TableRef,
};

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
    let found = found(catalog, statement).filter(|found| found.len() == count);
    found.unwrap_or_else(|| vec![None; count])
}

fn found(catalog: &Catalog, statement: &StatementKind) -> Option<Vec<Option<Origin>>> {
    let changed = |table: &Name, alias: &Option<String>, beside: &[TableRef], with: &[Cte], returning| {
        let alias = alias.clone().map(|name| TableAlias { name, columns: Vec::new() });
        let mut sources = Vec::new();
        // What a statement changes is a table, whatever WITH names.
        let known = add_relation(catalog, table, alias.as_ref(), &mut sources);
        let with = |name: &str| with.iter().any(|w| w.name == name);
        let known = known && beside.iter().all(|item| collect(catalog, item, &with, &mut sources));
        if known { of_items(&sources, returning) } else { None }
    };
    match statement {
        StatementKind::Query(query) => {
            let QueryBody::Select(select) = &query.body else { return None };
            let mut sources = Vec::new();
            let with = |name: &str| query.with.iter().any(|w| w.name == name);
            let known = select.from.iter().all(|item| collect(catalog, item, &with, &mut sources));
            if known { of_items(&sources, &select.items) } else { None }
        }
        StatementKind::Insert(s) => changed(&s.table, &s.alias, &[], &s.with, &s.returning),
        StatementKind::Update(s) => changed(&s.table, &s.alias, &s.from, &s.with, &s.returning),
        StatementKind::Delete(s) => changed(&s.table, &s.alias, &s.using, &s.with, &s.returning),
        _ => None,
    }
}

/// The origins of the columns that items answer with; `None` where it is not certain how many that are.
fn of_items(sources: &[Source<'_>], items: &[SelectItem]) -> Option<Vec<Option<Origin>>> {
    let mut found = Vec::new();
    for item in items {
        match &item.expr.kind {
            ExprKind::Star(None) => sources.iter().for_each(|s| found.extend(s.all())),
            ExprKind::Star(Some(of)) => {
                found.extend(sources.iter().find(|s| Some(&s.shown) == of.parts.last())?.all());
            }
            _ => found.push(origin(sources, &item.expr)),
        }
    }
    Some(found)
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
            let named_by_with = matches!(&name.parts[..], [name] if with(name));
            !named_by_with && add_relation(catalog, name, alias.as_ref(), sources)
        }
        TableRef::Join { left, right, condition, .. } => {
            // USING and NATURAL join columns into one.
            matches!(condition, JoinCondition::On(_) | JoinCondition::None)
                && collect(catalog, left, with, sources)
                && collect(catalog, right, with, sources)
        }
        TableRef::Sample { table, .. } => collect(catalog, table, with, sources),
        TableRef::Derived { .. } | TableRef::Function { .. } | TableRef::RowsFrom { .. } => false,
    }
}

/// Adds a table; false where it is none.
fn add_relation<'c>(
    catalog: &'c Catalog,
    name: &Name,
    alias: Option<&TableAlias>,
    sources: &mut Vec<Source<'c>>,
) -> bool {
    let schema = name.parts.len().checked_sub(2).map(|at| name.parts[at].as_str());
    let Some(table) = name.parts.last() else { return false };
    let wanted: Option<Wanted<'_>> = match schema {
        None => Some(table.into()),
        Some(schema) => catalog.schema(schema).map(|id| (id, table.as_str()).into()),
    };
    if alias.is_some_and(|a| !a.columns.is_empty()) {
        return false;
    }
    let shown = alias.map_or(table, |a| &a.name).clone();
    // The columns of a view are known to the planner alone.
    let Some(table) = wanted.and_then(|wanted| catalog.table(catalog.located(wanted))) else { return false };
    let columns = table.visible().map(|(id, c)| (c.name.as_str(), table.number(id))).collect();
    sources.push(Source { shown, oid: catalog.table_oid(table.id), columns });
    true
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
