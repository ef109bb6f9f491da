//! Optimistic concurrency control that locks what it has read, too.
//!
//! **Paper.** H. T. Kung, J. T. Robinson: *On Optimistic Methods for Concurrency Control*, TODS 1981, as Y. Wu's thesis
//! (*Transaction Management on Multicores*, NUS 2017, §3.6) has it as a rival: at commit each element of read set and write set
//! is locked, in one order of all records, and validated as it is locked. Silo locks the writes alone.
//!
//! **Guarantee.** Serializable in `commit_ts` order, phantoms included.
//!
//! **Header bits.** Silo's: the version word.
//!
//! **Lock order.** Of addresses, reads and writes together, with bounded spinning; locks are exclusive. The place in the
//! order is drawn when all are held, so what is locked needs no second look.
//!
//! **What is not locked** is validated after the draw, as under Silo: leaves, and placeholders, which are their
//! inserter's alone; rows that need only be there; rows whose writes were undone; and rows that a block has claimed, since
//! a holder of a claim finds the word free ([`claim`](crate::claim)). Blocks lock no reads ([`Rules`]).
//!
//! **Abort causes.** Those of [`silo`](crate::silo). `Validation` may come before anything is drawn.
//!
//! **What it does not do.** Let readers of a row commit beside each other: that is what it is compared with Silo for.

use crate::door::Met;
use crate::footprint::SPINS_MAX;
use crate::footprint::recycle;
use crate::footprint::word::{ABSENT, CLAIMED, LENIENT, LOCKED, Locking};
use crate::silo::SiloHeader;
use crate::versioned::{OWN, OverVersions, Rules, Txn};
use crate::{Conflict, Guarantee, SerialOrder};
use planaria_base::sync::{point, simulation, spin_hint};

/// The rules. The parameters switch off, for tests that must catch it, the validation of reads and of nodes, and holding
/// the locks of reads until the place in the order is drawn.
#[derive(Clone, Copy)]
pub struct OccRules<const READS: bool, const NODES: bool, const HOLDS: bool, const VALIDATES: bool>;

/// OCC with parts missing.
pub type OccWith<const READS: bool, const NODES: bool, const HOLDS: bool = true> =
    OverVersions<OccRules<READS, NODES, HOLDS, true>>;

/// OCC as it should be.
pub type Occ = OccWith<true, true>;

/// What a transaction locks of what it has read.
#[derive(Default)]
pub struct ReadLocks {
    /// Addresses, and numbers of accesses, in lock order.
    order: Vec<(u64, u32)>,
    /// What is locked, and at which versions.
    locked: Vec<(Met<SiloHeader>, u64)>,
}

impl<const READS: bool, const NODES: bool, const HOLDS: bool, const VALIDATES: bool> Rules
    for OccRules<READS, NODES, HOLDS, VALIDATES>
{
    type Header = SiloHeader;
    type Locks = ReadLocks;

    const NAME: &'static str = if VALIDATES { "occ" } else { "occ-unvalidated" };
    const GUARANTEE: Guarantee =
        Guarantee { order: if VALIDATES { Some(SerialOrder::CommitTs) } else { None }, phantoms: !VALIDATES };
    const READS: bool = READS;
    const NODES: bool = NODES;
    const VALIDATES: bool = VALIDATES;

    fn lock(txn: &mut Txn<Self>, locked: &mut usize) -> Result<(), Conflict> {
        txn.put_reads_in_order();
        // Where a run is to be repeated, addresses are no order.
        let merges = simulation::orders_by_address();
        if !merges {
            txn.lock_writes(None, locked)?;
        }
        for at in 0..txn.locks.order.len() {
            let (address, access) = txn.locks.order[at];
            if merges {
                txn.lock_writes(Some(address), locked)?;
            }
            txn.lock_read(access)?;
        }
        txn.lock_writes(None, locked)
    }

    fn lock_reader(txn: &mut Txn<Self>) -> Result<(), Conflict> {
        txn.put_reads_in_order();
        (0..txn.locks.order.len()).try_for_each(|at| txn.lock_read(txn.locks.order[at].1))
    }

    #[cold]
    fn has_locked(txn: &Txn<Self>, record: Met<SiloHeader>) -> bool {
        txn.locks.locked.iter().any(|(locked, _)| *locked == record)
    }

    fn let_go(txn: &mut Txn<Self>) {
        for (record, version) in txn.locks.locked.drain(..) {
            txn.foot.word(record).publish(version);
        }
    }
}

impl<const READS: bool, const NODES: bool, const HOLDS: bool, const VALIDATES: bool>
    Txn<OccRules<READS, NODES, HOLDS, VALIDATES>>
{
    /// Finds out which reads are to be locked: of rows that the transaction does not write. (A write that was undone is
    /// validated as such.)
    fn put_reads_in_order(&mut self) {
        recycle(&mut self.locks.order);
        if self.claiming || self.alone || !READS {
            return;
        }
        for (access, at) in self.accesses.iter().zip(0u32..) {
            let a_row = access.version != OWN && access.version & (LENIENT | ABSENT) == 0;
            if a_row && self.foot.find_write(access.record).is_none() {
                self.locks.order.push((access.record.to_word(), at));
            }
        }
        if simulation::orders_by_address() {
            self.locks.order.sort_unstable();
        }
    }

    /// Locks a row that was read, and sees that it is the one that was read. From then on the lock answers for it.
    fn lock_read(&mut self, at: u32) -> Result<(), Conflict> {
        let access = self.accesses[at as usize];
        let is_locked = |(record, version): &(Met<SiloHeader>, u64)| {
            *record == access.record && (!VALIDATES || *version == access.version)
        };
        // In order of addresses, what was read twice follows itself.
        let locked = &self.locks.locked;
        let twice = locked.last().is_some_and(is_locked)
            || !simulation::orders_by_address() && locked.iter().any(is_locked);
        if !twice {
            let word = self.foot.word(access.record);
            let (mut version, mut spins) = (access.version, 0);
            loop {
                match word.try_lock(version) {
                    Locking::Done => break,
                    Locking::Busy if spins == SPINS_MAX => return Err(Conflict::Locked),
                    Locking::Busy => spin_hint(),
                    // Claimed: left to validation.
                    Locking::Moved if word.load() & !(CLAIMED | LOCKED) == version => return Ok(()),
                    Locking::Moved if VALIDATES => return Err(Conflict::Validation),
                    Locking::Moved if spins == SPINS_MAX => return Err(Conflict::Locked),
                    Locking::Moved => match word.load() & !LOCKED {
                        now if now & (ABSENT | CLAIMED) != 0 => return Ok(()),
                        now => version = now,
                    },
                }
                spins += 1;
            }
            if HOLDS {
                self.locks.locked.push((access.record, version));
            } else {
                word.publish(version);
            }
            point("has locked a row that it read");
        }
        self.accesses[at as usize].version = OWN;
        Ok(())
    }
}
