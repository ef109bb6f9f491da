//! The engine as replay sees it.

use crate::{CompiledPlan, Progress};
use planaria_base::{CommitTs, ProcedureId, Result, SequenceId, SequencePlace, TableId};
use planaria_exec::{Code, Link};
use planaria_ir::Program;
use planaria_log::{Call, Effect, Keeping};
use planaria_storage::{Header, Shape, TableSet};
use std::sync::Arc;

/// The engine's side of serial replay. Transactions come in the order of their commit timestamps,
/// and nobody else is at work meanwhile.
pub trait Replayer {
    /// Runs a procedure call again, with the arguments and inputs it had.
    fn call(&mut self, commit_ts: CommitTs, call: Call) -> Result<()>;
    /// These calls come next, if nothing comes between: whatever fetches their rows beforehand.
    fn coming(&mut self, calls: &[&Call]) {
        let _ = calls;
    }
    /// Puts the effects of a transaction in place, all or nothing.
    fn effects(&mut self, commit_ts: CommitTs, effects: Vec<Effect>) -> Result<()>;
    /// Is told now and then how far replay has come.
    fn progress(&mut self, progress: Progress);
    /// The same for the building of indexes, where that is a phase of its own: so many of so many entries
    /// are in; none of none while these are gathered.
    fn indexing(&mut self, entries: u64, entries_total: u64) {
        let _ = (entries, entries_total);
    }
    /// The last commit timestamp that was replayed past the [`Replayer`]: the next commit comes after
    /// it. To be called at the end, and may be called at any time.
    fn reached(&mut self, commit_ts: CommitTs);
}

/// The database that a scheme fills.
pub trait Target: Replayer {
    /// What its records carry.
    type Header: Header;
    /// What is in force now. Changes only when a schema change is replayed by [`Replayer::effects`]:
    /// ask again after each.
    fn world(&self) -> Arc<World<Self::Header>>;
}

/// Tables and procedures of one version of the schema.
pub struct World<H: Header> {
    /// The tables.
    pub tables: TableSet<H>,
    /// Everything else.
    pub routines: Arc<dyn Routines>,
}

/// A [`World`] whatever its records carry: all that those know who divide the work, and touch no record.
pub(crate) trait AnyWorld: Send + Sync {
    /// The tables, by id.
    fn tables(&self) -> Vec<TableId>;
    /// A table, if it is there.
    fn try_table(&self, id: TableId) -> Option<&Shape>;
    /// Everything else.
    fn routines(&self) -> &Arc<dyn Routines>;
    /// A table that is known to be there.
    fn table(&self, id: TableId) -> &Shape {
        self.try_table(id).expect("a table of a plan is in the world of the plan")
    }
}

impl<H: Header> AnyWorld for World<H> {
    fn tables(&self) -> Vec<TableId> {
        self.tables.iter().map(|table| table.id()).collect()
    }
    fn try_table(&self, id: TableId) -> Option<&Shape> {
        self.tables.try_get(id).map(|table| table.shape())
    }
    fn routines(&self) -> &Arc<dyn Routines> {
        &self.routines
    }
}

/// Procedures of one version of the schema, and the sequences behind its tables.
pub trait Routines: Link + Send + Sync {
    /// The program of this version of a procedure.
    fn program(&self, procedure: ProcedureId) -> Result<&Program>;
    /// The program that keeps values for a parallel replay, which calls marked so ran as; `None` if there is
    /// none.
    fn keeping(&self, procedure: ProcedureId) -> Result<Option<&Program>>;
    /// What a logged call has kept: of [`Keeping::ByFormer`] whether that is what it would keep now.
    fn kept(&self, procedure: ProcedureId, keeping: Keeping) -> Keeping {
        let _ = procedure;
        keeping
    }
    /// Its replay plan, compiled. `None` if it cannot be planned: then its calls are replayed behind a
    /// barrier, by [`Replayer::call`].
    fn plan(&self, procedure: ProcedureId) -> Result<Option<&CompiledPlan>>;
    /// Compiles a program made from one of these (a slice, a piece).
    fn compile(&self, program: &Program) -> Result<Code>;
    /// The row id in a row that the log has is not given again. Of tables without row ids nothing.
    fn observe_row(&self, table: TableId, row: &[u64]);
    /// A sequence came to this place. Order does not matter.
    fn observe_sequence(&self, sequence: SequenceId, place: SequencePlace);
    /// Its name, for people.
    fn table_name(&self, table: TableId) -> String;
}
