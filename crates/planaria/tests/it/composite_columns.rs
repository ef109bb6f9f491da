//! Columns, arrays and parts of composite types: calls are logged as calls, every scheme brings the same rows back, and so
//! does a checkpoint.

use crate::logged::{replayed_by_all, stay_calls};
use planaria::Database;

const SCHEMA: &str = "
    CREATE TYPE addr AS (street text, zip int);
    CREATE TYPE person AS (name text, home addr);
    CREATE TABLE t (id int PRIMARY KEY, a addr, p person, many addr[]);
    CREATE PROCEDURE put(p_id int, z int) LANGUAGE plpgsql AS $$
    DECLARE
      q person := ROW('Ann', ROW('Elm', z));
      all_of addr[] := ARRAY[ROW('x', z)::addr];
    BEGIN
      q.home.zip := (q.home).zip + 1;
      all_of[1].street := 'y';
      INSERT INTO t VALUES (p_id, q.home, q, all_of);
      UPDATE t SET a.zip = (a).zip * 2, p.home.street = 'Oak' WHERE id = p_id;
    END $$;
    CREATE PROCEDURE put_all(p_id int, all_of addr[]) LANGUAGE plpgsql AS $$
    BEGIN
      INSERT INTO t VALUES (p_id, all_of[1], NULL, all_of);
    END $$;";

#[test]
fn calls_are_logged_as_calls() {
    stay_calls(
        &format!("{SCHEMA} CREATE SEQUENCE s; ALTER TABLE t ADD COLUMN v int;"),
        &["CALL put(1, 5)", "CALL put_all(1, ARRAY[ROW('a', 1)::addr, NULL])"],
    );
}

#[test]
fn every_scheme_brings_the_same_rows_back() {
    replayed_by_all(
        SCHEMA,
        &|db| {
            for id in 0..10 {
                db.call("put", (id, id)).expect("put");
                db.execute("CALL put_all($1, ARRAY[ROW('a', $2)::addr, NULL])", (100 + id, id)).expect("put");
            }
            db.execute("UPDATE t SET a = ROW('new', 1), many[2].zip = 7 WHERE id % 2 = 1", ())
                .expect("changed");
            db.execute_script(
                "ALTER TYPE addr RENAME ATTRIBUTE zip TO code;
                 ALTER TABLE t ADD COLUMN b addr DEFAULT ROW('b', 3);
                 ALTER TABLE t ALTER COLUMN b TYPE text USING (b).street || (b).code;
                 ALTER TYPE addr RENAME TO address;
                 CREATE TABLE later (id int PRIMARY KEY, a address, rows t[]);
                 INSERT INTO later SELECT id, a, ARRAY[t] FROM t WHERE id < 5",
            )
            .expect("altered");
        },
        &|db| {
            let one = |text: &str| db.query(text, ()).expect("rows")[0].get::<String>(0).expect("a text");
            let sums = "SELECT count(*) || ' ' || sum((a).code) || ' ' || sum(((p).home).code) || ' ' \
                        || sum((many[1]).code + coalesce((many[2]).code, 0)) FROM t";
            assert_eq!(one(sums), "20 80 55 160");
            assert_eq!(
                one("SELECT t::text FROM t WHERE id = 3"),
                "(3,\"(new,1)\",\"(Ann,\"\"(Oak,4)\"\")\",\"{\"\"(y,3)\"\",\"\"(,7)\"\"}\",b3)"
            );
            assert_eq!(one("SELECT string_agg((rows[1]).b, ',' ORDER BY id) FROM later"), "b3,b3,b3,b3,b3");
        },
    );
}

#[test]
fn a_checkpoint_has_them() {
    let dir = tempfile::tempdir().expect("a directory");
    let shown = "SELECT string_agg(t::text, ' ' ORDER BY id) FROM t";
    let text = |db: &Database| db.query(shown, ()).expect("rows")[0].get::<String>(0).expect("a text");
    let db = Database::open(dir.path()).expect("opened");
    db.execute_script(SCHEMA).expect("schema");
    db.call("put", (1, 5)).expect("put");
    db.checkpoint().expect("a checkpoint");
    db.call("put", (2, 6)).expect("put");
    let before = text(&db);
    drop(db);
    let db = Database::open(dir.path()).expect("opened again");
    assert_eq!(text(&db), before);
    db.execute("UPDATE t SET a.zip = 1", ()).expect("changed");
}
