//! How a server behaves. Where the values come from is the binary's business.

use crate::tls::Tls;
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
    /// Connections at a time; those beyond are refused with 53300.
    pub max_connections: usize,
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
}

impl Default for Config {
    fn default() -> Config {
        Config {
            listen: vec![SocketAddr::from(([127, 0, 0, 1], 5432))],
            socket_dir: None,
            max_connections: 1_000,
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
        }
    }
}
