//! Forgetting the old versions that a closed snapshot needed, or one that has left their table.
//!
//! Few are forgotten by whoever closes it. Many take time, so a thread does that, one for the whole database, which
//! ends when there is nothing left to do. It rests most of the time, as transactions need the cores more, but less the
//! more there is to do. It holds tables, not the engine, so that a database can be closed meanwhile: then it ends soon.

use planaria_base::sync::{Instant, Mutex, thread};
use planaria_protocol::Closed;
use planaria_storage::Header;
use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// Versions that whoever closes a snapshot forgets itself.
const AT_ONCE: u64 = 2_000;
/// With one thing to do it rests so many times as long as it works.
const REST: u32 = 9;
/// No single rest is longer.
const REST_MAX: Duration = Duration::from_millis(50);

struct Queue<H: Header> {
    tasks: VecDeque<Closed<H>>,
    /// There is a thread.
    running: bool,
}

/// See the module's head.
pub(crate) struct Sweeper<H: Header> {
    queue: Arc<Mutex<Queue<H>>>,
    /// The database has ended.
    ended: Arc<AtomicBool>,
}

impl<H: Header> Default for Sweeper<H> {
    fn default() -> Self {
        let queue = Queue { tasks: VecDeque::new(), running: false };
        Sweeper { queue: Arc::new(Mutex::new(queue)), ended: Arc::default() }
    }
}

impl<H: Header> Drop for Sweeper<H> {
    fn drop(&mut self) {
        self.ended.store(true, Ordering::Relaxed);
    }
}

impl<H: Header> Sweeper<H> {
    /// Has old versions forgotten, now or soon.
    pub(crate) fn sweep(&self, mut closed: Closed<H>) {
        if closed.versions() <= AT_ONCE {
            return closed.sweep();
        }
        let mut queue = self.queue.lock();
        queue.tasks.iter_mut().for_each(|task| task.agree(&mut closed));
        queue.tasks.push_back(closed);
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
    let mut worked_since = Instant::now();
    loop {
        let mut waiting = queue.lock();
        let Some(mut task) = waiting.tasks.pop_front() else {
            waiting.running = false;
            return;
        };
        drop(waiting);
        task.sweep_resting(&mut || {
            let ended = ended.load(Ordering::Relaxed);
            if !ended {
                let others = queue.lock().tasks.len() as u32;
                thread::sleep((worked_since.elapsed() * REST / (1 + others)).min(REST_MAX));
            }
            worked_since = Instant::now();
            !ended
        });
        // Somebody may still look at some of it. At the end of the database it is left to reclamation.
        if !task.is_done() && !ended.load(Ordering::Relaxed) {
            queue.lock().tasks.push_back(task);
            thread::sleep(REST_MAX);
            worked_since = Instant::now();
        }
    }
}
