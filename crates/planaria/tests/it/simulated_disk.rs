//! The whole database on a disk that loses, tears and reorders what was not synced, flips bits,
//! fails syncs and fills up.

use planaria::{Database, Error, LogKind, Options, Scheme, SqlState};
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

fn options() -> Options {
    Options::new()
}

#[test]
fn a_crash_at_any_operation_loses_nothing_acknowledged() {
    let disk = SimDisk::new(1);
    let mut acknowledged = 0;
    let db = options().open_device(disk.device()).expect("opens");
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
            if let Ok(db) = options().open_device(disk.device()) {
                let _ = run(&db, &mut acknowledged);
            }
            disk.crash(survival);
            let db = options().open_device(disk.device()).unwrap_or_else(|e| panic!("crash at {at}: {e}"));
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
                let db = options().open_device(disk.device()).expect("opens again");
                let after =
                    db.query("SELECT count(*) FROM history WHERE what = 'after'", ()).expect("counts");
                assert_eq!(after[0].get::<i64>(0).expect("a count"), 1, "crash at {at}");
            }
        }
    }
}

#[test]
fn a_failed_sync_stops_commits_and_reads_go_on() {
    let disk = SimDisk::new(7);
    let db = options().open_device(disk.device()).expect("opens");
    db.execute_script(SCHEMA).expect("the schema");
    disk.fail_sync_at(disk.syncs());
    let mut session = db.session().expect("a session");
    let error = session.call("pay", (1, 2, "1.00")).expect_err("the sync fails");
    assert_eq!(error.sqlstate(), SqlState::IO_ERROR);
    let error = session.call("pay", (1, 2, "1.00")).expect_err("commits have stopped for good");
    assert_eq!(error.sqlstate(), SqlState::IO_ERROR);
    let rows = session.query("SELECT id FROM account WHERE id = 5", ()).expect("reads go on");
    assert_eq!(rows.len(), 1);
    drop(session);
    drop(db);
    disk.crash(Survival::Nothing);
    let db = options().open_device(disk.device()).expect("recovers");
    let rows = db.query("SELECT sum(balance) FROM account", ()).expect("reads");
    assert_eq!(rows[0].get::<String>(0).expect("a sum"), "500.00");
}

#[test]
fn a_full_disk_is_reported_as_such() {
    let disk = SimDisk::new(8);
    let db = options().open_device(disk.device()).expect("opens");
    db.execute_script("CREATE TABLE t (a int PRIMARY KEY, b text)").expect("the schema");
    disk.set_capacity(Some(0));
    let mut failed = None;
    for i in 0..2000 {
        if let Err(error) = db.execute("INSERT INTO t VALUES ($1, $2)", (i, "x".repeat(100_000))) {
            failed = Some(error);
            break;
        }
    }
    assert_eq!(failed.expect("the disk is full").sqlstate(), SqlState::DISK_FULL);
    assert_eq!(db.query("SELECT count(*) FROM t", ()).expect("reads go on").len(), 1);
}

/// What is logged after a checkpoint, or after a change of the schema, is nothing but a value drawn: there
/// is no row that any scheme would have to look at.
#[test]
fn a_value_drawn_alone_is_drawn_after_a_crash() {
    for kind in [LogKind::Command, LogKind::Logical, LogKind::Physical, LogKind::Physiological] {
        for scheme in Scheme::ALL {
            for between in ["CHECKPOINT", "CREATE TABLE u (a int)"] {
                let disk = SimDisk::new(1);
                let db = options().log(kind).open_device(disk.device()).expect("opens");
                db.execute_script("CREATE SEQUENCE s; SELECT nextval('s');").expect("the schema");
                db.execute_script(between).expect("runs");
                db.execute_script("SELECT nextval('s'); SELECT nextval('s')").expect("draws");
                disk.crash(Survival::Nothing);
                drop(db);
                let options = options().log(kind).recovery(*scheme).recovery_threads(2);
                let db = options.open_device(disk.device()).expect("opens again");
                let next: i64 = db.query("SELECT nextval('s')", ()).expect("draws")[0].get(0).expect("it");
                assert_eq!(next, 4, "{kind}, {scheme}, after {between}");
            }
        }
    }
}
