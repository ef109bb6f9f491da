//! Many clients, and bad ones among them: those who behave are served all the while, memory stays bounded, and
//! the server is whole afterwards.
//!
//! `cargo test -p planaria-server --test it crowd` takes seconds; with `PLANARIA_CROWD=1` and `--release` it has 1,000
//! idle and 64 busy clients for 20 seconds (`ulimit -n 8192`).

use crate::common;

use common::{Client, Running, shown};
use planaria::Database;
use planaria_server::Config;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// Bytes of memory that the process has.
fn resident() -> u64 {
    let statm = std::fs::read_to_string("/proc/self/statm").unwrap_or_default();
    statm.split(' ').nth(1).and_then(|n| n.parse::<u64>().ok()).unwrap_or(0) * 4096
}

/// A stream of numbers that is the same every time.
struct Numbers(u64);

impl Numbers {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z ^ (z >> 29)
    }
}

/// What bad clients do, each until it is time to stop.
const BAD: [fn(SocketAddr, u64, &AtomicBool); 6] =
    [garbage, failed_logins, half_open, half_messages, giants, slow_readers];

/// Noise instead of a startup packet, and after one.
fn garbage(address: SocketAddr, seed: u64, stop: &AtomicBool) {
    let mut numbers = Numbers(seed);
    while !stop.load(Ordering::Relaxed) {
        let Ok(mut socket) = TcpStream::connect(address) else { continue };
        let _ = socket.set_read_timeout(Some(Duration::from_secs(5)));
        if numbers.next().is_multiple_of(2) {
            let _ = socket.write_all(b"\0\0\0\x17\0\x03\0\0user\0postgres\0\0");
        }
        let noise: Vec<u8> = (0..numbers.next() % 3_000).map(|_| numbers.next() as u8).collect();
        let _ = socket.write_all(&noise);
        let _ = socket.shutdown(std::net::Shutdown::Write);
        let _ = socket.read_to_end(&mut Vec::new());
    }
}

/// Users that do not exist.
fn failed_logins(address: SocketAddr, _: u64, stop: &AtomicBool) {
    while !stop.load(Ordering::Relaxed) {
        let mut client = Client::connect(address);
        client.startup(&[("user", "nobody")]);
        assert_eq!(client.next().and_then(|m| m.field('C')).as_deref(), Some("28000"));
    }
}

/// Connects and says nothing, or half of what it has to.
fn half_open(address: SocketAddr, seed: u64, stop: &AtomicBool) {
    let mut numbers = Numbers(seed);
    let mut open = Vec::new();
    while !stop.load(Ordering::Relaxed) {
        if let Ok(mut socket) = TcpStream::connect(address) {
            let _ = socket.write_all(&b"\0\0\0\x17\0\x03\0\0user"[..numbers.next() as usize % 12]);
            open.push(socket);
        }
        if open.len() > 50 {
            open.clear();
        }
        std::thread::sleep(Duration::from_millis(1));
    }
}

/// Goes away in the middle of messages and transactions.
fn half_messages(address: SocketAddr, _: u64, stop: &AtomicBool) {
    while !stop.load(Ordering::Relaxed) {
        let mut client = Client::enter(address);
        client.query("BEGIN; UPDATE account SET balance = -1 WHERE id = 1");
        let _ = client.socket.write_all(b"Q\0\0\x10\0SELECT");
    }
}

/// Announces messages that are larger than is allowed, and sends some that just are not.
fn giants(address: SocketAddr, _: u64, stop: &AtomicBool) {
    while !stop.load(Ordering::Relaxed) {
        let mut client = Client::enter(address);
        let text = format!("SELECT length('{}')\0", "x".repeat(900_000));
        client.message('Q', text.as_bytes()).send();
        assert_eq!(shown(&client.until_ready())[1], "D:900000");
        let _ = client.socket.write_all(b"Q\x7f\xff\xff\xff");
        assert_eq!(client.next().and_then(|m| m.field('C')).as_deref(), Some("08P01"));
    }
}

/// Asks for much and reads none of it.
fn slow_readers(address: SocketAddr, _: u64, stop: &AtomicBool) {
    while !stop.load(Ordering::Relaxed) {
        let mut client = Client::enter(address);
        client.message('Q', b"SELECT repeat('x', 1000) FROM generate_series(1, 20000)\0").send();
        std::thread::sleep(Duration::from_millis(2_300));
    }
}

/// `idle` clients that have said something and are silent, `busy` ones that move money, and bad ones beside them.
fn crowd(idle: usize, busy: usize, time: Duration) {
    let config = Config {
        max_connections: idle + busy + 400,
        max_message_bytes: 1 << 20,
        startup_timeout: Duration::from_secs(5),
        write_timeout: Duration::from_secs(2),
        ..Config::default()
    };
    let running = Running::with(Database::in_memory().expect("a database"), config);
    running
        .db
        .execute_script(
            "CREATE TABLE account (id int PRIMARY KEY, balance int NOT NULL);
             INSERT INTO account SELECT i, 100 FROM generate_series(1, 1000) AS g(i);
             CREATE PROCEDURE transfer(a int, b int) LANGUAGE plpgsql AS $$ BEGIN
                 UPDATE account SET balance = balance - 1 WHERE id = a;
                 UPDATE account SET balance = balance + 1 WHERE id = b;
             END $$",
        )
        .expect("a schema");
    let mut silent: Vec<Client> = (0..idle).map(|_| running.client()).collect();
    for client in &mut silent {
        client.query("SET application_name = 'silent'");
    }
    let before = resident();
    let (stop, calls, longest) = (AtomicBool::new(false), AtomicU64::new(0), AtomicU64::new(0));
    let address = running.address;
    std::thread::scope(|scope| {
        for (i, bad) in BAD.iter().enumerate() {
            let stop = &stop;
            scope.spawn(move || bad(address, i as u64, stop));
        }
        for i in 0..busy {
            let (stop, calls, longest) = (&stop, &calls, &longest);
            scope.spawn(move || {
                let mut numbers = Numbers(1_000 + i as u64);
                let mut client = Client::enter(address);
                client.parse("t", "CALL transfer($1, $2)", &[]).sync();
                client.ask();
                while !stop.load(Ordering::Relaxed) {
                    let (a, b) = (numbers.next() % 1000 + 1, numbers.next() % 1000 + 1);
                    let begin = Instant::now();
                    client.bind("", "t", &[Some(&a.to_string()), Some(&b.to_string())]).execute("", 0).sync();
                    assert_eq!(client.ask(), ["2", "C:CALL", "Z:I"]);
                    longest.fetch_max(begin.elapsed().as_millis() as u64, Ordering::Relaxed);
                    calls.fetch_add(1, Ordering::Relaxed);
                }
            });
        }
        std::thread::sleep(time);
        stop.store(true, Ordering::Relaxed);
    });
    let (calls, longest) = (calls.load(Ordering::Relaxed), longest.load(Ordering::Relaxed));
    let grown = resident().saturating_sub(before);
    println!("{calls} calls, the longest {longest} ms; {} MiB more than before", grown >> 20);
    assert!(calls > busy as u64 * 10, "{calls} calls");
    assert!(longest < 20_000, "a call took {longest} ms");
    assert!(grown < 1 << 30, "memory grew by {grown} bytes");
    for client in &mut silent {
        assert_eq!(client.query("SHOW application_name")[1], "D:silent");
    }
    let mut last = running.client();
    assert_eq!(last.query("SELECT sum(balance), min(balance) > -100 FROM account")[1], "D:100000,t");
    drop(silent);
    let deadline = Instant::now() + Duration::from_secs(20);
    while last.query("SELECT count(*) FROM pg_stat_activity")[1] != "D:1" {
        assert!(Instant::now() < deadline, "those who have gone are gone");
        std::thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn a_crowd_with_bad_clients_is_served() {
    if std::env::var_os("PLANARIA_CROWD").is_some() {
        crowd(1_000, 64, Duration::from_secs(20));
    } else {
        crowd(100, 8, Duration::from_secs(2));
    }
}
