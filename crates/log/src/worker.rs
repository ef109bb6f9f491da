//! A session's side of the log.

use crate::effect::EffectWriter;
use crate::log::Shared;
use crate::record;
use crate::seat::Seat;
use planaria_base::value::ValueWriter;
use planaria_base::{CommitTs, Epoch, ProcedureId, Result, WorkerId};
use std::sync::Arc;

/// A session's seat at the log. Dropping it gives the seat back; what it logged stays logged.
pub struct WorkerLog {
    shared: Arc<Shared>,
    id: WorkerId,
    /// Epoch of the newest record appended here.
    newest: Epoch,
}

impl WorkerLog {
    pub(crate) fn new(shared: Arc<Shared>) -> Result<WorkerLog> {
        let id = shared.seats.acquire()?;
        shared.seats_changed();
        Ok(WorkerLog { shared, id, newest: Epoch(0) })
    }

    /// The number of the seat: dense, given out again after the session ends.
    pub fn id(&self) -> WorkerId {
        self.id
    }

    /// Begins a commit: call before the commit timestamp is drawn. Holds the open epoch open until
    /// the guard is used or dropped; so do not wait for the log, or for a client, under it.
    ///
    /// Waits while too much of what this worker logged is not on disk yet. Fails once the log has
    /// failed or was shut down, and while there is no room on the disk.
    #[inline]
    pub fn enter(&mut self) -> Result<Commit<'_>> {
        let shared = &*self.shared;
        shared.check_running()?;
        if !self.has_room() {
            // Nothing of this commit is done yet: it is refused like those that come later.
            shared.wait_unless(self.newest, &mut || true)?;
            shared.check_running()?;
        }
        self.seat().published.enter(&shared.clock);
        Ok(Commit { worker: self })
    }

    /// Whether [`WorkerLog::enter`] would not wait now: for those who hold what others want.
    pub fn has_room(&self) -> bool {
        self.seat().buffered() <= self.shared.seat_bytes_max()
    }

    /// Epoch of the newest record appended here, 0 if there is none.
    pub fn newest(&self) -> Epoch {
        self.newest
    }

    #[inline]
    fn seat(&self) -> &Seat {
        self.shared.seats.get(self.id)
    }
}

impl Drop for WorkerLog {
    fn drop(&mut self) {
        if self.shared.is_copy() {
            return std::mem::forget(self.shared.clone());
        }
        self.shared.seats.release(self.id);
        self.shared.seats_changed();
    }
}

/// A commit in progress. Exactly one of: [`Commit::call`], [`Commit::keeping_call`] or [`Commit::effects`] after the
/// transaction was installed; or dropping it, for a transaction that aborted or changed nothing.
#[must_use = "holds the epoch open"]
pub struct Commit<'w> {
    worker: &'w mut WorkerLog,
}

impl Commit<'_> {
    /// Logs a procedure call: `write` writes `args` values, then `inputs` values. Returns the epoch
    /// whose durability is that of the commit.
    #[inline]
    pub fn call(
        self,
        commit_ts: CommitTs,
        procedure: ProcedureId,
        args: usize,
        inputs: usize,
        write: impl FnOnce(&mut ValueWriter<'_>),
    ) -> Epoch {
        self.append(commit_ts, |buf| {
            record::put_call(buf, commit_ts.sequence(), procedure, args, inputs, false, write)
        })
    }

    /// The same for a call that ran as a program that keeps values: they stand among the inputs.
    #[inline]
    pub fn keeping_call(
        self,
        commit_ts: CommitTs,
        procedure: ProcedureId,
        args: usize,
        inputs: usize,
        write: impl FnOnce(&mut ValueWriter<'_>),
    ) -> Epoch {
        self.append(commit_ts, |buf| {
            record::put_call(buf, commit_ts.sequence(), procedure, args, inputs, true, write)
        })
    }

    /// Logs effects by value; `write` writes them in the order they happened.
    pub fn effects(self, commit_ts: CommitTs, write: impl FnOnce(&mut EffectWriter<'_>)) -> Epoch {
        self.append(commit_ts, |buf| record::put_effects(buf, commit_ts.sequence(), write))
    }

    #[inline]
    fn append(self, commit_ts: CommitTs, encode: impl FnOnce(&mut Vec<u8>)) -> Epoch {
        debug_assert!(self.worker.seat().published.holds(commit_ts.epoch()), "drawn before entering");
        if self.worker.shared.writes {
            self.worker.seat().append(commit_ts, encode);
            self.worker.newest = commit_ts.epoch();
        }
        commit_ts.epoch()
    }
}

impl Drop for Commit<'_> {
    #[inline]
    fn drop(&mut self) {
        if std::thread::panicking() {
            // The transaction may be installed without its record: nothing after it may be logged.
            self.worker.shared.fail_after_panic();
        }
        self.worker.seat().published.leave();
    }
}
