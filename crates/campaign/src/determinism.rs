//! What is computed from anything but what is logged: replay must see what the run saw.
//!
//! A case draws a script ([`draw`]): schema changes that fill rows and check them with what depends on the moment, on
//! the session and on chance; routines over routines that ask for it, called by several roles; sequences that are drawn
//! from, set, turned around; blocks that go on while others are at work; checkpoints, backups. It is done once, on a
//! simulated disk, with a clock that never stands still, and with restarts and crashes in between.
//!
//! 1. After each of these, what the database has is what it had: all rows as text, in order, and what the catalogs say
//!    ([`content`]); sequences stand where they stood, or, after a crash, where some draw that was not acknowledged
//!    before it had left them ([`numbers`]).
//! 2. At some steps the disk is kept as it was before each of its operations. Power fails there, and what is left is
//!    recovered by each scheme, at another time: it has what was there before the step, or after it, if not yet
//!    answered. The next number of each sequence is the one that follows.
//!
//! What is compared with is what the run itself had, never another recovery. Threads take turns and chance is drawn by
//! the seed ([`planaria_sim::scheduler`]), so a case is the same each time. Of one that fails, steps are taken out as
//! long as it still fails so, and what is left is printed.

mod census;
mod content;
mod definitions;
mod draw;
mod numbers;
mod routines;
mod shrink;
mod world;

use crate::faults::setting::{Prepared, text};
use crate::faults::{Drawn, Outcome, Verdict, crash, said_by};
use census::Census;
use content::{Content, positions};
pub use draw::Theme;
use draw::{Step, WHO};
use numbers::{Fate, Numbers};
use planaria::lab::{LabDatabase, LabOptions};
use planaria::{Database, Error, LogKind, Options, ProtocolKind, Scheme, Session, SqlState};
use planaria_base::WallClock;
use planaria_sim::dice::Dice;
use planaria_sim::disk::{SimDisk, Survival};
use planaria_sim::scheduler;
use std::collections::BTreeSet;
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

type Checked<T> = Result<T, String>;

/// Microseconds since 2000-01-01 UTC: some day of 2025.
const BEGIN: i64 = 800_000_000_000_000;
/// Times at which a database is opened again.
const TIMES: [i64; 3] = [1_000_000, BEGIN + 3_600_000_000, 1_200_000_000_000_000];
/// Steps of a case that are struck, besides the last.
const STRUCK: u64 = 3;

/// A case that is over.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Report {
    /// Statements that were said, and how many of these were refused.
    pub said: u64,
    /// See [`Report::said`].
    pub refused: u64,
    /// Of these, how many a timeout ended.
    pub timeouts: u64,
    /// Recoveries that were compared.
    pub recoveries: u64,
    /// Routines that were made.
    pub routines: u64,
    /// Those of them that ask for the session, the moment, chance, a sequence or the catalogs, through others or not.
    pub asking: u64,
    /// What was wrong, and how it comes about.
    pub violation: Option<String>,
}

/// Runs a case: a script of so many steps, with this kind of log, about any theme if not this one.
pub fn case(seed: u64, steps: usize, log: LogKind, theme: Option<Theme>) -> Report {
    let mut dice = Dice::new(seed, 21);
    let protocol = crate::protocol(&mut dice);
    // One at a time means that nobody is at work while a block goes on.
    let script = draw::script(&mut dice, steps, protocol.is_concurrent(), theme);
    let mut struck: BTreeSet<usize> = (0..STRUCK).map(|_| dice.below(script.len() as u64) as usize).collect();
    struck.insert(script.len() - 1);
    let plan = Trial { seed, log, protocol, script, struck, schemes: Scheme::ALL.to_vec(), after: false };
    let (mut report, failed) = simulated(&plan);
    if let Some(failed) = failed {
        report.violation = Some(shrink::told(plan, failed));
    }
    report
}

/// Kinds of log, which take turns; the one that has least in it comes every other time.
pub fn logs() -> Vec<LogKind> {
    let others = LogKind::ALL.iter().copied().filter(|kind| !matches!(kind, LogKind::Off | LogKind::Command));
    others.flat_map(|kind| [LogKind::Command, kind]).collect()
}

/// A case of the campaign: each number is another one.
pub(crate) fn strike(prepared: &Prepared, number: u64) -> Verdict {
    let logs = logs();
    let log = logs[number as usize % logs.len()];
    let Report { recoveries, routines, asking, violation, .. } =
        case(prepared.dice(number).draw(), prepared.steps, log, None);
    match violation {
        None => Ok(Outcome::Compared(Drawn { recoveries, routines, asking })),
        Some(what) => Err(what),
    }
}

/// What is done.
#[derive(Clone)]
struct Trial {
    seed: u64,
    log: LogKind,
    protocol: ProtocolKind,
    script: Vec<Step>,
    /// Steps in which power fails, on a copy of the disk.
    struck: BTreeSet<usize>,
    /// By which these copies are recovered.
    schemes: Vec<Scheme>,
    /// Power fails right after these steps, and keeps nothing that was not synced.
    after: bool,
}

/// Where something was wrong, and what.
#[derive(Clone, PartialEq, Eq, Debug)]
struct Failed {
    step: usize,
    /// The scheme that recovered a copy, if it was one.
    scheme: Option<Scheme>,
    what: String,
}

/// Carries out a plan under the scheduler.
fn simulated(plan: &Trial) -> (Report, Option<Failed>) {
    let plan = plan.clone();
    let options = scheduler::Options {
        points_max: 2_000_000,
        events_kept: 5,
        ..scheduler::Options::of_seed(plan.seed)
    };
    let place = Arc::new(Mutex::new((0, None)));
    let reached = place.clone();
    let failed = |what| {
        let (step, scheme) = *place.lock().unwrap_or_else(PoisonError::into_inner);
        Some(Failed { step, scheme, what })
    };
    match scheduler::run(options, move || Case::new(plan, reached).run()).map(|run| run.value) {
        Ok(Ok((report, wrong))) => (report, wrong.and_then(failed)),
        Ok(Err(panic)) => (Report::default(), failed(format!("panic: {}", said_by(&*panic)))),
        Err(stuck) => (Report::default(), failed(format!("it is stuck: {stuck}"))),
    }
}

/// The step that is under way, and by which scheme a copy is recovered: for whoever hears nothing from it any more.
type Place = Arc<Mutex<(usize, Option<Scheme>)>>;

struct Case {
    plan: Trial,
    dice: Dice,
    disk: SimDisk,
    checkpoint_on_close: bool,
    keep_log: bool,
    clock: Arc<AtomicI64>,
    report: Report,
    census: Census,
    reached: Place,
}

/// A database that is open, with who is at work in it.
struct Open {
    db: Database,
    sessions: Vec<Option<Session>>,
    numbers: Numbers,
}

fn say(what: &str) -> impl Fn(Error) -> String + '_ {
    move |error| format!("{what}: {}", text(&error))
}

impl Case {
    fn new(plan: Trial, reached: Place) -> Case {
        let mut dice = Dice::new(plan.seed, 22);
        Case {
            disk: SimDisk::new(dice.draw()),
            checkpoint_on_close: dice.chance(20),
            keep_log: dice.chance(20),
            clock: Arc::new(AtomicI64::new(BEGIN)),
            report: Report::default(),
            census: Census::default(),
            plan,
            dice,
            reached,
        }
    }

    /// What it came to, and what was wrong.
    fn run(mut self) -> (Report, Option<String>) {
        let wrong = self.steps().err();
        let Census { routines, asking, .. } = self.census;
        (Report { routines, asking, ..self.report }, wrong)
    }

    fn steps(&mut self) -> Checked<()> {
        let disk = self.disk.clone();
        let mut open = Some(self.opened(&disk)?);
        for number in 0..self.plan.script.len() {
            self.reach(number, None);
            self.clock.fetch_add(1_000_000, Ordering::Relaxed);
            let step = self.plan.script[number].clone();
            let is_struck = self.plan.struck.contains(&number);
            let now = open.take().expect("it is open between two steps");
            if !is_struck {
                open = Some(self.step(now, &step)?);
                continue;
            }
            let before = (Content::of(&now.db).map_err(say("its rows"))?, now.numbers.clone());
            self.disk.watch();
            let now = self.step(now, &step)?;
            let copies = self.disk.watched();
            let after = (Content::of(&now.db).map_err(say("its rows"))?, now.numbers.clone());
            self.strike(number, &copies, &before, &after)?;
            open = Some(now);
        }
        Ok(())
    }

    fn reach(&self, step: usize, scheme: Option<Scheme>) {
        *self.reached.lock().unwrap_or_else(PoisonError::into_inner) = (step, scheme);
    }

    fn options(&mut self, scheme: Scheme) -> Options {
        let (clock, dice) = (self.clock.clone(), &mut self.dice);
        Options::new()
            .log(self.plan.log)
            .protocol(self.plan.protocol)
            .heal_always(true)
            .checkpoint_on_close(self.checkpoint_on_close)
            .keep_log(self.keep_log)
            .loggers(dice.of(&[1, 1, 2]))
            .checkpoint_threads(1)
            .recovery(scheme)
            .recovery_threads(1 + dice.below(2) as usize)
            .log_segments(dice.of(&[8 << 10, 32 << 10]), dice.of(&[5, 1000]))
            .log_threads(false)
            .wall_clock(WallClock::new(move || clock.fetch_add(37, Ordering::Relaxed)))
    }

    /// Opens it by a scheme that is drawn.
    fn opened(&mut self, disk: &SimDisk) -> Checked<Open> {
        let scheme = self.dice.of(Scheme::ALL);
        let db = self.options(scheme).open_device(disk.device());
        let db = db.map_err(|e| format!("it does not open by {scheme}: {}", text(&e)))?;
        self.report.recoveries += 1;
        let numbers = Numbers::new(&db).map_err(say("its sequences"))?;
        Ok(Open { db, sessions: WHO.iter().map(|_| None).collect(), numbers })
    }

    /// Does a step; the database is open afterwards, perhaps again.
    fn step(&mut self, mut open: Open, step: &Step) -> Checked<Open> {
        let Step::Say { who, texts } = step else { return self.restart(open, step) };
        let (fate, refused) = open.say(*who, texts)?;
        self.report.said += 1;
        match refused {
            None => texts.iter().for_each(|text| self.census.take(text)),
            Some(state) => {
                self.report.refused += 1;
                let timeouts = [SqlState::QUERY_CANCELED, SqlState::LOCK_NOT_AVAILABLE];
                self.report.timeouts += u64::from(timeouts.contains(&state));
            }
        }
        open.numbers.step(&open.db, *who, fate).map_err(say("its sequences"))?;
        Ok(open)
    }

    fn restart(&mut self, open: Open, step: &Step) -> Checked<Open> {
        let Open { db, sessions, numbers } = open;
        let before = Content::of(&db).map_err(say("its rows"))?;
        if *step == Step::Backup {
            let other = SimDisk::new(self.dice.draw());
            db.backup_device(other.device()).map_err(say("a backup"))?;
            let copy = self.opened(&other).map_err(|e| format!("a backup: {e}"))?;
            self.equal(&copy.db, &before).map_err(|e| format!("a backup: {e}"))?;
            numbers.allow(copy.numbers.now(), None).map_err(|e| format!("a backup: {e}"))?;
            return Ok(Open { db, sessions, numbers });
        }
        drop(sessions);
        match step {
            Step::Close => db.close().map_err(say("it does not close"))?,
            _ => drop(db),
        }
        match step {
            Step::Stop(Some(survival)) => self.disk.crash(*survival),
            Step::Stop(None) => self.disk.kill(),
            _ => {}
        }
        let (disk, now) = (self.disk.clone(), self.clock.load(Ordering::Relaxed));
        self.clock.store(self.dice.of(&TIMES), Ordering::Relaxed);
        let open = self.opened(&disk)?;
        self.clock.store(now, Ordering::Relaxed);
        self.equal(&open.db, &before)?;
        match step {
            Step::Close => numbers.closed(open.numbers.now())?,
            _ => numbers.allow(open.numbers.now(), None)?,
        }
        Ok(open)
    }

    fn equal(&self, db: &Database, wanted: &Content) -> Checked<()> {
        match Content::checked(db).map_err(say("its rows"))?.difference(wanted) {
            none if none.is_empty() => Ok(()),
            difference => Err(format!("it has other content: {difference}")),
        }
    }

    /// Power fails at an operation of a step; each scheme recovers what was before it, or after.
    fn strike(
        &mut self,
        number: usize,
        copies: &[SimDisk],
        before: &(Content, Numbers),
        after: &(Content, Numbers),
    ) -> Checked<()> {
        // In half of the cases right after the step.
        let last = copies.len() - 1;
        let at = if self.plan.after || self.dice.chance(50) {
            last
        } else {
            self.dice.below(copies.len() as u64) as usize
        };
        let disk = &copies[at];
        disk.crash(if self.plan.after { Survival::Nothing } else { crash::survival(&mut self.dice) });
        let files = disk.files();
        let now = self.clock.load(Ordering::Relaxed);
        let mut which = None;
        for scheme in self.plan.schemes.clone() {
            self.reach(number, Some(scheme));
            let copy = SimDisk::with_files(&files, 0);
            self.clock.store(self.dice.of(&TIMES), Ordering::Relaxed);
            let db = self.options(scheme).open_device(copy.device());
            let db = db.map_err(|e| format!("it does not open by {scheme}: {}", text(&e)))?;
            self.report.recoveries += 1;
            let there = Content::checked(&db).map_err(say("its rows"))?;
            let is_after = there == after.0;
            let is_before = at < last && there == before.0;
            if !is_after && !is_before {
                let difference = there.difference(&after.0);
                return Err(format!("by {scheme} it has other content: {difference}"));
            }
            if *which.get_or_insert(is_before) != is_before {
                return Err(format!("by {scheme} a step is there, by another scheme it is not"));
            }
            let stand = positions(&db).map_err(say("its sequences"))?;
            let allowed =
                if is_before { before.1.allow(&stand, Some(&after.1)) } else { after.1.allow(&stand, None) };
            allowed.map_err(|e| format!("by {scheme} {e}"))?;
            next_follow(&db, &stand).map_err(|e| format!("by {scheme} {e}"))?;
        }
        self.clock.store(now, Ordering::Relaxed);
        Ok(())
    }
}

/// The next number of each sequence is the one after the last.
fn next_follow(db: &Database, stand: &std::collections::BTreeMap<String, content::Position>) -> Checked<()> {
    for (name, position) in stand.iter().filter(|(_, p)| p.last.is_some()) {
        let given = match db.query(&format!("SELECT nextval('{name}')"), ()) {
            Ok(rows) => Some(rows[0].get::<i64>(0).map_err(say("nextval"))?),
            Err(error) if error.sqlstate().as_str() == "2200H" => None,
            Err(error) => return Err(format!("nextval of {name}: {}", text(&error))),
        };
        if given != position.next() {
            return Err(format!("sequence {name} gives {given:?} after {:?}", position.last));
        }
    }
    Ok(())
}

/// Whether an error is the answer to a statement, and not that something has failed.
fn is_answer(error: &Error) -> bool {
    !matches!(&error.sqlstate().as_str()[..2], "XX" | "58" | "08" | "53")
}

/// Carries out a statement, or, where it begins with `call`, a call by the library's own way.
fn carried_out(session: &mut Session, text: &str) -> planaria::Result<()> {
    let called = text.strip_prefix("call ").and_then(|call| call.strip_suffix(')')?.split_once('('));
    let done = match called {
        Some((name, "")) => session.call(name, ()),
        Some((name, key)) => session.call(name, (key.parse::<i32>().unwrap_or_default(),)),
        None => return session.execute(text, ()).map(drop),
    };
    done.map(drop)
}

impl Open {
    /// Says something, and what became of its transaction; why it was refused, if it was.
    fn say(&mut self, who: usize, texts: &[String]) -> Checked<(Fate, Option<SqlState>)> {
        if self.sessions[who].is_none() {
            match self.db.session_as(WHO[who]) {
                Ok(mut session) => {
                    session.execute("SET lock_timeout = '5ms'", ()).map_err(say("SET"))?;
                    self.sessions[who] = Some(session);
                }
                // His role is not there.
                Err(error) if is_answer(&error) => return Ok((Fate::Lost, Some(error.sqlstate()))),
                Err(error) => return Err(say("a session")(error)),
            }
        }
        let session = self.sessions[who].as_mut().expect("it is there now");
        let mut refused = None;
        for text in texts {
            match carried_out(session, text) {
                Ok(()) => {}
                Err(error) if is_answer(&error) => {
                    refused = Some(error.sqlstate());
                    break;
                }
                Err(error) => {
                    return Err(format!(
                        "{} says {text}: {}",
                        WHO[who],
                        crate::faults::setting::text(&error)
                    ));
                }
            }
        }
        if refused.is_some() && session.in_transaction() {
            session.execute("ROLLBACK", ()).map_err(say("ROLLBACK"))?;
        }
        let fate = match texts.last().map(String::as_str) {
            _ if session.in_transaction() => Fate::Open,
            _ if refused.is_some() => Fate::Lost,
            Some("ROLLBACK") => Fate::Lost,
            _ => Fate::Committed,
        };
        Ok((fate, refused))
    }
}
