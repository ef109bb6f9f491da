//! Index entries that a run left for its end.

use super::damaged;
use super::threads::Team;
use crate::World;
use planaria_base::{IndexId, Result, TableId};
use planaria_storage::reclaim::Participant;
use planaria_storage::restore::Entries;
use planaria_storage::{Header, KeyBuf};
use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

/// Entries that a thread puts in at a time.
const PART: usize = 1 << 14;

/// New entries, by index.
#[derive(Default)]
pub(super) struct NewEntries(BTreeMap<(TableId, IndexId), Entries>);

impl NewEntries {
    /// Adds one.
    #[inline]
    pub(super) fn push(&mut self, table: TableId, index: IndexId, key: &KeyBuf, record: u64) {
        self.0.entry((table, index)).or_default().push(key, record);
    }
}

/// Puts what the threads have gathered into the indexes. The old entries of all rows are gone already.
///
/// 1. Each index's entries are sorted, one index a thread.
/// 2. They are put in, by all threads, each a part of the order.
pub(super) fn build<H: Header>(gathered: Vec<NewEntries>, world: &World<H>, team: Team) -> Result<()> {
    let mut by_index: BTreeMap<(TableId, IndexId), Entries> = BTreeMap::new();
    for entries in gathered {
        for (index, entries) in entries.0 {
            by_index.entry(index).or_default().append(entries);
        }
    }
    let mut lists: Vec<_> = by_index.into_iter().map(|(index, list)| (index, Mutex::new(list))).collect();
    // The longest first, so that no thread begins with it when all others are done.
    lists.sort_by_key(|(_, list)| std::cmp::Reverse(lock(list).len()));
    team.each(
        lists.len(),
        |_| (),
        |(), i| {
            lock(&lists[i].1).sort();
            Ok(())
        },
    )?;
    let lists: Vec<_> = lists
        .into_iter()
        .map(|(index, list)| (index, list.into_inner().unwrap_or_else(PoisonError::into_inner)))
        .collect();
    let part = |(i, (_, list)): (usize, &(_, Entries))| {
        let len = list.len();
        (0..len).step_by(PART).map(move |from| (i, from..len.min(from + PART)))
    };
    let parts: Vec<_> = lists.iter().enumerate().flat_map(part).collect();
    team.each(
        parts.len(),
        |_| Participant::new(),
        |participant, i| {
            let (list, range) = &parts[i];
            let ((id, index), entries) = &lists[*list];
            let table = super::table(world, *id)?;
            let guard = participant.guard();
            entries.insert_into(table.index(*index), range.clone(), guard.pinned()).map_err(|_| {
                let name = world.routines.table_name(*id);
                damaged(format!(
                    "after replay two rows of table \"{name}\" have the same key in index {}",
                    index.0
                ))
            })
        },
    )?;
    Ok(())
}

fn lock(list: &Mutex<Entries>) -> std::sync::MutexGuard<'_, Entries> {
    list.lock().unwrap_or_else(PoisonError::into_inner)
}
