//! `planaria load`: a file of SQL with the data of its COPYs in it, as `planaria dump` and `pg_dump` write them.
//!
//! Statements go to the database one by one; the lines behind a `COPY .. FROM stdin` are its data, up to one that is `\.`. What is
//! in memory is a statement, or a piece of data.

use crate::print;
use crate::recovery::{KeepLog, Recovery};
use crate::shell::{Answer, Client, Failure};
use crate::statements::{Scanner, bare};
use clap::Args;
use indicatif::{ProgressBar, ProgressStyle};
use planaria::{Error, Result, SqlState};
use std::fs::File;
use std::io::{self, BufRead, BufReader, IsTerminal, Read};
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Instant;

/// Options of `planaria load`.
#[derive(Args)]
pub struct Options {
    /// Directory of the database, created if it does not exist, or a server: postgres://user@host:port/database
    #[arg(value_name = "DIR|URL")]
    place: PathBuf,
    /// File to load; `-` is standard input
    #[arg(value_name = "FILE", default_value = "-")]
    file: PathBuf,
    /// In one transaction: all or nothing
    #[arg(short = '1', long, conflicts_with = "go_on")]
    single_transaction: bool,
    /// Continue after errors; the exit status is 1 if there were any
    #[arg(long)]
    go_on: bool,
    #[command(flatten)]
    recovery: Recovery,
    #[command(flatten)]
    keep_log: KeepLog,
}

/// Loads a file.
pub fn load(options: &Options) -> Result<ExitCode> {
    let name = options.file.display().to_string();
    let (input, length): (Box<dyn BufRead>, _) = if name == "-" {
        (Box::new(io::stdin().lock()), None)
    } else {
        let named = |e: io::Error| Error::from(io::Error::new(e.kind(), format!("{name}: {e}")));
        let file = File::open(&options.file).map_err(named)?;
        let metadata = file.metadata().map_err(named)?;
        if metadata.is_dir() {
            return Err(Error::new(SqlState::new("42809"), format!("{name} is a directory")));
        }
        (Box::new(BufReader::with_capacity(256 << 10, file)), Some(metadata.len()).filter(|n| *n > 0))
    };
    let (client, served) = crate::shell::connect(Some(&options.place), &options.recovery, options.keep_log)?;
    let name = if name == "-" { "standard input".to_owned() } else { name };
    let mut loading = Loading {
        client,
        lines: Lines { input, line: 0, bar: bar(length), last: None },
        name,
        goes_on: options.go_on,
        errors: 0,
        made: 0,
        copied: 0,
        rows: 0,
    };
    let began = Instant::now();
    let ended = loading.run(options.single_transaction);
    if let Some(bar) = &loading.lines.bar {
        bar.finish_and_clear();
    }
    // A block that is open is undone by this.
    let Loading { client, errors, made, copied, rows, .. } = loading;
    drop(client);
    if let Some(served) = served {
        served.close()?;
    }
    if ended.is_err() {
        return Ok(ExitCode::FAILURE);
    }
    // A file of data alone makes none.
    let tables = if made == 0 { copied } else { made };
    let count = |n: u64, what: &str| format!("{} {what}{}", print::grouped(n), if n == 1 { "" } else { "s" });
    let seconds = began.elapsed().as_secs_f64();
    println!("loaded {}, {} in {seconds:.1} s", count(tables, "table"), count(rows, "row"));
    if errors > 0 {
        eprintln!("{} left out", count(errors, "statement"));
        return Ok(ExitCode::FAILURE);
    }
    Ok(ExitCode::SUCCESS)
}

/// Shows how far it is, if somebody sees it.
fn bar(length: Option<u64>) -> Option<ProgressBar> {
    if !io::stderr().is_terminal() {
        return None;
    }
    let (bar, template) = match length {
        Some(length) => (
            ProgressBar::new(length),
            "   {bar:14} {percent:>3}% {binary_bytes} of {binary_total_bytes}, {binary_bytes_per_sec}, {eta} to go",
        ),
        None => (ProgressBar::new_spinner(), "   {spinner} {binary_bytes}, {binary_bytes_per_sec}"),
    };
    bar.set_style(ProgressStyle::with_template(template).unwrap_or(ProgressStyle::default_bar()));
    Some(bar)
}

/// It has said why it cannot go on.
struct Stopped;

struct Loading {
    client: Client,
    lines: Lines,
    name: String,
    goes_on: bool,
    errors: u64,
    /// Tables that were made.
    made: u64,
    /// COPYs that were carried out.
    copied: u64,
    rows: u64,
}

impl Loading {
    fn run(&mut self, single: bool) -> Result<(), Stopped> {
        if single {
            self.statement("BEGIN", 1)?;
        }
        // What has been read of a statement, and the line that it begins on.
        let (mut pending, mut began, mut scanner) = (String::new(), 1, Scanner::new());
        loop {
            let line = match self.lines.next() {
                Ok(line) => line.map(<[u8]>::to_vec),
                Err(error) => {
                    self.say(self.lines.line + 1, &format!("{error}\n"));
                    return Err(Stopped);
                }
            };
            let Some(line) = line else { break };
            let Ok(line) = String::from_utf8(line) else {
                self.say(self.lines.line, "ERROR:  22021: the text is not in UTF-8\n");
                return Err(Stopped);
            };
            if bare(&pending).is_empty() {
                (began, scanner) = (self.lines.line, Scanner::new());
                pending.clear();
                if line.starts_with('\\') {
                    self.command(line.trim())?;
                    continue;
                }
            }
            pending.push_str(&line);
            while let Some(end) = scanner.end(&pending) {
                let rest = pending.split_off(end);
                self.statement(&pending, began)?;
                // What follows stands on the line that has been read last, a COPY's data behind that.
                (pending, scanner) = (rest, Scanner::new());
                began = self.lines.line;
            }
        }
        if !bare(&pending).is_empty() {
            self.statement(&pending, began)?;
        }
        if single {
            self.statement("COMMIT", self.lines.line)?;
        }
        Ok(())
    }

    /// Carries out the statement of a text that begins on a line.
    fn statement(&mut self, text: &str, began: usize) -> Result<(), Stopped> {
        let statement = bare(text);
        if matches!(statement, "" | ";") {
            return Ok(());
        }
        let line = began + print::line_of(text, text.len() - statement.len()) - 1;
        let is_copy = is_copy(statement);
        let first = self.lines.line;
        let mut data = Data { lines: &mut self.lines, over: false, rest: 0 };
        let (mut made, mut copied, mut rows) = (0, 0, 0);
        let outcome = self.client.run(statement, &mut data, &mut io::sink(), &mut |answer| {
            let (Answer::Done(tag) | Answer::Rows(_, tag)) = answer else { return };
            let count = || tag.rsplit(' ').next().and_then(|n| n.parse::<u64>().ok()).unwrap_or(0);
            match tag.split(' ').next() {
                Some("CREATE") if tag == "CREATE TABLE" => made += 1,
                Some("COPY") => (copied, rows) = (copied + 1, rows + count()),
                Some("INSERT" | "SELECT") if tag.starts_with("INSERT") => rows += count(),
                _ => {}
            }
        });
        if is_copy && outcome.is_err() {
            // What was to be copied is no statement.
            while !data.over {
                let mut chunk = [0; 8 << 10];
                if !data.read(&mut chunk).is_ok_and(|n| n > 0) {
                    break;
                }
            }
        }
        (self.made, self.copied, self.rows) = (self.made + made, self.copied + copied, self.rows + rows);
        match outcome {
            Ok(()) => Ok(()),
            Err(Failure::Told(told)) => {
                let line = match told.context.as_deref().and_then(line_of_data) {
                    Some(row) if is_copy => first + row,
                    _ => {
                        line + line_in(statement, told.position).filter(|_| told.query.is_none()).unwrap_or(0)
                    }
                };
                self.say(line, &print::told(&told, Some(statement)));
                if matches!(told.severity.as_str(), "FATAL" | "PANIC") { Err(Stopped) } else { self.failed() }
            }
            Err(Failure::Lost(error)) => {
                self.say(line, &format!("connection to server was lost: {error}\n"));
                Err(Stopped)
            }
        }
    }

    /// A line that psql would take itself.
    fn command(&mut self, line: &str) -> Result<(), Stopped> {
        let mut words = line.split_whitespace();
        match words.next().unwrap_or_default() {
            // They keep psql from taking what was smuggled into a dump; nothing of that is taken here.
            "\\restrict" | "\\unrestrict" => return Ok(()),
            "\\connect" | "\\c" => {
                let name = words.next().unwrap_or_default().trim_matches('"').replace("\"\"", "\"");
                if name == self.client.address().database {
                    return Ok(());
                }
                let message = format!(
                    "ERROR:  0A000: {line}: a file is loaded into one database\nHINT:  Write it without --create, and not by pg_dumpall.\n"
                );
                self.say(self.lines.line, &message);
            }
            "\\." => self.say(self.lines.line, "ERROR:  42601: \\. ends data of COPY, and there is none\n"),
            other => {
                let message =
                    format!("ERROR:  0A000: {other} is a command of psql, which load does not carry out\n");
                self.say(self.lines.line, &message);
            }
        }
        self.failed()
    }

    /// Says something of a line.
    fn say(&self, line: usize, what: &str) {
        let say = || eprint!("{}:{line}: {what}", self.name);
        match &self.lines.bar {
            Some(bar) => bar.suspend(say),
            None => say(),
        }
    }

    /// Whether it goes on after an error.
    fn failed(&mut self) -> Result<(), Stopped> {
        self.errors += 1;
        if self.goes_on { Ok(()) } else { Err(Stopped) }
    }
}

/// Lines of a file, with their ends.
struct Lines {
    input: Box<dyn BufRead>,
    /// The number of the last.
    line: usize,
    bar: Option<ProgressBar>,
    last: Option<Vec<u8>>,
}

impl Lines {
    fn next(&mut self) -> io::Result<Option<&[u8]>> {
        let mut bytes = self.last.take().unwrap_or_default();
        bytes.clear();
        if self.input.read_until(b'\n', &mut bytes)? == 0 {
            return Ok(None);
        }
        self.line += 1;
        if let Some(bar) = &self.bar {
            bar.inc(bytes.len() as u64);
        }
        Ok(Some(self.last.insert(bytes)))
    }
}

/// The data of a COPY.
struct Data<'l> {
    lines: &'l mut Lines,
    over: bool,
    /// What is left of the last line.
    rest: usize,
}

impl Read for Data<'_> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        let mut filled = 0;
        while filled < out.len() && !self.over {
            if self.rest == 0 {
                match self.lines.next()? {
                    Some(line) if line.trim_ascii_end() == b"\\." => self.over = true,
                    Some(line) => self.rest = line.len(),
                    None => {
                        self.over = true;
                        return Err(io::Error::other("the file ends in the middle of its data"));
                    }
                }
                continue;
            }
            let line = self.lines.last.as_deref().unwrap_or_default();
            let line = &line[line.len() - self.rest..];
            let n = line.len().min(out.len() - filled);
            out[filled..filled + n].copy_from_slice(&line[..n]);
            (filled, self.rest) = (filled + n, self.rest - n);
        }
        Ok(filled)
    }
}

/// Whether a statement takes data from the lines behind it.
fn is_copy(statement: &str) -> bool {
    let mut words = statement.split_whitespace().map(str::to_ascii_uppercase);
    if words.next().as_deref() != Some("COPY") {
        return false;
    }
    let words: Vec<String> = words.collect();
    words.windows(2).any(|pair| pair[0] == "FROM" && pair[1].trim_end_matches(';') == "STDIN")
}

/// The line of a statement that a position in characters is on, from 0.
fn line_in(statement: &str, position: Option<usize>) -> Option<usize> {
    let before = statement.chars().take(position?.saturating_sub(1));
    Some(before.filter(|c| *c == '\n').count())
}

/// `COPY t, line 3, column a: "x"`
fn line_of_data(context: &str) -> Option<usize> {
    let (_, rest) = context.strip_prefix("COPY ")?.split_once(", line ")?;
    let digits = rest.split(|c: char| !c.is_ascii_digit()).next()?;
    digits.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn copies_are_told_from_other_statements() {
        assert!(is_copy("COPY public.t (a, b) FROM stdin;"));
        assert!(is_copy("copy t from stdin with (format csv)"));
        assert!(!is_copy("COPY t TO stdout"));
        assert!(!is_copy("SELECT 'COPY t FROM stdin'"));
        assert_eq!(line_of_data("COPY t, line 3, column a: \"x\""), Some(3));
    }
}
