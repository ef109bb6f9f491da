//! Checkpoints of a whole database: what they hold, what the log after them means, and what crashes, damage
//! and a full disk leave.

use planaria::lab::LabOptions;
use planaria::serving::ServedSession;
use planaria::{Database, Error, LogKind, Options, ProtocolKind, Scheme, SqlState};
use planaria_sim::disk::{SimDisk, Survival};

const SCHEMA: &str = "
    CREATE ROLE teller LOGIN;
    CREATE TABLE account (id int PRIMARY KEY, owner text, tag int UNIQUE, balance numeric(12,2) NOT NULL);
    CREATE INDEX account_by_owner ON account (owner, balance);
    CREATE TABLE history (at timestamp, what text);
    CREATE VIEW rich AS SELECT id FROM account WHERE balance > 100;
    CREATE SEQUENCE ticket;
    CREATE PROCEDURE pay(p_from int, p_to int, p_amount numeric, INOUT p_ticket bigint DEFAULT NULL)
    LANGUAGE plpgsql AS $$
    BEGIN
        UPDATE account SET balance = balance - p_amount WHERE id = p_from;
        UPDATE account SET balance = balance + p_amount, owner = 'paid ' || p_to WHERE id = p_to;
        p_ticket := nextval('ticket');
        INSERT INTO history VALUES (localtimestamp, p_from || ' to ' || p_to || ': ' || p_amount);
    END $$;
    GRANT SELECT ON account TO teller;
    INSERT INTO account SELECT i, repeat('x', i), i * 10, 100.00 FROM generate_series(1, 5) AS g(i);";

const KINDS: [LogKind; 5] =
    [LogKind::Command, LogKind::Logical, LogKind::Physical, LogKind::Physiological, LogKind::Adaptive];

/// Some transactions of all sorts; `n` makes them different ones.
fn work(db: &Database, n: i32) -> Result<(), Error> {
    for i in n..n + 6 {
        db.call("pay", (i % 5 + 1, (i + 1) % 5 + 1, "1.25"))?;
        db.execute("UPDATE account SET tag = tag + 1000, balance = balance + 1 WHERE id = $1", (i % 5 + 1,))?;
        db.execute("INSERT INTO history VALUES (NULL, $1)", (format!("step {i}"),))?;
        db.execute("DELETE FROM history WHERE what = $1", (format!("step {}", i - 2),))?;
    }
    Ok(())
}

fn opened(disk: &SimDisk, kind: LogKind, scheme: Scheme) -> Database {
    Options::new()
        .log(kind)
        .recovery(scheme)
        .recovery_threads(2)
        .open_device(disk.device())
        .unwrap_or_else(|e| panic!("{kind} by {scheme}: {e}"))
}

fn ticket(db: &Database) -> i64 {
    db.query("SELECT nextval('ticket')", ()).expect("draws")[0].get(0).expect("a number")
}

#[test]
fn every_scheme_goes_on_from_a_checkpoint_whatever_the_log_holds() {
    for kind in KINDS {
        for scheme in Scheme::ALL.iter().copied() {
            let disk = SimDisk::new(1);
            let db = opened(&disk, kind, scheme);
            db.execute_script(SCHEMA).expect("the schema");
            work(&db, 0).expect("works");
            let report = db.checkpoint().expect("a checkpoint");
            assert_eq!(report.number, 1);
            let count = |t: &str| {
                db.query(&format!("SELECT count(*) FROM {t}"), ()).expect("counts")[0].get::<i64>(0)
            };
            let rows: i64 = count("account").expect("a count") + count("history").expect("a count");
            assert_eq!(report.rows as i64, rows);
            work(&db, 10).expect("works on");
            let digests = db.digests().expect("digests");
            drop(db);
            disk.crash(Survival::Nothing);
            for again in 0..2 {
                let db = opened(&disk, kind, scheme);
                let recovery = db.recovery().expect("recovered");
                let loaded = recovery.checkpoint.expect("from a checkpoint");
                assert_eq!((loaded.number, loaded.rows, loaded.epoch), (1, report.rows, report.epoch));
                assert_eq!(db.digests().expect("digests"), digests, "{kind} by {scheme}, {again}");
                db.check().expect("rows and indexes agree");
                assert!(recovery.transactions <= 24, "only what came after is replayed");
                assert_eq!(db.query("SELECT id FROM rich", ()).expect("the view").len(), 5);
                assert!(ticket(&db) >= 13, "a number that was given out is not given again");
                let error = db.session_as("teller").expect("the role").execute("DELETE FROM account", ());
                assert_eq!(error.expect_err("is refused").sqlstate(), SqlState::INSUFFICIENT_PRIVILEGE);
                drop(db);
                disk.crash(Survival::Nothing);
            }
        }
    }
}

#[test]
fn the_log_before_a_checkpoint_goes_and_checkpoints_follow_each_other() {
    let disk = SimDisk::new(3);
    let names = || disk.device().list().expect("lists");
    let mut digests = Vec::new();
    for n in 1..=3 {
        let db = opened(&disk, LogKind::Command, Scheme::Regrow);
        if n == 1 {
            db.execute_script(SCHEMA).expect("the schema");
        } else {
            assert_eq!(db.digests().expect("digests"), digests);
        }
        work(&db, n * 20).expect("works");
        let report = db.checkpoint().expect("a checkpoint");
        assert_eq!(report.number as i32, n);
        assert!(report.log_files_deleted > 0);
        assert!(!names().iter().any(|n| n.ends_with(".log")), "{:?}", names());
        let ours = format!("checkpoint-{n:08}");
        let of_checkpoints: Vec<String> =
            names().into_iter().filter(|n| n.starts_with("checkpoint-")).collect();
        assert!(of_checkpoints.iter().all(|n| n.starts_with(&ours)), "{of_checkpoints:?}");
        digests = db.digests().expect("digests");
        drop(db);
        if n == 2 {
            disk.crash(Survival::Nothing);
        }
    }
    let db = opened(&disk, LogKind::Command, Scheme::Regrow);
    assert_eq!(db.digests().expect("digests"), digests);
    assert_eq!(db.recovery().expect("recovered").transactions, 0);
}

#[test]
fn calls_after_a_checkpoint_replay_with_the_definitions_before_it() {
    let history = |db: &Database, from: usize, to: usize| {
        let steps = [
            "CREATE TABLE note (id int PRIMARY KEY, text text NOT NULL)",
            "CREATE PROCEDURE put(p_id int) LANGUAGE plpgsql AS $$
             BEGIN INSERT INTO note VALUES (p_id, 'first'); END $$",
            "CREATE PROCEDURE outer_put(p_id int) LANGUAGE plpgsql AS $$
             BEGIN CALL put(p_id); UPDATE note SET text = text || '!' WHERE id = p_id; END $$",
            "CALL put(1)",
            "CREATE OR REPLACE PROCEDURE put(p_id int) LANGUAGE plpgsql AS $$
             BEGIN INSERT INTO note VALUES (p_id, 'second'); END $$",
            "CALL put(2)",
            // Here is the checkpoint.
            "CALL put(3)",
            "CALL outer_put(4)",
            "DROP PROCEDURE put(int)",
            "CREATE PROCEDURE put(p_id int) LANGUAGE plpgsql AS $$
             BEGIN INSERT INTO note SELECT p_id, 'third of ' || count(*) FROM note; END $$",
            "CALL outer_put(5)",
            "ALTER TABLE note ADD COLUMN more int NOT NULL DEFAULT 8",
            "CREATE INDEX ON note (text)",
            "CALL put(6)",
        ];
        for step in &steps[from..to.min(steps.len())] {
            db.execute(step, ()).unwrap_or_else(|e| panic!("{step}: {e}"));
        }
    };
    for scheme in Scheme::ALL.iter().copied() {
        let disk = SimDisk::new(5);
        let db = opened(&disk, LogKind::Command, scheme);
        history(&db, 0, 6);
        db.checkpoint().expect("a checkpoint");
        history(&db, 6, usize::MAX);
        let digests = db.digests().expect("digests");
        drop(db);
        disk.crash(Survival::Nothing);
        let db = opened(&disk, LogKind::Command, scheme);
        assert_eq!(db.digests().expect("digests"), digests, "{scheme}");
        db.check().expect("rows and indexes agree");
        assert_eq!(db.recovery().expect("recovered").calls, 4, "{scheme}");
    }
}

#[test]
fn a_transaction_that_is_open_meanwhile_commits_behind_it() {
    let disk = SimDisk::new(6);
    let db = Options::new().open_device(disk.device()).expect("opens");
    db.execute_script(SCHEMA).expect("the schema");
    let mut session = db.session().expect("a session");
    session.execute("BEGIN", ()).expect("begins");
    session.execute("INSERT INTO account VALUES (77, 'open', 77, 1)", ()).expect("inserts");
    session.execute("DELETE FROM account WHERE id = 1", ()).expect("deletes");
    session.query("SELECT nextval('ticket')", ()).expect("draws");
    let report = db.checkpoint().expect("a checkpoint");
    assert_eq!(report.rows, 5);
    session.execute("CHECKPOINT", ()).expect("even from inside");
    session.execute("COMMIT", ()).expect("commits");
    let digests = db.digests().expect("digests");
    drop(session);
    drop(db);
    disk.crash(Survival::Nothing);
    let db = Options::new().open_device(disk.device()).expect("recovers");
    assert_eq!(db.digests().expect("digests"), digests);
    assert_eq!(ticket(&db), 2);
}

/// Where one transaction runs at a time and changes rows in place, a checkpoint waits for it.
#[test]
fn a_serial_database_is_checkpointed_between_transactions() {
    let disk = SimDisk::new(6);
    let options = || Options::new().protocol(ProtocolKind::Serial);
    let db = options().open_device(disk.device()).expect("opens");
    db.execute_script(SCHEMA).expect("the schema");
    let mut session = db.session().expect("a session");
    session.execute("BEGIN", ()).expect("begins");
    session.execute("DELETE FROM account WHERE id = 1", ()).expect("deletes");
    let error = session.execute("CHECKPOINT", ()).expect_err("it would wait for itself");
    assert_eq!(error.sqlstate(), SqlState::ACTIVE_SQL_TRANSACTION);
    session.execute("ROLLBACK", ()).expect("rolls back");
    session.execute("BEGIN", ()).expect("begins");
    session.execute("DELETE FROM account WHERE id = 2", ()).expect("deletes");
    std::thread::scope(|scope| {
        let writing = scope.spawn(|| db.checkpoint().expect("a checkpoint"));
        std::thread::sleep(std::time::Duration::from_millis(20));
        session.execute("DELETE FROM account WHERE id = 3", ()).expect("goes on");
        session.execute("COMMIT", ()).expect("commits");
        assert_eq!(writing.join().expect("ends").rows, 3);
    });
    db.execute("DELETE FROM account WHERE id = 4", ()).expect("deletes");
    let digests = db.digests().expect("digests");
    drop(session);
    drop(db);
    disk.crash(Survival::Nothing);
    let db = options().open_device(disk.device()).expect("recovers");
    assert_eq!(db.digests().expect("digests"), digests);
}

#[test]
fn only_superusers_may() {
    let db = Database::in_memory().expect("opens");
    db.execute("CREATE ROLE teller LOGIN", ()).expect("a role");
    db.execute("CHECKPOINT", ()).expect("nothing to do in memory");
    let error = db.session_as("teller").expect("a session").execute("CHECKPOINT", ()).expect_err("refused");
    assert_eq!(error.sqlstate(), SqlState::INSUFFICIENT_PRIVILEGE);
    assert_eq!(error.message(), "must be superuser or have privileges of pg_checkpoint to do CHECKPOINT");
}

/// A script with checkpoints in it; counts its acknowledged steps.
fn script(db: &Database, acknowledged: &mut u32) -> Result<(), Error> {
    db.execute_script("CREATE TABLE t (n int PRIMARY KEY, text text UNIQUE); CREATE TABLE log (at int)")?;
    for n in 0..9 {
        if n % 4 == 2 {
            db.checkpoint()?;
        }
        let both = format!(
            "DO $$ BEGIN INSERT INTO t VALUES ({n}, 'row {n}'); INSERT INTO log VALUES ({n}); END $$"
        );
        db.execute(&both, ())?;
        *acknowledged += 1;
    }
    db.checkpoint()?;
    Ok(())
}

#[test]
fn a_crash_at_any_operation_loses_nothing_acknowledged() {
    let options = || Options::new().checkpoint_threads(1).recovery_threads(1);
    let disk = SimDisk::new(1);
    let db = options().open_device(disk.device()).expect("opens");
    script(&db, &mut 0).expect("runs without faults");
    drop(db);
    let operations = disk.operations();
    for at in 0..operations {
        for survival in [Survival::Nothing, Survival::Chance, Survival::Everything] {
            let disk = SimDisk::new(at + 1);
            disk.fail_power_at(at);
            let mut acknowledged = 0;
            if let Ok(db) = options().open_device(disk.device()) {
                let _ = script(&db, &mut acknowledged);
            }
            disk.crash(survival);
            let db = options().open_device(disk.device()).unwrap_or_else(|e| panic!("crash at {at}: {e}"));
            db.check().expect("rows and indexes agree");
            let there = |table: &str| {
                db.query(&format!("SELECT count(*) FROM {table}"), ())
                    .map_or(0, |rows| rows[0].get::<i64>(0).expect("a count") as u32)
            };
            let (rows, lines) = (there("t"), there("log"));
            assert_eq!(rows, lines, "crash at {at}: transactions are whole");
            assert!(
                (acknowledged..=acknowledged + 1).contains(&rows),
                "crash at {at}: {acknowledged}, {rows}"
            );
            // It goes on, with another checkpoint, and survives once more.
            db.execute("CREATE TABLE after (n int PRIMARY KEY)", ()).expect("goes on");
            db.checkpoint().unwrap_or_else(|e| panic!("crash at {at}: {e}"));
            db.execute("INSERT INTO after VALUES (1)", ()).expect("goes on");
            let digests = db.digests().expect("digests");
            drop(db);
            disk.crash(Survival::Nothing);
            let db = options().open_device(disk.device()).expect("opens again");
            assert_eq!(db.digests().expect("digests"), digests, "crash at {at}");
        }
    }
}

#[test]
fn damage_is_named_and_an_older_checkpoint_helps_while_its_log_is_there() {
    let disk = SimDisk::new(1);
    let db = opened(&disk, LogKind::Command, Scheme::Regrow);
    db.execute_script(SCHEMA).expect("the schema");
    work(&db, 0).expect("works");
    db.checkpoint().expect("a checkpoint");
    work(&db, 10).expect("works");
    let digests = db.digests().expect("digests");
    drop(db);
    let first: Vec<(String, Vec<u8>)> = disk
        .device()
        .list()
        .expect("lists")
        .into_iter()
        .map(|n| (n.clone(), disk.content(&n).expect("is there")))
        .collect();
    let db = opened(&disk, LogKind::Command, Scheme::Regrow);
    db.checkpoint().expect("another");
    drop(db);
    // The newest is damaged and the log before it gone: an error with file and offset.
    let size = |name: &String| disk.content(name).map_or(0, |c| c.len());
    let names = disk.device().list().expect("lists").into_iter();
    let rows = names.filter(|n| n.ends_with(".rows")).max_by_key(size).expect("rows");
    assert!(rows.starts_with("checkpoint-00000002"));
    disk.flip_bit(&rows, 8 * 300);
    let error = Options::new().open_device(disk.device()).map(|_| ()).expect_err("is damaged");
    assert_eq!(error.sqlstate(), SqlState::DATA_CORRUPTED);
    assert!(error.message().contains(&format!("{rows}\" is damaged at offset")), "{error}");
    assert!(error.fields().detail.as_deref().is_some_and(|d| d.contains("begins after epoch")), "{error}");
    // With the files of before beside it, as a crash before the deletion leaves them, nothing is lost.
    for (name, content) in &first {
        disk.put(name, content);
    }
    let db = opened(&disk, LogKind::Command, Scheme::Regrow);
    let loaded = db.recovery().and_then(|r| r.checkpoint).expect("from the older one");
    assert_eq!((loaded.number, loaded.passed_over.len()), (1, 1));
    assert_eq!(db.digests().expect("digests"), digests);
    // The next one is neither of them.
    assert_eq!(db.checkpoint().expect("a third").number, 3);
    drop(db);
    let db = opened(&disk, LogKind::Command, Scheme::Regrow);
    assert_eq!(db.digests().expect("digests"), digests);
}

#[test]
fn without_its_checkpoint_a_log_that_begins_later_is_refused() {
    let disk = SimDisk::new(1);
    let db = opened(&disk, LogKind::Command, Scheme::Regrow);
    db.execute_script(SCHEMA).expect("the schema");
    db.checkpoint().expect("a checkpoint");
    drop(db);
    let device = disk.device();
    for name in device.list().expect("lists").iter().filter(|n| n.starts_with("checkpoint-")) {
        device.delete(name).expect("deletes");
    }
    let error = Options::new().open_device(disk.device()).map(|_| ()).expect_err("nothing to begin with");
    assert_eq!(error.sqlstate(), SqlState::DATA_CORRUPTED);
    assert!(error.message().contains("there is no checkpoint"), "{error}");
}

#[test]
fn a_full_disk_leaves_the_old_checkpoint_and_commits_go_on() {
    let disk = SimDisk::new(1);
    let db = opened(&disk, LogKind::Command, Scheme::Regrow);
    db.execute_script(SCHEMA).expect("the schema");
    db.checkpoint().expect("a checkpoint");
    // Not a byte more; what commits need next has been allocated ahead.
    disk.set_capacity(Some(0));
    let error = db.checkpoint().expect_err("the disk is full");
    assert_eq!(error.sqlstate(), SqlState::DISK_FULL, "{error}");
    work(&db, 0).expect("commits go on");
    disk.set_capacity(None);
    let digests = db.digests().expect("digests");
    drop(db);
    disk.crash(Survival::Nothing);
    let db = opened(&disk, LogKind::Command, Scheme::Regrow);
    assert_eq!(db.recovery().and_then(|r| r.checkpoint).expect("the old one").number, 1);
    assert_eq!(db.digests().expect("digests"), digests);
    db.checkpoint().expect("there is room again");
}

#[test]
fn a_log_behind_a_checkpoint_is_shown_and_verified() {
    let dir = tempfile::tempdir().expect("a directory");
    let db = Database::open(dir.path()).expect("opens");
    db.execute_script(SCHEMA).expect("the schema");
    let report = db.checkpoint().expect("a checkpoint");
    work(&db, 0).expect("works");
    db.close().expect("closes");
    let view = planaria::log::LogView::open(dir.path()).expect("opens");
    let checkpoint = view.overview().checkpoint.clone().expect("is shown");
    assert_eq!((checkpoint.number, checkpoint.epoch, checkpoint.rows), (1, report.epoch, 5));
    let mut shown = Vec::new();
    let filter = planaria::log::Filter { procedure: Some("pay".into()), ..Default::default() };
    view.read(&filter, 1, &mut |entry| shown.push(entry.to_string())).expect("reads");
    assert!(shown[0].contains("pay(") && shown[0].contains("p_from"), "{shown:?}");
    let verified = planaria::log::verify(dir.path(), Scheme::Regrow, 2).expect("verifies");
    assert!(verified.is_clean());
    assert!(verified.tables.iter().any(|t| t.table == "account" && t.rows == 5));
}

#[test]
fn a_backup_is_the_database_as_it_was() {
    let dir = tempfile::tempdir().expect("a directory");
    let path = |name: &str| dir.path().join(name);
    let db = Options::new().keep_log(true).open(path("db")).expect("opens");
    db.execute_script(SCHEMA).expect("the schema");
    work(&db, 0).expect("works");
    let at_backup = db.digests().expect("digests");
    db.execute(&format!("BACKUP TO '{}'", path("backup").display()), ()).expect("a backup");
    let error = db.backup(path("backup")).expect_err("is not empty");
    assert_eq!(
        (error.sqlstate().as_str(), error.message().contains("is not empty")),
        ("58P02", true),
        "{error}"
    );
    let refused = db.session_as("teller").expect("a session").execute("BACKUP TO '/nowhere'", ());
    assert_eq!(refused.expect_err("is refused").sqlstate(), SqlState::INSUFFICIENT_PRIVILEGE);
    // What follows can be restored to any moment, over checkpoints too.
    let mut moments = Vec::new();
    for n in 1..=3 {
        work(&db, n * 10).expect("works on");
        let digests = db.digests().expect("digests");
        db.flush().expect("is on disk");
        let view = planaria::log::LogView::open(path("db")).expect("opens");
        let mut last = None;
        view.read(&Default::default(), usize::MAX, &mut |entry| last = Some((entry.epoch, entry.sequence)))
            .expect("reads");
        moments.push((last.expect("a transaction"), digests));
        db.checkpoint().expect("a checkpoint");
    }
    let error = planaria::checkpoint::backup(path("db"), path("copy"), Options::new()).expect_err("is open");
    assert_eq!(error.sqlstate(), SqlState::OBJECT_IN_USE);
    let newest = db.digests().expect("digests");
    db.close().expect("closes");

    let restore = |name: &str| planaria::checkpoint::Restore::new(path(name));
    let digests = |name: &str| {
        let db = Database::open(path(name)).unwrap_or_else(|e| panic!("{name}: {e}"));
        db.check().expect("rows and indexes agree");
        work(&db, 100).expect("goes on");
        drop(db);
        Database::open(path(name)).expect("opens again").checkpoint().expect("a checkpoint");
        planaria::checkpoint::verify(path(name), 2, &mut |_, _| ()).expect("is whole");
    };
    let state = |name: &str| {
        let verified = planaria::checkpoint::inspect(path(name)).expect("is there");
        verified
            .tables
            .into_iter()
            .map(|t| (t.table, u128::from_str_radix(&t.digest, 16).expect("hex")))
            .collect::<Vec<_>>()
    };
    restore("backup").to(path("first")).expect("restores");
    assert_eq!(state("first"), at_backup);
    digests("first");
    for (i, ((epoch, sequence), expected)) in moments.iter().enumerate() {
        let name = format!("moment {i}");
        let restored =
            restore("backup").log(path("db")).until(*epoch, *sequence).to(path(&name)).expect("restores");
        assert!(restored.transactions > i as u64 * 20, "{restored:?}");
        assert_eq!(state(&name), *expected, "moment {i}");
    }
    digests("moment 1");
    restore("backup").log(path("db")).to(path("newest")).expect("restores");
    assert_eq!(state("newest"), newest);
    planaria::checkpoint::backup(path("db"), path("copy"), Options::new()).expect("is closed");
    assert_eq!(state("copy"), newest);
    digests("copy");
    let error =
        restore("backup").log(path("db")).until(1 << 30, 0).to(path("late")).expect_err("is too late");
    assert_eq!(error.sqlstate(), SqlState::INVALID_PARAMETER_VALUE);
    Database::open(path("another")).expect("opens").close().expect("closes");
    let error = restore("backup").log(path("another")).to(path("other")).expect_err("is another's");
    assert_eq!(error.sqlstate(), SqlState::INVALID_PARAMETER_VALUE, "{error}");
}

#[test]
fn checkpoints_come_by_themselves() {
    use std::time::{Duration, Instant};
    let policies: [fn(Options) -> Options; 3] = [
        |o| o.checkpoint_timeout(Duration::from_millis(1)),
        |o| o.max_wal_size(2000),
        |o| o.restart_target(Duration::from_micros(1)),
    ];
    for policy in policies {
        let disk = SimDisk::new(1);
        let db = policy(Options::new()).open_device(disk.device()).expect("opens");
        db.execute_script(SCHEMA).expect("the schema");
        let until = Instant::now() + Duration::from_secs(20);
        while db.stats().checkpoint.written < 2 {
            assert!(Instant::now() < until, "{:?}", db.stats().checkpoint);
            work(&db, 0).expect("works");
        }
        let digests = db.digests().expect("digests");
        drop(db);
        disk.crash(Survival::Nothing);
        let db = Options::new().checkpoint_on_close(true).open_device(disk.device()).expect("opens");
        assert!(db.recovery().and_then(|r| r.checkpoint).expect("from a checkpoint").number >= 2);
        assert_eq!(db.digests().expect("digests"), digests);
        work(&db, 0).expect("works");
        db.close().expect("closes");
        let db = Options::new().open_device(disk.device()).expect("opens");
        assert_eq!(db.recovery().expect("recovered").transactions, 0, "closing wrote a checkpoint");
    }
}

/// Checkpoints under transactions that insert, delete, put in again and move keys: each with the log behind it
/// is the state that was.
#[test]
fn checkpoints_under_transactions_are_of_one_moment() {
    use std::sync::atomic::{AtomicBool, Ordering};
    for kind in [LogKind::Command, LogKind::Logical] {
        let disk = SimDisk::new(7);
        let db = opened(&disk, kind, Scheme::Regrow);
        db.execute_script(SCHEMA).expect("the schema");
        db.execute(
            "INSERT INTO account SELECT i, 'many', i * 10, 100.00 FROM generate_series(6, 500) AS g(i)",
            (),
        )
        .expect("accounts");
        let stop = AtomicBool::new(false);
        let reports = std::thread::scope(|scope| {
            for worker in 0..2 {
                let (db, stop) = (&db, &stop);
                scope.spawn(move || {
                    let mut session = db.session().expect("a session");
                    let mut n = worker;
                    while !stop.load(Ordering::Relaxed) {
                        n += 2;
                        let id = n * 37 % 500 + 1;
                        session.call("pay", (id, n * 11 % 500 + 1, "0.25")).expect("pays");
                        session
                            .execute("UPDATE account SET tag = tag + 100000 WHERE id = $1", (id,))
                            .expect("moves a key");
                        if n % 5 == 0 {
                            session
                                .execute("DELETE FROM account WHERE id = $1", (id + 1000,))
                                .expect("deletes");
                            session
                                .execute("INSERT INTO account VALUES ($1, 'again', -$1, 1)", (id + 1000,))
                                .or_else(|e| match e.sqlstate() {
                                    SqlState::UNIQUE_VIOLATION => Ok(0),
                                    _ => Err(e),
                                })
                                .expect("puts it in again");
                        }
                    }
                });
            }
            let reports: Vec<_> = (0..4).map(|_| db.checkpoint().expect("a checkpoint")).collect();
            stop.store(true, Ordering::Relaxed);
            reports
        });
        assert!(reports.windows(2).all(|w| w[0].epoch < w[1].epoch));
        db.flush().expect("is on disk");
        let digests = db.digests().expect("digests");
        drop(db);
        disk.crash(Survival::Nothing);
        let db = opened(&disk, kind, Scheme::Regrow);
        let loaded = db.recovery().expect("recovered").checkpoint.expect("from a checkpoint");
        assert_eq!(loaded.number, 4);
        assert_eq!(db.digests().expect("digests"), digests, "{kind}");
        db.check().expect("rows and indexes agree");
        let total = "SELECT sum(balance) = 50000 FROM account WHERE id <= 500";
        assert!(db.query(total, ()).expect("sums")[0].get::<bool>(0).expect("an answer"), "{kind}");
    }
}

/// Sequences at their ends, and drawn from by nothing else, stand after a crash where they stood.
#[test]
fn sequences_stand_where_they_stood() {
    let disk = SimDisk::new(3);
    let db = opened(&disk, LogKind::Command, Scheme::Regrow);
    db.execute_script(
        "CREATE SEQUENCE few MAXVALUE 2; CREATE SEQUENCE put MAXVALUE 100; CREATE SEQUENCE down INCREMENT -2 MINVALUE -5;",
    )
    .expect("sequences");
    let draw = |db: &Database, sequence: &str| {
        let drawn = db.query(&format!("SELECT nextval('{sequence}')"), ());
        drawn.map(|rows| rows[0].get::<i64>(0).expect("a number")).map_err(|e| e.sqlstate())
    };
    assert_eq!((draw(&db, "few"), draw(&db, "few")), (Ok(1), Ok(2)));
    assert_eq!((draw(&db, "down"), draw(&db, "down"), draw(&db, "down")), (Ok(-1), Ok(-3), Ok(-5)));
    db.query("SELECT setval('put', 100)", ()).expect("is within bounds");
    drop(db);
    // Each answer had come: so it was on disk.
    disk.crash(Survival::Nothing);
    let db = opened(&disk, LogKind::Command, Scheme::Regrow);
    for sequence in ["few", "put", "down"] {
        assert_eq!(draw(&db, sequence), Err(SqlState::SEQUENCE_GENERATOR_LIMIT_EXCEEDED), "{sequence}");
    }
}

/// What is in a directory: names and contents.
fn files(path: &std::path::Path) -> Vec<(String, Vec<u8>)> {
    let read = |entry: std::io::Result<std::fs::DirEntry>| {
        let entry = entry.expect("an entry");
        (entry.file_name().into_string().expect("UTF-8"), std::fs::read(entry.path()).expect("reads"))
    };
    let mut files: Vec<_> = std::fs::read_dir(path).expect("lists").map(read).collect();
    files.sort();
    files
}

/// It may be the only copy there is: nobody gets an empty database in its place, and nothing is deleted.
#[test]
fn a_backup_that_is_not_whole_is_refused_and_left_as_it_is() {
    let dir = tempfile::tempdir().expect("a directory");
    let backup = dir.path().join("backup");
    let db = Database::in_memory().expect("opens");
    db.execute_script(SCHEMA).expect("the schema");
    db.backup(&backup).expect("a backup");
    let whole = files(&backup);
    let refused = |said: &str| {
        let before = files(&backup);
        for _ in 0..2 {
            let error = Database::open(&backup).map(|_| ()).expect_err(said);
            assert_eq!(error.sqlstate(), SqlState::DATA_CORRUPTED, "{error}");
            assert!(error.message().contains(said), "{error}");
            assert_eq!(files(&backup), before);
        }
    };
    // Threads that found nothing to do have written no rows.
    let has_content = |content: &[u8]| content.len() > 64;
    for (name, content) in whole.iter().filter(|(_, content)| has_content(content)) {
        let mut damaged = content.clone();
        damaged[100] ^= 4;
        std::fs::write(backup.join(name), damaged).expect("writes");
        refused(&format!("{name}\" is damaged at offset"));
        std::fs::remove_file(backup.join(name)).expect("deletes");
        refused(if name.ends_with(".rows") { "" } else { "is not complete" });
        std::fs::write(backup.join(name), content).expect("writes");
    }
    let db = Database::open(&backup).expect("is whole again");
    assert_eq!(db.query("SELECT id FROM account", ()).expect("rows").len(), 5);
}

/// Rows and sequences of one moment, though both move on while the rows are written.
#[test]
fn sequences_are_of_the_same_moment_as_the_rows() {
    let dir = tempfile::tempdir().expect("a directory");
    let db = Database::in_memory().expect("opens");
    db.execute_script(
        "CREATE SEQUENCE s;
         CREATE TABLE t (id bigint PRIMARY KEY DEFAULT nextval('s'), pad text);
         CREATE TABLE large (id int PRIMARY KEY, pad text);
         INSERT INTO large SELECT i, repeat('x', 100) FROM generate_series(1, 100000) i;",
    )
    .expect("the schema");
    let stop = std::sync::atomic::AtomicBool::new(false);
    let last = || {
        db.query("SELECT coalesce(max(id), 0) FROM t", ()).expect("a number")[0]
            .get::<i64>(0)
            .expect("a number")
    };
    let mut during = [0; 3];
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let mut session = db.session().expect("a session");
            while !stop.load(std::sync::atomic::Ordering::Relaxed) {
                session.execute("INSERT INTO t (pad) VALUES ('x')", ()).expect("inserts");
            }
        });
        for (n, during) in during.iter_mut().enumerate() {
            let before = last();
            db.backup(dir.path().join(n.to_string())).expect("a backup");
            *during = last() - before;
        }
        stop.store(true, std::sync::atomic::Ordering::Relaxed);
    });
    for (n, during) in during.iter().enumerate() {
        let copy = Database::open(dir.path().join(n.to_string())).expect("opens");
        let ahead = copy.query("SELECT nextval('s') - coalesce(max(id), 0) FROM t", ()).expect("a number");
        let ahead = ahead[0].get::<i64>(0).expect("a number");
        // It is read right after the moment of the rows, not when they have been written. A few are drawn between, the more
        // the busier the machine is.
        assert!(
            (1..=3 + during / 4).contains(&ahead),
            "it stands {ahead} ahead of the rows, {during} meanwhile"
        );
    }
}

#[test]
fn a_checkpoint_can_be_canceled_and_its_failure_is_remembered() {
    let disk = SimDisk::new(1);
    let db = opened(&disk, LogKind::Command, Scheme::Regrow);
    db.execute_script(SCHEMA).expect("the schema");
    let flag = std::sync::Arc::new(std::sync::atomic::AtomicBool::new(true));
    let mut session = db.session().expect("a session");
    session.cancelled_by(&flag);
    assert_eq!(session.execute("CHECKPOINT", ()).expect_err("is canceled").sqlstate().as_str(), "57014");
    assert_eq!(db.stats().checkpoint.failed, 0);
    flag.store(false, std::sync::atomic::Ordering::Relaxed);
    session.execute("CHECKPOINT", ()).expect("a checkpoint");
    disk.set_capacity(Some(0));
    db.checkpoint().expect_err("the disk is full");
    disk.set_capacity(None);
    let view = "SELECT checkpoint, written, failed, last_error, last_failure <= now(), target IS NULL,
                       estimate > interval '0' FROM planaria_restart";
    let row = &db.query(view, ()).expect("one row")[0];
    assert_eq!((row.get::<i32>(0), row.get::<i64>(1), row.get::<i64>(2)), (Ok(1), Ok(1), Ok(1)));
    assert!(row.get::<String>(3).expect("a text").contains("checkpoint 2"), "{row:?}");
    assert_eq!((row.get::<bool>(4), row.get::<bool>(5), row.get::<bool>(6)), (Ok(true), Ok(true), Ok(true)));
}
