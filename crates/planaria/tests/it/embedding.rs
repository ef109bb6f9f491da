//! What a program that embeds the database relies on.

use planaria::{Database, SqlState};
use std::sync::Barrier;
use std::thread;

fn database() -> Database {
    let db = Database::in_memory().unwrap();
    db.execute_script(
        "CREATE TABLE t (id int PRIMARY KEY, n int NOT NULL); INSERT INTO t VALUES (1, 0), (2, 0)",
    )
    .unwrap();
    db
}

fn value(db: &Database, id: i32) -> i32 {
    db.query("SELECT n FROM t WHERE id = $1", (id,)).unwrap()[0].get(0).unwrap()
}

/// A block on a session that nobody can reach would be lost, and with it what was done in it.
#[test]
fn a_block_that_is_left_open_is_an_error() {
    let db = database();
    let begun = db.execute("BEGIN", ()).unwrap_err();
    assert_eq!(begun.sqlstate(), SqlState::INVALID_TRANSACTION_STATE);
    assert!(begun.fields().hint.as_ref().is_some_and(|hint| hint.contains("Database::transaction")));
    let script = db.execute_script("BEGIN; UPDATE t SET n = 1 WHERE id = 1").unwrap_err();
    assert_eq!(script.sqlstate(), SqlState::INVALID_TRANSACTION_STATE);
    assert_eq!(value(&db, 1), 0, "it was rolled back, and holds no lock");
    // Its own error says more.
    let failed = db.execute_script("BEGIN; SELECT 1 / 0").unwrap_err();
    assert_eq!(failed.sqlstate(), SqlState::DIVISION_BY_ZERO);
    db.execute_script("BEGIN; UPDATE t SET n = 2 WHERE id = 1; COMMIT").unwrap();
    assert_eq!(value(&db, 1), 2);
}

#[test]
fn a_transaction_is_run_again_where_it_cannot_be_serialized() {
    let db = database();
    // All have read before anybody writes: of the first attempts one succeeds at most.
    let (threads, have_read) = (4, Barrier::new(4));
    let attempts: u32 = thread::scope(|scope| {
        let add = || {
            let mut attempts = 0;
            db.transaction(|tx| {
                attempts += 1;
                let sum: i64 = tx.query("SELECT sum(n) FROM t", ())?[0].get(0)?;
                if attempts == 1 {
                    have_read.wait();
                }
                tx.execute("UPDATE t SET n = $1 WHERE id = 1", (sum + 1,)).map(drop)
            })
            .unwrap();
            attempts
        };
        let all: Vec<_> = (0..threads).map(|_| scope.spawn(add)).collect();
        all.into_iter().map(|one| one.join().unwrap()).sum()
    });
    assert_eq!(value(&db, 1), threads);
    assert!(attempts >= 2 * threads as u32 - 1, "{attempts}");
}

#[test]
fn what_fails_in_a_transaction_leaves_no_trace() {
    let db = database();
    let mut attempts = 0;
    let failed = db.transaction(|tx| {
        attempts += 1;
        tx.execute("UPDATE t SET n = 7", ())?;
        tx.execute("INSERT INTO t VALUES (1, 1)", ())
    });
    let failed = failed.unwrap_err();
    assert_eq!((failed.sqlstate(), attempts), (SqlState::UNIQUE_VIOLATION, 1));
    // Who goes on after an error has not committed.
    let ignored = db.transaction(|tx| {
        let _ = tx.execute("INSERT INTO t VALUES (1, 1)", ());
        Ok(())
    });
    assert_eq!(ignored.unwrap_err().sqlstate(), SqlState::IN_FAILED_SQL_TRANSACTION);
    assert_eq!((value(&db, 1), value(&db, 2)), (0, 0));
}

/// As `fn main() -> planaria::Result<()>` shows an error.
#[test]
fn errors_are_shown_for_people() {
    let db = database();
    let taken = db.execute("INSERT INTO t VALUES (1, 1)", ()).unwrap_err();
    assert_eq!(
        format!("{taken:?}"),
        "duplicate key value violates unique constraint \"t_pkey\" (SQLSTATE 23505)\n\
         DETAIL: Key (id)=(1) already exists.\nTABLE: t\nCONSTRAINT: t_pkey"
    );
    assert_eq!(format!("{db:?}"), "Database { .. }");
}

#[test]
fn rust_values_are_what_they_look_like() {
    let db = Database::in_memory().unwrap();
    db.execute_script(
        "CREATE TABLE v (id int PRIMARY KEY, b bytea, n numeric, at timestamptz, day date, i interval)",
    )
    .unwrap();
    let bytes = vec![0u8, 255, 7];
    db.execute("INSERT INTO v (id, b, n) VALUES ($1, $2, $3)", (1u64, &bytes, u64::MAX)).unwrap();
    db.execute("INSERT INTO v (id, b, n) VALUES ($1, $2, $3)", (2usize, &bytes[..2], 7u8)).unwrap();
    let rows = db.query("SELECT b, n::text FROM v ORDER BY id", ()).unwrap();
    assert_eq!(rows[0].get::<Vec<u8>>(0).unwrap(), bytes);
    assert_eq!(rows[0].get::<String>(1).unwrap(), u64::MAX.to_string());
    assert_eq!(rows[1].get::<Vec<u8>>(0).unwrap(), bytes[..2]);
    let many = db.query("SELECT count(*) FROM v WHERE id = ANY($1)", (vec![1, 2, 3],)).unwrap();
    assert_eq!(many[0].get::<i64>(0).unwrap(), 2);
    // Of which unit, since when? Nobody would agree.
    for column in ["at", "day", "i"] {
        let refused = db.execute(&format!("UPDATE v SET {column} = $1"), (1_700_000_000_i64,)).unwrap_err();
        assert_eq!(refused.sqlstate(), SqlState::DATATYPE_MISMATCH, "{refused:?}");
        assert!(refused.fields().hint.is_some(), "{refused:?}");
    }
    db.execute("UPDATE v SET at = $1, day = $2, i = $3", ("2026-11-25 12:00+00", "2026-11-25", "1 day"))
        .unwrap();
    // What was read can be given back.
    let row = &db.query("SELECT at, day, i FROM v WHERE id = 1", ()).unwrap()[0];
    let there: Vec<planaria::Datum> = (0..3).map(|c| row.get(c).unwrap()).collect();
    let same = db.query("SELECT count(*) FROM v WHERE (at, day, i) = ($1, $2, $3)", &there[..]).unwrap();
    assert_eq!(same[0].get::<i64>(0).unwrap(), 2);
}
