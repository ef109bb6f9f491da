//! Snapshots: reading the state as of a moment while transactions go on.
//!
//! **Paper.** Silo (SOSP 2013) §4.9 has snapshots every 25 epochs or so, for which writers always keep old
//! versions. Here they are kept only while somebody reads a snapshot, and it may be any moment: a database
//! without readers of snapshots pays one load of a word that nobody writes for each commit.
//!
//! **What a snapshot is.** The snapshot at S, a commit timestamp, sees exactly the commits with `commit_ts <= S`.
//! There are two kinds ([`Moment`]): of *now*, for transactions, with all that has drawn a timestamp; and of the *end of
//! the open epoch*, for checkpoints.
//!
//! **How one comes about.**
//!
//! 1. *Announce* ([`Snapshots::announce`]): holding the list of open snapshots, write its new length to `count`, then
//!    take part in the clock's order ([`CommitClock::witness`]). Of now: S is the place right before the clock's. Of an
//!    epoch: find it still open, or take the next one; S is its last place.
//! 2. *End the epoch*, if it is one: whoever opens the snapshot sees to it that the clock goes on.
//! 3. *Read*. There is nothing to wait for. A commit at S or before holds the locks of all it writes
//!    since before it drew its timestamp; so a record that is not locked now has all of them.
//!
//! **What writers do** ([`Snapshots::older_than`]). A commit that has drawn its timestamp T, and
//! has validated, looks at `count`. If a snapshot is open it keeps the old image of every row that some
//! open S < T sees, by the row's record ([`planaria_storage::TableKeeper`]), and puts those versions that an index entry about to go has
//! led to among the [old versions](planaria_storage::OldVersions) of the entry's key; all before it changes a
//! record or an index. It holds the list of open snapshots for that long.
//!
//! *No later commit misses the announcement*: (1) has a read-modify-write of the clock's
//! word, drawing is one of the same word, all steps of the word are; so whoever draws behind S
//! synchronizes with (1), sees the count, and waits for the list. Loom checks it, below.
//!
//! **Leaving.** Who reads everything once, as a checkpoint does, is through with one range of keys after the other
//! ([`Snapshots::leave_range`]), and with one table after the other ([`Snapshots::leave_table`]); writers keep nothing for
//! it there any more.
//!
//! **Closing** takes S from the list. What was kept by record is sealed then: putting holds the list, so nobody puts one
//! meanwhile. Sealed generations go as a whole when all readers of the table are younger. What was kept by key, of a table
//! that nobody reads any more, because each reader has closed or left it,
//! is taken out at once, unless a sweep is at work there. Where somebody else reads it,
//! the versions that no open snapshot sees are picked out afterwards; one that ended after the moment of closing
//! is left alone, as a snapshot that was opened since may need it. Either takes some time, which [`Closed`] takes.
//! Transactions come and go too often for that: theirs are only taken from the list ([`Snapshots::close_later`]), and
//! somebody sees now and then what there is to forget ([`Snapshots::forget_closed`]).
//!
//! **Reading** ([`SnapshotReader`]) takes no read set and no node set, validates nothing, never fails for
//! another transaction's sake, and makes none fail.

mod past;
mod reader;

pub(crate) use past::{Merged, Step, has_key, old_image};
pub use reader::{ReaderTxn, SnapshotReader};

use crate::Backoff;
use crossbeam_utils::CachePadded;
use planaria_base::clock::CommitClock;
use planaria_base::sync::atomic::{AtomicU64, Ordering};
use planaria_base::sync::model::{RwLock, RwLockReadGuard, RwLockWriteGuard};
use planaria_base::{CommitTs, TableId};
use planaria_storage::btree::compare_keys;
use planaria_storage::reclaim::Participant;
use planaria_storage::{Forgetting, Header, Table, Taken};
use std::sync::Arc;

/// The open snapshots of a database. See the module's head.
pub struct Snapshots {
    /// How many are open. Read by every commit.
    count: CachePadded<AtomicU64>,
    open: RwLock<List>,
}

/// Later than all commits.
const NEVER: CommitTs = CommitTs(u64::MAX);

struct List {
    open: Vec<Open>,
    /// How many there have been.
    opened: u64,
    /// How often one was closed, or left a table.
    closed: u64,
    /// One was closed and nobody has looked since what there is to forget.
    closed_later: bool,
    /// What the oldest one showed when [`Snapshots::forget_closed`] last looked.
    oldest: CommitTs,
    /// What the oldest of those showed that were closed since then; or [`NEVER`].
    gone: CommitTs,
}

/// Which state a snapshot shows.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Moment {
    /// That of now: of all commits that have drawn a timestamp.
    Now,
    /// That at the end of the open epoch, which has to be ended before the snapshot is read.
    EndOfEpoch,
}

/// An open snapshot.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Opened {
    /// The last commit that it shows has this timestamp or a lower one.
    pub at: CommitTs,
    /// Which one it is.
    pub(crate) number: u64,
}

#[derive(Clone, Debug)]
struct Open {
    id: Opened,
    /// What is not read any more, by table.
    left: Vec<Left>,
}

type KeyRange = (Option<Vec<u64>>, Option<Vec<u64>>);

/// What of a table is not read any more.
#[derive(Clone, Default, Debug)]
enum Left {
    #[default]
    Nothing,
    /// Keys from the first, below the second, in words of the primary index.
    Ranges(Vec<KeyRange>),
    Everything,
}

impl Left {
    fn add(&mut self, (mut from, mut to): KeyRange) {
        match self {
            Left::Nothing => *self = Left::Ranges(vec![(from, to)]),
            Left::Ranges(ranges) => {
                // Neighbours become one: they come nearly in the order of their keys.
                while let Some(at) = ranges.iter().position(|(begin, end)| {
                    (to.is_some() && *begin == to) || (from.is_some() && *end == from)
                }) {
                    let (begin, end) = ranges.swap_remove(at);
                    if from.is_some() && end == from {
                        from = begin;
                    } else {
                        to = end;
                    }
                }
                ranges.push((from, to));
            }
            Left::Everything => {}
        }
    }
}

impl Open {
    fn sees(&self, begin: CommitTs, end: CommitTs) -> bool {
        begin <= self.id.at && self.id.at < end
    }

    fn left(&self, table: TableId) -> &Left {
        self.left.get(table.index()).unwrap_or(&Left::Nothing)
    }

    fn left_mut(&mut self, table: TableId) -> &mut Left {
        if self.left.len() <= table.index() {
            self.left.resize_with(table.index() + 1, Left::default);
        }
        &mut self.left[table.index()]
    }

    fn reads(&self, table: TableId) -> bool {
        !matches!(self.left(table), Left::Everything)
    }

    fn reads_key(&self, table: TableId, key: &[u64]) -> bool {
        match self.left(table) {
            Left::Nothing => true,
            Left::Ranges(ranges) => !ranges.iter().any(|(from, to)| {
                from.as_deref().is_none_or(|from| compare_keys(from, key).is_le())
                    && to.as_deref().is_none_or(|to| compare_keys(key, to).is_lt())
            }),
            Left::Everything => false,
        }
    }
}

impl Default for Snapshots {
    fn default() -> Self {
        Snapshots::new()
    }
}

const UNHARMED: &str = "nobody panics with the list";
/// Tries before a change of the list that can wait waits in line.
const TRIES: u32 = 1000;

impl Snapshots {
    /// None open.
    pub fn new() -> Snapshots {
        Snapshots { count: CachePadded::new(AtomicU64::new(0)), open: RwLock::new(List::new()) }
    }

    fn tell(&self, list: &List) {
        self.count.store(list.open.len() as u64, Ordering::Relaxed);
    }

    /// Announces a snapshot.
    pub fn announce(&self, clock: &CommitClock, moment: Moment) -> Opened {
        let mut list = self.open.write().expect(UNHARMED);
        list.opened += 1;
        let number = list.opened;
        // Before the clock is asked: who draws behind the snapshot's place is to find it.
        self.count.store(list.open.len() as u64 + 1, Ordering::Relaxed);
        let at = match moment {
            Moment::Now => clock.witness_now().before(),
            Moment::EndOfEpoch => loop {
                let epoch = clock.epoch();
                if clock.witness() == epoch {
                    break epoch.last_ts();
                }
            },
        };
        let id = Opened { at, number };
        list.open.push(Open { id, left: Vec::new() });
        id
    }

    /// Takes a snapshot from the list; nothing is kept for it from now on. What was is forgotten later
    /// ([`Snapshots::forget_closed`]).
    pub fn close_later(&self, id: Opened) {
        let mut list = self.open.write().expect(UNHARMED);
        let at = list.position(id);
        list.open.swap_remove(at);
        list.gone = list.gone.min(id.at);
        list.closed_later = true;
        self.tell(&list);
    }

    /// What there is to forget of snapshots that were closed before. `tables` as in [`Snapshots::close`].
    pub fn forget_closed<H: Header>(&self, clock: &CommitClock, tables: Tables<'_, H>) -> Closed<H> {
        let mut list = self.patiently();
        if !list.closed_later {
            return Closed::default();
        }
        let tables = tables();
        // As long as some are open there may be more.
        list.closed_later = !list.open.is_empty() || !tables.is_empty();
        let (before, gone) = (list.oldest, std::mem::replace(&mut list.gone, NEVER));
        let closed = list.forget(before, gone, clock, &tables);
        list.oldest = list.open.iter().map(|s| s.id.at).min().unwrap_or_default();
        drop(list);
        closed.expire();
        closed
    }

    /// The list, for a change that can wait. Who waits in line for it holds up all commits as long as one commit of
    /// many rows has it; so this does not, at first.
    fn patiently(&self) -> RwLockWriteGuard<'_, List> {
        let mut backoff = Backoff::new(0);
        for _ in 0..TRIES {
            if let Ok(list) = self.open.try_write() {
                return list;
            }
            backoff.wait();
        }
        self.open.write().expect(UNHARMED)
    }

    /// A snapshot is not read any more at the keys of a table from the first, below the second, in words of the
    /// primary index.
    pub fn leave_range(&self, id: Opened, table: TableId, from: Option<&[u64]>, to: Option<&[u64]>) {
        let range = (from.map(<[u64]>::to_vec), to.map(<[u64]>::to_vec));
        self.patiently().find(id).left_mut(table).add(range);
    }

    /// A snapshot is not read any more in a table. `tables` are those with its id: see [`Snapshots::close`].
    pub fn leave_table<H: Header>(
        &self,
        id: Opened,
        table: TableId,
        clock: &CommitClock,
        tables: Tables<'_, H>,
    ) -> Closed<H> {
        let mut list = self.patiently();
        *list.find(id).left_mut(table) = Left::Everything;
        let tables = tables();
        let closed = list.forget(id.at, id.at, clock, &tables);
        drop(list);
        closed.expire();
        closed
    }

    /// Closes a snapshot. `tables` are those that it could read, and those that have taken their place since (rows
    /// that are changed there may have been kept for it, too), if they have old versions. It is called under the list's
    /// lock, when nothing is kept for the snapshot any more.
    pub fn close<H: Header>(&self, id: Opened, clock: &CommitClock, tables: Tables<'_, H>) -> Closed<H> {
        let mut list = self.open.write().expect(UNHARMED);
        let at = list.position(id);
        let gone = list.open.swap_remove(at);
        self.tell(&list);
        let (tables, left): (Vec<_>, Vec<_>) = tables().into_iter().partition(|table| gone.reads(table.id()));
        let closed = list.forget(id.at, id.at, clock, &tables);
        drop(list);
        drop(left);
        closed.expire();
        closed
    }

    /// For a commit at `ts`: the open snapshots, if one of them is older.
    #[inline]
    pub(crate) fn older_than(&self, ts: CommitTs) -> Option<Older<'_>> {
        // Relaxed: the draw has synchronized with every announcement that matters.
        if self.count.load(Ordering::Relaxed) == 0 {
            return None;
        }
        self.older_open(ts)
    }

    #[cold]
    fn older_open(&self, ts: CommitTs) -> Option<Older<'_>> {
        let list = self.open.read().expect(UNHARMED);
        let newest = list.open.iter().map(|s| s.id.at).filter(|at| *at < ts).max()?;
        let whole = list.open.iter().all(|s| s.left.is_empty());
        Some(Older { list, end: ts, newest, whole })
    }
}

/// Says which tables to look at for old versions.
pub type Tables<'t, H> = &'t mut dyn FnMut() -> Vec<Arc<Table<H>>>;

impl List {
    fn new() -> List {
        List { open: Vec::new(), opened: 0, closed: 0, closed_later: false, oldest: CommitTs(0), gone: NEVER }
    }

    /// While nobody can put a version; the snapshot at `gone` reads these tables no more, and others that read them at
    /// `first` or later.
    fn forget<H: Header>(
        &mut self,
        gone: CommitTs,
        first: CommitTs,
        clock: &CommitClock,
        tables: &[Arc<Table<H>>],
    ) -> Closed<H> {
        self.closed += 1;
        // A snapshot opened from now on shows at least what is there now.
        let (number, open, until) = (self.closed, self.open.clone(), clock.now().before());
        let mut closed = Closed { number, open, until, ..Closed::default() };
        for table in tables {
            let readers = self.open.iter().filter(|s| s.reads(table.id()));
            let oldest = readers.map(|s| s.id.at).min();
            table.seal_old_versions(until);
            closed.sealed.push(Sealed {
                table: table.clone(),
                oldest: oldest.unwrap_or(until).min(until),
                gone: first,
            });
            if oldest.is_none() {
                closed.taken.extend(table.take_old_keys());
            }
            // Most of what there is was kept for the oldest reader: if that goes on, it is not worth a look each time
            // another one goes. (Nobody reads it, and there are some: they are being swept.)
            if table.has_old_keys()
                && (oldest.is_none_or(|oldest| gone < oldest) || table.has_many_young_keys())
            {
                closed.shared.push(table.clone());
            }
        }
        closed
    }

    fn position(&self, id: Opened) -> usize {
        self.open.iter().position(|open| open.id == id).expect("a snapshot is closed once")
    }

    fn find(&mut self, id: Opened) -> &mut Open {
        let at = self.position(id);
        &mut self.open[at]
    }
}

/// The open snapshots, for a commit that changes rows; none can be closed meanwhile.
pub(crate) struct Older<'s> {
    list: RwLockReadGuard<'s, List>,
    end: CommitTs,
    /// What the newest of those shows that are older than the commit.
    newest: CommitTs,
    /// Every one reads all there is.
    whole: bool,
}

impl Older<'_> {
    /// Whether one of them sees a row of a table that is as it is since `begin`, and that the commit changes, by all
    /// that can be said without its key.
    #[inline]
    pub(crate) fn may_see(&self, table: TableId, begin: CommitTs) -> bool {
        // Of all rows that a commit changes: one comparison says it for most readers, however many there are.
        begin <= self.newest
            && (self.whole || self.list.open.iter().any(|s| s.sees(begin, self.end) && s.reads(table)))
    }

    /// The same of a version of before.
    pub(crate) fn may_see_until(&self, table: TableId, begin: CommitTs, end: CommitTs) -> bool {
        self.list.open.iter().any(|s| s.sees(begin, end) && s.reads(table))
    }

    /// The same of the row with a key.
    #[inline]
    pub(crate) fn see(&self, table: TableId, key: &[u64], begin: CommitTs) -> bool {
        self.see_until(table, key, begin, self.end)
    }

    /// Whether it takes the key of a row of a table to tell whether one of them still reads it.
    pub(crate) fn asks_for_keys(&self, table: TableId) -> bool {
        !self.whole && self.list.open.iter().any(|s| matches!(s.left(table), Left::Ranges(_)))
    }

    /// Whether the oldest of those that read a table needs a version of its row with a key.
    pub(crate) fn oldest_sees(&self, table: TableId, key: &[u64], begin: CommitTs, end: CommitTs) -> bool {
        let readers = self.list.open.iter().filter(|s| s.reads(table));
        let oldest = readers.min_by_key(|s| s.id.at);
        oldest.is_some_and(|s| s.sees(begin, end) && s.reads_key(table, key))
    }

    /// Whether one of them sees a version of the row with a key.
    pub(crate) fn see_until(&self, table: TableId, key: &[u64], begin: CommitTs, end: CommitTs) -> bool {
        self.list.open.iter().any(|s| s.sees(begin, end) && s.reads_key(table, key))
    }
}

/// What was kept by record in a table, up to some time.
struct Sealed<H: Header> {
    table: Arc<Table<H>>,
    /// Its readers, those that are to come too, read what there was then, or later.
    oldest: CommitTs,
    /// See [`Forgetting::gone`].
    gone: CommitTs,
}

/// What is to be forgotten after a snapshot was closed, or a table was left. Whoever drops it without a sweep leaves
/// tables that others still read to whoever closes later.
#[must_use]
pub struct Closed<H: Header> {
    /// In the order of closing and leaving.
    number: u64,
    taken: Vec<Taken>,
    /// Tables that others read, and that have some by key.
    shared: Vec<Arc<Table<H>>>,
    sealed: Vec<Sealed<H>>,
    open: Vec<Open>,
    /// The last place that had been drawn at that moment.
    until: CommitTs,
}

impl<H: Header> Default for Closed<H> {
    fn default() -> Self {
        let (shared, sealed) = (Vec::new(), Vec::new());
        Closed { number: 0, taken: Vec::new(), shared, sealed, open: Vec::new(), until: CommitTs(0) }
    }
}

impl<H: Header> Closed<H> {
    /// Outside of all locks, as it may free what others have left.
    fn expire(&self) {
        if !self.taken.is_empty() {
            let mut participant = Participant::new();
            self.taken.iter().for_each(|taken| taken.expire(participant.guard().pinned()));
        }
    }

    /// About how many versions there are to look at. (Of those that were sealed most go without a look.)
    pub fn versions(&self) -> u64 {
        let taken = self.taken.iter().map(Taken::versions);
        taken.chain(self.shared.iter().map(|table| table.old_versions().versions)).sum()
    }

    /// Whether nothing is left to do.
    pub fn is_done(&self) -> bool {
        self.taken.is_empty() && self.shared.is_empty() && self.sealed.is_empty()
    }

    /// Forgets at once what nobody needs any more.
    pub fn sweep(mut self) {
        self.taken.clear();
        self.sweep_shared(&mut || true);
    }

    /// The same, by and by. Calls `rest` now and then, with nothing pinned, and gives up where that says `false`. What
    /// somebody may still look at is left for another time.
    pub fn sweep_resting(&mut self, rest: &mut dyn FnMut() -> bool) {
        let mut participant = Participant::new();
        participant.flush();
        for taken in std::mem::take(&mut self.taken) {
            let left = taken.free(&mut || {
                rest();
            });
            self.taken.extend(left.err());
        }
        self.sweep_shared(rest);
        self.shared.clear();
        self.sealed.clear();
    }

    fn sweep_shared(&self, rest: &mut dyn FnMut() -> bool) {
        let mut participant = Participant::new();
        for table in &self.shared {
            let needed = |begin, end| self.needs(table.id(), begin, end);
            table.sweep_old_keys(&mut participant, &needed, rest);
        }
        for Sealed { table, oldest, gone } in &self.sealed {
            let needed = |begin, end| self.needs(table.id(), begin, end);
            let what = Forgetting { oldest: *oldest, gone: *gone, needed: &needed };
            table.forget_sealed(&mut participant, &what, rest);
        }
        participant.flush();
    }

    /// Whichever was closed earlier leaves to the other the tables that both are to look through, which finds less
    /// that is needed.
    pub fn agree(&mut self, other: &mut Closed<H>) {
        let (earlier, later) = if self.number < other.number { (self, other) } else { (other, self) };
        earlier.shared.retain(|table| !later.shared.iter().any(|other| Arc::ptr_eq(other, table)));
        earlier.sealed.retain(|Sealed { table, gone, .. }| {
            let other = later.sealed.iter_mut().find(|other| Arc::ptr_eq(&other.table, table));
            other.map(|other| other.gone = other.gone.min(*gone)).is_none()
        });
    }

    fn needs(&self, table: TableId, begin: CommitTs, end: CommitTs) -> bool {
        end > self.until || self.open.iter().any(|s| s.sees(begin, end) && s.reads(table))
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use crate::silo::SiloHeader;
    use planaria_base::Epoch;

    const NONE: fn() -> Vec<Arc<Table<SiloHeader>>> = Vec::new;

    const TABLE: TableId = TableId(1);
    const OTHER: TableId = TableId(2);

    #[test]
    fn ranges_that_meet_become_one() {
        let key = |n: u64| Some(vec![n]);
        let mut left = Left::Nothing;
        left.add((key(5), None));
        left.add((None, key(5)));
        assert!(matches!(&left, Left::Ranges(all) if *all == [(None, None)]), "{left:?}");
        let mut left = Left::Nothing;
        for range in [(key(3), key(5)), (None, key(1)), (key(5), key(9)), (key(1), key(3))] {
            left.add(range);
        }
        assert!(matches!(&left, Left::Ranges(all) if *all == [(None, key(9))]), "{left:?}");
    }
    const KEY: &[u64] = &[5];

    /// The first place of an epoch.
    fn ts(epoch: u64) -> CommitTs {
        Epoch(epoch).first_ts()
    }

    #[test]
    fn versions_are_needed_as_long_as_a_snapshot_sees_them() {
        let (clock, snapshots) = (CommitClock::new(Epoch(5)), Snapshots::new());
        assert!(snapshots.older_than(ts(5)).is_none());
        let first = snapshots.announce(&clock, Moment::EndOfEpoch);
        assert_eq!(first.at, Epoch(5).last_ts());
        assert!(snapshots.older_than(ts(5)).is_none(), "a commit that the snapshot sees");
        clock.advance();
        let see = |at, begin| {
            let older = snapshots.older_than(ts(at))?;
            assert_eq!(older.see(TABLE, KEY, ts(begin)), older.may_see(TABLE, ts(begin)));
            Some(older.see(TABLE, KEY, ts(begin)))
        };
        assert_eq!([see(6, 5), see(6, 6)], [Some(true), Some(false)]);
        clock.advance();
        let second = snapshots.announce(&clock, Moment::EndOfEpoch);
        assert_eq!(second.at, Epoch(7).last_ts());
        clock.advance();
        let closed = snapshots.close(first, &clock, &mut { NONE });
        assert!(!closed.needs(TABLE, ts(3), ts(6)), "seen by the first alone");
        assert!(closed.needs(TABLE, ts(3), ts(8)), "seen by both");
        assert!(closed.needs(TABLE, ts(9), ts(10)), "ended since");
        assert!(snapshots.older_than(ts(8)).is_some());
        snapshots.close(second, &clock, &mut { NONE }).sweep();
        assert!(snapshots.older_than(ts(9)).is_none());
    }

    #[test]
    fn what_was_left_is_not_kept_any_more() {
        let (clock, snapshots) = (CommitClock::new(Epoch(5)), Snapshots::new());
        // Two of the same epoch, which are told apart.
        let (first, second) =
            (snapshots.announce(&clock, Moment::EndOfEpoch), snapshots.announce(&clock, Moment::EndOfEpoch));
        clock.advance();
        let see = |table, key: u64| {
            let older = snapshots.older_than(ts(6))?;
            Some((older.may_see(table, ts(5)), older.see(table, &[key], ts(5))))
        };
        snapshots.leave_range(first, TABLE, None, Some(&[3]));
        snapshots.leave_range(second, TABLE, Some(&[2]), Some(&[4]));
        let seen: Vec<bool> = (0..6).map(|key| see(TABLE, key).is_some_and(|(_, see)| see)).collect();
        assert_eq!(seen, [true, true, false, true, true, true], "neither reads 2");
        assert_eq!(see(OTHER, 2), Some((true, true)));
        clock.advance();
        let left = snapshots.leave_table(first, TABLE, &clock, &mut { NONE });
        assert!(left.needs(TABLE, ts(5), ts(6)), "the second reads it");
        let left = snapshots.leave_table(second, TABLE, &clock, &mut { NONE });
        assert!(!left.needs(TABLE, ts(5), ts(6)) && left.needs(OTHER, ts(5), ts(6)));
        assert_eq!(see(TABLE, 5), Some((false, false)));
        let closed = snapshots.close(first, &clock, &mut { NONE });
        assert!(!closed.needs(TABLE, ts(5), ts(6)) && closed.needs(OTHER, ts(5), ts(6)));
        assert!(!snapshots.close(second, &clock, &mut { NONE }).needs(OTHER, ts(5), ts(6)));
    }

    #[test]
    fn what_transactions_leave_is_forgotten_later() {
        let (clock, snapshots) = (CommitClock::new(Epoch(5)), Snapshots::new());
        let seen = clock.draw();
        let first = snapshots.announce(&clock, Moment::Now);
        assert_eq!(first.at, seen);
        assert!(snapshots.older_than(seen).is_none(), "a commit that the snapshot sees");
        let later = clock.draw();
        let see = |begin| snapshots.older_than(later).map(|older| older.see(TABLE, KEY, begin));
        assert_eq!([see(seen), see(later)], [Some(true), Some(false)]);
        snapshots.close_later(first);
        assert!(see(seen).is_none(), "nothing is kept any more");
        let closed = snapshots.forget_closed(&clock, &mut { NONE });
        assert!(closed.is_done());
        // One that is opened before the rest is swept needs what ends behind it.
        let table = Closed::<SiloHeader> { until: later, ..Closed::default() };
        let second = snapshots.announce(&clock, Moment::Now);
        assert!(!table.needs(TABLE, seen, later) && table.needs(TABLE, later, clock.draw()));
        snapshots.close_later(second);
    }
}

#[cfg(all(test, loom))]
mod model {
    use super::*;
    use loom::sync::{Arc, Mutex};
    use loom::thread;
    use planaria_base::Epoch;

    /// A row: its lock, timestamp and value, and its old versions: value, begin, end.
    #[derive(Default)]
    struct Row {
        now: Mutex<(u64, CommitTs)>,
        old: Mutex<Vec<(u64, CommitTs, CommitTs)>>,
    }

    /// Locks, draws, keeps the old version if somebody sees it, installs.
    fn commit(clock: &CommitClock, snapshots: &Snapshots, row: &Row, value: u64) -> CommitTs {
        let mut now = row.now.lock().unwrap();
        let ts = clock.draw();
        if let Some(older) = snapshots.older_than(ts)
            && older.see(TableId(0), &[], now.1)
        {
            row.old.lock().unwrap().push((now.0, now.1, ts));
        }
        *now = (value, ts);
        ts
    }

    fn read(row: &Row, at: CommitTs) -> Option<u64> {
        let (value, ts) = *row.now.lock().unwrap();
        if ts <= at {
            return Some(value);
        }
        let old = row.old.lock().unwrap();
        old.iter().find(|(_, begin, end)| *begin <= at && at < *end).map(|(value, ..)| *value)
    }

    fn a_snapshot_of(moment: Moment) {
        let mut model = loom::model::Builder::new();
        model.preemption_bound = Some(3);
        model.check(move || {
            let shared = Arc::new((CommitClock::new(Epoch(1)), Snapshots::new(), Row::default()));
            let writer = thread::spawn({
                let shared = shared.clone();
                move || {
                    let (clock, snapshots, row) = &*shared;
                    [1, 2].map(|value| (commit(clock, snapshots, row, value), value))
                }
            });
            // The epoch clock, which knows nothing of snapshots.
            let ticker = thread::spawn({
                let shared = shared.clone();
                move || {
                    shared.0.advance();
                }
            });
            let (clock, snapshots, row) = &*shared;
            let at = snapshots.announce(clock, moment).at;
            if moment == Moment::EndOfEpoch {
                clock.end_epoch(at.epoch());
            }
            let seen = read(row, at).expect("the row was always there");
            ticker.join().unwrap();
            let commits = writer.join().unwrap();
            let again = read(row, at);
            let expected = commits.iter().rev().find(|(ts, _)| *ts <= at).map_or(0, |(_, v)| *v);
            assert_eq!((seen, again), (expected, Some(expected)));
        });
    }

    #[test]
    fn a_snapshot_sees_the_commits_of_its_epoch_and_no_other() {
        a_snapshot_of(Moment::EndOfEpoch);
    }

    #[test]
    fn a_snapshot_of_now_sees_what_has_its_place_and_nothing_else() {
        a_snapshot_of(Moment::Now);
    }
}
