//! Calls in FROM of routines that return `record` without OUT parameters: a column definition list says what columns they answer with.
//!
//! A routine with such columns is an instance of it ([`planaria_catalog::Catalog::instance`]), as one with the types of a call is of a
//! polymorphic one: its body is lowered, and held against the columns, for each list that calls have.

use super::Lowerer;
use super::bound::{RelId, RelKind};
use super::held::Shape;
use planaria_base::{Error, ProcedureId, Result, SqlState, Type};
use planaria_catalog::{Language, Procedure, Returns};
use planaria_ir::ProgramKind;
use planaria_syntax::ast::{TypeName, TypeNameKind};
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;

/// The routines returning `record` whose rows are looked for, the innermost last, and what was found of others meanwhile: each is asked
/// once, however many calls lead to it.
#[derive(Clone, PartialEq, Default)]
pub(crate) struct Inferring {
    pub(super) within: Vec<ProcedureId>,
    known: Rc<RefCell<BTreeMap<ProcedureId, Vec<Shape>>>>,
}

impl Inferring {
    pub(super) fn is_empty(&self) -> bool {
        self.within.is_empty()
    }
}

/// 42601 for columns of a call whose function says its own.
pub(super) fn redundant() -> Error {
    let message = "a column definition list is redundant for a function with OUT parameters";
    Error::new(SqlState::SYNTAX_ERROR, message)
}

impl Lowerer<'_> {
    /// A routine that returns `record` answers with the columns that its call defines: it is an instance of it that is called.
    pub(super) fn columns_of_call(
        &mut self,
        rel: RelId,
        definitions: &[(String, TypeName)],
        ordinality: bool,
    ) -> Result<()> {
        let wrong = |message: &str| Err(Error::new(SqlState::SYNTAX_ERROR, message));
        let routine = match &self.rel(rel).kind {
            RelKind::CallSet { procedure, .. } | RelKind::CallRow { procedure, .. } => {
                Some(self.catalog.procedure(*procedure))
            }
            _ => None,
        };
        let Some((routine, set)) = routine.and_then(|routine| match routine.returns {
            Returns::Record { set, .. } => Some((routine, set)),
            _ => None,
        }) else {
            return match routine.map(|routine| &routine.returns) {
                _ if definitions.is_empty() => Ok(()),
                Some(Returns::OutRow | Returns::SetOfOutRow | Returns::Table) => Err(redundant()),
                Some(Returns::RowOf(_) | Returns::SetOfTable(_)) => wrong(
                    "a column definition list is redundant for a function returning a named composite type",
                ),
                _ => wrong("a column definition list is only allowed for functions returning \"record\""),
            };
        };
        if definitions.is_empty() {
            return wrong("a column definition list is required for functions returning \"record\"");
        }
        let mut columns: Vec<(String, Type)> = Vec::with_capacity(definitions.len());
        for (name, ty) in definitions {
            if columns.iter().any(|(other, _)| other == name) {
                let message = format!("column name \"{name}\" specified more than once");
                return Err(Error::new(SqlState::DUPLICATE_COLUMN, message));
            }
            // Logs have calls of routines that took it for the type behind it.
            if let TypeNameKind::Serial(of) = &ty.kind
                && self.program.kind == ProgramKind::Statement
                && !self.kept_text
            {
                return Err(crate::ddl::no_serial(of).at(ty.position));
            }
            let declared = self.declared(ty)?;
            if declared.domain.is_some() {
                let hint = "Use the type that the domain is over, and cast the column.";
                let what = "a domain in a column definition list is not supported";
                return Err(Error::unsupported(what, hint).at(ty.position));
            }
            columns.push((name.clone(), declared.ty));
        }
        // Names are the call's own: calls with the same types are calls of the same instance.
        let typed = columns.iter().enumerate().map(|(at, (_, ty))| (format!("column{}", at + 1), ty.clone()));
        let made = Procedure {
            returns: Returns::Record { set, columns: typed.collect() },
            instance_of: Some(routine.instance_of.unwrap_or(routine.id)),
            ..routine.clone()
        };
        let instance = self.catalog.instance(made)?;
        let of = self.rel_mut(rel);
        if let RelKind::CallSet { procedure, .. } | RelKind::CallRow { procedure, .. } = &mut of.kind {
            *procedure = instance;
        }
        let behind = of.columns.split_off(of.columns.len() - ordinality as usize);
        of.columns = columns.into_iter().chain(behind).collect();
        of.uses = vec![0; of.columns.len()];
        of.regs = vec![None; of.columns.len()];
        Ok(())
    }

    /// The instance of a routine that returns `record` for a call that says no columns: they are those of the rows which its text
    /// answers with. 0A000 where that does not say them.
    pub(super) fn with_own_columns(
        &mut self,
        id: ProcedureId,
        position: u32,
    ) -> Result<(ProcedureId, Vec<(String, Type)>)> {
        let routine = self.catalog.procedure(id);
        let Returns::Record { set, .. } = routine.returns else {
            return Err(Error::internal("a routine that says what columns it has"));
        };
        let origin = routine.instance_of.unwrap_or(id);
        let unsupported = |why: &str| {
            let message = format!(
                "a call of function \"{}\", which returns record {why}, outside of FROM is not supported",
                routine.name
            );
            Err(Error::unsupported(message, "Call it in FROM, with a column definition list.").at(position))
        };
        if set && routine.language == Language::PlPgSql {
            let message = "materialize mode required, but it is not allowed in this context";
            return Err(Error::new(SqlState::FEATURE_NOT_SUPPORTED, message));
        }
        if self.inferring.within.contains(&origin) {
            return unsupported("and calls itself");
        }
        let known = self.inferring.known.borrow().get(&id).cloned();
        let mut shapes = match known {
            Some(shapes) => shapes,
            None => {
                let mut within = self.inferring.clone();
                within.within.push(origin);
                let shapes = super::plpgsql::answered(self.catalog, routine, &within)?;
                self.inferring.known.borrow_mut().insert(id, shapes.clone());
                shapes
            }
        };
        let (Some(columns), true) = (shapes.pop(), shapes.is_empty()) else {
            return unsupported("of no or several structures");
        };
        let made = Procedure {
            returns: Returns::Record { set, columns: columns.clone() },
            instance_of: Some(origin),
            ..routine.clone()
        };
        Ok((self.catalog.instance(made)?, columns))
    }
}
