//! Typed dense identifiers: `u32` behind a name, so that a table is never taken for a procedure.

use serde::{Deserialize, Serialize};

/// Defines a `u32` identifier with its text prefix.
#[macro_export]
macro_rules! entity_id {
    ($(#[$doc:meta])* $name:ident, $prefix:literal) => {
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize, serde::Deserialize)]
        pub struct $name(pub u32);
        impl $name {
            /// The identifier as an index into a dense array.
            #[inline]
            pub const fn index(self) -> usize { self.0 as usize }
        }
        impl From<usize> for $name {
            fn from(i: usize) -> Self { Self(u32::try_from(i).expect("more than 2^32 entities")) }
        }
        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result { write!(f, concat!($prefix, "{}"), self.0) }
        }
        impl std::fmt::Debug for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result { write!(f, concat!($prefix, "{}"), self.0) }
        }
    };
}

entity_id!(
    /// A table. Never reused within a database; a truncated or rewritten table keeps its id.
    TableId, "t");
entity_id!(
    /// A column, by its position among the table's stored columns (0-based).
    ColumnId, "c");
entity_id!(
    /// A stored procedure or function *version*: `CREATE OR REPLACE` makes a new id, so that a log
    /// entry names the definition it ran with.
    ProcedureId, "p");
entity_id!(
    /// A sequence (also behind identity columns and the row ids of tables without primary key).
    SequenceId, "s");
entity_id!(
    /// A type that a user made. Never reused within a database.
    TypeId, "ty");
entity_id!(
    /// A schema of users. Never reused within a database; 0 is `public`.
    SchemaId, "ns");
entity_id!(
    /// A role (user or group). Never reused within a database.
    RoleId, "r");

entity_id!(
    /// A relation of the system catalogs, by its place in `planaria_catalog::system`.
    SystemId, "sys");

impl SchemaId {
    /// `public`
    pub const PUBLIC: SchemaId = SchemaId(0);
}
impl Default for SchemaId {
    fn default() -> Self {
        SchemaId::PUBLIC
    }
}

/// An index, by its position in its table: 0 is the primary one.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub struct IndexId(pub u16);

impl IndexId {
    /// The index that holds every row: the primary key, or the row id where a table has none.
    pub const PRIMARY: IndexId = IndexId(0);
    /// Position in the table's list of indexes.
    #[inline]
    pub const fn index(self) -> usize {
        self.0 as usize
    }
}

impl std::fmt::Display for IndexId {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "i{}", self.0)
    }
}

/// A worker: one session's slot at the engine, with its own buffers. Dense, reused after a session ends.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct WorkerId(pub u16);
