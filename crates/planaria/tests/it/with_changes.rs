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

#[test]
fn every_scheme_changes_rows_of_one_table_in_several_parts() {
    let schema = "
        CREATE TABLE t (id int PRIMARY KEY, v int NOT NULL, note text);
        CREATE SEQUENCE s;
        CREATE FUNCTION those(lowest int) RETURNS SETOF record LANGUAGE sql AS $$
            SELECT id, v FROM t WHERE v >= lowest $$;
        CREATE PROCEDURE transfer(a int, b int, amount int) LANGUAGE plpgsql AS $$
        BEGIN
            WITH taken AS (UPDATE t SET v = v - amount WHERE id = a RETURNING id),
                 told AS (INSERT INTO t VALUES (a + 100, amount, 'told') ON CONFLICT DO NOTHING RETURNING id)
            UPDATE t SET v = v + amount, note = 'given' WHERE id IN (b, a);
            UPDATE t SET note = 'rich' FROM those(40) AS r(id int, n int) WHERE r.id = t.id AND r.n < 100;
        END $$;
        INSERT INTO t SELECT i, i * 10, NULL FROM generate_series(1, 8) AS i;";
    let calls = format!("{schema} CALL transfer(3, 5, 7);");
    assert!(logged(&calls).iter().any(|record| record.ends_with("call")));
    replayed_by_all(
        schema,
        &|db| {
            for (a, b, amount) in [(1, 2, 5), (2, 1, 3), (8, 3, 30), (4, 4, 1)] {
                db.call("transfer", (a, b, amount)).expect("transfers");
            }
        },
        &|db| {
            let text = "SELECT string_agg(concat_ws(' ', id, v, note), ', ' ORDER BY id) FROM t";
            let all = db.query(text, ()).expect("rows")[0].get::<String>(0).expect("a text");
            let expected = "1 8 given, 2 22 given, 3 60 rich, 4 39 rich, 5 50 rich, 6 60 rich, 7 70 rich, 8 50 rich, \
                            101 5 told, 102 3 told, 104 1 told, 108 30 told";
            assert_eq!(all, expected);
        },
    );
}
