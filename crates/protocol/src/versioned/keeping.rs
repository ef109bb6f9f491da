//! What a commit keeps for readers of the past, before it changes anything.

use super::*;
use crate::door::look;
use crate::snapshot::Older;
use planaria_storage::reclaim::Pinned;
use planaria_storage::{Kept, TableKeeper};

/// Tables at a time; most commits change fewer.
const TABLES: usize = 8;

/// Who keeps versions of rows, a table each, until a commit has kept all: what they have copied past the caches is waited
/// for once.
struct Keepers<'k, R: Rules> {
    of: [Option<(TableId, TableKeeper<'k, R::Header>)>; TABLES],
    held: usize,
    worker: usize,
    pin: Pinned<'k>,
}

impl<'k, R: Rules> Keepers<'k, R> {
    fn new(worker: usize, pin: Pinned<'k>) -> Self {
        Keepers { of: [const { None }; TABLES], held: 0, worker, pin }
    }

    #[inline]
    fn of(&mut self, id: TableId, table: &'k Table<R::Header>) -> &mut TableKeeper<'k, R::Header> {
        let begun = self.of.iter().flatten().position(|(of, _)| *of == id);
        let at = match begun {
            Some(at) => at,
            None => self.begin(id, table),
        };
        let new = || (id, table.keeper(self.worker, self.pin));
        &mut self.of[at].get_or_insert_with(new).1
    }

    /// Where the keeper of one more table stands.
    fn begin(&mut self, id: TableId, table: &'k Table<R::Header>) -> usize {
        let room = self.held < TABLES;
        let keeper = room.then(|| table.try_keeper(self.worker, self.pin)).flatten();
        if keeper.is_none() {
            // Who waits for a lane holds none that others may wait for. The next one is waited for in `of`.
            self.of = [const { None }; TABLES];
            self.held = 0;
        }
        let at = self.held;
        self.of[at] = keeper.map(|keeper| (id, keeper));
        self.held += 1;
        at
    }
}

impl<R: Rules> Txn<R> {
    /// Between steps 3 and 4, while a snapshot is open: keeps the rows that it sees, and that are about to change.
    #[cold]
    pub(super) fn keep_old_versions(
        &mut self,
        tables: &TableSet<R::Header>,
        older: &Older<'_>,
        ts: CommitTs,
    ) {
        let mut gives_up = false;
        let pin = self.foot.participant.pinned();
        let mut keepers = Keepers::<R>::new(self.foot.worker, pin);
        for (_, at) in &self.foot.order {
            let write = &self.foot.writes[*at as usize];
            if write.origin == Origin::Insert {
                continue;
            }
            gives_up |= write.state == State::Dead || !write.touched.is_empty();
            let (begin, table) = (CommitTs(write.version), tables.get(write.table));
            // Most rows that change often have changed since.
            let mut seen = older.may_see(write.table, begin);
            let shown = look(write.record, pin);
            if seen && older.asks_for_keys(write.table) {
                self.foot.scratch.clear();
                shown.read_to_vec(&mut self.foot.scratch);
                let encoded =
                    table.index(IndexId::PRIMARY).codec().encode_row(&self.foot.scratch, &mut self.foot.key);
                seen = encoded.is_ok() && older.see(write.table, self.foot.key.words(), begin);
            }
            if seen {
                let needed = |begin, end| older.may_see_until(write.table, begin, end);
                keepers.of(write.table, table).keep(shown, (begin, ts), &needed);
            }
        }
        drop(keepers);
        for at in (0..self.foot.order.len()).filter(|_| gives_up) {
            let at = self.foot.order[at].1;
            let write = &self.foot.writes[at as usize];
            if write.origin != Origin::Insert && (write.state == State::Dead || !write.touched.is_empty()) {
                self.keep_old_keys(at, tables.get(write.table), older, ts);
            }
        }
    }

    /// Puts the versions of a row among the old ones of the keys that it gives up: all that are needed, not the last one
    /// alone, as those before it may have had the keys, too.
    fn keep_old_keys(&mut self, at: u32, table: &Table<R::Header>, older: &Older<'_>, ts: CommitTs) {
        let Footprint { participant, writes, images, key, other_key, scratch, .. } = &mut self.foot;
        let (pin, write) = (participant.pinned(), &writes[at as usize]);
        let dead = write.state == State::Dead;
        let primary = table.index(IndexId::PRIMARY);
        scratch.clear();
        let shown = look(write.record, pin);
        shown.read_to_vec(scratch);
        if primary.codec().encode_row(scratch, key).is_err() {
            return;
        }
        let mut versions: Vec<(CommitTs, CommitTs, Arc<[u64]>, Kept)> = Vec::new();
        let mut keep = |begin, end, image: &[u64]| {
            if older.see_until(write.table, key.words(), begin, end) {
                let young = !older.oldest_sees(write.table, key.words(), begin, end);
                versions.push((begin, end, Arc::from(image), Kept { young, first: true }));
            }
        };
        let begin = CommitTs(write.version);
        if older.may_see_until(write.table, CommitTs(0), begin) {
            table.for_each_kept(shown, pin, |begin, end, image| {
                // The record may have been another row.
                if primary.codec().encode_row(image, other_key).is_ok() && key == other_key {
                    keep(begin, end, image);
                }
            });
        } else {
            // Nobody reads what was before: most rows that are deleted have stayed as they are for long.
            keep(begin, ts, scratch);
        }
        let leaving = |id: IndexId| dead || write.touched.contains(id);
        for (id, index) in (0u16..).map(IndexId).zip(table.indexes()) {
            if versions.is_empty() || !leaving(id) {
                continue;
            }
            let codec = index.codec();
            let goes = codec.encode_row(scratch, key).is_ok()
                && (dead
                    || codec.encode_row(write.image.words(images), other_key).is_err()
                    || key != other_key);
            for (begin, end, image, kept) in versions.iter_mut().filter(|_| goes) {
                let mut had = codec.encode_row(image, other_key).is_ok() && key == other_key;
                if *end != ts {
                    // It may have given the key up before, and taken it again.
                    index.old().for_each(pin, key.words(), |since, _, _| had &= since != *begin);
                }
                if had {
                    index.old().put(key.words(), (*begin, *end), image, *kept);
                    kept.first = false;
                }
            }
        }
    }
}
