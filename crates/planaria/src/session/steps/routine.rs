//! Routines that are carried out statement by statement, where their call is all that a statement does: `CALL p(..)`,
//! `SELECT f(..)`, and in a body that is carried out so itself `PERFORM f(..)`.
//!
//! The arguments are computed by a program, the body is carried out as that of a DO block is, with the parameters as variables
//! around it, and a last step answers with what the routine returns.

use super::ground::Ground;
use super::{ATTEMPTS_MAX, Frame, Gives, Steps, Variable, hidden};
use crate::engine::program::refusal::read_only;
use crate::params::Params;
use crate::row::Row;
use crate::session::core::{Block, SessionCore};
use crate::session::prepared::PreparedStatement;
use crate::sink::{RowRef, RowSink, reborrow};
use planaria_base::{Datum, Error, Isolation, Result, SqlState, Type, stack};
use planaria_catalog::{Mode, Procedure, Returns};
use planaria_sql::lower::ParamTypes;
use planaria_sql::lower::plpgsql::do_wants_steps;
use planaria_syntax::ast::plpgsql::{Step, StepFrame, StepKind, StepVariable};
use planaria_syntax::ast::{
    self, Argument, Expr, ExprKind, FunctionCall, Position, Query, QueryBody, Select, SelectItem, Statement,
    StatementKind, Transaction,
};
use planaria_syntax::parse;

impl SessionCore {
    /// Whether a call may mean a routine that is carried out by steps, by its name.
    pub(super) fn may_go_by_steps(&mut self, call: &FunctionCall) -> bool {
        self.schema().may_go_by_steps(&call.name)
    }

    /// Whether a statement is a DO block that calls such a routine so.
    pub(crate) fn calls_by_steps(&mut self, statement: &Statement) -> bool {
        let StatementKind::Do { body, .. } = &statement.kind else { return false };
        let schema = self.schema();
        schema.calls_by_steps(body) || do_wants_steps(&schema.catalog, body)
    }

    /// Runs a statement that is nothing but such a call. Answers with the number of rows returned.
    pub(crate) fn call_by_steps(
        &mut self,
        prepared: &PreparedStatement,
        params: &dyn Params,
        mut sink: Option<&mut dyn RowSink>,
    ) -> Result<u64> {
        stack::check()?;
        if let StatementKind::Do { body, body_position, .. } = &prepared.statement.kind {
            let done = self.do_by_steps(body, *body_position)?;
            self.notices = done.notices;
            self.rows.clear();
            return Ok(0);
        }
        let own = matches!(self.block, Block::None);
        let mut attempts = 0;
        loop {
            if own {
                let begins = Transaction::Begin { read_only: None, isolation: Some(Isolation::Serializable) };
                self.transaction_control(&begins)?;
                if let Some(sink) = &mut sink {
                    sink.restart();
                }
            }
            let (mut notices, mut ended) = (Vec::new(), false);
            let outcome =
                self.steps_of_call(prepared, params, reborrow(&mut sink), &mut notices, (own, &mut ended));
            let outcome = outcome.and_then(|count| {
                // What COMMIT runs itself answers with nothing.
                let rows = std::mem::take(&mut self.rows);
                if own {
                    self.transaction_control(&Transaction::Commit)?;
                }
                self.rows = rows;
                Ok(count)
            });
            let error = match outcome {
                Ok(count) => {
                    self.notices.splice(0..0, notices);
                    return Ok(count);
                }
                Err(error) => error,
            };
            if own && !matches!(self.block, Block::None) {
                self.transaction_control(&Transaction::Rollback)?;
            }
            attempts += 1;
            if own && !ended && error.is_conflict() && attempts < ATTEMPTS_MAX {
                continue;
            }
            // What was said before it failed is heard all the same.
            self.notices.splice(0..0, notices);
            return Err(error);
        }
    }

    fn steps_of_call(
        &mut self,
        prepared: &PreparedStatement,
        params: &dyn Params,
        sink: Option<&mut dyn RowSink>,
        notices: &mut Vec<crate::notice::Notice>,
        (own, ended): (bool, &mut bool),
    ) -> Result<u64> {
        self.notices.clear();
        self.rows.clear();
        self.sunk = 0;
        self.catch_up()?;
        let schema = self.schema();
        let compiled = prepared.compiled(&schema, self.user.current())?;
        let Some(call) = &compiled.by_steps else {
            let message = "the routine that the statement calls has changed";
            return Err(Error::new(SqlState::FEATURE_NOT_SUPPORTED, message)
                .with_hint("Prepare the statement again."));
        };
        if self.read_only && self.reading.is_none() && !call.pure {
            return Err(read_only("SELECT"));
        }
        let columns = self.no_columns.clone();
        self.in_block(|s| {
            s.touch(&compiled.touches)?;
            s.run_to(&schema, &call.arguments, &prepared.parameters, &columns, params, false, None)
        })?;
        notices.append(&mut self.notices);
        let arguments = self.rows.pop().map(|row| row.values).unwrap_or_default();
        let routine = schema.catalog.procedure(call.routine).clone();
        let title = schema.title(schema.catalog.behind(call.routine));
        drop(schema);
        let body = routine.body.clone();
        let block = parse::plpgsql(&body)?;
        let mut steps = Steps::new(Ground::Session(self, Vec::new()), &body, &title, &block);
        let is_procedure = matches!(routine.returns, Returns::Procedure);
        steps.ends = (own && is_procedure).then_some(0);
        let outcome = steps.routine(&routine, &block, arguments);
        *ended = steps.has_ended();
        let outcome = outcome.and_then(|values| match routine.returns_set() {
            true => steps.give_rows(prepared, sink),
            false => steps.answer(values, prepared, sink),
        });
        notices.append(&mut steps.notices);
        outcome.map_err(|mut error| {
            // It stands in the routine's text, not in the statement's.
            if error.fields().query.is_none() {
                error.fields_mut().position = None;
            }
            error
        })
    }
}

/// A parameter that a call answers with: its name, and its place.
struct Given {
    name: String,
    at: usize,
}

impl Steps<'_> {
    /// Carries a routine out; answers with what it returns. Rows of a set have been given by then.
    pub(super) fn routine(
        &mut self,
        routine: &Procedure,
        block: &ast::plpgsql::PlBlock,
        arguments: Vec<Datum>,
    ) -> Result<Vec<(Type, Datum)>> {
        let mut arguments = arguments.into_iter();
        let mut variables: Vec<Variable> = Vec::new();
        let mut any_null = false;
        for (i, parameter) in routine.parameters.iter().enumerate() {
            let passed = matches!(parameter.mode, Mode::In | Mode::InOut | Mode::Variadic);
            let value = match passed {
                true => arguments.next().ok_or_else(|| Error::internal("a call without its arguments"))?,
                false => Datum::Null,
            };
            any_null |= passed && value == Datum::Null;
            let name = match parameter.name.is_empty() {
                true => format!("${}", i + 1),
                false => parameter.name.clone(),
            };
            variables.push(hidden(&name, parameter.ty.clone(), value));
        }
        self.parameters = routine.parameters.iter().filter(|p| p.mode != Mode::Table).count();
        let is_out = |mode: Mode| matches!(mode, Mode::Out | Mode::InOut);
        let outs = routine.parameters.iter().any(|p| is_out(p.mode));
        self.gives = match &routine.returns {
            Returns::Scalar(ty) if !outs && *ty != Type::Void => Gives::Value(ty.clone()),
            Returns::RowOf(_) | Returns::Record { set: false, .. } => Gives::Row(routine.id),
            _ if routine.returns_set() => Gives::Set(routine.id),
            _ => Gives::Outs,
        };
        self.tells_row = routine.says_row();
        self.frames.push(Frame { label: Some(routine.name.clone()), variables });
        if !(routine.strict && any_null) {
            self.block(block)?;
            if matches!(self.gives, Gives::Value(_) | Gives::Row(_)) && self.returned.is_none() {
                let message = "control reached end of function without RETURN";
                let error = Error::new(SqlState::FUNCTION_EXECUTED_NO_RETURN_STATEMENT, message);
                return Err(error.context(format!("PL/pgSQL function {}", self.title)));
            }
        }
        match &self.gives {
            Gives::Value(ty) => {
                let value = self.returned.take().and_then(|row| row.into_iter().next());
                return Ok(vec![(ty.clone(), value.unwrap_or(Datum::Null))]);
            }
            Gives::Row(_) => {
                let row = self.returned.take().unwrap_or_default();
                return Ok(row.into_iter().map(|value| (Type::Void, value)).collect());
            }
            Gives::Set(_) => return Ok(Vec::new()),
            Gives::Outs | Gives::Before(_) | Gives::Nothing => {}
        }
        if matches!(routine.returns, Returns::Scalar(Type::Void)) {
            return Ok(vec![(Type::Void, Datum::Null)]);
        }
        let frame = self.frames.pop().ok_or_else(|| Error::internal("a routine without its parameters"))?;
        let values = routine.parameters.iter().zip(frame.variables);
        Ok(values.filter(|(p, _)| is_out(p.mode)).map(|(p, v)| (p.ty.clone(), v.value)).collect())
    }

    /// The last step: the row that the statement answers with, to whoever takes its rows.
    fn answer(
        &mut self,
        values: Vec<(Type, Datum)>,
        prepared: &PreparedStatement,
        mut sink: Option<&mut dyn RowSink>,
    ) -> Result<u64> {
        if prepared.columns.is_empty() {
            return Ok(0);
        }
        let (mut variables, mut passed) = (Vec::new(), Vec::new());
        for (i, (ty, value)) in values.into_iter().enumerate() {
            let ty = (ty != Type::Void).then_some(ty);
            if ty.is_some() {
                passed.push(value);
            }
            let name = format!("({i})");
            variables.push(StepVariable {
                name,
                ty,
                constant: false,
                not_null: false,
                domain: None,
                as_value: false,
            });
        }
        passed.extend([Datum::Bool(self.found), Datum::Int(self.row_count)]);
        let step = Step {
            body: self.body.clone(),
            title: self.title.clone(),
            conflict: self.conflict,
            frames: vec![StepFrame { label: None, variables }],
            parameters: 0,
            tables: Vec::new(),
            kind: StepKind::Row,
        };
        let statement = Statement { kind: StatementKind::Step(Box::new(step)), position: 0, end: 0 };
        let session = self.ground.session()?;
        let last = session.analyse_declared(statement, &self.body, ParamTypes::default())?;
        session.notices.clear();
        session.rows.clear();
        let schema = session.schema();
        let compiled = last.compiled(&schema, session.user.current())?;
        session.in_block(|s| {
            let (types, columns) = (&last.parameters, &prepared.columns);
            s.run_to(&schema, &compiled.code, types, columns, &passed, false, reborrow(&mut sink))
        })?;
        Ok(session.rows.len() as u64 + session.sunk)
    }

    /// The rows that the statement answers with.
    fn give_rows(&mut self, prepared: &PreparedStatement, mut sink: Option<&mut dyn RowSink>) -> Result<u64> {
        let rows = self.ground.take_rows();
        let count = rows.len() as u64;
        let session = self.ground.session()?;
        session.rows.clear();
        for row in rows {
            let heap = session.machine.heap_mut();
            let Some(sink) = &mut sink else {
                session.rows.push(Row::of(&prepared.columns, row, heap));
                continue;
            };
            heap.clear();
            let slots = row.iter().map(|value| heap.push_datum(value)).collect::<Result<Vec<_>>>()?;
            let named = row.iter().enumerate().filter_map(|(at, value)| match value {
                Datum::Reg(oid, name) => Some((at, *oid, name.clone())),
                _ => None,
            });
            let names: Vec<(usize, u32, String)> = named.collect();
            session.sunk += 1;
            sink.row(RowRef::with_names(&slots, heap, &names))?;
        }
        Ok(count)
    }

    /// PERFORM of nothing but a call that may have to be carried out by steps.
    pub(super) fn perform(&mut self, call: &FunctionCall, at: Position) -> Result<()> {
        let (call, types, values) = self.passed(call)?;
        let position = call.name.position;
        let item = SelectItem { expr: Expr { position, kind: ExprKind::Call(Box::new(call)) }, alias: None };
        let select = Select { items: vec![item], ..Default::default() };
        let query = Query::new(QueryBody::Select(Box::new(select)), position);
        let kind = StatementKind::Query(Box::new(query));
        let (rows, _) = self.run_call(Statement { kind, position, end: position }, types, values, at)?;
        (self.found, self.row_count) = (rows > 0, rows as i64);
        Ok(())
    }

    /// CALL of what may have to be carried out by steps.
    pub(super) fn call(&mut self, sql: &Statement, call: &FunctionCall, at: Position) -> Result<()> {
        let (passed, types, values) = self.passed(call)?;
        let mut statement = sql.clone();
        if let StatementKind::Call { call: there, .. } = &mut statement.kind {
            *there = passed;
        }
        let (_, answered) = self.run_call(statement, types, values, at)?;
        for (parameter, value) in answered {
            let named = call.args.iter().find(|a| a.name.as_ref() == Some(&parameter.name));
            let argument = named.or(call.args.get(parameter.at).filter(|a| a.name.is_none()));
            let Some(Argument { value: target, .. }) = argument else { continue };
            match target.kind {
                ExprKind::Null => {}
                ExprKind::Column(_) => {
                    self.assign_values(std::slice::from_ref(target), &[value], at)?;
                }
                _ => {
                    let message = format!(
                        "procedure parameter \"{}\" is an output parameter but corresponding argument is not writable",
                        parameter.name
                    );
                    return Err(self.placed(Error::new(SqlState::SYNTAX_ERROR, message), at));
                }
            }
        }
        Ok(())
    }

    /// A call with parameters in the place of its arguments, but for literals, whose types are not known yet.
    fn passed(&mut self, call: &FunctionCall) -> Result<(FunctionCall, Vec<Option<Type>>, Vec<Datum>)> {
        let mut call = call.clone();
        let (mut types, mut values) = (Vec::new(), Vec::new());
        for Argument { value: argument, .. } in &mut call.args {
            if matches!(argument.kind, ExprKind::String(_) | ExprKind::Null) {
                continue;
            }
            let (ty, value) = self.step(StepKind::Value(argument.clone()))?.only()?;
            types.push(Some(ty));
            values.push(value);
            argument.kind = ExprKind::Parameter(values.len() as u32);
        }
        Ok((call, types, values))
    }

    fn run_call(
        &mut self,
        statement: Statement,
        types: Vec<Option<Type>>,
        values: Vec<Datum>,
        at: Position,
    ) -> Result<(u64, Vec<(Given, (Type, Datum))>)> {
        let is_call = matches!(statement.kind, StatementKind::Call { .. });
        let body = self.body.clone();
        let outcome = (|| {
            let session = self.ground.session()?;
            let prepared = session.analyse_declared(statement, &body, ParamTypes(types))?;
            let mut given = Vec::new();
            if is_call && !prepared.columns.is_empty() {
                let schema = session.schema();
                let compiled = prepared.compiled(&schema, session.user.current())?;
                let Some(call) = &compiled.by_steps else {
                    let what = "a CALL with INOUT parameters of a procedure that shares its name with one that changes the schema, within a body, is not supported";
                    return Err(Error::unsupported(what, "Rename one of them."));
                };
                let parameters = schema.catalog.procedure(call.routine).parameters.iter().enumerate();
                let outs = parameters.filter(|(_, p)| matches!(p.mode, Mode::Out | Mode::InOut));
                given.extend(outs.map(|(at, p)| Given { name: p.name.clone(), at }));
            }
            let count = session.start_program(&prepared, &values, None);
            let row = session.rows.pop().map(|row| row.values).unwrap_or_default();
            session.rows.clear();
            self.notices.append(&mut session.notices);
            let types = prepared.columns.iter().map(|c| c.ty.clone());
            Ok((count?, given.into_iter().zip(types.zip(row)).collect()))
        })();
        outcome.map_err(|mut error| {
            if error.fields().query.is_none() {
                error.fields_mut().position = None;
            }
            self.placed_at(error, at)
        })
    }
}
