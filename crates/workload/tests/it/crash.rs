//! Real crashes: a process under concurrent load is killed with SIGKILL at random moments, again and
//! again on the same directory. After each recovery
//!
//! 1. every acknowledged transaction is there (rows of the ledger, per thread without a gap);
//! 2. none is there in part (the sum of all accounts is what the ledger says);
//! 3. the state is what a serial replay of the ledger, in its own order, gives: each transaction
//!    mixes the old value of an account in a way that no other order would.
//!
//! Each victim runs another scheme of the shelf, and what it leaves is recovered for the next one's.
//!
//! The seed of the moments is printed; `PLANARIA_CRASHES` sets how many there are.

use planaria::lab::LabOptions;
use planaria::{Database, Options, ProtocolKind, Session};
use std::collections::HashMap;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

const VICTIM: &str = "PLANARIA_CRASH_VICTIM";
/// Whether the victim writes one checkpoint after the other, so that it dies within one.
const CHECKPOINTS: &str = "PLANARIA_CRASH_CHECKPOINTS";
/// By which scheme it runs.
const PROTOCOL: &str = "PLANARIA_CRASH_PROTOCOL";
const THREADS: i64 = 3;
const ACCOUNTS: i64 = 40;

const SCHEMA: &str = "
    CREATE TABLE account (id bigint PRIMARY KEY, value bigint NOT NULL, touched text NOT NULL);
    CREATE INDEX account_by_value ON account (value);
    CREATE TABLE counter (id integer PRIMARY KEY, n bigint NOT NULL);
    CREATE TABLE ledger (thread bigint, n bigint, place bigint NOT NULL UNIQUE, a bigint, b bigint, at timestamp,
                         PRIMARY KEY (thread, n));
    CREATE TABLE journal (place bigint, note text);
    INSERT INTO counter VALUES (1, 0);
    INSERT INTO account SELECT i, i * 1000, 'new' FROM generate_series(1, 40) AS g(i);
    CREATE PROCEDURE work(p_thread bigint, p_n bigint, p_a bigint, p_b bigint)
    LANGUAGE plpgsql AS $$
    DECLARE
        v_place bigint;
        v_old bigint;
    BEGIN
        UPDATE counter SET n = n + 1 WHERE id = 1 RETURNING n INTO STRICT v_place;
        SELECT value INTO STRICT v_old FROM account WHERE id = p_a;
        UPDATE account SET value = (v_old * 31 + v_place) % 1000003, touched = 'by ' || p_thread || repeat('x', (v_place % 50)::integer)
        WHERE id = p_a;
        UPDATE account SET value = value + v_old % 7 WHERE id = p_b;
        INSERT INTO ledger VALUES (p_thread, p_n, v_place, p_a, p_b, localtimestamp);
        INSERT INTO journal VALUES (v_place, 'place ' || v_place);
        IF v_place % 10 = 0 THEN
            DELETE FROM journal WHERE place = v_place - 5;
        END IF;
    END $$;";

/// The process that is killed. Does nothing as a test of its own.
#[test]
fn victim() {
    let Ok(dir) = std::env::var(VICTIM) else { return };
    let protocol: ProtocolKind =
        std::env::var(PROTOCOL).ok().and_then(|name| name.parse().ok()).expect("the victim's scheme");
    let db = Options::new().protocol(protocol).heal_always(true).open(&dir).expect("the victim opens");
    let done: Vec<i64> = (0..THREADS)
        .map(|t| {
            let rows =
                db.query("SELECT coalesce(max(n), 0) FROM ledger WHERE thread = $1", (t,)).expect("a query");
            rows[0].get(0).expect("a number")
        })
        .collect();
    println!("ready");
    std::thread::scope(|scope| {
        if std::env::var(CHECKPOINTS).is_ok() {
            scope.spawn(|| {
                loop {
                    db.checkpoint().expect("a checkpoint");
                    std::thread::sleep(Duration::from_millis(5));
                }
            });
        }
        for thread in 0..THREADS {
            let (db, first) = (&db, done[thread as usize] + 1);
            scope.spawn(move || {
                let mut session = db.session().expect("a session");
                for n in first.. {
                    one(&mut session, thread, n);
                    let mut out = std::io::stdout().lock();
                    let _ = writeln!(out, "ack {thread} {n}").and_then(|()| out.flush());
                }
            });
        }
    });
}

fn one(session: &mut Session, thread: i64, n: i64) {
    let (a, b) = ((thread * 7 + n * 13) % ACCOUNTS + 1, (thread * 3 + n * 17 + 1) % ACCOUNTS + 1);
    if n % 11 == 0 {
        // An ad hoc transaction with the same effects, logged by value.
        loop {
            let outcome =
                session.execute_script(&format!("BEGIN; CALL work({thread}, {n}, {a}, {b}); COMMIT;"));
            match outcome {
                Ok(()) => return,
                Err(e) if e.sqlstate().as_str() == "40001" => {
                    if session.in_transaction() {
                        session.execute("ROLLBACK", ()).expect("rolls back");
                    }
                }
                Err(e) => panic!("{e}"),
            }
        }
    }
    session.call("work", (thread, n, a, b)).expect("the call commits");
}

/// Starts the victim, lets it run, kills it; what it acknowledged, per thread.
fn crash(
    dir: &Path,
    protocol: ProtocolKind,
    run: Duration,
    checkpoints: bool,
    acknowledged: &mut HashMap<i64, i64>,
) {
    let mut command = Command::new(std::env::current_exe().expect("this test"));
    if checkpoints {
        command.env(CHECKPOINTS, "yes");
    }
    let mut child = command
        .args(["crash::victim", "--exact", "--nocapture", "--test-threads=1"])
        .env(VICTIM, dir)
        .env(PROTOCOL, protocol.name())
        .stdout(Stdio::piped())
        .stderr(Stdio::inherit())
        .spawn()
        .expect("starts");
    let pipe = child.stdout.take().expect("a pipe");
    let reader = std::thread::spawn(move || {
        let mut ready = None;
        let mut acks = Vec::new();
        for line in BufReader::new(pipe).lines().map_while(Result::ok) {
            if line.ends_with("ready") {
                ready = Some(Instant::now());
            }
            // A line cut short by the kill is no acknowledgement.
            let words: Vec<&str> = line.split(' ').collect();
            if let ["ack", thread, n] = words[..]
                && let (Ok(thread), Ok(n)) = (thread.parse::<i64>(), n.parse::<i64>())
            {
                acks.push((thread, n));
            }
        }
        (ready, acks)
    });
    std::thread::sleep(run);
    let early = child.try_wait().expect("asks");
    child.kill().expect("kills");
    child.wait().expect("waits");
    assert!(early.is_none(), "the victim died before it was killed: {early:?}");
    let (_, mut acks) = reader.join().expect("the reader");
    // The very last line may have lost digits.
    acks.pop();
    for (thread, n) in acks {
        let last = acknowledged.entry(thread).or_default();
        *last = (*last).max(n);
    }
}

/// Recovers for a scheme, and looks whether all is there; answers with the number of transactions.
fn verify(dir: &Path, protocol: ProtocolKind, acknowledged: &HashMap<i64, i64>) -> i64 {
    let db = Options::new().protocol(protocol).heal_always(true).open(dir).expect("recovers");
    let mut accounts: Vec<i64> = (0..=ACCOUNTS).map(|i| i * 1000).collect();
    let mut last = vec![0i64; THREADS as usize];
    let rows = db.query("SELECT place, thread, n, a, b FROM ledger ORDER BY place", ()).expect("the ledger");
    for (i, row) in rows.iter().enumerate() {
        let v = |c: usize| row.get::<i64>(c).expect("a number");
        let (place, thread, n, a, b) = (v(0), v(1), v(2), v(3) as usize, v(4) as usize);
        assert_eq!(place, i as i64 + 1, "the places have no gap");
        assert_eq!(n, last[thread as usize] + 1, "thread {thread} has no gap");
        last[thread as usize] = n;
        let old = accounts[a];
        accounts[a] = (old * 31 + place) % 1_000_003;
        accounts[b] += old % 7;
    }
    for (thread, n) in acknowledged {
        assert!(
            last[*thread as usize] >= *n,
            "thread {thread}: {n} acknowledged, {} there",
            last[*thread as usize]
        );
    }
    let rows = db.query("SELECT id, value FROM account ORDER BY id", ()).expect("the accounts");
    for row in &rows {
        let id: i64 = row.get(0).expect("an id");
        assert_eq!(row.get::<i64>(1).expect("a value"), accounts[id as usize], "account {id}");
    }
    let by_index = db.query("SELECT count(*) FROM account WHERE value >= 0", ()).expect("by index");
    assert_eq!(by_index[0].get::<i64>(0).expect("a count"), ACCOUNTS);
    let places = rows.len() as i64;
    assert_eq!(places, ACCOUNTS);
    let total = last.iter().sum::<i64>();
    let counter = db.query("SELECT n FROM counter", ()).expect("the counter");
    assert_eq!(counter[0].get::<i64>(0).expect("a number"), total);
    let journal = db.query("SELECT count(*), count(DISTINCT place) FROM journal", ()).expect("the journal");
    assert_eq!(journal[0].get::<i64>(0).expect("a count"), journal[0].get::<i64>(1).expect("a count"));
    assert_eq!(journal[0].get::<i64>(0).expect("a count"), total - total / 10);
    db.close().expect("closes");
    total
}

#[test]
fn nothing_acknowledged_is_ever_lost() {
    again_and_again(false, 40);
}

#[test]
fn nor_in_the_middle_of_checkpoints() {
    again_and_again(true, 20);
}

fn again_and_again(checkpoints: bool, crashes: u32) {
    if std::env::var(VICTIM).is_ok() {
        return;
    }
    let crashes: u32 = std::env::var("PLANARIA_CRASHES").ok().and_then(|n| n.parse().ok()).unwrap_or(crashes);
    let mut seed: u64 = std::env::var("PLANARIA_SEED").ok().and_then(|n| n.parse().ok()).unwrap_or(1);
    println!("seed {seed}, {crashes} crashes");
    let dir = tempfile::tempdir().expect("a directory");
    let db = Database::open(dir.path()).expect("opens");
    db.execute_script(SCHEMA).expect("the schema");
    db.close().expect("closes");
    let mut acknowledged = HashMap::new();
    let mut total = 0;
    let newest = || planaria::checkpoint::verify(dir.path(), 2, &mut |_, _| ());
    let mut crashed = 0;
    // On a busy machine victims come to fewer checkpoints: later ones live longer.
    while crashed < crashes
        || checkpoints && newest().map_or(0, |c| c.number) <= crashes && crashed < 5 * crashes
    {
        crashed += 1;
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let run = Duration::from_millis(30 + (seed >> 33) % 220) * (1 + crashed / crashes);
        let [protocol, next] =
            [0, 1].map(|n| ProtocolKind::ALL[(crashed + n) as usize % ProtocolKind::ALL.len()]);
        println!("crash {crashed}, under {protocol}");
        crash(dir.path(), protocol, run, checkpoints, &mut acknowledged);
        let now = verify(dir.path(), next, &acknowledged);
        assert!(now >= total);
        total = now;
    }
    if checkpoints {
        let newest = newest().expect("a checkpoint");
        assert!(newest.number > crashes, "{} checkpoints, {crashed} crashes", newest.number);
    }
    println!("{total} transactions, {} acknowledged", acknowledged.values().sum::<i64>());
    assert!(total > 0, "no victim lived long enough to do anything");
}
