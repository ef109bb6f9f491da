//! Commit and abort.

use super::*;
use crate::door::{self, look};
use planaria_base::sync::atomic::fence;
use planaria_storage::btree::Insert;

/// How many elements ahead of validation a large read set is fetched.
const PREFETCH_AHEAD: usize = 16;

impl SiloTxn {
    #[inline]
    fn word(&self, record: Ptr) -> &AtomicU64 {
        &look(record, self.participant.pinned()).header().0
    }

    /// Whether everything read still holds: `holding` the locks of the write set, or without them.
    pub(super) fn validate<const READS: bool, const NODES: bool>(
        &self,
        holding: bool,
    ) -> Result<(), Conflict> {
        let pin = self.participant.pinned();
        self.nodes.check().or_else(|phantom| if NODES { Err(phantom) } else { Ok(()) })?;
        if READS {
            for (i, access) in self.accesses.iter().enumerate() {
                if let Some(ahead) = self.accesses.get(i + PREFETCH_AHEAD) {
                    ahead.record.prefetch_head();
                }
                if access.version == OWN {
                    continue;
                }
                let word = self.word(access.record).load(Ordering::Acquire);
                if word != access.version {
                    let own = holding
                        && word == access.version | LOCKED
                        && self.find_write(access.record).is_some_and(|write| {
                            // What is not to be written has not been locked.
                            self.writes[write as usize].state != State::Unwritten
                        });
                    if !own {
                        return Err(Conflict::Validation);
                    }
                }
            }
            // Locking has compared the versions of what is written.
            for write in &self.writes {
                let unlocked = !holding || write.state == State::Unwritten;
                if unlocked && self.word(write.record).load(Ordering::Acquire) != write.version {
                    return Err(Conflict::Validation);
                }
            }
        }
        if NODES && !self.nodes.iter().all(|node| node.is_current(pin)) {
            return Err(Conflict::Phantom);
        }
        Ok(())
    }

    pub(super) fn commit<const READS: bool, const NODES: bool>(
        &mut self,
        tables: &TableSet<SiloHeader>,
        clock: &CommitClock,
        committed: impl FnOnce(CommitTs, &SiloTxn),
    ) -> Result<CommitTs, Conflict> {
        if !self.has_effect() {
            // Before validation: what holds then has held at this point of the order.
            let ts = clock.now();
            if let Err(conflict) = self.validate::<READS, NODES>(false) {
                self.abort(tables);
                return Err(conflict);
            }
            if !self.writes.is_empty() {
                self.take_back(tables);
            }
            self.installed = true;
            committed(ts, self);
            self.end();
            return Ok(ts);
        }
        let mut locked = 0;
        let ts = match self.prepare::<READS, NODES>(tables, clock, &mut locked) {
            Ok(ts) => ts,
            Err(conflict) => {
                self.unlock(locked);
                self.abort(tables);
                return Err(conflict);
            }
        };
        self.install(tables, ts);
        self.installed = true;
        committed(ts, self);
        self.end();
        Ok(ts)
    }

    /// Steps 1 to 4: locks, entries, timestamp, validation. `locked` counts the locks.
    #[inline]
    fn prepare<const READS: bool, const NODES: bool>(
        &mut self,
        tables: &TableSet<SiloHeader>,
        clock: &CommitClock,
        locked: &mut usize,
    ) -> Result<CommitTs, Conflict> {
        self.order.clear();
        let written = self.writes.iter().zip(0u32..).filter(|(write, _)| write.state != State::Unwritten);
        self.order.extend(written.map(|(write, i)| (write.record.to_word(), i)));
        if self.order.len() > 1 {
            self.order.sort_unstable();
        }
        for (_, write) in &self.order {
            self.lock(&self.writes[*write as usize])?;
            *locked += 1;
        }
        for write in 0..self.writes.len() as u32 {
            if !self.writes[write as usize].shared.is_empty() {
                self.add_shared_entries(tables, write)?;
            }
        }
        if !self.takeovers.is_empty() {
            self.secure_takeovers(tables)?;
        }
        let ts = clock.draw();
        self.validate::<READS, NODES>(true)?;
        Ok(ts)
    }

    #[inline]
    fn lock(&self, write: &WriteEntry) -> Result<(), Conflict> {
        let word = self.word(write.record);
        if write.origin == Origin::Insert {
            // Nobody else changes a placeholder.
            word.store(write.version | LOCKED, Ordering::Release);
            return Ok(());
        }
        for _ in 0..SPINS_MAX {
            let locked = write.version | LOCKED;
            match word.compare_exchange(write.version, locked, Ordering::AcqRel, Ordering::Relaxed) {
                Ok(_) => return Ok(()),
                Err(now) if now == locked => spin_hint(),
                Err(_) => return Err(Conflict::Validation),
            }
        }
        Err(Conflict::Locked)
    }

    /// Lets go of the first `locked` locks without a change.
    fn unlock(&self, locked: usize) {
        for (_, write) in &self.order[..locked] {
            let write = &self.writes[*write as usize];
            self.word(write.record).store(write.version, Ordering::Release);
        }
    }

    /// An entry that was there when an update needed it may have been somebody's who has aborted and
    /// taken it out since. Under the record's lock nobody does that any more.
    #[cold]
    fn add_shared_entries(&mut self, tables: &TableSet<SiloHeader>, write: u32) -> Result<(), Conflict> {
        let WriteEntry { table, record, image, shared, state, origin, .. } = self.writes[write as usize];
        if origin == Origin::Insert || state != State::Live {
            return Ok(());
        }
        for id in shared.iter() {
            let index = tables.get(table).index(id);
            let mut key = std::mem::take(&mut self.key);
            let encoded = index.codec().encode_row(image.words(&self.images), &mut key);
            debug_assert!(encoded.is_ok(), "claimed before");
            let result = self.push_extra(write, id, &key).and_then(|()| {
                match index.tree().insert(self.participant.pinned(), key.words(), record.to_word()) {
                    Insert::Done(changes) => {
                        self.nodes.apply(&changes);
                        return Ok(());
                    }
                    Insert::Exists(word, _) if word != record.to_word() => {
                        // Fine if it is one that this row takes over.
                        let holder = self
                            .find_write(Ptr::from_word(word))
                            .and_then(|other| self.own_holder(index, id, key.words(), other));
                        if holder != Some(write) {
                            return Err(Conflict::Key);
                        }
                    }
                    Insert::Exists(..) => {}
                }
                self.extras.pop();
                Ok(())
            });
            self.key = key;
            result?;
        }
        Ok(())
    }

    /// The entry to be taken over may have been an early one of somebody who has aborted since, and be
    /// gone: then it is put in. Entries of a locked record stay.
    #[cold]
    fn secure_takeovers(&mut self, tables: &TableSet<SiloHeader>) -> Result<(), Conflict> {
        for at in 0..self.takeovers.len() {
            let Takeover { index: id, from, to, .. } = self.takeovers[at];
            let (from, entry) = (self.writes[from as usize].record, self.writes[to as usize]);
            if entry.state != State::Live {
                continue;
            }
            let index = tables.get(entry.table).index(id);
            let mut key = std::mem::take(&mut self.key);
            let encoded = index.codec().encode_row(entry.image.words(&self.images), &mut key);
            debug_assert!(encoded.is_ok(), "claimed before");
            let secured = self.push_extra(to, id, &key).and_then(|()| {
                let word = entry.record.to_word();
                match index.tree().insert(self.participant.pinned(), key.words(), word) {
                    Insert::Done(changes) => {
                        self.nodes.apply(&changes);
                        return Ok(());
                    }
                    // It may have moved to another key since, which is its own.
                    Insert::Exists(found, _) if found == from.to_word() || found == word => {}
                    Insert::Exists(found, _) => {
                        let holder = self.find_write(Ptr::from_word(found));
                        let holder = holder.and_then(|other| self.own_holder(index, id, key.words(), other));
                        if holder != Some(to) {
                            return Err(Conflict::Key);
                        }
                    }
                }
                self.extras.pop();
                Ok(())
            });
            self.key = key;
            secured?;
        }
        Ok(())
    }

    /// Step 5. From here on nothing can fail.
    fn install(&mut self, tables: &TableSet<SiloHeader>, ts: CommitTs) {
        if !self.takeovers.is_empty() {
            self.carry_out_takeovers(tables);
        }
        if !self.extras.is_empty() {
            self.remove_extras(tables, false);
        }
        let mut dead = false;
        let SiloTxn { participant, writes, order, images, worker, key, other_key, scratch, .. } = self;
        let pin = participant.pinned();
        // The lock must be seen before any store to an image.
        fence(Ordering::Release);
        for (_, at) in order.iter() {
            let write = &writes[*at as usize];
            let shown = look(write.record, pin);
            if write.state == State::Dead {
                dead = true;
                let version = if write.origin == Origin::Row { ts.0 } else { 0 };
                shown.header().0.store(version | ABSENT | DEAD, Ordering::Release);
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
            table.write(shown, image, *worker, pin);
            shown.header().0.store(ts.0, Ordering::Release);
        }
        if dead {
            self.unlink_dead(tables);
        }
        if self.writes.iter().any(|write| write.state == State::Unwritten) {
            self.remove_extras(tables, true);
        }
    }

    #[cold]
    fn carry_out_takeovers(&mut self, tables: &TableSet<SiloHeader>) {
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

    /// Removes added entries that the rows do not need. Those of unwritten rows (`unwritten`) need the
    /// row's lock, which is not held: the row may have come to need them for somebody else's sake.
    #[cold]
    fn remove_extras(&mut self, tables: &TableSet<SiloHeader>, unwritten: bool) {
        for at in 0..self.extras.len() {
            let Extra { write, index: id, key } = self.extras[at];
            let WriteEntry { table, record, image, state, .. } = self.writes[write as usize];
            if (state == State::Unwritten) != unwritten {
                continue;
            }
            if unwritten {
                self.remove_extra_under_lock(tables, at);
                continue;
            }
            let index = tables.get(table).index(id);
            let words = key.words(&self.images);
            let needed = state == State::Live
                && index.codec().encode_row(image.words(&self.images), &mut self.other_key).is_ok()
                && self.other_key.words() == words;
            if !needed {
                index.tree().remove(self.participant.pinned(), words, record.to_word());
            }
        }
    }

    fn remove_extra_under_lock(&mut self, tables: &TableSet<SiloHeader>, at: usize) {
        let Extra { write, index: id, key } = self.extras[at];
        let WriteEntry { table, record, .. } = self.writes[write as usize];
        let pin = self.participant.pinned();
        let shown = look(record, pin);
        let word = &shown.header().0;
        // This transaction holds no other lock, and who holds this one is about to let go.
        let mut waits = 0u32;
        let version = loop {
            let version = word.load(Ordering::Relaxed);
            let free = version & LOCKED == 0;
            if free
                && word
                    .compare_exchange(version, version | LOCKED, Ordering::AcqRel, Ordering::Relaxed)
                    .is_ok()
            {
                break version;
            }
            waits += 1;
            if waits % SPINS_MAX == 0 { std::thread::yield_now() } else { spin_hint() }
        };
        let index = tables.get(table).index(id);
        let words = key.words(&self.images);
        let mut needed = false;
        if version & ABSENT == 0 {
            self.scratch.clear();
            shown.read_to_vec(&mut self.scratch);
            needed = index.codec().encode_row(&self.scratch, &mut self.other_key).is_ok()
                && self.other_key.words() == words;
        }
        if !needed {
            index.tree().remove(pin, words, record.to_word());
        }
        word.store(version, Ordering::Release);
    }

    /// Takes the records of dead writes, marked as such, out of the indexes: the primary one last, so
    /// that who finds a primary key free finds the others free, too.
    #[cold]
    fn unlink_dead(&mut self, tables: &TableSet<SiloHeader>) {
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
            door::retire(table, write.record, pin);
        }
    }

    /// Undoes what other transactions can see of this one: its index entries. No lock is held.
    fn take_back(&mut self, tables: &TableSet<SiloHeader>) {
        for at in 0..self.writes.len() {
            let write = &mut self.writes[at];
            write.state = match write.origin {
                Origin::Row => State::Unwritten,
                Origin::Insert => State::Dead,
            };
            if self.writes[at].origin == Origin::Insert {
                self.word(self.writes[at].record).store(ABSENT | DEAD, Ordering::Release);
            }
        }
        self.remove_extras(tables, false);
        self.remove_extras(tables, true);
        self.unlink_dead(tables);
    }

    pub(super) fn abort(&mut self, tables: &TableSet<SiloHeader>) {
        if !self.writes.is_empty() {
            self.take_back(tables);
        }
        self.end();
    }
}
