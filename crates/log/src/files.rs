//! The files of the running log: makes segments ahead of time, cuts finished ones, deletes old ones.
//!
//! Zero-filling a segment takes as long as writing it, so a thread of its own does it while the
//! segment before is in use; a logger that needs a new segment finds a *spare* and pays for the
//! header, the name and two syncs. The segments of a run grow from `FIRST_BYTES` by doubling, so
//! that a small database stays small.
//!
//! So it is here that a full disk shows first, before a segment is: a logger that has little room left and
//! gets no spare says so, and commits are refused before they have done anything (see [`crate::log`]).

use crate::device::{Device, DeviceFile, DeviceLock, make_way};
use crate::logger::Failed;
use crate::manifest::Manifest;
use crate::segment::{self, SegmentHeader, SegmentId};
use planaria_base::sync::channel::{Sender, unbounded};
use planaria_base::sync::thread::JoinHandle;
use planaria_base::sync::{Condvar, Mutex, thread};
use planaria_base::{Epoch, Result};
use std::io;
use std::sync::{Arc, Weak};

/// Size of the first segment of a run.
pub(crate) const FIRST_BYTES: u64 = 1 << 20;

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
    /// The newest segment of each logger, for the manifest.
    tips: Mutex<Vec<SegmentId>>,
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
    Spare {
        logger: usize,
        ordinal: u32,
    },
    /// Names the newest segments in the manifest.
    Note,
    Finish(Ended),
}

/// A segment that is complete: its file, the checksum of its header, the bytes it uses.
pub(crate) struct Ended {
    pub file: Arc<dyn DeviceFile>,
    pub seed: u32,
    pub used: u64,
}

impl Ended {
    /// Marks the end and cuts the preallocated rest off.
    pub(crate) fn finish(&self) -> io::Result<()> {
        self.file.write_at(&segment::end_mark(self.seed, self.used), self.used)?;
        // A file without its mark must not be short.
        self.file.sync_data()?;
        self.file.set_size(self.used + segment::END as u64)
    }
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
            tips: Mutex::default(),
            sealed: Mutex::new(sealed),
            thread: Mutex::new(None),
        });
        if options.thread {
            *files.thread.lock() = Some(spawn(Arc::downgrade(&files))?);
            (0..options.loggers).for_each(|logger| files.order(logger as usize, 0));
        }
        Ok(files)
    }

    /// A new segment with room for `needed` bytes: its file with header and name on disk, the checksum of the
    /// header, its size.
    pub(crate) fn begin(
        &self,
        id: SegmentId,
        first: Epoch,
        needed: u64,
    ) -> Result<(Arc<dyn DeviceFile>, u32, u64), Failed> {
        let logger = id.logger as usize;
        let (file, mut size) = match self.take_spare(logger) {
            Some(Ok(spare)) => spare,
            // Nothing depends on it yet, so what failed ahead of time may be tried again, and now, too.
            Some(Err(_)) | None => self.make_spare(logger, id.ordinal).map_err(|e| {
                *self.spares[logger].state.lock() = SpareState::Ready(Err(e.kind().into()));
                Failed::before(e)
            })?,
        };
        if size < segment::HEADER as u64 + needed {
            // One epoch alone: it is not worth writing twice as much.
            size = segment::HEADER as u64 + needed;
            file.set_size(size)?;
        }
        let header = SegmentHeader {
            database: self.database,
            id,
            loggers: self.loggers,
            planner: self.planner,
            first,
            format: segment::FORMAT,
            size,
        };
        let (page, seed) = header.encode();
        file.write_at(&page, 0).map_err(Failed::before)?;
        file.sync_data()?;
        self.device.rename(&spare_name(logger), &id.name())?;
        self.device.sync_directory()?;
        let mut tips = self.tips.lock();
        tips.retain(|tip| tip.logger != id.logger);
        tips.push(id);
        drop(tips);
        // It counts whether the manifest knows of it or not.
        self.later(Job::Note);
        self.order(logger, id.ordinal + 1);
        Ok((file, seed, size))
    }

    /// Takes note of a complete segment and cuts what it does not use.
    pub(crate) fn seal(&self, id: SegmentId, last: Epoch, ended: Ended) {
        self.sealed.lock().push((id, last));
        // Cut too late or not at all it only takes space.
        self.later(Job::Finish(ended));
    }

    /// Has the thread do it, if there is one.
    fn later(&self, job: Job) {
        let thread = self.thread.lock();
        if let Some((sender, _)) = &*thread {
            let _ = sender.send(job);
        } else {
            drop(thread);
            self.run(job);
        }
    }

    /// Names the newest segments in the manifest.
    fn note(&self) -> io::Result<()> {
        let mut manifest = self.manifest.lock();
        let mut next = manifest.clone();
        next.tips.clone_from(&self.tips.lock());
        next.write(&*self.device)?;
        *manifest = next;
        Ok(())
    }

    /// Deletes segments all of whose epochs are `base` or before, which a checkpoint has.
    pub(crate) fn delete_through(&self, base: Epoch) -> Result<usize> {
        let mut manifest = self.manifest.lock();
        let base = base.max(manifest.base);
        let old: Vec<_> = self.sealed.lock().extract_if(.., |(_, last)| *last <= base).collect();
        let is_old = |tip: &SegmentId| old.iter().any(|(id, _)| id == tip);
        if base > manifest.base || manifest.tips.iter().any(is_old) {
            let mut next = manifest.clone();
            next.base = base;
            next.runs.retain(|run| run.last.is_none_or(|last| last > base));
            let mut tips = self.tips.lock();
            tips.retain(|tip| !is_old(tip));
            next.tips.clone_from(&tips);
            drop(tips);
            if let Err(e) = next.write(&*self.device) {
                self.sealed.lock().extend_from_slice(&old);
                return Err(e.into());
            }
            *manifest = next;
        }
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
        self.tips.lock().clear();
        manifest.tips.clear();
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
        (0..self.spares.len()).for_each(|logger| self.await_spare(logger));
    }

    /// The same for one logger's.
    pub(crate) fn await_spare(&self, logger: usize) {
        let spare = &self.spares[logger];
        let mut state = spare.state.lock();
        while matches!(*state, SpareState::Ordered) {
            spare.ready.wait(&mut state);
        }
    }

    /// Whether there was no room for the logger's next segment. `before`: whether there was none before, which
    /// holds as long as it is being tried again.
    pub(crate) fn lacks_room(&self, logger: usize, before: bool) -> bool {
        match &*self.spares[logger].state.lock() {
            SpareState::Ready(Err(e)) => e.kind() == io::ErrorKind::StorageFull,
            SpareState::Ordered => before,
            SpareState::Ready(Ok(_)) | SpareState::None => false,
        }
    }

    /// Tries again to make the logger's next segment.
    pub(crate) fn try_again(&self, logger: usize, ordinal: u32) {
        if matches!(*self.spares[logger].state.lock(), SpareState::Ready(Err(_))) {
            self.order(logger, ordinal);
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
            make_way(&*self.device, &name)?;
        }
        let size = self.segment_bytes_max.min(FIRST_BYTES << ordinal.min(32));
        let size = size.max(segment::HEADER as u64);
        let file = self.device.create(&name)?;
        let allocate = |size: u64| -> io::Result<(Arc<dyn DeviceFile>, u64)> {
            file.preallocate(size)?;
            file.sync_data()?;
            Ok((file.clone(), size))
        };
        let made = match allocate(size) {
            // There may be room for a smaller one.
            Err(e) if e.kind() == io::ErrorKind::StorageFull && size > FIRST_BYTES => {
                file.set_size(0)?;
                allocate(FIRST_BYTES)
            }
            other => other,
        };
        if made.is_err() {
            // It takes the last room there is.
            let _ = make_way(&*self.device, &name);
        }
        made
    }

    fn run(&self, job: Job) {
        match job {
            Job::Spare { logger, ordinal } => {
                let made = self.make_spare(logger, ordinal);
                *self.spares[logger].state.lock() = SpareState::Ready(made);
                self.spares[logger].ready.notify_all();
            }
            // The next one says it, too; until then a segment more is there than the manifest knows.
            Job::Note => drop(self.note()),
            Job::Finish(ended) => drop(ended.finish()),
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
