//! A database of two tables, clients that record what they see, and their replay.

use planaria_base::clock::CommitClock;
use planaria_base::{ColumnId, CommitTs, Epoch, IndexId, TableId, Type, WorkerId};
use planaria_protocol::{
    ColumnsRead, Conflict, Heal, Healed, Hosted, LocksMark, Refused, Row, RowHandle, Savepoint, Telling,
};
use planaria_sim::history::{By, Model, Op, RowState, Transaction, Version};
use planaria_storage::reclaim::Participant;
use planaria_storage::{
    Arena, ColumnSpec, Field, IndexSpec, KeyBound, KeyBuf, KeyRange, Table, TableDigest, TableSet, TableSpec,
};
use std::sync::Arc;

pub const KEY: ColumnId = ColumnId(0);
pub const VERSION: ColumnId = ColumnId(1);
pub const GROUP: ColumnId = ColumnId(2);
pub const TAG: ColumnId = ColumnId(3);
pub const VALUE: ColumnId = ColumnId(4);
pub const PAD: ColumnId = ColumnId(5);
pub const TABLES: u32 = 2;

pub fn index(by: By) -> IndexId {
    match by {
        By::Key => IndexId(0),
        By::Group => IndexId(1),
        By::Tag => IndexId(2),
    }
}

/// A row to be written; the fixture adds version and padding.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct NewRow {
    pub key: i64,
    pub group: i64,
    pub tag: Option<i64>,
    pub value: i64,
    /// Length of the padding.
    pub pad: usize,
}

/// A row as read.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SeenRow {
    pub handle: RowHandle,
    pub row: NewRow,
    pub version: Version,
}

pub struct Db<P: Hosted> {
    pub protocol: P,
    pub tables: TableSet<P::Header>,
    pub clock: CommitClock,
}

impl<P: Hosted> Db<P> {
    pub fn new() -> Db<P> {
        let column = |ty, nullable| ColumnSpec { ty, nullable };
        let columns = [
            column(Type::Int8, false),
            column(Type::Int8, false),
            column(Type::Int4, false),
            column(Type::Int8, true),
            column(Type::Int8, false),
            column(Type::Text, false),
        ];
        let index = |column, unique| IndexSpec { columns: vec![column], unique, equal_nulls: false };
        let indexes = [index(KEY, true), index(GROUP, false), index(TAG, true)];
        let mut tables = TableSet::new();
        for id in 0..TABLES {
            let spec = TableSpec { columns: &columns, indexes: &indexes };
            tables.insert(Arc::new(Table::new(TableId(id), spec).unwrap()));
        }
        let protocol = P::new();
        protocol.heal_always();
        Db { protocol, tables, clock: CommitClock::new(Epoch(1)) }
    }

    pub fn client(&self, worker: u16) -> Client<'_, P> {
        Client {
            db: self,
            txn: self.protocol.worker(WorkerId(worker)),
            arena: Arena::new(),
            image: Vec::new(),
            key: KeyBuf::new(),
            range: KeyRange::all(),
            id: 0,
            writes: 0,
            ops: Vec::new(),
        }
    }

    /// Puts rows in with a transaction of its own, number `id`.
    pub fn load(&self, id: u32, table: u32, rows: &[NewRow]) {
        let mut client = self.client(0);
        client.begin(id);
        rows.iter().for_each(|row| client.insert(table, *row).unwrap().map(drop).unwrap());
        client.commit().unwrap();
    }

    /// The rows, for whoever is alone.
    pub fn model(&self) -> Model {
        let mut model = Model::default();
        let mut participant = Participant::new();
        let guard = participant.guard();
        for table in self.tables.iter() {
            let l = table.layout();
            table.for_each_row(guard.pinned(), |image| {
                let tag = (!l.is_null(image, TAG)).then(|| l.int(image, TAG));
                let version = Version(l.int(image, VERSION) as u64);
                let row = RowState { version, group: l.int(image, GROUP), tag };
                model.put(table.id().0, l.int(image, KEY), row);
            });
        }
        model
    }

    pub fn digest(&self) -> Vec<(TableId, TableDigest)> {
        let mut participant = Participant::new();
        let guard = participant.guard();
        self.tables.digest(guard.pinned())
    }

    /// Every row in every index, nothing else.
    pub fn check(&self) {
        let mut participant = Participant::new();
        let guard = participant.guard();
        self.tables.iter().for_each(|table| table.check(guard.pinned()).unwrap());
    }
}

pub type Outcome<T> = Result<T, Conflict>;

/// A savepoint, what was locked then, and where the operations stood.
#[derive(Clone, Copy)]
pub struct Mark {
    savepoint: Savepoint,
    locks: LocksMark,
    ops: usize,
}

pub struct Client<'d, P: Hosted> {
    pub db: &'d Db<P>,
    pub txn: P::Txn,
    pub arena: Arena,
    image: Vec<u64>,
    key: KeyBuf,
    range: KeyRange,
    id: u32,
    writes: u32,
    pub ops: Vec<Op>,
}

impl<P: Hosted> Client<'_, P> {
    pub fn table(&self, table: u32) -> &Arc<Table<P::Header>> {
        self.db.tables.get(TableId(table))
    }

    pub fn begin_claiming(&mut self, id: u32) {
        self.begin(id);
        self.db.protocol.claim_writes(&mut self.txn);
    }

    pub fn begin(&mut self, id: u32) {
        self.db.protocol.begin(&mut self.txn);
        self.arena.reset();
        self.id = id;
        self.writes = 0;
        self.ops.clear();
    }

    fn seen(&self, table: u32, row: Row) -> SeenRow {
        let (l, image) = (self.table(table).layout(), row.image.words(&self.arena));
        SeenRow {
            handle: row.handle,
            row: NewRow {
                key: l.int(image, KEY),
                group: l.int(image, GROUP),
                tag: (!l.is_null(image, TAG)).then(|| l.int(image, TAG)),
                value: l.int(image, VALUE),
                pad: l.bytes(image, PAD).len(),
            },
            version: Version(l.int(image, VERSION) as u64),
        }
    }

    pub fn get_by(&mut self, table: u32, by: By, value: i64) -> Outcome<Option<SeenRow>> {
        let db = self.db;
        let t = db.tables.get(TableId(table));
        assert!(t.index(index(by)).codec().encode_key(&[Field::Int(value)], &mut self.key));
        let row = db.protocol.get(&mut self.txn, t, index(by), &self.key, &mut self.arena)?;
        let seen = row.map(|row| self.seen(table, row));
        let found = seen.map(|seen| (seen.row.key, seen.version));
        self.ops.push(Op::Get { table, by, value, found });
        Ok(seen)
    }

    pub fn get(&mut self, table: u32, key: i64) -> Outcome<Option<SeenRow>> {
        self.get_by(table, By::Key, key)
    }

    /// Whether there is such a row, and nothing else of it; the history does not hear of it.
    pub fn get_presence(&mut self, table: u32, key: i64) -> Outcome<bool> {
        let seen = self.get(table, key)?;
        self.ops.pop();
        if let Some(seen) = seen {
            self.db.protocol.only_presence(&mut self.txn, seen.handle);
        }
        Ok(seen.is_some())
    }

    pub fn scan_by(
        &mut self,
        table: u32,
        by: By,
        low: i64,
        high: i64,
        descending: bool,
    ) -> Outcome<Vec<SeenRow>> {
        let db = self.db;
        let t = db.tables.get(TableId(table));
        let bound = |value| Some(KeyBound { value: Field::Int(value), inclusive: true });
        t.index(index(by)).codec().range(&[], bound(low), bound(high), &mut self.range);
        let cursor = db.protocol.scan_open(&mut self.txn, t, index(by), &self.range, descending);
        let (mut seen, mut rows) = (Vec::new(), Vec::new());
        // One by one and several at a time, in turn.
        let one_by_one = self.ops.len().is_multiple_of(2);
        loop {
            rows.clear();
            if one_by_one {
                rows.extend(db.protocol.scan_next(&mut self.txn, t, cursor, &mut self.arena)?);
            } else {
                db.protocol.scan_some(&mut self.txn, t, cursor, (&mut self.arena, &mut rows))?;
            }
            if rows.is_empty() {
                break;
            }
            seen.extend(rows.iter().map(|row| self.seen(table, *row)));
        }
        db.protocol.scan_close(&mut self.txn, cursor);
        let rows = seen.iter().map(|seen| (seen.row.key, seen.version)).collect();
        self.ops.push(Op::Scan { table, by, low, high, descending, rows });
        Ok(seen)
    }

    /// As far as the `n`-th row, by an index without equal keys. What was seen is all there is as far as that.
    pub fn scan_first(
        &mut self,
        table: u32,
        by: By,
        (mut low, mut high): (i64, i64),
        descending: bool,
        n: usize,
    ) -> Outcome<Vec<SeenRow>> {
        assert!(by != By::Group);
        let db = self.db;
        let t = db.tables.get(TableId(table));
        let bound = |value| Some(KeyBound { value: Field::Int(value), inclusive: true });
        t.index(index(by)).codec().range(&[], bound(low), bound(high), &mut self.range);
        let cursor = db.protocol.scan_open(&mut self.txn, t, index(by), &self.range, descending);
        let mut seen = Vec::new();
        while seen.len() < n
            && let Some(row) = db.protocol.scan_next(&mut self.txn, t, cursor, &mut self.arena)?
        {
            seen.push(self.seen(table, row));
        }
        db.protocol.scan_close(&mut self.txn, cursor);
        if seen.len() == n {
            let last: Option<i64> = seen.last().and_then(|last| match by {
                By::Tag => last.row.tag,
                _ => Some(last.row.key),
            });
            match last {
                None => return Ok(seen),
                Some(last) if descending => low = last,
                Some(last) => high = last,
            }
        }
        let rows = seen.iter().map(|seen| (seen.row.key, seen.version)).collect();
        self.ops.push(Op::Scan { table, by, low, high, descending, rows });
        Ok(seen)
    }

    pub fn scan(&mut self, table: u32, low: i64, high: i64) -> Outcome<Vec<SeenRow>> {
        self.scan_by(table, By::Key, low, high, false)
    }

    pub fn load(&mut self, table: u32, row: RowHandle) -> Outcome<Option<SeenRow>> {
        let db = self.db;
        let image = db.protocol.load(&mut self.txn, db.tables.get(TableId(table)), row, &mut self.arena)?;
        Ok(image.map(|image| self.seen(table, Row { handle: row, image })))
    }

    fn encode(&mut self, table: u32, row: NewRow) -> Version {
        self.writes += 1;
        let version = Version::new(self.id, self.writes);
        let pad = vec![b'a' + (version.0 % 26) as u8; row.pad];
        let fields = [
            Field::Int(row.key),
            Field::Int(version.0 as i64),
            Field::Int(row.group),
            row.tag.map_or(Field::Null, Field::Int),
            Field::Int(row.value),
            Field::Bytes(&pad),
        ];
        self.db.tables.get(TableId(table)).layout().encode(&fields, &mut self.image).unwrap();
        version
    }

    fn note<T>(
        &mut self,
        table: u32,
        row: NewRow,
        version: Version,
        result: Result<T, Refused>,
    ) -> Result<T, Refused> {
        let NewRow { key, group, tag, .. } = row;
        self.ops.push(match &result {
            Ok(_) => Op::Put { table, key, row: RowState { version, group, tag } },
            Err(Refused::Duplicate(IndexId(0))) => Op::Refused { table, by: By::Key, value: key },
            Err(Refused::Duplicate(IndexId(2))) => Op::Refused { table, by: By::Tag, value: tag.unwrap() },
            Err(other) => panic!("{other:?}"),
        });
        result
    }

    pub fn insert(&mut self, table: u32, row: NewRow) -> Outcome<Result<RowHandle, Refused>> {
        let version = self.encode(table, row);
        let db = self.db;
        let result = db.protocol.insert(&mut self.txn, db.tables.get(TableId(table)), &self.image)?;
        Ok(self.note(table, row, version, result))
    }

    pub fn update(&mut self, table: u32, old: SeenRow, row: NewRow) -> Outcome<Result<(), Refused>> {
        assert_eq!(old.row.key, row.key);
        let version = self.encode(table, row);
        let db = self.db;
        let t = db.tables.get(TableId(table));
        let mut changed = vec![VERSION, VALUE, PAD];
        changed.extend((old.row.group != row.group).then_some(GROUP));
        changed.extend((old.row.tag != row.tag).then_some(TAG));
        let touched = t.touched(changed);
        let result = db.protocol.update(&mut self.txn, t, old.handle, &self.image, touched)?;
        Ok(self.note(table, row, version, result))
    }

    pub fn delete(&mut self, table: u32, row: SeenRow) -> Outcome<bool> {
        let db = self.db;
        let deleted = db.protocol.delete(&mut self.txn, db.tables.get(TableId(table)), row.handle)?;
        if deleted {
            self.ops.push(Op::Remove { table, key: row.row.key });
        }
        Ok(deleted)
    }

    pub fn savepoint(&mut self) -> Mark {
        let savepoint = self.db.protocol.savepoint(&mut self.txn);
        Mark { savepoint, locks: self.db.protocol.locked(&self.txn), ops: self.ops.len() }
    }

    pub fn rollback_to(&mut self, mark: Mark) {
        self.db.protocol.rollback_to(&mut self.txn, mark.savepoint, &self.db.tables);
        self.ops.push(Op::Undone { to: mark.ops });
    }

    pub fn unlock_to(&mut self, mark: Mark) {
        self.db.protocol.unlock_to(&mut self.txn, mark.locks);
    }

    pub fn release(&mut self, mark: Mark) {
        self.db.protocol.release(&mut self.txn, mark.savepoint);
    }

    pub fn commit(&mut self) -> Outcome<Transaction> {
        let drew = !self.db.protocol.is_read_only(&self.txn);
        let mut told = None;
        let ts = self.db.protocol.commit(
            &mut self.txn,
            &self.db.tables,
            Telling(&self.db.clock, |ts, _: &P::Txn| {
                told = Some(ts);
            }),
        )?;
        assert_eq!(told, Some(ts));
        assert!(!self.db.protocol.is_active(&self.txn));
        Ok(Transaction { id: self.id, ts, drew, ops: std::mem::take(&mut self.ops) })
    }

    /// From now on [`Client::heal`] is asked after a conflict, and the transaction run again.
    pub fn may_heal(&mut self) {
        self.db.protocol.may_heal(&mut self.txn, true);
    }

    pub fn heal(&mut self, cause: Conflict, columns: Option<&ColumnsRead>) -> Heal {
        let healed = self.db.protocol.heal(&mut self.txn, &self.db.tables, cause, columns);
        if healed == Heal::Run {
            self.arena.reset();
            self.writes = 0;
            self.ops.clear();
        }
        healed
    }

    /// Runs a program to its commit, healed if it can be.
    pub fn run_healed(
        &mut self,
        mut program: impl FnMut(&mut Self) -> Outcome<()>,
    ) -> Outcome<(Transaction, Healed)> {
        let mut outcome = program(self).and_then(|()| self.commit());
        while let Err(cause) = outcome {
            outcome = match self.heal(cause, None) {
                Heal::No => break,
                Heal::Commit => self.commit(),
                Heal::Run => program(self).and_then(|()| self.commit()),
            };
        }
        let healed = self.db.protocol.take_healed(&mut self.txn);
        outcome.map(|transaction| (transaction, healed))
    }

    pub fn abort(&mut self) {
        self.db.protocol.abort(&mut self.txn, &self.db.tables);
        assert!(!self.db.protocol.is_active(&self.txn));
    }

    /// Takes everything back for another attempt.
    pub fn retry(&mut self) {
        self.db.protocol.retry(&mut self.txn, &self.db.tables);
    }

    /// Runs one transaction to its end, beside others that are open. A scheme may refuse what another has locked; and
    /// must refuse it at once, or let it pass.
    pub fn overtakes<T>(&mut self, id: u32, body: impl FnOnce(&mut Self) -> Outcome<T>) -> bool {
        self.begin(id);
        match body(self).and_then(|_| self.commit()) {
            Ok(_) => true,
            Err(conflict) => {
                assert_eq!(conflict, Conflict::Locked);
                self.abort();
                false
            }
        }
    }

    /// Runs one transaction that must succeed, alone.
    pub fn run<T>(&mut self, id: u32, body: impl FnOnce(&mut Self) -> Outcome<T>) -> T {
        self.begin(id);
        let result = body(self).unwrap();
        self.commit().unwrap();
        result
    }
}

/// Why a key that another transaction is putting in is not to be had: a scheme may have locked more than the key.
pub fn is_refused(cause: Conflict) -> bool {
    matches!(cause, Conflict::Key | Conflict::Locked)
}

/// A row with this key and no tag.
pub fn row(key: i64) -> NewRow {
    NewRow { key, group: key % 3, tag: None, value: 0, pad: 3 }
}

pub fn keys(rows: &[SeenRow]) -> Vec<i64> {
    rows.iter().map(|seen| seen.row.key).collect()
}

/// The least timestamp that a commit draws.
pub const FIRST_TS: CommitTs = Epoch(1).first_ts();

/// splitmix64: a test's random numbers are a function of its seed.
#[derive(Clone)]
pub struct Random(pub u64);

impl Random {
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }
    pub fn below(&mut self, n: u64) -> u64 {
        self.next() % n
    }
    pub fn chance(&mut self, percent: u64) -> bool {
        self.below(100) < percent
    }
}
