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
