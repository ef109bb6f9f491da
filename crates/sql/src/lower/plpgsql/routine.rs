//! Routines: parameters, answer, body; DO blocks; functions in SQL.

use super::cursor::Needs;
use super::raise::of_compilation;
use super::trigger::OfTrigger;
use super::{Answer, Body, by_steps};
use crate::lower::held::{Shape, of_parameter};
use crate::lower::polymorphic::assumed;
use crate::lower::record_calls::Inferring;
use crate::lower::{
    CastContext, Guard, Lowered, Lowerer, Runner, Scope, Typed, Variable, type_in_message as base_name,
};
use planaria_base::{Datum, Error, Result, SqlState, TableId, Type};
use planaria_catalog::{Catalog, Language, Mode, Procedure, Returns};
use planaria_ir::{OpKind, Output, Param, ParamMode, Program, ProgramKind, Reg, RegKind};
use planaria_syntax::ast::plpgsql::{PlBlock, Stmt, StmtKind};
use planaria_syntax::ast::{Query, QueryBody, Statement, StatementKind};
use planaria_syntax::parse;

/// Lowers a procedure or function. Positions are those of its body.
pub fn lower_procedure(catalog: &Catalog, procedure: &Procedure) -> Result<Program> {
    lower_procedure_rights(catalog, procedure, None).map(|l| l.program)
}

/// The same with what it needs rights for; guarded, if a guard is given.
pub fn lower_procedure_rights(
    catalog: &Catalog,
    procedure: &Procedure,
    guard: Option<Guard<'_>>,
) -> Result<Lowered> {
    lower_routine(catalog, procedure, false, guard)
}

fn lower_routine(
    catalog: &Catalog,
    procedure: &Procedure,
    checking: bool,
    guard: Option<Guard<'_>>,
) -> Result<Lowered> {
    if let Some(path) = catalog.own_path(procedure)
        && path != *catalog.path()
    {
        let catalog = catalog.along(&path);
        return needing(|needs| lower_once(&catalog, procedure, checking, guard, needs));
    }
    needing(|needs| lower_once(catalog, procedure, checking, guard, needs))
}

/// Lowers until what the cursors need is known; most bodies have none.
pub(super) fn needing(mut lower: impl FnMut(&mut Needs) -> Result<Lowered>) -> Result<Lowered> {
    let mut needs = Needs::default();
    loop {
        let before = needs.clone();
        let lowered = lower(&mut needs)?;
        if needs == before {
            return Ok(lowered);
        }
    }
}

fn lower_once(
    catalog: &Catalog,
    procedure: &Procedure,
    checking: bool,
    guard: Option<Guard<'_>>,
    needs: &mut Needs,
) -> Result<Lowered> {
    if procedure.aggregate.is_some() {
        let message = format!("\"{}\" is an aggregate function", procedure.name);
        return Err(Error::new(SqlState::WRONG_OBJECT_TYPE, message).with_hint("Use it in a query."));
    }
    let inferring = !needs.inferring.is_empty();
    if procedure.is_polymorphic() || procedure.needs_columns() && !checking && !inferring {
        let what = format!("a call of \"{}\" by its name alone", procedure.name);
        let hint = match procedure.is_polymorphic() {
            true => "Use a CALL or SELECT statement: its arguments say the polymorphic types.",
            false => "Use a SELECT statement, with a column definition list.",
        };
        return Err(Error::unsupported(format!("{what} is not supported"), hint));
    }
    let fired = catalog.trigger_of(procedure);
    if procedure.returns == Returns::Trigger && fired.is_none() && !checking {
        let message = "trigger functions can only be called as triggers";
        return Err(Error::new(SqlState::FEATURE_NOT_SUPPORTED, message));
    }
    let id = procedure.id;
    let procedure = fired.map_or(procedure, |(_, trigger, _)| catalog.procedure(trigger.function));
    let kind = match &procedure.returns {
        Returns::Procedure => ProgramKind::Procedure,
        _ if procedure.returns_set() => ProgramKind::SetFunction,
        _ => ProgramKind::Function,
    };
    let mut l = Lowerer::new(catalog, procedure.name.clone(), kind);
    l.reads_after = !procedure.reads_before;
    l.form = procedure.form;
    l.rows.former = l.reads_after;
    l.rows.checked = checking;
    needs.give_rows(&mut l.rows);
    l.inferring.clone_from(&needs.inferring);
    l.rights.guard = guard;
    l.rights.definer = procedure.security_definer.then_some(procedure.rights.owner);
    let mut scope = Scope::new();
    scope.push(Some(procedure.name.clone()));
    let mut outs = Vec::new();
    for (i, parameter) in procedure.parameters.iter().enumerate() {
        let name = if parameter.name.is_empty() { format!("${}", i + 1) } else { parameter.name.clone() };
        let reg = l.program.reg(RegKind::Value(parameter.ty.clone()), Some(name.clone()));
        let mode = match parameter.mode {
            Mode::In | Mode::Variadic => ParamMode::In,
            Mode::InOut => ParamMode::InOut,
            Mode::Out | Mode::Table => ParamMode::Out,
        };
        let ty = parameter.ty.clone();
        l.program.params.push(Param { name: name.clone(), ty: ty.clone(), mode, reg });
        l.declare_domain(reg, parameter.domain);
        let given = mode != ParamMode::In && procedure.language == Language::PlPgSql;
        let variable = match &ty {
            Type::Record(row) => {
                let id = of_parameter(i);
                if mode == ParamMode::Out {
                    l.set_row_flag(id, false);
                } else {
                    l.set_row_flag_by(id, reg);
                }
                match given {
                    true => l.given_row(reg, row, &name, mode == ParamMode::InOut, id),
                    false => {
                        let fields = l.unpacked(reg, row, Some(&name));
                        let table = row.of.as_ref().map(|of| of.table);
                        Variable::Row { fields, table, held: l.passed_row(), id }
                    }
                }
            }
            _ => Variable::Scalar(Typed { reg, ty: ty.clone() }),
        };
        // In SQL only what is passed has a name and a number.
        let known = mode != ParamMode::Out || procedure.language == Language::PlPgSql;
        if !parameter.name.is_empty() && known {
            scope.declare(name.clone(), variable.clone());
        }
        if parameter.mode != Mode::Table && known {
            scope.positional.push(variable);
        }
        if mode != ParamMode::In {
            outs.push((Output { name, ty }, reg));
        }
    }
    // What a polymorphic function answers with has a name: its type is asked for that way.
    let declared = catalog.procedure_if(procedure.instance_of.unwrap_or(procedure.id)).map(|p| &p.returns);
    if let (Some(Returns::Scalar(of)), Returns::Scalar(ty)) = (declared, &procedure.returns)
        && of.is_polymorphic()
        && outs.is_empty()
        && procedure.language == Language::PlPgSql
        && procedure.body.contains("$0")
    {
        let reg = l.program.reg(RegKind::Value(ty.clone()), None);
        l.emit(OpKind::Const { dst: reg, value: Datum::Null });
        scope.declare("$0", Variable::Scalar(Typed { reg, ty: ty.clone() }));
    }
    let answer = answer(catalog, &mut l, procedure, outs)?;
    if procedure.says_row() {
        let told = l.program.reg(RegKind::Value(Type::Bool), Some("(answered)".to_owned()));
        l.row_told = Some(told);
        l.tell_row(false);
    }
    let mut trigger = None;
    if procedure.returns == Returns::Trigger {
        match fired {
            Some((table, fired, event)) => {
                trigger = Some(super::trigger::declare(&mut l, &mut scope, table, fired, event)?);
            }
            None => super::trigger::declare_unknown(&mut l, &mut scope),
        }
    }
    let passed: Vec<Reg> =
        l.program.params.iter().filter(|p| p.mode != ParamMode::Out).map(|p| p.reg).collect();
    for reg in passed {
        l.check_assigned(reg)?;
    }
    if procedure.strict {
        let inputs: Vec<Reg> =
            l.program.params.iter().filter(|p| p.mode != ParamMode::Out).map(|p| p.reg).collect();
        for reg in inputs {
            let is_null = l.temp(Type::Bool);
            l.emit(OpKind::Apply { dst: is_null, func: planaria_ir::Func::IsNull, args: vec![reg] });
            l.begin_block();
            // What is passed and given is NULL, too.
            for dst in l.program.outs.clone() {
                l.emit(OpKind::Const { dst, value: Datum::Null });
            }
            l.emit(OpKind::Return);
            let then = l.end_block();
            l.emit(OpKind::If { cond: is_null, then, otherwise: Default::default() });
        }
    }
    match procedure.language {
        Language::PlPgSql => {
            let block = parse::plpgsql(&procedure.body)
                .map_err(|e| of_compilation(e, &procedure.name, &procedure.body))?;
            let any_structure = !inferring && by_steps::may_be_within(procedure);
            let moves = any_structure && by_steps::moves_path(catalog, procedure);
            let by_steps = checking
                && (by_steps::routine_goes_by_steps(procedure)
                    || procedure.returns == Returns::Trigger && moves);
            if needs.steps || moves && !checking {
                let words = if fired.is_some() { super::trigger::passed_words(&scope) } else { Vec::new() };
                super::step::carried_out(&mut l, id, &answer, words);
                tell(&mut l);
                return l.lowered();
            }
            let how = How { checking, by_steps, any_structure };
            lower_body(&mut l, scope, &procedure.name, answer, &block, how, trigger, needs)?;
        }
        Language::Sql => {
            let statements = parse::statements(&procedure.body)?;
            let declared = match checking || procedure.instance_of.is_some() {
                true => SqlAnswer::of(catalog, procedure, &l.program.outputs),
                false => None,
            };
            if procedure.standard.is_some() {
                l.look_from_home();
            }
            let mut body = body(&mut l, scope, &procedure.name, answer, false);
            body.declared = declared;
            let done = body.sql_statements(&statements);
            needs.note_rows(&body.l.rows);
            done?;
        }
    }
    needs.answered.clone_from(&l.answered);
    tell(&mut l);
    l.lowered()
}

/// Behind the columns stands whether there is a row, where the function says so.
fn tell(l: &mut Lowerer<'_>) {
    if let Some(told) = l.row_told {
        l.program.outs.push(told);
        l.program.outputs.push(Output { name: Program::ANSWERED.to_owned(), ty: Type::Bool });
    }
}

/// The structures of the rows that a routine returning `record` answers with, where its text says them; `within`: of which routines
/// that is being found out, it being the last.
pub(crate) fn answered(catalog: &Catalog, procedure: &Procedure, within: &Inferring) -> Result<Vec<Shape>> {
    let mut found = Vec::new();
    let mut lower = |catalog: &Catalog| {
        needing(|needs| {
            needs.inferring.clone_from(within);
            let lowered = lower_once(catalog, procedure, false, None, needs);
            found.clone_from(&needs.answered);
            lowered
        })
    };
    match catalog.own_path(procedure) {
        Some(path) if path != *catalog.path() => lower(&catalog.along(&path))?,
        _ => lower(catalog)?,
    };
    Ok(found)
}

/// Checks what CREATE checks of a routine. Of PL/pgSQL: its syntax, declarations, labels, targets,
/// forms of RETURN and RAISE, and whatever is not supported; tables, columns and functions that its
/// statements name may come later. Of SQL: everything.
pub fn check_routine(catalog: &Catalog, procedure: &Procedure) -> Result<()> {
    if procedure.is_polymorphic() {
        // What a statement in SQL means depends on the types.
        if procedure.language == Language::Sql {
            return parse::statements(&procedure.body).map(|_| ());
        }
        return lower_routine(catalog, &assumed(procedure)?, true, None).map(|_| ());
    }
    lower_routine(catalog, procedure, true, None).map(|_| ())
}

/// Lowers the body of a DO block.
pub fn lower_do(catalog: &Catalog, text: &str, runner: Runner, guard: Option<Guard<'_>>) -> Result<Lowered> {
    let block = parse::plpgsql(text).map_err(|e| of_compilation(e, "inline_code_block", text))?;
    needing(|needs| {
        let mut l = Lowerer::new(catalog, "inline_code_block", ProgramKind::Statement);
        l.rights.guard = guard;
        l.rights.runner = runner;
        needs.give_rows(&mut l.rows);
        let mut scope = Scope::new();
        scope.push(None);
        lower_body(&mut l, scope, "inline_code_block", Answer::Void, &block, How::default(), None, needs)?;
        l.lowered()
    })
}

/// Whether records of a DO block take rows of several structures by turns, or such of which nothing is known: no program can have
/// them, and the block is carried out by steps.
pub fn do_wants_steps(catalog: &Catalog, text: &str) -> bool {
    let Some(block) = by_steps::with_records(text) else { return false };
    let mut wants = false;
    let lowered = needing(|needs| {
        let mut l = Lowerer::new(catalog, "inline_code_block", ProgramKind::Statement);
        needs.give_rows(&mut l.rows);
        let mut scope = Scope::new();
        scope.push(None);
        let how = How { any_structure: true, ..How::default() };
        let done = lower_body(&mut l, scope, "inline_code_block", Answer::Void, &block, how, None, needs);
        wants |= needs.steps;
        done?;
        l.lowered()
    });
    lowered.is_ok() && wants
}

/// Columns of the answer; sets `outs` and `outputs` of the program.
pub(super) fn answer(
    catalog: &Catalog,
    l: &mut Lowerer<'_>,
    procedure: &Procedure,
    outs: Vec<(Output, Reg)>,
) -> Result<Answer> {
    let columns = |table: TableId| -> Vec<Output> {
        let table = catalog.table_by_id(table);
        table.visible().map(|(_, c)| Output { name: c.name.clone(), ty: c.ty.clone() }).collect()
    };
    let (outputs, regs): (Vec<Output>, Vec<Reg>) = outs.into_iter().unzip();
    let named = |ty: &Type| vec![Output { name: procedure.name.clone(), ty: ty.clone() }];
    Ok(match &procedure.returns {
        Returns::Trigger => Answer::Trigger,
        Returns::Procedure | Returns::OutRow => {
            l.program.outputs = outputs;
            l.program.outs = regs;
            Answer::Outs
        }
        Returns::Scalar(Type::Void) => {
            // A call stands where a value is expected: an empty one.
            let reg = l.program.value(Type::Void);
            l.program.outputs = named(&Type::Void);
            l.program.outs = vec![reg];
            Answer::Void
        }
        Returns::Scalar(ty) if regs.is_empty() => {
            let reg = l.program.value(ty.clone());
            l.declare_domain(reg, procedure.returns_domain);
            l.program.outputs = named(ty);
            l.program.outs = vec![reg];
            Answer::Value(reg)
        }
        Returns::Scalar(_) => {
            l.program.outputs = outputs;
            l.program.outs = regs;
            Answer::Outs
        }
        // The one parameter that it gives is the answer: its fields are.
        Returns::RowOf(table) if !l.row_outs.is_empty() => {
            l.program.outputs = columns(*table);
            l.program.outs = l.row_outs.pop().map(|(_, fields)| fields).unwrap_or_default();
            Answer::Outs
        }
        Returns::RowOf(table) => {
            let outputs = columns(*table);
            let row: Vec<Typed> = outputs
                .iter()
                .map(|o| Typed { reg: l.program.value(o.ty.clone()), ty: o.ty.clone() })
                .collect();
            for (t, (_, column)) in row.iter().zip(catalog.table_by_id(*table).visible()) {
                l.declare_domain(t.reg, column.domain);
            }
            l.program.outs = row.iter().map(|t| t.reg).collect();
            l.program.outputs = outputs;
            Answer::Row(row)
        }
        Returns::SetOf(ty) => {
            l.emitted_domains = match regs.is_empty() {
                true => vec![procedure.returns_domain],
                false => regs.iter().map(|reg| l.domain_of(*reg)).collect(),
            };
            let outputs = if regs.is_empty() { named(ty) } else { outputs };
            l.program.outputs = outputs.clone();
            Answer::Set(outputs, (!regs.is_empty()).then_some(regs))
        }
        Returns::SetOfTable(table) => {
            l.emitted_domains = catalog.table_by_id(*table).visible().map(|(_, c)| c.domain).collect();
            l.program.outputs = columns(*table);
            Answer::Set(columns(*table), l.row_outs.pop().map(|(_, fields)| fields))
        }
        Returns::Record { set, columns } if columns.is_empty() => Answer::Unknown(*set),
        Returns::Record { set, columns } => {
            let outputs: Vec<Output> =
                columns.iter().map(|(name, ty)| Output { name: name.clone(), ty: ty.clone() }).collect();
            l.program.outputs = outputs.clone();
            if *set {
                l.emitted_domains = vec![None; outputs.len()];
                return Ok(Answer::Set(outputs, None));
            }
            let row: Vec<Typed> = columns
                .iter()
                .map(|(_, ty)| Typed { reg: l.program.value(ty.clone()), ty: ty.clone() })
                .collect();
            l.program.outs = row.iter().map(|t| t.reg).collect();
            Answer::Record(row)
        }
        Returns::Table | Returns::SetOfOutRow => {
            l.emitted_domains = regs.iter().map(|reg| l.domain_of(*reg)).collect();
            l.program.outputs = outputs.clone();
            Answer::Set(outputs, Some(regs))
        }
    })
}

pub(super) fn body<'l, 'c>(
    l: &'l mut Lowerer<'c>,
    mut scope: Scope,
    name: &str,
    answer: Answer,
    counts: bool,
) -> Body<'l, 'c> {
    let found = l.program.reg(RegKind::Value(Type::Bool), Some("found".to_owned()));
    l.emit(OpKind::Const { dst: found, value: Datum::Bool(false) });
    scope.declare("found", Variable::Scalar(Typed { reg: found, ty: Type::Bool }));
    let row_count = counts.then(|| {
        let reg = l.program.reg(RegKind::Value(Type::Int8), Some("row_count".to_owned()));
        l.emit(OpKind::Const { dst: reg, value: Datum::Int(0) });
        reg
    });
    Body {
        l,
        scope,
        name: name.to_owned(),
        answer,
        found,
        row_count,
        regions: Vec::new(),
        handled: None,
        diagnosed: Vec::new(),
        constants: Vec::new(),
        not_null: Vec::new(),
        hidden: 0,
        loops: 0,
        shapes: Vec::new(),
        jumps: Vec::new(),
        checking: false,
        by_steps: false,
        any_structure: false,
        declared: None,
        trigger: None,
        cursors: Vec::new(),
        changing_loops: 0,
        needs: Needs::default(),
    }
}

/// How a body is lowered: see the fields of [`Body`].
#[derive(Clone, Copy, Default)]
struct How {
    checking: bool,
    by_steps: bool,
    any_structure: bool,
}

#[allow(clippy::too_many_arguments)]
fn lower_body(
    l: &mut Lowerer<'_>,
    scope: Scope,
    name: &str,
    answer: Answer,
    block: &PlBlock,
    how: How,
    trigger: Option<OfTrigger>,
    needs: &mut Needs,
) -> Result<()> {
    l.conflict = block.conflict;
    let mut body = body(l, scope, name, answer, asks_row_count(block));
    (body.checking, body.by_steps, body.any_structure) = (how.checking, how.by_steps, how.any_structure);
    body.trigger = trigger;
    body.needs = needs.clone();
    let done = body.block(block);
    let ops = body.l.blocks.last().cloned().unwrap_or_default();
    // Behind the body, in no statement of it. Which rows need a flag for it is one of the needs.
    body.l.at(u32::MAX);
    let given = body.give_outs();
    body.found_needs(&ops);
    body.needs.note_rows(&body.l.rows);
    if body.needs != *needs {
        *needs = std::mem::take(&mut body.needs);
        return Ok(());
    }
    done?;
    given?;
    if let (Answer::Trigger, false) = (&body.answer, ends_in_return(&block.body)) {
        body.fail(
            SqlState::FUNCTION_EXECUTED_NO_RETURN_STATEMENT,
            "control reached end of trigger procedure without RETURN",
            None,
        );
    }
    if let (Answer::Value(_) | Answer::Row(_) | Answer::Record(_), false) =
        (&body.answer, ends_in_return(&block.body))
    {
        body.fail(
            SqlState::FUNCTION_EXECUTED_NO_RETURN_STATEMENT,
            "control reached end of function without RETURN",
            None,
        );
    }
    Ok(())
}

fn ends_in_return(statements: &[Stmt]) -> bool {
    matches!(statements.last().map(|s| &s.kind), Some(StmtKind::Return(_)))
}

/// Whether the body asks for ROW_COUNT anywhere: then every statement keeps it.
fn asks_row_count(block: &PlBlock) -> bool {
    block.body.iter().any(asks) || block.handlers.iter().any(|h| h.body.iter().any(asks))
}

fn asks(statement: &Stmt) -> bool {
    let any = |list: &[Stmt]| list.iter().any(asks);
    match &statement.kind {
        StmtKind::GetDiagnostics { stacked: false, .. } => true,
        StmtKind::Block(block) => asks_row_count(block),
        StmtKind::If { branches, otherwise } => branches.iter().any(|(_, b)| any(b)) || any(otherwise),
        StmtKind::Case { whens, otherwise, .. } => {
            whens.iter().any(|(_, b)| any(b)) || otherwise.as_ref().is_some_and(|b| any(b))
        }
        StmtKind::Loop { body, .. }
        | StmtKind::While { body, .. }
        | StmtKind::ForRange { body, .. }
        | StmtKind::ForQuery { body, .. }
        | StmtKind::ForExecute { body, .. }
        | StmtKind::ForCursor { body, .. }
        | StmtKind::ForEach { body, .. } => any(body),
        _ => false,
    }
}

impl Body<'_, '_> {
    /// The statements of a function in SQL: the last one is the answer.
    fn sql_statements(&mut self, statements: &[Statement]) -> Result<()> {
        let last = statements.len().saturating_sub(1);
        for (i, statement) in statements.iter().enumerate() {
            self.l.at(statement.position);
            let outs = !self.l.program.outs.is_empty();
            let answers = match self.answer {
                Answer::Void => false,
                // A procedure may end in any statement; with parameters to give it ends in their values.
                Answer::Outs => outs && i == last,
                _ => i == last,
            };
            if answers {
                self.sql_answer(statement)?;
            } else {
                self.discard(statement)?;
            }
        }
        let declared = self.declared.as_ref();
        match &self.answer {
            Answer::Value(_) | Answer::Row(_) | Answer::Record(_) | Answer::Set(..) | Answer::Unknown(_)
                if statements.is_empty() =>
            {
                Err(no_answer(declared, &self.name))
            }
            Answer::Outs if statements.is_empty() && !self.l.program.outs.is_empty() => {
                Err(no_answer(declared, &self.name))
            }
            _ => Ok(()),
        }
    }

    /// Runs a statement for its effects.
    fn discard(&mut self, statement: &Statement) -> Result<()> {
        match &statement.kind {
            StatementKind::Query(query) => {
                self.l.query(&self.scope, query, &mut |_, _| Ok(()))?;
            }
            StatementKind::Insert(_)
            | StatementKind::Update(_)
            | StatementKind::Delete(_)
            | StatementKind::Merge(_) => {
                self.change(statement, &mut |_, _| Ok(()))?;
            }
            _ => self.sql(statement)?,
        }
        Ok(())
    }

    fn sql_answer(&mut self, statement: &Statement) -> Result<()> {
        let targets: Vec<Typed> = match &self.answer {
            Answer::Value(reg) => {
                let ty = self.l.program.type_of(*reg).cloned().unwrap_or(Type::Unknown);
                vec![Typed { reg: *reg, ty }]
            }
            Answer::Row(row) | Answer::Record(row) => row.clone(),
            Answer::Outs => {
                let outs = self.l.program.outs.iter().zip(&self.l.program.outputs);
                outs.map(|(reg, o)| Typed { reg: *reg, ty: o.ty.clone() }).collect()
            }
            Answer::Set(..) => Vec::new(),
            // What columns it has, the call says.
            Answer::Unknown(_) => match &statement.kind {
                StatementKind::Query(query) => {
                    let columns = self.l.query(&self.scope, query, &mut |_, _| Ok(()))?;
                    self.note_columns(&columns);
                    return Ok(());
                }
                _ => Vec::new(),
            },
            Answer::Void | Answer::Trigger => return self.discard(statement),
        };
        let StatementKind::Query(query) = &statement.kind else {
            return match &statement.kind {
                StatementKind::Insert(_) | StatementKind::Update(_) | StatementKind::Delete(_) => {
                    self.dml_answer(statement, &targets)
                }
                _ => Err(no_answer(self.declared.as_ref(), &self.name)),
            };
        };
        let declared = self.declared.clone();
        if let Answer::Set(outputs, _) = &self.answer {
            let outputs = outputs.clone();
            let name = self.name.clone();
            self.l.query(&self.scope, query, &mut |l, values| {
                SqlAnswer::check(declared.as_ref(), l, values)?;
                emit_as(l, &name, &outputs, values, CastContext::Assignment)
            })?;
            return Ok(());
        }
        let name = self.name.clone();
        if !matches!(self.answer, Answer::Outs) {
            self.l.query_limited(&self.scope, query, 1, &mut |l, values| {
                SqlAnswer::check(declared.as_ref(), l, values)?;
                into_as(l, &name, &targets, values)
            })?;
            return Ok(());
        }
        // An INOUT parameter has a value: without a row it becomes NULL.
        let got = self.l.temp(Type::Bool);
        self.l.emit(OpKind::Const { dst: got, value: Datum::Bool(false) });
        let yes = self.truth(true);
        self.l.query_limited(&self.scope, query, 1, &mut |l, values| {
            SqlAnswer::check(declared.as_ref(), l, values)?;
            l.emit(OpKind::Copy { dst: got, src: yes });
            into_as(l, &name, &targets, values)
        })?;
        self.unless(got, |s| {
            targets.iter().for_each(|t| s.null(t.reg));
            Ok(())
        })
    }

    fn dml_answer(&mut self, statement: &Statement, targets: &[Typed]) -> Result<()> {
        let name = self.name.clone();
        let outputs = match &self.answer {
            Answer::Set(outputs, _) => Some(outputs.clone()),
            _ => None,
        };
        let declared = self.declared.clone();
        let returning = match &statement.kind {
            StatementKind::Insert(s) => &s.returning,
            StatementKind::Update(s) => &s.returning,
            StatementKind::Delete(s) => &s.returning,
            _ => return Err(Error::internal("no change of rows")),
        };
        if returning.is_empty() && declared.is_some() {
            return Err(no_answer(declared.as_ref(), &name));
        }
        let unknown = matches!(self.answer, Answer::Unknown(_));
        if unknown && !self.l.inferring.is_empty() {
            let columns = self.l.describe_statement(&self.scope, statement)?;
            self.note_columns(&columns);
        }
        let mut sink = |l: &mut Lowerer<'_>, values: &[Typed]| {
            if unknown {
                return Ok(());
            }
            SqlAnswer::check(declared.as_ref(), l, values)?;
            match &outputs {
                Some(outputs) => emit_as(l, &name, outputs, values, CastContext::Assignment),
                None => into_as(l, &name, targets, values),
            }
        };
        match &statement.kind {
            StatementKind::Insert(s) => self.l.insert(&self.scope, s, &mut sink)?,
            StatementKind::Update(s) => self.l.update(&self.scope, s, &mut sink)?,
            StatementKind::Delete(s) => self.l.delete(&self.scope, s, &mut sink)?,
            _ => return Err(Error::internal("no change of rows")),
        };
        Ok(())
    }
}

/// What a function in SQL was declared to answer, against which its last statement is held.
#[derive(Clone)]
pub(super) struct SqlAnswer {
    name: String,
    /// The type that it returns, in words.
    returns: String,
    columns: Vec<Type>,
    /// It is no row.
    single: bool,
}

impl SqlAnswer {
    fn of(catalog: &Catalog, procedure: &Procedure, outputs: &[Output]) -> Option<SqlAnswer> {
        let columns: Vec<Type> = outputs.iter().map(|o| o.ty.clone()).collect();
        let (returns, single) = match (&procedure.returns, &columns[..]) {
            (Returns::Scalar(Type::Void) | Returns::SetOf(Type::Void) | Returns::Trigger, _) => return None,
            (Returns::Procedure, []) => return None,
            (Returns::Scalar(ty) | Returns::SetOf(ty), _) => (ty.to_string(), true),
            (Returns::Table, [one]) => (one.to_string(), true),
            (Returns::RowOf(table) | Returns::SetOfTable(table), _) => {
                (catalog.table_by_id(*table).name.clone(), false)
            }
            _ => ("record".to_owned(), false),
        };
        Some(SqlAnswer { name: procedure.name.clone(), returns, columns, single })
    }

    fn mismatch(&self, detail: impl Into<String>) -> Error {
        let message = format!("return type mismatch in function declared to return {}", self.returns);
        Error::new(SqlState::INVALID_FUNCTION_DEFINITION, message)
            .with_detail(detail)
            .context(format!("SQL function \"{}\"", self.name))
    }

    /// 42P13 for columns that an assignment would not make those that were declared.
    fn check(declared: Option<&SqlAnswer>, l: &mut Lowerer<'_>, values: &[Typed]) -> Result<()> {
        let Some(declared) = declared else { return Ok(()) };
        let wanted = declared.columns.len();
        let fields = if declared.single { None } else { l.spread_row(wanted, values) };
        let values = fields.as_deref().unwrap_or(values);
        match values.len() {
            n if declared.single && n != 1 => {
                return Err(declared.mismatch("Final statement must return exactly one column."));
            }
            n if n < wanted => {
                return Err(declared.mismatch("Final statement returns too few columns."));
            }
            n if n > wanted => {
                return Err(declared.mismatch("Final statement returns too many columns."));
            }
            _ => {}
        }
        for (at, (value, wanted)) in values.iter().zip(&declared.columns).enumerate() {
            let is = if value.ty == Type::Unknown { &Type::Text } else { &value.ty };
            if !l.castable(is, wanted, CastContext::Assignment) {
                let is = base_name(is);
                return Err(declared.mismatch(match declared.single {
                    true => format!("Actual return type is {is}."),
                    false => {
                        let wanted = base_name(wanted);
                        format!("Final statement returns {is} instead of {wanted} at column {}.", at + 1)
                    }
                }));
            }
        }
        Ok(())
    }
}

/// 42P13: the last statement of a function in SQL has no rows.
fn no_answer(declared: Option<&SqlAnswer>, name: &str) -> Error {
    let detail = "Function's final statement must be SELECT or INSERT/UPDATE/DELETE RETURNING.";
    match declared {
        Some(declared) => declared.mismatch(detail),
        None => {
            let message = format!("return type mismatch in function \"{name}\"");
            Error::new(SqlState::INVALID_FUNCTION_DEFINITION, message).with_detail(detail)
        }
    }
}

/// 42804: the columns of a query are not those of the answer.
fn structure(name: &str, wanted: usize, got: usize) -> Error {
    Error::new(SqlState::DATATYPE_MISMATCH, "structure of query does not match function result type").with_detail(
        format!("Number of returned columns ({got}) does not match expected column count ({wanted}) of \"{name}\"."),
    )
}

/// 42804 where values are not of the types of the answer's columns.
pub(super) fn same_columns(message: &str, wanted: &[&Type], values: &[Typed]) -> Result<()> {
    let wrong = |detail: String| Err(Error::new(SqlState::DATATYPE_MISMATCH, message).with_detail(detail));
    let got = values.len();
    if got != wanted.len() {
        let wanted = wanted.len();
        return wrong(format!(
            "Number of returned columns ({got}) does not match expected column count ({wanted})."
        ));
    }
    for (i, (wanted, value)) in wanted.iter().zip(values).enumerate() {
        let is = if value.ty == Type::Unknown { Type::Text } else { value.ty.clone() };
        // A parameter declared char(n) is kept as text.
        let same = is.base() == wanted.base() || matches!((&is, wanted), (Type::Char(_), Type::Text));
        if !same {
            return wrong(format!(
                "Returned type {is} does not match expected type {wanted} in column {}.",
                i + 1
            ));
        }
    }
    Ok(())
}

impl Body<'_, '_> {
    /// Raises what is wrong with the row that the function has returned: it is told of where that has ended.
    pub(super) fn returned_misfit(&mut self, row: &[Typed], values: &[Typed]) {
        let message = "returned record type does not match expected record type";
        let wanted: Vec<&Type> = row.iter().map(|t| &t.ty).collect();
        if let Err(error) = same_columns(message, &wanted, values) {
            self.l.at(super::CASTING);
            self.raise_found(&error);
        }
    }
}

/// Emits a query's row as the answer's columns, which it must be of: PL/pgSQL converts nothing here.
pub(super) fn emit_exactly(
    l: &mut Lowerer<'_>,
    outputs: &[Output],
    values: &[Typed],
    message: &str,
) -> Result<()> {
    let wanted: Vec<&Type> = outputs.iter().map(|o| &o.ty).collect();
    same_columns(message, &wanted, values)?;
    let mut row = Vec::new();
    for (output, value) in outputs.iter().zip(values) {
        row.push(l.cast(value.clone(), &output.ty, CastContext::Variable)?);
    }
    l.emit_row(row)
}

/// Emits a query's row, converted to the answer's columns.
pub(super) fn emit_as(
    l: &mut Lowerer<'_>,
    name: &str,
    outputs: &[Output],
    values: &[Typed],
    context: CastContext,
) -> Result<()> {
    let fields = l.spread_row(outputs.len(), values);
    let values = fields.as_deref().unwrap_or(values);
    if outputs.len() != values.len() {
        return Err(structure(name, outputs.len(), values.len()));
    }
    let mut row = Vec::new();
    for (output, value) in outputs.iter().zip(values) {
        row.push(l.cast(value.clone(), &output.ty, context)?);
    }
    l.emit_row(row)
}

fn into_as(l: &mut Lowerer<'_>, name: &str, targets: &[Typed], given: &[Typed]) -> Result<()> {
    let fields = l.spread_row(targets.len(), given);
    let values = fields.as_deref().unwrap_or(given);
    if targets.len() != values.len() {
        return Err(structure(name, targets.len(), values.len()));
    }
    for (target, value) in targets.iter().zip(values) {
        let src = l.cast(value.clone(), &target.ty, CastContext::Assignment)?;
        l.emit(OpKind::Copy { dst: target.reg, src });
        // Without a row the answer is NULL, whatever its domain says.
        l.check_assigned(target.reg)?;
    }
    match (&fields, given) {
        (Some(_), [whole]) => l.tell_row_by(whole.reg),
        _ => l.tell_row(true),
    }
    Ok(())
}

/// The query of a SELECT with its INTO taken out.
pub(super) fn without_into(query: &Query) -> Query {
    let mut query = query.clone();
    if let QueryBody::Select(select) = &mut query.body {
        select.into = None;
    }
    query
}
