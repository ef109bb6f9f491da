//! Writing: what a footprint is asked for.

use super::dated::PAST;
use super::*;
use crate::footprint::Encounters;
use planaria_storage::Index;

/// What a transaction makes of what it meets as it puts keys in.
struct Meets<'t, R: Rules> {
    accesses: &'t mut Vec<Access<R>>,
    dated: &'t mut Dated,
    blocked: &'t mut Option<Blocked<R>>,
    /// The last one that was met.
    placeholder: &'t mut u64,
    claiming: bool,
}

impl<R: Rules> Encounters<R::Header> for Meets<'_, R> {
    fn entering(&mut self, table: TableId) {
        if self.claiming {
            self.dated.note_table(self.accesses.len(), table);
        }
    }

    fn entered(&mut self, foot: &Footprint<R::Header>, index: &Index, key: &[u64]) -> Result<(), Conflict> {
        self.dated.check_key_past(foot, index, key)
    }

    fn duplicate(&mut self, record: Ptr<R>, version: u64) -> Result<(), Conflict> {
        if self.dated.is_new_to_serializable(version) {
            return Err(Conflict::Past);
        }
        let lenient = if self.dated.is_weak() { LENIENT } else { 0 };
        self.accesses.push(Access { record, version: version | lenient });
        Ok(())
    }

    fn taken(&mut self, table: TableId, index: &Index) {
        self.dated.has_read_key(table, index);
    }

    fn placeholder(&mut self, record: Ptr<R>, version: u64) -> Result<(), Conflict> {
        if version & !ABSENT == 0 {
            *self.placeholder = record.to_word();
            return Ok(());
        }
        *self.blocked = Some(Blocked::Placeholder(record, version));
        Err(Conflict::Claimed)
    }
}

impl<R: Rules> Txn<R> {
    /// The footprint, and what it is told of what it meets.
    fn split(&mut self) -> (&mut Footprint<R::Header>, Meets<'_, R>) {
        let Txn { foot, accesses, dated, blocked, claiming, heal, .. } = self;
        let placeholder = &mut heal.placeholder;
        (foot, Meets { accesses, dated, blocked, placeholder, claiming: *claiming })
    }

    pub(super) fn insert(
        &mut self,
        table: &Table<R::Header>,
        image: &[u64],
    ) -> Result<Result<RowHandle, Refused>, Conflict> {
        self.dated.check_change()?;
        let (version, known) = (self.placeholder(), self.accesses.len());
        let (foot, mut meets) = self.split();
        let inserted = foot.insert(table, image, version, &mut meets)?;
        R::has_read(self, known)?;
        Ok(inserted.map(|write| self.push_access(self.foot.writes[write as usize].record, OWN)))
    }

    /// The write of a row that is about to change, made if it is new; `None` if it is dead.
    fn write_of(
        &mut self,
        table: &Table<R::Header>,
        row: RowHandle,
        strength: Strength,
    ) -> Result<Option<u32>, Conflict> {
        if row.0 & PAST != 0 {
            return Err(self.dated.past_change());
        }
        let Access { record, version } = self.accesses[row.0 as usize];
        let write = match self.foot.find_write(record) {
            Some(write) => {
                if self.foot.writes[write as usize].version & LENIENT != 0 {
                    self.foot.renew(write, version & !LENIENT)?;
                }
                let entry = &self.foot.writes[write as usize];
                if entry.state == State::Dead {
                    return Ok(None);
                }
                if version != OWN && version & !LENIENT != entry.version && !self.is_torn() {
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
                } else {
                    // Commit would find it out, but the keys of whoever has claimed it may be in the way before.
                    if self.foot.word(record).load() & CLAIMED != 0 {
                        self.pass_by_holders(record, table.id(), strength)?;
                    }
                    R::will_write(self, record)?;
                }
                self.foot.begin_write(record, version, table.id(), strength)?
            }
        };
        self.accesses[row.0 as usize].version = OWN;
        Ok(Some(write))
    }

    pub(super) fn update(
        &mut self,
        table: &Table<R::Header>,
        row: RowHandle,
        image: &[u64],
        touched: IndexSet,
    ) -> Result<Result<(), Refused>, Conflict> {
        let strength = Footprint::strength_of_update(table, touched);
        let Some(write) = self.write_of(table, row, strength)? else { return Ok(Ok(())) };
        let known = self.accesses.len();
        let (foot, mut meets) = self.split();
        let updated = foot.update(table, write, image, touched, &mut meets)?;
        R::has_read(self, known)?;
        Ok(updated)
    }

    pub(super) fn delete(&mut self, table: &Table<R::Header>, row: RowHandle) -> Result<bool, Conflict> {
        let Some(write) = self.write_of(table, row, Strength::Update)? else { return Ok(false) };
        self.foot.delete(write).map(|()| true)
    }
}
