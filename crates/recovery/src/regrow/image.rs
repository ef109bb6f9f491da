//! Logged changes of rows, put in place.

use super::feed::unreadable;
use super::segment::{PUT, TAKE};
use super::worker::Worker;
use planaria_base::{Error, IndexId, Result, SqlState, TableId};
use planaria_log::{RawEffect, RowChange};
use planaria_protocol::Protocol;
use planaria_storage::{Header, IndexSet, Table, TableSet};

#[cold]
fn missing(what: &str, table: TableId) -> Error {
    Error::new(SqlState::DATA_CORRUPTED, format!("the log {what} a row that table {table} does not have"))
}

/// Puts a logged change in place, or (`piece` is [`TAKE`] or [`PUT`]) half of an update.
pub(super) fn put_in_place<H: Header>(
    worker: &mut Worker<H>,
    tables: &TableSet<H>,
    effect: &RawEffect<'_>,
    piece: u16,
) -> Result<()> {
    let Worker { protocol, txn, machine, key, change, image, taken, .. } = worker;
    let change = effect.change(change).ok_or_else(unreadable)?;
    let table: &Table<H> = tables.get(change.table());
    let codec = table.index(IndexId::PRIMARY).codec();
    if piece == PUT {
        let row = match change {
            RowChange::Update { row, .. } => row,
            _ => {
                // The one taken longest ago: both halves come in the same order.
                *image = taken.pop_front().ok_or_else(|| missing("updates", table.id()))?;
                image
            }
        };
        return insert(protocol, txn, table, row);
    }
    let what = match change {
        RowChange::Insert { row, .. } => return insert(protocol, txn, table, row),
        RowChange::Update { row, .. } => {
            table.expect_image(row)?;
            codec.encode_row(row, key).map_err(|_| Error::corrupted("a logged key is too long"))?;
            "updates"
        }
        RowChange::Patch { key: bytes, .. } | RowChange::Delete { key: bytes, .. } => {
            key.clear();
            bytes.iter().for_each(|byte| key.push(u64::from(*byte), 1));
            if matches!(change, RowChange::Patch { .. }) { "updates" } else { "deletes" }
        }
    };
    let arena = &mut machine.heap_mut().arena;
    let mark = arena.mark();
    let found = protocol.get(txn, table, IndexId::PRIMARY, key, arena);
    let row = found.map_err(Error::from)?.ok_or_else(|| missing(what, table.id()))?;
    let after = match change {
        RowChange::Update { row, .. } => Some(row),
        RowChange::Patch { patch, .. } => {
            image.clear();
            image.extend_from_slice(row.image.words(arena));
            patch.redo(image)?;
            table.expect_image(image)?;
            if piece == TAKE {
                taken.push_back(image.clone());
            }
            Some(&image[..])
        }
        _ => None,
    };
    arena.truncate(mark);
    match after {
        Some(after) if piece != TAKE => {
            let mut touched = IndexSet::EMPTY;
            table.secondary().for_each(|(id, _)| touched.insert(id));
            let updated = protocol.update(txn, table, row.handle, after, touched);
            updated
                .map_err(Error::from)?
                .map_err(|_| Error::corrupted("a logged update meets another row with its key"))
        }
        _ => protocol.delete(txn, table, row.handle).map(drop).map_err(Error::from),
    }
}

fn insert<H: Header, P: Protocol<Header = H>>(
    protocol: &P,
    txn: &mut P::Txn,
    table: &Table<H>,
    row: &[u64],
) -> Result<()> {
    table.expect_image(row)?;
    let inserted = protocol.insert(txn, table, row).map_err(Error::from)?;
    inserted.map(drop).map_err(|_| {
        let id = table.id();
        Error::new(SqlState::DATA_CORRUPTED, format!("the log inserts a row that table {id} has already"))
    })
}
