//! What a seed decides once: how the database works, and what is done with it.

use super::damage::Left;
use crate::model::{Model, State};
use crate::script::{Script, StepClock};
use planaria::lab::LabOptions;
use planaria::{Database, Error, LogKind, Options, ProtocolKind, Scheme};
use planaria_sim::dice::Dice;
use planaria_sim::disk::SimDisk;
use std::cell::OnceCell;

/// How a database works.
#[derive(Clone, Debug)]
pub struct Setting {
    pub log: LogKind,
    pub protocol: ProtocolKind,
    pub loggers: usize,
    pub segment_bytes: u64,
    pub segment_epochs: u64,
    pub checkpoint_on_close: bool,
    pub keep_log: bool,
}

impl Setting {
    fn draw(seed: u64) -> Setting {
        let mut dice = Dice::new(seed, 2);
        let kinds: Vec<_> = LogKind::ALL.iter().copied().filter(|k| *k != LogKind::Off).collect();
        Setting {
            log: dice.of(&kinds),
            protocol: crate::protocol(&mut dice),
            loggers: dice.of(&[1, 1, 2, 3]),
            segment_bytes: dice.of(&[6 << 10, 8 << 10, 16 << 10]),
            segment_epochs: dice.of(&[3, 8, 1000]),
            checkpoint_on_close: dice.chance(20),
            keep_log: dice.chance(20),
        }
    }

    /// Options of an opening. Which scheme recovers, and with how many threads, is another chance each time:
    /// reading changes nothing on disk.
    pub fn options(&self, clock: &StepClock, dice: &mut Dice) -> Options {
        Options::new()
            .log(self.log)
            .protocol(self.protocol)
            .heal_always(true)
            .loggers(self.loggers)
            .checkpoint_on_close(self.checkpoint_on_close)
            .keep_log(self.keep_log)
            .checkpoint_threads(1)
            .recovery(dice.of(Scheme::ALL))
            .recovery_threads(1 + dice.below(3) as usize)
            .log_segments(self.segment_bytes, self.segment_epochs)
            .log_threads(false)
            .wall_clock(clock.wall_clock())
    }
}

/// A seed's setting, its script, and what an undisturbed run of it is like.
pub struct Prepared {
    pub seed: u64,
    pub steps: usize,
    pub setting: Setting,
    pub script: Script,
    pub model: Model,
    /// Operations and syncs of the disk in an undisturbed run, and operations when the schema was there.
    pub operations: u64,
    pub syncs: u64,
    left: OnceCell<Left>,
}

/// A run that may not have come to its end.
pub struct Run {
    /// Steps that were answered.
    pub done: usize,
    /// Why it ended before the last.
    pub error: Option<Error>,
}

impl Prepared {
    pub fn new(seed: u64, steps: usize) -> Result<Prepared, String> {
        Prepared::with_clock(seed, steps, false)
    }

    /// With a clock that jumps or not.
    pub fn with_clock(seed: u64, steps: usize, jumps: bool) -> Result<Prepared, String> {
        let script = Script::draw(seed, steps, jumps);
        let model = Model::of(&script).map_err(|e| format!("the script, in memory: {}", text(&e)))?;
        let setting = Setting::draw(seed);
        let mut prepared =
            Prepared { seed, steps, setting, script, model, operations: 0, syncs: 0, left: OnceCell::new() };
        let disk = SimDisk::new(seed);
        let run = prepared.run(&disk, &mut Dice::new(seed, 3), true);
        if let Some(error) = run.error {
            return Err(format!("an undisturbed run: {}", text(&error)));
        }
        (prepared.operations, prepared.syncs) = (disk.operations(), disk.syncs());
        prepared.expect(&disk, run.done..=run.done, &mut Dice::new(seed, 4))?;
        Ok(prepared)
    }

    /// The directory that is left by a run that is a function of the seed.
    pub fn left(&self) -> &Left {
        self.left.get_or_init(|| Left::of(self))
    }

    /// All steps.
    pub fn all(&self) -> usize {
        self.script.steps.len()
    }

    /// Chance for a case.
    pub fn dice(&self, number: u64) -> Dice {
        Dice::new(self.seed, 1000 + number)
    }

    pub fn open(&self, disk: &SimDisk, clock: &StepClock, dice: &mut Dice) -> planaria::Result<Database> {
        self.setting.options(clock, dice).open_device(disk.device())
    }

    /// Opens, does all steps, and closes if `close`; up to the first error.
    pub fn run(&self, disk: &SimDisk, dice: &mut Dice, close: bool) -> Run {
        let clock = StepClock::default();
        let mut done = 0;
        let outcome = self.open(disk, &clock, dice).and_then(|db| {
            self.script.run(&db, &clock, &mut done)?;
            if close { db.close() } else { Ok(()) }
        });
        Run { done, error: outcome.err() }
    }

    /// Opens the database, which must be as after one of these numbers of steps; which one.
    pub fn expect(
        &self,
        disk: &SimDisk,
        allowed: std::ops::RangeInclusive<usize>,
        dice: &mut Dice,
    ) -> Result<usize, String> {
        let db = self
            .open(disk, &StepClock::default(), dice)
            .map_err(|e| format!("it does not open: {}", text(&e)))?;
        self.expect_of(&db, allowed)
    }

    /// The same of one that is open.
    pub fn expect_of(
        &self,
        db: &Database,
        allowed: std::ops::RangeInclusive<usize>,
    ) -> Result<usize, String> {
        let state = State::of(db).map_err(|e| format!("its state cannot be asked for: {}", text(&e)))?;
        self.model.find(&state, allowed)
    }

    /// After a crash with `done` steps answered: nothing is lost, it goes on to the end of the script, and
    /// that is there the next time it is opened, and after another crash.
    pub fn goes_on(&self, disk: &SimDisk, done: usize, dice: &mut Dice) -> Result<(), String> {
        let clock = StepClock::default();
        let db = self
            .open(disk, &clock, dice)
            .map_err(|e| format!("after the crash it does not open: {}", text(&e)))?;
        let mut done = self.expect_of(&db, done..=done + 1)?;
        self.script
            .run(&db, &clock, &mut done)
            .and_then(|()| if dice.chance(50) { db.close() } else { Ok(()) })
            .map_err(|e| format!("it does not go on: {}", text(&e)))?;
        disk.crash(planaria_sim::disk::Survival::Nothing);
        self.expect(disk, done..=done, dice).map(|_| ()).map_err(|e| format!("after it went on: {e}"))
    }
}

/// An error with all it says.
pub fn text(error: &Error) -> String {
    let fields = error.fields();
    let mut text = format!("{} {error}", error.sqlstate().as_str());
    for more in [&fields.detail, &fields.context].into_iter().flatten() {
        text.push_str(" / ");
        text.push_str(more);
    }
    text
}
