//! The engine's side of recovery: calls run again, effects put in place.
//!
//! Replay runs on the engine's own protocol, alone, and gives each transaction the commit timestamp it
//! had. A procedure is compiled under the catalog it was called under, because schema changes are
//! replayed in the same order; its plan is then the one it ran with.

use super::Engine;
use super::host::{Inputs, Recorded};
use super::session::SessionCore;
use super::teller::Teller;
use crate::options::{OnRecovery, RecoveryProgress, RecoveryStage};
use planaria_base::{CommitTs, Error, IndexId, Result, SqlState, TableId};
use planaria_exec::Interrupt;
use planaria_log::{Call, Effect, Keeping, RowChange};
use planaria_protocol::Hosted;
use planaria_recovery::{Progress, Replayer, Target, World};
use planaria_storage::{IndexSet, KeyBuf, Table};
use std::sync::Arc;

/// See the module's head.
pub(super) struct Replay<P: Hosted> {
    session: SessionCore<P>,
    teller: Teller,
    /// As it was told last.
    progress: RecoveryProgress,
}

impl<P: Hosted> Replay<P> {
    /// Of a log with so many records.
    pub(super) fn new(
        engine: &Arc<Engine<P>>,
        on_progress: Option<OnRecovery>,
        records: u64,
    ) -> Result<Replay<P>> {
        let progress = RecoveryProgress { stage: RecoveryStage::Replay, records, ..Default::default() };
        Ok(Replay { session: SessionCore::new(engine.clone())?, teller: Teller::new(on_progress), progress })
    }
}

/// What must not happen alone: the log does not fit the database it is replayed into.
fn unexpected(interrupt: Interrupt) -> Error {
    match interrupt {
        Interrupt::Error(error) => error,
        Interrupt::Conflict(conflict) => Error::from(conflict),
    }
}

fn missing(what: &str, table: TableId) -> Error {
    Error::new(SqlState::DATA_CORRUPTED, format!("the log {what} a row that table {table} does not have"))
}

impl<P: Hosted> Replayer for Replay<P> {
    fn call(&mut self, commit_ts: CommitTs, call: Call) -> Result<()> {
        let s = &mut self.session;
        s.enter()?;
        let schema = s.schema.clone();
        s.engine.clock.reset_to(commit_ts);
        s.begin();
        // What another planner kept is among the inputs: `replayed_call` takes only calls without any.
        let values = if call.keeping == Keeping::ByAnother { Vec::new() } else { call.inputs };
        s.inputs.recorded = Some(Recorded { procedure: call.procedure, values });
        let outcome = schema
            .replayed_call(call.procedure, call.keeping)
            .map_err(Interrupt::from)
            .and_then(|code| s.run_datums(&schema, code, &call.args, true))
            .and_then(|()| {
                if s.inputs.all_given() {
                    return Ok(());
                }
                Err(Error::new(SqlState::DATA_CORRUPTED, "replay drew fewer inputs than the log has").into())
            })
            .and_then(|()| s.commit_unlogged(&schema));
        if outcome.is_err() {
            s.engine.protocol.abort(&mut s.txn, &schema.tables);
        }
        s.inputs = Inputs::default();
        s.leave();
        outcome.map_err(unexpected)
    }

    fn effects(&mut self, commit_ts: CommitTs, effects: Vec<Effect>) -> Result<()> {
        let s = &mut self.session;
        for part in effects.split(|effect| *effect == Effect::Part) {
            for effect in part {
                if let Effect::Schema(change) = effect {
                    s.replay_schema_change(change, part)?;
                }
            }
            s.enter()?;
            let schema = s.schema.clone();
            s.engine.clock.reset_to(commit_ts);
            s.begin();
            let outcome = put_in_place(s, part).and_then(|()| s.commit_unlogged(&schema).map_err(unexpected));
            if outcome.is_err() {
                s.engine.protocol.abort(&mut s.txn, &schema.tables);
            }
            s.leave();
            outcome?;
        }
        Ok(())
    }

    fn progress(&mut self, progress: Progress) {
        self.progress = RecoveryProgress {
            stage: RecoveryStage::Replay,
            records: self.progress.records,
            bytes_done: progress.bytes_done,
            bytes_total: progress.bytes_total,
            transactions: progress.transactions,
            planned: progress.planned,
            ..Default::default()
        };
        self.teller.tell(progress.bytes_done >= progress.bytes_total, || self.progress);
    }

    fn indexing(&mut self, index_entries: u64, index_entries_total: u64) {
        let stage = RecoveryStage::Index;
        let progress = RecoveryProgress { stage, index_entries, index_entries_total, ..self.progress };
        let ended = index_entries_total > 0 && index_entries == index_entries_total;
        self.teller.tell(ended, || progress);
    }

    fn reached(&mut self, commit_ts: CommitTs) {
        self.session.engine.clock.reset_to(CommitTs(commit_ts.0 + 1));
    }
}

impl<P: Hosted> Target for Replay<P> {
    type Header = P::Header;

    fn world(&self) -> Arc<World<P::Header>> {
        let schema = self.session.engine.schema.load_full();
        Arc::new(World { tables: schema.tables.clone(), routines: schema })
    }
}

/// Deletes every old row first, then adds the new ones: unique keys may have wandered between rows.
pub(super) fn put_in_place<P: Hosted>(s: &mut SessionCore<P>, effects: &[Effect]) -> Result<()> {
    let schema = s.schema.clone();
    let protocol = &s.engine.protocol;
    let arena = &mut s.machine.heap_mut().arena;
    let mut key = KeyBuf::new();
    // After-images of updates that could not be made in place.
    let mut moved: Vec<(&Table<P::Header>, Vec<u64>)> = Vec::new();
    for change in effects.iter().filter_map(Effect::logical) {
        let storage = schema.logged_table(change.table())?;
        let what = match change {
            RowChange::Insert { .. } => continue,
            RowChange::Update { row, .. } => {
                storage.expect_image(row)?;
                let codec = storage.index(IndexId::PRIMARY).codec();
                codec.encode_row(row, &mut key).map_err(|_| Error::corrupted("a logged key is too long"))?;
                "updates"
            }
            RowChange::Patch { key: bytes, .. } => {
                key.set_bytes(bytes);
                "updates"
            }
            RowChange::Delete { key: bytes, .. } => {
                key.set_bytes(bytes);
                "deletes"
            }
        };
        let mark = arena.mark();
        let row = protocol
            .get(&mut s.txn, storage, IndexId::PRIMARY, &key, arena)?
            .ok_or_else(|| missing(what, storage.id()))?;
        let patched;
        let image = match change {
            RowChange::Update { row, .. } => Some(row),
            RowChange::Patch { patch, .. } => {
                let mut image = row.image.words(arena).to_vec();
                patch.redo(&mut image)?;
                storage.expect_image(&image)?;
                patched = image;
                Some(&patched[..])
            }
            _ => None,
        };
        // An update that can neither move a unique key nor meet one changes the row in place.
        if let Some(image) = image
            && !storage.secondary().any(|(_, index)| index.codec().unique())
        {
            let mut touched = IndexSet::EMPTY;
            storage.secondary().for_each(|(id, _)| touched.insert(id));
            if protocol.update(&mut s.txn, storage, row.handle, image, touched)?.is_err() {
                return Err(Error::corrupted("a logged update meets another row with its key"));
            }
        } else {
            protocol.delete(&mut s.txn, storage, row.handle)?;
            moved.extend(image.map(|image| (storage, image.to_vec())));
        }
        arena.truncate(mark);
    }
    let mut insert = |storage: &Table<P::Header>, row: &[u64]| {
        storage.expect_image(row)?;
        schema.observe_row_id(storage.id(), row);
        if protocol.insert(&mut s.txn, storage, row)?.is_err() {
            let id = storage.id();
            return Err(Error::new(
                SqlState::DATA_CORRUPTED,
                format!("the log inserts a row that table {id} has already"),
            ));
        }
        Ok(())
    };
    for (storage, row) in moved {
        insert(storage, &row)?;
    }
    for effect in effects {
        if let Some(RowChange::Insert { table, row }) = effect.logical() {
            insert(schema.logged_table(table)?, row)?;
        }
        if let Effect::Sequence { sequence, place } = effect
            && let Some(state) = schema.sequences.get(sequence.index())
        {
            state.observe(*place);
        }
    }
    Ok(())
}
