//! Threads that would wait for themselves: a transaction is open on a thread, which waits for it in another session.
//!
//! Only transactions of [`Transaction`](crate::Transaction) are known, which stay on their thread. Of a session that goes from
//! thread to thread with a block of BEGIN nobody knows who will end it.

use crate::engine::Engine;
use planaria_base::{Error, SqlState, WorkerId};
use std::cell::Cell;
use std::collections::HashSet;
use std::num::NonZeroU64;
use std::sync::atomic::{AtomicU64, Ordering};

static THREADS: AtomicU64 = AtomicU64::new(1);

thread_local! {
    static THREAD: NonZeroU64 =
        NonZeroU64::new(THREADS.fetch_add(1, Ordering::Relaxed)).unwrap_or(NonZeroU64::MIN);
    /// Transactions that are open on it.
    static OPEN: Cell<u32> = const { Cell::new(0) };
}

/// By worker, the thread that its transaction stays on; 0: nobody's.
pub(crate) struct OnThreads(Box<[AtomicU64]>);

impl OnThreads {
    pub(crate) fn new(workers: usize) -> OnThreads {
        OnThreads((0..workers).map(|_| AtomicU64::new(0)).collect())
    }

    /// A transaction has begun here.
    pub(crate) fn began(&self, worker: WorkerId) {
        self.0[usize::from(worker.0)].store(THREAD.with(|thread| thread.get()), Ordering::Relaxed);
        OPEN.with(|open| open.set(open.get() + 1));
    }

    /// It is over.
    pub(crate) fn ended(&self, worker: WorkerId) {
        self.0[usize::from(worker.0)].store(0, Ordering::Relaxed);
        OPEN.with(|open| open.set(open.get().saturating_sub(1)));
    }

    fn is_here(&self, worker: WorkerId) -> bool {
        self.0[usize::from(worker.0)].load(Ordering::Relaxed) == THREAD.with(|thread| thread.get())
    }
}

impl Engine {
    /// Why a wait of a session will never end: 57P01 where the database has been closed, 55P03 where it is, directly or by way of
    /// others, for a transaction of the thread that waits.
    pub(crate) fn hopeless(&self, worker: WorkerId) -> Option<Error> {
        if let Err(closed) = self.check_open() {
            return Some(closed);
        }
        if OPEN.with(Cell::get) == 0 {
            return None;
        }
        let edges = self.waits();
        let (mut seen, mut next) = (HashSet::from([worker]), vec![worker]);
        while let Some(at) = next.pop() {
            for edge in edges.iter().filter(|edge| edge.worker == at) {
                if edge.holder != worker && self.on_threads.is_here(edge.holder) {
                    return Some(waits_for_itself());
                }
                if seen.insert(edge.holder) {
                    next.push(edge.holder);
                }
            }
        }
        None
    }
}

#[cold]
fn waits_for_itself() -> Error {
    Error::new(
        SqlState::LOCK_NOT_AVAILABLE,
        "the statement would wait for a transaction that its own thread has open",
    )
    .with_detail("The thread has the transaction in another session, and cannot end it while it waits here.")
    .with_hint("Run the statement in that transaction, or commit it or roll it back first.")
}
