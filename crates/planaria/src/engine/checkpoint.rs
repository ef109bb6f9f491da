//! Checkpoints of the engine: what goes into one, and the engine made from one.
//!
//! To write one (`planaria_checkpoint` does the writing):
//!
//! 1. open a snapshot of the epoch S ([`snapshot`](crate::engine::snapshot)), which ends S, and wait until S is on disk;
//! 2. write tables and catalog as of the end of S, and where sequences stand, while transactions go on (under
//!    protocol `serial` they wait); what has been written of a table is left, so that nothing is kept for it any more;
//! 3. close the snapshot;
//! 4. older checkpoints go, then the log up to S.
//!
//! A transaction after S needs nothing from before: its record names its procedure by version, and the
//! catalog keeps all versions; a transaction block that is open meanwhile has only read so far.

use crate::engine::Checkpoints;
use crate::engine::Engine;
use crate::engine::schema_version::SchemaVersion;
use crate::engine::sequence::{SequenceState, Standing};
use crate::engine::snapshot::OpenSnapshot;
use crate::engine::teller::Teller;
use crate::engine::unforeseen::unforeseen;
use crate::options::{LoadedCheckpoint, Options};
use crate::stats::{CheckpointReport, CheckpointStats};
use planaria_base::sync::{Instant, MutexGuard, thread};
use planaria_base::{Epoch, Error, Result, SequenceId, SqlState, TableId, WorkerId};
use planaria_catalog::Catalog;
use planaria_checkpoint::{
    Found, KeyRange, LoadOptions, Manifest, Notes, SequenceMark, Source, SourceTable, WriteOptions,
    WriteProgress, Written,
};
use planaria_log::{Device, LogReader};
use planaria_protocol::Moment;
use planaria_storage::AnyTable;
use planaria_storage::reclaim::Participant;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

/// What was restored, before the log is read.
pub(crate) struct Restored {
    pub(crate) loaded: Option<LoadedCheckpoint>,
    /// Why newer checkpoints were not.
    passed_over: Vec<Error>,
}

impl Restored {
    /// The epoch after which the log is needed: 0 without a checkpoint.
    pub(crate) fn epoch(&self) -> Epoch {
        self.loaded.as_ref().map_or(Epoch(0), |loaded| Epoch(loaded.epoch))
    }

    /// Where there is neither a log nor a checkpoint that could be loaded: the error, if there is a sign of a
    /// checkpoint.
    pub(crate) fn nothing_whole(&self, device: &dyn Device, found: &Found) -> Result<()> {
        if let Some(damage) = self.passed_over.first() {
            return Err(damage
                .clone()
                .with_hint("Nothing was changed. Restore the files from another copy."));
        }
        let Some(name) = &found.unfinished else { return Ok(()) };
        let message = format!(
            "the backup in \"{}\" is not complete: it has \"{name}\", but no manifest",
            device.describe("")
        );
        Err(Error::new(SqlState::DATA_CORRUPTED, message).with_hint(
            "Nothing was changed. Take the backup again, or name an empty directory for a new database.",
        ))
    }

    /// The reason why the log cannot be opened: that a checkpoint is damaged, if one is. An older one helps
    /// only with the log after it.
    pub(crate) fn why_not(&self, error: Error) -> Error {
        match self.passed_over.first() {
            Some(damage) => damage.clone().with_detail(error.message()),
            None => error,
        }
    }
}

/// Whether to go on; an error ends what takes long.
pub(crate) type GoesOn<'g> = &'g (dyn Fn() -> Result<()> + Sync);

/// Called after each block with the share of the rows that is written: pauses as it likes.
pub(crate) type Pace<'p> = &'p (dyn Fn(f64) + Sync);

/// Without pauses.
pub(crate) const FULL_SPEED: Pace<'static> = &|_| ();

/// Longest pause of who leaves the cores to transactions.
const PAUSE_MAX: Duration = Duration::from_millis(20);

/// How often whoever waits for a checkpoint under way looks whether to go on.
const LOOK: Duration = Duration::from_millis(20);

/// Where sequences stand. Numbers that have been drawn since the epoch ended are in the log, too, or lost.
fn sequence_marks(schema: &SchemaVersion) -> Vec<SequenceMark> {
    let mark = |(i, state): (usize, &Arc<SequenceState>)| {
        let Standing { generation, next, exhausted } = state.position();
        SequenceMark { id: SequenceId(i as u32), next, exhausted, generation }
    };
    schema.sequences.entries().map(mark).collect()
}

/// A database as of the end of an epoch.
struct Live {
    open: OpenSnapshot,
    /// What the checkpoint calls the epoch.
    epoch: Epoch,
    /// Where sequences stood when the epoch had ended.
    sequences: Vec<SequenceMark>,
}

impl Live {
    fn table(&self, id: TableId) -> &dyn AnyTable {
        self.open.schema.tables.get(id)
    }
}

impl Source for Live {
    fn epoch(&self) -> Epoch {
        self.epoch
    }

    fn catalog(&self) -> Result<Vec<u8>> {
        encode(&self.open.schema.catalog)
    }

    fn sequences(&self) -> Vec<SequenceMark> {
        self.sequences.clone()
    }

    fn tables(&self) -> Vec<SourceTable> {
        let tables = self.open.schema.tables.iter();
        let table = |t: &dyn AnyTable| {
            let used = t.memory();
            SourceTable { id: t.id(), rows: used.rows, bytes: used.row_bytes }
        };
        tables.map(table).collect()
    }

    fn ranges(&self, table: TableId, wanted: usize) -> Vec<KeyRange> {
        let mut participant = Participant::new();
        let guard = participant.guard();
        KeyRange::between(self.table(table).separators(wanted, guard.pinned()))
    }

    fn rows(
        &self,
        table: TableId,
        range: &KeyRange,
        each: &mut dyn FnMut(&[u64]) -> Result<()>,
    ) -> Result<()> {
        // A reader of rows alone never asks who it is.
        let (from, to) = (range.from.as_deref(), range.to.as_deref());
        let at = &self.open.schema.tables;
        self.open.reader(WorkerId(0)).for_each_row(at, table, from, to, each)
    }

    fn kept_bytes(&self, table: TableId) -> u64 {
        self.table(table).old_versions().bytes
    }

    fn done(&self, table: TableId, range: &KeyRange, last: bool) {
        if last {
            self.open.leave_table(table);
        } else {
            self.open.leave_range(table, range.from.as_deref(), range.to.as_deref());
        }
    }
}

/// A catalog as checkpoints hold it: JSON. The log from which it could be made again will be gone, so it is
/// read back first.
fn encode(catalog: &Catalog) -> Result<Vec<u8>> {
    let failed = |e: serde_json::Error| Error::internal(format!("the catalog cannot be encoded: {e}"));
    let bytes = serde_json::to_vec(catalog).map_err(failed)?;
    let back: Catalog = serde_json::from_slice(&bytes).map_err(failed)?;
    if back != *catalog {
        return Err(Error::internal("the catalog is another one after being encoded"));
    }
    Ok(bytes)
}

/// The catalog of a checkpoint.
pub(crate) fn decode_catalog(manifest: &Manifest) -> Result<Catalog> {
    let mut catalog: Catalog = serde_json::from_slice(&manifest.catalog).map_err(|e| {
        let message = format!("the catalog of checkpoint {} cannot be decoded", manifest.number);
        Error::new(SqlState::DATA_CORRUPTED, message)
            .with_detail(e.to_string())
            .with_hint("the checkpoint may have been written by a newer version of Planaria")
    })?;
    // It did not say before there was a word for it.
    catalog.had_passwords |= catalog.roles.iter().flatten().any(|r| r.verifier.is_some());
    Ok(catalog)
}

fn report(written: &Written) -> CheckpointReport {
    let manifest = &written.manifest;
    CheckpointReport {
        number: manifest.number,
        epoch: manifest.epoch.0,
        rows: manifest.rows(),
        bytes: manifest.bytes(),
        raw_bytes: manifest.raw_bytes(),
        log_files_deleted: 0,
        took: written.took,
    }
}

/// An identity for a database that never had one: a version 4 UUID.
fn random_id() -> Result<[u8; 16]> {
    let mut id: [u8; 16] = unforeseen()?;
    id[6] = id[6] & 0x0f | 0x40;
    id[8] = id[8] & 0x3f | 0x80;
    Ok(id)
}

impl Engine {
    /// Writes a checkpoint and deletes what it makes unnecessary. Without a log there is nothing to do.
    /// It is given up where `goes_on` says so, and where the database is being closed.
    pub(crate) fn checkpoint(
        self: &Arc<Self>,
        goes_on: GoesOn<'_>,
        pace: Pace<'_>,
    ) -> Result<CheckpointReport> {
        let outcome = crate::trace::checkpoint(|| self.write_checkpoint(goes_on, pace));
        if let Err(error) = &outcome
            && !matches!(error.sqlstate(), SqlState::ADMIN_SHUTDOWN | SqlState::QUERY_CANCELED)
        {
            self.budget.lock().failed(error, self.wall_clock.micros());
        }
        outcome
    }

    /// Leaves the cores to transactions while a share is written that is more than is due. Where readers keep
    /// writers waiting there is nothing to leave, and whoever waits for a checkpoint wants it soon.
    pub(crate) fn leave_cores(&self, share: f64, due: &dyn Fn() -> f64) {
        while self.traits.concurrent
            && !self.stopping.load(Ordering::Relaxed)
            && self.checkpoints_awaited.load(Ordering::Relaxed) == 0
            && due() < share
        {
            thread::sleep(PAUSE_MAX);
        }
    }

    /// Waits for whoever is writing one; who takes his time over it hurries up.
    fn checkpoints(&self, goes_on: GoesOn<'_>) -> Result<MutexGuard<'_, Checkpoints>> {
        self.checkpoints_awaited.fetch_add(1, Ordering::Relaxed);
        let outcome = loop {
            if let Some(checkpoints) = self.checkpoints.try_lock_for(LOOK) {
                break Ok(checkpoints);
            }
            if let Err(error) = goes_on() {
                break Err(error);
            }
        };
        self.checkpoints_awaited.fetch_sub(1, Ordering::Relaxed);
        outcome
    }

    fn write_checkpoint(self: &Arc<Self>, goes_on: GoesOn<'_>, pace: Pace<'_>) -> Result<CheckpointReport> {
        let Some(log) = self.log.get() else { return Ok(CheckpointReport::default()) };
        let (Some(device), Some(database)) = (log.device(), log.database()) else {
            return Ok(CheckpointReport::default());
        };
        let mut checkpoints = self.checkpoints(goes_on)?;
        self.goes_on(goes_on)?;
        log.health()?;
        let number = checkpoints.next;
        checkpoints.next += 1;
        // What is written from here on may be needed; what was before is not, if S is on disk.
        log.end_segments();
        let source = self.source(goes_on)?;
        let (epoch, log_bytes) = (source.epoch, log.stats().bytes);
        let written = self.write_source(&*device, database, number, source, goes_on, pace);
        let written = written.map_err(|e| e.context(format!("checkpoint {number}")))?;
        let mut report = report(&written);
        self.budget.lock().installed(report, log_bytes);
        let deleting = |e: Error| e.context("deleting what the checkpoint made unnecessary");
        planaria_checkpoint::clean(&*device, Some(number)).map_err(deleting)?;
        if !checkpoints.keep_log {
            report.log_files_deleted = log.delete_through(epoch).map_err(deleting)?;
        }
        Ok(report)
    }

    /// Writes the database as it is now into another directory, which has to be empty.
    pub(crate) fn backup(
        self: &Arc<Self>,
        device: &dyn Device,
        restored: Option<(Option<[u8; 16]>, Epoch)>,
        goes_on: GoesOn<'_>,
    ) -> Result<CheckpointReport> {
        // Before the lock, which is a file: nothing is put among those of others.
        check_empty(device)?;
        let _lock = LogReader::lock(device)?;
        check_empty(device)?;
        let mut source = self.source(goes_on)?;
        let known = match restored {
            Some((identity, epoch)) => {
                source.epoch = source.epoch.max(epoch);
                identity
            }
            None => self.log.get().and_then(|log| log.database()),
        };
        let database = known.map_or_else(random_id, Ok)?;
        let written = self.write_source(device, database, 1, source, goes_on, FULL_SPEED);
        written.map(|w| report(&w)).map_err(|e| e.context("backup"))
    }

    /// The database at the end of an epoch that is on disk, with everything that was committed so far.
    fn source(self: &Arc<Self>, goes_on: GoesOn<'_>) -> Result<Live> {
        let goes_on = || self.goes_on(goes_on);
        let slot = self.gate.take_apart();
        let (open, sequences) =
            OpenSnapshot::new(self, slot.worker, 0, Moment::EndOfEpoch, &goes_on, sequence_marks)?;
        let epoch = open.at.epoch();
        drop(slot);
        if let Some(log) = self.log.get() {
            log.wait(epoch)?;
        }
        Ok(Live { epoch, open, sequences })
    }

    fn goes_on(&self, goes_on: GoesOn<'_>) -> Result<()> {
        if self.stopping.load(Ordering::Relaxed) {
            return Err(Error::new(SqlState::ADMIN_SHUTDOWN, "the database is shutting down"));
        }
        goes_on()
    }

    fn write_source(
        &self,
        device: &dyn Device,
        database: [u8; 16],
        number: u32,
        source: Live,
        goes_on: GoesOn<'_>,
        pace: Pace<'_>,
    ) -> Result<Written> {
        let notes = Notes { began_micros: self.wall_clock.micros(), ..self.budget.lock().notes() };
        let options = WriteOptions { threads: self.checkpoint_threads, notes, ..Default::default() };
        let tell = |progress: WriteProgress| {
            self.goes_on(goes_on)?;
            pace(progress.share());
            Ok(())
        };
        planaria_checkpoint::write(device, database, number, source, &options, &tell)
    }

    /// Checkpoints, and what a restart would take.
    pub(crate) fn checkpoint_stats(&self) -> CheckpointStats {
        let log_bytes = self.log.get().map_or(0, |log| log.stats().bytes);
        let tables = self.schema.load().tables.iter().count();
        self.budget.lock().stats(log_bytes, tables)
    }

    /// Becomes what the newest checkpoint that is whole says, if there is one.
    pub(crate) fn restore(
        &self,
        device: &dyn Device,
        found: &Found,
        options: &Options,
        teller: &mut Teller,
    ) -> Result<Restored> {
        let mut passed_over: Vec<Error> = found.errors.clone();
        for manifest in &found.manifests {
            match self.restore_one(device, manifest, options.recovery_threads, teller) {
                Ok(mut loaded) => {
                    loaded.passed_over.clone_from(&passed_over);
                    return Ok(Restored { loaded: Some(loaded), passed_over });
                }
                Err(e) if e.sqlstate() == SqlState::DATA_CORRUPTED => passed_over.push(e),
                Err(e) => return Err(e),
            }
        }
        Ok(Restored { loaded: None, passed_over })
    }

    /// Becomes what a checkpoint says. After an error it is as before.
    pub(crate) fn restore_one(
        &self,
        device: &dyn Device,
        manifest: &Manifest,
        threads: usize,
        teller: &mut Teller,
    ) -> Result<LoadedCheckpoint> {
        let began = Instant::now();
        let catalog = Arc::new(decode_catalog(manifest)?);
        let mut tables = self.store.no_tables();
        for table in catalog.tables.iter().flatten() {
            tables.insert(SchemaVersion::new_table(&catalog, &tables, table.id)?);
        }
        let made = (tables.iter().count(), began.elapsed());
        let loaded = self.store.load(device, manifest, &tables, LoadOptions { threads }, &mut |p| {
            teller.loaded(&p);
        })?;
        let marks: BTreeMap<SequenceId, &SequenceMark> =
            manifest.sequences.iter().map(|m| (m.id, m)).collect();
        let state = |definition: &planaria_catalog::Sequence| {
            let state = SequenceState::new(definition.clone());
            if let Some(mark) = marks.get(&definition.id) {
                let SequenceMark { next, exhausted, generation, .. } = **mark;
                state.restore(Standing { generation, next, exhausted });
            }
            (definition.id.index(), Arc::new(state))
        };
        let sequences = catalog.sequences.iter().flatten().map(|s| state(s)).collect();
        self.install(Arc::new(SchemaVersion::new(catalog, tables, sequences)));
        let mut budget = self.budget.lock();
        budget.noted(&manifest.notes);
        budget.made(made.0, made.1);
        budget.loaded(CheckpointReport {
            number: manifest.number,
            epoch: manifest.epoch.0,
            rows: loaded.rows,
            bytes: loaded.bytes,
            raw_bytes: manifest.raw_bytes(),
            log_files_deleted: 0,
            took: loaded.took,
        });
        Ok(LoadedCheckpoint {
            number: manifest.number,
            epoch: manifest.epoch.0,
            rows: loaded.rows,
            bytes: loaded.bytes,
            took: loaded.took,
            passed_over: Vec::new(),
        })
    }
}

/// Whether there is nothing but the lock.
pub(crate) fn is_empty(device: &dyn Device) -> Result<bool> {
    Ok(device.list()?.iter().all(|name| name == "lock"))
}

/// 58P02 where a directory has files already.
fn check_empty(device: &dyn Device) -> Result<()> {
    if is_empty(device)? {
        return Ok(());
    }
    let message = format!("directory \"{}\" exists but is not empty", device.describe(""));
    Err(Error::new(SqlState::DUPLICATE_FILE, message)
        .with_hint("Choose an empty directory, or one that does not exist yet."))
}
