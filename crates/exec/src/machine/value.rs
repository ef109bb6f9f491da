//! Values and collections: what the hot loop does not do itself.

use super::{Base, Machine};
use crate::code::*;
use crate::functions;
use crate::host::Host;
use crate::slot::Slot;
use planaria_base::Result;
use planaria_ir::SortKey;

/// Arguments of a function that are gathered without a vector.
const ARGS_INLINE: usize = 8;

impl Machine {
    /// Runs an instruction that needs neither protocol nor host. Answers whether there was a next row,
    /// where the instruction is about one.
    #[inline(never)]
    pub(super) fn common(&mut self, inst: Inst, code: &Code, frame: &mut [Slot], base: Base) -> Result<bool> {
        let coll = |number: u16| base.colls + usize::from(number);
        match inst {
            Inst::Const { dst, constant } => {
                frame[usize::from(dst)] = self.heap.push_datum(&code.constants[constant as usize])?;
            }
            Inst::ApplyN { func, dst, args } => {
                frame[usize::from(dst)] = self.apply(func, code.run(args), frame)?;
            }
            Inst::Cast { dst, src, cast } => {
                let desc = &code.casts[usize::from(cast)];
                frame[usize::from(dst)] = match frame[usize::from(src)] {
                    Slot::Null => Slot::Null,
                    value => functions::cast(value, &desc.from, &desc.to, desc.explicit, &mut self.heap)?,
                };
            }
            Inst::ArraySet { array, index, value, owner } => {
                self.array_set(frame, array, index, value, owner)?;
            }
            Inst::Clear { coll: number } => self.colls[coll(number)].clear(),
            Inst::Push { coll: number, values } => {
                let row = code.run(values).iter().map(|r| frame[usize::from(*r)]);
                self.colls[coll(number)].push(row)?;
            }
            Inst::Fill { coll: number, rows } => {
                for values in code.fills[usize::from(rows)].iter() {
                    self.row.clear();
                    for value in values {
                        let slot = self.heap.push_datum(value)?;
                        self.row.push(slot);
                    }
                    self.colls[coll(number)].push(self.row.iter().copied())?;
                }
            }
            Inst::Len { coll: number, dst } => {
                frame[usize::from(dst)] = Slot::Int(self.colls[coll(number)].len() as i64);
            }
            Inst::MapGet { map } => self.map_get(&code.maps[usize::from(map)], frame, base),
            Inst::MapPut { coll: number, row } => {
                self.gather(code.run(row), frame);
                self.colls[coll(number)].put(&self.row, &self.heap)?;
            }
            Inst::EachNext { each, at, .. } => {
                let desc = &code.eachs[usize::from(each)];
                let rows = &self.colls[coll(desc.coll)];
                let row = frame[usize::from(at)].int();
                if row as usize >= rows.len() {
                    return Ok(false);
                }
                rows.come_to(row as usize);
                frame[usize::from(at)] = Slot::Int(row + 1);
                spread(rows.row(row as usize), desc, row, frame);
            }
            Inst::MatchFirst { each, at } => {
                let desc = &code.eachs[usize::from(each)];
                self.gather(&desc.keys, frame);
                let first = self.colls[coll(desc.coll)].find(&self.row, &self.heap);
                frame[usize::from(at)] = row_number(first);
            }
            Inst::MatchNext { each, at, .. } => {
                let Slot::Int(row) = frame[usize::from(at)] else { return Ok(false) };
                let desc = &code.eachs[usize::from(each)];
                let rows = &self.colls[coll(desc.coll)];
                frame[usize::from(at)] = row_number(rows.next_match(row as usize));
                spread(rows.values(row as usize), desc, row, frame);
            }
            Inst::SetEntry { coll: number, column, entry, value } => {
                let entry = frame[usize::from(entry)].int();
                self.colls[coll(number)].set(entry as usize, usize::from(column), frame[usize::from(value)]);
            }
            other => unreachable!("{other:?} is run elsewhere"),
        }
        Ok(true)
    }

    /// Puts registers into the row buffer.
    fn gather(&mut self, from: &[R], frame: &[Slot]) {
        self.row.clear();
        self.row.extend(from.iter().map(|r| frame[usize::from(*r)]));
    }

    /// Calls a function of any number of arguments.
    #[inline(never)]
    fn apply(&mut self, func: planaria_ir::Func, args: &[R], frame: &[Slot]) -> Result<Slot> {
        if args.len() <= ARGS_INLINE {
            let mut gathered = [Slot::Null; ARGS_INLINE];
            for (to, from) in gathered.iter_mut().zip(args) {
                *to = frame[usize::from(*from)];
            }
            return functions::call(func, &gathered[..args.len()], &mut self.heap);
        }
        let mut gathered = std::mem::take(&mut self.row);
        gathered.clear();
        gathered.extend(args.iter().map(|r| frame[usize::from(*r)]));
        let result = functions::call(func, &gathered, &mut self.heap);
        self.row = gathered;
        result
    }

    /// Sorts a list, if there is memory for it, as long as the statement goes on.
    #[inline(never)]
    pub(super) fn sort<H: Host + ?Sized>(
        &mut self,
        code: &Code,
        coll: u16,
        keys: u16,
        base: Base,
        host: &mut H,
    ) -> Result<()> {
        self.sort_by(base.colls + usize::from(coll), &code.sorts[usize::from(keys)], host)
    }

    fn sort_by<H: Host + ?Sized>(&mut self, coll: usize, keys: &[SortKey], host: &mut H) -> Result<()> {
        host.holds(self.held_bytes() + self.colls[coll].sort_bytes())?;
        self.colls[coll].sort(keys, &self.heap, &mut || host.check_interrupt())
    }

    /// Drops rows of a list that are not among the first ones.
    #[inline(never)]
    pub(super) fn trim<H: Host + ?Sized>(
        &mut self,
        desc: &TrimDesc,
        frame: &[Slot],
        base: Base,
        host: &mut H,
    ) -> Result<()> {
        let Slot::Int(limit) = frame[usize::from(desc.limit)] else { return Ok(()) };
        let offset = match desc.offset {
            NONE => Slot::Null,
            offset => frame[usize::from(offset)],
        };
        let first = match offset {
            Slot::Int(offset) => limit.saturating_add(offset),
            _ => limit,
        };
        let first = usize::try_from(first).unwrap_or(0);
        let coll = base.colls + usize::from(desc.coll);
        if self.colls[coll].drop_behind(&desc.keys, first, desc.ties, &self.heap) {
            self.sort_by(coll, &desc.keys, host)?;
            self.colls[coll].cut(&desc.keys, first, desc.ties, &self.heap);
        }
        Ok(())
    }

    /// `array[index] = value`; in place once the array is this register's alone.
    #[inline(never)]
    fn array_set(&mut self, frame: &mut [Slot], array: R, index: R, value: R, owner: R) -> Result<()> {
        let mut whole = frame[usize::from(array)];
        if let (Slot::Array(shared), false) = (whole, frame[usize::from(owner)].is_true()) {
            whole = Slot::Array(self.heap.copy(shared)?);
        }
        let value = frame[usize::from(value)];
        frame[usize::from(array)] = match frame[usize::from(index)] {
            Slot::Int(at) => self.heap.array_set_in_place(whole, at, value)?,
            // A subscript for each dimension.
            Slot::Array(all) if self.heap.elements(all).iter().all(|at| !at.is_null()) => {
                self.heap.array_set_at(whole, all, value)?
            }
            _ => return Err(functions::null_subscript()),
        };
        frame[usize::from(owner)] = Slot::Bool(true);
        Ok(())
    }

    fn map_get(&mut self, desc: &MapDesc, frame: &mut [Slot], base: Base) {
        self.gather(&desc.keys, frame);
        let coll = &mut self.colls[base.colls + usize::from(desc.coll)];
        let found = coll.look_up(&self.row, &self.heap);
        if let Some(row) = found {
            for (dst, value) in desc.values.iter().zip(coll.values(row)) {
                if *dst != NONE {
                    frame[usize::from(*dst)] = *value;
                }
            }
        }
        if desc.found != NONE {
            frame[usize::from(desc.found)] = Slot::Bool(found.is_some());
        }
    }
}

/// Writes a row of a collection, and its number, to registers.
#[inline]
fn spread(row: &[Slot], desc: &EachDesc, number: i64, frame: &mut [Slot]) {
    for (dst, value) in desc.columns.iter().zip(row) {
        if *dst != NONE {
            frame[usize::from(*dst)] = *value;
        }
    }
    if desc.entry != NONE {
        frame[usize::from(desc.entry)] = Slot::Int(number);
    }
}

fn row_number(row: Option<usize>) -> Slot {
    row.map_or(Slot::Null, |row| Slot::Int(row as i64))
}
