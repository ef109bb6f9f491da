//! The running log: epochs close, their records reach the disk, whoever waits hears of it.
//!
//! One thread at a time closes epochs, under the lock `closer`:
//!
//! 1. advance the clock, which ends epoch E; wait until no worker holds E open ([`crate::published`]);
//! 2. the loggers take the records up to E from the seats;
//! 3. those loggers that have records write and sync them, in parallel; an epoch without records
//!    costs no I/O;
//! 4. publish E as durable, wake who waits.
//!
//! The thread `log-clock` does this every 10 ms. A session that waits for its commit does it itself
//! if nobody is at it (so one blocking session pays one `fdatasync` and no thread switch), else it
//! sleeps until that round is over; who comes meanwhile shares the next round. So the epoch adapts to
//! the time a sync takes, and the commits of all sessions that wait go to disk together.
//!
//! An error of the device ends commits for good: what a failed `fsync` left on disk is unknown, and
//! asking again can report success for data that is gone. Everybody who waits gets the error.
//!
//! A disk that is full does not, as long as nothing was synced that counts: what could not be written stands
//! nowhere, or in part where it will be written again. Commits are refused at the door ([`WorkerLog::enter`])
//! as soon as little room is left in the segment and none is found for another, and go on when there is. What had
//! entered by then and does not fit waits: it is in memory already, so it must not be refused.

use crate::closer::{Closer, ROOM_PAUSE};
use crate::device::{Device, DeviceLock};
use crate::files::SegmentFiles;
use crate::seat::Seats;
use crate::stats::{Counters, LogStats};
use crate::waiters::{Waiter, Waiters};
use crate::worker::WorkerLog;
use crate::{Durability, Options};
use crossbeam_utils::CachePadded;
use planaria_base::clock::CommitClock;
use planaria_base::sync::thread::JoinHandle;
use planaria_base::sync::{Condvar, Instant, Mutex, OnceLock, thread};
use planaria_base::{Epoch, Error, Result, SqlState};
use planaria_storage::Process;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU64, Ordering};
use std::task::{Context, Poll};
use std::time::Duration;

/// How whoever waits for the end of an epoch does so: a round begins at once unless one is under way.
const LOOKS_AT_THE_CLOCK: u32 = 20;
const CLOCK_PAUSE: Duration = Duration::from_micros(50);

const RUNNING: u8 = 0;
/// No commit may enter; those that did are being written.
const STOPPING: u8 = 1;
const CLOSED: u8 = 2;
const FAILED: u8 = 3;
/// The disk is full: no commit may enter until there is room.
const FULL: u8 = 4;

/// The log of an open database. Dropping it writes and syncs what was committed.
pub struct Log {
    shared: Arc<Shared>,
    clock_thread: Mutex<Option<JoinHandle<()>>>,
    stopped: AtomicBool,
    /// Of a directory that nothing is written to; else the files have it.
    lock: Option<DeviceLock>,
}

/// What the log's handles share.
pub(crate) struct Shared {
    pub clock: Arc<CommitClock>,
    pub seats: Seats,
    /// Whether records are kept at all.
    pub writes: bool,
    durability: Durability,
    /// Who may write: a copy of it, made by `fork`, has the same files.
    process: Process,
    state: AtomicU8,
    /// Bytes a seat may hold before its worker waits.
    seat_bytes_max: AtomicU64,
    buffer_bytes_max: u64,
    /// How long what has entered waits for room on a full disk; `None`: as long as it takes.
    room_patience: Option<Duration>,
    failure: OnceLock<Error>,
    /// Newest epoch on disk.
    durable: CachePadded<AtomicU64>,
    /// Newest epoch that somebody who cannot close it himself waits for.
    wanted: CachePadded<AtomicU64>,
    closer: Mutex<Closer>,
    /// Rounds of closing that are over; whoever could not close waits for the next.
    rounds: Mutex<u64>,
    round_over: Condvar,
    waiters: Waiters,
    counters: Arc<Counters>,
    clock_thread: OnceLock<thread::Thread>,
    files: Option<Arc<SegmentFiles>>,
}

impl Log {
    /// Ends logging for good: memory is not what the log says, so nothing may be logged after it.
    pub fn fail(&self, error: Error) {
        self.shared.fail(error);
        self.shared.end_of_round();
    }

    /// A log that keeps nothing: commits are durable at once, epochs go on. `lock` is kept as long as
    /// the log lives.
    pub fn off(clock: Arc<CommitClock>, options: &Options, lock: Option<DeviceLock>) -> Result<Log> {
        let counters = Arc::new(Counters::default());
        let closer = Closer::new(
            Vec::new(),
            Epoch(clock.epoch().0 - 1),
            counters.clone(),
            false,
            options.wall_clock.clone(),
        )?;
        let options = Options { durability: Durability::Off, ..options.clone() };
        let mut log = Log::start(clock, options, closer, counters, None)?;
        log.lock = lock;
        Ok(log)
    }

    pub(crate) fn start(
        clock: Arc<CommitClock>,
        options: Options,
        closer: Closer,
        counters: Arc<Counters>,
        files: Option<Arc<SegmentFiles>>,
    ) -> Result<Log> {
        let shared = Arc::new(Shared {
            seats: Seats::new(),
            writes: options.durability != Durability::Off,
            durability: options.durability,
            process: Process::this(),
            state: AtomicU8::new(RUNNING),
            seat_bytes_max: AtomicU64::new(options.buffer_bytes_max),
            buffer_bytes_max: options.buffer_bytes_max,
            room_patience: if options.threads { options.room_patience } else { Some(Duration::ZERO) },
            failure: OnceLock::new(),
            durable: CachePadded::new(AtomicU64::new(clock.epoch().0 - 1)),
            wanted: CachePadded::new(AtomicU64::new(0)),
            closer: Mutex::new(closer),
            rounds: Mutex::new(0),
            round_over: Condvar::new(),
            waiters: Waiters::default(),
            counters,
            clock_thread: OnceLock::new(),
            files,
            clock,
        });
        let log = Log {
            shared: shared.clone(),
            clock_thread: Mutex::new(None),
            stopped: AtomicBool::new(false),
            lock: None,
        };
        if options.threads {
            let interval = options.epoch_interval;
            let run = move || shared.run_clock(interval);
            let thread = thread::Builder::new().name("log-clock".into()).spawn(run)?;
            let _ = log.shared.clock_thread.set(thread.thread().clone());
            *log.clock_thread.lock() = Some(thread);
        }
        Ok(log)
    }

    /// A seat for a session.
    pub fn worker(&self) -> Result<WorkerLog> {
        WorkerLog::new(self.shared.clone())
    }

    /// How commits are made durable.
    pub fn durability(&self) -> Durability {
        self.shared.durability
    }

    /// The newest epoch all of whose commits are on disk (`pepoch`).
    #[inline]
    pub fn durable_epoch(&self) -> Epoch {
        self.shared.durable()
    }

    /// Blocks until `epoch` is on disk, closing it early if need be. The caller must not be inside a
    /// commit. The error is the one that stopped the log.
    pub fn wait(&self, epoch: Epoch) -> Result<()> {
        self.shared.wait(epoch)
    }

    /// What a session does before it tells its client of a commit in `epoch`, or of a read that saw
    /// one: waits for it under `Durability::Fsync`, else not.
    #[inline]
    pub fn acknowledge(&self, epoch: Epoch) -> Result<()> {
        match self.shared.durability {
            Durability::Fsync => self.shared.wait(epoch),
            Durability::Async | Durability::Off => Ok(()),
        }
    }

    /// Calls back once `epoch` is on disk (or never will be), on the thread that learns of it first;
    /// on this one if it is settled already. The epoch is closed early. The callback must be quick and
    /// must not wait for the log.
    pub fn on_durable(&self, epoch: Epoch, callback: impl FnOnce(Result<()>) + Send + 'static) {
        self.shared.register(epoch, Waiter::Call(Box::new(callback)));
    }

    /// A future that is ready once `epoch` is on disk (or never will be).
    pub fn durable(&self, epoch: Epoch) -> Durable<'_> {
        Durable { shared: &self.shared, epoch }
    }

    /// Closes the open epoch and waits until it is on disk.
    pub fn flush(&self) -> Result<Epoch> {
        let epoch = self.shared.clock.epoch();
        self.shared.wait(epoch)?;
        Ok(epoch)
    }

    /// Returns when `epoch` has ended, which it does soon; it need not be on disk by then. Not to be called
    /// inside a commit.
    pub fn end_epoch(&self, epoch: Epoch) {
        self.shared.end_epoch(epoch);
    }

    /// The same, but for who is to wait no longer while there is no room on the disk: false.
    pub fn wait_unless(&self, epoch: Epoch, is_over: &mut dyn FnMut() -> bool) -> Result<bool> {
        self.shared.wait_unless(epoch, is_over)
    }

    /// Whether commits wait for room on the disk.
    pub fn is_full(&self) -> bool {
        self.shared.is_full()
    }

    /// The error that stopped commits, if one did.
    pub fn health(&self) -> Result<()> {
        match self.shared.failure.get() {
            Some(e) => Err(e.clone()),
            None => Ok(()),
        }
    }

    /// Ends the files that are being written: epochs not closed yet go into new ones, so that a checkpoint
    /// of the newest closed epoch lets all files before them go.
    pub fn end_segments(&self) {
        // Preallocating a segment takes a while: not while commits wait for the closer.
        if let Some(files) = &self.shared.files {
            files.await_spares();
        }
        self.shared.closer.lock().end_segments();
        // Who found the closer taken waits for the end of a round, and none has been under way.
        self.shared.end_of_round();
    }

    /// Identity of the database; `None` where nothing is written.
    pub fn database(&self) -> Option<[u8; 16]> {
        self.shared.files.as_ref().map(|files| files.database)
    }

    /// Deletes log files that a checkpoint of `epoch` makes unnecessary; returns how many.
    pub fn delete_through(&self, epoch: Epoch) -> Result<usize> {
        assert!(epoch <= self.durable_epoch(), "a checkpoint is never newer than the log");
        self.shared.files.as_ref().map_or(Ok(0), |files| files.delete_through(epoch))
    }

    /// What it has done so far.
    pub fn stats(&self) -> LogStats {
        self.shared.counters.read(self.buffered_bytes())
    }

    /// Bytes of records that wait for being written.
    pub fn buffered_bytes(&self) -> u64 {
        self.shared.seats.iter().map(|(_, seat)| seat.buffered()).sum()
    }

    /// Where the log is kept, for people; `None` if nowhere.
    pub fn device(&self) -> Option<Arc<dyn Device>> {
        self.shared.files.as_ref().map(|files| files.device.clone())
    }

    /// Ends the log: no commit can enter any more; what was committed is written and synced. The error
    /// is the one that prevented that. Dropping does the same without telling.
    pub fn shutdown(self) -> Result<()> {
        self.stop()
    }

    /// The same for one that others have a handle of, too. The directory is free when this returns.
    pub fn stop(&self) -> Result<()> {
        if self.shared.process.is_copy() {
            return Err(self.shared.stopped());
        }
        if self.stopped.swap(true, Ordering::SeqCst) {
            return Ok(());
        }
        let shared = &self.shared;
        for from in [RUNNING, FULL, RUNNING] {
            let _ = shared.state.compare_exchange(from, STOPPING, Ordering::SeqCst, Ordering::SeqCst);
        }
        if let Some(thread) = self.clock_thread.lock().take() {
            thread.thread().unpark();
            let _ = thread.join();
        }
        let mut closer = shared.closer.lock();
        let closed = self.health().and_then(|()| shared.round(&mut closer, false)).and_then(|_| {
            let last = closer.close().map_err(|e| shared.fail_at(&closer, e))?;
            Ok(shared.files.as_ref().map_or(Ok(()), |files| files.end_run(last))?)
        });
        let _ = shared.state.compare_exchange(STOPPING, CLOSED, Ordering::SeqCst, Ordering::SeqCst);
        drop(closer);
        shared.end_of_round();
        let files = shared.files.as_ref().map_or(Ok(()), |files| files.close());
        closed.and(files.map_err(Error::from))
    }
}

impl Drop for Log {
    fn drop(&mut self) {
        if self.shared.process.is_copy() {
            // Its threads are not here, and its files are not ours.
            std::mem::forget((self.shared.clone(), self.clock_thread.get_mut().take(), self.lock.take()));
            return;
        }
        // Whoever wants to know calls `shutdown`.
        let _ = self.stop();
    }
}

/// See [`Log::durable`].
pub struct Durable<'a> {
    shared: &'a Shared,
    epoch: Epoch,
}

impl Future for Durable<'_> {
    type Output = Result<()>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Result<()>> {
        if let Some(outcome) = self.shared.outcome(self.epoch) {
            return Poll::Ready(outcome);
        }
        match self.shared.register(self.epoch, Waiter::Wake(cx.waker().clone())) {
            Some(outcome) => Poll::Ready(outcome),
            None => Poll::Pending,
        }
    }
}

impl Shared {
    #[inline]
    fn durable(&self) -> Epoch {
        Epoch(self.durable.load(Ordering::Acquire))
    }

    #[inline]
    pub(crate) fn check_running(&self) -> Result<()> {
        let runs = self.state.load(Ordering::Relaxed) == RUNNING && !self.process.is_copy();
        if runs { Ok(()) } else { Err(self.stopped()) }
    }

    /// Whether this is not the process that opened the log.
    pub(crate) fn is_copy(&self) -> bool {
        self.process.is_copy()
    }

    #[inline]
    pub(crate) fn seat_bytes_max(&self) -> u64 {
        self.seat_bytes_max.load(Ordering::Relaxed)
    }

    /// Shares the bytes that may be buffered among the seats taken.
    pub(crate) fn seats_changed(&self) {
        let share = self.buffer_bytes_max / self.seats.taken().max(1) as u64;
        self.seat_bytes_max.store(share, Ordering::Relaxed);
    }

    /// Whether time goes on: commits may enter, or will.
    fn is_up(&self) -> bool {
        matches!(self.state.load(Ordering::SeqCst), RUNNING | FULL)
    }

    /// Why commits are refused.
    #[cold]
    fn stopped(&self) -> Error {
        match self.failure.get() {
            _ if self.process.is_copy() => of_another_process(),
            Some(e) => e.clone(),
            None if self.state.load(Ordering::SeqCst) == FULL => {
                let device = self.files.as_ref().map_or(String::new(), |files| files.device.describe(""));
                let message = format!("no room is left on the disk for the log in \"{device}\"");
                Error::new(SqlState::DISK_FULL, message)
                    .with_hint("Free some space. Transactions can commit again as soon as there is room.")
            }
            None => Error::new(SqlState::ADMIN_SHUTDOWN, "the database is shutting down"),
        }
    }

    /// The outcome for who waits for `epoch`, if it is known.
    fn outcome(&self, epoch: Epoch) -> Option<Result<()>> {
        if self.durable() >= epoch {
            return Some(Ok(()));
        }
        let over = matches!(self.state.load(Ordering::SeqCst), FAILED | CLOSED) || self.process.is_copy();
        over.then(|| Err(self.stopped()))
    }

    fn register(&self, epoch: Epoch, waiter: Waiter) -> Option<Result<()>> {
        let outcome = self.waiters.add(epoch, waiter, || self.outcome(epoch));
        if outcome.is_none() && self.wanted.fetch_max(epoch.0, Ordering::SeqCst) < epoch.0 {
            self.wake_clock();
        }
        outcome
    }

    /// The clock thread ends it with its next round: who ended an epoch of his own accord whenever he liked
    /// would cost a sync for each.
    fn end_epoch(&self, epoch: Epoch) {
        let mut looks = 0;
        while self.clock.epoch() <= epoch {
            if self.clock_thread.get().is_none() || !self.is_up() || self.process.is_copy() {
                self.clock.end_epoch(epoch);
                return;
            }
            if self.wanted.fetch_max(epoch.0, Ordering::SeqCst) < epoch.0 {
                self.wake_clock();
            }
            looks += 1;
            if looks < LOOKS_AT_THE_CLOCK {
                thread::yield_now();
            } else {
                thread::sleep(CLOCK_PAUSE);
            }
        }
    }

    fn wake_clock(&self) {
        if let Some(thread) = self.clock_thread.get() {
            thread.unpark();
        }
    }

    pub(crate) fn is_full(&self) -> bool {
        self.state.load(Ordering::SeqCst) == FULL
    }

    pub(crate) fn wait(&self, epoch: Epoch) -> Result<()> {
        self.wait_unless(epoch, &mut || false).map(|_| ())
    }

    /// Waits until `epoch` is on disk. Who finds it over while there is no room there waits no longer: false.
    pub(crate) fn wait_unless(&self, epoch: Epoch, is_over: &mut dyn FnMut() -> bool) -> Result<bool> {
        loop {
            if let Some(outcome) = self.outcome(epoch) {
                return outcome.map(|()| true);
            }
            if self.is_full() && is_over() {
                return Ok(false);
            }
            let seen = *self.rounds.lock();
            if let Some(mut closer) = self.closer.try_lock() {
                if let Some(outcome) = self.outcome(epoch) {
                    return outcome.map(|()| true);
                }
                let result = self.round(&mut closer, false);
                drop(closer);
                self.end_of_round();
                if !result? {
                    thread::sleep(ROOM_PAUSE);
                }
                continue;
            }
            // Whoever has the lock ends his round later than `seen` was read.
            let mut rounds = self.rounds.lock();
            while *rounds == seen && self.outcome(epoch).is_none() {
                self.round_over.wait(&mut rounds);
            }
        }
    }

    /// Closes the open epoch: whether it is on disk, or waits for room there. `idle` says that nobody asked
    /// for it. Followed by [`Shared::end_of_round`], whatever comes of it.
    fn round(&self, closer: &mut Closer, idle: bool) -> Result<bool> {
        if self.clock.epoch() >= Epoch::END {
            let message = "the database has used up its epochs";
            let hint = "Dump it, and load it into a new one.";
            return Err(self.fail(Error::new(SqlState::PROGRAM_LIMIT_EXCEEDED, message).with_hint(hint)));
        }
        let panicked = FailOnPanic(self);
        let result = closer.round(&self.clock, &self.seats, idle);
        std::mem::forget(panicked);
        match result {
            Ok(epoch) => {
                self.durable.store(epoch.0, Ordering::SeqCst);
                let was_full = self.state.load(Ordering::SeqCst) == FULL;
                self.set_full(closer.is_tight(was_full));
                Ok(true)
            }
            Err(failed) if failed.passes && self.may_wait_for_room(closer) => {
                self.set_full(true);
                Ok(false)
            }
            Err(failed) => Err(self.fail_at(closer, failed.error)),
        }
    }

    fn may_wait_for_room(&self, closer: &Closer) -> bool {
        self.is_up() && self.room_patience.is_none_or(|patience| closer.stuck_for() < patience)
    }

    /// Refuses commits as there is no room on the disk, or does so no more.
    fn set_full(&self, full: bool) {
        let (from, to) = if full { (RUNNING, FULL) } else { (FULL, RUNNING) };
        let _ = self.state.compare_exchange(from, to, Ordering::SeqCst, Ordering::SeqCst);
    }

    /// Tells who waits how the round ended; with the lock `closer` free again, so that the next round
    /// can begin meanwhile.
    fn end_of_round(&self) {
        *self.rounds.lock() += 1;
        self.round_over.notify_all();
        self.waiters.settle(self.durable(), &Ok(()));
        if let Some(Err(e)) = self.outcome(Epoch(u64::MAX)) {
            self.waiters.settle(Epoch(u64::MAX), &Err(e));
        }
        if self.wanted.load(Ordering::SeqCst) > self.durable().0 {
            // Callbacks came during the round: no session will close their epoch.
            self.wake_clock();
        }
    }

    #[cold]
    fn fail_at(&self, closer: &Closer, error: std::io::Error) -> Error {
        self.fail(Error::from(error).context(format!("writing the log {}", closer.place())))
    }

    /// Stops commits for good. Returns the first failure.
    #[cold]
    fn fail(&self, error: Error) -> Error {
        let error = self
            .failure
            .get_or_init(|| {
                error
                    .with_detail("The log could not be written. No transaction can commit any more.")
                    .with_hint(
                        "Resolve the cause, then restart the database. Acknowledged transactions are safe.",
                    )
            })
            .clone();
        self.state.store(FAILED, Ordering::SeqCst);
        error
    }

    #[cold]
    pub(crate) fn fail_after_panic(&self) {
        self.fail(Error::internal("a session panicked while it committed"));
        self.end_of_round();
    }

    fn run_clock(&self, interval: Duration) {
        let mut due = Instant::now() + interval;
        while self.is_up() {
            let now = Instant::now();
            let wanted = self.wanted.load(Ordering::SeqCst) > self.durable().0;
            if !wanted && now < due {
                thread::park_timeout(due - now);
                continue;
            }
            let mut closer = self.closer.lock();
            let mut stuck = false;
            // A session may have closed an epoch meanwhile.
            if self.wanted.load(Ordering::SeqCst) > self.durable().0
                || closer.last_round() + interval <= Instant::now()
            {
                stuck = self.round(&mut closer, !wanted) == Ok(false);
            }
            due = closer.last_round() + interval;
            drop(closer);
            self.end_of_round();
            if stuck {
                thread::sleep(ROOM_PAUSE);
            }
        }
    }
}

/// 55000, in a process that has a copy of the memory of the one that opened the database.
#[cold]
pub fn of_another_process() -> Error {
    Error::new(
        SqlState::OBJECT_NOT_IN_PREREQUISITE_STATE,
        "this process did not open the database, but was forked from the one that did",
    )
    .with_hint("Open the database after fork(), in the process that uses it, or connect to a server.")
}

/// Fails the log if a round unwinds.
struct FailOnPanic<'a>(&'a Shared);

impl Drop for FailOnPanic<'_> {
    fn drop(&mut self) {
        self.0.fail(Error::internal("the log panicked"));
        self.0.end_of_round();
    }
}
