//! Records out of JSON: `json_to_record`, `json_to_recordset`, `json_populate_record`, .. and those of `jsonb`, in FROM.
//!
//! A call is a query over the value, one expression a column: what stands at the column's name, read as a value of the
//! column's type.

use super::Lowerer;
use super::bind_call::{is_own, named};
use super::bound::{Bound, BoundKind};
use super::names::Names;
use super::types::CastContext;
use planaria_base::types::RowType;
use planaria_base::{Datum, Error, Result, SqlState, Type};
use planaria_catalog::Catalog;
use planaria_ir::{Func, ProgramKind};
use planaria_syntax::ast::{
    Argument, BinaryOp, Expr, ExprKind, FunctionCall, IsWhat, JsonOp, Name, Query, QueryBody, SelectItem,
    TypeName, TypeNameKind,
};
use std::borrow::Cow;

/// Functions that only these queries call: no name of SQL has a blank, but for one in quotes.
pub(super) const RECORD: &str = "json record";
pub(super) const RECORDS: &str = "json records";
pub(super) const FIELD: &str = "json field";

/// The query that a call in FROM stands for; `None` where it is no such function's. 42601 where it has a list of columns
/// and should not, or the other way round. `base`: the row type of a row that gives what the JSON does not have.
pub(super) fn query(
    catalog: &Catalog,
    call: &FunctionCall,
    definitions: &[(String, TypeName)],
    base: Option<&Name>,
    position: u32,
) -> Result<Option<Query>> {
    let wanted = named(catalog, &call.name)?;
    if is_own(wanted) {
        return Ok(None);
    }
    let name = wanted.local;
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
        (_, [given, value]) if populates(name) && known && definitions.is_empty() => {
            (value, columns_of(catalog, name, &given.value, base)?)
        }
        _ if populates(name) && !definitions.is_empty() => return Err(what("only allowed")),
        _ => return Ok(None),
    };
    let row = if base.is_some() { ", '' AS $b" } else { "" };
    let text = match name.ends_with("set") {
        true => format!(
            "SELECT 1 FROM (SELECT \"{}\"('', '{name}') AS $a{row}) AS given, pg_catalog.unnest(\"{RECORDS}\"($a, '{name}')) AS e($v)",
            super::json::GIVEN
        ),
        false => format!(
            "SELECT 1 FROM (SELECT \"{}\"('', '{name}') AS $a{row}) AS given, LATERAL (SELECT \"{RECORD}\"($a, '{name}') AS $v) AS e",
            super::json::GIVEN
        ),
    };
    let mut args = vec![value.clone()];
    args.extend(base.map(|_| call.args[0].clone()));
    let value = FunctionCall { args, ..call.clone() };
    let mut query = super::written::filled(&text, &value, position)?;
    if let QueryBody::Select(select) = &mut query.body {
        let one = |(name, ty)| match base {
            Some(_) => field_or(field(name, ty, position)),
            None => field(name, ty, position),
        };
        select.items = columns.into_iter().map(one).collect();
    }
    Ok(Some(query))
}

/// What a call elsewhere stands for: the row, or, one after the other, the rows of `.._recordset`.
pub(super) fn value(
    catalog: &Catalog,
    call: &FunctionCall,
    base: Option<&Name>,
    position: u32,
) -> Result<Option<Expr>> {
    let name = call.name.parts.last().map_or("", String::as_str);
    if !populates(name) {
        return Ok(None);
    }
    let Some(mut query) = query(catalog, call, &[], base, position)? else { return Ok(None) };
    let expr = |kind| Expr { position, kind };
    let ty = match (base, &call.args[0].value.kind) {
        (Some(name), _) => &TypeName { position, kind: TypeNameKind::Named(name.clone()) },
        (None, ExprKind::Cast(_, ty)) => ty,
        (None, _) => return Ok(None),
    };
    let QueryBody::Select(select) = &mut query.body else { return Ok(None) };
    let fields = std::mem::take(&mut select.items).into_iter().map(|item| item.expr).collect();
    let row = expr(ExprKind::Cast(Box::new(expr(ExprKind::Row(fields))), ty.clone()));
    let set = name.ends_with("set");
    let item = if set {
        row
    } else {
        // Of no value there is no row but the one that is given.
        let given = expr(ExprKind::Column(Name { parts: vec!["our a".to_owned()], position }));
        let is_null = ExprKind::Is { expr: Box::new(given), what: IsWhat::Null, negated: false };
        let otherwise = base.map_or(ExprKind::Null, |_| of_base(position));
        let whens = vec![(expr(is_null), expr(otherwise))];
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

/// Names and types of the columns of the table whose row type a NULL is of.
fn columns_of(
    catalog: &Catalog,
    function: &str,
    base: &Expr,
    of: Option<&Name>,
) -> Result<Vec<(String, TypeName)>> {
    let unsupported = || {
        let hint = "Give it a row, or NULL, of the row type of a table or of a composite type.";
        Error::unsupported(format!("{function} over this row is not supported"), hint).at(base.position)
    };
    let path = match (of, null_of(base)) {
        (Some(path), _) | (None, Some(path)) => path,
        _ => return Err(unsupported()),
    };
    let table = named(catalog, path).ok().and_then(|wanted| catalog.of_rows(catalog.located(wanted)));
    let Some(table) = table else { return Err(unsupported()) };
    let of = |column: &str| {
        let mut parts = path.parts.clone();
        parts.push(column.to_owned());
        let name = Name { parts, position: base.position };
        TypeName { position: base.position, kind: TypeNameKind::OfColumn(name) }
    };
    Ok(table.visible().map(|(_, c)| (c.name.clone(), of(&c.name))).collect())
}

fn populates(name: &str) -> bool {
    matches!(
        name,
        "json_populate_record"
            | "jsonb_populate_record"
            | "json_populate_recordset"
            | "jsonb_populate_recordset"
    )
}

/// The row type that a NULL is of.
fn null_of(base: &Expr) -> Option<&Name> {
    match &base.kind {
        ExprKind::Cast(inner, TypeName { kind: TypeNameKind::Named(path), .. })
            if inner.kind == ExprKind::Null =>
        {
            Some(path)
        }
        _ => None,
    }
}

/// The row that is given.
fn of_base(position: u32) -> ExprKind {
    ExprKind::Column(Name { parts: vec!["our b".to_owned()], position })
}

/// The same where the JSON has the key, else the field of the row that is given.
fn field_or(item: SelectItem) -> SelectItem {
    let SelectItem { expr: field, alias } = item;
    let position = field.position;
    let expr = |kind| Expr { position, kind };
    let key = alias.clone().unwrap_or_default();
    let value = expr(ExprKind::Column(Name { parts: vec!["our v".to_owned()], position }));
    let jsonb = TypeName { position, kind: TypeNameKind::Known(Type::Jsonb) };
    let value = expr(ExprKind::Cast(Box::new(value), jsonb));
    let has = BinaryOp::Json(JsonOp::Has);
    let exists = expr(ExprKind::Binary(has, Box::new(value), Box::new(expr(ExprKind::String(key.clone())))));
    let before = expr(ExprKind::Field(Box::new(expr(of_base(position))), key));
    let mut field = field;
    if let ExprKind::Call(call) = &mut field.kind {
        call.args.push(Argument { name: None, value: before.clone() });
    }
    let whens = vec![(exists, field)];
    let chosen = ExprKind::Case { operand: None, whens, otherwise: Some(Box::new(before)) };
    SelectItem { expr: expr(chosen), alias }
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
    /// A call with its arguments in the order of the function, where some are named.
    pub(super) fn ordered<'c>(&self, call: &'c FunctionCall, position: u32) -> Cow<'c, FunctionCall> {
        let name = call.name.parts.last().map_or("", String::as_str);
        match super::parts::arguments_in_order(name, call, position) {
            Some(args) if self.catalog.procedures_named(name).next().is_none() => {
                Cow::Owned(FunctionCall { args, ..call.clone() })
            }
            _ => Cow::Borrowed(call),
        }
    }

    /// The row type of the first argument of a function that fills a row, unless that is a NULL of a type that is named.
    pub(super) fn populated(&mut self, names: &Names<'_>, call: &FunctionCall) -> Result<Option<Name>> {
        let name = call.name.parts.last().map_or("", String::as_str);
        let [base, _] = &call.args[..] else { return Ok(None) };
        if !populates(name) || is_own(named(self.catalog, &call.name)?) || null_of(&base.value).is_some() {
            return Ok(None);
        }
        // Of a row that is filled in turn nothing has to be analysed: levels of them would be analysed twice each.
        if let ExprKind::Call(inner) = &base.value.kind
            && let [first, _] = &inner.args[..]
            && inner.name.parts.last().is_some_and(|name| populates(name) && !name.ends_with("set"))
            && !is_own(named(self.catalog, &inner.name)?)
            && let Some(of) = match null_of(&first.value) {
                Some(of) => Some(of.clone()),
                None => self.populated(names, inner)?,
            }
        {
            return Ok(Some(of));
        }
        let row = match self.looked_at(names, &base.value)? {
            Type::Record(row) => row,
            Type::Unknown | Type::Void => return Ok(None),
            _ => {
                let message = format!("first argument of {name} must be a row type");
                return Err(Error::new(SqlState::DATATYPE_MISMATCH, message).at(base.value.position));
            }
        };
        let Some(of) = row.of else { return Ok(None) };
        let table = self.catalog.table_by_id(of.table);
        let parts = vec![self.catalog.schema_name(table.schema).to_owned(), table.name.clone()];
        Ok(Some(Name { parts, position: base.value.position }))
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
                self.record_field(value.clone(), key, of, None, position)?
            }
            (FIELD, [value, key, of, given]) => {
                let key = self.operand(key.clone(), &Type::Text)?;
                // Logs have calls of routines that left what is within a row to the JSON alone.
                let given = given.clone();
                let given = (self.program.kind == ProgramKind::Statement && !self.kept_text).then_some(given);
                self.record_field(value.clone(), key, of, given, position)?
            }
            _ => return Ok(None),
        }))
    }

    /// 0A000 for rows, at whatever depth, that have columns of domains.
    fn check_rows_of_text(&self, ty: &Type, position: u32) -> Result<()> {
        match ty {
            Type::Record(row) => {
                self.check_row_of_text(row, position)?;
                row.iter().try_for_each(|(_, of)| self.check_rows_of_text(of, position))
            }
            Type::Array(of) => self.check_rows_of_text(of, position),
            _ => Ok(()),
        }
    }

    /// What stands at a key; `given`: the value of a row that has what a row there does not.
    fn record_field(
        &mut self,
        value: Bound,
        key: Bound,
        of: &Bound,
        given: Option<Bound>,
        position: u32,
    ) -> Result<Bound> {
        let (ty, json) = (of.ty.clone(), value.ty.clone());
        let domain = match &of.kind {
            BoundKind::InDomain(_, domain) => *domain,
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
                let is_null = Bound::apply(Func::IsNull, vec![text.clone()], Type::Bool, position);
                let part = Bound::apply(Func::JsonField, vec![value, key], json, position);
                // A string is the literal of a row; to programs of earlier forms it has none of the fields.
                let literal = (self.form > 1).then(|| {
                    let kind = Bound::apply(Func::JsonTypeof, vec![part.clone()], Type::Text, position);
                    let string = Bound::constant(Datum::Text("string".to_owned()), Type::Text, position);
                    let is = Bound::apply(Func::TextEq, vec![kind, string], Type::Bool, position);
                    (is, Bound::new(BoundKind::Cast(Box::new(text), false), ty.clone(), position))
                });
                let whole = self.with_let(part, |l, part| {
                    let mut fields = Vec::with_capacity(row.len());
                    for (at, (name, of)) in row.iter().enumerate() {
                        let key = Bound::constant(Datum::Text(name.clone()), Type::Text, position);
                        let of = Bound::null(of.clone(), position);
                        let Some(given) = &given else {
                            fields.push(l.record_field(part.clone(), key, &of, None, position)?);
                            continue;
                        };
                        let given = super::rows::nth_field(given.clone(), at, of.ty.clone(), position);
                        let jsonb = l.coerce(part.clone(), &Type::Jsonb, CastContext::Explicit)?;
                        let has =
                            Bound::apply(Func::JsonbHas, vec![jsonb, key.clone()], Type::Bool, position);
                        let field = l.record_field(part.clone(), key, &of, Some(given.clone()), position)?;
                        let chosen = BoundKind::Case(vec![(has, field)], Box::new(given));
                        fields.push(Bound::new(chosen, of.ty, position));
                    }
                    Ok(Bound::apply(Func::ArrayMake, fields, Type::Record(row.clone()), position))
                })?;
                let null = Bound::null(ty.clone(), position);
                let whens = std::iter::once((is_null, null)).chain(literal).collect();
                Bound::new(BoundKind::Case(whens, Box::new(whole)), ty.clone(), position)
            }
            Type::Array(of) if let Type::Record(row) = &**of => {
                self.check_rows_of_text(of, position)?;
                let mut made_of = Vec::new();
                write_attributes(row, &mut made_of);
                let made_of = Datum::Text(String::from_utf8_lossy(&made_of).into_owned());
                let args = vec![value, key, Bound::constant(made_of, Type::Text, position)];
                let texts = Type::Array(Box::new(Type::Text));
                let parts = Bound::apply(Func::JsonFieldRows, args, texts, position);
                Bound::new(BoundKind::Cast(Box::new(parts), false), ty, position)
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

/// What rows are made of, as [`Func::JsonFieldRows`] reads it.
fn write_attributes(row: &RowType, out: &mut Vec<u8>) {
    out.push(b'{');
    for (at, (name, ty)) in row.iter().enumerate() {
        if at > 0 {
            out.push(b',');
        }
        planaria_base::json::quote(out, name);
        out.push(b':');
        write_made_of(ty, out);
    }
    out.push(b'}');
}

fn write_made_of(ty: &Type, out: &mut Vec<u8>) {
    match ty {
        Type::Record(row) => write_attributes(row, out),
        Type::Array(of) => {
            out.push(b'[');
            write_made_of(of, out);
            out.push(b']');
        }
        Type::Jsonb | &Type::JSON => out.push(b'1'),
        _ => out.push(b'0'),
    }
}
