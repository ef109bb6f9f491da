//! Locking clauses of queries.

use super::{Name, Position};
use planaria_base::Strength;

/// `FOR UPDATE [OF tables] [NOWAIT | SKIP LOCKED]`
#[derive(Clone, PartialEq, Debug)]
pub struct Locking {
    /// FOR what.
    pub strength: Strength,
    /// OF; all tables of FROM if empty.
    pub of: Vec<Name>,
    /// What happens to rows that others have.
    pub wait: LockWait,
    /// Where it stands.
    pub position: Position,
}

/// What a locking clause does with rows that others have.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum LockWait {
    /// Waits for them.
    Wait,
    /// NOWAIT
    NoWait,
    /// SKIP LOCKED
    SkipLocked,
}
