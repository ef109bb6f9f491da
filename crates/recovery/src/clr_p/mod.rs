//! CLR-P: PACMAN's own parallel recovery of command logs (Wu, Guo, Chan, Tan, SIGMOD 2017, §4).
//!
//! Guarantee: the state after the last durable commit, exactly.
//!
//! ```text
//!  log --decode--> transactions --prepare--> piece-sets --dispatch--> parts --execute--> tables
//!                                (a block each, §4.2)     (by keys, §4.3.1)
//! ```
//!
//! 1. *Static analysis* (§4.1; [`planaria_analysis::paper`]): the procedures that the log calls are cut into
//!    slices, the slices of all of them gathered into blocks. Each slice is a program of its own
//!    ([`slicing`](planaria_analysis::paper::slicing)).
//! 2. A batch of transactions becomes a piece-set for each block: a piece for each call with a slice there,
//!    in commit order. A piece-set runs when those of the blocks that its block depends on are done; values
//!    that pass from slice to slice lie in the batch.
//! 3. *Intra-batch* (§4.3.1): a piece-set is split by the leading columns of the primary keys that its pieces
//!    touch, into as many parts as its block has cores. A piece that touches several parts is run by the part
//!    that comes to it last, the others wait; one whose keys are not known before it runs touches all. Cores
//!    go to blocks by their pieces, counted when the log is read (§4.4).
//! 4. *Inter-batch* (§4.3.2): a piece-set may run as soon as that of its block in the batch before is done,
//!    not the whole batch.
//! 5. Transactions logged by value are write-only pieces (§4.5): each changed row goes to the block of its
//!    table, and there to its part.
//!
//! The shelf has the paper's switches as schemes of their own: [`replay`] does all of this, [`synchronous`]
//! stops at 3, [`static_only`] at 2, and [`chopping`] is `static_only` with the pieces of transaction chopping
//! instead of slices (§6.3.1).
//!
//! Order: of two conflicting pieces the first in commit order runs first. Pieces of different blocks do not
//! conflict, by construction of the graph; those of one block and batch either stand in one part's queue,
//! or are kept in order by a meeting; batches follow each other block by block. So no latch is taken on rows.
//!
//! What it does not do: split a piece by its operations (§4.3.1 allows it where no value flows between
//! them); bind a block to certain threads (any thread takes the first part that is ready); run reads that
//! serve no write. Changes of the schema, truncation, sequences that were set, and procedures that cannot be
//! cut at all run alone between batches. A batch ends where one of these stands.

mod batch;
mod graph;
mod host;
mod run;
mod schedule;
mod worker;

use crate::{Options, Report, Target};
use planaria_base::Result;
use planaria_log::Batches;

/// The paper's switches.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Mode {
    /// Pieces of transaction chopping instead of slices.
    chopping: bool,
    /// Whether piece-sets are split by keys.
    split: bool,
    /// Whether a batch may begin before the one before is done.
    pipelined: bool,
}

const STATIC: Mode = Mode { chopping: false, split: false, pipelined: false };

/// All of the paper's CLR-P. Replays `batches`, which hold `bytes_total` bytes of records.
pub fn replay<T: Target>(
    batches: Batches,
    bytes_total: u64,
    options: &Options,
    target: &mut T,
) -> Result<Report> {
    run::replay(Mode { split: true, pipelined: true, ..STATIC }, batches, bytes_total, options, target)
}

/// Static analysis and the splitting of piece-sets; one batch after the other (§6.3.2: synchronous).
pub mod synchronous {
    use super::*;

    /// See [`super::replay`].
    pub fn replay<T: Target>(
        batches: Batches,
        bytes_total: u64,
        options: &Options,
        target: &mut T,
    ) -> Result<Report> {
        run::replay(Mode { split: true, ..STATIC }, batches, bytes_total, options, target)
    }
}

/// Static analysis alone: one thread for a piece-set, one batch after the other.
pub mod static_only {
    use super::*;

    /// See [`super::replay`].
    pub fn replay<T: Target>(
        batches: Batches,
        bytes_total: u64,
        options: &Options,
        target: &mut T,
    ) -> Result<Report> {
        run::replay(STATIC, batches, bytes_total, options, target)
    }
}

/// The baseline of §6.3.1: the same with transaction chopping.
pub mod chopping {
    use super::*;

    /// See [`super::replay`].
    pub fn replay<T: Target>(
        batches: Batches,
        bytes_total: u64,
        options: &Options,
        target: &mut T,
    ) -> Result<Report> {
        run::replay(Mode { chopping: true, ..STATIC }, batches, bytes_total, options, target)
    }
}
