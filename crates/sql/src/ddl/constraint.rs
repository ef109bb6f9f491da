//! Constraints: keys, checks, foreign keys, under the names PostgreSQL gives them.

use super::{Ddl, Work, local_name};
use crate::ast::{Constraint, ConstraintKind, Expr};
use crate::{lower, parse};
use planaria_base::limits::INDEX_COLUMNS_MAX;
use planaria_base::{ColumnId, Error, IndexId, Result, SqlState, TableId, Type};
use planaria_catalog::{Check, Column, ColumnDefault, ForeignKey, Index, ReferentialAction};

impl Ddl<'_> {
    /// Adds a constraint; `column` is the one it stands at, if any. NOT NULL, defaults and identity
    /// are the column's own business.
    pub(super) fn add_constraint(
        &mut self,
        id: TableId,
        constraint: &Constraint,
        column: Option<&str>,
    ) -> Result<()> {
        let at = constraint.position;
        let own = |columns: &[String]| -> Vec<String> {
            match column {
                Some(column) if columns.is_empty() => vec![column.to_owned()],
                _ => columns.to_vec(),
            }
        };
        match &constraint.kind {
            ConstraintKind::PrimaryKey { columns } => {
                self.add_primary_key(id, constraint.name.as_deref(), &own(columns)).map_err(|e| e.at(at))
            }
            ConstraintKind::Unique { columns } => {
                self.add_unique(id, constraint.name.as_deref(), &own(columns)).map_err(|e| e.at(at))
            }
            ConstraintKind::Check { expr, text } => {
                self.add_check(id, constraint.name.as_deref(), expr, text, column).map_err(|e| e.at(at))
            }
            ConstraintKind::ForeignKey { columns, parent, parent_columns, on_delete, on_update } => {
                let actions = (
                    on_delete.unwrap_or(ReferentialAction::Restrict),
                    on_update.unwrap_or(ReferentialAction::Restrict),
                );
                let parent = if local_name(parent)? == self.table_mut(id).name {
                    id
                } else {
                    self.table_id(parent)?
                };
                let name = constraint.name.as_deref();
                self.add_foreign_key(id, name, &own(columns), parent, parent_columns, actions)
                    .map_err(|e| e.at(at))
            }
            ConstraintKind::Unsupported(what) => {
                Err(Error::unsupported(format!("{what} is not supported"), "docs/sql.md lists what is.").at(at))
            }
            _ => Ok(()),
        }
    }

    /// Columns by name; 42703, 42701 for one named twice.
    pub(super) fn key_columns(&mut self, id: TableId, names: &[String], what: &str) -> Result<Vec<ColumnId>> {
        if names.len() > INDEX_COLUMNS_MAX {
            return Err(Error::new(
                SqlState::TOO_MANY_COLUMNS,
                format!("cannot use more than {INDEX_COLUMNS_MAX} columns in an index"),
            ));
        }
        let table = self.table_mut(id);
        let mut ids = Vec::new();
        for name in names {
            let (column, _) = table.column(name).ok_or_else(|| {
                Error::new(
                    SqlState::UNDEFINED_COLUMN,
                    format!("column \"{name}\" named in key does not exist"),
                )
            })?;
            if ids.contains(&column) {
                return Err(Error::new(
                    SqlState::DUPLICATE_COLUMN,
                    format!("column \"{name}\" appears twice in {what} constraint"),
                ));
            }
            ids.push(column);
        }
        Ok(ids)
    }

    /// Refuses a constraint name that the table has.
    fn check_constraint_free(&mut self, id: TableId, name: &str) -> Result<()> {
        let table = self.table_mut(id);
        let taken = table.checks.iter().any(|c| c.name == name)
            || table.foreign_keys.iter().any(|k| k.name == name)
            || table.indexes.iter().any(|i| i.constraint && i.name == name);
        if taken {
            let message = format!("constraint \"{name}\" for relation \"{}\" already exists", table.name);
            return Err(Error::new(SqlState::DUPLICATE_OBJECT, message));
        }
        Ok(())
    }

    pub(super) fn add_primary_key(&mut self, id: TableId, name: Option<&str>, columns: &[String]) -> Result<()> {
        let table = self.table_mut(id);
        if table.has_primary_key {
            return Err(Error::new(
                SqlState::INVALID_TABLE_DEFINITION,
                format!("multiple primary keys for table \"{}\" are not allowed", table.name),
            ));
        }
        let base = format!("{}_pkey", table.name);
        let columns = self.key_columns(id, columns, "primary key")?;
        let name = match name {
            Some(name) => {
                self.check_free(name)?;
                name.to_owned()
            }
            None => self.free_name(&base),
        };
        let table = self.table_mut(id);
        for column in &columns {
            table.columns[column.index()].not_null = true;
        }
        table.has_primary_key = true;
        let index = Index { name, columns, unique: true, constraint: true };
        table.indexes.insert(0, index);
        Ok(())
    }

    fn add_unique(&mut self, id: TableId, name: Option<&str>, columns: &[String]) -> Result<()> {
        let base = format!("{}_{}_key", self.table_mut(id).name, columns.join("_"));
        let columns = self.key_columns(id, columns, "unique")?;
        let name = match name {
            Some(name) => {
                self.check_free(name)?;
                name.to_owned()
            }
            None => self.free_name(&base),
        };
        self.table_mut(id).indexes.push(Index { name, columns, unique: true, constraint: true });
        Ok(())
    }

    /// A DEFAULT must be an expression of the column's type that names no column.
    pub(super) fn check_default(&mut self, expr: &Expr, ty: &Type, column: &str) -> Result<()> {
        lower::check_default(&self.change.catalog, expr, ty, column)
    }

    fn add_check(
        &mut self,
        id: TableId,
        name: Option<&str>,
        expr: &Expr,
        text: &str,
        column: Option<&str>,
    ) -> Result<()> {
        lower::check_condition(&self.change.catalog, id, expr)?;
        let table = self.table_mut(id).name.clone();
        let name = match name {
            Some(name) => {
                self.check_constraint_free(id, name)?;
                name.to_owned()
            }
            None => {
                let base = match column {
                    Some(column) => format!("{table}_{column}_check"),
                    None => match lower::columns_named(&self.change.catalog, id, expr).as_slice() {
                        [only] => format!("{table}_{only}_check"),
                        _ => format!("{table}_check"),
                    },
                };
                self.free_name(&base)
            }
        };
        self.table_mut(id).checks.push(Check { name, expression: text.to_owned() });
        Ok(())
    }

    fn add_foreign_key(
        &mut self,
        id: TableId,
        name: Option<&str>,
        columns: &[String],
        parent: TableId,
        parent_columns: &[String],
        (on_delete, on_update): (ReferentialAction, ReferentialAction),
    ) -> Result<()> {
        let base = format!("{}_{}_fkey", self.table_mut(id).name, columns.join("_"));
        let columns = self.key_columns(id, columns, "foreign key")?;
        let parent_table = self.change.catalog.table_by_id(parent).clone();
        let named = if parent_columns.is_empty() {
            if !parent_table.has_primary_key {
                return Err(Error::new(
                    SqlState::UNDEFINED_OBJECT,
                    format!("there is no primary key for referenced table \"{}\"", parent_table.name),
                ));
            }
            parent_table.indexes[0].columns.clone()
        } else {
            self.key_columns(parent, parent_columns, "foreign key")?
        };
        if named.len() != columns.len() {
            return Err(Error::new(
                SqlState::INVALID_FOREIGN_KEY,
                "number of referencing and referenced columns for foreign key disagree",
            ));
        }
        let same = |index: &Index| {
            index.unique && index.columns.len() == named.len() && named.iter().all(|c| index.columns.contains(c))
        };
        let Some(at) = parent_table.indexes.iter().position(same) else {
            return Err(Error::new(
                SqlState::INVALID_FOREIGN_KEY,
                format!(
                    "there is no unique constraint matching given keys for referenced table \"{}\"",
                    parent_table.name
                ),
            ));
        };
        let table = self.table_mut(id);
        for (child, parent_column) in columns.iter().zip(&named) {
            let (a, b) = (&table.columns[child.index()], &parent_table.columns[parent_column.index()]);
            if a.ty.class() != b.ty.class() {
                return Err(Error::new(
                    SqlState::DATATYPE_MISMATCH,
                    format!("foreign key constraint \"{base}\" cannot be implemented"),
                )
                .detail(format!(
                    "Key columns \"{}\" and \"{}\" are of incompatible types: {} and {}.",
                    a.name, b.name, a.ty, b.ty
                )));
            }
        }
        let name = match name {
            Some(name) => {
                self.check_constraint_free(id, name)?;
                name.to_owned()
            }
            None => self.free_name(&base),
        };
        self.table_mut(id).foreign_keys.push(ForeignKey {
            name,
            columns,
            parent,
            parent_index: IndexId(at as u16),
            parent_columns: named,
            on_delete,
            on_update,
        });
        Ok(())
    }

    /// The checks of rows that are already there, for a constraint just added to a table.
    pub(super) fn validate_existing(&mut self, id: TableId, constraint: &Constraint) -> Result<()> {
        let table = self.change.catalog.table_by_id(id).clone();
        let quoted = quote(&table.name);
        match &constraint.kind {
            ConstraintKind::Check { .. } => {
                let Some(check) = table.checks.last() else { return Ok(()) };
                let query = format!("SELECT 1 FROM {quoted} WHERE NOT ({}) LIMIT 1", check.expression);
                let error = Error::new(
                    SqlState::CHECK_VIOLATION,
                    format!("check constraint \"{}\" of relation \"{}\" is violated by some row", check.name, table.name),
                )
                .constraint(&check.name, &table.name);
                self.work(Work::ValidateAfter(Box::new(parse::query(&query)?), error));
            }
            ConstraintKind::ForeignKey { .. } => {
                let Some(key) = table.foreign_keys.last() else { return Ok(()) };
                let parent = self.change.catalog.table_by_id(key.parent).clone();
                let pairs: Vec<String> = key
                    .columns
                    .iter()
                    .zip(&key.parent_columns)
                    .map(|(c, p)| format!("p.{} = c.{}", column(&parent, *p), column(&table, *c)))
                    .collect();
                let present: Vec<String> =
                    key.columns.iter().map(|c| format!("c.{} IS NOT NULL", column(&table, *c))).collect();
                let query = format!(
                    "SELECT 1 FROM {quoted} AS c WHERE {} AND NOT EXISTS (SELECT 1 FROM {} AS p WHERE {}) LIMIT 1",
                    present.join(" AND "),
                    quote(&parent.name),
                    pairs.join(" AND ")
                );
                let error = Error::new(
                    SqlState::FOREIGN_KEY_VIOLATION,
                    format!(
                        "insert or update on table \"{}\" violates foreign key constraint \"{}\"",
                        table.name, key.name
                    ),
                )
                .detail(format!("A row's key is not present in table \"{}\".", parent.name))
                .constraint(&key.name, &table.name);
                self.work(Work::ValidateAfter(Box::new(parse::query(&query)?), error));
            }
            _ => {}
        }
        Ok(())
    }

    /// The check that no row has a NULL there, on the old catalog.
    pub(super) fn validate_not_null(&mut self, table: &str, columns: &[&str]) -> Result<()> {
        for column in columns {
            let query = format!("SELECT 1 FROM {} WHERE {} IS NULL LIMIT 1", quote(table), quote(column));
            let error = Error::new(
                SqlState::NOT_NULL_VIOLATION,
                format!("column \"{column}\" of relation \"{table}\" contains null values"),
            )
            .column(table, *column);
            self.work(Work::ValidateBefore(Box::new(parse::query(&query)?), error));
        }
        Ok(())
    }
}

fn column(table: &planaria_catalog::Table, id: ColumnId) -> String {
    quote(&table.columns[id.index()].name)
}

/// An identifier in quotes.
pub(super) fn quote(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}

/// Whether the column draws from a sequence.
pub(super) fn sequence_of(column: &Column) -> Option<planaria_base::SequenceId> {
    match column.default {
        ColumnDefault::Sequence(s) | ColumnDefault::Identity { sequence: s, .. } => Some(s),
        _ => None,
    }
}
