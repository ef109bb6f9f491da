//! Names of a schema's objects, for people.

use crate::engine::schema_version::SchemaVersion;
use planaria_analysis as analysis;
use planaria_base::{ColumnId, IndexId, ProcedureId, SequenceId, TableId};

/// See the module's head.
pub(crate) struct Names<'s>(pub(crate) &'s SchemaVersion);

impl analysis::Names for Names<'_> {
    fn table(&self, id: TableId) -> String {
        self.0.catalog.table_by_id(id).name.clone()
    }
    fn column(&self, table: TableId, column: ColumnId) -> String {
        self.0.catalog.table_by_id(table).columns[column.index()].name.clone()
    }
    fn index(&self, table: TableId, index: IndexId) -> String {
        self.0.catalog.table_by_id(table).indexes[index.index()].name.clone()
    }
    fn index_columns(&self, table: TableId, index: IndexId) -> Vec<ColumnId> {
        self.0.catalog.table_by_id(table).indexes[index.index()].columns.clone()
    }
    fn procedure(&self, id: ProcedureId) -> String {
        let routine = self.0.catalog.procedure(id);
        match self.0.catalog.trigger_of(routine) {
            Some((table, trigger, _)) => format!("trigger {} of {}", trigger.name, table.name),
            None => routine.name.clone(),
        }
    }
    fn sequence(&self, id: SequenceId) -> String {
        self.0.catalog.sequences[id.index()].as_ref().map_or_else(String::new, |s| s.name.clone())
    }
    fn accesses(&self, procedure: ProcedureId) -> Option<analysis::paper::Accesses> {
        let callee = |id: ProcedureId| self.0.program(id).ok();
        analysis::paper::Accesses::of(callee(procedure)?, &callee)
    }
}
