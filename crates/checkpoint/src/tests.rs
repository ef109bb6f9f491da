//! Checkpoints on a simulated disk: written, cut off, damaged, loaded.

use crate::*;
use planaria_base::sync::atomic::{AtomicU64, Ordering};
use planaria_base::{ColumnId, Epoch, Error, Result, SequenceId, SqlState, TableId, Type};
use planaria_log::{Device, DirectoryDevice};
use planaria_sim::disk::{SimDisk, Survival};
use planaria_storage::reclaim::Participant;
use planaria_storage::{ColumnSpec, Field, Header, IndexSpec, Table, TableSet, TableSpec};
use std::sync::Arc;

const DATABASE: [u8; 16] = *b"the database's i";

struct Flag(AtomicU64);
impl Header for Flag {
    type Versions = planaria_storage::Single;

    fn absent() -> Self {
        Flag(AtomicU64::new(0))
    }
    fn is_present(&self) -> bool {
        self.0.load(Ordering::Relaxed) != 0
    }
    fn set_present(&self, present: bool) {
        self.0.store(u64::from(present), Ordering::Relaxed);
    }
}

/// Tables of a number and a text, each indexed.
fn empty(tables: u32) -> TableSet<Flag> {
    let columns =
        [ColumnSpec { ty: Type::Int8, nullable: false }, ColumnSpec { ty: Type::Text, nullable: false }];
    let indexes = [
        IndexSpec { columns: vec![ColumnId(0)], unique: true, equal_nulls: false },
        IndexSpec { columns: vec![ColumnId(1)], unique: false, equal_nulls: false },
    ];
    let mut set = TableSet::new();
    for id in 0..tables {
        let spec = TableSpec { columns: &columns, indexes: &indexes };
        set.insert(Arc::new(Table::new(TableId(id), spec).expect("a table")));
    }
    set
}

/// Table `t` has `100 t² n` rows or so, with texts of all lengths.
fn filled(n: i64) -> TableSet<Flag> {
    let set = empty(3);
    let mut participant = Participant::new();
    let guard = participant.guard();
    for table in set.iter() {
        let t = i64::from(table.id().0);
        for i in 0..n * 100 * t * t {
            let text = format!("{:0>width$}", i * 7919 % 1000, width = (i % 40) as usize);
            let mut image = Vec::new();
            let fields = [Field::Int(i * 3), Field::Bytes(text.as_bytes())];
            table.layout().encode(&fields, &mut image).expect("a row");
            table.load(&image, 0, guard.pinned()).expect("loads");
        }
    }
    set
}

struct Tables {
    tables: TableSet<Flag>,
    epoch: Epoch,
    /// The catalog cannot be had.
    fails: bool,
    /// A table of which more and more is kept. Then all are cut into several ranges.
    changing: Option<TableId>,
    kept: AtomicU64,
    /// What was read, and whether it was the last of its table.
    done: std::sync::Mutex<Vec<(u32, bool)>>,
}

impl Source for Tables {
    fn epoch(&self) -> Epoch {
        self.epoch
    }
    fn catalog(&self) -> Result<Vec<u8>> {
        if self.fails { Err(Error::internal("no catalog")) } else { Ok(b"definitions".to_vec()) }
    }
    fn sequences(&self) -> Vec<SequenceMark> {
        vec![
            SequenceMark { id: SequenceId(0), next: -7, exhausted: false, generation: 0 },
            SequenceMark { id: SequenceId(2), next: i64::MAX, exhausted: true, generation: 300 },
        ]
    }
    fn tables(&self) -> Vec<SourceTable> {
        let table = |t: &Arc<Table<Flag>>| {
            let used = t.memory();
            SourceTable { id: t.id(), rows: used.rows, bytes: used.row_bytes }
        };
        self.tables.iter().map(table).collect()
    }
    fn ranges(&self, table: TableId, wanted: usize) -> Vec<KeyRange> {
        let mut participant = Participant::new();
        // More than are wanted, so that small tables are divided, too.
        let wanted = if wanted == 1 && self.changing.is_none() { 1 } else { wanted + 3 };
        KeyRange::between(self.tables.get(table).separators(wanted, participant.guard().pinned()))
    }
    fn rows(
        &self,
        table: TableId,
        range: &KeyRange,
        each: &mut dyn FnMut(&[u64]) -> Result<()>,
    ) -> Result<()> {
        let mut participant = Participant::new();
        let guard = participant.guard();
        let (from, to) = (range.from.as_deref(), range.to.as_deref());
        self.tables.get(table).for_each_row_in(from, to, guard.pinned(), each)
    }
    fn kept_bytes(&self, table: TableId) -> u64 {
        if self.changing == Some(table) { self.kept.fetch_add(1, Ordering::Relaxed) } else { 0 }
    }
    fn done(&self, table: TableId, _range: &KeyRange, last: bool) {
        self.done.lock().expect("nobody panics").push((table.0, last));
    }
}

fn source(n: i64, epoch: u64) -> Tables {
    Tables {
        tables: filled(n),
        epoch: Epoch(epoch),
        fails: false,
        changing: None,
        kept: AtomicU64::new(0),
        done: Default::default(),
    }
}

/// Small blocks and parts, so that there are some.
fn small(threads: usize) -> WriteOptions {
    WriteOptions { threads, block_bytes: 2000, part_bytes: 9000, ..Default::default() }
}

fn write_one(device: &dyn Device, number: u32, source: &Tables, threads: usize) -> Result<Written> {
    write(device, DATABASE, number, source, &small(threads), &|_| Ok(()))
}

fn digest(tables: &TableSet<Flag>) -> Vec<(TableId, planaria_storage::TableDigest)> {
    let mut participant = Participant::new();
    let guard = participant.guard();
    for table in tables.iter() {
        table.check(guard.pinned()).expect("rows and indexes agree");
    }
    tables.digest(guard.pinned())
}

fn load_tables(device: &dyn Device, manifest: &Manifest, threads: usize) -> Result<TableSet<Flag>> {
    let tables = empty(3);
    load(device, manifest, &tables, LoadOptions { threads }, &mut |_| ())?;
    Ok(tables)
}

#[test]
fn rows_come_back_whatever_the_number_of_threads() {
    let source = source(3, 41);
    for (writers, loaders) in [(1, 1), (1, 4), (3, 2), (4, 1)] {
        let disk = SimDisk::new(1);
        let device = disk.device();
        let written = write_one(&*device, 1, &source, writers).expect("writes");
        let manifest = open(&*device).expect("is whole").expect("is there");
        assert_eq!(manifest, written.manifest);
        assert_eq!((manifest.epoch, manifest.number, manifest.rows()), (Epoch(41), 1, 1500));
        assert!((1..=writers).contains(&manifest.files.len()));
        assert!(manifest.parts.len() >= 3, "{} parts", manifest.parts.len());
        assert_eq!(manifest.catalog, b"definitions");
        assert_eq!(manifest.sequences, source.sequences());
        let tables = load_tables(&*device, &manifest, loaders).expect("loads");
        assert_eq!(digest(&tables), digest(&source.tables));
        verify(&*device, &manifest, loaders, &mut |_| ()).expect("verifies");
    }
}

#[test]
fn a_database_without_rows_has_a_checkpoint_too() {
    let disk = SimDisk::new(1);
    let source = source(0, 2);
    write_one(&*disk.device(), 1, &source, 4).expect("writes");
    let manifest = open(&*disk.device()).expect("is whole").expect("is there");
    assert_eq!(manifest.rows(), 0);
    load_tables(&*disk.device(), &manifest, 4).expect("loads");
}

#[test]
fn a_crash_at_any_operation_leaves_the_old_one_or_the_new_one() {
    let (old, new) = (source(1, 10), source(2, 20));
    let begin = |seed| {
        let disk = SimDisk::new(seed);
        write_one(&*disk.device(), 1, &old, 1).expect("writes the first");
        disk
    };
    let replace = |device: &dyn Device| {
        write_one(device, 2, &new, 1)?;
        clean(device, Some(2))
    };
    let disk = begin(0);
    let from = disk.operations();
    replace(&*disk.device()).expect("replaces");
    let to = disk.operations();
    let mut seen = [0, 0];
    for at in from..to {
        for survival in [Survival::Nothing, Survival::Chance, Survival::Everything] {
            let disk = begin(at);
            disk.fail_power_at(at);
            replace(&*disk.device()).expect_err("the power fails");
            disk.crash(survival);
            let device = disk.device();
            let found = find(&*device).expect("can be listed");
            assert!(found.errors.is_empty(), "crash at {at}: {:?}", found.errors);
            let manifest = &found.manifests[0];
            assert!(found.next > manifest.number);
            let tables = load_tables(&*device, manifest, 1).unwrap_or_else(|e| panic!("crash at {at}: {e}"));
            let expected = if manifest.number == 1 { &old } else { &new };
            assert_eq!(digest(&tables), digest(&expected.tables), "crash at {at}");
            seen[manifest.number as usize - 1] += 1;
            // What is left over goes; what is kept stays whole.
            clean(&*device, Some(manifest.number)).expect("cleans");
            let names = device.list().expect("lists");
            let ours = format!("checkpoint-{:08}", manifest.number);
            assert!(names.iter().all(|n| n.starts_with(&ours) && !n.ends_with(".new")), "{names:?}");
            load_tables(&*device, manifest, 1).expect("loads again");
        }
    }
    assert!(seen.iter().all(|n| *n > 0), "{seen:?}");
}

#[test]
fn every_flipped_bit_is_found_and_named() {
    let source = source(1, 10);
    let disk = SimDisk::new(1);
    write_one(&*disk.device(), 1, &source, 1).expect("writes");
    let device = disk.device();
    let names = device.list().expect("lists");
    assert_eq!(names.len(), 2);
    for name in names {
        let size = disk.content(&name).expect("is there").len() as u64;
        for byte in 0..size {
            let bit = byte * 8 + byte % 8;
            disk.flip_bit(&name, bit);
            let outcome = open(&*device).and_then(|manifest| {
                verify(&*device, &manifest.expect("is there"), 1, &mut |_| ()).map(|_| ())
            });
            let error = outcome.expect_err("is found");
            let unsupported = error.sqlstate() == SqlState::FEATURE_NOT_SUPPORTED;
            assert!(!unsupported && error.sqlstate() == SqlState::DATA_CORRUPTED, "byte {byte}: {error}");
            assert!(error.message().contains(&name), "byte {byte} of {name}: {error}");
            assert!(error.message().contains("offset"), "{error}");
            disk.flip_bit(&name, bit);
        }
        // Cut short, or with something behind it.
        let whole = disk.content(&name).expect("is there");
        for changed in [&whole[..whole.len() - 1], &[&whole[..], &[0]].concat(), &[][..]] {
            disk.put(&name, changed);
            let outcome = open(&*device).and_then(|manifest| {
                verify(&*device, &manifest.expect("is there"), 1, &mut |_| ()).map(|_| ())
            });
            assert_eq!(outcome.expect_err("is found").sqlstate(), SqlState::DATA_CORRUPTED);
        }
        disk.put(&name, &whole);
    }
    let manifest = open(&*device).expect("is whole again").expect("is there");
    verify(&*device, &manifest, 1, &mut |_| ()).expect("is whole again");
}

#[test]
fn a_missing_file_of_rows_is_named() {
    let disk = SimDisk::new(1);
    write_one(&*disk.device(), 1, &source(1, 10), 2).expect("writes");
    let device = disk.device();
    device.delete("checkpoint-00000001-01.rows").expect("deletes");
    let manifest = open(&*device).expect("reads").expect("is there");
    let error = verify(&*device, &manifest, 1, &mut |_| ()).expect_err("is missing");
    assert!(error.message().contains("checkpoint-00000001-01.rows"), "{error}");
    assert_eq!(error.sqlstate(), SqlState::DATA_CORRUPTED);
}

#[test]
fn a_full_disk_leaves_the_old_one_and_no_rubbish() {
    let (old, new) = (source(1, 10), source(4, 20));
    let disk = SimDisk::new(1);
    let device = disk.device();
    write_one(&*device, 1, &old, 1).expect("writes the first");
    let before = device.list().expect("lists").len();
    for more in [0, 100, 5000, 20_000] {
        let used: usize =
            device.list().expect("lists").iter().map(|n| disk.content(n).map_or(0, |c| c.len())).sum();
        disk.set_capacity(Some(used as u64 + more));
        for threads in [1, 3] {
            let error = write_one(&*device, 2, &new, threads).expect_err("is full");
            assert_eq!(error.sqlstate(), SqlState::DISK_FULL, "{error}");
            assert_eq!(device.list().expect("lists").len(), before);
        }
    }
    disk.set_capacity(None);
    assert_eq!(open(&*device).expect("is whole").expect("is there").number, 1);
    write_one(&*device, 3, &new, 2).expect("there is room again");
    assert_eq!(open(&*device).expect("is whole").expect("is there").number, 3);
}

#[test]
fn a_failed_sync_is_no_checkpoint() {
    let disk = SimDisk::new(1);
    for at in 0..2 {
        disk.fail_sync_after(at);
        let error = write_one(&*disk.device(), 1, &source(1, 10), 1).expect_err("the sync fails");
        assert_eq!(error.sqlstate(), SqlState::IO_ERROR, "{error}");
        disk.crash(Survival::Everything);
        assert!(open(&*disk.device()).expect("reads").is_none());
        clean(&*disk.device(), None).expect("cleans");
    }
}

#[test]
fn a_source_that_fails_is_no_checkpoint() {
    let disk = SimDisk::new(1);
    let source = Tables { fails: true, ..source(1, 10) };
    write(&*disk.device(), DATABASE, 1, &source, &small(1), &|_| Ok(())).expect_err("fails");
    assert!(disk.device().list().expect("lists").is_empty());
}

#[test]
fn what_changes_is_written_first_and_each_table_is_left_once() {
    for threads in [1, 3] {
        let disk = SimDisk::new(1);
        let changing = Tables { changing: Some(TableId(1)), ..source(2, 10) };
        write(&*disk.device(), DATABASE, 1, &changing, &small(threads), &|_| Ok(())).expect("writes");
        let done = changing.done.into_inner().expect("nobody panics");
        for table in 0..3 {
            let of_table: Vec<bool> = done.iter().filter(|d| d.0 == table).map(|d| d.1).collect();
            assert_eq!(of_table.iter().filter(|last| **last).count(), 1, "{done:?}");
            // Who is through last may not be the last to say so, with several threads.
            assert!(threads > 1 || of_table.last() == Some(&true), "{done:?}");
        }
        let mut order: Vec<u32> = done.iter().map(|d| d.0).collect();
        order.dedup();
        assert!(threads > 1 || order == [1, 2, 0], "{order:?}");
    }
}

/// The directory of old files, one a format.
fn golden(version: &str) -> std::path::PathBuf {
    std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/formats").join(version)
}

#[test]
fn files_in_every_format_are_read() {
    for version in ["v1", "v2", "v3", "v4", "v5", "v6", "v7", "v8", "v9", "v10", "v11", "v12"] {
        let device = DirectoryDevice::read_only(golden(version)).expect("old files");
        let manifest = open(&device).expect("is whole").expect("is there");
        let expected = source(1, 77);
        assert_eq!((manifest.epoch, manifest.number, manifest.database), (Epoch(77), 1, DATABASE));
        let mut sequences = expected.sequences();
        if version == "v1" {
            sequences.iter_mut().for_each(|mark| mark.generation = 0);
        }
        assert_eq!(manifest.sequences, sequences);
        assert_eq!(manifest.notes.began_micros, 815);
        let tables = load_tables(&device, &manifest, 2).expect("loads");
        assert_eq!(digest(&tables), digest(&expected.tables));
    }
}

/// Bytes that no version of the compressor decides: headers, and blocks stored as they are.
#[test]
fn the_current_format_is_written_as_it_was() {
    if let Some(directory) = std::env::var_os("PLANARIA_WRITE_FORMATS") {
        let device = DirectoryDevice::open(directory).expect("a directory");
        let mut options = small(1);
        options.notes.began_micros = 815;
        write(&device, DATABASE, 1, source(1, 77), &options, &|_| Ok(())).expect("writes");
    }
    let old = std::fs::read(golden("v12").join("checkpoint-00000001-00.rows")).expect("old file");
    let disk = SimDisk::new(1);
    write_one(&*disk.device(), 1, &source(1, 77), 1).expect("writes");
    let new = disk.content("checkpoint-00000001-00.rows").expect("is there");
    assert_eq!(new[..64], old[..64]);
    // Magic, table and rows of the first block.
    assert_eq!((&new[64..68], &new[72..80]), (&old[64..68], &old[72..80]));
}

#[test]
fn notes_that_are_no_numbers_leave_a_checkpoint_readable() {
    let disk = SimDisk::new(1);
    let device = disk.device();
    let manifest = Manifest {
        database: DATABASE,
        number: 1,
        epoch: Epoch(7),
        catalog: b"a catalog".to_vec(),
        sequences: Vec::new(),
        tables: Vec::new(),
        files: Vec::new(),
        parts: Vec::new(),
        notes: Notes {
            began_micros: 5,
            took_micros: 6,
            load_bytes_per_second: f64::INFINITY,
            replay_bytes_per_second: f64::NAN,
        },
    };
    let read = |bytes: &[u8]| Manifest::decode(bytes, &*device, "m", 1);
    let bytes = manifest.encode();
    let found = read(&bytes).expect("it is readable");
    let noted = Notes { load_bytes_per_second: 0.0, replay_bytes_per_second: 0.0, ..manifest.notes.clone() };
    assert_eq!(found, Manifest { notes: noted, ..manifest.clone() });
    // What others may have written.
    for json in [&b"null"[..], b"", b"{\"took_micros\": null}"] {
        assert_eq!(crate::notes::Notes::decode(json), Notes::default());
    }
    let forged = Manifest { epoch: Epoch(Epoch::MAX.0 + 1), ..manifest };
    let error = read(&forged.encode()).expect_err("there is no such epoch");
    assert_eq!(error.sqlstate(), SqlState::DATA_CORRUPTED);
}

#[test]
fn a_forged_length_makes_no_room() {
    let raw = vec![7; 100_000];
    let mut stored = Vec::new();
    let codec = crate::format::pack(&raw, &mut stored) as u32;
    let mut room = Vec::new();
    assert_eq!(crate::format::unpack(codec, &stored, raw.len(), &mut room), Some(&raw[..]));
    let mut room = Vec::new();
    assert_eq!(crate::format::unpack(codec, &stored, (1 << 32) - 1, &mut room), None);
    assert_eq!(room.capacity(), 0);
}
