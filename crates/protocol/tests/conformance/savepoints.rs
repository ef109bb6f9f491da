//! Savepoints: what EXCEPTION blocks stand on.

use super::fixture::*;
use super::random;
use planaria_base::sync::thread;
use planaria_protocol::{Conflict, Hosted};
use planaria_sim::history::By;
use planaria_sim::scheduler;

fn set<P: Hosted>(c: &mut Client<'_, P>, key: i64, value: i64) {
    try_set(c, key, value).unwrap();
}

fn try_set<P: Hosted>(c: &mut Client<'_, P>, key: i64, value: i64) -> Outcome<()> {
    let seen = c.get(0, key)?.unwrap();
    c.update(0, seen, NewRow { value, tag: Some(100 * key + value), ..seen.row })?.unwrap();
    Ok(())
}

fn value<P: Hosted>(c: &mut Client<'_, P>, key: i64) -> Option<i64> {
    c.get(0, key).unwrap().map(|seen| seen.row.value)
}

pub fn rollback_undoes_writes<P: Hosted>() {
    let db: Db<P> = Db::new();
    db.load(1, 0, &[row(1), row(2), row(3)]);
    let mut c = db.client(1);
    c.begin(2);
    set(&mut c, 1, 1);
    let savepoint = c.savepoint();
    for _ in 0..3 {
        set(&mut c, 1, 2);
        set(&mut c, 1, 3);
        set(&mut c, 2, 2);
        let three = c.get(0, 3).unwrap().unwrap();
        c.delete(0, three).unwrap();
        c.insert(0, row(4)).unwrap().unwrap();
        assert_eq!(keys(&c.scan(0, 0, 9).unwrap()), [1, 2, 4]);
        c.rollback_to(savepoint);
        assert_eq!((value(&mut c, 1), value(&mut c, 2), value(&mut c, 3)), (Some(1), Some(0), Some(0)));
        assert_eq!(value(&mut c, 4), None);
        assert_eq!(keys(&c.scan_by(0, By::Tag, 0, 999, false).unwrap()), [1]);
    }
    c.release(savepoint);
    c.commit().unwrap();
    db.check();
    c.begin(3);
    assert_eq!((value(&mut c, 1), value(&mut c, 2)), (Some(1), Some(0)));
    assert_eq!(keys(&c.scan(0, 0, 9).unwrap()), [1, 2, 3]);
    c.commit().unwrap();
}

pub fn nested_savepoints<P: Hosted>() {
    let db: Db<P> = Db::new();
    db.load(1, 0, &[row(1), row(2)]);
    let mut c = db.client(1);
    c.begin(2);
    set(&mut c, 1, 1);
    let outer = c.savepoint();
    set(&mut c, 1, 2);
    let inner = c.savepoint();
    set(&mut c, 1, 3);
    set(&mut c, 2, 3);
    c.rollback_to(inner);
    assert_eq!((value(&mut c, 1), value(&mut c, 2)), (Some(2), Some(0)));
    set(&mut c, 1, 4);
    c.release(inner);
    let second = c.savepoint();
    set(&mut c, 1, 5);
    set(&mut c, 2, 5);
    c.release(second);
    set(&mut c, 1, 6);
    assert_eq!((value(&mut c, 1), value(&mut c, 2)), (Some(6), Some(5)));
    c.rollback_to(outer);
    assert_eq!((value(&mut c, 1), value(&mut c, 2)), (Some(1), Some(0)));
    set(&mut c, 1, 7);
    c.rollback_to(outer);
    c.release(outer);
    assert_eq!(value(&mut c, 1), Some(1));
    c.commit().unwrap();
    db.check();
}

pub fn rollback_of_inserts_frees_their_keys<P: Hosted>() {
    let db: Db<P> = Db::new();
    db.load(1, 0, &[NewRow { tag: Some(1), ..row(1) }]);
    let mut c = db.client(1);
    c.begin(2);
    for turn in 0..5 {
        let savepoint = c.savepoint();
        c.insert(0, NewRow { tag: Some(5), value: turn, ..row(5) }).unwrap().unwrap();
        c.insert(0, NewRow { tag: Some(1), ..row(6) }).unwrap().unwrap_err();
        if turn < 4 {
            c.rollback_to(savepoint);
        }
        c.release(savepoint);
    }
    // A delete that is undone gives the key back to the old row, and takes it from the new one.
    let savepoint = c.savepoint();
    let one = c.get(0, 1).unwrap().unwrap();
    c.delete(0, one).unwrap();
    c.insert(0, NewRow { tag: Some(1), value: 9, ..row(1) }).unwrap().unwrap();
    c.rollback_to(savepoint);
    c.release(savepoint);
    assert_eq!((value(&mut c, 1), value(&mut c, 5), value(&mut c, 6)), (Some(0), Some(4), None));
    assert_eq!(c.get_by(0, By::Tag, 1).unwrap().unwrap().row.value, 0);
    c.insert(0, row(1)).unwrap().unwrap_err();
    c.commit().unwrap();
    db.check();
    assert_eq!(keys(&c.run(3, |c| c.scan_by(0, By::Tag, 0, 9, false))), [1, 5]);
}

/// Keys that an undone update had taken are free for other rows of the transaction, and of others.
pub fn rollback_of_updates_frees_their_keys<P: Hosted>() {
    let db: Db<P> = Db::new();
    db.load(1, 0, &[row(1), row(2)]);
    let mut c = db.client(1);
    for commit in [false, true] {
        c.begin(2);
        let savepoint = c.savepoint();
        set(&mut c, 1, 5);
        c.rollback_to(savepoint);
        c.insert(0, NewRow { tag: Some(105), ..row(7) }).unwrap().unwrap();
        assert_eq!(c.get_by(0, By::Tag, 105).unwrap().unwrap().row.key, 7);
        c.rollback_to(savepoint);
        c.release(savepoint);
        let two = c.get(0, 2).unwrap().unwrap();
        c.update(0, two, NewRow { tag: Some(105), ..two.row }).unwrap().unwrap();
        if commit {
            c.commit().map(drop).unwrap()
        } else {
            c.abort()
        }
        db.check();
    }
    assert_eq!(c.run(3, |c| c.get_by(0, By::Tag, 105)).unwrap().row.key, 2);
}

pub fn savepoints_between_transactions<P: Hosted>() {
    if !P::CONCURRENT {
        return;
    }
    let db: Db<P> = Db::new();
    db.load(1, 0, &[row(1), row(2)]);
    let (mut a, mut b) = (db.client(1), db.client(2));
    // What was rolled back does not stand in the way of others, but for keys until the end.
    a.begin(2);
    let savepoint = a.savepoint();
    set(&mut a, 1, 5);
    a.insert(0, row(7)).unwrap().unwrap();
    a.rollback_to(savepoint);
    a.release(savepoint);
    b.begin(3);
    assert!(is_refused(b.insert(0, row(7)).unwrap_err()));
    b.abort();
    set(&mut a, 2, 5);
    a.commit().unwrap();
    b.run(4, |c| c.insert(0, row(7)).map(|r| r.unwrap()));
    b.begin(5);
    assert_eq!((value(&mut b, 1), value(&mut b, 2)), (Some(0), Some(5)));
    set(&mut b, 1, 3);
    b.commit().unwrap();
    db.check();
}

pub fn rolled_back_writes_stay_reads<P: Hosted>() {
    if !P::CONCURRENT {
        return;
    }
    let db: Db<P> = Db::new();
    db.load(1, 0, &[row(1), row(2)]);
    let (mut a, mut b) = (db.client(1), db.client(2));
    for other_write in [false, true] {
        a.begin(2);
        let savepoint = a.savepoint();
        set(&mut a, 1, 5);
        a.rollback_to(savepoint);
        a.release(savepoint);
        if other_write {
            set(&mut a, 2, 1);
        }
        let overtaken = b.overtakes(3, |b| try_set(b, 1, 6));
        assert_eq!(a.commit().map(drop), if overtaken { Err(Conflict::Validation) } else { Ok(()) });
        b.begin(4);
        set(&mut b, 1, 0);
        b.commit().unwrap();
        db.check();
    }
}

/// One gives a row a key, undoes that and puts the key in for another row; meanwhile another gives the row that key. Whoever
/// fails takes out nothing but what it has put in.
pub fn undone_keys_are_anybodys<P: Hosted>() {
    if !P::CONCURRENT {
        return;
    }
    for seed in random::seeds(400) {
        let body = move || {
            let db: Db<P> = Db::new();
            db.load(1, 0, &[row(1), row(2)]);
            let key = |seen: SeenRow| NewRow { tag: Some(7), ..seen.row };
            let undo = |c: &mut Client<'_, P>| -> Outcome<()> {
                let seen = c.get(0, 1)?.unwrap();
                let savepoint = c.savepoint();
                c.update(0, seen, key(seen))?.map(drop).unwrap_or_default();
                c.rollback_to(savepoint);
                c.release(savepoint);
                c.insert(0, NewRow { tag: Some(7), ..row(9) }).map(drop)
            };
            let change = |c: &mut Client<'_, P>| -> Outcome<()> {
                let seen = c.get(0, 1)?.unwrap();
                c.update(0, seen, key(seen)).map(drop)
            };
            let attempt = |worker: u16, program: &dyn Fn(&mut Client<'_, P>) -> Outcome<()>| {
                let mut client = db.client(worker);
                for attempt in 0..2 {
                    client.begin(10 * u32::from(worker) + attempt);
                    if program(&mut client).and_then(|()| client.commit()).is_ok() {
                        return;
                    }
                    client.abort();
                }
            };
            thread::scope(|scope| {
                scope.spawn(|| attempt(1, &undo));
                scope.spawn(|| attempt(2, &change));
            });
            db.check();
        };
        let run = scheduler::run(scheduler::Options::of_seed(seed), body);
        let run = run.unwrap_or_else(|stuck| panic!("seed {seed}: {stuck}"));
        run.value.unwrap_or_else(|_| panic!("seed {seed}: see above"));
    }
}
