//! What users nest, chain and repeat ends: with an answer, or with an error in time. See also `limits`.

use planaria::{Database, Error, Options, Session};
use std::time::{Duration, Instant};

/// Runs on a thread with a stack as the server's and most embedders' have.
fn on_a_thread<T: Send>(f: impl FnOnce() -> T + Send) -> T {
    crate::on_a_stack(2 << 20, f)
}

fn state<T>(outcome: Result<T, Error>) -> String {
    outcome.map(|_| ()).map_or_else(|e| e.sqlstate().as_str().to_owned(), |()| "00000".to_owned())
}

fn column(session: &mut Session, sql: &str) -> Vec<Option<String>> {
    let rows = session.query(sql, ()).unwrap_or_else(|e| panic!("{}: {e}", &sql[..sql.len().min(200)]));
    rows.iter().map(|row| row.text(0)).collect()
}

fn texts(values: &[&str]) -> Vec<Option<String>> {
    values.iter().map(|v| Some((*v).to_owned())).collect()
}

/// A chain of CTEs, each made of the one before.
fn chain(n: usize, next: &dyn Fn(usize) -> String) -> String {
    let all: Vec<String> = (1..n).map(|i| format!("c{i} AS ({})", next(i - 1))).collect();
    format!("WITH c0 AS (SELECT 1 AS a), {} SELECT a FROM c{}", all.join(", "), n - 1)
}

#[test]
fn views_in_a_circle_are_refused_where_they_are_read() {
    let db = Database::in_memory().expect("opens");
    on_a_thread(|| {
        db.execute_script(
            "CREATE TABLE t (a int);
             CREATE VIEW v1 AS SELECT * FROM t;
             CREATE VIEW v2 AS SELECT * FROM v1;
             CREATE OR REPLACE VIEW v1 AS SELECT * FROM v2;",
        )
        .expect("PostgreSQL takes it");
        let mut session = db.session().expect("a session");
        for (sql, view) in [
            ("SELECT * FROM v1", "v1"),
            ("SELECT * FROM v2", "v2"),
            ("SELECT (SELECT count(*) FROM v1)", "v1"),
            ("CREATE VIEW v7 AS SELECT * FROM v1", "v1"),
            ("CREATE TABLE u AS SELECT * FROM v2", "v2"),
            ("INSERT INTO t SELECT a FROM v1", "v1"),
            ("DELETE FROM t WHERE a IN (SELECT a FROM v1)", "v1"),
            ("EXPLAIN SELECT * FROM v1", "v1"),
        ] {
            let error = session.execute(sql, ()).expect_err(sql);
            let expected = format!("infinite recursion detected in rules for relation \"{view}\"");
            assert_eq!((error.sqlstate().as_str(), error.message()), ("42P17", &*expected), "{sql}");
        }
        for sql in [
            "SELECT count(*) FROM pg_class",
            "SELECT count(*) FROM pg_attribute",
            "SELECT count(*) FROM information_schema.columns",
            "SELECT pg_get_viewdef('v1'::regclass)",
            "CREATE TABLE other (a int)",
            "ALTER TABLE t ADD CHECK (a > 0)",
            "COMMENT ON VIEW v1 IS 'circle'",
            "GRANT SELECT ON v1 TO PUBLIC",
            "CREATE FUNCTION f() RETURNS bigint LANGUAGE sql AS 'SELECT count(*) FROM t'",
        ] {
            session.execute(sql, ()).unwrap_or_else(|e| panic!("{sql}: {e}"));
        }
        // It can be taken apart again.
        session.execute("CREATE OR REPLACE VIEW v1 AS SELECT * FROM t", ()).expect("replaces");
        session.execute("SELECT * FROM v2", ()).expect("reads");
        session.execute("CREATE OR REPLACE VIEW v1 AS SELECT * FROM v2", ()).expect("replaces");
        session.execute("DROP TABLE t CASCADE", ()).expect("drops");
        assert_eq!(state(session.execute("SELECT * FROM v1", ())), "42P17");
        session.execute("DROP VIEW v2 CASCADE", ()).expect("drops");
        assert_eq!(state(session.execute("SELECT * FROM v1", ())), "42P01");
    });
}

#[test]
fn long_chains_of_ctes_run() {
    let db = Database::in_memory().expect("opens");
    on_a_thread(|| {
        let mut session = db.session().expect("a session");
        for n in [2, 11, 12, 13, 24, 25, 100, 500] {
            let plain = chain(n, &|before| format!("SELECT a + 1 AS a FROM c{before}"));
            assert_eq!(column(&mut session, &plain), texts(&[&n.to_string()]), "{n}");
            let united = chain(n, &|before| format!("SELECT a FROM c{before} UNION SELECT {before}"));
            assert_eq!(column(&mut session, &format!("SELECT count(*) FROM ({united}) AS u")).len(), 1);
        }
        // Each reads the one before twice.
        let twice =
            chain(40, &|before| format!("SELECT x.a FROM c{before} AS x, c{before} AS y WHERE x.a = y.a"));
        let begun = Instant::now();
        assert_eq!(column(&mut session, &twice), texts(&["1"]));
        let subqueries =
            chain(40, &|before| format!("SELECT a FROM c{before} WHERE a IN (SELECT a FROM c{before})"));
        assert_eq!(column(&mut session, &subqueries), texts(&["1"]));
        assert!(begun.elapsed() < Duration::from_secs(60), "{:?}", begun.elapsed());
        // What draws stays where it stands: so many are refused, or run.
        let drawn = chain(500, &|before| format!("SELECT a + 0 * random()::int AS a FROM c{before}"));
        assert!(["00000", "54001"].contains(&&*state(session.query(&drawn, ()))));
        let recursive = chain(100, &|before| {
            format!(
                "SELECT * FROM (WITH RECURSIVE r(a) AS (SELECT a FROM c{before} UNION SELECT a FROM r) SELECT a FROM r) AS s"
            )
        });
        assert_eq!(column(&mut session, &recursive), texts(&["1"]));
    });
}

#[test]
fn views_on_views_run_or_are_refused() {
    let db = Database::in_memory().expect("opens");
    on_a_thread(|| {
        db.execute_script(
            "CREATE TABLE t (a int); INSERT INTO t VALUES (1); CREATE VIEW v0 AS SELECT a FROM t",
        )
        .expect("the schema");
        let mut session = db.session().expect("a session");
        let mut made = 0;
        for i in 1..500 {
            match session.execute(&format!("CREATE VIEW v{i} AS SELECT a FROM v{}", i - 1), ()) {
                Ok(_) => made = i,
                Err(error) => {
                    assert_eq!(error.sqlstate().as_str(), "54001", "{error}");
                    break;
                }
            }
        }
        // What may be made may be read, if not always in one query more.
        let top = made - 5;
        assert!(top >= 25, "{made}");
        assert_eq!(column(&mut session, &format!("SELECT a FROM v{top}")), texts(&["1"]));
        assert!(["00000", "54001"].contains(&&*state(session.query(&format!("SELECT a FROM v{made}"), ()))));
        session.execute("SELECT count(*) FROM pg_attribute", ()).expect("reads");
        session.execute("DROP VIEW v0 CASCADE", ()).expect("drops");
        // Each reads the one before twice.
        session.execute("CREATE VIEW w0 AS SELECT a FROM t", ()).expect("a view");
        for i in 1..30 {
            let before = i - 1;
            let sql = format!(
                "CREATE VIEW w{i} AS SELECT x.a FROM w{before} AS x JOIN w{before} AS y ON x.a = y.a"
            );
            session.execute(&sql, ()).unwrap_or_else(|e| panic!("{i}: {e}"));
        }
        assert_eq!(column(&mut session, "SELECT a FROM w29"), texts(&["1"]));
        assert_eq!(column(&mut session, "SELECT count(*) FROM w29 WHERE a = 2"), texts(&["0"]));
    });
}

#[test]
fn recursion_gives_its_rows_as_they_come() {
    let db = Database::in_memory().expect("opens");
    db.execute_script("CREATE TABLE t (a int PRIMARY KEY); INSERT INTO t VALUES (1), (2), (7)")
        .expect("rows");
    let mut session = db.session().expect("a session");
    session.execute("SET statement_timeout = '60s'", ()).expect("sets");
    let endless = "WITH RECURSIVE r(n) AS (VALUES (1) UNION ALL SELECT n + 1 FROM r)";
    let distinct = "WITH RECURSIVE r(n) AS (SELECT 1 UNION SELECT n + 1 FROM r)";
    let pairs = "WITH RECURSIVE r(n) AS (VALUES (1), (2) UNION ALL SELECT n + 10 FROM r)";
    let failing = "WITH RECURSIVE r(n) AS (VALUES (3) UNION ALL SELECT n - 6 / n FROM r)";
    for (sql, expected) in [
        (format!("{endless} SELECT n FROM r LIMIT 3"), &["1", "2", "3"][..]),
        (format!("{endless} SELECT n FROM r OFFSET 2 FETCH FIRST 2 ROWS ONLY"), &["3", "4"]),
        (format!("{endless} SELECT n FROM r WHERE n % 5 = 0 LIMIT 2"), &["5", "10"]),
        (format!("{endless} SELECT EXISTS (SELECT 1 FROM r WHERE n > 9)"), &["t"]),
        (format!("{endless} SELECT a FROM t WHERE EXISTS (SELECT 1 FROM r WHERE n > 9) ORDER BY a"), &["1", "2", "7"]),
        (format!("{endless} SELECT x.n FROM (SELECT n * 2 AS n FROM r) AS x LIMIT 2"), &["2", "4"]),
        (format!("{endless} SELECT r.n FROM r JOIN t ON t.a = r.n LIMIT 3"), &["1", "2", "7"]),
        (format!("{distinct} SELECT n FROM r LIMIT 3"), &["1", "2", "3"]),
        (format!("{pairs} SELECT n FROM r LIMIT 5"), &["1", "2", "11", "12", "21"]),
        (format!("{failing} SELECT n FROM r LIMIT 2"), &["3", "1"]),
        (format!("SELECT x FROM ({endless} SELECT n FROM r LIMIT 2) AS s(x)"), &["1", "2"]),
        ("WITH RECURSIVE r(n) AS (VALUES (1) UNION ALL SELECT n + 1 FROM r WHERE n < 3) SELECT x.n * 10 + y.n FROM r AS x, r AS y ORDER BY 1 LIMIT 4".to_owned(), &["11", "12", "13", "21"]),
        ("WITH RECURSIVE r(n) AS (VALUES (1) UNION ALL SELECT n + 1 FROM r WHERE n < 3) SELECT t.a * 10 + n FROM t, r WHERE a < 7 ORDER BY 1".to_owned(), &["11", "12", "13", "21", "22", "23"]),
    ] {
        assert_eq!(column(&mut session, &sql), texts(expected), "{sql}");
    }
}

/// A routine goes through more hands than a statement: how it is logged, cut, explained.
#[test]
fn routines_may_be_deep_and_long() {
    let db = Database::in_memory().expect("opens");
    on_a_thread(|| {
        db.execute_script("CREATE TABLE t (id int PRIMARY KEY, v int); INSERT INTO t VALUES (1, 0)")
            .expect("a table");
        let mut session = db.session().expect("a session");
        let write = "UPDATE t SET v = v + 1 WHERE id = a;";
        for n in [30, 60, 300] {
            let nest = |open: &str, close: &str| format!("{}{write}{}", open.repeat(n), close.repeat(n));
            let bodies = [
                nest("IF a > 0 THEN ", " END IF; "),
                nest("BEGIN ", " END; "),
                nest("FOR i IN 1..1 LOOP ", " END LOOP; "),
                nest("BEGIN ", " EXCEPTION WHEN others THEN NULL; END; "),
                nest("CASE a WHEN 1 THEN ", " END CASE; "),
                format!("IF a = 2 THEN NULL; {} ELSE {write} END IF;", "ELSIF a = 3 THEN NULL; ".repeat(n)),
                format!("CASE a {} ELSE {write} END CASE;", "WHEN 3 THEN NULL; ".repeat(n)),
                write.repeat(n),
                format!("UPDATE t SET v = v + 1{} WHERE id = a;", " + a".repeat(n)),
                format!("UPDATE t SET v = v + 1 WHERE id = a{};", " AND a < 7".repeat(n)),
            ];
            for (i, body) in bodies.iter().enumerate() {
                let made = format!(
                    "CREATE OR REPLACE PROCEDURE p(a int) LANGUAGE plpgsql AS $$ BEGIN {body} END $$"
                );
                for sql in
                    [&*made, "CALL p(1)", "EXPLAIN PROCEDURE p", "SELECT pg_get_functiondef('p'::regproc)"]
                {
                    let state = state(session.execute(sql, ()));
                    assert!(["00000", "54001", "22003"].contains(&&*state), "{i} {n}: {state}");
                    assert!(n > 30 || state == "00000", "{i} {n}: {state}");
                }
            }
            // Functions in functions.
            session
                .execute(
                    "CREATE OR REPLACE FUNCTION f0(a int) RETURNS int LANGUAGE sql AS 'SELECT a + 1'",
                    (),
                )
                .expect("made");
            for i in 1..n.min(300) {
                let sql = format!(
                    "CREATE OR REPLACE FUNCTION f{i}(a int) RETURNS int LANGUAGE sql AS 'SELECT f{}(a)'",
                    i - 1
                );
                assert_eq!(state(session.execute(&sql, ())), "00000");
            }
            let state = state(session.query(&format!("SELECT f{}(1)", n.min(300) - 1), ()));
            assert!(["00000", "54001"].contains(&&*state), "{n}: {state}");
        }
    });
}

/// Planning is part of the statement that asks for it.
#[test]
fn planning_ends_in_time() {
    let db = Database::in_memory().expect("opens");
    on_a_thread(|| {
        db.execute("CREATE VIEW v0 AS SELECT random() AS a", ()).expect("a view");
        let mut session = db.session().expect("a session");
        session.execute("SET statement_timeout = '700ms'", ()).expect("sets");
        let mut outcome = String::new();
        for i in 1..30 {
            let before = i - 1;
            let sql = format!("CREATE VIEW v{i} AS SELECT x.a FROM v{before} AS x, v{before} AS y");
            let begun = Instant::now();
            outcome = state(session.execute(&sql, ()));
            assert!(begun.elapsed() < Duration::from_secs(30), "{i}: {:?}", begun.elapsed());
            if outcome != "00000" {
                break;
            }
        }
        // By its time on a slow machine, and by the number of places otherwise.
        assert!(["54001", "57014"].contains(&&*outcome), "{outcome}");
    });
}

#[test]
fn functions_end_in_time_and_within_the_budget() {
    let db = Options::new().memory_budget(48 << 20).in_memory().expect("opens");
    let mut session = db.session().expect("a session");
    let large = [
        "SELECT length(repeat('x', 900000000))",
        "SELECT length(repeat('xyz', 300000000))",
        "SELECT length(lpad('x', 200000000, 'ab'))",
        "SELECT length(rpad('x', 200000000))",
        "SELECT length(format('%200000000s', 'x'))",
        "SELECT length(format('%-200000000s|', 'x'))",
        "SELECT length(replace(repeat('x', 1000000), 'x', repeat('y', 1000)))",
        "SELECT array_length(string_to_array(repeat(',', 9000000), ','), 1)",
        "SELECT array_length(string_to_array(repeat('x', 9000000), NULL), 1)",
        "SELECT length(array_to_string(array_agg(repeat('x', 1000)), repeat('y', 100000))) FROM generate_series(1, 3000)",
        "DO $$ DECLARE a int[] := '{1}'; BEGIN a[100000000] := 1; END $$",
        "DO $$ DECLARE a int[] := '{1}'; BEGIN FOR i IN 1..40 LOOP a := a || a; END LOOP; END $$",
        "DO $$ DECLARE s text := 'x'; BEGIN FOR i IN 1..40 LOOP s := s || s; END LOOP; END $$",
        "SELECT length(encode(repeat('x', 20000000)::bytea, 'hex'))",
        "SELECT upper(repeat('x', 30000000))",
        "SELECT repeat('x', 30000000) || repeat('x', 30000000)",
        "SELECT length(string_agg(repeat('x', 1000000), ',')) FROM generate_series(1, 100)",
    ];
    for sql in large {
        let outcome = state(session.query(sql, ()));
        assert!(["53200", "42883"].contains(&&*outcome), "{sql}: {outcome}");
        assert_eq!(db.stats().memory.session_bytes, 0, "{sql}");
    }
    // PostgreSQL's own limits come first.
    for sql in [
        "SELECT repeat('x', 2000000000)",
        "SELECT lpad('x', 2000000000)",
        "SELECT format('%2000000000s', 'x')",
        "SELECT replace(repeat('x', 100000), 'x', repeat('y', 100000))",
        "DO $$ DECLARE a int[] := '{1}'; BEGIN a[134217729] := 1; END $$",
    ] {
        assert_eq!(state(session.query(sql, ())), "54000", "{sql}");
    }
    // Little ones are right.
    for (sql, expected) in [
        ("SELECT repeat('abc', 3)", "abcabcabc"),
        ("SELECT length(repeat('abc', 1000001)) || right(repeat('abc', 1000001), 4)", "3000003cabc"),
        ("SELECT lpad('x', 6, 'ab')", "ababax"),
        ("SELECT rpad('x', 6, 'äb')", "xäbäbä"),
        ("SELECT format('%5s|%-5s|', 'a', 'b')", "    a|b    |"),
        (
            "SELECT translate('abcdefghijklmnopqrstuvwxyz', 'abcdefghijklmnopqrstab', 'ABCDEFGHIJKLMNOPQRS12')",
            "ABCDEFGHIJKLMNOPQRS1uvwxyz",
        ),
        ("SELECT translate('abcabc', 'ab', 'x')", "xcxc"),
        ("SELECT btrim('äößxßöä', 'äßö')", "x"),
        ("SELECT md5(repeat('x', 55))", "04364420e25c512fd958a70738aa8f72"),
        ("SELECT md5(repeat('x', 63))", "7dc2ca208106a2f703567bdff99d8981"),
        ("SELECT md5(repeat('x', 120))", "fb98667f98096de92620b64f46e1c5b5"),
    ] {
        assert_eq!(column(&mut session, sql), texts(&[expected]), "{sql}");
    }
}

/// Inside one call of a function, too.
#[test]
fn functions_obey_statement_timeout() {
    let db = Database::in_memory().expect("opens");
    let mut session = db.session().expect("a session");
    session.execute("SET statement_timeout = '20ms'", ()).expect("sets");
    for sql in [
        "SELECT length(repeat('x', 900000000))",
        "SELECT length(lpad('x', 250000000, 'abc'))",
        "SELECT length(format('%900000000s', 'x'))",
        "SELECT repeat('a', 200000) LIKE '%' || repeat('a', 100000) || 'b%c'",
        "SELECT (SELECT array_agg(i) FROM generate_series(1, 20000) AS i) @> (SELECT array_agg(i) FROM generate_series(1, 20000) AS i)",
        "SELECT md5(repeat('x', 100000000))",
    ] {
        let begun = Instant::now();
        assert_eq!(state(session.query(sql, ())), "57014", "{sql}");
        assert!(begun.elapsed() < Duration::from_secs(60), "{sql}: {:?}", begun.elapsed());
    }
}

#[test]
fn several_columns_are_set_by_a_subquery_on_conflict() {
    let db = Database::in_memory().expect("opens");
    db.execute_script(
        "CREATE TABLE t (id int PRIMARY KEY, a int, b text);
         INSERT INTO t VALUES (1, 1, 'x'), (2, 2, 'y');
         INSERT INTO t VALUES (1, 9, 'z'), (3, 3, 'n') ON CONFLICT (id) DO UPDATE
             SET (a, b) = (SELECT t.a + excluded.a, t.b || excluded.b);
         INSERT INTO t VALUES (2, 5, 'q') ON CONFLICT (id) DO UPDATE SET (a, b) = (SELECT 1, 'none' WHERE false);",
    )
    .expect("runs");
    let mut session = db.session().expect("a session");
    assert_eq!(
        column(&mut session, "SELECT concat_ws(',', id, a, b) FROM t ORDER BY id"),
        texts(&["1,10,xz", "2", "3,3,n"])
    );
    let many =
        "INSERT INTO t VALUES (1, 9, 'z') ON CONFLICT (id) DO UPDATE SET (a, b) = (SELECT id, b FROM t)";
    assert_eq!(state(session.execute(many, ())), "21000");
    let returned = "INSERT INTO t VALUES (1, 4, 'w') ON CONFLICT (id) DO UPDATE SET (b, a) = (SELECT excluded.b, excluded.a) RETURNING a || b";
    assert_eq!(column(&mut session, returned), texts(&["4w"]));
}

#[test]
fn what_makes_something_of_a_query_is_explained() {
    let db = Database::in_memory().expect("opens");
    db.execute_script("CREATE TABLE t (id int PRIMARY KEY, a int)").expect("the schema");
    let mut session = db.session().expect("a session");
    session.execute("PREPARE p (int) AS SELECT * FROM t WHERE id = $1", ()).expect("prepares");
    for (sql, first) in [
        ("EXPLAIN CREATE TABLE u AS SELECT * FROM t", "Seq Scan on t"),
        ("EXPLAIN EXECUTE p (1)", "Index Scan using t_pkey on t"),
        ("EXPLAIN DECLARE c CURSOR FOR SELECT * FROM t WHERE id = 1", "Index Scan using t_pkey on t"),
        ("EXPLAIN MERGE INTO t USING t AS s ON t.id = s.id WHEN MATCHED THEN DELETE", "Merge on t"),
        ("EXPLAIN ANALYZE SELECT * FROM t", "Seq Scan on t (actual rows=0 loops=1)"),
    ] {
        assert_eq!(column(&mut session, sql)[0].as_deref(), Some(first), "{sql}");
    }
    for (sql, expected) in [
        ("EXPLAIN EXECUTE q", "26000"),
        ("EXPLAIN CREATE TABLE u (a int)", "42601"),
        ("EXPLAIN CREATE VIEW u AS SELECT 1", "42601"),
        ("EXPLAIN SELECT * FROM u", "42P01"),
    ] {
        assert_eq!(state(session.query(sql, ())), expected, "{sql}");
    }
}
