//! Transactions that read as of a moment: what they are shown, whether or not they commit, and what becomes of them.

use super::fixture::*;
use super::random::{self, Plan};
use super::snapshots::model_at;
use planaria_base::CommitTs;
use planaria_base::sync::thread;
use planaria_protocol::{Backoff, Conflict, Hosted, Isolation};
use planaria_sim::history::{By, Model, Op, Transaction, keep_effects, writes};
use planaria_sim::scheduler;
use std::sync::atomic::{AtomicU32, Ordering};

use Isolation::{ReadCommitted, RepeatableRead, Serializable};

/// Rows 1 to 5 of both tables, in groups 1 to 5, with tags; `None` where transactions cannot overlap.
fn overlapping<P: Hosted>() -> Option<Db<P>> {
    let db = Db::new();
    let rows: Vec<NewRow> = (1..=5).map(|key| NewRow { group: key, tag: Some(key), ..row(key) }).collect();
    db.load(100, 0, &rows);
    db.load(101, 1, &rows);
    P::CONCURRENT.then_some(db)
}

fn begin<P: Hosted>(c: &mut Client<'_, P>, id: u32, level: Isolation) {
    c.begin_claiming(id);
    c.db.protocol.set_level(&mut c.txn, level);
    statement(c);
}

fn statement<P: Hosted>(c: &mut Client<'_, P>) {
    c.db.protocol.begin_statement(&mut c.txn, &c.db.clock);
}

/// Runs a statement as a session does: again as of now where it can. `false`: it cannot go on.
fn run<P: Hosted, T>(
    c: &mut Client<'_, P>,
    mut body: impl FnMut(&mut Client<'_, P>) -> Outcome<T>,
) -> Option<T> {
    statement(c);
    // Nobody waits here for what others have claimed.
    for _ in 0..50 {
        let (ops, point) = (c.ops.len(), c.db.protocol.point(&mut c.txn));
        let cause = match body(c) {
            Ok(done) if !c.db.protocol.is_behind(&c.txn) => {
                c.db.protocol.pass(&mut c.txn, point);
                return Some(done);
            }
            Ok(_) => Conflict::Past,
            Err(Conflict::Claimed) => return None,
            Err(cause) => cause,
        };
        c.ops.truncate(ops);
        c.db.protocol.go_back(&mut c.txn, point, &c.db.tables);
        if !c.db.protocol.move_on(&mut c.txn, &c.db.tables, &c.db.clock, cause) {
            return None;
        }
        c.db.protocol.pass(&mut c.txn, point);
    }
    None
}

fn set<P: Hosted>(c: &mut Client<'_, P>, table: u32, key: i64, value: i64) -> Outcome<()> {
    let seen = c.get(table, key)?.expect("it is there");
    c.update(table, seen, NewRow { value, ..seen.row }).map(|done| done.unwrap())
}

fn value<P: Hosted>(c: &mut Client<'_, P>, table: u32, key: i64) -> Outcome<i64> {
    Ok(c.get(table, key)?.expect("it is there").row.value)
}

/// Somebody else sets two rows at once.
fn others_set<P: Hosted>(db: &Db<P>, id: u32, rows: [(u32, i64); 2], to: i64) {
    db.client(2).run(id, |b| rows.iter().try_for_each(|(table, key)| set(b, *table, *key, to)));
}

pub fn all_statements_show_one_state<P: Hosted>() {
    let Some(db) = overlapping::<P>() else { return };
    for (id, level) in [(10, RepeatableRead), (20, Serializable)] {
        let mut a = db.client(1);
        others_set(&db, id + 1, [(0, 1), (1, 1)], 0);
        begin(&mut a, id, level);
        assert_eq!(run(&mut a, |a| value(a, 0, 1)), Some(0));
        others_set(&db, id + 2, [(0, 1), (1, 1)], 7);
        assert_eq!(run(&mut a, |a| value(a, 1, 1)), Some(0), "{level:?}");
        let all = run(&mut a, |a| a.scan_by(1, By::Group, 0, 9, true)).unwrap();
        assert_eq!(all.iter().map(|s| s.row.value).sum::<i64>(), 0, "{level:?}");
        // Again, by handle, and by another index.
        let again = run(&mut a, |a| {
            let seen = a.get_by(1, By::Tag, 1)?.unwrap();
            a.load(1, seen.handle)
        });
        assert_eq!(again.unwrap().unwrap().row.value, 0);
        a.commit().expect("it has only read");
    }
}

pub fn each_statement_shows_what_is_committed<P: Hosted>() {
    let Some(db) = overlapping::<P>() else { return };
    let mut a = db.client(1);
    begin(&mut a, 10, ReadCommitted);
    assert_eq!(run(&mut a, |a| value(a, 0, 1)), Some(0));
    assert_eq!(run(&mut a, |a| set(a, 0, 3, 3)), Some(()));
    others_set(&db, 20, [(0, 1), (1, 1)], 7);
    assert_eq!(run(&mut a, |a| Ok(value(a, 0, 1)? + value(a, 0, 3)?)), Some(10));
    // A change of what has changed since the transaction, and since the statement, began.
    let mut first = true;
    let set_newest = |a: &mut Client<'_, P>| {
        if std::mem::take(&mut first) {
            others_set(&db, 30, [(0, 1), (1, 1)], 8);
        }
        let now = value(a, 0, 1)?;
        set(a, 0, 1, now + 1)
    };
    assert_eq!(run(&mut a, set_newest), Some(()));
    a.commit().expect("nothing of what it has read need hold");
    let mut b = db.client(2);
    assert_eq!(b.run(40, |b| value(b, 0, 1)), 9);
}

pub fn who_only_reads_never_fails<P: Hosted>() {
    let Some(db) = overlapping::<P>() else { return };
    let mut a = db.client(1);
    begin(&mut a, 10, Serializable);
    for turn in 0..5 {
        // A new row, a change, one gone, while it reads on; the first statement's state stays.
        assert_eq!(run(&mut a, |a| a.scan(0, 0, 100)).unwrap().len(), 5);
        assert_eq!(run(&mut a, |a| value(a, 1, 2)), Some(0));
        others_set(&db, 20 + turn, [(0, 1), (1, 2)], 7);
        db.client(2).run(30 + turn, |b| b.insert(0, row(50 + i64::from(turn))).map(drop));
        db.client(2).run(40 + turn, |b| {
            let seen = b.get(0, 50 + i64::from(turn))?.unwrap();
            b.delete(0, seen).map(drop)
        });
    }
    // It may not write any more, but it ends well.
    let settled = db.protocol.moment(&a.txn).unwrap();
    assert_eq!(run(&mut a, |a| set(a, 1, 3, 1)), None);
    let ended = a.commit().expect("it has only read");
    assert_eq!((ended.ts, ended.drew), (settled.next(), false));
}

pub fn a_moment_moves_on_where_it_can<P: Hosted>() {
    let Some(db) = overlapping::<P>() else { return };
    // What changed had not been read: it goes on from there, and writes.
    let mut a = db.client(1);
    begin(&mut a, 10, Serializable);
    assert_eq!(run(&mut a, |a| value(a, 0, 1)), Some(0));
    others_set(&db, 20, [(0, 2), (1, 2)], 7);
    assert_eq!(run(&mut a, |a| value(a, 0, 2)), Some(7), "as of now");
    assert_eq!(run(&mut a, |a| set(a, 1, 2, 8)), Some(()));
    assert_eq!(run(&mut a, |a| a.insert(1, row(9)).map(drop)), Some(()));
    others_set(&db, 21, [(0, 4), (1, 4)], 7);
    assert_eq!(run(&mut a, |a| value(a, 1, 4)), Some(7), "though it has written");
    a.commit().expect("what it read holds");
    // What changed had been read: it cannot write.
    begin(&mut a, 11, Serializable);
    assert_eq!(run(&mut a, |a| value(a, 0, 1)), Some(0));
    others_set(&db, 22, [(0, 1), (1, 1)], 7);
    assert_eq!(run(&mut a, |a| set(a, 1, 1, 8)), None);
    a.abort();
    // Nor has it, if it had written before.
    begin(&mut a, 12, Serializable);
    assert_eq!(run(&mut a, |a| value(a, 0, 1)), Some(7));
    assert_eq!(run(&mut a, |a| set(a, 1, 1, 8)), Some(()));
    others_set(&db, 23, [(0, 1), (0, 2)], 9);
    assert_eq!(run(&mut a, |a| value(a, 0, 2)), None);
    a.abort();
    // A value that has been given up, and one that somebody has taken.
    begin(&mut a, 13, Serializable);
    assert_eq!(run(&mut a, |a| value(a, 0, 3)), Some(0));
    db.client(2).run(24, |b| {
        let seen = b.get(0, 5)?.unwrap();
        b.update(0, seen, NewRow { tag: Some(50), ..seen.row }).map(drop)
    });
    let tagged = |key, tag| move |a: &mut Client<'_, P>| a.insert(0, NewRow { tag: Some(tag), ..row(key) });
    assert!(run(&mut a, tagged(60, 5)).unwrap().is_ok());
    assert!(run(&mut a, tagged(61, 50)).unwrap().is_err(), "a duplicate of what is there now");
    a.commit().unwrap();
}

pub fn of_two_updates_the_first_wins<P: Hosted>() {
    let Some(db) = overlapping::<P>() else { return };
    let mut a = db.client(1);
    for (id, first, second) in [(10, (0, 1), (0, 1)), (20, (0, 2), (1, 2))] {
        begin(&mut a, id, RepeatableRead);
        assert_eq!(run(&mut a, |a| value(a, 0, 3)), Some(0));
        others_set(&db, id + 1, [first, (1, 5)], 7);
        let ended = run(&mut a, |a| set(a, second.0, second.1, 8));
        assert_eq!(ended.is_some(), first != second);
        match ended {
            Some(()) => drop(a.commit().expect("nobody has changed that")),
            None => a.abort(),
        }
    }
    // One that has been deleted, and a key that has been given up.
    begin(&mut a, 30, RepeatableRead);
    assert_eq!(run(&mut a, |a| value(a, 0, 3)), Some(0));
    db.client(2).run(31, |b| {
        let seen = b.get(0, 4)?.unwrap();
        b.delete(0, seen).map(drop)
    });
    assert_eq!(run(&mut a, |a| value(a, 0, 4)), Some(0), "it was there");
    assert!(run(&mut a, |a| set(a, 0, 4, 1)).is_none());
    a.abort();
}

pub fn skewed_writes_at_each_level<P: Hosted>() {
    let Some(db) = overlapping::<P>() else { return };
    for (id, level) in [(10, ReadCommitted), (20, RepeatableRead), (30, Serializable)] {
        let (mut a, mut b) = (db.client(1), db.client(2));
        begin(&mut a, id, level);
        begin(&mut b, id + 1, level);
        // Each reads what the other writes, a row and a range.
        assert!(run(&mut a, |a| Ok((value(a, 0, 1)?, a.scan(1, 0, 100)?.len()))).is_some());
        assert!(run(&mut b, |b| Ok((value(b, 0, 2)?, b.scan(1, 0, 100)?.len()))).is_some());
        assert!(run(&mut a, |a| set(a, 0, 2, 1)).is_some());
        assert!(run(&mut b, |b| set(b, 0, 1, 1)).is_some());
        a.insert(1, row(i64::from(id))).unwrap().unwrap();
        b.insert(1, row(i64::from(id) + 1)).unwrap().unwrap();
        a.commit().expect("the first");
        assert_eq!(b.commit().is_ok(), level != Serializable);
        b.abort();
    }
}

pub fn rows_that_are_gone_or_new<P: Hosted>() {
    let Some(db) = overlapping::<P>() else { return };
    for (id, level) in [(10, RepeatableRead), (20, Serializable)] {
        let mut a = db.client(1);
        begin(&mut a, id, level);
        assert_eq!(run(&mut a, |a| a.scan(0, 0, 100)).unwrap().len(), 5);
        let mut b = db.client(2);
        b.run(id + 1, |b| {
            let seen = b.get(0, 2)?.unwrap();
            b.delete(0, seen)?;
            b.insert(0, NewRow { tag: Some(2), group: 3, ..row(9) })?.unwrap();
            let seen = b.get(0, 3)?.unwrap();
            b.update(0, seen, NewRow { group: 1, tag: None, ..seen.row }).map(drop)
        });
        let seen = |a: &mut Client<'_, P>| {
            Ok([
                keys(&a.scan_by(0, By::Key, 0, 100, false)?),
                keys(&a.scan_by(0, By::Group, 0, 100, true)?),
                keys(&a.scan_by(0, By::Tag, 0, 100, false)?),
                a.get_by(0, By::Tag, 3)?.iter().map(|s| s.row.key).collect(),
                a.get(0, 9)?.iter().map(|s| s.row.key).collect(),
            ])
        };
        let expected = [vec![1, 2, 3, 4, 5], vec![5, 4, 3, 2, 1], vec![1, 2, 3, 4, 5], vec![3], vec![]];
        assert_eq!(run(&mut a, seen), Some(expected), "{level:?}");
        a.commit().expect("it has only read");
        b.run(id + 2, |b| {
            let seen = b.get(0, 9)?.unwrap();
            b.delete(0, seen)?;
            b.insert(0, NewRow { tag: Some(2), group: 2, ..row(2) })?.unwrap();
            let seen = b.get(0, 3)?.unwrap();
            b.update(0, seen, NewRow { group: 3, tag: Some(3), ..seen.row }).map(drop)
        });
    }
}

/// What a constraint rests on is looked at as it is now, and has to hold at commit.
pub fn constraints_are_as_of_now<P: Hosted>() {
    let Some(db) = overlapping::<P>() else { return };
    for (id, level) in [(10, ReadCommitted), (20, RepeatableRead), (30, Serializable)] {
        for kept in [true, false] {
            let (mut a, mut b, parent) = (db.client(1), db.client(2), 50 + i64::from(id));
            let id = id + 5 * u32::from(kept);
            begin(&mut a, id, level);
            assert!(run(&mut a, |a| value(a, 1, 1)).is_some());
            b.run(id + 1, |b| b.insert(0, row(parent)).map(|done| done.unwrap()).map(drop));
            let looks = |a: &mut Client<'_, P>| {
                a.db.protocol.for_constraint(&mut a.txn, true);
                let there = a.get_presence(0, parent);
                a.db.protocol.for_constraint(&mut a.txn, false);
                there
            };
            assert_eq!(run(&mut a, looks), Some(true), "{level:?}");
            assert!(run(&mut a, |a| a.insert(1, row(parent)).map(drop)).is_some());
            b.run(id + 2, |b| {
                let seen = b.get(0, parent)?.unwrap();
                if kept { set(b, 0, parent, 5) } else { b.delete(0, seen).map(drop) }
            });
            assert_eq!(a.commit().is_ok(), kept, "{level:?}");
            a.abort();
            b.run(id + 3, |b| {
                let rows = [b.get(0, parent)?.map(|seen| (0, seen)), b.get(1, parent)?.map(|seen| (1, seen))];
                rows.into_iter().flatten().try_for_each(|(table, seen)| b.delete(table, seen).map(drop))
            });
        }
    }
}

/// An attempt of a program: what it was shown as of when, and how it ended.
struct Attempt {
    level: Option<Isolation>,
    moment: Option<CommitTs>,
    shown: Transaction,
    committed: Option<Transaction>,
}

fn attempt<P: Hosted>(client: &mut Client<'_, P>, plan: &Plan, r: &mut Random, id: u32) -> Attempt {
    let level = [None, Some(Serializable), Some(Serializable), Some(RepeatableRead), Some(ReadCommitted)]
        [r.below(5) as usize];
    let (seed, ends) = (r.next(), r.chance(70));
    let none = Transaction { id, ts: CommitTs(0), drew: false, ops: Vec::new() };
    match level {
        None => client.begin(id),
        Some(level) => begin(client, id, level),
    }
    let done = match level {
        None => random::program(client, plan, seed, true).is_ok(),
        Some(_) => run(client, |c| random::program(c, plan, seed, true)).is_some(),
    };
    let moment = client.db.protocol.moment(&client.txn);
    let shown = Transaction { ops: if done { client.ops.clone() } else { Vec::new() }, ..none };
    let committed = if done && ends { client.commit().ok() } else { None };
    if committed.is_none() {
        client.abort();
    }
    Attempt { level, moment, shown, committed }
}

/// All that is shown is the state of the moment; what is committed has its place in the order, or, of a weaker level,
/// its writes do.
fn check<P: Hosted>(plan: Plan) {
    let db: Db<P> = random::fresh(&plan);
    let initial = db.model();
    let ids = AtomicU32::new(100);
    let mut attempts: Vec<Attempt> = Vec::new();
    thread::scope(|scope| {
        let threads: Vec<_> = (0..plan.threads)
            .map(|thread| {
                let (db, ids) = (&db, &ids);
                scope.spawn(move || {
                    let mut client = db.client(thread as u16 + 1);
                    let mut r = Random(plan.seed.wrapping_mul(1000) + thread);
                    let mut backoff = Backoff::new(thread + 1);
                    let mut attempts = Vec::new();
                    for _ in 0..plan.commits {
                        let id = ids.fetch_add(1, Ordering::Relaxed);
                        let one = attempt(&mut client, &plan, &mut r, id);
                        if one.committed.is_some() {
                            backoff.reset()
                        } else {
                            backoff.wait()
                        }
                        attempts.push(one);
                    }
                    attempts
                })
            })
            .collect();
        for thread in threads {
            attempts.extend(thread.join().unwrap());
        }
    });
    let order = |attempt: &Attempt| {
        let mut transaction = attempt.committed.clone()?;
        if attempt.level == Some(ReadCommitted) && !transaction.drew {
            // What it wrote and took back was as of then; that it shows as of its last moment is looked at below.
            return None;
        }
        let serial = attempt.level.is_none_or(|level| level == Serializable);
        if !serial {
            keep_effects(&mut transaction.ops);
        }
        Some(transaction)
    };
    let mut committed: Vec<Transaction> = attempts.iter().filter_map(order).collect();
    committed.sort_by_key(|t| (t.ts, t.drew));
    let mut model: Model = initial.clone();
    for transaction in &committed {
        model.execute(transaction).unwrap_or_else(|violation| panic!("{plan:?}: {violation}"));
    }
    assert!(model == db.model(), "{plan:?}: the tables differ from the model's at the end");
    let dated = attempts.iter().filter_map(|a| Some((a, a.moment?)));
    for (attempt, moment) in
        dated.filter(|(a, _)| !a.shown.ops.iter().any(|op| matches!(op, Op::Refused { .. })))
    {
        let mut state = model_at(&initial, &committed, moment);
        let mut shown = attempt.shown.clone();
        if attempt.level == Some(ReadCommitted) {
            // Whether a key is free is looked at as of now.
            let writes = shown.ops.iter().position(|op| writes(std::slice::from_ref(op)));
            shown.ops.truncate(writes.unwrap_or(usize::MAX));
        }
        let shown = state.execute(&shown);
        shown.unwrap_or_else(|violation| {
            panic!("{plan:?}: {:?} as of {moment:?} was shown what never was: {violation}", attempt.level)
        });
    }
    db.check();
    let mut all = || db.tables.iter().cloned().collect();
    // The first time leaves room for as many again.
    for _ in 0..2 {
        db.protocol.forget_closed(&db.clock, &mut all).sweep();
    }
    assert!(
        db.tables.iter().all(|table| !table.has_old_versions()),
        "nothing is kept for those that have ended"
    );
}

pub fn answers_are_of_one_state<P: Hosted>() {
    if !P::CONCURRENT {
        return;
    }
    for seed in random::seeds(4) {
        check::<P>(Plan { commits: 150, keys: 6, ..Plan::of(seed + 6000) });
        check::<P>(Plan { commits: 80, keys: 300, ops: 14, ..Plan::of(seed + 6100) });
        check::<P>(Plan { commits: 150, keys: 5, moves: true, ..Plan::of(seed + 6200) });
    }
}

pub fn answers_under_many_schedules<P: Hosted>() {
    if !P::CONCURRENT {
        return;
    }
    for seed in random::seeds(150) {
        let (keys, moves) = ([3, 5, 40][seed as usize % 3], seed % 2 == 0);
        let plan = Plan { threads: 3, commits: 8, keys, ops: 6, moves, ..Plan::of(seed + 7000) };
        let run = scheduler::run(scheduler::Options::of_seed(seed), move || check::<P>(plan));
        let run = run.unwrap_or_else(|stuck| panic!("{plan:?}: {stuck}"));
        run.value.unwrap_or_else(|_| panic!("{plan:?}: see above"));
    }
}

/// A block puts a key in that was deleted since its moment, and is refused; who has met its placeholder meanwhile, and found no
/// row, must notice who puts the key in after that.
pub fn refused_keys_are_seen_going<P: Hosted>() {
    for seed in random::seeds(1000) {
        let body = move || {
            let Some(db) = overlapping::<P>() else { return };
            let mut block = db.client(1);
            begin(&mut block, 10, RepeatableRead);
            assert!(run(&mut block, |a| value(a, 1, 1)).is_some());
            db.client(2).run(20, |b| {
                let seen = b.get(0, 3)?.unwrap();
                b.delete(0, seen).map(drop)
            });
            // Each looks for one key, and puts the other one in if it is not there.
            let look_and_put = |worker: u16, id, [looked, put]: [(u32, i64); 2]| {
                let mut client = db.client(worker);
                client.begin(id);
                let done = match client.get(looked.0, looked.1) {
                    Ok(None) => client.insert(put.0, row(put.1)).map(drop),
                    seen => seen.map(|seen| assert_eq!(seen.unwrap().row.key, looked.1)),
                };
                if done.and_then(|()| client.commit()).is_err() {
                    client.abort();
                }
            };
            thread::scope(|scope| {
                scope.spawn(move || {
                    let put = block.insert(0, NewRow { tag: Some(3), ..row(3) });
                    assert!(!matches!(put, Ok(Ok(_))), "it is there, as of the block's moment");
                    block.abort();
                    // What was let go of may become another row.
                    for key in 90..93 {
                        block.begin(11);
                        let done = block.insert(0, row(key)).map(drop);
                        if done.and_then(|()| block.commit()).is_err() {
                            block.abort();
                        }
                    }
                });
                scope.spawn(|| look_and_put(2, 30, [(0, 3), (1, 70)]));
                scope.spawn(|| look_and_put(3, 40, [(1, 70), (0, 3)]));
            });
            let mut c = db.client(2);
            let both = c.run(50, |c| Ok([c.get(0, 3)?.is_some(), c.get(1, 70)?.is_some()]));
            assert_ne!(both, [true, true], "seed {seed}: one of them saw the other's row");
            db.check();
        };
        let run = scheduler::run(scheduler::Options::of_seed(seed), body);
        let run = run.unwrap_or_else(|stuck| panic!("seed {seed}: {stuck}"));
        run.value.unwrap_or_else(|_| panic!("seed {seed}: see above"));
    }
}
