//! Foreign keys that are DEFERRABLE INITIALLY DEFERRED: checked when the transaction commits, against what is there
//! then.

use planaria::lab::LabOptions;
use planaria::{Database, Error, LogKind, Options, ProtocolKind, Scheme, Session};
use planaria_sim::disk::SimDisk;

const SCHEMA: &str = "
    CREATE TABLE parent (id int PRIMARY KEY, code text UNIQUE, v int);
    CREATE TABLE child (id int PRIMARY KEY, p int CONSTRAINT child_p REFERENCES parent DEFERRABLE INITIALLY DEFERRED,
                        c text CONSTRAINT child_c REFERENCES parent (code) ON UPDATE CASCADE INITIALLY DEFERRED);
    CREATE TABLE node (id int PRIMARY KEY, up int CONSTRAINT up REFERENCES node DEFERRABLE INITIALLY DEFERRED);
    INSERT INTO parent VALUES (1, 'one', 0), (2, 'two', 0);
    CREATE PROCEDURE add(i int, j int) LANGUAGE plpgsql AS
    $$ BEGIN INSERT INTO child VALUES (i, j); IF i > 100 THEN INSERT INTO parent VALUES (j); END IF; END $$;";

fn database(protocol: ProtocolKind) -> Database {
    let db = Options::new().protocol(protocol).in_memory().expect("opens");
    db.execute_script(SCHEMA).expect("runs");
    db
}

fn run(session: &mut Session, script: &str) -> Result<(), Error> {
    session.execute_script(script).map(|_| ())
}

/// The constraint that a script violates at its last statement, or nothing.
fn violated(session: &mut Session, script: &str) -> Option<String> {
    let error = run(session, script).err()?;
    assert_eq!(error.sqlstate().as_str(), "23503", "{script}: {error}");
    run(session, "ROLLBACK").expect("rolls back");
    error.fields().constraint.clone()
}

fn count(session: &mut Session, table: &str) -> i64 {
    session.query(&format!("SELECT count(*) FROM {table}"), ()).expect("counts")[0]
        .get::<i64>(0)
        .expect("a number")
}

#[test]
fn what_holds_at_commit_holds() {
    for &protocol in ProtocolKind::ALL {
        let db = database(protocol);
        let s = &mut db.session().expect("a session");
        for script in [
            // The child first, the parent later.
            "BEGIN; INSERT INTO child VALUES (1, 7, NULL); INSERT INTO parent VALUES (7); COMMIT",
            // A child that comes and goes, and one that moves on.
            "BEGIN; INSERT INTO child VALUES (2, 99); DELETE FROM child WHERE id = 2; COMMIT",
            "BEGIN; INSERT INTO child VALUES (2, 99); UPDATE child SET p = 1 WHERE id = 2; COMMIT",
            // A parent that goes and comes back, or gives its key to another.
            "BEGIN; DELETE FROM parent WHERE id = 1; INSERT INTO parent VALUES (1, 'one', 1); COMMIT",
            "BEGIN; UPDATE parent SET id = 8 WHERE id = 7; UPDATE parent SET id = 7 WHERE id = 2; COMMIT",
            "BEGIN; DELETE FROM parent WHERE id = 7; DELETE FROM child WHERE p = 7; COMMIT",
            "INSERT INTO child VALUES (3, NULL, 'one')",
            // Its action is not put off.
            "BEGIN; UPDATE parent SET code = 'uno' WHERE id = 1; COMMIT",
            "BEGIN; INSERT INTO node VALUES (1, 2); INSERT INTO node VALUES (2, 1); COMMIT",
            "INSERT INTO node VALUES (3, 4), (4, 3)",
            "BEGIN; SAVEPOINT a; INSERT INTO child VALUES (50, 99); ROLLBACK TO a; COMMIT",
            "CALL add(101, 102)",
            "DO $$ BEGIN INSERT INTO child VALUES (60, 61); INSERT INTO parent VALUES (61); END $$",
        ] {
            run(s, script).unwrap_or_else(|e| panic!("{script}: {e}"));
        }
        let code = s.query("SELECT c FROM child WHERE id = 3", ()).expect("reads");
        assert_eq!(code[0].text(0).as_deref(), Some("uno"));
        db.check().expect("rows and indexes agree");
    }
}

#[test]
fn what_does_not_hold_at_commit_undoes_all_of_it() {
    for &protocol in ProtocolKind::ALL {
        let db = database(protocol);
        let s = &mut db.session().expect("a session");
        run(s, "INSERT INTO child VALUES (1, 1, 'one'); INSERT INTO node VALUES (1, 1)").expect("runs");
        for (script, constraint) in [
            ("INSERT INTO child VALUES (2, 99)", "child_p"),
            ("UPDATE child SET p = 99 WHERE id = 1", "child_p"),
            ("UPDATE child SET c = 'three' WHERE id = 1", "child_c"),
            ("DELETE FROM parent WHERE id = 1", "child_p"),
            ("UPDATE parent SET id = 9 WHERE id = 1", "child_p"),
            ("INSERT INTO node VALUES (5, 6)", "up"),
            ("CALL add(5, 99)", "child_p"),
            ("BEGIN; INSERT INTO child VALUES (2, 99); INSERT INTO parent VALUES (98); COMMIT", "child_p"),
            (
                "BEGIN; INSERT INTO parent VALUES (98); INSERT INTO child VALUES (2, 98); DELETE FROM parent WHERE id = 98; COMMIT",
                "child_p",
            ),
            (
                "BEGIN; INSERT INTO child VALUES (2, 99); SAVEPOINT a; DELETE FROM child; ROLLBACK TO a; COMMIT",
                "child_p",
            ),
            ("BEGIN; INSERT INTO child VALUES (2, 99); CREATE TABLE x (a int); COMMIT", "child_p"),
            (
                "BEGIN; CREATE TABLE x (a int); INSERT INTO child VALUES (2, 99); SAVEPOINT a; INSERT INTO x VALUES (1); COMMIT",
                "child_p",
            ),
        ] {
            assert_eq!(violated(s, script).as_deref(), Some(constraint), "{script}");
            assert_eq!((count(s, "child"), count(s, "parent"), count(s, "node")), (1, 2, 1), "{script}");
        }
        let error = run(s, "INSERT INTO child VALUES (2, 99)").expect_err("refused");
        assert_eq!(
            error.message(),
            "insert or update on table \"child\" violates foreign key constraint \"child_p\""
        );
        assert_eq!(
            error.fields().detail.as_deref(),
            Some("Key (p)=(99) is not present in table \"parent\".")
        );
        let error = run(s, "DELETE FROM parent WHERE id = 1").expect_err("refused");
        assert_eq!(
            error.message(),
            "update or delete on table \"parent\" violates foreign key constraint \"child_p\" on table \"child\""
        );
        assert_eq!(
            error.fields().detail.as_deref(),
            Some("Key (id)=(1) is still referenced from table \"child\".")
        );
        run(s, "BEGIN; INSERT INTO child VALUES (2, 99); CREATE TABLE x (a int); INSERT INTO parent VALUES (99); COMMIT").expect("holds");
    }
}

#[test]
fn set_constraints_looks_at_once() {
    let db = database(ProtocolKind::Silo);
    let s = &mut db.session().expect("a session");
    assert_eq!(
        violated(s, "BEGIN; INSERT INTO child VALUES (1, 99); SET CONSTRAINTS ALL IMMEDIATE").as_deref(),
        Some("child_p")
    );
    assert_eq!(
        violated(s, "BEGIN; SET CONSTRAINTS child_p IMMEDIATE; INSERT INTO child VALUES (1, 99)").as_deref(),
        Some("child_p")
    );
    run(s, "BEGIN; SET CONSTRAINTS child_c IMMEDIATE; INSERT INTO child VALUES (1, 99); INSERT INTO parent VALUES (99); COMMIT").expect("holds");
    run(s, "BEGIN; SET CONSTRAINTS ALL IMMEDIATE; SET CONSTRAINTS ALL DEFERRED; INSERT INTO child VALUES (2, 98)").expect("is put off");
    assert_eq!(violated(s, "COMMIT").as_deref(), Some("child_p"));
    // What it says ends with the block.
    run(s, "BEGIN; SET CONSTRAINTS ALL IMMEDIATE; COMMIT; BEGIN; INSERT INTO child VALUES (3, 97)")
        .expect("is put off");
    run(s, "ROLLBACK").expect("rolls back");
    run(s, "CREATE TABLE plain (id int PRIMARY KEY CONSTRAINT small CHECK (id < 9), p int CONSTRAINT hard REFERENCES parent,
            q int CONSTRAINT soft REFERENCES parent DEFERRABLE)").expect("a table");
    for (script, state) in [
        ("SET CONSTRAINTS nothing IMMEDIATE", "42704"),
        ("SET CONSTRAINTS hard DEFERRED", "42809"),
        ("SET CONSTRAINTS small DEFERRED", "42809"),
        ("SET CONSTRAINTS nowhere.soft DEFERRED", "3F000"),
    ] {
        run(s, "BEGIN").expect("begins");
        assert_eq!(run(s, script).expect_err(script).sqlstate().as_str(), state, "{script}");
        run(s, "ROLLBACK").expect("rolls back");
    }
    assert_eq!(violated(s, "INSERT INTO plain VALUES (1, 1, 55)").as_deref(), Some("soft"));
}

#[test]
fn the_catalogs_say_so() {
    let db = database(ProtocolKind::Silo);
    let rows = db
        .query(
            "SELECT conname || ' ' || condeferrable || ' ' || condeferred || ' ' || pg_get_constraintdef(oid)
             FROM pg_constraint WHERE contype = 'f' ORDER BY conname",
            (),
        )
        .expect("reads");
    let rows: Vec<String> = rows.iter().map(|row| row.get(0).expect("a text")).collect();
    assert_eq!(
        rows,
        [
            "child_c true true FOREIGN KEY (c) REFERENCES parent(code) ON UPDATE CASCADE DEFERRABLE INITIALLY DEFERRED",
            "child_p true true FOREIGN KEY (p) REFERENCES parent(id) DEFERRABLE INITIALLY DEFERRED",
            "up true true FOREIGN KEY (up) REFERENCES node(id) DEFERRABLE INITIALLY DEFERRED",
        ]
    );
}

/// Two transactions, each of which would hold alone: one of them finds out.
#[test]
fn a_parent_does_not_go_while_a_child_comes() {
    let db = database(ProtocolKind::Silo);
    let (a, b) = (&mut db.session().expect("a session"), &mut db.session().expect("a session"));
    run(a, "BEGIN; INSERT INTO child VALUES (1, 1)").expect("runs");
    run(b, "BEGIN; DELETE FROM parent WHERE id = 1").expect("runs");
    run(b, "COMMIT").expect("nobody refers to it yet");
    let error = run(a, "COMMIT").expect_err("its parent is gone");
    assert!(["23503", "40001"].contains(&error.sqlstate().as_str()), "{error}");
    assert_eq!((count(a, "child"), count(a, "parent")), (0, 1));
}

#[test]
fn every_scheme_replays_what_was_checked() {
    for kind in
        [LogKind::Command, LogKind::Logical, LogKind::Physical, LogKind::Physiological, LogKind::Adaptive]
    {
        let disk = SimDisk::new(1);
        let options = |scheme| Options::new().log(kind).recovery(scheme).recovery_threads(2).keep_log(true);
        let db = options(Scheme::Clr).open_device(disk.device()).expect("opens");
        db.execute_script(SCHEMA).expect("runs");
        for i in 101..140 {
            db.call("add", (i, 2 * i)).expect("holds");
            db.call("add", (i - 100, 900 + i)).expect_err("does not hold");
        }
        let mut session = db.session().expect("a session");
        let s = &mut session;
        run(s, "BEGIN; DELETE FROM parent WHERE id > 240; CREATE TABLE x (a int); DELETE FROM child WHERE p > 240; COMMIT").expect("holds");
        run(s, "UPDATE parent SET id = id + 1000 WHERE id = 2").expect("nobody refers to it");
        let expected = db.digests().expect("digests");
        drop(session);
        drop(db);
        for scheme in Scheme::ALL.iter().copied() {
            let db =
                options(scheme).open_device(disk.device()).unwrap_or_else(|e| panic!("{kind} {scheme}: {e}"));
            assert_eq!(db.digests().expect("digests"), expected, "{kind} by {scheme}");
            let s = &mut db.session().expect("a session");
            assert_eq!(violated(s, "INSERT INTO child VALUES (9999, 9999)").as_deref(), Some("child_p"));
        }
    }
}
