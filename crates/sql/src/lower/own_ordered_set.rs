//! Ordered-set aggregates that users made: `a(d) WITHIN GROUP (ORDER BY x)`.
//!
//! ```text
//!  last(state_of(x), d)
//! ```
//!
//! The state is that of an aggregate over what the group is ordered by, which takes the rows as they come: sorting them is left to
//! its functions, as in PostgreSQL. The last function is called for it outside, where the direct arguments are computed, too.

use super::Lowerer;
use super::bound::{Bound, BoundKind};
use super::chosen::Sought;
use super::functions::{missing_function, no_function};
use super::names::Names;
use super::types::CastContext;
use planaria_base::{Error, ProcedureId, Result, SqlState, Type};
use planaria_catalog::{AggregateOf, Returns, SupportFunction, Wanted};
use planaria_syntax::ast::{Argument, Expr, ExprKind, FunctionCall, Name};

impl Lowerer<'_> {
    /// The value of such a call; `None` where an aggregate of another kind is meant.
    pub(super) fn bind_own_ordered_set(
        &mut self,
        names: &Names<'_>,
        wanted: Wanted<'_>,
        call: &FunctionCall,
        position: u32,
    ) -> Result<Option<Bound>> {
        let catalog = self.catalog;
        // Former versions took one without an ordered set as if it had ORDER BY among its arguments.
        let sets = |of: &AggregateOf| of.direct.is_some();
        let mut all = catalog.procedures_named(wanted).filter_map(|p| Some((p, p.aggregate.as_deref()?)));
        if !all.clone().any(|(_, of)| sets(of)) && all.any(|(p, _)| p.inputs().count() == call.args.len()) {
            return Ok(None);
        }
        let mut args = Vec::with_capacity(call.args.len() + call.order_by.len());
        for arg in &call.args {
            let mut bound = self.bind(names, &arg.value)?;
            self.visit(&mut bound, &mut |l, e| {
                if matches!(e.kind, BoundKind::Column(..)) {
                    l.direct.push(e.position);
                }
                true
            });
            args.push(bound);
        }
        for item in &call.order_by {
            let ty = self.looked_at(names, &item.expr)?;
            args.push(Bound::null(ty, item.expr.position));
        }
        let types: Vec<Type> = args.iter().map(|a| a.ty.clone()).collect();
        let sorted = call.order_by.iter().map(|item| Argument { name: None, value: item.expr.clone() });
        let all = call.args.iter().cloned().chain(sorted.clone()).collect();
        let all = FunctionCall::plain(call.name.clone(), all);
        let name = call.name.parts.join(".");
        let Some((id, given)) = self.find_of(wanted, &all, &args, Sought::Aggregate, position)? else {
            return Err(no_function(&name, &types, position));
        };
        let aggregate = catalog.procedure(id);
        let (Returns::Scalar(ty), Some(of)) = (&aggregate.returns, &aggregate.aggregate) else {
            return Err(Error::internal("an ordered-set aggregate without a result"));
        };
        let Some(direct) = of.direct.map(usize::from) else {
            let message = format!("{name} is not an ordered-set aggregate, so it cannot have WITHIN GROUP");
            return Err(Error::new(SqlState::WRONG_OBJECT_TYPE, message).at(position));
        };
        if call.over.is_some() {
            let message = format!("OVER is not supported for ordered-set aggregate {name}");
            return Err(Error::new(SqlState::FEATURE_NOT_SUPPORTED, message).at(position));
        }
        if direct != call.args.len() {
            let shown: Vec<String> = types.iter().map(super::type_in_message).collect();
            let plural = if direct == 1 { "" } else { "s" };
            let hint = format!(
                "There is an ordered-set aggregate {name}, but it requires {direct} direct argument{plural}, not {}.",
                call.args.len()
            );
            let shown = format!("{name}({})", shown.join(", "));
            return Err(missing_function(&shown, position).with_hint(hint));
        }
        let args = self.routine_args(id, given, args, position)?;
        let state = FunctionCall {
            filter: call.filter.clone(),
            ..FunctionCall::plain(call.name.clone(), sorted.collect())
        };
        self.own_set = Some(id);
        let state = self.bind_aggregate_call(names, wanted, &state, position)?;
        let Some(last) = &of.last else { return Ok(Some(state)) };
        let mut taken = vec![state];
        taken.extend(args.iter().take(direct).cloned());
        if of.extra {
            taken.extend(args.iter().skip(direct).map(|a| Bound::null(a.ty.clone(), position)));
        }
        let result = self.bind_last(last, taken, position)?;
        self.coerce(result, ty, CastContext::Assignment).map(Some)
    }

    /// What the aggregate of the state takes, and the type of the state.
    pub(super) fn own_set_state(
        &mut self,
        id: ProcedureId,
        args: Vec<Bound>,
        position: u32,
    ) -> Result<(Vec<Bound>, Type)> {
        let aggregate = self.catalog.procedure(id);
        let Some(of) = &aggregate.aggregate else { return Err(Error::internal("no aggregate")) };
        let taken = aggregate.inputs().skip(of.direct.map_or(0, usize::from));
        let args = args.into_iter().zip(taken);
        let args =
            args.map(|(arg, q)| self.coerce(arg, &q.ty, CastContext::Implicit)).collect::<Result<_>>()?;
        self.meets_functions(aggregate, of);
        self.initial_state(of, position)?;
        Ok((args, of.state.clone()))
    }

    /// A call of the last function, for values.
    fn bind_last(&mut self, last: &SupportFunction, args: Vec<Bound>, position: u32) -> Result<Bound> {
        let unsupported = || {
            let what = format!("function {} of an ordered-set aggregate is not supported", last.name);
            Error::unsupported(what, "Write your own function.").at(position)
        };
        // Whoever calls the aggregate needs no rights on what it is made of.
        let (known, guard) = (self.rights.requirements.len(), self.rights.guard.take());
        let bound = match last.schema {
            None => match self.bind_builtin(&last.name, &args, false, position) {
                Ok(bound) => bound.ok_or_else(unsupported),
                Err(error) => Err(error),
            },
            Some(schema) => {
                let wanted = Wanted::from((schema, last.name.as_str()));
                let null = Argument { name: None, value: Expr { position, kind: ExprKind::Null } };
                let name = Name { parts: vec![last.name.clone()], position };
                let call = FunctionCall::plain(name, vec![null; args.len()]);
                match self.find_routine(wanted, &call, &args, false, position) {
                    Ok(Some((id, given))) => self.bind_routine(id, given, args, position),
                    Ok(None) => Err(unsupported()),
                    Err(error) => Err(error),
                }
            }
        };
        self.rights.requirements.truncate(known);
        self.rights.guard = guard;
        bound
    }
}
