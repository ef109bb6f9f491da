//! PostgreSQL's wire protocol over [`planaria`]: psql, pgbench and the drivers connect as they do to
//! PostgreSQL.
//!
//! ```text
//!  socket -> Input -> Backend (one client's side of the engine) -> Reply -> socket
//!                        |  ServedSession::start: rows encoded as made       ^
//!                        v                                                   |
//!                     Ticket ------------- on disk ---------------------------
//! ```
//!
//! **Threads.** As many as there are cores wait for all sockets together ([`crew`]): the one that the kernel wakes reads
//! the message, runs the statement and writes the answer. There is no queue between, and nothing to be handed on by a thread
//! whose statement takes long ([`shapes`]) or waits for a row: it only counts as away, and one more is started if too few
//! are left. Nobody sleeps in a sync of the disk: a commit leaves a ticket, the replies that tell of it stay in the
//! connection's buffer, and the log puts all connections of an epoch into the crew's queue together. Who comes in, signals and
//! timers are tokio's.
//!
//! **Sessions.** A session of the engine has a slot: a place in the gate, in the counters and at the log
//! that others look at now and then. A connection has one only while a statement of its runs or a
//! transaction of its is open ([`pool`]); between, it keeps what a client may rely on (settings, prepared
//! statements, `currval`). So a thousand idle connections cost their sockets and some KiB each.
//!
//! **Who is let in.** A connection waits in the lobby until it has said who it is ([`lobby`]), is asked for a password
//! or not ([`login`]), and takes a place among `max_connections`, the last of which are for superusers. Wrong
//! passwords are slowed ([`throttle`]). Before the database is open, clients are told so ([`Doors`]).
//!
//! **What operators see.** Settings can change while clients are served ([`settings`]); what statements take is counted by thread and
//! added up when somebody asks ([`statements`]); metrics, and a page for browsers, have an address and threads of their own
//! ([`monitor`], [`page`]).
//!
//! **What must hold.** No reply leaves before the commits that it tells of, or that its rows were read
//! from, are on disk; but for those of statements within a transaction block that may write: what they
//! show counts when COMMIT is answered, which waits for all of it (and ROLLBACK for none); and but for
//! errors, whose causes may not be there yet. Once the log has failed nothing is
//! answered that it may have lost. No error of one client is felt by another: a panic of the engine ends one connection;
//! a client that does not read is closed; messages and answers have limits.
//!
//! **Transactions** are those of PostgreSQL ([`backend`]).

mod auth;
mod backend;
mod binding;
mod clients;
mod config;
mod connection;
mod copy;
mod crew;
mod decode;
mod doors;
mod encode;
mod events;
mod extended;
mod input;
mod listen;
mod literals;
mod lobby;
mod login;
mod metrics;
mod monitor;
mod numeric;
mod overflow;
mod page;
mod pool;
mod portal;
mod progress;
mod query;
mod read;
mod reply;
mod scales;
mod server;
mod settings;
mod shapes;
mod spool;
mod startup;
mod statement_log;
mod statements;
mod stream;
mod throttle;
mod tls;

pub use binding::of_certificate as tls_server_end_point;
pub use config::{Authentication, Config};
pub use doors::Doors;
pub use monitor::Monitor;
pub use progress::Progress;
pub use server::{Server, Stopper};
pub use settings::{Read, Source};
pub use tls::Tls;
