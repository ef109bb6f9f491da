//! Advisory locks: keys that clients lock by agreement (`pg_advisory_lock` and its like).
//!
//! They guard nothing but themselves, and are no part of a transaction: what has been locked at session level stays so
//! whatever becomes of the statement. But the engine repeats statements, and a repeated one must not lock twice. So
//!
//! 1. a session counts its locks ([`own`]); what it has at least once is on the list here;
//! 2. what an attempt has done is noted. If the attempt is taken back, it becomes *spare*: the next attempt, which will
//!    most likely ask for the same, takes it from there. What is spare when the statement is over is given back;
//! 3. who has to wait takes its attempt back, and waits outside of the gate, as for a locked table; the lock that it gets
//!    is spare then. What cannot be repeated, or need not, because it reads a snapshot or has the gate closed, waits
//!    where it is;
//! 4. a lock goes down the line, first come, first served; but who has the key in some way does not wait behind
//!    those that wait for it.

use crate::system::AdvisoryLock;
use planaria_base::WorkerId;
use planaria_base::limits::WORKERS_MAX;
use planaria_base::sync::{Condvar, Mutex};
use std::collections::HashMap;
use std::time::Duration;

pub(crate) mod own;

/// What is locked.
type Target = (u64, bool);

fn target(lock: AdvisoryLock) -> Target {
    (lock.key, lock.pair)
}

/// What a session has of a key.
#[derive(Clone, Copy, PartialEq, Eq, Default)]
struct Modes {
    exclusive: bool,
    shared: bool,
}

impl Modes {
    fn of(&mut self, shared: bool) -> &mut bool {
        if shared { &mut self.shared } else { &mut self.exclusive }
    }

    fn conflicts(self, shared: bool) -> bool {
        self.exclusive || self.shared && !shared
    }
}

#[derive(Default)]
struct Entry {
    held: Vec<(WorkerId, Modes)>,
    /// Those that wait, and whether for a shared lock, first come first.
    line: Vec<(WorkerId, bool)>,
}

impl Entry {
    /// Whom a session has to wait for, standing in line or about to.
    fn blockers(&self, worker: WorkerId, shared: bool) -> impl Iterator<Item = WorkerId> {
        let has = self.held.iter().any(|(w, _)| *w == worker);
        let holders = self.held.iter().filter(move |(w, modes)| *w != worker && modes.conflicts(shared));
        let ahead = self.line.iter().take_while(move |(w, _)| !has && *w != worker);
        let ahead = ahead.filter(move |(_, other)| !(shared && *other));
        holders.map(|(w, _)| *w).chain(ahead.map(|(w, _)| *w))
    }

    fn grant(&mut self, worker: WorkerId, shared: bool) {
        match self.held.iter_mut().find(|(w, _)| *w == worker) {
            Some((_, modes)) => *modes.of(shared) = true,
            None => {
                let mut modes = Modes::default();
                *modes.of(shared) = true;
                self.held.push((worker, modes));
            }
        }
    }
}

/// A lock that is held or waited for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct AdvisoryInfo {
    pub(crate) worker: WorkerId,
    pub(crate) lock: AdvisoryLock,
    pub(crate) granted: bool,
}

/// See the module's head.
pub(crate) struct AdvisoryLocks {
    keys: Mutex<HashMap<Target, Entry>>,
    /// By worker: what it waits for may be there.
    sleepers: Box<[Condvar]>,
}

impl AdvisoryLocks {
    pub(crate) fn new() -> AdvisoryLocks {
        AdvisoryLocks { keys: Mutex::default(), sleepers: (0..WORKERS_MAX).map(|_| Condvar::new()).collect() }
    }

    /// Takes a lock that need not be waited for: whether it is the session's now. One that `insists` takes it where
    /// waiting would be at an end at once; otherwise nobody may stand in line for what conflicts.
    pub(crate) fn try_lock(&self, worker: WorkerId, lock: AdvisoryLock, insists: bool) -> bool {
        let mut keys = self.keys.lock();
        let entry = keys.entry(target(lock)).or_default();
        let in_line = !insists && entry.line.iter().any(|(_, other)| !(lock.shared && *other));
        let free = !in_line && entry.blockers(worker, lock.shared).next().is_none();
        if free {
            entry.grant(worker, lock.shared);
        }
        free
    }

    /// Waits for a lock, as long as `goes_on` says for how long to sleep: whether the session has it.
    pub(crate) fn wait(
        &self,
        worker: WorkerId,
        lock: AdvisoryLock,
        goes_on: &mut dyn FnMut() -> Option<Duration>,
    ) -> bool {
        let mut keys = self.keys.lock();
        keys.entry(target(lock)).or_default().line.push((worker, lock.shared));
        loop {
            let entry = keys.entry(target(lock)).or_default();
            let granted = entry.blockers(worker, lock.shared).next().is_none();
            if granted {
                entry.grant(worker, lock.shared);
            }
            if granted {
                self.leave_line(&mut keys, worker, lock);
                return true;
            }
            // Whoever looks who waits for whom looks here, too.
            drop(keys);
            let longest = goes_on();
            keys = self.keys.lock();
            let entry = keys.entry(target(lock)).or_default();
            if entry.blockers(worker, lock.shared).next().is_none() {
                continue;
            }
            let Some(longest) = longest else {
                self.leave_line(&mut keys, worker, lock);
                return false;
            };
            self.sleepers[usize::from(worker.0)].wait_for(&mut keys, longest);
        }
    }

    fn leave_line(&self, keys: &mut HashMap<Target, Entry>, worker: WorkerId, lock: AdvisoryLock) {
        if let Some(entry) = keys.get_mut(&target(lock)) {
            entry.line.retain(|(w, _)| *w != worker);
        }
        self.changed(keys, target(lock));
    }

    /// Those that wait for a key look again.
    fn changed(&self, keys: &mut HashMap<Target, Entry>, target: Target) {
        let Some(entry) = keys.get(&target) else { return };
        entry.line.iter().for_each(|(w, _)| self.sleepers[usize::from(w.0)].notify_one());
        if entry.line.is_empty() && entry.held.is_empty() {
            keys.remove(&target);
        }
    }

    /// Lets go of a lock.
    pub(crate) fn release(&self, worker: WorkerId, lock: AdvisoryLock) {
        let mut keys = self.keys.lock();
        if let Some(entry) = keys.get_mut(&target(lock)) {
            for (_, modes) in entry.held.iter_mut().filter(|(w, _)| *w == worker) {
                *modes.of(lock.shared) = false;
            }
            entry.held.retain(|(_, modes)| *modes != Modes::default());
        }
        self.changed(&mut keys, target(lock));
    }

    /// All locks that are held or waited for, by key.
    pub(crate) fn list(&self) -> Vec<AdvisoryInfo> {
        let keys = self.keys.lock();
        let mut list = Vec::new();
        for ((key, pair), entry) in keys.iter() {
            let info = |worker, shared, granted| AdvisoryInfo {
                worker,
                lock: AdvisoryLock { key: *key, pair: *pair, shared },
                granted,
            };
            for (worker, modes) in &entry.held {
                list.extend(modes.exclusive.then(|| info(*worker, false, true)));
                list.extend(modes.shared.then(|| info(*worker, true, true)));
            }
            list.extend(entry.line.iter().map(|(worker, shared)| info(*worker, *shared, false)));
        }
        drop(keys);
        list.sort_unstable_by_key(|info| (info.lock, !info.granted, info.worker));
        list
    }

    /// Who waits for what, and whom.
    pub(crate) fn waits(&self) -> Vec<(WorkerId, WorkerId, AdvisoryLock)> {
        let keys = self.keys.lock();
        let mut waits = Vec::new();
        for ((key, pair), entry) in keys.iter() {
            for (worker, shared) in &entry.line {
                let lock = AdvisoryLock { key: *key, pair: *pair, shared: *shared };
                waits.extend(entry.blockers(*worker, *shared).map(|holder| (*worker, holder, lock)));
            }
        }
        waits
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use planaria_base::sync::thread;

    const A: WorkerId = WorkerId(0);
    const B: WorkerId = WorkerId(1);
    const C: WorkerId = WorkerId(2);

    fn lock(key: u64, shared: bool) -> AdvisoryLock {
        AdvisoryLock { key, pair: false, shared }
    }

    /// Looks once whether it is there.
    fn glance(locks: &AdvisoryLocks, worker: WorkerId, lock: AdvisoryLock) -> bool {
        locks.wait(worker, lock, &mut || None)
    }

    #[test]
    fn shared_locks_go_together_and_exclusive_ones_alone() {
        let locks = AdvisoryLocks::new();
        let (read, write) = (lock(7, true), lock(7, false));
        assert!(locks.try_lock(A, read, true) && locks.try_lock(B, read, true));
        assert!(!locks.try_lock(C, write, true) && !glance(&locks, C, write));
        // Who has it alone does not wait for itself.
        locks.release(B, read);
        assert!(locks.try_lock(A, write, true));
        assert!(!locks.try_lock(B, read, true));
        locks.release(A, read);
        assert!(!locks.try_lock(B, read, true));
        // A key of two parts is another key.
        assert!(locks.try_lock(B, AdvisoryLock { pair: true, ..write }, true));
        locks.release(A, write);
        assert!(locks.try_lock(B, read, true));
        assert_eq!(locks.list().len(), 2);
        locks.release(B, read);
        locks.release(B, AdvisoryLock { pair: true, ..write });
        assert_eq!(locks.list(), []);
        assert!(locks.keys.lock().is_empty());
    }

    #[test]
    fn nobody_overtakes_the_line_but_who_has_the_key() {
        let locks = AdvisoryLocks::new();
        let (read, write) = (lock(7, true), lock(7, false));
        assert!(locks.try_lock(A, read, true));
        let mut looks = 0;
        let got = locks.wait(B, write, &mut || {
            looks += 1;
            match looks {
                1 => {
                    assert!(!locks.try_lock(C, read, true) && !glance(&locks, C, read));
                    assert_eq!(locks.waits(), [(B, A, write)]);
                    // It has a part of it: waiting would be over at once. But who does not want to wait does not get it.
                    assert!(!locks.try_lock(A, read, false) && locks.try_lock(A, read, true));
                    locks.release(A, read);
                    // It is free, but somebody waits.
                    assert!(!locks.try_lock(C, read, true));
                }
                _ => panic!("it is there"),
            }
            Some(Duration::from_secs(60))
        });
        assert!(got);
        assert_eq!(locks.list(), [AdvisoryInfo { worker: B, lock: write, granted: true }]);
    }

    #[test]
    fn a_lock_is_handed_on_to_another_thread() {
        let locks = AdvisoryLocks::new();
        let write = lock(7, false);
        assert!(locks.try_lock(A, write, true));
        thread::scope(|scope| {
            let waits = scope.spawn(|| locks.wait(B, write, &mut || Some(Duration::from_secs(600))));
            while locks.waits().is_empty() {
                thread::yield_now();
            }
            locks.release(A, write);
            assert!(waits.join().expect("no panic"));
        });
        locks.release(B, write);
        assert_eq!(locks.list(), []);
    }
}
