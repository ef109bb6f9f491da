//! PLR: physical log recovery (PACMAN §6.2), for logs of kind `physical`.
//!
//! Guarantee: the state after the last durable commit, exactly, for every kind of log.
//!
//! 1. Threads take chunks of transactions, the newest first, and restore each row by its location: a
//!    translation table leads from the location in the log to the new record. Whoever writes a record
//!    holds its latch; the last writer wins, by commit timestamp.
//! 2. Indexes are let go of until the end; then all of them are built in parallel, from sorted entries
//!    (phase `index`).
//!
//! Rows that the log names without a location (a log of another kind, ad hoc transactions under
//! command logging) are restored by key, as [`llr`](crate::llr) does. Calls are run again serially, and
//! indexes are brought in line before each, for the rows that were restored since the last.
//!
//! What it does not do: several versions of a row (the store has one); restore across a barrier without
//! building indexes.

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
    tuple::replay(batches, bytes_total, options, target, Style::Physical)
}
