//! The whole database on a disk that loses, tears and reorders what was not synced, flips bits,
//! fails syncs and fills up.

use planaria::lab::{LabDatabase, LabOptions};
use planaria::{Database, Error, LogKind, Options, ProtocolKind, Scheme, SqlState};
use planaria_sim::disk::{SimDisk, Survival};

const SCHEMA: &str = "
    CREATE TABLE account (id int PRIMARY KEY, balance numeric(12,2) NOT NULL);
    CREATE TABLE history (at timestamp, what text);
    CREATE SEQUENCE ticket;
    CREATE PROCEDURE pay(p_from int, p_to int, p_amount numeric, INOUT p_ticket bigint DEFAULT NULL)
    LANGUAGE plpgsql AS $$
    BEGIN
        UPDATE account SET balance = balance - p_amount WHERE id = p_from;
        UPDATE account SET balance = balance + p_amount WHERE id = p_to;
        p_ticket := nextval('ticket');
        INSERT INTO history VALUES (localtimestamp, p_from || ' to ' || p_to || ': ' || p_amount);
    END $$;
    INSERT INTO account SELECT i, 100.00 FROM generate_series(1, 5) AS g(i);";

/// What the steps below leave, after the first `n` of them.
fn run(db: &Database, acknowledged: &mut u32) -> Result<(), Error> {
    db.execute_script(SCHEMA)?;
    *acknowledged = 1;
    for i in 0..12 {
        match i % 4 {
            0 | 1 => drop(db.call("pay", (i % 5 + 1, (i + 1) % 5 + 1, "1.25"))?),
            2 => drop(db.execute("UPDATE account SET balance = balance + 1 WHERE id = $1", (i % 5 + 1,))?),
            _ => drop(db.execute("INSERT INTO history VALUES (NULL, $1)", (format!("step {i}"),))?),
        }
        *acknowledged += 1;
    }
    db.execute("CREATE INDEX history_by_what ON history (what)", ())?;
    *acknowledged += 1;
    Ok(())
}

/// The number of steps whose effects are there, and that they are there whole.
fn steps_there(db: &Database) -> u32 {
    // The schema of the script is several commits: it counts as there with its last row.
    let Ok(accounts) = db.query("SELECT count(*), sum(balance) FROM account", ()) else { return 0 };
    if accounts[0].get::<i64>(0).expect("a count") == 0 {
        return 0;
    }
    let total: String = accounts[0].get(1).expect("a sum");
    let count = |sql: &str| db.query(sql, ()).expect("a query")[0].get::<i64>(0).expect("a count");
    let payments = count("SELECT count(*) FROM history WHERE at IS NOT NULL");
    let inserts = count("SELECT count(*) FROM history WHERE at IS NULL");
    let raises: i64 = (0..).find(|n| total == format!("{}.00", 500 + n)).expect("a whole number of raises");
    // Steps come in the order 0 1 2 3: pay, pay, raise, insert.
    let done = payments + raises + inserts;
    let expected = |n: i64| (n / 4 * 2 + (n % 4).min(2), n / 4 + i64::from(n % 4 > 2), n / 4);
    assert_eq!((payments, raises, inserts), expected(done), "the steps are there in order");
    let balances = db.query("SELECT balance FROM account WHERE id = 3", ()).expect("a row");
    assert_eq!(balances.len(), 1);
    let indexed = db.query("EXPLAIN SELECT * FROM history WHERE what = 'x'", ()).expect("a plan");
    let has_index = indexed.iter().any(|r| r.get::<String>(0).expect("text").contains("history_by_what"));
    1 + done as u32 + u32::from(has_index)
}

#[test]
fn a_crash_at_any_operation_loses_nothing_acknowledged() {
    for protocol in ProtocolKind::ALL {
        println!("under {protocol}");
        crashes_at_any_operation(&Options::new().protocol(*protocol));
    }
}

fn crashes_at_any_operation(options: &Options) {
    let disk = SimDisk::new(1);
    let mut acknowledged = 0;
    let db = options.clone().open_device(disk.device()).expect("opens");
    run(&db, &mut acknowledged).expect("runs without faults");
    assert_eq!(steps_there(&db), acknowledged);
    drop(db);
    let operations = disk.operations();
    assert!(operations > 20);
    for at in 0..operations {
        for survival in [Survival::Nothing, Survival::Chance] {
            let disk = SimDisk::new(at + 1);
            disk.fail_power_at(at);
            let mut acknowledged = 0;
            if let Ok(db) = options.clone().open_device(disk.device()) {
                let _ = run(&db, &mut acknowledged);
            }
            disk.crash(survival);
            let db =
                options.clone().open_device(disk.device()).unwrap_or_else(|e| panic!("crash at {at}: {e}"));
            let there = steps_there(&db);
            assert!(there >= acknowledged, "crash at {at}: {acknowledged} acknowledged, {there} there");
            assert!(there <= acknowledged + 1, "crash at {at}: {there} of {acknowledged} acknowledged");
            // A number that was given out is not given again.
            if acknowledged > 1 {
                let before: i64 =
                    db.query("SELECT count(*) FROM history WHERE at IS NOT NULL", ()).expect("counts")[0]
                        .get(0)
                        .expect("a count");
                let next: i64 =
                    db.query("SELECT nextval('ticket')", ()).expect("draws")[0].get(0).expect("a number");
                assert!(next > before, "ticket {next} after {before} payments");
            }
            // And it goes on, and survives once more.
            if there > 0 {
                db.execute("INSERT INTO history VALUES (NULL, 'after')", ()).expect("goes on");
                drop(db);
                disk.crash(Survival::Nothing);
                let db = options.clone().open_device(disk.device()).expect("opens again");
                let after =
                    db.query("SELECT count(*) FROM history WHERE what = 'after'", ()).expect("counts");
                assert_eq!(after[0].get::<i64>(0).expect("a count"), 1, "crash at {at}");
            }
        }
    }
}

on_the_shelf! {
    a_failed_sync_stops_commits_and_nobody_sees_what_was_refused
    a_full_disk_refuses_commits_until_there_is_room
}

fn a_failed_sync_stops_commits_and_nobody_sees_what_was_refused(protocol: ProtocolKind) {
    let options = Options::new().protocol(protocol);
    let disk = SimDisk::new(7);
    let db = options.clone().open_device(disk.device()).expect("opens");
    db.execute_script(SCHEMA).expect("the schema");
    db.execute_script(
        "CREATE FUNCTION account_sum() RETURNS numeric LANGUAGE sql AS 'SELECT sum(balance) FROM account'",
    )
    .expect("a function");
    disk.fail_syncs_of(".log");
    let mut session = db.session().expect("a session");
    let mut block = db.session().expect("a session");
    let mut reader = db.session().expect("a session");
    let mut writer = db.session().expect("a session");
    let sum = "SELECT sum(balance) FROM account WHERE id = 1";
    reader.execute_script("BEGIN READ ONLY; SELECT 1").expect("a snapshot");
    writer.execute("BEGIN", ()).expect("a block");
    let error = session.call("pay", (1, 2, "1.00")).expect_err("the sync fails");
    assert_eq!(error.sqlstate(), SqlState::IO_ERROR);
    let error = session.call("pay", (1, 2, "1.00")).expect_err("commits have stopped for good");
    assert_eq!(error.sqlstate(), SqlState::IO_ERROR);
    let is_lost = |outcome: Result<planaria::Rows, Error>| {
        assert_eq!(outcome.expect_err("it would show what was refused").sqlstate(), SqlState::IO_ERROR);
    };
    is_lost(session.query(sum, ()));
    is_lost(db.query(sum, ()));
    is_lost(writer.query(sum, ()));
    block.execute("BEGIN READ ONLY", ()).expect("a block");
    is_lost(block.query(sum, ()));
    block.execute("ROLLBACK", ()).expect("it is over");
    is_lost(db.call("account_sum", ()));
    let backup = SimDisk::new(8);
    assert_eq!(db.backup_device(backup.device()).expect_err("none").sqlstate(), SqlState::IO_ERROR);
    drop((session, block, reader, writer));
    drop(db);
    disk.crash(Survival::Nothing);
    let db = options.clone().open_device(disk.device()).expect("recovers");
    let rows = db.query("SELECT sum(balance) FROM account", ()).expect("reads");
    assert_eq!(rows[0].get::<String>(0).expect("a sum"), "500.00");
}

fn a_full_disk_refuses_commits_until_there_is_room(protocol: ProtocolKind) {
    let options = Options::new().protocol(protocol);
    let disk = SimDisk::new(8);
    let db = options.clone().open_device(disk.device()).expect("opens");
    db.execute_script("CREATE TABLE t (a int PRIMARY KEY, b text)").expect("the schema");
    let mut done = 0;
    for _ in 0..2 {
        disk.set_capacity(Some(0));
        let error = loop {
            match db.execute("INSERT INTO t VALUES ($1, $2)", (done, "x".repeat(50_000))) {
                Ok(_) => done += 1,
                Err(error) => break error,
            }
        };
        assert_eq!(error.sqlstate(), SqlState::DISK_FULL, "{error}");
        let rows = db.query("SELECT count(*) FROM t", ()).expect("reads go on");
        assert_eq!(rows[0].get::<i32>(0), Ok(done), "what was refused is not there");
        disk.set_capacity(None);
        while db.execute("INSERT INTO t VALUES ($1, 'there is room')", (done,)).is_err() {
            std::thread::yield_now();
        }
        done += 1;
    }
    drop(db);
    disk.crash(Survival::Nothing);
    let db = options.clone().open_device(disk.device()).expect("opens again");
    let rows = db.query("SELECT count(*) FROM t", ()).expect("a count");
    assert_eq!(rows[0].get::<i32>(0), Ok(done));
}

/// What is logged after a checkpoint, or after a change of the schema, is nothing but a value drawn: there
/// is no row that any scheme would have to look at.
#[test]
fn a_value_drawn_alone_is_drawn_after_a_crash() {
    for kind in [LogKind::Command, LogKind::Logical, LogKind::Physical, LogKind::Physiological] {
        for scheme in Scheme::ALL {
            for between in ["CHECKPOINT", "CREATE TABLE u (a int)"] {
                let disk = SimDisk::new(1);
                let db = Options::new().log(kind).open_device(disk.device()).expect("opens");
                db.execute_script("CREATE SEQUENCE s; SELECT nextval('s');").expect("the schema");
                db.execute_script(between).expect("runs");
                db.execute_script("SELECT nextval('s'); SELECT nextval('s')").expect("draws");
                disk.crash(Survival::Nothing);
                drop(db);
                let options = Options::new().log(kind).recovery(*scheme).recovery_threads(2);
                let db = options.open_device(disk.device()).expect("opens again");
                let next: i64 = db.query("SELECT nextval('s')", ()).expect("draws")[0].get(0).expect("it");
                assert_eq!(next, 4, "{kind}, {scheme}, after {between}");
            }
        }
    }
}
