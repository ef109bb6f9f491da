//! The types of rows that are values.

use crate::oid::Oid;
use crate::{TableId, Type};
use serde::{Deserialize, Serialize};
use std::hash::{Hash, Hasher};
use std::ops::{Deref, DerefMut};

/// The fields of a row, and whose row type it is.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default, Serialize, Deserialize)]
pub struct RowType {
    /// `None`: `record`
    pub of: Option<Box<RowOf>>,
    /// Names and types, in order.
    pub fields: Vec<(String, Type)>,
}

/// A table whose rows a row type is of.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct RowOf {
    /// The table.
    pub table: TableId,
    /// Its name, with its schema unless that is `public`: what the type is called.
    pub name: String,
    /// OID of the type, and of its arrays; 0 in what was written before columns could be of row types. They say nothing
    /// that the table does not.
    #[serde(default)]
    pub oids: (Oid, Oid),
}

impl PartialEq for RowOf {
    fn eq(&self, other: &RowOf) -> bool {
        self.table == other.table && self.name == other.name
    }
}

impl Eq for RowOf {}

impl Hash for RowOf {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.table.hash(state);
        self.name.hash(state);
    }
}

impl RowType {
    /// Whether it is the same row type as it was before its table got, or lost, columns.
    pub fn is_former_of(&self, now: &RowType) -> bool {
        let same = matches!((&self.of, &now.of), (Some(of), Some(now)) if of.table == now.table);
        same && self.fields != now.fields
    }

    /// Whether it is the row type of that table.
    pub fn is_of(&self, table: TableId) -> bool {
        self.of.as_ref().is_some_and(|of| of.table == table)
    }
}

impl From<Vec<(String, Type)>> for RowType {
    fn from(fields: Vec<(String, Type)>) -> RowType {
        RowType { of: None, fields }
    }
}

impl Deref for RowType {
    type Target = Vec<(String, Type)>;

    fn deref(&self) -> &Self::Target {
        &self.fields
    }
}

impl DerefMut for RowType {
    fn deref_mut(&mut self) -> &mut Self::Target {
        &mut self.fields
    }
}

impl std::fmt::Display for RowType {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.of.as_ref().map_or("record", |of| &of.name))
    }
}
