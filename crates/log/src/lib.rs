//! The log: what was committed, in the order it was committed, on disk.
//!
//! A worker appends the record of each commit to a buffer of its own ([`WorkerLog`]). Time is cut
//! into epochs (Silo §4.1, SiloR §4); when an epoch closes, loggers take its records from the
//! buffers, write them as *frames* into *segments* and sync them. An epoch is durable when every
//! logger that has records of it has synced them; commits are acknowledged by epoch.
//!
//! ```text
//! worker 0  [rec rec rec]-.                            .-- run-00-00000000.log  [hdr|E5|E6|E8|..000]
//! worker 1  [rec]---------+-- epoch closes --> logger 0
//! worker 2  [rec rec]-----+----------------->  logger 1 -- run-01-00000000.log  [hdr|E5|E8|....000]
//! ```
//!
//! What holds:
//!
//! 1. *Whole epochs.* Recovery yields all records of an epoch or none. A record becomes durable only
//!    with everything it may depend on: what it read was committed in its epoch or before.
//! 2. *The chain.* Each frame names the epoch written before its own, which was on disk, from every
//!    logger, before this frame's first byte was written. So an epoch that is missing or damaged but
//!    named by a later frame is damage (XX001, with file and offset); one that nothing names is the
//!    tail of a crash, never acknowledged, and is cut. At most one epoch can be in doubt.
//! 3. *The cut is one rename.* A manifest says up to which epoch each run of the database counts;
//!    replacing it both cuts the torn tail and begins the next run, in new segments, in an epoch later
//!    than any ever seen.
//! 4. *Failure is final.* After a failed write or sync nothing is written any more. A full disk is not: what
//!    did not fit is written when there is room.
//! 5. *No file goes missing or short unnoticed.* Segments are as long as their headers say, or end with a
//!    mark; the manifest names the newest ones.
//!
//! The log knows neither tables nor protocols: rows are words, keys and schema changes are bytes.
//! Formats byte by byte: `docs/formats/log.md`.

mod batch;
mod chain;
mod closer;
pub mod device;
mod effect;
mod files;
mod frame;
mod inventory;
mod log;
mod logger;
mod manifest;
mod published;
mod reader;
mod record;
mod scan;
mod seat;
mod segment;
mod stats;
mod waiters;
mod words;
mod worker;

#[cfg(test)]
mod tests;

pub use batch::{Batch, Batches, OldCalls, Until};
pub use device::{Device, DeviceFile, DeviceLock, DirectoryDevice, Holder};
pub use effect::{
    ChangeBuf, Effect, EffectWriter, Patch, RawEffect, RawEffects, RowChange, encode_effects, encode_values,
};
pub use inventory::{RunInfo, SegmentInfo};
pub use log::{Durable, Log, of_another_process};
pub use planaria_base::value::{Value, ValueReader, ValueWriter};
pub use reader::{LogReader, LogSummary};
pub use record::{Call, Keeping, PlannerVersion, RawRecord, Record, RecordBody};
pub use stats::{LogStats, SYNC_BUCKETS};
pub use worker::{Commit, WorkerLog};

use planaria_base::WallClock;
use std::time::Duration;

/// Loggers at most: a frame names those of its epoch in 64 bits.
pub const LOGGERS_MAX: usize = 64;

/// When the client hears of a commit.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Durability {
    /// When its epoch is on disk.
    #[default]
    Fsync,
    /// At once; its epoch reaches the disk some 10 ms later.
    Async,
    /// At once; nothing is written.
    Off,
}

/// How the log works.
#[derive(Clone, Debug)]
pub struct Options {
    /// When the client hears of a commit.
    pub durability: Durability,
    /// Loggers, each with files of its own; 1 to [`LOGGERS_MAX`].
    pub loggers: usize,
    /// An epoch that nobody waits for closes after this time.
    pub epoch_interval: Duration,
    /// Size of a segment; the first ones of a run are smaller.
    pub segment_bytes_max: u64,
    /// Epochs a segment spans at most.
    pub segment_epochs_max: u64,
    /// Bytes that may wait to be taken by a logger, over all workers.
    pub buffer_bytes_max: u64,
    /// Version of the planner, kept with the log: a call replays with the plan it ran with.
    pub planner_version: PlannerVersion,
    /// Identity of the database; a new log gets a random one without it, an old one is compared with it.
    pub database: Option<[u8; 16]>,
    /// Says when an epoch is closed.
    pub wall_clock: WallClock,
    /// How long a commit that has entered waits for room on a full disk before the log fails for good; `None`:
    /// as long as it takes. New commits are refused meanwhile (53100).
    pub room_patience: Option<Duration>,
    /// Whether log that a checkpoint has stays, to restore moments before it.
    pub keep: bool,
    /// Whether threads close epochs and make segments ahead of time. Without, epochs close when
    /// somebody waits or flushes: for tests that must be repeatable.
    pub threads: bool,
}

impl Default for Options {
    fn default() -> Options {
        Options {
            durability: Durability::Fsync,
            loggers: 1,
            epoch_interval: Duration::from_millis(10),
            segment_bytes_max: 64 << 20,
            segment_epochs_max: 1 << 20,
            buffer_bytes_max: 256 << 20,
            planner_version: PlannerVersion(0),
            database: None,
            wall_clock: WallClock::default(),
            room_patience: None,
            keep: false,
            threads: true,
        }
    }
}
