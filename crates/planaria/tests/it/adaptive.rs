//! The log kind `adaptive`: each procedure is logged the cheaper way, EXPLAIN says why, and the database
//! comes back from the mixture.

use planaria::log::{Body, Filter, LogView};
use planaria::{Database, LogKind, Options};

const SCHEMA: &str = "
    CREATE TABLE profile (id int PRIMARY KEY, hits int NOT NULL, city varchar(100), street varchar(100),
                          about varchar(1000));
    CREATE TABLE result (id int PRIMARY KEY, value bigint NOT NULL);
    CREATE PROCEDURE hit(p_id int) LANGUAGE plpgsql AS $$
    BEGIN UPDATE profile SET hits = hits + 1 WHERE id = p_id; END $$;
    CREATE PROCEDURE reset_all(p_first int) LANGUAGE plpgsql AS $$
    BEGIN UPDATE result SET value = 0 WHERE id >= p_first; END $$;
    CREATE PROCEDURE compute(p_id int, p_seed bigint) LANGUAGE plpgsql AS $$
    DECLARE x bigint := p_seed;
    BEGIN
        FOR i IN 1..100 LOOP
            FOR j IN 1..50 LOOP
                x := (x * 31 + i * j) % 1000003;
            END LOOP;
        END LOOP;
        UPDATE result SET value = x WHERE id = p_id;
    END $$;
    CREATE FUNCTION peek(p_id int) RETURNS bigint LANGUAGE plpgsql AS $$
    BEGIN RETURN (SELECT value FROM result WHERE id = p_id); END $$;
    INSERT INTO profile SELECT i, 0, 'a town', 'a street', repeat('about it ', 100) FROM generate_series(1, 20) i;
    INSERT INTO result SELECT i, i FROM generate_series(1, 20) i;";

fn explain(db: &Database, procedure: &str) -> Vec<String> {
    let rows = db.query(&format!("EXPLAIN PROCEDURE {procedure}"), ()).unwrap();
    rows.iter().map(|r| r.get::<String>(0).unwrap()).collect()
}

#[test]
fn each_procedure_is_logged_the_cheaper_way() {
    let dir = tempfile::tempdir().unwrap();
    let options = Options::new().log(LogKind::Adaptive);
    let db = options.clone().open(dir.path()).unwrap();
    db.execute_script(SCHEMA).unwrap();
    for i in 1..=10 {
        db.call("hit", (i,)).unwrap();
        db.call("compute", (i, i)).unwrap();
    }
    db.execute("CALL compute(3, 4)", ()).unwrap();
    db.call("reset_all", (15,)).unwrap();
    let (hit, compute) = (explain(&db, "hit"), explain(&db, "compute"));
    assert_eq!(hit[1], "  Logged as: command (procedure, arguments)");
    assert!(hit[3].starts_with("  Adaptive: the call; the call would take about 1"), "{}", hit[3]);
    assert_eq!(compute[1], "  Logged as: values (after-images of the rows it changes)");
    assert_eq!(compute[2], "  Why: Its rows cost less than the call.");
    assert!(compute[3].starts_with("  Adaptive: the rows; the call would take about "), "{}", compute[3]);
    assert!(compute[3].contains(" ms to replay, its rows "), "{}", compute[3]);
    assert!(!explain(&db, "peek").iter().any(|l| l.contains("Adaptive")), "it changes nothing");
    let before = db.digests().unwrap();
    db.close().unwrap();

    let view = LogView::open(dir.path()).unwrap();
    let (mut calls, mut results) = (Vec::new(), 0);
    view.read(&Filter::default(), usize::MAX, &mut |entry| match entry.body {
        Body::Call { procedure, .. } => calls.push(procedure),
        Body::Effects { changes } => results += changes.iter().filter(|c| c.object == "result").count(),
    })
    .unwrap();
    calls.retain(|name| name != "reset_all");
    assert_eq!(calls, ["hit"; 10]);
    assert!(results >= 20 + 11, "the rows loaded and those of `compute`, the one by CALL included");

    // Looking at a log keeps others from opening the database.
    drop(view);
    let db = options.open(dir.path()).unwrap();
    assert_eq!(db.digests().unwrap(), before);
    db.check().unwrap();
}

/// Under another log kind EXPLAIN says what `adaptive` would do, and calls are logged as that kind says.
#[test]
fn other_kinds_are_not_touched() {
    let dir = tempfile::tempdir().unwrap();
    let db = Options::new().log(LogKind::Command).open(dir.path()).unwrap();
    db.execute_script(SCHEMA).unwrap();
    let compute = explain(&db, "compute");
    assert_eq!(compute[1], "  Logged as: command (procedure, arguments)");
    assert!(compute[3].starts_with("  Adaptive: the rows; "), "{}", compute[3]);
    db.call("compute", (1, 2)).unwrap();
    db.close().unwrap();
    let summary = LogView::open(dir.path()).unwrap().read(&Filter::default(), 0, &mut |_| ()).unwrap();
    assert_eq!(summary.procedures[0].procedure, "compute");
}
