//! ARIES for main memory (Malviya et al., ICDE 2014, §IV), for logs of kind `physiological`.
//!
//! Guarantee: the state after the last durable commit, exactly, for every kind of log.
//!
//! 1. *Analysis*: the log reader has found the newest epoch that every logger has on disk. Checkpoints are
//!    transaction-consistent and there are no pages, hence no dirty pages and no LSNs to compare: redo
//!    begins where the checkpoint ends.
//! 2. *Redo*: with one thread serially, as VoltDB does at each site; with several by partition of the
//!    primary key: changes of one row are replayed by one thread, in commit order, and secondary indexes
//!    are brought in line at the end.
//! 3. *Undo*: nothing. A transaction is logged when it commits, so the log has no change of one that did
//!    not. Transactions behind the newest durable epoch are the paper's "tail of the log", and are not
//!    replayed, which is the simplification that the paper proposes for such a store.
//!
//! Calls in the log are run again serially.

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
    tuple::replay(batches, bytes_total, options, target, Style::Physiological)
}
