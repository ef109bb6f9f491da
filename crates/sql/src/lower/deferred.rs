//! What is put off until the transaction commits: foreign keys, and constraint triggers.
//!
//! *Keys, exclusion constraints.* A statement that changes rows of one that is INITIALLY DEFERRED checks nothing; of one that is
//! INITIALLY IMMEDIATE it asks whether it is to ([`Question::DeferCheckInBlock`]). At its commit the transaction looks at what it has
//! written and runs one of these programs for each key: of children that are new, and of parents that are gone. A
//! key is violated if there is a child with it and no parent.
//!
//! *Triggers.* Whether one that is DEFERRABLE is deferred is known to the session alone, so programs ask it
//! ([`Question::DeferTrigger`]), and are logged by values. One that is INITIALLY IMMEDIATE is never deferred outside of
//! blocks, so that calls of such programs stay calls ([`Question::in_a_call`]):
//!
//! ```text
//!  end of the statement:  for each row, for each trigger that is DEFERRABLE and whose WHEN holds:  ask, with the row
//!                         for each row, for each trigger:  call its routine, unless it is deferred
//!  end of the transaction:  for each row that waits:  the program of its trigger and event, which calls the routine
//! ```

use super::Lowerer;
use super::constraint::Values;
use super::trigger::told_apart;
use planaria_base::text_io::quote_ident;
use planaria_base::{Datum, Error, ProcedureId, Result, TableId, Type};
use planaria_catalog::{Catalog, CheckTime, ForeignKey, Table, Trigger, TriggerEvent};
use planaria_ir::{Func, OpKind, Param, ParamMode, Program, ProgramKind, Question, ReadMode, Reg, RegKind};
use planaria_syntax::ast::Name;

/// The program for one key of `child`. It takes the values of the key's columns, none of them NULL: of the
/// child's columns, or of the parent's where `referenced`, and raises 23503 as the change of that side does.
pub fn deferred_key(
    catalog: &Catalog,
    child: TableId,
    key: &ForeignKey,
    referenced: bool,
) -> Result<Program> {
    let (table, columns) = match referenced {
        true => (catalog.table_by_id(key.parent), &key.parent_columns),
        false => (catalog.table_by_id(child), &key.columns),
    };
    let mut l = Lowerer::new(catalog, format!("check of {}", key.name), ProgramKind::Statement);
    let mut values = Vec::with_capacity(columns.len());
    for column in columns {
        let column = &table.columns[column.index()];
        let (name, ty) = (column.name.clone(), column.ty.clone());
        let reg = l.program.reg(RegKind::Value(ty.clone()), Some(name.clone()));
        l.program.params.push(Param { name, ty, mode: ParamMode::In, reg });
        values.push(reg);
    }
    let there = if referenced { values.clone() } else { l.parent_values(table, key, &values) };
    let missing = l.parent_missing(key, &there, ReadMode::Check)?;
    l.when(missing, |l| {
        let found = l.child_found(child, key, &there)?;
        l.raising(found, |l| match referenced {
            true => l.raise_referenced(child, key, &values),
            false => l.raise_orphan(table, key, &values),
        })
    })?;
    l.finish()
}

/// Whether SET CONSTRAINTS says when a trigger fires.
pub(super) fn is_deferrable(trigger: &Trigger) -> bool {
    trigger.constraint.is_some_and(|made| made != CheckTime::NotDeferrable)
}

/// The rows that an event has, as the routines of its triggers take them.
pub(super) fn rows_of<'v>(event: TriggerEvent, new: &'v Values, old: &'v Values) -> Vec<&'v Values> {
    let new = event.has_new().then_some(new);
    new.into_iter().chain(event.has_old().then_some(old)).collect()
}

/// The program that calls a trigger for a row that has waited. It takes the visible columns of NEW, then those of OLD, as far
/// as the event has such rows.
pub fn deferred_trigger(
    catalog: &Catalog,
    table: TableId,
    trigger: &Trigger,
    event: TriggerEvent,
) -> Result<Program> {
    let table = catalog.table_by_id(table);
    let procedure = trigger.routine(event).ok_or_else(|| Error::internal("a trigger of another event"))?;
    let mut l = Lowerer::new(catalog, format!("trigger {}", trigger.name), ProgramKind::Statement);
    let mut args = Vec::new();
    for ty in super::trigger::shape(table, trigger, event).0 {
        let name = format!("value {}", args.len() + 1);
        let reg = l.program.reg(RegKind::Value(ty.clone()), Some(name.clone()));
        l.program.params.push(Param { name, ty, mode: ParamMode::In, reg });
        args.push(reg);
    }
    l.emit(OpKind::Call { procedure, args, outs: Vec::new() });
    l.finish()
}

/// The program that calls triggers for rows that have waited, one after the other: a loop over a list that says of each which
/// routine is called, and has the row that it takes in the place of that routine.
pub fn waiting_triggers<'a>(
    catalog: &Catalog,
    events: impl Iterator<Item = (TableId, &'a Trigger, TriggerEvent, &'a [Datum])>,
) -> Result<Program> {
    let mut l = Lowerer::new(catalog, "waiting triggers".to_owned(), ProgramKind::Statement);
    let mut routines: Vec<(ProcedureId, Vec<Type>)> = Vec::new();
    let mut waiting: Vec<(usize, &[Datum])> = Vec::new();
    for (table, trigger, event, values) in events {
        let procedure =
            trigger.routine(event).ok_or_else(|| Error::internal("a trigger of another event"))?;
        let at = routines.iter().position(|(id, _)| *id == procedure).unwrap_or_else(|| {
            let types = super::trigger::shape(catalog.table_by_id(table), trigger, event).0;
            routines.push((procedure, types));
            routines.len() - 1
        });
        waiting.push((at, values));
    }
    let row_of = |types: &[Type]| {
        let field = |(at, ty): (usize, &Type)| (format!("f{}", at + 1), ty.clone());
        Type::Record(types.iter().enumerate().map(field).collect::<Vec<_>>().into())
    };
    let mut fields = vec![Type::Int4];
    fields.extend(routines.iter().map(|(_, types)| row_of(types)));
    let element = row_of(&fields);
    let rows = waiting.into_iter().map(|(at, values)| {
        let mut row = vec![Datum::Null; fields.len()];
        row[0] = Datum::Int(at as i64);
        row[at + 1] = Datum::Array(values.to_vec());
        Datum::Array(row)
    });
    let rows = Datum::Array(rows.collect());
    let rows = l.constant(rows, Type::Array(Box::new(element.clone())));
    l.for_elements(rows, &element, &mut |l, row, _| {
        let one = l.int4(1);
        let which = l.apply(Func::ArrayGet, vec![row, one], Type::Int4);
        for (at, (procedure, types)) in routines.iter().enumerate() {
            let (number, place) = (l.int4(at as i64), l.int4(at as i64 + 2));
            let meant = l.apply(Func::IntEq, vec![which, number], Type::Bool);
            l.when(meant, |l| {
                let values = l.apply(Func::ArrayGet, vec![row, place], row_of(types));
                let mut args = Vec::with_capacity(types.len());
                for (at, ty) in types.iter().enumerate() {
                    let at = l.int4(at as i64 + 1);
                    args.push(l.apply(Func::ArrayGet, vec![values, at], ty.clone()));
                }
                l.emit(OpKind::Call { procedure: *procedure, args, outs: Vec::new() });
                Ok(())
            })?;
        }
        Ok(())
    })?;
    l.finish()
}

/// `SET CONSTRAINTS` as it is written; no names: ALL.
pub(super) fn said(names: Option<&[Name]>, deferred: bool) -> String {
    let name = |name: &Name| {
        let parts: Vec<String> = name.parts.iter().map(|part| quote_ident(part)).collect();
        parts.join(".")
    };
    let names = names.map(|names| names.iter().map(name).collect::<Vec<_>>().join(", "));
    let when = if deferred { "DEFERRED" } else { "IMMEDIATE" };
    format!("SET CONSTRAINTS {} {when}", names.as_deref().unwrap_or("ALL"))
}

impl Lowerer<'_> {
    /// A row waits for those of its AFTER ROW triggers that are deferred.
    pub(super) fn defer_after(
        &mut self,
        table: &Table,
        event: TriggerEvent,
        triggers: &[Trigger],
        conditions: &[(ProcedureId, Reg)],
        old: &Values,
        new: &Values,
    ) -> Result<()> {
        for trigger in triggers.iter().filter(|t| is_deferrable(t)) {
            let defer = |l: &mut Self| {
                let values = l.row_arguments(table, &l.taken_by(table, trigger), &rows_of(event, new, old));
                let fields = values.iter().enumerate().map(|(at, reg)| {
                    let ty = l.program.type_of(*reg).cloned();
                    ty.map(|ty| (format!("f{}", at + 1), ty))
                        .ok_or_else(|| Error::internal("a row of no values"))
                });
                let fields = fields.collect::<Result<Vec<_>>>()?;
                let row = l.apply(Func::ArrayMake, values, Type::Record(fields.into()));
                l.ask_deferred(table, trigger, event, row)?;
                Ok(())
            };
            match conditions.iter().find(|(of, _)| *of == told_apart(trigger)) {
                Some((_, holds)) => self.when(*holds, defer)?,
                None => defer(self)?,
            }
        }
        Ok(())
    }

    /// `f`, unless a trigger is deferred.
    pub(super) fn unless_deferred(
        &mut self,
        table: &Table,
        trigger: &Trigger,
        event: TriggerEvent,
        f: impl FnOnce(&mut Self) -> Result<()>,
    ) -> Result<()> {
        let none = self.constant(Datum::Null, Type::Text);
        let deferred = self.ask_deferred(table, trigger, event, none)?;
        self.unless(deferred, f)
    }

    /// `f`, unless a key or exclusion constraint is deferred. Of one that is INITIALLY DEFERRED no program asks.
    pub(super) fn unless_put_off(
        &mut self,
        table: TableId,
        constraint: &str,
        check: CheckTime,
        f: impl FnOnce(&mut Self) -> Result<()>,
    ) -> Result<()> {
        match check {
            CheckTime::NotDeferrable => f(self),
            CheckTime::Deferred => Ok(()),
            CheckTime::Deferrable => {
                let table = self.constant(Datum::Int(i64::from(table.0)), Type::Int8);
                let constraint = self.constant(Datum::Text(constraint.to_owned()), Type::Text);
                let (dst, question) = (self.temp(Type::Bool), Question::DeferCheckInBlock);
                self.emit(OpKind::Ask { dst, question, args: vec![table, constraint] });
                self.unless(dst, f)
            }
        }
    }

    fn ask_deferred(
        &mut self,
        table: &Table,
        trigger: &Trigger,
        event: TriggerEvent,
        row: Reg,
    ) -> Result<Reg> {
        let routine = trigger.routine(event).ok_or_else(|| Error::internal("a trigger of another event"))?;
        let id = |l: &mut Self, id: u32| l.constant(Datum::Int(i64::from(id)), Type::Int8);
        let of = self.of_partition(table, trigger).map_or(table.id, |partition| partition.id);
        let (table, routine) = (id(self, of.0), id(self, routine.0));
        let dst = self.temp(Type::Bool);
        let question = match trigger.constraint {
            Some(CheckTime::Deferrable) => Question::DeferTriggerInBlock,
            _ => Question::DeferTrigger,
        };
        self.emit(OpKind::Ask { dst, question, args: vec![table, routine, row] });
        Ok(dst)
    }
}
