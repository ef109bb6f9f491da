//! Snapshots that one session exports and others import: all read one state, under one schema.

use planaria::{Database, Options, ProtocolKind, Session, SqlState};
use planaria_base::Result;

fn database(protocol: ProtocolKind) -> Database {
    let db = Options::new().protocol(protocol).in_memory().expect("opens");
    db.execute_script(
        "CREATE TABLE t (id int PRIMARY KEY, v int); INSERT INTO t SELECT g, 0 FROM generate_series(1, 10) g",
    )
    .expect("creates");
    db
}

fn run(session: &mut Session, statement: &str) -> Result<()> {
    session.execute(statement, ()).map(drop)
}

fn number(session: &mut Session, query: &str) -> i64 {
    session.query(query, ()).expect(query)[0].get(0).expect("a number")
}

fn export(session: &mut Session, level: &str) -> String {
    run(session, &format!("BEGIN ISOLATION LEVEL {level} READ ONLY")).expect("begins");
    session.query("SELECT pg_export_snapshot()", ()).expect("exports")[0].get(0).expect("a name")
}

fn import(session: &mut Session, level: &str, name: &str) -> Result<()> {
    run(session, &format!("BEGIN ISOLATION LEVEL {level} READ ONLY"))?;
    run(session, &format!("SET TRANSACTION SNAPSHOT '{name}'"))
}

const SUM: &str = "SELECT sum(v) * 100 + count(*) FROM t";

on_the_shelf! { one_state_for_all }

fn one_state_for_all(protocol: ProtocolKind) {
    let db = database(protocol);
    let [mut exporter, mut first, mut second] = [(); 3].map(|()| db.session().expect("a session"));
    let name = export(&mut exporter, "REPEATABLE READ");
    db.execute("UPDATE t SET v = v + 1", ()).expect("changes");
    db.execute("DELETE FROM t WHERE id = 3", ()).expect("deletes");
    import(&mut first, "REPEATABLE READ", &name).expect("imports");
    db.execute("INSERT INTO t VALUES (11, 7)", ()).expect("inserts");
    db.execute("ALTER TABLE t ADD COLUMN w int DEFAULT 5", ()).expect("another schema");
    import(&mut second, "REPEATABLE READ", &name).expect("imports");
    for session in [&mut exporter, &mut first, &mut second] {
        assert_eq!(number(session, SUM), 10);
        assert_eq!(number(session, "SELECT v FROM t WHERE id = 3"), 0);
        assert_eq!(
            run(session, "SELECT w FROM t").expect_err("is later").sqlstate(),
            SqlState::UNDEFINED_COLUMN
        );
        run(session, "ROLLBACK").expect("ends");
    }
    // The name has ended with its transaction.
    let gone = import(&mut first, "REPEATABLE READ", &name).expect_err("has ended");
    assert_eq!(
        (gone.sqlstate().as_str(), gone.message()),
        ("22023", &*format!("invalid snapshot identifier: \"{name}\""))
    );
    run(&mut first, "ROLLBACK").expect("ends");
    assert_eq!(number(&mut first, SUM), 9 * 100 + 7 * 100 + 10);
    db.check().expect("is whole");
}

#[test]
fn who_imports_reads_on_when_the_exporter_has_ended() {
    let db = database(ProtocolKind::Silo);
    let [mut exporter, mut importer, mut third] = [(); 3].map(|()| db.session().expect("a session"));
    let name = export(&mut exporter, "SERIALIZABLE");
    let again = exporter.query("SELECT pg_export_snapshot()", ()).expect("once more")[0]
        .get::<String>(0)
        .expect("a name");
    assert_ne!(name, again);
    import(&mut importer, "SERIALIZABLE", &again).expect("imports");
    run(&mut exporter, "COMMIT").expect("ends");
    for _ in 0..3 {
        db.execute("UPDATE t SET v = v + 1", ()).expect("changes");
        assert_eq!(number(&mut importer, SUM), 10);
    }
    // An importer exports, too.
    let name = importer.query("SELECT pg_export_snapshot()", ()).expect("exports")[0]
        .get::<String>(0)
        .expect("a name");
    import(&mut third, "REPEATABLE READ", &name).expect("imports");
    run(&mut importer, "COMMIT").expect("ends");
    assert_eq!(number(&mut third, SUM), 10);
    run(&mut third, "COMMIT").expect("ends");
    assert_eq!(number(&mut third, SUM), 30 * 100 + 10);
    // Nobody reads old versions any more.
    assert_eq!(number(&mut third, "SELECT count(*) FROM planaria_snapshots"), 0);
}

#[test]
fn a_name_ends_with_a_failed_transaction_and_a_lost_session() {
    let db = database(ProtocolKind::Silo);
    let [mut exporter, mut importer] = [(); 2].map(|()| db.session().expect("a session"));
    let name = export(&mut exporter, "REPEATABLE READ");
    run(&mut exporter, "SELECT 1 / 0").expect_err("fails");
    import(&mut importer, "REPEATABLE READ", &name).expect_err("has ended");
    run(&mut importer, "ROLLBACK").expect("ends");
    run(&mut exporter, "ROLLBACK").expect("ends");
    let name = export(&mut exporter, "REPEATABLE READ");
    drop(exporter);
    import(&mut importer, "REPEATABLE READ", &name).expect_err("has ended");
}

#[test]
fn what_cannot_be_is_refused_as_in_postgresql() {
    let db = database(ProtocolKind::Silo);
    let [mut exporter, mut other] = [(); 2].map(|()| db.session().expect("a session"));
    let repeatable = export(&mut exporter, "REPEATABLE READ");
    let mut refused = |statements: &[&str], state: &str, message: &str| {
        let (last, before) = statements.split_last().expect("a statement");
        for statement in before {
            run(&mut other, statement).expect(statement);
        }
        let error = run(&mut other, last).expect_err(last);
        assert_eq!((error.sqlstate().as_str(), error.message()), (state, message), "{statements:?}");
        run(&mut other, "ROLLBACK").expect("ends");
    };
    let set = format!("SET TRANSACTION SNAPSHOT '{repeatable}'");
    let level = "a snapshot-importing transaction must have isolation level SERIALIZABLE or REPEATABLE READ";
    refused(&["BEGIN ISOLATION LEVEL READ COMMITTED READ ONLY", &set], "0A000", level);
    refused(
        &["BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY", "SET TRANSACTION SNAPSHOT 'foo'"],
        "22023",
        "invalid snapshot identifier: \"foo\"",
    );
    let late = "SET TRANSACTION SNAPSHOT must be called before any query";
    refused(&["BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY", "SELECT 1", &set], "25001", late);
    refused(&["BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY", "SAVEPOINT a", &set], "25001", late);
    refused(&["BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY", &set, &set], "25001", late);
    refused(
        &[
            "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY",
            &set,
            "SET TRANSACTION ISOLATION LEVEL SERIALIZABLE",
        ],
        "25001",
        "SET TRANSACTION ISOLATION LEVEL must be called before any query",
    );
    refused(
        &["BEGIN ISOLATION LEVEL SERIALIZABLE READ ONLY", &set],
        "0A000",
        "a serializable transaction cannot import a snapshot from a non-serializable transaction",
    );
    refused(
        &["BEGIN ISOLATION LEVEL REPEATABLE READ", &set],
        "0A000",
        "importing a snapshot into a transaction that may write is not supported",
    );
    refused(
        &["BEGIN ISOLATION LEVEL REPEATABLE READ", "SELECT pg_export_snapshot()"],
        "0A000",
        "exporting the snapshot of a transaction that may write is not supported",
    );
    refused(
        &["BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY", "SAVEPOINT a", "SELECT pg_export_snapshot()"],
        "25001",
        "cannot export a snapshot from a subtransaction",
    );
    refused(
        &["SET LOCAL TRANSACTION SNAPSHOT 'a'"],
        "0A000",
        "SET LOCAL TRANSACTION SNAPSHOT is not supported",
    );
    // Of a statement alone: it has ended by the time that somebody hears its name.
    let alone =
        db.query("SELECT pg_export_snapshot()", ()).expect("a name")[0].get::<String>(0).expect("a name");
    refused(
        &["BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY", &format!("SET TRANSACTION SNAPSHOT '{alone}'")],
        "22023",
        &format!("invalid snapshot identifier: \"{alone}\""),
    );
    // At READ COMMITTED each statement reads anew; what one has exported stays.
    let mut committed = db.session().expect("a session");
    let name = export(&mut committed, "READ COMMITTED");
    db.execute("UPDATE t SET v = 1", ()).expect("changes");
    assert_eq!(number(&mut committed, SUM), 1010);
    import(&mut other, "REPEATABLE READ", &name).expect("imports");
    assert_eq!(number(&mut other, SUM), 10);
}
