//! Snapshots: reading the state at the end of an epoch while transactions go on.
//!
//! **Paper.** Silo (SOSP 2013) §4.9 has snapshots every 25 epochs or so, for which writers always keep old
//! versions. Here they are kept only while somebody reads a snapshot, and it may be any epoch: a database
//! without readers of snapshots pays one load of a word that nobody writes for each commit.
//!
//! **What a snapshot is.** The snapshot of epoch S sees exactly the commits with `commit_ts.epoch() <= S`.
//!
//! **How one comes about.**
//!
//! 1. *Announce* ([`Snapshots::announce`]): put S, the open epoch, into the list of open snapshots, whose
//!    length is `count`, then take part in the clock's order ([`CommitClock::witness`]) and find S still open. If it
//!    is not, take the next one.
//! 2. *End the epoch*: whoever opens the snapshot sees to it that the clock goes on, by itself or by hand.
//! 3. *Read*. There is nothing to wait for. A commit of epoch S or before holds the locks of all it writes
//!    since before it drew its timestamp; so a record that is not locked now has all of them.
//!
//! **What writers do** ([`Snapshots::older_than`]). A commit that has drawn its timestamp, of epoch E, and
//! has validated, looks at `count`. If a snapshot is open it puts the old image of every row that some
//! open S < E sees among the [old versions](planaria_storage::old) of its primary key, and those versions
//! that an index entry about to go has led to among those of the entry's key; all before it changes a
//! record or an index. It holds the list of open snapshots for that long.
//!
//! *No commit of a later epoch misses the announcement*: (1) ends in a read-modify-write of the clock's
//! word, drawing is one of the same word, all steps of the word are; so whoever draws after the epoch has
//! ended synchronizes with (1), and sees list and count. Loom checks it, below.
//!
//! **Leaving.** Who reads everything once, as a checkpoint does, is through with one range of keys after the other
//! ([`Snapshots::leave_range`]), and with one table after the other ([`Snapshots::leave_table`]); writers keep nothing for
//! it there any more.
//!
//! **Closing** takes S from the list. Of a table that nobody reads any more, because each reader has closed or left it,
//! all old versions are taken out at once, unless a sweep is at work there: putting holds the list, so nobody puts one
//! meanwhile. Where somebody else reads it,
//! the versions that no open snapshot sees are picked out afterwards; one that ended after the moment of closing
//! is left alone, as a snapshot that was opened since may need it. Either takes some time, which [`Closed`] takes.
//!
//! **Reading** ([`SnapshotReader`]) takes no read set and no node set, validates nothing, never fails for
//! another transaction's sake, and makes none fail.

mod reader;

pub use reader::{ReaderTxn, SnapshotReader};

use crate::Backoff;
use crossbeam_utils::CachePadded;
use planaria_base::clock::CommitClock;
use planaria_base::sync::atomic::{AtomicU64, Ordering};
use planaria_base::sync::model::{RwLock, RwLockReadGuard, RwLockWriteGuard};
use planaria_base::{Epoch, TableId};
use planaria_storage::btree::compare_keys;
use planaria_storage::reclaim::Participant;
use planaria_storage::{Header, Table, Taken};
use std::sync::Arc;

/// The open snapshots of a database. See the module's head.
pub struct Snapshots {
    /// How many are open. Read by every commit.
    count: CachePadded<AtomicU64>,
    open: RwLock<List>,
}

#[derive(Default)]
struct List {
    open: Vec<Open>,
    /// How many there have been.
    opened: u64,
    /// How often one was closed, or left a table.
    closed: u64,
}

/// An open snapshot.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Opened {
    /// Whose end it shows.
    pub epoch: Epoch,
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
                    if end == from {
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
    fn sees(&self, begin: Epoch, end: Epoch) -> bool {
        begin <= self.id.epoch && self.id.epoch < end
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
        Snapshots { count: CachePadded::new(AtomicU64::new(0)), open: RwLock::new(List::default()) }
    }

    fn tell(&self, list: &List) {
        self.count.store(list.open.len() as u64, Ordering::Relaxed);
    }

    /// Announces a snapshot of the open epoch. It can be read once that epoch has ended.
    pub fn announce(&self, clock: &CommitClock) -> Opened {
        let mut list = self.open.write().expect(UNHARMED);
        list.opened += 1;
        loop {
            let id = Opened { epoch: clock.epoch(), number: list.opened };
            list.open.push(Open { id, left: Vec::new() });
            self.tell(&list);
            if clock.witness() == id.epoch {
                return id;
            }
            // It had ended before it was announced.
            list.open.pop();
            self.tell(&list);
        }
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
        let closed = list.forget(id.epoch, clock, &tables);
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
        let closed = list.forget(id.epoch, clock, &tables);
        drop(list);
        drop(left);
        closed.expire();
        closed
    }

    /// For a commit of `epoch`: the open snapshots, if one of them is older.
    #[inline]
    pub(crate) fn older_than(&self, epoch: Epoch) -> Option<Older<'_>> {
        // Relaxed: the draw has synchronized with every announcement that matters.
        if self.count.load(Ordering::Relaxed) == 0 {
            return None;
        }
        self.older_open(epoch)
    }

    #[cold]
    fn older_open(&self, epoch: Epoch) -> Option<Older<'_>> {
        let list = self.open.read().expect(UNHARMED);
        list.open.iter().any(|s| s.id.epoch < epoch).then_some(Older { list, end: epoch })
    }
}

/// Says which tables to look at for old versions.
pub type Tables<'t, H> = &'t mut dyn FnMut() -> Vec<Arc<Table<H>>>;

impl List {
    /// While nobody can put a version; the snapshot of epoch `gone` reads these tables no more.
    fn forget<H: Header>(&mut self, gone: Epoch, clock: &CommitClock, tables: &[Arc<Table<H>>]) -> Closed<H> {
        self.closed += 1;
        let (number, open, until) = (self.closed, self.open.clone(), clock.epoch());
        let mut closed = Closed { number, taken: Vec::new(), shared: Vec::new(), open, until };
        for table in tables {
            let readers = self.open.iter().filter(|s| s.reads(table.id()));
            let oldest = readers.map(|s| s.id.epoch).min();
            if oldest.is_none() {
                closed.taken.extend(table.take_old_versions());
            }
            // Most of what there is was kept for the oldest reader: if that goes on, it is not worth a look each time
            // another one goes. (Nobody reads it, and there are some: they are being swept.)
            if table.has_old_versions()
                && (oldest.is_none_or(|oldest| gone < oldest) || table.has_many_young_versions())
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
    end: Epoch,
}

impl Older<'_> {
    /// Whether one of them sees a row of a table that is as it is since `begin`, and that the commit changes, by all
    /// that can be said without its key.
    #[inline]
    pub(crate) fn may_see(&self, table: TableId, begin: Epoch) -> bool {
        self.list.open.iter().any(|s| s.sees(begin, self.end) && s.reads(table))
    }

    /// The same of the row with a key.
    #[inline]
    pub(crate) fn see(&self, table: TableId, key: &[u64], begin: Epoch) -> bool {
        self.see_until(table, key, begin, self.end)
    }

    /// Whether the oldest of those that read a table needs its row with a key, which is as it is since `begin`.
    pub(crate) fn oldest_sees(&self, table: TableId, key: &[u64], begin: Epoch) -> bool {
        let readers = self.list.open.iter().filter(|s| s.reads(table));
        let oldest = readers.min_by_key(|s| s.id.epoch);
        oldest.is_some_and(|s| s.sees(begin, self.end) && s.reads_key(table, key))
    }

    /// Whether one of them sees a version of the row with a key.
    pub(crate) fn see_until(&self, table: TableId, key: &[u64], begin: Epoch, end: Epoch) -> bool {
        self.list.open.iter().any(|s| s.sees(begin, end) && s.reads_key(table, key))
    }
}

/// What is to be forgotten after a snapshot was closed, or a table was left. Whoever drops it without a sweep leaves
/// tables that others still read to whoever closes later.
#[must_use]
pub struct Closed<H: Header> {
    /// In the order of closing and leaving.
    number: u64,
    taken: Vec<Taken>,
    /// Tables that others read.
    shared: Vec<Arc<Table<H>>>,
    open: Vec<Open>,
    /// The epoch that was open at that moment.
    until: Epoch,
}

impl<H: Header> Default for Closed<H> {
    fn default() -> Self {
        Closed { number: 0, taken: Vec::new(), shared: Vec::new(), open: Vec::new(), until: Epoch(0) }
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

    /// About how many versions there are to look at.
    pub fn versions(&self) -> u64 {
        let taken = self.taken.iter().map(Taken::versions);
        taken.chain(self.shared.iter().map(|table| table.old_versions().versions)).sum()
    }

    /// Whether nothing is left to do.
    pub fn is_done(&self) -> bool {
        self.taken.is_empty() && self.shared.is_empty()
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
    }

    fn sweep_shared(&self, rest: &mut dyn FnMut() -> bool) {
        let mut participant = Participant::new();
        for table in &self.shared {
            let needed = |begin, end| self.needs(table.id(), begin, end);
            table.sweep_old_versions(&mut participant, &needed, rest);
        }
        participant.flush();
    }

    /// Whichever was closed earlier leaves to the other the tables that both are to look through, which finds less
    /// that is needed.
    pub fn agree(&mut self, other: &mut Closed<H>) {
        let (earlier, later) = if self.number < other.number { (self, other) } else { (other, self) };
        earlier.shared.retain(|table| !later.shared.iter().any(|other| Arc::ptr_eq(other, table)));
    }

    fn needs(&self, table: TableId, begin: Epoch, end: Epoch) -> bool {
        end > self.until || self.open.iter().any(|s| s.sees(begin, end) && s.reads(table))
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use crate::silo::SiloHeader;

    const NONE: fn() -> Vec<Arc<Table<SiloHeader>>> = Vec::new;

    const TABLE: TableId = TableId(1);
    const OTHER: TableId = TableId(2);
    const KEY: &[u64] = &[5];

    #[test]
    fn versions_are_needed_as_long_as_a_snapshot_sees_them() {
        let (clock, snapshots) = (CommitClock::new(Epoch(5)), Snapshots::new());
        assert!(snapshots.older_than(Epoch(5)).is_none());
        let first = snapshots.announce(&clock);
        assert_eq!(first.epoch, Epoch(5));
        assert!(snapshots.older_than(Epoch(5)).is_none(), "a commit that the snapshot sees");
        clock.advance();
        let see = |at, begin| {
            let older = snapshots.older_than(Epoch(at))?;
            assert_eq!(older.see(TABLE, KEY, Epoch(begin)), older.may_see(TABLE, Epoch(begin)));
            Some(older.see(TABLE, KEY, Epoch(begin)))
        };
        assert_eq!([see(6, 5), see(6, 6)], [Some(true), Some(false)]);
        clock.advance();
        let second = snapshots.announce(&clock);
        assert_eq!(second.epoch, Epoch(7));
        clock.advance();
        let closed = snapshots.close(first, &clock, &mut { NONE });
        assert!(!closed.needs(TABLE, Epoch(3), Epoch(6)), "seen by the first alone");
        assert!(closed.needs(TABLE, Epoch(3), Epoch(8)), "seen by both");
        assert!(closed.needs(TABLE, Epoch(9), Epoch(10)), "ended since");
        assert!(snapshots.older_than(Epoch(8)).is_some());
        snapshots.close(second, &clock, &mut { NONE }).sweep();
        assert!(snapshots.older_than(Epoch(9)).is_none());
    }

    #[test]
    fn what_was_left_is_not_kept_any_more() {
        let (clock, snapshots) = (CommitClock::new(Epoch(5)), Snapshots::new());
        // Two of the same epoch, which are told apart.
        let (first, second) = (snapshots.announce(&clock), snapshots.announce(&clock));
        clock.advance();
        let see = |table, key: u64| {
            let older = snapshots.older_than(Epoch(6))?;
            Some((older.may_see(table, Epoch(5)), older.see(table, &[key], Epoch(5))))
        };
        snapshots.leave_range(first, TABLE, None, Some(&[3]));
        snapshots.leave_range(second, TABLE, Some(&[2]), Some(&[4]));
        let seen: Vec<bool> = (0..6).map(|key| see(TABLE, key).is_some_and(|(_, see)| see)).collect();
        assert_eq!(seen, [true, true, false, true, true, true], "neither reads 2");
        assert_eq!(see(OTHER, 2), Some((true, true)));
        let left = snapshots.leave_table(first, TABLE, &clock, &mut { NONE });
        assert!(left.needs(TABLE, Epoch(5), Epoch(6)), "the second reads it");
        let left = snapshots.leave_table(second, TABLE, &clock, &mut { NONE });
        assert!(!left.needs(TABLE, Epoch(5), Epoch(6)) && left.needs(OTHER, Epoch(5), Epoch(6)));
        assert_eq!(see(TABLE, 5), Some((false, false)));
        let closed = snapshots.close(first, &clock, &mut { NONE });
        assert!(!closed.needs(TABLE, Epoch(5), Epoch(6)) && closed.needs(OTHER, Epoch(5), Epoch(6)));
        assert!(!snapshots.close(second, &clock, &mut { NONE }).needs(OTHER, Epoch(5), Epoch(6)));
    }
}

#[cfg(all(test, loom))]
mod model {
    use super::*;
    use loom::sync::{Arc, Mutex};
    use loom::thread;
    use planaria_base::CommitTs;

    /// A row: its lock, timestamp and value, and its old versions: value, begin, end.
    #[derive(Default)]
    struct Row {
        now: Mutex<(u64, CommitTs)>,
        old: Mutex<Vec<(u64, Epoch, Epoch)>>,
    }

    /// Locks, draws, keeps the old version if somebody sees it, installs.
    fn commit(clock: &CommitClock, snapshots: &Snapshots, row: &Row, value: u64) -> CommitTs {
        let mut now = row.now.lock().unwrap();
        let ts = clock.draw();
        if let Some(older) = snapshots.older_than(ts.epoch())
            && older.see(TableId(0), &[], now.1.epoch())
        {
            row.old.lock().unwrap().push((now.0, now.1.epoch(), ts.epoch()));
        }
        *now = (value, ts);
        ts
    }

    fn read(row: &Row, at: Epoch) -> Option<u64> {
        let (value, ts) = *row.now.lock().unwrap();
        if ts.epoch() <= at {
            return Some(value);
        }
        let old = row.old.lock().unwrap();
        old.iter().find(|(_, begin, end)| *begin <= at && at < *end).map(|(value, ..)| *value)
    }

    #[test]
    fn a_snapshot_sees_the_commits_of_its_epoch_and_no_other() {
        let mut model = loom::model::Builder::new();
        model.preemption_bound = Some(3);
        model.check(|| {
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
            let at = snapshots.announce(clock).epoch;
            clock.end_epoch(at);
            let seen = read(row, at).expect("the row was always there");
            ticker.join().unwrap();
            let commits = writer.join().unwrap();
            let again = read(row, at);
            let expected = commits.iter().rev().find(|(ts, _)| ts.epoch() <= at).map_or(0, |(_, v)| *v);
            assert_eq!((seen, again), (expected, Some(expected)));
        });
    }
}
