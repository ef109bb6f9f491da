//! Rows in memory: images, records, ordered indexes, reclamation.
//!
//! ```text
//!  key (KeyBuf) --Index/BTree--> RecordPtr --> | header H | descriptor | payload words .. |
//!                                                                        = row image (RowLayout)
//! ```
//!
//! * [`row`]: a row image is a sequence of words whose layout is computed once per table.
//! * [`key`]: order-preserving encoding of column values into words.
//! * [`record`]: an image beside its protocol header, in blocks of a per-table heap (`heap`).
//! * [`versions`]: where the images of a row are, the newest one and those of before.
//! * [`table`]: layout, records and indexes of a table; sets of tables; `any`: both for those who read no rows.
//! * [`old`]: old versions of rows beside each index, as long as readers of snapshots need them.
//! * [`btree`]: concurrent B+-tree with Silo's insert versions.
//! * [`reclaim`]: epoch-based reclamation of what optimistic readers may still look at.
//! * [`restore`]: what recovery needs beyond loading: rows before any index knows them, sorted entries.
//! * [`arena`]: where a transaction keeps the images it has read and everything it computes.
//!
//! Nothing here knows a transaction: what a record's header means is the protocol's business.

mod any;
pub mod arena;
pub mod btree;
mod chunk;
mod heap;
pub mod key;
mod look_ahead;
pub mod old;
mod process;
mod ranges;
pub mod reclaim;
pub mod record;
pub mod restore;
pub mod row;
pub mod table;
pub mod versions;

pub use any::{AnyTable, Tables};
pub use arena::{Arena, ArenaFull, Bytes};
pub use chunk::{Claim, Keeper, claim, ready_bytes};
pub use key::{KeyBound, KeyBuf, KeyCodec, KeyRange, KeyTooLong};
pub use look_ahead::{Found, GROUP_MAX, LookAhead};
pub use old::{Forgetting, Kept, OldUse, OldVersions, Taken, free_spare, give_back_spare, spare_bytes};
pub use process::Process;
pub use record::{Glance, Header, Image, RecordPtr, RecordRef};
pub use row::{
    Column, ColumnKind, ColumnSpec, Field, Fold, InPlace, Part, RowLayout, Stored, Words, WordsMut,
    copy_range,
};
pub use table::{
    Index, IndexSet, IndexSpec, MemoryUse, Shape, Table, TableDigest, TableKeeper, TableSet, TableSpec,
};
pub use versions::{Append, Single, VersionStorage};
