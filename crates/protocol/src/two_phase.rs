//! Strict two-phase locking, without waiting.
//!
//! **Paper.** K. P. Eswaran, J. N. Gray, R. A. Lorie, I. L. Traiger: *The Notions of Consistency and Predicate Locks in a
//! Database System*, CACM 1976; with no wait, as Y. Wu's thesis (*Transaction Management on Multicores*, NUS 2017, §3.6) has
//! it as a rival: a lock that is not free is a conflict at once, so there is no deadlock.
//!
//! **Guarantee.** Serializable in `commit_ts` order, phantoms included: the place in the order is drawn while all locks are
//! held. Under locks of its rows a transaction sees one state as it runs; only what is not there may change under it.
//!
//! **Header bits.** The version word, which commit locks while it installs, for readers of snapshots; and a
//! [`LockWord`]: how many share the row, or that one has it alone.
//!
//! **Locks.** Reading a row shares it, writing it excludes all others: one that shares a row alone can raise its lock. All
//! are let go of at the end, once the writes are installed. Savepoints and points give none back.
//!
//! **What is not there** cannot be locked: leaves, and placeholders of others, are validated after the draw
//! ([`versioned`](crate::versioned)). So are rows that need only be there, which may change.
//!
//! **Blocks** ([`Rules`]) lock nothing as they run: a client would hold the locks while it thinks, and all
//! calls would fail meanwhile. They claim what they write, are validated, and at commit take the locks of
//! what they write: nobody can share these rows from then on, and the block waits for those that do. Calls never wait for
//! anybody, so that ends; one that goes on for long makes the block fail.
//!
//! **Lock order.** None among calls. A block locks its rows in the order of addresses; of two blocks, claims have settled
//! whose a row is.
//!
//! **Abort causes.** `Locked`; `Validation` and `Phantom` of what is not there; the others of [`silo`](crate::silo).
//!
//! **What it does not do.** Wait, wound, or lock ranges. Rows cost a word more.

use crate::door::Met;
use crate::footprint::sets::PointerMap;
use crate::footprint::word::{ABSENT, CLAIMED, LENIENT, VersionWord};
use crate::footprint::{Origin, Versioned, recycle};
use crate::versioned::{Access, OWN, OverVersions, Ptr, Rules, Txn};
use crate::{Conflict, Guarantee};
use planaria_base::sync::atomic::{AtomicU32, Ordering};
use planaria_base::sync::{point, thread};
use planaria_storage::{Glance, Header, Single};
use std::time::Duration;

/// Rules whose calls lock rows by their [`LockWord`].
pub trait LocksRows: Rules<Header = TwoPhaseHeader, Locks: AsRef<Locks> + AsMut<Locks>> {}

impl<R: Rules<Header = TwoPhaseHeader, Locks: AsRef<Locks> + AsMut<Locks>>> LocksRows for R {}

/// Somebody has the row alone, or waits until those that share it have gone.
const EXCLUSIVE: u32 = 1 << 31;

/// How often a block gives its processor up for calls that share a row, and how often it looks in all: from then on after
/// naps.
const YIELDS: u32 = 64;
const PATIENCE: u32 = 1000;
const NAP: Duration = Duration::from_micros(50);

/// A lock that is shared by some or held by one. Nobody waits in it.
pub(crate) struct LockWord(AtomicU32);

impl LockWord {
    /// Nobody has it.
    pub(crate) fn unlocked() -> LockWord {
        LockWord(AtomicU32::new(0))
    }

    /// Shares it, unless one has it.
    #[inline]
    pub(crate) fn share(&self) -> bool {
        let mut now = self.0.load(Ordering::Relaxed);
        while now & EXCLUSIVE == 0 {
            match self.0.compare_exchange_weak(now, now + 1, Ordering::Acquire, Ordering::Relaxed) {
                Ok(_) => return true,
                Err(other) => now = other,
            }
        }
        false
    }

    #[inline]
    pub(crate) fn unshare(&self) {
        self.0.fetch_sub(1, Ordering::Release);
    }

    /// Takes it for one, who shares it already or not, unless others have it.
    #[inline]
    pub(crate) fn exclude(&self, shares: bool) -> bool {
        self.0.compare_exchange(u32::from(shares), EXCLUSIVE, Ordering::Acquire, Ordering::Relaxed).is_ok()
    }

    /// Nobody can share it any more; whether that is this caller's doing.
    fn shut(&self) -> bool {
        self.0.fetch_or(EXCLUSIVE, Ordering::Acquire) & EXCLUSIVE == 0
    }

    /// Whether those that shared it when it was shut have gone.
    fn is_left(&self) -> bool {
        self.0.load(Ordering::Acquire) == EXCLUSIVE
    }

    #[inline]
    pub(crate) fn free(&self) {
        // Those that share it may be on their way out.
        self.0.fetch_and(!EXCLUSIVE, Ordering::Release);
    }
}

/// What a record carries: its version, and who has locked it.
pub struct TwoPhaseHeader {
    word: VersionWord,
    pub(crate) lock: LockWord,
}

impl Versioned for TwoPhaseHeader {
    #[inline]
    fn word(&self) -> &VersionWord {
        &self.word
    }
}

impl Header for TwoPhaseHeader {
    type Versions = Single;

    fn absent() -> Self {
        TwoPhaseHeader { word: VersionWord::absent(), lock: LockWord::unlocked() }
    }
    #[inline]
    fn glance(&self) -> Glance {
        self.word.glance()
    }
    #[inline]
    fn holds(&self, word: u64) -> bool {
        self.word.is_unchanged(word)
    }
    fn is_present(&self) -> bool {
        self.word.is_present()
    }
    fn set_present(&self, present: bool) {
        self.word.set_present(present);
    }
}

/// The rules. The parameters switch off, for tests that must catch it, locks of reads, validation of nodes, and holding
/// the locks of reads until the place in the order is drawn.
#[derive(Clone, Copy)]
pub struct TwoPhaseRules<const SHARES: bool, const NODES: bool, const HOLDS: bool>;

/// Two-phase locking with parts missing.
pub type TwoPhaseWith<const SHARES: bool, const NODES: bool, const HOLDS: bool = true> =
    OverVersions<TwoPhaseRules<SHARES, NODES, HOLDS>>;

/// Two-phase locking as it should be.
pub type TwoPhase = TwoPhaseWith<true, true>;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Mode {
    /// Given back before the end.
    Free,
    Shared,
    Exclusive,
}

pub(crate) struct Held {
    record: Met<TwoPhaseHeader>,
    pub(crate) mode: Mode,
    /// The access that needs it, if it is one only; [`MANY`].
    access: u32,
}

const MANY: u32 = u32::MAX;

/// What a transaction has locked: each record once.
#[derive(Default)]
pub struct Locks {
    held: Vec<Held>,
    map: PointerMap,
    /// Rows were read without a lock, by who was alone.
    pub(crate) passed_by: bool,
}

impl AsRef<Locks> for Locks {
    #[inline]
    fn as_ref(&self) -> &Locks {
        self
    }
}

impl AsMut<Locks> for Locks {
    #[inline]
    fn as_mut(&mut self) -> &mut Locks {
        self
    }
}

impl Locks {
    /// The entry of a record, made if there is none.
    #[inline]
    pub(crate) fn of(&mut self, record: Met<TwoPhaseHeader>) -> &mut Held {
        let Locks { held, map, .. } = self;
        let address = record.to_word();
        let at = match map.find(address, held.len(), |i| held[i].record.to_word()) {
            Some(at) => at as usize,
            None => {
                held.push(Held { record, mode: Mode::Free, access: MANY });
                map.insert(address, held.len() - 1, |i| held[i].record.to_word());
                held.len() - 1
            }
        };
        &mut held[at]
    }
}

impl<const SHARES: bool, const NODES: bool, const HOLDS: bool> Rules for TwoPhaseRules<SHARES, NODES, HOLDS> {
    type Header = TwoPhaseHeader;
    type Locks = Locks;

    const NAME: &'static str = "two_phase";
    const GUARANTEE: Guarantee = Guarantee::SERIALIZABLE;
    const NODES: bool = NODES;

    #[inline]
    fn has_read(txn: &mut Txn<Self>, from: usize) -> Result<(), Conflict> {
        if SHARES { txn.share_from(from) } else { Ok(()) }
    }

    fn only_presence(txn: &mut Txn<Self>, access: usize) {
        txn.unshare_only_present(access);
    }

    fn will_write(txn: &mut Txn<Self>, record: Ptr<Self>) -> Result<(), Conflict> {
        txn.exclude(record)
    }

    #[inline]
    fn lock(txn: &mut Txn<Self>, locked: &mut usize) -> Result<(), Conflict> {
        if txn.claiming && !txn.alone {
            txn.exclude_writes()?;
        }
        if !HOLDS {
            txn.unshare_all();
        }
        txn.lock_writes(None, locked)
    }

    #[inline]
    fn lock_reader(txn: &mut Txn<Self>) -> Result<(), Conflict> {
        if !HOLDS {
            txn.unshare_all();
        }
        Ok(())
    }

    #[inline]
    fn is_locked(txn: &Txn<Self>, access: &Access<Self>) -> bool {
        txn.has_row_lock(access)
    }

    fn let_go(txn: &mut Txn<Self>) {
        txn.free_rows();
    }
}

impl<R: LocksRows> Txn<R> {
    /// Shares the rows that a call has just read.
    #[inline]
    pub(crate) fn share_from(&mut self, from: usize) -> Result<(), Conflict> {
        if self.claiming {
            return Ok(());
        }
        if self.alone {
            self.locks.as_mut().passed_by = true;
            return Ok(());
        }
        (from..self.accesses.len()).try_for_each(|at| self.share(at))
    }

    /// Shares a row that has just been read, and sees that it still is what was read.
    #[inline]
    fn share(&mut self, at: usize) -> Result<(), Conflict> {
        let Access { record, version } = self.accesses[at];
        if version == OWN || version & (LENIENT | ABSENT) != 0 {
            return Ok(());
        }
        let Txn { foot, locks, .. } = self;
        let held = locks.as_mut().of(record);
        if held.mode != Mode::Free {
            held.access = MANY;
            return Ok(());
        }
        let header = foot.header(record);
        if !header.lock.share() {
            return Err(Conflict::Locked);
        }
        (held.mode, held.access) = (Mode::Shared, at as u32);
        if header.word.load() & !CLAIMED == version { Ok(()) } else { Err(Conflict::Validation) }
    }

    /// A row that was shared for this access alone may change, as long as it is there.
    pub(crate) fn unshare_only_present(&mut self, access: usize) {
        let record = self.accesses[access].record;
        let held = self.locks.as_mut().of(record);
        if held.mode == Mode::Shared && held.access == access as u32 {
            held.mode = Mode::Free;
            self.foot.header(record).lock.unshare();
        }
    }

    /// Takes a row for this call alone.
    pub(crate) fn exclude(&mut self, record: Ptr<R>) -> Result<(), Conflict> {
        if self.alone {
            return Ok(());
        }
        let Txn { foot, locks, .. } = self;
        let held = locks.as_mut().of(record);
        if held.mode != Mode::Exclusive {
            if !foot.header(record).lock.exclude(held.mode == Mode::Shared) {
                return Err(Conflict::Locked);
            }
            held.mode = Mode::Exclusive;
            point("has a row alone");
        }
        Ok(())
    }

    /// See [`Rules::is_locked`], of one whose rows are locked as they are read, or at commit.
    #[inline]
    pub(crate) fn has_row_lock(&self, access: &Access<R>) -> bool {
        !self.claiming && !self.locks.as_ref().passed_by && access.version & (LENIENT | ABSENT) == 0
    }

    /// A block takes the locks of the rows that it changes: it has claimed them, so calls alone are in its way.
    #[cold]
    pub(crate) fn exclude_writes(&mut self) -> Result<(), Conflict> {
        let Txn { foot, locks, .. } = self;
        let locks = locks.as_mut();
        for (_, write) in &foot.order {
            let write = &foot.writes[*write as usize];
            let held = locks.of(write.record);
            if write.origin == Origin::Insert || held.mode == Mode::Exclusive {
                continue;
            }
            let lock = &foot.header(write.record).lock;
            if std::mem::replace(&mut held.mode, Mode::Free) == Mode::Shared {
                lock.unshare();
            }
            let (mut shut, mut looks) = (false, 0);
            loop {
                shut = shut || lock.shut();
                if shut && lock.is_left() {
                    break;
                }
                if looks == PATIENCE {
                    if shut {
                        lock.free();
                    }
                    return Err(Conflict::Locked);
                }
                if looks < YIELDS {
                    thread::yield_now()
                } else {
                    thread::sleep(NAP)
                }
                looks += 1;
            }
            held.mode = Mode::Exclusive;
            point("a block has a row alone");
        }
        Ok(())
    }

    /// Gives back what is shared before the place in the order is drawn, as is wrong.
    #[cold]
    pub(crate) fn unshare_all(&mut self) {
        let Txn { foot, locks, .. } = self;
        for held in locks.as_mut().held.iter_mut().filter(|held| held.mode == Mode::Shared) {
            foot.header(held.record).lock.unshare();
            held.mode = Mode::Free;
        }
    }

    /// Gives all locks of rows back.
    #[inline]
    pub(crate) fn free_rows(&mut self) {
        let Txn { foot, locks, .. } = self;
        let locks = locks.as_mut();
        locks.passed_by = false;
        if locks.held.is_empty() {
            return;
        }
        for Held { record, mode, .. } in &locks.held {
            let lock = &foot.header(*record).lock;
            match mode {
                Mode::Free => {}
                Mode::Shared => lock.unshare(),
                Mode::Exclusive => lock.free(),
            }
        }
        recycle(&mut locks.held);
        locks.map.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_has_it_or_some_share_it() {
        let lock = LockWord(AtomicU32::new(0));
        assert!(lock.share() && lock.share());
        assert!(!lock.exclude(true), "another shares it");
        lock.unshare();
        assert!(lock.exclude(true));
        assert!(!lock.share() && !lock.exclude(false) && !lock.shut());
        lock.free();
        // Who shuts it out waits for those that are in.
        assert!(lock.share() && lock.shut());
        assert!(!lock.share() && !lock.exclude(true) && !lock.is_left());
        lock.unshare();
        assert!(lock.is_left());
        lock.free();
        assert!(lock.exclude(false));
    }
}

#[cfg(all(test, loom))]
mod model {
    use super::*;
    use loom::sync::Arc;
    use loom::thread;
    use planaria_base::sync::atomic::AtomicU64;

    /// A row of two words that are equal whenever nobody has it alone.
    struct Row {
        lock: LockWord,
        words: [AtomicU64; 2],
    }

    impl Row {
        fn read(&self) {
            if self.lock.share() {
                let [a, b] = [0, 1].map(|i: usize| self.words[i].load(Ordering::Relaxed));
                assert_eq!(a, b, "somebody changes what is shared");
                self.lock.unshare();
            }
        }
        fn change(&self) {
            let was = self.words[0].load(Ordering::Relaxed);
            self.words.iter().for_each(|word| word.store(was + 1, Ordering::Relaxed));
            self.lock.free();
        }
    }

    #[test]
    fn what_is_shared_does_not_change() {
        loom::model(|| {
            let row = Arc::new(Row {
                lock: LockWord(AtomicU32::new(0)),
                words: [AtomicU64::new(0), AtomicU64::new(0)],
            });
            let reader = thread::spawn({
                let row = row.clone();
                move || row.read()
            });
            let call = thread::spawn({
                let row = row.clone();
                move || row.lock.exclude(false).then(|| row.change()).is_some()
            });
            // A block: it waits for who is in.
            let mut changes = 0;
            if row.lock.shut() {
                while !row.lock.is_left() {
                    loom::thread::yield_now();
                }
                row.change();
                changes += 1;
            }
            reader.join().unwrap();
            changes += u64::from(call.join().unwrap());
            assert_eq!(row.words[0].load(Ordering::Relaxed), changes, "a change is lost");
        });
    }
}
