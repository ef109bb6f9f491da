//! LOCK TABLE: who may touch which tables.
//!
//! Statements lock no tables: validation and claims decide between them. A transaction block that says LOCK TABLE
//! wants the others away until it ends, and those that were there first to have ended. So
//!
//! 1. who locks puts the lock on the list, and if it is one that reading or writing statements conflict with, counts
//!    it as *strong*; it waits until everybody who was inside the gate has been seen outside;
//! 2. each transaction that enters the gate looks whether there are strong locks (one load of a word that is written
//!    when tables are locked). If there are it looks at the list, steps back out, and waits;
//! 3. each statement of a block notes what it touches, on a list of its session's own, before it looks; so who locks
//!    finds what open blocks have touched, and waits for their end. So does a statement or a call that may sleep, which is
//!    outside of the gate meanwhile;
//! 4. the lock is granted when nobody else holds what conflicts, or asked for it earlier.
//!
//! A lock can be of one partition alone, whose rows lie with those of its root: then programs are in its way that write to
//! the root, but for those that are known to write within other partitions ([`Touch::part`]). TRUNCATE of a partition in a block
//! has such a lock, and relies on it: it does not validate that nobody adds rows
//! ([`lock_partitions`](crate::session::core::SessionCore::lock_partitions)). So whoever writes rows has said so here.
//!
//! Changes of the schema wait for all locked tables; a block that makes some locks tables itself where it can, and lets
//! those go on that want none of them ([`beside`](crate::session::beside)). Who waits looks now and then whether those it waits for wait for
//! itself (`waits`), and is then the one to give up. Locks are let go of at the end of the transaction, or where it goes
//! back to a savepoint of before. Without a LOCK TABLE nobody writes anything that others read.

use crate::engine::advisory::own::Level;
use crate::engine::waits::Edge;
use crate::system::AdvisoryLock;
use crate::system::Awaited;
use planaria_base::limits::WORKERS_MAX;
use planaria_base::sync::{Condvar, Mutex, MutexGuard};
use planaria_base::{TableId, WorkerId};
use planaria_catalog::Catalog;
use planaria_protocol::ColumnsRead;
use planaria_syntax::ast::LockMode;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::time::Duration;

/// What is done to a table.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Touch {
    pub(crate) table: TableId,
    /// What is written to the table is within this partition of it.
    pub(crate) part: Option<TableId>,
    /// The lock that PostgreSQL would take.
    pub(crate) mode: LockMode,
}

/// What a lock is of.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Place {
    /// Where the rows are.
    pub(crate) table: TableId,
    /// Of a partition's rows.
    part: Option<Part>,
}

/// A partition.
#[derive(Clone, PartialEq, Eq, Debug)]
struct Part {
    id: TableId,
    /// With those that it is under, but for the root, and those that are under it. Nobody changes that while it is locked.
    family: Arc<[TableId]>,
}

impl Place {
    pub(crate) fn of(catalog: &Catalog, id: TableId) -> Place {
        let mut family = catalog.partition_ancestors(id);
        let table = family.pop().unwrap_or(id);
        let part = (table != id).then(|| {
            family.extend(catalog.partition_tree(id).into_iter().filter(|under| *under != id));
            Part { id, family: family.into() }
        });
        Place { table, part }
    }

    /// The table that is shown to be locked.
    pub(crate) fn shown(&self) -> TableId {
        self.part.as_ref().map_or(self.table, |part| part.id)
    }

    pub(crate) fn is_part(&self) -> bool {
        self.part.is_some()
    }

    fn overlaps(&self, other: &Place) -> bool {
        self.table == other.table
            && match (&self.part, &other.part) {
                (Some(part), Some(other)) => part.family.contains(&other.id),
                _ => true,
            }
    }

    fn is_touched(&self, touch: &Touch) -> bool {
        self.table == touch.table
            && match (&self.part, touch.part) {
                (Some(part), Some(id)) => part.family.contains(&id),
                _ => true,
            }
    }
}

impl From<TableId> for Place {
    fn from(table: TableId) -> Place {
        Place { table, part: None }
    }
}

/// What a program, with all it calls, does to tables.
#[derive(Default, Debug)]
pub(crate) struct Touches {
    /// The strongest lock that PostgreSQL would take on each, and on each partition that is known.
    pub(crate) tables: Vec<Touch>,
    /// It runs SQL made at run time: that may write to any.
    pub(crate) anything: bool,
    /// It may sleep: outside of the gate.
    pub(crate) sleeps: bool,
    /// Those of which it locks rows.
    pub(crate) claimed: Vec<TableId>,
    /// What it reads.
    pub(crate) columns: ColumnsRead,
}

impl Touches {
    pub(crate) fn add(&mut self, table: TableId, mode: LockMode) {
        self.add_within(table, None, mode);
    }

    /// The same of what is within a partition.
    pub(crate) fn add_within(&mut self, table: TableId, part: Option<TableId>, mode: LockMode) {
        match self.tables.iter_mut().find(|touch| touch.table == table && touch.part == part) {
            Some(touch) => touch.mode = touch.mode.max(mode),
            None => self.tables.push(Touch { table, part, mode }),
        }
    }

    /// What another program does as well.
    pub(crate) fn join(&mut self, other: &Touches) {
        other.tables.iter().for_each(|touch| self.add_within(touch.table, touch.part, touch.mode));
        self.claimed.extend(&other.claimed);
        self.anything |= other.anything;
        self.sleeps |= other.sleeps;
    }

    /// Whether it may be outside of the gate while it runs.
    pub(crate) fn may_sleep(&self) -> bool {
        self.sleeps || self.anything
    }

    fn meets(&self, lock: &TableLock) -> bool {
        self.anything && lock.mode.conflicts(LockMode::RowExclusive)
            || self.tables.iter().any(|touch| lock.is_in_the_way_of(touch))
    }
}

/// A lock that is held or asked for.
#[derive(Clone, Debug)]
pub(crate) struct TableLock {
    pub(crate) worker: WorkerId,
    pub(crate) place: Place,
    pub(crate) mode: LockMode,
    pub(crate) granted: bool,
}

impl TableLock {
    fn is(&self, worker: WorkerId, place: &Place, mode: LockMode) -> bool {
        self.worker == worker && self.mode == mode && self.place == *place
    }

    fn is_in_the_way_of(&self, touch: &Touch) -> bool {
        self.place.is_touched(touch) && touch.mode.conflicts(self.mode)
    }
}

/// What a session waits for.
#[derive(Clone)]
pub(crate) enum Wanted {
    /// To run a program.
    Run(Arc<Touches>),
    /// To lock a table, or a partition.
    Lock(Place, LockMode),
    /// To change the schema.
    Change,
    /// An advisory lock.
    Advisory(AdvisoryLock, Level),
}

#[derive(Default)]
struct State {
    /// In the order in which they were asked for.
    locks: Vec<TableLock>,
    waits: Vec<(WorkerId, Wanted)>,
}

/// See the module's head.
pub(crate) struct TableLocks {
    strong: AtomicU32,
    state: Mutex<State>,
    changed: Condvar,
    /// What the open block of each session has touched.
    touched: Box<[Mutex<Vec<Touch>>]>,
    /// Whether it may have touched others as well, by SQL made at run time.
    anything: Box<[AtomicBool]>,
    /// How many statements of blocks each has begun, more or less: whether it is at work.
    begun: Box<[AtomicU32]>,
}

impl TableLocks {
    pub(crate) fn new() -> TableLocks {
        TableLocks {
            strong: AtomicU32::new(0),
            state: Mutex::default(),
            changed: Condvar::new(),
            touched: (0..WORKERS_MAX).map(|_| Mutex::default()).collect(),
            anything: (0..WORKERS_MAX).map(|_| AtomicBool::new(false)).collect(),
            begun: (0..WORKERS_MAX).map(|_| AtomicU32::new(0)).collect(),
        }
    }

    /// Whether statements have to look at the list.
    #[inline]
    pub(crate) fn are_strong(&self) -> bool {
        self.strong.load(Ordering::SeqCst) > 0
    }

    fn touched_by(&self, worker: WorkerId) -> MutexGuard<'_, Vec<Touch>> {
        self.touched[usize::from(worker.0)].lock()
    }

    /// A statement of a block, or one that may sleep, is about to touch tables. Answers with how many had been touched
    /// before, and whether it might have been any.
    pub(crate) fn touch(&self, worker: WorkerId, touches: &Touches) -> (usize, bool) {
        self.begun[usize::from(worker.0)].fetch_add(1, Ordering::Relaxed);
        let any = self.anything[usize::from(worker.0)].fetch_or(touches.anything, Ordering::SeqCst);
        let mut touched = self.touched_by(worker);
        let known = touched.len();
        for one in &touches.tables {
            if !touched[..known].contains(one) {
                touched.push(*one);
            }
        }
        (known, any)
    }

    /// It did not touch more than those after all.
    pub(crate) fn step_back(&self, worker: WorkerId, (known, any): (usize, bool)) {
        self.touched_by(worker).truncate(known);
        self.anything[usize::from(worker.0)].store(any, Ordering::SeqCst);
        self.notify();
    }

    /// Whether a program has to wait, of a session whose block had touched so many tables before, or might have touched any.
    pub(crate) fn bars(&self, worker: WorkerId, touches: &Touches, (known, any): (usize, bool)) -> bool {
        if !self.are_strong() {
            return false;
        }
        let state = self.state.lock();
        let before = self.touched_by(worker)[..known].to_vec();
        barring(&state, worker, touches, (&before, any)).next().is_some()
    }

    /// Whether sessions other than this one have locked tables.
    pub(crate) fn are_held_by_others(&self, worker: WorkerId) -> bool {
        self.state.lock().locks.iter().any(|l| l.worker != worker && l.granted)
    }

    /// Asks for a lock: whether the session did not have it already.
    pub(crate) fn ask(&self, worker: WorkerId, place: &Place, mode: LockMode) -> bool {
        let mut state = self.state.lock();
        if state.locks.iter().any(|l| l.is(worker, place, mode)) {
            return false;
        }
        state.locks.push(TableLock { worker, place: place.clone(), mode, granted: false });
        if mode.is_strong() {
            self.strong.fetch_add(1, Ordering::SeqCst);
        }
        true
    }

    /// The locks that a session has, and has asked for.
    pub(crate) fn count(&self, worker: WorkerId) -> usize {
        self.state.lock().locks.iter().filter(|l| l.worker == worker).count()
    }

    /// Lets go of all but the first locks of a session.
    pub(crate) fn release_to(&self, worker: WorkerId, len: usize) {
        let mut state = self.state.lock();
        let (mut own, mut strong) = (0, 0);
        state.locks.retain(|lock| {
            own += usize::from(lock.worker == worker);
            let stays = lock.worker != worker || own <= len;
            strong += u32::from(!stays && lock.mode.is_strong());
            stays
        });
        self.strong.fetch_sub(strong, Ordering::SeqCst);
        drop(state);
        self.notify();
    }

    /// The session's transaction is over.
    pub(crate) fn end(&self, worker: WorkerId) {
        self.touched_by(worker).clear();
        self.anything[usize::from(worker.0)].store(false, Ordering::SeqCst);
        self.release_to(worker, 0);
    }

    /// How many statements of blocks a session has begun, more or less.
    pub(crate) fn begun(&self, worker: WorkerId) -> u32 {
        self.begun[usize::from(worker.0)].load(Ordering::Relaxed)
    }

    /// Whether the open block of a session has touched any table.
    pub(crate) fn has_touched(&self, worker: WorkerId) -> bool {
        !self.touched_by(worker).is_empty()
    }

    /// What the open block of a session has touched; `None` where nobody knows.
    pub(crate) fn touched_in_all(&self, worker: WorkerId) -> Option<Vec<Touch>> {
        let known = !self.anything[usize::from(worker.0)].load(Ordering::SeqCst);
        known.then(|| self.touched_by(worker).clone())
    }

    /// Grants what a session has asked for if nobody else has anything to do with it: whether it did.
    pub(crate) fn grant_if_free(&self, worker: WorkerId, place: &Place, mode: LockMode) -> bool {
        let mut state = self.state.lock();
        let free = self.blockers(&state, worker, &Wanted::Lock(place.clone(), mode)).is_empty()
            && self.may_touch_anything(worker).next().is_none();
        if free {
            state.locks.iter_mut().filter(|l| l.is(worker, place, mode)).for_each(|l| l.granted = true);
        }
        free
    }

    /// The others that have run SQL made at run time.
    fn may_touch_anything(&self, worker: WorkerId) -> impl Iterator<Item = WorkerId> {
        let all = (0u16..).map(WorkerId).zip(&self.anything);
        let others = all.filter(move |(other, anything)| *other != worker && anything.load(Ordering::SeqCst));
        others.map(|(other, _)| other)
    }

    fn notify(&self) {
        self.changed.notify_all();
    }

    /// Waits until a session has what it wants, as long as `goes_on` says for how long to sleep: whether it has.
    pub(crate) fn wait(
        &self,
        worker: WorkerId,
        wanted: &Wanted,
        goes_on: &mut dyn FnMut() -> Option<Duration>,
    ) -> bool {
        let mut state = self.state.lock();
        state.waits.push((worker, wanted.clone()));
        let granted = loop {
            if self.blockers(&state, worker, wanted).is_empty() {
                break true;
            }
            // Whoever looks who waits for whom looks here, too.
            drop(state);
            let longest = goes_on();
            state = self.state.lock();
            if self.blockers(&state, worker, wanted).is_empty() {
                break true;
            }
            match longest {
                Some(time) => {
                    self.changed.wait_for(&mut state, time);
                }
                None => break false,
            }
        };
        if granted && let Wanted::Lock(place, mode) = wanted {
            state.locks.iter_mut().filter(|l| l.is(worker, place, *mode)).for_each(|l| l.granted = true);
        }
        state.waits.retain(|(w, _)| *w != worker);
        drop(state);
        self.notify();
        granted
    }

    /// Whom a session has to wait for.
    fn blockers(&self, state: &State, worker: WorkerId, wanted: &Wanted) -> Vec<Edge> {
        let edge = |holder, (mode, table)| Edge { worker, holder, what: Awaited::Table(mode, table) };
        match wanted {
            Wanted::Advisory(..) => Vec::new(),
            Wanted::Run(touches) => {
                let before = self.touched_by(worker).clone();
                let any = self.anything[usize::from(worker.0)].load(Ordering::SeqCst);
                barring(state, worker, touches, (&before, any))
                    .map(|l| edge(l.worker, mode_of(touches, l)))
                    .collect()
            }
            Wanted::Change => {
                let others = state.locks.iter().filter(|l| l.worker != worker && l.granted);
                others.map(|l| edge(l.worker, (LockMode::AccessExclusive, l.place.shown()))).collect()
            }
            Wanted::Lock(place, mode) => {
                let own = |l: &TableLock| l.is(worker, place, *mode);
                let turn = state.locks.iter().position(own).unwrap_or(state.locks.len());
                // Who has the table in some way does not wait behind those that wait for it.
                let has = has(state, worker, place, &self.touched_by(worker));
                let locks = state.locks.iter().enumerate().filter(|(i, l)| {
                    l.worker != worker
                        && l.place.overlaps(place)
                        && l.mode.conflicts(*mode)
                        && (l.granted || *i < turn && !has)
                });
                let mut holders: Vec<WorkerId> = locks.map(|(_, l)| l.worker).collect();
                if mode.is_strong() {
                    for (other, touched) in (0u16..).map(WorkerId).zip(&self.touched) {
                        let meets = |t: &Touch| place.is_touched(t) && t.mode.conflicts(*mode);
                        if other != worker && touched.lock().iter().any(meets) {
                            holders.push(other);
                        }
                    }
                }
                // Who locks a partition relies on it.
                if place.is_part() && mode.conflicts(LockMode::RowExclusive) {
                    holders.extend(self.may_touch_anything(worker));
                }
                holders.into_iter().map(|holder| edge(holder, (*mode, place.shown()))).collect()
            }
        }
    }

    /// Who waits for whom.
    pub(crate) fn waits(&self) -> Vec<Edge> {
        let state = self.state.lock();
        state.waits.iter().flat_map(|(worker, wanted)| self.blockers(&state, *worker, wanted)).collect()
    }

    /// All locks that are held or asked for.
    pub(crate) fn list(&self) -> Vec<TableLock> {
        self.state.lock().locks.clone()
    }

    /// What the open blocks of a session have touched.
    pub(crate) fn all_touched(&self) -> Vec<(WorkerId, Touch)> {
        let of = |(worker, touched): (WorkerId, &Mutex<Vec<Touch>>)| {
            touched.lock().iter().map(|touch| (worker, *touch)).collect::<Vec<_>>()
        };
        (0u16..).map(WorkerId).zip(&self.touched).flat_map(of).collect()
    }

    /// Programs that wait for locked tables, and what they would do to them.
    pub(crate) fn barred(&self) -> Vec<(WorkerId, TableId, LockMode)> {
        let waits = self.waits();
        let state = self.state.lock();
        let asks = |edge: &Edge, what| {
            state
                .locks
                .iter()
                .any(|l| (l.worker, Awaited::Table(l.mode, l.place.shown())) == (edge.worker, what))
        };
        let mut barred: Vec<_> = waits
            .iter()
            .filter(|edge| !asks(edge, edge.what))
            .filter_map(|edge| match edge.what {
                Awaited::Table(mode, table) => Some((edge.worker, table, mode)),
                _ => None,
            })
            .collect();
        barred.dedup();
        barred
    }
}

/// Whether a session has locked something of a place, or its open block has touched something of it before.
fn has(state: &State, worker: WorkerId, place: &Place, before: &[Touch]) -> bool {
    before.iter().any(|touch| place.is_touched(touch))
        || state.locks.iter().any(|l| l.worker == worker && l.granted && l.place.overlaps(place))
}

/// Locks that keep a program waiting: those that others hold, and those they wait for, but on tables that the session
/// has touched or locked before. Who asks for a partition waits for those who may have touched any (`any`).
fn barring<'s>(
    state: &'s State,
    worker: WorkerId,
    touches: &'s Touches,
    (before, any): (&'s [Touch], bool),
) -> impl Iterator<Item = &'s TableLock> {
    state.locks.iter().filter(move |lock| {
        lock.worker != worker
            && lock.mode.is_strong()
            && touches.meets(lock)
            && (lock.granted || !(any && lock.place.is_part() || has(state, worker, &lock.place, before)))
    })
}

/// What a program that a lock bars wants of the table.
fn mode_of(touches: &Touches, lock: &TableLock) -> (LockMode, TableId) {
    let of = touches.tables.iter().find(|touch| lock.is_in_the_way_of(touch));
    (of.map_or(LockMode::RowExclusive, |touch| touch.mode), lock.place.shown())
}
