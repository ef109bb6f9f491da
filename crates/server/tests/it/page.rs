//! The web page, what it is told, and what in `contrib/` goes by the names of metrics.

use crate::common;

use common::Running;
use planaria::{Database, RecoveryProgress, RecoveryStage};
use planaria_server::{Config, Monitor, Server};
use std::collections::BTreeSet;
use std::io::{Read, Write};
use std::net::SocketAddr;
use std::sync::Arc;

/// The answer to a request: its head and its body.
fn get(at: SocketAddr, path: &str, headers: &str) -> (String, String) {
    let mut stream = std::net::TcpStream::connect(at).expect("connects");
    write!(stream, "GET {path} HTTP/1.1\r\n{headers}\r\n").expect("writes");
    let mut answer = String::new();
    stream.read_to_string(&mut answer).expect("an answer");
    let (head, body) = answer.split_once("\r\n\r\n").expect("a head");
    (head.to_owned(), body.to_owned())
}

fn json(at: SocketAddr, headers: &str) -> serde_json::Value {
    let (head, body) = get(at, "/data.json", &format!("Host: localhost\r\n{headers}"));
    assert!(head.starts_with("HTTP/1.1 200") && head.contains("no-store"), "{head}\n{body}");
    serde_json::from_str(&body).expect("JSON")
}

#[test]
fn the_page_is_told_of_recovery_sessions_waits_and_statements() {
    let monitor = Monitor::bind("127.0.0.1:0".parse().expect("an address")).expect("a free port");
    let at = monitor.address();
    let (head, body) = get(at, "/", "Host: x\r\n");
    assert!(
        head.contains("text/html") && head.contains("Content-Security-Policy: default-src 'none'"),
        "{head}"
    );
    assert!(body.contains("<title>Planaria</title>"));
    let stage = RecoveryStage::Replay;
    monitor.recovering(RecoveryProgress { stage, bytes_done: 30, bytes_total: 120, ..Default::default() });
    let data = json(at, "");
    assert_eq!((&data["state"], &data["recovery"]["percent"]), (&"recovering".into(), &25.into()));
    assert!(
        data["recovery"]["text"].as_str().is_some_and(|text| text.starts_with("25 % of the log replayed"))
    );

    let db = Arc::new(Database::in_memory().expect("a database"));
    db.execute_script(
        "CREATE TABLE t (id int PRIMARY KEY, n int); INSERT INTO t VALUES (1, 0);
         CREATE PROCEDURE pay(p int) LANGUAGE plpgsql AS $$ BEGIN UPDATE t SET n = n + p WHERE id = 1; END $$;",
    )
    .expect("a table");
    let listen = vec!["127.0.0.1:0".parse().expect("an address")];
    let server = Server::bind(db.clone(), Config { listen, ..Config::default() }).expect("a free port");
    let (address, stopper) = (server.addresses()[0], server.stopper());
    monitor.serving(&server);
    let thread = std::thread::spawn(move || server.run().expect("it runs"));
    let (mut holder, mut waiter) = (common::Client::enter(address), common::Client::enter(address));
    holder.query("CALL pay(3)");
    holder.query("BEGIN; UPDATE t SET n = 5 WHERE id = 1");
    waiter.message('Q', b"UPDATE t SET n = 6 WHERE id = 1\0").send();
    let deadline = std::time::Instant::now() + std::time::Duration::from_secs(60);
    let data = loop {
        let data = json(at, "");
        // What a client does is seen when it is at it.
        let waits = data["waits"].as_array().is_some_and(|waits| !waits.is_empty());
        let mut states = data["sessions"].as_array().into_iter().flatten().map(|s| &s["state"]);
        if waits && states.any(|state| state == "idle in transaction") {
            break data;
        }
        assert!(std::time::Instant::now() < deadline, "nobody waits: {data}");
        std::thread::sleep(std::time::Duration::from_millis(5));
    };
    assert_eq!(data["state"], "serving");
    assert_eq!(data["counters"]["connections"], 2);
    let procedures: Vec<&str> =
        data["procedures"].as_array().expect("a list").iter().filter_map(|p| p["name"].as_str()).collect();
    assert_eq!(procedures, ["all statements", "pay"]);
    let sessions = data["sessions"].as_array().expect("a list");
    let waits = &data["waits"][0];
    let waiting = sessions.iter().find(|s| s["pid"] == waits["pid"]).expect("who waits");
    let holding = sessions.iter().find(|s| s["state"] == "idle in transaction").expect("who holds");
    assert_eq!(waiting["query"], "UPDATE t SET n = 6 WHERE id = 1");
    assert!(waiting["wait"].as_str().is_some_and(|wait| wait.starts_with("Lock ")), "{waiting}");
    assert_eq!(waits["blockers"], holding["pid"].as_f64().expect("a number").to_string());
    let slow = data["slow"].as_array().expect("a list");
    assert!(slow.iter().any(|s| s["query"] == "CALL pay($1)" && s["calls"] == 1), "{data}");
    assert!(data["memory"]["rows"].as_u64().is_some_and(|rows| rows >= 1));
    holder.query("COMMIT");
    waiter.until_ready();
    drop((holder, waiter));
    stopper.stop();
    thread.join().expect("joins");
    monitor.stopping();
    assert_eq!(json(at, "")["state"], "stopping");
}

#[test]
fn where_there_are_passwords_only_superusers_are_told() {
    use base64::Engine;
    let db = Arc::new(Database::in_memory().expect("a database"));
    let listen = vec!["127.0.0.1:0".parse().expect("an address")];
    let server = Server::bind(db.clone(), Config { listen, ..Config::default() }).expect("a free port");
    let monitor = Monitor::bind("127.0.0.1:0".parse().expect("an address")).expect("a free port");
    monitor.serving(&server);
    let at = monitor.address();
    assert_eq!(json(at, "")["state"], "serving");
    db.execute_script("ALTER ROLE postgres PASSWORD 'a:b'; CREATE ROLE app LOGIN PASSWORD 'c'")
        .expect("roles");
    let status = |who: Option<&str>, host: &str| {
        let word = who.map(|who| base64::engine::general_purpose::STANDARD.encode(who));
        let login = word.map_or(String::new(), |word| format!("Authorization: Basic {word}\r\n"));
        get(at, "/data.json", &format!("Host: {host}\r\n{login}")).0
    };
    let unknown = status(None, "localhost");
    assert!(unknown.starts_with("HTTP/1.1 401") && unknown.contains("WWW-Authenticate: Basic"), "{unknown}");
    for who in ["postgres:wrong", "app:c", "nobody:c", "postgres"] {
        assert!(status(Some(who), "localhost").starts_with("HTTP/1.1 401"), "{who}");
    }
    assert!(status(Some("postgres:a:b"), "localhost").starts_with("HTTP/1.1 200"));
    assert!(status(Some("postgres:a:b"), "elsewhere.example").starts_with("HTTP/1.1 403"));
    assert!(get(at, "/", "Host: localhost\r\n").0.starts_with("HTTP/1.1 200"), "the page has no data");
}

/// Names of metrics in a text.
fn names(text: &str) -> BTreeSet<String> {
    let words = text.split(|c: char| !c.is_ascii_alphanumeric() && c != '_');
    words.filter(|word| word.starts_with("planaria_")).map(str::to_owned).collect()
}

#[test]
fn dashboards_and_alerts_go_by_metrics_that_there_are() {
    let running = Running::start();
    let mut client = running.client();
    client.query("CREATE FUNCTION one() RETURNS int LANGUAGE sql AS 'SELECT 1'");
    client.query("SELECT one()");
    let server = Server::bind(running.db.clone(), Config { listen: Vec::new(), ..Config::default() });
    let monitor = Monitor::bind("127.0.0.1:0".parse().expect("an address")).expect("a free port");
    monitor.serving(&server.expect("a server"));
    let (_, page) = get(monitor.address(), "/metrics", "Host: x\r\n");
    let mut known = names(&page);
    // Of a histogram there may be a head, and no line.
    for line in page.lines().filter(|line| line.starts_with("# TYPE") && line.ends_with(" histogram")) {
        let name = line.split(' ').nth(2).expect("a name");
        known.extend(["bucket", "count", "sum"].map(|end| format!("{name}_{end}")));
    }
    let dashboard = include_str!("../../../../contrib/grafana.json");
    let alerts = include_str!("../../../../contrib/alerts.yml");
    serde_json::from_str::<serde_json::Value>(dashboard).expect("JSON");
    // Views that an annotation names are none.
    let views = ["planaria_restart", "planaria_snapshots"];
    for name in names(dashboard).union(&names(alerts)).filter(|name| !views.contains(&name.as_str())) {
        assert!(known.contains(name), "{name} is no metric: {known:?}");
    }
}
