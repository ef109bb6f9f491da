//! What ends a statement before its time: a cancel request, and `statement_timeout`.
//!
//! A statement that goes on for long asks now and then ([`Cancel::check`]): programs at jumps backwards and calls,
//! sorts between their runs, whoever waits, and whoever copies rows for a change of the schema. Time is counted
//! from where the statement came in ([`SessionCore::in_time`]), or from where the caller says, whose the time is
//! then ([`Session::ends_by`](crate::Session::ends_by)). What has no way to the session (planning, functions) asks
//! the watch that the session lends to its thread ([`planaria_base::watch`]).

use super::Engine;
use super::session::SessionCore;
use crate::owned::has_panicked;
use planaria_base::sync::Instant;
use planaria_base::watch::{self, Room, Watch};
use planaria_base::{Error, Result, WorkerId};
use planaria_protocol::Hosted;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// See the module's head.
pub(super) struct Cancel {
    flag: Arc<AtomicBool>,
    /// A request means the statement under way: one that came before is forgotten when a statement begins.
    forgets: bool,
    deadline: Option<Instant>,
}

impl Default for Cancel {
    fn default() -> Cancel {
        Cancel { flag: Arc::default(), forgets: true, deadline: None }
    }
}

/// The memory that a session's statements may compute with.
struct SessionRoom<P: Hosted> {
    engine: Arc<Engine<P>>,
    worker: WorkerId,
}

impl<P: Hosted> Room for SessionRoom<P> {
    fn room(&self, bytes: usize) -> Result<()> {
        self.engine.meter.admit(bytes as u64, self.worker, &self.engine.schema.load())
    }
}

impl Cancel {
    /// Another's flag, who clears it.
    pub(super) fn listen_to(&mut self, flag: &Arc<AtomicBool>) {
        (self.flag, self.forgets) = (flag.clone(), false);
    }

    /// What a request raises.
    pub(super) fn flag(&self) -> &Arc<AtomicBool> {
        &self.flag
    }

    pub(super) fn ends_by(&mut self, deadline: Option<Instant>) {
        self.deadline = deadline;
    }

    /// Whether the statement is to end.
    #[inline]
    pub(super) fn is_due(&self) -> bool {
        self.flag.load(Ordering::Relaxed) || self.deadline.is_some_and(|deadline| Instant::now() >= deadline)
    }

    /// 57014 where the statement is to end.
    #[inline]
    pub(super) fn check(&self) -> Result<()> {
        if self.is_due() { Err(self.error()) } else { Ok(()) }
    }

    /// Why it is to end.
    #[cold]
    pub(super) fn error(&self) -> Error {
        watch::canceled(self.why())
    }

    pub(super) fn why(&self) -> &'static str {
        if self.flag.load(Ordering::Relaxed) { "user request" } else { "statement timeout" }
    }
}

impl<P: Hosted> SessionCore<P> {
    /// Runs a statement in the time that it may take, if the session may run any.
    #[inline]
    pub(super) fn in_time<T>(&mut self, run: impl FnOnce(&mut Self) -> Result<T>) -> Result<T> {
        if self.panicked || self.engine.is_over() {
            return Err(self.over());
        }
        if self.cancel.forgets && self.cancel.flag.load(Ordering::Relaxed) {
            self.cancel.flag.store(false, Ordering::Relaxed);
        }
        let limit = self.settings.milliseconds("statement_timeout");
        if limit == 0 || self.cancel.deadline.is_some() {
            return self.watched(run);
        }
        self.cancel.deadline = Some(Instant::now() + Duration::from_millis(limit));
        let outcome = self.watched(run);
        self.cancel.deadline = None;
        outcome
    }

    /// Why no statement can run.
    #[cold]
    fn over(&self) -> Error {
        self.engine.check_open().err().unwrap_or_else(has_panicked)
    }

    /// Runs with the session's watch lent to the thread: what does not come by the session asks that.
    #[inline]
    fn watched<T>(&mut self, run: impl FnOnce(&mut Self) -> T) -> T {
        let mut watch = self.watch.take().unwrap_or_else(|| self.new_watch());
        watch.deadline = self.cancel.deadline;
        let lent = watch.lend();
        let outcome = run(self);
        self.watch = lent.back();
        outcome
    }

    #[cold]
    fn new_watch(&self) -> Box<Watch> {
        let room = SessionRoom { engine: self.engine.clone(), worker: self.worker };
        Box::new(Watch { flag: self.cancel.flag.clone(), deadline: None, room: Some(Arc::new(room)) })
    }

    /// 57014 where the statement is to end.
    pub(super) fn check_cancelled(&self) -> Result<()> {
        self.cancel.check()
    }
}
