//! A session as a server has it: statements parsed before, run without waiting for the disk; one session for many clients.

use crate::engine::channels::{Mailbox, Notification};
use crate::params::Params;
use crate::row::{Column, Rows};
use crate::sealed::Sealed;
use crate::serving::statement::{Done, Parsed};
use crate::session::Session;
use crate::session::copy_triggers::CopyTriggers;
use crate::session::kept::KeptState;
use crate::sink::RowSink;
use crate::statement::Statement;
use crate::ticket::Ticket;
use planaria_base::{Result, RoleId, Type};
use planaria_syntax::ast;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::task::{Poll, Waker};
use std::time::Instant;

/// What a client's session is between transactions: settings, statements named by PREPARE, last
/// values of sequences. A server keeps one for each client, and a session for each transaction that is
/// open: see [`ServedSession::swap_state`].
#[derive(Default)]
pub struct SessionState(KeptState);

impl SessionState {
    /// What comes for the client, if it listens to a channel.
    pub fn inbox(&self) -> Option<Inbox> {
        self.0.inbox().cloned().map(Inbox)
    }
}

/// Notifications for a client that listens (`LISTEN`). It hears them where no transaction of its is open.
#[derive(Clone)]
pub struct Inbox(Arc<Mailbox>);

impl Inbox {
    /// The next, if there is one.
    pub fn take(&self) -> Option<Notification> {
        self.0.take()
    }
    /// The same; where there is none, the waker is woken when one comes. Ready without one: none comes any more.
    pub fn poll(&self, waker: &Waker) -> Poll<Option<Notification>> {
        self.0.poll(waker)
    }
}

/// A session that does what clients of a server say.
pub trait ServedSession: Sealed {
    /// How a statement reads and writes, as EXPLAIN has it; `None` where it is no query and changes no rows.
    fn plan(&mut self, statement: &Statement) -> Result<Option<String>>;
    /// Analyses a parsed statement. Parameters take the types given, the others those that their
    /// context wants.
    fn prepare_parsed(&mut self, parsed: &Parsed, types: &[Option<Type>]) -> Result<Statement>;
    /// The statement of a text that was [remembered](ServedSession::remember), if it is still what it was.
    fn recall(&mut self, text: &str, types: &[Option<Type>]) -> Option<Statement>;
    /// Analyses, compiles and remembers a text that has parameters, of these types, in place of all the constants that it was
    /// written with. `None` where it is to be run with its constants: it cannot be analysed so, a better plan hangs on
    /// a constant (there is an index of some of the rows), it runs SQL made at run time, or, with `is_call`, it is something else than the call
    /// of a routine that changes rows. That is remembered, too. Nothing fails by it, no open transaction either.
    fn prepare_general(&mut self, text: &str, types: &[Option<Type>], is_call: bool) -> Option<Statement>;
    /// Keeps the statement that is the whole of a text, so that the text need not be analysed again soon.
    fn remember(&mut self, text: &str, statement: &Statement);
    /// The type of the user's that has the OID, or arrays of which have it: what a client may declare a parameter to be.
    fn user_type(&mut self, oid: u32) -> Option<Type>;
    /// Gives a statement a name, as PREPARE does; 42P05 where it is taken.
    fn name(&mut self, name: &str, statement: &Statement) -> Result<()>;
    /// The statement of that name, by PREPARE or [`ServedSession::name`].
    fn named(&self, name: &str) -> Option<Statement>;
    /// Forgets a name; it may not be there.
    fn forget(&mut self, name: &str);
    /// The columns of a cursor of DECLARE; `None` where there is none of that name.
    fn cursor(&self, name: &str) -> Option<Arc<[Column]>>;
    /// The next rows of a cursor, at most `n` of them (0: all), as FETCH has them. 34000 where there is none of
    /// that name.
    fn fetch(&mut self, name: &str, n: usize) -> Result<Rows>;
    /// Closes a cursor; it may not be there.
    fn close_cursor(&mut self, name: &str);
    /// Runs a statement and returns as soon as it is committed in memory; its rows go to `sink` on the
    /// way. Nobody may hear of any of it before the ticket says that it is on disk. What a body has committed before it
    /// fails is on disk when the error is returned.
    fn start(&mut self, statement: &Statement, params: &dyn Params, sink: &mut dyn RowSink) -> Result<Done>;
    /// For COPY FROM: what is to be run instead of its statement, where triggers fire around the rows.
    fn copy_triggers(&mut self, statement: &Statement) -> Result<Option<CopyTriggers>>;
    /// Begins a transaction block, as BEGIN does.
    fn begin(&mut self) -> Result<()>;
    /// Commits the transaction block, as COMMIT does, and returns as soon as that is done in memory. A
    /// block that had failed is rolled back, which is no error. 40001 where it cannot be serialized.
    fn commit(&mut self) -> Result<Ticket>;
    /// Rolls the transaction block back, as ROLLBACK does.
    fn rollback(&mut self) -> Result<()>;
    /// The transaction block, if one is open, cannot be committed any more: something that belongs to it
    /// failed before the engine heard of it.
    fn fail_transaction(&mut self);
    /// Whether the session has advisory locks or temporary relations: those stay with it, and end with it.
    fn keeps_own(&self) -> bool;
    /// What comes for the client, if it listens to a channel.
    fn inbox(&self) -> Option<Inbox>;
    /// Exchanges what this session is with what another one was. Not while a transaction is open, nor while it
    /// [keeps what is its own](ServedSession::keeps_own).
    fn swap_state(&mut self, state: &mut SessionState);
    /// Statements of this session end with 57014 soon after the flag was set. Who sets it clears it.
    fn cancelled_by(&mut self, flag: &Arc<AtomicBool>);
    /// When statements that are begun from now on end with 57014, whatever `statement_timeout` says; `None`: when
    /// that says.
    fn ends_by(&mut self, deadline: Option<Instant>);
    /// 57014 where the statement under way is to end: for whoever does a part of it.
    fn check_cancelled(&self) -> Result<()>;
    /// The number that `pg_backend_pid` answers from now on; part of the session's state.
    fn numbered(&mut self, number: i32);
    /// The role that logged in.
    fn role(&self) -> RoleId;
    /// Before this session's thread waits for a row that another transaction has claimed, it calls this
    /// with what is to run then: for threads that serve others as well. At first that just runs.
    fn sleeps_by(&mut self, sleeper: fn(&mut dyn FnMut()));
    /// The same as the client has said it when it connected: RESET goes back to that.
    fn begin_with(&mut self, name: &str, value: &str) -> Result<()>;
    /// What the client calls the database from now on: `current_database()`.
    fn call_database(&mut self, name: &str);
    /// A setting that is a time, in milliseconds; 0 where it is off.
    fn setting_milliseconds(&self, name: &str) -> u64;
    /// A number that moves when settings change.
    fn settings_changes(&self) -> u64;
}

impl ServedSession for Session {
    fn plan(&mut self, statement: &Statement) -> Result<Option<String>> {
        self.api.plan(&statement.inner)
    }
    fn prepare_parsed(&mut self, parsed: &Parsed, types: &[Option<Type>]) -> Result<Statement> {
        Ok(Statement { inner: self.api.prepare_parsed(parsed, types)?, names: None })
    }
    fn recall(&mut self, text: &str, types: &[Option<Type>]) -> Option<Statement> {
        self.api.recall(text, types).map(|inner| Statement { inner, names: None })
    }
    fn prepare_general(&mut self, text: &str, types: &[Option<Type>], is_call: bool) -> Option<Statement> {
        let inner = self.api.prepare_general(text, types, is_call)?;
        Some(Statement { inner, names: None })
    }
    fn remember(&mut self, text: &str, statement: &Statement) {
        self.api.remember(text, &statement.inner);
    }
    fn user_type(&mut self, oid: u32) -> Option<Type> {
        self.api.user_type(oid)
    }
    fn name(&mut self, name: &str, statement: &Statement) -> Result<()> {
        self.api.name(name, &statement.inner)
    }
    fn named(&self, name: &str) -> Option<Statement> {
        self.api.named(name).map(|inner| Statement { inner: inner.clone(), names: None })
    }
    fn forget(&mut self, name: &str) {
        self.api.forget(name);
    }
    fn cursor(&self, name: &str) -> Option<Arc<[Column]>> {
        self.api.cursor(name).map(|columns| columns.shared())
    }
    fn fetch(&mut self, name: &str, n: usize) -> Result<Rows> {
        self.api.fetch_rows(name, n)
    }
    fn close_cursor(&mut self, name: &str) {
        self.api.drop_cursor(name);
    }
    fn start(&mut self, statement: &Statement, params: &dyn Params, sink: &mut dyn RowSink) -> Result<Done> {
        self.api.start(&statement.inner, params, sink)
    }
    fn copy_triggers(&mut self, statement: &Statement) -> Result<Option<CopyTriggers>> {
        self.api.triggers_of_copy(&statement.inner)
    }
    fn begin(&mut self) -> Result<()> {
        self.api.control(&ast::Transaction::Begin { read_only: None, isolation: None }).map(|_| ())
    }
    fn commit(&mut self) -> Result<Ticket> {
        self.api.control(&ast::Transaction::Commit).map(|(_, ticket)| ticket)
    }
    fn rollback(&mut self) -> Result<()> {
        self.api.control(&ast::Transaction::Rollback).map(|_| ())
    }
    fn fail_transaction(&mut self) {
        self.api.fail_block();
    }
    fn keeps_own(&self) -> bool {
        self.api.keeps_own()
    }
    fn inbox(&self) -> Option<Inbox> {
        self.api.inbox().map(Inbox)
    }
    fn swap_state(&mut self, state: &mut SessionState) {
        self.api.swap_state(&mut state.0);
    }
    fn cancelled_by(&mut self, flag: &Arc<AtomicBool>) {
        self.api.cancelled_by(flag);
    }
    fn ends_by(&mut self, deadline: Option<Instant>) {
        self.api.ends_by(deadline.map(Into::into));
    }
    fn check_cancelled(&self) -> Result<()> {
        self.api.check_cancelled()
    }
    fn numbered(&mut self, number: i32) {
        self.api.numbered(number);
    }
    fn role(&self) -> RoleId {
        self.api.role()
    }
    fn sleeps_by(&mut self, sleeper: fn(&mut dyn FnMut())) {
        self.api.sleeps_by(sleeper);
    }
    fn begin_with(&mut self, name: &str, value: &str) -> Result<()> {
        self.api.begin_with(name, value)
    }
    fn call_database(&mut self, name: &str) {
        self.api.call_database(name);
    }
    fn setting_milliseconds(&self, name: &str) -> u64 {
        self.api.setting_milliseconds(name)
    }
    fn settings_changes(&self) -> u64 {
        self.api.settings_changes()
    }
}
