//! What a session keeps of a savepoint: see [`block`](crate::session::block).

use crate::engine::program::deferred::EventsMark;
use crate::session::changing::Shared;
use crate::session::user::Identity;
use crate::settings::Settings;
use planaria_protocol::{LocksMark, Savepoint};

/// A savepoint.
pub(crate) struct Mark {
    pub(crate) name: String,
    pub(crate) at: At,
    pub(crate) identity: (Identity, Identity),
    pub(crate) settings: Settings,
    pub(crate) read_only: bool,
    pub(crate) locks: Locked,
}

/// What a block has locked, said and put off so far.
#[derive(Clone, Copy)]
pub(crate) struct Locked {
    /// How many tables, and keys of advisory locks.
    pub(crate) tables: usize,
    pub(crate) keys: usize,
    pub(crate) rows: LocksMark,
    /// How much it has to tell others.
    pub(crate) said: usize,
    /// What waits for its end, and what SET CONSTRAINTS has said.
    pub(crate) deferred: EventsMark,
}

/// Where it goes back to.
#[derive(Clone)]
pub(crate) enum At {
    /// A point in the protocol's transaction.
    Transaction(Savepoint),
    /// So many parts of a block that has changed the schema, and the schema of then.
    InstalledChanges(usize, Shared),
    /// A snapshot, in which nothing changes.
    Snapshot,
}
