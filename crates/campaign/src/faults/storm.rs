//! Power failures under threads: procedures, transaction blocks and checkpoints at the same time.
//!
//! Each transaction takes the next place of a counter and writes down, in a ledger, who it was and what it
//! did. So after a crash the ledger says in which order they ran; the accounts must be what that order
//! leads to: each transaction mixes the old value of an account in a way no other order would.

use super::crash::survival;
use super::setting::{Prepared, text};
use super::{Outcome, Verdict};
use planaria::lab::LabOptions;
use planaria::{Database, Durability, LogKind, Options, Result, Scheme, Session};
use planaria_base::sync::thread;
use planaria_sim::dice::Dice;
use planaria_sim::disk::SimDisk;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

const THREADS: usize = 3;
const ACCOUNTS: i64 = 12;

const SCHEMA: &str = "
    CREATE TABLE account (id bigint PRIMARY KEY, value bigint NOT NULL);
    CREATE INDEX account_by_value ON account (value);
    CREATE TABLE counter (id int PRIMARY KEY, n bigint NOT NULL);
    CREATE TABLE ledger (thread bigint, n bigint, place bigint NOT NULL UNIQUE, a bigint, b bigint,
                         PRIMARY KEY (thread, n));
    CREATE TABLE journal (place bigint, note text);
    INSERT INTO counter VALUES (1, 0);
    CREATE PROCEDURE work(p_thread bigint, p_n bigint, p_a bigint, p_b bigint) LANGUAGE plpgsql AS $$
    DECLARE
        v_place bigint;
        v_old bigint;
    BEGIN
        UPDATE counter SET n = n + 1 WHERE id = 1 RETURNING n INTO STRICT v_place;
        SELECT value INTO STRICT v_old FROM account WHERE id = p_a;
        UPDATE account SET value = (v_old * 31 + v_place) % 1000003 WHERE id = p_a;
        UPDATE account SET value = value + v_old % 7 WHERE id = p_b;
        INSERT INTO ledger VALUES (p_thread, p_n, v_place, p_a, p_b);
        INSERT INTO journal VALUES (v_place, repeat('j', (v_place % 90)::int));
        IF v_place % 10 = 0 THEN
            DELETE FROM journal WHERE place = v_place - 5;
        END IF;
    END $$;
    INSERT INTO account SELECT i, i * 1000 FROM generate_series(1, 12) AS g(i);";

/// Some crashes in a row on one disk.
pub fn storm(prepared: &Prepared, number: u64) -> Verdict {
    let mut dice = prepared.dice(number);
    let disk = SimDisk::new(dice.draw());
    let mut acknowledged = [0i64; THREADS];
    let kinds: Vec<_> = LogKind::ALL.iter().copied().filter(|k| *k != LogKind::Off).collect();
    let log = dice.of(&kinds);
    let mut had_schema = false;
    let not_opened = |e: planaria::Error| format!("it does not open: {}", text(&e));
    for _ in 0..3 + dice.below(3) {
        if dice.chance(30) {
            // Within the recovery, or before anything is done.
            disk.fail_power_after(dice.below(20));
            match options(prepared, log, &mut dice).open_device(disk.device()) {
                Err(error) if !disk.power_failed() => return Err(not_opened(error)),
                _ => crash(&disk, &mut dice),
            }
        }
        let db = options(prepared, log, &mut dice).open_device(disk.device()).map_err(not_opened)?;
        had_schema = verify(&db, &acknowledged, had_schema)?;
        disk.fail_power_after(10 + dice.below(500));
        if dice.chance(30) {
            disk.set_sync_delay(Duration::from_micros(dice.below(2000)));
        }
        if had_schema || db.execute_script(SCHEMA).is_ok() {
            had_schema = true;
            strike(&db, &disk, &mut acknowledged, dice.draw())?;
        }
        crash(&disk, &mut dice);
    }
    let db = options(prepared, log, &mut dice).open_device(disk.device()).map_err(not_opened)?;
    verify(&db, &acknowledged, had_schema)?;
    Ok(Outcome::Held)
}

fn crash(disk: &SimDisk, dice: &mut Dice) {
    match dice.chance(30) {
        true => disk.kill(),
        false => disk.crash(survival(dice)),
    }
}

fn options(prepared: &Prepared, log: LogKind, dice: &mut Dice) -> Options {
    Options::new()
        .log(log)
        .durability(Durability::Fsync)
        .loggers(1 + dice.below(3) as usize)
        .keep_log(prepared.setting.keep_log)
        .checkpoint_threads(1 + dice.below(2) as usize)
        .recovery(dice.of(Scheme::ALL))
        .recovery_threads(1 + dice.below(3) as usize)
        .log_segments(8 << 10 << dice.below(3), dice.of(&[5, 50, 1000]))
}

/// Threads work until the power fails, or they have done enough.
fn strike(
    db: &Database,
    disk: &SimDisk,
    acknowledged: &mut [i64; THREADS],
    seed: u64,
) -> std::result::Result<(), String> {
    let stop = AtomicBool::new(false);
    thread::scope(|scope| {
        let workers: Vec<_> = acknowledged
            .iter()
            .enumerate()
            .map(|(thread, &done)| {
                let mut dice = Dice::new(seed, thread as u64);
                // What was in doubt may be there: ask.
                scope.spawn(move || work(db, thread as i64, done, &mut dice))
            })
            .collect();
        let checkpoints = scope.spawn(|| {
            let mut dice = Dice::new(seed, 99);
            while !stop.load(Ordering::Relaxed) && !disk.power_failed() {
                thread::sleep(Duration::from_micros(200 + dice.below(3000)));
                if let Err(e) = db.checkpoint()
                    && !disk.power_failed()
                {
                    return Err(format!("a checkpoint fails: {}", text(&e)));
                }
            }
            Ok(())
        });
        let mut outcome = Ok(());
        for (thread, worker) in workers.into_iter().enumerate() {
            let (done, error) = worker.join().map_err(|_| "a worker panicked".to_owned())?;
            acknowledged[thread] = done;
            if let Some(error) = error.filter(|_| !disk.power_failed()) {
                outcome = Err(format!("thread {thread}: {}", text(&error)));
            }
        }
        stop.store(true, Ordering::Relaxed);
        checkpoints.join().map_err(|_| "the thread of checkpoints panicked".to_owned())??;
        outcome
    })
}

/// Works on; what was acknowledged, and why it ended before it had done enough.
fn work(db: &Database, thread: i64, acknowledged: i64, dice: &mut Dice) -> (i64, Option<planaria::Error>) {
    let mut done = acknowledged;
    let mut session = match db.session() {
        Ok(session) => session,
        Err(e) => return (done, Some(e)),
    };
    let there = session
        .query("SELECT coalesce(max(n), 0) FROM ledger WHERE thread = $1", (thread,))
        .and_then(|rows| rows[0].get::<i64>(0));
    let first = match there {
        Ok(n) => n + 1,
        Err(e) => return (done, Some(e)),
    };
    for n in first..first + 120 {
        let (a, b) = (1 + dice.below(ACCOUNTS as u64) as i64, 1 + dice.below(ACCOUNTS as u64) as i64);
        if let Err(e) = one(&mut session, (thread, n, a, b), dice.chance(20)) {
            return (done, Some(e));
        }
        done = n;
    }
    (done, None)
}

fn one(session: &mut Session, call: (i64, i64, i64, i64), block: bool) -> Result<()> {
    if !block {
        return session.call("work", call).map(drop);
    }
    let (thread, n, a, b) = call;
    loop {
        match session.execute_script(&format!("BEGIN; CALL work({thread}, {n}, {a}, {b}); COMMIT")) {
            Err(e) if matches!(e.sqlstate().as_str(), "40001" | "40P01") => {
                session.execute("ROLLBACK", ()).map(drop)?
            }
            other => return other,
        }
    }
}

/// What the ledger says against what is there; whether the schema is.
fn verify(
    db: &Database,
    acknowledged: &[i64; THREADS],
    had_schema: bool,
) -> std::result::Result<bool, String> {
    let say = |e: planaria::Error| text(&e);
    db.check().map_err(say)?;
    let tables = db.digests().map_err(say)?;
    if tables.len() < 4 && acknowledged.iter().all(|n| *n == 0) && !had_schema {
        drop_all(db).map_err(say)?;
        return Ok(false);
    }
    let numbers = |sql: &str, columns: usize| -> std::result::Result<Vec<Vec<i64>>, String> {
        let rows = db.query(sql, ()).map_err(say)?;
        rows.iter()
            .map(|row| (0..columns).map(|c| row.get::<i64>(c)).collect::<Result<_>>().map_err(say))
            .collect()
    };
    let found = numbers("SELECT id, value FROM account ORDER BY id", 2)?;
    if found.is_empty() && acknowledged.iter().all(|n| *n == 0) {
        drop_all(db).map_err(say)?;
        return Ok(false);
    }
    let mut accounts: Vec<i64> = (0..=ACCOUNTS).map(|i| i * 1000).collect();
    let mut last = [0i64; THREADS];
    let ledger = numbers("SELECT place, thread, n, a, b FROM ledger ORDER BY place", 5)?;
    for (i, row) in ledger.iter().enumerate() {
        let (place, thread, n, a, b) = (row[0], row[1] as usize, row[2], row[3] as usize, row[4] as usize);
        if place != i as i64 + 1 || n != last[thread] + 1 {
            return Err(format!("place {place}, thread {thread}, n {n}: a gap before it"));
        }
        last[thread] = n;
        let old = accounts[a];
        accounts[a] = (old * 31 + place) % 1_000_003;
        accounts[b] += old % 7;
    }
    for (thread, (there, told)) in last.iter().zip(acknowledged).enumerate() {
        if there < told {
            return Err(format!("thread {thread}: {told} acknowledged, {there} there"));
        }
    }
    let expected: Vec<Vec<i64>> = (1..=ACCOUNTS).map(|i| vec![i, accounts[i as usize]]).collect();
    if found != expected {
        return Err(format!("accounts are {found:?}, the ledger leads to {expected:?}"));
    }
    let total = ledger.len() as i64;
    let counts = numbers("SELECT count(*), count(DISTINCT place) FROM journal", 2)?;
    if counts != [[total - total / 10; 2]] {
        return Err(format!("the journal has {counts:?} rows after {total} transactions"));
    }
    Ok(true)
}

/// Takes back what a crash left of the schema, which is some commits.
fn drop_all(db: &Database) -> Result<()> {
    db.execute_script(
        "DROP PROCEDURE IF EXISTS work; DROP TABLE IF EXISTS account; DROP TABLE IF EXISTS counter;
         DROP TABLE IF EXISTS ledger; DROP TABLE IF EXISTS journal",
    )
}
