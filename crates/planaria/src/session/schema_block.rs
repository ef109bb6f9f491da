//! Changes of the schema in transaction blocks.
//!
//! ```text
//!  BEGIN   INSERT   CREATE TABLE   INSERT  SAVEPOINT   ALTER TABLE  UPDATE   COMMIT
//!          '-- part 1 --'--------- part 2 ---------'----- part 3 -----'
//!                   gate the block's ......................................  open
//! ```
//!
//! 1. The first change of a block closes the [gate](crate::engine::gate), and the block has it until its end: from there on
//!    it is alone, or alone with its tables ([`beside`](crate::session::beside)). What it read so far is validated then, and
//!    holds ever after (40001 otherwise).
//! 2. Its rows so far become a *part*: they are installed, unlogged, and what takes them back is kept
//!    ([`InstalledChanges::undo`](crate::session::changing)). Nobody sees them: whoever wants in waits at the gate, and who reads a snapshot from before
//!    goes on with the versions of before. A savepoint ends a part, too; those taken before the gate was closed
//!    are made into ends of parts then.
//! 3. The change makes a draft of the schema (`schema`, `rewrite`) that only this session knows. The block goes on
//!    with it; what it writes belongs to the next part.
//! 4. COMMIT writes one record with all parts, in order, at one commit timestamp, makes the draft the current
//!    schema, and opens the gate.
//! 5. ROLLBACK undoes the installed parts, the last one first, by transactions that are not logged, forgets the
//!    draft, and opens the gate. So do a failure that nothing can come back from, and the end of the session.
//!    ROLLBACK TO undoes some of the parts.
//!
//! A crash before the record is on disk leaves nothing: parts are in memory alone, and no checkpoint begins
//! while the gate is closed. One under way reads a snapshot from before; so does one that begins while the gate is lent,
//! as nothing is installed then that others know.
//!
//! *Claims.* Other blocks may have claimed rows, and cannot let go of them before the gate is open. The block
//! passes claims by ([`alone`](planaria_protocol::Exclusive::alone)): whoever claimed a row that it changed finds that out when he commits.
//! A key that another block is putting in is a deadlock (40P01).
//!
//! *Replay* applies the parts one after the other, each in a transaction of its own, at the record's timestamp; a
//! draft that was rolled back has left no trace, in ids neither.

use crate::LogKind;
use crate::engine::program::refusal::not_serialized;
use crate::engine::schema_version::SchemaVersion;
use crate::engine::worker::once;
use crate::engine::written::Written;
use crate::session::changing::{Alone, InstalledChanges, SchemaBlock, Shared, effect_bytes};
use crate::session::constraints::KeyToCheck;
use crate::session::core::SessionCore;
use crate::session::record::{self, RowForm};
use crate::session::savepoint::{At, Mark};
use crate::session::schema::{Change, Prepared};
use planaria_base::sync::Instant;
use planaria_base::{CommitTs, Error, IndexId, Result, TableId};
use planaria_log::{Effect, EffectWriter, encode_effects};
use planaria_protocol::WriteKind;
use planaria_sql::ddl::DdlOutcome;
use planaria_storage::KeyBuf;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

/// A row, by table and encoded primary key.
type RowKey = (TableId, Vec<u8>);
/// An image; `None`: there is no row.
type Row = Option<Box<[u64]>>;
/// What a transaction has done: each row before and after it.
type Net = BTreeMap<RowKey, (Row, Row)>;

/// What leads from one state of a transaction to a later one.
fn difference(earlier: &Net, later: &Net) -> Vec<Effect> {
    let keys: BTreeSet<&RowKey> = earlier.keys().chain(later.keys()).collect();
    let effect = |key: &RowKey| {
        let now = match (earlier.get(key), later.get(key)) {
            (Some((_, now)), _) => now,
            (None, Some((before, _))) => before,
            (None, None) => return None,
        };
        let then = match (earlier.get(key), later.get(key)) {
            (_, Some((_, then))) => then,
            (Some((before, _)), None) => before,
            (None, None) => return None,
        };
        let table = key.0;
        match (now, then) {
            (None, Some(row)) => Some(Effect::Insert { table, row: row.to_vec() }),
            (Some(now), Some(row)) if now != row => Some(Effect::Update { table, row: row.to_vec() }),
            (Some(_), None) => Some(Effect::Delete { table, key: key.1.clone() }),
            _ => None,
        }
    };
    keys.into_iter().filter_map(effect).collect()
}

impl SessionCore {
    /// Carries out a schema change in the open block.
    pub(crate) fn change_in_block(&mut self, text: &str) -> Result<(DdlOutcome, u64)> {
        match self.changing {
            None => self.close_for_block()?,
            Some(_) => self.take_gate_back_on_unlocked()?,
        }
        self.used = true;
        let pending = self.pending_keys()?;
        self.end_part()?;
        self.share.begin_statement();
        let (old, began) = (self.schema.clone(), Instant::now());
        let Prepared { outcome, new, later, record, reads } = self.prepare_change(&old, Change::New(text))?;
        self.touch_beside(&Arc::new(reads))?;
        let waiting = self.refuse_waiting_change(&old, &new, (outcome.tag, text), &pending);
        let count = waiting.and_then(|()| self.carry_out(&new, later, true));
        self.machine.reset();
        match count {
            Ok(count) => {
                self.schema = Arc::new(new);
                if let Some(block) = &mut self.changing {
                    block.change = record;
                    block.took += began.elapsed();
                }
                self.let_others_in();
                Ok((outcome, count))
            }
            Err(error) => {
                self.txn.abort(&new.tables);
                Err(error)
            }
        }
    }

    /// Closes the gate for the rest of the block.
    fn close_for_block(&mut self) -> Result<()> {
        self.close_gate_on_unlocked()?;
        let alone = Alone(self.engine.clone());
        let engine = self.engine.clone();
        engine.gate.hold(self.worker);
        if self.is_stale() && (self.used || !self.savepoints.is_empty()) {
            self.follow_or_fail()?;
        } else if self.is_stale() {
            let schema = self.schema.clone();
            self.txn.abort(&schema.tables);
            self.refresh();
            self.txn.begin();
        }
        let base = self.schema.clone();
        self.changing = Some(Box::new(SchemaBlock {
            base,
            parts: Vec::new(),
            change: None,
            took: Duration::ZERO,
            lent: false,
            apart: false,
            needs: Vec::new(),
            _alone: alone,
        }));
        if !self.txn.holds_now(&self.schema.tables) {
            return Err(not_serialized());
        }
        self.txn.keep_before_images_now().map_err(Error::from)?;
        self.txn.alone(true);
        self.begin_beside();
        self.savepoints_to_parts()
    }

    /// Makes the savepoints of the transaction into ends of parts.
    fn savepoints_to_parts(&mut self) -> Result<()> {
        let schema = self.schema.clone();
        // What was done before each savepoint, the last one first.
        let mut states = vec![self.net()];
        for at in (0..self.savepoints.len()).rev() {
            let At::Transaction(savepoint) = self.savepoints[at].at else { continue };
            self.txn.rollback_to(savepoint, &schema.tables);
            self.txn.release(savepoint);
            states.push(self.net());
            // Until it is one, with all tables: what is undone is kept for it.
            self.savepoints[at].at = At::InstalledChanges(0, schema.clone());
        }
        if states.len() == 1 {
            return Ok(());
        }
        states.reverse();
        for at in 0..states.len() {
            if at > 0 {
                self.txn.begin();
                self.put_in_place(&difference(&states[at - 1], &states[at]))?;
            }
            self.end_part()?;
            let parts = self.changing.as_ref().map_or(0, |block| block.parts.len());
            if let Some(mark) = self.savepoints.get_mut(at) {
                mark.at = At::InstalledChanges(parts, schema.clone());
            }
        }
        Ok(())
    }

    /// What the transaction has done so far.
    fn net(&self) -> Net {
        let mut net = Net::new();
        let mut key = KeyBuf::new();
        let schema = &self.schema;
        self.txn.for_each(&mut |write| {
            let codec = schema.shape(write.table).index(IndexId::PRIMARY).codec();
            codec.encode_row(write.image, &mut key).expect("a row's key was encoded when it was stored");
            let (before, after) = net.entry((write.table, key.bytes().collect())).or_default();
            match write.kind {
                WriteKind::Insert => *after = Some(write.image.into()),
                WriteKind::Update => {
                    (*before, *after) = (Some(write.before.into()), Some(write.image.into()))
                }
                // Its image may be that of an update before.
                WriteKind::Delete => *before = Some(write.before.into()),
            }
        });
        net
    }

    /// A savepoint in a block that has changed the schema.
    pub(crate) fn savepoint_of_part(&mut self) -> Result<At> {
        if !self.txn.is_read_only() {
            self.take_gate_back()?;
        }
        self.end_part()?;
        self.txn.begin();
        let parts = self.changing.as_ref().map_or(0, |block| block.parts.len());
        self.let_others_in();
        Ok(At::InstalledChanges(parts, self.schema.clone()))
    }

    /// Installs what the transaction has done since the last part, as a part. No transaction is open afterwards.
    fn end_part(&mut self) -> Result<()> {
        let schema = self.schema.clone();
        let keys = self.keys_to_check(&schema)?;
        let Some(block) = &mut self.changing else { return Err(Error::internal("a part of no block")) };
        let engine = &*self.engine;
        let (change, sequences) = (block.change.take(), std::mem::take(&mut self.effects));
        let rows = Vec::new();
        let mut part =
            InstalledChanges { schema, change, sequences, rows, undo: Vec::new(), _kept: None, keys };
        let tables = &part.schema.tables;
        if self.txn.is_read_only() {
            self.txn.abort(tables);
        } else {
            if self.log.is_some() {
                let form = RowForm::of(engine.log_kind);
                let write = |w: &mut EffectWriter<'_>| {
                    record::write_rows(w, form, &part.schema, &*self.txn);
                };
                part.rows = encode_effects(write);
            }
            part.undo = undo(&*self.txn, &part.schema, &block.base, &self.savepoints);
            let commit = self.txn.commit(tables, &mut |_, _| {});
            commit.map_err(Error::from)?;
            // Its rows are among the tables' bytes now.
            self.share.end_transaction(&engine.meter);
            let undo: usize = part.undo.iter().map(effect_bytes).sum();
            part._kept = Some(engine.meter.keep_anyway((part.rows.len() + undo) as u64));
        }
        if !part.is_empty() {
            block.parts.push(part);
        }
        Ok(())
    }

    /// Back to a savepoint of a block that has changed the schema.
    pub(crate) fn back_to_part(&mut self, parts: usize, schema: &Shared) -> Result<()> {
        self.undo_parts(parts, schema)?;
        self.txn.begin();
        self.let_others_in();
        Ok(())
    }

    /// Undoes all but the first parts, and what was done since; the schema becomes `target`, that of then. What
    /// was drawn from sequences stays drawn. No transaction is open afterwards.
    fn undo_parts(&mut self, parts: usize, target: &Shared) -> Result<()> {
        let schema = self.schema.clone();
        self.txn.abort(&schema.tables);
        let mut sequences = std::mem::take(&mut self.effects);
        sequences.retain(|effect| target.shares_sequence(&schema, effect.sequence));
        self.sequences.forget_runs();
        while let Some(block) = &mut self.changing
            && block.parts.len() > parts
        {
            block.change = None;
            let Some(mut part) = block.parts.pop() else { break };
            let kept = part.sequences.iter().copied();
            let kept = kept.filter(|effect| target.shares_sequence(&part.schema, effect.sequence));
            sequences.splice(0..0, kept);
            part.undo.retain(|effect| {
                let table = effect.logical().map(|change| change.table());
                table.is_some_and(|table| target.shares_table(&part.schema, table))
            });
            if part.undo.is_empty() {
                continue;
            }
            self.schema = part.schema.clone();
            self.txn.begin();
            let undone = self.put_in_place(&part.undo);
            let undone = undone.and_then(|()| self.commit_unlogged(&part.schema).map_err(Error::from));
            if undone.is_err() {
                self.txn.abort(&part.schema.tables);
            }
            undone?;
        }
        if let Some(block) = &mut self.changing {
            block.change = None;
        }
        self.effects = sequences;
        self.schema = target.clone();
        Ok(())
    }

    /// Rolls the block back, as far as there is anything to be undone, and opens the gate.
    pub(crate) fn undo_schema(&mut self) {
        let Some(block) = &self.changing else { return };
        let base = block.base.clone();
        let installed = block.parts.iter().any(|part| !part.undo.is_empty());
        if let Err(error) = self.undo_parts(0, &base)
            && let Some(log) = self.engine.log.get()
        {
            log.fail(error.context("rolling back changes of the schema"));
        }
        self.schema = base.clone();
        // What was drawn from sequences that stay is drawn; what was changed of them is not.
        self.effects.retain_mut(|effect| match base.sequences.get(effect.sequence.index()) {
            Some(state) => {
                effect.place = state.place();
                true
            }
            None => false,
        });
        // Where the log has failed, nothing comes after it.
        let _ = self.log_sequences(&|_| true);
        if installed && self.engine.log_kind == LogKind::Physical {
            self.log_moved_rows();
        }
        self.sequences.forget_unknown(|id| base.sequences.get(id.index()).is_some());
        self.end_schema_block();
    }

    /// Rows that were deleted are at other places now: whoever replays by location must look them up anew.
    fn log_moved_rows(&mut self) {
        let Some(log) = &mut self.log else { return };
        // Where the log has failed, nothing will be replayed that comes after it.
        let Ok(commit) = log.enter() else { return };
        self.engine.counters.committing(self.worker);
        let epoch = commit.effects(self.engine.clock.draw(), |w| w.part());
        self.engine.counters.committed(self.worker, epoch);
    }

    /// Opens the gate.
    fn end_schema_block(&mut self) {
        self.keep_before_images();
        self.txn.alone(false);
        self.changing = None;
    }

    /// What the parts of the block have put off.
    pub(crate) fn keys_of_parts(&self) -> Vec<KeyToCheck> {
        let parts = self.changing.iter().flat_map(|block| &block.parts);
        parts.flat_map(|part| part.keys.iter().cloned()).collect()
    }

    /// Commits a block that has changed the schema. After an error it has been rolled back.
    pub(crate) fn commit_schema_block(&mut self) -> Result<(CommitTs, bool)> {
        let schema = self.schema.clone();
        let checked = self.check_deferred(&schema).map_err(Error::from);
        match checked.and_then(|()| self.log_schema_block()) {
            Ok(done) => {
                let engine = self.engine.clone();
                if let Some(block) = &self.changing {
                    if block.base.version() != self.schema.version() {
                        engine.install((*self.schema).clone());
                    }
                    // A restart has to make them again.
                    engine.budget.lock().changed(block.took);
                }
                self.end_schema_block();
                self.speak(done.0);
                engine.counters.commit(self.worker);
                Ok(done)
            }
            Err(error) => {
                self.undo_schema();
                Err(error)
            }
        }
    }

    fn log_schema_block(&mut self) -> Result<(CommitTs, bool)> {
        let (engine, schema) = (&*self.engine, &self.schema);
        let Some(block) = &self.changing else { return Err(Error::internal("a commit of no block")) };
        let (parts, change, effects) = (&block.parts, block.change.as_deref(), &self.effects);
        let read_only = self.txn.is_read_only();
        let nothing = read_only && parts.is_empty() && change.is_none() && effects.is_empty();
        let Some(log) = self.log.as_mut().filter(|_| !nothing) else {
            let commit = self.txn.commit(&schema.tables, &mut |_, _| {});
            return Ok((commit.map_err(Error::from)?, false));
        };
        let write = |w: &mut EffectWriter<'_>, written: &dyn Written| {
            for part in parts {
                part.write(w);
                w.part();
            }
            match change {
                Some(change) => w.encoded(change),
                // Rows may have been taken back, and be at other places.
                None if parts.is_empty() => w.part(),
                None => {}
            }
            record::write_sequences(w, effects);
            record::write_rows(w, RowForm::of(engine.log_kind), schema, written);
        };
        let commit = log.enter()?;
        engine.counters.committing(self.worker);
        let outcome = if read_only {
            let ts = engine.clock.draw();
            commit.effects(ts, |w| write(w, &*self.txn));
            self.txn.abort(&schema.tables);
            Ok(ts)
        } else {
            let append = |ts: CommitTs, written: &dyn Written| {
                commit.effects(ts, |w| write(w, written));
            };
            self.txn.commit(&schema.tables, &mut once(append))
        };
        engine.counters.committed(self.worker, log.newest());
        Ok((outcome.map_err(Error::from)?, true))
    }
}

/// What takes back what a transaction has written, where something could come back to it: to the schema of before
/// the block, or to that of a savepoint.
fn undo(
    written: &dyn Written,
    schema: &SchemaVersion,
    base: &SchemaVersion,
    savepoints: &[Mark],
) -> Vec<Effect> {
    let mut needed: BTreeMap<TableId, bool> = BTreeMap::new();
    let mut is_needed = |table| {
        *needed.entry(table).or_insert_with(|| {
            base.shares_table(schema, table)
                || savepoints.iter().any(|mark| match &mark.at {
                    At::InstalledChanges(_, then) => then.shares_table(schema, table),
                    At::Transaction(_) | At::Snapshot => false,
                })
        })
    };
    let (mut key, mut undo) = (KeyBuf::new(), Vec::new());
    written.for_each(&mut |write| {
        let table = write.table;
        if !is_needed(table) {
            return;
        }
        undo.push(match write.kind {
            WriteKind::Insert => {
                let codec = schema.shape(table).index(IndexId::PRIMARY).codec();
                codec.encode_row(write.image, &mut key).expect("a row's key was encoded when it was stored");
                Effect::Delete { table, key: key.bytes().collect() }
            }
            WriteKind::Update => Effect::Update { table, row: write.before.to_vec() },
            WriteKind::Delete => Effect::Insert { table, row: write.before.to_vec() },
        });
    });
    undo
}
