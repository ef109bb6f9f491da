//! What the server counts.

use planaria::{SqlState, Statement};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// Counters since the start.
#[derive(Default)]
pub(crate) struct Metrics {
    statements: AtomicU64,
    statement_micros: AtomicU64,
    errors: AtomicU64,
    pub(crate) connections: AtomicU64,
    pub(crate) refused: AtomicU64,
}

impl Metrics {
    /// A statement has run, successfully.
    pub(crate) fn statement(&self, _: &Statement, time: Duration) {
        self.statements.fetch_add(1, Ordering::Relaxed);
        self.statement_micros.fetch_add(time.as_micros() as u64, Ordering::Relaxed);
    }

    /// A client has been told of an error.
    pub(crate) fn error(&self, _: SqlState) {
        self.errors.fetch_add(1, Ordering::Relaxed);
    }
}
