//! Partition locking: what belongs together, what attempts know of those before them, and what is not locked.

use super::fixture::*;
use planaria_protocol::partitioned::{CALM, PARTITIONS, SAMPLED};
use planaria_protocol::{Conflict, Partitioned};

const FAR: i64 = PARTITIONS as i64;

fn db() -> Db<Partitioned> {
    let db = Db::new();
    for (id, table) in [(100, 0), (101, 1)] {
        db.load(id, table, &[row(1), row(3), row(5), row(9), row(5 + FAR)]);
    }
    db
}

fn add(c: &mut Client<'_, Partitioned>, table: u32, key: i64) -> Outcome<()> {
    let seen = c.get(table, key)?.unwrap();
    c.update(table, seen, NewRow { value: seen.row.value + 1, ..seen.row })?.unwrap();
    Ok(())
}

#[test]
fn rows_of_one_leading_value_are_together_in_all_tables() {
    let db = db();
    let (mut a, mut b) = (db.client(1), db.client(2));
    a.begin(1);
    add(&mut a, 0, 5).unwrap();
    assert!(!b.overtakes(2, |c| c.get(1, 5)), "of another table");
    assert!(!b.overtakes(3, |c| add(c, 0, 5 + FAR)), "of another key, modulo");
    assert!(b.overtakes(4, |c| add(c, 0, 9).and_then(|()| add(c, 1, 3))));
    a.commit().unwrap();
    assert!(b.overtakes(5, |c| c.get(1, 5)));
    db.check();
}

#[test]
fn readers_share_a_partition() {
    let db = db();
    let (mut a, mut b) = (db.client(1), db.client(2));
    a.begin(1);
    a.get(0, 5).unwrap();
    assert!(b.overtakes(2, |c| c.get(0, 5)));
    assert!(!b.overtakes(3, |c| add(c, 0, 5)));
    assert!(!b.overtakes(4, |c| c.insert(1, row(5 + 2 * FAR))));
    a.commit().unwrap();
    assert!(b.overtakes(5, |c| add(c, 0, 5)));
    db.check();
}

#[test]
fn an_attempt_locks_what_those_before_it_have_asked_for() {
    let db = db();
    let (mut a, mut b) = (db.client(1), db.client(2));
    let work = |c: &mut Client<'_, Partitioned>| add(c, 0, 9).and_then(|()| add(c, 0, 3));
    b.begin(1);
    add(&mut b, 0, 3).unwrap();
    a.begin(2);
    assert_eq!(work(&mut a), Err(Conflict::Locked));
    a.retry();
    b.commit().unwrap();
    // With its first row it has all: what it was about to read when it failed it shares.
    a.begin(3);
    add(&mut a, 0, 9).unwrap();
    assert!(!b.overtakes(4, |c| add(c, 0, 3)));
    assert!(b.overtakes(8, |c| c.get(0, 3)));
    add(&mut a, 0, 3).unwrap();
    a.commit().unwrap();
    // The next one knows nothing.
    a.begin(5);
    add(&mut a, 0, 9).unwrap();
    assert!(b.overtakes(6, |c| add(c, 0, 3)));
    a.commit().unwrap();
    assert_eq!(a.run(7, |c| c.get(0, 3)).unwrap().row.value, 3);
    db.check();
}

/// What the row gave as it was read before the partition was locked does not count if it has changed since.
#[test]
fn a_first_row_is_looked_at_again_under_its_lock() {
    let db = db();
    let (mut a, mut b) = (db.client(1), db.client(2));
    b.begin(1);
    add(&mut b, 0, 3).unwrap();
    a.begin(2);
    assert_eq!(add(&mut a, 0, 3), Err(Conflict::Locked));
    a.retry();
    b.commit().unwrap();
    a.begin(3);
    add(&mut a, 0, 3).unwrap();
    a.commit().unwrap();
    assert_eq!(a.run(4, |c| c.get(0, 3)).unwrap().row.value, 2);
}

#[test]
fn tables_that_are_only_read_are_validated_in_place_of_locked() {
    let db = db();
    let (mut a, mut b) = (db.client(1), db.client(2));
    for id in 0..CALM * SAMPLED {
        a.run(1000 + id, |c| c.get(1, 5));
    }
    a.begin(1);
    a.get(1, 5).unwrap();
    add(&mut a, 0, 9).unwrap();
    // Who comes to write there is not kept out, and from then on it is no such table.
    assert!(b.overtakes(2, |c| add(c, 1, 5)));
    assert_eq!(a.commit().map(drop), Err(Conflict::Validation));
    a.abort();
    a.begin(3);
    a.get(1, 5).unwrap();
    assert!(!b.overtakes(4, |c| add(c, 1, 5)));
    a.commit().unwrap();
    db.check();
}

#[test]
fn a_block_takes_its_partitions_at_commit() {
    let db = db();
    let (mut a, mut block) = (db.client(1), db.client(2));
    block.begin_claiming(1);
    add(&mut block, 0, 5).unwrap();
    // It has locked nothing yet.
    a.begin(2);
    assert_eq!(a.get(1, 5).unwrap().unwrap().row.value, 0);
    assert_eq!(block.commit().map(drop), Err(Conflict::Locked), "not while a call is there");
    block.abort();
    a.commit().unwrap();
    block.begin_claiming(3);
    add(&mut block, 0, 5).unwrap();
    block.commit().unwrap();
    assert_eq!(a.run(4, |c| c.get(0, 5)).unwrap().row.value, 1);
    db.check();
}
