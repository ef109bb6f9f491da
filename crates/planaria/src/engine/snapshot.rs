//! Open snapshots of the data: the state as of a moment, under the schema of then.

use super::Engine;
use super::open_snapshots::SnapshotInfo;
use super::schema_version::SchemaVersion;
use planaria_base::{CommitTs, Result, TableId, WorkerId};
use planaria_protocol::snapshot::ReaderTxn;
use planaria_protocol::{Backoff, Hosted, Moment, Opened, Protocol, SnapshotReader};
use planaria_storage::Table;
use std::sync::Arc;

/// An open snapshot; closed when dropped.
#[allow(clippy::redundant_allocation, reason = "the outer count is this session's alone")]
pub(crate) struct OpenSnapshot<P: Hosted> {
    engine: Arc<Engine<P>>,
    /// Catalog and tables as of its moment.
    pub(crate) schema: Arc<Arc<SchemaVersion<P::Header>>>,
    /// The last commit that it shows has this timestamp or a lower one.
    pub(crate) at: CommitTs,
    id: Opened,
    number: u64,
}

impl<P: Hosted> OpenSnapshot<P> {
    /// Opens one with everything that has been committed so far. `worker` must not stand inside the gate.
    /// Where transactions come one after another it waits for its turn, as long as it `goes_on`. `inside` runs
    /// when its moment has come, before the schema can change.
    pub(crate) fn new<T>(
        engine: &Arc<Engine<P>>,
        worker: WorkerId,
        session: i32,
        moment: Moment,
        goes_on: &dyn Fn() -> Result<()>,
        inside: impl FnOnce(&SchemaVersion<P::Header>) -> T,
    ) -> Result<(OpenSnapshot<P>, T)> {
        let mut backoff = Backoff::new(u64::from(worker.0) + 1);
        let id = loop {
            // A change of the schema may be under way for long.
            let gate = &engine.gate;
            let wait = || gate.enter_patiently(worker, &mut || goes_on().is_ok());
            if !gate.try_enter(worker) && !gate.seen_waiting(worker, wait) {
                goes_on()?;
                continue;
            }
            if let Some(id) = engine.protocol.open_snapshot(&engine.clock, moment) {
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
    pub(crate) fn reader(&self, worker: WorkerId) -> (SnapshotReader<P::Header>, ReaderTxn) {
        let reader = SnapshotReader::new();
        let mut txn = reader.worker(worker);
        txn.read_at(self.at);
        (reader, txn)
    }

    /// It is not read any more at these keys of a table.
    pub(crate) fn leave_range(&self, table: TableId, from: Option<&[u64]>, to: Option<&[u64]>) {
        self.engine.protocol.leave_range(self.id, table, from, to);
    }

    /// It is not read any more in a table.
    pub(crate) fn leave_table(&self, table: TableId) {
        let Engine { protocol, clock, sweeper, .. } = &*self.engine;
        let mut tables = || self.tables(|other| other == table);
        sweeper.sweep(protocol.leave_table(self.id, table, clock, &mut tables));
    }

    /// Tables of the snapshot with old versions; and those of today: where one has been rewritten meanwhile, old versions
    /// are kept for it, too.
    fn tables(&self, which: impl Fn(TableId) -> bool) -> Vec<Arc<Table<P::Header>>> {
        let newest = self.engine.schema.load();
        let of = |schema: &SchemaVersion<P::Header>, all: &mut Vec<Arc<Table<P::Header>>>| {
            for table in schema.tables.iter().filter(|table| which(table.id()) && table.has_old_versions()) {
                if !all.iter().any(|known| Arc::ptr_eq(known, table)) {
                    all.push(table.clone());
                }
            }
        };
        let mut all = Vec::new();
        of(&self.schema, &mut all);
        if newest.version() != self.schema.version() {
            of(&newest, &mut all);
        }
        all
    }
}

impl<P: Hosted> Engine<P> {
    /// Has forgotten what was kept for transaction blocks that have ended.
    pub(super) fn forget_closed(&self) {
        let mut tables = || {
            let newest = self.schema.load();
            newest.tables.iter().filter(|table| table.has_old_versions()).cloned().collect()
        };
        self.sweeper.sweep(self.protocol.forget_closed(&self.clock, &mut tables));
    }
}

impl<P: Hosted> Drop for OpenSnapshot<P> {
    fn drop(&mut self) {
        let Engine { protocol, clock, sweeper, open_snapshots, .. } = &*self.engine;
        open_snapshots.remove(self.number);
        let mut tables = || self.tables(|_| true);
        sweeper.sweep(protocol.close_snapshot(self.id, clock, &mut tables));
    }
}

/// What a session reads a snapshot with.
pub(crate) struct Reading<P: Hosted> {
    pub(super) reader: SnapshotReader<P::Header>,
    pub(super) txn: ReaderTxn,
    pub(super) open: OpenSnapshot<P>,
    /// A query has been run.
    pub(super) used: bool,
}
