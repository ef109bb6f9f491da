//! What a call costs over the wire, against the same call through the embedding API.
//!
//! ```text
//!  cargo bench -p planaria-server            about ten seconds; a table
//! ```
//!
//! One client, one database in memory, so that neither a disk nor another client is in the way. The ways:
//!
//! * `embedded`: `Session::submit` of a prepared call;
//! * `pipelined`: Bind, Execute, Sync of a prepared statement, [`DEPTH`] of them sent ahead;
//! * `one by one`: the same, each answer waited for, by TCP and by a Unix domain socket.
//!
//! Beside the time of a call stands the processor time of the process without that of the client's own thread:
//! what the server spends, the kernel's part of it included. `cargo test` runs it once, briefly.

use planaria::{Database, Options};
use planaria_server::{Config, Server};
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Calls that are sent before the first answer is awaited.
const DEPTH: usize = 64;
const ROWS: u64 = 10_000;

const SCHEMA: &str = "
    CREATE TABLE account (id int PRIMARY KEY, balance numeric(12,2) NOT NULL);
    INSERT INTO account SELECT i, 1000 FROM generate_series(1, 10000) AS g(i);
    CREATE FUNCTION balance(p_id int) RETURNS numeric LANGUAGE plpgsql AS $$
    DECLARE v numeric;
    BEGIN
        SELECT a.balance INTO STRICT v FROM account AS a WHERE a.id = p_id;
        RETURN v;
    END $$;
    CREATE PROCEDURE transfer(p_from int, p_to int, p_amount numeric) LANGUAGE plpgsql AS $$
    BEGIN
        UPDATE account SET balance = account.balance - p_amount WHERE id = p_from;
        UPDATE account SET balance = account.balance + p_amount WHERE id = p_to;
    END $$;";

/// Nanoseconds of processor time of this thread so far.
fn thread_cpu() -> u64 {
    let stat = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    stat.split(' ').next().and_then(|n| n.parse().ok()).unwrap_or(0)
}

/// The same of the process, over all its threads.
fn process_cpu() -> u64 {
    let tasks = std::fs::read_dir("/proc/self/task").into_iter().flatten().flatten();
    let of = |task: std::fs::DirEntry| std::fs::read_to_string(task.path().join("schedstat")).ok();
    tasks.filter_map(of).filter_map(|s| s.split(' ').next()?.parse::<u64>().ok()).sum()
}

/// What a way came to.
struct Cost {
    ns: f64,
    server_cpu_ns: f64,
}

/// Repeats a batch of calls for a while; the batch says how many they were.
fn measure(time: Duration, mut batch: impl FnMut() -> usize) -> Cost {
    batch();
    // The process's clock is read first: what this thread does in between is nobody else's.
    let of_others = || process_cpu().saturating_sub(thread_cpu());
    let (others, start) = (of_others(), Instant::now());
    let mut calls = 0;
    while start.elapsed() < time {
        calls += batch();
    }
    let elapsed = start.elapsed().as_nanos() as f64;
    let others = of_others().saturating_sub(others);
    Cost { ns: elapsed / calls as f64, server_cpu_ns: others as f64 / calls as f64 }
}

/// A client that is let in, with the two statements prepared.
struct Client<S> {
    socket: S,
    out: Vec<u8>,
    input: Vec<u8>,
}

impl<S: Read + Write> Client<S> {
    fn enter(socket: S) -> Client<S> {
        let mut client = Client { socket, out: Vec::new(), input: Vec::new() };
        let startup = b"\0\x03\0\0user\0postgres\0\0";
        client.out.extend_from_slice(&(startup.len() as i32 + 4).to_be_bytes());
        client.out.extend_from_slice(startup);
        client.round(1);
        for text in ["b\0SELECT balance($1)\0\0\0", "t\0CALL transfer($1, $2, $3)\0\0\0"] {
            client.message(b'P', text.as_bytes());
            client.message(b'S', b"");
            client.round(1);
        }
        client
    }

    fn message(&mut self, tag: u8, body: &[u8]) {
        self.out.push(tag);
        self.out.extend_from_slice(&(body.len() as i32 + 4).to_be_bytes());
        self.out.extend_from_slice(body);
    }

    /// Bind, Execute and Sync of a prepared statement.
    fn call(&mut self, name: &str, arguments: &[&str]) {
        let mut body = format!("\0{name}\0\0\0").into_bytes();
        body.extend_from_slice(&(arguments.len() as i16).to_be_bytes());
        for argument in arguments {
            body.extend_from_slice(&(argument.len() as i32).to_be_bytes());
            body.extend_from_slice(argument.as_bytes());
        }
        body.extend_from_slice(&[0, 0]);
        self.message(b'B', &body);
        self.message(b'E', b"\0\0\0\0\0");
        self.message(b'S', b"");
    }

    /// Sends what was gathered and reads up to the n-th ReadyForQuery.
    fn round(&mut self, n: usize) {
        self.socket.write_all(&self.out).expect("writes");
        self.out.clear();
        let mut ready = 0;
        let mut chunk = [0; 16 << 10];
        while ready < n {
            let got = self.socket.read(&mut chunk).expect("reads");
            assert!(got > 0, "the server has closed");
            self.input.extend_from_slice(&chunk[..got]);
            let mut at = 0;
            while let Some(head) = self.input.get(at..at + 5) {
                let len = 1 + u32::from_be_bytes([head[1], head[2], head[3], head[4]]) as usize;
                if at + len > self.input.len() {
                    break;
                }
                assert_ne!(head[0], b'E', "{}", String::from_utf8_lossy(&self.input[at..at + len]));
                ready += usize::from(head[0] == b'Z');
                at += len;
            }
            self.input.drain(..at);
        }
    }
}

fn argument(i: u64) -> i32 {
    (i.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 33) as i32 % ROWS as i32 + 1
}

fn over_wire<S: Read + Write>(socket: S, time: Duration, depth: usize) -> [Cost; 2] {
    let mut client = Client::enter(socket);
    let mut i = 0;
    let read = measure(time, || {
        for _ in 0..depth {
            i += 1;
            client.call("b", &[&argument(i).to_string()]);
        }
        client.round(depth);
        depth
    });
    let write = measure(time, || {
        for _ in 0..depth {
            i += 2;
            client.call("t", &[&argument(i).to_string(), &argument(i + 1).to_string(), "1.00"]);
        }
        client.round(depth);
        depth
    });
    [read, write]
}

fn embedded(db: &Database, time: Duration) -> [Cost; 2] {
    let mut session = db.session().expect("a session");
    let balance = session.prepare_call("balance", 1).expect("a function");
    let transfer = session.prepare_call("transfer", 3).expect("a procedure");
    let mut i = 0;
    let read = measure(time, || {
        for _ in 0..DEPTH {
            i += 1;
            session.submit(&balance, (argument(i),)).expect("a balance");
        }
        DEPTH
    });
    let write = measure(time, || {
        for _ in 0..DEPTH {
            i += 2;
            session.submit(&transfer, (argument(i), argument(i + 1), 1)).expect("a transfer");
        }
        DEPTH
    });
    [read, write]
}

fn main() {
    let whole = std::env::args().any(|a| a == "--bench");
    let time = if whole { Duration::from_secs(1) } else { Duration::from_millis(5) };
    let db = Arc::new(Options::new().in_memory().expect("a database"));
    db.execute_script(SCHEMA).expect("a schema");
    let inside = embedded(&db, time);
    let directory = tempfile::tempdir().expect("a directory");
    let config = Config {
        listen: vec![SocketAddr::from(([127, 0, 0, 1], 0))],
        socket_dir: Some(directory.path().to_owned()),
        threads: Some(1),
        ..Config::default()
    };
    let server = Server::bind(db, config).expect("a free port");
    let (address, stopper) = (server.addresses()[0], server.stopper());
    let thread = std::thread::spawn(move || server.run());
    let tcp = || {
        let socket = TcpStream::connect(address).expect("connects");
        socket.set_nodelay(true).expect("no delay");
        socket
    };
    let path = directory.path().join(format!(".s.PGSQL.{}", address.port()));
    let unix = || UnixStream::connect(&path).expect("connects");
    let ways = [
        ("embedded", inside),
        ("pipelined, TCP", over_wire(tcp(), time, DEPTH)),
        ("pipelined, Unix socket", over_wire(unix(), time, DEPTH)),
        ("one by one, TCP", over_wire(tcp(), time, 1)),
        ("one by one, Unix socket", over_wire(unix(), time, 1)),
    ];
    println!("{:<26} {:>22} {:>30}", "ns a call", "one row read", "two rows changed");
    println!("{:<26} {:>10} {:>13} {:>14} {:>15}", "", "time", "server CPU", "time", "server CPU");
    for (name, [read, write]) in &ways {
        println!(
            "{name:<26} {:>10.0} {:>13.0} {:>14.0} {:>15.0}",
            read.ns, read.server_cpu_ns, write.ns, write.server_cpu_ns
        );
    }
    stopper.stop();
    thread.join().expect("joins").expect("well");
}
