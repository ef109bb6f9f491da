//! Rows that come, go and move, within one transaction and between transactions.

use super::fixture::*;
use planaria_base::{IndexId, TableId, WorkerId};
use planaria_protocol::{Hosted, Refused, Telling, Write, WriteKind};
use planaria_sim::history::By;
use planaria_storage::reclaim::Participant;
use planaria_storage::{ColumnSpec, Field, IndexSpec, Table, TableSpec};
use std::sync::Arc;

fn tagged(key: i64, tag: i64) -> NewRow {
    NewRow { tag: Some(tag), ..row(key) }
}

fn by_tag<P: Hosted>(c: &mut Client<'_, P>, tag: i64) -> Option<i64> {
    c.get_by(0, By::Tag, tag).unwrap().map(|seen| seen.row.key)
}

pub fn own_writes_are_read<P: Hosted>() {
    let db: Db<P> = Db::new();
    db.load(1, 0, &[tagged(1, 11), tagged(2, 12)]);
    let mut c = db.client(1);
    c.begin(2);
    let one = c.get(0, 1).unwrap().unwrap();
    c.update(0, one, NewRow { value: 9, group: 2, tag: Some(21), ..one.row }).unwrap().unwrap();
    c.insert(0, tagged(3, 13)).unwrap().unwrap();
    assert_eq!(c.get(0, 1).unwrap().unwrap().row.value, 9);
    assert_eq!(c.load(0, one.handle).unwrap().unwrap().row.value, 9);
    assert_eq!((by_tag(&mut c, 11), by_tag(&mut c, 21), by_tag(&mut c, 13)), (None, Some(1), Some(3)));
    assert_eq!(keys(&c.scan_by(0, By::Group, 0, 2, false).unwrap()), [3, 1, 2]);
    assert_eq!(keys(&c.scan_by(0, By::Tag, 0, 99, true).unwrap()), [1, 3, 2]);
    c.commit().unwrap();
    db.check();
}

pub fn insert_then_delete<P: Hosted>() {
    let db: Db<P> = Db::new();
    let mut c = db.client(1);
    c.begin(1);
    c.insert(0, tagged(1, 1)).unwrap().unwrap();
    let seen = c.get(0, 1).unwrap().unwrap();
    assert!(c.delete(0, seen).unwrap());
    assert!(!c.delete(0, seen).unwrap(), "gone already");
    assert!(c.get(0, 1).unwrap().is_none() && by_tag(&mut c, 1).is_none());
    assert!(c.load(0, seen.handle).unwrap().is_none());
    assert!(c.scan(0, 0, 9).unwrap().is_empty());
    c.commit().unwrap();
    db.check();
    assert!(db.model().rows().is_empty());
}

pub fn delete_then_reinsert<P: Hosted>() {
    let db: Db<P> = Db::new();
    db.load(1, 0, &[tagged(1, 11), tagged(2, 12), tagged(3, 13)]);
    let mut c = db.client(1);
    for commit in [false, true] {
        c.begin(2);
        let two = c.get(0, 2).unwrap().unwrap();
        assert!(c.delete(0, two).unwrap());
        // The same primary key and tag, another group: all entries belong to the new row at commit.
        c.insert(0, NewRow { group: 0, ..tagged(2, 12) }).unwrap().unwrap();
        assert_eq!(c.get(0, 2).unwrap().unwrap().row.group, 0);
        assert_eq!(by_tag(&mut c, 12), Some(2));
        assert!(c.load(0, two.handle).unwrap().is_none(), "a handle of the old row");
        assert_eq!(keys(&c.scan(0, 0, 9).unwrap()), [1, 2, 3]);
        assert_eq!(keys(&c.scan_by(0, By::Group, 0, 0, false).unwrap()), [2, 3]);
        assert_eq!(c.insert(0, row(2)).unwrap().unwrap_err(), Refused::Duplicate(IndexId(0)));
        // Another row takes the tag of a deleted one.
        let three = c.get(0, 3).unwrap().unwrap();
        c.delete(0, three).unwrap();
        c.insert(0, tagged(4, 13)).unwrap().unwrap();
        assert_eq!(by_tag(&mut c, 13), Some(4));
        assert_eq!(keys(&c.scan_by(0, By::Tag, 0, 99, false).unwrap()), [1, 2, 4]);
        if commit {
            c.commit().unwrap();
        } else {
            c.abort();
        }
        db.check();
    }
    c.begin(3);
    assert_eq!(keys(&c.scan(0, 0, 9).unwrap()), [1, 2, 4]);
    assert_eq!((by_tag(&mut c, 12), by_tag(&mut c, 13)), (Some(2), Some(4)));
    c.commit().unwrap();
}

pub fn delete_then_reinsert_many_times<P: Hosted>() {
    let db: Db<P> = Db::new();
    db.load(1, 0, &[tagged(1, 11)]);
    let mut c = db.client(1);
    c.begin(2);
    for turn in 0..40 {
        let seen = c.get(0, 1).unwrap().unwrap();
        assert_eq!(seen.row.value, turn);
        c.delete(0, seen).unwrap();
        assert!(c.get(0, 1).unwrap().is_none());
        c.insert(0, NewRow { value: turn + 1, ..tagged(1, 11 + turn % 2) }).unwrap().unwrap();
    }
    c.commit().unwrap();
    db.check();
    assert_eq!(c.run(3, |c| c.get(0, 1)).unwrap().row.value, 40);
}

pub fn update_of_an_own_insert<P: Hosted>() {
    let db: Db<P> = Db::new();
    let mut c = db.client(1);
    c.begin(1);
    c.insert(0, tagged(1, 1)).unwrap().unwrap();
    for tag in [2, 3, 1, 4] {
        let seen = c.get(0, 1).unwrap().unwrap();
        c.update(0, seen, NewRow { group: tag, pad: 200, ..tagged(1, tag) }).unwrap().unwrap();
        assert_eq!(by_tag(&mut c, tag), Some(1));
    }
    assert_eq!(by_tag(&mut c, 1), None);
    // A tag given up by the own insert.
    c.insert(0, tagged(2, 1)).unwrap().unwrap();
    assert_eq!(by_tag(&mut c, 1), Some(2));
    c.commit().unwrap();
    db.check();
    c.begin(2);
    assert_eq!((by_tag(&mut c, 1), by_tag(&mut c, 2), by_tag(&mut c, 4)), (Some(2), None, Some(1)));
    assert_eq!(keys(&c.scan_by(0, By::Group, 4, 4, false).unwrap()), [1]);
    c.commit().unwrap();
}

pub fn unique_values_wander_between_rows<P: Hosted>() {
    let db: Db<P> = Db::new();
    db.load(1, 0, &[tagged(1, 1), tagged(2, 2), tagged(3, 3)]);
    let mut c = db.client(1);
    let set = |c: &mut Client<'_, P>, key, tag| {
        let seen = c.get(0, key).unwrap().unwrap();
        c.update(0, seen, NewRow { tag, ..seen.row }).unwrap()
    };
    for commit in [false, true] {
        c.begin(2);
        assert_eq!(set(&mut c, 1, Some(2)), Err(Refused::Duplicate(IndexId(2))));
        // 1 -> 9, 2 -> 1, 3 -> 2, 1 -> 3: a rotation.
        set(&mut c, 1, Some(9)).unwrap();
        set(&mut c, 2, Some(1)).unwrap();
        set(&mut c, 3, Some(2)).unwrap();
        set(&mut c, 1, Some(3)).unwrap();
        assert_eq!((1..4).map(|tag| by_tag(&mut c, tag)).collect::<Vec<_>>(), [Some(2), Some(3), Some(1)]);
        assert_eq!(keys(&c.scan_by(0, By::Tag, 0, 99, false).unwrap()), [2, 3, 1]);
        assert_eq!(set(&mut c, 1, Some(1)), Err(Refused::Duplicate(IndexId(2))));
        // And back to where it began, for one of them.
        if commit {
            c.commit().map(drop).unwrap()
        } else {
            c.abort()
        }
        db.check();
    }
    c.begin(3);
    assert_eq!(keys(&c.scan_by(0, By::Tag, 0, 99, false).unwrap()), [2, 3, 1]);
    set(&mut c, 1, None).unwrap();
    set(&mut c, 2, None).unwrap();
    set(&mut c, 2, Some(1)).unwrap();
    set(&mut c, 1, Some(3)).unwrap();
    c.commit().unwrap();
    db.check();
}

pub fn secondary_entries_follow_the_row<P: Hosted>() {
    let db: Db<P> = Db::new();
    db.load(1, 0, &(0..50).map(|k| tagged(k, k)).collect::<Vec<_>>());
    let mut c = db.client(1);
    for round in 1..5 {
        c.begin(round as u32 + 1);
        for seen in c.scan(0, 0, 99).unwrap() {
            let moved =
                NewRow { group: seen.row.group + 1, tag: Some(seen.row.key + 100 * round), ..seen.row };
            c.update(0, seen, moved).unwrap().unwrap();
        }
        assert_eq!(c.scan_by(0, By::Group, round, round + 2, false).unwrap().len(), 50);
        c.commit().unwrap();
        db.check();
        assert_eq!(c.run(90, |c| c.scan_by(0, By::Tag, 100 * round, 100 * round + 49, false)).len(), 50);
    }
}

pub fn refused_writes_leave_nothing<P: Hosted>() {
    let db: Db<P> = Db::new();
    db.load(1, 0, &[tagged(1, 1), tagged(2, 2)]);
    let mut c = db.client(1);
    c.begin(2);
    // The second index refuses what the first had taken.
    assert_eq!(c.insert(0, tagged(3, 1)).unwrap().unwrap_err(), Refused::Duplicate(IndexId(2)));
    assert!(c.get(0, 3).unwrap().is_none());
    assert_eq!(keys(&c.scan(0, 0, 9).unwrap()), [1, 2]);
    let one = c.get(0, 1).unwrap().unwrap();
    let refused = c.update(0, one, NewRow { group: 0, ..tagged(1, 2) }).unwrap();
    assert_eq!(refused, Err(Refused::Duplicate(IndexId(2))));
    assert_eq!(c.get(0, 1).unwrap().unwrap().row, one.row);
    assert!(c.scan_by(0, By::Group, 0, 0, false).unwrap().is_empty());
    // The key is still free, for this transaction, too.
    c.insert(0, tagged(3, 3)).unwrap().unwrap();
    c.commit().unwrap();
    db.check();
    c.begin(3);
    assert_eq!(c.insert(0, tagged(4, 1)).unwrap().unwrap_err(), Refused::Duplicate(IndexId(2)));
    c.commit().unwrap();
    db.check();
}

pub fn nulls_are_distinct<P: Hosted>() {
    let db: Db<P> = Db::new();
    db.load(1, 0, &[row(1), row(2), tagged(3, 3)]);
    let mut c = db.client(1);
    c.begin(2);
    assert_eq!(keys(&c.scan_by(0, By::Tag, i64::MIN, i64::MAX, false).unwrap()), [3]);
    let three = c.get(0, 3).unwrap().unwrap();
    c.update(0, three, row(3)).unwrap().unwrap();
    c.commit().unwrap();
    db.check();
}

pub fn rows_grow_and_shrink<P: Hosted>() {
    let db: Db<P> = Db::new();
    db.load(1, 0, &[row(1)]);
    let mut c = db.client(1);
    for (i, pad) in [10, 500, 3, 70_000, 200_000, 0, 30].into_iter().enumerate() {
        c.begin(2 + i as u32);
        let seen = c.get(0, 1).unwrap().unwrap();
        c.update(0, seen, NewRow { pad, ..seen.row }).unwrap().unwrap();
        c.commit().unwrap();
        c.begin(50);
        assert_eq!(c.get(0, 1).unwrap().unwrap().row.pad, pad);
        c.abort();
    }
    db.check();
}

pub fn scans_in_both_directions<P: Hosted>() {
    let db: Db<P> = Db::new();
    db.load(1, 0, &(0..300).map(row).collect::<Vec<_>>());
    let mut c = db.client(1);
    c.begin(2);
    let mut expected: Vec<i64> = (40..=260).collect();
    assert_eq!(keys(&c.scan(0, 40, 260).unwrap()), expected);
    expected.reverse();
    assert_eq!(keys(&c.scan_by(0, By::Key, 40, 260, true).unwrap()), expected);
    assert!(c.scan(0, 260, 40).unwrap().is_empty());
    // Cursors nest.
    for outer in c.scan(0, 0, 2).unwrap() {
        assert_eq!(c.scan_by(0, By::Group, outer.row.key, outer.row.key, false).unwrap().len(), 100);
    }
    c.commit().unwrap();
}

pub fn too_long_keys_are_refused<P: Hosted>() {
    let mut db: Db<P> = Db::new();
    let columns = [
        ColumnSpec { ty: planaria_base::Type::Int8, nullable: false },
        ColumnSpec { ty: planaria_base::Type::Text, nullable: false },
    ];
    let indexes = [
        IndexSpec { columns: vec![KEY], unique: true, equal_nulls: false },
        IndexSpec { columns: vec![VERSION], unique: false, equal_nulls: false },
    ];
    let table = Table::new(TableId(2), TableSpec { columns: &columns, indexes: &indexes }).unwrap();
    let table = Arc::new(table);
    db.tables.insert(table.clone());
    let p = &db.protocol;
    let mut txn = p.worker(WorkerId(1));
    let encode = |len| {
        let mut image = Vec::new();
        table.layout().encode(&[Field::Int(1), Field::Bytes(&vec![b'x'; len])], &mut image).unwrap();
        image
    };
    p.begin(&mut txn);
    let refused = Err(Refused::KeyTooLong(IndexId(1)));
    assert_eq!(p.insert(&mut txn, &table, &encode(5000)).unwrap(), refused.map(|()| unreachable!()));
    let handle = p.insert(&mut txn, &table, &encode(1000)).unwrap().unwrap();
    let touched = table.touched([VERSION]);
    assert_eq!(p.update(&mut txn, &table, handle, &encode(5000), touched).unwrap(), refused);
    p.commit(&mut txn, &db.tables, &db.clock).unwrap();
    db.check();
}

pub fn writes_are_net_effects<P: Hosted>() {
    let db: Db<P> = Db::new();
    db.load(1, 0, &[tagged(1, 1), tagged(2, 2), tagged(3, 3)]);
    let mut c = db.client(1);
    c.begin(2);
    let rows = c.scan(0, 0, 9).unwrap();
    c.update(0, rows[0], NewRow { value: 5, ..rows[0].row }).unwrap().unwrap();
    c.update(0, rows[0], NewRow { value: 6, ..rows[0].row }).unwrap().unwrap();
    c.delete(0, rows[1]).unwrap();
    c.insert(0, tagged(2, 22)).unwrap().unwrap();
    c.insert(0, row(4)).unwrap().unwrap();
    let four = c.get(0, 4).unwrap().unwrap();
    c.update(0, four, NewRow { value: 7, ..four.row }).unwrap().unwrap();
    c.insert(0, row(5)).unwrap().unwrap();
    let five = c.get(0, 5).unwrap().unwrap();
    c.delete(0, five).unwrap();
    let savepoint = c.savepoint();
    c.insert(0, row(6)).unwrap().unwrap();
    c.update(0, rows[2], NewRow { value: 8, ..rows[2].row }).unwrap().unwrap();
    c.rollback_to(savepoint);
    c.release(savepoint);
    let table = c.table(0).clone();
    let mut seen = Vec::new();
    let mut locations = Vec::new();
    let see = &mut |w: Write<'_>| {
        let l = table.layout();
        let value = if w.kind == WriteKind::Delete { 0 } else { l.int(w.image, VALUE) };
        assert!(w.before.is_empty(), "nobody asked for before-images");
        locations.push(w.location);
        seen.push((w.kind, l.int(w.image, KEY), value));
    };
    db.protocol
        .commit(&mut c.txn, &db.tables, Telling(&db.clock, |_, txn: &P::Txn| db.protocol.writes(txn, see)))
        .unwrap();
    seen.sort_by_key(|(kind, key, _)| (*key, *kind != WriteKind::Delete));
    let expected = [
        (WriteKind::Update, 1, 6),
        (WriteKind::Delete, 2, 0),
        (WriteKind::Insert, 2, 0),
        (WriteKind::Insert, 4, 7),
    ];
    assert_eq!(seen, expected);
    locations.sort_unstable();
    locations.dedup();
    assert_eq!(locations.len(), expected.len(), "every row has a location of its own");
    db.check();
}

/// Before-images and locations, as physical and physiological logging ask for them.
pub fn writes_know_what_was_before<P: Hosted>() {
    let db: Db<P> = Db::new();
    let mut c = db.client(1);
    db.protocol.keep_before_images(&mut c.txn, true);
    let table = c.table(0).clone();
    let commit = |c: &mut Client<'_, P>| {
        let mut seen = Vec::new();
        let see = &mut |w: Write<'_>| {
            let l = table.layout();
            let before = (!w.before.is_empty()).then(|| (l.int(w.before, KEY), l.int(w.before, VALUE)));
            seen.push((w.kind, l.int(w.image, KEY), before, w.location));
        };
        db.protocol
            .commit(
                &mut c.txn,
                &db.tables,
                Telling(&db.clock, |_, txn: &P::Txn| db.protocol.writes(txn, see)),
            )
            .unwrap();
        c.ops.clear();
        seen.sort_by_key(|(_, key, ..)| *key);
        seen
    };
    c.begin(1);
    for key in 1..=4 {
        c.insert(0, NewRow { value: 10 * key, ..row(key) }).unwrap().unwrap();
    }
    let inserted = commit(&mut c);
    let location = |key: i64| inserted[key as usize - 1].3;
    assert!(inserted.iter().all(|(kind, _, before, _)| *kind == WriteKind::Insert && before.is_none()));

    c.begin(2);
    let rows = c.scan(0, 0, 9).unwrap();
    // The first before-image counts, also where an update is taken back or followed by a delete.
    let savepoint = c.savepoint();
    c.update(0, rows[0], NewRow { value: 1, ..rows[0].row }).unwrap().unwrap();
    c.update(0, rows[3], NewRow { value: 1, ..rows[3].row }).unwrap().unwrap();
    c.rollback_to(savepoint);
    c.release(savepoint);
    c.update(0, rows[0], NewRow { value: 2, ..rows[0].row }).unwrap().unwrap();
    c.update(0, rows[0], NewRow { value: 3, ..rows[0].row }).unwrap().unwrap();
    c.update(0, rows[1], NewRow { value: 4, ..rows[1].row }).unwrap().unwrap();
    c.delete(0, rows[1]).unwrap();
    c.delete(0, rows[2]).unwrap();
    let expected = [
        (WriteKind::Update, 1, Some((1, 10)), location(1)),
        (WriteKind::Delete, 2, Some((2, 20)), location(2)),
        (WriteKind::Delete, 3, Some((3, 30)), location(3)),
    ];
    assert_eq!(commit(&mut c), expected);
    db.check();
}

pub fn a_large_transaction<P: Hosted>() {
    const ROWS: i64 = 20_000;
    let db: Db<P> = Db::new();
    let mut c = db.client(1);
    c.begin(1);
    for key in 0..ROWS {
        c.insert(0, NewRow { tag: Some(key), ..row(key) }).unwrap().unwrap();
        c.ops.clear();
    }
    for key in (0..ROWS).step_by(3) {
        let seen = c.get(0, key).unwrap().unwrap();
        c.update(0, seen, NewRow { value: key, ..seen.row }).unwrap().unwrap();
    }
    c.commit().unwrap();
    c.begin(2);
    for seen in c.scan(0, 0, ROWS).unwrap() {
        if seen.row.key % 2 == 0 {
            c.delete(0, seen).unwrap();
        } else {
            c.update(0, seen, NewRow { value: 1, ..seen.row }).unwrap().unwrap();
        }
    }
    assert_eq!(c.scan(0, 0, ROWS).unwrap().len() as i64, ROWS / 2);
    c.commit().unwrap();
    db.check();
    assert_eq!(db.digest()[0].1.rows as i64, ROWS / 2);
}

pub fn memory_is_given_back<P: Hosted>() {
    let db: Db<P> = Db::new();
    let mut c = db.client(1);
    // Other tests of the process may hold the epoch back for a while.
    let until = std::time::Instant::now() + std::time::Duration::from_secs(60);
    for round in 0..6u32 {
        c.begin(2 * round + 1);
        for key in 0..2000 {
            c.insert(0, row(key)).unwrap().unwrap();
        }
        c.commit().unwrap();
        c.begin(2 * round + 2);
        for seen in c.scan(0, 0, 2000).unwrap() {
            c.delete(0, seen).unwrap();
        }
        c.commit().unwrap();
        let used = || db.tables.get(TableId(0)).memory().row_bytes;
        let mut participant = Participant::new();
        while used() >= 2000 * 32 {
            assert!(std::time::Instant::now() < until, "deleted rows keep {} bytes", used());
            c.begin(100);
            c.abort();
            participant.flush();
            std::thread::sleep(std::time::Duration::from_millis(1));
        }
    }
    db.check();
}
