//! What one client does wrong is felt by nobody else, and has a limit.

use crate::common;

use common::{Client, Running, shown};
use planaria::Database;
use planaria_server::{Config, Monitor};
use std::io::{Read, Write};
use std::time::{Duration, Instant};

fn with(config: Config) -> Running {
    Running::with(Database::in_memory().expect("a database"), config)
}

#[test]
fn messages_and_answers_have_limits() {
    let running = with(Config { max_message_bytes: 1_000, max_result_bytes: 10_000, ..Config::default() });
    let mut client = running.client();
    assert_eq!(client.query("SELECT repeat('x', 20000)"), ["E:54000", "Z:I"]);
    assert_eq!(client.query("SELECT generate_series(1, 10000)"), ["E:54000", "Z:I"]);
    assert_eq!(client.query("COPY (SELECT generate_series(1, 10000)) TO STDOUT"), ["E:54000", "Z:I"]);
    assert_eq!(client.query("SELECT 1"), ["T", "D:1", "C:SELECT 1", "Z:I"]);
    client.message('Q', &[b'x'; 2_000]).send();
    assert_eq!(client.next().expect("a word").field('C').as_deref(), Some("08P01"));
    assert_eq!(client.next(), None);
}

/// What is too much for memory waits in a file, in its place, and leaves as the client takes it.
#[test]
fn large_answers_wait_in_files() {
    let running = with(Config { result_memory_bytes: 10_000, ..Config::default() });
    let mut client = running.client();
    let sql = "SELECT 1; SELECT n, repeat('x', n % 50) FROM generate_series(1, 20000) AS g(n); SELECT 2";
    let answer = client.query(sql);
    assert_eq!(answer[..4], ["T", "D:1", "C:SELECT 1", "T"]);
    for n in [1, 7_777, 20_000] {
        assert_eq!(answer[3 + n], format!("D:{n},{}", "x".repeat(n % 50)));
    }
    assert_eq!(answer[20_004..], ["C:SELECT 20000", "T", "D:2", "C:SELECT 1", "Z:I"]);
    // An error takes back what is in the file too.
    let answer = client.query("SELECT 10 / (9000 - n) FROM generate_series(1, 20000) AS g(n)");
    assert_eq!(answer, ["E:22012", "Z:I"]);
    let answer = client.query("COPY (SELECT n FROM generate_series(1, 20000) AS g(n)) TO STDOUT");
    assert_eq!(
        (answer.len(), answer[20_001].as_str(), answer[20_002].as_str()),
        (20_004, "c", "C:COPY 20000")
    );
    // A portal's rows, a few at a time.
    client.query("BEGIN");
    client.parse("", "SELECT generate_series(1, 5000)", &[]).bind("c", "", &[]).execute("c", 3).sync();
    assert_eq!(client.ask(), ["1", "2", "D:1", "D:2", "D:3", "s", "Z:T"]);
    client.execute("c", 4_000).sync();
    assert_eq!(client.ask()[3_999..], ["D:4003", "s", "Z:T"]);
    client.execute("c", 0).sync();
    assert_eq!(client.ask()[996..], ["D:5000", "C:SELECT 997", "Z:T"]);
    // The same by FETCH and MOVE, the first of which runs it.
    client.bind("d", "", &[]).sync();
    client.ask();
    let fetched = client.query("FETCH 3000 FROM d");
    assert_eq!(
        (fetched.len(), &*fetched[1], &fetched[3000..]),
        (3003, "D:1", &["D:3000", "C:FETCH 3000", "Z:T"].map(String::from)[..])
    );
    assert_eq!(client.query("MOVE 1500 FROM d"), ["C:MOVE 1500", "Z:T"]);
    assert_eq!(client.query("FETCH ALL FROM d")[499..], ["D:4999", "D:5000", "C:FETCH 500", "Z:T"]);
}

/// Files that answers wait in are bounded, for a connection and as a whole; who has too many hears of it, and what
/// is sent makes room again.
#[test]
fn answers_in_files_have_limits() {
    let running = with(Config {
        result_memory_bytes: 1_000,
        max_result_bytes: 200_000,
        max_temp_bytes: 300_000,
        ..Config::default()
    });
    let mut client = running.client();
    // Many large answers before one Sync leave one after the other.
    for _ in 0..20 {
        client.parse("", "SELECT generate_series(1, 10000)", &[]).bind("", "", &[]).execute("", 0);
    }
    client.sync();
    assert_eq!(client.ask().iter().filter(|m| m.starts_with("C:")).count(), 20);
    // Those of one simple query wait for each other.
    let two = "SELECT generate_series(1, 10000)";
    assert_eq!(client.query(&format!("{two}; {two}"))[10_001..], ["C:SELECT 10000", "E:53400", "Z:I"]);
    // Portals, too.
    let open = |client: &mut Client, name: &str| {
        client.parse("", "SELECT generate_series(1, 10000)", &[]).bind(name, "", &[]).execute(name, 1).sync();
        client.ask()
    };
    client.query("BEGIN");
    assert_eq!(open(&mut client, "a"), ["1", "2", "D:1", "s", "Z:T"]);
    assert_eq!(open(&mut client, "b"), ["1", "2", "E:53400", "Z:E"]);
    client.query("ROLLBACK; BEGIN");
    assert_eq!(open(&mut client, "a"), ["1", "2", "D:1", "s", "Z:T"]);
    let mut other = running.client();
    other.query("BEGIN");
    assert_eq!(open(&mut other, "a"), ["1", "2", "D:1", "s", "Z:T"]);
    let mut third = running.client();
    third.query("BEGIN");
    assert_eq!(open(&mut third, "a"), ["1", "2", "E:53100", "Z:E"]);
    other.query("ROLLBACK");
    third.query("ROLLBACK; BEGIN");
    assert_eq!(open(&mut third, "a"), ["1", "2", "D:1", "s", "Z:T"]);
    client.execute("a", 0).sync();
    assert_eq!(client.ask()[9_998..], ["D:10000", "C:SELECT 9999", "Z:T"]);
    third.query("ROLLBACK");
    // A cursor of DECLARE is fetched by Execute under the same limits.
    client.query("DECLARE c CURSOR FOR SELECT repeat('x', 100) FROM generate_series(1, 3000)");
    client.execute("c", 0).sync();
    assert_eq!(client.ask(), ["E:54000", "Z:E"]);
}

#[test]
fn who_is_silent_at_the_door_is_sent_away() {
    let running = with(Config { startup_timeout: Duration::from_millis(100), ..Config::default() });
    let begin = Instant::now();
    let mut silent = Client::connect(running.address);
    let mut half = Client::connect(running.address);
    half.socket.write_all(b"\0\0\0\x20\0\x03").expect("writes");
    assert_eq!(silent.next(), None);
    assert_eq!(half.next(), None);
    assert!(begin.elapsed() < Duration::from_secs(10));
    assert_eq!(running.client().query("SELECT 1").len(), 4);
}

#[test]
fn connections_beyond_the_limit_are_refused_until_one_leaves() {
    let running = with(Config { max_connections: 2, superuser_reserved_connections: 0, ..Config::default() });
    let (first, _second) = (running.client(), running.client());
    let mut third = Client::connect(running.address);
    third.startup(&[("user", "postgres")]);
    assert_eq!(third.next().expect("a word").field('C').as_deref(), Some("53300"));
    assert_eq!(third.next(), None);
    drop((first, third));
    let deadline = Instant::now() + Duration::from_secs(10);
    loop {
        let mut client = Client::connect(running.address);
        client.startup(&[("user", "postgres")]);
        if client.next().is_some_and(|m| m.tag == 'R') {
            break;
        }
        assert!(Instant::now() < deadline, "the place is free again");
        std::thread::sleep(Duration::from_millis(10));
    }
}

#[test]
fn who_does_not_read_is_closed_and_its_transaction_undone() {
    let running = with(Config { write_timeout: Duration::from_millis(200), ..Config::default() });
    running.db.execute_script("CREATE TABLE t (n int PRIMARY KEY)").expect("a table");
    let mut slow = running.client();
    slow.query("BEGIN; INSERT INTO t VALUES (1)");
    slow.message('Q', b"SELECT repeat('x', 1000) FROM generate_series(1, 50000)\0").send();
    let mut other = running.client();
    assert_eq!(other.query("SELECT count(*) FROM t"), ["T", "D:0", "C:SELECT 1", "Z:I"]);
    // Until the server's patience is over.
    let deadline = Instant::now() + Duration::from_secs(20);
    while other.query("SELECT count(*) FROM pg_stat_activity")[1] != "D:1" {
        assert!(Instant::now() < deadline, "it is sent away");
        std::thread::sleep(Duration::from_millis(20));
    }
    let mut all = Vec::new();
    let _ = slow.socket.read_to_end(&mut all);
    assert!(all.len() < 50_000_000, "it was not written to the end");
    assert_eq!(other.query("INSERT INTO t VALUES (1)"), ["C:INSERT 0 1", "Z:I"]);
}

#[test]
fn who_goes_away_in_a_transaction_leaves_nothing() {
    let running = with(Config::default());
    running.db.execute_script("CREATE TABLE t (n int PRIMARY KEY)").expect("a table");
    for _ in 0..20 {
        let mut client = running.client();
        client.query("BEGIN; INSERT INTO t VALUES (1)");
    }
    let mut client = running.client();
    assert_eq!(client.query("SELECT count(*) FROM t"), ["T", "D:0", "C:SELECT 1", "Z:I"]);
    client.query("SET idle_in_transaction_session_timeout = '100ms'");
    client.query("BEGIN; INSERT INTO t VALUES (1)");
    assert_eq!(client.next().expect("a word").field('C').as_deref(), Some("25P03"));
    assert_eq!(client.next(), None);
    assert_eq!(running.client().query("INSERT INTO t VALUES (1)"), ["C:INSERT 0 1", "Z:I"]);
}

/// A slot of the engine is taken while a transaction is open; many connections share few.
#[test]
fn many_idle_connections_cost_no_seats() {
    let running = with(Config { max_connections: 600, threads: Some(2), ..Config::default() });
    let mut clients: Vec<Client> = (0..500).map(|_| running.client()).collect();
    for client in &mut clients {
        assert_eq!(client.query("SELECT 1").len(), 4);
    }
    // Schema changes look at every slot that was ever taken.
    assert_eq!(clients[0].query("CREATE TABLE t (n int)"), ["C:CREATE TABLE", "Z:I"]);
    for client in &mut clients {
        client.message('Q', b"INSERT INTO t VALUES (1)\0").send();
    }
    for client in &mut clients {
        assert_eq!(shown(&client.until_ready()), ["C:INSERT 0 1", "Z:I"]);
    }
    assert_eq!(clients[7].query("SELECT count(*) FROM t"), ["T", "D:500", "C:SELECT 1", "Z:I"]);
}

/// Statements that take long do not keep others from being served, however many they are.
#[test]
fn long_statements_keep_nobody_waiting() {
    let running = with(Config { threads: Some(1), ..Config::default() });
    let endless = b"DO $$ BEGIN LOOP NULL; END LOOP; END $$\0";
    let keys: Vec<(Client, Vec<u8>)> = (0..3)
        .map(|_| {
            let mut client = Client::connect(running.address);
            client.startup(&[("user", "postgres")]);
            let key = client.until_ready().into_iter().find(|m| m.tag == 'K').expect("a key").body;
            client.message('Q', endless).send();
            (client, key)
        })
        .collect();
    running.until_active("DO", 3);
    assert_eq!(running.client().query("SELECT 1"), ["T", "D:1", "C:SELECT 1", "Z:I"]);
    for (mut client, key) in keys {
        let mut request = 80_877_102i32.to_be_bytes().to_vec();
        request.extend_from_slice(&key);
        Client::connect(running.address).packet(&request);
        assert_eq!(shown(&client.until_ready()), ["E:57014", "Z:I"]);
    }
}

#[test]
fn a_statement_has_the_time_that_was_set() {
    let running = with(Config { threads: Some(1), ..Config::default() });
    let mut client = running.client();
    client.query("SET statement_timeout = 50");
    let messages = client.query_raw("DO $$ BEGIN LOOP NULL; END LOOP; END $$");
    assert_eq!(shown(&messages), ["E:57014", "Z:I"]);
    assert_eq!(messages[0].field('M').as_deref(), Some("canceling statement due to statement timeout"));
    assert_eq!(client.query("SELECT 1"), ["T", "D:1", "C:SELECT 1", "Z:I"]);
}

/// Of COPY, all of it counts, and each of its rows hears of a cancel request.
#[test]
fn a_copy_has_the_time_that_was_set() {
    let running = with(Config { threads: Some(1), ..Config::default() });
    let mut client = running.client();
    client.query("CREATE TABLE t (a int PRIMARY KEY)");
    client.query("SET statement_timeout = 100");
    assert_eq!(client.query("COPY (SELECT a + b FROM generate_series(1, 1000000) AS a, generate_series(1, 1000000) AS b WHERE a + b < 0) TO STDOUT"), ["E:57014", "Z:I"]);
    client.message('Q', b"COPY t FROM STDIN\0").send();
    assert_eq!(client.next().expect("a word").tag, 'G');
    client.message('d', b"1\n").send();
    std::thread::sleep(Duration::from_millis(150));
    client.message('d', b"2\n").message('c', b"").send();
    assert_eq!(shown(&client.until_ready()), ["E:57014", "Z:I"]);
    client.query("SET statement_timeout = 0");
    assert_eq!(client.query("SELECT count(*) FROM t"), ["T", "D:0", "C:SELECT 1", "Z:I"]);
}

#[test]
fn health_and_metrics_answer_over_http() {
    let monitor = Monitor::bind("127.0.0.1:0".parse().expect("an address")).expect("a free port");
    let get = |path: &str| {
        let mut stream = std::net::TcpStream::connect(monitor.address()).expect("connects");
        write!(stream, "GET {path} HTTP/1.1\r\nHost: x\r\n\r\n").expect("writes");
        let mut answer = String::new();
        stream.read_to_string(&mut answer).expect("an answer");
        answer
    };
    assert!(get("/health").starts_with("HTTP/1.1 503"), "nobody is served yet");
    assert!(get("/metrics").contains("planaria_up 0\n"));
    let db = std::sync::Arc::new(Database::in_memory().expect("a database"));
    let listen = vec!["127.0.0.1:0".parse().expect("an address")];
    let server =
        planaria_server::Server::bind(db, Config { listen, ..Config::default() }).expect("a free port");
    let (address, stopper) = (server.addresses()[0], server.stopper());
    monitor.serving(&server);
    let thread = std::thread::spawn(move || server.run());
    let mut client = Client::enter(address);
    client.query("CREATE FUNCTION one() RETURNS int LANGUAGE sql AS 'SELECT 1'");
    client.query("SELECT one()");
    client.query("SELECT nix");
    assert!(get("/health").starts_with("HTTP/1.1 200"));
    let page = get("/metrics");
    for line in [
        "planaria_up 1\n",
        "planaria_connections 1\n",
        "planaria_errors_total{sqlstate=\"42703\"} 1\n",
        "planaria_procedure_seconds_count{procedure=\"one\"} 1\n",
    ] {
        assert!(page.contains(line), "{line}{page}");
    }
    assert!(get("/status").contains("connections    1 of 1000"));
    assert!(get("/nix").starts_with("HTTP/1.1 404"));
    drop(client);
    stopper.stop();
    thread.join().expect("joins").expect("well");
    monitor.stopping();
    assert!(get("/health").starts_with("HTTP/1.1 503"));
}
