//! Keys of rows in the log.

use super::damaged;
use planaria_base::{Error, IndexId, Result};
use planaria_log::{ChangeBuf, RawEffect, RowChange};
use planaria_storage::{Header, KeyBuf, Table};

/// What an effect that is about a row does to it.
#[inline]
pub(super) fn decoded<'b>(effect: &RawEffect<'b>, buf: &'b mut ChangeBuf) -> Result<RowChange<'b>> {
    effect.change(buf).ok_or_else(unreadable)
}

#[cold]
pub(super) fn unreadable() -> Error {
    damaged("an effect in the log cannot be decoded".into())
}

/// The primary key of the row that a change is about.
#[inline]
pub(super) fn primary_key<H: Header>(
    table: &Table<H>,
    change: RowChange<'_>,
    key: &mut KeyBuf,
) -> Result<()> {
    match change {
        RowChange::Insert { row, .. } | RowChange::Update { row, .. } => {
            table.expect_image(row)?;
            index_key(table, IndexId::PRIMARY, row, key)
        }
        RowChange::Patch { key: bytes, .. } | RowChange::Delete { key: bytes, .. } => {
            key.set_bytes(bytes);
            Ok(())
        }
    }
}

/// The key of a row in an index.
#[inline]
pub(super) fn index_key<H: Header>(
    table: &Table<H>,
    index: IndexId,
    row: &[u64],
    key: &mut KeyBuf,
) -> Result<()> {
    table
        .index(index)
        .codec()
        .encode_row(row, key)
        .map_err(|_| damaged(format!("a logged row of table {} has a key that is too long", table.id())))
}
