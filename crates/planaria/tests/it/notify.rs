//! LISTEN and NOTIFY: what is heard, when, in which order, and by whom.

use crate::logged::logged;
use planaria::lab::LabOptions;
use planaria::{Database, Durability, LogKind, Options, ProtocolKind, Session, SqlState};
use planaria_sim::disk::SimDisk;
use std::time::Duration;

const PATIENCE: Duration = Duration::from_secs(60);

fn heard(session: &mut Session) -> Vec<String> {
    std::iter::from_fn(|| session.notification()).map(|n| format!("{} {}", n.channel, n.payload)).collect()
}

#[test]
fn what_commits_is_heard_once_and_in_order() {
    let db = Database::in_memory().expect("opens");
    let mut listener = db.session().expect("a session");
    listener.execute_script("LISTEN a; LISTEN b").expect("listens");
    let mut session = db.session().expect("a session");
    session
        .execute_script(
            "NOTIFY a, '1';
             BEGIN; NOTIFY b, '2'; NOTIFY a, '2'; NOTIFY b, '2'; NOTIFY c, '2';
             SAVEPOINT s; NOTIFY a, 'undone'; ROLLBACK TO s; COMMIT;
             BEGIN; NOTIFY a, 'undone'; ROLLBACK;
             DO $$ BEGIN
                 BEGIN NOTIFY a, 'undone'; RAISE EXCEPTION 'x'; EXCEPTION WHEN OTHERS THEN NULL; END;
                 PERFORM pg_notify('a', '3');
             END $$",
        )
        .expect("runs");
    assert!(session.execute("DO $$ BEGIN NOTIFY a, 'undone'; PERFORM 1 / 0; END $$", ()).is_err());
    assert_eq!(heard(&mut listener), ["a 1", "b 2", "a 2", "a 3"]);
    // Not within a transaction block, and one's own, too.
    listener.execute_script("BEGIN; NOTIFY b, 'own'; NOTIFY b, 'more'").expect("runs");
    session.execute("NOTIFY a, '4'", ()).expect("runs");
    assert_eq!(listener.notification(), None);
    listener.execute("COMMIT", ()).expect("commits");
    assert_eq!(heard(&mut listener), ["a 4", "b own", "b more"]);
    listener.execute("UNLISTEN a", ()).expect("runs");
    session.execute_script("NOTIFY a; NOTIFY b").expect("runs");
    assert_eq!(heard(&mut listener), ["b "]);
}

/// A consumer that is told of a row finds it, and finds what was told in the order of the commits.
#[test]
fn whoever_is_told_finds_the_rows() {
    for kind in [ProtocolKind::Silo, ProtocolKind::Healing, ProtocolKind::Mvocc, ProtocolKind::TwoPhase] {
        let db = Options::new().protocol(kind).in_memory().expect("opens");
        db.execute_script(
            "CREATE TABLE counter (id int PRIMARY KEY, n int); INSERT INTO counter VALUES (1, 0);
             CREATE PROCEDURE count() LANGUAGE plpgsql AS $$
             DECLARE now int;
             BEGIN
                 UPDATE counter SET n = n + 1 WHERE id = 1 RETURNING n INTO now;
                 PERFORM pg_notify('counted', now::text);
             END $$",
        )
        .expect("runs");
        let listener = db.listen(["counted"]).expect("listens");
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    let mut session = db.session().expect("a session");
                    for _ in 0..100 {
                        session.call("count", ()).expect("counts");
                    }
                });
            }
            for n in 1..=400 {
                let told = listener.recv_timeout(PATIENCE).expect("is told");
                assert_eq!(told.payload, n.to_string(), "{kind:?}");
                let there = db.query("SELECT n FROM counter", ()).expect("reads")[0].get::<i32>(0);
                assert!(there.expect("a number") >= n, "{kind:?}");
            }
        });
        assert_eq!(listener.try_recv(), None, "{kind:?}");
    }
}

/// With the disk waited for, nobody is told before the commit is on it; and replay tells nobody.
#[test]
fn a_call_that_notifies_is_logged_as_a_call_and_replayed_in_silence() {
    let schema = "CREATE TABLE t (id int PRIMARY KEY, v int); CREATE SEQUENCE s;
        CREATE PROCEDURE put(p int) LANGUAGE plpgsql AS $$
        BEGIN
            INSERT INTO t VALUES (p, p * 2);
            IF p > 1 THEN PERFORM pg_notify('put', 'p ' || p); END IF;
            NOTIFY put, 'done';
        END $$;";
    assert!(logged(&format!("{schema} CALL put(3);")).iter().any(|record| record.ends_with("call")));
    let disk = SimDisk::new(7);
    let open = || {
        let options = Options::new().log(LogKind::Command).durability(Durability::Fsync);
        options.open_device(disk.device()).expect("opens")
    };
    let db = open();
    db.execute_script(schema).expect("runs");
    let listener = db.listen(["put"]).expect("listens");
    for p in 1..=3 {
        db.call("put", (p,)).expect("puts");
    }
    let told: Vec<String> =
        (0..5).map(|_| listener.recv_timeout(PATIENCE).expect("is told").payload).collect();
    assert_eq!(told, ["done", "p 2", "done", "p 3", "done"]);
    let digests = db.digests().expect("reads");
    db.close().expect("closes");
    assert_eq!(listener.recv(), None, "the database is closed");
    let db = open();
    assert_eq!(db.digests().expect("reads"), digests);
}

#[test]
fn a_pooled_session_does_not_listen() {
    let db = Database::in_memory().expect("opens");
    let refused = db.execute("LISTEN a", ()).expect_err("nobody would hear it");
    assert_eq!(refused.sqlstate(), SqlState::INVALID_PARAMETER_VALUE);
    assert!(refused.hint().is_some_and(|hint| hint.contains("Database::listen")));
    assert!(db.listen([]).is_err() && db.listen([""]).is_err());
    db.execute("NOTIFY a", ()).expect("nobody listens");
}

/// Who does not read stops those that speak, not the memory of the machine.
#[test]
fn a_listener_that_does_not_read_is_full_at_last() {
    let db = Database::in_memory().expect("opens");
    let listener = db.listen(["a"]).expect("listens");
    let fill = "SELECT count(pg_notify('a', repeat('x', 7000) || g)) FROM generate_series(1, 1000) g";
    let full = (0..20).find_map(|_| db.query(fill, ()).err()).expect("is full at last");
    assert_eq!(full.sqlstate(), SqlState::PROGRAM_LIMIT_EXCEEDED);
    let usage = db.query("SELECT pg_notification_queue_usage()", ()).expect("asks")[0].get::<f64>(0);
    assert!(usage.expect("a number") > 0.9);
    while listener.try_recv().is_some() {}
    db.execute("NOTIFY a", ()).expect("there is room again");
}
