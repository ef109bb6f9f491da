//! Threads: std's, unless the one that starts them belongs to a simulation; then they do, too.

use super::simulation::{self, On, Place, Simulation, ThreadNumber, take_part};
use std::cell::RefCell;
use std::io;
use std::sync::Arc;
use std::time::Duration;

pub use std::thread::{Result, available_parallelism, panicking};

/// A thread's number in its simulation.
#[derive(Clone)]
struct Enlisted(Arc<dyn Simulation>, ThreadNumber);

impl Enlisted {
    #[track_caller]
    fn await_end(&self) {
        let Enlisted(simulation, thread) = self;
        let place = Place::here("waits for the end of a thread", "");
        if simulation::current().is_some() {
            simulation.point(place);
            while !simulation.has_ended(*thread) {
                simulation.block(On::End(*thread), None, place);
            }
        }
    }
}

/// How a thread is to be started.
#[derive(Default, Debug)]
pub struct Builder {
    name: Option<String>,
}

impl Builder {
    /// Nothing said yet.
    pub fn new() -> Builder {
        Builder::default()
    }

    /// Its name.
    pub fn name(mut self, name: String) -> Builder {
        self.name = Some(name);
        self
    }

    fn std(&self) -> std::thread::Builder {
        let builder = std::thread::Builder::new();
        match &self.name {
            Some(name) => builder.name(name.clone()),
            None => builder,
        }
    }

    fn enlist(&self) -> Option<Enlisted> {
        let simulation = simulation::current()?;
        let thread = simulation.enlist(self.name.as_deref());
        Some(Enlisted(simulation, thread))
    }

    /// Starts it.
    #[track_caller]
    pub fn spawn<F, T>(self, f: F) -> io::Result<JoinHandle<T>>
    where
        F: FnOnce() -> T + Send + 'static,
        T: Send + 'static,
    {
        let enlisted = self.enlist();
        let started = self.std().spawn(part(enlisted.clone(), f));
        let inner = begun(started, &enlisted, Place::here("starts a thread", ""))?;
        let thread = Thread { inner: inner.thread().clone(), enlisted: enlisted.clone() };
        Ok(JoinHandle { inner, enlisted, thread })
    }
}

/// What a thread does: `f`, in its simulation if there is one.
fn part<F, T>(enlisted: Option<Enlisted>, f: F) -> impl FnOnce() -> T
where
    F: FnOnce() -> T,
{
    move || match enlisted {
        None => f(),
        Some(Enlisted(simulation, thread)) => take_part(simulation, thread, f),
    }
}

fn begun<H>(started: io::Result<H>, enlisted: &Option<Enlisted>, place: Place) -> io::Result<H> {
    if let Some(Enlisted(simulation, thread)) = enlisted {
        match &started {
            Ok(_) => simulation.point(place),
            Err(_) => simulation.end(*thread),
        }
    }
    started
}

/// Starts a thread.
#[track_caller]
pub fn spawn<F, T>(f: F) -> JoinHandle<T>
where
    F: FnOnce() -> T + Send + 'static,
    T: Send + 'static,
{
    Builder::new().spawn(f).expect("the system has another thread")
}

/// A thread that was started.
pub struct JoinHandle<T> {
    inner: std::thread::JoinHandle<T>,
    enlisted: Option<Enlisted>,
    thread: Thread,
}

impl<T> JoinHandle<T> {
    /// Waits for its end; an error is its panic.
    #[track_caller]
    pub fn join(self) -> Result<T> {
        if let Some(enlisted) = &self.enlisted {
            enlisted.await_end();
        }
        self.inner.join()
    }

    /// The thread.
    pub fn thread(&self) -> &Thread {
        &self.thread
    }
}

/// A thread, to be unparked.
#[derive(Clone)]
pub struct Thread {
    inner: std::thread::Thread,
    enlisted: Option<Enlisted>,
}

impl Thread {
    /// Lets it go on where it parks, or the next time it would.
    pub fn unpark(&self) {
        match &self.enlisted {
            None => self.inner.unpark(),
            Some(Enlisted(simulation, thread)) => simulation.wake(On::Unpark(*thread), true),
        }
    }
}

/// Waits until another thread unparks this one, and so long at most. It may return for no reason.
#[track_caller]
pub fn park_timeout(longest: Duration) {
    match simulation::current() {
        None => std::thread::park_timeout(longest),
        Some(simulation) => {
            let on = On::Unpark(simulation.running());
            simulation.block(on, Some(longest), Place::here("parks", ""));
        }
    }
}

/// Waits so long at least.
#[track_caller]
pub fn sleep(duration: Duration) {
    match simulation::current() {
        None => std::thread::sleep(duration),
        Some(simulation) => drop(simulation.block(On::Time, Some(duration), Place::here("sleeps", ""))),
    }
}

/// Lets others have the processor.
#[track_caller]
pub fn yield_now() {
    yield_at("yields");
}

/// The same at a place that a simulation knows by its name.
#[track_caller]
pub fn yield_at(what: &'static str) {
    match simulation::current() {
        None => std::thread::yield_now(),
        Some(simulation) => simulation.give_way(Place::here(what, "")),
    }
}

/// Where threads are started that end before it does; see [`scope`].
pub struct Scope<'scope, 'env: 'scope> {
    inner: &'scope std::thread::Scope<'scope, 'env>,
    started: RefCell<Vec<Enlisted>>,
}

/// Threads that may use what lives longer than the call: it returns when they have ended.
#[track_caller]
pub fn scope<'env, F, T>(f: F) -> T
where
    F: for<'scope> FnOnce(&Scope<'scope, 'env>) -> T,
{
    /// Also if `f` unwinds: std would wait for threads whose turn never comes.
    struct Ends<'a, 'scope, 'env>(&'a Scope<'scope, 'env>);
    impl Drop for Ends<'_, '_, '_> {
        fn drop(&mut self) {
            for enlisted in self.0.started.take() {
                enlisted.await_end();
            }
        }
    }
    std::thread::scope(|inner| {
        let scope = Scope { inner, started: RefCell::default() };
        let _ends = Ends(&scope);
        f(&scope)
    })
}

impl<'scope> Scope<'scope, '_> {
    /// Starts a thread.
    #[track_caller]
    pub fn spawn<F, T>(&self, f: F) -> ScopedJoinHandle<'scope, T>
    where
        F: FnOnce() -> T + Send + 'scope,
        T: Send + 'scope,
    {
        self.spawn_by(Builder::new(), f).expect("the system has another thread")
    }

    /// Starts a thread as the builder says.
    #[track_caller]
    pub fn spawn_by<F, T>(&self, builder: Builder, f: F) -> io::Result<ScopedJoinHandle<'scope, T>>
    where
        F: FnOnce() -> T + Send + 'scope,
        T: Send + 'scope,
    {
        let enlisted = builder.enlist();
        let started = builder.std().spawn_scoped(self.inner, part(enlisted.clone(), f));
        let inner = begun(started, &enlisted, Place::here("starts a thread", ""))?;
        self.started.borrow_mut().extend(enlisted.clone());
        Ok(ScopedJoinHandle { inner, enlisted })
    }
}

/// A thread that was started in a scope.
pub struct ScopedJoinHandle<'scope, T> {
    inner: std::thread::ScopedJoinHandle<'scope, T>,
    enlisted: Option<Enlisted>,
}

impl<T> ScopedJoinHandle<'_, T> {
    /// Waits for its end; an error is its panic.
    #[track_caller]
    pub fn join(self) -> Result<T> {
        if let Some(enlisted) = &self.enlisted {
            enlisted.await_end();
        }
        self.inner.join()
    }
}
