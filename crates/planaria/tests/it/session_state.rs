//! What a session asks of itself: the time, its settings, its cursors; and when volatile outputs are computed.

use planaria::lab::LabOptions;
use planaria::serving::{ServedSession, SessionState};
use planaria::{Database, Options, Session};
use std::thread;
use std::time::Duration;

fn texts(session: &mut Session, sql: &str) -> Vec<String> {
    let rows = session.query(sql, ()).unwrap_or_else(|e| panic!("{sql}: {e}"));
    rows.iter().map(|row| row.get(0).expect("a text")).collect()
}

fn text(session: &mut Session, sql: &str) -> String {
    texts(session, sql).pop().expect("a row")
}

fn state(outcome: planaria::Result<()>) -> String {
    outcome.expect_err("is refused").sqlstate().as_str().to_owned()
}

fn session() -> Session {
    Database::in_memory().expect("opens").session().expect("a session")
}

#[test]
fn times_are_those_of_transaction_statement_and_moment() {
    let mut s = session();
    let nap = || thread::sleep(Duration::from_millis(2));
    s.execute_script("CREATE TABLE began (at timestamptz); BEGIN").expect("begins");
    nap();
    s.execute_script("INSERT INTO began VALUES (now())").expect("inserts");
    nap();
    assert_eq!(text(&mut s, "SELECT (at = now() AND at = transaction_timestamp())::text FROM began"), "true");
    assert_eq!(text(&mut s, "SELECT (statement_timestamp() > now())::text"), "true");
    let first = text(&mut s, "SELECT statement_timestamp()::text");
    nap();
    assert_ne!(text(&mut s, "SELECT statement_timestamp()::text"), first);
    assert_eq!(
        text(&mut s, "SELECT (clock_timestamp() - statement_timestamp() < interval '1 hour')::text"),
        "true"
    );
    s.execute_script("ROLLBACK; BEGIN").expect("anew");
    let began = text(&mut s, "SELECT now()::text");
    nap();
    assert_eq!(text(&mut s, "SELECT current_timestamp::text"), began);
    s.execute_script("COMMIT").expect("commits");
    assert_eq!(text(&mut s, "SELECT (now() = statement_timestamp())::text"), "true");
    // The clock goes on within a statement, and is never before it began.
    let passed = "SELECT (a < b AND n <= a)::text FROM (SELECT clock_timestamp() AS a, pg_sleep(0.003), clock_timestamp() AS b,
        now() AS n) AS t";
    assert_eq!(text(&mut s, passed), "true");
    s.execute_script(
        "CREATE FUNCTION ticks() RETURNS boolean LANGUAGE plpgsql AS $$
         DECLARE a timestamptz := clock_timestamp(); s timestamptz := statement_timestamp();
         BEGIN PERFORM pg_sleep(0.003); RETURN clock_timestamp() > a AND a >= now() AND s = statement_timestamp(); END $$",
    )
    .expect("a function");
    assert_eq!(text(&mut s, "SELECT ticks()::text"), "true");
    let moments = "SELECT count(DISTINCT t)::text FROM (SELECT clock_timestamp() AS t, pg_sleep(0.002)
        FROM generate_series(1, 3)) AS u";
    assert_eq!(text(&mut s, moments), "3");
}

#[test]
fn what_a_function_sets_is_seen_in_the_same_call() {
    let mut s = session();
    s.execute_script(
        "CREATE FUNCTION sets(v text, l boolean) RETURNS text LANGUAGE plpgsql AS $$
         BEGIN PERFORM set_config('my.own', v, l); RETURN current_setting('my.own'); END $$;
         CREATE FUNCTION fails() RETURNS int LANGUAGE plpgsql AS $$
         BEGIN PERFORM set_config('my.own', 'failed', false); RETURN 1 / 0; END $$",
    )
    .expect("functions");
    assert_eq!(text(&mut s, "SELECT sets('local', true)"), "local");
    assert_eq!(text(&mut s, "SELECT coalesce(current_setting('my.own', true), '')"), "");
    assert_eq!(text(&mut s, "SELECT sets('session', false)"), "session");
    assert_eq!(text(&mut s, "SELECT current_setting('my.own')"), "session");
    assert_eq!(text(&mut s, "SELECT set_config('my.own', 'a', true) || current_setting('my.own')"), "aa");
    assert_eq!(text(&mut s, "SELECT current_setting('my.own')"), "session");
    s.query("SELECT fails()", ()).expect_err("divides by zero");
    assert_eq!(text(&mut s, "SELECT current_setting('my.own')"), "session");
    s.execute_script("BEGIN; SELECT sets('block', true)").expect("sets");
    assert_eq!(text(&mut s, "SELECT current_setting('my.own')"), "block");
    s.execute_script("COMMIT").expect("commits");
    assert_eq!(text(&mut s, "SELECT current_setting('my.own')"), "session");
}

#[test]
fn rollback_to_a_savepoint_takes_the_session_back() {
    let mut s = session();
    s.execute_script(
        "CREATE TABLE t (n int); SET application_name = 'before'; BEGIN; SAVEPOINT a;
         DECLARE kept CURSOR FOR SELECT 1; ROLLBACK TO a",
    )
    .expect("goes back");
    assert_eq!(state(s.execute_script("FETCH kept")), "34000");
    s.execute_script(
        "ROLLBACK; BEGIN; DECLARE c CURSOR FOR SELECT 'c'; SAVEPOINT a; SAVEPOINT b;
         DECLARE d CURSOR FOR SELECT 'd'; RELEASE b; SET application_name = 'inside'; SET my.own = '1';
         SET TRANSACTION READ ONLY",
    )
    .expect("sets");
    assert_eq!(text(&mut s, "FETCH c"), "c");
    s.execute_script("ROLLBACK TO a; INSERT INTO t VALUES (1)").expect("may write again");
    assert_eq!(text(&mut s, "SHOW application_name"), "before");
    assert_eq!(text(&mut s, "SHOW transaction_read_only"), "off");
    assert_eq!(text(&mut s, "SELECT coalesce(current_setting('my.own', true), '')"), "");
    s.execute_script("FETCH c").expect("is from before");
    assert_eq!(state(s.execute_script("FETCH d")), "34000");
    s.execute_script("ROLLBACK; BEGIN; SET TRANSACTION READ ONLY; SAVEPOINT a; ROLLBACK TO a")
        .expect("set before");
    assert_eq!(state(s.execute_script("INSERT INTO t VALUES (2)")), "25006");
}

#[test]
fn volatile_outputs_are_computed_after_sorting_and_limiting() {
    let mut s = session();
    s.execute_script(
        "CREATE SEQUENCE s; CREATE TABLE t (a int, b text);
         INSERT INTO t SELECT i, 'b' || i FROM generate_series(1, 9) AS g(i);
         CREATE FUNCTION draw(of text) RETURNS text LANGUAGE plpgsql VOLATILE AS $$
         BEGIN RETURN of || ':' || nextval('s'); END $$",
    )
    .expect("the schema");
    let sorted = "SELECT nextval('s') || ' ' || a || b FROM t ORDER BY a DESC LIMIT 3";
    assert_eq!(texts(&mut s, sorted), ["1 9b9", "2 8b8", "3 7b7"]);
    assert_eq!(texts(&mut s, "SELECT draw(b) FROM t ORDER BY a OFFSET 8"), ["b9:12"]);
    let grouped =
        "SELECT draw(count(*)::text || min(b)), a % 2 AS k FROM t GROUP BY k ORDER BY k DESC LIMIT 1";
    assert_eq!(texts(&mut s, grouped), ["5b1:13"]);
    let windowed = "SELECT draw(row_number() OVER (ORDER BY a)::text) FROM t ORDER BY a DESC LIMIT 2";
    assert_eq!(texts(&mut s, windowed), ["9:14", "8:15"]);
    s.execute_script("CREATE TABLE u (id int, b text); INSERT INTO u SELECT nextval('s'), b FROM t ORDER BY b DESC LIMIT 2")
        .expect("inserts");
    assert_eq!(texts(&mut s, "SELECT id || b FROM u ORDER BY id"), ["16b9", "17b8"]);
    // What is sorted by is computed before, for all rows.
    assert_eq!(texts(&mut s, "SELECT nextval('s')::text AS n FROM t ORDER BY n DESC LIMIT 1"), ["26"]);
    let correlated =
        "SELECT (SELECT draw(t.b)), (SELECT max(x.a) FROM t AS x WHERE x.a < t.a) FROM t ORDER BY a LIMIT 1";
    assert_eq!(texts(&mut s, correlated), ["b1:27"]);
    assert_eq!(text(&mut s, "SELECT nextval('s')::text"), "28");
}

#[test]
fn definitions_of_sequences_are_checked_and_follow_their_columns() {
    let mut s = session();
    assert_eq!(state(s.execute_script("CREATE SEQUENCE s CACHE 0")), "22023");
    assert_eq!(state(s.execute_script("CREATE SEQUENCE s CACHE 2 CACHE 2")), "42601");
    s.execute_script(
        "CREATE TABLE t (id smallint GENERATED BY DEFAULT AS IDENTITY PRIMARY KEY, v int);
         SELECT setval('t_id_seq', 32767); ALTER TABLE t ALTER COLUMN id TYPE int; INSERT INTO t (v) VALUES (1)",
    )
    .expect("goes on behind the smallint's end");
    assert_eq!(text(&mut s, "SELECT id::text FROM t"), "32768");
    assert_eq!(text(&mut s, "SELECT max_value::text FROM pg_sequences"), "2147483647");
    assert_eq!(state(s.execute_script("ALTER TABLE t ALTER COLUMN id TYPE text")), "22023");
    s.execute_script("CREATE SEQUENCE w; SELECT nextval('w'); ALTER SEQUENCE w INCREMENT BY 10")
        .expect("alters");
    assert_eq!(text(&mut s, "SELECT nextval('w')::text"), "11");
    assert_eq!(text(&mut s, "SELECT setval('w', 50, false)::text"), "50");
    assert_eq!(text(&mut s, "SELECT currval('w')::text"), "11");
}

/// ALTER ROLE .. SET and ALTER DATABASE .. SET: what a session begins with, and what RESET goes back to.
#[test]
fn sessions_begin_with_what_is_set_of_them() {
    let disk = planaria_sim::disk::SimDisk::new(1);
    let options = || Options::new().set("lock_timeout", "1s").set("work_mem", "8MB");
    {
        let db = options().open_device(disk.device()).expect("opens");
        db.execute_script(
            "CREATE ROLE app LOGIN; CREATE ROLE gone LOGIN; CREATE ROLE chief LOGIN CREATEROLE;
             ALTER ROLE ALL SET default_transaction_isolation = 'repeatable read';
             ALTER DATABASE planaria SET default_transaction_isolation TO 'read committed';
             ALTER DATABASE planaria SET work_mem TO '16MB'; ALTER DATABASE planaria SET my.own = a, b;
             ALTER ROLE app SET statement_timeout = 5000; ALTER ROLE app SET work_mem = '32MB';
             ALTER ROLE app IN DATABASE planaria SET work_mem = '64MB';
             ALTER ROLE gone SET work_mem = '1GB'; ALTER ROLE gone RESET ALL; ALTER ROLE gone SET jit = on; DROP ROLE gone;
             ALTER USER app SET jit TO on; ALTER ROLE app RESET jit; ALTER ROLE app SET TIME ZONE 'UTC'",
        )
        .expect("settings");
        for (refused, state_of_it) in [
            ("ALTER ROLE app SET nonsense = 1", "42704"),
            ("ALTER ROLE app SET work_mem = 'much'", "22023"),
            ("ALTER ROLE app SET transaction_isolation = 'serializable'", "55P02"),
            ("ALTER ROLE nobody SET work_mem = '1MB'", "42704"),
            ("ALTER DATABASE other SET work_mem = '1MB'", "3D000"),
            ("ALTER ROLE app IN DATABASE other RESET ALL", "3D000"),
            ("ALTER ROLE app SET work_mem", "42601"),
            ("ALTER ROLE app RESET", "42601"),
        ] {
            assert_eq!(state(db.execute_script(refused)), state_of_it, "{refused}");
        }
        // Who may: each of its own, those who may make roles of others but superusers, the owner of the database of all.
        let mut app = db.session_as("app").expect("logs in");
        app.execute_script("ALTER ROLE app SET application_name = 'mine'").expect("its own");
        let mut chief = db.session_as("chief").expect("logs in");
        chief.execute_script("ALTER ROLE app SET lock_timeout = '2s'").expect("may");
        for sql in [
            "ALTER ROLE chief SET jit = on",
            "ALTER ROLE ALL SET jit = on",
            "ALTER DATABASE planaria RESET ALL",
            "ALTER ROLE ALL IN DATABASE planaria RESET ALL",
        ] {
            assert_eq!(state(app.execute_script(sql)), "42501", "{sql}");
        }
        assert_eq!(state(chief.execute_script("ALTER ROLE postgres SET jit = on")), "42501");
        assert_eq!(text(&mut app, "SHOW work_mem"), "64MB", "sessions that are open stay as they are");
        db.close().expect("closes");
    }
    for checkpoint in [true, false] {
        let db = options().open_device(disk.device()).expect("recovers");
        let mut app = db.session_as("app").expect("logs in");
        let mut other = db.session().expect("a session");
        for (name, of_app, of_others) in [
            ("work_mem", "64MB", "16MB"),
            ("default_transaction_isolation", "read committed", "read committed"),
            ("statement_timeout", "5s", "0"),
            ("lock_timeout", "2s", "1s"),
            ("application_name", "mine", ""),
            ("my.own", "a, b", "a, b"),
            ("jit", "off", "off"),
        ] {
            let (show, reset) = (format!("SHOW {name}"), format!("RESET {name}"));
            assert_eq!(text(&mut app, &show), of_app, "{name}");
            assert_eq!(text(&mut other, &show), of_others, "{name}");
            app.execute_script(&reset).expect("resets");
            assert_eq!(text(&mut app, &show), of_app, "{name}");
        }
        app.execute_script("SET work_mem = '1MB'; SET statement_timeout = 1; RESET ALL").expect("as it was");
        assert_eq!(text(&mut app, "SHOW work_mem"), "64MB");
        app.execute_script("BEGIN; SET LOCAL lock_timeout = 0; DISCARD SEQUENCES; COMMIT; DISCARD ALL")
            .expect("anew");
        assert_eq!(text(&mut app, "SHOW lock_timeout"), "2s");
        // A block's level is what its session begins with.
        app.execute_script("BEGIN").expect("begins");
        assert_eq!(text(&mut app, "SHOW transaction_isolation"), "read committed");
        app.execute_script("COMMIT; SET work_mem = '2MB'").expect("ends");
        let origin = "SELECT setting || ' ' || reset_val || ' ' || boot_val || ' ' || source FROM pg_settings WHERE name = 'work_mem'";
        assert_eq!(text(&mut app, origin), "2048 65536 4096 session");
        let all = "SELECT coalesce(datname, '') || ' ' || coalesce(rolname, '') || ' ' || array_to_string(setconfig, '; ')
            FROM pg_db_role_setting s LEFT JOIN pg_database d ON d.oid = setdatabase
            LEFT JOIN pg_roles r ON r.oid = setrole ORDER BY 1";
        assert_eq!(
            texts(&mut other, all),
            [
                "  default_transaction_isolation=repeatable read",
                " app statement_timeout=5000; work_mem=32MB; timezone=UTC; application_name=mine; lock_timeout=2s",
                "planaria  default_transaction_isolation=read committed; work_mem=16MB; my.own=a, b",
                "planaria app work_mem=64MB",
            ]
        );
        if checkpoint {
            db.execute("CHECKPOINT", ()).expect("a checkpoint");
        }
        db.close().expect("closes");
    }
    let refused = |name: &str, value: &str| {
        let error = Options::new().set(name, value).in_memory().expect_err("does not open");
        error.sqlstate().as_str().to_owned()
    };
    assert_eq!(refused("nonsense", "1"), "42704");
    assert_eq!(refused("work_mem", "much"), "22023");
}

/// Two clients whose transactions one session runs, in turns: the answer to what one of them says, or the SQLSTATE.
fn two_clients(mut s: Session) -> impl FnMut(usize, &str) -> Result<String, String> {
    let mut clients = [SessionState::default(), SessionState::default()];
    move |client, sql| {
        s.swap_state(&mut clients[client]);
        let answer = s.query(sql, ()).map_err(|e| e.sqlstate().as_str().to_owned());
        s.swap_state(&mut clients[client]);
        answer.map(|rows| rows.first().map_or_else(String::new, |row| row.get(0).expect("a text")))
    }
}

#[test]
fn the_last_value_is_that_of_who_asks() {
    let mut s = session();
    s.execute_script("CREATE SEQUENCE a; CREATE SEQUENCE b START 100; CREATE SEQUENCE c START 1000")
        .expect("sequences");
    let mut says = two_clients(s);
    let draw = |sequence: &str| format!("SELECT nextval('{sequence}')::text");
    let last = "SELECT lastval()::text";
    for sequence in ["a", "b"] {
        says(0, &draw(sequence)).expect("draws");
    }
    assert_eq!(says(1, last), Err("55000".to_owned()), "who has drawn nothing has no last value");
    says(1, &draw("a")).expect("draws");
    assert_eq!((says(0, last), says(1, last)), (Ok("100".to_owned()), Ok("2".to_owned())));
    says(1, &draw("c")).expect("draws");
    assert_eq!((says(0, last), says(1, last)), (Ok("100".to_owned()), Ok("1000".to_owned())));
}

#[test]
fn a_seed_is_that_of_who_has_set_it() {
    let mut says = two_clients(session());
    let random = "SELECT random()::text";
    let seed = |seed: f64| format!("DO $$ BEGIN PERFORM setseed({seed}); END $$");
    says(0, &seed(0.5)).expect("a seed");
    let [first, second] = [(); 2].map(|()| says(0, random).expect("a number"));
    says(0, &seed(0.5)).expect("a seed");
    assert_ne!(says(1, random).as_ref(), Ok(&first), "nobody else draws from it");
    assert_eq!(says(0, random), Ok(first));
    says(1, &seed(0.25)).expect("a seed");
    assert_eq!(says(0, random), Ok(second), "nobody else seeds it");
}

#[test]
fn sequences_that_are_discarded_have_no_last_value() {
    let mut s = session();
    s.execute_script("CREATE SEQUENCE a; SELECT nextval('a'); DISCARD SEQUENCES").expect("discards");
    assert_eq!(state(s.query("SELECT lastval()", ()).map(drop)), "55000");
    assert_eq!(state(s.query("SELECT currval('a')", ()).map(drop)), "55000");
}

/// splitmix64, a generator whose state any of its numbers tells: what comes after `number`.
fn after_in_splitmix(number: u64) -> u64 {
    const A: u64 = 0xBF58_476D_1CE4_E5B9;
    const B: u64 = 0x94D0_49BB_1331_11EB;
    let unshifted = |z: u64, by: u32| (0..64 / by).fold(z, |known, _| z ^ (known >> by));
    let inverse = |odd: u64| {
        (0..6).fold(odd, |known, _| known.wrapping_mul(2u64.wrapping_sub(odd.wrapping_mul(known))))
    };
    let z = unshifted(number, 31).wrapping_mul(inverse(B));
    let z = unshifted(z, 27).wrapping_mul(inverse(A));
    let state = unshifted(z, 30).wrapping_add(0x9E37_79B9_7F4A_7C15);
    let z = (state ^ (state >> 30)).wrapping_mul(A);
    let z = (z ^ (z >> 27)).wrapping_mul(B);
    z ^ (z >> 31)
}

/// Clients share sessions: who has drawn something there must not know what another draws, be it a key of sessions or a salt.
#[test]
fn no_uuid_is_told_by_what_was_drawn_before() {
    let mut s = session();
    // Its digits that are drawn: the first 6 bytes, and the last 7.
    let halves = |s: &mut Session| {
        let hex = text(s, "SELECT replace(gen_random_uuid()::text, '-', '')");
        let bytes = u128::from_str_radix(&hex, 16).expect("32 digits").to_be_bytes();
        let half = |at: usize| u64::from_le_bytes(bytes[at..at + 8].try_into().expect("eight bytes"));
        (half(0), half(8))
    };
    let is_like = |one: u64, other: u64, bits: u64| (one ^ other) & bits == 0;
    // All but the version, and the variant.
    let (of_first, of_second) = (!0x00F0_0000_0000_0000, !0xC0);
    let (first, second) = halves(&mut s);
    let told = (0..16).any(|version: u64| {
        let whole = first & of_first | version << 52;
        is_like(after_in_splitmix(whole), second, of_second)
    });
    assert!(!told, "one half of a UUID tells the other");
    let drawn: f64 = s.query("SELECT random()", ()).expect("a number")[0].get(0).expect("a number");
    let (first, _) = halves(&mut s);
    let known = ((drawn * (1u64 << 53) as f64) as u64) << 11;
    let told = (0..1 << 11).any(|rest| is_like(after_in_splitmix(known | rest), first, of_first));
    assert!(!told, "random() tells a UUID");
}
