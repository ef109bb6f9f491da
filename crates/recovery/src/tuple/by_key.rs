//! A run by key: rows are found in the primary index, which is maintained; secondary indexes wait for the
//! end of the run.
//!
//! 1. A key that the primary index does not have gets an absent record at once, also for a delete: it is
//!    the tombstone that holds the latch and the timestamp.
//! 2. Under the latch: a writer older than the last one leaves the row alone. Who touches a row first
//!    keeps its old image, if secondary indexes know it.
//! 3. In the end, by all threads: secondary entries whose key has changed go, records that hold no row
//!    go; then the new entries come ([`entries`](super::entries)).

use super::entries::{Finisher, Tell, settle_and_build};
use super::keys::{decoded, index_key, primary_key};
use super::shards::Shards;
use super::threads::Team;
use super::{Worker, damaged, stamp, table_of};
use crate::World;
use planaria_base::{CommitTs, IndexId, Result};
use planaria_log::{RawEffect, RowChange};
use planaria_storage::reclaim::{Lasting, Pinned};
use planaria_storage::{Header, RecordRef, Table};

/// See the module's head.
pub(super) struct ByKey<'w, H: Header> {
    world: &'w World<H>,
    lasting: Lasting<'w>,
    /// By the address of the record.
    rows: Shards<Touched<'w, H>>,
}

/// A row that the run has changed.
struct Touched<'w, H: Header> {
    table: &'w Table<H>,
    record: RecordRef<'w, H>,
    /// Of the last writer so far.
    stamp: u64,
    before: Before,
}

/// What there was before the run.
enum Before {
    /// No row.
    Nothing,
    /// No row, and the run may never write one: the words of the key.
    Key(Box<[u64]>),
    /// A row; no index but the primary one knows it.
    Row,
    /// A row, with this image.
    Image(Box<[u64]>),
}

impl<'w, H: Header> ByKey<'w, H> {
    /// A run that has changed nothing yet.
    pub(super) fn new(world: &'w World<H>, lasting: Lasting<'w>) -> ByKey<'w, H> {
        ByKey { world, lasting, rows: Shards::new() }
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
        let Worker { number, key, image, buf } = worker;
        let change = decoded(effect, buf)?;
        primary_key(table, change, key)?;
        let row: &[u64] = match change {
            RowChange::Insert { row, .. } | RowChange::Update { row, .. } => row,
            RowChange::Patch { .. } | RowChange::Delete { .. } => &[],
        };
        if effect.is_insert() {
            self.world.routines.observe_row(table.id(), row);
        }
        let record = match table.find(key.words(), pin, self.lasting) {
            Some(record) => record,
            None => table.unlinked(row.len(), *number).link(key.words(), pin, self.lasting),
        };
        let mut rows = self.rows.latch(record.ptr().to_word());
        let touched = rows.entry(record.ptr().to_word()).or_insert_with(|| {
            let before = match (record.header().is_present(), change) {
                (false, RowChange::Delete { .. }) => Before::Key(key.words().into()),
                (false, _) => Before::Nothing,
                (true, _) if table.indexes().len() == 1 => Before::Row,
                (true, _) => {
                    image.clear();
                    record.read_to_vec(image);
                    Before::Image(image[..].into())
                }
            };
            Touched { table, record, stamp: 0, before }
        });
        let stamp = stamp(ts, matches!(change, RowChange::Insert { .. }));
        if touched.stamp > stamp {
            return Ok(());
        }
        touched.stamp = stamp;
        match change {
            RowChange::Delete { .. } => record.header().set_present(false),
            RowChange::Insert { row, .. } | RowChange::Update { row, .. } => {
                table.write(record, row, *number, pin);
                record.header().set_present(true);
            }
            RowChange::Patch { patch, .. } => {
                if !record.header().is_present() {
                    let what = "the log updates a row that table";
                    return Err(damaged(format!("{what} {} does not have", table.id())));
                }
                image.clear();
                record.read_to_vec(image);
                patch.redo(image)?;
                table.expect_image(image)?;
                table.write(record, image, *number, pin);
            }
        }
        Ok(())
    }

    /// Brings the indexes in line.
    pub(super) fn finish(self, team: Team<'_>, tell: Tell<'_>) -> Result<()> {
        let settle = |finisher: &mut Finisher, shard, pin: Pinned<'_>| {
            self.rows.take(shard).into_values().try_for_each(|touched| settle(finisher, touched, pin))
        };
        settle_and_build(self.world, team, self.rows.len(), settle, tell)
    }
}

/// Removes the entries that a row does not have any more, and gathers those that it has to get.
fn settle<H: Header>(finisher: &mut Finisher, touched: Touched<'_, H>, pin: Pinned<'_>) -> Result<()> {
    let Touched { table, record, before, .. } = touched;
    let (present, word) = (record.header().is_present(), record.ptr().to_word());
    finisher.image.clear();
    record.read_to_vec(&mut finisher.image);
    for (id, index) in table.secondary() {
        let Finisher { image, key, old_key, .. } = finisher;
        if present {
            index_key(table, id, image, key)?;
        }
        if let Before::Image(old) = &before {
            index_key(table, id, old, old_key)?;
            if present && key == old_key {
                continue;
            }
            index.tree().remove(pin, old_key.words(), word);
        }
        if present {
            finisher.add_entry(table.id(), id, word);
        }
    }
    if !present {
        let Finisher { image, key, .. } = finisher;
        match before {
            Before::Key(words) if image.is_empty() => key.set_words(&words),
            _ => index_key(table, IndexId::PRIMARY, image, key)?,
        }
        if !table.remove(key.words(), record, pin) {
            return Err(damaged(format!("a deleted row of table {} is not under its key", table.id())));
        }
    }
    Ok(())
}
