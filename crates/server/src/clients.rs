//! Who is connected: numbers and keys, what each client does, and the signals that others send it.
//!
//! A client cancels with the key it was given, on another connection; SQL asks and signals by number
//! (`pg_stat_activity`, `pg_cancel_backend`, `pg_terminate_backend`), through [`planaria::serving::Clients`].
//!
//! What a client does is noted once when a statement begins and once when its answer has left, under a lock that
//! nobody else wants but who asks.

use parking_lot::Mutex;
use planaria::serving::{Client, ClientState, RoleId, Signal};
use std::collections::HashMap;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI32, Ordering};
use std::task::Waker;
use std::time::{Instant, SystemTime, UNIX_EPOCH};
use tokio::sync::Notify;

/// All connections that were let in.
pub(crate) struct Registry {
    open: Mutex<HashMap<i32, Arc<Entry>>>,
    next: AtomicI32,
    /// The same moment on both clocks: times of day are had from the one that is read anyway.
    instant: Instant,
    micros: i64,
}

/// A connection, as others see it.
struct Entry {
    secret: i32,
    /// Its statement is to end.
    cancel: Arc<AtomicBool>,
    /// It is to be sent away.
    terminated: AtomicBool,
    wake: Notify,
    /// The connection, while it waits for its client.
    rests: Mutex<Option<Waker>>,
    role: RoleId,
    address: Option<SocketAddr>,
    connected: Instant,
    activity: Mutex<Activity>,
}

struct Activity {
    application_name: String,
    statement: Option<Arc<str>>,
    state: ClientState,
    since: Instant,
    statement_since: Option<Instant>,
    transaction_since: Option<Instant>,
    waits_for: Option<(&'static str, &'static str)>,
}

/// A connection's number and key, and where it says what it does; gone when dropped.
pub(crate) struct Key {
    all: Arc<Registry>,
    entry: Arc<Entry>,
    /// The number by which the connection is known: PostgreSQL's process id.
    pub(crate) process: i32,
    pub(crate) secret: i32,
    /// Set by a cancel request.
    pub(crate) flag: Arc<AtomicBool>,
}

/// What a connection waits for, in PostgreSQL's words.
pub(crate) const READS: (&str, &str) = ("Client", "ClientRead");
pub(crate) const WRITES: (&str, &str) = ("Client", "ClientWrite");
pub(crate) const SYNCS: (&str, &str) = ("IO", "WALSync");

impl Entry {
    /// Its statement is to end, and who waits is to look why.
    fn interrupt(&self) {
        self.cancel.store(true, Ordering::SeqCst);
        self.wake.notify_one();
        self.look_up();
    }

    /// If it waits for its client, it is to look what else there is.
    fn look_up(&self) {
        if let Some(waker) = &*self.rests.lock() {
            waker.wake_by_ref();
        }
    }
}

impl Default for Registry {
    fn default() -> Registry {
        const SECONDS_TO_2000: i64 = 946_684_800;
        let since_1970 = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        Registry {
            open: Mutex::default(),
            next: AtomicI32::new(1),
            instant: Instant::now(),
            micros: since_1970.as_micros() as i64 - SECONDS_TO_2000 * 1_000_000,
        }
    }
}

impl Registry {
    /// A key for a new connection.
    pub(crate) fn open(self: &Arc<Self>, role: RoleId, address: Option<SocketAddr>) -> Key {
        let secret = rand::random::<i32>();
        let flag = Arc::new(AtomicBool::new(false));
        let now = Instant::now();
        let entry = Arc::new(Entry {
            secret,
            cancel: flag.clone(),
            terminated: AtomicBool::new(false),
            wake: Notify::new(),
            rests: Mutex::default(),
            role,
            address,
            connected: now,
            activity: Mutex::new(Activity {
                application_name: String::new(),
                statement: None,
                state: ClientState::Active,
                since: now,
                statement_since: None,
                transaction_since: None,
                waits_for: None,
            }),
        });
        let mut open = self.open.lock();
        let process = loop {
            let process = self.next.fetch_add(1, Ordering::Relaxed) & i32::MAX;
            if process != 0 && !open.contains_key(&process) {
                break process;
            }
        };
        open.insert(process, entry.clone());
        Key { all: self.clone(), entry, process, secret, flag }
    }

    /// Stops what that connection is doing, if the secret is right; else nothing, and nobody is told.
    pub(crate) fn cancel(&self, process: i32, secret: i32) -> bool {
        match self.open.lock().get(&process) {
            Some(open) if open.secret == secret => {
                open.interrupt();
                true
            }
            _ => false,
        }
    }

    /// Stops what all connections are doing.
    pub(crate) fn cancel_all(&self) {
        self.open.lock().values().for_each(|open| open.interrupt());
    }

    /// All that wait for their clients look what else there is.
    pub(crate) fn wake_all(&self) {
        self.open.lock().values().for_each(|open| open.look_up());
    }

    /// Connections of a role.
    pub(crate) fn of_role(&self, role: RoleId) -> usize {
        self.open.lock().values().filter(|o| o.role == role).count()
    }

    /// Microseconds since 2000-01-01 UTC.
    fn micros(&self, at: Instant) -> i64 {
        // What is before the registry was made is not asked for.
        self.micros + at.saturating_duration_since(self.instant).as_micros() as i64
    }
}

impl planaria::serving::Clients for Registry {
    fn list(&self) -> Vec<Client> {
        let mut open: Vec<(i32, Arc<Entry>)> =
            self.open.lock().iter().map(|(n, entry)| (*n, entry.clone())).collect();
        open.sort_unstable_by_key(|(number, _)| *number);
        let client = |(number, entry): (i32, Arc<Entry>)| {
            let a = entry.activity.lock();
            Client {
                number,
                role: entry.role,
                application_name: a.application_name.clone(),
                address: entry.address,
                connected: self.micros(entry.connected),
                state: a.state,
                state_since: self.micros(a.since),
                transaction_since: a.transaction_since.map(|t| self.micros(t)),
                statement_since: a.statement_since.map(|t| self.micros(t)),
                statement: a.statement.clone().unwrap_or_else(|| "".into()),
                waits_for: a.waits_for,
            }
        };
        open.into_iter().map(client).collect()
    }

    fn signal(&self, number: i32, signal: Signal) -> bool {
        let Some(entry) = self.open.lock().get(&number).cloned() else { return false };
        if signal == Signal::Terminate {
            entry.terminated.store(true, Ordering::SeqCst);
        }
        entry.interrupt();
        true
    }

    fn role(&self, number: i32) -> Option<RoleId> {
        self.open.lock().get(&number).map(|entry| entry.role)
    }
}

impl Key {
    /// A statement of this text begins.
    pub(crate) fn begins(&self, statement: &Arc<str>, now: Instant) {
        let mut a = self.entry.activity.lock();
        let same = a.statement.as_ref().is_some_and(|s| Arc::ptr_eq(s, statement));
        if !same {
            a.statement = Some(statement.clone());
        }
        if a.state != ClientState::Active {
            a.since = now;
        }
        a.state = ClientState::Active;
        a.waits_for = None;
        a.statement_since = Some(now);
        a.transaction_since.get_or_insert(now);
    }

    /// It waits for something other than a statement.
    pub(crate) fn waits(&self, event: (&'static str, &'static str)) {
        self.entry.activity.lock().waits_for = Some(event);
    }

    /// All was answered, and the client is waited for.
    pub(crate) fn rests(&self, state: ClientState) {
        let mut a = self.entry.activity.lock();
        if a.state != state {
            a.state = state;
            a.since = Instant::now();
        }
        if state == ClientState::Idle {
            a.transaction_since = None;
        }
        a.waits_for = Some(READS);
    }

    /// What it calls itself.
    pub(crate) fn named(&self, application_name: &str) {
        application_name.clone_into(&mut self.entry.activity.lock().application_name);
    }

    /// The role that logged in.
    pub(crate) fn role(&self) -> RoleId {
        self.entry.role
    }

    /// Whether somebody wants it gone.
    pub(crate) fn terminated(&self) -> bool {
        self.entry.terminated.load(Ordering::Acquire)
    }

    /// Who is to be woken when there is something to look at.
    pub(crate) fn woken_by(&self, waker: &Waker) {
        let mut rests = self.entry.rests.lock();
        if !rests.as_ref().is_some_and(|known| known.will_wake(waker)) {
            *rests = Some(waker.clone());
        }
    }

    /// Returns when its statement is to end.
    pub(crate) async fn until_cancelled(&self) {
        while !self.flag.load(Ordering::SeqCst) {
            self.entry.wake.notified().await;
        }
    }

    /// The flag that a cancel request sets is for the statement that begins now; that of one who is to go stays.
    #[inline]
    pub(crate) fn reset(&self) {
        if !self.flag.load(Ordering::Relaxed) {
            return;
        }
        // Who is sent away between the two finds the flag set again: see `Registry::signal`.
        self.flag.store(false, Ordering::SeqCst);
        if self.entry.terminated.load(Ordering::SeqCst) {
            self.flag.store(true, Ordering::SeqCst);
        }
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
    use planaria::serving::Clients;

    #[test]
    fn only_who_has_the_key_can_cancel() {
        let all = Arc::new(Registry::default());
        let key = all.open(RoleId(3), None);
        assert_eq!((all.of_role(RoleId(3)), all.of_role(RoleId(0))), (1, 0));
        assert!(!all.cancel(key.process, key.secret.wrapping_add(1)));
        assert!(!all.cancel(key.process + 1, key.secret));
        assert!(!key.flag.load(Ordering::Relaxed));
        assert!(all.cancel(key.process, key.secret));
        assert!(key.flag.load(Ordering::Relaxed));
        let (process, secret) = (key.process, key.secret);
        drop(key);
        assert!(!all.cancel(process, secret));
        assert_eq!(all.of_role(RoleId(3)), 0);
    }

    #[test]
    fn what_a_client_does_is_seen() {
        let all = Arc::new(Registry::default());
        let key = all.open(RoleId(0), None);
        key.begins(&"SELECT 1".into(), Instant::now());
        let [client] = all.list().try_into().expect("one");
        assert_eq!((client.state, &*client.statement), (ClientState::Active, "SELECT 1"));
        assert!(client.transaction_since.is_some() && client.statement_since >= Some(client.connected));
        key.rests(ClientState::Idle);
        let [client] = all.list().try_into().expect("one");
        assert_eq!((client.state, client.transaction_since), (ClientState::Idle, None));
        assert_eq!(client.waits_for, Some(READS));
    }

    #[test]
    fn who_is_to_go_is_not_forgotten_about_it() {
        let all = Arc::new(Registry::default());
        let key = all.open(RoleId(0), None);
        assert!(all.signal(key.process, Signal::Terminate) && !all.signal(key.process + 1, Signal::Cancel));
        key.reset();
        assert!(key.terminated() && key.flag.load(Ordering::Relaxed));
    }
}
