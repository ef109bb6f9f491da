//! Commit and abort.

use super::ranges::ROUNDS_MAX;
use super::*;
use planaria_base::sync::{Instant, point, thread};
use std::hint::cold_path;
use std::time::Duration;

/// How many elements ahead of validation a large read set is fetched.
const PREFETCH_AHEAD: usize = 16;

/// How often a block gives its processor up for somebody who is committing what it has read, and how often it looks in
/// all: from then on after naps.
const YIELDS: u32 = 64;
const PATIENCE: u32 = 200;
const NAP: Duration = Duration::from_micros(50);
/// How long a block that holds no locks looks again at ranges whose leaves move all the time.
const LOOKING_MAX: Duration = Duration::from_secs(1);

impl<R: Rules> Txn<R> {
    /// Whether everything read still holds: `holding` the locks of the write set, or without them.
    pub(super) fn validate(&self, holding: bool) -> Result<(), Conflict> {
        if self.alone {
            return Ok(());
        }
        let pin = self.foot.participant.pinned();
        let nodes = R::NODES && (R::CHECKS_LEAVES_AGAIN || !self.is_healed());
        if nodes && !self.ranged {
            self.foot.nodes.check()?;
        }
        if R::READS {
            for (i, access) in self.accesses.iter().enumerate() {
                if let Some(ahead) = self.accesses.get(i + PREFETCH_AHEAD) {
                    ahead.record.prefetch_head();
                }
                if access.version == OWN || R::is_locked(self, access) {
                    continue;
                }
                if !R::CHECKS_NEW_MEMBERS && self.is_healed() && !R::has_locked(self, access.record) {
                    continue;
                }
                let word = self.foot.word(access.record).load();
                if word != access.version && word & !CLAIMED != access.version {
                    cold_path();
                    let own = word & !CLAIMED == access.version | LOCKED
                        // What is not to be written has not been locked.
                        && (holding && self.foot.find_effective(access.record).is_some()
                            || R::has_locked(self, access.record));
                    if access.version & PRESENCE == PRESENCE {
                        self.check_presence(access.record, holding)?;
                    } else if !own && access.version & LENIENT == 0 && !self.outlasts(access, holding) {
                        return Err(Conflict::Validation);
                    }
                }
            }
            // Locking has compared the versions of what is written.
            for write in &self.foot.writes {
                let unlocked = !holding || write.state == State::Unwritten;
                if unlocked
                    && write.version & LENIENT == 0
                    && self.foot.word(write.record).load() & !CLAIMED != write.version
                    && !self.is_mine(write.record, write.version)
                {
                    cold_path();
                    return Err(Conflict::Validation);
                }
            }
        }
        if nodes && !self.foot.nodes.iter().all(|node| node.is_current(pin)) {
            return Err(Conflict::Phantom);
        }
        if R::NODES && self.ranged {
            cold_path();
            self.foot.nodes.check()?;
            let as_seen = |w: &Access<R>| self.foot.word(w.record).load() & !CLAIMED == w.version;
            return if self.ranges.witnesses().iter().all(as_seen) { Ok(()) } else { Err(Conflict::Phantom) };
        }
        Ok(())
    }

    /// Whether this transaction, which is being healed, has locked a record at this version.
    #[inline]
    fn is_mine(&self, record: Ptr<R>, version: u64) -> bool {
        R::HEALS && self.foot.mine.version_of(record.to_word()) == Some(version)
    }

    /// Whether a record is as it was read once whoever is committing a change of it has ended.
    #[cold]
    fn outlasts(&self, access: &Access<R>, holding: bool) -> bool {
        self.ranged
            && self.foot.word(access.record).load() & !CLAIMED == access.version | LOCKED
            && self.outwaits(access.record, holding)
            && self.foot.word(access.record).load() & !CLAIMED == access.version
    }

    /// Waits until a record is not locked. Of two blocks that hold locks and wait for each other, the one with the lower
    /// number does so; the other gives up, and so do calls, as they can be repeated.
    pub(super) fn outwaits(&self, record: Ptr<R>, holding: bool) -> bool {
        let word = self.foot.word(record);
        let now = word.load();
        let holder = match now & (ABSENT | DEAD) {
            // A placeholder has its block's number.
            ABSENT => (now & !(LOCKED | ABSENT | CLAIMED)).checked_sub(1).map(|id| WorkerId(id as u16)),
            // Whoever holds a shard of claims and waits for a word never waits for one that this transaction has
            // locked: those it has claimed.
            _ => self.claims.holder(record.to_word()),
        };
        let gives_up = holding && holder.is_some_and(|holder| usize::from(holder.0) < self.foot.worker);
        for turn in 0..if gives_up { YIELDS } else { PATIENCE } {
            if word.load() & LOCKED == 0 {
                return true;
            }
            // Who has lost its processor has it again after some time, not after some turns.
            if turn < YIELDS { thread::yield_now() } else { thread::sleep(NAP) }
        }
        false
    }

    /// Whether what was read is one state, and still holds if it has to.
    pub(super) fn is_sound(&mut self, tables: &TableSet<R::Header>) -> bool {
        // A reader's place in the order is its moment.
        if R::HEALS && self.heal.torn {
            return false;
        }
        self.dated.holds_in_the_past() && !self.foot.has_effect() || self.still_holds(tables, |_| {})
    }

    /// Whether everything read so far holds at one moment, before commit. Whatever has been looked at again holds from then
    /// on; `later` hears of that, before everything is validated again.
    pub(super) fn still_holds(
        &mut self,
        tables: &TableSet<R::Header>,
        mut later: impl FnMut(&mut Dated),
    ) -> bool {
        let mut outcome = self.validate(false);
        if outcome.is_ok() {
            return true;
        }
        let began = Instant::now();
        for round in 0.. {
            let goes_on = outcome == Err(Conflict::Phantom) && began.elapsed() < LOOKING_MAX;
            if round >= ROUNDS_MAX && !goes_on {
                break;
            }
            if outcome == Err(Conflict::Validation) && self.reconcile(tables, false) {
                later(&mut self.dated);
                outcome = self.validate(false);
                continue;
            }
            if outcome != Err(Conflict::Phantom) || !self.ranged {
                return outcome.is_ok();
            }
            let scanned = self.scan_again(tables, false);
            later(&mut self.dated);
            outcome = scanned.and_then(|()| self.validate(false));
            if scanned.is_err() || self.cursors.are_open() {
                // A cursor may be in the middle of a leaf as it was before, and of what was not looked at there are no
                // leaves: commit has to look again in any case.
                self.foot.nodes.set_moved();
            }
            if scanned.is_err() {
                return false;
            }
        }
        outcome.is_ok()
    }

    /// A row that has to be there, whatever has become of it. Whoever deletes it and is before this transaction in
    /// the order had locked it before this one drew its place; so it is locked or gone now. A lock may also be of
    /// somebody who changes the row: that will be over soon, and is not waited for long, as this transaction holds
    /// locks, too.
    #[inline]
    fn check_presence(&self, record: Ptr<R>, holding: bool) -> Result<(), Conflict> {
        let word = self.foot.word(record);
        for spins in 0..SPINS_MAX {
            match word.load() & (LOCKED | ABSENT) {
                0 => return Ok(()),
                // This transaction changes it, or deletes it and has looked who refers to it; or it has read it as well.
                LOCKED
                    if spins == 0
                        && (self.foot.find_effective(record).is_some() || R::has_locked(self, record)) =>
                {
                    return Ok(());
                }
                LOCKED => spin_hint(),
                _ => return Err(Conflict::Validation),
            }
        }
        let stays = self.ranged && self.outwaits(record, holding) && word.load() & ABSENT == 0;
        if stays { Ok(()) } else { Err(Conflict::Validation) }
    }

    pub(super) fn commit(
        &mut self,
        tables: &TableSet<R::Header>,
        snapshots: &Snapshots,
        env: impl CommitEnv<OverVersions<R>>,
    ) -> Result<CommitTs, Conflict> {
        if let Some((reader, txn)) = self.reader() {
            cold_path();
            let ts = reader.commit(txn, tables, env.clock())?;
            self.installed = true;
            env.committed(ts, self);
            self.end_reading(tables);
            self.end();
            return Ok(ts);
        }
        if !self.foot.has_effect() {
            // Before validation: what holds then has held at this point of the order.
            let place = match self.dated.place() {
                Some(place) => place,
                None if R::HEALS && self.heal.torn => Err(Conflict::Validation),
                None => R::lock_reader(self).and_then(|()| self.place(tables, false, || env.clock().now())),
            };
            let ts = match place {
                Ok(ts) => ts,
                Err(conflict) => {
                    cold_path();
                    self.has_failed(tables, conflict);
                    return Err(conflict);
                }
            };
            if !self.foot.writes.is_empty() {
                self.foot.take_back(tables);
            }
            self.has_installed(ts);
            env.committed(ts, self);
            self.end();
            return Ok(ts);
        }
        let mut locked = 0;
        let ts = match self.prepare(tables, env.clock(), &mut locked) {
            Ok(ts) => ts,
            Err(conflict) => {
                cold_path();
                self.unlock(locked);
                self.has_failed(tables, conflict);
                return Err(conflict);
            }
        };
        if let Some(older) = snapshots.older_than(ts) {
            cold_path();
            self.keep_old_versions(tables, &older, ts);
        }
        self.install(tables, ts);
        self.has_installed(ts);
        env.committed(ts, self);
        self.end();
        Ok(ts)
    }

    /// What the transaction has done is there for all.
    #[inline]
    fn has_installed(&mut self, ts: CommitTs) {
        self.installed = true;
        R::let_go(self);
        if R::HEALS {
            self.heal.heat.has_committed(ts, Instant::now);
        }
    }

    /// Commit has not come to pass, and what it has locked is free again.
    #[cold]
    fn has_failed(&mut self, tables: &TableSet<R::Header>, conflict: Conflict) {
        if R::HEALS && self.stays_open(conflict) {
            return;
        }
        R::let_go(self);
        // Whom nobody can run again tries once more, as what was in the way is no conflict.
        if !(self.claiming && conflict == Conflict::Locked) {
            self.retry(tables);
        }
    }

    /// Steps 1 to 3: locks, timestamp, validation. `locked` counts the locks.
    #[inline]
    fn prepare(
        &mut self,
        tables: &TableSet<R::Header>,
        clock: &CommitClock,
        locked: &mut usize,
    ) -> Result<CommitTs, Conflict> {
        if self.dated.is_behind() {
            // It has read what is no more.
            return Err(Conflict::Past);
        }
        if R::HEALS && self.heal.torn {
            return Err(Conflict::Validation);
        }
        self.foot.put_in_order();
        if R::VALIDATES || self.claiming {
            R::lock(self, locked)?;
        } else {
            self.lock_overlooking(tables, locked)?;
        }
        self.place(tables, true, || clock.draw())
    }

    /// Locks the next writes in their order: those at lower addresses, or all.
    #[inline]
    pub(crate) fn lock_writes(&mut self, below: Option<u64>, locked: &mut usize) -> Result<(), Conflict> {
        for (address, write) in &self.foot.order[*locked..] {
            if below.is_some_and(|below| *address >= below) {
                break;
            }
            let write = &self.foot.writes[*write as usize];
            if let Err(conflict) = self.lock(write) {
                self.blocked = (conflict == Conflict::Claimed).then_some(Blocked::Record(
                    write.record,
                    write.table,
                    write.strength,
                ));
                return Err(conflict);
            }
            *locked += 1;
            point("has locked a row");
        }
        Ok(())
    }

    /// Calls `f` with the headers of all records that are locked for their writes.
    #[inline]
    pub(crate) fn each_locked(&self, f: impl Fn(&R::Header)) {
        for (_, write) in &self.foot.order {
            f(self.foot.header(self.foot.writes[*write as usize].record));
        }
    }

    /// Takes a place in the order at which everything that was read holds.
    #[inline]
    fn place(
        &mut self,
        tables: &TableSet<R::Header>,
        holding: bool,
        draw: impl Fn() -> CommitTs,
    ) -> Result<CommitTs, Conflict> {
        let mut rounds = 0;
        loop {
            let ts = draw();
            if holding {
                R::has_drawn(self, ts);
            }
            point("has drawn its timestamp");
            if !R::VALIDATES && !self.claiming {
                return Ok(ts);
            }
            let conflict = match self.validate(holding) {
                Ok(()) => {
                    point("has validated");
                    return Ok(ts);
                }
                Err(conflict) => conflict,
            };
            if !self.ranged {
                return Err(conflict);
            }
            if rounds == ROUNDS_MAX {
                // Nothing has been found that is in the way, but leaves move all the time: others come first for a while.
                return Err(Conflict::Locked);
            }
            rounds += 1;
            match conflict {
                Conflict::Phantom => self.scan_again(tables, holding)?,
                Conflict::Validation if self.reconcile(tables, holding) => {}
                _ => return Err(conflict),
            }
            point("has looked at what it read again");
        }
    }

    #[inline]
    fn lock(&self, write: &WriteEntry<R::Header>) -> Result<(), Conflict> {
        let word = self.foot.word(write.record);
        if write.origin == Origin::Insert {
            word.lock_own(write.version);
            return Ok(());
        }
        if R::HEALS
            && let Some(version) = self.foot.mine.version_of(write.record.to_word())
        {
            return if version == write.version { Ok(()) } else { Err(Conflict::Validation) };
        }
        for _ in 0..self.foot.mine.patience(write.record.to_word()) {
            match word.try_lock(write.version) {
                Locking::Done => return Ok(()),
                Locking::Busy => spin_hint(),
                Locking::Moved => return self.lock_claimed(write),
            }
        }
        Err(Conflict::Locked)
    }

    /// The word is not what it was when the row was read: it may be only that the row has been claimed.
    #[cold]
    #[inline(never)]
    fn lock_claimed(&self, write: &WriteEntry<R::Header>) -> Result<(), Conflict> {
        let word = self.foot.word(write.record);
        if word.load() & !(CLAIMED | LOCKED) != write.version {
            return Err(Conflict::Validation);
        }
        if !self.has_claimed(write) {
            return if self.lock_beside(write) { Ok(()) } else { Err(Conflict::Claimed) };
        }
        // The bit is set and stays; who had the lock before that has let go of it.
        match word.try_lock(write.version | CLAIMED) {
            Locking::Done => Ok(()),
            Locking::Busy | Locking::Moved => Err(Conflict::Validation),
        }
    }

    /// Lets go of the first `locked` locks without a change.
    pub(super) fn unlock(&self, locked: usize) {
        for (_, write) in &self.foot.order[..locked] {
            let write = &self.foot.writes[*write as usize];
            if R::HEALS && self.foot.mine.has(write.record.to_word()) {
                continue;
            }
            let word = self.foot.word(write.record);
            word.publish(write.version | Self::claim_bit(self.meets_claims(), word));
        }
    }

    /// Step 4. From here on nothing can fail.
    fn install(&mut self, tables: &TableSet<R::Header>, ts: CommitTs) {
        let meets = self.meets_claims();
        self.foot.install(tables, ts, |word| Self::claim_bit(meets, word));
    }

    pub(super) fn abort(&mut self, tables: &TableSet<R::Header>) {
        if self.is_reader() {
            self.end_reading(tables);
        }
        if R::HEALS {
            R::let_go(self);
        }
        if !self.foot.writes.is_empty() {
            self.foot.take_back(tables);
        }
        self.end();
    }
}
