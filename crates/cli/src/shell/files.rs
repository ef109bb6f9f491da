//! Commands that read and write files: `\i`, `\ir`, `\e`, `\o`, `\w`, `\g`.

use super::lines::{Lines, Script};
use super::output::Output;
use super::{Next, Shell, place};
use std::fs::File;
use std::io::{self, BufReader};
use std::path::{Path, PathBuf};
use std::process::Command;

/// What went wrong with a file, as C has it: without the number.
pub fn told(error: &io::Error) -> String {
    let text = error.to_string();
    text.split_once(" (os error").map_or(text.clone(), |(text, _)| text.to_owned())
}

impl Shell {
    /// `\i FILE`, and `\ir FILE`, whose place is told from where the script is that says so.
    pub(super) fn run_file(&mut self, command: &str, name: &str, relative: bool) -> Next {
        if name.is_empty() {
            return self.refuse(&format!("\\{command}: missing required argument"));
        }
        let mut path = PathBuf::from(name);
        if let Some(directory) = self.directory.as_ref().filter(|_| relative) {
            path = directory.join(path);
        }
        let file = match File::open(&path) {
            Ok(file) => file,
            Err(error) => return self.refuse(&format!("{}: {}", path.display(), told(&error))),
        };
        let scanner = std::mem::take(&mut self.scanner);
        let before = std::mem::replace(&mut self.directory, path.parent().map(Path::to_owned));
        let inside = place::enter(path.display().to_string());
        let next = self.read(&mut Script::new(BufReader::new(file)));
        drop(inside);
        (self.scanner, self.directory) = (scanner, before);
        match next {
            Next::Leaves => Next::Line,
            next => next,
        }
    }

    /// `\e [FILE]`
    pub(super) fn edit(&mut self, name: &str, pending: &mut String, lines: &mut dyn Lines) -> Next {
        let text = self.meant(pending);
        let edited = || -> io::Result<String> {
            let draft = tempfile::Builder::new().prefix("planaria").suffix(".sql").tempfile()?;
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
            Err(error) => self.refuse(&format!("\\e: {}", told(&error))),
        }
    }

    /// `\o [FILE | |COMMAND]`
    pub(super) fn redirect(&mut self, name: &str) -> Next {
        // What was there ends before the other begins.
        self.output = Output::Own;
        match Output::open(name) {
            Ok(output) => {
                self.output = output;
                Next::Line
            }
            Err(error) => self.refuse(&format!("{name}: {}", told(&error))),
        }
    }

    /// `\g [FILE | |COMMAND]`, `\gx`
    pub(super) fn go(
        &mut self,
        name: &str,
        expanded: bool,
        pending: &mut String,
        lines: &mut dyn Lines,
    ) -> Next {
        let before = self.style.expanded;
        let text = self.meant(pending);
        let kept = match name {
            "" => None,
            name => match Output::open(name) {
                Ok(output) => Some(std::mem::replace(&mut self.output, output)),
                Err(error) => return self.refuse(&format!("{name}: {}", told(&error))),
            },
        };
        self.style.expanded |= expanded;
        let next = self.execute(&text, lines);
        self.style.expanded = before;
        if let Some(kept) = kept {
            self.output = kept;
        }
        next
    }

    /// `\w FILE`
    pub(super) fn write_query(&mut self, name: &str, pending: &str) -> Next {
        if name.is_empty() {
            return self.refuse("\\w: missing required argument");
        }
        let text = if pending.trim().is_empty() { &self.last } else { pending };
        let written = Output::open(name).and_then(|mut output| {
            io::Write::write_all(&mut output, format!("{}\n", text.trim_end()).as_bytes())
        });
        match written {
            Ok(()) => Next::Line,
            Err(error) => self.refuse(&format!("{name}: {}", told(&error))),
        }
    }
}
