//! Reading: by key, by cursor, by handle.

#![allow(unsafe_code)] // meets records; see `door`

use super::dated::PAST;
use super::*;
use crate::footprint::cursors::PREFETCH_AHEAD;
use crate::footprint::record::{Seen, read_record, read_record_part};
use crate::snapshot::has_key;
use planaria_base::sync::point;
use planaria_storage::{Found, Index, Part};
use std::hint::cold_path;

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

impl<R: Rules> Txn<R> {
    #[inline]
    pub(super) fn get(
        &mut self,
        table: &Table<R::Header>,
        id: IndexId,
        key: &KeyBuf,
        arena: &mut Arena,
    ) -> Result<Option<Row>, Conflict> {
        if self.claiming {
            return self.get_dated(table, id, key, arena);
        }
        self.get_now(table, id, key, false, arena)
    }

    /// The row of a record that an index had for this key, if it is there and has the key still. That it is not says nothing of the
    /// key, which another row may have by now.
    #[inline]
    pub(super) fn get_found(
        &mut self,
        table: &Table<R::Header>,
        id: IndexId,
        key: &KeyBuf,
        found: Found,
        part: Option<&Part>,
        arena: &mut Arena,
    ) -> Result<Option<Row>, Conflict> {
        // These have ways of their own.
        if R::HEALS || self.claiming || self.is_reader() {
            return Ok(None);
        }
        let Some(word) = found.under(self.foot.participant.pinned()) else { return Ok(None) };
        // SAFETY: an index had it under this very pin.
        let record = unsafe { Met::from_word(word) };
        match self.follow(table.index(id), id, key.words(), record, part, false, arena)? {
            Followed::Row(row) => Ok(Some(row)),
            _ => Ok(None),
        }
    }

    /// Whether it reads parts of rows as well as whole ones.
    #[inline]
    pub(super) fn reads_parts(&self) -> bool {
        !R::HEALS && !R::MEETS && !self.claiming && !self.is_reader()
    }

    #[inline]
    pub(super) fn get_now(
        &mut self,
        table: &Table<R::Header>,
        id: IndexId,
        key: &KeyBuf,
        lenient: bool,
        arena: &mut Arena,
    ) -> Result<Option<Row>, Conflict> {
        if R::HEALS && self.heal.may && !lenient {
            return self.get_known(table, id, key, arena);
        }
        self.look_up(table, id, key, None, lenient, arena)
    }

    /// By the index.
    #[inline(always)]
    pub(super) fn look_up(
        &mut self,
        table: &Table<R::Header>,
        id: IndexId,
        key: &KeyBuf,
        part: Option<&Part>,
        lenient: bool,
        arena: &mut Arena,
    ) -> Result<Option<Row>, Conflict> {
        let index = table.index(id);
        let (found, node) = index.tree().get(self.foot.participant.pinned(), key.words());
        let row = match found {
            None => {
                if !lenient {
                    self.foot.nodes.add(node);
                }
                None
            }
            Some(word) => {
                // SAFETY: found.
                let record = unsafe { Met::from_word(word) };
                match self.follow(index, id, key.words(), record, part, lenient, arena)? {
                    Followed::Row(row) => Some(row),
                    Followed::Nothing => None,
                    // It holds the entry until commit, unless that was an early one of somebody who aborts:
                    // then the leaf tells if the key comes back.
                    Followed::GivenUp => {
                        if !lenient {
                            self.foot.nodes.add(node);
                        }
                        None
                    }
                    Followed::Stale => self.look_again(index, id, key.words(), word, lenient, arena)?,
                }
            }
        };
        if row.is_none() {
            cold_path();
            self.foot.look_in(table.id());
            if self.ranged && !lenient {
                self.has_no_row(table, id, key.words());
            }
        }
        Ok(row)
    }

    /// Remembers that there is no row with a key. An own one that gives the key up may have it still.
    #[cold]
    fn has_no_row(&mut self, table: &Table<R::Header>, id: IndexId, key: &[u64]) {
        let range = self.ranges.add_key(table.id(), id, key);
        let entry =
            // SAFETY: found.
            table.index(id).tree().get(self.foot.participant.pinned(), key).0.map(|word| unsafe { Met::from_word(word) });
        if let Some(record) = entry.filter(|record| self.foot.find_effective(*record).is_some()) {
            self.ranges.meet(range, record);
        }
    }

    /// The row that an entry leads to. `lenient`: as [`RowLocks::scan_leniently`](crate::RowLocks::scan_leniently)
    /// says.
    #[inline]
    #[allow(clippy::too_many_arguments, reason = "an entry, and how it is read")]
    pub(super) fn follow(
        &mut self,
        index: &Index,
        id: IndexId,
        key: &[u64],
        record: Ptr<R>,
        part: Option<&Part>,
        lenient: bool,
        arena: &mut Arena,
    ) -> Result<Followed, Conflict> {
        if let Some(write) = self.foot.find_effective(record) {
            return Ok(match self.foot.own_holder(index, id, key, write) {
                Some(holder) => Followed::Row(self.own_row(holder, arena)?),
                None => Followed::GivenUp,
            });
        }
        let seen = read_record_part(record, part, self.foot.participant.pinned(), &self.foot.mine, arena);
        if R::HEALS && seen.is_err() {
            self.heal.busy = record.to_word();
        }
        match seen? {
            Seen::Row(version, image) => {
                let matches = has_key(index, id, image.words(arena), key, &mut self.foot.other_key);
                if !matches && self.ranged {
                    cold_path();
                    if !lenient {
                        self.ranges.witness(record, version);
                    }
                    return Ok(Followed::Stale);
                }
                let handle = self.push_access(record, if lenient { version | LENIENT } else { version });
                R::has_read(self, handle.0 as usize)?;
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
            let (found, node) = index.tree().get(self.foot.participant.pinned(), key);
            match found.filter(|word| *word != stale) {
                None => {
                    if !lenient {
                        self.foot.nodes.add(node);
                    }
                    return Ok(None);
                }
                Some(word) => {
                    // SAFETY: found.
                    let record = unsafe { Met::from_word(word) };
                    match self.follow(index, id, key, record, None, lenient, arena)? {
                        Followed::Row(row) => return Ok(Some(row)),
                        Followed::Nothing => return Ok(None),
                        Followed::GivenUp => {
                            if !lenient {
                                self.foot.nodes.add(node);
                            }
                            return Ok(None);
                        }
                        // Each turn means that another transaction committed in between.
                        Followed::Stale => stale = word,
                    }
                }
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
        self.foot.look_in(table);
        let (dated, loose) = (self.dated.reads_past(), self.dated.is_loose());
        let remembered =
            if self.ranged && !loose { self.ranges.add(table, index, range, descending) } else { NONE };
        let cursor = self.cursors.open(index, range, descending);
        let look = &mut self.cursors[cursor].more;
        (look.lenient, look.range, look.dated) = (loose, remembered, dated);
        if dated {
            look.past.open(range, descending);
        }
        cursor
    }

    pub(super) fn scan_next(
        &mut self,
        table: &Table<R::Header>,
        cursor: CursorId,
        arena: &mut Arena,
    ) -> Result<Option<Row>, Conflict> {
        let mut next = None;
        self.scan(table, cursor, arena, |_, row| {
            next = Some(row);
            false
        })?;
        Ok(next)
    }

    /// The next rows of a scan, as long as `take` asks for more.
    #[inline]
    pub(super) fn scan(
        &mut self,
        table: &Table<R::Header>,
        cursor: CursorId,
        arena: &mut Arena,
        take: impl FnMut(&Arena, Row) -> bool,
    ) -> Result<(), Conflict> {
        if self.cursors[cursor].more.dated {
            self.scan_dated(table, cursor, arena, take)
        } else {
            self.scan_now(table, cursor, arena, take)
        }
    }

    /// [`Txn::scan`] of what there is now.
    #[inline]
    fn scan_now(
        &mut self,
        table: &Table<R::Header>,
        cursor: CursorId,
        arena: &mut Arena,
        mut take: impl FnMut(&Arena, Row) -> bool,
    ) -> Result<(), Conflict> {
        let id = self.cursors[cursor].index;
        if self.claiming {
            self.dated.note_strict(self.accesses.len());
        }
        let index = table.index(id);
        loop {
            let Txn { foot, cursors, accesses, ranges, heal, .. } = self;
            let OpenCursor { cursor, more: Look { lenient, range, .. }, .. } = &mut cursors[cursor];
            let (lenient, range) = (*lenient, *range);
            let pin = foot.participant.pinned();
            if let Some(ahead) = cursor.upcoming().get(PREFETCH_AHEAD) {
                RecordPtr::<R::Header>::from_word(*ahead).prefetch();
            }
            let known = accesses.len();
            let next = cursor.next(index.tree(), pin, |node| {
                if !lenient {
                    foot.nodes.add(node);
                }
                if range != NONE {
                    ranges.pass(range, node);
                }
            });
            if range != NONE {
                if next.is_none() {
                    ranges.reach_end(range);
                }
            } else if !R::HEALS || !heal.may {
                // Else commit is going to notice.
                foot.nodes.check()?;
            }
            let Some((words, word)) = next else { return Ok(()) };
            point("has come to the next row");
            // SAFETY: found.
            let record = unsafe { Met::from_word(word) };
            if let Some(write) = foot.find_effective(record) {
                foot.key.set_words(words);
                // By an entry that it has added itself it meets nothing: the row may have come with another key of the
                // range, which it had not met.
                if range != NONE && !foot.has_added_key(id, write) {
                    ranges.meet(range, record);
                }
                if let Some(holder) = foot.own_holder_of_key(index, id, write) {
                    let row = self.own_row(holder, arena)?;
                    R::has_met(self, table, row, arena)?;
                    if !take(arena, row) {
                        return Ok(());
                    }
                }
                continue;
            }
            let seen = read_record(record, pin, &foot.mine, arena);
            if R::HEALS && seen.is_err() {
                heal.busy = record.to_word();
            }
            match seen? {
                Seen::Row(version, image) => {
                    let matches = has_key(index, id, image.words(arena), words, &mut foot.other_key);
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
                        R::has_read(self, handle.0 as usize)?;
                        let row = Row { handle, image };
                        R::has_met(self, table, row, arena)?;
                        if !take(arena, row) {
                            return Ok(());
                        }
                        continue;
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
            foot.key.set_words(words);
            let key = std::mem::take(&mut foot.key);
            let found = self.look_again(index, id, key.words(), word, lenient, arena);
            self.foot.key = key;
            R::has_read(self, known)?;
            if let Some(row) = found? {
                let access = self.accesses[row.handle.0 as usize];
                if range != NONE && access.version != OWN {
                    self.ranges.meet(range, access.record);
                }
                R::has_met(self, table, row, arena)?;
                if !take(arena, row) {
                    return Ok(());
                }
            }
        }
    }

    pub(super) fn load(&mut self, row: RowHandle, arena: &mut Arena) -> Result<Option<Image>, Conflict> {
        if row.0 & PAST != 0 {
            return self.dated.load(row, arena).map(Some);
        }
        let Access { record, version: mut expected } = self.accesses[row.0 as usize];
        if !self.foot.writes.is_empty()
            && let Some(write) = self.foot.find_write(record)
        {
            let entry = &self.foot.writes[write as usize];
            let image = entry.image;
            match entry.state {
                State::Live => {
                    let offset = arena.push_words(image.words(&self.foot.images))?;
                    return Ok(Some(Image { offset, len: image.len }));
                }
                State::Dead => return Ok(None),
                // Others may have changed what is not to be written after all, and it has been read anew.
                State::Unwritten if expected == OWN || entry.version & LENIENT == 0 => {
                    expected = entry.version;
                }
                State::Unwritten => {}
            }
        }
        match read_record(record, self.foot.participant.pinned(), &self.foot.mine, arena)? {
            Seen::Row(now, image) if now == expected & !LENIENT || self.is_torn() || !R::VALIDATES => {
                Ok(Some(image))
            }
            _ => Err(Conflict::Validation),
        }
    }
}
