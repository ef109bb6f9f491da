//! Checkpoints: all rows as of one epoch, on disk, and back.
//!
//! ```text
//!  Source --ranges--> writers --blocks--> checkpoint-N-TT.rows   (a file a writer)
//!                        '-- sums, parts --> checkpoint-N        (the manifest: renamed into place last)
//!
//!  checkpoint-N --parts--> loaders: records, primary index in order, other indexes in sorted runs
//! ```
//!
//! A checkpoint of epoch S holds what every commit up to the end of S left, and nothing later
//! (SiloR §4.4 writes the same in slices, but not of one moment). The log after S leads from there to the
//! last commit.
//!
//! 1. *Write* ([`write`]): threads take key ranges of tables from a [`Source`] and append their rows, in
//!    blocks, each to a file of its own. Files are synced, then the directory.
//! 2. *Install*: the manifest, which names files, parts, row counts and digests, is written aside, synced,
//!    renamed, and the directory synced. Before the rename nothing has happened; after it the checkpoint
//!    is the newest.
//! 3. *Clean* ([`clean`]): older checkpoints go, and what a crash left of unfinished ones.
//! 4. *Load* ([`load`]): threads take parts and fill empty tables.
//!
//! What holds:
//!
//! * A checkpoint is whole or not there: a crash at any operation leaves the old one or the new one.
//! * Every byte is under a checksum that knows its place; damage is XX001 with file and offset. The sums of
//!   the rows are compared with the manifest's after loading.
//! * Memory is bounded: a block a writer, a part a loader.
//!
//! The shelf of ways to write a checkpoint has one entry, *full*: every row, every time. The room knows
//! neither the catalog (bytes, to it) nor who makes a source. Byte by byte: `docs/formats/checkpoint.md`.

mod block;
mod format;
mod load;
mod manifest;
mod notes;
mod source;
mod store;
mod write;

#[cfg(test)]
mod tests;

pub use load::{LoadOptions, LoadProgress, Loaded, load, verify};
pub use manifest::{FileMark, Manifest, Part, SequenceMark, TableMark};
pub use notes::Notes;
pub use source::{KeyRange, Source, SourceTable};
pub use store::{Found, clean, find, is_checkpoint_file, numbers, open};
pub use write::{Tell, WriteOptions, WriteProgress, Written, write};
