//! Who waits for an epoch to be on disk without blocking: callbacks and futures.

use planaria_base::sync::Mutex;
use planaria_base::{Epoch, Result};
use std::collections::BTreeMap;
use std::task::Waker;

/// Called once, with the outcome, on the thread that closed the epoch: it must be quick.
pub(crate) type Callback = Box<dyn FnOnce(Result<()>) + Send>;

pub(crate) enum Waiter {
    Call(Callback),
    Wake(Waker),
}

/// All of them, by epoch.
#[derive(Default)]
pub(crate) struct Waiters {
    queue: Mutex<BTreeMap<Epoch, Vec<Waiter>>>,
}

impl Waiters {
    /// Adds a waiter unless `settled` has an outcome already. `settled` is asked under the lock that
    /// [`Waiters::settle`] takes after an outcome is published, so no waiter is forgotten.
    pub(crate) fn add(
        &self,
        epoch: Epoch,
        waiter: Waiter,
        settled: impl FnOnce() -> Option<Result<()>>,
    ) -> Option<Result<()>> {
        let mut queue = self.queue.lock();
        if let Some(outcome) = settled() {
            drop(queue);
            waiter.settle(outcome.clone());
            return Some(outcome);
        }
        queue.entry(epoch).or_default().push(waiter);
        None
    }

    /// Tells everybody who waits for `through` or an epoch before it.
    pub(crate) fn settle(&self, through: Epoch, outcome: &Result<()>) {
        loop {
            // One epoch at a time: whoever is told may come to wait again.
            let mut queue = self.queue.lock();
            match queue.first_entry() {
                Some(entry) if *entry.key() <= through => {
                    let waiters = entry.remove();
                    drop(queue);
                    waiters.into_iter().for_each(|w| w.settle(outcome.clone()));
                }
                _ => return,
            }
        }
    }
}

impl Waiter {
    fn settle(self, outcome: Result<()>) {
        match self {
            Waiter::Call(callback) => callback(outcome),
            Waiter::Wake(waker) => waker.wake(),
        }
    }
}
