//! Tasks recorded for simulations, of schemes whose stages follow one another.
//!
//! ```text
//!  load 0 -> load 1 -> load 2 ...           a thread of its own, a batch ahead (tuple-level schemes)
//!     \
//!      '-> shapes -> | -> window -> | -> window -> | -> index -> |     | : the threads meet
//! ```
//!
//! The tasks of a stage depend on nothing but the meeting before it; so a simulation knows what the scheme
//! waits for. It does not know how long tasks wait for each other's latches.

use crate::{TaskKind, TaskRecord};
#[cfg(not(unix))]
use planaria_base::sync::Instant;
use planaria_base::sync::{Mutex, MutexGuard};
use std::time::Duration;

/// Cores that work is cut for when tasks are recorded: those of the paper's machine, for simulations of as
/// many.
pub(crate) const RECORDED_CORES: usize = 40;

/// Nanoseconds that this thread has run so far: what else the machine did meanwhile is not in them.
pub(crate) fn thread_nanoseconds() -> u64 {
    #[cfg(unix)]
    {
        let time = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
        time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
    }
    #[cfg(not(unix))]
    {
        static BEGAN: std::sync::LazyLock<Instant> = std::sync::LazyLock::new(Instant::now);
        BEGAN.elapsed().as_nanos() as u64
    }
}

/// Takes the records, if they are wanted.
pub(crate) struct Recorder(Option<Mutex<Records>>);

#[derive(Default)]
struct Records {
    tasks: Vec<TaskRecord>,
    segment: u32,
    /// Where the threads met last.
    met: Option<u32>,
    /// Batches read that nobody has met since: what comes next needs them.
    read: Option<u32>,
    last_load: Option<u32>,
    /// Where the threads had met when each batch was taken.
    taken: Vec<Option<u32>>,
}

impl Recorder {
    /// Records if tasks are `wanted`.
    pub(crate) fn new(wanted: bool) -> Recorder {
        Recorder(wanted.then(Mutex::default))
    }

    /// Whether it records.
    pub(crate) fn is_on(&self) -> bool {
        self.0.is_some()
    }

    /// Cores to cut the work for where there are so many threads.
    pub(crate) fn cores(&self, threads: usize) -> usize {
        if self.is_on() { threads.max(RECORDED_CORES) } else { threads }
    }

    fn records(&self) -> Option<MutexGuard<'_, Records>> {
        Some(self.0.as_ref()?.lock())
    }

    /// A batch was read and is taken now; reading was at most `ahead` batches ahead of that.
    pub(crate) fn loaded(&self, took: Duration, ahead: usize) {
        let Some(mut records) = self.records() else { return };
        let room = records.taken.len().checked_sub(ahead + 1).and_then(|taken| records.taken[taken]);
        let after = [records.last_load, room];
        let id = records.push(TaskKind::Load, 0, took, after);
        let met = records.met;
        records.taken.push(met);
        (records.last_load, records.read) = (Some(id), Some(id));
    }

    /// A stage is over, its tasks took so long.
    pub(crate) fn stage(&self, kind: TaskKind, took: impl IntoIterator<Item = Duration>) {
        let Some(mut records) = self.records() else { return };
        let after = [records.met, records.read];
        let ids: Vec<u32> =
            (0..).zip(took).map(|(part, took)| records.push(kind, part, took, after)).collect();
        match ids[..] {
            [] => return,
            [one] => records.met = Some(one),
            _ => {
                let meeting = records.push(TaskKind::Plan, 0, Duration::ZERO, [None; 2]);
                records.tasks[meeting as usize].predecessors = ids;
                records.met = Some(meeting);
            }
        }
        records.read = None;
    }

    /// Something ran with nobody else at work.
    pub(crate) fn alone(&self, took: Duration) {
        self.stage(TaskKind::Barrier, [took]);
        if let Some(mut records) = self.records() {
            records.segment += 1;
        }
    }

    /// Every record, by id.
    pub(crate) fn into_tasks(self) -> Vec<TaskRecord> {
        self.0.map_or(Vec::new(), |r| r.into_inner().tasks)
    }
}

impl Records {
    fn push(&mut self, kind: TaskKind, partition: u32, took: Duration, after: [Option<u32>; 2]) -> u32 {
        let id = self.tasks.len() as u32;
        let mut predecessors: Vec<u32> = after.into_iter().flatten().collect();
        predecessors.sort_unstable();
        predecessors.dedup();
        let nanoseconds = took.as_nanos() as u64;
        let segment = self.segment;
        self.tasks.push(TaskRecord { id, kind, segment, class: 0, partition, nanoseconds, predecessors });
        id
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stages_meet_and_batches_are_read_ahead() {
        let recorder = Recorder::new(true);
        let time = Duration::from_nanos;
        for _ in 0..3 {
            recorder.loaded(time(5), 1);
            recorder.stage(TaskKind::Execute, [time(7), time(8)]);
        }
        recorder.alone(time(9));
        let found: Vec<_> = recorder.into_tasks().into_iter().map(|t| (t.kind, t.predecessors)).collect();
        let (load, execute, meeting) = (TaskKind::Load, TaskKind::Execute, TaskKind::Plan);
        let expected = [
            (load, vec![]),
            (execute, vec![0]),
            (execute, vec![0]),
            (meeting, vec![1, 2]),
            (load, vec![0]),
            (execute, vec![3, 4]),
            (execute, vec![3, 4]),
            (meeting, vec![5, 6]),
            // The first batch was taken before anybody had met.
            (load, vec![4]),
            (execute, vec![7, 8]),
            (execute, vec![7, 8]),
            (meeting, vec![9, 10]),
            (TaskKind::Barrier, vec![11]),
        ];
        assert_eq!(found, expected);
    }
}
