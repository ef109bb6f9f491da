//! The structure of record variables, known when the body is lowered.
//!
//! A record has the structure of the row last assigned to it, in the order of the text. Assigning rows
//! of another structure gives it other registers, from there on: one record variable can serve many
//! loops, as is usual. Where paths join:
//!
//! - a path that ends in EXIT, RETURN or RAISE does not join;
//! - a record that only some paths assigned has their structure, and a flag that tells whether it has a row
//!   ([`crate::lower::held`]);
//! - a record that has different structures on different paths has none; reading it is 0A000.
//!
//! A loop's body begins where its last turn ended: where a turn changes the structure of a record
//! that had one before the loop, the body is lowered once more with that record having none. A record that is
//! read before the text assigns it, as of the turn before, has its structure from its declaration on, where all that is
//! assigned to it has the same.

use super::Body;
use super::assign::Target;
use super::block::registers;
use crate::lower::held::{Held, RowId};
use crate::lower::{Found, Scope, Typed, Variable};
use planaria_base::{Error, Level, Result, SqlState, Type};
use planaria_ir::{Block, Label, OpKind, Reg};
use planaria_syntax::ast::plpgsql::{DeclarationKind, Stmt, StmtKind};
use planaria_syntax::ast::visit::{self, Node};
use planaria_syntax::ast::{Expr, ExprKind, Name, StatementKind};
use std::collections::BTreeSet;

/// A record that has several structures: no fields.
fn conflicting(id: RowId) -> Variable {
    Variable::Row { fields: Vec::new(), table: None, held: Held::Row, id }
}

fn is_conflicting(variable: &Variable) -> bool {
    matches!(variable, Variable::Row { fields, table: None, .. } if fields.is_empty())
}

fn is_record(variable: &Variable) -> bool {
    matches!(variable, Variable::Unassigned { .. } | Variable::Row { table: None, .. })
}

/// Records that had a structure at the start and have another at the end lose it, and rows that may be gone at the end are not
/// known to be there; whether there are any.
fn forget_changed(start: &mut Scope, end: &Scope) -> bool {
    let mut any = false;
    start.each_with(end, |before, after| {
        let Variable::Row { fields, table, held, id } = before else { return };
        match after {
            Variable::Row { fields: then, held: after, .. } if fields == then => {
                let gone = *held == Held::Row && *after != Held::Row;
                *held = if gone { Held::Unsure } else { *held };
                any |= gone;
            }
            _ if table.is_none() && !fields.is_empty() => {
                *before = conflicting(*id);
                any = true;
            }
            _ => {}
        }
    });
    any
}

/// Rows that may be gone, or there, on another way here are not known to be so; whether any was known to be there.
fn doubt_by(here: &mut Scope, there: &Scope) -> bool {
    let mut any = false;
    here.each_with(there, |here, there| match (&mut *here, there) {
        (Variable::Row { fields, held, .. }, Variable::Row { fields: other, held: then, .. })
            if fields == other =>
        {
            any |= *held == Held::Row && *then != Held::Row;
            *held = held.or(*then);
        }
        (Variable::Row { held, table: None, .. }, Variable::Unassigned { .. }) => *held = Held::Unsure,
        _ => {}
    });
    any
}

/// The names of what a statement may assign a row that is NULL.
fn losing(statement: &Stmt, names: &mut Vec<Vec<String>>) {
    let mut all = |list: &[Stmt]| list.iter().for_each(|s| losing(s, names));
    match &statement.kind {
        StmtKind::Assign { target: Expr { kind: ExprKind::Column(name), .. }, value }
            if !matches!(value.kind, ExprKind::Row(_)) =>
        {
            names.push(name.parts.clone());
        }
        StmtKind::Sql(s) if matches!(s.kind, StatementKind::Call { .. }) => {
            visit::statement(s, &mut |node| {
                if let Node::Expr(Expr { kind: ExprKind::Column(name), .. }) = node {
                    names.push(name.parts.clone());
                }
            })
        }
        StmtKind::Block(block) => {
            all(&block.body);
            block.handlers.iter().for_each(|h| all(&h.body));
            names.extend(block.declarations.iter().filter_map(|d| match &d.kind {
                DeclarationKind::Alias(of) => Some(vec![of.clone()]),
                _ => None,
            }));
        }
        StmtKind::If { branches, otherwise } => {
            branches.iter().for_each(|(_, b)| all(b));
            all(otherwise);
        }
        StmtKind::Case { whens, otherwise, .. } => {
            whens.iter().for_each(|(_, b)| all(b));
            otherwise.iter().for_each(|b| all(b));
        }
        StmtKind::Loop { body, .. }
        | StmtKind::While { body, .. }
        | StmtKind::ForRange { body, .. }
        | StmtKind::ForQuery { body, .. }
        | StmtKind::ForExecute { body, .. }
        | StmtKind::ForCursor { body, .. }
        | StmtKind::ForEach { body, .. } => all(body),
        _ => {}
    }
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
            (true, true) => self.scope = self.join(&after, &self.scope),
            (true, false) => self.scope = after,
            (false, _) => {}
        }
        Ok((then, otherwise))
    }

    /// A region that runs any number of times, or is left early.
    /// `labels`: where those jump who leave it, or go on with the next turn; `lost`: rows that may be none at its end.
    pub(super) fn repeated(
        &mut self,
        labels: &[Option<Label>],
        lost: &BTreeSet<RowId>,
        mut f: impl FnMut(&mut Self) -> Result<Block>,
    ) -> Result<Block> {
        let former = self.l.rows.former;
        // What a turn assigns the next one has.
        if !former {
            self.scope.doubt(lost);
        }
        let mut start = self.scope.clone();
        let jumps = self.jumps.len();
        let mut block = f(self)?;
        let mut forgotten = forget_changed(&mut start, &self.scope);
        for (label, scope) in self.jumps.get(jumps..).unwrap_or_default() {
            if !former && labels.contains(&Some(*label)) {
                forgotten |= doubt_by(&mut start, scope);
            }
        }
        if forgotten {
            self.jumps.truncate(jumps);
            self.scope = start.clone();
            block = f(self)?;
        }
        self.scope = self.join(&start, &self.scope);
        let mut at = jumps;
        while let Some((label, scope)) = self.jumps.get(at) {
            if labels.contains(&Some(*label)) {
                if !former {
                    doubt_by(&mut self.scope, scope);
                }
                self.jumps.remove(at);
            } else {
                at += 1;
            }
        }
        Ok(block)
    }

    /// The structures where two paths meet; both scopes have the same variables.
    pub(super) fn join(&self, a: &Scope, b: &Scope) -> Scope {
        let unsure = |variable: &mut Variable| {
            if let Variable::Row { held, .. } = variable
                && !self.l.rows.former
            {
                *held = Held::Unsure;
            }
        };
        let mut joined = a.clone();
        joined.each_with(b, |here, there| match (&mut *here, there) {
            (Variable::Row { fields, held, .. }, Variable::Row { fields: other, held: then, .. })
                if fields == other =>
            {
                *held = held.or(*then);
            }
            (here, there) if here == there || !is_record(here) || !is_record(there) => {}
            (Variable::Unassigned { .. }, known) => {
                *here = known.clone();
                unsure(here);
            }
            (_, Variable::Unassigned { .. }) => unsure(here),
            (Variable::Row { id, .. }, _) => *here = conflicting(*id),
            _ => {}
        });
        joined
    }

    /// The alternatives to a region that may be left anywhere: each begins with what held before or
    /// somewhere within it. `lost`: rows that may be none somewhere within it.
    pub(super) fn alternative<T>(
        &mut self,
        start: &Scope,
        lost: &BTreeSet<RowId>,
        ends: &mut Vec<Scope>,
        f: impl FnOnce(&mut Self) -> Result<T>,
    ) -> Result<T> {
        let mut begin = start.clone();
        if !self.l.rows.former {
            begin.doubt(lost);
        }
        forget_changed(&mut begin, &ends[0]);
        self.scope = self.join(&begin, &ends[0]);
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
        let id = self.scope.variable(name).map_or(0, |variable| match variable {
            Variable::Row { id, .. } | Variable::Unassigned { id } => *id,
            Variable::Scalar(_) => 0,
        });
        self.l.rows.give(id, &shape);
        let known = self.shapes.iter().find(|(n, d, v)| n == name && *d == depth && same(v));
        let mut variable = match known {
            Some((_, _, variable)) => variable.clone(),
            None => {
                let variable = self.row_variable(name, shape.into_iter(), None);
                self.shapes.push((name.to_owned(), depth, variable.clone()));
                variable
            }
        };
        let fields = match &mut variable {
            Variable::Row { fields, id: of, .. } => {
                *of = id;
                fields.clone()
            }
            _ => Vec::new(),
        };
        if let Some(slot) = self.scope.variable_mut(name) {
            *slot = variable;
        }
        fields
    }

    /// A row variable where it is declared: it has no row. A record that is read before the text assigns it has its structure.
    pub(super) fn begin_row(&mut self, name: &str, variable: &mut Variable, declared: RowId) {
        self.l.set_row_flag(declared, false);
        self.l.rows.begin(declared);
        match variable {
            Variable::Scalar(_) => {}
            Variable::Row { held, id, .. } => (*held, *id) = (self.l.rows.at_first(), declared),
            Variable::Unassigned { id } => {
                *id = declared;
                let Some(shape) = self.l.rows.known.get(&declared).cloned() else { return };
                *variable = match self.row_variable(name, shape.into_iter(), None) {
                    Variable::Row { fields, table, .. } => {
                        Variable::Row { fields, table, held: self.l.rows.at_first(), id: declared }
                    }
                    other => other,
                };
                // Not those of a variable of that name in a block before this one.
                let depth = self.scope.frames().len().saturating_sub(1);
                self.shapes.retain(|(n, d, _)| n != name || *d != depth);
                self.shapes.push((name.to_owned(), depth, variable.clone()));
            }
        }
    }

    /// `row := NULL`
    pub(super) fn assign_null(&mut self, target: &Expr, variable: &Variable) -> Result<()> {
        if let (ExprKind::Column(name), false) = (&target.kind, self.l.rows.former) {
            registers(variable).into_iter().try_for_each(|reg| self.check_constant(reg, name))?;
        }
        registers(variable).into_iter().for_each(|reg| self.null(reg));
        if let Variable::Unassigned { id } = variable {
            // The value of the turn before is no longer there.
            if self.l.rows.is_loose(*id) {
                self.l.rows.read_early(*id);
            }
            self.l.set_row_flag(*id, false);
        }
        if let (Some(first), false) = (registers(variable).first(), self.l.rows.former)
            && let Some(id) = self.scope.hold(*first, Held::Null)
        {
            self.l.set_row_flag(id, false);
        }
        Ok(())
    }

    /// A field has been assigned: its row is one.
    pub(super) fn now_held(&mut self, reg: Reg) {
        if let Some(id) = self.scope.hold(reg, Held::Row) {
            self.l.set_row_flag(id, true);
        }
    }

    /// A row has been stored.
    pub(super) fn row_stored(&mut self, targets: &[Target]) {
        if let Some(Target::Field(first)) = targets.first() {
            self.now_held(first.reg);
        }
    }

    /// Rows, by the names that they have here, which these statements may leave without a row.
    pub(super) fn lost_by(&self, statements: &[Stmt]) -> BTreeSet<RowId> {
        let mut names = Vec::new();
        statements.iter().for_each(|s| losing(s, &mut names));
        let row = |parts: &Vec<String>| {
            let number = parts[0].strip_prefix('$').and_then(|n| n.parse().ok());
            let found = match number {
                Some(n) => self.scope.parameter(n).map(Found::Variable),
                None => self.scope.lookup(parts),
            };
            match found {
                Some(Found::Variable(Variable::Row { id, .. })) => Some(*id),
                _ => None,
            }
        };
        names.iter().filter_map(row).collect()
    }

    /// A row variable has been assigned the value of another.
    pub(super) fn take_held(&mut self, targets: &[Target], (held, from): (Held, RowId)) {
        let Some(Target::Field(first)) = targets.first() else { return };
        if held == Held::Row || self.l.rows.former {
            return;
        }
        let Some(id) = self.scope.hold(first.reg, held) else { return };
        let flag = if held == Held::Unsure { self.l.row_flag(from) } else { None };
        match (flag, self.l.rows.flagged.contains(&id)) {
            (Some(src), true) => {
                if let Some(dst) = self.l.row_flag(id) {
                    self.copy(dst, src);
                }
            }
            _ => self.l.set_row_flag(id, false),
        }
    }

    /// A row variable has been assigned a value that may be NULL.
    pub(super) fn take_value(&mut self, targets: &[Target], value: Reg) {
        let Some(Target::Field(first)) = targets.first() else { return };
        if self.l.rows.former {
            return;
        }
        if let Some(id) = self.scope.hold(first.reg, Held::Unsure) {
            self.l.set_row_flag_by(id, value);
        }
    }

    /// Whether a name is that of a variable, not of a field.
    pub(super) fn whole_name(&self, name: &Name) -> bool {
        let around = self.scope.lookup(&name.parts[..name.parts.len() - 1]);
        !matches!(around, Some(Found::Variable(Variable::Unassigned { .. })))
    }

    /// Says what is the matter with a record that has lost its structure.
    pub(super) fn explained(&self, error: Error) -> Error {
        if error.sqlstate() != SqlState::UNDEFINED_COLUMN {
            return error;
        }
        let record = error.message().strip_prefix("record \"").and_then(|m| m.split_once("\" has no field"));
        let lost = record.is_some_and(|(name, _)| self.scope.variable(name).is_some_and(is_conflicting));
        match record {
            Some((name, _)) if lost => {
                let clear = crate::lower::held::several_structures(name);
                match error.fields().position {
                    Some(position) => clear.at(position),
                    None => clear,
                }
            }
            _ => error,
        }
    }
}

/// Whether a body may CONTINUE the loop around it.
pub(super) fn continues(body: &[Stmt]) -> bool {
    body.iter().any(|s| match &s.kind {
        StmtKind::Continue { .. } => true,
        StmtKind::Block(b) => continues(&b.body) || b.handlers.iter().any(|h| continues(&h.body)),
        StmtKind::If { branches, otherwise } => {
            branches.iter().any(|(_, b)| continues(b)) || continues(otherwise)
        }
        StmtKind::Case { whens, otherwise, .. } => {
            whens.iter().any(|(_, b)| continues(b)) || otherwise.as_ref().is_some_and(|b| continues(b))
        }
        StmtKind::Loop { body, .. }
        | StmtKind::While { body, .. }
        | StmtKind::ForRange { body, .. }
        | StmtKind::ForQuery { body, .. }
        | StmtKind::ForExecute { body, .. }
        | StmtKind::ForCursor { body, .. }
        | StmtKind::ForEach { body, .. } => continues(body),
        _ => false,
    })
}
