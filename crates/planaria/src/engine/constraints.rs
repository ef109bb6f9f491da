//! What a session remembers of deferred constraints: keys to look at, and what SET CONSTRAINTS has said. See
//! [`deferred`](super::deferred).

use planaria_base::{Datum, TableId, Type};
use std::collections::BTreeMap;

/// A key to look at.
#[derive(Clone, PartialEq)]
pub(super) struct KeyToCheck {
    pub(super) child: TableId,
    pub(super) constraint: String,
    /// A parent is gone; else there is a new child.
    pub(super) referenced: bool,
    pub(super) types: Vec<Type>,
    pub(super) values: Vec<Datum>,
}

/// What SET CONSTRAINTS has said in the open block: `true` is IMMEDIATE.
#[derive(Default)]
pub(crate) struct Modes {
    pub(super) all: bool,
    pub(super) named: BTreeMap<(TableId, String), bool>,
}

impl Modes {
    pub(super) fn is_immediate(&self, child: TableId, constraint: &str) -> bool {
        if self.named.is_empty() {
            return self.all;
        }
        self.named.get(&(child, constraint.to_owned())).copied().unwrap_or(self.all)
    }

    /// Whether any constraint may be immediate.
    pub(super) fn any_immediate(&self) -> bool {
        self.all || self.named.values().any(|immediate| *immediate)
    }
}
