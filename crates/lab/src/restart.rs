//! What a database says a restart would take, and what it takes.
//!
//! Rows are loaded and a checkpoint is written. Then, turn by turn, transactions run, more each time, with
//! another checkpoint half way in every second turn; the database says how long a restart would take,
//! is closed, and opened again. The rates behind the first answer are assumed, those behind the others were
//! measured at the opening before.

use crate::forward::{Job, Length};
use crate::machine::Machine;
use crate::recovery::Watch;
use planaria::{Database, Durability, Options, Result, Scheme};
use planaria_workload::Suite;
use serde::Serialize;
use std::path::Path;
use std::time::Instant;

/// The experiment.
pub struct Restarts<'a> {
    /// The workload.
    pub suite: &'a Suite,
    /// Its size, in the workload's unit.
    pub size: u64,
    /// Transactions of the first turn; each later turn has as many more.
    pub transactions: u64,
    /// Turns.
    pub turns: u64,
    /// Workers of the runs.
    pub workers: usize,
    /// Scheme of recovery.
    pub scheme: Scheme,
    /// Threads that recover.
    pub threads: usize,
    /// Seed of the inputs.
    pub seed: u64,
}

/// A turn.
#[derive(Clone, Debug, Serialize)]
pub struct Turn {
    /// Rows of the checkpoint.
    pub rows: u64,
    /// Bytes of the checkpoint.
    pub checkpoint_bytes: u64,
    /// Bytes of the log behind it.
    pub log_bytes: u64,
    /// Whether the rates were measured, not assumed.
    pub measured: bool,
    /// Seconds that were foretold.
    pub predicted_seconds: f64,
    /// Seconds that opening took.
    pub seconds: f64,
    /// The one less the other, in hundredths of the latter.
    pub error_percent: f64,
}

/// What came of it.
#[derive(Clone, Debug, Serialize)]
pub struct Outcome {
    /// Where it was measured.
    pub machine: Machine,
    /// Turns, in order.
    pub turns: Vec<Turn>,
}

impl Restarts<'_> {
    /// Runs it in a new directory under `dir`, which is removed again.
    pub fn run(&self, dir: &Path, watch: &dyn Watch) -> Result<Outcome> {
        let place = tempfile::tempdir_in(dir)
            .map_err(|e| planaria::Error::new(planaria::SqlState::IO_ERROR, e.to_string()))?;
        let options = || {
            let options = Options::new().durability(Durability::Async).recovery(self.scheme);
            options.recovery_threads(self.threads)
        };
        let open = || -> Result<(Database, f64)> {
            let start = Instant::now();
            let db = options().open(place.path())?;
            Ok((db, start.elapsed().as_secs_f64()))
        };
        let (mut db, _) = open()?;
        watch.step(&format!("loading {} {}", self.size, self.suite.unit), 0);
        self.suite.install_parallel(&db, self.size, self.workers, &|done, _| watch.at(done as u64))?;
        db.checkpoint()?;
        let mut turns = Vec::new();
        for turn in 0..self.turns {
            let wanted = self.transactions * (turn + 1);
            let halves = if turn % 2 == 1 { vec![wanted / 2, wanted - wanted / 2] } else { vec![wanted] };
            for (i, transactions) in halves.into_iter().enumerate() {
                if i > 0 {
                    watch.step("writing a checkpoint", 0);
                    db.checkpoint()?;
                }
                watch.step(&format!("turn {}", turn + 1), transactions);
                let job = Job {
                    suite: self.suite,
                    size: self.size,
                    length: Length::Transactions(transactions),
                    workers: self.workers,
                    ad_hoc: 0.0,
                    seed: self.seed + turn * 2 + i as u64,
                };
                job.run(&db, &|done| watch.at(done))?;
            }
            let now = db.stats().checkpoint;
            let digests = db.digests()?;
            db.close()?;
            watch.step("restarting", 0);
            let seconds;
            (db, seconds) = open()?;
            if db.digests()? != digests {
                return Err(planaria::Error::new(
                    planaria::SqlState::DATA_CORRUPTED,
                    "after the restart the rows are other ones",
                ));
            }
            let predicted_seconds = now.restart.total().as_secs_f64();
            turns.push(Turn {
                rows: now.rows,
                checkpoint_bytes: now.bytes,
                log_bytes: now.log_bytes,
                measured: now.restart.measured,
                predicted_seconds,
                seconds,
                error_percent: (predicted_seconds - seconds) / seconds * 100.0,
            });
        }
        Ok(Outcome { machine: Machine::this(), turns })
    }
}
