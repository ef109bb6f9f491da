//! Table and collection operations.

use super::{Compiler, number};
use crate::code::*;
use crate::slot::{BytesKind, Slot};
use planaria_base::{ColumnId, Error, IndexId, Result, TableId, Type};
use planaria_ir::{Block, Func, Label, Op, OpId, OpKind, ReadMode, Reg};
use planaria_protocol::IfClaimed;
use planaria_storage::{ColumnKind, ColumnSpec, IndexSet, Part};
use std::collections::{HashMap, HashSet};

impl Compiler<'_> {
    /// Readers for the columns that somebody reads.
    fn reads(&mut self, table: TableId, columns: &[(ColumnId, Reg)]) -> Result<Reads> {
        let meta = self.env.table(table)?;
        let mut reads = Vec::with_capacity(columns.len());
        for (id, reg) in columns {
            let dst = self.emit.target(*reg)?;
            if dst != NONE {
                let bytes = BytesKind::of(&meta.layout.specs()[id.index()].ty);
                reads.push(Read { column: *meta.layout.column(*id), bytes, dst });
            }
        }
        let keeps_image = reads.iter().any(|r| r.column.kind() == ColumnKind::Bytes);
        let numerics = reads.iter().any(|r| r.column.kind() == ColumnKind::Numeric);
        Ok(Reads { columns: reads.into(), keeps_image, numerics })
    }

    /// The first condition in a scan's body that what follows depends on as a whole, with the columns that are read
    /// there and nowhere else; `None` where they are not worth a step of their own.
    fn filter(
        &self,
        table: TableId,
        columns: &[(ColumnId, Reg)],
        body: &Block,
    ) -> Result<Option<(OpId, Vec<Reg>)>> {
        let found = body.0.iter().find_map(|op| match &op.kind {
            OpKind::If { then, otherwise, .. } if otherwise.0.is_empty() && !then.0.is_empty() => {
                Some((op.id, then))
            }
            _ => None,
        });
        let Some((id, then)) = found else { return Ok(None) };
        let mut within: HashMap<Reg, u32> = columns.iter().map(|(_, reg)| (*reg, 0)).collect();
        then.visit(&mut |op| {
            op.kind.reads(&mut |r| {
                if let Some(reads) = within.get_mut(&r) {
                    *reads += 1;
                }
            })
        });
        let uses = &self.emit.uses;
        let is_later = |reg: &Reg| {
            let (reads, writes) = (uses.reads[reg.index()], uses.writes[reg.index()]);
            reads > 0 && writes == 1 && within[reg] == reads
        };
        let meta = self.env.table(table)?;
        let is_text = |id: &ColumnId| meta.layout.column(*id).kind() == ColumnKind::Bytes;
        // The bytes of a row are copied once.
        let any = columns.iter().any(|(id, reg)| is_text(id) && !is_later(reg));
        let later = columns.iter().filter(|(id, reg)| is_later(reg) && !(any && is_text(id)));
        let texts = later.clone().any(|(id, _)| is_text(id));
        let later: Vec<Reg> = later.map(|(_, reg)| *reg).collect();
        Ok((later.len() > 1 || texts).then_some((id, later)))
    }

    /// The lookup that is made for each row of a loop, if its key is known with the row: of a table that is joined by key, or the
    /// keys of a list. `within`: also behind a condition. `place`: where a column of the row is that goes to this register.
    fn ahead_of_rows<C>(
        &mut self,
        body: &Block,
        within: bool,
        place: impl Fn(Reg) -> Option<C>,
    ) -> Result<Option<Box<EachAhead<C>>>> {
        let Some((table, index, key)) = first_lookup(body, within) else { return Ok(None) };
        let mut written = HashSet::new();
        body.visit(&mut |op| {
            op.kind.writes(&mut |r| {
                written.insert(r);
            })
        });
        let mut parts = Vec::with_capacity(key.len());
        for reg in key {
            parts.push(match place(*reg) {
                _ if written.contains(reg) => return Ok(None),
                Some(place) => KeyPart::Column(place),
                None => KeyPart::Register(self.emit.reg(*reg)?),
            });
        }
        // The same row each time needs no looking ahead.
        if !parts.iter().any(|part| matches!(part, KeyPart::Column(_))) {
            return Ok(None);
        }
        let bytes = self.usual_bytes(table)?;
        Ok(Some(Box::new(EachAhead { table, index, key: parts.into(), bytes })))
    }

    /// About as long as a row of a table is.
    fn usual_bytes(&self, table: TableId) -> Result<u32> {
        let layout = &self.env.table(table)?.layout;
        Ok((layout.fixed_bytes() + layout.specs().iter().map(usual_bytes).sum::<usize>()) as u32)
    }

    /// What of a row of a table these columns take, if the rest is worth leaving out.
    fn part(&self, table: TableId, columns: &[(ColumnId, Reg)]) -> Result<Option<Part>> {
        let layout = &self.env.table(table)?.layout;
        let usual: Vec<usize> = layout.specs().iter().map(usual_bytes).collect();
        let mut wanted: Vec<ColumnId> = columns.iter().map(|(id, _)| *id).collect();
        wanted.sort_unstable();
        wanted.dedup();
        let left_out = usual.iter().sum::<usize>() - wanted.iter().map(|id| usual[id.index()]).sum::<usize>();
        Ok(if left_out < LEFT_OUT_MIN { None } else { layout.part(wanted) })
    }

    pub(super) fn table_op(&mut self, id: OpId, kind: &OpKind) -> Result<()> {
        match kind {
            OpKind::Get { table, index, key, mode: ReadMode::Ahead, .. } => {
                let bytes = self.usual_bytes(*table)?;
                let desc = AheadDesc { table: *table, index: *index, key: self.emit.regs(key)?, bytes };
                let (ahead, end) = (number(&mut self.aheads, desc)?, self.ahead_end);
                self.emit.emit(Inst::Ahead { ahead, end });
            }
            OpKind::Get { table, index, key, mode, row, columns } => {
                let again = self.again.get(&id).copied();
                let desc = GetDesc {
                    table: *table,
                    index: *index,
                    key: self.emit.regs(key)?,
                    row: self.emit.target(*row)?,
                    reads: self.reads(*table, columns)?,
                    part: match (*index, mode) {
                        (IndexId::PRIMARY, ReadMode::Plain) => self.part(*table, columns)?,
                        _ => None,
                    },
                    mode: *mode,
                    key_only: *index != IndexId::PRIMARY
                        && matches!(mode, ReadMode::Check | ReadMode::Parent)
                        && !self.emit.uses.taken[row.index()]
                        && columns.is_empty(),
                    presence: *index == IndexId::PRIMARY
                        && !self.emit.uses.taken[row.index()]
                        && columns.is_empty(),
                    again: again.map_or(Ok(NONE), |row| self.emit.reg(row))?,
                };
                let get = number(&mut self.emit.gets, desc)?;
                self.emit.emit(if again.is_some() { Inst::GetAgain { get } } else { Inst::Get { get } });
            }
            OpKind::Load { table, row, columns } => {
                let desc = LoadDesc {
                    table: *table,
                    row: self.emit.reg(*row)?,
                    reads: self.reads(*table, columns)?,
                };
                let load = number(&mut self.emit.loads, desc)?;
                self.emit.emit(Inst::Load { load });
            }
            OpKind::Scan { table, index, range, descending, mode, row, columns, label, body } => {
                let bound = |c: &mut Self, b: &Option<planaria_ir::Bound>| {
                    b.map(|b| Ok::<_, Error>((c.emit.reg(b.reg)?, b.inclusive))).transpose()
                };
                let whole = *mode == ReadMode::Plain && runs_to_its_end(*label, body);
                let filter = if whole { self.filter(*table, columns, body)? } else { None };
                let is_later = |reg: &Reg| filter.as_ref().is_some_and(|(_, regs)| regs.contains(reg));
                let (later, now): (Vec<_>, Vec<_>) = columns.iter().partition(|(_, reg)| is_later(reg));
                let meta = self.env.table(*table)?;
                let place = |reg| {
                    let column = columns.iter().find(|(_, r)| *r == reg);
                    column.map(|(id, _)| *meta.layout.column(*id))
                };
                let ahead = if whole { self.ahead_of_rows(body, false, place)? } else { None };
                let desc = ScanDesc {
                    table: *table,
                    index: *index,
                    prefix: self.emit.regs(&range.prefix)?,
                    lower: bound(self, &range.lower)?,
                    upper: bound(self, &range.upper)?,
                    descending: *descending,
                    mode: *mode,
                    row: self.emit.target(*row)?,
                    reads: self.reads(*table, &now)?,
                    later: self.reads(*table, &later)?,
                    whole,
                    ahead,
                };
                let sums = match &body.0[..] {
                    [Op { kind: OpKind::Apply { dst, func: Func::Int8Add, args }, .. }]
                        if desc.whole && desc.row == NONE && desc.reads.columns.is_empty() =>
                    {
                        (args[0] == *dst && args[1] != *dst).then_some((*dst, args[1]))
                    }
                    _ => None,
                };
                let scan = number(&mut self.emit.scans, desc)?;
                if let Some((id, _)) = filter {
                    self.filters.insert(id, scan);
                }
                let (head, next, end) = (self.emit.label(), self.emit.label(), self.emit.label());
                let place = self.emit.place;
                self.emit.emit(Inst::ScanOpen { scan });
                self.emit.bind(head);
                if let Some((dst, by)) = sums {
                    let (dst, by) = (self.emit.reg(dst)?, self.emit.reg(by)?);
                    self.emit.emit(Inst::ScanAdd { scan, dst, by, end });
                } else {
                    self.emit.emit(Inst::ScanNext { scan, end });
                    self.turns(*label, body, next, end, true)?;
                    self.emit.place = place;
                }
                self.emit.emit(Inst::Back { to: head });
                self.emit.bind(end);
            }
            OpKind::Insert { table, values, row } => {
                self.writes = true;
                let desc = InsertDesc {
                    table: *table,
                    values: self.emit.regs(values)?,
                    row: row.map_or(Ok(NONE), |r| self.emit.target(r))?,
                    meta: self.env.table(*table)?,
                };
                if desc.values.len() != desc.meta.columns.len() {
                    return Err(Error::internal("an INSERT has a value for each column"));
                }
                let insert = number(&mut self.inserts, desc)?;
                self.emit.emit(Inst::Insert { insert });
            }
            OpKind::Update { table, row, set } => {
                self.writes = true;
                let meta = self.env.table(*table)?;
                let changes = |i: &IndexMeta| i.columns.iter().any(|c| set.iter().any(|(s, _)| s == c));
                let mut touched = IndexSet::EMPTY;
                for (i, _) in meta.indexes.iter().enumerate().filter(|(_, index)| changes(index)) {
                    touched.insert(IndexId(i as u16));
                }
                let row = self.emit.reg(*row)?;
                let set = set.iter().map(|(c, r)| Ok((*c, self.emit.reg(*r)?))).collect::<Result<_>>()?;
                let desc = UpdateDesc { table: *table, row, set, touched, meta };
                let update = number(&mut self.updates, desc)?;
                self.emit.emit(Inst::Update { update });
            }
            OpKind::Delete { table, row } => {
                self.writes = true;
                let row = self.emit.reg(*row)?;
                self.emit.emit(Inst::Delete { table: *table, row });
            }
            OpKind::Claim { table, row, strength, if_claimed, granted } => {
                let (row, granted) = (self.emit.reg(*row)?, self.emit.target(*granted)?);
                let if_claimed = match if_claimed {
                    planaria_ir::IfClaimed::Wait => IfClaimed::Wait,
                    planaria_ir::IfClaimed::Refuse => IfClaimed::Refuse,
                    planaria_ir::IfClaimed::Skip => IfClaimed::Skip,
                };
                self.emit.emit(Inst::Claim { table: *table, row, strength: *strength, if_claimed, granted });
            }
            _ => return Err(Error::internal("not a table operation")),
        }
        Ok(())
    }

    pub(super) fn collection_op(&mut self, kind: &OpKind) -> Result<()> {
        match kind {
            OpKind::Clear { coll } => {
                let coll = self.coll(*coll);
                self.emit.emit(Inst::Clear { coll });
            }
            OpKind::Push { coll, values } => {
                let values = self.emit.regs(values)?;
                let values = self.emit.run(&values)?;
                let coll = self.coll(*coll);
                self.emit.emit(Inst::Push { coll, values });
            }
            OpKind::Fill { coll, rows } => {
                let rows = number(&mut self.fills, rows.clone())?;
                let coll = self.coll(*coll);
                self.emit.emit(Inst::Fill { coll, rows });
            }
            OpKind::Len { dst, coll } => {
                let (coll, dst) = (self.coll(*coll), self.emit.reg(*dst)?);
                self.emit.emit(Inst::Len { coll, dst });
            }
            OpKind::Sort { coll, keys } => {
                let keys = number(&mut self.sorts, keys.clone().into())?;
                let coll = self.coll(*coll);
                self.emit.emit(Inst::Sort { coll, keys });
            }
            OpKind::Trim { coll, keys, limit, offset, ties } => {
                let desc = TrimDesc {
                    coll: self.coll(*coll),
                    keys: keys.clone().into(),
                    limit: self.emit.reg(*limit)?,
                    offset: offset.map_or(Ok(NONE), |r| self.emit.reg(r))?,
                    ties: *ties,
                };
                let trim = number(&mut self.trims, desc)?;
                self.emit.emit(Inst::Trim { trim });
            }
            OpKind::MapGet { coll, keys, found, values } => {
                let desc = MapDesc {
                    coll: self.coll(*coll),
                    keys: self.emit.regs(keys)?,
                    found: self.emit.target(*found)?,
                    values: self.emit.targets(values)?,
                };
                let map = number(&mut self.maps, desc)?;
                self.emit.emit(Inst::MapGet { map });
            }
            OpKind::MapPut { coll, keys, values } => {
                let row: Vec<Reg> = keys.iter().chain(values).copied().collect();
                let row = self.emit.regs(&row)?;
                let row = self.emit.run(&row)?;
                let coll = self.coll(*coll);
                self.emit.emit(Inst::MapPut { coll, row });
            }
            OpKind::ForEach { coll, columns, entry, label, body } => {
                // The condition is that a key is not in the list twice.
                let ahead = self.ahead_of_rows(body, true, |reg| columns.iter().position(|r| *r == reg))?;
                let looks_ahead = ahead.is_some();
                let desc = EachDesc {
                    coll: self.coll(*coll),
                    keys: Box::new([]),
                    columns: self.emit.targets(columns)?,
                    entry: entry.map_or(Ok(NONE), |r| self.emit.target(r))?,
                    ahead,
                };
                let each = number(&mut self.eachs, desc)?;
                let (at, zero) = (self.emit.hidden()?, self.emit.scalar(Slot::Int(0))?);
                let (head, next, end) = (self.emit.label(), self.emit.label(), self.emit.label());
                self.emit.emit(Inst::Copy { dst: at, src: zero });
                self.emit.bind(head);
                self.emit.emit(Inst::EachNext { each, at, end });
                if looks_ahead {
                    self.emit.emit(Inst::EachAhead { each, at });
                }
                self.disown(kind);
                self.turns(*label, body, next, end, false)?;
                self.emit.emit(Inst::Back { to: head });
                self.emit.bind(end);
            }
            OpKind::ForMatches { coll, keys, values, entry, label, body } => {
                let desc = EachDesc {
                    coll: self.coll(*coll),
                    keys: self.emit.regs(keys)?,
                    columns: self.emit.targets(values)?,
                    entry: entry.map_or(Ok(NONE), |r| self.emit.target(r))?,
                    ahead: None,
                };
                let each = number(&mut self.eachs, desc)?;
                let at = self.emit.hidden()?;
                let (head, next, end) = (self.emit.label(), self.emit.label(), self.emit.label());
                self.emit.emit(Inst::MatchFirst { each, at });
                self.emit.bind(head);
                self.emit.emit(Inst::MatchNext { each, at, end });
                self.disown(kind);
                self.turns(*label, body, next, end, false)?;
                self.emit.emit(Inst::Back { to: head });
                self.emit.bind(end);
            }
            OpKind::SetEntry { coll, entry, column, value } => {
                let column = u16::try_from(*column).map_err(|_| Error::internal("column number"))?;
                let (entry, value) = (self.emit.reg(*entry)?, self.emit.reg(*value)?);
                let coll = self.coll(*coll);
                self.emit.emit(Inst::SetEntry { coll, column, entry, value });
            }
            _ => return Err(Error::internal("not a collection operation")),
        }
        Ok(())
    }
}

/// The first lookup of a block, or (`within`) of what follows a condition in it.
fn first_lookup(block: &Block, within: bool) -> Option<(TableId, IndexId, &[Reg])> {
    block.0.iter().find_map(|op| match &op.kind {
        OpKind::Get { table, index, key, mode: ReadMode::Plain, .. } => Some((*table, *index, &key[..])),
        OpKind::If { then, .. } if within => first_lookup(then, false),
        _ => None,
    })
}

/// Whether a loop comes to its end, unless there is an error, and what it does changes no row meanwhile.
fn runs_to_its_end(own: Label, body: &Block) -> bool {
    let mut inner = vec![own];
    let mut does = true;
    body.visit(&mut |op| {
        inner.extend(op.kind.label());
        does &= match &op.kind {
            OpKind::Exit { label } => *label != own && inner.contains(label),
            OpKind::Continue { label } => inner.contains(label),
            OpKind::Const { .. }
            | OpKind::Copy { .. }
            | OpKind::Apply { .. }
            | OpKind::Cast { .. }
            | OpKind::Draw { .. }
            | OpKind::CurrentValue { .. }
            | OpKind::ArraySet { .. }
            | OpKind::If { .. }
            | OpKind::Block { .. }
            | OpKind::Emit { .. }
            | OpKind::Ask { .. }
            | OpKind::Get { .. }
            | OpKind::Scan { .. }
            | OpKind::Load { .. }
            | OpKind::Clear { .. }
            | OpKind::Push { .. }
            | OpKind::Fill { .. }
            | OpKind::Len { .. }
            | OpKind::Sort { .. }
            | OpKind::Trim { .. }
            | OpKind::MapGet { .. }
            | OpKind::MapPut { .. }
            | OpKind::ForEach { .. }
            | OpKind::ForMatches { .. }
            | OpKind::SetEntry { .. } => true,
            // A loop may not end, and what is called may do anything.
            _ => false,
        };
    });
    does
}

/// Bytes that are worth leaving out of a copy: a line of memory.
const LEFT_OUT_MIN: usize = 64;

/// What a value of variable length takes, if it is nothing special: texts are seldom as long as they may be.
fn usual_bytes(column: &ColumnSpec) -> usize {
    match &column.ty {
        Type::Char(n @ 1..) => *n as usize,
        Type::Varchar(Some(n)) => (*n as usize).min(64) / 2,
        Type::Text
        | Type::Varchar(None)
        | Type::Char(_)
        | Type::Citext
        | Type::Bytea
        | Type::Range(_)
        | Type::Packed(_) => 16,
        _ => 0,
    }
}
