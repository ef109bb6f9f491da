//! What is kept of statements and calls: analysed, and compiled under one schema version.

use crate::engine::schema_version::SchemaVersion;
use crate::engine::table_locks::Touches;
use crate::row::{Column, Columns};
use crate::session::cache::Cache;
use crate::session::user::stamp;
use crate::system::{NamedInfo, NamedStatements};
use planaria_base::sync::Mutex;
use planaria_base::{Datum, Error, ProcedureId, Result, RoleId, SqlState, Type};
use planaria_exec::Code;
use planaria_ir::{OpKind, Program};
use planaria_sql::lower::{self, ParamTypes, PlanNode, Runner};
use planaria_syntax::ast::{self, Statement};
use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Texts a session keeps analysed.
const STATEMENTS_KEPT: usize = 512;

/// Statements a session has seen, by text, and those it named with PREPARE.
pub(crate) struct StatementCache {
    by_text: Cache<Arc<PreparedStatement>>,
    /// Texts with parameters in place of constants that are not to be run so, and the catalog version of which that is
    /// known.
    particular: Cache<u64>,
    pub(crate) named: HashMap<String, Named>,
}

impl Default for StatementCache {
    fn default() -> StatementCache {
        StatementCache {
            by_text: Cache::new(STATEMENTS_KEPT),
            particular: Cache::new(STATEMENTS_KEPT),
            named: HashMap::new(),
        }
    }
}

/// A statement that the session has a name for.
pub(crate) struct Named {
    pub(crate) statement: Arc<PreparedStatement>,
    /// When it got the name: microseconds since 2000-01-01 UTC.
    pub(crate) since: i64,
    /// By PREPARE; else by a message.
    pub(crate) by_sql: bool,
}

impl NamedStatements for HashMap<String, Named> {
    fn each(&self, f: &mut dyn FnMut(NamedInfo<'_>)) {
        for (name, Named { statement, since, by_sql }) in self {
            let (text, parameters) = (&statement.text, &statement.parameters);
            f(NamedInfo { name, text, parameters, since: *since, by_sql: *by_sql });
        }
    }
}

impl StatementCache {
    /// Exchanges what is a client's for another client's: texts mean the same to all.
    pub(crate) fn exchange(&mut self, other: &mut HashMap<String, Named>) {
        let StatementCache { named, by_text: _, particular: _ } = self;
        std::mem::swap(named, other);
    }

    pub(crate) fn keep(&mut self, text: &str, statement: &Arc<PreparedStatement>) {
        self.by_text.keep(text, statement.clone());
    }

    pub(crate) fn find(&self, text: &str) -> Option<&Arc<PreparedStatement>> {
        self.by_text.find(text)
    }

    pub(crate) fn keep_particular(&mut self, text: &str, version: u64) {
        self.particular.keep(text, version);
    }

    pub(crate) fn particular(&self, text: &str) -> Option<u64> {
        self.particular.find(text).copied()
    }
}

/// A statement, analysed: what its parameters and columns are.
pub(crate) struct PreparedStatement {
    pub(crate) text: Arc<str>,
    pub(crate) statement: Statement,
    pub(crate) parameters: Arc<[Type]>,
    /// Which of them were declared; the others have their types from where they stand.
    pub(crate) declared: Vec<Option<Type>>,
    /// Those that PREPARE declared with domains, by the names: what EXECUTE gives must meet their conditions.
    pub(crate) domains: Vec<Option<ast::TypeName>>,
    pub(crate) columns: Columns,
    /// It was [detached](SchemaVersion::is_detached) when it was analysed.
    pub(crate) detached: bool,
    /// It is nothing but the call of a routine that is carried out [by steps](crate::session::steps).
    pub(crate) by_steps: bool,
    /// For COPY: then the statement is the INSERT of a row, or the query whose rows go out.
    pub(crate) copy: Option<Box<ast::copy::Copy>>,
    /// Its code under the catalog version, and for the role, that it was last run under.
    pub(crate) compiled: Mutex<Option<(u64, Arc<Compiled>)>>,
}

/// A call's target under one catalog version.
pub(crate) struct Resolved {
    /// The catalog version and the role: see [`stamp`].
    pub(crate) stamp: u64,
    pub(crate) id: ProcedureId,
    /// The role may not run all of it: it asks.
    pub(crate) guarded: bool,
    pub(crate) parameters: Arc<[Type]>,
    /// Of each parameter, which of the arguments and, behind them, the defaults it is; `None`: these in their order.
    pub(crate) order: Option<Box<[usize]>>,
    pub(crate) defaults: Defaults,
    pub(crate) columns: Columns,
}

/// The number of the next prepared call.
pub(crate) fn next_number() -> u64 {
    static NEXT: AtomicU64 = AtomicU64::new(1);
    NEXT.fetch_add(1, Ordering::Relaxed)
}

/// Calls that a session remembers, by their numbers.
const KNOWN_CALLS: usize = 16;

/// What calls came to that the session has run, so that the next one touches no count that sessions share.
#[derive(Default)]
pub(crate) struct KnownCalls([(u64, Option<Arc<Resolved>>); KNOWN_CALLS]);

impl KnownCalls {
    /// Takes out what a call came to, until it is [put back](Self::put).
    #[inline]
    pub(crate) fn take(&mut self, call: u64) -> Option<Arc<Resolved>> {
        let (number, resolved) = &mut self.0[call as usize % KNOWN_CALLS];
        if *number == call { resolved.take() } else { None }
    }

    #[inline]
    pub(crate) fn put(&mut self, call: u64, resolved: Arc<Resolved>) {
        self.0[call as usize % KNOWN_CALLS] = (call, Some(resolved));
    }
}

/// Defaults of the parameters that a call leaves out.
pub(crate) enum Defaults {
    /// The same in each call.
    Values(Vec<Datum>),
    /// Computed in each call, before it.
    Computed { code: Box<Code>, only_reads: bool, touches: Arc<Touches> },
}

impl PreparedStatement {
    /// Its code for a schema version, compiled anew if the schema has changed.
    pub(crate) fn compiled(&self, schema: &SchemaVersion, role: RoleId) -> Result<Arc<Compiled>> {
        let mut kept = self.compiled.lock();
        let stamp = stamp(schema.version(), role);
        if let Some((under, compiled)) = &*kept
            && *under == stamp
        {
            return Ok(compiled.clone());
        }
        let types = ParamTypes(self.parameters.iter().cloned().map(Some).collect());
        let (program, compiled) = Compiled::new(schema, role, &self.statement, &types)?;
        let same = program.outputs.len() == self.columns.len()
            && program.outputs.iter().zip(&*self.columns).all(|(o, c)| o.ty == c.ty);
        if !same {
            return Err(Error::new(
                SqlState::FEATURE_NOT_SUPPORTED,
                "cached plan must not change result type",
            )
            .with_hint("Prepare the statement again."));
        }
        *kept = Some((stamp, compiled.clone()));
        Ok(compiled)
    }
}

/// A statement's code under one catalog version.
pub(crate) struct Compiled {
    pub(crate) code: Code,
    /// It only reads.
    pub(crate) pure: bool,
    /// It claims rows.
    pub(crate) claims: bool,
    /// What it does to tables.
    pub(crate) touches: Arc<Touches>,
    /// See [`SchemaVersion::is_detached`].
    pub(crate) detached: bool,
    /// For a statement that is one call of a routine that writes and is logged as a call.
    pub(crate) call: Option<SoleCall>,
    /// For a statement that is one call of a routine that is carried out by steps.
    pub(crate) by_steps: Option<SoleCall>,
}

pub(crate) struct SoleCall {
    pub(crate) routine: ProcedureId,
    /// Types of the routine's arguments.
    pub(crate) types: Arc<[Type]>,
    /// Computes them.
    pub(crate) arguments: Code,
    /// Computing them changes nothing.
    pub(crate) pure: bool,
    /// Which of the statement's parameters they are, where they are nothing else: then the statement is
    /// the call, and nothing is to be computed first.
    pub(crate) passed_on: Option<Box<[usize]>>,
}

impl Compiled {
    /// Compiles a statement for a role; 42501 where that may not run it.
    pub(crate) fn new(
        schema: &SchemaVersion,
        role: RoleId,
        statement: &Statement,
        types: &ParamTypes,
    ) -> Result<(Program, Arc<Compiled>)> {
        let (program, code, guarded) = schema.compile_for(role, statement, types)?;
        let compiled = Compiled::of(schema, statement, &program, code, guarded)?;
        Ok((program, Arc::new(compiled)))
    }

    /// The same of a statement that answers with what the nodes of its plan come to.
    pub(crate) fn counting(
        schema: &SchemaVersion,
        role: RoleId,
        prepared: &PreparedStatement,
    ) -> Result<(Arc<Compiled>, Columns, Vec<PlanNode>)> {
        let types = ParamTypes(prepared.parameters.iter().cloned().map(Some).collect());
        let mut plan = Vec::new();
        let (program, code, guarded) = schema.compile_lowered(role, &prepared.statement, &mut |guard| {
            let (catalog, runner) = (&schema.catalog, Runner::Role(role));
            let (lowered, nodes) =
                lower::lower_counting(catalog, &prepared.statement, &types, runner, guard)?;
            plan = nodes;
            Ok(lowered)
        })?;
        let column =
            |o: &planaria_ir::Output| Column { name: o.name.clone(), ty: o.ty.clone(), origin: None };
        let columns = program.outputs.iter().map(column).collect();
        let compiled = Compiled::of(schema, &prepared.statement, &program, code, guarded)?;
        Ok((Arc::new(compiled), columns, plan))
    }

    fn of(
        schema: &SchemaVersion,
        statement: &Statement,
        program: &Program,
        code: Code,
        guarded: bool,
    ) -> Result<Compiled> {
        let (pure, claims) = (schema.only_reads(program), schema.claims(program));
        let detached = pure && SchemaVersion::is_detached(program);
        let touches = schema.touches_of_statement(statement, program);
        let sole = |(arguments, routine): (Program, ProcedureId)| {
            let types: Arc<[Type]> =
                schema.catalog.procedure(routine).inputs().map(|p| p.ty.clone()).collect();
            let passed_on = passed_on(&arguments, &types);
            let pure = schema.only_reads(&arguments);
            let arguments = schema.compile(&arguments, None)?;
            Ok::<_, Error>(SoleCall { routine, passed_on, arguments, pure, types })
        };
        let goes = |id: ProcedureId| schema.goes_by_steps(id);
        let by_steps =
            sole_call(program, &goes).or_else(|| sole_set(program, &goes)).map(sole).transpose()?;
        let writes = |id: ProcedureId| schema.routine(id).is_ok_and(|r| !r.logging.is_read_only());
        let is_command = |id: ProcedureId| schema.routine(id).is_ok_and(|r| r.logging.is_command());
        let call = match guarded {
            false => sole_call(program, &writes).filter(|(_, id)| is_command(*id)).map(sole).transpose()?,
            true => None,
        };
        Ok(Compiled { code, pure, claims, touches, detached, call, by_steps })
    }
}

/// If a program does nothing but answer with some of its parameters, of these types: which.
fn passed_on(arguments: &Program, types: &[Type]) -> Option<Box<[usize]>> {
    let [op] = arguments.body.0.as_slice() else { return None };
    let OpKind::Emit { values } = &op.kind else { return None };
    let of = |(reg, ty): (&planaria_ir::Reg, &Type)| {
        arguments.params.iter().position(|p| p.reg == *reg && p.ty == *ty)
    };
    values.iter().zip(types).map(of).collect()
}

/// If the program does nothing but compute arguments, call one routine that writes with them, and
/// answer with what the routine answers: the part before the call, answering the arguments.
fn sole_call(program: &Program, writes: &dyn Fn(ProcedureId) -> bool) -> Option<(Program, ProcedureId)> {
    let ops = &program.body.0;
    let at =
        ops.iter().position(|op| matches!(&op.kind, OpKind::Call { procedure, .. } if writes(*procedure)))?;
    let OpKind::Call { procedure, args, outs } = &ops[at].kind else { return None };
    let harmless = ops.iter().enumerate().filter(|(i, _)| *i != at).all(|(i, op)| match &op.kind {
        OpKind::Const { .. } | OpKind::Copy { .. } | OpKind::Apply { .. } | OpKind::Return => true,
        OpKind::Emit { values } => i > at && values == outs,
        kind => i < at && computes(kind, writes),
    });
    if !harmless {
        return None;
    }
    Some((arguments_of(program, at, args)?, *procedure))
}

/// Whether an operation before a call only computes what is passed; `not` says which routines are none to do that.
fn computes(kind: &OpKind, not: &dyn Fn(ProcedureId) -> bool) -> bool {
    match kind {
        OpKind::Const { .. } | OpKind::Copy { .. } | OpKind::Apply { .. } => true,
        OpKind::Cast { .. } | OpKind::Draw { .. } => true,
        OpKind::Call { procedure, .. } => !not(*procedure),
        OpKind::If { then, otherwise, .. } => {
            then.0.iter().chain(&otherwise.0).all(|op| computes(&op.kind, not))
        }
        _ => false,
    }
}

/// The same of a program that answers with all the rows of a set, as they are.
fn sole_set(program: &Program, goes: &dyn Fn(ProcedureId) -> bool) -> Option<(Program, ProcedureId)> {
    let ops = &program.body.0;
    let wanted =
        |op: &planaria_ir::Op| matches!(&op.kind, OpKind::CallSet { procedure, .. } if goes(*procedure));
    let at = ops.iter().position(wanted)?;
    let OpKind::CallSet { procedure, args, into } = &ops[at].kind else { return None };
    let gives_all = |coll: &planaria_ir::Coll, row: &[planaria_ir::Reg], body: &planaria_ir::Block| {
        let mut emits = 0;
        let others = body.0.iter().all(|op| match &op.kind {
            OpKind::Emit { values } => {
                emits += 1;
                values == row
            }
            // Rows are counted.
            OpKind::Apply { .. } | OpKind::Const { .. } | OpKind::Copy { .. } => true,
            _ => false,
        });
        others && emits == 1 && coll == into
    };
    let harmless = ops.iter().enumerate().filter(|(i, _)| *i != at).all(|(i, op)| match &op.kind {
        OpKind::Const { .. } | OpKind::Copy { .. } | OpKind::Apply { .. } | OpKind::Return => true,
        OpKind::Clear { .. } => i < at,
        OpKind::ForEach { coll, columns, entry: None, body, .. } => i > at && gives_all(coll, columns, body),
        kind => i < at && computes(kind, goes),
    });
    if !harmless {
        return None;
    }
    Some((arguments_of(program, at, args)?, *procedure))
}

/// The part of a program before a call, answering with its arguments.
fn arguments_of(program: &Program, at: usize, args: &[planaria_ir::Reg]) -> Option<Program> {
    let ops = &program.body.0;
    let mut arguments = program.clone();
    arguments.body.0.truncate(at);
    let position = ops[at].position;
    let emit = OpKind::Emit { values: args.to_vec() };
    arguments.body.0.push(planaria_ir::Op { id: planaria_ir::OpId(0), position, kind: emit });
    arguments.outputs = args
        .iter()
        .map(|r| Some(planaria_ir::Output { name: String::new(), ty: program.type_of(*r)?.clone() }))
        .collect::<Option<_>>()?;
    arguments.row_count = None;
    arguments.renumber();
    Some(arguments)
}
