//! What the catalog only remembers comes back with it: indexes that are not made, casts, routines of a session.

use planaria::lab::LabOptions;
use planaria::{Database, LogKind, Options, Scheme, SqlState};
use planaria_sim::disk::{SimDisk, Survival};

const SCRIPT: &str = "
    CREATE TYPE state AS ENUM ('NEW', 'PAID');
    CREATE CAST (varchar AS state) WITH INOUT AS IMPLICIT;
    COMMENT ON CAST (varchar AS state) IS 'read';
    CREATE TABLE t (id int PRIMARY KEY, tags text[], doc jsonb, s state, name text);
    CREATE INDEX by_tags ON t USING gin (tags);
    CREATE INDEX by_doc ON t USING gin (doc jsonb_path_ops) WHERE id > 0;
    CREATE INDEX by_name ON t USING gist (name gist_trgm_ops (siglen = 32));
    CREATE INDEX by_id ON t USING hash (id);
    CREATE INDEX gone ON t USING gin (to_tsvector('english'::regconfig, name));
    COMMENT ON INDEX by_tags IS 'of the tags';
    DROP INDEX gone;
    ALTER INDEX by_doc RENAME TO by_document;
    ALTER TABLE t RENAME COLUMN tags TO labels;
    CREATE PROCEDURE put(i int, v varchar) LANGUAGE plpgsql AS $$ BEGIN INSERT INTO t (id, s) VALUES (i, v); END $$;";

fn state(db: &Database) -> Vec<String> {
    let rows = db
        .query(
            "SELECT indexdef || coalesce(obj_description(indexname::text::regclass, 'pg_class'), '') FROM pg_indexes
             WHERE tablename = 't'
             UNION ALL SELECT castcontext::text || coalesce(obj_description(oid, 'pg_cast'), '') FROM pg_cast WHERE oid >= 16384
             UNION ALL SELECT id || ' ' || s FROM t ORDER BY 1",
            (),
        )
        .expect("rows");
    rows.iter().map(|row| row.text(0).unwrap_or_default()).collect()
}

#[test]
fn they_come_back_from_the_log_and_from_a_checkpoint() {
    for scheme in Scheme::ALL {
        for checkpoint in [false, true] {
            let disk = SimDisk::new(1);
            let open = || Options::new().log(LogKind::Command).recovery(*scheme).open_device(disk.device());
            let db = open().expect("opens");
            db.execute_script(SCRIPT).expect("creates");
            db.execute("CALL put(1, 'NEW')", ()).expect("calls");
            if checkpoint {
                db.execute("CHECKPOINT", ()).expect("a checkpoint");
            }
            db.execute("CALL put(2, 'PAID')", ()).expect("calls");
            let before = state(&db);
            assert_eq!(before.len(), 8, "{before:?}");
            drop(db);
            disk.crash(Survival::Nothing);
            let db = open().expect("opens again");
            db.check().expect("is whole");
            assert_eq!(state(&db), before, "{scheme}");
            let taken = db.execute("CREATE INDEX by_tags ON t (id)", ()).expect_err("the name is taken");
            assert_eq!(taken.sqlstate(), SqlState::DUPLICATE_TABLE);
            db.execute("DROP INDEX by_tags, by_document, by_name, by_id", ()).expect("drops them");
            db.execute("DROP CAST (varchar AS state)", ()).expect("drops it");
            assert_eq!(state(&db).len(), 3);
        }
    }
}

#[test]
fn routines_of_a_session_end_with_it() {
    for scheme in Scheme::ALL {
        let disk = SimDisk::new(1);
        let open = || Options::new().log(LogKind::Command).recovery(*scheme).open_device(disk.device());
        let db = open().expect("opens");
        db.execute("CREATE TABLE t (id int PRIMARY KEY)", ()).expect("creates");
        let mut session = db.session().expect("a session");
        let make = "CREATE PROCEDURE pg_temp.put(i int) LANGUAGE sql AS $$ INSERT INTO t VALUES (i) $$";
        session.execute(make, ()).expect("creates");
        session.execute("CALL pg_temp.put(1)", ()).expect("calls");
        session.execute_script("BEGIN; CALL pg_temp.put(2); CALL pg_temp.put(3); COMMIT").expect("calls");
        let mut other = db.session().expect("another");
        let missing = other.execute("CALL pg_temp.put(4)", ()).expect_err("it is another's");
        assert_eq!(missing.sqlstate(), SqlState::INVALID_SCHEMA_NAME);
        drop((session, other));
        let left = |db: &Database| -> i64 {
            let query = "SELECT count(*) FROM pg_proc p JOIN pg_namespace n ON n.oid = p.pronamespace WHERE n.nspname LIKE 'pg_temp%'";
            db.query(query, ()).expect("rows")[0].get(0).expect("a number")
        };
        assert_eq!(left(&db), 0);
        let mut session = db.session().expect("a session");
        session.execute(make, ()).expect("creates it once more");
        session.execute("CALL pg_temp.put(5)", ()).expect("calls");
        let digests = db.digests().expect("digests");
        drop(session);
        drop(db);
        disk.crash(Survival::Nothing);
        let db = open().expect("opens again");
        assert_eq!(db.digests().expect("digests"), digests, "{scheme}");
        assert_eq!(left(&db), 0);
    }
}
