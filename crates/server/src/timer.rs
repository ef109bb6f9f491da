//! `statement_timeout`.

use parking_lot::Mutex;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// Cancels a statement when its time is up; stopped when dropped, and from then on cancels nothing any more.
pub(crate) struct Timer {
    task: tokio::task::JoinHandle<()>,
    phase: Arc<Mutex<TimerPhase>>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum TimerPhase {
    Runs,
    RanOut,
    Stopped,
}

impl Timer {
    pub(crate) fn start(milliseconds: u64, cancel: &Arc<AtomicBool>) -> Timer {
        let phase = Arc::new(Mutex::new(TimerPhase::Runs));
        let (shared, cancel) = (phase.clone(), cancel.clone());
        let task = tokio::spawn(async move {
            tokio::time::sleep(Duration::from_millis(milliseconds)).await;
            let mut phase = shared.lock();
            if *phase == TimerPhase::Runs {
                *phase = TimerPhase::RanOut;
                cancel.store(true, Ordering::Relaxed);
            }
        });
        Timer { task, phase }
    }

    pub(crate) fn ran_out(&self) -> bool {
        *self.phase.lock() == TimerPhase::RanOut
    }
}

impl Drop for Timer {
    fn drop(&mut self) {
        *self.phase.lock() = TimerPhase::Stopped;
        self.task.abort();
    }
}
