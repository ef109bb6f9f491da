//! Routines that set the path, and changes under `session_replication_role`: how calls are logged, and what every scheme makes of
//! that.

use crate::logged::{logged, replayed_by_all};

const SCHEMA: &str = "
    CREATE TABLE t (id int PRIMARY KEY, v int);
    CREATE SEQUENCE s;
    CREATE SCHEMA a;
    CREATE SCHEMA b;
    CREATE TABLE a.t (id int PRIMARY KEY);
    CREATE TABLE b.t (id int PRIMARY KEY);
    CREATE TABLE p (id int PRIMARY KEY);
    CREATE TABLE c (id int PRIMARY KEY, p int REFERENCES p ON DELETE CASCADE);
    CREATE TABLE plain (id int PRIMARY KEY);
    CREATE PROCEDURE put(p_path text, p_id int) LANGUAGE plpgsql AS $$
    BEGIN
        PERFORM set_config('search_path', p_path, true);
        INSERT INTO t VALUES (p_id);
    END $$;
    CREATE FUNCTION put_in(p_path text, p_id int) RETURNS int LANGUAGE plpgsql AS $$
    BEGIN
        EXECUTE format('SET LOCAL search_path = %I', p_path);
        INSERT INTO t VALUES (p_id);
        RETURN p_id;
    END $$;
    CREATE PROCEDURE child(p_id int, p_p int) LANGUAGE plpgsql AS $$ BEGIN INSERT INTO c VALUES (p_id, p_p); END $$;
    CREATE PROCEDURE simple(p_id int) LANGUAGE plpgsql AS $$ BEGIN INSERT INTO plain VALUES (p_id); END $$;";

#[test]
fn calls_under_another_replication_role_are_logged_as_calls_where_they_are_the_same() {
    let called = |call: &str| {
        let all = logged(&format!("{SCHEMA} INSERT INTO p VALUES (1); {call};"));
        // The last one is a number that the test has drawn.
        all[all.len() - 2]
    };
    assert!(called("CALL child(1, 1)").ends_with("call"));
    assert!(called("SET session_replication_role = replica; CALL simple(1)").ends_with("call"));
    assert_eq!(called("SET session_replication_role = replica; CALL child(1, 7)"), "effects");
    assert_eq!(called("CALL put('a', 1)"), "effects");
}

#[test]
fn every_scheme_brings_the_same_rows_back() {
    replayed_by_all(
        SCHEMA,
        &|db| {
            let mut session = db.session().expect("a session");
            for id in 1..4 {
                session.execute("CALL put('a', $1)", (id,)).expect("put");
                session.query("SELECT put_in('b', $1), put_in('a', $1 + 100)", (id,)).expect("put");
                session.execute("CALL child($1, 7)", (id,)).expect_err("no parent");
                session.execute("CALL simple($1)", (id,)).expect("put");
            }
            session.execute("SET session_replication_role = replica", ()).expect("set");
            for id in 4..6 {
                session.execute("CALL child($1, 7)", (id,)).expect("no parent is looked for");
                session.execute("CALL simple($1)", (id,)).expect("put");
            }
            db.execute_script(
                "INSERT INTO p VALUES (1), (2); INSERT INTO c VALUES (10, 1), (20, 2);
                 ALTER TABLE p DISABLE TRIGGER ALL; DELETE FROM p WHERE id = 1; ALTER TABLE p ENABLE TRIGGER ALL;
                 DELETE FROM p WHERE id = 2; ALTER TABLE c DISABLE TRIGGER ALL",
            )
            .expect("changed");
            db.call("child", (30, 99)).expect("no parent is looked for");
        },
        &|db| {
            let one = |text: &str| db.query(text, ()).expect("rows")[0].get::<String>(0).expect("a text");
            assert_eq!(one("SELECT string_agg(id::text, ' ' ORDER BY id) FROM a.t"), "1 2 3 101 102 103");
            assert_eq!(one("SELECT string_agg(id::text, ' ' ORDER BY id) FROM b.t"), "1 2 3");
            assert_eq!(
                one("SELECT string_agg(id || ':' || p, ' ' ORDER BY id) FROM c"),
                "4:7 5:7 10:1 30:99"
            );
            assert_eq!(one("SELECT string_agg(id::text, ' ' ORDER BY id) FROM plain"), "1 2 3 4 5");
        },
    );
}
