//! What is a change to a transaction that remembers what it asked for: rows that others have committed there, and
//! nothing else.

use super::fixture::*;
use planaria_base::sync::thread;
use planaria_protocol::{Conflict, Hosted};
use planaria_sim::history::By;
use planaria_sim::scheduler;

/// Rows 1 to 5 of table 0, in groups 1 to 5; `None` where transactions cannot overlap.
fn overlapping<P: Hosted>() -> Option<Db<P>> {
    let db = Db::new();
    let rows: Vec<NewRow> = (1..=5).map(|key| NewRow { group: key, ..row(key) }).collect();
    db.load(100, 0, &rows);
    P::CONCURRENT.then_some(db)
}

/// A transaction that reads as `read` says and writes, while others do something: how it ends.
fn beside<P: Hosted>(
    db: &Db<P>,
    read: impl Fn(&mut Client<'_, P>) -> Outcome<()>,
    others: impl Fn(&Db<P>),
) -> Outcome<()> {
    let mut a = db.client(1);
    a.begin_claiming(10);
    read(&mut a).unwrap();
    let write = |a: &mut Client<'_, P>| -> Outcome<()> {
        let seen = a.get(1, 1)?;
        match seen {
            Some(seen) => a.update(1, seen, NewRow { value: seen.row.value + 1, ..seen.row })?.unwrap(),
            None => a.insert(1, row(1))?.map(drop).unwrap(),
        }
        Ok(())
    };
    write(&mut a).unwrap();
    others(db);
    let ended = a.commit().map(drop);
    if ended.is_err() {
        a.abort();
    }
    ended
}

fn inserts<P: Hosted>(key: i64) -> impl Fn(&Db<P>) {
    move |db| db.client(2).run(20, |b| b.insert(0, row(key)).map(|done| assert!(done.is_ok())))
}

pub fn placeholders_of_others_are_no_changes<P: Hosted>() {
    let Some(db) = overlapping::<P>() else { return };
    for claiming in [false, true] {
        let mut b = db.client(2);
        let read = |a: &mut Client<'_, P>| {
            assert_eq!(a.scan(0, 0, 100)?.len(), 5);
            assert!(a.get(0, 50)?.is_none() && a.get_by(0, By::Tag, 7)?.is_none());
            Ok(())
        };
        // Before it reads, and after.
        b.begin(20);
        if claiming {
            b.db.protocol.claim_writes(&mut b.txn);
        }
        b.insert(0, row(50)).unwrap().unwrap();
        let mut c = db.client(3);
        let ended = beside(&db, read, |_| ());
        assert_eq!(ended, Ok(()), "beside one that is open");
        c.begin_claiming(30);
        read(&mut c).unwrap();
        c.insert(1, row(60 + i64::from(claiming))).unwrap().unwrap();
        b.insert(0, NewRow { tag: Some(7), ..row(51) }).unwrap().unwrap();
        b.abort();
        c.commit().expect("what was taken back was never there");
    }
}

pub fn a_committed_row_in_a_range_is_a_phantom<P: Hosted>() {
    let Some(db) = overlapping::<P>() else { return };
    let all = |a: &mut Client<'_, P>| a.scan(0, 0, 100).map(drop);
    assert_eq!(beside(&db, all, inserts(50)), Err(Conflict::Phantom));
    assert_eq!(beside(&db, |a| a.get(0, 60).map(drop), inserts(60)), Err(Conflict::Phantom));
    // One that had been there before, and had gone.
    db.client(2).run(40, |b| {
        let seen = b.get(0, 50)?.unwrap();
        b.delete(0, seen).map(drop)
    });
    assert_eq!(beside(&db, all, inserts(50)), Err(Conflict::Phantom));
    // Nobody beside it.
    assert_eq!(beside(&db, all, |_| ()), Ok(()));
}

pub fn a_row_beside_a_range_is_none<P: Hosted>() {
    let Some(db) = overlapping::<P>() else { return };
    assert_eq!(beside(&db, |a| a.scan(0, 0, 10).map(drop), inserts(11)), Ok(()));
    assert_eq!(beside(&db, |a| a.get(0, 20).map(drop), inserts(21)), Ok(()));
    // As far as it was read.
    let first = |descending| {
        move |a: &mut Client<'_, P>| {
            let seen = a.scan_first(0, By::Key, (0, 100), descending, 2)?;
            assert_eq!(keys(&seen).len(), 2);
            Ok(())
        }
    };
    assert_eq!(beside(&db, first(false), inserts(30)), Ok(()));
    assert_eq!(beside(&db, first(false), inserts(0)), Err(Conflict::Phantom));
    assert_eq!(beside(&db, first(true), inserts(6)), Ok(()));
    assert_eq!(beside(&db, first(true), inserts(40)), Err(Conflict::Phantom));
    assert_eq!(beside(&db, first(true), inserts(35)), Err(Conflict::Phantom));
}

pub fn of_two_that_count_and_insert_the_first_commits<P: Hosted>() {
    let Some(db) = overlapping::<P>() else { return };
    for first in [0, 1] {
        let mut clients = [db.client(1), db.client(2)];
        for (c, key) in clients.iter_mut().zip([60, 70]) {
            c.begin_claiming(1);
            c.scan(0, 0, 100).unwrap();
            c.insert(0, row(key + first as i64)).unwrap().unwrap();
        }
        let ended = clients[first].commit().map(drop);
        assert_eq!(ended, Ok(()));
        assert_eq!(clients[1 - first].commit().map(drop), Err(Conflict::Phantom));
        clients[1 - first].abort();
    }
    db.check();
}

pub fn rows_come_into_ranges_by_any_index<P: Hosted>() {
    let Some(db) = overlapping::<P>() else { return };
    let moves = |key: i64, group: i64| {
        move |db: &Db<P>| {
            db.client(2).run(20, |b| {
                let seen = b.get(0, key)?.unwrap();
                b.update(0, seen, NewRow { group, ..seen.row }).map(|done| done.unwrap())
            })
        }
    };
    let third = |a: &mut Client<'_, P>| a.scan_by(0, By::Group, 3, 3, false).map(drop);
    assert_eq!(beside(&db, third, moves(1, 2)), Ok(()));
    assert_eq!(beside(&db, third, moves(1, 3)), Err(Conflict::Phantom));
    assert_eq!(beside(&db, third, moves(1, 4)), Err(Conflict::Validation));
    // There and back: another version of a row that was not met.
    let there_and_back = |db: &Db<P>| {
        moves(5, 3)(db);
        moves(5, 5)(db);
    };
    assert_eq!(beside(&db, third, there_and_back), Ok(()));
}

pub fn own_changes_are_no_phantoms<P: Hosted>() {
    let Some(db) = overlapping::<P>() else { return };
    let change = |a: &mut Client<'_, P>| {
        a.scan(0, 0, 10)?;
        a.scan_by(0, By::Group, 2, 4, true)?;
        let (two, five) = (a.get(0, 2)?.unwrap(), a.get(0, 5)?.unwrap());
        assert!(a.get(0, 8)?.is_none());
        a.insert(0, NewRow { group: 3, ..row(8) })?.unwrap();
        a.delete(0, two)?;
        assert!(a.get(0, 2)?.is_none());
        a.insert(0, NewRow { group: 9, ..row(2) })?.unwrap();
        a.update(0, five, NewRow { group: 3, ..five.row })?.unwrap();
        assert_eq!(keys(&a.scan_by(0, By::Group, 2, 4, false)?), [3, 5, 8, 4]);
        assert_eq!(keys(&a.scan(0, 0, 10)?), [1, 2, 3, 4, 5, 8]);
        Ok(())
    };
    // The same leaves move under it; its group is none of those.
    assert_eq!(beside(&db, change, inserts(21)), Ok(()));
}

/// A row that came into a range after it was read is a phantom even to whoever has changed it since.
pub fn a_row_that_came_and_was_changed_is_a_phantom<P: Hosted>() {
    let Some(db) = overlapping::<P>() else { return };
    let mut a = db.client(1);
    a.begin_claiming(10);
    assert_eq!(a.scan_by(0, By::Group, 3, 3, false).unwrap().len(), 1);
    db.client(2).run(20, |b| {
        let seen = b.get(0, 1)?.unwrap();
        b.update(0, seen, NewRow { group: 3, ..seen.row }).map(|done| done.unwrap())
    });
    let seen = a.get(0, 1).unwrap().unwrap();
    assert_eq!(seen.row.group, 3);
    a.update(0, seen, NewRow { value: 1, ..seen.row }).unwrap().unwrap();
    assert!(!db.protocol.validate(&mut a.txn, &db.tables));
    assert_eq!(a.commit().map(drop), Err(Conflict::Phantom));
}

pub fn going_back_forgets_ranges<P: Hosted>() {
    let Some(db) = overlapping::<P>() else { return };
    let mut a = db.client(1);
    for (before, ends) in [((0, 5), true), ((0, 100), false)] {
        a.begin_claiming(10);
        a.scan(0, before.0, before.1).unwrap();
        let point = db.protocol.point(&mut a.txn);
        a.scan(0, 0, 100).unwrap();
        let key = 50 + i64::from(ends);
        inserts(key)(&db);
        db.protocol.go_back(&mut a.txn, point, &db.tables);
        assert_eq!(db.protocol.move_on(&mut a.txn, &db.tables, &db.clock, Conflict::Phantom), ends);
        db.protocol.pass(&mut a.txn, point);
        a.insert(1, row(key)).unwrap().unwrap();
        // A validation in between looks again, and so does commit.
        assert_eq!(db.protocol.validate(&mut a.txn, &db.tables), ends);
        a.ops.clear();
        assert_eq!(a.commit().is_ok(), ends);
        a.abort();
    }
    db.check();
}

/// A cursor that is in the middle of a leaf when the ranges are looked at again.
pub fn a_cursor_goes_on_after_a_second_look<P: Hosted>() {
    let Some(db) = overlapping::<P>() else { return };
    let mut a = db.client(1);
    a.begin_claiming(10);
    let table = a.table(0).clone();
    let cursor =
        db.protocol.scan_open(&mut a.txn, &table, index(By::Key), &planaria_storage::KeyRange::all(), false);
    let next = |a: &mut Client<'_, P>| {
        db.protocol.scan_next(&mut a.txn, &table, cursor, &mut a.arena).map(|row| row.is_some())
    };
    assert_eq!(next(&mut a), Ok(true));
    // Behind where it is, in the leaf that it has copied.
    inserts(4_000)(&db);
    assert!(db.protocol.validate(&mut a.txn, &db.tables));
    for _ in 0..10 {
        let _ = next(&mut a);
    }
    a.insert(1, row(1)).unwrap().unwrap();
    a.ops.clear();
    let seen = a.scan(0, 4_000, 4_000).unwrap().len();
    assert_eq!(seen, 1);
    a.ops.clear();
    assert_eq!(a.commit().map(drop), Err(Conflict::Phantom));
}

/// A row comes into a range behind the cursor, and is moved ahead of it: it has been met there, but not where it came.
pub fn a_row_that_came_behind_a_cursor_is_a_phantom<P: Hosted>() {
    let Some(db) = overlapping::<P>() else { return };
    // So many that the cursor has not copied all of them when it has come to the second.
    let between: Vec<NewRow> = (100..300).map(|key| NewRow { group: 3, ..row(key) }).collect();
    db.load(40, 0, &between);
    for ahead in [4, 9] {
        db.client(2).run(20, |b| {
            let found = b.get(0, 20)?;
            match found {
                Some(seen) => b.update(0, seen, NewRow { group: 8, ..seen.row }).map(|done| done.unwrap()),
                None => b.insert(0, NewRow { group: 8, ..row(20) }).map(|done| assert!(done.is_ok())),
            }
        });
        let mut a = db.client(1);
        a.begin_claiming(10);
        let table = a.table(0).clone();
        let mut range = planaria_storage::KeyRange::all();
        let bound = |value| {
            let value = planaria_storage::Field::Int(value);
            Some(planaria_storage::KeyBound { value, inclusive: true })
        };
        table.index(index(By::Group)).codec().range(&[], bound(1), bound(5), &mut range);
        let cursor = db.protocol.scan_open(&mut a.txn, &table, index(By::Group), &range, false);
        let next = |a: &mut Client<'_, P>| {
            db.protocol.scan_next(&mut a.txn, &table, cursor, &mut a.arena).unwrap().is_some()
        };
        assert!(next(&mut a) && next(&mut a));
        db.client(2).run(30, |b| {
            let seen = b.get(0, 20)?.unwrap();
            b.update(0, seen, NewRow { group: 1, ..seen.row }).map(|done| done.unwrap())
        });
        let seen = a.get(0, 20).unwrap().unwrap();
        assert_eq!(seen.row.group, 1);
        a.update(0, seen, NewRow { group: ahead, ..seen.row }).unwrap().unwrap();
        while next(&mut a) {}
        assert_eq!(a.commit().map(drop), Err(Conflict::Phantom));
        a.abort();
    }
    db.check();
}

/// Leaves split under a cursor that has read a part of them: what comes in behind it is a phantom, in whichever leaf it lies
/// when the cursor goes on.
pub fn a_row_behind_a_cursor_is_a_phantom_wherever_leaves_split<P: Hosted>() {
    if !P::CONCURRENT {
        return;
    }
    const FAR: i64 = 100;
    // The cursor has come to row `at`; leaves split at row `split`.
    let cases = (0..60).step_by(3).flat_map(|at| (0..60).step_by(4).map(move |split| (at, split)));
    for (at, split, descending) in cases.flat_map(|(at, split)| [(at, split, false), (at, split, true)]) {
        let db: Db<P> = Db::new();
        let rows: Vec<NewRow> = (1..=60).map(|n| row(n * FAR)).collect();
        db.load(100, 0, &rows);
        let mut a = db.client(1);
        a.begin_claiming(10);
        let table = a.table(0).clone();
        let all = planaria_storage::KeyRange::all();
        let cursor = db.protocol.scan_open(&mut a.txn, &table, index(By::Key), &all, descending);
        let next = |a: &mut Client<'_, P>| {
            db.protocol.scan_next(&mut a.txn, &table, cursor, &mut a.arena).unwrap().is_some()
        };
        for _ in 0..=at {
            assert!(next(&mut a));
        }
        let key = if descending { (60 - at) * FAR } else { (at + 1) * FAR };
        // What has split them is taken back: the only row that is new is the one behind the cursor.
        let mut c = db.client(3);
        c.begin_claiming(30);
        for n in 10..50 {
            c.insert(0, row(split * FAR + n)).unwrap().unwrap();
        }
        let behind = if descending { 1 } else { -1 };
        db.client(2).run(20, |b| b.insert(0, row(key + behind)).map(|done| assert!(done.is_ok())));
        c.abort();
        while next(&mut a) {}
        a.insert(1, row(1)).unwrap().unwrap();
        assert_eq!(
            a.commit().map(drop),
            Err(Conflict::Phantom),
            "at {at}, split at {split}, descending: {descending}"
        );
        a.abort();
    }
}

/// What stood in a leaf at the last look and was no row may have become one, though the leaf has not moved since.
pub fn what_was_no_row_at_the_last_look_may_be_one<P: Hosted>() {
    let Some(db) = overlapping::<P>() else { return };
    for ends in [false, true] {
        let key = 50 + i64::from(ends);
        let mut a = db.client(1);
        a.begin_claiming(10);
        assert_eq!(a.scan(0, 0, 100).unwrap().len(), 5);
        let mut b = db.client(2);
        b.begin_claiming(20);
        b.insert(0, row(key)).unwrap().unwrap();
        for _ in 0..2 {
            assert!(db.protocol.validate(&mut a.txn, &db.tables), "a placeholder is no row");
        }
        a.insert(1, row(key)).unwrap().unwrap();
        if ends {
            b.commit().unwrap();
        } else {
            b.abort();
        }
        let ended = a.commit().map(drop);
        assert_eq!(ended, if ends { Err(Conflict::Phantom) } else { Ok(()) });
        a.abort();
    }
}

/// However their commits interleave, not all of those that are in each other's way fail.
pub fn of_blocks_that_meet_one_commits<P: Hosted>() {
    fn counts_and_inserts<P: Hosted>(c: &mut Client<'_, P>, n: i64) -> Outcome<()> {
        c.scan(0, 0, 100)?;
        c.insert(0, row(50 + n)).map(|done| assert!(done.is_ok()))
    }
    fn reads_what_the_next_writes<P: Hosted>(c: &mut Client<'_, P>, n: i64) -> Outcome<()> {
        c.get(0, (n + 1) % 3 + 1)?;
        let seen = c.get(0, n + 1)?.unwrap();
        c.update(0, seen, NewRow { value: 1, ..seen.row }).map(|done| assert!(done.is_ok()))
    }
    fn one_commits<P: Hosted>(step: fn(&mut Client<'_, P>, i64) -> Outcome<()>) {
        let Some(db) = overlapping::<P>() else { return };
        let ends: Vec<Outcome<()>> = thread::scope(|scope| {
            let blocks: Vec<_> = (0..3)
                .map(|n| {
                    let db = &db;
                    scope.spawn(move || {
                        let mut c = db.client(n as u16 + 1);
                        c.begin_claiming(n as u32 + 1);
                        let ended = step(&mut c, n).and_then(|()| c.commit().map(drop));
                        if ended.is_err() {
                            c.abort();
                        }
                        ended
                    })
                })
                .collect();
            blocks.into_iter().map(|block| block.join().unwrap()).collect()
        });
        assert!(ends.iter().any(Result::is_ok), "{ends:?}");
        db.check();
    }
    for step in [counts_and_inserts::<P>, reads_what_the_next_writes::<P>] {
        for seed in super::random::seeds(100) {
            let run = scheduler::run(scheduler::Options::of_seed(seed), move || one_commits::<P>(step));
            let run = run.unwrap_or_else(|stuck| panic!("seed {seed}: {stuck}"));
            run.value.unwrap_or_else(|_| panic!("seed {seed}: see above"));
        }
    }
}
