//! What operators do: a server is looked at, backed up and restored, from outside and in SQL; and what they hear when
//! they name the wrong directory, the wrong time, the wrong transaction.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::Duration;

fn planaria(args: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_planaria")).args(args).output().expect("runs")
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// What a command that works prints.
fn done(args: &[&str]) -> String {
    let output = planaria(args);
    assert!(output.status.success(), "{args:?}: {}", text(&output.stderr));
    text(&output.stdout)
}

/// A command fails, prints nothing else, and its error has all of these parts.
fn fails(args: &[&str], parts: &[&str]) {
    let output = planaria(args);
    let (out, err) = (text(&output.stdout), text(&output.stderr));
    assert!(!output.status.success() && out.is_empty(), "{args:?}: {out}{err}");
    parts.iter().for_each(|part| assert!(err.contains(part), "{args:?}: \"{part}\" is not in\n{err}"));
}

fn at(dir: &Path, name: &str) -> String {
    dir.join(name).display().to_string()
}

/// Runs SQL on a directory that nobody has open.
fn ask(data: &str, sql: &str) -> String {
    let file = PathBuf::from(format!("{data}.sql"));
    std::fs::write(&file, sql).expect("writes");
    done(&["run", "-At", "--data", data, &file.display().to_string()])
}

/// A server, killed when dropped.
struct Server {
    child: Child,
    address: SocketAddr,
    metrics: String,
}

impl Server {
    fn start(data: &str) -> Server {
        Server::start_with(data, &[])
    }

    fn start_with(data: &str, more: &[&str]) -> Server {
        let mut child = Command::new(env!("CARGO_BIN_EXE_planaria"))
            .args(["serve", data, "--listen", "127.0.0.1:0", "--metrics", "127.0.0.1:0", "--keep-log"])
            .args(more)
            .stderr(Stdio::piped())
            .spawn()
            .expect("starts");
        let (mut address, mut metrics) = (None, String::new());
        let mut lines = BufReader::new(child.stderr.take().expect("its log")).lines();
        while address.is_none() {
            let line = lines.next().expect("a line").expect("a text");
            if let Some((_, at)) = line.split_once("listens at ") {
                address = at.trim().parse().ok();
            } else if let Some((_, at)) = line.split_once("at http://") {
                metrics = at.trim().to_owned();
            }
        }
        // Somebody must take what else it says.
        std::thread::spawn(move || lines.for_each(drop));
        Server { child, address: address.expect("an address"), metrics }
    }

    /// The first column of the answer to each statement, or the error.
    fn ask(&self, sql: &str) -> Result<Vec<String>, String> {
        let mut stream = TcpStream::connect(self.address).expect("connects");
        stream.set_read_timeout(Some(Duration::from_secs(60))).expect("sets");
        let mut hello = vec![0, 0, 0, 0, 0, 3, 0, 0];
        hello.extend_from_slice(b"user\0postgres\0\0");
        let len = (hello.len() as u32).to_be_bytes();
        hello[..4].copy_from_slice(&len);
        hello.push(b'Q');
        hello.extend_from_slice(&(sql.len() as u32 + 5).to_be_bytes());
        hello.extend_from_slice(sql.as_bytes());
        hello.push(0);
        stream.write_all(&hello).expect("writes");
        let (mut values, mut error, mut ready) = (Vec::new(), None, 0);
        while ready < 2 {
            let mut head = [0; 5];
            stream.read_exact(&mut head).expect("an answer");
            let mut body = vec![0; u32::from_be_bytes([head[1], head[2], head[3], head[4]]) as usize - 4];
            stream.read_exact(&mut body).expect("all of it");
            match head[0] {
                b'Z' => ready += 1,
                b'D' => values.push(text(&body[6..])),
                b'E' => error = Some(text(&body).replace('\0', "\n")),
                _ => {}
            }
        }
        error.map_or(Ok(values), Err)
    }

    fn stop(mut self) {
        let pid = self.child.id().to_string();
        assert!(Command::new("kill").args(["-TERM", &pid]).status().expect("runs").success());
        assert!(self.child.wait().expect("ends").success());
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Memory is there when the server is, and goes to the rows that come.
#[test]
fn a_server_claims_memory() {
    let dir = tempfile::tempdir().expect("a directory");
    let server = Server::start_with(&at(dir.path(), "data"), &["--memory-reserve", "32MB"]);
    let ready = || {
        let mut stream = TcpStream::connect(&server.metrics).expect("connects");
        stream.write_all(b"GET /metrics HTTP/1.0\r\n\r\n").expect("writes");
        let mut page = String::new();
        stream.read_to_string(&mut page).expect("an answer");
        let (_, line) = page.split_once("planaria_memory_bytes{of=\"ready\"} ").expect("a line of it");
        line.lines().next().expect("a number").parse::<f64>().expect("a number") as u64
    };
    let before = ready();
    assert!((24 << 20..=32 << 20).contains(&before), "{before}");
    server
        .ask("CREATE TABLE t (a int PRIMARY KEY, b text); INSERT INTO t SELECT i, repeat('x', 500) FROM generate_series(1, 20000) AS i")
        .expect("runs");
    let after = ready();
    assert!(after <= before - (8 << 20), "{after}");
    server.stop();
}

#[test]
fn a_server_is_looked_at_backed_up_and_restored_to_any_moment() {
    let dir = tempfile::tempdir().expect("a directory");
    let (data, backup) = (at(dir.path(), "data"), at(dir.path(), "backup"));
    let server = Server::start(&data);
    server
        .ask("CREATE TABLE t (a int PRIMARY KEY, b text); INSERT INTO t SELECT i, 'x' FROM generate_series(1, 100) AS i")
        .expect("runs");
    let status = done(&["status", &server.metrics]);
    assert!(status.contains("connections") || status.contains("commits"), "{status}");
    server.ask("CHECKPOINT").expect("writes one");
    let shown = done(&["checkpoint", "inspect", &data]);
    assert!(shown.contains("100 rows"), "{shown}");
    assert!(done(&["checkpoint", "verify", &data, "--threads", "2"]).ends_with("verified\n"));

    server.ask("INSERT INTO t VALUES (101, 'before the backup')").expect("runs");
    server.ask(&format!("BACKUP TO '{backup}'")).expect("is written");
    let error = server.ask(&format!("BACKUP TO '{backup}'")).expect_err("it is not empty");
    assert!(error.contains("C58P02\n") && error.contains(&backup), "{error}");
    assert!(done(&["checkpoint", "verify", &backup]).contains("101 rows"));

    let pause = || std::thread::sleep(Duration::from_millis(150));
    server.ask("INSERT INTO t VALUES (102, 'after it')").expect("runs");
    pause();
    let between = server.ask("SELECT clock_timestamp()::timestamp").expect("answers").remove(0);
    pause();
    server.ask("DELETE FROM t WHERE a <= 50").expect("runs");
    server.ask("CHECKPOINT").expect("writes one");
    server.ask("INSERT INTO t VALUES (103, 'the last')").expect("runs");

    // From the log of a server that goes on.
    let restored = at(dir.path(), "at-a-time");
    let said = done(&["restore", &backup, "--log", &data, "--to", &restored, "--until-time", &between]);
    assert!(said.contains("restored 102 rows") && said.contains("1 transactions replayed"), "{said}");
    assert_eq!(ask(&restored, "SELECT count(*), max(a) FROM t"), "102|102\n");
    fails(&["backup", &data, "--to", &at(dir.path(), "none")], &["55006", "in use", "HINT:  Run BACKUP TO"]);
    fails(&["restore", &data, "--to", &at(dir.path(), "none")], &["55006", "in use"]);
    fails(&["serve", &data, "--listen", "127.0.0.1:0"], &["55006", "in use by another process"]);
    assert!(!dir.path().join("none").exists(), "nothing is left of a mistake");
    server.stop();

    let restored = at(dir.path(), "latest");
    let said = done(&["restore", &backup, "--log", &data, "--to", &restored]);
    assert!(said.contains("restored 53 rows") && said.contains("3 transactions replayed"), "{said}");
    assert_eq!(ask(&restored, "SELECT count(*), min(a), max(a) FROM t"), "53|51|103\n");
    // Up to a transaction, and without any log.
    let json: serde_json::Value =
        serde_json::from_str(&done(&["log", "inspect", &data, "--backup", &backup, "--json"])).expect("JSON");
    let entries = json["entries"].as_array().expect("entries");
    let deleting = entries.iter().find(|e| e.to_string().contains("delete")).expect("the DELETE is there");
    let commit = format!("{}:{}", deleting["epoch"], deleting["sequence"]);
    let restored = at(dir.path(), "at-a-commit");
    done(&["restore", &backup, "--log", &data, "--to", &restored, "--until", &commit]);
    assert_eq!(ask(&restored, "SELECT count(*), min(a), max(a) FROM t"), "52|51|102\n");
    let restored = at(dir.path(), "as-backed-up");
    done(&["restore", &backup, "--to", &restored]);
    assert_eq!(ask(&restored, "SELECT count(*), max(a) FROM t"), "101|101\n");
    // Of a database that nobody has open.
    let copy = at(dir.path(), "copy");
    let said = done(&["backup", &data, "--to", &copy]);
    assert!(said.contains("backed up 53 rows"), "{said}");
    done(&["restore", &copy, "--to", &at(dir.path(), "again")]);
    assert_eq!(ask(&at(dir.path(), "again"), "SELECT count(*) FROM t"), "53\n");
}

#[test]
fn mistakes_are_named_and_leave_nothing() {
    let dir = tempfile::tempdir().expect("a directory");
    let path = |name: &str| at(dir.path(), name);
    let (data, other, backup, none) = (path("data"), path("other"), path("backup"), path("none"));
    for data in [&data, &other] {
        ask(data, "CREATE TABLE t (a int PRIMARY KEY); INSERT INTO t VALUES (1)");
    }
    done(&["backup", &data, "--to", &backup]);
    ask(&data, "INSERT INTO t VALUES (2)");
    let (empty, full, file) = (path("empty"), path("full"), path("file"));
    std::fs::create_dir(&empty).expect("a directory");
    std::fs::create_dir(&full).expect("a directory");
    std::fs::write(format!("{full}/notes"), "mine").expect("writes");
    std::fs::write(&file, "").expect("writes");

    let restore = |more: &[&str], parts: &[&str]| {
        fails(
            &[&["restore", backup.as_str(), "--log", data.as_str(), "--to", none.as_str()], more].concat(),
            parts,
        );
    };
    restore(&["--until", "17"], &["22023", "\"17\" is no transaction", "EPOCH:NUMBER"]);
    restore(
        &["--until", "99999999:0"],
        &["22023", "no transaction of epoch 99999999", "the log ends with epoch"],
    );
    restore(&["--until-time", "soon"], &["22007", "soon"]);
    restore(&["--until-time", "2026-02-30 12:00"], &["22008", "2026-02-30"]);
    restore(&["--until-time", "2001-01-01"], &["22023", "taken after the time", "HINT:  Take an older one"]);
    restore(&["--until", "1:0", "--until-time", "2001-01-01"], &["cannot be used with"]);
    fails(&["restore", &backup, "--log", &other, "--to", &none], &["22023", "not that of the database"]);
    fails(&["log", "inspect", &other, "--backup", &backup], &["22023", "not that of the database"]);
    fails(&["log", "inspect", &data, "--backup", &empty], &["58P01", "there is no backup"]);
    fails(&["restore", &backup, "--log", &path("nowhere"), "--to", &none], &["58P01", "nowhere"]);
    for (from, part) in [
        (&empty, "there is no database in"),
        (&path("nowhere"), "could not open directory"),
        (&file, "not a directory"),
    ] {
        fails(&["restore", from, "--to", &none], &[part, from]);
        fails(&["backup", from, "--to", &none], &[part, from]);
    }
    for command in ["inspect", "verify"] {
        fails(&["checkpoint", command, &empty], &["58P01", "there is no checkpoint", "HINT:  CHECKPOINT"]);
        fails(&["checkpoint", command, &path("nowhere")], &["58P01", "nowhere"]);
        fails(&["checkpoint", command, &file], &["not a directory"]);
    }
    for to in [&full, &data] {
        fails(&["restore", &backup, "--to", to], &["58P02", to]);
        fails(&["backup", &other, "--to", to], &["58P02", to]);
    }
    fails(&["restore", &backup, "--to", &file], &[&file]);
    assert!(!Path::new(&none).exists(), "no directory is left of a mistake");
    assert_eq!(std::fs::read(format!("{full}/notes")).expect("it is there"), b"mine");
    assert_eq!(std::fs::read_dir(&full).expect("lists").count(), 1);
    assert_eq!(ask(&data, "SELECT count(*) FROM t"), "2\n");

    // Nobody is there, or something else.
    fails(
        &["status", "127.0.0.1:1"],
        &["no server is answering at 127.0.0.1:1", "HINT:  Is it running, with --metrics"],
    );
    fails(&["status", &data], &["is a directory", "HINT:  planaria checkpoint inspect"]);

    // A backup that was damaged is not restored.
    let rows = std::fs::read_dir(&backup).expect("lists").map(|e| e.expect("an entry").path());
    let rows = rows.max_by_key(|p| p.metadata().map_or(0, |m| m.len())).expect("a file");
    let mut bytes = std::fs::read(&rows).expect("reads");
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    std::fs::write(&rows, bytes).expect("writes");
    let name = rows.display().to_string();
    fails(&["checkpoint", "verify", &backup], &["XX001", &name, "offset"]);
    fails(&["restore", &backup, "--to", &none], &["XX001", &name, "offset"]);
}

#[test]
fn a_hangup_ends_no_server() {
    let dir = tempfile::tempdir().expect("a directory");
    let server = Server::start(&at(dir.path(), "data"));
    let pid = server.child.id().to_string();
    assert!(Command::new("kill").args(["-HUP", &pid]).status().expect("runs").success());
    std::thread::sleep(Duration::from_millis(100));
    assert_eq!(server.ask("SELECT 1"), Ok(vec!["1".to_owned()]));
    server.stop();
}

#[test]
fn settings_stand_in_one_file_and_are_read_again() {
    let dir = tempfile::tempdir().expect("a directory");
    let data = at(dir.path(), "data");
    std::fs::create_dir(&data).expect("makes it");
    let file = Path::new(&data).join("planaria.toml");
    std::fs::write(&file, "max_connections = 50\nauto_explain.log_min_duration = 250\n").expect("writes");
    let server = Server::start(&data);
    let ask = |sql: &str| server.ask(sql).expect("an answer").remove(0);
    let until = |wanted: &str| {
        let deadline = std::time::Instant::now() + Duration::from_secs(60);
        while ask("SHOW max_connections") != wanted {
            assert!(std::time::Instant::now() < deadline, "not {wanted}");
            std::thread::sleep(Duration::from_millis(5));
        }
    };
    until("50");
    assert_eq!(ask("SHOW auto_explain.log_min_duration"), "250ms");
    std::fs::write(&file, "max_connections = 51\n").expect("writes");
    let pid = server.child.id().to_string();
    let hang_up = || assert!(Command::new("kill").args(["-HUP", &pid]).status().expect("runs").success());
    hang_up();
    until("51");
    // What cannot be leaves all as it is.
    std::fs::write(&file, "max_connections = 'many'\n").expect("writes");
    let error = server.ask("SELECT pg_reload_conf()").expect_err("it cannot be read");
    assert!(error.contains("planaria.toml"), "{error}");
    hang_up();
    until("51");
    std::fs::write(&file, "max_connections = 52\n").expect("writes");
    server.ask("ALTER SYSTEM SET loggers = 2").expect("is noted");
    assert_eq!(ask("SELECT pg_reload_conf()"), "t");
    until("52");
    assert_eq!(ask("SELECT name FROM pg_settings WHERE pending_restart"), "loggers");
    server.stop();
    let server = Server::start(&data);
    let shown = server.ask(
        "SELECT setting || ' ' || source FROM pg_settings WHERE name IN ('loggers', 'keep_log') ORDER BY 1",
    );
    assert_eq!(shown, Ok(vec!["2 configuration file".to_owned(), "on command line".to_owned()]));
    server.stop();
}

/// The port is known to be in use before anything is made.
#[test]
fn a_port_in_use_leaves_no_directory() {
    let dir = tempfile::tempdir().expect("a directory");
    let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a free port");
    let (data, port) = (at(dir.path(), "data"), listener.local_addr().expect("bound").to_string());
    let output = planaria(&["serve", &data, "--listen", &port]);
    assert!(!output.status.success() && text(&output.stderr).contains("could not listen"));
    assert!(!Path::new(&data).exists());
}
