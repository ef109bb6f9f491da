//! How a server behaves. Where the values come from is the binary's business.

use crate::tls::Tls;
use planaria::{Error, Result, SqlState};
use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

/// See the fields; the defaults suit a machine of its own.
#[derive(Clone, Debug)]
pub struct Config {
    /// Addresses to listen at. Those beyond loopback are of use only to roles with a password.
    pub listen: Vec<SocketAddr>,
    /// Where to make a Unix domain socket, as `.s.PGSQL.PORT` with the port of the first address (5432 if there
    /// is none). Its clients are clients of this machine.
    pub socket_dir: Option<PathBuf>,
    /// Who is asked for a password.
    pub authentication: Authentication,
    /// Clients at a time; those beyond are refused with 53300.
    pub max_connections: usize,
    /// Of these, the last ones are for superusers.
    pub superuser_reserved_connections: usize,
    /// Connections from one address that have not said yet who they are: the oldest has to leave for one more.
    pub max_startups_per_address: usize,
    /// Threads that serve them; one a core if `None`.
    pub threads: Option<usize>,
    /// From connecting until the client is let in.
    pub startup_timeout: Duration,
    /// How long a client may take to read what it asked for, before the connection is closed.
    pub write_timeout: Duration,
    /// How long open transactions may go on once the server is to stop.
    pub drain_timeout: Duration,
    /// Longest message of a client, in bytes.
    pub max_message_bytes: usize,
    /// Encryption, for clients that ask for it.
    pub tls: Option<Tls>,
    /// Clients of other machines must ask for it.
    pub require_tls: bool,
    /// Largest answer of a statement, in bytes: answers are kept until their commit is on disk. What waits of one
    /// connection's answers in temporary files is no more than this either.
    pub max_result_bytes: usize,
    /// What waits of all connections' answers in temporary files, in bytes.
    pub max_temp_bytes: usize,
    /// How much of an answer is kept in memory, in bytes; the rest waits in a temporary file.
    pub result_memory_bytes: usize,
    /// Statements that take as long are logged; `None`: none is.
    pub log_min_duration_statement: Option<Duration>,
    /// Errors are logged with the statements that they were raised in.
    pub log_failed_statements: bool,
    /// Queries and changes that take as long are logged with their plans; `None`: none is.
    pub auto_explain: Option<Duration>,
}

/// Who is asked for a password, by SCRAM-SHA-256. Clients of other machines always are.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Authentication {
    /// Everybody from the first password on that a role of the database has had, whatever becomes of it. Until
    /// then clients of this machine are trusted, and others are refused.
    #[default]
    Auto,
    /// Clients of this machine never are.
    Trust,
    /// Everybody, always.
    Password,
    /// Nobody: whoever comes is the one who has opened the database. For addresses that nobody else can reach.
    Owner,
}

impl std::str::FromStr for Authentication {
    type Err = String;

    fn from_str(text: &str) -> std::result::Result<Authentication, String> {
        match text {
            "auto" => Ok(Authentication::Auto),
            "trust" => Ok(Authentication::Trust),
            "password" | "scram" | "scram-sha-256" => Ok(Authentication::Password),
            _ => Err(format!("there is no authentication \"{text}\"; there are: auto, trust, password")),
        }
    }
}

impl Config {
    /// 22023 where it contradicts itself.
    pub fn check(&self) -> Result<()> {
        let (reserved, max) = (self.superuser_reserved_connections, self.max_connections);
        if reserved >= max {
            let message = format!(
                "superuser_reserved_connections ({reserved}) must be less than max_connections ({max})"
            );
            return Err(Error::new(SqlState::INVALID_PARAMETER_VALUE, message));
        }
        Ok(())
    }
}

impl Default for Config {
    fn default() -> Config {
        Config {
            listen: vec![SocketAddr::from(([127, 0, 0, 1], 5432))],
            socket_dir: None,
            authentication: Authentication::Auto,
            max_connections: 1_000,
            superuser_reserved_connections: 3,
            max_startups_per_address: 100,
            threads: None,
            startup_timeout: Duration::from_secs(60),
            write_timeout: Duration::from_secs(60),
            drain_timeout: Duration::from_secs(10),
            max_message_bytes: 128 << 20,
            tls: None,
            require_tls: false,
            max_result_bytes: 16 << 30,
            max_temp_bytes: 64 << 30,
            result_memory_bytes: 8 << 20,
            log_min_duration_statement: None,
            log_failed_statements: true,
            auto_explain: None,
        }
    }
}
