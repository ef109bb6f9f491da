//! Forgetting the old versions that a snapshot needed which was closed, or has left their table.
//!
//! Few are forgotten by whoever closes it. Many take time, so a thread does that, one for the whole database, which
//! ends when there is nothing left to do. It rests most of the time, as transactions need the cores more: where others
//! still read a table, about as long as the snapshot was open. It holds tables, not the engine, so that a database can
//! be closed meanwhile; what is left then goes with the tables.

use planaria_base::sync::{Instant, Mutex, thread};
use planaria_protocol::Closed;
use planaria_storage::{Header, Table};
use std::cell::Cell;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// Versions that whoever closes a snapshot forgets itself.
const AT_ONCE: u64 = 2_000;
/// It rests so many times as long as it works, at most.
const REST: u32 = 9;
/// No single rest is longer.
const REST_MAX: Duration = Duration::from_millis(50);

struct Task<H: Header> {
    closed: Closed<H>,
    /// How long it may take.
    over: Duration,
}

impl<H: Header> Task<H> {
    /// Does it by and by, as long as the database has not ended.
    fn take_time(self, ended: &AtomicBool) {
        let Task { closed, over } = self;
        let began = Instant::now();
        let worked_since = Cell::new(began);
        let rest = || {
            if !ended.load(Ordering::Relaxed) {
                thread::sleep((worked_since.get().elapsed() * REST).min(REST_MAX));
            }
            worked_since.set(Instant::now());
        };
        // Of the table that is being looked through.
        let mut to_look_at: Option<(*const Table<H>, u64)> = None;
        closed.sweep_resting(&mut || rest(), &mut |table| {
            let left = table.old_versions().versions;
            let (_, all) = to_look_at.take_if(|(of, _)| std::ptr::eq(*of, table)).unwrap_or((table, left));
            to_look_at = Some((table, all));
            let done = 1.0 - left as f64 / all.max(1) as f64;
            if done > began.elapsed().as_secs_f64() / over.as_secs_f64().max(f64::MIN_POSITIVE) {
                rest();
            }
            worked_since.set(Instant::now());
            !ended.load(Ordering::Relaxed)
        });
    }
}

struct Queue<H: Header> {
    tasks: Vec<Task<H>>,
    /// There is a thread.
    running: bool,
}

/// See the module's head.
pub(super) struct Sweeper<H: Header> {
    queue: Arc<Mutex<Queue<H>>>,
    /// The database has ended.
    ended: Arc<AtomicBool>,
}

impl<H: Header> Default for Sweeper<H> {
    fn default() -> Self {
        let queue = Queue { tasks: Vec::new(), running: false };
        Sweeper { queue: Arc::new(Mutex::new(queue)), ended: Arc::default() }
    }
}

impl<H: Header> Drop for Sweeper<H> {
    fn drop(&mut self) {
        self.ended.store(true, Ordering::Relaxed);
    }
}

impl<H: Header> Sweeper<H> {
    /// Has old versions forgotten, now or `over` some time.
    pub(super) fn sweep(&self, closed: Closed<H>, over: Duration) {
        if closed.versions() <= AT_ONCE {
            return closed.sweep();
        }
        let mut queue = self.queue.lock();
        queue.tasks.iter_mut().for_each(|task| task.closed.leave_to(&closed));
        queue.tasks.push(Task { closed, over });
        if std::mem::replace(&mut queue.running, true) {
            return;
        }
        drop(queue);
        let (queue, ended) = (self.queue.clone(), self.ended.clone());
        let thread = thread::Builder::new().name("sweeper".into());
        if thread.spawn(move || work(&queue, &ended)).is_err() {
            work(&self.queue, &self.ended);
        }
    }
}

fn work<H: Header>(queue: &Mutex<Queue<H>>, ended: &AtomicBool) {
    loop {
        let mut waiting = queue.lock();
        let Some(task) = waiting.tasks.pop() else {
            waiting.running = false;
            return;
        };
        drop(waiting);
        task.take_time(ended);
    }
}
