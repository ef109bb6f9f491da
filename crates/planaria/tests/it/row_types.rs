//! Rows as arguments and results in procedures: how their calls are logged, and what every scheme makes of that.

use crate::logged::{logged, replayed_by_all};
use planaria::{Database, SqlState};

const SCHEMA: &str = "
    CREATE TABLE t (id int PRIMARY KEY, v int NOT NULL, name text);
    CREATE TABLE seen (at serial PRIMARY KEY, what text);
    CREATE SEQUENCE s;
    CREATE FUNCTION shown(r t) RETURNS text LANGUAGE sql AS $$ SELECT r.id || ':' || COALESCE(r.name, '-') $$;
    CREATE FUNCTION more(r t, n int) RETURNS t LANGUAGE plpgsql AS $$
    BEGIN
        r.v := r.v + n;
        RETURN r;
    END $$;
    CREATE FUNCTION row_of(n int) RETURNS t LANGUAGE sql AS $$ SELECT * FROM t WHERE id = n $$;
    CREATE FUNCTION sums(OUT number bigint, OUT total bigint) LANGUAGE sql AS $$ SELECT count(*), sum(v) FROM t $$;
    CREATE FUNCTION note() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
        INSERT INTO seen (what) VALUES (shown(NEW));
        RETURN more(NEW, 1);
    END $$;
    CREATE TRIGGER note BEFORE INSERT ON t FOR EACH ROW EXECUTE FUNCTION note();
    CREATE PROCEDURE put(r t) LANGUAGE plpgsql AS $$
    BEGIN
        INSERT INTO t SELECT (more(r, 10)).*;
    END $$;
    CREATE PROCEDURE take(r t) LANGUAGE plpgsql AS $$
    BEGIN
        IF r IS NULL THEN
            INSERT INTO seen (what) VALUES ('nothing');
        END IF;
        DELETE FROM t WHERE id = r.id AND v <= r.v;
    END $$;
    CREATE PROCEDURE copy(a int, b int) LANGUAGE plpgsql AS $$
    DECLARE
        r t := row_of(a);
    BEGIN
        r.id := b;
        r.name := shown(r) || (sums()).number;
        CALL put(r);
        UPDATE t SET v = (more(t, 100)).v WHERE id = a;
    END $$;
    INSERT INTO t SELECT i, i, 'n' || i FROM generate_series(1, 10) AS i;";

const CALLS: [&str; 7] = [
    "CALL put(ROW(20, 5, 'twenty'))",
    "CALL put(ROW(21, 6, NULL)::t)",
    "CALL copy(1, 30)",
    "CALL copy(30, 31)",
    "CALL take(row_of(2))",
    "CALL take(ROW(3, 1, 'too little'))",
    "CALL take(NULL)",
];

fn rows(db: &Database) -> String {
    let text = "SELECT string_agg(id || ' ' || v || ' ' || COALESCE(name, '-'), ', ' ORDER BY id) FROM t WHERE id < 4 OR id > 10";
    let seen = "SELECT string_agg(what, ' ' ORDER BY at) FROM seen WHERE at > 10";
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
            let expected = "1 102 n1, 3 4 n3, 20 16 twenty, 21 17 -, 30 113 30:n112, 31 24 31:30:n11213; \
                20:twenty 21:- 30:30:n112 31:31:30:n11213 nothing";
            assert_eq!(rows(db), expected);
        },
    );
}

#[test]
fn calls_are_logged_as_calls() {
    let records = logged(&format!("{SCHEMA} {};", CALLS.join("; ")));
    let calls = records.iter().filter(|record| record.ends_with("call")).count();
    // One of them changes nothing.
    assert_eq!(calls, CALLS.len() - 1, "{records:?}");
}

#[test]
fn what_a_row_type_cannot_be_is_refused() {
    let db = Database::in_memory().expect("opens");
    db.execute_script("CREATE TABLE t (id int PRIMARY KEY); CREATE TEMP TABLE mine (id int);").expect("runs");
    for (text, at) in [
        ("CREATE FUNCTION f(OUT r mine) LANGUAGE sql AS $$ SELECT 1 $$", "mine) LANG"),
        ("CREATE PROCEDURE f(INOUT r mine) LANGUAGE sql AS $$ SELECT 1 $$", "mine) LANG"),
        ("CREATE FUNCTION f() RETURNS TABLE (a int, r mine) LANGUAGE sql AS $$ SELECT 1, 2 $$", "mine) LANG"),
        ("CREATE VIEW v AS SELECT (x).* FROM (SELECT t FROM t) AS s(x)", ".* FROM"),
    ] {
        let error = db.execute(text, ()).expect_err(text);
        assert_eq!(error.sqlstate(), SqlState::FEATURE_NOT_SUPPORTED, "{text}: {error}");
        assert!(error.fields().hint.is_some(), "{text}");
        let position = error.fields().position.expect("a place") as usize;
        assert!(text[position..].starts_with(at), "{text}: {}", &text[position..]);
    }
}
