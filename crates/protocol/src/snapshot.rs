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
//! **Closing** takes S from the list; then, at once or later, the versions that no other open snapshot sees are
//! forgotten ([`Closed::sweep`]). Nobody
//! puts one for S afterwards: putting holds the list. A version that ended after the moment of closing is
//! left alone, as a snapshot that was opened since may need it.
//!
//! **Reading** ([`SnapshotReader`]) takes no read set and no node set, validates nothing, never fails for
//! another transaction's sake, and makes none fail.

mod reader;

pub use reader::{ReaderTxn, SnapshotReader};

use crossbeam_utils::CachePadded;
use planaria_base::Epoch;
use planaria_base::clock::CommitClock;
use planaria_base::sync::atomic::{AtomicU64, Ordering};
use planaria_base::sync::model::{RwLock, RwLockReadGuard};
use planaria_storage::reclaim::Participant;
use planaria_storage::{Header, TableSet};

/// The open snapshots of a database. See the module's head.
pub struct Snapshots {
    /// How many are open. Read by every commit.
    count: CachePadded<AtomicU64>,
    /// Epochs, as often as they are open.
    open: RwLock<Vec<Epoch>>,
}

impl Default for Snapshots {
    fn default() -> Self {
        Snapshots::new()
    }
}

impl Snapshots {
    /// None open.
    pub fn new() -> Snapshots {
        Snapshots { count: CachePadded::new(AtomicU64::new(0)), open: RwLock::new(Vec::new()) }
    }

    fn tell(&self, open: &[Epoch]) {
        self.count.store(open.len() as u64, Ordering::Relaxed);
    }

    /// Announces a snapshot of the open epoch. It can be read once that epoch has ended.
    pub fn announce(&self, clock: &CommitClock) -> Epoch {
        let mut open = self.open.write().expect("nobody panics with the list");
        loop {
            let epoch = clock.epoch();
            open.push(epoch);
            self.tell(&open);
            if clock.witness() == epoch {
                return epoch;
            }
            // It had ended before it was announced.
            open.pop();
            self.tell(&open);
        }
    }

    /// Closes a snapshot. What only it has seen is to be forgotten, by [`Closed::sweep`].
    pub fn close(&self, epoch: Epoch, clock: &CommitClock) -> Closed {
        let mut open = self.open.write().expect("nobody panics with the list");
        let at = open.iter().position(|other| *other == epoch).expect("a snapshot is closed once");
        open.swap_remove(at);
        self.tell(&open);
        Closed { open: open.clone(), until: clock.epoch() }
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
        let open = self.open.read().expect("nobody panics with the list");
        open.iter().any(|s| *s < epoch).then_some(Older { open, end: epoch })
    }
}

/// The open snapshots, for a commit that changes rows; none can be closed meanwhile.
pub(crate) struct Older<'s> {
    open: RwLockReadGuard<'s, Vec<Epoch>>,
    end: Epoch,
}

impl Older<'_> {
    /// Whether one of them sees a row that is as it is since `begin`, and that the commit changes.
    pub(crate) fn see(&self, begin: Epoch) -> bool {
        self.see_until(begin, self.end)
    }

    /// Whether one of them sees a version of a row.
    pub(crate) fn see_until(&self, begin: Epoch, end: Epoch) -> bool {
        self.open.iter().any(|s| begin <= *s && *s < end)
    }
}

/// What is needed after a snapshot was closed. That stays so, whatever is opened later.
#[derive(Clone, Default, Debug)]
pub struct Closed {
    open: Vec<Epoch>,
    /// The epoch that was open at that moment.
    until: Epoch,
}

impl Closed {
    /// Forgets what nobody needs any more. `tables` are those that the snapshot could read, and those that
    /// have taken their place since: rows that are changed there may have been kept for it, too.
    pub fn sweep<H: Header>(&self, tables: &TableSet<H>) {
        let mut participant = Participant::new();
        for table in tables.iter() {
            table.sweep_old_versions(&mut participant, &|begin, end| self.needs(begin, end));
        }
        participant.flush();
    }

    fn needs(&self, begin: Epoch, end: Epoch) -> bool {
        end > self.until || self.open.iter().any(|s| begin <= *s && *s < end)
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn versions_are_needed_as_long_as_a_snapshot_sees_them() {
        let (clock, snapshots) = (CommitClock::new(Epoch(5)), Snapshots::new());
        assert!(snapshots.older_than(Epoch(5)).is_none());
        let first = snapshots.announce(&clock);
        assert_eq!(first, Epoch(5));
        assert!(snapshots.older_than(Epoch(5)).is_none(), "a commit that the snapshot sees");
        clock.advance();
        assert!(snapshots.older_than(Epoch(6)).is_some_and(|o| o.see(Epoch(5)) && !o.see(Epoch(6))));
        clock.advance();
        let second = snapshots.announce(&clock);
        assert_eq!(second, Epoch(7));
        clock.advance();
        let closed = snapshots.close(first, &clock);
        assert!(!closed.needs(Epoch(3), Epoch(6)), "seen by the first alone");
        assert!(closed.needs(Epoch(3), Epoch(8)), "seen by both");
        assert!(closed.needs(Epoch(9), Epoch(10)), "ended since");
        assert!(snapshots.older_than(Epoch(8)).is_some());
        snapshots.close(second, &clock);
        assert!(snapshots.older_than(Epoch(9)).is_none());
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
            && older.see(now.1.epoch())
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
            let at = snapshots.announce(clock);
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
