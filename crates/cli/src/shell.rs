//! `planaria shell`: a SQL prompt on an embedded database.
//!
//! Exit statuses are psql's: 0 at the end of input, 1 where the last `-c` has failed, 3 where something has failed and
//! `ON_ERROR_STOP` is set.

use crate::print::{self, Format};
use crate::recovery::Recovery;
use clap::Args;
use planaria::{Database, Result, Session};
use rustyline::error::ReadlineError;
use std::io::{BufRead, IsTerminal};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Instant;

/// Options of `planaria shell`.
#[derive(Args)]
pub struct Options {
    /// Directory of the database; in memory without
    dir: Option<PathBuf>,
    /// Run this text and leave; the last of several decides the exit status
    #[arg(short, long)]
    command: Vec<String>,
    /// Set a variable: ON_ERROR_STOP=1 leaves at the first error, with exit status 3
    #[arg(short = 'v', long = "set", value_name = "NAME=VALUE", value_parser = on_error_stop)]
    variables: Vec<bool>,
    #[command(flatten)]
    recovery: Recovery,
}

/// Exit status of a script that was left at an error.
const SCRIPT_FAILED: u8 = 3;

/// The value of the only variable that there is.
fn on_error_stop(text: &str) -> Result<bool, String> {
    match text.split_once('=') {
        Some(("ON_ERROR_STOP", "1" | "on" | "true")) => Ok(true),
        Some(("ON_ERROR_STOP", "0" | "off" | "false")) => Ok(false),
        Some(("ON_ERROR_STOP", _)) => Err("ON_ERROR_STOP is on or off".to_owned()),
        _ => Err("ON_ERROR_STOP=1 is all that can be set".to_owned()),
    }
}

/// Where the interactive prompt keeps what was typed: `PLANARIA_HISTORY`, or a file in the home directory.
fn history_file() -> Option<PathBuf> {
    match std::env::var_os("PLANARIA_HISTORY") {
        Some(path) => Some(path.into()).filter(|path: &PathBuf| !path.as_os_str().is_empty()),
        None => std::env::home_dir().map(|home| home.join(".planaria_history")),
    }
}

const HELP: &str = "\
  SQL ends with ; and may take several lines. Ctrl-C ends a statement that runs.
  \\d [NAME]   tables, or the columns of one      \\df         procedures
  \\i FILE     runs a file                        \\timing     times of statements
  \\x          a line a column, or tables again
  \\?          this help                          \\q          leave
  EXPLAIN statement;   EXPLAIN PROCEDURE name;   EXPLAIN RECOVERY;
";

/// Reads statements until the end of input.
pub fn shell(options: &Options) -> Result<ExitCode> {
    let db = match &options.dir {
        Some(dir) => options.recovery.open_and_tell(planaria::Options::new(), dir)?,
        None => Database::in_memory()?,
    };
    let stops = options.variables.last().copied().unwrap_or(false);
    let mut shell = Shell { session: db.session()?, timing: false, format: Format::Aligned };
    if !options.command.is_empty() {
        let mut status = ExitCode::SUCCESS;
        for text in &options.command {
            let done = if text.trim_start().starts_with('\\') {
                shell.meta(text.trim()) != Next::Failed
            } else {
                shell.execute(text)
            };
            status = if done { ExitCode::SUCCESS } else { ExitCode::FAILURE };
            if !done && stops {
                break;
            }
        }
        return Ok(status);
    }
    if !std::io::stdin().is_terminal() {
        let mut pending = String::new();
        for line in std::io::stdin().lock().lines() {
            match shell.line(&mut pending, &line?) {
                Next::Failed if stops => return Ok(SCRIPT_FAILED.into()),
                Next::Failed | Next::Line => {}
                Next::Leaves => return Ok(ExitCode::SUCCESS),
            }
        }
        let done = shell.execute(&pending);
        return Ok(if done || !stops { ExitCode::SUCCESS } else { SCRIPT_FAILED.into() });
    }
    match &options.dir {
        Some(dir) => println!("planaria {} on {}", env!("CARGO_PKG_VERSION"), dir.display()),
        None => println!("planaria {} in memory: nothing is kept", env!("CARGO_PKG_VERSION")),
    }
    println!("\\? for help, \\q to leave.");
    shell.prompts(history_file().as_deref())?;
    Ok(ExitCode::SUCCESS)
}

/// What follows a line.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Next {
    /// The next.
    Line,
    /// The next, but this one has failed.
    Failed,
    /// Nothing.
    Leaves,
}

impl Next {
    fn after(done: bool) -> Next {
        if done { Next::Line } else { Next::Failed }
    }
}

struct Shell {
    session: Session,
    timing: bool,
    format: Format,
}

impl Shell {
    /// Asks a person for lines, who finds those of earlier times with the arrow keys.
    fn prompts(&mut self, history: Option<&Path>) -> Result<()> {
        let mut editor = rustyline::DefaultEditor::new().map_err(std::io::Error::other)?;
        // At the prompt the editor takes the key; while a statement runs it is a signal. (The editor has a handler of its own,
        // which this one replaces.)
        let canceller = self.session.canceller();
        ctrlc::set_handler(move || canceller.cancel()).map_err(std::io::Error::other)?;
        if let Some(history) = history {
            // The first time there is none.
            let _ = editor.load_history(history);
        }
        let mut pending = String::new();
        let outcome = loop {
            match editor.readline(if pending.is_empty() { "planaria=> " } else { "planaria-> " }) {
                Ok(line) => {
                    let _ = editor.add_history_entry(&line);
                    if self.line(&mut pending, &line) == Next::Leaves {
                        break Ok(());
                    }
                }
                Err(ReadlineError::Interrupted) => pending.clear(),
                Err(ReadlineError::Eof) => break Ok(()),
                Err(error) => break Err(std::io::Error::other(error).into()),
            }
        };
        if let Some(history) = history
            && let Err(error) = editor.save_history(history)
        {
            eprintln!("{}: {error}", history.display());
        }
        outcome
    }

    /// Takes one line.
    fn line(&mut self, pending: &mut String, line: &str) -> Next {
        if pending.trim().is_empty() && line.trim_start().starts_with('\\') {
            pending.clear();
            return self.meta(line.trim());
        }
        pending.push_str(line);
        pending.push('\n');
        if planaria::is_complete(pending) {
            let text = std::mem::take(pending);
            return Next::after(self.execute(&text));
        }
        Next::Line
    }

    fn meta(&mut self, line: &str) -> Next {
        let (command, argument) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
        match (command, argument.trim()) {
            ("\\q", _) => return Next::Leaves,
            ("\\?", _) => print!("{HELP}"),
            ("\\timing", _) => {
                self.timing = !self.timing;
                println!("Timing is {}.", if self.timing { "on" } else { "off" });
            }
            ("\\x", argument) => {
                self.format = match (argument, self.format) {
                    ("on", _) | ("", Format::Aligned) => Format::Expanded,
                    ("off" | "", _) => Format::Aligned,
                    _ => {
                        eprintln!("\\x: on, off, or nothing");
                        return Next::Failed;
                    }
                };
                println!(
                    "Expanded display is {}.",
                    if self.format == Format::Expanded { "on" } else { "off" }
                );
            }
            ("\\i", file) => match std::fs::read_to_string(file) {
                Ok(text) => return Next::after(self.execute(&text)),
                Err(error) => {
                    eprintln!("{file}: {error}");
                    return Next::Failed;
                }
            },
            ("\\d" | "\\dt", "") => print!("{}", self.session.describe_tables()),
            ("\\d", name) => match self.session.describe_table(name) {
                Ok(text) => print!("{text}"),
                Err(error) => {
                    eprint!("{}", print::error(&error, None));
                    return Next::Failed;
                }
            },
            ("\\df", _) => print!("{}", self.session.describe_procedures()),
            (other, _) => {
                eprintln!("{other}: not a command; \\? lists them");
                return Next::Failed;
            }
        }
        Next::Line
    }

    /// Whether all of it could be done.
    fn execute(&mut self, text: &str) -> bool {
        let (start, format) = (Instant::now(), self.format);
        let outcome = self.session.execute_each(text, &mut |result| {
            for notice in &result.notices {
                eprint!("{}", print::notice(notice));
            }
            match &result.rows {
                Some(rows) => println!("{}", print::rows(rows, format)),
                None => println!("{}", result.tag),
            }
        });
        let done = outcome.is_ok();
        if let Err((error, _)) = outcome {
            eprint!("{}", print::error(&error, Some(text)));
        }
        if self.timing {
            println!("Time: {:.3} ms", start.elapsed().as_secs_f64() * 1e3);
        }
        done
    }
}
