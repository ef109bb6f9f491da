//! Arrays of several dimensions, and those that begin elsewhere than at element 1, as columns, arguments and variables:
//! calls are logged as calls, every scheme brings the same rows back, and so does a checkpoint.

use crate::logged::{replayed_by_all, stay_calls};
use planaria::{Database, Datum, SqlState, Type};

const SCHEMA: &str = "
    CREATE TABLE t (id int PRIMARY KEY, a int[][], b text[]);
    CREATE PROCEDURE put(p_id int, n int) LANGUAGE plpgsql AS $$
    DECLARE
      a int[];
      b text[];
      row int[];
      sum int := 0;
    BEGIN
      a := array_fill(0, ARRAY[2, 3]);
      FOR i IN 1..2 LOOP
        FOR j IN 1..3 LOOP
          a[i][j] := n * 10 + i * j;
        END LOOP;
      END LOOP;
      FOREACH row SLICE 1 IN ARRAY a LOOP
        sum := sum + row[3];
      END LOOP;
      b[0] := 'zero';
      b[2] := sum::text;
      INSERT INTO t VALUES (p_id, a, b);
      UPDATE t SET a[2:2][1:2] = ARRAY[7, 8], b[-1] = 'before' WHERE id = p_id;
    END $$;
    CREATE PROCEDURE put_all(p_id int, p_a int[], p_b text[]) LANGUAGE plpgsql AS $$
    BEGIN
      INSERT INTO t VALUES (p_id, p_a || p_a, p_b);
    END $$;";

const SHOWN: &str = "SELECT string_agg(t::text, ' ' ORDER BY id) FROM t";

fn one(db: &Database, text: &str) -> String {
    db.query(text, ()).expect("rows")[0].get(0).expect("a text")
}

#[test]
fn calls_are_logged_as_calls() {
    stay_calls(
        &format!("{SCHEMA} CREATE SEQUENCE s; ALTER TABLE t ADD COLUMN v int;"),
        &["CALL put(1, 5)", "CALL put_all(1, '{{1,2},{3,4}}', '[0:1]={a,b}')"],
    );
}

#[test]
fn every_scheme_brings_the_same_rows_back() {
    replayed_by_all(
        SCHEMA,
        &|db| {
            for id in 0..10 {
                db.call("put", (id, id)).expect("put");
                let a = vec![vec![id, 1], vec![2, 3]];
                db.call("put_all", (100 + id, a, "[0:1]={a,b}")).expect("put");
            }
            db.execute("UPDATE t SET a[1][1] = -1, b[3:4] = '{x,y}' WHERE id % 2 = 1", ()).expect("changed");
            db.execute("UPDATE t SET a = '[5:6]={1,2}' WHERE id = 2", ()).expect("changed");
        },
        &|db| {
            let row = |id: i32| one(db, &format!("SELECT t::text FROM t WHERE id = {id}"));
            assert_eq!(row(2), "(2,\"[5:6]={1,2}\",\"[-1:2]={before,zero,NULL,49}\")");
            assert_eq!(row(3), "(3,\"{{-1,32,33},{7,8,36}}\",\"[-1:4]={before,zero,NULL,69,x,y}\")");
            assert_eq!(row(104), "(104,\"{{4,1},{2,3},{4,1},{2,3}}\",\"[0:1]={a,b}\")");
            assert_eq!(row(105), "(105,\"{{-1,1},{2,3},{5,1},{2,3}}\",\"[0:4]={a,b,NULL,x,y}\")");
        },
    );
}

#[test]
fn a_checkpoint_has_them() {
    let dir = tempfile::tempdir().expect("a directory");
    let db = Database::open(dir.path()).expect("opened");
    db.execute_script(SCHEMA).expect("schema");
    db.call("put", (1, 5)).expect("put");
    db.execute_script("ALTER TABLE t ALTER COLUMN a SET DEFAULT '[0:0][0:0]={{9}}'").expect("altered");
    db.checkpoint().expect("a checkpoint");
    db.call("put", (2, 6)).expect("put");
    let before = one(&db, SHOWN);
    assert!(before.contains("{{51,52,53},{7,8,56}}"), "{before}");
    drop(db);
    let db = Database::open(dir.path()).expect("opened again");
    assert_eq!(one(&db, SHOWN), before);
    db.execute("INSERT INTO t (id) VALUES (3)", ()).expect("inserted");
    assert_eq!(one(&db, "SELECT a::text FROM t WHERE id = 3"), "[0:0][0:0]={{9}}");
}

#[test]
fn vectors_of_vectors_are_arrays_of_two_dimensions() {
    let db = Database::in_memory().expect("a database");
    let given = vec![vec![1, 2], vec![3, 4], vec![5, 6]];
    let rows = db
        .query("SELECT $1::int[], array_dims($1::int[]), $2::int[]", (given.clone(), given.clone()))
        .expect("rows");
    assert_eq!(rows[0].get::<Vec<Vec<i32>>>(0).expect("an array"), given);
    assert_eq!(rows[0].get::<String>(1).expect("a text"), "[1:3][1:2]");
    assert_eq!(rows[0].get::<Vec<Vec<i32>>>(2).expect("an array"), given);
    let rows = db.query("SELECT '[0:1]={1,2}'::int[], '[0:0][2:3]={{1,2}}'::int[]", ()).expect("rows");
    assert_eq!(rows[0].get::<Vec<i32>>(0).expect("an array"), [1, 2]);
    assert_eq!(rows[0].get::<Vec<Vec<i32>>>(1).expect("an array"), [[1, 2]]);
    assert!(rows[0].get::<Vec<i32>>(1).is_err());
    // What an answer had can be given again.
    let shaped = rows[0].get::<Datum>(1).expect("an array");
    let ints = Type::Array(Box::new(Type::Int4));
    assert_eq!(shaped, Datum::parse(&ints, "[0:0][2:3]={{1,2}}").expect("an array"));
    assert_eq!(one_of(&db, shaped), "[0:0][2:3]={{1,2}}");
    let unlike = db.query("SELECT $1::int[]", (vec![vec![1], vec![2, 3]],)).expect_err("rows of two lengths");
    assert_eq!(unlike.sqlstate(), SqlState::ARRAY_SUBSCRIPT_ERROR);
}

fn one_of(db: &Database, value: Datum) -> String {
    db.query("SELECT $1::int[]::text", (value,)).expect("rows")[0].get(0).expect("a text")
}
