//! A disk that is full.

use super::crash::survival;
use super::setting::{Prepared, text};
use super::{Outcome, Verdict};
use crate::script::StepClock;
use planaria::SqlState;
use planaria_sim::disk::SimDisk;

/// The disk has room for so many bytes and no more; then it has, and the database is opened again.
pub fn fill(prepared: &Prepared, number: u64) -> Verdict {
    let mut dice = prepared.dice(number);
    let disk = SimDisk::new(dice.draw());
    let room = 100 + dice.below(prepared.setting.segment_bytes * 16);
    disk.set_capacity(Some(room));
    let clock = StepClock::default();
    let mut done = 0;
    let outcome = prepared.open(&disk, &clock, &mut dice).and_then(|db| {
        let mut outcome = prepared.script.run(&db, &clock, &mut done);
        while outcome.is_err() && prepared.script.steps[done].statements == ["CHECKPOINT"] {
            // One for which there is no room leaves all as it was.
            done += 1;
            outcome = prepared.script.run(&db, &clock, &mut done);
        }
        outcome
    });
    match outcome {
        Ok(()) => return Ok(Outcome::Missed),
        Err(error) if error.sqlstate() != SqlState::DISK_FULL => {
            return Err(format!("it is another error than a full disk: {}", text(&error)));
        }
        Err(_) => {}
    }
    if dice.chance(50) {
        // Still no room: what is there must be there, if it opens.
        disk.kill();
        disk.set_capacity(Some(room));
        match prepared.open(&disk, &clock, &mut dice) {
            Ok(db) => {
                prepared.expect_of(&db, done..=done + 1)?;
            }
            Err(error) if error.sqlstate() == SqlState::DISK_FULL => {}
            Err(error) => return Err(format!("without room it does not open: {}", text(&error))),
        }
    }
    match dice.chance(50) {
        true => disk.kill(),
        false => disk.crash(survival(&mut dice)),
    }
    prepared.goes_on(&disk, done, &mut dice)?;
    Ok(Outcome::Held)
}
