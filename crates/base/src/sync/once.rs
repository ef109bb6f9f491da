//! Values that are made once.

use super::simulation::{self, On, Place, Simulation};
use std::sync::atomic::{AtomicBool, Ordering};

/// A value that is made once; who asks while another makes it waits.
#[derive(Debug)]
pub struct OnceLock<T> {
    value: std::sync::OnceLock<T>,
    /// In a simulation: somebody makes it.
    making: AtomicBool,
}

impl<T> Default for OnceLock<T> {
    fn default() -> OnceLock<T> {
        OnceLock::new()
    }
}

impl<T> OnceLock<T> {
    /// Not made yet.
    pub const fn new() -> OnceLock<T> {
        OnceLock { value: std::sync::OnceLock::new(), making: AtomicBool::new(false) }
    }

    /// The value, if it is made.
    #[inline]
    pub fn get(&self) -> Option<&T> {
        self.value.get()
    }

    /// Sets the value, unless there is one.
    pub fn set(&self, value: T) -> Result<(), T> {
        self.value.set(value)
    }

    /// The value, if it is made.
    pub fn into_inner(self) -> Option<T> {
        self.value.into_inner()
    }

    /// The value; makes it, if it is not made.
    #[inline]
    #[track_caller]
    pub fn get_or_init(&self, make: impl FnOnce() -> T) -> &T {
        match simulation::current() {
            None => self.value.get_or_init(make),
            Some(simulation) => {
                let place = Place::here("waits for a value of", std::any::type_name::<T>());
                self.simulated(&*simulation, place, make)
            }
        }
    }

    fn simulated(&self, simulation: &dyn Simulation, place: Place, make: impl FnOnce() -> T) -> &T {
        /// Also if it cannot be made.
        struct Made<'a>(&'a dyn Simulation, &'a AtomicBool);
        impl Drop for Made<'_> {
            fn drop(&mut self) {
                self.1.store(false, Ordering::Relaxed);
                self.0.wake(On::Lock(std::ptr::from_ref(self.1).addr()), true);
            }
        }
        while self.value.get().is_none() && self.making.load(Ordering::Relaxed) {
            simulation.block(On::Lock(std::ptr::from_ref(&self.making).addr()), None, place);
        }
        if self.value.get().is_none() {
            self.making.store(true, Ordering::Relaxed);
            let _made = Made(simulation, &self.making);
            let value = make();
            return self.value.get_or_init(|| value);
        }
        self.value.get_or_init(make)
    }
}
