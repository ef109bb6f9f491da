//! Calls that are several transactions: of procedures that COMMIT or ROLLBACK.
//!
//! The program stops where it ends its transaction ([`Suspended`]), and goes on in the next one, which is run and committed
//! as any other: it is tried again, from there, where others were in its way; it is serializable by itself, and it has a record
//! of its own in the log, of the rows that it changed. What was committed stays, whatever becomes of the rest: whoever hears of
//! an error hears of it when that is on disk.
//!
//! A call may do so where nobody else has begun its transaction or goes on in it: outside of blocks, and of functions, triggers
//! and texts made at run time (`2D000`).

use crate::session::core::SessionCore;
use crate::session::healing::Body;
use planaria_base::{CommitTs, Result};
use planaria_exec::Suspended;

/// What the session knows of the call that it runs.
#[derive(Default)]
pub(crate) struct Several {
    /// The program may end its transaction.
    pub(crate) may: bool,
    /// It did, and has had it rolled back.
    pub(crate) rolled_back: bool,
    /// Where it goes on.
    next: Option<Box<Suspended>>,
}

impl Several {
    /// Whether what runs next goes on, and has its arguments already.
    #[inline]
    pub(crate) fn goes_on(&self) -> bool {
        self.next.is_some()
    }

    /// Where it goes on.
    pub(crate) fn next(&self) -> Option<&Suspended> {
        self.next.as_deref()
    }
}

impl SessionCore {
    /// As [`SessionCore::transact`], for a program that may end its transaction: all of them. Answers with the place of the last, and
    /// whether anything was logged.
    #[inline]
    pub(crate) fn transact_all(&mut self, body: Body<'_>) -> Result<(CommitTs, bool)> {
        self.several.may = true;
        let first = self.transact(body);
        let outcome = if first.is_ok() && self.machine.is_suspended() {
            self.transact_rest(first?, body)
        } else {
            first
        };
        self.several.may = false;
        outcome
    }

    #[cold]
    fn transact_rest(&mut self, first: (CommitTs, bool), body: Body<'_>) -> Result<(CommitTs, bool)> {
        let (mut last, mut logged) = (first, None);
        let mut notices = std::mem::take(&mut self.notices);
        let outcome = loop {
            if last.1 {
                logged = Some(last.0);
            }
            let Some(program) = self.machine.take_suspended() else { break Ok((last.0, logged.is_some())) };
            self.note_commit();
            let outcome = self.settle_temporary().and_then(|()| {
                self.several.next = Some(program);
                self.transact(body)
            });
            self.several.next = None;
            match outcome {
                Ok(done) => last = done,
                Err(error) => break Err(error),
            }
            notices.append(&mut self.notices);
        };
        notices.append(&mut self.notices);
        self.notices = notices;
        if let (Err(_), Some(ts)) = (&outcome, logged) {
            let ticket = self.ticket(ts, true);
            self.until_durable(&ticket)?;
        }
        outcome
    }
}
