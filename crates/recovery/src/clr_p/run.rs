//! The threads: the caller's reads the log, forms batches and works like the others in between.

use super::Mode;
use super::batch::{Batch, Decode, Txn, Work};
use super::graph::{Graph, Procedures};
use super::schedule::{Schedule, Task};
use super::worker::{Ran, Worker};
use crate::record::RECORDED_CORES;
use crate::{Options, Progress, Report, Target, TaskKind, World, at};
use planaria_analysis::paper::schedule::{Load, cores};
use planaria_base::sync::{Condvar, Instant, Mutex, MutexGuard, RwLock, thread};
use planaria_base::{CommitTs, Error, Result};
use planaria_log::{Batch as LogBatch, Batches, Call};
use planaria_storage::Header;
use std::collections::{BTreeSet, VecDeque};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

/// Batches under way at a time.
const LIVE_MAX: usize = 3;

/// What the threads share.
struct Shared<H: Header> {
    state: Mutex<State>,
    /// What all batches under way are of: it changes when none is.
    world: RwLock<Arc<World<H>>>,
    changed: Condvar,
}

struct State {
    schedule: Schedule,
    /// The first error; everybody stops.
    error: Option<Error>,
    /// The threads are to end.
    end: bool,
    phases: Phases,
}

/// Where time went, over all threads.
#[derive(Clone, Copy, Default)]
struct Phases {
    load: Duration,
    plan: Duration,
    execute: Duration,
    wait: Duration,
}

impl Phases {
    fn add(&mut self, kind: TaskKind, took: Duration) {
        match kind {
            TaskKind::Load => self.load += took,
            TaskKind::Plan => self.plan += took,
            TaskKind::Execute | TaskKind::Barrier | TaskKind::Index => self.execute += took,
        }
    }
}

impl<H: Header> Shared<H> {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock()
    }

    fn world(&self) -> Arc<World<H>> {
        self.world.read().clone()
    }

    /// Works until `enough`, or an error; then answers with the state as it is.
    fn work(
        &self,
        worker: &mut Worker<H>,
        mut enough: impl FnMut(&mut State) -> bool,
    ) -> Result<MutexGuard<'_, State>> {
        let mut state = self.lock();
        loop {
            if let Some(error) = &state.error {
                return Err(error.clone());
            }
            if enough(&mut state) {
                return Ok(state);
            }
            let Some(task) = state.schedule.take() else {
                let began = Instant::now();
                self.changed.wait(&mut state);
                state.phases.wait += began.elapsed();
                continue;
            };
            drop(state);
            let began = Instant::now();
            let ran = self.run(worker, &task);
            let took = began.elapsed();
            state = self.lock();
            state.phases.add(task.kind(), took);
            let nanoseconds = took.as_nanos() as u64;
            match (ran, &task) {
                (Ok(Ran::Done), _) => state.schedule.done(&task, nanoseconds),
                (Ok(Ran::Waits), Task::Execute(batch, block, part)) => {
                    state.schedule.waits(batch, *block, *part, nanoseconds);
                }
                (Ok(Ran::Waits), _) => {}
                (Err(error), _) => drop(state.error.get_or_insert(error)),
            }
            self.changed.notify_all();
        }
    }

    fn run(&self, worker: &mut Worker<H>, task: &Task) -> Result<Ran> {
        let world = &self.world();
        match task {
            Task::Decode(decode, chunk) => decode.decode(*chunk)?,
            Task::Prepare(batch, chunk) => worker.prepare(world, batch, *chunk)?,
            Task::Dispatch(batch, block, chunk) => worker.dispatch(world, batch, *block, *chunk)?,
            Task::Execute(batch, block, part) => {
                let mut met = || {
                    if batch.sets[*block].waiting.load(Ordering::SeqCst) > 0 {
                        self.lock().schedule.wake(batch, *block);
                        self.changed.notify_all();
                    }
                };
                return worker.execute(world, batch, *block, *part, &mut met);
            }
        }
        Ok(Ran::Done)
    }
}

/// Ends the other threads, also when the caller's panics.
struct End<'a, H: Header>(&'a Shared<H>);

impl<H: Header> Drop for End<'_, H> {
    fn drop(&mut self) {
        self.0.lock().end = true;
        self.0.changed.notify_all();
    }
}

/// Stops the others when a thread panics.
struct Stop<'a, H: Header>(&'a Shared<H>);

impl<H: Header> Drop for Stop<'_, H> {
    fn drop(&mut self) {
        if thread::panicking() {
            self.0.lock().error.get_or_insert_with(|| Error::internal("a thread of replay panicked"));
            self.0.changed.notify_all();
        }
    }
}

/// See [`super`].
pub(super) fn replay<T: Target>(
    mode: Mode,
    batches: Batches,
    bytes_total: u64,
    options: &Options,
    target: &mut T,
) -> Result<Report> {
    let began = Instant::now();
    let threads = options.threads.max(1);
    let state = State {
        schedule: Schedule::new(mode, options.record_tasks),
        error: None,
        end: false,
        phases: Phases::default(),
    };
    let shared =
        Shared { state: Mutex::new(state), changed: Condvar::new(), world: RwLock::new(target.world()) };
    let mut report = thread::scope(|scope| {
        let shared = &shared;
        let _end = End(shared);
        for number in 1..threads {
            scope.spawn(move || {
                let _stop = Stop(shared);
                // An error is the caller's to report.
                drop(shared.work(&mut Worker::new(number), |state| state.end));
            });
        }
        let procedures = Procedures::new(shared.world(), mode);
        let mut feed = Feed {
            shared,
            worker: Worker::new(0),
            procedures,
            mode,
            cores: if options.record_tasks { threads.max(RECORDED_CORES) } else { threads },
            size: options.batch.max(1),
            batches,
            log: None,
            decoded: VecDeque::new(),
            last_graph: None,
            last: None,
            bytes_total,
            report: Report { threads, ..Report::default() },
        };
        feed.all(target)?;
        if let Some(ts) = feed.last {
            target.reached(ts);
        }
        Ok::<Report, Error>(feed.report)
    })?;
    let state = shared.state.into_inner();
    report.load += state.phases.load;
    report.plan += state.phases.plan;
    report.execute += state.phases.execute;
    report.wait += state.phases.wait;
    report.tasks = state.schedule.into_records();
    report.replay = began.elapsed();
    Ok(report)
}

/// The caller's thread.
struct Feed<'a, H: Header> {
    shared: &'a Shared<H>,
    worker: Worker<H>,
    procedures: Procedures,
    mode: Mode,
    /// Cores that blocks share.
    cores: usize,
    /// Transactions a batch.
    size: usize,
    batches: Batches,
    /// The batch of the log that is being read, and how far.
    log: Option<(Arc<LogBatch>, usize)>,
    decoded: VecDeque<Txn>,
    /// The graph of the last batch: two graphs are not under way at once.
    last_graph: Option<Arc<Graph>>,
    last: Option<CommitTs>,
    bytes_total: u64,
    report: Report,
}

impl<H: Header> Feed<'_, H> {
    fn all<T: Target<Header = H>>(&mut self, target: &mut T) -> Result<()> {
        loop {
            if self.decoded.is_empty() && !self.decode(target)? {
                break;
            }
            let began = Instant::now();
            let (txns, tables) = self.form()?;
            self.report.plan += began.elapsed();
            if txns.is_empty() {
                self.alone(target)?;
                continue;
            }
            let began = Instant::now();
            let Some(graph) = self.procedures.graph(&tables) else {
                txns.into_iter().rev().for_each(|txn| self.decoded.push_front(txn));
                continue;
            };
            self.report.plan += began.elapsed();
            if self.last_graph.as_ref().is_some_and(|last| !Arc::ptr_eq(last, &graph)) {
                self.drain(target)?;
            }
            self.last_graph = Some(graph.clone());
            self.add(txns, graph)?;
            self.wait(target, |state| state.schedule.live() < LIVE_MAX)?;
        }
        self.drain(target)
    }

    /// Reads and decodes the next transactions; `false` at the end of the log.
    fn decode<T: Target<Header = H>>(&mut self, target: &mut T) -> Result<bool> {
        let began = Instant::now();
        while self.log.as_ref().is_none_or(|(log, next)| *next == log.len()) {
            let Some(log) = self.batches.next().transpose()? else { return Ok(false) };
            self.log = Some((Arc::new(log), 0));
        }
        self.report.load += began.elapsed();
        let Some((log, next)) = &mut self.log else { return Ok(false) };
        let to = next.saturating_add(self.size).min(log.len());
        let decode = Arc::new(Decode::new(log.clone(), *next..to));
        *next = to;
        self.shared.lock().schedule.decode(decode.clone());
        self.shared.changed.notify_all();
        self.wait(target, |state| state.schedule.decoded().is_some())?;
        self.decoded.extend(decode.take());
        Ok(true)
    }

    /// The transactions up to the first that runs alone, and the tables they change by value.
    fn form(&mut self) -> Result<(Vec<Txn>, BTreeSet<planaria_base::TableId>)> {
        let mut count = 0;
        let mut tables = BTreeSet::new();
        for txn in &self.decoded {
            let alone = match &txn.work {
                Work::Call { id, keeping, .. } => {
                    self.procedures.learn(*id, *keeping).map_err(|e| at(e, txn.ts))?
                }
                Work::Effects(_) => txn.is_alone(),
            };
            if alone {
                break;
            }
            txn.tables_by_value(&mut tables);
            count += 1;
        }
        Ok((self.decoded.drain(..count).collect(), tables))
    }

    fn add(&mut self, txns: Vec<Txn>, graph: Arc<Graph>) -> Result<()> {
        let (cores_to_share, split) = (self.cores, self.mode.split);
        let parts = |graph: &Graph, counts: &[u64]| {
            let load: Vec<Load> = counts.iter().map(|n| Load { pieces: *n, cost: *n as f64 }).collect();
            let given = cores(&load, cores_to_share);
            let parts = graph.blocks.iter().zip(given);
            parts.map(|(block, cores)| if split && !block.serial { cores.max(1) } else { 1 }).collect()
        };
        let began = Instant::now();
        let batch = Arc::new(Batch::new(graph, txns, parts));
        if batch.sets.is_empty() {
            // No rows were changed, but values may have been drawn from sequences.
            let world = self.shared.world();
            (0..batch.chunks.len()).try_for_each(|chunk| self.worker.prepare(&world, &batch, chunk))?;
        }
        self.report.plan += began.elapsed();
        self.shared.lock().schedule.add(batch);
        self.shared.changed.notify_all();
        Ok(())
    }

    /// Runs the next transaction with nobody else at work.
    fn alone<T: Target<Header = H>>(&mut self, target: &mut T) -> Result<()> {
        self.drain(target)?;
        let Some(txn) = self.decoded.pop_front() else { return Ok(()) };
        let ts = txn.ts;
        let began = Instant::now();
        let is_call = matches!(txn.work, Work::Call { .. });
        match txn.work {
            Work::Call { id, args, inputs, keeping, .. } => {
                target.call(ts, Call { procedure: id, args, inputs, keeping }).map_err(|e| at(e, ts))?;
            }
            Work::Effects(effects) => {
                target.effects(ts, effects).map_err(|e| at(e, ts))?;
                // The schema may have changed.
                let world = target.world();
                self.procedures = Procedures::new(world.clone(), self.mode);
                *self.shared.world.write() = world;
                self.last_graph = None;
            }
        }
        let took = began.elapsed();
        self.report.execute += took;
        self.report.longest_transaction = self.report.longest_transaction.max(took);
        self.report.barriers += 1;
        self.shared.lock().schedule.ran_alone(took.as_nanos() as u64);
        self.count(is_call, txn.bytes, ts);
        Ok(())
    }

    fn drain<T: Target<Header = H>>(&mut self, target: &mut T) -> Result<()> {
        self.wait(target, |state| state.schedule.live() == 0)
    }

    /// Works until `enough`; counts what is finished.
    fn wait<T: Target<Header = H>>(
        &mut self,
        target: &mut T,
        enough: impl FnMut(&mut State) -> bool,
    ) -> Result<()> {
        let finished = self.shared.work(&mut self.worker, enough)?.schedule.finished();
        if finished.is_empty() {
            return Ok(());
        }
        for batch in finished {
            for txn in &batch.txns {
                self.count(matches!(txn.work, Work::Call { .. }), txn.bytes, txn.ts);
            }
        }
        target.progress(Progress {
            bytes_done: self.report.log_bytes,
            bytes_total: self.bytes_total,
            transactions: self.report.transactions,
            planned: self.report.transactions,
        });
        Ok(())
    }

    fn count(&mut self, is_call: bool, bytes: u32, ts: CommitTs) {
        self.report.transactions += 1;
        self.report.calls += u64::from(is_call);
        self.report.log_bytes += u64::from(bytes);
        self.last = self.last.max(Some(ts));
    }
}
