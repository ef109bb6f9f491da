//! `planaria lab fig-3.10` and the like: figures and tables of papers, by name. The names come from the laboratory's list.

use super::Steps;
use crate::arguments::{Time, positive};
use clap::{ArgMatches, Args, Command, FromArgMatches, Subcommand};
use planaria::{BackoffKind, Error, Result};
use planaria_lab::contention::experiment::Experiment;
use planaria_lab::contention::{EXPERIMENTS, Settings, plot, report};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// One of the named experiments.
pub struct Figure {
    experiment: &'static Experiment,
    options: FigureOptions,
}

/// Options that all have.
#[derive(Args)]
pub struct FigureOptions {
    /// Fewer points and shorter runs: minutes
    #[arg(long)]
    quick: bool,
    /// Turns, in which schemes take turns; medians are shown
    #[arg(long, value_parser = positive())]
    turns: Option<usize>,
    /// How long each point is measured
    #[arg(long, value_name = "DURATION")]
    time: Option<Time>,
    /// Before that
    #[arg(long, value_name = "DURATION")]
    warmup: Option<Time>,
    /// Ways to make contention, by commas: k1 (real), k2 (oversubscribed), k3 (waits); all of the figure without
    #[arg(long, value_delimiter = ',')]
    panels: Vec<String>,
    /// Schemes, by commas; the figure's and, in most, all others of the shelf without
    #[arg(long, value_delimiter = ',')]
    schemes: Vec<String>,
    /// How calls that have met others wait before they are repeated: exponential, or none, as the papers'
    #[arg(long, default_value_t)]
    backoff: BackoffKind,
    /// Units (warehouses, customers) that are loaded at most; without, what memory holds
    #[arg(long, value_name = "UNITS")]
    units_max: Option<u64>,
    /// Directory for NAME.json, NAME.csv and NAME.svg
    #[arg(long, default_value = "lab-results", value_name = "DIR")]
    out: PathBuf,
    /// Seed of the inputs
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

impl FromArgMatches for Figure {
    fn from_arg_matches(matches: &ArgMatches) -> std::result::Result<Figure, clap::Error> {
        let found = matches.subcommand().and_then(|(name, of)| {
            EXPERIMENTS.iter().find(|e| e.id == name).map(|experiment| (experiment, of))
        });
        let (experiment, of) =
            found.ok_or_else(|| clap::Error::new(clap::error::ErrorKind::InvalidSubcommand))?;
        Ok(Figure { experiment, options: FigureOptions::from_arg_matches(of)? })
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> std::result::Result<(), clap::Error> {
        *self = Figure::from_arg_matches(matches)?;
        Ok(())
    }
}

impl Subcommand for Figure {
    fn augment_subcommands(command: Command) -> Command {
        EXPERIMENTS.iter().fold(command, |command, experiment| {
            // The options have a text of their own, which would take the place of this one.
            let options = FigureOptions::augment_args(Command::new(experiment.id));
            command.subcommand(options.about(experiment.title).long_about(long(experiment)))
        })
    }

    fn augment_subcommands_for_update(command: Command) -> Command {
        Figure::augment_subcommands(command)
    }

    fn has_subcommand(name: &str) -> bool {
        EXPERIMENTS.iter().any(|experiment| experiment.id == name)
    }
}

/// What it is, and what the paper says of it.
fn long(experiment: &Experiment) -> String {
    let mut text = format!("{}\n\n{}\n", experiment.title, experiment.paper);
    for expectation in experiment.expectations {
        text += &format!("  {}\n", expectation.says);
    }
    text
}

/// Lists the experiments.
pub fn list() {
    for experiment in EXPERIMENTS {
        let panels: Vec<_> = experiment.panels.iter().map(|panel| panel.name).collect();
        println!("  {:<20} {}", experiment.id, experiment.title);
        println!("  {:<20} {} [{}]", "", experiment.paper, panels.join(", "));
    }
}

/// Runs one; its files are written, and what they say printed.
pub fn run(figure: &Figure) -> Result<()> {
    let (experiment, o) = (figure.experiment, &figure.options);
    let time = |asked: Option<Time>, quick: u64, full: u64| {
        let usual = Duration::from_millis(if o.quick { quick } else { full });
        asked.map_or(usual, |Time(asked)| asked)
    };
    let settings = Settings {
        quick: o.quick,
        turns: o.turns.unwrap_or(if o.quick { 2 } else { 5 }),
        time: time(o.time, 500, 2000),
        warmup: time(o.warmup, 100, 500),
        panels: o.panels.clone(),
        schemes: o.schemes.clone(),
        backoff: o.backoff,
        units_max: o.units_max,
        seed: o.seed,
    };
    // What cannot be written is better known before the work than after it.
    std::fs::create_dir_all(&o.out).map_err(|e| Error::file("create directory", &o.out, e))?;
    let steps = Steps::default();
    let outcome = experiment.run(&settings, &steps);
    steps.end();
    let outcome = outcome?;
    let json = serde_json::to_string_pretty(&outcome).map_err(std::io::Error::other)?;
    let write = |ending: &str, text: &str| -> Result<PathBuf> {
        let file = Path::new(&o.out).join(format!("{}.{ending}", experiment.id));
        std::fs::write(&file, text).map_err(|e| Error::file("write file", &file, e))?;
        Ok(file)
    };
    write("json", &json)?;
    write("csv", &report::csv(&outcome))?;
    let picture = write("svg", &plot::svg(&outcome)?)?;
    if o.json {
        println!("{json}");
    } else {
        print!("{}", report::text(&outcome));
        println!("plotted in {}; beside it the numbers as CSV and JSON", picture.display());
    }
    Ok(())
}
