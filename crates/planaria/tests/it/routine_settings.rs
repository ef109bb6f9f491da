//! Routines with settings of their own: how their calls are logged, what every scheme makes of that, and how long they wait.

use crate::logged::{logged, replayed_by_all};
use planaria::Database;
use std::time::{Duration, Instant};

const SCHEMA: &str = "
    CREATE TABLE t (id int PRIMARY KEY, v int NOT NULL);
    CREATE SEQUENCE s;
    CREATE SCHEMA app;
    CREATE TABLE app.t (id int PRIMARY KEY, v int NOT NULL);
    CREATE TABLE said (at serial PRIMARY KEY, what text);
    CREATE PROCEDURE put(p_id int) LANGUAGE plpgsql SECURITY DEFINER SET search_path = app, pg_temp AS $$
    BEGIN INSERT INTO t VALUES (p_id, p_id * 10); END $$;
    CREATE FUNCTION size() RETURNS int LANGUAGE plpgsql AS $$ BEGIN RETURN (SELECT count(*) FROM t); END $$;
    CREATE PROCEDURE put_size(p_id int) LANGUAGE plpgsql SET search_path = app, public AS $$
    BEGIN INSERT INTO t VALUES (p_id, size()); END $$;
    CREATE PROCEDURE both_of(p_id int) LANGUAGE plpgsql AS $$
    BEGIN INSERT INTO t VALUES (p_id, size()); CALL put(p_id); CALL put_size(p_id + 1000); END $$;
    CREATE PROCEDURE waits(p_id int) LANGUAGE plpgsql SET lock_timeout = '100ms' SET work_mem = '8MB' AS $$
    BEGIN UPDATE t SET v = v + 1 WHERE id = p_id; END $$;
    CREATE PROCEDURE zoned(p_id int) LANGUAGE plpgsql SET timezone = 'Asia/Tokyo' AS $$
    BEGIN INSERT INTO said (what) VALUES (p_id || ' ' || timestamptz '2024-01-01 00:00:00+00'); END $$;
    CREATE PROCEDURE in_utc(p_id int) LANGUAGE plpgsql SET timezone = 'UTC' AS $$
    BEGIN INSERT INTO said (what) VALUES (p_id || ' ' || timestamptz '2024-01-01 00:00:00+00'); END $$;
    CREATE PROCEDURE local(p_id int) LANGUAGE plpgsql AS $$
    BEGIN
        SET LOCAL timezone = 'Asia/Tokyo';
        INSERT INTO said (what) VALUES (p_id || ' ' || timestamptz '2024-01-01 00:00:00+00');
    END $$;";

#[test]
fn calls_whose_names_mean_the_same_everywhere_are_logged_as_calls() {
    let called = |call: &str| {
        let all = logged(&format!("{SCHEMA} {call};"));
        // The last one is a number that the test has drawn.
        all[all.len() - 2]
    };
    assert!(called("CALL put(1)").ends_with("call"));
    assert!(called("SET timezone = 'Asia/Tokyo'; CALL put(1)").ends_with("call"));
    assert!(called("INSERT INTO t VALUES (1, 1); CALL waits(1)").ends_with("call"));
    // What it calls is another program there than here.
    assert_eq!(called("CALL put_size(1)"), "effects");
    assert_eq!(called("CALL both_of(1)"), "effects");
    assert_eq!(called("CALL zoned(1)"), "effects");
    assert_eq!(called("CALL in_utc(1)"), "effects");
    assert_eq!(called("CALL local(1)"), "effects");
}

#[test]
fn every_scheme_brings_the_same_rows_back() {
    replayed_by_all(
        SCHEMA,
        &|db| {
            for id in 1..4 {
                db.call("put", (id,)).expect("put");
                db.call("put_size", (id + 100,)).expect("put");
                db.call("both_of", (id + 200,)).expect("put");
                db.call("waits", (id + 200,)).expect("updated");
                db.call("zoned", (id,)).expect("said");
            }
            let mut session = db.session().expect("a session");
            session
                .execute_script("SET timezone = 'America/New_York'; SET search_path = app, public")
                .expect("set");
            for id in 4..6 {
                session.execute("CALL put($1)", (id,)).expect("put");
                session.execute("CALL in_utc($1)", (id,)).expect("said");
                session.execute("CALL local($1)", (id,)).expect("said");
            }
            db.execute("ALTER PROCEDURE put RESET ALL", ()).expect("altered");
            db.call("put", (999,)).expect("put");
        },
        &|db| {
            let one = |text: &str| db.query(text, ()).expect("rows")[0].get::<String>(0).expect("a text");
            assert_eq!(
                one("SELECT string_agg(id || ' ' || v, ', ' ORDER BY id) FROM t"),
                "201 1, 202 2, 203 3, 999 9990"
            );
            assert_eq!(
                one("SELECT string_agg(id || ' ' || v, ', ' ORDER BY id) FROM app.t"),
                "1 10, 2 20, 3 30, 4 40, 5 50, 101 1, 102 5, 103 9, 201 2010, 202 2020, 203 2030, 1201 3, 1202 7, 1203 11"
            );
            assert_eq!(
                one("SELECT string_agg(what, ', ' ORDER BY at) FROM said"),
                "1 2024-01-01 09:00:00+09, 2 2024-01-01 09:00:00+09, 3 2024-01-01 09:00:00+09, \
                 4 2024-01-01 00:00:00+00, 4 2024-01-01 09:00:00+09, 5 2024-01-01 00:00:00+00, 5 2024-01-01 09:00:00+09"
            );
        },
    );
}

/// A routine waits as long as its own `lock_timeout` says, wherever it is called.
#[test]
fn lock_timeout_of_a_routine_holds_while_it_waits() {
    let db = Database::in_memory().expect("opens");
    db.execute_script(SCHEMA).expect("the schema");
    db.execute_script(
        "INSERT INTO t VALUES (1, 0);
         CREATE PROCEDURE sets(p_id int) LANGUAGE plpgsql AS $$
         BEGIN SET LOCAL lock_timeout = '100ms'; UPDATE t SET v = v + 1 WHERE id = p_id; END $$;",
    )
    .expect("more");
    let mut holder = db.session().expect("a session");
    holder.execute_script("BEGIN; UPDATE t SET v = 7 WHERE id = 1").expect("holds the row");
    let mut waiter = db.session().expect("a session");
    for call in ["CALL waits(1)", "BEGIN; CALL waits(1)", "CALL sets(1)", "BEGIN; CALL sets(1)"] {
        let began = Instant::now();
        let error = waiter.execute_script(call).expect_err("waited in vain");
        assert_eq!(error.sqlstate().as_str(), "55P03", "{call}");
        assert!(began.elapsed() < Duration::from_secs(20), "{call}");
        let _ = waiter.execute("ROLLBACK", ());
        let shown = waiter.query("SELECT current_setting('lock_timeout')", ()).expect("a row");
        assert_eq!(shown[0].get::<String>(0).expect("a text"), "0", "{call}");
    }
    holder.execute("ROLLBACK", ()).expect("let go");
    waiter.execute("CALL waits(1)", ()).expect("nobody is in its way");
}

/// Paths that change with the schema, and versions that sessions look from.
#[test]
fn a_path_leads_where_it_leads_now() {
    let db = Database::in_memory().expect("opens");
    db.execute_script(SCHEMA).expect("the schema");
    let size = "SELECT sum(v)::bigint FROM app.t";
    db.call("put", (1,)).expect("put");
    db.execute_script("ALTER SCHEMA app RENAME TO other").expect("renamed");
    let error = db.call("put", (2,)).expect_err("no table");
    assert_eq!(error.sqlstate().as_str(), "42P01");
    db.execute_script("ALTER SCHEMA other RENAME TO app").expect("renamed");
    db.call("put", (2,)).expect("put");
    assert_eq!(db.query(size, ()).expect("rows")[0].get::<i64>(0).expect("a sum"), 30);
    // Routines that lead to each other along their paths.
    db.execute_script(
        "CREATE FUNCTION a(n int) RETURNS text LANGUAGE plpgsql SET search_path = app, public AS $$
         BEGIN RETURN current_schema() || CASE WHEN n > 0 THEN public.b(n - 1) ELSE '' END; END $$;
         CREATE FUNCTION b(n int) RETURNS text LANGUAGE plpgsql SET search_path = public, app AS $$
         BEGIN RETURN current_schema() || CASE WHEN n > 0 THEN public.a(n - 1) ELSE '' END; END $$;",
    )
    .expect("made");
    let told = db.query("SELECT a(3), current_schema()", ()).expect("a row");
    assert_eq!(told[0].get::<String>(0).expect("a text"), "apppublicapppublic");
    assert_eq!(told[0].get::<String>(1).expect("a text"), "public");
}
