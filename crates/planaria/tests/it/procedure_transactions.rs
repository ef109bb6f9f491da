//! Procedures that COMMIT and ROLLBACK: each of their transactions is one of its own, whoever is in its way, whatever replays it,
//! and wherever a crash strikes.

use crate::logged::{logged, replayed_by_all};
use planaria::lab::LabOptions;
use planaria::{Database, Error, Options, ProtocolKind};
use planaria_sim::disk::{SimDisk, Survival};
use std::thread;
use std::time::{Duration, Instant};

on_the_shelf! {
    each_transaction_of_a_call_is_serializable
    a_transaction_waits_for_who_holds_its_row_and_begins_anew
}

const SCHEMA: &str = "
    CREATE TABLE t (id int PRIMARY KEY, v int NOT NULL);
    CREATE SEQUENCE s;
    CREATE TABLE pairs (id int, side text, PRIMARY KEY (id, side));
    CREATE PROCEDURE fill(p_from int, p_to int, p_every int, INOUT sum int DEFAULT 0) LANGUAGE plpgsql AS $$
    BEGIN
        FOR i IN p_from..p_to LOOP
            INSERT INTO t VALUES (i, i);
            IF i % p_every = 0 THEN COMMIT; sum := sum + i; ELSIF i % 7 = 0 THEN ROLLBACK; END IF;
        END LOOP;
    END $$;
    CREATE PROCEDURE double() LANGUAGE plpgsql AS $$
    DECLARE r t;
    BEGIN
        FOR r IN SELECT * FROM t ORDER BY id LOOP
            UPDATE t SET v = r.v * 2 WHERE id = r.id;
            COMMIT;
        END LOOP;
    END $$;
    CREATE PROCEDURE pair(p_id int, p_n int) LANGUAGE plpgsql AS $$
    BEGIN
        FOR i IN p_id..p_id + p_n - 1 LOOP
            INSERT INTO pairs VALUES (i, 'left');
            INSERT INTO pairs VALUES (i, 'right');
            COMMIT;
        END LOOP;
    END $$;
    CREATE PROCEDURE count_up(p_id int, p_n int, INOUT last int DEFAULT NULL) LANGUAGE plpgsql AS $$
    DECLARE was int;
    BEGIN
        FOR i IN 1..p_n LOOP
            SELECT v INTO was FROM t WHERE id = p_id;
            UPDATE t SET v = was + 1 WHERE id = p_id;
            last := was + 1;
            IF i % 3 = 0 THEN ROLLBACK; ELSE COMMIT; END IF;
        END LOOP;
    END $$;
    CREATE PROCEDURE first_and(p_id int) LANGUAGE plpgsql AS $$
    BEGIN
        INSERT INTO pairs VALUES (p_id, 'first');
        COMMIT;
        UPDATE t SET v = v + 1 WHERE id = p_id;
        INSERT INTO pairs VALUES (p_id, 'second');
    END $$;";

fn one(db: &Database, text: &str) -> String {
    db.query(text, ()).expect("rows")[0].get::<String>(0).expect("a text")
}

#[test]
fn every_transaction_has_a_record_of_its_own() {
    let all = logged(&format!("{SCHEMA} CALL pair(1, 3);"));
    assert_eq!(all.iter().filter(|kind| **kind == "effects").count(), 3, "{all:?}");
}

#[test]
fn every_scheme_brings_the_same_rows_back() {
    replayed_by_all(
        SCHEMA,
        &|db| {
            let rows = db.call("fill", (1, 20, 5)).expect("filled");
            assert_eq!(rows[0].get::<i32>(0).expect("a sum"), 50);
            db.execute("CALL double()", ()).expect("doubled");
            db.execute("CALL pair($1, $2)", (1, 3)).expect("paired");
            db.execute("DO $$ BEGIN INSERT INTO t VALUES (30, 1); COMMIT; INSERT INTO t VALUES (31, 1); ROLLBACK; END $$", ())
                .expect("done");
        },
        &|db| {
            assert_eq!(
                one(db, "SELECT string_agg(id || ' ' || v, ', ' ORDER BY id) FROM t"),
                "1 2, 2 4, 3 6, 4 8, 5 10, 8 16, 9 18, 10 20, 15 30, 16 32, 17 34, 18 36, 19 38, 20 40, 30 1"
            );
            assert_eq!(one(db, "SELECT count(*)::text FROM pairs"), "6");
        },
    );
}

/// What is read, added to and written by several, in each transaction anew: none is lost, and none is counted twice.
fn each_transaction_of_a_call_is_serializable(protocol: ProtocolKind) {
    let db = Options::new().protocol(protocol).in_memory().expect("opens");
    db.execute_script(SCHEMA).expect("the schema");
    db.execute("INSERT INTO t VALUES (1, 0)", ()).expect("a row");
    thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                for _ in 0..20 {
                    let rows = db.call("count_up", (1, 9)).expect("nobody fails");
                    assert!(rows[0].get::<i32>(0).expect("the last") > 0);
                }
            });
        }
    });
    // Of nine each, three are rolled back.
    assert_eq!(one(&db, "SELECT v::text FROM t"), (4 * 20 * 6).to_string());
}

fn a_transaction_waits_for_who_holds_its_row_and_begins_anew(protocol: ProtocolKind) {
    let db = Options::new().protocol(protocol).in_memory().expect("opens");
    db.execute_script(SCHEMA).expect("the schema");
    db.execute("INSERT INTO t VALUES (1, 0)", ()).expect("a row");
    let mut holder = db.session().expect("a session");
    holder.execute_script("BEGIN; UPDATE t SET v = 10 WHERE id = 1").expect("holds the row");
    thread::scope(|scope| {
        let waiter = scope.spawn(|| db.call("first_and", (1,)));
        if protocol != ProtocolKind::Serial {
            // Its first transaction is committed, and seen, while the second waits.
            let until = Instant::now() + Duration::from_secs(60);
            while one(&db, "SELECT count(*)::text FROM pairs") != "1" {
                assert!(Instant::now() < until, "the first transaction is not there");
                thread::yield_now();
            }
        }
        holder.execute("COMMIT", ()).expect("lets go");
        waiter.join().expect("no panic").expect("it has waited");
    });
    assert_eq!(one(&db, "SELECT v::text FROM t"), "11");
    assert_eq!(one(&db, "SELECT string_agg(side, ' ' ORDER BY side) FROM pairs"), "first second");
}

/// What does not concern the program may change between.
#[test]
fn the_program_has_to_stay_what_it_is() {
    change_between("CREATE TABLE another (id int); DROP PROCEDURE double()", [None, None]);
    change_between("CREATE INDEX t_by_v ON t (v)", [Some("55000"), Some("55000")]);
    // A call that was resolved goes on with the version that it has; a statement is looked at anew.
    let replaced = "CREATE OR REPLACE PROCEDURE first_and(p_id int) LANGUAGE plpgsql AS 'BEGIN END'";
    change_between(replaced, [None, Some("55000")]);
}

/// How a call by name ends, and how a statement does.
fn change_between(change: &str, states: [Option<&str>; 2]) {
    for (by_text, state) in [false, true].into_iter().zip(states) {
        let db = Database::in_memory().expect("opens");
        db.execute_script(SCHEMA).expect("the schema");
        db.execute("INSERT INTO t VALUES (1, 0)", ()).expect("a row");
        let mut holder = db.session().expect("a session");
        holder.execute_script("BEGIN; UPDATE t SET v = 10 WHERE id = 1").expect("holds the row");
        thread::scope(|scope| {
            let waiter = scope.spawn(|| match by_text {
                false => db.call("first_and", (1,)).map(drop),
                true => db.execute("CALL first_and($1)", (1,)).map(drop),
            });
            let until = Instant::now() + Duration::from_secs(60);
            while one(&db, "SELECT count(*)::text FROM pairs") != "1" {
                assert!(Instant::now() < until, "the first transaction is not there");
                thread::yield_now();
            }
            db.execute_script(change).expect("changed");
            holder.execute("ROLLBACK", ()).expect("lets go");
            let outcome = waiter.join().expect("no panic");
            let failed = outcome.err().map(|error| error.sqlstate());
            assert_eq!(failed.as_ref().map(|state| state.as_str()), state, "{change}");
        });
        let there = if state.is_some() { "first" } else { "first second" };
        assert_eq!(one(&db, "SELECT string_agg(side, ' ' ORDER BY side) FROM pairs"), there);
    }
}

#[test]
fn a_crash_leaves_the_first_transactions_whole() {
    const CALLS: i32 = 5;
    const EACH: i32 = 4;
    let run = |db: &Database, acknowledged: &mut i32| -> Result<(), Error> {
        db.execute_script(SCHEMA)?;
        for call in 0..CALLS {
            db.call("pair", (call * EACH, EACH))?;
            *acknowledged += EACH;
        }
        Ok(())
    };
    let operations = {
        let disk = SimDisk::new(1);
        let db = Options::new().open_device(disk.device()).expect("opens");
        run(&db, &mut 0).expect("runs without faults");
        drop(db);
        disk.operations()
    };
    for at in 0..operations {
        for survival in [Survival::Nothing, Survival::Chance] {
            let disk = SimDisk::new(1000 + at);
            let mut acknowledged = 0;
            disk.fail_power_at(at);
            if let Ok(db) = Options::new().open_device(disk.device()) {
                let _ = run(&db, &mut acknowledged);
            }
            disk.crash(survival);
            let db = Options::new().open_device(disk.device()).expect("opens after the crash");
            let Ok(rows) = db.query("SELECT id, count(*) FROM pairs GROUP BY id ORDER BY id", ()) else {
                assert_eq!(acknowledged, 0);
                continue;
            };
            for (place, row) in rows.iter().enumerate() {
                let (id, sides): (i32, i64) = (row.get(0).expect("an id"), row.get(1).expect("a count"));
                assert_eq!((id, sides), (place as i32, 2), "crash at {at}, {survival:?}");
            }
            assert!(rows.len() as i32 >= acknowledged, "crash at {at}, {survival:?}: {acknowledged}");
        }
    }
}
