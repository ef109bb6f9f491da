//! ALTER TABLE.

use super::constraint::quote;
use super::types::column_type;
use super::{Ddl, Work, local_name};
use crate::ast::{AlterTable, ColumnDef, Constraint, ConstraintKind, Name, ObjectKind};
use crate::parse;
use planaria_base::{ColumnId, Error, Result, SqlState, TableId};
use planaria_catalog::{ColumnDefault, Table};

impl Ddl<'_> {
    pub(super) fn alter_table(
        &mut self,
        name: &Name,
        if_exists: bool,
        actions: &[AlterTable],
    ) -> Result<&'static str> {
        let local = local_name(name)?;
        if if_exists && !self.change.catalog.relation_exists(&local) {
            self.notice(format!("relation \"{local}\" does not exist, skipping"));
            return Ok("ALTER TABLE");
        }
        let id = self.table_id(name)?;
        let rewrites = actions.iter().filter(|a| changes_rows(a)).count();
        if rewrites > 0 && actions.len() > 1 {
            return Err(Error::unsupported(
                "several actions in one ALTER TABLE that changes rows",
                "Write one ALTER TABLE for each action.",
            )
            .at(name.position));
        }
        for action in actions {
            self.alter(id, action)?;
        }
        Ok("ALTER TABLE")
    }

    fn alter(&mut self, id: TableId, action: &AlterTable) -> Result<()> {
        match action {
            AlterTable::AddColumn { column, if_not_exists } => self.alter_add_column(id, column, *if_not_exists),
            AlterTable::DropColumn { name, if_exists, cascade } => {
                self.alter_drop_column(id, name, *if_exists, *cascade)
            }
            AlterTable::AddConstraint(constraint) => self.alter_add_constraint(id, constraint),
            AlterTable::DropConstraint { name, if_exists, cascade } => {
                self.alter_drop_constraint(id, name, *if_exists, *cascade)
            }
            AlterTable::SetDefault { column, default } => {
                let at = self.column_at(id, column)?;
                let ty = self.table_mut(id).columns[at].ty.clone();
                let default = match default {
                    None => ColumnDefault::None,
                    Some((expr, text)) => {
                        self.check_default(expr, &ty, column)?;
                        ColumnDefault::Expression(text.clone())
                    }
                };
                self.table_mut(id).columns[at].default = default;
                Ok(())
            }
            AlterTable::SetNotNull { column, not_null } => {
                let at = self.column_at(id, column)?;
                let table = self.table_mut(id);
                if table.columns[at].not_null == *not_null {
                    return Ok(());
                }
                if !not_null && table.indexes[0].columns.contains(&ColumnId::from(at)) {
                    return Err(Error::new(
                        SqlState::INVALID_TABLE_DEFINITION,
                        format!("column \"{column}\" is in a primary key"),
                    ));
                }
                let before = table.clone();
                table.columns[at].not_null = *not_null;
                if *not_null {
                    self.validate_not_null(&before.name, &[column])?;
                }
                self.rewrite(id, &before, |_, c| quote(c))
            }
            AlterTable::SetType { column, ty, using } => {
                let at = self.column_at(id, column)?;
                let new = column_type(ty, column)?.ty;
                let before = self.table_mut(id).clone();
                self.refuse_under_views(&before.name)?;
                self.table_mut(id).columns[at].ty = new.clone();
                let value = match using {
                    Some((_, text)) => format!("CAST(({text}) AS {new})"),
                    None => format!("CAST({} AS {new})", quote(column)),
                };
                self.rewrite(id, &before, |i, c| if i == at { value.clone() } else { quote(c) })
            }
            AlterTable::RenameTable(to) => {
                let name = self.table_mut(id).name.clone();
                let name = Name { parts: vec![name], position: 0 };
                self.rename(ObjectKind::Table, &name, to, false).map(|_| ())
            }
            AlterTable::RenameColumn { from, to } => {
                let at = self.column_at(id, from)?;
                let table = self.table_mut(id);
                if table.column(to).is_some() {
                    return Err(Error::new(
                        SqlState::DUPLICATE_COLUMN,
                        format!("column \"{to}\" of relation \"{}\" already exists", table.name),
                    ));
                }
                if !table.checks.is_empty() {
                    return Err(Error::unsupported(
                        format!("cannot rename a column of \"{}\" because it has check constraints", table.name),
                        "Drop the constraints, rename the column, add them again.",
                    ));
                }
                let name = table.name.clone();
                self.refuse_under_views(&name)?;
                self.table_mut(id).columns[at].name = to.clone();
                Ok(())
            }
            AlterTable::RenameConstraint { from, to } => self.rename_constraint(id, from, to),
            AlterTable::Ignored(_) => Ok(()),
            AlterTable::Unsupported(what, position) => {
                Err(Error::unsupported(format!("{what} is not supported"), "docs/sql.md lists what is.")
                    .at(*position))
            }
        }
    }

    fn column_at(&mut self, id: TableId, column: &str) -> Result<usize> {
        let table = self.table_mut(id);
        table.column(column).map(|(c, _)| c.index()).ok_or_else(|| {
            Error::new(
                SqlState::UNDEFINED_COLUMN,
                format!("column \"{column}\" of relation \"{}\" does not exist", table.name),
            )
        })
    }

    /// Rows anew: each visible column of the changed table is computed from the old one by an
    /// expression, given its position and name.
    fn rewrite(&mut self, id: TableId, before: &Table, value: impl Fn(usize, &str) -> String) -> Result<()> {
        let table = self.table_mut(id);
        table.generation += 1;
        let values: Vec<String> = table
            .visible()
            .map(|(c, column)| value(c.index(), &column.name))
            .collect();
        let query = format!("SELECT {} FROM {}", values.join(", "), quote(&before.name));
        self.work(Work::Rewrite(id, Box::new(parse::query(&query)?)));
        Ok(())
    }

    fn alter_add_column(&mut self, id: TableId, def: &ColumnDef, if_not_exists: bool) -> Result<()> {
        let before = self.table_mut(id).clone();
        if before.column(&def.name).is_some() {
            if if_not_exists {
                self.notice(format!(
                    "column \"{}\" of relation \"{}\" already exists, skipping",
                    def.name, before.name
                ));
                return Ok(());
            }
            return Err(Error::new(
                SqlState::DUPLICATE_COLUMN,
                format!("column \"{}\" of relation \"{}\" already exists", def.name, before.name),
            )
            .at(def.position));
        }
        let column = self.add_column(id, def)?;
        let at = column.index();
        // Whatever stands behind the new column (the row id) has moved by one.
        let added = self.table_mut(id).columns[at].clone();
        let filled = match &added.default {
            ColumnDefault::None => format!("CAST(NULL AS {})", added.ty),
            ColumnDefault::Expression(text) => format!("CAST(({text}) AS {})", added.ty),
            ColumnDefault::Sequence(_) | ColumnDefault::Identity { .. } => {
                return Err(Error::unsupported(
                    "adding a serial or identity column to a table is not supported",
                    "Create the table with it.",
                )
                .at(def.position));
            }
        };
        if added.not_null && added.default == ColumnDefault::None {
            let query = format!("SELECT 1 FROM {} LIMIT 1", quote(&before.name));
            let error = Error::new(
                SqlState::NOT_NULL_VIOLATION,
                format!("column \"{}\" of relation \"{}\" contains null values", added.name, before.name),
            )
            .column(&before.name, &added.name);
            self.work(Work::ValidateBefore(Box::new(parse::query(&query)?), error));
        }
        for constraint in &def.constraints {
            self.add_constraint(id, constraint, Some(&def.name))?;
        }
        self.rewrite(id, &before, |i, c| if i == at { filled.clone() } else { quote(c) })?;
        for constraint in &def.constraints {
            self.validate_existing(id, constraint)?;
        }
        Ok(())
    }

    fn alter_drop_column(&mut self, id: TableId, name: &str, if_exists: bool, cascade: bool) -> Result<()> {
        let before = self.table_mut(id).clone();
        if if_exists && before.column(name).is_none() {
            self.notice(format!("column \"{name}\" of relation \"{}\" does not exist, skipping", before.name));
            return Ok(());
        }
        let at = self.column_at(id, name)?;
        let column = ColumnId::from(at);
        self.refuse_under_views(&before.name)?;
        if before.has_primary_key && before.indexes[0].columns.contains(&column) {
            return Err(Error::unsupported(
                format!("cannot drop column \"{name}\": it is in the primary key"),
                "Create a new table and copy the rows.",
            ));
        }
        if !before.checks.is_empty() {
            let named = |text: &str| {
                parse::expression(text)
                    .map(|e| crate::lower::columns_named(&self.change.catalog, id, &e))
                    .is_ok_and(|c| c.iter().any(|c| c == name))
            };
            let kept: Vec<_> = before.checks.iter().filter(|c| !named(&c.expression)).cloned().collect();
            self.table_mut(id).checks = kept;
        }
        let referenced = self
            .change
            .catalog
            .references_to(id)
            .find(|(_, k)| k.parent_columns.contains(&column))
            .map(|(t, k)| (t.name.clone(), k.name.clone()));
        if let Some((table, key)) = referenced
            && !cascade
        {
            return Err(Error::new(
                SqlState::DEPENDENT_OBJECTS_STILL_EXIST,
                format!("cannot drop column {name} of table {} because other objects depend on it", before.name),
            )
            .detail(format!("constraint {key} on table {table} depends on column {name} of table {}", before.name))
            .hint("Use DROP ... CASCADE to drop the dependent objects too."));
        }
        while let Some(i) = self.table_mut(id).indexes.iter().position(|i| i.columns.contains(&column)) {
            self.remove_index(id, i, true)?;
        }
        // The rewrite builds the indexes that are left.
        self.change.work.retain(|w| !matches!(w, Work::Reindex(t) if *t == id));
        self.drop_owned_sequences(id, Some(column));
        let down = |c: &mut ColumnId| c.0 -= u32::from(c.index() > at);
        let catalog = &mut self.change.catalog;
        for table in catalog.tables.iter_mut().flatten() {
            for key in table.foreign_keys.iter_mut().filter(|k| k.parent == id) {
                key.parent_columns.iter_mut().for_each(down);
            }
        }
        for sequence in catalog.sequences.iter_mut().flatten() {
            if let Some((t, c)) = &mut sequence.owner
                && *t == id
            {
                down(c);
            }
        }
        let table = self.table_mut(id);
        table.columns.remove(at);
        table.foreign_keys.retain(|k| !k.columns.contains(&column));
        table.foreign_keys.iter_mut().for_each(|k| k.columns.iter_mut().for_each(down));
        table.indexes.iter_mut().for_each(|i| i.columns.iter_mut().for_each(down));
        self.rewrite(id, &before, |_, c| quote(c))
    }

    fn alter_add_constraint(&mut self, id: TableId, constraint: &Constraint) -> Result<()> {
        let before = self.table_mut(id).clone();
        if let ConstraintKind::PrimaryKey { columns } = &constraint.kind {
            if before.has_primary_key {
                return self.add_constraint(id, constraint, None);
            }
            let nullable: Vec<&str> = columns
                .iter()
                .filter(|c| before.column(c).is_some_and(|(_, c)| !c.not_null))
                .map(String::as_str)
                .collect();
            self.validate_not_null(&before.name, &nullable)?;
            // The hidden row id and its index make place for the declared key.
            let row_id = before.columns.len() - 1;
            self.drop_owned_sequences(id, Some(ColumnId::from(row_id)));
            let table = self.table_mut(id);
            table.columns.remove(row_id);
            table.indexes.remove(0);
            let result = self.add_constraint(id, constraint, None);
            for t in self.change.catalog.tables.iter().flatten() {
                debug_assert!(t.foreign_keys.iter().all(|k| k.parent != id || k.parent_index.0 > 0));
            }
            result?;
            return self.rewrite(id, &before, |_, c| quote(c));
        }
        self.add_constraint(id, constraint, None)?;
        if matches!(constraint.kind, ConstraintKind::Unique { .. }) {
            self.work(Work::Reindex(id));
        }
        self.validate_existing(id, constraint)
    }

    fn alter_drop_constraint(&mut self, id: TableId, name: &str, if_exists: bool, cascade: bool) -> Result<()> {
        let table = self.table_mut(id);
        let table_name = table.name.clone();
        if let Some(i) = table.checks.iter().position(|c| c.name == name) {
            table.checks.remove(i);
            return Ok(());
        }
        if let Some(i) = table.foreign_keys.iter().position(|k| k.name == name) {
            table.foreign_keys.remove(i);
            return Ok(());
        }
        if let Some(i) = table.indexes.iter().position(|x| x.constraint && x.name == name) {
            if i > 0 {
                return self.remove_index(id, i, cascade);
            }
            return Err(Error::unsupported(
                "dropping a primary key is not supported",
                "Create a new table and copy the rows.",
            ));
        }
        let message = format!("constraint \"{name}\" of relation \"{table_name}\" does not exist");
        if if_exists {
            self.notice(format!("{message}, skipping"));
            return Ok(());
        }
        Err(Error::new(SqlState::UNDEFINED_OBJECT, message))
    }

    fn rename_constraint(&mut self, id: TableId, from: &str, to: &str) -> Result<()> {
        let is_index = self.table_mut(id).indexes.iter().any(|i| i.constraint && i.name == from);
        if is_index {
            self.check_free(to)?;
        }
        let table = self.table_mut(id);
        let name = table
            .checks
            .iter_mut()
            .map(|c| &mut c.name)
            .chain(table.foreign_keys.iter_mut().map(|k| &mut k.name))
            .chain(table.indexes.iter_mut().filter(|i| i.constraint).map(|i| &mut i.name))
            .find(|n| *n == from);
        match name {
            Some(name) => {
                *name = to.to_owned();
                Ok(())
            }
            None => Err(Error::new(
                SqlState::UNDEFINED_OBJECT,
                format!("constraint \"{from}\" for table \"{}\" does not exist", table.name),
            )),
        }
    }
}

/// Whether the action computes rows anew; such a one stands alone in its statement.
fn changes_rows(action: &AlterTable) -> bool {
    match action {
        AlterTable::AddColumn { .. }
        | AlterTable::DropColumn { .. }
        | AlterTable::SetType { .. }
        | AlterTable::SetNotNull { .. } => true,
        AlterTable::AddConstraint(c) => matches!(c.kind, ConstraintKind::PrimaryKey { .. }),
        _ => false,
    }
}
