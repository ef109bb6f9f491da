//! Steps of a body that is carried out statement by statement: a program each, which takes the variables as parameters.

use super::block::registers;
use super::cursor::Needs;
use super::{Answer, Body};
use crate::lower::held::{Held, of_parameter};
use crate::lower::types::CastContext;
use crate::lower::{Guard, Lowered, Lowerer, Runner, Scope, Typed, Variable};
use planaria_base::{Datum, Error, ProcedureId, Result, Type, TypeId};
use planaria_catalog::{Catalog, Mode};
use planaria_ir::{CollDecl, CollKind, OpKind, Output, Param, ParamMode, ProgramKind, Reg, RegKind, Run};
use planaria_syntax::ast::plpgsql::{Step, StepKind};

/// Lowers a step. Its parameters are the variables that have a type, from outer to inner, then FOUND and ROW_COUNT.
pub fn lower_step(
    catalog: &Catalog,
    step: &Step,
    runner: Runner,
    guard: Option<Guard<'_>>,
) -> Result<Lowered> {
    super::routine::needing(|needs| {
        let mut l = Lowerer::new(catalog, "inline_code_block", ProgramKind::Statement);
        l.rights.guard = guard;
        l.rights.runner = runner;
        lower_once(&mut l, step, needs)?;
        l.lowered()
    })
}

fn lower_once(l: &mut Lowerer<'_>, step: &Step, needs: &mut Needs) -> Result<()> {
    let (mut scope, mut constants, mut not_null) = (Scope::new(), Vec::new(), Vec::new());
    needs.give_rows(&mut l.rows);
    let mut count = 0;
    for frame in &step.frames {
        scope.push(frame.label.clone());
        for known in &frame.variables {
            count += 1;
            let id = of_parameter(count);
            let variable = match &known.ty {
                None => Variable::Unassigned { id },
                Some(ty) => {
                    let reg = parameter(l, &known.name, ty);
                    match ty {
                        Type::Record(row) if !known.as_value => {
                            let fields = l.unpacked(reg, row, Some(&known.name));
                            let table = row.of.as_ref().map(|of| of.table);
                            let columns = table.map(|table| l.catalog.table_by_id(table));
                            for (column, (_, field)) in
                                columns.iter().flat_map(|table| table.visible()).zip(&fields)
                            {
                                l.declare_domain(field.reg, column.1.domain);
                            }
                            l.set_row_flag_by(id, reg);
                            // Between steps a record without a row has one of NULLs.
                            let held = if table.is_some() { Held::Unsure } else { Held::Row };
                            Variable::Row { fields, table, held, id }
                        }
                        _ => {
                            l.declare_domain(reg, known.domain);
                            Variable::Scalar(Typed { reg, ty: ty.clone() })
                        }
                    }
                }
            };
            if known.constant {
                constants.extend(registers(&variable));
            }
            if known.not_null {
                not_null.extend(registers(&variable).into_iter().map(|reg| (reg, known.name.clone())));
            }
            if count <= step.parameters {
                scope.positional.push(variable.clone());
            }
            scope.declare(known.name.clone(), variable);
        }
    }
    let (found, row_count) = (parameter(l, "found", &Type::Bool), parameter(l, "row_count", &Type::Int8));
    for (name, ty) in &step.tables {
        let rows = parameter(l, name, ty);
        l.declare_rows(name, rows, ty)?;
    }
    l.conflict = step.conflict;
    let answer = match &step.kind {
        StepKind::Rows(_, routine) => answer_of(l, &scope, *routine)?,
        _ => Answer::Void,
    };
    let mut body = super::routine::body(l, scope, "inline_code_block", answer, true);
    body.by_steps = true;
    body.constants = constants;
    body.not_null = not_null;
    body.needs = needs.clone();
    body.copy(body.found, found);
    body.set_row_count(row_count);
    let done = body.step(&step.kind, [found, row_count]);
    let ops = body.l.blocks.last().cloned().unwrap_or_default();
    body.found_needs(&ops);
    body.needs.note_rows(&body.l.rows);
    if body.needs != *needs {
        *needs = std::mem::take(&mut body.needs);
        return Ok(());
    }
    done
}

/// What the rows are that a step answers with.
fn answer_of(l: &mut Lowerer<'_>, scope: &Scope, routine: ProcedureId) -> Result<Answer> {
    let catalog = l.catalog;
    let routine = catalog.procedure(routine);
    let mut outs = Vec::new();
    for parameter in routine.parameters.iter().filter(|p| !matches!(p.mode, Mode::In | Mode::Variadic)) {
        if let Some(Variable::Scalar(value)) = scope.variable(&parameter.name) {
            outs.push((Output { name: parameter.name.clone(), ty: value.ty.clone() }, value.reg));
        }
    }
    let answer = super::routine::answer(catalog, l, routine, outs)?;
    l.program.outs.clear();
    // A row is given as the only one of a set is.
    Ok(match answer {
        Answer::Row(_) | Answer::Record(_) => {
            let outputs = l.program.outputs.clone();
            l.emitted_domains = vec![None; outputs.len()];
            Answer::Set(outputs, None)
        }
        other => other,
    })
}

/// The program of a routine whose records take rows of which nothing is known: the engine carries it out by steps.
/// `words`: what it is passed behind its parameters.
pub(super) fn carried_out(l: &mut Lowerer<'_>, routine: ProcedureId, answer: &Answer, words: Vec<Reg>) {
    let params = l.program.params.iter().filter(|p| p.mode != ParamMode::Out);
    let passed: Vec<Reg> = params.map(|p| p.reg).chain(words).collect();
    let text = l.constant(Datum::Null, Type::Text);
    let row_count = l.temp(Type::Int8);
    let (columns, to): (Vec<Type>, Option<Vec<Reg>>) = match answer {
        Answer::Set(outputs, _) => (outputs.iter().map(|o| o.ty.clone()).collect(), None),
        Answer::Void => (Vec::new(), Some(Vec::new())),
        _ => {
            let mut outs = l.program.outs.clone();
            let mut columns: Vec<Type> = l.program.outputs.iter().map(|o| o.ty.clone()).collect();
            outs.extend(l.row_told);
            columns.extend(l.row_told.map(|_| Type::Bool));
            (columns, Some(outs))
        }
    };
    let run = Run::Steps(routine);
    if columns.is_empty() {
        l.emit(OpKind::Execute { text, args: passed, rows: None, row_count, run });
        return;
    }
    let values = columns.iter().cloned().map(RegKind::Value).collect();
    let coll = l.program.coll(CollDecl { kind: CollKind::List, keys: Vec::new(), values });
    l.emit(OpKind::Clear { coll });
    l.emit(OpKind::Execute { text, args: passed, rows: Some(coll), row_count, run });
    let row: Vec<Reg> = columns.iter().map(|ty| l.temp(ty.clone())).collect();
    let label = l.label();
    l.begin_block();
    match to {
        None => l.emit(OpKind::Emit { values: row.clone() }),
        Some(to) => {
            for (dst, src) in to.into_iter().zip(&row) {
                l.emit(OpKind::Copy { dst, src: *src });
            }
            l.emit(OpKind::Exit { label });
        }
    }
    let body = l.end_block();
    l.emit(OpKind::ForEach { coll, columns: row, entry: None, label, body });
}

fn parameter(l: &mut Lowerer<'_>, name: &str, ty: &Type) -> Reg {
    let reg = l.program.reg(RegKind::Value(ty.clone()), Some(name.to_owned()));
    l.program.params.push(Param { name: name.to_owned(), ty: ty.clone(), mode: ParamMode::In, reg });
    reg
}

impl Body<'_, '_> {
    fn step(&mut self, kind: &StepKind, [_, row_count]: [Reg; 2]) -> Result<()> {
        match kind {
            StepKind::Statement(statement) => {
                self.statements(std::slice::from_ref(statement))?;
                let variables: Vec<(String, Variable)> =
                    self.scope.frames().iter().flat_map(|f| f.variables.iter().cloned()).collect();
                let mut values = Vec::with_capacity(variables.len() + 2);
                let is_found = |v: &Variable| matches!(v, Variable::Scalar(value) if value.reg == self.found);
                let variables: Vec<_> = variables.into_iter().filter(|(_, v)| !is_found(v)).collect();
                for (name, variable) in &variables {
                    values.push((name.clone(), self.whole(variable)?));
                }
                values.push(("found".to_owned(), Typed { reg: self.found, ty: Type::Bool }));
                let count = self.row_count.unwrap_or(row_count);
                values.push(("row_count".to_owned(), Typed { reg: count, ty: Type::Int8 }));
                self.answer_row(values);
                Ok(())
            }
            StepKind::Declare(declaration) => {
                self.declaration(declaration)?;
                let found = self.scope.variable(&declaration.name).cloned();
                let variable = found.ok_or_else(|| Error::internal("a declaration that declares nothing"))?;
                let domain = match &variable {
                    Variable::Scalar(value) => self.l.domain_of(value.reg),
                    _ => None,
                };
                let value = self.whole(&variable)?;
                let mut answer = vec![(declaration.name.clone(), value)];
                if let Some(TypeId(id)) = domain {
                    answer
                        .push(("domain".to_owned(), Typed { reg: self.int8(i64::from(id)), ty: Type::Int8 }));
                }
                self.answer_row(answer);
                Ok(())
            }
            StepKind::Query(query) => {
                let columns = self.l.query_stable(&self.scope, query, &mut |l, values| {
                    let values = values.iter().map(|value| value.reg).collect();
                    l.emit(OpKind::Emit { values });
                    Ok(())
                })?;
                self.l.program.outputs = super::statement::settled(&columns);
                Ok(())
            }
            StepKind::Change(statement) => {
                let described = self.l.describe_statement(&self.scope, statement)?;
                let columns = super::statement::settled(&described);
                self.change(statement, &mut |l, values| {
                    let mut row = Vec::new();
                    for (value, column) in values.iter().zip(&columns) {
                        row.push(l.cast(value.clone(), &column.ty, CastContext::Implicit)?);
                    }
                    l.emit(OpKind::Emit { values: row });
                    Ok(())
                })?;
                self.l.program.outputs = columns;
                Ok(())
            }
            StepKind::Row => {
                let frames = self.scope.frames().iter().flat_map(|f| f.variables.iter().cloned());
                let is_found = |v: &Variable| matches!(v, Variable::Scalar(value) if value.reg == self.found);
                let variables: Vec<(String, Variable)> = frames.filter(|(_, v)| !is_found(v)).collect();
                let mut values = Vec::with_capacity(variables.len());
                for (name, variable) in &variables {
                    values.push((name.clone(), self.whole(variable)?));
                }
                self.answer_row(values);
                Ok(())
            }
            StepKind::Rows(statement, _) => self.statements(std::slice::from_ref(statement)),
            StepKind::Value(expr) => {
                let value = self.l.expr(&self.scope, expr)?;
                let ty = if value.ty == Type::Unknown { Type::Text } else { value.ty };
                self.answer_row(vec![("value".to_owned(), Typed { reg: value.reg, ty })]);
                Ok(())
            }
        }
    }

    /// A variable's value; NULL of type `void` for a record without a structure.
    fn whole(&mut self, variable: &Variable) -> Result<Typed> {
        match variable {
            Variable::Scalar(value) => Ok(value.clone()),
            Variable::Unassigned { .. } => {
                Ok(Typed { reg: self.l.constant(Datum::Null, Type::Void), ty: Type::Void })
            }
            Variable::Row { .. } => {
                let position = self.l.position;
                let bound = self.l.variable_value(variable, position)?;
                let reg = self.l.value(&bound)?;
                Ok(Typed { reg, ty: bound.ty })
            }
        }
    }

    fn answer_row(&mut self, values: Vec<(String, Typed)>) {
        let regs = values.iter().map(|(_, value)| value.reg).collect();
        self.l.emit(OpKind::Emit { values: regs });
        self.l.program.outputs =
            values.into_iter().map(|(name, value)| Output { name, ty: value.ty }).collect();
    }
}
