//! ROWS FROM: the rows of several functions side by side.
//!
//! ```text
//!  ROWS FROM (f(x), g(y))   ->   f(x) WITH ORDINALITY FULL JOIN g(y) WITH ORDINALITY USING (ordinality) ORDER BY ordinality
//! ```
//!
//! A function that has fewer rows than another is NULL in the others; one that is no set has one row.

use super::Lowerer;
use super::bind_call::{Clause, is_own};
use super::bind_from::{FromClause, is_unnest};
use super::names::Names;
use planaria_base::{Error, Result, SqlState};
use planaria_catalog::Returns;
use planaria_syntax::ast::{
    Argument, Expr, ExprKind, FunctionCall, JoinCondition, JoinKind, Name, OrderItem, Query, QueryBody,
    Select, SelectItem, TableAlias, TableRef, TypeName,
};

/// The column of WITH ORDINALITY.
const ORDINALITY: &str = "ordinality";

/// The rows of a query with their numbers.
fn numbered(query: Query, position: u32) -> Result<Box<Query>> {
    let text = "SELECT *, pg_catalog.row_number() OVER () AS ordinality FROM (SELECT 1) AS numbered";
    let mut around = planaria_syntax::parse::query(text).map_err(|e| e.at(position))?;
    if let QueryBody::Select(select) = &mut around.body
        && let Some(TableRef::Derived { query: within, .. }) = select.from.first_mut()
    {
        **within = query;
    }
    Ok(Box::new(around))
}

impl Lowerer<'_> {
    pub(super) fn bind_rows_from(
        &mut self,
        level: &mut Names<'_>,
        calls: &[(FunctionCall, Vec<(String, TypeName)>)],
        alias: Option<&TableAlias>,
        ordinality: bool,
        nullable: bool,
        position: u32,
    ) -> Result<FromClause> {
        let mut all: Vec<(FunctionCall, &[(String, TypeName)])> = Vec::new();
        for (call, definitions) in calls {
            // Each of its arrays is a function of its own.
            if call.args.len() > 1 && is_unnest(self.catalog, &call.name)? {
                let one = |argument: &_| FunctionCall { args: vec![Clone::clone(argument)], ..call.clone() };
                all.extend(call.args.iter().map(|argument| (one(argument), &definitions[..])));
            } else {
                all.push((call.clone(), definitions));
            }
        }
        // How the columns of those that have one are called until they are told apart.
        let mut names = Vec::new();
        let mut from: Option<TableRef> = None;
        for (at, (call, definitions)) in all.into_iter().enumerate() {
            let local = call.name.parts.last().cloned().unwrap_or_default();
            let own = format!("{at} of {local}");
            let alias = Some(TableAlias { name: own.clone(), columns: Vec::new() });
            let call = self.ordered(&call, position).into_owned();
            let base = self.populated(level, &call)?;
            let records =
                super::json_records::query(self.catalog, &call, definitions, base.as_ref(), position)?;
            let function = match records {
                Some(query) => TableRef::Derived { query: numbered(query, position)?, alias, lateral: true },
                None => TableRef::Function {
                    call: Box::new(self.as_set(level, call, position)?),
                    alias,
                    definitions: definitions.to_vec(),
                    lateral: true,
                    ordinality: true,
                    position,
                },
            };
            names.push((own, local));
            from = Some(match from {
                None => function,
                Some(left) => TableRef::Join {
                    kind: JoinKind::Full,
                    left: Box::new(left),
                    right: Box::new(function),
                    condition: JoinCondition::Using(vec![ORDINALITY.to_owned()]),
                    position,
                },
            });
        }
        let single = names.len() == 1;
        let expr = |kind| Expr { position, kind };
        let item = SelectItem { expr: expr(ExprKind::Star(None)), alias: None };
        let select = Select { items: vec![item], from: from.into_iter().collect(), ..Select::default() };
        let mut query = Query::new(QueryBody::Select(Box::new(select)), position);
        let number = Name { parts: vec![ORDINALITY.to_owned()], position };
        query.order_by =
            vec![OrderItem { expr: expr(ExprKind::Column(number)), descending: false, nulls_first: None }];
        let bound = self.bind_level(level.inner(), &query, false)?;
        let first = names.first().map_or(String::new(), |(_, local)| local.clone());
        let shown = alias.map_or(first.as_str(), |a| a.name.as_str());
        let mut part = self.add_query(level, bound, shown, &[], nullable, position)?;
        let Some(source) = level.sources.last_mut() else { return Ok(part) };
        // The number is the first column of the join, and the last of a function.
        let at = if single { source.columns.len() - 1 } else { 0 };
        let number = source.columns.remove(at);
        for column in &mut source.columns {
            if let Some((_, local)) = names.iter().find(|(own, _)| *own == column.name) {
                column.name.clone_from(local);
            }
        }
        if ordinality {
            source.columns.push(number);
        }
        let renamed = alias.map_or(&[][..], |a| &a.columns[..]);
        if renamed.len() > source.columns.len() {
            let (has, said) = (source.columns.len(), renamed.len());
            let message =
                format!("table \"{shown}\" has {has} columns available but {said} columns specified");
            return Err(Error::new(SqlState::INVALID_COLUMN_REFERENCE, message).at(position));
        }
        for (column, name) in source.columns.iter_mut().zip(renamed) {
            column.name.clone_from(name);
        }
        source.renamed = renamed.len();
        source.of = None;
        part.star = source.columns.iter().map(|c| (c.name.clone(), c.expr.clone())).collect();
        Ok(part)
    }

    /// A call that is a set: `unnest(ARRAY[f(..)])` of one that is not.
    fn as_set(&mut self, level: &Names<'_>, call: FunctionCall, position: u32) -> Result<FunctionCall> {
        let wanted = self.meant(&call.name)?;
        let own = is_own(wanted);
        if own && self.catalog.procedures_named(wanted).any(|p| p.returns_set()) {
            return Ok(call);
        }
        let rows = |p: &planaria_catalog::Procedure| matches!(p.returns, Returns::RowOf(_) | Returns::OutRow);
        let record =
            |p: &planaria_catalog::Procedure| matches!(p.returns, Returns::Record { set: false, .. });
        let mut called = self.catalog.procedures_named(wanted);
        if called.any(|p| own && rows(p) || record(p)) {
            let what =
                "a function that answers with one row of several columns in ROWS FROM is not supported";
            let hint = "Let it answer with a set of rows.";
            return Err(Error::unsupported(what, hint).at(position));
        }
        if !own {
            let bind = |l: &mut Self| l.bind_set_function(level, wanted, &call, true, position);
            if self.in_clause(Clause::From, bind)?.is_some() {
                return Ok(call);
            }
        }
        let value = Expr { position, kind: ExprKind::Call(Box::new(call.clone())) };
        let array = Expr { position, kind: ExprKind::Array(vec![value]) };
        let unnest = Name { parts: vec!["pg_catalog".to_owned(), "unnest".to_owned()], position };
        let mut set = call;
        set.name = unnest;
        set.args = vec![Argument { name: None, value: array }];
        Ok(set)
    }
}
