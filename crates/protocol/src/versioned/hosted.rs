//! What schemes over version words can do beyond running transactions.

use super::dated::PAST;
use super::{OWN, OverVersions, PRESENCE, Rules, Txn};
use crate::capability::has_room;
use crate::claim::{ClaimInfo, Claims, Unclaimed, Wait};
use crate::snapshot::{Closed, Moment, Opened, Tables};
use crate::{
    ColumnsRead, Conflict, CursorId, Effects, Exclusive, Heal, Healed, Heals, Hints, Hosted, IfClaimed,
    Isolation, Known, Levels, LocksMark, LongLived, Protocol, Remembers, RestartPoint, RestartPoints, Row,
    RowHandle, RowLocks, Savepoint, Savepoints, SnapshotReader, SnapshotSource, Snapshots, Write,
};
use planaria_base::clock::CommitClock;
use planaria_base::sync::atomic::{AtomicU8, Ordering::Relaxed};
use planaria_base::{CommitTs, IndexId, Strength, TableId};
use planaria_storage::{Arena, KeyBuf, LookAhead, Table, TableSet};
use std::sync::Arc;
use std::time::Duration;

impl<R: Rules> Hints for OverVersions<R> {
    fn look_ahead(&self, txn: &mut Txn<R>, tables: &TableSet<R::Header>, ahead: &mut LookAhead) {
        if let Some((reader, txn)) = txn.reader() {
            return reader.look_ahead(txn, tables, ahead);
        }
        if txn.foot.participant.is_pinned() {
            ahead.run(tables, txn.foot.participant.pinned());
        } else {
            ahead.clear();
        }
    }

    fn hold(&self, txn: &mut Txn<R>) {
        if txn.foot.participant.is_pinned() {
            txn.foot.participant.hold();
        }
    }

    fn let_go(&self, txn: &mut Txn<R>) {
        txn.foot.participant.let_go();
    }

    #[inline]
    fn get_knowing(
        &self,
        txn: &mut Txn<R>,
        table: &Table<R::Header>,
        index: IndexId,
        key: &KeyBuf,
        known: Known<'_>,
        arena: &mut Arena,
    ) -> Result<Option<Row>, Conflict> {
        let part = known.part.filter(|_| txn.reads_parts());
        if let Some(found) = known.found
            && let Some(row) = txn.get_found(table, index, key, found, part, arena)?
        {
            R::has_met(txn, table, row, arena)?;
            return Ok(Some(row));
        }
        match part {
            Some(_) => txn.look_up(table, index, key, part, false, arena),
            None => self.get(txn, table, index, key, arena),
        }
    }

    #[inline]
    fn reads_stand(&self, txn: &Txn<R>) -> bool {
        // What is healed is repeated lookup by lookup; who claims rows reads the newest one.
        !R::HEALS && !txn.claiming
    }

    #[inline]
    fn scan_some(
        &self,
        txn: &mut Txn<R>,
        table: &Table<R::Header>,
        cursor: CursorId,
        (arena, rows): (&mut Arena, &mut Vec<Row>),
    ) -> Result<(), Conflict> {
        if let Some((reader, txn)) = txn.reader() {
            return reader.scan_some(txn, table, cursor, (arena, rows));
        }
        // What is healed is read one by one.
        let one = R::HEALS && !txn.claiming;
        txn.scan(table, cursor, arena, |arena, row| {
            rows.push(row);
            !one && has_room(arena, rows)
        })
    }

    #[inline]
    fn unused(&self, txn: &mut Txn<R>, row: RowHandle) {
        if let Some((reader, txn)) = txn.reader() {
            <SnapshotReader<R::Header> as Hints>::unused(&reader, txn, row);
        } else if row.0 & PAST != 0 {
            txn.dated.unused(row);
        }
    }

    #[inline]
    fn only_presence(&self, txn: &mut Txn<R>, row: RowHandle) {
        if let Some((reader, txn)) = txn.reader() {
            return reader.only_presence(txn, row);
        }
        if row.0 & PAST != 0 {
            return;
        }
        let access = &mut txn.accesses[row.0 as usize];
        if access.version != OWN {
            access.version |= PRESENCE;
            R::only_presence(txn, row.0 as usize);
        }
    }
}

impl<R: Rules> Savepoints for OverVersions<R> {
    #[inline]
    fn savepoint(&self, txn: &mut Txn<R>) -> Savepoint {
        txn.foot.savepoint()
    }

    fn rollback_to(&self, txn: &mut Txn<R>, savepoint: Savepoint, _tables: &TableSet<R::Header>) {
        txn.foot.rollback_to(savepoint);
    }

    #[inline]
    fn release(&self, txn: &mut Txn<R>, savepoint: Savepoint) {
        txn.foot.release(savepoint);
    }
}

impl<R: Rules> Effects for OverVersions<R> {
    fn is_read_only(&self, txn: &Txn<R>) -> bool {
        !txn.foot.has_effect()
    }

    fn newest_met(&self, txn: &Txn<R>, tables: &TableSet<R::Header>) -> Option<CommitTs> {
        if txn.is_reader() { txn.newest_read(tables) } else { txn.newest_met(tables) }
    }

    fn keep_before_images(&self, txn: &mut Txn<R>, keep: bool) {
        txn.foot.keeps_before = keep;
    }

    fn writes(&self, txn: &Txn<R>, f: &mut dyn FnMut(Write<'_>)) {
        txn.foot.for_each_write(f);
    }
}

impl<R: Rules> LongLived for OverVersions<R> {
    #[inline]
    fn try_begin(&self, txn: &mut Txn<R>) -> bool {
        self.begin(txn);
        true
    }

    fn is_active(&self, txn: &Txn<R>) -> bool {
        txn.foot.participant.is_pinned()
    }

    fn rest(&self, txn: &mut Txn<R>) {
        txn.foot.participant.flush();
    }
}

impl<R: Rules> Heals for OverVersions<R> {
    const HEALS: bool = R::HEALS;

    fn heal_always(&self) {
        self.regime.heals_always();
    }

    fn remember(&self, what: Remembers) {
        self.remembers.store(what as u8, Relaxed);
    }

    fn may_heal(&self, txn: &mut Txn<R>, may: bool) {
        if R::HEALS {
            txn.heal.begin(may);
        }
    }

    fn heal(
        &self,
        txn: &mut Txn<R>,
        tables: &TableSet<R::Header>,
        cause: Conflict,
        columns: Option<&ColumnsRead>,
    ) -> Heal {
        if R::HEALS { txn.heal(tables, cause, columns) } else { Heal::No }
    }

    fn take_healed(&self, txn: &mut Txn<R>) -> Healed {
        std::mem::take(&mut txn.heal.healed)
    }
}

impl<R: Rules> RowLocks for OverVersions<R> {
    fn claim_writes(&self, txn: &mut Txn<R>) {
        debug_assert!(!txn.is_reader(), "who only reads claims nothing");
        // A block holds no locks; what it has read so far is validated like the rest.
        R::let_go(txn);
        txn.claiming = true;
        // Its answers will have been seen.
        txn.heal.may = false;
        // What was read before is not remembered as ranges.
        txn.ranged |= txn.accesses.is_empty() && txn.foot.nodes.is_empty() && !txn.cursors.are_open();
    }

    fn scan_leniently(&self, txn: &mut Txn<R>, cursor: CursorId) {
        if let Some((reader, txn)) = txn.reader() {
            return reader.scan_leniently(txn, cursor);
        }
        // Its range stays one that is not read at all.
        let slot = &mut txn.cursors[cursor].more;
        (slot.lenient, slot.range, slot.dated) = (true, super::NONE, false);
    }

    fn claim(
        &self,
        txn: &mut Txn<R>,
        table: &Table<R::Header>,
        row: RowHandle,
        strength: Strength,
        if_claimed: IfClaimed,
    ) -> Result<bool, Conflict> {
        if txn.is_reader() {
            return Ok(true);
        }
        txn.claim_row(table.id(), row, strength, if_claimed)
    }

    fn await_claim(
        &self,
        txn: &mut Txn<R>,
        patience: &mut dyn FnMut() -> Option<Duration>,
    ) -> Result<(), Unclaimed> {
        txn.await_claim(patience)
    }

    fn locked(&self, txn: &Txn<R>) -> LocksMark {
        txn.locked()
    }

    fn unlock_to(&self, txn: &mut Txn<R>, mark: LocksMark) {
        if !txn.is_reader() {
            txn.unlock_to(mark);
        }
    }

    fn claims(&self) -> Vec<ClaimInfo> {
        self.claims.list()
    }

    fn waits(&self) -> Vec<Wait> {
        self.claims.waits()
    }

    fn for_constraint(&self, txn: &mut Txn<R>, on: bool) {
        txn.dated.for_constraint(on);
    }

    fn only_key(&self, txn: &mut Txn<R>, table: &Table<R::Header>, index: IndexId, row: RowHandle) {
        if !txn.is_reader() && row.0 & PAST == 0 {
            txn.dated.only_key(row.0, table.id(), table.index(index));
        }
    }

    fn share_key(
        &self,
        txn: &mut Txn<R>,
        table: &Table<R::Header>,
        row: RowHandle,
    ) -> Result<bool, Conflict> {
        txn.share_key(table.id(), row)
    }

    fn need_not_hold(&self, txn: &mut Txn<R>, row: RowHandle) -> bool {
        if txn.is_reader() || row.0 & PAST != 0 {
            return true;
        }
        let access = &mut txn.accesses[row.0 as usize];
        if !txn.dated.is_weak() || access.version == OWN {
            return false;
        }
        access.version |= super::LENIENT;
        true
    }
}

impl<R: Rules> Levels for OverVersions<R> {
    fn set_level(&self, txn: &mut Txn<R>, level: Isolation) {
        txn.dated.set_level(level);
    }

    fn begin_statement(&self, txn: &mut Txn<R>, clock: &CommitClock) {
        if !txn.alone {
            txn.dated.begin_statement(clock);
        }
    }

    fn will_read(&self, txn: &mut Txn<R>, columns: &ColumnsRead) {
        txn.dated.will_read(columns);
    }

    fn is_behind(&self, txn: &Txn<R>) -> bool {
        txn.dated.is_behind()
    }

    fn end_statement(&self, txn: &mut Txn<R>, tables: &TableSet<R::Header>) -> Result<(), Conflict> {
        txn.check_for_phantoms(tables)?;
        txn.dated.end_statement();
        Ok(())
    }

    fn moment(&self, txn: &Txn<R>) -> Option<CommitTs> {
        txn.reading.moment().or(txn.dated.moment())
    }

    fn move_on(
        &self,
        txn: &mut Txn<R>,
        tables: &TableSet<R::Header>,
        clock: &CommitClock,
        cause: Conflict,
    ) -> bool {
        txn.move_on(tables, clock, cause)
    }
}

impl<R: Rules> RestartPoints for OverVersions<R> {
    fn point(&self, txn: &mut Txn<R>) -> RestartPoint {
        let (reads, (nodes, moved)) = (txn.accesses.len() as u32, txn.foot.nodes.mark());
        RestartPoint { savepoint: self.savepoint(txn), reads, nodes, moved, ranges: txn.ranges.mark() }
    }

    fn go_back(&self, txn: &mut Txn<R>, point: RestartPoint, _tables: &TableSet<R::Header>) {
        txn.go_back(point);
    }

    fn pass(&self, txn: &mut Txn<R>, point: RestartPoint) {
        self.release(txn, point.savepoint);
    }

    fn retry(&self, txn: &mut Txn<R>, tables: &TableSet<R::Header>) {
        if txn.installed {
            txn.end();
        } else if txn.foot.participant.is_pinned() {
            txn.retry(tables);
        }
        // Else its commit has failed, and has taken everything back.
    }
}

impl<R: Rules> Exclusive for OverVersions<R> {
    fn holds_now(&self, txn: &mut Txn<R>, tables: &TableSet<R::Header>) -> bool {
        txn.dated.check_change().is_ok() && txn.still_holds(tables, |_| {})
    }

    fn alone(&self, txn: &mut Txn<R>, alone: bool) {
        txn.alone = alone;
        if alone {
            // Nothing changes any more but by itself.
            txn.dated.end();
        }
    }

    fn keep_before_images_now(&self, txn: &mut Txn<R>) -> Result<(), Conflict> {
        txn.foot.keep_before_now()
    }
}

impl<R: Rules> SnapshotSource for OverVersions<R> {
    fn only_reads(&self, txn: &mut Txn<R>, clock: &CommitClock) -> bool {
        R::READERS && txn.only_reads(&self.snapshots, clock)
    }

    fn open_snapshot(&self, clock: &CommitClock, moment: Moment) -> Option<Opened> {
        Some(self.snapshots.announce(clock, moment))
    }

    fn forget_closed(&self, clock: &CommitClock, tables: Tables<'_, R::Header>) -> Closed<R::Header> {
        self.snapshots.forget_closed(clock, tables)
    }

    fn leave_range(&self, id: Opened, table: TableId, from: Option<&[u64]>, to: Option<&[u64]>) {
        self.snapshots.leave_range(id, table, from, to);
    }

    fn leave_table(
        &self,
        id: Opened,
        table: TableId,
        clock: &CommitClock,
        tables: Tables<'_, R::Header>,
    ) -> Closed<R::Header> {
        self.snapshots.leave_table(id, table, clock, tables)
    }

    fn close_snapshot(
        &self,
        id: Opened,
        clock: &CommitClock,
        tables: Tables<'_, R::Header>,
    ) -> Closed<R::Header> {
        self.snapshots.close(id, clock, tables)
    }
}

impl<R: Rules> Hosted for OverVersions<R> {
    fn new() -> Self {
        OverVersions {
            snapshots: Arc::new(Snapshots::new()),
            claims: Arc::new(Claims::new()),
            regime: Arc::default(),
            remembers: AtomicU8::new(Remembers::default() as u8),
            locks: R::Locks::default(),
        }
    }
}
