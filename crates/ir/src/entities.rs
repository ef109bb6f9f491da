//! Every place of an operation where a register, a collection or a label stands, to rename them.

use crate::{Coll, Label, OpKind, Reg, Run, StateSource};

/// Something an operation names, to change.
#[derive(Debug)]
pub enum Entity<'a> {
    /// A register, read or written.
    Reg(&'a mut Reg),
    /// A collection.
    Coll(&'a mut Coll),
    /// The label of this region, or of the region that is left.
    Label(&'a mut Label),
}

impl OpKind {
    /// Calls `f` once for each register, collection and label that this operation itself names (not those
    /// its blocks name).
    pub fn entities_mut(&mut self, f: &mut dyn FnMut(Entity<'_>)) {
        fn regs<'a>(of: impl IntoIterator<Item = &'a mut Reg>, f: &mut dyn FnMut(Entity<'_>)) {
            of.into_iter().for_each(|r| f(Entity::Reg(r)));
        }
        match self {
            OpKind::Const { dst, .. }
            | OpKind::Draw { dst, .. }
            | OpKind::NextValue { dst, .. }
            | OpKind::CurrentValue { dst, .. } => f(Entity::Reg(dst)),
            OpKind::Copy { dst, src } | OpKind::Cast { dst, src, .. } => regs([dst, src], f),
            OpKind::Apply { dst, args, .. } => {
                f(Entity::Reg(dst));
                regs(args, f);
            }
            OpKind::SetValue { value, is_called, .. } => regs([value, is_called], f),
            OpKind::ArraySet { array, index, value } => regs([array, index, value], f),
            OpKind::If { cond, .. } => f(Entity::Reg(cond)),
            OpKind::Loop { label, .. }
            | OpKind::Block { label, .. }
            | OpKind::Exit { label }
            | OpKind::Continue { label } => f(Entity::Label(label)),
            OpKind::Return | OpKind::EndTransaction { .. } => {}
            OpKind::Try { handlers, .. } => {
                handlers.iter_mut().for_each(|h| {
                    let more = h.diagnostics.iter_mut().map(|(_, r)| r);
                    regs([&mut h.sqlstate, &mut h.sqlerrm].into_iter().chain(more), f);
                });
            }
            OpKind::Raise { state, message, fields, .. } => {
                if let StateSource::Computed(r) = state {
                    f(Entity::Reg(r));
                }
                f(Entity::Reg(message));
                regs(fields.regs_mut(), f);
            }
            OpKind::Notify { channel, payload } => regs([channel, payload], f),
            OpKind::Call { args, outs, .. } => regs(args.iter_mut().chain(outs), f),
            OpKind::Ask { dst, args, .. } => {
                f(Entity::Reg(dst));
                regs(args, f);
            }
            OpKind::SystemRows { into, .. } => f(Entity::Coll(into)),
            OpKind::CallSet { args, into, .. } => {
                regs(args, f);
                f(Entity::Coll(into));
            }
            OpKind::Execute { text, args, rows, row_count, run } => {
                regs([text, row_count], f);
                if let Run::Open { name, .. } = run {
                    f(Entity::Reg(name));
                }
                regs(args, f);
                rows.iter_mut().for_each(|c| f(Entity::Coll(c)));
            }
            OpKind::Emit { values } | OpKind::Keep { values } => regs(values, f),
            OpKind::Piece { args, .. } => regs(args, f),
            OpKind::Get { key, row, columns, .. } => {
                regs(key, f);
                f(Entity::Reg(row));
                regs(columns.iter_mut().map(|(_, r)| r), f);
            }
            OpKind::Scan { range, row, columns, label, .. } => {
                regs(&mut range.prefix, f);
                regs(range.lower.iter_mut().chain(&mut range.upper).map(|b| &mut b.reg), f);
                f(Entity::Reg(row));
                regs(columns.iter_mut().map(|(_, r)| r), f);
                f(Entity::Label(label));
            }
            OpKind::Load { row, columns, .. } | OpKind::Update { row, set: columns, .. } => {
                f(Entity::Reg(row));
                regs(columns.iter_mut().map(|(_, r)| r), f);
            }
            OpKind::Insert { values, row, .. } => regs(values.iter_mut().chain(row), f),
            OpKind::Delete { row, .. } => f(Entity::Reg(row)),
            OpKind::Claim { row, granted, .. } => regs([row, granted], f),
            OpKind::Clear { coll } | OpKind::Fill { coll, .. } | OpKind::Sort { coll, .. } => {
                f(Entity::Coll(coll))
            }
            OpKind::Trim { coll, limit, offset, .. } => {
                f(Entity::Coll(coll));
                regs(std::iter::once(limit).chain(offset), f);
            }
            OpKind::Push { coll, values } => {
                f(Entity::Coll(coll));
                regs(values, f);
            }
            OpKind::Len { dst, coll } => {
                f(Entity::Reg(dst));
                f(Entity::Coll(coll));
            }
            OpKind::MapGet { coll, keys, found, values } => {
                f(Entity::Coll(coll));
                regs(keys.iter_mut().chain([found]).chain(values), f);
            }
            OpKind::MapPut { coll, keys, values } => {
                f(Entity::Coll(coll));
                regs(keys.iter_mut().chain(values), f);
            }
            OpKind::ForEach { coll, columns, entry, label, .. } => {
                f(Entity::Coll(coll));
                regs(columns.iter_mut().chain(entry), f);
                f(Entity::Label(label));
            }
            OpKind::ForMatches { coll, keys, values, entry, label, .. } => {
                f(Entity::Coll(coll));
                regs(keys.iter_mut().chain(values).chain(entry), f);
                f(Entity::Label(label));
            }
            OpKind::SetEntry { coll, entry, value, .. } => {
                f(Entity::Coll(coll));
                regs([entry, value], f);
            }
        }
    }
}
