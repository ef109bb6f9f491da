//! CREATE AGGREGATE and DROP AGGREGATE. All else is done with an aggregate as with any routine.

use super::depend::Object as Target;
use super::{Change, names, routine};
use crate::lower::{self, Declared};
use planaria_base::oid::{self, Oid};
use planaria_base::{Error, ProcedureId, Result, SchemaId, SqlState, Type};
use planaria_catalog::{
    AggregateOf, Language, Mode, MovingOf, Object, Parameter, Privileges, Procedure, Requirement, Returns,
    SupportFunction, Volatility, built_in_functions,
};
use planaria_syntax::ast::{AggregateChange, CreateAggregate, Name, RoutineParameter, RoutineRef, TypeName};

fn invalid(message: impl Into<String>) -> Error {
    Error::new(SqlState::INVALID_FUNCTION_DEFINITION, message)
}

fn mismatch(message: String) -> Error {
    Error::new(SqlState::DATATYPE_MISMATCH, message)
}

fn unplaced(mut error: Error) -> Error {
    error.fields_mut().position = None;
    error
}

/// `f(integer, text)`
fn signature(name: &Name, types: &[Type]) -> String {
    let types: Vec<String> = types.iter().map(lower::type_in_message).collect();
    format!("{}({})", name.parts.join("."), types.join(", "))
}

/// A type as polymorphic functions are looked at before anybody calls them.
fn assumed(ty: &Type) -> Type {
    lower::assumed_type(ty)
}

/// Whether a value of one type is one of the other as it is.
fn is_as_it_is(from: &Type, to: &Type) -> bool {
    from == to || matches!((from, to), (Type::Varchar(_), Type::Text))
}

/// Takes any value.
const ANY: Oid = 2276;
const ANYELEMENT: Oid = 2283;
const ANYCOMPATIBLE: Oid = 5077;
/// `anyelement` and its like.
const ALIKE: [Oid; 5] = [2277, ANYELEMENT, 2776, 3500, 3831];
/// `anycompatible` and its like.
const COMPATIBLE: [Oid; 4] = [ANYCOMPATIBLE, 5078, 5079, 5080];
const TEXT: Oid = 25;
const VARCHAR: Oid = 1043;

impl Change {
    pub(super) fn change_aggregate(&mut self, change: &AggregateChange) -> Result<&'static str> {
        match change {
            AggregateChange::Create(create) => self.create_aggregate(create),
            AggregateChange::Drop { aggregates, if_exists, cascade } => {
                self.drop_aggregates(aggregates, *if_exists, *cascade)
            }
        }
    }

    fn create_aggregate(&mut self, create: &CreateAggregate) -> Result<&'static str> {
        if let Some((what, position)) = &create.unsupported {
            let hint = "Leave it out.";
            return Err(Error::unsupported(format!("{what} is not supported"), hint).at(*position));
        }
        for name in &create.unknown {
            let message = format!("aggregate attribute \"{name}\" not recognized");
            self.warning(SqlState::SYNTAX_ERROR, message);
        }
        let (schema, name) = names::new(&self.catalog, &create.name)?;
        self.require_create_of(&create.name, schema)?;
        let Some(state) = &create.state else {
            return Err(invalid("aggregate stype must be specified"));
        };
        let Some(transition) = &create.transition else {
            return Err(invalid("aggregate sfunc must be specified"));
        };
        let parameters = self.aggregate_parameters(create)?;
        let inputs: Vec<Type> = parameters.iter().map(|p| p.ty.clone()).collect();
        let state = self.state_type(state, &inputs)?;
        let (of, returns) = self.aggregate_of(create, state, transition, &inputs)?;
        let mut aggregate = Procedure {
            id: ProcedureId::from(self.catalog.procedures.len()),
            schema,
            name: name.to_owned(),
            parameters,
            returns: Returns::Scalar(returns),
            returns_domain: None,
            fires: None,
            fires_view: None,
            language: Language::Sql,
            volatility: Volatility::Immutable,
            strict: false,
            body: String::new(),
            standard: None,
            aggregate: Some(Box::new(of)),
            body_position: 0,
            current: true,
            security_definer: false,
            reads_before: !self.actor.reads_after,
            form: self.actor.form,
            hints: planaria_catalog::Hints::default(),
            settings: Vec::new(),
            rights: self.new_rights(planaria_catalog::ObjectKind::Function, schema),
            comment: None,
            instance_of: None,
        };
        self.take_place(&mut aggregate, create.or_replace, create.name.position).map_err(unplaced)?;
        self.out.routine = Some(aggregate.id);
        self.catalog.procedures.push(aggregate.into());
        Ok("CREATE AGGREGATE")
    }

    fn aggregate_parameters(&self, create: &CreateAggregate) -> Result<Vec<Parameter>> {
        let of_type = |ty: &TypeName| RoutineParameter {
            name: String::new(),
            mode: Mode::In,
            ty: ty.clone(),
            default: None,
            position: ty.position,
        };
        let given: Vec<RoutineParameter> = match (&create.parameters, &create.basetype) {
            (Some(_), Some(_)) => {
                return Err(invalid("basetype is redundant with aggregate input type specification"));
            }
            (Some(parameters), None) => parameters.clone(),
            (None, Some(ty)) => ty.iter().map(of_type).collect(),
            (None, None) => return Err(invalid("aggregate input type must be specified")),
        };
        if given.iter().any(|p| matches!(p.mode, Mode::Out | Mode::InOut | Mode::Table)) {
            let message = "aggregates cannot have output arguments";
            return Err(Error::new(SqlState::FEATURE_NOT_SUPPORTED, message));
        }
        self.parameters(&given, create.name.position)
    }

    fn state_type(&self, state: &TypeName, inputs: &[Type]) -> Result<Type> {
        let Declared { ty, domain } = routine::value_type(&self.catalog, state)?;
        self.require_types(&ty, domain)?;
        let ty = if ty.is_polymorphic() { ty } else { ty.base() };
        match &ty {
            Type::Void => return Err(invalid("aggregate transition data type cannot be void")),
            Type::Record(row) if row.of.is_none() => {
                let what = "an aggregate whose state is a record is not supported";
                return Err(Error::unsupported(
                    what,
                    "Use a type made by CREATE TYPE, or jsonb, for the state.",
                ));
            }
            _ => {}
        }
        lower::check_polymorphic_result(&ty, inputs).map_err(|e| {
            let detail = e.fields().detail.clone().unwrap_or_default();
            invalid("cannot determine transition data type").with_detail(detail)
        })?;
        Ok(ty)
    }

    fn aggregate_of(
        &self,
        create: &CreateAggregate,
        state: Type,
        transition: &Name,
        inputs: &[Type],
    ) -> Result<(AggregateOf, Type)> {
        // Those before ORDER BY are for the last function alone.
        let (direct, ordered) = inputs.split_at(create.direct.unwrap_or(0));
        if create.hypothetical {
            if create.direct.is_none() {
                return Err(invalid("only ordered-set aggregates can be hypothetical"));
            }
            if !direct.ends_with(ordered) {
                return Err(invalid(
                    "a hypothetical-set aggregate must have direct arguments matching its aggregated arguments",
                ));
            }
        }
        let mut types = vec![state.clone()];
        types.extend_from_slice(ordered);
        let (step, answer, _) = self.support(transition, &types)?;
        if answer != assumed(&state) {
            let (name, ty) = (transition.parts.join("."), lower::type_in_message(&state));
            return Err(mismatch(format!("return type of transition function {name} is not {ty}")));
        }
        let fits = ordered.first().is_some_and(|first| is_as_it_is(first, &state));
        if create.initial.is_none() && step.is_strict(&self.catalog) && !fits {
            return Err(invalid(
                "must not omit initial value when transition function is strict and transition type is not \
                 compatible with input type",
            ));
        }
        let mut returns = state.clone();
        let mut last = None;
        if let Some(name) = &create.last {
            let mut types = vec![state.clone()];
            types.extend_from_slice(direct);
            if create.extra {
                types.extend_from_slice(ordered);
            }
            let (function, answer, declared) = self.support(name, &types)?;
            if create.extra && function.is_strict(&self.catalog) {
                let message = "final function with extra arguments must not be declared STRICT";
                return Err(invalid(message));
            }
            returns = declared.unwrap_or(answer);
            last = Some(function);
        }
        if matches!(&returns, Type::Record(row) if row.of.is_none()) {
            let what = "an aggregate that answers with a record is not supported";
            return Err(Error::unsupported(what, "Let it return a row of a composite type."));
        }
        lower::check_polymorphic_result(&returns, inputs)?;
        let mut combine = None;
        if let Some(name) = &create.combine {
            let (function, answer, _) = self.support(name, &[state.clone(), state.clone()])?;
            if answer != assumed(&state) {
                let (name, ty) = (name.parts.join("."), lower::type_in_message(&state));
                return Err(mismatch(format!("return type of combine function {name} is not {ty}")));
            }
            combine = Some(function);
        }
        if create.sort.is_some() && inputs.len() != 1 {
            return Err(invalid("sort operator can only be specified for single-argument aggregates"));
        }
        let letter = |word: &Option<String>, what: &str, known: [&str; 3], letters: [char; 3]| {
            let Some(word) = word else { return Ok(None) };
            match known.iter().position(|k| k == word) {
                Some(at) => Ok(Some(letters[at])),
                None => {
                    let [a, b, c] = known.map(str::to_uppercase);
                    let message = format!("parameter \"{what}\" must be {a}, {b}, or {c}");
                    Err(Error::new(SqlState::SYNTAX_ERROR, message))
                }
            }
        };
        let moving = self.moving_of(create, inputs, &returns)?;
        let of = AggregateOf {
            moving,
            transition: step,
            last,
            extra: create.extra,
            modify: letter(
                &create.modify,
                "finalfunc_modify",
                ["read_only", "shareable", "read_write"],
                ['r', 's', 'w'],
            )?,
            combine,
            initial: create.initial.clone(),
            sort: create.sort.clone(),
            parallel: letter(
                &create.parallel,
                "parallel",
                ["safe", "restricted", "unsafe"],
                ['s', 'r', 'u'],
            )?,
            space: create.space.and_then(|n| i32::try_from(n).ok()).unwrap_or(0),
            direct: create.direct.and_then(|n| u16::try_from(n).ok()),
            hypothetical: create.hypothetical,
            state,
        };
        if !of.state.is_polymorphic() {
            lower::check_initial(&self.catalog.ready(), &of).map_err(unplaced)?;
        }
        Ok((of, returns))
    }

    /// What it says of frames that move: 42P13 where that does not go together.
    fn moving_of(
        &self,
        create: &CreateAggregate,
        inputs: &[Type],
        returns: &Type,
    ) -> Result<Option<Box<MovingOf>>> {
        let moving = &create.moving;
        let Some(state) = &moving.state else {
            let said = [
                ("msfunc", moving.transition.is_some()),
                ("minvfunc", moving.inverse.is_some()),
                ("mfinalfunc", moving.last.is_some()),
                ("msspace", moving.space.is_some_and(|space| space != 0)),
                ("minitcond", moving.initial.is_some()),
            ];
            return match said.iter().find(|(_, said)| *said) {
                Some((what, _)) => {
                    Err(invalid(format!("aggregate {what} must not be specified without mstype")))
                }
                None => Ok(None),
            };
        };
        let (Some(transition), Some(inverse)) = (&moving.transition, &moving.inverse) else {
            let what = if moving.transition.is_none() { "msfunc" } else { "minvfunc" };
            return Err(invalid(format!("aggregate {what} must be specified when mstype is specified")));
        };
        let state = self.state_type(state, inputs)?;
        let mut types = vec![state.clone()];
        types.extend_from_slice(inputs);
        let step = |name: &Name, what: &str| {
            let (function, answer, _) = self.support(name, &types)?;
            if answer != assumed(&state) {
                let (name, ty) = (name.parts.join("."), lower::type_in_message(&state));
                return Err(mismatch(format!("return type of {what} function {name} is not {ty}")));
            }
            Ok(function)
        };
        let transition = step(transition, "transition")?;
        let fits = inputs.first().is_some_and(|first| is_as_it_is(first, &state));
        if moving.initial.is_none() && transition.is_strict(&self.catalog) && !fits {
            return Err(invalid(
                "must not omit initial value when transition function is strict and transition type is not \
                 compatible with input type",
            ));
        }
        let inverse = step(inverse, "inverse transition")?;
        if transition.is_strict(&self.catalog) != inverse.is_strict(&self.catalog) {
            return Err(invalid(
                "strictness of aggregate's forward and inverse transition functions must match",
            ));
        }
        let (mut answers, mut last) = (state.clone(), None);
        if let Some(name) = &moving.last {
            let mut types = vec![state.clone()];
            types.extend_from_slice(if moving.extra { inputs } else { &[] });
            let (function, answer, declared) = self.support(name, &types)?;
            if moving.extra && function.is_strict(&self.catalog) {
                return Err(invalid("final function with extra arguments must not be declared STRICT"));
            }
            (answers, last) = (declared.unwrap_or(answer), Some(function));
        }
        if answers != *returns {
            let [moved, plain] = [&answers, returns].map(lower::type_in_message);
            let message = format!(
                "moving-aggregate implementation returns type {moved}, but plain implementation returns type {plain}"
            );
            return Err(invalid(message));
        }
        let modify = match moving.modify.as_deref() {
            None => None,
            Some("read_only") => Some('r'),
            Some("shareable") => Some('s'),
            Some("read_write") => Some('w'),
            Some(_) => {
                let message = "parameter \"mfinalfunc_modify\" must be READ_ONLY, SHAREABLE, or READ_WRITE";
                return Err(Error::new(SqlState::SYNTAX_ERROR, message));
            }
        };
        Ok(Some(Box::new(MovingOf {
            transition,
            inverse,
            last,
            extra: moving.extra,
            modify,
            initial: moving.initial.clone(),
            space: moving.space.and_then(|n| i32::try_from(n).ok()).unwrap_or(0),
            state,
        })))
    }

    /// A function that an aggregate calls, what it answers with, and what it says that it does where that is polymorphic.
    fn support(&self, name: &Name, types: &[Type]) -> Result<(SupportFunction, Type, Option<Type>)> {
        let assumed: Vec<Type> = types.iter().map(assumed).collect();
        let missing = || {
            let message = format!("function {} does not exist", signature(name, types));
            Error::new(SqlState::UNDEFINED_FUNCTION, message)
        };
        let (qualifier, local) = match &name.parts[..] {
            [local] => (None, local),
            [schema, local] => (Some(schema.as_str()), local),
            _ => return Err(missing()),
        };
        if qualifier.is_none_or(|q| q == "pg_catalog")
            && let Some(function) = self.built_in_support(local, types)
        {
            let answer = lower::support_result(&self.catalog.ready(), &function, &assumed).map_err(|_| {
                let what = format!("function {} in an aggregate is not supported", signature(name, types));
                Error::unsupported(what, "Write your own function.")
            })?;
            return Ok((function, answer, None));
        }
        let wanted = names::wanted(&self.catalog, name)?;
        let as_many = |p: &&Procedure| p.aggregate.is_none() && p.inputs().count() == types.len();
        let all: Vec<&Procedure> = self.catalog.procedures_named(wanted).filter(as_many).collect();
        let takes = |p: &&&Procedure| p.inputs().map(|q| q.ty.base()).eq(types.iter().cloned());
        let found = match all.iter().find(takes) {
            Some(found) => found,
            None => {
                let takes = |p: &&&Procedure| {
                    p.inputs()
                        .zip(types)
                        .all(|(q, ty)| q.ty.is_polymorphic() || is_as_it_is(ty, &q.ty.base()))
                };
                match all.iter().find(takes) {
                    Some(found) => found,
                    None => return Err(missing()),
                }
            }
        };
        let message = || format!("function {} returns a set", signature(name, types));
        if found.returns_set() {
            return Err(mismatch(message()));
        }
        let privilege = Requirement::new(Object::Routine(found.id), Privileges::EXECUTE);
        self.catalog.require(self.actor.user, &privilege)?;
        let function = SupportFunction {
            schema: Some(found.schema),
            name: found.name.clone(),
            types: found.inputs().map(|q| q.ty.base()).collect(),
            strict: found.strict,
            oid: 0,
        };
        let answer = lower::support_result(&self.catalog.ready(), &function, &assumed).map_err(unplaced)?;
        let declared = match &found.returns {
            Returns::Scalar(ty) if ty.is_polymorphic() => Some(ty.clone()),
            _ => None,
        };
        Ok((function, answer, declared))
    }

    fn built_in_support(&self, name: &str, types: &[Type]) -> Option<SupportFunction> {
        let all = built_in_functions(name, types.len());
        let oids: Vec<Oid> = types.iter().map(oid::of).collect();
        let alike = |wanted: &Oid, given: &Oid| {
            let pseudo = |of: &[&[Oid]]| of.iter().any(|all| all.contains(wanted));
            wanted == given
                || *wanted == ANY
                || (*wanted == TEXT && *given == VARCHAR)
                || match given {
                    given if ALIKE.contains(given) => pseudo(&[&[ANYELEMENT]]),
                    given if COMPATIBLE.contains(given) => pseudo(&[&[ANYCOMPATIBLE]]),
                    _ => pseudo(&[&ALIKE, &COMPATIBLE]),
                }
        };
        let found = all.iter().find(|f| f.takes == oids).or_else(|| {
            all.iter().find(|f| f.takes.iter().zip(&oids).all(|(wanted, given)| alike(wanted, given)))
        })?;
        Some(SupportFunction {
            schema: None,
            name: name.to_owned(),
            types: types.to_vec(),
            strict: found.strict,
            oid: found.oid,
        })
    }

    /// An aggregate by name and types; 42883, 42809.
    pub(super) fn aggregate(&self, aggregate: &RoutineRef) -> Result<&Procedure> {
        let types = aggregate.types.as_deref().unwrap_or_default();
        let found = routine::find(&self.catalog, &aggregate.name, Some(types), Some(false));
        let found = found.map_err(|error| {
            if error.sqlstate() != SqlState::UNDEFINED_FUNCTION {
                return unplaced(error);
            }
            let shown = match routine::shown_types(&self.catalog, types) {
                Ok(shown) if shown.is_empty() => "*".to_owned(),
                Ok(shown) => shown,
                Err(error) => return unplaced(error),
            };
            let name = aggregate.name.parts.join(".");
            Error::new(SqlState::UNDEFINED_FUNCTION, format!("aggregate {name}({shown}) does not exist"))
        })?;
        if found.aggregate.is_none() {
            let message = format!("function {} is not an aggregate", routine::signature(found));
            return Err(Error::new(SqlState::WRONG_OBJECT_TYPE, message));
        }
        Ok(found)
    }

    fn drop_aggregates(
        &mut self,
        aggregates: &[RoutineRef],
        if_exists: bool,
        cascade: bool,
    ) -> Result<&'static str> {
        let mut targets = Vec::new();
        for aggregate in aggregates {
            match self.aggregate(aggregate).map(|p| p.id) {
                Ok(id) => {
                    let target = Target::Routine(id);
                    self.require_owner_of(&target)?;
                    targets.push(target);
                }
                Err(error) if if_exists && error.sqlstate() == SqlState::UNDEFINED_FUNCTION => {
                    self.skip_missing(&error);
                }
                Err(error) => return Err(error),
            }
        }
        targets.dedup();
        self.drop_targets(targets, cascade)?;
        Ok("DROP AGGREGATE")
    }
}

/// Aggregates that call a routine.
pub(super) fn made_of(
    catalog: &planaria_catalog::Catalog,
    routine: &Procedure,
) -> impl Iterator<Item = ProcedureId> {
    let inputs: Vec<Type> = routine.inputs().map(|q| q.ty.base()).collect();
    let (schema, name): (SchemaId, &str) = (routine.schema, &routine.name);
    let calls = move |f: &SupportFunction| f.schema == Some(schema) && f.name == name && f.types == inputs;
    let all = catalog.procedures.iter().filter(|p| p.current);
    let found: Vec<ProcedureId> = all
        .filter(|p| p.aggregate.as_ref().is_some_and(|of| of.functions().any(&calls)))
        .map(|p| p.id)
        .collect();
    found.into_iter()
}
