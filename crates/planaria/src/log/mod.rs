//! Looking at a log: what is in its files, and whether it leads to one state only.
//!
//! ```no_run
//! # fn main() -> planaria::Result<()> {
//! use planaria::log::{Filter, LogView};
//! let view = LogView::open("directory")?;
//! let summary = view.read(&Filter::default(), 10, &mut |entry| println!("{entry}"))?;
//! println!("{} records, {} bytes", summary.records, summary.bytes);
//! # Ok(()) }
//! ```
//!
//! * [`LogView`] reads the files and follows the schema changes among the records, on a catalog without
//!   rows, so that procedures, tables and columns have the names they had when the record was written.
//! * [`verify`] replays the log in memory, serially and with threads, and compares.
//!
//! Nothing here writes to the directory. A database may be open in it meanwhile: then the newest epochs
//! may be missing, and damage among them is not told from what is being written.

mod entry;
mod summary;
mod verify;

pub(crate) use entry::datum;
pub use entry::{Body, Change, ChangeKind, Entry, Field};
pub use summary::{ChangeTotal, KindTotal, ProcedureTotal, Summary};
pub(crate) use verify::verify_device;
pub use verify::{Replayed, TableVerdict, Verification, verify};

use crate::engine::decode_catalog;
use entry::Names;
use planaria_base::{CommitTs, Datum, Epoch, Error, Result, SqlState, Type};
use planaria_checkpoint::Manifest;
use planaria_log::{Device, DirectoryDevice, LogReader};
use serde::Serialize;
use std::path::Path;
use std::sync::Arc;
use summary::Tally;

/// A log opened to look at it.
pub struct LogView {
    device: Arc<dyn Device>,
    reader: LogReader,
    /// The checkpoint that the log goes on from.
    checkpoint: Option<Manifest>,
    overview: Overview,
}

/// What a log consists of.
#[derive(Clone, Debug, Serialize)]
pub struct Overview {
    /// Identity of the database.
    pub database: String,
    /// Whether a process has the database open.
    pub in_use: bool,
    /// The newest epoch that counts.
    pub durable_epoch: u64,
    /// Epochs up to here are in a checkpoint.
    pub base_epoch: u64,
    /// That checkpoint.
    pub checkpoint: Option<Checkpoint>,
    /// Epochs with records.
    pub epochs: u64,
    /// Records.
    pub records: u64,
    /// Bytes of records.
    pub bytes: u64,
    /// Runs of the database whose log is needed, oldest first.
    pub runs: Vec<Run>,
    /// Files, by run, logger and number.
    pub segments: Vec<Segment>,
}

/// The checkpoint that a log goes on from.
#[derive(Clone, Debug, Serialize)]
pub struct Checkpoint {
    /// Number, from 1.
    pub number: u32,
    /// The epoch whose end it shows.
    pub epoch: u64,
    /// Rows.
    pub rows: u64,
    /// Bytes of rows, as stored.
    pub bytes: u64,
}

/// A run of the database: the time from one opening to the next.
#[derive(Clone, Debug, Serialize)]
pub struct Run {
    /// Number, from 1.
    pub number: u32,
    /// Loggers.
    pub loggers: u32,
    /// Version of the planner.
    pub planner: u32,
    /// The first epoch it could write.
    pub first_epoch: u64,
    /// The newest epoch of it that counts; `None` while it has not ended.
    pub last_epoch: Option<u64>,
}

/// A file of the log.
#[derive(Clone, Debug, Serialize)]
pub struct Segment {
    /// Name of the file.
    pub name: String,
    /// The run that wrote it.
    pub run: u32,
    /// The logger that wrote it.
    pub logger: u32,
    /// Format it is in.
    pub format: u32,
    /// Bytes of the file, with the part not written yet.
    pub size: u64,
    /// Offset at which the last good frame ends.
    pub end: u64,
    /// Frames.
    pub frames: u64,
    /// Records in them.
    pub records: u64,
    /// First epoch in it, if any.
    pub first_epoch: Option<u64>,
    /// Last epoch in it, if any.
    pub last_epoch: Option<u64>,
    /// Offset of what is neither a good frame nor unwritten: damage, or the torn tail of a crash.
    pub unreadable_at: Option<u64>,
}

/// Which records are wanted. The default: all.
#[derive(Clone, Debug, Default)]
pub struct Filter {
    /// From this transaction on: epoch, sequence number within it.
    pub from: Option<(u64, u32)>,
    /// Up to and with this transaction.
    pub to: Option<(u64, u32)>,
    /// Records that change rows of this table, and calls of procedures that may do so.
    pub table: Option<String>,
    /// Calls of this procedure or function, in any of its versions.
    pub procedure: Option<String>,
}

impl LogView {
    /// Opens the log in a directory. 58P01 where the directory or the log in it is missing, XX001 with file
    /// and offset where it is damaged.
    pub fn open(path: impl AsRef<Path>) -> Result<LogView> {
        LogView::open_device(Arc::new(device(path.as_ref())?))
    }

    pub(crate) fn open_device(device: Arc<dyn Device>) -> Result<LogView> {
        LogView::open_from(device.clone(), device)
    }

    /// Opens the log in a directory from where a backup of its database ends, also that before the newest
    /// checkpoint, which [`Options::keep_log`](crate::Options::keep_log) keeps. 22023 where the backup is of another
    /// database, 58P01 where the backup is missing.
    pub fn open_behind(path: impl AsRef<Path>, backup: impl AsRef<Path>) -> Result<LogView> {
        let from = Arc::new(device(backup.as_ref())?);
        if planaria_checkpoint::open(&*from)?.is_none() {
            let message = format!("there is no backup in \"{}\"", from.describe(""));
            return Err(Error::new(SqlState::UNDEFINED_FILE, message));
        }
        LogView::open_from(Arc::new(device(path.as_ref())?), from)
    }

    /// The log on one device behind the checkpoint on another.
    fn open_from(log: Arc<dyn Device>, device: Arc<dyn Device>) -> Result<LogView> {
        let place = log.describe("");
        let checkpoint = planaria_checkpoint::open(&*device)?;
        let after = checkpoint.as_ref().map_or(Epoch(0), |c| c.epoch);
        let reader = LogReader::inspect_after(log, after)?;
        if let (Some(backup), Some(database)) = (&checkpoint, reader.database())
            && backup.database != database
        {
            let message = "the log is not that of the database that the backup was taken of";
            return Err(Error::new(SqlState::INVALID_PARAMETER_VALUE, message));
        }
        let Some(database) = reader.database().or(checkpoint.as_ref().map(|c| c.database)) else {
            return Err(no_log(&place));
        };
        let overview = overview(&reader, checkpoint.as_ref(), Datum::Uuid(database).display(&Type::Uuid))?;
        Ok(LogView { device, reader, checkpoint, overview })
    }

    /// What it consists of.
    pub fn overview(&self) -> &Overview {
        &self.overview
    }

    /// Reads the records that pass the filter, in commit order: sums them all up, and gives the first
    /// `limit` of them to `each`. 42P01 or 42883 where the filter names what no schema of the log has.
    pub fn read(&self, filter: &Filter, limit: usize, each: &mut dyn FnMut(Entry)) -> Result<Summary> {
        let catalog = self.checkpoint.as_ref().map(decode_catalog).transpose()?;
        let mut names = Names::new(catalog.unwrap_or_default());
        let mut tally = Tally::default();
        let mut shown = 0;
        let mut table_met = filter.table.as_deref().is_none_or(|t| names.has_table(t));
        let mut procedure_met = filter.procedure.as_deref().is_none_or(|p| names.has_procedure(p));
        for batch in self.reader.batches(Epoch(self.overview.base_epoch)) {
            let batch = batch?;
            for (i, record) in batch.records().enumerate() {
                let ts = record.commit_ts();
                // The schema is that under which the record is read: that after its own changes.
                names.follow(&record)?;
                table_met |= filter.table.as_deref().is_some_and(|t| names.has_table(t));
                procedure_met |= filter.procedure.as_deref().is_some_and(|p| names.has_procedure(p));
                if before(ts, filter.from) || after(ts, filter.to) || !names.passes(&record, filter)? {
                    continue;
                }
                tally.add(&record, &mut names)?;
                if shown < limit {
                    shown += 1;
                    let mut entry = names.entry(&record, batch.run())?;
                    entry.closed = batch.time(i).map(|time| Datum::Int(time).display(&Type::Timestamp));
                    each(entry);
                }
            }
        }
        if !table_met {
            let name = filter.table.as_deref().unwrap_or_default();
            let message = format!("relation \"{name}\" does not exist in this log");
            return Err(Error::new(SqlState::UNDEFINED_TABLE, message));
        }
        if !procedure_met {
            let name = filter.procedure.as_deref().unwrap_or_default();
            let message = format!("procedure or function \"{name}\" does not exist in this log");
            return Err(Error::new(SqlState::UNDEFINED_FUNCTION, message));
        }
        Ok(tally.finish())
    }
}

fn before(ts: CommitTs, from: Option<(u64, u32)>) -> bool {
    from.is_some_and(|from| (ts.epoch().0, ts.sequence()) < from)
}

fn after(ts: CommitTs, to: Option<(u64, u32)>) -> bool {
    to.is_some_and(|to| (ts.epoch().0, ts.sequence()) > to)
}

/// A directory that must be there and is not written to.
fn device(path: &Path) -> Result<DirectoryDevice> {
    DirectoryDevice::read_only(path)
        .map_err(|e| Error::file("open directory", path, e).with_hint("Name the directory of a database."))
}

fn no_log(directory: &str) -> Error {
    Error::new(SqlState::UNDEFINED_FILE, format!("there is no log in \"{directory}\""))
        .with_detail(
            "Expected the files \"manifest\" and \"RUN-LOGGER-NUMBER.log\" that an open database writes.",
        )
        .with_hint("Name the directory of a database, as for planaria shell DIR or planaria run --data DIR.")
}

fn overview(reader: &LogReader, checkpoint: Option<&Manifest>, database: String) -> Result<Overview> {
    let summary = reader.summary();
    let epoch = |e: Epoch| e.0;
    Ok(Overview {
        database,
        in_use: reader.is_live(),
        durable_epoch: summary.pepoch.0,
        base_epoch: summary.base.0,
        checkpoint: checkpoint.map(|c| Checkpoint {
            number: c.number,
            epoch: c.epoch.0,
            rows: c.rows(),
            bytes: c.bytes(),
        }),
        epochs: summary.epochs,
        records: summary.records,
        bytes: summary.bytes,
        runs: reader
            .runs()
            .into_iter()
            .map(|r| Run {
                number: r.number,
                loggers: r.loggers,
                planner: r.planner,
                first_epoch: r.first.0,
                last_epoch: r.last.map(epoch),
            })
            .collect(),
        segments: reader
            .segments()?
            .into_iter()
            .map(|s| Segment {
                name: s.name,
                run: s.run,
                logger: s.logger,
                format: s.format,
                size: s.size,
                end: s.end,
                frames: s.frames,
                records: s.records,
                first_epoch: s.epochs.map(|(first, _)| first.0),
                last_epoch: s.epochs.map(|(_, last)| last.0),
                unreadable_at: s.bad,
            })
            .collect(),
    })
}
