//! Forgetting the old versions that a closed snapshot needed.
//!
//! Few are forgotten by whoever closes it. Many take as long as it took to make them, so a thread does that,
//! one for the whole database, which ends when there is nothing left to do. It holds tables, not the engine: a
//! database can be closed meanwhile.

use super::snapshot::Snapshot;
use planaria_base::sync::{Mutex, thread};
use planaria_protocol::Closed;
use planaria_storage::Header;
use std::sync::Arc;

/// Versions that whoever closes a snapshot forgets itself.
const AT_ONCE: u64 = 10_000;

struct Task<H: Header> {
    closed: Closed,
    schema: Arc<Snapshot<H>>,
}

impl<H: Header> Task<H> {
    fn run(self) {
        self.closed.sweep(&self.schema.tables);
    }
}

struct Queue<H: Header> {
    tasks: Vec<Task<H>>,
    /// There is a thread.
    running: bool,
}

/// See the module's head.
pub(super) struct Sweeper<H: Header>(Arc<Mutex<Queue<H>>>);

impl<H: Header> Default for Sweeper<H> {
    fn default() -> Self {
        Sweeper(Arc::new(Mutex::new(Queue { tasks: Vec::new(), running: false })))
    }
}

impl<H: Header> Sweeper<H> {
    /// Has old versions of these tables forgotten, now or soon.
    pub(super) fn sweep(&self, closed: Closed, schema: Arc<Snapshot<H>>) {
        let task = Task { closed, schema };
        let kept: u64 = task.schema.tables.iter().map(|t| t.old_versions().versions).sum();
        if kept <= AT_ONCE {
            return task.run();
        }
        let mut queue = self.0.lock();
        // What is closed later leaves less that is needed.
        match queue.tasks.iter_mut().find(|waiting| Arc::ptr_eq(&waiting.schema, &task.schema)) {
            Some(waiting) => *waiting = task,
            None => queue.tasks.push(task),
        }
        if std::mem::replace(&mut queue.running, true) {
            return;
        }
        drop(queue);
        let tasks = self.0.clone();
        let thread = thread::Builder::new().name("sweeper".into());
        if thread.spawn(move || work(&tasks)).is_err() {
            work(&self.0);
        }
    }
}

fn work<H: Header>(queue: &Mutex<Queue<H>>) {
    loop {
        let mut waiting = queue.lock();
        let Some(task) = waiting.tasks.pop() else {
            waiting.running = false;
            return;
        };
        drop(waiting);
        task.run();
    }
}
