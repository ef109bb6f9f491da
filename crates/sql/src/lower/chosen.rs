//! Which of the routines of a name a call means.

use super::Lowerer;
use super::bind_call::{Given, passed};
use super::bound::Bound;
use super::functions::ambiguous;
use super::polymorphic::{Solution, polymorphic};
use super::resolve::{Choice, choose_by};
use super::types::{CastContext, same_base};
use planaria_base::{Error, ProcedureId, Result, SqlState, Type};
use planaria_catalog::{Mode, Parameter, Procedure, Wanted};
use planaria_syntax::ast::FunctionCall;

/// What kind of routine is meant.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Sought {
    Function,
    Procedure,
    Aggregate,
}

impl Sought {
    fn is(self, p: &Procedure) -> bool {
        match self {
            Sought::Function => !p.is_procedure() && p.aggregate.is_none(),
            Sought::Procedure => p.is_procedure(),
            Sought::Aggregate => p.aggregate.is_some(),
        }
    }
}

impl Lowerer<'_> {
    /// The routine that a call means, and where its parameters' values come from.
    pub(super) fn find_routine(
        &mut self,
        name: Wanted<'_>,
        call: &FunctionCall,
        args: &[Bound],
        procedure: bool,
        position: u32,
    ) -> Result<Option<(ProcedureId, Vec<Given>)>> {
        let sought = if procedure { Sought::Procedure } else { Sought::Function };
        self.find_of(name, call, args, sought, position)
    }

    /// The same, of aggregates too.
    pub(super) fn find_of(
        &mut self,
        name: Wanted<'_>,
        call: &FunctionCall,
        args: &[Bound],
        sought: Sought,
        position: u32,
    ) -> Result<Option<(ProcedureId, Vec<Given>)>> {
        let procedure = sought == Sought::Procedure;
        let catalog = self.catalog;
        let mut found = Vec::new();
        for p in catalog.procedures_named(name).filter(|p| sought.is(p)) {
            if let Some((given, types)) = match_arguments(p, call, args.len()) {
                let agree = || {
                    let polymorphic = polymorphic(&types, args.iter().map(|a| a.ty.clone()));
                    // That nothing says what they are is an error of the call, not of the choice.
                    let known = polymorphic.iter().any(|(_, ty)| *ty != Type::Unknown);
                    !known || Solution::of(self, &polymorphic).is_ok()
                };
                if !p.is_polymorphic() || agree() {
                    found.push((p.id, given, types));
                }
            }
        }
        let types: Vec<Type> = args.iter().map(|a| a.ty.clone()).collect();
        if found.is_empty() {
            if let Some(other) = catalog.procedures_named(name).find(|p| p.is_procedure() != procedure) {
                let shown: Vec<String> = types.iter().map(super::operators::base_name).collect();
                let (is, hint) = if other.is_procedure() {
                    ("procedure", "To call a procedure, use CALL.")
                } else {
                    ("function", "To call a function, use SELECT.")
                };
                let article = if procedure { "not a procedure" } else { "a procedure" };
                let message = format!("{name}({}) is {article}", shown.join(", "));
                let _ = is;
                return Err(Error::new(SqlState::WRONG_OBJECT_TYPE, message).at(position).with_hint(hint));
            }
            return Ok(None);
        }
        // Of those that take the same types, one without VARIADIC is meant.
        let cost = |given: &[Given]| given.iter().filter(|g| matches!(g, Given::Variadic(_))).count();
        let all = std::mem::take(&mut found);
        for (i, (id, given, types)) in all.iter().enumerate() {
            let beaten = all.iter().enumerate().any(|(j, (_, other, t))| {
                let same = t.len() == types.len() && t.iter().zip(types).all(|(a, b)| same_base(a, b));
                i != j && same && cost(other) < cost(given)
            });
            if !beaten {
                found.push((*id, given.clone(), types.clone()));
            }
        }
        let candidates: Vec<Vec<Type>> = found.iter().map(|(_, _, t)| t.clone()).collect();
        let implicit = |from: &Type, to: &Type| self.castable(from, to, CastContext::Implicit);
        match choose_by(&candidates, &types, &implicit) {
            Choice::One(i) => {
                let (id, given, declared) = found.swap_remove(i);
                let routine = catalog.procedure(id);
                // Another of the schema that takes the same, by a default of its own. Routines and what is kept go on with the
                // one that they have.
                let passing = self.program.kind == planaria_ir::ProgramKind::Statement && !self.kept_text;
                let twin = |(other, _, types): &(ProcedureId, Vec<Given>, Vec<Type>)| {
                    catalog.procedure(*other).schema == routine.schema
                        && types.len() == declared.len()
                        && types.iter().zip(&declared).all(|(a, b)| same_base(a, b))
                };
                if passing && found.iter().any(twin) {
                    return Err(ambiguous(name.local, &types, position));
                }
                if !routine.is_polymorphic() {
                    return Ok(Some((id, given)));
                }
                let default = |(q, g): (_, &Given)| matches!(g, Given::Default).then_some(q);
                let left_out: Vec<&Parameter> = passed(routine).zip(&given).filter_map(default).collect();
                let id = self.called(id, polymorphic(&declared, types), &left_out, position)?;
                Ok(Some((id, given)))
            }
            Choice::None => Ok(None),
            Choice::Ambiguous => Err(ambiguous(name.local, &types, position)),
        }
    }
}

/// How the arguments of a call would go to the parameters, and the type each argument would get.
fn match_arguments(p: &Procedure, call: &FunctionCall, n: usize) -> Option<(Vec<Given>, Vec<Type>)> {
    let parameters: Vec<&Parameter> = passed(p).collect();
    let mut given: Vec<Given> = parameters.iter().map(|_| Given::Default).collect();
    let mut set = vec![false; parameters.len()];
    let mut types = Vec::with_capacity(n);
    for (i, arg) in call.args.iter().enumerate() {
        let at = match &arg.name {
            Some(name) => parameters.iter().position(|q| q.name == *name)?,
            None => {
                let last = parameters.len().checked_sub(1)?;
                let variadic = parameters[last].mode == Mode::Variadic && !call.variadic;
                if variadic && i >= last {
                    if i == last {
                        given[last] = Given::Variadic(last);
                        set[last] = true;
                    }
                    types.push(parameters[last].ty.element()?);
                    continue;
                }
                if i > last {
                    return None;
                }
                i
            }
        };
        if set[at] {
            return None;
        }
        set[at] = true;
        given[at] = Given::Argument(i);
        types.push(parameters[at].ty.clone());
    }
    let complete = parameters
        .iter()
        .zip(&set)
        .all(|(q, set)| *set || q.default.is_some() || q.mode == Mode::Out && call.args.is_empty());
    complete.then_some((given, types))
}
