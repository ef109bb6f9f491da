//! LLR: logical log recovery as SiloR does it (Zheng et al., OSDI 2014, §4.3; PACMAN §6.2), for logs of
//! kind `logical`.
//!
//! Guarantee: the state after the last durable commit, exactly, for every kind of log.
//!
//! 1. Threads take chunks of transactions, the newest first: most of what came before need not be
//!    written any more.
//! 2. A row is found in the primary index, or put there, and latched; the last writer wins, by commit
//!    timestamp (Thomas' write rule). Deleted rows stay as tombstones to the end.
//! 3. Secondary indexes are brought in line at the end (phase `index`): unique keys may wander from row
//!    to row.
//!
//! Changes that say only what is different (physiological logs) cannot come in any order: they are
//! replayed as [`aries`](crate::aries) does. Calls are run again serially.
//!
//! What it does not do: several versions of a row, by which PACMAN lets two threads restore the same row
//! (the store has one); read the files themselves backwards: batches come in order, so that the log need
//! not fit into memory, and only within a window of one is the newest first.

use crate::tuple::{self, Style};
use crate::{Options, Report, Target};
use planaria_base::Result;
use planaria_log::Batches;

/// Replays `batches`, which hold `bytes_total` bytes of records.
pub fn replay<T: Target>(
    batches: Batches,
    bytes_total: u64,
    options: &Options,
    target: &mut T,
) -> Result<Report> {
    tuple::replay(batches, bytes_total, options, target, Style::Logical)
}
