//! Waiting in the midst of a program, where it is: `pg_sleep`, and advisory locks where the statement cannot be repeated.

use crate::engine::Engine;
use crate::engine::program::cancel::Cancel;
use crate::engine::program::refusal::schema_changed;
use crate::engine::schema_version::SchemaVersion;
use crate::engine::waits::Lookout;
use crate::system::AdvisoryLock;
use planaria_base::sync::{Instant, thread};
use planaria_base::{Result, WorkerId};
use planaria_exec::Code;
use std::sync::atomic::Ordering;
use std::time::Duration;

/// How a thread says that it is going to sleep: it runs what it is given.
pub(crate) type Sleeper = fn(&mut dyn FnMut());
/// How often whoever sleeps by `pg_sleep` looks whether it has been cancelled.
const TICK: Duration = Duration::from_millis(5);

/// Who waits, and in what.
pub(crate) struct Nap<'a> {
    pub(crate) sleeps_by: Sleeper,
    pub(crate) cancel: &'a Cancel,
    pub(crate) code: &'a Code,
    pub(crate) schema: &'a SchemaVersion,
}

impl Engine {
    /// `pg_sleep`, outside of the gate. 57014 when the statement is cancelled; 40001 where the schema was changed
    /// meanwhile and the program may rely on it: as for a transaction block between its statements. What `reads` a
    /// snapshot reads tables that stay.
    pub(crate) fn sleep(&self, worker: WorkerId, nap: &Nap<'_>, reads: bool, seconds: f64) -> Result<()> {
        let time = Duration::try_from_secs_f64(seconds.max(0.0)).unwrap_or(Duration::MAX);
        // A schema change that runs programs of its own has closed the gate, and stays.
        let inside = self.gate.stands_inside(worker);
        if inside {
            self.gate.leave(worker);
        }
        let mut cancelled = false;
        (nap.sleeps_by)(&mut || {
            let start = Instant::now();
            while let Some(left) = time.checked_sub(start.elapsed()).filter(|left| !left.is_zero()) {
                cancelled = nap.cancel.is_due();
                if cancelled {
                    return;
                }
                thread::sleep(left.min(TICK));
            }
            cancelled = inside && !self.gate.enter_patiently(worker, &mut || !nap.cancel.is_due());
        });
        if cancelled {
            return Err(nap.cancel.error());
        }
        let stale = self.version.load(Ordering::Acquire) != nap.schema.version();
        if inside && stale && !reads && nap.code.touches_tables() {
            return Err(schema_changed());
        }
        Ok(())
    }

    /// Waits for an advisory lock where the program is, for so many milliseconds at most if that is not 0: outside of the
    /// gate, or with the gate closed.
    pub(crate) fn await_key(
        &self,
        worker: WorkerId,
        nap: &Nap<'_>,
        lock: AdvisoryLock,
        limit: u64,
    ) -> Result<()> {
        let deadline = (limit > 0).then(|| Instant::now() + Duration::from_millis(limit));
        let mut lookout = Lookout::new(self, worker, nap.cancel, deadline);
        let mut came = false;
        (nap.sleeps_by)(&mut || came = self.advisory.wait(worker, lock, &mut || lookout.look()));
        if came { Ok(()) } else { Err(lookout.error(&nap.schema.catalog)) }
    }
}
