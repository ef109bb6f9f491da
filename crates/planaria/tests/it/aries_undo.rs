//! A crash in the middle of an epoch: ARIES redoes what it finds of the epoch, and undoes it.

use planaria::lab::{LabOptions, verify_log};
use planaria::{Database, Durability, LogKind, Options, Scheme, Session};
use planaria_sim::disk::{SimDisk, Survival};

const SCHEMA: &str = "
    CREATE TABLE account (id int PRIMARY KEY, name text UNIQUE, balance int NOT NULL);
    CREATE TABLE journal (what text);
    CREATE SEQUENCE ticket;
    INSERT INTO account SELECT i, 'name ' || i, 100 FROM generate_series(1, 12) AS g(i);";

fn options() -> Options {
    Options::new().log(LogKind::Physiological).durability(Durability::Async).loggers(2)
}

/// Inserts, patches (one that makes a row longer), deletes, by sessions whose records go to different
/// loggers. Some of them change what others of the same epoch have changed.
fn run(db: &Database, steps: usize) {
    let mut sessions: Vec<Session> = (0..4).map(|_| db.session().expect("a session")).collect();
    for i in 0..steps {
        let (session, id) = (&mut sessions[i * 7 % 4], i as i32 % 12 + 1);
        let sql = match i % 6 {
            0 => format!("UPDATE account SET balance = balance + {i} WHERE id = {id}"),
            1 => format!("UPDATE account SET name = 'a longer name than before {i}' WHERE id = {id}"),
            2 => format!("INSERT INTO account VALUES ({}, 'new {i}', {i})", 100 + i),
            3 => format!("DELETE FROM account WHERE id = {}", 100 + i - 1 - i % 2 * 6),
            4 => "INSERT INTO journal VALUES ('step ' || nextval('ticket'))".to_owned(),
            _ => "DELETE FROM journal".to_owned(),
        };
        // The disk may have failed: nobody waits for it.
        let _ = session.execute(&sql, ());
        if i % 9 == 8 {
            let _ = db.flush();
        }
    }
}

#[test]
fn what_was_redone_of_a_torn_epoch_is_undone() {
    let (mut torn, mut undone) = (0, 0);
    for seed in 0..60 {
        let disk = SimDisk::new(seed);
        let db = options().open_device(disk.device()).expect("opens");
        db.execute_script(SCHEMA).expect("the schema");
        db.flush().expect("on disk");
        disk.fail_power_after(3 + seed % 17);
        run(&db, 60);
        drop(db);
        disk.crash(Survival::Chance);
        // Not written to: serial replay, which knows nothing of what is torn, says what must come out.
        for threads in [1, 2] {
            let found = verify_log(&|| Ok(disk.device()), Scheme::Aries, threads).expect("replays");
            assert!(found.is_clean(), "seed {seed}: {found:?}");
        }
        let db =
            options().recovery(Scheme::Aries).recovery_threads(2).open_device(disk.device()).expect("opens");
        let report = db.recovery().expect("a report");
        torn += u64::from(report.undone > 0);
        undone += report.undone;
        db.check().unwrap_or_else(|e| panic!("seed {seed}: {e}"));
        // The database goes on, in the state it is in, and the torn epoch is gone.
        let before = db.digests().expect("digests");
        db.execute("INSERT INTO account VALUES (1000, 'later', 0)", ()).expect("goes on");
        db.execute("DELETE FROM account WHERE id = 1000", ()).expect("goes on");
        db.close().expect("closes");
        let db = options().recovery(Scheme::Aries).open_device(disk.device()).expect("opens");
        assert_eq!(db.digests().expect("digests"), before, "seed {seed}");
        assert_eq!(db.recovery().expect("a report").undone, 0, "seed {seed}");
    }
    assert!(torn > 3 && undone > torn, "{torn} crashes left something to undo, {undone} transactions");
    println!("{torn} crashes, {undone} transactions undone");
}
