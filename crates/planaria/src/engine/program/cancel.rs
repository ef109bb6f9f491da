//! What ends a statement before its time: a cancel request, and `statement_timeout`.
//!
//! A statement that goes on for long asks now and then ([`Cancel::check`]): programs at jumps backwards and calls,
//! sorts between their runs, whoever waits, and whoever copies rows for a change of the schema. Time is counted
//! from where the statement came in ([`in_time`](crate::session::in_time)), or from where the caller says, whose the time is
//! then ([`Session::ends_by`](crate::Session::ends_by)). What has no way to the session (planning, functions) asks
//! the watch that the session lends to its thread ([`planaria_base::watch`]).

use planaria_base::sync::Instant;
use planaria_base::watch;
use planaria_base::{Error, Result};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// See the module's head.
pub(crate) struct Cancel {
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

impl Cancel {
    /// Another's flag, who clears it.
    pub(crate) fn listen_to(&mut self, flag: &Arc<AtomicBool>) {
        (self.flag, self.forgets) = (flag.clone(), false);
    }

    /// What a request raises.
    pub(crate) fn flag(&self) -> &Arc<AtomicBool> {
        &self.flag
    }

    /// A statement begins.
    #[inline]
    pub(crate) fn begin(&mut self) {
        if self.forgets && self.flag.load(Ordering::Relaxed) {
            self.flag.store(false, Ordering::Relaxed);
        }
    }

    #[inline]
    pub(crate) fn deadline(&self) -> Option<Instant> {
        self.deadline
    }

    pub(crate) fn ends_by(&mut self, deadline: Option<Instant>) {
        self.deadline = deadline;
    }

    /// Whether the statement is to end.
    #[inline]
    pub(crate) fn is_due(&self) -> bool {
        self.flag.load(Ordering::Relaxed) || self.deadline.is_some_and(|deadline| Instant::now() >= deadline)
    }

    /// 57014 where the statement is to end.
    #[inline]
    pub(crate) fn check(&self) -> Result<()> {
        if self.is_due() { Err(self.error()) } else { Ok(()) }
    }

    /// Why it is to end.
    #[cold]
    pub(crate) fn error(&self) -> Error {
        watch::canceled(self.why())
    }

    pub(crate) fn why(&self) -> &'static str {
        if self.flag.load(Ordering::Relaxed) { "user request" } else { "statement timeout" }
    }
}
