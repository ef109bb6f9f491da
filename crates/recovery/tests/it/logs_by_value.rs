//! Every scheme on random logs by value, such as no engine of ours writes yet: stores with several
//! versions of a row, whose locations move and are used again at once; kinds of log that change from
//! transaction to transaction; several runs of the database; now and then a call.
//!
//! A model draws transactions over few keys, so that rows go and come again and unique keys wander, and
//! writes them to a log. Each scheme replays it into a table that had rows before, with several numbers of
//! threads and sizes of batches. The table must have the model's rows, and agree with its indexes.

use planaria_base::clock::CommitClock;
use planaria_base::{
    ColumnId, CommitTs, Datum, Epoch, Error, IndexId, ProcedureId, Result, SequenceId, SequencePlace,
    SqlState, TableId, Type,
};
use planaria_exec::{Code, Link};
use planaria_ir::Program;
use planaria_log::{Call, Durability, Effect, EffectWriter, Log, LogReader, RowChange};
use planaria_recovery::{CompiledPlan, Options, Progress, Replayer, Routines, Scheme, Target, World};
use planaria_sim::disk::SimDisk;
use planaria_storage::reclaim::Participant;
use planaria_storage::{
    ColumnSpec, Field, Header, IndexSpec, KeyBuf, Table, TableDigest, TableSet, TableSpec,
};
use rand::rngs::SmallRng;
use rand::{Rng, SeedableRng};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};

const TABLE: TableId = TableId(3);
const KEYS: i64 = 14;
const BEFORE: i64 = 5;

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

/// `id` primary key, `mail` unique, `grp` indexed, `note` of any length.
fn table() -> Table<Flag> {
    let int = |nullable| ColumnSpec { ty: Type::Int8, nullable };
    let columns = [int(false), int(true), int(false), ColumnSpec { ty: Type::Text, nullable: false }];
    let index = |column, unique| IndexSpec { columns: vec![ColumnId(column)], unique, equal_nulls: false };
    let indexes = [index(0, true), index(1, true), index(2, false)];
    Table::new(TABLE, TableSpec { columns: &columns, indexes: &indexes }).unwrap()
}

#[derive(Clone, PartialEq, Debug)]
struct Row {
    mail: Option<i64>,
    grp: i64,
    note: usize,
}

impl Row {
    fn image(&self, table: &Table<Flag>, id: i64) -> Vec<u64> {
        let note = "x".repeat(self.note);
        let mail = self.mail.map_or(Field::Null, Field::Int);
        let fields = [Field::Int(id), mail, Field::Int(self.grp), Field::Bytes(note.as_bytes())];
        let mut image = Vec::new();
        table.layout().encode(&fields, &mut image).unwrap();
        image
    }
}

fn key(table: &Table<Flag>, image: &[u64]) -> Vec<u8> {
    let mut key = KeyBuf::new();
    table.index(IndexId::PRIMARY).codec().encode_row(image, &mut key).unwrap();
    key.words().iter().flat_map(|w| w.to_be_bytes()).take(key.len_bytes()).collect()
}

/// What the call with number `n` does: toggles a row.
fn toggled(n: i64) -> (i64, Row) {
    (n % KEYS, Row { mail: None, grp: n % 3, note: 2 })
}

fn loaded(rows: &BTreeMap<i64, Row>) -> Table<Flag> {
    let table = table();
    let mut participant = Participant::new();
    let guard = participant.guard();
    for (id, row) in rows {
        table.load(&row.image(&table, *id), 0, guard.pinned()).unwrap();
    }
    table
}

/// Rows as they are, and where.
struct Model {
    rng: SmallRng,
    rows: BTreeMap<i64, Row>,
    locations: BTreeMap<i64, u64>,
    free: Vec<u64>,
    /// Used again only by later transactions.
    freed: Vec<u64>,
}

impl Model {
    fn new(seed: u64, rows: BTreeMap<i64, Row>) -> Model {
        let mut model = Model {
            rng: SmallRng::seed_from_u64(seed),
            rows,
            locations: BTreeMap::new(),
            free: (1..=KEYS as u64 * 2).map(|n| n * 64).collect(),
            freed: Vec::new(),
        };
        model.restart();
        model
    }

    /// After a restart every row is somewhere else.
    fn restart(&mut self) {
        self.free.extend(std::mem::take(&mut self.locations).into_values());
        for id in self.rows.keys().copied().collect::<Vec<_>>() {
            let location = self.take();
            self.locations.insert(id, location);
        }
    }

    fn take(&mut self) -> u64 {
        // Mostly the location that became free last.
        let back = self.rng.random_range(0..3).min(self.free.len() - 1);
        self.free.remove(self.free.len() - 1 - back)
    }

    fn gone(&mut self, id: i64) -> u64 {
        let location = self.locations.remove(&id).unwrap();
        self.freed.push(location);
        location
    }

    fn came(&mut self, id: i64, row: Row) -> u64 {
        let location = self.take();
        self.rows.insert(id, row);
        self.locations.insert(id, location);
        location
    }

    fn row(&mut self, id: i64) -> Row {
        let mail = self.rng.random_range(0..8);
        let taken = self.rows.iter().any(|(other, row)| *other != id && row.mail == Some(mail));
        let note = if self.rng.random_range(0..9) == 0 { 700 } else { self.rng.random_range(0..40) };
        Row { mail: (!taken).then_some(mail), grp: self.rng.random_range(0..3), note }
    }

    fn call(&mut self, n: i64) {
        let (id, row) = toggled(n);
        if self.rows.remove(&id).is_some() {
            self.gone(id);
        } else {
            self.came(id, row);
        }
        self.free.append(&mut self.freed);
    }

    /// A transaction, as a kind of log writes it.
    fn transaction(&mut self, table: &Table<Flag>, kind: usize, w: &mut EffectWriter<'_>) {
        let mut ids: Vec<i64> =
            (0..self.rng.random_range(1..5)).map(|_| self.rng.random_range(0..KEYS)).collect();
        ids.sort_unstable();
        ids.dedup();
        for id in ids {
            let Some(old) = self.rows.get(&id).cloned() else {
                self.insert(table, kind, w, id);
                continue;
            };
            let before = old.image(table, id);
            match self.rng.random_range(0..5) {
                0 | 1 => {
                    self.rows.remove(&id);
                    let location = self.gone(id);
                    let key = key(table, &before);
                    match kind {
                        0 => w.delete(TABLE, &key),
                        1 => w.physical_delete(TABLE, location, &key),
                        _ => w.delete_row(TABLE, &key, &before),
                    }
                    if self.rng.random_range(0..3) == 0 {
                        self.insert(table, kind, w, id);
                    }
                }
                how => {
                    let row = self.row(id);
                    let image = row.image(table, id);
                    let from = self.locations[&id];
                    let to = if how == 2 { self.take() } else { from };
                    if to != from {
                        self.freed.push(from);
                    }
                    self.rows.insert(id, row);
                    self.locations.insert(id, to);
                    match kind {
                        0 => w.update(TABLE, &image),
                        1 => w.physical_update(TABLE, from, to, &image),
                        _ => w.patch(TABLE, &key(table, &before), &before, &image),
                    }
                }
            }
        }
        w.sequence(SequenceId(1), SequencePlace::given(0, self.rng.random_range(0..1000)));
        self.free.append(&mut self.freed);
    }

    fn insert(&mut self, table: &Table<Flag>, kind: usize, w: &mut EffectWriter<'_>, id: i64) {
        let row = self.row(id);
        let image = row.image(table, id);
        let location = self.came(id, row);
        match kind {
            1 => w.physical_insert(TABLE, location, &image),
            _ => w.insert(TABLE, &image),
        }
    }
}

/// A table, and the procedure that toggles.
struct Store {
    world: Arc<World<Flag>>,
    reached: CommitTs,
}

struct NoRoutines(AtomicI64);

fn none<T>() -> Result<T> {
    Err(Error::new(SqlState::INTERNAL_ERROR, "there are no programs"))
}

impl Link for NoRoutines {
    fn code(&self, _: ProcedureId) -> Result<&Code> {
        none()
    }
}

impl Routines for NoRoutines {
    fn program(&self, _: ProcedureId) -> Result<&Program> {
        none()
    }
    fn keeping(&self, _: ProcedureId) -> Result<Option<&Program>> {
        Ok(None)
    }
    fn plan(&self, _: ProcedureId) -> Result<Option<&CompiledPlan>> {
        Ok(None)
    }
    fn compile(&self, _: &Program) -> Result<Code> {
        none()
    }
    fn observe_row(&self, _: TableId, _: &[u64]) {}
    fn observe_sequence(&self, _: SequenceId, place: SequencePlace) {
        self.0.fetch_max(place.value, Ordering::Relaxed);
    }
    fn table_name(&self, _: TableId) -> String {
        "rows".into()
    }
}

impl Store {
    fn new(rows: &BTreeMap<i64, Row>) -> Store {
        let mut tables = TableSet::new();
        tables.insert(Arc::new(loaded(rows)));
        let world = World { tables, routines: Arc::new(NoRoutines(AtomicI64::new(0))) };
        Store { world: Arc::new(world), reached: CommitTs(0) }
    }

    fn table(&self) -> &Table<Flag> {
        self.world.tables.get(TABLE)
    }

    fn take(&self, key: &[u8], participant: &mut Participant) -> Option<Vec<u64>> {
        let guard = participant.guard();
        let pin = guard.pinned();
        let mut words = KeyBuf::new();
        key.iter().for_each(|byte| words.push(u64::from(*byte), 1));
        let record = self.table().find(words.words(), pin, pin.lasting())?;
        let mut image = Vec::new();
        record.read_to_vec(&mut image);
        let mut entry = KeyBuf::new();
        for (_, index) in self.table().secondary() {
            index.codec().encode_row(&image, &mut entry).unwrap();
            assert!(index.tree().remove(pin, entry.words(), record.ptr().to_word()));
        }
        assert!(self.table().remove(words.words(), record, pin));
        Some(image)
    }

    fn put(&self, image: &[u64], participant: &mut Participant) {
        let guard = participant.guard();
        self.table().load(image, 0, guard.pinned()).unwrap();
    }
}

impl Replayer for Store {
    fn call(&mut self, commit_ts: CommitTs, call: Call) -> Result<()> {
        self.reached(commit_ts);
        let [Datum::Int(n)] = call.args[..] else { return none() };
        let (id, row) = toggled(n);
        let image = row.image(self.table(), id);
        let mut participant = Participant::new();
        if self.take(&key(self.table(), &image), &mut participant).is_none() {
            self.put(&image, &mut participant);
        }
        Ok(())
    }

    fn effects(&mut self, commit_ts: CommitTs, effects: Vec<Effect>) -> Result<()> {
        self.reached(commit_ts);
        let mut participant = Participant::new();
        let mut images = Vec::new();
        for change in effects.iter().filter_map(Effect::logical) {
            match change {
                RowChange::Insert { row, .. } => images.push(row.to_vec()),
                RowChange::Update { row, .. } => {
                    self.take(&key(self.table(), row), &mut participant).unwrap();
                    images.push(row.to_vec());
                }
                RowChange::Patch { key, patch, .. } => {
                    let mut image = self.take(key, &mut participant).unwrap();
                    patch.redo(&mut image)?;
                    images.push(image);
                }
                RowChange::Delete { key, .. } => drop(self.take(key, &mut participant).unwrap()),
            }
        }
        images.iter().for_each(|image| self.put(image, &mut participant));
        for effect in &effects {
            if let Effect::Sequence { sequence, place } = effect {
                self.world.routines.observe_sequence(*sequence, *place);
            }
        }
        Ok(())
    }

    fn progress(&mut self, _: Progress) {}

    fn reached(&mut self, commit_ts: CommitTs) {
        assert!(commit_ts >= self.reached);
        self.reached = commit_ts;
    }
}

impl Target for Store {
    type Header = Flag;
    fn world(&self) -> Arc<World<Flag>> {
        self.world.clone()
    }
}

fn open(disk: &SimDisk) -> (Log, Arc<CommitClock>) {
    let clock = Arc::new(CommitClock::new(Epoch(1)));
    let options = planaria_log::Options { durability: Durability::Async, loggers: 2, ..Default::default() };
    (LogReader::open(disk.device()).unwrap().resume(clock.clone(), options).unwrap(), clock)
}

fn digest(table: &Table<Flag>) -> TableDigest {
    let mut participant = Participant::new();
    let guard = participant.guard();
    table.check(guard.pinned()).unwrap();
    table.digest(guard.pinned())
}

/// `kinds`: how a transaction may be logged: 0 logical, 1 physical, 2 physiological. `calls` of a
/// hundred transactions are calls.
fn conforms(seed: u64, kinds: &[usize], calls: u32, transactions: u32) {
    let plain = |id| Row { mail: Some(100 + id), grp: id % 3, note: 3 };
    let before: BTreeMap<i64, Row> = (0..BEFORE).map(|id| (id * 2, plain(id))).collect();
    let layout = table();
    let mut model = Model::new(seed, before.clone());
    let disk = SimDisk::new(seed);
    for _ in 0..3 {
        let (log, clock) = open(&disk);
        let mut workers: Vec<_> = (0..3).map(|_| log.worker().unwrap()).collect();
        for n in 0..transactions {
            let worker = &mut workers[n as usize % 3];
            let commit = worker.enter().unwrap();
            let ts = clock.draw();
            if model.rng.random_range(0..100) < calls {
                let argument = model.rng.random_range(0..1000);
                commit.call(ts, ProcedureId(1), 1, 0, |v| v.int(argument));
                model.call(argument);
            } else {
                let kind = kinds[model.rng.random_range(0..kinds.len())];
                commit.effects(ts, |w| model.transaction(&layout, kind, w));
            }
            if model.rng.random_range(0..50) == 0 {
                log.flush().unwrap();
            }
        }
        drop(workers);
        log.shutdown().unwrap();
        model.restart();
    }
    let expected = digest(&loaded(&model.rows));
    for &scheme in Scheme::ALL {
        if calls > 0 && scheme.name().starts_with("clr-p") {
            // These cut up the programs of calls, of which there are none.
            continue;
        }
        for (threads, batch) in [(1, 1 << 16), (2, 7), (3, 1), (16, 100)] {
            let reader = LogReader::open(disk.device()).unwrap();
            let mut store = Store::new(&before);
            let options = Options { threads, batch, ..Options::default() };
            let bytes = reader.summary().bytes;
            let report = scheme.replay(reader.batches(Epoch(0)), bytes, &options, &mut store);
            let what = format!(
                "seed {seed}, kinds {kinds:?}, {calls} % calls, {scheme}, {threads} threads of {batch}"
            );
            let report = report.unwrap_or_else(|e| panic!("{what}: {e}"));
            assert_eq!(report.transactions, 3 * u64::from(transactions), "{what}");
            assert_eq!(digest(store.table()), expected, "{what}");
        }
    }
}

macro_rules! logs {
    ($($name:ident: $kinds:expr, $calls:literal % calls;)*) => {
        $(#[test]
        fn $name() {
            for seed in 0..5 {
                conforms(seed, &$kinds, $calls, 15 + 25 * seed as u32);
            }
        })*
    };
}

logs! {
    logical: [0], 0 % calls;
    physical: [1], 0 % calls;
    physiological: [2], 0 % calls;
    physical_with_few_calls: [1], 2 % calls;
    logical_with_calls: [0], 20 % calls;
    every_kind: [0, 1, 2], 1 % calls;
    logical_and_physical: [0, 1], 0 % calls;
}
