//! What clients, and those who disturb them, do at the same time.

use super::copies::{self, Copy};
use super::definer::{self, Definer};
use super::drawer::{self, Drawer};
use super::record::{Record, Seen};
use super::{Case, Checked, DEFINERS, Flaw, say};
use crate::histories::client::{Client, Doubt};
use planaria::{Canceller, Database, Error, Result, Session};
use planaria_base::CommitTs;
use planaria_base::sync::{Mutex, thread};
use planaria_sim::dice::Dice;
use planaria_sim::disk::SimDisk;
use planaria_sim::history::Transaction;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// What a client of histories came to.
#[derive(Default)]
struct Done {
    committed: Vec<Transaction>,
    doubt: Option<Doubt>,
    generations: Vec<(CommitTs, i64)>,
}

/// What somebody was told before he ended, and the error that ended him.
type End<T> = (Option<T>, Option<Error>);

/// Who works, and how.
struct Workplace<'a> {
    db: &'a Database,
    disk: &'a SimDisk,
    stop: AtomicBool,
    cancellers: Mutex<Vec<Canceller>>,
}

impl Workplace<'_> {
    /// A session whose statements may be cancelled.
    fn session(&self, dice: &mut Dice) -> Result<Session> {
        let mut session = self.db.session()?;
        self.cancellers.lock().push(session.canceller());
        if dice.chance(15) {
            let timeout = format!("SET statement_timeout = {}", 1 + dice.below(3));
            match session.execute(&timeout, ()) {
                Err(error) if error.sqlstate().as_str() != "57014" => return Err(error),
                _ => {}
            }
        }
        Ok(session)
    }

    fn goes_on(&self) -> bool {
        !self.stop.load(Ordering::Relaxed) && !self.disk.power_failed()
    }

    /// Opens sessions, works as long as that goes well, and tells what came of it.
    fn steps<W, T>(
        &self,
        mut dice: Dice,
        each: u64,
        begin: impl FnOnce(Session, Dice) -> W,
        step: impl Fn(&mut W) -> Result<()>,
        end: impl FnOnce(W) -> T,
    ) -> End<T> {
        match self.session(&mut dice) {
            Ok(session) => {
                let mut worker = begin(session, dice);
                let error = (0..each).find_map(|_| step(&mut worker).err());
                (Some(end(worker)), error)
            }
            Err(error) => (None, Some(error)),
        }
    }

    fn write_checkpoints(&self, mut dice: Dice) -> Checked<()> {
        while self.goes_on() {
            thread::sleep(Duration::from_micros(100 + dice.below(3000)));
            if let Err(error) = self.db.checkpoint()
                && !self.disk.power_failed()
            {
                return Err(format!("a checkpoint fails: {}", say(error)));
            }
        }
        Ok(())
    }

    fn cancel(&self, mut dice: Dice) {
        while self.goes_on() {
            thread::sleep(Duration::from_micros(20 + dice.below(600)));
            let cancellers = self.cancellers.lock();
            if !cancellers.is_empty() {
                cancellers[dice.below(cancellers.len() as u64) as usize].cancel();
            }
        }
    }
}

type Joined<'s, T> = thread::ScopedJoinHandle<'s, T>;

/// What they came to, of those who were not kept from it.
fn join<T>(threads: Vec<Joined<'_, End<T>>>, disk: &SimDisk) -> Checked<Vec<T>> {
    let mut told = Vec::new();
    let mut failed = None;
    for thread in threads {
        let (what, error) = thread.join().map_err(|_| "a client panicked".to_owned())?;
        told.extend(what);
        failed = failed.or(error.filter(|_| !disk.power_failed()));
    }
    match failed {
        Some(error) => Err(format!("a client is told {}", say(error))),
        None => Ok(told),
    }
}

impl Case {
    /// Clients work until the power fails, or they have done enough: what they came to, and copies that were made
    /// meanwhile.
    pub(super) fn work(&mut self, db: &Database, record: &Record, round: i64) -> Checked<(Seen, Vec<Copy>)> {
        let place =
            Workplace { db, disk: &self.disk, stop: AtomicBool::new(false), cancellers: Mutex::default() };
        let (place, dice, ids) = (&place, &mut self.dice, &*self.ids);
        let each = 2 + dice.below(6);
        let (clients, definers, drawers) = match dice.below(100) {
            0..40 => (2 + dice.below(3), 0, 0),
            40..60 => (1 + dice.below(3), 1 + dice.below(DEFINERS), 0),
            60..70 => (1 + dice.below(2), 0, 1 + dice.below(3)),
            _ => (1 + dice.below(2), 1 + dice.below(DEFINERS), 1 + dice.below(2)),
        };
        let (checkpoints, cancels, backs_up) = (dice.chance(60), dice.chance(35), dice.chance(30));
        let (keep_log, flaw) = (self.keep_log, self.subject.flaw);
        let first_drawer = self.drawers;
        self.drawers += drawers as i64;
        let power_failed = || place.disk.power_failed();
        let power_failed = &power_failed;
        let (mut seen, copies) = thread::scope(|scope| {
            let named = |what: &str, number: u64| thread::Builder::new().name(format!("{what}-{number}"));
            let start = |e: std::io::Error| e.to_string();
            let mut started = Vec::new();
            for number in 0..clients {
                let dice = Dice::new(dice.draw(), 7);
                let begin = move |session, dice| Client::new(session, dice, ids).saying(power_failed);
                let end = |mut client: Client<'_>| {
                    let (doubt, generations) = (client.doubt(), client.copies());
                    Done { doubt, generations, committed: client.end().0 }
                };
                let work = move || place.steps(dice, each, begin, Client::transaction, end);
                started.push(scope.spawn_by(named("client", number), work).map_err(start)?);
            }
            let mut defining: Vec<Joined<'_, End<definer::Told>>> = Vec::new();
            for number in 0..definers {
                let (dice, owned) = (Dice::new(dice.draw(), 8), record.owned(number).clone());
                let in_pieces = flaw == Some(Flaw::BlocksInPieces);
                let begin = move |session, dice| Definer::new(session, dice, owned, round, in_pieces);
                let work = move || place.steps(dice, each, begin, Definer::step, Definer::end);
                defining.push(scope.spawn_by(named("definer", number), work).map_err(start)?);
            }
            let mut drawing: Vec<Joined<'_, End<drawer::Told>>> = Vec::new();
            for number in 0..drawers {
                let dice = Dice::new(dice.draw(), 9);
                let begin = move |session, dice| Drawer::new(session, dice, first_drawer + number as i64);
                let work = move || place.steps(dice, each, begin, Drawer::step, Drawer::end);
                drawing.push(scope.spawn_by(named("drawer", number), work).map_err(start)?);
            }
            let mut disturbing = Vec::new();
            if checkpoints {
                let dice = Dice::new(dice.draw(), 99);
                disturbing.push(scope.spawn(move || place.write_checkpoints(dice)));
            }
            if cancels {
                let dice = Dice::new(dice.draw(), 98);
                disturbing.push(scope.spawn(move || {
                    place.cancel(dice);
                    Ok(())
                }));
            }
            let backup = backs_up.then(|| {
                let dice = Dice::new(dice.draw(), 97);
                scope.spawn(move || copies::take(place.db, place.disk, dice, keep_log))
            });
            let (done, definers, drawers) =
                (join(started, place.disk), join(defining, place.disk), join(drawing, place.disk));
            place.stop.store(true, Ordering::Relaxed);
            let panicked = |_| "a thread beside the clients panicked".to_owned();
            let copies = backup.map_or(Ok(Ok(Vec::new())), Joined::join).map_err(panicked);
            for thread in disturbing {
                thread.join().map_err(panicked)??;
            }
            let mut seen = Seen { definers: definers?, drawers: drawers?, ..Seen::default() };
            for done in done? {
                seen.committed.extend(done.committed);
                seen.doubts.extend(done.doubt);
                seen.generations.extend(done.generations);
            }
            Ok::<_, String>((seen, copies??))
        })?;
        if flaw == Some(Flaw::CancelledAnyway) {
            seen.committed.pop_if(|t| t.writes());
        }
        Ok((seen, copies))
    }
}
