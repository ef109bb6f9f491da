//! What changes ask of the table that they change, and the numbers of rows (`ctid`), in procedures: calls are logged as calls, and every
//! scheme replays them.

use crate::logged::{replayed_by_all, stay_calls};

const SCHEMA: &str = "
    CREATE TABLE t (id int PRIMARY KEY, v int);
    CREATE TABLE tree (id int PRIMARY KEY, parent int, v int);
    CREATE TABLE bag (k int, n int);
    CREATE TABLE seen (at serial PRIMARY KEY, what text);
    INSERT INTO tree SELECT i, nullif(i / 2, 0), i * 10 FROM generate_series(1, 12) AS i;
    INSERT INTO bag SELECT i % 4, i FROM generate_series(1, 20) AS i;
    CREATE SEQUENCE s;
    CREATE PROCEDURE raise_all(more int) LANGUAGE plpgsql AS $$
    BEGIN
        WITH u AS (
            UPDATE tree SET v = v + more RETURNING id, (SELECT sum(x.v) FROM tree x WHERE x.id <= tree.id) AS was
        )
        INSERT INTO seen (what) SELECT id || ' ' || was FROM u ORDER BY id;
    END $$;
    CREATE PROCEDURE raise_one(p_id int) LANGUAGE plpgsql AS $$
    DECLARE was int; up int;
    BEGIN
        UPDATE tree SET v = v + 1 WHERE id = p_id
            RETURNING (SELECT x.v FROM tree x WHERE x.id = tree.id), (SELECT p.v FROM tree p WHERE p.id = tree.parent)
            INTO was, up;
        INSERT INTO seen (what) VALUES (was || ' ' || coalesce(up, 0));
        INSERT INTO tree VALUES (p_id, 1, p_id), (p_id + 1, 1, 0), (p_id + 100, 1, 0) ON CONFLICT (id)
            DO UPDATE SET v = tree.v + (SELECT sum(x.v) FROM tree x WHERE x.id < excluded.id);
    END $$;
    CREATE PROCEDURE thin(p_k int) LANGUAGE plpgsql AS $$
    DECLARE place tid;
    BEGIN
        INSERT INTO bag VALUES (p_k, 100), (p_k, 101);
        DELETE FROM bag a USING bag b WHERE a.ctid < b.ctid AND a.k = b.k AND a.k = p_k;
        SELECT max(ctid) INTO place FROM bag;
        UPDATE bag SET n = n + 1 WHERE ctid = place;
        INSERT INTO seen (what) SELECT ctid || ' ' || n FROM bag ORDER BY ctid;
    END $$;
    CREATE PROCEDURE put(p_id int) LANGUAGE plpgsql AS $$
    BEGIN
        INSERT INTO t SELECT p_id, count(*) FROM bag WHERE ctid IN (SELECT ctid FROM bag ORDER BY n LIMIT 3);
    END $$;";

#[test]
fn calls_are_logged_as_calls() {
    stay_calls(SCHEMA, &["CALL raise_all(1)", "CALL raise_one(3)", "CALL thin(1)", "CALL put(1)"]);
}

#[test]
fn every_scheme_brings_the_same_rows_back() {
    replayed_by_all(
        SCHEMA,
        &|db| {
            for i in 1..5 {
                db.call("raise_all", (i,)).expect("raise_all");
                db.call("raise_one", (i * 2,)).expect("raise_one");
                db.call("thin", (i % 3,)).expect("thin");
                db.call("put", (i,)).expect("put");
            }
            let made = "CREATE TABLE made AS WITH n AS (INSERT INTO t VALUES (900, 1) RETURNING id) SELECT id + 1 AS id FROM n";
            db.execute_script(made).expect("made");
        },
        &|db| {
            let one = |text: &str| db.query(text, ()).expect("rows")[0].get::<String>(0).expect("a text");
            assert_eq!(one("SELECT made.id || ' ' || t.id FROM made, t WHERE t.id > 800"), "901 900");
            // Each sum is of the rows as they were before.
            assert_eq!(one("SELECT what FROM seen WHERE at = 3"), "3 60");
            assert_eq!(one("SELECT what FROM seen WHERE at = 13"), "21 11");
            assert_eq!(
                one("SELECT string_agg(k || ':' || n, ' ' ORDER BY ctid) FROM bag WHERE k = 2"),
                "2:102"
            );
        },
    );
}
