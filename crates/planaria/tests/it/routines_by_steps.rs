//! Routines that change the schema, carried out statement by statement: what every scheme makes of their log, and where
//! they are refused.

use crate::logged::replayed_by_all;
use planaria::{Database, SqlState};

const SCHEMA: &str = "
    CREATE TABLE readings (id int, at date NOT NULL, v int) PARTITION BY RANGE (at);
    CREATE FUNCTION create_partition_for(day date) RETURNS text LANGUAGE plpgsql AS $$
    DECLARE
        first date := date_trunc('month', day);
        name text := 'readings_' || to_char(first, 'YYYY_MM');
    BEGIN
        EXECUTE format('CREATE TABLE IF NOT EXISTS %I PARTITION OF readings FOR VALUES FROM (%L) TO (%L)',
            name, first, (first + interval '1 month')::date);
        INSERT INTO readings VALUES (0, day, 1);
        RETURN name;
    END $$;
    CREATE PROCEDURE make(n int, INOUT made int DEFAULT 0) LANGUAGE plpgsql AS $$
    BEGIN
        CREATE TABLE notes (id int PRIMARY KEY, note text);
        FOR i IN 1 .. n LOOP
            INSERT INTO notes VALUES (i, 'note ' || i);
        END LOOP;
        PERFORM create_partition_for('2024-07-01');
        SELECT count(*) INTO made FROM notes;
    END $$;";

fn number(db: &Database, text: &str) -> i64 {
    db.query(text, ()).expect(text)[0].get::<i64>(0).expect("a number")
}

#[test]
fn every_scheme_makes_the_same_tables() {
    replayed_by_all(
        SCHEMA,
        &|db| {
            for day in ["2024-02-10", "2024-02-20", "2024-03-01"] {
                db.query("SELECT create_partition_for($1::text::date)", (day,)).expect(day);
            }
            let made = db.query("CALL make(3)", ()).expect("calls")[0].get::<i32>(0).expect("a number");
            assert_eq!(made, 3);
            db.query("CALL make(3)", ()).expect_err("there is such a table");
        },
        &|db| {
            assert_eq!(number(db, "SELECT count(*) FROM readings"), 4);
            assert_eq!(number(db, "SELECT count(*) FROM notes"), 3);
            assert_eq!(number(db, "SELECT count(*) FROM pg_class WHERE relname LIKE 'readings\\_%'"), 3);
        },
    );
}

#[test]
fn elsewhere_such_a_call_is_refused() {
    let db = Database::in_memory().expect("opens");
    db.execute_script(SCHEMA).expect("runs");
    for text in [
        "SELECT create_partition_for('2024-02-10') FROM generate_series(1, 2)",
        "SELECT length(create_partition_for('2024-02-10'))",
    ] {
        let error = db.execute(text, ()).expect_err(text);
        assert_eq!(error.sqlstate(), SqlState::FEATURE_NOT_SUPPORTED, "{text}: {error}");
        assert!(error.fields().hint.is_some(), "{text}");
    }
    let error = db.call("make", (3, 0)).expect_err("it is no statement");
    assert_eq!(error.sqlstate(), SqlState::FEATURE_NOT_SUPPORTED, "{error}");
    assert_eq!(number(&db, "SELECT count(*) FROM readings"), 0);
}

#[test]
fn what_steps_cannot_do_is_refused_when_the_routine_is_made() {
    let db = Database::in_memory().expect("opens");
    for text in [
        "CREATE FUNCTION f() RETURNS SETOF record LANGUAGE plpgsql AS $$ BEGIN CREATE TABLE t (a int); END $$",
        "CREATE FUNCTION f(int) RETURNS void LANGUAGE plpgsql AS $$ DECLARE a ALIAS FOR $1; BEGIN CREATE TABLE t (a int); END $$",
        "CREATE PROCEDURE f() LANGUAGE plpgsql SECURITY DEFINER AS $$ BEGIN CREATE TABLE t (a int); END $$",
        "CREATE FUNCTION f() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN CREATE TABLE t (a int); RETURN NEW; END $$",
    ] {
        let error = db.execute(text, ()).expect_err(text);
        assert_eq!(error.sqlstate(), SqlState::FEATURE_NOT_SUPPORTED, "{text}: {error}");
        assert!(error.fields().hint.is_some(), "{text}");
    }
}

#[test]
fn procedures_carried_out_by_steps_end_transactions_and_have_cursors() {
    let db = Database::in_memory().expect("opens");
    for text in [
        "CREATE PROCEDURE f(text) LANGUAGE plpgsql AS $$ DECLARE r record; BEGIN EXECUTE $1 INTO r; COMMIT; END $$",
        "CREATE PROCEDURE g() LANGUAGE plpgsql AS $$ BEGIN CREATE TABLE t (a int); COMMIT; CREATE TABLE u (a int); ROLLBACK; END $$",
        "CREATE PROCEDURE h() LANGUAGE plpgsql AS $$ DECLARE c CURSOR FOR SELECT 1 AS n; BEGIN FOR r IN c LOOP EXECUTE format('CREATE TABLE v%s (a int)', r.n); END LOOP; END $$",
        "CALL f('SELECT 1 AS a')",
        "CALL g()",
        "CALL h()",
    ] {
        db.execute(text, ()).expect(text);
    }
    assert_eq!(number(&db, "SELECT count(*) FROM pg_class WHERE relname IN ('t', 'u', 'v1')"), 2);
}
