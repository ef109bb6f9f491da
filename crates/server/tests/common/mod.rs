//! A server for a test, and a raw client that says exactly what the test wants.
#![allow(dead_code, reason = "each test file uses a part of it")]

use planaria::Database;
use planaria_server::{Config, Server, Stopper};
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;

/// A server on a free port, stopped when dropped.
pub struct Running {
    pub address: SocketAddr,
    pub db: Arc<Database>,
    stopper: Stopper,
    thread: Option<JoinHandle<()>>,
}

impl Running {
    pub fn start() -> Running {
        Running::with(Database::in_memory().expect("a database"), Config::default())
    }

    pub fn with(db: Database, config: Config) -> Running {
        let db = Arc::new(db);
        let listen = vec![SocketAddr::from(([127, 0, 0, 1], 0))];
        let config = Config { listen, drain_timeout: Duration::from_secs(2), ..config };
        let server = Server::bind(db.clone(), config).expect("a free port");
        let (address, stopper) = (server.addresses()[0], server.stopper());
        let thread = std::thread::spawn(move || server.run().expect("it runs"));
        Running { address, db, stopper, thread: Some(thread) }
    }

    pub fn client(&self) -> Client {
        Client::enter(self.address)
    }

    pub fn stop(&self) {
        self.stopper.stop();
    }

    /// Asks until a count is `n`: what clients do is seen when they are at it, however busy the machine is.
    pub fn until_count(&self, sql: &str, n: i64) {
        let deadline = std::time::Instant::now() + Duration::from_secs(60);
        loop {
            let rows = self.db.query(sql, ()).expect("a count");
            let found = rows[0].get::<i64>(0).expect("a number");
            if found == n {
                return;
            }
            assert!(std::time::Instant::now() < deadline, "{sql}: {found}");
            std::thread::sleep(Duration::from_millis(2));
        }
    }

    /// Returns when the statements of so many clients are running that begin so.
    pub fn until_active(&self, begin: &str, n: i64) {
        let sql = "SELECT count(*) FROM pg_stat_activity WHERE state = 'active' AND query LIKE";
        self.until_count(&format!("{sql} '{begin}%'"), n);
    }

    /// Connects with tokio-postgres and runs `f`.
    pub fn drive<T>(&self, f: impl AsyncFnOnce(tokio_postgres::Client) -> T) -> T {
        self.drive_as("postgres", "x", f)
    }

    /// The same as a role.
    pub fn drive_as<T>(
        &self,
        user: &str,
        password: &str,
        f: impl AsyncFnOnce(tokio_postgres::Client) -> T,
    ) -> T {
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(1)
            .enable_all()
            .build()
            .expect("a runtime");
        let address = format!(
            "host=127.0.0.1 port={} user={user} password={password} dbname=test",
            self.address.port()
        );
        runtime.block_on(async {
            let (client, connection) =
                tokio_postgres::connect(&address, tokio_postgres::NoTls).await.expect("connects");
            tokio::spawn(async move { drop(connection.await) });
            f(client).await
        })
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.stopper.stop();
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// A message of the server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Message {
    pub tag: char,
    pub body: Vec<u8>,
}

impl Message {
    /// A field of an error or a notice.
    pub fn field(&self, code: char) -> Option<String> {
        self.body
            .split(|b| *b == 0)
            .find(|f| f.first() == Some(&(code as u8)))
            .map(|f| String::from_utf8(f[1..].to_vec()).expect("UTF-8"))
    }

    /// The values of a DataRow, as text.
    pub fn values(&self) -> Vec<Option<String>> {
        let mut at = 2;
        let mut values = Vec::new();
        while at < self.body.len() {
            let len = i32::from_be_bytes(self.body[at..at + 4].try_into().expect("four bytes"));
            at += 4;
            values.push(usize::try_from(len).ok().map(|len| {
                at += len;
                String::from_utf8_lossy(&self.body[at - len..at]).into_owned()
            }));
        }
        values
    }

    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).trim_end_matches('\0').to_owned()
    }
}

/// What came, one word a message: `C:SELECT 1`, `D:1,2`, `E:42P01`, `Z:I`.
pub fn shown(messages: &[Message]) -> Vec<String> {
    messages
        .iter()
        .map(|m| match m.tag {
            'C' => format!("C:{}", m.text()),
            'D' => {
                let values: Vec<String> =
                    m.values().into_iter().map(|v| v.unwrap_or_else(|| "NULL".to_owned())).collect();
                format!("D:{}", values.join(","))
            }
            'E' | 'N' => format!("{}:{}", m.tag, m.field('C').unwrap_or_default()),
            'Z' => format!("Z:{}", m.text()),
            tag => tag.to_string(),
        })
        .collect()
}

/// A client that speaks bytes.
pub struct Client {
    pub socket: TcpStream,
    out: Vec<u8>,
}

impl Client {
    pub fn connect(address: SocketAddr) -> Client {
        let socket = TcpStream::connect(address).expect("connects");
        socket.set_read_timeout(Some(Duration::from_secs(20))).expect("a timeout");
        socket.set_nodelay(true).expect("no delay");
        Client { socket, out: Vec::new() }
    }

    /// Connects and is let in.
    pub fn enter(address: SocketAddr) -> Client {
        let mut client = Client::connect(address);
        client.startup(&[("user", "postgres"), ("database", "test")]);
        let messages = client.until_ready();
        assert_eq!(messages[0].tag, 'R');
        client
    }

    pub fn startup(&mut self, parameters: &[(&str, &str)]) {
        let mut body = (3i32 << 16).to_be_bytes().to_vec();
        for (name, value) in parameters {
            body.extend_from_slice(name.as_bytes());
            body.push(0);
            body.extend_from_slice(value.as_bytes());
            body.push(0);
        }
        body.push(0);
        self.packet(&body);
    }

    /// A packet without a type.
    pub fn packet(&mut self, body: &[u8]) {
        let mut packet = (body.len() as i32 + 4).to_be_bytes().to_vec();
        packet.extend_from_slice(body);
        self.socket.write_all(&packet).expect("writes");
    }

    pub fn message(&mut self, tag: char, body: &[u8]) -> &mut Client {
        self.out.push(tag as u8);
        self.out.extend_from_slice(&(body.len() as i32 + 4).to_be_bytes());
        self.out.extend_from_slice(body);
        self
    }

    pub fn parse(&mut self, name: &str, sql: &str, types: &[u32]) -> &mut Client {
        let mut body = format!("{name}\0{sql}\0").into_bytes();
        body.extend_from_slice(&(types.len() as i16).to_be_bytes());
        types.iter().for_each(|t| body.extend_from_slice(&t.to_be_bytes()));
        self.message('P', &body)
    }

    /// Bind with values in text form, and text asked for.
    pub fn bind(&mut self, portal: &str, statement: &str, values: &[Option<&str>]) -> &mut Client {
        let mut body = format!("{portal}\0{statement}\0").into_bytes();
        body.extend_from_slice(&0i16.to_be_bytes());
        body.extend_from_slice(&(values.len() as i16).to_be_bytes());
        for value in values {
            match value {
                None => body.extend_from_slice(&(-1i32).to_be_bytes()),
                Some(text) => {
                    body.extend_from_slice(&(text.len() as i32).to_be_bytes());
                    body.extend_from_slice(text.as_bytes());
                }
            }
        }
        body.extend_from_slice(&0i16.to_be_bytes());
        self.message('B', &body)
    }

    pub fn describe(&mut self, what: char, name: &str) -> &mut Client {
        self.message('D', format!("{what}{name}\0").as_bytes())
    }

    pub fn execute(&mut self, portal: &str, rows_max: i32) -> &mut Client {
        let mut body = format!("{portal}\0").into_bytes();
        body.extend_from_slice(&rows_max.to_be_bytes());
        self.message('E', &body)
    }

    pub fn close(&mut self, what: char, name: &str) -> &mut Client {
        self.message('C', format!("{what}{name}\0").as_bytes())
    }

    pub fn sync(&mut self) -> &mut Client {
        self.message('S', b"")
    }

    pub fn send(&mut self) -> &mut Client {
        let out = std::mem::take(&mut self.out);
        self.socket.write_all(&out).expect("writes");
        self
    }

    /// A simple query and its answer.
    pub fn query(&mut self, sql: &str) -> Vec<String> {
        shown(&self.query_raw(sql))
    }

    pub fn query_raw(&mut self, sql: &str) -> Vec<Message> {
        self.message('Q', format!("{sql}\0").as_bytes()).send();
        self.until_ready()
    }

    /// The next message; `None` at the end.
    pub fn next(&mut self) -> Option<Message> {
        let mut head = [0; 5];
        self.socket.read_exact(&mut head).ok()?;
        let len = i32::from_be_bytes([head[1], head[2], head[3], head[4]]) as usize;
        let mut body = vec![0; len - 4];
        self.socket.read_exact(&mut body).ok()?;
        Some(Message { tag: head[0] as char, body })
    }

    /// Messages up to ReadyForQuery, or to the end.
    pub fn until_ready(&mut self) -> Vec<Message> {
        self.until('Z')
    }

    pub fn until(&mut self, tag: char) -> Vec<Message> {
        let mut messages = Vec::new();
        while let Some(message) = self.next() {
            let last = message.tag == tag;
            messages.push(message);
            if last {
                break;
            }
        }
        messages
    }

    /// The answer to what was gathered.
    pub fn ask(&mut self) -> Vec<String> {
        self.send();
        shown(&self.until_ready())
    }
}
