//! The keys that a slice touches, computed before it runs (PACMAN §4.3.1).
//!
//! A key is known where it follows from arguments and values of earlier slices. Two ways are tried for
//! the leading column of each access: computed once at the start, if its expression is the same wherever
//! the access stands (so what decides about the access does not matter: a key too many is harmless); else
//! in its place, under the same conditions and in the same loops, if none of these depends on the slice.
//! Accesses through a row handle need no key: the read that found the row has it.

use super::KeyColumns;
use super::chains::ENTRY;
use super::demand::{Cut, Demand, Part, Place};
use super::emit::{First, Keys};
use planaria_base::types::TypeClass;
use planaria_base::{TableId, Type};
use planaria_ir::{OpKind, Param, ParamMode, Reg, RegKind};
use std::collections::{BTreeMap, BTreeSet};

/// What computes the keys of a slice, and where; `None` if they are not known.
pub(super) fn of<'a, 'p>(
    cut: &'a Cut<'p>,
    part: Part,
    slice: &Demand<'_, '_>,
    columns: &dyn KeyColumns,
) -> Option<(Demand<'a, 'p>, Keys)> {
    let mut demand = Demand::new(cut, None, part);
    let mut finder =
        Finder { cut, part, keys: Keys::default(), made: BTreeMap::new(), takes: BTreeMap::new() };
    let own = slice.exec.iter().copied().filter(|op| cut.owner[*op as usize] == Some(part));
    for op in own {
        let kind = cut.chains.kind(op);
        let Some(table) = kind.table().filter(|t| columns.changes(*t)) else { continue };
        for reg in leading_values(kind, table, columns)? {
            if !comparable(cut.program.kind_of(reg), &columns.leading(table).1) {
                return None;
            }
            match finder.at_start(op, reg) {
                Some(known) => {
                    finder.keys.known.insert(known);
                }
                None => {
                    demand.value_at(op, reg);
                    finder.keys.at.entry(op).or_default().push(reg);
                }
            }
        }
    }
    finder.takes.iter().for_each(|((place, reg), (part, _))| demand.take(*part, *place, *reg));
    Some((demand.finish().ok()?, finder.keys))
}

/// The registers with the leading key columns of the rows that an operation reaches; `None`: of any rows.
fn leading_values(kind: &OpKind, table: TableId, columns: &dyn KeyColumns) -> Option<Vec<Reg>> {
    let (leading, _) = columns.leading(table);
    Some(match kind {
        OpKind::Get { index, key, .. } => {
            let at = columns.index(table, *index).iter().position(|c| *c == leading)?;
            vec![*key.get(at)?]
        }
        OpKind::Scan { index, range, .. } => {
            let at = columns.index(table, *index).iter().position(|c| *c == leading)?;
            vec![*range.prefix.get(at)?]
        }
        OpKind::Insert { values, .. } => vec![*values.get(leading.index())?],
        OpKind::Update { set, .. } => set.iter().filter(|(c, _)| *c == leading).map(|(_, r)| *r).collect(),
        _ => Vec::new(),
    })
}

/// Whether equal values of the two have the same bits, so that a key finds the partition of its row.
fn comparable(kind: &RegKind, column: &Type) -> bool {
    let RegKind::Value(ty) = kind else { return false };
    let text = |t: &Type| matches!(t, Type::Text | Type::Varchar(_));
    match column.class() {
        TypeClass::Integer
        | TypeClass::Bool
        | TypeClass::Uuid
        | TypeClass::Bytea
        | TypeClass::Time
        | TypeClass::Enum => ty.class() == column.class(),
        TypeClass::Range => ty == column,
        TypeClass::DateTime => (*ty == Type::Date) == (*column == Type::Date) && ty.class() == column.class(),
        TypeClass::Text => text(ty) && text(column),
        _ => false,
    }
}

struct Finder<'a, 'p> {
    cut: &'a Cut<'p>,
    part: Part,
    keys: Keys,
    /// By operation: the register that holds its result from the start.
    made: BTreeMap<u32, Reg>,
    /// Values of earlier parts: who has them, and the register that holds them from the start.
    takes: BTreeMap<(Place, Reg), (Part, Reg)>,
}

impl Finder<'_, '_> {
    /// A register that holds, from the start, what `reg` holds where `op` reads it.
    fn at_start(&mut self, op: u32, reg: Reg) -> Option<Reg> {
        let program = self.cut.program;
        let defs = self.cut.chains.uses[op as usize].get(&reg)?;
        if let Some(taken) = self.taken(op, reg, defs) {
            return Some(taken);
        }
        let mut defs = defs.iter();
        let (Some(def), None) = (defs.next(), defs.next()) else { return None };
        if *def == ENTRY {
            let is_input = |p: &Param| p.reg == reg && p.mode != ParamMode::Out;
            return program.params.iter().any(is_input).then_some(reg);
        }
        if let Some(made) = self.made.get(def) {
            return Some(*made);
        }
        let kind = self.cut.chains.kind(*def);
        let (dst, kind) = match kind {
            OpKind::Copy { src, .. } => return self.at_start(*def, *src),
            OpKind::Const { dst, .. } => (*dst, kind.clone()),
            OpKind::Cast { dst, src, explicit } => {
                let src = self.at_start(*def, *src)?;
                (*dst, OpKind::Cast { dst: *dst, src, explicit: *explicit })
            }
            OpKind::Apply { dst, func, args } if func.total() => {
                let args = args.iter().map(|a| self.at_start(*def, *a)).collect::<Option<_>>()?;
                (*dst, OpKind::Apply { dst: *dst, func: *func, args })
            }
            _ => return None,
        };
        let made = self.added(dst);
        self.keys.first.push(First::Op(match kind {
            OpKind::Const { value, .. } => OpKind::Const { dst: made, value },
            OpKind::Cast { src, explicit, .. } => OpKind::Cast { dst: made, src, explicit },
            OpKind::Apply { func, args, .. } => OpKind::Apply { dst: made, func, args },
            other => other,
        }));
        self.made.insert(*def, made);
        Some(made)
    }

    /// A new register like this one.
    fn added(&mut self, like: Reg) -> Reg {
        self.keys.added.push(self.cut.program.kind_of(like).clone());
        Reg::from(self.cut.program.regs.len() + self.keys.added.len() - 1)
    }

    /// The same, where all that may have defined it stands in one region, or is one operation, that runs once
    /// and before the access, and whose result an earlier part has.
    fn taken(&mut self, op: u32, reg: Reg, defs: &BTreeSet<u32>) -> Option<Reg> {
        let chains = &self.cut.chains;
        let def = defs.iter().find(|d| **d != ENTRY)?;
        let region = *chains.ended(*def, chains.parent(op)).last()?;
        if chains.repeats(region) || chains.defs_after(region, reg) != *defs {
            return None;
        }
        let place = Place::After(region);
        if let Some((_, register)) = self.takes.get(&(place, reg)) {
            return Some(*register);
        }
        let part = self.cut.giver(self.part, region, reg)?;
        let register = self.added(reg);
        self.takes.insert((place, reg), (part, register));
        self.keys.first.push(First::Take(register, (place, Some(reg))));
        Some(register)
    }
}
