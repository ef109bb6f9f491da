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
    assert!(begun.hint().is_some_and(|hint| hint.contains("Database::transaction")));
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
        assert!(refused.hint().is_some(), "{refused:?}");
    }
    db.execute("UPDATE v SET at = $1, day = $2, i = $3", ("2026-11-25 12:00+00", "2026-11-25", "1 day"))
        .unwrap();
    // What was read can be given back.
    let row = &db.query("SELECT at, day, i FROM v WHERE id = 1", ()).unwrap()[0];
    let there: Vec<planaria::Datum> = (0..3).map(|c| row.get(c).unwrap()).collect();
    let same = db.query("SELECT count(*) FROM v WHERE (at, day, i) = ($1, $2, $3)", &there[..]).unwrap();
    assert_eq!(same[0].get::<i64>(0).unwrap(), 2);
}

/// A statement that would wait for a transaction of its own thread would wait for ever.
#[test]
fn a_thread_does_not_wait_for_itself() {
    let db = database();
    let refused = db
        .transaction(|tx| {
            tx.execute("UPDATE t SET n = 1 WHERE id = 1", ())?;
            db.execute("UPDATE t SET n = 2 WHERE id = 1", ())
        })
        .unwrap_err();
    assert_eq!(refused.sqlstate(), SqlState::LOCK_NOT_AVAILABLE, "{refused:?}");
    assert!(refused.hint().is_some() && refused.message().contains("own thread"), "{refused:?}");
    assert_eq!(value(&db, 1), 0);
    // Tables, keys and the schema are waited for, too.
    let mut session = db.session().unwrap();
    for (locks, waits) in [
        ("LOCK TABLE t", "UPDATE t SET n = 2"),
        ("SELECT pg_advisory_xact_lock(7)", "SELECT pg_advisory_xact_lock(7)"),
        ("CREATE TABLE u (id int PRIMARY KEY)", "CREATE TABLE v (id int PRIMARY KEY)"),
        ("ALTER TABLE t ADD COLUMN m int", "UPDATE t SET n = 2"),
    ] {
        let mut transaction = session.transaction().unwrap();
        transaction.execute(locks, ()).unwrap();
        let refused = db.execute(waits, ()).unwrap_err();
        assert_eq!(refused.sqlstate(), SqlState::LOCK_NOT_AVAILABLE, "{locks}: {refused:?}");
        transaction.rollback().unwrap();
        db.execute(waits, ()).unwrap();
    }
    // By way of another thread, too: it waits for this one's transaction, and this one for its.
    let mut transaction = session.transaction().unwrap();
    transaction.execute("UPDATE t SET n = 1 WHERE id = 1", ()).unwrap();
    thread::scope(|scope| {
        let (tell, told) = std::sync::mpsc::channel();
        let other = scope.spawn({
            let db = db.clone();
            move || {
                db.transaction(|tx| {
                    tx.execute("UPDATE t SET n = 2 WHERE id = 2", ())?;
                    let _ = tell.send(());
                    tx.execute("UPDATE t SET n = 2 WHERE id = 1", ())
                })
            }
        });
        told.recv().unwrap();
        let refused = db.execute("UPDATE t SET n = 3 WHERE id = 2", ()).unwrap_err();
        assert_eq!(refused.sqlstate(), SqlState::LOCK_NOT_AVAILABLE, "{refused:?}");
        transaction.commit().unwrap();
        other.join().unwrap().unwrap();
    });
    assert_eq!((value(&db, 1), value(&db, 2)), (2, 2));
}

#[test]
fn clones_are_the_same_database_and_end_with_it() {
    let db = database();
    let other = db.clone();
    other.execute("UPDATE t SET n = 5 WHERE id = 1", ()).unwrap();
    assert_eq!(value(&db, 1), 5);
    let mut session = db.session().unwrap();
    session.execute("BEGIN", ()).unwrap();
    session.execute("UPDATE t SET n = 6 WHERE id = 1", ()).unwrap();
    thread::scope(|scope| {
        let waits = scope.spawn(|| other.execute("UPDATE t SET n = 7 WHERE id = 1", ()));
        while db.stats().waiting.locks == 0 {
            thread::yield_now();
        }
        db.clone().close().unwrap();
        // Who waits for a session that has ended does not wait for ever.
        assert_eq!(waits.join().unwrap().unwrap_err().sqlstate(), SqlState::ADMIN_SHUTDOWN);
    });
    assert_eq!(session.execute("COMMIT", ()).unwrap_err().sqlstate(), SqlState::ADMIN_SHUTDOWN);
    assert_eq!(db.execute("SELECT 1", ()).unwrap_err().sqlstate(), SqlState::ADMIN_SHUTDOWN);
    assert_eq!(db.session().err().unwrap().sqlstate(), SqlState::ADMIN_SHUTDOWN);
}

#[test]
fn a_second_opening_is_refused() {
    let directory = tempfile::tempdir().unwrap();
    let db = Database::open(directory.path()).unwrap();
    let second = Database::open(directory.path()).unwrap_err();
    assert_eq!(second.sqlstate(), SqlState::OBJECT_IN_USE);
    assert!(second.message().contains("this process"), "{second:?}");
    db.close().unwrap();
    Database::open(directory.path()).unwrap();
}

#[test]
fn rows_are_handed_on_one_by_one() {
    // All of them would be 200 MB.
    let db = planaria::Options::new().memory_budget(32 << 20).in_memory().unwrap();
    let text = "SELECT n, repeat('x', :length) FROM generate_series(1, 1000000) n";
    let mut last = 0;
    let rows = db
        .query_each(text, planaria::named! { length: 200 }, |(n, text): (i64, String)| {
            assert_eq!((n, text.len()), (last + 1, 200));
            last = n;
            Ok(())
        })
        .unwrap();
    assert_eq!((rows, last), (1_000_000, 1_000_000));
    // An error ends it.
    let mut met = 0;
    let stopped = db.query_each(text, planaria::named! { length: 1 }, |_: planaria::Row| {
        met += 1;
        if met < 10 { Ok(()) } else { Err(planaria::Error::new(SqlState::QUERY_CANCELED, "enough")) }
    });
    assert_eq!((stopped.unwrap_err().message().to_owned(), met), ("enough".to_owned(), 10));
    // It reads; and in a transaction, what that sees.
    db.execute_script("CREATE TABLE t (id int PRIMARY KEY); INSERT INTO t VALUES (1), (2)").unwrap();
    let writes = db.query_each("DELETE FROM t RETURNING id", (), |_: (i32,)| Ok(()));
    assert_eq!(writes.unwrap_err().sqlstate(), SqlState::READ_ONLY_SQL_TRANSACTION);
    let seen = db.transaction(|tx| {
        tx.execute("INSERT INTO t VALUES (3)", ())?;
        let mut sum = 0;
        tx.query_each("SELECT id FROM t", (), |(id,): (i32,)| {
            sum += id;
            Ok(())
        })?;
        Ok(sum)
    });
    assert_eq!(seen.unwrap(), 6);
    let mut shown = Vec::new();
    db.query_each("SHOW timezone", (), |(zone,): (String,)| {
        shown.push(zone);
        Ok(())
    })
    .unwrap();
    assert_eq!(shown.len(), 1);
}

#[cfg(feature = "tracing")]
#[test]
fn tracing_tells_what_is_done() {
    use std::io::Write;
    use std::sync::{Arc, Mutex};

    #[derive(Clone, Default)]
    struct Lines(Arc<Mutex<Vec<u8>>>);
    impl Write for Lines {
        fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
            self.0.lock().unwrap().write(bytes)
        }
        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }
    let lines = Lines::default();
    let subscriber = tracing_subscriber::fmt()
        .with_max_level(tracing_subscriber::filter::LevelFilter::DEBUG)
        .with_ansi(false)
        .with_writer({
            let lines = lines.clone();
            move || lines.clone()
        })
        .finish();
    let run = || {
        let directory = tempfile::tempdir().unwrap();
        let db = Database::open(directory.path()).unwrap();
        db.execute_script("CREATE TABLE t (id int PRIMARY KEY)").unwrap();
        db.execute("INSERT INTO t VALUES ($1)", (1,)).unwrap();
        db.execute("INSERT INTO t VALUES (1)", ()).unwrap_err();
        db.close().unwrap();
        let slow = planaria::Options::new().slow_statement(std::time::Duration::from_nanos(1));
        let db = slow.open(directory.path()).unwrap();
        db.query("SELECT 'slow'", ()).unwrap();
        db.checkpoint().unwrap();
    };
    tracing::subscriber::with_default(subscriber, || {
        // What a thread of another test tells first, which has no subscriber, nobody is told from there on: so all of it is
        // told once before.
        run();
        tracing::callsite::rebuild_interest_cache();
        run();
    });
    let told = String::from_utf8(lines.0.lock().unwrap().clone()).unwrap();
    for part in [
        "DEBUG planaria::statement: statement statement=\"INSERT INTO t VALUES ($1)\"",
        "sqlstate=23505",
        "planaria::open: recovered",
        "WARN planaria::slow: slow statement statement=\"SELECT 'slow'\"",
        "planaria::checkpoint: checkpoint written number=1",
        "planaria::close: closed",
    ] {
        assert!(told.contains(part), "{part} is not in\n{told}");
    }
}
