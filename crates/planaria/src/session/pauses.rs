//! Pauses in the midst of transactions, so that more of them overlap than there are cores: for measurements of
//! concurrency control, as `planaria bench` and `planaria lab` make them.
//!
//! * *Giving way*: after so many operations on tables the thread gives its processor away
//!   ([`planaria_exec::Pace`]), also in attempts that are healed: whoever loses the processor loses it there, too.
//! * *Waiting*: once in each attempt, when its program has run and before it commits. By then the transaction has read
//!   all that it reads and holds what its scheme holds that long: the locks of two-phase locking, a partition, a turn,
//!   or nothing but reads that may become stale. A wait costs no processor, so what many sessions do is real
//!   throughput, whose transactions last as long as the wait. An attempt that fails before its end does not come to it;
//!   one that is repeated waits again. A heal is a part of commit, not of the read phase, and does not.
//!
//! Where nothing is asked for, that is some loads and branches for each attempt.

use crate::session::core::SessionCore;
use planaria_base::sync::{Instant, thread};
use planaria_protocol::BackoffKind;
use std::time::Duration;

/// What a session does in the midst of its calls and single statements. See
/// [`LabSession::pause`](crate::lab::LabSession::pause).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Pauses {
    /// Gives its processor away after so many operations on tables; never with 0.
    pub yield_every: u64,
    /// Waits so long in each attempt, before it commits.
    pub wait: Duration,
    /// What fails is repeated from the beginning, also where the scheme could heal it: calls as Wu's thesis has
    /// ad hoc transactions (§3.4.8).
    pub unhealed: bool,
    /// How attempts wait that have met others; without, as the database's options say.
    pub backoff: Option<BackoffKind>,
    /// Takes the time of attempts in vain ([`LabSession::time_lost`](crate::lab::LabSession::time_lost)).
    pub timed: bool,
}

/// What was asked for, and what came of it.
#[derive(Default)]
pub(crate) struct Pausing {
    pub(crate) asked: Pauses,
    /// When the attempt under way began, where that is asked for.
    began: Option<Instant>,
    lost: Duration,
}

impl Pausing {
    #[inline]
    pub(crate) fn begin_attempt(&mut self) {
        if self.asked.timed {
            self.began = Some(Instant::now());
        }
    }

    /// The attempt was in vain, and the next one begins.
    pub(crate) fn lose_attempt(&mut self) {
        if let Some(began) = self.began.take() {
            self.lost += began.elapsed();
        }
    }
}

impl SessionCore {
    pub(crate) fn set_pauses(&mut self, pauses: Pauses) {
        if pauses.yield_every != self.pauses.asked.yield_every {
            self.machine.pace.set(pauses.yield_every);
        }
        self.pauses.asked = pauses;
    }

    pub(crate) fn table_operations(&self) -> u64 {
        self.machine.pace.operations()
    }

    pub(crate) fn time_lost(&self) -> Duration {
        self.pauses.lost
    }

    /// The program of an attempt has run, and it has not committed yet.
    #[inline]
    pub(crate) fn pause(&self) {
        if !self.pauses.asked.wait.is_zero() {
            self.wait_in_attempt();
        }
    }

    #[cold]
    #[inline(never)]
    fn wait_in_attempt(&self) {
        (self.sleeps_by)(&mut || thread::sleep(self.pauses.asked.wait));
    }
}
