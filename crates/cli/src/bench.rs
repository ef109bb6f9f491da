//! `planaria bench`: a workload through the embedding API, measured.
//!
//! Each thread has a session and submits one call after another without waiting for the disk; a
//! call counts when its epoch is durable (with durability `fsync`), and its latency is measured up
//! to then. The number of calls on the way is bounded by `--in-flight`.

use crate::arguments::positive;
use crate::log_bytes::{self, LogBytes};
use crate::print;
use crate::protocol::Protocol;
use crate::recovery::{self, Recovery};
use clap::Args;
use hdrhistogram::Histogram;
use planaria::{Database, Durability, Error, LogKind, Result, SqlState, Stats, Ticket};
use planaria_workload::Suite;
use serde::Serialize;
use std::collections::VecDeque;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// Options of `planaria bench`.
#[derive(Args)]
pub struct Options {
    /// tpcc, smallbank, ycsb, voter or tpcb
    workload: String,
    /// Worker threads
    #[arg(long, default_value_t = 1, value_parser = positive())]
    threads: usize,
    /// Seconds measured
    #[arg(long, default_value_t = 5.0)]
    seconds: f64,
    /// Seconds before the measurement
    #[arg(long, default_value_t = 1.0)]
    warmup: f64,
    /// Size: warehouses (tpcc)
    #[arg(long)]
    warehouses: Option<u64>,
    /// Size: customers, records, contestants, branches (other workloads)
    #[arg(long)]
    rows: Option<u64>,
    /// What a call writes to the log: command, logical, physical, physiological, adaptive or off
    #[arg(long, default_value = "command")]
    log: LogKind,
    /// fsync, async or off
    #[arg(long, default_value = "fsync")]
    durability: Durability,
    /// The concurrency protocol: silo, serial, occ, two_phase, hybrid, healing, mvocc, or another of the shelf. To measure what is lost by
    /// failed attempts, without durability: silo-unvalidated, occ-unvalidated, which lose updates
    #[arg(long, default_value = "silo")]
    protocol: Protocol,
    /// Directory for the log; a temporary one without
    #[arg(long)]
    data: Option<PathBuf>,
    /// Calls a thread may have on the way to the disk
    #[arg(long, default_value_t = 10_000, value_parser = positive())]
    in_flight: usize,
    /// Transaction blocks that are open meanwhile, each for a tenth of a second
    #[arg(long, default_value_t = 0)]
    blocks: usize,
    /// Seed of the inputs
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Run the workload's checks afterwards
    #[arg(long)]
    check: bool,
    /// Afterwards close the database, recover it and report the rate of replay
    #[arg(long)]
    recover: bool,
    #[command(flatten)]
    recovery: Recovery,
    /// Afterwards run this many transactions under each log kind, on copies, and compare the logs
    #[arg(long, value_name = "TRANSACTIONS")]
    log_bytes: Option<u64>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

#[derive(Serialize)]
struct Report {
    workload: &'static str,
    size: u64,
    threads: usize,
    protocol: String,
    log: String,
    durability: String,
    seconds: f64,
    transactions: u64,
    txn_per_s: f64,
    by_transaction: Vec<ByTransaction>,
    failed: u64,
    aborts: Vec<(String, u64)>,
    /// Of protocols that heal.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    healing: Vec<(&'static str, u64)>,
    log_bytes_per_txn: f64,
    log_records: u64,
    fsyncs: u64,
    rows: u64,
    bytes_per_row: f64,
    index_entries: u64,
    bytes_per_index_entry: f64,
    load_seconds: f64,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    log_bytes_by_kind: Vec<LogBytes>,
    #[serde(skip_serializing_if = "Option::is_none")]
    replay: Option<Replay>,
}

#[derive(Serialize)]
struct Replay {
    transactions: u64,
    seconds: f64,
    txn_per_s: f64,
    times_run_rate: f64,
    #[serde(skip)]
    text: String,
}

#[derive(Serialize)]
struct ByTransaction {
    name: &'static str,
    count: u64,
    txn_per_s: f64,
    p50_us: f64,
    p99_us: f64,
    max_us: f64,
}

struct Tally {
    histograms: Vec<Histogram<u64>>,
    failed: u64,
    first_error: Option<Error>,
}

/// Runs the benchmark and prints what it found.
pub fn bench(options: &Options) -> Result<()> {
    let suite = Suite::find(&options.workload)?;
    let size = options.warehouses.or(options.rows).unwrap_or(suite.default_size);
    let logged = options.log != LogKind::Off && options.durability != Durability::Off;
    let temporary = std::env::temp_dir().join(format!("planaria-bench-{}", std::process::id()));
    let dir = options.data.clone().unwrap_or(temporary.clone());
    let configuration = options.protocol.options(logged || options.log_bytes.is_some())?;
    let configuration = configuration.log(options.log).durability(options.durability);
    let configuration = options.recovery.apply(configuration);
    let _cleanup = RemoveOnDrop(options.data.is_none().then_some(temporary));

    if options.recover && !logged {
        return Err(Error::new(SqlState::INVALID_PARAMETER_VALUE, "nothing would be logged to recover from"));
    }
    if options.recover && dir.read_dir().is_ok_and(|mut entries| entries.next().is_some()) {
        let what = format!("the directory {} is not empty", dir.display());
        return Err(Error::new(SqlState::OBJECT_IN_USE, what).hint("--recover makes its own database."));
    }
    let start = Instant::now();
    // What is recovered is the run alone: the load stands in a database that the logged one is a copy of.
    let base = options.recover.then(|| configuration.clone().in_memory()).transpose()?;
    let open = |configuration: planaria::Options| match &base {
        Some(base) => base.open_on_copy(&dir, configuration),
        None if logged => configuration.open(&dir),
        None => options.protocol.in_memory(configuration),
    };
    let db = match &base {
        Some(base) => {
            suite.install_parallel(base, size, options.threads, &|_, _| {})?;
            open(configuration.clone())?
        }
        None => {
            let db = open(configuration.clone())?;
            suite.install(&db, size)?;
            db
        }
    };
    let load_seconds = start.elapsed().as_secs_f64();

    let (tallies, before, after, elapsed) = measure(&db, suite, size, options)?;
    let mut report = report(suite, size, options, &tallies, &before, &after, elapsed, load_seconds);
    if let Some(error) = tallies.iter().find_map(|t| t.first_error.clone()) {
        eprint!("a transaction failed: {}", print::error(&error, None));
    }
    if options.check {
        let violations = suite.violations(&db, true)?;
        if let Some(v) = violations.first() {
            return Err(Error::new(
                SqlState::INTERNAL_ERROR,
                format!("check violated {} times: {}", v.count, v.condition),
            ));
        }
        eprintln!("checks: all 0");
    }
    if let Some(transactions) = options.log_bytes {
        let logs = RemoveOnDrop(Some(dir.with_extension("log-bytes")));
        let at = logs.0.as_deref().unwrap_or(&dir);
        report.log_bytes_by_kind = log_bytes::compare(&db, suite, size, transactions, options.seed, at)?;
    }
    if options.recover {
        db.close()?;
        let db = recovery::with_bars(configuration, open)?;
        if let Some(recovery) = db.recovery() {
            let seconds = recovery.replay.as_secs_f64();
            let rate = recovery.transactions as f64 / seconds.max(1e-9);
            report.replay = Some(Replay {
                transactions: recovery.transactions,
                seconds,
                txn_per_s: rate,
                times_run_rate: rate / report.txn_per_s,
                text: recovery::describe(&recovery),
            });
        }
    } else {
        drop(db);
    }
    if options.json {
        println!("{}", serde_json::to_string_pretty(&report).map_err(std::io::Error::other)?);
    } else {
        print_table(&report);
    }
    Ok(())
}

struct RemoveOnDrop(Option<PathBuf>);

impl Drop for RemoveOnDrop {
    fn drop(&mut self) {
        if let Some(dir) = &self.0 {
            let _ = std::fs::remove_dir_all(dir);
        }
    }
}

fn measure(
    db: &Database,
    suite: &Suite,
    size: u64,
    options: &Options,
) -> Result<(Vec<Tally>, Stats, Stats, f64)> {
    let (measuring, stop) = (AtomicBool::new(false), AtomicBool::new(false));
    std::thread::scope(|scope| {
        let workers: Vec<_> = (0..options.threads)
            .map(|thread| {
                let (measuring, stop) = (&measuring, &stop);
                scope.spawn(move || worker(db, suite, size, options, thread, measuring, stop))
            })
            .collect();
        let blocks: Vec<_> = (0..options.blocks).map(|_| scope.spawn(|| blocks_beside(db, &stop))).collect();
        std::thread::sleep(Duration::from_secs_f64(options.warmup));
        let before = db.stats();
        measuring.store(true, Ordering::SeqCst);
        let start = Instant::now();
        std::thread::sleep(Duration::from_secs_f64(options.seconds));
        stop.store(true, Ordering::SeqCst);
        let elapsed = start.elapsed().as_secs_f64();
        let mut tallies = Vec::new();
        for worker in workers {
            tallies.push(
                worker
                    .join()
                    .map_err(|_| Error::new(SqlState::INTERNAL_ERROR, "a worker thread panicked"))??,
            );
        }
        for block in blocks {
            block.join().map_err(|_| Error::new(SqlState::INTERNAL_ERROR, "a block panicked"))??;
        }
        Ok((tallies, before, db.stats(), elapsed))
    })
}

/// Keeps a transaction block open, one after the other.
fn blocks_beside(db: &Database, stop: &AtomicBool) -> Result<()> {
    let mut session = db.session()?;
    while !stop.load(Ordering::SeqCst) {
        session.execute_script("BEGIN; SELECT 1")?;
        std::thread::sleep(Duration::from_millis(100));
        session.execute_script("SELECT 1; COMMIT")?;
    }
    Ok(())
}

fn worker(
    db: &Database,
    suite: &Suite,
    size: u64,
    options: &Options,
    thread: usize,
    measuring: &AtomicBool,
    stop: &AtomicBool,
) -> Result<Tally> {
    let mut session = db.session()?;
    let mut driver =
        suite.driver(&mut session, size, options.seed.wrapping_mul(1000).wrapping_add(thread as u64))?;
    let histogram = || Histogram::new_with_bounds(1, 60_000_000_000, 2).expect("the bounds are in order");
    let mut tally = Tally {
        histograms: suite.transactions.iter().map(|_| histogram()).collect(),
        failed: 0,
        first_error: None,
    };
    let mut on_the_way: VecDeque<(usize, Instant, Ticket)> = VecDeque::new();
    let mut counting = false;
    let wait_for_disk = options.durability == Durability::Fsync;
    while !stop.load(Ordering::Relaxed) {
        if !counting && measuring.load(Ordering::Relaxed) {
            counting = true;
            // What was submitted before counts for nothing.
            on_the_way.clear();
        }
        let start = Instant::now();
        let (kind, outcome) = driver.next(&mut session);
        match outcome {
            Ok(submitted) if wait_for_disk && !submitted.ticket.is_durable() => {
                on_the_way.push_back((kind, start, submitted.ticket));
            }
            Ok(_) if counting => record(&mut tally, kind, start),
            Ok(_) => {}
            Err(error) => {
                tally.failed += u64::from(counting);
                tally.first_error.get_or_insert(error);
            }
        }
        while let Some((kind, start, ticket)) = on_the_way.front() {
            if on_the_way.len() > options.in_flight {
                ticket.wait()?;
            } else if !ticket.is_durable() {
                break;
            }
            if counting {
                record(&mut tally, *kind, *start);
            }
            on_the_way.pop_front();
        }
    }
    Ok(tally)
}

fn record(tally: &mut Tally, kind: usize, start: Instant) {
    let nanos = start.elapsed().as_nanos().min(u128::from(u64::MAX)) as u64;
    tally.histograms[kind].saturating_record(nanos.max(1));
}

#[allow(clippy::too_many_arguments)]
fn report(
    suite: &'static Suite,
    size: u64,
    options: &Options,
    tallies: &[Tally],
    before: &Stats,
    after: &Stats,
    seconds: f64,
    load_seconds: f64,
) -> Report {
    let mut by_transaction = Vec::new();
    let mut transactions = 0;
    for (i, name) in suite.transactions.iter().enumerate() {
        let mut all = tallies[0].histograms[i].clone();
        for tally in &tallies[1..] {
            let _ = all.add(&tally.histograms[i]);
        }
        transactions += all.len();
        by_transaction.push(ByTransaction {
            name,
            count: all.len(),
            txn_per_s: all.len() as f64 / seconds,
            p50_us: all.value_at_quantile(0.5) as f64 / 1e3,
            p99_us: all.value_at_quantile(0.99) as f64 / 1e3,
            max_us: all.max() as f64 / 1e3,
        });
    }
    let records = after.log_records - before.log_records;
    Report {
        workload: suite.name,
        size,
        threads: options.threads,
        protocol: options.protocol.to_string(),
        log: options.log.to_string(),
        durability: options.durability.to_string(),
        seconds,
        transactions,
        txn_per_s: transactions as f64 / seconds,
        by_transaction,
        failed: tallies.iter().map(|t| t.failed).sum(),
        aborts: after
            .aborts
            .iter()
            .map(|(cause, n)| {
                let was = before.aborts.iter().find(|(c, _)| c == cause).map_or(0, |(_, n)| *n);
                ((*cause).to_owned(), n - was)
            })
            .filter(|(_, n)| *n > 0)
            .collect(),
        healing: (after.healing.counters().into_iter())
            .zip(before.healing.counters())
            .map(|((what, n), (_, was))| (what, n - was))
            .filter(|(_, n)| *n > 0)
            .collect(),
        log_bytes_per_txn: (after.log_bytes - before.log_bytes) as f64 / records.max(1) as f64,
        log_records: records,
        fsyncs: after.fsyncs - before.fsyncs,
        rows: after.memory.rows,
        bytes_per_row: after.memory.row_bytes as f64 / after.memory.rows.max(1) as f64,
        index_entries: after.memory.index_entries,
        bytes_per_index_entry: after.memory.index_bytes as f64 / after.memory.index_entries.max(1) as f64,
        load_seconds,
        log_bytes_by_kind: Vec::new(),
        replay: None,
    }
}

fn print_table(r: &Report) {
    println!(
        "{} ({} {}), {} thread{}, {}, log {}, durability {}",
        r.workload,
        r.size,
        Suite::find(r.workload).map_or("units", |s| s.unit),
        r.threads,
        if r.threads == 1 { "" } else { "s" },
        r.protocol,
        r.log,
        r.durability
    );
    println!("  loaded in {:.1} s", r.load_seconds);
    println!(
        "  {:<18} {:>10} {:>12} {:>10} {:>10} {:>10}",
        "", "count", "per second", "p50 us", "p99 us", "max us"
    );
    for t in &r.by_transaction {
        println!(
            "  {:<18} {:>10} {:>12} {:>10.1} {:>10.1} {:>10.1}",
            t.name,
            print::grouped(t.count),
            print::grouped(t.txn_per_s as u64),
            t.p50_us,
            t.p99_us,
            t.max_us
        );
    }
    println!(
        "  {:<18} {:>10} {:>12}",
        "all",
        print::grouped(r.transactions),
        print::grouped(r.txn_per_s as u64)
    );
    let aborts: Vec<String> = r.aborts.iter().map(|(c, n)| format!("{c} {}", print::grouped(*n))).collect();
    println!(
        "  failed {}; retried {}",
        r.failed,
        if aborts.is_empty() { "0".to_owned() } else { aborts.join(", ") }
    );
    if !r.healing.is_empty() {
        let healing: Vec<String> = r
            .healing
            .iter()
            .map(|(what, n)| format!("{} {}", what.replace('_', " "), print::grouped(*n)))
            .collect();
        println!("  healed: {}", healing.join(", "));
    }
    println!(
        "  log: {:.0} bytes a logged transaction, {} syncs",
        r.log_bytes_per_txn,
        print::grouped(r.fsyncs)
    );
    println!(
        "  memory: {} rows at {:.0} bytes, {} index entries at {:.1} bytes",
        print::grouped(r.rows),
        r.bytes_per_row,
        print::grouped(r.index_entries),
        r.bytes_per_index_entry
    );
    if !r.log_bytes_by_kind.is_empty() {
        print!("{}", log_bytes::text(&r.log_bytes_by_kind));
    }
    if let Some(replay) = &r.replay {
        println!("  recovery: {}; {:.2} times the run", replay.text, replay.times_run_rate);
    }
}
