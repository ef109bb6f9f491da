//! What the engine tells [`tracing`](https://docs.rs/tracing): with the cargo feature `tracing`, and nothing without it.
//!
//! | target | level | what |
//! |---|---|---|
//! | `planaria::open` | span, INFO | opening a database; within it what its recovery did; a failure, ERROR |
//! | `planaria::checkpoint` | span, INFO | a checkpoint, with what it wrote; a failure, ERROR |
//! | `planaria::close` | INFO | a database has been closed |
//! | `planaria::statement` | DEBUG | a statement or a call of a session, with its time and its error |
//! | `planaria::slow` | WARN | one that took at least [`Options::slow_statement`](crate::Options::slow_statement) |
//!
//! Where nobody listens to statements, each costs a look at two numbers.

use crate::options::RecoveryReport;
use crate::stats::CheckpointReport;
use planaria_base::Result;
use std::time::Duration;

#[cfg(feature = "tracing")]
mod on {
    use super::{CheckpointReport, Duration, RecoveryReport, Result};
    use planaria_base::sync::Instant;
    use tracing::{Level, debug, enabled, error, info, info_span, warn};

    /// A statement, or the call of a routine.
    #[inline]
    pub(crate) fn statement<T>(text: &str, slow: Duration, run: impl FnOnce() -> Result<T>) -> Result<T> {
        if !enabled!(target: "planaria::slow", Level::WARN)
            && !enabled!(target: "planaria::statement", Level::DEBUG)
        {
            return run();
        }
        let start = Instant::now();
        let outcome = run();
        told(text, slow, start.elapsed(), outcome.as_ref().err());
        outcome
    }

    fn told(text: &str, slow: Duration, took: Duration, error: Option<&planaria_base::Error>) {
        let micros = took.as_micros() as u64;
        if let Some(error) = error {
            let sqlstate = error.sqlstate();
            debug!(target: "planaria::statement", statement = text, micros, %sqlstate, error = error.message(), "statement failed");
        } else {
            debug!(target: "planaria::statement", statement = text, micros, "statement");
        }
        if !slow.is_zero() && took >= slow {
            warn!(target: "planaria::slow", statement = text, micros, "slow statement");
        }
    }

    /// Opening, and the recovery in it.
    pub(crate) fn open<T>(
        place: &str,
        run: impl FnOnce() -> Result<T>,
        recovery: impl FnOnce(&T) -> Option<RecoveryReport>,
    ) -> Result<T> {
        let span = info_span!(target: "planaria::open", "open", place);
        let _in = span.enter();
        let start = Instant::now();
        let outcome = run();
        match &outcome {
            Ok(engine) => {
                if let Some(done) = recovery(engine) {
                    info!(
                        target: "planaria::open", scheme = %done.scheme, threads = done.threads, transactions = done.transactions,
                        calls = done.calls, log_bytes = done.log_bytes,
                        checkpoint = done.checkpoint.as_ref().map(|c| c.number), "recovered"
                    );
                }
                info!(target: "planaria::open", micros = start.elapsed().as_micros() as u64, "opened");
            }
            Err(e) => {
                error!(target: "planaria::open", sqlstate = %e.sqlstate(), error = e.message(), "not opened")
            }
        }
        outcome
    }

    /// A checkpoint.
    pub(crate) fn checkpoint(run: impl FnOnce() -> Result<CheckpointReport>) -> Result<CheckpointReport> {
        let span = info_span!(target: "planaria::checkpoint", "checkpoint");
        let _in = span.enter();
        let outcome = run();
        match &outcome {
            Ok(report) => info!(
                target: "planaria::checkpoint", number = report.number, epoch = report.epoch, rows = report.rows,
                bytes = report.bytes, micros = report.took.as_micros() as u64, "checkpoint written"
            ),
            Err(e) => error!(
                target: "planaria::checkpoint", sqlstate = %e.sqlstate(), error = e.message(), "checkpoint failed"
            ),
        }
        outcome
    }

    /// The end.
    pub(crate) fn closed(outcome: &Result<()>) {
        match outcome {
            Ok(()) => info!(target: "planaria::close", "closed"),
            Err(e) => {
                error!(target: "planaria::close", sqlstate = %e.sqlstate(), error = e.message(), "closed badly")
            }
        }
    }
}

#[cfg(not(feature = "tracing"))]
mod on {
    use super::{CheckpointReport, Duration, RecoveryReport, Result};

    #[inline(always)]
    pub(crate) fn statement<T>(_: &str, _: Duration, run: impl FnOnce() -> Result<T>) -> Result<T> {
        run()
    }

    #[inline(always)]
    pub(crate) fn open<T>(
        _: &str,
        run: impl FnOnce() -> Result<T>,
        _: impl FnOnce(&T) -> Option<RecoveryReport>,
    ) -> Result<T> {
        run()
    }

    #[inline(always)]
    pub(crate) fn checkpoint(run: impl FnOnce() -> Result<CheckpointReport>) -> Result<CheckpointReport> {
        run()
    }

    #[inline(always)]
    pub(crate) fn closed(_: &Result<()>) {}
}

pub(crate) use on::{checkpoint, closed, open, statement};
