//! Keys to look at that a session remembers of deferred constraints. See [`deferred`](crate::session::deferred).

use planaria_base::{Datum, TableId, Type};

/// What waits to be looked at, of a constraint.
#[derive(Clone, PartialEq)]
pub(crate) struct PendingKey {
    /// The table that has the constraint.
    pub(crate) child: TableId,
    pub(crate) constraint: String,
    /// Those whose rows wait.
    pub(crate) tables: Vec<TableId>,
}

/// A key to look at.
#[derive(Clone, PartialEq)]
pub(crate) struct KeyToCheck {
    pub(crate) child: TableId,
    pub(crate) constraint: String,
    /// A parent is gone; else there is a new child.
    pub(crate) referenced: bool,
    pub(crate) types: Vec<Type>,
    pub(crate) values: Vec<Datum>,
}
