//! `planaria run`: SQL files, one after another, stopping at the first error.

use crate::print;
use crate::recovery::{KeepLog, Recovery};
use crate::table::{Format, Style, Table};
use clap::Args;
use planaria::{Database, Error, Session};
use std::io::Write;
use std::path::PathBuf;
use std::process::ExitCode;

/// Options of `planaria run`.
#[derive(Args)]
pub struct Options {
    /// Unaligned rows, columns separated by `|` (as psql -A)
    #[arg(short = 'A')]
    unaligned: bool,
    /// Rows only, without header and row count (as psql -t)
    #[arg(short = 't')]
    tuples_only: bool,
    /// Directory of the database (default: in memory)
    #[arg(long, value_name = "DIR")]
    data: Option<PathBuf>,
    #[command(flatten)]
    recovery: Recovery,
    #[command(flatten)]
    keep_log: KeepLog,
    /// SQL files; `-` is standard input
    #[arg(required = true, value_name = "FILE.sql")]
    files: Vec<PathBuf>,
}

/// Runs the files; exit status 1 at the first error.
pub fn run(options: &Options) -> ExitCode {
    let opened = match &options.data {
        Some(dir) => options.recovery.open_and_tell(options.keep_log.options(), dir),
        None => Database::in_memory(),
    };
    let outcome = opened.and_then(|db| Ok((db.session()?, db)));
    let (mut session, _db) = match outcome {
        Ok(pair) => pair,
        Err(error) => {
            eprint!("{}", print::error(&error, None));
            return ExitCode::FAILURE;
        }
    };
    let mut style = Style { tuples_only: options.tuples_only, ..Style::default() };
    if options.unaligned {
        // Rows, whatever else is asked for: programs read them.
        style = Style { format: Format::Unaligned, tuples_only: true, ..style };
    }
    for file in &options.files {
        let name = file.display().to_string();
        let read = if name == "-" {
            std::io::read_to_string(std::io::stdin())
        } else {
            std::fs::read_to_string(file)
        };
        let text = match read {
            Ok(text) => text,
            Err(error) => {
                eprintln!("{name}: {error}");
                return ExitCode::FAILURE;
            }
        };
        if let Err(error) = run_text(&mut session, &text, &name, &style) {
            eprint!("{}", print::error_in(&name, &text, &error));
            return ExitCode::FAILURE;
        }
    }
    ExitCode::SUCCESS
}

/// Runs the statements of a text; an error comes with its byte position in the text.
fn run_text(session: &mut Session, text: &str, name: &str, style: &Style) -> Result<(), (Error, usize)> {
    let stdout = std::io::stdout();
    session.execute_each(text, &mut |result| {
        for notice in &result.notices {
            let line = print::line_of(text, result.position);
            eprint!("{name}:{line}: {}", print::notice(notice));
        }
        if let Some(rows) = &result.rows {
            let out = Table::from(rows).print(style, None, None);
            // A closed pipe ends the output, not the run.
            let _ = stdout.lock().write_all(out.as_bytes());
        }
    })
}
