//! Composite types of `CREATE TYPE`: calls that pass them are logged as calls, and every scheme replays them.

use crate::logged::{replayed_by_all, stay_calls};

const SCHEMA: &str = "
    CREATE TYPE money_of AS (amount numeric(12,2), currency text);
    CREATE TABLE t (id int PRIMARY KEY, v numeric, currency text);
    CREATE SEQUENCE s;
    CREATE FUNCTION doubled(m money_of) RETURNS money_of LANGUAGE plpgsql AS $$
    DECLARE r money_of;
    BEGIN r := m; r.amount := r.amount * 2; RETURN r; END $$;
    CREATE PROCEDURE put(p_id int, p_amount numeric) LANGUAGE plpgsql AS $$
    DECLARE m money_of := doubled(ROW(p_amount, 'EUR')::money_of);
    BEGIN INSERT INTO t VALUES (p_id, m.amount, m.currency); END $$;
    CREATE PROCEDURE put_money(p_id int, m money_of) LANGUAGE plpgsql AS $$
    BEGIN INSERT INTO t VALUES (p_id, m.amount, m.currency); END $$;";

#[test]
fn calls_are_logged_as_calls() {
    stay_calls(SCHEMA, &["CALL put(1, 5)", "CALL put_money(1, ROW(2, 'USD'))"]);
}

#[test]
fn every_scheme_brings_the_same_rows_back() {
    replayed_by_all(
        SCHEMA,
        &|db| {
            for id in 0..10 {
                db.call("put", (id, id)).expect("put");
                db.execute("CALL put_money($1, ROW($2, 'USD')::money_of)", (100 + id, id)).expect("put");
            }
            db.execute_script(
                "ALTER TYPE money_of ADD ATTRIBUTE note text; ALTER TYPE money_of RENAME ATTRIBUTE note TO remark",
            )
            .expect("altered");
            db.execute("CALL put_money(200, ROW(5, 'USD', 'x'))", ()).expect("put");
            db.execute("CREATE TYPE later AS (a int)", ()).expect("made");
        },
        &|db| {
            let one = |text: &str| db.query(text, ()).expect("rows")[0].get::<String>(0).expect("a text");
            assert_eq!(one("SELECT count(*) || ' ' || sum(v) FROM t"), "21 140.00");
            assert_eq!(one("SELECT (doubled(ROW(3, 'EUR', 'x')::money_of)).remark"), "x");
            assert_eq!(one("SELECT (ROW(3)::later).a::text"), "3");
        },
    );
}
