//! Whether a worker's calls are healed, or repeated: what costs less.
//!
//! Repeating costs what was done in vain; healing has everybody wait who meets what it locks. So where few attempts are in vain
//! calls are repeated, as under Silo, and remember nothing: a moving mean of some 256 attempts tells. From a quarter on they are
//! healed.
//!
//! While they are, the mean no longer tells what repeating would cost: that others wait for locks is of healing's own making,
//! and would go on for ever. So now and then the workers that heal *look*: for some turns all of them repeat, and after the first each
//! compares how many it commits in a time. Where repeating is faster it goes on with that, for longer each time. The places that commits
//! draw tell the turns, so that those who commit often do so at the same time, without a word to each other. Who commits a few times a second may
//! look while others heal, and takes longer to see it.

use planaria_base::CommitTs;
use planaria_base::sync::Instant;

/// All attempts were in vain: see [`Heat::mean`]. Each attempt counts for 2^-8.
const ALWAYS: u32 = 1 << 16;
const MEAN_SHIFT: u32 = 8;
/// As measured, one in three or four commits in vain makes healing worth while (`docs/design/healing.md`).
const HOT: u32 = ALWAYS / 4;
/// Commits of all workers that are one turn, unless an epoch ends before.
const TURN_SHIFT: u32 = 8;
/// One turn in so many is the first of a look.
const LOOKS_EVERY: u64 = 16;
/// Commits of a look that tell something: it goes on until it has so many.
const TELLING: u32 = 32;
/// Commits of a worker that heals before it looks: the first time, and at most. What a look has confirmed is not asked again soon.
const HEALS: u32 = 32;
const HEALS_MAX: u32 = 8192;
/// Turns in which calls are repeated, whatever the mean, after a look has said so: at first, and at most.
const RESTS: u64 = 256;
const RESTS_MAX: u64 = 4096;
/// Both grow so many times.
const GROWS: u32 = 4;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Mode {
    Repeats,
    Heals,
    /// The first turn of a look: it repeats, as others may not do yet.
    Settles,
    /// The next: it repeats, and counts.
    Looks,
}

/// See the module's head.
pub(super) struct Heat {
    mode: Mode,
    /// How many of this worker's attempts were in vain, a moving mean; of [`ALWAYS`].
    mean: u32,
    /// The turn of the newest commit that was looked at.
    turn: u64,
    /// Commits in this mode, and since when.
    commits: u32,
    since: Option<Instant>,
    /// Commits a second, before the look, of who heals.
    healing: f64,
    /// No healing before this turn; how many turns that is the next time.
    rests_until: u64,
    rests: u64,
    /// No look before so many commits.
    heals_min: u32,
}

/// Of a worker that knows nothing yet: it heals until it has seen that it need not.
impl Default for Heat {
    fn default() -> Heat {
        Heat {
            mode: Mode::Heals,
            mean: ALWAYS,
            turn: 0,
            commits: 0,
            since: None,
            healing: 0.0,
            rests_until: 0,
            rests: RESTS,
            heals_min: HEALS,
        }
    }
}

impl Heat {
    /// Whether the next call is to be healed if it has to be.
    #[inline]
    pub(super) fn heals(&self) -> bool {
        self.mode == Mode::Heals
    }

    /// An attempt was in vain, or has to be healed.
    #[inline]
    pub(super) fn has_failed(&mut self) {
        self.mean += (ALWAYS - self.mean) >> MEAN_SHIFT;
    }

    /// A transaction has committed, at this place of the order and this moment.
    #[inline]
    pub(super) fn has_committed(&mut self, ts: CommitTs, now: impl Fn() -> Instant) {
        self.mean -= self.mean >> MEAN_SHIFT;
        if self.mode != Mode::Repeats || self.mean >= HOT {
            self.goes_on(ts, now);
        }
    }

    #[cold]
    #[inline(never)]
    fn goes_on(&mut self, ts: CommitTs, now: impl Fn() -> Instant) {
        let turn = ts.epoch().0 + u64::from(ts.sequence() >> TURN_SHIFT);
        let begins = std::mem::replace(&mut self.turn, turn) != turn;
        if self.since.is_none() {
            self.since = Some(now());
        }
        self.commits = self.commits.saturating_add(1);
        let next = match self.mode {
            Mode::Repeats if turn >= self.rests_until => Mode::Heals,
            // Nobody is in its way.
            Mode::Heals if self.mean < HOT => Mode::Repeats,
            Mode::Heals
                if begins && turn % LOOKS_EVERY == LOOKS_EVERY - 2 && self.commits >= self.heals_min =>
            {
                self.healing = self.speed(now());
                Mode::Settles
            }
            Mode::Settles if begins => Mode::Looks,
            Mode::Looks if begins && self.commits >= TELLING => {
                if self.speed(now()) > self.healing {
                    self.rests_until = turn + self.rests;
                    self.rests = (self.rests * u64::from(GROWS)).min(RESTS_MAX);
                    self.heals_min = HEALS;
                    Mode::Repeats
                } else {
                    self.rests = RESTS;
                    self.heals_min = (self.heals_min * GROWS).min(HEALS_MAX);
                    Mode::Heals
                }
            }
            _ => return,
        };
        (self.mode, self.commits, self.since) = (next, 0, Some(now()));
    }

    /// Commits a second in this mode.
    fn speed(&self, now: Instant) -> f64 {
        let took = self.since.map_or(0.0, |since| now.saturating_duration_since(since).as_secs_f64());
        f64::from(self.commits) / took.max(1e-9)
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use planaria_base::Epoch;
    use std::time::Duration;

    /// A worker alone, and how many commits there were.
    struct Worker {
        heat: Heat,
        commits: u32,
        now: Instant,
        /// What a commit takes of who heals, and of who repeats.
        prices: (Duration, Duration),
    }

    impl Worker {
        fn new(heals: u64, repeats: u64) -> Worker {
            let prices = (Duration::from_micros(heals), Duration::from_micros(repeats));
            Worker { heat: Heat::default(), commits: 0, now: Instant::now(), prices }
        }

        /// `times` times so many attempts in vain, and so many that commit.
        fn does(&mut self, times: u32, vain: u32, committed: u32) {
            for _ in 0..times {
                (0..vain).for_each(|_| self.heat.has_failed());
                for _ in 0..committed {
                    self.commits += 1;
                    self.now += if self.heat.heals() { self.prices.0 } else { self.prices.1 };
                    let (ts, now) = (CommitTs::new(Epoch(0), self.commits), self.now);
                    self.heat.has_committed(ts, || now);
                }
            }
        }

        fn heals_after(&mut self, vain: u32, committed: u32) -> bool {
            self.does(500, vain, committed);
            self.heat.heals()
        }

        /// The commits that it takes until it is in a mode, of attempts that are in vain in every second case.
        fn until(&mut self, mode: Mode) -> u32 {
            let before = self.commits;
            while self.heat.mode != mode {
                self.does(1, 1, 1);
            }
            self.commits - before
        }
    }

    #[test]
    fn a_worker_heals_while_enough_of_its_attempts_are_in_vain() {
        let mut worker = Worker::new(1, 9);
        assert!(worker.heat.heals(), "it knows nothing yet");
        assert!(!worker.heals_after(0, 1), "nobody is in its way");
        assert!(!worker.heals_after(1, 8));
        assert!(worker.heals_after(1, 1), "each is healed once");
        assert!(worker.heals_after(5, 1));
        assert!(!worker.heals_after(1, 8), "it is over");
    }

    #[test]
    fn who_heals_looks_now_and_then_how_fast_repeating_is() {
        let turn = 1 << TURN_SHIFT;
        // It is slower.
        let mut worker = Worker::new(1, 9);
        for _ in 0..3 {
            assert_eq!(worker.until(Mode::Settles), 14 * turn);
            assert_eq!((worker.until(Mode::Looks), worker.until(Mode::Heals)), (turn, turn));
        }
        // It has been asked often enough.
        assert_eq!(worker.heat.heals_min, HEALS * GROWS.pow(3));
        assert!(worker.until(Mode::Settles) <= worker.heat.heals_min + 16 * turn);
        // It is faster, though as many attempts are in vain: healing rests, for longer each time.
        let mut worker = Worker::new(9, 1);
        worker.until(Mode::Looks);
        worker.until(Mode::Repeats);
        assert_eq!(worker.until(Mode::Heals), RESTS as u32 * turn);
        worker.until(Mode::Looks);
        worker.until(Mode::Repeats);
        assert_eq!(worker.until(Mode::Heals), RESTS as u32 * GROWS * turn);
    }

    #[test]
    fn turns_for_looking_are_the_same_for_all() {
        let (mut one, mut other) = (Worker::new(1, 9), Worker::new(1, 9));
        other.does(777, 1, 1);
        one.until(Mode::Settles);
        other.until(Mode::Settles);
        assert_eq!(one.commits >> TURN_SHIFT, other.commits >> TURN_SHIFT);
    }
}
