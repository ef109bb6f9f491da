//! Row-level security: how calls that policies bind are logged, and what every scheme makes of that.

use crate::logged::{logged, replayed_by_all};
use planaria::{Database, SqlState};

const SCHEMA: &str = "
    CREATE SEQUENCE s;
    CREATE ROLE alice;
    CREATE ROLE bob;
    CREATE ROLE keeper;
    CREATE TABLE t (id int PRIMARY KEY, v int NOT NULL, owner text NOT NULL DEFAULT current_user);
    CREATE INDEX t_owner ON t (owner);
    CREATE TABLE seen (n serial PRIMARY KEY, what text, id int);
    GRANT ALL ON t, seen, seen_n_seq TO alice, bob, keeper;
    ALTER TABLE t ENABLE ROW LEVEL SECURITY;
    CREATE POLICY own ON t USING (owner = current_user);
    CREATE POLICY small ON t AS RESTRICTIVE FOR UPDATE WITH CHECK (v < 100);
    CREATE POLICY keeps ON t TO keeper USING (v < 50);
    CREATE PROCEDURE put(p_id int, p_v int) LANGUAGE plpgsql AS $$
    BEGIN
        INSERT INTO t VALUES (p_id, p_v);
        INSERT INTO seen (what, id) SELECT current_user, id FROM t ORDER BY id;
    END $$;
    CREATE PROCEDURE more(p_v int) LANGUAGE plpgsql AS $$
    BEGIN
        UPDATE t SET v = v + p_v;
    END $$;
    CREATE PROCEDURE keep(p_v int) LANGUAGE plpgsql SECURITY DEFINER AS $$
    BEGIN
        UPDATE t SET v = v + p_v;
        INSERT INTO seen (what, id) SELECT 'kept', id FROM t ORDER BY id;
    END $$;
    ALTER PROCEDURE keep(int) OWNER TO keeper;
    CREATE TABLE open (id int PRIMARY KEY, v int);
    CREATE PROCEDURE plain(p_id int) LANGUAGE plpgsql AS $$
    BEGIN
        INSERT INTO open VALUES (p_id, p_id);
    END $$;";

#[test]
fn calls_that_ask_whom_policies_bind_are_logged_as_calls() {
    let all = logged(&format!("{SCHEMA} SET ROLE alice; CALL put(1, 10); CALL more(5); RESET ROLE;"));
    assert!(all.len() > 2 && all[..2].iter().all(|record| record.ends_with("call")), "{all:?}");
    let all = logged(&format!("{SCHEMA} CALL plain(1);"));
    assert!(all.contains(&"call"), "a table without row security costs nothing: {all:?}");
}

#[test]
fn every_scheme_sees_the_same_rows() {
    replayed_by_all(
        SCHEMA,
        &|db| {
            let mut session = db.session().expect("a session");
            for (role, id) in [("alice", 1), ("bob", 2), ("alice", 3)] {
                session.execute(&format!("SET ROLE {role}"), ()).expect("becomes another");
                session.call("put", (id, id * 10)).expect("adds");
                session.call("more", (1,)).expect("changes");
                session.execute("UPDATE t SET v = v + 1 WHERE id > 0", ()).expect("changes");
            }
            let error = session.call("more", (90,)).expect_err("is refused");
            assert_eq!(error.sqlstate(), SqlState::INSUFFICIENT_PRIVILEGE, "{error}");
            session.execute("RESET ROLE", ()).expect("is itself");
            session.call("keep", (7,)).expect("changes");
            session.execute("ALTER POLICY keeps ON t USING (id < 3)", ()).expect("changes");
            session.call("keep", (7,)).expect("changes");
            session.execute("ALTER TABLE t DISABLE ROW LEVEL SECURITY", ()).expect("changes");
            session.call("keep", (100,)).expect("changes");
        },
        &|db| {
            let rows = "SELECT string_agg(concat_ws(' ', id, v, owner), ', ' ORDER BY id) FROM t";
            let rows = db.query(rows, ()).expect("rows")[0].get::<String>(0).expect("a text");
            assert_eq!(rows, "1 128 alice, 2 136 bob, 3 139 alice");
            let seen = "SELECT string_agg(what || ' ' || id, ', ' ORDER BY n) FROM seen";
            let seen = db.query(seen, ()).expect("rows")[0].get::<String>(0).expect("a text");
            assert_eq!(
                seen,
                "alice 1, bob 2, alice 1, alice 3, kept 1, kept 2, kept 3, kept 1, kept 2, kept 1, kept 2, kept 3"
            );
        },
    );
}

#[test]
fn an_index_serves_a_policy() {
    let db = Database::in_memory().expect("opens");
    db.execute_script(SCHEMA).expect("runs");
    let mut session = db.session().expect("a session");
    session.execute("SET ROLE alice", ()).expect("becomes another");
    let plan = session.query("EXPLAIN SELECT * FROM t", ()).expect("a plan");
    let plan: Vec<String> = plan.iter().map(|row| row.get::<String>(0).expect("a line")).collect();
    assert!(plan.iter().any(|line| line.contains("t_owner")), "{plan:?}");
}

#[test]
fn what_has_prepared_a_statement_may_become_another() {
    let db = Database::in_memory().expect("opens");
    db.execute_script(SCHEMA).expect("runs");
    db.execute("INSERT INTO t VALUES (1, 1, 'alice'), (2, 2, 'bob'), (3, 3, 'alice')", ()).expect("runs");
    let mut session = db.session().expect("a session");
    let statement = session.prepare("SELECT count(*) FROM t WHERE id > $1").expect("prepares");
    for (role, n) in [("alice", 2), ("bob", 1), ("keeper", 3), ("none", 3)] {
        session.execute(&format!("SET ROLE {role}"), ()).expect("becomes another");
        let rows = session.query_prepared(&statement, (0,)).expect("rows");
        assert_eq!(rows[0].get::<i64>(0).expect("a number"), n, "{role}");
    }
}
