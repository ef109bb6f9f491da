//! System relations as SQL sees them: who may do what with them, and what they say of a change.

use planaria::{Database, SqlState};

fn db() -> Database {
    let db = Database::in_memory().expect("opens");
    db.execute_script(
        "CREATE TABLE t (id int PRIMARY KEY, v text DEFAULT 'x');
         CREATE VIEW w AS SELECT id FROM t;
         CREATE SEQUENCE s;",
    )
    .expect("the schema is accepted");
    db
}

fn text(db: &Database, sql: &str) -> String {
    let rows = db.query(sql, ()).unwrap_or_else(|e| panic!("{sql}: {e}"));
    let line = |row: &planaria::Row| {
        let values = (0..rows.columns().len()).map(|i| row.get::<Option<String>>(i).expect("text"));
        values.map(|v| v.unwrap_or_else(|| "NULL".to_owned())).collect::<Vec<_>>().join(" ")
    };
    (&rows).into_iter().map(line).collect::<Vec<_>>().join("; ")
}

fn refused(db: &Database, sql: &str) -> (SqlState, String) {
    let error = db.execute_script(sql).expect_err(sql);
    (error.sqlstate(), error.message().to_owned())
}

#[test]
fn system_relations_cannot_be_changed() {
    let db = db();
    let denied =
        (SqlState::INSUFFICIENT_PRIVILEGE, "permission denied: \"pg_class\" is a system catalog".into());
    for sql in [
        "INSERT INTO pg_class (relname) VALUES ('x')",
        "UPDATE pg_class SET relname = 'x'",
        "DELETE FROM pg_catalog.pg_class",
        "DROP TABLE pg_class",
        "DROP TABLE IF EXISTS pg_catalog.pg_class",
        "ALTER TABLE pg_class ADD COLUMN x int",
        "ALTER TABLE pg_class RENAME TO x",
        "TRUNCATE pg_class",
        "CREATE INDEX ON pg_class (relname)",
        "CREATE TABLE c (a oid REFERENCES pg_class (oid))",
    ] {
        assert_eq!(refused(&db, sql), denied, "{sql}");
    }
    assert_eq!(refused(&db, "CREATE TABLE pg_catalog.x (a int)").0, SqlState::INSUFFICIENT_PRIVILEGE);
    assert_eq!(refused(&db, "CREATE SCHEMA pg_x").0, SqlState::RESERVED_NAME);
    let (state, message) = refused(&db, "UPDATE pg_tables SET tablename = 'x'");
    assert_eq!((state.as_str(), message.as_str()), ("55000", "cannot update view \"pg_tables\""));
}

#[test]
fn user_relations_do_not_hide_system_ones() {
    let db = db();
    db.execute_script("CREATE TABLE pg_tables (a int); INSERT INTO public.pg_tables VALUES (7)")
        .expect("allowed");
    assert_eq!(text(&db, "SELECT a FROM public.pg_tables"), "7");
    assert_eq!(text(&db, "SELECT tablename FROM pg_tables WHERE tablename = 't'"), "t");
    assert_eq!(text(&db, "SELECT 'public.pg_tables'::regclass"), "public.pg_tables");
    assert_eq!(text(&db, "SELECT pg_table_is_visible('public.pg_tables'::regclass)"), "f");
}

#[test]
fn oids_outlive_other_changes() {
    let db = db();
    let before = text(&db, "SELECT 't'::regclass::oid, 'w'::regclass::oid, 's'::regclass::oid");
    db.execute_script("CREATE TABLE u (a int UNIQUE); DROP TABLE u; ALTER TABLE t ADD COLUMN n int UNIQUE")
        .expect("ok");
    assert_eq!(text(&db, "SELECT 't'::regclass::oid, 'w'::regclass::oid, 's'::regclass::oid"), before);
    let duplicates = "SELECT count(*) - count(DISTINCT oid) FROM pg_class";
    assert_eq!(text(&db, duplicates), "0");
}

#[test]
fn roles_and_rights_are_shown() {
    let db = db();
    db.execute_script(
        "CREATE ROLE app LOGIN; CREATE ROLE team; GRANT team TO app;
         GRANT SELECT, UPDATE ON t TO app; ALTER TABLE t OWNER TO team;",
    )
    .expect("roles");
    assert_eq!(
        text(&db, "SELECT rolname FROM pg_roles WHERE rolname !~ '^pg_' ORDER BY oid"),
        "postgres; app; team"
    );
    assert_eq!(text(&db, "SELECT tableowner FROM pg_tables WHERE tablename = 't'"), "team");
    let members =
        "SELECT roleid::regrole, member::regrole FROM pg_auth_members WHERE member = 'app'::regrole";
    assert_eq!(text(&db, members), "team app");
    let asked = "SELECT has_table_privilege('app', 't', 'UPDATE'), has_table_privilege('app', 'w', 'SELECT'),
         has_table_privilege('app', 't'::regclass, 'delete, update'), pg_has_role('app', 'team', 'MEMBER'),
         has_schema_privilege('app', 'public', 'USAGE'), has_function_privilege('app', 'length(text)', 'EXECUTE')";
    assert_eq!(text(&db, asked), "t f t t t t");
    assert!(text(&db, "SELECT relacl FROM pg_class WHERE relname = 't'").contains("app=rw/"));
    let rows = db.session_as("app").expect("a role").query("SELECT rolpassword FROM pg_authid", ());
    assert!(
        rows.is_err()
            || rows.is_ok_and(|rows| rows
                .into_iter()
                .all(|r| r.get::<Option<String>>(0).expect("text").is_none()))
    );
}

#[test]
fn names_are_found_and_shown() {
    let db = db();
    assert_eq!(
        text(&db, "SELECT 't'::regclass, 'int4'::regtype, 'public'::regnamespace, 0::regclass"),
        "t integer public -"
    );
    assert_eq!(text(&db, "SELECT relname FROM pg_class WHERE oid = 't'::regclass"), "t");
    assert_eq!(text(&db, "SELECT count(*) FROM pg_attribute WHERE attrelid = 't'::regclass::oid"), "2");
    assert_eq!(text(&db, "SELECT DISTINCT c.tableoid::regclass FROM pg_class c"), "pg_class");
    assert_eq!(refused(&db, "SELECT 'nope'::regclass").0, SqlState::UNDEFINED_TABLE);
    assert_eq!(refused(&db, "SELECT 'nope'::regtype").0, SqlState::UNDEFINED_OBJECT);
    assert_eq!(refused(&db, "SELECT * FROM pg_catalog.nope").0, SqlState::UNDEFINED_TABLE);
    assert_eq!(text(&db, "SELECT nextval('s'::regclass), nextval('s')"), "1 2");
}

#[test]
fn a_procedure_that_reads_catalogs_and_writes_is_logged_by_values() {
    let db = db();
    db.execute_script(
        "CREATE PROCEDURE note() LANGUAGE plpgsql AS $$
         DECLARE n int;
         BEGIN
             SELECT count(*) INTO n FROM pg_class WHERE relnamespace = 2200;
             INSERT INTO t VALUES (n, 'relations');
         END $$;
         CALL note();",
    )
    .expect("runs");
    assert_eq!(text(&db, "SELECT v FROM t"), "relations");
    let plan = text(&db, "EXPLAIN PROCEDURE note");
    assert!(plan.contains("Logged as: values"), "{plan}");
    assert!(plan.contains("It reads the system catalogs"), "{plan}");
}

#[test]
fn recursive_queries() {
    let db = db();
    let sql =
        "WITH RECURSIVE n(i) AS (VALUES (1) UNION ALL SELECT i + 1 FROM n WHERE i < 5) SELECT sum(i) FROM n";
    assert_eq!(text(&db, sql), "15");
    let circle = "WITH RECURSIVE e(a, b) AS (VALUES (1, 2), (2, 3), (3, 1)),
         r(x) AS (SELECT 1 UNION SELECT b FROM e JOIN r ON a = x) SELECT x FROM r ORDER BY x";
    assert_eq!(text(&db, circle), "1; 2; 3");
    let twice = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 3)
         SELECT a.i, b.i FROM n a JOIN n b ON a.i + b.i = 4 ORDER BY 1";
    assert_eq!(text(&db, twice), "1 3; 2 2; 3 1");
    let correlated = "SELECT x, (WITH RECURSIVE d(k) AS (SELECT x UNION ALL SELECT k - 1 FROM d WHERE k > 1)
         SELECT count(*) FROM d) FROM generate_series(1, 3) x ORDER BY x";
    assert_eq!(text(&db, correlated), "1 1; 2 2; 3 3");
}

#[test]
fn set_returning_functions_side_by_side() {
    let db = db();
    let sql = "SELECT unnest(ARRAY[1, 2, 3]), unnest(ARRAY['a', 'b']), generate_series(1, 1)";
    assert_eq!(text(&db, sql), "1 a 1; 2 b NULL; 3 NULL NULL");
    let filtered =
        "SELECT s.a FROM (SELECT unnest(ARRAY[1, 2]) AS a, unnest(ARRAY[5, 6]) AS b) s WHERE s.b = 6";
    assert_eq!(text(&db, filtered), "2");
    assert_eq!(
        text(&db, "SELECT ROW(1, 'a b'), (information_schema._pg_expandarray(ARRAY[7])).n"),
        "(1,\"a b\") 1"
    );
}
