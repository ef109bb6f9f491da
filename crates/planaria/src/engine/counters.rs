//! Counters that every core keeps on its own cache lines.

use crate::stats::Healing;
use planaria_base::limits::WORKERS_MAX;
use planaria_base::{Epoch, WorkerId};
use planaria_protocol::{Conflict, Healed};
use std::sync::atomic::{AtomicU8, AtomicU64, AtomicUsize, Ordering};

const CAUSES: usize = Conflict::ALL.len();

#[repr(align(128))]
#[derive(Default)]
struct Line {
    commits: AtomicU64,
    aborts: [AtomicU64; CAUSES],
    /// In the order of [`Healing`].
    healing: [AtomicU64; 6],
    /// What the worker does instead of going on: a [`Pause`], or 0.
    pause: AtomicU8,
    /// Epoch of the newest record, or [`COMMITTING`] while a commit that may write one is under way.
    newest: AtomicU64,
}

/// What keeps a worker from going on that is no lock of anybody's.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
pub(crate) enum Pause {
    /// An attempt has failed, and it waits before the next.
    Retry = 1,
    /// An attempt is being healed.
    Heal = 2,
    /// Transactions come one after another, and it is not its turn yet.
    Turn = 3,
}

impl Pause {
    /// As a wait event of `pg_stat_activity`: type and name.
    pub(crate) const fn event(self) -> (&'static str, &'static str) {
        match self {
            Pause::Retry => ("Timeout", "TransactionRetry"),
            Pause::Heal => ("Extension", "TransactionHeal"),
            Pause::Turn => ("Lock", "TransactionTurn"),
        }
    }
}

/// "Not known yet": above every epoch.
const COMMITTING: u64 = u64::MAX;

/// Commits and aborted attempts, by worker.
pub(crate) struct Counters {
    lines: Box<[Line]>,
    /// Lines ever used.
    used: AtomicUsize,
}

impl Counters {
    pub(crate) fn new() -> Counters {
        Counters { lines: (0..WORKERS_MAX).map(|_| Line::default()).collect(), used: AtomicUsize::new(0) }
    }

    /// Only the worker itself adds to its line, so load and store do.
    fn add(counter: &AtomicU64) {
        Self::add_many(counter, 1);
    }

    fn add_many(counter: &AtomicU64, n: u64) {
        counter.store(counter.load(Ordering::Relaxed) + n, Ordering::Relaxed);
    }

    #[inline]
    pub(crate) fn commit(&self, worker: WorkerId) {
        Self::add(&self.lines[worker.0 as usize].commits);
    }

    #[cold]
    pub(crate) fn abort(&self, worker: WorkerId, cause: Conflict) {
        Self::add(&self.lines[worker.0 as usize].aborts[cause as usize]);
    }

    /// What the worker does from now on instead of going on.
    #[cold]
    pub(crate) fn pause(&self, worker: WorkerId, pause: Option<Pause>) {
        self.lines[worker.0 as usize].pause.store(pause.map_or(0, |pause| pause as u8), Ordering::Relaxed);
    }

    /// The workers that do not go on.
    pub(crate) fn paused(&self) -> Vec<(WorkerId, Pause)> {
        let of = |(worker, line): (u16, &Line)| match line.pause.load(Ordering::Relaxed) {
            1 => Some((WorkerId(worker), Pause::Retry)),
            2 => Some((WorkerId(worker), Pause::Heal)),
            3 => Some((WorkerId(worker), Pause::Turn)),
            _ => None,
        };
        (0..).zip(&self.lines[..self.used()]).filter_map(of).collect()
    }

    /// An attempt was healed, or was to be, and then committed or not.
    #[cold]
    pub(crate) fn heal(&self, worker: WorkerId, committed: bool, healed: &Healed) {
        let Healed { runs, known, repeated, false_invalidations, relocks } = *healed;
        let commits = u64::from(committed && runs + false_invalidations > 0);
        let counted = [commits, runs, known, repeated, false_invalidations, relocks];
        let line = &self.lines[worker.0 as usize].healing;
        line.iter().zip(counted).for_each(|(counter, n)| Self::add_many(counter, n));
    }

    pub(crate) fn healing(&self) -> Healing {
        let lines = &self.lines[..self.used()];
        let of = |at: usize| lines.iter().map(|line| line.healing[at].load(Ordering::Relaxed)).sum();
        Healing {
            commits: of(0),
            runs: of(1),
            known: of(2),
            repeated: of(3),
            false_invalidations: of(4),
            relocks: of(5),
        }
    }

    /// A commit begins that will write a record, if it succeeds. Before anything of it is visible.
    #[inline]
    pub(crate) fn committing(&self, worker: WorkerId) {
        self.lines[worker.0 as usize].newest.store(COMMITTING, Ordering::Release);
    }

    /// The commit is over, well or not; `newest` is the epoch of the worker's newest record.
    #[inline]
    pub(crate) fn committed(&self, worker: WorkerId, newest: Epoch) {
        self.lines[worker.0 as usize].newest.store(newest.0, Ordering::Release);
    }

    /// The newest epoch that any worker has written a record in, at least `floor`; `None` while a
    /// commit is under way. Whoever saw a commit's rows sees at least its mark: the mark was set
    /// before the rows were visible.
    pub(crate) fn newest_logged(&self, floor: Epoch) -> Option<Epoch> {
        let newest = self.lines[..self.used()].iter().map(|l| l.newest.load(Ordering::Acquire)).max();
        match newest {
            Some(COMMITTING) => None,
            other => Some(floor.max(Epoch(other.unwrap_or(0)))),
        }
    }

    /// A session sits down on this line.
    pub(crate) fn open(&self, worker: WorkerId) {
        self.used.fetch_max(usize::from(worker.0) + 1, Ordering::SeqCst);
    }

    fn used(&self) -> usize {
        self.used.load(Ordering::Acquire)
    }

    pub(crate) fn commits(&self) -> u64 {
        self.lines[..self.used()].iter().map(|l| l.commits.load(Ordering::Relaxed)).sum()
    }

    pub(crate) fn aborts(&self) -> Vec<(&'static str, u64)> {
        let of = |cause: Conflict| {
            self.lines[..self.used()].iter().map(|l| l.aborts[cause as usize].load(Ordering::Relaxed)).sum()
        };
        Conflict::ALL.iter().map(|c| (c.name(), of(*c))).collect()
    }
}
