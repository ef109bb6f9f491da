//! TRUNCATE.

use super::{Change, Work, names};
use planaria_base::{Error, Result, SqlState, TableId};
use planaria_catalog::{Object, Privileges, Requirement};
use planaria_syntax::ast::Name;

impl Change {
    pub(super) fn truncate(
        &mut self,
        tables: &[Name],
        restart_identity: bool,
        cascade: bool,
    ) -> Result<&'static str> {
        let mut all: Vec<TableId> = Vec::new();
        for name in tables {
            let table = names::table(&self.catalog, name)?;
            if table.materialized.is_some() {
                let message = format!("\"{}\" is not a table", table.name);
                return Err(Error::new(SqlState::WRONG_OBJECT_TYPE, message));
            }
            let id = table.id;
            self.require_truncate(id)?;
            if !all.contains(&id) {
                all.push(id);
            }
        }
        // The rows of a partition are with its root.
        let partitions: Vec<TableId> = all
            .iter()
            .copied()
            .filter(|id| {
                let above = self.catalog.partition_ancestors(*id);
                above.len() > 1 && !above[1..].iter().any(|a| all.contains(a))
            })
            .collect();
        all.retain(|id| self.catalog.table_by_id(*id).partition.is_none());
        for id in &partitions {
            let root = self.catalog.partition_root(*id).id;
            if let Some((child, _)) = self.catalog.references_to(root).next() {
                let message = "cannot truncate a table referenced in a foreign key constraint";
                let detail = format!(
                    "Table \"{}\" references \"{}\".",
                    child.name,
                    self.catalog.table_by_id(root).name
                );
                return Err(Error::new(SqlState::FEATURE_NOT_SUPPORTED, message)
                    .with_detail(detail)
                    .with_hint(format!(
                        "Truncate table \"{}\" at the same time, or use TRUNCATE ... CASCADE.",
                        child.name
                    )));
            }
            self.empty_partition(*id)?;
        }
        let mut next = 0;
        while next < all.len() {
            let parent = self.catalog.table_by_id(all[next]);
            let children: Vec<(TableId, String)> = self
                .catalog
                .references_to(parent.id)
                .map(|(t, _)| (t.id, t.name.clone()))
                .filter(|(id, _)| !all.contains(id))
                .collect();
            for (id, child) in children {
                if !cascade {
                    let message = "cannot truncate a table referenced in a foreign key constraint";
                    let detail = format!(
                        "Table \"{child}\" references \"{}\".",
                        self.catalog.table_by_id(all[next]).name
                    );
                    return Err(Error::new(SqlState::FEATURE_NOT_SUPPORTED, message)
                        .with_detail(detail)
                        .with_hint(format!(
                            "Truncate table \"{child}\" at the same time, or use TRUNCATE ... CASCADE."
                        )));
                }
                if !all.contains(&id) {
                    self.require_truncate(id)?;
                    self.notice(
                        SqlState::SUCCESSFUL_COMPLETION,
                        format!("truncate cascades to table \"{child}\""),
                    );
                    all.push(id);
                }
            }
            next += 1;
        }
        for id in all {
            self.table_mut(id).generation += 1;
            self.out.work.push(Work::Truncate(id));
            if restart_identity {
                let owned = self.catalog.sequences.iter().flatten();
                let owned = owned.filter(|s| !s.hidden && s.owner.is_some_and(|(t, _)| t == id));
                let restarts: Vec<Work> = owned.map(|s| Work::RestartSequence(s.id, s.start)).collect();
                self.out.work.extend(restarts);
            }
        }
        Ok("TRUNCATE TABLE")
    }

    fn require_truncate(&self, id: TableId) -> Result<()> {
        self.require(&Requirement::new(Object::Table(id), Privileges::TRUNCATE))
    }
}
