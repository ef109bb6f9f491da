//! What the caller is told while a database is opened.

use crate::engine::forecast::Forecast;
use crate::options::{OnRecovery, RecoveryProgress, RecoveryStage};
use planaria_base::sync::Instant;
use planaria_checkpoint::LoadProgress;
use planaria_log::{Device, LogSummary};
use std::time::Duration;

/// How often the caller hears of progress.
const PROGRESS_EVERY: Duration = Duration::from_millis(50);

/// Tells the caller of progress, not too often, and how long it will still take.
pub(crate) struct Teller {
    on_progress: Option<OnRecovery>,
    began: Instant,
    told: Instant,
    forecast: Forecast,
}

impl Teller {
    pub(crate) fn new(on_progress: Option<OnRecovery>) -> Teller {
        let now = Instant::now();
        Teller { on_progress, began: now, told: now, forecast: Forecast::default() }
    }

    /// The log on a device is to be replayed behind a checkpoint, if there is one, so many bytes of it in a
    /// second. Nobody looks at the files where nobody is told.
    pub(crate) fn expect(&mut self, device: &dyn Device, replay_rate: f64) {
        if self.on_progress.is_some() {
            self.forecast.expect(log_bytes(device), replay_rate);
        }
    }

    /// The log is being checked.
    pub(crate) fn checked(&mut self, found: &LogSummary) {
        let (records, bytes_total) = (found.records, found.bytes);
        self.tell(false, || RecoveryProgress { records, bytes_total, ..Default::default() });
    }

    /// A checkpoint is being loaded.
    pub(crate) fn loaded(&mut self, p: &LoadProgress) {
        let progress = RecoveryProgress {
            stage: RecoveryStage::Load,
            rows: p.rows,
            rows_total: p.rows_total,
            load_bytes: p.bytes,
            load_bytes_total: p.bytes_total,
            ..Default::default()
        };
        self.tell(p.rows == p.rows_total, || progress);
    }

    pub(crate) fn tell(&mut self, now: bool, progress: impl FnOnce() -> RecoveryProgress) {
        let Some(tell) = &self.on_progress else { return };
        if now || self.told.elapsed() >= PROGRESS_EVERY {
            self.told = Instant::now();
            let mut progress = progress();
            progress.left = self.forecast.left(self.began.elapsed(), &progress);
            tell(progress);
        }
    }
}

/// Bytes of the log's files. What cannot be asked for counts as nothing: it is only a forecast.
fn log_bytes(device: &dyn Device) -> u64 {
    let names = device.list().unwrap_or_default();
    let logs = names.iter().filter(|name| name.ends_with(".log"));
    logs.filter_map(|name| device.open(name).and_then(|file| file.size()).ok()).sum()
}
