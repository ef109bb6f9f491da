//! Time as it goes by.

use super::simulation;
use std::ops::{Add, AddAssign, Sub};
use std::sync::LazyLock;
use std::time::Duration;

/// A point in time, by a clock that never goes back: the system's, or the simulation's.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Instant(std::time::Instant);

/// Where the time of simulations begins.
static BEGINNING: LazyLock<std::time::Instant> = LazyLock::new(std::time::Instant::now);

impl Instant {
    /// The present one.
    #[inline]
    pub fn now() -> Instant {
        match simulation::current() {
            None => Instant(std::time::Instant::now()),
            Some(simulation) => Instant(*BEGINNING + simulation.now()),
        }
    }

    /// How long ago it is.
    #[inline]
    pub fn elapsed(self) -> Duration {
        Instant::now() - self
    }

    /// The time from an earlier one to this; zero if that is later.
    pub fn saturating_duration_since(self, earlier: Instant) -> Duration {
        self.0.saturating_duration_since(earlier.0)
    }

    /// The same.
    pub fn duration_since(self, earlier: Instant) -> Duration {
        self.0.saturating_duration_since(earlier.0)
    }

    /// So much later; `None` if that is beyond what can be said.
    pub fn checked_add(self, duration: Duration) -> Option<Instant> {
        self.0.checked_add(duration).map(Instant)
    }
}

impl From<std::time::Instant> for Instant {
    fn from(instant: std::time::Instant) -> Instant {
        Instant(instant)
    }
}

impl From<Instant> for std::time::Instant {
    fn from(instant: Instant) -> std::time::Instant {
        instant.0
    }
}

impl Add<Duration> for Instant {
    type Output = Instant;
    fn add(self, duration: Duration) -> Instant {
        Instant(self.0 + duration)
    }
}

impl AddAssign<Duration> for Instant {
    fn add_assign(&mut self, duration: Duration) {
        self.0 += duration;
    }
}

impl Sub<Duration> for Instant {
    type Output = Instant;
    fn sub(self, duration: Duration) -> Instant {
        Instant(self.0 - duration)
    }
}

impl Sub for Instant {
    type Output = Duration;
    fn sub(self, earlier: Instant) -> Duration {
        self.0 - earlier.0
    }
}
