//! The settings of a server: what may stand on the command line, in the environment, and in files; see
//! [`source`](crate::source) for which of them counts.

use crate::arguments::{LogFrom, Size, Time};
use clap::{Args, ValueEnum};
use planaria::{Durability, Error, LogKind, ProtocolKind, Result, SqlState};
use planaria_server::{Config, Tls};
use serde::{Deserialize, Serialize};
use std::net::{SocketAddr, ToSocketAddrs};
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::time::Duration;
use tracing_subscriber::EnvFilter;

/// Where the page and the metrics are; only this machine can look there.
pub const METRICS: &str = "127.0.0.1:9187";
/// As in PostgreSQL.
const CHECKPOINT_TIMEOUT: Duration = Duration::from_secs(300);
/// As in PostgreSQL.
const MAX_WAL_SIZE: u64 = 1 << 30;
/// What `log_min_error_statement` can be, and from which on a statement that fails is not logged.
const SEVERITIES: [&str; 12] = [
    "debug5", "debug4", "debug3", "debug2", "debug1", "info", "notice", "warning", "error", "log", "fatal",
    "panic",
];

/// Settings that somebody has said something about.
#[derive(Args, Clone, Serialize, Deserialize, Default)]
#[serde(deny_unknown_fields, default)]
pub struct Settings {
    /// Addresses to listen on, such as 127.0.0.1:5432, separated by commas
    #[arg(long, value_name = "ADDR:PORT", value_delimiter = ',', env = "PLANARIA_LISTEN")]
    pub listen: Option<Vec<String>>,
    /// Directory for a Unix domain socket, named after the port of the first address (default: no socket)
    #[arg(long, value_name = "DIR", env = "PLANARIA_SOCKET_DIR")]
    socket_dir: Option<PathBuf>,
    /// Who is asked for a password: auto (all, from the first on that a role has had; until then nobody of this machine),
    /// trust (nobody of this machine), password (all)
    #[arg(long, value_name = "HOW", env = "PLANARIA_AUTHENTICATION")]
    authentication: Option<String>,
    /// Default for all sessions, such as default_transaction_isolation='read committed'; repeat for each setting
    #[arg(short = 'c', long, value_name = "NAME=VALUE", env = "PLANARIA_SET")]
    pub set: Option<Vec<Assignment>>,
    /// Maximum number of connections
    #[arg(long, value_name = "N", env = "PLANARIA_MAX_CONNECTIONS")]
    max_connections: Option<usize>,
    /// Connections reserved for superusers, out of max_connections
    #[arg(long, value_name = "N", env = "PLANARIA_SUPERUSER_RESERVED_CONNECTIONS")]
    superuser_reserved_connections: Option<usize>,
    /// Maximum number of connections from one address that have not logged in yet
    #[arg(long, value_name = "N", env = "PLANARIA_MAX_STARTUPS_PER_ADDRESS")]
    max_startups_per_address: Option<usize>,
    /// Threads that serve clients (default: one per core)
    #[arg(long, value_name = "N", env = "PLANARIA_THREADS")]
    threads: Option<usize>,
    /// When a commit is acknowledged: fsync, async, off
    #[arg(long, value_name = "WHEN", env = "PLANARIA_DURABILITY")]
    durability: Option<String>,
    /// What calls write to the log: command, logical, adaptive, ...
    #[arg(long, value_name = "KIND", env = "PLANARIA_LOG_KIND")]
    log_kind: Option<String>,
    /// How transactions are kept apart: silo, healing, mvocc, ... (all of them serializable; as it was opened before does not matter)
    #[arg(long, value_name = "KIND", env = "PLANARIA_PROTOCOL")]
    protocol: Option<String>,
    /// How long a call that is healed may hold its locks, such as 2ms (only with a protocol that heals)
    #[arg(long, value_name = "TIME", env = "PLANARIA_HEALING_MAX")]
    healing_max: Option<Time>,
    /// Logger threads, each with its own files
    #[arg(long, value_name = "N", env = "PLANARIA_LOGGERS")]
    loggers: Option<usize>,
    /// Time between checkpoints (seconds, or with a unit: 5min), if anything was logged; 0: not by time
    #[arg(long, value_name = "TIME", env = "PLANARIA_CHECKPOINT_TIMEOUT")]
    checkpoint_timeout: Option<Time>,
    /// Bytes of log after which a checkpoint is written; 0: not by size
    #[arg(long, value_name = "N", env = "PLANARIA_MAX_WAL_SIZE")]
    max_wal_size: Option<u64>,
    /// Target for the time a restart takes (5s): checkpoints are written to stay below it; 0: no target
    #[arg(long, value_name = "TIME", env = "PLANARIA_RESTART_TARGET")]
    restart_target: Option<Time>,
    /// Threads that write a checkpoint (default: one per core)
    #[arg(long, value_name = "N", env = "PLANARIA_CHECKPOINT_THREADS")]
    checkpoint_threads: Option<usize>,
    /// Writes a checkpoint when the server is stopped
    #[arg(long, value_name = "BOOL", env = "PLANARIA_CHECKPOINT_ON_CLOSE", num_args = 0..=1, default_missing_value = "true")]
    checkpoint_on_close: Option<bool>,
    /// Keeps the log older than the last checkpoint, for point-in-time restores
    #[arg(long, value_name = "BOOL", env = "PLANARIA_KEEP_LOG", num_args = 0..=1, default_missing_value = "true")]
    keep_log: Option<bool>,
    /// Memory for rows, indexes and statements (512MB, 8GB); 0: no limit (default: four fifths of the machine's)
    #[arg(long, value_name = "SIZE", env = "PLANARIA_MEMORY_BUDGET")]
    memory_budget: Option<Size>,
    /// Memory for rows and indexes that is claimed at start, so that no transaction waits for it (512MB, 8GB)
    #[arg(long, value_name = "SIZE", env = "PLANARIA_MEMORY_RESERVE")]
    memory_reserve: Option<Size>,
    /// Seconds a client may take to log in
    #[arg(long, value_name = "S", env = "PLANARIA_STARTUP_TIMEOUT")]
    startup_timeout: Option<Time>,
    /// Seconds a client may take to read its results
    #[arg(long, value_name = "S", env = "PLANARIA_WRITE_TIMEOUT")]
    write_timeout: Option<Time>,
    /// Seconds that open transactions are given to finish when the server stops
    #[arg(long, value_name = "S", env = "PLANARIA_DRAIN_TIMEOUT")]
    drain_timeout: Option<Time>,
    /// Largest message from a client, in bytes
    #[arg(long, value_name = "N", env = "PLANARIA_MAX_MESSAGE_BYTES")]
    max_message_bytes: Option<usize>,
    /// Largest result of a statement, in bytes
    #[arg(long, value_name = "N", env = "PLANARIA_MAX_RESULT_BYTES")]
    max_result_bytes: Option<usize>,
    /// Total size of results waiting in temporary files, in bytes
    #[arg(long, value_name = "N", env = "PLANARIA_MAX_TEMP_BYTES")]
    max_temp_bytes: Option<usize>,
    /// How much of a result is kept in memory, in bytes; the rest waits in a temporary file
    #[arg(long, value_name = "N", env = "PLANARIA_RESULT_MEMORY_BYTES")]
    result_memory_bytes: Option<usize>,
    /// HTTP address of the web page, /health and /metrics; off: none
    #[arg(long, value_name = "ADDR:PORT", env = "PLANARIA_METRICS")]
    pub metrics: Option<String>,
    /// TLS certificate chain, in PEM format
    #[arg(long, value_name = "FILE", env = "PLANARIA_TLS_CERT")]
    tls_cert: Option<PathBuf>,
    /// Private key of that certificate, in PEM format
    #[arg(long, value_name = "FILE", env = "PLANARIA_TLS_KEY")]
    tls_key: Option<PathBuf>,
    /// Requires TLS from clients on other machines
    #[arg(long, value_name = "BOOL", env = "PLANARIA_REQUIRE_TLS", num_args = 0..=1, default_missing_value = "true")]
    require_tls: Option<bool>,
    /// Logs statements that take at least this long (200ms, 1s); 0: all; -1: none
    #[arg(
        long,
        value_name = "TIME",
        env = "PLANARIA_LOG_MIN_DURATION_STATEMENT",
        allow_negative_numbers = true
    )]
    log_min_duration_statement: Option<LogFrom>,
    /// Logs the statements behind errors of at least this severity: error, or panic for none
    #[arg(long, value_name = "LEVEL", env = "PLANARIA_LOG_MIN_ERROR_STATEMENT")]
    log_min_error_statement: Option<String>,
    #[command(flatten)]
    auto_explain: AutoExplain,
    /// Its earlier name, in files.
    #[arg(skip)]
    #[serde(skip_serializing)]
    auto_explain_min_duration: Option<LogFrom>,
    /// Format of the server's own log, on standard error
    #[arg(long, value_enum, env = "PLANARIA_LOG_FORMAT")]
    log_format: Option<LogFormat>,
    /// Level of the server's own log: error, warn, info, debug, trace, or a tracing filter
    #[arg(long, value_name = "LEVEL", env = "PLANARIA_LOG_LEVEL")]
    log_level: Option<String>,
}

/// Settings whose names begin with `auto_explain.`: in TOML a table.
#[derive(Args, Clone, Serialize, Deserialize, Default)]
#[serde(deny_unknown_fields, default)]
struct AutoExplain {
    /// Logs the plans of queries and changes that take at least this long; 0: all; -1: none
    #[arg(
        id = "auto_explain.log_min_duration",
        long = "auto-explain-log-min-duration",
        alias = "auto-explain-min-duration",
        value_name = "TIME",
        env = "PLANARIA_AUTO_EXPLAIN_LOG_MIN_DURATION",
        allow_negative_numbers = true
    )]
    log_min_duration: Option<LogFrom>,
}

/// A setting of sessions and its value.
#[derive(Clone, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Assignment(pub String, pub String);

impl From<Assignment> for String {
    fn from(Assignment(name, value): Assignment) -> String {
        format!("{name}={value}")
    }
}

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
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum, Serialize, Deserialize, Default)]
#[serde(rename_all = "lowercase")]
pub enum LogFormat {
    /// For people
    #[default]
    Text,
    /// One JSON object per line
    Json,
}

/// 22023
pub fn invalid(what: impl std::fmt::Display) -> Error {
    Error::new(SqlState::INVALID_PARAMETER_VALUE, what.to_string())
}

impl Settings {
    /// Those of a file in TOML.
    pub fn read(file: &Path) -> Result<Settings> {
        let text = std::fs::read_to_string(file).map_err(|e| Error::file("read file", file, e))?;
        let settings: Settings =
            toml::from_str(&text).map_err(|e| invalid(format!("{}: {e}", file.display())))?;
        Ok(settings.renamed())
    }

    /// With earlier names turned into those of now.
    pub fn renamed(mut self) -> Settings {
        let earlier = self.auto_explain_min_duration.take();
        self.auto_explain.log_min_duration = self.auto_explain.log_min_duration.or(earlier);
        self
    }

    /// These, and where they say nothing the others. Sessions begin with what the others say, and then with what these do.
    pub fn or(self, other: Settings) -> Settings {
        Settings {
            listen: self.listen.or(other.listen),
            socket_dir: self.socket_dir.or(other.socket_dir),
            authentication: self.authentication.or(other.authentication),
            set: match (other.set, self.set) {
                (Some(mut others), Some(own)) => {
                    others.retain(|a| !own.iter().any(|o| o.0.eq_ignore_ascii_case(&a.0)));
                    others.extend(own);
                    Some(others)
                }
                (others, own) => own.or(others),
            },
            max_connections: self.max_connections.or(other.max_connections),
            superuser_reserved_connections: self
                .superuser_reserved_connections
                .or(other.superuser_reserved_connections),
            max_startups_per_address: self.max_startups_per_address.or(other.max_startups_per_address),
            threads: self.threads.or(other.threads),
            durability: self.durability.or(other.durability),
            log_kind: self.log_kind.or(other.log_kind),
            protocol: self.protocol.or(other.protocol),
            healing_max: self.healing_max.or(other.healing_max),
            loggers: self.loggers.or(other.loggers),
            checkpoint_timeout: self.checkpoint_timeout.or(other.checkpoint_timeout),
            max_wal_size: self.max_wal_size.or(other.max_wal_size),
            restart_target: self.restart_target.or(other.restart_target),
            checkpoint_threads: self.checkpoint_threads.or(other.checkpoint_threads),
            checkpoint_on_close: self.checkpoint_on_close.or(other.checkpoint_on_close),
            keep_log: self.keep_log.or(other.keep_log),
            memory_budget: self.memory_budget.or(other.memory_budget),
            memory_reserve: self.memory_reserve.or(other.memory_reserve),
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
            log_min_duration_statement: self.log_min_duration_statement.or(other.log_min_duration_statement),
            log_min_error_statement: self.log_min_error_statement.or(other.log_min_error_statement),
            auto_explain: AutoExplain {
                log_min_duration: self.auto_explain.log_min_duration.or(other.auto_explain.log_min_duration),
            },
            auto_explain_min_duration: None,
            log_format: self.log_format.or(other.log_format),
            log_level: self.log_level.or(other.log_level),
        }
    }

    /// What they are where nobody says anything.
    pub fn standard() -> Settings {
        let (config, cores) =
            (Config::default(), std::thread::available_parallelism().map_or(1, usize::from));
        Settings {
            listen: Some(config.listen.iter().map(ToString::to_string).collect()),
            authentication: Some("auto".to_owned()),
            max_connections: Some(config.max_connections),
            superuser_reserved_connections: Some(config.superuser_reserved_connections),
            max_startups_per_address: Some(config.max_startups_per_address),
            threads: Some(cores),
            durability: Some(Durability::default().to_string()),
            log_kind: Some(LogKind::default().to_string()),
            protocol: Some(ProtocolKind::default().to_string()),
            loggers: Some(1),
            checkpoint_timeout: Some(Time(CHECKPOINT_TIMEOUT)),
            max_wal_size: Some(MAX_WAL_SIZE),
            restart_target: Some(Time(Duration::ZERO)),
            checkpoint_threads: Some(cores),
            checkpoint_on_close: Some(false),
            keep_log: Some(false),
            startup_timeout: Some(Time(config.startup_timeout)),
            write_timeout: Some(Time(config.write_timeout)),
            drain_timeout: Some(Time(config.drain_timeout)),
            max_message_bytes: Some(config.max_message_bytes),
            max_result_bytes: Some(config.max_result_bytes),
            max_temp_bytes: Some(config.max_temp_bytes),
            result_memory_bytes: Some(config.result_memory_bytes),
            metrics: Some(METRICS.to_owned()),
            require_tls: Some(config.require_tls),
            log_min_duration_statement: Some(LogFrom(None)),
            log_min_error_statement: Some("error".to_owned()),
            auto_explain: AutoExplain { log_min_duration: Some(LogFrom(None)) },
            log_format: Some(LogFormat::default()),
            log_level: Some("info".to_owned()),
            ..Settings::default()
        }
    }

    /// How a server with them behaves. 22023 for what cannot be.
    pub fn server(&self) -> Result<Config> {
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
        config.log_min_duration_statement = self.log_min_duration_statement.and_then(|t| t.0);
        config.auto_explain = self.auto_explain.log_min_duration.and_then(|t| t.0);
        if let Some(level) = &self.log_min_error_statement {
            let place = SEVERITIES.iter().position(|s| s == level);
            let place = place.ok_or_else(|| {
                invalid(format!("invalid value for parameter \"log_min_error_statement\": \"{level}\""))
                    .with_hint(format!("Available values: {}.", SEVERITIES.join(", ")))
            })?;
            config.log_failed_statements = place <= 8;
        }
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

    /// How a database is opened with them. 22023 for what cannot be.
    pub fn database(&self) -> Result<planaria::Options> {
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
        if let Some(size) = self.memory_reserve {
            options = options.memory_reserve(size.0);
        }
        if let Some(protocol) = &self.protocol {
            options = options.protocol(protocol.parse::<ProtocolKind>().map_err(invalid)?);
        }
        if let Some(time) = self.healing_max {
            options = options.healing_max(time.0);
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

    /// What the server's own log says. 22023 where it is no filter.
    pub fn log_filter(&self) -> Result<EnvFilter> {
        EnvFilter::try_new(self.log_level.as_deref().unwrap_or("info")).map_err(invalid)
    }

    /// Form of the server's own log.
    pub fn log_format(&self) -> LogFormat {
        self.log_format.unwrap_or_default()
    }
}

/// Addresses of texts: `HOST:PORT`, `HOST`, `:PORT`.
pub fn addresses(texts: &[String]) -> Result<Vec<SocketAddr>> {
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
