//! Types as columns and parameters may have them.

use crate::ast::{TypeName, TypeNameKind};
use planaria_base::{Error, Result, SqlState, TableId, Type};
use planaria_catalog::Catalog;

/// The type of a column; `Some` integer type for `serial`.
pub(super) struct ColumnType {
    pub(super) ty: Type,
    pub(super) serial: bool,
}

/// A type that can be stored.
pub(super) fn column_type(name: &TypeName, column: &str) -> Result<ColumnType> {
    let unsupported = |what: String, hint: &str| Err(Error::unsupported(what, hint).at(name.position));
    match &name.kind {
        TypeNameKind::Known(Type::Array(_)) => unsupported(
            format!("column \"{column}\" of an array type is not supported"),
            "Arrays can be arguments and variables; store the elements as rows.",
        ),
        TypeNameKind::Known(Type::Unknown | Type::Void) | TypeNameKind::Pseudo(_) | TypeNameKind::Record => {
            Err(Error::new(SqlState::INVALID_TABLE_DEFINITION, format!("column \"{column}\" has a pseudo-type"))
                .at(name.position))
        }
        TypeNameKind::Known(ty) => Ok(ColumnType { ty: ty.clone(), serial: false }),
        TypeNameKind::Serial(ty) => Ok(ColumnType { ty: ty.clone(), serial: true }),
        TypeNameKind::Named(n) => Err(no_type(&n.parts.join(".")).at(name.position)),
        TypeNameKind::OfColumn(_) | TypeNameKind::RowOf(_) => unsupported(
            format!("column \"{column}\" of a referenced type is not supported"),
            "Write the type out.",
        ),
    }
}

fn no_type(name: &str) -> Error {
    Error::new(SqlState::UNDEFINED_OBJECT, format!("type \"{name}\" does not exist"))
}

/// What a parameter or result may be.
pub(super) enum RoutineType {
    Value(Type),
    RowOf(TableId),
    Record,
}

/// The type of a parameter or result; modifiers are dropped, as PostgreSQL does.
pub(super) fn routine_type(catalog: &Catalog, name: &TypeName) -> Result<RoutineType> {
    let plain = |ty: &Type| match ty {
        Type::Array(of) => Type::Array(Box::new(of.base())),
        // char(n) without its length behaves as text without trailing blanks.
        other => other.base(),
    };
    match &name.kind {
        TypeNameKind::Known(ty) => Ok(RoutineType::Value(plain(ty))),
        TypeNameKind::Record => Ok(RoutineType::Record),
        TypeNameKind::Named(n) | TypeNameKind::RowOf(n) => {
            let local = n.parts.last().map_or("", String::as_str);
            match catalog.table(local) {
                Some(table) => Ok(RoutineType::RowOf(table.id)),
                None => Err(no_type(local).at(name.position)),
            }
        }
        TypeNameKind::OfColumn(n) => {
            let found = match n.parts.as_slice() {
                [.., table, column] => catalog.table(table).and_then(|t| t.column(column)),
                _ => None,
            };
            match found {
                Some((_, column)) => Ok(RoutineType::Value(plain(&column.ty))),
                None => Err(Error::new(
                    SqlState::UNDEFINED_COLUMN,
                    format!("column \"{}\" does not exist", n.parts.join(".")),
                )
                .at(name.position)),
            }
        }
        TypeNameKind::Pseudo(p) if p == "trigger" || p == "event_trigger" => {
            Err(Error::unsupported("triggers are not supported", "Do the work in the procedure that writes.")
                .at(name.position))
        }
        TypeNameKind::Pseudo(p) => Err(Error::unsupported(
            format!("the pseudo-type {p} is not supported"),
            "Declare one routine for each type.",
        )
        .at(name.position)),
        TypeNameKind::Serial(_) => Err(no_type("serial").at(name.position)),
    }
}
