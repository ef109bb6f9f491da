//! `planaria demo`: the main job on an embedded database, with a real crash.
//!
//! 1. A child process opens a database, loads TPC-C, writes a checkpoint and runs its five transactions on all cores,
//!    fsync-durable, reporting every acknowledged commit to this process.
//! 2. It is killed (SIGKILL) in the middle of it.
//! 3. This process opens the same directory: the checkpoint is loaded, the log after it replayed.
//! 4. TPC-C's consistency conditions are checked, and that no acknowledged order is missing.
//! 5. The same directory is opened again with serial replay; and a log of rows, in place of calls, is written for two seconds and
//!    replayed, to say what the restart would take with one.

use crate::arguments::positive;
use crate::print;
use crate::recovery::Recovery;
use clap::Args;
use clap::builder::RangedU64ValueParser;
use hdrhistogram::Histogram;
use indicatif::{ProgressBar, ProgressStyle};
use planaria::lab::LabDatabase;
use planaria::{Database, Error, LogKind, RecoveryReport, Result, Scheme, SqlState};
use planaria_workload::Suite;
use std::io::{BufRead, BufReader, IsTerminal, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// A log of rows is written for so long, to be compared.
const OF_ROWS: Duration = Duration::from_secs(2);
/// Commits of a worker that may be on their way to the disk.
const IN_FLIGHT_MAX: usize = 1_000;

/// Options of `planaria demo`.
#[derive(Args)]
pub struct Options {
    /// Seconds of load before the crash
    #[arg(long, default_value = "5", value_parser = seconds)]
    seconds: f64,
    /// Warehouses (default: chosen by the machine's memory)
    #[arg(long, value_parser = RangedU64ValueParser::<u64>::new().range(1..=10_000))]
    warehouses: Option<u64>,
    /// Worker threads (default: one per core)
    #[arg(long, value_parser = positive())]
    threads: Option<usize>,
    /// Directory (default: a temporary one, removed afterwards)
    #[arg(long)]
    data: Option<PathBuf>,
    #[command(flatten)]
    recovery: Recovery,
}

fn seconds(text: &str) -> std::result::Result<f64, String> {
    let seconds: f64 = text.parse().map_err(|_| format!("\"{text}\" is not a number of seconds"))?;
    if seconds > 0.0 && seconds <= 86_400.0 {
        Ok(seconds)
    } else {
        Err("more than 0 and at most 86400".to_owned())
    }
}

/// Options of the process that is killed.
#[derive(Args)]
pub struct VictimOptions {
    #[arg(long)]
    data: PathBuf,
    #[arg(long)]
    warehouses: u64,
    #[arg(long)]
    threads: usize,
}

const WORKLOAD: &str = "tpcc";

/// Runs the demonstration.
pub fn demo(options: &Options) -> Result<()> {
    let cores = std::thread::available_parallelism().map_or(1, |n| n.get());
    let threads = options.threads.unwrap_or(cores);
    let warehouses = options.warehouses.unwrap_or_else(|| fitting_warehouses(cores));
    let temporary = std::env::temp_dir().join(format!("planaria-demo-{}", std::process::id()));
    let dir = options.data.clone().unwrap_or_else(|| temporary.clone());
    if dir.read_dir().is_ok_and(|mut entries| entries.next().is_some()) {
        return Err(Error::new(
            SqlState::OBJECT_IN_USE,
            format!("the directory {} is not empty", dir.display()),
        )
        .with_hint("Give a new or empty directory; the demo creates its own database."));
    }
    let name = format!("Planaria {}", env!("CARGO_PKG_VERSION"));
    println!("{}: a database that regrows after a crash.\n", bold(&name));
    let plural = if warehouses == 1 { "" } else { "s" };
    println!("{}  TPC-C, {warehouses} warehouse{plural}, into", bold("1. Load"));
    println!("   {}", dir.display());
    let outcome = crash_and_recover(&dir, warehouses, threads, options);
    if options.data.is_none() {
        let _ = std::fs::remove_dir_all(&temporary);
    }
    outcome
}

/// About 160 MB a warehouse with indexes and what a run adds: stay below a quarter of the memory.
fn fitting_warehouses(cores: usize) -> u64 {
    let memory_kib = std::fs::read_to_string("/proc/meminfo")
        .ok()
        .and_then(|t| {
            t.lines().find(|l| l.starts_with("MemAvailable"))?.split_whitespace().nth(1)?.parse().ok()
        })
        .unwrap_or(4_000_000u64);
    (memory_kib / 4 / 160_000).clamp(1, 2 * cores.max(1) as u64)
}

/// What the victim has told so far.
#[derive(Clone, Default)]
struct Heard {
    /// Parts that are loaded, and all of them.
    loading: (u64, u64),
    /// Rows and bytes of the checkpoint, and milliseconds that it took.
    checkpoint: Option<(u64, u64, u64)>,
    acknowledged: u64,
    orders: u64,
    log_bytes: u64,
    /// By transaction: how many, and microseconds that half of them, and 99 %, took at most.
    kinds: Vec<(u64, u64, u64)>,
}

/// What came of watching: seconds of load and of run.
struct Watched {
    heard: Heard,
    load: f64,
    run: f64,
}

fn bold(text: &str) -> String {
    painted(text, "1")
}

/// A text in a colour, where a terminal shows it and nobody minds.
fn painted(text: &str, code: &str) -> String {
    if std::io::stdout().is_terminal() && std::env::var_os("NO_COLOR").is_none() {
        return format!("\x1b[{code}m{text}\x1b[0m");
    }
    text.to_owned()
}

fn crash_and_recover(dir: &Path, warehouses: u64, threads: usize, options: &Options) -> Result<()> {
    let start = Instant::now();
    let mut victim = Command::new(std::env::current_exe()?)
        .args(["demo-victim", "--data"])
        .arg(dir)
        .args(["--warehouses", &warehouses.to_string(), "--threads", &threads.to_string()])
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .spawn()?;
    let suite = Suite::find(WORKLOAD)?;
    let outcome = watch(&mut victim, options.seconds, threads, start);
    // A real crash: no destructor, no flush, nothing runs after this.
    let _ = victim.kill();
    let _ = victim.wait();
    let watched = outcome?;
    let heard = &watched.heard;
    println!("   {:<14}{:>12}{:>12}{:>12}", "transaction", "per second", "median", "99 %");
    for (name, (n, median, tail)) in suite.transactions.iter().zip(&heard.kinds) {
        let rate = print::grouped((*n as f64 / watched.run) as u64);
        println!("   {name:<14}{rate:>12}{:>12}{:>12}", format!("{median} us"), format!("{tail} us"));
    }
    let killed =
        format!("killed with SIGKILL after {} acknowledged transactions", print::grouped(heard.acknowledged));
    println!("   {}\n", painted(&killed, "31"));

    println!("{}", bold("3. Recover"));
    let db = options.recovery.open(planaria::Options::new(), dir)?;
    let report = db.recovery().ok_or_else(|| Error::internal("the database did not recover"))?;
    tell_recovery(&report);

    println!("{}", bold("4. Verify"));
    verify(suite, &db, heard)?;
    let rows = db.stats().memory.rows;
    db.close()?;

    println!("{}  the same restart, done in other ways", bold("5. Compare"));
    let serial = Recovery::default().apply(planaria::Options::new()).recovery(Scheme::Clr);
    let db = crate::recovery::with_bars(serial, |options| options.open(dir))?;
    let serial = db.recovery().ok_or_else(|| Error::internal("the database did not recover"))?;
    println!("   with serial replay {:.1} s", restart_seconds(&serial));
    let of_rows = log_of_rows(suite, &db, dir, warehouses, threads)?;
    println!("   with a log of rows {:.1} s\n", of_rows.seconds(&report));
    summary(&watched, &report, &serial, &of_rows, rows);
    Ok(())
}

/// From the first byte to the last transaction.
fn restart_seconds(report: &RecoveryReport) -> f64 {
    let load = report.checkpoint.as_ref().map_or(Duration::ZERO, |c| c.took);
    (load + report.replay).as_secs_f64()
}

fn tell_recovery(report: &RecoveryReport) {
    if let Some(c) = &report.checkpoint {
        let (rows, size) = (print::grouped(c.rows), print::bytes(c.bytes));
        println!("   {rows} rows loaded from the checkpoint ({size}) in {:.1} s", c.took.as_secs_f64());
    }
    let seconds = report.replay.as_secs_f64();
    let rate = print::grouped((report.transactions as f64 / seconds.max(1e-9)) as u64);
    println!(
        "   {} transactions replayed in {seconds:.1} s, {rate} per second",
        print::grouped(report.transactions)
    );
    let plural = if report.threads == 1 { "" } else { "s" };
    println!("   by {} on {} thread{plural}\n", report.scheme, report.threads);
}

/// XX001 where something acknowledged is missing, or a condition does not hold.
fn verify(suite: &Suite, db: &Database, heard: &Heard) -> Result<()> {
    let violations = suite.violations(db, true)?;
    for v in &violations {
        println!("   VIOLATED {} times: {}", v.count, v.condition);
    }
    let checks = db.query(suite.checks, ())?.len();
    println!("   {} of {checks} consistency conditions hold", checks - violations.len());
    let orders: i64 = db.query("SELECT sum(d_next_o_id - 3001) FROM district", ())?[0].get(0)?;
    let lost = heard.orders.saturating_sub(orders as u64);
    let (before, after) = (print::grouped(heard.orders), print::grouped(orders as u64));
    println!(
        "   {before} orders were acknowledged, {after} are there: {}\n",
        match lost {
            0 => painted("none is lost", "32"),
            lost => painted(&format!("{lost} are lost"), "31"),
        }
    );
    if lost > 0 || !violations.is_empty() {
        return Err(Error::new(SqlState::DATA_CORRUPTED, format!("{lost} acknowledged orders are missing")));
    }
    Ok(())
}

/// What a log of rows has come to.
struct OfRows {
    bytes_per_transaction: f64,
    /// Transactions replayed in a second.
    rate: f64,
}

impl OfRows {
    /// What a restart would take of as many transactions.
    fn seconds(&self, report: &RecoveryReport) -> f64 {
        let load = report.checkpoint.as_ref().map_or(0.0, |c| c.took.as_secs_f64());
        load + report.transactions as f64 / self.rate.max(1.0)
    }
}

/// Has a copy of the database log the rows that transactions change, for a moment, and replays that on another.
fn log_of_rows(suite: &Suite, db: &Database, dir: &Path, warehouses: u64, threads: usize) -> Result<OfRows> {
    let dir = dir.join(".rows");
    let options = || {
        planaria::Options::new()
            .log(LogKind::Logical)
            .durability(planaria::Durability::Async)
            .recovery(Scheme::LlrP)
    };
    let measure = || -> Result<OfRows> {
        let copy = db.open_on_copy(&dir, options())?;
        let until = Instant::now() + OF_ROWS;
        std::thread::scope(|scope| {
            let run = |seed: u64| -> Result<()> {
                let mut session = copy.session()?;
                let mut driver = suite.driver(&mut session, warehouses, seed + 1)?;
                while Instant::now() < until {
                    // One that is rolled back, as some are meant to be, counts for nobody.
                    let _ = driver.next(&mut session);
                }
                Ok(())
            };
            let workers: Vec<_> = (0..threads as u64).map(|seed| scope.spawn(move || run(seed))).collect();
            let panicked = || Err(Error::internal("a worker panicked"));
            workers.into_iter().try_for_each(|w| w.join().unwrap_or_else(|_| panicked()))
        })?;
        copy.close()?;
        let copy = db.open_on_copy(&dir, options())?;
        let report = copy.recovery().ok_or_else(|| Error::internal("the log of rows was not replayed"))?;
        let transactions = report.transactions.max(1) as f64;
        Ok(OfRows {
            bytes_per_transaction: report.log_bytes as f64 / transactions,
            rate: transactions / report.replay.as_secs_f64().max(1e-9),
        })
    };
    let outcome = measure();
    let _ = std::fs::remove_dir_all(&dir);
    outcome
}

fn summary(watched: &Watched, report: &RecoveryReport, serial: &RecoveryReport, of_rows: &OfRows, rows: u64) {
    let rate = print::grouped((watched.heard.acknowledged as f64 / watched.run) as u64);
    let bytes = report.log_bytes as f64 / report.transactions.max(1) as f64;
    println!("{}", bold("Summary"));
    println!("   ran        {rate:>9} transactions/s, serializable, on disk when acknowledged");
    println!(
        "   logged     {bytes:>9.0} bytes per transaction, the call; its rows would be {:.0}",
        of_rows.bytes_per_transaction
    );
    println!(
        "   restarted  {:>9} rows, nothing lost; loading and running took {:.0} s",
        print::grouped(rows),
        watched.load + watched.run
    );
    let all = [
        ("this restart", restart_seconds(report), "32"),
        ("serial replay", restart_seconds(serial), "33"),
        ("log of rows", of_rows.seconds(report), "33"),
    ];
    let longest = all.iter().map(|(_, seconds, _)| *seconds).fold(f64::MIN_POSITIVE, f64::max);
    println!();
    for (name, seconds, colour) in all {
        let bar = "#".repeat(((seconds / longest * 46.0).round() as usize).max(1));
        println!("   {name:<14}{seconds:>7.1} s  {}", painted(&bar, colour));
    }
    println!("\n   (log of rows: {} s of it written, replayed by llr-p, and scaled)", OF_ROWS.as_secs());
}

fn lock(heard: &Mutex<Heard>) -> MutexGuard<'_, Heard> {
    heard.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Takes what the victim says.
fn hear(line: &str, heard: &Mutex<Heard>) {
    let mut words = line.split(' ');
    let what = words.next().unwrap_or("");
    let numbers: Vec<u64> = words.filter_map(|word| word.parse().ok()).collect();
    let mut heard = lock(heard);
    match (what, numbers.as_slice()) {
        ("loading", [done, all]) => heard.loading = (*done, *all),
        ("checkpoint", [rows, bytes, milliseconds]) => {
            heard.checkpoint = Some((*rows, *bytes, *milliseconds))
        }
        ("durable", [acknowledged, orders, log_bytes, kinds @ ..]) => {
            (heard.acknowledged, heard.orders, heard.log_bytes) = (*acknowledged, *orders, *log_bytes);
            heard.kinds = kinds.chunks_exact(3).map(|k| (k[0], k[1], k[2])).collect();
        }
        _ => {}
    }
}

/// Shows the victim's load and run; returns what it acknowledged by the moment to kill it.
fn watch(victim: &mut Child, seconds: f64, threads: usize, start: Instant) -> Result<Watched> {
    let stdout = victim.stdout.take().ok_or_else(|| Error::internal("the child has no output"))?;
    let heard = Mutex::new(Heard::default());
    let ended = AtomicBool::new(false);
    let (mut load, mut run) = (0.0, 0.0);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            for line in BufReader::new(stdout).lines().map_while(std::result::Result::ok) {
                hear(&line, &heard);
            }
            ended.store(true, Ordering::SeqCst);
        });
        let bar = styled(ProgressBar::new(0), "   {bar:30} {percent:>3}% {msg}");
        let checkpoint = loop {
            let now = lock(&heard).clone();
            if ended.load(Ordering::SeqCst) || now.checkpoint.is_some() {
                break now.checkpoint;
            }
            let (done, all) = now.loading;
            let so_far = start.elapsed().as_secs_f64();
            bar.set_length(all);
            bar.set_position(done);
            bar.set_message(match (done, all) {
                (0, _) => "loading".to_owned(),
                (done, all) if done == all => "writing a checkpoint".to_owned(),
                (done, all) => format!("loading, {:.0} s to go", so_far / done as f64 * (all - done) as f64),
            });
            std::thread::sleep(Duration::from_millis(100));
        };
        bar.finish_and_clear();
        if let Some((rows, bytes, milliseconds)) = checkpoint {
            load = start.elapsed().as_secs_f64();
            println!("   {} rows loaded in {:.1} s", print::grouped(rows), load - milliseconds as f64 / 1e3);
            println!(
                "   a checkpoint ({}) written in {:.1} s\n",
                print::bytes(bytes),
                milliseconds as f64 / 1e3
            );
            println!("{}   the five transactions on {threads} threads, fsync-durable", bold("2. Run"));
            let run_start = Instant::now();
            let bar = styled(ProgressBar::new((seconds * 10.0) as u64), "   {bar:20} {msg}");
            while run_start.elapsed().as_secs_f64() < seconds && !ended.load(Ordering::SeqCst) {
                std::thread::sleep(Duration::from_millis(100));
                let (n, bytes) = {
                    let heard = lock(&heard);
                    (heard.acknowledged, heard.log_bytes)
                };
                let rate = n as f64 / run_start.elapsed().as_secs_f64();
                bar.set_position((run_start.elapsed().as_secs_f64() * 10.0) as u64);
                let (n, rate) = (print::grouped(n), print::grouped(rate as u64));
                bar.set_message(format!("{n} transactions, {rate}/s, {} of log", print::bytes(bytes)));
            }
            bar.finish_and_clear();
            run = run_start.elapsed().as_secs_f64();
        }
        let early = ended.load(Ordering::SeqCst);
        let _ = victim.kill();
        if early {
            Err(Error::new(SqlState::SYSTEM_ERROR, "the database process ended by itself"))
        } else {
            Ok(())
        }
    })?;
    Ok(Watched { heard: heard.into_inner().unwrap_or_else(PoisonError::into_inner), load, run })
}

fn styled(bar: ProgressBar, template: &str) -> ProgressBar {
    bar.with_style(ProgressStyle::with_template(template).unwrap_or(ProgressStyle::default_bar()))
}

/// The process that gets killed: loads, then runs until it dies, telling what is durable.
pub fn victim(options: &VictimOptions) -> Result<()> {
    let suite = Suite::find(WORKLOAD)?;
    let db = Database::open(&options.data)?;
    suite.install_parallel(&db, options.warehouses, options.threads, &|done, all| {
        say(&format!("loading {done} {all}"))
    })?;
    let began = Instant::now();
    let written = db.checkpoint()?;
    say(&format!("checkpoint {} {} {}", written.rows, written.bytes, began.elapsed().as_millis()));
    let log_bytes = db.stats().log_bytes;
    let times: Vec<Mutex<Histogram<u64>>> = suite
        .transactions
        .iter()
        .map(|_| Histogram::new(2).map(Mutex::new).map_err(|e| Error::internal(e.to_string())))
        .collect::<Result<_>>()?;
    let (durable, orders) = (AtomicU64::new(0), AtomicU64::new(0));
    std::thread::scope(|scope| {
        let workers: Vec<_> = (0..options.threads as u64)
            .map(|seed| {
                let (db, durable, orders, times) = (&db, &durable, &orders, &times);
                scope.spawn(move || -> Result<()> {
                    let mut session = db.session()?;
                    let mut driver = suite.driver(&mut session, options.warehouses, seed + 1)?;
                    let mut waiting = std::collections::VecDeque::new();
                    loop {
                        let began = Instant::now();
                        let (kind, outcome) = driver.next(&mut session);
                        let micros = began.elapsed().as_micros() as u64;
                        times[kind]
                            .lock()
                            .unwrap_or_else(PoisonError::into_inner)
                            .saturating_record(micros.max(1));
                        if let Ok(submitted) = outcome {
                            let order = suite.transactions[kind] == "new_order"
                                && submitted.rows[0].get::<Option<i32>>("p_o_id")?.is_some();
                            waiting.push_back((submitted.ticket, order));
                        }
                        if waiting.len() > IN_FLIGHT_MAX {
                            waiting[0].0.wait()?;
                        }
                        while waiting.front().is_some_and(|(ticket, _)| ticket.is_durable()) {
                            let was_order = waiting.pop_front().is_some_and(|(_, order)| order);
                            orders.fetch_add(u64::from(was_order), Ordering::SeqCst);
                            durable.fetch_add(1, Ordering::SeqCst);
                        }
                    }
                })
            })
            .collect();
        scope.spawn(|| {
            loop {
                let (d, o) = (durable.load(Ordering::SeqCst), orders.load(Ordering::SeqCst));
                let mut line = format!("durable {d} {o} {}", db.stats().log_bytes.saturating_sub(log_bytes));
                for times in &times {
                    let times = times.lock().unwrap_or_else(PoisonError::into_inner);
                    let (median, tail) = (times.value_at_quantile(0.5), times.value_at_quantile(0.99));
                    line += &format!(" {} {median} {tail}", times.len());
                }
                say(&line);
                std::thread::sleep(Duration::from_millis(50));
            }
        });
        for worker in workers {
            worker.join().map_err(|_| Error::internal("a worker panicked"))??;
        }
        Ok(())
    })
}

/// One line to the watching process; if it is gone, so are we.
fn say(line: &str) {
    let mut out = std::io::stdout().lock();
    if writeln!(out, "{line}").and_then(|()| out.flush()).is_err() {
        std::process::exit(1);
    }
}
