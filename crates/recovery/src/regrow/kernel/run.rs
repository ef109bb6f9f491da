//! Running a kernel.

use super::super::operands::Packing;
use super::super::worker::Sweep;
use super::*;
use planaria_base::numeric::Number;
use planaria_base::sync::atomic::AtomicU64;
use planaria_base::{Error, Result, SqlState};
use planaria_exec::functions::{self, fast};
use planaria_exec::values::read_slot;
use planaria_exec::{Heap, Host};
use planaria_log::ValueReader;
use planaria_protocol::serial::SerialTxn;
use planaria_protocol::{Conflict, CursorId, Protocol, RowHandle};
use planaria_storage::{
    Column, ColumnKind, Header, InPlace, KeyBound, KeyBuf, KeyRange, Stored, TableSet, WordsMut, copy_range,
};

/// What a kernel runs in, beside its [`Bank`].
pub(in super::super) struct Surroundings<'s, H: Header> {
    pub protocol: &'s Sweep<H>,
    pub txn: &'s mut SerialTxn<H>,
    pub tables: &'s TableSet<H>,
    pub scratch: &'s mut Scratch,
}

/// Bytes of heap in use that a loop leaves alone.
const TIDY_BYTES_MIN: usize = 1 << 20;

/// Buffers of a worker.
#[derive(Default)]
pub(in super::super) struct Scratch {
    pub heap: Heap,
    /// Empty but while the heap is tidied.
    other_heap: Heap,
    key: KeyBuf,
    image: Vec<u64>,
    old: Vec<u64>,
    bytes: Vec<u8>,
    args: Vec<Slot>,
    range: KeyRange,
}

/// Takes the pieces that a kernel hands over.
pub(in super::super) trait HandsOver: Host {
    /// A piece; its arguments are these registers.
    fn hand_over(&mut self, piece: u32, args: &[R], bank: &Bank, heap: &Heap) -> Result<()>;
}

/// The registers of the kernels of one layout, by number: made when a kernel is first run.
#[derive(Default)]
pub(in super::super) struct Banks {
    layout: u64,
    banks: Vec<Option<Box<Bank>>>,
}

impl Banks {
    /// The registers of kernel `number` of a layout.
    #[inline]
    pub(in super::super) fn get(&mut self, layout: u64, number: usize, kernel: &Kernel) -> &mut Bank {
        if self.layout != layout {
            self.layout = layout;
            self.banks.clear();
        }
        if self.banks.len() <= number {
            self.banks.resize_with(number + 1, || None);
        }
        self.banks[number].get_or_insert_with(|| kernel.bank.clone())
    }
}

fn row(slot: Slot) -> Option<RowHandle> {
    match slot {
        Slot::Int(handle) => Some(RowHandle(handle as u32)),
        _ => None,
    }
}

#[inline(always)]
fn at(r: R) -> usize {
    usize::from(r)
}

impl Kernel {
    /// How many bytes of the piece's own row it is likely to look at; 0 if it does not begin with looking that up.
    pub(in super::super) fn row_bytes(&self) -> u32 {
        self.row_bytes
    }

    /// Runs a piece on packed operands. `given`: its own row, if it wants it.
    #[inline]
    pub(in super::super) fn run_packed<H: Header, S: HandsOver>(
        &self,
        bank: &mut Bank,
        (packing, operands): (&Packing, &[u8]),
        given: Option<RowHandle>,
        around: &mut Surroundings<'_, H>,
        host: &mut S,
    ) -> Result<()> {
        around.scratch.heap.clear();
        let heap = &mut around.scratch.heap;
        let nulls = packing.take(operands, heap, |i, slot| bank[at(self.inputs[i])] = slot)?;
        // No row has a NULL in its key.
        let given = given.filter(|_| nulls & self.key_bits == 0);
        self.run(bank, given, around, host)
    }

    /// Runs a plan on `count` logged values; `None` where they cannot be read.
    pub(in super::super) fn take_logged(
        &self,
        bank: &mut Bank,
        count: usize,
        values: &mut ValueReader<'_>,
        heap: &mut Heap,
    ) -> Result<Option<()>> {
        heap.clear();
        if count != self.inputs.len() {
            return Ok(None);
        }
        for (input, unread) in self.inputs.iter().zip(&self.unread) {
            if *unread {
                match values.skip() {
                    Some(()) => continue,
                    None => return Ok(None),
                }
            }
            match read_slot(values, heap)? {
                Some(slot) => bank[at(*input)] = slot,
                None => return Ok(None),
            }
        }
        Ok(Some(()))
    }

    /// Runs the operations; arguments are in the bank, their texts in the heap.
    pub(in super::super) fn run<H: Header, S: HandsOver>(
        &self,
        bank: &mut Bank,
        given: Option<RowHandle>,
        around: &mut Surroundings<'_, H>,
        host: &mut S,
    ) -> Result<()> {
        for r in &self.nulls {
            bank[at(*r)] = Slot::Null;
        }
        if let Some(r) = self.given {
            bank[at(r)] = given.map_or(Slot::Null, |row| Slot::Int(i64::from(row.0)));
        }
        let mut pc = 0;
        let mut tidy_at = TIDY_BYTES_MIN;
        loop {
            let op = &self.ops[pc];
            pc += 1;
            match op {
                Op::Copy { dst, src } => bank[at(*dst)] = bank[at(*src)],
                Op::Text { dst, value } => bank[at(*dst)] = around.scratch.heap.push_datum(value)?,
                Op::AddInt4 { dst, a, b } => {
                    bank[at(*dst)] = match (bank[at(*a)], bank[at(*b)]) {
                        (Slot::Int(a), Slot::Int(b)) => Slot::Int(fast::int4_add(a, b)?),
                        _ => Slot::Null,
                    }
                }
                Op::SubInt4 { dst, a, b } => {
                    bank[at(*dst)] = match (bank[at(*a)], bank[at(*b)]) {
                        (Slot::Int(a), Slot::Int(b)) => Slot::Int(fast::int4_sub(a, b)?),
                        _ => Slot::Null,
                    }
                }
                Op::Calculate { how, dst, a, b } => {
                    let heap = &mut around.scratch.heap;
                    bank[at(*dst)] = calculate(*how, bank[at(*a)], bank[at(*b)], heap)?;
                }
                Op::CompareInt { test, dst, a, b } => {
                    bank[at(*dst)] = match (bank[at(*a)], bank[at(*b)]) {
                        (Slot::Int(a), Slot::Int(b)) => Slot::Bool(test.holds(a.cmp(&b))),
                        _ => Slot::Null,
                    }
                }
                Op::CompareNum { test, dst, a, b } => {
                    let order = functions::number::order(bank[at(*a)], bank[at(*b)], &around.scratch.heap);
                    bank[at(*dst)] = order.map_or(Slot::Null, |order| Slot::Bool(test.holds(order)));
                }
                Op::IsNull { dst, src, is } => bank[at(*dst)] = Slot::Bool(bank[at(*src)].is_null() == *is),
                Op::Element { dst, array, index, nth } => {
                    bank[at(*dst)] = match (bank[at(*array)], bank[at(*index)]) {
                        (Slot::Array(a), Slot::Int(i)) if *nth || a.is_list() => {
                            planaria_exec::functions::nth_element(&around.scratch.heap, a, i)
                        }
                        (Slot::Array(a), Slot::Int(i)) => {
                            planaria_exec::functions::element(&around.scratch.heap, a, i)
                        }
                        _ => Slot::Null,
                    }
                }
                Op::Call { func, dst, args } => {
                    bank[at(*dst)] = call(*func, args, bank, around.scratch)?;
                }
                Op::Narrow { bytes, dst, src } => {
                    bank[at(*dst)] = match bank[at(*src)] {
                        Slot::Int(n) if *bytes == 4 => Slot::Int(fast::int4(Some(n))?),
                        Slot::Int(n) => Slot::Int(fast::int2(Some(n))?),
                        other => other,
                    }
                }
                Op::Rescale { dst, src, to } => {
                    bank[at(*dst)] = match bank[at(*src)] {
                        Slot::Numeric(packed) => {
                            let n = packed.unpack();
                            if i16::from(n.scale()) == to.modifier.1 && n.mantissa().abs() < to.bound {
                                Slot::Numeric(packed)
                            } else {
                                let heap = &mut around.scratch.heap;
                                functions::number::modified(Number::Short(n), Some(to.modifier), heap)?
                            }
                        }
                        other => {
                            functions::number::rescale(other, Some(to.modifier), &mut around.scratch.heap)?
                        }
                    }
                }
                Op::Cast { dst, src, cast } => {
                    bank[at(*dst)] = match bank[at(*src)] {
                        Slot::Null => Slot::Null,
                        value => {
                            let heap = &mut around.scratch.heap;
                            functions::cast(value, &cast.from, &cast.to, cast.explicit, heap)?
                        }
                    }
                }
                Op::Draw { dst, input } => bank[at(*dst)] = host.draw(*input)?,
                Op::Kept { dst, ty } => bank[at(*dst)] = host.kept(ty, &mut around.scratch.heap)?,
                Op::NextValue { dst, sequence } => bank[at(*dst)] = Slot::Int(host.next_value(*sequence)?),
                Op::CurrentValue { dst, sequence } => {
                    bank[at(*dst)] = Slot::Int(host.current_value(*sequence)?);
                }
                Op::Jump { to } => pc = *to as usize,
                Op::Turn { to } => {
                    pc = *to as usize;
                    if around.scratch.heap.used() > tidy_at {
                        tidy_at = self.tidy(bank, around.scratch)?;
                    }
                }
                Op::Unless { cond, to } => {
                    if !bank[at(*cond)].is_true() {
                        pc = *to as usize;
                    }
                }
                Op::UnlessInt { test, a, b, to } => {
                    let holds = match (bank[at(*a)], bank[at(*b)]) {
                        (Slot::Int(a), Slot::Int(b)) => test.holds(a.cmp(&b)),
                        _ => false,
                    };
                    if !holds {
                        pc = *to as usize;
                    }
                }
                Op::Find(find) => around.find(find, bank),
                Op::Read { row: from, columns } => match row(bank[at(*from)]) {
                    Some(row) => {
                        let words = around.txn.words(row);
                        for read in columns {
                            bank[at(read.dst)] = value_of(read, words, around.scratch)?;
                        }
                    }
                    None => columns.iter().for_each(|read| bank[at(read.dst)] = Slot::Null),
                },
                Op::Store(store) => around.store(store, bank)?,
                Op::Update(update) => around.update(update, bank)?,
                Op::Insert(insert) => around.insert(insert, bank)?,
                Op::Delete { table, row: from } => {
                    if let Some(row) = row(bank[at(*from)]) {
                        around
                            .protocol
                            .delete(around.txn, around.tables.get(*table), row)
                            .map_err(refused)?;
                    }
                }
                Op::Open { cursor, scan } => bank[at(*cursor)] = around.open(scan, bank),
                Op::Next { cursor, table, row: dst, to } => {
                    let next = match bank[at(*cursor)] {
                        Slot::Int(cursor) => {
                            around.txn.next_row(around.tables.get(*table), CursorId(cursor as u32))
                        }
                        _ => None,
                    };
                    match next {
                        Some(row) => bank[at(*dst)] = Slot::Int(i64::from(row.0)),
                        None => pc = *to as usize,
                    }
                }
                Op::Close { cursor } => {
                    if let Slot::Int(cursor) = bank[at(*cursor)] {
                        around.protocol.scan_close(around.txn, CursorId(cursor as u32));
                    }
                }
                Op::Piece { piece, args } => host.hand_over(*piece, args, bank, &around.scratch.heap)?,
                Op::End => return Ok(()),
            }
        }
    }
}

impl Kernel {
    /// Keeps of the heap what a register holds. Answers when to do so again.
    #[cold]
    #[inline(never)]
    fn tidy(&self, bank: &mut Bank, scratch: &mut Scratch) -> Result<usize> {
        if !self.piles_up {
            return Ok(usize::MAX);
        }
        planaria_exec::tidy(&mut scratch.heap, &mut scratch.other_heap, [&mut bank[..]])?;
        Ok(scratch.heap.used() * 2 + TIDY_BYTES_MIN)
    }
}

#[inline(always)]
fn calculate(how: Arithmetic, a: Slot, b: Slot, heap: &mut Heap) -> Result<Slot> {
    Ok(match (a, b) {
        (Slot::Int(a), Slot::Int(b)) => Slot::Int(match how {
            Arithmetic::MulInt4 => fast::int4_mul(a, b)?,
            Arithmetic::AddInt8 => fast::int8_add(a, b)?,
            Arithmetic::SubInt8 => fast::int8_sub(a, b)?,
            _ => fast::int8_mul(a, b)?,
        }),
        (Slot::Numeric(x), Slot::Numeric(y)) => {
            let (done, func) = match how {
                Arithmetic::AddNum => (fast::num_add(x, y), Func::NumAdd),
                Arithmetic::SubNum => (fast::num_sub(x, y), Func::NumSub),
                _ => (fast::num_mul(x, y), Func::NumMul),
            };
            match done {
                Ok(n) => Slot::Numeric(n),
                Err(_) => functions::number::apply_two(func, a, b, heap)?,
            }
        }
        (Slot::Long(_), _) | (_, Slot::Long(_)) => {
            let func = match how {
                Arithmetic::AddNum => Func::NumAdd,
                Arithmetic::SubNum => Func::NumSub,
                _ => Func::NumMul,
            };
            functions::number::apply_two(func, a, b, heap)?
        }
        _ => Slot::Null,
    })
}

#[inline(never)]
fn call(func: Func, args: &[R], bank: &Bank, scratch: &mut Scratch) -> Result<Slot> {
    scratch.args.clear();
    scratch.args.extend(args.iter().map(|r| bank[at(*r)]));
    functions::call(func, &scratch.args, &mut scratch.heap)
}

/// A column of a record, its text copied to the heap.
#[inline]
fn value_of(read: &Read, words: &[AtomicU64], scratch: &mut Scratch) -> Result<Slot> {
    let column = &read.column;
    if column.is_null(words) {
        return Ok(Slot::Null);
    }
    Ok(match column.kind() {
        ColumnKind::Int2 | ColumnKind::Int4 | ColumnKind::Int8 => Slot::Int(column.int(words)),
        ColumnKind::Decimal | ColumnKind::Numeric => match column.stored(words) {
            Stored::Packed(packed) => Slot::Numeric(packed),
            Stored::Special(bytes) => scratch.heap.long_bytes(bytes)?,
            Stored::Long(range) => {
                let Scratch { bytes, heap, .. } = scratch;
                bytes.clear();
                copy_range(words, range, bytes);
                heap.long_bytes(bytes)?
            }
        },
        ColumnKind::Bool => Slot::Bool(column.bool(words)),
        ColumnKind::Float8 | ColumnKind::Float4 => Slot::Float(column.float(words)),
        ColumnKind::Uuid => Slot::Uuid(column.uuid(words)),
        ColumnKind::Interval | ColumnKind::OldInterval => Slot::Interval(column.interval(words)),
        ColumnKind::Bytes => {
            let Scratch { bytes, heap, .. } = scratch;
            bytes.clear();
            column.copy_bytes(words, bytes);
            let bytes = heap.arena.push_bytes(bytes)?;
            read.bytes.slot(bytes)
        }
    })
}

/// Puts a value into a column of fixed width.
#[inline]
fn put<W: WordsMut + ?Sized>(column: &Column, value: Slot, heap: &Heap, words: &mut W) -> Result<()> {
    match value {
        Slot::Int(n) => column.put_int(n, words),
        Slot::Numeric(n) => column.put_numeric(n, words),
        other => column.put(heap.field(other), words),
    }
}

impl<H: Header> Surroundings<'_, H> {
    /// Inserts a row that was made beforehand.
    #[inline]
    pub(in super::super) fn insert_row(&mut self, id: TableId, operands: &[u8]) -> Result<()> {
        let image = NewRow::take(operands, &mut self.scratch.image);
        let done = self.protocol.insert(self.txn, self.tables.get(id), image).map_err(refused)?;
        done.map(|_| ()).map_err(|_| exists(id))
    }

    #[inline]
    fn find(&mut self, find: &Find, bank: &mut Bank) {
        let table = self.tables.get(find.table);
        let Scratch { key, heap, .. } = &mut *self.scratch;
        let codec = table.index(find.index).codec();
        let value = |i: usize| heap.field(bank[at(find.key[i])]);
        let possible = match find.arbiter {
            true => codec.encode_arbiter_with(value, key),
            false => codec.encode_prefix_with(find.key.len(), value, key),
        };
        let found = if possible { self.txn.find(table, find.index, key) } else { None };
        bank[at(find.row)] = found.map_or(Slot::Null, |row| Slot::Int(i64::from(row.0)));
    }

    #[inline]
    fn store(&mut self, store: &Store, bank: &Bank) -> Result<()> {
        let Some(row) = row(bank[at(store.row)]) else { return Ok(()) };
        if let Some(update) = &store.long {
            let old = self.txn.words(row);
            let is_long = |(column, value): &(Column, R)| {
                column.is_long(old) || matches!(bank[at(*value)], Slot::Long(at) if at.len > 0)
            };
            if store.columns.iter().any(is_long) {
                return self.update(update, bank);
            }
        }
        let mut words = InPlace(self.txn.words(row));
        for (column, value) in &store.columns {
            put(column, bank[at(*value)], &self.scratch.heap, &mut words)?;
        }
        Ok(())
    }

    #[inline(never)]
    fn update(&mut self, update: &Update, bank: &Bank) -> Result<()> {
        let Some(row) = row(bank[at(update.row)]) else { return Ok(()) };
        let table = self.tables.get(update.table);
        let Scratch { old, image, heap, .. } = &mut *self.scratch;
        old.clear();
        let words = self.txn.words(row);
        old.extend(words.iter().map(|word| word.load(std::sync::atomic::Ordering::Relaxed)));
        let value = |i: usize| heap.field(bank[at(update.set[i].1)]);
        table.layout().encode_update_with(old, update.set.len(), |i| update.set[i].0, value, image)?;
        let done = self.protocol.update(self.txn, table, row, image, update.touched).map_err(refused)?;
        done.map_err(|_| exists(update.table))
    }

    #[inline]
    fn insert(&mut self, insert: &Insert, bank: &Bank) -> Result<()> {
        let table = self.tables.get(insert.table);
        let Scratch { image, heap, .. } = &mut *self.scratch;
        image.clear();
        image.resize(table.layout().fixed_words(), 0);
        let mut longs = false;
        for (column, value) in &insert.fixed {
            put(column, bank[at(*value)], heap, &mut image[..])?;
            longs |= matches!(bank[at(*value)], Slot::Long(at) if at.len > 0);
        }
        let mut end = table.layout().fixed_bytes();
        for (column, value) in &insert.texts {
            end = table.layout().put_variable(column, heap.field(bank[at(*value)]), end, image)?;
        }
        if longs {
            for (column, value) in &insert.fixed {
                if let Slot::Long(place) = bank[at(*value)]
                    && place.len > 0
                {
                    end = table.layout().put_long(column, heap.long(place), end, image)?;
                }
            }
        }
        let done = self.protocol.insert(self.txn, table, image).map_err(refused)?;
        done.map(|_| ()).map_err(|_| exists(insert.table))
    }

    fn open(&mut self, scan: &Scan, bank: &Bank) -> Slot {
        let table = self.tables.get(scan.table);
        let Scratch { range, heap, .. } = &mut *self.scratch;
        let value = |r: R| heap.field(bank[at(r)]);
        let bound =
            |end: Option<(R, bool)>| end.map(|(r, inclusive)| KeyBound { value: value(r), inclusive });
        table.index(IndexId::PRIMARY).codec().range_with(
            scan.prefix.len(),
            |i| value(scan.prefix[i]),
            bound(scan.lower),
            bound(scan.upper),
            range,
        );
        if range.is_empty() {
            return Slot::Null;
        }
        let cursor = self.protocol.scan_open(self.txn, table, IndexId::PRIMARY, range, scan.descending);
        Slot::Int(i64::from(cursor.0))
    }
}

#[cold]
fn refused(conflict: Conflict) -> Error {
    conflict.into()
}

#[cold]
fn exists(table: TableId) -> Error {
    Error::new(
        SqlState::DATA_CORRUPTED,
        format!("replay puts a key into table {table} that another row has already"),
    )
}
