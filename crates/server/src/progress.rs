//! How far a recovery is, for those who wait: clients hear it with 57P03, the log says it every few seconds.

use parking_lot::Mutex;
use planaria::{RecoveryProgress, RecoveryStage};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// How often the log says something.
const LOG_EVERY: Duration = Duration::from_secs(2);

/// Of less of the work than this no time is foretold.
const FORETOLD_FROM: f64 = 0.02;

/// See the module's head. Clones are the same one.
#[derive(Clone, Default)]
pub struct Progress(Arc<Mutex<Option<State>>>);

struct State {
    now: RecoveryProgress,
    /// When the stage began, and how much of it was done then.
    since: Instant,
    logged: Instant,
}

impl Progress {
    /// It is so far.
    pub fn tell(&self, now: RecoveryProgress) {
        let at = Instant::now();
        let mut state = self.0.lock();
        let state = state.get_or_insert_with(|| State { now, since: at, logged: at });
        if is_replay(state.now.stage) != is_replay(now.stage)
            || !is_replay(now.stage) && state.now.stage != now.stage
        {
            state.since = at;
        }
        state.now = now;
        if at.duration_since(state.logged) >= LOG_EVERY {
            state.logged = at;
            tracing::info!("recovery: {}", describe(&now, at.duration_since(state.since)));
        }
    }

    /// What a client hears; `None`: nothing is known yet.
    pub(crate) fn told(&self) -> Option<String> {
        let state = self.0.lock();
        let state = state.as_ref()?;
        let text = describe(&state.now, state.since.elapsed());
        Some(format!("Recovery: {text}."))
    }
}

/// Indexes that are built on the way are part of replay.
fn is_replay(stage: RecoveryStage) -> bool {
    matches!(stage, RecoveryStage::Replay | RecoveryStage::Index)
}

/// In words. `time`: since the stage began.
pub(crate) fn describe(p: &RecoveryProgress, time: Duration) -> String {
    match p.stage {
        RecoveryStage::Load => {
            let left = left(p.rows, p.rows_total, time);
            format!(
                "{} % of the checkpoint loaded, {} of {} rows{left}",
                percent(p.rows, p.rows_total),
                p.rows,
                p.rows_total
            )
        }
        RecoveryStage::Check => {
            format!("the log is read, {} records, {} so far", p.records, mib(p.bytes_total))
        }
        RecoveryStage::Replay | RecoveryStage::Index => {
            let left = left(p.bytes_done, p.bytes_total, time);
            format!(
                "{} % of the log replayed, {} of {}, {} of {} transactions{left}",
                percent(p.bytes_done, p.bytes_total),
                mib(p.bytes_done),
                mib(p.bytes_total),
                p.transactions,
                p.records
            )
        }
    }
}

/// How much of the stage is done.
pub(crate) fn percent_of(p: &RecoveryProgress) -> u64 {
    match p.stage {
        RecoveryStage::Load => percent(p.rows, p.rows_total),
        RecoveryStage::Check => 0,
        RecoveryStage::Replay | RecoveryStage::Index => percent(p.bytes_done, p.bytes_total),
    }
}

fn percent(done: u64, all: u64) -> u64 {
    (u128::from(done) * 100 / u128::from(all.max(1))).min(100) as u64
}

fn mib(bytes: u64) -> String {
    format!("{:.1} MiB", bytes as f64 / f64::from(1 << 20))
}

/// What is left, at the pace so far.
fn left(done: u64, all: u64, time: Duration) -> String {
    match seconds_left(done, all, time) {
        Some(seconds) => format!(", about {seconds} s to go"),
        None => String::new(),
    }
}

/// The same in seconds; `None` where it is too early to tell.
pub(crate) fn seconds_left(done: u64, all: u64, time: Duration) -> Option<u64> {
    let share = done as f64 / all.max(1) as f64;
    let worth = share >= FORETOLD_FROM && all > 0 && time >= Duration::from_millis(500);
    worth.then(|| (time.as_secs_f64() * (1.0 / share.min(1.0) - 1.0)).ceil() as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn progress_is_by_work() {
        let mut p =
            RecoveryProgress { stage: RecoveryStage::Load, rows: 25, rows_total: 100, ..Default::default() };
        let second = Duration::from_secs(1);
        assert_eq!(describe(&p, second), "25 % of the checkpoint loaded, 25 of 100 rows, about 3 s to go");
        assert_eq!(describe(&p, Duration::ZERO), "25 % of the checkpoint loaded, 25 of 100 rows");
        p.stage = RecoveryStage::Replay;
        (p.bytes_done, p.bytes_total, p.transactions, p.records) = (1 << 20, 2 << 20, 7, 9);
        assert_eq!(
            describe(&p, second),
            "50 % of the log replayed, 1.0 MiB of 2.0 MiB, 7 of 9 transactions, about 1 s to go"
        );
        assert_eq!(seconds_left(0, 0, second), None);
    }

    #[test]
    fn nothing_is_told_before_anything_is_known() {
        let progress = Progress::default();
        assert_eq!(progress.told(), None);
        progress.tell(RecoveryProgress::default());
        assert!(progress.told().is_some_and(|told| told.starts_with("Recovery: the log is read")));
    }
}
