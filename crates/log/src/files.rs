//! The files of the running log: makes segments ahead of time, cuts finished ones, deletes old ones.
//!
//! Zero-filling a segment takes as long as writing it, so a thread of its own does it while the
//! segment before is in use; a logger that needs a new segment finds a *spare* and pays for the
//! header, the name and two syncs. The segments of a run grow from `FIRST_BYTES` by doubling, so
//! that a small database stays small.

use crate::device::{Device, DeviceFile, DeviceLock};
use crate::manifest::Manifest;
use crate::segment::{self, SegmentHeader, SegmentId};
use planaria_base::sync::channel::{Sender, unbounded};
use planaria_base::sync::thread::JoinHandle;
use planaria_base::sync::{Condvar, Mutex, thread};
use planaria_base::{Epoch, Result};
use std::io;
use std::sync::{Arc, Weak};

/// Size of the first segment of a run.
const FIRST_BYTES: u64 = 1 << 20;

/// Files of one run.
pub(crate) struct SegmentFiles {
    pub device: Arc<dyn Device>,
    lock: Mutex<Option<DeviceLock>>,
    pub run: u32,
    /// Epochs a segment spans at most.
    pub segment_epochs: u64,
    segment_bytes_max: u64,
    pub database: [u8; 16],
    loggers: u32,
    planner: u32,
    spares: Vec<Spare>,
    manifest: Mutex<Manifest>,
    /// Segments that are complete, of this run and those before, with their last epoch.
    sealed: Mutex<Vec<(SegmentId, Epoch)>>,
    thread: Mutex<Option<(Sender<Job>, JoinHandle<()>)>>,
}

#[derive(Default)]
struct Spare {
    state: Mutex<SpareState>,
    ready: Condvar,
}

#[derive(Default)]
enum SpareState {
    #[default]
    None,
    /// The thread is at it.
    Ordered,
    Ready(io::Result<(Arc<dyn DeviceFile>, u64)>),
}

enum Job {
    Spare { logger: usize, ordinal: u32 },
    Truncate { file: Arc<dyn DeviceFile>, size: u64 },
}

/// What is the same for all segments of a run.
pub(crate) struct RunOptions {
    pub loggers: u32,
    pub planner: u32,
    pub segment_bytes_max: u64,
    pub segment_epochs: u64,
    /// Whether a thread makes spares ahead of time.
    pub thread: bool,
}

impl SegmentFiles {
    /// Files of the newest run of `manifest`; `sealed` are those of runs before.
    pub(crate) fn new(
        device: Arc<dyn Device>,
        lock: DeviceLock,
        manifest: Manifest,
        sealed: Vec<(SegmentId, Epoch)>,
        options: RunOptions,
    ) -> io::Result<Arc<SegmentFiles>> {
        let files = Arc::new(SegmentFiles {
            device,
            lock: Mutex::new(Some(lock)),
            run: manifest.next_run - 1,
            segment_epochs: options.segment_epochs,
            segment_bytes_max: options.segment_bytes_max,
            database: manifest.database,
            loggers: options.loggers,
            planner: options.planner,
            spares: (0..options.loggers).map(|_| Spare::default()).collect(),
            manifest: Mutex::new(manifest),
            sealed: Mutex::new(sealed),
            thread: Mutex::new(None),
        });
        if options.thread {
            *files.thread.lock() = Some(spawn(Arc::downgrade(&files))?);
            (0..options.loggers).for_each(|logger| files.order(logger as usize, 0));
        }
        Ok(files)
    }

    /// A new segment: its file with header and name on disk, the checksum of the header, its size.
    pub(crate) fn begin(&self, id: SegmentId, first: Epoch) -> io::Result<(Arc<dyn DeviceFile>, u32, u64)> {
        let logger = id.logger as usize;
        let (file, size) = match self.take_spare(logger) {
            Some(Ok(spare)) => spare,
            // Nothing depends on it yet, so what failed ahead of time may be tried again.
            Some(Err(_)) | None => self.make_spare(logger, id.ordinal)?,
        };
        let header = SegmentHeader {
            database: self.database,
            id,
            loggers: self.loggers,
            planner: self.planner,
            first,
            format: segment::FORMAT,
        };
        let (page, seed) = header.encode();
        file.write_at(&page, 0)?;
        file.sync_data()?;
        self.device.rename(&spare_name(logger), &id.name())?;
        self.device.sync_directory()?;
        self.order(logger, id.ordinal + 1);
        Ok((file, seed, size))
    }

    /// Takes note of a complete segment and cuts what it does not use.
    pub(crate) fn seal(&self, id: SegmentId, last: Epoch, file: Arc<dyn DeviceFile>, size: u64) {
        self.sealed.lock().push((id, last));
        if let Some((sender, _)) = &*self.thread.lock() {
            // Cut too late or not at all it only takes space.
            let _ = sender.send(Job::Truncate { file, size });
        } else {
            let _ = file.set_size(size);
        }
    }

    /// Deletes segments all of whose epochs are `base` or before, which a checkpoint has.
    pub(crate) fn delete_through(&self, base: Epoch) -> Result<usize> {
        let mut manifest = self.manifest.lock();
        if base > manifest.base {
            let mut next = manifest.clone();
            next.base = base;
            next.runs.retain(|run| run.last.is_none_or(|last| last > base));
            next.write(&*self.device)?;
            *manifest = next;
        }
        let base = manifest.base;
        let mut sealed = self.sealed.lock();
        let old: Vec<_> = sealed.extract_if(.., |(_, last)| *last <= base).collect();
        drop(sealed);
        for (i, (id, _)) in old.iter().enumerate() {
            if let Err(e) = self.device.delete(&id.name()) {
                // They are not needed any more; the next call or the next run tries again.
                self.sealed.lock().extend_from_slice(&old[i..]);
                return Err(e.into());
            }
        }
        self.device.sync_directory()?;
        Ok(old.len())
    }

    /// Notes the clean end of the run: from now on all of it must be readable up to `last`.
    pub(crate) fn end_run(&self, last: Epoch) -> io::Result<()> {
        let mut manifest = self.manifest.lock();
        if let Some(run) = manifest.runs.last_mut() {
            run.last = Some(last);
        }
        manifest.write(&*self.device)
    }

    fn order(&self, logger: usize, ordinal: u32) {
        if let Some((sender, _)) = &*self.thread.lock() {
            *self.spares[logger].state.lock() = SpareState::Ordered;
            let _ = sender.send(Job::Spare { logger, ordinal });
        }
    }

    /// Waits for spares that are being made.
    pub(crate) fn await_spares(&self) {
        for spare in &self.spares {
            let mut state = spare.state.lock();
            while matches!(*state, SpareState::Ordered) {
                spare.ready.wait(&mut state);
            }
        }
    }

    /// Whether the logger's next segment is there, all its bytes allocated.
    pub(crate) fn has_spare(&self, logger: usize) -> bool {
        matches!(*self.spares[logger].state.lock(), SpareState::Ready(Ok(_)))
    }

    fn take_spare(&self, logger: usize) -> Option<io::Result<(Arc<dyn DeviceFile>, u64)>> {
        let spare = &self.spares[logger];
        let mut state = spare.state.lock();
        while matches!(*state, SpareState::Ordered) {
            spare.ready.wait(&mut state);
        }
        match std::mem::take(&mut *state) {
            SpareState::Ready(result) => Some(result),
            _ => None,
        }
    }

    fn make_spare(&self, logger: usize, ordinal: u32) -> io::Result<(Arc<dyn DeviceFile>, u64)> {
        let name = spare_name(logger);
        if self.device.list()?.contains(&name) {
            self.device.delete(&name)?;
        }
        let size = self.segment_bytes_max.min(FIRST_BYTES << ordinal.min(32));
        let size = size.max(segment::HEADER as u64);
        let file = self.device.create(&name)?;
        file.preallocate(size)?;
        file.sync_data()?;
        Ok((file, size))
    }

    fn run(&self, job: Job) {
        match job {
            Job::Spare { logger, ordinal } => {
                let made = self.make_spare(logger, ordinal);
                *self.spares[logger].state.lock() = SpareState::Ready(made);
                self.spares[logger].ready.notify_all();
            }
            Job::Truncate { file, size } => {
                let _ = file.set_size(size);
            }
        }
    }

    /// Ends the thread, removes the spares, gives the directory free.
    pub(crate) fn close(&self) -> io::Result<()> {
        let _lock = self.lock.lock().take();
        let thread = self.thread.lock().take();
        if let Some((sender, thread)) = thread {
            drop(sender);
            let _ = thread.join();
        }
        let names = self.device.list()?;
        for name in (0..self.spares.len()).map(spare_name).filter(|name| names.contains(name)) {
            self.device.delete(&name)?;
        }
        self.device.sync_directory()
    }
}

fn spawn(files: Weak<SegmentFiles>) -> io::Result<(Sender<Job>, JoinHandle<()>)> {
    let (sender, jobs) = unbounded();
    let work = move || {
        while let (Ok(job), Some(files)) = (jobs.recv(), files.upgrade()) {
            files.run(job);
        }
    };
    Ok((sender, thread::Builder::new().name("log-files".into()).spawn(work)?))
}

/// Name of the spare of a logger.
pub(crate) fn spare_name(logger: usize) -> String {
    format!("spare-{logger:02}")
}
