//! Transactions that say beforehand that they write nothing. What a scheme makes of that is its own; one that makes use
//! of it never refuses them, and shows them one state: that of their beginning, or a later one.

use super::fixture::*;
use super::random::{self, Plan};
use planaria_protocol::{Conflict, Hosted};
use planaria_sim::history::By;
use planaria_sim::scheduler;
use planaria_storage::OldUse;

fn old_versions<P: Hosted>(db: &Db<P>) -> OldUse {
    db.tables.iter().map(|table| table.old_versions()).fold(OldUse::default(), |all, of| OldUse {
        versions: all.versions + of.versions,
        bytes: all.bytes + of.bytes,
    })
}

/// What transactions have left is forgotten, as a database does now and then.
fn forget<P: Hosted>(db: &Db<P>) {
    let mut all = || db.tables.iter().cloned().collect();
    db.protocol.forget_closed(&db.clock, &mut all).sweep();
}

/// Whether the transaction, which has just begun, will not be refused.
fn says_that_it_reads<P: Hosted>(c: &mut Client<'_, P>) -> bool {
    c.db.protocol.only_reads(&mut c.txn, &c.db.clock)
}

/// Rows that are changed, moved, deleted and new are as they were, through every index; and writes are refused.
pub fn who_only_reads_sees_its_beginning<P: Hosted>() {
    let db: Db<P> = Db::new();
    db.load(1, 0, &(0..6).map(|key| NewRow { tag: Some(10 + key), ..row(key) }).collect::<Vec<_>>());
    let mut reader = db.client(1);
    reader.begin(2);
    if !says_that_it_reads(&mut reader) {
        reader.abort();
        return;
    }
    let mut writer = db.client(2);
    for (id, value) in (10..).zip(1..4) {
        writer.run(id, |c| {
            let seen = c.get(0, 0)?.unwrap();
            c.update(0, seen, NewRow { value, pad: 100, ..seen.row })?.unwrap();
            let seen = c.get(0, 1)?.unwrap();
            c.update(0, seen, NewRow { tag: Some(20 + value), group: value, ..seen.row })?.unwrap();
            Ok(())
        });
    }
    writer.run(20, |c| {
        let seen = c.get(0, 2)?.unwrap();
        assert!(c.delete(0, seen)?);
        c.insert(0, NewRow { tag: Some(12), ..row(7) })?.unwrap();
        Ok(())
    });
    let rows = |c: &mut Client<'_, P>| {
        let rows = c.scan(0, 0, 100).unwrap();
        rows.iter().map(|seen| (seen.row.key, seen.row.tag, seen.row.value)).collect::<Vec<_>>()
    };
    let before: Vec<_> = (0..6).map(|key| (key, Some(10 + key), 0)).collect();
    assert_eq!(rows(&mut reader), before);
    for key in 0..6 {
        let seen = reader.get(0, key).unwrap().expect("it was there");
        assert_eq!((seen.row.value, seen.row.tag), (0, Some(10 + key)));
        assert_eq!(reader.load(0, seen.handle).unwrap().map(|again| again.row), Some(seen.row));
        let by_tag = reader.get_by(0, By::Tag, 10 + key).unwrap().expect("it was there");
        assert_eq!(by_tag.row, seen.row);
    }
    assert!(reader.get(0, 7).unwrap().is_none() && reader.get_by(0, By::Tag, 23).unwrap().is_none());
    assert_eq!(reader.insert(0, row(50)), Err(Conflict::ReadOnly));
    assert!(db.protocol.validate(&mut reader.txn, &db.tables) && db.protocol.is_read_only(&reader.txn));
    reader.ops.clear();
    let before_commit = db.clock.now();
    assert!(reader.commit().expect("it never fails").ts < before_commit, "its place is that of its moment");
    // The next one sees what is there now.
    reader.begin(30);
    assert!(says_that_it_reads(&mut reader));
    assert_eq!(rows(&mut reader).len(), 6);
    assert_eq!(reader.get(0, 0).unwrap().unwrap().row.value, 3);
    reader.abort();
    forget(&db);
    assert_eq!(old_versions(&db), OldUse::default());
    db.check();
}

/// A long reader keeps one version of each row, whoever comes and goes beside it; and nothing once it has ended.
pub fn a_long_reader_keeps_what_it_needs<P: Hosted>() {
    const ROWS: i64 = 20;
    let db: Db<P> = Db::new();
    db.load(1, 0, &(0..ROWS).map(row).collect::<Vec<_>>());
    let (mut long, mut short, mut writer) = (db.client(1), db.client(2), db.client(3));
    long.begin(2);
    if !says_that_it_reads(&mut long) {
        long.abort();
        return;
    }
    let mut id = 10;
    for round in 1..=40 {
        id += 2;
        short.begin(id);
        assert!(says_that_it_reads(&mut short));
        for _ in 0..2 {
            writer.run(id + 1, |c| {
                for key in 0..ROWS {
                    let seen = c.get(0, key)?.unwrap();
                    c.update(0, seen, NewRow { value: round, ..seen.row })?.unwrap();
                }
                Ok(())
            });
        }
        assert!(short.scan(0, 0, ROWS).unwrap().iter().all(|seen| seen.row.value == round - 1));
        // One for each of the two, as the writer takes out what others have left.
        assert!(old_versions(&db).versions <= 2 * ROWS as u64, "round {round}");
        short.commit().expect("it never fails");
        if round % 10 == 0 {
            forget(&db);
            assert_eq!(old_versions(&db).versions, ROWS as u64);
        }
    }
    assert!(long.scan(0, 0, ROWS).unwrap().iter().all(|seen| seen.row.value == 0));
    long.commit().expect("it never fails");
    // Rows that are changed give up what nobody needs; the rest goes with the next look.
    forget(&db);
    assert_eq!(old_versions(&db), OldUse::default());
    assert!(db.tables.iter().all(|table| !table.has_old_versions()));
    db.check();
}

/// Readers among random programs: see [`random::run`], which sees that none is refused.
pub fn readers_beside_writers<P: Hosted>() {
    for seed in random::seeds(4) {
        let keys = [3, 16, 200][seed as usize % 3];
        let run = random::check::<P>(Plan { readers: 40, keys, ..Plan::of(seed + 7000) });
        forget(&run.db);
        assert_eq!(old_versions(&run.db), OldUse::default());
    }
}

/// The same where it matters what is between the steps of a commit.
pub fn readers_under_many_schedules<P: Hosted>() {
    for seed in random::seeds(100) {
        let keys = [3, 5, 40][seed as usize % 3];
        let plan =
            Plan { threads: 3, commits: 8, keys, ops: 6, claims: 20, readers: 50, ..Plan::of(seed + 8000) };
        let run = scheduler::run(scheduler::Options::of_seed(seed), move || drop(random::check::<P>(plan)));
        let run = run.unwrap_or_else(|stuck| panic!("{plan:?}: {stuck}"));
        run.value.unwrap_or_else(|_| panic!("{plan:?}: see above"));
    }
}
