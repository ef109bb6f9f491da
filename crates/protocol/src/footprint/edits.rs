//! Index entries before, at and after commit, and the writes that need them. See the head of [`super`].

#![allow(unsafe_code)] // looks at records; see `door`

use super::record::{Seen, read_record};
use super::word::{ABSENT, DEAD, LENIENT, VersionWord};
use super::*;
use crate::Refused;
use crate::door::{self, Met, look};
use crate::snapshot::has_key;
use planaria_base::CommitTs;
use planaria_base::sync::{point, spin_hint};
use planaria_storage::btree::Insert;
use planaria_storage::{Index, Table};

/// What a scheme says to what a transaction meets as it puts keys in.
pub(crate) trait Encounters<H> {
    /// A key of the table is about to be put into an index.
    fn entering(&mut self, table: TableId);
    /// The key is new, and in by now: whose it has been is settled, as nobody can take it out. It stays there, after an
    /// error, too, until the transaction ends or takes it back: others may have met the record by it.
    fn entered(&mut self, foot: &Footprint<H>, index: &Index, key: &[u64]) -> Result<(), Conflict>;
    /// A committed row has a key that was to be put in. That is an answer like any other: it has to hold.
    fn duplicate(&mut self, record: Met<H>, version: u64) -> Result<(), Conflict>;
    /// The answer is that a key of a unique index is taken.
    fn taken(&mut self, table: TableId, index: &Index);
    /// Somebody else is putting the key in, with a placeholder at this version. An error gives up at once.
    fn placeholder(&mut self, record: Met<H>, version: u64) -> Result<(), Conflict>;
}

/// What asking for an index entry gave.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Asked {
    /// The entry is new.
    Added,
    /// The entry was there, and is the row's.
    Mine,
    /// The entry points to a record that gives it up at commit.
    TakenOver,
    /// A row has the key.
    Duplicate,
}

/// Looks at an entry of somebody who is coming or going, before it counts as a conflict.
const LOOKS_MAX: u32 = 32;

impl<H: Versioned> Footprint<H> {
    /// Inserts a row, whose record is a placeholder at this version until commit: the number of its write.
    pub(crate) fn insert(
        &mut self,
        table: &Table<H>,
        image: &[u64],
        version: u64,
        met: &mut impl Encounters<H>,
    ) -> Result<Result<u32, Refused>, Conflict> {
        // First whatever can fail: a key that is in an index must be in the write set too.
        let mark = self.images.mark();
        let offset = self.images.push_words(image)?;
        let record = Met::allocate(table, self.worker, image.len());
        if version != ABSENT {
            look(record, self.participant.pinned()).header().word().publish(version);
        }
        // The number that the write is going to have.
        let me = self.writes.len() as u32;
        let asked = match self.enter(table, IndexId::PRIMARY, image, record, me, met) {
            Ok(Ok(asked @ (Asked::Added | Asked::TakenOver | Asked::Mine))) => asked,
            refused => {
                // SAFETY: own; the primary index, which is the first, has refused it, so it was in none.
                unsafe { door::free(table, record) };
                self.images.truncate(mark);
                return refused.map(|r| Err(r.err().unwrap_or(Refused::Duplicate(IndexId::PRIMARY))));
            }
        };
        self.push_write(WriteEntry {
            record,
            version,
            image: Image { offset, len: image.len() as u32 },
            touched: IndexSet::EMPTY,
            table: table.id(),
            saved: 0,
            takeovers: NONE,
            extras: NONE,
            origin: Origin::Insert,
            state: State::Live,
            strength: Strength::Update,
        });
        // From here on it has a write, which takes its entries out at the end, whatever comes.
        if asked == Asked::Added
            && let Err(conflict) = met.entered(self, table.index(IndexId::PRIMARY), self.key.words())
        {
            self.writes[me as usize].state = State::Dead;
            return Err(conflict);
        }
        match self.enter_secondary(table, image, record, me, met)? {
            None => Ok(Ok(me)),
            // What has been put in by now is taken out at the end.
            Some(refused) => {
                self.writes[me as usize].state = State::Dead;
                Ok(Err(refused))
            }
        }
    }

    fn enter_secondary(
        &mut self,
        table: &Table<H>,
        image: &[u64],
        record: Met<H>,
        me: u32,
        met: &mut impl Encounters<H>,
    ) -> Result<Option<Refused>, Conflict> {
        for (id, _) in table.secondary() {
            match self.enter(table, id, image, record, me, met)? {
                Ok(Asked::Duplicate) => return Ok(Some(Refused::Duplicate(id))),
                Ok(Asked::Added) => met.entered(self, table.index(id), self.key.words())?,
                Ok(_) => {}
                Err(refused) => return Ok(Some(refused)),
            }
        }
        Ok(None)
    }

    /// Puts an index entry for the row `image` of `record`, write number `me`, in place. Of one that is new the caller asks
    /// [`Encounters::entered`], by the key in `self.key`, once the write answers for the entry.
    fn enter(
        &mut self,
        table: &Table<H>,
        id: IndexId,
        image: &[u64],
        record: Met<H>,
        me: u32,
        met: &mut impl Encounters<H>,
    ) -> Result<Result<Asked, Refused>, Conflict> {
        let index = table.index(id);
        let mut key = std::mem::take(&mut self.key);
        let asked = match index.codec().encode_row(image, &mut key) {
            Ok(()) => {
                met.entering(table.id());
                self.enter_key(index, id, key.words(), record, me, met).map(Ok)
            }
            Err(_) => Ok(Err(Refused::KeyTooLong(id))),
        };
        self.key = key;
        if asked == Ok(Ok(Asked::Duplicate)) {
            if !index.codec().is_exclusive(image) {
                // The key ends with the primary key: only a zombie sees two rows with one.
                return Err(Conflict::Validation);
            }
            met.taken(table.id(), index);
        }
        asked
    }

    fn enter_key(
        &mut self,
        index: &Index,
        id: IndexId,
        key: &[u64],
        record: Met<H>,
        me: u32,
        met: &mut impl Encounters<H>,
    ) -> Result<Asked, Conflict> {
        for _ in 0..LOOKS_MAX {
            let Footprint { fingers, participant, .. } = self;
            match index.tree().insert_among(fingers, participant.pinned(), key, record.to_word()) {
                Insert::Done(changes) => {
                    self.nodes.apply(&changes);
                    point("has put a key in");
                    return Ok(Asked::Added);
                }
                Insert::Exists(word, _) => {
                    // SAFETY: found.
                    let found = unsafe { Met::from_word(word) };
                    if let Some(asked) = self.ask_for_entry(index, id, key, found, me, met)? {
                        return Ok(asked);
                    }
                }
            }
        }
        Err(Conflict::Key)
    }

    /// The key has an entry, which leads to `found`. `None`: it may be gone now.
    fn ask_for_entry(
        &mut self,
        index: &Index,
        id: IndexId,
        key: &[u64],
        found: Met<H>,
        me: u32,
        met: &mut impl Encounters<H>,
    ) -> Result<Option<Asked>, Conflict> {
        if let Some(write) = self.find_write(found) {
            if write != me && self.writes[write as usize].state == State::Unwritten {
                if self.forget_added(write, id, key) {
                    // Left behind by an update that was undone: nobody needs it, and it must go now,
                    // since commit will not lock that row. Putting it in anew moves the leaf on. From now on the
                    // like of it is somebody else's, and stays.
                    index.tree().remove(self.participant.pinned(), key, found.to_word());
                    point("has taken out what it had put in");
                    return Ok(None);
                }
            } else if let Some(holder) = self.own_holder(index, id, key, write) {
                return Ok(Some(match holder {
                    _ if holder != me => Asked::Duplicate,
                    _ if write == me => Asked::Mine,
                    _ => Asked::TakenOver,
                }));
            } else if self.owns_entry(index, id, key, write)? {
                if write == me {
                    return Ok(Some(Asked::Mine));
                }
                let next = self.writes[write as usize].takeovers;
                self.writes[write as usize].takeovers = self.takeovers.len() as u32;
                self.takeovers.push(Takeover { index: id, from: write, to: me, next });
                return Ok(Some(Asked::TakenOver));
            } else {
                return Ok(None);
            }
        }
        let mark = self.images.mark();
        let seen = read_record(found, self.participant.pinned(), &self.mine, &mut self.images)?;
        let asked = match seen {
            Seen::Row(version, image) => {
                let same = has_key(index, id, image.words(&self.images), key, &mut self.other_key);
                // An entry that is early or stale belongs to somebody who is about to commit or abort.
                match same.then(|| met.duplicate(found, version)).transpose() {
                    Ok(asked) => asked.map(|()| Asked::Duplicate),
                    Err(conflict) => {
                        self.images.truncate(mark);
                        return Err(conflict);
                    }
                }
            }
            Seen::Placeholder(version) => {
                met.placeholder(found, version)?;
                None
            }
            Seen::Dead => None,
        };
        self.images.truncate(mark);
        if asked.is_none() {
            (0..SPINS_MAX / LOOKS_MAX).for_each(|_| spin_hint());
        }
        Ok(asked)
    }

    /// Which of this transaction's own rows has the key of an entry that points to the record of
    /// `write`: that one, or one that took the entry over.
    pub(crate) fn own_holder(&mut self, index: &Index, id: IndexId, key: &[u64], write: u32) -> Option<u32> {
        let Footprint { writes, takeovers, images, other_key, .. } = self;
        let mut holds = |at: u32| {
            let entry = &writes[at as usize];
            entry.state == State::Live && has_key(index, id, entry.image.words(images), key, other_key)
        };
        if holds(write) {
            return Some(write);
        }
        let mut next = writes[write as usize].takeovers;
        while next != NONE {
            let takeover = &takeovers[next as usize];
            // The primary key of a row is not compared above, and need not be: a takeover in the
            // primary index has the key of the row that it takes over from.
            if takeover.index == id && holds(takeover.to) {
                return Some(takeover.to);
            }
            next = takeover.next;
        }
        None
    }

    /// [`Footprint::own_holder`] of the key in `self.key`.
    pub(crate) fn own_holder_of_key(&mut self, index: &Index, id: IndexId, write: u32) -> Option<u32> {
        let key = std::mem::take(&mut self.key);
        let holder = self.own_holder(index, id, key.words(), write);
        self.key = key;
        holder
    }

    /// Whether this transaction has put this entry of its write's record in.
    fn has_added(&self, write: u32, id: IndexId, key: &[u64]) -> bool {
        self.has_added_one(write, id, |added| added == key)
    }

    fn has_added_one(&self, write: u32, id: IndexId, is_it: impl Fn(&[u64]) -> bool) -> bool {
        self.find_added(write, id, is_it).is_some()
    }

    fn find_added(&self, write: u32, id: IndexId, is_it: impl Fn(&[u64]) -> bool) -> Option<u32> {
        let mut next = self.writes[write as usize].extras;
        while next != NONE {
            let extra = &self.extras[next as usize];
            if extra.index == id && extra.write == write && is_it(extra.key.words(&self.images)) {
                return Some(next);
            }
            next = extra.next;
        }
        None
    }

    /// The entry is this transaction's no more: whether it was.
    fn forget_added(&mut self, write: u32, id: IndexId, key: &[u64]) -> bool {
        let added = self.find_added(write, id, |added| added == key);
        if let Some(at) = added {
            self.extras[at as usize].write = NONE;
        }
        added.is_some()
    }

    /// The same of the key in `self.key`, which an index has given.
    pub(crate) fn has_added_key(&self, id: IndexId, write: u32) -> bool {
        self.has_added_one(write, id, |added| self.key.equals_words(added))
    }

    /// Whether the entry `key`, which leads to the record of `write`, is this transaction's to give: its
    /// own, or that of the row as it was read. Otherwise it is an early one of somebody else's.
    fn owns_entry(&mut self, index: &Index, id: IndexId, key: &[u64], write: u32) -> Result<bool, Conflict> {
        let WriteEntry { origin, record, version, .. } = self.writes[write as usize];
        if origin == Origin::Insert || id == IndexId::PRIMARY || self.has_added(write, id, key) {
            return Ok(true);
        }
        let mark = self.images.mark();
        let owned = match read_record(record, self.participant.pinned(), &self.mine, &mut self.images)? {
            Seen::Row(now, image) if now == version & !LENIENT => {
                Ok(has_key(index, id, image.words(&self.images), key, &mut self.other_key))
            }
            _ => Err(Conflict::Validation),
        };
        self.images.truncate(mark);
        owned
    }

    /// The claim that an update needs: who refers to a row does so by a unique key.
    #[inline]
    pub(crate) fn strength_of_update(table: &Table<H>, touched: IndexSet) -> Strength {
        let keys_move = touched.iter().any(|id| table.index(id).codec().unique());
        if keys_move { Strength::Update } else { Strength::NoKeyUpdate }
    }

    /// The row of a write is to be `image`.
    #[inline]
    pub(crate) fn update(
        &mut self,
        table: &Table<H>,
        write: u32,
        image: &[u64],
        touched: IndexSet,
        met: &mut impl Encounters<H>,
    ) -> Result<Result<(), Refused>, Conflict> {
        if !touched.is_empty()
            && let Some(refused) = self.move_keys(table, write, image, touched, met)?
        {
            return Ok(Err(refused));
        }
        let overwrite = self.save(write);
        let entry = &mut self.writes[write as usize];
        entry.touched = entry.touched.union(touched);
        if overwrite && entry.state == State::Live && entry.image.len as usize == image.len() {
            self.images.words_mut(entry.image.offset, entry.image.len).copy_from_slice(image);
        } else {
            let offset = self.images.push_words(image)?;
            entry.image = Image { offset, len: image.len() as u32 };
        }
        entry.state = State::Live;
        Ok(Ok(()))
    }

    /// Adds the index entries of a row's new image.
    fn move_keys(
        &mut self,
        table: &Table<H>,
        write: u32,
        image: &[u64],
        touched: IndexSet,
        met: &mut impl Encounters<H>,
    ) -> Result<Option<Refused>, Conflict> {
        debug_assert!(!touched.contains(IndexId::PRIMARY), "a changed primary key is another row");
        for id in touched.iter() {
            let index = table.index(id);
            let WriteEntry { origin, record, image: old, .. } = self.writes[write as usize];
            let mut key = std::mem::take(&mut self.key);
            if origin == Origin::Insert {
                // The entry of the image as inserted stands in no other list.
                let encoded = index.codec().encode_row(old.words(&self.images), &mut key);
                debug_assert!(encoded.is_ok(), "it has been inserted");
                self.keep_key(&key).map(|key| self.push_extra(write, id, key))?;
            }
            let asked = match index.codec().encode_row(image, &mut key) {
                // Kept before it is in the index, so that no entry can be forgotten there.
                Ok(()) => self.keep_key(&key).and_then(|kept| {
                    met.entering(table.id());
                    let asked = self.enter_key(index, id, key.words(), record, write, met)?;
                    if asked == Asked::Added {
                        self.push_extra(write, id, kept);
                        met.entered(self, index, key.words())?;
                    }
                    Ok(Ok(asked))
                }),
                Err(_) => Ok(Err(Refused::KeyTooLong(id))),
            };
            self.key = key;
            match asked? {
                Ok(Asked::Added | Asked::Mine | Asked::TakenOver) => {}
                // As in `enter`.
                Ok(Asked::Duplicate) if !index.codec().is_exclusive(image) => {
                    return Err(Conflict::Validation);
                }
                Ok(Asked::Duplicate) => {
                    met.taken(table.id(), index);
                    return Ok(Some(Refused::Duplicate(id)));
                }
                Err(refused) => return Ok(Some(refused)),
            }
        }
        Ok(None)
    }

    fn keep_key(&mut self, key: &KeyBuf) -> Result<Image, Conflict> {
        let words = key.words();
        let offset = self.images.push_words(words)?;
        Ok(Image { offset, len: words.len() as u32 })
    }

    fn push_extra(&mut self, write: u32, index: IndexId, key: Image) {
        let next = self.writes[write as usize].extras;
        self.writes[write as usize].extras = self.extras.len() as u32;
        self.extras.push(Extra { write, index, key, next });
    }

    /// The row of a write, which is not dead, shall not be.
    pub(crate) fn delete(&mut self, write: u32) -> Result<(), Conflict> {
        let WriteEntry { record, version, state, .. } = self.writes[write as usize];
        let old = match state {
            State::Unwritten => {
                match read_record(record, self.participant.pinned(), &self.mine, &mut self.images)? {
                    Seen::Row(now, image) if now == version => Some(image),
                    _ => return Err(Conflict::Validation),
                }
            }
            _ => None,
        };
        self.save(write);
        let entry = &mut self.writes[write as usize];
        if let Some(old) = old {
            entry.image = old;
        }
        entry.state = State::Dead;
        Ok(())
    }

    /// Installs what has been locked, at its place in the order, and unlocks it; `keep` says which bits of a word stay.
    /// From here on nothing can fail.
    #[inline]
    pub(crate) fn install(&mut self, tables: &TableSet<H>, ts: CommitTs, keep: impl Fn(&VersionWord) -> u64) {
        self.note_removals(tables, ts);
        if !self.takeovers.is_empty() {
            self.carry_out_takeovers(tables);
        }
        if !self.extras.is_empty() {
            self.remove_extras(tables);
        }
        let mut dead = false;
        let Footprint { participant, writes, order, images, worker, key, other_key, scratch, .. } = self;
        let pin = participant.pinned();
        VersionWord::before_images();
        for (_, at) in order.iter() {
            let write = &writes[*at as usize];
            let shown = look(write.record, pin);
            let word = shown.header().word();
            let kept = keep(word);
            if write.state == State::Dead {
                dead = true;
                let version = if write.origin == Origin::Row { ts.0 } else { 0 };
                word.publish(version | ABSENT | DEAD | kept);
                continue;
            }
            let table = tables.get(write.table);
            let image = write.image.words(images);
            if write.origin == Origin::Row && !write.touched.is_empty() {
                scratch.clear();
                shown.read_to_vec(scratch);
                for id in write.touched.iter() {
                    let codec = table.index(id).codec();
                    if codec.encode_row(scratch, key).is_ok()
                        && !(codec.encode_row(image, other_key).is_ok() && key == other_key)
                    {
                        table.index(id).tree().remove(pin, key.words(), write.record.to_word());
                    }
                }
            }
            table.install(shown, image, ts, *worker, pin);
            word.publish(ts.0 | kept);
            point("has installed a row");
        }
        if dead {
            self.unlink_dead(tables);
        }
    }

    #[cold]
    fn carry_out_takeovers(&mut self, tables: &TableSet<H>) {
        for takeover in &self.takeovers {
            let (from, to) = (&self.writes[takeover.from as usize], &self.writes[takeover.to as usize]);
            if to.state != State::Live {
                continue;
            }
            let index = tables.get(to.table).index(takeover.index);
            if index.codec().encode_row(to.image.words(&self.images), &mut self.key).is_ok() {
                let (from, to) = (from.record.to_word(), to.record.to_word());
                index.tree().replace(self.participant.pinned(), self.key.words(), from, to);
            }
        }
    }

    /// Removes added entries that the rows do not need in the end. (That a row has come to need one for
    /// somebody else's sake is impossible: as long as the entry stands it is ours alone.)
    #[cold]
    fn remove_extras(&mut self, tables: &TableSet<H>) {
        for Extra { write, index: id, key, .. } in self.extras.iter().filter(|extra| extra.write != NONE) {
            let WriteEntry { table, record, image, state, .. } = self.writes[*write as usize];
            let index = tables.get(table).index(*id);
            let words = key.words(&self.images);
            let needed = state == State::Live
                && index.codec().encode_row(image.words(&self.images), &mut self.other_key).is_ok()
                && self.other_key.words() == words;
            if !needed {
                index.tree().remove(self.participant.pinned(), words, record.to_word());
            }
        }
    }

    /// Takes the records of dead writes, marked as such, out of the indexes: the primary one last, so
    /// that who finds a primary key free finds the others free, too.
    #[cold]
    fn unlink_dead(&mut self, tables: &TableSet<H>) {
        let pin = self.participant.pinned();
        for write in self.writes.iter().filter(|write| write.state == State::Dead) {
            let table = tables.get(write.table);
            let shown = look(write.record, pin);
            let image = match write.origin {
                Origin::Insert => write.image.words(&self.images),
                Origin::Row => {
                    self.scratch.clear();
                    shown.read_to_vec(&mut self.scratch);
                    &self.scratch
                }
            };
            for index in table.indexes().iter().rev() {
                if index.codec().encode_row(image, &mut self.key).is_ok() {
                    index.tree().remove(pin, self.key.words(), write.record.to_word());
                }
            }
            // SAFETY: this transaction has marked it dead under its lock, and taken its entries out just now.
            unsafe { door::retire(table, write.record, pin) };
        }
    }

    /// Undoes what other transactions can see of this one: its index entries. No lock is held.
    pub(crate) fn take_back(&mut self, tables: &TableSet<H>) {
        for at in 0..self.writes.len() {
            let write = &mut self.writes[at];
            write.state = match write.origin {
                Origin::Row => State::Unwritten,
                Origin::Insert => State::Dead,
            };
            if self.writes[at].origin == Origin::Insert {
                self.word(self.writes[at].record).publish(ABSENT | DEAD);
            }
        }
        self.remove_extras(tables);
        self.unlink_dead(tables);
    }
}
