//! Steps of a body that is carried out statement by statement: a program each, which takes the variables as parameters.

use super::block::registers;
use super::cursor::Needs;
use super::{Answer, Body};
use crate::lower::held::{Held, of_parameter};
use crate::lower::{Guard, Lowered, Lowerer, Runner, Scope, Typed, Variable};
use planaria_base::{Datum, Error, Result, Type};
use planaria_catalog::Catalog;
use planaria_ir::{OpKind, Output, Param, ParamMode, ProgramKind, Reg, RegKind};
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
                        Type::Record(row) => {
                            let fields = l.unpacked(reg, row, Some(&known.name));
                            let table = row.of.as_ref().map(|of| of.table);
                            l.set_row_flag_by(id, reg);
                            // Between steps a record without a row has one of NULLs.
                            let held = if table.is_some() { Held::Unsure } else { Held::Row };
                            Variable::Row { fields, table, held, id }
                        }
                        _ => Variable::Scalar(Typed { reg, ty: ty.clone() }),
                    }
                }
            };
            if known.constant {
                constants.extend(registers(&variable));
            }
            if known.not_null {
                not_null.extend(registers(&variable).into_iter().map(|reg| (reg, known.name.clone())));
            }
            scope.declare(known.name.clone(), variable);
        }
    }
    let (found, row_count) = (parameter(l, "found", &Type::Bool), parameter(l, "row_count", &Type::Int8));
    l.conflict = step.conflict;
    let mut body = super::routine::body(l, scope, "inline_code_block", Answer::Void, true);
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
                if registers(&variable).iter().any(|reg| self.l.domain_of(*reg).is_some()) {
                    return Err(Error::unsupported(
                        "variables of domains are not supported in a body that changes the schema or reads records of EXECUTE",
                        "Do that in a block of its own.",
                    ));
                }
                let value = self.whole(&variable)?;
                self.answer_row(vec![(declaration.name.clone(), value)]);
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
