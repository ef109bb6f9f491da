//! Whether a worker's calls are healed, or repeated: what costs less.
//!
//! Repeating costs what was done in vain; healing has everybody wait who meets what it locks. So where few attempts are in vain
//! calls are repeated, as under Silo, and remember nothing: a moving mean of some 64 attempts tells. From a quarter on they are
//! healed.
//!
//! While they are, the mean no longer tells what repeating would cost: that others wait for locks is of healing's own making,
//! and it would last by itself. So now and then the workers that heal *look*: for a while all of them repeat, and count. The places
//! that commits draw say when, so that they do so at the same time without a word to each other.

use planaria_base::CommitTs;

/// All attempts were in vain: see [`Heat::mean`]. Each attempt counts for 2^-6.
const ALWAYS: u32 = 1 << 16;
const MEAN_SHIFT: u32 = 6;
/// As measured, one in three or four commits in vain makes healing worth while (`docs/design/healing.md`).
const HOT: u32 = ALWAYS / 4;
/// Commits of all workers that are one turn, unless an epoch ends before.
const TURN_SHIFT: u32 = 12;
/// One turn in so many is for looking.
const LOOKS_EVERY: u64 = 16;
/// Who has not healed for so many commits goes on: what is over soon is not worth a look.
const HEALS_MIN: u32 = 1024;
/// Attempts that tell something.
const TELLING: u32 = 32;

/// See the module's head.
pub(super) struct Heat {
    heals: bool,
    /// How many of this worker's attempts were in vain, a moving mean; of [`ALWAYS`].
    mean: u32,
    turn: u64,
    /// Commits since the last look.
    since: u32,
    /// It looks: attempts in vain, and all.
    looks: Option<(u32, u32)>,
}

/// Of a worker that knows nothing yet: it heals until it has seen that it need not.
impl Default for Heat {
    fn default() -> Heat {
        Heat { heals: true, mean: ALWAYS, turn: 0, since: 0, looks: None }
    }
}

impl Heat {
    /// Whether the next call is to be healed if it has to be.
    #[inline]
    pub(super) fn heals(&self) -> bool {
        self.heals && self.looks.is_none()
    }

    /// An attempt was in vain, or has to be healed.
    #[inline]
    pub(super) fn has_failed(&mut self) {
        if let Some((vain, all)) = &mut self.looks {
            (*vain, *all) = (*vain + 1, *all + 1);
            return;
        }
        self.mean += (ALWAYS - self.mean) >> MEAN_SHIFT;
        self.heals |= self.mean >= HOT;
    }

    /// A transaction has committed.
    #[inline]
    pub(super) fn has_committed(&mut self, ts: CommitTs) {
        if self.looks.is_none() {
            self.mean -= self.mean >> MEAN_SHIFT;
            self.heals &= self.mean >= HOT;
        }
        if self.heals {
            self.goes_on(ts);
        }
    }

    /// A commit of a worker that heals, or looks.
    #[cold]
    #[inline(never)]
    fn goes_on(&mut self, ts: CommitTs) {
        self.since = self.since.saturating_add(1);
        if let Some((_, all)) = &mut self.looks {
            *all += 1;
        }
        let turn = ts.epoch().0 + u64::from(ts.sequence() >> TURN_SHIFT);
        if std::mem::replace(&mut self.turn, turn) == turn {
            return;
        }
        match self.looks {
            None if turn % LOOKS_EVERY == LOOKS_EVERY - 1 && self.since >= HEALS_MIN => {
                self.looks = Some((0, 0));
            }
            Some((vain, all)) if all >= TELLING => {
                (self.looks, self.since) = (None, 0);
                self.mean = ALWAYS / all * vain;
                self.heals = self.mean >= HOT;
            }
            _ => {}
        }
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use planaria_base::Epoch;

    /// A worker, and how many commits there were of all.
    struct Worker(Heat, u32);

    impl Worker {
        fn new() -> Worker {
            Worker(Heat::default(), 0)
        }

        /// `times` times so many attempts in vain, and so many that commit.
        fn does(&mut self, times: u32, vain: u32, committed: u32) {
            for _ in 0..times {
                (0..vain).for_each(|_| self.0.has_failed());
                for _ in 0..committed {
                    self.1 += 1;
                    self.0.has_committed(CommitTs::new(Epoch(1), self.1));
                }
            }
        }

        fn heals_after(&mut self, vain: u32, committed: u32) -> bool {
            self.does(300, vain, committed);
            self.0.heals()
        }
    }

    #[test]
    fn a_worker_heals_while_enough_of_its_attempts_are_in_vain() {
        let mut worker = Worker::new();
        assert!(worker.0.heals(), "it knows nothing yet");
        assert!(!worker.heals_after(0, 1), "nobody is in its way");
        assert!(!worker.heals_after(1, 8));
        assert!(worker.heals_after(1, 1), "each is healed once");
        assert!(worker.heals_after(20, 1));
        assert!(!worker.heals_after(1, 8), "it is over");
    }

    #[test]
    fn who_heals_looks_now_and_then_what_repeating_would_cost() {
        let mut worker = Worker::new();
        let until_it_looks = |worker: &mut Worker| {
            let mut commits = 0;
            while worker.0.looks.is_none() {
                worker.does(1, 1, 1);
                commits += 1;
            }
            commits
        };
        // It is healing that has it wait.
        assert!(until_it_looks(&mut worker) > HEALS_MIN);
        assert!(!worker.0.heals());
        worker.does(1 << TURN_SHIFT, 1, 9);
        assert!(!worker.0.heals() && worker.0.looks.is_none());
        // It is not.
        worker.does(300, 1, 1);
        assert!(worker.0.heals());
        until_it_looks(&mut worker);
        worker.does(1 << TURN_SHIFT, 1, 1);
        assert!(worker.0.heals());
        // Turns for looking are the same for all.
        let (mut one, mut other) = (Worker::new(), Worker::new());
        other.does(77, 1, 1);
        until_it_looks(&mut one);
        until_it_looks(&mut other);
        assert_eq!(one.1 >> TURN_SHIFT, other.1 >> TURN_SHIFT);
    }
}
