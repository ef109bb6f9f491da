//! The structure of record variables, known when the body is lowered.
//!
//! A record has the structure of the row last assigned to it, in the order of the text. Assigning rows
//! of another structure gives it other registers, from there on: one record variable can serve many
//! loops, as is usual. Where paths join:
//!
//! - a path that ends in EXIT, RETURN or RAISE does not join;
//! - a record that only some paths assigned has their structure (and is NULL on the others: PostgreSQL
//!   raises 55000 there, when it runs);
//! - a record that has different structures on different paths has none; reading it is 0A000.
//!
//! A loop's body begins where its last turn ended: where a turn changes the structure of a record
//! that had one before the loop, the body is lowered once more with that record having none.

use super::Body;
use crate::lower::{Scope, Typed, Variable};
use planaria_base::{Error, Level, Result, SqlState, Type};
use planaria_ir::{Block, OpKind};

/// A record that has several structures: no fields.
fn conflicting() -> Variable {
    Variable::Row { fields: Vec::new(), table: None }
}

fn is_record(variable: &Variable) -> bool {
    matches!(variable, Variable::Unassigned | Variable::Row { table: None, .. })
}

/// The structures where two paths meet; both scopes have the same variables.
pub(super) fn join(a: &Scope, b: &Scope) -> Scope {
    let mut joined = a.clone();
    joined.each_with(b, |here, there| {
        if here == there || !is_record(here) || !is_record(there) {
            return;
        }
        match (&*here, there) {
            (Variable::Unassigned, known) => *here = known.clone(),
            (_, Variable::Unassigned) => {}
            _ => *here = conflicting(),
        }
    });
    joined
}

/// Records that had a structure at the start and have another at the end lose it; whether there are
/// any.
fn forget_changed(start: &mut Scope, end: &Scope) -> bool {
    let mut any = false;
    start.each_with(end, |before, after| {
        let shaped = matches!(&*before, Variable::Row { table: None, fields } if !fields.is_empty());
        if shaped && *before != *after {
            *before = conflicting();
            any = true;
        }
    });
    any
}

/// Whether control can reach the end of a block.
fn falls_through(block: &Block) -> bool {
    !matches!(
        block.0.last().map(|op| &op.kind),
        Some(
            OpKind::Return
                | OpKind::Exit { .. }
                | OpKind::Continue { .. }
                | OpKind::Raise { level: Level::Exception, .. }
        )
    )
}

impl Body<'_, '_> {
    /// Two paths from here, of which one is taken.
    pub(super) fn either(
        &mut self,
        then: impl FnOnce(&mut Self) -> Result<()>,
        otherwise: impl FnOnce(&mut Self) -> Result<()>,
    ) -> Result<(Block, Block)> {
        let start = self.scope.clone();
        let then = self.sub_block(then)?;
        let after = std::mem::replace(&mut self.scope, start);
        let otherwise = self.sub_block(otherwise)?;
        match (falls_through(&then), falls_through(&otherwise)) {
            (true, true) => self.scope = join(&after, &self.scope),
            (true, false) => self.scope = after,
            (false, _) => {}
        }
        Ok((then, otherwise))
    }

    /// A region that runs any number of times, or is left early.
    pub(super) fn repeated(&mut self, mut f: impl FnMut(&mut Self) -> Result<Block>) -> Result<Block> {
        let mut start = self.scope.clone();
        let mut block = f(self)?;
        if forget_changed(&mut start, &self.scope) {
            self.scope = start.clone();
            block = f(self)?;
        }
        self.scope = join(&start, &self.scope);
        Ok(block)
    }

    /// The alternatives to a region that may be left anywhere: each begins with what held before or
    /// somewhere within it.
    pub(super) fn alternative<T>(
        &mut self,
        start: &Scope,
        ends: &mut Vec<Scope>,
        f: impl FnOnce(&mut Self) -> Result<T>,
    ) -> Result<T> {
        let mut begin = start.clone();
        forget_changed(&mut begin, &ends[0]);
        self.scope = join(&begin, &ends[0]);
        let done = f(self)?;
        ends.push(self.scope.clone());
        Ok(done)
    }

    /// Gives the innermost record of that name a structure, with the registers it had when it last
    /// had the same.
    pub(super) fn reshape(&mut self, name: &str, shape: Vec<(String, Type)>) -> Vec<(String, Typed)> {
        let depth = self.scope.depth_of(name);
        let same = |v: &Variable| match v {
            Variable::Row { fields, .. } => {
                fields.len() == shape.len()
                    && fields.iter().zip(&shape).all(|((a, t), (b, u))| a == b && t.ty == *u)
            }
            _ => false,
        };
        let known = self.shapes.iter().find(|(n, d, v)| n == name && *d == depth && same(v));
        let variable = match known {
            Some((_, _, variable)) => variable.clone(),
            None => {
                let variable = self.row_variable(name, shape.into_iter(), None);
                self.shapes.push((name.to_owned(), depth, variable.clone()));
                variable
            }
        };
        let fields = match &variable {
            Variable::Row { fields, .. } => fields.clone(),
            _ => Vec::new(),
        };
        if let Some(slot) = self.scope.variable_mut(name) {
            *slot = variable;
        }
        fields
    }

    /// Says what is the matter with a record that has lost its structure.
    pub(super) fn explained(&self, error: Error) -> Error {
        if error.sqlstate() != SqlState::UNDEFINED_COLUMN {
            return error;
        }
        let record = error.message().strip_prefix("record \"").and_then(|m| m.split_once("\" has no field"));
        let lost = record.is_some_and(|(name, _)| self.scope.variable(name) == Some(&conflicting()));
        match record {
            Some((name, _)) if lost => {
                let message = format!("record \"{name}\" may have different structures here");
                let clear = Error::unsupported(message, "Use one record variable for each query.");
                match error.fields().position {
                    Some(position) => clear.at(position),
                    None => clear,
                }
            }
            _ => error,
        }
    }
}
