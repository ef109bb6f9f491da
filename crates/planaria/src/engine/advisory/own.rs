//! The advisory locks of a session, counted: see [`advisory`](super).

use crate::system::AdvisoryLock;
use std::collections::HashMap;

/// How often a session has a lock.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
struct Count {
    /// At session level.
    session: u32,
    /// For the transaction.
    transaction: u32,
    /// Of an attempt that was taken back, or granted to it as it waited: at session level, for the transaction.
    spare: [u32; 2],
    /// At session level, unlocked by an attempt that was taken back.
    unlocked: u32,
    /// What the attempt under way has done at session level: locked less unlocked.
    done: i64,
    /// The statement under way has changed it.
    touched: bool,
}

impl Count {
    fn is_held(self) -> bool {
        self.session > 0 || self.transaction > 0 || self.spare != [0, 0]
    }
}

/// To whom locks belong: the session, or the transaction.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Level {
    Session,
    Transaction,
}

/// The locks of one session.
#[derive(Default)]
pub(crate) struct OwnLocks {
    counts: HashMap<AdvisoryLock, Count>,
    /// Those of the transaction, in the order in which they came.
    transaction: Vec<AdvisoryLock>,
    /// Of the transaction when the attempt began.
    before: usize,
    /// Locks whose counts the statement under way has changed.
    touched: Vec<AdvisoryLock>,
}

impl OwnLocks {
    /// Nothing of the statement under way, nor of the transaction, is locked: there is nothing to do at their ends.
    #[inline]
    pub(crate) fn rests(&self) -> bool {
        self.touched.is_empty() && self.transaction.is_empty()
    }

    /// Whether the session has none.
    pub(crate) fn is_empty(&self) -> bool {
        self.counts.is_empty()
    }

    /// How many the transaction has.
    pub(crate) fn mark(&self) -> usize {
        self.transaction.len()
    }

    /// An attempt of a statement begins.
    #[inline]
    pub(crate) fn begin(&mut self) {
        self.before = self.transaction.len();
    }

    fn count(&mut self, lock: AdvisoryLock) -> &mut Count {
        let count = self.counts.entry(lock).or_default();
        if !std::mem::replace(&mut count.touched, true) {
            self.touched.push(lock);
        }
        count
    }

    /// Counts a lock once more if the session has it, now or from an attempt before: whether it did.
    pub(crate) fn lock_again(&mut self, lock: AdvisoryLock, level: Level) -> bool {
        if !self.counts.get(&lock).is_some_and(|count| count.is_held()) {
            return false;
        }
        let spare = &mut self.count(lock).spare[level as usize];
        *spare = spare.saturating_sub(1);
        self.locked(lock, level);
        true
    }

    /// Counts a lock that the session has been granted.
    pub(crate) fn locked(&mut self, lock: AdvisoryLock, level: Level) {
        let count = self.count(lock);
        match level {
            Level::Session => {
                count.session += 1;
                count.done += 1;
            }
            Level::Transaction => {
                count.transaction += 1;
                self.transaction.push(lock);
            }
        }
    }

    /// A lock was granted to a statement that will ask for it again.
    pub(crate) fn granted(&mut self, lock: AdvisoryLock, level: Level) {
        self.count(lock).spare[level as usize] += 1;
    }

    /// Unlocks once at session level. `None`: it was not locked; otherwise whether it is to be let go of.
    pub(crate) fn unlock(&mut self, lock: AdvisoryLock) -> Option<bool> {
        let known = self.counts.get(&lock)?;
        if known.session == 0 && known.unlocked == 0 {
            return None;
        }
        let count = self.count(lock);
        count.done -= 1;
        if count.unlocked > 0 {
            count.unlocked -= 1;
            return Some(false);
        }
        count.session -= 1;
        Some(!count.is_held())
    }

    /// The attempt is taken back, and will be repeated.
    pub(crate) fn take_back(&mut self) {
        for lock in self.transaction.drain(self.before..) {
            if let Some(count) = self.counts.get_mut(&lock) {
                count.transaction -= 1;
                count.spare[Level::Transaction as usize] += 1;
            }
        }
        for lock in &self.touched {
            if let Some(count) = self.counts.get_mut(lock) {
                match std::mem::take(&mut count.done) {
                    done if done >= 0 => {
                        count.session -= done as u32;
                        count.spare[Level::Session as usize] += done as u32;
                    }
                    undone => count.unlocked += undone.unsigned_abs() as u32,
                }
            }
        }
    }

    /// The statement is over: `release` lets go of what was not needed in the end, `lock_again` locks what was unlocked by
    /// an attempt alone, if that can be done without waiting.
    pub(crate) fn settle(
        &mut self,
        release: &mut dyn FnMut(AdvisoryLock),
        lock_again: &mut dyn FnMut(AdvisoryLock) -> bool,
    ) {
        for lock in self.touched.drain(..) {
            let Some(count) = self.counts.get_mut(&lock) else { continue };
            let had = count.is_held();
            (count.done, count.spare, count.touched) = (0, [0, 0], false);
            let unlocked = std::mem::take(&mut count.unlocked);
            if unlocked > 0 && (count.is_held() || lock_again(lock)) {
                count.session += unlocked;
            } else if had && !count.is_held() {
                release(lock);
            }
            if !count.is_held() {
                self.counts.remove(&lock);
            }
        }
        self.before = self.transaction.len();
    }

    /// Lets go of those of the transaction after the first so many.
    pub(crate) fn release_to(&mut self, len: usize, release: &mut dyn FnMut(AdvisoryLock)) {
        for lock in self.transaction.drain(len.min(self.transaction.len())..) {
            if let Some(count) = self.counts.get_mut(&lock) {
                count.transaction -= 1;
                if !count.is_held() {
                    release(lock);
                    self.counts.remove(&lock);
                }
            }
        }
        self.before = self.before.min(len);
    }

    /// Unlocks all that the session has at session level.
    pub(crate) fn unlock_all(&mut self, release: &mut dyn FnMut(AdvisoryLock)) {
        let locks: Vec<AdvisoryLock> = self.counts.keys().copied().collect();
        for lock in locks {
            while let Some(free) = self.unlock(lock) {
                if free {
                    release(lock);
                }
            }
        }
    }

    /// The session is over: what it has.
    pub(crate) fn end(&mut self) -> Vec<AdvisoryLock> {
        self.transaction.clear();
        self.touched.clear();
        self.counts.drain().filter(|(_, count)| count.is_held()).map(|(lock, _)| lock).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ONE: AdvisoryLock = AdvisoryLock { key: 1, pair: false, shared: false };
    const TWO: AdvisoryLock = AdvisoryLock { key: 2, pair: false, shared: true };

    /// What settling lets go of, where nobody else wants anything.
    fn settle(own: &mut OwnLocks) -> Vec<AdvisoryLock> {
        let mut released = Vec::new();
        own.settle(&mut |lock| released.push(lock), &mut |_| true);
        released
    }

    #[test]
    fn a_repeated_statement_locks_once() {
        let mut own = OwnLocks::default();
        own.begin();
        for _ in 0..3 {
            if !own.lock_again(ONE, Level::Session) {
                own.locked(ONE, Level::Session);
            }
            own.take_back();
        }
        assert!(own.lock_again(ONE, Level::Session));
        assert_eq!(settle(&mut own), []);
        assert_eq!(own.unlock(ONE), Some(true));
        assert_eq!((own.unlock(ONE), settle(&mut own)), (None, Vec::new()));
        assert!(own.counts.is_empty());
    }

    #[test]
    fn what_the_last_attempt_does_not_lock_is_let_go_of() {
        let mut own = OwnLocks::default();
        own.begin();
        own.locked(ONE, Level::Transaction);
        own.granted(TWO, Level::Session);
        own.take_back();
        assert_eq!(own.mark(), 0);
        assert_eq!(settle(&mut own), [ONE, TWO]);
        assert!(own.rests() && own.end().is_empty());
    }

    #[test]
    fn a_repeated_statement_unlocks_once() {
        let mut own = OwnLocks::default();
        own.locked(ONE, Level::Session);
        settle(&mut own);
        own.begin();
        assert_eq!(own.unlock(ONE), Some(true));
        own.take_back();
        assert_eq!((own.unlock(ONE), own.unlock(ONE)), (Some(false), None));
        assert_eq!(settle(&mut own), []);
        // And where the last attempt does not do so, it is locked again.
        own.locked(ONE, Level::Session);
        settle(&mut own);
        assert_eq!(own.unlock(ONE), Some(true));
        own.take_back();
        assert_eq!(settle(&mut own), []);
        assert_eq!(own.end(), [ONE]);
    }

    #[test]
    fn levels_are_counted_apart() {
        let mut own = OwnLocks::default();
        own.locked(ONE, Level::Session);
        let mark = own.mark();
        assert!(own.lock_again(ONE, Level::Transaction));
        own.locked(TWO, Level::Transaction);
        settle(&mut own);
        assert_eq!(own.unlock(TWO), None);
        assert_eq!(own.unlock(ONE), Some(false), "the transaction has it");
        let mut released = Vec::new();
        own.release_to(mark, &mut |lock| released.push(lock));
        assert_eq!(released, [ONE, TWO]);
        settle(&mut own);
        assert!(own.rests() && own.counts.is_empty());
    }
}
