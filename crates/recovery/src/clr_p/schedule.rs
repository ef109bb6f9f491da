//! Which piece-sets can run, and what became of them.
//!
//! Tasks stand in one order: batches as they came, in a batch its preparation first, then its blocks in
//! topological order. A thread takes the first task that is ready; so with more threads than ready piece-sets
//! of one batch, pipelining goes on with the next.

use super::Mode;
use super::batch::{Batch, Decode};
use super::worker::has_met;
use crate::{TaskKind, TaskRecord};
use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// Something for a thread to do.
pub(super) enum Task {
    /// Decode a chunk of the log.
    Decode(Arc<Decode>, usize),
    /// Prepare a chunk of a batch.
    Prepare(Arc<Batch>, usize),
    /// Split a chunk of a block's piece-set.
    Dispatch(Arc<Batch>, usize, usize),
    /// Run a part of a block's piece-set.
    Execute(Arc<Batch>, usize, usize),
}

impl Task {
    pub(super) fn kind(&self) -> TaskKind {
        match self {
            Task::Decode(..) => TaskKind::Load,
            Task::Prepare(..) | Task::Dispatch(..) => TaskKind::Plan,
            Task::Execute(..) => TaskKind::Execute,
        }
    }
}

/// Chunks handed out and done, and the records of those done.
#[derive(Default)]
struct Progress {
    of: usize,
    next: usize,
    done: usize,
    tasks: Vec<u32>,
}

impl Progress {
    fn new(of: usize) -> Progress {
        Progress { of, ..Progress::default() }
    }
    fn take(&mut self) -> Option<usize> {
        (self.next < self.of).then(|| {
            self.next += 1;
            self.next - 1
        })
    }
    fn is_done(&self) -> bool {
        self.done == self.of
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum PartState {
    Idle,
    Running,
    /// At a meeting that others have to come to.
    Waiting,
    Done,
}

struct LiveSet {
    split: Progress,
    parts: Vec<PartState>,
    left: usize,
    /// Nanoseconds of parts that were interrupted.
    spent: Vec<u64>,
    tasks: Vec<u32>,
}

/// A batch that is being replayed.
struct Live {
    batch: Arc<Batch>,
    prepare: Progress,
    sets: Vec<LiveSet>,
    /// Blocks that are not done.
    left: usize,
}

/// See the module's head.
pub(super) struct Schedule {
    mode: Mode,
    live: VecDeque<Live>,
    decode: Option<(Arc<Decode>, Progress)>,
    /// Batches done that nobody has asked about.
    finished: Vec<Arc<Batch>>,
    records: Option<Records>,
}

/// The recorded task graph.
struct Records {
    tasks: Vec<TaskRecord>,
    segment: u32,
    /// What the tasks of a batch's beginning wait for: the decoding of its records, and what ran alone.
    before: Vec<u32>,
    /// The last executions of each block; all that the next batch's waits for.
    last: Vec<Vec<u32>>,
}

impl Schedule {
    pub(super) fn new(mode: Mode, record: bool) -> Schedule {
        let records = Records { tasks: Vec::new(), segment: 0, before: Vec::new(), last: Vec::new() };
        Schedule {
            mode,
            live: VecDeque::new(),
            decode: None,
            finished: Vec::new(),
            records: record.then_some(records),
        }
    }

    /// Batches under way.
    pub(super) fn live(&self) -> usize {
        self.live.len()
    }

    /// Batches done since the last call.
    pub(super) fn finished(&mut self) -> Vec<Arc<Batch>> {
        std::mem::take(&mut self.finished)
    }

    pub(super) fn add(&mut self, batch: Arc<Batch>) {
        let chunks = batch.chunks.len();
        let set = |set: &super::batch::PieceSet| LiveSet {
            split: Progress::new(set.split.len()),
            parts: vec![PartState::Idle; set.cursors.len()],
            left: set.cursors.len(),
            spent: vec![0; set.cursors.len()],
            tasks: Vec::new(),
        };
        let sets: Vec<LiveSet> = batch.sets.iter().map(set).collect();
        if sets.is_empty() {
            self.finished.push(batch); // No rows were changed; the rest has been seen to.
            return;
        }
        let left = sets.len();
        self.live.push_back(Live { batch, prepare: Progress::new(chunks), sets, left });
    }

    pub(super) fn decode(&mut self, decode: Arc<Decode>) {
        let progress = Progress::new(decode.len());
        self.decode = Some((decode, progress));
    }

    /// What was decoded, once it is.
    pub(super) fn decoded(&mut self) -> Option<Arc<Decode>> {
        let (decode, progress) = self.decode.take_if(|(_, progress)| progress.is_done())?;
        if let Some(records) = &mut self.records {
            records.before.extend(progress.tasks);
        }
        Some(decode)
    }

    /// The first task that is ready.
    pub(super) fn take(&mut self) -> Option<Task> {
        for i in 0..self.live.len() {
            // The piece-sets of the batch before that have to be done first: its own, or all.
            let before: Option<Vec<bool>> = i.checked_sub(1).map(|p| {
                let live = &self.live[p];
                live.sets.iter().map(|s| self.mode.pipelined && s.left == 0).collect()
            });
            let live = &mut self.live[i];
            let batch = live.batch.clone();
            if let Some(chunk) = live.prepare.take() {
                return Some(Task::Prepare(batch, chunk));
            }
            if !live.prepare.is_done() {
                continue;
            }
            for block in 0..live.sets.len() {
                let needed = batch.graph.blocks[block].needs.iter().all(|b| live.sets[*b].left == 0);
                let set = &mut live.sets[block];
                if set.left == 0 || !needed && !batch.graph.blocks[block].early {
                    continue;
                }
                if let Some(chunk) = set.split.take() {
                    return Some(Task::Dispatch(batch, block, chunk));
                }
                let first = before.as_ref().is_none_or(|b| b[block]);
                if needed
                    && first
                    && set.split.is_done()
                    && let Some(part) = set.parts.iter().position(|p| *p == PartState::Idle)
                {
                    set.parts[part] = PartState::Running;
                    return Some(Task::Execute(batch, block, part));
                }
            }
        }
        let (decode, progress) = self.decode.as_mut()?;
        progress.take().map(|chunk| Task::Decode(decode.clone(), chunk))
    }

    fn position(&self, batch: &Arc<Batch>) -> usize {
        self.live.iter().position(|l| Arc::ptr_eq(&l.batch, batch)).expect("a batch with tasks is under way")
    }

    /// A task is done.
    pub(super) fn done(&mut self, task: &Task, nanoseconds: u64) {
        match task {
            Task::Decode(_, chunk) => {
                let id = self.record(TaskKind::Load, 0, *chunk, nanoseconds, Vec::new());
                if let Some((_, progress)) = &mut self.decode {
                    progress.done += 1;
                    progress.tasks.extend(id);
                }
            }
            Task::Prepare(batch, chunk) => {
                let before = self.records.as_ref().map_or(Vec::new(), |r| r.before.clone());
                let id = self.record(TaskKind::Plan, 0, *chunk, nanoseconds, before);
                let at = self.position(batch);
                self.live[at].prepare.done += 1;
                self.live[at].prepare.tasks.extend(id);
            }
            Task::Dispatch(batch, block, chunk) => {
                let at = self.position(batch);
                let mut before = Vec::new();
                if self.records.is_some() {
                    let live = &self.live[at];
                    before.extend(live.prepare.tasks.get(*chunk));
                    if !batch.graph.blocks[*block].early {
                        before.extend(self.needed(at, *block));
                    }
                }
                let id = self.record(TaskKind::Plan, *block, *chunk, nanoseconds, before);
                let set = &mut self.live[at].sets[*block];
                set.split.done += 1;
                set.split.tasks.extend(id);
            }
            Task::Execute(batch, block, part) => {
                let at = self.position(batch);
                let spent = nanoseconds + self.live[at].sets[*block].spent[*part];
                let mut before = Vec::new();
                if let Some(records) = &self.records {
                    let live = &self.live[at];
                    let set = &live.sets[*block];
                    before.extend(if set.split.of > 0 { &set.split.tasks } else { &live.prepare.tasks });
                    before.extend(self.needed(at, *block));
                    match self.mode.pipelined {
                        true => before.extend(records.last.get(*block).into_iter().flatten()),
                        false => before.extend(records.last.iter().flatten()),
                    }
                }
                let id = self.record(TaskKind::Execute, *block, *part, spent, before);
                let live = &mut self.live[at];
                let set = &mut live.sets[*block];
                set.parts[*part] = PartState::Done;
                set.tasks.extend(id);
                set.left -= 1;
                if set.left == 0 {
                    live.left -= 1;
                    self.block_done(at, *block);
                }
            }
        }
    }

    fn block_done(&mut self, at: usize, block: usize) {
        if let Some(records) = self.records.as_mut().filter(|_| self.mode.pipelined) {
            let blocks = self.live[at].sets.len();
            records.last.resize(blocks.max(records.last.len()), Vec::new());
            records.last[block] = std::mem::take(&mut self.live[at].sets[block].tasks);
            self.live[at].sets[block].tasks.clone_from(&records.last[block]);
        }
        while self.live.front().is_some_and(|l| l.left == 0) {
            let Some(live) = self.live.pop_front() else { break };
            if let Some(records) = self.records.as_mut().filter(|_| !self.mode.pipelined) {
                records.last = live.sets.iter().map(|s| s.tasks.clone()).collect();
            }
            self.finished.push(live.batch);
        }
    }

    /// A part has come to a meeting before others.
    pub(super) fn waits(&mut self, batch: &Arc<Batch>, block: usize, part: usize, nanoseconds: u64) {
        let at = self.position(batch);
        let set = &mut self.live[at].sets[block];
        set.spent[part] += nanoseconds;
        // Said first, then looked once more: who is done with a meeting looks in the other order.
        batch.sets[block].waiting.fetch_add(1, Ordering::SeqCst);
        set.parts[part] = PartState::Waiting;
        if has_met(batch, block, part) {
            self.wake(batch, block);
        }
    }

    /// Lets the parts that wait at meetings look again.
    pub(super) fn wake(&mut self, batch: &Arc<Batch>, block: usize) {
        let at = self.position(batch);
        for part in self.live[at].sets[block].parts.iter_mut().filter(|p| **p == PartState::Waiting) {
            *part = PartState::Idle;
        }
        batch.sets[block].waiting.store(0, Ordering::SeqCst);
    }

    /// Executions of the blocks that one depends on.
    fn needed(&self, at: usize, block: usize) -> Vec<u32> {
        let live = &self.live[at];
        let needs = &live.batch.graph.blocks[block].needs;
        needs.iter().flat_map(|b| live.sets[*b].tasks.iter().copied()).collect()
    }

    fn record(
        &mut self,
        kind: TaskKind,
        class: usize,
        partition: usize,
        nanoseconds: u64,
        mut predecessors: Vec<u32>,
    ) -> Option<u32> {
        let records = self.records.as_mut()?;
        predecessors.sort_unstable();
        predecessors.dedup();
        let id = records.tasks.len() as u32;
        records.tasks.push(TaskRecord {
            id,
            kind,
            segment: records.segment,
            class: class as u32,
            partition: partition as u32,
            nanoseconds,
            predecessors,
        });
        Some(id)
    }

    /// Something ran with nobody else at work.
    pub(super) fn ran_alone(&mut self, nanoseconds: u64) {
        let Some(records) = &self.records else { return };
        let mut before: Vec<u32> = records.last.iter().flatten().copied().collect();
        before.extend(&records.before);
        let id = self.record(TaskKind::Barrier, 0, 0, nanoseconds, before);
        if let Some(records) = &mut self.records {
            records.segment += 1;
            records.before.extend(id);
            records.last.clear();
        }
    }

    /// Every record, by id.
    pub(super) fn into_records(self) -> Vec<TaskRecord> {
        self.records.map_or(Vec::new(), |r| r.tasks)
    }
}
