//! What a session remembers of deferred constraints: keys to look at, and what SET CONSTRAINTS has said. See
//! [`deferred`](crate::session::deferred).

use planaria_base::{Datum, TableId, Type};
use std::collections::BTreeMap;

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

/// What SET CONSTRAINTS has said in the open block: `true` is IMMEDIATE.
#[derive(Default)]
pub(crate) struct Modes {
    pub(crate) all: bool,
    pub(crate) named: BTreeMap<(TableId, String), bool>,
}

impl Modes {
    pub(crate) fn is_immediate(&self, child: TableId, constraint: &str) -> bool {
        if self.named.is_empty() {
            return self.all;
        }
        self.named.get(&(child, constraint.to_owned())).copied().unwrap_or(self.all)
    }

    /// Whether any constraint may be immediate.
    pub(crate) fn any_immediate(&self) -> bool {
        self.all || self.named.values().any(|immediate| *immediate)
    }
}
