//! Multi-version optimistic concurrency control.
//!
//! **Paper.** Y. Wu, *Transaction Management on Multicores* (NUS 2017): the protocol of §5.3.2 (MVOCC; after P. Larson et
//! al., *High-Performance Concurrency Control Mechanisms for Main-Memory Databases*, VLDB 2012), over append-only storage,
//! newest to oldest (§5.4.1), with transaction-level collection (§5.5.2) and logical pointers (§5.6.1):
//! [`Append`](planaria_storage::versions).
//!
//! Different from it: (1) writes are buffered, and locked at commit, not at the update; so no chain has a version that is
//! not committed. (2) The timestamp is drawn with all writes locked, before the reads are validated, so that commit
//! timestamps are a serial order, anti-dependencies included (command logging needs that). (3) A transaction that writes
//! reads the newest versions, as it would fail with any other; one that does not, those of its begin. (4) A version is
//! collected when nobody reads between its begin and its end, not when all are behind its end.
//!
//! **Guarantee.** Serializable in `commit_ts` order, phantoms included.
//!
//! **Header bits.** The version word of the [footprint](crate::footprint), which is `txn-id` (its lock bit) and `begin-ts` of the newest
//! version; and a word that tells a reader who meets the lock where in the order its holder is going to be:
//!
//! ```text
//!  drawn   DRAWING: about to draw, or just has    T: it has drawn T, or will draw a later one    older: not yet
//! ```
//!
//! **Readers.** Who says beforehand that it writes nothing ([`SnapshotSource::only_reads`](crate::SnapshotSource::only_reads)), and who
//! reads a snapshot, reads as of a moment S, announced as it begins. It remembers nothing, validates nothing and never fails.
//! Where it meets a locked record, `drawn` tells: (a) T > S, or nothing drawn since S was announced, so that T > S will
//! be: the newest version is in its place still, or is in the chain; (b) T <= S: it is waited for, which takes as long as a
//! commit takes to install; nobody could have been told a state with S and without T. *Why (a) is safe*: the holder writes
//! DRAWING before it draws, drawing and announcing are read-modify-writes of one word; so who draws before S is announced
//! is seen to have begun. What an earlier holder has left there is older than the version in the word, or is a failed one's,
//! before whose successors' timestamps.
//!
//! **Lock order, abort causes.** Silo's, for those that write. The latch of a chain is below all locks.
//!
//! **What it does not do.** Write skew is prevented by validation, as under Silo: a transaction that writes gains nothing from
//! old versions. Open moments are in one list, which each reader enters and leaves, and which commits look at while there is one.

use crate::footprint::Versioned;
use crate::footprint::word::{ABSENT, CLAIMED, DEAD, LOCKED, VersionWord};
use crate::versioned::{OverVersions, Rules, Txn};
use crate::{Conflict, Guarantee};
use planaria_base::CommitTs;
use planaria_base::sync::atomic::{AtomicU64, Ordering};
use planaria_storage::{Append, Glance, Header, VersionStorage};
use std::marker::PhantomData;

/// In place of a timestamp: it is being drawn.
const DRAWING: u64 = u64::MAX;

/// What a record carries. Its versions are stored by `V`.
pub struct MvoccHeader<V> {
    word: VersionWord,
    drawn: AtomicU64,
    _versions: PhantomData<fn() -> V>,
}

impl<V> MvoccHeader<V> {
    /// Whoever has locked the record is going to draw its timestamp.
    #[inline]
    fn begin_drawing(&self) {
        // Relaxed: the draw releases it.
        self.drawn.store(DRAWING, Ordering::Relaxed);
    }

    /// It has drawn this one; if it draws again, a later one.
    #[inline]
    fn has_drawn(&self, ts: CommitTs) {
        // Release: who reads it finds what was installed before the lock was taken.
        self.drawn.store(ts.0, Ordering::Release);
    }
}

impl<V: VersionStorage> Versioned for MvoccHeader<V> {
    #[inline]
    fn word(&self) -> &VersionWord {
        &self.word
    }
}

impl<V: VersionStorage> Header for MvoccHeader<V> {
    type Versions = V;

    fn absent() -> Self {
        MvoccHeader { word: VersionWord::absent(), drawn: AtomicU64::new(0), _versions: PhantomData }
    }
    #[inline]
    fn glance(&self) -> Glance {
        self.word.glance()
    }
    #[inline]
    fn holds(&self, word: u64) -> bool {
        self.word.is_unchanged(word)
    }
    #[inline]
    fn changes_after(&self, at: CommitTs) -> bool {
        let word = self.word.load();
        if word & LOCKED == 0 {
            return false;
        }
        let version = word & !(LOCKED | ABSENT | DEAD | CLAIMED);
        let drawn = self.drawn.load(Ordering::Acquire);
        drawn != DRAWING && (drawn <= version || drawn > at.0)
    }
    fn is_present(&self) -> bool {
        self.word.is_present()
    }
    fn set_present(&self, present: bool) {
        self.word.set_present(present);
    }
}

/// The rules. The parameters switch off, for tests that must catch it, the validation of reads and of nodes, and telling
/// readers what has been drawn.
pub struct MvoccRules<V, const READS: bool, const NODES: bool, const TELLS: bool>(PhantomData<fn() -> V>);

impl<V, const READS: bool, const NODES: bool, const TELLS: bool> Clone
    for MvoccRules<V, READS, NODES, TELLS>
{
    fn clone(&self) -> Self {
        *self
    }
}
impl<V, const READS: bool, const NODES: bool, const TELLS: bool> Copy for MvoccRules<V, READS, NODES, TELLS> {}

/// The scheme over any storage of versions, with parts missing.
pub type MvoccWith<V, const READS: bool = true, const NODES: bool = true, const TELLS: bool = true> =
    OverVersions<MvoccRules<V, READS, NODES, TELLS>>;

/// The scheme as it should be, over append-only storage.
pub type Mvocc = MvoccWith<Append>;

impl<V: VersionStorage, const READS: bool, const NODES: bool, const TELLS: bool> Rules
    for MvoccRules<V, READS, NODES, TELLS>
{
    type Header = MvoccHeader<V>;
    type Locks = ();

    const NAME: &'static str = "mvocc";
    const GUARANTEE: Guarantee = Guarantee::SERIALIZABLE;
    const READS: bool = READS;
    const NODES: bool = NODES;
    const READERS: bool = true;

    #[inline]
    fn lock(txn: &mut Txn<Self>, locked: &mut usize) -> Result<(), Conflict> {
        txn.lock_writes(None, locked)?;
        if TELLS {
            txn.each_locked(MvoccHeader::begin_drawing);
        }
        Ok(())
    }

    #[inline]
    fn has_drawn(txn: &Txn<Self>, ts: CommitTs) {
        if TELLS {
            txn.each_locked(|header| header.has_drawn(ts));
        }
    }
}

#[cfg(all(test, loom))]
mod model;
