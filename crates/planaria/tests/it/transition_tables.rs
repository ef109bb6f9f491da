//! Transition tables are part of the programs that fire their triggers: how such calls are logged, and what every scheme makes of that.

use crate::logged::{logged, replayed_by_all};
use planaria::{Database, SqlState};

const SCHEMA: &str = "
    CREATE SEQUENCE s;
    CREATE TABLE t (id int PRIMARY KEY, v int NOT NULL, tags text[]);
    CREATE TABLE part (id int PRIMARY KEY, t int REFERENCES t ON DELETE CASCADE);
    CREATE TABLE total (what text PRIMARY KEY, n bigint NOT NULL, v bigint NOT NULL);
    CREATE TABLE seen (n serial PRIMARY KEY, what text, id int, was int, is_now int, tags text[]);
    INSERT INTO total VALUES ('t', 0, 0);
    CREATE FUNCTION put() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
        UPDATE total SET n = n + (SELECT count(*) FROM rows_now), v = v + (SELECT coalesce(sum(v), 0) FROM rows_now) WHERE what = 't';
        INSERT INTO seen (what, id, is_now, tags) SELECT tg_op, id, v, tags FROM rows_now ORDER BY id;
        RETURN NULL;
    END $$;
    CREATE FUNCTION changed() RETURNS trigger LANGUAGE plpgsql AS $$
    DECLARE r record;
    BEGIN
        FOR r IN SELECT o.id, o.v AS was, n.v AS is_now FROM n JOIN o ON n.id = o.id ORDER BY o.id LOOP
            INSERT INTO seen (what, id, was, is_now) VALUES (tg_op, r.id, r.was, r.is_now);
            UPDATE total SET v = v + r.is_now - r.was WHERE what = 't';
        END LOOP;
        RETURN NULL;
    END $$;
    CREATE FUNCTION gone() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
        INSERT INTO seen (what, id, was) SELECT tg_table_name, id, count(*) OVER () FROM rows_then ORDER BY id;
        RETURN NULL;
    END $$;
    CREATE TRIGGER a AFTER INSERT ON t REFERENCING NEW TABLE AS rows_now EXECUTE FUNCTION put();
    CREATE TRIGGER b AFTER UPDATE ON t REFERENCING NEW TABLE AS n OLD TABLE AS o EXECUTE FUNCTION changed();
    CREATE TRIGGER c AFTER DELETE ON t REFERENCING OLD TABLE AS rows_then FOR EACH ROW EXECUTE FUNCTION gone();
    CREATE TRIGGER d AFTER DELETE ON part REFERENCING OLD TABLE AS rows_then EXECUTE FUNCTION gone();
    CREATE PROCEDURE add(p_id int, p_v int) LANGUAGE plpgsql AS $$
    BEGIN
        INSERT INTO t VALUES (p_id, p_v, ARRAY['a', NULL]), (p_id + 1, p_v + 1, NULL);
        INSERT INTO part VALUES (p_id, p_id), (p_id + 1, p_id);
    END $$;
    CREATE PROCEDURE one(p_id int, p_v int) LANGUAGE plpgsql AS $$
    BEGIN
        INSERT INTO t VALUES (p_id, p_v, '{}') ON CONFLICT (id) DO UPDATE SET v = excluded.v;
    END $$;
    CREATE PROCEDURE more(p_from int, p_v int) LANGUAGE plpgsql AS $$
    BEGIN
        FOR i IN 1..2 LOOP
            UPDATE t SET v = v + p_v WHERE id >= p_from;
        END LOOP;
    END $$;
    CREATE PROCEDURE remove(p_from int) LANGUAGE plpgsql AS $$
    BEGIN
        DELETE FROM t WHERE id >= p_from;
    END $$;";

#[test]
fn calls_stay_calls() {
    let all = logged(&format!(
        "{SCHEMA} CALL add(1, 10); CALL one(1, 5); CALL one(7, 5); CALL more(2, 1); CALL remove(2);"
    ));
    let calls: Vec<_> = all.iter().filter(|record| !record.contains("sequence")).collect();
    assert!(calls.iter().rev().take(5).all(|record| record.ends_with("call")), "{all:?}");
}

#[test]
fn every_scheme_sees_the_same_rows() {
    replayed_by_all(
        SCHEMA,
        &|db| {
            for id in [10, 20, 30] {
                db.call("add", (id, id * 2)).expect("adds");
            }
            db.call("one", (10, 5)).expect("changes");
            db.call("one", (40, 6)).expect("adds");
            db.call("more", (21, 100)).expect("changes");
            db.execute("UPDATE t SET v = v + 1 WHERE id < 20", ()).expect("changes");
            db.call("remove", (30,)).expect("removes");
        },
        &|db| {
            let text =
                "SELECT string_agg(concat_ws(' ', what, id, was, is_now, tags), ', ' ORDER BY n) FROM seen";
            let seen = db.query(text, ()).expect("rows")[0].get::<String>(0).expect("a text");
            assert_eq!(
                seen,
                "INSERT 10 20 {a,NULL}, INSERT 11 21, INSERT 20 40 {a,NULL}, INSERT 21 41, INSERT 30 60 {a,NULL}, INSERT 31 61, \
                 UPDATE 10 20 5, INSERT 40 6 {}, \
                 UPDATE 21 41 141, UPDATE 30 60 160, UPDATE 31 61 161, UPDATE 40 6 106, \
                 UPDATE 21 141 241, UPDATE 30 160 260, UPDATE 31 161 261, UPDATE 40 106 206, \
                 UPDATE 10 5 6, UPDATE 11 21 22, \
                 t 30 3, t 31 3, t 40 3, t 30 3, t 31 3, t 40 3, t 30 3, t 31 3, t 40 3, part 30 2, part 31 2"
            );
            let total = db.query("SELECT n || ' ' || v FROM total", ()).expect("rows");
            assert_eq!(total[0].get::<String>(0).expect("a text"), "7 1036");
        },
    );
}

#[test]
fn parts_of_a_statement_that_change_the_same_rows_are_refused() {
    let db = Database::in_memory().expect("opens");
    db.execute_script(SCHEMA).expect("runs");
    let statement =
        "WITH a AS (INSERT INTO t VALUES (1, 1) RETURNING id) INSERT INTO t SELECT id + 1, 1 FROM a";
    let error = db.execute(statement, ()).expect_err("is refused");
    assert_eq!(error.sqlstate(), SqlState::FEATURE_NOT_SUPPORTED, "{error}");
    assert!(error.fields().hint.is_some(), "{error}");
    db.execute(
        "WITH a AS (INSERT INTO t VALUES (1, 1) RETURNING id) INSERT INTO part SELECT id, id FROM a",
        (),
    )
    .expect("runs");
}
