//! Whole statements as programs; CALL; EXPLAIN.

use super::explain::{Explains, PlanNode};
use super::names::Names;
use super::{Called, Guard, Lowered, Lowerer, ParamTypes, Runner, Scope, Typed};
use planaria_base::text_io::{quote_ident, quote_literal};
use planaria_base::{Datum, Error, Result, RoleId, SqlState, Type};
use planaria_catalog::{Catalog, Mode};
use planaria_ir::{OpKind, Output, Param, ParamMode, Program, ProgramKind, Reg, RegKind};
use planaria_syntax::ast::{FunctionCall, Statement, StatementKind};

/// Lowers a query, INSERT, UPDATE, DELETE, MERGE, CALL or DO to a program of kind `Statement` that emits its rows. It is the
/// engine's own: no policy binds it.
pub fn lower_statement(catalog: &Catalog, statement: &Statement, params: &ParamTypes) -> Result<Program> {
    lower_statement_rights(catalog, statement, params, Runner::Engine, None).map(|l| l.program)
}

/// The same for who is to run it, with what it needs rights for; guarded, if a guard is given.
pub fn lower_statement_rights(
    catalog: &Catalog,
    statement: &Statement,
    params: &ParamTypes,
    runner: Runner,
    guard: Option<Guard<'_>>,
) -> Result<Lowered> {
    if let StatementKind::Do { body, body_position, language } = &statement.kind {
        return lower_do(catalog, body, *body_position, language.as_deref(), runner, guard);
    }
    if let StatementKind::Step(step) = &statement.kind {
        return super::plpgsql::lower_step(catalog, step, runner, guard);
    }
    lower(catalog, statement, params, runner, guard, Explains::default(), false)?.lowered()
}

/// The same of one that is part of a change of the schema, for this role.
pub fn lower_logged(catalog: &Catalog, statement: &Statement, role: RoleId) -> Result<Lowered> {
    let (params, runner) = (ParamTypes::default(), Runner::Role(role));
    lower(catalog, statement, &params, runner, None, Explains::default(), true)?.lowered()
}

/// SHOW as a query.
pub fn shown(statement: &Statement) -> Result<Option<Statement>> {
    let StatementKind::Show(name) = &statement.kind else { return Ok(None) };
    let query = if name.eq_ignore_ascii_case("all") {
        "SELECT name, setting, short_desc AS description FROM pg_catalog.pg_settings ORDER BY name".to_owned()
    } else if name.eq_ignore_ascii_case("recovery") {
        return Ok(None);
    } else {
        // Its column is called as the setting is.
        let (setting, column) = (quote_literal(name), quote_ident(name));
        format!("SELECT pg_catalog.current_setting({setting}) AS {column}")
    };
    Ok(planaria_syntax::parse::statements(&query)?.pop())
}

/// 0A000 of a language that no DO block is in.
pub fn check_language(language: Option<&str>) -> Result<()> {
    let Some(language) = language.filter(|l| *l != "plpgsql") else { return Ok(()) };
    let message = format!("language \"{language}\" does not support inline code execution");
    Err(Error::new(SqlState::FEATURE_NOT_SUPPORTED, message).with_hint("Use LANGUAGE plpgsql."))
}

/// A DO block; positions in its body become those of the text around it.
fn lower_do(
    catalog: &Catalog,
    body: &str,
    position: u32,
    language: Option<&str>,
    runner: Runner,
    guard: Option<Guard<'_>>,
) -> Result<Lowered> {
    check_language(language)?;
    super::plpgsql::lower_do(catalog, body, runner, guard).map_err(|mut error| {
        if let Some(inside) = &mut error.fields_mut().position {
            *inside += position;
        }
        error
    })
}

/// The same of a query or a statement that changes rows: a program that answers, instead of with rows, with one row of
/// how many each node of its plan gave, and how often that was begun ([`PlanNode::actual`]).
pub fn lower_counting(
    catalog: &Catalog,
    statement: &Statement,
    params: &ParamTypes,
    runner: Runner,
    guard: Option<Guard<'_>>,
) -> Result<(Lowered, Vec<PlanNode>)> {
    let mut lowerer = lower(catalog, statement, params, runner, guard, Explains::counting(), false)?;
    lowerer.program.row_count = None;
    lowerer.answer_counters();
    let plan = lowerer.plan();
    Ok((lowerer.lowered()?, plan))
}

pub(super) fn lower<'c>(
    catalog: &'c Catalog,
    statement: &Statement,
    params: &ParamTypes,
    runner: Runner,
    guard: Option<Guard<'c>>,
    explains: Explains,
    is_logged: bool,
) -> Result<Lowerer<'c>> {
    let (statement, tables) = match &statement.kind {
        StatementKind::Among(inner, tables) => (&**inner, &tables[..]),
        _ => (statement, &[][..]),
    };
    let counts = explains.counts();
    let mut l = Lowerer::new(catalog, "statement", ProgramKind::Statement);
    l.explains = explains;
    l.is_logged = is_logged;
    l.rights.guard = guard;
    l.rights.runner = runner;
    l.params_open = true;
    for ty in &params.0 {
        let param = ty.as_ref().filter(|ty| **ty != Type::Unknown).map(|ty| {
            let ty = super::types::unmodified(ty);
            Typed { reg: l.temp(ty.clone()), ty }
        });
        l.params.push(param);
    }
    l.at(statement.position);
    let first = l.params.len().saturating_sub(tables.len());
    for (name, rows) in tables.iter().zip(l.params.split_off(first)) {
        if let (Some(name), Some(rows)) = (name, &rows) {
            l.declare_rows(name, rows.reg, &rows.ty)?;
        }
        l.params.push(rows);
    }
    let scope = Scope::new();
    let is_query = matches!(statement.kind, StatementKind::Query(_));
    // RETURNING and queries emit their rows.
    let mut emit = |l: &mut Lowerer<'_>, row: &[Typed]| {
        if counts {
            if !is_query {
                l.returned();
            }
            return Ok(());
        }
        let values: Vec<Reg> = row.iter().map(|t| l.exactly(t.reg, &t.ty)).collect();
        l.emit(OpKind::Emit { values });
        Ok(())
    };
    match &statement.kind {
        StatementKind::Query(query) => {
            l.program.outputs = l.query(&scope, query, &mut emit)?;
        }
        StatementKind::Insert(insert) => {
            l.program.outputs = l.describe_statement(&scope, statement)?;
            l.program.row_count = Some(l.insert(&scope, insert, &mut emit)?);
        }
        StatementKind::Update(update) => {
            l.program.outputs = l.describe_statement(&scope, statement)?;
            l.program.row_count = Some(l.update(&scope, update, &mut emit)?);
        }
        StatementKind::Delete(delete) => {
            l.program.outputs = l.describe_statement(&scope, statement)?;
            l.program.row_count = Some(l.delete(&scope, delete, &mut emit)?);
        }
        StatementKind::Merge(merge) => {
            l.program.row_count = Some(l.merge(&scope, merge)?);
        }
        StatementKind::Call { call, position } => {
            l.at(*position);
            let called = l.call(&scope, call)?;
            l.note(&format!("Call {}", catalog.procedure(called.procedure).name));
            l.program.outputs = called
                .outs
                .iter()
                .map(|(name, value, _)| Output { name: name.clone(), ty: value.ty.clone() })
                .collect();
            if !called.outs.is_empty() {
                let values = called.outs.iter().map(|(_, value, _)| value.reg).collect();
                l.emit(OpKind::Emit { values });
            }
        }
        StatementKind::Notify { channel, payload } => l.emit_notify(channel, payload),
        StatementKind::Set { name, value, local } => l.emit_set(name, value.as_deref(), *local)?,
        StatementKind::Truncate { names, restart_identity, cascade, locked } => {
            l.statement(|l| l.emit_truncate(names, *restart_identity, *cascade, *locked))?;
        }
        StatementKind::FireCopyTriggers { table, which } => {
            l.statement(|l| l.emit_copy_triggers(table, *which))?;
        }
        _ => return Err(Error::internal("this statement is not lowered to a program")),
    }
    for (i, param) in l.params.iter().enumerate() {
        let Some(Typed { reg, ty }) = param else { return Err(super::emit_expr::undetermined(i)) };
        let name = format!("${}", i + 1);
        l.program.regs[reg.index()].name = Some(name.clone());
        l.program.params.push(Param { name, ty: ty.clone(), mode: ParamMode::In, reg: *reg });
    }
    Ok(l)
}

impl Lowerer<'_> {
    /// NOTIFY
    pub(super) fn emit_notify(&mut self, channel: &str, payload: &str) {
        let mut text = |s: &str| self.constant(Datum::Text(s.to_owned()), Type::Text);
        let (channel, payload) = (text(channel), text(payload));
        self.emit(OpKind::Notify { channel, payload });
    }

    /// Emits a CALL: resolves the procedure, evaluates its arguments, calls it.
    pub fn call(&mut self, scope: &Scope, call: &FunctionCall) -> Result<Called> {
        self.statement(|l| l.emit_procedure_call(scope, call))
    }

    fn emit_procedure_call(&mut self, scope: &Scope, call: &FunctionCall) -> Result<Called> {
        let names = Names::of(scope);
        let name = self.meant(&call.name)?;
        let position = call.name.position;
        let mut args = Vec::with_capacity(call.args.len());
        for arg in &call.args {
            args.push(self.outside("CALL arguments", |l| l.bind(&names, &arg.value))?);
        }
        let types: Vec<Type> = args.iter().map(|a| a.ty.clone()).collect();
        let Some((procedure, given)) = self.find_routine(name, call, &args, true, position)? else {
            let shown = |(arg, ty): (&planaria_syntax::ast::Argument, &Type)| {
                let named = arg.name.as_ref().map_or(String::new(), |name| format!("{name} => "));
                named + &super::operators::base_name(ty)
            };
            let types: Vec<String> = call.args.iter().zip(&types).map(shown).collect();
            let message = format!("procedure {name}({}) does not exist", types.join(", "));
            return Err(Error::new(SqlState::UNDEFINED_FUNCTION, message).at(position).with_hint(
                "No procedure matches the given name and argument types. You might need to add explicit type casts.",
            ));
        };
        let definition = self.catalog.procedure(procedure);
        // Which argument stands for which parameter, before they are taken.
        let places: Vec<Option<usize>> = given
            .iter()
            .map(|g| match g {
                super::bind_call::Given::Argument(i) => Some(*i),
                _ => None,
            })
            .collect();
        let mut values = self.routine_args(procedure, given, args, position)?;
        let mut regs = Vec::with_capacity(values.len());
        for value in &mut values {
            self.count(value);
            regs.push(self.exact(value)?);
        }
        let mut outs = Vec::new();
        let columns = self.result_columns(definition);
        let mut columns = columns.into_iter();
        for (parameter, place) in definition.parameters.iter().filter(|p| p.mode != Mode::Table).zip(places) {
            if !matches!(parameter.mode, Mode::Out | Mode::InOut) {
                continue;
            }
            let Some((name, ty)) = columns.next() else { break };
            let reg = self.program.reg(RegKind::Value(ty.clone()), None);
            outs.push((name, Typed { reg, ty }, place.map(|i| call.args[i].value.clone())));
        }
        let registers = outs.iter().map(|(_, t, _)| t.reg).collect();
        self.at(position);
        self.emit(OpKind::Call { procedure, args: regs, outs: registers });
        Ok(Called { procedure, outs })
    }
}
