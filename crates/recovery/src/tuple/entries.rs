//! Index entries that a run left for its end.

use super::damaged;
use super::threads::Team;
use crate::{TaskKind, World};
use planaria_base::sync::{Mutex, MutexGuard};
use planaria_base::{IndexId, Result, TableId};
use planaria_storage::reclaim::{Participant, Pinned};
use planaria_storage::restore::Entries;
use planaria_storage::{Header, KeyBuf};
use std::collections::BTreeMap;

/// Entries that a thread puts in at a time.
const PART: usize = 1 << 14;

/// Is told how many entries of how many are in; none of none while they are gathered.
pub(super) type Tell<'t> = &'t mut dyn FnMut(u64, u64);

/// What a thread gathers at the end of a run, and room to work in.
#[derive(Default)]
pub(super) struct Finisher {
    /// New entries, by index.
    entries: BTreeMap<(TableId, IndexId), Entries>,
    pub(super) image: Vec<u64>,
    pub(super) key: KeyBuf,
    pub(super) old_key: KeyBuf,
}

impl Finisher {
    /// The row in `image` needs this entry, of `key`.
    #[inline]
    pub(super) fn add_entry(&mut self, table: TableId, index: IndexId, record: u64) {
        self.entries.entry((table, index)).or_default().push(&self.key, record);
    }
}

/// Brings indexes in line with the rows of a run.
///
/// 1. Shard by shard, by all threads: `settle` takes old entries away, and gathers new ones.
/// 2. Each index's entries are sorted, one index a thread.
/// 3. They are put in, by all threads, each a part of the order.
pub(super) fn settle_and_build<H: Header>(
    world: &World<H>,
    team: Team<'_>,
    shards: usize,
    settle: impl Fn(&mut Finisher, usize, Pinned<'_>) -> Result<()> + Sync,
    tell: Tell<'_>,
) -> Result<()> {
    tell(0, 0);
    let start = |_| (Finisher::default(), Participant::new());
    let gathered = team.each(TaskKind::Index, shards, start, |(finisher, participant), shard| {
        let guard = participant.guard();
        settle(finisher, shard, guard.pinned())
    })?;
    let mut by_index: BTreeMap<(TableId, IndexId), Entries> = BTreeMap::new();
    for (finisher, _) in gathered {
        for (index, entries) in finisher.entries {
            by_index.entry(index).or_default().append(entries);
        }
    }
    let mut lists: Vec<_> = by_index.into_iter().map(|(index, list)| (index, Mutex::new(list))).collect();
    // The longest first, so that no thread begins with it when all others are done.
    lists.sort_by_key(|(_, list)| std::cmp::Reverse(lock(list).len()));
    team.each(
        TaskKind::Index,
        lists.len(),
        |_| (),
        |(), i| {
            lock(&lists[i].1).sort();
            Ok(())
        },
    )?;
    let lists: Vec<_> = lists.into_iter().map(|(index, list)| (index, list.into_inner())).collect();
    let part = |(i, (_, list)): (usize, &(_, Entries))| {
        let len = list.len();
        (0..len).step_by(PART).map(move |from| (i, from..len.min(from + PART)))
    };
    let parts: Vec<_> = lists.iter().enumerate().flat_map(part).collect();
    let total: usize = lists.iter().map(|(_, list)| list.len()).sum();
    team.each_telling(
        TaskKind::Index,
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
        &mut |parts| tell((parts * PART).min(total) as u64, total as u64),
    )?;
    tell(total as u64, total as u64);
    Ok(())
}

fn lock(list: &Mutex<Entries>) -> MutexGuard<'_, Entries> {
    list.lock()
}
