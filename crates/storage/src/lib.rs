//! Rows in memory: images, records, ordered indexes, reclamation.
//!
//! ```text
//!  key (KeyBuf) --Index/BTree--> RecordPtr --> | header H | descriptor | payload words .. |
//!                                                                        = row image (RowLayout)
//! ```
//!
//! * [`row`]: a row image is a sequence of words whose layout is computed once per table.
//! * [`key`]: order-preserving encoding of column values into words.
//! * [`arena`]: where a transaction keeps the images it has read and everything it computes.
//!
//! Nothing here knows a transaction: what a record's header means is the protocol's business.

pub mod arena;
pub mod key;
pub mod row;

pub use arena::{Arena, ArenaFull, Bytes};
pub use key::{KeyBound, KeyBuf, KeyCodec, KeyRange, KeyTooLong};
pub use row::{Column, ColumnKind, ColumnSpec, Field, RowLayout};
