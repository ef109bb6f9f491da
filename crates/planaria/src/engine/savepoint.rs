//! What a session keeps of a savepoint: see [`block`](super::block).

use super::changing::Shared;
use super::settings::Settings;
use super::user::Identity;
use planaria_protocol::Savepoint;

/// A savepoint.
pub(super) struct Mark {
    pub(super) name: String,
    pub(super) at: At,
    pub(super) identity: Identity,
    pub(super) settings: Settings,
    pub(super) read_only: bool,
    /// Tables that were locked, and keys.
    pub(super) locks: (usize, usize),
}

/// Where it goes back to.
#[derive(Clone)]
pub(super) enum At {
    /// A point in the protocol's transaction.
    Transaction(Savepoint),
    /// So many parts of a block that has changed the schema, and the schema of then.
    Part(usize, Shared),
    /// A snapshot, in which nothing changes.
    Snapshot,
}
