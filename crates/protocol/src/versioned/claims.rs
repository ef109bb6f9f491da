//! Claims of a transaction: asking, waiting, letting go, and going back to try again. See `crate::claim`.

use super::dated::PAST;
use super::*;
use crate::claim::{Asked, Slept, Unclaimed};
use crate::door::look;
use std::time::Duration;

/// The claims that a transaction keeps room for.
const HELD_KEPT: usize = 1 << 12;

impl<R: Rules> Txn<R> {
    fn id(&self) -> WorkerId {
        WorkerId(self.foot.worker as u16)
    }

    /// Claims a record that was read at a version, before it is changed.
    #[cold]
    pub(super) fn claim_record(
        &mut self,
        record: Ptr<R>,
        table: TableId,
        version: u64,
        strength: Strength,
    ) -> Result<(), Conflict> {
        self.ask_or_block(record, table, strength)?;
        self.is_as_read(record, version)
    }

    fn ask_or_block(&mut self, record: Ptr<R>, table: TableId, strength: Strength) -> Result<(), Conflict> {
        if self.ask(record, table, strength) {
            return Ok(());
        }
        self.blocked = Some(Blocked::Record(record, table, strength));
        Err(Conflict::Claimed)
    }

    /// A write needs a claim of this strength: of a row that the transaction has written before, and so has claimed.
    pub(super) fn strengthen(&mut self, write: u32, strength: Strength) -> Result<(), Conflict> {
        let WriteEntry { record, table, origin, strength: has, state, version, .. } =
            self.foot.writes[write as usize];
        if self.claiming && state == State::Unwritten {
            // The claim may have gone with what was undone.
            self.dated.check_change()?;
            self.dated.check_version(version)?;
            self.claim_record(record, table, version, strength)?;
            self.foot.writes[write as usize].strength = strength;
            return Ok(());
        }
        if strength <= has {
            return Ok(());
        }
        if self.claiming && origin == Origin::Row {
            self.ask_or_block(record, table, strength)?;
        }
        self.foot.writes[write as usize].strength = strength;
        Ok(())
    }

    /// From such a claim on nobody else changes a record; but somebody may have done so since it was read.
    fn is_as_read(&self, record: Ptr<R>, version: u64) -> Result<(), Conflict> {
        let now = look(record, self.foot.participant.pinned()).header().word().load();
        if now & !CLAIMED == version { Ok(()) } else { Err(Conflict::Validation) }
    }

    /// Whether this transaction has claimed the record, now or before.
    fn ask(&mut self, record: Ptr<R>, table: TableId, strength: Strength) -> bool {
        let word = look(record, self.foot.participant.pinned()).header().word();
        let before = match self.claims.ask(record.to_word(), table, self.id(), strength, || word.mark()) {
            Asked::Granted => None,
            Asked::Raised(before) => Some(before),
            Asked::Held => return true,
            Asked::Taken => return false,
        };
        self.held.push(Held { record, strength, before });
        true
    }

    pub(super) fn claim_row(
        &mut self,
        table: TableId,
        row: RowHandle,
        strength: Strength,
        if_claimed: IfClaimed,
    ) -> Result<bool, Conflict> {
        if row.0 & PAST != 0 {
            return Err(self.dated.past_change());
        }
        let Access { record, version } = self.accesses[row.0 as usize];
        if version == OWN && !self.claiming {
            return Ok(true);
        }
        if version == OWN {
            let Some(write) = self.foot.find_write(record) else { return Ok(true) };
            return match self.strengthen(write, strength) {
                Err(_) if if_claimed != IfClaimed::Wait => {
                    self.blocked = None;
                    Ok(false)
                }
                outcome => outcome.map(|()| true),
            };
        }
        let version = version & !LENIENT;
        if if_claimed == IfClaimed::Skip && self.dated.passes_over(version) {
            self.accesses[row.0 as usize].version = version | LENIENT;
            return Ok(false);
        }
        self.dated.check_change()?;
        let granted = self.claim_record_if(record, table, version, strength, if_claimed)?;
        if granted && if_claimed != IfClaimed::Wait {
            // It was met as it is now.
            self.dated.check_version(version)?;
            self.dated.has_claimed();
        }
        let skipped = !granted && if_claimed == IfClaimed::Skip;
        self.accesses[row.0 as usize].version = if skipped { version | LENIENT } else { version };
        Ok(granted)
    }

    /// See [`crate::RowLocks::share_key`]. Who claims nothing waits for others that are about to take the row away.
    #[inline]
    pub(super) fn share_key(&mut self, table: TableId, row: RowHandle) -> Result<bool, Conflict> {
        if self.is_reader() || row.0 & PAST != 0 {
            return Ok(false);
        }
        let Access { record, version } = self.accesses[row.0 as usize];
        // Its own row has a stronger claim, or is nobody else's.
        if version == OWN {
            return Ok(self.claiming);
        }
        if self.claiming {
            self.claim_record(record, table, version & !LENIENT, Strength::KeyShare)?;
        } else if self.foot.word(record).load() & CLAIMED != 0 {
            self.pass_by_holders(record, table, Strength::KeyShare)?;
        }
        Ok(self.claiming)
    }

    /// Who claims nothing is about to meet a row that somebody has claimed: it waits, if that is in its way.
    #[cold]
    pub(super) fn pass_by_holders(
        &mut self,
        record: Ptr<R>,
        table: TableId,
        strength: Strength,
    ) -> Result<(), Conflict> {
        // Whoever has the shard may be waiting there for a word that this transaction has locked.
        let asks = !self.alone && (!R::HEALS || self.foot.mine.is_empty());
        if asks && self.claims.is_taken(record.to_word(), self.id(), strength) {
            self.blocked = Some(Blocked::Record(record, table, strength));
            return Err(Conflict::Claimed);
        }
        Ok(())
    }

    fn claim_record_if(
        &mut self,
        record: Ptr<R>,
        table: TableId,
        version: u64,
        strength: Strength,
        if_claimed: IfClaimed,
    ) -> Result<bool, Conflict> {
        let wait = if_claimed == IfClaimed::Wait;
        if !self.claiming {
            let word = look(record, self.foot.participant.pinned()).header().word().load();
            if wait || word & CLAIMED == 0 {
                return Ok(true);
            }
            if R::HEALS && !self.foot.mine.is_empty() {
                // Whoever has its shard may be waiting there for a word that this transaction has locked.
                return Err(Conflict::Claimed);
            }
            return Ok(!self.claims.is_taken(record.to_word(), self.id(), strength));
        }
        if wait {
            return self.claim_record(record, table, version, strength).map(|()| true);
        }
        if !self.ask(record, table, strength) {
            return Ok(false);
        }
        self.is_as_read(record, version).map(|()| true)
    }

    /// Whether this transaction has claimed a record for a write.
    pub(super) fn has_claimed(&self, write: &WriteEntry<R::Header>) -> bool {
        let is_it = |held: &Held<R>| held.record == write.record && held.strength >= write.strength;
        // A transaction that claims has claimed each row that it writes.
        self.claiming || self.alone || self.held.iter().any(is_it)
    }

    /// The bit of a word that the transaction has locked, to be kept when it is unlocked: `meets` such, its own or others'.
    #[inline]
    pub(super) fn claim_bit(meets: bool, word: &VersionWord) -> u64 {
        if meets { word.load() & CLAIMED } else { 0 }
    }

    /// Whether words that it has locked may be claimed.
    #[inline]
    pub(super) fn meets_claims(&self) -> bool {
        !self.held.is_empty() || self.alone || self.beside.get()
    }

    /// Locks the word of a row that others have claimed in such a way that it may be changed all the same: whether it has
    /// come to that.
    #[cold]
    pub(super) fn lock_beside(&self, write: &WriteEntry<R::Header>) -> bool {
        let word = self.foot.word(write.record);
        let lock = || word.try_lock(write.version | CLAIMED) == Locking::Done;
        let locked = self.claims.while_free(write.record.to_word(), self.id(), write.strength, lock);
        self.beside.set(self.beside.get() || locked);
        locked
    }

    /// What this transaction puts in the word of a placeholder.
    #[inline]
    pub(super) fn placeholder(&self) -> u64 {
        if self.claiming { ABSENT | (self.foot.worker as u64 + 1) } else { ABSENT }
    }

    pub(super) fn await_claim(
        &mut self,
        patience: &mut dyn FnMut() -> Option<Duration>,
    ) -> Result<(), Unclaimed> {
        // A call, or a statement alone, begins again.
        let (me, repeatable) = (self.id(), !self.claiming);
        let (claims, pin) = (self.claims.clone(), self.foot.participant.pinned());
        let waits = match self.blocked.take() {
            None => return Ok(()),
            Some(Blocked::Record(record, table, strength)) => {
                let word = look(record, pin).header().word();
                let has = claims.of(record.to_word(), me);
                let asked = claims.line_up(record.to_word(), table, me, strength, repeatable, || word.mark());
                // Its own as soon as it is granted.
                if asked != Asked::Held {
                    self.held.push(Held { record, strength, before: has });
                }
                asked == Asked::Taken
            }
            Some(Blocked::Placeholder(record, version)) => {
                let word = look(record, pin).header().word();
                let other = WorkerId(((version & !ABSENT) - 1) as u16);
                let runs = || word.load() & !LOCKED == version;
                if other != me && claims.await_end(other, me, repeatable, runs) {
                    return self.sleep(patience);
                }
                false
            }
        };
        if !waits {
            return Ok(());
        }
        let outcome = self.sleep(patience);
        if outcome.is_err() {
            self.held.pop();
        }
        outcome
    }

    fn sleep(&self, patience: &mut dyn FnMut() -> Option<Duration>) -> Result<(), Unclaimed> {
        let me = self.id();
        while let Some(ring) = self.claims.deadlock(me) {
            let another = self.claiming && self.claims.break_ring(me, &ring);
            if !another && self.claims.step_out(me) == Slept::NotYet {
                return Err(Unclaimed::Deadlock(ring));
            }
        }
        loop {
            let patience = patience();
            let slept = match patience {
                Some(longest) => self.claims.sleep(me, longest),
                None => self.claims.step_out(me),
            };
            match slept {
                Slept::There => return Ok(()),
                Slept::GivesWay => return Err(Unclaimed::Deadlock(Vec::new())),
                Slept::NotYet if patience.is_none() => return Err(Unclaimed::GivenUp),
                Slept::NotYet => {}
            }
        }
    }

    /// Lets go of all claims, and of those that wait for the end of this transaction.
    #[cold]
    pub(super) fn let_go(&mut self) {
        while let Some(held) = self.held.pop() {
            // What was raised goes with what it was before.
            if held.before.is_none() {
                self.release(held.record);
            }
        }
        self.held.shrink_to(HELD_KEPT);
        self.blocked = None;
        self.ranged = false;
        self.dated.end();
        if std::mem::take(&mut self.claiming) {
            self.claims.ended(self.id());
        }
    }

    fn release(&self, record: Ptr<R>) {
        let word = look(record, self.foot.participant.pinned()).header().word();
        self.claims.release(record.to_word(), self.id(), || word.unmark());
    }

    pub(super) fn locked(&self) -> LocksMark {
        LocksMark { held: self.held.len() as u32, reads: self.accesses.len() as u32 }
    }

    /// Lets go of what was claimed since: what was written meanwhile will be undone, or has been.
    #[cold]
    pub(super) fn unlock_to(&mut self, mark: LocksMark) {
        let weak = self.dated.is_weak();
        if weak {
            // Of what was read since nothing needs to hold, not even what was claimed as it was read.
            for access in self.accesses.iter_mut().skip(mark.reads as usize) {
                match access.version {
                    OWN => {}
                    // A placeholder: it says nothing that anybody was shown.
                    version if version & PRESENCE == ABSENT => {}
                    version => access.version = version & !ABSENT | LENIENT,
                }
            }
        }
        let mut kept = Vec::new();
        while self.held.len() > mark.held as usize
            && let Some(held) = self.held.pop()
        {
            let Held { record, before, .. } = held;
            let write = self.foot.find_write(record);
            // Keys that it was to have are in the indexes until the end: whoever would change the row waits for that.
            let has_keys = write.is_some_and(|write| self.foot.has_put_keys_in(write));
            match before {
                None if has_keys => kept.push(held),
                Some(before) => {
                    let strength = if has_keys { before.max(Strength::NoKeyUpdate) } else { before };
                    self.claims.lower(record.to_word(), self.id(), strength);
                    if strength > before {
                        kept.push(Held { strength, ..held });
                    }
                    if let Some(write) = write {
                        self.foot.writes[write as usize].strength = strength;
                    }
                }
                None => {
                    self.release(record);
                    write.inspect(|write| self.no_write_any_more(*write, weak));
                }
            }
        }
        self.held.extend(kept.into_iter().rev());
    }

    /// Others may change a row that was to be written. That it was read stays.
    fn no_write_any_more(&mut self, write: u32, weak: bool) {
        let WriteEntry { record, table, version, origin, .. } = self.foot.writes[write as usize];
        if origin == Origin::Row && version & LENIENT == 0 {
            self.foot.writes[write as usize].version |= LENIENT;
            if !weak {
                self.dated.note_table(self.accesses.len(), table);
                self.accesses.push(Access { record, version });
            }
        }
    }

    /// Takes everything back but the claims: if there are any, or one is about to be waited for, the
    /// transaction goes on.
    pub(super) fn retry(&mut self, tables: &TableSet<R::Header>) {
        if self.held.is_empty() && self.blocked.is_none() {
            self.abort(tables);
        } else {
            if R::HEALS {
                R::let_go(self);
            }
            if !self.foot.writes.is_empty() {
                self.foot.take_back(tables);
            }
            self.clear();
        }
        if R::HEALS {
            self.heal.heat.has_failed();
        }
        self.repeated = true;
    }

    /// Undoes and forgets everything since the point.
    pub(super) fn go_back(&mut self, point: RestartPoint) {
        // What was read before the point keeps its version: a row is written through the access of the statement
        // that writes it, and those of an undone one go. (One that was marked as own before has a write from
        // before, too.)
        self.foot.go_back(point.savepoint);
        self.accesses.truncate(point.reads as usize);
        self.dated.go_back(point.reads);
        if self.ranged {
            // Leaves too many do no harm: the ranges decide.
            self.ranges.go_back(point.ranges);
        } else {
            self.foot.nodes.go_back((point.nodes, point.moved));
        }
        self.cursors.close_all();
    }
}
