//! Binding, planning and lowering of SQL to IR.
//!
//! Three steps for every statement, in one walk of its clauses:
//!
//! 1. **bind** (`bind_*`): names and types are resolved, overloads chosen, views expanded; the
//!    result is a typed tree ([`bound`]) in which columns are (relation, position).
//! 2. **plan** (`plan`): rule-based and a function of the catalog alone; for every relation an access path
//!    (unique key, index range, full scan, hash table), an order of joins, and what an index order
//!    saves.
//! 3. **emit** (`emit_*`): data-centric code in the produce/consume style of Neumann (*Efficiently
//!    Compiling Efficient Query Plans for Modern Hardware*, VLDB 2011): a scan becomes a region, and
//!    whatever consumes its rows is emitted inside it; pipeline breakers (sort, group, hash build) become
//!    collections filled by one region and read by the next.
//!
//! [`Lowerer`] is the workbench of one program: registers, the stack of blocks being filled,
//! constants (made once, at the program's start).

mod scope;
mod types;

pub use scope::{Found, Frame, ParamTypes, Scope, Typed, Variable};
pub use types::CastContext;

use crate::ast;
use planaria_base::{Datum, Error, ProcedureId, Result, Type};
use planaria_catalog::Catalog;
use planaria_ir::{Block, Label, Op, OpId, OpKind, Output, Program, ProgramKind, Reg};

/// The workbench of one program.
pub struct Lowerer<'c> {
    /// Definitions.
    pub catalog: &'c Catalog,
    /// The program so far; its body is put together by [`Lowerer::finish`].
    pub program: Program,
    /// Blocks being filled, outermost first.
    blocks: Vec<Vec<Op>>,
    /// Constants, at the start of the program.
    prologue: Vec<Op>,
    constants: Vec<(Datum, Type, Reg)>,
    /// Position given to operations emitted now.
    position: u32,
}

/// What the rows of a query are given to; called once, inside the innermost loop, with the output
/// columns in registers.
pub type Sink<'s> = dyn FnMut(&mut Lowerer<'_>, &[Typed]) -> Result<()> + 's;

/// A call of a procedure that was emitted.
#[derive(Clone, PartialEq, Debug)]
pub struct Called {
    /// Which one.
    pub procedure: ProcedureId,
    /// Its OUT and INOUT parameters in order: name, value, and the argument that stood in its place (`None`: left to its default).
    pub outs: Vec<(String, Typed, Option<ast::Expr>)>,
}

impl<'c> Lowerer<'c> {
    /// A workbench for an empty program.
    pub fn new(catalog: &'c Catalog, name: impl Into<String>, kind: ProgramKind) -> Lowerer<'c> {
        Lowerer {
            catalog,
            program: Program::new(name, kind),
            blocks: vec![Vec::new()],
            prologue: Vec::new(),
            constants: Vec::new(),
            position: 0,
        }
    }

    /// The program, its body put together and numbered.
    pub fn finish(mut self) -> Result<Program> {
        assert_eq!(self.blocks.len(), 1, "a block is still being filled");
        let mut ops = self.prologue;
        ops.append(&mut self.blocks[0]);
        self.program.body = Block(ops);
        self.program.renumber();
        Ok(self.program)
    }

    /// Appends an operation to the current block.
    pub fn emit(&mut self, kind: OpKind) {
        let op = Op { id: OpId(0), position: self.position, kind };
        self.blocks.last_mut().expect("there is always a block").push(op);
    }

    /// Fills a new block by `f`.
    pub fn block(&mut self, f: impl FnOnce(&mut Self) -> Result<()>) -> Result<Block> {
        self.blocks.push(Vec::new());
        let done = f(self);
        let ops = self.blocks.pop().expect("the block pushed above");
        done.map(|()| Block(ops))
    }

    /// Sets the source position of what is emitted next; returns the former.
    pub fn at(&mut self, position: u32) -> u32 {
        std::mem::replace(&mut self.position, position)
    }

    /// A constant of that type; one register for each value, set at the program's start. Never written again.
    pub fn constant(&mut self, value: Datum, ty: Type) -> Reg {
        if let Some((_, _, reg)) = self.constants.iter().find(|(v, t, _)| *v == value && *t == ty) {
            return *reg;
        }
        let reg = self.program.value(ty.clone());
        let op = OpKind::Const { dst: reg, value: value.clone() };
        self.prologue.push(Op { id: OpId(0), position: 0, kind: op });
        self.constants.push((value, ty, reg));
        reg
    }

    /// A new register.
    pub fn temp(&mut self, ty: Type) -> Reg {
        self.program.value(ty)
    }

    /// A new label.
    pub fn label(&mut self) -> Label {
        self.program.label()
    }

    /// Evaluates an expression outside of any FROM clause.
    pub fn expr(&mut self, scope: &Scope, expr: &ast::Expr) -> Result<Typed> {
        let _ = (scope, expr);
        Err(Error::internal("not lowered yet"))
    }

    /// The same, converted to a type.
    pub fn expr_as(
        &mut self,
        scope: &Scope,
        expr: &ast::Expr,
        ty: &Type,
        context: CastContext,
    ) -> Result<Reg> {
        let value = self.expr(scope, expr)?;
        self.cast(value, ty, context)
    }

    /// The same, into a given register of that type (a variable): `dst := expr`.
    pub fn expr_into(
        &mut self,
        scope: &Scope,
        expr: &ast::Expr,
        dst: Reg,
        context: CastContext,
    ) -> Result<()> {
        let ty =
            self.program.type_of(dst).cloned().ok_or_else(|| Error::internal("a row handle as target"))?;
        let src = self.expr_as(scope, expr, &ty, context)?;
        self.emit(OpKind::Copy { dst, src });
        Ok(())
    }

    /// A boolean for `If`.
    pub fn condition(&mut self, scope: &Scope, expr: &ast::Expr) -> Result<Reg> {
        self.expr_as(scope, expr, &Type::Bool, CastContext::Implicit)
    }

    /// Converts a value: the register itself where its type (with modifier) is that already.
    pub fn cast(&mut self, value: Typed, ty: &Type, context: CastContext) -> Result<Reg> {
        let _ = (value, ty, context);
        Err(Error::internal("not lowered yet"))
    }

    /// Columns of a query's answer, without emitting anything.
    pub fn describe(&mut self, scope: &Scope, query: &ast::Query) -> Result<Vec<Output>> {
        let _ = (scope, query);
        Err(Error::internal("not lowered yet"))
    }

    /// Emits a query; `sink` consumes its rows.
    pub fn query(&mut self, scope: &Scope, query: &ast::Query, sink: &mut Sink<'_>) -> Result<Vec<Output>> {
        let _ = (scope, query, sink);
        Err(Error::internal("not lowered yet"))
    }

    /// The same, when no more than `rows` rows are wanted (`SELECT INTO`: 1, STRICT: 2, EXISTS: 1):
    /// stops early.
    pub fn query_limited(
        &mut self,
        scope: &Scope,
        query: &ast::Query,
        rows: u32,
        sink: &mut Sink<'_>,
    ) -> Result<Vec<Output>> {
        let _ = rows;
        self.query(scope, query, sink)
    }

    /// Within a sink: whether the statement is known to give at most one row, so that counting them
    /// (`STRICT`) is needless.
    pub fn at_most_one_row(&self) -> bool {
        false
    }

    /// Emits an INSERT; `returning` consumes the rows of RETURNING. Answers with the row count (bigint).
    pub fn insert(&mut self, scope: &Scope, insert: &ast::Insert, returning: &mut Sink<'_>) -> Result<Reg> {
        let _ = (scope, insert, returning);
        Err(Error::internal("not lowered yet"))
    }

    /// Emits an UPDATE.
    pub fn update(&mut self, scope: &Scope, update: &ast::Update, returning: &mut Sink<'_>) -> Result<Reg> {
        let _ = (scope, update, returning);
        Err(Error::internal("not lowered yet"))
    }

    /// Emits a DELETE.
    pub fn delete(&mut self, scope: &Scope, delete: &ast::Delete, returning: &mut Sink<'_>) -> Result<Reg> {
        let _ = (scope, delete, returning);
        Err(Error::internal("not lowered yet"))
    }

    /// Columns of a statement's answer (a query's, or those of RETURNING), without emitting anything.
    pub fn describe_statement(&mut self, scope: &Scope, statement: &ast::Statement) -> Result<Vec<Output>> {
        let _ = (scope, statement);
        Err(Error::internal("not lowered yet"))
    }

    /// Emits a CALL: resolves the procedure, evaluates its arguments, calls it.
    pub fn call(&mut self, scope: &Scope, call: &ast::FunctionCall) -> Result<Called> {
        let _ = (scope, call);
        Err(Error::internal("not lowered yet"))
    }

    /// The type a name stands for: built-in, or 42704. Row types and `%TYPE` of columns are resolved
    /// too where they give one value's type.
    pub fn resolve_type(&self, name: &ast::TypeName) -> Result<Type> {
        types::resolve(self.catalog, name)
    }
}

/// Lowers a query, INSERT, UPDATE, DELETE or CALL to a program of kind `Statement` that emits its rows.
pub fn lower_statement(
    catalog: &Catalog,
    statement: &ast::Statement,
    params: &ParamTypes,
) -> Result<Program> {
    let _ = (catalog, statement, params);
    Err(Error::internal("not lowered yet"))
}

/// The plan of a statement, a line each, indented by depth.
pub fn explain(catalog: &Catalog, statement: &ast::Statement, params: &ParamTypes) -> Result<Vec<String>> {
    let _ = (catalog, statement, params);
    Err(Error::internal("not lowered yet"))
}
