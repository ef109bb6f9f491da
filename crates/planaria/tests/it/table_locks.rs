//! LOCK TABLE keeps others away until the end of its transaction; VACUUM and the like name what is there.

use planaria::{Database, Options, ProtocolKind, Result, Session};
use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::Duration;

on_the_shelf! {
    conflicting_statements_wait_and_others_go_on
    a_lock_waits_for_what_open_blocks_have_touched
    rings_of_locks_are_broken
    what_cannot_be_locked_is_refused
    what_is_maintained_has_to_be_there
}

const SCHEMA: &str = "
    CREATE TABLE t (id int PRIMARY KEY, v int NOT NULL);
    CREATE TABLE u (id int PRIMARY KEY, v int NOT NULL);
    CREATE VIEW both_of AS SELECT t.id, u.v FROM t JOIN u ON t.id = u.id;
    CREATE SEQUENCE s;
    CREATE INDEX by_v ON t (v);
    INSERT INTO t VALUES (1, 1), (2, 2);
    INSERT INTO u VALUES (1, 1), (2, 2);
    CREATE PROCEDURE change(p_id int) LANGUAGE plpgsql AS $$
    BEGIN UPDATE t SET v = v + 1 WHERE id = p_id; END $$;
    CREATE FUNCTION reads() RETURNS bigint LANGUAGE sql STABLE AS 'SELECT sum(v) FROM t';";

fn database(protocol: ProtocolKind) -> Database {
    let db = Options::new().protocol(protocol).in_memory().expect("opens");
    db.execute_script(SCHEMA).expect("the schema");
    db
}

fn session(db: &Database) -> Session {
    db.session().expect("a session")
}

/// Runs a script in a session of its own; the channel has its end.
fn beside(db: &Database, script: &'static str) -> Receiver<Result<()>> {
    let (mut session, (tell, told)) = (session(db), channel());
    thread::spawn(move || tell.send(session.execute_script(script)));
    told
}

fn state(outcome: Result<()>) -> String {
    outcome.expect_err("is refused").sqlstate().as_str().to_owned()
}

const SOON: Duration = Duration::from_millis(150);
const LONG: Duration = Duration::from_secs(30);

/// What waits for a lock of this mode on `t`, and what goes on.
fn conflicting_statements_wait_and_others_go_on(protocol: ProtocolKind) {
    let (read, claim, write) =
        ("SELECT * FROM t", "BEGIN; SELECT * FROM t WHERE id = 1 FOR UPDATE; COMMIT", "CALL change(1)");
    let cases: [(&str, &[&str], &[&str]); 5] = [
        ("ACCESS SHARE", &[], &[read, claim, write]),
        ("ROW EXCLUSIVE", &[], &[read, claim, write]),
        ("SHARE", &[write, "INSERT INTO t SELECT 3, 3 WHERE false"], &[read, claim, "SELECT reads()"]),
        (
            "EXCLUSIVE",
            &[write, claim, "BEGIN; DELETE FROM t WHERE id = 9; COMMIT"],
            &[read, "SELECT reads()"],
        ),
        (
            "ACCESS EXCLUSIVE",
            &[
                read,
                write,
                claim,
                "SELECT reads()",
                "BEGIN READ ONLY; SELECT * FROM t; COMMIT",
                "SELECT * FROM both_of",
                "DO $$ BEGIN EXECUTE 'DELETE FROM t WHERE id = 9'; END $$",
            ],
            &["SELECT * FROM u", "UPDATE u SET v = 2 WHERE id = 2"],
        ),
    ];
    for (mode, waits, goes_on) in cases {
        let db = database(protocol);
        let mut locker = session(&db);
        locker
            .execute_script(&format!("BEGIN; LOCK TABLE t IN {mode} MODE; UPDATE t SET v = 7 WHERE id = 2"))
            .expect(mode);
        for script in goes_on {
            beside(&db, script)
                .recv_timeout(LONG)
                .unwrap_or_else(|_| panic!("{mode}: {script} waits"))
                .expect("runs");
        }
        let waiting: Vec<_> = waits.iter().map(|script| (script, beside(&db, script))).collect();
        thread::sleep(SOON);
        for (script, told) in &waiting {
            assert!(told.try_recv().is_err(), "{mode}: {script} did not wait");
        }
        locker.execute_script("SELECT * FROM t; COMMIT").expect("commits");
        for (script, told) in waiting {
            told.recv_timeout(LONG).unwrap_or_else(|_| panic!("{mode}: {script} waits on")).expect("runs");
        }
    }
}

fn a_lock_waits_for_what_open_blocks_have_touched(protocol: ProtocolKind) {
    let db = database(protocol);
    let (mut reader, mut writer) = (session(&db), session(&db));
    reader.execute_script("BEGIN; SELECT * FROM t").expect("reads");
    let mut third = session(&db);
    third.execute_script("BEGIN; LOCK t IN EXCLUSIVE MODE NOWAIT; ROLLBACK").expect("nobody writes");
    third.execute_script("BEGIN").expect("begins");
    assert_eq!(state(third.execute_script("LOCK t NOWAIT")), "55P03");
    third.execute_script("ROLLBACK; SET lock_timeout = '50ms'; BEGIN").expect("anew");
    assert_eq!(state(third.execute_script("LOCK t")), "55P03");
    third
        .execute_script("ROLLBACK; SET lock_timeout = 0; SET statement_timeout = '50ms'; BEGIN")
        .expect("anew");
    assert_eq!(state(third.execute_script("LOCK t")), "57014");
    third.execute_script("ROLLBACK; SET statement_timeout = 0").expect("ends");
    let told =
        beside(&db, "BEGIN; LOCK TABLE both_of IN ACCESS EXCLUSIVE MODE; DELETE FROM t WHERE id = 1; COMMIT");
    thread::sleep(SOON);
    assert!(told.try_recv().is_err(), "it did not wait");
    // Who comes later waits behind it; who has the table already does not.
    reader.execute_script("SELECT count(*) FROM t").expect("goes on");
    writer.execute_script("SET lock_timeout = '50ms'").expect("sets");
    assert_eq!(state(writer.execute_script("SELECT * FROM t")), "55P03");
    reader.execute_script("COMMIT").expect("ends");
    told.recv_timeout(LONG).expect("is told").expect("locks");
    assert_eq!(db.query("SELECT id FROM t", ()).expect("reads").len(), 1);
    // Savepoints and failures let go.
    reader.execute_script("BEGIN; SAVEPOINT a; LOCK t; ROLLBACK TO a").expect("locks and goes back");
    writer.execute_script("SELECT * FROM t").expect("does not wait");
    reader.execute_script("LOCK t").expect("locks again");
    assert_eq!(state(writer.execute_script("ALTER TABLE u ADD COLUMN w int")), "55P03");
    reader.execute_script("SELECT 1 / 0").expect_err("divides by zero");
    writer.execute_script("SELECT * FROM t").expect("does not wait");
    reader.execute_script("ROLLBACK; BEGIN; LOCK t").expect("locks again");
    drop(reader);
    writer.execute_script("SELECT * FROM t; ALTER TABLE u ADD COLUMN w int").expect("does not wait");
}

fn rings_of_locks_are_broken(protocol: ProtocolKind) {
    for (first, second, third, fourth) in [
        ("LOCK t", "LOCK u", "LOCK u", "LOCK t"),
        (
            "LOCK t IN SHARE MODE",
            "LOCK t IN SHARE MODE",
            "UPDATE t SET v = 3 WHERE id = 1",
            "UPDATE t SET v = 4 WHERE id = 2",
        ),
        ("LOCK t", "UPDATE u SET v = 3 WHERE id = 1", "UPDATE u SET v = 4 WHERE id = 1", "SELECT * FROM t"),
    ] {
        let db = database(protocol);
        let (mut a, mut b) = (session(&db), session(&db));
        a.execute_script(&format!("BEGIN; {first}")).expect(first);
        b.execute_script(&format!("BEGIN; {second}")).expect(second);
        let (tell, told) = channel();
        let thread = thread::spawn(move || {
            let outcome = a.execute_script(third);
            tell.send(()).expect("is heard");
            let ended = a.execute_script(if outcome.is_ok() { "COMMIT" } else { "ROLLBACK" });
            (outcome, ended)
        });
        thread::sleep(SOON);
        let other = b.execute_script(fourth);
        b.execute_script(if other.is_ok() { "COMMIT" } else { "ROLLBACK" }).expect("ends");
        told.recv_timeout(LONG).expect("one gives up");
        let (one, ended) = thread.join().expect("ends");
        ended.expect("ends");
        let failed: Vec<_> = [one, other].into_iter().filter_map(Result::err).collect();
        assert_eq!(failed.len(), 1, "{first}, {second}: {failed:?}");
        assert_eq!(failed[0].sqlstate().as_str(), "40P01", "{failed:?}");
        assert!(failed[0].fields().detail.as_deref().is_some_and(|d| d.contains("blocked by process")));
    }
}

fn what_cannot_be_locked_is_refused(protocol: ProtocolKind) {
    let db = database(protocol);
    let mut s = session(&db);
    assert_eq!(state(s.execute_script("LOCK TABLE t")), "25P01");
    assert_eq!(state(s.execute_script("LOCK TABLE t IN SHARED MODE")), "42601");
    for (script, expected) in [
        ("LOCK TABLE nothing", "42P01"),
        ("LOCK TABLE other.t", "3F000"),
        ("LOCK TABLE s", "42809"),
        ("LOCK TABLE by_v", "42809"),
    ] {
        s.execute_script("BEGIN").expect("begins");
        assert_eq!(state(s.execute_script(script)), expected, "{script}");
        s.execute_script("ROLLBACK").expect("ends");
    }
    s.execute_script(
        "CREATE ROLE r LOGIN; GRANT SELECT ON t TO r; CREATE ROLE w LOGIN; GRANT INSERT ON t TO w",
    )
    .expect("roles");
    for (role, mode, allowed) in [
        ("r", "ACCESS SHARE", true),
        ("r", "ROW SHARE", false),
        ("r", "ROW EXCLUSIVE", false),
        ("w", "ACCESS SHARE", false),
        ("w", "ROW EXCLUSIVE", true),
        ("w", "EXCLUSIVE", false),
    ] {
        let mut s = db.session_as(role).expect("a session");
        s.execute_script("BEGIN").expect("begins");
        let outcome = s.execute_script(&format!("LOCK TABLE t IN {mode} MODE"));
        match allowed {
            true => outcome.expect(mode),
            false => assert_eq!(state(outcome), "42501", "{role}, {mode}"),
        }
    }
}

fn what_is_maintained_has_to_be_there(protocol: ProtocolKind) {
    let db = database(protocol);
    let mut s = session(&db);
    for script in [
        "VACUUM",
        "VACUUM t, u (v)",
        "VACUUM (VERBOSE, ANALYZE) t",
        "VACUUM FULL FREEZE VERBOSE ANALYZE t",
        "ANALYZE",
        "ANALYZE VERBOSE t (id, v)",
        "REINDEX TABLE t",
        "REINDEX (VERBOSE) INDEX CONCURRENTLY by_v",
        "REINDEX SCHEMA public",
        "REINDEX DATABASE planaria",
        "CLUSTER",
        "CLUSTER t USING by_v",
        "CLUSTER VERBOSE t",
        "ANALYZE pg_class",
        "BEGIN; ANALYZE t; COMMIT",
    ] {
        s.execute_script(script).unwrap_or_else(|e| panic!("{script}: {e}"));
    }
    for (script, expected) in [
        ("VACUUM nothing", "42P01"),
        ("VACUUM t, nothing", "42P01"),
        ("ANALYZE nothing", "42P01"),
        ("ANALYZE t (nothing)", "42703"),
        ("REINDEX TABLE nothing", "42P01"),
        ("REINDEX INDEX nothing", "42P01"),
        ("REINDEX INDEX t", "42809"),
        ("REINDEX TABLE s", "42809"),
        ("REINDEX SCHEMA nothing", "3F000"),
        ("REINDEX nothing", "42601"),
        ("CLUSTER nothing", "42P01"),
        ("CLUSTER t USING nothing", "42704"),
        ("CLUSTER u USING by_v", "42809"),
        ("VACUUM (", "42601"),
        ("BEGIN; VACUUM t", "25001"),
    ] {
        assert_eq!(state(s.execute_script(script)), expected, "{script}");
        s.execute_script("ROLLBACK").expect("ends what is open");
    }
}
