//! Backups that are cut short, and backups that are restored.

use super::setting::{Prepared, text};
use super::{Outcome, Verdict};
use crate::script::StepClock;
use planaria::lab::LabDatabase;
use planaria_sim::disk::{SimDisk, Survival};

/// Operations of a backup that are struck; there are fewer.
const WITHIN: u64 = 24;

pub fn cases(_: &Prepared) -> Option<u64> {
    Some(WITHIN)
}

/// Power fails for the disk that a backup goes to. The database does not mind; what is left of the backup
/// opens as the database as it was, or not at all. Then a backup is whole, and restored.
pub fn backup(prepared: &Prepared, number: u64) -> Verdict {
    let mut dice = prepared.dice(number);
    let (disk, other) = (SimDisk::new(dice.draw()), SimDisk::new(dice.draw()));
    let clock = StepClock::default();
    let db = prepared.open(&disk, &clock, &mut dice).map_err(|e| text(&e))?;
    let mut done = 0;
    prepared.script.run(&db, &clock, &mut done).map_err(|e| text(&e))?;
    other.fail_power_at(number);
    let outcome = db.backup_device(other.device());
    let struck = other.power_failed();
    if struck && outcome.is_ok() {
        return Err("the backup is said to be whole after a power failure".to_owned());
    }
    other.crash(if dice.chance(50) { Survival::Chance } else { Survival::Everything });
    // No name reached the disk: nobody can take it for a backup.
    let nothing = other.files().is_empty();
    match prepared.open(&other, &clock, &mut dice) {
        Ok(_) if nothing => {}
        Ok(restored) => {
            prepared.expect_of(&restored, done..=done).map_err(|e| format!("what is left: {e}"))?;
        }
        Err(error) if !struck => return Err(format!("a whole backup does not open: {}", text(&error))),
        Err(_) => {}
    }
    prepared.expect_of(&db, done..=done).map_err(|e| format!("the database after its backup: {e}"))?;
    let whole = SimDisk::new(dice.draw());
    db.backup_device(whole.device()).map_err(|e| format!("a second backup: {}", text(&e)))?;
    whole.crash(Survival::Nothing);
    prepared.expect(&whole, done..=done, &mut dice).map_err(|e| format!("restored: {e}"))?;
    Ok(if struck { Outcome::Held } else { Outcome::Missed })
}
