//! Keys that are DEFERRABLE, and what is put off by SET CONSTRAINTS: how such calls are logged, and what every scheme makes of that.

use crate::logged::{logged, replayed_by_all};
use planaria::{Database, SqlState};

const SCHEMA: &str = "
    CREATE SEQUENCE s;
    CREATE TABLE t (n int PRIMARY KEY DEFERRABLE, v int NOT NULL, id int);
    CREATE TABLE later (id int PRIMARY KEY, place int UNIQUE DEFERRABLE INITIALLY DEFERRED,
        up int REFERENCES later DEFERRABLE);
    INSERT INTO t SELECT i, i, i FROM generate_series(1, 5) AS i;
    CREATE PROCEDURE turn(by int) LANGUAGE plpgsql AS $$
    BEGIN
        UPDATE t SET n = n + by;
    END $$;
    CREATE PROCEDURE swap(a int, b int) LANGUAGE plpgsql AS $$
    BEGIN
        UPDATE t SET n = a + b - n WHERE n IN (a, b);
    END $$;
    CREATE PROCEDURE put(p_id int, p_place int) LANGUAGE plpgsql AS $$
    BEGIN
        INSERT INTO later VALUES (p_id, p_place, p_id);
        UPDATE later SET place = place + 1 WHERE place = p_place AND id <> p_id;
    END $$;";

#[test]
fn calls_stay_calls() {
    let all = logged(&format!("{SCHEMA} CALL turn(1); CALL swap(2, 3); CALL put(1, 1); CALL put(2, 1);"));
    let calls: Vec<_> = all.iter().filter(|record| !record.contains("sequence")).collect();
    assert!(calls.iter().rev().take(4).all(|record| record.ends_with("call")), "{all:?}");
    let block = "BEGIN; SET CONSTRAINTS ALL DEFERRED; CALL turn(1); COMMIT;";
    let all = logged(&format!("{SCHEMA} {block}"));
    let last = all.iter().rfind(|record| !record.contains("sequence"));
    assert!(last.is_some_and(|record| record.ends_with("effects")), "{all:?}");
}

fn rows(db: &Database, text: &str) -> String {
    db.query(text, ()).expect("rows")[0].get::<String>(0).expect("a text")
}

#[test]
fn every_scheme_sees_the_same_rows() {
    replayed_by_all(
        SCHEMA,
        &|db| {
            for by in [1, 2, -1] {
                db.call("turn", (by,)).expect("turns");
            }
            db.call("swap", (3, 7)).expect("swaps");
            let error = db.execute("UPDATE t SET n = 4 WHERE n = 5", ()).expect_err("is refused");
            assert_eq!(error.sqlstate(), SqlState::UNIQUE_VIOLATION, "{error}");
            for id in [1, 2] {
                db.call("put", (id, 1)).expect("puts");
            }
            let error = db.call("put", (3, 1)).expect_err("two rows in one place");
            assert_eq!(error.sqlstate(), SqlState::UNIQUE_VIOLATION, "{error}");
            let mut session = db.session().expect("a session");
            session
                .execute_script(
                    "BEGIN;
                     SET CONSTRAINTS ALL DEFERRED;
                     INSERT INTO later VALUES (10, 10, 11);
                     UPDATE t SET n = 100;
                     UPDATE t SET n = n + v;
                     INSERT INTO later VALUES (11, 10, 10);
                     UPDATE later SET place = 11 WHERE id = 11;
                     COMMIT;
                     BEGIN;
                     INSERT INTO later VALUES (12, 11);
                     CREATE TABLE more (id int);
                     UPDATE later SET place = NULL WHERE id = 11;
                     COMMIT;",
                )
                .expect("runs");
        },
        &|db| {
            assert_eq!(
                rows(db, "SELECT string_agg(n || ' ' || v, ', ' ORDER BY n) FROM t"),
                "101 1, 102 2, 103 3, 104 4, 105 5"
            );
            assert_eq!(
                rows(db, "SELECT string_agg(concat_ws(' ', id, place, up), ', ' ORDER BY id) FROM later"),
                "1 2 1, 2 1 2, 10 10 11, 11 10, 12 11"
            );
        },
    );
}

#[test]
fn a_block_that_changes_the_schema_looks_at_what_its_parts_have_put_off() {
    let db = Database::in_memory().expect("opens");
    let mut session = db.session().expect("a session");
    session.execute_script(SCHEMA).expect("a schema");
    session
        .execute_script("BEGIN; INSERT INTO later VALUES (1, 1), (2, 1); CREATE TABLE more (id int);")
        .expect("waits");
    let error = session.execute_script("COMMIT").expect_err("is refused");
    assert_eq!(error.sqlstate(), SqlState::UNIQUE_VIOLATION, "{error}");
    assert_eq!(rows(&db, "SELECT count(*)::text FROM later"), "0");
}
