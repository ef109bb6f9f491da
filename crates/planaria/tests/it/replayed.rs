//! What referential actions and volatile conditions did comes back from a log of calls, whatever replays it.

use planaria::lab::LabOptions;
use planaria::{Database, LogKind, Options, Scheme};
use planaria_sim::disk::SimDisk;

const SCRIPT: &str = "
    CREATE TABLE p (id int PRIMARY KEY);
    CREATE SEQUENCE s START 100;
    CREATE TABLE c (id int PRIMARY KEY, p int DEFAULT nextval('s') CHECK (p < 1000)
        REFERENCES p ON DELETE SET DEFAULT ON UPDATE CASCADE);
    CREATE TABLE x (id int PRIMARY KEY, y int);
    CREATE TABLE y (id int PRIMARY KEY, x int REFERENCES x ON DELETE CASCADE ON UPDATE CASCADE);
    ALTER TABLE x ADD FOREIGN KEY (y) REFERENCES y ON DELETE CASCADE ON UPDATE CASCADE;
    CREATE TABLE t (id int PRIMARY KEY, up int REFERENCES t ON DELETE CASCADE ON UPDATE SET NULL);
    CREATE TABLE g (id int PRIMARY KEY, v float8);
    CREATE FUNCTION half() RETURNS boolean LANGUAGE sql VOLATILE AS $$ SELECT random() < 0.5 $$;
    INSERT INTO p SELECT i FROM generate_series(1, 200) i;
    INSERT INTO c SELECT i, i % 20 + 1 FROM generate_series(1, 60) i;
    INSERT INTO x SELECT i, NULL FROM generate_series(1, 20) i;
    INSERT INTO y SELECT i, i FROM generate_series(1, 20) i;
    UPDATE x SET y = id % 5 * 4 + (id - 1) / 5 + 1;
    INSERT INTO t SELECT i, nullif(i / 3, 0) FROM generate_series(1, 60) i;
    INSERT INTO g SELECT i, 0 FROM generate_series(1, 100) i;
    CREATE PROCEDURE thin(n int) LANGUAGE plpgsql AS $$
    BEGIN
        DELETE FROM g WHERE id <= n AND random() < 0.5;
        UPDATE g SET v = random() WHERE half();
        INSERT INTO g SELECT 1000 * n + i, random() FROM generate_series(1, 20) i WHERE half();
    END $$;
    CREATE PROCEDURE move(old int, new int) LANGUAGE plpgsql AS $$
    BEGIN
        UPDATE p SET id = new WHERE id = old;
        DELETE FROM p WHERE id = old + 1;
        UPDATE x SET id = id + 100 WHERE id = old;
        DELETE FROM y WHERE id = old + 2;
        UPDATE t SET id = id + 500 WHERE id = old + 3;
        DELETE FROM t WHERE id = old + 4;
    END $$;
    CALL thin(40);
    CALL move(2, 500);
    CALL thin(100);
    CALL move(6, 501);
    CALL move(9, 502);
    CALL thin(90);
    CALL move(13, 503);";

fn contents(db: &Database) -> String {
    let all = ["p", "c", "x", "y", "t", "g"].map(|table| {
        let rows = db.query(&format!("SELECT * FROM {table} ORDER BY id"), ()).expect("rows");
        assert!(!rows.is_empty(), "nothing is left in {table}");
        format!("{rows:?}")
    });
    all.join("\n")
}

#[test]
fn referential_actions_and_volatile_conditions_are_replayed() {
    for log in [LogKind::Command, LogKind::Adaptive, LogKind::Logical] {
        let disk = SimDisk::new(7);
        let db = Options::new().log(log).open_device(disk.device()).expect("opens");
        db.execute_script(SCRIPT).expect("runs");
        db.check().expect("is whole");
        let before = contents(&db);
        drop(db);
        for scheme in Scheme::ALL {
            let Ok(db) = Options::new().log(log).recovery(*scheme).open_device(disk.device()) else {
                continue;
            };
            db.check().expect("is whole again");
            assert_eq!(contents(&db), before, "{log:?} by {scheme:?}");
        }
    }
}

/// A procedure that cannot be cut, as it calls one that calls itself, runs alone; rows of its table that were logged by value
/// have a place all the same.
#[test]
fn tables_of_who_runs_alone_are_changed_by_others() {
    let disk = SimDisk::new(8);
    let options = |scheme| Options::new().log(LogKind::Command).recovery(scheme).recovery_threads(2);
    let db = options(Scheme::Clr).open_device(disk.device()).expect("opens");
    db.execute_script(
        "CREATE TABLE log (id serial PRIMARY KEY, what text, n int);
         CREATE FUNCTION deep(n int) RETURNS int LANGUAGE plpgsql AS $$
         BEGIN IF n = 0 THEN RETURN 0; END IF; RETURN 1 + deep(n - 1); END $$;
         CREATE PROCEDURE note(n int) LANGUAGE plpgsql AS $$
         BEGIN INSERT INTO log (what, n) VALUES ('note', deep(n)); END $$;
         CALL note(5);
         INSERT INTO log (what, n) VALUES ('by itself', 0);
         CALL note(7);
         UPDATE log SET n = n + 1 WHERE id = 1;",
    )
    .expect("the script");
    let digests = db.digests().expect("reads");
    drop(db);
    for scheme in Scheme::ALL.iter().copied() {
        let db = options(scheme).open_device(disk.device()).unwrap_or_else(|e| panic!("{scheme:?}: {e}"));
        assert_eq!(db.digests().expect("reads"), digests, "{scheme:?}");
    }
}
