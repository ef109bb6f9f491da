//! What the caller is told while a database is opened.

use crate::options::{OnRecovery, RecoveryProgress, RecoveryStage};
use planaria_base::sync::Instant;
use planaria_checkpoint::LoadProgress;
use planaria_log::LogSummary;
use std::time::Duration;

/// How often the caller hears of progress.
const PROGRESS_EVERY: Duration = Duration::from_millis(50);

/// Tells the caller of progress, not too often.
pub(crate) struct Teller {
    on_progress: Option<OnRecovery>,
    told: Instant,
}

impl Teller {
    pub(crate) fn new(on_progress: Option<OnRecovery>) -> Teller {
        Teller { on_progress, told: Instant::now() }
    }

    /// The log is being checked.
    pub(crate) fn checked(&mut self, found: &LogSummary) {
        let (records, bytes_total) = (found.records, found.bytes);
        self.tell(false, || RecoveryProgress { records, bytes_total, ..Default::default() });
    }

    /// A checkpoint is being loaded.
    pub(crate) fn loaded(&mut self, p: &LoadProgress) {
        let (rows, rows_total) = (p.rows, p.rows_total);
        let stage = RecoveryStage::Load;
        self.tell(rows == rows_total, || RecoveryProgress { stage, rows, rows_total, ..Default::default() });
    }

    pub(crate) fn tell(&mut self, now: bool, progress: impl FnOnce() -> RecoveryProgress) {
        let Some(tell) = &self.on_progress else { return };
        if now || self.told.elapsed() >= PROGRESS_EVERY {
            self.told = Instant::now();
            tell(progress());
        }
    }
}
