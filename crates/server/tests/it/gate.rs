//! A block that changes the schema keeps others waiting: they are seen, can be cancelled, and are let go when it ends.

use crate::common;

use common::{Client, Running, shown};
use planaria::Database;
use planaria_server::Config;
use std::time::{Duration, Instant};

/// A server of one thread, and somebody in the middle of changing the schema.
fn changing() -> (Running, Client, i32) {
    let db = Database::in_memory().expect("a database");
    db.execute_script("CREATE TABLE t (n int PRIMARY KEY); INSERT INTO t VALUES (1)").expect("a table");
    let running = Running::with(db, Config { threads: Some(1), ..Config::default() });
    let (mut holder, number) = enter(&running);
    assert_eq!(holder.query("BEGIN; ALTER TABLE t ADD v int"), ["C:BEGIN", "C:ALTER TABLE", "Z:T"]);
    (running, holder, number)
}

/// A client and its number.
fn enter(running: &Running) -> (Client, i32) {
    let mut client = Client::connect(running.address);
    client.startup(&[("user", "postgres")]);
    let key = client.until_ready().into_iter().find(|m| m.tag == 'K').expect("a key");
    (client, i32::from_be_bytes(key.body[..4].try_into().expect("four bytes")))
}

/// Asks until the answer has this line.
fn until(client: &mut Client, sql: &str, wanted: &str) {
    let deadline = Instant::now() + Duration::from_secs(10);
    loop {
        let answer = client.query(sql);
        if answer[1] == wanted {
            return;
        }
        assert!(Instant::now() < deadline, "{sql}: {answer:?}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

#[test]
fn who_waits_at_the_gate_is_seen() {
    let (running, mut holder, first) = changing();
    let (mut reader, second) = enter(&running);
    let (mut snapshot, third) = enter(&running);
    let mut me = running.client();
    reader.message('Q', b"SELECT n FROM t\0").send();
    snapshot.message('Q', b"BEGIN READ ONLY; SELECT n FROM t\0").send();
    let (mut changer, fourth) = enter(&running);
    changer.message('Q', b"CREATE TABLE u (n int)\0").send();
    for waiting in [second, third, fourth] {
        let event = format!("SELECT state, wait_event_type FROM pg_stat_activity WHERE pid = {waiting}");
        until(&mut me, &event, "D:active,Lock");
    }
    // Who changes the schema waits for the gate, the others for the table.
    let locks = "SELECT pid, locktype, classid::regclass, mode, granted FROM pg_locks
         WHERE locktype = 'object' ORDER BY granted DESC, pid";
    let seen = me.query(locks);
    assert_eq!(seen[1], format!("D:{first},object,pg_database,AccessExclusiveLock,t"));
    assert_eq!(seen[2], format!("D:{fourth},object,pg_database,AccessShareLock,f"));
    let locks = "SELECT pid, locktype, relation::regclass, mode, granted FROM pg_locks
         WHERE locktype = 'relation' ORDER BY granted DESC, pid";
    let seen = me.query(locks);
    assert_eq!(seen[1], format!("D:{first},relation,t,AccessExclusiveLock,t"));
    assert_eq!(seen[2], format!("D:{second},relation,t,AccessShareLock,f"));
    assert_eq!(seen[3], format!("D:{third},relation,t,AccessShareLock,f"));
    assert_eq!(holder.query("COMMIT"), ["C:COMMIT", "Z:I"]);
    assert_eq!(shown(&reader.until_ready()), ["T", "D:1", "C:SELECT 1", "Z:I"]);
    assert_eq!(shown(&snapshot.until_ready()), ["C:BEGIN", "T", "D:1", "C:SELECT 1", "Z:T"]);
    assert_eq!(shown(&changer.until_ready()), ["C:CREATE TABLE", "Z:I"]);
    // The reader's block is open.
    let left = me.query("SELECT pid, locktype, relation::regclass, mode FROM pg_locks");
    assert_eq!(left[1], format!("D:{third},relation,t,AccessShareLock"));
}

#[test]
fn a_wait_at_the_gate_ends_by_a_cancel_request_and_by_its_time() {
    let (running, mut holder, _) = changing();
    let mut waiting = Client::connect(running.address);
    waiting.startup(&[("user", "postgres")]);
    let key = waiting.until_ready().into_iter().find(|m| m.tag == 'K').expect("a key").body;
    let mut me = running.client();
    for statement in ["INSERT INTO t VALUES (2)", "CREATE TABLE u (n int)", "BEGIN; SELECT * FROM t"] {
        waiting.message('Q', format!("{statement}\0").as_bytes()).send();
        until(&mut me, "SELECT count(*) FROM pg_locks WHERE NOT granted", "D:1");
        let mut request = 80_877_102i32.to_be_bytes().to_vec();
        request.extend_from_slice(&key);
        Client::connect(running.address).packet(&request);
        let answer = shown(&waiting.until_ready());
        assert!(answer.contains(&"E:57014".to_owned()), "{statement}: {answer:?}");
        until(&mut me, "SELECT count(*) FROM pg_locks WHERE NOT granted", "D:0");
    }
    waiting.query("ROLLBACK; SET lock_timeout = '30ms'");
    assert_eq!(waiting.query("DELETE FROM t"), ["E:55P03", "Z:I"]);
    waiting.query("SET lock_timeout = 0; SET statement_timeout = '30ms'");
    assert_eq!(waiting.query("DELETE FROM t"), ["E:57014", "Z:I"]);
    assert_eq!(holder.query("ROLLBACK"), ["C:ROLLBACK", "Z:I"]);
    assert_eq!(waiting.query("SELECT * FROM t"), ["T", "D:1", "C:SELECT 1", "Z:I"]);
}

#[test]
fn who_idles_in_a_schema_change_is_sent_away_and_the_others_go_on() {
    let (running, mut holder, _) = changing();
    let mut waiting = running.client();
    assert_eq!(holder.query("SET idle_in_transaction_session_timeout = '50ms'"), ["C:SET", "Z:T"]);
    waiting.message('Q', b"INSERT INTO t VALUES (2)\0").send();
    assert_eq!(holder.next().expect("a word").field('C').as_deref(), Some("25P03"));
    assert_eq!(holder.next(), None);
    // Of one column: the change has been taken back.
    assert_eq!(shown(&waiting.until_ready()), ["C:INSERT 0 1", "Z:I"]);
    assert_eq!(waiting.query("SELECT * FROM t WHERE n = 2"), ["T", "D:2", "C:SELECT 1", "Z:I"]);
}

/// A change of the schema that waits for a long statement stands in nobody's way; it comes when that has ended.
#[test]
fn a_change_that_waits_stops_nobody() {
    let db = Database::in_memory().expect("a database");
    db.execute_script("CREATE TABLE t (n int PRIMARY KEY); INSERT INTO t VALUES (1); CREATE TABLE u (n int)")
        .expect("tables");
    let running = Running::with(db, Config::default());
    let (mut long, number) = enter(&running);
    // What only reads would go over to a snapshot.
    long.message('Q', b"DO $$ BEGIN INSERT INTO u VALUES (1); LOOP NULL; END LOOP; END $$\0").send();
    let mut changer = running.client();
    until(&mut changer, "SELECT state FROM pg_stat_activity WHERE query LIKE 'DO%'", "D:active");
    changer.query("SET lock_timeout = '300ms'");
    assert_eq!(changer.query("ALTER TABLE t ADD v int"), ["E:55P03", "Z:I"]);
    changer.query("SET lock_timeout = 0");
    changer.message('Q', b"ALTER TABLE t ADD v int\0").send();
    let mut other = running.client();
    let mut times = Vec::new();
    for n in 2..300 {
        let asked = Instant::now();
        assert_eq!(other.query("SELECT count(*) FROM t WHERE n = 1")[1], "D:1");
        assert_eq!(other.query(&format!("INSERT INTO t VALUES ({n})")), ["C:INSERT 0 1", "Z:I"]);
        times.push(asked.elapsed());
        std::thread::sleep(Duration::from_millis(2));
    }
    times.sort();
    // The change tries again and again: whoever were stopped by that would be so each time.
    let (median, longest) = (times[times.len() / 2], times[times.len() - 1]);
    assert!(
        median < Duration::from_millis(300) && longest < Duration::from_secs(20),
        "{median:?}, {longest:?}"
    );
    other.query(&format!("SELECT pg_cancel_backend({number})"));
    assert_eq!(shown(&long.until_ready()), ["E:57014", "Z:I"]);
    assert_eq!(shown(&changer.until_ready()), ["C:ALTER TABLE", "Z:I"]);
}
