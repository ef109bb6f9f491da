//! Programs that look whether a deferred foreign key holds.
//!
//! A statement that changes rows of such a key checks nothing. At its commit the transaction looks at what it has
//! written and runs one of these programs for each key: of children that are new, and of parents that are gone. A
//! key is violated if there is a child with it and no parent.

use super::Lowerer;
use planaria_base::{Result, TableId};
use planaria_catalog::{Catalog, ForeignKey};
use planaria_ir::{Param, ParamMode, Program, ProgramKind, ReadMode, RegKind};

/// The program for one key of `child`. It takes the values of the key's columns, none of them NULL: of the
/// child's columns, or of the parent's where `referenced`, and raises 23503 as the change of that side does.
pub fn deferred_key(
    catalog: &Catalog,
    child: TableId,
    key: &ForeignKey,
    referenced: bool,
) -> Result<Program> {
    let (table, columns) = match referenced {
        true => (catalog.table_by_id(key.parent), &key.parent_columns),
        false => (catalog.table_by_id(child), &key.columns),
    };
    let mut l = Lowerer::new(catalog, format!("check of {}", key.name), ProgramKind::Statement);
    let mut values = Vec::with_capacity(columns.len());
    for column in columns {
        let column = &table.columns[column.index()];
        let (name, ty) = (column.name.clone(), column.ty.clone());
        let reg = l.program.reg(RegKind::Value(ty.clone()), Some(name.clone()));
        l.program.params.push(Param { name, ty, mode: ParamMode::In, reg });
        values.push(reg);
    }
    let there = if referenced { values.clone() } else { l.parent_values(table, key, &values) };
    let missing = l.parent_missing(key, &there, ReadMode::Check)?;
    l.when(missing, |l| {
        let found = l.child_found(child, key, &there)?;
        l.raising(found, |l| match referenced {
            true => l.raise_referenced(child, key, &values),
            false => l.raise_orphan(table, key, &values),
        })
    })?;
    l.finish()
}
