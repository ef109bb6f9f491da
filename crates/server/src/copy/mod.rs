//! COPY FROM STDIN and TO STDOUT.
//!
//! Coming in, data is gathered into portions, split into lines ([`text`], [`csv`], [`binary`]), and each
//! line is an INSERT with its values as parameters, all in one transaction. Going out, each row is a
//! message, written as the query makes it.

mod binary;
mod csv;
mod fields;
#[cfg(test)]
mod tests;
mod text;

use crate::backend::Backend;
use crate::overflow::{Limits, Overflow};
use crate::read::{Reader, text as utf8, violation};
use crate::reply::Reply;
use crate::scales::Taken;
use fields::Fields;
use planaria::serving::{
    CopiedRow, CopyColumns, CopyForm, CopyTriggers, Done, ServedSession, ServedStatement,
};
use planaria::serving::{CopyFormat, CopyHeader, CopyOptions, RowRef, RowSink};
use planaria::{Column, Session};
use planaria::{Datum, Error, Result, SqlState, Statement, Type};
use planaria_base::watch;
use std::time::Instant;

/// Data is gathered up to this size before it is worked on.
const PORTION_BYTES: usize = 64 << 10;
/// A line that is longer is refused.
const LINE_BYTES_MAX: usize = 256 << 20;

/// What came of a statement that is COPY.
pub(crate) enum Started {
    /// The client's data is awaited.
    In(Box<CopyIn>),
    /// All is in the reply.
    Out,
}

/// A COPY FROM STDIN under way.
pub(crate) struct CopyIn {
    statement: Statement,
    table: String,
    options: CopyOptions,
    columns: Vec<String>,
    types: Vec<Type>,
    /// FORCE_NOT_NULL and FORCE_NULL, by column.
    forced: Vec<Forced>,
    data: Vec<u8>,
    /// How much of it there must be before it is looked at again: twice of a line that had no end, so that long
    /// lines are not read again with everything that comes.
    enough: usize,
    /// Lines seen, the header too.
    line: u64,
    rows: u64,
    /// Triggers that fire around the rows, and the rows that are to be shown to those behind them.
    triggers: Option<CopyTriggers>,
    stored: Vec<CopiedRow>,
    /// When it has taken as long as a statement may.
    deadline: Option<Instant>,
    begun: bool,
    /// The end of the data was said within it.
    ended: bool,
    fields: Fields,
}

/// What is said of a column's NULLs in CSV.
#[derive(Clone, Copy, Default)]
pub(crate) struct Forced {
    not_null: bool,
    null: bool,
}

/// What a format found in front of the data.
pub(crate) enum Front {
    /// A line, or a row, of so many bytes with its ending.
    Line(usize),
    /// The end of the data, so many bytes long.
    End(usize),
    /// Not enough to tell.
    Incomplete,
}

impl CopyIn {
    fn new(statement: &Statement, form: &CopyForm<'_>) -> Result<CopyIn> {
        let columns: Vec<String> = form.columns.iter().map(|c| (*c).to_owned()).collect();
        let not_null = chosen(&form.options.force_not_null, &columns)?;
        let null = chosen(&form.options.force_null, &columns)?;
        let forced = not_null.iter().zip(&null).map(|(n, f)| Forced { not_null: *n, null: *f }).collect();
        Ok(CopyIn {
            statement: statement.clone(),
            table: form.table.to_owned(),
            options: form.options.clone(),
            columns,
            types: form.types.to_vec(),
            forced,
            data: Vec::new(),
            enough: PORTION_BYTES,
            line: 0,
            rows: 0,
            triggers: None,
            stored: Vec::new(),
            deadline: None,
            begun: false,
            ended: false,
            fields: Fields::default(),
        })
    }

    /// Where an error happened, as PostgreSQL says it: with the value that is none of its column's type, or with
    /// the line that is no row.
    fn place(&self, mut error: Error, line: &[u8]) -> Error {
        let mut place = format!("COPY {}, line {}", self.table, self.line);
        let fields = error.fields_mut();
        let parameter =
            fields.context.as_deref().and_then(|c| c.strip_prefix("parameter $")?.parse::<usize>().ok());
        if let Some(i) = parameter.and_then(|n| n.checked_sub(1)).filter(|i| *i < self.columns.len()) {
            fields.context = None;
            let text = if self.options.format == CopyFormat::Binary { None } else { self.fields.text(i) };
            let shown = text.map_or(String::new(), |text| format!(": \"{}\"", start_of(text)));
            place = format!("{place}, column {}{shown}", self.columns[i]);
        } else if matches!(fields.sqlstate, SqlState::BAD_COPY_FILE_FORMAT | SqlState::NOT_NULL_VIOLATION)
            && self.options.format != CopyFormat::Binary
            && let Ok(text) = std::str::from_utf8(without_ending(line))
        {
            place = format!("{place}: \"{}\"", start_of(text));
        }
        error.context(place)
    }

    /// Works on the whole lines that have come; `last`: nothing comes behind.
    fn work(&mut self, last: bool, insert: &mut dyn FnMut(&Statement, &Fields) -> Result<u64>) -> Result<()> {
        let data = std::mem::take(&mut self.data);
        let mut at = 0;
        while !self.ended && at < data.len() {
            let rest = &data[at..];
            let front = match self.options.format {
                CopyFormat::Text => text::front(rest, last),
                CopyFormat::Csv => csv::front(rest, last, &self.options)?,
                CopyFormat::Binary => binary::front(rest, self.begun)?,
            };
            // The lines are looked through once for their end, and once for their values.
            match front {
                Front::Line(len) | Front::End(len) => watch::count(len),
                Front::Incomplete => watch::count(rest.len()),
            }
            match front {
                Front::Line(len) => {
                    at += len;
                    self.line += 1;
                    let line = &rest[..len];
                    self.row(line, insert).map_err(|e| self.place(e, line))?;
                }
                Front::End(len) => {
                    at += len;
                    self.ended = true;
                }
                Front::Incomplete if rest.len() > LINE_BYTES_MAX => {
                    let message = format!("a line of COPY is longer than {LINE_BYTES_MAX} bytes");
                    return Err(self.place(Error::new(SqlState::PROGRAM_LIMIT_EXCEEDED, message), b""));
                }
                Front::Incomplete => break,
            }
        }
        if last && !self.ended && at < data.len() {
            let what = match self.options.format {
                CopyFormat::Csv => "unterminated CSV quoted field",
                _ => "unexpected EOF in COPY data",
            };
            self.line += 1;
            return Err(self.place(Error::new(SqlState::BAD_COPY_FILE_FORMAT, what), &data[at..]));
        }
        self.data = data;
        self.data.drain(..at);
        self.enough = PORTION_BYTES.max((2 * self.data.len()).min(LINE_BYTES_MAX + PORTION_BYTES));
        Ok(())
    }

    fn row(&mut self, line: &[u8], insert: &mut dyn FnMut(&Statement, &Fields) -> Result<u64>) -> Result<()> {
        watch::count(line.len());
        self.fields.clear();
        match self.options.format {
            CopyFormat::Binary if !self.begun => {
                // The header.
                self.begun = true;
                self.line -= 1;
                return Ok(());
            }
            CopyFormat::Binary => {
                binary::split(line, &self.types, &mut self.fields)?;
                self.rows += insert(&self.statement, &self.fields)?;
                return Ok(());
            }
            CopyFormat::Text => {
                let line = utf8(without_ending(line))?;
                text::split(line.as_bytes(), &self.options, &mut self.fields)?;
            }
            CopyFormat::Csv => {
                let line = utf8(without_ending(line))?;
                csv::split(line.as_bytes(), &self.options, &self.forced, &mut self.fields)?;
            }
        }
        let (found, wanted) = (self.fields.len(), self.columns.len());
        if self.line == 1 && self.options.header != CopyHeader::None {
            return if self.options.header == CopyHeader::Match { self.match_header() } else { Ok(()) };
        }
        if found > wanted {
            let message = "extra data after last expected column";
            return Err(Error::new(SqlState::BAD_COPY_FILE_FORMAT, message));
        }
        if found < wanted {
            let message = format!("missing data for column \"{}\"", self.columns[found]);
            return Err(Error::new(SqlState::BAD_COPY_FILE_FORMAT, message));
        }
        self.rows += insert(&self.statement, &self.fields)?;
        Ok(())
    }

    fn match_header(&self) -> Result<()> {
        let bad = |message: String| Err(Error::new(SqlState::BAD_COPY_FILE_FORMAT, message));
        if self.fields.len() != self.columns.len() {
            return bad(format!(
                "wrong number of fields in header line: got {}, expected {}",
                self.fields.len(),
                self.columns.len()
            ));
        }
        for (i, column) in self.columns.iter().enumerate() {
            match self.fields.text(i) {
                Some(name) if name == column => {}
                Some(name) => {
                    return bad(format!(
                        "column name mismatch in header line field {}: got \"{name}\", expected \"{column}\"",
                        i + 1
                    ));
                }
                None => {
                    return bad(format!(
                        "column name mismatch in header line field {}: got null value (\"{}\"), expected \"{column}\"",
                        i + 1,
                        self.options.null
                    ));
                }
            }
        }
        Ok(())
    }
}

/// A line without its line ending.
fn without_ending(line: &[u8]) -> &[u8] {
    let line = line.strip_suffix(b"\n").unwrap_or(line);
    line.strip_suffix(b"\r").unwrap_or(line)
}

/// What of a text is shown in a message.
fn start_of(text: &str) -> String {
    const SHOWN_MAX: usize = 100;
    match text.char_indices().find(|(at, c)| at + c.len_utf8() > SHOWN_MAX) {
        None => text.to_owned(),
        Some((at, _)) => format!("{}...", &text[..at]),
    }
}

/// Which columns a FORCE option means; 42703 where there is no such column.
fn chosen(option: &CopyColumns, columns: &[String]) -> Result<Vec<bool>> {
    match option {
        CopyColumns::None => Ok(vec![false; columns.len()]),
        CopyColumns::All => Ok(vec![true; columns.len()]),
        CopyColumns::Named(names) => {
            if let Some(name) = names.iter().find(|n| !columns.contains(n)) {
                let message = format!("column \"{name}\" does not exist");
                return Err(Error::new(SqlState::UNDEFINED_COLUMN, message));
            }
            Ok(columns.iter().map(|c| names.contains(c)).collect())
        }
    }
}

/// Rows as CopyData messages, at the end of a buffer.
struct CopyOut<'a> {
    out: &'a mut Vec<u8>,
    overflow: Overflow,
    columns: &'a [Column],
    options: &'a CopyOptions,
    force_quote: Vec<bool>,
    scratch: Vec<u8>,
    rows: u64,
    /// Of the binary form: it comes with the first row, and drivers rely on that.
    head: &'a [u8],
}

impl RowSink for CopyOut<'_> {
    fn restart(&mut self) {
        self.overflow.restart(self.out);
        self.rows = 0;
    }

    fn row(&mut self, row: RowRef<'_>) -> Result<()> {
        self.rows += 1;
        self.out.push(b'd');
        let at = self.out.len();
        self.out.extend_from_slice(&[0; 4]);
        if self.rows == 1 {
            self.out.extend_from_slice(self.head);
        }
        match self.options.format {
            CopyFormat::Text => text::write(self.out, row, self.columns, self.options, &mut self.scratch),
            CopyFormat::Csv => {
                csv::write(self.out, row, self.columns, self.options, &self.force_quote, &mut self.scratch);
            }
            CopyFormat::Binary => binary::write(self.out, row, self.columns),
        }
        let len = (self.out.len() - at) as u32;
        self.out[at..at + 4].copy_from_slice(&len.to_be_bytes());
        self.overflow.check(self.out)
    }
}

impl Backend {
    /// Begins a COPY, if the statement is one.
    pub(crate) fn start_copy(&mut self, statement: &Statement) -> Result<Option<Started>> {
        let Some(form) = statement.copy() else { return Ok(None) };
        self.key.begins(statement.shared_text(), Instant::now());
        if !form.from {
            self.copy_out(statement, &form)?;
            return Ok(Some(Started::Out));
        }
        let mut copy = CopyIn { deadline: self.deadline()?, ..CopyIn::new(statement, &form)? };
        self.begin_implicit()?;
        copy.triggers = self.with_session_until(copy.deadline, false, |session, reply| {
            let triggers = session.copy_triggers(statement)?;
            if let Some(triggers) = &triggers {
                told(session, reply, |session| session.start(&triggers.before, &(), &mut Nothing))?;
            }
            Ok(triggers)
        })?;
        let binary = form.options.format == CopyFormat::Binary;
        self.reply.copy_response(b'G', form.columns.len(), binary);
        Ok(Some(Started::In(Box::new(copy))))
    }

    fn copy_out(&mut self, statement: &Statement, form: &CopyForm<'_>) -> Result<()> {
        let begin = self.reply.len();
        let options = form.options;
        let names: Vec<String> = form.columns.iter().map(|c| (*c).to_owned()).collect();
        let force_quote = chosen(&options.force_quote, &names)?;
        self.reply.copy_response(b'H', names.len(), options.format == CopyFormat::Binary);
        let mut head = Vec::new();
        match options.format {
            CopyFormat::Text if options.header != CopyHeader::None => {
                text::write_header(&mut head, &names, options)
            }
            CopyFormat::Csv if options.header != CopyHeader::None => {
                csv::write_header(&mut head, &names, options)
            }
            _ => {}
        }
        if !head.is_empty() {
            let m = self.reply.begin(b'd');
            self.reply.append(&head);
            self.reply.end(m);
            head.clear();
        }
        if options.format == CopyFormat::Binary {
            binary::write_header(&mut head);
        }
        let (limits, room) = (Limits::of(&self.shared.config()), self.room.clone());
        let scales = self.scales.clone();
        let columns = statement.columns();
        let outcome = self.with_session(false, |session, reply| {
            let start = reply.len();
            let out = reply.out();
            let scratch = Vec::new();
            let overflow = Overflow::new(start, limits, &room, &scales);
            let mut sink =
                CopyOut { out, overflow, columns, options, force_quote, scratch, rows: 0, head: &head };
            let done = session.start(statement, &(), &mut sink)?;
            let (spool, rows) = (sink.overflow.spool.finish(), sink.rows);
            reply.spooled(start, spool);
            Ok((done.ticket, rows))
        });
        let (ticket, rows) = match outcome {
            Ok(done) => done,
            Err(error) => {
                self.reply.truncate(begin);
                return Err(error);
            }
        };
        if options.format == CopyFormat::Binary {
            let m = self.reply.begin(b'd');
            if rows == 0 {
                self.reply.append(&head);
            }
            self.reply.append(&binary::END);
            self.reply.end(m);
        }
        self.join(ticket);
        self.reply.copy_done();
        self.copied(rows);
        Ok(())
    }

    fn copied(&mut self, rows: u64) {
        self.reply.command_complete(|out| {
            out.extend_from_slice(b"COPY ");
            planaria_base::text_io::write_int(out, rows as i64);
        });
    }

    /// A message while a COPY FROM STDIN is under way.
    pub(crate) fn copy_message(&mut self, tag: u8, body: Reader<'_>) {
        let Some((mut copy, script)) = self.copy.take() else { return };
        let outcome = match tag {
            b'd' => {
                copy.data.extend_from_slice(body.rest());
                if copy.data.len() < copy.enough {
                    Ok(false)
                } else {
                    let weighed = self.scales.weigh(Taken::Copy, copy.data.capacity());
                    weighed.and_then(|()| self.work_on(&mut copy, false)).map(|()| false)
                }
            }
            b'c' => self.work_on(&mut copy, true).map(|()| true),
            b'f' => {
                let mut body = body;
                let reason = body.string().unwrap_or_default();
                Err(Error::new(SqlState::QUERY_CANCELED, format!("COPY from stdin failed: {reason}")))
            }
            // Sync and Flush may come before the client knew that data is wanted.
            b'H' | b'S' => Ok(false),
            b'X' => {
                self.closing = true;
                return;
            }
            other => Err(violation(format!("unexpected message type 0x{other:02X} during COPY from stdin"))),
        };
        if !matches!(outcome, Ok(false)) {
            self.scales.note(Taken::Copy, 0);
        }
        match (outcome, script) {
            (Ok(false), script) => self.copy = Some((copy, script)),
            (Ok(true), Some(script)) => {
                if script.is_empty()
                    && self.is_implicit()
                    && let Err(error) = self.commit_implicit()
                {
                    self.fail(&error, None);
                    return self.ready();
                }
                self.copied(copy.rows);
                self.go_on(script);
            }
            (Ok(true), None) => self.copied(copy.rows),
            (Err(error), Some(_)) => {
                self.fail(&error, None);
                self.ready();
            }
            (Err(error), None) => {
                self.fail(&error, None);
                self.skip_to_sync();
            }
        }
    }

    fn work_on(&mut self, copy: &mut CopyIn, last: bool) -> Result<()> {
        self.with_session_until(copy.deadline, false, |session, reply| {
            let Some(triggers) = copy.triggers.clone() else {
                return copy.work(last, &mut |statement, fields| {
                    session.check_cancelled()?;
                    told(session, reply, |session| session.start(statement, fields, &mut Nothing))
                });
            };
            let mut stored = Stored { rows: std::mem::take(&mut copy.stored), before: 0 };
            let worked = copy.work(last, &mut |_, fields| {
                session.check_cancelled()?;
                stored.before = stored.rows.len();
                told(session, reply, |session| match triggers.rows {
                    true => session.start(&triggers.row, fields, &mut stored),
                    false => session.start(&triggers.row, fields, &mut Nothing),
                })
            });
            copy.stored = stored.rows;
            worked?;
            if !last {
                return Ok(());
            }
            let stored = std::mem::take(&mut copy.stored);
            let all: Option<Datum> = triggers
                .transition
                .then(|| Datum::Array(stored.iter().map(|row| Datum::Array(row.clone())).collect()));
            for mut row in stored {
                session.check_cancelled()?;
                let Some(after_row) = &triggers.after_row else { break };
                row.extend(all.clone());
                told(session, reply, |session| session.start(after_row, &row, &mut Nothing))?;
            }
            let all: CopiedRow = all.into_iter().collect();
            told(session, reply, |session| session.start(&triggers.after, &all, &mut Nothing)).map(|_| ())
        })
    }
}

/// Runs a statement, and passes on what it says. Answers with the number of its rows.
fn told(
    session: &mut Session,
    reply: &mut Reply,
    run: impl FnOnce(&mut Session) -> Result<Done>,
) -> Result<u64> {
    let done = run(session);
    session.take_notices().iter().for_each(|notice| reply.notice(notice));
    done.map(|done| done.count)
}

/// Rows as they were stored.
struct Stored {
    rows: Vec<CopiedRow>,
    /// How many there were before the row that is stored now.
    before: usize,
}

impl RowSink for Stored {
    fn restart(&mut self) {
        self.rows.truncate(self.before);
    }
    fn row(&mut self, row: RowRef<'_>) -> Result<()> {
        self.rows.push(row.to_datums());
        Ok(())
    }
}

/// An INSERT without RETURNING has no rows.
struct Nothing;

impl RowSink for Nothing {
    fn restart(&mut self) {}
    fn row(&mut self, _: RowRef<'_>) -> Result<()> {
        Ok(())
    }
}
