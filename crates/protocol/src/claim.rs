//! Claims: whose turn it is to change a row.
//!
//! An optimistic transaction that a person or a program steers statement by statement cannot be repeated
//! by the engine, so it should not fail at commit because another one was faster. It *claims* each row
//! before it changes it. A claim is no part of serializability, which validation alone decides; it is
//! what makes waiting worthwhile, because nobody else's commit changes a claimed row.
//!
//! 1. A row is claimed under the lock of its shard: the table of claims gets an entry, and the record's
//!    version word a bit, for which whoever sets it waits until the word is unlocked.
//! 2. Whoever commits a write without a claim locks the word by comparing it whole; so it fails on a
//!    claimed record without looking for the bit, and only then asks whose claim it is.
//! 3. Whoever finds a record claimed takes its statement (or its whole attempt) back, lines up at the
//!    record, and sleeps. The line is first come, first served: a claim let go of goes to the next in
//!    line, and the bit stays. The statement runs again with the claim in hand, and reads what is
//!    there now.
//! 4. Claims are let go of when the transaction is over, its writes installed or taken back, before it
//!    unpins: an address in the table is pinned by whoever holds it or waits for it. (So who waits holds
//!    back memory no longer than the one it waits for does.)
//! 5. A key that somebody is putting in is waited for, too: the placeholder names the worker, and
//!    whoever needs the key waits for the end of that worker's transaction.
//!
//! **Deadlocks.** Who waits, waits for one; so the graph of waits is a set of chains, and whoever lines
//! up follows its own at once. The last one to close a ring finds it, and is the one to give up.
//!
//! **Lock order.** Shards in rising order, then a worker's `wait`; `ends`, then `wait`. No version word
//! is locked by who takes any of them.

use planaria_base::limits::WORKERS_MAX;
use planaria_base::sync::{Condvar, Mutex, MutexGuard, simulation};
use planaria_base::{TableId, WorkerId};
use std::collections::hash_map::{Entry, HashMap};
use std::collections::{HashSet, VecDeque};
use std::time::Duration;

const SHARDS: usize = 64;
/// Claims that a shard keeps room for.
const CLAIMS_KEPT: usize = 1 << 10;

/// Why a wait for a claim ended without it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Unclaimed {
    /// Whoever waited had enough.
    GivenUp,
    /// It would have waited for itself: who waits for whom, beginning with it.
    Deadlock(Vec<Wait>),
}

/// One worker's transaction waits for another's.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Wait {
    /// Who waits.
    pub worker: WorkerId,
    /// For whom.
    pub holder: WorkerId,
    /// For a row of this table; for the end of the other transaction if there is none.
    pub table: Option<TableId>,
}

/// A claim that is held or waited for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ClaimInfo {
    /// Whose.
    pub worker: WorkerId,
    /// Of what table the row is. `None`: the end of a transaction is waited for.
    pub table: Option<TableId>,
    /// The record's address, or the number of the worker that is waited for.
    pub target: u64,
    /// Held, not waited for.
    pub granted: bool,
}

/// What asking for a claim gave.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Asked {
    /// It is the worker's from now on.
    Granted,
    /// It was the worker's already.
    Held,
    /// It is another's.
    Taken,
}

/// What is waited for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Target {
    /// The claim of the record at this address, of a table's row.
    Record(u64, TableId),
    /// The end of a worker's transaction.
    End(WorkerId),
}

/// The claim of a record.
struct Claim {
    table: TableId,
    holder: WorkerId,
    line: VecDeque<WorkerId>,
}

type Shard = HashMap<u64, Claim>;

/// Where a worker waits.
#[derive(Default)]
struct Seat {
    wait: Mutex<Waiting>,
    over: Condvar,
    /// Those that wait for the end of this worker's transaction.
    ends: Mutex<Vec<WorkerId>>,
}

#[derive(Default)]
struct Waiting {
    /// `None`: it does not wait, or does no longer.
    target: Option<Target>,
}

/// See the module's head.
pub(crate) struct Claims {
    shards: Box<[Mutex<Shard>]>,
    seats: Box<[Seat]>,
}

fn shard_of(record: u64) -> usize {
    // Who waits for whom must not depend on addresses where a run is to be repeated.
    if simulation::current().is_some() {
        return 0;
    }
    (record.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 58) as usize % SHARDS
}

impl Claims {
    pub(crate) fn new() -> Claims {
        Claims {
            shards: (0..SHARDS).map(|_| Mutex::default()).collect(),
            seats: (0..WORKERS_MAX).map(|_| Seat::default()).collect(),
        }
    }

    fn seat(&self, worker: WorkerId) -> &Seat {
        &self.seats[usize::from(worker.0)]
    }

    fn shard(&self, record: u64) -> MutexGuard<'_, Shard> {
        self.shards[shard_of(record)].lock()
    }

    /// Asks for a record's claim; `mark` sets the bit in its word if it is granted anew.
    pub(crate) fn ask(&self, record: u64, table: TableId, worker: WorkerId, mark: impl FnOnce()) -> Asked {
        match self.shard(record).entry(record) {
            Entry::Vacant(free) => {
                mark();
                free.insert(Claim { table, holder: worker, line: VecDeque::new() });
                Asked::Granted
            }
            Entry::Occupied(claim) if claim.get().holder == worker => Asked::Held,
            Entry::Occupied(_) => Asked::Taken,
        }
    }

    /// Who has a record's claim.
    pub(crate) fn holder(&self, record: u64) -> Option<WorkerId> {
        self.shard(record).get(&record).map(|c| c.holder)
    }

    /// Lines up for a record's claim. Whether it is there already: as [`Claims::ask`].
    pub(crate) fn line_up(
        &self,
        record: u64,
        table: TableId,
        worker: WorkerId,
        mark: impl FnOnce(),
    ) -> Asked {
        let mut shard = self.shard(record);
        match shard.entry(record) {
            Entry::Vacant(free) => {
                mark();
                free.insert(Claim { table, holder: worker, line: VecDeque::new() });
                Asked::Granted
            }
            Entry::Occupied(claim) if claim.get().holder == worker => Asked::Held,
            Entry::Occupied(mut claim) => {
                claim.get_mut().line.push_back(worker);
                self.seat(worker).wait.lock().target = Some(Target::Record(record, table));
                Asked::Taken
            }
        }
    }

    /// Lines up for the end of another worker's transaction, if `runs` says that it is the one that is
    /// meant: whether it has to be waited for.
    pub(crate) fn await_end(&self, other: WorkerId, worker: WorkerId, runs: impl FnOnce() -> bool) -> bool {
        let mut ends = self.seat(other).ends.lock();
        if !runs() {
            return false;
        }
        ends.push(worker);
        self.seat(worker).wait.lock().target = Some(Target::End(other));
        true
    }

    /// Sleeps until what was lined up for is there, but no longer than this: whether it is.
    pub(crate) fn sleep(&self, worker: WorkerId, longest: Duration) -> bool {
        let seat = self.seat(worker);
        let mut waiting = seat.wait.lock();
        if waiting.target.is_none() {
            return true;
        }
        seat.over.wait_for(&mut waiting, longest);
        waiting.target.is_none()
    }

    /// Leaves the line; whether it was too late, and what was waited for is there.
    pub(crate) fn step_out(&self, worker: WorkerId) -> bool {
        let Some(target) = self.seat(worker).wait.lock().target else { return true };
        match target {
            Target::Record(record, _) => {
                let mut shard = self.shard(record);
                let mut waiting = self.seat(worker).wait.lock();
                if waiting.target.take().is_none() {
                    return true;
                }
                if let Some(claim) = shard.get_mut(&record) {
                    claim.line.retain(|w| *w != worker);
                }
                false
            }
            Target::End(other) => {
                let mut ends = self.seat(other).ends.lock();
                ends.retain(|w| *w != worker);
                self.seat(worker).wait.lock().target.take().is_none()
            }
        }
    }

    fn wake(&self, worker: WorkerId) {
        let seat = self.seat(worker);
        seat.wait.lock().target = None;
        seat.over.notify_one();
    }

    /// Lets go of a record's claim: the next in line has it then; `unmark` clears the bit if there is none.
    pub(crate) fn release(&self, record: u64, worker: WorkerId, unmark: impl FnOnce()) {
        let mut shard = self.shard(record);
        let Entry::Occupied(mut claim) = shard.entry(record) else { return };
        debug_assert_eq!(claim.get().holder, worker, "a claim is let go of by who has it");
        match claim.get_mut().line.pop_front() {
            Some(next) => {
                claim.get_mut().holder = next;
                self.wake(next);
            }
            None => {
                unmark();
                claim.remove();
                if shard.is_empty() && shard.capacity() > CLAIMS_KEPT {
                    shard.shrink_to(CLAIMS_KEPT);
                }
            }
        }
    }

    /// The worker's transaction is over.
    pub(crate) fn ended(&self, worker: WorkerId) {
        let mut ends = self.seat(worker).ends.lock();
        ends.drain(..).for_each(|waiting| self.wake(waiting));
    }

    /// The ring of waits that a worker is part of.
    pub(crate) fn deadlock(&self, worker: WorkerId) -> Option<Vec<Wait>> {
        self.chain(worker, &|record| self.holder(record))?;
        // The chain was followed link by link: look again with all of it standing still.
        let shards: Vec<MutexGuard<'_, Shard>> = self.shards.iter().map(Mutex::lock).collect();
        self.chain(worker, &|record| shards[shard_of(record)].get(&record).map(|c| c.holder))
    }

    /// Follows the waits from a worker; `None` if that does not lead back to it.
    fn chain(&self, worker: WorkerId, holder_of: &dyn Fn(u64) -> Option<WorkerId>) -> Option<Vec<Wait>> {
        let mut chain = Vec::new();
        let mut seen = HashSet::new();
        let mut at = worker;
        while seen.insert(at) {
            let target = self.seat(at).wait.lock().target?;
            let (holder, table) = match target {
                Target::Record(record, table) => (holder_of(record)?, Some(table)),
                Target::End(other) => (other, None),
            };
            chain.push(Wait { worker: at, holder, table });
            if holder == worker {
                return Some(chain);
            }
            at = holder;
        }
        None
    }

    /// All claims that are held or waited for.
    pub(crate) fn list(&self) -> Vec<ClaimInfo> {
        let mut list = Vec::new();
        for shard in &self.shards {
            for (record, claim) in shard.lock().iter() {
                let info = |worker, granted| ClaimInfo {
                    worker,
                    table: Some(claim.table),
                    target: *record,
                    granted,
                };
                list.push(info(claim.holder, true));
                list.extend(claim.line.iter().map(|w| info(*w, false)));
            }
        }
        for (other, seat) in (0u64..).zip(&self.seats) {
            let waits = |w: &WorkerId| ClaimInfo { worker: *w, table: None, target: other, granted: false };
            list.extend(seat.ends.lock().iter().map(waits));
        }
        list
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use planaria_base::sync::thread;
    use std::sync::atomic::{AtomicU32, Ordering};

    const T: TableId = TableId(7);
    const A: WorkerId = WorkerId(0);
    const B: WorkerId = WorkerId(1);
    const C: WorkerId = WorkerId(2);
    const LONG: Duration = Duration::from_secs(60);

    #[test]
    fn a_claim_goes_down_the_line() {
        let claims = Claims::new();
        let bits = AtomicU32::new(0);
        let mark = || assert_eq!(bits.fetch_add(1, Ordering::SeqCst), 0);
        let unmark = || assert_eq!(bits.fetch_sub(1, Ordering::SeqCst), 1);
        assert_eq!(claims.ask(64, T, A, mark), Asked::Granted);
        assert_eq!(claims.ask(64, T, A, mark), Asked::Held);
        assert_eq!(claims.ask(64, T, B, mark), Asked::Taken);
        assert_eq!(claims.line_up(64, T, B, mark), Asked::Taken);
        assert_eq!(claims.line_up(64, T, C, mark), Asked::Taken);
        assert!(!claims.sleep(B, Duration::ZERO));
        claims.release(64, A, unmark);
        assert!(claims.sleep(B, LONG));
        assert!(!claims.sleep(C, Duration::ZERO));
        assert_eq!(claims.holder(64), Some(B));
        // Who steps out gets nothing, and keeps nobody waiting.
        assert!(!claims.step_out(C));
        claims.release(64, B, unmark);
        assert_eq!((claims.holder(64), bits.load(Ordering::SeqCst)), (None, 0));
        assert_eq!(claims.list(), []);
    }

    #[test]
    fn who_steps_out_too_late_has_the_claim() {
        let claims = Claims::new();
        assert_eq!(claims.ask(64, T, A, || ()), Asked::Granted);
        assert_eq!(claims.line_up(64, T, B, || ()), Asked::Taken);
        claims.release(64, A, || ());
        assert!(claims.step_out(B));
        assert_eq!(claims.holder(64), Some(B));
    }

    #[test]
    fn the_last_to_close_a_ring_finds_it() {
        let claims = Claims::new();
        for (record, worker) in [(64, A), (128, B), (192, C)] {
            assert_eq!(claims.ask(record, T, worker, || ()), Asked::Granted);
        }
        assert_eq!(claims.line_up(128, T, A, || ()), Asked::Taken);
        assert_eq!(claims.deadlock(A), None);
        assert_eq!(claims.line_up(192, T, B, || ()), Asked::Taken);
        assert_eq!(claims.deadlock(B), None);
        assert!(claims.await_end(A, C, || true));
        let wait = |worker, holder, table| Wait { worker, holder, table };
        let ring = vec![wait(C, A, None), wait(A, B, Some(T)), wait(B, C, Some(T))];
        assert_eq!(claims.deadlock(C), Some(ring));
        assert!(!claims.step_out(C));
        assert_eq!(claims.deadlock(A), None);
        claims.release(192, C, || ());
        assert!(claims.sleep(B, LONG));
    }

    #[test]
    fn the_end_of_a_transaction_wakes_who_waits_for_it() {
        let claims = Claims::new();
        assert!(!claims.await_end(A, B, || false));
        assert!(claims.await_end(A, B, || true));
        assert!(!claims.sleep(B, Duration::ZERO));
        claims.ended(A);
        assert!(claims.sleep(B, LONG));
        assert!(claims.step_out(B));
    }

    #[test]
    fn one_at_a_time_has_a_claim_and_all_get_it() {
        let claims = Claims::new();
        let (inside, turns) = (AtomicU32::new(0), AtomicU32::new(0));
        thread::scope(|scope| {
            for worker in (0..4).map(WorkerId) {
                let (claims, inside, turns) = (&claims, &inside, &turns);
                scope.spawn(move || {
                    for _ in 0..500 {
                        if claims.line_up(64, T, worker, || ()) == Asked::Taken {
                            while !claims.sleep(worker, LONG) {}
                        }
                        assert_eq!(inside.fetch_add(1, Ordering::SeqCst), 0);
                        turns.fetch_add(1, Ordering::SeqCst);
                        inside.fetch_sub(1, Ordering::SeqCst);
                        claims.release(64, worker, || ());
                    }
                });
            }
        });
        assert_eq!(turns.load(Ordering::SeqCst), 2000);
    }
}
