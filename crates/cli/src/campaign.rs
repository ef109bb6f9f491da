//! `planaria lab faults` and `planaria lab histories`: the campaign, with its tables.

use crate::arguments::positive;
use crate::lab::Steps;
use crate::print;
use clap::Args;
use planaria::{Error, ProtocolKind, Result, SqlState};
use planaria_campaign::faults::{self, Kind};
use planaria_campaign::histories;
use planaria_lab::recovery::Watch;
use serde::Serialize;

/// Options of `planaria lab faults`.
#[derive(Args)]
pub struct FaultsOptions {
    /// Kinds of faults, by commas; all of them without
    #[arg(long, value_delimiter = ',')]
    kind: Vec<Kind>,
    /// Cases of each kind
    #[arg(long, default_value_t = 200, value_parser = clap::value_parser!(u64).range(1..))]
    cases: u64,
    /// At most so many of one seed, spread over those it has; 0: all of them
    #[arg(long, default_value_t = 0)]
    per_seed: u64,
    /// The first seed
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// At most so many seeds; 0: as many as the cases take
    #[arg(long, default_value_t = 0)]
    seeds: u64,
    /// Steps of a script after its schema
    #[arg(long, default_value_t = 40, value_parser = positive())]
    steps: usize,
    /// Repeats the case with this number of the seed
    #[arg(long, requires = "kind", conflicts_with_all = ["cases", "per_seed"])]
    case: Option<u64>,
    /// The concurrency protocol, one of the shelf; without, each case draws one
    #[arg(long)]
    protocol: Option<ProtocolKind>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// Options of `planaria lab histories`.
#[derive(Args)]
pub struct HistoriesOptions {
    /// Histories
    #[arg(long, default_value_t = 10_000, value_parser = clap::value_parser!(u64).range(1..))]
    count: u64,
    /// Seed of the first batch
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Threads of a history
    #[arg(long, default_value_t = 3, value_parser = clap::value_parser!(u64).range(1..=64))]
    threads: u64,
    /// The concurrency protocol, one of the shelf; without, each case draws one
    #[arg(long)]
    protocol: Option<ProtocolKind>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

fn json(value: &impl Serialize) -> Result<()> {
    println!("{}", serde_json::to_string_pretty(value).map_err(std::io::Error::other)?);
    Ok(())
}

fn broken(what: String) -> Error {
    Error::new(SqlState::DATA_CORRUPTED, what).with_hint("This is a bug in Planaria. Please report it.")
}

/// Runs the fault campaign. XX001 where a case went wrong.
pub fn faults(o: &FaultsOptions) -> Result<()> {
    o.protocol.into_iter().for_each(planaria_campaign::only);
    let kinds = if o.kind.is_empty() { Kind::ALL } else { &o.kind };
    // Power fails in the midst of everything: what panics is counted, and told at the end.
    let told = std::panic::take_hook();
    std::panic::set_hook(Box::new(|_| ()));
    let steps = Steps::default();
    let tallies: Vec<faults::Tally> = kinds
        .iter()
        .map(|&kind| match o.case {
            Some(case) => faults::repeat(kind, o.seed, o.steps, case),
            None => {
                steps.step(kind.name(), o.cases);
                let extent = faults::Extent {
                    seed: o.seed,
                    steps: o.steps,
                    cases: o.cases,
                    per_seed: o.per_seed,
                    seeds: o.seeds,
                };
                faults::run(kind, extent, &mut |tally| steps.at(tally.cases))
            }
        })
        .collect();
    steps.end();
    std::panic::set_hook(told);
    if o.json {
        json(&tallies)?;
    } else {
        println!(
            "  {:<12} {:>6} {:>9} {:>9} {:>9} {:>6} {:>6}",
            "fault", "seeds", "cases", "held", "detected", "tail", "wrong"
        );
        for t in &tallies {
            println!(
                "  {:<12} {:>6} {:>9} {:>9} {:>9} {:>6} {:>6}",
                t.kind,
                t.seeds,
                print::grouped(t.cases),
                print::grouped(t.held),
                print::grouped(t.detected),
                t.tail,
                t.failures.len()
            );
        }
        for (t, drawn) in tallies.iter().filter_map(|t| Some((t, t.drawn?))) {
            println!(
                "  {}: {} routines, {} of them with session or volatile functions; {} recoveries compared",
                t.kind,
                print::grouped(drawn.routines),
                print::grouped(drawn.asking),
                print::grouped(drawn.recoveries)
            );
        }
        for t in &tallies {
            for f in &t.failures {
                println!(
                    "  lab faults --kind {} --steps {} --seed {} --case {}: {}",
                    t.kind, o.steps, f.seed, f.case, f.what
                );
            }
        }
    }
    match tallies.iter().map(|t| t.failures.len()).sum() {
        0 => Ok(()),
        n => Err(broken(format!("{n} cases went wrong"))),
    }
}

/// Runs histories. XX001 where no order explains one.
pub fn histories(o: &HistoriesOptions) -> Result<()> {
    o.protocol.into_iter().for_each(planaria_campaign::only);
    let steps = Steps::default();
    steps.step("histories", o.count);
    let extent = histories::Extent { seed: o.seed, count: o.count, threads: o.threads };
    let tally = histories::run(extent, &mut |tally| steps.at(tally.histories));
    steps.end();
    if o.json {
        json(&tally)?;
    } else {
        println!(
            "  {} histories, {} transactions, {} operations, {} conflicts, {} logs replayed, {} violations",
            print::grouped(tally.histories),
            print::grouped(tally.transactions),
            print::grouped(tally.operations),
            print::grouped(tally.conflicts),
            print::grouped(tally.replays),
            tally.violations.len()
        );
        tally.violations.iter().for_each(|violation| println!("  {violation}"));
    }
    match tally.violations.len() {
        0 => Ok(()),
        n => Err(broken(format!("{n} histories have no serial order"))),
    }
}
