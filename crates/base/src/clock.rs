//! Commit timestamps and epochs: the one total order of commits.
//!
//! A single 64-bit word holds `epoch << 24 | sequence`. A transaction that has locked what it
//! writes and has not yet validated what it read draws its [`CommitTs`] with one `fetch_add`; the
//! epoch clock stores the next epoch into the same word. So
//!
//! 1. commit timestamps are a serial order, anti-dependencies included: if T1 read what T2 wrote
//!    over, T1 validated before T2 locked, hence drew before T2 drew;
//! 2. an epoch is an exactly contiguous run of commit timestamps;
//! 3. within an epoch sequence numbers are dense.
//!
//! Limit: 2^24 commits an epoch. The clock opens the next epoch long before (see
//! [`CommitClock::draw`]).

use crate::sync::atomic::{AtomicU64, Ordering};
use serde::{Deserialize, Serialize};

/// Bits of a commit timestamp below the epoch.
pub const SEQUENCE_BITS: u32 = 24;
const SEQUENCE_MASK: u64 = (1 << SEQUENCE_BITS) - 1;
/// Bits of an epoch: a record's version word has four flags above a commit timestamp.
pub const EPOCH_BITS: u32 = 36;

/// The unit of group commit, durability, snapshots and log batches. Starts at 1; 0 means "before all".
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default, Serialize, Deserialize)]
pub struct Epoch(pub u64);

impl Epoch {
    /// The last one, in which nothing is committed: that much a record's version word can hold.
    pub const LAST: Epoch = Epoch((1 << EPOCH_BITS) - 1);
    /// The largest that a file may name, with room to go on (for more than a year of epochs of 10 ms).
    pub const MAX: Epoch = Epoch(Epoch::LAST.0 - (1 << 32));
    /// Where the log ends: nothing is committed in it or behind. Below [`MAX`](Epoch::MAX), as whoever opens the database takes a
    /// few more, and must find all files readable.
    pub const END: Epoch = Epoch(Epoch::MAX.0 - (1 << 24));

    /// The epoch after this one.
    pub const fn next(self) -> Epoch {
        Epoch(self.0 + 1)
    }
    /// The smallest commit timestamp of this epoch.
    pub const fn first_ts(self) -> CommitTs {
        CommitTs(self.0 << SEQUENCE_BITS)
    }
    /// The largest one.
    pub const fn last_ts(self) -> CommitTs {
        CommitTs(self.next().first_ts().0 - 1)
    }
}

/// A transaction's place in the total order of commits; 0 is "loaded before any commit".
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize)]
pub struct CommitTs(pub u64);

impl CommitTs {
    /// From its two parts.
    pub const fn new(epoch: Epoch, sequence: u32) -> Self {
        CommitTs(epoch.0 << SEQUENCE_BITS | sequence as u64)
    }
    /// The epoch this commit belongs to.
    #[inline]
    pub const fn epoch(self) -> Epoch {
        Epoch(self.0 >> SEQUENCE_BITS)
    }
    /// The place right before this one.
    #[inline]
    pub const fn before(self) -> CommitTs {
        CommitTs(self.0.saturating_sub(1))
    }
    /// The place right behind this one.
    #[inline]
    pub const fn next(self) -> CommitTs {
        CommitTs(self.0 + 1)
    }
    /// The number of commits before it in its epoch.
    #[inline]
    pub const fn sequence(self) -> u32 {
        (self.0 & SEQUENCE_MASK) as u32
    }
}

impl std::fmt::Debug for CommitTs {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}:{}", self.epoch().0, self.sequence())
    }
}

/// The word every commit draws from.
///
/// Alone on its cache line: it is the engine's only shared write on the commit path.
#[repr(align(128))]
pub struct CommitClock {
    word: AtomicU64,
}

impl CommitClock {
    /// A clock whose next commit is the first of `epoch`.
    pub fn new(epoch: Epoch) -> Self {
        CommitClock { word: AtomicU64::new(epoch.0 << SEQUENCE_BITS) }
    }

    /// Draws the next commit timestamp. Call with every write locked and nothing yet validated.
    ///
    /// Ordering: `SeqCst`, because the worker's published state (what holds the epoch open) must
    /// be visible before the draw, and validation must not move above it.
    #[inline]
    pub fn draw(&self) -> CommitTs {
        let ts = self.word.fetch_add(1, Ordering::SeqCst);
        // A run of 2^24 commits within one epoch would carry into the epoch bits: the carry *is*
        // the next epoch, still monotone and still contiguous, so nothing breaks.
        CommitTs(ts)
    }

    /// The timestamp the next commit will draw; everything committed so far is below it.
    #[inline]
    pub fn now(&self) -> CommitTs {
        CommitTs(self.word.load(Ordering::SeqCst))
    }

    /// The open epoch.
    #[inline]
    pub fn epoch(&self) -> Epoch {
        self.now().epoch()
    }

    /// The open epoch, as a step of the order itself: whoever draws a timestamp of a later epoch
    /// sees everything that the caller did before.
    ///
    /// A read-modify-write that adds nothing. All steps of the word are such, so those that follow this
    /// one synchronize with it; a plain load would promise nothing to who comes later.
    pub fn witness(&self) -> Epoch {
        self.witness_now().epoch()
    }

    /// The same, with [`CommitClock::now`] for an answer.
    pub fn witness_now(&self) -> CommitTs {
        CommitTs(self.word.fetch_add(0, Ordering::SeqCst))
    }

    /// Ends `epoch`, unless it is over.
    pub fn end_epoch(&self, epoch: Epoch) {
        let mut seen = self.word.load(Ordering::SeqCst);
        while CommitTs(seen).epoch() <= epoch {
            let next = epoch.next().first_ts().0;
            match self.word.compare_exchange_weak(seen, next, Ordering::SeqCst, Ordering::SeqCst) {
                Ok(_) => return,
                Err(now) => seen = now,
            }
        }
    }

    /// Opens the next epoch and returns it. Called by the epoch clock alone.
    pub fn advance(&self) -> Epoch {
        let mut seen = self.word.load(Ordering::SeqCst);
        loop {
            let next = Epoch(seen >> SEQUENCE_BITS).next();
            match self.word.compare_exchange_weak(
                seen,
                next.0 << SEQUENCE_BITS,
                Ordering::SeqCst,
                Ordering::SeqCst,
            ) {
                Ok(_) => return next,
                Err(now) => seen = now,
            }
        }
    }

    /// Sets the clock forward to the first timestamp of `epoch`; used once, at the end of recovery
    /// and by replay, never while transactions run.
    pub fn reset(&self, epoch: Epoch) {
        self.word.store(epoch.0 << SEQUENCE_BITS, Ordering::SeqCst);
    }

    /// Sets the next timestamp exactly; used by serial replay, so that a replayed commit gets the
    /// timestamp it had.
    pub fn reset_to(&self, ts: CommitTs) {
        self.word.store(ts.0, Ordering::SeqCst);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn epochs_are_contiguous_runs_of_timestamps() {
        let clock = CommitClock::new(Epoch(3));
        let a = clock.draw();
        let b = clock.draw();
        assert_eq!((a.epoch(), a.sequence(), b.sequence()), (Epoch(3), 0, 1));
        assert_eq!(clock.advance(), Epoch(4));
        let c = clock.draw();
        assert!(b < c);
        assert_eq!((c.epoch(), c.sequence()), (Epoch(4), 0));
    }

    #[test]
    fn an_epoch_is_ended_once() {
        let clock = CommitClock::new(Epoch(3));
        clock.draw();
        assert_eq!(clock.witness(), Epoch(3));
        clock.end_epoch(Epoch(2));
        assert_eq!(clock.epoch(), Epoch(3));
        clock.end_epoch(Epoch(3));
        clock.end_epoch(Epoch(3));
        assert_eq!(clock.now(), Epoch(4).first_ts());
    }
}
