//! Snapshots: what a reader sees while others change, delete and put in again what it reads.

use super::fixture::*;
use super::random::{self, Plan};
use planaria_base::{CommitTs, WorkerId};
use planaria_protocol::{Backoff, Hosted, Moment, Opened, Protocol, SnapshotReader};
use planaria_sim::history::{By, Model, Op, Transaction};
use planaria_storage::{Arena, Field, KeyBound, KeyBuf, KeyRange};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

/// An open snapshot and its reader.
struct Reading<'d, P: Hosted> {
    db: &'d Db<P>,
    id: Opened,
    at: CommitTs,
    reader: SnapshotReader<P::Header>,
    txn: <SnapshotReader<P::Header> as Protocol>::Txn,
    arena: Arena,
}

type RowsRead = Vec<(i64, u64)>;

impl<'d, P: Hosted> Reading<'d, P> {
    fn open(db: &'d Db<P>) -> Self {
        Reading::of(db, Moment::EndOfEpoch)
    }

    fn of(db: &'d Db<P>, moment: Moment) -> Self {
        let id = db.protocol.open_snapshot(&db.clock, moment).expect("nobody else is there");
        let at = id.at;
        if moment == Moment::EndOfEpoch {
            db.clock.end_epoch(at.epoch());
        }
        let reader = SnapshotReader::new();
        let mut txn = reader.worker(WorkerId(99));
        txn.read_at(id.at);
        Reading { db, id, at, reader, txn, arena: Arena::new() }
    }

    fn close(self) {
        let mut all = || self.db.tables.iter().cloned().collect();
        self.db.protocol.close_snapshot(self.id, &self.db.clock, &mut all).sweep();
    }

    fn key(&self, table: u32, key: i64) -> Vec<u64> {
        let t = self.db.tables.get(planaria_base::TableId(table));
        let mut words = KeyBuf::new();
        assert!(t.index(index(By::Key)).codec().encode_key(&[Field::Int(key)], &mut words));
        words.words().to_vec()
    }

    /// Does not read these keys of a table any more.
    fn leave_keys_below(&self, table: u32, key: i64) {
        let below = self.key(table, key);
        self.db.protocol.leave_range(self.id, planaria_base::TableId(table), None, Some(&below));
    }

    /// Does not read a table any more.
    fn leave(&self, table: u32) {
        let id = planaria_base::TableId(table);
        let mut one = || vec![self.db.tables.get(id).clone()];
        let closed = self.db.protocol.leave_table(self.id, id, &self.db.clock, &mut one);
        // By and by, too.
        let mut closed = closed;
        closed.sweep_resting(&mut || true);
    }

    /// All rows by key, table after table, leaving behind what has been read, as a checkpoint does.
    fn walk(&mut self, middle: i64) -> Vec<RowsRead> {
        let read =
            |reading: &mut Self, table, from: Option<&[u64]>, to: Option<&[u64]>, rows: &mut RowsRead| {
                let id = planaria_base::TableId(table);
                let mut each = |image: &[u64]| {
                    rows.push(Self::words(image, reading.db, table));
                    std::thread::yield_now();
                    Ok(())
                };
                let t = reading.db.tables.get(id);
                reading.reader.for_each_row(&mut reading.txn, t, from, to, &mut each).expect("never fails");
                reading.db.protocol.leave_range(reading.id, id, from, to);
            };
        let all = (0..TABLES).map(|table| {
            let (middle, mut low, mut high) = (self.key(table, middle), Vec::new(), Vec::new());
            read(self, table, Some(&middle), None, &mut high);
            read(self, table, None, Some(&middle), &mut low);
            self.leave(table);
            [low, high].concat()
        });
        all.collect()
    }

    fn begin(&mut self) {
        self.reader.begin(&mut self.txn);
        self.arena.reset();
    }

    fn end(&mut self) {
        self.reader.abort(&mut self.txn, &self.db.tables);
    }

    fn words(image: &[u64], db: &Db<P>, table: u32) -> (i64, u64) {
        let l = db.tables.get(planaria_base::TableId(table)).layout();
        (l.int(image, KEY), l.int(image, VERSION) as u64)
    }

    fn get_by(&mut self, table: u32, by: By, value: i64) -> Option<(i64, u64)> {
        let t = self.db.tables.get(planaria_base::TableId(table));
        let mut key = KeyBuf::new();
        assert!(t.index(index(by)).codec().encode_key(&[Field::Int(value)], &mut key));
        let row =
            self.reader.get(&mut self.txn, t, index(by), &key, &mut self.arena).expect("never fails")?;
        let seen = Self::words(row.image.words(&self.arena), self.db, table);
        let again = self.reader.load(&mut self.txn, t, row.handle, &mut self.arena).expect("never fails");
        let again = again.expect("a snapshot does not change");
        assert_eq!(Self::words(again.words(&self.arena), self.db, table), seen);
        Some(seen)
    }

    /// Calls `pause` after every row.
    fn scan_by(
        &mut self,
        table: u32,
        by: By,
        (low, high): (i64, i64),
        descending: bool,
        mut pause: impl FnMut(),
    ) -> RowsRead {
        let t = self.db.tables.get(planaria_base::TableId(table));
        let mut range = KeyRange::all();
        let bound = |value| Some(KeyBound { value: Field::Int(value), inclusive: true });
        t.index(index(by)).codec().range(&[], bound(low), bound(high), &mut range);
        let cursor = self.reader.scan_open(&mut self.txn, t, index(by), &range, descending);
        let mut rows = Vec::new();
        while let Some(row) =
            self.reader.scan_next(&mut self.txn, t, cursor, &mut self.arena).expect("never fails")
        {
            rows.push(Self::words(row.image.words(&self.arena), self.db, table));
            pause();
        }
        self.reader.scan_close(&mut self.txn, cursor);
        rows
    }

    /// The rows of a table, in parts.
    fn parts(&mut self, table: u32, cuts: &[i64]) -> RowsRead {
        let t = self.db.tables.get(planaria_base::TableId(table));
        let cuts: Vec<Vec<u64>> = cuts.iter().map(|cut| self.key(table, *cut)).collect();
        let mut rows = Vec::new();
        for i in 0..=cuts.len() {
            let from = i.checked_sub(1).map(|i| &cuts[i][..]);
            let to = cuts.get(i).map(|cut| &cut[..]);
            let mut each = |image: &[u64]| {
                rows.push(Self::words(image, self.db, table));
                Ok(())
            };
            self.reader.for_each_row(&mut self.txn, t, from, to, &mut each).expect("never fails");
        }
        rows
    }

    /// Everything, through every index, both ways.
    fn everything(&mut self, keys: i64) -> Vec<RowsRead> {
        self.begin();
        let mut all = Vec::new();
        for table in 0..TABLES {
            for by in [By::Key, By::Group, By::Tag] {
                for descending in [false, true] {
                    all.push(self.scan_by(table, by, (-1, 2 * keys), descending, std::thread::yield_now));
                }
                if by != By::Group {
                    all.push((0..keys).filter_map(|value| self.get_by(table, by, value)).collect());
                }
            }
        }
        self.end();
        all
    }
}

/// What `everything` has of each table, rows by key first.
const KINDS: usize = 8;

/// The same of a model.
fn everything_of(model: &Model, keys: i64) -> Vec<RowsRead> {
    let mut all = Vec::new();
    for table in 0..TABLES {
        let rows = model.rows().range((table, i64::MIN)..=(table, i64::MAX));
        for by in [By::Key, By::Group, By::Tag] {
            let mut entries: Vec<(i64, i64, u64)> = rows
                .clone()
                .filter_map(|((_, key), row)| {
                    let value = match by {
                        By::Key => Some(*key),
                        By::Group => Some(row.group),
                        By::Tag => row.tag,
                    };
                    Some((value?, *key, row.version.0))
                })
                .collect();
            entries.sort_unstable();
            let ascending: RowsRead = entries.iter().map(|(_, key, version)| (*key, *version)).collect();
            all.push(ascending.clone());
            all.push(ascending.iter().rev().copied().collect());
            if by != By::Group {
                let found = (0..keys)
                    .filter_map(|value| entries.iter().find(|e| e.0 == value))
                    .map(|(_, key, version)| (*key, *version));
                all.push(found.collect());
            }
        }
    }
    all
}

/// The state at a timestamp, of transactions in commit order.
pub fn model_at(initial: &Model, committed: &[Transaction], at: CommitTs) -> Model {
    let mut model = initial.clone();
    for transaction in committed.iter().filter(|t| t.drew && t.ts <= at) {
        model.execute(transaction).expect("serializable in commit order");
    }
    model
}

fn kept<P: Hosted>(db: &Db<P>) -> (u64, u64) {
    db.tables.iter().map(|t| t.old_versions()).fold((0, 0), |a, u| (a.0 + u.versions, a.1 + u.bytes))
}

fn some_rows<P: Hosted>(db: &Db<P>) {
    let rows: Vec<NewRow> = (0..5).map(|key| NewRow { tag: Some(10 + key), ..row(key) }).collect();
    db.load(1, 0, &rows);
}

/// Changed, moved, deleted and new rows, seen through every index as they were.
pub fn rows_are_as_they_were<P: Hosted>() {
    if !P::CONCURRENT {
        return;
    }
    let db: Db<P> = Db::new();
    some_rows(&db);
    let before = db.model();
    let mut reading = Reading::open(&db);
    let mut c = db.client(1);
    c.run(2, |c| {
        let seen = c.get(0, 0)?.unwrap();
        c.update(0, seen, NewRow { value: 9, pad: 300, ..seen.row })?.unwrap();
        let seen = c.get(0, 1)?.unwrap();
        c.update(0, seen, NewRow { group: 7, tag: Some(77), ..seen.row })?.unwrap();
        let seen = c.get(0, 2)?.unwrap();
        assert!(c.delete(0, seen)?);
        c.insert(0, NewRow { tag: Some(99), ..row(20) })?.unwrap();
        Ok(())
    });
    // The deleted row's key, the moved one's tag, and both once more.
    c.run(3, |c| {
        c.insert(0, NewRow { tag: Some(11), group: 2, ..row(2) })?.unwrap();
        Ok(())
    });
    c.run(4, |c| {
        let seen = c.get(0, 2)?.unwrap();
        assert!(c.delete(0, seen)?);
        c.insert(0, NewRow { tag: Some(12), ..row(2) })?.unwrap();
        Ok(())
    });
    assert_eq!(reading.everything(100), everything_of(&before, 100));
    let now = db.model();
    let mut second = Reading::open(&db);
    c.run(5, |c| {
        for key in [0, 1, 2, 3, 4, 20] {
            let seen = c.get(0, key)?.unwrap();
            assert!(c.delete(0, seen)?);
        }
        Ok(())
    });
    assert_eq!(reading.everything(100), everything_of(&before, 100));
    assert_eq!(second.everything(100), everything_of(&now, 100));
    reading.close();
    assert_eq!(second.everything(100), everything_of(&now, 100));
    assert!(kept(&db).0 > 0);
    second.close();
    assert_eq!(kept(&db), (0, 0), "what nobody sees is forgotten");
    db.check();
}

/// A commit of the snapshot's own epoch leaves no version behind; nor does any without a snapshot.
pub fn nothing_is_kept_for_nobody<P: Hosted>() {
    let db: Db<P> = Db::new();
    some_rows(&db);
    let mut c = db.client(1);
    let mut change = |id| {
        c.run(id, |c| {
            let seen = c.get(0, 0)?.unwrap();
            c.update(0, seen, NewRow { value: i64::from(id), ..seen.row })?.unwrap();
            Ok(())
        });
    };
    change(2);
    db.clock.advance();
    change(3);
    assert_eq!(kept(&db), (0, 0));
    if P::CONCURRENT {
        let id = db.protocol.open_snapshot(&db.clock, Moment::EndOfEpoch).expect("nobody else is there");
        change(4);
        assert_eq!(kept(&db).0, 0, "a commit that the snapshot sees");
        db.clock.end_epoch(id.at.epoch());
        change(5);
        assert_eq!(kept(&db).0, 1);
        change(6);
        assert_eq!(kept(&db).0, 1, "the first change alone counts");
        let mut all = || db.tables.iter().cloned().collect();
        db.protocol.close_snapshot(id, &db.clock, &mut all).sweep();
    }
    assert_eq!(kept(&db), (0, 0));
}

/// Who has read some keys, and then the whole table, has nothing kept for it there; others have.
pub fn nothing_is_kept_of_what_was_left<P: Hosted>() {
    if !P::CONCURRENT {
        return;
    }
    let db: Db<P> = Db::new();
    some_rows(&db);
    let before = db.model();
    let (mut walker, mut other) = (Reading::open(&db), Reading::open(&db));
    let change = |id, key| {
        db.client(1).run(id, |c| {
            let seen = c.get(0, key)?.unwrap();
            // Another key of an index, too.
            let new = NewRow { value: i64::from(id), tag: Some(i64::from(id)), ..seen.row };
            c.update(0, seen, new)?.unwrap();
            Ok(())
        });
    };
    walker.leave_keys_below(0, 2);
    other.leave_keys_below(0, 1);
    change(100, 0);
    assert_eq!(kept(&db).0, 0, "neither reads it");
    change(101, 1);
    assert_eq!(kept(&db).0, 1, "the other one does");
    change(102, 2);
    assert_eq!(kept(&db).0, 2);
    walker.leave(0);
    assert_eq!(kept(&db).0, 2, "the other one needs both");
    let mut rest = other.parts(0, &[1]);
    rest.retain(|row| row.0 >= 1);
    assert_eq!(rest, everything_of(&before, 100)[0][1..]);
    other.leave(0);
    assert_eq!(kept(&db), (0, 0));
    change(103, 3);
    assert_eq!(kept(&db), (0, 0));
    // Another table is read on.
    assert_eq!(walker.parts(1, &[]), everything_of(&before, 100)[KINDS]);
    walker.close();
    other.close();
    db.check();
}

/// Readers that come and go beside a long one: what was kept for them alone goes soon.
pub fn short_readers_beside_a_long_one<P: Hosted>() {
    if !P::CONCURRENT {
        return;
    }
    const KEYS: i64 = 200;
    let db: Db<P> = Db::new();
    db.load(1, 0, &(0..KEYS).map(row).collect::<Vec<_>>());
    let before = everything_of(&db.model(), 0);
    let mut long = Reading::open(&db);
    // Some of the keys it has left, so that all that is kept of them is for the short ones.
    long.leave_keys_below(0, KEYS / 2);
    for round in 0..50 {
        let short = Reading::open(&db);
        db.client(1).run(100 + round, |c| {
            for key in 0..KEYS {
                let seen = c.get(0, key)?.unwrap();
                c.update(0, seen, NewRow { value: i64::from(round), ..seen.row })?.unwrap();
            }
            Ok(())
        });
        short.close();
    }
    let kept_now = kept(&db).0;
    assert!((100..5000).contains(&kept_now), "{kept_now} of 10,000");
    let mut rest = long.parts(0, &[KEYS / 2]);
    rest.retain(|row| row.0 >= KEYS / 2);
    assert_eq!(rest, before[0][KEYS as usize / 2..]);
    long.close();
    assert_eq!(kept(&db), (0, 0));
}

/// Where transactions do not overlap, a snapshot is exclusive, and reads what is there.
pub fn a_snapshot_of_one_at_a_time<P: Hosted>() {
    if P::CONCURRENT {
        return;
    }
    let db: Db<P> = Db::new();
    some_rows(&db);
    let model = db.model();
    let mut reading = Reading::open(&db);
    assert_eq!(reading.everything(100), everything_of(&model, 100));
    reading.close();
    db.client(1).run(2, |c| c.get(0, 1).map(drop));
}

/// A walk through a table, in parts, pin after pin, as a checkpoint makes it.
pub fn a_table_in_parts<P: Hosted>() {
    const KEYS: i64 = 10_000;
    let db: Db<P> = Db::new();
    let rows: Vec<NewRow> = (0..KEYS).map(row).collect();
    db.load(1, 0, &rows);
    let expected = everything_of(&db.model(), 0).swap_remove(0);
    let mut reading = Reading::open(&db);
    if P::CONCURRENT {
        db.client(1).run(2, |c| {
            for key in (0..KEYS).filter(|key| key % 3 != 0) {
                let seen = c.get(0, key)?.unwrap();
                c.delete(0, seen)?;
            }
            Ok(())
        });
    }
    for cuts in [&[][..], &[5000], &[-5, 1, 4097, 9_999, 20_000]] {
        assert_eq!(reading.parts(0, cuts), expected);
    }
    reading.close();
    assert_eq!(kept(&db), (0, 0));
}

/// A long reader goes back and forth while its rows are deleted and put in again.
pub fn a_long_reader_of_rows_that_come_and_go<P: Hosted>() {
    if !P::CONCURRENT {
        return;
    }
    const KEYS: i64 = 300;
    let db: Db<P> = Db::new();
    let rows: Vec<NewRow> = (0..KEYS).map(|key| NewRow { tag: Some(key), ..row(key) }).collect();
    db.load(1, 0, &rows);
    let before = everything_of(&db.model(), KEYS);
    let mut reading = Reading::open(&db);
    let stop = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let writers: Vec<_> = (0..3u16)
            .map(|thread| {
                let (db, stop) = (&db, &stop);
                scope.spawn(move || {
                    let mut c = db.client(thread + 1);
                    let mut r = Random(u64::from(thread) + 7);
                    let mut backoff = Backoff::new(u64::from(thread) + 1);
                    let mut id = 1000 * (u32::from(thread) + 1);
                    while !stop.load(Ordering::Relaxed) {
                        id += 1;
                        c.begin(id);
                        let key = r.below(KEYS as u64) as i64;
                        let mut change = || {
                            if let Some(seen) = c.get(0, key)? {
                                c.delete(0, seen)?;
                                if r.chance(50) {
                                    return Ok(());
                                }
                            }
                            let new = NewRow { tag: Some(r.below(KEYS as u64) as i64), ..row(key) };
                            c.insert(0, new).map(drop)
                        };
                        match change().and_then(|()| c.commit()) {
                            Ok(_) => backoff.reset(),
                            Err(_) => {
                                c.abort();
                                backoff.wait();
                            }
                        }
                    }
                })
            })
            .collect();
        for _ in 0..15 {
            assert_eq!(reading.everything(KEYS), before);
            db.clock.advance();
        }
        stop.store(true, Ordering::Relaxed);
        writers.into_iter().for_each(|w| w.join().unwrap());
    });
    reading.close();
    assert_eq!(kept(&db), (0, 0));
    db.check();
}

/// Snapshots opened and closed while random programs run: each equals the model at its timestamp.
pub fn snapshots_equal_the_model<P: Hosted>() {
    if !P::CONCURRENT {
        return;
    }
    for seed in random::seeds(6) {
        let keys = [4, 16, 200][seed as usize % 3];
        against_model::<P>(Plan { keys, commits: 200, ..Plan::of(seed + 3000) });
    }
}

fn against_model<P: Hosted>(plan: Plan) {
    let db: Db<P> = random::fresh(&plan);
    let initial = db.model();
    let (ids, running) = (AtomicU32::new(100), AtomicU32::new(plan.threads as u32));
    let all: Mutex<Vec<Transaction>> = Mutex::new(Vec::new());
    let keys = plan.keys as i64;
    type Read = Vec<(CommitTs, Vec<RowsRead>)>;
    let (read, walked): (Read, Read) = std::thread::scope(|scope| {
        for thread in 0..plan.threads {
            let (db, ids, running, all) = (&db, &ids, &running, &all);
            scope.spawn(move || {
                let mut client = db.client(thread as u16 + 1);
                let mut r = Random(plan.seed.wrapping_mul(1000) + thread);
                let mut backoff = Backoff::new(thread + 1);
                let mut committed = Vec::new();
                while (committed.len() as u64) < plan.commits {
                    client.begin(ids.fetch_add(1, Ordering::Relaxed));
                    let outcome = random::program(&mut client, &plan, r.next(), true);
                    match outcome.and_then(|()| client.commit()) {
                        Ok(transaction) => {
                            committed.push(transaction);
                            backoff.reset();
                        }
                        Err(_) => {
                            client.abort();
                            backoff.wait();
                        }
                    }
                }
                all.lock().unwrap().extend(committed);
                running.fetch_sub(1, Ordering::SeqCst);
            });
        }
        // Up to three at a time, closed in no order; the clock goes on by itself now and then.
        let reader = scope.spawn(|| {
            let mut r = Random(plan.seed);
            let moment = |r: &mut Random| [Moment::Now, Moment::EndOfEpoch][r.below(2) as usize];
            // One at least, should the writers be done before this thread begins.
            let mut open = vec![Reading::open(&db)];
            let (mut read, mut walked) = (Vec::new(), Vec::new());
            while running.load(Ordering::SeqCst) > 0 {
                match r.below(5) {
                    4 => {
                        let mut walker = Reading::of(&db, moment(&mut r));
                        walked.push((walker.at, walker.walk(r.below(plan.keys) as i64)));
                        walker.close();
                    }
                    0 if open.len() < 3 => open.push(Reading::of(&db, moment(&mut r))),
                    1 if open.len() > 1 => open.swap_remove(r.below(open.len() as u64) as usize).close(),
                    2 => drop(db.clock.advance()),
                    _ => {
                        if let Some(reading) = open.last_mut() {
                            read.push((reading.at, reading.everything(keys)));
                        }
                    }
                }
                std::thread::yield_now();
            }
            for mut reading in open {
                read.push((reading.at, reading.everything(keys)));
                reading.close();
            }
            (read, walked)
        });
        reader.join().unwrap()
    });
    let mut committed = all.into_inner().unwrap();
    committed.sort_by_key(|t| (t.ts, t.drew));
    assert!(!read.is_empty());
    for (at, seen) in read {
        let expected = everything_of(&model_at(&initial, &committed, at), keys);
        assert_eq!(seen, expected, "the snapshot of {at:?}; {plan:?}");
    }
    for (at, seen) in walked {
        let expected = everything_of(&model_at(&initial, &committed, at), keys);
        assert!(seen.iter().eq(expected.iter().step_by(KINDS)), "the walk of {at:?}; {plan:?}");
    }
    assert_eq!(kept(&db), (0, 0));
    db.check();
    assert!(committed.iter().any(|t| t.ops.iter().any(|op| matches!(op, Op::Remove { .. }))));
}
