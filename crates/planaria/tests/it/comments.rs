//! COMMENT ON: kept with what it is about, through renames, replacements, crashes and every scheme of recovery.

use planaria::lab::LabOptions;
use planaria::{Database, LogKind, Options, Scheme};
use planaria_sim::disk::SimDisk;

const SCHEMA: &str = "
    CREATE TABLE t (id int PRIMARY KEY, v int CHECK (v > 0), p int REFERENCES t);
    CREATE INDEX i ON t (v); CREATE SEQUENCE s; CREATE VIEW w AS SELECT id, v FROM t; CREATE ROLE r LOGIN;
    CREATE FUNCTION f(a int) RETURNS int LANGUAGE sql AS 'SELECT 1';
    CREATE PROCEDURE f() LANGUAGE plpgsql AS 'BEGIN END';
    COMMENT ON TABLE t IS 'a table'; COMMENT ON COLUMN t.v IS 'a column'; COMMENT ON COLUMN public.t.id IS 'its key';
    COMMENT ON INDEX i IS 'an index'; COMMENT ON INDEX t_pkey IS 'of the key';
    COMMENT ON CONSTRAINT t_pkey ON t IS 'the key'; COMMENT ON CONSTRAINT t_v_check ON t IS 'a check';
    COMMENT ON CONSTRAINT t_p_fkey ON t IS 'a reference';
    COMMENT ON SEQUENCE s IS 'a sequence'; COMMENT ON VIEW w IS 'a view'; COMMENT ON COLUMN w.v IS 'seen';
    COMMENT ON FUNCTION f(int) IS 'a function'; COMMENT ON PROCEDURE f() IS 'a procedure';
    COMMENT ON ROLE r IS 'a role'; COMMENT ON DATABASE planaria IS 'all of it';";

/// All comments, with what they are about.
fn comments(db: &Database) -> Vec<String> {
    let sql =
        "SELECT pg_describe_object(classoid, objoid, objsubid) || ': ' || description FROM pg_description
               WHERE objoid >= 16384 OR objoid = 'public'::regnamespace
               UNION ALL
               SELECT pg_describe_object(classoid, objoid, 0) || ': ' || description FROM pg_shdescription
               ORDER BY 1";
    db.query(sql, ()).expect("comments").iter().map(|row| row.get(0).expect("a text")).collect()
}

const ALL: &[&str] = &[
    "column id of table t: its key",
    "column v of table t: a column",
    "column v of view w: seen",
    "constraint t_p_fkey on table t: a reference",
    "constraint t_pkey on table t: the key",
    "constraint t_v_check on table t: a check",
    "database planaria: all of it",
    "function f(integer): a function",
    "function f(): a procedure",
    "index i: an index",
    "index t_pkey: of the key",
    "role r: a role",
    "schema public: standard public schema",
    "sequence s: a sequence",
    "table t: a table",
    "view w: a view",
];

#[test]
fn they_are_seen() {
    let db = Database::in_memory().expect("opens");
    db.execute_script(SCHEMA).expect("runs");
    let mut all: Vec<&str> = ALL.to_vec();
    all.sort_unstable();
    assert_eq!(comments(&db), all);
    let one = |sql: &str| db.query(sql, ()).expect(sql)[0].text(0);
    assert_eq!(one("SELECT obj_description('t'::regclass, 'pg_class')").as_deref(), Some("a table"));
    assert_eq!(one("SELECT obj_description('t'::regclass)").as_deref(), Some("a table"));
    assert_eq!(one("SELECT col_description('t'::regclass, 2)").as_deref(), Some("a column"));
    assert_eq!(one("SELECT col_description('t'::regclass, 3)"), None);
    assert_eq!(one("SELECT col_description('w'::regclass, 2)").as_deref(), Some("seen"));
    let routine = "SELECT obj_description('f(int)'::regprocedure, 'pg_proc')";
    assert_eq!(one(routine).as_deref(), Some("a function"));
    assert_eq!(one("SELECT obj_description('t'::regclass, 'pg_proc')"), None);
    let database = "SELECT shobj_description(oid, 'pg_database') FROM pg_database";
    assert_eq!(one(database).as_deref(), Some("all of it"));
}

#[test]
fn they_stay_with_what_they_are_about() {
    let db = Database::in_memory().expect("opens");
    db.execute_script(SCHEMA).expect("runs");
    let changes = [
        ("DROP VIEW w", &["column v of view w: seen", "view w: a view"][..], &[][..]),
        (
            "ALTER TABLE t RENAME v TO x",
            &["column v of table t: a column"],
            &["column x of table t: a column"],
        ),
        ("ALTER TABLE t ADD COLUMN y int", &[], &[]),
        ("ALTER TABLE t ALTER x TYPE bigint", &[], &[]),
        ("ALTER INDEX i RENAME TO j", &["index i: an index"], &["index j: an index"]),
        ("DROP INDEX j", &["index j: an index"], &[]),
        ("COMMENT ON TABLE t IS NULL", &["table t: a table"], &[]),
        ("COMMENT ON SEQUENCE s IS ''", &["sequence s: a sequence"], &[]),
        ("CREATE OR REPLACE FUNCTION f(a int) RETURNS int LANGUAGE sql AS 'SELECT 2'", &[], &[]),
        ("BEGIN; COMMENT ON TABLE t IS 'lost'; ROLLBACK", &[], &[]),
        ("DROP ROLE r", &["role r: a role"], &[]),
        ("ALTER TABLE t DROP CONSTRAINT t_p_fkey", &["constraint t_p_fkey on table t: a reference"], &[]),
        ("DROP FUNCTION f(int)", &["function f(integer): a function"], &[]),
        (
            "ALTER TABLE t DROP COLUMN x",
            &["column x of table t: a column", "constraint t_v_check on table t: a check"],
            &[],
        ),
    ];
    for (change, gone, new) in changes {
        let mut wanted = comments(&db);
        db.session().expect("a session").execute_script(change).unwrap_or_else(|e| panic!("{change}: {e}"));
        wanted.retain(|c| !gone.contains(&c.as_str()));
        wanted.extend(new.iter().map(|c| (*c).to_owned()));
        wanted.sort();
        assert_eq!(comments(&db), wanted, "{change}");
    }
    db.execute_script("DROP TABLE t").expect("drops");
    db.execute_script("CREATE TABLE t (id int PRIMARY KEY)").expect("another");
    assert!(!comments(&db).iter().any(|c| c.contains("table t")));
}

#[test]
fn who_does_not_own_it_says_nothing_about_it() {
    let db = Database::in_memory().expect("opens");
    db.execute_script(SCHEMA).expect("runs");
    let mut session = db.session_as("r").expect("a session");
    for (sql, message) in [
        ("COMMENT ON TABLE t IS 'x'", "must be owner of table t"),
        ("COMMENT ON COLUMN w.v IS 'x'", "must be owner of view w"),
        ("COMMENT ON FUNCTION f(int) IS 'x'", "must be owner of function f"),
        ("COMMENT ON INDEX i IS 'x'", "must be owner of index i"),
        ("COMMENT ON ROLE r IS 'x'", "must have CREATEROLE privilege"),
        ("COMMENT ON DATABASE planaria IS 'x'", "must be owner of database planaria"),
    ] {
        let error = session.execute_script(sql).expect_err(sql);
        assert_eq!((error.sqlstate().as_str(), error.message()), ("42501", message), "{sql}");
    }
}

#[test]
fn every_scheme_replays_them_and_checkpoints_keep_them() {
    for kind in [LogKind::Command, LogKind::Physical] {
        let disk = SimDisk::new(1);
        let options = |scheme| Options::new().log(kind).recovery(scheme).recovery_threads(2).keep_log(true);
        let db = options(Scheme::Clr).open_device(disk.device()).expect("opens");
        db.execute_script(SCHEMA).expect("runs");
        let expected = comments(&db);
        drop(db);
        for scheme in Scheme::ALL.iter().copied() {
            let db = options(scheme).open_device(disk.device()).expect("opens");
            assert_eq!(comments(&db), expected, "{kind} by {scheme}");
        }
        let db = options(Scheme::Clr).open_device(disk.device()).expect("opens");
        db.checkpoint().expect("a checkpoint");
        drop(db);
        let db = options(Scheme::Clr).open_device(disk.device()).expect("opens");
        assert_eq!(comments(&db), expected, "{kind} from a checkpoint");
    }
}
