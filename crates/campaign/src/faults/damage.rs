//! Disks that lie: bits flip, writes go astray.

use super::crash::survival;
use super::setting::{Prepared, text};
use super::{Outcome, Verdict};
use crate::script::StepClock;
use planaria::SqlState;
use planaria_sim::dice::Dice;
use planaria_sim::disk::{Astray, SECTOR, SimDisk};
use std::collections::BTreeMap;

/// A directory as a run leaves it, ended cleanly or by a crash, and the steps that were answered.
fn left(prepared: &Prepared, dice: &mut Dice) -> (SimDisk, usize, bool) {
    let disk = SimDisk::new(dice.draw());
    let clean = dice.chance(50);
    if !clean && dice.chance(70) {
        disk.fail_power_at(prepared.operations * 2 / 3 + dice.below(prepared.operations / 3));
    }
    let run = prepared.run(&disk, dice, clean);
    let clean = clean && run.error.is_none();
    disk.crash(survival(dice));
    (disk, run.done, clean)
}

/// A bit flips in one of the files.
pub fn flip(prepared: &Prepared, number: u64) -> Verdict {
    // Some flips in each of the directories.
    let mut dice = prepared.dice(number / 16);
    let (disk, done, clean) = left(prepared, &mut dice);
    let mut dice = prepared.dice(number);
    let files = disk.files();
    let files: Vec<_> = files.iter().filter(|(_, content)| !content.is_empty()).collect();
    let (name, content) = files[dice.below(files.len() as u64) as usize];
    // A header's fields stand in its first bytes.
    let bytes = if dice.chance(20) { 72.min(content.len()) } else { content.len() };
    let bit = dice.below(bytes as u64 * 8);
    disk.flip_bit(name, bit);
    judge(prepared, &disk, done, clean, &mut dice).map_err(|e| format!("bit {bit} of {name}: {e}"))
}

/// The directory that a run of a seed leaves, for what is done to it in many cases.
pub struct Left {
    files: BTreeMap<String, Vec<u8>>,
    done: usize,
    clean: bool,
}

impl Left {
    pub fn of(prepared: &Prepared) -> Left {
        let (disk, done, clean) = left(prepared, &mut prepared.dice(0));
        Left { files: disk.files(), done, clean }
    }
}

/// Each byte of each file.
pub fn bytes(prepared: &Prepared) -> Option<u64> {
    Some(prepared.left().files.values().map(|content| content.len() as u64).sum())
}

/// The byte of this number, counted over all files, becomes another.
pub fn byte(prepared: &Prepared, number: u64) -> Verdict {
    let left = prepared.left();
    let mut dice = prepared.dice(number);
    let mut files = left.files.clone();
    let mut at = number as usize;
    let found = files.iter_mut().find(|(_, content)| {
        let here = at < content.len();
        if !here {
            at -= content.len();
        }
        here
    });
    let Some((name, content)) = found else { return Ok(Outcome::Missed) };
    let (name, mask) = (name.clone(), 1 + dice.below(255) as u8);
    content[at] ^= mask;
    let disk = SimDisk::with_files(&files, dice.draw());
    judge(prepared, &disk, left.done, left.clean, &mut dice)
        .map_err(|e| format!("byte {at} of {name}, changed by {mask:#04x}: {e}"))
}

/// One of the files is no longer what it was.
pub fn file(prepared: &Prepared, number: u64) -> Verdict {
    let mut dice = prepared.dice(number);
    let disk = SimDisk::new(dice.draw());
    let clock = StepClock::default();
    let (mut done, clean) = (0, dice.chance(60));
    let early = dice.below(prepared.all() as u64) as usize;
    let run = |e: planaria::Error| format!("an undisturbed run: {}", text(&e));
    let db = prepared.open(&disk, &clock, &mut dice).map_err(run)?;
    prepared.script.run_to(early, &db, &clock, &mut done).map_err(run)?;
    let once = disk.files();
    prepared.script.run(&db, &clock, &mut done).map_err(run)?;
    if clean {
        db.close().map_err(run)?;
    }
    let mut files = disk.files();
    let names: Vec<String> = files.keys().cloned().collect();
    let mut one = || dice.of(&names.iter().collect::<Vec<_>>()).clone();
    let (name, other) = (one(), one());
    // Older than it was, or other, what a crash left as the newest may hold several groups of commits less: that
    // cannot be told. That it is shorter or missing can.
    let newest = !clean && name.ends_with(".log");
    let content = files.get_mut(&name).ok_or("no such file")?;
    let what = match dice.below(5) {
        0 if !content.is_empty() => {
            let sector = dice.below(content.len().div_ceil(SECTOR) as u64) as usize * SECTOR;
            let end = content.len().min(sector + SECTOR);
            // The frame that was written last, or what is behind it: it may hold several groups of commits.
            let last = content.chunks(8).rposition(|words| words.starts_with(b"PFr3")).unwrap_or(0) * 8;
            if newest && end > last {
                return Ok(Outcome::Missed);
            }
            content[sector..end].fill(0);
            format!("{name} has zeros at {sector}")
        }
        1 => {
            content.truncate(dice.below(1 + content.len() as u64) as usize);
            format!("{name} is cut to {}", content.len())
        }
        2 if !newest => match once.get(&name) {
            Some(old) => {
                content.clone_from(old);
                format!("{name} is as after step {early}")
            }
            None => return Ok(Outcome::Missed),
        },
        2 => return Ok(Outcome::Missed),
        3 if !newest => {
            let theirs = files[&other].clone();
            files.insert(name.clone(), theirs);
            format!("{name} is a copy of {other}")
        }
        3 => return Ok(Outcome::Missed),
        _ => {
            files.remove(&name);
            format!("{name} is removed")
        }
    };
    let disk = SimDisk::with_files(&files, dice.draw());
    judge(prepared, &disk, done, clean, &mut dice).map_err(|e| format!("{what}: {e}"))
}

/// A write goes astray; the run goes on, and power fails later, or it is closed.
pub fn misdirect(prepared: &Prepared, number: u64) -> Verdict {
    let mut dice = prepared.dice(number);
    let disk = SimDisk::new(dice.draw());
    let at = dice.below(prepared.operations);
    let to = match dice.below(3) {
        0 => Astray::Lost,
        1 => Astray::By(dice.of(&[-4096, -512, 512, 4096, 8192])),
        _ => {
            let clock = &Default::default();
            // Names are the same in each run.
            let other = SimDisk::new(0);
            other.fail_power_at(at);
            let mut done = 0;
            if let Ok(db) = prepared.open(&other, clock, &mut dice.clone()) {
                let _ = prepared.script.run(&db, clock, &mut done);
            }
            let names: Vec<String> = other.files().into_keys().collect();
            match names.is_empty() {
                true => Astray::Lost,
                false => Astray::Into(names[dice.below(names.len() as u64) as usize].clone()),
            }
        }
    };
    let what = format!("the write at {at} goes {to:?}");
    disk.misdirect_write_at(at, to);
    let clean = dice.chance(50);
    if !clean {
        disk.fail_power_at(at + 1 + dice.below(prepared.operations - at));
    }
    let run = prepared.run(&disk, &mut dice, clean);
    if !disk.struck() {
        return Ok(Outcome::Missed);
    }
    if let Some(error) = run.error.as_ref().filter(|_| !disk.power_failed()) {
        // It may notice while it runs: what a checkpoint deletes, it looks at.
        return detected(error).map(|()| Outcome::Detected).map_err(|e| format!("{what}: {e}"));
    }
    let clean = clean && run.error.is_none();
    disk.crash(survival(&mut dice));
    judge(prepared, &disk, run.done, clean, &mut dice).map_err(|e| format!("{what}: {e}"))
}

/// Damage is named, or does no harm.
fn judge(prepared: &Prepared, disk: &SimDisk, done: usize, clean: bool, dice: &mut Dice) -> Verdict {
    let db = match prepared.open(disk, &Default::default(), dice) {
        Ok(db) => db,
        Err(error) => return detected(&error).map(|()| Outcome::Detected),
    };
    let wrong = match prepared.expect_of(&db, done..=done + 1) {
        Ok(_) => return Ok(Outcome::Held),
        Err(wrong) => wrong,
    };
    if !clean {
        let before = prepared.model.before(done);
        if prepared.expect_of(&db, before..=before).is_ok() {
            return Ok(Outcome::Tail);
        }
    }
    Err(format!("served silently: {wrong}"))
}

/// Whether an error says what is damaged, and where. A file that is gone has no offset.
fn detected(error: &planaria::Error) -> Result<(), String> {
    let all = text(error);
    let named = all.contains("sim/") && (all.contains("offset") || all.contains("there is no checkpoint"));
    match error.sqlstate() == SqlState::DATA_CORRUPTED && named {
        true => Ok(()),
        false => Err(format!("the error does not name file and offset: {all}")),
    }
}
