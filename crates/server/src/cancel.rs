//! Cancelling: a client says so on another connection, with the key it was given.

use parking_lot::Mutex;
use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI32, Ordering};

/// What stops a connection's statement.
#[derive(Default)]
pub(crate) struct Cancellation {
    open: Mutex<HashMap<i32, Open>>,
    next: AtomicI32,
}

/// A connection that is open.
struct Open {
    secret: i32,
    flag: Arc<AtomicBool>,
    user: String,
}

/// A connection's number and key; gone when dropped.
pub(crate) struct Key {
    all: Arc<Cancellation>,
    /// The number by which the connection is known: PostgreSQL's process id.
    pub(crate) process: i32,
    pub(crate) secret: i32,
    /// Set by a cancel request.
    pub(crate) flag: Arc<AtomicBool>,
}

impl Cancellation {
    /// A key for a new connection.
    pub(crate) fn open(self: &Arc<Self>, user: &str) -> Key {
        let secret = rand::random::<i32>();
        let flag = Arc::new(AtomicBool::new(false));
        let mut open = self.open.lock();
        let process = loop {
            let process = self.next.fetch_add(1, Ordering::Relaxed).wrapping_add(1) & i32::MAX;
            if process != 0 && !open.contains_key(&process) {
                break process;
            }
        };
        open.insert(process, Open { secret, flag: flag.clone(), user: user.to_owned() });
        Key { all: self.clone(), process, secret, flag }
    }

    /// Stops what that connection is doing, if the secret is right; else nothing, and nobody is told.
    pub(crate) fn cancel(&self, process: i32, secret: i32) -> bool {
        match self.open.lock().get(&process) {
            Some(open) if open.secret == secret => {
                open.flag.store(true, Ordering::Relaxed);
                true
            }
            _ => false,
        }
    }

    /// Stops what all connections are doing.
    pub(crate) fn cancel_all(&self) {
        self.open.lock().values().for_each(|o| o.flag.store(true, Ordering::Relaxed));
    }

    /// Connections of a user.
    pub(crate) fn of_user(&self, user: &str) -> usize {
        self.open.lock().values().filter(|o| o.user == user).count()
    }
}

impl Drop for Key {
    fn drop(&mut self) {
        self.all.open.lock().remove(&self.process);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_who_has_the_key_can_cancel() {
        let all = Arc::new(Cancellation::default());
        let key = all.open("me");
        assert_eq!((all.of_user("me"), all.of_user("you")), (1, 0));
        assert!(!all.cancel(key.process, key.secret.wrapping_add(1)));
        assert!(!all.cancel(key.process + 1, key.secret));
        assert!(!key.flag.load(Ordering::Relaxed));
        assert!(all.cancel(key.process, key.secret));
        assert!(key.flag.load(Ordering::Relaxed));
        let (process, secret) = (key.process, key.secret);
        drop(key);
        assert!(!all.cancel(process, secret));
        assert_eq!(all.of_user("me"), 0);
    }
}
