//! `planaria shell`: a SQL prompt, on a database in a directory, in memory, or on a server.
//!
//! There is one way to a database, PostgreSQL's protocol ([`client`]): one that is embedded is served to this process alone, by a
//! socket in a directory that nobody else may enter ([`embedded`]). So COPY, cancelling and what errors say are the same everywhere.
//!
//! | file | has |
//! |---|---|
//! | `address` | `postgres://..` |
//! | `client` | the protocol |
//! | `embedded` | a database served to its own process |
//! | `describe` | `\d` and its family |
//! | `meta` | the other commands that begin with a backslash |
//! | `lines` | where lines come from |
//! | `complete` | names and keywords |
//!
//! Exit statuses are psql's: 0 at the end of input, 1 where the last `-c` has failed, 2 where the connection is lost, 3 where
//! something has failed and `ON_ERROR_STOP` is set.

mod address;
mod client;
mod complete;
mod describe;
mod embedded;
mod lines;
mod meta;

use crate::print;
use crate::recovery::Recovery;
use crate::table::Format;
use address::Address;
pub use address::is_url;
use clap::Args;
pub use client::{Answer, Client, Failure, Told};
use complete::Names;
pub use embedded::Served;
use lines::{CopyLines, Lines, NoLines, Prompt, Script};
use planaria::Result;
use std::io::{self, IsTerminal, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// Options of `planaria shell`.
#[derive(Args)]
pub struct Options {
    /// Directory of the database, or a server: postgres://user@host:port/database; in memory without
    #[arg(value_name = "DIR|URL")]
    place: Option<PathBuf>,
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
/// Exit status where the connection is lost.
const CONNECTION_LOST: u8 = 2;

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

/// Reads statements until the end of input.
pub fn shell(options: &Options) -> Result<ExitCode> {
    let stops = options.variables.last().copied().unwrap_or(false);
    let in_memory = options.place.is_none();
    let (client, served) = match &options.place {
        Some(place) => connect(Some(place), &options.recovery)?,
        None => embed(planaria::Database::in_memory()?)?,
    };
    let place = match &options.place {
        Some(dir) if served.is_some() => format!("on {}", dir.display()),
        _ if in_memory => "in memory: nothing is kept".to_owned(),
        _ => format!("on {} as {}", url_without_password(client.address()), client.address().user),
    };
    let mut shell = Shell {
        client,
        timing: false,
        format: Format::Aligned,
        pages: false,
        last: String::new(),
        interrupted: Arc::default(),
        names_changed: true,
    };
    let status = shell.serve(options, stops, &place);
    drop(shell);
    if let Some(served) = served {
        served.close()?;
    }
    status
}

/// A client of a database in a directory, which is served until it has been closed, or of a server; without a place of the one that
/// `PGHOST` and its like name.
pub fn connect(place: Option<&Path>, recovery: &Recovery) -> Result<(Client, Option<Served>)> {
    let url = match place {
        Some(place) => place.to_str().filter(|text| is_url(text)),
        None => Some("postgres://"),
    };
    match (url, place) {
        (Some(url), _) => {
            let address = Address::parse(url, &|name| std::env::var(name).ok())?;
            Ok((Client::connect(&address, notice, &mut lines::ask_password)?, None))
        }
        (None, dir) => embed(recovery.open_and_tell(planaria::Options::new(), dir.unwrap_or(Path::new("")))?),
    }
}

fn embed(db: planaria::Database) -> Result<(Client, Option<Served>)> {
    let served = embedded::serve(db)?;
    let client = Client::connect(served.address(), notice, &mut lines::ask_password)?;
    Ok((client, Some(served)))
}

/// The address of a server, for people.
fn url_without_password(address: &Address) -> String {
    match &address.place {
        address::Place::Tcp(host, port) => format!("{host}:{port}"),
        address::Place::Unix(path) => path.display().to_string(),
    }
}

fn notice(told: &Told) {
    eprint!("{}", print::told(told, None));
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
    /// Nothing: the connection is lost.
    Lost,
}

struct Shell {
    client: Client,
    timing: bool,
    format: Format,
    /// Long answers go through a pager: somebody reads them at a terminal.
    pages: bool,
    /// The last statement that was run.
    last: String,
    /// Ctrl-C was pressed.
    interrupted: Arc<AtomicBool>,
    /// What there is may have changed since names were looked up.
    names_changed: bool,
}

impl Shell {
    fn serve(&mut self, options: &Options, stops: bool, place: &str) -> Result<ExitCode> {
        if !options.command.is_empty() {
            return Ok(self.commands(&options.command, stops));
        }
        if !io::stdin().is_terminal() {
            return Ok(match self.read(&mut Script::new(io::stdin().lock()), stops) {
                Next::Failed => SCRIPT_FAILED.into(),
                Next::Lost => CONNECTION_LOST.into(),
                Next::Line | Next::Leaves => ExitCode::SUCCESS,
            });
        }
        println!("planaria {} {place}", env!("CARGO_PKG_VERSION"));
        println!("\\? for help, \\q to leave.");
        self.pages = io::stdout().is_terminal();
        let mut prompt = Prompt::new(history_file())?;
        // At the prompt the editor takes the key; while a statement runs it is a signal. (The editor has a handler of its own,
        // which this one replaces.)
        let (canceller, interrupted) = (self.client.canceller(), self.interrupted.clone());
        let cancel = move || {
            interrupted.store(true, Ordering::SeqCst);
            canceller.cancel();
        };
        ctrlc::set_handler(cancel).map_err(io::Error::other)?;
        let left = self.read(&mut prompt, false);
        prompt.save();
        Ok(if left == Next::Lost { CONNECTION_LOST.into() } else { ExitCode::SUCCESS })
    }

    /// Texts of the command line.
    fn commands(&mut self, texts: &[String], stops: bool) -> ExitCode {
        let mut status = ExitCode::SUCCESS;
        for text in texts {
            let next = if text.trim_start().starts_with('\\') {
                self.meta(text.trim(), &mut String::new(), &mut NoLines)
            } else {
                self.execute(text, &mut NoLines)
            };
            status = match next {
                Next::Line => ExitCode::SUCCESS,
                Next::Failed => ExitCode::FAILURE,
                Next::Leaves => return status,
                Next::Lost => return CONNECTION_LOST.into(),
            };
            if next == Next::Failed && stops {
                break;
            }
        }
        status
    }

    /// Takes lines until there are none. `Failed`: it has stopped at an error.
    fn read(&mut self, lines: &mut dyn Lines, stops: bool) -> Next {
        let mut pending = String::new();
        loop {
            if lines.wants_names() && self.client.status() != b'E' && std::mem::take(&mut self.names_changed)
            {
                lines.know(Names::of(&mut self.client));
            }
            let prompt = self.prompt(pending.is_empty());
            let next = match lines.next(&prompt) {
                Ok(Some(line)) => self.line(&mut pending, &line, lines),
                Ok(None) if pending.trim().is_empty() => return Next::Leaves,
                // What stands at the end without a semicolon.
                Ok(None) => match self.execute(&std::mem::take(&mut pending), lines) {
                    Next::Failed if !stops => return Next::Leaves,
                    Next::Line => return Next::Leaves,
                    next => return next,
                },
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {
                    pending.clear();
                    Next::Line
                }
                Err(error) => {
                    eprintln!("{error}");
                    return Next::Failed;
                }
            };
            match next {
                Next::Failed if stops => return Next::Failed,
                Next::Failed | Next::Line => {}
                next => return next,
            }
        }
    }

    /// As psql's: `*` in a transaction block, `!` in one that has failed, `-` in the middle of a statement.
    fn prompt(&self, fresh: bool) -> String {
        let block = match self.client.status() {
            b'T' => "*",
            b'E' => "!",
            _ => "",
        };
        format!("{}{}{block}> ", self.client.address().database, if fresh { "=" } else { "-" })
    }

    /// Takes one line.
    fn line(&mut self, pending: &mut String, line: &str, lines: &mut dyn Lines) -> Next {
        if line.trim_start().starts_with('\\') {
            return self.meta(line.trim(), pending, lines);
        }
        // `SELECT 1 \gx`
        let at = line.find('\\').filter(|at| {
            ["g", "gx", "watch"].contains(&line[at + 1..].split_whitespace().next().unwrap_or(""))
        });
        if let Some(at) = at {
            pending.push_str(&line[..at]);
            return self.meta(line[at..].trim(), pending, lines);
        }
        pending.push_str(line);
        pending.push('\n');
        if crate::statements::is_complete(pending) {
            let text = std::mem::take(pending);
            return self.execute(&text, lines);
        }
        Next::Line
    }

    /// Runs the statements of a text, one after the other, up to the first that fails.
    fn execute(&mut self, text: &str, lines: &mut dyn Lines) -> Next {
        let parts = planaria::split(text);
        let Ok(parts) = parts else { return self.run(text, lines) };
        for range in parts {
            let next = self.run(&text[range], lines);
            if next != Next::Line {
                return next;
            }
        }
        Next::Line
    }

    /// Runs one statement and prints what comes of it.
    fn run(&mut self, statement: &str, lines: &mut dyn Lines) -> Next {
        statement.clone_into(&mut self.last);
        self.interrupted.store(false, Ordering::SeqCst);
        let (began, mut answers) = (Instant::now(), Vec::new());
        let outcome = self
            .client
            .run(statement, &mut CopyLines::new(lines), &mut io::stdout(), &mut |a| answers.push(a));
        let time = began.elapsed();
        for answer in answers {
            match answer {
                Answer::Rows(table, tag) => {
                    self.show(&(table.print(self.format, None, None) + "\n"));
                    if !tag.starts_with("SELECT")
                        && !tag.starts_with("SHOW")
                        && tag.contains(' ')
                        && !tag.starts_with("FETCH")
                    {
                        println!("{tag}");
                    }
                }
                Answer::Done(tag) => {
                    self.names_changed |=
                        ["CREATE", "DROP", "ALTER", "ROLLBACK"].iter().any(|w| tag.starts_with(w));
                    println!("{tag}");
                }
                // As psql does: its data stands there alone.
                Answer::CopiedOut(_) | Answer::Empty => {}
            }
        }
        let next = self.after(outcome, Some(statement));
        if self.timing {
            println!("{}", shown_time(time));
        }
        next
    }

    /// Says why something failed, if it did.
    fn after<T>(&mut self, outcome: std::result::Result<T, Failure>, statement: Option<&str>) -> Next {
        match outcome {
            Ok(_) => Next::Line,
            Err(Failure::Told(told)) => {
                eprint!("{}", print::told(&told, statement));
                if told.severity == "FATAL" { Next::Lost } else { Next::Failed }
            }
            Err(Failure::Lost(error)) => {
                eprintln!("the connection is lost: {error}");
                Next::Lost
            }
        }
    }

    /// Prints a text, by a pager if it is longer than the terminal.
    fn show(&self, text: &str) {
        let fits = || {
            let Ok(size) = rustix::termios::tcgetwinsize(io::stdout()) else { return true };
            let wide = text.lines().any(|line| line.chars().count() > usize::from(size.ws_col));
            text.lines().count() < usize::from(size.ws_row) && !wide
        };
        if !self.pages || fits() || !page(text) {
            // A closed pipe is no reason to stop.
            let _ = io::stdout().write_all(text.as_bytes());
        }
    }
}

/// Whether a pager has shown a text.
fn page(text: &str) -> bool {
    let pager = std::env::var("PSQL_PAGER")
        .or_else(|_| std::env::var("PAGER"))
        .unwrap_or_else(|_| "less -SFRX".to_owned());
    if pager.trim().is_empty() {
        return false;
    }
    let Ok(mut child) = Command::new("sh").args(["-c", &pager]).stdin(Stdio::piped()).spawn() else {
        return false;
    };
    if let Some(mut input) = child.stdin.take() {
        // Whoever has seen enough closes it.
        let _ = input.write_all(text.as_bytes());
    }
    child.wait().is_ok_and(|status| status.code() != Some(127))
}

/// As psql has it: `Time: 1234.567 ms (00:01.235)`.
fn shown_time(time: Duration) -> String {
    let (ms, seconds) = (time.as_secs_f64() * 1e3, time.as_secs_f64());
    if ms < 1_000.0 {
        return format!("Time: {ms:.3} ms");
    }
    let (minutes, rest) = ((seconds / 60.0) as u64, seconds % 60.0);
    match minutes {
        0..60 => format!("Time: {ms:.3} ms ({minutes:02}:{rest:06.3})"),
        _ => format!("Time: {ms:.3} ms ({:02}:{:02}:{rest:06.3})", minutes / 60, minutes % 60),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_shown_as_psql_shows_them() {
        assert_eq!(shown_time(Duration::from_micros(1_234)), "Time: 1.234 ms");
        assert_eq!(shown_time(Duration::from_millis(61_500)), "Time: 61500.000 ms (01:01.500)");
        assert_eq!(shown_time(Duration::from_secs(3_723)), "Time: 3723000.000 ms (01:02:03.000)");
    }
}
