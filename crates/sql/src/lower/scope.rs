//! Names from outside a statement: PL/pgSQL variables, and `$n` parameters.
//!
//! The names *inside* a statement (FROM items, output aliases, CTEs) are the binder's own; they nest
//! within this scope. A name that is both a variable and a column is an error, as in PostgreSQL
//! (`plpgsql.variable_conflict = error`).

pub use super::held::{Held, RowId};
use planaria_base::{TableId, Type};
use planaria_ir::Reg;

/// A value in a register, with its type. The register may be a variable's own: whoever keeps the
/// value beyond the next change of that variable copies it.
#[derive(Clone, PartialEq, Debug)]
pub struct Typed {
    /// Register.
    pub reg: Reg,
    /// Type; with a modifier only where the value is known to conform to it.
    pub ty: Type,
}

/// A variable of PL/pgSQL.
#[derive(Clone, PartialEq, Debug)]
pub enum Variable {
    /// One value.
    Scalar(Typed),
    /// A row: `%ROWTYPE`, or a record that has been given its structure.
    Row {
        /// Fields in order.
        fields: Vec<(String, Typed)>,
        /// The table whose row type it is.
        table: Option<TableId>,
        /// Whether it has a row.
        held: Held,
        /// Which declaration it is of.
        id: RowId,
    },
    /// A record that has no structure yet: NULL, and its fields are 55000.
    Unassigned {
        /// Which declaration it is of.
        id: RowId,
    },
}

/// The variables of one block.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Frame {
    /// The block's label; of the outermost frame, the routine's name.
    pub label: Option<String>,
    /// Variables by name.
    pub variables: Vec<(String, Variable)>,
}

/// Variables and parameters that a statement may name; frames from outer to inner.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Scope {
    frames: Vec<Frame>,
    /// What `$1`, `$2`, ... stand for, in a routine's body.
    pub positional: Vec<Variable>,
}

/// What a name turned out to be.
#[derive(Clone, PartialEq, Debug)]
pub enum Found<'a> {
    /// A variable.
    Variable(&'a Variable),
    /// A field of a row variable.
    Field(&'a Typed),
    /// A row variable that has no such field.
    NoField,
}

impl Scope {
    /// No names at all.
    pub fn new() -> Scope {
        Scope::default()
    }
    /// Enters a block.
    pub fn push(&mut self, label: Option<String>) {
        self.frames.push(Frame { label, variables: Vec::new() });
    }
    /// Leaves the innermost block.
    pub fn pop(&mut self) -> Option<Frame> {
        self.frames.pop()
    }
    /// The frames, outer to inner.
    pub fn frames(&self) -> &[Frame] {
        &self.frames
    }
    /// Declares a variable in the innermost block. A later declaration of a name hides an earlier one.
    pub fn declare(&mut self, name: impl Into<String>, variable: Variable) {
        if self.frames.is_empty() {
            self.push(None);
        }
        let frame = self.frames.last_mut().expect("a frame was just made sure of");
        frame.variables.push((name.into(), variable));
    }
    /// The innermost variable of that name, to change (a record gets its structure).
    pub fn variable_mut(&mut self, name: &str) -> Option<&mut Variable> {
        self.frames
            .iter_mut()
            .rev()
            .find_map(|f| f.variables.iter_mut().rev().find(|(n, _)| n == name).map(|(_, v)| v))
    }
    /// The innermost variable of that name.
    pub fn variable(&self, name: &str) -> Option<&Variable> {
        self.frames.iter().rev().find_map(|f| f.variable(name))
    }
    /// Looks `v`, `v.field`, `label.v` or `label.v.field` up.
    pub fn lookup(&self, parts: &[String]) -> Option<Found<'_>> {
        fn field<'a>(variable: &'a Variable, name: &str) -> Option<Found<'a>> {
            match variable {
                Variable::Row { fields, .. } => Some(
                    fields.iter().find(|(n, _)| n == name).map_or(Found::NoField, |(_, t)| Found::Field(t)),
                ),
                Variable::Unassigned { .. } => Some(Found::Variable(variable)),
                Variable::Scalar(_) => None,
            }
        }
        let labelled = |label: &str, name: &str| {
            self.frames
                .iter()
                .rev()
                .filter(|f| f.label.as_deref() == Some(label))
                .find_map(|f| f.variable(name))
        };
        match parts {
            [name] => self.variable(name).map(Found::Variable),
            [a, b] => {
                self.variable(a).and_then(|v| field(v, b)).or_else(|| labelled(a, b).map(Found::Variable))
            }
            [a, b, c] => labelled(a, b).and_then(|v| field(v, c)),
            _ => None,
        }
    }
    /// The depth of the frame that has the innermost variable of that name.
    pub(super) fn depth_of(&self, name: &str) -> usize {
        self.frames.iter().rposition(|f| f.variable(name).is_some()).unwrap_or_default()
    }
    /// Calls `f` for each variable.
    pub(super) fn each(&mut self, f: impl FnMut(&mut Variable)) {
        self.frames.iter_mut().flat_map(|frame| &mut frame.variables).map(|(_, v)| v).for_each(f);
    }
    /// Calls `f` for each variable together with the one of the same place in `other`.
    pub(super) fn each_with(&mut self, other: &Scope, mut f: impl FnMut(&mut Variable, &Variable)) {
        for (here, there) in self.frames.iter_mut().zip(&other.frames) {
            for ((_, a), (_, b)) in here.variables.iter_mut().zip(&there.variables) {
                f(a, b);
            }
        }
    }
    /// Leaves frames until so many are left.
    pub(super) fn truncate(&mut self, depth: usize) {
        self.frames.truncate(depth);
    }
    /// What `$n` stands for (from 1).
    pub fn parameter(&self, n: u32) -> Option<&Variable> {
        self.positional.get((n as usize).checked_sub(1)?)
    }
}

impl Frame {
    fn variable(&self, name: &str) -> Option<&Variable> {
        self.variables.iter().rev().find(|(n, _)| n == name).map(|(_, v)| v)
    }
}

/// Types of `$1..` of a statement: as declared by the client, the rest is inferred from where they
/// stand. `Program::params` of the lowered statement tells what they became.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct ParamTypes(pub Vec<Option<Type>>);
