//! Constraint triggers that are deferred: what commits with what they did, how that is logged, and what every scheme makes of
//! it.

use crate::logged::{logged, replayed_by_all};
use planaria::{Database, ProtocolKind, SqlState};

const SCHEMA: &str = "
    CREATE SEQUENCE s;
    CREATE TABLE t (id int PRIMARY KEY, v int NOT NULL, at timestamptz DEFAULT now(), tags text[]);
    CREATE TABLE total (what text PRIMARY KEY, n bigint NOT NULL, v bigint NOT NULL);
    CREATE TABLE seen (n serial PRIMARY KEY, what text, id int, was int, is_now int, tags text[]);
    INSERT INTO total VALUES ('t', 0, 0);
    CREATE FUNCTION see() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
        INSERT INTO seen (what, id, was, is_now, tags) VALUES (tg_op, coalesce(new.id, old.id), old.v, new.v, new.tags);
        RETURN NULL;
    END $$;
    CREATE FUNCTION add_up() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
        UPDATE total SET n = (SELECT count(*) FROM t), v = (SELECT sum(v) FROM t) WHERE what = 't';
        IF (SELECT v FROM total WHERE what = 't') < 0 THEN
            RAISE EXCEPTION 'less than nothing' USING ERRCODE = 'check_violation';
        END IF;
        RETURN NULL;
    END $$;
    CREATE CONSTRAINT TRIGGER see AFTER INSERT OR UPDATE OR DELETE ON t DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION see();
    CREATE CONSTRAINT TRIGGER total AFTER INSERT ON seen DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION add_up();
    CREATE PROCEDURE put(p_id int, p_v int) LANGUAGE plpgsql AS $$
    BEGIN
        INSERT INTO t (id, v, tags) VALUES (p_id, p_v, ARRAY['a', NULL]);
        UPDATE t SET v = v + 1 WHERE id = p_id;
    END $$;";

fn lines(db: &Database) -> String {
    let text = "SELECT string_agg(concat_ws(' ', what, id, was, is_now, tags), ', ' ORDER BY n) FROM seen";
    db.query(text, ()).expect("rows")[0].get::<String>(0).expect("a text")
}

fn total(db: &Database) -> String {
    let text = "SELECT n || ' ' || v FROM total";
    db.query(text, ()).expect("rows")[0].get::<String>(0).expect("a text")
}

#[test]
fn calls_that_put_something_off_are_logged_by_values_and_others_are_not() {
    let last = |script: String| {
        let all = logged(&script);
        all.into_iter().rfind(|record| *record != "sequence").expect("a record")
    };
    assert_eq!(last(format!("{SCHEMA} CALL put(1, 10);")), "effects");
    // What is INITIALLY IMMEDIATE is deferred in blocks alone.
    let immediate = SCHEMA.replace("DEFERRABLE INITIALLY DEFERRED", "DEFERRABLE");
    let outside = last(format!("{immediate} CALL put(1, 10);"));
    assert!(outside.ends_with("call"), "{outside}");
    let block = "BEGIN; SET CONSTRAINTS ALL DEFERRED; CALL put(1, 10); COMMIT;";
    assert_eq!(last(format!("{immediate} {block}")), "effects");
}

#[test]
fn every_scheme_sees_the_same_rows() {
    for schema in [SCHEMA.to_owned(), SCHEMA.replace("DEFERRABLE INITIALLY DEFERRED", "DEFERRABLE")] {
        replayed_by_all(
            &schema,
            &|db| {
                for id in [10, 20, 30] {
                    db.call("put", (id, id * 2)).expect("adds");
                }
                db.execute("UPDATE t SET v = v + 1 WHERE id < 20", ()).expect("changes");
                let error = db.execute("UPDATE t SET v = v - 1000", ()).expect_err("is refused");
                assert_eq!(error.sqlstate(), SqlState::CHECK_VIOLATION, "{error}");
                let mut session = db.session().expect("a session");
                session
                    .execute_script(
                        "BEGIN;
                         SET CONSTRAINTS ALL DEFERRED;
                         DELETE FROM t WHERE id = 30;
                         SAVEPOINT s;
                         UPDATE t SET v = -1000 WHERE id = 20;
                         ROLLBACK TO s;
                         CALL put(40, 1);
                         SET CONSTRAINTS see IMMEDIATE;
                         COMMIT;
                         BEGIN;
                         INSERT INTO t VALUES (50, 5);
                         CREATE TABLE more (id int);
                         INSERT INTO t VALUES (51, 5);
                         COMMIT;",
                    )
                    .expect("runs");
            },
            &|db| {
                assert_eq!(
                    lines(db),
                    "INSERT 10 20 {a,NULL}, UPDATE 10 20 21 {a,NULL}, INSERT 20 40 {a,NULL}, UPDATE 20 40 41 {a,NULL}, \
                     INSERT 30 60 {a,NULL}, UPDATE 30 60 61 {a,NULL}, UPDATE 10 21 22 {a,NULL}, DELETE 30 61, \
                     INSERT 40 1 {a,NULL}, UPDATE 40 1 2 {a,NULL}, INSERT 50 5, INSERT 51 5"
                );
                assert_eq!(total(db), "5 75");
            },
        );
    }
}

#[test]
fn what_routines_say_of_constraints_is_the_same_by_every_scheme() {
    let schema = format!(
        "{SCHEMA}
         CREATE PROCEDURE put_now(p_id int, p_v int) LANGUAGE plpgsql AS $$
         BEGIN
             INSERT INTO t (id, v) VALUES (p_id, p_v);
             BEGIN
                 SET CONSTRAINTS ALL IMMEDIATE;
             EXCEPTION WHEN check_violation THEN
                 UPDATE t SET v = 0 WHERE id = p_id;
             END;
             INSERT INTO t (id, v) VALUES (p_id + 1, p_v);
             SET CONSTRAINTS see, total DEFERRED;
             UPDATE t SET v = 7 WHERE id = p_id + 1;
         END $$;
         CREATE TYPE mean_state AS (total int, weight int);
         CREATE FUNCTION mean_step(s mean_state, v int) RETURNS mean_state LANGUAGE sql
             AS 'SELECT ROW(s.total + v, s.weight + 1)::mean_state';
         CREATE FUNCTION shown(mean_state) RETURNS text LANGUAGE sql AS 'SELECT $1::text';
         CREATE AGGREGATE weighed_text(int) (SFUNC = mean_step, STYPE = mean_state, FINALFUNC = shown, INITCOND = '(0,0)');
         CREATE VIEW small WITH (security_barrier) AS SELECT id FROM t WHERE v < 8;"
    );
    let records = logged(&format!("{schema} CALL put_now(1, 10);"));
    assert_eq!(records.into_iter().rfind(|record| *record != "sequence"), Some("effects"));
    replayed_by_all(
        &schema,
        &|db| {
            db.call("put_now", (1, 10)).expect("runs");
            db.call("put_now", (10, -20)).expect("runs");
            let error = db.call("put", (20, -100)).expect_err("less than nothing");
            assert_eq!(error.sqlstate(), SqlState::CHECK_VIOLATION, "{error}");
            db.call("put", (30, 1)).expect("adds");
        },
        &|db| {
            assert_eq!(total(db), "5 26");
            let rows =
                db.query("SELECT weighed_text(v), count(small.id) FROM t LEFT JOIN small USING (id)", ());
            let rows = rows.expect("rows");
            let told = (rows[0].get::<String>(0).expect("a text"), rows[0].get::<i64>(1).expect("n"));
            assert_eq!(told, ("(26,5)".to_owned(), 4));
        },
    );
}

#[test]
fn an_error_of_a_deferred_trigger_leaves_nothing_under_any_protocol() {
    for protocol in ProtocolKind::ALL {
        let db = planaria::Options::new().protocol(*protocol).in_memory().expect("opens");
        db.execute_script(SCHEMA).expect("runs");
        db.call("put", (1, 1)).expect("adds");
        let mut session = db.session().expect("a session");
        session.execute_script("BEGIN; CALL put(2, -100);").expect("waits");
        let error = session.execute("COMMIT", ()).expect_err("is refused");
        assert_eq!(error.sqlstate(), SqlState::CHECK_VIOLATION, "{protocol:?}: {error}");
        assert!(!session.in_transaction(), "{protocol:?}");
        let error = session.call("put", (2, -100)).expect_err("is refused");
        assert_eq!(error.sqlstate(), SqlState::CHECK_VIOLATION, "{protocol:?}: {error}");
        session.call("put", (2, 7)).expect("adds");
        assert_eq!(total(&db), "2 10", "{protocol:?}");
        db.check().expect("is whole");
    }
}

#[test]
fn sessions_that_meet_in_deferred_triggers_are_serializable() {
    for protocol in ProtocolKind::ALL {
        let db = planaria::Options::new().protocol(*protocol).in_memory().expect("opens");
        db.execute_script(SCHEMA).expect("runs");
        std::thread::scope(|scope| {
            for thread in 0..3 {
                let db = &db;
                scope.spawn(move || {
                    let mut session = db.session().expect("a session");
                    for i in 0..10 {
                        session.call("put", (thread * 100 + i, 1)).expect("adds");
                    }
                });
            }
        });
        let rows = db.query("SELECT count(*), sum(v) FROM t", ()).expect("rows");
        assert_eq!((rows[0].get::<i64>(0).expect("n"), rows[0].get::<i64>(1).expect("v")), (30, 60));
        assert_eq!(total(&db), "30 60", "{protocol:?}");
        let seen = db.query("SELECT count(*) FROM seen", ()).expect("rows")[0].get::<i64>(0).expect("n");
        assert_eq!(seen, 60, "{protocol:?}");
    }
}

#[test]
fn rights_are_those_of_whoever_commits() {
    let db = Database::in_memory().expect("opens");
    db.execute_script(SCHEMA).expect("runs");
    db.execute_script("CREATE ROLE clerk; GRANT SELECT, INSERT ON t TO clerk;").expect("runs");
    let mut session = db.session().expect("a session");
    session.execute_script("SET ROLE clerk; BEGIN; INSERT INTO t VALUES (1, 1);").expect("waits");
    let error = session.execute("COMMIT", ()).expect_err("is refused");
    assert_eq!(error.sqlstate(), SqlState::INSUFFICIENT_PRIVILEGE, "{error}");
    session
        .execute_script("BEGIN; INSERT INTO t VALUES (1, 1); RESET ROLE; COMMIT;")
        .expect("the superuser may");
    assert_eq!(lines(&db), "INSERT 1 1");
}
