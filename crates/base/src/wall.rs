//! The time of day, and who says it.

use crate::sync::simulation;
use std::fmt;
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

/// Seconds from 1970 to 2000, where SQL timestamps count from.
pub const EPOCH_2000_SECONDS: i64 = 946_684_800;

/// The clock on the wall: the system's, or one that jumps as a test wants it to. Nothing may depend on it
/// going forward.
#[derive(Clone, Default)]
pub struct WallClock(Option<Arc<dyn Fn() -> i64 + Send + Sync>>);

impl WallClock {
    /// A clock that says what `now` says: microseconds since 2000-01-01 UTC.
    pub fn new(now: impl Fn() -> i64 + Send + Sync + 'static) -> WallClock {
        WallClock(Some(Arc::new(now)))
    }

    /// Microseconds since 2000-01-01 UTC.
    #[inline]
    pub fn micros(&self) -> i64 {
        match &self.0 {
            None => system_micros(),
            Some(now) => now(),
        }
    }
}

impl fmt::Debug for WallClock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.0.is_none() { "the system's" } else { "another" })
    }
}

/// What the system's clock says: microseconds since 2000-01-01 UTC. Simulations begin at that time.
pub fn system_micros() -> i64 {
    if let Some(simulation) = simulation::current() {
        return simulation.now().as_micros() as i64;
    }
    let since_1970 = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    (since_1970.as_secs() as i64 - EPOCH_2000_SECONDS) * 1_000_000 + i64::from(since_1970.subsec_micros())
}
