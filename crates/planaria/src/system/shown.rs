//! Expressions and queries as they are shown: in PostgreSQL's normal form ([`planaria_sql::deparse`]), or, where that cannot be
//! had, as they were written.

use planaria_base::oid::Oid;
use planaria_base::text_io::quote_ident;
use planaria_base::{Datum, Type};
use planaria_catalog::oids::Object;
use planaria_catalog::{Catalog, Check, Column, ColumnDefault, Domain, Parameter, Table, View};
use planaria_sql::deparse::{self, Deparsed, Over, Wanted};
use planaria_sql::lower::{self, ParamTypes, shown_expression, shown_query};
use planaria_syntax::ast::{Argument, Expr, ExprKind};

/// A condition over a table's columns, if there is a normal form of it.
pub(super) fn condition(catalog: &Catalog, table: &Table, text: &str, pretty: bool) -> Option<String> {
    deparse::expression(catalog, text, Over::Table(table), Wanted::Condition, pretty).map(|e| e.text)
}

/// The condition of a check constraint, as `conbin` has it.
pub(super) fn check(catalog: &Catalog, table: &Table, check: &Check) -> String {
    condition(catalog, table, &check.expression, false)
        .unwrap_or_else(|| shown_expression(catalog, &check.expression))
}

/// `CHECK (..)`, over a table's columns or a domain's VALUE.
pub(super) fn check_text(catalog: &Catalog, over: Over<'_>, check: &Check, pretty: bool) -> String {
    let open = if check.not_valid { " NOT VALID" } else { "" };
    match deparse::expression(catalog, &check.expression, over, Wanted::Condition, pretty) {
        Some(e) => format!("CHECK ({}){open}", e.text),
        None => {
            let e = shown_expression(catalog, &check.expression);
            if pretty { format!("CHECK ({e}){open}") } else { format!("CHECK (({e})){open}") }
        }
    }
}

/// The condition of a domain's constraint.
pub(super) fn domain_check(catalog: &Catalog, domain: &Domain, check: &Check) -> String {
    let over = Over::Value(&domain.base, domain.over);
    deparse::expression(catalog, &check.expression, over, Wanted::Condition, false)
        .map_or_else(|| shown_expression(catalog, &check.expression), |e| e.text)
}

/// A key of an index or of a partitioned table: in parentheses, unless it is a call.
pub(super) fn key(catalog: &Catalog, table: &Table, text: &str, pretty: bool) -> Option<String> {
    let e = expression_of(catalog, table, text, pretty)?;
    Some(if e.call || e.column { e.text } else { format!("({})", e.text) })
}

/// A key of an index as errors show it, which have what `pg_get_indexdef` has of a column.
pub(crate) fn key_of_errors(catalog: &Catalog, table: &Table, text: &str) -> Option<String> {
    key(catalog, table, text, true)
}

fn expression_of(catalog: &Catalog, table: &Table, text: &str, pretty: bool) -> Option<Deparsed> {
    deparse::expression(catalog, text, Over::Table(table), Wanted::Any, pretty)
}

/// An expression over a table's columns.
pub(super) fn expression(catalog: &Catalog, table: &Table, text: &str) -> String {
    expression_of(catalog, table, text, false).map_or_else(|| shown_expression(catalog, text), |e| e.text)
}

/// The same without the parentheses that nobody needs.
pub(super) fn plain_expression(catalog: &Catalog, table: &Table, text: &str) -> String {
    expression_of(catalog, table, text, true).map_or_else(|| shown_expression(catalog, text), |e| e.text)
}

/// An expression of a relation that is in normal form, without the parentheses that nobody needs.
pub(super) fn plain(catalog: &Catalog, text: &str, relation: Oid) -> Option<String> {
    let over = match catalog.oids.object(relation) {
        Some(Object::Table(id)) => Over::Table(catalog.tables.get(id.index())?.as_deref()?),
        _ => Over::Nothing,
    };
    deparse::plain(catalog, text, over)
}

/// A value that is stored as some type.
fn stored(catalog: &Catalog, text: &str, over: Over<'_>, wanted: Wanted<'_>, ty: &Type) -> String {
    match deparse::expression(catalog, text, over, wanted, false) {
        Some(e) => e.text,
        None => shown_expression(catalog, &typed(text, ty)),
    }
}

/// A column's default.
pub(super) fn default_text(catalog: &Catalog, table: &Table, column: &Column) -> Option<String> {
    let wanted = Wanted::Stored(&column.ty, column.domain);
    match &column.default {
        ColumnDefault::Expression(text) => Some(stored(catalog, text, Over::Nothing, wanted, &column.ty)),
        ColumnDefault::Generated(text) => {
            let e = deparse::expression(catalog, text, Over::Table(table), wanted, false);
            Some(e.map_or_else(|| shown_expression(catalog, text), |e| e.text))
        }
        ColumnDefault::Sequence(id) => {
            let sequence = catalog.sequences[id.index()].as_ref()?;
            let literal = catalog.shown_relation(sequence.schema, &sequence.name).replace('\'', "''");
            Some(format!("nextval('{literal}'::regclass)"))
        }
        ColumnDefault::None | ColumnDefault::Identity { .. } => None,
    }
}

/// The same of a view's column.
pub(super) fn view_default(catalog: &Catalog, text: &str, ty: &Type) -> String {
    stored(catalog, text, Over::Nothing, Wanted::Stored(ty, None), ty)
}

/// The same of a domain.
pub(super) fn domain_default(catalog: &Catalog, domain: &Domain, text: &str) -> String {
    stored(catalog, text, Over::Nothing, Wanted::Stored(&domain.base, domain.over), &domain.base)
}

/// The same of a parameter.
pub(super) fn parameter_default(catalog: &Catalog, parameter: &Parameter, text: &str) -> String {
    let wanted = Wanted::Stored(&parameter.ty, parameter.domain);
    stored(catalog, text, Over::Nothing, wanted, &parameter.ty)
}

/// WHEN of a trigger.
pub(super) fn trigger_condition(catalog: &Catalog, table: &Table, text: &str, pretty: bool) -> String {
    deparse::expression(catalog, text, Over::Rows(table), Wanted::Condition, pretty)
        .map_or_else(|| shown_expression(catalog, text), |e| e.text)
}

/// A view's query.
pub(super) fn view(catalog: &Catalog, view: &View, pretty: bool) -> String {
    match deparse::view(catalog, view, pretty) {
        Some(query) => format!("{query};"),
        None => format!(" {};", view_as_written(catalog, view)),
    }
}

/// The query as it was written. Whoever makes the view again from that, a dump for one, gives it no names beside: where it has other
/// ones than its query, these are in the query.
fn view_as_written(catalog: &Catalog, view: &View) -> String {
    let query = shown_query(catalog, view.query.trim().trim_end_matches(';'));
    let own = planaria_syntax::parse::statements(&view.query).ok().and_then(|statements| {
        let program = lower::lower_statement(catalog, statements.first()?, &ParamTypes::default()).ok()?;
        Some(program.outputs.into_iter().map(|o| o.name).collect::<Vec<String>>())
    });
    match own {
        Some(own) if own.iter().zip(&view.columns).any(|(own, name)| own != name) => {
            let names = own.iter().enumerate().map(|(i, own)| view.columns.get(i).unwrap_or(own));
            let names = names.map(|name| quote_ident(name)).collect::<Vec<String>>().join(", ");
            format!("SELECT {names}\n   FROM ( {query}) {}({names})", quote_ident(&view.name))
        }
        _ => query,
    }
}

/// An expression's text as it was written; a bare string literal with the type it stands for.
fn typed(text: &str, ty: &Type) -> String {
    let Ok(expr) = planaria_syntax::parse::expression(text) else { return text.to_owned() };
    match expr.kind {
        // PostgreSQL keeps the value: what is read back as the same needs no type.
        ExprKind::String(value)
            if *ty == Type::Int4 && value.parse::<u32>().is_ok_and(|n| n <= i32::MAX as u32) =>
        {
            value
        }
        ExprKind::String(value) if *ty == Type::Bool => match Datum::parse(ty, &value) {
            Ok(value) => (if value.display(ty) == "t" { "true" } else { "false" }).to_owned(),
            Err(_) => format!("{text}::{ty}"),
        },
        ExprKind::String(_) | ExprKind::Null => {
            let ty = if matches!(ty, Type::Char(_)) { Type::Char(0) } else { ty.base() };
            format!("{text}::{ty}")
        }
        ExprKind::SqlValue(keyword, None) => keyword.to_uppercase(),
        ExprKind::Call(call)
            if call.name.parts.last().is_some_and(|name| name == "nextval")
                && matches!(
                    &call.args[..],
                    [Argument { value: Expr { kind: ExprKind::String(_), .. }, .. }]
                ) =>
        {
            text.strip_suffix(')').map_or_else(|| text.to_owned(), |call| format!("{call}::regclass)"))
        }
        _ => text.to_owned(),
    }
}
