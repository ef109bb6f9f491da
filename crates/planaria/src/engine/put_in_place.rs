//! Effects that the log has, put in place in a transaction: replay by values, and what takes parts of a block back.

use crate::engine::schema_version::SchemaVersion;
use planaria_base::{Error, IndexId, Result, SqlState, TableId};
use planaria_log::{Effect, RowChange};
use planaria_protocol::Protocol;
use planaria_storage::{Arena, IndexSet, KeyBuf, Table};

fn missing(what: &str, table: TableId) -> Error {
    Error::new(SqlState::DATA_CORRUPTED, format!("the log {what} a row that table {table} does not have"))
}

/// Deletes every old row first, then adds the new ones: unique keys may have wandered between rows.
pub(crate) fn put_in_place<P: Protocol>(
    protocol: &P,
    txn: &mut P::Txn,
    effects: &[Effect],
    schema: &SchemaVersion,
    arena: &mut Arena,
) -> Result<()> {
    let mut key = KeyBuf::new();
    // After-images of updates that could not be made in place.
    let mut moved: Vec<(&Table<P::Header>, Vec<u64>)> = Vec::new();
    for change in effects.iter().filter_map(Effect::logical) {
        let storage = schema.logged_table(change.table())?;
        let what = match change {
            RowChange::Insert { .. } => continue,
            RowChange::Update { row, .. } => {
                storage.expect_image(row)?;
                let codec = storage.index(IndexId::PRIMARY).codec();
                codec.encode_row(row, &mut key).map_err(|_| Error::corrupted("a logged key is too long"))?;
                "updates"
            }
            RowChange::Patch { key: bytes, .. } => {
                key.set_bytes(bytes);
                "updates"
            }
            RowChange::Delete { key: bytes, .. } => {
                key.set_bytes(bytes);
                "deletes"
            }
        };
        let mark = arena.mark();
        let row = protocol
            .get(txn, storage, IndexId::PRIMARY, &key, arena)?
            .ok_or_else(|| missing(what, storage.id()))?;
        let patched;
        let image = match change {
            RowChange::Update { row, .. } => Some(row),
            RowChange::Patch { patch, .. } => {
                let mut image = row.image.words(arena).to_vec();
                patch.redo(&mut image)?;
                storage.expect_image(&image)?;
                patched = image;
                Some(&patched[..])
            }
            _ => None,
        };
        // An update that can neither move a unique key nor meet one changes the row in place.
        if let Some(image) = image
            && !storage.secondary().any(|(_, index)| index.codec().unique())
        {
            let mut touched = IndexSet::EMPTY;
            storage.secondary().for_each(|(id, _)| touched.insert(id));
            if protocol.update(txn, storage, row.handle, image, touched)?.is_err() {
                return Err(Error::corrupted("a logged update meets another row with its key"));
            }
        } else {
            protocol.delete(txn, storage, row.handle)?;
            moved.extend(image.map(|image| (storage, image.to_vec())));
        }
        arena.truncate(mark);
    }
    let mut insert = |storage: &Table<P::Header>, row: &[u64]| {
        storage.expect_image(row)?;
        schema.observe_row_id(storage.id(), row);
        if protocol.insert(txn, storage, row)?.is_err() {
            let id = storage.id();
            return Err(Error::new(
                SqlState::DATA_CORRUPTED,
                format!("the log inserts a row that table {id} has already"),
            ));
        }
        Ok(())
    };
    for (storage, row) in moved {
        insert(storage, &row)?;
    }
    for effect in effects {
        if let Some(RowChange::Insert { table, row }) = effect.logical() {
            insert(schema.logged_table(table)?, row)?;
        }
        if let Effect::Sequence { sequence, place } = effect
            && let Some(state) = schema.sequences.get(sequence.index())
        {
            state.observe(*place);
        }
    }
    Ok(())
}
