//! `planaria lab`: the experiments of the laboratory, with their tables.

mod breadth;
mod checkpoint;
mod figures;
mod schema;

use crate::arguments::positive;
use crate::campaign;
use crate::print;
use crate::workload::Variables;
use clap::{Args, Subcommand, value_parser};
use indicatif::{ProgressBar, ProgressStyle};
use planaria::{Durability, Error, LogKind, Result, Scheme, SqlState};
use planaria_lab::Machine;
use planaria_lab::calls::{self, Calls};
use planaria_lab::costs::Measurement;
use planaria_lab::recovery::{Experiment, Length, Outcome, Watch};
use planaria_lab::restart::Restarts;
use planaria_lab::simulate::{Simulation, TAKE_NANOSECONDS, TaskGraph};
use planaria_workload::Suite;
use std::io::IsTerminal;
use std::path::PathBuf;
use std::sync::Mutex;
use std::time::Duration;

/// The experiments.
#[derive(Subcommand)]
pub enum Experiments {
    /// Runs a workload, crashes it, and recovers it by each scheme.
    Recovery(RecoveryOptions),
    /// Replays recorded tasks on more workers than there are.
    SimulateRecovery(SimulateOptions),
    /// Measures what a checkpoint costs: transactions meanwhile, the disk, a restart from it.
    Checkpoint(checkpoint::CheckpointOptions),
    /// Compares what a database says a restart would take with what it takes.
    Restart(RestartOptions),
    /// Measures what a large schema costs: making it, restarts from the log and from a checkpoint.
    Schema(schema::SchemaOptions),
    /// Measures what many tables and procedures cost a recovery, beside few of the same kind.
    Breadth(breadth::BreadthOptions),
    /// Lets faults of disk, power and clock strike a database, and looks whether it keeps its promises.
    Faults(campaign::FaultsOptions),
    /// Checks what concurrent random transactions saw for one order that explains it.
    Histories(campaign::HistoriesOptions),
    /// Measures the prices by which log kind adaptive chooses.
    Costs(CostsOptions),
    /// Measures what a call of each procedure takes, one kind after the other, on one thread without a log.
    Calls(CallsOptions),
    /// Lists the named figures and tables.
    Figures,
    #[command(flatten)]
    Figure(figures::Figure),
}

/// Runs an experiment.
pub fn lab(experiment: &Experiments) -> Result<()> {
    match experiment {
        Experiments::Recovery(options) => recovery(options),
        Experiments::SimulateRecovery(options) => simulate(options),
        Experiments::Costs(options) => costs(options),
        Experiments::Calls(options) => calls(options),
        Experiments::Figures => {
            figures::list();
            Ok(())
        }
        Experiments::Figure(figure) => figures::run(figure),
        Experiments::Checkpoint(options) => checkpoint::run(options),
        Experiments::Restart(options) => restart(options),
        Experiments::Schema(options) => schema::run(options),
        Experiments::Breadth(options) => breadth::run(options),
        Experiments::Faults(options) => campaign::faults(options),
        Experiments::Histories(options) => campaign::histories(options),
    }
}

/// Options of `planaria lab recovery`.
#[derive(Args)]
pub struct RecoveryOptions {
    /// tpcc, smallbank, ycsb, voter or tpcb; or a folder with workload.toml, such as ./mine
    #[arg(long, default_value = "tpcc")]
    workload: String,
    #[command(flatten)]
    variables: Variables,
    /// Size, in the workload's unit (warehouses, customers, records, contestants, branches)
    #[arg(long, visible_aliases = ["warehouses", "customers", "records"])]
    scale: Option<u64>,
    /// Transactions to run
    #[arg(long, default_value_t = 100_000, conflicts_with = "seconds")]
    transactions: u64,
    /// Seconds to run, instead of a number of transactions
    #[arg(long)]
    seconds: Option<f64>,
    /// Workers of the run
    #[arg(long, default_value_t = 2, value_parser = positive())]
    workers: usize,
    /// Schemes, by commas; all of them without
    #[arg(long, value_delimiter = ',')]
    schemes: Vec<Scheme>,
    /// Kinds of log each scheme reads, by commas; without, the one each is made for
    #[arg(long, value_delimiter = ',')]
    log_kinds: Vec<LogKind>,
    /// Threads that recover, by commas
    #[arg(long, value_delimiter = ',', default_values_t = [1, 2], value_parser = positive())]
    threads: Vec<usize>,
    /// Turns; medians are shown
    #[arg(long, default_value_t = 3, value_parser = positive())]
    repeat: usize,
    /// Of a hundred transactions, those that are run ad hoc
    #[arg(long, default_value_t = 0.0, value_name = "SHARE")]
    ad_hoc: f64,
    /// Transactions a batch of replay; the scheme's choice without
    #[arg(long, value_parser = positive())]
    batch: Option<usize>,
    /// Durability of the run: async or fsync
    #[arg(long, default_value = "async")]
    durability: Durability,
    /// Directory for the logs; a temporary one without
    #[arg(long)]
    dir: Option<PathBuf>,
    /// Seed of the inputs
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Writes the tasks of the last measured scheme that has any, for simulate-recovery
    #[arg(long, value_name = "FILE")]
    record_tasks: Option<PathBuf>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// Options of `planaria lab simulate-recovery`.
#[derive(Args)]
pub struct SimulateOptions {
    /// What `planaria lab recovery --record-tasks` wrote
    file: PathBuf,
    /// Numbers of workers, by commas
    #[arg(long, value_delimiter = ',', default_values_t = [1, 2, 4, 8, 16, 24, 32, 40, 48, 64],
          value_parser = positive())]
    workers: Vec<usize>,
    /// Nanoseconds it costs a worker to take a task
    #[arg(long, default_value_t = TAKE_NANOSECONDS)]
    take_ns: u64,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// Options of `planaria lab calls`.
#[derive(Args)]
pub struct CallsOptions {
    /// operations (one of each, on a table); tpcc, smallbank, ycsb, voter or tpcb
    #[arg(long, default_value = "operations")]
    workload: String,
    /// Rows of the table, or size in the workload's unit (warehouses, customers, records, contestants, branches)
    #[arg(long, visible_aliases = ["rows", "warehouses", "customers", "records"], value_parser = value_parser!(u64).range(1..))]
    scale: Option<u64>,
    /// Kinds of calls, by commas; all of them without
    #[arg(long, value_delimiter = ',', value_name = "NAMES")]
    only: Vec<String>,
    /// Calls of each kind and turn
    #[arg(long, default_value_t = 10_000, value_parser = value_parser!(u64).range(1..))]
    times: u64,
    /// Turns; medians are shown
    #[arg(long, default_value_t = 5, value_parser = positive())]
    repeat: usize,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// Options of `planaria lab costs`.
#[derive(Args)]
pub struct CostsOptions {
    /// Rows of each of the three tables
    #[arg(long, default_value_t = 1_000_000, value_parser = clap::value_parser!(u64).range(1..))]
    rows: u64,
    /// Times an operation is repeated in a transaction
    #[arg(long, default_value_t = 20_000, value_parser = clap::value_parser!(u64).range(1..))]
    operations: u64,
    /// Turns; the least times are shown
    #[arg(long, default_value_t = 5, value_parser = positive())]
    repeat: usize,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// Options of `planaria lab restart`.
#[derive(Args)]
pub struct RestartOptions {
    /// tpcc, smallbank, ycsb, voter or tpcb; or a folder with workload.toml, such as ./mine
    #[arg(long, default_value = "tpcc")]
    workload: String,
    #[command(flatten)]
    variables: Variables,
    /// Size, in the workload's unit (warehouses, customers, records, contestants, branches)
    #[arg(long, visible_aliases = ["warehouses", "customers", "records"])]
    scale: Option<u64>,
    /// Transactions of the first turn; each later turn has as many more
    #[arg(long, default_value_t = 50_000, value_parser = clap::value_parser!(u64).range(1..))]
    transactions: u64,
    /// Turns
    #[arg(long, default_value_t = 5, value_parser = clap::value_parser!(u64).range(1..))]
    turns: u64,
    /// Workers of the runs
    #[arg(long, default_value_t = 2, value_parser = positive())]
    workers: usize,
    /// Recovery scheme
    #[arg(long, default_value_t)]
    recovery: Scheme,
    /// Threads that recover
    #[arg(long, default_value_t = 2, value_parser = positive())]
    threads: usize,
    /// Directory for the database; a temporary one without
    #[arg(long)]
    dir: Option<PathBuf>,
    /// Seed of the inputs
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

fn restart(o: &RestartOptions) -> Result<()> {
    let suite = o.variables.find(&o.workload)?;
    let suite = &*suite;
    let experiment = Restarts {
        suite,
        size: o.scale.unwrap_or(suite.default_size),
        transactions: o.transactions,
        turns: o.turns,
        workers: o.workers,
        scheme: o.recovery,
        threads: o.threads,
        seed: o.seed,
    };
    let dir = o.dir.clone().unwrap_or_else(std::env::temp_dir);
    let steps = Steps::default();
    let outcome = experiment.run(&dir, &steps);
    steps.end();
    let outcome = outcome?;
    if o.json {
        println!("{}", serde_json::to_string_pretty(&outcome).map_err(std::io::Error::other)?);
        return Ok(());
    }
    println!(
        "  {:>12} {:>12} {:>12} {:>12} {:>10} {:>8}  rates",
        "rows", "checkpoint", "log", "foretold s", "taken s", "error"
    );
    for t in &outcome.turns {
        println!(
            "  {:>12} {:>12} {:>12} {:>12.2} {:>10.2} {:>7.0}%  {}",
            print::grouped(t.rows),
            print::bytes(t.checkpoint_bytes),
            print::bytes(t.log_bytes),
            t.predicted_seconds,
            t.seconds,
            t.error_percent,
            if t.measured { "measured" } else { "assumed" }
        );
    }
    Ok(())
}

fn calls(options: &CallsOptions) -> Result<()> {
    let default = match options.workload.as_str() {
        calls::OPERATIONS => calls::ROWS,
        name => {
            let hint = "There are operations, tpcc, smallbank, ycsb, voter and tpcb.";
            Suite::find(name).map_err(|error| error.with_hint(hint))?.default_size
        }
    };
    let size = options.scale.unwrap_or(default);
    let (suite, only) = (options.workload.clone(), options.only.clone());
    let taken = Calls { suite, size, only, times: options.times, repeat: options.repeat }.run()?;
    if options.json {
        println!("{}", serde_json::to_string_pretty(&taken).map_err(std::io::Error::other)?);
        return Ok(());
    }
    println!("  {:<22} {:>12}", "call", "ns");
    for one in &taken {
        println!("  {:<22} {:>12.0}", one.call, one.nanoseconds);
    }
    Ok(())
}

fn costs(options: &CostsOptions) -> Result<()> {
    let steps = Steps::default();
    let measurement =
        Measurement { rows: options.rows, operations: options.operations, repeat: options.repeat };
    let prices = measurement.run(&steps);
    steps.end();
    let prices = prices?;
    if options.json {
        println!("{}", serde_json::to_string_pretty(&prices).map_err(std::io::Error::other)?);
        return Ok(());
    }
    println!("  {:<22} {:>12} {:>12}", "operation", "measured ns", "in use");
    for p in &prices {
        println!("  {:<22} {:>12.1} {:>12.1}", p.operation, p.measured_ns, p.used_ns);
    }
    Ok(())
}

fn invalid(what: &str) -> Error {
    Error::new(SqlState::INVALID_PARAMETER_VALUE, what)
}

fn recovery(options: &RecoveryOptions) -> Result<()> {
    let suite = options.variables.find(&options.workload)?;
    let suite = &*suite;
    if options.durability == Durability::Off || options.log_kinds.contains(&LogKind::Off) {
        return Err(invalid("what is not logged cannot be recovered"));
    }
    if !(0.0..=100.0).contains(&options.ad_hoc) {
        return Err(invalid("the share of ad hoc transactions is one of a hundred"));
    }
    let experiment = Experiment {
        suite,
        size: options.scale.unwrap_or(suite.default_size),
        length: match options.seconds {
            Some(seconds) => {
                Length::Time(Duration::try_from_secs_f64(seconds).map_err(|e| invalid(&e.to_string()))?)
            }
            None => Length::Transactions(options.transactions),
        },
        workers: options.workers,
        schemes: if options.schemes.is_empty() { Scheme::ALL.to_vec() } else { options.schemes.clone() },
        kinds: (!options.log_kinds.is_empty()).then(|| options.log_kinds.clone()),
        threads: options.threads.clone(),
        repeat: options.repeat,
        ad_hoc: options.ad_hoc,
        batch: options.batch,
        durability: options.durability,
        seed: options.seed,
        record_tasks: options.record_tasks.is_some(),
    };
    if let Some(file) = &options.record_tasks {
        // What it cannot be written to is better known before the work than after it.
        std::fs::OpenOptions::new()
            .write(true)
            .create(true)
            .truncate(false)
            .open(file)
            .map_err(|e| Error::file("open file", file, e))?;
    }
    let temporary = std::env::temp_dir();
    let steps = Steps::default();
    let outcome = experiment.run(options.dir.as_deref().unwrap_or(&temporary), &steps);
    steps.end();
    let outcome = outcome?;
    if options.json {
        println!("{}", serde_json::to_string_pretty(&outcome).map_err(std::io::Error::other)?);
    } else {
        print_recovery(&outcome);
    }
    if let Some(file) = &options.record_tasks {
        let recorded = outcome.results.iter().rev().find(|r| !r.tasks.is_empty());
        let r = recorded.ok_or_else(|| invalid("none of these schemes records its tasks"))?;
        let title = format!("{} {} {}, {} log", suite.name, outcome.workload.size, suite.unit, r.log);
        let transactions = (r.txn_per_s * r.seconds).round() as u64;
        TaskGraph::new(title, r.scheme, r.threads, transactions, &r.tasks).write(file)?;
        eprintln!(
            "{} tasks of {} written to {}",
            print::grouped(r.tasks.len() as u64),
            r.scheme,
            file.display()
        );
    }
    none_wrong(&outcome.wrong())
}

/// XX001 where recoveries did not end where they must.
fn none_wrong(wrong: &[String]) -> Result<()> {
    match wrong {
        [] => Ok(()),
        wrong => Err(Error::new(
            SqlState::DATA_CORRUPTED,
            format!("{} recoveries did not end where they must", wrong.len()),
        )
        .with_detail(wrong.join("\n"))),
    }
}

/// Shows the steps: a bar on a terminal, a line each elsewhere.
#[derive(Default)]
pub struct Steps(Mutex<Option<ProgressBar>>);

impl Steps {
    /// Takes the bar away.
    pub fn end(&self) {
        if let Some(bar) = self.0.lock().unwrap_or_else(|e| e.into_inner()).take() {
            bar.finish_and_clear();
        }
    }
}

impl Watch for Steps {
    fn step(&self, what: &str, total: u64) {
        self.end();
        if !std::io::stderr().is_terminal() {
            eprintln!("{what}");
            return;
        }
        let (bar, template) = match total {
            0 => (ProgressBar::new_spinner(), "{spinner} {msg}, {elapsed}"),
            n => (ProgressBar::new(n), "{bar:30} {msg}, {human_pos} of {human_len}, {per_sec}, {eta} to go"),
        };
        bar.set_style(ProgressStyle::with_template(template).unwrap_or(ProgressStyle::default_bar()));
        bar.set_message(what.to_owned());
        bar.enable_steady_tick(Duration::from_millis(100));
        *self.0.lock().unwrap_or_else(|e| e.into_inner()) = Some(bar);
    }

    fn at(&self, done: u64) {
        if let Some(bar) = &*self.0.lock().unwrap_or_else(|e| e.into_inner()) {
            bar.set_position(done);
        }
    }
}

fn print_machine(machine: &Machine) {
    println!(
        "{}, {} cores, {} of last-level cache, {} of memory",
        machine.processor,
        machine.cores,
        print::bytes(machine.cache_bytes),
        print::bytes(machine.memory_bytes)
    );
}

fn print_recovery(o: &Outcome) {
    let w = &o.workload;
    println!(
        "{} ({} {}), {} rows, {}, loaded in {:.1} s",
        w.name,
        print::grouped(w.size),
        w.unit,
        print::grouped(w.rows),
        print::bytes(w.bytes),
        w.load_seconds
    );
    print_machine(&o.machine);
    println!("\nRun with {} workers, {} % ad hoc", w.workers, w.ad_hoc);
    println!(
        "  {:<14} {:>10} {:>10} {:>10} {:>10} {:>11} {:>9}",
        "log", "txns", "logged", "txn/s", "logged/s", "log bytes", "per txn"
    );
    for r in &o.runs {
        println!(
            "  {:<14} {:>10} {:>10} {:>10} {:>10} {:>11} {:>9.1}",
            r.log,
            print::grouped(r.transactions),
            print::grouped(r.logged),
            print::grouped(r.txn_per_s as u64),
            print::grouped(r.logged_per_s as u64),
            print::bytes(r.log_bytes),
            r.log_bytes_per_txn
        );
        if r.failed > 0 {
            println!("  {:<14} {} of them refused", "", print::grouped(r.failed));
        }
    }
    println!("\nRecovery; phases in seconds, summed over threads");
    println!(
        "  {:<14} {:<13} {:>3} {:>11} {:>7} {:>7} {:>8} | {:>7} {:>7} {:>7} {:>7} {:>7} | rows",
        "scheme",
        "log",
        "thr",
        "txn/s",
        "x CLR",
        "x run",
        "seconds",
        "load",
        "plan",
        "execute",
        "wait",
        "index"
    );
    for r in &o.results {
        let p = &r.phases;
        println!(
            "  {:<14} {:<13} {:>3} {:>11} {:>7} {:>7.2} {:>8.2} | {:>7.2} {:>7.2} {:>7.2} {:>7.2} {:>7.2} | {}",
            r.scheme,
            r.log,
            r.threads,
            print::grouped(r.txn_per_s as u64),
            r.speedup_over_clr.map_or("-".into(), |x| format!("{x:.2}")),
            r.times_run_rate,
            r.seconds,
            p.load,
            p.plan,
            p.execute,
            p.wait,
            p.index,
            if r.wrong.is_empty() && r.digest_ok { "as before" } else { "WRONG" }
        );
    }
}

fn simulate(options: &SimulateOptions) -> Result<()> {
    let simulation = TaskGraph::read(&options.file)?.simulate(&options.workers, options.take_ns);
    if options.json {
        println!("{}", serde_json::to_string_pretty(&simulation).map_err(std::io::Error::other)?);
    } else {
        print_simulation(&simulation);
    }
    Ok(())
}

fn print_simulation(s: &Simulation) {
    println!(
        "{}: {} transactions by {}, recorded with {} threads, {} tasks",
        s.title,
        print::grouped(s.transactions),
        s.scheme,
        s.recorded_with_threads,
        print::grouped(s.tasks as u64)
    );
    println!("work {:.1} ms, span {:.2} ms, work / span {:.1}", s.work_ms, s.span_ms, s.parallelism);
    let kinds: Vec<String> =
        s.work_ms_by_kind.iter().map(|(kind, ms)| format!("{kind} {ms:.1} ms")).collect();
    println!("of the work: {}", kinds.join(", "));
    println!("\n  {:>7} {:>12} {:>9} {:>12} {:>14}", "workers", "ms", "speed-up", "utilization", "txn/s");
    for p in &s.points {
        println!(
            "  {:>7} {:>12.1} {:>9.1} {:>11.0}% {:>14}",
            p.workers,
            p.milliseconds,
            p.speedup,
            p.utilization * 100.0,
            print::grouped(p.txn_per_s as u64)
        );
    }
}
