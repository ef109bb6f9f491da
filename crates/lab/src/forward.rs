//! The run that makes a log: workers that submit one transaction after another.

use planaria::{Database, Error, Result, Session, SqlState};
use planaria_workload::{Driver, Suite};
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// How long a run is.
#[derive(Clone, Copy, Debug)]
pub enum Length {
    /// So many transactions, those that only read or are refused included.
    Transactions(u64),
    /// So long.
    Time(Duration),
}

/// What to run.
pub(crate) struct Job<'a> {
    pub suite: &'a Suite,
    pub size: u64,
    pub length: Length,
    pub workers: usize,
    /// Of a hundred transactions, those that are run as transaction blocks and so logged by value.
    pub ad_hoc: f64,
    pub seed: u64,
}

/// What a run did.
pub(crate) struct Ran {
    /// Transactions that were answered, refusals included.
    pub transactions: u64,
    /// Transactions that ended in an error, such as blocks that could not be serialized.
    pub failed: u64,
    /// Until the last worker was done and the log was on disk.
    pub seconds: f64,
}

/// Transactions a worker takes from the common budget at a time.
const PORTION: i64 = 64;

impl Job<'_> {
    /// Runs it; the log is on disk afterwards.
    pub(crate) fn run(&self, db: &Database, tell: &(dyn Fn(u64) + Sync)) -> Result<Ran> {
        let budget = AtomicI64::new(match self.length {
            Length::Transactions(n) => n.min(i64::MAX as u64) as i64,
            Length::Time(_) => i64::MAX,
        });
        let (answered, failed) = (AtomicU64::new(0), AtomicU64::new(0));
        let start = Instant::now();
        let work = |worker: usize| -> Result<()> {
            let mut session = db.session()?;
            let mut driver =
                self.suite.driver(&mut session, self.size, self.seed.wrapping_mul(1000) + worker as u64)?;
            let mut chance = Chance::new(self.seed.wrapping_mul(77) + worker as u64);
            loop {
                let left = budget.fetch_sub(PORTION, Ordering::Relaxed);
                let timeout = matches!(self.length, Length::Time(limit) if start.elapsed() >= limit);
                if left <= 0 || timeout {
                    return Ok(());
                }
                let portion = left.min(PORTION) as u64;
                for _ in 0..portion {
                    let outcome = one(&mut session, &mut *driver, chance.percent() < self.ad_hoc);
                    failed.fetch_add(u64::from(outcome.is_err()), Ordering::Relaxed);
                }
                tell(answered.fetch_add(portion, Ordering::Relaxed) + portion);
            }
        };
        std::thread::scope(|scope| {
            let work = &work;
            let workers: Vec<_> = (0..self.workers.max(1)).map(|i| scope.spawn(move || work(i))).collect();
            let panicked = || Err(Error::new(SqlState::INTERNAL_ERROR, "a worker panicked"));
            workers.into_iter().try_for_each(|w| w.join().unwrap_or_else(|_| panicked()))
        })?;
        db.flush()?;
        let seconds = start.elapsed().as_secs_f64();
        Ok(Ran { transactions: answered.into_inner(), failed: failed.into_inner(), seconds })
    }
}

pub(crate) fn one(session: &mut Session, driver: &mut dyn Driver, ad_hoc: bool) -> Result<()> {
    if ad_hoc {
        let mut block = session.transaction()?;
        driver.next(&mut block).1?;
        block.commit()
    } else {
        driver.next(session).1.map(|_| ())
    }
}

/// splitmix64: which transactions are ad hoc is the same in every run.
pub(crate) struct Chance(u64);

impl Chance {
    pub(crate) fn new(seed: u64) -> Chance {
        Chance(seed)
    }
    /// A number from 0 up to, but not, 100.
    pub(crate) fn percent(&mut self) -> f64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        ((z ^ (z >> 31)) >> 11) as f64 / (1u64 << 53) as f64 * 100.0
    }
}
