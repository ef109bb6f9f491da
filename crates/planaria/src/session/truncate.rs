//! TRUNCATE inside a transaction block: the rows are deleted one by one, so that it can be undone and
//! nobody else sees it before COMMIT. Outside of one, and in a block that has changed the schema, it is a schema
//! change, which takes no time; so it is with RESTART IDENTITY. Where triggers see it, it is always done by rows.
//!
//! Of a partition, the rows lie among those of the others, and who empties it goes through all. So that whoever fills another
//! partition meanwhile is not in the way, it locks its own ([`lock_partitions`](SessionCore::lock_partitions)), and that nobody
//! else adds rows to that one need not be validated.

use crate::session::StatementResult;
use crate::session::answer::done;
use crate::session::core::SessionCore;
use planaria_base::{Error, Result};
use planaria_catalog::{Catalog, TriggerEvent};
use planaria_sql::ddl::{self, DdlOutcome, Work};
use planaria_sql::lower::ParamTypes;
use planaria_syntax::ast::{Statement, StatementKind};

impl SessionCore {
    /// Whether a table that TRUNCATE is about has triggers for it.
    pub(crate) fn truncate_fires(&self, statement: &Statement) -> Result<bool> {
        let (catalog, replica) = (self.newest_catalog(), self.settings.is_replica());
        let fires = |t: &planaria_catalog::Table| {
            t.triggers.iter().any(|t| t.enabled.fires(replica) && t.routine(TriggerEvent::Truncate).is_some())
        };
        if !catalog.tables.definitions().any(fires) {
            return Ok(false);
        }
        let (outcome, draft) = self.truncated(statement)?;
        Ok(outcome
            .work
            .iter()
            .any(|work| matches!(work, Work::Truncate(id) if fires(draft.table_by_id(*id)))))
    }

    /// The change, carried out on a copy that is thrown away: it says which tables it is about, and whether it may be.
    fn truncated(&self, statement: &Statement) -> Result<(DdlOutcome, Catalog)> {
        let mut draft: Catalog = (*self.newest_catalog()).clone();
        let outcome = ddl::apply_as(&mut draft, statement, self.actor_of(statement)?)?;
        Ok((outcome, draft))
    }

    pub(crate) fn truncate_by_rows(&mut self, statement: &Statement, text: &str) -> Result<StatementResult> {
        let (outcome, draft) = self.truncated(statement)?;
        // The rows of a partition are deleted from its root.
        let known = |w: &Work| matches!(w, Work::Truncate(_) | Work::RestartSequence(..) | Work::Fill(..));
        if !outcome.work.iter().all(known) {
            return Err(Error::internal("TRUNCATE does more than delete rows").at(statement.position));
        }
        for work in &outcome.work {
            if let Work::Truncate(table) | Work::Fill(table, _) = work {
                self.refuse_waiting(&draft, *table, "TRUNCATE")?;
            }
        }
        let mut statement = statement.clone();
        if let StatementKind::Truncate { names, locked, .. } = &mut statement.kind {
            *locked = self.lock_partitions(names)?;
        }
        let prepared = self.analyse_declared(statement, text, ParamTypes::default())?;
        self.start_program(&prepared, &(), None)?;
        Ok(done(outcome.tag))
    }
}
