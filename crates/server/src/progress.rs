//! How far a recovery is, for those who wait: clients hear it with 57P03, the log says it every few seconds.

use parking_lot::Mutex;
use planaria::{RecoveryProgress, RecoveryStage};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// How often the log says something.
const LOG_EVERY: Duration = Duration::from_secs(2);

/// See the module's head. Clones are the same one.
#[derive(Clone, Default)]
pub struct Progress(Arc<Mutex<Option<State>>>);

struct State {
    now: RecoveryProgress,
    /// When that was told.
    told: Instant,
    logged: Instant,
}

impl Progress {
    /// It is so far.
    pub fn tell(&self, now: RecoveryProgress) {
        let at = Instant::now();
        let mut state = self.0.lock();
        let state = state.get_or_insert_with(|| State { now, told: at, logged: at });
        (state.now, state.told) = (now, at);
        if at.duration_since(state.logged) >= LOG_EVERY {
            state.logged = at;
            tracing::info!("recovery: {}", describe(&now, Duration::ZERO));
        }
    }

    /// What a client hears; `None`: nothing is known yet.
    pub(crate) fn told(&self) -> Option<String> {
        let state = self.0.lock();
        let state = state.as_ref()?;
        let text = describe(&state.now, state.told.elapsed());
        Some(format!("Recovery: {text}."))
    }
}

/// In words. `ago`: how long ago that was so.
pub(crate) fn describe(p: &RecoveryProgress, ago: Duration) -> String {
    let left = left(p, ago);
    match p.stage {
        RecoveryStage::Load => {
            format!(
                "{} % of the checkpoint loaded, {} of {} rows{left}",
                percent(p.rows, p.rows_total),
                p.rows,
                p.rows_total
            )
        }
        RecoveryStage::Check => {
            format!("the log is being read, {} records, {} so far{left}", p.records, mib(p.bytes_total))
        }
        RecoveryStage::Replay | RecoveryStage::Index => {
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

/// What is left of the time foretold so long ago, in seconds.
fn left(p: &RecoveryProgress, ago: Duration) -> String {
    match p.left {
        Some(left) => match left.saturating_sub(ago).as_secs_f64() {
            few if few < 9.95 => format!(", about {few:.1} s to go"),
            many => format!(", about {many:.0} s to go"),
        },
        None => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn progress_is_by_work() {
        let mut p =
            RecoveryProgress { stage: RecoveryStage::Load, rows: 25, rows_total: 100, ..Default::default() };
        assert_eq!(describe(&p, Duration::ZERO), "25 % of the checkpoint loaded, 25 of 100 rows");
        p.left = Some(Duration::from_millis(2100));
        assert_eq!(
            describe(&p, Duration::ZERO),
            "25 % of the checkpoint loaded, 25 of 100 rows, about 2.1 s to go"
        );
        let second = Duration::from_secs(1);
        p.stage = RecoveryStage::Replay;
        (p.bytes_done, p.bytes_total, p.transactions, p.records) = (1 << 20, 2 << 20, 7, 9);
        assert_eq!(
            describe(&p, second),
            "50 % of the log replayed, 1.0 MiB of 2.0 MiB, 7 of 9 transactions, about 1.1 s to go"
        );
        assert!(describe(&p, second * 9).ends_with("about 0.0 s to go"));
    }

    #[test]
    fn nothing_is_told_before_anything_is_known() {
        let progress = Progress::default();
        assert_eq!(progress.told(), None);
        progress.tell(RecoveryProgress::default());
        assert!(progress.told().is_some_and(|told| told.starts_with("Recovery: the log is being read")));
    }
}
