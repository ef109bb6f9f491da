//! Others beside a change of the schema: they go on with tables that it has nothing to do with, and open blocks do not
//! notice; what the change relies on holds, and what it changes they do not see before its COMMIT.

use planaria::lab::LabOptions;
use planaria::{Database, Error, LogKind, Options, ProtocolKind, Scheme, Session};
use planaria_sim::disk::{SimDisk, Survival};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

const SCHEMA: &str = "
    CREATE TABLE t (id int PRIMARY KEY, v int NOT NULL);
    INSERT INTO t SELECT i, 0 FROM generate_series(1, 9) AS i;
    CREATE TABLE note (id int PRIMARY KEY, what text);
    CREATE DOMAIN small AS int CHECK (VALUE < 100);
    CREATE TABLE pebble (n small);
    CREATE SEQUENCE s;
    CREATE PROCEDURE write(i int, what text) LANGUAGE plpgsql AS $$ BEGIN INSERT INTO note VALUES (i, what); END $$;
    CREATE PROCEDURE anything(command text) LANGUAGE plpgsql AS $$ BEGIN EXECUTE command; END $$;";

/// Protocols under which transactions overlap.
fn concurrent() -> impl Iterator<Item = ProtocolKind> {
    ProtocolKind::ALL.iter().copied().filter(|protocol| *protocol != ProtocolKind::Serial)
}

fn db(protocol: ProtocolKind) -> Database {
    let db = Options::new().protocol(protocol).in_memory().expect("opens");
    db.execute_script(SCHEMA).expect("the schema is accepted");
    db
}

fn two(db: &Database) -> (Session, Session) {
    let (owner, mut other) = (db.session().expect("a seat"), db.session().expect("a seat"));
    run(&mut other, "SET lock_timeout = 30");
    (owner, other)
}

#[track_caller]
fn run(session: &mut Session, script: &str) {
    session.execute_script(script).unwrap_or_else(|e| panic!("{script}: {e}"));
}

#[track_caller]
fn state<T: std::fmt::Debug>(outcome: Result<T, Error>) -> String {
    outcome.expect_err("an error").sqlstate().as_str().to_owned()
}

#[track_caller]
fn waits(session: &mut Session, script: &str) {
    let outcome = session.execute_script(script);
    assert_eq!(outcome.expect_err(script).sqlstate().as_str(), "55P03", "{script}");
}

#[track_caller]
fn int(session: &mut Session, sql: &str) -> i64 {
    session.query(sql, ()).unwrap_or_else(|e| panic!("{sql}: {e}"))[0].get::<i64>(0).expect("a number")
}

#[test]
fn others_go_on_with_other_tables() {
    for protocol in concurrent() {
        let db = db(protocol);
        let (mut owner, mut other) = two(&db);
        run(&mut other, "BEGIN; INSERT INTO note VALUES (1, 'before')");
        run(
            &mut owner,
            "BEGIN; CREATE TABLE n (a int PRIMARY KEY); INSERT INTO n VALUES (1); CREATE INDEX ON n (a)",
        );
        // The block that was open, calls, statements, blocks, readers.
        run(&mut other, "INSERT INTO note VALUES (2, 'beside'); COMMIT");
        run(
            &mut owner,
            "ALTER TABLE t ADD COLUMN w int DEFAULT 7; UPDATE t SET w = id; ALTER TABLE t ALTER w SET NOT NULL",
        );
        run(&mut other, "CALL write(3, 'call'); UPDATE note SET what = 'x' WHERE id = 1");
        run(&mut other, "BEGIN; SELECT * FROM note; DELETE FROM note WHERE id = 2; COMMIT");
        run(&mut other, "BEGIN READ ONLY; SELECT * FROM note; COMMIT");
        assert_eq!(int(&mut other, "SELECT nextval('s')"), 1);
        assert_eq!(int(&mut owner, "SELECT nextval('s')"), 2);
        // But not with the block's own, nor with what it makes.
        waits(&mut other, "SELECT * FROM t");
        waits(&mut other, "UPDATE t SET v = 1");
        waits(&mut other, "CALL anything('DELETE FROM t')");
        waits(&mut other, "CREATE TABLE m (a int)");
        assert_eq!(state(other.execute("SELECT * FROM n", ())), "42P01");
        run(&mut other, "BEGIN; INSERT INTO note VALUES (4, 'open')");
        run(&mut owner, "COMMIT");
        // It sees what there is now.
        assert_eq!(int(&mut other, "SELECT count(*) FROM n"), 1, "{protocol}");
        run(&mut other, "COMMIT");
        assert_eq!(int(&mut other, "SELECT sum(w) FROM t"), 45);
        assert_eq!(int(&mut other, "SELECT count(*) FROM note"), 3);
        db.check().expect("whole");
    }
}

#[test]
fn a_block_that_is_rolled_back_has_disturbed_nobody() {
    for protocol in concurrent() {
        let db = db(protocol);
        let (mut owner, mut other) = two(&db);
        let before = db.digests().expect("digests");
        run(&mut other, "BEGIN; INSERT INTO note VALUES (1, 'open')");
        run(
            &mut owner,
            "BEGIN; CREATE TABLE n (a int); UPDATE t SET v = 1; SAVEPOINT a; DROP TABLE pebble; ROLLBACK TO a",
        );
        // Rows of a table that others know are in place since the savepoint.
        waits(
            &mut db
                .session()
                .map(|mut s| {
                    run(&mut s, "SET lock_timeout = 30");
                    s
                })
                .expect("a seat"),
            "SELECT * FROM note",
        );
        run(&mut owner, "ROLLBACK");
        run(&mut other, "ROLLBACK");
        assert_eq!(db.digests().expect("digests"), before, "{protocol}");
        run(
            &mut owner,
            "BEGIN; CREATE TABLE n (a int); INSERT INTO n VALUES (1); SAVEPOINT a; DROP TABLE pebble; ROLLBACK TO a",
        );
        run(&mut other, "INSERT INTO note VALUES (1, 'beside')");
        // What it has taken back it has locked.
        waits(&mut other, "INSERT INTO pebble VALUES (1)");
        drop(owner);
        run(&mut other, "CREATE TABLE n (b text)");
        assert_eq!(int(&mut other, "SELECT count(*) FROM note"), 1);
        db.check().expect("whole");
    }
}

#[test]
fn what_the_block_relies_on_holds() {
    for protocol in concurrent() {
        let db = db(protocol);
        let (mut owner, mut other) = two(&db);
        // (the block, what waits, what does not)
        let cases = [
            ("SELECT count(*) FROM note", "INSERT INTO note VALUES (9, '')", "SELECT * FROM note"),
            ("CREATE TABLE a AS SELECT * FROM note", "DELETE FROM note", "SELECT * FROM note"),
            ("CREATE TABLE a (i int REFERENCES t)", "DELETE FROM t", "SELECT * FROM t"),
            ("UPDATE t SET v = 5 WHERE id = 1", "SELECT * FROM t FOR SHARE", "SELECT * FROM t"),
            ("INSERT INTO t VALUES (20, 1)", "INSERT INTO t VALUES (20, 2)", "SELECT * FROM t"),
            ("LOCK TABLE note IN SHARE MODE", "DELETE FROM note", "SELECT * FROM note"),
            ("LOCK TABLE note", "SELECT * FROM note", "SELECT * FROM t"),
            ("CREATE INDEX ON t (v)", "SELECT * FROM t", "SELECT * FROM note"),
            ("TRUNCATE note", "SELECT * FROM note FOR SHARE", "SELECT * FROM t"),
            ("DROP TABLE note", "SELECT * FROM note", "SELECT * FROM t"),
            // What nobody can lock: nobody goes on.
            ("ALTER SEQUENCE s RESTART 10", "SELECT nextval('s') FROM note", "SELECT 1"),
            ("ALTER DOMAIN small ADD CHECK (VALUE > 0)", "INSERT INTO pebble VALUES (-1)", "SELECT 1"),
            ("CALL anything('SELECT count(*) FROM note')", "INSERT INTO note VALUES (9, '')", "SELECT 1"),
        ];
        for (block, waiting, passing) in cases {
            for script in ["BEGIN; CREATE TABLE m (i int);", "BEGIN; CREATE TABLE m (i int); SAVEPOINT x;"] {
                run(&mut owner, &format!("{script} {block}"));
                waits(&mut other, waiting);
                run(&mut other, passing);
                run(&mut owner, "ROLLBACK");
            }
            // What was read before the first change.
            run(&mut owner, &format!("BEGIN; {block}; CREATE TABLE m (i int)"));
            waits(&mut other, waiting);
            run(&mut owner, "ROLLBACK");
        }
        db.check().expect("whole");
    }
}

/// It waits for no block, as ever; so nobody passes it then.
#[test]
fn it_stays_apart_where_an_open_block_has_to_do_with_its_tables() {
    for protocol in concurrent() {
        let db = db(protocol);
        let (mut owner, mut other) = two(&db);
        let mut third = db.session().expect("a seat");
        run(&mut third, "SET lock_timeout = 30");
        for touch in
            ["SELECT * FROM t", "UPDATE t SET v = 3 WHERE id = 2", "CALL anything('SELECT * FROM t')"]
        {
            run(&mut other, &format!("BEGIN; {touch}"));
            run(&mut owner, "BEGIN; CREATE TABLE n (a int); ALTER TABLE t ADD COLUMN w int");
            waits(&mut third, "SELECT * FROM note");
            run(&mut owner, "COMMIT");
            assert_eq!(state(other.execute("SELECT * FROM note", ())), "40001", "{touch}");
            run(&mut other, "ROLLBACK");
            run(&mut owner, "ALTER TABLE t DROP COLUMN w; DROP TABLE n");
            // By a statement, not a change.
            run(&mut other, &format!("BEGIN; {touch}"));
            run(&mut owner, "BEGIN; CREATE TABLE n (a int)");
            run(&mut owner, "UPDATE t SET v = v + 1 WHERE id = 1");
            match touch {
                // Who reads is before it.
                "SELECT * FROM t" => run(&mut third, "SELECT * FROM note"),
                _ => waits(&mut third, "SELECT * FROM note"),
            }
            run(&mut owner, "ROLLBACK");
            run(&mut other, "COMMIT");
        }
    }
}

#[test]
fn open_blocks_follow_changes_that_leave_their_tables() {
    for protocol in concurrent() {
        let db = db(protocol);
        let (mut owner, mut other) = two(&db);
        let follows = |owner: &mut Session, other: &mut Session, touch: &str, change: &str| {
            run(other, &format!("BEGIN; {touch}"));
            run(owner, change);
            let outcome = other.execute_script("SELECT 1 FROM note; COMMIT").map_err(|e| e.sqlstate());
            run(other, "ROLLBACK");
            match outcome {
                Ok(_) => true,
                Err(state) => {
                    assert_eq!(state.as_str(), "40001", "{touch}; {change}");
                    false
                }
            }
        };
        for change in [
            "CREATE TABLE a (i int PRIMARY KEY)",
            "ALTER TABLE a ADD COLUMN j int",
            "CREATE VIEW b AS SELECT * FROM t",
            "CREATE FUNCTION c() RETURNS int LANGUAGE sql AS 'SELECT 1'",
            "CREATE TYPE mood AS ENUM ('sad')",
            "CREATE SEQUENCE d; ALTER SEQUENCE s RESTART",
            "CREATE INDEX ON pebble (n)",
            "CREATE ROLE r; GRANT SELECT ON a TO r; DROP TABLE a CASCADE",
        ] {
            for touch in ["SELECT * FROM t", "UPDATE t SET v = v + 1", "INSERT INTO note VALUES (7, 'x')"] {
                let known = int(&mut owner, "SELECT count(*) FROM note WHERE id = 7");
                if known > 0 {
                    run(&mut owner, "DELETE FROM note");
                }
                // Once only.
                if touch == "SELECT * FROM t" {
                    assert!(follows(&mut owner, &mut other, touch, change), "{protocol}: {touch}; {change}");
                } else {
                    let change = "CREATE TABLE z (i int); DROP TABLE z";
                    assert!(follows(&mut owner, &mut other, touch, change), "{protocol}: {touch}");
                }
            }
        }
        for (touch, change) in [
            ("SELECT * FROM t", "ALTER TABLE t ADD COLUMN w int"),
            ("SELECT * FROM t", "CREATE INDEX ON t (v)"),
            ("UPDATE t SET v = v + 1", "CREATE TABLE child (i int REFERENCES t)"),
            (
                "INSERT INTO pebble VALUES (7)",
                "ALTER DOMAIN small ADD CONSTRAINT c CHECK (VALUE < 5) NOT VALID",
            ),
            ("SELECT * FROM pebble", "DROP TABLE pebble"),
            ("CALL anything('SELECT 1')", "CREATE TABLE e (i int)"),
        ] {
            assert!(!follows(&mut owner, &mut other, touch, change), "{protocol}: {touch}; {change}");
        }
        // A key to what was only read is no matter.
        assert!(follows(
            &mut owner,
            &mut other,
            "SELECT * FROM t",
            "CREATE TABLE child2 (i int REFERENCES t)"
        ));
        db.check().expect("whole");
    }
}

/// While others go on they may lock tables, too: the block waits for those.
#[test]
fn the_block_waits_for_tables_that_others_have_locked() {
    for protocol in concurrent() {
        let db = db(protocol);
        let (mut owner, mut other) = two(&db);
        run(&mut owner, "SET lock_timeout = 30");
        let wants = [
            "INSERT INTO note VALUES (1, '')",
            "SELECT * FROM note",
            "DROP TABLE note",
            "CREATE TABLE u (i int)",
            "LOCK TABLE note IN SHARE MODE",
            "LOCK TABLE note NOWAIT",
        ];
        for wants in wants {
            run(&mut owner, "BEGIN; CREATE TABLE n (a int)");
            run(&mut other, "BEGIN; LOCK TABLE note; INSERT INTO note VALUES (2, 'mine')");
            waits(&mut owner, wants);
            run(&mut other, "ROLLBACK");
            run(&mut owner, "ROLLBACK; BEGIN; CREATE TABLE n (a int); INSERT INTO t VALUES (30, 1)");
            run(&mut other, "BEGIN; LOCK TABLE pebble");
            run(&mut owner, "COMMIT");
            run(&mut other, "COMMIT");
            run(&mut owner, "DROP TABLE n; DELETE FROM t WHERE id = 30");
        }
    }
}

/// While it sleeps it is outside of the gate, and in no block: what it touches it has touched all the same.
#[test]
fn a_call_that_sleeps_is_not_passed_by() {
    for protocol in concurrent() {
        let db = db(protocol);
        db.execute_script(
            "CREATE PROCEDURE slow() LANGUAGE plpgsql AS $$ BEGIN
             PERFORM pg_sleep(0.2); UPDATE t SET v = v + 1 WHERE id = 1; END $$",
        )
        .expect("a procedure");
        let (mut owner, mut other) = two(&db);
        run(&mut other, "SET lock_timeout = 0");
        let outcome = std::thread::scope(|scope| {
            let slow = scope.spawn(|| other.execute("CALL slow()", ()));
            std::thread::sleep(std::time::Duration::from_millis(50));
            run(&mut owner, "BEGIN; CREATE INDEX ON t (v)");
            std::thread::sleep(std::time::Duration::from_millis(300));
            run(&mut owner, "COMMIT");
            slow.join().expect("no panic")
        });
        let changed = int(&mut owner, "SELECT v FROM t WHERE id = 1");
        match outcome {
            Ok(_) => assert_eq!(changed, 1, "{protocol}"),
            Err(error) => assert_eq!((error.sqlstate().as_str(), changed), ("40001", 0), "{protocol}"),
        }
    }
}

/// A table that was rewritten has no versions of before: what a block reads there is later than its moment.
#[test]
fn a_block_that_follows_shows_one_state() {
    for protocol in concurrent() {
        for change in [
            "ALTER TABLE b ADD COLUMN w int",
            "CREATE INDEX ON b (v)",
            "TRUNCATE b; INSERT INTO b VALUES (1, 1)",
        ] {
            for level in ["SERIALIZABLE", "REPEATABLE READ"] {
                let db = db(protocol);
                let (mut owner, mut other) = two(&db);
                run(&mut owner, "CREATE TABLE a (id int PRIMARY KEY, v bigint); INSERT INTO a VALUES (1, 0)");
                run(&mut owner, "CREATE TABLE b (id int PRIMARY KEY, v bigint); INSERT INTO b VALUES (1, 0)");
                run(&mut other, &format!("BEGIN ISOLATION LEVEL {level}"));
                let a = int(&mut other, "SELECT v FROM a WHERE id = 1");
                run(&mut owner, "BEGIN; UPDATE a SET v = 1; UPDATE b SET v = 1; COMMIT");
                run(&mut owner, change);
                let b = other.query("SELECT v FROM b WHERE id = 1", ()).map(|rows| rows[0].get::<i64>(0));
                let ended = other.execute_script("COMMIT");
                match (b, ended) {
                    (Ok(b), Ok(())) => assert_eq!(b.expect("a number"), a, "{protocol}: {change}"),
                    (Err(error), _) | (_, Err(error)) => {
                        assert_eq!(error.sqlstate().as_str(), "40001", "{protocol}: {change}");
                    }
                }
                run(&mut other, "ROLLBACK");
                // Nothing that it has read has changed.
                run(&mut other, &format!("BEGIN ISOLATION LEVEL {level}; SELECT count(*) FROM note"));
                run(&mut owner, "CREATE TABLE c AS SELECT 5::bigint AS v; CREATE INDEX ON c (v)");
                let c =
                    other.query("SELECT v FROM c", ()).map(|rows| rows[0].get::<i64>(0).expect("a number"));
                if level == "SERIALIZABLE" {
                    assert_eq!(c.expect("goes on"), 5, "{protocol}");
                }
            }
        }
    }
}

#[test]
fn rows_that_the_block_has_locked_are_locked() {
    for protocol in concurrent() {
        let db = db(protocol);
        let (mut owner, mut other) = two(&db);
        let first = "SELECT id FROM t ORDER BY id LIMIT 1 FOR UPDATE SKIP LOCKED";
        for block in ["BEGIN; CREATE TABLE w (i int);", "BEGIN;"] {
            run(&mut owner, &format!("{block} {first}; CREATE TABLE IF NOT EXISTS w (i int)"));
            waits(&mut other, first);
            run(&mut owner, "ROLLBACK");
            run(&mut other, first);
        }
    }
}

#[test]
fn a_table_that_was_replaced_meanwhile_is_not_locked() {
    for protocol in concurrent() {
        let db = db(protocol);
        let (mut owner, mut other) = two(&db);
        run(&mut other, "SET lock_timeout = 0; BEGIN; SELECT * FROM note");
        run(&mut owner, "BEGIN; DROP TABLE t; CREATE TABLE t (id int)");
        let outcome = std::thread::scope(|scope| {
            let lock = scope.spawn(|| other.execute("LOCK TABLE t", ()));
            while db.stats().waiting.locks == 0 && !lock.is_finished() {
                std::thread::yield_now();
            }
            run(&mut owner, "COMMIT");
            lock.join().expect("no panic")
        });
        assert_eq!(state(outcome), "40001", "{protocol}");
    }
}

/// A ring of a table that the block has locked and a key that another holds: one of them gives up.
#[test]
fn a_ring_of_waits_is_found() {
    for protocol in concurrent() {
        let db = db(protocol);
        let (mut owner, mut other) = two(&db);
        run(&mut other, "SET lock_timeout = 0; SELECT pg_advisory_lock(1)");
        run(&mut owner, "BEGIN; ALTER TABLE t ADD COLUMN w int");
        let ended = std::thread::scope(|scope| {
            let owner = scope.spawn(|| owner.execute_script("SELECT pg_advisory_lock(1); COMMIT"));
            let other = scope.spawn(|| {
                let outcome = other.execute_script("SELECT * FROM t");
                run(&mut other, "SELECT pg_advisory_unlock_all()");
                outcome
            });
            [owner.join().expect("no panic"), other.join().expect("no panic")]
        });
        let failed: Vec<String> = ended.into_iter().filter(Result::is_err).map(state).collect();
        assert_eq!(failed, ["40P01"], "{protocol}");
    }
}

/// Migrations copy what transfers change; each copy is of one state, and a restart finds the same.
#[test]
fn migrations_beside_transfers_copy_whole_states() {
    for kind in [LogKind::Command, LogKind::Physical] {
        let disk = SimDisk::new(11);
        let options = |scheme| Options::new().log(kind).recovery(scheme).recovery_threads(2).keep_log(true);
        let db = options(Scheme::Clr).open_device(disk.device()).expect("opens");
        db.execute_script(
            "CREATE TABLE account (id int PRIMARY KEY, balance bigint NOT NULL);
             INSERT INTO account SELECT i, 100 FROM generate_series(1, 20) i;
             CREATE TABLE event (id bigserial PRIMARY KEY, what int NOT NULL);
             CREATE PROCEDURE transfer(a int, b int) LANGUAGE plpgsql AS $$ BEGIN
               UPDATE account SET balance = balance - 1 WHERE id = a;
               UPDATE account SET balance = balance + 1 WHERE id = b;
             END $$;
             CREATE PROCEDURE note(i int) LANGUAGE plpgsql AS $$ BEGIN INSERT INTO event (what) VALUES (i); END $$;",
        )
        .expect("the schema is accepted");
        let (stop, events) = (AtomicBool::new(false), AtomicU64::new(0));
        std::thread::scope(|scope| {
            for thread in 0..2 {
                let (db, stop, events) = (&db, &stop, &events);
                scope.spawn(move || {
                    let mut session = db.session().expect("a seat");
                    let mut n = thread;
                    while !stop.load(Ordering::Relaxed) {
                        n = (n * 7919 + 12_345) % 30_000;
                        match n % 3 {
                            0 => run(&mut session, &format!("CALL note({n})")),
                            1 => run(&mut session, &format!("CALL transfer({}, {})", n % 20 + 1, n % 19 + 1)),
                            _ => {
                                let block = format!("BEGIN; INSERT INTO event (what) VALUES ({n}); COMMIT");
                                run(&mut session, &block);
                            }
                        }
                        events.fetch_add(u64::from(n % 3 != 1), Ordering::Relaxed);
                    }
                });
            }
            let mut session = db.session().expect("a seat");
            for i in 0..25 {
                let ends = if i % 5 == 4 { "ROLLBACK" } else { "COMMIT" };
                let script = match i % 3 {
                    0 => format!(
                        "BEGIN; CREATE TABLE copy{i} AS SELECT * FROM account; CREATE INDEX ON copy{i} (balance);
                         INSERT INTO copy{i} SELECT -id, -balance FROM account; {ends}"
                    ),
                    1 => format!(
                        "BEGIN; CREATE TABLE copy{i} (id int, balance bigint); ALTER TABLE account ADD COLUMN c{i} bigint;
                         UPDATE account SET c{i} = balance; INSERT INTO copy{i} SELECT id, balance FROM account
                         UNION ALL SELECT -id, -c{i} FROM account; {ends}"
                    ),
                    _ => format!(
                        "BEGIN; CREATE TABLE copy{i} (id int, balance bigint); SAVEPOINT a;
                         INSERT INTO copy{i} SELECT id, balance FROM account; SAVEPOINT b;
                         UPDATE account SET balance = balance; CREATE TABLE more{i} (j int);
                         INSERT INTO copy{i} SELECT -id, -balance FROM account; {ends}"
                    ),
                };
                // What was read before the first change may have changed.
                while let Err(error) = session.execute_script(&script) {
                    assert_eq!(error.sqlstate().as_str(), "40001", "{script}: {error}");
                    run(&mut session, "ROLLBACK");
                }
                if ends == "COMMIT" {
                    let sum =
                        |sign: &str| format!("SELECT sum(balance)::bigint FROM copy{i} WHERE id {sign} 0");
                    assert_eq!(int(&mut session, &sum(">")), 2000, "{script}");
                    assert_eq!(int(&mut session, &sum("<")), -2000, "{script}");
                    assert_eq!(int(&mut session, &format!("SELECT sum(balance)::bigint FROM copy{i}")), 0);
                }
            }
            stop.store(true, Ordering::Relaxed);
        });
        let mut session = db.session().expect("a seat");
        assert_eq!(int(&mut session, "SELECT count(*) FROM event") as u64, events.load(Ordering::Relaxed));
        db.check().expect("whole");
        let expected = db.digests().expect("digests");
        drop((session, db));
        disk.crash(Survival::Nothing);
        for scheme in Scheme::ALL.iter().copied() {
            let db =
                options(scheme).open_device(disk.device()).unwrap_or_else(|e| panic!("{kind} {scheme}: {e}"));
            assert_eq!(db.digests().expect("digests"), expected, "{kind} by {scheme}");
        }
    }
}

/// A change that is a transaction of its own waits for blocks that are at work with what it changes; one that does nothing for a
/// while it overtakes.
#[test]
fn a_change_waits_for_blocks_at_work() {
    for protocol in concurrent() {
        let db = db(protocol);
        let mut block = db.session().expect("a seat");
        run(&mut block, "BEGIN; DELETE FROM t WHERE id > 5");
        std::thread::scope(|scope| {
            let mut other = db.session().expect("a seat");
            let change = scope
                .spawn(move || other.execute_script("ALTER TABLE t ADD COLUMN w int DEFAULT 4").map(drop));
            for i in 10..15 {
                std::thread::sleep(std::time::Duration::from_millis(20));
                run(&mut block, &format!("INSERT INTO t VALUES ({i}, {i})"));
            }
            run(&mut block, "COMMIT");
            change.join().expect("no panic").expect("it is made");
        });
        assert_eq!(int(&mut block, "SELECT sum(w) FROM t"), 4 * 10);
        run(&mut block, "BEGIN; INSERT INTO t VALUES (99, 99, 99)");
        let mut other = db.session().expect("a seat");
        run(&mut other, "ALTER TABLE t DROP COLUMN w");
        assert_eq!(state(block.execute_script("COMMIT")), "40001");
        // What it does not change is none of its business.
        run(&mut block, "BEGIN; INSERT INTO t VALUES (99, 99)");
        run(&mut other, "CREATE TABLE more (id int PRIMARY KEY); DROP TABLE more");
        run(&mut block, "COMMIT");
    }
}

/// Of blocks that come one after another a change does not wait for all, nor for one that never ends.
#[test]
fn a_change_is_patient_for_a_while() {
    let db = db(ProtocolKind::default());
    let mut other = db.session().expect("a seat");
    for change in ["ALTER TABLE t ADD COLUMN w int", "ALTER TABLE t DROP COLUMN w"] {
        let changed = std::sync::atomic::AtomicBool::new(false);
        std::thread::scope(|scope| {
            let changed = &changed;
            for worker in 0..3 {
                let mut session = db.session().expect("a seat");
                scope.spawn(move || {
                    let mut turn = 0;
                    while !changed.load(std::sync::atomic::Ordering::Acquire) {
                        turn += 1;
                        let begins = if worker == 0 && turn > 1 {
                            "SELECT 1"
                        } else {
                            "BEGIN; UPDATE t SET v = 1 WHERE id = 1"
                        };
                        let ends = if worker == 0 { "SELECT 1" } else { "COMMIT" };
                        // Who is overtaken is told so.
                        for text in [begins, "SELECT count(*) FROM t", ends] {
                            let _ = session.execute_script(text);
                        }
                    }
                });
            }
            run(&mut other, change);
            changed.store(true, std::sync::atomic::Ordering::Release);
        });
    }
    assert_eq!(int(&mut other, "SELECT count(*) FROM t"), 9);
}

/// As in PostgreSQL: who says how long to wait for locks does not overtake.
#[test]
fn a_change_gives_up_after_its_lock_timeout() {
    let db = db(ProtocolKind::default());
    let (mut owner, mut other) = two(&db);
    run(&mut owner, "BEGIN; SELECT count(*) FROM t");
    assert_eq!(state(other.execute("ALTER TABLE t ADD COLUMN w int", ())), "55P03");
    run(&mut owner, "SELECT count(*) FROM t; COMMIT");
    run(&mut other, "ALTER TABLE t ADD COLUMN w int");
}

/// It is compiled before it waits for whoever changes its table, and nothing of it has run: it is compiled anew. A client that
/// expects other columns has to ask again.
#[test]
fn the_first_statement_of_a_block_is_compiled_anew_when_its_table_has_changed() {
    let db = db(ProtocolKind::default());
    let outcomes = |change: &str, sql: &str| {
        let [mut owner, mut other, mut watch] = [0; 3].map(|_| db.session().expect("a seat"));
        run(&mut owner, &format!("BEGIN; {change}"));
        run(&mut other, "BEGIN");
        std::thread::scope(|scope| {
            let first = scope.spawn(|| {
                let outcome = other.execute(sql, ());
                (outcome.map(|_| ()), other.execute("COMMIT", ()).is_ok())
            });
            while int(&mut watch, "SELECT count(*) FROM pg_locks WHERE NOT granted") == 0 {
                assert!(!first.is_finished(), "it waits");
                std::thread::yield_now();
            }
            run(&mut owner, "COMMIT");
            first.join().expect("ends")
        })
    };
    let (outcome, committed) =
        outcomes("ALTER TABLE t ADD COLUMN w int DEFAULT 7", "INSERT INTO t (id, v) VALUES (50, 1)");
    outcome.expect("it is compiled anew");
    assert!(committed);
    let mut other = db.session().expect("a seat");
    assert_eq!(int(&mut other, "SELECT count(*) FROM t WHERE id = 50 AND w = 7"), 1);
    let (outcome, _) = outcomes("ALTER TABLE t ADD COLUMN x int", "SELECT * FROM t");
    assert_eq!(state(outcome), "40001");
}
