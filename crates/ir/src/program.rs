//! A program: registers, collections, parameters, body.

use crate::{Block, Coll, Label, Reg};
use planaria_base::{ProcedureId, TableId, Type};
use std::collections::BTreeMap;

/// What a program was made from.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ProgramKind {
    /// `CREATE PROCEDURE`: answers with its INOUT/OUT parameters.
    Procedure,
    /// `CREATE FUNCTION` that answers with one value or one row (its `outs`).
    Function,
    /// `CREATE FUNCTION ... RETURNS SETOF / TABLE`: answers with the rows it emits.
    SetFunction,
    /// One SQL statement, or a DO block: answers with the rows it emits.
    Statement,
}

/// How a parameter is passed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ParamMode {
    /// IN
    In,
    /// OUT (or a column of RETURNS TABLE)
    Out,
    /// INOUT
    InOut,
}

/// A parameter; `reg` holds its value when the program starts (NULL for OUT).
#[derive(Clone, PartialEq, Debug)]
pub struct Param {
    /// Name, or `$n` where it has none.
    pub name: String,
    /// Declared type.
    pub ty: Type,
    /// Mode.
    pub mode: ParamMode,
    /// Its register.
    pub reg: Reg,
}

/// What a register holds.
#[derive(Clone, PartialEq, Debug)]
pub enum RegKind {
    /// A value of a SQL type, or NULL.
    Value(Type),
    /// The handle of a row of the table, read or inserted in this transaction; NULL if none.
    Row(TableId),
}

/// A register's declaration.
#[derive(Clone, PartialEq, Debug)]
pub struct RegDecl {
    /// What it holds.
    pub kind: RegKind,
    /// The variable or column it stands for, for people.
    pub name: Option<String>,
}

/// How a collection is used.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum CollKind {
    /// Rows in the order they came; can be sorted.
    List,
    /// Rows by unique key, iterated in the order the keys first came.
    Map,
    /// Rows by key, several to a key, in the order they came.
    MultiMap,
}

/// A collection's declaration. A row is its keys (none for a list), then its values.
#[derive(Clone, PartialEq, Debug)]
pub struct CollDecl {
    /// Kind.
    pub kind: CollKind,
    /// Key columns. Keys are equal as GROUP BY has it: NULL equals NULL.
    pub keys: Vec<RegKind>,
    /// Value columns.
    pub values: Vec<RegKind>,
}

/// A column of the answer.
#[derive(Clone, PartialEq, Debug)]
pub struct Output {
    /// Column name.
    pub name: String,
    /// Column type.
    pub ty: Type,
}

/// A call whose place the callee's body took.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Inlined {
    /// What was called.
    pub procedure: ProcedureId,
    /// By `CallSet`.
    pub set: bool,
}

/// A program. See the [crate] documentation.
#[derive(Clone, PartialEq, Debug)]
pub struct Program {
    /// Name of the procedure or function, `statement` otherwise.
    pub name: String,
    /// What it was made from.
    pub kind: ProgramKind,
    /// Parameters in order of declaration, OUT ones included.
    pub params: Vec<Param>,
    /// Registers.
    pub regs: Vec<RegDecl>,
    /// Collections.
    pub colls: Vec<CollDecl>,
    /// Number of labels in use.
    pub labels: u32,
    /// Blocks that are the bodies of inlined calls: operations inside stand at positions of the callee's
    /// text, the block itself at the call's. For the CONTEXT of errors.
    pub inlined: BTreeMap<Label, Inlined>,
    /// Columns of the answer: of the emitted rows, or of `outs`.
    pub outputs: Vec<Output>,
    /// For procedures and scalar functions: the registers that are the answer at `Return`.
    pub outs: Vec<Reg>,
    /// For statements: where the number of affected (or emitted) rows stands at the end.
    pub row_count: Option<Reg>,
    /// The operations.
    pub body: Block,
}

impl Program {
    /// The name of what a function that answers with a row says behind its columns: whether there is one.
    pub const ANSWERED: &str = "(answered)";

    /// An empty program.
    pub fn new(name: impl Into<String>, kind: ProgramKind) -> Program {
        Program {
            name: name.into(),
            kind,
            params: Vec::new(),
            regs: Vec::new(),
            colls: Vec::new(),
            labels: 0,
            inlined: BTreeMap::new(),
            outputs: Vec::new(),
            outs: Vec::new(),
            row_count: None,
            body: Block::default(),
        }
    }
    /// A new register for a value.
    pub fn value(&mut self, ty: Type) -> Reg {
        self.reg(RegKind::Value(ty), None)
    }
    /// A new register.
    pub fn reg(&mut self, kind: RegKind, name: Option<String>) -> Reg {
        self.regs.push(RegDecl { kind, name });
        Reg::from(self.regs.len() - 1)
    }
    /// A new collection.
    pub fn coll(&mut self, decl: CollDecl) -> Coll {
        self.colls.push(decl);
        Coll::from(self.colls.len() - 1)
    }
    /// A new label.
    pub fn label(&mut self) -> Label {
        self.labels += 1;
        Label(self.labels - 1)
    }
    /// What a register holds.
    pub fn kind_of(&self, reg: Reg) -> &RegKind {
        &self.regs[reg.index()].kind
    }
    /// The SQL type of a value register; `None` for a row handle.
    pub fn type_of(&self, reg: Reg) -> Option<&Type> {
        match self.kind_of(reg) {
            RegKind::Value(ty) => Some(ty),
            RegKind::Row(_) => None,
        }
    }
    /// Numbers the operations in program order, from 0; returns how many there are.
    pub fn renumber(&mut self) -> usize {
        let mut next = 0u32;
        self.body.visit_mut(&mut |op| {
            op.id = crate::OpId(next);
            next += 1;
        });
        next as usize
    }
}
