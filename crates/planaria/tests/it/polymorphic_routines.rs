//! Polymorphic routines in procedures: how their calls are logged, and what every scheme makes of that.

use crate::logged::{logged, replayed_by_all};
use planaria::{Database, SqlState};

const SCHEMA: &str = "
    CREATE TABLE t (id int PRIMARY KEY, v int NOT NULL, name text);
    CREATE TABLE seen (at serial PRIMARY KEY, what text);
    CREATE SEQUENCE s;
    CREATE FUNCTION larger(a anycompatible, b anycompatible) RETURNS anycompatible LANGUAGE sql AS $$
        SELECT CASE WHEN a > b THEN a ELSE b END
    $$;
    CREATE FUNCTION last_of(VARIADIC l anyarray) RETURNS anyelement LANGUAGE plpgsql AS $$
    BEGIN
        RETURN l[cardinality(l)];
    END $$;
    CREATE FUNCTION note(v anyelement) RETURNS anyelement LANGUAGE plpgsql AS $$
    BEGIN
        INSERT INTO seen (what) VALUES (pg_typeof(v) || ' ' || v);
        RETURN v;
    END $$;
    CREATE FUNCTION stored(k anyelement) RETURNS int LANGUAGE plpgsql AS $$
    DECLARE
        found_one int;
    BEGIN
        SELECT v INTO found_one FROM t WHERE id = k;
        UPDATE t SET v = v + 1 WHERE id = k;
        RETURN found_one;
    END $$;
    CREATE PROCEDURE raise_to(k int, at_least int) LANGUAGE plpgsql AS $$
    DECLARE
        was int := stored(k);
    BEGIN
        UPDATE t SET v = larger(v, at_least), name = note(last_of('a', name, 'of ' || was)) WHERE id = k;
    END $$;
    CREATE PROCEDURE put(k anyelement, other anyelement) LANGUAGE plpgsql AS $$
    BEGIN
        INSERT INTO t VALUES (k::int, larger(k, other)::int, note(k)::text);
    END $$;
    INSERT INTO t SELECT i, i, 'n' || i FROM generate_series(1, 10) AS i;";

const CALLS: [&str; 6] = [
    "CALL raise_to(1, 40)",
    "CALL raise_to(2, 1)",
    "CALL put(20, 21)",
    "CALL put('30'::text, '4')",
    "SELECT note(1.5), note(true)",
    "CALL raise_to(1, 41)",
];

fn rows(db: &Database) -> String {
    let text =
        "SELECT string_agg(id || ' ' || v || ' ' || name, ', ' ORDER BY id) FROM t WHERE id < 3 OR id > 10";
    let seen = "SELECT string_agg(what, ', ' ORDER BY at) FROM seen";
    let one = |text| db.query(text, ()).expect("rows")[0].get::<String>(0).expect("a text");
    format!("{}; {}", one(text), one(seen))
}

#[test]
fn every_scheme_makes_the_same_rows() {
    replayed_by_all(
        SCHEMA,
        &|db| {
            for call in CALLS {
                db.execute(call, ()).expect(call);
            }
        },
        &|db| {
            let expected = "1 41 of 40, 2 3 of 2, 20 21 20, 30 4 30; \
                text of 1, text of 2, integer 20, text 30, numeric 1.5, boolean true, text of 40";
            assert_eq!(rows(db), expected);
        },
    );
}

#[test]
fn calls_of_what_calls_them_are_logged_as_calls() {
    let records = logged(&format!("{SCHEMA} {};", CALLS.join("; ")));
    let calls = records.iter().filter(|record| record.ends_with("call")).count();
    assert_eq!(calls, 3, "{records:?}");
}

#[test]
fn a_call_by_name_is_refused() {
    let db = Database::in_memory().expect("opens");
    db.execute_script(SCHEMA).expect("runs");
    let error = db.call("put", (1, 2)).expect_err("nothing says the types");
    assert_eq!(error.sqlstate(), SqlState::FEATURE_NOT_SUPPORTED, "{error}");
    assert!(error.fields().hint.is_some());
    db.execute("CALL put($1, $2)", (50, 60)).expect("they are those of the values");
    assert_eq!(db.query("SELECT v FROM t WHERE id = 50", ()).expect("rows")[0].get::<i32>(0).expect("v"), 60);
}

#[test]
fn a_change_of_the_routine_is_one_of_its_calls() {
    let db = Database::in_memory().expect("opens");
    db.execute_script(SCHEMA).expect("runs");
    let one = |text: &str| db.query(text, ()).expect(text)[0].get::<i32>(0).expect("a number");
    assert_eq!(one("SELECT larger(1, 2)"), 2);
    let smaller = "CREATE OR REPLACE FUNCTION larger(a anycompatible, b anycompatible) RETURNS anycompatible
        LANGUAGE sql AS $$ SELECT CASE WHEN a > b THEN b ELSE a END $$";
    db.execute(smaller, ()).expect("replaces");
    assert_eq!(one("SELECT larger(1, 2)"), 1);
    db.execute("CALL raise_to(5, 3)", ()).expect("calls");
    assert_eq!(one("SELECT v FROM t WHERE id = 5"), 3);
}
