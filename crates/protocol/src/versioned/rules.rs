//! What the schemes of this room decide each for itself.

use super::{Access, Ptr, Txn};
use crate::footprint::Versioned;
use crate::{Conflict, Guarantee, Row, RowHandle};
use planaria_base::CommitTs;
use planaria_storage::{Arena, Table};

/// What a scheme locks of what its calls read and write, and when. What it says nothing of is as under Silo: commit locks
/// what is written, and validates what was read.
///
/// Rules hold for *calls*: transactions that claim nothing. One that claims what it writes
/// ([`RowLocks::claim_writes`](crate::RowLocks::claim_writes)) is a block of a client's, which may think for long: it
/// locks nothing that it reads, under any scheme, has levels, and is validated.
pub trait Rules: Copy + Send + Sync + 'static {
    /// What each record carries.
    type Header: Versioned;
    /// What a transaction has locked beside the writes that commit locks.
    type Locks: Default + Send + Sync;

    /// [`Protocol::NAME`](crate::Protocol::NAME)
    const NAME: &'static str;
    /// [`Protocol::GUARANTEE`](crate::Protocol::GUARANTEE)
    const GUARANTEE: Guarantee;
    /// Whether records that were read are validated, and leaves: off for tests alone, which must notice.
    const READS: bool = true;
    /// See [`Rules::READS`].
    const NODES: bool = true;
    /// Whether commit refuses what has changed since it was read; off for the upper bounds of the laboratory
    /// ([`crate::unvalidated`]).
    const VALIDATES: bool = true;

    /// Whether a transaction that says that it writes nothing ([`SnapshotSource::only_reads`](crate::SnapshotSource::only_reads)) reads
    /// as of its begin, and never fails.
    const READERS: bool = false;

    /// Whether transactions can be healed, and the parts of that, off for tests alone: see [`healing`](crate::healing).
    const HEALS: bool = false;
    /// See [`Rules::HEALS`].
    const HEALS_DEPENDENTS: bool = true;
    /// See [`Rules::HEALS`].
    const CHECKS_NEW_MEMBERS: bool = true;
    /// See [`Rules::HEALS`].
    const CHECKS_LEAVES_AGAIN: bool = true;

    /// The locks of a worker's transactions. `first`: those of the database, of which nothing is locked; for what its workers
    /// share.
    fn locks(first: &Self::Locks) -> Self::Locks {
        let _ = first;
        Self::Locks::default()
    }

    /// Accesses from this number on are new.
    #[inline(always)]
    fn has_read(txn: &mut Txn<Self>, from: usize) -> Result<(), Conflict> {
        let _ = (txn, from);
        Ok(())
    }

    /// Whether [`Rules::has_met`] looks at images: then they are read whole.
    const MEETS: bool = false;

    /// A lookup or a cursor has met a row, with this image in the arena.
    #[inline(always)]
    fn has_met(
        txn: &mut Txn<Self>,
        table: &Table<Self::Header>,
        row: Row,
        arena: &Arena,
    ) -> Result<(), Conflict> {
        let _ = (txn, table, row, arena);
        Ok(())
    }

    /// A row is about to be put in, by a call or a block.
    #[inline(always)]
    fn will_put(txn: &mut Txn<Self>, table: &Table<Self::Header>, image: &[u64]) -> Result<(), Conflict> {
        let _ = (txn, table, image);
        Ok(())
    }

    /// A row is about to be updated or deleted, by a call or a block.
    #[inline(always)]
    fn will_change(txn: &mut Txn<Self>, table: &Table<Self::Header>, row: RowHandle) -> Result<(), Conflict> {
        let _ = (txn, table, row);
        Ok(())
    }

    /// The transaction relies on no more than that the row of this access, its last one, is there.
    #[inline(always)]
    fn only_presence(txn: &mut Txn<Self>, access: usize) {
        let _ = (txn, access);
    }

    /// A call is about to write a row for the first time.
    #[inline(always)]
    fn will_write(txn: &mut Txn<Self>, record: Ptr<Self>) -> Result<(), Conflict> {
        let _ = (txn, record);
        Ok(())
    }

    /// Locks what has to be locked when the place in the order is drawn: the writes at least, in their order. `locked`
    /// counts these.
    #[inline(always)]
    fn lock(txn: &mut Txn<Self>, locked: &mut usize) -> Result<(), Conflict> {
        txn.lock_writes(None, locked)
    }

    /// It has drawn this place, with all locked; perhaps not for the first time.
    #[inline(always)]
    fn has_drawn(txn: &Txn<Self>, ts: CommitTs) {
        let _ = (txn, ts);
    }

    /// The same as [`Rules::lock`] for a transaction that has changed nothing.
    #[inline(always)]
    fn lock_reader(txn: &mut Txn<Self>) -> Result<(), Conflict> {
        let _ = txn;
        Ok(())
    }

    /// Whether a lock answers for what was read: it need not be validated.
    #[inline(always)]
    fn is_locked(txn: &Txn<Self>, access: &Access<Self>) -> bool {
        let _ = (txn, access);
        false
    }

    /// Whether the lock of a word that this transaction does not write is its own.
    #[inline(always)]
    fn has_locked(txn: &Txn<Self>, record: Ptr<Self>) -> bool {
        let _ = (txn, record);
        false
    }

    /// Lets go of [`Rules::Locks`]: nothing can fail any more, or has.
    #[inline(always)]
    fn let_go(txn: &mut Txn<Self>) {
        let _ = txn;
    }
}
