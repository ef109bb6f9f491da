//! Simple query: a text of any number of statements, all or nothing.
//!
//! As in PostgreSQL: the whole text is parsed before anything of it runs; several statements are one
//! transaction unless they say BEGIN and COMMIT themselves, changes of the schema among them.

use crate::backend::{Backend, How};
use crate::copy;
use crate::crew::blocking;
use crate::literals::{self, Lifted};
use crate::read::{Reader, violation};
use planaria::serving::{Done, Parsed, ServedSession, StatementKind};
use planaria::{Error, Result, Statement};
use std::sync::Arc;

/// Before a longer text is parsed the other threads are told.
const SHORT_TEXT_BYTES: usize = 4 << 10;

/// What is left of a query's statements.
pub(crate) struct Script {
    statements: std::vec::IntoIter<Parsed>,
    /// There were several.
    several: bool,
}

impl Script {
    pub(crate) fn is_empty(&self) -> bool {
        self.statements.len() == 0
    }
}

/// What came of a statement.
enum Came {
    Done,
    /// It waits for the client's data.
    CopyIn(Box<copy::CopyIn>),
}

impl Backend {
    pub(crate) fn simple_query(&mut self, mut body: Reader<'_>) {
        let text = match body.string().and_then(|text| body.end().map(|()| text)) {
            Ok(text) => text,
            Err(error) => {
                self.fail(&error, None);
                return self.ready();
            }
        };
        // As PostgreSQL does: the unnamed ones are gone.
        self.unnamed = None;
        self.take_portal("");
        let outcome = if let Some(statement) = self.recall(text) {
            self.run_alone(&statement, text)
        } else if let Some((statement, lifted)) = self.lifted(text) {
            self.run_lifted(&statement, &lifted, text)
        } else {
            let parsed = if text.len() > SHORT_TEXT_BYTES {
                blocking(|| planaria::serving::parse(text))
            } else {
                planaria::serving::parse(text)
            };
            match parsed {
                Ok(statements) if statements.is_empty() => {
                    self.reply.empty_query();
                    Ok(())
                }
                Ok(statements) => {
                    let several = statements.len() > 1;
                    return self.go_on(Script { statements: statements.into_iter(), several });
                }
                Err(error) => Err(error),
            }
        };
        if let Err(error) = outcome {
            self.fail(&error, Some(text));
        }
        self.ready();
    }

    /// The statement of a text that was analysed before.
    fn recall(&mut self, text: &str) -> Option<Statement> {
        let statement = self.session().ok()?.recall(text, &[])?;
        statement.parameters().is_empty().then_some(statement)
    }

    fn run_alone(&mut self, statement: &Statement, text: &str) -> Result<()> {
        let done = self.run(statement, &How::simple(text))?;
        self.complete(done);
        Ok(())
    }

    /// The statement of a text without its constants, if that may be run in its place: analysed before, or now.
    fn lifted(&mut self, text: &str) -> Option<(Statement, Lifted)> {
        let lifted = literals::lift(text)?;
        let (general, types, is_call) = (&lifted.text, &lifted.types, lifted.is_call);
        let known = self.session().ok()?.recall(general, types);
        let statement = match known {
            Some(statement) => statement,
            None => self
                .with_session(true, |session, _| Ok(session.prepare_general(general, types, is_call)))
                .ok()??,
        };
        (statement.parameters().len() == types.len()).then_some((statement, lifted))
    }

    fn run_lifted(&mut self, statement: &Statement, lifted: &Lifted, text: &str) -> Result<()> {
        let how = How { params: lifted, shown: Some(Arc::from(text)), ..How::simple(text) };
        let done = self.run(statement, &how).map_err(|error| self.placed(error, text))?;
        self.complete(done);
        Ok(())
    }

    /// A constant that is no value of its type fails where it stands, as it would have in its text.
    fn placed(&mut self, mut error: Error, text: &str) -> Error {
        // It knows of no parameters.
        if let Some(lines) = error.fields_mut().context.take() {
            let kept: Vec<&str> = lines.lines().filter(|line| !line.starts_with("parameter $")).collect();
            error.fields_mut().context = (!kept.is_empty()).then(|| kept.join("\n"));
        }
        if error.sqlstate().class() != *b"22" {
            return error;
        }
        let mut found = None;
        if let Ok([parsed]) = planaria::serving::parse(text).as_deref() {
            found = self.with_session(true, |session, _| session.prepare_parsed(parsed, &[])).err();
        }
        found.filter(|found| found.sqlstate() == error.sqlstate()).unwrap_or(error)
    }

    fn complete(&mut self, mut done: Done) {
        self.reply.command_complete(|out| done.write_tag(out));
        self.join(std::mem::replace(&mut done.ticket, planaria::Ticket::done()));
    }

    /// Runs the statements that are left, up to the end, an error, or a COPY FROM STDIN.
    pub(crate) fn go_on(&mut self, mut script: Script) {
        while let Some(parsed) = script.statements.next() {
            let last = script.statements.len() == 0;
            match self.run_parsed(&parsed, script.several, last) {
                Ok(Came::Done) => {}
                Ok(Came::CopyIn(copy)) => {
                    self.copy = Some((*copy, Some(script)));
                    self.flush = true;
                    return;
                }
                Err(error) => {
                    self.fail(&error, Some(parsed.text()));
                    break;
                }
            }
        }
        if self.is_implicit()
            && let Err(error) = self.commit_implicit()
        {
            self.fail(&error, None);
        }
        self.ready();
    }

    fn run_parsed(&mut self, parsed: &Parsed, several: bool, last: bool) -> Result<Came> {
        let kind = parsed.kind();
        let short = parsed.text().len() <= SHORT_TEXT_BYTES;
        if self.before(kind, several)? {
            self.reply.command_complete(|out| out.extend_from_slice(b"BEGIN"));
            return Ok(Came::Done);
        }
        let statement = self.with_session(short, |session, _| session.prepare_parsed(parsed, &[]))?;
        if !statement.parameters().is_empty() {
            return Err(parsed.without_parameters());
        }
        if let Some(copy) = self.start_copy(&statement)? {
            return Ok(match copy {
                copy::Started::In(copy) => Came::CopyIn(copy),
                copy::Started::Out => Came::Done,
            });
        }
        let own_text = if several { &parsed.text()[parsed.position()..] } else { parsed.text() };
        let start = self.reply.len();
        let done = self.run(&statement, &How::simple(own_text))?;
        if !several && kind == StatementKind::Program {
            self.session()?.remember(parsed.text(), &statement);
        }
        // The last statement has not succeeded before its transaction has.
        if last
            && self.is_implicit()
            && let Err(error) = self.commit_implicit()
        {
            self.reply.truncate(start);
            return Err(error);
        }
        self.complete(done);
        Ok(Came::Done)
    }
}

/// The name in a Describe or Close message and what it names: `S` or `P`.
pub(crate) fn named<'a>(body: &mut Reader<'a>) -> Result<(u8, &'a str)> {
    let what = body.u8()?;
    let name = body.string()?;
    body.end()?;
    match what {
        b'S' | b'P' => Ok((what, name)),
        other => Err(violation(format!("invalid message subtype {other}"))),
    }
}
