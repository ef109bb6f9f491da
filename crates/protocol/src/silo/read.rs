//! Reading: by key, by cursor, by handle.

#![allow(unsafe_code)] // looks at records; see `door`

use super::dated::PAST;
use super::*;
use crate::door::look;
use crate::snapshot::has_key;
use planaria_base::sync::point;
use planaria_storage::Index;
use planaria_storage::reclaim::Pinned;
use std::ops::Bound;

/// What a look at a record gave.
pub(super) enum Seen {
    /// A row, at this version.
    Row(u64, Image),
    /// A placeholder, at this version.
    Placeholder(u64),
    /// A record that is leaving the indexes.
    Dead,
}

/// Where following an index entry led.
pub(super) enum Followed {
    /// To a row.
    Row(Row),
    /// Nowhere: there is no row with this key, and the read set answers for that.
    Nothing,
    /// To a row of this transaction that gives the key up; nothing answers for the key yet.
    GivenUp,
    /// To a record that has no such row any more: the entry may belong to another row by now.
    Stale,
}

/// One consistent image of a record, in the arena.
#[inline]
pub(super) fn read_record(record: Ptr, pin: Pinned<'_>, arena: &mut Arena) -> Result<Seen, Conflict> {
    // SAFETY: found or kept: the transaction reads what an index has just given it, or what is in its read set.
    let shown = unsafe { look(record, pin) };
    let word = &shown.header().0;
    let mut spins = 0;
    loop {
        let before = word.load();
        if before & (LOCKED | ABSENT) == 0 {
            let mark = arena.mark();
            let image = shown.read(arena)?;
            if word.is_unchanged(before) {
                return Ok(Seen::Row(before & !CLAIMED, image));
            }
            arena.truncate(mark);
        } else if before & LOCKED == 0 {
            return Ok(if before & DEAD != 0 { Seen::Dead } else { Seen::Placeholder(before) });
        }
        spins += 1;
        if spins > SPINS_MAX {
            return Err(Conflict::Locked);
        }
        spin_hint();
    }
}

impl SiloTxn {
    #[inline]
    pub(super) fn get(
        &mut self,
        table: &Table<SiloHeader>,
        id: IndexId,
        key: &KeyBuf,
        arena: &mut Arena,
    ) -> Result<Option<Row>, Conflict> {
        if self.claiming {
            return self.get_dated(table, id, key, arena);
        }
        self.get_now(table, id, key, false, arena)
    }

    #[inline]
    pub(super) fn get_now(
        &mut self,
        table: &Table<SiloHeader>,
        id: IndexId,
        key: &KeyBuf,
        lenient: bool,
        arena: &mut Arena,
    ) -> Result<Option<Row>, Conflict> {
        let index = table.index(id);
        let (found, node) = index.tree().get(self.participant.pinned(), key.words());
        let row = match found {
            None => {
                if !lenient {
                    self.nodes.add(node);
                }
                None
            }
            Some(word) => match self.follow(index, id, key.words(), Ptr::from_word(word), lenient, arena)? {
                Followed::Row(row) => Some(row),
                Followed::Nothing => None,
                // It holds the entry until commit, unless that was an early one of somebody who aborts:
                // then the leaf tells if the key comes back.
                Followed::GivenUp => {
                    if !lenient {
                        self.nodes.add(node);
                    }
                    None
                }
                Followed::Stale => self.look_again(index, id, key.words(), word, lenient, arena)?,
            },
        };
        if row.is_none() {
            self.look_in(table.id());
            if self.ranged && !lenient {
                self.has_no_row(table, id, key.words());
            }
        }
        Ok(row)
    }

    /// Remembers that there is no row with a key. An own one that gives the key up may have it still.
    #[cold]
    fn has_no_row(&mut self, table: &Table<SiloHeader>, id: IndexId, key: &[u64]) {
        let range = self.ranges.add_key(table.id(), id, key);
        let entry = table.index(id).tree().get(self.participant.pinned(), key).0.map(Ptr::from_word);
        let own = |record: &Ptr| {
            self.find_write(*record).is_some_and(|at| self.writes[at as usize].state != State::Unwritten)
        };
        if let Some(record) = entry.filter(own) {
            self.ranges.meet(range, record);
        }
    }

    /// The row that an entry leads to. `lenient`: as [`Protocol::scan_leniently`](crate::Protocol::scan_leniently)
    /// says.
    #[inline]
    pub(super) fn follow(
        &mut self,
        index: &Index,
        id: IndexId,
        key: &[u64],
        record: Ptr,
        lenient: bool,
        arena: &mut Arena,
    ) -> Result<Followed, Conflict> {
        if !self.writes.is_empty()
            && let Some(write) = self.find_write(record)
            && self.writes[write as usize].state != State::Unwritten
        {
            return Ok(match self.own_holder(index, id, key, write) {
                Some(holder) => Followed::Row(self.own_row(holder, arena)?),
                None => Followed::GivenUp,
            });
        }
        match read_record(record, self.participant.pinned(), arena)? {
            Seen::Row(version, image) => {
                let matches = has_key(index, id, image.words(arena), key, &mut self.other_key);
                if !matches && self.ranged {
                    if !lenient {
                        self.ranges.witness(record, version);
                    }
                    return Ok(Followed::Stale);
                }
                let handle = self.push_access(record, if lenient { version | LENIENT } else { version });
                Ok(if matches { Followed::Row(Row { handle, image }) } else { Followed::Stale })
            }
            Seen::Placeholder(version) => {
                if lenient {
                } else if self.ranged {
                    self.ranges.witness(record, version);
                } else {
                    self.push_access(record, version);
                }
                Ok(Followed::Nothing)
            }
            Seen::Dead => Ok(Followed::Stale),
        }
    }

    /// Which of this transaction's own rows has the key of an entry that points to the record of
    /// `write`: that one, or one that took the entry over.
    pub(super) fn own_holder(&mut self, index: &Index, id: IndexId, key: &[u64], write: u32) -> Option<u32> {
        let SiloTxn { writes, takeovers, images, other_key, .. } = self;
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

    /// An entry led to a record that does not have the row any more (`stale`). If it still does when
    /// looked up again, nobody has taken it over since: whoever does so replaces the entry before
    /// unlocking the old record. So there is no such row; the leaf answers for keys that come in.
    #[cold]
    #[inline(never)]
    pub(super) fn look_again(
        &mut self,
        index: &Index,
        id: IndexId,
        key: &[u64],
        mut stale: u64,
        lenient: bool,
        arena: &mut Arena,
    ) -> Result<Option<Row>, Conflict> {
        loop {
            let (found, node) = index.tree().get(self.participant.pinned(), key);
            match found.filter(|word| *word != stale) {
                None => {
                    if !lenient {
                        self.nodes.add(node);
                    }
                    return Ok(None);
                }
                Some(word) => match self.follow(index, id, key, Ptr::from_word(word), lenient, arena)? {
                    Followed::Row(row) => return Ok(Some(row)),
                    Followed::Nothing => return Ok(None),
                    Followed::GivenUp => {
                        if !lenient {
                            self.nodes.add(node);
                        }
                        return Ok(None);
                    }
                    // Each turn means that another transaction committed in between.
                    Followed::Stale => stale = word,
                },
            }
        }
    }

    pub(super) fn scan_open(
        &mut self,
        table: TableId,
        index: IndexId,
        range: &KeyRange,
        descending: bool,
    ) -> CursorId {
        self.look_in(table);
        let (dated, loose) = (self.dated.reads_past(), self.dated.is_loose());
        let remembered =
            if self.ranged && !loose { self.ranges.add(table, index, range, descending) } else { NONE };
        let at = match self.cursors.iter().position(|c| !c.open) {
            Some(at) => at,
            None => {
                let (cursor, open, lenient, range) = (Cursor::new(), false, false, NONE);
                let (dated, past) = (false, Merged::default());
                self.cursors.push(OpenCursor { cursor, index, open, lenient, range, dated, past });
                self.cursors.len() - 1
            }
        };
        let slot = &mut self.cursors[at];
        slot.index = index;
        slot.open = true;
        slot.lenient = loose;
        slot.range = remembered;
        self.cursors_open += 1;
        slot.dated = dated;
        if dated {
            slot.past.open(range, descending);
        }
        if range.is_empty() {
            slot.cursor = Cursor::new();
        } else {
            let upper = range.upper().map_or(Bound::Unbounded, Bound::Excluded);
            slot.cursor.open(Bound::Included(range.lower()), upper, descending);
        }
        CursorId(at as u32)
    }

    pub(super) fn scan_close(&mut self, cursor: CursorId) {
        let slot = &mut self.cursors[cursor.0 as usize];
        self.cursors_open -= u32::from(slot.open);
        slot.open = false;
    }

    pub(super) fn scan_next(
        &mut self,
        table: &Table<SiloHeader>,
        cursor: CursorId,
        arena: &mut Arena,
    ) -> Result<Option<Row>, Conflict> {
        let slot = &self.cursors[cursor.0 as usize];
        if slot.dated {
            return self.scan_next_dated(table, cursor, arena);
        }
        let id = slot.index;
        let index = table.index(id);
        loop {
            let SiloTxn { cursors, nodes, participant, accesses, ranges, key, other_key, .. } = self;
            let OpenCursor { cursor, lenient, range, .. } = &mut cursors[cursor.0 as usize];
            let (lenient, range) = (*lenient, *range);
            let pin = participant.pinned();
            if let Some(ahead) = cursor.upcoming().get(PREFETCH_AHEAD) {
                Ptr::from_word(*ahead).prefetch();
            }
            let next = cursor.next(index.tree(), pin, |node| {
                if !lenient {
                    nodes.add(node);
                }
            });
            if range != NONE {
                ranges.reach(range, next.map(|(key, _)| key));
            } else {
                nodes.check()?;
            }
            let Some((words, word)) = next else { return Ok(None) };
            point("has come to the next row");
            let record = Ptr::from_word(word);
            if !self.writes.is_empty()
                && let Some(write) = find_write(&self.write_map, &self.writes, record)
                && self.writes[write as usize].state != State::Unwritten
            {
                key.set_words(words);
                // By an entry that it has added itself it meets nothing: the row may have come with another key of the
                // range, which it had not met.
                if range != NONE && !self.has_added_key(id, write) {
                    self.ranges.meet(range, record);
                }
                match self.own_holder_of_key(index, id, write) {
                    Some(holder) => return self.own_row(holder, arena).map(Some),
                    None => continue,
                }
            }
            match read_record(record, pin, arena)? {
                Seen::Row(version, image) => {
                    let matches = has_key(index, id, image.words(arena), words, other_key);
                    if range != NONE && !matches {
                        ranges.witness(record, version);
                    } else {
                        let version = if lenient { version | LENIENT } else { version };
                        accesses.push(Access { record, version });
                    }
                    if matches {
                        if range != NONE {
                            ranges.meet(range, record);
                        }
                        let handle = RowHandle((accesses.len() - 1) as u32);
                        return Ok(Some(Row { handle, image }));
                    }
                }
                Seen::Placeholder(_) if lenient => continue,
                Seen::Placeholder(version) if range != NONE => {
                    ranges.witness(record, version);
                    continue;
                }
                Seen::Placeholder(version) => {
                    accesses.push(Access { record, version });
                    continue;
                }
                Seen::Dead => {}
            }
            key.set_words(words);
            let key = std::mem::take(key);
            let found = self.look_again(index, id, key.words(), word, lenient, arena);
            self.key = key;
            if let Some(row) = found? {
                let access = self.accesses[row.handle.0 as usize];
                if range != NONE && access.version != OWN {
                    self.ranges.meet(range, access.record);
                }
                return Ok(Some(row));
            }
        }
    }

    /// [`SiloTxn::own_holder`] of the key in `self.key`.
    fn own_holder_of_key(&mut self, index: &Index, id: IndexId, write: u32) -> Option<u32> {
        let key = std::mem::take(&mut self.key);
        let holder = self.own_holder(index, id, key.words(), write);
        self.key = key;
        holder
    }

    pub(super) fn load(&mut self, row: RowHandle, arena: &mut Arena) -> Result<Option<Image>, Conflict> {
        if row.0 & PAST != 0 {
            return self.dated.load(row, arena).map(Some);
        }
        let Access { record, version: mut expected } = self.accesses[row.0 as usize];
        if !self.writes.is_empty()
            && let Some(write) = self.find_write(record)
        {
            let entry = &self.writes[write as usize];
            let image = entry.image;
            match entry.state {
                State::Live => {
                    let offset = arena.push_words(image.words(&self.images))?;
                    return Ok(Some(Image { offset, len: image.len }));
                }
                State::Dead => return Ok(None),
                State::Unwritten => expected = entry.version,
            }
        }
        match read_record(record, self.participant.pinned(), arena)? {
            Seen::Row(now, image) if now == expected & !LENIENT => Ok(Some(image)),
            _ => Err(Conflict::Validation),
        }
    }
}

/// How many rows ahead of a scan records are fetched.
const PREFETCH_AHEAD: usize = 4;
