//! Reading the log back after a crash or a clean end, and going on from there.
//!
//! 1. [`LogReader::open`] locks the directory, checks every frame and finds `pepoch`, the newest epoch
//!    that counts. It changes nothing.
//! 2. [`LogReader::batches`] gives the records in commit order.
//! 3. [`LogReader::resume`] cuts the torn tail and starts a run of its own. A crash before, within or
//!    after it leaves a log that opens with the same records.

use crate::batch::{Batch, Batches};
use crate::chain::{EpochFrames, Place, RunReader, newest_written};
use crate::closer::Closer;
use crate::device::{Device, DeviceLock, Holder};
use crate::files::{RunOptions, SegmentFiles};
use crate::inventory::{self, RunInfo, SegmentInfo};
use crate::logger::Logger;
use crate::manifest::{Manifest, NAME as MANIFEST, Run};
use crate::scan::{SegmentScan, damaged};
use crate::segment::SegmentId;
use crate::stats::Counters;
use crate::{Durability, LOGGERS_MAX, Log, Options};
use planaria_base::clock::CommitClock;
use planaria_base::sync::entropy;
use planaria_base::{Epoch, Error, Result, SqlState};
use std::hash::{BuildHasher, RandomState};
use std::io;
use std::sync::Arc;

/// What an opened log holds.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct LogSummary {
    /// The newest epoch that counts (`pepoch`); 0 in a new log.
    pub pepoch: Epoch,
    /// Epochs up to here are in a checkpoint; the log may not have them any more.
    pub base: Epoch,
    /// Epochs with records.
    pub epochs: u64,
    /// Records.
    pub records: u64,
    /// Bytes of records.
    pub bytes: u64,
}

/// A log that was read and checked, and is not written to yet.
pub struct LogReader {
    device: Arc<dyn Device>,
    lock: Option<DeviceLock>,
    manifest: Option<Manifest>,
    segments: Vec<SegmentId>,
    summary: LogSummary,
    /// The newest epoch of which there is any sign, counting or not.
    newest_seen: Epoch,
    /// The newest epoch that was written and counts. A checkpoint may be of a later one, in which nothing was
    /// committed: that was never written.
    newest_written: Epoch,
    /// Where the newest epoch of a run stands that did not end cleanly.
    in_doubt: Vec<Place>,
    /// Records of the epoch after that, which was being written.
    torn: Option<Arc<Batch>>,
}

impl LogReader {
    /// Opens the log in a directory, or an empty directory. 55006 if somebody else has it open; XX001
    /// if something that was on disk is not readable.
    pub fn open(device: Arc<dyn Device>) -> Result<LogReader> {
        LogReader::open_telling(device, &mut |_| ())
    }

    /// The same, telling after each epoch what was found so far.
    pub fn open_telling(device: Arc<dyn Device>, tell: &mut dyn FnMut(&LogSummary)) -> Result<LogReader> {
        let lock = LogReader::lock(&*device)?;
        LogReader::read(device, Some(lock), None, tell)
    }

    /// Takes a directory, before anything in it is looked at; 55006 if somebody else has it open.
    pub fn lock(device: &dyn Device) -> Result<DeviceLock> {
        device.lock().map_err(|e| match e.kind() {
            io::ErrorKind::ResourceBusy => {
                let holder = Holder::of(&e);
                let by = if holder == Holder::This { "this process already" } else { "another process" };
                let message = format!("database \"{}\" is in use by {by}", device.describe(""));
                let error = Error::new(SqlState::OBJECT_IN_USE, message);
                match holder {
                    Holder::This => {
                        error.with_hint("Share the Database that is already open, or close it first.")
                    }
                    Holder::Process(number) => error
                        .with_detail(format!("It is used by process {number}."))
                        .with_hint("Stop that process first, or connect to it."),
                    Holder::Unknown => error.with_hint("Stop that process first, or connect to it."),
                }
            }
            _ => e.into(),
        })
    }

    /// Opens the log of a database that has a checkpoint of the epoch `after` (0 if it has none): what is
    /// before counts no more, and need not be readable. XX001 if epochs after it have been deleted.
    pub fn open_after(
        device: Arc<dyn Device>,
        lock: DeviceLock,
        after: Epoch,
        tell: &mut dyn FnMut(&LogSummary),
    ) -> Result<LogReader> {
        LogReader::read(device, Some(lock), Some(after), tell)
    }

    /// Opens a log to look at it, even one that is in use: then the newest epochs may be missing, and
    /// damage among them is not told from what is being written.
    pub fn inspect(device: Arc<dyn Device>) -> Result<LogReader> {
        let lock = device.lock().ok();
        LogReader::read(device, lock, None, &mut |_| ())
    }

    /// The same after a checkpoint's epoch.
    pub fn inspect_after(device: Arc<dyn Device>, after: Epoch) -> Result<LogReader> {
        let lock = device.lock().ok();
        LogReader::read(device, lock, Some(after), &mut |_| ())
    }

    fn read(
        device: Arc<dyn Device>,
        lock: Option<DeviceLock>,
        after: Option<Epoch>,
        tell: &mut dyn FnMut(&LogSummary),
    ) -> Result<LogReader> {
        let manifest = Manifest::read(&*device)?;
        let mut segments: Vec<_> = device.list()?.iter().filter_map(|name| SegmentId::parse(name)).collect();
        segments.sort_unstable();
        let next_run = manifest.as_ref().map_or(0, |m| m.next_run);
        if let Some(stray) = segments.iter().find(|s| s.run >= next_run) {
            return Err(damaged(&*device, MANIFEST, 0, &format!("it does not know \"{}\"", stray.name())));
        }
        // Of a log that is in use one may have been deleted since, behind a checkpoint.
        let tips = manifest.iter().filter(|_| lock.is_some()).flat_map(|m| &m.tips);
        if let Some(missing) = tips.into_iter().find(|tip| segments.binary_search(tip).is_err()) {
            return Err(damaged(&*device, &missing.name(), 0, "it is not there"));
        }
        let base = manifest.as_ref().map_or(Epoch(0), |m| m.base);
        if let Some(after) = after.filter(|after| *after < base) {
            let what = match after {
                Epoch(0) => "there is no checkpoint".to_owned(),
                after => format!("the newest checkpoint is of epoch {}", after.0),
            };
            let message =
                format!("the log in \"{}\" begins after epoch {}, but {what}", device.describe(""), base.0);
            return Err(Error::new(SqlState::DATA_CORRUPTED, message)
                .with_hint("restore the checkpoint's files from a backup; nothing was changed"));
        }
        let base = base.max(after.unwrap_or_default());
        let mut reader = LogReader {
            device,
            lock,
            manifest,
            segments,
            summary: LogSummary { base, pepoch: base, ..LogSummary::default() },
            newest_seen: base,
            newest_written: Epoch(0),
            in_doubt: Vec::new(),
            torn: None,
        };
        reader.verify(tell)?;
        Ok(reader)
    }

    /// Reads everything once, to know that it is readable and where it ends.
    fn verify(&mut self, tell: &mut dyn FnMut(&LogSummary)) -> Result<()> {
        let Some(manifest) = self.manifest.clone() else { return Ok(()) };
        let mut tail = self.summary.base;
        self.newest_written = manifest.base;
        let mut frames = EpochFrames::default();
        for run in &manifest.runs {
            self.newest_written = run.last.map_or(self.newest_written, |last| last.max(self.newest_written));
            if run.last.is_some_and(|last| last <= tail) {
                continue;
            }
            let mut reader = self.run(*run, tail)?;
            while reader.next(&mut frames)? {
                self.summary.epochs += (frames.records > 0) as u64;
                self.summary.records += frames.records;
                self.summary.bytes += frames.bytes.len() as u64;
                tell(&self.summary);
            }
            if run.last.is_none() {
                self.newest_written = if reader.has_read() {
                    reader.tail()
                } else {
                    // It need not be readable, as a checkpoint has it.
                    newest_written(&*self.device, &self.segments_of(*run), self.newest_written, tail)
                        .unwrap_or(tail)
                };
                self.in_doubt = reader.tail_places().to_vec();
                let torn = reader.take_torn();
                self.torn = torn.and_then(|frames| Batch::of_epoch(run, &frames)).map(Arc::new);
            }
            tail = reader.tail();
            self.newest_seen = self.newest_seen.max(reader.newest_seen()).max(run.first);
        }
        self.summary.pepoch = tail;
        Ok(())
    }

    fn run(&self, run: Run, tail: Epoch) -> Result<RunReader> {
        let segments = self.segments_of(run);
        let database = self.manifest.as_ref().map_or([0; 16], |m| m.database);
        let mut reader = RunReader::new(self.device.clone(), run, database, &segments, tail)?;
        reader.live = self.lock.is_none() && run.last.is_none();
        Ok(reader)
    }

    fn segments_of(&self, run: Run) -> Vec<SegmentId> {
        self.segments.iter().copied().filter(|s| s.run == run.number).collect()
    }

    /// What is in it.
    pub fn summary(&self) -> LogSummary {
        self.summary
    }

    /// Whether somebody else has it open, and may be writing.
    pub fn is_live(&self) -> bool {
        self.lock.is_none()
    }

    /// The newest epoch that counts.
    pub fn pepoch(&self) -> Epoch {
        self.summary.pepoch
    }

    /// Identity of the database; `None` in a new log.
    pub fn database(&self) -> Option<[u8; 16]> {
        self.manifest.as_ref().map(|m| m.database)
    }

    /// The runs whose log is still needed, oldest first.
    pub fn runs(&self) -> Vec<RunInfo> {
        inventory::runs(self.manifest.as_ref())
    }

    /// The files of the log, by run, logger and number; each is read once more.
    pub fn segments(&self) -> Result<Vec<SegmentInfo>> {
        self.segments.iter().map(|id| inventory::segment(&*self.device, *id)).collect()
    }

    /// The records of all epochs after `after`, in commit order.
    pub fn batches(&self, after: Epoch) -> Batches {
        let mut tail = self.summary.base.max(after);
        let mut runs = Vec::new();
        for run in self.manifest.iter().flat_map(|m| &m.runs) {
            // What was found to count once must be found again.
            let last = run.last.unwrap_or(self.summary.pepoch);
            if last > tail {
                let segments = self.segments.iter().copied().filter(|s| s.run == run.number).collect();
                runs.push((Run { last: Some(last), ..*run }, segments, tail));
                tail = last;
            }
        }
        Batches::new(self.device.clone(), self.database().unwrap_or_default(), runs, self.torn.clone())
    }

    /// Cuts the torn tail and starts writing, in a run of its own, in an epoch after every one the log
    /// has a sign of. Sets `clock` forward to that epoch.
    pub fn resume(self, clock: Arc<CommitClock>, options: Options) -> Result<Log> {
        if !(1..=LOGGERS_MAX).contains(&options.loggers) {
            return Err(Error::new(
                SqlState::INVALID_PARAMETER_VALUE,
                format!("{} loggers are not between 1 and {LOGGERS_MAX}", options.loggers),
            ));
        }
        let Some(lock) = self.lock else {
            return Err(Error::internal("a log that was opened to look at cannot be written"));
        };
        let first = self.newest_seen.max(self.summary.pepoch).next().max(clock.epoch());
        if first > clock.epoch() {
            clock.reset(first);
        }
        let database = match (options.database, self.manifest.as_ref().map(|m| m.database)) {
            (Some(wanted), Some(found)) if wanted != found => {
                return Err(damaged(&*self.device, MANIFEST, 16, "it belongs to another database"));
            }
            (wanted, found) => found.or(wanted).unwrap_or_else(random_id),
        };
        if options.durability == Durability::Off {
            return Log::off(clock, &options, Some(lock));
        }

        settle(&*self.device, &self.in_doubt)?;
        let mut manifest = self.manifest.unwrap_or(Manifest {
            database,
            base: Epoch(0),
            next_run: 1,
            runs: Vec::new(),
            tips: Vec::new(),
        });
        manifest.tips.clear();
        if let Some(run) = manifest.runs.last_mut() {
            run.last.get_or_insert(self.newest_written);
        }
        // A run that wrote nothing that counts, or nothing that is still needed, is forgotten.
        if !options.keep {
            manifest.base = manifest.base.max(self.summary.base);
        }
        let base = manifest.base;
        manifest.runs.retain(|run| run.last.is_some_and(|last| last >= run.first && last > base));
        manifest.runs.push(Run {
            number: manifest.next_run,
            loggers: options.loggers as u32,
            planner: options.planner_version.0,
            first,
            last: None,
        });
        manifest.next_run += 1;
        manifest.write(&*self.device)?;

        let mut sealed = Vec::new();
        for (i, &id) in self.segments.iter().enumerate() {
            match manifest.runs.iter().find(|run| run.number == id.run) {
                Some(run) => {
                    let next = self.segments.get(i + 1).filter(|n| (n.run, n.logger) == (id.run, id.logger));
                    let last = match next {
                        Some(&next) => Epoch(SegmentScan::open(&*self.device, next)?.header.first.0 - 1),
                        None => run.last.unwrap_or_default(),
                    };
                    sealed.push((id, last));
                }
                None => self.device.delete(&id.name())?,
            }
        }
        let run_options = RunOptions {
            loggers: options.loggers as u32,
            planner: options.planner_version.0,
            segment_bytes_max: options.segment_bytes_max,
            segment_epochs: options.segment_epochs_max,
            thread: options.threads,
        };
        let prior = self.newest_written;
        let files = SegmentFiles::new(self.device, lock, manifest, sealed, run_options)?;
        let counters = Arc::new(Counters::default());
        let loggers = (0..options.loggers as u32).map(|i| Logger::new(i, files.clone(), counters.clone()));
        let closer = Closer::new(
            loggers.collect(),
            prior,
            counters.clone(),
            options.threads,
            options.wall_clock.clone(),
        )?;
        Log::start(clock, options, closer, counters, Some(files))
    }
}

/// Makes sure that the newest epoch, which was read, is on disk. If only the process before us died, it
/// may be in the page cache and nowhere else; if that process died of a failed sync, the kernel even
/// believes it written. So it is written again: what the manifest says counts must be there.
fn settle(device: &dyn Device, in_doubt: &[Place]) -> io::Result<()> {
    for place in in_doubt {
        let file = device.open(&place.segment.name())?;
        let mut bytes = vec![0; (place.end - place.start) as usize];
        let read = file.read_at(&mut bytes, place.start)?;
        file.write_at(&bytes[..read], place.start)?;
        file.sync_data()?;
    }
    device.sync_directory()
}

/// Sixteen bytes that no other database has, in the form of a version 4 UUID.
fn random_id() -> [u8; 16] {
    let mut id = [0; 16];
    for half in id.chunks_mut(8) {
        // The keys of a `RandomState` come from the operating system.
        let random = entropy(|| RandomState::new().hash_one(std::process::id()));
        half.copy_from_slice(&random.to_le_bytes());
    }
    id[6] = id[6] & 0x0f | 0x40;
    id[8] = id[8] & 0x3f | 0x80;
    id
}
