//! The thread that writes checkpoints by itself: after some time, after so much log, or when a restart
//! would take too long.
//!
//! Those take their time: see [`pace`]. What a person asks for (`CHECKPOINT`, a backup) is written at full speed.

use super::Engine;
use crate::options::CheckpointPolicy;
use crate::stats::CheckpointStats;
use planaria_base::Result;
use planaria_protocol::Protocol;
use std::cell::Cell;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Weak};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// How often it looks.
const EVERY: Duration = Duration::from_millis(100);
/// How long it waits after a checkpoint that could not be written.
const AFTER_FAILURE: Duration = Duration::from_secs(30);

/// Of so many parts of its time a writing thread works in one: together, on all cores, less than a tenth of the
/// machine.
const PACE: u32 = 12;
/// Longest pause.
const PAUSE_MAX: Duration = Duration::from_millis(250);

/// The thread; ends when this is dropped, with the checkpoint under way given up.
pub(super) struct Checkpointer {
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
        // The next one must be written before the target is missed. Where loading alone takes that long,
        // a checkpoint helps only if there is something to replay.
        let target = self.restart_target;
        let room = target.mul_f64(0.8).saturating_sub(now.restart.load).max(target.mul_f64(0.1));
        let by_target = !target.is_zero() && now.restart.replay >= room;
        by_time || by_size || by_target
    }

    /// Whether one that is under way has taken all the time that there is for it: twice what calls for one, or the
    /// whole of the target.
    fn is_late(&self, now: &CheckpointStats) -> bool {
        let CheckpointPolicy { timeout, log_bytes_max, restart_target } = *self;
        !timeout.is_zero() && now.age >= 2 * timeout
            || log_bytes_max > 0 && now.log_bytes >= log_bytes_max.saturating_mul(2)
            || !restart_target.is_zero() && now.restart.load + now.restart.replay >= restart_target
    }
}

impl Checkpointer {
    /// Starts the thread, if there is anything for it to do.
    pub(super) fn start<P: Protocol>(
        engine: &Arc<Engine<P>>,
        policy: CheckpointPolicy,
    ) -> Result<Option<Checkpointer>> {
        if policy.is_off() || engine.log.get().is_none() {
            return Ok(None);
        }
        let stopping = engine.stopping.clone();
        let weak = Arc::downgrade(engine);
        let stop = stopping.clone();
        let thread = std::thread::Builder::new().name("checkpointer".into());
        let thread = thread.spawn(move || run(&weak, &policy, &stop))?;
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

fn run<P: Protocol>(engine: &Weak<Engine<P>>, policy: &CheckpointPolicy, stopping: &AtomicBool) {
    let mut not_before = Instant::now();
    loop {
        std::thread::park_timeout(EVERY);
        if stopping.load(Ordering::SeqCst) {
            return;
        }
        let Some(engine) = engine.upgrade() else { return };
        // A failure is counted, and its cause kept.
        if Instant::now() >= not_before
            && policy.is_due(&engine.checkpoint_stats())
            && engine.checkpoint(&|| pace(&engine, policy, stopping)).is_err()
        {
            not_before = Instant::now() + AFTER_FAILURE;
        }
    }
}

/// Leaves the cores to transactions: a thread that writes works one part of its time in [`PACE`], until the
/// checkpoint is late. Called after each block. Where readers keep writers waiting there is nothing to leave.
fn pace<P: Protocol>(engine: &Engine<P>, policy: &CheckpointPolicy, stopping: &AtomicBool) -> Result<()> {
    thread_local!(static SINCE: Cell<Option<Instant>> = const { Cell::new(None) });
    if let Some(since) = SINCE.get()
        && P::CONCURRENT
        && !stopping.load(Ordering::Relaxed)
        && !policy.is_late(&engine.checkpoint_stats())
    {
        std::thread::sleep((since.elapsed() * (PACE - 1)).min(PAUSE_MAX));
    }
    SINCE.set(Some(Instant::now()));
    Ok(())
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
    fn one_that_is_late_is_given_no_more_time() {
        let seconds = Duration::from_secs;
        let policy =
            CheckpointPolicy { timeout: seconds(300), log_bytes_max: 100, restart_target: seconds(10) };
        let late = |log_bytes, age, load, replay| {
            let restart = Restart { load: seconds(load), replay: seconds(replay), measured: true };
            let stats = CheckpointStats { log_bytes, age: seconds(age), restart, ..Default::default() };
            policy.is_late(&stats)
        };
        assert!(!late(199, 599, 4, 5));
        assert!(late(200, 0, 0, 0) && late(0, 600, 0, 0) && late(0, 0, 4, 6));
        assert!(!CheckpointPolicy::default().is_late(&CheckpointStats::default()));
    }
}
