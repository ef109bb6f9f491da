//! The open snapshots of an engine, for people.

use crate::system::SnapshotInfo;
use planaria_base::limits::WORKERS_MAX;
use planaria_base::sync::Mutex;
use planaria_base::{CommitTs, WorkerId};
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};

/// The open snapshots of an engine, for people.
#[derive(Default)]
pub(crate) struct SnapshotList {
    open: Mutex<(u64, BTreeMap<u64, SnapshotInfo>)>,
}

impl SnapshotList {
    pub(crate) fn add(&self, info: SnapshotInfo) -> u64 {
        let (last, open) = &mut *self.open.lock();
        *last += 1;
        open.insert(*last, info);
        *last
    }

    pub(crate) fn remove(&self, number: u64) {
        self.open.lock().1.remove(&number);
    }

    /// All of them, oldest first.
    pub(crate) fn all(&self) -> Vec<SnapshotInfo> {
        self.open.lock().1.values().cloned().collect()
    }
}

/// The moments as of which transaction blocks read, by worker: each has a line of its own, which nobody else writes.
pub(crate) struct BlockMoments(Box<[BlockMoment]>);

#[repr(align(128))]
#[derive(Default)]
struct BlockMoment {
    /// The last commit that it shows; 0 without a moment.
    at: AtomicU64,
    /// Microseconds since 2000-01-01 UTC.
    since: AtomicI64,
}

impl Default for BlockMoments {
    fn default() -> Self {
        BlockMoments((0..WORKERS_MAX).map(|_| BlockMoment::default()).collect())
    }
}

impl BlockMoments {
    /// The block of a worker has a moment, taken `now` if it is another than before, or none any more.
    pub(crate) fn show(&self, worker: WorkerId, at: Option<CommitTs>, now: i64) {
        let shown = &self.0[usize::from(worker.0)];
        let at = at.map_or(0, |at| at.0);
        if shown.at.load(Ordering::Relaxed) != at {
            shown.since.store(now, Ordering::Relaxed);
            shown.at.store(at, Ordering::Relaxed);
        }
    }

    /// Those that there are, with their workers and since when.
    pub(crate) fn all(&self) -> impl Iterator<Item = (WorkerId, CommitTs, i64)> {
        self.0.iter().enumerate().filter_map(|(worker, shown)| {
            let at = shown.at.load(Ordering::Relaxed);
            (at != 0).then(|| (WorkerId(worker as u16), CommitTs(at), shown.since.load(Ordering::Relaxed)))
        })
    }
}
