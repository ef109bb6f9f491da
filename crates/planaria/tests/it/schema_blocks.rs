//! Changes of the schema in transaction blocks: with rows before, between and after them, all or nothing, through
//! crashes and by every scheme of recovery; and what the others do meanwhile.

use planaria::lab::{LabDatabase, LabOptions};
use planaria::{
    Database, Error, LogKind, Options, ProtocolKind, Scheme, Session, SqlState, TransactionStatus,
};
use planaria_sim::disk::{SimDisk, Survival};
use std::sync::mpsc::channel;
use std::time::Duration;

fn db() -> Database {
    let db = Database::in_memory().expect("opens");
    db.execute_script(
        "CREATE TABLE t (id int PRIMARY KEY, v int NOT NULL, u int UNIQUE);
         INSERT INTO t SELECT i, 0, 10 * i FROM generate_series(1, 9) AS i;
         CREATE TABLE note (what text);
         CREATE SEQUENCE s;",
    )
    .expect("the schema is accepted");
    db
}

fn run(session: &mut Session, script: &str) {
    session.execute_script(script).unwrap_or_else(|e| panic!("{script}: {e}"));
}

#[track_caller]
fn state<T: std::fmt::Debug>(outcome: Result<T, Error>) -> String {
    outcome.expect_err("an error").sqlstate().as_str().to_owned()
}

fn int(session: &mut Session, sql: &str) -> i64 {
    session.query(sql, ()).unwrap_or_else(|e| panic!("{sql}: {e}"))[0].get::<i64>(0).expect("a number")
}

/// Everything there is: definitions, and digests of rows.
fn whole(db: &Database) -> (Vec<String>, Vec<(String, u128)>) {
    db.check().expect("rows and indexes agree");
    let mut catalog = Vec::new();
    for sql in [
        "SELECT oid || ' ' || relname || ' ' || relkind || coalesce(relacl::text, '') FROM pg_class WHERE oid >= 16384",
        "SELECT attrelid || ' ' || attname || ' ' || atttypid || ' ' || attnum FROM pg_attribute WHERE attrelid >= 16384",
        "SELECT oid || ' ' || proname || ' ' || prosrc FROM pg_proc WHERE oid >= 16384",
        "SELECT oid || ' ' || rolname FROM pg_roles",
    ] {
        let rows = db.query(sql, ()).unwrap_or_else(|e| panic!("{sql}: {e}"));
        let mut lines: Vec<String> = rows.iter().map(|row| row.get(0).expect("a text")).collect();
        lines.sort();
        catalog.extend(lines);
    }
    (catalog, db.digests().expect("digests"))
}

/// Blocks with changes of all sorts; each is one commit or, if it ends in ROLLBACK, none.
const BLOCKS: &[&str] = &[
    "BEGIN; CREATE TABLE a (id int PRIMARY KEY, x text); INSERT INTO a VALUES (1, 'one'), (2, 'two'); COMMIT",
    "BEGIN; INSERT INTO t VALUES (20, 1, 1); ALTER TABLE t ADD COLUMN w int DEFAULT 5;
     UPDATE t SET w = id WHERE id < 4; CREATE INDEX t_w ON t (w); DELETE FROM t WHERE id = 9;
     ALTER TABLE t DROP COLUMN v; INSERT INTO t VALUES (21, 2, 7); COMMIT",
    "BEGIN; UPDATE t SET u = -u; DELETE FROM t WHERE id = 1; CREATE TABLE gone (a int);
     INSERT INTO gone VALUES (1); INSERT INTO t VALUES (1, 77, 1); DROP TABLE note; ROLLBACK",
    "BEGIN; INSERT INTO note VALUES ('before'); SAVEPOINT a; DELETE FROM note; INSERT INTO note VALUES ('lost');
     CREATE TABLE lost (a int); SAVEPOINT b; INSERT INTO lost VALUES (1); ROLLBACK TO a;
     INSERT INTO note VALUES ('after'); CREATE TABLE kept (n bigint DEFAULT nextval('s'), s serial);
     INSERT INTO kept DEFAULT VALUES; SAVEPOINT c; INSERT INTO kept DEFAULT VALUES; DROP TABLE kept; ROLLBACK TO c;
     INSERT INTO kept DEFAULT VALUES; COMMIT",
    "BEGIN; CREATE PROCEDURE p(i int) LANGUAGE plpgsql AS $$ BEGIN INSERT INTO note VALUES ('p' || i); END $$;
     CALL p(1); CREATE OR REPLACE PROCEDURE p(i int) LANGUAGE plpgsql AS $$
     BEGIN INSERT INTO note VALUES ('q' || i); END $$; CALL p(2); COMMIT",
    "CALL p(3)",
    "BEGIN; SAVEPOINT a; CREATE TABLE lost (a int); ROLLBACK TO a; UPDATE t SET u = u + 1000; COMMIT",
    "BEGIN; CREATE TABLE b AS SELECT id, u FROM t; UPDATE b SET u = 1; ALTER TABLE b RENAME TO c;
     CREATE VIEW cs AS SELECT count(*) AS n FROM c; INSERT INTO c VALUES (50, 50); COMMIT",
    "BEGIN; DELETE FROM t; INSERT INTO t VALUES (5, 1, 1); TRUNCATE c; INSERT INTO c VALUES (1, 1);
     ALTER SEQUENCE s RESTART 100; INSERT INTO note VALUES (nextval('s')::text); ROLLBACK",
    "BEGIN; TRUNCATE kept RESTART IDENTITY; INSERT INTO kept DEFAULT VALUES; CREATE ROLE teller;
     GRANT SELECT ON kept TO teller; COMMIT",
    "INSERT INTO kept DEFAULT VALUES",
    "BEGIN; UPDATE t SET u = u * 2 WHERE id > 3; ALTER TABLE t ALTER COLUMN w TYPE bigint; DELETE FROM t WHERE id = 2;
     SAVEPOINT a; UPDATE t SET id = id + 100; INSERT INTO t VALUES (4, 4, 4); ROLLBACK TO a; DROP INDEX t_w; COMMIT",
    "UPDATE t SET w = w + 1",
];

/// Runs the blocks; counts those that are acknowledged. After each, `seen` gets what is there.
fn run_blocks(db: &Database, acknowledged: &mut usize, mut seen: impl FnMut(&Database)) -> Result<(), Error> {
    db.execute_script(
        "CREATE TABLE t (id int PRIMARY KEY, v int NOT NULL, u int UNIQUE);
         INSERT INTO t SELECT i, 0, 10 * i FROM generate_series(1, 9) AS i;
         CREATE TABLE note (what text); CREATE SEQUENCE s;",
    )?;
    *acknowledged += 1;
    seen(db);
    for block in BLOCKS {
        db.session()?.execute_script(block)?;
        *acknowledged += 1;
        seen(db);
    }
    Ok(())
}

const KINDS: [LogKind; 5] =
    [LogKind::Command, LogKind::Logical, LogKind::Physical, LogKind::Physiological, LogKind::Adaptive];

#[test]
fn every_scheme_replays_blocks_whatever_the_log_holds() {
    let mut first = None;
    for kind in KINDS {
        let disk = SimDisk::new(1);
        let options = |scheme| Options::new().log(kind).recovery(scheme).recovery_threads(2).keep_log(true);
        let db = options(Scheme::Clr).open_device(disk.device()).expect("opens");
        run_blocks(&db, &mut 0, |_| {}).unwrap_or_else(|e| panic!("{kind}: {e}"));
        let expected = whole(&db);
        assert_eq!(*first.get_or_insert(expected.clone()), expected, "{kind}");
        drop(db);
        for scheme in Scheme::ALL.iter().copied() {
            let db =
                options(scheme).open_device(disk.device()).unwrap_or_else(|e| panic!("{kind} {scheme}: {e}"));
            assert_eq!(whole(&db), expected, "{kind} by {scheme}");
        }
    }
}

#[test]
fn all_protocols_do_the_same() {
    let end = |protocol| {
        let db = Options::new().protocol(protocol).in_memory().expect("opens");
        run_blocks(&db, &mut 0, |_| {}).expect("runs");
        whole(&db)
    };
    for protocol in ProtocolKind::ALL {
        assert_eq!(end(*protocol), end(ProtocolKind::Serial), "{protocol}");
    }
}

#[test]
fn a_rolled_back_block_leaves_no_trace() {
    for &protocol in ProtocolKind::ALL {
        let db = Options::new().protocol(protocol).in_memory().expect("opens");
        let (mut before, mut n) = (None, 0);
        run_blocks(&db, &mut 0, |db| {
            let now = whole(db);
            if n > 0 && BLOCKS[n - 1].ends_with("ROLLBACK") {
                assert_eq!(Some(&now), before.as_ref(), "{}", BLOCKS[n - 1]);
            }
            (before, n) = (Some(now), n + 1);
        })
        .expect("runs");
    }
}

#[test]
fn a_crash_at_any_operation_leaves_whole_blocks() {
    for kind in [LogKind::Command, LogKind::Physical] {
        let options = || Options::new().log(kind);
        let disk = SimDisk::new(1);
        let mut states = Vec::new();
        let db = options().open_device(disk.device()).expect("opens");
        run_blocks(&db, &mut 0, |db| states.push(whole(db))).expect("runs without faults");
        drop(db);
        for at in 0..disk.operations() {
            let disk = SimDisk::new(at + 1);
            disk.fail_power_at(at);
            let mut acknowledged = 0;
            if let Ok(db) = options().open_device(disk.device()) {
                let _ = run_blocks(&db, &mut acknowledged, |_| {});
            }
            disk.crash(if at % 2 == 0 { Survival::Nothing } else { Survival::Chance });
            let db = options().open_device(disk.device()).unwrap_or_else(|e| panic!("crash at {at}: {e}"));
            let there = whole(&db);
            if acknowledged > 0 {
                let found = (acknowledged - 1..=acknowledged).any(|n| states.get(n) == Some(&there));
                let expected = &states[acknowledged - 1];
                assert!(found, "{kind}, crash at {at}, {acknowledged} blocks: {there:?}, not {expected:?}");
            }
        }
    }
}

#[test]
fn a_failed_change_fails_the_block_and_lets_the_others_go_on() {
    let db = db();
    let before = whole(&db);
    let mut session = db.session().expect("a seat");
    run(&mut session, "BEGIN; DELETE FROM t; CREATE TABLE n (a int PRIMARY KEY); INSERT INTO n VALUES (1)");
    assert_eq!(int(&mut session, "SELECT count(*) FROM pg_class WHERE relname = 'n'"), 1);
    assert_eq!(state(session.execute("INSERT INTO n VALUES (1)", ())), "23505");
    assert_eq!(session.transaction_status(), TransactionStatus::Failed);
    // Nothing can come back: the others need not wait for the end of the block.
    assert_eq!(whole(&db), before);
    assert_eq!(state(session.execute("CREATE TABLE m (a int)", ())), "25P02");
    run(&mut session, "ROLLBACK; INSERT INTO t VALUES (100, 1, 1)");
    run(&mut session, "BEGIN; CREATE TABLE n (a int); SAVEPOINT a; INSERT INTO n VALUES (1)");
    assert_eq!(state(session.execute("ALTER TABLE n ADD CHECK (a > 1)", ())), "23514");
    run(&mut session, "ROLLBACK TO a; ALTER TABLE n ADD CHECK (a > 1)");
    assert_eq!(state(session.execute("INSERT INTO n VALUES (1)", ())), "23514");
    run(&mut session, "ROLLBACK TO a; INSERT INTO n VALUES (1); COMMIT");
    assert_eq!(int(&mut session, "SELECT count(*) FROM n"), 1);
}

#[test]
fn a_session_that_ends_in_mid_block_opens_the_gate() {
    for &protocol in ProtocolKind::ALL {
        let db = Options::new().protocol(protocol).in_memory().expect("opens");
        run_blocks(&db, &mut 0, |_| {}).expect("runs");
        let before = whole(&db);
        let mut session = db.session().expect("a seat");
        run(&mut session, "BEGIN; DELETE FROM t; DROP TABLE note; SAVEPOINT a; CREATE TABLE n (a int)");
        drop(session);
        assert_eq!(whole(&db), before);
        db.execute("CREATE TABLE n (a int)", ()).expect("goes on");
    }
}

#[test]
fn only_changes_that_are_committed_count_for_a_restart() {
    let disk = SimDisk::new(5);
    let db = Options::new().open_device(disk.device()).expect("opens");
    let replay = || db.stats().checkpoint.restart.replay;
    let mut session = db.session().expect("a seat");
    let before = replay();
    run(
        &mut session,
        "BEGIN; CREATE TABLE a AS SELECT g FROM generate_series(1, 100) g; ALTER TABLE a ADD COLUMN b int",
    );
    run(&mut session, "ROLLBACK");
    assert_eq!(replay(), before);
    run(&mut session, "BEGIN; CREATE TABLE a (b int)");
    assert_eq!(replay(), before);
    run(&mut session, "COMMIT");
    assert!(replay() > before);
}

/// How long whoever is taken to wait is watched.
const WATCHED: Duration = Duration::from_millis(60);

#[test]
fn others_wait_for_the_end_of_the_block_and_go_on() {
    let db = db();
    let mut owner = db.session().expect("a seat");
    let (tell, told) = channel();
    std::thread::scope(|scope| {
        run(&mut owner, "BEGIN; UPDATE t SET v = 1; ALTER TABLE t ADD COLUMN w int DEFAULT 7");
        for script in [
            "UPDATE t SET v = v + 1 WHERE id = 1",
            "BEGIN; UPDATE t SET v = v + 1 WHERE id = 2; COMMIT",
            "CREATE TABLE other (a int)",
            "BEGIN; CREATE TABLE another (a int); INSERT INTO another VALUES (1); COMMIT",
            "BEGIN READ ONLY; SELECT * FROM t; COMMIT",
        ] {
            let (mut session, tell) = (db.session().expect("a seat"), tell.clone());
            scope.spawn(move || {
                tell.send(session.execute_script(script).map_err(|e| format!("{script}: {e}")))
                    .expect("heard");
            });
        }
        assert!(told.recv_timeout(WATCHED).is_err(), "they should wait");
        run(&mut owner, "COMMIT");
        for _ in 0..5 {
            assert_eq!(told.recv().expect("goes on"), Ok(()));
        }
    });
    assert_eq!(int(&mut owner, "SELECT sum(v + w) FROM t"), 9 + 2 + 9 * 7);
}

#[test]
fn whoever_waits_at_the_gate_can_give_up() {
    let db = db();
    let (mut owner, mut other) = (db.session().expect("a seat"), db.session().expect("a seat"));
    run(&mut owner, "BEGIN; CREATE TABLE n (a int); ALTER TABLE t ADD COLUMN w int");
    run(&mut other, "SET lock_timeout = 30");
    for script in ["UPDATE t SET v = 1", "CREATE TABLE m (a int)", "SELECT * FROM t", "TRUNCATE t"] {
        assert_eq!(state(other.execute(script, ())), "55P03", "{script}");
    }
    // What needs none of the tables does not wait.
    assert_eq!(int(&mut other, "SELECT count(*) FROM pg_class WHERE relname = 'n'"), 0);
    run(&mut other, "SHOW lock_timeout; SELECT 1; BEGIN");
    assert_eq!(state(other.execute("DELETE FROM t", ())), "55P03");
    run(&mut other, "ROLLBACK");
    run(&mut owner, "ROLLBACK");
    run(&mut other, "DELETE FROM t; CREATE TABLE n (b text)");
}

#[test]
fn blocks_that_were_open_fail_where_the_schema_changed_or_their_rows_did() {
    let db = db();
    let (mut owner, mut other) = (db.session().expect("a seat"), db.session().expect("a seat"));
    // The claim of the other block does not keep the one that is alone.
    run(&mut other, "BEGIN; UPDATE t SET v = 5 WHERE id = 1");
    run(&mut owner, "BEGIN; CREATE TABLE n (a int); UPDATE t SET v = 6 WHERE id = 1; COMMIT");
    assert_eq!(state(other.execute("COMMIT", ())), "40001");
    assert_eq!(int(&mut owner, "SELECT v FROM t WHERE id = 1"), 6);
    // After a ROLLBACK nothing has changed but the rows' versions.
    run(&mut other, "BEGIN; UPDATE t SET v = 7 WHERE id = 2");
    run(&mut owner, "BEGIN; CREATE TABLE m (a int); UPDATE t SET v = 8 WHERE id = 3; ROLLBACK");
    run(&mut other, "COMMIT");
    run(&mut other, "BEGIN; UPDATE t SET v = 9 WHERE id = 2");
    run(&mut owner, "BEGIN; DROP TABLE n; DELETE FROM t; CREATE TABLE m (a int); ROLLBACK");
    assert_eq!(state(other.execute("COMMIT", ())), "40001");
    assert_eq!(int(&mut owner, "SELECT sum(v) FROM t"), 6 + 7);
    db.check().expect("whole");
    // One that has done nothing yet is none of those.
    run(&mut other, "BEGIN");
    run(&mut owner, "ALTER TABLE t ADD COLUMN w int DEFAULT 1");
    run(&mut other, "UPDATE t SET w = 2; COMMIT");
    // The block that wants to be alone has read what was changed since.
    run(&mut other, "BEGIN; SELECT sum(v) FROM t");
    run(&mut owner, "UPDATE t SET v = 1 WHERE id = 1");
    assert_eq!(state(other.execute("CREATE TABLE m (a int)", ())), "40001");
    run(&mut owner, "INSERT INTO t VALUES (30, 1, 1)");
    run(&mut other, "ROLLBACK");
}

#[test]
fn a_key_that_another_block_is_putting_in_is_a_deadlock() {
    let db = db();
    let (mut owner, mut other) = (db.session().expect("a seat"), db.session().expect("a seat"));
    run(&mut other, "BEGIN; INSERT INTO t VALUES (30, 1, 300)");
    run(&mut owner, "BEGIN; CREATE TABLE n (a int)");
    assert_eq!(state(owner.execute("INSERT INTO t VALUES (30, 2, 2)", ())), "40P01");
    run(&mut other, "COMMIT");
    run(&mut owner, "ROLLBACK");
    assert_eq!(int(&mut owner, "SELECT v FROM t WHERE id = 30"), 1);
}

#[test]
fn readers_of_snapshots_and_checkpoints_go_on_as_of_before() {
    let disk = SimDisk::new(5);
    let db = Options::new().open_device(disk.device()).expect("opens");
    let states = std::cell::RefCell::new(Vec::new());
    run_blocks(&db, &mut 0, |db| states.borrow_mut().push(whole(db))).expect("runs");
    let (mut owner, mut reader) = (db.session().expect("a seat"), db.session().expect("a seat"));
    run(&mut reader, "BEGIN READ ONLY");
    let sum = "SELECT (sum(u + w) + count(*))::bigint FROM t";
    let before = int(&mut reader, sum);
    run(&mut owner, "BEGIN; UPDATE t SET u = u + 100000; ALTER TABLE t ADD COLUMN z int DEFAULT 1");
    assert_eq!(int(&mut reader, sum), before);
    run(&mut owner, "DELETE FROM t WHERE id > 4; UPDATE note SET what = 'x'; CREATE INDEX ON t (z)");
    assert_eq!(int(&mut reader, sum), before);
    assert_eq!(int(&mut reader, "SELECT count(*) FROM note WHERE what = 'x'"), 0);
    assert_eq!(state(owner.execute("CHECKPOINT", ())), "25001");
    assert_eq!(int(&mut reader, sum), before);
    run(&mut owner, "ROLLBACK");
    assert_eq!(int(&mut reader, sum), before);
    run(&mut reader, "COMMIT");
    assert_eq!(int(&mut reader, sum), before);
    run(&mut owner, "CHECKPOINT");
    run(&mut owner, "BEGIN; UPDATE t SET u = u + 100000; ALTER TABLE t ADD COLUMN z int DEFAULT 1; COMMIT");
    let now = whole(&db);
    drop((owner, reader, db));
    disk.crash(Survival::Nothing);
    let db = Options::new().open_device(disk.device()).expect("opens");
    assert_eq!(whole(&db), now);
}

#[test]
fn plans_of_a_draft_do_not_outlive_it() {
    let db = db();
    let mut session = db.session().expect("a seat");
    run(&mut session, "BEGIN; CREATE TABLE n (a int, b int); INSERT INTO n VALUES (1, 2)");
    let query = session.prepare("SELECT b FROM n").expect("the draft has it");
    assert_eq!(session.query_prepared(&query, ()).expect("runs").len(), 1);
    run(&mut session, "ROLLBACK");
    assert_eq!(state(session.query_prepared(&query, ())), "42P01");
    // The same catalog version, with another table.
    run(&mut session, "CREATE TABLE n (b int); INSERT INTO n VALUES (7), (8)");
    assert_eq!(session.query_prepared(&query, ()).expect("runs").len(), 2);
    assert_eq!(state(session.query("SELECT currval('s')", ())), "55000");
    run(&mut session, "BEGIN; CREATE SEQUENCE q; SELECT nextval('q'); ROLLBACK; CREATE SEQUENCE r");
    assert_eq!(state(session.query("SELECT currval('r')", ())), "55000");
}

#[test]
fn a_failed_log_takes_the_block_back() {
    let disk = SimDisk::new(9);
    let db = Options::new().open_device(disk.device()).expect("opens");
    run_blocks(&db, &mut 0, |_| {}).expect("runs");
    let mut session = db.session().expect("a seat");
    run(&mut session, "BEGIN; CREATE TABLE n (a int); INSERT INTO n VALUES (1); DELETE FROM t");
    let before = int(&mut session, "SELECT count(*) FROM note");
    disk.fail_syncs_of(".log");
    let error = db.session().map(drop).and_then(|()| session.execute_script("COMMIT"));
    assert_eq!(error.expect_err("the sync fails").sqlstate(), SqlState::IO_ERROR);
    // Whatever is tried now is undone, and nobody is shown what was not kept.
    assert_eq!(
        state(session.execute_script("BEGIN; CREATE TABLE m (a int); DELETE FROM note; COMMIT")),
        "58030"
    );
    run(&mut session, "ROLLBACK");
    assert_eq!(state(session.query("SELECT count(*) FROM note", ())), "58030");
    drop((session, db));
    disk.crash(Survival::Nothing);
    let db = Options::new().open_device(disk.device()).expect("opens");
    assert_eq!(state(db.query("SELECT * FROM n", ())), "42P01");
    assert!(!db.query("SELECT * FROM t", ()).expect("there").is_empty());
    assert_eq!(int(&mut db.session().expect("a seat"), "SELECT count(*) FROM note"), before);
}

/// What takes the whole database waits for the block, but not for one of its own thread.
#[test]
fn nobody_waits_for_himself() {
    let db = Options::new().open_device(SimDisk::new(3).device()).expect("opens");
    let mut session = db.session().expect("a seat");
    run(&mut session, "BEGIN; CREATE TABLE n (a int)");
    for (what, outcome) in [
        ("computing digests", db.digests().map(|_| ())),
        ("a check", db.check()),
        ("a checkpoint", db.checkpoint().map(|_| ())),
        ("a backup", db.backup_device(SimDisk::new(4).device()).map(|_| ())),
    ] {
        let error = outcome.expect_err("it would wait for ever");
        assert_eq!(error.sqlstate(), SqlState::ACTIVE_SQL_TRANSACTION);
        assert_eq!(error.message(), format!("{what} cannot wait for a transaction block of its own thread"));
    }
    std::thread::scope(|scope| {
        let other = scope.spawn(|| db.digests());
        std::thread::sleep(Duration::from_millis(30));
        run(&mut session, "COMMIT");
        let digests = other.join().expect("no panic").expect("computes");
        assert_eq!(digests.len(), 1, "the table of the block");
    });
    db.check().expect("rows and indexes agree");
}
