//! Counters of the log. Only whoever closes an epoch writes them.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Duration;

/// Buckets of sync times: bucket `i` counts those below `2^i` microseconds, from `2^(i-1)` on.
pub const SYNC_BUCKETS: usize = 26;

/// The counters.
#[derive(Default)]
pub(crate) struct Counters {
    epochs: AtomicU64,
    frames: AtomicU64,
    records: AtomicU64,
    bytes: AtomicU64,
    syncs: AtomicU64,
    sync_micros: AtomicU64,
    sync_micros_max: AtomicU64,
    sync_histogram: [AtomicU64; SYNC_BUCKETS],
}

impl Counters {
    pub(crate) fn epoch(&self) {
        self.epochs.fetch_add(1, Relaxed);
    }

    pub(crate) fn frame(&self, records: u64, bytes: u64) {
        self.frames.fetch_add(1, Relaxed);
        self.records.fetch_add(records, Relaxed);
        self.bytes.fetch_add(bytes, Relaxed);
    }

    pub(crate) fn synced(&self, time: Duration) {
        let micros = time.as_micros() as u64;
        self.syncs.fetch_add(1, Relaxed);
        self.sync_micros.fetch_add(micros, Relaxed);
        self.sync_micros_max.fetch_max(micros, Relaxed);
        let bucket = (u64::BITS - micros.leading_zeros()) as usize;
        self.sync_histogram[bucket.min(SYNC_BUCKETS - 1)].fetch_add(1, Relaxed);
    }

    pub(crate) fn read(&self, buffered: u64) -> LogStats {
        LogStats {
            epochs: self.epochs.load(Relaxed),
            frames: self.frames.load(Relaxed),
            records: self.records.load(Relaxed),
            bytes: self.bytes.load(Relaxed),
            syncs: self.syncs.load(Relaxed),
            sync_time: Duration::from_micros(self.sync_micros.load(Relaxed)),
            sync_time_max: Duration::from_micros(self.sync_micros_max.load(Relaxed)),
            sync_histogram: std::array::from_fn(|i| self.sync_histogram[i].load(Relaxed)),
            buffered,
        }
    }
}

/// What the log has done since it was opened.
#[derive(Clone, Debug)]
pub struct LogStats {
    /// Epochs closed.
    pub epochs: u64,
    /// Frames written.
    pub frames: u64,
    /// Records written.
    pub records: u64,
    /// Bytes written, without segment headers and preallocation.
    pub bytes: u64,
    /// Syncs of segments.
    pub syncs: u64,
    /// Time they took together.
    pub sync_time: Duration,
    /// The longest.
    pub sync_time_max: Duration,
    /// How many took how long: entry `i` counts those below `2^i` microseconds, from `2^(i-1)` on.
    pub sync_histogram: [u64; SYNC_BUCKETS],
    /// Bytes that no logger has taken yet.
    pub buffered: u64,
}

impl LogStats {
    /// A time that at least the share `q` (0 to 1) of the syncs did not exceed: the upper end of their
    /// bucket, so up to twice too long.
    pub fn sync_quantile(&self, q: f64) -> Duration {
        let total: u64 = self.sync_histogram.iter().sum();
        let wanted = (total as f64 * q).ceil() as u64;
        let mut seen = 0;
        for (i, n) in self.sync_histogram.iter().enumerate() {
            seen += n;
            if seen >= wanted && seen > 0 {
                return Duration::from_micros(1 << i).min(self.sync_time_max);
            }
        }
        self.sync_time_max
    }
}
