//! The whole database under a scheduler that draws who goes on, by seed: a run of many threads that can be repeated.
//!
//! A case is one simulation ([`planaria_sim::scheduler`]): the database, its clients, its logger, clock and
//! checkpoint threads, and those that recover it, on a simulated disk.
//!
//! 1. Some clients run random transactions ([`crate::histories`]), others, in some of the cases, change the schema
//!    ([`definer`]) or draw numbers from a sequence ([`drawer`]); somebody cancels statements, another thread writes
//!    checkpoints, and one takes a backup ([`copies`]). At one operation of the disk the power fails, or, in a few
//!    cases, never.
//! 2. The database is opened again by a scheme drawn, with some threads; in some cases power fails within that, too.
//! 3. What was acknowledged is there, whole ([`record`]): each procedure writes down its answer in a table of its own,
//!    so that of transactions that were cut short it is known as well whether they are there and what they saw. All
//!    that is there, in the order of the commit timestamps, gives the same answers and leads to the same rows, and
//!    the direct serialization graph has no cycle ([`planaria_sim::history`]). The schema is what was acknowledged, a
//!    change more at most; who called a procedure ran the one of then; no number was given twice; nothing is there
//!    of what was cancelled.
//! 4. A copy of the disk is recovered by another scheme, and is in the same state. A backup, and what is restored from
//!    it and the log up to a commit, have just the commits up to there.
//! 5. The recovered database goes on, and is held to the same.
//!
//! A run that gets stuck, in a deadlock or without an end, is a failure that says who waits for what.

mod copies;
mod definer;
mod drawer;
mod record;
mod work;

use crate::faults::setting::{Prepared, text};
use crate::faults::{Outcome, Verdict, crash};
use crate::histories::{self, program};
use crate::model::State;
use copies::Copy;
use planaria::lab::LabOptions;
use planaria::{Database, Durability, LogKind, Options, ProtocolKind, Result, Scheme};
use planaria_base::{CommitTs, Epoch};
use planaria_log::Device;
use planaria_sim::dice::Dice;
use planaria_sim::disk::SimDisk;
use planaria_sim::scheduler;
use record::{Record, Until};
use std::sync::Arc;
use std::sync::atomic::AtomicU32;

/// Something that a case does wrong on purpose: it has to be found.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Flaw {
    /// Transaction blocks that change the schema are none.
    BlocksInPieces,
    /// What was committed counts as cancelled.
    CancelledAnyway,
    /// A sequence is set back after a crash.
    NumbersAgain,
    /// A backup counts as one of the epoch before.
    BackupTooNew,
    /// What is restored ends with the commit before.
    RestoredTooOld,
}

/// What a case is done with.
#[derive(Clone, Copy)]
pub struct Subject {
    /// How commits are acknowledged; anything but `fsync` is to be caught.
    pub durability: Durability,
    /// Opens a database.
    pub open: fn(Options, Arc<dyn Device>) -> Result<Database>,
    /// What is wrong on purpose.
    pub flaw: Option<Flaw>,
}

impl Default for Subject {
    /// The database as it should be.
    fn default() -> Subject {
        Subject { durability: Durability::Fsync, open: Options::open_device, flaw: None }
    }
}

/// A case that is over.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Report {
    /// Equal for equal runs.
    pub trace: u64,
    /// Switch points.
    pub points: u64,
    /// Points at which another thread went on.
    pub switches: u64,
    /// Transactions that were there in the end.
    pub transactions: u64,
    /// What was wrong.
    pub violation: Option<String>,
}

/// Runs a case. Nothing else of this process should read databases meanwhile, or the same seed may write other bytes:
/// what was retired is freed when nobody of the process is pinned any more, and that decides how much memory a table
/// is seen to take, so the order in which a checkpoint writes.
pub fn case(subject: Subject, seed: u64) -> Report {
    let options = scheduler::Options::of_seed(seed);
    let run = match scheduler::run(options, move || Case::new(subject, seed).run()) {
        Ok(run) => run,
        Err(stuck) => {
            let violation = Some(stuck.to_string());
            return Report { trace: 0, points: 0, switches: 0, transactions: 0, violation };
        }
    };
    let outcome = run.value.unwrap_or_else(|panic| std::panic::resume_unwind(panic));
    let (transactions, violation) = match outcome {
        Ok(transactions) => (transactions, None),
        Err(what) => (0, Some(what)),
    };
    Report { trace: run.trace, points: run.points, switches: run.switches, transactions, violation }
}

/// A case of the campaign: each number is another one.
pub(crate) fn strike(prepared: &Prepared, number: u64) -> Verdict {
    let report = case(Subject::default(), prepared.dice(number).draw());
    match report.violation {
        None => Ok(Outcome::Held),
        Some(what) => Err(format!("{what} (trace {:016x}, {} points)", report.trace, report.points)),
    }
}

type Checked<T> = std::result::Result<T, String>;

fn say(error: planaria::Error) -> String {
    text(&error)
}

struct Case {
    subject: Subject,
    dice: Dice,
    disk: SimDisk,
    log: LogKind,
    protocol: ProtocolKind,
    keep_log: bool,
    /// Numbers of transactions so far.
    ids: Arc<AtomicU32>,
    /// Numbers of those who drew numbers so far.
    drawers: i64,
}

/// Definers at most.
const DEFINERS: u64 = 2;

impl Case {
    fn new(subject: Subject, seed: u64) -> Case {
        let mut dice = Dice::new(seed, 11);
        // A physical log holds addresses of records, which are others in each run.
        let kept = |k: &LogKind| !matches!(k, LogKind::Off | LogKind::Physical);
        let kinds: Vec<_> = LogKind::ALL.iter().copied().filter(kept).collect();
        Case {
            subject,
            disk: SimDisk::new(dice.draw()),
            log: dice.of(&kinds),
            protocol: crate::protocol(&mut dice),
            keep_log: dice.chance(40),
            dice,
            ids: Arc::new(AtomicU32::new(2)),
            drawers: 0,
        }
    }

    fn open(&mut self, disk: &SimDisk) -> Result<Database> {
        let dice = &mut self.dice;
        let options = Options::new()
            .log(self.log)
            .protocol(self.protocol)
            .heal_always(true)
            .durability(self.subject.durability)
            .loggers(1 + dice.below(3) as usize)
            .keep_log(self.keep_log)
            .checkpoint_threads(1 + dice.below(2) as usize)
            .recovery(dice.of(Scheme::ALL))
            .recovery_threads(1 + dice.below(3) as usize)
            .log_segments(8 << 10 << dice.below(3), dice.of(&[5, 50, 1000]));
        (self.subject.open)(options, disk.device())
    }

    /// The number of transactions that were there in the end.
    fn run(mut self) -> Checked<u64> {
        let disk = self.disk.clone();
        let db = self.open(&disk).map_err(say)?;
        db.execute_script(histories::SCHEMA).map_err(say)?;
        db.execute_script(&program::saying()).map_err(say)?;
        db.execute_script(drawer::SCHEMA).map_err(say)?;
        let mut record = Record::new(histories::fresh(&db).map_err(say)?, DEFINERS);
        let mut open = Some(db);
        let mut transactions = 0;
        for round in 1..2 + self.dice.below(2) {
            let db = match open.take() {
                Some(db) => db,
                None => self.open(&disk).map_err(|e| format!("it does not open: {}", say(e)))?,
            };
            if self.dice.chance(90) {
                disk.fail_power_after(self.dice.below(150));
            }
            let (seen, copies) = self.work(&db, &record, round as i64)?;
            drop(db);
            self.lose_power();
            if self.dice.chance(30) {
                disk.fail_power_after(self.dice.below(20));
                match self.open(&disk) {
                    Err(error) if !disk.power_failed() => {
                        return Err(format!("it does not open: {}", say(error)));
                    }
                    other => drop(other),
                }
                self.lose_power();
            }
            let copy = SimDisk::with_files(&disk.files(), 0);
            let log = SimDisk::with_files(&disk.files(), 0);
            let db = self.open(&disk).map_err(|e| format!("it does not open: {}", say(e)))?;
            let state = State::of(&db).map_err(say)?;
            transactions += record.check(&db, seen, self.subject.flaw == Some(Flaw::NumbersAgain))?;
            let other = self.open(&copy).map_err(|e| format!("its copy does not open: {}", say(e)))?;
            let other = State::of(&other).map_err(say)?;
            if other != state {
                return Err(format!("recovered twice: {}", state.difference(&other)));
            }
            self.check_copies(&record, copies, &log)?;
            record.end_life();
            open = Some(db);
        }
        Ok(transactions)
    }

    /// Checks copies that were made while clients worked, and what can be restored from them and the log.
    fn check_copies(&mut self, record: &Record, mut copies: Vec<Copy>, log: &SimDisk) -> Checked<()> {
        let Some(backup) = copies.first() else { return Ok(()) };
        let later = |ts: CommitTs| matches!(backup.until, Until::Epoch(epoch) if ts.epoch() > epoch);
        let later: Vec<_> = record.commits().filter(|ts| later(*ts)).collect();
        if self.keep_log && !later.is_empty() {
            let until = self.dice.of(&later);
            let before = record.commits().filter(|ts| *ts < until).max();
            let mut restored = copies::restore(backup, log, until, &mut self.dice)?;
            if let (Some(Flaw::RestoredTooOld), Some(before)) = (self.subject.flaw, before) {
                restored.until = Until::Commit(before);
            }
            copies.push(restored);
        }
        if let (Some(Flaw::BackupTooNew), Until::Epoch(epoch)) = (self.subject.flaw, copies[0].until) {
            copies[0].until = Until::Epoch(Epoch(epoch.0 - 1));
        }
        for Copy { what, disk, until } in copies {
            let db = self.open(&disk).map_err(|e| format!("{what} does not open: {}", say(e)))?;
            record.check_copy(&db, until).map_err(|e| format!("{what}, {until:?}: {e}"))?;
        }
        Ok(())
    }

    fn lose_power(&mut self) {
        match self.dice.chance(30) {
            true => self.disk.kill(),
            false => self.disk.crash(crash::survival(&mut self.dice)),
        }
    }
}
