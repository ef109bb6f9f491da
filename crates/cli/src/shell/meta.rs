//! Commands that begin with a backslash, but for those that ask the catalogs.

use super::client::{Answer, Failure};
use super::describe::{self, Listing};
use super::lines::{Lines, Script};
use super::{Next, Shell};
use crate::print;
use crate::table::Format;
use std::fs::File;
use std::io::{self, BufReader, IsTerminal, Read, Write};
use std::process::Command;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

const HELP: &str = "\
General
  \\q                     leave
  \\g, \\gx                run what was typed, or the last statement again; \\gx: a line a column
  \\watch [SEC] [c=N]     run it every SEC seconds (2), N times; Ctrl-C ends it
  \\e [FILE]              edit it in $EDITOR, and run it
  \\p, \\r                 print what was typed; forget it
  \\i FILE                run a file
  \\copy ...              COPY with a file of this machine: \\copy t from 'f.csv' csv header
  \\timing [on|off]       times of statements
  \\x [on|off]            a line a column, or tables
  \\h [NAME]              help on statements of SQL
  \\conninfo, \\echo TEXT  what this is connected to; a text
Catalogs (PATTERN: * is anything, ? a character)
  \\d                     tables, views and sequences
  \\d PATTERN             columns, indexes and constraints
  \\dt, \\di, \\dv, \\ds     tables, indexes, views, sequences
  \\df, \\dn, \\du, \\l      functions, schemas, roles, databases
Ctrl-C ends a statement that runs. EXPLAIN, EXPLAIN PROCEDURE name and EXPLAIN RECOVERY say how things are done.
";

/// Statements, each with its forms.
const STATEMENTS: &str = include_str!("statements.txt");

/// How often somebody who waits looks whether he is to go on.
const LOOK_EVERY: Duration = Duration::from_millis(20);

impl Shell {
    /// Runs a command. `pending`: what was typed before it.
    pub(super) fn meta(&mut self, line: &str, pending: &mut String, lines: &mut dyn Lines) -> Next {
        let (command, argument) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
        let argument = argument.trim();
        match command {
            "\\q" => return Next::Leaves,
            "\\?" => self.show(HELP),
            "\\h" => return self.help(argument),
            "\\echo" => println!("{argument}"),
            "\\conninfo" => {
                let address = self.client.address();
                println!(
                    "You are connected to database \"{}\" as user \"{}\" at {}.",
                    address.database,
                    address.user,
                    super::url_without_password(address)
                );
            }
            "\\timing" => {
                self.timing = match switched(command, argument, self.timing) {
                    Some(on) => on,
                    None => return Next::Failed,
                };
                println!("Timing is {}.", if self.timing { "on" } else { "off" });
            }
            "\\x" => {
                let Some(on) = switched(command, argument, self.format == Format::Expanded) else {
                    return Next::Failed;
                };
                self.format = if on { Format::Expanded } else { Format::Aligned };
                println!("Expanded display is {}.", if on { "on" } else { "off" });
            }
            "\\p" => println!("{}", if pending.trim().is_empty() { &self.last } else { pending.trim_end() }),
            "\\r" => {
                pending.clear();
                println!("Query buffer reset (cleared).");
            }
            "\\g" | "\\gx" => {
                let before = self.format;
                if command == "\\gx" {
                    self.format = Format::Expanded;
                }
                let text = self.meant(pending);
                let next = self.execute(&text, lines);
                self.format = before;
                return next;
            }
            "\\watch" => return self.watch(argument, pending, lines),
            "\\i" => return self.run_file(argument),
            "\\e" => return self.edit(argument, pending, lines),
            "\\copy" => return self.copy(argument),
            _ => return self.catalogs(command, argument),
        }
        Next::Line
    }

    /// What was typed, or the last statement.
    fn meant(&self, pending: &mut String) -> String {
        let typed = std::mem::take(pending);
        if typed.trim().is_empty() { self.last.clone() } else { typed }
    }

    fn catalogs(&mut self, command: &str, argument: &str) -> Next {
        let client = &mut self.client;
        let one = |listing: Listing| Some(vec![listing]);
        let found: Result<Option<Vec<Listing>>, Failure> = match (command, argument) {
            ("\\d", "") => describe::relations(client, "tvs", "").map(|found| found.map(|l| vec![l])),
            ("\\d", pattern) => {
                describe::relation(client, pattern).map(|found| Some(found).filter(|f| !f.is_empty()))
            }
            ("\\dt" | "\\di" | "\\dv" | "\\ds", pattern) => {
                describe::relations(client, &command[2..], pattern).map(|found| found.map(|l| vec![l]))
            }
            ("\\df", pattern) => describe::functions(client, pattern).map(one),
            ("\\dn", pattern) => describe::schemas(client, pattern).map(one),
            ("\\du" | "\\dg", pattern) => describe::roles(client, pattern).map(one),
            ("\\l", _) => describe::databases(client).map(one),
            _ => {
                eprintln!("invalid command {command}\nTry \\? for help.");
                return Next::Failed;
            }
        };
        match found {
            Ok(Some(listings)) => {
                let text: Vec<String> = listings.iter().map(|l| l.print(self.format) + "\n").collect();
                self.show(&text.concat());
                Next::Line
            }
            Ok(None) if argument.is_empty() => {
                eprintln!("Did not find any relations.");
                Next::Line
            }
            Ok(None) => {
                eprintln!("Did not find any relation named \"{argument}\".");
                Next::Failed
            }
            Err(failure) => self.after::<()>(Err(failure), None),
        }
    }

    fn help(&self, name: &str) -> Next {
        let entries = STATEMENTS.split("\n\n").map(str::trim_end).filter(|e| !e.is_empty());
        let first = |entry: &str| entry.lines().next().unwrap_or("").to_owned();
        if name.is_empty() {
            let names: Vec<String> = entries.map(first).collect();
            self.show(&format!(
                "Available help:\n{}\n",
                names.iter().map(|n| format!("  {n}")).collect::<Vec<_>>().join("\n")
            ));
            return Next::Line;
        }
        let wanted = name.trim_end_matches(';').trim().to_uppercase();
        let found: Vec<&str> = entries.filter(|e| first(e).starts_with(&wanted)).collect();
        if found.is_empty() {
            eprintln!("No help available for \"{name}\".\nTry \\h with no arguments to see available help.");
            return Next::Failed;
        }
        self.show(&(found.join("\n\n") + "\n"));
        Next::Line
    }

    /// `\watch [SEC] [c=N]`
    fn watch(&mut self, argument: &str, pending: &mut String, lines: &mut dyn Lines) -> Next {
        let (mut seconds, mut times) = (2.0, u64::MAX);
        for word in argument.split_whitespace() {
            let parsed = match word.split_once('=') {
                Some(("c" | "count", n)) => n.parse().map(|n| times = n).is_ok(),
                Some(("i" | "interval", s)) => s.parse().map(|s| seconds = s).is_ok(),
                None => word.parse().map(|s| seconds = s).is_ok(),
                Some(_) => false,
            };
            if !parsed || !(0.0..=86_400.0).contains(&seconds) || times == 0 {
                eprintln!("\\watch: \"{word}\" is no number of seconds, and no c=TIMES");
                return Next::Failed;
            }
        }
        let text = self.meant(pending);
        if text.trim().is_empty() {
            eprintln!("\\watch cannot be used with an empty query");
            return Next::Failed;
        }
        for turn in 0..times {
            if turn > 0 {
                let until = Instant::now() + Duration::from_secs_f64(seconds);
                while Instant::now() < until && !self.interrupted.load(Ordering::SeqCst) {
                    std::thread::sleep(LOOK_EVERY.min(until.saturating_duration_since(Instant::now())));
                }
                if self.interrupted.load(Ordering::SeqCst) {
                    break;
                }
            }
            let now = self.client.query("SELECT to_char(now(), 'Dy Mon DD HH24:MI:SS YYYY')");
            let now =
                now.ok().and_then(|t| t.rows.into_iter().next()?.into_iter().next()?).unwrap_or_default();
            println!("{now} (every {seconds}s)\n");
            let next = self.execute(&text, lines);
            if next != Next::Line {
                return next;
            }
        }
        Next::Line
    }

    /// `\i FILE`
    fn run_file(&mut self, name: &str) -> Next {
        let name = unquoted(name);
        if name.is_empty() {
            eprintln!("\\i: missing required argument");
            return Next::Failed;
        }
        match File::open(&name) {
            Ok(file) => match self.read(&mut Script::new(BufReader::new(file)), true) {
                Next::Leaves | Next::Line => Next::Line,
                next => next,
            },
            Err(error) => {
                eprintln!("{name}: {error}");
                Next::Failed
            }
        }
    }

    /// `\e [FILE]`
    fn edit(&mut self, name: &str, pending: &mut String, lines: &mut dyn Lines) -> Next {
        let text = self.meant(pending);
        let edited = || -> io::Result<String> {
            let draft = tempfile::Builder::new().prefix("planaria").suffix(".sql").tempfile()?;
            let name = unquoted(name);
            let path = if name.is_empty() { draft.path().to_owned() } else { name.into() };
            if path == draft.path() {
                std::fs::write(&path, &text)?;
            }
            let editor = ["PSQL_EDITOR", "EDITOR", "VISUAL"].iter().find_map(|name| std::env::var(name).ok());
            let editor = editor.unwrap_or_else(|| "vi".to_owned());
            let status = Command::new("sh").args(["-c", &format!("{editor} \"$0\"")]).arg(&path).status()?;
            if !status.success() {
                return Err(io::Error::other(format!("{editor}: {status}")));
            }
            std::fs::read_to_string(&path)
        };
        match edited() {
            Ok(text) if planaria::is_complete(&text) => {
                print!("{text}");
                self.execute(&text, lines)
            }
            // It goes on at the prompt.
            Ok(text) => {
                print!("{text}");
                *pending = text;
                Next::Line
            }
            Err(error) => {
                eprintln!("\\e: {error}");
                Next::Failed
            }
        }
    }

    /// `\copy`: the server copies from or to this process, which has the file.
    fn copy(&mut self, argument: &str) -> Next {
        let Some(copy) = Copy::parse(argument) else {
            eprintln!(
                "\\copy: what is meant is \\copy TABLE [(COLUMNS)] | (QUERY) from | to 'FILE' | stdin | stdout [OPTIONS]"
            );
            return Next::Failed;
        };
        let way = if copy.from { "FROM STDIN" } else { "TO STDOUT" };
        let statement = format!("COPY {} {way} {}", copy.what, copy.options);
        let named = |error: io::Error| {
            eprintln!("{}: {error}", copy.file);
            Next::Failed
        };
        let (mut input, mut output): (Box<dyn Read>, Box<dyn Write>) =
            (Box::new(io::empty()), Box::new(io::stdout()));
        match (copy.from, copy.file.as_str()) {
            (_, "") => {
                if copy.from {
                    if io::stdin().is_terminal() {
                        eprintln!("Enter data to be copied; end with Ctrl-D.");
                    }
                    input = Box::new(io::stdin());
                }
            }
            (true, file) => match File::open(file) {
                Ok(file) => input = Box::new(BufReader::new(file)),
                Err(error) => return named(error),
            },
            (false, file) => match File::create(file) {
                Ok(file) => output = Box::new(io::BufWriter::new(file)),
                Err(error) => return named(error),
            },
        }
        let mut tags = Vec::new();
        let outcome = self.client.run(&statement, &mut *input, &mut *output, &mut |answer| match answer {
            Answer::Done(tag) => tags.push(tag),
            Answer::CopiedOut(tag) if !copy.file.is_empty() => tags.push(tag),
            _ => {}
        });
        if let Err(error) = output.flush() {
            return named(error);
        }
        tags.iter().for_each(|tag| println!("{tag}"));
        match outcome {
            // The statement is not what was typed: no place in it is shown.
            Err(Failure::Told(mut told)) => {
                told.position = None;
                eprint!("{}", print::told(&told, None));
                Next::Failed
            }
            outcome => self.after(outcome, None),
        }
    }
}

/// What `\copy` says.
#[derive(Debug, PartialEq, Eq)]
struct Copy<'a> {
    what: &'a str,
    from: bool,
    /// Empty: standard input or output.
    file: String,
    options: &'a str,
}

impl<'a> Copy<'a> {
    fn parse(text: &'a str) -> Option<Copy<'a>> {
        // The first `from` or `to` outside parentheses and quotes.
        let (mut depth, mut quote, mut word) = (0usize, None, None);
        let mut found = None;
        for (at, c) in text.char_indices().chain([(text.len(), ' ')]) {
            match (quote, c) {
                (Some(open), c) if c == open => quote = None,
                (Some(_), _) => {}
                (None, '\'' | '"') => quote = Some(c),
                (None, '(') => depth += 1,
                (None, ')') => depth = depth.saturating_sub(1),
                _ => {}
            }
            let in_word = c.is_alphanumeric() || c == '_';
            match word {
                None if in_word => word = Some(at),
                Some(start) if !in_word => {
                    let said: &str = &text[start..at];
                    let is = |w: &str| said.eq_ignore_ascii_case(w);
                    if depth == 0 && quote.is_none() && (is("from") || is("to")) {
                        found = Some((start, at, is("from")));
                        break;
                    }
                    word = None;
                }
                _ => {}
            }
        }
        let (start, end, from) = found?;
        let what = text[..start].trim();
        let rest = text[end..].trim_start();
        let (file, options) = match rest.strip_prefix('\'') {
            Some(quoted) => {
                let close = quoted.replace("''", "\0\0").find('\'')?;
                (quoted[..close].replace("''", "'"), &quoted[close + 1..])
            }
            None => {
                let (file, options) = rest.split_once(char::is_whitespace).unwrap_or((rest, ""));
                let standard =
                    ["stdin", "stdout", "pstdin", "pstdout"].iter().any(|s| file.eq_ignore_ascii_case(s));
                (if standard { String::new() } else { file.to_owned() }, options)
            }
        };
        let named = rest.starts_with('\'') || !rest.is_empty();
        (named && !what.is_empty()).then(|| Copy {
            what,
            from,
            file,
            options: options.trim().trim_end_matches(';'),
        })
    }
}

/// The name of a file, with quotes or without.
fn unquoted(text: &str) -> String {
    let inner = text.strip_prefix('\'').and_then(|t| t.strip_suffix('\''));
    inner.map_or(text.to_owned(), |inner| inner.replace("''", "'"))
}

/// What a switch is after `on`, `off` or nothing.
fn switched(command: &str, argument: &str, is: bool) -> Option<bool> {
    match argument {
        "" => Some(!is),
        "on" | "1" | "true" => Some(true),
        "off" | "0" | "false" => Some(false),
        _ => {
            eprintln!("{command}: on, off, or nothing");
            None
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn copies_are_read() {
        let copy =
            |what, from, file: &str, options| Some(Copy { what, from, file: file.to_owned(), options });
        assert_eq!(Copy::parse("t from 'a b.csv' csv header;"), copy("t", true, "a b.csv", "csv header"));
        assert_eq!(Copy::parse("t (a, \"to\") to stdout"), copy("t (a, \"to\")", false, "", ""));
        assert_eq!(
            Copy::parse("(select 'from' from x) TO 'it''s' (format csv)"),
            copy("(select 'from' from x)", false, "it's", "(format csv)")
        );
        assert_eq!(Copy::parse("t from /tmp/x"), copy("t", true, "/tmp/x", ""));
        for wrong in ["", "t", "t from", "from 'x'", "t from 'x"] {
            assert_eq!(Copy::parse(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn help_has_an_entry_for_each_statement() {
        for entry in STATEMENTS.split("\n\n") {
            let head = entry.lines().next().expect("a name");
            assert!(head.chars().all(|c| c.is_ascii_uppercase() || c == ' '), "{head}");
            assert!(entry.lines().nth(1).is_some_and(|line| line.starts_with("  ")), "{entry}");
            assert!(entry.lines().all(|line| line.len() <= 100), "{entry}");
        }
    }
}
