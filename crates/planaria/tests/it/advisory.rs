//! Advisory locks of several sessions: who waits for whom, what repeated statements lock, what ends a wait.

use planaria::lab::LabOptions;
use planaria::{Database, Error, Options, ProtocolKind, Session, SqlState};
use planaria_sim::disk::SimDisk;
use std::sync::mpsc::{Receiver, channel};
use std::sync::{Arc, Barrier};
use std::thread;
use std::time::{Duration, Instant};

on_the_shelf! {
    a_lock_is_waited_for_wherever_it_is_asked_for
    a_session_that_goes_away_lets_go_of_its_locks
    waits_end_by_time_and_by_cancelling
    deadlocks_are_found_across_keys_rows_and_tables
    of_a_ring_one_gives_up
    repeated_statements_lock_once
    a_key_guards_a_section
    a_schema_change_waits_for_a_key_with_the_gate_closed
    a_call_that_locks_is_replayed_by_values
}

const LONG: Duration = Duration::from_secs(60);

fn db(protocol: ProtocolKind) -> Database {
    let db = Options::new().protocol(protocol).in_memory().expect("opens");
    db.execute_script(
        "CREATE TABLE t (id int PRIMARY KEY, v int NOT NULL);
         INSERT INTO t SELECT i, 0 FROM generate_series(1, 9) AS i;",
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

fn is(session: &mut Session, sql: &str) -> bool {
    session.query(sql, ()).unwrap_or_else(|e| panic!("{sql}: {e}"))[0].get::<bool>(0).expect("a boolean")
}

type Told = Receiver<(Result<(), Error>, Session)>;

/// Runs a script on another thread; its end and the session come back.
fn beside(mut session: Session, script: &'static str) -> Told {
    let (tell, told) = channel();
    thread::spawn(move || {
        let outcome = session.execute_script(script);
        let _ = tell.send((outcome, session));
    });
    told
}

fn ends(told: &Told) -> (Result<(), Error>, Session) {
    told.recv_timeout(LONG).expect("it goes on")
}

fn state(outcome: Result<(), Error>) -> SqlState {
    outcome.expect_err("an error").sqlstate()
}

/// Until a session waits for a lock of a type.
fn until_waiting(db: &Database, kind: &str) {
    let until = Instant::now() + LONG;
    let mut watcher = session(db);
    let waiting = format!("SELECT count(*) FROM pg_locks WHERE NOT granted AND locktype = '{kind}'");
    while int(&mut watcher, &waiting) != 1 {
        assert!(Instant::now() < until, "somebody should wait");
        thread::sleep(Duration::from_millis(1));
    }
}

/// In blocks, in read-only blocks, alone, in routines.
fn a_lock_is_waited_for_wherever_it_is_asked_for(protocol: ProtocolKind) {
    let db = db(protocol);
    let mut a = session(&db);
    let pid = int(&mut a, "SELECT pg_backend_pid()");
    for (take, back) in [
        ("SELECT pg_advisory_lock(1)", "SELECT pg_advisory_unlock(1)"),
        ("BEGIN; SELECT pg_advisory_xact_lock(1)", "COMMIT"),
        ("BEGIN; SELECT pg_advisory_xact_lock(1)", "ROLLBACK"),
        ("SELECT pg_advisory_lock_shared(1)", "DISCARD ALL"),
    ] {
        for script in [
            "SELECT pg_advisory_lock(1); SELECT pg_advisory_unlock(1)",
            "SELECT pg_advisory_xact_lock(1), count(*) FROM t",
            "BEGIN; UPDATE t SET v = v + 1 WHERE id = 1; SELECT pg_advisory_xact_lock(1); COMMIT",
            "BEGIN READ ONLY; SELECT count(*) FROM t; SELECT pg_advisory_xact_lock(1); COMMIT",
            "DO $$ BEGIN UPDATE t SET v = v + 1 WHERE id = 1; PERFORM pg_advisory_xact_lock(1); END $$",
        ] {
            run(&mut a, take);
            assert!(!is(&mut session(&db), "SELECT pg_try_advisory_lock(1)"), "{take}");
            let b = session(&db);
            let told = beside(b, script);
            until_waiting(&db, "advisory");
            let mut c = session(&db);
            let blocked = "SELECT pid FROM pg_locks WHERE NOT granted AND locktype = 'advisory'";
            let waits = int(&mut c, blocked);
            assert_eq!(int(&mut c, &format!("SELECT (pg_blocking_pids({waits}))[1]")), pid, "{script}");
            let test =
                |others| format!("SELECT pg_isolation_test_session_is_blocked({waits}, ARRAY[{others}])");
            assert!(is(&mut c, &test(format!("{pid}, 0"))) && !is(&mut c, &test("0".to_owned())));
            assert!(told.try_recv().is_err());
            run(&mut a, back);
            ends(&told).0.unwrap_or_else(|e| panic!("{script}: {e}"));
        }
    }
    assert_eq!(int(&mut a, "SELECT count(*) FROM pg_locks"), 0);
    assert_eq!(int(&mut a, "SELECT v FROM t WHERE id = 1"), 8);
}

fn a_session_that_goes_away_lets_go_of_its_locks(protocol: ProtocolKind) {
    let db = db(protocol);
    let mut a = session(&db);
    run(&mut a, "SELECT pg_advisory_lock(1), pg_advisory_lock(1), pg_advisory_lock_shared(2, 3)");
    let told = beside(session(&db), "SELECT pg_advisory_lock(1), pg_advisory_lock(2, 3)");
    until_waiting(&db, "advisory");
    drop(a);
    let (outcome, mut b) = ends(&told);
    outcome.expect("it goes on");
    assert_eq!(int(&mut b, "SELECT count(*) FROM pg_locks WHERE granted"), 2);
}

fn waits_end_by_time_and_by_cancelling(protocol: ProtocolKind) {
    let db = db(protocol);
    let (mut a, mut b) = (session(&db), session(&db));
    run(&mut a, "SELECT pg_advisory_lock(1)");
    for begin in ["SELECT 1", "BEGIN", "BEGIN READ ONLY"] {
        for (setting, code) in [("lock_timeout", "55P03"), ("statement_timeout", "57014")] {
            run(&mut b, begin);
            run(&mut b, &format!("SET {setting} = '30ms'"));
            let error = b.execute_script("SELECT pg_advisory_lock(1)").expect_err("it is locked");
            assert_eq!(error.sqlstate().as_str(), code, "{begin}");
            run(&mut b, "ROLLBACK");
            run(&mut b, &format!("SET {setting} = 0"));
        }
    }
    run(&mut a, "SELECT pg_advisory_unlock(1)");
    assert_eq!(int(&mut b, "SELECT count(*) FROM pg_locks"), 0, "who gave up has nothing");
    assert!(is(&mut b, "SELECT pg_try_advisory_lock(1)"));
}

fn deadlocks_are_found_across_keys_rows_and_tables(protocol: ProtocolKind) {
    let db = db(protocol);
    // What the first has and wants, and what the second has and wants: the second closes the ring.
    let key = ["BEGIN; SELECT pg_advisory_xact_lock(1)", "SELECT pg_advisory_xact_lock(1)"];
    let other = ["BEGIN; SELECT pg_advisory_xact_lock(2)", "SELECT pg_advisory_xact_lock(2)"];
    let row = ["BEGIN; UPDATE t SET v = v + 1 WHERE id = 1", "UPDATE t SET v = v + 1 WHERE id = 1"];
    let table = ["BEGIN; LOCK TABLE t IN EXCLUSIVE MODE", "LOCK TABLE t IN EXCLUSIVE MODE"];
    for [[a_has, b_wants], [b_has, a_wants]] in
        [[key, other], [key, row], [row, key], [key, table], [table, key]]
    {
        let (mut a, mut b) = (session(&db), session(&db));
        run(&mut a, a_has);
        run(&mut b, b_has);
        let (first, second) = (beside(a, a_wants), beside(b, b_wants));
        // One is told, and the other goes on at once: what cannot be committed holds nothing.
        let ((one, mut a), (two, mut b)) = (ends(&first), ends(&second));
        let error = match (one, two) {
            (Err(error), Ok(())) | (Ok(()), Err(error)) => error,
            other => panic!("{a_has}, {b_has}: {other:?}"),
        };
        assert_eq!((error.sqlstate(), error.message()), (SqlState::DEADLOCK_DETECTED, "deadlock detected"));
        let detail = error.fields().detail.clone().expect("who waits for whom");
        assert_eq!(detail.lines().count(), 2, "{detail}");
        assert!(detail.contains("on advisory lock [5,0,"), "{detail}");
        run(&mut a, "ROLLBACK");
        run(&mut b, "ROLLBACK");
    }
    assert_eq!(int(&mut session(&db), "SELECT count(*) FROM pg_locks"), 0);
}

/// Those that are part of a ring look for it at the same moments.
fn of_a_ring_one_gives_up(protocol: ProtocolKind) {
    const SESSIONS: usize = 3;
    let db = db(protocol);
    for round in 0..12 {
        let at_once = Arc::new(Barrier::new(SESSIONS));
        let threads: Vec<_> = (0..SESSIONS)
            .map(|i| {
                let (mut session, at_once) = (session(&db), at_once.clone());
                thread::spawn(move || {
                    run(&mut session, &format!("BEGIN; SELECT pg_advisory_xact_lock({i})"));
                    at_once.wait();
                    let next = (i + 1) % SESSIONS;
                    let outcome = session.execute_script(&format!("SELECT pg_advisory_xact_lock({next})"));
                    run(&mut session, "ROLLBACK");
                    outcome
                })
            })
            .collect();
        let outcomes = threads.into_iter().map(|thread| thread.join().expect("no panic"));
        let errors: Vec<SqlState> = outcomes.filter_map(Result::err).map(|error| error.sqlstate()).collect();
        assert_eq!(errors, [SqlState::DEADLOCK_DETECTED], "round {round}");
    }
}

/// A statement that meets others is repeated, and locks once.
fn repeated_statements_lock_once(protocol: ProtocolKind) {
    let db = db(protocol);
    db.execute_script(
        "CREATE PROCEDURE bump() LANGUAGE plpgsql AS $$
         BEGIN PERFORM pg_advisory_lock(7); PERFORM pg_advisory_xact_lock(8); UPDATE t SET v = v + 1 WHERE id = 1; END $$;
         CREATE PROCEDURE drop_lock() LANGUAGE plpgsql AS $$
         BEGIN PERFORM pg_advisory_unlock(7); UPDATE t SET v = v + 1 WHERE id = 1; END $$",
    )
    .expect("procedures");
    let (mut a, mut b) = (session(&db), session(&db));
    for block in [false, true] {
        for (script, held) in [("CALL bump()", 1), ("CALL bump()", 2), ("CALL drop_lock()", 1)] {
            let own = ["BEGIN; ", "; COMMIT"].map(|part| if block { part } else { "" });
            run(&mut a, "BEGIN; UPDATE t SET v = v + 1 WHERE id = 1");
            let text: &'static str = Box::leak(format!("{}{script}{}", own[0], own[1]).into());
            let told = beside(b, text);
            until_waiting(&db, "tuple");
            run(&mut a, "COMMIT");
            let (outcome, session) = ends(&told);
            outcome.expect("it goes on");
            b = session;
            let mut unlocked = 0;
            while is(&mut b, "SELECT pg_advisory_unlock(7)") {
                unlocked += 1;
            }
            assert_eq!(unlocked, held, "{text}");
            assert_eq!(int(&mut b, "SELECT count(*) FROM pg_locks"), 0);
            for _ in 0..held {
                run(&mut b, "SELECT pg_advisory_lock(7)");
            }
        }
        assert!(is(&mut b, "SELECT pg_advisory_unlock(7)"));
    }
    assert_eq!(int(&mut a, "SELECT v FROM t WHERE id = 1"), 12);
}

/// Sections between lock and unlock never overlap, although calls are repeated.
fn a_key_guards_a_section(protocol: ProtocolKind) {
    let db = db(protocol);
    db.execute_script(
        "CREATE PROCEDURE work(n int) LANGUAGE plpgsql AS $$
         BEGIN PERFORM pg_advisory_xact_lock(1); UPDATE t SET v = v + 1 WHERE id = n; END $$",
    )
    .expect("a procedure");
    thread::scope(|scope| {
        for client in 0..4 {
            let db = &db;
            scope.spawn(move || {
                let mut session = session(db);
                for turn in 0..25 {
                    match (client + turn) % 3 {
                        0 => run(&mut session, "CALL work(1)"),
                        1 => run(&mut session, "BEGIN; CALL work(1); UPDATE t SET v = v + 1 WHERE id = 2; COMMIT"),
                        _ => run(
                            &mut session,
                            "SELECT pg_advisory_lock(1); UPDATE t SET v = v + 1 WHERE id = 1; SELECT pg_advisory_unlock(1)",
                        ),
                    }
                }
            });
        }
    });
    let mut a = session(&db);
    assert_eq!(int(&mut a, "SELECT v FROM t WHERE id = 1"), 100);
    assert_eq!(int(&mut a, "SELECT count(*) FROM pg_locks"), 0);
}

/// Who changes the schema has the database to itself; what others unlock reaches it all the same.
fn a_schema_change_waits_for_a_key_with_the_gate_closed(protocol: ProtocolKind) {
    let db = db(protocol);
    let mut a = session(&db);
    run(&mut a, "SELECT pg_advisory_lock(1)");
    let told =
        beside(session(&db), "BEGIN; CREATE TABLE u (id int); SELECT pg_advisory_xact_lock(1); COMMIT");
    until_waiting(&db, "advisory");
    run(&mut a, "SELECT pg_advisory_unlock(1)");
    ends(&told).0.expect("it goes on");
    // And where the other waits for it in turn, that is a ring.
    run(&mut a, "SELECT pg_advisory_lock(1)");
    let told = beside(
        session(&db),
        "BEGIN; CREATE TABLE w (id int); DO $$ BEGIN EXECUTE 'SELECT 1'; END $$;
         SELECT pg_advisory_xact_lock(1); COMMIT",
    );
    until_waiting(&db, "advisory");
    let other = beside(a, "SELECT count(*) FROM t");
    let (outcome, _) = ends(&told);
    assert_eq!(state(outcome), SqlState::DEADLOCK_DETECTED);
    ends(&other).0.expect("it goes on");
}

/// A call that locks keys is logged by what it changed: replay locks nothing.
fn a_call_that_locks_is_replayed_by_values(protocol: ProtocolKind) {
    let disk = SimDisk::new(1);
    let db = Options::new().protocol(protocol).open_device(disk.device()).expect("opens");
    db.execute_script(
        "CREATE TABLE t (id int PRIMARY KEY, got boolean);
         CREATE PROCEDURE take(n int) LANGUAGE plpgsql AS $$
         BEGIN INSERT INTO t VALUES (n, pg_try_advisory_lock(5)); END $$",
    )
    .expect("the schema");
    let (mut a, mut b) = (session(&db), session(&db));
    run(&mut a, "CALL take(1)");
    run(&mut b, "CALL take(2)");
    drop((a, b));
    db.close().expect("closes");
    let db = Options::new().protocol(protocol).open_device(disk.device()).expect("opens again");
    let mut a = session(&db);
    assert!(is(&mut a, "SELECT got FROM t WHERE id = 1") && !is(&mut a, "SELECT got FROM t WHERE id = 2"));
    assert_eq!(int(&mut a, "SELECT count(*) FROM pg_locks"), 0);
}
