//! `planaria graph`: what the analysis says of procedures, as text, DOT or SVG.

use crate::print;
use clap::Args;
use planaria::graph::{GraphKind, GraphRequest};
use planaria::{Database, Error, Result};
use std::path::PathBuf;
use std::process::ExitCode;

/// Options of `planaria graph`.
#[derive(Args)]
pub struct Options {
    /// Directory of a database, which is opened and recovered
    #[arg(long, value_name = "DIR")]
    data: Option<PathBuf>,
    /// SQL files with tables and procedures, run in order
    #[arg(value_name = "FILE.sql", required_unless_present = "data")]
    files: Vec<PathBuf>,
    /// Only these procedures; can be repeated
    #[arg(long, value_name = "NAME")]
    procedure: Vec<String>,
    /// procedure, local, global, chopping, schedule, regrow
    #[arg(long, default_value = "global")]
    kind: GraphKind,
    /// text, dot, svg
    #[arg(long, default_value = "text")]
    format: Format,
    /// Calls of a procedure in a batch, for schedules; can be repeated
    #[arg(long, value_name = "NAME=N", value_parser = calls)]
    calls: Vec<(String, u64)>,
    /// Batches, for schedules
    #[arg(long, default_value_t = 1)]
    batches: usize,
    /// One batch after the other, without a pipeline, for schedules
    #[arg(long)]
    synchronous: bool,
    /// Workers, for schedules
    #[arg(long, default_value_t = 4)]
    workers: usize,
    /// Writes to a file
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
}

#[derive(Clone, Copy, clap::ValueEnum)]
enum Format {
    Text,
    Dot,
    Svg,
}

fn calls(text: &str) -> std::result::Result<(String, u64), String> {
    let (name, n) = text.split_once('=').ok_or("write NAME=N")?;
    Ok((name.to_owned(), n.parse().map_err(|_| format!("{n} is not a number"))?))
}

/// Draws the graph; exit status 1 at the first error of a script.
pub fn graph(options: &Options) -> Result<ExitCode> {
    let db = match &options.data {
        Some(dir) => Database::open(dir)?,
        None => Database::in_memory()?,
    };
    let mut session = db.session()?;
    for file in &options.files {
        let text = std::fs::read_to_string(file).map_err(|e| Error::file("read file", file, e))?;
        if let Err(error) = session.execute_each(&text, &mut |_| {}) {
            eprint!("{}", print::error_in(&file.display().to_string(), &text, &error));
            return Ok(ExitCode::FAILURE);
        }
    }
    drop(session);
    let graph = GraphRequest {
        procedures: options.procedure.clone(),
        calls: options.calls.clone(),
        batches: options.batches,
        pipelined: !options.synchronous,
        workers: options.workers,
        ..GraphRequest::new(options.kind)
    }
    .graph(&db)?;
    let text = match options.format {
        Format::Text => graph.text.join("\n") + "\n",
        Format::Dot => graph.dot(),
        Format::Svg => planaria_graph::svg(&graph, &what(options)),
    };
    match &options.output {
        Some(file) => std::fs::write(file, text).map_err(|e| Error::file("write file", file, e))?,
        // A closed pipe ends the output.
        None => drop(std::io::Write::write_all(&mut std::io::stdout(), text.as_bytes())),
    }
    Ok(ExitCode::SUCCESS)
}

/// What the picture shows, for its heading.
fn what(options: &Options) -> String {
    let files: Vec<String> = (options.data.iter().chain(&options.files))
        .filter_map(|file| Some(file.file_name()?.to_string_lossy().into_owned()))
        .collect();
    match options.procedure.as_slice() {
        [] => files.join(", "),
        names => names.join(", "),
    }
}
