//! Aggregates that users made ([`planaria_catalog::AggregateOf`]).
//!
//! ```text
//!  sum_of(x)      state := initial
//!                 for each row: state := transition(state, x)
//!                 last(state)
//! ```
//!
//! A strict transition function is not called for a row with a NULL among its arguments; with no initial state the first
//! row that has none gives its argument as the state. The functions are called as if they stood there, in a scope whose
//! parameters are the state and the arguments.

use super::Lowerer;
use super::bound::{Aggregate, Bound};
use super::chosen::Sought;
use super::emit_group::State;
use super::names::Names;
use super::scope::{Scope, Typed, Variable};
use super::types::{CastContext, same_base};
use planaria_base::text_io::{quote_ident, quote_literal};
use planaria_base::{Datum, Error, ProcedureId, Result, SqlState, Type};
use planaria_catalog::{
    AggregateOf, Catalog, Columns, Mode, Object, Privileges, Procedure, Requirement, Returns,
    SupportFunction, Wanted, support_expression,
};
use planaria_ir::{Func, OpKind, ProgramKind, Reg, RegKind};
use planaria_syntax::ast::FunctionCall;

/// A function's call, for the parameters of the scope.
fn call_text(catalog: &Catalog, function: &SupportFunction, arguments: usize) -> String {
    let mut arguments: Vec<String> = (1..=arguments).map(|n| format!("${n}")).collect();
    // It gets the array, not its elements.
    let variadic = |p: &Procedure| p.parameters.iter().any(|q| q.mode == Mode::Variadic);
    if let Some(last) = arguments.last_mut().filter(|_| function.routine(catalog).is_some_and(variadic)) {
        last.insert_str(0, "VARIADIC ");
    }
    let schema = match function.schema {
        Some(schema) => catalog.schema_name(schema),
        None => match support_expression(function.oid) {
            Some(expression) => return expression.to_owned(),
            None => "pg_catalog",
        },
    };
    format!("{}.{}({})", quote_ident(schema), quote_ident(&function.name), arguments.join(", "))
}

/// What a function of an aggregate answers with for such arguments.
pub(crate) fn support_result(catalog: &Catalog, function: &SupportFunction, types: &[Type]) -> Result<Type> {
    let mut l = Lowerer::new(catalog, "aggregate", ProgramKind::Statement);
    let passed = |ty: &Type| Typed { reg: l.program.reg(RegKind::Value(ty.clone()), None), ty: ty.clone() };
    let passed: Vec<Typed> = types.iter().map(passed).collect();
    l.bind_support(function, passed, 0).map(|bound| bound.ty)
}

/// The state that an aggregate begins with; an error where its text is none of the type.
pub(crate) fn check_initial(catalog: &Catalog, of: &AggregateOf) -> Result<()> {
    let mut l = Lowerer::new(catalog, "aggregate", ProgramKind::Statement);
    l.initial_state(of, 0).map(|_| ())
}

impl Lowerer<'_> {
    /// Whether a call is one of an aggregate that a user made. A function of that name with as many arguments comes first
    /// where nothing says that an aggregate is meant.
    pub(super) fn calls_own_aggregate(&self, wanted: Wanted<'_>, call: &FunctionCall) -> bool {
        let said = call.star
            || call.distinct
            || call.over.is_some()
            || call.filter.is_some()
            || !call.order_by.is_empty();
        let all = || self.catalog.procedures_named(wanted).filter(|p| !p.is_procedure());
        let of_as_many = |function: bool| {
            all().any(|p| p.aggregate.is_none() == function && p.inputs().count() == call.args.len())
        };
        all().any(|p| p.aggregate.is_some()) && (said || of_as_many(false) || !of_as_many(true))
    }

    /// Whether a function is meant by a call for which there is an aggregate with as many arguments as well.
    pub(super) fn means_function(
        &mut self,
        names: &Names<'_>,
        wanted: Wanted<'_>,
        call: &FunctionCall,
        position: u32,
    ) -> Result<bool> {
        let plain = call.over.is_none()
            && call.filter.is_none()
            && !(call.star || call.distinct || call.within_group)
            && call.order_by.is_empty();
        let function = |p: &Procedure| p.aggregate.is_none() && !p.is_procedure();
        if !plain || !self.catalog.procedures_named(wanted).any(function) {
            return Ok(false);
        }
        let args = call.args.iter().map(|arg| self.bind(names, &arg.value)).collect::<Result<Vec<_>>>()?;
        let exact = |p: &&Procedure| {
            p.inputs().count() == args.len() && p.inputs().zip(&args).all(|(q, a)| same_base(&q.ty, &a.ty))
        };
        if let Some(p) = self.catalog.procedures_named(wanted).filter(|p| !p.is_procedure()).find(exact) {
            return Ok(function(p));
        }
        if !matches!(self.find_of(wanted, call, &args, Sought::Function, position), Ok(Some(_))) {
            return Ok(false);
        }
        Ok(!matches!(self.find_of(wanted, call, &args, Sought::Aggregate, position), Ok(Some(_))))
    }

    /// The aggregate that a call means, its arguments as that takes them, and the type of its result.
    pub(super) fn own_aggregate(
        &mut self,
        wanted: Wanted<'_>,
        call: &FunctionCall,
        args: &[Bound],
        position: u32,
    ) -> Result<Option<(ProcedureId, Vec<Bound>, Type)>> {
        let Some((id, given)) = self.find_of(wanted, call, args, Sought::Aggregate, position)? else {
            return Ok(None);
        };
        if args.is_empty() && !call.star {
            let message = format!("{wanted}(*) must be used to call a parameterless aggregate function");
            return Err(Error::new(SqlState::WRONG_OBJECT_TYPE, message).at(position));
        }
        let args = self.routine_args(id, given, args.to_vec(), position)?;
        let catalog = self.catalog;
        let aggregate = catalog.procedure(id);
        let (Returns::Scalar(ty), Some(of)) = (&aggregate.returns, &aggregate.aggregate) else {
            let what = "an aggregate that answers with a row is not supported";
            return Err(Error::unsupported(what, "Let it return a single value.").at(position));
        };
        if of.direct.is_some() {
            let message = format!("WITHIN GROUP is required for ordered-set aggregate {}", aggregate.name);
            return Err(Error::new(SqlState::WRONG_OBJECT_TYPE, message).at(position));
        }
        self.meets_functions(aggregate, of);
        self.initial_state(of, position)?;
        Ok(Some((id, args, ty.clone())))
    }

    /// The functions of an aggregate are called with the rights of its owner.
    pub(super) fn meets_functions(&mut self, aggregate: &Procedure, of: &AggregateOf) {
        let catalog = self.catalog;
        let role = Some(aggregate.rights.owner);
        for routine in of.functions().filter_map(|f| f.routine(catalog)) {
            self.meets_routine(routine.id);
            let object = Object::Routine(routine.id);
            self.add_requirement(Requirement {
                role,
                object,
                any_of: Privileges::EXECUTE,
                columns: Columns::Whole,
            });
        }
    }

    pub(super) fn initial_state(&mut self, of: &AggregateOf, position: u32) -> Result<Bound> {
        let Some(text) = &of.initial else { return Ok(Bound::null(of.state.clone(), position)) };
        let bound = self.bind_text(&quote_literal(text), position)?;
        let bound = self.coerce(bound, &of.state, CastContext::Explicit)?;
        if bound.as_const().is_none() && !matches!(of.state, Type::Record(_)) {
            let what = format!("INITCOND of an aggregate whose state is of type {}", of.state);
            return Err(Error::unsupported(format!("{what} is not supported"), "Leave out INITCOND."));
        }
        Ok(bound)
    }

    /// A call of a function of an aggregate.
    fn bind_support(&mut self, function: &SupportFunction, args: Vec<Typed>, position: u32) -> Result<Bound> {
        let text = call_text(self.catalog, function, args.len());
        let mut scope = Scope::new();
        scope.push(None);
        scope.positional = args.into_iter().map(Variable::Scalar).collect();
        // Whoever calls the aggregate needs no rights on what it is made of.
        let (known, guard) = (self.rights.requirements.len(), self.rights.guard.take());
        let bound = self.bind_text_in(&Names::of(&scope), &text, position);
        self.rights.requirements.truncate(known);
        self.rights.guard = guard;
        bound
    }

    /// The registers of the state, with what they start from: the state, and whether there is one yet.
    pub(super) fn own_state(&mut self, id: ProcedureId) -> Result<Vec<(Reg, Reg)>> {
        let catalog = self.catalog;
        let Some(of) = &catalog.procedure(id).aggregate else { return Ok(Vec::new()) };
        let initial = self.initial_state(of, 0)?;
        let start = match initial.as_const() {
            Some(value) => self.constant(value.clone(), of.state.clone()),
            None => self.exact(&initial)?,
        };
        let mut regs = vec![(self.temp(of.state.clone()), start)];
        if of.initial.is_none() && of.transition.is_strict(catalog) {
            regs.push((self.temp(Type::Bool), self.truth(false)));
        }
        Ok(regs)
    }

    /// Adds the present row.
    pub(super) fn update_own(
        &mut self,
        frame: usize,
        a: &Aggregate,
        id: ProcedureId,
        state: &State,
        keys: &[Typed],
    ) -> Result<()> {
        let catalog = self.catalog;
        let Some(of) = &catalog.procedure(id).aggregate else { return Ok(()) };
        let mut values = Vec::with_capacity(a.args.len());
        for e in &a.args {
            values.push(Typed { reg: self.exact(e)?, ty: e.ty.clone() });
        }
        let mut add = |l: &mut Lowerer<'_>| {
            if !a.distinct {
                return l.own_transition(a, of, state, &values);
            }
            let mut all = keys.to_vec();
            let told_apart = values.iter().zip(&a.args).filter(|(_, e)| e.as_const().is_none());
            all.extend(told_apart.map(|(value, _)| value.clone()));
            l.unseen(frame, &all, &mut |l| l.own_transition(a, of, state, &values))
        };
        if !of.transition.is_strict(catalog) {
            return add(self);
        }
        let there: Vec<Reg> = values
            .iter()
            .zip(&a.args)
            .filter(|(_, e)| !self.never_null(e))
            .map(|(value, _)| value.reg)
            .collect();
        let there = there.into_iter().map(|reg| self.apply(Func::IsNotNull, vec![reg], Type::Bool)).collect();
        self.all_of(there, &mut add)
    }

    /// Where all of the conditions are true.
    fn all_of(
        &mut self,
        mut conditions: Vec<Reg>,
        f: &mut dyn FnMut(&mut Lowerer<'_>) -> Result<()>,
    ) -> Result<()> {
        match conditions.pop() {
            None => f(self),
            Some(condition) => self.when(condition, |l| l.all_of(conditions, f)),
        }
    }

    fn own_transition(
        &mut self,
        a: &Aggregate,
        of: &AggregateOf,
        state: &State,
        values: &[Typed],
    ) -> Result<()> {
        let Some((acc, _)) = state.regs.first().copied() else { return Ok(()) };
        let position = a.args.first().map_or(0, |e| e.position);
        let step = |l: &mut Lowerer<'_>| {
            let mut args = vec![Typed { reg: acc, ty: of.state.clone() }];
            args.extend(values.iter().cloned());
            let next = l.bind_support(&of.transition, args, position)?;
            let next = l.coerce(next, &of.state, CastContext::Assignment)?;
            let next = l.exact(&next)?;
            l.copy(acc, next);
            Ok(())
        };
        let (Some((begun, _)), Some(first)) = (state.regs.get(1).copied(), values.first()) else {
            return step(self);
        };
        let then = self.block(step)?;
        let otherwise = self.block(|l| {
            let first = l.exactly(first.reg, &of.state);
            l.copy(acc, first);
            let yes = l.truth(true);
            l.copy(begun, yes);
            Ok(())
        })?;
        self.emit(OpKind::If { cond: begun, then, otherwise });
        Ok(())
    }

    /// The result of a state.
    pub(super) fn own_result(&mut self, a: &Aggregate, id: ProcedureId, state: &State) -> Result<Reg> {
        let catalog = self.catalog;
        let aggregate = catalog.procedure(id);
        let (Some(of), Some((acc, _))) = (&aggregate.aggregate, state.regs.first().copied()) else {
            return Err(Error::internal("an aggregate without a state"));
        };
        // Of an ordered set the state is asked for: the last function is called outside.
        let Some(last) = of.last.as_ref().filter(|_| of.direct.is_none()) else { return Ok(acc) };
        let mut args = vec![Typed { reg: acc, ty: of.state.clone() }];
        if of.extra {
            for e in &a.args {
                args.push(Typed { reg: self.constant(Datum::Null, e.ty.clone()), ty: e.ty.clone() });
            }
        }
        let result = self.bind_support(last, args, a.args.first().map_or(0, |e| e.position))?;
        let result = self.coerce(result, &a.ty, CastContext::Assignment)?;
        self.exact(&result)
    }
}
