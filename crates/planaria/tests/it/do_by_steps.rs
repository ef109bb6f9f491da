//! DO blocks that change the schema, or whose records take rows of EXECUTE: carried out statement by statement.

use crate::logged::replayed_by_all;
use planaria::{Database, SqlState};

const SCHEMA: &str = "
    CREATE TABLE users (id int PRIMARY KEY, name text);
    INSERT INTO users VALUES (1, 'ann'), (2, 'bob');
    CREATE PROCEDURE rename(p_id int, p_name text) LANGUAGE plpgsql AS $$
    BEGIN
        UPDATE users SET name = p_name WHERE id = p_id;
    END $$;";

const MIGRATION: &str = "
    DO $$
    DECLARE
        r record;
    BEGIN
        ALTER TABLE users ADD COLUMN visits int NOT NULL DEFAULT 0;
        FOR r IN EXECUTE 'SELECT id, name AS who FROM users ORDER BY id' LOOP
            EXECUTE format('CREATE TABLE %I (id int PRIMARY KEY, of int REFERENCES users)', 'visits_of_' || r.who);
            EXECUTE format('INSERT INTO %I VALUES (1, $1)', 'visits_of_' || r.who) USING r.id;
            UPDATE users SET visits = visits + r.id WHERE id = r.id;
            CALL rename(r.id, upper(r.who));
        END LOOP;
        BEGIN
            CREATE TABLE visits_of_ann (id int);
        EXCEPTION WHEN duplicate_table THEN
            UPDATE users SET visits = visits + 100 WHERE id = 1;
        END;
    END $$";

fn visits(db: &Database) -> Vec<(String, i32)> {
    let rows = db.query("SELECT name, visits FROM users ORDER BY id", ()).expect("reads");
    rows.iter().map(|r| (r.get(0).expect("a name"), r.get(1).expect("a number"))).collect()
}

#[test]
fn every_scheme_brings_back_what_it_made() {
    replayed_by_all(
        SCHEMA,
        &|db| {
            db.execute_script(MIGRATION).expect("migrates");
            db.call("rename", (2, "bert")).expect("renames");
        },
        &|db| {
            assert_eq!(visits(db), [("ANN".to_owned(), 101), ("bert".to_owned(), 2)]);
            let rows = db.query("SELECT of FROM visits_of_bob", ()).expect("reads");
            assert_eq!(rows[0].get::<i32>(0).expect("a number"), 2);
        },
    );
}

#[test]
fn one_that_fails_leaves_nothing() {
    let db = Database::in_memory().expect("opens");
    db.execute_script(SCHEMA).expect("runs");
    let failing = MIGRATION.replace("END $$", "PERFORM 1 / 0; END $$");
    let error = db.execute_script(&failing).expect_err("it divides by zero");
    assert_eq!(error.sqlstate(), SqlState::DIVISION_BY_ZERO);
    assert!(error.fields().context.as_deref().unwrap_or_default().contains("inline_code_block"), "{error:?}");
    assert!(db.query("SELECT visits FROM users", ()).is_err());
    assert!(db.query("SELECT * FROM visits_of_ann", ()).is_err());
    db.execute_script(MIGRATION).expect("it may be done again");
    db.check().expect("rows and indexes agree");
}

#[test]
fn it_is_one_transaction_among_others() {
    let db = Database::in_memory().expect("opens");
    db.execute_script(SCHEMA).expect("runs");
    std::thread::scope(|scope| {
        for worker in 0..2 {
            let db = &db;
            scope.spawn(move || {
                for i in 0..20 {
                    let body = format!(
                        "DO $$ DECLARE r record; BEGIN
                            EXECUTE 'SELECT name FROM users WHERE id = 1' INTO r;
                            EXECUTE 'UPDATE users SET name = $1 WHERE id = 1' USING r.name || 'x';
                         END $$ -- {worker} {i}"
                    );
                    while let Err(error) = db.execute(&body, ()) {
                        assert!(error.sqlstate().is_retryable(), "{error:?}");
                    }
                }
            });
        }
    });
    let rows = db.query("SELECT length(name) FROM users WHERE id = 1", ()).expect("reads");
    assert_eq!(rows[0].get::<i32>(0).expect("a number"), 3 + 40);
}
