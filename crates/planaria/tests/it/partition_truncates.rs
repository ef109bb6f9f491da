//! TRUNCATE of a partition in a transaction block, as `pg_restore -j` has it before it fills the partition: others fill the
//! partitions beside it meanwhile. Whoever writes to the same partition waits, or is waited for.

use crate::logged::replayed_by_all;
use planaria::{Database, Options, ProtocolKind, Result, Session};
use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::Duration;

on_the_shelf! {
    others_fill_their_partitions
    writers_of_the_partition_wait
    it_waits_for_writers_of_the_partition
    who_may_have_touched_it_goes_on
    what_was_read_before_has_to_hold
    rows_that_came_before_go
    savepoints_let_go
    levels_have_what_they_promise
    many_restore_at_once
}

/// Roots by each strategy, with keys and without: how they are made, two partitions, and a value of each one's rows.
const ROOTS: [(&str, &str, [(&str, i32); 2]); 7] = [
    (
        "list",
        "CREATE TABLE r (k int, v text) PARTITION BY LIST (k);
         CREATE TABLE p1 PARTITION OF r FOR VALUES IN (1, 11); CREATE TABLE p2 PARTITION OF r FOR VALUES IN (2)",
        [("p1", 1), ("p2", 2)],
    ),
    (
        "list with a key",
        "CREATE TABLE r (k int, n serial, v text, PRIMARY KEY (k, n)) PARTITION BY LIST (k);
         CREATE TABLE p1 PARTITION OF r FOR VALUES IN (1); CREATE TABLE p2 PARTITION OF r FOR VALUES IN (2);
         CREATE INDEX ON r (v)",
        [("p1", 1), ("p2", 2)],
    ),
    (
        "range",
        "CREATE TABLE r (k int, v text) PARTITION BY RANGE (k);
         CREATE TABLE p1 PARTITION OF r FOR VALUES FROM (0) TO (10);
         CREATE TABLE p2 PARTITION OF r FOR VALUES FROM (10) TO (MAXVALUE)",
        [("p1", 5), ("p2", 15)],
    ),
    (
        "range with a key",
        "CREATE TABLE r (k int, n serial, v text, PRIMARY KEY (n, k)) PARTITION BY RANGE (k);
         CREATE TABLE p1 PARTITION OF r FOR VALUES FROM (0) TO (10);
         CREATE TABLE p2 PARTITION OF r FOR VALUES FROM (10) TO (MAXVALUE)",
        [("p1", 5), ("p2", 15)],
    ),
    (
        "hash",
        "CREATE TABLE r (k int, v text) PARTITION BY HASH (k);
         CREATE TABLE p1 PARTITION OF r FOR VALUES WITH (MODULUS 2, REMAINDER 0);
         CREATE TABLE p2 PARTITION OF r FOR VALUES WITH (MODULUS 2, REMAINDER 1)",
        [("p1", 1), ("p2", 3)],
    ),
    (
        "a default",
        "CREATE TABLE r (k int, v text) PARTITION BY LIST (k);
         CREATE TABLE p1 PARTITION OF r DEFAULT; CREATE TABLE p2 PARTITION OF r FOR VALUES IN (2)",
        [("p1", 77), ("p2", 2)],
    ),
    (
        "below a partition",
        "CREATE TABLE r (k int, v text) PARTITION BY RANGE (k);
         CREATE TABLE p PARTITION OF r FOR VALUES FROM (0) TO (10) PARTITION BY LIST (k);
         CREATE TABLE p1 PARTITION OF p FOR VALUES IN (1); CREATE TABLE p2 PARTITION OF p FOR VALUES IN (2)",
        [("p1", 1), ("p2", 2)],
    ),
];

const SOON: Duration = Duration::from_millis(100);
const LONG: Duration = Duration::from_secs(60);

fn database(protocol: ProtocolKind, schema: &str) -> Database {
    let db = Options::new().protocol(protocol).in_memory().expect("opens");
    db.execute_script(schema).expect("the schema");
    db
}

fn session(db: &Database) -> Session {
    db.session().expect("a session")
}

/// Two partitions by list, with a row each, and what else writes to them.
fn two_parts(protocol: ProtocolKind) -> Database {
    let db = database(protocol, ROOTS[0].1);
    db.execute_script(
        "CREATE TABLE other (n int PRIMARY KEY);
         CREATE FUNCTION put() RETURNS trigger LANGUAGE plpgsql AS $$
         BEGIN INSERT INTO r VALUES (1, 'deferred'); RETURN NULL; END $$;
         CREATE CONSTRAINT TRIGGER late AFTER INSERT ON other DEFERRABLE INITIALLY DEFERRED
             FOR EACH ROW EXECUTE FUNCTION put();
         CREATE FUNCTION put_one(what text) RETURNS int LANGUAGE sql AS 'INSERT INTO r VALUES (1, what) RETURNING k';
         INSERT INTO r VALUES (1, 'old'), (2, 'old');",
    )
    .expect("the schema");
    db
}

/// Runs a script in a session of its own; the channel has its end.
fn beside(db: &Database, script: &str) -> Receiver<Result<()>> {
    let (mut session, (tell, told), script) = (session(db), channel(), script.to_owned());
    thread::spawn(move || tell.send(session.execute_script(&script)));
    told
}

fn ends(told: &Receiver<Result<()>>, what: &str) -> Result<()> {
    told.recv_timeout(LONG).unwrap_or_else(|_| panic!("{what} waits"))
}

fn waits(told: &Receiver<Result<()>>, what: &str) {
    thread::sleep(SOON);
    assert!(told.try_recv().is_err(), "{what} did not wait");
}

fn values(db: &Database, part: &str) -> String {
    let rows = db.query(&format!("SELECT v FROM {part} ORDER BY v"), ()).expect("reads");
    rows.iter().map(|row| row.get::<String>(0).expect("a text")).collect::<Vec<_>>().join(" ")
}

fn others_fill_their_partitions(protocol: ProtocolKind) {
    for (what, schema, [(one, first), (two, second)]) in ROOTS {
        let db = database(protocol, schema);
        db.execute_script(&format!("INSERT INTO r (k, v) VALUES ({first}, 'old'), ({second}, 'old')"))
            .expect("fills");
        let (mut a, mut b) = (session(&db), session(&db));
        a.execute_script(&format!("BEGIN; TRUNCATE ONLY {one}")).expect(what);
        // One that is over before the first goes on, and one that ends behind it.
        let filled = format!(
            "BEGIN; TRUNCATE TABLE ONLY {two}; INSERT INTO {two} (k, v) VALUES ({second}, 'new'); COMMIT"
        );
        ends(&beside(&db, &filled), what).expect(what);
        let single = format!("INSERT INTO {two} (k, v) VALUES ({second}, 'more')");
        ends(&beside(&db, &single), what).expect(what);
        let changes =
            format!("UPDATE {two} SET v = 'most' WHERE v = 'more'; DELETE FROM {two} WHERE v = 'none'");
        ends(&beside(&db, &changes), what).expect(what);
        b.execute_script(&format!("BEGIN; INSERT INTO {two} (k, v) VALUES ({second}, 'last')")).expect(what);
        a.execute_script(&format!(
            "INSERT INTO {one} (k, v) VALUES ({first}, 'new'), ({first}, 'more'); COMMIT"
        ))
        .unwrap_or_else(|e| panic!("{what}, {protocol}: {e}"));
        b.execute_script("COMMIT").expect(what);
        assert_eq!(values(&db, one), "more new", "{what}");
        assert_eq!(values(&db, two), "last most new", "{what}");
        db.check().expect("is whole");
    }
}

fn writers_of_the_partition_wait(protocol: ProtocolKind) {
    let writers = [
        "INSERT INTO p1 VALUES (1, 'later')",
        "INSERT INTO r VALUES (11, 'later')",
        "BEGIN; INSERT INTO p1 VALUES (1, 'later'); COMMIT",
        "INSERT INTO r SELECT 1, 'later'",
        "DELETE FROM p1; INSERT INTO p1 VALUES (1, 'later')",
        "UPDATE r SET k = 1 WHERE k = 2",
        "UPDATE p1 SET v = 'none'",
        "SELECT put_one('later')",
        "DO $$ BEGIN EXECUTE 'INSERT INTO r VALUES (1, ''later'')'; END $$",
        "INSERT INTO other VALUES (1)",
        "BEGIN; INSERT INTO other VALUES (1); COMMIT",
        "BEGIN; TRUNCATE p1; INSERT INTO p1 VALUES (1, 'later'); COMMIT",
        "BEGIN; TRUNCATE r; COMMIT",
        "TRUNCATE p1",
        "LOCK TABLE p1 IN ROW EXCLUSIVE MODE",
    ];
    for writer in writers {
        let db = two_parts(protocol);
        let mut a = session(&db);
        a.execute_script("BEGIN; TRUNCATE p1; INSERT INTO p1 VALUES (1, 'mine')").expect("empties");
        let script =
            if writer.starts_with("LOCK") { format!("BEGIN; {writer}; COMMIT") } else { writer.to_owned() };
        let told = beside(&db, &script);
        waits(&told, writer);
        a.execute_script("COMMIT").expect(writer);
        ends(&told, writer).expect(writer);
        let left = values(&db, "p1");
        let expected = match writer {
            _ if writer.contains("TRUNCATE r") || writer == "TRUNCATE p1" => "",
            _ if writer.contains("DELETE") || writer.contains("TRUNCATE p1") => "later",
            "UPDATE r SET k = 1 WHERE k = 2" => "mine old",
            "UPDATE p1 SET v = 'none'" => "none",
            _ if writer.contains("other") => "deferred mine",
            _ if writer.contains("LOCK") => "mine",
            _ => "later mine",
        };
        assert_eq!(left, expected, "{writer}");
    }
}

fn it_waits_for_writers_of_the_partition(protocol: ProtocolKind) {
    for writer in [
        "INSERT INTO p1 VALUES (1, 'before')",
        "INSERT INTO r VALUES (1, 'before')",
        "UPDATE r SET k = 1 WHERE k = 2",
        "DELETE FROM p1",
        "SELECT put_one('before')",
        "DO $$ BEGIN EXECUTE 'INSERT INTO r VALUES (1, ''before'')'; END $$",
        "TRUNCATE p1; INSERT INTO p1 VALUES (1, 'before')",
    ] {
        for end in ["COMMIT", "ROLLBACK"] {
            let db = two_parts(protocol);
            let mut a = session(&db);
            a.execute_script(&format!("BEGIN; {writer}")).expect(writer);
            let told = beside(&db, "BEGIN; TRUNCATE p1; INSERT INTO p1 VALUES (1, 'mine'); COMMIT");
            waits(&told, writer);
            a.execute_script(end).expect(writer);
            ends(&told, writer).expect(writer);
            assert_eq!(values(&db, "p1"), "mine", "{writer}");
        }
    }
    // Who gives up waiting has changed nothing, and who waits for each other is told.
    let db = two_parts(protocol);
    let (mut a, mut b) = (session(&db), session(&db));
    a.execute_script("BEGIN; INSERT INTO p1 VALUES (1, 'before')").expect("inserts");
    b.execute_script("SET lock_timeout = '50ms'; BEGIN").expect("begins");
    let refused = b.execute_script("TRUNCATE p1").expect_err("waits in vain");
    assert_eq!(refused.sqlstate().as_str(), "55P03");
    assert_eq!(b.execute_script("SELECT 1").expect_err("has failed").sqlstate().as_str(), "25P02");
    b.execute_script("ROLLBACK; SET lock_timeout = 0; BEGIN; TRUNCATE p2").expect("begins anew");
    let told = {
        let (tell, told) = channel();
        thread::spawn(move || {
            let outcome = b.execute_script("TRUNCATE p1; COMMIT");
            drop(b);
            tell.send(outcome)
        });
        told
    };
    thread::sleep(SOON);
    let other = a.execute_script("INSERT INTO p2 VALUES (2, 'late'); COMMIT");
    drop(a);
    let one = ends(&told, "the other");
    let failed: Vec<_> = [one, other].into_iter().filter_map(Result::err).collect();
    assert_eq!(failed.len(), 1, "{failed:?}");
    assert_eq!(failed[0].sqlstate().as_str(), "40P01");
}

/// What has come to the partition since the block has read it is a conflict; what it has not read is none.
/// Who has run texts made at run time may have touched anything: it is waited for, and does not wait itself.
fn who_may_have_touched_it_goes_on(protocol: ProtocolKind) {
    let db = two_parts(protocol);
    db.execute_script(
        "CREATE TABLE apart (n int PRIMARY KEY);
         CREATE FUNCTION dynamic(n int) RETURNS void LANGUAGE plpgsql AS $$
         BEGIN EXECUTE 'INSERT INTO apart VALUES ($1)' USING n; END $$;",
    )
    .expect("the schema");
    let mut first = session(&db);
    first.execute_script("BEGIN; SELECT dynamic(1)").expect("it runs");
    let truncated = beside(&db, "BEGIN; TRUNCATE p1; COMMIT");
    waits(&truncated, "TRUNCATE");
    first
        .execute_script("SELECT dynamic(2); INSERT INTO r VALUES (1, 'late'), (2, 'late')")
        .expect("it goes on");
    waits(&truncated, "TRUNCATE");
    first.execute_script("COMMIT").expect("it commits");
    ends(&truncated, "TRUNCATE").expect("it has its turn");
    assert_eq!((values(&db, "p1"), values(&db, "p2")), (String::new(), "late old".to_owned()));
}

fn what_was_read_before_has_to_hold(protocol: ProtocolKind) {
    let db = two_parts(protocol);
    let mut a = session(&db);
    for reads in ["SELECT count(*) FROM p1", "SELECT count(*) FROM r", "SELECT * FROM r WHERE v = 'new'"] {
        a.execute_script(&format!("BEGIN; {reads}")).expect(reads);
        db.execute_script("INSERT INTO p1 VALUES (1, 'new')").expect("inserts");
        let outcome = a.execute_script("TRUNCATE p1; INSERT INTO p1 VALUES (1, 'mine'); COMMIT");
        assert_eq!(outcome.expect_err(reads).sqlstate().as_str(), "40001", "{reads}");
        a.execute_script("ROLLBACK").expect("ends");
        assert!(values(&db, "p1").contains("new"), "{reads}");
        db.execute_script("DELETE FROM p1").expect("deletes");
    }
    // And so is what comes to another partition that it has read.
    a.execute_script("BEGIN; SELECT count(*) FROM p2; TRUNCATE p1").expect("reads and empties");
    ends(&beside(&db, "INSERT INTO p2 VALUES (2, 'new')"), "another partition").expect("inserts");
    let outcome = a.execute_script("INSERT INTO p1 VALUES (1, 'mine'); COMMIT");
    assert_eq!(outcome.expect_err("p2").sqlstate().as_str(), "40001");
    a.execute_script("ROLLBACK").expect("ends");
}

fn rows_that_came_before_go(protocol: ProtocolKind) {
    for level in ["SERIALIZABLE", "READ COMMITTED"] {
        let db = two_parts(protocol);
        let mut a = session(&db);
        a.execute_script(&format!("BEGIN ISOLATION LEVEL {level}; SELECT * FROM other")).expect("begins");
        db.execute_script("INSERT INTO p1 VALUES (1, 'new'); UPDATE p1 SET v = 'changed' WHERE v = 'old'")
            .expect("changes");
        db.execute_script("INSERT INTO r VALUES (2, 'new')").expect("inserts");
        a.execute_script("TRUNCATE p1; INSERT INTO p1 SELECT 1, count(*)::text FROM p1; COMMIT")
            .expect(level);
        assert_eq!(values(&db, "p1"), "0", "{level}");
        assert_eq!(values(&db, "p2"), "new old", "{level}");
        let mut a = session(&db);
        a.execute_script(&format!("BEGIN ISOLATION LEVEL {level}; SELECT * FROM other")).expect("begins");
        db.execute_script("DELETE FROM p1").expect("deletes");
        a.execute_script("TRUNCATE p1; INSERT INTO p1 SELECT 1, count(*)::text FROM p1; COMMIT")
            .expect(level);
        assert_eq!(values(&db, "p1"), "0", "{level}");
    }
}

fn savepoints_let_go(protocol: ProtocolKind) {
    let db = two_parts(protocol);
    let mut a = session(&db);
    a.execute_script("BEGIN; SAVEPOINT s; TRUNCATE p1; ROLLBACK TO s").expect("goes back");
    ends(&beside(&db, "INSERT INTO p1 VALUES (1, 'new')"), "nothing is locked").expect("inserts");
    a.execute_script("TRUNCATE p1").expect("empties");
    let told = beside(&db, "INSERT INTO p1 VALUES (1, 'later')");
    waits(&told, "it is locked");
    let locks = "SELECT string_agg(relation::regclass || ' ' || mode || ' ' || granted, ', ' ORDER BY granted, mode DESC)
        FROM pg_locks WHERE relation = 'p1'::regclass";
    let locks = db.query(locks, ()).expect("reads")[0].get::<String>(0).expect("a text");
    assert_eq!(locks, "p1 RowExclusiveLock false, p1 ShareRowExclusiveLock true, p1 RowExclusiveLock true");
    a.execute_script("ROLLBACK").expect("ends");
    ends(&told, "it is not locked any more").expect("inserts");
    assert_eq!(values(&db, "p1"), "later new old");
}

fn levels_have_what_they_promise(protocol: ProtocolKind) {
    // Who stays with a moment is told of what has changed since.
    let db = two_parts(protocol);
    let mut a = session(&db);
    for change in ["UPDATE p1 SET v = 'changed'", "DELETE FROM p1"] {
        a.execute_script("BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT * FROM other").expect("begins");
        db.execute_script(change).expect("changes");
        let outcome = a.execute_script("TRUNCATE p1; COMMIT");
        assert_eq!(outcome.expect_err(change).sqlstate().as_str(), "40001", "{change}");
        a.execute_script("ROLLBACK").expect("ends");
    }
}

fn many_restore_at_once(protocol: ProtocolKind) {
    let parts = 6;
    let mut schema = "CREATE TABLE r (k int, v int) PARTITION BY LIST (k);".to_owned();
    for part in 0..parts {
        schema += &format!("CREATE TABLE p{part} PARTITION OF r FOR VALUES IN ({part});");
    }
    let db = database(protocol, &schema);
    for round in 0..5 {
        thread::scope(|scope| {
            for worker in 0..3 {
                let db = &db;
                scope.spawn(move || {
                    let mut session = session(db);
                    for part in (worker..parts).step_by(3) {
                        session
                            .execute_script(&format!("BEGIN; TRUNCATE TABLE ONLY p{part}"))
                            .expect("empties");
                        for row in 0..40 {
                            session
                                .execute(&format!("INSERT INTO p{part} VALUES ({part}, {row})"), ())
                                .unwrap_or_else(|e| panic!("round {round}: {e}"));
                        }
                        session.execute_script("COMMIT").unwrap_or_else(|e| panic!("round {round}: {e}"));
                    }
                });
            }
        });
        let rows = db.query("SELECT count(*) FROM r", ()).expect("reads");
        assert_eq!(rows[0].get::<i64>(0).expect("a number"), 40 * i64::from(parts));
    }
    db.check().expect("is whole");
}

#[test]
fn every_scheme_sees_the_same_rows() {
    replayed_by_all(
        ROOTS[1].1,
        &|db| {
            let (mut a, mut b) = (session(db), session(db));
            db.execute_script("INSERT INTO r (k, v) VALUES (1, 'old'), (2, 'old')").expect("fills");
            a.execute_script("BEGIN; TRUNCATE p1; INSERT INTO p1 (k, v) VALUES (1, 'a')").expect("empties");
            b.execute_script("BEGIN; TRUNCATE p2; INSERT INTO p2 (k, v) VALUES (2, 'b')").expect("empties");
            b.execute_script("SAVEPOINT s; TRUNCATE p2; ROLLBACK TO s").expect("takes it back");
            a.execute_script("COMMIT").expect("commits");
            b.execute_script("COMMIT").expect("commits");
        },
        &|db| {
            assert_eq!(values(db, "p1"), "a");
            assert_eq!(values(db, "p2"), "b");
        },
    );
}

/// Keys name the root: what refers to it keeps the rows of its partitions where they are, in DO as well.
#[test]
fn rows_that_others_refer_to_stay() {
    let db = database(
        ProtocolKind::default(),
        "CREATE TABLE r (k int PRIMARY KEY) PARTITION BY LIST (k);
         CREATE TABLE p1 PARTITION OF r FOR VALUES IN (1); CREATE TABLE p2 PARTITION OF r FOR VALUES IN (2);
         CREATE TABLE child (k int REFERENCES r);
         INSERT INTO r VALUES (1), (2); INSERT INTO child VALUES (1);",
    );
    let mut session = session(&db);
    for script in ["DO $$ BEGIN TRUNCATE p1; END $$", "BEGIN; TRUNCATE p1", "ROLLBACK; TRUNCATE p1"] {
        let error = session.execute_script(script).expect_err(script);
        assert_eq!(error.sqlstate().as_str(), "0A000", "{script}");
    }
    session.execute_script("DO $$ BEGIN TRUNCATE p1, child; END $$").expect("they go together");
    let left = db.query("SELECT count(*) FROM r", ()).expect("reads");
    assert_eq!(left[0].get::<i64>(0).expect("a count"), 1);
}
