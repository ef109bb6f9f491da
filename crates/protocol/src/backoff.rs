//! Waiting between attempts of a transaction.

use planaria_base::sync::spin_hint;
use planaria_base::sync::thread;
use std::time::Duration;

/// How a transaction that has met others waits before it is tried again: a choice of whoever repeats it, the same for
/// every scheme, so that schemes can be compared with and without.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum BackoffKind {
    /// Not at all, as most papers have it: it is tried again at once. Whoever is in the way may have lost its processor,
    /// and attempts are counted; so the hundredth in vain, and those after it, wait like the others.
    None,
    /// For a random time below a limit that doubles with each attempt. See [`Backoff`].
    #[default]
    Exponential,
}

impl BackoffKind {
    /// All of them.
    pub const ALL: [BackoffKind; 2] = [BackoffKind::None, BackoffKind::Exponential];

    /// Its name, as users write it.
    pub const fn name(self) -> &'static str {
        match self {
            BackoffKind::None => "none",
            BackoffKind::Exponential => "exponential",
        }
    }

    /// Attempts after which the next one is not made at once any more.
    const fn impatience(self) -> u32 {
        match self {
            BackoffKind::None => 100,
            BackoffKind::Exponential => 0,
        }
    }
}

impl std::str::FromStr for BackoffKind {
    type Err = String;

    fn from_str(name: &str) -> Result<Self, String> {
        let found = Self::ALL.iter().find(|kind| kind.name().eq_ignore_ascii_case(name));
        found.copied().ok_or_else(|| {
            let names: Vec<_> = Self::ALL.iter().map(|kind| kind.name()).collect();
            format!("unknown back-off \"{name}\"; there are: {}", names.join(", "))
        })
    }
}

impl std::fmt::Display for BackoffKind {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name())
    }
}

/// Randomised exponential back-off: the first attempts spin, later ones yield, then sleep.
///
/// With two cores a conflicting transaction has often merely lost its processor; yielding gives it back.
#[derive(Clone, Debug)]
pub struct Backoff {
    attempt: u32,
    /// Attempts that are followed by the next at once.
    at_once: u32,
    random: u64,
}

impl Backoff {
    /// For one transaction, or whoever waits for something; `seed` tells workers apart.
    pub fn new(seed: u64) -> Backoff {
        Backoff::of(BackoffKind::Exponential, seed)
    }

    /// The same of a kind.
    pub fn of(kind: BackoffKind, seed: u64) -> Backoff {
        let random = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
        Backoff { attempt: 0, at_once: kind.impatience(), random }
    }

    /// The number of waits so far.
    pub fn attempts(&self) -> u32 {
        self.attempt
    }

    /// Begins anew, for the next transaction.
    #[inline]
    pub fn reset(&mut self) {
        self.attempt = 0;
    }

    /// Waits a little longer than the last time.
    pub fn wait(&mut self) {
        if self.attempt < self.at_once {
            self.attempt += 1;
            return;
        }
        // xorshift64: all that is needed is that two workers do not move in step.
        self.random ^= self.random << 13;
        self.random ^= self.random >> 7;
        self.random ^= self.random << 17;
        let waits = self.attempt - self.at_once;
        let limit = 1u64 << (waits + 5).min(17);
        let wait = self.random % limit;
        self.attempt += 1;
        match waits + 1 {
            0..=4 => (0..wait).for_each(|_| spin_hint()),
            5..=7 => thread::yield_now(),
            // Up to 130 microseconds, and the time it takes to wake up.
            _ => thread::sleep(Duration::from_nanos(wait)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_are_known_by_their_names() {
        for kind in BackoffKind::ALL {
            assert_eq!(kind.name().parse(), Ok(kind));
        }
        assert!("linear".parse::<BackoffKind>().unwrap_err().contains("exponential"));
    }

    #[test]
    fn attempts_are_counted_whether_they_wait_or_not() {
        for kind in BackoffKind::ALL {
            let mut backoff = Backoff::of(kind, 1);
            let random = backoff.random;
            (0..100).for_each(|_| backoff.wait());
            assert_eq!(backoff.attempts(), 100);
            // Who waits has drawn how long.
            assert_eq!(backoff.random == random, kind == BackoffKind::None);
            backoff.wait();
            assert_ne!(backoff.random, random, "not for ever at once");
            backoff.reset();
            assert_eq!(backoff.attempts(), 0);
        }
    }
}
