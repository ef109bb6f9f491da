//! The hybrid: how its first attempts differ from those after a failure, and when the next is a first one again.

use super::fixture::*;
use planaria_protocol::{Conflict, Hybrid};

fn db() -> Db<Hybrid> {
    let db = Db::new();
    db.load(100, 0, &[row(1), row(2), row(3)]);
    db
}

fn add(c: &mut Client<'_, Hybrid>, key: i64) -> Outcome<()> {
    let seen = c.get(0, key)?.unwrap();
    c.update(0, seen, NewRow { value: seen.row.value + 1, ..seen.row })?.unwrap();
    Ok(())
}

/// Whether another may change a row that a transaction has read, as long as that one runs.
fn may_be_changed(reader: &mut Client<'_, Hybrid>, other: &mut Client<'_, Hybrid>) -> bool {
    reader.get(0, 1).unwrap().unwrap();
    other.overtakes(900, |c| add(c, 1))
}

#[test]
fn an_attempt_after_a_failed_validation_locks_what_it_reads() {
    let db = db();
    let (mut a, mut b) = (db.client(1), db.client(2));
    a.begin(1);
    assert!(may_be_changed(&mut a, &mut b));
    add(&mut a, 2).unwrap();
    assert_eq!(a.commit().map(drop), Err(Conflict::Validation));
    a.retry();
    a.begin(2);
    assert!(!may_be_changed(&mut a, &mut b));
    add(&mut a, 2).unwrap();
    // Others may read what it has read, and commit beside it.
    assert!(b.overtakes(3, |c| c.get(0, 1)));
    a.commit().unwrap();
    // The next one is a first attempt.
    a.begin(4);
    assert!(may_be_changed(&mut a, &mut b));
    a.abort();
    db.check();
}

#[test]
fn a_repetition_stays_one_until_it_commits_or_is_given_up() {
    let db = db();
    let (mut a, mut b) = (db.client(1), db.client(2));
    // An attempt that ended while it ran, for whatever reason, and ends so again.
    a.begin(1);
    a.get(0, 1).unwrap();
    a.retry();
    for attempt in 0..2 {
        a.begin(2 + attempt);
        assert!(!may_be_changed(&mut a, &mut b));
        a.retry();
    }
    a.abort();
    a.begin(4);
    assert!(may_be_changed(&mut a, &mut b));
    // A commit that fails is taken back by itself; who gives up then says so.
    assert_eq!(a.commit().map(drop), Err(Conflict::Validation));
    a.abort();
    a.begin(5);
    assert!(may_be_changed(&mut a, &mut b));
    a.retry();
    // It commits.
    a.begin(6);
    add(&mut a, 3).unwrap();
    a.commit().unwrap();
    a.begin(7);
    assert!(may_be_changed(&mut a, &mut b));
    a.abort();
}

#[test]
fn commits_of_first_attempts_respect_the_locks_of_others() {
    let db = db();
    let (mut a, mut b) = (db.client(1), db.client(2));
    a.begin(1);
    a.retry();
    a.begin(2);
    a.get(0, 1).unwrap().unwrap();
    add(&mut a, 2).unwrap();
    // It sees neither what is to come nor any lock, as it reads; it cannot commit beside it.
    b.begin(3);
    assert_eq!(b.get(0, 2).unwrap().unwrap().row.value, 0);
    assert_eq!(b.commit().map(drop), Err(Conflict::Locked));
    b.abort();
    b.begin(4);
    add(&mut b, 1).unwrap();
    assert_eq!(b.commit().map(drop), Err(Conflict::Locked));
    b.abort();
    a.commit().unwrap();
    assert!(b.overtakes(5, |c| add(c, 1).and_then(|()| add(c, 2))));
    db.check();
}
