//! The parts of [`healing`](crate::healing): the access cache, locking what was read, and what is stale of it.
//!
//! **The access cache** has an element for each lookup by a unique key that found a row which was not the transaction's
//! own: what was asked for, the record, and the row as it was. A healed run that asks for the same key goes to that record. Is that
//! right? The record was found under the pin that is still held. It is the key's if it is there and has the key: at most one present row
//! has it. If not, the lookup is made.
//!
//! **Rows that change as they are read** ([`Txn::is_torn`]): a run that may be healed goes on with what it finds, since it will
//! be run again for sure.

#![allow(unsafe_code)] // meets records; see `door`

use super::*;
use crate::ColumnsRead;
use crate::footprint::mine::IMPATIENCE;
use crate::footprint::record::{Seen, read_record};
use crate::healing::{Heal, Healed, ROUNDS_MAX, Remembers, is_healed};
use crate::versioned::dated::is_same;
use crate::versioned::heat::{Heat, Regime};
use planaria_base::sync::{point, simulation};

/// Lookups that are remembered, and the longest row of which more than the address is.
const KNOWN_MAX: usize = 4096;
const ROW_WORDS_MAX: u32 = 256;
/// Words of keys and rows that there is room for between transactions.
const WORDS_KEPT: usize = 1 << 15;
/// Elements of the cache that are looked at for a lookup of a healed run.
const AHEAD: usize = 16;
/// Members that are locked to heal. Of a transaction with more, each time that it is tried again costs less than so many locks cost
/// all others.
const MEMBERS_MAX: usize = 1 << 14;
/// Looks at a locked record while nothing above it is locked: who heals holds it for some microseconds.
const PATIENCE: u32 = 4 * SPINS_MAX;

/// A lookup that found a row.
#[derive(Clone, Copy)]
struct Known {
    table: TableId,
    index: IndexId,
    /// Its number among the accesses of the run.
    access: u32,
    record: u64,
    /// Where key and row begin in the words of the run, and how long they are; of a row of 0 words nothing is known.
    words: u32,
    key_len: u32,
    row_len: u32,
}

/// The lookups of a run.
#[derive(Default)]
struct Lookups {
    known: Vec<Known>,
    words: Vec<u64>,
}

impl Lookups {
    fn clear(&mut self) {
        self.known.clear();
        self.words.clear();
        if self.words.capacity() > WORDS_KEPT {
            self.words = Vec::new();
        }
    }
}

/// What a transaction that may be healed remembers.
pub(super) struct Cache {
    /// Its caller runs it again where that is asked for.
    pub(super) may: bool,
    /// What of its lookups.
    remembers: Remembers,
    /// A row has changed as it was read.
    pub(super) torn: bool,
    /// It came as far as commit.
    ran: bool,
    rounds: u32,
    /// A record that stayed locked, and a placeholder that stayed one; 0.
    pub(super) busy: u64,
    pub(super) placeholder: u64,
    now: Lookups,
    last: Lookups,
    /// The next of the last run.
    next: usize,
    pub(super) heat: Heat,
    order: Vec<u64>,
    unread: Vec<(u32, u64)>,
    images: Arena,
    pub(super) healed: Healed,
}

impl Cache {
    pub(super) fn new(regime: Arc<Regime>, remembers: Remembers) -> Cache {
        Cache {
            may: false,
            remembers,
            torn: false,
            ran: false,
            rounds: 0,
            busy: 0,
            placeholder: 0,
            now: Lookups::default(),
            last: Lookups::default(),
            next: 0,
            heat: Heat::new(regime),
            order: Vec::new(),
            unread: Vec::new(),
            images: Arena::default(),
            healed: Healed::default(),
        }
    }

    /// A run begins, or commits, that its caller may run again.
    #[inline]
    pub(super) fn begin(&mut self, may: bool) {
        self.may = may && (self.rounds > 0 || self.heat.heals());
    }

    /// The transaction is over. What healing has taken stays, to be asked for.
    #[inline]
    pub(super) fn clear(&mut self) {
        if !self.now.known.is_empty() {
            self.now.clear();
        }
        if self.rounds > 0 {
            self.last.clear();
            self.heat.is_healed();
        }
        (self.may, self.torn, self.ran, self.rounds, self.next) = (false, false, false, 0, 0);
        (self.busy, self.placeholder) = (0, 0);
    }

    /// The record to which this lookup led in the last run.
    #[inline]
    fn recall(&mut self, table: TableId, index: IndexId, key: &[u64]) -> Option<u64> {
        let Lookups { known, words } = &self.last;
        let ahead = known.get(self.next..)?.iter().take(AHEAD);
        let is_it = |known: &Known| {
            (known.table, known.index) == (table, index)
                && words[known.words as usize..][..known.key_len as usize] == *key
        };
        let at = ahead.enumerate().find(|(_, known)| is_it(known))?.0;
        self.next += at + 1;
        Some(known[self.next - 1].record)
    }

    #[inline]
    fn remember(
        &mut self,
        (table, index): (TableId, IndexId),
        key: &[u64],
        row: &[u64],
        access: u32,
        record: u64,
    ) {
        let Lookups { known, words } = &mut self.now;
        if known.len() == KNOWN_MAX || self.remembers == Remembers::Nothing {
            return;
        }
        let at = words.len() as u32;
        words.extend_from_slice(key);
        let mut row_len = row.len() as u32;
        // A row that is found by another key may lose it.
        if index != IndexId::PRIMARY || row_len > ROW_WORDS_MAX || self.remembers < Remembers::Rows {
            row_len = 0;
        }
        words.extend_from_slice(&row[..row_len as usize]);
        known.push(Known { table, index, access, record, words: at, key_len: key.len() as u32, row_len });
    }
}

impl<R: Rules> Txn<R> {
    /// [`Txn::look_up`], by the cache. Out of line, so that the way of those who remember nothing is Silo's.
    #[inline(never)]
    pub(super) fn get_known(
        &mut self,
        table: &Table<R::Header>,
        id: IndexId,
        key: &KeyBuf,
        arena: &mut Arena,
    ) -> Result<Option<Row>, Conflict> {
        let mut row = None;
        if self.heal.rounds > 0 {
            // SAFETY: remembered of an attempt of this transaction, which is pinned since.
            let known =
                self.heal.recall(table.id(), id, key.words()).map(|record| unsafe { Met::from_word(record) });
            if let Some(record) = known
                && let read::Followed::Row(found) =
                    self.follow(table.index(id), id, key.words(), record, None, false, arena)?
            {
                row = Some(found);
                self.heal.healed.known += 1;
            } else {
                self.heal.healed.repeated += 1;
            }
        }
        if row.is_none() {
            row = self.look_up(table, id, key, None, false, arena)?;
        }
        if let Some(row) = row {
            let Access { record, version } = self.accesses[row.handle.0 as usize];
            if version != OWN {
                let image = row.image.words(arena);
                self.heal.remember((table.id(), id), key.words(), image, row.handle.0, record.to_word());
            }
        }
        Ok(row)
    }

    /// A row has changed since it was read: whether the run goes on all the same, as it will be run again.
    #[cold]
    pub(super) fn is_torn(&mut self) -> bool {
        let goes_on = R::HEALS && self.heal.may && !self.claiming && !self.alone;
        self.heal.torn |= goes_on;
        goes_on
    }

    /// Whether this is a healed run.
    #[inline]
    pub(super) fn is_healed(&self) -> bool {
        R::HEALS && self.heal.rounds > 0
    }

    fn may_heal(&self, cause: Conflict) -> bool {
        R::HEALS
            && self.heal.may
            && self.heal.rounds < ROUNDS_MAX
            && (self.heal.rounds > 0 || self.heal.heat.lets_heal())
            && is_healed(cause)
            && !self.claiming
            && !self.alone
            && self.held.is_empty()
            && self.accesses.len() + self.foot.writes.len() <= MEMBERS_MAX
            && self.foot.participant.is_pinned()
    }

    /// Commit has failed, and nothing that it has locked is locked any more: whether the transaction stays open, to be
    /// healed.
    #[cold]
    pub(super) fn stays_open(&mut self, cause: Conflict) -> bool {
        self.heal.ran = self.may_heal(cause);
        self.heal.ran
    }

    /// See [`crate::Heals::heal`].
    #[cold]
    pub(super) fn heal(
        &mut self,
        tables: &TableSet<R::Header>,
        cause: Conflict,
        columns: Option<&ColumnsRead>,
    ) -> Heal {
        if !self.may_heal(cause) || self.installed {
            return Heal::No;
        }
        let ran = std::mem::take(&mut self.heal.ran);
        if self.heal.rounds == 0 {
            self.heal.heat.begins_to_heal();
        }
        self.heal.rounds += 1;
        if cause == Conflict::Key {
            // Whoever puts the key in may need what is locked here to get there.
            self.release_mine();
            if !self.outlasts_placeholder() {
                return Heal::No;
            }
        }
        if !self.lock_members() {
            return Heal::No;
        }
        point("has locked what it read");
        let whole = ran && !self.heal.torn && matches!(cause, Conflict::Validation | Conflict::Locked);
        if whole && self.is_as_good_as_read(tables, columns) {
            return Heal::Commit;
        }
        self.heal.healed.runs += 1;
        self.foot.begin_again();
        recycle(&mut self.accesses);
        self.cursors.close_all();
        let cache = &mut self.heal;
        std::mem::swap(&mut cache.now, &mut cache.last);
        cache.now.clear();
        (cache.next, cache.torn) = (0, false);
        Heal::Run
    }

    /// Whether the placeholder that was met goes away.
    fn outlasts_placeholder(&mut self) -> bool {
        let record = std::mem::take(&mut self.heal.placeholder);
        if record == 0 {
            return true;
        }
        // SAFETY: remembered of an attempt of this transaction, which is pinned since.
        let word = self.foot.word(unsafe { Ptr::<R>::from_word(record) });
        for _ in 0..PATIENCE {
            if word.load() & (ABSENT | DEAD) != ABSENT {
                return true;
            }
            spin_hint();
        }
        false
    }

    /// Locks what was read and written, rows that are gone or claimed aside. If it cannot, nothing is locked.
    fn lock_members(&mut self) -> bool {
        let busy = self.heal.busy != 0;
        self.collect_members();
        let highest = self.foot.mine.highest();
        if highest == 0 {
            return self.lock_collected(PATIENCE);
        }
        // What comes behind what is locked may be waited for. (In a simulation addresses may be no order.)
        let in_order =
            simulation::orders_by_address() && self.heal.order.first().is_none_or(|first| *first > highest);
        if !busy && self.lock_collected(if in_order { PATIENCE } else { IMPATIENCE }) {
            return true;
        }
        self.heal.healed.relocks += 1;
        self.release_mine();
        self.collect_members();
        self.lock_collected(PATIENCE)
    }

    /// What is to be locked, in order.
    fn collect_members(&mut self) {
        let Txn { foot, accesses, heal: Cache { order, busy, .. }, .. } = self;
        recycle(order);
        let read = accesses.iter().filter(|a| a.version != OWN && a.version & (LENIENT | ABSENT) == 0);
        order.extend(read.map(|access| access.record.to_word()));
        let written = foot.writes.iter().filter(|w| w.origin == Origin::Row && w.version & LENIENT == 0);
        order.extend(written.map(|write| write.record.to_word()));
        if *busy != 0 {
            order.push(*busy);
        }
        if !foot.mine.is_empty() {
            order.retain(|address| !foot.mine.has(*address));
        }
        if simulation::orders_by_address() {
            order.sort_unstable();
            order.dedup();
        }
    }

    fn lock_collected(&mut self, patience: u32) -> bool {
        for at in 0..self.heal.order.len() {
            if !self.lock_member(self.heal.order[at], patience) {
                self.release_mine();
                return false;
            }
        }
        self.heal.busy = 0;
        true
    }

    fn lock_member(&mut self, address: u64, patience: u32) -> bool {
        let Footprint { mine, .. } = &self.foot;
        if mine.has(address) {
            return true;
        }
        // SAFETY: remembered of an attempt of this transaction, which is pinned since.
        let word = self.foot.word(unsafe { Ptr::<R>::from_word(address) });
        for _ in 0..patience {
            let now = word.load();
            if now & LOCKED == 0 {
                if now & (ABSENT | DEAD | CLAIMED) != 0 {
                    return true;
                }
                if word.try_lock(now) == Locking::Done {
                    self.foot.mine.insert(address, now);
                    return true;
                }
            }
            spin_hint();
        }
        false
    }

    /// Unlocks what is locked, but for what was installed.
    #[cold]
    pub(crate) fn release_mine(&mut self) {
        for (address, version) in self.foot.mine.iter() {
            // SAFETY: remembered of an attempt of this transaction, which is pinned since.
            let record = unsafe { Ptr::<R>::from_word(address) };
            if !(self.installed && self.foot.find_effective(record).is_some()) {
                self.foot.word(record).publish(version);
            }
        }
        self.foot.mine.clear();
    }

    /// Whether everything is as it was read, or has changed in nothing that was. Then it counts as read as it is now.
    fn is_as_good_as_read(&mut self, tables: &TableSet<R::Header>, columns: Option<&ColumnsRead>) -> bool {
        self.heal.unread.clear();
        for at in 0..self.accesses.len() {
            let Access { record, version } = self.accesses[at];
            if version == OWN {
                continue;
            }
            let now = self.foot.word(record).load();
            let locked = self.foot.mine.version_of(record.to_word());
            if version & PRESENCE == PRESENCE {
                if now & ABSENT != 0 {
                    return false;
                }
            } else if version & LENIENT != 0 || locked == Some(version) {
            } else if let Some(locked) = locked {
                if !self.is_changed_elsewhere(at as u32, tables, columns) {
                    return false;
                }
                self.heal.unread.push((at as u32, locked));
            } else if now & !CLAIMED != version {
                return false;
            }
        }
        let stale = |write: &WriteEntry<R::Header>| {
            write.origin == Origin::Row
                && write.version & LENIENT == 0
                && match self.foot.mine.version_of(write.record.to_word()) {
                    Some(version) => version != write.version,
                    None => self.foot.word(write.record).load() & !CLAIMED != write.version,
                }
        };
        if self.foot.writes.iter().any(stale) {
            return false;
        }
        self.heal.healed.false_invalidations += self.heal.unread.len() as u64;
        for (at, version) in &self.heal.unread {
            self.accesses[*at as usize].version = *version;
        }
        true
    }

    /// Whether a row that is locked has changed since it was read in nothing that was read.
    fn is_changed_elsewhere(
        &mut self,
        access: u32,
        tables: &TableSet<R::Header>,
        columns: Option<&ColumnsRead>,
    ) -> bool {
        let Access { record, .. } = self.accesses[access as usize];
        if self.foot.find_write(record).is_some() {
            return false;
        }
        if !R::HEALS_DEPENDENTS {
            return true;
        }
        let Txn { foot, heal: Cache { now, images, .. }, .. } = self;
        let Ok(at) = now.known.binary_search_by_key(&access, |known| known.access) else { return false };
        let known = now.known[at];
        if known.row_len == 0 {
            return false;
        }
        let old = &now.words[(known.words + known.key_len) as usize..][..known.row_len as usize];
        images.reset();
        let Ok(Seen::Row(_, image)) = read_record(record, foot.participant.pinned(), &foot.mine, images)
        else {
            return false;
        };
        let image = image.words(images);
        match columns.and_then(|columns| columns.of(known.table)) {
            Some(columns) => {
                let layout = tables.get(known.table).layout();
                columns.iter().all(|c| is_same(layout.field(old, c), layout.field(image, c)))
            }
            None => old == image,
        }
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use planaria_base::sync::Instant;

    #[test]
    fn a_new_worker_heals_and_a_run_that_is_healed_goes_on_to_be() {
        let mut cache = Cache::new(Arc::default(), Remembers::Rows);
        cache.begin(true);
        assert!(cache.may);
        let now = Instant::now();
        (1..1000).for_each(|at| cache.heat.has_committed(CommitTs(at), || now));
        cache.begin(true);
        assert!(!cache.may);
        cache.rounds = 1;
        cache.begin(true);
        assert!(cache.may);
        cache.begin(false);
        assert!(!cache.may);
    }
}
