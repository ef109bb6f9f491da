//! Operations of the disk that fail, and say so.

use super::crash::survival;
use super::setting::{Prepared, text};
use super::{Outcome, Verdict};
use planaria::SqlState;
use planaria_sim::disk::{SimDisk, Survival};

pub fn syncs(prepared: &Prepared) -> Option<u64> {
    Some(prepared.syncs)
}

pub fn writes(prepared: &Prepared) -> Option<u64> {
    Some(prepared.operations)
}

/// A sync fails and loses what it was to write.
pub fn sync(prepared: &Prepared, number: u64) -> Verdict {
    let disk = SimDisk::new(number);
    disk.fail_sync_at(number);
    failed(prepared, number, &disk)
}

/// A write fails.
pub fn write(prepared: &Prepared, number: u64) -> Verdict {
    let disk = SimDisk::new(number);
    disk.fail_write_at(number);
    failed(prepared, number, &disk)
}

/// The run that meets it ends with an error, or goes on where nothing depended on it; then the process is
/// started anew, or the machine is.
fn failed(prepared: &Prepared, number: u64, disk: &SimDisk) -> Verdict {
    let mut dice = prepared.dice(number);
    let clock = crate::script::StepClock::default();
    let mut done = 0;
    match prepared.open(disk, &clock, &mut dice) {
        Err(error) => expect_io_error(&error)?,
        Ok(db) => {
            while let Err(error) = prepared.script.run(&db, &clock, &mut done) {
                expect_io_error(&error)?;
                // Reads go on. What they see may be a step more than was answered.
                db.digests().map_err(|e| format!("reads do not go on: {}", text(&e)))?;
                if prepared.script.steps[done].statements != ["CHECKPOINT"] {
                    break;
                }
                // A checkpoint that failed may be tried again, or not: commits have stopped if the log has.
                done += 1;
            }
            if done == prepared.all()
                && let Err(error) = db.close()
            {
                expect_io_error(&error)?;
            }
        }
    }
    if !disk.struck() {
        return Ok(Outcome::Missed);
    }
    match dice.chance(30) {
        true => disk.kill(),
        false => disk.crash(survival(&mut dice)),
    }
    prepared.goes_on(disk, done, &mut dice)?;
    Ok(Outcome::Held)
}

fn expect_io_error(error: &planaria::Error) -> Result<(), String> {
    match error.sqlstate() == SqlState::IO_ERROR {
        true => Ok(()),
        false => Err(format!("it is no I/O error: {}", text(error))),
    }
}

/// Reads of a recovery that are struck; there may be fewer.
const READS: u64 = 40;

pub fn reads(_: &Prepared) -> Option<u64> {
    Some(READS)
}

/// A read of the recovery fails: the database does not open, says why, and opens the next time.
pub fn read(prepared: &Prepared, number: u64) -> Verdict {
    let mut dice = prepared.dice(0);
    let disk = SimDisk::new(dice.draw());
    disk.fail_power_at(dice.below(prepared.operations));
    let run = prepared.run(&disk, &mut dice, true);
    disk.crash(Survival::Chance);
    let mut dice = prepared.dice(number);
    disk.fail_read_after(number);
    match prepared.open(&disk, &Default::default(), &mut dice) {
        // It was read again, or another way was found.
        Ok(db) => {
            prepared.expect_of(&db, run.done..=run.done + 1)?;
        }
        Err(_) if !disk.struck() => return Err("it does not open".to_owned()),
        Err(error) => {
            expect_io_error(&error)?;
            if !format!("{} {:?}", text(&error), error.fields()).contains("sim/") {
                return Err(format!("the error does not name the file: {}", text(&error)));
            }
        }
    }
    if !disk.struck() {
        return Ok(Outcome::Missed);
    }
    disk.kill();
    prepared.goes_on(&disk, run.done, &mut dice)?;
    Ok(Outcome::Held)
}
