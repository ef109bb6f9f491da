//! One round of closing an epoch; see [`crate::log`] for its place.

use crate::logger::{EpochMark, Failed, Logger};
use crate::seat::Seats;
use crate::stats::Counters;
use planaria_base::clock::CommitClock;
use planaria_base::sync::thread::JoinHandle;
use planaria_base::sync::{Condvar, Instant, Mutex, spin_hint, thread};
use planaria_base::{Epoch, Result, WallClock};
use std::io;
use std::sync::Arc;
use std::time::Duration;

/// How long nobody must have committed before the newest epoch gets an empty one behind it.
const IDLE_MARK: Duration = Duration::from_secs(1);
/// How often it is looked for room on a full disk.
pub(crate) const ROOM_PAUSE: Duration = Duration::from_millis(50);

/// Closes epochs: owns the loggers.
pub(crate) struct Closer {
    loggers: Vec<Arc<Desk>>,
    threads: Vec<JoinHandle<()>>,
    /// The newest epoch that was written.
    prior: Epoch,
    /// When records were last written, unless an empty epoch was written since.
    unmarked_since: Option<Instant>,
    last_round: Instant,
    /// The epoch that was being written when the disk was full, and since when it waits for room. Whoever has
    /// written his part of it already has done so under this mark.
    stuck: Option<(EpochMark, Instant)>,
    /// When it was last looked for room.
    looked: Instant,
    counters: Arc<Counters>,
    failed_logger: usize,
    wall_clock: WallClock,
}

/// A logger, and what its thread is to do.
struct Desk {
    logger: Mutex<Logger>,
    task: Mutex<Task>,
    changed: Condvar,
}

enum Task {
    Nothing,
    Write(EpochMark),
    Done(Result<(), Failed>),
    Quit,
}

impl Closer {
    /// With `threads`, each logger but the first gets one; else they write one after the other.
    pub(crate) fn new(
        loggers: Vec<Logger>,
        prior: Epoch,
        counters: Arc<Counters>,
        threads: bool,
        wall_clock: WallClock,
    ) -> Result<Closer> {
        let mut closer = Closer {
            loggers: Vec::new(),
            threads: Vec::new(),
            prior,
            unmarked_since: None,
            last_round: Instant::now(),
            stuck: None,
            looked: Instant::now(),
            counters,
            failed_logger: 0,
            wall_clock,
        };
        for (i, logger) in loggers.into_iter().enumerate() {
            let task = Mutex::new(Task::Nothing);
            let desk = Arc::new(Desk { logger: Mutex::new(logger), task, changed: Condvar::new() });
            closer.loggers.push(desk.clone());
            if threads && i > 0 {
                let thread = thread::Builder::new().name(format!("log-{i}"));
                closer.threads.push(thread.spawn(move || desk.run())?);
            }
        }
        Ok(closer)
    }

    /// When the last round ended.
    pub(crate) fn last_round(&self) -> Instant {
        self.last_round
    }

    /// Where the last failure was, for people.
    pub(crate) fn place(&self) -> String {
        self.loggers.get(self.failed_logger).map_or(String::new(), |desk| desk.logger.lock().place())
    }

    /// Ends the open epoch and puts what was committed in it on disk. `idle`: this round came by the
    /// clock, so it may take the time to mark the end of the log.
    ///
    /// After a failure that passes the next round goes on with the epoch that could not be written.
    pub(crate) fn round(&mut self, clock: &CommitClock, seats: &Seats, idle: bool) -> Result<Epoch, Failed> {
        let epoch = Epoch(clock.advance().0 - 1);
        wait_for_workers(seats, epoch);
        let stride = self.loggers.len();
        for desk in &self.loggers {
            desk.logger.lock().take(seats, stride, epoch);
        }
        // More than one epoch only if one ran over its 2^24 commits, or waited for room on the disk. Each is on disk before the
        // next is written: recovery relies on it. What is still among what was taken, of a round that then found the disk full, is
        // on disk already up to `prior`.
        let mut done = self.prior;
        while let Some(next) = self.loggers.iter().filter_map(|d| d.logger.lock().next_epoch(done)).min() {
            self.write(next)?;
            self.unmarked_since = Some(Instant::now());
            done = next;
        }
        if self.loggers.iter().any(|desk| desk.logger.lock().has_taken()) {
            self.loggers.iter().for_each(|desk| desk.logger.lock().finish());
        } else if idle && self.unmarked_since.is_some_and(|t| t.elapsed() >= IDLE_MARK) {
            self.mark(epoch)?;
        }
        self.counters.epoch();
        self.last_round = Instant::now();
        Ok(epoch)
    }

    /// Writes an epoch's records on all loggers that have some.
    fn write(&mut self, epoch: Epoch) -> Result<(), Failed> {
        let has = |desk: &Arc<Desk>| desk.logger.lock().has(epoch);
        let writers: Vec<usize> = (0..self.loggers.len()).filter(|&i| has(&self.loggers[i])).collect();
        let mask = writers.iter().fold(0u64, |mask, i| mask | 1 << i);
        let again = self.stuck.filter(|(mark, _)| mark.epoch == epoch);
        let time = again.map_or_else(|| self.wall_clock.micros(), |(mark, _)| mark.time);
        let mark = EpochMark { epoch, prior: self.prior, loggers: mask, time };
        // The first writer is this thread.
        let (mine, others) = writers.split_first().expect("an epoch with records has a writer");
        let parallel = !self.threads.is_empty();
        if parallel {
            others.iter().for_each(|&i| self.loggers[i].assign(mark));
        }
        let mut result = self.loggers[*mine].logger.lock().write(mark).map_err(|e| (*mine, e));
        for &i in others {
            let desk = &self.loggers[i];
            let other = if parallel { desk.outcome() } else { desk.logger.lock().write(mark) };
            result = match (result, other) {
                // What does not pass counts more.
                (Err(first), Err(e)) if first.1.passes && !e.passes => Err((i, e)),
                (Err(first), _) => Err(first),
                (Ok(()), other) => other.map_err(|e| (i, e)),
            };
        }
        match result {
            Ok(()) => {
                self.prior = epoch;
                self.stuck = None;
                Ok(())
            }
            Err((i, failed)) => {
                self.failed_logger = i;
                self.stuck = again.or(Some((mark, Instant::now())));
                Err(failed)
            }
        }
    }

    /// How long an epoch waits already for room on the disk.
    pub(crate) fn stuck_for(&self) -> Duration {
        self.stuck.map_or(Duration::ZERO, |(_, since)| since.elapsed())
    }

    /// Whether commits are to be refused as there is no room for what they would write: `before` says whether
    /// they are. Looks for room now and then.
    pub(crate) fn is_tight(&mut self, before: bool) -> bool {
        let tight = self.loggers.iter().any(|desk| desk.logger.lock().is_tight(before));
        if tight && self.looked.elapsed() >= ROOM_PAUSE {
            self.looked = Instant::now();
            self.loggers.iter().for_each(|desk| desk.logger.lock().look_for_room());
        }
        tight
    }

    /// Writes `epoch` without records, which says of the epoch before that it is on disk: should that
    /// one ever be unreadable, it was damaged and not torn.
    fn mark(&mut self, epoch: Epoch) -> Result<(), Failed> {
        let Some(desk) = self.loggers.first() else { return Ok(()) };
        let time = self.wall_clock.micros();
        match desk.logger.lock().write(EpochMark { epoch, prior: self.prior, loggers: 1, time }) {
            // It can be done without, and what was written of it is written over.
            Err(failed) if failed.passes => return Ok(()),
            other => other?,
        }
        self.prior = epoch;
        self.unmarked_since = None;
        Ok(())
    }

    /// Ends the segments of all loggers.
    pub(crate) fn end_segments(&mut self) {
        self.loggers.iter().for_each(|desk| desk.logger.lock().end_segment());
    }

    /// The end: cuts what was preallocated. Returns the newest epoch that was written.
    pub(crate) fn close(&mut self) -> io::Result<Epoch> {
        self.loggers.iter().try_for_each(|desk| desk.logger.lock().close())?;
        Ok(self.prior)
    }
}

impl Drop for Closer {
    fn drop(&mut self) {
        for desk in &self.loggers {
            *desk.task.lock() = Task::Quit;
            desk.changed.notify_all();
        }
        for thread in self.threads.drain(..) {
            let _ = thread.join();
        }
    }
}

impl Desk {
    fn assign(&self, mark: EpochMark) {
        *self.task.lock() = Task::Write(mark);
        self.changed.notify_all();
    }

    fn outcome(&self) -> Result<(), Failed> {
        let mut task = self.task.lock();
        loop {
            if let Task::Done(_) = *task
                && let Task::Done(result) = std::mem::replace(&mut *task, Task::Nothing)
            {
                return result;
            }
            self.changed.wait(&mut task);
        }
    }

    fn run(&self) {
        let mut task = self.task.lock();
        loop {
            match *task {
                Task::Write(mark) => {
                    drop(task);
                    let write = || self.logger.lock().write(mark);
                    let result = std::panic::catch_unwind(std::panic::AssertUnwindSafe(write))
                        .unwrap_or_else(|_| Err(io::Error::other("a logger panicked").into()));
                    task = self.task.lock();
                    // `Quit` may have come meanwhile.
                    if let Task::Write(_) = *task {
                        *task = Task::Done(result);
                        self.changed.notify_all();
                    }
                }
                Task::Quit => return,
                Task::Nothing | Task::Done(_) => self.changed.wait(&mut task),
            }
        }
    }
}

/// Waits until no worker holds `epoch` or one before it open.
fn wait_for_workers(seats: &Seats, epoch: Epoch) {
    for (_, seat) in seats.iter() {
        let mut looks = 0;
        while seat.published.holds(epoch) {
            match looks {
                0..=6 => (0..1 << looks).for_each(|_| spin_hint()),
                7..=10 => thread::yield_now(),
                // Its thread does not run: let others have the processor.
                _ => thread::sleep(Duration::from_micros(20)),
            }
            looks += 1;
        }
    }
}
