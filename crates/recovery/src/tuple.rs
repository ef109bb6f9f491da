//! What the tuple-level schemes share: how a log is cut into runs of row changes, and what replays a run.
//!
//! ```text
//!  log    call  rows rows rows  SCHEMA  rows rows rows rows rows ...    rows   call
//!  run          '--- run 1 ---'         '-- window --'-- window -...--- run 2 '
//! ```
//!
//! 1. A thread of its own reads the log, a batch ahead.
//! 2. Calls, changes of the schema, `TRUNCATE` and `setval` are *barriers*: the engine replays them, in
//!    their place, with nobody else at work. What lies between two of them is a run. A run with fewer
//!    transactions than threads are worth is replayed by the engine as well.
//! 3. A run is replayed window by window, [`Options::batch`] transactions at a time, by all threads. How
//!    is what the schemes differ in: [`by_key`] (rows found in the primary index) or [`by_location`]
//!    (rows found in a translation table), each window *backwards* (threads take chunks of transactions
//!    from its end on; the last writer of a row wins, by commit timestamp) or *in order* (each thread
//!    replays the transactions of some rows, in commit order: needed where a change says only what is
//!    different).
//! 4. Indexes that a run left alone are brought in line at its end ([`entries`]): old entries of all
//!    rows go before new ones come, since unique keys wander between rows. The work is proportional to
//!    the rows that the run changed, however short it is.
//!
//! Within a transaction rows go before rows come, so an insert wins over a delete of the same key.

mod by_key;
mod by_location;
mod entries;
mod keys;
mod shape;
mod shards;
mod threads;
mod undo;

use crate::record::Recorder;
use crate::{Options, Progress, Report, Target, World, at};
use by_key::ByKey;
use by_location::ByLocation;
use planaria_base::sync::{Instant, channel, thread};
use planaria_base::{CommitTs, Error, Result, SqlState, TableId};
use planaria_log::{Batch, Batches, ChangeBuf, Effect, RawEffect, RecordBody};
use planaria_storage::reclaim::{Lasting, Participant};
use planaria_storage::{Header, KeyBuf, Table};
use shape::Shape;
use std::ops::Range;
use std::time::Duration;
use threads::Team;

pub(crate) use undo::inverse;

/// Fewer transactions than this between two barriers are not worth starting threads for.
const RUN_MIN: usize = 32;
/// Batches read ahead.
const AHEAD: usize = 1;

/// What makes a scheme.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Style {
    /// PLR.
    Physical,
    /// LLR.
    Logical,
    /// ARIES.
    Physiological,
}

/// How a window is replayed.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Mode {
    /// By location, backwards.
    Location,
    /// By key, backwards.
    Backwards,
    /// By key, each row's changes in order.
    InOrder,
}

/// A run under way.
enum Run<'w, H: Header> {
    Key(ByKey<'w, H>),
    Location(ByLocation<'w, H>),
}

/// Why a run ended.
enum Stop {
    /// These records are the engine's.
    Engine(Range<usize>),
    /// There is no more.
    End,
}

/// A worker's own things.
struct Worker {
    number: usize,
    key: KeyBuf,
    image: Vec<u64>,
    buf: ChangeBuf,
}

impl Worker {
    fn new(number: usize) -> Worker {
        Worker { number, key: KeyBuf::new(), image: Vec::new(), buf: ChangeBuf::default() }
    }
}

/// The batch at work, and where in it.
struct Source {
    batches: channel::Receiver<(Result<Batch>, Duration)>,
    batch: Option<(Batch, Vec<Shape>)>,
    at: usize,
}

/// Replays `batches` in the style of a scheme.
pub(crate) fn replay<T: Target>(
    mut batches: Batches,
    bytes_total: u64,
    options: &Options,
    target: &mut T,
    style: Style,
) -> Result<Report> {
    let start = Instant::now();
    let threads = options.threads.max(1);
    let mut report = Report { threads, ..Report::default() };
    let recorder = Recorder::new(options.record_tasks);
    let team = Team { threads, recorder: &recorder };
    thread::scope(|scope| {
        let (sender, receiver) = channel::bounded(AHEAD);
        scope.spawn(move || {
            loop {
                let began = Instant::now();
                let Some(batch) = batches.next() else { return };
                if sender.send((batch, began.elapsed())).is_err() {
                    return;
                }
            }
        });
        let source = Source { batches: receiver, batch: None, at: 0 };
        Driver { source, options, team, bytes_total, style, report: &mut report }.run(target)
    })?;
    report.tasks = recorder.into_tasks();
    report.replay = start.elapsed();
    let (bytes_done, transactions) = (bytes_total, report.transactions);
    target.progress(Progress { bytes_done, bytes_total, transactions, planned: transactions });
    Ok(report)
}

struct Driver<'a> {
    source: Source,
    options: &'a Options,
    team: Team<'a>,
    bytes_total: u64,
    style: Style,
    report: &'a mut Report,
}

impl Driver<'_> {
    fn run<T: Target>(&mut self, target: &mut T) -> Result<()> {
        let mut world = target.world();
        let mut participant = Participant::new();
        loop {
            let stop = {
                let guard = participant.guard();
                let mut last = None;
                let stop = self.until_barrier(&world, guard.pinned().lasting(), target, &mut last)?;
                if let Some(last) = last {
                    target.reached(last);
                }
                stop
            };
            let Stop::Engine(records) = stop else { return Ok(()) };
            if self.by_engine(records, target)? {
                world = target.world();
            }
        }
    }

    /// Replays everything up to what the engine has to replay. Sets `last` to the newest transaction.
    fn until_barrier<T: Target>(
        &mut self,
        world: &World<T::Header>,
        lasting: Lasting<'_>,
        target: &mut T,
        last: &mut Option<CommitTs>,
    ) -> Result<Stop> {
        let mut run: Option<Run<'_, T::Header>> = None;
        let mut log_run = 0;
        let stop = loop {
            if !self.load()? {
                break Stop::End;
            }
            let Some((batch, shapes)) = &self.source.batch else { break Stop::End };
            let from = self.source.at;
            if shapes[from].is_barrier() {
                break Stop::Engine(from..from + 1);
            }
            let rest = &shapes[from..];
            let rows = rest.iter().take_while(|s| !s.is_barrier()).count();
            let serial =
                self.style == Style::Physiological && self.team.threads == 1 && !self.options.record_tasks;
            if run.is_none() && (serial || rows < RUN_MIN.min(self.options.batch)) {
                break Stop::Engine(from..from + rows);
            }
            let window = from..from + rows.min(self.options.batch.max(1));
            let mode = self.mode(&shapes[window.clone()]);
            // Locations mean nothing in another run of the database.
            let fits = match &run {
                Some(Run::Location(_)) => mode == Mode::Location && log_run == batch.run(),
                Some(Run::Key(_)) => mode != Mode::Location,
                None => true,
            };
            if !fits && let Some(run) = run.take() {
                finish(run, self.team, self.report, target)?;
            }
            log_run = batch.run();
            let team = self.team;
            let run = run.get_or_insert_with(|| match mode {
                Mode::Location => Run::Location(ByLocation::new(world, lasting)),
                Mode::Backwards | Mode::InOrder => Run::Key(ByKey::new(world, lasting)),
            });
            let began = Instant::now();
            let times = match (&*run, mode) {
                (Run::Location(run), _) => {
                    team.backwards(batch, window.clone(), |w, pin, ts, effect| run.change(w, pin, ts, effect))
                }
                (Run::Key(run), Mode::InOrder) => {
                    team.in_order(batch, window.clone(), world, |w, pin, ts, effect| {
                        run.change(w, pin, ts, effect)
                    })
                }
                (Run::Key(run), _) => {
                    team.backwards(batch, window.clone(), |w, pin, ts, effect| run.change(w, pin, ts, effect))
                }
            }?;
            self.report.plan += times.plan;
            self.report.execute += times.execute;
            let whole = began.elapsed() * self.team.threads as u32;
            self.report.wait += whole.saturating_sub(times.plan + times.execute);
            *last = Some(batch.get(window.end - 1).commit_ts());
            self.report.log_bytes += window.clone().map(|i| batch.get(i).size() as u64).sum::<u64>();
            self.report.transactions += window.len() as u64;
            self.source.at = window.end;
            self.progress(target);
        };
        if let Some(run) = run {
            finish(run, self.team, self.report, target)?;
        }
        Ok(stop)
    }

    fn mode(&self, window: &[Shape]) -> Mode {
        let all = window.iter().fold(Shape::EMPTY, |all, shape| all.union(*shape));
        match self.style {
            _ if all.has_patches() => Mode::InOrder,
            Style::Physiological => Mode::InOrder,
            Style::Physical if all.is_located() => Mode::Location,
            Style::Physical | Style::Logical => Mode::Backwards,
        }
    }

    /// Makes sure that there is a record to go on with; `false` at the end of the log.
    fn load(&mut self) -> Result<bool> {
        while self.source.batch.as_ref().is_none_or(|(batch, _)| self.source.at == batch.len()) {
            let began = Instant::now();
            let Ok((batch, took)) = self.source.batches.recv() else { return Ok(false) };
            self.report.wait += began.elapsed() * self.team.threads as u32;
            self.report.load += took;
            self.team.recorder.loaded(took, AHEAD);
            let batch = batch?;
            let began = Instant::now();
            let shapes = self.team.shapes(&batch)?;
            self.report.plan += began.elapsed() * self.team.threads as u32;
            self.source.batch = Some((batch, shapes));
            self.source.at = 0;
        }
        Ok(true)
    }

    /// Has the engine replay some records of the batch; whether the schema may have changed.
    fn by_engine<T: Target>(&mut self, records: Range<usize>, target: &mut T) -> Result<bool> {
        let Some((batch, _)) = &self.source.batch else { return Ok(false) };
        let mut changed = false;
        let executed = self.report.execute;
        for i in records.clone() {
            let raw = batch.get(i);
            let record = raw.decode()?;
            let began = Instant::now();
            let ts = record.commit_ts;
            match record.body {
                RecordBody::Call(call) => {
                    self.report.calls += 1;
                    target.call(ts, call).map_err(|e| at(e, ts))?;
                }
                RecordBody::Effects(effects) => {
                    changed |= effects
                        .iter()
                        .any(|e| matches!(e, Effect::Schema(_) | Effect::Truncate { .. } | Effect::Part));
                    target.effects(ts, effects).map_err(|e| at(e, ts))?;
                }
            }
            let took = began.elapsed();
            self.report.execute += took;
            self.report.wait += took * (self.team.threads as u32 - 1);
            self.report.longest_transaction = self.report.longest_transaction.max(took);
            self.report.log_bytes += raw.size() as u64;
        }
        self.team.recorder.alone(self.report.execute - executed);
        self.report.transactions += records.len() as u64;
        self.report.barriers += records.len() as u64;
        self.source.at = records.end;
        self.progress(target);
        Ok(changed)
    }

    fn progress<T: Target>(&self, target: &mut T) {
        let (bytes_done, transactions) = (self.report.log_bytes, self.report.transactions);
        let bytes_total = self.bytes_total;
        target.progress(Progress { bytes_done, bytes_total, transactions, planned: transactions });
    }
}

fn finish<T: Target>(
    run: Run<'_, T::Header>,
    team: Team<'_>,
    report: &mut Report,
    target: &mut T,
) -> Result<()> {
    let began = Instant::now();
    let tell = &mut |entries, total| target.indexing(entries, total);
    match run {
        Run::Key(run) => run.finish(team, tell),
        Run::Location(run) => run.finish(team, tell),
    }?;
    report.index += began.elapsed() * team.threads as u32;
    Ok(())
}

/// A table that the log knows.
fn table<H: Header>(world: &World<H>, id: TableId) -> Result<&Table<H>> {
    let missing = || damaged(format!("the log changes a row of table {id}, which does not exist"));
    world.tables.try_get(id).map(|table| &**table).ok_or_else(missing)
}

/// The table whose row an effect changes. Where a sequence came to is seen to here.
fn table_of<'w, H: Header>(world: &'w World<H>, effect: &RawEffect<'_>) -> Result<Option<&'w Table<H>>> {
    if let Some((sequence, place)) = effect.place() {
        world.routines.observe_sequence(sequence, place);
    }
    effect.table().map(|id| table(world, id)).transpose()
}

/// XX001: the log does not fit the database it is replayed into.
#[cold]
fn damaged(what: String) -> Error {
    Error::new(SqlState::DATA_CORRUPTED, what)
}

/// When a row was written: commit timestamps in order, and within a transaction what comes after what
/// goes.
fn stamp(ts: CommitTs, comes: bool) -> u64 {
    ts.0 << 1 | u64::from(comes)
}
