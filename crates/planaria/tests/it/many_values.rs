//! VALUES of more rows than a program has registers.

use crate::logged::replayed_by_all;
use planaria::Database;
use std::fmt::Write;

fn values(n: usize) -> String {
    let mut text = String::new();
    for i in 0..n {
        // Now and then one that is no constant.
        let name = if i % 1000 == 999 { format!("lower('ROW {i}')") } else { format!("'row {i}'") };
        let _ = write!(text, "{}({i}, {name}, {}.5, NULL)", if i == 0 { "" } else { "," }, i % 7);
    }
    text
}

#[test]
fn a_hundred_thousand_rows_are_inserted_by_one_statement() {
    let db = Database::in_memory().expect("opens");
    db.execute_script("CREATE TABLE t (id int PRIMARY KEY, name text, n numeric(6, 2), d date)")
        .expect("runs");
    let inserted = db.execute(&format!("INSERT INTO t VALUES {}", values(100_000)), ()).expect("inserts");
    assert_eq!(inserted, 100_000);
    let sum = "SELECT count(*), count(DISTINCT name), sum(n)::text, count(d) FROM ";
    let row = &db.query(&format!("{sum} t"), ()).expect("reads")[0];
    let (n, names, total): (i64, i64, String) =
        (row.get(0).expect("a number"), row.get(1).expect("a number"), row.get(2).expect("a text"));
    let expected: usize = (0..100_000).map(|i| i % 7).sum();
    assert_eq!((n, names, total), (100_000, 100_000, format!("{}.00", expected + 50_000)));
    let listed =
        db.query(&format!("{sum} (VALUES {}) v(id, name, n, d)", values(70_000)), ()).expect("reads");
    assert_eq!(listed[0].get::<i64>(1).expect("a number"), 70_000);
}

/// In a procedure, whose calls are logged, too.
#[test]
fn every_scheme_replays_a_call_with_a_long_list() {
    let script = format!(
        "CREATE TABLE t (at int, id int, name text, n numeric(6, 2), d date, PRIMARY KEY (at, id));
         CREATE PROCEDURE put(p_at int) LANGUAGE plpgsql AS $$
         BEGIN
             INSERT INTO t SELECT p_at, v.* FROM (VALUES {}) AS v WHERE column1 % p_at = 0;
         END $$;",
        values(300).replace("NULL", "NULL::date")
    );
    replayed_by_all(
        &script,
        &|db| {
            for at in [1, 2, 7] {
                db.call("put", (at,)).expect("puts");
            }
        },
        &|db| {
            let rows = db.query("SELECT count(*) FROM t", ()).expect("counts")[0].get::<i64>(0);
            assert_eq!(rows.expect("a number"), 300 + 150 + 43);
        },
    );
}
