//! Damage to log files: whatever bit flips, sector is lost or file is cut, the log opens with every
//! record, or with an error; records go missing silently only in the one epoch of which nothing on
//! disk says that it was complete.

use planaria_base::clock::CommitClock;
use planaria_base::{CommitTs, Epoch, Error, ProcedureId, SqlState};
use planaria_log::{Device, LogReader, Options};
use planaria_sim::disk::{Astray, SECTOR, SimDisk, Survival};
use std::sync::Arc;

fn records(device: Arc<dyn Device>) -> Result<Vec<CommitTs>, Error> {
    let reader = LogReader::open(device)?;
    let mut records = Vec::new();
    for batch in reader.batches(Epoch(0)) {
        for record in batch?.records() {
            record.decode()?;
            records.push(record.commit_ts());
        }
    }
    Ok(records)
}

/// A log of two runs, the first ended by a crash, the second cleanly if `clean`.
fn example(clean: bool) -> (SimDisk, Vec<CommitTs>) {
    let disk = SimDisk::new(3);
    for run in 0..2 {
        let clock = Arc::new(CommitClock::new(Epoch(1)));
        let options = Options {
            loggers: 2,
            segment_bytes_max: 6 << 10,
            segment_epochs_max: 5,
            threads: false,
            ..Options::default()
        };
        let log = LogReader::open(disk.device()).unwrap().resume(clock.clone(), options).unwrap();
        let mut workers = [log.worker().unwrap(), log.worker().unwrap()];
        for i in 0..8usize {
            for worker in &mut workers[usize::from(i % 3 == 0)..] {
                let commit = worker.enter().unwrap();
                commit.call(clock.draw(), ProcedureId(1), 1, 0, |v| v.bytes(&vec![i as u8; 60 * i]));
            }
            log.flush().unwrap();
        }
        if run == 0 {
            let commit = workers[0].enter().unwrap();
            commit.call(clock.draw(), ProcedureId(1), 0, 0, |_| ());
            disk.fail_power_after(1);
            assert!(log.flush().is_err());
        }
        if run == 0 || !clean {
            disk.crash(Survival::Everything);
            continue;
        }
        log.shutdown().unwrap();
    }
    let all = records(disk.device()).unwrap();
    assert!(all.len() >= 24);
    (disk, all)
}

/// Opens a copy of the log with one file changed.
fn with(disk: &SimDisk, name: &str, content: Option<&[u8]>) -> Result<Vec<CommitTs>, Error> {
    let copy = SimDisk::new(0);
    for other in disk.device().list().unwrap() {
        let original = disk.content(&other).unwrap();
        let content = if other == name { content } else { Some(&original[..]) };
        if let Some(content) = content {
            copy.put(&other, content);
        }
    }
    records(copy.device())
}

/// Checks one outcome. `tail` is the epoch that may go missing silently.
fn check(outcome: Result<Vec<CommitTs>, Error>, all: &[CommitTs], tail: Epoch, what: &str) -> bool {
    match outcome {
        Ok(found) => {
            let whole = found == all;
            let cut = found.iter().eq(all.iter().filter(|ts| ts.epoch() < tail));
            assert!(whole || cut, "{what}: {} of {} records", found.len(), all.len());
            false
        }
        Err(e) => {
            assert_eq!(e.sqlstate(), SqlState::DATA_CORRUPTED, "{what}: {e}");
            assert!(e.message().contains("sim/") && e.message().contains("offset"), "{what}: {e}");
            true
        }
    }
}

fn tail_of(all: &[CommitTs], clean: bool) -> Epoch {
    if clean { Epoch(u64::MAX) } else { all.last().unwrap().epoch() }
}

#[test]
fn every_flipped_bit_is_noticed() {
    for clean in [true, false] {
        let (disk, all) = example(clean);
        let tail = tail_of(&all, clean);
        let names = disk.device().list().unwrap();
        let (mut flips, mut noticed) = (0, 0);
        for name in &names {
            let content = disk.content(name).unwrap();
            // In a header all bits are alike but those of its fields: every bit there, some of the rest.
            let bits = (0..content.len() * 8).filter(|bit| {
                let byte = bit / 8;
                byte < 72
                    || byte >= 4096 && content[byte - byte % 512..].iter().take(512).any(|b| *b != 0)
                    || byte % 509 == 0
            });
            let mut copy = content.clone();
            for bit in bits {
                copy[bit / 8] ^= 1 << (bit % 8);
                let what = format!("bit {bit} of {name}");
                flips += 1;
                noticed += check(with(&disk, name, Some(&copy)), &all, tail, &what) as u32;
                copy[bit / 8] ^= 1 << (bit % 8);
            }
        }
        assert!(noticed > flips / 2, "{noticed} of {flips}");
    }
}

#[test]
fn lost_sectors_cut_files_and_missing_files_are_noticed() {
    for clean in [true, false] {
        let (disk, all) = example(clean);
        let tail = tail_of(&all, clean);
        let names = disk.device().list().unwrap();
        let segments: Vec<_> = names.iter().filter(|n| n.ends_with(".log")).collect();
        for name in &names {
            let content = disk.content(name).unwrap();
            for sector in 0..content.len().div_ceil(SECTOR) {
                let mut copy = content.clone();
                let end = copy.len().min((sector + 1) * SECTOR);
                copy[sector * SECTOR..end].fill(0);
                check(with(&disk, name, Some(&copy)), &all, tail, &format!("sector {sector} of {name}"));
            }
            for size in (0..content.len()).step_by(97) {
                let outcome = with(&disk, name, Some(&content[..size]));
                let told = check(outcome, &all, Epoch(u64::MAX), &format!("{name} cut to {size}"));
                // Of a spare nothing counts, nor of the lock.
                assert!(told || !name.ends_with(".log") && *name != "manifest", "{name} cut to {size}");
            }
        }
        // What follows names the older segments, the manifest the newest.
        for name in &segments {
            assert!(check(with(&disk, name, None), &all, tail, &format!("{name} missing")));
        }
        assert!(check(with(&disk, "manifest", None), &all, tail, "manifest missing"));
    }
}

/// The newest group goes to the wrong place, over the one before it: what is left of either does not check out where it
/// stands, as if both had been torn. But the newest says that the other was on disk.
#[test]
fn a_write_that_went_astray_is_noticed() {
    for sectors in [-1i64, -2, 1, 2, 8] {
        let disk = SimDisk::new(5);
        let clock = Arc::new(CommitClock::new(Epoch(1)));
        let options = Options { segment_bytes_max: 64 << 10, threads: false, ..Options::default() };
        let log = LogReader::open(disk.device()).unwrap().resume(clock.clone(), options).unwrap();
        let mut worker = log.worker().unwrap();
        let mut group = |bytes: usize| {
            let commit = worker.enter().unwrap();
            commit.call(clock.draw(), ProcedureId(1), 1, 0, |v| v.bytes(&vec![7; bytes]));
            log.flush()
        };
        for _ in 0..3 {
            group(1500).unwrap();
        }
        let before = disk.operations();
        disk.misdirect_write_at(before, Astray::By(sectors * SECTOR as i64));
        group(1500).unwrap();
        assert!(disk.struck());
        // Before the log, as it is dropped, can write more.
        disk.crash(Survival::Everything);
        drop(worker);
        drop(log);
        match records(disk.device()) {
            // Behind where it belongs, nothing before it is hurt: it is torn.
            Ok(records) => assert!(sectors > 0 && records.len() == 3, "{sectors}: {records:?}"),
            Err(error) => {
                assert_eq!(error.sqlstate(), SqlState::DATA_CORRUPTED, "{sectors}: {error}");
                assert!(error.to_string().contains("is damaged at offset"), "{sectors}: {error}");
                assert!(sectors < 0, "{sectors}: {error}");
            }
        }
    }
}
