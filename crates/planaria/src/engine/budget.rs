//! The restart budget: how long opening the database would take if it stopped now.
//!
//! ```text
//!  restart = tables of the checkpoint * time for one + bytes of its rows / loading rate
//!          + schema changes of the log after it + bytes of that log / replay rate
//! ```
//!
//! What a schema change takes has little to do with its bytes. Replay does the same work again, so it is what the
//! change took when it was made (or replayed). One that was rolled back counts until the next checkpoint.
//!
//! The rates are those of the last opening that was worth measuring. They are kept in the manifest of each
//! checkpoint, so that they survive openings that had little to do; before there are any, low ones are
//! assumed. Checking the log is part of replaying it.

use crate::stats::{CheckpointReport, CheckpointStats, Restart};
use crate::system::RestartFacts;
use planaria_base::Error;
use planaria_base::sync::Instant;
use planaria_checkpoint::Notes;
use std::time::Duration;

/// What takes less than this says nothing about a rate.
const WORTH_MEASURING: Duration = Duration::from_millis(50);
/// Assumed before anything was measured: bytes of rows, as stored, loaded in a second.
const LOAD_RATE: f64 = 50e6;
/// The same of the log's records.
const REPLAY_RATE: f64 = 10e6;
/// The same for what is made for each table, whatever its rows.
const TABLE_TIME: Duration = Duration::from_micros(40);

/// Bytes that took a time, if that tells how long others take.
fn rate(bytes: u64, took: Duration) -> Option<f64> {
    (took >= WORTH_MEASURING && bytes > 0).then(|| bytes as f64 / took.as_secs_f64())
}

/// See the module's head.
#[derive(Default)]
pub(crate) struct Budget {
    /// Bytes of rows loaded in a second, and bytes of records replayed; 0 where not measured.
    load_rate: f64,
    replay_rate: f64,
    /// What making a table takes; zero where not measured.
    table_time: Duration,
    /// What schema changes since the newest checkpoint took.
    changes: Duration,
    /// The newest checkpoint, if there is one.
    newest: CheckpointReport,
    /// When it was installed, or the database opened with it.
    since: Option<Instant>,
    /// Bytes of the log after it that were there when the database was opened.
    old_log: u64,
    /// Bytes that this process had written when it was installed.
    log_at: u64,
    written: u64,
    failed: u64,
    last_failure: Option<(i64, String)>,
}

impl Budget {
    /// What the manifest of the checkpoint says that was loaded.
    pub(crate) fn noted(&mut self, notes: &Notes) {
        self.load_rate = notes.load_bytes_per_second;
        self.replay_rate = notes.replay_bytes_per_second;
    }

    /// So many tables of a checkpoint were made.
    pub(crate) fn made(&mut self, tables: usize, took: Duration) {
        if took >= WORTH_MEASURING && tables > 0 {
            self.table_time = took / u32::try_from(tables).unwrap_or(u32::MAX);
        }
    }

    /// A change of the schema was made or replayed.
    pub(crate) fn changed(&mut self, took: Duration) {
        self.changes += took;
    }

    /// A checkpoint was loaded.
    pub(crate) fn loaded(&mut self, newest: CheckpointReport) {
        self.load_rate = rate(newest.bytes, newest.took).unwrap_or(self.load_rate);
        self.newest = newest;
    }

    /// So many bytes of log were checked and replayed: the database is open.
    pub(crate) fn replayed(&mut self, bytes: u64, took: Duration) {
        self.replay_rate = rate(bytes, took.saturating_sub(self.changes)).unwrap_or(self.replay_rate);
        self.old_log = bytes;
        self.since = Some(Instant::now());
    }

    /// A checkpoint was installed when so many bytes of log had been written.
    pub(crate) fn installed(&mut self, newest: CheckpointReport, log_bytes: u64) {
        self.newest = newest;
        self.since = Some(Instant::now());
        (self.old_log, self.log_at) = (0, log_bytes);
        self.changes = Duration::ZERO;
        self.written += 1;
    }

    /// A checkpoint could not be written.
    pub(crate) fn failed(&mut self, error: &Error, now: i64) {
        self.failed += 1;
        let place = error.fields().context.as_ref().map_or(String::new(), |c| format!(" ({c})"));
        self.last_failure = Some((now, format!("{error}{place}")));
    }

    /// All of it, for people.
    pub(crate) fn facts(&self, log_bytes: u64, tables: usize, target: Duration) -> RestartFacts {
        let or = |rate: f64, assumed: f64| if rate > 0.0 { rate } else { assumed };
        RestartFacts {
            stats: self.stats(log_bytes, tables),
            load_rate: or(self.load_rate, LOAD_RATE),
            replay_rate: or(self.replay_rate, REPLAY_RATE),
            target,
            last_failure: self.last_failure.clone(),
        }
    }

    /// For the next manifest.
    pub(crate) fn notes(&self) -> Notes {
        Notes {
            load_bytes_per_second: self.load_rate,
            replay_bytes_per_second: self.replay_rate,
            ..Notes::default()
        }
    }

    /// As it is when this process has written so many bytes of log, and there are so many tables.
    pub(crate) fn stats(&self, log_bytes: u64, tables: usize) -> CheckpointStats {
        let pending = self.old_log + log_bytes.saturating_sub(self.log_at);
        let time = |bytes: u64, rate: f64, assumed: f64| {
            Duration::from_secs_f64(bytes as f64 / if rate > 0.0 { rate } else { assumed })
        };
        // Those that were made since are among the changes.
        let table_time = if self.table_time.is_zero() { TABLE_TIME } else { self.table_time };
        let tables = if self.newest.number == 0 { 0 } else { u32::try_from(tables).unwrap_or(u32::MAX) };
        let tables = table_time * tables;
        CheckpointStats {
            number: self.newest.number,
            epoch: self.newest.epoch,
            rows: self.newest.rows,
            bytes: self.newest.bytes,
            age: self.since.map_or(Duration::ZERO, |since| since.elapsed()),
            written: self.written,
            failed: self.failed,
            log_bytes: pending,
            restart: Restart {
                load: tables + time(self.newest.bytes, self.load_rate, LOAD_RATE),
                replay: self.changes + time(pending, self.replay_rate, REPLAY_RATE),
                measured: (self.load_rate > 0.0 || self.newest.bytes == 0)
                    && (self.replay_rate > 0.0 || pending == 0),
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_restart_takes_what_its_parts_take() {
        let mut budget = Budget::default();
        let fresh = budget.stats(20_000_000, 0).restart;
        assert_eq!((fresh.load, fresh.replay), (Duration::ZERO, Duration::from_secs(2)));
        assert!(!fresh.measured);
        let took = Duration::from_secs(2);
        budget.loaded(CheckpointReport { number: 3, bytes: 400, took, ..Default::default() });
        budget.replayed(1000, Duration::from_secs(1));
        let stats = budget.stats(500, 0);
        assert_eq!(stats.log_bytes, 1500);
        assert_eq!(stats.restart.load, Duration::from_secs(2));
        assert_eq!(stats.restart.replay, Duration::from_millis(1500));
        assert!(stats.restart.measured);
        budget.installed(CheckpointReport { number: 4, bytes: 800, took, ..Default::default() }, 700);
        let stats = budget.stats(1700, 0);
        assert_eq!((stats.number, stats.log_bytes, stats.written), (4, 1000, 1));
        assert_eq!(stats.restart.total(), Duration::from_secs(5));
        // An opening with little to do does not change what is known.
        let mut next = Budget::default();
        next.noted(&budget.notes());
        next.loaded(CheckpointReport { bytes: 800, took: Duration::from_millis(1), ..Default::default() });
        next.replayed(10, Duration::from_millis(1));
        assert_eq!(next.stats(0, 0).restart.load, Duration::from_secs(4));
    }

    #[test]
    fn schema_changes_take_their_time_whatever_their_bytes() {
        let mut budget = Budget::default();
        budget.changed(Duration::from_secs(3));
        budget.replayed(1000, Duration::from_secs(4));
        assert_eq!(budget.stats(0, 5).restart.replay, Duration::from_secs(4), "of which one for the rest");
        budget.changed(Duration::from_secs(2));
        assert_eq!(budget.stats(0, 5).restart.replay, Duration::from_secs(6));
        assert_eq!(budget.stats(0, 5).restart.load, Duration::ZERO, "there is no checkpoint");
        budget.made(1000, Duration::from_secs(1));
        budget.installed(CheckpointReport { number: 1, ..Default::default() }, 0);
        let restart = budget.stats(0, 2000).restart;
        assert_eq!((restart.load, restart.replay), (Duration::from_secs(2), Duration::ZERO));
    }
}
