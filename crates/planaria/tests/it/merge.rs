//! MERGE in procedures: how their calls are logged, and what every scheme makes of that; EXPLAIN and the command tag.

use crate::logged::{logged, replayed_by_all};
use planaria::Database;

const SCHEMA: &str = "
    CREATE TABLE t (id int PRIMARY KEY, v int NOT NULL);
    CREATE SEQUENCE s;
    CREATE TABLE more (id int PRIMARY KEY, n int NOT NULL);
    CREATE PROCEDURE put(p_id int, p_n int) LANGUAGE plpgsql AS $$
    BEGIN
        MERGE INTO t USING (SELECT p_id AS id, p_n AS n) s ON t.id = s.id
        WHEN MATCHED AND s.n IS NULL THEN DELETE
        WHEN MATCHED THEN UPDATE SET v = t.v + s.n
        WHEN NOT MATCHED AND s.n IS NOT NULL THEN INSERT VALUES (s.id, s.n);
    END $$;
    CREATE PROCEDURE pour(p_n int) LANGUAGE plpgsql AS $$
    BEGIN
        MERGE INTO t USING more ON t.id = more.id
        WHEN MATCHED AND t.v > 100 THEN DELETE
        WHEN MATCHED THEN UPDATE SET v = t.v + more.n + (SELECT count(*) FROM t)
        WHEN NOT MATCHED THEN INSERT VALUES (more.id, p_n);
    END $$;
    INSERT INTO t SELECT i, i * 10 FROM generate_series(1, 12) AS i;
    INSERT INTO more SELECT i, 1 FROM generate_series(8, 20) AS i;";

#[test]
fn a_call_is_logged_as_a_call() {
    for call in ["CALL put(3, 5);", "CALL pour(1);"] {
        assert!(logged(&format!("{SCHEMA} {call}")).iter().any(|record| record.ends_with("call")), "{call}");
    }
}

#[test]
fn every_scheme_makes_the_same_rows() {
    replayed_by_all(
        SCHEMA,
        &|db| {
            for (id, n) in [(3, Some(5)), (30, Some(7)), (4, None), (40, None), (30, Some(1)), (3, None)] {
                db.call("put", (id, n)).expect("puts");
            }
            db.call("pour", (77,)).expect("pours");
            db.call("pour", (78,)).expect("pours");
        },
        &|db| {
            let text = "SELECT string_agg(id || ' ' || v, ', ' ORDER BY id) FROM t";
            let rows = db.query(text, ()).expect("rows")[0].get::<String>(0).expect("a text");
            let expected = "1 10, 2 20, 5 50, 6 60, 7 70, 8 110, 11 78, 12 78, 13 95, 14 95, 15 95, 16 95, 17 95, \
                18 95, 19 95, 20 95, 30 8";
            assert_eq!(rows, expected);
        },
    );
}

#[test]
fn it_is_explained_and_says_how_many_rows_it_changed() {
    let db = Database::in_memory().expect("opens");
    db.execute_script(SCHEMA).expect("runs");
    let merge = "MERGE INTO t USING more ON t.id = more.id WHEN MATCHED THEN DELETE \
                 WHEN NOT MATCHED AND more.id < 15 THEN INSERT VALUES (more.id, 0)";
    let plan = db.query(&format!("EXPLAIN {merge}"), ()).expect("a plan");
    assert_eq!(plan[0].get::<String>(0).expect("a line"), "Merge on t");
    assert_eq!(db.execute(merge, ()).expect("merges"), 7);
}
