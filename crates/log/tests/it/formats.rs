//! Logs of every format that was ever released can still be read, and the current format is written
//! byte for byte as it is documented in `docs/formats/log.md`.
//!
//! `formats/v12` was made by `write_example` below, `formats/v11` by what it was before calls had settings among their inputs, `formats/v10` by what it was before calls had names among their inputs, `formats/v9` by what it was before there was `citext`, `formats/v8` by what it was before there were numerics of any length, `formats/v7` by what it was before there were arrays of several dimensions, `formats/v6` before
//! `jsonb`, `formats/v5` by what it was before there were intervals with months,
//! `formats/v4` before sequences had generations and
//! segments sizes and ends, and records what changes of the schema computed, `formats/v3` by what it was before
//! records had parts,
//! `formats/v2` before epochs had times, `formats/v1` before there were physical and physiological effects.

use planaria_base::clock::CommitClock;
use planaria_base::datetime::Interval;
use planaria_base::numeric::Long;
use planaria_base::shape::{Dimension, Shape};
use planaria_base::{Epoch, ProcedureId, SequenceId, SequencePlace, TableId, WallClock};
use planaria_log::{
    DirectoryDevice, LogReader, Options, PlannerVersion, Until, encode_effects, encode_values,
};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

fn golden(version: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/formats").join(version)
}

/// Two runs: one logger, then two.
fn write_example(path: &Path) {
    for run in 1..=2u64 {
        let clock = Arc::new(CommitClock::new(Epoch(10 * run)));
        let options = Options {
            loggers: run as usize,
            planner_version: PlannerVersion(40 + run as u32),
            database: Some(*b"planaria-example"),
            segment_bytes_max: 16 << 10,
            segment_epochs_max: 3,
            threads: false,
            wall_clock: WallClock::new(|| 815_000_000_000_000),
            ..Options::default()
        };
        let device = Arc::new(DirectoryDevice::open(path).unwrap());
        let log = LogReader::open(device).unwrap().resume(clock.clone(), options).unwrap();
        let mut workers = [log.worker().unwrap(), log.worker().unwrap()];
        for round in 0..3i64 {
            let commit = workers[0].enter().unwrap();
            let ts = clock.draw();
            commit.call(ts, ProcedureId(5), 4, 2, |v| {
                v.int(round);
                v.text("zwölf");
                v.ints([1, -70_000, 300].into_iter());
                v.array(2);
                v.null();
                v.numeric(planaria_base::Numeric::from_parts(-12_345, 2).unwrap());
                v.float(0.5);
                v.uuid(*b"0123456789abcdef");
            });
            let commit = workers[1].enter().unwrap();
            let ts = clock.draw();
            commit.effects(ts, |e| {
                e.insert(TableId(1), &[1, u64::MAX, 0]);
                e.update(TableId(300), &[0x1234, 7]);
                e.delete(TableId(2), b"key");
                e.sequence(SequenceId(9), SequencePlace::given(0, -5));
                e.sequence(SequenceId(9), SequencePlace { generation: 200, value: 7, called: false });
                e.truncate(TableId(3));
                e.schema(&[0xee; 130]);
            });
            let commit = workers[1].enter().unwrap();
            let ts = clock.draw();
            commit.effects(ts, |e| {
                e.insert(TableId(1), &[2]);
                e.part();
                e.schema(b"DROP TABLE t");
                let mut values = Vec::new();
                encode_values(&mut values, 2, |v| {
                    v.uuid(*b"0123456789abcdef");
                    v.int(-round);
                });
                e.computed(TableId(1), &values);
                e.encoded(&encode_effects(|e| e.insert(TableId(1), &[3])));
            });
            let commit = workers[0].enter().unwrap();
            let ts = clock.draw();
            commit.effects(ts, |e| {
                e.physical_insert(TableId(1), 0x7f00_1234_5678, &[1, 2]);
                e.physical_update(TableId(1), 0x7f00_1234_5678, 0x7f00_1234_5638, &[1, 3]);
                e.physical_delete(TableId(1), 0x7f00_1234_5638, b"key");
                e.patch(TableId(2), b"key", &[1, 2, 3, 0x400], &[1, 9, 3]);
                e.delete_row(TableId(2), b"key", &[1, 9, 3]);
            });
            let commit = workers[0].enter().unwrap();
            let ts = clock.draw();
            commit.keeping_call(ts, ProcedureId(6), 0, 9, |v| {
                v.text("kept");
                v.bool(true);
                v.int(round);
                v.interval(Interval { months: -14, days: 3, micros: 90_000_000_001 });
                let mut long = Vec::new();
                Long::parse("-1e40").unwrap().encode(&mut long);
                v.long(&long);
                v.long(Long::NAN_BYTES);
                v.citext("Ann@X.org");
                v.jsonb("{\"a\": [1, null]}");
                let dimensions = [Dimension { lower: 0, len: 2 }, Dimension { lower: -1, len: 2 }];
                v.shape(&Shape::new(&dimensions).unwrap().unwrap());
                v.ints([1, 2, 3, 400].into_iter());
            });
            log.flush().unwrap();
        }
        log.shutdown().unwrap();
    }
}

fn files(path: &Path) -> BTreeMap<String, Vec<u8>> {
    let entries = std::fs::read_dir(path).unwrap().map(|e| e.unwrap());
    let named = entries.map(|e| (e.file_name().into_string().unwrap(), std::fs::read(e.path()).unwrap()));
    named.filter(|(name, _)| name != "lock").collect()
}

fn text(path: &Path) -> String {
    let reader = LogReader::open(Arc::new(DirectoryDevice::open(path).unwrap())).unwrap();
    let mut text = format!("{:?}\n", reader.summary());
    for batch in reader.batches(Epoch(0)) {
        let batch = batch.unwrap();
        text += &format!("planner {}\n", batch.planner_version().0);
        for record in batch.records() {
            text += &format!("{:?}\n", record.decode().unwrap());
        }
    }
    text
}

#[test]
fn the_current_format_is_written_as_it_was() {
    let dir = tempfile::tempdir().unwrap();
    write_example(dir.path());
    if std::env::var_os("PLANARIA_BLESS").is_some() {
        std::fs::create_dir_all(golden("v12")).unwrap();
        for (name, bytes) in files(dir.path()) {
            std::fs::write(golden("v12").join(name), bytes).unwrap();
        }
        std::fs::write(golden("v12.txt"), text(dir.path())).unwrap();
    }
    assert!(files(dir.path()) == files(&golden("v12")), "the format changed: it needs a new version");
}

fn copy_of(version: &str) -> tempfile::TempDir {
    let dir = tempfile::tempdir().unwrap();
    for (name, bytes) in files(&golden(version)) {
        std::fs::write(dir.path().join(name), bytes).unwrap();
    }
    dir
}

#[test]
fn every_version_is_read() {
    for version in ["v1", "v2", "v3", "v4", "v5", "v6", "v7", "v8", "v9", "v10", "v11", "v12"] {
        let expected = std::fs::read_to_string(golden(&format!("{version}.txt"))).unwrap();
        assert_eq!(text(copy_of(version).path()), expected, "{version}");
    }
}

#[test]
fn epochs_have_times_from_version_3_on() {
    let known = Some(815_000_000_000_000);
    for (version, time) in [
        ("v2", None),
        ("v3", known),
        ("v4", known),
        ("v5", known),
        ("v6", known),
        ("v7", known),
        ("v8", known),
        ("v9", known),
        ("v10", known),
        ("v11", known),
        ("v12", known),
    ] {
        let dir = copy_of(version);
        let reader = LogReader::open(Arc::new(DirectoryDevice::open(dir.path()).unwrap())).unwrap();
        for batch in reader.batches(Epoch(0)) {
            let batch = batch.unwrap();
            assert!((0..batch.len()).all(|i| batch.time(i) == time), "{version}");
        }
        let until = |end| reader.batches(Epoch(0)).until(end).map(|b| b.unwrap().len()).sum::<usize>();
        let all = reader.summary().records as usize;
        assert_eq!(until(Until::Time(815_000_000_000_000)), all);
        // What has no time is from before all that have.
        assert_eq!(until(Until::Time(814_000_000_000_000)), if time.is_some() { 0 } else { all });
    }
}

/// A run in the current format after runs in the first one: each segment says its own format.
#[test]
fn a_log_of_version_1_is_gone_on_with() {
    let dir = copy_of("v1");
    let clock = Arc::new(CommitClock::new(Epoch(1)));
    let device = Arc::new(DirectoryDevice::open(dir.path()).unwrap());
    let options = Options { threads: false, ..Options::default() };
    let log = LogReader::open(device).unwrap().resume(clock.clone(), options).unwrap();
    let mut worker = log.worker().unwrap();
    let commit = worker.enter().unwrap();
    let ts = clock.draw();
    commit.effects(ts, |e| e.patch(TableId(2), b"key", &[1], &[2]));
    drop(worker);
    log.shutdown().unwrap();
    let old = std::fs::read_to_string(golden("v1.txt")).unwrap();
    let now = text(dir.path());
    let records =
        |text: &str| text.lines().filter(|l| l.starts_with("Record")).map(String::from).collect::<Vec<_>>();
    let (old, now) = (records(&old), records(&now));
    assert_eq!(now[..old.len()], old);
    assert_eq!(now.len(), old.len() + 1);
    assert!(now[old.len()].contains("Patch"), "{}", now[old.len()]);
}

#[test]
fn a_later_version_is_refused_with_what_to_do() {
    let dir = tempfile::tempdir().unwrap();
    for (name, mut bytes) in files(&golden("v12")) {
        if name == "manifest" {
            bytes[12] = 13;
            let crc = crc32c::crc32c_append(crc32c::crc32c(&bytes[..8]), &bytes[12..]);
            bytes[8..12].copy_from_slice(&crc.to_le_bytes());
        }
        std::fs::write(dir.path().join(name), bytes).unwrap();
    }
    let error = LogReader::open(Arc::new(DirectoryDevice::open(dir.path()).unwrap())).err().unwrap();
    assert_eq!(error.sqlstate().as_str(), "0A000");
    assert!(error.to_string().contains("has log format 13, this program reads formats 1 to 12"), "{error}");
    assert!(error.fields().hint.is_some());
}

/// A record's version word has no room for a later one beside its flags.
#[test]
fn an_epoch_that_there_is_not_is_damage() {
    let forge = |name: &str, place: usize, epoch: u64, header: usize| {
        let dir = copy_of("v7");
        let path = dir.path().join(name);
        let mut bytes = std::fs::read(&path).unwrap();
        bytes[place..place + 8].copy_from_slice(&epoch.to_le_bytes());
        let crc = crc32c::crc32c_append(crc32c::crc32c(&bytes[..8]), &bytes[12..header.min(bytes.len())]);
        bytes[8..12].copy_from_slice(&crc.to_le_bytes());
        std::fs::write(&path, bytes).unwrap();
        LogReader::open(Arc::new(DirectoryDevice::open(dir.path()).unwrap())).map(|_| ())
    };
    let manifest = |place, epoch| forge("manifest", place, epoch, usize::MAX);
    // The base; the first epoch of the second run.
    for place in [32, 48 + 32 + 16] {
        for epoch in [Epoch::MAX.0 + 1, 1 << 36, 1 << 39] {
            let error = manifest(place, epoch).unwrap_err();
            assert_eq!(error.sqlstate().as_str(), "XX001", "{error}");
        }
    }
    assert_eq!(manifest(32, 1), Ok(()));
    let segment = "00000002-00-00000000.log";
    assert_eq!(forge(segment, 56, 1 << 36, 4096).unwrap_err().sqlstate().as_str(), "XX001");
}
