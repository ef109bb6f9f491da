//! Writing: into the write set and, for keys, into the indexes.

#![allow(unsafe_code)] // looks at records; see `door`

use super::dated::PAST;
use super::read::{Seen, read_record};
use super::*;
use crate::door;
use crate::snapshot::has_key;
use planaria_storage::Index;
use planaria_storage::btree::Insert;

/// What asking for an index entry gave.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Claim {
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
const CLAIMS_MAX: u32 = 32;

impl SiloTxn {
    pub(super) fn insert(
        &mut self,
        table: &Table<SiloHeader>,
        image: &[u64],
    ) -> Result<Result<RowHandle, Refused>, Conflict> {
        self.dated.check_change()?;
        // First whatever can fail: a key that is in an index must be in the write set too.
        let mark = self.images.mark();
        let offset = self.images.push_words(image)?;
        let record = table.allocate(self.worker, image.len());
        let version = self.placeholder();
        if version != ABSENT {
            // SAFETY: own.
            unsafe { door::look(record, self.participant.pinned()) }.header().0.publish(version);
        }
        // The number that the write is going to have.
        let me = self.writes.len() as u32;
        match self.claim(table, IndexId::PRIMARY, image, record, me) {
            Ok(Ok(Claim::Added | Claim::TakenOver | Claim::Mine)) => {}
            refused => {
                // SAFETY: own; the primary index, which is the first, has refused it.
                unsafe { door::free(table, record) };
                self.images.truncate(mark);
                return refused.map(|r| Err(r.err().unwrap_or(Refused::Duplicate(IndexId::PRIMARY))));
            }
        }
        let handle = self.push_access(record, OWN);
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
        match self.claim_secondary(table, image, record, me)? {
            None => Ok(Ok(handle)),
            // What has been put in by now is taken out at the end.
            Some(refused) => {
                self.writes[me as usize].state = State::Dead;
                Ok(Err(refused))
            }
        }
    }

    fn claim_secondary(
        &mut self,
        table: &Table<SiloHeader>,
        image: &[u64],
        record: Ptr,
        me: u32,
    ) -> Result<Option<Refused>, Conflict> {
        for (id, _) in table.secondary() {
            match self.claim(table, id, image, record, me)? {
                Ok(Claim::Duplicate) => return Ok(Some(Refused::Duplicate(id))),
                Ok(_) => {}
                Err(refused) => return Ok(Some(refused)),
            }
        }
        Ok(None)
    }

    /// Puts an index entry for the row `image` of `record`, write number `me`, in place.
    fn claim(
        &mut self,
        table: &Table<SiloHeader>,
        id: IndexId,
        image: &[u64],
        record: Ptr,
        me: u32,
    ) -> Result<Result<Claim, Refused>, Conflict> {
        let index = table.index(id);
        let mut key = std::mem::take(&mut self.key);
        let claim = match index.codec().encode_row(image, &mut key) {
            Ok(()) => {
                let free = self.check_key_past(index, key.words());
                free.and_then(|()| self.claim_key(index, id, key.words(), record, me)).map(Ok)
            }
            Err(_) => Ok(Err(Refused::KeyTooLong(id))),
        };
        self.key = key;
        if claim == Ok(Ok(Claim::Duplicate)) && !index.codec().is_exclusive(image) {
            // The key ends with the primary key: only a zombie sees two rows with one.
            return Err(Conflict::Validation);
        }
        claim
    }

    fn claim_key(
        &mut self,
        index: &Index,
        id: IndexId,
        key: &[u64],
        record: Ptr,
        me: u32,
    ) -> Result<Claim, Conflict> {
        for _ in 0..CLAIMS_MAX {
            match index.tree().insert(self.participant.pinned(), key, record.to_word()) {
                Insert::Done(changes) => {
                    self.nodes.apply(&changes);
                    return Ok(Claim::Added);
                }
                Insert::Exists(word, _) => {
                    if let Some(claim) = self.claim_existing(index, id, key, Ptr::from_word(word), me)? {
                        return Ok(claim);
                    }
                }
            }
        }
        Err(Conflict::Key)
    }

    /// The key has an entry, which leads to `found`. `None`: it may be gone now.
    fn claim_existing(
        &mut self,
        index: &Index,
        id: IndexId,
        key: &[u64],
        found: Ptr,
        me: u32,
    ) -> Result<Option<Claim>, Conflict> {
        if let Some(write) = self.find_write(found) {
            if write != me && self.writes[write as usize].state == State::Unwritten {
                if self.has_added(write, id, key) {
                    // Left behind by an update that was undone: nobody needs it, and it must go now,
                    // since commit will not lock that row. Putting it in anew moves the leaf on.
                    index.tree().remove(self.participant.pinned(), key, found.to_word());
                    return Ok(None);
                }
            } else if let Some(holder) = self.own_holder(index, id, key, write) {
                return Ok(Some(match holder {
                    _ if holder != me => Claim::Duplicate,
                    _ if write == me => Claim::Mine,
                    _ => Claim::TakenOver,
                }));
            } else if self.owns_entry(index, id, key, write)? {
                if write == me {
                    return Ok(Some(Claim::Mine));
                }
                let next = self.writes[write as usize].takeovers;
                self.writes[write as usize].takeovers = self.takeovers.len() as u32;
                self.takeovers.push(Takeover { index: id, from: write, to: me, next });
                return Ok(Some(Claim::TakenOver));
            } else {
                return Ok(None);
            }
        }
        let mark = self.images.mark();
        let seen = read_record(found, self.participant.pinned(), &mut self.images)?;
        let claim = match seen {
            Seen::Row(version, image) => {
                let same = has_key(index, id, image.words(&self.images), key, &mut self.other_key);
                // An answer like any other: it must hold at commit. (An entry that is early or
                // stale belongs to somebody who is about to commit or abort.)
                if same && self.dated.is_new_to_serializable(version) {
                    self.images.truncate(mark);
                    return Err(Conflict::Past);
                }
                same.then(|| self.push_access(found, version)).map(|_| Claim::Duplicate)
            }
            Seen::Placeholder(version) if self.blocked_by(found, version) => {
                self.images.truncate(mark);
                return Err(Conflict::Claimed);
            }
            Seen::Placeholder(_) | Seen::Dead => None,
        };
        self.images.truncate(mark);
        if claim.is_none() {
            (0..SPINS_MAX / CLAIMS_MAX).for_each(|_| spin_hint());
        }
        Ok(claim)
    }

    /// Whether this transaction has put this entry of its write's record in.
    fn has_added(&self, write: u32, id: IndexId, key: &[u64]) -> bool {
        self.has_added_one(write, id, |added| added == key)
    }

    fn has_added_one(&self, write: u32, id: IndexId, is_it: impl Fn(&[u64]) -> bool) -> bool {
        let mut next = self.writes[write as usize].extras;
        while next != NONE {
            let extra = &self.extras[next as usize];
            if extra.index == id && is_it(extra.key.words(&self.images)) {
                return true;
            }
            next = extra.next;
        }
        false
    }

    /// The same of the key in `self.key`, which an index has given.
    pub(super) fn has_added_key(&self, id: IndexId, write: u32) -> bool {
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
        let owned = match read_record(record, self.participant.pinned(), &mut self.images)? {
            Seen::Row(now, image) if now == version & !LENIENT => {
                Ok(has_key(index, id, image.words(&self.images), key, &mut self.other_key))
            }
            _ => Err(Conflict::Validation),
        };
        self.images.truncate(mark);
        owned
    }

    /// The write of a row that is about to change, made if it is new; `None` if it is dead.
    fn write_of(
        &mut self,
        table: &Table<SiloHeader>,
        row: RowHandle,
        strength: Strength,
    ) -> Result<Option<u32>, Conflict> {
        if row.0 & PAST != 0 {
            return Err(Conflict::Past);
        }
        let Access { record, version } = self.accesses[row.0 as usize];
        let write = match self.find_write(record) {
            Some(write) => {
                if self.writes[write as usize].version & LENIENT != 0 {
                    self.renew(write, version & !LENIENT)?;
                }
                let entry = &self.writes[write as usize];
                if entry.state == State::Dead {
                    return Ok(None);
                }
                if version != OWN && version & !LENIENT != entry.version {
                    return Err(Conflict::Validation);
                }
                self.strengthen(write, strength)?;
                write
            }
            None => {
                let version = version & !LENIENT;
                if self.claiming {
                    self.dated.check_change()?;
                    self.dated.check_version(version)?;
                    self.claim_record(record, table.id(), version, strength)?;
                }
                if self.keeps_before {
                    self.keep_before(record, version)?;
                }
                self.push_write(WriteEntry {
                    record,
                    version,
                    image: Image::default(),
                    touched: IndexSet::EMPTY,
                    table: table.id(),
                    saved: 0,
                    takeovers: NONE,
                    extras: NONE,
                    origin: Origin::Row,
                    state: State::Unwritten,
                    strength,
                })
            }
        };
        self.accesses[row.0 as usize].version = OWN;
        Ok(Some(write))
    }

    /// A row that was not to be written after all is to be written as it was read now.
    #[cold]
    fn renew(&mut self, write: u32, version: u64) -> Result<(), Conflict> {
        let entry = &mut self.writes[write as usize];
        entry.version = version;
        let record = entry.record;
        if let Some(at) = self.before.iter().position(|(of, _)| *of == write) {
            match read_record(record, self.participant.pinned(), &mut self.images)? {
                Seen::Row(now, image) if now == version => self.before[at].1 = image,
                _ => return Err(Conflict::Validation),
            }
        }
        Ok(())
    }

    /// Keeps the image of a row that is about to get a write. Validation answers for its version.
    #[cold]
    fn keep_before(&mut self, record: Ptr, version: u64) -> Result<(), Conflict> {
        match read_record(record, self.participant.pinned(), &mut self.images)? {
            Seen::Row(now, image) if now == version => {
                self.before.push((self.writes.len() as u32, image));
                Ok(())
            }
            _ => Err(Conflict::Validation),
        }
    }

    /// The same for all writes so far.
    #[cold]
    pub(super) fn keep_before_now(&mut self) -> Result<(), Conflict> {
        if std::mem::replace(&mut self.keeps_before, true) {
            return Ok(());
        }
        for (i, write) in (0u32..).zip(&self.writes) {
            if write.origin == Origin::Row {
                match read_record(write.record, self.participant.pinned(), &mut self.images)? {
                    Seen::Row(_, image) => self.before.push((i, image)),
                    _ => return Err(Conflict::Validation),
                }
            }
        }
        Ok(())
    }

    /// Logs the state of a write that is older than the innermost savepoint, before its first change
    /// since. Whether its image may be overwritten: no log entry needs it.
    #[inline]
    fn save(&mut self, write: u32) -> bool {
        let entry = &mut self.writes[write as usize];
        if write >= self.floor || entry.saved >= self.savepoint {
            return true;
        }
        let WriteEntry { state, image, saved, .. } = *entry;
        self.undo.push(Undo { write, state, image, saved });
        entry.saved = self.savepoint;
        false
    }

    pub(super) fn update(
        &mut self,
        table: &Table<SiloHeader>,
        row: RowHandle,
        image: &[u64],
        touched: IndexSet,
    ) -> Result<Result<(), Refused>, Conflict> {
        // Who refers to the row does so by a unique key.
        let keys_move = touched.iter().any(|id| table.index(id).codec().unique());
        let strength = if keys_move { Strength::Update } else { Strength::NoKeyUpdate };
        let Some(write) = self.write_of(table, row, strength)? else { return Ok(Ok(())) };
        if !touched.is_empty()
            && let Some(refused) = self.move_keys(table, write, image, touched)?
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
        table: &Table<SiloHeader>,
        write: u32,
        image: &[u64],
        touched: IndexSet,
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
            let claim = match index.codec().encode_row(image, &mut key) {
                // Kept before it is in the index, so that no entry can be forgotten there.
                Ok(()) => self.keep_key(&key).and_then(|kept| {
                    self.check_key_past(index, key.words())?;
                    let claim = self.claim_key(index, id, key.words(), record, write)?;
                    if claim == Claim::Added {
                        self.push_extra(write, id, kept);
                    }
                    Ok(Ok(claim))
                }),
                Err(_) => Ok(Err(Refused::KeyTooLong(id))),
            };
            self.key = key;
            match claim? {
                Ok(Claim::Added | Claim::Mine | Claim::TakenOver) => {}
                // As in `claim`.
                Ok(Claim::Duplicate) if !index.codec().is_exclusive(image) => {
                    return Err(Conflict::Validation);
                }
                Ok(Claim::Duplicate) => return Ok(Some(Refused::Duplicate(id))),
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

    pub(super) fn delete(&mut self, table: &Table<SiloHeader>, row: RowHandle) -> Result<bool, Conflict> {
        let Some(write) = self.write_of(table, row, Strength::Update)? else { return Ok(false) };
        let WriteEntry { record, version, state, .. } = self.writes[write as usize];
        let old = match state {
            State::Unwritten => match read_record(record, self.participant.pinned(), &mut self.images)? {
                Seen::Row(now, image) if now == version => Some(image),
                _ => return Err(Conflict::Validation),
            },
            _ => None,
        };
        self.save(write);
        let entry = &mut self.writes[write as usize];
        if let Some(old) = old {
            entry.image = old;
        }
        entry.state = State::Dead;
        Ok(true)
    }

    pub(super) fn rollback_to(&mut self, savepoint: Savepoint) {
        while self.undo.len() > savepoint.undo as usize {
            if let Some(Undo { write, state, image, saved }) = self.undo.pop() {
                let entry = &mut self.writes[write as usize];
                (entry.state, entry.image, entry.saved) = (state, image, saved);
            }
        }
        for entry in &mut self.writes[savepoint.writes as usize..] {
            entry.state = match entry.origin {
                Origin::Insert => State::Dead,
                Origin::Row => State::Unwritten,
            };
        }
        (self.floor, self.savepoint) = (savepoint.writes, savepoint.serial);
    }
}
