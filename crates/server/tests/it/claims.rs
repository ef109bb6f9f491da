//! Blocks of many connections that meet on a row: whoever has it can always go on.

use crate::common;

use common::{Client, Running, shown};
use planaria::Database;
use planaria_server::Config;

fn running(threads: usize) -> Running {
    let db = Database::in_memory().expect("a database");
    db.execute_script("CREATE TABLE t (id int PRIMARY KEY, v int); INSERT INTO t VALUES (1, 0), (2, 0)")
        .expect("a table");
    Running::with(db, Config { threads: Some(threads), ..Config::default() })
}

/// Each of the 64 waits for the row on a server of one thread; the COMMITs arrive behind them.
#[test]
fn a_crowd_that_waits_keeps_nobody_from_committing() {
    let running = running(1);
    let mut clients: Vec<Client> = (0..64).map(|_| running.client()).collect();
    for client in &mut clients {
        assert_eq!(client.query("BEGIN"), ["C:BEGIN", "Z:T"]);
    }
    assert_eq!(clients[0].query("UPDATE t SET v = v + 1 WHERE id = 1"), ["C:UPDATE 1", "Z:T"]);
    for client in &mut clients[1..] {
        client.message('Q', b"UPDATE t SET v = v + 1 WHERE id = 1\0").send();
    }
    running.until_count("SELECT count(*) FROM pg_locks WHERE NOT granted", 63);
    // Somebody else is served meanwhile.
    assert_eq!(running.client().query("SELECT v FROM t WHERE id = 1"), ["T", "D:0", "C:SELECT 1", "Z:I"]);
    // The others get their turns in the order in which they came, each as the one before it ends.
    assert_eq!(clients[0].query("COMMIT"), ["C:COMMIT", "Z:I"]);
    std::thread::scope(|scope| {
        for client in &mut clients[1..] {
            scope.spawn(|| {
                assert_eq!(shown(&client.until_ready()), ["C:UPDATE 1", "Z:T"]);
                assert_eq!(client.query("COMMIT"), ["C:COMMIT", "Z:I"]);
            });
        }
    });
    assert_eq!(running.client().query("SELECT v FROM t WHERE id = 1"), ["T", "D:64", "C:SELECT 1", "Z:I"]);
}

#[test]
fn a_wait_ends_with_the_statement_s_time_or_by_a_cancel_request() {
    let running = running(1);
    let mut holder = running.client();
    holder.query("BEGIN; UPDATE t SET v = 1 WHERE id = 1");
    let mut client = running.client();
    client.query("SET statement_timeout = 50");
    let messages = client.query_raw("UPDATE t SET v = 2 WHERE id = 1");
    assert_eq!(shown(&messages), ["E:57014", "Z:I"]);
    assert_eq!(messages[0].field('M').as_deref(), Some("canceling statement due to statement timeout"));
    client.query("SET statement_timeout = 0; SET lock_timeout = '20ms'");
    assert_eq!(client.query("BEGIN; UPDATE t SET v = 2 WHERE id = 1"), ["C:BEGIN", "E:55P03", "Z:E"]);
    client.query("ROLLBACK");

    let mut waiting = Client::connect(running.address);
    waiting.startup(&[("user", "postgres")]);
    let key = waiting.until_ready().into_iter().find(|m| m.tag == 'K').expect("a key").body;
    waiting.message('Q', b"BEGIN; UPDATE t SET v = 2 WHERE id = 1\0").send();
    running.until_count("SELECT count(*) FROM pg_locks WHERE NOT granted", 1);
    let mut request = 80_877_102i32.to_be_bytes().to_vec();
    request.extend_from_slice(&key);
    Client::connect(running.address).packet(&request);
    assert_eq!(shown(&waiting.until_ready()), ["C:BEGIN", "E:57014", "Z:E"]);
    assert_eq!(holder.query("COMMIT"), ["C:COMMIT", "Z:I"]);
}

#[test]
fn locking_clauses_say_what_postgresql_says() {
    let running = running(1);
    let (mut a, mut b) = (running.client(), running.client());
    assert_eq!(
        a.query("BEGIN; SELECT v FROM t WHERE id = 1 FOR UPDATE"),
        ["C:BEGIN", "T", "D:0", "C:SELECT 1", "Z:T"]
    );
    b.query("BEGIN");
    let messages = b.query_raw("SELECT v FROM t ORDER BY id FOR UPDATE NOWAIT");
    assert_eq!(shown(&messages), ["E:55P03", "Z:E"]);
    let message = messages.iter().find_map(|m| m.field('M').filter(|_| m.tag == 'E'));
    assert_eq!(message.as_deref(), Some("could not obtain lock on row in relation \"t\""));
    b.query("ROLLBACK; BEGIN");
    assert_eq!(b.query("SELECT id FROM t FOR UPDATE SKIP LOCKED"), ["T", "D:2", "C:SELECT 1", "Z:T"]);
    assert_eq!(a.query("COMMIT"), ["C:COMMIT", "Z:I"]);
    assert_eq!(b.query("COMMIT"), ["C:COMMIT", "Z:I"]);
}

/// Clients share sessions, but not the advisory locks of one.
#[test]
fn advisory_locks_are_a_client_s_own_until_it_goes() {
    let running = running(1);
    let (mut a, mut b) = (running.client(), running.client());
    a.query("SELECT pg_advisory_lock(1), pg_advisory_lock_shared(2)");
    assert_eq!(b.query("SELECT pg_try_advisory_lock(1), pg_try_advisory_lock_shared(2)")[1], "D:f,t");
    assert_eq!(b.query("SELECT pg_try_advisory_lock(2), pg_advisory_unlock_shared(2)")[1], "D:f,t");
    assert_eq!(a.query("SELECT pg_advisory_unlock(1)")[1], "D:t");
    assert_eq!(b.query("SELECT pg_try_advisory_lock(1), pg_try_advisory_lock(2)")[1], "D:t,f");
    b.message('Q', b"SELECT pg_advisory_lock(2), 7\0").send();
    running.until_count("SELECT count(*) FROM pg_locks WHERE NOT granted", 1);
    drop(a);
    // What returns nothing is empty, as PostgreSQL's.
    assert_eq!(shown(&b.until_ready())[1], "D:,7");
    b.query("DISCARD ALL");
    running.until_count("SELECT count(*) FROM pg_locks", 0);
}
