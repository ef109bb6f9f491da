//! Aggregates that users make, and bodies that are no strings: calls that use them are logged as calls, and every scheme
//! replays them.

use crate::logged::{replayed_by_all, stay_calls};

const SCHEMA: &str = "
    CREATE TABLE t (id int PRIMARY KEY, v int);
    CREATE TABLE given (k int PRIMARY KEY, n int);
    INSERT INTO given VALUES (1, 3), (2, 4), (3, NULL), (4, 5);
    CREATE SEQUENCE s;
    CREATE FUNCTION times(a int, b int) RETURNS int LANGUAGE plpgsql STRICT AS $$ BEGIN RETURN a * b; END $$;
    CREATE FUNCTION negated(a int) RETURNS int RETURN -a;
    CREATE AGGREGATE product(int) (SFUNC = times, STYPE = int, FINALFUNC = negated, INITCOND = '1');
    CREATE AGGREGATE total(int) (SFUNC = int4pl, STYPE = int);
    CREATE PROCEDURE put(p_id int, first int) LANGUAGE plpgsql AS $$
    DECLARE p int;
    BEGIN
        SELECT product(n) INTO p FROM given WHERE k >= first;
        INSERT INTO t SELECT p_id, p + total(n) FROM given WHERE k >= first;
    END $$;
    CREATE PROCEDURE put_atomic(p_id int) BEGIN ATOMIC
        INSERT INTO t SELECT p_id, total(n) FROM given; UPDATE t SET v = v + 1 WHERE id = p_id; END;";

#[test]
fn calls_are_logged_as_calls() {
    stay_calls(SCHEMA, &["CALL put(1, 1)", "CALL put_atomic(1)"]);
}

#[test]
fn every_scheme_brings_the_same_rows_back() {
    replayed_by_all(
        SCHEMA,
        &|db| {
            for id in 0..8 {
                db.call("put", (id, id % 4)).expect("put");
                db.call("put_atomic", (100 + id,)).expect("put");
            }
            db.execute_script("CREATE OR REPLACE FUNCTION times(a int, b int) RETURNS int LANGUAGE sql STRICT AS 'SELECT a + b'")
                .expect("replaced");
            db.call("put", (50, 1)).expect("put");
            db.execute_script("ALTER AGGREGATE product(int) RENAME TO multiplied; DROP PROCEDURE put; CREATE AGGREGATE later(*) (SFUNC = int8inc, STYPE = int8, INITCOND = '0')")
                .expect("changed");
        },
        &|db| {
            let one = |text: &str| db.query(text, ()).expect("rows")[0].get::<String>(0).expect("a text");
            assert_eq!(
                one(
                    "SELECT string_agg(id || ':' || v, ' ' ORDER BY id) FROM t WHERE id IN (0, 2, 3, 50, 101)"
                ),
                "0:-48 2:-11 3:0 50:-1 101:13"
            );
            assert_eq!(one("SELECT multiplied(n)::text FROM given"), "-13");
            assert_eq!(one("SELECT later(*)::text FROM t"), "17");
            assert_eq!(one("SELECT negated(5)::text"), "-5");
        },
    );
}
