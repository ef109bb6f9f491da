//! What makes a transaction block fail: rows that it read, or that came where it looked, and that others have
//! committed. Nothing else does; so of blocks that are in each other's way the first to commit wins.

use planaria::lab::{LabSession, Pauses};
use planaria::{Database, Options, ProtocolKind, Session, SqlState};
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::Duration;

on_the_shelf! {
    what_others_have_not_committed_is_no_conflict
    what_is_committed_where_a_block_looked_is_one
    what_calls_hold_for_a_while_is_no_conflict
    blocks_that_count_and_insert_make_progress
    who_has_lost_hears_of_it_at_the_next_change
    a_look_ends_where_it_is_left
    blocks_of_groups_of_their_own_make_progress
    blocks_that_sign_up_by_name_make_progress
}

fn database(protocol: ProtocolKind) -> Database {
    let db = Options::new().protocol(protocol).in_memory().expect("opens");
    db.execute_script(
        "CREATE TABLE t (id int PRIMARY KEY, g int, name text UNIQUE, v int);
         CREATE INDEX t_by_g ON t (g);
         INSERT INTO t SELECT n * 10, n % 4, 'n' || n, 0 FROM generate_series(1, 20) n;
         CREATE TABLE other (id int PRIMARY KEY, v int);
         INSERT INTO other SELECT n, 0 FROM generate_series(1, 8) n",
    )
    .expect("a schema");
    db
}

fn block(db: &Database) -> Session {
    let mut session = db.session().expect("a session");
    session.execute("BEGIN", ()).expect("begins");
    session
}

fn run(session: &mut Session, statements: &[&str]) {
    for statement in statements {
        session.execute(statement, ()).unwrap_or_else(|e| panic!("{statement}: {e}"));
    }
}

fn commit(session: &mut Session) -> Result<(), SqlState> {
    session.execute("COMMIT", ()).map(drop).map_err(|e| e.sqlstate())
}

/// One block reads and writes; others do something before its COMMIT: how that ends.
fn beside(db: &Database, reads: &[&str], others: impl FnOnce()) -> Result<(), SqlState> {
    let mut a = block(db);
    run(&mut a, reads);
    run(&mut a, &["UPDATE other SET v = v + 1 WHERE id = 1"]);
    others();
    commit(&mut a)
}

/// Of some schemes a call holds what it has read until it ends; COMMIT waits for that.
fn what_calls_hold_for_a_while_is_no_conflict(protocol: ProtocolKind) {
    let db = database(protocol);
    let wait = Duration::from_millis(300);
    thread::scope(|scope| {
        let mut a = block(&db);
        let mut reader = db.session().expect("a session");
        reader.pause(Pauses { wait, ..Pauses::default() });
        let reads = scope.spawn(move || {
            let sum = "DO $$ BEGIN PERFORM sum(v) FROM other; UPDATE t SET v = 1 WHERE id = 20; END $$";
            reader.execute(sum, ()).map(drop)
        });
        thread::sleep(wait / 3);
        run(&mut a, &["UPDATE other SET v = v + 1", "UPDATE t SET v = v + 1 WHERE id = 10"]);
        commit(&mut a).unwrap_or_else(|state| panic!("{protocol}: {state:?}"));
        reads.join().expect("no panic").expect("it is repeated");
        let sum = a.query("SELECT (SELECT sum(v) FROM other) + v FROM t WHERE id = 10", ()).expect("reads");
        assert_eq!(sum[0].get::<i64>(0), Ok(9), "{protocol}: all that it did is there");
    });
}

fn what_others_have_not_committed_is_no_conflict(protocol: ProtocolKind) {
    let db = database(protocol);
    let reads =
        ["SELECT count(*) FROM t", "SELECT * FROM t WHERE name = 'new'", "SELECT sum(v) FROM t WHERE g = 1"];
    for inserts in [true, false] {
        for ends in ["ROLLBACK", "COMMIT"] {
            // It is open while the other reads, and after the other has committed.
            let mut b = block(&db);
            run(&mut b, &["UPDATE other SET v = 0 WHERE id = 2"]);
            if inserts {
                run(&mut b, &["INSERT INTO t VALUES (1, 1, 'new', 1)", "UPDATE t SET g = 1 WHERE id = 20"]);
            }
            assert_eq!(beside(&db, &reads, || ()), Ok(()));
            run(&mut b, &[ends]);
            run(
                &mut db.session().expect("a session"),
                &["DELETE FROM t WHERE id = 1", "UPDATE t SET g = 2 WHERE id = 20"],
            );
        }
    }
    // It begins when the other has read, and takes everything back.
    let undone = || {
        let mut b = block(&db);
        run(
            &mut b,
            &["INSERT INTO t VALUES (1, 1, 'new', 1)", "UPDATE t SET g = 1 WHERE id = 20", "ROLLBACK"],
        );
    };
    assert_eq!(beside(&db, &reads, undone), Ok(()));
    db.check().expect("sound");
}

fn what_is_committed_where_a_block_looked_is_one(protocol: ProtocolKind) {
    let db = database(protocol);
    let conflict = Err(SqlState::SERIALIZATION_FAILURE);
    let does = |what: &'static str| {
        let db = &db;
        move || assert_eq!(db.execute(what, ()).expect(what), 1)
    };
    let cases = [
        ("SELECT count(*) FROM t", "INSERT INTO t VALUES (1, 9, 'a', 0)", conflict),
        ("SELECT count(*) FROM t WHERE id < 5", "INSERT INTO t VALUES (5, 9, 'b', 0)", Ok(())),
        ("SELECT count(*) FROM t WHERE id <= 6", "INSERT INTO t VALUES (6, 9, 'c', 0)", conflict),
        ("SELECT id FROM t ORDER BY id LIMIT 2", "INSERT INTO t VALUES (7, 9, 'd', 0)", Ok(())),
        ("SELECT id FROM t ORDER BY id LIMIT 2", "INSERT INTO t VALUES (2, 9, 'e', 0)", conflict),
        ("SELECT * FROM t WHERE name = 'f'", "INSERT INTO t VALUES (8, 9, 'ff', 0)", Ok(())),
        ("SELECT * FROM t WHERE name = 'f'", "INSERT INTO t VALUES (9, 9, 'f', 0)", conflict),
        ("SELECT sum(v) FROM t WHERE g = 1", "INSERT INTO t VALUES (11, 2, 'g', 0)", Ok(())),
        ("SELECT sum(v) FROM t WHERE g = 1", "INSERT INTO t VALUES (12, 1, 'h', 0)", conflict),
        ("SELECT sum(v) FROM t WHERE g = 1", "UPDATE t SET g = 1 WHERE id = 20", conflict),
        ("SELECT sum(v) FROM t WHERE g = 1", "UPDATE t SET g = 2 WHERE id = 30", Ok(())),
        ("SELECT v FROM t WHERE id = 40", "UPDATE t SET v = 1 WHERE id = 50", Ok(())),
        ("SELECT v FROM t WHERE id = 40", "UPDATE t SET v = 1 WHERE id = 40", conflict),
        ("SELECT v FROM t WHERE id = 40", "DELETE FROM t WHERE id = 40", conflict),
    ];
    for (read, change, ends) in cases {
        assert_eq!(beside(&db, &[read], does(change)), ends, "{read}; {change}");
    }
    db.check().expect("sound");
}

/// Clients that try again: each failure is another's success.
fn progress(protocol: ProtocolKind, work: impl Fn(&mut Session, u64) -> planaria::Result<()> + Sync) {
    const CLIENTS: u64 = 4;
    const COMMITS: u64 = 40;
    let db = database(protocol);
    let failures = AtomicU64::new(0);
    thread::scope(|scope| {
        for client in 0..CLIENTS {
            let (db, failures, work) = (&db, &failures, &work);
            scope.spawn(move || {
                let mut session = db.session().expect("a session");
                for n in 0..COMMITS {
                    loop {
                        let mut attempt = || {
                            session.execute("BEGIN", ())?;
                            work(&mut session, client * COMMITS + n)?;
                            session.execute("COMMIT", ())
                        };
                        let Err(error) = attempt() else { break };
                        assert_eq!(error.sqlstate(), SqlState::SERIALIZATION_FAILURE, "{error}");
                        failures.fetch_add(1, Ordering::Relaxed);
                        session.execute("ROLLBACK", ()).expect("rolls back");
                    }
                }
            });
        }
    });
    let (failures, commits) = (failures.into_inner(), CLIENTS * COMMITS);
    assert!(failures <= commits * (CLIENTS - 1), "{failures} failures beside {commits} commits");
    assert_eq!(
        db.query("SELECT count(*) FROM t", ()).unwrap().iter().next().unwrap().get::<i64>(0).unwrap(),
        20 + commits as i64
    );
    db.check().expect("sound");
}

/// A row has come into what a block has counted: its next change is where it fails, not COMMIT; no change, no failure.
fn who_has_lost_hears_of_it_at_the_next_change(protocol: ProtocolKind) {
    let db = database(protocol);
    let (count, insert) = ("SELECT count(*) FROM t", "INSERT INTO t VALUES ($1, 0, NULL, 0)");
    let (mut a, mut b, mut reader) = (block(&db), block(&db), block(&db));
    run(&mut a, &[count]);
    run(&mut b, &[count]);
    run(&mut reader, &[count]);
    // What is not committed is in nobody's way.
    b.execute(insert, (2001,)).expect("inserts");
    a.execute(insert, (2000,)).expect("inserts");
    commit(&mut a).expect("the first one commits");
    let error = b.execute("UPDATE other SET v = v WHERE id = 1", ()).expect_err("it has lost");
    assert_eq!(error.sqlstate(), SqlState::SERIALIZATION_FAILURE, "{protocol}: {error}");
    run(&mut b, &["ROLLBACK"]);
    commit(&mut reader).expect("a reader never fails");
    db.check().expect("sound");
}

/// Several rows are read at a time only where all are going to be: behind the end of a look others may do what they like.
fn a_look_ends_where_it_is_left(protocol: ProtocolKind) {
    let db = database(protocol);
    db.execute_script(
        "CREATE FUNCTION first_two() RETURNS bigint LANGUAGE plpgsql AS $$
         DECLARE r record; n bigint := 0;
         BEGIN
             FOR r IN SELECT id, name FROM t ORDER BY id LOOP
                 n := n + r.id;
                 EXIT WHEN r.id >= 20;
             END LOOP;
             RETURN n;
         END $$",
    )
    .expect("a function");
    let looks = [
        "SELECT id FROM t ORDER BY id LIMIT 2",
        "SELECT EXISTS (SELECT FROM t WHERE id < 100)",
        "SELECT min(id) FROM t",
        "SELECT id FROM t WHERE g = 1 ORDER BY id LIMIT 1",
    ];
    for look in looks {
        let others = || {
            run(
                &mut db.session().expect("a session"),
                &["UPDATE t SET name = name || '.', v = 0 WHERE id >= 60"],
            );
            run(&mut db.session().expect("a session"), &["INSERT INTO t VALUES (95, 1, NULL, 0)"]);
            run(&mut db.session().expect("a session"), &["DELETE FROM t WHERE id = 95"]);
        };
        assert_eq!(beside(&db, &[look], others), Ok(()), "{protocol}: {look}");
    }
    assert_eq!(db.query("SELECT first_two()", ()).expect("calls")[0].get::<i64>(0), Ok(30));
    // And what is read to its end gives all rows, with their texts, loops within loops.
    let rows = db
        .query(
            "SELECT string_agg(a.name || b.name, ',' ORDER BY a.id, b.id) FROM t a, t b WHERE a.g = b.g",
            (),
        )
        .expect("joins");
    assert_eq!(rows[0].get::<String>(0).expect("a text").split(',').count(), 100);
    let expected: Vec<String> =
        (1..=20).map(|n| format!("n{n}{}", if n >= 6 { "...." } else { "" })).collect();
    let names = db.query("SELECT name FROM t ORDER BY id", ()).expect("reads");
    let names: Vec<String> = names.iter().map(|row| row.get(0).expect("a name")).collect();
    assert_eq!(names, expected);
}

fn blocks_that_count_and_insert_make_progress(protocol: ProtocolKind) {
    progress(protocol, |session, n| {
        session.execute("SELECT count(*) FROM t", ())?;
        thread::yield_now();
        session.execute("INSERT INTO t VALUES ($1, 0, NULL, 0)", (1000 + n as i32,)).map(drop)
    });
}

fn blocks_of_groups_of_their_own_make_progress(protocol: ProtocolKind) {
    progress(protocol, |session, n| {
        let group = 100 + (n / 40) as i32;
        session.query("SELECT count(*) FROM t WHERE g = $1", (group,))?;
        thread::yield_now();
        session.execute("INSERT INTO t VALUES ($1, $2, NULL, 0)", (1000 + n as i32, group)).map(drop)
    });
}

fn blocks_that_sign_up_by_name_make_progress(protocol: ProtocolKind) {
    progress(protocol, |session, n| {
        let name = format!("user {}", (n * 7919) % 1000);
        let there = session.query("SELECT id FROM t WHERE name = $1", (name.as_str(),))?;
        assert_eq!(there.iter().count(), 0);
        thread::yield_now();
        session.execute("INSERT INTO t VALUES ($1, 0, $2, 0)", (1000 + n as i32, name.as_str())).map(drop)
    });
}
