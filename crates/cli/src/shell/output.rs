//! Where answers go: standard output, a file, another program (`\o`, `\g`).

use std::fs::File;
use std::io::{self, Write};
use std::process::{Child, Command, Stdio};

/// See the module's head.
pub enum Output {
    /// Standard output.
    Own,
    /// A file.
    File(File),
    /// A program, by its standard input.
    Program(Child),
}

impl Output {
    /// What `\o` and `\g` name: nothing, `FILE`, or `|COMMAND`.
    pub fn open(name: &str) -> io::Result<Output> {
        match name.strip_prefix('|') {
            _ if name.is_empty() => Ok(Output::Own),
            Some(command) => {
                let child = Command::new("sh").args(["-c", command]).stdin(Stdio::piped()).spawn()?;
                Ok(Output::Program(child))
            }
            None => Ok(Output::File(File::create(name)?)),
        }
    }

    /// Whether it is standard output.
    pub fn is_own(&self) -> bool {
        matches!(self, Output::Own)
    }
}

impl Write for Output {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Output::Own => io::stdout().write(bytes),
            Output::File(file) => file.write(bytes),
            Output::Program(child) => match &mut child.stdin {
                Some(input) => input.write(bytes),
                None => Ok(bytes.len()),
            },
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self {
            Output::Own => io::stdout().flush(),
            Output::File(file) => file.flush(),
            Output::Program(child) => child.stdin.as_mut().map_or(Ok(()), Write::flush),
        }
    }
}

impl Drop for Output {
    fn drop(&mut self) {
        if let Output::Program(child) = self {
            // It ends when it has read all; what it prints stands before what comes next.
            drop(child.stdin.take());
            let _ = child.wait();
        }
    }
}
