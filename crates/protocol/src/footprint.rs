//! The footprint of a transaction: what it is about to change, where it has looked, and what that has left in the
//! indexes meanwhile.
//!
//! It belongs to no scheme. A scheme decides what its transaction may see, remembers what it has read, locks,
//! and draws the place in the order; the footprint has the writes, puts keys into the indexes and takes them out
//! again, and installs or undoes the whole. Schemes share it as a field of theirs, and what they are asked meanwhile they
//! answer by [`Encounters`].
//!
//! ```text
//!  writes    one per record: origin, state, image, version that was read     (found by `write_map`)
//!  edits     takeovers, extras: what stands in the indexes before commit     `edits`
//!  undo      states older than a savepoint                                   here
//!  nodes     leaves on which scans and failed lookups depend                 `sets`
//!  cursors   open scans, with what a scheme knows of each                    `cursors`
//! ```
//!
//! **Header.** The first word of a record's header is a [`VersionWord`] ([`Versioned`]):
//!
//! ```text
//!  63      62       61     60        59 .. 0
//!  LOCKED  ABSENT   DEAD   CLAIMED   commit timestamp of the last write
//! ```
//!
//! ABSENT: no row here, either not yet (the placeholder of an insert that has not committed) or no
//! more. DEAD (with ABSENT): never again; the record is being taken out of the indexes. A record goes
//! from placeholder to present to dead, never back: who inserts a key anew takes a new record. A
//! placeholder of a transaction that claims has its worker's number, plus one, in the low bits. CLAIMED:
//! only the holder of the record's claim may change it (`crate::claim`); it is no part of the version.
//!
//! **Index entries.** INSERT puts the entries in at once, pointing to an absent placeholder; UPDATE of
//! indexed columns adds the new entries at once (*early* ones) and removes the old ones at commit, under
//! the record's lock. So an entry of a secondary index may lead to a row with another key, and whoever
//! follows one compares. An early entry is its transaction's alone: others who need the key, be it for
//! the same row, meet a conflict. If a transaction gives a key up (deletes its row, or moves it away)
//! and then uses it for another row, the entry must show the old row to others until commit: this is a
//! *takeover*, a note that commit carries out by replacing the entry's value under both locks before
//! the old row is unlocked. Its own reads follow the note; other readers who find an entry's record
//! dead or moved away look the key up once more. A dead record may have early entries of transactions
//! that will fail; they remove them before they end, and the record is retired late enough for that.
//!
//! **Savepoints.** Writes are never removed from the write set before the end; undoing turns an insert
//! into a dead placeholder and an update into no write. Only states older than the savepoint are
//! logged, so taking one costs a few stores.
//!
//! **The end.** A scheme that has locked every write (but those in [`State::Unwritten`]), has drawn its timestamp and is
//! certain calls [`Footprint::install`], which unlocks them; one that gives up lets go of its locks and calls
//! [`Footprint::take_back`]. Then [`Footprint::clear`].

pub(crate) mod cursors;
mod edits;
pub(crate) mod mine;
pub(crate) mod record;
pub(crate) mod sets;
pub(crate) mod word;

use crate::door::Met;
use crate::{Conflict, Savepoint, Write, WriteKind};
use planaria_base::{IndexId, Strength, TableId};
use planaria_storage::btree::Fingers;
use planaria_storage::reclaim::Participant;
use planaria_storage::{Arena, Header, Image, IndexSet, KeyBuf, TableSet};
use record::{Seen, read_record};
use sets::{NodeSet, PointerMap};
use std::hint::cold_path;
use word::{LENIENT, VersionWord};

pub(crate) use edits::Encounters;
use mine::Mine;

/// Looks at a locked record before giving up. A holder that runs needs well under a microsecond; one
/// that lost its processor is not worth waiting for.
pub(crate) const SPINS_MAX: u32 = 512;

/// Elements that lists keep room for between transactions.
const KEEP: usize = 1 << 20;

/// Empties a list, and gives back what a giant has made of it.
#[inline]
pub(crate) fn recycle<T>(list: &mut Vec<T>) {
    list.clear();
    if list.capacity() > KEEP {
        cold_path();
        list.shrink_to(KEEP);
    }
}

/// A header with a version word.
pub trait Versioned: Header {
    /// See the head of this module.
    fn word(&self) -> &VersionWord;
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Origin {
    /// A placeholder of this transaction.
    Insert,
    /// A committed row.
    Row,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum State {
    /// The row shall be `image`.
    Live,
    /// The row shall not be.
    Dead,
    /// Undone: the row stays as it is. Only of `Origin::Row`.
    Unwritten,
}

/// An element of the write set: there is one per record.
pub(crate) struct WriteEntry<H> {
    pub(crate) record: Met<H>,
    /// The version that was read (of an insert: the placeholder's), with [`LENIENT`] if it need not hold.
    pub(crate) version: u64,
    /// In the transaction's images. Of a dead row: as it was.
    pub(crate) image: Image,
    /// Indexes in which the row's key may have changed.
    pub(crate) touched: IndexSet,
    pub(crate) table: TableId,
    /// The last savepoint for which the entry's state was logged.
    saved: u32,
    /// The first of its takeovers, and of the entries it added; [`NONE`].
    takeovers: u32,
    extras: u32,
    pub(crate) origin: Origin,
    pub(crate) state: State,
    /// Of the claim that commit needs, where others have claimed the row.
    pub(crate) strength: Strength,
}

impl<H> Clone for WriteEntry<H> {
    #[inline]
    fn clone(&self) -> Self {
        *self
    }
}
impl<H> Copy for WriteEntry<H> {}

/// No number of anything.
pub(crate) const NONE: u32 = u32::MAX;

/// An entry of `index` that points to the record of write `from` belongs to write `to` after commit.
struct Takeover {
    index: IndexId,
    from: u32,
    to: u32,
    next: u32,
}

/// An index entry that this transaction added and that the final row may not need.
struct Extra {
    /// [`NONE`]: it has taken it out again.
    write: u32,
    index: IndexId,
    key: Image,
    next: u32,
}

struct Undo {
    write: u32,
    state: State,
    image: Image,
    saved: u32,
}

/// See the module's head.
pub(crate) struct Footprint<H> {
    pub(crate) participant: Participant,
    pub(crate) worker: usize,
    /// What it has locked as it runs.
    pub(crate) mine: Mine,
    pub(crate) nodes: NodeSet,
    pub(crate) writes: Vec<WriteEntry<H>>,
    write_map: PointerMap,
    /// If before-images are kept: number and before-image of each write of a committed row, ascending.
    before: Vec<(u32, Image)>,
    pub(crate) keeps_before: bool,
    takeovers: Vec<Takeover>,
    extras: Vec<Extra>,
    undo: Vec<Undo>,
    /// Writes before the innermost savepoint, its identity, and the last identity given.
    floor: u32,
    savepoint: u32,
    savepoints: u32,
    /// After-images, before-images and keys.
    pub(crate) images: Arena,
    /// Tables in which it has looked for rows that need not be there.
    pub(crate) looked: Vec<TableId>,
    /// Addresses and numbers of the writes in lock order.
    pub(crate) order: Vec<(u64, u32)>,
    pub(crate) key: KeyBuf,
    pub(crate) other_key: KeyBuf,
    pub(crate) scratch: Vec<u64>,
    /// Where its index entries went.
    fingers: Fingers,
}

impl<H: Versioned> Footprint<H> {
    pub(crate) fn new(worker: usize) -> Footprint<H> {
        Footprint {
            participant: Participant::new(),
            worker,
            mine: Mine::default(),
            nodes: NodeSet::default(),
            writes: Vec::new(),
            write_map: PointerMap::default(),
            before: Vec::new(),
            keeps_before: false,
            takeovers: Vec::new(),
            extras: Vec::new(),
            undo: Vec::new(),
            floor: 0,
            savepoint: 0,
            savepoints: 0,
            images: Arena::new(),
            looked: Vec::new(),
            order: Vec::new(),
            key: KeyBuf::new(),
            other_key: KeyBuf::new(),
            scratch: Vec::new(),
            fingers: Fingers::default(),
        }
    }

    /// Forgets everything.
    #[inline]
    pub(crate) fn clear(&mut self) {
        self.nodes.clear();
        if !self.writes.is_empty() {
            recycle(&mut self.writes);
            self.write_map.clear();
            recycle(&mut self.before);
            self.takeovers.clear();
            recycle(&mut self.extras);
            self.undo.clear();
            self.images.reset();
            recycle(&mut self.order);
        }
        self.looked.clear();
        (self.floor, self.savepoint, self.savepoints) = (0, 0, 0);
    }

    /// The write of a record, if there is one.
    #[inline]
    pub(crate) fn find_write(&self, record: Met<H>) -> Option<u32> {
        self.write_map.find(record.to_word(), self.writes.len(), |i| self.writes[i].record.to_word())
    }

    /// Whether indexes have entries for the sake of a write, whatever became of it.
    pub(crate) fn has_put_keys_in(&self, write: u32) -> bool {
        let WriteEntry { takeovers, extras, touched, .. } = &self.writes[write as usize];
        *takeovers != NONE || *extras != NONE || !touched.is_empty()
    }

    /// The same of a write that has not been undone.
    #[inline]
    pub(crate) fn find_effective(&self, record: Met<H>) -> Option<u32> {
        if self.writes.is_empty() {
            return None;
        }
        self.find_write(record).filter(|at| self.writes[*at as usize].state != State::Unwritten)
    }

    #[inline]
    fn push_write(&mut self, write: WriteEntry<H>) -> u32 {
        let at = self.writes.len();
        let record = write.record.to_word();
        self.writes.push(write);
        let Footprint { write_map, writes, .. } = self;
        write_map.insert(record, at, |i| writes[i].record.to_word());
        at as u32
    }

    /// The write of a committed row that has none yet, and may get one.
    #[inline]
    pub(crate) fn begin_write(
        &mut self,
        record: Met<H>,
        version: u64,
        table: TableId,
        strength: Strength,
    ) -> Result<u32, Conflict> {
        if self.keeps_before {
            self.keep_before(record, version)?;
        }
        Ok(self.push_write(WriteEntry {
            record,
            version,
            image: Image::default(),
            touched: IndexSet::EMPTY,
            table,
            saved: 0,
            takeovers: NONE,
            extras: NONE,
            origin: Origin::Row,
            state: State::Unwritten,
            strength,
        }))
    }

    /// A row that was not to be written after all is to be written as it was read now.
    #[cold]
    pub(crate) fn renew(&mut self, write: u32, version: u64) -> Result<(), Conflict> {
        let entry = &mut self.writes[write as usize];
        entry.version = version;
        let record = entry.record;
        if let Ok(at) = self.before.binary_search_by_key(&write, |(of, _)| *of) {
            match read_record(record, self.participant.pinned(), &self.mine, &mut self.images)? {
                Seen::Row(now, image) if now == version => self.before[at].1 = image,
                _ => return Err(Conflict::Validation),
            }
        }
        Ok(())
    }

    /// Keeps the image of a row that is about to get a write. Validation answers for its version.
    #[cold]
    fn keep_before(&mut self, record: Met<H>, version: u64) -> Result<(), Conflict> {
        match read_record(record, self.participant.pinned(), &self.mine, &mut self.images)? {
            Seen::Row(now, image) if now == version => {
                self.before.push((self.writes.len() as u32, image));
                Ok(())
            }
            _ => Err(Conflict::Validation),
        }
    }

    /// From now on before-images are kept, and those of all writes so far.
    #[cold]
    pub(crate) fn keep_before_now(&mut self) -> Result<(), Conflict> {
        if std::mem::replace(&mut self.keeps_before, true) {
            return Ok(());
        }
        for (i, write) in (0u32..).zip(&self.writes) {
            if write.origin == Origin::Row {
                match read_record(write.record, self.participant.pinned(), &self.mine, &mut self.images)? {
                    Seen::Row(_, image) => self.before.push((i, image)),
                    _ => return Err(Conflict::Validation),
                }
            }
        }
        Ok(())
    }

    /// The image of a write, copied for the caller.
    #[inline]
    pub(crate) fn copy_image(&self, write: u32, arena: &mut Arena) -> Result<Image, Conflict> {
        let image = self.writes[write as usize].image;
        let offset = arena.push_words(image.words(&self.images))?;
        Ok(Image { offset, len: image.len })
    }

    /// Notes that the transaction has seen what is not in a table.
    #[inline]
    pub(crate) fn look_in(&mut self, table: TableId) {
        if !self.looked.contains(&table) {
            self.looked.push(table);
        }
    }

    /// Whether the transaction will change anything.
    pub(crate) fn has_effect(&self) -> bool {
        self.writes.iter().any(|write| match write.state {
            State::Live => true,
            State::Dead => write.origin == Origin::Row,
            State::Unwritten => false,
        })
    }

    /// See [`crate::Effects::writes`].
    pub(crate) fn for_each_write(&self, f: &mut dyn FnMut(Write<'_>)) {
        let mut kept = self.before.iter().peekable();
        for (i, write) in (0u32..).zip(&self.writes) {
            let before =
                kept.next_if(|(of, _)| *of == i).map_or(&[][..], |(_, image)| image.words(&self.images));
            let kind = match (write.origin, write.state) {
                (Origin::Insert, State::Live) => WriteKind::Insert,
                (Origin::Row, State::Live) => WriteKind::Update,
                (Origin::Row, State::Dead) => WriteKind::Delete,
                (Origin::Insert, _) | (_, State::Unwritten) => continue,
            };
            let image = write.image.words(&self.images);
            f(Write { table: write.table, kind, image, before, location: write.record.to_word() });
        }
    }

    /// Undoes everything, for another run of the same transaction; no savepoint is in force.
    pub(crate) fn begin_again(&mut self) {
        self.go_back(Savepoint { writes: 0, undo: 0, serial: 0, outer: (0, 0) });
        self.nodes.clear();
    }

    /// See [`crate::Savepoints::savepoint`].
    #[inline]
    pub(crate) fn savepoint(&mut self) -> Savepoint {
        let outer = (self.floor, self.savepoint);
        self.savepoints += 1;
        self.savepoint = self.savepoints;
        self.floor = self.writes.len() as u32;
        Savepoint { writes: self.floor, undo: self.undo.len() as u32, serial: self.savepoint, outer }
    }

    /// See [`crate::Savepoints::release`].
    #[inline]
    pub(crate) fn release(&mut self, savepoint: Savepoint) {
        (self.floor, self.savepoint) = savepoint.outer;
        if self.savepoint == 0 {
            // Nothing is left to go back to.
            self.undo.clear();
        }
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

    /// See [`crate::Savepoints::rollback_to`].
    pub(crate) fn rollback_to(&mut self, savepoint: Savepoint) {
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

    /// [`Footprint::rollback_to`], and rows that are not to be written after all need not be as they were.
    pub(crate) fn go_back(&mut self, savepoint: Savepoint) {
        self.rollback_to(savepoint);
        for entry in &mut self.writes[savepoint.writes as usize..] {
            if entry.origin == Origin::Row {
                entry.version |= LENIENT;
            }
        }
    }

    /// Puts what has to be locked in order: of addresses, unless a run is to be repeated, where they are none. (As
    /// spinning is bounded, any will do.)
    #[inline]
    pub(crate) fn put_in_order(&mut self) {
        let Footprint { order, writes, .. } = self;
        order.clear();
        let written = writes.iter().zip(0u32..).filter(|(write, _)| write.state != State::Unwritten);
        order.extend(written.map(|(write, i)| (write.record.to_word(), i)));
        if order.len() > 1 && planaria_base::sync::simulation::orders_by_address() {
            order.sort_unstable();
        }
    }

    /// Notes in the tables that rows or keys of them are about to go, before anybody can miss them.
    #[inline]
    fn note_removals(&self, tables: &TableSet<H>, ts: planaria_base::CommitTs) {
        for write in &self.writes {
            let goes = write.state == State::Dead || !write.touched.is_empty();
            if goes && write.origin == Origin::Row && write.state != State::Unwritten {
                tables.get(write.table).removes(ts);
            }
        }
    }
}
