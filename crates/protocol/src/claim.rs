//! Claims: whose turn it is to change a row.
//!
//! An optimistic transaction that a person or a program steers statement by statement cannot be repeated
//! by the engine, so it should not fail at commit because another one was faster. It *claims* each row
//! before it changes it. A claim is no part of serializability, which validation alone decides; it is
//! what makes waiting worthwhile, because nobody else's commit changes a claimed row.
//!
//! 1. A row is claimed under the lock of its shard: the table of claims gets an entry, and the record's
//!    version word a bit, for which whoever sets it waits until the word is unlocked.
//! 2. Claims have [strengths](Strength). Several transactions can have a row at once, if theirs do not conflict; and
//!    who has it can have it more strongly. The bit stays as long as somebody has the row.
//! 3. Whoever writes without a claim looks for the bit as it writes; and it locks the word by comparing it whole, so it
//!    also fails on a record that was claimed since. Only then it asks for what the record is claimed: a row whose key
//!    others share may have its other columns changed.
//! 4. Whoever finds a record claimed takes its statement (or its whole attempt) back, lines up at the
//!    record, and sleeps. The line is first come, first served: a claim goes to whoever conflicts with nobody that has
//!    one, nor with anybody ahead in line. Who has the row in some way does not wait for those in line. The statement
//!    runs again with the claim in hand, and reads what is there now.
//! 5. Claims are let go of when the transaction is over, its writes installed or taken back, before it
//!    unpins: an address in the table is pinned by whoever holds it or waits for it. (So who waits holds
//!    back memory no longer than the one it waits for does.)
//! 6. A key that somebody is putting in is waited for, too: the placeholder names the worker, and
//!    whoever needs the key waits for the end of that worker's transaction.
//!
//! **Deadlocks.** Whoever lines up follows the waits from itself at once. The last one to close a ring finds it. One of those
//! in it that can be repeated gives up, if there is one, else the one that found it.
//!
//! **Lock order.** Shards in rising order, then a worker's `wait`; `ends`, then `wait`. No version word
//! is locked by who waits for any of them.

use planaria_base::limits::WORKERS_MAX;
use planaria_base::sync::{Condvar, Mutex, MutexGuard, simulation};
use planaria_base::{Strength, TableId, WorkerId};
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
    /// For a row of this table, with this strength; for the end of the other transaction if there is none.
    pub row: Option<(TableId, Strength)>,
}

/// A claim that is held or waited for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ClaimInfo {
    /// Whose.
    pub worker: WorkerId,
    /// Of what table the row is, and how strong the claim. `None`: the end of a transaction is waited for.
    pub row: Option<(TableId, Strength)>,
    /// Held, not waited for.
    pub granted: bool,
}

/// What asking for a claim gave.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Asked {
    /// The worker has one from now on.
    Granted,
    /// The worker had one that was weaker, of this strength.
    Raised(Strength),
    /// The worker had one already that is as strong.
    Held,
    /// Others are in the way.
    Taken,
}

/// What is waited for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Target {
    /// A claim of the record at this address, of a table's row.
    Record(u64, TableId, Strength),
    /// The end of a worker's transaction.
    End(WorkerId),
}

/// The claims of a record.
struct Claim {
    table: TableId,
    /// Most often there is one.
    first: (WorkerId, Strength),
    more: Vec<(WorkerId, Strength)>,
    line: VecDeque<(WorkerId, Strength)>,
}

impl Claim {
    fn new(table: TableId, worker: WorkerId, strength: Strength) -> Claim {
        Claim { table, first: (worker, strength), more: Vec::new(), line: VecDeque::new() }
    }

    fn holders(&self) -> impl Iterator<Item = &(WorkerId, Strength)> {
        std::iter::once(&self.first).chain(&self.more)
    }

    /// How strongly a worker has the record.
    fn of(&self, worker: WorkerId) -> Option<Strength> {
        self.holders().find(|(w, _)| *w == worker).map(|(_, strength)| *strength)
    }

    /// Who is in the way of a worker that is in line, or about to line up.
    fn blockers(&self, worker: WorkerId, strength: Strength) -> impl Iterator<Item = WorkerId> {
        let has = self.of(worker).is_some();
        let conflicts = move |(w, other): &&(WorkerId, Strength)| *w != worker && other.conflicts(strength);
        let ahead = self.line.iter().take_while(move |(w, _)| !has && *w != worker);
        self.holders().filter(conflicts).chain(ahead.filter(conflicts)).map(|(w, _)| *w)
    }

    fn is_free(&self, worker: WorkerId, strength: Strength) -> bool {
        self.blockers(worker, strength).next().is_none()
    }

    fn of_mut(&mut self, worker: WorkerId) -> Option<&mut Strength> {
        let mut all = std::iter::once(&mut self.first).chain(&mut self.more);
        all.find(|(w, _)| *w == worker).map(|(_, strength)| strength)
    }

    fn grant(&mut self, worker: WorkerId, strength: Strength) {
        match self.of_mut(worker) {
            Some(has) => *has = (*has).max(strength),
            None => self.more.push((worker, strength)),
        }
    }

    /// A worker has the record no more. Whether nobody has.
    fn remove(&mut self, worker: WorkerId) -> bool {
        if self.first.0 != worker {
            self.more.retain(|(w, _)| *w != worker);
            return false;
        }
        match self.more.pop() {
            Some(other) => {
                self.first = other;
                false
            }
            None => true,
        }
    }
}

type Shard = HashMap<u64, Claim>;

/// Where a worker waits.
#[derive(Default)]
struct Sleeper {
    wait: Mutex<Waiting>,
    over: Condvar,
    /// Those that wait for the end of this worker's transaction.
    ends: Mutex<Vec<WorkerId>>,
}

#[derive(Default)]
struct Waiting {
    /// `None`: it does not wait, or does no longer.
    target: Option<Target>,
    /// It loses nothing by giving up.
    repeatable: bool,
    /// It has been made to, for the sake of another.
    gives_way: bool,
}

impl Waiting {
    fn begin(&mut self, target: Target, repeatable: bool) {
        *self = Waiting { target: Some(target), repeatable, gives_way: false };
    }
}

/// How a wait stands.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Slept {
    /// What was waited for is there.
    There,
    NotYet,
    /// It is over without it: others could not have gone on.
    GivesWay,
}

/// See the module's head.
pub(crate) struct Claims {
    shards: Box<[Mutex<Shard>]>,
    sleepers: Box<[Sleeper]>,
}

fn shard_of(record: u64) -> usize {
    // Who waits for whom must not depend on addresses where a run is to be repeated.
    if !simulation::orders_by_address() {
        return 0;
    }
    (record.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 58) as usize % SHARDS
}

impl Claims {
    pub(crate) fn new() -> Claims {
        Claims {
            shards: (0..SHARDS).map(|_| Mutex::default()).collect(),
            sleepers: (0..WORKERS_MAX).map(|_| Sleeper::default()).collect(),
        }
    }

    fn sleeper(&self, worker: WorkerId) -> &Sleeper {
        &self.sleepers[usize::from(worker.0)]
    }

    fn shard(&self, record: u64) -> MutexGuard<'_, Shard> {
        self.shards[shard_of(record)].lock()
    }

    /// Asks for a record's claim; `mark` sets the bit in its word if it has none yet.
    pub(crate) fn ask(
        &self,
        record: u64,
        table: TableId,
        worker: WorkerId,
        strength: Strength,
        mark: impl FnOnce(),
    ) -> Asked {
        ask_in(&mut self.shard(record), record, table, worker, strength, mark)
    }

    /// Who may change a record, of those that have claimed it.
    pub(crate) fn holder(&self, record: u64) -> Option<WorkerId> {
        let shard = self.shard(record);
        shard.get(&record).and_then(|c| c.holders().max_by_key(|(_, strength)| *strength)).map(|(w, _)| *w)
    }

    /// Whether others are in the way of a worker that would claim a record.
    pub(crate) fn is_taken(&self, record: u64, worker: WorkerId, strength: Strength) -> bool {
        self.shard(record).get(&record).is_some_and(|claim| !claim.is_free(worker, strength))
    }

    /// Runs `f` if nobody is in the way of a worker that would claim a record, and nobody comes to be meanwhile: whether it
    /// ran, and what it says. Who has locked words waits for no shard ([lock order](self)): one that is busy is in the way.
    pub(crate) fn while_free(
        &self,
        record: u64,
        worker: WorkerId,
        strength: Strength,
        f: impl FnOnce() -> bool,
    ) -> bool {
        let Some(shard) = self.shards[shard_of(record)].try_lock() else { return false };
        // Whoever ended while another had locked the row may have left its bit, without a claim.
        shard.get(&record).is_none_or(|claim| claim.is_free(worker, strength)) && f()
    }

    /// Lines up for a record's claim. Whether it is there already: as [`Claims::ask`]. `repeatable`: the worker can give up and
    /// try again.
    pub(crate) fn line_up(
        &self,
        record: u64,
        table: TableId,
        worker: WorkerId,
        strength: Strength,
        repeatable: bool,
        mark: impl FnOnce(),
    ) -> Asked {
        let mut shard = self.shard(record);
        let asked = ask_in(&mut shard, record, table, worker, strength, mark);
        if asked == Asked::Taken
            && let Some(claim) = shard.get_mut(&record)
        {
            claim.line.push_back((worker, strength));
            self.sleeper(worker).wait.lock().begin(Target::Record(record, table, strength), repeatable);
        }
        asked
    }

    /// Lines up for the end of another worker's transaction, if `runs` says that it is the one that is
    /// meant: whether it has to be waited for.
    pub(crate) fn await_end(
        &self,
        other: WorkerId,
        worker: WorkerId,
        repeatable: bool,
        runs: impl FnOnce() -> bool,
    ) -> bool {
        let mut ends = self.sleeper(other).ends.lock();
        if !runs() {
            return false;
        }
        ends.push(worker);
        self.sleeper(worker).wait.lock().begin(Target::End(other), repeatable);
        true
    }

    /// Sleeps until what was lined up for is there, but no longer than this.
    pub(crate) fn sleep(&self, worker: WorkerId, longest: Duration) -> Slept {
        let sleeper = self.sleeper(worker);
        let mut waiting = sleeper.wait.lock();
        if waiting.target.is_some() {
            sleeper.over.wait_for(&mut waiting, longest);
        }
        match *waiting {
            Waiting { target: Some(_), .. } => Slept::NotYet,
            Waiting { gives_way: true, .. } => Slept::GivesWay,
            Waiting { .. } => Slept::There,
        }
    }

    /// Leaves the line, if it was not too late: [`Slept::NotYet`].
    pub(crate) fn step_out(&self, worker: WorkerId) -> Slept {
        let Some(target) = self.sleeper(worker).wait.lock().target else {
            return self.sleep(worker, Duration::ZERO);
        };
        if self.end_wait(worker, target, false) { Slept::NotYet } else { self.sleep(worker, Duration::ZERO) }
    }

    /// A worker waits no longer for this: whether it still did.
    fn end_wait(&self, worker: WorkerId, target: Target, gives_way: bool) -> bool {
        let sleeper = self.sleeper(worker);
        let end = || {
            let mut waiting = sleeper.wait.lock();
            let waits = waiting.target == Some(target);
            if waits {
                (waiting.target, waiting.gives_way) = (None, gives_way);
                sleeper.over.notify_one();
            }
            waits
        };
        match target {
            Target::Record(record, ..) => {
                let mut shard = self.shard(record);
                let waited = end();
                if waited && let Some(claim) = shard.get_mut(&record) {
                    claim.line.retain(|(w, _)| *w != worker);
                    // It may have been in the way of those behind it.
                    self.advance(claim);
                }
                waited
            }
            Target::End(other) => {
                let mut ends = self.sleeper(other).ends.lock();
                let waited = end();
                if waited {
                    ends.retain(|w| *w != worker);
                }
                waited
            }
        }
    }

    /// Of a ring of waits that a worker has closed, another one that can be repeated gives up: whether there is one.
    pub(crate) fn break_ring(&self, worker: WorkerId, ring: &[Wait]) -> bool {
        let can_be_repeated = |other: WorkerId| {
            let waiting = self.sleeper(other).wait.lock();
            waiting.target.filter(|_| waiting.repeatable)
        };
        let mut others = ring.iter().map(|wait| wait.worker).filter(|other| *other != worker);
        others.any(|other| can_be_repeated(other).is_some_and(|target| self.end_wait(other, target, true)))
    }

    fn wake(&self, worker: WorkerId) {
        let sleeper = self.sleeper(worker);
        *sleeper.wait.lock() = Waiting::default();
        sleeper.over.notify_one();
    }

    /// Gives a record to those in line that nobody is in the way of.
    fn advance(&self, claim: &mut Claim) {
        let mut at = 0;
        while let Some((worker, strength)) = claim.line.get(at).copied() {
            if claim.is_free(worker, strength) {
                claim.line.remove(at);
                claim.grant(worker, strength);
                self.wake(worker);
            } else {
                at += 1;
            }
        }
    }

    /// Lets go of a record's claim: those in line have it then; `unmark` clears the bit if there are none.
    pub(crate) fn release(&self, record: u64, worker: WorkerId, unmark: impl FnOnce()) {
        let mut shard = self.shard(record);
        let Entry::Occupied(mut entry) = shard.entry(record) else { return };
        let claim = entry.get_mut();
        debug_assert!(claim.of(worker).is_some(), "a claim is let go of by who has it");
        if !claim.remove(worker) {
            return self.advance(claim);
        }
        match claim.line.pop_front() {
            Some(next) => {
                claim.first = next;
                self.wake(next.0);
                self.advance(claim);
            }
            None => {
                unmark();
                entry.remove();
                if shard.is_empty() && shard.capacity() > CLAIMS_KEPT {
                    shard.shrink_to(CLAIMS_KEPT);
                }
            }
        }
    }

    /// The worker has a record's claim as strongly as before it was raised: those in line may have it then.
    pub(crate) fn lower(&self, record: u64, worker: WorkerId, strength: Strength) {
        if let Some(claim) = self.shard(record).get_mut(&record)
            && let Some(has) = claim.of_mut(worker)
        {
            *has = strength;
            self.advance(claim);
        }
    }

    /// How strongly a worker has a record.
    pub(crate) fn of(&self, record: u64, worker: WorkerId) -> Option<Strength> {
        self.shard(record).get(&record).and_then(|claim| claim.of(worker))
    }

    /// The worker's transaction is over.
    pub(crate) fn ended(&self, worker: WorkerId) {
        let mut ends = self.sleeper(worker).ends.lock();
        ends.drain(..).for_each(|waiting| self.wake(waiting));
    }

    /// The ring of waits that a worker is part of.
    pub(crate) fn deadlock(&self, worker: WorkerId) -> Option<Vec<Wait>> {
        let blockers = |claim: Option<&Claim>, worker, strength| -> Vec<WorkerId> {
            claim.into_iter().flat_map(|c| c.blockers(worker, strength)).collect()
        };
        self.ring(worker, &|record, worker, strength| {
            blockers(self.shard(record).get(&record), worker, strength)
        })?;
        // The waits were followed one by one: look again with all of it standing still.
        let shards: Vec<MutexGuard<'_, Shard>> = self.shards.iter().map(Mutex::lock).collect();
        self.ring(worker, &|record, worker, strength| {
            blockers(shards[shard_of(record)].get(&record), worker, strength)
        })
    }

    /// Follows the waits from a worker; `None` if none leads back to it. `blockers` says who is in the way of a worker at
    /// a record.
    fn ring(
        &self,
        worker: WorkerId,
        blockers: &dyn Fn(u64, WorkerId, Strength) -> Vec<WorkerId>,
    ) -> Option<Vec<Wait>> {
        let waits_of = |at: WorkerId| -> Vec<Wait> {
            let target = self.sleeper(at).wait.lock().target;
            let wait = |holder, row| Wait { worker: at, holder, row };
            match target {
                None => Vec::new(),
                Some(Target::End(other)) => vec![wait(other, None)],
                Some(Target::Record(record, table, strength)) => {
                    let holders = blockers(record, at, strength);
                    holders.into_iter().map(|holder| wait(holder, Some((table, strength)))).collect()
                }
            }
        };
        let (mut seen, mut path) = (HashSet::from([worker]), Vec::new());
        // What is still to be followed of each worker on the path.
        let mut open = vec![waits_of(worker)];
        while let Some(waits) = open.last_mut() {
            let Some(wait) = waits.pop() else {
                open.pop();
                path.pop();
                continue;
            };
            if wait.holder == worker {
                path.push(wait);
                return Some(path);
            }
            if seen.insert(wait.holder) {
                path.push(wait);
                open.push(waits_of(wait.holder));
            }
        }
        None
    }

    /// All claims that are held or waited for.
    pub(crate) fn list(&self) -> Vec<ClaimInfo> {
        let mut list = Vec::new();
        for shard in &self.shards {
            for claim in shard.lock().values() {
                let info = |(worker, strength): &(WorkerId, Strength), granted| ClaimInfo {
                    worker: *worker,
                    row: Some((claim.table, *strength)),
                    granted,
                };
                list.extend(claim.holders().map(|holder| info(holder, true)));
                list.extend(claim.line.iter().map(|waiting| info(waiting, false)));
            }
        }
        for sleeper in &self.sleepers {
            let waits = |w: &WorkerId| ClaimInfo { worker: *w, row: None, granted: false };
            list.extend(sleeper.ends.lock().iter().map(waits));
        }
        list
    }

    /// Who waits for whom.
    pub(crate) fn waits(&self) -> Vec<Wait> {
        let mut waits = Vec::new();
        for shard in &self.shards {
            for claim in shard.lock().values() {
                for (worker, strength) in &claim.line {
                    let row = Some((claim.table, *strength));
                    let wait = |holder| Wait { worker: *worker, holder, row };
                    waits.extend(claim.blockers(*worker, *strength).map(wait));
                }
            }
        }
        for (holder, sleeper) in (0u16..).map(WorkerId).zip(&self.sleepers) {
            waits.extend(sleeper.ends.lock().iter().map(|w| Wait { worker: *w, holder, row: None }));
        }
        waits
    }
}

fn ask_in(
    shard: &mut Shard,
    record: u64,
    table: TableId,
    worker: WorkerId,
    strength: Strength,
    mark: impl FnOnce(),
) -> Asked {
    match shard.entry(record) {
        Entry::Vacant(free) => {
            mark();
            free.insert(Claim::new(table, worker, strength));
            Asked::Granted
        }
        Entry::Occupied(mut entry) => {
            let claim = entry.get_mut();
            let has = claim.of(worker);
            if has.is_some_and(|has| has >= strength) {
                return Asked::Held;
            }
            if !claim.is_free(worker, strength) {
                return Asked::Taken;
            }
            claim.grant(worker, strength);
            has.map_or(Asked::Granted, Asked::Raised)
        }
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
    const U: Strength = Strength::Update;

    #[test]
    fn a_claim_goes_down_the_line() {
        let claims = Claims::new();
        let bits = AtomicU32::new(0);
        let mark = || assert_eq!(bits.fetch_add(1, Ordering::SeqCst), 0);
        let unmark = || assert_eq!(bits.fetch_sub(1, Ordering::SeqCst), 1);
        assert_eq!(claims.ask(64, T, A, U, mark), Asked::Granted);
        assert_eq!(claims.ask(64, T, A, U, mark), Asked::Held);
        assert_eq!(claims.ask(64, T, B, U, mark), Asked::Taken);
        assert_eq!(claims.line_up(64, T, B, U, false, mark), Asked::Taken);
        assert_eq!(claims.line_up(64, T, C, U, false, mark), Asked::Taken);
        assert_eq!(claims.sleep(B, Duration::ZERO), Slept::NotYet);
        claims.release(64, A, unmark);
        assert_eq!(claims.sleep(B, LONG), Slept::There);
        assert_eq!(claims.sleep(C, Duration::ZERO), Slept::NotYet);
        assert_eq!(claims.holder(64), Some(B));
        // Who steps out gets nothing, and keeps nobody waiting.
        assert_eq!(claims.step_out(C), Slept::NotYet);
        claims.release(64, B, unmark);
        assert_eq!((claims.holder(64), bits.load(Ordering::SeqCst)), (None, 0));
        assert_eq!(claims.list(), []);
    }

    #[test]
    fn who_steps_out_too_late_has_the_claim() {
        let claims = Claims::new();
        assert_eq!(claims.ask(64, T, A, U, || ()), Asked::Granted);
        assert_eq!(claims.line_up(64, T, B, U, false, || ()), Asked::Taken);
        claims.release(64, A, || ());
        assert_eq!(claims.step_out(B), Slept::There);
        assert_eq!(claims.holder(64), Some(B));
    }

    #[test]
    fn the_last_to_close_a_ring_finds_it() {
        let claims = Claims::new();
        for (record, worker) in [(64, A), (128, B), (192, C)] {
            assert_eq!(claims.ask(record, T, worker, U, || ()), Asked::Granted);
        }
        assert_eq!(claims.line_up(128, T, A, U, false, || ()), Asked::Taken);
        assert_eq!(claims.deadlock(A), None);
        assert_eq!(claims.line_up(192, T, B, U, false, || ()), Asked::Taken);
        assert_eq!(claims.deadlock(B), None);
        assert!(claims.await_end(A, C, false, || true));
        let wait = |worker, holder, row| Wait { worker, holder, row };
        let ring = vec![wait(C, A, None), wait(A, B, Some((T, U))), wait(B, C, Some((T, U)))];
        assert_eq!(claims.deadlock(C), Some(ring));
        assert_eq!(claims.step_out(C), Slept::NotYet);
        assert_eq!(claims.deadlock(A), None);
        claims.release(192, C, || ());
        assert_eq!(claims.sleep(B, LONG), Slept::There);
    }

    #[test]
    fn the_end_of_a_transaction_wakes_who_waits_for_it() {
        let claims = Claims::new();
        assert!(!claims.await_end(A, B, false, || false));
        assert!(claims.await_end(A, B, false, || true));
        assert_eq!(claims.sleep(B, Duration::ZERO), Slept::NotYet);
        claims.ended(A);
        assert_eq!(claims.sleep(B, LONG), Slept::There);
        assert_eq!(claims.step_out(B), Slept::There);
    }

    #[test]
    fn several_share_a_record_and_one_raises_its_claim_when_the_others_have_gone() {
        use Strength::{KeyShare, NoKeyUpdate, Share};
        let claims = Claims::new();
        let bits = AtomicU32::new(0);
        let mark = || assert_eq!(bits.fetch_add(1, Ordering::SeqCst), 0);
        let unmark = || assert_eq!(bits.fetch_sub(1, Ordering::SeqCst), 1);
        assert_eq!(claims.ask(64, T, A, Share, mark), Asked::Granted);
        assert_eq!(claims.ask(64, T, B, Share, mark), Asked::Granted);
        assert_eq!(claims.ask(64, T, A, KeyShare, mark), Asked::Held);
        assert_eq!(claims.line_up(64, T, C, NoKeyUpdate, false, mark), Asked::Taken);
        // Nobody overtakes the line, but who is in it with what is in nobody's way, or has the record.
        assert_eq!(claims.ask(64, T, WorkerId(3), Share, mark), Asked::Taken);
        assert_eq!(claims.ask(64, T, WorkerId(3), KeyShare, mark), Asked::Granted);
        assert_eq!(claims.line_up(64, T, A, U, false, mark), Asked::Taken);
        claims.release(64, B, unmark);
        assert_eq!([A, C].map(|w| claims.sleep(w, Duration::ZERO)), [Slept::NotYet; 2]);
        claims.release(64, WorkerId(3), unmark);
        assert_eq!(claims.sleep(A, LONG), Slept::There);
        assert_eq!(claims.sleep(C, Duration::ZERO), Slept::NotYet);
        assert_eq!(claims.ask(64, T, A, U, mark), Asked::Held);
        claims.release(64, A, unmark);
        assert_eq!(claims.sleep(C, LONG), Slept::There);
        assert_eq!((claims.holder(64), bits.load(Ordering::SeqCst)), (Some(C), 1));
        claims.release(64, C, unmark);
        assert_eq!((claims.list().len(), bits.load(Ordering::SeqCst)), (0, 0));
    }

    #[test]
    fn who_steps_out_lets_those_behind_it_go_on() {
        let claims = Claims::new();
        assert_eq!(claims.ask(64, T, A, Strength::Share, || ()), Asked::Granted);
        assert_eq!(claims.line_up(64, T, B, U, false, || ()), Asked::Taken);
        assert_eq!(claims.line_up(64, T, C, Strength::Share, false, || ()), Asked::Taken);
        assert_eq!(claims.waits().len(), 2);
        assert_eq!(claims.step_out(B), Slept::NotYet);
        assert_eq!(claims.sleep(C, LONG), Slept::There);
    }

    /// Two that share a record and both want more wait for each other.
    #[test]
    fn two_that_raise_their_claims_are_a_ring() {
        let claims = Claims::new();
        for worker in [A, B] {
            assert_eq!(claims.ask(64, T, worker, Strength::Share, || ()), Asked::Granted);
        }
        assert_eq!(claims.line_up(64, T, A, U, false, || ()), Asked::Taken);
        assert_eq!(claims.deadlock(A), None);
        assert_eq!(claims.line_up(64, T, B, U, false, || ()), Asked::Taken);
        assert_eq!(claims.deadlock(B).map(|ring| ring.len()), Some(2));
    }

    /// Of those in a ring one that can be repeated gives up, whoever has closed it.
    #[test]
    fn who_can_be_repeated_gives_way() {
        let claims = Claims::new();
        for (record, worker) in [(64, A), (128, B), (192, C)] {
            assert_eq!(claims.ask(record, T, worker, U, || ()), Asked::Granted);
        }
        assert_eq!(claims.line_up(128, T, A, U, true, || ()), Asked::Taken);
        assert_eq!(claims.line_up(192, T, B, U, false, || ()), Asked::Taken);
        assert_eq!(claims.line_up(64, T, C, U, false, || ()), Asked::Taken);
        let ring = claims.deadlock(C).expect("a ring");
        assert!(claims.break_ring(C, &ring));
        assert_eq!(claims.deadlock(C), None);
        assert_eq!((claims.sleep(A, LONG), claims.step_out(A)), (Slept::GivesWay, Slept::GivesWay));
        claims.release(64, A, || ());
        assert_eq!(claims.sleep(C, LONG), Slept::There);
        // Now there is none that can.
        assert_eq!(claims.line_up(128, T, C, U, false, || ()), Asked::Taken);
        let ring = claims.deadlock(C).expect("a ring");
        assert!(!claims.break_ring(C, &ring));
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
                        if claims.line_up(64, T, worker, U, false, || ()) == Asked::Taken {
                            while claims.sleep(worker, LONG) != Slept::There {}
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
