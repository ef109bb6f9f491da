//! Records out of JSON: `json_to_record`, `json_to_recordset`, `json_populate_record`, .. and those of `jsonb`, in FROM.
//!
//! A call is a query over the value, one expression a column: what stands at the column's name, read as a value of the
//! column's type.

use super::Lowerer;
use super::bind_call::{is_own, named};
use super::bound::{Bound, BoundKind};
use super::names::Names;
use super::types::CastContext;
use planaria_base::{Datum, Error, Result, SqlState, Type};
use planaria_catalog::Catalog;
use planaria_ir::Func;
use planaria_syntax::ast::{
    Argument, BinaryOp, Expr, ExprKind, FunctionCall, IsWhat, JsonOp, Name, Query, QueryBody, SelectItem,
    TypeName, TypeNameKind,
};

/// Functions that only these queries call: no name of SQL has a blank, but for one in quotes.
pub(super) const RECORD: &str = "json record";
pub(super) const RECORDS: &str = "json records";
pub(super) const FIELD: &str = "json field";

/// The query that a call in FROM stands for; `None` where it is no such function's. 42601 where it has a list of columns
/// and should not, or the other way round.
pub(super) fn query(
    catalog: &Catalog,
    call: &FunctionCall,
    definitions: &[(String, TypeName)],
    position: u32,
) -> Result<Option<Query>> {
    let wanted = named(catalog, &call.name)?;
    if is_own(wanted) && definitions.is_empty() {
        return Ok(None);
    }
    let name = if is_own(wanted) { "" } else { wanted.local };
    let what = |what: &str| {
        let message = format!("a column definition list is {what} for functions returning \"record\"");
        Error::new(SqlState::SYNTAX_ERROR, message).at(position)
    };
    let known = call.args.iter().all(|a| a.name.is_none());
    let (value, columns) = match (name, &call.args[..]) {
        ("json_to_record" | "jsonb_to_record" | "json_to_recordset" | "jsonb_to_recordset", [value])
            if known =>
        {
            if definitions.is_empty() {
                return Err(what("required"));
            }
            (value, definitions.to_vec())
        }
        (
            "json_populate_record"
            | "jsonb_populate_record"
            | "json_populate_recordset"
            | "jsonb_populate_recordset",
            [base, value],
        ) if known && definitions.is_empty() => (value, columns_of(catalog, name, &base.value)?),
        _ if definitions.is_empty() => return Ok(None),
        _ => return Err(what("only allowed")),
    };
    let text = match name.ends_with("set") {
        true => format!(
            "SELECT 1 FROM (SELECT \"{}\"('', '{name}') AS $a) AS given, pg_catalog.unnest(\"{RECORDS}\"($a, '{name}')) AS e($v)",
            super::json::GIVEN
        ),
        false => format!(
            "SELECT 1 FROM (SELECT \"{}\"('', '{name}') AS $a) AS given, LATERAL (SELECT \"{RECORD}\"($a, '{name}') AS $v) AS e",
            super::json::GIVEN
        ),
    };
    let value = FunctionCall { args: vec![value.clone()], ..call.clone() };
    let mut query = super::written::filled(&text, &value, position)?;
    if let QueryBody::Select(select) = &mut query.body {
        select.items = columns.into_iter().map(|(name, ty)| field(name, ty, position)).collect();
    }
    Ok(Some(query))
}

/// What a call elsewhere stands for: the row, or, one after the other, the rows of `.._recordset`.
pub(super) fn value(catalog: &Catalog, call: &FunctionCall, position: u32) -> Result<Option<Expr>> {
    let name = call.name.parts.last().map_or("", String::as_str);
    let populates = matches!(
        name,
        "json_populate_record"
            | "jsonb_populate_record"
            | "json_populate_recordset"
            | "jsonb_populate_recordset"
    );
    if !populates {
        return Ok(None);
    }
    if let [base, _] = &call.args[..]
        && !is_null_of_table(&base.value)
    {
        return Ok(None);
    }
    let Some(mut query) = query(catalog, call, &[], position)? else { return Ok(None) };
    let expr = |kind| Expr { position, kind };
    let ExprKind::Cast(_, ty) = &call.args[0].value.kind else { return Ok(None) };
    let QueryBody::Select(select) = &mut query.body else { return Ok(None) };
    let fields = std::mem::take(&mut select.items).into_iter().map(|item| item.expr).collect();
    let row = expr(ExprKind::Cast(Box::new(expr(ExprKind::Row(fields))), ty.clone()));
    let set = name.ends_with("set");
    let item = if set {
        row
    } else {
        // Of no value there is no row.
        let given = expr(ExprKind::Column(Name { parts: vec!["our a".to_owned()], position }));
        let is_null = ExprKind::Is { expr: Box::new(given), what: IsWhat::Null, negated: false };
        let whens = vec![(expr(is_null), expr(ExprKind::Null))];
        expr(ExprKind::Case { operand: None, whens, otherwise: Some(Box::new(row)) })
    };
    select.items = vec![SelectItem { expr: item, alias: Some(name.to_owned()) }];
    if !set {
        return Ok(Some(expr(ExprKind::Subquery(Box::new(query)))));
    }
    let rows = Argument { name: None, value: expr(ExprKind::ArrayQuery(Box::new(query))) };
    let unnest = Name { parts: vec!["pg_catalog".to_owned(), "unnest".to_owned()], position };
    Ok(Some(expr(ExprKind::Call(Box::new(FunctionCall::plain(unnest, vec![rows]))))))
}

/// Whether this is `NULL::table`.
fn is_null_of_table(base: &Expr) -> bool {
    matches!(&base.kind, ExprKind::Cast(inner, _) if inner.kind == ExprKind::Null)
}

/// Names and types of the columns of the table whose row type a NULL is of.
fn columns_of(catalog: &Catalog, function: &str, base: &Expr) -> Result<Vec<(String, TypeName)>> {
    let unsupported = || {
        let hint = "Give it as NULL::table.";
        Error::unsupported(format!("{function} over this row is not supported"), hint).at(base.position)
    };
    let ExprKind::Cast(inner, TypeName { kind: TypeNameKind::Named(path), .. }) = &base.kind else {
        return Err(unsupported());
    };
    let table = named(catalog, path).ok().and_then(|wanted| catalog.of_rows(catalog.located(wanted)));
    let Some(table) = table.filter(|_| inner.kind == ExprKind::Null) else { return Err(unsupported()) };
    let of = |column: &str| {
        let mut parts = path.parts.clone();
        parts.push(column.to_owned());
        let name = Name { parts, position: base.position };
        TypeName { position: base.position, kind: TypeNameKind::OfColumn(name) }
    };
    Ok(table.visible().map(|(_, c)| (c.name.clone(), of(&c.name))).collect())
}

/// What stands at a key, as a value of a type.
fn field(name: String, ty: TypeName, position: u32) -> SelectItem {
    let expr = |kind| Expr { position, kind };
    let value = expr(ExprKind::Column(Name { parts: vec!["our v".to_owned()], position }));
    let of = expr(ExprKind::Cast(Box::new(expr(ExprKind::Null)), ty));
    let args = [value, expr(ExprKind::String(name.clone())), of];
    let args = args.into_iter().map(|value| Argument { name: None, value }).collect();
    let call = FunctionCall::plain(Name { parts: vec![FIELD.to_owned()], position }, args);
    SelectItem { expr: expr(ExprKind::Call(Box::new(call))), alias: Some(name) }
}

impl Lowerer<'_> {
    /// `json_populate_record(row, json)` and that of `jsonb`: the row, with what the JSON has in its place.
    pub(super) fn populated_row(
        &mut self,
        names: &Names<'_>,
        call: &FunctionCall,
        position: u32,
    ) -> Result<Option<Expr>> {
        let wanted = named(self.catalog, &call.name)?;
        let name = wanted.local;
        let [base, json] = &call.args[..] else { return Ok(None) };
        let populates = matches!(name, "json_populate_record" | "jsonb_populate_record");
        if !populates
            || is_own(wanted)
            || self.catalog.procedures_named(name).next().is_some()
            || is_null_of_table(&base.value)
            || [base, json].iter().any(|arg| arg.name.is_some())
        {
            return Ok(None);
        }
        let Type::Record(row) = self.bind(names, &base.value)?.ty else { return Ok(None) };
        let Some(of) = &row.of else { return Ok(None) };
        let table = self.catalog.table_by_id(of.table);
        let schema = self.catalog.schema_name(table.schema).to_owned();
        let path = vec![schema, table.name.clone()];
        let columns: Vec<String> = table.visible().map(|(_, c)| c.name.clone()).collect();
        let text = format!(
            "SELECT 1 FROM (SELECT 1 AS $b, \"{}\"('', '{name}') AS $a) AS given,
                    LATERAL (SELECT \"{RECORD}\"($a, '{name}') AS $v) AS e",
            super::json::GIVEN
        );
        let mut query = super::written::filled(&text, call, position)?;
        let QueryBody::Select(select) = &mut query.body else { return Ok(None) };
        let expr = |kind| Expr { position, kind };
        let own = |name: &str| expr(ExprKind::Column(Name { parts: vec![format!("our {name}")], position }));
        let cast = |value: Expr, kind| expr(ExprKind::Cast(Box::new(value), TypeName { position, kind }));
        let jsonb = TypeNameKind::Known(Type::Jsonb);
        let mut fields = Vec::new();
        for column in columns {
            let part = |parts: Vec<String>| Name { parts, position };
            let ty = TypeName {
                position,
                kind: TypeNameKind::OfColumn(part(path.iter().cloned().chain([column.clone()]).collect())),
            };
            let kept = expr(ExprKind::Field(Box::new(own("b")), column.clone()));
            let text = expr(ExprKind::String(column.clone()));
            let has = ExprKind::Binary(
                BinaryOp::Json(JsonOp::Has),
                Box::new(cast(own("v"), jsonb.clone())),
                Box::new(text),
            );
            let has = expr(has);
            let read = field(column, ty, position).expr;
            let whens = vec![(has, read)];
            fields.push(expr(ExprKind::Case { operand: None, whens, otherwise: Some(Box::new(kept)) }));
        }
        let row = cast(expr(ExprKind::Row(fields)), TypeNameKind::Named(Name { parts: path, position }));
        // Of no value the row stays what it is.
        let is_null = ExprKind::Is { expr: Box::new(own("a")), what: IsWhat::Null, negated: false };
        let whens = vec![(expr(is_null), own("b"))];
        let item = expr(ExprKind::Case { operand: None, whens, otherwise: Some(Box::new(row)) });
        select.items = vec![SelectItem { expr: item, alias: Some(name.to_owned()) }];
        Ok(Some(expr(ExprKind::Subquery(Box::new(query)))))
    }

    /// The functions that the queries call.
    pub(super) fn record_function(
        &mut self,
        name: &str,
        args: &[Bound],
        position: u32,
    ) -> Result<Option<Bound>> {
        Ok(Some(match (name, args) {
            (RECORD, [value, function]) => {
                let args = vec![value.clone(), self.operand(function.clone(), &Type::Text)?];
                Bound::apply(Func::JsonRecord, args, value.ty.clone(), position)
            }
            (RECORDS, [value, function]) => {
                let ty = Type::Array(Box::new(value.ty.clone()));
                let args = vec![value.clone(), self.operand(function.clone(), &Type::Text)?];
                Bound::apply(Func::JsonRecords, args, ty, position)
            }
            (FIELD, [value, key, of]) => {
                let key = self.operand(key.clone(), &Type::Text)?;
                self.record_field(value.clone(), key, of, position)?
            }
            _ => return Ok(None),
        }))
    }

    fn record_field(&mut self, value: Bound, key: Bound, of: &Bound, position: u32) -> Result<Bound> {
        let (ty, json) = (of.ty.clone(), value.ty.clone());
        let domain = match &of.kind {
            BoundKind::InDomain(_, domain) => Some(*domain),
            _ => None,
        };
        let text = Bound::apply(Func::JsonFieldText, vec![value.clone(), key.clone()], Type::Text, position);
        let read = match &ty {
            // A null of JSON is one of SQL.
            Type::Jsonb | &Type::JSON => {
                let is_null = Bound::apply(Func::IsNull, vec![text], Type::Bool, position);
                let part = Bound::apply(Func::JsonField, vec![value, key], json, position);
                let part = self.coerce(part, &ty, CastContext::Explicit)?;
                let null = Bound::null(ty.clone(), position);
                Bound::new(BoundKind::Case(vec![(is_null, null)], Box::new(part)), ty, position)
            }
            Type::Record(row) if row.of.is_some() => {
                self.check_row_of_text(row, position)?;
                let is_null = Bound::apply(Func::IsNull, vec![text], Type::Bool, position);
                let part = Bound::apply(Func::JsonField, vec![value, key], json, position);
                let whole = self.with_let(part, |l, part| {
                    let mut fields = Vec::with_capacity(row.len());
                    for (name, of) in row.iter() {
                        let key = Bound::constant(Datum::Text(name.clone()), Type::Text, position);
                        let of = Bound::null(of.clone(), position);
                        fields.push(l.record_field(part.clone(), key, &of, position)?);
                    }
                    Ok(Bound::apply(Func::ArrayMake, fields, Type::Record(row.clone()), position))
                })?;
                let null = Bound::null(ty.clone(), position);
                Bound::new(BoundKind::Case(vec![(is_null, null)], Box::new(whole)), ty.clone(), position)
            }
            Type::Array(_) => {
                let texts = Type::Array(Box::new(Type::Text));
                let parts = Bound::apply(Func::JsonFieldTexts, vec![value, key], texts, position);
                Bound::new(BoundKind::Cast(Box::new(parts), false), ty, position)
            }
            Type::Record(_) | Type::Void => {
                let message = format!("a field of type {ty} is not supported");
                return Err(Error::unsupported(message, "Read it as jsonb.").at(position));
            }
            Type::Text | Type::Varchar(None) => Bound::new(BoundKind::Relabel(Box::new(text)), ty, position),
            _ => Bound::new(BoundKind::Cast(Box::new(text), false), ty, position),
        };
        debug_assert!(matches!(&of.kind, BoundKind::Const(Datum::Null) | BoundKind::InDomain(..)));
        Ok(self.in_domain(read, domain))
    }
}
