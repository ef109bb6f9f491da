//! Transaction blocks that meet on a row: they wait for each other, as they do in PostgreSQL.

use planaria::serving::ServedSession;
use planaria::{Database, Error, Options, ProtocolKind, Session, SqlState};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::mpsc::{Receiver, channel};
use std::thread::{Scope, ScopedJoinHandle};
use std::time::{Duration, Instant};

on_the_shelf! {
    the_second_to_change_a_row_waits_and_goes_on
    what_was_read_without_a_claim_must_still_hold
    of_two_that_wait_for_each_other_one_is_told
    a_savepoint_does_not_bring_a_deadlocked_transaction_back
    patience_ends
    statements_alone_and_calls_wait_for_blocks
    blocks_that_meet_on_hot_rows_all_succeed
    who_needs_a_key_waits_for_who_is_putting_it_in
    a_schema_change_overtakes_who_waits
    savepoints_let_go_of_claims_and_undo_writes
    a_row_whose_keys_were_to_change_stays_claimed
    what_was_raised_since_a_savepoint_is_lowered
    a_session_that_goes_away_lets_go
    rows_read_for_update_are_claimed
    what_is_behind_the_limit_is_not_claimed
    a_queue_with_skip_locked_gives_each_job_to_one
    locking_clauses_that_mean_nothing_are_refused
    long_statements_see_claims_too
    a_session_that_panics_lets_go
    pg_locks_has_who_holds_and_who_waits
    a_schema_change_overtakes_who_sleeps
    a_busy_parent_does_not_fail_its_children
    who_takes_a_parent_away_and_its_children_wait_for_each_other
    row_locks_conflict_as_postgresqls_do
    a_row_is_shared_until_one_wants_more
    who_shares_a_row_waits_behind_who_wants_it_alone
}

fn db(protocol: ProtocolKind) -> Database {
    let db = Options::new().protocol(protocol).in_memory().expect("opens");
    db.execute_script(
        "CREATE TABLE t (id int PRIMARY KEY, v int NOT NULL, u int UNIQUE);
         INSERT INTO t SELECT i, 0, 10 * i FROM generate_series(1, 9) AS i;",
    )
    .expect("the schema is accepted");
    db
}

fn session(db: &Database) -> Session {
    db.session().expect("a seat")
}

fn run(session: &mut Session, script: &str) {
    session.execute_script(script).unwrap_or_else(|e| panic!("{script}: {e}"));
}

fn int(session: &mut Session, sql: &str) -> i64 {
    session.query(sql, ()).unwrap_or_else(|e| panic!("{sql}: {e}"))[0].get::<i64>(0).expect("a number")
}

fn state<T: std::fmt::Debug>(outcome: Result<T, Error>) -> SqlState {
    outcome.expect_err("an error").sqlstate()
}

/// How long whoever is taken to wait is watched.
const WATCHED: Duration = Duration::from_millis(20);

type Running<'s> = ScopedJoinHandle<'s, (Result<(), Error>, Session)>;

/// Runs a script on another thread; the receiver hears of its end.
fn start<'s, 'e>(
    scope: &'s Scope<'s, 'e>,
    mut session: Session,
    script: &'s str,
) -> (Receiver<()>, Running<'s>) {
    let (tell, told) = channel();
    let thread = scope.spawn(move || {
        let outcome = session.execute_script(script);
        tell.send(()).expect("somebody listens");
        (outcome, session)
    });
    (told, thread)
}

/// They all wait, and nobody else does.
fn wait<const N: usize>(db: &Database, told: [&Receiver<()>; N]) {
    let until = Instant::now() + Duration::from_secs(30);
    let waiting = "SELECT count(*) FROM pg_locks WHERE NOT granted";
    while db.query(waiting, ()).expect("reads")[0].get::<i64>(0).expect("a number") != N as i64 {
        assert!(Instant::now() < until, "they should wait");
        std::thread::sleep(Duration::from_millis(1));
    }
    go_on(told, WATCHED);
}

/// None of them has ended after so long.
fn go_on<const N: usize>(told: [&Receiver<()>; N], watched: Duration) {
    std::thread::sleep(watched);
    assert!(told.iter().all(|told| told.try_recv().is_err()), "it should wait");
}

fn the_second_to_change_a_row_waits_and_goes_on(protocol: ProtocolKind) {
    let db = db(protocol);
    let (mut a, b) = (session(&db), session(&db));
    run(&mut a, "BEGIN; UPDATE t SET v = v + 1 WHERE id = 1");
    std::thread::scope(|scope| {
        let (told, thread) = start(scope, b, "BEGIN; UPDATE t SET v = v + 10 WHERE id = 1; COMMIT");
        wait(&db, [&told]);
        run(&mut a, "UPDATE t SET v = v + 1 WHERE id = 1; COMMIT");
        thread.join().expect("no panic").0.expect("it goes on");
    });
    assert_eq!(int(&mut a, "SELECT v FROM t WHERE id = 1"), 12);
    // After a rollback, too; and a row that is gone is no row.
    let b = session(&db);
    run(&mut a, "BEGIN; UPDATE t SET v = 0 WHERE id = 1");
    std::thread::scope(|scope| {
        let (told, thread) = start(scope, b, "BEGIN; DELETE FROM t WHERE v = 12");
        wait(&db, [&told]);
        run(&mut a, "ROLLBACK");
        let (outcome, mut b) = thread.join().expect("no panic");
        outcome.expect("it goes on");
        let (told, thread) = start(scope, session(&db), "BEGIN; UPDATE t SET v = 1 WHERE id = 1; COMMIT");
        wait(&db, [&told]);
        run(&mut b, "COMMIT");
        thread.join().expect("no panic").0.expect("nothing to change");
    });
    assert_eq!(int(&mut a, "SELECT count(*) FROM t WHERE id = 1"), 0);
}

fn what_was_read_without_a_claim_must_still_hold(protocol: ProtocolKind) {
    let db = db(protocol);
    let (mut a, mut b) = (session(&db), session(&db));
    run(&mut a, "BEGIN; SELECT v FROM t WHERE id = 1");
    run(&mut b, "UPDATE t SET v = 5 WHERE id = 1");
    let error = a.execute("UPDATE t SET v = v + 1 WHERE id = 1", ()).expect_err("it was changed");
    assert_eq!(
        (error.sqlstate(), error.message()),
        (SqlState::SERIALIZATION_FAILURE, "could not serialize access due to concurrent update")
    );
    // It has no claim.
    run(&mut a, "ROLLBACK");
    run(&mut b, "BEGIN; UPDATE t SET v = 6 WHERE id = 1; COMMIT");
    // One that would wait in vain hears of it when its turn comes.
    run(&mut a, "BEGIN; SELECT v FROM t WHERE id = 1");
    run(&mut b, "BEGIN; UPDATE t SET v = 7 WHERE id = 1");
    std::thread::scope(|scope| {
        let (told, thread) = start(scope, a, "UPDATE t SET v = v + 1 WHERE id = 1");
        wait(&db, [&told]);
        run(&mut b, "COMMIT");
        let (outcome, _) = thread.join().expect("no panic");
        assert_eq!(state(outcome), SqlState::SERIALIZATION_FAILURE);
    });
}

fn of_two_that_wait_for_each_other_one_is_told(protocol: ProtocolKind) {
    let db = db(protocol);
    let (mut a, mut b) = (session(&db), session(&db));
    run(&mut a, "BEGIN; UPDATE t SET v = v + 1 WHERE id = 1");
    run(&mut b, "BEGIN; UPDATE t SET v = v + 10 WHERE id = 2");
    std::thread::scope(|scope| {
        let (told, thread) = start(scope, b, "UPDATE t SET v = v + 10 WHERE id = 1; COMMIT");
        wait(&db, [&told]);
        let error = a.execute("UPDATE t SET v = v + 1 WHERE id = 2", ()).expect_err("a ring");
        assert_eq!((error.sqlstate(), error.message()), (SqlState::DEADLOCK_DETECTED, "deadlock detected"));
        let detail = error.fields().detail.clone().expect("who waits for whom");
        assert_eq!(detail.lines().count(), 2, "{detail}");
        assert!(detail.contains("waits for ExclusiveLock on a row of relation \"t\"; blocked by process"));
        // The other need not wait for the ROLLBACK.
        thread.join().expect("no panic").0.expect("it goes on");
    });
    assert_eq!(state(a.execute("SELECT 1", ())), SqlState::IN_FAILED_SQL_TRANSACTION);
    run(&mut a, "ROLLBACK");
    assert_eq!(int(&mut a, "SELECT sum(v) FROM t"), 20);
}

fn a_savepoint_does_not_bring_a_deadlocked_transaction_back(protocol: ProtocolKind) {
    let db = db(protocol);
    let (mut a, mut b) = (session(&db), session(&db));
    run(&mut a, "BEGIN; UPDATE t SET v = 1 WHERE id = 1; SAVEPOINT s");
    run(&mut b, "BEGIN; UPDATE t SET v = 2 WHERE id = 2");
    std::thread::scope(|scope| {
        let (told, thread) = start(scope, b, "UPDATE t SET v = 2 WHERE id = 1; COMMIT");
        wait(&db, [&told]);
        let ring = a.execute("UPDATE t SET v = 1 WHERE id = 2", ());
        assert_eq!(state(ring), SqlState::DEADLOCK_DETECTED);
        thread.join().expect("no panic").0.expect("it goes on");
    });
    run(&mut a, "ROLLBACK TO s");
    assert_eq!(state(a.execute("SELECT 1", ())), SqlState::IN_FAILED_SQL_TRANSACTION);
    run(&mut a, "ROLLBACK");
    assert_eq!(int(&mut a, "SELECT sum(v) FROM t"), 4);
}

fn patience_ends(protocol: ProtocolKind) {
    let db = db(protocol);
    let (mut a, mut b) = (session(&db), session(&db));
    run(&mut a, "BEGIN; UPDATE t SET v = 1 WHERE id = 1");
    run(&mut b, "SET lock_timeout = 30");
    for begin in ["BEGIN", "SELECT 1"] {
        run(&mut b, begin);
        let error = b.execute("UPDATE t SET v = 2 WHERE id = 1", ()).expect_err("nobody lets go");
        let told = (error.sqlstate().as_str().to_owned(), error.message().to_owned());
        assert_eq!(told, ("55P03".to_owned(), "canceling statement due to lock timeout".to_owned()));
        run(&mut b, "ROLLBACK");
    }
    run(&mut b, "SET lock_timeout = 0");
    let flag = Arc::new(AtomicBool::new(false));
    b.cancelled_by(&flag);
    for begin in ["BEGIN", "SELECT 1"] {
        run(&mut b, begin);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                std::thread::sleep(WATCHED);
                flag.store(true, Ordering::SeqCst);
            });
            let cancelled = b.execute("UPDATE t SET v = 2 WHERE id = 1", ());
            assert_eq!(state(cancelled), SqlState::QUERY_CANCELED);
        });
        flag.store(false, Ordering::SeqCst);
        run(&mut b, "ROLLBACK");
    }
    run(&mut a, "COMMIT");
    // Whoever gave up stands in nobody's way.
    run(&mut b, "UPDATE t SET v = 3 WHERE id = 1");
    assert_eq!(int(&mut a, "SELECT v FROM t WHERE id = 1"), 3);
}

fn statements_alone_and_calls_wait_for_blocks(protocol: ProtocolKind) {
    let db = db(protocol);
    db.execute_script(
        "CREATE PROCEDURE add(k int, n int) LANGUAGE plpgsql AS $$
         BEGIN UPDATE t SET v = v + n WHERE id = k; UPDATE t SET v = v + n WHERE id = k + 1; END $$",
    )
    .expect("a procedure");
    let mut a = session(&db);
    run(&mut a, "BEGIN; UPDATE t SET v = v + 1 WHERE id = 1");
    std::thread::scope(|scope| {
        let (alone, first) = start(scope, session(&db), "UPDATE t SET v = v + 10 WHERE id = 1");
        let (call, second) = start(scope, session(&db), "CALL add(1, 100)");
        wait(&db, [&alone, &call]);
        // Reading does not wait.
        assert_eq!(int(&mut session(&db), "SELECT v FROM t WHERE id = 1"), 0);
        run(&mut a, "UPDATE t SET v = v + 1 WHERE id = 2; COMMIT");
        first.join().expect("no panic").0.expect("it goes on");
        second.join().expect("no panic").0.expect("it goes on");
    });
    assert_eq!(int(&mut a, "SELECT v FROM t WHERE id = 1"), 111);
    assert_eq!(int(&mut a, "SELECT v FROM t WHERE id = 2"), 101);
}

/// TPC-B by hand: everybody meets on one row, and nobody fails.
fn blocks_that_meet_on_hot_rows_all_succeed(protocol: ProtocolKind) {
    let db = db(protocol);
    db.execute_script("CREATE TABLE history (k int, n int)").expect("a table");
    db.execute_script(
        "CREATE PROCEDURE add(k int) LANGUAGE plpgsql AS $$
         BEGIN UPDATE t SET v = v + 1 WHERE id = k; UPDATE t SET v = v + 1 WHERE id = 9; END $$",
    )
    .expect("a procedure");
    let calls = AtomicU32::new(0);
    std::thread::scope(|scope| {
        for client in 0..4 {
            let (db, calls) = (&db, &calls);
            scope.spawn(move || {
                let mut session = session(db);
                for turn in 0..50 {
                    let k = 1 + (client + turn) % 4;
                    if client == 0 {
                        session.call("add", (k,)).expect("calls succeed");
                        calls.fetch_add(1, Ordering::Relaxed);
                        continue;
                    }
                    let mut block = session.transaction().expect("begins");
                    block.execute("UPDATE t SET v = v + 1 WHERE id = $1", (k,)).expect("waits");
                    block.query("SELECT v FROM t WHERE id = $1", (k,)).expect("reads");
                    block.execute("UPDATE t SET v = v + 1 WHERE id = 9", ()).expect("waits");
                    block.execute("INSERT INTO history VALUES ($1, 1)", (k,)).expect("inserts");
                    block.commit().expect("nobody overtakes it");
                }
            });
        }
    });
    let mut a = session(&db);
    assert_eq!(calls.into_inner(), 50);
    assert_eq!(int(&mut a, "SELECT v FROM t WHERE id = 9"), 200);
    assert_eq!(int(&mut a, "SELECT sum(v) FROM t"), 400);
    assert_eq!(int(&mut a, "SELECT count(*) FROM history"), 150);
}

fn who_needs_a_key_waits_for_who_is_putting_it_in(protocol: ProtocolKind) {
    let db = db(protocol);
    for (table, end, expected) in [
        ("INSERT INTO t VALUES (20, 1, 200)", "COMMIT", Some(SqlState::UNIQUE_VIOLATION)),
        ("INSERT INTO t VALUES (21, 1, 210)", "ROLLBACK", None),
    ] {
        let mut a = session(&db);
        run(&mut a, &format!("BEGIN; {table}"));
        std::thread::scope(|scope| {
            let (in_block, first) = start(scope, session(&db), Box::leak(format!("BEGIN; {table}").into()));
            wait(&db, [&in_block]);
            run(&mut a, end);
            let (outcome, mut b) = first.join().expect("no panic");
            assert_eq!(outcome.err().map(|e| e.sqlstate()), expected);
            if expected.is_none() {
                let (alone, second) = start(scope, session(&db), table);
                wait(&db, [&alone]);
                run(&mut b, "COMMIT");
                assert_eq!(state(second.join().expect("no panic").0), SqlState::UNIQUE_VIOLATION);
            }
        });
    }
    assert_eq!(int(&mut session(&db), "SELECT count(*) FROM t WHERE id >= 20"), 2);
    // ON CONFLICT finds the row that it waited for.
    let upsert =
        "BEGIN; INSERT INTO t VALUES (30, 1, 300) ON CONFLICT (id) DO UPDATE SET v = t.v + 1; COMMIT";
    let mut a = session(&db);
    run(&mut a, "BEGIN; INSERT INTO t VALUES (30, 1, 300)");
    std::thread::scope(|scope| {
        let (told, thread) = start(scope, session(&db), upsert);
        wait(&db, [&told]);
        run(&mut a, "COMMIT");
        thread.join().expect("no panic").0.expect("it goes on");
    });
    assert_eq!(int(&mut a, "SELECT v FROM t WHERE id = 30"), 2);
}

fn a_schema_change_overtakes_who_waits(protocol: ProtocolKind) {
    let db = db(protocol);
    let mut a = session(&db);
    run(&mut a, "BEGIN; UPDATE t SET v = 1 WHERE id = 1");
    std::thread::scope(|scope| {
        let (in_block, first) = start(scope, session(&db), "BEGIN; UPDATE t SET v = 2 WHERE id = 1; COMMIT");
        let (alone, second) = start(scope, session(&db), "UPDATE t SET v = v + 3 WHERE id = 1");
        wait(&db, [&in_block, &alone]);
        run(&mut session(&db), "ALTER TABLE t ADD COLUMN w int DEFAULT 4");
        assert_eq!(state(a.execute_script("COMMIT")), SqlState::SERIALIZATION_FAILURE);
        assert_eq!(state(first.join().expect("no panic").0), SqlState::SERIALIZATION_FAILURE);
        second.join().expect("no panic").0.expect("it begins anew");
    });
    assert_eq!(int(&mut a, "SELECT v + w FROM t WHERE id = 1"), 7);
}

fn savepoints_let_go_of_claims_and_undo_writes(protocol: ProtocolKind) {
    for level in ["READ COMMITTED", "REPEATABLE READ", "SERIALIZABLE"] {
        let db = db(protocol);
        let (mut a, mut b) = (session(&db), session(&db));
        run(&mut a, &format!("BEGIN ISOLATION LEVEL {level}; UPDATE t SET v = 1 WHERE id = 3; SAVEPOINT s"));
        run(
            &mut a,
            "UPDATE t SET v = 1 WHERE id = 1; UPDATE t SET v = 2 WHERE id = 1; DELETE FROM t WHERE id = 2",
        );
        run(&mut a, "SELECT u FROM t WHERE id = 4 FOR UPDATE");
        std::thread::scope(|scope| {
            // Who waits goes on at once; what was locked before the savepoint stays so.
            let change = "BEGIN; UPDATE t SET v = v + 7 WHERE id IN (1, 2, 4); COMMIT";
            let (told, thread) = start(scope, session(&db), change);
            wait(&db, [&told]);
            run(&mut a, "ROLLBACK TO s");
            thread.join().expect("no panic").0.expect("it goes on");
        });
        let refused = b.query("SELECT v FROM t WHERE id = 3 FOR UPDATE NOWAIT", ());
        assert_eq!(state(refused), SqlState::LOCK_NOT_AVAILABLE, "{level}");
        // As in PostgreSQL, what has changed since can be changed again by who reads what is committed.
        let again = a.execute("UPDATE t SET v = v + 5 WHERE id = 2", ());
        if level != "READ COMMITTED" {
            assert_eq!(state(again), SqlState::SERIALIZATION_FAILURE);
            run(&mut a, "ROLLBACK");
            continue;
        }
        again.unwrap_or_else(|error| panic!("{level}: {error}"));
        let refused = b.query("SELECT v FROM t WHERE id = 2 FOR UPDATE NOWAIT", ());
        assert_eq!(state(refused), SqlState::LOCK_NOT_AVAILABLE, "{level}");
        run(&mut a, "COMMIT");
        assert_eq!(int(&mut a, "SELECT v FROM t WHERE id = 1"), 7, "{level}");
        assert_eq!(int(&mut a, "SELECT v FROM t WHERE id = 2"), 12, "{level}");
        assert_eq!(int(&mut a, "SELECT v FROM t WHERE id = 3"), 1, "{level}");
        assert_eq!(int(&mut a, "SELECT count(*) FROM pg_locks"), 0);
        db.check().expect("whole");
    }
}

/// Keys that were put into indexes stay there until the transaction ends, and with them the claim on their row: who wants the
/// row, and the keys, waits.
fn a_row_whose_keys_were_to_change_stays_claimed(protocol: ProtocolKind) {
    let db = db(protocol);
    let mut a = session(&db);
    run(&mut a, "CREATE INDEX ON t (v); BEGIN; SAVEPOINT s");
    run(&mut a, "SELECT v FROM t WHERE id = 1 FOR KEY SHARE");
    run(&mut a, "UPDATE t SET v = 5 WHERE id = 1; UPDATE t SET u = 77 WHERE id = 2; ROLLBACK TO s");
    std::thread::scope(|scope| {
        let (first, one) = start(scope, session(&db), "UPDATE t SET v = 5 WHERE id = 1");
        let (second, two) = start(scope, session(&db), "BEGIN; UPDATE t SET u = 77 WHERE id = 2; COMMIT");
        wait(&db, [&first, &second]);
        run(&mut a, "UPDATE t SET v = 6 WHERE id = 1; COMMIT");
        one.join().expect("no panic").0.expect("it goes on");
        two.join().expect("no panic").0.expect("it goes on");
    });
    assert_eq!(int(&mut a, "SELECT id FROM t WHERE u = 77"), 2);
    assert_eq!(int(&mut a, "SELECT count(*) FROM t WHERE v = 5"), 1);
    db.check().expect("whole");
}

/// A claim that was raised after the savepoint is as strong as before again; an error lets go at once, and so does an
/// exception that is caught.
fn what_was_raised_since_a_savepoint_is_lowered(protocol: ProtocolKind) {
    let db = db(protocol);
    let (mut a, mut b) = (session(&db), session(&db));
    let conflicts = |b: &mut Session, clause: &str| {
        let outcome = b.query(&format!("SELECT v FROM t WHERE id = 1 FOR {clause} NOWAIT"), ());
        outcome.is_err_and(|error| error.sqlstate() == SqlState::LOCK_NOT_AVAILABLE)
    };
    let raise = "SELECT v FROM t WHERE id = 1 FOR SHARE; SAVEPOINT s; SELECT v FROM t WHERE id = 1 FOR UPDATE; \
                 SAVEPOINT second; SELECT v FROM t WHERE id = 5 FOR UPDATE";
    for (undo, reopen) in [("ROLLBACK TO s", ""), ("SELECT 1 / 0", "ROLLBACK TO s")] {
        run(&mut a, "BEGIN");
        run(&mut a, raise);
        assert!(conflicts(&mut b, "KEY SHARE") && conflicts(&mut b, "SHARE"));
        // The error undoes the inner savepoint alone.
        let fails = a.execute_script(undo).is_err();
        assert_eq!(conflicts(&mut b, "KEY SHARE"), fails);
        run(&mut a, reopen);
        assert!(!conflicts(&mut b, "SHARE") && conflicts(&mut b, "NO KEY UPDATE"), "{undo}");
        run(
            &mut a,
            "UPDATE t SET v = 1 WHERE id = 1; SAVEPOINT r; UPDATE t SET id = 11 WHERE id = 1; ROLLBACK TO r",
        );
        assert!(!conflicts(&mut b, "KEY SHARE") && conflicts(&mut b, "SHARE"), "{undo}");
        run(&mut a, "ROLLBACK");
    }
    run(
        &mut a,
        "BEGIN; DO $$ BEGIN
           BEGIN UPDATE t SET v = 1 WHERE id = 1; RAISE EXCEPTION 'no'; EXCEPTION WHEN OTHERS THEN NULL; END;
           UPDATE t SET v = 2 WHERE id = 2;
         END $$",
    );
    run(&mut b, "BEGIN; UPDATE t SET v = v + 3 WHERE id = 1; COMMIT");
    run(&mut a, "COMMIT");
    assert_eq!(int(&mut a, "SELECT sum(v) FROM t WHERE id < 3"), 5);
}

fn a_session_that_goes_away_lets_go(protocol: ProtocolKind) {
    let db = db(protocol);
    let mut a = session(&db);
    run(&mut a, "BEGIN; UPDATE t SET v = 1 WHERE id = 1; INSERT INTO t VALUES (40, 0, 400)");
    std::thread::scope(|scope| {
        let (told, thread) = start(scope, session(&db), "BEGIN; UPDATE t SET v = 2 WHERE id = 1; COMMIT");
        let (inserts, other) = start(scope, session(&db), "INSERT INTO t VALUES (40, 1, 400)");
        wait(&db, [&told, &inserts]);
        drop(a);
        thread.join().expect("no panic").0.expect("it goes on");
        other.join().expect("no panic").0.expect("it goes on");
    });
    assert_eq!(int(&mut session(&db), "SELECT v FROM t WHERE id = 1"), 2);
    db.check().expect("whole");
}

fn rows_read_for_update_are_claimed(protocol: ProtocolKind) {
    let db = db(protocol);
    let (mut a, mut b) = (session(&db), session(&db));
    run(&mut a, "BEGIN");
    assert_eq!(int(&mut a, "SELECT v FROM t WHERE id = 1 FOR NO KEY UPDATE"), 0);
    run(&mut b, "BEGIN");
    for query in [
        "SELECT v FROM t WHERE id = 1 FOR UPDATE NOWAIT",
        "SELECT a.v FROM t AS a JOIN t AS b ON a.id = b.id + 1 ORDER BY a.u DESC FOR UPDATE OF b NOWAIT",
    ] {
        let error = b.query(query, ()).expect_err("it is taken");
        assert_eq!(error.sqlstate(), SqlState::LOCK_NOT_AVAILABLE);
        assert_eq!(error.message(), "could not obtain lock on row in relation \"t\"");
        run(&mut b, "ROLLBACK; BEGIN");
    }
    // A statement alone claims nothing, but is told as well; reading waits for nobody, nor does what asks for the key.
    let refused = session(&db).query("SELECT v FROM t WHERE id = 1 FOR UPDATE NOWAIT", ());
    assert_eq!(state(refused), SqlState::LOCK_NOT_AVAILABLE);
    for clause in ["", "FOR KEY SHARE"] {
        assert_eq!(int(&mut b, &format!("SELECT v FROM t WHERE id = 1 {clause}")), 0);
    }
    run(&mut b, "COMMIT");
    std::thread::scope(|scope| {
        let (told, thread) = start(
            scope,
            b,
            "BEGIN; SELECT v FROM t ORDER BY u LIMIT 2 FOR UPDATE; UPDATE t SET v = v + 1 WHERE id < 3; COMMIT",
        );
        wait(&db, [&told]);
        run(&mut a, "UPDATE t SET v = v + 10 WHERE id = 1; COMMIT");
        thread.join().expect("no panic").0.expect("it goes on");
    });
    assert_eq!(int(&mut a, "SELECT 100 * max(v) + sum(v) FROM t"), 1112);
}

fn what_is_behind_the_limit_is_not_claimed(protocol: ProtocolKind) {
    let db = db(protocol);
    let (mut a, mut b) = (session(&db), session(&db));
    let next = |order: &str| format!("SELECT id FROM t ORDER BY {order} LIMIT 1 FOR UPDATE SKIP LOCKED");
    run(&mut a, "BEGIN");
    run(&mut b, "BEGIN");
    assert_eq!([int(&mut a, &next("id")), int(&mut b, &next("id"))], [1, 2]);
    assert_eq!([int(&mut a, &next("v, u DESC")), int(&mut b, &next("v, u DESC"))], [9, 8]);
    assert_eq!(int(&mut a, "SELECT count(*) FROM (SELECT id FROM t FOR UPDATE SKIP LOCKED) AS s"), 7);
    run(&mut a, "UPDATE t SET v = 1 WHERE id IN (1, 9); COMMIT");
    run(&mut b, "UPDATE t SET v = 1 WHERE id IN (2, 8); COMMIT");
    assert_eq!(int(&mut a, "SELECT sum(v) FROM t"), 4);
}

/// A queue: several take jobs out, while others put new ones in. Nobody waits, nobody fails, no job is
/// done twice.
fn a_queue_with_skip_locked_gives_each_job_to_one(protocol: ProtocolKind) {
    const JOBS: i64 = 120;
    let db = Options::new().protocol(protocol).in_memory().expect("opens");
    db.execute_script(
        "CREATE TABLE jobs (id int PRIMARY KEY, state text NOT NULL, runs int NOT NULL DEFAULT 0);
         CREATE INDEX ON jobs (state, id);",
    )
    .expect("a table");
    let take = "UPDATE jobs SET state = 'done', runs = runs + 1 WHERE id =
                (SELECT id FROM jobs WHERE state = 'new' ORDER BY id LIMIT 1 FOR UPDATE SKIP LOCKED) RETURNING id";
    let done = AtomicU32::new(0);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let mut session = session(&db);
            for id in 0..JOBS {
                session.execute("INSERT INTO jobs VALUES ($1, 'new')", (id,)).expect("put in");
            }
        });
        for _ in 0..3 {
            scope.spawn(|| {
                let mut session = session(&db);
                while i64::from(done.load(Ordering::Relaxed)) < JOBS {
                    let mut block = session.transaction().expect("begins");
                    let taken = block.query(take, ()).expect("nobody fails");
                    let count = (&taken).into_iter().count() as u32;
                    block.commit().expect("nobody fails");
                    done.fetch_add(count, Ordering::Relaxed);
                }
            });
        }
    });
    let mut session = session(&db);
    assert_eq!(int(&mut session, "SELECT count(*) FROM jobs WHERE runs = 1 AND state = 'done'"), JOBS);
}

fn locking_clauses_that_mean_nothing_are_refused(protocol: ProtocolKind) {
    let db = db(protocol);
    for (query, message) in [
        ("SELECT DISTINCT v FROM t FOR UPDATE", "FOR UPDATE is not allowed with DISTINCT clause"),
        ("SELECT v FROM t GROUP BY v FOR SHARE", "FOR SHARE is not allowed with GROUP BY clause"),
        ("SELECT count(*) FROM t FOR UPDATE", "FOR UPDATE is not allowed with aggregate functions"),
        ("SELECT 1 FROM t HAVING true FOR UPDATE", "FOR UPDATE is not allowed with HAVING clause"),
        ("SELECT row_number() OVER () FROM t FOR UPDATE", "FOR UPDATE is not allowed with window functions"),
        (
            "SELECT 1 FROM t UNION SELECT 2 FOR NO KEY UPDATE",
            "FOR NO KEY UPDATE is not allowed with UNION/INTERSECT/EXCEPT",
        ),
        ("VALUES (1) FOR UPDATE", "FOR UPDATE cannot be applied to VALUES"),
        (
            "SELECT 1 FROM t AS a FOR UPDATE OF t",
            "relation \"t\" in FOR UPDATE clause not found in FROM clause",
        ),
    ] {
        let error = db.query(query, ()).expect_err(query);
        assert_eq!(error.message(), message);
    }
}

/// Long enough to go on in a snapshot, where nobody has claimed anything.
fn long_statements_see_claims_too(protocol: ProtocolKind) {
    let db = db(protocol);
    let (mut a, mut b) = (session(&db), session(&db));
    run(&mut a, "BEGIN; UPDATE t SET v = 1 WHERE id <= 3");
    let long =
        "SELECT id FROM t WHERE (SELECT count(*) FROM generate_series(1, 20000 + t.id)) > 0 FOR UPDATE";
    let skipping = format!("{long} SKIP LOCKED");
    assert_eq!(b.query(&skipping, ()).expect("rows").len(), 6);
    assert_eq!(state(b.query(&format!("{long} NOWAIT"), ())), SqlState::LOCK_NOT_AVAILABLE);
    run(
        &mut b,
        "CREATE FUNCTION free() RETURNS bigint LANGUAGE plpgsql AS $$
         DECLARE n bigint := 0; r int;
         BEGIN
             FOR i IN 1..200000 LOOP NULL; END LOOP;
             FOR r IN SELECT id FROM t FOR UPDATE SKIP LOCKED LOOP n := n + 1; END LOOP;
             RETURN n;
         END $$",
    );
    run(&mut a, "ROLLBACK; BEGIN; UPDATE t SET v = 1 WHERE id <= 3");
    assert_eq!(int(&mut b, "SELECT free()"), 6);
    assert_eq!(b.call("free", ()).expect("a number")[0].get::<i64>(0), Ok(6));
}

/// The statement of a client's making that ends the engine's thread: nobody waits for it for ever.
fn a_session_that_panics_lets_go(protocol: ProtocolKind) {
    struct Panics;
    impl planaria::serving::RowSink for Panics {
        fn restart(&mut self) {}
        fn row(&mut self, _row: planaria::serving::RowRef<'_>) -> Result<(), Error> {
            panic!("on purpose")
        }
    }
    let db = db(protocol);
    let (mut a, mut b) = (session(&db), session(&db));
    run(&mut a, "BEGIN; UPDATE t SET v = 1 WHERE id = 1");
    std::thread::scope(|scope| {
        // Whether it waits for the other before its rows come, or after, is the engine's to say.
        let thread = scope.spawn(move || {
            let update = b.prepare("UPDATE t SET v = v + 1 WHERE id = 1 RETURNING v").expect("prepares");
            let outcome = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
                b.start(&update, &(), &mut Panics).map(|_| ())
            }));
            drop(b);
            outcome.is_err()
        });
        std::thread::sleep(Duration::from_millis(60));
        run(&mut a, "COMMIT");
        assert!(thread.join().expect("it was caught"));
    });
    let mut c = session(&db);
    run(&mut c, "SET lock_timeout = '10s'; BEGIN; UPDATE t SET v = v + 1 WHERE id = 1; COMMIT");
    assert_eq!(int(&mut c, "SELECT v FROM t WHERE id = 1"), 2);
    db.check().expect("rows and indexes agree");
}

fn pg_locks_has_who_holds_and_who_waits(protocol: ProtocolKind) {
    let db = db(protocol);
    let (mut a, mut asks) = (session(&db), session(&db));
    run(&mut a, "BEGIN; UPDATE t SET v = 1 WHERE id = 1; INSERT INTO t VALUES (50, 0, 500)");
    std::thread::scope(|scope| {
        let (told, first) = start(scope, session(&db), "BEGIN; UPDATE t SET v = 2 WHERE id = 1; COMMIT");
        let (inserts, second) = start(
            scope,
            session(&db),
            "BEGIN; INSERT INTO t VALUES (50, 0, 500) ON CONFLICT DO NOTHING; COMMIT",
        );
        wait(&db, [&told, &inserts]);
        let shown = asks
            .query(
                "SELECT string_agg(concat_ws(' ', locktype, relation::regclass, mode, granted), '; '
                                   ORDER BY locktype, granted)
                 FROM pg_locks WHERE locktype <> 'relation'",
                (),
            )
            .expect("rows")[0]
            .get::<String>(0)
            .expect("a text");
        assert_eq!(shown, "transactionid ShareLock f; tuple t ExclusiveLock f; tuple t ExclusiveLock t");
        let pids = asks.query("SELECT count(DISTINCT pid) FROM pg_locks WHERE pid > 0", ()).expect("a row");
        assert_eq!(pids[0].get::<i64>(0), Ok(3));
        run(&mut a, "ROLLBACK");
        first.join().expect("no panic").0.expect("it goes on");
        second.join().expect("no panic").0.expect("it goes on");
    });
    assert_eq!(int(&mut asks, "SELECT count(*) FROM pg_locks"), 0);
}

fn a_schema_change_overtakes_who_sleeps(protocol: ProtocolKind) {
    let db = db(protocol);
    let mut changes = session(&db);
    let naps = "CREATE FUNCTION nap() RETURNS int LANGUAGE plpgsql AS $$
                BEGIN PERFORM count(*) FROM t; PERFORM pg_sleep(3); RETURN 1; END $$";
    run(&mut changes, naps);
    std::thread::scope(|scope| {
        let (sleeps, first) = start(scope, session(&db), "SELECT pg_sleep(3)");
        let (reads, second) = start(scope, session(&db), "SELECT nap()");
        // As long as it takes them to fall asleep.
        go_on([&sleeps, &reads], Duration::from_millis(500));
        run(&mut changes, "CREATE TABLE meanwhile (n int)");
        assert!(sleeps.try_recv().is_err() && reads.try_recv().is_err(), "both still sleep");
        first.join().expect("no panic").0.expect("it needs no table");
        // What it has read may be of a table that is no more.
        let (outcome, mut session) = second.join().expect("no panic");
        assert_eq!(state(outcome), SqlState::SERIALIZATION_FAILURE);
        assert_eq!(int(&mut session, "SELECT nap()"), 1);
    });
    // A schema change that sleeps itself.
    run(&mut changes, "CREATE TABLE slow AS SELECT 1 AS n, pg_sleep(0.01) IS NULL AS slept");
    assert_eq!(int(&mut changes, "SELECT count(*) FROM slow"), 1);
}

/// A foreign key asks only that the parent is there, as PostgreSQL's FOR KEY SHARE does.
fn a_busy_parent_does_not_fail_its_children(protocol: ProtocolKind) {
    let db = db(protocol);
    let (mut a, mut b) = (session(&db), session(&db));
    run(&mut a, "CREATE TABLE child (n int PRIMARY KEY, t int NOT NULL REFERENCES t)");
    run(&mut a, "BEGIN; INSERT INTO child VALUES (1, 1)");
    run(&mut b, "UPDATE t SET v = v + 1 WHERE id = 1");
    run(&mut a, "UPDATE child SET t = 2 WHERE n = 1");
    run(&mut b, "UPDATE t SET v = v + 1; BEGIN; UPDATE t SET v = 0 WHERE id = 2");
    run(&mut a, "COMMIT");
    run(&mut b, "COMMIT");
    assert_eq!(int(&mut a, "SELECT count(*) FROM child LEFT JOIN t ON t.id = child.t WHERE t.id IS NULL"), 0);
    // Only what is asked of it: its columns are another matter.
    run(&mut a, "BEGIN; INSERT INTO child SELECT 4, id FROM t WHERE id = 5 AND v < 9");
    run(&mut b, "UPDATE t SET v = 10 WHERE id = 5");
    assert_eq!(state(a.execute_script("COMMIT")), SqlState::SERIALIZATION_FAILURE);
}

/// Who takes a parent away waits for those that refer to it, and they for who takes it away; the key of a parent is what
/// they share.
fn who_takes_a_parent_away_and_its_children_wait_for_each_other(protocol: ProtocolKind) {
    for level in ["READ COMMITTED", "REPEATABLE READ", "SERIALIZABLE"] {
        let db = db(protocol);
        let mut a = session(&db);
        run(
            &mut a,
            "CREATE TABLE child (n int PRIMARY KEY, t int NOT NULL REFERENCES t, u int REFERENCES t (u));
             CREATE PROCEDURE take(i int) LANGUAGE plpgsql AS $$ BEGIN DELETE FROM t WHERE id = i; END $$",
        );
        let begin = format!("BEGIN ISOLATION LEVEL {level}");
        let take_in_block = format!("{begin}; DELETE FROM t WHERE id = 3; COMMIT");
        for (child, end) in [("(1, 3, NULL)", "COMMIT"), ("(1, 4, 30)", "COMMIT"), ("(1, 3, 30)", "ROLLBACK")]
        {
            for take in ["DELETE FROM t WHERE id = 3", "CALL take(3)", &take_in_block] {
                run(&mut a, "DELETE FROM child; INSERT INTO t VALUES (3, 0, 30) ON CONFLICT DO NOTHING");
                run(&mut a, &format!("{begin}; INSERT INTO child VALUES {child}"));
                std::thread::scope(|scope| {
                    let (told, thread) = start(scope, session(&db), take);
                    wait(&db, [&told]);
                    run(&mut a, end);
                    let (outcome, mut b) = thread.join().expect("no panic");
                    run(&mut b, "ROLLBACK");
                    match end {
                        "COMMIT" => assert_eq!(state(outcome), SqlState::FOREIGN_KEY_VIOLATION, "{level}"),
                        _ => outcome.expect("nobody refers to it"),
                    }
                });
            }
        }
        let put_in_block = format!("{begin}; INSERT INTO child VALUES (2, 4, NULL); COMMIT");
        for (end, put) in [("ROLLBACK", "INSERT INTO child VALUES (1, 4, NULL)"), ("COMMIT", &put_in_block)] {
            run(&mut a, &format!("DELETE FROM child; {begin}; DELETE FROM t WHERE id = 4"));
            std::thread::scope(|scope| {
                let (told, thread) = start(scope, session(&db), put);
                wait(&db, [&told]);
                run(&mut a, end);
                let outcome = thread.join().expect("no panic").0;
                match end {
                    "COMMIT" => assert_eq!(state(outcome), SqlState::FOREIGN_KEY_VIOLATION, "{level}"),
                    _ => outcome.expect("its parent is still there"),
                }
            });
        }
        assert_eq!(int(&mut a, "SELECT count(*) FROM child c WHERE c.t NOT IN (SELECT id FROM t)"), 0);
        // Below SERIALIZABLE nothing rests on a parent whose child was undone.
        if level != "SERIALIZABLE" {
            run(&mut a, &format!("{begin}; SAVEPOINT s; INSERT INTO child VALUES (7, 7, 80); ROLLBACK TO s"));
            run(&mut session(&db), "DELETE FROM t WHERE id IN (7, 8)");
            run(&mut a, "UPDATE t SET v = 9 WHERE id = 9; COMMIT");
        }
        db.check().expect("whole");
    }
}

/// The strengths of row locks, from the weakest.
const STRENGTHS: [&str; 4] = ["KEY SHARE", "SHARE", "NO KEY UPDATE", "UPDATE"];

/// PostgreSQL's table: whether two transactions can have a row with these.
fn conflict(held: &str, wanted: &str) -> bool {
    let at = |strength| STRENGTHS.iter().position(|s| *s == strength).expect("one of four");
    at(held) + at(wanted) >= 3
}

fn row_locks_conflict_as_postgresqls_do(protocol: ProtocolKind) {
    let db = db(protocol);
    let (mut a, mut b) = (session(&db), session(&db));
    run(&mut b, "SET lock_timeout = 10");
    let locks = |strength, how| format!("SELECT id FROM t WHERE id = 1 FOR {strength} {how}");
    for held in STRENGTHS {
        run(&mut a, &format!("BEGIN; {}", locks(held, "")));
        for wanted in STRENGTHS {
            let conflicts = conflict(held, wanted);
            // In a block and alone.
            for begin in ["BEGIN", "SELECT 1"] {
                run(&mut b, begin);
                let passed = b.query(&locks(wanted, "SKIP LOCKED"), ()).expect("passes over").is_empty();
                assert_eq!(passed, conflicts, "{held}, {wanted}");
                let refused = b.query(&locks(wanted, "NOWAIT"), ()).map(drop);
                assert_eq!(refused.is_err(), conflicts, "{held}, {wanted}");
                assert!(refused.err().is_none_or(|e| e.sqlstate() == SqlState::LOCK_NOT_AVAILABLE));
                run(&mut b, "ROLLBACK");
            }
            run(&mut b, "BEGIN");
            assert_eq!(b.query(&locks(wanted, ""), ()).is_err(), conflicts, "{held}, {wanted}");
            run(&mut b, "ROLLBACK");
        }
        let changes = [
            ("UPDATE t SET v = v + 1 WHERE id = 1", "NO KEY UPDATE"),
            ("UPDATE t SET v = v, u = u, id = id WHERE id = 1", "NO KEY UPDATE"),
            ("UPDATE t SET u = u + 1 WHERE id = 1", "UPDATE"),
            ("UPDATE t SET id = id + 100 WHERE id = 1", "UPDATE"),
            ("DELETE FROM t WHERE id = 1", "UPDATE"),
        ];
        for (change, wanted) in changes {
            run(&mut b, "BEGIN");
            assert_eq!(b.execute(change, ()).is_err(), conflict(held, wanted), "{held}, {change}");
            run(&mut b, "ROLLBACK");
        }
        // A change alone waits as well, and does not where it need not.
        let alone = b.execute("UPDATE t SET v = v + 1 WHERE id = 1", ());
        assert_eq!(alone.is_err(), conflict(held, "NO KEY UPDATE"), "{held}");
        let alone = b.execute("UPDATE t SET u = u + 1 WHERE id = 1", ());
        assert_eq!(alone.map_err(|e| e.sqlstate()).is_err(), conflict(held, "UPDATE"), "{held}");
        run(&mut a, "ROLLBACK");
    }
    assert_eq!(int(&mut a, "SELECT v FROM t WHERE id = 1"), 1);
    assert_eq!(int(&mut a, "SELECT count(*) FROM pg_locks"), 0);
}

fn a_row_is_shared_until_one_wants_more(protocol: ProtocolKind) {
    let db = db(protocol);
    let (mut a, mut b, mut c) = (session(&db), session(&db), session(&db));
    let share = "BEGIN; SELECT v FROM t WHERE id = 1 FOR SHARE";
    run(&mut a, share);
    run(&mut b, share);
    let modes = "SELECT string_agg(mode || ' ' || granted, ', ' ORDER BY granted DESC, mode) FROM pg_locks
                 WHERE locktype = 'tuple'";
    let shown = |c: &mut Session| c.query(modes, ()).expect("rows")[0].get::<String>(0).expect("a text");
    assert_eq!(shown(&mut c), "RowShareLock true, RowShareLock true");
    std::thread::scope(|scope| {
        let (writes, first) = start(scope, session(&db), "UPDATE t SET v = v + 10 WHERE id = 1");
        wait(&db, [&writes]);
        assert_eq!(shown(&mut c), "RowShareLock true, RowShareLock true, ExclusiveLock false");
        // Who has the row does not wait behind the one that waits for it, but for the other that has it.
        let (raises, second) = start(scope, a, "UPDATE t SET v = v + 1 WHERE id = 1; COMMIT");
        wait(&db, [&writes, &raises]);
        run(&mut b, "COMMIT");
        second.join().expect("no panic").0.expect("it goes on");
        first.join().expect("no panic").0.expect("it goes on");
    });
    assert_eq!(int(&mut c, "SELECT v FROM t WHERE id = 1"), 11);
    // Where both want more, that is a ring.
    let (mut a, mut b) = (session(&db), session(&db));
    run(&mut a, share);
    run(&mut b, share);
    std::thread::scope(|scope| {
        let (raises, thread) = start(scope, b, "UPDATE t SET v = v + 1 WHERE id = 1; COMMIT");
        wait(&db, [&raises]);
        let ring = a.execute("UPDATE t SET v = v + 1 WHERE id = 1", ());
        assert_eq!(state(ring), SqlState::DEADLOCK_DETECTED);
        thread.join().expect("no panic").0.expect("it goes on");
    });
    assert_eq!(int(&mut c, "SELECT v FROM t WHERE id = 1"), 12);
}

/// First come, first served: those that share do not keep one that changes waiting for ever.
fn who_shares_a_row_waits_behind_who_wants_it_alone(protocol: ProtocolKind) {
    let db = db(protocol);
    let (mut a, mut b) = (session(&db), session(&db));
    run(&mut a, "BEGIN; SELECT v FROM t WHERE id = 1 FOR SHARE");
    std::thread::scope(|scope| {
        let (writes, first) = start(scope, session(&db), "BEGIN; UPDATE t SET v = 5 WHERE id = 1; COMMIT");
        wait(&db, [&writes]);
        let (shares, second) =
            start(scope, session(&db), "BEGIN; SELECT v FROM t WHERE id = 1 FOR SHARE; COMMIT");
        wait(&db, [&writes, &shares]);
        run(&mut b, "BEGIN; SELECT v FROM t WHERE id = 1 FOR KEY SHARE NOWAIT; COMMIT");
        run(&mut a, "COMMIT");
        first.join().expect("no panic").0.expect("it goes on");
        second.join().expect("no panic").0.expect("it goes on");
    });
    assert_eq!(int(&mut a, "SELECT v FROM t WHERE id = 1"), 5);
}
