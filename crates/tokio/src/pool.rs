//! Sessions, lent to one task at a time, and the threads that they block.
//!
//! 1. A task waits for a seat (`borrow`), then takes a session that is idle, or makes one.
//! 2. The session goes to a thread with what is to be done (`Lent::run`), and comes back with the outcome.
//! 3. If nobody waits for it any more, it goes back to the pool from there, rolled back.

use planaria::{Canceller, Database, Error, Result, Session};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, oneshot};

pub(crate) struct Pool {
    database: Database,
    idle: Mutex<Vec<Session>>,
    seats: Arc<Semaphore>,
}

impl std::fmt::Debug for Pool {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Pool").field("free", &self.seats.available_permits()).finish_non_exhaustive()
    }
}

/// Runs what blocks.
pub(crate) async fn on_a_thread<T: Send + 'static>(
    work: impl FnOnce() -> Result<T> + Send + 'static,
) -> Result<T> {
    tokio::task::spawn_blocking(work).await.unwrap_or_else(|e| Err(Error::internal(e.to_string())))
}

impl Pool {
    pub(crate) fn new(database: Database, sessions: usize) -> Pool {
        let seats = Arc::new(Semaphore::new(sessions.min(Semaphore::MAX_PERMITS)));
        Pool { database, idle: Mutex::new(Vec::new()), seats }
    }

    pub(crate) fn database(&self) -> &Database {
        &self.database
    }

    /// Drops the sessions that are idle.
    pub(crate) fn forget(&self) {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner).clear();
    }

    /// A session for this task alone.
    pub(crate) async fn borrow(self: &Arc<Self>) -> Result<Lent> {
        let seat = self.seats.clone().acquire_owned().await.map_err(|e| Error::internal(e.to_string()))?;
        let idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner).pop();
        let session = match idle {
            Some(session) => session,
            None => self.database.session()?,
        };
        Ok(Lent { session: Some(session), pool: self.clone(), seat: Some(seat) })
    }
}

/// A session that a task has, with its seat.
pub(crate) struct Lent {
    /// There, unless it is on its way back.
    session: Option<Session>,
    pool: Arc<Pool>,
    seat: Option<OwnedSemaphorePermit>,
}

impl Lent {
    /// Runs `work` with the session, on a thread. Where this is not waited for, the session goes back to the pool.
    pub(crate) async fn run<T: Send + 'static>(
        mut self,
        work: impl FnOnce(&mut Session) -> Result<T> + Send + 'static,
    ) -> Result<(Lent, Result<T>)> {
        let canceller = self.session.as_ref().map(Session::canceller);
        let mut waiting = Waiting { abandoned: Arc::default(), canceller, done: false };
        let abandoned = waiting.abandoned.clone();
        let (answer, answered) = oneshot::channel();
        tokio::task::spawn_blocking(move || {
            let Some(session) = &mut self.session else { return };
            if abandoned.load(Ordering::Acquire) {
                return;
            }
            let outcome = work(session);
            // What is not taken is dropped, here, where that may block.
            drop(answer.send((self, outcome)));
        });
        let outcome = answered.await;
        waiting.done = true;
        outcome.map_err(|_| Error::internal("the thread that ran the statement has ended"))
    }
}

impl Drop for Lent {
    fn drop(&mut self) {
        let Some(mut session) = self.session.take() else { return };
        let (pool, seat) = (self.pool.clone(), self.seat.take());
        if !session.channels().is_empty() {
            // Nobody could read what comes for it: it listens no more.
            session.unlisten();
        }
        if !session.in_transaction() {
            pool.idle.lock().unwrap_or_else(PoisonError::into_inner).push(session);
            return drop(seat);
        }
        let roll_back = move || {
            if session.execute("ROLLBACK", ()).is_ok() {
                pool.idle.lock().unwrap_or_else(PoisonError::into_inner).push(session);
            }
            drop(seat);
        };
        match tokio::runtime::Handle::try_current() {
            Ok(runtime) => drop(runtime.spawn_blocking(roll_back)),
            Err(_) => roll_back(),
        }
    }
}

/// Of who waits for an outcome: cancels when dropped before it is there.
struct Waiting {
    abandoned: Arc<AtomicBool>,
    canceller: Option<Canceller>,
    done: bool,
}

impl Drop for Waiting {
    fn drop(&mut self) {
        if !self.done {
            self.abandoned.store(true, Ordering::Release);
            if let Some(canceller) = &self.canceller {
                canceller.cancel();
            }
        }
    }
}
