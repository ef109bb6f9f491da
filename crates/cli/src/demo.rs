//! `planaria demo`: the main job on an embedded database, with a real crash.
//!
//! 1. A child process opens a database, loads TPC-C and runs its five transactions on all cores,
//!    fsync-durable, reporting every acknowledged commit to this process.
//! 2. It is killed (SIGKILL) in the middle of it.
//! 3. This process opens the same directory: the log is replayed.
//! 4. TPC-C's consistency conditions are checked, and that no acknowledged order is missing.

use crate::arguments::positive;
use crate::print;
use crate::recovery::{self, Recovery};
use clap::Args;
use indicatif::{ProgressBar, ProgressStyle};
use planaria::{Database, Error, Result, SqlState};
use planaria_workload::Suite;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// Options of `planaria demo`.
#[derive(Args)]
pub struct Options {
    /// Seconds of load before the crash
    #[arg(long, default_value_t = 8.0)]
    seconds: f64,
    /// Warehouses; chosen by the machine's memory without
    #[arg(long)]
    warehouses: Option<u64>,
    /// Worker threads; one a core without
    #[arg(long, value_parser = positive())]
    threads: Option<usize>,
    /// Directory; a temporary one, removed afterwards, without
    #[arg(long)]
    data: Option<PathBuf>,
    #[command(flatten)]
    recovery: Recovery,
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
        .hint("Give an empty or a new directory; the demo makes its own database."));
    }
    println!("Planaria {}: a database that regrows after a crash.\n", env!("CARGO_PKG_VERSION"));
    println!("1. Load  TPC-C, {warehouses} warehouses, into {}", dir.display());
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
#[derive(Default)]
struct Heard {
    acknowledged: u64,
    orders: u64,
}

/// What came of watching: seconds of load and of run.
struct Watched {
    heard: Heard,
    load: f64,
    run: f64,
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
    let outcome = watch(&mut victim, options.seconds, threads, start);
    // A real crash: no destructor, no flush, nothing runs after this.
    let _ = victim.kill();
    let _ = victim.wait();
    let Watched { heard, load, run } = outcome?;
    println!(
        "   killed with SIGKILL after {} acknowledged transactions\n",
        print::grouped(heard.acknowledged)
    );

    println!("3. Recover");
    let start = Instant::now();
    let db = options.recovery.open(planaria::Options::new(), dir)?;
    let took = start.elapsed();
    let report = db.recovery().ok_or_else(|| Error::internal("the database did not recover"))?;
    let run_rate = heard.acknowledged as f64 / run;
    let replayed = report.transactions;
    println!("   {}\n", recovery::describe(&report));

    println!("4. Verify");
    let suite = Suite::find(WORKLOAD)?;
    let violations = suite.violations(&db, true)?;
    for v in &violations {
        println!("   VIOLATED {} times: {}", v.count, v.condition);
    }
    let checks = db.query(suite.checks, ())?.len();
    println!("   {} of {checks} consistency conditions hold", checks - violations.len());
    let orders: i64 = db.query("SELECT sum(d_next_o_id - 3001) FROM district", ())?[0].get(0)?;
    println!(
        "   {} orders acknowledged before the crash, {} in the database",
        print::grouped(heard.orders),
        print::grouped(orders as u64)
    );
    let lost = heard.orders.saturating_sub(orders as u64);
    if lost > 0 || !violations.is_empty() {
        return Err(Error::new(SqlState::DATA_CORRUPTED, format!("{lost} acknowledged orders are missing")));
    }
    let memory = db.stats().memory;
    println!("\nSummary");
    println!(
        "   ran        {:>12} transactions/s, serializable, each on disk before it was acknowledged",
        print::grouped(run_rate as u64)
    );
    println!(
        "   logged     {:>12} bytes a transaction: the call, not the rows",
        format!("{:.0}", report.log_bytes as f64 / replayed.max(1) as f64)
    );
    println!(
        "   recovered  {:>12} rows in {:.1} s, nothing lost; to load and to run took {:.1} s",
        print::grouped(memory.rows),
        took.as_secs_f64(),
        load + run
    );
    Ok(())
}

/// Shows the victim's load and run; returns what it acknowledged by the moment to kill it.
fn watch(victim: &mut Child, seconds: f64, threads: usize, start: Instant) -> Result<Watched> {
    let stdout = victim.stdout.take().ok_or_else(|| Error::internal("the child has no output"))?;
    let heard = Mutex::new(Heard::default());
    let (loaded, ended) = (AtomicBool::new(false), AtomicBool::new(false));
    let (mut load, mut run) = (0.0, 0.0);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            for line in BufReader::new(stdout).lines().map_while(std::result::Result::ok) {
                let mut numbers = line.split(' ');
                match numbers.next() {
                    Some("loaded") => loaded.store(true, Ordering::SeqCst),
                    Some("durable") => {
                        let mut next = || numbers.next().and_then(|n| n.parse().ok()).unwrap_or(0);
                        *heard.lock().unwrap_or_else(|e| e.into_inner()) =
                            Heard { acknowledged: next(), orders: next() };
                    }
                    _ => {}
                }
            }
            ended.store(true, Ordering::SeqCst);
        });
        let spinner = ProgressBar::new_spinner();
        while !loaded.load(Ordering::SeqCst) && !ended.load(Ordering::SeqCst) {
            spinner.set_message(format!("   loading, {:.0} s", start.elapsed().as_secs_f64()));
            spinner.tick();
            std::thread::sleep(Duration::from_millis(100));
        }
        spinner.finish_and_clear();
        if loaded.load(Ordering::SeqCst) {
            load = start.elapsed().as_secs_f64();
            println!("   loaded in {load:.1} s\n");
            println!("2. Run   the five transactions on {threads} threads, fsync-durable");
            let run_start = Instant::now();
            let bar = ProgressBar::new((seconds * 10.0) as u64);
            bar.set_style(
                ProgressStyle::with_template("   {bar:30} {msg}").unwrap_or(ProgressStyle::default_bar()),
            );
            while run_start.elapsed().as_secs_f64() < seconds && !ended.load(Ordering::SeqCst) {
                std::thread::sleep(Duration::from_millis(100));
                let n = heard.lock().unwrap_or_else(|e| e.into_inner()).acknowledged;
                let rate = n as f64 / run_start.elapsed().as_secs_f64();
                bar.set_position((run_start.elapsed().as_secs_f64() * 10.0) as u64);
                bar.set_message(format!(
                    "{} transactions, {}/s",
                    print::grouped(n),
                    print::grouped(rate as u64)
                ));
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
    Ok(Watched { heard: heard.into_inner().unwrap_or_else(|e| e.into_inner()), load, run })
}

/// The process that gets killed: loads, then runs until it dies, telling what is durable.
pub fn victim(options: &VictimOptions) -> Result<()> {
    let suite = Suite::find(WORKLOAD)?;
    let db = Database::open(&options.data)?;
    suite.install_parallel(&db, options.warehouses, options.threads, &|_, _| ())?;
    say("loaded");
    let (durable, orders) = (AtomicU64::new(0), AtomicU64::new(0));
    std::thread::scope(|scope| {
        let workers: Vec<_> = (0..options.threads as u64)
            .map(|seed| {
                let (db, durable, orders) = (&db, &durable, &orders);
                scope.spawn(move || -> Result<()> {
                    let mut session = db.session()?;
                    let mut driver = suite.driver(&mut session, options.warehouses, seed + 1)?;
                    let mut waiting = std::collections::VecDeque::new();
                    loop {
                        let (kind, outcome) = driver.next(&mut session);
                        if let Ok(submitted) = outcome {
                            let order = suite.transactions[kind] == "new_order"
                                && submitted.rows[0].get::<Option<i32>>("p_o_id")?.is_some();
                            waiting.push_back((submitted.ticket, order));
                        }
                        if waiting.len() > 10_000 {
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
                say(&format!("durable {d} {o}"));
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
