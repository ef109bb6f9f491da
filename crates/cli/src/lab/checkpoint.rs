//! `planaria lab checkpoint`.

use super::Steps;
use crate::arguments::positive;
use crate::print;
use crate::workload::Variables;
use clap::Args;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use planaria::{Error, Result, SqlState};
use planaria_lab::checkpoint::{Checkpoints, Outcome, Writing};
use std::path::PathBuf;
use std::time::Duration;

/// Options of `planaria lab checkpoint`.
#[derive(Args)]
pub struct CheckpointOptions {
    /// tpcc, smallbank, ycsb, voter or tpcb; or a folder with workload.toml, such as ./mine
    #[arg(long, default_value = "tpcc")]
    workload: String,
    #[command(flatten)]
    variables: Variables,
    /// Size, in the workload's unit (warehouses, customers, records, contestants, branches)
    #[arg(long, visible_aliases = ["warehouses", "customers", "records"])]
    scale: Option<u64>,
    /// Seconds of each part of a turn
    #[arg(long, default_value_t = 20.0)]
    seconds: f64,
    /// Seconds over which a checkpoint is spread, where one is; by default as long as the other parts
    #[arg(long)]
    over: Option<f64>,
    /// What is written in the parts of a turn, beside none before and after each
    #[arg(long, value_parser = writing(), value_delimiter = ',', default_value = "full-speed,spread")]
    writing: Vec<Writing>,
    /// Turns; medians are shown
    #[arg(long, default_value_t = 3, value_parser = positive())]
    turns: usize,
    /// Workers
    #[arg(long, default_value_t = 2, value_parser = positive())]
    workers: usize,
    /// Calls a worker has on the way to the disk
    #[arg(long, default_value_t = 32, value_parser = positive())]
    in_flight: usize,
    /// Threads that write and load
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

fn writing() -> impl TypedValueParser<Value = Writing> {
    PossibleValuesParser::new(["full-speed", "spread"])
        .map(|name| if name == "spread" { Writing::Spread } else { Writing::FullSpeed })
}

/// Runs the experiment and prints what came of it.
pub fn run(o: &CheckpointOptions) -> Result<()> {
    let suite = o.variables.find(&o.workload)?;
    let suite = &*suite;
    let seconds = |seconds| {
        Duration::try_from_secs_f64(seconds)
            .map_err(|e| Error::new(SqlState::INVALID_PARAMETER_VALUE, e.to_string()))
    };
    let (part, spread) = (seconds(o.seconds)?, seconds(o.over.unwrap_or(o.seconds))?);
    let size = o.scale.unwrap_or(suite.default_size);
    if part.is_zero() || spread.is_zero() || size == 0 {
        let message = "nothing can be measured in no time, or of a workload without rows";
        return Err(Error::new(SqlState::INVALID_PARAMETER_VALUE, message)
            .with_hint("--seconds, --over and --scale have to be more than 0."));
    }
    let experiment = Checkpoints {
        suite,
        size,
        part,
        spread,
        writing: &o.writing,
        turns: o.turns,
        workers: o.workers,
        in_flight: o.in_flight,
        threads: o.threads,
        seed: o.seed,
    };
    let steps = Steps::default();
    let outcome = experiment.run(&o.dir.clone().unwrap_or_else(std::env::temp_dir), &steps);
    steps.end();
    let outcome = outcome?;
    if o.json {
        println!("{}", serde_json::to_string_pretty(&outcome).map_err(std::io::Error::other)?);
    } else {
        print(&outcome, o.threads);
    }
    Ok(())
}

/// A number of bytes, and how many a second that is.
fn in_time(bytes: u64, seconds: f64) -> String {
    let rate = bytes as f64 / seconds.max(1e-9);
    format!("{} ({}/s)", print::bytes(bytes), print::bytes(rate as u64))
}

fn print(o: &Outcome, threads: usize) {
    let y = &o.yardsticks;
    println!(
        "{}, {} cores; with {threads} threads {}/s to disk, {}/s copied in memory",
        o.machine.processor,
        o.machine.cores,
        print::bytes(y.disk_write as u64),
        print::bytes(y.memory_copy as u64)
    );
    let w = &o.written;
    println!(
        "{} rows, {} in memory with indexes, loaded in {:.1} s",
        print::grouped(w.rows),
        print::bytes(o.memory_bytes),
        o.install_seconds
    );
    println!("\nA checkpoint, nobody else at work: {:.2} s", w.seconds);
    println!("  of rows  {}", in_time(w.raw_bytes, w.seconds));
    println!(
        "  on disk  {}, {:.2} of what the disk can",
        in_time(w.bytes, w.seconds),
        w.bytes as f64 / w.seconds / y.disk_write
    );
    println!("\nTransactions meanwhile");
    println!(
        "  {:<12} {:>12} {:>8} {:>10} {:>10} {:>14} {:>12}",
        "checkpoint", "per second", "of none", "p50 us", "p99 us", "old versions", "checkpoints"
    );
    for p in &o.parts {
        let writing = match p.writing {
            Writing::None => "none",
            Writing::FullSpeed => "full speed",
            Writing::Spread => "spread",
        };
        println!(
            "  {:<12} {:>12} {:>8.2} {:>10.0} {:>10.0} {:>14} {:>12}",
            writing,
            print::grouped(p.txn_per_s as u64),
            p.of_none,
            p.p50_us,
            p.p99_us,
            print::bytes(p.old_version_bytes),
            p.checkpoints
        );
    }
    let r = &o.restart;
    println!("\nA restart: {:.2} s", r.seconds);
    println!(
        "  load     {:.2} s: {} rows, {} from disk, {} made in memory, {:.2} of what copying takes",
        r.load_seconds,
        print::grouped(r.rows),
        in_time(r.bytes, r.load_seconds),
        in_time(o.memory_bytes, r.load_seconds),
        o.memory_bytes as f64 / r.load_seconds.max(1e-9) / y.memory_copy
    );
    println!(
        "  replay   {:.2} s: {} transactions, {}",
        r.replay_seconds,
        print::grouped(r.transactions),
        in_time(r.log_bytes, r.replay_seconds)
    );
    println!("  else     {:.2} s", (r.seconds - r.load_seconds - r.replay_seconds).max(0.0));
}
