//! The log on a real directory: commits come back in order, across restarts, loggers and segments.

use planaria_base::clock::CommitClock;
use planaria_base::{CommitTs, Datum, Epoch, ProcedureId, SqlState};
use planaria_log::{DirectoryDevice, Durability, Log, LogReader, Options, RecordBody, WorkerLog};
use std::path::Path;
use std::sync::Arc;
use std::sync::mpsc::channel;

fn reader(path: &Path) -> LogReader {
    LogReader::open(Arc::new(DirectoryDevice::open(path).unwrap())).unwrap()
}

fn open(path: &Path, options: Options) -> (Log, Arc<CommitClock>) {
    let clock = Arc::new(CommitClock::new(Epoch(1)));
    (reader(path).resume(clock.clone(), options).unwrap(), clock)
}

fn commit(worker: &mut WorkerLog, clock: &CommitClock, n: i64) -> CommitTs {
    let commit = worker.enter().unwrap();
    let ts = clock.draw();
    commit.call(ts, ProcedureId(7), 1, 0, |v| v.int(n));
    ts
}

/// All records, as (timestamp, argument).
fn read(reader: &LogReader) -> Vec<(CommitTs, i64)> {
    let mut records = Vec::new();
    for batch in reader.batches(Epoch(0)) {
        for record in batch.unwrap().records() {
            let record = record.decode().unwrap();
            let RecordBody::Call(call) = record.body else { panic!("not a call") };
            let [Datum::Int(n)] = call.args[..] else { panic!("not one integer") };
            records.push((record.commit_ts, n));
        }
    }
    assert!(records.is_sorted());
    assert_eq!(records.len() as u64, reader.summary().records);
    records
}

#[test]
fn commits_come_back_in_order_across_restarts() {
    let dir = tempfile::tempdir().unwrap();
    let mut expected = Vec::new();
    for restart in 0..4 {
        let loggers = 1 + restart % 3;
        let options = Options { loggers, segment_bytes_max: 16 << 10, ..Options::default() };
        let (log, clock) = open(dir.path(), options);
        let clock = &clock;
        let log = &log;
        let mut done: Vec<_> = std::thread::scope(|scope| {
            let run = |w: i64| {
                let mut worker = log.worker().unwrap();
                let mut done = Vec::new();
                for i in 0..200 {
                    let n = w << 32 | i;
                    let ts = commit(&mut worker, clock, n);
                    if i % 50 == 0 {
                        log.acknowledge(ts.epoch()).unwrap();
                        assert!(log.durable_epoch() >= ts.epoch());
                    }
                    done.push((ts, n));
                }
                done
            };
            let threads: Vec<_> = (0..4).map(|w| scope.spawn(move || run(w))).collect();
            threads.into_iter().flat_map(|t| t.join().unwrap()).collect()
        });
        done.sort();
        expected.extend(done);
        drop(log.worker().unwrap());
    }
    let reader = reader(dir.path());
    assert_eq!(read(&reader), expected);
}

#[test]
fn batches_grow_to_their_size_and_use_their_buffers_again() {
    let dir = tempfile::tempdir().unwrap();
    let (log, clock) = open(dir.path(), Options::default());
    let mut worker = log.worker().unwrap();
    for n in 0..40 {
        let ts = commit(&mut worker, &clock, n);
        log.acknowledge(ts.epoch()).unwrap();
    }
    log.shutdown().unwrap();
    let reader = reader(dir.path());
    let epoch = reader.summary().bytes as usize / 40 + 1;
    let (mut records, mut sizes) = (0, Vec::new());
    // Each is gone before the next one is read.
    for batch in reader.batches(Epoch(0)).of_bytes(1, 8 * epoch) {
        let batch = batch.unwrap();
        let decoded = batch.records().map(|record| record.decode().unwrap());
        for record in decoded {
            let RecordBody::Call(call) = record.body else { panic!("not a call") };
            assert_eq!(call.args, [Datum::Int(records)]);
            records += 1;
        }
        sizes.push(batch.len());
        assert!(batch.bytes() <= 9 * epoch, "{} bytes, but for the last epoch", batch.bytes());
    }
    assert_eq!(records, 40);
    assert_eq!(sizes[..4], [1, 1, 2, 4], "each as large as all before it");
}

#[test]
fn callbacks_and_futures_hear_of_their_epoch() {
    let dir = tempfile::tempdir().unwrap();
    let (log, clock) = open(dir.path(), Options::default());
    let mut worker = log.worker().unwrap();
    let (sender, outcomes) = channel();
    for n in 0..100 {
        let ts = commit(&mut worker, &clock, n);
        let sender = sender.clone();
        log.on_durable(ts.epoch(), move |outcome| sender.send((n, outcome)).unwrap());
    }
    let mut heard: Vec<_> = (0..100).map(|_| outcomes.recv().unwrap()).collect();
    heard.sort_by_key(|(n, _)| *n);
    assert_eq!(heard, (0..100).map(|n| (n, Ok(()))).collect::<Vec<_>>());
    log.shutdown().unwrap();
    assert_eq!(worker.enter().err().unwrap().sqlstate(), SqlState::ADMIN_SHUTDOWN);
    assert_eq!(read(&reader(dir.path())).len(), 100);
}

#[test]
fn a_second_opener_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    let (log, _) = open(dir.path(), Options::default());
    let device = Arc::new(DirectoryDevice::open(dir.path()).unwrap());
    let refused = LogReader::open(device.clone()).err().unwrap();
    assert_eq!(refused.sqlstate(), SqlState::OBJECT_IN_USE);
    LogReader::inspect(device.clone()).unwrap();
    drop(log);
    LogReader::open(device).unwrap();
}

#[test]
fn off_and_async_do_not_wait() {
    let dir = tempfile::tempdir().unwrap();
    for (durability, kept) in [(Durability::Off, 0), (Durability::Async, 1)] {
        let (log, clock) = open(dir.path(), Options { durability, ..Options::default() });
        let mut worker = log.worker().unwrap();
        let ts = commit(&mut worker, &clock, 1);
        log.acknowledge(ts.epoch()).unwrap();
        log.wait(ts.epoch()).unwrap();
        drop(log);
        assert_eq!(read(&reader(dir.path())).len(), kept);
    }
}

/// Ending segments takes what whoever waits for a commit finds taken, and must tell it so.
#[test]
fn who_waits_while_segments_end_goes_on() {
    let dir = tempfile::tempdir().unwrap();
    // No thread but these two: nobody else's round wakes who waits.
    let (log, clock) = open(dir.path(), Options { threads: false, ..Options::default() });
    std::thread::scope(|scope| {
        let commits = scope.spawn(|| {
            let mut worker = log.worker().unwrap();
            for n in 0..100 {
                let ts = commit(&mut worker, &clock, n);
                log.wait(ts.epoch()).unwrap();
            }
        });
        // Each of these may be the last one.
        while !commits.is_finished() {
            log.end_segments();
            std::thread::sleep(std::time::Duration::from_micros(100));
        }
    });
    drop(log);
    assert_eq!(read(&reader(dir.path())).len(), 100);
}

/// A crash leaves the newest file as long as it was made: a shorter one has lost commits that were acknowledged.
#[test]
fn a_file_that_was_cut_or_is_missing_is_named() {
    for clean in [false, true] {
        let (dir, copy) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let (log, clock) = open(dir.path(), Options { threads: false, ..Options::default() });
        let mut worker = log.worker().unwrap();
        for n in 0..40 {
            let ts = commit(&mut worker, &clock, n);
            log.wait(ts.epoch()).unwrap();
        }
        drop(worker);
        let running = if clean { log.shutdown().map(|()| None).unwrap() } else { Some(log) };
        for entry in std::fs::read_dir(dir.path()).unwrap() {
            let entry = entry.unwrap();
            std::fs::copy(entry.path(), copy.path().join(entry.file_name())).unwrap();
        }
        let name = "00000001-00-00000000.log";
        let path = copy.path().join(name);
        let whole = std::fs::read(&path).unwrap();
        assert_eq!(read(&reader(copy.path())).len(), 40);
        let error = || {
            let device = Arc::new(DirectoryDevice::open(copy.path()).unwrap());
            let error = LogReader::open(device).err().expect("it is damaged");
            assert_eq!(error.sqlstate(), SqlState::DATA_CORRUPTED);
            assert!(error.message().contains(name), "{error}");
            error.message().to_owned()
        };
        for size in [whole.len() - 1, 6000, 5000, 4096, 4095, 0] {
            std::fs::write(&path, &whole[..size]).unwrap();
            let said = error();
            if size >= 4096 {
                let sizes = format!("cut to {size} bytes, it was made with {}", 1 << 20);
                assert!(said.contains(&sizes), "{said}");
            }
        }
        std::fs::remove_file(&path).unwrap();
        error();
        std::fs::write(&path, &whole).unwrap();
        assert_eq!(read(&reader(copy.path())).len(), 40, "nothing was changed");
        drop(running);
    }
}
