//! Power failures.

use super::setting::Prepared;
use super::{Outcome, Verdict};
use planaria_sim::dice::Dice;
use planaria_sim::disk::{SimDisk, Survival};

/// What a crash lets through: the three ways in turn for successive numbers.
const WAYS: [Survival; 3] = [Survival::Chance, Survival::Nothing, Survival::Everything];

pub fn survival(dice: &mut Dice) -> Survival {
    dice.of(&[Survival::Nothing, Survival::Everything, Survival::Chance, Survival::Chance])
}

/// Each operation, in each way.
pub fn cases(prepared: &Prepared) -> Option<u64> {
    Some(prepared.operations * WAYS.len() as u64)
}

/// Power fails at one operation of the run.
pub fn once(prepared: &Prepared, number: u64) -> Verdict {
    let mut dice = prepared.dice(number);
    let (at, way) = (number / WAYS.len() as u64, WAYS[number as usize % WAYS.len()]);
    let disk = SimDisk::new(dice.draw());
    disk.fail_power_at(at);
    let run = prepared.run(&disk, &mut dice, true);
    if !disk.power_failed() {
        return Ok(Outcome::Missed);
    }
    disk.crash(way);
    prepared.goes_on(&disk, run.done, &mut dice)?;
    Ok(Outcome::Held)
}

/// Operations of a recovery that are struck, one after the other; there are fewer.
const WITHIN: u64 = 32;
/// Crashes of the run that are followed by those.
const BEFORE: u64 = 8;

pub fn nested_cases(_: &Prepared) -> Option<u64> {
    Some(WITHIN * BEFORE)
}

/// Power fails, then again at an operation of the recovery, and some times more.
pub fn nested(prepared: &Prepared, number: u64) -> Verdict {
    // The same first crash for all operations of the recovery after it.
    let mut first = prepared.dice(number / WITHIN);
    let disk = SimDisk::new(first.draw());
    disk.fail_power_at(first.below(prepared.operations));
    let run = prepared.run(&disk, &mut first, true);
    disk.crash(survival(&mut first));
    let mut dice = prepared.dice(number);
    let mut at = number % WITHIN;
    for again in 0..1 + dice.below(4) {
        let before = disk.operations();
        disk.fail_power_at(before + at);
        match prepared.open(&disk, &Default::default(), &mut dice) {
            Ok(db) => {
                // The recovery is over by then: what is struck is what comes after.
                prepared.expect_of(&db, run.done..=run.done + 1)?;
                let closed = db.close();
                if again == 0 && !disk.power_failed() {
                    closed.map_err(|e| format!("it does not close: {}", super::setting::text(&e)))?;
                    return Ok(Outcome::Missed);
                }
            }
            Err(error) if !disk.power_failed() => {
                return Err(format!("it does not open: {}", super::setting::text(&error)));
            }
            Err(_) => {}
        }
        match dice.chance(30) {
            true => disk.kill(),
            false => disk.crash(survival(&mut dice)),
        }
        at = dice.below(WITHIN / 2);
    }
    prepared.goes_on(&disk, run.done, &mut dice)?;
    Ok(Outcome::Held)
}

/// The same with a clock that jumps.
pub fn clock(prepared: &Prepared, number: u64) -> Verdict {
    let jumping = Prepared::with_clock(prepared.seed + number, prepared.steps, true)?;
    let mut dice = prepared.dice(number);
    once(&jumping, dice.below(jumping.operations * WAYS.len() as u64))
}
