//! The whole database under a scheduler that draws who goes on, by seed: a run of many threads that can be repeated.
//!
//! A case is one simulation ([`planaria_sim::scheduler`]): the database, its clients, its logger, clock and
//! checkpoint threads, and those that recover it, on a simulated disk.
//!
//! 1. Some clients run random transactions ([`crate::histories`]), another thread writes checkpoints. At one
//!    operation of the disk the power fails, or, in a few cases, never.
//! 2. The database is opened again by a scheme drawn, with some threads; in some cases power fails within that, too.
//! 3. What was acknowledged is there, whole: each procedure writes down its answer in a table of its own, so that
//!    of transactions that were cut short it is known as well whether they are there and what they saw. All that is
//!    there, in the order of the commit timestamps, gives the same answers and leads to the same rows, and the
//!    direct serialization graph has no cycle ([`planaria_sim::history`]).
//! 4. A copy of the disk is recovered by another scheme, and has the same digests.
//! 5. The recovered database goes on, and is held to the same.
//!
//! A run that gets stuck, in a deadlock or without an end, is a failure that says who waits for what.

use crate::faults::setting::{Prepared, text};
use crate::faults::{Outcome, Verdict, crash};
use crate::histories::client::{Client, Doubt};
use crate::histories::{self, program};
use planaria::{Database, Durability, LogKind, Options, ProtocolKind, Result, Scheme};
use planaria_base::sync::thread;
use planaria_log::Device;
use planaria_sim::dice::Dice;
use planaria_sim::disk::SimDisk;
use planaria_sim::history::{History, Model, Transaction};
use planaria_sim::scheduler;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::time::Duration;

/// What a case is done with.
#[derive(Clone, Copy)]
pub struct Subject {
    /// How commits are acknowledged; anything but `fsync` is to be caught.
    pub durability: Durability,
    /// Opens a database.
    pub open: fn(Options, Arc<dyn Device>) -> Result<Database>,
}

impl Default for Subject {
    /// The database as it should be.
    fn default() -> Subject {
        Subject { durability: Durability::Fsync, open: Options::open_device }
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

/// Runs a case.
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
}

/// What clients came to.
#[derive(Default)]
struct Seen {
    committed: Vec<Transaction>,
    doubts: Vec<Doubt>,
}

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
            protocol: if dice.chance(85) { ProtocolKind::Silo } else { ProtocolKind::Serial },
            keep_log: dice.chance(20),
            dice,
            ids: Arc::new(AtomicU32::new(2)),
        }
    }

    fn open(&mut self, disk: &SimDisk) -> Result<Database> {
        let dice = &mut self.dice;
        let options = Options::new()
            .log(self.log)
            .protocol(self.protocol)
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
        let mut initial = histories::fresh(&db).map_err(say)?;
        let mut open = Some(db);
        let mut transactions = 0;
        for _ in 0..1 + self.dice.below(2) {
            let db = match open.take() {
                Some(db) => db,
                None => self.open(&disk).map_err(|e| format!("it does not open: {}", say(e)))?,
            };
            if self.dice.chance(90) {
                disk.fail_power_at(disk.operations() + self.dice.below(150));
            }
            let seen = self.work(&db)?;
            drop(db);
            self.lose_power();
            if self.dice.chance(30) {
                disk.fail_power_at(disk.operations() + self.dice.below(20));
                match self.open(&disk) {
                    Err(error) if !disk.power_failed() => {
                        return Err(format!("it does not open: {}", say(error)));
                    }
                    other => drop(other),
                }
                self.lose_power();
            }
            let copy = SimDisk::with_files(&disk.files(), 0);
            let db = self.open(&disk).map_err(|e| format!("it does not open: {}", say(e)))?;
            let (model, there) = check(&db, &initial, seen)?;
            (initial, transactions) = (model, transactions + there);
            let other = self.open(&copy).map_err(|e| format!("its copy does not open: {}", say(e)))?;
            let (digests, others) = (db.digests().map_err(say)?, other.digests().map_err(say)?);
            if digests != others {
                return Err(format!("recovered twice it has {digests:?} and {others:?}"));
            }
            open = Some(db);
        }
        Ok(transactions)
    }

    fn lose_power(&mut self) {
        match self.dice.chance(30) {
            true => self.disk.kill(),
            false => self.disk.crash(crash::survival(&mut self.dice)),
        }
    }

    /// Clients work until the power fails, or they have done enough.
    fn work(&mut self, db: &Database) -> Checked<Seen> {
        let (disk, stop) = (&self.disk, AtomicBool::new(false));
        let each = 2 + self.dice.below(6);
        let clients = 2 + self.dice.below(3);
        let checkpoints = self.dice.chance(60);
        let (ids, dice) = (&*self.ids, &mut self.dice);
        let power_failed = || disk.power_failed();
        let power_failed = &power_failed;
        thread::scope(|scope| {
            let clients: Vec<_> = (0..clients)
                .map(|number| {
                    let dice = Dice::new(dice.draw(), 7);
                    let client = move || {
                        let session = match db.session() {
                            Ok(session) => session,
                            Err(error) => return (Vec::new(), None, Some(error)),
                        };
                        let mut client = Client::new(session, dice, ids).saying(power_failed);
                        let error = (0..each).find_map(|_| client.transaction().err());
                        let doubt = client.doubt();
                        (client.end().0, doubt, error)
                    };
                    scope.spawn_by(thread::Builder::new().name(format!("client-{number}")), client)
                })
                .collect();
            let mut dice = Dice::new(dice.draw(), 99);
            let checkpoints = checkpoints.then(|| {
                let stop = &stop;
                scope.spawn(move || {
                    while !stop.load(Ordering::Relaxed) && !disk.power_failed() {
                        thread::sleep(Duration::from_micros(100 + dice.below(3000)));
                        if let Err(error) = db.checkpoint()
                            && !disk.power_failed()
                        {
                            return Err(format!("a checkpoint fails: {}", say(error)));
                        }
                    }
                    Ok(())
                })
            });
            let mut seen = Seen::default();
            let mut failed = None;
            for client in clients {
                let client = client.map_err(|e| e.to_string())?;
                let (committed, doubt, error) = client.join().map_err(|_| "a client panicked".to_owned())?;
                seen.committed.extend(committed);
                seen.doubts.extend(doubt);
                failed = failed.or(error.filter(|_| !disk.power_failed()));
            }
            stop.store(true, Ordering::Relaxed);
            if let Some(checkpoints) = checkpoints {
                checkpoints.join().map_err(|_| "the thread of checkpoints panicked".to_owned())??;
            }
            match failed {
                Some(error) => Err(format!("a client is told {}", say(error))),
                None => Ok(seen),
            }
        })
    }
}

/// What is there against what clients saw: the rows as a model, and the number of transactions.
fn check(db: &Database, initial: &Model, seen: Seen) -> Checked<(Model, u64)> {
    db.check().map_err(say)?;
    let mut said = BTreeMap::new();
    let lost = |e| format!("the schema was acknowledged, and is lost: {}", say(e));
    for row in &db.query("SELECT id, answer FROM said", ()).map_err(lost)? {
        let answer: String = row.get(1).map_err(say)?;
        let numbers =
            answer.split_whitespace().map(str::parse::<i64>).collect::<std::result::Result<Vec<_>, _>>();
        let numbers = numbers.map_err(|e| format!("the answer {answer:?} is none: {e}"))?;
        said.insert(row.get::<i64>(0).map_err(say)? as u32, numbers);
    }
    let mut transactions = seen.committed;
    for doubt in seen.doubts {
        if let Some(answer) = said.get(&doubt.id()) {
            transactions.extend(doubt.resolve(answer).map_err(say)?);
        }
    }
    let there = transactions.len() as u64;
    let wrote = |t: &&Transaction| t.writes();
    if let Some(lost) = transactions.iter().filter(wrote).find(|t| !said.contains_key(&t.id)) {
        return Err(format!("transaction {} was acknowledged, and is lost", lost.id));
    }
    let history = History::new(transactions);
    let model = histories::explain(db, initial.clone(), &history)?;
    Ok((model, there))
}
