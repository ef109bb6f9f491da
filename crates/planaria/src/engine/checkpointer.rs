//! The thread that writes checkpoints by itself: after some time, after so much log, or when a restart
//! would take too long.
//!
//! Those take their time, as PostgreSQL's do: see [`COMPLETION_TARGET`]. What a person asks for (`CHECKPOINT`, a backup) is written at full speed.

use crate::engine::Engine;
use crate::options::CheckpointPolicy;
use crate::stats::CheckpointStats;
use planaria_base::Result;
use planaria_base::sync::thread::JoinHandle;
use planaria_base::sync::{Instant, thread};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Weak};
use std::time::Duration;

/// How often it looks.
const EVERY: Duration = Duration::from_millis(100);
/// How long it waits after a checkpoint that could not be written.
const AFTER_FAILURE: Duration = Duration::from_secs(30);

/// Of the time until the next one is due, the share over which one is spread: PostgreSQL's
/// `checkpoint_completion_target`.
const COMPLETION_TARGET: f64 = 0.9;

/// The thread; ends when this is dropped, with the checkpoint under way given up.
pub(crate) struct Checkpointer {
    stopping: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl CheckpointPolicy {
    fn is_off(&self) -> bool {
        self.timeout.is_zero() && self.log_bytes_max == 0 && self.restart_target.is_zero()
    }

    /// Whether it is time for one.
    fn is_due(&self, now: &CheckpointStats) -> bool {
        if now.log_bytes == 0 {
            return false;
        }
        let by_time = !self.timeout.is_zero() && now.age >= self.timeout;
        let by_size = self.log_bytes_max > 0 && now.log_bytes >= self.log_bytes_max;
        let by_target = !self.restart_target.is_zero() && now.restart.replay >= self.room(now);
        by_time || by_size || by_target
    }

    /// How long replay may take before the next one is called for, which must be written before the target is
    /// missed. Where loading alone takes that long, a checkpoint helps only if there is something to replay.
    fn room(&self, now: &CheckpointStats) -> Duration {
        let target = self.restart_target;
        target.mul_f64(0.8).saturating_sub(now.restart.load).max(target.mul_f64(0.1))
    }

    /// The share of one under way that should be written by now: it has [`COMPLETION_TARGET`] of the time, or the
    /// log, that calls for the next one, or of what is left of the target.
    fn due_share(&self, now: &CheckpointStats) -> f64 {
        let CheckpointPolicy { timeout, log_bytes_max, restart_target } = *self;
        let seconds = |d: Duration| d.as_secs_f64();
        let room = self.room(now);
        let rooms = [
            (seconds(now.age), seconds(timeout), seconds(timeout)),
            (now.log_bytes as f64, log_bytes_max as f64, log_bytes_max as f64),
            (
                seconds(now.restart.replay),
                if restart_target.is_zero() { 0.0 } else { seconds(room) },
                seconds(restart_target.saturating_sub(now.restart.load + room)),
            ),
        ];
        // What called for it, and how much further it may go.
        let share = |&(is, began, room): &(f64, f64, f64)| {
            if began == 0.0 { 0.0 } else { (is - began) / (room * COMPLETION_TARGET).max(f64::MIN_POSITIVE) }
        };
        rooms.iter().map(share).fold(0.0, f64::max)
    }
}

impl Checkpointer {
    /// Starts the thread, if there is anything for it to do.
    pub(crate) fn start(engine: &Arc<Engine>) -> Result<Option<Checkpointer>> {
        if engine.policy.lock().is_off() || engine.log.get().is_none() {
            return Ok(None);
        }
        let stopping = engine.stopping.clone();
        let weak = Arc::downgrade(engine);
        let stop = stopping.clone();
        let thread = thread::Builder::new().name("checkpointer".into());
        let thread = thread.spawn(move || run(&weak, &stop))?;
        Ok(Some(Checkpointer { stopping, thread: Some(thread) }))
    }
}

impl Drop for Checkpointer {
    fn drop(&mut self) {
        self.stopping.store(true, Ordering::SeqCst);
        if let Some(thread) = self.thread.take() {
            thread.thread().unpark();
            let _ = thread.join();
        }
    }
}

fn run(engine: &Weak<Engine>, stopping: &AtomicBool) {
    let mut not_before = Instant::now();
    loop {
        thread::park_timeout(EVERY);
        if stopping.load(Ordering::SeqCst) {
            return;
        }
        let Some(engine) = engine.upgrade() else { return };
        let policy = *engine.policy.lock();
        // A failure is counted, and its cause kept.
        if Instant::now() >= not_before && policy.is_due(&engine.checkpoint_stats()) {
            // It may be changed meanwhile.
            let due = || {
                let policy = *engine.policy.lock();
                policy.due_share(&engine.checkpoint_stats())
            };
            if engine.checkpoint(&|| Ok(()), &|share| engine.leave_cores(share, &due)).is_err() {
                not_before = Instant::now() + AFTER_FAILURE;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stats::Restart;

    #[test]
    fn each_bound_calls_for_one_and_none_does_without_log() {
        let off = CheckpointPolicy::default();
        assert!(off.is_off());
        let seconds = Duration::from_secs;
        let now = |log_bytes, age, load, replay| CheckpointStats {
            log_bytes,
            age: seconds(age),
            restart: Restart { load: seconds(load), replay: seconds(replay), measured: true },
            ..Default::default()
        };
        assert!(!off.is_due(&now(1 << 40, 1 << 30, 100, 100)));
        let by_time = CheckpointPolicy { timeout: seconds(300), ..off };
        assert!(by_time.is_due(&now(1, 300, 0, 0)) && !by_time.is_due(&now(1, 299, 0, 0)));
        assert!(!by_time.is_due(&now(0, 4000, 0, 0)));
        let by_size = CheckpointPolicy { log_bytes_max: 100, ..off };
        assert!(by_size.is_due(&now(100, 0, 0, 0)) && !by_size.is_due(&now(99, 0, 0, 0)));
        let by_target = CheckpointPolicy { restart_target: seconds(10), ..off };
        assert!(by_target.is_due(&now(1, 0, 4, 4)) && !by_target.is_due(&now(1, 0, 4, 3)));
        // Loading alone takes too long.
        assert!(by_target.is_due(&now(1, 0, 40, 1)) && !by_target.is_due(&now(1, 0, 40, 0)));
    }

    #[test]
    fn one_under_way_is_spread_over_the_time_until_the_next() {
        let seconds = Duration::from_secs;
        let policy =
            CheckpointPolicy { timeout: seconds(300), log_bytes_max: 1000, restart_target: seconds(100) };
        let share = |policy: &CheckpointPolicy, log_bytes, age, load, replay| {
            let restart = Restart { load: seconds(load), replay: seconds(replay), measured: true };
            let stats = CheckpointStats { log_bytes, age: seconds(age), restart, ..Default::default() };
            (policy.due_share(&stats) * 100.0).round()
        };
        // Just called for, by each of the three.
        assert_eq!(share(&policy, 1000, 300, 20, 60), 0.0);
        // Half of what is left, and all of it.
        assert_eq!(share(&policy, 0, 300 + 135, 0, 0), 50.0);
        assert_eq!(share(&policy, 1900, 300, 0, 0), 100.0);
        assert_eq!(share(&policy, 1000, 300, 20, 60 + 9), 50.0);
        assert_eq!(share(&policy, 1000, 300, 20, 60 + 18), 100.0);
        // Loading alone takes all of the target: no time is left.
        assert!(share(&policy, 1000, 300, 100, 11) > 100.0);
        assert_eq!(share(&CheckpointPolicy::default(), 1 << 40, 1 << 30, 100, 100), 0.0);
    }
}
