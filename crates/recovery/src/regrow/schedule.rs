//! Who does what when.
//!
//! All tasks stand in one list, `read 0, feed 0, plan 0, feed 1, plan 1, execute 0, feed 2, plan 2, execute 1, ..`, in
//! which every task stands behind those it needs; a thread takes the first one that is *ready* (waiting
//! at the head of the list would cost half the speed-up on many cores), and sleeps if none is.
//!
//! * *Read* reads the next batch of the log, ahead of the feed.
//! * *Compile* makes the plan of a procedure, where the feed has found several that are new.
//! * *Feed* cuts the next segment off it; at most three segments are under way.
//! * *Plan* (segment, part): beside the execution of the segment before, unless the plans read what
//!   that changes.
//! * *Execute* (segment, queue): when the segment is planned, and the same queue of the segment before
//!   is done: all its queues, if the classes were divided anew meanwhile.
//! * *Barrier*: when nothing is under way; by the thread that has the target.
//! * *Alone* (segment): the calls and effects of a segment that was given up, in their order, instead of its execution; by the
//!   same thread, when nobody plans.
//!
//! The list exists only as far as it can matter: the segments under way, each with the state of its
//! tasks, behind one lock. Tasks take tens of microseconds and more, so nobody waits for it long: a segment
//! has its ready queues at hand, and a queue that is done tells those that wait for it.

use super::feed::{Fed, Feed};
use super::layout::SortKey;
use super::segment::{Chunk, Known, Segment};
use crate::record::thread_nanoseconds;
use crate::{Report, Routines, TaskKind, TaskRecord};
use planaria_base::sync::{Condvar, Instant, Mutex, MutexGuard};
use planaria_base::{CommitTs, Error, ProcedureId, Result};
use planaria_log::{Batch, Batches};
use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// Segments under way: one being executed, one being planned, one waiting. A thread alone gains nothing by
/// planning ahead, and touches more memory.
fn ahead_max(threads: usize) -> usize {
    if threads == 1 { 1 } else { 3 }
}

/// Bytes of log that are read ahead of the feed. A thread alone reads what is wanted.
fn read_ahead(threads: usize) -> u64 {
    if threads == 1 { 0 } else { 2 << 20 }
}

/// Samples by which the first segment of a layout is divided at least: of fewer pieces a thread is soon done.
const SAMPLES_MIN: usize = 64;

/// State of an execute task.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Status {
    Waiting,
    Running,
    Done,
    /// Done with the first queue of its class.
    Merged,
}

/// A segment and what was done of it. Queues that are executed together are known by the first of them.
struct UnderWay {
    segment: Arc<Segment>,
    plans_given: usize,
    plans_done: usize,
    /// Pieces by queue.
    sizes: Vec<usize>,
    queues: Vec<Status>,
    /// Queues that those with pieces wait for, by queue; they are counted anew where the segment before changes.
    missing: Vec<u32>,
    /// Queues with pieces that wait for none, by size.
    ready: BinaryHeap<(usize, Reverse<u32>)>,
    left: usize,
    records: Recorded,
}

impl UnderWay {
    fn is_planned(&self) -> bool {
        self.plans_done == self.segment.parts.len()
    }
    fn is_done(&self) -> bool {
        self.is_planned() && self.left == 0
    }
    /// To be replayed call by call.
    fn is_alone(&self) -> bool {
        self.is_planned() && self.segment.is_given_up()
    }
}

/// Ids of a segment's tasks, where they are recorded.
#[derive(Default)]
struct Recorded {
    feed: Option<u32>,
    plans: Vec<u32>,
    queues: Vec<Option<u32>>,
}

impl Recorded {
    fn executed(&self) -> impl Iterator<Item = u32> + '_ {
        self.queues.iter().flatten().copied()
    }
}

/// A task for a worker.
pub(super) enum Task {
    Compile(Arc<dyn Routines>, ProcedureId),
    Read(Box<Batches>),
    Feed(Box<Feed>),
    Plan(Arc<Segment>, usize),
    /// The queues, and whether pieces of different keys may change places.
    Execute(Arc<Segment>, Range<usize>, bool),
    Alone(Alone),
    /// There is no more.
    Stop,
}

/// A task for the thread that has the target, when nobody else is at work.
pub(super) enum Alone {
    /// With the feed, so that runs of barriers need no lock.
    Barrier(Arc<Batch>, usize, Box<Feed>),
    /// Was given up.
    Segment(Arc<Segment>),
}

struct State {
    /// Whether tasks are recorded.
    record: bool,
    /// `None` while a thread is reading, and once all is read.
    batches: Option<Box<Batches>>,
    /// What was read and is not fed yet, its bytes, and whether it is the rest.
    read: VecDeque<Result<Arc<Batch>>>,
    read_bytes: u64,
    read_all: bool,
    /// Procedures whose plans the feed waits for, and how many of them are not made yet.
    compile: Vec<(Arc<dyn Routines>, ProcedureId)>,
    compiling: usize,
    compiles: Vec<u32>,
    /// `None` while a thread is feeding.
    feed: Option<Box<Feed>>,
    ended: bool,
    barrier: Option<(Arc<Batch>, usize)>,
    under_way: VecDeque<UnderWay>,
    /// Chunks to be used again.
    spare: Vec<Chunk>,
    /// The same of what was handed over.
    spare_handed: Vec<Chunk>,
    samples: Vec<Vec<SortKey>>,
    /// What the samples are of; `None`: nothing.
    samples_of: Option<u32>,
    /// The same, and how many there were, when classes were divided last.
    divided_by: (Option<u32>, usize),
    failure: Option<(CommitTs, Error)>,
    report: Report,
    /// Transactions planned or passed.
    planned: u64,
    so_far: Known,
    last: CommitTs,
    /// Of the segment before the oldest one under way.
    before: Recorded,
    last_read: Option<u32>,
    last_feed: Option<u32>,
    last_barrier: Option<u32>,
}

/// See the module's head.
pub(super) struct Schedule {
    state: Mutex<State>,
    changed: Condvar,
    partitions: usize,
}

impl Schedule {
    pub(super) fn new(
        batches: Batches,
        feed: Feed,
        threads: usize,
        partitions: usize,
        record: bool,
    ) -> Schedule {
        Schedule {
            state: Mutex::new(State {
                record,
                batches: Some(Box::new(batches)),
                read: VecDeque::new(),
                read_bytes: 0,
                read_all: false,
                compile: Vec::new(),
                compiling: 0,
                compiles: Vec::new(),
                feed: Some(Box::new(feed)),
                ended: false,
                barrier: None,
                under_way: VecDeque::new(),
                spare: Vec::new(),
                spare_handed: Vec::new(),
                samples: Vec::new(),
                samples_of: None,
                divided_by: (None, 0),
                failure: None,
                report: Report { threads, ..Report::default() },
                planned: 0,
                so_far: Known::default(),
                last: CommitTs(0),
                before: Recorded::default(),
                last_read: None,
                last_feed: None,
                last_barrier: None,
            }),
            changed: Condvar::new(),
            partitions,
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock()
    }

    /// The first task that is ready, waiting for one if need be. `main`: the caller has the target.
    pub(super) fn next(&self, main: bool) -> (Task, Option<u32>) {
        let mut state = self.lock();
        loop {
            if let Some((task, record)) = state.ready(main, self.partitions) {
                let id = record.map(|record| state.add_record(record));
                // Others may find one, too.
                return (task, id);
            }
            self.changed.wait(&mut state);
        }
    }

    /// Something went wrong: all threads stop. The earliest transaction's error is kept.
    pub(super) fn fail(&self, commit_ts: CommitTs, error: Error) {
        let mut state = self.lock();
        if state.failure.as_ref().is_none_or(|(first, _)| commit_ts < *first) {
            state.failure = Some((commit_ts, error));
        }
        self.changed.notify_all();
    }

    /// What was read.
    pub(super) fn read(&self, batches: Box<Batches>, batch: Option<Result<Batch>>, id: Option<u32>) {
        let mut state = self.lock();
        state.finish_record(id);
        if id.is_some() {
            state.last_read = id;
        }
        // After an error there are no more.
        state.read_all = !matches!(batch, Some(Ok(_)));
        if !state.read_all {
            state.batches = Some(batches);
        }
        state.read_bytes += batch.iter().flatten().map(|batch| batch.bytes() as u64).sum::<u64>();
        state.read.extend(batch.map(|batch| batch.map(Arc::new)));
        self.changed.notify_all();
    }

    /// A plan was made.
    pub(super) fn compiled(&self, id: Option<u32>) {
        let mut state = self.lock();
        state.finish_record(id);
        state.compiles.extend(id);
        state.compiling -= 1;
        if state.compiling == 0 {
            self.changed.notify_all();
        }
    }

    /// A feed task came to this.
    pub(super) fn fed(&self, feed: Box<Feed>, fed: Fed, id: Option<u32>) {
        let mut state = self.lock();
        state.feed = Some(feed);
        state.finish_record(id);
        if id.is_some() {
            state.last_feed = id;
        }
        match fed {
            Fed::Wants => {}
            Fed::Compile(routines, procedures) => {
                state.compiling = procedures.len();
                // The last one is taken first.
                state.compile.extend(procedures.into_iter().rev().map(|id| (routines.clone(), id)));
            }
            Fed::End => state.ended = true,
            Fed::Barrier(batch, at) => state.barrier = Some((batch, at)),
            Fed::Segment(segment) => {
                for part in &segment.parts {
                    if let Some(chunk) = state.spare.pop() {
                        *part.chunk.write() = chunk;
                    }
                }
                for class in segment.layout.classes.iter().filter(|c| c.gives) {
                    for slot in &segment.handed[class.first_queue..][..class.partitions()] {
                        if let Some(mut chunk) = state.spare_handed.pop() {
                            // A queue without pieces is not executed, and hands over nothing.
                            chunk.begin(0);
                            *slot.write() = chunk;
                        }
                    }
                }
                let records = Recorded { feed: id, ..Recorded::default() };
                let mut under_way = UnderWay {
                    plans_given: 0,
                    plans_done: 0,
                    sizes: Vec::new(),
                    queues: Vec::new(),
                    missing: Vec::new(),
                    ready: BinaryHeap::new(),
                    left: 0,
                    segment,
                    records,
                };
                under_way.begin_queues(state.record);
                state.under_way.push_back(under_way);
            }
        }
        self.changed.notify_all();
    }

    /// A part is planned.
    pub(super) fn planned(&self, segment: &Segment, part: usize, id: Option<u32>) {
        let mut samples = Vec::new();
        let mut chunk = segment.parts[part].chunk.write();
        let (pieces, operands) = (chunk.pieces.len() as u64, chunk.operands.len() as u64);
        let size = |queue| chunk.in_queues(queue..queue + 1).len();
        let sizes: Vec<_> = (0..segment.layout.queues.len()).map(size).collect();
        if segment.layout.samples {
            samples.extend(chunk.samples[..segment.layout.classes.len()].iter_mut().map(std::mem::take));
        }
        drop(chunk);
        let mut state = self.lock();
        let transactions = segment.parts[part].records.len() as u64;
        state.planned += transactions;
        state.so_far.transactions += transactions;
        state.so_far.pieces += pieces;
        state.so_far.operands += operands;
        if state.samples_of == Some(segment.base) {
            let classes = samples.len().max(state.samples.len());
            state.samples.resize_with(classes, Vec::new);
            for (all, new) in state.samples.iter_mut().zip(&mut samples) {
                all.append(new);
            }
        } else if segment.layout.samples {
            (state.samples, state.samples_of) = (samples, Some(segment.base));
        }
        let Some(at) = state.under_way.iter().position(|u| u.segment.id == segment.id) else {
            return state.finish_record(id);
        };
        let under_way = &mut state.under_way[at];
        under_way.sizes.iter_mut().zip(sizes).for_each(|(all, new)| *all += new);
        under_way.plans_done += 1;
        let is_planned = under_way.is_planned();
        if is_planned && !segment.is_given_up() {
            state.divide_first(at, self.partitions);
        }
        state.finish_record(id);
        if is_planned {
            state.under_way[at].start_execution();
            state.count_missing(at);
            state.count_missing(at + 1);
            state.retire();
            self.changed.notify_all();
        }
    }

    /// A task that executed these queues is done.
    pub(super) fn executed(&self, segment: &Segment, queues: Range<usize>, id: Option<u32>) {
        let mut samples = Vec::new();
        if segment.layout.samples {
            let mut chunk = segment.handed[queues.start].write();
            samples.extend(chunk.samples.iter_mut().map(std::mem::take));
        }
        let mut state = self.lock();
        state.finish_record(id);
        if state.samples_of == Some(segment.base) {
            for (all, new) in state.samples.iter_mut().zip(&mut samples) {
                all.append(new);
            }
        }
        let Some(at) = state.under_way.iter().position(|u| u.segment.id == segment.id) else { return };
        state.done(at, queues);
        state.retire();
        self.changed.notify_all();
    }

    /// A segment that was given up is replayed.
    pub(super) fn executed_whole(&self, segment: &Segment, id: Option<u32>) {
        let mut state = self.lock();
        state.finish_record(id);
        state.last_barrier = id;
        state.report.barriers += segment.transactions;
        if let Some(under_way) = state.under_way.front_mut() {
            under_way.left = 0;
            under_way.queues.fill(Status::Done);
            under_way.records.queues.fill(id);
        }
        state.count_missing(1);
        state.retire();
        self.changed.notify_all();
    }

    /// `count` transactions of `bytes` were replayed behind barriers, of them `calls` calls.
    pub(super) fn passed(
        &self,
        count: u64,
        calls: u64,
        bytes: u64,
        last: CommitTs,
        id: Option<u32>,
        began: Instant,
    ) {
        let mut state = self.lock();
        state.finish_record(id);
        state.last_barrier = id;
        state.before = Recorded::default();
        state.planned += count;
        state.last = last;
        let report = &mut state.report;
        report.transactions += count;
        report.barriers += count;
        report.calls += calls;
        report.log_bytes += bytes;
        report.longest_transaction = report.longest_transaction.max(began.elapsed());
    }

    /// Bytes and transactions done, transactions planned.
    pub(super) fn progress(&self) -> (u64, u64, u64) {
        let state = self.lock();
        (state.report.log_bytes, state.report.transactions, state.planned)
    }

    /// What came of it, once every thread has stopped.
    pub(super) fn end(self) -> Result<(Report, CommitTs), (CommitTs, Error)> {
        let state = self.state.into_inner();
        match state.failure {
            Some(failure) => Err(failure),
            None => Ok((state.report, state.last)),
        }
    }
}

impl UnderWay {
    /// Nothing is known of its queues.
    fn begin_queues(&mut self, record: bool) {
        let queues = self.segment.layout.queues.len();
        self.sizes = vec![0; queues];
        self.queues = vec![Status::Waiting; queues];
        self.records.queues = vec![None; if record { queues } else { 0 }];
    }

    /// All parts are planned: which queues are to be executed, in which order.
    fn start_execution(&mut self) {
        if self.segment.is_given_up() {
            // Those of the next segment wait for every one of them, as if it were executed.
            self.left = 1;
            return;
        }
        let layout = self.segment.layout.clone();
        // What will be handed over is not known yet; if any, it may go to any queue of the class.
        for (to, class) in layout.classes.iter().enumerate() {
            let queues = |class: usize| {
                let class = &layout.classes[class];
                class.first_queue..class.first_queue + class.partitions()
            };
            if class.takes.iter().any(|from| self.sizes[queues(*from)].iter().any(|size| *size > 0)) {
                self.sizes[queues(to)].iter_mut().for_each(|size| *size = (*size).max(1));
            }
        }
        for (class, whole) in layout.classes.iter().zip(&self.segment.whole) {
            let range = class.first_queue..class.first_queue + class.partitions();
            if whole.load(Ordering::Relaxed) && range.len() > 1 {
                self.sizes[range.start] = self.sizes[range.clone()].iter().sum();
                for queue in range.skip(1) {
                    self.sizes[queue] = 0;
                    self.queues[queue] = Status::Merged;
                }
            }
        }
        for (size, status) in self.sizes.iter().zip(&mut self.queues) {
            match (*size, *status) {
                (0, Status::Waiting) => *status = Status::Done,
                (0, _) => {}
                _ => self.left += 1,
            }
        }
    }

    /// Counts what each queue waits for. `before`: the segment before this one, if it is not done.
    fn count_missing(&mut self, before: Option<&UnderWay>) {
        let layout = self.segment.layout.clone();
        let same = before.is_none_or(|before| Arc::ptr_eq(&before.segment.layout, &layout));
        let mut missing = vec![0; self.queues.len()];
        for (number, class) in layout.classes.iter().enumerate() {
            let undone = |queues: &[Status], queue: usize| u32::from(queues[queue] != Status::Done);
            let givers = self.segment.givers(number).map(|giver| undone(&self.queues, giver)).sum::<u32>();
            for queue in class.first_queue..class.first_queue + class.partitions() {
                missing[queue] += givers;
                missing[self.leader(queue)] += match before {
                    // A queue that is done with its class's first one is done when that is.
                    Some(before) if same => undone(&before.queues, queue),
                    Some(_) => u32::from(queue == self.leader(queue)),
                    None => 0,
                };
            }
        }
        self.missing = missing;
        self.ready.clear();
        if self.segment.is_given_up() {
            return;
        }
        for queue in 0..self.queues.len() {
            self.offer(queue);
        }
    }

    /// A queue that waits for nothing is ready, if there is something in it.
    fn offer(&mut self, queue: usize) {
        if self.queues[queue] == Status::Waiting && self.missing[queue] == 0 {
            self.ready.push((self.sizes[queue], Reverse(queue as u32)));
        }
    }

    /// A queue that this one waits for is done.
    fn one_less(&mut self, queue: usize) {
        self.missing[queue] -= 1;
        self.offer(queue);
    }

    /// The first of the queues that are executed with this one.
    fn leader(&self, queue: usize) -> usize {
        self.range(queue).start
    }
}

impl State {
    /// The first task that is ready, and its record.
    fn ready(&mut self, main: bool, partitions: usize) -> Option<(Task, Option<TaskRecord>)> {
        if self.failure.is_some() {
            return Some((Task::Stop, None));
        }
        if let Some(fed) = self.ready_feed(partitions) {
            return Some(fed);
        }
        if let Some(read) = self.ready_read() {
            return Some(read);
        }
        if let Some((routines, procedure)) = self.compile.pop() {
            let mut record = self.record(TaskKind::Load, 0, 0, 0);
            if let Some(record) = &mut record {
                record.predecessors.extend(self.last_feed);
            }
            return Some((Task::Compile(routines, procedure), record));
        }
        if self.under_way.front().is_some_and(UnderWay::is_alone) {
            // Nothing is planned meanwhile, and all others wait for what it changes.
            return self.ready_alone(main);
        }
        if let Some(plan) = self.ready_plan() {
            return Some(plan);
        }
        if let Some(execute) = self.ready_execute() {
            return Some(execute);
        }
        if !self.under_way.is_empty() || self.feed.is_none() {
            return None;
        }
        if main && let Some((batch, at)) = self.barrier.take() {
            let feed = self.feed.take()?;
            let mut record = self.record(TaskKind::Barrier, 0, 0, 0);
            if let Some(record) = &mut record {
                let before = self.before.executed();
                record.predecessors.extend(before.chain(self.last_barrier).chain(self.last_feed));
            }
            return Some((Task::Alone(Alone::Barrier(batch, at, feed)), record));
        }
        (self.ended && self.barrier.is_none()).then_some((Task::Stop, None))
    }

    fn ready_feed(&mut self, partitions: usize) -> Option<(Task, Option<TaskRecord>)> {
        if self.ended || self.barrier.is_some() || self.under_way.len() >= ahead_max(self.report.threads) {
            return None;
        }
        let feed = self.feed.as_ref()?;
        let sampled = self.samples_of.is_some() && self.samples_of == feed.samples_wanted();
        // Samples of what is handed over come with the execution.
        let hands = feed.layout().classes.iter().any(|c| c.gives);
        let planned = self.under_way.iter().all(|u| if hands { u.is_done() } else { u.is_planned() });
        if feed.wants_samples() && !self.under_way.is_empty() && !(sampled && planned) {
            return None;
        }
        if self.compiling > 0 || !self.read_all && self.read_bytes < feed.lacks() {
            return None;
        }
        let mut feed = self.feed.take()?;
        feed.take(self.read.drain(..), self.read_all);
        self.read_bytes = 0;
        feed.expect(self.so_far);
        let waited = sampled && planned;
        // The same samples give the same division, behind which all would wait for nothing.
        if waited && self.divided_by != self.sampled() {
            feed.divide(&mut self.samples, partitions);
            self.divided_by = self.sampled();
        }
        let mut record = self.record(TaskKind::Load, 0, 0, 0);
        if let Some(record) = &mut record {
            let before = [self.last_read, self.last_feed, self.last_barrier];
            record.predecessors.extend(before.into_iter().flatten().chain(self.compiles.drain(..)));
            if waited {
                record.predecessors.extend(self.under_way.iter().flat_map(|u| &u.records.plans));
            }
        }
        Some((Task::Feed(feed), record))
    }

    /// What there are samples of, and how many.
    fn sampled(&self) -> (Option<u32>, usize) {
        (self.samples_of, self.samples.iter().map(Vec::len).sum())
    }

    /// The first segment of a layout is planned, and none of it is executed: its own samples say how the classes are divided.
    /// Undivided they would be executed by a few threads, while all others wait.
    fn divide_first(&mut self, at: usize, partitions: usize) {
        let now = self.sampled();
        let under_way = &mut self.under_way[at];
        let segment = &under_way.segment;
        let sampled = now.0 == Some(segment.base) && now.1 >= SAMPLES_MIN;
        let Some(feed) = self
            .feed
            .as_mut()
            .filter(|feed| sampled && feed.wants_samples() && Arc::ptr_eq(feed.layout(), &segment.layout))
        else {
            return;
        };
        // What pieces hand over is of classes of which there are no samples yet: the feed waits for them.
        let layout = match segment.layout.classes.iter().any(|c| c.gives) {
            true => Arc::new(segment.layout.divided(&mut self.samples, partitions, false)),
            false => {
                self.divided_by = now;
                feed.divide(&mut self.samples, partitions).clone()
            }
        };
        under_way.segment = Arc::new(segment.divided(layout));
        under_way.begin_queues(self.record);
        for part in &under_way.segment.parts {
            let chunk = part.chunk.read();
            for (queue, size) in under_way.sizes.iter_mut().enumerate() {
                *size += chunk.in_queues(queue..queue + 1).len();
            }
        }
    }

    fn ready_read(&mut self) -> Option<(Task, Option<TaskRecord>)> {
        let wanted = self.feed.as_ref().map_or(0, |feed| feed.lacks());
        let at_hand = self.feed.as_ref().map_or(0, |feed| feed.at_hand()) + self.read_bytes;
        if self.ended || self.read_bytes >= wanted && at_hand >= read_ahead(self.report.threads) {
            return None;
        }
        let batches = self.batches.take()?;
        let mut record = self.record(TaskKind::Load, 0, 0, 0);
        if let Some(record) = &mut record {
            record.predecessors.extend(self.last_read);
        }
        Some((Task::Read(batches), record))
    }

    fn ready_plan(&mut self) -> Option<(Task, Option<TaskRecord>)> {
        for at in 0..self.under_way.len().min(2) {
            let under_way = &self.under_way[at];
            if under_way.plans_given == under_way.segment.parts.len() || (at > 0 && under_way.segment.waits) {
                continue;
            }
            let part = under_way.plans_given;
            let segment = under_way.segment.clone();
            let mut record = self.record(TaskKind::Plan, segment.id, 0, part as u32);
            if let Some(record) = &mut record {
                let feed = self.under_way[at].records.feed;
                record.predecessors.extend(feed.into_iter().chain(self.last_barrier));
                if segment.waits {
                    record.predecessors.extend(self.before.executed());
                }
            }
            self.under_way[at].plans_given += 1;
            return Some((Task::Plan(segment, part), record));
        }
        None
    }

    fn ready_alone(&mut self, main: bool) -> Option<(Task, Option<TaskRecord>)> {
        if !main || self.under_way.iter().any(|u| u.plans_given > u.plans_done) {
            return None;
        }
        let under_way = self.under_way.front()?;
        let mut record = self.record(TaskKind::Barrier, under_way.segment.id, 0, 0);
        if let Some(record) = &mut record {
            record.predecessors.extend(self.before.executed().chain(self.last_barrier));
            record.predecessors.extend(&under_way.records.plans);
        }
        Some((Task::Alone(Alone::Segment(under_way.segment.clone())), record))
    }

    fn ready_execute(&mut self) -> Option<(Task, Option<TaskRecord>)> {
        for at in 0..self.under_way.len().min(2) {
            let under_way = &mut self.under_way[at];
            if !under_way.is_planned() {
                return None;
            }
            let Some((_, Reverse(queue))) = under_way.ready.pop() else { continue };
            let (segment, range) = (under_way.segment.clone(), under_way.range(queue as usize));
            under_way.queues[range.start] = Status::Running;
            let class = segment.layout.class_of(range.start);
            let info = &segment.layout.classes[class];
            let sorted = info.prefix > 0 && !segment.whole[class].load(Ordering::Relaxed);
            let partition = range.start - info.first_queue;
            let mut record = self.record(TaskKind::Execute, segment.id, class as u32, partition as u32);
            if let Some(record) = &mut record {
                let under_way = &self.under_way[at];
                record.predecessors.extend(&under_way.records.plans);
                let givers = under_way.segment.givers(class);
                record.predecessors.extend(givers.filter_map(|queue| under_way.records.queues[queue]));
                let before = match at {
                    0 => &self.before,
                    _ => &self.under_way[at - 1].records,
                };
                // Whether the classes were divided anew is not remembered; same queues, same division.
                let same = before.queues.len() == segment.layout.queues.len();
                let needed = if same { range.clone() } else { 0..before.queues.len() };
                record.predecessors.extend(before.queues[needed].iter().flatten());
            }
            return Some((Task::Execute(segment, range, sorted), record));
        }
        None
    }

    /// Counts what the queues of a segment wait for, once it is planned.
    fn count_missing(&mut self, at: usize) {
        if let Some((before, [under_way, ..])) = self.under_way.make_contiguous().split_at_mut_checked(at)
            && under_way.is_planned()
        {
            under_way.count_missing(before.last());
        }
    }

    /// These queues, which were executed together, are done: others may have waited for them.
    fn done(&mut self, at: usize, queues: Range<usize>) {
        let under_way = &mut self.under_way[at];
        under_way.queues[queues.clone()].fill(Status::Done);
        under_way.left -= 1;
        let segment = under_way.segment.clone();
        let class = segment.layout.class_of(queues.start);
        if segment.layout.classes[class].gives {
            for to in segment.layout.classes.iter().filter(|to| to.takes.contains(&class)) {
                (to.first_queue..to.first_queue + to.partitions())
                    .for_each(|queue| under_way.one_less(queue));
            }
        }
        let Some(next) = self.under_way.get_mut(at + 1) else { return };
        if next.is_planned() && Arc::ptr_eq(&segment.layout, &next.segment.layout) {
            for queue in queues {
                next.one_less(next.leader(queue));
            }
        }
    }

    /// Lets go of segments that are done.
    fn retire(&mut self) {
        while let Some(done) = self.under_way.pop_front_if(|u| u.is_done()) {
            let segment = &done.segment;
            for part in &segment.parts {
                self.spare.push(std::mem::take(&mut part.chunk.write()));
            }
            for class in segment.layout.classes.iter().filter(|c| c.gives) {
                for slot in &segment.handed[class.first_queue..][..class.partitions()] {
                    self.spare_handed.push(std::mem::take(&mut slot.write()));
                }
            }
            self.report.transactions += segment.transactions;
            self.report.calls += segment.calls;
            self.report.log_bytes += segment.bytes;
            self.last = segment.last;
            self.before = done.records;
            // Where the classes were divided anew, all waited for all.
            if self.under_way.front().is_some_and(|next| !Arc::ptr_eq(&next.segment.layout, &segment.layout))
            {
                self.count_missing(0);
            }
        }
    }

    /// `None` where tasks are not recorded.
    fn record(&self, kind: TaskKind, segment: u32, class: u32, partition: u32) -> Option<TaskRecord> {
        let predecessors = Vec::new();
        self.record.then_some(TaskRecord {
            id: 0,
            kind,
            segment,
            class,
            partition,
            nanoseconds: 0,
            predecessors,
        })
    }

    fn add_record(&mut self, mut record: TaskRecord) -> u32 {
        let id = self.report.tasks.len() as u32;
        record.id = id;
        record.nanoseconds = thread_nanoseconds();
        if let Some(under_way) = self.under_way.iter_mut().find(|u| u.segment.id == record.segment) {
            match record.kind {
                TaskKind::Plan => under_way.records.plans.push(id),
                TaskKind::Execute => {
                    let first = under_way.segment.layout.classes[record.class as usize].first_queue;
                    under_way.records.queues[first + record.partition as usize] = Some(id);
                }
                TaskKind::Load | TaskKind::Barrier | TaskKind::Index => {}
            }
        }
        self.report.tasks.push(record);
        id
    }

    /// By the thread that took the task.
    fn finish_record(&mut self, id: Option<u32>) {
        if let Some(id) = id {
            let task = &mut self.report.tasks[id as usize];
            task.nanoseconds = thread_nanoseconds().saturating_sub(task.nanoseconds);
        }
    }
}

impl UnderWay {
    /// The queues that are executed with this one.
    fn range(&self, queue: usize) -> Range<usize> {
        let classes = &self.segment.layout.classes;
        let class = self.segment.layout.class_of(queue);
        if self.segment.whole[class].load(Ordering::Relaxed) {
            classes[class].first_queue..classes[class].first_queue + classes[class].partitions()
        } else {
            queue..queue + 1
        }
    }
}
