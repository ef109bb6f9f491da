//! Named anomalies as fixed interleavings (Adya's phenomena, and those of keys and ranges).

use super::fixture::*;
use planaria_base::IndexId;
use planaria_protocol::{Conflict, Hosted, Refused};
use planaria_sim::history::By;

/// Two clients over rows 1 to 5 of table 0; `None` where transactions cannot overlap.
fn overlapping<P: Hosted>() -> Option<Db<P>> {
    let db = Db::new();
    db.load(100, 0, &[row(1), row(2), row(3), row(4), row(5)]);
    P::CONCURRENT.then_some(db)
}

fn add<P: Hosted>(c: &mut Client<'_, P>, key: i64, amount: i64) -> Outcome<()> {
    let seen = c.get(0, key)?.unwrap();
    c.update(0, seen, NewRow { value: seen.row.value + amount, ..seen.row })?.unwrap();
    Ok(())
}

pub fn lost_update<P: Hosted>() {
    let Some(db) = overlapping::<P>() else { return };
    let (mut a, mut b) = (db.client(1), db.client(2));
    a.begin(1);
    b.begin(2);
    add(&mut a, 1, 10).unwrap();
    let second = add(&mut b, 1, 5);
    let first = a.commit();
    let second = second.and_then(|()| b.commit().map(drop));
    assert!(first.is_ok() != second.is_ok() || second.is_err(), "both updates of one row committed");
    b.abort();
    let total = b.run(3, |c| c.get(0, 1)).unwrap().row.value;
    assert_eq!(total, if first.is_ok() { 10 } else { 0 } + if second.is_ok() { 5 } else { 0 });
    db.check();
}

pub fn write_skew<P: Hosted>() {
    let Some(db) = overlapping::<P>() else { return };
    let (mut a, mut b) = (db.client(1), db.client(2));
    a.begin(1);
    b.begin(2);
    for c in [&mut a, &mut b] {
        c.get(0, 1).unwrap();
        c.get(0, 2).unwrap();
    }
    match (add(&mut a, 1, 1), add(&mut b, 2, 1)) {
        (Ok(()), Ok(())) => {
            a.commit().unwrap();
            assert_eq!(b.commit().unwrap_err(), Conflict::Validation);
        }
        // Each has locked what the other wants.
        refused => assert_eq!(refused, (Err(Conflict::Locked), Err(Conflict::Locked))),
    }
    a.abort();
    b.abort();
}

pub fn dirty_read<P: Hosted>() {
    let Some(db) = overlapping::<P>() else { return };
    let (mut a, mut b) = (db.client(1), db.client(2));
    a.begin(1);
    add(&mut a, 1, 10).unwrap();
    a.insert(0, row(9)).unwrap().unwrap();
    let four = a.get(0, 4).unwrap().unwrap();
    a.delete(0, four).unwrap();
    // What has been changed is not shown; it may be locked.
    b.begin(2);
    let one = b.get(0, 1);
    assert!(one.is_err() || one.unwrap().unwrap().row.value == 0);
    b.abort();
    b.begin(2);
    let all = b.scan(0, 0, 100);
    assert!(all.is_err() || keys(&all.unwrap()) == [1, 2, 3, 4, 5]);
    b.abort();
    b.begin(2);
    let all = b.scan_by(0, By::Group, 0, 2, false);
    assert!(all.is_err() || keys(&all.unwrap()) == [3, 1, 4, 2, 5]);
    a.abort();
    b.abort();
    b.begin(2);
    assert_eq!(b.get(0, 1).unwrap().unwrap().row.value, 0);
    b.abort();
    let after = b.run(3, |c| c.scan(0, 0, 100));
    assert_eq!(keys(&after), [1, 2, 3, 4, 5]);
    db.check();
}

pub fn fuzzy_read<P: Hosted>() {
    let Some(db) = overlapping::<P>() else { return };
    let (mut a, mut b) = (db.client(1), db.client(2));
    a.begin(1);
    let before = a.get(0, 1).unwrap().unwrap();
    b.overtakes(2, |c| add(c, 1, 7));
    match a.get(0, 1) {
        // A zombie may see both, but not commit.
        Ok(after) => assert!(after.unwrap().row == before.row || a.commit().is_err()),
        Err(_) => a.abort(),
    }
    a.abort();
    // Loading a row that has changed since it was read is no consistent answer.
    a.begin(3);
    let seen = a.get(0, 2).unwrap().unwrap();
    b.overtakes(4, |c| add(c, 2, 7));
    if let Ok(loaded) = a.load(0, seen.handle) {
        assert!(loaded.unwrap().row == seen.row || a.commit().is_err());
    }
    a.abort();
}

/// Fekete's read-only transaction anomaly: the reader makes an otherwise serializable pair wrong.
pub fn read_only_anomaly<P: Hosted>() {
    let Some(db) = overlapping::<P>() else { return };
    let (mut a, mut b, mut c) = (db.client(1), db.client(2), db.client(3));
    a.begin(1);
    a.get(0, 1).unwrap();
    a.get(0, 2).unwrap();
    let overtaken = b.overtakes(2, |c| add(c, 2, 20));
    let seen = c.run(3, |c| Ok((c.get(0, 1)?.unwrap().row.value, c.get(0, 2)?.unwrap().row.value)));
    assert_eq!(seen, (0, if overtaken { 20 } else { 0 }));
    let late = add(&mut a, 1, -11).and_then(|()| a.commit());
    assert_eq!(late.is_err(), overtaken, "it read row 2 before, and writes row 1 after the reader");
    a.abort();
}

pub fn phantom_in_a_range<P: Hosted>() {
    let Some(db) = overlapping::<P>() else { return };
    let (mut a, mut b) = (db.client(1), db.client(2));
    for by in [By::Key, By::Group] {
        let id = if by == By::Key { 7 } else { 8 };
        a.begin(id);
        a.scan_by(0, by, 0, 10, by == By::Group).unwrap();
        b.run(id + 100, |c| c.insert(0, row(id.into())).map(|r| r.unwrap()));
        add(&mut a, 1, 1).unwrap();
        assert_eq!(a.commit().unwrap_err(), Conflict::Phantom);
        // A row that leaves the range is a change of something read.
        a.begin(id + 10);
        a.scan_by(0, by, 0, 10, false).unwrap();
        let overtaken = b.overtakes(id + 110, |c| {
            let gone = c.get(0, id.into())?.unwrap();
            c.delete(0, gone)
        });
        add(&mut a, 1, 1).unwrap();
        assert_eq!(a.commit().is_err(), overtaken);
    }
    db.check();
}

pub fn phantom_in_an_empty_range<P: Hosted>() {
    let Some(db) = overlapping::<P>() else { return };
    let (mut a, mut b) = (db.client(1), db.client(2));
    a.begin(1);
    assert!(a.scan(0, 50, 60).unwrap().is_empty());
    assert!(a.scan(1, 0, 60).unwrap().is_empty(), "a table without any row");
    b.run(2, |c| c.insert(1, row(55)).map(|r| r.unwrap()));
    add(&mut a, 1, 1).unwrap();
    assert_eq!(a.commit().unwrap_err(), Conflict::Phantom);
}

pub fn failed_lookup_then_insert<P: Hosted>() {
    let Some(db) = overlapping::<P>() else { return };
    let (mut a, mut b) = (db.client(1), db.client(2));
    for (id, by) in [(1, By::Key), (2, By::Tag)] {
        a.begin(id);
        assert!(a.get_by(0, by, 50 + i64::from(id)).unwrap().is_none());
        let new = NewRow { key: 50 + i64::from(id), tag: Some(50 + i64::from(id)), ..row(1) };
        b.run(id + 10, |c| c.insert(0, new).map(|r| r.unwrap()));
        add(&mut a, 1, 1).unwrap();
        assert_eq!(a.commit().unwrap_err(), Conflict::Phantom);
    }
}

pub fn failed_lookup_of_a_placeholder<P: Hosted>() {
    let Some(db) = overlapping::<P>() else { return };
    let (mut a, mut b) = (db.client(1), db.client(2));
    // The insert commits: what was not there is there now.
    b.begin(1);
    b.insert(0, NewRow { tag: Some(6), ..row(6) }).unwrap().unwrap();
    a.begin(2);
    assert!(a.get(0, 6).unwrap().is_none());
    assert!(a.get_by(0, By::Tag, 6).unwrap().is_none());
    assert_eq!(keys(&a.scan(0, 5, 9).unwrap()), [5]);
    b.commit().unwrap();
    add(&mut a, 1, 1).unwrap();
    assert_eq!(a.commit().unwrap_err(), Conflict::Validation);
    // The insert is taken back, and another one follows: it must not be missed either.
    b.begin(3);
    b.insert(0, row(7)).unwrap().unwrap();
    a.begin(4);
    assert!(a.get(0, 7).unwrap().is_none());
    b.abort();
    b.run(5, |c| c.insert(0, row(7)).map(|r| r.unwrap()));
    add(&mut a, 1, 1).unwrap();
    assert!(a.commit().is_err());
    db.check();
}

pub fn insert_insert<P: Hosted>() {
    let Some(db) = overlapping::<P>() else { return };
    let (mut a, mut b) = (db.client(1), db.client(2));
    let tagged = |key| NewRow { tag: Some(77), ..row(key) };
    a.begin(1);
    b.begin(2);
    a.insert(0, tagged(8)).unwrap().unwrap();
    // In flight: neither "exists" nor "does not exist" would be right.
    assert!(is_refused(b.insert(0, tagged(8)).unwrap_err()));
    b.abort();
    b.begin(3);
    assert_eq!(b.insert(0, tagged(9)).unwrap_err(), Conflict::Key, "by the other unique index");
    b.abort();
    a.commit().unwrap();
    b.begin(4);
    assert_eq!(b.insert(0, tagged(8)).unwrap().unwrap_err(), Refused::Duplicate(IndexId(0)));
    assert_eq!(b.insert(0, tagged(9)).unwrap().unwrap_err(), Refused::Duplicate(IndexId(2)));
    b.commit().unwrap();
    // After an abort the key is free.
    a.begin(5);
    a.insert(0, row(10)).unwrap().unwrap();
    a.abort();
    b.run(6, |c| c.insert(0, row(10)).map(|r| r.unwrap()));
    db.check();
}

pub fn insert_meets_a_live_row<P: Hosted>() {
    let Some(db) = overlapping::<P>() else { return };
    let (mut a, mut b) = (db.client(1), db.client(2));
    // "Duplicate" is a read: it must still hold at commit.
    a.begin(1);
    assert_eq!(a.insert(0, row(3)).unwrap().unwrap_err(), Refused::Duplicate(IndexId(0)));
    let overtaken = b.overtakes(2, |c| {
        let three = c.get(0, 3)?.unwrap();
        c.delete(0, three)
    });
    add(&mut a, 1, 1).unwrap();
    assert_eq!(a.commit().map(drop), if overtaken { Err(Conflict::Validation) } else { Ok(()) });
}

pub fn delete_and_reinsert_between_transactions<P: Hosted>() {
    let Some(db) = overlapping::<P>() else { return };
    let (mut a, mut b) = (db.client(1), db.client(2));
    let remove = |c: &mut Client<'_, P>, key| {
        let seen = c.get(0, key)?.unwrap();
        c.delete(0, seen)
    };
    a.begin(1);
    let seen = a.get(0, 3).unwrap().unwrap();
    if b.overtakes(2, |c| remove(c, 3)) {
        b.run(3, |c| c.insert(0, row(3)).map(|r| r.unwrap()));
        // The handle is of a row that is gone, though its key is back.
        let late = a.update(0, seen, NewRow { value: 5, ..seen.row }).and_then(|r| {
            r.unwrap();
            a.commit()
        });
        assert!(late.is_err());
    }
    a.abort();
    // Who saw the key absent notices that it came back.
    b.run(4, |c| remove(c, 3));
    a.begin(5);
    assert!(a.get(0, 3).unwrap().is_none());
    b.run(6, |c| c.insert(0, row(3)).map(|r| r.unwrap()));
    add(&mut a, 1, 1).unwrap();
    assert!(a.commit().is_err());
    assert_eq!(b.run(7, |c| c.get(0, 3)).unwrap().row, row(3));
    db.check();
}

pub fn scan_by_group_misses_no_moved_row<P: Hosted>() {
    let Some(db) = overlapping::<P>() else { return };
    let (mut a, mut b) = (db.client(1), db.client(2));
    // Row 2 (group 2) moves to group 0 between two scans of one transaction.
    a.begin(1);
    let zero = keys(&a.scan_by(0, By::Group, 0, 0, false).unwrap());
    assert_eq!(zero, [3]);
    b.run(2, |c| {
        let seen = c.get(0, 2)?.unwrap();
        c.update(0, seen, NewRow { group: 0, ..seen.row }).map(|r| r.unwrap())
    });
    let two = a.scan_by(0, By::Group, 2, 2, false);
    assert!(two.is_err() || a.commit().is_err(), "row 2 was in neither group");
    a.abort();
    // An update in flight shows in neither place: early entries lead to a row with another key.
    b.begin(3);
    let seen = b.get(0, 2).unwrap().unwrap();
    b.update(0, seen, NewRow { group: 1, tag: Some(4), ..seen.row }).unwrap().unwrap();
    a.begin(4);
    let shown = a.scan_by(0, By::Group, 0, 2, false).and_then(|rows| {
        assert_eq!(keys(&rows), [2, 3, 1, 4, 5]);
        assert!(a.get_by(0, By::Tag, 4)?.is_none());
        Ok(())
    });
    b.commit().unwrap();
    match shown {
        Ok(()) => {
            add(&mut a, 5, 1).unwrap();
            assert!(a.commit().is_err());
        }
        Err(conflict) => assert_eq!(conflict, Conflict::Locked),
    }
    a.abort();
    a.begin(5);
    assert_eq!(keys(&a.scan_by(0, By::Group, 0, 2, true).unwrap()), [5, 4, 2, 1, 3]);
    assert_eq!(a.get_by(0, By::Tag, 4).unwrap().unwrap().row.key, 2);
    a.commit().unwrap();
    db.check();
}

/// Two transactions want one index entry for the same row, or for two.
pub fn early_entries_belong_to_one_transaction<P: Hosted>() {
    let Some(db) = overlapping::<P>() else { return };
    let (mut a, mut b) = (db.client(1), db.client(2));
    let moved = |c: &mut Client<'_, P>, key, tag| {
        let seen = c.get(0, key)?.unwrap();
        c.update(0, seen, NewRow { group: 1, tag, ..seen.row })
    };
    a.begin(1);
    moved(&mut a, 2, Some(9)).unwrap().unwrap();
    b.begin(2);
    // The group's entry of the row, if that is not locked.
    assert!(matches!(moved(&mut b, 2, Some(8)), Err(Conflict::Key | Conflict::Locked)));
    b.abort();
    b.begin(3);
    assert_eq!(moved(&mut b, 3, Some(9)).unwrap_err(), Conflict::Key, "the tag");
    b.abort();
    // A lookup that met the early entry, and found its row without the tag, is told when the tag comes
    // back with another row.
    b.begin(4);
    let met = b.get_by(0, By::Tag, 9);
    if let Ok(found) = met {
        assert!(found.is_none());
        let four = b.get(0, 4).unwrap().unwrap();
        b.delete(0, four).unwrap();
    }
    a.abort();
    db.check();
    a.run(5, |c| moved(c, 3, Some(9)).map(|r| r.unwrap()));
    match met {
        Ok(_) => assert_eq!(b.commit().unwrap_err(), Conflict::Phantom),
        Err(_) => b.abort(),
    }
    // The same, where the transaction that looks has written the row that the entry leads to.
    b.begin(6);
    let two = b.get(0, 2).unwrap().unwrap();
    b.update(0, two, NewRow { value: 1, ..two.row }).unwrap().unwrap();
    a.begin(7);
    if moved(&mut a, 2, Some(7)).is_ok() {
        assert!(b.get_by(0, By::Tag, 7).unwrap().is_none());
        a.abort();
        a.run(8, |c| moved(c, 5, Some(7)).map(|r| r.unwrap()));
        assert_eq!(b.commit().unwrap_err(), Conflict::Phantom);
    }
    a.abort();
    b.abort();
    db.check();
}

/// An early entry of a transaction that must fail outlives the row it leads to.
pub fn early_entries_of_a_deleted_row<P: Hosted>() {
    let Some(db) = overlapping::<P>() else { return };
    let (mut a, mut b, mut c) = (db.client(1), db.client(2), db.client(3));
    a.begin(1);
    let two = a.get(0, 2).unwrap().unwrap();
    a.update(0, two, NewRow { tag: Some(9), ..two.row }).unwrap().unwrap();
    let overtaken = b.overtakes(2, |b| {
        let two = b.get(0, 2)?.unwrap();
        b.delete(0, two)
    });
    if !overtaken {
        return a.abort();
    }
    c.begin(3);
    assert!(c.get_by(0, By::Tag, 9).unwrap().is_none());
    assert!(c.scan_by(0, By::Tag, 0, 99, false).unwrap().is_empty());
    assert_eq!(c.insert(0, NewRow { tag: Some(9), ..row(7) }).unwrap_err(), Conflict::Key);
    c.abort();
    assert!(a.commit().is_err());
    c.run(4, |c| c.insert(0, NewRow { tag: Some(9), ..row(2) }).map(|r| r.unwrap()));
    db.check();
}

pub fn own_inserts_do_not_invalidate_own_scans<P: Hosted>() {
    let db: Db<P> = Db::new();
    let mut a = db.client(1);
    // Enough to split the leaves that were scanned.
    a.begin(1);
    assert!(a.scan(0, 0, 10_000).unwrap().is_empty());
    for key in 0..500 {
        assert!(a.get(0, key * 7 % 500).unwrap().is_none());
        a.insert(0, row(key * 7 % 500)).unwrap().unwrap();
    }
    assert_eq!(keys(&a.scan(0, 0, 10_000).unwrap()), (0..500).collect::<Vec<_>>());
    a.commit().unwrap();
    db.check();
}

pub fn disjoint_transactions_commit<P: Hosted>() {
    let Some(db) = overlapping::<P>() else { return };
    let (mut a, mut b) = (db.client(1), db.client(2));
    a.begin(1);
    b.begin(2);
    add(&mut a, 1, 1).unwrap();
    add(&mut b, 2, 1).unwrap();
    a.insert(1, row(1)).unwrap().unwrap();
    b.insert(1, row(2)).unwrap().unwrap();
    let (a, b) = (a.commit().unwrap(), b.commit().unwrap());
    assert!(a.ts < b.ts);
    db.check();
}

/// What a transaction has met tells how new it is, and what it did not find tells how new the last removal is.
pub fn who_only_reads_knows_the_newest_it_has_met<P: Hosted>() {
    let db: Db<P> = Db::new();
    let mut c = db.client(1);
    for key in 1..=3 {
        c.begin(key as u32);
        c.insert(0, row(key)).unwrap().unwrap();
        c.commit().unwrap();
    }
    // The first drew FIRST_TS, and so on. A scheme need not know.
    fn is<P: Hosted>(
        c: &mut Client<'_, P>,
        db: &Db<P>,
        keys: &[i64],
        range: Option<i64>,
        newest: u64,
    ) -> bool {
        c.begin(9);
        for key in keys {
            c.get(0, *key).unwrap();
        }
        if let Some(low) = range {
            c.scan(0, low, low + 1).unwrap();
        }
        let known = db.protocol.newest_met(&c.txn, &db.tables);
        assert!(known.is_none_or(|ts| ts.0 == newest), "{keys:?} {range:?}: {known:?}");
        c.abort();
        known.is_some()
    }
    let first = FIRST_TS.0;
    let knows = is(&mut c, &db, &[1], None, first);
    assert_eq!(is(&mut c, &db, &[2, 1], None, first + 1), knows);
    // Nothing was ever taken out.
    assert_eq!(is(&mut c, &db, &[1, 4], None, first), knows);
    assert_eq!(is(&mut c, &db, &[1], Some(7), first), knows);
    assert_eq!(is(&mut c, &db, &[], Some(7), 0), knows);
    assert!(!is(&mut c, &db, &[], None, 0));
    c.begin(4);
    let old = c.get(0, 3).unwrap().unwrap();
    c.delete(0, old).unwrap();
    c.commit().unwrap();
    assert_eq!(is(&mut c, &db, &[1, 2], None, first + 1), knows);
    assert_eq!(is(&mut c, &db, &[1, 3], None, first + 3), knows);
    assert_eq!(is(&mut c, &db, &[1], Some(7), first + 3), knows);
    // A row that leaves one place of an index for another.
    c.begin(5);
    let old = c.get(0, 1).unwrap().unwrap();
    let moved = NewRow { group: old.row.group + 1, ..old.row };
    c.update(0, old, moved).unwrap().unwrap();
    c.commit().unwrap();
    assert_eq!(is(&mut c, &db, &[2], Some(7), first + 4), knows);
    // Who has written is not asked.
    c.begin(6);
    let old = c.get(0, 1).unwrap().unwrap();
    c.update(0, old, row(1)).unwrap().unwrap();
    c.get(0, 1).unwrap();
    assert_eq!(db.protocol.newest_met(&c.txn, &db.tables), None);
    c.abort();
}

pub fn reads_alone_take_no_timestamp<P: Hosted>() {
    let db: Db<P> = Db::new();
    let mut c = db.client(1);
    c.begin(1);
    c.scan(0, 0, 100).unwrap();
    assert!(P::is_read_only(&db.protocol, &c.txn));
    assert_eq!(c.commit().unwrap().ts, FIRST_TS);
    c.begin(2);
    c.insert(0, row(1)).unwrap().unwrap();
    assert!(!P::is_read_only(&db.protocol, &c.txn));
    assert_eq!(c.commit().unwrap().ts, FIRST_TS);
    assert_eq!(db.clock.now().0, FIRST_TS.0 + 1);
}

pub fn zombies_are_told<P: Hosted>() {
    let Some(db) = overlapping::<P>() else { return };
    let (mut a, mut b) = (db.client(1), db.client(2));
    a.begin(1);
    add(&mut a, 1, 1).unwrap();
    a.insert(0, row(20)).unwrap().unwrap();
    assert!(a.get(0, 2).unwrap().is_some() && a.get(0, 30).unwrap().is_none());
    assert!(db.protocol.validate(&mut a.txn, &db.tables));
    let overtaken = b.overtakes(2, |c| add(c, 2, 1));
    assert_ne!(db.protocol.validate(&mut a.txn, &db.tables), overtaken);
    a.abort();
    a.begin(3);
    add(&mut a, 1, 1).unwrap();
    let overtaken = b.overtakes(4, |c| add(c, 1, 1));
    assert_ne!(db.protocol.validate(&mut a.txn, &db.tables), overtaken, "what was written was read, too");
    a.abort();
    a.begin(5);
    assert!(a.get(0, 30).unwrap().is_none());
    b.run(6, |c| c.insert(0, row(30)).map(|r| r.unwrap()));
    assert!(!db.protocol.validate(&mut a.txn, &db.tables));
    a.abort();
    db.check();
}

/// What a foreign key asks of a parent row: that it is there.
pub fn a_row_that_has_to_be_there_may_change<P: Hosted>() {
    let Some(db) = overlapping::<P>() else { return };
    let (mut a, mut b) = (db.client(1), db.client(2));
    a.begin(1);
    a.get_presence(0, 1).unwrap();
    a.insert(0, row(10)).unwrap().unwrap();
    b.run(2, |c| add(c, 1, 7));
    a.commit().expect("row 1 is still there");
    // Deleted, and put in again: at the end it is not the same row, but whoever says so is believed.
    for (id, again) in [(3, false), (6, true)] {
        a.begin(id);
        a.get_presence(0, 1).unwrap();
        a.insert(0, row((10 + id).into())).unwrap().unwrap();
        b.run(id + 1, |c| {
            let seen = c.get(0, 1)?.unwrap();
            c.delete(0, seen).map(drop)
        });
        if again {
            b.run(id + 2, |c| c.insert(0, row(1)).map(drop));
        }
        assert_eq!(a.commit().unwrap_err(), Conflict::Validation);
        a.abort();
        if !again {
            b.run(id + 2, |c| c.insert(0, row(1)).map(drop));
        }
    }
    // It may be read as well, and need not change.
    a.begin(8);
    a.get_presence(0, 2).unwrap();
    a.get(0, 2).unwrap();
    a.get_presence(0, 2).unwrap();
    a.insert(0, row(20)).unwrap().unwrap();
    a.commit().unwrap();
    // Its own changes of the row count as any others.
    a.begin(9);
    a.get_presence(0, 2).unwrap();
    add(&mut a, 2, 1).unwrap();
    a.get_presence(0, 2).unwrap();
    a.commit().unwrap();
    a.begin(10);
    a.get_presence(0, 3).unwrap();
    add(&mut a, 3, 1).unwrap();
    let overtaken = b.overtakes(11, |c| add(c, 3, 7));
    assert_eq!(a.commit().is_err(), overtaken, "an update was lost");
    a.abort();
}
