//! What a checkpoint costs: those who work meanwhile, the disk, and a restart from it.
//!
//! Rows are loaded and written, the disk and the memory having been measured first. Then, turn by turn, workers
//! run transactions while one checkpoint after the other is written at full speed, and while one is spread over the
//! whole time; before, between and after, none is, so that each is compared with what was right before and right
//! after it: a database that grows gets slower by itself. A call counts when it is on disk. In the end the
//! database is closed and opened again, several times.

use crate::machine::Machine;
use crate::recovery::Watch;
use hdrhistogram::Histogram;
use planaria::{CheckpointReport, Database, Durability, Error, Options, Result, SqlState, Ticket};
use planaria_workload::Suite;
use serde::Serialize;
use std::collections::VecDeque;
use std::fs::File;
use std::io::Write;
use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

/// The experiment.
pub struct Checkpoints<'a> {
    /// The workload.
    pub suite: &'a Suite,
    /// Its size, in the workload's unit.
    pub size: u64,
    /// Length of each part of a turn in which no checkpoint is spread.
    pub part: Duration,
    /// What a checkpoint is spread over.
    pub spread: Duration,
    /// What is written while transactions run, in turn.
    pub writing: &'a [Writing],
    /// Turns.
    pub turns: usize,
    /// Workers.
    pub workers: usize,
    /// Calls a worker has on the way to the disk.
    pub in_flight: usize,
    /// Threads that write and load.
    pub threads: usize,
    /// Seed of the inputs.
    pub seed: u64,
}

/// What is written while transactions run.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Writing {
    /// No checkpoint.
    None,
    /// One after the other, at full speed.
    FullSpeed,
    /// One, spread over the part.
    Spread,
}

/// What the machine can do at best, with as many threads as write and load.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Yardsticks {
    /// Bytes a second, written to files one after the other, and synced.
    pub disk_write: f64,
    /// Bytes a second, copied in memory.
    pub memory_copy: f64,
}

/// A checkpoint with nobody else at work; medians of the turns.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Written {
    /// Rows.
    pub rows: u64,
    /// Bytes of the rows.
    pub raw_bytes: u64,
    /// Bytes on disk.
    pub bytes: u64,
    /// Seconds.
    pub seconds: f64,
}

/// Transactions while something is written; medians of the turns.
#[derive(Clone, Debug, Serialize)]
pub struct Phase {
    /// What.
    pub writing: Writing,
    /// Transactions a second.
    pub txn_per_s: f64,
    /// The same, of that right before and right after it without a checkpoint.
    pub of_none: f64,
    /// Latency until on disk, in microseconds.
    pub p50_us: f64,
    /// The same.
    pub p99_us: f64,
    /// Most bytes that old versions of rows took.
    pub old_version_bytes: u64,
    /// Checkpoints written in all turns.
    pub checkpoints: usize,
}

/// Opening the database; medians of the turns.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Restart {
    /// Seconds, all of it.
    pub seconds: f64,
    /// Of these, loading the checkpoint.
    pub load_seconds: f64,
    /// Reading and replaying the log.
    pub replay_seconds: f64,
    /// Rows loaded.
    pub rows: u64,
    /// Bytes of them on disk.
    pub bytes: u64,
    /// Bytes of log.
    pub log_bytes: u64,
    /// Transactions replayed.
    pub transactions: u64,
}

/// What came of it.
#[derive(Clone, Debug, Serialize)]
pub struct Outcome {
    /// Where it was measured.
    pub machine: Machine,
    /// What that can do.
    pub yardsticks: Yardsticks,
    /// Bytes of rows and indexes in memory.
    pub memory_bytes: u64,
    /// Seconds that loading the workload took.
    pub install_seconds: f64,
    /// Writing a checkpoint.
    pub written: Written,
    /// Transactions meanwhile.
    pub parts: Vec<Phase>,
    /// Opening again.
    pub restart: Restart,
}

/// Bytes for the yardsticks.
const YARDSTICK_BYTES: usize = 256 << 20;
/// A file is synced after so many, as a checkpoint's are.
const SYNC_BYTES: usize = 4 << 20;
/// Before a part is measured.
const SETTLE: Duration = Duration::from_millis(500);
/// How often the old versions are looked at.
const LOOK: Duration = Duration::from_millis(50);
/// Old versions that may be left of a checkpoint when its part ends: forgetting them is part of what it costs.
const OLD_BYTES_LEFT: u64 = 1 << 20;
/// How long that is waited for: others may read snapshots.
const FORGET: Duration = Duration::from_secs(20);

impl Checkpoints<'_> {
    /// Runs it in a new directory under `dir`, which is removed again.
    pub fn run(&self, dir: &Path, watch: &dyn Watch) -> Result<Outcome> {
        let place = tempfile::tempdir_in(dir).map_err(io)?;
        watch.step("measuring disk and memory", 0);
        let yardsticks = yardsticks(place.path(), self.threads)?;
        let place = place.path().join("database");
        let open = || -> Result<(Database, f64)> {
            let start = Instant::now();
            let options = Options::new().durability(Durability::Fsync).recovery_threads(self.threads);
            Ok((options.open(&place)?, start.elapsed().as_secs_f64()))
        };
        let (mut db, _) = open()?;
        watch.step(&format!("loading {} {}", self.size, self.suite.unit), 0);
        let start = Instant::now();
        self.suite.install_parallel(&db, self.size, self.workers, &|done, _| watch.at(done as u64))?;
        let install_seconds = start.elapsed().as_secs_f64();
        let memory = db.stats().memory;
        let memory_bytes = memory.row_bytes + memory.index_bytes;
        watch.step("writing checkpoints", self.turns as u64);
        let reports: Vec<CheckpointReport> =
            (0..self.turns).map(|_| db.checkpoint()).collect::<Result<_>>()?;
        let written = Written {
            rows: reports[0].rows,
            raw_bytes: reports[0].raw_bytes,
            bytes: reports[0].bytes,
            seconds: median(reports.iter().map(|r| r.took.as_secs_f64())),
        };
        let parts = self.work(&db, watch)?;
        let digests = db.digests()?;
        let mut restarts = Vec::new();
        for turn in 0..self.turns {
            watch.step(&format!("restart {}", turn + 1), 0);
            db.close()?;
            let seconds;
            (db, seconds) = open()?;
            let report = db.recovery().unwrap_or_default();
            let load = report.checkpoint.as_ref().map_or(0.0, |c| c.took.as_secs_f64());
            restarts.push((seconds, load, report));
        }
        if db.digests()? != digests {
            return Err(Error::new(SqlState::DATA_CORRUPTED, "after the restart the rows are other ones"));
        }
        let (_, _, last) = &restarts[0];
        let restart = Restart {
            seconds: median(restarts.iter().map(|(seconds, ..)| *seconds)),
            load_seconds: median(restarts.iter().map(|(_, load, _)| *load)),
            replay_seconds: median(restarts.iter().map(|(.., r)| r.replay.as_secs_f64())),
            rows: last.checkpoint.as_ref().map_or(0, |c| c.rows),
            bytes: last.checkpoint.as_ref().map_or(0, |c| c.bytes),
            log_bytes: last.log_bytes,
            transactions: last.transactions,
        };
        let machine = Machine::this();
        Ok(Outcome { machine, yardsticks, memory_bytes, install_seconds, written, parts, restart })
    }

    /// All turns, with the same workers throughout.
    fn work(&self, db: &Database, watch: &dyn Watch) -> Result<Vec<Phase>> {
        let bench = Bench { part: AtomicUsize::new(NOT_MEASURED), stop: AtomicBool::new(false) };
        let turn = self.writing.iter().flat_map(|writing| [Writing::None, *writing]);
        let plan: Vec<Writing> =
            std::iter::repeat_n(turn, self.turns).flatten().chain([Writing::None]).collect();
        let latencies: Vec<Mutex<Histogram<u64>>> = plan.iter().map(|_| histogram()).collect();
        let mut done: Vec<Done> = Vec::new();
        std::thread::scope(|scope| {
            let (bench, latencies) = (&bench, &latencies[..]);
            let workers: Vec<_> = (0..self.workers)
                .map(|i| scope.spawn(move || self.worker(db, bench, latencies, i)))
                .collect();
            let mut outcome = Ok(());
            for (at, writing) in plan.iter().enumerate() {
                watch.step(&format!("part {} of {}, checkpoint: {writing:?}", at + 1, plan.len()), 0);
                std::thread::sleep(SETTLE);
                bench.part.store(at, Ordering::SeqCst);
                let part = self.part(db, *writing);
                bench.part.store(NOT_MEASURED, Ordering::SeqCst);
                match part {
                    Ok(part) => done.push(part),
                    Err(error) => {
                        outcome = Err(error);
                        break;
                    }
                }
            }
            bench.stop.store(true, Ordering::SeqCst);
            let panicked = || Err(Error::new(SqlState::INTERNAL_ERROR, "a worker panicked"));
            workers.into_iter().try_for_each(|w| w.join().unwrap_or_else(|_| panicked()))?;
            outcome
        })?;
        let latencies: Vec<Histogram<u64>> =
            latencies.into_iter().map(|h| h.into_inner().unwrap_or_else(|e| e.into_inner())).collect();
        let rate = |at: usize| latencies[at].len() as f64 / done[at].seconds;
        let part = |writing: Writing| {
            let all = || (0..plan.len()).filter(|at| plan[*at] == writing);
            // Every second part is without one, the first and the last among them.
            let beside = |at: usize| (rate(at - 1) + rate(at + 1)) / 2.0;
            let of_none = |at: usize| if writing == Writing::None { 1.0 } else { rate(at) / beside(at) };
            let quantile = |q| median(all().map(|at| latencies[at].value_at_quantile(q) as f64 / 1e3));
            Phase {
                writing,
                txn_per_s: median(all().map(rate)),
                of_none: median(all().map(of_none)),
                p50_us: quantile(0.5),
                p99_us: quantile(0.99),
                old_version_bytes: all().map(|at| done[at].old_bytes).max().unwrap_or(0),
                checkpoints: all().map(|at| done[at].checkpoints).sum(),
            }
        };
        Ok([Writing::None].iter().chain(self.writing).map(|writing| part(*writing)).collect())
    }

    /// One part of a turn.
    fn part(&self, db: &Database, writing: Writing) -> Result<Done> {
        let start = Instant::now();
        let (written, old_bytes) = (AtomicBool::new(false), AtomicU64::new(0));
        let look = || {
            let bytes = db.stats().memory.old_version_bytes;
            old_bytes.fetch_max(bytes, Ordering::Relaxed);
            std::thread::sleep(LOOK);
            bytes
        };
        let checkpoints = std::thread::scope(|scope| {
            let writer = scope.spawn(|| {
                let outcome = self.write(db, writing);
                written.store(true, Ordering::SeqCst);
                outcome
            });
            while !written.load(Ordering::SeqCst) || writing == Writing::None && start.elapsed() < self.part {
                look();
            }
            let panicked = || Err(Error::new(SqlState::INTERNAL_ERROR, "a checkpoint panicked"));
            writer.join().unwrap_or_else(|_| panicked())
        })?;
        let forgetting = Instant::now();
        while checkpoints > 0 && look() > OLD_BYTES_LEFT && forgetting.elapsed() < FORGET {}
        let seconds = start.elapsed().as_secs_f64();
        Ok(Done { seconds, checkpoints, old_bytes: old_bytes.into_inner() })
    }

    /// Writes checkpoints for the length of a part; returns how many.
    fn write(&self, db: &Database, writing: Writing) -> Result<usize> {
        let (start, mut written) = (Instant::now(), 0);
        match writing {
            Writing::None => {}
            Writing::Spread => {
                db.checkpoint_over(self.spread)?;
                written = 1;
            }
            Writing::FullSpeed => {
                while written == 0 || start.elapsed() < self.part.mul_f64(0.9) {
                    db.checkpoint()?;
                    written += 1;
                }
            }
        }
        Ok(written)
    }

    fn worker(
        &self,
        db: &Database,
        bench: &Bench,
        latencies: &[Mutex<Histogram<u64>>],
        worker: usize,
    ) -> Result<()> {
        let mut session = db.session()?;
        let seed = self.seed.wrapping_mul(1000) + worker as u64;
        let mut driver = self.suite.driver(&mut session, self.size, seed)?;
        let mut on_the_way: VecDeque<(Instant, Ticket)> = VecDeque::new();
        let (mut part, mut mine) =
            (NOT_MEASURED, histogram().into_inner().unwrap_or_else(|e| e.into_inner()));
        loop {
            let stop = bench.stop.load(Ordering::SeqCst);
            let now = bench.part.load(Ordering::SeqCst);
            if now != part {
                if let Some(all) = latencies.get(part) {
                    let mut all = all.lock().unwrap_or_else(|e| e.into_inner());
                    all.add(&mine).map_err(|e| Error::new(SqlState::INTERNAL_ERROR, e.to_string()))?;
                }
                mine.reset();
                part = now;
            }
            // After the last part has been added.
            if stop {
                return Ok(());
            }
            let start = Instant::now();
            // What is refused, such as an order of an unknown item, counts: it was answered.
            if let Ok(submitted) = driver.next(&mut session).1 {
                on_the_way.push_back((start, submitted.ticket));
            }
            while let Some((start, ticket)) = on_the_way.front() {
                if on_the_way.len() > self.in_flight {
                    ticket.wait()?;
                } else if !ticket.is_durable() {
                    break;
                }
                mine.saturating_record(start.elapsed().as_nanos() as u64);
                on_the_way.pop_front();
            }
        }
    }
}

/// A part of a turn.
struct Done {
    seconds: f64,
    checkpoints: usize,
    /// Most bytes that old versions took.
    old_bytes: u64,
}

/// What workers are told: the part that is being measured.
struct Bench {
    part: AtomicUsize,
    stop: AtomicBool,
}

const NOT_MEASURED: usize = usize::MAX;

fn histogram() -> Mutex<Histogram<u64>> {
    Mutex::new(Histogram::new_with_bounds(1, 60_000_000_000, 2).expect("the bounds are in order"))
}

/// Of an odd number the one in the middle.
fn median(values: impl Iterator<Item = f64>) -> f64 {
    let mut values: Vec<f64> = values.collect();
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or(0.0)
}

fn io(error: std::io::Error) -> Error {
    Error::new(SqlState::IO_ERROR, error.to_string())
}

fn yardsticks(dir: &Path, threads: usize) -> Result<Yardsticks> {
    let share = YARDSTICK_BYTES / threads.max(1);
    // What compresses and what does not is the same to a disk, mostly; zeros may not be.
    let bytes: Vec<u8> =
        (0..share as u64).map(|i| (i.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 56) as u8).collect();
    let write = |thread: usize| -> std::io::Result<()> {
        let path = dir.join(format!("yardstick-{thread}"));
        let mut file = File::create(&path)?;
        for chunk in bytes.chunks(SYNC_BYTES) {
            file.write_all(chunk)?;
            file.sync_data()?;
        }
        std::fs::remove_file(&path)
    };
    let disk = in_parallel(threads, &write).map_err(io)?;
    let copy = |_| {
        let mut to = vec![0u8; share];
        // The second copy finds the pages in place.
        for _ in 0..2 {
            to.copy_from_slice(std::hint::black_box(&bytes));
            std::hint::black_box(&mut to);
        }
        Ok(())
    };
    let memory = in_parallel(threads, &copy).map_err(io)?;
    let total = (share * threads.max(1)) as f64;
    Ok(Yardsticks { disk_write: total / disk, memory_copy: 2.0 * total / memory })
}

/// Seconds that all threads took together.
fn in_parallel(threads: usize, f: &(dyn Fn(usize) -> std::io::Result<()> + Sync)) -> std::io::Result<f64> {
    let start = Instant::now();
    std::thread::scope(|scope| {
        let all: Vec<_> = (0..threads.max(1)).map(|i| scope.spawn(move || f(i))).collect();
        let panicked = || Err(std::io::Error::other("a thread panicked"));
        all.into_iter().try_for_each(|t| t.join().unwrap_or_else(|_| panicked()))
    })?;
    Ok(start.elapsed().as_secs_f64())
}
