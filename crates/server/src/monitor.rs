//! Health and metrics over HTTP, on a port of its own and by threads of its own: it answers while the
//! database is recovered, and when all that serve clients are busy.
//!
//! * `/health`: 200 when clients are served, else 503; a line says why.
//! * `/metrics`: for Prometheus.
//! * `/status`: for people (`planaria status`).
//! * `/`: a page for browsers, which asks for `/data.json`: see [`crate::page`].

use crate::page::{self, PAGE, Refused};
use crate::progress;
use crate::server::{Server, Shared};
use parking_lot::Mutex;
use planaria::{Error, RecoveryProgress, Result, SqlState};
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

const REQUEST_BYTES_MAX: usize = 8 << 10;
const REQUESTS_MAX: usize = 16;
const UNAVAILABLE: &str = "503 Service Unavailable";
/// The page is on its own: nothing is loaded from elsewhere, and nobody puts it into another.
const PAGE_HEADERS: &str = "Content-Security-Policy: default-src 'none'; style-src 'unsafe-inline'; \
     script-src 'unsafe-inline'; connect-src 'self'; img-src 'self'; frame-ancestors 'none'\r\n";
/// Of pictures with colours and tooltips of their own, and nothing that runs.
const GRAPH_HEADERS: &str = "Cache-Control: no-store\r\nContent-Security-Policy: default-src 'none'; \
     style-src 'unsafe-inline'; frame-ancestors 'none'\r\n";
const DATA_HEADERS: &str = "Cache-Control: no-store\r\n";
const TIMEOUT: Duration = Duration::from_secs(5);

enum State {
    /// How far it is, and since when it is so.
    Recovering(RecoveryProgress, Instant),
    Serving(Arc<Shared>),
    Stopping,
}

/// See the module's head. Clones are the same one.
#[derive(Clone)]
pub struct Monitor {
    state: Arc<Mutex<State>>,
    address: SocketAddr,
}

impl Monitor {
    /// Answers at an address from now on, until the process ends.
    pub fn bind(address: SocketAddr) -> Result<Monitor> {
        let listener = TcpListener::bind(address).map_err(|e| {
            Error::new(SqlState::SYSTEM_ERROR, format!("could not listen at {address} for metrics: {e}"))
        })?;
        let state = Arc::new(Mutex::new(State::Recovering(RecoveryProgress::default(), Instant::now())));
        let monitor = Monitor { state, address: listener.local_addr()? };
        let answers = monitor.clone();
        std::thread::Builder::new()
            .name("planaria-monitor".into())
            .spawn(move || answers.listen(&listener))?;
        Ok(monitor)
    }

    /// Where it answers.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// The database is being recovered, and is so far.
    pub fn recovering(&self, progress: RecoveryProgress) {
        *self.state.lock() = State::Recovering(progress, Instant::now());
    }

    /// Clients are served.
    pub fn serving(&self, server: &Server) {
        *self.state.lock() = State::Serving(server.shared());
    }

    /// Clients are served no more.
    pub fn stopping(&self) {
        *self.state.lock() = State::Stopping;
    }

    fn listen(&self, listener: &TcpListener) {
        let open = Arc::new(AtomicUsize::new(0));
        for stream in listener.incoming() {
            let Ok(stream) = stream else {
                std::thread::sleep(Duration::from_millis(100));
                continue;
            };
            if open.fetch_add(1, Ordering::Relaxed) >= REQUESTS_MAX {
                open.fetch_sub(1, Ordering::Relaxed);
                continue;
            }
            let (monitor, place) = (self.clone(), open.clone());
            let answer = move || {
                // Who asked may be gone.
                let _ = monitor.answer(stream);
                place.fetch_sub(1, Ordering::Relaxed);
            };
            if std::thread::Builder::new().name("planaria-monitor".into()).spawn(answer).is_err() {
                open.fetch_sub(1, Ordering::Relaxed);
            }
        }
    }

    fn answer(&self, mut stream: TcpStream) -> std::io::Result<()> {
        stream.set_read_timeout(Some(TIMEOUT))?;
        stream.set_write_timeout(Some(TIMEOUT))?;
        let mut request = Vec::new();
        let mut chunk = [0; 1024];
        while !request.windows(4).any(|w| w == b"\r\n\r\n") {
            match stream.read(&mut chunk)? {
                0 => return Ok(()),
                n => request.extend_from_slice(&chunk[..n]),
            }
            if request.len() > REQUEST_BYTES_MAX {
                return Ok(());
            }
        }
        let request = String::from_utf8_lossy(&request);
        let mut words = request.lines().next().unwrap_or_default().split(' ');
        let (method, path) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
        let (mut kind, mut more) = ("text/plain; version=0.0.4; charset=utf-8", "");
        let (status, body) = match (method, path.split('?').next().unwrap_or_default()) {
            ("GET" | "HEAD", "/health") => self.health(),
            ("GET" | "HEAD", "/metrics") => ("200 OK", self.metrics()),
            ("GET" | "HEAD", "/status") => self.status(),
            ("GET" | "HEAD", "/") => {
                (kind, more) = ("text/html; charset=utf-8", PAGE_HEADERS);
                ("200 OK", PAGE.to_owned())
            }
            ("GET" | "HEAD", name @ ("/data.json" | "/graph.svg")) => {
                match self.told(name, path, &request, stream.peer_addr()?) {
                    Ok(data) => {
                        (kind, more) = match name {
                            "/data.json" => ("application/json", DATA_HEADERS),
                            _ => ("image/svg+xml", GRAPH_HEADERS),
                        };
                        ("200 OK", data)
                    }
                    Err(Refused::Nothing) => ("404 Not Found", "There is no such procedure.\n".to_owned()),
                    Err(Refused::Unknown) => {
                        more =
                            "WWW-Authenticate: Basic realm=\"planaria: a superuser\", charset=\"UTF-8\"\r\n";
                        ("401 Unauthorized", "A superuser's name and password are asked for.\n".to_owned())
                    }
                    Err(Refused::Elsewhere) => {
                        let why = "Only this machine is told, by an address or as localhost. From elsewhere: ssh -L.\n";
                        ("403 Forbidden", why.to_owned())
                    }
                }
            }
            ("GET" | "HEAD", _) => {
                ("404 Not Found", "There are /, /health, /metrics and /status.\n".to_owned())
            }
            _ => ("405 Method Not Allowed", String::new()),
        };
        write!(
            stream,
            "HTTP/1.1 {status}\r\nContent-Type: {kind}\r\n{more}X-Content-Type-Options: nosniff\r\n\
             Content-Length: {}\r\nConnection: close\r\n\r\n",
            body.len()
        )?;
        if method != "HEAD" {
            stream.write_all(body.as_bytes())?;
        }
        Ok(())
    }

    /// Who serves, if anybody; the lock is not held while figures are gathered.
    fn shared(&self) -> std::result::Result<Arc<Shared>, String> {
        match &*self.state.lock() {
            State::Recovering(p, _) => Err(format!(
                "recovering: {} of {} bytes of the log, {} transactions\n",
                p.bytes_done, p.bytes_total, p.transactions
            )),
            State::Serving(shared) => Ok(shared.clone()),
            State::Stopping => Err("stopping\n".to_owned()),
        }
    }

    fn health(&self) -> (&'static str, String) {
        match self.shared() {
            Ok(_) => ("200 OK", "serving\n".to_owned()),
            Err(why) => (UNAVAILABLE, why),
        }
    }

    fn status(&self) -> (&'static str, String) {
        match self.shared() {
            Ok(shared) => {
                let stats = shared.sessions.database().stats();
                let (open, max) = (shared.connections(), shared.config().max_connections);
                ("200 OK", shared.metrics.summary(open, max, &stats))
            }
            Err(why) => (UNAVAILABLE, why),
        }
    }

    /// What the page asks for.
    fn told(
        &self,
        name: &str,
        path: &str,
        request: &str,
        peer: SocketAddr,
    ) -> std::result::Result<String, Refused> {
        if name == "/data.json" { self.data(request, peer) } else { self.graph(path, request, peer) }
    }

    /// The pieces of a procedure (`?procedure=NAME`), or those that all calls are replayed in.
    fn graph(&self, path: &str, request: &str, peer: SocketAddr) -> std::result::Result<String, Refused> {
        page::check_origin(request, peer)?;
        let shared = self.shared().map_err(|_| Refused::Nothing)?;
        page::check(&shared, request, peer)?;
        page::graph(&shared, path)
    }

    /// What the page shows.
    fn data(&self, request: &str, peer: SocketAddr) -> std::result::Result<String, Refused> {
        page::check_origin(request, peer)?;
        let shared = match &*self.state.lock() {
            State::Recovering(p, since) => {
                let text = progress::describe(p, since.elapsed());
                return Ok(page::apart("recovering", Some((progress::percent_of(p), text))));
            }
            State::Serving(shared) => shared.clone(),
            State::Stopping => return Ok(page::apart("stopping", None)),
        };
        page::check(&shared, request, peer)?;
        // Where the database is being closed, for one.
        Ok(page::data(&shared).unwrap_or_else(|error| page::apart(error.message(), None)))
    }

    fn metrics(&self) -> String {
        let up = |serving: bool| {
            format!(
                "# HELP planaria_up Whether clients are served.\n# TYPE planaria_up gauge\nplanaria_up {}\n",
                u8::from(serving)
            )
        };
        if let State::Recovering(p, _) = &*self.state.lock() {
            let done = |kind: &str, n: u64| format!("planaria_replay_bytes{{of=\"{kind}\"}} {n}\n");
            return format!(
                "{}# HELP planaria_replay_bytes Log replayed by the recovery under way.\n\
                 # TYPE planaria_replay_bytes gauge\n{}{}",
                up(false),
                done("done", p.bytes_done),
                done("total", p.bytes_total)
            );
        }
        let Ok(shared) = self.shared() else { return up(false) };
        let db = shared.sessions.database();
        let (open, max) = (shared.connections(), shared.config().max_connections);
        up(true) + &shared.metrics.page(open, max, &db.stats(), db.recovery().as_ref())
    }
}
