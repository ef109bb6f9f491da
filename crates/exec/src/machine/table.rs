//! Operations on tables: keys in, rows out.

use super::error::refused;
use super::step::EACH_AHEAD;
use super::{Base, Batch, Machine};
use crate::code::*;
use crate::heap::Heap;
use crate::host::{Context, Host, Interrupt};
use crate::slot::Slot;
use planaria_base::sync::point;
use planaria_base::{Error, SqlState, Strength, TableId};
use planaria_ir::ReadMode;
use planaria_protocol::{Conflict, IfClaimed, Known, Row, RowHandle, RowLocks};
use planaria_storage::{
    Arena, Bytes, ColumnKind, Field, GROUP_MAX, Image, IndexSet, KeyBound, KeyBuf, KeyCodec, LookAhead,
    Stored,
};

/// A register as a column's value.
#[inline(always)]
fn field(slot: Slot, heap: &Heap) -> Field<'_> {
    heap.field(slot)
}

fn row_handle(slot: Slot) -> Option<RowHandle> {
    match slot {
        Slot::Int(handle) => Some(RowHandle(handle as u32)),
        _ => None,
    }
}

/// NaN or an infinity.
#[cold]
fn special(bytes: &[u8]) -> Slot {
    Slot::Long(Bytes { offset: bytes.first().copied().unwrap_or_default().into(), len: 0 })
}

/// Rows of a list for which it pays to look ahead: for two or three it costs as many instructions as it spares waiting.
const EACH_AHEAD_MIN: usize = 4;

impl Reads {
    /// Writes the columns of an image to their registers. Texts stay where they are.
    #[inline(always)]
    fn decode(&self, image: Image, heap: &Heap, frame: &mut [Slot]) {
        self.decode_words(image.words(&heap.arena), image.offset, frame);
    }

    /// The same; texts are behind word `offset` of the heap, if any are read.
    #[inline(always)]
    fn decode_words(&self, words: &[u64], offset: u32, frame: &mut [Slot]) {
        for read in &self.columns {
            let column = &read.column;
            frame[usize::from(read.dst)] = if column.is_null(words) {
                Slot::Null
            } else {
                match column.kind() {
                    ColumnKind::Int2 | ColumnKind::Int4 | ColumnKind::Int8 => Slot::Int(column.int(words)),
                    ColumnKind::Decimal | ColumnKind::Numeric => match column.stored(words) {
                        Stored::Packed(packed) => Slot::Numeric(packed),
                        Stored::Special(bytes) => special(bytes),
                        Stored::Long(range) => Slot::Long(Bytes {
                            offset: offset * 8 + range.start as u32,
                            len: (range.end - range.start) as u32,
                        }),
                    },
                    ColumnKind::Bytes => {
                        let range = column.bytes_range(words);
                        let bytes = Bytes {
                            offset: offset * 8 + range.start as u32,
                            len: (range.end - range.start) as u32,
                        };
                        read.bytes.slot(bytes)
                    }
                    ColumnKind::Bool => Slot::Bool(column.bool(words)),
                    ColumnKind::Float8 | ColumnKind::Float4 => Slot::Float(column.float(words)),
                    ColumnKind::Uuid => Slot::Uuid(column.uuid(words)),
                    ColumnKind::Interval | ColumnKind::OldInterval => Slot::Interval(column.interval(words)),
                }
            };
        }
    }

    /// The same of a row among many; what texts need of it is copied into the heap.
    #[inline(always)]
    fn decode_batched(
        &self,
        row: Row,
        images: &Arena,
        heap: &mut Heap,
        frame: &mut [Slot],
    ) -> Result<(), Interrupt> {
        let words = row.image.words(images);
        let offset = if self.keeps_image || self.has_long(words) {
            heap.arena.push_words(words).map_err(Conflict::from)?
        } else {
            0
        };
        self.decode_words(words, offset, frame);
        Ok(())
    }

    /// Whether a numeric is read that has its bytes behind the others.
    #[inline]
    fn has_long(&self, words: &[u64]) -> bool {
        self.numerics && self.columns.iter().any(|read| read.column.is_long(words))
    }

    /// Whether what was decoded points into the image.
    #[inline]
    fn keeps(&self, frame: &[Slot]) -> bool {
        let long = |read: &Read| matches!(frame[usize::from(read.dst)], Slot::Long(at) if at.len > 0);
        self.keeps_image || self.numerics && self.columns.iter().any(long)
    }

    fn clear(&self, frame: &mut [Slot]) {
        for read in &self.columns {
            frame[usize::from(read.dst)] = Slot::Null;
        }
    }
}

impl<C> EachAhead<C> {
    /// The lookup of one row joins those that are made ahead.
    #[inline(always)]
    fn join<'a>(
        &self,
        codec: &KeyCodec,
        column: impl Fn(&C) -> Field<'a>,
        frame: &[Slot],
        heap: &'a Heap,
        key: &mut KeyBuf,
        ahead: &mut LookAhead,
    ) {
        let value = |i: usize| match &self.key[i] {
            KeyPart::Column(place) => column(place),
            KeyPart::Register(r) => field(frame[usize::from(*r)], heap),
        };
        if codec.encode_prefix_with(self.key.len(), value, key) {
            ahead.add(self.table, self.index, key.words(), self.bytes);
        }
    }
}

impl Machine {
    /// A lookup joins those that are made ahead: whether the group is full.
    #[inline(never)]
    pub(super) fn join_ahead<P: RowLocks, H: Host + ?Sized>(
        &mut self,
        desc: &AheadDesc,
        frame: &[Slot],
        ctx: &mut Context<'_, P, H>,
    ) -> bool {
        let codec = ctx.tables.get(desc.table).index(desc.index).codec();
        let heap = &self.heap;
        let value = |i: usize| field(frame[usize::from(desc.key[i])], heap);
        if codec.encode_prefix_with(desc.key.len(), value, &mut self.key) {
            let group = if self.runs_ahead { &mut self.asked } else { &mut self.ahead };
            group.add(desc.table, desc.index, self.key.words(), desc.bytes);
        }
        if self.runs_ahead && self.asked.is_full() {
            ctx.protocol.look_ahead(ctx.txn, ctx.tables, &mut self.asked);
        }
        self.ahead.is_full()
    }

    /// Point read.
    #[inline(never)]
    pub(super) fn get<P: RowLocks, H: Host + ?Sized>(
        &mut self,
        code: &Code,
        number: u16,
        frame: &mut [Slot],
        ctx: &mut Context<'_, P, H>,
    ) -> Result<(), Interrupt> {
        self.pace.step("gets");
        let desc = &code.gets[usize::from(number)];
        let table = ctx.tables.get(desc.table);
        let codec = table.index(desc.index).codec();
        let heap = &self.heap;
        let value = |i: usize| field(frame[usize::from(desc.key[i])], heap);
        let possible = match desc.mode {
            ReadMode::Arbiter => codec.encode_arbiter_with(value, &mut self.key),
            _ => codec.encode_prefix_with(desc.key.len(), value, &mut self.key),
        };
        let mark = self.heap.arena.mark();
        let row = if possible && desc.mode.is_for_constraint() {
            ctx.protocol.for_constraint(ctx.txn, true);
            let row = ctx.protocol.get(ctx.txn, table, desc.index, &self.key, &mut self.heap.arena);
            ctx.protocol.for_constraint(ctx.txn, false);
            row?
        } else if possible {
            let arena = &mut self.heap.arena;
            let (id, words) = (desc.index, self.key.words());
            let asked = if self.served { self.asked.find_for_call(desc.table, id, words) } else { None };
            let found = asked.or_else(|| self.ahead.find(desc.table, id, words));
            let known = Known { found, part: desc.part.as_ref() };
            ctx.protocol.get_knowing(ctx.txn, table, id, &self.key, known, arena)?
        } else {
            None
        };
        match row {
            Some(row) => {
                desc.reads.decode(row.image, &self.heap, frame);
                if !desc.reads.keeps(frame) {
                    self.heap.arena.truncate(mark);
                }
                let shared =
                    desc.mode == ReadMode::Parent && ctx.protocol.share_key(ctx.txn, table, row.handle)?;
                if desc.mode == ReadMode::Arbiter && ctx.protocol.need_not_hold(ctx.txn, row.handle) {
                } else if desc.presence || desc.key_only && shared {
                    ctx.protocol.only_presence(ctx.txn, row.handle);
                } else if desc.key_only {
                    ctx.protocol.only_key(ctx.txn, table, desc.index, row.handle);
                } else if desc.row == NONE {
                    ctx.protocol.unused(ctx.txn, row.handle);
                }
            }
            None => desc.reads.clear(frame),
        }
        set_row(desc.row, row, frame);
        Ok(())
    }

    /// Reads columns of a row again.
    #[inline(never)]
    pub(super) fn load<P: RowLocks, H: Host + ?Sized>(
        &mut self,
        code: &Code,
        number: u16,
        frame: &mut [Slot],
        ctx: &mut Context<'_, P, H>,
    ) -> Result<(), Interrupt> {
        self.pace.step("loads");
        let desc = &code.loads[usize::from(number)];
        let mark = self.heap.arena.mark();
        let image = match row_handle(frame[usize::from(desc.row)]) {
            Some(row) => {
                let table = ctx.tables.get(desc.table);
                ctx.protocol.load(ctx.txn, table, row, &mut self.heap.arena)?
            }
            None => None,
        };
        match image {
            Some(image) => {
                desc.reads.decode(image, &self.heap, frame);
                if !desc.reads.keeps(frame) {
                    self.heap.arena.truncate(mark);
                }
            }
            None => desc.reads.clear(frame),
        }
        Ok(())
    }

    /// Opens the scan's range.
    #[inline(never)]
    pub(super) fn scan_open<P: RowLocks, H: Host + ?Sized>(
        &mut self,
        code: &Code,
        number: u16,
        frame: &[Slot],
        ctx: &mut Context<'_, P, H>,
    ) {
        let desc = &code.scans[usize::from(number)];
        let table = ctx.tables.get(desc.table);
        let heap = &self.heap;
        let value = |r: R| field(frame[usize::from(r)], heap);
        let bound =
            |end: Option<(R, bool)>| end.map(|(r, inclusive)| KeyBound { value: value(r), inclusive });
        table.index(desc.index).codec().range_with(
            desc.prefix.len(),
            |i| value(desc.prefix[i]),
            bound(desc.lower),
            bound(desc.upper),
            &mut self.range,
        );
        let cursor = (!self.range.is_empty()).then(|| {
            let check = desc.mode == ReadMode::Check;
            if check {
                ctx.protocol.for_constraint(ctx.txn, true);
            }
            let cursor = ctx.protocol.scan_open(ctx.txn, table, desc.index, &self.range, desc.descending);
            if check {
                ctx.protocol.for_constraint(ctx.txn, false);
            }
            if desc.mode == ReadMode::Lenient {
                ctx.protocol.scan_leniently(ctx.txn, cursor);
            }
            (desc.table, cursor)
        });
        if desc.whole {
            let height = self.cursors.len();
            if self.batches.len() <= height {
                self.batches.resize_with(height + 1, Batch::default);
            }
            self.batches[height].rows.clear();
            self.batches[height].at = 0;
        }
        self.cursors.push(cursor);
    }

    /// The next row of the innermost scan; without one the scan is closed.
    #[inline(never)]
    pub(super) fn scan_next<P: RowLocks, H: Host + ?Sized>(
        &mut self,
        code: &Code,
        number: u16,
        frame: &mut [Slot],
        ctx: &mut Context<'_, P, H>,
    ) -> Result<bool, Interrupt> {
        self.pace.step("scans");
        let desc = &code.scans[usize::from(number)];
        if desc.whole {
            return self.next_of_batch(desc, frame, ctx);
        }
        let mark = self.heap.arena.mark();
        let row = match self.cursors.last() {
            Some(Some((_, cursor))) => {
                let table = ctx.tables.get(desc.table);
                ctx.protocol.scan_next(ctx.txn, table, *cursor, &mut self.heap.arena)?
            }
            _ => None,
        };
        match row {
            Some(row) => {
                if !P::WRITES {
                    point("has read a row of a snapshot");
                }
                desc.reads.decode(row.image, &self.heap, frame);
                if !desc.reads.keeps(frame) {
                    self.heap.arena.truncate(mark);
                }
                if desc.row == NONE {
                    ctx.protocol.unused(ctx.txn, row.handle);
                }
                set_row(desc.row, Some(row), frame);
                Ok(true)
            }
            None => {
                let height = self.cursors.len().saturating_sub(1);
                self.close_cursors(height, ctx);
                Ok(false)
            }
        }
    }

    /// Reads the next rows of the innermost scan: none at its end.
    fn read_batch<P: RowLocks, H: Host + ?Sized>(
        &mut self,
        desc: &ScanDesc,
        ctx: &mut Context<'_, P, H>,
    ) -> Result<(), Interrupt> {
        let height = self.cursors.len().saturating_sub(1);
        let Batch { rows, at, images } = &mut self.batches[height];
        rows.clear();
        images.reset();
        *at = 0;
        if let Some(Some((_, cursor))) = self.cursors.last() {
            let table = ctx.tables.get(desc.table);
            ctx.protocol.scan_some(ctx.txn, table, *cursor, (images, rows))?;
        }
        if desc.row == NONE {
            rows.iter().rev().for_each(|row| ctx.protocol.unused(ctx.txn, row.handle));
        }
        Ok(())
    }

    /// What is looked up for the rows that have been read is made ahead.
    fn look_ahead_of_rows<P: RowLocks, H: Host + ?Sized>(
        &mut self,
        desc: &ScanAhead,
        frame: &[Slot],
        ctx: &mut Context<'_, P, H>,
    ) {
        let Machine { batches, cursors, heap, key, ahead, .. } = self;
        let Batch { rows, images, .. } = &batches[cursors.len().saturating_sub(1)];
        if rows.len() < 2 {
            return;
        }
        let codec = ctx.tables.get(desc.table).index(desc.index).codec();
        for row in rows.iter().take(GROUP_MAX) {
            let image = row.image.words(images);
            desc.join(codec, |column| column.field(image), frame, heap, key, ahead);
        }
        ctx.protocol.look_ahead(ctx.txn, ctx.tables, ahead);
    }

    /// What is looked up for the rows of a list from `row` on is made ahead.
    #[inline(never)]
    pub(super) fn look_ahead_of_list<P: RowLocks, H: Host + ?Sized>(
        &mut self,
        each: &EachDesc,
        row: usize,
        frame: &[Slot],
        base: Base,
        ctx: &mut Context<'_, P, H>,
    ) {
        let Some(desc) = each.ahead.as_deref() else { return };
        let Machine { colls, heap, key, ahead, .. } = self;
        let list = &colls[base.colls + usize::from(each.coll)];
        let end = list.len().min(row + EACH_AHEAD);
        if end - row < EACH_AHEAD_MIN {
            return;
        }
        let codec = ctx.tables.get(desc.table).index(desc.index).codec();
        for row in (row..end).map(|row| list.row(row)) {
            desc.join(codec, |column| field(row[*column], heap), frame, heap, key, ahead);
        }
        ctx.protocol.look_ahead(ctx.txn, ctx.tables, ahead);
    }

    /// How many rows come next, all of which are read; none closes the scan.
    #[inline(never)]
    pub(super) fn scan_batch<P: RowLocks, H: Host + ?Sized>(
        &mut self,
        code: &Code,
        number: u16,
        ctx: &mut Context<'_, P, H>,
    ) -> Result<usize, Interrupt> {
        self.read_batch(&code.scans[usize::from(number)], ctx)?;
        let height = self.cursors.len().saturating_sub(1);
        let rows = self.batches[height].rows.len();
        for _ in 0..rows.max(1) {
            self.pace.step("scans");
            if !P::WRITES && rows > 0 {
                point("has read a row of a snapshot");
            }
        }
        if rows == 0 {
            self.close_cursors(height, ctx);
        }
        Ok(rows)
    }

    /// [`Machine::scan_next`] of rows that are read several at a time.
    #[inline]
    fn next_of_batch<P: RowLocks, H: Host + ?Sized>(
        &mut self,
        desc: &ScanDesc,
        frame: &mut [Slot],
        ctx: &mut Context<'_, P, H>,
    ) -> Result<bool, Interrupt> {
        let height = self.cursors.len().saturating_sub(1);
        let is_empty = self.batches[height].at == self.batches[height].rows.len();
        if is_empty {
            self.read_batch(desc, ctx)?;
            if let Some(ahead) = desc.ahead.as_deref().filter(|_| self.looks_ahead) {
                self.look_ahead_of_rows(ahead, frame, ctx);
            }
        }
        let Machine { batches, heap, .. } = self;
        let batch = &mut batches[height];
        let Some(row) = batch.rows.get(batch.at).copied() else {
            self.close_cursors(height, ctx);
            return Ok(false);
        };
        batch.at += 1;
        if !P::WRITES {
            point("has read a row of a snapshot");
        }
        desc.reads.decode_batched(row, &batch.images, heap, frame)?;
        set_row(desc.row, Some(row), frame);
        Ok(true)
    }

    /// Reads what is still to be read of the innermost scan's present row.
    #[inline(never)]
    pub(super) fn scan_read(
        &mut self,
        code: &Code,
        number: u16,
        frame: &mut [Slot],
    ) -> Result<(), Interrupt> {
        let height = self.cursors.len().saturating_sub(1);
        let Machine { batches, heap, .. } = self;
        let batch = &batches[height];
        let row = batch.rows[batch.at - 1];
        code.scans[usize::from(number)].later.decode_batched(row, &batch.images, heap, frame)
    }

    /// Inserts a row of values that are of their columns' types.
    #[inline(never)]
    pub(super) fn insert<P: RowLocks, H: Host + ?Sized>(
        &mut self,
        code: &Code,
        number: u16,
        frame: &mut [Slot],
        ctx: &mut Context<'_, P, H>,
    ) -> Result<(), Interrupt> {
        self.pace.step("inserts");
        if !P::WRITES {
            return Err(read_only("INSERT").into());
        }
        let desc = &code.inserts[usize::from(number)];
        let table = ctx.tables.get(desc.table);
        let heap = &self.heap;
        table.layout().encode_with(
            |column| field(frame[usize::from(desc.values[column.index()])], heap),
            &mut self.image,
        )?;
        ctx.host.stores(size_of_val(&*self.image))?;
        match ctx.protocol.insert(ctx.txn, table, &self.image)? {
            Ok(handle) => {
                if desc.row != NONE {
                    frame[usize::from(desc.row)] = Slot::Int(i64::from(handle.0));
                }
                Ok(())
            }
            Err(why) => Err(refused(why, &desc.meta, &self.image, &mut self.heap).into()),
        }
    }

    /// Changes columns of a row. Where that changes the primary key, the row is deleted and inserted,
    /// and the register gets the new row's handle.
    #[inline(never)]
    pub(super) fn update<P: RowLocks, H: Host + ?Sized>(
        &mut self,
        code: &Code,
        number: u16,
        frame: &mut [Slot],
        ctx: &mut Context<'_, P, H>,
    ) -> Result<(), Interrupt> {
        self.pace.step("updates");
        if !P::WRITES {
            return Err(read_only("UPDATE").into());
        }
        let desc = &code.updates[usize::from(number)];
        let Some(row) = row_handle(frame[usize::from(desc.row)]) else { return Ok(()) };
        let table = ctx.tables.get(desc.table);
        self.loaded.reset();
        let Some(image) = ctx.protocol.load(ctx.txn, table, row, &mut self.loaded)? else {
            return Ok(());
        };
        let heap = &self.heap;
        #[cfg(debug_assertions)]
        if let Some(trace) = &mut self.trace {
            let codec = table.index(planaria_base::IndexId::PRIMARY).codec();
            if codec.encode_row(image.words(&self.loaded), &mut self.old_key).is_ok() {
                trace.changes(self.old_key.words());
            }
        }
        let changed = |i: usize| desc.set[i].0;
        let value = |i: usize| field(frame[usize::from(desc.set[i].1)], heap);
        // Where all keys stay, and all lengths, the image is changed where it is.
        if desc.touched.is_empty() {
            let words = self.loaded.words_mut(image.offset, image.len);
            if table.layout().patch(words, desc.set.len(), changed, value)? {
                ctx.host.stores(size_of_val(words))?;
                return match ctx.protocol.update(ctx.txn, table, row, words, desc.touched)? {
                    Ok(()) => Ok(()),
                    Err(why) => {
                        Err(refused(why, &desc.meta, image.words(&self.loaded), &mut self.heap).into())
                    }
                };
            }
        }
        let old = image.words(&self.loaded);
        table.layout().encode_update_with(old, desc.set.len(), changed, value, &mut self.image)?;
        ctx.host.stores(size_of_val(&*self.image))?;
        let mut touched = desc.touched;
        if touched.contains(planaria_base::IndexId::PRIMARY) {
            let codec = table.index(planaria_base::IndexId::PRIMARY).codec();
            if !has_same_key(codec, [old, &self.image], [&mut self.old_key, &mut self.key]) {
                ctx.protocol.delete(ctx.txn, table, row)?;
                return match ctx.protocol.insert(ctx.txn, table, &self.image)? {
                    Ok(handle) => {
                        frame[usize::from(desc.row)] = Slot::Int(i64::from(handle.0));
                        Ok(())
                    }
                    Err(why) => Err(refused(why, &desc.meta, &self.image, &mut self.heap).into()),
                };
            }
            touched = IndexSet(touched.0 & !1);
        }
        // A row whose unique keys stay is locked less strongly.
        for id in touched.iter().filter(|id| table.index(*id).codec().unique()) {
            let codec = table.index(id).codec();
            if has_same_key(codec, [old, &self.image], [&mut self.old_key, &mut self.key]) {
                touched = IndexSet(touched.0 & !(1 << id.0));
            }
        }
        match ctx.protocol.update(ctx.txn, table, row, &self.image, touched)? {
            Ok(()) => Ok(()),
            Err(why) => Err(refused(why, &desc.meta, &self.image, &mut self.heap).into()),
        }
    }

    /// Claims a row; whether it is the transaction's.
    #[inline(never)]
    pub(super) fn claim<P: RowLocks, H: Host + ?Sized>(
        &mut self,
        table: TableId,
        row: Slot,
        strength: Strength,
        if_claimed: IfClaimed,
        ctx: &mut Context<'_, P, H>,
    ) -> Result<bool, Interrupt> {
        let Some(row) = row_handle(row) else { return Ok(true) };
        if if_claimed != IfClaimed::Wait {
            ctx.host.asks_others()?;
        }
        Ok(ctx.protocol.claim(ctx.txn, ctx.tables.get(table), row, strength, if_claimed)?)
    }

    /// Deletes a row.
    #[inline(never)]
    pub(super) fn delete<P: RowLocks, H: Host + ?Sized>(
        &mut self,
        table: TableId,
        row: Slot,
        ctx: &mut Context<'_, P, H>,
    ) -> Result<(), Interrupt> {
        self.pace.step("deletes");
        if !P::WRITES {
            return Err(read_only("DELETE").into());
        }
        if let Some(row) = row_handle(row) {
            ctx.protocol.delete(ctx.txn, ctx.tables.get(table), row)?;
        }
        Ok(())
    }
}

/// Whether two images of a row have one key in an index.
fn has_same_key(codec: &KeyCodec, images: [&[u64]; 2], [old, new]: [&mut KeyBuf; 2]) -> bool {
    codec.encode_row(images[0], old).is_ok()
        && codec.encode_row(images[1], new).is_ok()
        && old.words() == new.words()
}

/// 25006
#[cold]
pub(super) fn read_only(command: &str) -> Error {
    let message = format!("cannot execute {command} in a read-only transaction");
    Error::new(SqlState::READ_ONLY_SQL_TRANSACTION, message)
}

#[inline(always)]
fn set_row(dst: R, row: Option<Row>, frame: &mut [Slot]) {
    if dst != NONE {
        frame[usize::from(dst)] = row.map_or(Slot::Null, |row| Slot::Int(i64::from(row.handle.0)));
    }
}
