//! Where lines come from: a person, a script, nowhere.

use super::complete::Names;
use planaria::Result;
use rustyline::error::ReadlineError;
use rustyline::history::DefaultHistory;
use rustyline::{CompletionType, Config, Editor};
use std::io::{self, BufRead, Read, Write};
use std::path::PathBuf;

/// See the module's head.
pub trait Lines {
    /// The next, without its end; `None` where there is none. `Interrupted`: what was begun is given up.
    fn next(&mut self, prompt: &str) -> io::Result<Option<String>>;
    /// Whether it completes names.
    fn wants_names(&self) -> bool {
        false
    }
    /// These are the names that there are.
    fn know(&mut self, _names: Names) {}
}

/// Lines of a text.
pub struct Script<R>(R);

impl<R: BufRead> Script<R> {
    pub fn new(input: R) -> Script<R> {
        Script(input)
    }
}

impl<R: BufRead> Lines for Script<R> {
    fn next(&mut self, _prompt: &str) -> io::Result<Option<String>> {
        let mut line = String::new();
        if self.0.read_line(&mut line)? == 0 {
            return Ok(None);
        }
        if line.ends_with('\n') {
            line.pop();
            if line.ends_with('\r') {
                line.pop();
            }
        }
        Ok(Some(line))
    }
}

/// Those that `-c` has: COPY takes its data from standard input.
pub struct NoLines;

impl Lines for NoLines {
    fn next(&mut self, _prompt: &str) -> io::Result<Option<String>> {
        Script(io::stdin().lock()).next("")
    }
}

/// A person, who finds what was typed before with the arrow keys.
pub struct Prompt {
    editor: Editor<Names, DefaultHistory>,
    history: Option<PathBuf>,
}

impl Prompt {
    pub fn new(history: Option<PathBuf>) -> Result<Prompt> {
        let config = Config::builder().completion_type(CompletionType::List).auto_add_history(true).build();
        let mut editor = Editor::with_config(config).map_err(io::Error::other)?;
        editor.set_helper(Some(Names::default()));
        if let Some(history) = &history {
            // The first time there is none.
            let _ = editor.load_history(history);
        }
        Ok(Prompt { editor, history })
    }

    /// Keeps what was typed.
    pub fn save(&mut self) {
        if let Some(history) = &self.history
            && let Err(error) = self.editor.save_history(history)
        {
            eprintln!("{}: {error}", history.display());
        }
    }
}

impl Lines for Prompt {
    fn next(&mut self, prompt: &str) -> io::Result<Option<String>> {
        match self.editor.readline(prompt) {
            Ok(line) => Ok(Some(line)),
            Err(ReadlineError::Interrupted) => Err(io::ErrorKind::Interrupted.into()),
            Err(ReadlineError::Eof) => {
                println!();
                Ok(None)
            }
            Err(error) => Err(io::Error::other(error)),
        }
    }

    fn wants_names(&self) -> bool {
        true
    }

    fn know(&mut self, names: Names) {
        self.editor.set_helper(Some(names));
    }
}

/// The data of a COPY FROM STDIN: lines up to one that is `\.`, or the end.
pub struct CopyLines<'l> {
    lines: &'l mut dyn Lines,
    rest: Vec<u8>,
    over: bool,
}

impl<'l> CopyLines<'l> {
    pub fn new(lines: &'l mut dyn Lines) -> CopyLines<'l> {
        CopyLines { lines, rest: Vec::new(), over: false }
    }
}

impl Read for CopyLines<'_> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        while self.rest.is_empty() && !self.over {
            match self.lines.next(">> ")? {
                Some(line) if line != "\\." => self.rest = (line + "\n").into_bytes(),
                _ => self.over = true,
            }
        }
        let n = self.rest.len().min(out.len());
        out[..n].copy_from_slice(&self.rest[..n]);
        self.rest.drain(..n);
        Ok(n)
    }
}

/// Asks at the terminal, without showing what is typed.
fn ask_silently(prompt: &str, terminal: &std::fs::File) -> io::Result<String> {
    use rustix::termios::{LocalModes, OptionalActions, tcgetattr, tcsetattr};
    let before = tcgetattr(terminal)?;
    let mut silent = before.clone();
    silent.local_modes.remove(LocalModes::ECHO);
    let mut terminal = terminal;
    terminal.write_all(prompt.as_bytes())?;
    tcsetattr(terminal, OptionalActions::Flush, &silent)?;
    let mut line = String::new();
    let read = io::BufReader::new(terminal).read_line(&mut line);
    tcsetattr(terminal, OptionalActions::Flush, &before)?;
    terminal.write_all(b"\n")?;
    read?;
    Ok(line.trim_end_matches(['\r', '\n']).to_owned())
}

fn terminal() -> io::Result<std::fs::File> {
    std::fs::File::options().read(true).write(true).open("/dev/tty")
}

/// Asks for the password of a user.
pub fn ask_password(user: &str) -> io::Result<String> {
    let terminal = terminal().map_err(|_| {
        io::Error::other(
            "the server asks for a password; give it in PGPASSWORD or in a file of passwords, or run this at a terminal",
        )
    })?;
    ask_silently(&format!("Password for user {user}: "), &terminal)
}

/// Asks for something that nobody is to see; without a terminal it is the next line.
pub fn ask(prompt: &str, lines: &mut dyn Lines) -> io::Result<String> {
    match terminal() {
        Ok(terminal) => ask_silently(prompt, &terminal),
        Err(_) => {
            eprint!("{prompt}");
            let line = lines.next("")?;
            eprintln!();
            line.ok_or_else(|| io::ErrorKind::UnexpectedEof.into())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn data_of_copy_ends_at_its_mark() {
        let mut script = Script::new(&b"1\ta\r\n2\tb\n\\.\nSELECT 1;\n"[..]);
        let mut data = String::new();
        CopyLines::new(&mut script).read_to_string(&mut data).expect("reads");
        assert_eq!(data, "1\ta\n2\tb\n");
        assert_eq!(script.next("").expect("reads").as_deref(), Some("SELECT 1;"));
        assert_eq!(script.next("").expect("reads"), None);
    }
}
