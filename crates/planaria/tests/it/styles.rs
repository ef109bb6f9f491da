//! `DateStyle`, `IntervalStyle`, `bytea_output` and `extra_float_digits` belong to a session: what others compute with the same programs does not depend on them,
//! and what a call computes with them comes back from the log.

use crate::logged::records;
use planaria::lab::LabOptions;
use planaria::{Database, LogKind, Options, Scheme, Session};
use planaria_sim::disk::SimDisk;

const SCHEMA: &str = "
    CREATE TABLE t (id serial PRIMARY KEY, d date, ts timestamp, tz timestamptz, i interval, s text);
    CREATE PROCEDURE put(x date) LANGUAGE plpgsql AS $$ BEGIN INSERT INTO t (d) VALUES (x); END $$;
    CREATE PROCEDURE literal() LANGUAGE plpgsql AS $$ BEGIN
        INSERT INTO t (d, ts, tz, i) VALUES ('1/2/2024', '1/2/2024 10:00', '1/2/2024 10:00+00', '-1 2:03:04'); END $$;
    CREATE PROCEDURE plain() LANGUAGE plpgsql AS $$ BEGIN
        INSERT INTO t (d, i) VALUES ('2024-02-01', '1 day'); END $$;
    CREATE PROCEDURE reads(x text, y text) LANGUAGE plpgsql AS $$ BEGIN
        INSERT INTO t (d, i) VALUES (x::date, y::interval); END $$;
    CREATE PROCEDURE shows(x date, y interval) LANGUAGE plpgsql AS $$ BEGIN
        INSERT INTO t (s) VALUES (x || ' ' || y); END $$;
    CREATE FUNCTION shown(x date) RETURNS text LANGUAGE sql AS $$ SELECT x::text $$;
    CREATE PROCEDURE german(x date) LANGUAGE plpgsql SET datestyle = 'German' AS $$ BEGIN
        INSERT INTO t (s) VALUES (x); END $$;
    CREATE PROCEDURE bytes(x bytea) LANGUAGE plpgsql AS $$ BEGIN
        INSERT INTO t (s) VALUES (x); END $$;
    CREATE PROCEDURE floats(x float8) LANGUAGE plpgsql AS $$ BEGIN
        INSERT INTO t (s) VALUES (x); END $$;
    CREATE PROCEDURE calls(x date) LANGUAGE plpgsql AS $$ BEGIN
        INSERT INTO t (s) VALUES (shown(x)); END $$;
";

fn in_style(db: &Database, dates: &str, intervals: &str) -> Session {
    let mut session = db.session().expect("a session");
    session.execute(&format!("SET datestyle = '{dates}'"), ()).expect("a style");
    session.execute(&format!("SET intervalstyle = '{intervals}'"), ()).expect("a style");
    if dates == "German" {
        session.execute("SET bytea_output = escape", ()).expect("a style");
        session.execute("SET extra_float_digits = 0", ()).expect("a style");
    }
    session
}

fn rows(db: &Database) -> Vec<String> {
    let rows = db.query("SELECT concat_ws('|', d, ts, tz, i, s) FROM t ORDER BY id", ()).expect("rows");
    rows.iter().map(|row| row.text(0).unwrap_or_default()).collect()
}

/// By turns, so that each finds what was compiled for the other.
#[test]
fn sessions_of_different_styles_call_the_same_routines() {
    let disk = SimDisk::new(1);
    let mut before = 0;
    for scheme in Scheme::ALL {
        let options = || Options::new().log(LogKind::Command).recovery(*scheme);
        let db = options().open_device(disk.device()).expect("opens");
        if before == 0 {
            db.execute_script(SCHEMA).expect("creates");
        }
        let calls = [
            "put('2024-02-01')",
            "literal()",
            "plain()",
            "reads('1/2/2024', '-1 2:03:04')",
            "shows('2024-02-01', '1 day')",
            "calls('2024-02-01')",
            "german('2024-02-01')",
            r"bytes('\x4100')",
            "floats(0.30000000000000004)",
        ];
        let mut sessions = [
            in_style(&db, "ISO, MDY", "postgres"),
            in_style(&db, "German", "sql_standard"),
            in_style(&db, "ISO, DMY", "postgres"),
            in_style(&db, "SQL, MDY", "iso_8601"),
        ];
        for call in calls {
            for session in &mut sessions {
                session.execute(&format!("CALL {call}"), ()).expect(call);
            }
        }
        let digests = db.digests().expect("digests");
        drop(sessions);
        drop(db);
        let all: Vec<_> = records(&disk).into_iter().filter(|record| *record != "sequence").collect();
        let (call, rows_of) = ("call", "effects");
        let wanted = [
            [call, call, call, call],
            [call, rows_of, rows_of, call],
            [call, call, call, call],
            [call, rows_of, rows_of, call],
            [call, rows_of, call, rows_of],
            [call, rows_of, call, rows_of],
            [rows_of, rows_of, rows_of, rows_of],
            [call, rows_of, call, call],
            [call, rows_of, call, call],
        ];
        assert_eq!(all[before..], wanted.concat(), "{scheme}");
        before = all.len();
        let db = options().open_device(disk.device()).expect("opens again");
        db.check().expect("is whole");
        assert_eq!(db.digests().expect("digests"), digests, "{scheme}");
        let mdy = "2024-01-02|2024-01-02 10:00:00|2024-01-02 10:00:00+00|-1 days +02:03:04";
        let all = rows(&db);
        let wanted = [
            ["2024-02-01"; 4],
            [
                mdy,
                "2024-02-01|2024-02-01 10:00:00|2024-02-01 10:00:00+00|-1 days -02:03:04",
                "2024-02-01|2024-02-01 10:00:00|2024-02-01 10:00:00+00|-1 days +02:03:04",
                mdy,
            ],
            ["2024-02-01|1 day"; 4],
            [
                "2024-01-02|-1 days +02:03:04",
                "2024-02-01|-1 days -02:03:04",
                "2024-02-01|-1 days +02:03:04",
                "2024-01-02|-1 days +02:03:04",
            ],
            ["2024-02-01 1 day", "01.02.2024 1 0:00:00", "2024-02-01 1 day", "02/01/2024 P1D"],
            ["2024-02-01", "01.02.2024", "2024-02-01", "02/01/2024"],
            ["01.02.2024"; 4],
            [r"\x4100", r"A\000", r"\x4100", r"\x4100"],
            ["0.30000000000000004", "0.3", "0.30000000000000004", "0.30000000000000004"],
        ];
        assert_eq!(all[..36], wanted.concat(), "{scheme}");
    }
}

/// What is kept as text means what it meant where it was made.
#[test]
fn definitions_mean_the_same_in_each_session() {
    let disk = SimDisk::new(1);
    let options = || Options::new().log(LogKind::Command);
    let db = options().open_device(disk.device()).expect("opens");
    db.execute_script(
        "CREATE TABLE t (id int PRIMARY KEY, d date DEFAULT '1/2/2024', i interval DEFAULT '-1 2:03:04',
             CHECK (d < '3/4/2024'), g bool GENERATED ALWAYS AS (d = '1/2/2024') STORED);
         CREATE INDEX ON t ((d > '1/2/2024'));
         CREATE INDEX ON t (id) WHERE d > '1/2/2024';
         CREATE DOMAIN early AS date CHECK (value < '3/4/2024');
         CREATE VIEW v AS SELECT id, d = '1/2/2024' AS same FROM t;
         CREATE FUNCTION f(x date DEFAULT '1/2/2024') RETURNS date LANGUAGE sql AS $$ SELECT x $$;
         CREATE PROCEDURE put(x int) LANGUAGE plpgsql AS $$ BEGIN INSERT INTO t (id) VALUES (x); END $$",
    )
    .expect("creates");
    let check = |db: &Database| {
        let all = db
            .query("SELECT id, d::text, i::text, g, same FROM t JOIN v USING (id) ORDER BY id", ())
            .expect("rows");
        let all: Vec<_> = all
            .iter()
            .map(|r| (0..5).map(|at| r.text(at).unwrap_or_default()).collect::<Vec<_>>().join("|"))
            .collect();
        assert_eq!(all, ["1|2024-01-02|-1 days +02:03:04|t|t", "2|2024-01-02|-1 days +02:03:04|t|t"]);
    };
    for (id, dates, intervals) in [(1, "ISO, MDY", "postgres"), (2, "German", "sql_standard")] {
        let mut session = in_style(&db, dates, intervals);
        session.execute(&format!("CALL put({id})"), ()).expect("puts");
        let late =
            session.execute("INSERT INTO t (id, d) VALUES (9, '2024-03-05')", ()).expect_err("is late");
        assert_eq!(late.sqlstate().as_str(), "23514");
        session.execute("SELECT '2024-03-03'::early", ()).expect("is early");
        assert_eq!(
            session.execute("SELECT '2024-03-04'::early", ()).expect_err("late").sqlstate().as_str(),
            "23514"
        );
        let f = session.query("SELECT f() = '2024-01-02'::date", ()).expect("answers");
        assert_eq!(f[0].text(0).as_deref(), Some("t"));
    }
    check(&db);
    // In another style such a definition would mean something else to whoever replays it.
    let mut session = in_style(&db, "German", "sql_standard");
    for refused in [
        "CREATE TABLE u (d date DEFAULT '1/2/2024')",
        "CREATE TABLE u (d daterange DEFAULT '[1/2/2024,)')",
        "CREATE VIEW w AS SELECT '1.2.2024'::date",
        "ALTER TABLE t ADD CHECK (d < '13.2.2024')",
        "CREATE INDEX ON t ((i > '-1 2:00'))",
        "CREATE FUNCTION u(x date DEFAULT '1/2/2024') RETURNS date LANGUAGE sql AS $$ SELECT x $$",
    ] {
        let error = session.execute(refused, ()).expect_err(refused);
        assert_eq!(error.sqlstate().as_str(), "0A000", "{refused}");
    }
    session
        .execute("CREATE TABLE u (d date DEFAULT '2024-02-01', CHECK (d > '1 Jan 2024'))", ())
        .expect("one meaning");
    drop(session);
    drop(db);
    let db = options().open_device(disk.device()).expect("opens again");
    db.check().expect("is whole");
    check(&db);
}

/// What a client gives as text is read in its style, and is an argument like any other.
#[test]
fn arguments_are_read_in_the_style_of_who_gives_them() {
    let disk = SimDisk::new(1);
    let options = || Options::new().log(LogKind::Command);
    let db = options().open_device(disk.device()).expect("opens");
    db.execute_script(SCHEMA).expect("creates");
    let mut session = in_style(&db, "SQL, DMY", "postgres");
    session.call("put", ("3/4/2024",)).expect("a date");
    session
        .execute("INSERT INTO t (d, ts) VALUES ($1, $2)", ("5/6/2024", "7/8/2024 09:00"))
        .expect("inserts");
    let error = session.call("put", ("4/13/2024",)).expect_err("no month");
    assert_eq!(error.sqlstate().as_str(), "22008");
    let shown = session.query("SELECT d, ts FROM t ORDER BY id", ()).expect("rows");
    assert_eq!(shown[1].text(0).as_deref(), Some("05/06/2024"));
    assert_eq!(shown[1].text(1).as_deref(), Some("07/08/2024 09:00:00"));
    drop(session);
    drop(db);
    let all: Vec<_> = records(&disk).into_iter().filter(|record| *record != "sequence").collect();
    assert_eq!(all, ["call", "effects"]);
    let db = options().open_device(disk.device()).expect("opens again");
    assert_eq!(rows(&db), ["2024-04-03", "2024-06-05|2024-08-07 09:00:00"]);
}

/// What rewrites a table, and what a DO block does part by part, is computed in the session's styles, whatever was computed last.
#[test]
fn rewrites_and_parts_compute_in_the_styles_of_the_session() {
    let db = Database::in_memory().expect("opens");
    db.execute_script(
        "CREATE TABLE t (a text); INSERT INTO t VALUES ('01/02/2024'); CREATE TABLE x (a text)",
    )
    .expect("creates");
    let mut session = db.session().expect("a session");
    session.execute("SET datestyle = 'ISO, DMY'", ()).expect("sets");
    session.execute("ALTER TABLE t ALTER a TYPE date USING a::date", ()).expect("rewrites");
    let first = |session: &mut planaria::Session, text: &str| {
        session.query(text, ()).expect("rows")[0].text(0).expect("a text").to_owned()
    };
    assert_eq!(first(&mut session, "SELECT to_char(a, 'YYYY-MM-DD') FROM t"), "2024-02-01");
    session.execute("SET datestyle = 'German'", ()).expect("sets");
    session
        .execute("DO $$ BEGIN INSERT INTO x VALUES ((date '2024-01-31')::text); COMMIT; END $$", ())
        .expect("does");
    assert_eq!(first(&mut session, "SELECT a FROM x"), "31.01.2024");
}
