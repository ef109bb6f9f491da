//! Runs that hold locks: a program runs again to heal its transaction, and whoever meets what it has locked waits for it.

use planaria_base::sync::Instant;
use planaria_base::{Error, SqlState};
use std::cell::Cell;

/// What a run that heals may do.
#[derive(Default)]
pub(crate) struct UnderLocks {
    until: Option<Instant>,
    /// It has done what it may not do, or taken too long: its outcome is none.
    spoilt: Cell<bool>,
}

impl UnderLocks {
    /// A transaction begins, which holds none.
    #[inline]
    pub(crate) fn end(&mut self) {
        self.until = None;
    }

    /// Locks are held until then.
    pub(crate) fn begin(&mut self, until: Instant) {
        self.until = Some(until);
        self.spoilt.set(false);
    }

    /// Whether this run is one that heals.
    #[inline]
    pub(crate) fn are_held(&self) -> bool {
        self.until.is_some()
    }

    /// What may wait is asked for.
    #[inline]
    pub(crate) fn refuse(&self) -> Result<(), Error> {
        if !self.are_held() { Ok(()) } else { Err(self.spoil()) }
    }

    /// Asked now and then.
    #[inline]
    pub(crate) fn check(&self) -> Result<(), Error> {
        match self.until {
            Some(until) if Instant::now() >= until => Err(self.spoil()),
            _ => Ok(()),
        }
    }

    /// What the run has computed is worth nothing, whatever it says.
    #[inline]
    pub(crate) fn is_spoilt(&self) -> bool {
        self.until.is_some() && self.spoilt.get()
    }

    pub(crate) fn is_over(&self) -> bool {
        self.is_spoilt() || self.check().is_err()
    }

    #[cold]
    fn spoil(&self) -> Error {
        self.spoilt.set(true);
        // Nobody hears of it. A handler may catch it, but not as any error: it could hold the locks for ever.
        Error::new(SqlState::QUERY_CANCELED, "a transaction cannot be healed")
    }
}
