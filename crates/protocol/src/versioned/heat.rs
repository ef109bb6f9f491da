//! Whether calls are healed, or repeated: what costs less.
//!
//! Repeating costs what was done in vain; healing has everybody wait who meets what it locks. So where few attempts are in vain
//! calls are repeated, as under Silo, and remember nothing: each worker's moving mean of some 256 attempts tells ([`Heat`]). From
//! a quarter on they are healed.
//!
//! While they are, the mean no longer tells what repeating would cost: that others wait for locks is of healing's own making,
//! and would go on for ever. So all workers together try both now and then, and go on with what is faster ([`Regime`]):
//!
//! ```text
//!   Heals --> Warms --> Weighs --> Settles --> Looks --> Rests
//!     ^                (counted)              (counted)  |  |
//!     |<-------------------------------------------------+  |    healing is faster, or
//!     |<----------------------------------------------------+    has rested long enough
//! ```
//!
//! Who is being healed when all begin to repeat still holds its locks: before that is over, both ways look alike.
//!
//! What an answer has confirmed is not asked again soon. All of this is one word, which is read by all and seldom written; the one whose
//! commit ends a phase writes it. In counted phases each commit is added to a second one. If nobody has a mean that calls for healing, nothing
//! begins.

use crossbeam_utils::CachePadded;
use planaria_base::CommitTs;
use planaria_base::sync::Instant;
use planaria_base::sync::atomic::{AtomicU32, AtomicU64, Ordering::Relaxed};
use std::sync::Arc;
use std::time::Duration;

/// All attempts were in vain: see [`Heat::mean`]. Each attempt counts for 2^-8.
const ALWAYS: u32 = 1 << 16;
const MEAN_SHIFT: u32 = 8;
/// As measured, one in three or four commits in vain makes healing worth while (`docs/design/healing.md`).
const HOT: u32 = ALWAYS / 4;
/// A worker reads the clock once in so many commits of all, or when it was healed: where healing has come to a standstill, so
/// many take seconds.
const TURN_SHIFT: u32 = 8;
/// Commits of all workers in a phase that counts, and in the one before it; or what they do in [`WINDOW_MAX`].
const TELLING: u64 = 1024;
const SETTLING: u64 = 256;
const WINDOW_MAX: Duration = Duration::from_millis(50);
/// How long those who are being healed are waited for.
const DRAIN_MAX: Duration = Duration::from_secs(1);
/// How long calls are healed, or rest from it, before that is asked again: at first and at most, and how it grows.
const LASTS_MIN: Duration = Duration::from_micros(200);
const LASTS_MAX: Duration = Duration::from_secs(4);
const GROWS: u32 = 4;
/// At first at least so many times what the look took. (A look may err: others may have had the processors.)
const LOOKS_MIN: u32 = 2;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Phase {
    /// Workers whose mean calls for it heal.
    Heals,
    /// The same, for some commits at least: what was repeated before may still be in the way.
    Warms,
    /// They go on, and what all commit is counted.
    Weighs,
    /// All repeat, for some commits at least, as above, and until nobody is being healed any more.
    Settles,
    /// All repeat, and what they commit is counted.
    Looks,
    /// All repeat, as that is faster.
    Rests,
    /// All heal, whatever it costs, and nothing else comes after.
    Always,
}

const PHASES: [Phase; 7] =
    [Phase::Heals, Phase::Warms, Phase::Weighs, Phase::Settles, Phase::Looks, Phase::Rests, Phase::Always];
const PHASE_BITS: u32 = 3;

/// A phase, and when it began: nanoseconds since the regime did. One word.
#[derive(Clone, Copy, PartialEq, Eq)]
struct State(u64);

impl State {
    fn new(phase: Phase, since: Duration) -> State {
        State((since.as_nanos() as u64) << PHASE_BITS | phase as u64)
    }

    fn phase(self) -> Phase {
        PHASES[(self.0 & ((1 << PHASE_BITS) - 1)) as usize % PHASES.len()]
    }

    fn lets_heal(self) -> bool {
        !matches!(self.phase(), Phase::Settles | Phase::Looks | Phase::Rests)
    }

    /// Everybody's commits are counted.
    fn is_window(self) -> bool {
        !matches!(self.phase(), Phase::Heals | Phase::Rests | Phase::Always)
    }

    fn lasts(self, now: Duration) -> Duration {
        now.saturating_sub(Duration::from_nanos(self.0 >> PHASE_BITS))
    }

    /// Tells windows apart that follow each other.
    fn number(self) -> u64 {
        u64::from(self.0 as u32)
    }
}

/// What the workers of a database do about healing, all of them. See the module's head.
pub(super) struct Regime {
    origin: Instant,
    state: CachePadded<AtomicU64>,
    /// The window's number, and above it how many have committed in it.
    counted: CachePadded<AtomicU64>,
    /// How many are being healed.
    healed: CachePadded<AtomicU32>,
    /// Nanoseconds that a commit took while calls were healed, of all workers together.
    healing: AtomicU64,
    /// How long the next phase of healing and the next rest are to last, in nanoseconds.
    heals: AtomicU64,
    rests: AtomicU64,
}

impl Default for Regime {
    fn default() -> Regime {
        let lasts_min = || AtomicU64::new(LASTS_MIN.as_nanos() as u64);
        Regime {
            origin: Instant::now(),
            state: CachePadded::new(AtomicU64::new(State::new(Phase::Heals, Duration::ZERO).0)),
            counted: CachePadded::default(),
            healed: CachePadded::default(),
            healing: AtomicU64::new(0),
            heals: lasts_min(),
            rests: lasts_min(),
        }
    }
}

impl Regime {
    #[inline]
    fn state(&self) -> State {
        State(self.state.load(Relaxed))
    }

    pub(super) fn heals_always(&self) {
        self.state.store(State::new(Phase::Always, Duration::ZERO).0, Relaxed);
    }

    /// A transaction has committed, in this state.
    fn has_committed(&self, state: State, now: Instant) {
        let now = now.saturating_duration_since(self.origin);
        let lasts = state.lasts(now);
        let over = |after: &AtomicU64| lasts.as_nanos() as u64 >= after.load(Relaxed);
        let counted = if state.is_window() { self.count(state) } else { 0 };
        let is_over = |enough| counted >= enough || lasts >= WINDOW_MAX;
        // Nanoseconds for each of those who were counted.
        let price = lasts.as_nanos() as u64 / counted.max(1);
        let next = match state.phase() {
            Phase::Heals if over(&self.heals) => Phase::Warms,
            Phase::Warms if is_over(SETTLING) => Phase::Weighs,
            Phase::Rests if over(&self.rests) => Phase::Heals,
            Phase::Weighs if is_over(TELLING) => Phase::Settles,
            Phase::Settles if is_over(SETTLING) && self.is_drained(lasts) => Phase::Looks,
            Phase::Looks if is_over(TELLING) && price < self.healing.load(Relaxed) => Phase::Rests,
            Phase::Looks if is_over(TELLING) => Phase::Heals,
            _ => return,
        };
        if self.state.compare_exchange(state.0, State::new(next, now).0, Relaxed, Relaxed).is_err() {
            return;
        }
        match (state.phase(), next) {
            // Long before anybody asks for it.
            (Phase::Weighs, _) => self.healing.store(price, Relaxed),
            (Phase::Looks, Phase::Rests) => answered(lasts, &self.rests, &self.heals),
            (Phase::Looks, _) => answered(lasts, &self.heals, &self.rests),
            _ => {}
        }
    }

    fn is_drained(&self, lasts: Duration) -> bool {
        self.healed.load(Relaxed) == 0 || lasts >= DRAIN_MAX
    }

    /// One more in a window; how many.
    fn count(&self, window: State) -> u64 {
        let number = window.number();
        let more = |word: u64| {
            if word & u64::from(u32::MAX) == number { word + (1 << 32) } else { number | 1 << 32 }
        };
        let mut word = self.counted.load(Relaxed);
        loop {
            match self.counted.compare_exchange_weak(word, more(word), Relaxed, Relaxed) {
                Ok(_) => return more(word) >> 32,
                Err(now) => word = now,
            }
        }
    }
}

/// What was found to be right lasts longer than before; the other less. (Not the shortest at once, as a look may err.)
fn answered(look: Duration, right: &AtomicU64, wrong: &AtomicU64) {
    let lasts = |of: &AtomicU64| Duration::from_nanos(of.load(Relaxed));
    let longer = (lasts(right) * GROWS).max(look * LOOKS_MIN).min(LASTS_MAX);
    right.store(longer.as_nanos() as u64, Relaxed);
    wrong.store((lasts(wrong) / GROWS).max(LASTS_MIN).as_nanos() as u64, Relaxed);
}

/// How a worker's attempts end. See the module's head.
pub(super) struct Heat {
    regime: Arc<Regime>,
    /// How many of this worker's attempts were in vain, a moving mean; of [`ALWAYS`].
    mean: u32,
    /// When this worker last read the clock: see [`TURN_SHIFT`].
    turn: u64,
    is_being_healed: bool,
}

impl Heat {
    /// Of a worker that knows nothing yet: it heals until some fifty attempts have shown that it need not.
    pub(super) fn new(regime: Arc<Regime>) -> Heat {
        Heat { regime, mean: HOT + HOT / 4, turn: u64::MAX, is_being_healed: false }
    }

    /// Whether the next call is to be healed if it has to be.
    #[inline]
    pub(super) fn heals(&self) -> bool {
        let state = self.regime.state();
        self.mean >= HOT && state.lets_heal() || state.phase() == Phase::Always
    }

    /// Whether who remembers what it read is still to be healed.
    pub(super) fn lets_heal(&self) -> bool {
        self.regime.state().lets_heal()
    }

    /// An attempt was in vain.
    #[inline]
    pub(super) fn has_failed(&mut self) {
        self.mean += (ALWAYS - self.mean) >> MEAN_SHIFT;
    }

    /// An attempt is to be healed from now on, until [`Heat::is_healed`].
    pub(super) fn begins_to_heal(&mut self) {
        self.has_failed();
        self.is_being_healed = true;
        self.regime.healed.fetch_add(1, Relaxed);
    }

    pub(super) fn is_healed(&mut self) {
        self.is_being_healed = false;
        self.regime.healed.fetch_sub(1, Relaxed);
    }

    /// A transaction has committed, at this place of the order and this moment.
    #[inline]
    pub(super) fn has_committed(&mut self, ts: CommitTs, now: impl Fn() -> Instant) {
        self.mean -= self.mean >> MEAN_SHIFT;
        let state = self.regime.state();
        if self.mean >= HOT || state.is_window() {
            self.goes_on(state, ts, now);
        }
    }

    #[cold]
    #[inline(never)]
    fn goes_on(&mut self, state: State, ts: CommitTs, now: impl Fn() -> Instant) {
        let turn = ts.0 >> TURN_SHIFT;
        let begins = std::mem::replace(&mut self.turn, turn) != turn;
        if begins || self.is_being_healed || state.is_window() {
            self.regime.has_committed(state, now());
        }
    }
}

impl Drop for Heat {
    fn drop(&mut self) {
        if self.is_being_healed {
            self.is_healed();
        }
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    /// Workers that take turns, and how many commits there were.
    struct Workers {
        regime: Arc<Regime>,
        heats: Vec<Heat>,
        commits: u64,
        now: Instant,
        /// What a commit takes of who heals, and of who repeats.
        prices: (Duration, Duration),
    }

    impl Workers {
        fn new(workers: usize, heals: u64, repeats: u64) -> Workers {
            let regime = Arc::new(Regime::default());
            let heats = (0..workers).map(|_| Heat::new(regime.clone())).collect();
            let prices = (Duration::from_micros(heals), Duration::from_micros(repeats));
            Workers { now: regime.origin, regime, heats, commits: 0, prices }
        }

        /// `times` times so many attempts in vain, and so many that commit, of each. The last in vain is healed, where they are.
        fn do_both(&mut self, times: u32, vain: u32, committed: u32) {
            for _ in 0..times {
                for heat in &mut self.heats {
                    (1..vain).for_each(|_| heat.has_failed());
                    for attempt in 0..committed {
                        let heals = heat.heals();
                        match attempt < vain.min(1) {
                            true if heals => heat.begins_to_heal(),
                            true => heat.has_failed(),
                            false => {}
                        }
                        self.commits += 1;
                        self.now += if heals { self.prices.0 } else { self.prices.1 };
                        let now = self.now;
                        heat.has_committed(CommitTs(self.commits), || now);
                        if heat.is_being_healed {
                            heat.is_healed();
                        }
                    }
                }
            }
        }

        fn heal(&self) -> bool {
            self.heats.iter().all(Heat::heals)
        }

        fn heal_after(&mut self, vain: u32, committed: u32) -> bool {
            self.do_both(500, vain, committed);
            self.heal()
        }

        /// Commits and time until they are in a phase, if every second attempt is in vain.
        fn until(&mut self, phase: Phase) -> (u64, Duration) {
            let (commits, began) = (self.commits, self.now);
            while self.regime.state().phase() != phase {
                self.do_both(1, 1, 1);
            }
            (self.commits - commits, self.now - began)
        }
    }

    #[test]
    fn a_worker_heals_while_enough_of_its_attempts_are_in_vain() {
        let mut one = Workers::new(1, 0, 9);
        assert!(one.heal(), "it knows nothing yet");
        assert!(!one.heal_after(0, 1), "nobody is in its way");
        assert!(!one.heal_after(1, 8));
        assert!(one.heal_after(1, 1), "each is healed once");
        assert!(one.heal_after(5, 1));
        assert!(!one.heal_after(1, 8), "it is over");
    }

    #[test]
    fn all_try_both_now_and_then_and_go_on_with_what_is_faster() {
        let window = |phase, took: (u64, Duration)| {
            let most = if matches!(phase, Phase::Warms | Phase::Settles) { SETTLING } else { TELLING };
            assert!(took.0 <= most + 3, "{phase:?}: {took:?}");
        };
        for workers in [1, 3] {
            // Repeating is slower, then faster, though as many attempts are in vain.
            for (heals, repeats, right) in [(1, 9, Phase::Heals), (9, 1, Phase::Rests)] {
                let mut all = Workers::new(workers, heals, repeats);
                let (mut least, mut looked) = (LASTS_MIN, Duration::ZERO);
                for round in 0..8 {
                    let (_, healed) = all.until(Phase::Warms);
                    let lasts = if right == Phase::Heals { least } else { LASTS_MIN };
                    // The clock is read once in 256 commits, and a phase begins within a turn of all.
                    let about = |took: Duration, lasts| took.abs_diff(lasts) <= Duration::from_millis(3);
                    assert!(about(healed, lasts), "{round}: {healed:?}, {lasts:?}");
                    window(Phase::Warms, all.until(Phase::Weighs));
                    assert!(all.heal());
                    window(Phase::Weighs, all.until(Phase::Settles));
                    assert!(!all.heal());
                    window(Phase::Settles, all.until(Phase::Looks));
                    let look = all.until(right);
                    window(Phase::Looks, look);
                    looked = look.1;
                    least = (least * GROWS).max(looked * LOOKS_MIN).min(LASTS_MAX);
                    assert_eq!(all.heal(), right == Phase::Heals);
                    if right == Phase::Rests {
                        let (_, rested) = all.until(Phase::Heals);
                        assert!(about(rested, least), "{round}: {rested:?}, {least:?}");
                    }
                }
                assert!(least == LASTS_MAX && looked > Duration::ZERO);
            }
        }
    }

    #[test]
    fn nobody_looks_before_those_who_are_being_healed_are_done() {
        let mut all = Workers::new(2, 9, 1);
        all.until(Phase::Settles);
        let mut healed = all.heats.remove(0);
        healed.begins_to_heal();
        all.do_both(5_000, 1, 1);
        assert!(all.regime.state().phase() == Phase::Settles && !all.heats[0].lets_heal());
        drop(healed);
        let (commits, _) = all.until(Phase::Looks);
        assert!(commits <= 2);
        // Not for ever.
        all.until(Phase::Settles);
        all.regime.healed.fetch_add(1, Relaxed);
        let (_, took) = all.until(Phase::Looks);
        assert!(took >= DRAIN_MAX && took < 2 * DRAIN_MAX, "{took:?}");
    }

    #[test]
    fn who_has_come_to_a_standstill_does_not_wait_for_many_commits() {
        // Ten commits a second while they heal.
        let mut all = Workers::new(4, 100_000, 10);
        let (commits, took) = all.until(Phase::Rests);
        assert!(took < Duration::from_secs(1) && commits < 2048, "{commits} {took:?}");
    }
}
