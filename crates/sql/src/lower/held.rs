//! Whether row variables have a row.
//!
//! A row variable that was never assigned, or was assigned NULL, is NULL as a whole, and a record has no fields then (55000 at
//! run time). Where the text says which of the two it is, nothing is computed for it. Elsewhere the variable has a flag, a
//! register that declarations and assignments set. Whether a variable needs one shows when the body has been lowered, which is
//! then lowered once more (as for cursors); so does the structure of a record that is read before the text assigns it.
//!
//! Routines of former versions have none of that: logs have calls of them.

use super::bound::{Bound, BoundKind};
use super::scope::{Found, Scope, Variable};
use super::{Lowerer, Typed};
use planaria_base::{Datum, Error, Level, Result, SqlState, Type};
use planaria_ir::{ErrorFields, OpKind, Reg, RegKind, StateSource};
use std::collections::{BTreeMap, BTreeSet};

/// Names and types of a record's fields.
pub(crate) type Shape = Vec<(String, Type)>;

/// Which declaration a row variable is of: the place in the text, or a number of its own.
pub type RowId = u32;

/// The row of a parameter, by its number.
pub(super) fn of_parameter(n: usize) -> RowId {
    RowId::MAX / 2 + n as RowId
}

/// NEW and OLD of a trigger.
pub(super) const NEW: RowId = RowId::MAX - 1;
pub(super) const OLD: RowId = RowId::MAX;

/// What is known of a row variable.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Held {
    /// It has a row.
    Row,
    /// It is NULL as a whole.
    Null,
    /// Its flag tells.
    Unsure,
}

impl Held {
    /// What is known where two paths meet.
    pub(super) fn or(self, other: Held) -> Held {
        if self == other { self } else { Held::Unsure }
    }
}

/// The row variables of a routine.
#[derive(Clone, Default)]
pub(super) struct Rows {
    /// It is a routine of a former version.
    pub former: bool,
    /// It is only checked: NEW and OLD, and records that take rows of EXECUTE, have no structure there.
    pub checked: bool,
    /// Those that have a flag.
    pub flagged: BTreeSet<RowId>,
    /// The structures of records that are read before the text assigns them.
    pub known: BTreeMap<RowId, Shape>,
    flags: BTreeMap<RowId, Reg>,
    /// Those that turned out to need a flag.
    wanted: BTreeSet<RowId>,
    /// Records read where they have no structure.
    early: BTreeSet<RowId>,
    /// The structures that records were given: `None` of several.
    given: BTreeMap<RowId, Option<Shape>>,
    /// Records that have several structures, and are read where any of them may be the one.
    pub several: BTreeSet<RowId>,
    /// Records read where they may have been assigned, although they have no structure.
    loose: BTreeSet<RowId>,
    /// How many loops are around.
    pub turns: u32,
    /// How many were around the declaration.
    begun: BTreeMap<RowId, u32>,
    /// Of a former version: rows that the text has assigned a field of.
    pub assigned: BTreeSet<RowId>,
}

impl Rows {
    /// What a variable is that nothing was assigned to.
    pub fn at_first(&self) -> Held {
        if self.former { Held::Row } else { Held::Null }
    }

    /// Notes a structure that a record is given.
    pub fn give(&mut self, id: RowId, shape: &Shape) {
        let given = self.given.entry(id).or_insert_with(|| Some(shape.clone()));
        if given.as_ref() != Some(shape) {
            *given = None;
        }
    }

    /// Notes that a record is read where it has no structure.
    pub fn read_early(&mut self, id: RowId) {
        self.early.insert(id);
    }

    /// A record is declared.
    pub fn begin(&mut self, id: RowId) {
        self.begun.insert(id, self.turns);
    }

    /// Whether a record that has no structure here may have been assigned: in the turn before, or on a way that left.
    pub fn is_loose(&self, id: RowId) -> bool {
        self.turns > self.begun.get(&id).copied().unwrap_or_default() || self.given.contains_key(&id)
    }

    /// What is known of a row. Those of former versions have no flag: they are there once the text has assigned them.
    pub fn known_of(&self, held: Held, id: RowId) -> Held {
        match held {
            Held::Null if self.former && self.assigned.contains(&id) => Held::Row,
            Held::Unsure if self.former => Held::Row,
            held => held,
        }
    }

    /// What the body needs in the end.
    pub fn found(
        &self,
        flagged: &mut BTreeSet<RowId>,
        known: &mut BTreeMap<RowId, Shape>,
        several: &mut BTreeSet<RowId>,
    ) {
        if self.former {
            return;
        }
        flagged.extend(&self.wanted);
        for id in &self.early {
            match self.given.get(id) {
                Some(Some(shape)) => {
                    known.entry(*id).or_insert_with(|| shape.clone());
                    flagged.insert(*id);
                }
                Some(None) if self.loose.contains(id) => {
                    several.insert(*id);
                }
                _ => {}
            }
        }
    }
}

impl Lowerer<'_> {
    /// The flag of a row variable; `None` in a body that is going to be lowered once more, with it.
    pub(super) fn row_flag(&mut self, id: RowId) -> Option<Reg> {
        if !self.rows.flagged.contains(&id) {
            self.rows.wanted.insert(id);
            return None;
        }
        let known = self.rows.flags.get(&id).copied();
        known.or_else(|| {
            let flag = self.program.reg(RegKind::Value(Type::Bool), Some(format!("(row {id})")));
            self.rows.flags.insert(id, flag);
            Some(flag)
        })
    }

    /// Sets the flag, if there is one.
    pub(super) fn set_row_flag(&mut self, id: RowId, has_row: bool) {
        if self.rows.flagged.contains(&id)
            && let Some(dst) = self.row_flag(id)
        {
            self.emit(OpKind::Const { dst, value: Datum::Bool(has_row) });
        }
    }

    /// Sets the flag to whether a value is a row.
    pub(super) fn set_row_flag_by(&mut self, id: RowId, value: Reg) {
        if self.rows.flagged.contains(&id)
            && let Some(dst) = self.row_flag(id)
        {
            self.emit(OpKind::Apply { dst, func: planaria_ir::Func::IsNotNull, args: vec![value] });
        }
    }

    /// 55000 where fields of a record are named that has no row.
    pub(super) fn must_hold(&mut self, scope: &Scope, parts: &[String], position: u32) -> Result<()> {
        let Some(Found::Variable(Variable::Row { table: None, held, id, .. })) = scope.lookup(parts) else {
            return Ok(());
        };
        let (held, id) = (self.rows.known_of(*held, *id), *id);
        let error = || unassigned(parts.last().map_or("", String::as_str));
        let flag = match held {
            Held::Row => return Ok(()),
            Held::Null => return Err(error().at(position)),
            Held::Unsure => self.row_flag(id),
        };
        let Some(flag) = flag else { return Ok(()) };
        let last = self.blocks.last().and_then(|ops| ops.last()).map(|op| &op.kind);
        if matches!(last, Some(OpKind::If { cond, then, .. }) if *cond == flag && then.0.is_empty()) {
            return Ok(());
        }
        let error = error();
        let raised = self.block(|l| {
            let text = |l: &mut Self, t: &str| l.constant(Datum::Text(t.to_owned()), Type::Text);
            let message = text(l, error.message());
            let detail = error.fields().detail.as_deref().map(|t| text(l, t));
            let (level, state) = (Level::Exception, StateSource::Known(error.sqlstate()));
            l.emit(OpKind::Raise {
                level,
                state,
                message,
                fields: ErrorFields { detail, ..Default::default() },
            });
            Ok(())
        })?;
        self.emit(OpKind::If { cond: flag, then: Default::default(), otherwise: raised });
        Ok(())
    }

    /// The value of a row variable: the row, or NULL.
    pub(super) fn held_value(&mut self, row: Bound, held: Held, id: RowId) -> Bound {
        let null = Bound::constant(Datum::Null, row.ty.clone(), row.position);
        match self.rows.known_of(held, id) {
            Held::Row => row,
            Held::Null => null,
            Held::Unsure => match self.row_flag(id) {
                None => row,
                Some(reg) => {
                    let (ty, position) = (row.ty.clone(), row.position);
                    let flag = Bound::new(BoundKind::Reg(reg), Type::Bool, position);
                    Bound::new(BoundKind::Case(vec![(flag, row)], Box::new(null)), ty, position)
                }
            },
        }
    }

    /// What is known of the row of a parameter that is passed.
    pub(super) fn passed_row(&self) -> Held {
        if self.rows.former { Held::Row } else { Held::Unsure }
    }

    /// A record that has no structure, where it is named as a whole.
    pub(super) fn unassigned_value(&mut self, id: RowId, name: &str, position: u32) -> Result<Bound> {
        self.rows.read_early(id);
        if self.rows.former || self.rows.checked {
            return Err(unassigned(name).at(position));
        }
        if self.rows.is_loose(id) {
            self.rows.loose.insert(id);
            if self.rows.several.contains(&id) {
                return Err(several_structures(name).at(position));
            }
        }
        Ok(Bound::constant(Datum::Null, Type::Unknown, position))
    }
}

impl Scope {
    /// Says of the variable that has this register what is known of it; with which it is.
    pub(super) fn hold(&mut self, reg: Reg, held: Held) -> Option<RowId> {
        let has = |fields: &[(String, Typed)]| fields.iter().any(|(_, t)| t.reg == reg);
        let mut found = None;
        self.each(|variable| {
            if let Variable::Row { fields, held: known, id, .. } = variable
                && has(fields)
            {
                (*known, found) = (held, Some(*id));
            }
        });
        found
    }

    /// What is known of the row variable that has this register.
    pub(super) fn held_of(&self, reg: Reg) -> Option<(Held, RowId)> {
        let all = self.frames().iter().flat_map(|frame| &frame.variables);
        let has = |fields: &[(String, Typed)]| fields.iter().any(|(_, t)| t.reg == reg);
        let mut all = all.rev().map(|(_, variable)| variable).chain(&self.positional);
        all.find_map(|variable| match variable {
            Variable::Row { fields, held, id, .. } if has(fields) => Some((*held, *id)),
            _ => None,
        })
    }

    /// The row variable that has this register.
    pub(super) fn row_of(&self, reg: Reg) -> Option<RowId> {
        let all = self.frames().iter().flat_map(|frame| &frame.variables);
        all.rev().find_map(|(_, variable)| match variable {
            Variable::Row { fields, id, .. } if fields.iter().any(|(_, t)| t.reg == reg) => Some(*id),
            _ => None,
        })
    }

    /// Whoever is NULL may have a row, and those named may have none.
    pub(super) fn doubt(&mut self, lost: &BTreeSet<RowId>) {
        self.each(|variable| {
            if let Variable::Row { held, id, .. } = variable
                && (*held == Held::Null || lost.contains(id))
            {
                *held = Held::Unsure;
            }
        });
    }
}

/// What to do about a record of several structures.
pub(super) const ONE_RECORD: &str = "Use one record variable for each query.";

/// 0A000 for a record that was given rows of several structures on different paths.
pub(super) fn several_structures(record: &str) -> Error {
    let message = format!("record \"{record}\" may have different structures here");
    Error::unsupported(message, ONE_RECORD)
}

/// `55000`
pub(super) fn unassigned(record: &str) -> Error {
    let message = format!("record \"{record}\" is not assigned yet");
    Error::new(SqlState::OBJECT_NOT_IN_PREREQUISITE_STATE, message)
        .with_detail("The tuple structure of a not-yet-assigned record is indeterminate.")
}
