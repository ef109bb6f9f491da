//! LLR-P: parallel logical-log recovery (PACMAN §6.2), by the engine of [`regrow`](crate::regrow).
//!
//! Guarantee: the state after the last durable commit, exactly.
//!
//! Logged changes of rows go to queues by table and partition of the primary key; each queue is put in
//! place by one thread, in key order and commit order within a key. No latch is taken, and every change
//! is applied in its turn (SiloR's last-writer-wins is for those who apply them in any order).
//!
//! What it does not do: plan calls. A call in the log runs whole, behind a barrier.

use crate::{Options, Report, Target, regrow};
use planaria_base::Result;
use planaria_log::Batches;

/// Replays `batches`, which hold `bytes_total` bytes of records.
pub fn replay<T: Target>(
    batches: Batches,
    bytes_total: u64,
    options: &Options,
    target: &mut T,
) -> Result<Report> {
    regrow::run(batches, bytes_total, options, target, false)
}
