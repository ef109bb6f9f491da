//! TRUNCATE inside a transaction block: the rows are deleted one by one, so that it can be undone and
//! nobody else sees it before COMMIT. Outside of one, and in a block that has changed the schema, it is a schema
//! change, which takes no time; so it is with RESTART IDENTITY.

use crate::notice::Notice;
use crate::session::StatementResult;
use crate::session::answer::done;
use crate::session::core::SessionCore;
use planaria_base::{Error, Result, TableId};
use planaria_catalog::Catalog;
use planaria_sql::ddl::{self, Work};
use planaria_sql::lower::ParamTypes;
use planaria_syntax::ast::{Delete, Name, Statement, StatementKind};

impl SessionCore {
    pub(crate) fn truncate_in_block(&mut self, statement: &Statement, text: &str) -> Result<StatementResult> {
        // The change, carried out on a copy that is thrown away, says which tables it is about, and
        // whether it may be.
        let mut draft: Catalog = (*self.newest_catalog()).clone();
        let outcome = ddl::apply_as(&mut draft, statement, self.actor())?;
        let mut tables: Vec<TableId> = Vec::new();
        for work in &outcome.work {
            match work {
                Work::Truncate(id) => tables.push(*id),
                _ => {
                    return Err(Error::internal("TRUNCATE does more than delete rows").at(statement.position));
                }
            }
        }
        let mut result = done(outcome.tag);
        for notice in outcome.notices {
            let message = notice.fields.message().to_owned();
            result.notices.push(Notice { severity: "NOTICE", message, detail: None, hint: None });
        }
        while !tables.is_empty() {
            // Rows that refer to others go before them.
            let free =
                |id: &TableId| !draft.references_to(*id).any(|(t, _)| t.id != *id && tables.contains(&t.id));
            let next = tables.iter().position(free).unwrap_or(0);
            let table = draft.table_by_id(tables.remove(next));
            let parts = vec![draft.schema_name(table.schema).to_owned(), table.name.clone()];
            self.delete_all(parts, statement, text)?;
        }
        Ok(result)
    }

    fn delete_all(&mut self, parts: Vec<String>, truncate: &Statement, text: &str) -> Result<()> {
        let delete = Delete {
            with: Vec::new(),
            table: Name { parts, position: truncate.position },
            alias: None,
            using: Vec::new(),
            filter: None,
            returning: Vec::new(),
            into: None,
        };
        let kind = StatementKind::Delete(Box::new(delete));
        let statement = Statement { position: truncate.position, end: truncate.end, kind };
        let prepared = self.analyse_declared(statement, text, ParamTypes::default())?;
        self.start_program(&prepared, &(), None).map(|_| ())
    }
}
