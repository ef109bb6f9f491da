//! Texts and arrays that grow by little pieces: in time linear in the result. Were each piece to copy what is
//! there, most of these would copy hundreds of gigabytes.

use planaria::{Database, Options};

fn database() -> Database {
    Options::new().memory_budget(2 << 30).in_memory().expect("opens")
}

fn number(db: &Database, sql: &str) -> i64 {
    db.query(sql, ()).unwrap_or_else(|e| panic!("{sql}: {e}"))[0].get::<i64>(0).expect("a number")
}

/// Runs a body with these declarations, which assigns to `n`, and gives that.
fn body(db: &Database, declare: &str, body: &str) -> i64 {
    let function = format!(
        "CREATE OR REPLACE FUNCTION f() RETURNS bigint LANGUAGE plpgsql AS
         $$ DECLARE n bigint; {declare} BEGIN {body} RETURN n; END $$"
    );
    db.execute_script(&function).unwrap_or_else(|e| panic!("{function}: {e}"));
    number(db, "SELECT f()")
}

#[test]
fn texts_grow_in_loops() {
    let db = database();
    let grown = "s text := '';";
    let n = body(
        &db,
        grown,
        "FOR i IN 1..150000 LOOP s := s || i || ','; END LOOP; n := length(s) + position(',150000,' in s);",
    );
    let digits: i64 = (1..=150_000i64).map(|i| i.to_string().len() as i64 + 1).sum();
    assert_eq!(n, digits + digits - 7);
    // Two that begin alike, and one by the functions.
    let n = body(
        &db,
        "s text := repeat('s', 1000); a text; b text;",
        "a := s; b := s;
         FOR i IN 1..80000 LOOP a := a || 'ab'; b := concat(b, 'c', 'd'); s := concat_ws('', s, 'e', 'f'); END LOOP;
         n := length(replace(a, 'ab', '')) + length(replace(b, 'cd', '')) + length(replace(s, 'ef', ''))
            + 10000000::bigint * length(a || b || s);",
    );
    assert_eq!(n, 3 * 1000 + 10_000_000 * (3 * 161_000));
    let n = body(
        &db,
        "s bytea := '';",
        "FOR i IN 1..150000 LOOP s := s || '\\x0102'::bytea; END LOOP; n := length(s);",
    );
    assert_eq!(n, 300_000);
}

#[test]
fn arrays_grow_in_loops() {
    let db = database();
    let cases = [
        "a := a || i;",
        "a := array_append(a, i);",
        "a := a || ARRAY[i];",
        "a := array_cat(a, ARRAY[i]);",
        "a[i] := i;",
    ];
    for each in cases {
        let n = body(
            &db,
            "a int[]; b int[]; t bigint := 0;",
            &format!(
                "FOR i IN 1..50000 LOOP {each} b := b || ARRAY[i, i]; END LOOP;
                 FOR i IN 1..50000 LOOP t := t + a[i] - b[2 * i]; END LOOP;
                 n := cardinality(a) + t;"
            ),
        );
        assert_eq!(n, 50_000, "{each}");
    }
}

#[test]
fn aggregates_of_many_groups_grow() {
    let db = database();
    for groups in [1, 7, 1000] {
        let n = number(
            &db,
            &format!(
                "SELECT sum(length(s) + cardinality(a) + coalesce(a[2] - a[1], 0))::bigint
                 FROM (SELECT string_agg(lpad(i::text, 9), ',') AS s, array_agg(i) AS a
                       FROM generate_series(1, 120000) AS i GROUP BY i % {groups}) AS g"
            ),
        );
        assert_eq!(n, 120_000 * 10 - groups + 120_000 + groups * groups, "{groups}");
    }
    let n = number(&db, "SELECT length(string_agg(repeat('x', 100), '-')) FROM generate_series(1, 300000)");
    assert_eq!(n, 300_000 * 101 - 1);
    // The longest one is the last.
    let n = number(
        &db,
        "SELECT sum(length(s)) FROM (SELECT string_agg(i::text, '' ORDER BY i) AS s
                                     FROM generate_series(100000, 399999) AS i GROUP BY i / 100000) AS g",
    );
    assert_eq!(n, 6 * 300_000);
}

#[test]
fn what_is_longer_than_a_text_can_be_is_refused() {
    let db = database();
    let many = vec!["s"; 60].join(", ");
    for sql in [
        format!("SELECT length(concat({many}))"),
        format!("SELECT length(concat_ws('-', {many}))"),
        format!("SELECT length(array_to_string(ARRAY[{many}], ','))"),
        "SELECT length(repeat(s, 54))".to_owned(),
        "SELECT length(rpad(s, 1073741824))".to_owned(),
        "SELECT length(replace(s, 'x', repeat('y', 10000)))".to_owned(),
    ] {
        let error = db.query(&format!("{sql} FROM (SELECT repeat('x', 20000000) AS s) AS t"), ());
        let error = error.err().unwrap_or_else(|| panic!("{sql}: it is too long"));
        assert_eq!(
            (error.sqlstate().as_str(), error.message()),
            ("54000", "requested length too large"),
            "{sql}"
        );
    }
    assert_eq!(
        number(&db, "SELECT length(s || s) FROM (SELECT repeat('x', 20000000) AS s) AS t"),
        40_000_000
    );
}
