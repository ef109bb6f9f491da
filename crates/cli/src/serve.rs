//! `planaria serve`: the server.
//!
//! A setting is looked up in this order: the command line, the environment, the file of `--config`, the
//! default. The command line and the environment are clap's; the file is read here.

use crate::arguments::{Size, Time};
use crate::recovery::Recovery;
use clap::{Args, ValueEnum};
use planaria::{Database, Durability, Error, LogKind, Result, SqlState};
use planaria_server::{Config, Doors, Monitor, Server, Tls};
use serde::Deserialize;
use std::net::{SocketAddr, ToSocketAddrs};
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::sync::Arc;
use std::time::Duration;
use tracing_subscriber::EnvFilter;

/// As in PostgreSQL.
const CHECKPOINT_TIMEOUT: Duration = Duration::from_secs(300);
/// As in PostgreSQL.
const MAX_WAL_SIZE: u64 = 1 << 30;

/// Options of `planaria serve`.
#[derive(Args)]
pub struct Options {
    /// Directory of the database; in memory without, and gone when the server stops
    #[arg(env = "PLANARIA_DIR")]
    dir: Option<PathBuf>,
    /// A file of settings in TOML
    #[arg(long, value_name = "FILE", env = "PLANARIA_CONFIG")]
    config: Option<PathBuf>,
    #[command(flatten)]
    settings: Settings,
    #[command(flatten)]
    recovery: Recovery,
}

/// What may stand on the command line, in the environment, and in the file.
#[derive(Args, Deserialize, Default)]
#[serde(deny_unknown_fields, default)]
struct Settings {
    /// Addresses to listen at, such as 127.0.0.1:5432; several with commas
    #[arg(long, value_name = "ADDR:PORT", value_delimiter = ',', env = "PLANARIA_LISTEN")]
    listen: Option<Vec<String>>,
    /// Directory for a Unix domain socket, named after the port of the first address; none without
    #[arg(long, value_name = "DIR", env = "PLANARIA_SOCKET_DIR")]
    socket_dir: Option<PathBuf>,
    /// Who is asked for a password: auto (all, from the first on that a role has had; until then nobody of this machine),
    /// trust (nobody of this machine), password (all)
    #[arg(long, value_name = "HOW", env = "PLANARIA_AUTHENTICATION")]
    authentication: Option<String>,
    /// What all sessions begin with, such as default_transaction_isolation='read committed'; once for each setting
    #[arg(short = 'c', long, value_name = "NAME=VALUE", env = "PLANARIA_SET")]
    set: Option<Vec<Assignment>>,
    /// Connections at a time
    #[arg(long, value_name = "N", env = "PLANARIA_MAX_CONNECTIONS")]
    max_connections: Option<usize>,
    /// Of these, so many are for superusers
    #[arg(long, value_name = "N", env = "PLANARIA_SUPERUSER_RESERVED_CONNECTIONS")]
    superuser_reserved_connections: Option<usize>,
    /// Connections from one address that have not said yet who they are
    #[arg(long, value_name = "N", env = "PLANARIA_MAX_STARTUPS_PER_ADDRESS")]
    max_startups_per_address: Option<usize>,
    /// Threads that serve; one a core without
    #[arg(long, value_name = "N", env = "PLANARIA_THREADS")]
    threads: Option<usize>,
    /// When a client hears of a commit: fsync, async, off
    #[arg(long, value_name = "WHEN", env = "PLANARIA_DURABILITY")]
    durability: Option<String>,
    /// What calls write to the log: command, logical, adaptive, ...
    #[arg(long, value_name = "KIND", env = "PLANARIA_LOG_KIND")]
    log_kind: Option<String>,
    /// Logger threads, each with its own files
    #[arg(long, value_name = "N", env = "PLANARIA_LOGGERS")]
    loggers: Option<usize>,
    /// Time (seconds, or with a unit: 5min) after which a checkpoint is written, if anything was logged since; 0: not by time
    #[arg(long, value_name = "TIME", env = "PLANARIA_CHECKPOINT_TIMEOUT")]
    checkpoint_timeout: Option<Time>,
    /// Bytes of log after which a checkpoint is written; 0: not by size
    #[arg(long, value_name = "N", env = "PLANARIA_MAX_WAL_SIZE")]
    max_wal_size: Option<u64>,
    /// Time that a restart may take (5s): checkpoints are written to stay below; 0: no matter
    #[arg(long, value_name = "TIME", env = "PLANARIA_RESTART_TARGET")]
    restart_target: Option<Time>,
    /// Threads that write a checkpoint; one a core without
    #[arg(long, value_name = "N", env = "PLANARIA_CHECKPOINT_THREADS")]
    checkpoint_threads: Option<usize>,
    /// Writes a checkpoint when the server is stopped
    #[arg(long, value_name = "BOOL", env = "PLANARIA_CHECKPOINT_ON_CLOSE", num_args = 0..=1, default_missing_value = "true")]
    checkpoint_on_close: Option<bool>,
    /// Keeps the log before a checkpoint, to restore any moment since a backup
    #[arg(long, value_name = "BOOL", env = "PLANARIA_KEEP_LOG", num_args = 0..=1, default_missing_value = "true")]
    keep_log: Option<bool>,
    /// Memory that rows, indexes and statements may take (512MB, 8GB); 0: no matter; four fifths of the machine's without
    #[arg(long, value_name = "SIZE", env = "PLANARIA_MEMORY_BUDGET")]
    memory_budget: Option<Size>,
    /// Seconds from connecting until a client has said who it is
    #[arg(long, value_name = "S", env = "PLANARIA_STARTUP_TIMEOUT")]
    startup_timeout: Option<Time>,
    /// Seconds that a client may take to read its answers
    #[arg(long, value_name = "S", env = "PLANARIA_WRITE_TIMEOUT")]
    write_timeout: Option<Time>,
    /// Seconds that open transactions have when the server is to stop
    #[arg(long, value_name = "S", env = "PLANARIA_DRAIN_TIMEOUT")]
    drain_timeout: Option<Time>,
    /// Longest message of a client, in bytes
    #[arg(long, value_name = "N", env = "PLANARIA_MAX_MESSAGE_BYTES")]
    max_message_bytes: Option<usize>,
    /// Largest answer of a statement, in bytes
    #[arg(long, value_name = "N", env = "PLANARIA_MAX_RESULT_BYTES")]
    max_result_bytes: Option<usize>,
    /// What waits of all answers in temporary files, in bytes
    #[arg(long, value_name = "N", env = "PLANARIA_MAX_TEMP_BYTES")]
    max_temp_bytes: Option<usize>,
    /// How much of an answer is kept in memory, in bytes; the rest waits in a temporary file
    #[arg(long, value_name = "N", env = "PLANARIA_RESULT_MEMORY_BYTES")]
    result_memory_bytes: Option<usize>,
    /// Where /health and /metrics answer over HTTP; nowhere without
    #[arg(long, value_name = "ADDR:PORT", env = "PLANARIA_METRICS")]
    metrics: Option<String>,
    /// Certificate for TLS in PEM form, with those that it was signed by
    #[arg(long, value_name = "FILE", env = "PLANARIA_TLS_CERT")]
    tls_cert: Option<PathBuf>,
    /// Its private key
    #[arg(long, value_name = "FILE", env = "PLANARIA_TLS_KEY")]
    tls_key: Option<PathBuf>,
    /// Clients of other machines must use TLS
    #[arg(long, value_name = "BOOL", env = "PLANARIA_REQUIRE_TLS", num_args = 0..=1, default_missing_value = "true")]
    require_tls: Option<bool>,
    /// Form of the server's own log, on standard error
    #[arg(long, value_enum, env = "PLANARIA_LOG_FORMAT")]
    log_format: Option<LogFormat>,
    /// What it says: error, warn, info, debug, trace, or a filter of tracing
    #[arg(long, value_name = "LEVEL", env = "PLANARIA_LOG_LEVEL")]
    log_level: Option<String>,
}

/// A setting of sessions and its value.
#[derive(Clone, Deserialize)]
#[serde(try_from = "String")]
struct Assignment(String, String);

impl FromStr for Assignment {
    type Err = String;

    fn from_str(text: &str) -> Result<Assignment, String> {
        let (name, value) = text.split_once('=').ok_or_else(|| format!("\"{text}\" is not NAME=VALUE"))?;
        Ok(Assignment(name.trim().to_owned(), value.trim().to_owned()))
    }
}

impl TryFrom<String> for Assignment {
    type Error = String;

    fn try_from(text: String) -> Result<Assignment, String> {
        text.parse()
    }
}

/// Form of the server's own log.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum, Deserialize, Default)]
#[serde(rename_all = "lowercase")]
enum LogFormat {
    /// For people
    #[default]
    Text,
    /// An object a line
    Json,
}

/// 22023
fn invalid(what: impl std::fmt::Display) -> Error {
    Error::new(SqlState::INVALID_PARAMETER_VALUE, what.to_string())
}

impl Settings {
    fn read(file: &Path) -> Result<Settings> {
        let text = std::fs::read_to_string(file).map_err(|e| Error::file("read file", file, e))?;
        toml::from_str(&text).map_err(|e| invalid(format!("{}: {e}", file.display())))
    }

    /// These, and where they say nothing the others.
    fn or(self, other: Settings) -> Settings {
        Settings {
            listen: self.listen.or(other.listen),
            socket_dir: self.socket_dir.or(other.socket_dir),
            authentication: self.authentication.or(other.authentication),
            set: self.set.or(other.set),
            max_connections: self.max_connections.or(other.max_connections),
            superuser_reserved_connections: self
                .superuser_reserved_connections
                .or(other.superuser_reserved_connections),
            max_startups_per_address: self.max_startups_per_address.or(other.max_startups_per_address),
            threads: self.threads.or(other.threads),
            durability: self.durability.or(other.durability),
            log_kind: self.log_kind.or(other.log_kind),
            loggers: self.loggers.or(other.loggers),
            checkpoint_timeout: self.checkpoint_timeout.or(other.checkpoint_timeout),
            max_wal_size: self.max_wal_size.or(other.max_wal_size),
            restart_target: self.restart_target.or(other.restart_target),
            checkpoint_threads: self.checkpoint_threads.or(other.checkpoint_threads),
            checkpoint_on_close: self.checkpoint_on_close.or(other.checkpoint_on_close),
            keep_log: self.keep_log.or(other.keep_log),
            memory_budget: self.memory_budget.or(other.memory_budget),
            startup_timeout: self.startup_timeout.or(other.startup_timeout),
            write_timeout: self.write_timeout.or(other.write_timeout),
            drain_timeout: self.drain_timeout.or(other.drain_timeout),
            max_message_bytes: self.max_message_bytes.or(other.max_message_bytes),
            max_result_bytes: self.max_result_bytes.or(other.max_result_bytes),
            max_temp_bytes: self.max_temp_bytes.or(other.max_temp_bytes),
            result_memory_bytes: self.result_memory_bytes.or(other.result_memory_bytes),
            metrics: self.metrics.or(other.metrics),
            tls_cert: self.tls_cert.or(other.tls_cert),
            tls_key: self.tls_key.or(other.tls_key),
            require_tls: self.require_tls.or(other.require_tls),
            log_format: self.log_format.or(other.log_format),
            log_level: self.log_level.or(other.log_level),
        }
    }

    fn server(&self) -> Result<Config> {
        let mut config = Config::default();
        if let Some(listen) = &self.listen {
            config.listen = addresses(listen)?;
        }
        config.socket_dir.clone_from(&self.socket_dir);
        if let Some(authentication) = &self.authentication {
            config.authentication = authentication.parse().map_err(invalid)?;
        }
        config.max_connections = self.max_connections.unwrap_or(config.max_connections);
        config.superuser_reserved_connections =
            self.superuser_reserved_connections.unwrap_or(config.superuser_reserved_connections);
        config.max_startups_per_address =
            self.max_startups_per_address.unwrap_or(config.max_startups_per_address);
        config.threads = self.threads;
        config.startup_timeout = self.startup_timeout.map_or(config.startup_timeout, |t| t.0);
        config.write_timeout = self.write_timeout.map_or(config.write_timeout, |t| t.0);
        config.drain_timeout = self.drain_timeout.map_or(config.drain_timeout, |t| t.0);
        config.max_message_bytes = self.max_message_bytes.unwrap_or(config.max_message_bytes);
        config.max_result_bytes = self.max_result_bytes.unwrap_or(config.max_result_bytes);
        config.max_temp_bytes = self.max_temp_bytes.unwrap_or(config.max_temp_bytes);
        config.result_memory_bytes = self.result_memory_bytes.unwrap_or(config.result_memory_bytes);
        config.require_tls = self.require_tls.unwrap_or(config.require_tls);
        config.tls = match (&self.tls_cert, &self.tls_key) {
            (Some(certificate), Some(key)) => Some(Tls::from_files(certificate, key)?),
            (None, None) => None,
            _ => return Err(invalid("tls_cert and tls_key belong together")),
        };
        if config.require_tls && config.tls.is_none() {
            return Err(invalid("require_tls needs tls_cert and tls_key"));
        }
        Ok(config)
    }

    fn database(&self) -> Result<planaria::Options> {
        let mut options = planaria::Options::new();
        if let Some(durability) = &self.durability {
            options = options.durability(durability.parse::<Durability>().map_err(invalid)?);
        }
        if let Some(kind) = &self.log_kind {
            options = options.log(kind.parse::<LogKind>().map_err(invalid)?);
        }
        if let Some(loggers) = self.loggers {
            options = options.loggers(loggers);
        }
        if let Some(threads) = self.checkpoint_threads {
            options = options.checkpoint_threads(threads);
        }
        if let Some(size) = self.memory_budget {
            options = options.memory_budget(size.0);
        }
        for Assignment(name, value) in self.set.iter().flatten() {
            options = options.set(name, value);
        }
        Ok(options
            .checkpoint_timeout(self.checkpoint_timeout.map_or(CHECKPOINT_TIMEOUT, |t| t.0))
            .max_wal_size(self.max_wal_size.unwrap_or(MAX_WAL_SIZE))
            .restart_target(self.restart_target.map_or(Duration::ZERO, |t| t.0))
            .checkpoint_on_close(self.checkpoint_on_close.unwrap_or(false))
            .keep_log(self.keep_log.unwrap_or(false)))
    }

    fn log(&self) -> Result<()> {
        let level = self.log_level.as_deref().unwrap_or("info");
        let filter = EnvFilter::try_new(level).map_err(invalid)?;
        let log =
            tracing_subscriber::fmt().with_env_filter(filter).with_writer(std::io::stderr).with_target(false);
        let set = match self.log_format.unwrap_or_default() {
            LogFormat::Text => {
                let colours = std::io::IsTerminal::is_terminal(&std::io::stderr());
                log.with_ansi(colours).try_init()
            }
            LogFormat::Json => log.json().flatten_event(true).try_init(),
        };
        set.map_err(|e| Error::internal(e.to_string()))
    }
}

/// Addresses of texts: `HOST:PORT`, `HOST`, `:PORT`.
fn addresses(texts: &[String]) -> Result<Vec<SocketAddr>> {
    const PORT: u16 = 5432;
    let mut all = Vec::new();
    for text in texts {
        let found = match text.strip_prefix(':') {
            Some(port) => format!("127.0.0.1:{port}").to_socket_addrs(),
            None => text.to_socket_addrs().or_else(|_| (text.as_str(), PORT).to_socket_addrs()),
        };
        let before = all.len();
        all.extend(found.map_err(|e| invalid(format!("{text} is no address to listen at: {e}")))?);
        if all.len() == before {
            return Err(invalid(format!("{text} is no address to listen at")));
        }
    }
    Ok(all)
}

/// Opens the database, serves it until a signal comes, closes it.
pub fn serve(options: Options) -> Result<()> {
    let settings = match &options.config {
        Some(file) => options.settings.or(Settings::read(file)?),
        None => options.settings,
    };
    settings.log()?;
    let config = settings.server()?;
    let monitor = match &settings.metrics {
        Some(address) => Some(monitor(address)?),
        None => None,
    };
    let mut doors = Doors::open(config)?;
    doors.survive_hangups()?;
    doors.answer();
    let db = match &options.dir {
        Some(dir) => open(&options.recovery, settings.database()?, dir, monitor.clone())?,
        None => {
            tracing::warn!(
                "no directory was given: the database lives in memory and is gone with the server"
            );
            settings.database()?.in_memory()?
        }
    };
    if let Some(report) = db.recovery() {
        tracing::info!(
            transactions = report.transactions,
            seconds = report.replay.as_secs_f64(),
            "recovered by {}",
            report.scheme
        );
    }
    let memory = db.stats().memory;
    if let Some(budget) = memory.budget.filter(|budget| memory.bytes() > *budget) {
        tracing::warn!(
            bytes = memory.bytes(),
            memory_budget = budget,
            "the database takes more than its memory budget: only reads and deletes are possible"
        );
    }
    let db = Arc::new(db);
    let server = Server::behind(doors, db.clone());
    server.stop_on_signals()?;
    for address in server.addresses() {
        tracing::info!("planaria {} listens at {address}", env!("CARGO_PKG_VERSION"));
    }
    if let Some(monitor) = &monitor {
        monitor.serving(&server);
    }
    server.run()?;
    if let Some(monitor) = &monitor {
        monitor.stopping();
    }
    close(db)?;
    tracing::info!("closed");
    Ok(())
}

/// Opens the database in a directory: a bar tells people how far it is, the monitor machines.
fn open(
    recovery: &Recovery,
    options: planaria::Options,
    dir: &Path,
    monitor: Option<Monitor>,
) -> Result<Database> {
    match monitor {
        Some(monitor) if !std::io::IsTerminal::is_terminal(&std::io::stderr()) => {
            recovery.apply(options).on_recovery(move |p| monitor.recovering(p)).open(dir)
        }
        _ => recovery.open_and_tell(options, dir),
    }
}

fn monitor(address: &str) -> Result<Monitor> {
    let address = addresses(&[address.to_owned()])?[0];
    let monitor = Monitor::bind(address)?;
    tracing::info!("/health and /metrics at http://{}", monitor.address());
    Ok(monitor)
}

/// Options of `planaria status`.
#[derive(Args)]
pub struct StatusOptions {
    /// Where the server answers over HTTP (its `--metrics`)
    #[arg(value_name = "ADDR:PORT", env = "PLANARIA_METRICS")]
    address: String,
}

/// Prints what a server says of itself.
pub fn status(options: &StatusOptions) -> Result<()> {
    use std::io::{Read, Write};
    let timeout = Duration::from_secs(10);
    if Path::new(&options.address).is_dir() {
        let message = format!("\"{}\" is a directory, not the address of a server", options.address);
        return Err(invalid(message)
            .hint("planaria checkpoint inspect and planaria log inspect look at directories."));
    }
    let address = addresses(std::slice::from_ref(&options.address))?[0];
    let mut answer = String::new();
    let mut ask = || -> std::io::Result<()> {
        let mut stream = std::net::TcpStream::connect_timeout(&address, timeout)?;
        stream.set_read_timeout(Some(timeout))?;
        stream.write_all(b"GET /status HTTP/1.1\r\nHost: planaria\r\n\r\n")?;
        stream.read_to_string(&mut answer)?;
        Ok(())
    };
    ask().map_err(|e| {
        Error::new(SqlState::CONNECTION_FAILURE, format!("no server answers at {address}: {e}"))
            .hint("It must run with --metrics ADDR:PORT.")
    })?;
    let (head, body) = answer.split_once("\r\n\r\n").unwrap_or((&answer, ""));
    if !head.starts_with("HTTP/1.1 200") {
        let message = format!("clients are not served: {}", body.trim_end());
        return Err(Error::new(SqlState::CONNECTION_FAILURE, message));
    }
    print!("{body}");
    Ok(())
}

/// Closes the database: what was committed is on disk then.
fn close(db: Arc<Database>) -> Result<()> {
    match Arc::try_unwrap(db) {
        Ok(db) => db.close(),
        Err(db) => db.flush(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_line_goes_before_the_file() {
        let file: Settings =
            toml::from_str("listen = ['[::1]:1']\nmax_connections = 5").expect("well-formed");
        let line = Settings { max_connections: Some(7), ..Settings::default() };
        let config = line.or(file).server().expect("in range");
        assert_eq!(config.max_connections, 7);
        assert_eq!(config.listen, ["[::1]:1".parse().expect("an address")]);
        assert!(toml::from_str::<Settings>("lisen = []").is_err());
    }

    #[test]
    fn addresses_may_lack_a_part() {
        let all = addresses(&[":7".into(), "127.0.0.1".into()]).expect("addresses");
        assert_eq!(all, ["127.0.0.1:7".parse().expect("one"), "127.0.0.1:5432".parse().expect("one")]);
        assert!(addresses(&["no such host:x".into()]).is_err());
    }
}
