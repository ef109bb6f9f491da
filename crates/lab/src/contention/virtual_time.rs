//! Virtual time: as many threads as are asked for, each on a core of its own, on whatever machine.
//!
//! The threads of a simulation ([`planaria_sim::scheduler`]) run one at a time, the one whose clock is the earliest
//! next. It is the real protocol, machine and data that they run; only time is not real: each operation on a table has the price
//! of its kind (`prices`), all that the thread did between two of them included. Nothing is known of caches that
//! cores share, and of memory.
//!
//! 1. What kinds of operations cost against each other is measured on one real thread.
//! 2. One session of the scheme runs for real: seconds of processor time a commit, whatever else the machine does.
//! 3. One session runs in virtual time at these prices; time is in proportion to them, so that says how many times as much
//!    makes a commit take as long as it really does.
//! 4. At those prices, on the same database, one and two sessions run again, which real ones are compared with: *calibration*,
//!    printed beside every result. Then the points of the axis.

use super::prices;
use super::run::Settings;
use super::scheme::Kind;
use crate::load::{Load, Measured};
use planaria::lab::Pauses;
use planaria::{Error, Result, SqlState};
use planaria_sim::scheduler;
use planaria_workload::{Parameters, Suite};
use serde::Serialize;
use std::time::Duration;

/// What so many sessions do, in virtual time and for real.
#[derive(Clone, Debug, Serialize)]
pub struct Calibration {
    /// Sessions.
    pub sessions: usize,
    /// Transactions a second for real, by the processor time that they took.
    pub real: f64,
    /// The same in virtual time.
    pub simulated: f64,
    /// How much more that is in virtual time, of a hundred.
    pub off_percent: f64,
    /// Attempts in vain for each transaction, for real.
    pub real_restarts: f64,
    /// The same in virtual time.
    pub simulated_restarts: f64,
    /// How many more these are, of a hundred, where there are any.
    pub restarts_off_percent: Option<f64>,
    /// Whether both are as near as they are to be: [`RATE_PERCENT`], [`RESTARTS_PERCENT`].
    pub holds: bool,
}

/// Of a hundred, how far transactions a second may be off.
pub const RATE_PERCENT: f64 = 15.0;
/// The same of attempts in vain.
pub const RESTARTS_PERCENT: f64 = 20.0;
/// Attempts in vain for each transaction that say nothing: both real runs and simulated ones are too short for them.
pub const FEW_RESTARTS: f64 = 0.01;

impl Calibration {
    pub(super) fn new(sessions: usize, rates: (f64, f64), restarts: (f64, f64)) -> Calibration {
        let off = |(real, simulated): (f64, f64)| 100.0 * (simulated / real - 1.0);
        let few = restarts.0 <= FEW_RESTARTS && restarts.1 <= FEW_RESTARTS;
        let restarts_off = (restarts.0 > 0.0).then(|| off(restarts));
        let near = restarts_off.is_some_and(|off| off.abs() <= RESTARTS_PERCENT);
        Calibration {
            sessions,
            real: rates.0,
            simulated: rates.1,
            off_percent: off(rates),
            real_restarts: restarts.0,
            simulated_restarts: restarts.1,
            restarts_off_percent: restarts_off,
            holds: off(rates).abs() <= RATE_PERCENT && (few || near),
        }
    }
}

/// A load of an experiment, which a simulation takes along.
#[derive(Clone)]
pub(super) struct Job {
    pub(super) suite: &'static Suite,
    pub(super) size: u64,
    pub(super) sessions: usize,
    pub(super) parameters: Parameters,
    pub(super) pauses: Pauses,
    pub(super) unhealed: f64,
    pub(super) readers: usize,
    pub(super) warmup: Duration,
    pub(super) time: Duration,
    pub(super) seed: u64,
}

impl Job {
    pub(super) fn run(&self, db: &planaria::Database) -> Result<Measured> {
        let load = Load {
            suite: self.suite,
            size: self.size,
            sessions: self.sessions,
            parameters: &self.parameters,
            pauses: self.pauses,
            unhealed: self.unhealed,
            ad_hoc: 0.0,
            rate: None,
            readers: self.readers,
            together: 1,
            in_flight: 1,
            durable: false,
            warmup: self.warmup,
            time: self.time,
            series: false,
            watch: None,
            seed: self.seed,
        };
        load.run(db)
    }

    fn of(&self, sessions: usize) -> Job {
        Job { sessions, ..self.clone() }
    }

    /// The same for longer.
    fn calibrates(&self, sessions: usize) -> Job {
        Job { time: self.time * LONGER, ..self.of(sessions) }
    }
}

/// So much longer are the runs of one and two sessions that are held against real ones, which do little in a short time.
pub(super) const LONGER: u32 = 4;

/// Of a real run that says what a commit costs, unless it takes too long.
const TRANSACTIONS_MIN: u64 = 100;
const TIME_MAX: Duration = Duration::from_secs(20);

/// Runs the first load, whose rate says the price of an operation, and then all of them at that price, on a database of
/// their own with so many units. `really`: transactions a second of the first one's session for real.
fn simulate(
    scheme: Kind,
    settings: &Settings,
    units: u64,
    jobs: Vec<Job>,
    really: f64,
) -> Result<Vec<Measured>> {
    let guess = prices::measured(scheme)?;
    let options = scheduler::Options {
        prices: Some(guess),
        points_max: u64::MAX,
        events_kept: 1,
        ..scheduler::Options::of_seed(settings.seed)
    };
    let work = move || -> Result<Vec<Measured>> {
        let db = scheme.in_memory()?;
        let Some(first) = jobs.first() else { return Ok(Vec::new()) };
        first.suite.install(&db, units)?;
        let guessed = rate(&first.run(&db)?);
        scheduler::reprice(guess.times((guessed / really.max(1.0)).clamp(1e-3, 1e3)));
        jobs.iter().map(|job| job.run(&db)).collect()
    };
    let internal = |what: String| Error::new(SqlState::INTERNAL_ERROR, what);
    let outcome = scheduler::run(options, work).map_err(|stuck| internal(stuck.to_string()))?;
    outcome.value.unwrap_or_else(|_| Err(internal("a simulation panicked".into())))
}

fn rate(measured: &Measured) -> f64 {
    measured.transactions() as f64 / measured.seconds
}

/// Runs the loads in virtual time. `real` has the scheme's rows for the measurement that gives the price; the first of the
/// loads says what is run there.
pub(super) fn run(
    scheme: Kind,
    settings: &Settings,
    jobs: &[Job],
    real: &planaria::Database,
) -> Result<(Vec<Measured>, Vec<Calibration>)> {
    let Some(first) = jobs.first() else { return Ok((Vec::new(), Vec::new())) };
    let units = jobs.iter().map(|job| job.size).max().unwrap_or(1);
    // As if they had had their processors all the time, which others may want, too.
    let real_rate =
        |m: &Measured| (m.sessions as u64 * m.transactions()) as f64 / m.session_cpu_seconds.max(1e-9);
    let really = |sessions: usize| -> Result<Measured> {
        let pauses = Pauses { yield_every: 0, ..first.pauses };
        let mut job = Job { pauses, warmup: settings.warmup, time: settings.time, ..first.of(sessions) };
        loop {
            let measured = job.run(real)?;
            // Where others want the processors, it may have had none.
            if measured.transactions() >= TRANSACTIONS_MIN || job.time > TIME_MAX {
                return Ok(measured);
            }
            job.time *= 2;
        }
    };
    let reals = [really(1)?, really(2)?].map(|m| (real_rate(&m), m.restarts_each()));
    let mut all = vec![first.calibrates(1), first.calibrates(2)];
    all.extend_from_slice(jobs);
    let mut measured = simulate(scheme, settings, units, all, reals[0].0)?;
    let rest = measured.split_off(2);
    let calibrations = measured.iter().zip(reals).enumerate();
    let calibrations = calibrations
        .map(|(i, (m, (real, restarts)))| {
            Calibration::new(i + 1, (real, rate(m)), (restarts, m.restarts_each()))
        })
        .collect();
    Ok((rest, calibrations))
}
