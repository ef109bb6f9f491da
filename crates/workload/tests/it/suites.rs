//! The five suites, unchanged: their golden run prints what PostgreSQL 15 printed, and every check
//! reports 0; before and after a restart, under every scheme and log kind.

use planaria::lab::LabOptions;
use planaria::{Database, LogKind, Options, ProtocolKind, Session};
use planaria_workload::{Parameters, Suite, Workload};
use std::path::Path;

/// Runs a script and prints rows as `psql -X -q -At` does.
fn run(session: &mut Session, text: &str) -> String {
    let mut out = String::new();
    let outcome = session.execute_each(text, &mut |result| {
        for row in result.rows.iter().flatten() {
            let cells: Vec<String> =
                (0..row.values().len()).map(|i| row.text(i).unwrap_or_default()).collect();
            out.push_str(&cells.join("|"));
            out.push('\n');
        }
    });
    if let Err((error, position)) = outcome {
        let line = text[..position].matches('\n').count() + 1;
        panic!("line {line}: {error}\n{:?}", error.fields());
    }
    out
}

fn first_difference(got: &str, expected: &str) -> String {
    let mut lines = got.lines().zip(expected.lines()).enumerate();
    match lines.find(|(_, (a, b))| a != b) {
        Some((i, (a, b))) => format!("line {}:\n  got      {a}\n  expected {b}", i + 1),
        None => format!("{} lines instead of {}", got.lines().count(), expected.lines().count()),
    }
}

fn golden(suite: &Suite, db: &Database) {
    suite.install_schema(db).unwrap_or_else(|e| panic!("{}: {e} {:?}", suite.name, e.fields()));
    let mut session = db.session().expect("a session");
    let got = run(&mut session, suite.golden);
    assert!(got == suite.expected, "{}: {}", suite.name, first_difference(&got, suite.expected));
    checks(suite, db);
}

fn checks(suite: &Suite, db: &Database) {
    let violations = suite.violations(db, false).unwrap_or_else(|e| panic!("{}: {e}", suite.name));
    assert_eq!(violations, [], "{}", suite.name);
}

/// Golden run on a directory, then a restart: same rows in every table. The schemes take turns: with commands each has
/// its own, of the other logs, which a scheme knows less of, each suite has one.
fn recovers(suite: &Suite, log: LogKind) {
    let all = ProtocolKind::ALL;
    let log_at = LogKind::ALL.iter().position(|kind| *kind == log).expect("on the shelf");
    let suite_at = Suite::all().iter().position(|other| other.name == suite.name).expect("a suite");
    let one = [all[(suite_at * LogKind::ALL.len() + log_at) % all.len()]];
    for protocol in if log == LogKind::Command { all } else { &one } {
        println!("{}: {protocol}, log {log}", suite.name);
        recovers_under(suite, Options::new().log(log).protocol(*protocol).heal_always(true));
    }
}

fn recovers_under(suite: &Suite, options: Options) {
    let dir = tempfile::tempdir().expect("a directory");
    let db = options.clone().open(dir.path()).expect("opens");
    golden(suite, &db);
    let before = db.digests().expect("digests");
    db.close().expect("closes");
    let db = options.open(dir.path()).expect("recovers");
    assert!(db.recovery().is_some_and(|r| r.transactions > 0));
    assert_eq!(db.digests().expect("digests"), before, "{}", suite.name);
    checks(suite, &db);
}

macro_rules! suites {
    ($($name:ident)*) => {
        $(mod $name {
            use super::*;

            fn suite() -> &'static Suite {
                Suite::find(stringify!($name)).expect("a suite")
            }

            /// On every scheme `recovers_from_commands` compares, too.
            #[test]
            fn prints_what_postgresql_prints() {
                golden(suite(), &Options::new().in_memory().expect("opens"));
            }

            #[test]
            fn recovers_from_commands() {
                recovers(suite(), LogKind::Command);
            }

            #[test]
            fn recovers_from_after_images() {
                recovers(suite(), LogKind::Logical);
            }

            #[test]
            fn recovers_from_locations() {
                recovers(suite(), LogKind::Physical);
            }

            #[test]
            fn recovers_from_changed_words() {
                recovers(suite(), LogKind::Physiological);
            }

            #[test]
            fn recovers_from_whatever_is_cheaper() {
                recovers(suite(), LogKind::Adaptive);
            }
        })*
    };
}

suites! { tpcc smallbank ycsb voter tpcb }

/// Concurrent runs of every driver, under every scheme, leave every invariant in place, and recover to the same rows.
#[test]
fn concurrent_runs_keep_their_invariants_and_recover() {
    for (name, size) in [("smallbank", 200), ("ycsb", 500), ("voter", 6), ("tpcb", 1), ("tpcc", 1)] {
        let suite = Suite::find(name).expect("a suite");
        // Loaded once: what a checkpoint has is the same under every scheme.
        let loaded = tempfile::tempdir().expect("a directory");
        let db = Options::new().open(loaded.path()).expect("opens");
        suite.install(&db, size).expect("installs");
        db.checkpoint().expect("a checkpoint");
        db.close().expect("closes");
        for protocol in ProtocolKind::ALL {
            println!("{name} under {protocol}");
            let dir = tempfile::tempdir().expect("a directory");
            copy(loaded.path(), dir.path());
            concurrent_run(suite, size, &Options::new().protocol(*protocol).heal_always(true), dir.path());
        }
    }
}

fn copy(from: &Path, to: &Path) {
    for entry in std::fs::read_dir(from).expect("a directory") {
        let (source, name) = entry.map(|entry| (entry.path(), entry.file_name())).expect("an entry");
        if source.is_dir() {
            std::fs::create_dir(to.join(&name)).expect("a directory");
            copy(&source, &to.join(&name));
        } else {
            std::fs::copy(&source, to.join(&name)).expect("a copy");
        }
    }
}

fn concurrent_run(suite: &'static Suite, size: u64, options: &Options, dir: &Path) {
    let name = &suite.name;
    let db = options.clone().open(dir).expect("opens");
    std::thread::scope(|scope| {
        for seed in 0..3 {
            let db = &db;
            scope.spawn(move || {
                let mut session = db.session().expect("a session");
                let mut driver = suite.driver(&mut session, size, seed).expect("a driver");
                for _ in 0..300 {
                    let (kind, outcome) = driver.next(&mut session);
                    outcome.unwrap_or_else(|e| panic!("{name} {}: {e}", suite.transactions[kind]));
                }
            });
        }
    });
    assert_eq!(suite.violations(&db, true).expect("checks"), [], "{name}");
    let before = db.digests().expect("digests");
    db.close().expect("closes");
    let db = options.clone().open(dir).expect("recovers");
    assert_eq!(db.digests().expect("digests"), before, "{name}");
}

/// The load in parts makes the rows that the load in one transaction makes.
#[test]
fn loads_in_parts() {
    for (name, size) in [("smallbank", 100_003), ("ycsb", 20), ("voter", 5), ("tpcb", 2)] {
        let suite = Suite::find(name).expect("a suite");
        let (whole, parts) = (Database::in_memory().expect("opens"), Database::in_memory().expect("opens"));
        suite.install(&whole, size).expect("installs");
        suite.install_parallel(&parts, size, 2, &|_, _| {}).expect("installs in parts");
        assert_eq!(parts.digests().expect("digests"), whole.digests().expect("digests"), "{name}");
    }
}

/// SQL of one's own is run once the rows are loaded: here triggers, whose rows tell what the calls did.
#[test]
fn a_workload_is_prepared() {
    let audit = include_str!("../../../../examples/workloads/tpcc_audit.sql");
    let workload = Workload::find("tpcc", &[], Some(audit.to_owned())).expect("a workload");
    let dir = tempfile::tempdir().expect("a directory");
    let db = Options::new().open(dir.path()).expect("opens");
    workload.install(&db, 1).expect("installs");
    let mut session = db.session().expect("a session");
    let mut driver = workload.driver(&mut session, 1, 7).expect("a driver");
    for _ in 0..300 {
        driver.next(&mut session).1.expect("a transaction");
    }
    assert_eq!(workload.violations(&db, true).expect("checks"), []);
    // Each warehouse has 300,000.00 when it is loaded, and 30,000 orders.
    let told = "SELECT (SELECT sum(became - was) FROM audit WHERE tab = 'warehouse') =
                       (SELECT sum(w_ytd) - 300000 FROM warehouse)
                   AND (SELECT count(*) FROM audit WHERE tab = 'orders' AND op = 'INSERT') =
                       (SELECT count(*) - 30000 FROM orders)";
    assert!(db.query(told, ()).expect("counts")[0].get::<bool>(0).expect("a truth"));
    let how = db.query("EXPLAIN PROCEDURE tpcc_payment", ()).expect("explains");
    let how: Vec<String> = how.iter().map(|row| row.get(0).expect("text")).collect();
    assert!(how[1].starts_with("  Logged as: command"), "{how:?}");
    assert!(how.iter().any(|line| line.contains("call trigger audited of warehouse")), "{how:?}");
    let before = db.digests().expect("digests");
    drop((driver, session));
    db.close().expect("closes");
    let db = Options::new().open(dir.path()).expect("recovers");
    assert_eq!(db.digests().expect("digests"), before);
}

/// Nothing is inserted, and what must hold then does; the checks notice where it does not.
#[test]
fn tpcc_without_inserts_does_not_grow() {
    let suite = Suite::find("tpcc").expect("a suite");
    let db = Options::new().in_memory().expect("opens");
    suite.install(&db, 1).expect("installs");
    let parameters = Parameters { no_inserts: true, ..Parameters::default() };
    suite.make_ready(&db, &parameters).expect("adds its procedures");
    let mut session = db.session().expect("a session");
    let mut driver = suite.driver_with(&mut session, 1, 1, 0, &parameters).expect("a driver");
    let rows = |session: &mut Session| {
        let of = |table: &str| format!("(SELECT count(*) FROM {table})");
        let sql = ["orders", "order_line", "history", "customer", "stock"].map(of).join(" + ");
        session.query_one::<(i64,)>(&format!("SELECT {sql}"), ()).expect("counts")
    };
    let before = rows(&mut session);
    let mut done = [0; 5];
    for _ in 0..300 {
        let (number, outcome) = driver.next(&mut session);
        outcome.expect("is done");
        done[number] += 1;
    }
    assert!(done.iter().all(|n| *n > 0), "{done:?}");
    assert_eq!(rows(&mut session), before);
    let violations =
        |parameters: &Parameters| suite.violations_after(&db, 1, true, parameters).expect("checks");
    assert_eq!(violations(&parameters), []);
    assert_ne!(violations(&Parameters::default()), [], "histories do not tell of payments");
    session.execute("UPDATE warehouse SET w_ytd = w_ytd + 1", ()).expect("is changed");
    session.execute("UPDATE stock SET s_ytd = -1 WHERE s_i_id = 1", ()).expect("is changed");
    session.execute("DELETE FROM history WHERE h_c_id = 3", ()).expect("is changed");
    session.execute("UPDATE district SET d_next_o_id = d_next_o_id + 1000", ()).expect("is changed");
    let found: Vec<String> =
        violations(&parameters).into_iter().map(|v| v.condition[..3].to_owned()).collect();
    assert_eq!(found, ["C01", "N01", "N02", "N03", "N04"]);
}
