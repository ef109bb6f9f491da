//! Whatever a transaction computes from more than its logged inputs is in the log: what is there after a recovery
//! is what was there before, by every scheme, from every kind of log, not merely the same by all of them.

use planaria::lab::{LabOptions, open_log, verify_log};
use planaria::log::LogView;
use planaria::{Database, Error, LogKind, Options, ProtocolKind, Scheme, SqlState};
use planaria_base::WallClock;
use planaria_sim::disk::{SimDisk, Survival};
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

pub(crate) const KINDS: [LogKind; 5] =
    [LogKind::Command, LogKind::Logical, LogKind::Physical, LogKind::Physiological, LogKind::Adaptive];

/// All rows there are: as texts, for people, and as digests, for all that a text does not say.
pub(crate) fn contents(db: &Database) -> (Vec<String>, Vec<(String, u128)>) {
    db.check().expect("rows and indexes agree");
    let mut lines = Vec::new();
    let names = "SELECT relname FROM pg_class WHERE relkind = 'r' AND oid >= 16384 ORDER BY relname";
    for name in db.query(names, ()).expect("names") {
        let name: String = name.get(0).expect("a name");
        let rows = db.query(&format!("SELECT * FROM {name}"), ()).expect("rows");
        let mut rows: Vec<String> = rows.iter().map(|r| format!("{name} {:?}", r.values())).collect();
        rows.sort();
        lines.extend(rows);
    }
    (lines, db.digests().expect("digests"))
}

/// Runs scripts, each in a session of its own, crashes, and recovers by every scheme from every kind of log.
#[track_caller]
fn survive(scripts: &[&str]) {
    survives(&|db| {
        for script in scripts {
            let mut session = db.session().expect("a seat");
            session.execute_script(script).unwrap_or_else(|e| panic!("{script}: {e}"));
        }
    });
}

/// The same of any work.
#[track_caller]
fn survives(work: &dyn Fn(&Database)) {
    let default = ProtocolKind::default();
    let others = ProtocolKind::ALL.iter().filter(|p| **p != default).map(|p| (LogKind::Command, *p));
    for (kind, protocol) in KINDS.into_iter().map(|k| (k, default)).chain(others) {
        let disk = SimDisk::new(7);
        let time = Arc::new(AtomicI64::new(800_000_000_000_000));
        let options = |scheme| {
            let time = time.clone();
            let clock = WallClock::new(move || time.fetch_add(7, Ordering::Relaxed));
            let options = Options::new().log(kind).protocol(protocol).wall_clock(clock);
            options.recovery(scheme).recovery_threads(2).keep_log(true)
        };
        let db = options(Scheme::Clr).open_device(disk.device()).expect("opens");
        work(&db);
        let expected = contents(&db);
        disk.crash(Survival::Nothing);
        drop(db);
        // An hour later.
        time.fetch_add(3_600_000_000, Ordering::Relaxed);
        for scheme in Scheme::ALL.iter().copied() {
            let db =
                options(scheme).open_device(disk.device()).unwrap_or_else(|e| panic!("{kind} {scheme}: {e}"));
            assert_eq!(contents(&db), expected, "{kind} by {scheme}");
        }
        let found = verify_log(&|| Ok(disk.device()), Scheme::LlrP, 2).expect("can be replayed");
        assert!(found.is_clean(), "{kind}");
        let digests = found.tables.iter().map(|t| t.digests[0].clone().expect("is there"));
        let mut expected = expected.1;
        expected.sort();
        let expected = expected.iter().map(|(_, digest)| format!("{digest:032x}"));
        assert_eq!(digests.collect::<Vec<_>>(), expected.collect::<Vec<_>>(), "{kind}: log verify");
    }
}

const ROWS: &str =
    "CREATE TABLE t (id int PRIMARY KEY, v int); INSERT INTO t VALUES (3, 30), (1, 10), (2, 20);
     CREATE TABLE h (v int); INSERT INTO h VALUES (3), (1), (2); CREATE SEQUENCE s INCREMENT 3;
     CREATE ROLE app; CREATE TABLE log (n serial, what text, who text DEFAULT current_user);";

#[test]
fn values_of_new_columns_stay() {
    survive(&[
        ROWS,
        "ALTER TABLE t ADD COLUMN a uuid DEFAULT gen_random_uuid(), ADD COLUMN b float8 DEFAULT random(),
             ADD COLUMN c timestamptz DEFAULT now(), ADD COLUMN d timestamptz NOT NULL DEFAULT clock_timestamp(),
             ADD COLUMN e text DEFAULT session_user, ADD COLUMN f int DEFAULT nextval('s'), ADD COLUMN g int DEFAULT 7,
             ADD COLUMN w text, ADD COLUMN x numeric(10, 3) DEFAULT random() * 1000, ADD COLUMN y bool DEFAULT random() < 0.5,
             ADD COLUMN z bytea DEFAULT decode(md5(random()::text), 'hex')",
        "ALTER TABLE h ADD COLUMN a uuid DEFAULT gen_random_uuid(), ADD COLUMN n serial, ADD COLUMN o int DEFAULT nextval('h_n_seq')",
        "INSERT INTO t (id) VALUES (4); INSERT INTO h (v) VALUES (4); ALTER TABLE h ADD COLUMN late date DEFAULT current_date;
         INSERT INTO t (id) VALUES (5); INSERT INTO h (v) VALUES (5)",
        // Later changes are made of what is there.
        "CREATE UNIQUE INDEX t_a ON t (a); CREATE UNIQUE INDEX ON t (d); ALTER TABLE t ADD UNIQUE (b);
         UPDATE t SET v = v + 1 WHERE a IS NOT NULL; DELETE FROM t WHERE b = (SELECT max(b) FROM t)",
        "ALTER TABLE t DROP CONSTRAINT t_pkey; ALTER TABLE t ADD COLUMN again uuid DEFAULT gen_random_uuid();
         ALTER TABLE t ADD PRIMARY KEY (again); UPDATE t SET v = 0",
    ]);
}

#[test]
fn values_of_other_types_stay() {
    survive(&[
        ROWS,
        "ALTER TABLE t ALTER COLUMN v TYPE float8 USING v + random()",
        "ALTER TABLE h ALTER COLUMN v TYPE text USING v || ' of ' || current_user || ' at ' || clock_timestamp(),
             ADD COLUMN k int GENERATED ALWAYS AS IDENTITY (START 10 INCREMENT -5 MINVALUE -100 MAXVALUE 10)",
        "INSERT INTO h (v) VALUES ('last'); ALTER TABLE h ALTER COLUMN v TYPE varchar(90); ALTER TABLE t ALTER COLUMN v TYPE bigint;
         CREATE UNIQUE INDEX ON h (v)",
        "ALTER TABLE t ALTER COLUMN id TYPE uuid USING gen_random_uuid(); UPDATE t SET v = v + 1",
    ]);
}

#[test]
fn who_changed_the_schema_stays() {
    survive(&[
        ROWS,
        "CREATE ROLE teller; ALTER TABLE t OWNER TO app; ALTER TABLE h OWNER TO teller; GRANT CREATE ON SCHEMA public TO app;
         CREATE FUNCTION me() RETURNS text LANGUAGE plpgsql AS $$ BEGIN RETURN current_user || session_user; END $$;
         CREATE FUNCTION owner() RETURNS text LANGUAGE plpgsql SECURITY DEFINER AS $$ BEGIN RETURN current_user || me(); END $$;
         GRANT SELECT, INSERT, UPDATE ON log TO PUBLIC; GRANT USAGE ON SEQUENCE log_n_seq TO PUBLIC",
        "SET ROLE app; ALTER TABLE t ADD COLUMN who text DEFAULT current_user, ADD COLUMN whose text DEFAULT owner();
         INSERT INTO t VALUES (9, 9)",
        "SET SESSION AUTHORIZATION teller; BEGIN; ALTER TABLE h ADD COLUMN who text DEFAULT me(); INSERT INTO h VALUES (8); COMMIT",
        "SET ROLE app; CREATE TABLE made AS SELECT id, who, current_user AS u, now() AS n FROM t;
         ALTER TABLE t ADD CONSTRAINT mine CHECK (who = current_user); ALTER TABLE t ADD CHECK (whose <> me())",
        "RESET ROLE; ALTER TABLE t DROP CONSTRAINT mine; INSERT INTO t VALUES (10, 10)",
    ]);
}

#[test]
fn conditions_are_not_validated_anew() {
    survive(&[
        "CREATE TABLE c (r timestamptz); INSERT INTO c VALUES (now() + interval '1 minute');
         ALTER TABLE c ADD CONSTRAINT future CHECK (r > now());
         ALTER TABLE c ADD CONSTRAINT by_chance CHECK (random() >= 0);
         CREATE TABLE w (w text); INSERT INTO w VALUES (session_user);
         ALTER TABLE w ADD CHECK (w = current_user AND w = current_setting('role', true) OR w = session_user)",
        "CREATE ROLE app; CREATE TABLE mine (w text); INSERT INTO mine VALUES ('app'); ALTER TABLE mine OWNER TO app;
         SET ROLE app; ALTER TABLE mine ADD CHECK (w = current_user)",
    ]);
}

#[test]
fn what_functions_write_while_the_schema_changes_stays() {
    survive(&[
        ROWS,
        "CREATE FUNCTION note(p text) RETURNS int LANGUAGE plpgsql AS $$ BEGIN
             INSERT INTO log (what) VALUES (p || random()); UPDATE log SET what = what || '!' WHERE n = 1;
             RETURN (SELECT count(*) FROM log) + (SELECT count(*) FROM t); END $$;
         CREATE FUNCTION good(p int) RETURNS bool LANGUAGE plpgsql AS $$ BEGIN RETURN note('checked ' || p) > 0; END $$;
         CREATE FUNCTION undone() RETURNS int LANGUAGE plpgsql AS $$ BEGIN
             BEGIN INSERT INTO log (what) VALUES ('undone'); RAISE EXCEPTION 'x'; EXCEPTION WHEN others THEN RETURN -1; END; END $$;
         CREATE FUNCTION text_made(p int) RETURNS int LANGUAGE plpgsql AS $$ DECLARE x int; BEGIN
             EXECUTE 'INSERT INTO log (what) VALUES ($1) RETURNING n' INTO x USING 'made ' || p; RETURN x; END $$",
        "ALTER TABLE t ADD COLUMN n int DEFAULT note('default'), ADD COLUMN u int DEFAULT undone()",
        "BEGIN; INSERT INTO log (what) VALUES ('mine'); ALTER TABLE h ADD COLUMN n int DEFAULT note('in a block');
         UPDATE log SET what = what || '?'; SAVEPOINT a; ALTER TABLE h ADD COLUMN gone int DEFAULT note('gone');
         ROLLBACK TO a; ALTER TABLE h ALTER COLUMN v TYPE int USING text_made(v); DELETE FROM log WHERE n = 2; COMMIT",
        "BEGIN; ALTER TABLE h ADD COLUMN gone int DEFAULT note('gone'); ROLLBACK",
        "ALTER TABLE t ADD CHECK (good(v)); CREATE TABLE made AS SELECT id, note('made') AS n FROM t",
        "INSERT INTO log (what) VALUES ('last'); INSERT INTO t VALUES (7, 7)",
    ]);
    let db = Database::in_memory().expect("opens");
    db.execute_script(ROWS).expect("runs");
    db.execute_script(
        "CREATE FUNCTION f() RETURNS int LANGUAGE plpgsql AS $$ BEGIN INSERT INTO log (what) VALUES ('f'); RETURN 5; END $$;
         ALTER TABLE t ADD COLUMN f int DEFAULT f()",
    )
    .expect("runs");
    assert_eq!(db.query("SELECT 1 FROM log", ()).expect("rows").len(), 3, "one for each row of t");
}

#[test]
fn a_change_that_fails_takes_back_what_its_functions_wrote() {
    for &protocol in ProtocolKind::ALL {
        let db = Options::new().protocol(protocol).in_memory().expect("opens");
        db.execute_script(ROWS).expect("runs");
        db.execute_script(
            "CREATE FUNCTION f(p int) RETURNS int LANGUAGE plpgsql AS $$ BEGIN
                 INSERT INTO log (what) VALUES ('f'); UPDATE h SET v = v + 10; RETURN nullif(p, 3); END $$;
             CREATE FUNCTION own() RETURNS int LANGUAGE plpgsql AS $$ BEGIN INSERT INTO t VALUES (77, 1); RETURN 1; END $$;
             CREATE FUNCTION reads() RETURNS int LANGUAGE plpgsql AS $$ BEGIN RETURN (SELECT sum(v) FROM t); END $$;
             CREATE FUNCTION later() RETURNS int LANGUAGE plpgsql AS $$ BEGIN RETURN (SELECT count(*) FROM log); END $$;",
        )
        .expect("runs");
        let before = contents(&db);
        for (change, state) in [
            ("ALTER TABLE t ALTER COLUMN id TYPE int USING f(id)", "23502"),
            ("ALTER TABLE t ADD COLUMN x int UNIQUE DEFAULT f(1)", "23505"),
            ("ALTER TABLE t ADD COLUMN x int DEFAULT f(1), ADD CHECK (v < 30)", "23514"),
            ("ALTER TABLE t ADD COLUMN x int DEFAULT 1 / (f(1) - 1)", "22012"),
            ("ALTER TABLE t ADD COLUMN x int DEFAULT own()", "55006"),
            ("BEGIN; ALTER TABLE t ADD COLUMN x int DEFAULT f(1), ADD CHECK (v < 30)", "23514"),
            (
                "BEGIN; ALTER TABLE t ADD COLUMN x int DEFAULT f(1); ALTER TABLE t ADD COLUMN y int DEFAULT own()",
                "55006",
            ),
        ] {
            let error = db.session().expect("a seat").execute_script(change).expect_err(change);
            assert_eq!(error.sqlstate().as_str(), state, "{change}: {error}");
            assert_eq!(contents(&db), before, "{change}");
        }
        // Its rows as they were can be read.
        db.execute_script(
            "ALTER TABLE t ADD COLUMN x int DEFAULT reads(); ALTER TABLE t ADD COLUMN y int DEFAULT reads()",
        )
        .expect("runs");
        let sums = db.query("SELECT x, y FROM t", ()).expect("rows");
        assert!(sums.iter().all(|r| (r.get(0), r.get(1)) == (Ok(60), Ok(60))), "{sums:?}");
    }
}

#[test]
fn identities_of_a_rewrite_end_where_the_sequence_does() {
    let db = Database::in_memory().expect("opens");
    db.execute_script(ROWS).expect("runs");
    let error = db
        .execute("ALTER TABLE h ADD COLUMN g int GENERATED BY DEFAULT AS IDENTITY (MAXVALUE 2)", ())
        .expect_err("two values for three rows");
    assert_eq!(error.sqlstate(), SqlState::SEQUENCE_GENERATOR_LIMIT_EXCEEDED, "{error}");
    db.execute("ALTER TABLE h ADD COLUMN g int GENERATED BY DEFAULT AS IDENTITY (MAXVALUE 4)", ())
        .expect("fits");
    db.execute("INSERT INTO h (v) VALUES (9)", ()).expect("the fourth");
    let rows = db.query("SELECT g FROM h ORDER BY v", ()).expect("rows");
    let mut values: Vec<i32> = rows.iter().map(|r| r.get(0).expect("a number")).collect();
    assert_eq!(values.pop(), Some(4));
    values.sort();
    assert_eq!(values, [1, 2, 3]);
}

/// What asks through routines of all kinds, called by what writes.
const CALLEES: &str = "CREATE TABLE w (id serial PRIMARY KEY, what text, d text DEFAULT current_user || current_setting('search_path'));
     CREATE TABLE k (what text, CHECK (what <> session_user || 'x'));
     CREATE ROLE app; GRANT ALL ON w, k TO app; GRANT ALL ON SEQUENCE w_id_seq TO app;
     CREATE FUNCTION who() RETURNS text LANGUAGE plpgsql AS $$ BEGIN RETURN session_user || '/' || current_user; END $$;
     CREATE FUNCTION deep() RETURNS text LANGUAGE plpgsql AS $$ BEGIN RETURN 'deep ' || who(); END $$;
     CREATE FUNCTION sqlf() RETURNS text LANGUAGE sql AS $$ SELECT 'sql ' || deep() $$;
     CREATE FUNCTION defi() RETURNS text LANGUAGE plpgsql SECURITY DEFINER AS $$ BEGIN RETURN who() || current_user; END $$;
     CREATE FUNCTION several() RETURNS SETOF text LANGUAGE plpgsql AS $$ BEGIN RETURN NEXT who(); RETURN NEXT deep(); END $$;
     CREATE FUNCTION setting() RETURNS text LANGUAGE plpgsql AS $$ BEGIN RETURN current_setting('application_name'); END $$;
     CREATE FUNCTION pid() RETURNS text LANGUAGE plpgsql AS $$ BEGIN RETURN pg_backend_pid()::text || coalesce(inet_client_addr()::text, '-'); END $$;
     CREATE FUNCTION started() RETURNS text LANGUAGE plpgsql AS $$ BEGIN RETURN pg_postmaster_start_time()::text; END $$;
     CREATE FUNCTION catalog() RETURNS text LANGUAGE plpgsql AS $$ BEGIN RETURN (SELECT count(*) FROM pg_class) || 'w'::regclass::text; END $$;
     CREATE FUNCTION may() RETURNS text LANGUAGE plpgsql AS $$ BEGIN RETURN has_table_privilege('w', 'DELETE')::text; END $$;
     CREATE VIEW v AS SELECT who() AS w, current_user AS c, count(*) AS n FROM w;
     CREATE FUNCTION of_view() RETURNS text LANGUAGE plpgsql AS $$ BEGIN RETURN (SELECT w || c || n FROM v); END $$;
     CREATE FUNCTION made() RETURNS text LANGUAGE plpgsql AS $$ DECLARE x text; BEGIN EXECUTE 'SELECT current_user::text' INTO x; RETURN x; END $$;
     CREATE FUNCTION inputs() RETURNS text LANGUAGE plpgsql AS $$ BEGIN RETURN now() || ' ' || random() || gen_random_uuid() || clock_timestamp(); END $$;
     CREATE FUNCTION machine(x float8) RETURNS float8 LANGUAGE plpgsql AS $$ BEGIN RETURN exp(x) + power(x, 1.5); END $$;
     GRANT SELECT ON v TO app;";

const ASKING: [&str; 14] = [
    "who",
    "deep",
    "sqlf",
    "defi",
    "setting",
    "pid",
    "started",
    "catalog",
    "may",
    "of_view",
    "made",
    "inputs",
    "version",
    "current_database",
];

#[test]
fn calls_whose_callees_ask_stay() {
    let mut make = CALLEES.to_owned();
    let mut run = "SET application_name = 'one'; ".to_owned();
    for f in ASKING {
        make += &format!(
            "CREATE PROCEDURE p_{f}(p_what text) LANGUAGE plpgsql AS $$ BEGIN
                 INSERT INTO w (what, d) VALUES (p_what || {f}(), 'd'); END $$;
             CREATE PROCEDURE q_{f}(p_id int) LANGUAGE plpgsql AS $$ BEGIN
                 UPDATE w SET what = what || {f}() WHERE id = p_id; CALL p_{f}('of q '); END $$;"
        );
        run += &format!("CALL p_{f}('{f} '); CALL q_{f}(1);");
    }
    make += "CREATE PROCEDURE p_several() LANGUAGE plpgsql AS $$ BEGIN INSERT INTO w (what, d) SELECT s, 'd' FROM several() AS s; END $$;
         CREATE PROCEDURE p_view() LANGUAGE plpgsql AS $$ BEGIN INSERT INTO w (what, d) SELECT v.w || c || n, 'd' FROM v; END $$;
         CREATE PROCEDURE p_default(p_what text) LANGUAGE plpgsql AS $$ BEGIN INSERT INTO w (what) VALUES (p_what); END $$;
         CREATE PROCEDURE p_check(p_what text) LANGUAGE plpgsql AS $$ BEGIN INSERT INTO k VALUES (p_what); END $$;
         CREATE PROCEDURE p_if() LANGUAGE plpgsql AS $$ BEGIN IF who() LIKE '%app' THEN DELETE FROM w WHERE id % 5 = 0; END IF; END $$;
         CREATE PROCEDURE p_set(p_what text) LANGUAGE plpgsql AS $$ BEGIN PERFORM set_config('application_name', p_what, false);
             INSERT INTO w (what, d) VALUES (setting(), 'd'); END $$;
         CREATE PROCEDURE p_machine(x float8) LANGUAGE plpgsql AS $$ BEGIN INSERT INTO w (what, d) VALUES (machine(x)::text, 'd'); END $$;
         CREATE PROCEDURE p_argument(p_what text DEFAULT current_user) LANGUAGE plpgsql AS $$ BEGIN INSERT INTO w (what, d) VALUES (p_what, 'd'); END $$;";
    run += "CALL p_several(); CALL p_view(); CALL p_default('x'); CALL p_check('x'); CALL p_if(); CALL p_set('two'); CALL p_machine(0.7);
         CALL p_argument(); SELECT setting()";
    let as_app = format!("SET ROLE app; {run}");
    survive(&[&make, &run, &as_app, &format!("SET SESSION AUTHORIZATION app; {run}")]);
}

/// What a setting was, and whom policies bind, is in the record of the call.
#[test]
fn settings_and_policies_stay_and_their_calls_are_logged_as_calls() {
    let make = "CREATE ROLE app;
         CREATE TABLE orders (tenant int, id serial, item text, by text DEFAULT current_setting('app.actor', true), PRIMARY KEY (tenant, id));
         CREATE TABLE notes (id serial PRIMARY KEY, tenant int, body text);
         ALTER TABLE orders ENABLE ROW LEVEL SECURITY; ALTER TABLE notes ENABLE ROW LEVEL SECURITY;
         CREATE POLICY mine ON orders USING (tenant = nullif(current_setting('app.tenant', true), '')::int);
         CREATE POLICY of_app ON notes TO app USING (tenant::text = current_setting('app.tenant', true)) WITH CHECK (tenant < 100);
         GRANT ALL ON orders, notes TO app; GRANT ALL ON ALL SEQUENCES IN SCHEMA public TO app;
         CREATE PROCEDURE buy(p_item text) LANGUAGE plpgsql AS $$ BEGIN
             INSERT INTO orders (tenant, item) VALUES (current_setting('app.tenant')::int, p_item);
             PERFORM current_setting('app.unset', true);
             INSERT INTO notes (tenant, body) SELECT tenant, count(*) || ' of ' || coalesce(current_setting(NULL, true), 'all') FROM orders GROUP BY tenant;
         END $$;
         CREATE PROCEDURE change(p_item text) LANGUAGE plpgsql AS $$ BEGIN
             UPDATE orders SET item = item || p_item; DELETE FROM notes WHERE id % 3 = 0;
             IF current_setting('app.strict', true) = 'on' THEN UPDATE orders SET by = 'strict' WHERE by IS NULL; END IF;
         END $$;
         CREATE PROCEDURE many() LANGUAGE plpgsql AS $$ BEGIN
             FOR i IN 1..101 LOOP INSERT INTO notes (tenant, body) VALUES (i % 7, current_setting('app.tenant', true) || i); END LOOP;
         END $$;";
    let run = "SET app.tenant = '1'; CALL buy('a'); CALL buy('b'); SET app.actor = 'eve'; SET app.tenant = '2'; CALL buy('c');
         CALL change('!'); SET app.strict = 'on'; CALL change('?'); CALL many(); RESET app.strict; SET app.tenant = '1'; CALL change('.');";
    survive(&[make, run, &format!("SET ROLE app; {run}"), &format!("SET SESSION AUTHORIZATION app; {run}")]);

    let disk = SimDisk::new(4);
    let db = Options::new().open_device(disk.device()).expect("opens");
    let mut session = db.session().expect("a seat");
    session.execute_script(&format!("{make} {run} SET ROLE app; {run}")).expect("runs");
    drop(session);
    db.close().expect("closes");
    // Those that ask more than a hundred times are logged by rows: `many`, and of those whom policies bind the last, which looks
    // at more than a hundred notes.
    let once = ["buy", "buy", "buy", "change", "change", "change"];
    assert_eq!(calls(&disk), [&once[..], &once[..5]].concat());
}

#[test]
fn defaults_of_parameters_are_computed_in_each_call() {
    let make = "CREATE TABLE t (id int PRIMARY KEY, s int, at timestamptz, now timestamptz, u uuid, who text);
         CREATE TABLE h (v int); CREATE SEQUENCE s;
         CREATE FUNCTION made() RETURNS int LANGUAGE plpgsql AS
             $$ BEGIN INSERT INTO h VALUES ((SELECT count(*) FROM h)); RETURN (SELECT count(*) FROM h); END $$;
         CREATE PROCEDURE p(id int, s int DEFAULT nextval('s'), at timestamptz DEFAULT clock_timestamp(),
             now timestamptz DEFAULT now(), u uuid DEFAULT gen_random_uuid(), who text DEFAULT current_user)
             LANGUAGE plpgsql AS $$ BEGIN
                 IF now <> now() THEN RAISE 'another moment'; END IF;
                 INSERT INTO t VALUES (id, s, at, now, u, who); END $$;
         CREATE PROCEDURE q(id int, s int DEFAULT made()) LANGUAGE plpgsql AS
             $$ BEGIN INSERT INTO t VALUES (id, s); END $$;
         CREATE FUNCTION drawn(a int DEFAULT nextval('s')) RETURNS int LANGUAGE sql AS 'SELECT a';
         CREATE FUNCTION moment(a timestamptz DEFAULT clock_timestamp()) RETURNS timestamptz LANGUAGE sql AS 'SELECT a'";
    survives(&|db| {
        db.execute_script(make).expect("makes");
        let mut session = db.session().expect("a seat");
        for id in 1..=3 {
            session.call("p", (id,)).expect("calls");
            session.call("q", (id + 10,)).expect("calls");
        }
        let mut block = session.transaction().expect("begins");
        for id in 4..=5 {
            block.call("p", (id,)).expect("calls");
            block.call("q", (id + 10,)).expect("calls");
        }
        block.commit().expect("commits");
        let one = |sql: &str| db.query(sql, ()).expect("reads")[0].get::<i64>(0).expect("a number");
        assert_eq!(one("SELECT count(DISTINCT s) FROM t WHERE id < 10"), 5);
        assert_eq!(one("SELECT count(DISTINCT at) FROM t"), 5);
        assert_eq!(one("SELECT count(DISTINCT now) FROM t"), 4, "two of them are of one transaction");
        assert_eq!(one("SELECT count(DISTINCT u) FROM t"), 5);
        assert_eq!(one("SELECT sum(s) FROM t WHERE id > 10"), 1 + 2 + 3 + 4 + 5);
        assert_eq!(one("SELECT count(*) FROM h"), 5);
        let drawn = |db: &Database| db.call("drawn", ()).expect("calls")[0].get::<i32>(0).expect("a number");
        assert_eq!((drawn(db), drawn(db)), (6, 7));
        let mut reading = session.read_only_transaction().expect("begins");
        let mut moment =
            || reading.call("moment", ()).expect("only reads")[0].get::<String>(0).expect("a time");
        assert_ne!(moment(), moment());
        let refused = reading.call("drawn", ()).expect_err("it draws");
        assert_eq!(refused.sqlstate(), SqlState::READ_ONLY_SQL_TRANSACTION);
    });
}

/// How the calls of the procedures are in a command log: so many as calls.
fn calls(disk: &SimDisk) -> Vec<String> {
    let view = open_log(disk.device()).expect("opens");
    let mut calls = Vec::new();
    view.read(&Default::default(), usize::MAX, &mut |entry| {
        if let planaria::log::Body::Call { procedure, .. } = &entry.body {
            calls.push(procedure.clone());
        }
    })
    .expect("reads");
    calls
}

#[test]
fn what_a_call_does_not_say_is_logged_by_values_and_explain_says_why() -> Result<(), Error> {
    let disk = SimDisk::new(3);
    let db = Options::new().open_device(disk.device())?;
    db.execute_script(CALLEES)?;
    db.execute_script(
        "CREATE PROCEDURE plain(p int) LANGUAGE plpgsql AS $$ BEGIN UPDATE w SET what = what || p WHERE id = p; END $$;
         CREATE PROCEDURE draws(p int) LANGUAGE plpgsql AS $$ BEGIN INSERT INTO w (what, d) VALUES (inputs() || p, 'd'); END $$;
         CREATE PROCEDURE names(p int) LANGUAGE plpgsql AS $$ BEGIN INSERT INTO w (what, d) VALUES (sqlf() || defi() || setting() || p, 'd'); END $$;
         CREATE PROCEDURE asks(p int) LANGUAGE plpgsql AS $$ BEGIN INSERT INTO w (what, d) VALUES (pid() || p, 'd'); END $$;
         CREATE PROCEDURE floats(p float8) LANGUAGE plpgsql AS $$ BEGIN INSERT INTO w (what, d) VALUES (machine(p)::text, 'd'); END $$;",
    )?;
    let mut session = db.session()?;
    for call in ["draws(2)", "plain(1)", "asks(3)", "floats(0.5)", "names(4)"] {
        session.execute(&format!("CALL {call}"), ())?;
    }
    let why = |name: &str| -> Result<String, Error> {
        let lines = db.query(&format!("EXPLAIN PROCEDURE {name}"), ())?;
        let mut lines = lines.iter().filter_map(|l| l.text(0));
        Ok(lines.find(|l| l.starts_with("  Why:")).unwrap_or_default())
    };
    assert_eq!(why("plain")?, "  Why: Its arguments determine what it does.");
    assert!(why("draws")?.contains("which are logged with them"));
    assert!(
        why("asks")?
            .starts_with("  Why: It calls a routine that is logged this way: It depends on privileges")
    );
    assert!(why("names")?.contains("which are logged with them"));
    assert!(why("floats")?.contains("depend on the machine"));
    db.close()?;
    assert_eq!(calls(&disk), ["draws", "plain", "names"]);
    Ok(())
}

#[test]
fn a_change_of_the_schema_runs_functions_with_the_rights_of_who_makes_it() -> Result<(), Error> {
    let db = Database::in_memory()?;
    db.execute_script(
        "CREATE ROLE app; GRANT CREATE ON SCHEMA public TO app; CREATE TABLE secret (s text); INSERT INTO secret VALUES ('hidden');
         SET ROLE app; CREATE TABLE mine (a int); INSERT INTO mine VALUES (1);
         CREATE FUNCTION peep() RETURNS text LANGUAGE plpgsql AS $$ BEGIN RETURN (SELECT s FROM secret); END $$;",
    )?;
    for change in [
        "ALTER TABLE mine ADD COLUMN b text DEFAULT peep()",
        "ALTER TABLE mine ALTER COLUMN a TYPE text USING peep()",
        "ALTER TABLE mine ADD CHECK (peep() IS NULL)",
        "CREATE TABLE stolen AS SELECT peep()",
    ] {
        let error = db.session()?.execute_script(&format!("SET ROLE app; {change}")).expect_err(change);
        assert_eq!(error.sqlstate().as_str(), "42501", "{change}: {error}");
    }
    Ok(())
}

#[test]
fn backups_and_moments_between_have_what_was_computed() {
    let dir = tempfile::tempdir().expect("a directory");
    let path = |name: &str| dir.path().join(name);
    let db = Options::new().keep_log(true).open(path("db")).expect("opens");
    db.execute_script(ROWS).expect("runs");
    db.backup(path("backup")).expect("a backup");
    let mut moments = Vec::new();
    for change in [
        "ALTER TABLE t ADD COLUMN a uuid DEFAULT gen_random_uuid()",
        "ALTER TABLE t ALTER COLUMN v TYPE float8 USING random(); CREATE UNIQUE INDEX ON t (v)",
        "SET ROLE app; RESET ROLE; BEGIN; ALTER TABLE h ADD COLUMN c timestamptz DEFAULT clock_timestamp(); UPDATE h SET v = v + 1; COMMIT",
    ] {
        db.execute_script(change).expect(change);
        db.flush().expect("is on disk");
        let view = LogView::open(path("db")).expect("opens");
        let mut last = None;
        view.read(&Default::default(), usize::MAX, &mut |e| last = Some((e.epoch, e.sequence)))
            .expect("reads");
        moments.push((last.expect("a transaction"), contents(&db)));
    }
    db.close().expect("closes");
    for (i, ((epoch, sequence), expected)) in moments.iter().enumerate() {
        let name = format!("moment {i}");
        let restore = planaria::checkpoint::Restore::new(path("backup")).log(path("db"));
        restore.until(*epoch, *sequence).to(path(&name)).expect("restores");
        assert_eq!(contents(&Database::open(path(&name)).expect("opens")), *expected, "{name}");
    }
}
