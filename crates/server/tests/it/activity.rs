//! Who is connected and what they do, as SQL shows it; clients that are cancelled and sent away by SQL.

use crate::common;

use common::{Client, Running, shown};
use planaria::Database;
use planaria_server::Config;
use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::time::{Duration, Instant};

/// The number by which a client is known.
fn number(client: &mut Client) -> String {
    client.query("SELECT pg_backend_pid()")[1][2..].to_owned()
}

/// Asks until the answer is this.
fn until(client: &mut Client, sql: &str, wanted: &[&str]) {
    let deadline = Instant::now() + Duration::from_secs(10);
    loop {
        let answer = client.query(sql);
        if answer == wanted {
            return;
        }
        assert!(Instant::now() < deadline, "{sql}: {answer:?}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

fn enter(running: &Running, user: &str, application: &str) -> (Client, i32) {
    let mut client = Client::connect(running.address);
    client.startup(&[("user", user), ("application_name", application)]);
    let messages = client.until_ready();
    let key = messages.iter().find(|m| m.tag == 'K').expect("a key");
    (client, i32::from_be_bytes(key.body[..4].try_into().expect("four bytes")))
}

#[test]
fn the_number_of_the_protocol_is_that_of_sql() {
    let running = Running::start();
    let (mut a, key) = enter(&running, "postgres", "a");
    let (mut b, other) = enter(&running, "postgres", "b");
    assert_ne!(key, other);
    for _ in 0..2 {
        assert_eq!(number(&mut b), other.to_string());
        assert_eq!(number(&mut a), key.to_string());
    }
}

#[test]
fn what_clients_do_is_seen() {
    let running = Running::start();
    let mut me = running.client();
    let (mut other, key) = enter(&running, "postgres", "the other");
    let state = format!(
        "SELECT state, query, wait_event, xact_start IS NOT NULL, application_name, client_addr, \
         client_port > 0, usename, backend_start <= query_start \
         FROM pg_stat_activity WHERE pid = {key}"
    );
    other.query("BEGIN");
    other.query("SELECT 7");
    let rest = "the other,127.0.0.1,t,postgres,t";
    let line = format!("D:idle in transaction,SELECT 7,ClientRead,t,{rest}");
    until(&mut me, &state, &["T", &line, "C:SELECT 1", "Z:I"]);
    other.query("SELECT 1/0");
    let line = format!("D:idle in transaction (aborted),SELECT 1/0,ClientRead,t,{rest}");
    until(&mut me, &state, &["T", &line, "C:SELECT 1", "Z:I"]);
    other.query("ROLLBACK");
    let line = format!("D:idle,ROLLBACK,ClientRead,f,{rest}");
    until(&mut me, &state, &["T", &line, "C:SELECT 1", "Z:I"]);
    other.message('Q', b"SELECT pg_sleep(60)\0").send();
    let line = format!("D:active,SELECT pg_sleep(60),NULL,t,{rest}");
    until(&mut me, &state, &["T", &line, "C:SELECT 1", "Z:I"]);
    assert_eq!(me.query(&format!("SELECT pg_cancel_backend({key})")), ["T", "D:t", "C:SELECT 1", "Z:I"]);
    assert_eq!(shown(&other.until_ready()), ["E:57014", "Z:I"]);
    assert_eq!(other.query("SELECT 1"), ["T", "D:1", "C:SELECT 1", "Z:I"]);
    let own = "SELECT state, wait_event, query LIKE '%own%' FROM pg_stat_activity \
               WHERE pid = pg_backend_pid() /* own */";
    assert_eq!(me.query(own)[1], "D:active,NULL,t");
    drop(other);
    until(&mut me, "SELECT count(*) FROM pg_stat_activity", &["T", "D:1", "C:SELECT 1", "Z:I"]);
}

/// Whether it found the session idle or met the end of a statement, what comes next is not cancelled.
#[test]
fn a_cancel_request_that_meets_nothing_is_forgotten() {
    let running = Running::start();
    running
        .db
        .execute_script("CREATE TABLE t (n int PRIMARY KEY); INSERT INTO t VALUES (1)")
        .expect("a table");
    let mut me = running.client();
    let (mut other, key) = enter(&running, "postgres", "");
    let cancel = format!("SELECT pg_cancel_backend({key})");
    for text in ["UPDATE t SET n = n + $1", "INSERT INTO t VALUES ($1 * 100)", "SELECT n FROM t WHERE n < $1"]
    {
        assert_eq!(me.query(&cancel)[1], "D:t");
        other.parse("", text, &[23]).bind("", "", &[Some("2")]).execute("", 0).sync();
        let answer = other.ask();
        assert!(!answer.iter().any(|a| a.starts_with('E')), "{text}: {answer:?}");
    }
    assert_eq!(me.query(&cancel)[1], "D:t");
    assert_eq!(other.query("DELETE FROM t"), ["C:DELETE 2", "Z:I"]);
}

#[test]
fn who_is_terminated_is_told_so() {
    let running = Running::start();
    running.db.execute_script("CREATE TABLE t (n int PRIMARY KEY)").expect("a table");
    let mut me = running.client();
    let (mut idle, first) = enter(&running, "postgres", "");
    let (mut busy, second) = enter(&running, "postgres", "");
    let (mut open, third) = enter(&running, "postgres", "");
    busy.message('Q', b"SELECT pg_sleep(60)\0").send();
    open.query("BEGIN; INSERT INTO t VALUES (1)");
    for key in [first, second, third] {
        let answer = me.query(&format!("SELECT pg_terminate_backend({key})"));
        assert_eq!(answer, ["T", "D:t", "C:SELECT 1", "Z:I"]);
    }
    for client in [&mut idle, &mut busy, &mut open] {
        let word = client.next().expect("a word");
        assert_eq!((word.field('C').as_deref(), word.field('S').as_deref()), (Some("57P01"), Some("FATAL")));
        assert_eq!(word.field('M').as_deref(), Some("terminating connection due to administrator command"));
        assert_eq!(client.next(), None);
    }
    assert_eq!(me.query("INSERT INTO t VALUES (1)"), ["C:INSERT 0 1", "Z:I"]);
    // Oneself, too.
    assert_eq!(me.query("SELECT pg_cancel_backend(pg_backend_pid())"), ["E:57014", "Z:I"]);
    me.message('Q', b"SELECT pg_terminate_backend(pg_backend_pid())\0").send();
    assert_eq!(me.next().expect("a word").field('C').as_deref(), Some("57P01"));
    assert_eq!(me.next(), None);
}

/// As PostgreSQL 15 refuses it, in its words.
#[test]
fn only_those_with_the_rights_of_a_role_see_and_stop_it() {
    let running = Running::start();
    running
        .db
        .execute_script(
            "CREATE ROLE ann LOGIN; CREATE ROLE joe LOGIN; CREATE ROLE sue LOGIN; GRANT ann TO sue",
        )
        .expect("roles");
    let (mut admin, root) = enter(&running, "postgres", "admin");
    let (mut ann, key) = enter(&running, "ann", "app");
    let (mut joe, _) = enter(&running, "joe", "");
    let (mut sue, _) = enter(&running, "sue", "");
    ann.query("SELECT 7");
    let ask = format!(
        "SELECT usename, application_name, query, state, client_addr FROM pg_stat_activity WHERE pid = {key}"
    );
    let hidden = ["T", "D:ann,app,<insufficient privilege>,NULL,NULL", "C:SELECT 1", "Z:I"];
    assert_eq!(joe.query(&ask), hidden);
    let seen = ["T", "D:ann,app,SELECT 7,idle,127.0.0.1", "C:SELECT 1", "Z:I"];
    until(&mut sue, &ask, &seen);
    until(&mut admin, &ask, &seen);
    let refused = |client: &mut Client, sql: &str| {
        let messages = client.query_raw(sql);
        assert_eq!(messages[0].field('C').as_deref(), Some("42501"));
        messages[0].field('M').expect("a message")
    };
    assert_eq!(
        refused(&mut joe, &format!("SELECT pg_terminate_backend({key})")),
        "must be a member of the role whose process is being terminated or member of pg_signal_backend"
    );
    assert_eq!(
        refused(&mut joe, &format!("SELECT pg_cancel_backend({key})")),
        "must be a member of the role whose query is being canceled or member of pg_signal_backend"
    );
    assert_eq!(
        refused(&mut joe, &format!("SELECT pg_cancel_backend({root})")),
        "must be a superuser to cancel superuser query"
    );
    assert_eq!(
        refused(&mut joe, &format!("SELECT pg_terminate_backend({root})")),
        "must be a superuser to terminate superuser process"
    );
    let nobody = admin.query_raw("SELECT pg_terminate_backend(999999)");
    assert_eq!(shown(&nobody), ["T", "N:01000", "D:f", "C:SELECT 1", "Z:I"].map(str::to_owned).to_vec());
    assert_eq!(sue.query(&format!("SELECT pg_terminate_backend({key})"))[1], "D:t");
    assert_eq!(ann.next().expect("a word").field('C').as_deref(), Some("57P01"));
}

#[test]
fn versions_agree() {
    let running = Running::start();
    let mut client = running.client();
    let shown = client.query("SHOW server_version");
    let version = shown[1].trim_start_matches("D:").to_owned();
    let sql = format!(
        "SELECT version() LIKE 'PostgreSQL {version} (Planaria %', current_setting('server_version_num')"
    );
    assert_eq!(client.query(&sql)[1], "D:t,150018");
    assert_eq!(version, "15.18");
}

/// psql and libpq look for `DIRECTORY/.s.PGSQL.PORT`; whoever comes that way comes from this machine.
#[test]
fn a_unix_domain_socket_serves() {
    let dir = tempfile::tempdir().expect("a directory");
    let socket_dir = Some(dir.path().to_owned());
    let running =
        Running::with(Database::in_memory().expect("a database"), Config { socket_dir, ..Config::default() });
    let path = dir.path().join(format!(".s.PGSQL.{}", running.address.port()));
    let mut socket = UnixStream::connect(&path).expect("connects");
    socket.write_all(b"\0\0\0\x08\x04\xd2\x16\x2f").expect("asks for TLS");
    let mut answer = [0];
    socket.read_exact(&mut answer).expect("an answer");
    assert_eq!(&answer, b"N");
    socket.write_all(b"\0\0\0\x17\0\x03\0\0user\0postgres\0\0").expect("writes");
    let sql = "SELECT client_addr IS NULL, client_port FROM pg_stat_activity\0";
    socket
        .write_all(&[b"Q\0\0\0", &[sql.len() as u8 + 4][..], sql.as_bytes(), b"X\0\0\0\x04"].concat())
        .expect("writes");
    let mut all = Vec::new();
    socket.read_to_end(&mut all).expect("an answer");
    assert!(
        all.windows(12).any(|w| w == b"\0\x02\0\0\0\x01t\0\0\0\x02-"),
        "{}",
        String::from_utf8_lossy(&all)
    );
    drop(running);
    assert!(!path.exists(), "the file goes with the server");
}

/// The file of a server that was killed is no obstacle; that of one that runs is.
#[test]
fn a_socket_that_nobody_serves_is_replaced() {
    let dir = tempfile::tempdir().expect("a directory");
    let bind = |port: u16| {
        let db = std::sync::Arc::new(Database::in_memory().expect("a database"));
        let listen = vec![std::net::SocketAddr::from(([127, 0, 0, 1], port))];
        let config = Config { listen, socket_dir: Some(dir.path().to_owned()), ..Config::default() };
        planaria_server::Server::bind(db, config)
    };
    let free = std::net::TcpListener::bind("127.0.0.1:0").expect("a port").local_addr().expect("one").port();
    let path = dir.path().join(format!(".s.PGSQL.{free}"));
    drop(std::os::unix::net::UnixListener::bind(&path).expect("a socket"));
    assert!(path.exists());
    let server = bind(free).expect("the file is replaced");
    assert!(UnixStream::connect(&path).is_ok());
    drop(server);
    let live = std::os::unix::net::UnixListener::bind(&path).expect("a socket");
    let error = bind(free).err().expect("refused");
    assert!(error.message().contains(".s.PGSQL"), "{error}");
    drop(live);
}

#[test]
fn who_waits_for_a_row_is_seen_to() {
    let running = Running::start();
    running
        .db
        .execute_script("CREATE TABLE t (n int PRIMARY KEY, v int); INSERT INTO t VALUES (1, 0)")
        .expect("a table");
    let (mut holder, first) = enter(&running, "postgres", "");
    let (mut waiter, second) = enter(&running, "postgres", "");
    let mut me = running.client();
    holder.query("BEGIN; UPDATE t SET v = 1");
    waiter.query("BEGIN");
    waiter.message('Q', b"UPDATE t SET v = 2\0").send();
    let event =
        format!("SELECT state, wait_event_type, wait_event FROM pg_stat_activity WHERE pid = {second}");
    until(&mut me, &event, &["T", "D:active,Lock,tuple", "C:SELECT 1", "Z:I"]);
    let locks = "SELECT pid, relation::regclass, locktype, granted FROM pg_locks WHERE locktype = 'tuple' ORDER BY granted DESC";
    let lines = [format!("D:{first},t,tuple,t"), format!("D:{second},t,tuple,f")];
    assert_eq!(me.query(locks)[1..3], lines);
    holder.query("COMMIT");
    assert_eq!(shown(&waiter.until_ready()), ["C:UPDATE 1", "Z:T"]);
    waiter.query("COMMIT");
    assert_eq!(me.query("SELECT count(*) FROM pg_locks")[1], "D:0");
}

#[test]
fn temporary_tables_stay_with_their_client() {
    let running = Running::start();
    let (mut a, _) = enter(&running, "postgres", "a");
    a.query("CREATE TEMPORARY TABLE mine (x int)");
    a.query("INSERT INTO mine VALUES (1)");
    let (mut b, _) = enter(&running, "postgres", "b");
    let schemas = b.query("SELECT current_schemas(false)::text || current_schemas(true)::text");
    assert_eq!(schemas[1], "D:{public}{pg_catalog,public}");
    assert_eq!(b.query("SELECT * FROM mine"), ["E:42P01", "Z:I"]);
    b.query("CREATE TEMPORARY TABLE mine (x int)");
    assert_eq!(b.query("SELECT count(*) FROM mine")[1], "D:0");
    assert_eq!(a.query("SELECT count(*) FROM mine")[1], "D:1");
    assert_eq!(a.query("SELECT current_schemas(false)::text")[1], "D:{public}");
    drop(a);
    let left = "SELECT count(*) FROM pg_namespace WHERE nspname LIKE 'pg_temp%'";
    until(&mut b, left, &["T", "D:1", "C:SELECT 1", "Z:I"]);
}
