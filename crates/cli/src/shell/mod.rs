//! `planaria shell`: a SQL prompt, on a database in a directory, in memory, or on a server.
//!
//! There is one way to a database, PostgreSQL's protocol ([`client`]): one that is embedded is served to this process alone, by a
//! socket in a directory that nobody else may enter ([`embedded`]). So COPY, cancelling and what errors say are the same everywhere.
//!
//! | file | has |
//! |---|---|
//! | `address`, `passfile` | `postgres://..`, and where a password is from |
//! | `client`, `tls` | the protocol, encrypted or not |
//! | `embedded` | a database served to its own process |
//! | `scan`, `variables`, `conditions` | lines as psql reads them: statements, commands, `:variables`, `\if` |
//! | `describe` | `\d` and its family |
//! | `meta`, `connection`, `copy`, `files`, `pset` | the other commands that begin with a backslash |
//! | `output` | where answers go |
//! | `lines` | where lines come from |
//! | `complete` | names and keywords |
//!
//! Exit statuses are psql's: 0 at the end of input, 1 where the last `-c` has failed, 2 where the connection is lost, 3 where
//! something has failed and `ON_ERROR_STOP` is set.

mod address;
mod client;
mod complete;
mod conditions;
mod connection;
mod copy;
mod describe;
mod embedded;
mod files;
mod lines;
mod meta;
mod output;
mod passfile;
mod place;
mod pset;
mod scan;
mod tls;
mod variables;

use crate::print;
use crate::recovery::{KeepLog, Recovery};
use crate::table::{Format, Style};
use address::Address;
pub use address::is_url;
use clap::Args;
use client::Canceller;
pub use client::{Answer, Client, Failure, Told};
use complete::Names;
use conditions::Conditions;
pub use embedded::Served;
use lines::{CopyLines, Lines, NoLines, Prompt, Script};
use output::Output;
use planaria::Result;
use scan::Scanner;
use std::io::{self, IsTerminal, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};
use variables::Variables;

/// Options of `planaria shell`.
#[derive(Args)]
pub struct Options {
    /// Directory of the database, or a server: postgres://user@host:port/database (default: a database in memory)
    #[arg(value_name = "DIR|URL")]
    place: Option<PathBuf>,
    /// Run this command and exit; the last of several decides the exit status
    #[arg(short, long)]
    command: Vec<String>,
    /// Run a file and exit, after any --command
    #[arg(short, long, value_name = "FILE")]
    file: Vec<String>,
    /// Set a variable: ON_ERROR_STOP=1 stops at the first error, with exit status 3
    #[arg(short = 'v', long = "set", value_name = "NAME=VALUE", value_parser = variable)]
    variables: Vec<(String, String)>,
    /// Unaligned rows
    #[arg(short = 'A', long)]
    no_align: bool,
    /// Rows only, without header and row count
    #[arg(short, long)]
    tuples_only: bool,
    /// Print results only, no messages
    #[arg(short, long)]
    quiet: bool,
    /// Do not read ~/.planariarc
    #[arg(short = 'X', long, alias = "no-psqlrc")]
    no_planariarc: bool,
    #[command(flatten)]
    recovery: Recovery,
    #[command(flatten)]
    keep_log: KeepLog,
}

/// Exit status of a script that was left at an error.
const SCRIPT_FAILED: u8 = 3;
/// Exit status where the connection is lost.
const CONNECTION_LOST: u8 = 2;

/// A variable and its value.
fn variable(text: &str) -> Result<(String, String), String> {
    let (name, value) = text.split_once('=').unwrap_or((text, ""));
    Variables::default().set(name, value)?;
    Ok((name.to_owned(), value.to_owned()))
}

/// Where the interactive prompt keeps what was typed: `PLANARIA_HISTORY`, or a file in the home directory.
fn history_file() -> Option<PathBuf> {
    match std::env::var_os("PLANARIA_HISTORY") {
        Some(path) => Some(path.into()).filter(|path: &PathBuf| !path.as_os_str().is_empty()),
        None => std::env::home_dir().map(|home| home.join(".planaria_history")),
    }
}

/// What is run before all else: the file of `PLANARIARC`, or one in the home directory. (Of psql's own there is much that the shell
/// does not know.)
fn start_file() -> Option<PathBuf> {
    let file = match std::env::var_os("PLANARIARC") {
        Some(path) => path.into(),
        None => std::env::home_dir()?.join(".planariarc"),
    };
    file.exists().then_some(file)
}

/// Reads statements until the end of input.
pub fn shell(options: &Options) -> Result<ExitCode> {
    let in_memory = options.place.is_none();
    let (client, served) = match &options.place {
        Some(place) => connect(Some(place), &options.recovery, options.keep_log)?,
        None => embed(planaria::Database::in_memory()?)?,
    };
    let place = match &options.place {
        Some(dir) if served.is_some() => format!("on {}", dir.display()),
        _ if in_memory => "in memory: nothing is kept".to_owned(),
        _ => format!("on {} as {}", url_without_password(client.address()), client.address().user),
    };
    let canceller = Arc::new(Mutex::new(client.canceller()));
    let format = if options.no_align { Format::Unaligned } else { Format::Aligned };
    let mut shell = Shell {
        client,
        canceller,
        embedded: served.is_some(),
        interactive: false,
        timing: false,
        style: Style { format, tuples_only: options.tuples_only, ..Style::default() },
        output: Output::Own,
        pages: false,
        last: String::new(),
        interrupted: Arc::default(),
        names_changed: true,
        variables: Variables::default(),
        scanner: Scanner::default(),
        conditions: Conditions::default(),
        conditions_of_file: 0,
        directory: None,
    };
    let quiet = options.quiet.then(|| ("QUIET".to_owned(), "on".to_owned()));
    for (name, value) in options.variables.iter().chain(&quiet) {
        shell.define(name, value);
    }
    shell.connected();
    let began = match start_file().filter(|_| !options.no_planariarc) {
        // An error in it is said, and keeps nobody from going on.
        Some(file) => shell.run_file("i", &file.to_string_lossy(), false),
        None => Next::Line,
    };
    let status = match began {
        Next::Lost => Ok(CONNECTION_LOST.into()),
        _ => shell.serve(options, &place),
    };
    drop(shell);
    if let Some(served) = served {
        served.close()?;
    }
    status
}

/// A client of a database in a directory, which is served until it has been closed, or of a server; without a place of the one that
/// `PGHOST` and its like name.
pub fn connect(
    place: Option<&Path>,
    recovery: &Recovery,
    keep_log: KeepLog,
) -> Result<(Client, Option<Served>)> {
    let url = match place {
        Some(place) => place.to_str().filter(|text| is_url(text)),
        None => Some("postgres://"),
    };
    match (url, place) {
        (Some(url), _) => {
            let address = Address::parse(url, &|name| std::env::var(name).ok())?;
            Ok((Client::connect(&address, notice, &mut lines::ask_password)?, None))
        }
        (None, dir) => embed(recovery.open_and_tell(keep_log.options(), dir.unwrap_or(Path::new("")))?),
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
    place::tell(print::told(told, None));
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
    /// What Ctrl-C ends.
    canceller: Arc<Mutex<Canceller>>,
    /// The database is one of this process.
    embedded: bool,
    /// A person types.
    interactive: bool,
    timing: bool,
    style: Style,
    output: Output,
    /// Long answers go through a pager: somebody reads them at a terminal.
    pages: bool,
    /// The last statement that was run.
    last: String,
    /// Ctrl-C was pressed.
    interrupted: Arc<AtomicBool>,
    /// What there is may have changed since names were looked up.
    names_changed: bool,
    variables: Variables,
    /// Where the line stands that comes next.
    scanner: Scanner,
    conditions: Conditions,
    /// How many of them were open when the file began that is read.
    conditions_of_file: usize,
    /// Where the file is that is read.
    directory: Option<PathBuf>,
}

impl Shell {
    fn serve(&mut self, options: &Options, place: &str) -> Result<ExitCode> {
        if !options.command.is_empty() || !options.file.is_empty() {
            return Ok(self.commands(options));
        }
        if !io::stdin().is_terminal() {
            return Ok(match self.read(&mut Script::new(io::stdin().lock())) {
                Next::Failed => SCRIPT_FAILED.into(),
                Next::Lost => CONNECTION_LOST.into(),
                Next::Line | Next::Leaves => ExitCode::SUCCESS,
            });
        }
        self.interactive = true;
        self.say(&format!("planaria {} {place}\n\\? for help, \\q to quit.", env!("CARGO_PKG_VERSION")));
        self.pages = io::stdout().is_terminal();
        let mut prompt = Prompt::new(history_file())?;
        // At the prompt the editor takes the key; while a statement runs it is a signal. (The editor has a handler of its own,
        // which this one replaces.)
        let (canceller, interrupted) = (self.canceller.clone(), self.interrupted.clone());
        let cancel = move || {
            interrupted.store(true, Ordering::SeqCst);
            canceller.lock().unwrap_or_else(PoisonError::into_inner).clone().cancel();
        };
        ctrlc::set_handler(cancel).map_err(io::Error::other)?;
        let left = self.read(&mut prompt);
        prompt.save();
        Ok(if left == Next::Lost { CONNECTION_LOST.into() } else { ExitCode::SUCCESS })
    }

    /// Whether the first error is the end.
    fn stops(&self) -> bool {
        !self.interactive && self.variables.is_on("ON_ERROR_STOP")
    }

    /// Sets a variable of the shell's own.
    fn define(&mut self, name: &str, value: &str) {
        // It has a name that can be.
        let _ = self.variables.set(name, value);
    }

    /// Says to variables, and to whoever cancels, what this is connected to.
    fn connected(&mut self) {
        let address = self.client.address().clone();
        let (host, port) = address.host_and_port();
        for (name, value) in
            [("DBNAME", &address.database), ("USER", &address.user), ("HOST", &host), ("PORT", &port)]
        {
            self.define(name, value);
        }
        self.define("ENCODING", "UTF8");
        *self.canceller.lock().unwrap_or_else(PoisonError::into_inner) = self.client.canceller();
    }

    /// Texts and files of the command line.
    fn commands(&mut self, options: &Options) -> ExitCode {
        let mut status = ExitCode::SUCCESS;
        let texts = options.command.iter().map(|text| (text, false));
        for (text, is_file) in texts.chain(options.file.iter().map(|name| (name, true))) {
            let next = match text.trim_start().starts_with('\\') {
                _ if is_file => self.run_file("i", text, false),
                true => self.line(&mut String::new(), text.trim(), &mut NoLines),
                false => self.execute(text, &mut NoLines),
            };
            status = match next {
                Next::Line => ExitCode::SUCCESS,
                Next::Failed if is_file && self.stops() => SCRIPT_FAILED.into(),
                Next::Failed => ExitCode::FAILURE,
                Next::Leaves => return status,
                Next::Lost => return CONNECTION_LOST.into(),
            };
            if next == Next::Failed && self.stops() {
                break;
            }
        }
        status
    }

    /// Takes lines until there are none. `Failed`: it has stopped at an error.
    fn read(&mut self, lines: &mut dyn Lines) -> Next {
        let conditions = self.conditions.depth();
        let outer = std::mem::replace(&mut self.conditions_of_file, conditions);
        let mut next = self.read_lines(lines);
        if self.conditions.depth() > conditions && next == Next::Leaves {
            place::tell("reached EOF without finding closing \\endif(s)");
            if self.stops() {
                next = Next::Failed;
            }
        }
        self.conditions.close_to(conditions);
        self.conditions_of_file = outer;
        next
    }

    fn read_lines(&mut self, lines: &mut dyn Lines) -> Next {
        let mut pending = String::new();
        loop {
            if lines.wants_names() && self.client.status() != b'E' && std::mem::take(&mut self.names_changed)
            {
                lines.know(Names::of(&mut self.client));
            }
            let prompt = self.prompt(pending.is_empty());
            let next = lines.next(&prompt);
            if matches!(next, Ok(Some(_))) {
                place::next_line();
            }
            let next = match next {
                Ok(Some(line)) => self.line(&mut pending, &line, lines),
                Ok(None) if pending.trim().is_empty() => return Next::Leaves,
                // What stands at the end without a semicolon.
                Ok(None) => match self.execute(&std::mem::take(&mut pending), lines) {
                    Next::Failed if !self.stops() => return Next::Leaves,
                    Next::Line => return Next::Leaves,
                    next => return next,
                },
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {
                    pending.clear();
                    self.scanner.reset();
                    Next::Line
                }
                Err(error) => {
                    place::tell(error);
                    return Next::Failed;
                }
            };
            match next {
                Next::Failed if self.stops() => return Next::Failed,
                Next::Failed | Next::Line => {}
                next => return next,
            }
        }
    }

    /// As psql's: `*` in a transaction block, `!` in one that has failed, `-` in the middle of a statement, or the quote that is
    /// open, `@` where lines do not count.
    fn prompt(&self, fresh: bool) -> String {
        let block = match self.client.status() {
            b'T' => "*",
            b'E' => "!",
            _ => "",
        };
        let at = match fresh {
            _ if !self.conditions.active() => '@',
            true => '=',
            false => self.scanner.waits(),
        };
        format!("{}{at}{block}> ", self.client.address().database)
    }

    /// Takes one line: statements, and commands that begin with a backslash.
    fn line(&mut self, pending: &mut String, line: &str, lines: &mut dyn Lines) -> Next {
        let mut rest = line;
        let mut failed = false;
        loop {
            let (sql, command) = self.scanner.sql(rest, &self.variables);
            if self.conditions.active() {
                pending.push_str(&sql);
                if command.is_none() {
                    pending.push('\n');
                }
                // What is whole before a command is run before it.
                if planaria::is_complete(pending) && (command.is_none() || !pending.trim().is_empty()) {
                    self.scanner.reset();
                    match self.execute(&std::mem::take(pending), lines) {
                        Next::Line => {}
                        Next::Failed if !self.stops() => failed = true,
                        next => return next,
                    }
                }
            }
            let Some(command) = command else {
                return if failed { Next::Failed } else { Next::Line };
            };
            let (next, behind) = self.command(command, pending, lines);
            match next {
                Next::Line => {}
                Next::Failed if !self.stops() => failed = true,
                next => return next,
            }
            if behind.trim().is_empty() {
                return if failed { Next::Failed } else { Next::Line };
            }
            rest = behind;
        }
    }

    /// Runs the statements of a text, one after the other, up to the first that fails.
    fn execute(&mut self, text: &str, lines: &mut dyn Lines) -> Next {
        let parts = planaria::split(text);
        let Ok(parts) = parts else { return self.run(text, lines) };
        for range in parts {
            let end = range.end;
            let next = self.run(&text[range], lines);
            // It is shown again, and written, as it was typed.
            if text[end..].trim_start().starts_with(';') {
                self.last.push(';');
            }
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
            .run(statement, &mut CopyLines::new(lines), &mut self.output, &mut |a| answers.push(a));
        let time = began.elapsed();
        let mut count = None;
        for answer in answers {
            match answer {
                Answer::Rows(table, tag) => {
                    count = Some(table.rows.len().to_string());
                    self.show(&table.print(&self.style, None, None));
                    if !tag.starts_with("SELECT")
                        && !tag.starts_with("SHOW")
                        && tag.contains(' ')
                        && !tag.starts_with("FETCH")
                    {
                        self.tell(&tag);
                    }
                }
                Answer::Done(tag) => {
                    self.names_changed |=
                        ["CREATE", "DROP", "ALTER", "ROLLBACK"].iter().any(|w| tag.starts_with(w));
                    count = tag.rsplit(' ').next().filter(|n| n.parse::<u64>().is_ok()).map(str::to_owned);
                    self.tell(&tag);
                }
                // As psql does: its data stands there alone.
                Answer::CopiedOut(_) | Answer::Empty => {}
            }
        }
        self.note(&outcome, count.as_deref());
        let next = self.after(outcome, Some(statement));
        if self.timing {
            println!("{}", shown_time(time));
        }
        for line in self.client.take_heard() {
            println!("{line}");
        }
        next
    }

    /// Says to variables what has come of a statement.
    fn note<T>(&mut self, outcome: &std::result::Result<T, Failure>, count: Option<&str>) {
        let (state, message) = match outcome {
            Err(Failure::Told(told)) => (told.sqlstate.as_str(), Some(told.message.as_str())),
            Err(Failure::Lost(_)) => ("", None),
            Ok(_) => ("00000", None),
        };
        self.define("ERROR", if outcome.is_err() { "true" } else { "false" });
        self.define("SQLSTATE", state);
        self.define("ROW_COUNT", count.unwrap_or("0"));
        if let Some(message) = message {
            self.define("LAST_ERROR_MESSAGE", message);
            self.define("LAST_ERROR_SQLSTATE", state);
        }
    }

    /// Prints a command tag, where answers go.
    fn tell(&mut self, tag: &str) {
        if !self.variables.is_on("QUIET") {
            let _ = writeln!(self.output, "{tag}");
        }
    }

    /// Says why something failed, if it did.
    fn after<T>(&mut self, outcome: std::result::Result<T, Failure>, statement: Option<&str>) -> Next {
        match outcome {
            Ok(_) => Next::Line,
            Err(Failure::Told(told)) => {
                place::tell(print::told(&told, statement));
                if told.severity == "FATAL" { Next::Lost } else { Next::Failed }
            }
            Err(Failure::Lost(error)) => {
                place::tell(format_args!("connection to server was lost: {error}"));
                Next::Lost
            }
        }
    }

    /// Prints a text, by a pager if it is longer than the terminal.
    fn show(&mut self, text: &str) {
        let fits = || {
            let Ok(size) = rustix::termios::tcgetwinsize(io::stdout()) else { return true };
            let wide = text.lines().any(|line| line.chars().count() > usize::from(size.ws_col));
            text.lines().count() < usize::from(size.ws_row) && !wide
        };
        if !self.pages || !self.output.is_own() || fits() || !page(text) {
            // A closed pipe is no reason to stop.
            let _ = self.output.write_all(text.as_bytes());
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
