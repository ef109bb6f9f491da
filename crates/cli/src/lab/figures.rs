//! `planaria lab fig-3.10` and the like: figures and tables of papers, by name. The names come from the laboratory's list.

use super::Steps;
use crate::arguments::{Time, positive};
use crate::inputs::Inputs;
use clap::{ArgMatches, Args, Command, FromArgMatches, Subcommand};
use planaria::{BackoffKind, Error, Result};
use planaria_lab::contention::experiment::Experiment;
use planaria_lab::contention::{EXPERIMENTS, Own, Settings, plot, report};
use std::path::{Path, PathBuf};

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
    /// Ways to make contention, by commas: k1 (real), k2 (oversubscribed), k3 (waits), k4 (simulated); all of the
    /// figure without, but for those that take long with --quick
    #[arg(long, value_delimiter = ',')]
    panels: Vec<String>,
    /// Schemes, by commas; the figure's and, in most, all others of the shelf without. silo+none is silo that is tried
    /// again at once, whatever --backoff says
    #[arg(long, value_delimiter = ',')]
    schemes: Vec<String>,
    /// Sessions, in place of the panels'
    #[arg(long, value_parser = positive())]
    sessions: Option<usize>,
    /// Table operations after which a session yields its processor, in place of the panels'; 0: never
    #[arg(long, value_name = "N")]
    yield_every: Option<u64>,
    /// A wait in every attempt, after reading and before the commit, in place of the panels'
    #[arg(long, value_name = "DURATION")]
    wait: Option<Time>,
    #[command(flatten)]
    inputs: Inputs,
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
    let usual = Settings::usual(o.quick);
    let settings = Settings {
        quick: o.quick,
        turns: o.turns.unwrap_or(usual.turns),
        time: o.time.map_or(usual.time, |Time(asked)| asked),
        warmup: o.warmup.map_or(usual.warmup, |Time(asked)| asked),
        panels: o.panels.clone(),
        schemes: o.schemes.clone(),
        backoff: o.backoff,
        units_max: o.units_max,
        own: Own {
            sessions: o.sessions,
            yield_every: o.yield_every,
            wait: o.wait.map(|Time(wait)| wait),
            parameters: o.inputs.parameters(),
        },
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
