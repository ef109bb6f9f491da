//! CREATE INDEX.

use super::constraint::{check_key, check_width};
use super::{Change, Work, names};
use planaria_base::{Error, Result, SqlState};
use planaria_catalog::{Index, KeyOrder, Object};
use planaria_syntax::ast::CreateIndex;

impl Change {
    pub(super) fn create_index(&mut self, create: &CreateIndex) -> Result<&'static str> {
        if let Some((what, position)) = &create.unsupported {
            let hint = "Indexes are ordered, over columns, and hold every row.";
            return Err(Error::unsupported(format!("{what} is not supported"), hint).at(*position));
        }
        let table = names::table(&self.catalog, &create.table)?;
        self.catalog.require_owner(self.actor.user, &Object::Table(table.id))?;
        if create.gin {
            self.notice(
                SqlState::SUCCESSFUL_COMPLETION,
                format!(
                    "no index of method gin was made on \"{}\": conditions with @> and ? read its rows",
                    table.name
                ),
            );
            return Ok("CREATE INDEX");
        }
        let mut columns = Vec::new();
        for (name, position) in &create.columns {
            let Some((c, _)) = table.column(name) else {
                let message = format!("column \"{name}\" does not exist");
                return Err(Error::new(SqlState::UNDEFINED_COLUMN, message).at(*position));
            };
            check_key(&table.columns[c.index()].ty, *position)?;
            columns.push(c);
        }
        check_width(columns.len(), create.table.position)?;
        let name = match &create.name {
            Some(name) if self.catalog.relation_exists(name) => {
                let exists = names::relation_exists(name);
                if !create.if_not_exists {
                    return Err(exists);
                }
                self.skip_existing(&exists);
                return Ok("CREATE INDEX");
            }
            Some(name) => name.clone(),
            None => {
                let own: Vec<&str> = create.columns.iter().map(|(n, _)| n.as_str()).collect();
                names::relation(&self.catalog, &table.name, &own, "idx")
            }
        };
        let table = table.id;
        let mut index = Index::new(name, columns, create.unique, false);
        if create.orders.iter().any(|o| *o != KeyOrder::default()) {
            index.orders.clone_from(&create.orders);
        }
        let position = self.push_index(table, index)?;
        self.out.work.push(Work::CreateIndex(table, position));
        Ok("CREATE INDEX")
    }
}
