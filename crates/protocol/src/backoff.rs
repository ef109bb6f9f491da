//! Waiting between attempts of a transaction.

use planaria_base::sync::spin_hint;
use planaria_base::sync::thread;
use std::time::Duration;

/// Randomised exponential back-off: the first attempts spin, later ones yield, then sleep.
///
/// With two cores a conflicting transaction has often merely lost its processor; yielding gives it back.
#[derive(Clone, Debug)]
pub struct Backoff {
    attempt: u32,
    random: u64,
}

impl Backoff {
    /// For one transaction; `seed` tells workers apart.
    pub fn new(seed: u64) -> Backoff {
        Backoff { attempt: 0, random: seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1 }
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
        // xorshift64: all that is needed is that two workers do not move in step.
        self.random ^= self.random << 13;
        self.random ^= self.random >> 7;
        self.random ^= self.random << 17;
        let limit = 1u64 << (self.attempt + 5).min(17);
        let wait = self.random % limit;
        self.attempt += 1;
        match self.attempt {
            0..=4 => (0..wait).for_each(|_| spin_hint()),
            5..=7 => thread::yield_now(),
            // Up to 130 microseconds, and the time it takes to wake up.
            _ => thread::sleep(Duration::from_nanos(wait)),
        }
    }
}
