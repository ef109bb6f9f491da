//! What is not supported is refused when it is created, not when it runs: no handler of exceptions sees it.

use planaria::Database;

fn error(db: &Database, sql: &str) -> (String, String) {
    let error = db.session().expect("a session").execute_script(sql).expect_err(sql);
    (error.sqlstate().as_str().to_owned(), error.message().to_owned())
}

#[test]
fn routines_that_name_what_is_not_supported_are_not_created() {
    let db = Database::in_memory().expect("opens");
    db.session().expect("a session").execute_script("CREATE TABLE t (a int, b int)").expect("creates");
    for statement in [
        "PERFORM pg_current_snapshot();",
        "SELECT ts_rewrite('a', 'b', 'c') INTO r FROM t;",
        "PERFORM 'a'::xml;",
        "PERFORM NULL::xml;",
    ] {
        let create = format!(
            "CREATE FUNCTION f() RETURNS text LANGUAGE plpgsql AS $$ DECLARE r text; x int[]; BEGIN
             BEGIN {statement} EXCEPTION WHEN OTHERS THEN NULL; END; RETURN r; END $$"
        );
        assert_eq!(error(&db, &create).0, "0A000", "{statement}");
    }
    for (statement, state) in [
        ("CREATE TABLE u (a xml)", "0A000"),
        ("CREATE TABLE u (a nosuch)", "42704"),
        ("CREATE FUNCTION f(a point) RETURNS int LANGUAGE sql AS 'SELECT 1'", "0A000"),
        ("SELECT gcd('a'::text, 1)", "42883"),
        ("SELECT nosuch(1)", "42883"),
        ("CREATE TABLE u (a int UNIQUE NULLS NOT DISTINCT DEFERRABLE)", "0A000"),
        ("CREATE TABLE u (a int PRIMARY KEY DEFERRABLE) PARTITION BY RANGE (a)", "0A000"),
    ] {
        assert_eq!(error(&db, statement).0, state, "{statement}");
    }
}

#[test]
fn explain_names_overloads_and_what_would_fail() {
    let db = Database::in_memory().expect("opens");
    let mut session = db.session().expect("a session");
    for (types, body) in
        [("a int, b text", "PERFORM nosuch(1);"), ("a int", "PERFORM 1;"), ("a varchar", "PERFORM 1;")]
    {
        session
            .execute_script(&format!(
                "CREATE PROCEDURE p({types}) LANGUAGE plpgsql AS $$ BEGIN {body} END $$"
            ))
            .expect("creates");
    }
    assert_eq!(error(&db, "EXPLAIN PROCEDURE p").0, "42725");
    assert_eq!(error(&db, "EXPLAIN PROCEDURE p(bigint)").0, "42883");
    let mut explain = |of: &str| {
        let rows = session.query(&format!("EXPLAIN PROCEDURE {of}"), ()).expect(of);
        let lines: Vec<String> = rows.iter().map(|row| row.get(0).expect("a line")).collect();
        lines.join("\n")
    };
    assert!(
        explain("p(int, text)").contains("fails when it is reached: function nosuch(integer) does not exist")
    );
    assert!(!explain("p(varchar(3))").contains("fails"));
}
