//! Types: names, conversions between them, the common type of several.

use crate::ast::{TypeName, TypeNameKind};
use planaria_base::{Error, Result, SqlState, Type};
use planaria_catalog::Catalog;

/// Why a value is converted; decides which conversions are allowed.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum CastContext {
    /// The user did not ask: operators, function arguments.
    Implicit,
    /// Into a column or variable.
    Assignment,
    /// CAST, `::`
    Explicit,
}

/// The type that a type name stands for.
pub(super) fn resolve(catalog: &Catalog, name: &TypeName) -> Result<Type> {
    match &name.kind {
        TypeNameKind::Known(ty) | TypeNameKind::Serial(ty) => Ok(ty.clone()),
        TypeNameKind::OfColumn(path) => {
            let [.., table, column] = &path.parts[..] else {
                return Err(unknown(&path.parts.join("."), name.position));
            };
            let found = catalog.table(table).and_then(|t| t.column(column));
            found.map(|(_, c)| c.ty.clone()).ok_or_else(|| {
                let e = match catalog.table(table) {
                    None => {
                        Error::new(SqlState::UNDEFINED_TABLE, format!("relation \"{table}\" does not exist"))
                    }
                    Some(_) => Error::new(
                        SqlState::UNDEFINED_COLUMN,
                        format!("column \"{column}\" of relation \"{table}\" does not exist"),
                    ),
                };
                e.at(name.position)
            })
        }
        TypeNameKind::Named(path) | TypeNameKind::RowOf(path) => {
            Err(unknown(&path.parts.join("."), name.position))
        }
        TypeNameKind::Record => {
            Err(Error::unsupported("a record cannot be used as a value here", "name its fields one by one")
                .at(name.position))
        }
        TypeNameKind::Pseudo(p) => {
            Err(Error::unsupported(format!("pseudo-type {p} is not supported here"), "use a type of values")
                .at(name.position))
        }
    }
}

fn unknown(name: &str, position: u32) -> Error {
    Error::new(SqlState::UNDEFINED_OBJECT, format!("type \"{name}\" does not exist")).at(position)
}
