//! Transition tables: what AFTER triggers see of all that a statement has changed.
//!
//! ```text
//!  each changed row         a record more in an array: of the row as it is, of the row as it was
//!  end of the statement     the arrays are arguments of the triggers' routines
//!  a routine                array -> list, where the function names it; its queries read that as they read a CTE
//! ```
//!
//! There is one pair of arrays for each table and event, whoever changes the rows: the statement, or a foreign key behind
//! it. It is made where a trigger wants it.

use super::bind_query::BoundCte;
use super::trigger::{ChangedRow, value_type};
use super::{Lowerer, Typed};
use planaria_base::{Datum, Error, Result, SqlState, TableId, Type};
use planaria_catalog::{Table, Transition, Trigger, TriggerEvent};
use planaria_ir::{CollDecl, CollKind, Func, OpKind, Param, ParamMode, Reg, RegKind};
use planaria_syntax::ast::Name;

/// The rows of a table that a statement has changed by an event, as far as triggers want them.
pub(super) struct Made {
    table: TableId,
    event: TriggerEvent,
    rows: Vec<(Transition, Reg)>,
}

impl Made {
    /// What they are of.
    pub fn of(&self) -> (TableId, TriggerEvent) {
        (self.table, self.event)
    }

    /// New rows that are there already.
    pub fn inserted(table: TableId, rows: Reg) -> Made {
        Made { table, event: TriggerEvent::Insert, rows: vec![(Transition::New, rows)] }
    }
}

fn columns(table: &Table) -> Vec<(String, Type)> {
    table.visible().map(|(_, c)| (c.name.clone(), value_type(&c.ty))).collect()
}

/// The type of a transition table as a value.
pub(super) fn rows_type(table: &Table) -> Type {
    Type::Array(Box::new(Type::Record(columns(table).into())))
}

/// Whether a function's text may have this name in it.
pub fn mentions(body: &str, name: &str) -> bool {
    let body = body.to_lowercase();
    // Quotes within a name are doubled, and U&"" writes letters in other ways.
    name.contains('"') || body.contains("u&") || body.contains(&name.to_lowercase())
}

impl Lowerer<'_> {
    /// A row was changed: it goes into the transition tables that triggers want of it, or into that one alone.
    pub(super) fn keep_transition(
        &mut self,
        table: &Table,
        row: &ChangedRow<'_>,
        only: Option<Transition>,
        made: &mut Vec<Made>,
    ) -> Result<()> {
        let wanted: Vec<Transition> = table.transitions(row.event, self.replica()).collect();
        if wanted.is_empty() {
            return Ok(());
        }
        let of = (table.id, row.event);
        let rows = match made.iter().find(|m| m.of() == of) {
            Some(known) => known.rows.clone(),
            None => {
                let mut rows = Vec::new();
                for which in wanted {
                    rows.push((which, self.empty_transition(table)?));
                }
                made.push(Made { table: table.id, event: row.event, rows: rows.clone() });
                rows
            }
        };
        for (which, rows) in rows.into_iter().filter(|(which, _)| only.is_none_or(|only| only == *which)) {
            let values = if which == Transition::New { row.new } else { row.old };
            let mut fields = Vec::new();
            for (id, column) in table.visible() {
                let ty = value_type(&column.ty);
                fields.push(match values[id.index()] {
                    Some(reg) => self.exactly(reg, &ty),
                    None => self.constant(Datum::Null, ty),
                });
            }
            let record = self.apply(Func::ArrayMake, fields, Type::Record(columns(table).into()));
            self.emit(OpKind::Apply { dst: rows, func: Func::ArrayAppend, args: vec![rows, record] });
        }
        Ok(())
    }

    /// One without rows, where the statement begins.
    fn empty_transition(&mut self, table: &Table) -> Result<Reg> {
        let ty = rows_type(table);
        let rows = self.program.reg(RegKind::Value(ty.clone()), Some("(transition)".to_owned()));
        let none = self.constant(Datum::Null, ty);
        self.at_frame(0, |l| {
            l.copy(rows, none);
            Ok(())
        })?;
        Ok(rows)
    }

    /// A transition table as a routine takes it.
    pub(super) fn transition_rows(
        &mut self,
        table: &Table,
        event: TriggerEvent,
        which: Transition,
        made: &[Made],
    ) -> Reg {
        let found = made.iter().find(|m| m.of() == (table.id, event));
        let rows = found.and_then(|m| m.rows.iter().find(|(w, _)| *w == which));
        match rows {
            Some((_, rows)) => *rows,
            None => self.constant(Datum::Null, rows_type(table)),
        }
    }

    /// The transition tables of the trigger whose routine this is: parameters, and rows that its queries can name.
    pub(super) fn declare_transitions(&mut self, table: &Table, trigger: &Trigger) -> Result<()> {
        let body = &self.catalog.procedure(trigger.function).body;
        for (_, name) in trigger.transitions() {
            let ty = rows_type(table);
            let rows = self.program.reg(RegKind::Value(ty.clone()), Some(name.to_owned()));
            self.program.params.push(Param {
                name: name.to_owned(),
                ty: ty.clone(),
                mode: ParamMode::In,
                reg: rows,
            });
            self.tables_of_rows.push((name.to_owned(), rows));
            if mentions(body, name) {
                self.declare_rows(name, rows, &ty)?;
            }
        }
        Ok(())
    }

    /// An array of rows that queries can read as a table.
    pub(super) fn declare_rows(&mut self, name: &str, rows: Reg, ty: &Type) -> Result<()> {
        let Some(Type::Record(row)) = ty.element() else {
            return Err(Error::internal("a transition table without rows"));
        };
        let columns: Vec<(String, Type)> = row.iter().cloned().collect();
        let values = columns.iter().map(|(_, ty)| RegKind::Value(ty.clone())).collect();
        let list = self.program.coll(CollDecl { kind: CollKind::List, keys: Vec::new(), values });
        let there = self.apply(Func::IsNotNull, vec![rows], Type::Bool);
        self.when(there, |l| {
            l.for_elements(rows, &Type::Record(columns.clone().into()), &mut |l, row, _| {
                let mut values = Vec::new();
                for (at, (_, ty)) in columns.iter().enumerate() {
                    let at = l.int4(at as i64 + 1);
                    values.push(l.apply(Func::ArrayGet, vec![row, at], ty.clone()));
                }
                l.emit(OpKind::Push { coll: list, values });
                Ok(())
            })
        })?;
        self.ctes.push(BoundCte::listed(name.to_owned(), columns, Some(list)));
        self.transitions.push((name.to_owned(), self.ctes.len() - 1));
        Ok(())
    }

    /// The transition table that a name means, if no CTE has it: its place among the CTEs.
    pub(super) fn transition(&self, name: &str) -> Option<usize> {
        let known = self.transitions.iter().filter(|_| self.expanding.is_empty());
        known.into_iter().find(|(n, _)| n == name).map(|(_, place)| *place)
    }

    /// 0A000 for a transition table that is to be changed.
    pub(super) fn refuse_transition(&self, name: &Name) -> Result<()> {
        match &name.parts[..] {
            [local] if self.transition(local).is_some() => {
                let message = format!("relation \"{local}\" cannot be the target of a modifying statement");
                Err(Error::new(SqlState::FEATURE_NOT_SUPPORTED, message))
            }
            _ => Ok(()),
        }
    }

    /// 0A000 where parts of a statement change the same rows for triggers that are to see all of them at its end: a part's
    /// fire when it ends.
    pub(super) fn made_once(&self, kept: &[(TableId, TriggerEvent)]) -> Result<()> {
        let again = kept.iter().enumerate().find(|(at, of)| kept[..*at].contains(of));
        let Some((_, (table, event))) = again else { return Ok(()) };
        let message = format!(
            "several {}s of table \"{}\", which has transition tables, in one statement are not supported",
            event.word(),
            self.catalog.table_by_id(*table).name
        );
        Err(Error::unsupported(message, "Use two statements.").at(self.position))
    }

    /// The rows of a COPY, which are the statement's next parameter, where triggers want them.
    pub(super) fn copied_rows(&mut self, table: &Table) -> Vec<Made> {
        if table.transitions(TriggerEvent::Insert, self.replica()).next().is_none() {
            return Vec::new();
        }
        let ty = rows_type(table);
        let reg = self.temp(ty.clone());
        self.params.push(Some(Typed { reg, ty }));
        vec![Made::inserted(table.id, reg)]
    }
}
