//! Named limits, each with its error; and that nothing a client sends ends the process: what is nested, long
//! or endless is refused, or runs, on a thread with no more stack than any has (2 MiB).

use planaria::lab::LabOptions;
use planaria::{Database, Error, Options, Session};

/// Runs on a thread with a stack as the server's have.
fn on_a_thread<T: Send>(f: impl FnOnce() -> T + Send) -> T {
    crate::on_a_stack(2 << 20, f)
}

fn state<T>(outcome: Result<T, Error>) -> String {
    outcome.map(|_| ()).map_or_else(|e| e.sqlstate().as_str().to_owned(), |()| "00000".to_owned())
}

fn database() -> Database {
    let db = Database::in_memory().expect("opens");
    db.execute_script("CREATE TABLE t (id int PRIMARY KEY, v int, s text)").expect("the schema");
    db
}

/// `open` n times, `core`, `close` n times.
fn nest(n: usize, open: &str, core: &str, close: &str) -> String {
    format!("{}{core}{}", open.repeat(n), close.repeat(n))
}

/// Shapes of texts by depth, in which every level is one inside another.
fn deep(n: usize) -> Vec<(&'static str, String)> {
    let plpgsql = |body: String| format!("DO $$ {body} $$");
    vec![
        ("parentheses", format!("SELECT {}", nest(n, "(", "1", ")"))),
        ("NOT", format!("SELECT {}", nest(n, "NOT ", "true", ""))),
        ("signs", format!("SELECT {}", nest(n, "- ", "1", ""))),
        ("casts", format!("SELECT 1{}", "::int".repeat(n))),
        ("IS NULL", format!("SELECT 1{}", " IS NULL".repeat(n))),
        ("COLLATE", format!("SELECT 'a'{}", " COLLATE \"C\"".repeat(n))),
        ("functions", format!("SELECT {}", nest(n, "abs(", "1", ")"))),
        ("CASE", format!("SELECT {}", nest(n, "CASE WHEN true THEN ", "1", " END"))),
        ("CASE ELSE", format!("SELECT {}", nest(n, "CASE WHEN false THEN 2 ELSE ", "1", " END"))),
        ("subqueries", format!("SELECT {}", nest(n, "(SELECT ", "1", ")"))),
        ("EXISTS", format!("SELECT {}", nest(n, "EXISTS (SELECT ", "1", ")"))),
        ("IN", format!("SELECT {}", nest(n, "true IN (SELECT ", "true", ")"))),
        ("FROM", format!("SELECT * FROM {}", nest(n, "(SELECT * FROM ", "t", ") AS x"))),
        ("joins", format!("SELECT 1 FROM t{}", " CROSS JOIN t AS t".repeat(n))),
        ("joins in parentheses", format!("SELECT 1 FROM {}", nest(n, "(", "t", " CROSS JOIN t AS u)"))),
        ("EXCEPT", format!("SELECT 1{}", " EXCEPT SELECT 1".repeat(n))),
        ("UNION in parentheses", nest(n, "(SELECT 1 UNION ALL ", "SELECT 1", ")")),
        ("WITH", nest(n, "WITH a AS (", "SELECT 1", ") SELECT * FROM a")),
        ("ARRAY", format!("SELECT {}", nest(n, "ARRAY[", "1", "]"))),
        ("rows", format!("SELECT {} = {}", nest(n, "(1, ", "1", ")"), nest(n, "(1, ", "1", ")"))),
        ("EXPLAIN", nest(n, "EXPLAIN ", "SELECT 1", "")),
        ("array types", format!("SELECT NULL::int{}", "[]".repeat(n))),
        ("BEGIN", plpgsql(nest(n, "BEGIN ", "NULL;", " END;"))),
        ("IF", plpgsql(format!("BEGIN {} END", nest(n, "IF true THEN ", "NULL;", " END IF;")))),
        (
            "ELSIF",
            plpgsql(format!("BEGIN IF false THEN NULL; {} END IF; END", "ELSIF false THEN NULL;".repeat(n))),
        ),
        ("LOOP", plpgsql(format!("BEGIN {} END", nest(n, "LOOP ", "EXIT;", " EXIT; END LOOP;")))),
        ("FOR", plpgsql(format!("BEGIN {} END", nest(n, "FOR i IN 1..1 LOOP ", "NULL;", " END LOOP;")))),
        ("EXCEPTION", plpgsql(nest(n, "BEGIN ", "NULL;", " EXCEPTION WHEN others THEN NULL; END;"))),
        ("CHECK", format!("CREATE TABLE c (n int CHECK ({}))", nest(n, "(", "n > 0", ")"))),
        ("DEFAULT", format!("CREATE TABLE d (n int DEFAULT {})", nest(n, "(", "1", ")"))),
        ("comments", format!("SELECT {}", nest(n, "/* ", "", " */ ") + "1")),
    ]
}

/// Shapes of texts that are long and not nested.
fn wide(n: usize) -> Vec<(&'static str, String)> {
    let plpgsql = |body: String| format!("DO $$ BEGIN {body} END $$");
    let list = |one: &str| vec![one; n].join(", ");
    vec![
        ("sums", format!("SELECT 1{}", " + 1".repeat(n))),
        ("sums and products", format!("SELECT 1{}", " - 2 * 3".repeat(n))),
        ("products", format!("SELECT 1{}", " * 1".repeat(n))),
        ("sums of columns", format!("SELECT sum(v{}) FROM t", " + id".repeat(n))),
        ("||", format!("SELECT length('a'{}) FROM t", " || 'b' || v".repeat(n))),
        ("UNION", format!("SELECT 1{}", " UNION SELECT 1".repeat(n))),
        ("UNION ALL", format!("SELECT 1{}", " UNION ALL SELECT 1".repeat(n))),
        (
            "UNION ALL of queries",
            format!("SELECT v FROM t{} ORDER BY 1", " UNION ALL SELECT id FROM t".repeat(n)),
        ),
        ("OR", format!("SELECT count(*) FROM t WHERE false{}", " OR v = 1".repeat(n))),
        ("AND", format!("SELECT count(*) FROM t WHERE true{}", " AND v = 1".repeat(n))),
        ("OR AND", format!("SELECT count(*) FROM t WHERE false{}", " OR (v = 1 AND id = 2)".repeat(n))),
        ("OR of keys", format!("SELECT count(*) FROM t WHERE id = 0{}", " OR id = 1".repeat(n))),
        ("IN", format!("SELECT count(*) FROM t WHERE v IN ({})", list("1"))),
        ("IN key", format!("SELECT count(*) FROM t WHERE id IN ({})", list("1"))),
        ("NOT IN", format!("SELECT count(*) FROM t WHERE v NOT IN ({})", list("v + 1"))),
        ("COALESCE", format!("SELECT coalesce({}) FROM t", list("v"))),
        ("GREATEST", format!("SELECT greatest({})", list("1"))),
        ("concat", format!("SELECT length(concat({}))", list("'x'"))),
        ("CASE", format!("SELECT CASE {} END FROM t", "WHEN v = 1 THEN 2 ".repeat(n))),
        ("CASE of a value", format!("SELECT CASE 0 {} END", "WHEN 1 THEN 2 ".repeat(n))),
        ("VALUES", format!("SELECT count(*) FROM (VALUES {}) AS v(n)", list("(1)"))),
        ("INSERT", format!("INSERT INTO t (id) VALUES {} ON CONFLICT DO NOTHING", list("(1)"))),
        ("columns", format!("SELECT {}", list("1"))),
        ("GROUP BY", format!("SELECT v FROM t GROUP BY {}", list("v"))),
        ("ORDER BY", format!("SELECT v FROM t ORDER BY {}", list("v"))),
        (
            "tables",
            format!("SELECT 1 FROM {}", (0..n).map(|i| format!("t AS t{i}")).collect::<Vec<_>>().join(", ")),
        ),
        ("WITH", {
            let all: Vec<_> = (0..n).map(|i| format!("a{i} AS (SELECT 1)")).collect();
            format!("WITH {} SELECT 1", all.join(", "))
        }),
        ("ARRAY", format!("SELECT ARRAY[{}]", list("1"))),
        ("row", format!("SELECT ROW({})", list("1"))),
        ("statements", plpgsql("NULL; ".repeat(n))),
        ("assignments", format!("DO $$ DECLARE x int := 0; BEGIN {} END $$", "x := x + 1; ".repeat(n))),
        ("variables", {
            let all: String = (0..n).map(|i| format!("v{i} int := {i}; ")).collect();
            format!("DO $$ DECLARE {all} BEGIN NULL; END $$")
        }),
        ("ELSIF", plpgsql(format!("IF false THEN NULL; {} END IF;", "ELSIF false THEN NULL; ".repeat(n)))),
        (
            "CASE statement",
            plpgsql(format!("CASE 0 {} ELSE NULL; END CASE;", "WHEN 1 THEN NULL; ".repeat(n))),
        ),
        (
            "CASE WHEN statement",
            plpgsql(format!("CASE {} ELSE NULL; END CASE;", "WHEN false THEN NULL; ".repeat(n))),
        ),
        (
            "handlers",
            format!("DO $$ BEGIN NULL; EXCEPTION {} END $$", "WHEN unique_violation THEN NULL; ".repeat(n)),
        ),
        (
            "conditions",
            format!(
                "DO $$ BEGIN NULL; EXCEPTION WHEN unique_violation{} THEN NULL; END $$",
                " OR unique_violation".repeat(n)
            ),
        ),
        ("blocks", plpgsql("BEGIN NULL; EXCEPTION WHEN others THEN NULL; END; ".repeat(n))),
        ("loops", plpgsql("FOR i IN 1..1 LOOP NULL; END LOOP; ".repeat(n))),
        ("RAISE", plpgsql(format!("RAISE DEBUG '{}', {};", "%".repeat(n), list("1")))),
        ("columns of a table", {
            let all: Vec<_> = (0..n).map(|i| format!("c{i} int")).collect();
            format!("CREATE TABLE wide_{n} ({})", all.join(", "))
        }),
        ("checks of a table", {
            let all: Vec<_> = (0..n).map(|_| "CHECK (a > 0)").collect();
            format!("CREATE TABLE checked_{n} (a int, {})", all.join(", "))
        }),
        ("arguments", {
            let all: Vec<_> = (0..n).map(|i| format!("a{i} int")).collect();
            format!("CREATE FUNCTION f_{n}({}) RETURNS int LANGUAGE sql AS 'SELECT 1'", all.join(", "))
        }),
        ("arguments of a call", format!("SELECT abs({})", list("1"))),
        ("empty statements", ";".repeat(n)),
        ("SET", format!("UPDATE t SET {}", list("v = 1"))),
        ("names", format!("SELECT {}", vec!["a"; n].join("."))),
        ("a name", format!("SELECT 1 AS {}", "a".repeat(n))),
        ("a number", format!("SELECT {}", "1".repeat(n))),
        ("a text", format!("SELECT length('{}')", "x".repeat(n))),
        ("LIKE", format!("SELECT '{}' LIKE '{}'", "a".repeat(100), "%a".repeat(n) + "b")),
        ("regular expression", format!("SELECT 'a' ~ '{}'", nest(n, "(", "a", ")"))),
        ("regular expression of stars", format!("SELECT 'a' ~ '{}'", "a*".repeat(n))),
        ("format", format!("SELECT length(to_char(1, '{}'))", "9".repeat(n))),
        ("identifier quoted", format!("SELECT \"{}\"", "x".repeat(n))),
        ("array text", format!("SELECT '{}'::int[]", nest(n, "{", "1", "}"))),
        ("interval", format!("SELECT '{}'::interval", "1 day ".repeat(n))),
    ]
}

/// What a text may fail with: limits, mistakes of its own, nothing internal.
fn tried(session: &mut Session, what: &str, n: usize, sql: &str) -> String {
    let state = state(session.query(sql, ()));
    assert!(!state.starts_with("XX"), "{what} {n}: {state}");
    state
}

#[test]
fn what_is_long_runs_or_is_refused() {
    let db = database();
    on_a_thread(|| {
        let mut session = db.session().expect("a session");
        for (what, sql) in wide(1_000) {
            tried(&mut session, what, 1_000, &sql);
        }
        for (what, sql) in wide(8_000) {
            // Each of these is held against all before it.
            if !["checks of a table", "tables", "SET"].contains(&what) {
                tried(&mut session, what, 8_000, &sql);
            }
        }
        // What machines write.
        for (what, sql) in wide(6_000) {
            let chains = [
                "sums",
                "sums and products",
                "products",
                "sums of columns",
                "||",
                "UNION",
                "UNION ALL",
                "UNION ALL of queries",
                "OR",
                "AND",
                "OR AND",
                "IN",
                "IN key",
                "NOT IN",
            ];
            if chains.contains(&what) {
                assert_eq!(tried(&mut session, what, 6_000, &sql), "00000", "{what}");
            }
        }
        for (what, sql) in wide(20_000) {
            if ["sums", "||", "UNION ALL"].contains(&what) {
                assert_eq!(tried(&mut session, what, 20_000, &sql), "54001", "{what}");
            }
        }
        for (what, sql) in wide(1_500) {
            if [
                "OR",
                "AND",
                "OR AND",
                "IN",
                "IN key",
                "COALESCE",
                "CASE",
                "VALUES",
                "INSERT",
                "ELSIF",
                "statements",
            ]
            .contains(&what)
            {
                assert_eq!(tried(&mut session, what, 1_500, &sql), "00000", "{what}");
            }
        }
    });
}

#[test]
fn what_is_nested_too_deeply_is_refused() {
    let db = database();
    on_a_thread(|| {
        let mut session = db.session().expect("a session");
        for n in [300, 5_000, 100_000] {
            for (what, sql) in deep(n) {
                let state = tried(&mut session, what, n, &sql);
                match what {
                    "EXPLAIN" | "array types" | "comments" => {}
                    "ELSIF" if n == 300 => {}
                    _ => assert_eq!(state, "54001", "{what} {n}"),
                }
            }
        }
    });
}

/// A chain means what it means when it nests: from left to right, types and errors as well.
#[test]
fn long_chains_compute_from_left_to_right() {
    let db = database();
    db.execute_script("INSERT INTO t VALUES (1, 2, 'x')").expect("a row");
    let one = |sql: &str, params: &[i64]| -> Result<Option<String>, Error> {
        let rows = match params {
            [] => db.query(sql, ())?,
            [a] => db.query(sql, (*a,))?,
            _ => unreachable!("one parameter at most"),
        };
        Ok(rows[0].text(0))
    };
    let sum = |n: usize| format!("SELECT 100{} FROM t", " - v + id".repeat(n));
    for n in [5, 15, 16, 17, 31, 32, 33, 64, 100] {
        assert_eq!(one(&sum(n), &[]).expect("a sum"), Some((100 - n as i64).to_string()), "{n}");
        let text = format!("SELECT s{} FROM t", " || v || '.'".repeat(n));
        assert_eq!(one(&text, &[]).expect("a text"), Some(format!("x{}", "2.".repeat(n))), "{n}");
        let null = format!("SELECT s{} || NULL || 'y' FROM t", " || v".repeat(n));
        assert_eq!(one(&null, &[]).expect("NULL"), None);
        let all = format!("SELECT count(*) FROM (SELECT 1{}) AS u", " UNION ALL SELECT 1".repeat(n));
        assert_eq!(one(&all, &[]).expect("a count"), Some((n + 1).to_string()));
        let some =
            format!("SELECT count(*) FROM (SELECT 1{} UNION SELECT 2) AS u", " UNION SELECT 1".repeat(n));
        assert_eq!(one(&some, &[]).expect("a count"), Some("2".to_owned()));
        // The order of an append is that of its parts, and its type that of all of them.
        let mixed = format!(
            "SELECT x FROM (SELECT 1 AS x{} UNION ALL SELECT 2.5) AS u LIMIT 1",
            " UNION ALL SELECT '7'".repeat(n)
        );
        assert_eq!(one(&mixed, &[]).expect("a number"), Some("1".to_owned()));
    }
    // Half of it would not fail.
    let over = format!("SELECT 2147483000{}", " + 100 - 1".repeat(60));
    assert_eq!(state(one(&over, &[])), "22003");
    let wide = format!("SELECT 2147483000{} + 5000000000", " + 1".repeat(60));
    assert_eq!(one(&wide, &[]).expect("a bigint"), Some("7147483060".to_owned()));
    // Parameters get their types from their neighbours.
    let asked = format!("SELECT $1{}", " + $1".repeat(60) + " + 1::bigint");
    assert_eq!(one(&asked, &[2]).expect("a bigint"), Some("123".to_owned()));
    let error = one(&format!("SELECT 1{} + true", " + 1".repeat(60)), &[]).expect_err("no operator");
    assert_eq!((error.sqlstate().as_str(), error.fields().position), ("42883", Some(249)));
    let width = format!("SELECT 1{} UNION ALL SELECT 1, 2", " UNION ALL SELECT 1".repeat(60));
    assert_eq!(state(one(&width, &[])), "42601");
}

/// The deepest there may be, of each shape, gets through all that walks it, down to being dropped.
#[test]
fn what_may_be_nested_runs() {
    let db = database();
    on_a_thread(|| {
        let mut session = db.session().expect("a session");
        for n in [50, 120, 250] {
            for (what, sql) in deep(n) {
                let refused = ["EXPLAIN", "array types", "ARRAY", "rows", "joins", "joins in parentheses"];
                let state = tried(&mut session, what, n, &sql);
                let made = ["CHECK", "DEFAULT"].contains(&what) && state == "42P07";
                assert!(
                    state == "00000" || state == "54001" || made || refused.contains(&what),
                    "{what} {n}: {state}"
                );
            }
        }
    });
}

#[test]
fn calls_without_end_are_refused() {
    let db = database();
    db.execute_script(
        "CREATE FUNCTION down(n int) RETURNS int LANGUAGE plpgsql AS $$ BEGIN RETURN down(n + 1); END $$;
         CREATE FUNCTION there(n int) RETURNS int LANGUAGE plpgsql AS $$ BEGIN RETURN n; END $$;
         CREATE FUNCTION here(n int) RETURNS int LANGUAGE plpgsql AS $$ BEGIN RETURN there(n); END $$;
         CREATE OR REPLACE FUNCTION there(n int) RETURNS int LANGUAGE plpgsql AS $$ BEGIN RETURN here(n); END $$;
         CREATE PROCEDURE again() LANGUAGE plpgsql AS $$ BEGIN EXECUTE 'CALL again()'; END $$;",
    )
    .expect("the routines");
    on_a_thread(|| {
        for sql in ["SELECT down(1)", "SELECT here(1)", "CALL again()"] {
            assert_eq!(state(db.execute(sql, ())), "54001", "{sql}");
        }
    });
}

/// With a budget of 48 MiB, each on its own.
fn small() -> Database {
    let db = Options::new().memory_budget(48 << 20).in_memory().expect("opens");
    db.execute_script("CREATE TABLE t (id int PRIMARY KEY, v int, s text); CREATE INDEX t_v ON t (v)")
        .expect("the schema");
    db
}

fn number(db: &Database, sql: &str) -> i64 {
    db.query(sql, ()).unwrap_or_else(|e| panic!("{sql}: {e}"))[0].get::<i64>(0).expect("a number")
}

/// Inserts until nothing more fits.
fn fill(db: &Database) -> i32 {
    for n in 0.. {
        let sql =
            "INSERT INTO t SELECT $1 * 1000 + i, i, repeat('x', 300) FROM generate_series(1, 1000) AS i";
        if let Err(error) = db.execute(sql, (n,)) {
            assert_eq!((error.sqlstate().as_str(), error.message()), ("53200", "out of memory"));
            let fields = error.fields();
            assert!(
                fields.detail.as_deref().is_some_and(|d| d.contains("memory budget of 48 MB")),
                "{error:?}"
            );
            assert!(fields.hint.is_some());
            return n;
        }
        assert!(n < 10_000, "there is a budget");
    }
    0
}

#[test]
fn a_full_database_refuses_rows_and_goes_on() {
    let db = small();
    let full = fill(&db);
    assert!((20..200).contains(&full), "{full}");
    assert_eq!(number(&db, "SELECT count(*) FROM t"), i64::from(full) * 1000);
    let memory = db.stats().memory;
    assert_eq!(memory.budget, Some(48 << 20));
    assert!((40 << 20..56 << 20).contains(&memory.bytes()), "{memory:?}");
    let view = "SELECT (used <= budget * 1.2 AND rows > 0 AND indexes > 0 AND old_versions >= 0 AND sessions >= 0)::int::bigint
                FROM planaria_memory";
    assert_eq!(number(&db, view), 1);
    // A block that fails has done nothing; reads sort and group; deletes make room.
    let mut session = db.session().expect("a session");
    session.execute("BEGIN", ()).expect("begins");
    session.execute("DELETE FROM t WHERE id = 1", ()).expect("deletes");
    let grows = "INSERT INTO t SELECT -i, i, repeat('x', 300) FROM generate_series(1, 50000) AS i";
    assert_eq!(state(session.execute(grows, ())), "53200");
    assert_eq!(state(session.execute("SELECT 1", ())), "25P02");
    session.execute("ROLLBACK", ()).expect("rolls back");
    assert_eq!(number(&db, "SELECT count(*) FROM t"), i64::from(full) * 1000);
    assert_eq!(number(&db, "SELECT count(*) FROM (SELECT v FROM t GROUP BY v ORDER BY v) AS g"), 1000);
    db.execute("DELETE FROM t WHERE v <= 500", ()).expect("deletes");
    let deadline = std::time::Instant::now() + std::time::Duration::from_secs(60);
    while state(db.execute("INSERT INTO t SELECT -i, i, 'x' FROM generate_series(1, 100) AS i", ()))
        != "00000"
    {
        assert!(std::time::Instant::now() < deadline, "there is room again: {:?}", db.stats().memory);
        db.execute("DELETE FROM t WHERE id = 1000", ()).expect("deletes");
    }
    db.check().expect("rows and indexes agree");
}

#[test]
fn what_statements_compute_with_is_bounded() {
    let db = small();
    let endless = [
        "SELECT a, b FROM generate_series(1, 100000) AS a, generate_series(1, 100000) AS b",
        "SELECT count(*) FROM (SELECT a FROM generate_series(1, 100000000) AS a ORDER BY -a) AS s",
        "SELECT array_agg(a) FROM generate_series(1, 100000000) AS a",
        "SELECT string_agg(repeat('x', 10000000), '') FROM generate_series(1, 100000000) AS a",
        "SELECT count(*) FROM (SELECT DISTINCT a FROM generate_series(1, 100000000) AS a) AS d",
        "WITH RECURSIVE r AS (SELECT 1 AS n UNION ALL SELECT n + 1 FROM r) SELECT count(*) FROM r",
        "WITH RECURSIVE r AS (SELECT 1 AS n UNION SELECT n + 1 FROM r) SELECT count(*) FROM r",
        "SELECT string_agg(repeat('x', 1000), ',') FROM generate_series(1, 100000000) AS a",
        "DO $$ DECLARE a int[]; BEGIN LOOP a := a || 1; END LOOP; END $$",
        "DO $$ DECLARE s text := ''; BEGIN LOOP s := s || 'x'; END LOOP; END $$",
        "DO $$ DECLARE s text := 'x'; BEGIN LOOP s := s || s; END LOOP; END $$",
        "UPDATE t SET s = repeat('x', 60000000)",
    ];
    db.execute("INSERT INTO t SELECT i, i, 'x' FROM generate_series(1, 100) AS i", ()).expect("inserts");
    for sql in endless {
        let state = state(db.execute(sql, ()));
        assert!(state == "53200" || state == "54000", "{sql}: {state}");
        assert!(db.stats().memory.session_bytes == 0, "{sql}: what is over takes nothing");
    }
    db.check().expect("rows and indexes agree");
}

/// What a change of the schema makes beside what is there has to find memory, or nothing is changed.
#[test]
fn changes_of_the_schema_have_a_budget() {
    let db = small();
    for half in [0, 36_000] {
        let sql = "INSERT INTO t SELECT $1 + i, i, repeat('x', 300) FROM generate_series(1, 36000) AS i";
        db.execute(sql, (half,)).expect("there is room");
    }
    let before = db.stats().memory;
    assert!(before.bytes() < 40 << 20, "{before:?}");
    let digests = db.digests().expect("reads");
    let grows = [
        "CREATE INDEX t_s ON t (s)",
        "CREATE UNIQUE INDEX t_s ON t (s, id)",
        "ALTER TABLE t ADD COLUMN w text DEFAULT 'nothing'",
        "ALTER TABLE t ALTER COLUMN v TYPE bigint",
        "ALTER TABLE t DROP CONSTRAINT t_pkey",
        "ALTER TABLE t ADD UNIQUE (id, v)",
        "CREATE TABLE u AS SELECT * FROM t",
    ];
    let mut session = db.session().expect("a session");
    for sql in grows {
        assert_eq!(state(session.execute(sql, ())), "53200", "{sql}");
        assert_eq!(db.digests().expect("reads"), digests, "{sql}");
        assert_eq!(db.stats().memory.session_bytes, 0, "{sql}");
    }
    for sql in grows {
        session.execute_script("BEGIN; CREATE TABLE small_one (a int)").expect("there is room");
        assert_eq!(state(session.execute(sql, ())), "53200", "{sql}");
        assert_eq!(state(session.execute("SELECT 1", ())), "25P02", "{sql}");
        session.execute("ROLLBACK", ()).expect("rolls back");
        assert_eq!(db.digests().expect("reads"), digests, "{sql}");
        assert_eq!(db.stats().memory.session_bytes, 0, "{sql}");
    }
    db.execute("DELETE FROM t WHERE id > 10000", ()).expect("deletes");
    db.execute_script(
        "TRUNCATE t; CREATE INDEX t_s ON t (s); ALTER TABLE t ADD COLUMN w text DEFAULT 'nothing'",
    )
    .expect("there is room");
    db.check().expect("rows and indexes agree");
}

/// What a block that changes the schema keeps, to take rows back and for the log, counts until it ends.
#[test]
fn schema_blocks_have_a_budget() {
    let disk = planaria_sim::disk::SimDisk::new(1);
    let db = Options::new().memory_budget(48 << 20).open_device(disk.device()).expect("opens");
    db.execute_script("CREATE TABLE t (id int PRIMARY KEY, s text)").expect("the schema");
    let mut session = db.session().expect("a session");
    session.execute_script("BEGIN; CREATE TABLE u (a int)").expect("begins");
    let (mut n, mut kept) = (0, 0);
    while state(session.execute(
        "INSERT INTO t SELECT $1 + i, repeat('x', 300) FROM generate_series(1, 10000) AS i",
        (10_000 * n,),
    )) == "00000"
    {
        session.execute("SAVEPOINT s", ()).expect("a part ends");
        n += 1;
        assert!(db.stats().memory.session_bytes > kept, "{n}");
        kept = db.stats().memory.session_bytes;
        assert!(n < 20, "there is a budget");
    }
    assert!((3..12).contains(&n), "{n}");
    session.execute("ROLLBACK", ()).expect("rolls back");
    assert_eq!((db.stats().memory.session_bytes, number(&db, "SELECT count(*) FROM t")), (0, 0));
    db.check().expect("rows and indexes agree");
}

/// Rows of cursors count for as long as they are there.
#[test]
fn cursors_have_a_budget() {
    let db = small();
    let mut session = db.session().expect("a session");
    let rows = "CURSOR WITH HOLD FOR SELECT i, repeat('x', 100) FROM generate_series(1, 20000) AS i";
    let mut open = 0;
    while state(session.execute(&format!("DECLARE c{open} {rows}"), ())) == "00000" {
        open += 1;
        assert!(open < 100, "there is a budget");
    }
    assert!(open > 3, "{open}");
    assert_eq!(state(session.execute(&format!("DECLARE d {rows}"), ())), "53200");
    let taken = db.stats().memory.session_bytes;
    assert!((20 << 20..56 << 20).contains(&taken), "{taken}");
    assert_eq!(session.query("FETCH 3 FROM c0", ()).expect("fetches").len(), 3);
    // Little ones find a place.
    session.execute_script("BEGIN; DECLARE few CURSOR FOR SELECT 1; FETCH few; COMMIT").expect("reads go on");
    session.execute("CLOSE c1", ()).expect("closes");
    session.execute(&format!("DECLARE c1 {rows}"), ()).expect("there is room again");
    session.execute("CLOSE ALL", ()).expect("closes");
    assert_eq!(db.stats().memory.session_bytes, 0);
}

/// What waits for the log to be written is memory, too.
#[test]
fn log_buffers_count() {
    let disk = planaria_sim::disk::SimDisk::new(1);
    let options = Options::new().memory_budget(48 << 20).durability(planaria::Durability::Async);
    let db = options.open_device(disk.device()).expect("opens");
    db.execute_script("CREATE TABLE t (id int PRIMARY KEY, s text)").expect("the schema");
    assert_eq!(
        number(&db, "SELECT (log_buffers >= 0 AND used >= log_buffers)::int::bigint FROM planaria_memory"),
        1
    );
}

#[test]
fn sessions_have_seats() {
    let db = Database::in_memory().expect("opens");
    let mut sessions = Vec::new();
    let refused = loop {
        match db.session() {
            Ok(session) => sessions.push(session),
            Err(error) => break error,
        }
    };
    assert_eq!((sessions.len(), refused.sqlstate().as_str()), (4095, "53300"));
    sessions.pop();
    db.session().expect("there is a seat again").execute("SELECT 1", ()).expect("runs");
}

/// What is there is never refused: else nobody could delete it.
#[test]
fn a_database_above_its_budget_opens_for_reads_and_deletes() {
    let disk = planaria_sim::disk::SimDisk::new(1);
    let open = |budget| Options::new().memory_budget(budget).open_device(disk.device()).expect("opens");
    let db = open(0);
    db.execute_script("CREATE TABLE t (id int PRIMARY KEY, s text)").expect("the schema");
    db.execute("INSERT INTO t SELECT i, repeat('x', 500) FROM generate_series(1, 50000) AS i", ())
        .expect("inserts");
    drop(db);
    for checkpoint in [false, true] {
        let db = open(8 << 20);
        assert!(db.stats().memory.bytes() > 8 << 20);
        assert_eq!(number(&db, "SELECT count(*) FROM t"), 50_000 - i64::from(checkpoint));
        let grow = "INSERT INTO t SELECT -i, repeat('x', 500) FROM generate_series(1, 1000) AS i";
        assert_eq!(state(db.execute(grow, ())), "53200");
        assert_eq!(db.execute("DELETE FROM t WHERE id = 7", ()).expect("deletes"), u64::from(!checkpoint));
        db.checkpoint().expect("a checkpoint");
    }
}

#[test]
fn limits_have_their_errors() {
    let db = database();
    let columns: Vec<_> = (0..1601).map(|i| format!("c{i} int")).collect();
    let arguments: Vec<_> = (0..101).map(|i| format!("a{i} int")).collect();
    let few: Vec<_> = (0..33).map(|i| format!("c{i}")).collect();
    db.execute("INSERT INTO t VALUES (7, 7, 'x')", ()).expect("inserts");
    let cases = [
        ("SELECT repeat('x', 2000000000)".to_owned(), "54000"),
        ("SELECT repeat(repeat('x', 1000000), 2000)".to_owned(), "54000"),
        ("SELECT lpad('x', 2000000000)".to_owned(), "54000"),
        (format!("CREATE TABLE w ({})", columns.join(", ")), "54011"),
        (
            format!("CREATE FUNCTION w({}) RETURNS int LANGUAGE sql AS 'SELECT 1'", arguments.join(", ")),
            "54023",
        ),
        ("INSERT INTO t VALUES (1, 1, repeat('x', 70000000))".to_owned(), "54000"),
        ("UPDATE t SET s = repeat('x', 70000000)".to_owned(), "54000"),
        (
            "CREATE TABLE p (s text PRIMARY KEY, t text); INSERT INTO p SELECT 'a', repeat('x', 60000000);
             ALTER TABLE p ADD COLUMN u text DEFAULT repeat('y', 10000000)"
                .to_owned(),
            "54000",
        ),
        ("DO $$ DECLARE a int[] := '{1}'; BEGIN a[134217729] := 1; END $$".to_owned(), "54000"),
        (
            format!(
                "CREATE TABLE i ({}); CREATE INDEX ON i ({})",
                few.join(" int, ") + " int",
                few.join(", ")
            ),
            "54011",
        ),
        (
            "CREATE TABLE l (s text); INSERT INTO l VALUES (repeat('x', 3000)); CREATE INDEX ON l (s)"
                .to_owned(),
            "54000",
        ),
        (format!("SELECT 1{}", " ".repeat(64 << 20)), "54000"),
        ("CREATE TABLE k (s text PRIMARY KEY); INSERT INTO k VALUES (repeat('x', 3000))".to_owned(), "54000"),
    ];
    on_a_thread(|| {
        for (sql, expected) in &cases {
            let shown = &sql[..sql.len().min(80)];
            assert_eq!(state(db.execute_script(sql)), *expected, "{shown}");
        }
    });
    assert_eq!(number(&db, "SELECT count(*) FROM t WHERE s = 'x'"), 1);
    db.check().expect("rows and indexes agree");
}

#[test]
fn a_table_has_as_many_columns_as_in_postgresql() {
    let db = Database::in_memory().expect("a database");
    let columns = |n: usize, more: &str| {
        let list: Vec<String> = (1..=n).map(|i| format!("c{i} int")).collect();
        format!("({}{more})", list.join(", "))
    };
    let refused = |sql: &str| {
        let error = db.execute(sql, ()).expect_err("too many");
        assert_eq!(error.sqlstate().as_str(), "54011");
        assert_eq!(error.message(), "tables can have at most 1600 columns");
    };
    for (name, more) in [("bare", ""), ("keyed", ", PRIMARY KEY (c7)")] {
        db.execute(&format!("CREATE TABLE {name} {}", columns(1600, more)), ()).expect("a table");
        db.execute(&format!("INSERT INTO {name} (c1, c7, c1600) VALUES (1, 7, 1600)"), ()).expect("a row");
        let rows = db.query(&format!("SELECT c1600 - c2 IS NULL, c1600 FROM {name}"), ()).expect("a row");
        assert_eq!((rows[0].get::<bool>(0), rows[0].get::<i32>(1)), (Ok(true), Ok(1600)));
        refused(&format!("CREATE TABLE more {}", columns(1601, more)));
        refused(&format!("ALTER TABLE {name} ADD COLUMN c1601 int"));
        db.execute(&format!("ALTER TABLE {name} DROP COLUMN c2"), ()).expect("one less");
    }
}

#[test]
fn no_text_has_a_zero_byte() {
    let db = Database::in_memory().expect("a database");
    db.execute("CREATE TABLE t (a text, b varchar(9))", ()).expect("a table");
    let refused = |outcome: Result<u64, planaria::Error>| {
        let error = outcome.expect_err("no such text");
        assert_eq!(error.sqlstate().as_str(), "22021", "{error}");
        assert!(error.message().ends_with("invalid byte sequence for encoding \"UTF8\": 0x00"), "{error}");
    };
    refused(db.execute("INSERT INTO t (a) VALUES ($1)", ("a\0b",)));
    refused(db.execute("INSERT INTO t (b) VALUES ($1)", ("\0",)));
    refused(db.execute("SELECT $1::text[]", (vec!["a", "b\0"],)));
    refused(db.execute("SELECT $1::int", ("1\0",)));
    refused(db.execute("INSERT INTO t (a) VALUES ('a\0b')", ()));
    refused(db.execute("INSERT INTO t (a) VALUES (E'a\\000b')", ()));
    refused(db.execute("INSERT INTO t (a) VALUES (E'a\\x00')", ()));
    refused(db.execute_script("SELECT 1; SELECT 'a\0b'").map(|()| 0));
    assert_eq!(db.query("SELECT count(*) FROM t", ()).expect("a count")[0].get::<i64>(0), Ok(0));
}
