//! The version word of a record: a lock, a state and a version in one.
//!
//! Memory ordering. Readers: version, image, *acquire fence*, version again. Writers: lock, *release
//! fence*, image, version with release. So a reader that saw any store of a writer's image sees at least
//! its lock when it looks again. Locking precedes drawing the timestamp, and drawing precedes validation;
//! the draw is one read-modify-write on a shared word, so of two transactions the one that draws later
//! sees the locks of the other. The loom tests below check both.

use planaria_base::CommitTs;
use planaria_base::clock::{EPOCH_BITS, SEQUENCE_BITS};
use planaria_base::sync::atomic::{AtomicU64, Ordering, fence};
use planaria_base::sync::spin_hint;
use planaria_base::sync::thread;
use planaria_storage::Glance;

pub(crate) const LOCKED: u64 = 1 << 63;
pub(crate) const ABSENT: u64 = 1 << 62;
pub(crate) const DEAD: u64 = 1 << 61;
pub(crate) const CLAIMED: u64 = 1 << 60;
/// In a version that a transaction remembers: the row may change. The place of a lock, which no version has.
pub(crate) const LENIENT: u64 = LOCKED;
const _: () = assert!(CLAIMED == 1 << (SEQUENCE_BITS + EPOCH_BITS), "flags stand above every timestamp");

/// See the head of [`crate::footprint`].
pub struct VersionWord(AtomicU64);

/// What trying to lock gave.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Locking {
    Done,
    /// Somebody else holds the lock, at the version that was expected.
    Busy,
    /// The version is another one.
    Moved,
}

impl VersionWord {
    pub(crate) fn new(word: u64) -> VersionWord {
        VersionWord(AtomicU64::new(word))
    }

    /// See [`Header::absent`](planaria_storage::Header::absent), as for the next three.
    pub(crate) fn absent() -> VersionWord {
        VersionWord::new(ABSENT)
    }

    #[inline]
    pub(crate) fn glance(&self) -> Glance {
        let word = self.load();
        match word {
            _ if word & LOCKED != 0 => Glance::Busy,
            _ if word & ABSENT != 0 => Glance::Absent,
            _ => Glance::Row(CommitTs(word & !CLAIMED), word),
        }
    }

    #[inline]
    pub(crate) fn is_present(&self) -> bool {
        self.load() & (ABSENT | DEAD) == 0
    }

    #[inline]
    pub(crate) fn set_present(&self, present: bool) {
        self.publish(if present { 0 } else { ABSENT });
    }

    /// The word as it is; what was published before it is visible.
    #[inline]
    pub(crate) fn load(&self) -> u64 {
        self.0.load(Ordering::Acquire)
    }

    /// Whether everything read since [`load`](Self::load) gave `before`, unlocked, is one image.
    #[inline]
    pub(crate) fn is_unchanged(&self, before: u64) -> bool {
        // No load of the image may be delayed past this look at the version.
        fence(Ordering::Acquire);
        self.0.load(Ordering::Relaxed) == before
    }

    /// Locks at `version`.
    #[inline]
    pub(crate) fn try_lock(&self, version: u64) -> Locking {
        let locked = version | LOCKED;
        match self.0.compare_exchange(version, locked, Ordering::Acquire, Ordering::Relaxed) {
            Ok(_) => Locking::Done,
            Err(now) if now == locked => Locking::Busy,
            Err(_) => Locking::Moved,
        }
    }

    /// Sets the bit of a claim, once the word is unlocked. Whoever has locked it needs no claim to go on.
    pub(crate) fn mark(&self) {
        let mut looks = 0u32;
        loop {
            let now = self.0.load(Ordering::Relaxed);
            let free = now & LOCKED == 0;
            if free
                && self
                    .0
                    .compare_exchange_weak(now, now | CLAIMED, Ordering::AcqRel, Ordering::Relaxed)
                    .is_ok()
            {
                return;
            }
            looks += 1;
            if looks > super::SPINS_MAX { thread::yield_now() } else { spin_hint() }
        }
    }

    /// Clears it. It is set, so nobody else changes the word.
    pub(crate) fn unmark(&self) {
        self.0.fetch_and(!CLAIMED, Ordering::Release);
    }

    /// Locks a word that nobody else changes: that of an own placeholder.
    #[inline]
    pub(crate) fn lock_own(&self, version: u64) {
        self.0.store(version | LOCKED, Ordering::Relaxed);
    }

    /// Between locking and the first store to an image.
    #[inline]
    pub(crate) fn before_images() {
        // The locks must be seen before any store to an image is.
        fence(Ordering::Release);
    }

    /// Sets the word, and by that unlocks it; what was written before is visible to who sees it.
    #[inline]
    pub(crate) fn publish(&self, word: u64) {
        self.0.store(word, Ordering::Release);
    }
}

#[cfg(all(test, loom))]
mod model {
    use super::*;
    use loom::sync::Arc;
    use loom::thread;
    use planaria_base::clock::CommitClock;
    use planaria_base::{CommitTs, Epoch};

    struct Cell {
        word: VersionWord,
        image: [AtomicU64; 2],
    }

    impl Cell {
        fn new() -> Cell {
            Cell { word: VersionWord::new(0), image: [AtomicU64::new(0), AtomicU64::new(0)] }
        }
        fn read(&self) -> Option<(u64, u64)> {
            let before = self.word.load();
            if before & LOCKED != 0 {
                return None;
            }
            let [a, b] = [0, 1].map(|i: usize| self.image[i].load(Ordering::Relaxed));
            self.word.is_unchanged(before).then(|| {
                assert_eq!(a, b, "a torn image passed");
                (before, a)
            })
        }
        fn write(&self, value: u64) {
            self.image.iter().for_each(|word| word.store(value, Ordering::Relaxed));
        }
    }

    /// Reads `from`, then writes to `to`; the value and version read, and the timestamp.
    fn transaction(clock: &CommitClock, from: &Cell, to: &Cell) -> Option<(u64, CommitTs)> {
        let (from_version, value) = from.read()?;
        let (to_version, _) = to.read()?;
        if to.word.try_lock(to_version) != Locking::Done {
            return None;
        }
        let ts = clock.draw();
        if from.word.load() != from_version {
            to.word.publish(to_version);
            return None;
        }
        VersionWord::before_images();
        to.write(ts.0);
        to.word.publish(ts.0);
        Some((value, ts))
    }

    #[test]
    fn images_are_never_torn() {
        loom::model(|| {
            let cell = Arc::new(Cell::new());
            let writer = thread::spawn({
                let cell = cell.clone();
                move || {
                    for version in 1..3 {
                        assert_eq!(cell.word.try_lock(version - 1), Locking::Done);
                        VersionWord::before_images();
                        cell.write(version);
                        cell.word.publish(version);
                    }
                }
            });
            if let Some((version, value)) = cell.read() {
                assert_eq!(version, value);
            }
            writer.join().unwrap();
        });
    }

    #[test]
    fn of_two_that_read_what_the_other_writes_one_fails_or_sees_the_other() {
        loom::model(|| {
            let shared = Arc::new((CommitClock::new(Epoch(1)), Cell::new(), Cell::new()));
            let other = thread::spawn({
                let shared = shared.clone();
                move || transaction(&shared.0, &shared.1, &shared.2)
            });
            let one = transaction(&shared.0, &shared.2, &shared.1);
            let other = other.join().unwrap();
            if let (Some((read, ts)), Some((other_read, other_ts))) = (one, other) {
                // Whoever is later in the order has read what the earlier one wrote.
                if ts < other_ts {
                    assert_eq!((read, other_read), (0, ts.0));
                } else {
                    assert_eq!((read, other_read), (other_ts.0, 0));
                }
            }
        });
    }

    /// The same, healed where it fails: it locks what it has read and what it writes, reads again, and draws its timestamp
    /// then; and once more, under the same locks, where it finds that a leaf has moved.
    fn healed(clock: &CommitClock, from: &Cell, to: &Cell, leaf_has_moved: bool) -> Option<(u64, CommitTs)> {
        if let Some(done) = transaction(clock, from, to) {
            return Some(done);
        }
        let lock = |cell: &Cell| {
            let now = cell.word.load();
            (now & LOCKED == 0 && cell.word.try_lock(now) == Locking::Done).then_some(now)
        };
        let from_version = lock(from)?;
        if lock(to).is_none() {
            from.word.publish(from_version);
            return None;
        }
        let [a, b] = [0, 1].map(|i: usize| from.image[i].load(Ordering::Relaxed));
        assert_eq!(a, b, "what is locked changes");
        let mut ts = clock.draw();
        if leaf_has_moved {
            ts = clock.draw();
        }
        VersionWord::before_images();
        to.write(ts.0);
        to.word.publish(ts.0);
        from.word.publish(from_version);
        Some((a, ts))
    }

    #[test]
    fn who_is_healed_has_its_place_in_the_order() {
        is_in_order(false);
    }

    #[test]
    fn who_is_healed_has_its_place_in_the_order_when_it_has_drawn_twice() {
        is_in_order(true);
    }

    fn is_in_order(leaf_has_moved: bool) {
        loom::model(move || {
            let shared = Arc::new((CommitClock::new(Epoch(1)), Cell::new(), Cell::new()));
            let other = thread::spawn({
                let shared = shared.clone();
                move || transaction(&shared.0, &shared.1, &shared.2)
            });
            let one = healed(&shared.0, &shared.2, &shared.1, leaf_has_moved);
            let other = other.join().unwrap();
            if let (Some((read, ts)), Some((other_read, other_ts))) = (one, other) {
                if ts < other_ts {
                    assert_eq!((read, other_read), (0, ts.0));
                } else {
                    assert_eq!((read, other_read), (other_ts.0, 0));
                }
            }
        });
    }

    #[test]
    fn an_anti_dependency_goes_forward_in_the_order() {
        loom::model(|| {
            let shared = Arc::new((CommitClock::new(Epoch(1)), Cell::new(), Cell::new(), Cell::new()));
            // Writes cell 1; the other reads it and writes cell 2.
            let other = thread::spawn({
                let shared = shared.clone();
                move || transaction(&shared.0, &shared.3, &shared.1)
            });
            let one = transaction(&shared.0, &shared.1, &shared.2);
            let other = other.join().unwrap();
            if let (Some((read, ts)), Some((_, other_ts))) = (one, other) {
                assert_eq!(read, if ts < other_ts { 0 } else { other_ts.0 });
            }
        });
    }

    /// Once somebody has claimed a row and has seen it as it was read, nobody else's commit changes it.
    #[test]
    fn a_claimed_row_is_changed_by_who_claimed_it_alone() {
        loom::model(|| {
            let shared = Arc::new((CommitClock::new(Epoch(1)), Cell::new()));
            let install = |(clock, cell): &(CommitClock, Cell), claim: u64| {
                let ts = clock.draw();
                VersionWord::before_images();
                cell.write(ts.0);
                cell.word.publish(ts.0 | claim);
                ts
            };
            let optimist = thread::spawn({
                let shared = shared.clone();
                move || {
                    let (version, value) = shared.1.read()?;
                    let locking = shared.1.word.try_lock(version & !CLAIMED);
                    (locking == Locking::Done).then(|| (value, install(&shared, 0)))
                }
            });
            let cell = &shared.1;
            cell.word.mark();
            // Nobody else commits from here on, so this is never torn.
            let (version, value) = cell.read().expect("a claimed row is not locked by others");
            assert_eq!(version & CLAIMED, CLAIMED);
            assert_eq!(cell.word.try_lock(version), Locking::Done);
            let ts = install(&shared, CLAIMED);
            cell.word.unmark();
            match optimist.join().unwrap() {
                Some((read, other)) if other < ts => assert_eq!((read, value), (0, other.0)),
                Some((read, other)) => {
                    assert_eq!((read, value), (ts.0, 0));
                    assert_eq!(cell.word.load(), other.0);
                }
                None => assert_eq!(cell.word.load(), ts.0),
            }
        });
    }
}
