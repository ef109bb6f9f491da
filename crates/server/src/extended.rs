//! Extended query: Parse, Bind, Describe, Execute, Close.

use crate::backend::{Backend, How};
use crate::copy;
use crate::decode::{Parameters, declared, format_code};
use crate::encode::{self, Format};
use crate::overflow::{Limits, Overflow};
use crate::portal::{Held, Portal, Prepared, State};
use crate::query::named;
use crate::read::Reader;
use crate::shapes::shape;
use crate::statements::id_of;
use planaria::serving::{Done, ServedSession, ServedStatement, StatementKind};
use planaria::{Error, Result, SqlState, Statement, Ticket, Type};
use planaria_base::oid;
use std::sync::Arc;

impl Backend {
    /// Parse: name, text, declared types of parameters.
    pub(crate) fn parse_message(&mut self, mut body: Reader<'_>) -> Result<()> {
        let name = body.string()?;
        let text = body.string()?;
        let count = body.count(4)?;
        let oids: Vec<u32> = (0..count).map(|_| body.i32().map(|oid| oid as u32)).collect::<Result<_>>()?;
        body.end()?;
        if name.is_empty() {
            self.unnamed = None;
        }
        let prepared = match self.prepare(text, oids) {
            Ok(prepared) => Arc::new(prepared),
            Err(error) => return Err(self.pointing(error, text)),
        };
        if name.is_empty() {
            self.unnamed = Some(prepared);
        } else {
            Backend::check_names(self.statements.len())?;
            match &prepared.statement {
                Some(statement) => self.session()?.name(name, statement)?,
                None if self.statements.contains_key(name) => {
                    return Err(Error::new(
                        SqlState::DUPLICATE_PREPARED_STATEMENT,
                        format!("prepared statement \"{name}\" already exists"),
                    ));
                }
                None => {}
            }
            if let Err(error) = self.put_statement(name, prepared) {
                self.session()?.forget(name);
                return Err(error);
            }
        }
        self.reply.parse_complete();
        Ok(())
    }

    /// Answers with an error that points into a text; what comes up to Sync is passed over as usual.
    fn pointing(&mut self, error: Error, text: &str) -> Error {
        self.error_text = Some(text.into());
        error
    }

    fn prepare(&mut self, text: &str, oids: Vec<u32>) -> Result<Prepared> {
        let mut types: Vec<Option<Type>> = Vec::with_capacity(oids.len());
        for oid in &oids {
            types.push(declared(*oid, self.session()?)?);
        }
        let shape = shape(text);
        if let Some(statement) = self.session()?.recall(text, &types) {
            return Ok(self.made(Some(statement), oids, shape));
        }
        let mut parsed = planaria::serving::parse(text)?;
        let Some(one) = parsed.pop() else {
            return Ok(self.made(None, oids, shape));
        };
        if !parsed.is_empty() {
            return Err(Error::new(
                SqlState::SYNTAX_ERROR,
                "cannot insert multiple commands into a prepared statement",
            ));
        }
        let statement = self.with_session(false, |session, _| session.prepare_parsed(&one, &types))?;
        if statement.kind() == StatementKind::Program {
            self.session()?.remember(text, &statement);
        }
        Ok(self.made(Some(statement), oids, shape))
    }

    fn made(&self, statement: Option<Statement>, declared: Vec<u32>, shape: u64) -> Prepared {
        let name = statement.as_ref().and_then(Statement::calls);
        let calls = name.and_then(|name| self.shared.metrics.procedure(name));
        let id = statement.as_ref().map_or(0, |s| id_of(s.text()));
        Prepared { statement, declared, shape, id, calls }
    }

    /// The statement of a name: made by Parse, or by PREPARE.
    fn prepared(&mut self, name: &str) -> Result<Arc<Prepared>> {
        if name.is_empty() {
            return self.unnamed.clone().ok_or_else(|| {
                Error::new(SqlState::INVALID_SQL_STATEMENT_NAME, "unnamed prepared statement does not exist")
            });
        }
        if let Some(prepared) = self.statements.get(name) {
            return Ok(prepared.clone());
        }
        let statement = self.session()?.named(name).ok_or_else(|| {
            Error::new(
                SqlState::INVALID_SQL_STATEMENT_NAME,
                format!("prepared statement \"{name}\" does not exist"),
            )
        })?;
        let shape = shape(statement.text());
        let prepared = Arc::new(self.made(Some(statement), Vec::new(), shape));
        self.put_statement(name, prepared.clone())?;
        Ok(prepared)
    }

    /// Bind: portal, statement, formats and values of parameters, formats of columns.
    pub(crate) fn bind_message(&mut self, mut body: Reader<'_>) -> Result<()> {
        let portal = body.string()?;
        let statement = body.string()?;
        let prepared = self.prepared(statement)?;
        if let Some(statement) = &prepared.statement {
            self.about = Some(statement.shared_text().clone());
            self.check_failed(statement.leaves_failed_transaction())?;
        }
        // The memory of the portal before is used again.
        let old = if portal.is_empty() { self.take_portal("") } else { None };
        let (mut params, mut formats) = match old {
            Some(old) => (old.params, old.formats),
            None => (Parameters::default(), Vec::new()),
        };
        let types = prepared.statement.as_ref().map_or(&[][..], |s| s.parameters());
        params.read(&mut body, statement, types)?;
        formats.clear();
        for _ in 0..body.count(2)? {
            formats.push(format_code(body.i16()?)?);
        }
        body.end()?;
        let columns = prepared.statement.as_ref().map_or(0, |s| s.columns().len());
        if formats.len() > 1 && formats.len() != columns {
            return Err(crate::read::violation(format!(
                "bind message has {} result formats but query has {columns} columns",
                formats.len()
            )));
        }
        let bound = Portal { prepared, params, formats, state: State::Ready };
        if !portal.is_empty() {
            Backend::check_names(self.named_portals())?;
            if self.portal(portal).is_some() {
                return Err(Error::new(
                    SqlState::DUPLICATE_CURSOR,
                    format!("cursor \"{portal}\" already exists"),
                ));
            }
        }
        self.weigh_portal(&bound)?;
        self.put_portal(portal, bound);
        self.reply.bind_complete();
        Ok(())
    }

    /// Describe: of a statement its parameters and columns, of a portal its columns.
    pub(crate) fn describe_message(&mut self, mut body: Reader<'_>) -> Result<()> {
        let (what, name) = named(&mut body)?;
        if what == b'S' {
            let prepared = self.prepared(name)?;
            let types = prepared.statement.as_ref().map_or(&[][..], |s| s.parameters());
            let given = |i: usize| prepared.declared.get(i).copied().filter(|oid| !matches!(oid, 0 | 705));
            let oids: Vec<u32> =
                types.iter().enumerate().map(|(i, ty)| given(i).unwrap_or_else(|| oid::of(ty))).collect();
            self.reply.parameter_description(oids.into_iter());
            self.describe(&prepared, &[]);
            return Ok(());
        }
        let Some(portal) = self.portal(name) else {
            let columns = self.session()?.cursor(name).ok_or_else(|| no_portal(name))?;
            self.reply.row_description(&columns, &[]);
            return Ok(());
        };
        let (prepared, formats) = (portal.prepared.clone(), portal.formats.clone());
        self.describe(&prepared, &formats);
        Ok(())
    }

    fn describe(&mut self, prepared: &Prepared, formats: &[Format]) {
        match &prepared.statement {
            Some(statement) if !statement.columns().is_empty() && !statement.is_copy() => {
                self.reply.row_description(statement.columns(), formats);
            }
            _ => self.reply.no_data(),
        }
    }

    /// Close: it need not exist.
    pub(crate) fn close_message(&mut self, mut body: Reader<'_>) -> Result<()> {
        match named(&mut body)? {
            (b'S', "") => self.unnamed = None,
            (b'S', name) => {
                self.drop_statement(name);
                self.session()?.forget(name);
            }
            (_, "") => drop(self.take_portal("")),
            (_, name) => {
                if self.take_portal(name).is_none() {
                    self.session()?.close_cursor(name);
                }
            }
        }
        self.reply.close_complete();
        Ok(())
    }

    /// Execute: a portal, and how many rows at most.
    pub(crate) fn execute_message(&mut self, mut body: Reader<'_>, alone: bool) -> Result<()> {
        let name = body.string()?;
        let rows_max = usize::try_from(body.i32()?).unwrap_or(0);
        body.end()?;
        let Some(mut portal) = self.take_portal(name) else { return self.execute_cursor(name, rows_max) };
        let outcome = self.execute(&mut portal, rows_max, alone);
        // Who failed is gone with its transaction.
        if outcome.is_ok() {
            self.put_portal(name, portal);
        }
        outcome
    }

    /// FETCH and MOVE, forward, of a portal that Bind made.
    pub(crate) fn walk(&mut self, name: &str, fetches: bool, n: usize, described: bool) -> Result<Done> {
        let Some(mut portal) = self.take_portal(name) else { return Err(no_portal(name)) };
        let start = self.reply.len();
        if fetches && described {
            self.describe(&portal.prepared.clone(), &portal.formats);
        }
        let rows = self.reply.len();
        self.execute(&mut portal, n, false)?;
        self.put_portal(name, portal);
        // It ended with a message that FETCH has in its own words.
        let end = last_message(self.reply.bytes(), rows);
        let count = count_of(&self.reply.bytes()[end..]).unwrap_or(n as u64);
        if fetches {
            self.reply.cut(end);
        } else {
            self.reply.truncate(start);
        }
        let tag = if fetches { "FETCH" } else { "MOVE" };
        Ok(Done { tag: tag.into(), count, rows: None, ticket: Ticket::done() })
    }

    /// Execute of a portal that DECLARE made.
    fn execute_cursor(&mut self, name: &str, rows_max: usize) -> Result<()> {
        if name.is_empty() || self.session()?.cursor(name).is_none() {
            return Err(no_portal(name));
        }
        self.check_failed(false)?;
        let (limits, room) = (Limits::of(&self.shared.config()), self.room.clone());
        let scales = self.scales.clone();
        let begin = self.reply.len();
        let outcome = self.with_session(false, |session, reply| {
            let rows = session.fetch(name, rows_max)?;
            let start = reply.len();
            let mut overflow = Overflow::new(start, limits, &room, &scales);
            for row in &rows {
                encode::data_row_of(reply.out(), row, rows.columns(), &[]);
                overflow.check(reply.out())?;
            }
            reply.spooled(start, overflow.spool.finish());
            Ok(rows.len() as u64)
        });
        let count = outcome.inspect_err(|_| self.reply.truncate(begin))?;
        self.end_of_fetch(count, rows_max);
        Ok(())
    }

    /// As in PostgreSQL, a portal that gave as many rows as it was asked for does not know that it is at its
    /// end.
    fn end_of_fetch(&mut self, count: u64, rows_max: usize) {
        if rows_max > 0 && count == rows_max as u64 {
            self.reply.portal_suspended();
        } else {
            self.reply.command_complete(|out| tag_of_rows(out, count));
        }
    }

    fn execute(&mut self, portal: &mut Portal, rows_max: usize, alone: bool) -> Result<()> {
        let Some(statement) = &portal.prepared.statement else {
            self.reply.empty_query();
            return Ok(());
        };
        match &mut portal.state {
            State::Ready => {}
            State::Open(held) => {
                let count = held.fetch(rows_max, &mut self.reply)?;
                if held.is_empty() {
                    portal.state = State::Done;
                }
                self.end_of_fetch(count, rows_max);
                return Ok(());
            }
            State::Done if statement.columns().is_empty() => {
                return Err(Error::new(
                    SqlState::OBJECT_NOT_IN_PREREQUISITE_STATE,
                    "portal cannot be run anymore",
                ));
            }
            State::Done => {
                self.reply.command_complete(|out| tag_of_rows(out, 0));
                return Ok(());
            }
        }
        let kind = statement.kind();
        if self.before(kind, !alone)? {
            portal.state = State::Done;
            self.reply.command_complete(|out| out.extend_from_slice(b"BEGIN"));
            return Ok(());
        }
        if let Some(started) = self.start_copy(statement)? {
            portal.state = State::Done;
            if let copy::Started::In(copy) = started {
                self.copy = Some((*copy, None));
                self.flush = true;
            }
            return Ok(());
        }
        let how = How {
            shape: portal.prepared.shape,
            id: portal.prepared.id,
            text: statement.text(),
            shown: None,
            params: &portal.params,
            formats: &portal.formats,
            calls: Some(&portal.prepared.calls),
            described: false,
        };
        portal.state = State::Done;
        let start = self.reply.len();
        let done = self.run(statement, &how)?;
        let suspended = rows_max > 0 && done.count >= rows_max as u64 && !statement.columns().is_empty();
        if suspended {
            // The rows stand at the end; messages that came with them stay in front.
            let rows = first_row(self.reply.bytes(), start);
            let spool = self.reply.take_spool(rows);
            let mut held = Held::new(spool, self.reply.out().split_off(rows), done.count);
            held.fetch(rows_max, &mut self.reply)?;
            if !held.is_empty() {
                portal.state = State::Open(held);
            }
            self.reply.portal_suspended();
        } else {
            self.reply.command_complete(|out| done.write_tag(out));
        }
        self.join(done.ticket);
        Ok(())
    }
}

/// The tag of rows fetched from a portal.
fn tag_of_rows(out: &mut Vec<u8>, count: u64) {
    out.extend_from_slice(b"SELECT ");
    planaria_base::text_io::write_int(out, count as i64);
}

/// Where the first DataRow stands, from `start` on.
fn first_row(messages: &[u8], start: usize) -> usize {
    let mut at = start;
    while at < messages.len() && messages[at] != b'D' {
        let len = [messages[at + 1], messages[at + 2], messages[at + 3], messages[at + 4]];
        at += 1 + u32::from_be_bytes(len) as usize;
    }
    at
}

/// Where the last message begins, of those from `start` on.
fn last_message(messages: &[u8], start: usize) -> usize {
    let (mut at, mut last) = (start, start);
    while at < messages.len() {
        let len = [messages[at + 1], messages[at + 2], messages[at + 3], messages[at + 4]];
        last = at;
        at += 1 + u32::from_be_bytes(len) as usize;
    }
    last
}

/// The number at the end of a CommandComplete; `None` where the message is another one.
fn count_of(message: &[u8]) -> Option<u64> {
    let tag = message.strip_prefix(b"C")?.get(4..)?.split(|b| *b == 0).next()?;
    std::str::from_utf8(tag).ok()?.rsplit(' ').next()?.parse().ok()
}

/// 34000
fn no_portal(name: &str) -> Error {
    Error::new(SqlState::INVALID_CURSOR_NAME, format!("portal \"{name}\" does not exist"))
}
