//! Nobody hears of what a crash could still take back: bodies that commit on their way, sequences drawn in blocks that
//! write nothing, errors behind a commit.

use planaria::lab::LabOptions;
use planaria::serving::{RowRef, RowSink, ServedSession};
use planaria::{Database, Options, Session};
use planaria_sim::disk::{SimDisk, Survival};
use std::time::Duration;

const SCHEMA: &str = "
    CREATE TABLE t (id int PRIMARY KEY, v int);
    INSERT INTO t VALUES (1, 1);
    CREATE TABLE x (id int PRIMARY KEY);
    CREATE SEQUENCE s;
    CREATE FUNCTION looks() RETURNS int LANGUAGE plpgsql AS $$
    DECLARE r record; BEGIN EXECUTE 'SELECT v FROM t WHERE id = 1' INTO r; RETURN r.v; END $$;
    CREATE PROCEDURE look() LANGUAGE plpgsql AS $$
    DECLARE r record; BEGIN EXECUTE 'SELECT v FROM t WHERE id = 1' INTO r; END $$;
    CREATE PROCEDURE puts(how text) LANGUAGE plpgsql AS $$
    DECLARE r record;
    BEGIN
        INSERT INTO x VALUES (1);
        COMMIT;
        EXECUTE 'SELECT v FROM t WHERE id = 1' INTO r;
        IF how = 'fails' THEN RAISE EXCEPTION 'it fails'; ELSIF how = 'goes back' THEN ROLLBACK; END IF;
    END $$;
    CREATE PROCEDURE draws(INOUT n bigint) LANGUAGE plpgsql AS $$
    BEGIN n := nextval('s'); ROLLBACK; END $$;";

struct Unread;

impl RowSink for Unread {
    fn restart(&mut self) {}
    fn row(&mut self, _: RowRef<'_>) -> planaria::Result<()> {
        Ok(())
    }
}

/// A database of the schema on a disk that takes long from now on.
fn slow() -> (SimDisk, Database) {
    let disk = SimDisk::new(1);
    let db = Options::new().open_device(disk.device()).expect("opens");
    db.execute_script(SCHEMA).expect("the schema");
    disk.set_sync_delay(Duration::from_millis(60));
    (disk, db)
}

/// What a crash leaves, right after an answer.
fn crashed(disk: &SimDisk, db: Database, session: Session) -> Database {
    disk.crash(Survival::Nothing);
    drop((session, db));
    Options::new().open_device(disk.device()).expect("opens again")
}

fn number(session: &mut Session, sql: &str) -> i64 {
    session.query(sql, ()).unwrap_or_else(|e| panic!("{sql}: {e}"))[0].get(0).expect("a number")
}

/// As a server runs a statement: it waits for what the ticket says, and hears of an error at once.
fn served(session: &mut Session, sql: &str) -> planaria::Result<()> {
    let statement = session.prepare(sql)?;
    session.start(&statement, &(), &mut Unread)?.ticket.wait()
}

#[test]
fn what_a_body_has_committed_on_its_way_is_on_disk_when_it_is_answered() {
    let body =
        |rest: &str| format!("DO $$ DECLARE r record; BEGIN INSERT INTO x VALUES (1); COMMIT; {rest} END $$");
    let look = "EXECUTE 'SELECT v FROM t WHERE id = 1' INTO r;";
    let cases = [
        (body(look), true),
        (body(&format!("{look} ROLLBACK;")), true),
        (body(&format!("{look} COMMIT; {look}")), true),
        (body(&format!("{look} PERFORM looks();")), true),
        (body(&format!("{look} CALL look();")), true),
        (
            body(&format!("BEGIN {look} PERFORM 1 / 0; EXCEPTION WHEN division_by_zero THEN {look} END;")),
            true,
        ),
        (body(&format!("{look} RAISE EXCEPTION 'it fails';")), false),
        (body(&format!("{look} INSERT INTO x VALUES (1);")), false),
        (body(&format!("{look} CREATE TABLE t (n int);")), false),
        ("CALL puts('')".to_owned(), true),
        ("CALL puts('goes back')".to_owned(), true),
        ("CALL puts('fails')".to_owned(), false),
    ];
    let mut lost = Vec::new();
    for (sql, is_well) in &cases {
        let ways: [fn(&mut Session, &str) -> planaria::Result<()>; 2] =
            [|session, sql| session.execute(sql, ()).map(|_| ()), served];
        for (way, run) in ["executed", "served"].iter().zip(ways) {
            let (disk, db) = slow();
            let mut session = db.session().expect("a session");
            assert_eq!(run(&mut session, sql).is_ok(), *is_well, "{sql}");
            let db = crashed(&disk, db, session);
            let rows = db.query("SELECT count(*) FROM x", ()).expect("a count");
            if rows[0].get::<i64>(0) != Ok(1) {
                lost.push(format!("{way}: {sql}"));
            }
        }
    }
    assert!(lost.is_empty(), "answered before it was on disk:\n{}", lost.join("\n"));
}

/// By the answer to COMMIT, or to a statement outside of blocks.
#[test]
fn a_number_that_was_told_is_not_given_again() {
    let look = "SELECT v FROM t WHERE id = 1";
    let told_after = "SELECT currval('s'), v FROM t WHERE id = 1";
    let cases: [(&str, &[&str], &str, i64); 7] = [
        ("a block", &["BEGIN", "SELECT nextval('s'), v FROM t WHERE id = 1"], "COMMIT", 2),
        ("a block of several", &["BEGIN", "SELECT nextval('s')", look], "COMMIT", 2),
        (
            "a block that went back",
            &["BEGIN", "SAVEPOINT a", "SELECT nextval('s')", "ROLLBACK TO a", look],
            "COMMIT",
            2,
        ),
        ("a block that sets it", &["BEGIN", "SELECT setval('s', 40), v FROM t WHERE id = 1"], "COMMIT", 40),
        ("a statement that failed", &["SELECT 1 / (nextval('s') - currval('s'))"], told_after, 2),
        ("a block that was given up", &["BEGIN", "SELECT nextval('s')", "ROLLBACK"], told_after, 2),
        ("a call that went back", &[], "CALL draws(NULL)", 2),
    ];
    let mut again = Vec::new();
    for (what, before, last, told) in cases {
        let (disk, db) = slow();
        let mut session = db.session().expect("a session");
        assert_eq!(number(&mut session, "SELECT nextval('s')"), 1);
        for sql in before {
            // One of them divides by zero.
            let _ = session.execute(sql, ());
        }
        session.execute(last, ()).unwrap_or_else(|e| panic!("{what}: {e}"));
        let db = crashed(&disk, db, session);
        let mut session = db.session().expect("a session");
        if number(&mut session, "SELECT nextval('s')") <= told {
            again.push(what);
        }
    }
    assert!(again.is_empty(), "given again after {again:?}");
}
