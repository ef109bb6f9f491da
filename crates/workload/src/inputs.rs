//! Random inputs common to the drivers.

use rand::rngs::SmallRng;
use rand::{Rng, SeedableRng};

/// A driver's stream of random numbers.
pub(crate) struct Inputs(SmallRng);

impl Inputs {
    pub(crate) fn new(seed: u64) -> Inputs {
        Inputs(SmallRng::seed_from_u64(seed))
    }
    /// A whole number in `low..=high`.
    pub(crate) fn uniform(&mut self, low: i64, high: i64) -> i64 {
        self.0.random_range(low..=high)
    }
    /// TPC-C clause 2.1.6: non-uniform random, with the constant `c`.
    pub(crate) fn nurand(&mut self, a: i64, low: i64, high: i64, c: i64) -> i64 {
        ((self.uniform(0, a) | self.uniform(low, high)) + c) % (high - low + 1) + low
    }
    /// Two different numbers in `1..=n` (the same where n is 1).
    pub(crate) fn pair(&mut self, n: i64) -> (i64, i64) {
        let a = self.uniform(1, n);
        let b = if n > 1 { (a + self.uniform(0, n - 2)) % n + 1 } else { a };
        (a, b)
    }
    /// True in `percent` of cases.
    pub(crate) fn chance(&mut self, percent: i64) -> bool {
        self.uniform(1, 100) <= percent
    }
    /// The same where it need not be a whole number.
    pub(crate) fn chance_of(&mut self, percent: f64) -> bool {
        if percent.fract() == 0.0 { self.chance(percent as i64) } else { self.0.random_bool(percent / 100.0) }
    }
    /// From 0 up to, but not, 1.
    pub(crate) fn fraction(&mut self) -> f64 {
        self.0.random()
    }
    /// Random bytes.
    pub(crate) fn bytes(&mut self) -> [u8; 16] {
        self.0.random()
    }
    /// A sample of a distribution.
    pub(crate) fn sample<T, D: rand_distr::Distribution<T>>(&mut self, distribution: &D) -> T {
        distribution.sample(&mut self.0)
    }
}

/// An amount of whole cents.
pub(crate) fn cents(n: i64) -> planaria::Numeric {
    planaria::Numeric::from_parts(i128::from(n), 2).expect("a 64-bit mantissa fits")
}
