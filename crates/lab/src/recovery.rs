//! Recovery schemes compared (PACMAN §6.2): one workload, one crash, every scheme.
//!
//! 1. A base database is loaded in memory; nothing of that is logged.
//! 2. For each kind of log that a scheme reads: a copy of the base runs the same transactions, logs
//!    them, and crashes: what is recovered from is a copy of its directory, made while it still runs.
//! 3. In turn, so that the machine's moods hit all alike (A B C, A B C, ...): each scheme with each
//!    number of threads recovers on a fresh copy of the base. The log is in the page cache: opening
//!    it reads and checks all of it before the clock starts.
//! 4. Every recovered database has the digests of the one that crashed, table by table, and in the
//!    first turn its indexes and the workload's conditions are checked; else the experiment fails.
//!
//! Medians are reported. Not measured: loading a checkpoint, reading from a slow disk.

use crate::forward::{Job, Ran};
use crate::machine::Machine;
use planaria::Options;
use planaria::lab::{LabDatabase, LabOptions, TaskRecord};
use planaria::{
    Database, Durability, Error, LogKind, RecoveryPhases, RecoveryReport, Result, Scheme, SqlState,
};
use planaria_workload::Suite;
use serde::Serialize;
use std::path::Path;
use std::time::{Duration, Instant};

pub use crate::forward::Length;

/// What to compare.
#[derive(Clone)]
pub struct Experiment<'a> {
    /// The workload.
    pub suite: &'a Suite,
    /// Its size, in the suite's unit.
    pub size: u64,
    /// How long it runs.
    pub length: Length,
    /// Workers of the run.
    pub workers: usize,
    /// The schemes.
    pub schemes: Vec<Scheme>,
    /// The kinds of log each scheme reads; without, the one that each is made for.
    pub kinds: Option<Vec<LogKind>>,
    /// Numbers of threads that recover.
    pub threads: Vec<usize>,
    /// Turns.
    pub repeat: usize,
    /// Share of ad hoc transactions, of a hundred (PACMAN §4.5).
    pub ad_hoc: f64,
    /// Transactions a batch of replay; without, the scheme's choice.
    pub batch: Option<usize>,
    /// Durability of the run.
    pub durability: Durability,
    /// Seed of the inputs.
    pub seed: u64,
    /// Whether the last turn records the tasks of each recovery.
    pub record_tasks: bool,
}

/// The kind of log a scheme is made for (PACMAN §6.2, table 1; ICDE 2014 §VI for ARIES).
pub fn log_of(scheme: Scheme) -> LogKind {
    match scheme.name() {
        "plr" => LogKind::Physical,
        "llr" | "llr-p" => LogKind::Logical,
        "aries" => LogKind::Physiological,
        _ => LogKind::Command,
    }
}

/// How far the experiment is, for people.
pub trait Watch: Sync {
    /// A new step begins; `total` is what [`Watch::at`] will count up to, 0 if that is not known.
    fn step(&self, what: &str, total: u64);
    /// So much is done.
    fn at(&self, done: u64);
}

/// What came of it.
#[derive(Clone, Debug, Serialize)]
pub struct Outcome {
    /// What it was measured on.
    pub machine: Machine,
    /// What ran.
    pub workload: Workload,
    /// The run that wrote the command log, or the first one.
    pub run: Run,
    /// Every run, one a kind of log.
    pub runs: Vec<Run>,
    /// One a scheme, kind of log and number of threads.
    pub results: Vec<Measured>,
}

/// What ran.
#[derive(Clone, Debug, Serialize)]
pub struct Workload {
    /// Name of the suite.
    pub name: String,
    /// Its size.
    pub size: u64,
    /// What the size counts.
    pub unit: String,
    /// Rows before the run.
    pub rows: u64,
    /// Bytes of rows and indexes before the run.
    pub bytes: u64,
    /// Seconds it took to load them.
    pub load_seconds: f64,
    /// Workers.
    pub workers: usize,
    /// Share of ad hoc transactions, of a hundred.
    pub ad_hoc: f64,
    /// Seed of the inputs.
    pub seed: u64,
}

/// A run that wrote a log.
#[derive(Clone, Debug, Serialize)]
pub struct Run {
    /// What was logged.
    pub log: String,
    /// fsync or async.
    pub durability: String,
    /// Transactions answered, those included that read only or were refused.
    pub transactions: u64,
    /// Of these, refused or not serialized.
    pub failed: u64,
    /// Transactions in the log.
    pub logged: u64,
    /// Bytes of log records.
    pub log_bytes: u64,
    /// Bytes a logged transaction.
    pub log_bytes_per_txn: f64,
    /// Until all was on disk.
    pub seconds: f64,
    /// Transactions answered a second.
    pub txn_per_s: f64,
    /// Transactions logged a second: what replay is to be compared with.
    pub logged_per_s: f64,
    /// Of the rows it ended with.
    pub digest: String,
}

/// A scheme on a kind of log with a number of threads.
#[derive(Clone, Debug, Serialize)]
pub struct Measured {
    /// The scheme.
    pub scheme: &'static str,
    /// The log it read.
    pub log: String,
    /// Threads it used.
    pub threads: usize,
    /// Transactions replayed a second: the median of the turns.
    pub txn_per_s: f64,
    /// The slowest and the fastest turn.
    pub txn_per_s_range: (f64, f64),
    /// Bytes of log a transaction.
    pub log_bytes_per_txn: f64,
    /// Times the rate of CLR on a command log; none if that was not measured.
    pub speedup_over_clr: Option<f64>,
    /// Times the rate at which the run wrote this log.
    pub times_run_rate: f64,
    /// Transactions replayed with nobody else at work.
    pub barriers: u64,
    /// Seconds of replay: the turn with the median rate.
    pub seconds: f64,
    /// Seconds of that turn by phase, summed over the threads (PACMAN, figure 20).
    pub phases: Phases,
    /// Of the rows it ended with.
    pub digest: String,
    /// Whether those are the rows before the crash.
    pub digest_ok: bool,
    /// What was wrong, if anything was.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub wrong: Vec<String>,
    /// The tasks of the last turn.
    #[serde(skip)]
    pub tasks: Vec<TaskRecord>,
}

/// Seconds by phase, summed over threads.
#[derive(Clone, Copy, Debug, Default, Serialize)]
pub struct Phases {
    /// Reading and decoding the log.
    pub load: f64,
    /// Working out what is to be done, and in which order.
    pub plan: f64,
    /// Putting it into the tables.
    pub execute: f64,
    /// Waiting for work that was not ready.
    pub wait: f64,
    /// Building indexes, where that is a phase of its own.
    pub index: f64,
}

impl From<&RecoveryPhases> for Phases {
    fn from(p: &RecoveryPhases) -> Phases {
        let s = Duration::as_secs_f64;
        Phases {
            load: s(&p.load),
            plan: s(&p.plan),
            execute: s(&p.execute),
            wait: s(&p.wait),
            index: s(&p.index),
        }
    }
}

type Digests = Vec<(String, u128)>;

/// The rows that every run begins with.
pub struct Base {
    db: Database,
    load_seconds: f64,
}

/// A log and what it must lead to.
struct Log {
    kind: LogKind,
    dir: tempfile::TempDir,
    run: Run,
    digests: Digests,
}

/// One row of the results in the making.
struct Cell {
    scheme: Scheme,
    /// Place in the list of logs.
    log: usize,
    /// Threads it recovers with.
    threads: usize,
    turns: Vec<RecoveryReport>,
    digest: String,
    wrong: Vec<String>,
}

impl Experiment<'_> {
    /// Runs it with its logs in a new directory under `dir`, which is removed again. The error is one
    /// of setting up; what is wrong with a recovery stands in its row (see [`Outcome::wrong`]).
    pub fn run(&self, dir: &Path, watch: &dyn Watch) -> Result<Outcome> {
        // Before the work: a directory that cannot be used is an error at once.
        let place = Experiment::place(dir)?;
        let base = self.load(watch)?;
        self.run_in(place.path(), &base, watch)
    }

    /// The same on a base that was loaded before, for an experiment of the same suite and size.
    pub fn run_on(&self, base: &Base, dir: &Path, watch: &dyn Watch) -> Result<Outcome> {
        self.run_in(Experiment::place(dir)?.path(), base, watch)
    }

    fn place(dir: &Path) -> Result<tempfile::TempDir> {
        tempfile::tempdir_in(dir).map_err(|e| Error::file("make logs in directory", dir, e))
    }

    fn run_in(&self, place: &Path, base: &Base, watch: &dyn Watch) -> Result<Outcome> {
        let workload = self.workload(base);
        let base = &base.db;
        let pairs = self.pairs();
        let mut logs: Vec<Log> = Vec::new();
        for &(_, kind) in &pairs {
            if logs.iter().all(|log| log.kind != kind) {
                logs.push(self.make_log(base, kind, place, watch)?);
            }
        }
        let mut cells: Vec<Cell> = Vec::new();
        for &(scheme, kind) in &pairs {
            let log = logs.iter().position(|log| log.kind == kind).expect("made above");
            let mut threads = self.threads.clone();
            if scheme.is_serial() {
                threads = vec![1];
            }
            cells.extend(threads.into_iter().map(|threads| Cell {
                scheme,
                log,
                threads,
                turns: Vec::new(),
                digest: String::new(),
                wrong: Vec::new(),
            }));
        }
        for turn in 0..self.repeat.max(1) {
            for cell in cells.iter_mut().filter(|cell| cell.wrong.is_empty()) {
                self.recover(base, &logs[cell.log], cell, turn, watch)?;
            }
        }
        let mut results: Vec<Measured> = cells.into_iter().map(|cell| measured(cell, &logs)).collect();
        let clr = results.iter().find(|r| r.scheme == "clr" && r.log == LogKind::Command.to_string());
        let clr = clr.map(|r| r.txn_per_s).filter(|rate| *rate > 0.0);
        for result in &mut results {
            result.speedup_over_clr = clr.map(|clr| result.txn_per_s / clr);
        }
        let runs: Vec<Run> = logs.into_iter().map(|log| log.run).collect();
        let command = runs.iter().find(|r| r.log == LogKind::Command.to_string());
        let run = command.or(runs.first()).cloned();
        let run = run.ok_or_else(|| Error::new(SqlState::INVALID_PARAMETER_VALUE, "no scheme to measure"))?;
        Ok(Outcome { machine: Machine::this(), workload, run, runs, results })
    }

    /// Schemes with the kinds of log they read, in the order asked for.
    fn pairs(&self) -> Vec<(Scheme, LogKind)> {
        let kinds = |scheme| self.kinds.clone().unwrap_or_else(|| vec![log_of(scheme)]);
        self.schemes.iter().flat_map(|&s| kinds(s).into_iter().map(move |k| (s, k))).collect()
    }

    /// Loads the rows that every run begins with.
    pub fn load(&self, watch: &dyn Watch) -> Result<Base> {
        watch.step(&format!("loading {} {}", self.size, self.suite.unit), 0);
        let db = Database::in_memory()?;
        let start = Instant::now();
        let threads = std::thread::available_parallelism().map_or(1, |n| n.get());
        self.suite.install_parallel(&db, self.size, threads, &|done, _| watch.at(done as u64))?;
        Ok(Base { db, load_seconds: start.elapsed().as_secs_f64() })
    }

    fn workload(&self, base: &Base) -> Workload {
        let memory = base.db.stats().memory;
        Workload {
            name: self.suite.name.to_string(),
            size: self.size,
            unit: self.suite.unit.to_string(),
            rows: memory.rows,
            bytes: memory.row_bytes + memory.index_bytes,
            load_seconds: base.load_seconds,
            workers: self.workers,
            ad_hoc: self.ad_hoc,
            seed: self.seed,
        }
    }

    /// Runs the workload on a copy of the base and crashes it.
    fn make_log(&self, base: &Database, kind: LogKind, dir: &Path, watch: &dyn Watch) -> Result<Log> {
        watch.step(&format!("copying the rows for the run with a {kind} log"), 0);
        let (running, crashed) = (tempfile::tempdir_in(dir)?, tempfile::tempdir_in(dir)?);
        let db = base.open_on_copy(running.path(), Options::new().log(kind).durability(self.durability))?;
        let total = match self.length {
            Length::Transactions(n) => n,
            Length::Time(_) => 0,
        };
        watch.step(
            &format!("running {} with a {kind} log on {} workers", self.suite.name, self.workers),
            total,
        );
        let job = Job {
            suite: self.suite,
            size: self.size,
            length: self.length,
            workers: self.workers,
            ad_hoc: self.ad_hoc,
            seed: self.seed,
        };
        let Ran { transactions, failed, seconds } = job.run(&db, &|done| watch.at(done))?;
        watch.step("taking the digests before the crash", 0);
        let digests = db.digests()?;
        let stats = db.stats();
        copy_files(running.path(), crashed.path())?;
        drop(db);
        let run = Run {
            log: kind.to_string(),
            durability: self.durability.to_string(),
            transactions,
            failed,
            logged: stats.log_records,
            log_bytes: stats.log_bytes,
            log_bytes_per_txn: stats.log_bytes as f64 / stats.log_records.max(1) as f64,
            seconds,
            txn_per_s: transactions as f64 / seconds,
            logged_per_s: stats.log_records as f64 / seconds,
            digest: combined(&digests),
        };
        Ok(Log { kind, dir: crashed, run, digests })
    }

    /// One recovery; what is wrong with it is written into the cell.
    fn recover(
        &self,
        base: &Database,
        log: &Log,
        cell: &mut Cell,
        turn: usize,
        watch: &dyn Watch,
    ) -> Result<()> {
        let what = format!(
            "turn {} of {}: {} with {} thread{} from the {} log",
            turn + 1,
            self.repeat.max(1),
            cell.scheme,
            cell.threads,
            if cell.threads == 1 { "" } else { "s" },
            log.kind
        );
        watch.step(&what, 0);
        let mut options = Options::new()
            .log(log.kind)
            .durability(self.durability)
            .recovery(cell.scheme)
            .recovery_threads(cell.threads)
            .record_recovery_tasks(self.record_tasks && turn + 1 == self.repeat.max(1));
        if let Some(transactions) = self.batch {
            options = options.recovery_batch(transactions);
        }
        let db = match base.open_on_copy(log.dir.path(), options) {
            Ok(db) => db,
            Err(error) => {
                cell.wrong.push(error.to_string());
                return Ok(());
            }
        };
        let digests = db.digests()?;
        cell.digest = combined(&digests);
        cell.wrong.extend(differences(&log.digests, &digests));
        let report =
            db.recovery().ok_or_else(|| Error::new(SqlState::INTERNAL_ERROR, "nothing was logged"))?;
        if report.transactions != log.run.logged {
            cell.wrong
                .push(format!("{} of {} transactions were replayed", report.transactions, log.run.logged));
        }
        if turn == 0
            && let Err(error) = db.check()
        {
            cell.wrong.push(error.to_string());
        }
        if turn == 0 {
            let violations = self.suite.violations_of(&db, self.size, true)?;
            cell.wrong.extend(
                violations.into_iter().map(|v| format!("{} (violated {} times)", v.condition, v.count)),
            );
        }
        cell.turns.push(report);
        Ok(())
    }
}

impl Outcome {
    /// Every recovery that did not end where it must, and what was wrong.
    pub fn wrong(&self) -> Vec<String> {
        self.results.iter().flat_map(Measured::named_wrong).collect()
    }
}

impl Measured {
    /// What was wrong, with what it was wrong of.
    pub(crate) fn named_wrong(&self) -> impl Iterator<Item = String> + '_ {
        let Measured { scheme, log, threads, wrong, .. } = self;
        wrong.iter().map(move |what| format!("{scheme} on the {log} log, {threads} threads: {what}"))
    }
}

fn measured(mut cell: Cell, logs: &[Log]) -> Measured {
    let run = &logs[cell.log].run;
    let tasks = cell.turns.last_mut().map(|t| std::mem::take(&mut t.tasks)).unwrap_or_default();
    let rate = |r: &RecoveryReport| r.transactions as f64 / r.replay.as_secs_f64().max(1e-9);
    cell.turns.sort_by(|a, b| rate(a).total_cmp(&rate(b)));
    let median = cell.turns.get(cell.turns.len() / 2).cloned().unwrap_or_default();
    let txn_per_s = if cell.turns.is_empty() { 0.0 } else { rate(&median) };
    Measured {
        scheme: cell.scheme.name(),
        log: run.log.clone(),
        threads: median.threads.max(1),
        txn_per_s,
        txn_per_s_range: (cell.turns.first().map_or(0.0, rate), cell.turns.last().map_or(0.0, rate)),
        log_bytes_per_txn: run.log_bytes_per_txn,
        speedup_over_clr: None,
        times_run_rate: txn_per_s / run.logged_per_s,
        barriers: median.barriers,
        seconds: median.replay.as_secs_f64(),
        phases: Phases::from(&median.phases),
        digest_ok: cell.digest == run.digest,
        digest: cell.digest,
        wrong: cell.wrong,
        tasks,
    }
}

/// One fingerprint of all tables.
fn combined(digests: &Digests) -> String {
    // FNV-1a over names and digests, which are in order of the names.
    let bytes = digests.iter().flat_map(|(name, d)| name.bytes().chain(d.to_be_bytes()));
    let hash = bytes.fold(0x6c62_272e_07bb_0142_62b8_2175_6295_c58d_u128, |hash, byte| {
        (hash ^ u128::from(byte)).wrapping_mul(0x0000_0000_0100_0000_0000_0000_0000_013b)
    });
    format!("{hash:032x}")
}

/// Which tables differ.
fn differences(before: &Digests, after: &Digests) -> Vec<String> {
    if before.len() != after.len() {
        return vec![format!("{} tables before the crash, {} after it", before.len(), after.len())];
    }
    let rows = |d: u128| d >> 64;
    let differing = before.iter().zip(after).filter(|(b, a)| b != a);
    differing
        .map(|((name, b), (_, a))| {
            format!("table {name} differs: {} rows before the crash, {} after it", rows(*b), rows(*a))
        })
        .collect()
}

/// Copies a directory in use: files get other names meanwhile, then all of it is copied anew.
fn copy_files(from: &Path, to: &Path) -> Result<()> {
    'again: loop {
        for entry in std::fs::read_dir(from)? {
            let entry = entry?;
            match std::fs::copy(entry.path(), to.join(entry.file_name())) {
                Ok(_) => {}
                Err(e) if e.kind() == std::io::ErrorKind::NotFound => {
                    for copied in std::fs::read_dir(to)? {
                        std::fs::remove_file(copied?.path())?;
                    }
                    continue 'again;
                }
                Err(e) => return Err(e.into()),
            }
        }
        return Ok(());
    }
}
