//! The engine's side of recovery: calls run again, effects put in place.
//!
//! Replay runs on the engine's own protocol, alone, and gives each transaction the commit timestamp it
//! had. A procedure is compiled under the catalog it was called under, because schema changes are
//! replayed in the same order; its plan is then the one it ran with.

use crate::engine::Engine;
use crate::engine::program::inputs::{Inputs, Recorded};
use crate::engine::schema_version::SchemaVersion;
use crate::engine::store::Replayed;
use crate::engine::teller::Teller;
use crate::options::{RecoveryProgress, RecoveryStage};
use crate::session::core::SessionCore;
use planaria_base::{CommitTs, Error, Result, SqlState};
use planaria_exec::Interrupt;
use planaria_log::{Call, Effect, Keeping};
use planaria_recovery::{Progress, Replayer, Routines};
use std::sync::Arc;

/// See the module's head.
pub(crate) struct Replay {
    session: SessionCore,
    teller: Teller,
    /// As it was told last.
    progress: RecoveryProgress,
    /// Of the calls that rows have been fetched for, which one comes next, and how many they are.
    next: usize,
    coming: usize,
}

impl Replay {
    /// Of a log with so many records.
    pub(crate) fn new(engine: &Arc<Engine>, teller: Teller, records: u64) -> Result<Replay> {
        let progress = RecoveryProgress { stage: RecoveryStage::Replay, records, ..Default::default() };
        let mut session = SessionCore::new(engine.clone())?;
        session.settings.replay();
        Ok(Replay { session, teller, progress, next: 0, coming: 0 })
    }
}

impl Replayer for Replay {
    fn call(&mut self, commit_ts: CommitTs, call: Call) -> Result<()> {
        let s = &mut self.session;
        s.enter()?;
        let schema = s.schema.clone();
        s.engine.clock.reset_to(commit_ts);
        s.begin();
        if self.next < self.coming {
            s.serve(self.next);
            self.next += 1;
        }
        // What another planner kept is among the inputs: `replayed_call` takes only calls without any.
        let keeping = schema.kept(call.procedure, call.keeping);
        let values = if keeping == Keeping::ByAnother { Vec::new() } else { call.inputs };
        s.inputs.recorded = Some(Recorded { procedure: call.procedure, values });
        let outcome = schema
            .replayed_call(call.procedure, keeping)
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
            s.txn.abort(&schema.tables);
        }
        s.inputs = Inputs::default();
        s.leave();
        if self.next == self.coming {
            s.end_calls();
        }
        outcome.map_err(Error::from)
    }

    fn coming(&mut self, calls: &[&Call]) {
        self.session.fetch_for_replay(calls);
        (self.next, self.coming) = (0, calls.len());
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
            let outcome = s.put_in_place(part).and_then(|()| s.commit_unlogged(&schema).map_err(Error::from));
            if outcome.is_err() {
                s.txn.abort(&schema.tables);
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

impl Replayed for Replay {
    fn schema(&self) -> Arc<SchemaVersion> {
        self.session.engine.schema.load_full()
    }
}
