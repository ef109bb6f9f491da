//! Commands that begin with a backslash, but for those that ask the catalogs.

use super::client::{Answer, Failure};
use super::describe::{self, Asked, Listing};
use super::lines::Lines;
use super::{Next, Shell, place, scan};
use crate::table::Table;
use std::io::{self, Write};
use std::process::Command;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

const HELP: &str = "\
General
  \\q                     quit
  \\g [FILE]              run the statement, or the last one again
  \\gx [FILE]             the same, with one line per column
  \\gset [PREFIX]         run it, and set variables from its row
  \\gexec                 run it, then run each value of its result
  \\watch [SEC] [c=N]     run it every SEC seconds (default 2), N times
  \\e [FILE]              edit the statement, or a file, then run it
  \\p, \\r                 print the statement typed so far; clear it
  \\w FILE                write it to a file
  \\timing [on|off]       show how long statements take
  \\h [NAME]              help on SQL statements
  \\! COMMAND             run a shell command
  \\cd [DIR]              change the working directory
Input and output
  \\i FILE                run a file
  \\ir FILE               the same, relative to the current script
  \\o [FILE]              send results to a file, or to a program: |COMMAND
  \\copy ...              COPY to or from a file on this machine, such as
                         \\copy t from 'f.csv' csv header
  \\echo, \\warn [TEXT]    print text to standard output; to standard error
  \\qecho [TEXT]          print text where results go
Formatting
  \\x [on|off]            one line per column
  \\a, \\t                 unaligned; rows only
  \\f [TEXT]              field separator of unaligned results
  \\pset [NAME [VALUE]]   set border, expanded, fieldsep, footer, format, null
                         or tuples_only
Variables
  \\set [NAME [VALUE]]    set a variable, or show all of them;
                         use one as :NAME, :'NAME' or :\"NAME\"
  \\unset NAME            unset a variable
  \\prompt [TEXT] NAME    ask the user for its value
  \\if, \\elif, \\else, \\endif
Connection
  \\c [DATABASE [USER [HOST [PORT]]]], or \\c URL
                         connect; - keeps the current value
  \\conninfo              show the current connection
  \\password [USER]       change a password without showing it
Catalogs (in a PATTERN, * stands for anything, ? for one character)
  \\d                     list tables, views and sequences
  \\d PATTERN             show columns, indexes and constraints
                         + behind a command shows more, S the system's too
  \\dt, \\di, \\dv, \\dm    list tables, indexes, views, materialized views
  \\ds, \\df, \\dT, \\dD    list sequences, functions, types, domains
  \\dn, \\du, \\dx, \\l     list schemas, roles, extensions, databases
  \\dp                    list privileges
  \\sf NAME, \\sv NAME    show the statement that makes a function, a view
Ctrl-C cancels the running statement. EXPLAIN, EXPLAIN PROCEDURE name and
EXPLAIN RECOVERY show how things are done.
";

/// Statements, each with its forms.
const STATEMENTS: &str = include_str!("statements.txt");

/// How often somebody who waits looks whether he is to go on.
const LOOK_EVERY: Duration = Duration::from_millis(20);

/// How many arguments a command looks at; what stands behind them is ignored, and that is said.
fn arity(command: &str) -> usize {
    match command {
        "q" | "?" | "conninfo" | "p" | "r" | "a" | "gexec" | "else" | "endif" => 0,
        "c" | "connect" => 4,
        "pset" | "prompt" => 2,
        "echo" | "qecho" | "warn" | "set" | "watch" | "if" | "elif" => usize::MAX,
        _ => 1,
    }
}

/// Says which arguments a command that was run has not looked at.
fn ignore(command: &str, arguments: &[String], next: Next) {
    for extra in arguments.iter().skip(arity(command)).filter(|_| next == Next::Line) {
        place::tell(format_args!("\\{command}: extra argument \"{extra}\" ignored"));
    }
}

impl Shell {
    /// Says why a command cannot be.
    pub(super) fn refuse(&self, why: &str) -> Next {
        place::tell(why);
        Next::Failed
    }

    /// Says what has been set, unless it is to be quiet.
    pub(super) fn say(&self, text: &str) {
        if !self.variables.is_on("QUIET") {
            println!("{text}");
        }
    }

    /// A command and its arguments at the beginning of a text, and what stands behind them.
    pub(super) fn command<'l>(
        &mut self,
        text: &'l str,
        pending: &mut String,
        lines: &mut dyn Lines,
    ) -> (Next, &'l str) {
        let (command, behind) = scan::command(text);
        let is_condition = matches!(command, "if" | "elif" | "else" | "endif");
        let active = self.conditions.active();
        if !active && !is_condition {
            let behind = behind.strip_prefix("\\\\").unwrap_or(behind);
            return (Next::Line, behind.find('\\').map_or("", |at| &behind[at..]));
        }
        let to_program = behind.trim_start().starts_with('|');
        let whole = matches!(command, "copy" | "h" | "help" | "!")
            || to_program && matches!(command, "g" | "gx" | "o" | "out" | "w" | "write");
        let (arguments, rest) = match (whole, active || command == "elif") {
            (true, _) => (vec![behind.trim().to_owned()], ""),
            (false, true) => scan::arguments(behind, &self.variables),
            (false, false) => (Vec::new(), behind.find('\\').map_or("", |at| &behind[at..])),
        };
        if let Some(outcome) = self.conditions.take(command, &arguments, self.conditions_of_file) {
            let next = outcome.map_or_else(|why| self.refuse(&why), |()| Next::Line);
            ignore(command, &arguments, next);
            return (next, rest);
        }
        let next = self.meta(command, &arguments, pending, lines);
        if pending.is_empty() {
            self.scanner.reset();
        }
        ignore(command, &arguments, next);
        (next, rest)
    }

    /// Runs a command. `pending`: what was typed before it.
    fn meta(
        &mut self,
        command: &str,
        arguments: &[String],
        pending: &mut String,
        lines: &mut dyn Lines,
    ) -> Next {
        let argument = arguments.first().map_or("", String::as_str);
        let given = arguments.first().map(String::as_str);
        match command {
            "q" => return Next::Leaves,
            "?" => self.show(HELP),
            "h" | "help" => return self.help(argument),
            "echo" | "qecho" | "warn" => self.echo(command, arguments),
            "set" => return self.set(arguments),
            "unset" if given.is_none() => return self.refuse("\\unset: missing required argument"),
            "unset" => self.variables.unset(argument),
            "prompt" => return self.prompt_for(arguments, lines),
            "conninfo" => return self.conninfo(),
            "c" | "connect" => return self.connect(arguments),
            "password" => return self.password(argument, lines),
            "timing" => {
                if let Err(why) = self.switch(given, "\\timing", |shell| &mut shell.timing) {
                    return self.refuse(&why);
                }
                self.say(&format!("Timing is {}.", if self.timing { "on" } else { "off" }));
            }
            "pset" => return self.pset(arguments),
            "x" | "t" | "f" => {
                let name = match command {
                    "x" => "expanded",
                    "t" => "tuples_only",
                    _ => "fieldsep",
                };
                let both: Vec<String> =
                    std::iter::once(name.to_owned()).chain(given.map(str::to_owned)).collect();
                return self.pset(&both);
            }
            "a" => return self.toggle_aligned(),
            "p" => match (pending.trim().is_empty(), self.last.is_empty()) {
                (true, true) => self.say("Query buffer is empty."),
                (true, false) => println!("{}", self.last),
                (false, _) => println!("{}", pending.trim_end()),
            },
            "r" => {
                pending.clear();
                self.say("Query buffer reset (cleared).");
            }
            "w" | "write" => return self.write_query(argument, pending),
            "g" | "gx" => return self.go(argument, command == "gx", pending, lines),
            "gset" => return self.gset(argument, pending),
            "gexec" => return self.gexec(pending, lines),
            "o" | "out" => return self.redirect(argument),
            "watch" => return self.watch(arguments, pending, lines),
            "i" | "ir" => return self.run_file(command, argument, command == "ir"),
            "e" => return self.edit(argument, pending, lines),
            "copy" => return self.copy(argument),
            "!" => return self.system(argument),
            "cd" => {
                let home = std::env::home_dir().unwrap_or_default();
                let to = if argument.is_empty() { home } else { argument.into() };
                if let Err(error) = std::env::set_current_dir(&to) {
                    return self.refuse(&format!(
                        "\\cd: could not change directory to \"{}\": {}",
                        to.display(),
                        super::files::told(&error)
                    ));
                }
            }
            _ => return self.catalogs(command, argument),
        }
        Next::Line
    }

    /// `\echo`, `\qecho`, `\warn`; `-n` first: without the end of the line.
    fn echo(&mut self, command: &str, arguments: &[String]) {
        let (arguments, end) = match arguments.split_first() {
            Some((first, rest)) if first == "-n" => (rest, ""),
            _ => (arguments, "\n"),
        };
        let text = arguments.join(" ") + end;
        // A closed pipe is no reason to stop.
        let _ = match command {
            "echo" => io::stdout().write_all(text.as_bytes()),
            "qecho" => self.output.write_all(text.as_bytes()),
            _ => io::stderr().write_all(text.as_bytes()),
        };
    }

    /// `\set [NAME [VALUE..]]`
    fn set(&mut self, arguments: &[String]) -> Next {
        let Some((name, values)) = arguments.split_first() else {
            self.variables.all().for_each(|(name, value)| println!("{name} = '{value}'"));
            return Next::Line;
        };
        match self.variables.set(name, &values.concat()) {
            Ok(()) => Next::Line,
            Err(why) => self.refuse(&why),
        }
    }

    /// `\prompt [TEXT] NAME`
    fn prompt_for(&mut self, arguments: &[String], lines: &mut dyn Lines) -> Next {
        let (text, name) = match arguments {
            [] => return self.refuse("\\prompt: missing required argument"),
            [name] => ("", name),
            [text, name, ..] => (text.as_str(), name),
        };
        if !self.interactive {
            eprint!("{text}");
        }
        let outcome = match lines.next(text) {
            Ok(line) => self.variables.set(name, &line.unwrap_or_default()),
            Err(error) => Err(error.to_string()),
        };
        outcome.map_or_else(|why| self.refuse(&why), |()| Next::Line)
    }

    /// `\! COMMAND`
    fn system(&self, command: &str) -> Next {
        let shell = std::env::var("SHELL").unwrap_or_else(|_| "/bin/sh".to_owned());
        let mut program = Command::new(shell);
        if !command.is_empty() {
            program.args(["-c", command]);
        }
        match program.status() {
            Ok(_) => Next::Line,
            Err(error) => self.refuse(&format!("\\!: failed: {}", super::files::told(&error))),
        }
    }

    /// The rows of what is meant, printed nowhere.
    fn rows_of(&mut self, pending: &mut String) -> Result<Option<Table>, Next> {
        let text = self.meant(pending);
        let mut found = None;
        let outcome = self.client.run(&text, &mut io::empty(), &mut io::sink(), &mut |answer| {
            found = match answer {
                Answer::Rows(table, _) => Some(table),
                _ => None,
            };
        });
        text.clone_into(&mut self.last);
        self.note(&outcome, None);
        match self.after(outcome, Some(&text)) {
            Next::Line => Ok(found),
            next => Err(next),
        }
    }

    /// `\gset [PREFIX]`
    fn gset(&mut self, prefix: &str, pending: &mut String) -> Next {
        let mut table = match self.rows_of(pending) {
            Ok(table) => table.unwrap_or_default(),
            Err(next) => return next,
        };
        match table.rows.len() {
            0 => return self.refuse("no rows returned for \\gset"),
            1 => {}
            _ => return self.refuse("more than one row returned for \\gset"),
        }
        for (column, value) in table.columns.iter().zip(table.rows.remove(0)) {
            let name = format!("{prefix}{}", column.name);
            match value {
                None => self.variables.unset(&name),
                Some(value) => {
                    if let Err(why) = self.variables.set(&name, &value) {
                        return self.refuse(&why);
                    }
                }
            }
        }
        Next::Line
    }

    /// `\gexec`
    fn gexec(&mut self, pending: &mut String, lines: &mut dyn Lines) -> Next {
        let table = match self.rows_of(pending) {
            Ok(table) => table.unwrap_or_default(),
            Err(next) => return next,
        };
        for statement in table.rows.into_iter().flatten().flatten() {
            match self.execute(&statement, lines) {
                Next::Failed if !self.stops() => {}
                Next::Line => {}
                next => return next,
            }
        }
        Next::Line
    }

    /// What was typed, or the last statement.
    pub(super) fn meant(&self, pending: &mut String) -> String {
        let typed = std::mem::take(pending);
        if typed.trim().is_empty() { self.last.clone() } else { typed }
    }

    fn catalogs(&mut self, command: &str, argument: &str) -> Next {
        let client = &mut self.client;
        let one = |listing: Listing| Some(vec![listing]);
        let base = command.trim_end_matches(['S', '+']);
        let added = &command[base.len()..];
        let asked = Asked { pattern: argument, system: added.contains('S'), more: added.contains('+') };
        let found: Result<Option<Vec<Listing>>, Failure> = match base {
            "sf" | "sv" if argument.is_empty() => {
                return self.refuse(&format!("\\{base}: missing required argument"));
            }
            "sf" | "sv" => match describe::source(client, base, argument) {
                Ok(Ok(text)) => {
                    self.show(&text);
                    return Next::Line;
                }
                Ok(Err(why)) => return self.refuse(&why),
                Err(failure) => Err(failure),
            },
            "d" if argument.is_empty() => {
                describe::relations(client, "tvms", asked).map(|found| found.map(|l| vec![l]))
            }
            "d" => describe::relation(client, asked).map(|found| Some(found).filter(|f| !f.is_empty())),
            "dt" | "di" | "dv" | "dm" | "ds" => {
                describe::relations(client, &base[1..], asked).map(|found| found.map(|l| vec![l]))
            }
            "df" => describe::functions(client, asked).map(one),
            "dn" => describe::schemas(client, argument).map(one),
            "dT" => describe::types(client, asked).map(one),
            "dD" => describe::domains(client, asked).map(one),
            "dx" => describe::extensions(client, asked).map(one),
            "dp" | "z" => describe::privileges(client, asked).map(one),
            "du" | "dg" => describe::roles(client, argument).map(one),
            "l" => describe::databases(client).map(one),
            _ => {
                place::tell(format_args!("invalid command \\{command}"));
                if self.interactive {
                    eprintln!("Try \\? for help.");
                }
                return Next::Failed;
            }
        };
        match found {
            Ok(Some(listings)) => {
                let text: Vec<String> = listings.iter().map(|l| l.print(&self.style)).collect();
                self.show(&text.concat());
                Next::Line
            }
            Ok(None) if argument.is_empty() => {
                place::tell("Did not find any relations.");
                Next::Line
            }
            Ok(None) => {
                place::tell(format_args!("Did not find any relation named \"{argument}\"."));
                Next::Failed
            }
            Err(failure) => self.after::<()>(Err(failure), None),
        }
    }

    fn help(&mut self, name: &str) -> Next {
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
    fn watch(&mut self, arguments: &[String], pending: &mut String, lines: &mut dyn Lines) -> Next {
        let (mut seconds, mut times) = (2.0, u64::MAX);
        for word in arguments {
            let parsed = match word.split_once('=') {
                Some(("c" | "count", n)) => n.parse().map(|n| times = n).is_ok(),
                Some(("i" | "interval", s)) => s.parse().map(|s| seconds = s).is_ok(),
                None => word.parse().map(|s| seconds = s).is_ok(),
                Some(_) => false,
            };
            if !parsed || !(0.0..=86_400.0).contains(&seconds) || times == 0 {
                let why = "is neither a number of seconds nor c=COUNT";
                return self.refuse(&format!("\\watch: \"{word}\" {why}"));
            }
        }
        let text = self.meant(pending);
        if text.trim().is_empty() {
            return self.refuse("\\watch cannot be used with an empty query");
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
}

#[cfg(test)]
mod tests {
    use super::*;

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
