//! A disk that is full for one epoch after the other: what waits for room goes to disk once, in its order, and all that was
//! acknowledged is there afterwards.

use planaria_base::clock::CommitClock;
use planaria_base::{CommitTs, Epoch, TableId};
use planaria_log::{Log, LogReader, Options, WorkerLog};
use planaria_sim::disk::{SimDisk, Survival};
use std::sync::Arc;
use std::time::Duration;

const SMALL: usize = 100;
const LARGE: usize = 9 << 20;

fn commit(worker: &mut WorkerLog, clock: &CommitClock, bytes: usize) -> CommitTs {
    let commit = worker.enter().expect("the log is up");
    let ts = clock.draw();
    commit.effects(ts, |e| e.delete(TableId(4), &vec![3; bytes]));
    ts
}

fn until(mut holds: impl FnMut() -> bool) {
    while !holds() {
        std::thread::yield_now();
    }
}

#[derive(Clone, Copy, PartialEq, Debug)]
enum End {
    Crash,
    AnotherCommitAndCrash,
    Close,
}

/// A log with one commit on disk, its workers, and what they committed.
struct Case {
    disk: SimDisk,
    clock: Arc<CommitClock>,
    log: Log,
    workers: Vec<WorkerLog>,
    acknowledged: Vec<CommitTs>,
    used: u64,
}

impl Case {
    fn new(loggers: usize) -> Case {
        let disk = SimDisk::new(1);
        let clock = Arc::new(CommitClock::new(Epoch(1)));
        let epoch_interval = Duration::from_secs(1000);
        let options = Options { segment_bytes_max: 16 << 10, loggers, epoch_interval, ..Options::default() };
        let log =
            LogReader::open(disk.device()).expect("a new log").resume(clock.clone(), options).expect("opens");
        let mut workers: Vec<_> = (0..4).map(|_| log.worker().expect("a seat")).collect();
        let first = commit(&mut workers[0], &clock, SMALL);
        log.wait(first.epoch()).expect("there is room");
        log.end_segments();
        let used = disk.files().values().map(Vec::len).sum::<usize>() as u64;
        // Not for a large one.
        disk.set_capacity(Some(used + (5 << 20)));
        Case { disk, clock, log, workers, acknowledged: vec![first], used }
    }

    /// Room for one large commit, and then for all, while somebody waits for this epoch.
    fn room_for_one_and_for_all(disk: &SimDisk, used: u64, log: &Log, epoch: Epoch) {
        disk.set_capacity(Some(used + (14 << 20)));
        std::thread::scope(|scope| {
            let waits = scope.spawn(|| log.wait(epoch));
            std::thread::sleep(Duration::from_millis(300));
            disk.set_capacity(None);
            assert_eq!(waits.join().expect("does not panic"), Ok(()));
        });
    }

    fn ends(self, end: End) {
        let Case { disk, clock, log, mut workers, mut acknowledged, .. } = self;
        if end == End::AnotherCommitAndCrash {
            until(|| log.flush().is_ok() && !log.is_full());
            let ts = commit(&mut workers[0], &clock, SMALL);
            log.wait(ts.epoch()).expect("there is room");
            acknowledged.push(ts);
        }
        if end == End::Close {
            drop(workers);
            log.shutdown().expect("closes");
        } else {
            disk.fail_power_after(0);
            drop(workers);
            let _ = log.shutdown();
            disk.crash(Survival::Everything);
        }
        let reader = LogReader::open(disk.device()).unwrap_or_else(|e| panic!("{end:?}: {e:?}"));
        let mut found = Vec::new();
        for batch in reader.batches(Epoch(0)) {
            found.extend(batch.expect("readable").records().map(|record| record.commit_ts()));
        }
        acknowledged.sort();
        assert_eq!(found, acknowledged, "{end:?}");
    }
}

/// The first epoch waits for room; when there is some, it is written, and the second waits.
#[test]
fn two_epochs_wait_for_room() {
    for loggers in [1, 2] {
        for end in [End::Crash, End::AnotherCommitAndCrash, End::Close] {
            let mut case = Case::new(loggers);
            let Case { disk, clock, log, workers, acknowledged, used } = &mut case;
            let (left, right) = workers.split_at_mut(2);
            let a = commit(&mut left[0], clock, SMALL);
            let b = commit(&mut left[1], clock, LARGE);
            std::thread::scope(|scope| {
                // Two more have entered when the epoch ends, and draw their places behind its end.
                let (one, other) = right.split_at_mut(1);
                let (c, d) = (one[0].enter().expect("up"), other[0].enter().expect("up"));
                let log = &*log;
                let waits = scope.spawn(move || log.wait(a.epoch()));
                until(|| clock.epoch() > a.epoch());
                let (tc, td) = (clock.draw(), clock.draw());
                c.effects(tc, |e| e.delete(TableId(4), &[3; SMALL]));
                d.effects(td, |e| e.delete(TableId(4), &vec![3; LARGE]));
                acknowledged.extend([a, b, tc, td]);
                until(|| log.is_full());
                Case::room_for_one_and_for_all(disk, *used, log, td.epoch());
                assert_eq!(waits.join().expect("does not panic"), Ok(()));
            });
            case.ends(end);
        }
    }
}

/// One logger, and three epochs: the first two are written when there is room, and the third waits.
#[test]
fn three_epochs_wait_for_room() {
    for end in [End::Crash, End::AnotherCommitAndCrash, End::Close] {
        let mut case = Case::new(1);
        let Case { disk, clock, log, workers, acknowledged, used } = &mut case;
        let (left, right) = workers.split_at_mut(2);
        let b = commit(&mut left[0], clock, LARGE);
        std::thread::scope(|scope| {
            let (one, other) = right.split_at_mut(1);
            let c = one[0].enter().expect("up");
            let log = &*log;
            let waits = scope.spawn(move || log.wait(b.epoch()));
            until(|| clock.epoch() > b.epoch());
            let d = other[0].enter().expect("up");
            let tc = clock.draw();
            c.effects(tc, |e| e.delete(TableId(4), &[3; SMALL]));
            until(|| log.is_full() && clock.epoch() > tc.epoch());
            let td = clock.draw();
            d.effects(td, |e| e.delete(TableId(4), &vec![3; LARGE]));
            acknowledged.extend([b, tc, td]);
            std::thread::sleep(Duration::from_millis(100));
            Case::room_for_one_and_for_all(disk, *used, log, td.epoch());
            assert_eq!(waits.join().expect("does not panic"), Ok(()));
        });
        case.ends(end);
    }
}

/// What was committed in the last epochs there are is found again, and nothing is acknowledged behind them.
#[test]
fn the_last_epochs() {
    for closes in [false, true] {
        let disk = SimDisk::new(1);
        let clock = Arc::new(CommitClock::new(Epoch(Epoch::END.0 - 3)));
        let options = Options { threads: false, ..Options::default() };
        let log =
            LogReader::open(disk.device()).expect("a new log").resume(clock.clone(), options).expect("opens");
        let mut worker = log.worker().expect("a seat");
        let mut acknowledged = Vec::new();
        for _ in 0..20 {
            let Ok(commit) = worker.enter() else { break };
            let ts = clock.draw();
            commit.effects(ts, |e| e.delete(TableId(4), b"row"));
            if log.wait(ts.epoch()).is_ok() {
                acknowledged.push(ts);
            }
        }
        assert_eq!(acknowledged.len(), 3);
        if closes {
            drop(worker);
            let _ = log.shutdown();
        } else {
            disk.fail_power_after(0);
            drop(worker);
            let _ = log.shutdown();
            disk.crash(Survival::Everything);
        }
        for _ in 0..3 {
            let clock = Arc::new(CommitClock::new(Epoch(1)));
            let reader = LogReader::open(disk.device()).expect("opens again");
            let mut found = Vec::new();
            for batch in reader.batches(Epoch(0)) {
                found.extend(batch.expect("readable").records().map(|record| record.commit_ts()));
            }
            assert_eq!(found, acknowledged);
            let log = reader.resume(clock, Options { threads: false, ..Options::default() }).expect("opens");
            let _ = log.shutdown();
        }
    }
}
