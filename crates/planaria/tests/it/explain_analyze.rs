//! EXPLAIN ANALYZE runs what it explains.

use planaria::{Database, SqlState};

fn lines(db: &mut planaria::Session, text: &str) -> Vec<String> {
    db.query(text, ()).unwrap().iter().map(|row| row.get::<String>(0).unwrap()).collect()
}

#[test]
fn rows_are_counted_and_changes_are_made() {
    let db = Database::in_memory().unwrap();
    let mut s = db.session().unwrap();
    s.execute_script(
        "CREATE TABLE t (id int PRIMARY KEY, n int); CREATE VIEW v AS SELECT id FROM t WHERE n > 1",
    )
    .unwrap();
    let inserted = lines(&mut s, "EXPLAIN ANALYZE INSERT INTO t VALUES (1, 1), (2, 2), (3, 3)");
    assert_eq!(inserted[0], "Insert on t (actual rows=0 loops=1)");
    assert!(inserted[inserted.len() - 2].starts_with("Planning Time: "), "{inserted:?}");
    assert!(inserted[inserted.len() - 1].starts_with("Execution Time: "), "{inserted:?}");
    assert!(lines(&mut s, "EXPLAIN ANALYZE SELECT * FROM v")[0].ends_with("(actual rows=2 loops=1)"));
    assert!(!lines(&mut s, "EXPLAIN SELECT * FROM v").iter().any(|line| line.contains("actual")));
    // As part of a transaction, it is undone with it.
    s.execute_script("BEGIN").unwrap();
    lines(&mut s, "EXPLAIN (ANALYZE) DELETE FROM t");
    assert_eq!(s.query("SELECT count(*) FROM t", ()).unwrap()[0].get::<i64>(0).unwrap(), 0);
    s.execute_script("ROLLBACK").unwrap();
    assert_eq!(s.query("SELECT count(*) FROM t", ()).unwrap()[0].get::<i64>(0).unwrap(), 3);
    // What fails, fails here as well.
    let error = s.query("EXPLAIN ANALYZE INSERT INTO t VALUES (1, 1)", ()).unwrap_err();
    assert_eq!(error.sqlstate(), SqlState::UNIQUE_VIOLATION);
    s.execute_script("BEGIN READ ONLY").unwrap();
    let error = s.query("EXPLAIN ANALYZE DELETE FROM t", ()).unwrap_err();
    assert_eq!(error.sqlstate(), SqlState::READ_ONLY_SQL_TRANSACTION);
    s.execute_script("ROLLBACK").unwrap();
}

#[test]
fn as_json() {
    let db = Database::in_memory().unwrap();
    let mut s = db.session().unwrap();
    s.execute_script("CREATE TABLE t (id int PRIMARY KEY); INSERT INTO t SELECT generate_series(1, 7)")
        .unwrap();
    let text = lines(&mut s, "EXPLAIN (ANALYZE, FORMAT JSON) SELECT * FROM t WHERE id > 2").join("\n");
    let plan: serde_json::Value = serde_json::from_str(&text).unwrap();
    assert_eq!(plan[0]["Plan"]["Actual Rows"], 5);
    assert!(plan[0]["Execution Time"].is_f64());
}
