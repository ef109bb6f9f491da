//! Checkpoints and backups in directories: looking at them, checking them, restoring from them.
//!
//! A backup is a directory with a checkpoint and nothing else: a database that is opened there is the one it
//! was taken of, as it was then. With the log that followed ([`Options::keep_log`]) every later moment can
//! be restored, too.
//!
//! ```no_run
//! # fn main() -> planaria::Result<()> {
//! use planaria::checkpoint::{Restore, inspect};
//! let db = planaria::Database::open("shop")?;
//! db.backup("shop.backup")?;                    // in SQL: BACKUP TO 'shop.backup'
//! println!("{} rows", inspect("shop.backup")?.rows);
//! Restore::new("shop.backup").to("copy")?;
//! # Ok(()) }
//! ```

use crate::engine::checkpoint::decode_catalog;
use crate::opening::replay_engine;
use crate::options::Options;
use planaria_base::{CommitTs, Datum, Epoch, Error, Result, SqlState, Type};
use planaria_checkpoint::{LoadProgress, Manifest};
use planaria_log::{Device, DirectoryDevice, LogReader, Until};
use serde::Serialize;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// What a checkpoint consists of.
#[derive(Clone, Debug, Serialize)]
pub struct Overview {
    /// Number, from 1.
    pub number: u32,
    /// Identity of the database.
    pub database: String,
    /// The epoch whose end it shows.
    pub epoch: u64,
    /// When it was begun, UTC.
    pub began: String,
    /// Seconds it took.
    pub seconds: f64,
    /// Rows.
    pub rows: u64,
    /// Bytes of rows, as stored.
    pub bytes: u64,
    /// Bytes of rows before compression.
    pub raw_bytes: u64,
    /// Files of rows.
    pub files: usize,
    /// Sequences.
    pub sequences: usize,
    /// Procedures and functions, in all their versions.
    pub procedures: usize,
    /// Measured when the database was opened last: bytes of rows loaded in a second; 0: never measured.
    pub load_bytes_per_second: f64,
    /// The same of the log: bytes checked and replayed in a second.
    pub replay_bytes_per_second: f64,
    /// Each table, by name.
    pub tables: Vec<TableOverview>,
}

/// A table of a checkpoint.
#[derive(Clone, Debug, Serialize)]
pub struct TableOverview {
    /// Its name.
    pub table: String,
    /// Rows.
    pub rows: u64,
    /// Parts, which are loaded one by one.
    pub parts: usize,
    /// Bytes of rows, as stored.
    pub bytes: u64,
    /// Bytes of rows before compression.
    pub raw_bytes: u64,
    /// Digest of the rows.
    pub digest: String,
}

fn device(path: &Path) -> Result<Arc<DirectoryDevice>> {
    let device = DirectoryDevice::read_only(path);
    device
        .map(Arc::new)
        .map_err(|e| Error::file("open directory", path, e).with_hint("Name the directory of a database."))
}

fn newest(device: &dyn Device) -> Result<Manifest> {
    planaria_checkpoint::open(device)?.ok_or_else(|| {
        let message = format!("there is no checkpoint in \"{}\"", device.describe(""));
        Error::new(SqlState::UNDEFINED_FILE, message)
            .with_hint("CHECKPOINT writes one into the directory of a database.")
    })
}

/// What the newest checkpoint in a directory consists of. 58P01 where there is none, XX001 with file and
/// offset where its manifest is damaged.
pub fn inspect(path: impl AsRef<Path>) -> Result<Overview> {
    overview(&newest(&*device(path.as_ref())?)?)
}

/// The same, after every block has been read and the rows have been compared with what was written. XX001
/// with file and offset where something is damaged.
pub fn verify(path: impl AsRef<Path>, threads: usize, tell: &mut dyn FnMut(u64, u64)) -> Result<Overview> {
    let device = device(path.as_ref())?;
    let manifest = newest(&*device)?;
    let mut tell = |p: LoadProgress| tell(p.rows, p.rows_total);
    planaria_checkpoint::verify(&*device, &manifest, threads, &mut tell)?;
    overview(&manifest)
}

fn overview(manifest: &Manifest) -> Result<Overview> {
    let catalog = decode_catalog(manifest)?;
    let table = |mark: &planaria_checkpoint::TableMark| {
        let name = catalog.tables.get(mark.id.index()).and_then(Option::as_ref);
        let parts = || manifest.parts.iter().filter(|p| p.table == mark.id);
        TableOverview {
            table: name.map_or_else(|| mark.id.to_string(), |t| t.name.clone()),
            rows: mark.rows,
            parts: parts().count(),
            bytes: parts().map(|p| p.bytes).sum(),
            raw_bytes: parts().map(|p| p.raw_bytes).sum(),
            digest: format!("{:032x}", u128::from(mark.rows) << 64 | u128::from(mark.hash)),
        }
    };
    let mut tables: Vec<TableOverview> = manifest.tables.iter().map(table).collect();
    tables.sort_by(|a, b| a.table.cmp(&b.table));
    Ok(Overview {
        number: manifest.number,
        database: Datum::Uuid(manifest.database).display(&Type::Uuid),
        epoch: manifest.epoch.0,
        began: Datum::Int(manifest.notes.began_micros).display(&Type::Timestamp),
        seconds: manifest.notes.took_micros as f64 / 1e6,
        rows: manifest.rows(),
        bytes: manifest.bytes(),
        raw_bytes: manifest.raw_bytes(),
        files: manifest.files.len(),
        sequences: catalog.sequences.iter().flatten().filter(|s| !s.hidden).count(),
        procedures: catalog.procedures.len(),
        load_bytes_per_second: manifest.notes.load_bytes_per_second,
        replay_bytes_per_second: manifest.notes.replay_bytes_per_second,
        tables,
    })
}

/// Where files are.
#[derive(Clone)]
pub(crate) enum Place {
    Directory(PathBuf),
    Device(Arc<dyn Device>),
}

impl Place {
    fn device(&self) -> Result<Arc<dyn Device>> {
        match self {
            Place::Directory(path) => Ok(device(path)?),
            Place::Device(device) => Ok(device.clone()),
        }
    }
}

/// A database to be restored: from a backup, or from the directory of a database nobody has open.
#[derive(Clone)]
pub struct Restore {
    from: Place,
    pub(crate) log: Option<Place>,
    until: Option<Until>,
    same_identity: bool,
    options: Options,
}

/// What was restored.
#[derive(Clone, Copy, Debug)]
pub struct Restored {
    /// The epoch it begins with.
    pub epoch: u64,
    /// Rows.
    pub rows: u64,
    /// Transactions of the log behind the backup that were replayed.
    pub transactions: u64,
}

impl Restore {
    /// From a directory.
    pub fn new(from: impl Into<PathBuf>) -> Restore {
        Restore::of(Place::Directory(from.into()))
    }

    pub(crate) fn of(from: Place) -> Restore {
        Restore { from, log: None, until: None, same_identity: false, options: Options::new() }
    }

    /// With the log that followed, from the directory of the database that the backup was taken of. It must
    /// still have all that was logged since: [`Options::keep_log`].
    #[must_use]
    pub fn log(mut self, path: impl Into<PathBuf>) -> Restore {
        self.log = Some(Place::Directory(path.into()));
        self
    }

    /// Up to and with this transaction: epoch, number within it. All of the log without.
    #[must_use]
    pub fn until(mut self, epoch: u64, sequence: u32) -> Restore {
        self.until = Some(Until::Commit(CommitTs::new(Epoch(epoch), sequence)));
        self
    }

    /// Up to a time, UTC, as `timestamp` takes it: with the last group of commits that was on its way to the
    /// disk by then. 22007 where it is no time.
    pub fn until_time(mut self, time: &str) -> Result<Restore> {
        let Datum::Int(micros) = Datum::parse(&Type::Timestamp, time)? else {
            return Err(Error::internal("a timestamp is a whole number"));
        };
        self.until = Some(Until::Time(micros));
        Ok(self)
    }

    /// How it is replayed, and who hears of progress.
    #[must_use]
    pub fn options(mut self, options: Options) -> Restore {
        self.options = options;
        self
    }

    /// The copy counts as the same database, so that the log of the original fits it.
    pub(crate) fn same_identity(mut self) -> Restore {
        self.same_identity = true;
        self
    }

    /// Writes it into a directory, empty or not there yet. What is restored must fit in memory. Errors:
    /// 58P02 where the directory is not empty, 55006 where the source is open, XX001 with file and offset
    /// where the source is damaged, 22023 where it ends before the wanted transaction.
    pub fn to(&self, path: impl AsRef<Path>) -> Result<Restored> {
        self.write(|| Ok(crate::directory::directory(path.as_ref())?))
    }

    pub(crate) fn write(&self, to: impl FnOnce() -> Result<Arc<dyn Device>>) -> Result<Restored> {
        let from = self.from.device()?;
        let checkpoint = planaria_checkpoint::open(&*from)?;
        let after = checkpoint.as_ref().map_or(Epoch(0), |c| c.epoch);
        let reader = match &self.log {
            Some(log) => LogReader::inspect_after(log.device()?, after)?,
            None => LogReader::inspect_after(from.clone(), after)?,
        };
        if self.log.is_none() && reader.is_live() {
            let message = format!("database \"{}\" is in use by another process", from.describe(""));
            return Err(Error::new(SqlState::OBJECT_IN_USE, message)
                .with_hint("Run BACKUP TO 'directory' in a session of the server."));
        }
        match (checkpoint.as_ref().map(|c| c.database), reader.database()) {
            (None, None) => {
                let message = format!("there is no database in \"{}\"", from.describe(""));
                return Err(Error::new(SqlState::UNDEFINED_FILE, message));
            }
            (Some(backup), Some(log)) if backup != log => {
                let message = "the log is not that of the database that the backup was taken of";
                return Err(Error::new(SqlState::INVALID_PARAMETER_VALUE, message));
            }
            _ => {}
        }
        let last = reader.pepoch().0;
        let wanted = match self.until {
            Some(Until::Commit(ts)) => Some(ts.epoch().0),
            _ => None,
        };
        if let Some(epoch) = wanted.filter(|epoch| *epoch > last || *epoch <= after.0) {
            let message = format!("there is no transaction of epoch {epoch} to restore up to");
            return Err(Error::new(SqlState::INVALID_PARAMETER_VALUE, message).with_detail(format!(
                "The backup is of epoch {}, the log ends with epoch {last}.",
                after.0
            )));
        }
        if let (Some(Until::Time(time)), Some(c)) = (self.until, &checkpoint)
            && time < c.notes.began_micros
        {
            let message = "the backup was taken after the time to restore up to";
            let began = Datum::Int(c.notes.began_micros).display(&Type::Timestamp);
            return Err(Error::new(SqlState::INVALID_PARAMETER_VALUE, message)
                .with_detail(format!("It was begun at {began} UTC."))
                .with_hint("Take an older one."));
        }
        // Made when nothing is wrong with the source: no empty directory is left of a mistake.
        let to = to()?;
        let options = self.options.clone();
        let engine = replay_engine(&*from, checkpoint.as_ref(), &reader, self.until, options)?;
        let known = reader.database().or(checkpoint.map(|c| c.database));
        let written = engine.backup(to, Some((known.filter(|_| self.same_identity), Epoch(last))))?;
        let transactions = engine.recovery().map_or(0, |r| r.transactions);
        Ok(Restored { epoch: written.epoch, rows: written.rows, transactions })
    }
}

/// Copies the database in a directory that nobody has open into another one: what is committed, as one
/// checkpoint. 55006 where it is open: there `BACKUP TO` or [`Database::backup`](crate::Database::backup)
/// does the same.
pub fn backup(from: impl AsRef<Path>, to: impl AsRef<Path>, options: Options) -> Result<Restored> {
    Restore::new(from.as_ref()).options(options).same_identity().to(to)
}
