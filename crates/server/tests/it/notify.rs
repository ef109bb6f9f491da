//! LISTEN and NOTIFY over the wire.

use crate::common;

use common::{Client, Message, Running, shown};
use planaria::Database;
use planaria_server::Config;

/// The channel and payload of a NotificationResponse.
fn heard(message: &Message) -> (String, String) {
    assert_eq!(message.tag, 'A');
    let mut texts = message.body[4..].split(|b| *b == 0);
    let mut text = || String::from_utf8(texts.next().expect("a text").to_vec()).expect("UTF-8");
    (text(), text())
}

fn listening(running: &Running) -> Client {
    let mut client = running.client();
    assert_eq!(client.query("LISTEN a"), ["C:LISTEN", "Z:I"]);
    client
}

#[test]
fn an_idle_client_is_told_at_once_and_one_in_a_block_at_its_end() {
    let db = Database::in_memory().expect("a database");
    let running = Running::with(db, Config { threads: Some(1), ..Config::default() });
    let (mut idle, mut busy, mut speaker) = (listening(&running), listening(&running), running.client());
    assert_eq!(busy.query("BEGIN"), ["C:BEGIN", "Z:T"]);
    assert_eq!(speaker.query("NOTIFY a, 'one'"), ["C:NOTIFY", "Z:I"]);
    let told = idle.next().expect("is told");
    assert_eq!(heard(&told), ("a".into(), "one".into()));
    assert_eq!(busy.query("SELECT 1"), ["T", "D:1", "C:SELECT 1", "Z:T"]);
    let messages = busy.query_raw("COMMIT");
    assert_eq!(shown(&messages), ["C:COMMIT", "A", "Z:I"]);
    assert_eq!(heard(&messages[1]), ("a".into(), "one".into()));
}

#[test]
fn one_s_own_come_before_ready_and_name_the_process() {
    let running = Running::with(Database::in_memory().expect("a database"), Config::default());
    let mut client = listening(&running);
    let messages = client.query_raw("BEGIN; NOTIFY a, 'x'; NOTIFY a; COMMIT");
    assert_eq!(shown(&messages), ["C:BEGIN", "C:NOTIFY", "C:NOTIFY", "C:COMMIT", "A", "A", "Z:I"]);
    assert_eq!(heard(&messages[5]), ("a".into(), String::new()));
    let own = client.query("SELECT pg_backend_pid()")[1].clone();
    let process = i32::from_be_bytes(messages[4].body[..4].try_into().expect("four bytes"));
    assert_eq!(own, format!("D:{process}"));
    // Many clients share few sessions: what one listens to is nobody else's.
    assert_eq!(running.client().query("SELECT * FROM pg_listening_channels()"), ["T", "C:SELECT 0", "Z:I"]);
    assert_eq!(client.query("SELECT * FROM pg_listening_channels()"), ["T", "D:a", "C:SELECT 1", "Z:I"]);
    assert_eq!(client.query("UNLISTEN *; NOTIFY a"), ["C:UNLISTEN", "C:NOTIFY", "Z:I"]);
}

#[test]
fn a_driver_hears_notifications() {
    let running = Running::with(Database::in_memory().expect("a database"), Config::default());
    let mut speaker = running.client();
    running.drive(async |client| {
        client.batch_execute("LISTEN a").await.expect("listens");
        for n in 0..100 {
            speaker.query(&format!("NOTIFY a, '{n}'"));
        }
        // Its connection has read them beside the answers.
        let row = client.query_one("SELECT count(*) FROM pg_listening_channels()", &[]).await.expect("a row");
        assert_eq!(row.get::<_, i64>(0), 1);
    });
}
