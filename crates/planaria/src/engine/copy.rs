//! A copy of a database in memory: schema, rows, where sequences stand.
//!
//! The gate is closed meanwhile. Rows are loaded table by table in the order of their primary keys,
//! on as many threads as there are cores.

use crate::engine::Engine;
use crate::engine::schema_version::SchemaVersion;
use crate::engine::sequence::SequenceState;
use planaria_base::sync::thread;
use planaria_base::{Error, Result};
use planaria_storage::AnyTable;
use planaria_storage::reclaim::Participant;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

impl Engine {
    /// A schema version that shares nothing with this engine but definitions.
    pub(crate) fn copy_state(&self) -> Result<SchemaVersion> {
        let _alone = self.gate.close();
        let old = self.schema.load_full();
        let mut sources: Vec<&dyn AnyTable> = old.tables.iter().collect();
        // The largest first, so that the last thread to end ends early.
        sources.sort_by_key(|table| std::cmp::Reverse(table.memory().rows));
        let cores = thread::available_parallelism().map_or(1, |n| n.get());
        let next = AtomicUsize::new(0);
        let copy_some = || -> Result<Vec<Arc<dyn AnyTable>>> {
            let mut copies = Vec::new();
            while let Some(source) = sources.get(next.fetch_add(1, Ordering::Relaxed)) {
                let copy = SchemaVersion::new_table(&old.catalog, &old.tables, source.id())?;
                copy_rows(*source, &*copy)?;
                copies.push(copy);
            }
            Ok(copies)
        };
        let copies: Vec<Result<Vec<_>>> = thread::scope(|scope| {
            let threads: Vec<_> = (0..cores.min(sources.len())).map(|_| scope.spawn(copy_some)).collect();
            threads
                .into_iter()
                .map(|t| {
                    t.join().unwrap_or_else(|_| Err(Error::internal("a thread that copies rows panicked")))
                })
                .collect()
        });
        let mut tables = self.store.no_tables();
        for some in copies {
            some?.into_iter().for_each(|table| tables.insert(table));
        }
        let copy_sequence =
            |state: &Arc<SequenceState>| Arc::new(state.redefined(state.definition().clone()));
        let sequences = old.sequences.entries().map(|(at, state)| (at, copy_sequence(state))).collect();
        Ok(SchemaVersion::new(old.catalog.clone(), tables, sequences))
    }
}

fn copy_rows(from: &dyn AnyTable, to: &dyn AnyTable) -> Result<()> {
    let mut participant = Participant::new();
    let guard = participant.guard();
    from.for_each_row(guard.pinned(), &mut |image| {
        let refused = |_| Error::internal("a row that one table has is refused by its copy");
        to.load(image, 0, guard.pinned()).map_err(refused)
    })
}
