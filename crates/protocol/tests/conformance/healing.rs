//! Transactions that are healed, under schemes that can; under others they are tried again.

use super::fixture::*;
use super::random::{Plan, check, seeds};
use planaria_base::{Strength, TableId};
use planaria_protocol::healing::ROUNDS_MAX;
use planaria_protocol::{ColumnsRead, Conflict, Heal, Hosted, IfClaimed};
use planaria_sim::history::{By, History};
use planaria_sim::scheduler;

/// A database with these rows, under a scheme that heals.
fn db<P: Hosted>(rows: &[NewRow]) -> Option<Db<P>> {
    P::HEALS.then(|| {
        let db = Db::new();
        db.load(1, 0, rows);
        db
    })
}

/// Adds what row 1 has to row 2.
fn add<P: Hosted>(c: &mut Client<'_, P>) -> Outcome<()> {
    let from = c.get(0, 1)?.unwrap();
    let to = c.get(0, 2)?.unwrap();
    c.update(0, to, NewRow { value: to.row.value + from.row.value, ..to.row })?.unwrap();
    Ok(())
}

fn set<P: Hosted>(c: &mut Client<'_, P>, key: i64, value: i64) -> Outcome<()> {
    let seen = c.get(0, key)?.unwrap();
    c.update(0, seen, NewRow { value, ..seen.row })?.unwrap();
    Ok(())
}

fn value<P: Hosted>(db: &Db<P>, key: i64) -> Option<i64> {
    let mut c = db.client(9);
    c.begin(99);
    let seen = c.get(0, key).unwrap().map(|seen| seen.row.value);
    c.commit().unwrap();
    seen
}

pub fn what_is_stale_is_run_again<P: Hosted>() {
    let Some(db) = db::<P>(&[row(1), row(2)]) else { return };
    let initial = db.model();
    let (mut a, mut b) = (db.client(1), db.client(2));
    let mut transactions = Vec::new();
    // Stale is what was read, then what is written as well.
    for (id, stale) in [(10, 1), (20, 2)] {
        a.begin(id);
        a.may_heal();
        add(&mut a).unwrap();
        b.begin(id + 1);
        set(&mut b, stale, 100).unwrap();
        transactions.push(b.commit().unwrap());
        let cause = a.commit().unwrap_err();
        assert_eq!(cause, Conflict::Validation);
        assert_eq!(a.heal(cause, None), Heal::Run);
        add(&mut a).unwrap();
        transactions.push(a.commit().unwrap());
        let healed = db.protocol.take_healed(&mut a.txn);
        assert_eq!((healed.runs, healed.known, healed.repeated), (1, 2, 0));
    }
    assert_eq!(value(&db, 2), Some(200));
    History::new(transactions).check_order(initial).unwrap();
    db.check();
}

pub fn who_is_healed_keeps_others_out<P: Hosted>() {
    let Some(db) = db::<P>(&[row(1), row(2)]) else { return };
    let (mut a, mut b) = (db.client(1), db.client(2));
    a.begin(10);
    a.may_heal();
    add(&mut a).unwrap();
    b.begin(11);
    set(&mut b, 1, 5).unwrap();
    b.commit().unwrap();
    let cause = a.commit().unwrap_err();
    assert_eq!(a.heal(cause, None), Heal::Run);
    for key in [1, 2] {
        b.begin(11 + key as u32);
        assert_eq!(set(&mut b, key, 7), Err(Conflict::Locked));
        b.abort();
    }
    add(&mut a).unwrap();
    a.commit().unwrap();
    for key in [1, 2] {
        b.begin(20 + key as u32);
        set(&mut b, key, 7).unwrap();
        b.commit().unwrap();
    }
    // Whoever gives up lets go, too.
    a.begin(30);
    a.may_heal();
    add(&mut a).unwrap();
    b.begin(31);
    set(&mut b, 1, 5).unwrap();
    b.commit().unwrap();
    let cause = a.commit().unwrap_err();
    assert_eq!(a.heal(cause, None), Heal::Run);
    add(&mut a).unwrap();
    a.abort();
    b.begin(32);
    add(&mut b).unwrap();
    b.commit().unwrap();
}

pub fn other_columns_may_change<P: Hosted>() {
    let Some(db) = db::<P>(&[row(1), row(2), row(3)]) else { return };
    let (mut a, mut b) = (db.client(1), db.client(2));
    let mut columns = ColumnsRead::default();
    columns.insert(TableId(0), [KEY, GROUP]);
    // Changed is row 1, in what was not read, then in what was.
    for (id, group, healed) in [(10, 1, Heal::Commit), (20, 3, Heal::Run)] {
        a.begin(id);
        a.may_heal();
        let read = |a: &mut Client<'_, P>| -> Outcome<()> {
            let group = a.get(0, 1)?.unwrap().row.group;
            a.insert(0, NewRow { value: group, ..row(100 + i64::from(id)) })?.unwrap();
            Ok(())
        };
        read(&mut a).unwrap();
        b.begin(id + 1);
        let seen = b.get(0, 1).unwrap().unwrap();
        b.update(0, seen, NewRow { value: 77 + i64::from(id), group, ..seen.row }).unwrap().unwrap();
        b.commit().unwrap();
        let cause = a.commit().unwrap_err();
        assert_eq!(a.heal(cause, Some(&columns)), healed);
        if healed == Heal::Run {
            read(&mut a).unwrap();
        }
        a.commit().unwrap();
        assert_eq!(value(&db, 100 + i64::from(id)), Some(group));
        let healed = db.protocol.take_healed(&mut a.txn);
        assert_eq!(healed.false_invalidations, u64::from(id == 10));
    }
    db.check();
}

/// An insert of the same key again, of another one, and of one that somebody has put in meanwhile.
pub fn inserts_are_made_again<P: Hosted>() {
    for (next, taken) in [(10, false), (11, false), (11, true)] {
        let Some(db) = db::<P>(&[row(1)]) else { return };
        let (mut a, mut b) = (db.client(1), db.client(2));
        db.load(2, 0, &[NewRow { value: 10, ..row(5) }]);
        let insert = |a: &mut Client<'_, P>| -> Outcome<bool> {
            let key = a.get(0, 5)?.unwrap().row.value;
            let tag = Some(key + 1000);
            Ok(a.insert(0, NewRow { tag, value: 1, ..row(key) })?.is_ok())
        };
        a.begin(10);
        a.may_heal();
        assert_eq!(insert(&mut a), Ok(true));
        b.begin(11);
        let seen = b.get(0, 5).unwrap().unwrap();
        b.update(0, seen, NewRow { value: next, pad: 9, ..seen.row }).unwrap().unwrap();
        if taken {
            b.insert(0, NewRow { value: 2, ..row(next) }).unwrap().unwrap();
        }
        b.commit().unwrap();
        let cause = a.commit().unwrap_err();
        assert_eq!(a.heal(cause, None), Heal::Run);
        assert_eq!(insert(&mut a), Ok(!taken));
        a.commit().unwrap();
        assert_eq!(value(&db, next), Some(if taken { 2 } else { 1 }));
        assert_eq!(value(&db, 10).is_some(), next == 10);
        db.check();
    }
}

pub fn rows_that_come_and_go_are_healed<P: Hosted>() {
    let Some(db) = db::<P>(&[row(1), row(2), row(3)]) else { return };
    let (mut a, mut b) = (db.client(1), db.client(2));
    let count = |a: &mut Client<'_, P>| {
        let mut n = a.scan(0, 1, 50)?.len() as i64;
        n += 100 * i64::from(a.get_by(0, By::Tag, 7)?.is_some());
        n += 1000 * i64::from(a.get(0, 3)?.is_some());
        set(a, 2, n)
    };
    a.begin(10);
    a.may_heal();
    count(&mut a).unwrap();
    b.begin(11);
    b.insert(0, NewRow { tag: Some(7), ..row(40) }).unwrap().unwrap();
    let gone = b.get(0, 3).unwrap().unwrap();
    b.delete(0, gone).unwrap();
    b.commit().unwrap();
    let (transaction, healed) = a.run_healed(count).unwrap();
    assert!(transaction.drew && healed.runs >= 1);
    assert_eq!(value(&db, 2), Some(103));
    db.check();
}

/// H7: a key that was moved goes where the last run moves it, whatever runs before it have put in.
pub fn keys_are_moved_again<P: Hosted>() {
    let Some(db) = db::<P>(&[row(1), row(2), row(3)]) else { return };
    let (mut a, mut b) = (db.client(1), db.client(2));
    let tag = |c: &mut Client<'_, P>| -> Outcome<bool> {
        let tag = c.get(0, 1)?.unwrap().row.value;
        let to = c.get(0, 2)?.unwrap();
        Ok(c.update(0, to, NewRow { tag: Some(tag), ..to.row })?.is_ok())
    };
    // It moves on, stays, and is not to be had in the end.
    for (id, value, moves) in [(10, 100, true), (20, 200, true), (30, 200, true), (40, 300, false)] {
        a.begin(id);
        a.may_heal();
        assert_eq!(tag(&mut a), Ok(true));
        b.begin(id + 1);
        let seen = b.get(0, 1).unwrap().unwrap();
        b.update(0, seen, NewRow { value, pad: 9, ..seen.row }).unwrap().unwrap();
        if !moves {
            let other = b.get(0, 3).unwrap().unwrap();
            b.update(0, other, NewRow { tag: Some(value), ..other.row }).unwrap().unwrap();
        }
        b.commit().unwrap();
        let cause = a.commit().unwrap_err();
        assert_eq!(a.heal(cause, None), Heal::Run);
        assert_eq!(tag(&mut a), Ok(moves));
        a.commit().unwrap();
        db.check();
        let mut has = |tag| b.run(id + 2, |c| c.get_by(0, By::Tag, tag)).map(|seen| seen.row.key);
        assert_eq!(has(if moves { value } else { 200 }), Some(2));
        assert_eq!((has(0), has(300)), (None, (!moves).then_some(3)));
    }
}

/// H13: to ask who has claimed a row takes what a block may have locked that waits for the words which are locked here.
pub fn claims_of_others_are_not_asked_for_under_locks<P: Hosted>() {
    let Some(db) = db::<P>(&[row(1), row(2), row(3)]) else { return };
    let (mut a, mut b, mut block) = (db.client(1), db.client(2), db.client(3));
    block.begin_claiming(1);
    set(&mut block, 3, 1).unwrap();
    a.begin(10);
    a.may_heal();
    add(&mut a).unwrap();
    let seen = a.get(0, 3).unwrap().unwrap();
    assert_eq!(a.claim(0, seen, Strength::Update, IfClaimed::Skip), Ok(false));
    b.begin(11);
    set(&mut b, 1, 5).unwrap();
    b.commit().unwrap();
    let cause = a.commit().unwrap_err();
    assert_eq!(a.heal(cause, None), Heal::Run);
    add(&mut a).unwrap();
    let seen = a.get(0, 3).unwrap().unwrap();
    assert_eq!(a.claim(0, seen, Strength::Update, IfClaimed::Wait), Ok(true));
    assert_eq!(a.claim(0, seen, Strength::Update, IfClaimed::Skip), Err(Conflict::Claimed));
    assert_eq!(a.heal(Conflict::Claimed, None), Heal::No);
    a.retry();
    // Nothing is locked any more.
    b.begin(12);
    set(&mut b, 1, 6).and_then(|()| set(&mut b, 2, 6)).unwrap();
    b.commit().unwrap();
    block.commit().unwrap();
    db.check();
}

/// H15: whoever meets others in each of its runs begins anew, and lets go of its locks.
pub fn rounds_have_an_end<P: Hosted>() {
    let Some(db) = db::<P>(&[row(1), row(2)]) else { return };
    let (mut a, mut b) = (db.client(1), db.client(2));
    let count = |a: &mut Client<'_, P>| {
        let n = a.scan(0, 10, 90)?.len() as i64;
        set(a, 2, n)
    };
    a.begin(10);
    a.may_heal();
    count(&mut a).unwrap();
    for round in 0..=ROUNDS_MAX {
        // Whoever puts a row into the range writes nothing that is locked.
        b.run(20 + round, |c| c.insert(0, row(10 + i64::from(round))).map(|r| r.unwrap()));
        let cause = a.commit().unwrap_err();
        assert_eq!(cause, Conflict::Phantom);
        let healed = if round < ROUNDS_MAX { Heal::Run } else { Heal::No };
        assert_eq!(a.heal(cause, None), healed, "{round}");
        if healed == Heal::Run {
            count(&mut a).unwrap();
        }
    }
    b.run(50, |c| set(c, 2, 7));
    assert_eq!(value(&db, 2), Some(7));
    db.check();
}

/// H14: however threads take turns, nobody waits for ever.
pub fn no_schedule_is_stuck<P: Hosted>() {
    if !P::HEALS {
        return;
    }
    for seed in seeds(1000) {
        let plan = Plan {
            threads: 3,
            commits: 2,
            keys: 3,
            ops: 6,
            claims: [0, 40][seed as usize % 2],
            moves: seed % 3 == 0,
            ..Plan::of(seed + 11_000)
        };
        let run = scheduler::run(scheduler::Options::of_seed(seed), move || drop(check::<P>(plan)));
        let run = run.unwrap_or_else(|stuck| panic!("{plan:?}: {stuck}"));
        run.value.unwrap_or_else(|_| panic!("{plan:?}: see above"));
    }
}

/// A row that changes between two looks at it.
pub fn a_row_that_changes_meanwhile_is_healed<P: Hosted>() {
    let Some(db) = db::<P>(&[row(1), row(2)]) else { return };
    let (mut a, mut b) = (db.client(1), db.client(2));
    a.begin(10);
    a.may_heal();
    let seen = a.get(0, 1).unwrap().unwrap();
    b.begin(11);
    set(&mut b, 1, 5).unwrap();
    b.commit().unwrap();
    let again = a.load(0, seen.handle).unwrap().unwrap();
    assert_eq!((seen.row.value, again.row.value), (0, 5));
    assert!(!db.protocol.validate(&mut a.txn, &db.tables));
    // It is put back: the values are what they were, but not what was read.
    b.begin(12);
    set(&mut b, 1, 0).unwrap();
    b.commit().unwrap();
    set(&mut a, 2, again.row.value).unwrap();
    let cause = a.commit().unwrap_err();
    let columns = ColumnsRead::default();
    assert_eq!(a.heal(cause, Some(&columns)), Heal::Run);
    let seen = a.get(0, 1).unwrap().unwrap();
    set(&mut a, 2, seen.row.value + 50).unwrap();
    a.commit().unwrap();
    assert_eq!(value(&db, 2), Some(50));
}

pub fn blocks_and_who_does_not_say_so_are_not_healed<P: Hosted>() {
    let Some(db) = db::<P>(&[row(1), row(2)]) else { return };
    let (mut a, mut b) = (db.client(1), db.client(2));
    for claims in [false, true] {
        a.begin(10);
        if claims {
            a.may_heal();
            a.begin_claiming(10);
        }
        add(&mut a).unwrap();
        b.begin(11);
        set(&mut b, 1, 100).unwrap();
        b.commit().unwrap();
        let cause = a.commit().unwrap_err();
        assert_eq!(a.heal(cause, None), Heal::No);
        a.abort();
    }
}

/// A hot-key plan under schedules by seed: most commits were healed, and all is well.
pub fn most_of_a_hot_plan_is_healed<P: Hosted>() {
    if !P::HEALS {
        return;
    }
    let (mut commits, mut healed, mut again, mut known) = (0, 0, 0, 0);
    for seed in seeds(40) {
        let plan = Plan {
            threads: 4,
            commits: 8,
            keys: 2,
            ops: 10,
            claims: 0,
            yields: 100,
            ..Plan::of(seed + 9000)
        };
        let run = scheduler::run(scheduler::Options::of_seed(seed), move || {
            let run = check::<P>(plan);
            (run.committed.len(), run.healed, run.healing.known, run.conflicts.len())
        });
        let run = run.unwrap_or_else(|stuck| panic!("{plan:?}: {stuck}"));
        let (some, some_healed, some_known, some_again) =
            run.value.unwrap_or_else(|_| panic!("{plan:?}: see above"));
        commits += some;
        healed += some_healed;
        again += some_again;
        known += some_known;
    }
    println!("{commits} commits, {healed} healed, {again} tried again; {known} lookups known");
    assert!(known > 0 && healed * 2 >= commits, "{healed} of {commits}; {again} tried again");
}
