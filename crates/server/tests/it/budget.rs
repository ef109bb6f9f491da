//! What clients do not read, do not finish, or keep by name counts against the memory budget; who takes too much of
//! it hears so, and the others are served.

use crate::common;

use common::{Client, Running, shown};
use planaria::Options;
use planaria_server::Config;
use std::io::Write;
use std::time::{Duration, Instant};

const MIB: usize = 1 << 20;
const BUDGET: usize = 64 * MIB;
/// Each connection may be a step beyond what was weighed.
const AT_MOST: usize = BUDGET + 2 * MIB;

fn running() -> Running {
    let db = Options::new().memory_budget(BUDGET as u64).in_memory().expect("a database");
    Running::with(db, Config::default())
}

fn held(running: &Running) -> usize {
    running.db.stats().memory.session_bytes as usize
}

/// Waits until so much is held, or less if `at_most`.
#[track_caller]
fn until_held(running: &Running, bytes: usize, at_most: bool) {
    let deadline = Instant::now() + Duration::from_secs(60);
    while held(running) < bytes && !at_most || held(running) > bytes && at_most {
        assert!(Instant::now() < deadline, "{} are held", held(running));
        std::thread::sleep(Duration::from_millis(10));
    }
}

fn is_served(running: &Running) {
    assert_eq!(running.client().query("SELECT 1"), ["T", "D:1", "C:SELECT 1", "Z:I"]);
}

#[test]
fn answers_that_nobody_reads_count() {
    let running = running();
    let mut slow: Vec<Client> = (0..20).map(|_| running.client()).collect();
    for client in &mut slow {
        // 6 MB: less than what goes to a file of its own accord, more than a socket takes.
        client.message('Q', b"SELECT repeat('x', 1000) FROM generate_series(1, 6000)\0").send();
    }
    until_held(&running, BUDGET / 2, false);
    is_served(&running);
    // Statements that still run have what they work with besides.
    assert!(held(&running) <= AT_MOST + slow.len() * (MIB / 2), "{}", held(&running));
    until_held(&running, AT_MOST, true);
    // Those that had to wait in files are as whole as the others.
    for client in &mut slow {
        assert_eq!(shown(&client.until_ready()).len(), 6_003);
    }
    until_held(&running, MIB, true);
}

#[test]
fn messages_that_are_not_finished_count() {
    let running = running();
    let part = vec![b'x'; 10 * MIB];
    let mut open: Vec<Client> = Vec::new();
    let mut ended = 0;
    for _ in 0..12 {
        let mut client = running.client();
        let mut head = b"Q".to_vec();
        head.extend_from_slice(&(20 * MIB as i32).to_be_bytes());
        let _ = client.socket.write_all(&head).and_then(|()| client.socket.write_all(&part));
        client.socket.set_read_timeout(Some(Duration::from_millis(300))).expect("a timeout");
        match client.next() {
            Some(error) => {
                ended += 1;
                assert_eq!(
                    [error.field('S'), error.field('C')].map(Option::unwrap_or_default),
                    ["FATAL", "53200"]
                );
            }
            None => open.push(client),
        }
        assert!(held(&running) <= AT_MOST, "{}", held(&running));
    }
    assert!(ended > 0 && !open.is_empty(), "{ended}");
    is_served(&running);
    drop(open);
    until_held(&running, MIB, true);
}

#[test]
fn portals_and_statements_count() {
    let running = running();
    let mut client = running.client();
    let value = "x".repeat(8 * MIB);
    client.query("BEGIN");
    client.parse("s", "SELECT length($1::text)", &[]).sync();
    assert_eq!(client.ask(), ["1", "Z:T"]);
    let mut refused = None;
    for n in 0..20 {
        client.bind(&format!("p{n}"), "s", &[Some(&value)]).sync();
        match &client.ask()[..] {
            [bound, _] if bound == "2" => {}
            [error, _] => {
                refused = Some((n, error.clone()));
                break;
            }
            other => panic!("{other:?}"),
        }
    }
    let (n, error) = refused.expect("the budget has an end");
    assert!(n > 2 && error == "E:53200", "{n} {error}");
    client.query("ROLLBACK");
    until_held(&running, MIB, true);
    let mut refused = None;
    for n in 0..5_000 {
        let sql = format!("SELECT {}", vec!["1 + 1"; 500].join(", "));
        client.parse(&format!("s{n}"), &sql, &[]).sync();
        let answer = client.ask();
        if answer[0] != "1" {
            refused = Some(answer[0].clone());
            break;
        }
    }
    assert_eq!(refused.as_deref(), Some("E:53200"));
    client.query("DEALLOCATE ALL");
    assert_eq!(client.query("SELECT 1")[1], "D:1");
}

/// Where the rows take all of it, clients still have a part, and what is little is not weighed.
#[test]
fn with_a_full_database_clients_read() {
    let running = running();
    let mut client = running.client();
    client.query("CREATE TABLE t (id int PRIMARY KEY, v text)");
    let fill =
        "INSERT INTO t SELECT max(id) + 1, repeat('x', 1000000) FROM (SELECT id FROM t UNION ALL SELECT 0) u";
    while client.query(fill)[0] == "C:INSERT 0 1" {}
    assert_eq!(client.query(fill)[0], "E:53200");
    assert_eq!(client.query("SELECT id FROM t WHERE id = 7")[1], "D:7");
    let rows = client.query_raw("SELECT v FROM t ORDER BY id LIMIT 20");
    assert!(rows.iter().filter(|m| m.tag == 'D').all(|m| m.body.len() > 1_000_000));
    assert_eq!(shown(&rows).last().map(String::as_str), Some("Z:I"));
    client.query("DELETE FROM t WHERE id < 10");
}
