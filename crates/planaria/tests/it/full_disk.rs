//! While there is no room on the disk, what has entered the log waits: it cannot be undone any more. Who is cancelled,
//! or out of time, meanwhile, is told so, and not that nothing was done.

use planaria::lab::LabOptions;
use planaria::{Database, Options, Session, SqlState};
use planaria_sim::disk::{SimDisk, Survival};
use std::time::Duration;

const LARGE: usize = 9 << 20;
const WARNING: &str = "canceling wait for room on the disk due to";

/// A database that has room for some, but not for a large row.
fn tight() -> (SimDisk, Database) {
    let disk = SimDisk::new(8);
    let options = Options::new().log_segments(16 << 10, 1 << 20);
    let db = options.open_device(disk.device()).expect("opens");
    db.execute_script("CREATE TABLE t (a int PRIMARY KEY, b text); INSERT INTO t VALUES (0)")
        .expect("a table");
    let used: usize = disk.files().values().map(Vec::len).sum();
    disk.set_capacity(Some(used as u64 + (5 << 20)));
    (disk, db)
}

/// Until commits are refused.
fn until_full(db: &Database) {
    let mut session = db.session().expect("a session");
    session.execute("SET statement_timeout = 50", ()).expect("a setting");
    for n in 100.. {
        match session.execute("INSERT INTO t VALUES ($1)", (n,)) {
            Ok(_) => std::thread::sleep(Duration::from_millis(1)),
            Err(error) => return assert_eq!(error.sqlstate(), SqlState::DISK_FULL, "{error}"),
        }
    }
}

fn warned(session: &mut Session, why: &str) {
    let notices = session.take_notices();
    let [notice] = &notices[..] else { panic!("{notices:?}") };
    assert_eq!((notice.severity, notice.message.clone()), ("WARNING", format!("{WARNING} {why}")));
    assert!(notice.detail.as_ref().is_some_and(|d| d.starts_with("The transaction has already committed")));
}

#[test]
fn who_has_seen_only_what_is_on_disk_waits_for_nobody() {
    let (disk, db) = tight();
    db.execute_script("CREATE TABLE u (a int PRIMARY KEY); INSERT INTO u VALUES (0), (1)").expect("a table");
    let mut writer = db.session().expect("a session");
    let canceller = writer.canceller();
    std::thread::scope(|scope| {
        let sql = format!(
            "DO $$ BEGIN DELETE FROM u WHERE a = 0; INSERT INTO t VALUES (1, repeat('x', {LARGE})); END $$"
        );
        let waits = scope.spawn(move || writer.execute(&sql, ()).map(drop));
        until_full(&db);
        canceller.cancel();
        waits.join().expect("it lives").expect("it has committed");
    });
    let mut reader = db.session().expect("a session");
    let of_t =
        ["SELECT a FROM t WHERE a = 0", "SELECT a FROM t WHERE a <= 0", "SELECT a FROM t WHERE a = -1"];
    for sql in of_t.into_iter().chain(["SELECT a FROM u WHERE a = 1"]) {
        reader.query(sql, ()).expect("an answer");
        reader.execute_script(&format!("BEGIN; {sql}; COMMIT")).expect("an answer");
        assert!(reader.take_notices().is_empty(), "{sql}");
    }
    // Who sees what is not on disk, or would see what is gone there, waits.
    reader.execute("SET statement_timeout = 50", ()).expect("a setting");
    let of_u = ["SELECT a FROM u WHERE a = 0", "SELECT a FROM u", "SELECT u.a FROM t, u WHERE t.a = 0"];
    for sql in of_u.into_iter().chain(["SELECT a FROM t WHERE a = 1", "SELECT a FROM t WHERE a <= 1"]) {
        reader.query(sql, ()).unwrap_or_else(|e| panic!("{sql}: {e}"));
        warned(&mut reader, "statement timeout");
    }
    disk.set_capacity(None);
}

#[test]
fn who_waits_for_room_may_stop_waiting_but_nothing_is_undone() {
    let (disk, db) = tight();
    let mut writer = db.session().expect("a session");
    let canceller = writer.canceller();
    std::thread::scope(|scope| {
        let waits = scope.spawn(|| {
            let sql = "INSERT INTO t VALUES (1, repeat('x', $1))";
            writer.execute(sql, (LARGE as i32,)).map(|n| (n, writer.take_notices().len()))
        });
        until_full(&db);
        assert!(!waits.is_finished());
        canceller.cancel();
        assert_eq!(waits.join().expect("it lives"), Ok((1, 1)));
    });
    // Who has seen it waits, too.
    let mut reader = db.session().expect("a session");
    reader.execute("SET statement_timeout = 100", ()).expect("a setting");
    let rows = reader.query("SELECT length(b) FROM t WHERE a = 1", ()).expect("a row");
    assert_eq!(rows[0].get::<i32>(0), Ok(LARGE as i32));
    warned(&mut reader, "statement timeout");
    disk.set_capacity(None);
    while writer.execute("INSERT INTO t VALUES (2)", ()).is_err() {
        std::thread::yield_now();
    }
    assert!(writer.take_notices().is_empty() && reader.query("SELECT 1", ()).is_ok());
    drop((writer, reader, db));
    disk.crash(Survival::Nothing);
    let db = Options::new().open_device(disk.device()).expect("opens again");
    let rows = db.query("SELECT count(*) FROM t WHERE a < 100", ()).expect("a count");
    assert_eq!(rows[0].get::<i64>(0), Ok(3));
}
