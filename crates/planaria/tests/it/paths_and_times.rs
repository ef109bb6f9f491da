//! `jsonpath` and `timetz` as columns, keys, arguments and variables: how calls with them are logged, and what every scheme
//! and a checkpoint make of that.

use crate::logged::{logged, replayed_by_all};
use planaria::lab::LabOptions;
use planaria::{Database, LogKind, Options, SqlState};
use planaria_sim::disk::SimDisk;

const SCHEMA: &str = "
    CREATE SEQUENCE s;
    CREATE TABLE t (id int PRIMARY KEY, v int NOT NULL);
    CREATE TABLE rule (id int PRIMARY KEY, spot jsonpath NOT NULL, hits int NOT NULL DEFAULT 0, others jsonpath[]);
    CREATE TABLE doc (id int PRIMARY KEY, body jsonb NOT NULL);
    CREATE TABLE found (rule int, doc int, what jsonb, PRIMARY KEY (rule, doc));
    CREATE TABLE shop (opens timetz, name text, shuts timetz(0), PRIMARY KEY (opens, name));
    CREATE INDEX ON shop (shuts);
    CREATE PROCEDURE add_rule(p_id int, p_at jsonpath) LANGUAGE plpgsql AS $$
    BEGIN
        INSERT INTO rule VALUES (p_id, p_at, 0, ARRAY[p_at, '$.*']);
    END $$;
    CREATE PROCEDURE add_doc(p_id int, p_body jsonb) LANGUAGE plpgsql AS $$
    DECLARE r rule;
    BEGIN
        INSERT INTO doc VALUES (p_id, p_body);
        FOR r IN SELECT * FROM rule WHERE p_body @? spot ORDER BY id LOOP
            UPDATE rule SET hits = hits + 1 WHERE id = r.id;
            INSERT INTO found VALUES (r.id, p_id, jsonb_path_query_array(p_body, r.spot, '{\"min\": 2}', true));
        END LOOP;
    END $$;
    CREATE PROCEDURE add_shop(p_opens timetz, p_name text, p_hours interval) LANGUAGE plpgsql AS $$
    DECLARE until time with time zone := p_opens + p_hours;
    BEGIN
        INSERT INTO shop VALUES (p_opens, p_name, until AT TIME ZONE interval '01:00');
    END $$;
    CREATE PROCEDURE later(p_by interval) LANGUAGE plpgsql AS $$
    BEGIN
        UPDATE shop SET opens = opens + p_by WHERE opens < (SELECT max(opens) FROM shop);
    END $$;";

const FOUND: &str = "1 1 [5]; 1 3 [7, 8]; 2 3 [{\"n\": 7}, {\"n\": 8}]";
const RULES: &str = "1 $.\"a\"[*].\"n\" 2 {\"$.\\\"a\\\"[*].\\\"n\\\"\",$.*}; \
                     2 strict $.\"a\"[*]?(@.\"n\" > 2) 1 {\"strict $.\\\"a\\\"[*]?(@.\\\"n\\\" > 2)\",$.*}; \
                     3 (2 * 2 + 3.double()) 0 {\"(2 * 2 + 3.double())\",$.*}";
const SHOPS: &str = "08:30:00+02 a 17:00:00+01; 07:30:00+01 b 19:30:01+01; 06:30:00-01 c 00:30:00+01";

fn one(db: &Database, text: &str) -> String {
    db.query(text, ()).expect(text)[0].get::<String>(0).expect("a text")
}

fn fill(db: &Database) {
    db.call("add_rule", (1, "$.a[*].n")).expect("adds");
    db.call("add_rule", (2, "strict $.a[*] ? (@.n > 2)")).expect("adds");
    db.call("add_rule", (3, "2 * (2 + 3).double()")).expect("adds");
    let wrong = db.call("add_rule", (4, "$.a[")).expect_err("is no path");
    assert_eq!(wrong.sqlstate(), SqlState::SYNTAX_ERROR);
    db.execute("DELETE FROM rule WHERE id = 3", ()).expect("deletes");
    db.call("add_doc", (1, "{\"a\": {\"n\": 5}}")).expect("adds");
    db.call("add_doc", (2, "{\"b\": 1}")).expect("adds");
    db.call("add_doc", (3, "{\"a\": [{\"n\": 7}, {\"n\": 8}]}")).expect("adds");
    db.call("add_rule", (3, "2 * (2 + 3).double()")).expect("adds");
    for (opens, name, hours) in
        [("08:00+02", "a", "10:00"), ("07:00+01", "b", "12:30:00.7"), ("06:30-01", "c", "16:00")]
    {
        db.call("add_shop", (opens, name, hours)).expect("adds");
    }
    db.call("later", ("00:30",)).expect("moves");
}

fn check(db: &Database) {
    let found = "SELECT string_agg(concat_ws(' ', rule, doc, what), '; ' ORDER BY rule, doc) FROM found";
    assert_eq!(one(db, found), FOUND);
    let rules = "SELECT string_agg(concat_ws(' ', id, spot, hits, others), '; ' ORDER BY id) FROM rule";
    assert_eq!(one(db, rules), RULES.replace("2 * 2 + 3", "2 * (2 + 3)"));
    // What is kept is what was meant, also where its text does not say so.
    assert_eq!(one(db, "SELECT jsonb_path_query('1', spot)::text FROM rule WHERE id = 3"), "10");
    let shops = "SELECT string_agg(concat_ws(' ', opens, name, shuts), '; ' ORDER BY opens, name) FROM shop";
    assert_eq!(one(db, shops), SHOPS);
    assert_eq!(one(db, "SELECT name FROM shop WHERE opens = '07:30+01'"), "b");
    let there = db.execute("INSERT INTO shop VALUES ('07:30+01', 'b', NULL)", ()).expect_err("is there");
    assert_eq!(there.sqlstate(), SqlState::UNIQUE_VIOLATION);
}

#[test]
fn calls_stay_calls() {
    let all = logged(&format!(
        "{SCHEMA} CALL add_rule(1, '$.a'); CALL add_doc(1, '{{\"a\": 1}}'); CALL add_shop('08:00+02', 'a', '1:00'); \
         CALL later('1:00');"
    ));
    let all: Vec<_> = all.iter().filter(|record| **record != "sequence").collect();
    assert!(all.iter().rev().take(4).all(|record| record.ends_with("call")), "{all:?}");
}

#[test]
fn every_scheme_sees_the_same_rows() {
    replayed_by_all(SCHEMA, &fill, &check);
}

#[test]
fn a_checkpoint_has_them() {
    let disk = SimDisk::new(1);
    let options = || Options::new().log(LogKind::Command);
    let db = options().open_device(disk.device()).expect("opens");
    db.execute_script(SCHEMA).expect("creates");
    fill(&db);
    db.checkpoint().expect("a checkpoint");
    check(&db);
    drop(db);
    let db = options().open_device(disk.device()).expect("opens again");
    db.check().expect("is whole");
    check(&db);
}

#[test]
fn by_the_clocks_of_another_zone_calls_are_logged_by_rows() {
    let all = logged(
        "CREATE SEQUENCE s; CREATE TABLE t (id int PRIMARY KEY, v int NOT NULL); CREATE TABLE c (at timetz);
         CREATE PROCEDURE p(w text) LANGUAGE plpgsql AS $$ BEGIN INSERT INTO c VALUES (w::timetz); END $$;
         CALL p('12:00+02'); SET timezone = 'Europe/Zurich'; CALL p('12:00');",
    );
    let all: Vec<_> = all.iter().filter(|record| **record != "sequence").collect();
    assert!(all[0].ends_with("call") && *all[1] == "effects", "{all:?}");
}
