//! `planaria bench`: a workload through the embedding API, measured.
//!
//! Each session has a thread and submits one call after another without waiting for the disk; a
//! call counts when its epoch is durable (with durability `fsync`), and its latency is measured up
//! to then. The number of calls on the way is bounded by `--in-flight`. See [`planaria_lab::load`].

use crate::arguments::{Size, Time, positive};
use crate::bench_output::{self as output, Line, Percentile};
use crate::beside::{self, Beside};
use crate::inputs::Inputs;
use crate::log_bytes::{self, LogBytes};
use crate::print;
use crate::protocol::Protocol;
use crate::recovery::{self, Recovery};
use crate::workload::{self, Variables};
use clap::Args;
use planaria::lab::{LabDatabase, Pauses};
use planaria::{BackoffKind, Database, Durability, Error, LogKind, Result, SqlState};
use planaria_lab::load::{Live, Load, Measured, Second};
use planaria_workload::Suite;
use serde::Serialize;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// Options of `planaria bench`.
#[derive(Args)]
pub struct Options {
    /// tpcc, smallbank, ycsb, voter or tpcb; or a folder with workload.toml, such as ./mine
    #[arg(required_unless_present = "new")]
    workload: Option<String>,
    /// Write an example workload into a folder, and exit
    #[arg(long, value_name = "DIR", conflicts_with = "workload")]
    new: Option<PathBuf>,
    #[command(flatten)]
    variables: Variables,
    /// Worker threads, each with a session
    #[arg(long, default_value_t = 1, value_parser = positive())]
    threads: usize,
    /// Sessions, one thread each; may exceed the number of cores
    #[arg(long, value_parser = positive(), conflicts_with = "threads")]
    sessions: Option<usize>,
    /// Table operations after which a session yields its processor, even within a transaction; 0: never
    #[arg(long, default_value_t = 0, value_name = "N")]
    yield_every: u64,
    /// A wait in every attempt, after reading and before the commit: 200us, 2ms
    #[arg(long, value_name = "DURATION")]
    wait: Option<Time>,
    /// How long conflicting calls wait before a retry: none or exponential
    #[arg(long, default_value_t)]
    backoff: BackoffKind,
    /// Whether calls fetch rows that they are known to look up before they begin, all at once
    #[arg(long, default_value_t = true, action = clap::ArgAction::Set, value_name = "BOOL")]
    look_ahead: bool,
    /// Calls that a session submits together, so that rows are fetched for all of them beforehand; latencies count from then
    #[arg(long, default_value_t = 1, value_parser = positive().range(1..=10_000), value_name = "CALLS", conflicts_with = "rate")]
    together: usize,
    /// Transactions due per second, whether or not earlier ones have finished; latencies count from when they are due
    #[arg(long, value_name = "PER_SECOND")]
    rate: Option<f64>,
    /// Report what happened in each second
    #[arg(long)]
    series: bool,
    /// Percentage of transactions that run as transaction blocks
    #[arg(long, default_value_t = 0.0, value_name = "SHARE")]
    ad_hoc: f64,
    /// Percentage of calls that are retried where they could be healed
    #[arg(long, default_value_t = 0.0, value_name = "SHARE")]
    unhealed: f64,
    #[command(flatten)]
    inputs: Inputs,
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
    /// The concurrency protocol, one of the shelf: silo, serial, occ, two_phase, hybrid, healing and the others. To measure
    /// what is lost by failed attempts, without durability: silo-unvalidated, occ-unvalidated, which lose updates
    #[arg(long, default_value = "silo")]
    protocol: Protocol,
    /// Directory for the log (default: a temporary one)
    #[arg(long)]
    data: Option<PathBuf>,
    /// Calls a thread may have in flight
    #[arg(long, default_value_t = 10_000, value_parser = positive())]
    in_flight: usize,
    /// Memory for rows and indexes that is claimed before (512MB, 8GB), so that no transaction waits for it
    #[arg(long, value_name = "SIZE", default_value = "0")]
    memory_reserve: Size,
    /// Transaction blocks that come and go in every second second, each open for a tenth of one; what they cost is shown
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
    /// Show the distribution of latencies, by transaction
    #[arg(long)]
    histogram: bool,
    /// Write what happened in each second as CSV
    #[arg(long, value_name = "FILE")]
    csv: Option<PathBuf>,
    /// Write an HTML page with tables and plots
    #[arg(long, value_name = "FILE.html")]
    report: Option<PathBuf>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

#[derive(Serialize)]
struct Report {
    workload: String,
    size: u64,
    unit: String,
    threads: usize,
    cores: usize,
    yield_every: u64,
    wait_us: f64,
    backoff: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    rate: Option<f64>,
    protocol: String,
    log: String,
    durability: String,
    seconds: f64,
    transactions: u64,
    txn_per_s: f64,
    by_transaction: Vec<ByTransaction>,
    p50_us: f64,
    p95_us: f64,
    p99_us: f64,
    mean_us: f64,
    /// Calls that a session may have on the way to the disk.
    in_flight_max: usize,
    /// Calls that were on the way on average: throughput times latency.
    in_flight_mean: f64,
    failed: u64,
    /// Calls of an open loop that should have begun, and had not.
    #[serde(skip_serializing_if = "Option::is_none")]
    behind: Option<u64>,
    aborts: Vec<(&'static str, u64)>,
    restarts_per_txn: f64,
    /// Of all attempts, those in vain, too.
    table_operations_per_txn: f64,
    cpu_us_per_txn: f64,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    series: Vec<Second>,
    #[serde(skip_serializing_if = "Option::is_none")]
    beside_blocks: Option<Beside>,
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
    name: String,
    count: u64,
    txn_per_s: f64,
    p50_us: f64,
    p95_us: f64,
    p99_us: f64,
    max_us: f64,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    percentiles: Vec<Percentile>,
}

/// Runs the benchmark and prints what it found.
pub fn bench(options: &Options) -> Result<()> {
    if let Some(dir) = &options.new {
        return workload::write_new(dir);
    }
    let suite = options.variables.find(options.workload.as_deref().unwrap_or_default())?;
    let suite: &Suite = &suite;
    output::writable(options.csv.as_deref())?;
    output::writable(options.report.as_deref())?;
    suite.check(&options.inputs.parameters())?;
    let size = options.warehouses.or(options.rows).unwrap_or(suite.default_size);
    if size == 0 {
        let what = format!("{} of no size has nothing to run on", suite.name);
        return Err(Error::new(SqlState::INVALID_PARAMETER_VALUE, what).with_hint("It is 1 at least."));
    }
    let logged = options.log != LogKind::Off && options.durability != Durability::Off;
    let temporary = std::env::temp_dir().join(format!("planaria-bench-{}", std::process::id()));
    let dir = options.data.clone().unwrap_or(temporary.clone());
    let configuration = options.protocol.options(logged || options.log_bytes.is_some())?;
    let configuration =
        configuration.log(options.log).durability(options.durability).backoff(options.backoff);
    let configuration = configuration.memory_reserve(options.memory_reserve.0);
    let configuration = options.recovery.apply(configuration.look_ahead(options.look_ahead));
    let _cleanup = RemoveOnDrop(options.data.is_none().then_some(temporary));

    if options.recover && !logged {
        return Err(Error::new(SqlState::INVALID_PARAMETER_VALUE, "nothing would be logged to recover from"));
    }
    if options.recover && dir.read_dir().is_ok_and(|mut entries| entries.next().is_some()) {
        let what = format!("the directory {} is not empty", dir.display());
        return Err(
            Error::new(SqlState::OBJECT_IN_USE, what).with_hint("--recover creates its own database.")
        );
    }
    let start = Instant::now();
    let line = Line::new();
    line.say(format!("loading {} {}", print::grouped(size), suite.unit));
    // What is recovered is the run alone: the load stands in a database that the logged one is a copy of.
    let base = options.recover.then(|| configuration.clone().memory_reserve(0).in_memory()).transpose()?;
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

    let (measured, beside_blocks) = measure(&db, suite, size, options, &line)?;
    drop(line);
    let mut report = report(suite, size, options, &measured, load_seconds);
    report.beside_blocks = beside_blocks;
    if let Some(error) = &measured.first_error {
        eprint!("a transaction failed: {}", print::error(error, None));
    }
    if options.check {
        check(suite, &db, size, options, "")?;
    }
    if let Some(transactions) = options.log_bytes {
        let logs = RemoveOnDrop(Some(dir.with_extension("log-bytes")));
        let at = logs.0.as_deref().unwrap_or(&dir);
        report.log_bytes_by_kind = log_bytes::compare(&db, suite, size, transactions, options.seed, at)?;
    }
    if options.recover {
        db.close()?;
        let db = recovery::with_bars(configuration, open)?;
        if options.check {
            check(suite, &db, size, options, " after recovery")?;
        }
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
        print_table(&report, options.series);
        let drawn = suite.transactions.iter().zip(&measured.latencies).filter(|(_, of)| !of.is_empty());
        for (name, of) in drawn.filter(|_| options.histogram) {
            print!("{}", output::bars(name, of));
        }
    }
    output::write(options.csv.as_deref(), || output::csv(&report.series))?;
    output::write(options.report.as_deref(), || page(&report))
}

/// The report for a browser.
fn page(r: &Report) -> String {
    let title = format!("{}: {} {}", r.workload, print::grouped(r.size), r.unit);
    let facts = [
        ("transactions a second", print::grouped(r.txn_per_s as u64)),
        ("median latency", output::time(r.p50_us)),
        ("99 % of latencies", output::time(r.p99_us)),
        ("in flight on average", print::grouped(r.in_flight_mean.round() as u64)),
        ("retries each", format!("{:.3}", r.restarts_per_txn)),
        ("failed", print::grouped(r.failed)),
        ("sessions", r.threads.to_string()),
        ("cores", r.cores.to_string()),
        ("scheme", r.protocol.clone()),
        ("log", format!("{}, {}, {:.0} bytes each", r.log, r.durability, r.log_bytes_per_txn)),
        ("rows", print::grouped(r.rows)),
    ];
    let head = ["transaction", "count", "per second", "p50 us", "p95 us", "p99 us", "max us"];
    let mut table = vec![head.map(str::to_owned).to_vec()];
    table.extend(r.by_transaction.iter().filter(|t| t.count > 0).map(|t| {
        let micros = [t.p50_us, t.p95_us, t.p99_us, t.max_us].map(|us| format!("{us:.1}"));
        let counts = [t.name.clone(), print::grouped(t.count), print::grouped(t.txn_per_s as u64)];
        counts.into_iter().chain(micros).collect()
    }));
    output::html(&title, &facts, &table, &r.series)
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
    line: &Line,
) -> Result<(Measured, Option<Beside>)> {
    let show = |live: Live| line.show(live);
    let seconds = |what: f64| {
        Duration::try_from_secs_f64(what)
            .map_err(|e| Error::new(SqlState::INVALID_PARAMETER_VALUE, e.to_string()))
    };
    let parameters = options.inputs.parameters();
    let load = Load {
        suite,
        size,
        sessions: options.sessions(),
        parameters: &parameters,
        pauses: Pauses { yield_every: options.yield_every, wait: options.wait(), ..Pauses::default() },
        unhealed: options.unhealed,
        ad_hoc: options.ad_hoc,
        rate: options.rate,
        readers: 0,
        together: options.together,
        in_flight: options.in_flight,
        durable: options.durability == Durability::Fsync,
        warmup: seconds(options.warmup)?,
        time: seconds(options.seconds)?,
        series: options.series || options.csv.is_some() || options.report.is_some(),
        watch: line.is_shown().then_some(&show),
        seed: options.seed,
    };
    let stop = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let blocks = (options.blocks > 0).then(|| scope.spawn(|| beside::blocks(db, options.blocks, &stop)));
        let measured = load.run(db);
        stop.store(true, Ordering::Relaxed);
        let beside = match blocks.map(std::thread::ScopedJoinHandle::join) {
            None => None,
            Some(found) => {
                found.map_err(|_| Error::new(SqlState::INTERNAL_ERROR, "what opens blocks panicked"))??
            }
        };
        Ok((measured?, beside))
    })
}

impl Options {
    fn sessions(&self) -> usize {
        self.sessions.unwrap_or(self.threads)
    }

    fn wait(&self) -> Duration {
        self.wait.map_or(Duration::ZERO, |Time(wait)| wait)
    }
}

/// Runs the checks; what does not hold is an error.
fn check(suite: &Suite, db: &Database, size: u64, options: &Options, when: &str) -> Result<()> {
    let violations = suite.violations_after(db, size, true, &options.inputs.parameters())?;
    if let Some(v) = violations.first() {
        let what = format!("check violated {} times{when}: {}", v.count, v.condition);
        return Err(Error::new(SqlState::INTERNAL_ERROR, what));
    }
    eprintln!("checks{when}: all 0");
    Ok(())
}

fn report(suite: &Suite, size: u64, options: &Options, measured: &Measured, load_seconds: f64) -> Report {
    let (before, after, seconds) = (&measured.before, &measured.after, measured.seconds);
    let micros = |of: &hdrhistogram::Histogram<u64>, q: f64| of.value_at_quantile(q) as f64 / 1e3;
    let by_transaction = (suite.transactions.iter().zip(&measured.latencies))
        .map(|(name, of)| ByTransaction {
            name: name.to_string(),
            count: of.len(),
            txn_per_s: of.len() as f64 / seconds,
            p50_us: micros(of, 0.5),
            p95_us: micros(of, 0.95),
            p99_us: micros(of, 0.99),
            max_us: of.max() as f64 / 1e3,
            percentiles: if options.histogram { output::percentiles(of) } else { Vec::new() },
        })
        .collect();
    let (all, transactions) = (measured.all(), measured.transactions());
    let records = after.log_records - before.log_records;
    Report {
        workload: suite.name.to_string(),
        size,
        unit: suite.unit.to_string(),
        threads: options.sessions(),
        cores: cores(),
        yield_every: options.yield_every,
        wait_us: options.wait().as_secs_f64() * 1e6,
        backoff: options.backoff.to_string(),
        rate: options.rate,
        protocol: options.protocol.to_string(),
        log: options.log.to_string(),
        durability: options.durability.to_string(),
        seconds,
        transactions,
        txn_per_s: transactions as f64 / seconds,
        by_transaction,
        p50_us: micros(&all, 0.5),
        p95_us: micros(&all, 0.95),
        p99_us: micros(&all, 0.99),
        mean_us: all.mean() / 1e3,
        in_flight_max: options.in_flight,
        in_flight_mean: transactions as f64 / seconds * all.mean() / 1e9,
        failed: measured.failed,
        behind: options.rate.map(|_| measured.behind),
        aborts: measured.restarts(),
        restarts_per_txn: measured.restarts_each(),
        table_operations_per_txn: measured.each(measured.table_operations as f64),
        cpu_us_per_txn: measured.each(measured.cpu_seconds) * 1e6,
        series: measured.series.clone(),
        beside_blocks: None,
        healing: measured.healing(),
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

fn cores() -> usize {
    std::thread::available_parallelism().map_or(1, |n| n.get())
}

fn print_table(r: &Report, series: bool) {
    println!(
        "{} ({} {}), {} thread{}, {}, log {}, durability {}",
        r.workload,
        r.size,
        r.unit,
        r.threads,
        if r.threads == 1 { "" } else { "s" },
        r.protocol,
        r.log,
        r.durability
    );
    println!("  loaded in {:.1} s", r.load_seconds);
    if r.threads > r.cores && r.wait_us == 0.0 {
        println!(
            "  {} sessions on {} cores: throughput also depends on the system's scheduler",
            r.threads, r.cores
        );
    }
    println!(
        "  {:<16} {:>10} {:>10} {:>9} {:>9} {:>9} {:>9}",
        "", "count", "per second", "p50 us", "p95 us", "p99 us", "max us"
    );
    for t in r.by_transaction.iter().filter(|t| t.count > 0) {
        println!(
            "  {:<16} {:>10} {:>10} {:>9.1} {:>9.1} {:>9.1} {:>9.1}",
            t.name,
            print::grouped(t.count),
            print::grouped(t.txn_per_s as u64),
            t.p50_us,
            t.p95_us,
            t.p99_us,
            t.max_us
        );
    }
    println!(
        "  {:<16} {:>10} {:>10} {:>9.1} {:>9.1} {:>9.1}",
        "all",
        print::grouped(r.transactions),
        print::grouped(r.txn_per_s as u64),
        r.p50_us,
        r.p95_us,
        r.p99_us
    );
    if r.durability == Durability::Fsync.to_string() && r.rate.is_none() {
        print!("{}", output::in_flight(r.txn_per_s, r.mean_us, r.in_flight_max, r.threads));
    }
    let aborts: Vec<String> = r.aborts.iter().map(|(c, n)| format!("{c} {}", print::grouped(*n))).collect();
    println!(
        "  failed {}; retried {}",
        r.failed,
        if aborts.is_empty() { "0".to_owned() } else { aborts.join(", ") }
    );
    println!(
        "  each: {:.3} retries, {:.1} table operations, {:.1} us of processor time",
        r.restarts_per_txn, r.table_operations_per_txn, r.cpu_us_per_txn
    );
    if let (Some(rate), Some(behind)) = (r.rate, r.behind) {
        println!(
            "  open loop, {} per second: {} calls had not begun at the end",
            print::grouped(rate as u64),
            print::grouped(behind)
        );
    }
    for (second, s) in r.series.iter().enumerate().filter(|_| series) {
        println!(
            "  second {:>4}: {:>10} transactions, {:>10} retries, {:>10.1} us at most",
            second + 1,
            print::grouped(s.transactions),
            print::grouped(s.restarts),
            s.max_us
        );
    }
    if let Some(beside) = &r.beside_blocks {
        println!("  {beside}");
    }
    if !r.healing.is_empty() {
        let healing: Vec<String> = r
            .healing
            .iter()
            .map(|(what, n)| format!("{} {}", what.replace('_', " "), print::grouped(*n)))
            .collect();
        println!("  healed: {}", healing.join(", "));
    }
    println!(
        "  log: {:.0} bytes per logged transaction, {} syncs",
        r.log_bytes_per_txn,
        print::grouped(r.fsyncs)
    );
    println!(
        "  memory: {} rows of {:.0} bytes, {} index entries of {:.1} bytes",
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
