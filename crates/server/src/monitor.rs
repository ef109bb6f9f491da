//! Health and metrics over HTTP, on a port of its own and by threads of its own: it answers while the
//! database is recovered, and when all that serve clients are busy.
//!
//! * `/health`: 200 when clients are served, else 503; a line says why.
//! * `/metrics`: for Prometheus.
//! * `/status`: for people (`planaria status`).

use crate::server::{Server, Shared};
use parking_lot::Mutex;
use planaria::{Error, RecoveryProgress, Result, SqlState};
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

const REQUEST_BYTES_MAX: usize = 8 << 10;
const REQUESTS_MAX: usize = 16;
const UNAVAILABLE: &str = "503 Service Unavailable";
const TIMEOUT: Duration = Duration::from_secs(5);

enum State {
    Recovering(RecoveryProgress),
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
        let state = Arc::new(Mutex::new(State::Recovering(RecoveryProgress::default())));
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
        *self.state.lock() = State::Recovering(progress);
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
        let line = request.split(|b| *b == b'\r').next().unwrap_or_default();
        let line = String::from_utf8_lossy(line);
        let mut words = line.split(' ');
        let (method, path) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
        let (status, body) = match (method, path.split('?').next().unwrap_or_default()) {
            ("GET" | "HEAD", "/health") => self.health(),
            ("GET" | "HEAD", "/metrics") => ("200 OK", self.metrics()),
            ("GET" | "HEAD", "/status") => self.status(),
            ("GET" | "HEAD", _) => ("404 Not Found", "There are /health, /metrics and /status.\n".to_owned()),
            _ => ("405 Method Not Allowed", String::new()),
        };
        write!(
            stream,
            "HTTP/1.1 {status}\r\nContent-Type: text/plain; version=0.0.4; charset=utf-8\r\n\
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
            State::Recovering(p) => Err(format!(
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

    fn metrics(&self) -> String {
        let up = |serving: bool| {
            format!(
                "# HELP planaria_up Whether clients are served.\n# TYPE planaria_up gauge\nplanaria_up {}\n",
                u8::from(serving)
            )
        };
        if let State::Recovering(p) = &*self.state.lock() {
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
