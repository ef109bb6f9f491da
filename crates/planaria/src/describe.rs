//! Definitions for people: what `\d` and `\df` show.

use planaria_base::{Error, Result, SchemaId, SqlState};
use planaria_catalog::{Catalog, ColumnDefault, Mode, Procedure, Returns, Table, UniqueKind, Wanted};
use std::fmt::Write;

/// Tables and views, a line each.
pub(crate) fn tables(catalog: &Catalog) -> String {
    let tables = catalog.tables.iter().flatten().map(|t| (t.schema, &t.name, "table"));
    let views = catalog.plain_views().map(|v| (v.schema, &v.name, "view"));
    let mut names: Vec<(String, &str)> = tables
        .chain(views)
        .map(|(schema, name, kind)| match schema {
            SchemaId::PUBLIC => (name.clone(), kind),
            schema => (format!("{}.{name}", catalog.schema_name(schema)), kind),
        })
        .collect();
    names.sort_unstable();
    let mut out = String::new();
    for (name, kind) in &names {
        let _ = writeln!(out, " {name:<32} {kind}");
    }
    let _ = writeln!(out, "({} relations)", names.len());
    out
}

/// Columns, indexes and constraints of a table; the query of a view.
pub(crate) fn table(catalog: &Catalog, name: &str) -> Result<String> {
    let mut out = String::new();
    let in_schema = name.split_once('.').and_then(|(schema, local)| Some((catalog.schema(schema)?, local)));
    let wanted: Wanted<'_> = in_schema.map_or_else(|| name.into(), Wanted::from);
    if let Some(view) = catalog.view(wanted) {
        let _ = writeln!(out, "View {name}\n{}", view.query);
        return Ok(out);
    }
    let table = catalog.table(wanted).ok_or_else(|| {
        Error::new(SqlState::UNDEFINED_TABLE, format!("relation \"{name}\" does not exist"))
    })?;
    let _ = writeln!(out, "Table {name}");
    for (_, column) in table.visible() {
        let not_null = if column.not_null { "not null" } else { "" };
        let default = match &column.default {
            ColumnDefault::None => String::new(),
            ColumnDefault::Generated(e) => format!("generated always as ({e}) stored"),
            ColumnDefault::Expression(e) => format!("default {e}"),
            ColumnDefault::Sequence(_) => "default nextval".to_owned(),
            ColumnDefault::Identity { always, .. } => {
                format!("generated {} as identity", if *always { "always" } else { "by default" })
            }
        };
        let line = format!(" {:<24} {:<28} {not_null:<8} {default}", column.name, column.ty.to_string());
        let _ = writeln!(out, "{}", line.trim_end());
    }
    let mut shown =
        table.all_indexes().enumerate().filter(|(at, _)| table.index_form(*at).is_some()).peekable();
    if shown.peek().is_some() {
        out.push_str("Indexes:\n");
    }
    for (i, index) in shown {
        let kind = match (i, index.is_unique()) {
            (0, _) => "PRIMARY KEY",
            _ if index.unique_later() == Some(UniqueKind::Primary) => "PRIMARY KEY",
            (_, true) => "UNIQUE",
            _ if index.excludes() => "EXCLUDE",
            _ => index.shown_method(),
        };
        let keys = match index.columns.is_empty() {
            true => (0..index.key_count()).map(|at| table.key_text(index, at)).collect::<Vec<_>>().join(", "),
            false => columns(table, &index.columns),
        };
        let _ = writeln!(out, "    {} {kind} ({keys})", index.name);
    }
    for check in &table.checks {
        let _ = writeln!(out, "Check {}: {}", check.name, check.expression);
    }
    for key in &table.foreign_keys {
        let parent = catalog.table_by_id(key.parent);
        let _ = writeln!(
            out,
            "Foreign key {}: ({}) REFERENCES {} ({})",
            key.name,
            columns(table, &key.columns),
            parent.name,
            columns(parent, &key.parent_columns)
        );
    }
    Ok(out)
}

fn columns(table: &Table, ids: &[planaria_base::ColumnId]) -> String {
    ids.iter().map(|c| table.columns[c.index()].name.as_str()).collect::<Vec<_>>().join(", ")
}

/// Procedures and functions, a line each.
pub(crate) fn procedures(catalog: &Catalog) -> String {
    let mut current: Vec<&Procedure> = catalog.procedures.definitions().filter(|p| p.current).collect();
    current.sort_by(|a, b| a.name.cmp(&b.name));
    let mut out = String::new();
    for p in &current {
        let parameters: Vec<String> = p
            .parameters
            .iter()
            .filter(|q| q.mode != Mode::Table)
            .map(|q| {
                let mode = match q.mode {
                    Mode::In | Mode::Table => "",
                    Mode::Out => "OUT ",
                    Mode::InOut => "INOUT ",
                    Mode::Variadic => "VARIADIC ",
                };
                format!("{mode}{} {}", q.name, q.ty)
            })
            .collect();
        let answer = match &p.returns {
            Returns::Procedure => String::new(),
            Returns::Scalar(ty) => format!(" -> {ty}"),
            Returns::SetOf(ty) => format!(" -> setof {ty}"),
            Returns::SetOfTable(t) | Returns::RowOf(t) => match &catalog.tables[t.index()] {
                Some(t) => format!(" -> rows of {}", t.name),
                None => " -> rows of a dropped table".to_owned(),
            },
            Returns::Table | Returns::SetOfOutRow => " -> rows".to_owned(),
            Returns::OutRow => " -> row".to_owned(),
            Returns::Record { set: true, .. } => " -> rows".to_owned(),
            Returns::Record { set: false, .. } => " -> row".to_owned(),
            Returns::Trigger => " -> trigger".to_owned(),
        };
        let _ = writeln!(out, " {}({}){answer}", p.name, parameters.join(", "));
    }
    let _ = writeln!(out, "({} routines)", current.len());
    out
}
