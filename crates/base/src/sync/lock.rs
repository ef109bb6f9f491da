//! Locks and condition variables: parking_lot's, unless the thread belongs to a simulation. There is no poison.

use super::simulation::{self, On, Place, Simulation};
use std::any::type_name;
use std::ops::{Deref, DerefMut};
use std::time::Duration;

/// A lock that one thread has at a time.
#[derive(Default, Debug)]
pub struct Mutex<T: ?Sized>(parking_lot::Mutex<T>);

/// A [`Mutex`] that this thread has; given back when dropped.
pub struct MutexGuard<'a, T: ?Sized> {
    lock: &'a Mutex<T>,
    held: parking_lot::MutexGuard<'a, T>,
}

fn address<T: ?Sized>(lock: &T) -> usize {
    std::ptr::from_ref(lock).cast::<u8>().addr()
}

/// Tries until it succeeds: whoever has the lock is one that waits, as this thread is the one that runs.
fn acquire<G>(
    simulation: &dyn Simulation,
    lock: usize,
    longest: Option<Duration>,
    place: Place,
    attempt: impl Fn() -> Option<G>,
) -> Option<G> {
    simulation.point(place);
    let end = longest.map(|longest| simulation.now() + longest);
    loop {
        if let Some(held) = attempt() {
            simulation.holds(lock, place);
            return Some(held);
        }
        let left = end.map(|end| end.saturating_sub(simulation.now()));
        if left == Some(Duration::ZERO) {
            return None;
        }
        simulation.block(On::Lock(lock), left, place);
    }
}

/// Wakes who waits for a lock that is about to be free: nobody runs before it is.
fn release<T: ?Sized>(lock: &T) {
    if let Some(simulation) = simulation::current() {
        simulation.wake(On::Lock(address(lock)), true);
    }
}

impl<T> Mutex<T> {
    /// A free one.
    pub const fn new(value: T) -> Mutex<T> {
        Mutex(parking_lot::Mutex::new(value))
    }

    /// What is in it.
    pub fn into_inner(self) -> T {
        self.0.into_inner()
    }
}

impl<T: ?Sized> Mutex<T> {
    /// Waits until it is free, and takes it.
    #[inline]
    #[track_caller]
    pub fn lock(&self) -> MutexGuard<'_, T> {
        let held = match simulation::current() {
            None => self.0.lock(),
            Some(simulation) => {
                let place = Place::here("locks", type_name::<T>());
                acquire(&*simulation, address(self), None, place, || self.0.try_lock())
                    .unwrap_or_else(|| self.0.lock())
            }
        };
        MutexGuard { lock: self, held }
    }

    /// Takes it if it is free.
    #[inline]
    #[track_caller]
    pub fn try_lock(&self) -> Option<MutexGuard<'_, T>> {
        self.try_lock_for(Duration::ZERO)
    }

    /// Waits so long at most.
    #[inline]
    #[track_caller]
    pub fn try_lock_for(&self, longest: Duration) -> Option<MutexGuard<'_, T>> {
        let held = match simulation::current() {
            None if longest.is_zero() => self.0.try_lock(),
            None => self.0.try_lock_for(longest),
            Some(simulation) => {
                let place = Place::here("tries to lock", type_name::<T>());
                acquire(&*simulation, address(self), Some(longest), place, || self.0.try_lock())
            }
        };
        Some(MutexGuard { lock: self, held: held? })
    }

    /// What is in it; whoever has it alone needs no lock.
    pub fn get_mut(&mut self) -> &mut T {
        self.0.get_mut()
    }
}

impl<T: ?Sized> Deref for MutexGuard<'_, T> {
    type Target = T;
    #[inline]
    fn deref(&self) -> &T {
        &self.held
    }
}

impl<T: ?Sized> DerefMut for MutexGuard<'_, T> {
    #[inline]
    fn deref_mut(&mut self) -> &mut T {
        &mut self.held
    }
}

impl<T: ?Sized> Drop for MutexGuard<'_, T> {
    #[inline]
    fn drop(&mut self) {
        release(self.lock);
    }
}

/// Where threads wait for something that other threads bring about under a [`Mutex`].
#[derive(Default, Debug)]
pub struct Condvar(parking_lot::Condvar);

impl Condvar {
    /// One that nobody waits for.
    pub const fn new() -> Condvar {
        Condvar(parking_lot::Condvar::new())
    }

    /// Gives the lock back, waits to be notified, and takes the lock again. It may return for no reason.
    #[inline]
    #[track_caller]
    pub fn wait<T: ?Sized>(&self, guard: &mut MutexGuard<'_, T>) {
        match simulation::current() {
            None => self.0.wait(&mut guard.held),
            Some(simulation) => {
                let place = Place::here("waits with", type_name::<T>());
                self.simulated(&*simulation, guard, None, place);
            }
        }
    }

    /// The same for so long at most. Whether it was notified in time.
    #[inline]
    #[track_caller]
    pub fn wait_for<T: ?Sized>(&self, guard: &mut MutexGuard<'_, T>, longest: Duration) -> bool {
        match simulation::current() {
            None => !self.0.wait_for(&mut guard.held, longest).timed_out(),
            Some(simulation) => {
                let place = Place::here("waits for a while with", type_name::<T>());
                self.simulated(&*simulation, guard, Some(longest), place)
            }
        }
    }

    fn simulated<T: ?Sized>(
        &self,
        simulation: &dyn Simulation,
        guard: &mut MutexGuard<'_, T>,
        longest: Option<Duration>,
        place: Place,
    ) -> bool {
        let lock = address(guard.lock);
        let mutex = &guard.lock.0;
        let woken = parking_lot::MutexGuard::unlocked(&mut guard.held, || {
            simulation.wake(On::Lock(lock), true);
            let woken = simulation.block(On::Signal(address(self)), longest, place);
            // It is still free when it is taken: nobody else runs.
            while mutex.is_locked() {
                simulation.block(On::Lock(lock), None, place);
            }
            woken
        });
        simulation.holds(lock, place);
        woken
    }

    /// Wakes all that wait.
    #[inline]
    pub fn notify_all(&self) {
        match simulation::current() {
            None => drop(self.0.notify_all()),
            Some(simulation) => simulation.wake(On::Signal(address(self)), true),
        }
    }

    /// Wakes one that waits.
    #[inline]
    pub fn notify_one(&self) {
        match simulation::current() {
            None => drop(self.0.notify_one()),
            Some(simulation) => simulation.wake(On::Signal(address(self)), false),
        }
    }
}

/// A lock that one thread has to write, or several to read.
#[derive(Default, Debug)]
pub struct RwLock<T: ?Sized>(parking_lot::RwLock<T>);

/// A [`RwLock`] that this thread has to read.
pub struct RwLockReadGuard<'a, T: ?Sized> {
    lock: &'a RwLock<T>,
    held: parking_lot::RwLockReadGuard<'a, T>,
}

/// A [`RwLock`] that this thread has to write.
pub struct RwLockWriteGuard<'a, T: ?Sized> {
    lock: &'a RwLock<T>,
    held: parking_lot::RwLockWriteGuard<'a, T>,
}

impl<T> RwLock<T> {
    /// A free one.
    pub const fn new(value: T) -> RwLock<T> {
        RwLock(parking_lot::RwLock::new(value))
    }

    /// What is in it.
    pub fn into_inner(self) -> T {
        self.0.into_inner()
    }
}

impl<T: ?Sized> RwLock<T> {
    /// Waits until nobody writes.
    #[inline]
    #[track_caller]
    pub fn read(&self) -> RwLockReadGuard<'_, T> {
        let held = match simulation::current() {
            None => self.0.read(),
            Some(simulation) => {
                let place = Place::here("locks to read", type_name::<T>());
                acquire(&*simulation, address(self), None, place, || self.0.try_read())
                    .unwrap_or_else(|| self.0.read())
            }
        };
        RwLockReadGuard { lock: self, held }
    }

    /// Waits until nobody reads or writes.
    #[inline]
    #[track_caller]
    pub fn write(&self) -> RwLockWriteGuard<'_, T> {
        let held = match simulation::current() {
            None => self.0.write(),
            Some(simulation) => {
                let place = Place::here("locks to write", type_name::<T>());
                acquire(&*simulation, address(self), None, place, || self.0.try_write())
                    .unwrap_or_else(|| self.0.write())
            }
        };
        RwLockWriteGuard { lock: self, held }
    }

    /// What is in it; whoever has it alone needs no lock.
    pub fn get_mut(&mut self) -> &mut T {
        self.0.get_mut()
    }
}

impl<T: ?Sized> Deref for RwLockReadGuard<'_, T> {
    type Target = T;
    #[inline]
    fn deref(&self) -> &T {
        &self.held
    }
}

impl<T: ?Sized> Drop for RwLockReadGuard<'_, T> {
    #[inline]
    fn drop(&mut self) {
        release(self.lock);
    }
}

impl<T: ?Sized> Deref for RwLockWriteGuard<'_, T> {
    type Target = T;
    #[inline]
    fn deref(&self) -> &T {
        &self.held
    }
}

impl<T: ?Sized> DerefMut for RwLockWriteGuard<'_, T> {
    #[inline]
    fn deref_mut(&mut self) -> &mut T {
        &mut self.held
    }
}

impl<T: ?Sized> Drop for RwLockWriteGuard<'_, T> {
    #[inline]
    fn drop(&mut self) {
        release(self.lock);
    }
}
