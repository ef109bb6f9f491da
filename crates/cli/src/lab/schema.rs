//! `planaria lab schema`

use super::Steps;
use crate::print;
use clap::Args;
use planaria::{Durability, Result};
use planaria_lab::schema::Schema;
use std::path::PathBuf;

/// Options of `planaria lab schema`.
#[derive(Args)]
pub struct SchemaOptions {
    /// Tables
    #[arg(long, default_value_t = 10_000, value_parser = clap::value_parser!(u64).range(1..))]
    tables: u64,
    /// Indexes of each table, beside its primary key
    #[arg(long, default_value_t = 2)]
    indexes: u64,
    /// Procedures
    #[arg(long, default_value_t = 2_000)]
    procedures: u64,
    /// Durability: async or fsync
    #[arg(long, default_value = "async")]
    durability: Durability,
    /// Directory for the database; a temporary one without
    #[arg(long)]
    dir: Option<PathBuf>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// Runs the experiment.
pub fn run(o: &SchemaOptions) -> Result<()> {
    let experiment =
        Schema { tables: o.tables, indexes: o.indexes, procedures: o.procedures, durability: o.durability };
    let dir = o.dir.clone().unwrap_or_else(std::env::temp_dir);
    let steps = Steps::default();
    let outcome = experiment.run(&dir, &steps);
    steps.end();
    let outcome = outcome?;
    if o.json {
        println!("{}", serde_json::to_string_pretty(&outcome).map_err(std::io::Error::other)?);
        return Ok(());
    }
    let counts = [o.tables, o.tables * o.indexes, o.procedures].map(print::grouped);
    println!("{} tables, {} indexes, {} procedures", counts[0], counts[1], counts[2]);
    let quarters: Vec<String> = outcome.quarter_seconds.iter().map(|s| format!("{s:.2}")).collect();
    println!("  making them, by quarters     {} s", quarters.join(" "));
    println!("  writing a checkpoint         {:.2} s", outcome.checkpoint_seconds);
    for (what, restart) in [
        ("restart from the log", &outcome.from_log),
        ("once more", &outcome.from_log_again),
        ("restart from the checkpoint", &outcome.from_checkpoint),
    ] {
        println!("  {what:<28} {:.2} s, foretold {:.2} s", restart.seconds, restart.predicted_seconds);
    }
    Ok(())
}
