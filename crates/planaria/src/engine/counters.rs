//! Counters that every core keeps on its own cache lines.

use planaria_base::WorkerId;
use planaria_base::limits::WORKERS_MAX;
use planaria_protocol::Conflict;
use std::sync::atomic::{AtomicU64, Ordering};

const CAUSES: usize = Conflict::ALL.len();

#[repr(align(128))]
#[derive(Default)]
struct Line {
    commits: AtomicU64,
    aborts: [AtomicU64; CAUSES],
}

/// Commits and aborted attempts, by worker.
pub(crate) struct Counters {
    lines: Box<[Line]>,
}

impl Counters {
    pub(crate) fn new() -> Counters {
        Counters { lines: (0..WORKERS_MAX).map(|_| Line::default()).collect() }
    }

    /// Only the worker itself adds to its line, so load and store do.
    fn add(counter: &AtomicU64) {
        counter.store(counter.load(Ordering::Relaxed) + 1, Ordering::Relaxed);
    }

    #[inline]
    pub(crate) fn commit(&self, worker: WorkerId) {
        Self::add(&self.lines[worker.0 as usize].commits);
    }

    #[cold]
    pub(crate) fn abort(&self, worker: WorkerId, cause: Conflict) {
        Self::add(&self.lines[worker.0 as usize].aborts[cause as usize]);
    }

    pub(crate) fn commits(&self) -> u64 {
        self.lines.iter().map(|l| l.commits.load(Ordering::Relaxed)).sum()
    }

    pub(crate) fn aborts(&self) -> Vec<(&'static str, u64)> {
        let of = |cause: Conflict| {
            self.lines.iter().map(|l| l.aborts[cause as usize].load(Ordering::Relaxed)).sum()
        };
        Conflict::ALL.iter().map(|c| (c.name(), of(*c))).collect()
    }
}
