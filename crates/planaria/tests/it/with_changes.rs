//! Changes in WITH within procedures: how their calls are logged, and what every scheme makes of that.

use crate::logged::{logged, replayed_by_all};

const SCHEMA: &str = "
    CREATE TABLE t (id int PRIMARY KEY, v int NOT NULL);
    CREATE SEQUENCE s;
    CREATE TABLE archive (id int PRIMARY KEY, n int NOT NULL);
    CREATE TABLE moved (at serial PRIMARY KEY, id int, n int);
    CREATE PROCEDURE move(p_id int) LANGUAGE plpgsql AS $$
    BEGIN
        WITH gone AS (DELETE FROM t WHERE id = p_id RETURNING id, v),
             kept AS (INSERT INTO archive SELECT id, v FROM gone RETURNING id, n)
        INSERT INTO moved (id, n) SELECT id, n + 1 FROM kept;
    END $$;
    INSERT INTO t SELECT i, i * 10 FROM generate_series(1, 20) AS i;";

#[test]
fn a_call_is_logged_as_a_call() {
    assert!(logged(&format!("{SCHEMA} CALL move(3);")).iter().any(|record| record.ends_with("call")));
}

#[test]
fn every_scheme_moves_the_same_rows() {
    replayed_by_all(
        SCHEMA,
        &|db| {
            for id in [3, 5, 3, 20, 77] {
                db.call("move", (id,)).expect("moves");
            }
        },
        &|db| {
            let text = "SELECT string_agg(id || ' ' || n, ', ' ORDER BY at) FROM moved";
            let moved = db.query(text, ()).expect("rows")[0].get::<String>(0).expect("a text");
            assert_eq!(moved, "3 31, 5 51, 20 201");
        },
    );
}
