use super::*;
use crate::reclaim::Participant;
use crate::row::{ColumnSpec, Field};
use crate::table::{IndexSpec, TableSpec};
use planaria_base::sync::atomic::{AtomicU64, Ordering};
use planaria_base::{ColumnId, TableId, Type};

struct Flag(AtomicU64);
impl Header for Flag {
    type Versions = crate::versions::Single;

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

/// A number, and a text with an index of its own.
fn table() -> Table<Flag> {
    let columns =
        [ColumnSpec { ty: Type::Int8, nullable: false }, ColumnSpec { ty: Type::Text, nullable: false }];
    let indexes = [
        IndexSpec { columns: vec![ColumnId(0)], unique: true, equal_nulls: false },
        IndexSpec { columns: vec![ColumnId(1)], unique: true, equal_nulls: false },
    ];
    Table::new(TableId(7), TableSpec { columns: &columns, indexes: &indexes }).unwrap()
}

fn image(table: &Table<Flag>, id: i64, text: &str) -> Vec<u64> {
    let mut image = Vec::new();
    table.layout().encode(&[Field::Int(id), Field::Bytes(text.as_bytes())], &mut image).unwrap();
    image
}

fn key(table: &Table<Flag>, index: u16, image: &[u64]) -> KeyBuf {
    let mut key = KeyBuf::new();
    table.index(IndexId(index)).codec().encode_row(image, &mut key).unwrap();
    key
}

/// Rows that one thread puts into indexes.
const ROWS: usize = if cfg!(miri) { 60 } else { 3000 };

/// Rows that several threads link; Miri is patient, people are not.
const LINKED: i64 = if cfg!(miri) { 20 } else { 500 };

#[test]
fn rows_written_before_any_index_knows_them_come_in_sorted() {
    let (table, expected) = (table(), table());
    let mut participant = Participant::new();
    let guard = participant.guard();
    let pin = guard.pinned();
    assert!(table.is_empty(pin));
    let mut entries = [Entries::new(), Entries::new()];
    let mut others = [Entries::new(), Entries::new()];
    for i in 0..ROWS as i64 {
        // Texts beyond what a node holds of a key, of different lengths.
        let row = image(&table, i * 7919 % 3001, &format!("{}{i}", "text ".repeat(i as usize % 30)));
        expected.load(&row, 0, pin).unwrap();
        let mut record = table.unlinked(1, 0);
        record.write(&image(&table, -1, "first"), 0, pin);
        record.write(&row, 0, pin);
        let word = record.into_word();
        for index in 0..2u16 {
            let into = if i % 3 == 0 { &mut others } else { &mut entries };
            into[usize::from(index)].push(&key(&table, index, &row), word);
        }
    }
    for (index, (mut entries, others)) in (0u16..).zip(entries.into_iter().zip(others)) {
        entries.append(others);
        entries.sort();
        assert_eq!(entries.len(), ROWS);
        let index = table.index(IndexId(index));
        std::thread::scope(|s| {
            for part in 0..3 {
                let entries = &entries;
                s.spawn(move || {
                    let mut participant = Participant::new();
                    let guard = participant.guard();
                    entries
                        .insert_into(index, part * ROWS / 3..(part + 1) * ROWS / 3, guard.pinned())
                        .unwrap();
                });
            }
        });
        assert_eq!(entries.insert_into(index, 5..7, pin), Err(5), "a key that is there already");
    }
    table.check(pin).unwrap();
    assert_eq!(table.digest(pin), expected.digest(pin));
}

#[test]
fn a_record_that_no_index_gets_is_freed() {
    let table = table();
    let mut participant = Participant::new();
    let guard = participant.guard();
    let pin = guard.pinned();
    let before = table.memory().row_bytes;
    let row = image(&table, 1, &"x".repeat(9000));
    let mut record = table.unlinked(1, 0);
    record.write(&row, 0, pin);
    let mut read = Vec::new();
    assert!(record.read(&mut read, pin) && read == row);
    record.clear(pin);
    assert!(!record.read(&mut read, pin));
    drop(record);
    assert_eq!(table.memory().row_bytes, before);
}

#[test]
fn threads_that_restore_the_same_keys_meet_at_one_record() {
    let table = table();
    let mut participant = Participant::new();
    let guard = participant.guard();
    let lasting = guard.pinned().lasting();
    let found: Vec<Vec<usize>> = std::thread::scope(|s| {
        let restore = || {
            let mut participant = Participant::new();
            let guard = participant.guard();
            let pin = guard.pinned();
            let link = |id| {
                let row = image(&table, id, &format!("row {id}"));
                let key = key(&table, 0, &row);
                let record = match table.find(key.words(), pin, lasting) {
                    Some(record) => record,
                    None => table.unlinked(row.len(), 0).link(key.words(), pin, lasting),
                };
                record.ptr().to_word() as usize
            };
            (0..LINKED).map(link).collect()
        };
        let threads: Vec<_> = (0..4).map(|_| s.spawn(restore)).collect();
        threads.into_iter().map(|t| t.join().unwrap()).collect()
    });
    assert!(found.iter().all(|f| *f == found[0]));
    let pin = guard.pinned();
    for id in 0..LINKED {
        let key = key(&table, 0, &image(&table, id, ""));
        let record = table.find(key.words(), pin, lasting).unwrap();
        assert!(table.remove(key.words(), record, pin));
        assert!(!table.remove(key.words(), record, pin), "once");
    }
    assert!(table.is_empty(pin));
}
