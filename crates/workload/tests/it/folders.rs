//! Workloads from folders: the examples run, are checked and recovered; what is wrong is told with its line.

use planaria::{Database, Options};
use planaria_workload::{Set, Workload};
use std::path::Path;

fn example(name: &str, set: &[(&str, &str)]) -> Workload {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/workloads").join(name);
    let set: Vec<Set> = set.iter().map(|(n, v)| (n.to_string(), v.to_string())).collect();
    Workload::find(&path.display().to_string(), &set, None).unwrap_or_else(|e| panic!("{e} {:?}", e.fields()))
}

/// Runs it on three threads, checks it, and recovers it.
fn runs(name: &str, size: (&str, &str)) {
    let suite = example(name, &[size]);
    assert_eq!(suite.default_size.to_string(), size.1);
    let dir = tempfile::tempdir().expect("a directory");
    let db = Options::new().open(dir.path()).expect("opens");
    suite.install(&db, suite.default_size).unwrap_or_else(|e| panic!("{e} {:?}", e.fields()));
    assert_eq!(suite.violations(&db, false).expect("checks"), []);
    std::thread::scope(|scope| {
        for seed in 0..3 {
            let (db, suite) = (&db, &suite);
            scope.spawn(move || {
                let mut session = db.session().expect("a session");
                let mut driver = suite.driver(&mut session, suite.default_size, seed).expect("a driver");
                for _ in 0..300 {
                    let (kind, outcome) = driver.next(&mut session);
                    outcome.unwrap_or_else(|e| panic!("{}: {e}", suite.transactions[kind]));
                }
            });
        }
    });
    assert_eq!(suite.violations(&db, true).expect("checks"), []);
    let before = db.digests().expect("digests");
    db.close().expect("closes");
    let db = Options::new().open(dir.path()).expect("recovers");
    assert_eq!(db.digests().expect("digests"), before);
    assert_eq!(suite.violations(&db, true).expect("checks"), []);
}

#[test]
fn the_bank_runs() {
    runs("bank", ("accounts", "300"));
}

#[test]
fn the_auctions_run() {
    runs("auctions", ("auctions", "120"));
}

#[test]
fn smallbank_runs() {
    runs("smallbank", ("customers", "200"));
}

/// Rows and inputs are those of the seed, on any number of threads.
#[test]
fn the_same_seed_gives_the_same_rows() {
    let suite = example("auctions", &[]);
    let run = |threads| {
        let db = Database::in_memory().expect("opens");
        suite.install_parallel(&db, 11_000, threads, &|_, _| {}).expect("installs");
        let mut session = db.session().expect("a session");
        let mut driver = suite.driver(&mut session, 11_000, 9).expect("a driver");
        for _ in 0..200 {
            driver.next(&mut session).1.expect("runs");
        }
        db.digests().expect("digests")
    };
    assert_eq!(run(1), run(3));
}

/// A folder with this file of calls, a table and a procedure.
fn error(toml: &str) -> (String, String) {
    let dir = tempfile::tempdir().expect("a directory");
    let folder = dir.path().join("w");
    std::fs::create_dir(&folder).expect("makes");
    let schema = "CREATE TABLE t (id int PRIMARY KEY, name text);
        CREATE PROCEDURE put(p_id int, p_name text) LANGUAGE plpgsql AS $$
        BEGIN INSERT INTO t VALUES (p_id, p_name) ON CONFLICT DO NOTHING; END $$;";
    std::fs::write(folder.join("schema.sql"), schema).expect("writes");
    std::fs::write(folder.join("workload.toml"), toml).expect("writes");
    match Workload::find(&folder.display().to_string(), &[], None) {
        Ok(_) => panic!("it is right: {toml}"),
        Err(e) => {
            let message = e.message().split("workload.toml:").last().unwrap_or_default().to_owned();
            (message, e.fields().hint.clone().unwrap_or_default())
        }
    }
}

#[test]
fn what_is_wrong_is_told_with_its_line() {
    let head = "scale = \"n\"\n[variables]\nn = 10\n";
    let of = |transaction: &str| error(&format!("{head}[transactions.a]\n{transaction}"));
    for (transaction, message, hint) in [
        ("wieght = 3", "5: transaction \"a\" has no key \"wieght\"", "Did you mean \"weight\"?"),
        (
            "weight = true\ncall = \"put\"",
            "5: a text is wanted here, not true or false",
            "Numbers and expressions",
        ),
        ("weight = 1", "4: transaction \"a\" needs one of the keys \"call\" and \"sql\"", ""),
        ("call = \"putt\"", "5: transaction \"a\": ", "Did you mean \"put\"?"),
        (
            "call = \"put\"\nparameters.id = 1",
            "5: transaction \"a\": ",
            "It is put(IN p_id integer, IN p_name text); the workload gives it 1 parameter.",
        ),
        (
            "call = \"put\"\nparameters.id = { unifrom = \"n\" }",
            "6: there is no generator \"unifrom\"",
            "Did you mean \"uniform\"?",
        ),
        (
            "call = \"put(ide)\"\nparameters.id = 1",
            "5: there is no parameter \"ide\"",
            "Did you mean \"id\"?",
        ),
        (
            "call = \"put\"\nparameters.id = { string = 3 }\nparameters.name = { string = 3 }",
            "6: parameter \"id\" of \"a\": it is of type integer, and would be given a text",
            "",
        ),
        (
            "sql = \"SELECT * FROM t WHERE id = :idd\"\nparameters.id = 1",
            "5: nothing is named \":idd\"",
            "Did you mean \"id\"?",
        ),
        ("sql = \"SELECT * FROM tt\"", "5: transaction \"a\": relation \"tt\" does not exist", ""),
        (
            "sql = \"SELECT :id::int\"\nparameters.id = \"m + 1\"",
            "6: there is no variable and no parameter before this \"m\"",
            "",
        ),
        ("sql = \"SELECT :id::int\"\nparameters.id = \"1 / 0\"", "6: expression: division by zero", ""),
        (
            "sql = \"SELECT :id::int\"\nparameters.id = { uniform = [5, 1] }",
            "6: there is nothing between 5 and 1",
            "",
        ),
        (
            "sql = \"SELECT :id::int\"\nparameters.id = { zipf = \"n\", theta = 11 }",
            "6: theta is at least 0, and below 10",
            "",
        ),
        (
            "sql = \"SELECT 1\"\n[checks.c]\nsql = \"SELECT x FROM t\"",
            "7: check \"c\": column \"x\" does not exist",
            "",
        ),
        (
            "sql = \"SELECT 1\"\n[tables.t]\nrows = \"n\"\ncolumns.idd = \"row\"",
            "6: rows: table \"t\" has no column \"idd\"",
            "",
        ),
        (
            "sql = \"SELECT 1\"\n[tables.t]\nrows = \"n\"\ncolumns.id = { uuid = true }",
            "8: column \"id\": it is of type integer, and would be given a uuid",
            "",
        ),
    ] {
        let (said, hinted) = of(transaction);
        assert!(said.starts_with(message), "{transaction}\n{said}\n{message}");
        assert!(hinted.starts_with(hint), "{transaction}\n{hinted}");
    }
    assert_eq!(error("about = 1\nscale = \"n\"").0, "1: a text is wanted here, not a whole number");
    assert!(error("scale = \"n\n").0.starts_with("1: "));
}

#[test]
fn variables_are_set_by_name() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/workloads/bank");
    let set = vec![("acounts".to_owned(), "7".to_owned())];
    let error = Workload::find(&path.display().to_string(), &set, None).err().expect("a wrong name");
    assert_eq!(error.fields().hint.as_deref(), Some("Did you mean \"accounts\"?"));
    let error = Workload::find("tpcc", &set, None).err().expect("a workload of the shelf");
    assert_eq!(error.message(), "tpcc has no variable \"acounts\"");
}
