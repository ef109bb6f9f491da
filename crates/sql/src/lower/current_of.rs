//! WHERE CURRENT OF a cursor of the session.
//!
//! A cursor keeps the key of each of its rows, where these are the rows of one table ([`keyed`]). A statement with WHERE
//! CURRENT OF becomes one by that key, whose values are parameters of it ([`by_key`]).

use super::plpgsql::{key_of, with_keys};
use super::{Lowerer, table_of_type};
use planaria_base::TableId;
use planaria_catalog::Catalog;
use planaria_ir::{Output, ProgramKind};
use planaria_syntax::ast::{
    self, BinaryOp, Expr, ExprKind, Name, Query, QueryBody, Statement, StatementKind, TableRef,
};

/// The cursor of a statement with WHERE CURRENT OF.
pub fn current_of(statement: &Statement) -> Option<&Name> {
    let filter = match &statement.kind {
        StatementKind::Update(update) => &update.filter,
        StatementKind::Delete(delete) => &delete.filter,
        _ => return None,
    };
    filter.as_ref().and_then(ast::current_of)
}

/// A query with the key of its table behind its columns, if it may give rows of one table, one for one.
pub fn keyed(catalog: &Catalog, query: &Query) -> Option<(Query, TableId, Vec<Output>)> {
    let QueryBody::Select(select) = &query.body else { return None };
    let plain = select.distinct.is_none() && select.group_by.is_empty() && select.grouping_sets.is_empty();
    let [TableRef::Relation { name, .. }] = &select.from[..] else { return None };
    if !plain || select.having.is_some() || !query.with.is_empty() {
        return None;
    }
    let table = table_of_type(catalog, name).filter(|t| !t.composite && t.slice().is_none())?.id;
    let l = Lowerer::new(catalog, "cursor", ProgramKind::Statement);
    let keys = key_of(&l, table);
    Some((with_keys(&l, query, table, &keys), table, keys))
}

/// UPDATE or DELETE as one of the row whose key the parameters from a number on have; `None` where it changes another table.
pub fn by_key(
    catalog: &Catalog,
    statement: &Statement,
    table: TableId,
    keys: &[Output],
    first: u32,
) -> Option<Statement> {
    by_values(catalog, statement, table, keys, &|at, _| ExprKind::Parameter(first + at as u32))
}

/// The same with whatever has the values of the key.
pub fn by_values(
    catalog: &Catalog,
    statement: &Statement,
    table: TableId,
    keys: &[Output],
    value: &dyn Fn(usize, &Output) -> ExprKind,
) -> Option<Statement> {
    let mut statement = statement.clone();
    let (filter, target, alias) = match &mut statement.kind {
        StatementKind::Update(s) => (&mut s.filter, &s.table, &s.alias),
        StatementKind::Delete(s) => (&mut s.filter, &s.table, &s.alias),
        _ => return None,
    };
    let target_table = table_of_type(catalog, target)?;
    let whole = target_table.slice().map_or(target_table, |_| catalog.partition_root(target_table.id));
    // A partition shows no hidden key.
    let hidden = whole.id != target_table.id && keys.iter().any(|key| key.name == super::names::ROW_ID);
    if whole.id != table || hidden {
        return None;
    }
    let position = filter.as_ref().map_or(0, |e| e.position);
    let alias = alias.clone().or_else(|| target.parts.last().cloned()).unwrap_or_default();
    let expr = |kind| Expr { position, kind };
    let condition = |(at, key): (usize, &Output)| {
        let name = Name { parts: vec![alias.clone(), key.name.clone()], position };
        let column = expr(ExprKind::Column(name));
        let value = expr(value(at, key));
        expr(ExprKind::Binary(BinaryOp::Eq, Box::new(column), Box::new(value)))
    };
    let conditions = keys.iter().enumerate().map(condition);
    *filter = conditions.reduce(|a, b| expr(ExprKind::Binary(BinaryOp::And, Box::new(a), Box::new(b))));
    Some(statement)
}

/// The same without the condition: what its parameters and columns are.
pub fn without_current(statement: &Statement) -> Statement {
    let mut statement = statement.clone();
    match &mut statement.kind {
        StatementKind::Update(s) => s.filter = None,
        StatementKind::Delete(s) => s.filter = None,
        _ => {}
    }
    statement
}
