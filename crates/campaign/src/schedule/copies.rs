//! Copies of a database that are made while it works: backups, and what is restored from them and the log.

use super::record::Until;
use crate::faults::setting::text;
use planaria::checkpoint::Restore;
use planaria::lab::{LabDatabase, LabRestore};
use planaria::{Database, Options};
use planaria_base::sync::thread;
use planaria_base::{CommitTs, Epoch};
use planaria_sim::dice::Dice;
use planaria_sim::disk::{SimDisk, Survival};
use std::time::Duration;

/// A copy, on a disk of its own, and which commits it is to have.
pub struct Copy {
    pub what: &'static str,
    pub disk: SimDisk,
    pub until: Until,
}

/// Takes a backup in the midst of everything, and sometimes restores from it and the log that is being written.
/// Nothing where the power fails meanwhile.
pub fn take(db: &Database, disk: &SimDisk, mut dice: Dice, keeps_log: bool) -> Result<Vec<Copy>, String> {
    thread::sleep(Duration::from_micros(dice.below(1500)));
    let backup = SimDisk::new(dice.draw());
    let report = match db.backup_device(backup.device()) {
        Ok(report) => report,
        Err(_) if disk.power_failed() => return Ok(Vec::new()),
        Err(error) => return Err(format!("a backup fails: {}", text(&error))),
    };
    // It is there, whatever becomes of its disk.
    backup.crash(Survival::Nothing);
    let until = Until::Epoch(Epoch(report.epoch));
    let mut copies = vec![Copy { what: "a backup", disk: backup.clone(), until }];
    if keeps_log && dice.chance(60) {
        thread::sleep(Duration::from_micros(dice.below(500)));
        let restored = SimDisk::new(dice.draw());
        let restore = Restore::from_device(backup.device()).log_device(disk.device());
        let restore = restore.options(options(&mut dice));
        match restore.to_device(restored.device()) {
            Ok(report) => {
                restored.crash(Survival::Nothing);
                let (what, until) = ("what was restored meanwhile", Until::Epoch(Epoch(report.epoch)));
                copies.push(Copy { what, disk: restored, until });
            }
            Err(_) if disk.power_failed() => {}
            Err(error) => return Err(format!("restoring meanwhile fails: {}", text(&error))),
        }
    }
    Ok(copies)
}

/// Restores up to a commit, from a backup and the log that is left of its database.
pub fn restore(backup: &Copy, log: &SimDisk, until: CommitTs, dice: &mut Dice) -> Result<Copy, String> {
    let disk = SimDisk::new(dice.draw());
    Restore::from_device(backup.disk.device())
        .log_device(log.device())
        .until(until.epoch().0, until.sequence())
        .options(options(dice))
        .to_device(disk.device())
        .map_err(|e| format!("restoring up to {until:?} fails: {}", text(&e)))?;
    disk.crash(Survival::Nothing);
    Ok(Copy { what: "what was restored", disk, until: Until::Commit(until) })
}

fn options(dice: &mut Dice) -> Options {
    Options::new()
        .checkpoint_threads(1 + dice.below(2) as usize)
        .recovery(dice.of(planaria::Scheme::ALL))
        .recovery_threads(1 + dice.below(3) as usize)
}
