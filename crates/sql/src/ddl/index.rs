//! CREATE INDEX.

use super::{Ddl, Work};
use crate::ast::CreateIndex;
use planaria_base::{Error, Result};
use planaria_catalog::Index;

impl Ddl<'_> {
    pub(super) fn create_index(&mut self, create: &CreateIndex) -> Result<&'static str> {
        if let Some((what, position)) = &create.unsupported {
            return Err(Error::unsupported(
                format!("{what} is not supported in an index"),
                "Indexes are over columns; put a computed value into a column of its own.",
            )
            .at(*position));
        }
        let id = self.table_id(&create.table)?;
        if let Some(name) = &create.name
            && self.catalog().relation_exists(name)
        {
            if create.if_not_exists {
                self.notice(format!("relation \"{name}\" already exists, skipping"));
                return Ok("CREATE INDEX");
            }
            self.check_free(name)?;
        }
        let names: Vec<String> = create.columns.iter().map(|(n, _)| n.clone()).collect();
        let table = self.table_mut(id).name.clone();
        for (name, position) in &create.columns {
            if self.table_mut(id).column(name).is_none() {
                return Err(Error::new(
                    planaria_base::SqlState::UNDEFINED_COLUMN,
                    format!("column \"{name}\" does not exist"),
                )
                .at(*position));
            }
        }
        let columns = self.key_columns(id, &names, "index")?;
        let base = format!("{table}_{}_idx", names.join("_"));
        let name = match &create.name {
            Some(name) => name.clone(),
            None => self.free_name(&base),
        };
        let index = Index { name, columns, unique: create.unique, constraint: false };
        self.table_mut(id).indexes.push(index);
        self.work(Work::Reindex(id));
        Ok("CREATE INDEX")
    }
}
