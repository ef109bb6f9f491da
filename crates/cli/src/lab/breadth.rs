//! `planaria lab breadth`

use super::{Steps, none_wrong, positive, print_machine};
use crate::print;
use clap::{Args, value_parser};
use planaria::{Result, Scheme};
use planaria_lab::breadth::{Breadth, Width};
use std::path::PathBuf;

/// Options of `planaria lab breadth`.
#[derive(Args)]
pub struct BreadthOptions {
    /// Tables of the many
    #[arg(long, default_value_t = 300, value_parser = value_parser!(u64).range(2..))]
    tables: u64,
    /// Procedures of the many
    #[arg(long, default_value_t = 500, value_parser = value_parser!(u64).range(1..=100_000))]
    procedures: u64,
    /// Tables of the few
    #[arg(long, default_value_t = 9, value_parser = value_parser!(u64).range(2..))]
    few_tables: u64,
    /// Procedures of the few
    #[arg(long, default_value_t = 15, value_parser = value_parser!(u64).range(1..=100_000))]
    few_procedures: u64,
    /// Accounts, in all tables together
    #[arg(long, default_value_t = 600_000, value_parser = value_parser!(u64).range(1..))]
    accounts: u64,
    /// Transactions to run
    #[arg(long, default_value_t = 1_000_000, value_parser = value_parser!(u64).range(1..))]
    transactions: u64,
    /// Workers of the run
    #[arg(long, default_value_t = 2, value_parser = positive())]
    workers: usize,
    /// Schemes, by commas
    #[arg(long, value_delimiter = ',', default_value = "clr,regrow")]
    schemes: Vec<Scheme>,
    /// Threads that recover, by commas
    #[arg(long, value_delimiter = ',', default_values_t = [1, 2], value_parser = positive())]
    threads: Vec<usize>,
    /// Turns; medians are shown
    #[arg(long, default_value_t = 3, value_parser = positive())]
    repeat: usize,
    /// Directory for the logs; a temporary one without
    #[arg(long)]
    dir: Option<PathBuf>,
    /// Seed of the inputs
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// Runs the experiment.
pub fn run(o: &BreadthOptions) -> Result<()> {
    let experiment = Breadth {
        few: Width { tables: o.few_tables, procedures: o.few_procedures },
        many: Width { tables: o.tables, procedures: o.procedures },
        accounts: o.accounts,
        transactions: o.transactions,
        workers: o.workers,
        schemes: o.schemes.clone(),
        threads: o.threads.clone(),
        repeat: o.repeat,
        seed: o.seed,
    };
    let dir = o.dir.clone().unwrap_or_else(std::env::temp_dir);
    let steps = Steps::default();
    let outcome = experiment.run(&dir, &steps);
    steps.end();
    let outcome = outcome?;
    if o.json {
        println!("{}", serde_json::to_string_pretty(&outcome).map_err(std::io::Error::other)?);
        return none_wrong(&outcome.wrong());
    }
    print_machine(&outcome.machine);
    let named = outcome.widths.map(|w| format!("{} tables, {} procedures", w.tables, w.procedures));
    println!("{:<10} {:>3}   {:>28}   {:>28}   {:>5}", "", "thr", named[0], named[1], "cost");
    for c in &outcome.compared {
        let rates = [&c.few, &c.many].map(|m| {
            let whole = if m.digest_ok { "" } else { " WRONG" };
            format!("{} txn/s{whole}", print::grouped(m.txn_per_s.round() as u64))
        });
        println!(
            "{:<10} {:>3}   {:>28}   {:>28}   {:>5.2}",
            c.few.scheme, c.few.threads, rates[0], rates[1], c.cost
        );
    }
    none_wrong(&outcome.wrong())
}
