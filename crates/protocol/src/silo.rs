//! Silo: optimistic concurrency control with epoch-free version words.
//!
//! **Paper.** S. Tu, W. Zheng, E. Kohler, B. Liskov, S. Madden: *Speedy Transactions in Multicore
//! In-Memory Databases*, SOSP 2013. Different from it: a version is the commit timestamp, drawn from
//! the one clock after the writes are locked and before the reads are validated, so that commit
//! timestamps are a serial order, anti-dependencies included (command logging needs that).
//!
//! **Guarantee.** Serializable in `commit_ts` order, phantoms included.
//!
//! **Header bits.** One word a record, that of every [footprint](crate::footprint).
//!
//! **Lock order.** Commit locks what is written in address order, with bounded spinning. Index nodes are locked by single
//! tree operations, below any record lock.
//!
//! **Abort causes.** `Validation`, `Locked`, `Phantom`, `Key`, `Claimed`, `Past` (see [`Conflict`](crate::Conflict)).
//!
//! **What it does not do.** Rows are claimed by transactions that say so, never because they are hot. Records
//! do not shrink.
//!
//! How it runs is all in [`versioned`](crate::versioned): nothing is to be said here but that nothing is different.

use crate::footprint::Versioned;
use crate::footprint::word::VersionWord;
use crate::versioned::{OverVersions, Rules};
use crate::{Guarantee, SerialOrder};
use planaria_storage::{Glance, Header, Single};

/// What a record carries: its version word.
pub struct SiloHeader(VersionWord);

impl Versioned for SiloHeader {
    #[inline]
    fn word(&self) -> &VersionWord {
        &self.0
    }
}

impl Header for SiloHeader {
    type Versions = Single;

    fn absent() -> Self {
        SiloHeader(VersionWord::absent())
    }
    #[inline]
    fn glance(&self) -> Glance {
        self.0.glance()
    }
    #[inline]
    fn holds(&self, word: u64) -> bool {
        self.0.is_unchanged(word)
    }
    fn is_present(&self) -> bool {
        self.0.is_present()
    }
    fn set_present(&self, present: bool) {
        self.0.set_present(present);
    }
}

/// Silo's rules: those of the room.
#[derive(Clone, Copy)]
pub struct SiloRules<const READS: bool, const NODES: bool, const ORDER: bool, const VALIDATES: bool>;

impl<const READS: bool, const NODES: bool, const ORDER: bool, const VALIDATES: bool> Rules
    for SiloRules<READS, NODES, ORDER, VALIDATES>
{
    type Header = SiloHeader;
    type Locks = ();

    const NAME: &'static str = if VALIDATES { "silo" } else { "silo-unvalidated" };
    const GUARANTEE: Guarantee =
        Guarantee { order: if ORDER { Some(SerialOrder::CommitTs) } else { None }, phantoms: !VALIDATES };
    const READS: bool = READS;
    const NODES: bool = NODES;
    const VALIDATES: bool = VALIDATES;
}

/// Silo. The parameters switch validation of reads and of nodes off, for tests that must catch it; and, for tests of
/// what others do then, a scheme that promises no order.
pub type SiloWith<const READS: bool, const NODES: bool, const ORDER: bool = true> =
    OverVersions<SiloRules<READS, NODES, ORDER, true>>;

/// Silo as it should be.
pub type Silo = SiloWith<true, true>;
