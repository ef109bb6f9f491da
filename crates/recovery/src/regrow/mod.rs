//! `regrow`: plan, then execute by partition.
//!
//! Paper: the idea is PACMAN's (Wu et al., SIGMOD 2017, §4): slices of procedures run in parallel where
//! nothing flows between them. What is different: the log holds the values that would flow (key-
//! determining values), so that every key of a logged call is known when the log is read, and replay
//! needs no order but that of the pieces on one key.
//!
//! Guarantee: the state after the last durable commit, exactly.
//!
//! 1. The log is read ahead, and cut into *segments* at what needs its place in the order ([`feed`]).
//! 2. *Plan*: the plan program of each call runs on its arguments and logged inputs and emits *pieces*
//!    with all their operands, into queues by class of tables and partition of keys ([`layout`],
//!    [`planner`]). Logged changes of rows go there, too. Plans read only what nobody changes, so all
//!    parts of a segment are planned at once, beside the execution of the segment before.
//! 3. *Execute*: one task per queue sorts its pieces by key, in commit order within a key, and sweeps
//!    over the rows ([`execute`]). Queues touch disjoint rows: no latch is taken but those of the
//!    B+-trees' nodes.
//! 4. Threads take the first task that is ready, from one list ([`schedule`]).
//!
//! A segment whose pieces would take more memory than there is for them (a call that writes one long text into rows over and over)
//! is given up, and replayed call by call.
//!
//! What it does not do: plan calls whose procedures have no plan (they run whole, behind barriers), or
//! divide a table by anything but its primary key.

mod execute;
mod feed;
mod image;
mod kernel;
mod layout;
mod operands;
mod planner;
mod schedule;
mod segment;
mod sort;
mod worker;

use crate::{Options, Progress, Report, Target, World, at};
use feed::{Fed, Feed};
use planaria_base::sync::{Instant, RwLock, thread};
use planaria_base::{CommitTs, Error, Result};
use planaria_log::{Batch, Batches, RawRecord, RecordBody};
use planaria_storage::Header;
use schedule::{Alone, Schedule, Task};
use segment::Segment;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use worker::{Times, Worker};

/// Partitions of a class at most: enough for the threads there are, and for those of a simulation.
const PARTITIONS: usize = 64;

/// Bytes of log that are read at a time, and the first time. Batches that are small are soon done, and their memory serves the
/// next ones.
const BATCH_BYTES: usize = 1 << 20;
const FIRST_BYTES: usize = 256 << 10;

/// Replays `batches`, which hold `bytes_total` bytes of records.
pub fn replay<T: Target>(
    batches: Batches,
    bytes_total: u64,
    options: &Options,
    target: &mut T,
) -> Result<Report> {
    run(batches, bytes_total, options, target, true)
}

/// The engine, with calls planned or all of them run whole.
pub(crate) fn run<T: Target>(
    batches: Batches,
    bytes_total: u64,
    options: &Options,
    target: &mut T,
    plans: bool,
) -> Result<Report> {
    let start = Instant::now();
    let threads = options.threads.max(1);
    let world = target.world();
    let simulated = if options.record_tasks { PARTITIONS / 4 } else { 1 };
    let feed = Feed::new(world.clone(), plans, options.batch, threads)?.parts_for(simulated);
    let batches = batches.of_bytes(FIRST_BYTES, BATCH_BYTES);
    let schedule = Schedule::new(batches, feed, threads, PARTITIONS, options.record_tasks);
    let shared = Shared { schedule, world: RwLock::new(world) };
    let times = thread::scope(|scope| {
        let others: Vec<_> = (1..threads)
            .map(|number| {
                let shared = &shared;
                scope.spawn(move || {
                    let mut worker = Worker::new(number);
                    while step(shared, &mut worker, false, None) {}
                    worker.times
                })
            })
            .collect();
        let mut worker = Worker::new(0);
        let mut main = Main { target, bytes_total };
        while step(&shared, &mut worker, true, Some(&mut |w, alone, id| main.alone(&shared, w, alone, id))) {
            main.progress(&shared.schedule);
        }
        let mut times = vec![worker.times];
        for other in others {
            // A panic of a task is caught where it happens.
            times.extend(other.join().ok());
        }
        times
    });
    let (mut report, last) = shared.schedule.end().map_err(|(ts, error)| at(error, ts))?;
    for Times { load, plan, execute, wait } in times {
        report.load += load;
        report.plan += plan;
        report.execute += execute;
        report.wait += wait;
    }
    if last > CommitTs(0) {
        target.reached(last);
    }
    report.replay = start.elapsed();
    let (transactions, bytes_done) = (report.transactions, bytes_total);
    target.progress(Progress { bytes_done, bytes_total, transactions, planned: transactions });
    Ok(report)
}

/// What the threads share.
struct Shared<H: Header> {
    /// Knows no records.
    schedule: Schedule,
    /// What all segments under way are of: it changes at barriers, when none is.
    world: RwLock<Arc<World<H>>>,
}

/// Takes what is to be done alone, with the target.
type TakeAlone<'f, H> = &'f mut dyn FnMut(&mut Worker<H>, Alone, Option<u32>) -> Result<()>;

/// Does one task; `false` when there are no more.
fn step<H: Header>(
    shared: &Shared<H>,
    worker: &mut Worker<H>,
    main: bool,
    take_alone: Option<TakeAlone<'_, H>>,
) -> bool {
    let schedule = &shared.schedule;
    let waiting = Instant::now();
    let (task, id) = schedule.next(main);
    let began = Instant::now();
    worker.times.wait += began - waiting;
    worker.current = CommitTs(0);
    let outcome = catch_unwind(AssertUnwindSafe(|| match task {
        Task::Stop => Ok(false),
        Task::Read(mut batches) => {
            let batch = batches.next();
            worker.times.load += began.elapsed();
            schedule.read(batches, batch, id);
            Ok(true)
        }
        Task::Compile(routines, procedure) => {
            // An error is kept with the plan, and seen by who asks for it.
            let _ = routines.plan(procedure);
            worker.times.load += began.elapsed();
            schedule.compiled(id);
            Ok(true)
        }
        Task::Feed(mut feed) => {
            let fed = feed.next();
            worker.times.load += began.elapsed();
            schedule.fed(feed, fed?, id);
            Ok(true)
        }
        Task::Plan(segment, part) => {
            let world = shared.world.read().clone();
            planner::plan_part(worker, &world, &segment, &segment.parts[part])?;
            worker.times.plan += began.elapsed();
            schedule.planned(&segment, part, id);
            Ok(true)
        }
        Task::Execute(segment, queues, sorted) => {
            let world = shared.world.read().clone();
            execute::run(worker, &world, &segment, queues.clone(), sorted)
                .inspect_err(|_| worker.give_up(&world.tables))?;
            worker.times.execute += began.elapsed();
            schedule.executed(&segment, queues, id);
            Ok(true)
        }
        Task::Alone(alone) => {
            let take = take_alone.ok_or_else(|| Error::internal("a barrier without its target"))?;
            take(worker, alone, id)?;
            Ok(true)
        }
    }));
    match outcome {
        Ok(Ok(more)) => more,
        Ok(Err(error)) => {
            schedule.fail(worker.current, error);
            false
        }
        Err(_) => {
            schedule.fail(worker.current, Error::internal("the recovery panicked"));
            false
        }
    }
}

/// What only the calling thread does.
struct Main<'t, T> {
    target: &'t mut T,
    bytes_total: u64,
}

impl<T: Target> Main<'_, T> {
    fn progress(&mut self, schedule: &Schedule) {
        let (bytes_done, transactions, planned) = schedule.progress();
        let bytes_total = self.bytes_total;
        self.target.progress(Progress { bytes_done, bytes_total, transactions, planned });
    }

    fn alone(
        &mut self,
        shared: &Shared<T::Header>,
        worker: &mut Worker<T::Header>,
        alone: Alone,
        id: Option<u32>,
    ) -> Result<()> {
        match alone {
            Alone::Barrier(batch, position, feed) => {
                self.barrier(shared, worker, (batch, position, feed), id)
            }
            Alone::Segment(segment) => self.segment(&shared.schedule, worker, &segment, id),
        }
    }

    /// Replays a record as it is. Whether it is a call.
    fn whole(&mut self, worker: &mut Worker<T::Header>, raw: &RawRecord<'_>) -> Result<bool> {
        worker.current = raw.commit_ts();
        match raw.decode()?.body {
            RecordBody::Call(call) => self.target.call(raw.commit_ts(), call).map(|()| true),
            RecordBody::Effects(effects) => self.target.effects(raw.commit_ts(), effects).map(|()| false),
        }
    }

    /// Replays a segment that was given up.
    fn segment(
        &mut self,
        schedule: &Schedule,
        worker: &mut Worker<T::Header>,
        segment: &Segment,
        id: Option<u32>,
    ) -> Result<()> {
        let began = Instant::now();
        for part in &segment.parts {
            for at in part.records.clone() {
                self.whole(worker, &part.batch.get(at))?;
            }
        }
        worker.times.execute += began.elapsed();
        schedule.executed_whole(segment, id);
        Ok(())
    }

    /// Replays a run of barriers.
    fn barrier(
        &mut self,
        shared: &Shared<T::Header>,
        worker: &mut Worker<T::Header>,
        (mut batch, mut position, mut feed): (Arc<Batch>, usize, Box<Feed>),
        mut id: Option<u32>,
    ) -> Result<()> {
        let schedule = &shared.schedule;
        loop {
            let began = Instant::now();
            let raw = batch.get(position);
            let calls = u64::from(self.whole(worker, &raw)?);
            if calls == 0 {
                let world = self.target.world();
                if !Arc::ptr_eq(&world.routines, feed.world().routines()) {
                    feed.enter(world.clone());
                    *shared.world.write() = world;
                }
            }
            worker.times.execute += began.elapsed();
            schedule.passed(1, calls, raw.size() as u64, raw.commit_ts(), id.take(), began);
            self.progress(schedule);
            let began = Instant::now();
            let fed = feed.next()?;
            worker.times.load += began.elapsed();
            match fed {
                Fed::Barrier(next, at) => (batch, position) = (next, at),
                fed => {
                    schedule.fed(feed, fed, None);
                    return Ok(());
                }
            }
        }
    }
}
