//! What a client was told is there after a crash.

use crate::common;

use common::Running;
use planaria::{Database, Options};
use planaria_server::Config;

#[test]
fn what_was_answered_is_on_disk() {
    let dir = tempfile::tempdir().expect("a directory");
    let copy = tempfile::tempdir().expect("a directory");
    let running = Running::with(Options::new().open(dir.path()).expect("opens"), Config::default());
    running
        .db
        .execute_script(
            "CREATE TABLE t (n int PRIMARY KEY, v int NOT NULL);
             CREATE PROCEDURE put(p_n int, p_v int) LANGUAGE sql AS 'INSERT INTO t VALUES (p_n, p_v)';",
        )
        .expect("a schema");
    let mut clients: Vec<_> = (0..8).map(|_| running.client()).collect();
    for (i, client) in clients.iter_mut().enumerate() {
        client.parse("put", "CALL put($1, $2)", &[]);
        for j in 0..10 {
            let n = (i * 10 + j).to_string();
            client.bind("", "put", &[Some(&n), Some("1")]).execute("", 0).sync();
        }
        client.send();
    }
    for client in &mut clients {
        for _ in 0..10 {
            let answer = common::shown(&client.until_ready());
            assert!(answer.ends_with(&["C:CALL".to_owned(), "Z:I".to_owned()]), "{answer:?}");
        }
    }
    // As a crash would leave it: the files as they are now, with the server still running.
    for entry in std::fs::read_dir(dir.path()).expect("a directory") {
        let entry = entry.expect("an entry");
        if entry.file_type().expect("a type").is_file() {
            std::fs::copy(entry.path(), copy.path().join(entry.file_name())).expect("a copy");
        }
    }
    let recovered = Database::open(copy.path()).expect("recovers");
    let rows = recovered.query("SELECT count(*) FROM t", ()).expect("a row");
    assert_eq!(rows[0].get::<i64>(0), Ok(80));
    let report = recovered.recovery().expect("there was a log");
    assert_eq!(report.calls, 80, "calls are logged as calls");
}

/// Files that are gone cannot be synced: so the log fails.
#[test]
fn nobody_is_shown_what_a_failed_log_has_lost() {
    let dir = tempfile::tempdir().expect("a directory");
    let running = Running::with(Options::new().open(dir.path()).expect("opens"), Config::default());
    running.db.execute_script("CREATE TABLE t (n int); INSERT INTO t VALUES (1)").expect("a table");
    let mut clients = [(); 4].map(|()| running.client());
    let [writer, reader, block, snapshot] = &mut clients;
    for (client, begin) in [(&mut *block, &b"BEGIN\0"[..]), (&mut *snapshot, b"BEGIN READ ONLY\0")] {
        client.message('Q', begin).send();
        assert_eq!(common::shown(&client.until_ready()), ["C:BEGIN", "Z:T"]);
    }
    for entry in std::fs::read_dir(dir.path()).expect("a directory") {
        let path = entry.expect("an entry").path();
        if path.extension().is_some_and(|e| e == "log") {
            std::fs::remove_file(path).expect("it is removed");
        }
    }
    writer.message('Q', b"INSERT INTO t VALUES (2)\0").send();
    assert_eq!(common::shown(&writer.until('!')), ["E:58030"]);
    reader.message('Q', b"SELECT n FROM t\0").send();
    assert_eq!(common::shown(&reader.until('!')), ["E:58030"]);
    // What was committed when it began is on disk, and all that it sees.
    snapshot.message('Q', b"SELECT n FROM t\0").send();
    assert_eq!(common::shown(&snapshot.until_ready()), ["T", "D:1", "C:SELECT 1", "Z:T"]);
    block.message('Q', b"SELECT n FROM t\0").send();
    let answer = common::shown(&block.until_ready());
    assert_eq!(answer.last().map(String::as_str), Some("Z:E"));
    assert!(
        answer.contains(&"E:58030".to_owned()) && !answer.contains(&"C:SELECT 2".to_owned()),
        "{answer:?}"
    );
}
