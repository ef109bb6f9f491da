//! Triggers are part of the programs that fire them: how calls that fire some are logged, and what a restart makes of that.

use crate::logged::logged;
use planaria::lab::LabOptions;
use planaria::{Database, Options};
use planaria_sim::disk::SimDisk;

const SCHEMA: &str = "
    CREATE TABLE t (id int PRIMARY KEY, v int NOT NULL);
    CREATE SEQUENCE s;
    CREATE TABLE seen (n serial PRIMARY KEY, op text, id int, was int, is_now int);
    CREATE FUNCTION double() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
        NEW.v := NEW.v * 2;
        RETURN NEW;
    END $$;
    CREATE FUNCTION see() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
        IF TG_OP = 'DELETE' THEN
            INSERT INTO seen (op, id, was) VALUES (TG_OP, OLD.id, OLD.v);
        ELSIF TG_OP = 'INSERT' THEN
            INSERT INTO seen (op, id, is_now) VALUES (TG_OP, NEW.id, NEW.v);
        ELSE
            INSERT INTO seen (op, id, was, is_now) VALUES (TG_OP, NEW.id, OLD.v, NEW.v);
        END IF;
        RETURN NULL;
    END $$;
    CREATE TRIGGER double BEFORE INSERT OR UPDATE ON t FOR EACH ROW EXECUTE FUNCTION double();
    CREATE TRIGGER see AFTER INSERT OR UPDATE OR DELETE ON t FOR EACH ROW EXECUTE FUNCTION see();
    CREATE PROCEDURE put(p_id int, p_v int) LANGUAGE plpgsql AS $$
    BEGIN
        INSERT INTO t VALUES (p_id, p_v);
    END $$;
    CREATE PROCEDURE add(p_id int, p_v int) LANGUAGE plpgsql AS $$
    BEGIN
        UPDATE t SET v = v + p_v WHERE id = p_id;
    END $$;
    CREATE PROCEDURE drop(p_id int) LANGUAGE plpgsql AS $$
    BEGIN
        DELETE FROM t WHERE id = p_id;
    END $$;";

fn lines(db: &Database, query: &str) -> Vec<String> {
    db.query(query, ()).expect("answers").iter().map(|r| r.get(0).expect("a text")).collect()
}

#[test]
fn a_call_that_fires_triggers_is_logged_as_a_call() {
    let all = logged(&format!("{SCHEMA} CALL put(1, 10); CALL add(1, 5); CALL put(2, 7); CALL drop(1);"));
    assert!(all[..4].iter().all(|record| record.ends_with("call")), "{all:?}");
    assert_eq!(all[4..], ["sequence"]);
}

#[test]
fn what_a_trigger_asks_for_makes_the_call_be_logged_by_rows() {
    let asks = |what: &str| {
        let function = format!(
            "CREATE OR REPLACE FUNCTION double() RETURNS trigger LANGUAGE plpgsql AS $$
             BEGIN IF {what} THEN NEW.v := NEW.v * 2; END IF; RETURN NEW; END $$;"
        );
        logged(&format!("{SCHEMA} {function} CALL put(1, 10);"))[0]
    };
    assert_ne!(asks("current_setting('application_name') = ''"), "effects");
    assert_eq!(asks("pg_backend_pid() > 0"), "effects");
    assert_ne!(asks("current_user = 'postgres'"), "effects");
    assert_eq!(asks("pg_trigger_depth() = 1"), "effects");
    assert_ne!(asks("NEW.v > 1"), "effects");
}

#[test]
fn a_call_is_replayed_under_the_triggers_that_there_were() {
    let disk = SimDisk::new(1);
    let state = |db: &Database| {
        let rows = |table: &str| {
            format!("{:?}", db.query(&format!("SELECT * FROM {table} ORDER BY 1"), ()).expect("rows"))
        };
        (rows("t"), rows("seen"))
    };
    let db = Options::new().open_device(disk.device()).expect("opens");
    db.execute_script(SCHEMA).expect("runs");
    db.execute_script(
        "CALL put(1, 10);
         CALL add(1, 1);
         CREATE OR REPLACE FUNCTION double() RETURNS trigger LANGUAGE plpgsql AS $$
         BEGIN NEW.v := NEW.v + 1000; RETURN NEW; END $$;
         CALL add(1, 1);
         ALTER TABLE t DISABLE TRIGGER see;
         CALL put(2, 20);
         ALTER TABLE t ENABLE TRIGGER see;
         ALTER TABLE t ADD COLUMN more int DEFAULT 3;
         CREATE OR REPLACE FUNCTION see() RETURNS trigger LANGUAGE plpgsql AS $$
         BEGIN INSERT INTO seen (op, id) VALUES ('more', NEW.more); RETURN NULL; END $$;
         CALL add(2, 5);
         ALTER TRIGGER see ON t RENAME TO watch;
         DROP TRIGGER double ON t;
         CALL add(2, 5);",
    )
    .expect("runs");
    let expected = state(&db);
    drop(db);
    let db = Options::new().open_device(disk.device()).expect("opens again");
    assert_eq!(state(&db), expected);
    db.check().expect("is whole");
    // ... and go on being there, also behind a checkpoint.
    db.execute("CHECKPOINT", ()).expect("is written");
    db.execute("CALL add(2, 1)", ()).expect("runs");
    let expected = state(&db);
    drop(db);
    let db = Options::new().open_device(disk.device()).expect("opens once more");
    assert_eq!(state(&db), expected);
    assert_eq!(lines(&db, "SELECT tgname FROM pg_trigger ORDER BY 1"), ["watch"]);
}

#[test]
fn explain_shows_the_triggers_of_a_procedure() {
    let db = Database::in_memory().expect("opens");
    db.execute_script(SCHEMA).expect("runs");
    let shown = lines(&db, "EXPLAIN PROCEDURE add");
    for trigger in ["trigger double of t", "trigger see of t"] {
        assert!(shown.iter().any(|line| line.contains(trigger)), "{shown:#?}");
    }
    assert!(shown.iter().any(|line| line.contains("Logged as: command")), "{shown:#?}");
    let shown = lines(&db, "EXPLAIN UPDATE t SET v = 1 WHERE id = 1");
    assert!(shown.iter().any(|line| line.contains("Trigger double")), "{shown:#?}");
}

#[test]
fn a_table_that_a_trigger_changes_is_frozen_while_it_is_rewritten() {
    let db = Database::in_memory().expect("opens");
    db.execute_script(SCHEMA).expect("runs");
    db.execute_script("CALL put(1, 1); ALTER TABLE t ALTER COLUMN v TYPE bigint; CALL add(1, 1);")
        .expect("runs");
    assert_eq!(db.query("SELECT v FROM t", ()).expect("rows")[0].get::<i64>(0).expect("a number"), 6);
}

#[test]
fn triggers_are_made_and_fired_within_a_block_that_changes_the_schema() {
    let db = Database::in_memory().expect("opens");
    db.execute_script(SCHEMA).expect("runs");
    let mut session = db.session().expect("a session");
    session
        .execute_script(
            "BEGIN;
             INSERT INTO t VALUES (1, 1);
             CREATE CONSTRAINT TRIGGER c AFTER INSERT ON t DEFERRABLE FOR EACH ROW EXECUTE FUNCTION see();
             INSERT INTO t VALUES (2, 2);
             SAVEPOINT a;
             DROP TRIGGER see ON t;
             INSERT INTO t VALUES (3, 3);
             ROLLBACK TO a;
             SET CONSTRAINTS c IMMEDIATE;
             CALL put(4, 4);
             COMMIT;",
        )
        .expect("runs");
    assert_eq!(lines(&db, "SELECT id::text FROM seen ORDER BY n"), ["1", "2", "2", "4", "4"]);
    session
        .execute_script(
            "BEGIN; SET CONSTRAINTS c DEFERRED; INSERT INTO t VALUES (5, 5); DELETE FROM seen; COMMIT;",
        )
        .expect("runs");
    assert_eq!(lines(&db, "SELECT id::text FROM seen ORDER BY n"), ["5"]);
}

#[test]
fn what_is_not_there_is_refused_when_it_is_created() {
    let db = Database::in_memory().expect("opens");
    db.execute_script(SCHEMA).expect("runs");
    let statement =
        "CREATE CONSTRAINT TRIGGER x AFTER INSERT ON t FROM seen FOR EACH ROW EXECUTE FUNCTION see()";
    let error = db.execute(statement, ()).expect_err("is refused");
    assert_eq!(error.sqlstate(), planaria::SqlState::FEATURE_NOT_SUPPORTED, "{error}");
    let at = error.fields().position.expect("says where") as usize;
    assert!(statement[at..].starts_with("FROM"), "{statement}: {}", &statement[at..]);
}
