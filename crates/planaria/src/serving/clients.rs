//! Clients of a server, as SQL sees them: `pg_stat_activity`, `pg_cancel_backend`, `pg_terminate_backend`.
//!
//! The engine knows sessions, and only while they have something to do; who is connected is known to the
//! server. So the server lends the engine a [`Clients`], see [`crate::serving::ServedDatabase::served_to`].

use planaria_base::sync::RwLock;
use planaria_base::{Error, Result, RoleId, SqlState};
use planaria_catalog::Catalog;
use std::net::SocketAddr;
use std::sync::{Arc, Weak};

/// What a client is doing.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ClientState {
    /// A statement runs, or its commit is on its way to the disk, or its answer to the client.
    Active,
    /// It waits for the client; no transaction is open.
    Idle,
    /// The same inside a transaction.
    IdleInTransaction,
    /// The same inside a transaction that has failed.
    IdleInFailedTransaction,
}

impl ClientState {
    /// As `pg_stat_activity` has it.
    pub fn name(self) -> &'static str {
        match self {
            ClientState::Active => "active",
            ClientState::Idle => "idle",
            ClientState::IdleInTransaction => "idle in transaction",
            ClientState::IdleInFailedTransaction => "idle in transaction (aborted)",
        }
    }
}

/// A client that is connected. Times are microseconds since 2000-01-01 UTC.
#[derive(Clone, Debug)]
pub struct Client {
    /// Its number: PostgreSQL's process id.
    pub number: i32,
    /// The role that logged in.
    pub role: RoleId,
    /// What it calls itself.
    pub application_name: String,
    /// Where it is; `None` for a Unix domain socket.
    pub address: Option<SocketAddr>,
    /// When it was let in.
    pub connected: i64,
    /// What it does.
    pub state: ClientState,
    /// Since when.
    pub state_since: i64,
    /// When its transaction began, if one is open.
    pub transaction_since: Option<i64>,
    /// When its last statement began.
    pub statement_since: Option<i64>,
    /// The text of its last statement.
    pub statement: Arc<str>,
    /// What it waits for, as PostgreSQL's wait events have it: type and name.
    pub waits_for: Option<(&'static str, &'static str)>,
}

/// What is to be done to a client.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Signal {
    /// Its statement is to end with 57014.
    Cancel,
    /// It is to be sent away with 57P01.
    Terminate,
}

/// Who is connected.
pub trait Clients: Send + Sync {
    /// All of them.
    fn list(&self) -> Vec<Client>;
    /// Sends a client a signal; false where there is none of that number.
    fn signal(&self, number: i32, signal: Signal) -> bool;
    /// The role of a client; `None` where there is none of that number.
    fn role(&self, number: i32) -> Option<RoleId>;
}

/// What somebody has lent the engine, if anybody did and is still there.
pub(crate) struct Lent<T: ?Sized>(RwLock<Option<Weak<T>>>);

impl<T: ?Sized> Default for Lent<T> {
    fn default() -> Self {
        Lent(RwLock::new(None))
    }
}

impl<T: ?Sized> Lent<T> {
    pub(crate) fn set(&self, lent: &Arc<T>) {
        *self.0.write() = Some(Arc::downgrade(lent));
    }

    pub(crate) fn get(&self) -> Option<Arc<T>> {
        self.0.read().as_ref()?.upgrade()
    }
}

/// Sends a client a signal on behalf of a role; false where there is no such client. 42501 where the role may
/// not, in PostgreSQL's words.
pub(crate) fn signal(
    clients: Option<&dyn Clients>,
    catalog: &Catalog,
    role: RoleId,
    number: i32,
    signal: Signal,
) -> Result<bool> {
    let Some((clients, other)) = clients.and_then(|c| Some((c, c.role(number)?))) else { return Ok(false) };
    let (verb, what) = match signal {
        Signal::Cancel => ("cancel", "whose query is being canceled"),
        Signal::Terminate => ("terminate", "whose process is being terminated"),
    };
    let refused = |message| Err(Error::new(SqlState::INSUFFICIENT_PRIVILEGE, message));
    if catalog.is_superuser(other) && !catalog.is_superuser(role) {
        let kind = if signal == Signal::Cancel { "query" } else { "process" };
        return refused(format!("must be a superuser to {verb} superuser {kind}"));
    }
    if !catalog.has_privileges_of(role, other) {
        return refused(format!("must be a member of the role {what} or member of pg_signal_backend"));
    }
    Ok(clients.signal(number, signal))
}
