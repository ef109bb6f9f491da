//! The session that is asked: everything in one snapshot.

use crate::shell::{Client, Failure};
use planaria::{Error, Result};
use std::io::{self, Write};

/// See the module's head.
pub struct Source {
    client: Client,
}

/// Values of a row as texts.
pub struct Row(Vec<Option<String>>);

impl Row {
    /// A value; empty where it is null.
    pub fn text(&self, column: usize) -> &str {
        self.get(column).unwrap_or_default()
    }

    /// A value.
    pub fn get(&self, column: usize) -> Option<&str> {
        self.0.get(column).and_then(Option::as_deref)
    }

    /// An OID; 0 where there is none.
    pub fn oid(&self, column: usize) -> u32 {
        self.text(column).parse().unwrap_or(0)
    }

    /// Whether it is true.
    pub fn is(&self, column: usize) -> bool {
        self.text(column) == "t"
    }
}

impl Source {
    /// Begins the snapshot.
    pub fn new(client: Client) -> Result<Source> {
        let mut source = Source { client };
        for statement in [
            "SET statement_timeout = 0",
            "SET extra_float_digits = 3",
            "SET DateStyle = ISO",
            "SET IntervalStyle = postgres",
            "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY",
            // What policies would hide from who dumps is an error.
            "SET row_security = off",
            "SET search_path = public",
        ] {
            source.rows(statement)?;
        }
        Ok(source)
    }

    /// The rows of a query.
    pub fn rows(&mut self, query: &str) -> Result<Vec<Row>> {
        let table = self.client.query(query).map_err(Failure::into_error)?;
        Ok(table.rows.into_iter().map(Row).collect())
    }

    /// Writes what a COPY gives.
    pub fn copy(&mut self, statement: &str, out: &mut dyn Write) -> Result<()> {
        let mut kept = Kept { out, error: None };
        let done = self.client.run(statement, &mut io::empty(), &mut kept, &mut |_| {});
        match kept.error {
            Some(error) => Err(Error::from(error)),
            None => done.map_err(Failure::into_error),
        }
    }
}

/// Keeps the error that writing ended in.
struct Kept<'o> {
    out: &'o mut dyn Write,
    error: Option<io::Error>,
}

impl Write for Kept<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.error.is_none()
            && let Err(error) = self.out.write_all(bytes)
        {
            self.error = Some(error);
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// A text as a literal.
pub fn literal(text: &str) -> String {
    format!("'{}'", text.replace('\'', "''"))
}
