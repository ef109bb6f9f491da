//! Wrong passwords are slowed: for each role and address there is a time before which no further proof is
//! looked at, and it doubles with each wrong one, up to [`LAST_DELAY`]. A right one forgets them all. Who is
//! somewhere else, or logs in as somebody else, notices nothing.
//!
//! It does not help to go away before the answer, nor to come by many connections: the time counts from when the
//! proof was looked at. Memory is bounded: so many pairs are known ([`DOORS_MAX`], those that failed last), and so
//! many wait ([`WAITING_MAX`]).

use crate::lobby::Origin;
use parking_lot::Mutex;
use planaria::{Error, Result, SqlState};
use std::collections::HashMap;
use std::hash::{BuildHasher, RandomState};
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::time::sleep;

const FIRST_DELAY: Duration = Duration::from_millis(100);
const LAST_DELAY: Duration = Duration::from_millis(3_200);
/// Failures that are older are forgotten.
const FORGOTTEN_AFTER: Duration = Duration::from_secs(600);
const DOORS_MAX: usize = 4_096;
/// Who may wait at one door, and at all of them.
const WAITING_AT_DOOR_MAX: usize = 16;
const WAITING_MAX: usize = 256;

/// See the module's head.
#[derive(Default)]
pub(crate) struct Throttle {
    doors: Mutex<Doors>,
    hasher: RandomState,
}

/// A role, by a hash that nobody outside can foresee, and where somebody wants to be it.
type Key = (Origin, u64);

#[derive(Default)]
struct Doors {
    all: HashMap<Key, Arc<Mutex<Door>>>,
    waiting: usize,
}

struct Door {
    /// In a row.
    failures: u32,
    last: Instant,
    /// Nobody is looked at before.
    opens: Instant,
    waiting: usize,
}

/// What came of a proof.
pub(crate) enum Tried<T> {
    Right(T),
    /// So many were wrong in a row.
    Wrong(u32),
}

/// Somebody who waits.
struct Waiting<'t>(&'t Throttle, &'t Mutex<Door>);

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        self.1.lock().waiting -= 1;
        self.0.doors.lock().waiting -= 1;
    }
}

impl Throttle {
    /// Looks at a proof when its time has come; an answer that it was wrong takes its time as well. 53300 where
    /// too many wait already. What `look` says is malformed is as wrong as any.
    pub(crate) async fn try_proof<T>(
        &self,
        origin: Origin,
        role: &str,
        look: impl FnOnce() -> Result<Option<T>>,
    ) -> Result<Tried<T>> {
        let key = (origin, self.hasher.hash_one(role));
        let door = self.door(key);
        let (mut look, mut waiting) = (Some(look), None);
        let (outcome, failures) = loop {
            let left = {
                let (mut door, now) = (door.lock(), Instant::now());
                let left = door.opens.saturating_duration_since(now);
                if left.is_zero()
                    && let Some(look) = look.take()
                {
                    let outcome = look();
                    door.tried(matches!(outcome, Ok(Some(_))), now);
                    break (outcome, door.failures);
                }
                left
            };
            if waiting.is_none() {
                waiting = Some(self.take_place(&door, role)?);
            }
            sleep(left).await;
        };
        drop(waiting);
        match outcome {
            Ok(Some(right)) => {
                self.forget(key, &door);
                Ok(Tried::Right(right))
            }
            wrong => {
                sleep(delay(failures)).await;
                wrong.map(|_| Tried::Wrong(failures))
            }
        }
    }

    fn door(&self, key: Key) -> Arc<Mutex<Door>> {
        let mut doors = self.doors.lock();
        if doors.all.len() >= DOORS_MAX && !doors.all.contains_key(&key) {
            // Where somebody is waiting there has just been somebody.
            let oldest = doors.all.iter().min_by_key(|(_, door)| door.lock().last).map(|(key, _)| *key);
            oldest.and_then(|key| doors.all.remove(&key));
        }
        doors.all.entry(key).or_insert_with(|| Arc::new(Mutex::new(Door::new(Instant::now())))).clone()
    }

    fn take_place<'t>(&'t self, door: &'t Mutex<Door>, role: &str) -> Result<Waiting<'t>> {
        let mut doors = self.doors.lock();
        let mut door_now = door.lock();
        if door_now.waiting >= WAITING_AT_DOOR_MAX || doors.waiting >= WAITING_MAX {
            let message = format!("too many attempts to log in as \"{role}\" from this address");
            return Err(Error::new(SqlState::TOO_MANY_CONNECTIONS, message)
                .with_detail("There were wrong passwords, and other logins are waiting to be checked.")
                .with_hint("Try again later."));
        }
        doors.waiting += 1;
        door_now.waiting += 1;
        Ok(Waiting(self, door))
    }

    /// A door that nobody else stands at needs no memory.
    fn forget(&self, key: Key, door: &Arc<Mutex<Door>>) {
        let mut doors = self.doors.lock();
        let known = doors.all.get(&key).is_some_and(|known| Arc::ptr_eq(known, door));
        if known && Arc::strong_count(door) == 2 {
            doors.all.remove(&key);
        }
    }
}

impl Door {
    fn new(now: Instant) -> Door {
        Door { failures: 0, last: now, opens: now, waiting: 0 }
    }

    fn tried(&mut self, right: bool, now: Instant) {
        if right || now.duration_since(self.last) >= FORGOTTEN_AFTER {
            self.failures = 0;
        }
        self.last = now;
        if !right {
            self.failures = self.failures.saturating_add(1);
        }
        self.opens = now + delay(self.failures);
    }
}

/// What the last of so many failures in a row costs.
fn delay(failures: u32) -> Duration {
    match failures {
        0 => Duration::ZERO,
        n => FIRST_DELAY.saturating_mul(1 << (n - 1).min(16)).min(LAST_DELAY),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_failure_costs_more_and_a_success_forgets_them() {
        let now = Instant::now();
        let mut door = Door::new(now);
        let costs: Vec<u128> = (0..8)
            .map(|_| {
                door.tried(false, now);
                (door.opens - now).as_millis()
            })
            .collect();
        assert_eq!(costs, [100, 200, 400, 800, 1_600, 3_200, 3_200, 3_200]);
        door.tried(true, now);
        assert_eq!((door.failures, door.opens), (0, now));
        door.tried(false, now);
        door.tried(false, now + FORGOTTEN_AFTER);
        assert_eq!(door.failures, 1);
    }

    /// Many at once are slowed like one after the other, and others are not slowed at all.
    #[tokio::test]
    async fn guesses_are_slowed_for_their_role_and_address() {
        let throttle = Arc::new(Throttle::default());
        let here: Origin = Some([127, 0, 0, 1].into());
        let there: Origin = Some([192, 0, 2, 1].into());
        let wrong = || Ok(None::<()>);
        for _ in 0..3 {
            assert!(matches!(throttle.try_proof(here, "app", wrong).await, Ok(Tried::Wrong(_))));
        }
        let began = Instant::now();
        for (origin, role) in [(there, "app"), (here, "other")] {
            let right = throttle.try_proof(origin, role, || Ok(Some(7))).await;
            assert!(matches!(right, Ok(Tried::Right(7))));
        }
        assert!(began.elapsed() < FIRST_DELAY);
        assert_eq!(throttle.doors.lock().all.len(), 1, "only failures are kept");
    }

    #[tokio::test]
    async fn so_many_may_wait_and_so_many_are_known() {
        let throttle = Arc::new(Throttle::default());
        throttle.door((None, throttle.hasher.hash_one("app"))).lock().opens += LAST_DELAY;
        let waiting: Vec<_> = (0..WAITING_AT_DOOR_MAX)
            .map(|_| {
                let throttle = throttle.clone();
                tokio::spawn(async move { throttle.try_proof(None, "app", || Ok(Some(()))).await.is_ok() })
            })
            .collect();
        tokio::task::yield_now().await;
        let refused = throttle.try_proof(None, "app", || Ok(Some(()))).await.err().expect("too many");
        assert_eq!(refused.sqlstate(), SqlState::TOO_MANY_CONNECTIONS);
        for one in waiting {
            one.abort();
            let _ = one.await;
        }
        assert_eq!(throttle.doors.lock().waiting, 0);
        for n in 0..DOORS_MAX as u64 + 10 {
            throttle.door((None, n));
        }
        assert_eq!(throttle.doors.lock().all.len(), DOORS_MAX);
    }
}
