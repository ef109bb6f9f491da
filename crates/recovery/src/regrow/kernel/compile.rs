//! From a program to its kernel.
//!
//! Columns that a lookup or a scan reads are not read there but before their first use on each path: if no
//! operation between, in program order, changes that column or deletes rows of the table, and nothing
//! else writes the register.

use super::*;
use crate::AnyWorld;
use planaria_base::ColumnId;
use planaria_base::types::TypeClass;
use planaria_exec::{BytesKind, Class, Conversion, comparison, conversion};
use planaria_ir::func::Sig;
use planaria_ir::{Block, Label, OpKind, ParamMode, Program, Range, ReadMode, Reg};
use planaria_storage::ColumnKind;
use std::collections::{BTreeMap, BTreeSet};

impl Kernel {
    /// The kernel of a program; `None` where only the machine can run it. `key`: of a piece, the number of
    /// leading parameters that are the leading primary key columns of its rows.
    pub(in super::super) fn new(program: &Program, key: usize, world: &dyn AnyWorld) -> Option<Kernel> {
        let program = &coalesce::without_copies(&planaria_exec::simplified(program));
        let mut compiler = Compiler {
            program,
            world,
            ops: Vec::new(),
            bank: Box::new([Slot::Null; REGISTERS]),
            used: 0,
            places: vec![None; program.regs.len()],
            key,
            given: None,
            writes: vec![0; program.regs.len()],
            reads: vec![0; program.regs.len()],
            last_read: vec![0; program.regs.len()],
            changes: Vec::new(),
            place: 0,
            lazy: BTreeMap::new(),
            state: State::default(),
            nulls: BTreeSet::new(),
            banked: BTreeSet::new(),
            regions: Vec::new(),
            loops: 0,
            piles_up: false,
            landed: 0,
        };
        compiler.survey();
        let inputs: Vec<Reg> =
            program.params.iter().filter(|p| p.mode != ParamMode::Out).map(|p| p.reg).collect();
        compiler.state.assigned.extend(inputs.iter().copied());
        let unread = inputs.iter().map(|r| compiler.reads[r.index()] == 0).collect();
        let inputs = inputs.iter().map(|r| compiler.at(*r)).collect();
        compiler.block(&program.body)?;
        compiler.ops.push(Op::End);
        let mut nulls: Vec<Reg> = compiler.nulls.difference(&compiler.banked).copied().collect();
        if compiler.piles_up {
            // What a register holds of the run before must not be taken for something of this one's heap.
            let all = (0..program.regs.len() as u32).map(Reg);
            nulls = all.filter(|r| compiler.is_written(*r)).collect();
        }
        let nulls = nulls.into_iter().map(|r| compiler.at(r)).collect();
        if compiler.used > REGISTERS {
            return None;
        }
        let row_bytes = compiler.given.map_or(0, |(row, table)| compiler.row_bytes(row, table));
        let Compiler { ops, bank, given, piles_up, .. } = compiler;
        let key = if given.is_some() { key } else { 0 };
        Some(Kernel {
            inputs,
            unread,
            nulls,
            ops: ops.into(),
            bank,
            given: given.map(|(row, _)| row),
            row_bytes,
            key_bits: (1 << key) - 1,
            piles_up,
        })
    }
}

/// A change of rows, by its place in program order.
enum Change {
    Column(TableId, ColumnId),
    Rows(TableId),
}

/// A loop or block under way, and the jumps that leave it or go on with it.
struct Region {
    label: Label,
    /// Where its next turn begins, of a loop.
    top: Option<Pc>,
    exits: Vec<usize>,
    /// Of a scan.
    cursor: Option<R>,
}

/// What holds on every path to a place.
#[derive(Clone, Default)]
struct State {
    /// Columns put off that have been read.
    loaded: BTreeSet<Reg>,
    /// Registers that were written.
    assigned: BTreeSet<Reg>,
}

struct Compiler<'p> {
    program: &'p Program,
    world: &'p dyn AnyWorld,
    ops: Vec<Op>,
    bank: Box<Bank>,
    /// Registers of the bank in use; if there are not enough, there is no kernel in the end.
    used: usize,
    /// Where the program's registers are.
    places: Vec<Option<R>>,
    key: usize,
    /// The register of the row that is given, and its table.
    given: Option<(R, TableId)>,
    /// By register: operations that write it and that read it, and the place of the last one.
    writes: Vec<u32>,
    reads: Vec<u32>,
    last_read: Vec<usize>,
    changes: Vec<(usize, Change)>,
    /// Place in program order of the operation being compiled.
    place: usize,
    /// Registers of columns that are read when they are wanted.
    lazy: BTreeMap<Reg, (Reg, Column, BytesKind)>,
    state: State,
    nulls: BTreeSet<Reg>,
    /// Registers that hold a constant from the start.
    banked: BTreeSet<Reg>,
    regions: Vec<Region>,
    /// Loops around this place.
    loops: u32,
    /// See [`Kernel`].
    piles_up: bool,
    /// Where the last jump found to its target, or a loop began.
    landed: usize,
}

impl Compiler<'_> {
    /// Counts reads and writes, and places changes, in program order.
    fn survey(&mut self) {
        let mut place = 0;
        let Compiler { program, writes, reads, last_read, changes, .. } = self;
        program.body.visit(&mut |op| {
            place += 1;
            op.kind.writes(&mut |r| writes[r.index()] += 1);
            op.kind.reads(&mut |r| {
                reads[r.index()] += 1;
                last_read[r.index()] = place;
            });
            match &op.kind {
                OpKind::Update { table, set, .. } => {
                    changes.extend(set.iter().map(|(c, _)| (place, Change::Column(*table, *c))));
                }
                OpKind::Delete { table, .. } => changes.push((place, Change::Rows(*table))),
                _ => {}
            }
        });
        program.params.iter().for_each(|p| writes[p.reg.index()] += 1);
    }

    fn block(&mut self, block: &Block) -> Option<()> {
        block.0.iter().try_for_each(|op| {
            self.place += 1;
            self.op(&op.kind)
        })
    }

    /// A register about to be read.
    fn read(&mut self, reg: Reg) -> R {
        self.load(reg);
        if !self.state.assigned.contains(&reg) {
            self.nulls.insert(reg);
        }
        self.at(reg)
    }

    /// Reads a column now, if it was put off.
    fn load(&mut self, reg: Reg) {
        let Some((row, column, bytes)) = self.lazy.get(&reg).copied() else { return };
        if self.state.loaded.insert(reg) {
            let row = self.read(row);
            let dst = self.at(reg);
            self.emit_read(row, Read { column, bytes, dst });
            self.state.assigned.insert(reg);
        }
    }

    /// Emits the reading of a column, together with the last one if that was of the same row and no jump
    /// comes here in between.
    fn emit_read(&mut self, row: R, read: Read) {
        let here = self.ops.len();
        match self.ops.last_mut() {
            Some(Op::Read { row: last, columns }) if *last == row && self.landed != here => {
                let mut all = std::mem::take(columns).into_vec();
                all.push(read);
                *columns = all.into();
            }
            _ => self.ops.push(Op::Read { row, columns: Box::new([read]) }),
        }
    }

    fn read_all(&mut self, regs: &[Reg]) -> Box<[R]> {
        regs.iter().map(|r| self.read(*r)).collect()
    }

    fn write(&mut self, reg: Reg) -> R {
        self.state.assigned.insert(reg);
        self.at(reg)
    }

    fn here(&self) -> Pc {
        self.ops.len() as Pc
    }

    /// Emits a jump whose target is not known yet.
    fn jump(&mut self, op: Op) -> usize {
        self.ops.push(op);
        self.ops.len() - 1
    }

    /// Has a jump go to the next operation.
    fn land(&mut self, jump: usize) {
        let here = self.here();
        self.landed = self.ops.len();
        match &mut self.ops[jump] {
            Op::Jump { to } | Op::Unless { to, .. } | Op::UnlessInt { to, .. } | Op::Next { to, .. } => {
                *to = here;
            }
            other => unreachable!("{other:?} is no jump"),
        }
    }

    /// A register of the kernel's own.
    fn hidden(&mut self, value: Slot) -> R {
        let place = self.used as R;
        self.used += 1;
        self.bank[usize::from(place)] = value;
        place
    }

    /// Where a register of the program is.
    fn at(&mut self, reg: Reg) -> R {
        match self.places[reg.index()] {
            Some(place) => place,
            None => {
                let place = self.hidden(Slot::Null);
                self.places[reg.index()] = Some(place);
                place
            }
        }
    }

    /// How far the row that was given is likely to be looked at.
    fn row_bytes(&self, given: R, table: TableId) -> u32 {
        let layout = self.world.table(table).layout();
        let mut bytes = layout.fixed_bytes();
        for op in &self.ops {
            match op {
                Op::Read { row, columns } if *row == given => {
                    let texts = columns.iter().filter(|read| read.column.kind() == ColumnKind::Bytes);
                    bytes = texts.map(|read| layout.likely_bytes_to(&read.column)).fold(bytes, usize::max);
                }
                Op::Update(update) if update.row == given => {
                    bytes =
                        layout.columns().iter().map(|c| layout.likely_bytes_to(c)).fold(bytes, usize::max);
                }
                _ => {}
            }
        }
        u32::try_from(bytes).unwrap_or(u32::MAX)
    }

    /// Whether the kernel writes a register of the program, and nobody before it runs.
    fn is_written(&self, reg: Reg) -> bool {
        let is_input = || self.program.params.iter().any(|p| p.reg == reg && p.mode != ParamMode::Out);
        self.places[reg.index()].is_some() && !self.banked.contains(&reg) && !is_input()
    }

    fn op(&mut self, kind: &OpKind) -> Option<()> {
        match kind {
            OpKind::Const { dst, value } => self.constant(*dst, value)?,
            // A column that only this asks for is read to where it goes.
            OpKind::Copy { dst, src }
                if self.reads[src.index()] == 1
                    && self.loops == 0
                    && self.lazy.contains_key(src)
                    && !self.state.loaded.contains(src) =>
            {
                let (row, column, bytes) = self.lazy[src];
                let row = self.read(row);
                let dst = self.write(*dst);
                self.emit_read(row, Read { column, bytes, dst });
            }
            OpKind::Copy { dst, src } => {
                let src = self.read(*src);
                let dst = self.write(*dst);
                self.ops.push(Op::Copy { dst, src });
            }
            OpKind::Apply { dst, func, args } => self.apply(*dst, *func, args)?,
            OpKind::Cast { dst, src, explicit } => self.cast(*dst, *src, *explicit)?,
            // A name comes from the log as what was kept does: into the heap.
            OpKind::Draw { dst, input } if input.is_logged() || input.is_name() => {
                let ty = Box::new(self.program.type_of(*dst)?.clone());
                let dst = self.write(*dst);
                self.ops.push(Op::Kept { dst, ty });
            }
            OpKind::Draw { dst, input } => {
                let dst = self.write(*dst);
                self.ops.push(Op::Draw { dst, input: *input });
            }
            OpKind::NextValue { dst, sequence } => {
                let dst = self.write(*dst);
                self.ops.push(Op::NextValue { dst, sequence: *sequence });
            }
            OpKind::CurrentValue { dst, sequence } => {
                let dst = self.write(*dst);
                self.ops.push(Op::CurrentValue { dst, sequence: *sequence });
            }
            OpKind::If { cond, then, otherwise } => self.branch(*cond, then, otherwise)?,
            OpKind::Loop { label, body } => {
                self.settle(body);
                let state = self.state.clone();
                let top = self.here();
                self.landed = self.ops.len();
                self.regions.push(Region { label: *label, top: Some(top), exits: Vec::new(), cursor: None });
                self.loops += 1;
                self.block(body)?;
                self.loops -= 1;
                self.ops.push(Op::Turn { to: top });
                self.leave(state)?;
            }
            OpKind::Block { label, body } => {
                let state = self.state.clone();
                self.regions.push(Region { label: *label, top: None, exits: Vec::new(), cursor: None });
                self.block(body)?;
                self.leave(state)?;
            }
            OpKind::Exit { label } => {
                self.close_within(Some(*label));
                let jump = self.jump(Op::Jump { to: 0 });
                self.regions.iter_mut().rfind(|r| r.label == *label)?.exits.push(jump);
            }
            OpKind::Continue { label } => {
                self.close_within(Some(*label));
                let to = self.regions.iter().rfind(|r| r.label == *label)?.top?;
                self.ops.push(Op::Turn { to });
            }
            OpKind::Return => {
                self.close_within(None);
                self.ops.push(Op::End);
            }
            OpKind::Piece { piece, args } => {
                let args = self.read_all(args);
                self.ops.push(Op::Piece { piece: *piece, args });
            }
            OpKind::Get { table, index, key, row, columns, mode } => {
                let own = self.key < 64
                    && self.given.is_none()
                    && *index == IndexId::PRIMARY
                    && self.ops.is_empty()
                    && self.regions.is_empty()
                    && key.len() == self.key
                    && key.iter().zip(&self.program.params).all(|(k, p)| *k == p.reg);
                let key = self.read_all(key);
                let row_reg = self.write(*row);
                if own {
                    self.given = Some((row_reg, *table));
                    return self.columns(*table, *row, columns);
                }
                self.ops.push(Op::Find(Box::new(Find {
                    table: *table,
                    index: *index,
                    key,
                    arbiter: *mode == ReadMode::Arbiter,
                    row: row_reg,
                })));
                self.columns(*table, *row, columns)?;
            }
            OpKind::Load { table, row, columns } => {
                let from = self.read(*row);
                for (column, dst) in columns {
                    let (column, bytes) = self.column(*table, *column);
                    // See `apply`.
                    if self.loops > 0 && column.kind() == ColumnKind::Bytes {
                        return None;
                    }
                    let dst = self.write(*dst);
                    self.emit_read(from, Read { column, bytes, dst });
                }
            }
            OpKind::Scan { table, index, range, descending, row, columns, label, body, .. } => {
                if *index != IndexId::PRIMARY {
                    return None;
                }
                let scan = Box::new(self.scan(*table, range, *descending));
                let cursor = self.hidden(Slot::Null);
                self.ops.push(Op::Open { cursor, scan });
                self.settle(body);
                let state = self.state.clone();
                let top = self.here();
                self.landed = self.ops.len();
                let to = self.write(*row);
                let next = self.jump(Op::Next { cursor, table: *table, row: to, to: 0 });
                self.regions.push(Region {
                    label: *label,
                    top: Some(top),
                    exits: vec![next],
                    cursor: Some(cursor),
                });
                self.loops += 1;
                self.columns(*table, *row, columns)?;
                self.block(body)?;
                self.loops -= 1;
                self.ops.push(Op::Turn { to: top });
                self.leave(state)?;
                self.ops.push(Op::Close { cursor });
                // After the last row they are NULL, or what they were: nobody asks here.
                columns.iter().for_each(|(_, r)| {
                    self.lazy.remove(r);
                });
                let after = |r: &Reg| self.last_read[r.index()] > self.place;
                if after(row) || columns.iter().any(|(_, r)| after(r)) {
                    return None;
                }
            }
            OpKind::Insert { table, values, row: None } => {
                let values = self.read_all(values);
                let layout = self.world.table(*table).layout();
                let columns = layout.columns().iter().copied().zip(values.iter().copied());
                let (texts, fixed): (Vec<_>, Vec<_>) =
                    columns.partition(|(column, _)| column.kind() == ColumnKind::Bytes);
                let insert = Insert { table: *table, fixed: fixed.into(), texts: texts.into() };
                self.ops.push(Op::Insert(Box::new(insert)));
            }
            OpKind::Update { table, row, set } => self.update(*table, *row, set)?,
            OpKind::Delete { table, row } => {
                let row = self.read(*row);
                self.ops.push(Op::Delete { table: *table, row });
            }
            // Answers are nobody's in a replay.
            OpKind::Emit { .. } => {}
            _ => return None,
        }
        Some(())
    }

    /// Closes the scans that a jump leaves: those inside the region of this label, all of them without one. (Who goes to the end
    /// of a scan finds its own closing there.)
    fn close_within(&mut self, label: Option<Label>) {
        let inner = self.regions.iter().rev().take_while(|r| Some(r.label) != label);
        let cursors: Vec<R> = inner.filter_map(|r| r.cursor).collect();
        self.ops.extend(cursors.into_iter().map(|cursor| Op::Close { cursor }));
    }

    /// Ends a region: whoever leaves it lands here, and only what held before it is known to hold.
    fn leave(&mut self, before: State) -> Option<()> {
        let region = self.regions.pop()?;
        region.exits.into_iter().for_each(|jump| self.land(jump));
        self.state = before;
        Some(())
    }

    /// Reads now what a loop would read anew in each turn.
    fn settle(&mut self, body: &Block) {
        let mut wanted = BTreeSet::new();
        body.visit(&mut |op| {
            op.kind.reads(&mut |r| {
                wanted.insert(r);
            });
        });
        wanted.into_iter().for_each(|reg| self.load(reg));
    }

    fn constant(&mut self, dst: Reg, value: &Datum) -> Option<()> {
        let plain = match value {
            Datum::Null => Slot::Null,
            Datum::Bool(b) => Slot::Bool(*b),
            Datum::Int(n) => Slot::Int(*n),
            Datum::Float(x) => Slot::Float(*x),
            Datum::Numeric(n) => Slot::numeric(*n),
            Datum::Uuid(u) => Slot::Uuid(*u),
            Datum::Interval(i) => Slot::Interval(*i),
            Datum::Text(_)
            | Datum::Bytea(_)
            | Datum::Jsonb(_)
            | Datum::Citext(_)
            | Datum::Array(_)
            | Datum::Shaped(_)
            | Datum::Long(_)
            | Datum::Reg(..) => {
                if self.loops > 0 {
                    return None;
                }
                let dst = self.write(dst);
                self.ops.push(Op::Text { dst, value: Box::new(value.clone()) });
                return Some(());
            }
        };
        // Written nowhere else, and by the verifier's word never read before: it can be there from the start. A variable may be
        // read where it was not written, as NULL.
        if self.writes[dst.index()] == 1 && self.program.regs[dst.index()].name.is_none() {
            let place = self.write(dst);
            self.bank[usize::from(place)] = plain;
            self.banked.insert(dst);
            return Some(());
        }
        let src = self.hidden(plain);
        let dst = self.write(dst);
        self.ops.push(Op::Copy { dst, src });
        Some(())
    }

    fn apply(&mut self, dst: Reg, func: Func, args: &[Reg]) -> Option<()> {
        let args = self.read_all(args);
        let dst = self.write(dst);
        let op = match (func, &*args) {
            (Func::IsNull, &[src]) => Op::IsNull { dst, src, is: true },
            (Func::IsNotNull, &[src]) => Op::IsNull { dst, src, is: false },
            (Func::Int4Add, &[a, b]) => Op::AddInt4 { dst, a, b },
            (Func::Int4Sub, &[a, b]) => Op::SubInt4 { dst, a, b },
            (Func::ArrayGet, &[array, index]) => Op::Element { dst, array, index, nth: false },
            (Func::ArrayNth, &[array, index]) => Op::Element { dst, array, index, nth: true },
            (_, &[a, b]) => match (arithmetic(func), comparison(func)) {
                (Some(how), _) => Op::Calculate { how, dst, a, b },
                (_, Some((Class::Int, test))) => Op::CompareInt { test, dst, a, b },
                (_, Some((Class::Num, test))) => Op::CompareNum { test, dst, a, b },
                _ => Op::Call { func, dst, args },
            },
            _ => Op::Call { func, dst, args },
        };
        if self.loops > 0 {
            // Texts that a loop piles up in the heap, only the machine tidies away.
            if matches!(op, Op::Call { .. })
                && matches!(func.result(), Sig::T | Sig::Y | Sig::J | Sig::K | Sig::A | Sig::X)
            {
                return None;
            }
            self.piles_up |= func.result() == Sig::N;
        }
        self.ops.push(op);
        Some(())
    }

    fn cast(&mut self, dst: Reg, src: Reg, explicit: bool) -> Option<()> {
        let (from, to) = (self.program.type_of(src)?.clone(), self.program.type_of(dst)?.clone());
        let src = self.read(src);
        let dst = self.write(dst);
        self.piles_up |= self.loops > 0 && to.class() == TypeClass::Numeric;
        let op = match conversion(&from, &to) {
            Conversion::Nothing => Op::Copy { dst, src },
            Conversion::Narrow(bytes) => Op::Narrow { bytes, dst, src },
            how => match (how, &to) {
                (Conversion::Rescale, Type::Numeric(Some((precision, scale)))) => {
                    // Every numeric is below 10^36; no bound needs more.
                    let bound = 10i128.pow(u32::from(*precision).min(36));
                    let to = Box::new(Rescale { modifier: (*precision, *scale), bound });
                    Op::Rescale { dst, src, to }
                }
                // See `apply`.
                _ if self.loops > 0
                    && !matches!(
                        to.class(),
                        TypeClass::Bool | TypeClass::Integer | TypeClass::Float | TypeClass::Numeric
                    ) =>
                {
                    return None;
                }
                _ => Op::Cast { dst, src, cast: Box::new(Cast { from, to, explicit }) },
            },
        };
        self.ops.push(op);
        Some(())
    }

    fn branch(&mut self, cond: Reg, then: &Block, otherwise: &Block) -> Option<()> {
        let register = self.read(cond);
        // A comparison that only this asks for is made by the jump, if nothing jumps here behind it.
        let fused = match self.ops.last() {
            Some(Op::CompareInt { test, dst, a, b })
                if self.landed != self.ops.len()
                    && *dst == register
                    && self.reads[cond.index()] == 1
                    && self.writes[cond.index()] == 1 =>
            {
                Some(Op::UnlessInt { test: *test, a: *a, b: *b, to: 0 })
            }
            _ => None,
        };
        if fused.is_some() {
            self.ops.pop();
        }
        let unless = self.jump(fused.unwrap_or(Op::Unless { cond: register, to: 0 }));
        let before = self.state.clone();
        self.block(then)?;
        let then_state = std::mem::replace(&mut self.state, before);
        let after = (!otherwise.0.is_empty()).then(|| self.jump(Op::Jump { to: 0 }));
        self.land(unless);
        self.block(otherwise)?;
        if let Some(after) = after {
            self.land(after);
        }
        self.state.loaded.retain(|r| then_state.loaded.contains(r));
        self.state.assigned.retain(|r| then_state.assigned.contains(r));
        Some(())
    }

    fn column(&self, table: TableId, id: ColumnId) -> (Column, BytesKind) {
        let layout = self.world.table(table).layout();
        (*layout.column(id), BytesKind::of(&layout.specs()[id.index()].ty))
    }

    /// The columns of a row just found: read later where that makes no difference.
    fn columns(&mut self, table: TableId, row: Reg, columns: &[(ColumnId, Reg)]) -> Option<()> {
        for (id, reg) in columns {
            let (column, bytes) = self.column(table, *id);
            if self.loops > 0 && column.kind() == ColumnKind::Bytes && self.reads[reg.index()] > 0 {
                return None;
            }
            let until = self.last_read[reg.index()];
            let changes = self.changes.iter().any(|(at, change)| {
                (self.place..until).contains(at)
                    && match change {
                        Change::Column(t, c) => (t, c) == (&table, id),
                        Change::Rows(t) => *t == table,
                    }
            });
            self.state.loaded.remove(reg);
            let lazy = !changes && self.writes[reg.index()] == 1 && self.writes[row.index()] == 1;
            if lazy {
                self.lazy.insert(*reg, (row, column, bytes));
            } else if self.reads[reg.index()] > 0 || self.writes[reg.index()] > 1 {
                let from = self.at(row);
                let dst = self.write(*reg);
                self.emit_read(from, Read { column, bytes, dst });
            }
        }
        Some(())
    }

    fn scan(&mut self, table: TableId, range: &Range, descending: bool) -> Scan {
        let prefix = self.read_all(&range.prefix);
        let lower = range.lower.map(|b| (self.read(b.reg), b.inclusive));
        let upper = range.upper.map(|b| (self.read(b.reg), b.inclusive));
        Scan { table, prefix, lower, upper, descending }
    }

    fn update(&mut self, table: TableId, row: Reg, set: &[(ColumnId, Reg)]) -> Option<()> {
        let storage = self.world.table(table);
        let mut touched = IndexSet::EMPTY;
        for (at, index) in (0u16..).zip(storage.indexes()) {
            if set.iter().any(|(c, _)| index.codec().depends_on(*c)) {
                touched.insert(IndexId(at));
            }
        }
        if touched.contains(IndexId::PRIMARY) {
            return None;
        }
        let kind = |c: &ColumnId| storage.layout().column(*c).kind();
        let in_place = touched.is_empty() && set.iter().all(|(c, _)| kind(c) != ColumnKind::Bytes);
        let row = self.read(row);
        let set: Vec<(ColumnId, R)> = set.iter().map(|(c, r)| (*c, self.read(*r))).collect();
        self.ops.push(if in_place {
            let columns = set.iter().map(|(c, r)| (*storage.layout().column(*c), *r)).collect();
            // A numeric that grows long is no change in place.
            let numerics = set.iter().any(|(c, _)| kind(c) == ColumnKind::Numeric);
            let long = numerics.then(|| Update { table, row, set: set.into(), touched });
            Op::Store(Box::new(Store { row, columns, long }))
        } else {
            Op::Update(Box::new(Update { table, row, set: set.into(), touched }))
        });
        Some(())
    }
}

fn arithmetic(func: Func) -> Option<Arithmetic> {
    Some(match func {
        Func::Int4Mul => Arithmetic::MulInt4,
        Func::Int8Add => Arithmetic::AddInt8,
        Func::Int8Sub => Arithmetic::SubInt8,
        Func::Int8Mul => Arithmetic::MulInt8,
        Func::NumAdd => Arithmetic::AddNum,
        Func::NumSub => Arithmetic::SubNum,
        Func::NumMul => Arithmetic::MulNum,
        _ => return None,
    })
}
