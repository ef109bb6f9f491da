//! While there is no room on the disk, what has entered the log waits: it cannot be undone any more. Who is cancelled
//! meanwhile, by SQL or a message, or is out of time, is told that it was done, and may not be on disk; who is sent away
//! is told nothing of what was done.

use crate::common;
use planaria::lab::LabOptions;

use common::{Client, Running, shown};
use planaria::Options;
use planaria_server::Config;
use planaria_sim::disk::{SimDisk, Survival};
use std::time::Duration;

#[test]
fn who_waits_for_room_hears_that_it_was_done() {
    let disk = SimDisk::new(8);
    let options = Options::new().log_segments(16 << 10, 1 << 20);
    let db = options.open_device(disk.device()).expect("opens");
    db.execute_script("CREATE TABLE t (a int PRIMARY KEY, b text); INSERT INTO t VALUES (0)")
        .expect("a table");
    let running = Running::with(db, Config::default());
    let mut clients = [(); 4].map(|()| running.client());
    let numbers = clients.each_mut().map(pid);
    let [by_sql, late, sent_away, other] = &mut clients;
    assert_eq!(late.query("SET statement_timeout = 300"), ["C:SET", "Z:I"]);
    // Which of those that come then is the first to wait is left to chance.
    assert_eq!(other.query("SET statement_timeout = 100"), ["C:SET", "Z:I"]);
    let used: usize = disk.files().values().map(Vec::len).sum();
    disk.set_capacity(Some(used as u64 + (5 << 20)));
    by_sql.message('Q', b"INSERT INTO t SELECT 1, repeat('x', 9437184)\0").send();
    // Others are refused from when there is no room.
    let refused = (100..100_000).any(|n| {
        std::thread::sleep(Duration::from_millis(1));
        other.query(&format!("INSERT INTO t VALUES ({n})"))[0] == "E:53100"
    });
    assert!(refused);
    // Who sees what is not on disk waits with it.
    late.message('Q', b"SELECT length(b) FROM t WHERE a = 1\0").send();
    sent_away.message('Q', b"SELECT length(b) FROM t WHERE a = 1\0").send();
    is_warned(&late.until_ready(), "statement timeout", &["T", "D:9437184", "C:SELECT 1", "Z:I"]);
    other.message('Q', format!("SELECT pg_cancel_backend({})\0", numbers[0]).as_bytes()).send();
    is_warned(&by_sql.until_ready(), "user request", &["C:INSERT 0 1", "Z:I"]);
    other.message('Q', format!("SELECT pg_terminate_backend({})\0", numbers[2]).as_bytes()).send();
    let told = sent_away.until_ready();
    let fields = |code| told[0].field(code);
    assert_eq!([fields('S'), fields('C')].map(Option::unwrap_or_default), ["FATAL", "57P01"]);
    assert!(told.len() == 1 && fields('D').is_some_and(|d| d.contains("has already committed")), "{told:?}");
    disk.set_capacity(None);
    while by_sql.query("INSERT INTO t VALUES (2)")[0] != "C:INSERT 0 1" {
        std::thread::sleep(Duration::from_millis(1));
    }
    drop(running);
    disk.crash(Survival::Nothing);
    let db = Options::new().open_device(disk.device()).expect("opens again");
    let rows = db.query("SELECT count(*) FROM t WHERE a < 9", ()).expect("a count");
    assert_eq!(rows[0].get::<i64>(0), Ok(3));
}

fn pid(client: &mut Client) -> String {
    client.query("SELECT pg_backend_pid()")[1].trim_start_matches("D:").to_owned()
}

#[track_caller]
fn is_warned(messages: &[common::Message], why: &str, then: &[&str]) {
    assert_eq!(messages[0].tag, 'N');
    let text = format!("canceling wait for room on the disk due to {why}");
    assert_eq!(messages[0].field('M').as_deref(), Some(&text[..]));
    assert_eq!(shown(&messages[1..]), then);
}
