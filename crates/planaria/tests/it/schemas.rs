//! Schemas beside `public` and temporary relations: what the log has of them, and that they come back.

use planaria::lab::LabOptions;
use planaria::{Database, LogKind, Options, Scheme, SqlState};
use planaria_base::Epoch;
use planaria_log::{LogReader, RecordBody};
use planaria_sim::disk::SimDisk;

fn texts(db: &Database, sql: &str) -> Vec<String> {
    let rows = db.query(sql, ()).unwrap_or_else(|e| panic!("{sql}: {e}"));
    rows.iter().map(|row| row.text(0).unwrap_or_default()).collect()
}

/// Relations of several schemas with their parts, types and routines; changes along a path, and what is kept as text.
const SCRIPT: &str = "
    CREATE SCHEMA a;
    CREATE SCHEMA \"B c\";
    CREATE TYPE a.mood AS ENUM ('low', 'high');
    CREATE FUNCTION a.twice(n int) RETURNS int LANGUAGE sql IMMUTABLE AS 'SELECT 2 * n';
    SET search_path = a, public;
    CREATE TABLE t (id serial PRIMARY KEY, n int GENERATED ALWAYS AS (twice(id)) STORED, m mood DEFAULT 'low');
    CREATE INDEX ON t (twice(n));
    CREATE VIEW v AS SELECT id, twice(n) AS four FROM t;
    CREATE PROCEDURE public.put() LANGUAGE plpgsql AS $$ BEGIN INSERT INTO t DEFAULT VALUES; END $$;
    SET search_path = \"B c\";
    CREATE TABLE t (id int PRIMARY KEY, m a.mood);
    CREATE SCHEMA dropped;
    CREATE TABLE dropped.t (a int);
    DROP SCHEMA dropped CASCADE;
    SET search_path = public;
    CREATE TABLE t (id serial PRIMARY KEY, n text DEFAULT 'public');
    ALTER TABLE t RENAME TO u;
    ALTER SCHEMA \"B c\" RENAME TO b;
    CREATE TABLE moved (x int);
    ALTER TABLE moved SET SCHEMA b;
    ALTER TABLE u RENAME TO t";

#[test]
fn schemas_come_back() {
    for log in [LogKind::Command, LogKind::Logical, LogKind::Physical, LogKind::Physiological] {
        for scheme in Scheme::ALL {
            let disk = SimDisk::new(1);
            let options = || Options::new().log(log).recovery(*scheme);
            let db = options().open_device(disk.device()).expect("opens");
            let mut session = db.session().expect("a session");
            for statement in planaria_syntax::parse::statements(SCRIPT).expect("parses") {
                let text = &SCRIPT[statement.position as usize..statement.end as usize];
                session.execute(text, ()).unwrap_or_else(|e| panic!("{text}: {e}"));
            }
            session.execute("SET search_path = a", ()).expect("is set");
            session.execute("CALL public.put()", ()).expect("is called");
            if *scheme == Scheme::ALL[0] {
                db.checkpoint().expect("a checkpoint");
            }
            session.execute("SET search_path = public", ()).expect("is set");
            session.execute("CALL put()", ()).expect("is called");
            session.execute("SET search_path = a", ()).expect("is set");
            session.execute("CALL public.put()", ()).expect("is called");
            session.execute("INSERT INTO t (m) VALUES ('high')", ()).expect("a row");
            session.execute("INSERT INTO b.t VALUES (7, 'high')", ()).expect("a row");
            let digests = db.digests().expect("digests");
            drop((session, db));
            let db = options().open_device(disk.device()).expect("opens again");
            db.check().expect("is whole");
            assert_eq!(db.digests().expect("digests"), digests, "{log} {scheme}");
            assert_eq!(
                texts(&db, "SELECT (id, n, m)::text FROM a.t ORDER BY id"),
                ["(1,2,low)", "(2,4,low)", "(3,6,high)"]
            );
            assert_eq!(texts(&db, "SELECT (id, n)::text FROM t"), ["(1,public)"]);
            assert_eq!(texts(&db, "SELECT (id, m)::text FROM b.t"), ["(7,high)"]);
            assert_eq!(texts(&db, "SELECT (id, four)::text FROM a.v WHERE id = 2"), ["(2,8)"]);
            assert_eq!(texts(&db, "SELECT count(*)::text FROM b.moved"), ["0"]);
            // What is made now is made as it would have been without a restart.
            db.execute("INSERT INTO a.t DEFAULT VALUES", ()).expect("a row");
            assert_eq!(texts(&db, "SELECT (id, n)::text FROM a.t WHERE id > 3"), ["(4,8)"]);
        }
    }
}

/// Kinds of the records behind the schema's.
fn kinds(disk: &SimDisk, behind: usize) -> Vec<&'static str> {
    let reader = LogReader::open(disk.device()).expect("opens");
    let batches: Vec<_> = reader.batches(Epoch(0)).map(|b| b.expect("a batch")).collect();
    let mut records: Vec<_> =
        batches.iter().flat_map(|b| b.records()).map(|r| r.decode().expect("a record")).collect();
    records.sort_by_key(|r| r.commit_ts);
    let kind = |body: &RecordBody| if matches!(body, RecordBody::Call(_)) { "call" } else { "effects" };
    records.iter().skip(behind).map(|r| kind(&r.body)).collect()
}

/// A call is logged as such where its procedure means from everywhere what it means along the path.
#[test]
fn calls_along_a_path_are_logged_as_calls_where_they_mean_the_same() {
    let disk = SimDisk::new(1);
    let options = || Options::new().log(LogKind::Command);
    let db = options().open_device(disk.device()).expect("opens");
    let script = [
        "CREATE TABLE t (id int PRIMARY KEY)",
        "CREATE SCHEMA s",
        "CREATE TABLE s.t (id int PRIMARY KEY)",
        "CREATE PROCEDURE put(id int) LANGUAGE plpgsql AS $$ BEGIN INSERT INTO t VALUES (id); END $$",
        "CREATE PROCEDURE put_public(id int) LANGUAGE plpgsql AS $$ BEGIN INSERT INTO public.t VALUES (id); END $$",
        "CREATE PROCEDURE put_both(id int) LANGUAGE plpgsql AS $$ BEGIN CALL public.put(id); CALL public.put_public(-id); END $$",
    ];
    for text in script {
        db.execute(text, ()).expect(text);
    }
    let mut session = db.session().expect("a session");
    session.execute("CALL put(1)", ()).expect("is called");
    session.execute("SET search_path = s, public", ()).expect("is set");
    session.execute("CALL put(2)", ()).expect("is called");
    session.execute("CALL put_public(3)", ()).expect("is called");
    session.execute("CALL put_both(4)", ()).expect("is called");
    let digests = db.digests().expect("digests");
    drop((session, db));
    assert_eq!(kinds(&disk, script.len()), ["call", "effects", "call", "effects"]);
    let db = options().open_device(disk.device()).expect("opens again");
    assert_eq!(db.digests().expect("digests"), digests);
    assert_eq!(texts(&db, "SELECT t.id::text FROM t ORDER BY t.id"), ["-4", "1", "3"]);
    assert_eq!(texts(&db, "SELECT t.id::text FROM s.t ORDER BY t.id"), ["2", "4"]);
}

#[test]
fn sessions_with_the_same_text_and_other_paths_have_other_tables() {
    let db = Database::in_memory().expect("opens");
    db.execute_script("CREATE SCHEMA a; CREATE SCHEMA b; CREATE TABLE a.t (n int); CREATE TABLE b.t (n int)")
        .expect("tables");
    let mut sessions: Vec<_> = ["a", "b"]
        .into_iter()
        .map(|path| {
            let mut session = db.session().expect("a session");
            session.execute(&format!("SET search_path = {path}"), ()).expect("is set");
            session
        })
        .collect();
    for round in 0..3 {
        for (n, session) in sessions.iter_mut().enumerate() {
            session.execute("INSERT INTO t VALUES ($1)", (10 * n as i32 + round,)).expect("a row");
        }
        // They change places.
        for (session, path) in sessions.iter_mut().zip([["b", "a"], ["a", "b"]]) {
            session.execute(&format!("SET search_path = {}", path[round as usize % 2]), ()).expect("is set");
        }
    }
    assert_eq!(texts(&db, "SELECT t.n::text FROM a.t ORDER BY t.n"), ["0", "2", "11"]);
    assert_eq!(texts(&db, "SELECT t.n::text FROM b.t ORDER BY t.n"), ["1", "10", "12"]);
    let missing = db.query("SELECT * FROM t", ()).expect_err("is in neither");
    assert_eq!(missing.sqlstate(), SqlState::UNDEFINED_TABLE);
}

#[test]
fn temporary_relations_are_their_sessions_own_and_go_with_it() {
    let db = Database::in_memory().expect("opens");
    let (mut one, mut other) = (db.session().expect("a session"), db.session().expect("a session"));
    for (session, n) in [(&mut one, 1), (&mut other, 2)] {
        session.execute("CREATE TEMP TABLE t (n int)", ()).expect("a table");
        session.execute("INSERT INTO t VALUES ($1)", (n,)).expect("a row");
    }
    let n = |session: &mut planaria::Session| {
        session.query("SELECT n FROM t", ()).expect("rows")[0].get::<i32>(0)
    };
    assert_eq!((n(&mut one), n(&mut other)), (Ok(1), Ok(2)));
    assert_eq!(texts(&db, "SELECT count(*)::text FROM pg_class WHERE relname = 't'"), ["2"]);
    drop(one);
    assert_eq!(texts(&db, "SELECT count(*)::text FROM pg_class WHERE relname = 't'"), ["1"]);
    assert_eq!(n(&mut other), Ok(2));
    drop(other);
    assert_eq!(texts(&db, "SELECT count(*)::text FROM pg_namespace WHERE nspname ~ 'temp'"), ["0"]);
}

#[test]
fn temporary_relations_do_not_survive_a_crash() {
    for scheme in Scheme::ALL {
        let disk = SimDisk::new(1);
        let options = || Options::new().log(LogKind::Command).recovery(*scheme);
        let db = options().open_device(disk.device()).expect("opens");
        db.execute("CREATE TABLE t (n int PRIMARY KEY)", ()).expect("a table");
        let mut session = db.session().expect("a session");
        session.execute("CREATE TEMP TABLE x (n int)", ()).expect("a table");
        session.execute("INSERT INTO x VALUES (1), (2)", ()).expect("rows");
        session.execute("INSERT INTO t SELECT n FROM x", ()).expect("rows");
        session.execute("CREATE TEMP VIEW v AS SELECT * FROM x", ()).expect("a view");
        // Nobody comes to drop them.
        let crashed = SimDisk::with_files(&disk.files(), 2);
        drop((session, db));
        let db = options().open_device(crashed.device()).expect("opens again");
        db.check().expect("is whole");
        assert_eq!(texts(&db, "SELECT t.n::text FROM t ORDER BY t.n"), ["1", "2"], "{scheme}");
        assert_eq!(texts(&db, "SELECT count(*)::text FROM pg_class WHERE relname IN ('x', 'v')"), ["0"]);
        assert_eq!(texts(&db, "SELECT count(*)::text FROM pg_namespace WHERE nspname ~ 'temp'"), ["0"]);
    }
}

/// What CREATE SCHEMA makes in one statement, and what else is of this kind, comes back from every log; calls of routines among it
/// are logged as calls.
#[test]
fn schemas_with_what_is_in_them_come_back() {
    let script = "
        CREATE SCHEMA shop
            CREATE VIEW dear AS SELECT * FROM item WHERE price > 10
            CREATE TABLE item (id int DEFAULT nextval('numbers'), name text, price int, PRIMARY KEY (id) INCLUDE (price))
            CREATE SEQUENCE numbers
            CREATE INDEX names ON item (name COLLATE \"C\" DESC);
        CREATE RECURSIVE VIEW steps (n) AS SELECT 1 UNION ALL SELECT n + 1 FROM steps WHERE n < 4;
        CREATE TABLE said (a int UNIQUE, CONSTRAINT once UNIQUE (a), b text, UNIQUE (b) INCLUDE (a));
        CREATE TYPE mood AS ENUM ('low', 'high');
        CREATE ROLE of_moods;
        GRANT USAGE ON TYPE mood TO of_moods WITH GRANT OPTION;
        REVOKE USAGE ON TYPE mood FROM PUBLIC;
        CREATE PROCEDURE gather(p_price int) LANGUAGE plpgsql AS $$ BEGIN
            INSERT INTO shop.item (name, price)
                SELECT array_agg(n)::text || array_agg(n ORDER BY n DESC)::text || jsonb_build_array(VARIADIC array_agg(n)), p_price
                FROM (VALUES (2), (3), (1)) v(n);
        END $$;";
    let run = |db: &Database| {
        for price in [5, 20] {
            db.call("gather", (price,)).expect("a call");
        }
        db.execute("INSERT INTO said VALUES (1, 'x')", ()).expect("a row");
    };
    let check = |db: &Database| {
        assert_eq!(texts(db, "SELECT name FROM shop.dear"), ["{2,3,1}{3,2,1}[2, 3, 1]"]);
        assert_eq!(texts(db, "SELECT sum(n)::text FROM steps"), ["10"]);
        let keys = "SELECT string_agg(conname || ' ' || pg_get_constraintdef(oid), ', ' ORDER BY conname) FROM pg_constraint
                    WHERE conrelid IN ('said'::regclass, 'shop.item'::regclass)";
        assert_eq!(
            texts(db, keys),
            [
                "item_pkey PRIMARY KEY (id) INCLUDE (price), once UNIQUE (a), said_b_a_key UNIQUE (b) INCLUDE (a)"
            ]
        );
        let index = "CREATE INDEX names ON shop.item USING btree (name COLLATE \"C\" DESC)";
        assert_eq!(texts(db, "SELECT pg_get_indexdef('shop.names'::regclass)"), [index]);
        let granted = "SELECT typacl::text FROM pg_type WHERE typname = 'mood'";
        assert_eq!(texts(db, granted), ["{postgres=U/postgres,of_moods=U*/postgres}"]);
        assert_eq!(
            db.execute("INSERT INTO said VALUES (1, 'y')", ()).expect_err("twice").sqlstate(),
            SqlState::UNIQUE_VIOLATION
        );
    };
    crate::logged::replayed_by_all(script, &run, &check);
    crate::logged::stay_calls(
        &format!("CREATE TABLE t (id int PRIMARY KEY, v int); CREATE SEQUENCE s; {script}"),
        &["CALL gather(7)"],
    );
}
