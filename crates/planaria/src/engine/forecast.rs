//! How long a recovery will still take, from how far it is at what time.
//!
//! ```text
//!  load     the rest of the checkpoint at its pace since the load began; then the log, at the rate of former openings
//!  check    the log, at that rate, less the time the check has taken
//!  replay   the rest of the log's bytes at the pace of the last half of the time
//!  index    the rest of the entries, likewise
//! ```
//!
//! A row of a checkpoint costs about as much as its bytes do, so half of the work of loading is counted by rows and half by bytes. In replay the pace changes: it starts
//! slowly while a scheme plans ahead, and one call may stand for a whole table. So only the last part of the time
//! tells what comes, and nothing of its first hundredths. Where no former opening was measured, nothing is foretold of a log that is not yet replayed.

use crate::options::{RecoveryProgress, RecoveryStage};
use std::collections::VecDeque;
use std::time::Duration;

/// The least time that tells a pace.
const TELLING: Duration = Duration::from_millis(400);
/// The pace of replay is that of at least this long.
const WINDOW_MIN: Duration = Duration::from_secs(2);
/// The same as a part of the time since the stage began.
const WINDOW_PART: u32 = 2;
/// The share of a stage before which nothing is foretold of it, and that of a replay.
const FORETOLD_FROM: f64 = 0.01;
const REPLAY_FORETOLD_FROM: f64 = 0.05;
/// The share of a replay that says nothing of the rest: a scheme plans ahead, and caches are cold.
const WARM_UP: f64 = 0.02;

/// See the module's head.
#[derive(Default)]
pub(crate) struct Forecast {
    /// Bytes of log files that follow, and bytes of log replayed in a second by former openings; 0: not known.
    log_bytes: u64,
    replay_rate: f64,
    /// What is counted at the moment, and since when.
    counted: Option<RecoveryStage>,
    since: Duration,
    /// Moments, and the share that was done then.
    shares: VecDeque<(Duration, f64)>,
}

impl Forecast {
    /// So many bytes of log follow, and so many are replayed in a second.
    pub(crate) fn expect(&mut self, log_bytes: u64, replay_rate: f64) {
        (self.log_bytes, self.replay_rate) = (log_bytes, replay_rate);
    }

    /// What is left at a moment, counted from the beginning of the recovery. Moments do not go back.
    pub(crate) fn left(&mut self, at: Duration, p: &RecoveryProgress) -> Option<Duration> {
        let share = |done: u64, all: u64| if all == 0 { 1.0 } else { done as f64 / all as f64 };
        let (counted, done) = match p.stage {
            RecoveryStage::Load => {
                let rows = share(p.rows, p.rows_total);
                (RecoveryStage::Load, (rows + share(p.load_bytes, p.load_bytes_total)) / 2.0)
            }
            RecoveryStage::Check => (RecoveryStage::Check, 0.0),
            // Indexes that are built on the way are part of replay.
            RecoveryStage::Index if p.bytes_done >= p.bytes_total => {
                (RecoveryStage::Index, share(p.index_entries, p.index_entries_total.max(1)))
            }
            RecoveryStage::Replay | RecoveryStage::Index => {
                (RecoveryStage::Replay, share(p.bytes_done, p.bytes_total))
            }
        };
        let again = self.shares.back().is_some_and(|(_, before)| done < *before);
        if self.counted != Some(counted) || again {
            (self.counted, self.since) = (Some(counted), at);
            self.shares.clear();
        }
        self.shares.push_back((at, done));
        let log = || match self.log_bytes {
            0 => Some(Duration::ZERO),
            bytes if self.replay_rate > 0.0 => {
                Duration::try_from_secs_f64(bytes as f64 / self.replay_rate).ok()
            }
            _ => None,
        };
        let here = at.saturating_sub(self.since);
        match counted {
            RecoveryStage::Load => self.rest(at, done)?.checked_add(log()?),
            RecoveryStage::Check if self.log_bytes > 0 => Some(log()?.saturating_sub(here)),
            RecoveryStage::Check => None,
            RecoveryStage::Replay | RecoveryStage::Index => {
                let window = WINDOW_MIN.max(here / WINDOW_PART);
                let is_told = |next: &(Duration, f64)| next.0 + window <= at || next.1 <= WARM_UP;
                while self.shares.len() > 2 && is_told(&self.shares[1]) {
                    self.shares.pop_front();
                }
                self.rest(at, done).filter(|_| done >= REPLAY_FORETOLD_FROM)
            }
        }
    }

    /// The rest of a stage, at the pace since the first moment that is remembered.
    fn rest(&self, at: Duration, done: f64) -> Option<Duration> {
        if done >= 1.0 {
            return Some(Duration::ZERO);
        }
        let (from, before) = *self.shares.front()?;
        let (took, more) = (at.saturating_sub(from), done - before);
        if took < TELLING || done < FORETOLD_FROM || more <= 0.0 {
            return None;
        }
        Duration::try_from_secs_f64(took.as_secs_f64() * (1.0 - done) / more).ok()
    }
}

#[cfg(test)]
mod tests;
