//! One client's side of the engine: takes messages, leaves replies. Knows no socket and waits for nothing.
//!
//! A transaction here is one of three:
//!
//! * a *block*: between BEGIN and COMMIT, as the client said;
//! * *implicit*: of several statements that belong together without BEGIN: those of one simple query,
//!   or those that are executed before one Sync;
//! * a statement alone: what comes alone in a simple query or before Sync. Such a call of a procedure is
//!   logged as that call; so whether it is alone is looked up before it runs (`Input::ahead`).
//!
//! Replies stay in the buffer until the commits that they tell of are on disk: `pending` is the ticket
//! of all of them.

use crate::clients::Key;
use crate::copy::CopyIn;
use crate::crew::blocking;
use crate::encode::{self, Format};
use crate::metrics::Histogram;
use crate::overflow::{Limits, Overflow};
use crate::portal::{Portal, Prepared};
use crate::query::Script;
use crate::read::{Reader, violation};
use crate::reply::{Reply, Severity};
use crate::scales::{Scales, Taken};
use crate::server::Shared;
use crate::shapes::shape;
use crate::spool::Room;
use crate::statement_log;
use crate::statements::id_of;
use planaria::serving::{
    ClientState, Done, Inbox, RowRef, RowSink, ServedDatabase, ServedSession, ServedStatement, SessionState,
    StatementKind,
};
use planaria::{Column, Error, Params, Result, Session, SqlState, Statement, Ticket, TransactionStatus};
use std::collections::HashMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::task::{Poll, Waker};
use std::time::{Duration, Instant};

/// Settings whose value is reported when it changes, as far as it can.
const REPORTED: [&str; 5] =
    ["application_name", "DateStyle", "default_transaction_read_only", "IntervalStyle", "TimeZone"];

/// Statements prepared or portals open, of one connection.
const NAMES_MAX: usize = 100_000;

/// See the module's head.
pub(crate) struct Backend {
    pub(crate) shared: Arc<Shared>,
    pub(crate) key: Key,
    /// While a statement runs or a transaction is open.
    session: Option<Session>,
    /// What the session is, while there is none.
    state: SessionState,
    pub(crate) reply: Reply,
    /// The open transaction is implicit.
    implicit: bool,
    /// After an error in extended query: everything up to Sync is passed over.
    skipping: bool,
    pub(crate) statements: HashMap<String, Arc<Prepared>>,
    pub(crate) unnamed: Option<Arc<Prepared>>,
    portals: HashMap<String, Portal>,
    unnamed_portal: Option<Portal>,
    /// Bytes of all of them, and of named statements.
    portal_bytes: usize,
    statement_bytes: usize,
    /// What all that takes of the memory budget.
    pub(crate) scales: Arc<Scales>,
    /// A COPY FROM STDIN is under way, and what stands behind it in its query.
    pub(crate) copy: Option<(CopyIn, Option<Script>)>,
    /// For answers that wait in files.
    pub(crate) room: Arc<Room>,
    /// Of all commits that the replies tell of.
    pub(crate) pending: Ticket,
    /// When the last statement was to be over.
    pub(crate) deadline: Option<Instant>,
    /// The replies are wanted now.
    pub(crate) flush: bool,
    /// The connection is to end.
    pub(crate) closing: bool,
    /// What the error points into that a message ends with.
    pub(crate) error_text: Option<Box<str>>,
    /// The statement that an error is about, for the log.
    pub(crate) about: Option<Arc<str>>,
    settings_seen: u64,
    reported: Vec<String>,
}

/// Rows as messages, in the end of a buffer.
struct Encoder<'a> {
    out: &'a mut Vec<u8>,
    overflow: Overflow,
    columns: &'a [Column],
    formats: &'a [Format],
}

impl RowSink for Encoder<'_> {
    fn restart(&mut self) {
        self.overflow.restart(self.out);
    }

    fn row(&mut self, row: RowRef<'_>) -> Result<()> {
        if self.columns.is_empty() {
            return Ok(());
        }
        encode::data_row(self.out, row, self.columns, self.formats);
        self.overflow.check(self.out)
    }
}

/// 57P01
pub(crate) fn terminated() -> Error {
    Error::new(SqlState::ADMIN_SHUTDOWN, "terminating connection due to administrator command")
}

/// Tells the other threads before this one sleeps.
fn sleep_in_place(sleep: &mut dyn FnMut()) {
    blocking(sleep);
}

/// How a statement is to be run.
pub(crate) struct How<'a> {
    /// Its shape: see [`crate::shapes`].
    pub(crate) shape: u64,
    /// That of its text: see [`crate::statements`].
    pub(crate) id: u64,
    /// Its text; others may follow.
    pub(crate) text: &'a str,
    /// The text to show to others, if it is not the statement's.
    pub(crate) shown: Option<Arc<str>>,
    pub(crate) params: &'a dyn Params,
    pub(crate) formats: &'a [Format],
    /// Where the calls of its procedure are counted, if that is known already.
    pub(crate) calls: Option<&'a Option<Arc<Histogram>>>,
    /// The columns are described in front of the rows.
    pub(crate) described: bool,
}

impl<'a> How<'a> {
    /// As simple query has it.
    pub(crate) fn simple(text: &'a str) -> How<'a> {
        let (shape, id) = (shape(text), id_of(text));
        How { shape, id, text, shown: None, params: &(), formats: &[], calls: None, described: true }
    }
}

impl Backend {
    pub(crate) fn new(shared: Arc<Shared>, key: Key) -> Backend {
        let room = Room::of_connection(&shared.room, shared.config().max_result_bytes as u64);
        let scales = Arc::new(Scales::new(shared.sessions.database().hold()));
        Backend {
            shared,
            key,
            session: None,
            state: SessionState::default(),
            reply: Reply::default(),
            implicit: false,
            skipping: false,
            statements: HashMap::new(),
            unnamed: None,
            portals: HashMap::new(),
            unnamed_portal: None,
            portal_bytes: 0,
            statement_bytes: 0,
            scales,
            copy: None,
            room,
            pending: Ticket::done(),
            deadline: None,
            flush: false,
            closing: false,
            error_text: None,
            about: None,
            settings_seen: 0,
            reported: Vec::new(),
        }
    }

    // ---- messages ----

    /// Takes a message. `alone`: for Execute, that nothing else runs before the next Sync.
    pub(crate) fn message(&mut self, tag: u8, body: Reader<'_>, alone: bool) {
        if self.skipping && !matches!(tag, b'S' | b'X') {
            return;
        }
        if self.copy.is_some() {
            return self.copy_message(tag, body);
        }
        // A request that met nothing to cancel is forgotten, whatever the client asks for next.
        self.key.reset();
        let outcome = match tag {
            b'Q' => return self.simple_query(body),
            b'P' => self.parse_message(body),
            b'B' => self.bind_message(body),
            b'D' => self.describe_message(body),
            b'E' => self.execute_message(body, alone),
            b'C' => self.close_message(body),
            b'S' => return self.sync(),
            b'H' => {
                self.flush = true;
                Ok(())
            }
            b'X' => {
                self.closing = true;
                return;
            }
            // What is left of a COPY that has failed.
            b'd' | b'c' | b'f' => return,
            b'F' => Err(Error::unsupported(
                "function calls of the protocol are not supported",
                "Use SELECT or CALL.",
            )),
            other => {
                let error = violation(format!("invalid frontend message type {other}"));
                return self.die(&error);
            }
        };
        if let Err(error) = outcome {
            let text = self.error_text.take();
            self.fail(&error, text.as_deref());
            self.skipping = true;
            // Whoever waits for the answer to a Flush has not sent Sync yet.
            self.flush = true;
            self.take_portal("");
        }
    }

    /// Passes over what comes before the next Sync.
    pub(crate) fn skip_to_sync(&mut self) {
        self.skipping = true;
    }

    /// Sync: the end of what belongs together.
    fn sync(&mut self) {
        self.skipping = false;
        if self.implicit
            && let Err(error) = self.commit_implicit()
        {
            self.fail(&error, None);
        }
        self.ready();
    }

    /// Tells the client that it is its turn.
    pub(crate) fn ready(&mut self) {
        if self.closing && self.key.terminated() {
            self.flush = true;
            return;
        }
        self.report_settings();
        let status = match self.status() {
            TransactionStatus::Idle => b'I',
            TransactionStatus::Open => b'T',
            TransactionStatus::Failed => b'E',
        };
        if status == b'I' {
            self.end_of_transaction();
            self.rise();
        }
        self.reply.ready_for_query(status);
        self.flush = true;
    }

    /// Answers with an error. It ends an implicit transaction.
    pub(crate) fn fail(&mut self, error: &Error, text: Option<&str>) {
        self.drain_notices();
        self.shared.metrics.error(error.sqlstate());
        let about = self.about.take();
        let statement = text.or(about.as_deref()).filter(|_| self.shared.config().log_failed_statements);
        statement_log::failed(self.key.process, error, statement);
        let last = self.closing && error.sqlstate() == SqlState::ADMIN_SHUTDOWN;
        self.reply.error(if last { Severity::Fatal } else { Severity::Error }, error, text);
        let implicit = std::mem::take(&mut self.implicit);
        match &mut self.session {
            // Nothing can be done about a rollback that fails, and none does.
            Some(session) if implicit => drop(session.rollback()),
            Some(session) => session.fail_transaction(),
            None => {}
        }
    }

    /// Ends the connection with an error.
    pub(crate) fn die(&mut self, error: &Error) {
        self.reply.error(Severity::Fatal, error, None);
        self.closing = true;
        self.flush = true;
    }

    // ---- the session ----

    /// Where the client's transaction stands.
    pub(crate) fn status(&self) -> TransactionStatus {
        self.session.as_ref().map_or(TransactionStatus::Idle, Session::transaction_status)
    }

    /// The same, as others see it.
    pub(crate) fn client_state(&self) -> ClientState {
        match self.status() {
            TransactionStatus::Idle => ClientState::Idle,
            TransactionStatus::Open => ClientState::IdleInTransaction,
            TransactionStatus::Failed => ClientState::IdleInFailedTransaction,
        }
    }

    /// Whether a transaction is open, of whatever kind.
    pub(crate) fn in_transaction(&self) -> bool {
        self.status() != TransactionStatus::Idle
    }

    /// What comes for the client, if it listens, and may hear it: no transaction is open.
    fn inbox(&self) -> Option<Inbox> {
        if self.in_transaction() {
            return None;
        }
        match &self.session {
            Some(session) => session.inbox(),
            None => self.state.inbox(),
        }
    }

    /// Adds what has come on channels to the reply.
    pub(crate) fn tell(&mut self) {
        if let Some(inbox) = self.inbox() {
            while let Some(notification) = inbox.take() {
                self.reply.notification(&notification);
            }
        }
    }

    /// Whether something came on a channel while the client is idle: it is in the reply now. Else the waker is woken when something
    /// comes.
    pub(crate) fn is_told(&mut self, waker: &Waker) -> bool {
        if !self.reply.is_empty() {
            return false;
        }
        let Some(inbox) = self.inbox() else { return false };
        let Poll::Ready(Some(first)) = inbox.poll(waker) else { return false };
        self.reply.notification(&first);
        self.tell();
        self.flush = true;
        true
    }

    /// Whether the open transaction is implicit.
    pub(crate) fn is_implicit(&self) -> bool {
        self.implicit
    }

    /// The session; a free one sits down if there is none.
    pub(crate) fn session(&mut self) -> Result<&mut Session> {
        if self.session.is_none() {
            let mut session = self.shared.sessions.take()?;
            session.swap_state(&mut self.state);
            session.cancelled_by(&self.key.flag);
            session.numbered(self.key.process);
            // The transaction that is waited for may need this thread.
            session.sleeps_by(sleep_in_place);
            self.session = Some(session);
        }
        self.session.as_mut().ok_or_else(|| Error::internal("no session"))
    }

    /// How long the client may be silent now.
    pub(crate) fn idle_timeout(&self) -> Option<Duration> {
        let session = self.session.as_ref().filter(|s| s.in_transaction())?;
        let limit = session.setting_milliseconds("idle_in_transaction_session_timeout");
        (limit > 0).then(|| Duration::from_millis(limit))
    }

    /// Gives the session back, if it need not stay this client's: it has advisory locks or temporary tables. No transaction may be open.
    fn rise(&mut self) {
        if self.session.as_ref().is_some_and(Session::keeps_own) {
            return;
        }
        if let Some(mut session) = self.session.take() {
            session.swap_state(&mut self.state);
            self.shared.sessions.give(session);
        }
    }

    /// Runs `f` with the session. A panic of the engine ends the connection, and nobody else's.
    ///
    /// Anything that is not known to be short might keep this thread for long, so the other threads are told first.
    pub(crate) fn with_session<T>(
        &mut self,
        short: bool,
        f: impl FnOnce(&mut Session, &mut Reply) -> Result<T>,
    ) -> Result<T> {
        let deadline = self.deadline()?;
        self.with_session_until(deadline, short, f)
    }

    /// When a statement that begins now has taken as long as it may.
    pub(crate) fn deadline(&mut self) -> Result<Option<Instant>> {
        let limit = self.session()?.setting_milliseconds("statement_timeout");
        Ok((limit > 0).then(|| Instant::now() + Duration::from_millis(limit)))
    }

    /// The same for a part of a statement that ends by then.
    pub(crate) fn with_session_until<T>(
        &mut self,
        deadline: Option<Instant>,
        short: bool,
        f: impl FnOnce(&mut Session, &mut Reply) -> Result<T>,
    ) -> Result<T> {
        self.session()?;
        let (Some(session), reply) = (&mut self.session, &mut self.reply) else {
            return Err(Error::internal("no session"));
        };
        session.ends_by(deadline);
        self.deadline = deadline;
        let run = || catch_unwind(AssertUnwindSafe(|| f(session, reply)));
        let outcome = if short { run() } else { blocking(run) };
        if let Some(session) = &mut self.session {
            session.ends_by(None);
        }
        match outcome {
            Ok(Err(error)) if error.sqlstate() == SqlState::QUERY_CANCELED && self.key.terminated() => {
                self.closing = true;
                Err(terminated())
            }
            Ok(outcome) => outcome,
            Err(panic) => {
                let what = panic
                    .downcast_ref::<String>()
                    .map(String::as_str)
                    .or_else(|| panic.downcast_ref::<&str>().copied())
                    .unwrap_or("?");
                tracing::error!(connection = self.key.process, "a statement caused a panic: {what}");
                self.implicit = false;
                let session = self.session.take();
                if catch_unwind(AssertUnwindSafe(|| drop(session))).is_err() {
                    tracing::error!(connection = self.key.process, "the session could not be closed");
                }
                self.closing = true;
                Err(Error::internal("the statement failed by an error of the server")
                    .with_hint("The connection is closed. Please report this, with the server's log."))
            }
        }
    }

    // ---- transactions ----

    /// 25P02 in a transaction that has failed, but for what leaves it.
    pub(crate) fn check_failed(&self, leaves: bool) -> Result<()> {
        if self.status() != TransactionStatus::Failed || leaves {
            return Ok(());
        }
        Err(Error::new(
            SqlState::IN_FAILED_SQL_TRANSACTION,
            "current transaction is aborted, commands ignored until end of transaction block",
        ))
    }

    /// Begins an implicit transaction, unless one is open.
    pub(crate) fn begin_implicit(&mut self) -> Result<()> {
        if !self.in_transaction() {
            self.session()?.begin()?;
            self.implicit = true;
        }
        Ok(())
    }

    /// Commits the implicit transaction; it is over, well or not.
    pub(crate) fn commit_implicit(&mut self) -> Result<()> {
        if std::mem::take(&mut self.implicit) {
            let ticket = self.with_session(false, |session, _| session.commit())?;
            self.join(ticket);
        }
        Ok(())
    }

    pub(crate) fn join(&mut self, ticket: Ticket) {
        let pending = std::mem::replace(&mut self.pending, Ticket::done());
        self.pending = pending.and(ticket);
    }

    /// Portals live as long as their transaction.
    fn end_of_transaction(&mut self) {
        self.portals.clear();
        self.unnamed_portal = None;
        self.portal_bytes = 0;
        self.scales.note(Taken::Portals, 0);
    }

    // ---- portals and statements ----

    pub(crate) fn portal(&self, name: &str) -> Option<&Portal> {
        if name.is_empty() { self.unnamed_portal.as_ref() } else { self.portals.get(name) }
    }

    /// How many have names.
    pub(crate) fn named_portals(&self) -> usize {
        self.portals.len()
    }

    /// Takes a portal out; it comes back by [`Self::put_portal`], or is gone.
    pub(crate) fn take_portal(&mut self, name: &str) -> Option<Portal> {
        let portal = if name.is_empty() { self.unnamed_portal.take() } else { self.portals.remove(name) }?;
        self.portal_bytes = self.portal_bytes.saturating_sub(portal.bytes());
        Some(portal)
    }

    /// 53200 where there is no memory for what a portal was bound to.
    pub(crate) fn weigh_portal(&self, portal: &Portal) -> Result<()> {
        self.scales.weigh(Taken::Portals, self.portal_bytes + portal.bytes())
    }

    /// Keeps a portal.
    pub(crate) fn put_portal(&mut self, name: &str, portal: Portal) {
        self.portal_bytes += portal.bytes();
        self.scales.note(Taken::Portals, self.portal_bytes);
        if name.is_empty() {
            self.unnamed_portal = Some(portal);
        } else {
            self.portals.insert(name.to_owned(), portal);
        }
    }

    /// Keeps a statement by a name that is free; 53200 where there is no memory for it.
    pub(crate) fn put_statement(&mut self, name: &str, prepared: Arc<Prepared>) -> Result<()> {
        let bytes = self.statement_bytes + prepared.bytes();
        self.scales.weigh(Taken::Statements, bytes)?;
        self.statement_bytes = bytes;
        self.statements.insert(name.to_owned(), prepared);
        Ok(())
    }

    /// Forgets the statement of a name, if there is one.
    pub(crate) fn drop_statement(&mut self, name: &str) {
        if let Some(prepared) = self.statements.remove(name) {
            self.statement_bytes = self.statement_bytes.saturating_sub(prepared.bytes());
            self.scales.note(Taken::Statements, self.statement_bytes);
        }
    }

    /// What a kind of statement needs before it runs. `several`: others belong to the same transaction.
    /// True: nothing is left to do but to say that it was done.
    pub(crate) fn before(&mut self, kind: StatementKind, several: bool) -> Result<bool> {
        match kind {
            StatementKind::Begin if self.implicit => {
                // What ran before in it becomes part of the block.
                self.implicit = false;
                Ok(true)
            }
            StatementKind::Begin => Ok(false),
            StatementKind::Commit | StatementKind::Rollback => {
                if std::mem::take(&mut self.implicit) {
                    let message = "there is no transaction in progress";
                    self.reply.warning(SqlState::NO_ACTIVE_SQL_TRANSACTION, message, None);
                }
                Ok(false)
            }
            StatementKind::Savepoint if self.implicit => Err(Error::new(
                SqlState::NO_ACTIVE_SQL_TRANSACTION,
                "SAVEPOINT can only be used in transaction blocks",
            )),
            StatementKind::Chain if self.implicit => Err(Error::new(
                SqlState::NO_ACTIVE_SQL_TRANSACTION,
                "COMMIT AND CHAIN can only be used in transaction blocks",
            )),
            StatementKind::Savepoint | StatementKind::Chain => Ok(false),
            StatementKind::Program | StatementKind::Schema | StatementKind::Utility => {
                if several {
                    self.begin_implicit()?;
                }
                Ok(false)
            }
        }
    }

    /// Runs a statement: its rows and notices are in the reply, its way to the disk in `pending`.
    pub(crate) fn run(&mut self, statement: &Statement, how: &How<'_>) -> Result<Done> {
        if let Some((name, fetches, n)) = statement.walks()
            && self.portal(name).is_some()
        {
            return self.walk(name, fetches, n, how.described);
        }
        let start = self.reply.len();
        let columns = statement.columns();
        if how.described && !columns.is_empty() {
            self.reply.row_description(columns, how.formats);
        }
        let rows = self.reply.len();
        let shapes = self.shared.shapes.clone();
        let (limits, room) = (Limits::of(&self.shared.config()), self.room.clone());
        let scales = self.scales.clone();
        let began = Instant::now();
        let shown = how.shown.as_ref().unwrap_or(statement.shared_text());
        self.key.begins(shown, began);
        self.about = Some(shown.clone());
        let outcome = self.with_session(shapes.is_short(how.shape), |session, reply| {
            let start = reply.len();
            let (params, formats) = (how.params, how.formats);
            let overflow = Overflow::new(start, limits, &room, &scales);
            let mut sink = Encoder { out: reply.out(), overflow, columns, formats };
            let done = session.start(statement, params, &mut sink)?;
            if let Some(rows) = &done.rows {
                for row in rows {
                    encode::data_row_of(sink.out, row, rows.columns(), formats);
                    sink.overflow.check(sink.out)?;
                }
            }
            let spool = sink.overflow.spool.finish();
            reply.spooled(start, spool);
            Ok(done)
        });
        let time = began.elapsed();
        shapes.ran(how.shape, time);
        let done = match outcome {
            Ok(done) => done,
            Err(mut error) => {
                self.reply.truncate(start);
                if statement.kind() == StatementKind::Program && error.fields().query.is_none() {
                    // It was analysed before: the place where a running program stood may be in another text.
                    error.fields_mut().position = None;
                }
                return Err(error);
            }
        };
        let calls = match how.calls {
            Some(known) => known.clone(),
            None => statement.calls().and_then(|name| self.shared.metrics.procedure(name)),
        };
        self.about = None;
        self.shared.metrics.statement(calls.as_deref(), time);
        self.shared.statements.ran(how.id, how.text, self.key.role(), time, done.count);
        // As in PostgreSQL: a query describes its rows before it runs, anything else when it has run.
        self.insert_notices(if done.tag == "SELECT" { rows } else { start });
        if statement.kind() != StatementKind::Program {
            self.after_utility(&done);
        }
        if matches!(statement.kind(), StatementKind::Commit | StatementKind::Rollback) {
            // Another may begin before the client is told of its turn.
            self.end_of_transaction();
        }
        let config = self.shared.config();
        let (slow, explained) = (config.log_min_duration_statement, config.auto_explain);
        if slow.is_some_and(|limit| time >= limit) || explained.is_some_and(|limit| time >= limit) {
            drop(config);
            let explained = explained.is_some_and(|limit| time >= limit);
            let plan = if explained { self.plan(statement) } else { None };
            statement_log::slow(self.key.process, time, how.text, plan.as_deref());
        }
        Ok(done)
    }

    /// The plan of a statement that has run, if it has one.
    #[cold]
    fn plan(&mut self, statement: &Statement) -> Option<String> {
        if statement.kind() != StatementKind::Program {
            return None;
        }
        // The schema may have changed since; then there is none.
        self.with_session(false, |session, _| session.plan(statement)).ok()?
    }

    /// Names that DEALLOCATE and DISCARD took away.
    fn after_utility(&mut self, done: &Done) {
        if matches!(&*done.tag, "DEALLOCATE" | "DEALLOCATE ALL" | "DISCARD ALL")
            && let Some(session) = &self.session
        {
            self.statements.retain(|name, _| session.named(name).is_some());
            self.statement_bytes = self.statements.values().map(|prepared| prepared.bytes()).sum();
            self.scales.note(Taken::Statements, self.statement_bytes);
        }
    }

    // ---- what else the client hears ----

    /// Appends the engine's messages.
    fn drain_notices(&mut self) {
        self.insert_notices(self.reply.len());
    }

    /// Puts the engine's messages where the statement's reply begins: they were made before its rows.
    fn insert_notices(&mut self, start: usize) {
        let Some(session) = &mut self.session else { return };
        let notices = session.take_notices();
        if notices.is_empty() {
            return;
        }
        let mut messages = Reply::default();
        for notice in &notices {
            messages.notice(notice);
        }
        self.reply.insert(start, messages.bytes());
    }

    fn report_settings(&mut self) {
        let Some(session) = &self.session else { return };
        if session.settings_changes() == self.settings_seen {
            return;
        }
        self.settings_seen = session.settings_changes();
        self.reported.resize(REPORTED.len(), String::new());
        for (name, reported) in REPORTED.iter().zip(&mut self.reported) {
            let value = session.setting(name).unwrap_or_default();
            if value != reported {
                value.clone_into(reported);
                if *name == "application_name" {
                    self.key.named(value);
                }
                self.reply.parameter_status(name, value);
            }
        }
    }

    /// The settings that a client hears of when it connects.
    pub(crate) fn report_all_settings(&mut self) -> Result<()> {
        const FIXED: [&str; 8] = [
            "client_encoding",
            "in_hot_standby",
            "integer_datetimes",
            "is_superuser",
            "server_encoding",
            "server_version",
            "session_authorization",
            "standard_conforming_strings",
        ];
        self.session()?;
        let (Some(session), reply) = (&self.session, &mut self.reply) else { return Ok(()) };
        for name in FIXED {
            reply.parameter_status(name, session.setting(name)?);
        }
        self.reported = REPORTED.iter().map(|_| "\0".to_owned()).collect();
        self.settings_seen = u64::MAX;
        self.report_settings();
        Ok(())
    }

    /// 53400 where a client keeps too many things by name.
    pub(crate) fn check_names(n: usize) -> Result<()> {
        if n < NAMES_MAX {
            return Ok(());
        }
        Err(Error::new(SqlState::new("53400"), "too many prepared statements or portals")
            .with_detail(format!("A connection can keep {NAMES_MAX}.")))
    }
}
