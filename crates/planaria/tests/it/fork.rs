//! A process that is forked from the one that opened the database: it is refused everything, and harms nobody.
#![allow(unsafe_code, reason = "fork is the matter")]

use planaria::{Database, Error, SqlState};
use std::path::Path;

/// Set in a process that runs one test and nothing beside it: who is forked has whatever locks others had.
const ALONE: &str = "PLANARIA_TEST_ALONE";

/// Runs this test in a process of its own; whether that is where we are.
fn is_alone(test: &str) -> bool {
    if std::env::var_os(ALONE).is_some() {
        return true;
    }
    let exe = std::env::current_exe().expect("this program");
    let run = std::process::Command::new(exe)
        .args(["--exact", test, "--test-threads=1", "--nocapture"])
        .env(ALONE, "1")
        .output()
        .expect("it runs");
    let (out, err) = (String::from_utf8_lossy(&run.stdout), String::from_utf8_lossy(&run.stderr));
    assert!(run.status.success() && out.contains("1 passed"), "{out}\n{err}");
    false
}

/// Runs `f` in a copy of this process, which must come to its end.
fn in_child(f: impl FnOnce()) {
    // SAFETY: the child runs with one thread, and what it needs of the others it is told that it has not; it ends
    // without going back to where the test came from.
    let child = unsafe { libc::fork() };
    if child == 0 {
        // SAFETY: ends the process if it hangs.
        unsafe { libc::alarm(60) };
        let code = match std::panic::catch_unwind(std::panic::AssertUnwindSafe(f)) {
            Ok(()) => 0,
            Err(_) => 7,
        };
        // SAFETY: as said.
        unsafe { libc::_exit(code) };
    }
    assert!(child > 0, "fork");
    let mut status = 0;
    // SAFETY: the child is ours, and the status is there to be written.
    let waited = unsafe { libc::waitpid(child, &raw mut status, 0) };
    assert_eq!((waited, status), (child, 0), "it ended well");
}

fn is_refused<T>(outcome: Result<T, Error>) {
    let error = outcome.map(|_| ()).expect_err("it is refused");
    assert_eq!(error.sqlstate(), SqlState::OBJECT_NOT_IN_PREREQUISITE_STATE, "{error}");
}

fn count(db: &Database) -> i64 {
    db.query("SELECT count(*) FROM t", ()).expect("a count")[0].get(0).expect("a number")
}

fn try_everything(db: Database, backup: &Path) {
    let mut session = db.session().expect("a session");
    let mut block = db.session().expect("a session");
    let mut reader = db.session().expect("a session");
    block.execute_script("BEGIN; INSERT INTO t VALUES (100)").expect("a block");
    reader.execute_script("BEGIN READ ONLY; SELECT 1").expect("a snapshot");
    session.call("put", (1,)).expect("it is put");
    let mut sessions = Some((session, block, reader));
    let mut db = Some(db);
    in_child(|| {
        let (mut session, mut block, mut reader) = sessions.take().expect("they are there");
        let db = db.take().expect("it is there");
        is_refused(session.call("put", (2,)));
        is_refused(session.query("SELECT * FROM t", ()));
        is_refused(block.execute("COMMIT", ()));
        is_refused(reader.query("SELECT * FROM t", ()));
        is_refused(db.execute("INSERT INTO t VALUES (3)", ()));
        is_refused(db.call("put", (4,)));
        is_refused(db.session());
        is_refused(db.checkpoint());
        is_refused(db.backup(backup));
        is_refused(db.flush());
        drop((session, block, reader));
        is_refused(db.close());
        // What it opens itself is its own.
        let own = Database::in_memory().expect("a database");
        own.execute_script("CREATE TABLE t (n int); INSERT INTO t VALUES (1)").expect("it writes");
        assert_eq!(count(&own), 1);
        drop(own);
    });
    let (mut session, mut block, reader) = sessions.take().expect("they are there");
    let db = db.take().expect("it is there");
    session.call("put", (5,)).expect("it goes on");
    drop(reader);
    block.execute("COMMIT", ()).expect("it goes on");
    db.checkpoint().expect("it goes on");
    // Nor does one that only drops it do any harm.
    let mut all = Some((db, session, block));
    in_child(|| drop(all.take()));
    let (db, ..) = all.take().expect("they are there");
    db.call("put", (6,)).expect("it goes on");
    assert_eq!(count(&db), 4);
}

#[test]
fn a_forked_process_is_refused_everything() {
    if !is_alone("fork::a_forked_process_is_refused_everything") {
        return;
    }
    let (dir, backup) =
        (tempfile::tempdir().expect("a directory"), tempfile::tempdir().expect("a directory"));
    let schema = "CREATE TABLE t (n int PRIMARY KEY);
                  CREATE PROCEDURE put(p int) LANGUAGE sql AS 'INSERT INTO t VALUES (p)'";
    let db = Database::open(dir.path()).expect("opens");
    db.execute_script(schema).expect("a schema");
    try_everything(db, backup.path());
    let db = Database::open(dir.path()).expect("opens again");
    assert_eq!(count(&db), 4);
    drop(db);
    let db = Database::in_memory().expect("opens");
    db.execute_script(schema).expect("a schema");
    try_everything(db, backup.path());
}
