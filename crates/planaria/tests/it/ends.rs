//! How sessions end that did not want to: the database is closed, or a statement panics.

use planaria::{Database, Error, Options, ParamRef, Params, SqlState};

fn state<T>(outcome: Result<T, Error>) -> String {
    outcome.map(|_| ()).expect_err("an error").sqlstate().as_str().to_owned()
}

fn count(db: &Database) -> i64 {
    db.query("SELECT count(*) FROM t", ()).expect("a count")[0].get(0).expect("a number")
}

#[test]
fn close_ends_open_sessions() {
    for on_close in [false, true] {
        let dir = tempfile::tempdir().expect("a directory");
        let db = Options::new().checkpoint_on_close(on_close).open(dir.path()).expect("opens");
        db.execute_script("CREATE TABLE t (n int); INSERT INTO t VALUES (1)").expect("a table");
        let [mut idle, mut block, mut changing, mut reading] =
            [(); 4].map(|()| db.session().expect("a session"));
        reading.execute_script("BEGIN READ ONLY; SELECT * FROM t").expect("a snapshot");
        block.execute_script("BEGIN; INSERT INTO t VALUES (2)").expect("a block");
        if !on_close {
            changing.execute_script("BEGIN; CREATE TABLE u (n int)").expect("a block");
        }
        db.close().expect("it is closed");
        assert_eq!(state(idle.execute("INSERT INTO t VALUES (3)", ())), "57P01");
        assert_eq!(state(idle.query("SELECT * FROM t", ())), "57P01");
        assert_eq!(state(block.execute("COMMIT", ())), "57P01");
        assert_eq!(state(changing.execute("COMMIT", ())), "57P01");
        assert_eq!(state(reading.query("SELECT * FROM t", ())), "57P01");
        // Others may have it by now.
        let again = Database::open(dir.path()).expect("opens again");
        assert_eq!(count(&again), 1);
        drop((idle, block, changing, reading));
        again.execute("INSERT INTO t VALUES (4)", ()).expect("it goes on");
    }
    let db = Database::in_memory().expect("opens");
    let mut session = db.session().expect("a session");
    db.close().expect("it is closed");
    assert_eq!(state(session.execute("CREATE TABLE t (n int)", ())), "57P01");
}

/// A program's own code that panics while the engine asks it.
struct Panics;

impl Params for Panics {
    fn count(&self) -> usize {
        1
    }
    fn param(&self, _: usize) -> ParamRef<'_> {
        panic!("no such value")
    }
}

#[test]
fn a_panic_is_an_error_and_nothing_of_it_is_committed() {
    let dir = tempfile::tempdir().expect("a directory");
    let db = Database::open(dir.path()).expect("opens");
    db.execute_script(
        "CREATE TABLE t (n int PRIMARY KEY); INSERT INTO t VALUES (1);
         CREATE PROCEDURE put(p int) LANGUAGE sql AS 'INSERT INTO t VALUES (p)'",
    )
    .expect("a schema");
    let mut session = db.session().expect("a session");
    session
        .execute_script("BEGIN; INSERT INTO t VALUES (2); UPDATE t SET n = 7 WHERE n = 1")
        .expect("a block");
    let error = session.execute("INSERT INTO t VALUES ($1)", Panics).expect_err("it panics");
    assert_eq!(error.sqlstate(), SqlState::INTERNAL_ERROR);
    assert!(error.to_string().contains("no such value"), "{error}");
    for outcome in [session.execute("COMMIT", ()), session.execute("INSERT INTO t VALUES (3)", ())] {
        assert_eq!(state(outcome), "XX000");
    }
    assert!(!session.in_transaction());
    // What it had claimed is free.
    db.execute("UPDATE t SET n = 8 WHERE n = 1", ()).expect("nobody is in the way");
    db.execute("CREATE INDEX i ON t (n)", ()).expect("nobody is in the way");
    for _ in 0..3 {
        assert_eq!(state(db.call("put", Panics)), "XX000");
        assert_eq!(state(db.query("SELECT $1::int", Panics)), "XX000");
    }
    drop(session);
    assert_eq!(count(&db), 1);
    db.close().expect("it is closed");
    assert_eq!(count(&Database::open(dir.path()).expect("opens again")), 1);
}
