//! Locks of partitions, taken before execution where it is known which are needed.
//!
//! **Paper.** Y. Wu's thesis (*Transaction Management on Multicores*, NUS 2017, §3.6) has as a rival DT, deterministic
//! transactions: the database is partitioned, a transaction locks its partitions before it runs, in one order, and nothing
//! can make it fail from then on; tables that are only read are in all partitions. As in R. Kallman et al.: *H-Store*, VLDB 2008,
//! and A. Thomson et al.: *Calvin*, SIGMOD 2012.
//!
//! **Guarantee.** Serializable in `commit_ts` order, phantoms included: the place in the order is drawn while all partitions are locked.
//!
//! **Header bits.** Silo's: the version word, which commit locks while it installs, for readers of snapshots and for blocks.
//!
//! **Partitions.** A row belongs to one of [`PARTITIONS`], by the leading column of its primary key, of whatever table: rows
//! of one warehouse are together. (Of a number modulo, of anything else by a hash.)
//!
//! **Which partitions a call needs** is not told; it is found out. As the call meets a row it locks its partition, shared, or alone to
//! change a row or put one in. One that comes behind all that it has, in order, it waits for; as does a call with a
//! single partition. One that comes before it takes only if it is free. If not, or to have alone what others share, the attempt is over, and the next
//! locks whatever the attempts so far have asked for before it does anything else, in order: then it is deterministic, as long
//! as it asks for nothing else.
//!
//! **What a partition's lock answers for** are the rows: they need no validation. A row that was read before its partition was
//! locked is looked at once more. What is not there is validated as under Silo, by leaves; so is what a call has met
//! without a row of it.
//!
//! **Tables that are only read** are not locked, and their rows are validated as under Silo. Such a table has not been written to in some
//! [`CALM`] times [`SAMPLED`] reads: nobody declares it.
//!
//! **Blocks** ([`Rules`]) lock nothing as they run, as under [`two_phase`](crate::two_phase); at commit they lock the partitions that they
//! change, in order, and wait for the calls there.
//!
//! **Lock order.** Of partitions, then of version words as under Silo. Waiting has an end in any case.
//!
//! **Abort causes.** `Locked`, until the partitions are known; those of [`silo`](crate::silo) for what is not there and for tables that are only read.
//!
//! **What it does not do.** Queue calls for partitions: they look until one is free. Let a call of many partitions go on with some of
//! them, or keep rows of a partition with a core.

use crate::footprint::record::{Seen, read_record};
use crate::footprint::word::{ABSENT, CLAIMED, LENIENT};
use crate::silo::SiloHeader;
use crate::two_phase::{LockWord, Mode};
use crate::versioned::{Access, OWN, OverVersions, Rules, Txn};
use crate::{Conflict, Guarantee, Row, RowHandle};
use planaria_base::sync::atomic::{AtomicU32, Ordering};
use planaria_base::sync::{point, spin_hint, thread};
use planaria_base::{IndexId, TableId};
use planaria_storage::{Arena, KeyBuf, Table};
use std::sync::Arc;
use std::time::Duration;

/// Partitions of a database.
pub const PARTITIONS: usize = 256;
/// Samples of reads without a write between them after which a table counts as one that is only read, and reads of a worker
/// between two samples.
pub const CALM: u32 = 16;
/// See [`CALM`].
pub const SAMPLED: u32 = 64;

/// Looks at a partition that others have: so often with nothing between, and then giving the processor up, and then after naps.
const SPINS: u32 = 128;
const YIELDS: u32 = SPINS + 64;
const PATIENCE: u32 = YIELDS + 200;
const NAP: Duration = Duration::from_micros(50);
/// Looks at one that comes before others that the call has.
const IMPATIENCE: u32 = 8;

/// A lock on a cache line of its own.
#[repr(align(64))]
struct Partition(LockWord);

/// What all workers of a database share.
struct Shared {
    partitions: Box<[Partition]>,
    /// By table, modulo: samples of reads since the last write.
    calm: Box<[AtomicU32]>,
}

impl Default for Shared {
    fn default() -> Shared {
        Shared {
            partitions: (0..PARTITIONS).map(|_| Partition(LockWord::unlocked())).collect(),
            calm: (0..PARTITIONS).map(|_| AtomicU32::new(0)).collect(),
        }
    }
}

impl Shared {
    fn calm(&self, table: TableId) -> &AtomicU32 {
        &self.calm[table.0 as usize % PARTITIONS]
    }
}

/// The partition of rows whose leading column has this encoding. Numbers that follow each other have partitions that do.
fn partition_of(words: &[u64]) -> u16 {
    let hash = words.iter().fold(0u64, |hash, word| hash.wrapping_mul(0x9e37_79b9) ^ word ^ (word >> 32));
    (hash % PARTITIONS as u64) as u16
}

/// The partitions of a call.
#[derive(Default)]
pub struct PartitionLocks {
    shared: Arc<Shared>,
    /// Locked, in order.
    held: Vec<(u16, Mode)>,
    /// What this attempt, and those before it, have asked for; in order.
    wanted: Vec<(u16, Mode)>,
    /// This attempt has asked for something.
    begun: bool,
    /// Rows that were read, and that no lock answers for.
    loose: u32,
    /// The last row that was met: its access, its partition, and whether that was locked for its sake.
    last: Option<(u32, u16, bool)>,
    reads: u32,
    key: KeyBuf,
}

impl PartitionLocks {
    fn mode(&self, partition: u16) -> Mode {
        match self.held.binary_search_by_key(&partition, |(held, _)| *held) {
            Ok(at) => self.held[at].1,
            Err(_) => Mode::Free,
        }
    }

    fn want(&mut self, partition: u16, mode: Mode) {
        match self.wanted.binary_search_by_key(&partition, |(wanted, _)| *wanted) {
            Ok(at) if mode == Mode::Exclusive => self.wanted[at].1 = mode,
            Ok(_) => {}
            Err(at) => self.wanted.insert(at, (partition, mode)),
        }
    }

    /// Locks a partition, for one who has it shared or not at all. Whether it was not locked before.
    fn lock(&mut self, partition: u16, mode: Mode) -> Result<bool, Conflict> {
        let has = self.mode(partition);
        if has == Mode::Exclusive || has == mode {
            return Ok(false);
        }
        self.want(partition, mode);
        let waits = has == Mode::Free && self.held.last().is_none_or(|(last, _)| *last < partition);
        let lock = &self.shared.partitions[usize::from(partition)].0;
        let patience = if waits { PATIENCE } else { IMPATIENCE };
        for look in 0..patience {
            let locked = match mode {
                Mode::Exclusive => lock.exclude(has == Mode::Shared),
                _ => lock.share(),
            };
            if locked {
                match self.held.binary_search_by_key(&partition, |(held, _)| *held) {
                    Ok(at) => self.held[at].1 = mode,
                    Err(at) => self.held.insert(at, (partition, mode)),
                }
                point("has locked a partition");
                return Ok(has == Mode::Free);
            }
            match look {
                ..SPINS => spin_hint(),
                SPINS..YIELDS => thread::yield_now(),
                _ => thread::sleep(NAP),
            }
        }
        Err(Conflict::Locked)
    }

    fn free(&mut self, (partition, mode): (u16, Mode)) {
        let lock = &self.shared.partitions[usize::from(partition)].0;
        match mode {
            Mode::Free => {}
            Mode::Shared => lock.unshare(),
            Mode::Exclusive => lock.free(),
        }
    }

    fn free_all(&mut self) {
        while let Some(held) = self.held.pop() {
            self.free(held);
        }
    }

    fn of_row<H: planaria_storage::Header>(&mut self, table: &Table<H>, image: &[u64]) -> u16 {
        table.index(IndexId::PRIMARY).codec().encode_row_prefix(image, 1, &mut self.key);
        partition_of(self.key.words())
    }

    /// Whether a table is only read, as far as one can tell. Asked at each row.
    fn is_calm(&mut self, table: TableId) -> bool {
        let calm = self.shared.calm(table);
        let samples = calm.load(Ordering::Relaxed);
        if samples >= CALM {
            return true;
        }
        self.reads = self.reads.wrapping_add(1);
        if self.reads.is_multiple_of(SAMPLED) {
            calm.store(samples + 1, Ordering::Relaxed);
        }
        false
    }

    /// A row of the table is to be written.
    fn disturb(&self, table: TableId) {
        let calm = self.shared.calm(table);
        if calm.load(Ordering::Relaxed) != 0 {
            calm.store(0, Ordering::Relaxed);
        }
    }
}

/// The rules. The parameters switch off, for tests that must catch it, locks of partitions, validation of nodes, and
/// holding the locks until the place in the order is drawn.
#[derive(Clone, Copy)]
pub struct PartitionedRules<const LOCKS: bool, const NODES: bool, const HOLDS: bool>;

/// Partition locking with parts missing.
pub type PartitionedWith<const LOCKS: bool, const NODES: bool, const HOLDS: bool = true> =
    OverVersions<PartitionedRules<LOCKS, NODES, HOLDS>>;

/// Partition locking as it should be.
pub type Partitioned = PartitionedWith<true, true>;

impl<const LOCKS: bool, const NODES: bool, const HOLDS: bool> Rules
    for PartitionedRules<LOCKS, NODES, HOLDS>
{
    type Header = SiloHeader;
    type Locks = PartitionLocks;

    const NAME: &'static str = "partitioned";
    const GUARANTEE: Guarantee = Guarantee::SERIALIZABLE;
    const MEETS: bool = true;
    const NODES: bool = NODES;

    fn locks(first: &PartitionLocks) -> PartitionLocks {
        PartitionLocks { shared: first.shared.clone(), ..PartitionLocks::default() }
    }

    #[inline]
    fn has_read(txn: &mut Txn<Self>, from: usize) -> Result<(), Conflict> {
        txn.locks.loose += (txn.accesses.len() - from) as u32;
        Ok(())
    }

    fn has_met(
        txn: &mut Txn<Self>,
        table: &Table<SiloHeader>,
        row: Row,
        arena: &Arena,
    ) -> Result<(), Conflict> {
        // (A handle of a block may be of an old version.)
        if txn.claiming || txn.alone || txn.accesses[row.handle.0 as usize].version == OWN {
            return Ok(());
        }
        let has_begun = txn.begin_locking()?;
        let locks = &mut txn.locks;
        let partition = locks.of_row(table, row.image.words(arena));
        if locks.is_calm(table.id()) && locks.mode(partition) == Mode::Free {
            locks.last = Some((row.handle.0, partition, false));
            return Ok(());
        }
        let is_new = LOCKS && locks.lock(partition, Mode::Shared)?;
        locks.last = Some((row.handle.0, partition, is_new));
        locks.loose -= 1;
        let Access { record, version } = txn.accesses[row.handle.0 as usize];
        if (is_new || has_begun) && txn.foot.word(record).load() & !CLAIMED != version & !LENIENT {
            return Err(Conflict::Validation);
        }
        Ok(())
    }

    fn only_presence(txn: &mut Txn<Self>, access: usize) {
        // What was locked for this row alone.
        if let Some((of, partition, true)) = txn.locks.last
            && of as usize == access
            && let Ok(at) = txn.locks.held.binary_search_by_key(&partition, |(held, _)| *held)
        {
            let held = txn.locks.held.remove(at);
            txn.locks.free(held);
            txn.locks.last = None;
        }
    }

    fn will_put(txn: &mut Txn<Self>, table: &Table<SiloHeader>, image: &[u64]) -> Result<(), Conflict> {
        let partition = txn.locks.of_row(table, image);
        txn.will_write_in(table.id(), partition)
    }

    fn will_change(txn: &mut Txn<Self>, table: &Table<SiloHeader>, row: RowHandle) -> Result<(), Conflict> {
        if let Some((access, partition, _)) = txn.locks.last
            && access == row.0
        {
            return txn.will_write_in(table.id(), partition);
        }
        // What is none is an old version, and is not changed.
        let Some(record) = txn.accesses.get(row.0 as usize).map(|access| access.record) else {
            return Ok(());
        };
        if txn.foot.find_effective(record).is_some() {
            // By its first write it is known.
            return Ok(());
        }
        let Txn { foot, locks, .. } = txn;
        let mark = foot.images.mark();
        let seen = read_record(record, foot.participant.pinned(), &foot.mine, &mut foot.images)?;
        // Of a row that is gone commit will know.
        let partition = match seen {
            Seen::Row(_, image) => Some(locks.of_row(table, image.words(&foot.images))),
            _ => None,
        };
        foot.images.truncate(mark);
        partition.map_or(Ok(()), |partition| txn.will_write_in(table.id(), partition))
    }

    fn lock(txn: &mut Txn<Self>, locked: &mut usize) -> Result<(), Conflict> {
        if LOCKS && txn.claiming && !txn.alone {
            txn.lock_wanted(|mode| mode == Mode::Exclusive)?;
        }
        if !HOLDS {
            txn.locks.free_all();
        }
        txn.lock_writes(None, locked)
    }

    fn lock_reader(txn: &mut Txn<Self>) -> Result<(), Conflict> {
        if !HOLDS {
            txn.locks.free_all();
        }
        Ok(())
    }

    #[inline]
    fn is_locked(txn: &Txn<Self>, access: &Access<Self>) -> bool {
        txn.locks.loose == 0 && !txn.claiming && access.version & (LENIENT | ABSENT) == 0
    }

    fn let_go(txn: &mut Txn<Self>) {
        txn.locks.free_all();
        (txn.locks.begun, txn.locks.loose, txn.locks.last) = (false, 0, None);
    }
}

impl<const LOCKS: bool, const NODES: bool, const HOLDS: bool> Txn<PartitionedRules<LOCKS, NODES, HOLDS>> {
    /// Before the first lock of an attempt: what those before it have asked for is locked. Whether this is the first.
    #[inline]
    fn begin_locking(&mut self) -> Result<bool, Conflict> {
        if self.locks.begun {
            return Ok(false);
        }
        self.locks.begun = true;
        if self.repeated {
            if LOCKS && !self.claiming {
                self.lock_wanted(|_| true)?;
            }
        } else if self.foot.writes.is_empty() {
            // (A call that becomes a block has let go of its locks, and not of its writes.)
            self.locks.wanted.clear();
        }
        Ok(true)
    }

    fn lock_wanted(&mut self, of: impl Fn(Mode) -> bool) -> Result<(), Conflict> {
        for at in 0..self.locks.wanted.len() {
            let (partition, mode) = self.locks.wanted[at];
            if of(mode) {
                self.locks.lock(partition, mode)?;
            }
        }
        Ok(())
    }

    /// A row of this partition is to be put in, changed or deleted.
    fn will_write_in(&mut self, table: TableId, partition: u16) -> Result<(), Conflict> {
        if self.alone {
            return Ok(());
        }
        self.begin_locking()?;
        self.locks.disturb(table);
        if let Some((_, _, is_new)) = &mut self.locks.last {
            // More than that row relies on it now.
            *is_new = false;
        }
        if self.claiming {
            self.locks.want(partition, Mode::Exclusive);
        } else if LOCKS {
            self.locks.lock(partition, Mode::Exclusive)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn neighbours_have_partitions_of_their_own() {
        let of = |n: u64| partition_of(&[n ^ 1 << 63]);
        let short = |n: u64| partition_of(&[(n ^ 1 << 31) << 32]);
        for n in 0..PARTITIONS as u64 - 1 {
            assert_ne!(of(n), of(n + 1));
            assert_eq!(of(n), of(n + PARTITIONS as u64));
            // An int4 and an int8 that are equal are together.
            assert_eq!(of(n), short(n));
        }
    }

    #[test]
    fn partitions_are_tried_out_of_order_and_known_by_the_next_attempt() {
        let mut one = PartitionLocks::default();
        let mut other = PartitionLocks { shared: one.shared.clone(), ..PartitionLocks::default() };
        assert_eq!(one.lock(7, Mode::Exclusive), Ok(true));
        assert_eq!(other.lock(3, Mode::Shared), Ok(true));
        assert_eq!(one.lock(3, Mode::Shared), Ok(true));
        assert_eq!(one.lock(3, Mode::Shared), Ok(false));
        // The other shares it, too.
        assert_eq!(one.lock(3, Mode::Exclusive), Err(Conflict::Locked));
        one.free_all();
        assert_eq!(one.wanted.len(), 2);
        assert!(one.wanted.contains(&(3, Mode::Exclusive)) && one.wanted.contains(&(7, Mode::Exclusive)));
        assert_eq!(other.lock(3, Mode::Exclusive), Ok(false));
        assert_eq!(one.lock(3, Mode::Shared), Err(Conflict::Locked), "it waits, and not for ever");
        other.free_all();
        assert_eq!(one.lock(3, Mode::Exclusive), Ok(true));
    }

    #[test]
    fn tables_are_calm_until_they_are_written_to() {
        let mut locks = PartitionLocks::default();
        let table = TableId(3);
        assert_eq!((0..CALM * SAMPLED).filter(|_| locks.is_calm(table)).count(), 0);
        assert!(locks.is_calm(table) && !locks.is_calm(TableId(4)));
        locks.disturb(table);
        assert!(!locks.is_calm(table));
    }
}
