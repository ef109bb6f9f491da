//! Where a checkpoint's rows come from.

use planaria_base::{Epoch, Result, TableId};

use crate::SequenceMark;

/// A part of a table: keys from `from` on, below `to`, in words of the primary index.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct KeyRange {
    /// The first key that may be in it; `None`: no bound.
    pub from: Option<Vec<u64>>,
    /// The first key behind it; `None`: no bound.
    pub to: Option<Vec<u64>>,
}

impl KeyRange {
    /// The ranges that these keys, in ascending order, cut all keys into.
    pub fn between(separators: Vec<Vec<u64>>) -> Vec<KeyRange> {
        let mut ranges = Vec::with_capacity(separators.len() + 1);
        let mut from = None;
        for separator in separators {
            ranges.push(KeyRange { from: from.take(), to: Some(separator.clone()) });
            from = Some(separator);
        }
        ranges.push(KeyRange { from, to: None });
        ranges
    }
}

/// A table of a source.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SourceTable {
    /// Which.
    pub id: TableId,
    /// About how many rows it has.
    pub rows: u64,
    /// About how many bytes its rows have.
    pub bytes: u64,
}

/// A database as it was at the end of an epoch, for as long as this lives. Several threads read at once.
pub trait Source: Sync {
    /// The epoch S: commits up to and with it are seen, no others.
    fn epoch(&self) -> Epoch;
    /// All definitions, in the engine's encoding.
    fn catalog(&self) -> Result<Vec<u8>>;
    /// Where sequences stand. They may stand later than at the end of S, never earlier.
    fn sequences(&self) -> Vec<SequenceMark>;
    /// Its tables.
    fn tables(&self) -> Vec<SourceTable>;
    /// Cuts a table into about `wanted` ranges with about as many rows each, in key order, which hold every
    /// key once.
    fn ranges(&self, table: TableId, wanted: usize) -> Vec<KeyRange>;
    /// Hands over the rows of a range in key order, in words as stored. Ends at the first error.
    fn rows(
        &self,
        table: TableId,
        range: &KeyRange,
        each: &mut dyn FnMut(&[u64]) -> Result<()>,
    ) -> Result<()>;
    /// Bytes that are kept of a table for readers' sake, because it changes meanwhile. Where they are many, the table
    /// is written first.
    fn kept_bytes(&self, _table: TableId) -> u64 {
        0
    }
    /// Hears that a range has been read, which will not be asked for again; the `last` one of its table.
    fn done(&self, _table: TableId, _range: &KeyRange, _last: bool) {}
}

impl<S: Source + ?Sized> Source for &S {
    fn epoch(&self) -> Epoch {
        (**self).epoch()
    }
    fn catalog(&self) -> Result<Vec<u8>> {
        (**self).catalog()
    }
    fn sequences(&self) -> Vec<SequenceMark> {
        (**self).sequences()
    }
    fn tables(&self) -> Vec<SourceTable> {
        (**self).tables()
    }
    fn ranges(&self, table: TableId, wanted: usize) -> Vec<KeyRange> {
        (**self).ranges(table, wanted)
    }
    fn rows(
        &self,
        table: TableId,
        range: &KeyRange,
        each: &mut dyn FnMut(&[u64]) -> Result<()>,
    ) -> Result<()> {
        (**self).rows(table, range, each)
    }
    fn kept_bytes(&self, table: TableId) -> u64 {
        (**self).kept_bytes(table)
    }
    fn done(&self, table: TableId, range: &KeyRange, last: bool) {
        (**self).done(table, range, last);
    }
}
