//! The types of rows that are values.

use crate::{TableId, Type};
use serde::{Deserialize, Serialize};
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
#[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub struct RowOf {
    /// The table.
    pub table: TableId,
    /// Its name, with its schema unless that is `public`: what the type is called.
    pub name: String,
}

impl RowType {
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
