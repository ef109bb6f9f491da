//! CREATE TABLE AS: a table of the query's shape, filled by an INSERT from the query.

use super::table::check_columns;
use super::{Change, Work, names};
use crate::lower;
use planaria_base::{Error, Result, SchemaId, SqlState, TableId, Type, TypeId};
use planaria_catalog::{Column, ColumnDefault, ELEMENTS_FIT, OnCommit};
use planaria_ir::Output;
use planaria_syntax::ast::{Insert, InsertSource, Name, Query, Statement, StatementKind};

impl Change {
    pub(super) fn create_table_as(
        &mut self,
        name: &Name,
        if_not_exists: bool,
        columns: &[String],
        query: &Query,
        (with_data, on_commit): (bool, OnCommit),
    ) -> Result<&'static str> {
        let (schema, local) = self.name_of_query(name, query)?;
        if self.catalog.relation_exists((schema, local)) {
            let exists = names::relation_exists(local);
            if !if_not_exists {
                return Err(exists);
            }
            self.skip_existing(&exists);
            return Ok("CREATE TABLE AS");
        }
        let id = self.table_of_query((schema, local), name.position, columns, query)?;
        self.table_mut(id).on_commit = on_commit;
        if !with_data {
            return Ok("CREATE TABLE AS");
        }
        self.fill(id, query, name.position, false)?;
        Ok("SELECT")
    }

    /// Schema and name of a relation that a query is to fill. What is wrong with the query comes first, then that there is such
    /// a relation, then that none may be made there.
    pub(super) fn name_of_query<'n>(&self, name: &'n Name, query: &Query) -> Result<(SchemaId, &'n str)> {
        match names::new(&self.catalog, name) {
            Ok(new) if self.catalog.relation_exists(new) => self.describe(query).map(|_| new),
            _ => match self.new_name(name) {
                Ok(new) => Ok(new),
                Err(e) => self.describe(query).and(Err(e)),
            },
        }
    }

    /// 42701 for a column of a table that has the name of one which every table has.
    pub(super) fn free_name(&self, name: &str) -> Result<()> {
        let of_system = ["ctid", "xmin", "cmin", "xmax", "cmax", "tableoid"].contains(&name);
        // Logs may have tables of former versions that have such columns.
        if of_system && !self.actor.reads_after {
            let message = format!("column name \"{name}\" conflicts with a system column name");
            return Err(Error::new(SqlState::DUPLICATE_COLUMN, message));
        }
        Ok(())
    }

    /// An empty table with the columns of a query.
    pub(super) fn table_of_query(
        &mut self,
        (schema, local): (SchemaId, &str),
        position: u32,
        columns: &[String],
        query: &Query,
    ) -> Result<TableId> {
        let outputs = self.describe(query)?;
        if columns.len() > outputs.len() {
            let message = "too many column names were specified";
            return Err(Error::new(SqlState::SYNTAX_ERROR, message).at(position));
        }
        check_columns(outputs.len()).map_err(|e| e.at(position))?;
        for (i, output) in outputs.iter().enumerate() {
            self.free_name(columns.get(i).unwrap_or(&output.name))?;
        }
        outputs.iter().try_for_each(|output| self.require_types(&output.ty, None))?;
        let domains = self.domains_of_query(query, &outputs);
        for domain in domains.iter().flatten() {
            self.require_types(&self.catalog.domain(*domain).base, Some(*domain))?;
        }
        let id = self.new_table(schema, local);
        for (i, output) in outputs.into_iter().enumerate() {
            let column = columns.get(i).cloned().unwrap_or(output.name);
            if self.table_mut(id).column(&column).is_some() {
                let message = format!("column \"{column}\" specified more than once");
                return Err(Error::new(SqlState::DUPLICATE_COLUMN, message).at(position));
            }
            let ty = match output.ty {
                Type::Unknown => Type::Text,
                Type::Record(row) if row.of.is_none() => {
                    let message = format!("column \"{column}\" has pseudo-type record");
                    return Err(Error::new(SqlState::INVALID_TABLE_DEFINITION, message));
                }
                Type::Void => {
                    let message = format!("column \"{column}\" would have the type void");
                    return Err(Error::unsupported(message, "Leave out the column.").at(position));
                }
                ty => self.kept(ty),
            };
            let default = ColumnDefault::None;
            let (not_null, domain) = (false, domains.get(i).copied().flatten());
            let (comment, computed_anew, told) = (None, false, None);
            let column = Column {
                name: column,
                ty,
                not_null,
                default,
                domain,
                hidden: false,
                comment,
                computed_anew,
                told,
            };
            self.table_mut(id).columns.push(column);
        }
        self.finish_table(id, Vec::new())?;
        Ok(id)
    }

    /// The domains of a query's columns; of what was made before the fifth form they had none.
    fn domains_of_query(&self, query: &Query, outputs: &[Output]) -> Vec<Option<TypeId>> {
        let any = self.catalog.types.iter().flatten().any(|ty| ty.domain().is_some());
        if self.actor.form < ELEMENTS_FIT || !any {
            return Vec::new();
        }
        let all = crate::deparse::domains_of_columns(&self.catalog.ready(), query, "").unwrap_or_default();
        let of = |(domain, output): (Option<TypeId>, &Output)| {
            let base = &self.catalog.domain(domain?).base;
            let fits = match &output.ty {
                Type::Array(of) if self.catalog.is_array_of(&output.ty, domain?) => **of == *base,
                ty => ty == base,
            };
            domain.filter(|_| fits)
        };
        all.into_iter().zip(outputs).map(of).collect()
    }

    /// Fills a table with the rows of a query, which `kept`: is bound from home, as what is kept as text.
    pub(super) fn fill(&mut self, id: TableId, query: &Query, position: u32, kept: bool) -> Result<()> {
        let table = self.catalog.table_by_id(id);
        let owner = table.rights.owner;
        // Another of that name may stand before it on the path.
        let parts = vec![self.catalog.schema_name(table.schema).to_owned(), table.name.clone()];
        let mut query = query.clone();
        // What it changes comes first.
        let with = match lower::changes_in_with(&query) && !query.recursive {
            true => std::mem::take(&mut query.with),
            false => Vec::new(),
        };
        let insert = Insert {
            with,
            recursive: false,
            table: Name { parts, position },
            alias: None,
            columns: Vec::new(),
            parts: Vec::new(),
            copied: false,
            overriding: None,
            source: InsertSource::Query(Box::new(query)),
            on_conflict: None,
            returning: Vec::new(),
            into: None,
        };
        let statement = Statement { position: 0, end: 0, kind: StatementKind::Insert(Box::new(insert)) };
        // The rows are stored as they come: no domain is asked.
        let domains: Vec<Option<TypeId>> = table.columns.iter().map(|column| column.domain).collect();
        let asks_none = |columns: &mut [Column]| columns.iter_mut().for_each(|column| column.domain = None);
        asks_none(&mut self.table_mut(id).columns);
        let catalog = if kept { self.catalog.at_home() } else { self.catalog.ready() };
        let lowered = lower::lower_logged(&catalog, &statement, owner)?;
        drop(catalog);
        let columns = &mut self.table_mut(id).columns;
        columns.iter_mut().zip(domains).for_each(|(column, domain)| column.domain = domain);
        // Its owner may be another than who refreshes it.
        for requirement in &lowered.requirements {
            self.catalog.require(owner, requirement)?;
        }
        let program = lowered.program;
        self.out.work.push(Work::Fill(id, Box::new(program)));
        Ok(())
    }
}
