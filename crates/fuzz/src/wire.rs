//! Messages: whatever a client sends, it gets answers in the protocol's form or is let go, and others are served on.

use crate::chance::{below, change as changed, once_in};
use planaria::Database;
use planaria_server::{Config, Server, Stopper};
use planaria_sim::dice::Dice;
use std::io::{ErrorKind, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpStream};
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;

/// A client hears something within this time.
const PATIENCE: Duration = Duration::from_secs(20);

/// A server to talk to.
pub struct Subject {
    address: SocketAddr,
    stopper: Stopper,
    thread: Option<JoinHandle<()>>,
}

impl Subject {
    /// A server of a small database, on a free port.
    pub fn new() -> Subject {
        let db = Database::in_memory().expect("a database");
        db.execute_script(
            "CREATE TABLE t (id int PRIMARY KEY, name text, x float8);
             INSERT INTO t SELECT i, 'n' || i, i / 2.0 FROM generate_series(1, 50) i;
             CREATE PROCEDURE p(a int, INOUT b text DEFAULT 'x') LANGUAGE plpgsql AS $$ BEGIN b := b || a; END $$;",
        )
        .expect("a schema");
        let config = Config {
            listen: vec![SocketAddr::from(([127, 0, 0, 1], 0))],
            drain_timeout: Duration::from_millis(200),
            startup_timeout: Duration::from_secs(5),
            max_message_bytes: 1 << 20,
            threads: Some(2),
            ..Config::default()
        };
        let server = Server::bind(Arc::new(db), config).expect("a free port");
        let (address, stopper) = (server.addresses()[0], server.stopper());
        let thread = std::thread::spawn(move || server.run().expect("it runs"));
        Subject { address, stopper, thread: Some(thread) }
    }

    /// Says `bytes` and hangs up; what the server said until then.
    pub fn say(&self, bytes: &[u8]) -> Vec<u8> {
        let mut stream = TcpStream::connect(self.address).expect("the server accepts");
        stream.set_read_timeout(Some(PATIENCE)).expect("a timeout");
        let mut writer = stream.try_clone().expect("a second handle");
        let said = bytes.to_vec();
        let speaking = std::thread::spawn(move || {
            // It may be let go in the middle of it.
            let _ = writer.write_all(&said);
            let _ = writer.shutdown(Shutdown::Write);
        });
        let mut heard = Vec::new();
        match stream.read_to_end(&mut heard) {
            Err(e) if matches!(e.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => {
                panic!("no end after {PATIENCE:?} of {bytes:?}; heard {:?}", String::from_utf8_lossy(&heard))
            }
            _ => {}
        }
        let _ = speaking.join();
        heard
    }

    /// Lets a client in, which says `bytes` then.
    pub fn run(&self, bytes: &[u8]) {
        let mut said =
            startup(&[("user", "postgres"), ("database", "x"), ("options", "-c statement_timeout=100")]);
        said.extend_from_slice(bytes);
        check(&self.say(&said), bytes);
    }

    /// Says `bytes` from the first on.
    pub fn run_raw(&self, bytes: &[u8]) {
        check(&self.say(bytes), bytes);
    }

    /// Says what libFuzzer makes: the first byte says whether it is all that is said (0), what is said by a client that
    /// was let in (1), or its messages without their lengths (see [`framed`]), which then always fit.
    pub fn hear(&self, data: &[u8]) {
        match data {
            [] => {}
            [0, said @ ..] => self.run_raw(said),
            [1, said @ ..] => self.run(said),
            [_, pieces @ ..] => self.run(&framed(pieces)),
        }
    }

    /// Others are served.
    pub fn serves(&self) {
        let mut said = startup(&[("user", "postgres"), ("database", "x")]);
        said.extend(message(b'Q', b"SELECT 'still ' || 'here'\0"));
        let heard = self.say(&said);
        assert!(heard.windows(10).any(|w| w == b"still here"), "{:?}", String::from_utf8_lossy(&heard));
    }
}

impl Default for Subject {
    fn default() -> Subject {
        Subject::new()
    }
}

impl Drop for Subject {
    fn drop(&mut self) {
        self.stopper.stop();
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// What a server says is messages, whole but for the last, and none of them an internal error.
fn check(heard: &[u8], said: &[u8]) {
    let mut rest = heard;
    while let [tag, a, b, c, d, ..] = *rest {
        let length = i32::from_be_bytes([a, b, c, d]);
        // 'N' alone answers the question for encryption.
        if tag == b'N' && !(4..1 << 20).contains(&length) {
            rest = &rest[1..];
            continue;
        }
        assert!(tag.is_ascii_alphanumeric() && length >= 4, "not a message: {:?} after {said:?}", &rest[..5]);
        let Some(body) = rest.get(5..1 + length as usize) else { return };
        if tag == b'E' {
            let internal = body.split(|b| *b == 0).any(|field| field == b"CXX000");
            assert!(!internal, "{:?} after {said:?}", String::from_utf8_lossy(body));
        }
        rest = &rest[1 + length as usize..];
    }
}

/// The first message of a client.
pub fn startup(parameters: &[(&str, &str)]) -> Vec<u8> {
    let mut body = 196_608u32.to_be_bytes().to_vec();
    for (name, value) in parameters {
        for word in [name, value] {
            body.extend_from_slice(word.as_bytes());
            body.push(0);
        }
    }
    body.push(0);
    let mut all = (body.len() as u32 + 4).to_be_bytes().to_vec();
    all.extend(body);
    all
}

/// Any other one.
pub fn message(tag: u8, body: &[u8]) -> Vec<u8> {
    let mut all = vec![tag];
    all.extend_from_slice(&(body.len() as u32 + 4).to_be_bytes());
    all.extend_from_slice(body);
    all
}

/// What stands between messages without lengths.
pub const BETWEEN: &[u8] = &[0xfd, 0xfe];

/// Messages whose tags and bodies are separated by [`BETWEEN`].
pub fn framed(mut pieces: &[u8]) -> Vec<u8> {
    let mut all = Vec::new();
    while !pieces.is_empty() {
        let end = pieces.windows(BETWEEN.len()).position(|w| w == BETWEEN);
        if let Some((tag, body)) = pieces[..end.unwrap_or(pieces.len())].split_first() {
            all.extend(message(*tag, body));
        }
        pieces = end.map_or(&[], |end| &pieces[end + BETWEEN.len()..]);
    }
    all
}

/// The other way: `said` as [`framed`] takes it, or `None` if its lengths do not fit.
pub fn unframed(mut said: &[u8]) -> Option<Vec<u8>> {
    let mut pieces = Vec::new();
    while let [tag, a, b, c, d, rest @ ..] = said {
        let length = (u32::from_be_bytes([*a, *b, *c, *d]) as usize).checked_sub(4)?;
        pieces.push(*tag);
        pieces.extend_from_slice(rest.get(..length)?);
        pieces.extend_from_slice(BETWEEN);
        said = &rest[length..];
    }
    Some(pieces)
}

/// A conversation by dice: messages that could be meant, with bodies that nearly are.
pub fn conversation(dice: &mut Dice) -> Vec<u8> {
    const NAMES: &[&str] = &["", "", "", "a", "b", "ü"];
    const TEXTS: &[&str] = &[
        "SELECT 1",
        "SELECT $1::int + id, name FROM t WHERE id < $2 ORDER BY id",
        "INSERT INTO t VALUES ($1, $2, $3)",
        "UPDATE t SET name = $1 WHERE id = 3 RETURNING *",
        "BEGIN",
        "COMMIT",
        "ROLLBACK",
        "SAVEPOINT a",
        "CALL p($1, $2)",
        "COPY t FROM STDIN",
        "COPY t FROM STDIN WITH (FORMAT csv, HEADER)",
        "COPY t TO STDOUT",
        "COPY t TO STDOUT (FORMAT binary)",
        "COPY t FROM STDIN (FORMAT binary)",
        "SELECT 1; SELECT 1/0; SELECT 2",
        "",
        "SET client_encoding = 'UTF8'",
        "SHOW ALL",
        "DECLARE c CURSOR FOR SELECT * FROM t",
        "FETCH 3 FROM c",
        "DEALLOCATE ALL",
        "DISCARD ALL",
        "SELECT repeat('x', 5000) FROM generate_series(1, 100)",
        "SELECT pg_sleep(1)",
        "LISTEN x",
        "SELECT * FROM pg_class",
    ];
    fn name(dice: &mut Dice, body: &mut Vec<u8>) {
        body.extend_from_slice(dice.of(NAMES).as_bytes());
        body.push(0);
    }
    fn short(dice: &mut Dice, body: &mut Vec<u8>, few: usize) -> usize {
        let n = below(dice, few);
        body.extend_from_slice(&(n as u16).to_be_bytes());
        n
    }
    let mut all = Vec::new();
    for _ in 0..1 + below(dice, 12) {
        let mut body = Vec::new();
        let tag = dice.of(b"QQPPBBBDEEESSSCHHXFdcfp");
        match tag {
            b'Q' => {
                body.extend_from_slice(dice.of(TEXTS).as_bytes());
                body.push(0);
            }
            b'P' => {
                name(dice, &mut body);
                body.extend_from_slice(dice.of(TEXTS).as_bytes());
                body.push(0);
                for _ in 0..short(dice, &mut body, 3) {
                    body.extend_from_slice(
                        &dice.of(&[0u32, 23, 25, 20, 701, 1700, 17, 1184, 99_999]).to_be_bytes(),
                    );
                }
            }
            b'B' => {
                name(dice, &mut body);
                name(dice, &mut body);
                for _ in 0..short(dice, &mut body, 3) {
                    short(dice, &mut body, 3);
                }
                for _ in 0..short(dice, &mut body, 4) {
                    let value = dice.of::<&[u8]>(&[
                        b"1",
                        b"x",
                        b"",
                        b"\0\0\0\x05",
                        b"2024-01-01",
                        b"\xff\xfe",
                        b"-1.5e3",
                    ]);
                    let length = if once_in(dice, 8) { -1 } else { value.len() as i32 };
                    body.extend_from_slice(&length.to_be_bytes());
                    if length >= 0 {
                        body.extend_from_slice(value);
                    }
                }
                for _ in 0..short(dice, &mut body, 3) {
                    short(dice, &mut body, 3);
                }
            }
            b'D' | b'C' => {
                body.push(dice.of(b"SPSPx"));
                name(dice, &mut body);
            }
            b'E' => {
                name(dice, &mut body);
                body.extend_from_slice(&dice.of(&[0u32, 1, 7, u32::MAX]).to_be_bytes());
            }
            b'd' => body.extend_from_slice(
                dice.of(&["900\tn\t1.5\n", "901,n,2\n", "\\.\n", "x", "PGCOPY\n"]).as_bytes(),
            ),
            b'F' | b'f' | b'p' => (0..below(dice, 20)).for_each(|_| body.push(dice.draw() as u8)),
            _ => {}
        }
        if once_in(dice, 6) {
            let other = body.clone();
            changed(dice, &mut body, &other);
        }
        all.extend(message(tag, &body));
    }
    if once_in(dice, 8) {
        let other = all.clone();
        changed(dice, &mut all, &other);
    }
    all
}
