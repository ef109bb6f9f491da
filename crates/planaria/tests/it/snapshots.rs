//! Transactions that are READ ONLY read a snapshot; what only reads gets through whatever others do.

use planaria::serving::ServedSession;
use planaria::{Database, Options, ProtocolKind, Session};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

const SCHEMA: &str = "
    CREATE TABLE account (id int PRIMARY KEY, owner int NOT NULL, balance bigint NOT NULL);
    CREATE INDEX account_owner ON account (owner);
    INSERT INTO account SELECT i, i % 7, 100 FROM generate_series(1, 1000) i;
    CREATE FUNCTION total() RETURNS bigint LANGUAGE plpgsql AS $$
    BEGIN RETURN (SELECT sum(balance) FROM account); END $$;
    CREATE PROCEDURE transfer(a int, b int, amount bigint) LANGUAGE plpgsql AS $$
    BEGIN
        UPDATE account SET balance = balance - amount WHERE id = a;
        UPDATE account SET balance = balance + amount WHERE id = b;
    END $$;";

fn number(session: &mut Session, sql: &str) -> i64 {
    session.query(sql, ()).unwrap()[0].get::<i64>(0).unwrap()
}

fn database() -> Database {
    database_of(ProtocolKind::default())
}

fn database_of(protocol: ProtocolKind) -> Database {
    let db = Options::new().protocol(protocol).in_memory().unwrap();
    db.execute_script(SCHEMA).unwrap();
    db
}

/// What is kept is forgotten soon, by another thread.
fn comes_to_nothing(db: &Database) {
    let deadline = Instant::now() + Duration::from_secs(60);
    while open_snapshots(db) != (0, 0) {
        assert!(Instant::now() < deadline, "{:?}", open_snapshots(db));
        std::thread::sleep(Duration::from_millis(5));
    }
}

fn open_snapshots(db: &Database) -> (u64, u64) {
    let stats = db.stats();
    (stats.open_snapshots, stats.memory.old_versions)
}

#[test]
fn a_reader_sees_what_was_when_it_began() {
    let db = database();
    let (mut session, mut other) = (db.session().unwrap(), db.session().unwrap());
    other.execute("INSERT INTO account VALUES (2000, 1, 0)", ()).unwrap();
    let mut reader = session.read_only_transaction().unwrap();
    other.execute("DELETE FROM account WHERE id <= 500", ()).unwrap();
    other.execute("UPDATE account SET owner = 99 WHERE owner = 3", ()).unwrap();
    other.execute("INSERT INTO account VALUES (1, 3, 5), (5000, 3, 5)", ()).unwrap();
    assert_eq!(number(&mut reader, "SELECT count(*) FROM account"), 1001);
    assert_eq!(number(&mut reader, "SELECT sum(balance)::bigint FROM account"), 100_000);
    assert_eq!(number(&mut reader, "SELECT count(*) FROM account WHERE owner = 3"), 143);
    assert_eq!(number(&mut reader, "SELECT count(*) FROM account WHERE owner = 99"), 0);
    assert_eq!(number(&mut reader, "SELECT balance FROM account WHERE id = 1"), 100);
    assert_eq!(number(&mut reader, "SELECT count(*) FROM account WHERE id = 5000"), 0);
    assert_eq!(number(&mut reader, "SELECT total()"), 100_000);
    assert_eq!(reader.call("total", ()).unwrap()[0].get::<i64>(0).unwrap(), 100_000);
    let descending = "SELECT id FROM account WHERE owner = 3 ORDER BY id DESC LIMIT 1";
    assert_eq!(reader.query(descending, ()).unwrap()[0].get::<i32>(0).unwrap(), 997);
    assert_eq!(number(&mut other, "SELECT count(*) FROM account"), 503);
    assert!(open_snapshots(&db).1 > 0);
    let view = "SELECT count(*) FROM planaria_snapshots WHERE old_versions > 0 AND age >= interval '0'";
    assert_eq!(number(&mut other, view), 1);
    reader.commit().unwrap();
    assert_eq!(open_snapshots(&db), (0, 0));
    assert_eq!(number(&mut other, "SELECT count(*) FROM planaria_snapshots"), 0);
    assert_eq!(db.stats().memory.old_version_bytes, 0);
    db.check().unwrap();
}

/// What old versions are kept for can be seen: blocks that write, too, each of its level.
#[test]
fn blocks_are_shown_as_long_as_they_read() {
    let db = Options::new().in_memory().unwrap();
    db.execute_script("CREATE TABLE t (n int PRIMARY KEY); INSERT INTO t VALUES (1)").unwrap();
    let (mut block, mut other) = (db.session().unwrap(), db.session().unwrap());
    let pid = number(&mut block, "SELECT pg_backend_pid()");
    let of_block =
        format!("SELECT count(*) FROM planaria_snapshots WHERE pid = {pid} AND age < interval '1 hour'");
    for (level, idle) in [("SERIALIZABLE", 1), ("REPEATABLE READ", 1), ("READ COMMITTED", 0)] {
        for end in ["COMMIT", "ROLLBACK", "SELECT 1 / 0"] {
            block.execute_script(&format!("BEGIN ISOLATION LEVEL {level}")).unwrap();
            assert_eq!(number(&mut other, &of_block), 0, "{level}: it has asked for nothing");
            assert_eq!(number(&mut block, &of_block), 1, "{level}: while it asks");
            assert_eq!(number(&mut other, &of_block), idle, "{level}");
            block.execute_script("UPDATE t SET n = n").unwrap();
            assert_eq!(number(&mut other, &of_block), idle, "{level}");
            // A block that has failed reads nothing any more.
            let ended = block.execute_script(end);
            assert_eq!(number(&mut other, "SELECT count(*) FROM planaria_snapshots"), 0, "{level} {end}");
            if ended.is_err() {
                block.execute_script("ROLLBACK").unwrap();
            }
        }
    }
}

#[test]
fn what_was_acknowledged_before_is_in_it() {
    for options in [Options::new(), Options::new().durability(planaria::Durability::Async)] {
        let dir = tempfile::tempdir().unwrap();
        let db = options.open(dir.path()).unwrap();
        db.execute_script("CREATE TABLE t (n int PRIMARY KEY)").unwrap();
        let (mut writer, mut reader) = (db.session().unwrap(), db.session().unwrap());
        for n in 1..=50 {
            writer.execute("INSERT INTO t VALUES ($1)", (n,)).unwrap();
            let mut reading = reader.read_only_transaction().unwrap();
            assert_eq!(number(&mut reading, "SELECT count(*) FROM t"), n);
            reading.commit().unwrap();
            let mut own = writer.read_only_transaction().unwrap();
            assert_eq!(number(&mut own, "SELECT count(*) FROM t"), n);
            own.rollback().unwrap();
        }
        db.close().unwrap();
    }
}

#[test]
fn changes_of_the_schema_do_not_disturb_a_reader_nor_wait_for_it() {
    let db = database();
    let (mut session, mut other) = (db.session().unwrap(), db.session().unwrap());
    let mut reader = session.read_only_transaction().unwrap();
    assert_eq!(number(&mut reader, "SELECT count(*) FROM account"), 1000);
    other.execute("ALTER TABLE account ADD COLUMN note text DEFAULT 'x'", ()).unwrap();
    other.execute("UPDATE account SET balance = 0", ()).unwrap();
    other.execute("DROP INDEX account_owner", ()).unwrap();
    other.execute("CREATE TABLE fresh (id int)", ()).unwrap();
    assert_eq!(number(&mut reader, "SELECT sum(balance)::bigint FROM account"), 100_000);
    assert_eq!(reader.call("total", ()).unwrap()[0].get::<i64>(0).unwrap(), 100_000);
    assert_eq!(reader.query("SELECT * FROM account LIMIT 1", ()).unwrap()[0].values().len(), 3);
    let error = reader.query("SELECT * FROM fresh", ()).unwrap_err();
    assert_eq!(error.sqlstate().as_str(), "42P01");
    reader.rollback().unwrap();
    let mut reader = session.read_only_transaction().unwrap();
    other.execute("DROP TABLE account CASCADE", ()).unwrap();
    assert_eq!(reader.query("SELECT * FROM account LIMIT 1", ()).unwrap()[0].values().len(), 4);
    reader.commit().unwrap();
    assert_eq!(session.query("SELECT * FROM account", ()).unwrap_err().sqlstate().as_str(), "42P01");
    assert_eq!(open_snapshots(&db), (0, 0));
}

/// Transfers keep the sum; scans, by statements of their own, must see it, and get through.
#[test]
fn long_scans_get_through_while_others_write() {
    let db = database();
    scans_get_through(&db);
    assert_eq!(open_snapshots(&db), (0, 0));
}

/// There each of them is a reader from its beginning, and what it has left is forgotten later.
#[test]
fn long_scans_get_through_where_there_are_versions() {
    let db = database_of(ProtocolKind::Mvocc);
    scans_get_through(&db);
    comes_to_nothing(&db);
}

fn scans_get_through(db: &Database) {
    db.execute_script("INSERT INTO account SELECT i, i % 7, 100 FROM generate_series(1001, 30000) i")
        .unwrap();
    let (stop, transfers) = (AtomicBool::new(false), AtomicU64::new(0));
    std::thread::scope(|scope| {
        for thread in 0..2 {
            let (stop, transfers) = (&stop, &transfers);
            scope.spawn(move || {
                let mut session = db.session().unwrap();
                let mut n: i32 = thread;
                while !stop.load(Ordering::Relaxed) {
                    n = (n * 7919 + 12_345) % 30_000;
                    session.call("transfer", (n + 1, (n * 7) % 30_000 + 1, 1i64)).unwrap();
                    transfers.fetch_add(1, Ordering::Relaxed);
                }
            });
        }
        let mut session = db.session().unwrap();
        for round in 0..12 {
            let sum = match round % 3 {
                0 => number(&mut session, "SELECT sum(balance)::bigint FROM account"),
                1 => number(
                    &mut session,
                    "SELECT sum(a.balance)::bigint FROM account a JOIN account b ON a.id = b.id",
                ),
                _ => session.call("total", ()).unwrap()[0].get::<i64>(0).unwrap(),
            };
            assert_eq!(sum, 3_000_000);
        }
        stop.store(true, Ordering::Relaxed);
    });
    assert!(transfers.load(Ordering::Relaxed) > 0);
    db.check().unwrap();
}

#[test]
fn where_transactions_come_one_after_another_a_reader_is_one_of_them() {
    let db = Options::new().protocol(ProtocolKind::Serial).in_memory().unwrap();
    db.execute_script(SCHEMA).unwrap();
    let mut session = db.session().unwrap();
    let mut reader = session.read_only_transaction().unwrap();
    assert_eq!(number(&mut reader, "SELECT total()"), 100_000);
    assert_eq!(reader.execute("DELETE FROM account", ()).unwrap_err().sqlstate().as_str(), "25006");
    reader.rollback().unwrap();
    assert_eq!(session.execute("DELETE FROM account", ()).unwrap(), 1000);
}

#[test]
fn a_session_dropped_in_a_snapshot_closes_it() {
    let db = database();
    let mut session = db.session().unwrap();
    session.execute("BEGIN READ ONLY", ()).unwrap();
    assert_eq!(open_snapshots(&db).0, 1);
    drop(session);
    assert_eq!(open_snapshots(&db).0, 0);
}

#[test]
fn nothing_is_kept_of_tables_that_were_rewritten_meanwhile() {
    let db = database();
    let (mut session, mut other) = (db.session().unwrap(), db.session().unwrap());
    let mut reader = session.read_only_transaction().unwrap();
    assert_eq!(number(&mut reader, "SELECT count(*) FROM account"), 1000);
    other.execute("ALTER TABLE account ADD COLUMN note text DEFAULT 'x'", ()).unwrap();
    other.execute("UPDATE account SET balance = 0, note = 'y'", ()).unwrap();
    assert_eq!(number(&mut reader, "SELECT sum(balance)::bigint FROM account"), 100_000);
    reader.commit().unwrap();
    assert_eq!(open_snapshots(&db), (0, 0));
}

#[test]
fn much_that_was_kept_is_forgotten_by_another_thread() {
    much_is_kept(&database());
    much_is_kept(&database_of(ProtocolKind::Mvocc));
}

fn much_is_kept(db: &Database) {
    db.execute("INSERT INTO account SELECT i, 1, 0 FROM generate_series(2000, 30000) i", ()).unwrap();
    let (mut session, mut other) = (db.session().unwrap(), db.session().unwrap());
    for _ in 0..3 {
        let reader = session.read_only_transaction().unwrap();
        other.execute("UPDATE account SET balance = balance + 1", ()).unwrap();
        assert!(open_snapshots(db).1 > 20_000);
        reader.commit().unwrap();
    }
    comes_to_nothing(db);
}

/// Where transactions come one after another: who waits for its turn keeps no change of the schema out, which
/// would keep out the one whose turn it is.
#[test]
fn an_open_block_a_backup_and_a_change_of_the_schema_do_not_wait_for_each_other() {
    let dir = tempfile::tempdir().unwrap();
    let db = Options::new().protocol(ProtocolKind::Serial).in_memory().unwrap();
    db.execute_script(SCHEMA).unwrap();
    let mut block = db.session().unwrap();
    block.execute_script("BEGIN; UPDATE account SET balance = 0 WHERE id = 1").unwrap();
    std::thread::scope(|scope| {
        let backup = scope.spawn(|| db.backup(dir.path().join("backup")).unwrap().rows);
        let reader = scope.spawn(|| db.query("SELECT count(*) FROM account", ()).unwrap().len());
        std::thread::sleep(Duration::from_millis(30));
        let change = scope.spawn(|| db.execute("CREATE TABLE other (n int)", ()).unwrap());
        std::thread::sleep(Duration::from_millis(30));
        block.execute_script("UPDATE account SET balance = 0 WHERE id = 2; COMMIT").unwrap();
        assert_eq!((backup.join().unwrap(), reader.join().unwrap()), (1000, 1));
        change.join().unwrap();
    });
    // Who waits for its turn can be canceled.
    block.execute("BEGIN", ()).unwrap();
    let mut waiting = db.session().unwrap();
    waiting.cancelled_by(&Arc::new(AtomicBool::new(true)));
    for sql in ["SELECT 1", "BEGIN", "BEGIN READ ONLY", "CREATE TABLE third (n int)"] {
        assert_eq!(waiting.execute(sql, ()).unwrap_err().sqlstate().as_str(), "57014", "{sql}");
    }
}
