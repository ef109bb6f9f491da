//! A run by location: rows are found in a translation table from the locations in the log to new
//! records; no index is touched before the end of the run.
//!
//! 1. A location gets a record of its own when it is met first. Under the latch of the location: a writer
//!    older than the last one leaves the record alone. A location that was used again holds, in the end,
//!    the row that came last; the commit order knows.
//! 2. A row from before the run has a location that the run has not met. Whatever becomes of it, an update
//!    or a delete names its key, and the primary index, which is as it was before the run, leads to it:
//!    it is *superseded*, by what its location holds in the end, or by nothing.
//! 3. In the end, by all threads: superseded rows go, with their entries in all indexes; then the new rows
//!    get theirs, in all indexes at once ([`entries`](super::entries)).

use super::entries::{Finisher, Tell, settle_and_build};
use super::keys::{decoded, index_key, primary_key};
use super::shards::Shards;
use super::threads::Team;
use super::{Worker, damaged, stamp, table_of};
use crate::World;
use planaria_base::{CommitTs, IndexId, Result, TableId};
use planaria_log::{RawEffect, RowChange};
use planaria_storage::reclaim::{Lasting, Participant, Pinned};
use planaria_storage::restore::Unlinked;
use planaria_storage::{Header, RecordRef, Table};
use std::collections::HashSet;

/// See the module's head.
pub(super) struct ByLocation<'w, H: Header> {
    world: &'w World<H>,
    lasting: Lasting<'w>,
    /// By location.
    rows: Shards<Row<'w, H>>,
    /// By the address of the record.
    superseded: Shards<(&'w Table<H>, RecordRef<'w, H>)>,
    /// Tables that had rows before the run.
    inhabited: HashSet<TableId>,
}

/// What becomes of a location.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Put {
    /// Its row goes.
    Nothing,
    /// Its row changes.
    After,
    /// It gets a row that was not there.
    New,
}

/// What a location holds.
struct Row<'w, H: Header> {
    /// Of the last writer so far.
    stamp: u64,
    /// `None` as long as only deletes were seen.
    record: Option<Unlinked<'w, H>>,
}

impl<'w, H: Header> ByLocation<'w, H> {
    /// A run that has changed nothing yet.
    pub(super) fn new(world: &'w World<H>, lasting: Lasting<'w>) -> ByLocation<'w, H> {
        let mut participant = Participant::new();
        let guard = participant.guard();
        let inhabited = world.tables.iter().filter(|t| !t.is_empty(guard.pinned())).map(|t| t.id()).collect();
        ByLocation { world, lasting, rows: Shards::new(), superseded: Shards::new(), inhabited }
    }

    /// Puts an effect in place, unless a later one has been.
    pub(super) fn change(
        &self,
        worker: &mut Worker,
        pin: Pinned<'_>,
        ts: CommitTs,
        effect: &RawEffect<'_>,
    ) -> Result<()> {
        let Some(table) = table_of(self.world, effect)? else { return Ok(()) };
        let Some((old, new)) = effect.locations() else {
            return Err(damaged("an effect without a location among such that have one".into()));
        };
        if effect.is_insert()
            && let RowChange::Insert { row, .. } = decoded(effect, &mut worker.buf)?
        {
            table.expect_image(row)?;
            self.world.routines.observe_row(table.id(), row);
        }
        let stamp = stamp(ts, effect.is_insert());
        let mut put = |location, what| self.put(worker, pin, table, location, stamp, what, effect);
        if let Some(old) = old
            && new != Some(old)
        {
            put(old, Put::Nothing)?;
        }
        new.map_or(Ok(()), |new| put(new, if old == Some(new) { Put::After } else { Put::New }))
    }

    /// Makes a location hold the after-image of an effect, or nothing.
    #[allow(clippy::too_many_arguments)] // all of what an effect is
    fn put(
        &self,
        worker: &mut Worker,
        pin: Pinned<'_>,
        table: &'w Table<H>,
        location: u64,
        stamp: u64,
        what: Put,
        effect: &RawEffect<'_>,
    ) -> Result<()> {
        let Worker { number, key, buf, .. } = worker;
        let mut rows = self.rows.latch(location);
        let row = rows.entry(location).or_insert(Row { stamp: 0, record: None });
        let late = row.stamp > stamp;
        // Whichever row was here first in this run, it may have been there before: nothing tells.
        let existed = what != Put::New && self.inhabited.contains(&table.id());
        if late && !existed {
            return Ok(());
        }
        let change = decoded(effect, buf)?;
        if existed {
            primary_key(table, change, key)?;
            if let Some(old) = table.find(key.words(), pin, self.lasting) {
                let word = old.ptr().to_word();
                self.superseded.latch(word).insert(word, (table, old));
            }
        }
        if late {
            return Ok(());
        }
        row.stamp = stamp;
        match change {
            RowChange::Insert { row: image, .. } | RowChange::Update { row: image, .. }
                if what != Put::Nothing =>
            {
                // A location serves one table until that is dropped, which is a barrier.
                let record = row.record.get_or_insert_with(|| table.unlinked(image.len(), *number));
                if record.table().id() != table.id() {
                    return Err(damaged(format!("rows of two tables have the location {location:#x}")));
                }
                table.expect_image(image)?;
                record.write(image, *number, pin);
            }
            _ => {
                if let Some(record) = &mut row.record {
                    record.clear(pin);
                }
            }
        }
        Ok(())
    }

    /// Builds the indexes.
    pub(super) fn finish(self, team: Team<'_>, tell: Tell<'_>) -> Result<()> {
        let settle = |finisher: &mut Finisher, shard, pin: Pinned<'_>| {
            for (table, record) in self.superseded.take(shard).into_values() {
                remove(finisher, table, record, pin)?;
            }
            let records = self.rows.take(shard).into_values().filter_map(|row| row.record);
            records.into_iter().try_for_each(|record| add(finisher, record, pin))
        };
        settle_and_build(self.world, team, self.rows.len(), settle, tell)
    }
}

/// Takes a superseded row out of every index.
fn remove<H: Header>(
    finisher: &mut Finisher,
    table: &Table<H>,
    record: RecordRef<'_, H>,
    pin: Pinned<'_>,
) -> Result<()> {
    let Finisher { image, key, .. } = finisher;
    image.clear();
    record.read_to_vec(image);
    for (id, index) in table.secondary() {
        index_key(table, id, image, key)?;
        index.tree().remove(pin, key.words(), record.ptr().to_word());
    }
    index_key(table, IndexId::PRIMARY, image, key)?;
    if !table.remove(key.words(), record, pin) {
        return Err(damaged(format!("a superseded row of table {} is not under its key", table.id())));
    }
    Ok(())
}

/// Gathers the entries of a new row. What holds no row goes.
fn add<H: Header>(finisher: &mut Finisher, record: Unlinked<'_, H>, pin: Pinned<'_>) -> Result<()> {
    finisher.image.clear();
    if !record.read(&mut finisher.image, pin) {
        return Ok(());
    }
    let table = record.table();
    let word = record.into_word();
    for id in (0u16..).map(IndexId).take(table.indexes().len()) {
        index_key(table, id, &finisher.image, &mut finisher.key)?;
        finisher.add_entry(table.id(), id, word);
    }
    Ok(())
}
