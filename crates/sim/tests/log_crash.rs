//! The log over crashes: what was acknowledged is there afterwards, an epoch is there whole or not at
//! all, and the order is the order of commits, wherever the power fails and whatever the disk makes of
//! what was not synced.

use planaria_base::clock::CommitClock;
use planaria_base::{CommitTs, Datum, Epoch, Error, ProcedureId, SqlState, TableId};
use planaria_log::{Effect, Log, LogReader, Options, RecordBody, WorkerLog};
use planaria_sim::disk::{SimDisk, Survival};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

/// Decides what the test does.
struct Dice(u64);

impl Dice {
    fn below(&mut self, n: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (self.0 >> 33) % n
    }
}

/// What the database would know: every commit, and what it was told of their durability.
#[derive(Default)]
struct Model {
    commits: BTreeMap<CommitTs, Vec<u8>>,
    acknowledged: Epoch,
    /// Checkpoints that were, or may have been, told to the log.
    base: Epoch,
    base_tried: Epoch,
}

fn payload(dice: &mut Dice) -> Vec<u8> {
    let size = if dice.below(20) == 0 { dice.below(20_000) } else { dice.below(300) };
    (0..size).map(|i| (dice.0 >> (i % 56)) as u8).collect()
}

fn commit(worker: &mut WorkerLog, clock: &CommitClock, bytes: &[u8]) -> Result<CommitTs, Error> {
    let commit = worker.enter()?;
    let ts = clock.draw();
    if bytes.len().is_multiple_of(2) {
        commit.call(ts, ProcedureId(3), 1, 1, |v| {
            v.bytes(bytes);
            v.int(ts.0 as i64);
        });
    } else {
        commit.effects(ts, |e| e.delete(TableId(4), bytes));
    }
    Ok(ts)
}

/// All records of the log, checked for order.
fn records(reader: &LogReader) -> Result<BTreeMap<CommitTs, Vec<u8>>, Error> {
    let mut records = BTreeMap::new();
    let mut newest = CommitTs(0);
    for batch in reader.batches(Epoch(0)) {
        for record in batch?.records() {
            let record = record.decode()?;
            assert!(record.commit_ts > newest, "records are in commit order");
            newest = record.commit_ts;
            let bytes = match record.body {
                RecordBody::Call(mut call) => {
                    assert_eq!(call.inputs, [Datum::Int(newest.0 as i64)]);
                    let Some(Datum::Bytea(bytes)) = call.args.pop() else { panic!("{:?}", call.args) };
                    bytes
                }
                RecordBody::Effects(mut effects) => match effects.pop() {
                    Some(Effect::Delete { key, .. }) => key,
                    other => panic!("{other:?}"),
                },
            };
            records.insert(newest, bytes);
        }
    }
    Ok(records)
}

impl Model {
    /// Checks what a crash left, and forgets what it took.
    fn check(&mut self, reader: &LogReader) -> Result<(), Error> {
        let summary = reader.summary();
        // Epochs without commits are durable without being written.
        let acknowledged = self.commits.range(..self.acknowledged.next().first_ts()).next_back();
        let newest = acknowledged.map_or(Epoch(0), |(ts, _)| ts.epoch());
        assert!(summary.pepoch >= newest, "{summary:?}, acknowledged {newest:?}");
        assert!(summary.base >= self.base && summary.base <= self.base_tried);
        let pepoch = summary.pepoch;
        self.commits.retain(|ts, _| ts.epoch() <= pepoch);
        // What a dead process left in the cache is safe only when the log goes on.
        self.acknowledged = self.acknowledged.min(pepoch);
        (self.base, self.base_tried) = (summary.base, summary.base);
        let found = records(reader)?;
        let expected = self.commits.range(summary.base.next().first_ts()..);
        assert!(found.iter().eq(expected), "whole epochs up to {pepoch:?}, and nothing else");
        Ok(())
    }

    /// Opens the log, checks it, and works with it until an error or for `steps`.
    fn run(&mut self, disk: &SimDisk, dice: &mut Dice, steps: u64) -> Result<(), Error> {
        let reader = LogReader::open(disk.device())?;
        self.check(&reader)?;
        let clock = Arc::new(CommitClock::new(Epoch(1)));
        let options = Options {
            loggers: 1 + dice.below(3) as usize,
            segment_bytes_max: 8 << 10 << dice.below(3),
            segment_epochs_max: 20,
            threads: false,
            ..Options::default()
        };
        let pepoch = reader.pepoch();
        let log = reader.resume(clock.clone(), options)?;
        self.acknowledged = pepoch;
        let mut workers: Vec<_> = (0..4).map(|_| log.worker().unwrap()).collect();
        let result = (0..steps).try_for_each(|_| self.step(&log, &clock, &mut workers, dice));
        self.acknowledged = log.durable_epoch().max(self.acknowledged);
        drop(workers);
        result?;
        if dice.below(2) == 0 {
            log.shutdown()?;
            self.acknowledged = Epoch(clock.epoch().0 - 1);
        }
        Ok(())
    }

    fn step(
        &mut self,
        log: &Log,
        clock: &CommitClock,
        workers: &mut [WorkerLog],
        dice: &mut Dice,
    ) -> Result<(), Error> {
        match dice.below(20) {
            0..12 => {
                let bytes = payload(dice);
                let worker = &mut workers[dice.below(4) as usize];
                let ts = commit(worker, clock, &bytes)?;
                self.commits.insert(ts, bytes);
            }
            12..18 => {
                if let Some((ts, _)) = self.commits.last_key_value() {
                    log.wait(ts.epoch())?;
                    self.acknowledged = ts.epoch().max(self.acknowledged);
                }
            }
            18 => drop(log.flush()?),
            _ => {
                let back = dice.below(8);
                let checkpoint = Epoch(self.acknowledged.0.saturating_sub(back));
                self.base_tried = checkpoint.max(self.base_tried);
                log.delete_through(checkpoint)?;
                self.base = checkpoint.max(self.base);
            }
        }
        Ok(())
    }
}

fn survival(dice: &mut Dice) -> Survival {
    match dice.below(4) {
        0 => Survival::Nothing,
        1 => Survival::Everything,
        _ => Survival::Chance,
    }
}

#[test]
fn power_fails_at_every_operation() {
    for seed in 0..6 {
        let operations = {
            let disk = SimDisk::new(seed);
            let mut model = Model::default();
            let dice = &mut Dice(seed);
            model.run(&disk, dice, 60).unwrap();
            model.run(&disk, dice, 20).unwrap();
            disk.operations()
        };
        for operation in 0..operations {
            let disk = SimDisk::new(seed << 32 | operation);
            disk.fail_power_at(operation);
            let mut model = Model::default();
            let dice = &mut Dice(seed);
            let result = model.run(&disk, dice, 60).and_then(|()| model.run(&disk, dice, 20));
            assert!(disk.power_failed(), "at {operation} of {operations}");
            // A spare that cannot be removed in the end is no error to a commit.
            let _ = result;
            disk.crash(survival(dice));
            model.run(&disk, dice, 10).unwrap();
            model.run(&disk, dice, 1).unwrap();
        }
    }
}

#[test]
fn crash_after_crash() {
    for seed in 0..300 {
        let disk = SimDisk::new(seed);
        let mut model = Model::default();
        let dice = &mut Dice(seed.wrapping_mul(77));
        for _ in 0..8 {
            // Often within recovery, too.
            let within = if dice.below(3) == 0 { 12 } else { 150 };
            disk.fail_power_after(dice.below(within));
            if let Err(e) = model.run(&disk, dice, 40) {
                assert!(disk.power_failed(), "seed {seed}: {e}");
            }
            match dice.below(3) {
                0 => disk.kill(),
                _ => disk.crash(survival(dice)),
            }
        }
        model.run(&disk, dice, 5).unwrap();
    }
}

#[test]
fn what_a_dead_process_left_in_the_cache_is_made_safe() {
    for failed_sync in [false, true] {
        let disk = SimDisk::new(1);
        let (log, clock, mut worker, first) = small(&disk, false);
        let second = commit(&mut worker, &clock, b"second").unwrap();
        if failed_sync {
            disk.fail_syncs_of(".log");
        } else {
            // The write happens, the sync does not.
            disk.fail_power_after(1);
        }
        log.wait(second.epoch()).unwrap_err();
        disk.kill();
        drop((log, worker));
        // The next process finds both, tells of both, and the power fails.
        let (log, _, worker, third) = small(&disk, false);
        disk.crash(Survival::Nothing);
        drop((log, worker));
        let reader = LogReader::open(disk.device()).unwrap();
        assert_eq!(records(&reader).unwrap().keys().collect::<Vec<_>>(), [&first, &second, &third]);
    }
}

#[test]
fn power_fails_under_threads() {
    for seed in 0..40u64 {
        let disk = SimDisk::new(seed);
        let mut model = Model::default();
        for round in 0..3 {
            let reader = LogReader::open(disk.device()).unwrap();
            model.check(&reader).unwrap();
            disk.fail_power_after(20 + (seed * 13 + round * 7) % 100);
            let clock = Arc::new(CommitClock::new(Epoch(1)));
            let options = Options {
                loggers: 1 + (seed % 2) as usize,
                segment_bytes_max: 16 << 10,
                epoch_interval: Duration::from_millis(1),
                ..Options::default()
            };
            if let Ok(log) = reader.resume(clock.clone(), options) {
                let work = |w: u64| {
                    let dice = &mut Dice(seed << 8 | w);
                    let mut commits = Vec::new();
                    let mut acknowledged = Epoch(0);
                    let Ok(mut worker) = log.worker() else { return (commits, acknowledged) };
                    for _ in 0..500 {
                        let bytes = payload(dice);
                        let Ok(ts) = commit(&mut worker, &clock, &bytes) else { break };
                        commits.push((ts, bytes));
                        if dice.below(4) == 0 {
                            match log.acknowledge(ts.epoch()) {
                                Ok(()) => acknowledged = ts.epoch(),
                                Err(_) => break,
                            }
                        }
                    }
                    (commits, acknowledged)
                };
                std::thread::scope(|scope| {
                    let threads: Vec<_> = (0..3).map(|w| scope.spawn(move || work(w))).collect();
                    for thread in threads {
                        let (commits, acknowledged) = thread.join().unwrap();
                        model.commits.extend(commits);
                        model.acknowledged = model.acknowledged.max(acknowledged);
                    }
                });
            }
            disk.crash(Survival::Chance);
        }
        model.check(&LogReader::open(disk.device()).unwrap()).unwrap();
    }
}

/// A log on a new disk, one worker, one commit on disk.
fn small(disk: &SimDisk, threads: bool) -> (Log, Arc<CommitClock>, WorkerLog, CommitTs) {
    let clock = Arc::new(CommitClock::new(Epoch(1)));
    let options = Options { segment_bytes_max: 16 << 10, threads, ..Options::default() };
    let log = LogReader::open(disk.device()).unwrap().resume(clock.clone(), options).unwrap();
    let mut worker = log.worker().unwrap();
    let ts = commit(&mut worker, &clock, b"first").unwrap();
    log.wait(ts.epoch()).unwrap();
    (log, clock, worker, ts)
}

#[test]
fn a_failed_sync_ends_commits_for_good() {
    for threads in [false, true] {
        let disk = SimDisk::new(1);
        let (log, clock, mut worker, first) = small(&disk, threads);
        disk.fail_syncs_of(".log");
        let lost = commit(&mut worker, &clock, b"lost").unwrap();
        let (sender, outcome) = std::sync::mpsc::channel();
        let error = log.wait(lost.epoch()).unwrap_err();
        log.on_durable(lost.epoch(), move |outcome| sender.send(outcome).unwrap());
        assert_eq!(error.sqlstate(), SqlState::IO_ERROR);
        assert_eq!(outcome.recv().unwrap(), Err(error.clone()));
        assert_eq!(log.health(), Err(error.clone()));
        assert_eq!(worker.enter().err(), Some(error.clone()));
        assert_eq!(log.wait(first.epoch()), Ok(()), "what was on disk is on disk");
        assert_eq!(log.shutdown(), Err(error));
        drop(worker);
        disk.crash(Survival::Nothing);
        let reader = LogReader::open(disk.device()).unwrap();
        assert_eq!(records(&reader).unwrap().keys().collect::<Vec<_>>(), [&first]);
    }
}

/// Commits until one is refused, which must be for want of room; the newest epoch that was acknowledged.
fn commit_until_full(log: &Log, worker: &mut WorkerLog, clock: &CommitClock) -> Epoch {
    let mut acknowledged = Epoch(0);
    let error = loop {
        match commit(worker, clock, &[7; 3000]) {
            Ok(ts) => log.wait(ts.epoch()).unwrap(),
            Err(e) => break e,
        }
        acknowledged = log.durable_epoch();
    };
    assert_eq!(error.sqlstate(), SqlState::DISK_FULL, "{error}");
    assert_eq!(log.health(), Ok(()), "it has not failed");
    acknowledged
}

#[test]
fn a_full_disk_refuses_commits_until_there_is_room() {
    for loggers in [1, 2] {
        let disk = SimDisk::new(1);
        let clock = Arc::new(CommitClock::new(Epoch(1)));
        let options = Options { segment_bytes_max: 16 << 10, loggers, ..Options::default() };
        let log = LogReader::open(disk.device()).unwrap().resume(clock.clone(), options).unwrap();
        let mut workers = [log.worker().unwrap(), log.worker().unwrap()];
        let mut acknowledged = 0;
        for more in [100_000, 50_000, 90_000] {
            let used: usize = disk.files().values().map(Vec::len).sum();
            disk.set_capacity(Some(used as u64 + more));
            let newest = commit_until_full(&log, &mut workers[0], &clock);
            commit_until_full(&log, &mut workers[1], &clock);
            assert!(newest > Epoch(0), "there was room for some");
            disk.set_capacity(None);
            // It looks for room by itself.
            while workers[0].enter().is_err() {
                std::thread::yield_now();
            }
            acknowledged = log.stats().records;
        }
        drop(workers);
        log.shutdown().unwrap();
        let reader = LogReader::open(disk.device()).unwrap();
        assert_eq!(records(&reader).unwrap().len() as u64, acknowledged);
    }
}

/// What has entered is in memory: it waits for room, and is not refused.
#[test]
fn what_does_not_fit_on_a_full_disk_waits() {
    for fits in [true, false] {
        let disk = SimDisk::new(1);
        let clock = Arc::new(CommitClock::new(Epoch(1)));
        let options = Options {
            segment_bytes_max: 16 << 10,
            loggers: 2,
            epoch_interval: Duration::from_secs(1000),
            ..Options::default()
        };
        let log = LogReader::open(disk.device()).unwrap().resume(clock.clone(), options).unwrap();
        let mut workers = [log.worker().unwrap(), log.worker().unwrap()];
        let first = commit(&mut workers[0], &clock, b"first").unwrap();
        log.wait(first.epoch()).unwrap();
        log.end_segments();
        let used: usize = disk.files().values().map(Vec::len).sum();
        // Larger than any segment, in several writes, the second of which does not fit; the other logger's
        // part of the epoch does.
        disk.set_capacity(Some(used as u64 + (5 << 20)));
        let (small, large) = (vec![4; 100], vec![3; 9 << 20]);
        let of_small = commit(&mut workers[0], &clock, &small).unwrap();
        let of_large = commit(&mut workers[1], &clock, &large).unwrap();
        assert_eq!(of_small.epoch(), of_large.epoch(), "nobody ends it before");
        std::thread::scope(|scope| {
            let waits = scope.spawn(|| log.wait(of_large.epoch()));
            let refused = loop {
                match workers[0].enter() {
                    Ok(entered) => drop(entered),
                    Err(e) => break e,
                }
                std::thread::yield_now();
            };
            assert_eq!(refused.sqlstate(), SqlState::DISK_FULL);
            assert!(log.durable_epoch() < of_large.epoch());
            assert_eq!(log.health(), Ok(()));
            if fits {
                disk.set_capacity(None);
                assert_eq!(waits.join().unwrap(), Ok(()));
            } else {
                disk.fail_power_after(0);
                assert!(waits.join().unwrap().is_err());
                disk.crash(Survival::Everything);
            }
        });
        drop(workers);
        assert_eq!(log.shutdown().is_ok(), fits);
        let reader = LogReader::open(disk.device()).unwrap();
        let found = records(&reader).unwrap();
        let expected: &[_] = if fits { &[first, of_small, of_large] } else { &[first] };
        assert!(found.keys().eq(expected));
        assert!(!fits || found[&of_large] == large && found[&of_small] == small);
    }
}

#[test]
fn a_slow_disk_holds_writers_back() {
    let disk = SimDisk::new(1);
    disk.set_sync_delay(Duration::from_millis(2));
    let clock = Arc::new(CommitClock::new(Epoch(1)));
    let buffer_bytes_max = 64 << 10;
    let options = Options { buffer_bytes_max, ..Options::default() };
    let log = LogReader::open(disk.device()).unwrap().resume(clock.clone(), options).unwrap();
    let mut worker = log.worker().unwrap();
    for _ in 0..200 {
        commit(&mut worker, &clock, &[1; 5000]).unwrap();
        assert!(log.stats().buffered <= buffer_bytes_max + 6000);
    }
    drop(worker);
    log.shutdown().unwrap();
    assert_eq!(records(&LogReader::open(disk.device()).unwrap()).unwrap().len(), 200);
}

/// A checkpoint may be of an epoch in which nothing was committed, so that it was never written. Who reads the log
/// after an older one finds all of it, whether the run ended in a crash or not.
#[test]
fn a_checkpoint_of_an_epoch_without_commits_leaves_the_log_whole() {
    for (seed, clean) in [(1, true), (2, false), (3, false)] {
        let disk = SimDisk::new(seed);
        let mut commits = BTreeMap::new();
        let mut checkpoint = Epoch(0);
        for run in 0..4 {
            let lock = LogReader::lock(&*disk.device()).unwrap();
            let reader = LogReader::open_after(disk.device(), lock, checkpoint, &mut |_| ()).unwrap();
            let clock = Arc::new(CommitClock::new(Epoch(1)));
            let options = Options { loggers: 2, threads: false, keep: true, ..Options::default() };
            let log = reader.resume(clock.clone(), options).unwrap();
            let mut worker = log.worker().unwrap();
            // In one of the runs nothing is committed at all.
            for n in 0..if run == 2 { 0 } else { 3 } {
                let ts = commit(&mut worker, &clock, &[n; 5]).unwrap();
                commits.insert(ts, vec![n; 5]);
                log.wait(ts.epoch()).unwrap();
            }
            for _ in 0..3 {
                log.flush().unwrap();
            }
            checkpoint = log.durable_epoch();
            if run == 1 {
                // What is under way when power fails may be there.
                let ts = commit(&mut worker, &clock, &[9; 3000]).unwrap();
                disk.fail_power_after(0);
                log.wait(ts.epoch()).unwrap_err();
            }
            drop(worker);
            match clean && run != 1 {
                true => log.shutdown().unwrap(),
                false => drop(log),
            }
            disk.crash(if seed == 2 { Survival::Nothing } else { Survival::Chance });
        }
        let reader = LogReader::inspect(disk.device()).unwrap();
        let mut found = records(&reader).unwrap();
        found.retain(|_, bytes| bytes.len() < 3000);
        assert_eq!(found, commits, "seed {seed}");
    }
}

/// A file that is replaced as a whole is the old one or the new one after any number of crashes, also where a draft is
/// left and the disk keeps some changes of names and not others.
#[test]
fn a_replaced_file_is_never_a_draft() {
    for seed in 0..3_000 {
        let mut dice = Dice(seed);
        let disk = SimDisk::new(seed);
        let content = |n: u64| vec![n as u8 + 1; 100 + n as usize];
        planaria_log::device::replace(&*disk.device(), "it", &content(0)).unwrap();
        let mut acknowledged = 0;
        for n in 1..6 {
            disk.fail_power_after(dice.below(9));
            if planaria_log::device::replace(&*disk.device(), "it", &content(n)).is_ok() {
                acknowledged = n;
            }
            disk.crash(survival(&mut dice));
            let found = disk.content("it").expect("it is there");
            let possible = (acknowledged..=n).any(|n| found == content(n));
            assert!(possible, "seed {seed}, {n}: {} bytes", found.len());
        }
    }
}
