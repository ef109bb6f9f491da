//! Transaction healing: what has become stale is run again under locks, instead of the whole from the beginning.
//!
//! **Paper.** Y. Wu: *Transaction Management on Multicores*, PhD thesis, NUS 2017, chapter 3; Y. Wu, C.-Y. Chan, K.-L. Tan:
//! *Transaction Healing: Scaling Optimistic Concurrency Control on Multicores*, SIGMOD 2016. Different from it: the unit that is run
//! again is the program, not a node of its dependency graph, over an access cache that spares index lookups; and what
//! was only read is locked once a validation has failed, not before (`docs/design/healing.md`).
//!
//! **Guarantee.** Serializable in `commit_ts` order, phantoms included.
//!
//! **Header bits.** Silo's: the version word.
//!
//! **Lock order.** A first commit is Silo's. To heal, whatever was read and written is locked in address order, reads
//! included, with bounded spinning, and stays locked until the end. What a healed run reads beyond that is validated; what it writes beyond is
//! locked as under Silo, holding the others, with bounded spinning: waiting out of order never lasts.
//!
//! **Healing** ([`Heals::heal`](crate::Heals::heal)), of a transaction whose caller can run it again:
//!
//! 1. what it has read and written is locked, at whatever version, and so is what it could not read because it was locked;
//! 2. rows whose version is not the one that was read are *stale*. Where all that has changed of them is columns that nobody has read, nothing
//!    is: the transaction commits ([`Heal::Commit`]). Rows that it writes are stale in any case;
//! 3. else its writes are undone, what it has read is forgotten but for the access cache, and it runs again ([`Heal::Run`]). Locked
//!    rows read as they are; a lookup that the last run made as well goes to the record that it led to.
//! 4. The place in the order is drawn after the last lock, and leaves and what is not locked are validated after that, as ever.
//!    What fails there is healed again, [`ROUNDS_MAX`](crate::healing::ROUNDS_MAX) times in all.
//!
//! **When.** A worker of whose attempts few are in vain heals nothing and remembers nothing: then this is Silo.
//!
//! **Abort causes.** Those of [`silo`](crate::silo), where a row cannot be locked, a foreign key does not go away, or rounds are used up.
//!
//! **What it does not do.** Heal blocks: a client has seen their answers. Keep answers of scans: they are executed again. Ask who has
//! claimed a row while it holds locks: whoever has the list may be waiting for them. Lock the members of giants.

use crate::door::Met;
use crate::silo::SiloHeader;
use crate::versioned::{OverVersions, Rules, Txn};
use crate::{Conflict, Guarantee};

/// How often a transaction is healed before it begins anew.
pub const ROUNDS_MAX: u32 = 8;

/// What [`Heals::heal`](crate::Heals::heal) has made of a transaction.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Heal {
    /// Nothing: it can only be tried again as a whole.
    No,
    /// All that was read holds, and is locked: it is to be committed again.
    Commit,
    /// It has done nothing yet, but holds locks: it is to be run again, and committed.
    Run,
}

/// What a transaction that may be healed remembers of its lookups: the parts of the access cache, which experiments
/// price one by one. What it does not remember it finds by the index, and runs again for.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default, Debug)]
pub enum Remembers {
    /// Nothing: a healed run makes each lookup again.
    Nothing,
    /// Keys, and the records that they led to. Whatever has changed counts as stale.
    Lookups,
    /// The rows as they were, too, which tells false invalidations.
    #[default]
    Rows,
}

/// What healing has taken.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Healed {
    /// Times that a transaction was run again under locks.
    pub runs: u64,
    /// Lookups of these runs that the access cache has answered.
    pub known: u64,
    /// Lookups that were made again, or for the first time.
    pub repeated: u64,
    /// Rows that had changed, but in nothing that was read.
    pub false_invalidations: u64,
    /// Times that all locks were let go of to be taken in order.
    pub relocks: u64,
}

/// The rules. The parameter leaves parts out, for tests that must catch it: see [`HealingWith`].
#[derive(Clone, Copy)]
pub struct HealingRules<const PART_MISSING: u8>;

/// Healing with a part missing: [`DEPENDENTS`], [`NEW_MEMBERS`] or [`LEAVES`].
pub type HealingWith<const PART_MISSING: u8> = OverVersions<HealingRules<PART_MISSING>>;

/// Healing as it should be.
pub type Healing = HealingWith<0>;

/// Left out: whatever has changed counts as a false invalidation, so what depends on it is not run again.
pub const DEPENDENTS: u8 = 1;
/// Left out: what a healed run reads beyond what is locked is neither locked nor validated.
pub const NEW_MEMBERS: u8 = 2;
/// Left out: leaves are not validated after a healed run.
pub const LEAVES: u8 = 3;

impl<const PART_MISSING: u8> Rules for HealingRules<PART_MISSING> {
    type Header = SiloHeader;
    type Locks = ();

    const NAME: &'static str = "healing";
    const GUARANTEE: Guarantee = Guarantee::SERIALIZABLE;
    const HEALS: bool = true;
    const HEALS_DEPENDENTS: bool = PART_MISSING != DEPENDENTS;
    const CHECKS_NEW_MEMBERS: bool = PART_MISSING != NEW_MEMBERS;
    const CHECKS_LEAVES_AGAIN: bool = PART_MISSING != LEAVES;

    #[inline]
    fn has_locked(txn: &Txn<Self>, record: Met<SiloHeader>) -> bool {
        txn.foot.mine.has(record.to_word())
    }

    #[inline]
    fn let_go(txn: &mut Txn<Self>) {
        if !txn.foot.mine.is_empty() {
            txn.release_mine();
        }
    }
}

/// What can be healed: the transaction has met what others have changed, or are changing.
pub(crate) const fn is_healed(cause: Conflict) -> bool {
    matches!(cause, Conflict::Validation | Conflict::Locked | Conflict::Phantom | Conflict::Key)
}
