//! `planaria shell`: a SQL prompt on an embedded database.

use crate::print::{self, Format};
use crate::recovery::Recovery;
use clap::Args;
use planaria::{Database, Result, Session};
use rustyline::error::ReadlineError;
use std::io::{BufRead, IsTerminal};
use std::path::PathBuf;
use std::time::Instant;

/// Options of `planaria shell`.
#[derive(Args)]
pub struct Options {
    /// Directory of the database; in memory without
    dir: Option<PathBuf>,
    /// Run this text and leave
    #[arg(short, long)]
    command: Option<String>,
    #[command(flatten)]
    recovery: Recovery,
}

const HELP: &str = "\
  SQL ends with ; and may take several lines.
  \\d [NAME]   tables, or the columns of one      \\df         procedures
  \\i FILE     runs a file                        \\timing     times of statements
  \\?          this help                          \\q          leave
  EXPLAIN statement;   EXPLAIN PROCEDURE name;   EXPLAIN RECOVERY;
";

/// Reads statements until the end of input.
pub fn shell(options: &Options) -> Result<()> {
    let db = match &options.dir {
        Some(dir) => options.recovery.open_and_tell(planaria::Options::new(), dir)?,
        None => Database::in_memory()?,
    };
    let mut shell = Shell { session: db.session()?, timing: false };
    if let Some(text) = &options.command {
        shell.execute(text);
        return Ok(());
    }
    if !std::io::stdin().is_terminal() {
        let mut pending = String::new();
        for line in std::io::stdin().lock().lines() {
            if shell.line(&mut pending, &line?) {
                return Ok(());
            }
        }
        shell.execute(&pending);
        return Ok(());
    }
    match &options.dir {
        Some(dir) => println!("planaria {} on {}", env!("CARGO_PKG_VERSION"), dir.display()),
        None => println!("planaria {} in memory: nothing is kept", env!("CARGO_PKG_VERSION")),
    }
    println!("\\? for help, \\q to leave.");
    let mut editor = rustyline::DefaultEditor::new().map_err(std::io::Error::other)?;
    let mut pending = String::new();
    loop {
        match editor.readline(if pending.is_empty() { "planaria=> " } else { "planaria-> " }) {
            Ok(line) => {
                let _ = editor.add_history_entry(&line);
                if shell.line(&mut pending, &line) {
                    return Ok(());
                }
            }
            Err(ReadlineError::Interrupted) => pending.clear(),
            Err(ReadlineError::Eof) => return Ok(()),
            Err(error) => return Err(std::io::Error::other(error).into()),
        }
    }
}

struct Shell {
    session: Session,
    timing: bool,
}

impl Shell {
    /// Takes one line; true when it is time to leave.
    fn line(&mut self, pending: &mut String, line: &str) -> bool {
        if pending.trim().is_empty() && line.trim_start().starts_with('\\') {
            pending.clear();
            return self.meta(line.trim());
        }
        pending.push_str(line);
        pending.push('\n');
        if planaria::is_complete(pending) {
            let text = std::mem::take(pending);
            self.execute(&text);
        }
        false
    }

    fn meta(&mut self, line: &str) -> bool {
        let (command, argument) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
        match (command, argument.trim()) {
            ("\\q", _) => return true,
            ("\\?", _) => print!("{HELP}"),
            ("\\timing", _) => {
                self.timing = !self.timing;
                println!("Timing is {}.", if self.timing { "on" } else { "off" });
            }
            ("\\i", file) => match std::fs::read_to_string(file) {
                Ok(text) => self.execute(&text),
                Err(error) => eprintln!("{file}: {error}"),
            },
            ("\\d" | "\\dt", "") => print!("{}", self.session.describe_tables()),
            ("\\d", name) => match self.session.describe_table(name) {
                Ok(text) => print!("{text}"),
                Err(error) => eprint!("{}", print::error(&error, None)),
            },
            ("\\df", _) => print!("{}", self.session.describe_procedures()),
            (other, _) => eprintln!("{other}: not a command; \\? lists them"),
        }
        false
    }

    fn execute(&mut self, text: &str) {
        let start = Instant::now();
        let outcome = self.session.execute_each(text, &mut |result| {
            for notice in &result.notices {
                eprint!("{}", print::notice(notice));
            }
            match &result.rows {
                Some(rows) => println!("{}", print::rows(rows, Format::Aligned)),
                None => println!("{}", result.tag),
            }
        });
        if let Err((error, _)) = outcome {
            eprint!("{}", print::error(&error, Some(text)));
        }
        if self.timing {
            println!("Time: {:.3} ms", start.elapsed().as_secs_f64() * 1e3);
        }
    }
}
