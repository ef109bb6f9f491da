//! What serial execution can do beyond running transactions. There is never another transaction: no row is anybody
//! else's, and who runs is alone.

use super::{SerialOn, SerialTxn};
use crate::claim::{ClaimInfo, Unclaimed, Wait};
use crate::snapshot::{Closed, Moment, Opened, Tables};
use crate::{
    ColumnsRead, Conflict, CursorId, Effects, Exclusive, Heal, Healed, Heals, Hints, Hosted, IfClaimed,
    Isolation, Levels, LocksMark, LongLived, Protocol, Remembers, RestartPoint, RestartPoints, RowHandle,
    RowLocks, Savepoints, SnapshotSource,
};
use planaria_base::clock::CommitClock;
use planaria_base::{CommitTs, IndexId, Strength, TableId};
use planaria_storage::{Header, Table, TableSet};
use std::time::Duration;

impl<H: Header, const UNDO: bool> Hints for SerialOn<H, UNDO> {
    /// Nobody else is about.
    #[inline]
    fn reads_stand(&self, _txn: &SerialTxn<H>) -> bool {
        true
    }
}

impl<H: Header, const UNDO: bool> LongLived for SerialOn<H, UNDO> {
    #[inline]
    fn try_begin(&self, txn: &mut SerialTxn<H>) -> bool {
        if !self.turn.try_take() {
            return false;
        }
        txn.participant.pin();
        true
    }

    fn is_active(&self, txn: &SerialTxn<H>) -> bool {
        txn.participant.is_pinned()
    }

    fn rest(&self, txn: &mut SerialTxn<H>) {
        txn.participant.flush();
    }
}

/// What one has read, none other makes stale.
impl<H: Header, const UNDO: bool> Heals for SerialOn<H, UNDO> {
    const HEALS: bool = false;

    fn heal_always(&self) {}

    fn remember(&self, _: Remembers) {}

    fn may_heal(&self, _txn: &mut SerialTxn<H>, _may: bool) {}

    fn heal(
        &self,
        _txn: &mut SerialTxn<H>,
        _tables: &TableSet<H>,
        _cause: Conflict,
        _columns: Option<&ColumnsRead>,
    ) -> Heal {
        Heal::No
    }

    fn take_healed(&self, _txn: &mut SerialTxn<H>) -> Healed {
        Healed::default()
    }
}

impl<H: Header, const UNDO: bool> RowLocks for SerialOn<H, UNDO> {
    fn claim_writes(&self, _txn: &mut SerialTxn<H>) {}

    fn scan_leniently(&self, _txn: &mut SerialTxn<H>, _cursor: CursorId) {}

    fn claim(
        &self,
        _txn: &mut SerialTxn<H>,
        _table: &Table<H>,
        _row: RowHandle,
        _strength: Strength,
        _if_claimed: IfClaimed,
    ) -> Result<bool, Conflict> {
        Ok(true)
    }

    fn await_claim(
        &self,
        _txn: &mut SerialTxn<H>,
        _patience: &mut dyn FnMut() -> Option<Duration>,
    ) -> Result<(), Unclaimed> {
        Ok(())
    }

    fn locked(&self, _txn: &SerialTxn<H>) -> LocksMark {
        LocksMark::default()
    }

    fn unlock_to(&self, _txn: &mut SerialTxn<H>, _mark: LocksMark) {}

    fn claims(&self) -> Vec<ClaimInfo> {
        Vec::new()
    }

    fn waits(&self) -> Vec<Wait> {
        Vec::new()
    }

    fn for_constraint(&self, _txn: &mut SerialTxn<H>, _on: bool) {}

    fn only_key(&self, _txn: &mut SerialTxn<H>, _table: &Table<H>, _index: IndexId, _row: RowHandle) {}

    fn share_key(
        &self,
        _txn: &mut SerialTxn<H>,
        _table: &Table<H>,
        _row: RowHandle,
    ) -> Result<bool, Conflict> {
        Ok(false)
    }

    fn need_not_hold(&self, _txn: &mut SerialTxn<H>, _row: RowHandle) -> bool {
        true
    }
}

/// Transactions come one after another: what one has read stays as it is, at every level.
impl<H: Header> Levels for SerialOn<H, true> {
    fn set_level(&self, _txn: &mut SerialTxn<H>, _level: Isolation) {}

    fn begin_statement(&self, _txn: &mut SerialTxn<H>, _clock: &CommitClock) {}

    fn will_read(&self, _txn: &mut SerialTxn<H>, _columns: &ColumnsRead) {}

    fn is_behind(&self, _txn: &SerialTxn<H>) -> bool {
        false
    }

    fn end_statement(&self, _txn: &mut SerialTxn<H>, _tables: &TableSet<H>) -> Result<(), Conflict> {
        Ok(())
    }

    fn moment(&self, _txn: &SerialTxn<H>) -> Option<CommitTs> {
        None
    }

    fn move_on(
        &self,
        _txn: &mut SerialTxn<H>,
        _tables: &TableSet<H>,
        _clock: &CommitClock,
        _cause: Conflict,
    ) -> bool {
        true
    }
}

impl<H: Header> RestartPoints for SerialOn<H, true> {
    fn point(&self, txn: &mut SerialTxn<H>) -> RestartPoint {
        RestartPoint { savepoint: self.savepoint(txn), reads: 0, nodes: 0, moved: false, ranges: 0 }
    }

    fn go_back(&self, txn: &mut SerialTxn<H>, point: RestartPoint, tables: &TableSet<H>) {
        self.rollback_to(txn, point.savepoint, tables);
    }

    fn pass(&self, txn: &mut SerialTxn<H>, point: RestartPoint) {
        self.release(txn, point.savepoint);
    }

    fn retry(&self, txn: &mut SerialTxn<H>, tables: &TableSet<H>) {
        self.abort(txn, tables);
    }
}

impl<H: Header> Exclusive for SerialOn<H, true> {
    fn holds_now(&self, _txn: &mut SerialTxn<H>, _tables: &TableSet<H>) -> bool {
        true
    }

    fn alone(&self, _txn: &mut SerialTxn<H>, _alone: bool) {}

    fn keep_before_images_now(&self, txn: &mut SerialTxn<H>) -> Result<(), Conflict> {
        self.keep_before_images(txn, true);
        Ok(())
    }
}

impl<H: Header> SnapshotSource for SerialOn<H, true> {
    fn only_reads(&self, _txn: &mut SerialTxn<H>, _clock: &CommitClock) -> bool {
        false
    }

    fn open_snapshot(&self, clock: &CommitClock, moment: Moment) -> Option<Opened> {
        let at = || match moment {
            Moment::Now => clock.now().before(),
            Moment::EndOfEpoch => clock.epoch().last_ts(),
        };
        self.turn.try_take().then(|| Opened { at: at(), number: 0 })
    }

    /// Nothing is kept for a snapshot.
    fn leave_range(&self, _id: Opened, _table: TableId, _from: Option<&[u64]>, _to: Option<&[u64]>) {}

    fn leave_table(
        &self,
        _id: Opened,
        _table: TableId,
        _clock: &CommitClock,
        _tables: Tables<'_, H>,
    ) -> Closed<H> {
        Closed::default()
    }

    fn forget_closed(&self, _clock: &CommitClock, _tables: Tables<'_, H>) -> Closed<H> {
        Closed::default()
    }

    fn close_snapshot(&self, _id: Opened, _clock: &CommitClock, _tables: Tables<'_, H>) -> Closed<H> {
        self.turn.give_back();
        Closed::default()
    }
}

impl<H: Header> Hosted for SerialOn<H, true> {
    fn new() -> Self {
        SerialOn::new()
    }
}
