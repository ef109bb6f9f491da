//! The thread that looks after memory: it gives back what is not needed while nothing else happens.
//!
//! Deleted rows are freed when nobody can look at them any more, by whoever works with the database then. When nobody
//! does, this thread frees them. It has forgotten what was kept for transaction blocks that have ended. When nothing has been
//! committed for a while, memory without rows in it goes back to the system; and so does what is not needed for old versions.
//! It also keeps some memory ready for rows to come (`planaria_storage::Keeper`).

use crate::engine::{Engine, memory};
use planaria_base::Result;
use planaria_base::sync::thread::{self, JoinHandle};
use planaria_base::sync::{Instant, simulation};
use planaria_storage::{Keeper, reclaim};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Weak};
use std::time::Duration;

/// How often it looks.
const EVERY: Duration = Duration::from_millis(200);

/// How often memory is made ready while a database is being recovered, which grows fast.
const RECOVERY_EVERY: Duration = Duration::from_millis(10);

/// The thread; ends when this is dropped.
pub(crate) struct Collector {
    thread: Stopping,
    /// Memory that was there from the beginning.
    _claimed: Option<planaria_storage::Claim>,
}

/// Keeps memory ready while a database is being recovered; ends when this is dropped.
pub(crate) struct ReadyMemory {
    _thread: Stopping,
}

/// A thread that ends when this is dropped.
struct Stopping {
    stopping: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Stopping {
    fn start(name: &str, run: impl FnOnce(&AtomicBool) + Send + 'static) -> Result<Stopping> {
        let stopping = Arc::new(AtomicBool::new(false));
        let stop = stopping.clone();
        let thread = thread::Builder::new().name(name.into()).spawn(move || run(&stop))?;
        Ok(Stopping { stopping, thread: Some(thread) })
    }

    fn stop(&mut self) {
        self.stopping.store(true, Ordering::SeqCst);
        if let Some(thread) = self.thread.take() {
            thread.thread().unpark();
            let _ = thread.join();
        }
    }
}

impl Drop for Stopping {
    fn drop(&mut self) {
        self.stop();
    }
}

impl ReadyMemory {
    /// Starts the thread; simulated databases do without.
    pub(crate) fn start(engine: &Arc<Engine>) -> Result<Option<ReadyMemory>> {
        if simulation::current().is_some() {
            return Ok(None);
        }
        let engine = engine.clone();
        let thread = Stopping::start("memory", move |stopping| {
            let keeper = Keeper::new();
            let stops = || stopping.load(Ordering::SeqCst);
            let mut weighed: Option<Instant> = None;
            while !stops() {
                // Adding up takes its time where there are many tables.
                if weighed.is_none_or(|last| last.elapsed() >= EVERY) {
                    engine.meter.sum(&engine.schema.load());
                    weighed = Some(Instant::now());
                }
                keeper.top_up(engine.meter.left(), stops);
                thread::park_timeout(RECOVERY_EVERY);
            }
        })?;
        Ok(Some(ReadyMemory { _thread: thread }))
    }
}

impl Collector {
    /// Starts the thread, and claims what memory is to be there. Simulated databases do without: what there is to
    /// collect is the process's.
    pub(crate) fn start(engine: &Arc<Engine>) -> Result<Option<Collector>> {
        if simulation::current().is_some() {
            return Ok(None);
        }
        let claimed = memory::claim(engine.memory_reserve)?;
        let weak = Arc::downgrade(engine);
        let thread = Stopping::start("collector", move |stopping| run(&weak, stopping))?;
        Ok(Some(Collector { thread, _claimed: claimed }))
    }
}

impl Drop for Collector {
    fn drop(&mut self) {
        self.thread.stop();
        // Nobody comes by any more; if the process has other databases, they begin with fresh memory.
        planaria_storage::free_spare();
    }
}

fn run(engine: &Weak<Engine>, stopping: &AtomicBool) {
    let keeper = Keeper::new();
    let mut seen = 0;
    // Something was committed since memory was given back.
    let mut pending = false;
    loop {
        thread::park_timeout(EVERY);
        if stopping.load(Ordering::SeqCst) {
            return;
        }
        let Some(engine) = engine.upgrade() else { return };
        engine.forget_closed();
        planaria_storage::give_back_spare();
        keeper.top_up(engine.meter.left(), || stopping.load(Ordering::SeqCst));
        let waiting = reclaim::collect();
        let commits = engine.counters.commits();
        if std::mem::replace(&mut seen, commits) != commits {
            pending = true;
        } else if pending {
            let tables = engine.schema.load_full();
            for table in tables.tables.iter() {
                table.give_back();
            }
            pending = waiting > 0;
        }
    }
}
