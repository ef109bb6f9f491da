//! Log batches: the records of some whole epochs, in commit order.

use crate::chain::{EpochFrames, RunReader};
use crate::device::Device;
use crate::effect::RawEffect;
use crate::manifest::Run;
use crate::record::{Keeping, PlannerVersion, RawRecord};
use crate::segment::SegmentId;
use planaria_base::sync;
use planaria_base::{CommitTs, Epoch, Error, ProcedureId, Result, SqlState};
use std::collections::BTreeSet;
use std::collections::VecDeque;
use std::sync::{Arc, Mutex};

/// A batch ends with the epoch that brings it to this many bytes of records.
const BATCH_BYTES: usize = 4 << 20;
/// Buffers that wait for another batch at most, and bytes of one: that of a bulk load is not kept.
const SPARE_MAX: usize = 16;
const SPARE_BYTES_MAX: usize = 2 * BATCH_BYTES;

/// Each record's timestamp and place, in commit order.
type Index = Vec<(CommitTs, usize)>;

/// Buffers of batches that are gone, for those that come: the first touch of fresh memory takes longer than all else in
/// reading a log.
type Spare = Arc<sync::Mutex<Vec<(Vec<u8>, Index)>>>;

/// The records of some whole epochs.
pub struct Batch {
    run: u32,
    planner: PlannerVersion,
    /// The planner that its calls are to be replayed under, if they are to be replayed.
    ours: Option<PlannerVersion>,
    last: Epoch,
    bytes: Vec<u8>,
    index: Index,
    /// Its epochs, and when they were closed.
    times: Vec<(Epoch, Option<i64>)>,
    spare: Spare,
}

impl Drop for Batch {
    fn drop(&mut self) {
        if self.bytes.capacity() == 0 || self.bytes.capacity() > SPARE_BYTES_MAX {
            return;
        }
        let mut spare = self.spare.lock();
        if spare.len() < SPARE_MAX {
            spare.push((std::mem::take(&mut self.bytes), std::mem::take(&mut self.index)));
        }
    }
}

/// Where a replay ends.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Until {
    /// With this transaction.
    Commit(CommitTs),
    /// With the last epoch that was closed at this time, or before: microseconds since 2000-01-01 UTC.
    Time(i64),
}

impl Batch {
    /// The run of the database that wrote it: no batch holds epochs of two. Locations in physical
    /// effects are of one run.
    pub fn run(&self) -> u32 {
        self.run
    }

    /// Version of the planner its calls ran with.
    pub fn planner_version(&self) -> PlannerVersion {
        self.planner
    }

    /// Its last epoch.
    pub fn last_epoch(&self) -> Epoch {
        self.last
    }

    /// Number of records.
    pub fn len(&self) -> usize {
        self.index.len()
    }

    /// When the epoch of its `i`th record was closed, if the log says so (from format 3 on): microseconds
    /// since 2000-01-01 UTC.
    pub fn time(&self, i: usize) -> Option<i64> {
        let epoch = self.index[i].0.epoch();
        self.times.binary_search_by_key(&epoch, |(epoch, _)| *epoch).ok().and_then(|at| self.times[at].1)
    }

    /// Leaves out what comes after an end; whether there is any.
    fn cut(&mut self, until: Until) -> bool {
        let kept = match until {
            Until::Commit(last) => self.index.partition_point(|(ts, _)| *ts <= last),
            Until::Time(time) => {
                let later = self.times.iter().find(|(_, closed)| closed.is_some_and(|closed| closed > time));
                let end = later.map_or(Epoch(u64::MAX), |(epoch, _)| *epoch);
                self.index.partition_point(|(ts, _)| ts.epoch() < end)
            }
        };
        let past = match until {
            Until::Commit(ts) => self.last >= ts.epoch(),
            Until::Time(time) => self.times.iter().any(|(_, closed)| closed.is_some_and(|c| c > time)),
        };
        self.index.truncate(kept);
        past
    }

    /// Whether it has none: epochs may be empty.
    pub fn is_empty(&self) -> bool {
        self.index.is_empty()
    }

    /// Bytes of records.
    pub fn bytes(&self) -> usize {
        self.bytes.len()
    }

    /// The `i`th record in commit order.
    pub fn get(&self, i: usize) -> RawRecord<'_> {
        let (ts, at) = self.index[i];
        let record = RawRecord::take(&mut &self.bytes[at..], ts.epoch());
        let kept = self.ours.map_or(Keeping::Yes, |ours| ours.sees(self.planner));
        record.expect("it was read when the index was made").of_run(kept)
    }

    /// The bytes from the `i`th record on, in the order in which they were logged; empty behind the last
    /// record. To be fetched ahead.
    #[inline]
    pub fn bytes_from(&self, i: usize) -> &[u8] {
        self.index.get(i).and_then(|(_, at)| self.bytes.get(*at..)).unwrap_or_default()
    }

    /// The records in commit order.
    pub fn records(&self) -> impl Iterator<Item = RawRecord<'_>> {
        (0..self.len()).map(|i| self.get(i))
    }

    /// Where an effect of one of its records stands, for [`Batch::effect_at`].
    pub fn place_of(&self, effect: &RawEffect<'_>) -> usize {
        effect.address() - self.bytes.as_ptr().addr()
    }

    /// The effect at a place that [`Batch::place_of`] gave.
    #[inline]
    pub fn effect_at(&self, place: usize) -> Option<RawEffect<'_>> {
        RawEffect::take(&mut self.bytes.get(place..)?)
    }

    fn new(run: &Run, ours: Option<PlannerVersion>, spare: Spare) -> Batch {
        let (mut bytes, mut index) = spare.lock().pop().unwrap_or_default();
        bytes.clear();
        index.clear();
        Batch {
            run: run.number,
            planner: PlannerVersion(run.planner),
            ours,
            last: Epoch(0),
            bytes,
            index,
            times: Vec::new(),
            spare,
        }
    }

    /// The records of one epoch, whole or not; `None` if they cannot be told apart.
    pub(crate) fn of_epoch(run: &Run, frames: &EpochFrames) -> Option<Batch> {
        let mut batch = Batch::new(run, None, Spare::default());
        batch.add(frames, 0).ok().map(|()| batch)
    }

    /// `size`: what the batch may come to, but for its last epoch.
    fn add(&mut self, epoch: &EpochFrames, size: usize) -> Result<()> {
        // At once: memory that is not touched costs nothing, growing does.
        self.bytes.reserve((size + epoch.bytes.len()).saturating_sub(self.bytes.len()));
        let base = self.bytes.len();
        let first = self.index.len();
        let replayable = self.ours.is_none_or(|ours| ours.execution() == self.planner.execution());
        let mut rest = &epoch.bytes[..];
        while !rest.is_empty() {
            let at = base + epoch.bytes.len() - rest.len();
            let record = RawRecord::take(&mut rest, epoch.epoch).ok_or_else(|| unreadable(epoch.epoch))?;
            if !replayable && record.call().is_some() {
                return Err(self.of_another_planner(record.commit_ts()));
            }
            self.index.push((record.commit_ts(), at));
        }
        let index = &mut self.index[first..];
        index.sort_unstable();
        if index.len() as u64 != epoch.records || index.windows(2).any(|w| w[0].0 == w[1].0) {
            return Err(unreadable(epoch.epoch));
        }
        self.bytes.extend_from_slice(&epoch.bytes);
        self.last = epoch.epoch;
        self.times.push((epoch.epoch, epoch.time));
        Ok(())
    }

    #[cold]
    fn of_another_planner(&self, ts: CommitTs) -> Error {
        let (theirs, ours) = (self.planner, self.ours.unwrap_or(self.planner));
        Error::unsupported(
            format!(
                "the calls in run {} of the log ran under planner {theirs}, planner {ours} cannot replay them",
                self.run
            ),
            "Open the database with the version of Planaria that wrote the log.",
        )
        .with_detail(format!("The first of them is transaction {ts:?}."))
    }
}

/// Frames that check out but hold what no writer makes.
fn unreadable(epoch: Epoch) -> Error {
    Error::new(SqlState::DATA_CORRUPTED, format!("log records of epoch {} cannot be decoded", epoch.0))
        .with_hint("the log may have been written by a newer version of Planaria")
}

/// Batches in commit order, each read when it is asked for. After an error there are no more.
pub struct Batches {
    device: Arc<dyn Device>,
    database: [u8; 16],
    runs: VecDeque<(Run, Vec<SegmentId>, Epoch)>,
    open: Option<(RunReader, Run)>,
    frames: EpochFrames,
    /// Bytes of the batches so far, of the next one, and of any.
    read: usize,
    size: usize,
    size_max: usize,
    spare: Spare,
    ours: Option<PlannerVersion>,
    torn: Option<Arc<Batch>>,
    until: Option<Until>,
    old_calls: Option<OldCalls>,
}

/// Procedures that were called by runs of older versions.
pub type OldCalls = Arc<Mutex<BTreeSet<ProcedureId>>>;

impl Batches {
    pub(crate) fn new(
        device: Arc<dyn Device>,
        database: [u8; 16],
        runs: Vec<(Run, Vec<SegmentId>, Epoch)>,
        torn: Option<Arc<Batch>>,
    ) -> Batches {
        Batches {
            device,
            database,
            runs: runs.into(),
            open: None,
            frames: EpochFrames::default(),
            read: 0,
            size: BATCH_BYTES,
            size_max: BATCH_BYTES,
            spare: Spare::default(),
            ours: None,
            torn,
            until: None,
            old_calls: None,
        }
    }

    /// Records of the epoch that was being written at the crash, behind all batches: those whose frames
    /// reached the disk, some of the epoch's, from anywhere in its order. They do not count. Nobody was
    /// told that they were durable, and what they depend on may be missing.
    pub fn torn_tail(&self) -> Option<Arc<Batch>> {
        self.torn.clone()
    }

    /// The same up to an end. What comes after it is left out, and nothing is torn.
    #[must_use]
    pub fn until(mut self, end: Until) -> Batches {
        self.until = Some(end);
        self.torn = None;
        self
    }

    /// The same; procedures called by runs of before intervals had months ([`PlannerVersion::is_before_intervals`]) are put
    /// down in `into` as they are met.
    #[must_use]
    pub fn noting_old_calls(mut self, into: OldCalls) -> Batches {
        self.old_calls = Some(into);
        self
    }

    /// The same in batches of at most so many bytes, but for the last epoch of each. The `first` one is smaller, and each one
    /// at most as large as all before it: so there is something to do soon.
    #[must_use]
    pub fn of_bytes(mut self, first: usize, most: usize) -> Batches {
        self.size = first.max(1);
        self.size_max = most.max(self.size);
        self
    }

    /// The same for a replay under this planner: calls of runs that kept other values are marked so
    /// ([`Keeping::ByAnother`](crate::Keeping)), a call that ran under another version of execution is an
    /// error (0A000). Without, records are read as they are.
    #[must_use]
    pub fn replayed_by(mut self, planner: PlannerVersion) -> Batches {
        self.ours = Some(planner);
        self
    }

    fn read(&mut self) -> Result<Option<Batch>> {
        loop {
            if self.open.is_none() {
                let Some((run, segments, tail)) = self.runs.pop_front() else { return Ok(None) };
                let reader = RunReader::new(self.device.clone(), run, self.database, &segments, tail)?;
                self.open = Some((reader, run));
            }
            let Some((reader, run)) = &mut self.open else { return Ok(None) };
            let mut batch = Batch::new(run, self.ours, self.spare.clone());
            while batch.bytes.len() < self.size {
                if !reader.next(&mut self.frames)? {
                    self.open = None;
                    break;
                }
                batch.add(&self.frames, self.size)?;
            }
            if let Some(into) = self.old_calls.as_ref().filter(|_| batch.planner.is_before_intervals()) {
                let calls = (0..batch.len()).filter_map(|i| Some(batch.get(i).call()?.0));
                into.lock().expect("nobody panics while putting down").extend(calls);
            }
            if let Some(until) = self.until
                && batch.cut(until)
            {
                self.open = None;
                self.runs.clear();
            }
            if batch.last != Epoch(0) {
                self.read += batch.bytes.len();
                self.size = self.read.clamp(self.size, self.size_max);
                return Ok(Some(batch));
            }
        }
    }
}

impl Iterator for Batches {
    type Item = Result<Batch>;

    fn next(&mut self) -> Option<Result<Batch>> {
        let result = self.read();
        if result.is_err() {
            self.open = None;
            self.runs.clear();
        }
        result.transpose()
    }
}
