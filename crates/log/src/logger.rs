//! A logger: takes the records of its share of the workers and writes them, epoch by epoch, into its
//! own sequence of segments.

use crate::device::DeviceFile;
use crate::files::{Ended, FIRST_BYTES, SegmentFiles};
use crate::frame::{self, Frame};
use crate::seat::{Buffer, Run, Seats};
use crate::segment::{self, SegmentId};
use crate::stats::Counters;
use planaria_base::Epoch;
use planaria_base::sync::Instant;
use std::io;
use std::sync::Arc;

/// A frame is closed when its records reach this size.
const FRAME_BYTES: usize = 1 << 20;
/// Frames are handed to the device in writes of about this size.
const WRITE_BYTES: usize = 4 << 20;

/// Why an epoch could not be written.
pub(crate) struct Failed {
    pub error: io::Error,
    /// The disk was full before anything was synced: the same may be written again once there is room.
    pub passes: bool,
}

impl Failed {
    /// Of what happened before a sync that counts.
    pub(crate) fn before(error: io::Error) -> Failed {
        Failed { passes: error.kind() == io::ErrorKind::StorageFull, error }
    }
}

impl From<io::Error> for Failed {
    fn from(error: io::Error) -> Failed {
        Failed { error, passes: false }
    }
}

/// One logger.
pub(crate) struct Logger {
    id: u32,
    files: Arc<SegmentFiles>,
    counters: Arc<Counters>,
    segment: Option<Segment>,
    /// Number of the next segment.
    ordinal: u32,
    /// The newest epoch that it has written.
    written: Epoch,
    /// What was taken from the seats and is not written yet.
    taken: Vec<Buffer>,
    /// Empty buffers to put in the place of those that are taken.
    empty: Vec<Buffer>,
    /// Frames being put together.
    staging: Vec<u8>,
}

/// The segment a logger writes to.
struct Segment {
    id: SegmentId,
    file: Arc<dyn DeviceFile>,
    /// Checksum of its header, from which those of its frames start.
    seed: u32,
    /// Epochs in it.
    first: Epoch,
    last: Epoch,
    /// Bytes written.
    used: u64,
    /// Bytes of it that exist on disk as zeros.
    size: u64,
}

/// What a frame of an epoch says of the epoch.
#[derive(Clone, Copy)]
pub(crate) struct EpochMark {
    pub epoch: Epoch,
    pub prior: Epoch,
    pub loggers: u64,
    /// When it was closed: microseconds since 2000-01-01 UTC.
    pub time: i64,
}

impl Logger {
    pub(crate) fn new(id: u32, files: Arc<SegmentFiles>, counters: Arc<Counters>) -> Logger {
        Logger {
            id,
            files,
            counters,
            segment: None,
            ordinal: 0,
            written: Epoch(0),
            taken: Vec::new(),
            empty: Vec::new(),
            staging: Vec::new(),
        }
    }

    /// Takes the records up to `epoch` of every `stride`-th seat, from its own number on.
    pub(crate) fn take(&mut self, seats: &Seats, stride: usize, epoch: Epoch) {
        for (_, seat) in seats.iter().filter(|(i, _)| i % stride == self.id as usize) {
            let mut buffer = self.empty.pop().unwrap_or_default();
            if seat.take(epoch, &mut buffer) {
                self.taken.push(buffer);
            } else {
                self.empty.push(buffer);
            }
        }
    }

    /// The oldest epoch after `after` of what was taken.
    pub(crate) fn next_epoch(&self, after: Epoch) -> Option<Epoch> {
        self.taken.iter().flat_map(|b| b.runs()).map(|(run, _)| run.epoch).filter(|e| *e > after).min()
    }

    /// Whether records of `epoch` were taken.
    pub(crate) fn has(&self, epoch: Epoch) -> bool {
        self.taken.iter().flat_map(|b| b.runs()).any(|(run, _)| run.epoch == epoch)
    }

    /// Whether it has taken records that it has not forgotten yet.
    pub(crate) fn has_taken(&self) -> bool {
        !self.taken.is_empty()
    }

    /// Forgets what was taken: all of it is written.
    pub(crate) fn finish(&mut self) {
        for mut buffer in self.taken.drain(..) {
            buffer.clear();
            self.empty.push(buffer);
        }
    }

    /// Writes all records of an epoch and syncs them; an epoch without any gets an empty frame. May be called
    /// again with the same mark after a failure that passes, of this logger or of another.
    pub(crate) fn write(&mut self, mark: EpochMark) -> Result<(), Failed> {
        if mark.epoch == self.written {
            return Ok(());
        }
        if mark.epoch < self.written {
            // A frame behind those of later epochs would make the log unreadable.
            return Err(io::Error::other("an epoch is to be written behind a later one").into());
        }
        let taken = std::mem::take(&mut self.taken);
        let result = self.write_epoch(mark, &taken);
        self.taken = taken;
        if result.is_ok() {
            self.written = mark.epoch;
        }
        result
    }

    fn write_epoch(&mut self, mark: EpochMark, taken: &[Buffer]) -> Result<(), Failed> {
        let runs = || taken.iter().flat_map(|b| b.runs()).filter(|(run, _)| run.epoch == mark.epoch);
        let bytes: usize = runs().map(|(_, bytes)| bytes.len()).sum();
        // Two neighbouring frames hold more than FRAME_BYTES together.
        let frames = 2 + 2 * bytes / FRAME_BYTES;
        let needed = bytes + frames * (frame::HEADER + frame::ALIGN);
        self.make_room(mark.epoch, needed as u64)?;
        let start = self.segment.as_ref().map_or(0, |s| s.used);
        if let Err(e) = self.put_frames(mark, runs()) {
            // Written again, it stands in the same place.
            self.segment.iter_mut().for_each(|s| s.used = start);
            return Err(Failed::before(e));
        }
        if self.staging.capacity() > 4 * WRITE_BYTES {
            // A huge record went through.
            self.staging = Vec::new();
        }
        Ok(self.sync()?)
    }

    fn put_frames<'t>(
        &mut self,
        mark: EpochMark,
        runs: impl Iterator<Item = (Run, &'t [u8])>,
    ) -> io::Result<()> {
        let mut open = FrameInProgress::default();
        self.staging.clear();
        self.staging.resize(frame::HEADER, 0);
        for (run, bytes) in runs {
            if open.length > 0 && open.length + bytes.len() > FRAME_BYTES {
                self.seal(&mut open, mark, false)?;
            }
            self.staging.extend_from_slice(bytes);
            open.length += bytes.len();
            open.records += run.records;
        }
        self.seal(&mut open, mark, true)
    }

    /// Ends the frame in progress and begins the next one, if there is one.
    fn seal(&mut self, open: &mut FrameInProgress, mark: EpochMark, last: bool) -> io::Result<()> {
        let segment = self.segment.as_mut().expect("room was made in a segment");
        let frame = Frame {
            length: open.length as u64,
            epoch: mark.epoch,
            prior: mark.prior,
            loggers: mark.loggers,
            records: open.records,
            ordinal: open.ordinal,
            last,
            time: Some(mark.time),
        };
        let offset = segment.used + open.start as u64;
        frame.seal(&mut self.staging, open.start, segment.seed, offset);
        self.counters.frame(frame.records as u64, frame::size(frame.length));
        if last || self.staging.len() >= WRITE_BYTES {
            segment.file.write_at(&self.staging, segment.used)?;
            segment.used += self.staging.len() as u64;
            segment.size = segment.size.max(segment.used);
            segment.last = mark.epoch;
            self.staging.clear();
        }
        *open =
            FrameInProgress { start: self.staging.len(), ordinal: open.ordinal + 1, ..Default::default() };
        self.staging.resize(open.start + frame::HEADER, 0);
        Ok(())
    }

    fn sync(&self) -> io::Result<()> {
        let segment = self.segment.as_ref().expect("what is synced was written");
        let start = Instant::now();
        segment.file.sync_data()?;
        self.counters.synced(start.elapsed());
        Ok(())
    }

    /// Goes to a new segment if this one has no room for `needed` bytes of `epoch`. An epoch larger
    /// than any segment gets one of its own. Whoever has little room left waits to see whether there will be
    /// more: so that commits are refused before they would have to wait for it.
    fn make_room(&mut self, epoch: Epoch, needed: u64) -> Result<(), Failed> {
        let full = |s: &Segment| {
            (s.used + needed > s.size && s.used > segment::HEADER as u64)
                || epoch.0 - s.first.0 >= self.files.segment_epochs
        };
        if let Some(segment) = self.segment.as_ref().filter(|s| !full(s)) {
            if segment.is_low(needed) {
                self.files.await_spare(self.id as usize);
            }
            return Ok(());
        }
        let id = SegmentId { run: self.files.run, logger: self.id, ordinal: self.ordinal };
        let (file, seed, size) = self.files.begin(id, epoch, needed)?;
        self.ordinal += 1;
        let next = Segment { id, file, seed, first: epoch, last: epoch, used: segment::HEADER as u64, size };
        if let Some(done) = self.segment.replace(next) {
            self.files.seal(done.id, done.last, done.ended());
        }
        Ok(())
    }

    /// Whether it has little room left, and there was none on the disk for more; see
    /// [`SegmentFiles::lacks_room`].
    pub(crate) fn is_tight(&self, before: bool) -> bool {
        let low = self.segment.as_ref().is_none_or(|segment| segment.is_low(0));
        low && self.files.lacks_room(self.id as usize, before)
    }

    /// Looks for room again.
    pub(crate) fn look_for_room(&self) {
        self.files.try_again(self.id as usize, self.ordinal);
    }

    /// Where it writes, for people.
    pub(crate) fn place(&self) -> String {
        let segment = self.segment.as_ref();
        segment.map_or_else(|| format!("of logger {}", self.id), |s| self.files.device.describe(&s.id.name()))
    }

    /// Ends the segment, so that the next epoch begins another; if that is there already, since commits must
    /// not fail for want of it.
    pub(crate) fn end_segment(&mut self) {
        if !self.files.has_spare(self.id as usize) {
            return;
        }
        if let Some(done) = self.segment.take() {
            self.files.seal(done.id, done.last, done.ended());
        }
    }

    /// Cuts the preallocated rest off the last segment, at a clean end.
    pub(crate) fn close(&mut self) -> io::Result<()> {
        if let Some(segment) = self.segment.take() {
            segment.ended().finish()?;
            segment.file.sync_data()?;
        }
        Ok(())
    }
}

impl Segment {
    /// Whether little is left of it after so many bytes more.
    fn is_low(&self, needed: u64) -> bool {
        self.size.saturating_sub(self.used + needed) < (self.size / 2).min(FIRST_BYTES)
    }

    fn ended(&self) -> Ended {
        Ended { file: self.file.clone(), seed: self.seed, used: self.used }
    }
}

/// The frame being put together in the staging buffer.
#[derive(Default)]
struct FrameInProgress {
    /// Where its header goes.
    start: usize,
    /// Bytes of records so far.
    length: usize,
    records: u32,
    ordinal: u32,
}
