//! A scheduler that draws, by a seed, which thread goes on: so that a run of many threads can be repeated.
//!
//! [`run`] starts a thread that belongs to a simulation ([`planaria_base::sync::simulation`]), as do all that it
//! starts by [`planaria_base::sync::thread`]. They are the system's, but only one of them runs.
//!
//! 1. At each *point* (a lock is taken, a thread is started or waited for, somebody spins or yields or sleeps, the
//!    simulated disk is asked for something, a commit goes on to its next step) chance says which of those that can
//!    go on does: as a *random walk*, or by *priorities* that change at random points, which finds what takes few
//!    changes of threads in the wrong places far more often (PCT: S. Burckhardt, P. Kothari, M. Musuvathi,
//!    S. Nagarakatte, *A Randomized Scheduler with Probabilistic Guarantees of Finding Bugs*, ASPLOS 2010). Different
//!    from there: the number of points is not known, so changes come at random distances, and who spins gives its
//!    priority up, as what it waits for would never come.
//! 2. Time is the simulation's. A point takes a microsecond or so; when all wait, the clock goes to the first that
//!    waits for time; now and then it goes there though others could run, as if these had lost their processors.
//! 3. If all wait and nobody for time, that is a *deadlock*; it is reported who waits for what, and who has it.
//! 4. All that happens is added to a hash, the *trace*: equal ones are equal runs.
//!
//! Between two points a thread is alone. So what atomics do among each other is not seen here; loom is for those.

use crate::dice::Dice;
use planaria_base::sync::simulation::{On, Place, Simulation, ThreadNumber, take_part};
use std::cell::RefCell;
use std::collections::{HashMap, VecDeque};
use std::fmt;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::{Arc, Condvar, Mutex, MutexGuard};
use std::time::Duration;

/// How a run is done.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// All that is chance.
    pub seed: u64,
    /// A run that has not ended after so many points never will.
    pub points_max: u64,
    /// How many of the newest events are kept.
    pub events_kept: usize,
    /// Threads run beside each other in virtual time, in place of one after the other by chance.
    pub prices: Option<Prices>,
}

/// What a point costs in virtual time: how long the thread was at work since its last one. Each thread has a clock of
/// its own, and the earliest runs; so as many threads work at the same time as there are, each on a core that is its own.
/// Who waits for another goes on at the time at which that one woke it.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Prices {
    /// Of a lookup of a row.
    pub gets: Duration,
    /// Of reading a row again.
    pub loads: Duration,
    /// Of a row that a scan meets.
    pub scans: Duration,
    /// Of a row that is put in, with what commit does for it.
    pub inserts: Duration,
    /// The same of one that is changed.
    pub updates: Duration,
    /// The same of one that is deleted.
    pub deletes: Duration,
    /// Of a commit that draws its place in the order, with the call that it ends.
    pub draws: Duration,
    /// Of giving way without having done any of this.
    pub yields: Duration,
    /// Of a turn of a loop that waits for another thread.
    pub spins: Duration,
    /// Of any other.
    pub others: Duration,
}

impl Prices {
    /// All of them so many times as much.
    pub fn times(self, factor: f64) -> Prices {
        let all = [
            self.gets,
            self.loads,
            self.scans,
            self.inserts,
            self.updates,
            self.deletes,
            self.draws,
            self.yields,
            self.spins,
            self.others,
        ];
        let [gets, loads, scans, inserts, updates, deletes, draws, yields, spins, others] =
            all.map(|price| price.mul_f64(factor));
        Prices { gets, loads, scans, inserts, updates, deletes, draws, yields, spins, others }
    }

    fn of(&self, place: Place) -> u64 {
        let price = match place.what {
            "gets" => self.gets,
            "loads" => self.loads,
            "scans" => self.scans,
            "inserts" => self.inserts,
            "updates" => self.updates,
            "deletes" => self.deletes,
            "has drawn its timestamp" => self.draws,
            "yields" => self.yields,
            "spins" => self.spins,
            _ => self.others,
        };
        price.as_nanos() as u64
    }
}

impl Options {
    /// With so much room that nothing that ends reaches it.
    pub fn of_seed(seed: u64) -> Options {
        Options { seed, points_max: 20_000_000, events_kept: 40, prices: None }
    }
}

/// A run that ended.
#[derive(Debug)]
pub struct Outcome<T> {
    /// What the first thread came to; an error is its panic.
    pub value: std::thread::Result<T>,
    /// Equal for equal runs.
    pub trace: u64,
    /// Points.
    pub points: u64,
    /// Points at which another thread went on.
    pub switches: u64,
    /// Threads.
    pub threads: u32,
    /// The time that went by, for them.
    pub time: Duration,
    /// The newest events.
    pub events: Vec<Event>,
}

/// A run that never ends. Its threads stay where they are.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Stuck {
    /// Why.
    pub why: Why,
    /// Who waits for what, and what happened last.
    pub report: String,
}

/// Why a run never ends.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Why {
    /// All wait for each other.
    Deadlock,
    /// It has come to so many points.
    Points,
    /// A thread comes to no point any more: it waits for something that the simulation does not know.
    Silence,
}

impl fmt::Display for Stuck {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self.why {
            Why::Deadlock => "deadlock",
            Why::Points => "no end",
            Why::Silence => "a thread comes to no switch point",
        })?;
        write!(f, " {}", self.report)
    }
}

/// Something that happened.
#[derive(Clone, Copy, Debug)]
pub struct Event {
    /// Who did it.
    pub thread: ThreadNumber,
    /// When.
    pub at: Duration,
    /// What it was.
    pub what: What,
}

/// What an event is.
#[derive(Clone, Copy, Debug)]
pub enum What {
    /// The thread came to a point.
    Point(Place),
    /// A hash of what else must be the same.
    Note(u64),
}

impl fmt::Display for Event {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:>10.3} us  {:>2}  ", self.at.as_nanos() as f64 / 1000.0, self.thread)?;
        match self.what {
            What::Point(place) => place.fmt(f),
            What::Note(hash) => write!(f, "# {hash:016x}"),
        }
    }
}

/// Who goes on.
enum Policy {
    /// The same one, so many times in a hundred; else any.
    Walk { stays: u64 },
    /// The one with the highest priority; at the next change it loses it.
    Priorities { distance: u64, next_change: u64, lowest: i64 },
    /// The one whose clock is the earliest, of those the first.
    Earliest(Prices),
}

impl Policy {
    fn draw(dice: &mut Dice) -> Policy {
        if dice.chance(50) {
            return Policy::Walk { stays: dice.of(&[0, 50, 80, 95, 99]) };
        }
        let distance = dice.of(&[20, 100, 500, 3000]);
        Policy::Priorities { distance, next_change: dice.below(distance), lowest: 0 }
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Status {
    Ready,
    Blocked(On),
    Ended,
}

struct Thread {
    name: Option<String>,
    status: Status,
    /// When it goes on at the latest, in nanoseconds.
    until: Option<u64>,
    woken: bool,
    /// It was unparked and has not parked since.
    unparked: bool,
    priority: i64,
    /// Its own time, in nanoseconds, where each has one.
    clock: u64,
    place: Option<Place>,
    turn: Arc<Condvar>,
}

struct State {
    threads: Vec<Thread>,
    /// The one that runs; nobody after the end.
    running: Option<ThreadNumber>,
    policy: Policy,
    dice: Dice,
    /// Once in so many points the clock runs ahead; never with 0.
    jumps: u64,
    nanoseconds: u64,
    points: u64,
    switches: u64,
    trace: u64,
    events: VecDeque<Event>,
    holders: HashMap<usize, (ThreadNumber, Place)>,
    over: bool,
    stuck: Option<Stuck>,
    options: Options,
}

/// A simulation, and what the caller of [`run`] waits for.
struct Scheduler {
    state: Mutex<State>,
    over: Condvar,
}

/// How long a thread may be without a point, in seconds, for those who wait outside. A machine with much else to do may
/// stand still for a minute.
const SILENCE: u32 = 600;

const FOR_EVER: Duration = Duration::from_secs(100 * 365 * 86400);

/// What a process has once, reclamation and the pools of nodes, would let runs beside each other feel each other.
static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());

thread_local! {
    /// The simulation whose first thread this is.
    static FIRST_OF: RefCell<Option<Arc<Scheduler>>> = const { RefCell::new(None) };
}

/// From now on points have other prices. Only the first thread of a run in virtual time can say so; elsewhere nothing happens.
pub fn reprice(prices: Prices) {
    FIRST_OF.with_borrow(|scheduler| {
        let Some(scheduler) = scheduler else { return };
        let policy = &mut scheduler.state().policy;
        if matches!(policy, Policy::Earliest(_)) {
            *policy = Policy::Earliest(prices);
        }
    });
}

/// Runs `f`, and the threads that it starts, to the end of all of them; after any other run of this process.
pub fn run<T: Send + 'static>(
    options: Options,
    f: impl FnOnce() -> T + Send + 'static,
) -> Result<Outcome<T>, Stuck> {
    let _alone = ONE_AT_A_TIME.lock().unwrap_or_else(|e| e.into_inner());
    let scheduler = Arc::new(Scheduler::new(options));
    let first = scheduler.enlist(Some("first"));
    scheduler.state().running = Some(first);
    let simulation = scheduler.clone();
    let thread = std::thread::spawn(move || {
        FIRST_OF.set(Some(simulation.clone()));
        take_part(simulation, first, f)
    });
    scheduler.await_end()?;
    let value = thread.join();
    let state = scheduler.state();
    Ok(Outcome {
        value,
        trace: state.trace,
        points: state.points,
        switches: state.switches,
        threads: state.threads.len() as u32,
        time: Duration::from_nanos(state.nanoseconds),
        events: state.events.iter().copied().collect(),
    })
}

impl Scheduler {
    fn new(options: Options) -> Scheduler {
        let mut dice = Dice::new(options.seed, 0x5c);
        let state = State {
            threads: Vec::new(),
            running: None,
            policy: options.prices.map_or_else(|| Policy::draw(&mut dice), Policy::Earliest),
            jumps: if options.prices.is_some() { 0 } else { dice.of(&[0, 0, 100, 1000]) },
            dice,
            nanoseconds: 0,
            points: 0,
            switches: 0,
            trace: 0,
            events: VecDeque::new(),
            holders: HashMap::new(),
            over: false,
            stuck: None,
            options,
        };
        Scheduler { state: Mutex::new(state), over: Condvar::new() }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(|e| e.into_inner())
    }

    fn await_end(&self) -> Result<(), Stuck> {
        let (mut state, mut seen, mut silent) = (self.state(), 0, 0);
        while !state.over {
            let waited = self.over.wait_timeout(state, Duration::from_secs(1));
            state = waited.unwrap_or_else(|e| e.into_inner()).0;
            silent = if state.points == seen { silent + 1 } else { 0 };
            seen = state.points;
            if silent == SILENCE && !state.over {
                state.give_up(Why::Silence);
            }
        }
        state.stuck.clone().map_or(Ok(()), Err)
    }

    /// Lets the thread go on that is chosen, and waits until that is this one again.
    fn hand_over(&self, mut state: MutexGuard<'_, State>, me: ThreadNumber, gives_way: bool) {
        state.choose(gives_way);
        if state.running == Some(me) {
            return;
        }
        self.go_on(&state);
        self.await_turn(state, me);
    }

    fn go_on(&self, state: &State) {
        match state.running {
            Some(next) => state.threads[next as usize].turn.notify_one(),
            None => self.over.notify_all(),
        }
    }

    fn await_turn(&self, mut state: MutexGuard<'_, State>, me: ThreadNumber) {
        let turn = state.threads[me as usize].turn.clone();
        while state.running != Some(me) {
            state = turn.wait(state).unwrap_or_else(|e| e.into_inner());
        }
    }
}

impl State {
    fn me(&self) -> ThreadNumber {
        self.running.expect("a thread of the simulation runs")
    }

    fn add(&mut self, what: What) {
        let event = Event { thread: self.me(), at: Duration::from_nanos(self.nanoseconds), what };
        let mut hash = DefaultHasher::new();
        (self.trace, event.thread, self.nanoseconds).hash(&mut hash);
        match what {
            What::Point(place) => (place.what, place.at.file(), place.at.line()).hash(&mut hash),
            What::Note(note) => note.hash(&mut hash),
        }
        self.trace = hash.finish();
        if self.events.len() >= self.options.events_kept {
            self.events.pop_front();
        }
        self.events.push_back(event);
    }

    /// The thread that runs has come to a point.
    fn come_to(&mut self, place: Place) {
        self.points += 1;
        let me = self.me();
        self.nanoseconds += match &self.policy {
            Policy::Earliest(prices) => prices.of(place),
            _ => 200 + self.dice.below(2000),
        };
        self.threads[me as usize].clock = self.nanoseconds;
        self.add(What::Point(place));
        self.threads[me as usize].place = Some(place);
    }

    fn ready(&self) -> impl Iterator<Item = ThreadNumber> {
        let ready = |(_, t): &(usize, &Thread)| t.status == Status::Ready;
        self.threads.iter().enumerate().filter(ready).map(|(n, _)| n as ThreadNumber)
    }

    /// Wakes those whose time has come.
    fn look_at_the_clock(&mut self) {
        for thread in &mut self.threads {
            if thread.until.is_some_and(|until| until <= self.nanoseconds) {
                (thread.status, thread.until, thread.woken) = (Status::Ready, None, false);
            }
        }
    }

    fn first_time(&self) -> Option<u64> {
        self.threads.iter().filter_map(|t| t.until).min()
    }

    /// Says who runs. `gives_way`: rather not the one that does.
    fn choose(&mut self, gives_way: bool) {
        if self.points >= self.options.points_max {
            return self.give_up(Why::Points);
        }
        if matches!(self.policy, Policy::Earliest(_)) {
            return self.choose_earliest();
        }
        if self.jumps > 0 && self.dice.below(self.jumps) == 0 {
            self.nanoseconds = self.first_time().map_or(self.nanoseconds, |t| t.max(self.nanoseconds));
        }
        self.look_at_the_clock();
        if self.ready().next().is_none() {
            if self.threads.iter().all(|t| t.status == Status::Ended) {
                (self.running, self.over) = (None, true);
                return;
            }
            let Some(time) = self.first_time() else { return self.give_up(Why::Deadlock) };
            self.nanoseconds = self.nanoseconds.max(time);
            self.look_at_the_clock();
        }
        let me = self.me();
        let ready: Vec<_> = self.ready().collect();
        let others: Vec<_> = ready.iter().copied().filter(|t| *t != me).collect();
        let stays = ready.len() > others.len();
        let next = match (&mut self.policy, &others[..]) {
            // Where each has a clock, that has said it already.
            (_, []) | (Policy::Earliest(_), _) => me,
            (Policy::Walk { stays: percent }, _) => match stays && !gives_way {
                true if self.dice.chance(*percent) => me,
                true => self.dice.of(&ready),
                false => self.dice.of(&others),
            },
            (Policy::Priorities { distance, next_change, lowest }, _) => {
                if stays && (gives_way || self.points >= *next_change) {
                    *lowest -= 1;
                    self.threads[me as usize].priority = *lowest;
                    if !gives_way {
                        *next_change = self.points + 1 + self.dice.below(2 * *distance);
                    }
                }
                match self.dice.below(2000) {
                    // So that nobody waits for ever.
                    0 => self.dice.of(&ready),
                    _ => {
                        ready.iter().copied().max_by_key(|t| self.threads[*t as usize].priority).unwrap_or(me)
                    }
                }
            }
        };
        self.switches += u64::from(next != me);
        self.running = Some(next);
    }

    /// The same where each has a clock: those whose time comes before the earliest is ready are woken at it.
    fn choose_earliest(&mut self) {
        let ready = |t: &Thread| if t.status == Status::Ready { Some(t.clock) } else { t.until };
        let times = self.threads.iter().enumerate().filter_map(|(n, t)| Some((ready(t)?, n)));
        let Some((time, next)) = times.min() else {
            if self.threads.iter().all(|t| t.status == Status::Ended) {
                (self.running, self.over) = (None, true);
                return;
            }
            return self.give_up(Why::Deadlock);
        };
        let thread = &mut self.threads[next];
        if thread.status != Status::Ready {
            (thread.status, thread.until, thread.woken, thread.clock) = (Status::Ready, None, false, time);
        }
        self.nanoseconds = time;
        self.switches += u64::from(self.running != Some(next as ThreadNumber));
        self.running = Some(next as ThreadNumber);
    }

    fn wake(&mut self, on: On, all: bool) {
        let now = self.nanoseconds;
        let mut waiting: Vec<usize> =
            (0..self.threads.len()).filter(|t| self.threads[*t].status == Status::Blocked(on)).collect();
        if !all && waiting.len() > 1 {
            waiting = vec![self.dice.of(&waiting)];
        }
        for thread in waiting {
            let thread = &mut self.threads[thread];
            (thread.status, thread.until, thread.woken) = (Status::Ready, None, true);
            thread.clock = thread.clock.max(now);
        }
    }

    fn name(&self, thread: ThreadNumber) -> String {
        match &self.threads[thread as usize].name {
            Some(name) => format!("{thread} ({name})"),
            None => thread.to_string(),
        }
    }

    /// Ends the run; the threads stay where they are.
    fn give_up(&mut self, why: Why) {
        let time = Duration::from_nanos(self.nanoseconds);
        let mut report = format!("after {} points, {time:?}", self.points);
        for (number, thread) in self.threads.iter().enumerate().filter(|(_, t)| t.status != Status::Ended) {
            report += &format!("\n  thread {}", self.name(number as ThreadNumber));
            if let Some(place) = thread.place {
                report += &format!(": {place}");
            }
            match thread.status {
                Status::Blocked(On::Lock(lock)) => {
                    if let Some((holder, place)) = self.holders.get(&lock) {
                        report += &format!("; thread {} has it, which {place}", self.name(*holder));
                    }
                }
                Status::Blocked(On::End(other)) => report += &format!("; thread {}", self.name(other)),
                Status::Ready => report += "; it could go on",
                _ => {}
            }
        }
        report += "\n  what happened last:";
        for event in &self.events {
            report += &format!("\n    {event}");
        }
        self.stuck = Some(Stuck { why, report });
        (self.running, self.over) = (None, true);
    }
}

impl Simulation for Scheduler {
    fn point(&self, place: Place) {
        let mut state = self.state();
        state.come_to(place);
        let me = state.me();
        self.hand_over(state, me, false);
    }

    fn give_way(&self, place: Place) {
        let mut state = self.state();
        state.come_to(place);
        let me = state.me();
        self.hand_over(state, me, true);
    }

    fn block(&self, on: On, longest: Option<Duration>, place: Place) -> bool {
        let mut state = self.state();
        state.come_to(place);
        let me = state.me();
        // What is longer than a century is for ever.
        let until = longest.filter(|l| *l < FOR_EVER).map(|l| state.nanoseconds + l.as_nanos() as u64);
        let thread = &mut state.threads[me as usize];
        if matches!(on, On::Unpark(_)) && std::mem::take(&mut thread.unparked) {
            thread.woken = true;
        } else {
            (thread.status, thread.until, thread.woken) = (Status::Blocked(on), until, false);
        }
        self.hand_over(state, me, false);
        self.state().threads[me as usize].woken
    }

    fn wake(&self, on: On, all: bool) {
        let mut state = self.state();
        match on {
            On::Lock(lock) => drop(state.holders.remove(&lock)),
            On::Unpark(thread) => {
                let thread = &mut state.threads[thread as usize];
                thread.unparked = thread.status != Status::Blocked(on);
            }
            _ => {}
        }
        state.wake(on, all);
    }

    fn holds(&self, lock: usize, place: Place) {
        let mut state = self.state();
        let me = state.me();
        state.holders.insert(lock, (me, place));
    }

    fn now(&self) -> Duration {
        Duration::from_nanos(self.state().nanoseconds)
    }

    fn draw(&self) -> u64 {
        self.state().dice.draw()
    }

    fn note(&self, what: u64) {
        self.state().add(What::Note(what));
    }

    fn enlist(&self, name: Option<&str>) -> ThreadNumber {
        let mut state = self.state();
        let number = state.threads.len() as ThreadNumber;
        let priority = 1 + state.dice.below(1 << 20) as i64;
        let clock = state.nanoseconds;
        state.threads.push(Thread {
            name: name.map(str::to_owned),
            status: Status::Ready,
            until: None,
            woken: false,
            unparked: false,
            priority,
            clock,
            place: None,
            turn: Arc::default(),
        });
        number
    }

    fn begin(&self, thread: ThreadNumber) {
        self.await_turn(self.state(), thread);
    }

    fn end(&self, thread: ThreadNumber) {
        let mut state = self.state();
        state.threads[thread as usize].status = Status::Ended;
        state.wake(On::End(thread), true);
        if state.running == Some(thread) {
            state.choose(true);
            self.go_on(&state);
        }
    }

    fn has_ended(&self, thread: ThreadNumber) -> bool {
        self.state().threads[thread as usize].status == Status::Ended
    }

    fn running(&self) -> ThreadNumber {
        self.state().me()
    }

    fn is_repeatable(&self) -> bool {
        // What is measured in virtual time is the real thing, and locks in its order.
        !matches!(self.state().policy, Policy::Earliest(_))
    }
}

#[cfg(test)]
mod tests;
