//! Open snapshots of the data: the state as of a moment, under the schema of then.

use crate::engine::Engine;
use crate::engine::exported::Exports;
use crate::engine::schema_version::SchemaVersion;
use crate::engine::worker::Reader;
use crate::system::SnapshotInfo;
use planaria_base::{CommitTs, Result, TableId, WorkerId};
use planaria_protocol::{Backoff, Moment, Opened};
use planaria_storage::Tables;
use std::sync::Arc;

/// An open snapshot; closed when dropped.
#[allow(clippy::redundant_allocation, reason = "the outer count is this session's alone")]
pub(crate) struct OpenSnapshot {
    engine: Arc<Engine>,
    /// Catalog and tables as of its moment.
    pub(crate) schema: Arc<Arc<SchemaVersion>>,
    /// The last commit that it shows has this timestamp or a lower one.
    pub(crate) at: CommitTs,
    id: Opened,
    number: u64,
}

impl OpenSnapshot {
    /// Opens one with everything that has been committed so far. `worker` must not stand inside the gate.
    /// Where transactions come one after another it waits for its turn, as long as it `goes_on`. `inside` runs
    /// when its moment has come, before the schema can change.
    pub(crate) fn new<T>(
        engine: &Arc<Engine>,
        worker: WorkerId,
        session: i32,
        moment: Moment,
        goes_on: &dyn Fn() -> Result<()>,
        inside: impl FnOnce(&SchemaVersion) -> T,
    ) -> Result<(OpenSnapshot, T)> {
        let mut backoff = Backoff::new(u64::from(worker.0) + 1);
        let id = loop {
            // A change of the schema may be under way for long.
            let gate = &engine.gate;
            let wait = || gate.enter_patiently(worker, &mut || goes_on().is_ok());
            if !gate.try_enter(worker) && !gate.seen_waiting(worker, wait) {
                goes_on()?;
                continue;
            }
            if let Some(id) = engine.store.open_snapshot(moment) {
                break id;
            }
            // Not inside: whose turn it is may be waiting for a schema change, which waits for all inside.
            engine.gate.leave(worker);
            goes_on()?;
            backoff.wait();
        };
        let (at, epoch) = (id.at, id.at.epoch());
        let schema = Arc::new(engine.schema.load_full());
        match engine.log.get() {
            _ if moment == Moment::Now => {}
            Some(log) => log.end_epoch(epoch),
            None => engine.clock.end_epoch(epoch),
        }
        let seen = inside(&schema);
        engine.gate.leave(worker);
        let info = SnapshotInfo { epoch, opened: engine.wall_clock.micros(), session };
        let number = engine.open_snapshots.add(info);
        Ok((OpenSnapshot { engine: engine.clone(), schema, at, id, number }, seen))
    }

    /// A transaction that reads it.
    pub(crate) fn reader(&self, worker: WorkerId) -> Box<dyn Reader> {
        self.engine.store.reader(self.at, worker)
    }

    /// It is not read any more at these keys of a table.
    pub(crate) fn leave_range(&self, table: TableId, from: Option<&[u64]>, to: Option<&[u64]>) {
        self.engine.store.leave_range(self.id, table, from, to);
    }

    /// It is not read any more in a table.
    pub(crate) fn leave_table(&self, table: TableId) {
        self.engine.store.leave_table(self.id, table, &mut || self.versions());
    }

    /// Its tables, and those of today.
    fn versions(&self) -> Vec<Tables> {
        vec![self.schema.tables.clone(), self.engine.schema.load().tables.clone()]
    }
}

impl Engine {
    /// Has forgotten what was kept for transaction blocks that have ended.
    pub(crate) fn forget_closed(&self) {
        self.store.forget_closed(&mut || vec![self.schema.load().tables.clone()]);
    }
}

impl Drop for OpenSnapshot {
    fn drop(&mut self) {
        self.engine.open_snapshots.remove(self.number);
        self.engine.store.close_snapshot(self.id, &mut || self.versions());
    }
}

/// What a session reads a snapshot with.
pub(crate) struct Reading {
    pub(crate) reader: Box<dyn Reader>,
    /// Others may read it, too.
    pub(crate) open: Arc<OpenSnapshot>,
    /// Under which names.
    pub(crate) exports: Exports,
    /// A query has been run.
    pub(crate) used: bool,
}
