//! What the log holds of calls, and that it is enough.

use planaria::{Database, LogKind, Options};
use planaria_base::Epoch;
use planaria_log::{Effect, LogReader, RecordBody};
use planaria_sim::disk::SimDisk;

/// The records of a log, schema changes aside, one word each.
fn records(disk: &SimDisk) -> Vec<&'static str> {
    let reader = LogReader::open(disk.device()).expect("opens");
    let mut all = Vec::new();
    for batch in reader.batches(Epoch(0)) {
        for record in batch.expect("a batch").records() {
            all.push(match record.decode().expect("a record").body {
                RecordBody::Call(call) if call.keeping => "keeping call",
                RecordBody::Call(_) => "call",
                RecordBody::Effects(effects) if effects.iter().any(|e| matches!(e, Effect::Schema(_))) => {
                    continue;
                }
                RecordBody::Effects(effects)
                    if effects.iter().all(|e| matches!(e, Effect::Sequence { .. })) =>
                {
                    "sequence"
                }
                RecordBody::Effects(_) => "effects",
            });
        }
    }
    all
}

/// Runs the script on an empty disk; the log's records, after the same rows came back from it.
fn logged(script: &str) -> Vec<&'static str> {
    let disk = SimDisk::new(1);
    let options = || Options::new().log(LogKind::Command);
    let state = |db: &Database| {
        let rows = db.query("SELECT id, v FROM t ORDER BY id", ()).expect("rows");
        let next = db.query("SELECT nextval('s')", ()).expect("a value")[0].get::<i64>(0).expect("a number");
        (format!("{rows:?}"), next)
    };
    let db = options().open_device(disk.device()).expect("opens");
    db.execute_script(script).expect("runs");
    let (rows, next) = state(&db);
    db.check().expect("is whole");
    drop(db);
    let all = records(&disk);
    let db = options().open_device(disk.device()).expect("opens again");
    db.check().expect("is whole again");
    let (rows_again, next_again) = state(&db);
    assert_eq!(rows_again, rows);
    assert!(next_again > next);
    all
}

const SCHEMA: &str = "
    CREATE TABLE t (id int PRIMARY KEY, v int NOT NULL);
    CREATE SEQUENCE s;
    CREATE PROCEDURE put(p_id int, p_v int) LANGUAGE plpgsql AS $$
    BEGIN
        INSERT INTO t VALUES (p_id, p_v);
    EXCEPTION WHEN unique_violation THEN
        UPDATE t SET v = v + p_v WHERE id = p_id;
    END $$;";

#[test]
fn a_call_in_which_a_handler_ran_is_logged_by_its_effects() {
    let script = format!(
        "{SCHEMA}
    CREATE PROCEDURE twice(p_id int) LANGUAGE plpgsql AS $$
    BEGIN
        CALL put(p_id, 1);
        CALL put(p_id, 1);
    END $$;
    CREATE PROCEDURE perhaps(p_id int) LANGUAGE plpgsql AS $$
    BEGIN
        INSERT INTO t VALUES (p_id, 0);
    EXCEPTION WHEN others THEN
        NULL;
    END $$;
    CREATE PROCEDURE draws() LANGUAGE plpgsql AS $$
    BEGIN
        PERFORM nextval('s');
        INSERT INTO t VALUES (1, 1 / 0);
    EXCEPTION WHEN division_by_zero THEN
        NULL;
    END $$;
    CALL put(1, 10);
    CALL put(1, 5);
    CALL twice(2);
    CALL perhaps(3);
    CALL perhaps(3);
    CALL draws();
    CALL put(4, 4);"
    );
    let expected = ["call", "effects", "effects", "call", "sequence", "call", "sequence"];
    assert_eq!(logged(&script), expected, "the last is what looking at the sequence did");
}

#[test]
fn a_procedure_with_sql_made_at_run_time_is_logged_by_its_effects() {
    let script = format!(
        "{SCHEMA}
    CREATE PROCEDURE dynamic(p_id int) LANGUAGE plpgsql AS $$
    BEGIN
        EXECUTE 'INSERT INTO t VALUES ($1, 0)' USING p_id;
    END $$;
    CALL dynamic(1);"
    );
    assert_eq!(logged(&script), ["effects", "sequence"]);
}
