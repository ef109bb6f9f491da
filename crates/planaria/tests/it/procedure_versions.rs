//! A logged call replays with the definition it was called with, whatever became of the name since.

use planaria::{Database, Options, Scheme};

/// A way of calling `note` and the definitions it goes through.
const HISTORY: &[&str] = &[
    "CREATE TABLE note (id int PRIMARY KEY, text text NOT NULL)",
    "CREATE PROCEDURE put(p_id int) LANGUAGE plpgsql AS $$
     BEGIN INSERT INTO note VALUES (p_id, 'first'); END $$",
    "CALL put(1)",
    "CALL put(2)",
    // Replaced: the name stays, the calls before keep their body.
    "CREATE OR REPLACE PROCEDURE put(p_id int) LANGUAGE plpgsql AS $$
     BEGIN
         UPDATE note SET text = text || ' and second' WHERE id = p_id - 2;
         INSERT INTO note VALUES (p_id, 'second');
     END $$",
    "CALL put(3)",
    // An overload is another procedure.
    "CREATE PROCEDURE put(p_id int, p_text text) LANGUAGE plpgsql AS $$
     BEGIN INSERT INTO note VALUES (p_id, p_text); END $$",
    "CALL put(4, 'overloaded')",
    "DROP PROCEDURE put(int)",
    "CREATE PROCEDURE put(p_id int) LANGUAGE plpgsql AS $$
     BEGIN INSERT INTO note SELECT p_id, 'third of ' || count(*) FROM note; END $$",
    "CALL put(5)",
    "DROP PROCEDURE put(int, text)",
    // Called by another, whose own text stays the same.
    "CREATE PROCEDURE outer_put(p_id int) LANGUAGE plpgsql AS $$
     BEGIN CALL put(p_id); UPDATE note SET text = text || '!' WHERE id = p_id; END $$",
    "CALL outer_put(6)",
    "CREATE OR REPLACE PROCEDURE put(p_id int) LANGUAGE plpgsql AS $$
     BEGIN INSERT INTO note VALUES (p_id, 'fourth'); END $$",
    "CALL outer_put(7)",
    // The table changes under the procedure.
    "ALTER TABLE note ADD COLUMN more int NOT NULL DEFAULT 8",
    "CALL outer_put(8)",
    "DROP PROCEDURE outer_put(int)",
    "DROP PROCEDURE put(int)",
];

const NOTES: &[&str] = &[
    "1 first and second 8",
    "2 first 8",
    "3 second 8",
    "4 overloaded 8",
    "5 third of 4 8",
    "6 third of 5! 8",
    "7 fourth! 8",
    "8 fourth! 8",
];

fn notes(db: &Database) -> Vec<String> {
    let rows = db.query("SELECT id || ' ' || text || ' ' || more FROM note ORDER BY id", ()).expect("notes");
    rows.iter().map(|r| r.get::<String>(0).expect("text")).collect()
}

#[test]
fn calls_replay_with_the_definition_they_had() {
    let dir = tempfile::tempdir().expect("a directory");
    let db = Database::open(dir.path()).expect("opens");
    for statement in HISTORY {
        db.execute(statement, ()).unwrap_or_else(|e| panic!("{statement}: {e}"));
    }
    assert_eq!(notes(&db), NOTES);
    let digests = db.digests().expect("digests");
    db.close().expect("closes");
    for scheme in Scheme::ALL {
        let db =
            Options::new().recovery(*scheme).open(dir.path()).unwrap_or_else(|e| panic!("{scheme}: {e}"));
        let report = db.recovery().expect("recovered");
        assert_eq!((report.scheme, report.calls), (*scheme, 8), "the calls are in the log as calls");
        assert_eq!(notes(&db), NOTES, "{scheme}");
        assert_eq!(db.digests().expect("digests"), digests, "{scheme}");
        db.check().unwrap_or_else(|e| panic!("{scheme}: {e}"));
        assert!(db.execute("CALL put(9)", ()).is_err(), "{scheme}: it was dropped");
        db.close().expect("closes");
    }
}

/// A definition made again after a restart is a new version too: what was logged before keeps its own.
#[test]
fn versions_go_on_behind_a_restart() {
    let dir = tempfile::tempdir().expect("a directory");
    let put = |db: &Database, text: &str, id: i32| {
        db.execute(
            &format!(
                "CREATE OR REPLACE PROCEDURE put(p_id int) LANGUAGE plpgsql AS $$
                 BEGIN INSERT INTO note VALUES (p_id, '{text}'); END $$"
            ),
            (),
        )
        .expect("creates");
        db.call("put", (id,)).expect("puts");
    };
    let db = Database::open(dir.path()).expect("opens");
    db.execute("CREATE TABLE note (id int PRIMARY KEY, text text NOT NULL)", ()).expect("creates");
    let mut expected = Vec::new();
    let mut db = Some(db);
    for (i, scheme) in Scheme::ALL.iter().enumerate() {
        let id = i as i32;
        put(db.as_ref().expect("open"), scheme.name(), id);
        expected.push(format!("{id} {scheme}"));
        db.take().expect("open").close().expect("closes");
        db = Some(Options::new().recovery(*scheme).open(dir.path()).expect("recovers"));
        let rows = db
            .as_ref()
            .expect("open")
            .query("SELECT id || ' ' || text FROM note ORDER BY id", ())
            .expect("notes");
        let notes: Vec<String> = rows.iter().map(|r| r.get(0).expect("text")).collect();
        assert_eq!(notes, expected, "{scheme}");
    }
}
