//! A load on a database: sessions that submit one transaction after another, measured.
//!
//! 1. Each session has a thread, a driver and a stream of inputs of its own. More sessions than cores are
//!    *oversubscribed*: then throughput measures the system's scheduler as well, unless they spend their time waiting
//!    in transactions ([`planaria::lab::Pauses`]).
//! 2. *Closed loop*: a session submits as soon as the last call is committed in memory, with so many on the way to the
//!    disk at most. *Open loop* ([`Load::rate`]): calls have times at which they are to begin, whatever became of those
//!    before, and a latency counts from there: a session that is late has its callers wait.
//! 3. After a warm-up all begin to count at once. A call counts when it is durable, where that is asked for.
//! 4. What was done by then is told by counters of the database and of the sessions: attempts in vain by cause, operations
//!    on tables, processor time of the whole process.

use crate::forward::{Chance, one};
use hdrhistogram::Histogram;
use planaria::lab::{LabSession, Pauses};
use planaria::{Database, Error, Result, Session, SqlState, Stats, Submitted, Ticket};
use planaria_base::sync::{Instant, thread};
use planaria_workload::{Driver, Parameters, Suite};
use rustix::time::{ClockId, clock_gettime};
use serde::Serialize;
use std::collections::VecDeque;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

/// What is to be done, for how long.
#[derive(Clone)]
pub struct Load<'a> {
    /// The workload, which is installed.
    pub suite: &'a Suite,
    /// Units that are used.
    pub size: u64,
    /// Sessions, each with a thread.
    pub sessions: usize,
    /// What drivers draw.
    pub parameters: &'a Parameters,
    /// What sessions do in the midst of transactions.
    pub pauses: Pauses,
    /// Of a hundred calls, those that are not healed, whatever the scheme.
    pub unhealed: f64,
    /// Of a hundred transactions, those that are run as transaction blocks. One that cannot be serialized has failed.
    pub ad_hoc: f64,
    /// Transactions a second that are to begin; without, as many as there can be.
    pub rate: Option<f64>,
    /// Sessions beside those that are measured, each of which reads all tables again and again in one block that only reads.
    pub readers: usize,
    /// Calls that a session submits together: see [`planaria::Session::submit_all`].
    pub together: usize,
    /// Calls a session may have on the way to the disk.
    pub in_flight: usize,
    /// Whether a call counts only when it is on disk.
    pub durable: bool,
    /// Before anything counts.
    pub warmup: Duration,
    /// While it counts.
    pub time: Duration,
    /// Whether to keep what happened in each second.
    pub series: bool,
    /// Who wants to know how it goes meanwhile, several times a second.
    pub watch: Option<&'a (dyn Fn(Live) + Sync)>,
    /// Seed of the inputs.
    pub seed: u64,
}

/// How it goes, since the last time this was told.
#[derive(Clone, Copy, Debug, Default)]
pub struct Live {
    /// Of the measurement, how long it has been under way; none while it warms up.
    pub since: Option<Duration>,
    /// How long the time is that this speaks of.
    pub time: Duration,
    /// Transactions in it.
    pub transactions: u64,
    /// Their latency, on average.
    pub mean_us: f64,
    /// Attempts in vain.
    pub restarts: u64,
}

/// What happened in a second.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Second {
    /// Transactions.
    pub transactions: u64,
    /// Attempts in vain.
    pub restarts: u64,
    /// Latency, on average.
    pub mean_us: f64,
    /// The longest latency.
    pub max_us: f64,
    /// Bytes of log that were written.
    pub log_bytes: u64,
}

/// What came of it.
pub struct Measured {
    /// How long it was.
    pub seconds: f64,
    /// Sessions.
    pub sessions: usize,
    /// Latencies in nanoseconds, by transaction of the suite.
    pub latencies: Vec<Histogram<u64>>,
    /// Transactions that ended in an error.
    pub failed: u64,
    /// The first of them.
    pub first_error: Option<Error>,
    /// Operations on tables, of attempts in vain and of healing, too.
    pub table_operations: u64,
    /// Time of sessions in attempts in vain, if [`Pauses::timed`].
    pub lost_seconds: f64,
    /// Processor time of the process.
    pub cpu_seconds: f64,
    /// Of the sessions' threads alone.
    pub session_cpu_seconds: f64,
    /// Calls of an open loop that should have begun by the end, and had not.
    pub behind: u64,
    /// Seconds, if they were asked for.
    pub series: Vec<Second>,
    /// Tables that readers have read.
    pub tables_read: u64,
    /// Counters before.
    pub before: Stats,
    /// And after.
    pub after: Stats,
}

impl Measured {
    /// All latencies.
    pub fn all(&self) -> Histogram<u64> {
        let mut all = histogram();
        for one in &self.latencies {
            all.add(one).expect("they have the same bounds");
        }
        all
    }

    /// Transactions that were done.
    pub fn transactions(&self) -> u64 {
        self.latencies.iter().map(Histogram::len).sum()
    }

    /// Attempts in vain by cause, of causes that there were.
    pub fn restarts(&self) -> Vec<(&'static str, u64)> {
        let was = |cause: &str| self.before.aborts.iter().find(|(c, _)| *c == cause).map_or(0, |(_, n)| *n);
        let since = self.after.aborts.iter().map(|(cause, n)| (*cause, n - was(cause)));
        since.filter(|(_, n)| *n > 0).collect()
    }

    /// What healing took, of kinds that there were.
    pub fn healing(&self) -> Vec<(&'static str, u64)> {
        let pairs = self.after.healing.counters().into_iter().zip(self.before.healing.counters());
        pairs.map(|((what, n), (_, was))| (what, n - was)).filter(|(_, n)| *n > 0).collect()
    }

    /// The same number for each transaction.
    pub fn each(&self, n: f64) -> f64 {
        n / self.transactions().max(1) as f64
    }

    /// Attempts in vain for each transaction: the thesis's abort rate.
    pub fn restarts_each(&self) -> f64 {
        self.each(self.restarts().iter().map(|(_, n)| *n).sum::<u64>() as f64)
    }
}

/// Latencies of up to a minute, within a hundredth.
pub fn histogram() -> Histogram<u64> {
    Histogram::new_with_bounds(1, 60_000_000_000, 2).expect("the bounds are in order")
}

/// Processor time of this process, or of this thread.
pub(crate) fn cpu_seconds(of: ClockId) -> f64 {
    let time = clock_gettime(of);
    time.tv_sec as f64 + time.tv_nsec as f64 / 1e9
}

/// How the sessions stand.
#[derive(Default)]
struct Signals {
    /// When counting began.
    began: OnceLock<Instant>,
    stop: AtomicBool,
    /// Of each session, if somebody watches.
    counts: Vec<Counts>,
}

/// What a session has done, in a cache line of its own.
#[derive(Default)]
#[repr(align(128))]
struct Counts {
    transactions: AtomicU64,
    /// Sum of latencies.
    nanos: AtomicU64,
}

/// How often a watcher is told.
const TELL: Duration = Duration::from_millis(250);

/// Tells what happened since it told before.
struct Teller<'a> {
    tell: &'a (dyn Fn(Live) + Sync),
    last: (Instant, u64, u64, u64),
}

impl Teller<'_> {
    fn now(&mut self, db: &Database, signals: &Signals) {
        let sum = |of: fn(&Counts) -> &AtomicU64| -> u64 {
            signals.counts.iter().map(|c| of(c).load(Ordering::Relaxed)).sum()
        };
        let now = Instant::now();
        let (transactions, nanos) = (sum(|c| &c.transactions), sum(|c| &c.nanos));
        let restarts: u64 = db.stats().aborts.iter().map(|(_, n)| n).sum();
        let (then, had, nanos_had, restarts_had) =
            std::mem::replace(&mut self.last, (now, transactions, nanos, restarts));
        let n = transactions - had;
        (self.tell)(Live {
            since: signals.began.get().map(|began| now.saturating_duration_since(*began)),
            time: now.saturating_duration_since(then),
            transactions: n,
            mean_us: (nanos - nanos_had) as f64 / 1e3 / n.max(1) as f64,
            restarts: restarts - restarts_had,
        });
    }
}

impl Load<'_> {
    /// Runs it.
    pub fn run(&self, db: &Database) -> Result<Measured> {
        self.suite.make_ready(db, self.parameters)?;
        let counts = if self.watch.is_some() { self.sessions.max(1) } else { 0 };
        let counts = (0..counts).map(|_| Counts::default()).collect();
        let signals = Signals { counts, ..Signals::default() };
        thread::scope(|scope| {
            let signals = &signals;
            let mut teller = self.watch.map(|tell| {
                let restarts = db.stats().aborts.iter().map(|(_, n)| n).sum();
                Teller { tell, last: (Instant::now(), 0, 0, restarts) }
            });
            let workers: Vec<_> = (0..self.sessions.max(1))
                .map(|number| scope.spawn(move || self.work(db, number, signals)))
                .collect();
            let readers: Vec<_> =
                (0..self.readers).map(|_| scope.spawn(move || read_beside(db, &signals.stop))).collect();
            let mut pass = |time: Duration| {
                let until = Instant::now() + time;
                while let Some(teller) = &mut teller
                    && until.saturating_duration_since(Instant::now()) > TELL
                {
                    thread::sleep(TELL);
                    teller.now(db, signals);
                }
                thread::sleep(until.saturating_duration_since(Instant::now()));
            };
            pass(self.warmup);
            let (before, cpu) = (db.stats(), cpu_seconds(ClockId::ProcessCPUTime));
            let start = Instant::now();
            signals.began.get_or_init(|| start);
            let series = self.await_end(db, start, &before, &mut pass);
            let seconds = start.elapsed().as_secs_f64();
            let (after, cpu) = (db.stats(), cpu_seconds(ClockId::ProcessCPUTime) - cpu);
            signals.stop.store(true, Ordering::SeqCst);
            let mut measured = Measured {
                seconds,
                sessions: self.sessions.max(1),
                latencies: self.suite.transactions.iter().map(|_| histogram()).collect(),
                failed: 0,
                first_error: None,
                table_operations: 0,
                lost_seconds: 0.0,
                cpu_seconds: cpu,
                session_cpu_seconds: 0.0,
                behind: 0,
                series,
                tables_read: 0,
                before,
                after,
            };
            // All are waited for, whatever one of them says.
            let panicked = || Err(Error::new(SqlState::INTERNAL_ERROR, "a worker thread panicked"));
            let tallies: Vec<_> =
                workers.into_iter().map(|w| w.join().unwrap_or_else(|_| panicked())).collect();
            let readers: Vec<_> = readers
                .into_iter()
                .map(|r| {
                    r.join().unwrap_or_else(|_| {
                        Err(Error::new(SqlState::INTERNAL_ERROR, "a thread that reads panicked"))
                    })
                })
                .collect();
            for tally in tallies {
                tally?.add_to(&mut measured);
            }
            for tables in readers {
                measured.tables_read += tables?;
            }
            Ok(measured)
        })
    }

    /// Lets the time pass. Attempts in vain in each second, if seconds are kept.
    fn await_end(
        &self,
        db: &Database,
        start: Instant,
        before: &Stats,
        pass: &mut dyn FnMut(Duration),
    ) -> Vec<Second> {
        let mut seconds = Vec::new();
        if self.series {
            let restarts = |stats: &Stats| stats.aborts.iter().map(|(_, n)| n).sum::<u64>();
            let (mut last, mut log_bytes) = (restarts(before), before.log_bytes);
            let second = |n: usize| Duration::from_secs(n as u64 + 1);
            while second(seconds.len()) <= self.time {
                let next = second(seconds.len());
                pass(next.saturating_sub(start.elapsed()));
                let stats = db.stats();
                let now = restarts(&stats);
                let written = stats.log_bytes - log_bytes;
                seconds.push(Second { restarts: now - last, log_bytes: written, ..Second::default() });
                (last, log_bytes) = (now, stats.log_bytes);
            }
        }
        pass(self.time.saturating_sub(start.elapsed()));
        seconds
    }

    fn work(&self, db: &Database, number: usize, signals: &Signals) -> Result<Tally> {
        let mut session = db.session()?;
        let seed = self.seed.wrapping_mul(1000).wrapping_add(number as u64);
        let mut driver =
            self.suite.driver_with(&mut session, self.size, seed, number as u64, self.parameters)?;
        session.pause(self.pauses);
        let mut chance = Chance::new(seed.wrapping_mul(77));
        let counts = signals.counts.get(number);
        let mut worker = Worker {
            tally: Tally::new(self.suite),
            on_the_way: VecDeque::new(),
            began: None,
            counts,
            done: (0, 0),
        };
        let (mut operations, mut lost, mut cpu) = (0, Duration::ZERO, 0.0);
        let mut times = self.rate.map(|rate| Times::new(rate, number, self.sessions));
        let mut ended = Vec::with_capacity(self.together);
        while !signals.stop.load(Ordering::Relaxed) {
            if worker.began.is_none()
                && let Some(began) = signals.began.get()
            {
                // What was submitted before counts for nothing.
                worker.begin(*began);
                (operations, lost) = (session.table_operations(), session.time_lost());
                cpu = cpu_seconds(ClockId::ThreadCPUTime);
                times = self.rate.map(|rate| Times::new(rate, number, self.sessions));
            }
            let start = match &mut times {
                None => Instant::now(),
                Some(times) => match times.await_next(&mut worker, signals) {
                    Some(start) => start,
                    None => break,
                },
            };
            if self.unhealed > 0.0 {
                let unhealed = chance.percent() < self.unhealed;
                session.pause(Pauses { unhealed, ..self.pauses });
            }
            if self.ad_hoc > 0.0 && chance.percent() < self.ad_hoc {
                let mut noting = Noting { driver: &mut *driver, kind: 0 };
                let outcome = one(&mut session, &mut noting, true);
                ended.push((noting.kind, outcome.map(|()| None)));
            } else {
                let mut each = |kind, outcome: Result<planaria::Submitted>| {
                    ended.push((kind, outcome.map(|submitted| Some(submitted.ticket))));
                };
                if self.together > 1 {
                    driver.next_together(&mut session, self.together, &mut each);
                } else {
                    let (kind, outcome) = driver.next(&mut session);
                    each(kind, outcome);
                }
            }
            if signals.stop.load(Ordering::Relaxed) {
                // It ended too late to count.
                worker.look();
                break;
            }
            for (kind, outcome) in ended.drain(..) {
                match outcome {
                    Ok(Some(ticket)) if self.durable && !ticket.is_durable() => {
                        worker.on_the_way.push_back((kind, start, ticket));
                    }
                    Ok(_) => worker.record(kind, start),
                    Err(error) => worker.tally.fail(error, worker.began.is_some()),
                }
            }
            while worker.on_the_way.len() > self.in_flight {
                worker.on_the_way[0].2.wait()?;
                worker.look();
            }
            worker.look();
            worker.tally.table_operations = session.table_operations() - operations;
            worker.tally.lost = session.time_lost().saturating_sub(lost);
        }
        worker.tally.cpu_seconds = cpu_seconds(ClockId::ThreadCPUTime) - cpu;
        if let (Some(times), Some(_)) = (times, worker.began) {
            worker.tally.behind = times.due();
        }
        Ok(worker.tally)
    }
}

/// Reads one table after another, as of one moment, until all is over: how many.
fn read_beside(db: &Database, stop: &AtomicBool) -> Result<u64> {
    let mut session = db.session()?;
    let sql =
        "SELECT format('SELECT count(*) FROM %I', tablename) FROM pg_tables WHERE schemaname = 'public'";
    let tables: Vec<(String,)> = session.query_as(sql, ())?;
    let mut read = 0;
    session.execute_script("BEGIN TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY")?;
    for (sql,) in tables.iter().cycle() {
        if stop.load(Ordering::Relaxed) {
            break;
        }
        session.query(sql, ())?;
        read += 1;
    }
    session.execute_script("COMMIT")?;
    Ok(read)
}

/// A driver that says which transaction it was.
struct Noting<'a> {
    driver: &'a mut dyn Driver,
    kind: usize,
}

impl Driver for Noting<'_> {
    fn next(&mut self, session: &mut Session) -> (usize, Result<Submitted>) {
        let (kind, outcome) = self.driver.next(session);
        self.kind = kind;
        (kind, outcome)
    }
}

/// A session's calls on the way, and what it counts.
struct Worker<'a> {
    tally: Tally,
    on_the_way: VecDeque<(usize, Instant, Ticket)>,
    /// When it began to count.
    began: Option<Instant>,
    /// Where a watcher looks, and what stands there.
    counts: Option<&'a Counts>,
    done: (u64, u64),
}

impl Worker<'_> {
    fn begin(&mut self, began: Instant) {
        self.began = Some(began);
        self.on_the_way.clear();
    }

    /// Counts what has reached the disk.
    fn look(&mut self) {
        while self.on_the_way.front().is_some_and(|(_, _, ticket)| ticket.is_durable()) {
            if let Some((kind, start, _)) = self.on_the_way.pop_front() {
                self.record(kind, start);
            }
        }
    }

    fn record(&mut self, kind: usize, start: Instant) {
        let latency = start.elapsed();
        if let Some(counts) = self.counts {
            self.done = (self.done.0 + 1, self.done.1.saturating_add(latency.as_nanos() as u64));
            counts.transactions.store(self.done.0, Ordering::Relaxed);
            counts.nanos.store(self.done.1, Ordering::Relaxed);
        }
        let Some(began) = self.began else { return };
        let nanos = u64::try_from(latency.as_nanos()).unwrap_or(u64::MAX);
        self.tally.latencies[kind].saturating_record(nanos.max(1));
        // No third look at the clock.
        let second = (start + latency).saturating_duration_since(began).as_secs() as usize;
        if self.tally.seconds.len() <= second {
            self.tally.seconds.resize(second + 1, (0, Duration::ZERO, Duration::ZERO));
        }
        let (n, longest, sum) = &mut self.tally.seconds[second];
        *n += 1;
        *longest = latency.max(*longest);
        *sum += latency;
    }
}

/// When the calls of a session are to begin: evenly, the sessions one after the other.
struct Times {
    next: Instant,
    interval: Duration,
}

/// How often who waits for its time looks at what has reached the disk.
const LOOK: Duration = Duration::from_micros(200);

impl Times {
    fn new(rate: f64, number: usize, sessions: usize) -> Times {
        let interval = Duration::from_secs_f64(sessions as f64 / rate.max(1e-3));
        Times { next: Instant::now() + interval.mul_f64(number as f64 / sessions as f64), interval }
    }

    /// When the next one is to begin, which may be past; `None` where all stops before that.
    fn await_next(&mut self, worker: &mut Worker<'_>, signals: &Signals) -> Option<Instant> {
        let start = self.next;
        loop {
            let left = start.saturating_duration_since(Instant::now());
            if left.is_zero() {
                self.next += self.interval;
                return Some(start);
            }
            if signals.stop.load(Ordering::Relaxed) {
                return None;
            }
            worker.look();
            thread::sleep(if worker.on_the_way.is_empty() { left.min(LOOK * 50) } else { left.min(LOOK) });
        }
    }

    /// Calls that should have begun by now.
    fn due(&self) -> u64 {
        let late = Instant::now().saturating_duration_since(self.next);
        (late.as_secs_f64() / self.interval.as_secs_f64()).ceil() as u64
    }
}

/// What a session has done.
struct Tally {
    latencies: Vec<Histogram<u64>>,
    failed: u64,
    first_error: Option<Error>,
    table_operations: u64,
    lost: Duration,
    cpu_seconds: f64,
    behind: u64,
    /// Transactions of each second, the longest latency, and the sum of all.
    seconds: Vec<(u64, Duration, Duration)>,
}

impl Tally {
    fn new(suite: &Suite) -> Tally {
        Tally {
            latencies: suite.transactions.iter().map(|_| histogram()).collect(),
            failed: 0,
            first_error: None,
            table_operations: 0,
            lost: Duration::ZERO,
            cpu_seconds: 0.0,
            behind: 0,
            seconds: Vec::new(),
        }
    }

    fn fail(&mut self, error: Error, counts: bool) {
        self.failed += u64::from(counts);
        self.first_error.get_or_insert(error);
    }

    fn add_to(self, measured: &mut Measured) {
        for (all, of) in measured.latencies.iter_mut().zip(&self.latencies) {
            all.add(of).expect("they have the same bounds");
        }
        measured.failed += self.failed;
        measured.table_operations += self.table_operations;
        measured.lost_seconds += self.lost.as_secs_f64();
        measured.session_cpu_seconds += self.cpu_seconds;
        measured.behind += self.behind;
        if measured.first_error.is_none() {
            measured.first_error = self.first_error;
        }
        for (second, (n, longest, sum)) in measured.series.iter_mut().zip(self.seconds) {
            let before = second.mean_us * second.transactions as f64;
            second.transactions += n;
            second.mean_us = (before + sum.as_secs_f64() * 1e6) / second.transactions.max(1) as f64;
            second.max_us = second.max_us.max(longest.as_secs_f64() * 1e6);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A few transactions of each kind of load: what is counted is what was done.
    #[test]
    fn a_load_counts_what_is_done() {
        let suite = Suite::find("smallbank").expect("a suite");
        let db = Database::in_memory().expect("opens");
        suite.install(&db, 20).expect("installs");
        let parameters = Parameters { theta: Some(0.9), ..Parameters::default() };
        let load = Load {
            suite,
            size: 20,
            sessions: 3,
            parameters: &parameters,
            pauses: Pauses { yield_every: 2, wait: Duration::from_micros(100), ..Pauses::default() },
            unhealed: 0.0,
            ad_hoc: 0.0,
            rate: None,
            readers: 0,
            together: 1,
            in_flight: 10,
            durable: false,
            warmup: Duration::from_millis(10),
            time: Duration::from_millis(200),
            series: false,
            watch: None,
            seed: 1,
        };
        for load in [
            load.clone(),
            Load { rate: Some(1000.0), ..load.clone() },
            Load { unhealed: 50.0, ..load.clone() },
            Load { readers: 2, ..load.clone() },
            Load { watch: Some(&|live| assert!(live.time >= TELL)), time: TELL * 3, ..load.clone() },
            Load { ad_hoc: 50.0, pauses: Pauses { timed: true, ..Pauses::default() }, ..load.clone() },
        ] {
            let measured = load.run(&db).expect("runs");
            assert!(measured.transactions() > 0);
            assert!(measured.table_operations >= measured.transactions());
            assert_eq!(measured.tables_read > 0, load.readers > 0);
            assert!(measured.all().len() == measured.transactions() && measured.cpu_seconds > 0.0);
            assert!(measured.failed == 0 || load.ad_hoc > 0.0, "{:?}", measured.first_error);
        }
        assert_eq!(suite.violations(&db, true).expect("checks"), []);
    }

    #[test]
    fn who_is_late_is_told_when_it_was_to_begin() {
        let signals = Signals::default();
        let suite = Suite::find("voter").expect("a suite");
        let mut worker = Worker {
            tally: Tally::new(suite),
            on_the_way: VecDeque::new(),
            began: None,
            counts: None,
            done: (0, 0),
        };
        let mut times = Times::new(1e9, 0, 1);
        let first = times.next;
        let starts: Vec<_> = (0..10).map(|_| times.await_next(&mut worker, &signals)).collect();
        assert!((0..10).all(|i| starts[i] == Some(first + Duration::from_nanos(i as u64))));
        let mut slow = Times::new(1e-3, 1, 2);
        assert_eq!(slow.due(), 0);
        signals.stop.store(true, Ordering::SeqCst);
        assert_eq!(slow.await_next(&mut worker, &signals), None);
    }
}
