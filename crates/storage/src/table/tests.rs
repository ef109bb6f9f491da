use super::*;
use crate::arena::Arena;
use crate::row::Field;
use planaria_base::Type;
use planaria_base::sync::atomic::{AtomicU64, Ordering};

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

fn table() -> Table<Flag> {
    table_with(TableId(7))
}

fn table_with(id: TableId) -> Table<Flag> {
    let columns =
        [ColumnSpec { ty: Type::Int8, nullable: false }, ColumnSpec { ty: Type::Text, nullable: true }];
    let indexes = [
        IndexSpec { columns: vec![ColumnId(0)], unique: true, equal_nulls: false },
        IndexSpec { columns: vec![ColumnId(1)], unique: false, equal_nulls: false },
    ];
    Table::new(id, TableSpec { columns: &columns, indexes: &indexes }).unwrap()
}

fn image(table: &Table<Flag>, id: i64, text: &str) -> Vec<u64> {
    let mut image = Vec::new();
    table.layout().encode(&[Field::Int(id), Field::Bytes(text.as_bytes())], &mut image).unwrap();
    image
}

/// How often something is tried: Miri takes its time.
const PATIENCE: usize = if cfg!(miri) { 40 } else { 2000 };

#[test]
fn loaded_rows_are_found_counted_and_digested() {
    let table = table();
    let mut participant = Participant::new();
    let guard = participant.guard();
    let pin = guard.pinned();
    for id in (0..PATIENCE as i64 / 2).rev() {
        table.load(&image(&table, id, &format!("row {id}")), 0, pin).unwrap();
    }
    assert_eq!(table.load(&image(&table, 5, "again"), 0, pin), Err(Some(IndexId(0))));
    table.check(pin).unwrap();
    let digest = table.digest(pin);
    assert_eq!(digest.rows, PATIENCE as u64 / 2);
    let mut last = -1;
    table.for_each_row(pin, |image| {
        assert_eq!(table.layout().int(image, ColumnId(0)), last + 1);
        last += 1;
    });
    let memory = table.memory();
    assert!(
        memory.row_bytes >= PATIENCE as u64 / 2 * 32
            && memory.index_entries as usize >= PATIENCE - PATIENCE / 20,
        "{memory:?}"
    );
    let touched = table.touched([ColumnId(1)]);
    assert!(touched.contains(IndexId(1)) && !touched.contains(IndexId(0)));
    assert_eq!(touched.iter().collect::<Vec<_>>(), [IndexId(1)]);
}

#[test]
fn an_image_that_outgrows_its_record_moves_to_overflow_blocks() {
    let table = table();
    let mut participant = Participant::new();
    let guard = participant.guard();
    let pin = guard.pinned();
    let record = table.allocate(0, image(&table, 1, "short").len());
    // SAFETY: allocated under this pin.
    let shown = unsafe { record.deref(pin) };
    let mut arena = Arena::new();
    for len in [5, 9, 60, 70, 3, 5000, 100_000, 200_000, 1] {
        let row = image(&table, 1, &"x".repeat(len));
        table.write(shown, &row, 0, pin);
        let read = shown.read(&mut arena).unwrap();
        assert_eq!(read.words(&arena), row);
    }
    let used = table.memory().row_bytes;
    // SAFETY: in no index.
    unsafe { table.free(record) };
    assert!(table.memory().row_bytes < used);
}

#[test]
fn a_long_image_starts_in_an_overflow_block() {
    let table = table();
    let mut participant = Participant::new();
    let guard = participant.guard();
    let pin = guard.pinned();
    let row = image(&table, 1, &"y".repeat(1 << 20));
    assert_eq!(table.load(&row, 0, pin), Err(None), "its text is too long for a key");
    let record = table.allocate(0, row.len());
    // SAFETY: allocated under this pin.
    let shown = unsafe { record.deref(pin) };
    table.write(shown, &row, 0, pin);
    let mut copy = Vec::new();
    shown.read_to_vec(&mut copy);
    assert_eq!(copy, row);
    drop(table);
    // Dropped, yet not freed before the pin ends.
    copy.clear();
    shown.read_to_vec(&mut copy);
    assert_eq!(copy, row);
}

#[test]
fn readers_never_see_beyond_a_record_that_is_being_written() {
    let table = table();
    let mut participant = Participant::new();
    let guard = participant.guard();
    let pin = guard.pinned();
    let record = table.allocate(0, 4);
    let rows: Vec<_> = [1usize, 40, 500, 2].map(|n| image(&table, 1, &"z".repeat(n))).into();
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                let mut participant = Participant::new();
                let guard = participant.guard();
                let mut arena = Arena::new();
                for _ in 0..PATIENCE {
                    arena.reset();
                    // SAFETY: never unlinked while this test runs.
                    let shown = unsafe { record.deref(guard.pinned()) };
                    let read = shown.read(&mut arena).unwrap();
                    assert!(read.len == 0 || rows.iter().any(|row| row.len() == read.len as usize));
                }
            });
        }
        // SAFETY: allocated under this pin.
        let shown = unsafe { record.deref(pin) };
        for i in 0..PATIENCE {
            table.write(shown, &rows[i % rows.len()], 0, pin);
        }
    });
}

#[test]
fn sets_share_the_tables_that_both_of_them_have() {
    let table = |id| Arc::new(table_with(TableId(id)));
    let mut first = TableSet::new();
    first.insert(table(0));
    first.insert(table(2));
    let mut second = first.clone();
    second.insert(table(2));
    second.insert(table(3));
    let (first, second) = (crate::Tables::from(first), crate::Tables::from(second));
    let mut third = second.clone();
    third.insert(first.shared(TableId(2)).unwrap());
    third.remove(TableId(0));
    assert_eq!([0, 2, 3].map(|id| third.share(&first, TableId(id))), [false, true, false]);
    let shared = (0..5).map(|id| first.share(&second, TableId(id)));
    assert_eq!(shared.collect::<Vec<_>>(), [true, false, false, false, false]);
    assert_eq!(second.iter().map(|table| table.id().0).collect::<Vec<_>>(), [0, 2, 3]);
    assert_eq!(second.get(TableId(3)).shape().indexes().len(), 2);
    assert!(second.try_get(TableId(1)).is_none());
    assert!(Arc::ptr_eq(second.of::<Flag>().get(TableId(0)), first.of::<Flag>().get(TableId(0))));
}
