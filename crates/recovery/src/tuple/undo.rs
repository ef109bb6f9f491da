//! What takes the effects of a transaction back.

use super::keys::primary_key;
use crate::World;
use planaria_log::{Effect, RowChange};
use planaria_storage::reclaim::Participant;
use planaria_storage::{Header, KeyBuf};

/// The effects that take these back. `None` where they are none, where the log does not have what was
/// before, and where rows or tables are not as they were: earlier transactions may be missing, also such as
/// changed the schema.
pub(crate) fn inverse<H: Header>(world: &World<H>, effects: &[Effect]) -> Option<Vec<Effect>> {
    let mut participant = Participant::new();
    let guard = participant.guard();
    let (mut key, mut image) = (KeyBuf::new(), Vec::new());
    let mut inverse = Vec::new();
    for effect in effects {
        let change = effect.logical()?;
        let table = world.tables.try_get(change.table())?;
        let (id, is_image) = (table.id(), |row: &[u64]| table.layout().is_image(row));
        if let RowChange::Insert { row, .. } | RowChange::Update { row, .. } = change
            && !is_image(row)
        {
            return None;
        }
        primary_key(table, change, &mut key).ok()?;
        let found = table.find(key.words(), guard.pinned(), guard.pinned().lasting());
        let found = found.filter(|record| record.header().is_present());
        image.clear();
        if let Some(record) = &found {
            record.read_to_vec(&mut image);
        }
        inverse.push(match effect {
            Effect::Insert { row, .. } if found.is_none() => {
                Effect::DeleteRow { table: id, key: key.bytes().collect(), row: row.clone() }
            }
            Effect::Patch { key, patch, .. } if patch.redo(&mut image).is_ok() && is_image(&image) => {
                Effect::Patch { table: id, key: key.clone(), patch: patch.inverse() }
            }
            Effect::DeleteRow { row, .. } if image == *row => Effect::Insert { table: id, row: row.clone() },
            _ => return None,
        });
    }
    (!inverse.is_empty()).then_some(inverse)
}
