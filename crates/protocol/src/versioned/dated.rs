//! Reading as of a moment: transactions that a client steers statement by statement.
//!
//! A call reads what is there, and is repeated where that did not hold. A block has shown its answers by then. So it
//! reads the state of one moment, a snapshot of its own ([`crate::snapshot`]): rows that have changed since are taken from the old
//! versions. Its own changes are seen as ever, as nobody else's commit changes a row that it has claimed.
//!
//! **Serializable.** What is read as of the moment and has not changed since is in the read set, and its ranges are remembered,
//! like everything that a transaction reads; so a writer is validated at commit like any other, and a reader has its
//! place in the order at its moment, without validation. Where a statement meets what has changed since
//! ([`Dated::is_behind`]), the moment is moved on, if what was read before holds ([`Txn::move_on`]), and the statement runs
//! again. If it does not hold, a writer has failed. A reader goes on in the past: it is *settled* there, and may not
//! change anything any more.
//!
//! *Why the moment can be moved on.* The new moment S is announced before anything is validated. A commit at S or before had
//! locked what it changes when S was announced, so validation meets the lock, or the change. What is as it was read then has
//! been so at S. That is true of versions and leaves; a row whose columns are found to be the same again, and a range without
//! a row that was not met, are so *now*, after S, and may have been otherwise in between. So behind such a second look
//! ([`Txn::reconcile`], [`Txn::scan_again`]) a newer moment is announced, and everything is validated again.
//!
//! **As of now.** Whether a key is taken (ON CONFLICT), whether a constraint holds, and which rows can be claimed is answered as
//! of now, whatever the moment. A transaction that has heard such an answer has no place in the past any more, even if it
//! has changed nothing: it is validated as of now, like a writer.
//!
//! **Weaker levels.** What is read need not hold: it is lenient ([`LENIENT`]), and no ranges are remembered. READ COMMITTED
//! takes a moment for each statement. Under REPEATABLE READ, a row that has changed since the moment cannot be changed.
//!
//! **Constraints** are looked at as of now, strictly, at every level ([`crate::RowLocks::for_constraint`]); that a key is taken is
//! no constraint that holds, but an answer, which need not hold at the weaker levels.

#![allow(unsafe_code)] // meets records; see `door`

use super::read::Followed;
use super::*;
use crate::ColumnsRead;
use crate::footprint::record::{Seen, found, read_record};
use crate::snapshot::{Moment, Opened, Step, has_key, old_image};
use planaria_base::{Isolation, sync::point};
use planaria_storage::arena::Mark;
use planaria_storage::{Field, Index};

/// In a [`RowHandle`]: the row is an old version, a copy. No transaction has as many accesses.
pub(super) const PAST: u32 = 1 << 31;

/// How often a statement that only reads is run again because rows have changed.
const RENEWALS_MAX: u32 = 3;

/// Without a moment: every version is older.
const NEVER: u64 = u64::MAX;

/// The level and the moment of a transaction. One that claims nothing has neither.
pub(super) struct Dated {
    pub(super) snapshots: Arc<Snapshots>,
    level: Option<Isolation>,
    moment: Option<Opened>,
    /// The moment; [`NEVER`].
    at: u64,
    /// Reads for constraints.
    checking: bool,
    /// Something was answered as of now.
    asked_now: bool,
    /// The statement has met what has changed since.
    behind: bool,
    /// It stays where it is, and changes nothing.
    settled: bool,
    /// Of the statement, which changes nothing or something.
    renewals: u32,
    changes: bool,
    /// Statements of the transaction that changed something.
    changing: u32,
    /// Old versions that the statement has read, and where the words were before each.
    images: Vec<(Image, Mark)>,
    words: Arena,
    /// The transaction has read some.
    shown_past: bool,
    /// The columns that were read, and whether the statement has said which it reads.
    columns: ColumnsRead,
    told: bool,
    /// Of what table the accesses are, from these numbers on; `None`: for constraints, or not told.
    tables: Vec<(u32, Option<TableId>)>,
    /// Numbers of those of which only the key matters, for a constraint, and their tables.
    keyed: Vec<(u32, TableId)>,
    /// Numbers of those whose rows have changed, but not in what was read. Their versions are younger than the moment.
    reconciled: Vec<u32>,
}

impl Dated {
    pub(super) fn new(snapshots: Arc<Snapshots>) -> Dated {
        Dated {
            snapshots,
            level: None,
            moment: None,
            at: NEVER,
            checking: false,
            asked_now: false,
            behind: false,
            settled: false,
            renewals: 0,
            changes: false,
            changing: 0,
            images: Vec::new(),
            words: Arena::new(),
            shown_past: false,
            columns: ColumnsRead::default(),
            told: false,
            tables: Vec::new(),
            keyed: Vec::new(),
            reconciled: Vec::new(),
        }
    }

    pub(super) fn set_level(&mut self, level: Isolation) {
        self.end();
        self.level = Some(level);
    }

    pub(super) fn begin_statement(&mut self, clock: &CommitClock) {
        if let Some(level) = self.level {
            (self.renewals, self.changes, self.told) = (0, false, false);
            self.forget_images();
            if self.moment.is_none() || level == Isolation::ReadCommitted {
                let moment = self.announce(clock);
                self.move_to(moment);
            }
        }
    }

    pub(super) fn end_statement(&mut self) {
        if self.level == Some(Isolation::ReadCommitted)
            && let Some(moment) = self.moment.take()
        {
            self.snapshots.close_later(moment);
            self.at = NEVER;
        }
    }

    /// Whether it is worth it, after this statement, to look whether the transaction has lost already: that takes as long
    /// as reading did, so ever more seldom.
    pub(super) fn should_look(&mut self) -> bool {
        self.changing += u32::from(self.changes);
        self.changes && self.level == Some(Isolation::Serializable) && self.changing.is_power_of_two()
    }

    fn announce(&self, clock: &CommitClock) -> Opened {
        self.snapshots.announce(clock, Moment::Now)
    }

    fn move_to(&mut self, moment: Opened) {
        if let Some(last) = self.moment.replace(moment) {
            self.snapshots.close_later(last);
        }
        (self.at, self.behind) = (moment.at.0, false);
    }

    pub(super) fn for_constraint(&mut self, on: bool) {
        self.checking = on;
        self.asked_now |= on;
    }

    /// A row is claimed as it is now.
    pub(super) fn has_claimed(&mut self) {
        self.asked_now = true;
    }

    pub(super) fn end(&mut self) {
        if let Some(moment) = self.moment.take() {
            self.snapshots.close_later(moment);
        }
        (self.level, self.at) = (None, NEVER);
        (self.checking, self.behind, self.settled) = (false, false, false);
        (self.asked_now, self.shown_past) = (false, false);
        self.changing = 0;
        self.forget_images();
        self.columns.clear();
        self.tables.clear();
        self.keyed.clear();
        self.reconciled.clear();
    }

    pub(super) fn will_read(&mut self, columns: &ColumnsRead) {
        self.told = true;
        self.columns.union(columns);
    }

    /// The answer was that a key is there already.
    pub(super) fn has_read_key(&mut self, table: TableId, index: &Index) {
        self.asked_now = true;
        if self.told {
            self.columns.insert(table, index.codec().columns());
        }
    }

    /// The accesses from number `at` on are of a table.
    #[inline]
    pub(super) fn note_table(&mut self, at: usize, table: TableId) {
        self.note(at, (self.told && !self.checking).then_some(table));
    }

    /// They hold as they are or not at all.
    pub(super) fn note_strict(&mut self, at: usize) {
        self.note(at, None);
    }

    #[inline]
    fn note(&mut self, at: usize, table: Option<TableId>) {
        if self.tables.last().is_some_and(|(_, last)| *last == table) {
            return;
        }
        self.tables.pop_if(|(from, _)| *from as usize >= at);
        self.tables.push((at as u32, table));
    }

    /// Of an access only the columns of this index matter.
    pub(super) fn only_key(&mut self, access: u32, table: TableId, index: &Index) {
        if self.level.is_some() {
            self.columns.insert(table, index.codec().columns());
            self.keyed.push((access, table));
        }
    }

    /// Of what table an access is, of which the columns that matter are known.
    fn table_of(&self, access: u32) -> Option<TableId> {
        if let Some((_, table)) = self.keyed.iter().find(|(keyed, _)| *keyed == access) {
            return Some(*table);
        }
        let at = self.tables.partition_point(|(from, _)| *from <= access);
        self.tables[..at].last()?.1
    }

    /// Accesses from this number on are forgotten.
    pub(super) fn go_back(&mut self, accesses: u32) {
        self.forget_images();
        self.tables.truncate(self.tables.partition_point(|(from, _)| *from < accesses));
        self.keyed.retain(|(at, _)| *at < accesses);
        self.reconciled.retain(|at| *at < accesses);
    }

    pub(super) fn moment(&self) -> Option<CommitTs> {
        self.moment.map(|moment| moment.at)
    }

    /// The newest commit of which a transaction was shown anything that has met rows as new as this, as they are now.
    pub(super) fn newest_shown(&self, met: CommitTs) -> CommitTs {
        match self.moment() {
            Some(_) if self.asked_now => met,
            Some(at) if !self.shown_past => met.min(at),
            Some(at) => at,
            None => met,
        }
    }

    /// Whether a transaction that has changed nothing holds at its moment, and need not hold now.
    pub(super) fn holds_in_the_past(&self) -> bool {
        self.moment.is_some() && !(self.asked_now && self.level == Some(Isolation::Serializable))
    }

    /// The place in the order of a transaction that has changed nothing, if it is in the past. One that has to hold now, and has
    /// seen the past, has none.
    pub(super) fn place(&self) -> Option<Result<CommitTs, Conflict>> {
        let moment = self.moment?;
        if self.holds_in_the_past() {
            return Some(Ok(moment.at.next()));
        }
        (self.behind || self.settled).then_some(Err(Conflict::Past))
    }

    pub(super) fn is_behind(&self) -> bool {
        self.behind && !self.settled && self.level == Some(Isolation::Serializable)
    }

    /// Whether what is read now is as of the moment.
    #[inline]
    pub(super) fn reads_past(&self) -> bool {
        self.at != NEVER && !self.checking
    }

    /// Whether what is read now need not hold.
    #[inline]
    pub(super) fn is_loose(&self) -> bool {
        self.reads_past() && self.level != Some(Isolation::Serializable)
    }

    /// Whether nothing that is read needs to hold at commit, but for what constraints rest on.
    pub(super) fn is_weak(&self) -> bool {
        self.level.is_some_and(|level| level != Isolation::Serializable)
    }

    fn is_new(&self, version: u64) -> bool {
        version & !(LENIENT | CLAIMED) > self.at
    }

    /// Whether a row has come or changed since the moment of a serializable transaction, which should not hear of it.
    pub(super) fn is_new_to_serializable(&self, version: u64) -> bool {
        self.level == Some(Isolation::Serializable) && self.is_new(version)
    }

    /// Whether the transaction may change anything.
    #[inline]
    pub(super) fn check_change(&mut self) -> Result<(), Conflict> {
        self.changes = true;
        if self.settled { Err(Conflict::Past) } else { Ok(()) }
    }

    /// It would change a row that has changed since its moment: that has to move on, however often.
    pub(super) fn past_change(&mut self) -> Conflict {
        self.changes = true;
        Conflict::Past
    }

    /// Whether SKIP LOCKED passes over a row that was met as it is now: at a moment that stays where it is there was none like it.
    pub(super) fn passes_over(&self, version: u64) -> bool {
        self.level == Some(Isolation::RepeatableRead) && self.is_new(version)
    }

    /// Whether it may change a row that it has read at a version: not if that is younger than its moment.
    pub(super) fn check_version(&self, version: u64) -> Result<(), Conflict> {
        let fixed = self.level != Some(Isolation::ReadCommitted);
        if fixed && self.is_new(version) { Err(Conflict::Past) } else { Ok(()) }
    }

    /// A key that has been put in must not have been another row's at a moment that cannot be moved on. (Who takes a
    /// key out has kept it for those moments before.)
    pub(super) fn check_key_past<H: Versioned>(
        &self,
        foot: &Footprint<H>,
        index: &Index,
        key: &[u64],
    ) -> Result<(), Conflict> {
        let Dated { at, level, .. } = *self;
        if at == NEVER || level == Some(Isolation::ReadCommitted) || index.old().is_empty() {
            return Ok(());
        }
        match index.old().find(foot.participant.pinned(), key, CommitTs(at)) {
            Some(_) => Err(Conflict::Past),
            None => Ok(()),
        }
    }

    pub(super) fn load(&self, row: RowHandle, arena: &mut Arena) -> Result<Image, Conflict> {
        let (image, _) = self.images[(row.0 & !PAST) as usize];
        let offset = arena.push_words(image.words(&self.words))?;
        Ok(Image { offset, len: image.len })
    }

    /// The last one that was read is not needed any more.
    pub(super) fn unused(&mut self, row: RowHandle) {
        if (row.0 & !PAST) as usize + 1 == self.images.len()
            && let Some((_, mark)) = self.images.pop()
        {
            self.words.truncate(mark);
        }
    }

    /// Handles are of use within a statement.
    fn forget_images(&mut self) {
        recycle(&mut self.images);
        self.words.reset();
    }

    fn hold(&mut self, old: &[u64], arena: &mut Arena) -> Result<Row, Conflict> {
        let len = old.len() as u32;
        let handle = RowHandle(PAST | self.images.len() as u32);
        let mark = self.words.mark();
        self.images.push((Image { offset: self.words.push_words(old)?, len }, mark));
        self.shown_past = true;
        Ok(Row { handle, image: Image { offset: arena.push_words(old)?, len } })
    }
}

impl<R: Rules> Txn<R> {
    /// [`Txn::get`] of a transaction that claims what it writes.
    #[inline(never)]
    pub(super) fn get_dated(
        &mut self,
        table: &Table<R::Header>,
        id: IndexId,
        key: &KeyBuf,
        arena: &mut Arena,
    ) -> Result<Option<Row>, Conflict> {
        self.dated.note_table(self.accesses.len(), table.id());
        let mark = arena.mark();
        let now = self.get_now(table, id, key, self.dated.is_loose(), arena)?;
        self.as_of_moment(table, (id, key.words()), now, mark, arena)
    }

    /// What there was at the moment in place of what there is `now`.
    fn as_of_moment(
        &mut self,
        table: &Table<R::Header>,
        key: (IndexId, &[u64]),
        now: Option<Row>,
        mark: Mark,
        arena: &mut Arena,
    ) -> Result<Option<Row>, Conflict> {
        if !self.dated.reads_past() {
            return Ok(now);
        }
        let later = match now {
            Some(row) => {
                let Access { record, version } = self.accesses[row.handle.0 as usize];
                if version == OWN || !self.dated.is_new(version) {
                    return Ok(now);
                }
                self.dated.behind = true;
                Some(record)
            }
            None if table.index(key.0).old().is_empty() => return Ok(None),
            None => None,
        };
        let Txn { foot: Footprint { participant, other_key, .. }, dated, .. } = self;
        let (pin, at) = (participant.pinned(), CommitTs(dated.at));
        let later = later.map(|record| found(record, pin));
        let old = old_image(table, key, later, at, pin, other_key);
        arena.truncate(mark);
        let Some(old) = old else { return Ok(None) };
        dated.behind = true;
        dated.hold(old, arena).map(Some)
    }

    /// [`Txn::scan`] as of the moment. The rules hear of none of its rows: they have nothing to do where rows are claimed.
    #[inline]
    pub(super) fn scan_dated(
        &mut self,
        table: &Table<R::Header>,
        cursor: CursorId,
        arena: &mut Arena,
        mut take: impl FnMut(&Arena, Row) -> bool,
    ) -> Result<(), Conflict> {
        loop {
            let Txn {
                foot: Footprint { nodes, participant, mine, other_key, writes, .. },
                cursors,
                accesses,
                ranges,
                dated,
                ..
            } = self;
            let OpenCursor { index: id, more: Look { lenient, range, past, .. }, .. } = &mut cursors[cursor];
            let (id, lenient, range) = (*id, *lenient, *range);
            let (pin, index) = (participant.pinned(), table.index(id));
            let at = CommitTs(dated.at);
            let step = past.step::<R::Header>(index, pin, at, |node| {
                if !lenient {
                    nodes.add(node);
                }
                if range != NONE {
                    ranges.pass(range, node);
                }
            });
            let word = match step {
                Step::End => {
                    if range != NONE {
                        ranges.reach_end(range);
                    }
                    return Ok(());
                }
                Step::Old => {
                    let key = past.key().unwrap_or_default();
                    if let Some(old) = index.old().find(pin, key, at) {
                        dated.behind = true;
                        let row = dated.hold(old, arena)?;
                        if !take(arena, row) {
                            return Ok(());
                        }
                    }
                    continue;
                }
                Step::Entry(word) => word,
            };
            dated.note_table(accesses.len(), table.id());
            let mark = arena.mark();
            // What most rows are: nobody's, and as they were at the moment.
            if writes.is_empty() {
                // SAFETY: found.
                let record = unsafe { Met::from_word(word) };
                if let Ok(Seen::Row(version, image)) = read_record(record, pin, mine, arena)
                    && !dated.is_new(version)
                    && (id == IndexId::PRIMARY
                        || has_key(index, id, image.words(arena), past.key().unwrap_or_default(), other_key))
                {
                    let version = if lenient { version | LENIENT } else { version };
                    accesses.push(Access { record, version });
                    if range != NONE {
                        ranges.meet(range, record);
                    }
                    let handle = RowHandle((accesses.len() - 1) as u32);
                    R::has_read(self, handle.0 as usize)?;
                    if !take(arena, Row { handle, image }) {
                        return Ok(());
                    }
                    continue;
                }
                arena.truncate(mark);
            }
            let key = past.take_key();
            let now = self.entry_now(index, (id, &key), word, (lenient, range), arena);
            let row = now.and_then(|now| self.as_of_moment(table, (id, &key), now, mark, arena));
            self.cursors[cursor].more.past.put_key(key);
            if let Some(row) = row?
                && !take(arena, row)
            {
                return Ok(());
            }
        }
    }

    /// The row to which an entry of a scan leads now.
    fn entry_now(
        &mut self,
        index: &Index,
        (id, key): (IndexId, &[u64]),
        word: u64,
        (lenient, range): (bool, u32),
        arena: &mut Arena,
    ) -> Result<Option<Row>, Conflict> {
        // SAFETY: found.
        let record = unsafe { Met::from_word(word) };
        let own = self.foot.find_effective(record);
        if range != NONE
            && let Some(write) = own
        {
            // As in `scan_next`.
            self.foot.key.set_words(key);
            if !self.foot.has_added_key(id, write) {
                self.ranges.meet(range, record);
            }
        }
        let row = match self.follow(index, id, key, record, None, lenient, arena)? {
            Followed::Row(row) => Some(row),
            Followed::Nothing | Followed::GivenUp => None,
            Followed::Stale => self.look_again(index, id, key, word, lenient, arena)?,
        };
        if range != NONE
            && let Some(row) = row
        {
            let access = self.accesses[row.handle.0 as usize];
            if access.version != OWN {
                self.ranges.meet(range, access.record);
            }
        }
        Ok(row)
    }

    /// See [`crate::Levels::move_on`].
    pub(super) fn move_on(
        &mut self,
        tables: &TableSet<R::Header>,
        clock: &CommitClock,
        cause: Conflict,
    ) -> bool {
        let Some(level) = self.dated.level.filter(|_| self.dated.moment.is_some()) else {
            return self.still_holds(tables, |_| {});
        };
        if level == Isolation::RepeatableRead || self.dated.settled {
            self.dated.behind = false;
            return cause != Conflict::Past;
        }
        let mut moment = self.dated.announce(clock);
        point("has announced a later moment");
        // What has been looked at again holds behind the moment that there was.
        let later = |dated: &mut Dated| {
            let earlier = std::mem::replace(&mut moment, dated.announce(clock));
            dated.snapshots.close_later(earlier);
        };
        if level == Isolation::ReadCommitted || self.still_holds(tables, later) {
            self.dated.move_to(moment);
            // No version is younger than the moment.
            self.dated.reconciled.clear();
            // A long look at rows that change all the time is one at the past in the end. (What has met somebody's lock
            // may not have come to what it would change.)
            self.dated.renewals += u32::from(cause == Conflict::Past);
            self.dated.settled = level == Isolation::Serializable
                && !self.dated.changes
                && self.dated.renewals > RENEWALS_MAX
                && !self.foot.has_effect()
                && self.held.is_empty();
            return true;
        }
        self.dated.snapshots.close_later(moment);
        if self.foot.has_effect() || !self.held.is_empty() {
            return false;
        }
        (self.dated.settled, self.dated.behind) = (true, false);
        true
    }

    /// Whether the rows that have changed since they were read have their values in the columns that were read: then
    /// they hold as they are now. The old version is there, as it is kept for the moment.
    #[cold]
    pub(super) fn reconcile(&mut self, tables: &TableSet<R::Header>, holding: bool) -> bool {
        // Read committed has no moment any more; of repeatable read these are reads for constraints.
        if self.dated.level.is_none() || self.dated.moment.is_none() {
            return false;
        }
        (0..self.accesses.len()).all(|at| self.reconcile_row(at, tables, holding))
    }

    fn reconcile_row(&mut self, at: usize, tables: &TableSet<R::Header>, holding: bool) -> bool {
        let Access { record, version } = self.accesses[at];
        if version == OWN || version & LENIENT != 0 {
            return true;
        }
        let word = self.foot.word(record).load() & !CLAIMED;
        if word == version {
            return true;
        }
        if self.foot.find_effective(record).is_some() {
            return holding && word == version | LOCKED;
        }
        // Else it was read as of now, for a constraint.
        let of_moment = version <= self.dated.at || self.dated.reconciled.contains(&(at as u32));
        let Some(id) = self.dated.table_of(at as u32).filter(|_| of_moment) else { return false };
        if !self.outwaits(record, holding) {
            return false;
        }
        let table = tables.get(id);
        let mark = self.dated.words.mark();
        let Txn { foot: Footprint { participant, mine, .. }, dated, .. } = self;
        let pin = participant.pinned();
        let now = match read_record(record, pin, mine, &mut dated.words) {
            Ok(Seen::Row(now, image)) => {
                let image = image.words(&dated.words);
                let old = table.kept(found(record, pin), CommitTs(dated.at), pin);
                let same = old.is_some_and(|old| match dated.columns.of(id) {
                    Some(columns) => {
                        let layout = table.layout();
                        columns.iter().all(|c| is_same(layout.field(old, c), layout.field(image, c)))
                    }
                    None => old == image,
                });
                same.then_some(now)
            }
            _ => None,
        };
        self.dated.words.truncate(mark);
        let Some(now) = now else { return false };
        self.accesses[at].version = now;
        if !self.dated.reconciled.contains(&(at as u32)) {
            self.dated.reconciled.push(at as u32);
        }
        true
    }
}

/// The very same value; for numbers that compare equal and look different that is not so.
pub(super) fn is_same(a: Field<'_>, b: Field<'_>) -> bool {
    match (a, b) {
        (Field::Float(a), Field::Float(b)) => a.to_bits() == b.to_bits(),
        (a, b) => a == b,
    }
}
