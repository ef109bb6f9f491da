//! CREATE TABLE, CREATE TABLE AS, CREATE VIEW, TRUNCATE.

use super::sequence::full_range;
use super::types::column_type;
use super::{Ddl, Work, local_name};
use crate::ast::{ColumnDef, Constraint, ConstraintKind, CreateTable, Name, Query};
use crate::lower;
use planaria_base::limits::TABLE_COLUMNS_MAX;
use planaria_base::{ColumnId, Error, Result, SequenceId, SqlState, TableId, Type};
use planaria_catalog::{Column, ColumnDefault, Index, Sequence, Table, View};

/// Name of the hidden row id; cannot be named in SQL.
const ROW_ID: &str = "(row id)";

impl Ddl<'_> {
    pub(super) fn create_table(&mut self, create: &CreateTable) -> Result<&'static str> {
        let name = local_name(&create.name)?;
        if create.temporary {
            return Err(Error::unsupported("temporary tables are not supported", "Use a table and delete its rows.")
                .at(create.name.position));
        }
        if let Some((what, position)) = &create.unsupported {
            return Err(Error::unsupported(format!("{what} is not supported"), "docs/sql.md lists what is.")
                .at(*position));
        }
        if create.if_not_exists && self.catalog().relation_exists(&name) {
            self.notice(format!("relation \"{name}\" already exists, skipping"));
            return Ok("CREATE TABLE");
        }
        self.check_free(&name).map_err(|e| e.at(create.name.position))?;
        let id = self.new_table(&name);
        for column in &create.columns {
            self.add_column(id, column)?;
        }
        let mut constraints: Vec<(Constraint, Option<String>)> = Vec::new();
        for column in &create.columns {
            for constraint in &column.constraints {
                constraints.push((constraint.clone(), Some(column.name.clone())));
            }
        }
        constraints.extend(create.constraints.iter().map(|c| (c.clone(), None)));
        self.finish_table(id, &constraints)?;
        self.work(Work::CreateTable(id));
        Ok("CREATE TABLE")
    }

    /// An empty definition under the next id.
    fn new_table(&mut self, name: &str) -> TableId {
        let id = TableId::from(self.catalog().tables.len());
        self.catalog().tables.push(Some(Table {
            id,
            name: name.to_owned(),
            columns: Vec::new(),
            indexes: Vec::new(),
            has_primary_key: false,
            checks: Vec::new(),
            foreign_keys: Vec::new(),
            generation: 0,
        }));
        id
    }

    /// Keys first (foreign keys need them), the row id where there is no primary key, then the rest.
    fn finish_table(&mut self, id: TableId, constraints: &[(Constraint, Option<String>)]) -> Result<()> {
        let rank = |c: &Constraint| match c.kind {
            ConstraintKind::PrimaryKey { .. } => 0,
            ConstraintKind::Unique { .. } => 1,
            ConstraintKind::ForeignKey { .. } => 3,
            _ => 2,
        };
        let mut ordered: Vec<_> = constraints.iter().collect();
        ordered.sort_by_key(|(c, _)| rank(c));
        if !ordered.first().is_some_and(|(c, _)| rank(c) == 0) {
            self.add_row_id(id);
        }
        for (constraint, column) in ordered {
            self.add_constraint(id, constraint, column.as_deref())?;
        }
        Ok(())
    }

    /// A column from its definition; its constraints other than default and NOT NULL come later.
    pub(super) fn add_column(&mut self, id: TableId, def: &ColumnDef) -> Result<ColumnId> {
        let table = self.table_mut(id);
        let (table_name, hidden) = (table.name.clone(), table.columns.last().is_some_and(|c| c.hidden));
        if table.column(&def.name).is_some() {
            return Err(Error::new(
                SqlState::DUPLICATE_COLUMN,
                format!("column \"{}\" specified more than once", def.name),
            )
            .at(def.position));
        }
        if table.columns.len() >= TABLE_COLUMNS_MAX {
            return Err(Error::new(
                SqlState::TOO_MANY_COLUMNS,
                format!("tables can have at most {TABLE_COLUMNS_MAX} columns"),
            )
            .at(def.position));
        }
        let ty = column_type(&def.ty, &def.name)?;
        let at = table.columns.len() - usize::from(hidden);
        let column = Column {
            name: def.name.clone(),
            ty: ty.ty.clone(),
            not_null: ty.serial,
            default: ColumnDefault::None,
            hidden: false,
        };
        table.columns.insert(at, column);
        if hidden {
            // The row id stays last: whoever names it by position follows.
            table.indexes[0].columns = vec![ColumnId::from(at + 1)];
        }
        let column_id = ColumnId::from(at);
        if ty.serial {
            let sequence = self.owned_sequence(id, column_id, &def.name, &ty.ty)?;
            self.table_mut(id).columns[at].default = ColumnDefault::Sequence(sequence);
        }
        let mut null = None;
        for constraint in &def.constraints {
            match &constraint.kind {
                ConstraintKind::NotNull => {
                    null = Some(false);
                    self.table_mut(id).columns[at].not_null = true;
                }
                ConstraintKind::Null if null == Some(false) || ty.serial => {
                    return Err(Error::new(
                        SqlState::SYNTAX_ERROR,
                        format!(
                            "conflicting NULL/NOT NULL declarations for column \"{}\" of table \"{table_name}\"",
                            def.name
                        ),
                    )
                    .at(constraint.position));
                }
                ConstraintKind::Default { expr, text } => {
                    if !matches!(self.table_mut(id).columns[at].default, ColumnDefault::None) {
                        return Err(Error::new(
                            SqlState::SYNTAX_ERROR,
                            format!(
                                "multiple default values specified for column \"{}\" of table \"{table_name}\"",
                                def.name
                            ),
                        )
                        .at(constraint.position));
                    }
                    self.check_default(expr, &ty.ty, &def.name)?;
                    self.table_mut(id).columns[at].default = ColumnDefault::Expression(text.clone());
                }
                ConstraintKind::Identity { always, options } => {
                    if !matches!(ty.ty, Type::Int2 | Type::Int4 | Type::Int8) {
                        return Err(Error::new(
                            SqlState::INVALID_PARAMETER_VALUE,
                            "identity column type must be smallint, integer, or bigint",
                        )
                        .at(constraint.position));
                    }
                    let sequence = self.owned_sequence(id, column_id, &def.name, &ty.ty)?;
                    self.apply_options(sequence, options)?;
                    let column = &mut self.table_mut(id).columns[at];
                    column.default = ColumnDefault::Identity { sequence, always: *always };
                    column.not_null = true;
                }
                ConstraintKind::GeneratedStored => {
                    return Err(Error::unsupported(
                        "generated columns are not supported",
                        "Compute the value in the procedure or in a view.",
                    )
                    .at(constraint.position));
                }
                _ => {}
            }
        }
        Ok(column_id)
    }

    /// A sequence `table_column_seq` for a column.
    fn owned_sequence(&mut self, table: TableId, column: ColumnId, name: &str, ty: &Type) -> Result<SequenceId> {
        let base = format!("{}_{name}_seq", self.table_mut(table).name);
        let name = self.free_name(&base);
        let id = SequenceId::from(self.catalog().sequences.len());
        let mut sequence = full_range(id, name, ty);
        sequence.owner = Some((table, column));
        self.catalog().sequences.push(Some(sequence));
        self.work(Work::CreateSequence(id));
        Ok(id)
    }

    /// The hidden primary key of a table that declares none.
    pub(super) fn add_row_id(&mut self, id: TableId) {
        let sequence = SequenceId::from(self.catalog().sequences.len());
        let column = ColumnId::from(self.table_mut(id).columns.len());
        let name = format!("(row ids of {id})");
        let mut definition: Sequence = full_range(sequence, name.clone(), &Type::Int8);
        definition.owner = Some((id, column));
        definition.hidden = true;
        self.catalog().sequences.push(Some(definition));
        self.work(Work::CreateSequence(sequence));
        let table = self.table_mut(id);
        table.columns.push(Column {
            name: ROW_ID.to_owned(),
            ty: Type::Int8,
            not_null: true,
            default: ColumnDefault::Sequence(sequence),
            hidden: true,
        });
        table.indexes.insert(0, Index { name, columns: vec![column], unique: true, constraint: false });
    }

    pub(super) fn create_table_as(
        &mut self,
        name: &Name,
        if_not_exists: bool,
        columns: &[String],
        query: &Query,
        with_data: bool,
    ) -> Result<&'static str> {
        let local = local_name(name)?;
        if if_not_exists && self.catalog().relation_exists(&local) {
            self.notice(format!("relation \"{local}\" already exists, skipping"));
            return Ok("CREATE TABLE AS");
        }
        self.check_free(&local).map_err(|e| e.at(name.position))?;
        let outputs = lower::describe_query(&self.change.catalog, query)?;
        if columns.len() > outputs.len() {
            return Err(Error::new(SqlState::SYNTAX_ERROR, "too many column names were specified").at(name.position));
        }
        let id = self.new_table(&local);
        for (i, output) in outputs.iter().enumerate() {
            let column = columns.get(i).unwrap_or(&output.name).clone();
            if self.table_mut(id).column(&column).is_some() {
                return Err(Error::new(
                    SqlState::DUPLICATE_COLUMN,
                    format!("column \"{column}\" specified more than once"),
                ));
            }
            let ty = match &output.ty {
                Type::Unknown => Type::Text,
                Type::Array(_) => {
                    return Err(Error::unsupported(
                        format!("column \"{column}\" of an array type is not supported"),
                        "Arrays can be arguments and variables; store the elements as rows.",
                    ));
                }
                other => other.clone(),
            };
            let default = ColumnDefault::None;
            let column = Column { name: column, ty, not_null: false, default, hidden: false };
            self.table_mut(id).columns.push(column);
        }
        self.add_row_id(id);
        self.work(Work::CreateTable(id));
        if with_data {
            self.work(Work::Fill(id, Box::new(query.clone())));
        }
        Ok("CREATE TABLE AS")
    }

    pub(super) fn create_view(
        &mut self,
        name: &Name,
        or_replace: bool,
        columns: &[String],
        query: &Query,
        query_text: &str,
    ) -> Result<&'static str> {
        let local = local_name(name)?;
        let replaces = self.catalog().views.get(&local).cloned();
        if replaces.is_none() || !or_replace {
            self.check_free(&local).map_err(|e| e.at(name.position))?;
        }
        let outputs = lower::describe_query(&self.change.catalog, query)?;
        if columns.len() > outputs.len() {
            return Err(Error::new(
                SqlState::SYNTAX_ERROR,
                "CREATE VIEW specifies more column names than columns",
            )
            .at(name.position));
        }
        let names: Vec<String> = outputs
            .iter()
            .enumerate()
            .map(|(i, o)| columns.get(i).unwrap_or(&o.name).clone())
            .collect();
        if let Some(twice) = names.iter().enumerate().find(|(i, n)| names[..*i].contains(n)) {
            return Err(Error::new(
                SqlState::DUPLICATE_COLUMN,
                format!("column \"{}\" specified more than once", twice.1),
            ));
        }
        if let Some(old) = replaces
            && (old.columns.len() > names.len() || old.columns.iter().zip(&names).any(|(a, b)| a != b))
        {
            return Err(Error::new(
                SqlState::INVALID_TABLE_DEFINITION,
                "cannot drop or rename columns of a view by replacing it",
            )
            .hint("Drop the view and create it again."));
        }
        let view = View { name: local.clone(), columns: names, query: query_text.to_owned() };
        self.catalog().views.insert(local, view);
        Ok("CREATE VIEW")
    }

    pub(super) fn truncate(&mut self, names: &[Name], restart: bool, cascade: bool) -> Result<&'static str> {
        let mut ids: Vec<TableId> = Vec::new();
        for name in names {
            let id = self.table_id(name)?;
            if !ids.contains(&id) {
                ids.push(id);
            }
        }
        let mut i = 0;
        while i < ids.len() {
            let catalog = &self.change.catalog;
            let children: Vec<(TableId, String)> = catalog
                .references_to(ids[i])
                .filter(|(t, _)| !ids.contains(&t.id))
                .map(|(t, _)| (t.id, t.name.clone()))
                .collect();
            let parent = catalog.table_by_id(ids[i]).name.clone();
            for (child, name) in children {
                if !cascade {
                    return Err(Error::new(
                        SqlState::FEATURE_NOT_SUPPORTED,
                        "cannot truncate a table referenced in a foreign key constraint",
                    )
                    .detail(format!("Table \"{name}\" references \"{parent}\"."))
                    .hint(format!(
                        "Truncate table \"{name}\" at the same time, or use TRUNCATE ... CASCADE."
                    )));
                }
                if !ids.contains(&child) {
                    self.notice(format!("truncate cascades to table \"{name}\""));
                    ids.push(child);
                }
            }
            i += 1;
        }
        for id in ids {
            self.table_mut(id).generation += 1;
            self.work(Work::Truncate(id));
            if restart {
                let owned: Vec<(SequenceId, i64)> = self
                    .catalog()
                    .sequences
                    .iter()
                    .flatten()
                    .filter(|s| s.owner.is_some_and(|(t, _)| t == id) && !s.hidden)
                    .map(|s| (s.id, s.start))
                    .collect();
                for (sequence, start) in owned {
                    self.work(Work::ChangeSequence(sequence, Some(start)));
                }
            }
        }
        Ok("TRUNCATE TABLE")
    }
}
