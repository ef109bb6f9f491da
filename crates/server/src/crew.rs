//! The threads that serve connections.
//!
//! All of them wait for all sockets, at one epoll ([`events`](crate::events)). The kernel wakes one for what comes, and that one
//! reads the messages, runs the statements and writes the answer:
//!
//! ```text
//!   wait --> a socket has something: its connection is polled here --> wait
//!     ^----- the bell: connections that others woke are in the queue --+
//! ```
//!
//! 1. A thread takes one event at a time: what else has come is for whoever waits beside it. So nothing lies with a
//!    thread that is busy, and none hands work to another.
//! 2. A connection that is woken by the thread it runs on (it let others go first) runs there, when no socket has
//!    anything. One that is woken from elsewhere, by the log or a clock, goes into the queue. The bell is rung if
//!    somebody sleeps and has not been called already; one thread comes for all that is there then, and calls for help only
//!    if that is much.
//! 3. Who is about to take long, or to wait for a row, says so ([`blocking`]). If too few are left, one more thread is
//!    started; it goes when it has had nothing to do for a while. Nothing else has to be done, as nothing lies with it.
//!
//! **Who sleeps is called.** A thread counts as asleep before it looks at the queue for the last time; who puts something there
//! looks afterwards whether anybody is asleep. One of them sees the other. Who takes the bell's event lets it be rung
//! again before it looks at the queue.

use crate::events::{Events, Heard};
use parking_lot::{Condvar, Mutex};
use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::future::Future;
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicIsize, AtomicU8, AtomicUsize, Ordering};
use std::task::{Context, Poll, Wake, Waker};
use std::time::{Duration, Instant};
use tokio::runtime::Handle;

/// How long a thread that there is one too many of waits for something to do.
const REST: Duration = Duration::from_secs(1);
/// So many connections in the queue are worth another thread.
const MANY: usize = 4;
/// A connection that lets others go first lets so many.
const COURTESY: u32 = 16;
/// Until threads that do not end are left behind.
const LAST_WORDS: Duration = Duration::from_secs(5);

/// See the module's head. Its threads end when it is dropped.
pub(crate) struct Crew(Arc<Shared>);

struct Shared {
    events: Arc<Events>,
    queue: Mutex<VecDeque<Arc<Task>>>,
    /// How many are in it.
    queued: AtomicUsize,
    /// Threads that wait for events, or are about to.
    asleep: AtomicUsize,
    /// The bell has been rung, and nobody has come yet.
    rung: AtomicBool,
    /// Threads that do not block, above those that there shall be.
    spare: AtomicIsize,
    stopping: AtomicBool,
    threads: Mutex<usize>,
    ended: Condvar,
    /// For timers.
    runtime: Handle,
}

const IDLE: u8 = 0;
const QUEUED: u8 = 1;
const RUNNING: u8 = 2;
/// Woken while it ran.
const AGAIN: u8 = 3;
const DONE: u8 = 4;

/// A connection.
struct Task {
    crew: Arc<Shared>,
    state: AtomicU8,
    future: Mutex<Option<Pin<Box<dyn Future<Output = ()> + Send>>>>,
}

/// What a thread of a crew has at hand.
#[derive(Default)]
struct Desk {
    crew: RefCell<Option<Arc<Shared>>>,
    /// Connections to run.
    ready: RefCell<VecDeque<Arc<Task>>>,
    /// The same, when no socket has anything.
    later: RefCell<VecDeque<Arc<Task>>>,
    blocks: Cell<bool>,
}

thread_local! {
    static DESK: Desk = Desk::default();
}

impl Crew {
    /// A crew of so many threads.
    pub(crate) fn new(threads: usize, runtime: Handle) -> io::Result<Crew> {
        let crew = Crew(Arc::new(Shared {
            events: Arc::new(Events::new()?),
            queue: Mutex::default(),
            queued: AtomicUsize::new(0),
            asleep: AtomicUsize::new(0),
            rung: AtomicBool::new(false),
            spare: AtomicIsize::new(0),
            stopping: AtomicBool::new(false),
            threads: Mutex::new(0),
            ended: Condvar::new(),
            runtime,
        }));
        for _ in 0..threads.max(1) {
            crew.0.start()?;
        }
        Ok(crew)
    }

    /// What its sockets are registered with.
    pub(crate) fn events(&self) -> &Arc<Events> {
        &self.0.events
    }

    /// Where connections are handed to it.
    pub(crate) fn door(&self) -> Door {
        Door(self.0.clone())
    }
}

/// Hands connections to a crew.
#[derive(Clone)]
pub(crate) struct Door(Arc<Shared>);

impl Door {
    /// Has a connection served.
    pub(crate) fn serve(&self, connection: impl Future<Output = ()> + Send + 'static) {
        let future = Mutex::new(Some(Box::pin(connection) as Pin<Box<dyn Future<Output = ()> + Send>>));
        let task = Task { crew: self.0.clone(), state: AtomicU8::new(QUEUED), future };
        self.0.put(Arc::new(task));
    }
}

impl Drop for Crew {
    fn drop(&mut self) {
        let crew = &self.0;
        crew.stopping.store(true, Ordering::SeqCst);
        let last = Instant::now() + LAST_WORDS;
        let mut threads = crew.threads.lock();
        while *threads > 0 && Instant::now() < last {
            crew.events.ring();
            crew.ended.wait_for(&mut threads, Duration::from_millis(5));
        }
        drop(threads);
        // Whoever is waited for by a socket or in the queue is forgotten.
        crew.events.forget_all();
        drop(std::mem::take(&mut *crew.queue.lock()));
    }
}

impl Wake for Task {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        let next = |state| match state {
            IDLE => Some(QUEUED),
            RUNNING => Some(AGAIN),
            _ => None,
        };
        if self.state.fetch_update(Ordering::AcqRel, Ordering::Acquire, next) == Ok(IDLE) {
            self.crew.woken(self.clone());
        }
    }
}

impl Task {
    /// Polls it. Not by two threads at a time: it has been taken from where it was queued.
    fn run(self: &Arc<Task>) {
        self.state.store(RUNNING, Ordering::Release);
        let waker = Waker::from(self.clone());
        let mut future = self.future.lock();
        let outcome = catch_unwind(AssertUnwindSafe(|| match future.as_mut() {
            Some(future) => future.as_mut().poll(&mut Context::from_waker(&waker)),
            None => Poll::Ready(()),
        }));
        if let Ok(Poll::Pending) = outcome {
            drop(future);
            let rests = self.state.compare_exchange(RUNNING, IDLE, Ordering::AcqRel, Ordering::Acquire);
            if rests.is_err() {
                self.state.store(QUEUED, Ordering::Release);
                DESK.with(|desk| desk.later.borrow_mut().push_back(self.clone()));
            }
            return;
        }
        self.state.store(DONE, Ordering::Release);
        let over = future.take();
        drop(future);
        if catch_unwind(AssertUnwindSafe(|| drop(over))).is_err() || outcome.is_err() {
            tracing::error!("a connection was ended by an internal error");
        }
    }
}

impl Shared {
    /// A connection is to run: here, if this is one of the threads.
    fn woken(&self, task: Arc<Task>) {
        let here = DESK.try_with(|desk| {
            let crew = desk.crew.borrow();
            crew.as_ref().is_some_and(|crew| std::ptr::eq(&**crew, self)) && !desk.blocks.get()
        });
        if here.unwrap_or(false) {
            DESK.with(|desk| desk.ready.borrow_mut().push_back(task));
        } else {
            self.put(task);
        }
    }

    /// Puts a connection into the queue, and sees to it that somebody comes.
    fn put(&self, task: Arc<Task>) {
        {
            let mut queue = self.queue.lock();
            queue.push_back(task);
            self.queued.store(queue.len(), Ordering::SeqCst);
        }
        self.call();
    }

    /// Wakes somebody who sleeps, if nobody has been called.
    fn call(&self) {
        if self.asleep.load(Ordering::SeqCst) > 0 && !self.rung.swap(true, Ordering::SeqCst) {
            self.events.ring();
        }
    }

    fn take(&self) -> Option<Arc<Task>> {
        if self.queued.load(Ordering::SeqCst) == 0 {
            return None;
        }
        let mut queue = self.queue.lock();
        let task = queue.pop_front();
        self.queued.store(queue.len(), Ordering::SeqCst);
        task
    }

    fn start(self: &Arc<Shared>) -> io::Result<()> {
        let crew = self.clone();
        *self.threads.lock() += 1;
        let started = std::thread::Builder::new().name("planaria-serve".into()).spawn(move || {
            crew.work();
            *crew.threads.lock() -= 1;
            crew.ended.notify_all();
        });
        if started.is_err() {
            *self.threads.lock() -= 1;
        }
        started.map(drop)
    }

    /// The life of a thread.
    fn work(self: &Arc<Shared>) {
        let _timers = self.runtime.enter();
        DESK.with(|desk| {
            *desk.crew.borrow_mut() = Some(self.clone());
            let mut waited = 0;
            while !self.stopping.load(Ordering::SeqCst) {
                let next = desk.ready.borrow_mut().pop_front();
                if let Some(task) = next.or_else(|| self.take()) {
                    task.run();
                    continue;
                }
                let mut later = desk.later.borrow_mut();
                let heard = if later.is_empty() {
                    drop(later);
                    self.sleep()
                } else if waited < COURTESY {
                    drop(later);
                    waited += 1;
                    self.events.hear(Some(Duration::ZERO))
                } else {
                    desk.ready.borrow_mut().append(&mut later);
                    waited = 0;
                    continue;
                };
                match heard {
                    Heard::Socket => {}
                    Heard::Bell => {
                        self.rung.store(false, Ordering::SeqCst);
                        if self.queued.load(Ordering::SeqCst) >= MANY {
                            self.call();
                        }
                    }
                    Heard::Nothing if !desk.later.borrow().is_empty() => waited = COURTESY,
                    Heard::Nothing if self.is_one_too_many() => break,
                    Heard::Nothing => {}
                }
            }
            desk.crew.borrow_mut().take();
            for task in desk.ready.take().into_iter().chain(desk.later.take()) {
                self.put(task);
            }
        });
    }

    fn sleep(&self) -> Heard {
        self.asleep.fetch_add(1, Ordering::SeqCst);
        let heard = if self.queued.load(Ordering::SeqCst) > 0 {
            Heard::Socket
        } else {
            let spare = self.spare.load(Ordering::Relaxed) > 0;
            self.events.hear(spare.then_some(REST))
        };
        self.asleep.fetch_sub(1, Ordering::SeqCst);
        heard
    }

    fn is_one_too_many(&self) -> bool {
        let less = |spare| (spare > 0).then_some(spare - 1);
        self.spare.fetch_update(Ordering::Relaxed, Ordering::Relaxed, less).is_ok()
    }
}

/// Runs what may take long, or waits. What else there is to do is done by others.
pub(crate) fn blocking<T>(f: impl FnOnce() -> T) -> T {
    /// The thread is back, also where `f` panics.
    struct Back<'c>(&'c Shared);
    impl Drop for Back<'_> {
        fn drop(&mut self) {
            self.0.spare.fetch_add(1, Ordering::Relaxed);
            DESK.with(|desk| desk.blocks.set(false));
        }
    }
    let crew = DESK.with(|desk| desk.crew.borrow().clone().filter(|_| !desk.blocks.get()));
    let Some(crew) = crew else { return f() };
    DESK.with(|desk| {
        desk.blocks.set(true);
        for task in desk.ready.take().into_iter().chain(desk.later.take()) {
            crew.put(task);
        }
    });
    if crew.spare.fetch_sub(1, Ordering::Relaxed) <= 0 {
        // Without one more those that are left do all, and what blocks here may wait for them.
        match crew.start() {
            Ok(()) => drop(crew.spare.fetch_add(1, Ordering::Relaxed)),
            Err(error) => tracing::error!("a thread could not be started: {error}"),
        }
    }
    let _back = Back(&crew);
    f()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::mpsc;

    fn crew(threads: usize) -> (Crew, tokio::runtime::Runtime) {
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(1)
            .enable_all()
            .build()
            .expect("a runtime");
        (Crew::new(threads, runtime.handle().clone()).expect("a crew"), runtime)
    }

    #[test]
    fn connections_are_served_while_all_others_block() {
        let (crew, _runtime) = crew(1);
        let (tell, told) = mpsc::channel();
        let mut ends = Vec::new();
        for i in 0..20 {
            let (end, ended) = mpsc::channel::<()>();
            let tell = tell.clone();
            crew.door().serve(async move {
                blocking(|| ended.recv().is_err());
                tell.send(i).expect("somebody who listens");
            });
            ends.push(end);
        }
        // Each waits for its own end, the last one first: so all of them are under way at a time.
        for (i, end) in ends.into_iter().enumerate().rev() {
            drop(end);
            assert_eq!(told.recv(), Ok(i));
        }
    }

    #[test]
    fn who_is_woken_from_elsewhere_runs_again() {
        let (crew, runtime) = crew(2);
        let (tell, told) = mpsc::channel();
        for _ in 0..100 {
            let (send, receive) = tokio::sync::oneshot::channel::<()>();
            let tell = tell.clone();
            crew.door().serve(async move {
                tokio::task::yield_now().await;
                receive.await.expect("a word");
                tokio::time::sleep(Duration::from_millis(1)).await;
                tell.send(()).expect("somebody who listens");
            });
            runtime.spawn(async move { send.send(()).expect("somebody who waits") });
        }
        drop(tell);
        assert_eq!(told.iter().count(), 100);
    }

    #[test]
    fn a_panic_is_one_connections_own() {
        let (crew, _runtime) = crew(1);
        let (tell, told) = mpsc::channel::<()>();
        crew.door().serve(async move {
            let _tell = tell;
            panic!("on purpose");
        });
        assert!(told.recv().is_err());
        let (tell, told) = mpsc::channel();
        crew.door().serve(async move { tell.send(()).expect("somebody who listens") });
        assert_eq!(told.recv(), Ok(()));
    }

    #[test]
    fn what_waits_is_dropped_with_the_crew() {
        let (crew, _runtime) = crew(2);
        let (socket, other) = std::os::unix::net::UnixStream::pair().expect("a pair");
        let stream = crate::stream::Stream::unix(socket, crew.events()).expect("registered");
        let (tell, told) = mpsc::channel::<()>();
        crew.door().serve(async move {
            let (_tell, mut stream) = (tell, stream);
            let _ = tokio::io::AsyncReadExt::read(&mut stream, &mut [0; 8]).await;
        });
        drop(crew);
        assert!(told.recv().is_err());
        drop(other);
    }
}
