//! The ground floor: what every room may speak of.
//!
//! Identifiers, commit timestamps and epochs, types and values, errors with their SQLSTATE, named
//! limits, and the `sync` door through which lock-free code meets the model checker. Nothing here
//! knows a table, a log or SQL.

pub mod cast;
pub mod chunks;
pub mod citext;
pub mod clock;
mod conditions;
pub mod datetime;
pub mod datum;
pub mod enumeration;
pub mod error;
pub mod id;
pub mod isolation;
pub mod json;
pub mod level;
pub mod limits;
pub mod numeric;
pub mod oid;
pub mod packed;
pub mod pattern;
pub mod range;
mod row_type;
pub mod search;
pub mod sequence;
pub mod shape;
pub mod stack;
mod strength;
pub mod sync;
pub mod text_io;
pub mod types;
pub mod value;
pub mod varint;
pub mod wall;
pub mod watch;

pub use clock::{CommitTs, Epoch};
pub use datum::Datum;
pub use error::{Error, Result, SqlState};
pub use id::{
    ColumnId, IndexId, ProcedureId, RoleId, SchemaId, SequenceId, SystemId, TableId, TypeId, WorkerId,
};
pub use isolation::Isolation;
pub use level::Level;
pub use numeric::Numeric;
pub use sequence::SequencePlace;
pub use strength::Strength;
pub use types::Type;
pub use wall::WallClock;
