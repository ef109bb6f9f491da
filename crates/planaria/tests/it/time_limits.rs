//! `statement_timeout` and cancel requests: whatever takes long ends with 57014, and has done nothing.

use planaria::{Database, Error, Options, ProtocolKind, Session};
use std::time::{Duration, Instant};

/// Longer than any of these takes to hear of it, on a slow machine too.
const PATIENCE: Duration = Duration::from_secs(10);
const ROWS: i32 = 200_000;

fn database() -> Database {
    let db = Database::in_memory().expect("opens");
    db.execute_script(&format!(
        "CREATE TABLE t (id int PRIMARY KEY, v int, s text);
         CREATE TABLE small (id int PRIMARY KEY);
         INSERT INTO small VALUES (1);
         INSERT INTO t SELECT i, 1, 's' || i FROM generate_series(1, {ROWS}) AS i;
         CREATE FUNCTION fib(n bigint) RETURNS bigint LANGUAGE plpgsql AS $$
         BEGIN IF n < 2 THEN RETURN n; END IF; RETURN fib(n - 1) + fib(n - 2); END $$;
         CREATE PROCEDURE endless() LANGUAGE plpgsql AS $$ BEGIN LOOP NULL; END LOOP; END $$;",
    ))
    .expect("the schema");
    db
}

fn limited(db: &Database, limit: &str) -> Session {
    let mut session = db.session().expect("a session");
    session.execute(&format!("SET statement_timeout = '{limit}'"), ()).expect("sets");
    session
}

/// What a statement fails with, and that it did so soon.
fn soon<T>(what: &str, run: impl FnOnce() -> Result<T, Error>) -> (String, String) {
    let begin = Instant::now();
    let outcome = run();
    let took = begin.elapsed();
    assert!(took < PATIENCE, "{what}: {took:?}");
    let error = outcome.err().unwrap_or_else(|| panic!("{what}: it ended in {took:?}"));
    (error.sqlstate().as_str().to_owned(), error.message().to_owned())
}

fn timed_out() -> (String, String) {
    ("57014".to_owned(), "canceling statement due to statement timeout".to_owned())
}

fn is_unchanged(db: &Database) {
    let state = db.query("SELECT count(*), sum(v) FROM t", ()).expect("reads");
    let made = db
        .query("SELECT 1 FROM pg_class WHERE relname IN ('made', 'other', 't_v', 't_s')", ())
        .expect("reads");
    assert!(made.is_empty());
    assert_eq!(state[0].get::<i64>(0).expect("a number"), i64::from(ROWS));
    assert_eq!(state[0].get::<i64>(1).expect("a number"), i64::from(ROWS));
    let columns = db.query("SELECT * FROM t WHERE id = 1", ()).expect("reads");
    assert_eq!(columns[0].values().len(), 3);
    assert_eq!(db.stats().memory.session_bytes, 0);
}

const ENDLESS: &[&str] = &[
    "DO $$ BEGIN LOOP NULL; END LOOP; END $$",
    "CALL endless()",
    "SELECT fib(100)",
    "SELECT count(*) FROM generate_series(1, 1000000) AS a, generate_series(1, 1000000) AS b",
    "SELECT count(*) FROM generate_series(1, 1000000) AS a JOIN generate_series(1, 1000000) AS b ON a + b < 0",
    "SELECT a FROM generate_series(1, 1000000) AS a, generate_series(1, 1000000) AS b WHERE a + b < 0",
    "SELECT count(*) FROM t AS a JOIN t AS b ON a.v = b.v JOIN t AS c ON c.v = b.v",
    "SELECT count(*) FROM t AS a, t AS b WHERE a.s < b.s",
    "SELECT (SELECT count(*) FROM t AS b WHERE b.s < a.s) FROM t AS a",
    "WITH RECURSIVE r AS (SELECT 1 AS n UNION ALL SELECT 1 - n FROM r WHERE n < 2) SELECT 1 FROM r WHERE n > 5",
    "SELECT pg_sleep(1000)",
    "INSERT INTO small SELECT a FROM generate_series(1, 1000000) AS a, generate_series(1, 1000000) AS b WHERE a + b < 0",
    "CREATE TABLE made AS SELECT a FROM generate_series(1, 1000000) AS a, generate_series(1, 1000000) AS b WHERE a + b < 0",
];

#[test]
fn endless_statements_end() {
    let db = database();
    let mut session = limited(&db, "50ms");
    for sql in ENDLESS {
        assert_eq!(soon(sql, || session.execute(sql, ())), timed_out(), "{sql}");
        session.execute("SELECT 1", ()).expect("the session goes on");
    }
    assert_eq!(soon("a call", || session.call("endless", ())), timed_out());
    is_unchanged(&db);
}

const LONG: &[&str] = &[
    "CREATE INDEX t_v ON t (v)",
    "CREATE UNIQUE INDEX t_s ON t (s)",
    "ALTER TABLE t ADD COLUMN w int DEFAULT 7",
    "ALTER TABLE t ADD COLUMN w serial",
    "ALTER TABLE t ALTER COLUMN v TYPE bigint",
    "ALTER TABLE t ADD CHECK (v > 0)",
    "ALTER TABLE t ADD FOREIGN KEY (v) REFERENCES small",
    "ALTER TABLE t ALTER COLUMN v SET NOT NULL",
    "ALTER TABLE t DROP CONSTRAINT t_pkey",
    "UPDATE t SET v = v + 1",
    "DELETE FROM t",
    "INSERT INTO t SELECT -id, v, s FROM t",
    "CREATE TABLE made AS SELECT * FROM t",
    "SELECT count(*) FROM (SELECT * FROM t ORDER BY s) AS sorted",
];

/// These take a few tenths of a second each.
#[test]
fn what_changes_much_ends() {
    let db = database();
    let mut session = limited(&db, "2ms");
    for sql in LONG {
        assert_eq!(soon(sql, || session.execute(sql, ())), timed_out(), "{sql}");
    }
    is_unchanged(&db);
    // In a block, which is over by that.
    for sql in LONG {
        session
            .execute_script("SET statement_timeout = 0; BEGIN; INSERT INTO small VALUES (2)")
            .expect("begins");
        session.execute("SET LOCAL statement_timeout = '2ms'", ()).expect("sets");
        assert_eq!(soon(sql, || session.execute(sql, ())), timed_out(), "{sql}");
        assert_eq!(soon(sql, || session.execute("SELECT 1", ())).0, "25P02");
        session.execute("ROLLBACK", ()).expect("rolls back");
    }
    is_unchanged(&db);
    assert_eq!(db.execute("SELECT * FROM small", ()).expect("reads"), 1);
    db.check().expect("rows and indexes agree");
    // Without a limit all of it works.
    session.execute("SET statement_timeout = 0", ()).expect("sets");
    for sql in &LONG[..6] {
        session.execute("BEGIN", ()).expect("begins");
        session.execute(sql, ()).unwrap_or_else(|e| panic!("{sql}: {e}"));
        session.execute("ROLLBACK", ()).expect("rolls back");
    }
    is_unchanged(&db);
}

#[test]
fn whoever_waits_hears_of_it() {
    let db = database();
    let mut holder = db.session().expect("a session");
    holder.execute_script("BEGIN; UPDATE small SET id = 1").expect("claims");
    let mut session = limited(&db, "50ms");
    for sql in ["UPDATE small SET id = 5", "DELETE FROM small"] {
        assert_eq!(soon(sql, || session.execute(sql, ())), timed_out());
    }
    holder.execute_script("ROLLBACK; BEGIN; ALTER TABLE small ADD COLUMN a int").expect("changes the schema");
    for sql in ["SELECT * FROM small", "CREATE TABLE other (a int)", "INSERT INTO small VALUES (3)"] {
        assert_eq!(soon(sql, || session.execute(sql, ())), timed_out());
    }
    holder.execute("ROLLBACK", ()).expect("rolls back");
    is_unchanged(&db);
}

#[test]
fn another_thread_cancels() {
    let db = database();
    let mut session = db.session().expect("a session");
    let canceller = session.canceller();
    // A request that comes when nothing runs is for nothing.
    canceller.cancel();
    session.execute("SELECT 1", ()).expect("runs");
    for sql in ENDLESS {
        let late = canceller.clone();
        let over = std::sync::Arc::new(std::sync::atomic::AtomicBool::new(false));
        let seen = over.clone();
        let thread = std::thread::spawn(move || {
            // Again and again: the statement may not have begun yet.
            while !seen.load(std::sync::atomic::Ordering::SeqCst) {
                std::thread::sleep(Duration::from_millis(30));
                late.cancel();
            }
        });
        let (state, message) = soon(sql, || session.execute(sql, ()));
        over.store(true, std::sync::atomic::Ordering::SeqCst);
        assert_eq!((state.as_str(), message.as_str()), ("57014", "canceling statement due to user request"));
        thread.join().expect("no panic");
    }
    is_unchanged(&db);
}

/// Where transactions come one after another, whoever waits for its turn waits for a lock.
#[test]
fn who_waits_for_a_turn_gives_up() {
    let db = Options::new().protocol(ProtocolKind::Serial).in_memory().expect("opens");
    db.execute_script("CREATE TABLE t (id int PRIMARY KEY)").expect("the schema");
    let mut holder = db.session().expect("a session");
    let mut other = db.session().expect("a session");
    holder.execute_script("BEGIN; INSERT INTO t VALUES (1)").expect("begins");
    std::thread::scope(|scope| {
        let waits = scope.spawn(|| {
            other.execute("SET lock_timeout = '500ms'", ()).expect("sets");
            ["INSERT INTO t VALUES (2)", "BEGIN"]
                .map(|statement| soon(statement, || other.execute(statement, ())).0)
        });
        while db.stats().waiting.locks == 0 {
            assert!(!waits.is_finished(), "it should wait");
            std::thread::yield_now();
        }
        assert_eq!(waits.join().expect("no panic"), ["55P03", "55P03"]);
    });
    holder.execute("COMMIT", ()).expect("commits");
    other.execute("INSERT INTO t VALUES (2)", ()).expect("its turn");
}
