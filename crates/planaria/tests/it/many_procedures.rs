//! Logs over many tables and many procedures, some of which turn up late: they come back by every scheme, and a parallel
//! replay stops for few of them.

use planaria::lab::LabOptions;
use planaria::{Database, LogKind, Options, Scheme};
use planaria_sim::disk::SimDisk;
use std::fmt::Write as _;

const TABLES: u32 = 24;
const PROCEDURES: u32 = 60;

fn schema() -> String {
    let mut script = String::new();
    for t in 0..TABLES {
        write!(
            script,
            "CREATE TABLE account_{t} (id int PRIMARY KEY, balance bigint NOT NULL, entries int NOT NULL);
             CREATE TABLE journal_{t} (id int, entry int, amount bigint NOT NULL, PRIMARY KEY (id, entry));
             INSERT INTO account_{t} SELECT i, 0, 0 FROM generate_series(0, 19) i;"
        )
        .expect("writes");
    }
    for p in 0..PROCEDURES {
        let (from, to, journal) = (p % TABLES, (p * 7 + 3) % TABLES, p * 11 % TABLES);
        write!(
            script,
            "CREATE PROCEDURE book_{p}(p_from int, p_to int, p_amount bigint) LANGUAGE plpgsql AS $$
             DECLARE n int;
             BEGIN
                 UPDATE account_{from} SET balance = balance - p_amount, entries = entries + 1
                     WHERE id = p_from RETURNING entries INTO n;
                 UPDATE account_{to} SET balance = balance * 3 + p_amount WHERE id = p_to;
                 INSERT INTO journal_{journal} VALUES (p_from, n * 100 + {p}, p_amount);
             END $$;"
        )
        .expect("writes");
    }
    script
}

fn options(scheme: Scheme, threads: usize) -> Options {
    Options::new().log(LogKind::Command).recovery(scheme).recovery_threads(threads)
}

fn work(db: &Database) {
    db.execute_script(&schema()).expect("the schema");
    let mut session = db.session().expect("a session");
    let mut state = 5u32;
    let mut next = |n: u32| {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (state >> 8) % n
    };
    for call in 0..6_000 {
        // The later, the more of them.
        let p = next((call / 60 + 2).min(PROCEDURES));
        let (from, to, amount) = (next(20), next(20), next(1_000));
        session.execute(&format!("CALL book_{p}({from}, {to}, {amount})"), ()).expect("a call");
        if call == 4_000 {
            session
                .execute("CREATE TABLE afterwards (id int PRIMARY KEY)", ())
                .expect("a change of the schema");
        }
    }
}

#[test]
fn many_tables_and_procedures_come_back() {
    let disk = SimDisk::new(9);
    let db = options(Scheme::Clr, 1).open_device(disk.device()).expect("opens");
    work(&db);
    let digests = db.digests().expect("reads");
    drop(db);
    for scheme in Scheme::ALL.iter().copied() {
        for threads in [1, 3] {
            let db = options(scheme, threads)
                .open_device(disk.device())
                .unwrap_or_else(|e| panic!("{scheme:?}: {e}"));
            assert_eq!(db.digests().expect("reads"), digests, "{scheme:?} on {threads} threads");
            if scheme == Scheme::Regrow {
                let report = db.recovery().expect("was recovered");
                let changes = u64::from(2 * TABLES + PROCEDURES + 1) + u64::from(TABLES);
                assert!(report.barriers <= changes, "{} transactions were replayed alone", report.barriers);
            }
        }
    }
}
