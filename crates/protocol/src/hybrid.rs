//! Optimistic first, by locks after a failure.
//!
//! **Paper.** M. Herlihy: *Apologizing Versus Asking Permission: Optimistic Concurrency Control for Abstract Data Types*,
//! TODS 1990; as Y. Wu's thesis (*Transaction Management on Multicores*, NUS 2017, §3.6) has it as a rival: a transaction runs
//! under optimistic concurrency control, and once that has failed, under two-phase locking.
//!
//! **Guarantee.** Serializable in `commit_ts` order, phantoms included: an attempt of either kind draws its place when it has
//! locked whatever it has read and writes.
//!
//! **Header bits.** Those of [`two_phase`](crate::two_phase): the version word, and who shares the row or has it alone.
//!
//! **First attempt.** Rows are read without locks. Commit locks them as [`occ`](crate::occ) does, in one order, and looks at
//! each version as it does so; but what is only read it shares, so that readers of a row commit beside each other.
//!
//! **Repetition.** What `retry` (or a failed commit) has taken back is tried again under two-phase locking, without waiting,
//! as often as it takes; whatever the conflict was: under locks no row changes any more that has been read. That an attempt is a
//! repetition is kept in the transaction between `retry` and its end (`Txn::repeated`). After commit or abort the next one is a
//! first attempt.
//!
//! **What is not there**, and blocks: as under `two_phase`.
//!
//! **Lock order.** Commit of a first attempt: of addresses, with bounded spinning. Else that of `two_phase`.
//!
//! **Abort causes.** Those of `occ` at the commit of a first attempt, of `two_phase` from then on.
//!
//! **What it does not do.** Guess beforehand which calls will fail, or forget that one did before it has ended.

use crate::door::Met;
use crate::footprint::word::{ABSENT, CLAIMED, LENIENT};
use crate::footprint::{Origin, SPINS_MAX, recycle};
use crate::two_phase::{Locks, Mode, TwoPhaseHeader};
use crate::versioned::{Access, OWN, OverVersions, Ptr, Rules, Txn};
use crate::{Conflict, Guarantee};
use planaria_base::sync::{point, simulation, spin_hint};

/// The rules. The parameters switch off, for tests that must catch it, locks of reads, validation of nodes, and holding
/// the locks of reads until the place in the order is drawn.
#[derive(Clone, Copy)]
pub struct HybridRules<const SHARES: bool, const NODES: bool, const HOLDS: bool>;

/// The hybrid with parts missing.
pub type HybridWith<const SHARES: bool, const NODES: bool, const HOLDS: bool = true> =
    OverVersions<HybridRules<SHARES, NODES, HOLDS>>;

/// The hybrid as it should be.
pub type Hybrid = HybridWith<true, true>;

/// What a transaction has locked, and in which order commit does so.
#[derive(Default)]
pub struct HybridLocks {
    rows: Locks,
    /// Addresses, and what is to be locked there.
    order: Vec<(u64, Wanted)>,
    /// A first attempt is being committed, and has locked everything.
    complete: bool,
}

/// A lock that commit wants: of a number of the accesses, or of the writes.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Wanted {
    Written(u32),
    Read(u32),
}

impl AsRef<Locks> for HybridLocks {
    #[inline]
    fn as_ref(&self) -> &Locks {
        &self.rows
    }
}

impl AsMut<Locks> for HybridLocks {
    #[inline]
    fn as_mut(&mut self) -> &mut Locks {
        &mut self.rows
    }
}

impl<const SHARES: bool, const NODES: bool, const HOLDS: bool> Rules for HybridRules<SHARES, NODES, HOLDS> {
    type Header = TwoPhaseHeader;
    type Locks = HybridLocks;

    const NAME: &'static str = "hybrid";
    const GUARANTEE: Guarantee = Guarantee::SERIALIZABLE;
    const NODES: bool = NODES;

    #[inline]
    fn has_read(txn: &mut Txn<Self>, from: usize) -> Result<(), Conflict> {
        if SHARES && (txn.repeated || txn.alone) { txn.share_from(from) } else { Ok(()) }
    }

    fn only_presence(txn: &mut Txn<Self>, access: usize) {
        if txn.repeated {
            txn.unshare_only_present(access);
        }
    }

    fn will_write(txn: &mut Txn<Self>, record: Ptr<Self>) -> Result<(), Conflict> {
        if txn.repeated { txn.exclude(record) } else { Ok(()) }
    }

    #[inline]
    fn lock(txn: &mut Txn<Self>, locked: &mut usize) -> Result<(), Conflict> {
        if txn.claiming && !txn.alone {
            txn.exclude_writes()?;
        } else if !txn.repeated {
            txn.lock_footprint()?;
        }
        if !HOLDS {
            txn.unshare_all();
        }
        txn.lock_writes(None, locked)
    }

    #[inline]
    fn lock_reader(txn: &mut Txn<Self>) -> Result<(), Conflict> {
        if !txn.claiming && !txn.repeated {
            txn.lock_footprint()?;
        }
        if !HOLDS {
            txn.unshare_all();
        }
        Ok(())
    }

    #[inline]
    fn is_locked(txn: &Txn<Self>, access: &Access<Self>) -> bool {
        // A first attempt that is running has locked nothing yet.
        (txn.repeated || txn.locks.complete) && txn.has_row_lock(access)
    }

    fn let_go(txn: &mut Txn<Self>) {
        txn.locks.complete = false;
        txn.free_rows();
    }
}

impl<const SHARES: bool, const NODES: bool, const HOLDS: bool> Txn<HybridRules<SHARES, NODES, HOLDS>> {
    /// At the commit of a first attempt: locks what it has read and writes, and sees that what it has read is as it was.
    /// (What it writes is compared when the version words are locked.)
    fn lock_footprint(&mut self) -> Result<(), Conflict> {
        if self.alone {
            return Ok(());
        }
        self.put_locks_in_order();
        for at in 0..self.locks.order.len() {
            match self.locks.order[at].1 {
                Wanted::Written(write) => self.lock_row(self.foot.writes[write as usize].record, true)?,
                Wanted::Read(access) => {
                    let Access { record, version } = self.accesses[access as usize];
                    self.lock_row(record, false)?;
                    if self.foot.word(record).load() & !CLAIMED != version {
                        return Err(Conflict::Validation);
                    }
                }
            }
        }
        self.locks.complete = true;
        Ok(())
    }

    fn put_locks_in_order(&mut self) {
        let Txn { foot, accesses, locks: HybridLocks { order, .. }, .. } = self;
        recycle(order);
        for (address, write) in &foot.order {
            // Placeholders are their inserter's alone.
            if foot.writes[*write as usize].origin == Origin::Row {
                order.push((*address, Wanted::Written(*write)));
            }
        }
        if SHARES {
            for (access, at) in accesses.iter().zip(0u32..) {
                if access.version != OWN && access.version & (LENIENT | ABSENT) == 0 {
                    order.push((access.record.to_word(), Wanted::Read(at)));
                }
            }
        }
        if simulation::orders_by_address() {
            order.sort_unstable();
        }
    }

    /// Locks a row, unless this commit has locked it already.
    fn lock_row(&mut self, record: Met<TwoPhaseHeader>, alone: bool) -> Result<(), Conflict> {
        let Txn { foot, locks, .. } = self;
        let held = locks.rows.of(record);
        let lock = &foot.header(record).lock;
        let (wanted, shares) =
            (if alone { Mode::Exclusive } else { Mode::Shared }, held.mode == Mode::Shared);
        if held.mode == Mode::Exclusive || held.mode == wanted {
            return Ok(());
        }
        for _ in 0..SPINS_MAX {
            if if alone { lock.exclude(shares) } else { lock.share() } {
                held.mode = wanted;
                point("has locked a row");
                return Ok(());
            }
            spin_hint();
        }
        Err(Conflict::Locked)
    }
}
