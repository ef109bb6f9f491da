//! Polymorphic routines: which types a call gives to `anyelement` and its like (manual, 38.2.5).
//!
//! 1. A candidate for a call takes arguments of any types that agree with each other ([`Solution::of`]).
//! 2. The one that is chosen becomes a routine with these types in the place of its polymorphic ones, an *instance*
//!    ([`planaria_catalog::Catalog::instance`]), and it is the instance that is called.
//!
//! `anyelement`, `anyarray`, `anynonarray`, `anyenum` and `anyrange` are of one family: all mean the same element type. The
//! `anycompatible` family means the common type of its arguments, as UNION would find it.

use super::Lowerer;
use super::operators::base_name;
use planaria_base::types::{RangeType, SystemType};
use planaria_base::{Error, ProcedureId, Result, SqlState, Type};
use planaria_catalog::{AggregateOf, Mode, Parameter, Procedure, Returns};

/// What the polymorphic types of a call mean.
#[derive(Default)]
pub(super) struct Solution {
    element: Option<Type>,
    range: Option<RangeType>,
    compatible: Option<Type>,
    compatible_range: Option<RangeType>,
}

fn mismatch(message: String) -> Error {
    Error::new(SqlState::DATATYPE_MISMATCH, message)
}

fn not_alike(declared: SystemType, one: &Type, other: &Type) -> Error {
    let [one, other] = [one, other].map(base_name);
    mismatch(format!("arguments declared \"{}\" are not all alike", declared.name()))
        .with_detail(format!("{one} versus {other}"))
}

fn inconsistent(declared: SystemType, with: &str, one: &Type, other: &Type) -> Error {
    let [one, other] = [one, other].map(base_name);
    let message =
        format!("argument declared {} is not consistent with argument declared {with}", declared.name());
    mismatch(message).with_detail(format!("{one} versus {other}"))
}

/// A type as a parameter has it: without its modifier.
fn unmodified(ty: &Type) -> Type {
    match ty {
        Type::Char(_) => Type::Char(0),
        Type::Array(of) => Type::Array(Box::new(unmodified(of))),
        other => other.base(),
    }
}

/// The array of a type. There is none of arrays.
fn array_of(of: &Type) -> Result<Type> {
    match of {
        Type::Record(row) if row.of.is_none() => {
            let hint = "Use an array for each column.";
            Err(Error::unsupported("an array of rows is not supported", hint))
        }
        Type::Array(_) => {
            let message = format!("could not find array type for data type {}", base_name(of));
            Err(Error::new(SqlState::UNDEFINED_OBJECT, message))
        }
        _ => Ok(Type::Array(Box::new(of.clone()))),
    }
}

impl Solution {
    /// What the types of arguments make of the types that were declared for them; 42804 where they do not agree.
    pub(super) fn of(l: &Lowerer<'_>, given: &[(SystemType, Type)]) -> Result<Solution> {
        use SystemType::*;
        let mut found = Solution::default();
        let mut array: Option<Type> = None;
        let mut common: Vec<Type> = Vec::new();
        let (mut first, mut second) = (None, None);
        for (declared, ty) in given {
            let second_family = matches!(
                declared,
                AnyCompatible | AnyCompatibleArray | AnyCompatibleNonArray | AnyCompatibleRange
            );
            let family = if second_family { &mut second } else { &mut first };
            family.get_or_insert(*declared);
            if *ty == Type::Unknown {
                continue;
            }
            let ty = unmodified(ty);
            if let Type::Record(row) = &ty
                && row.of.is_none()
            {
                let hint = "Cast it to the row type of a table, or to a composite type.";
                let what = format!("a row without a type as an argument declared {}", declared.name());
                return Err(Error::unsupported(format!("{what} is not supported"), hint));
            }
            let range = || match &ty {
                Type::Range(of) => Ok(*of),
                _ => Err(mismatch(format!(
                    "argument declared {} is not a range type but type {}",
                    declared.name(),
                    base_name(&ty)
                ))),
            };
            let element = || match &ty {
                Type::Array(of) => Ok((**of).clone()),
                _ => Err(mismatch(format!(
                    "argument declared {} is not an array but type {}",
                    declared.name(),
                    base_name(&ty)
                ))),
            };
            match declared {
                AnyArray => {
                    element()?;
                    match &array {
                        Some(other) if *other != ty => return Err(not_alike(AnyArray, other, &ty)),
                        _ => array = Some(ty),
                    }
                }
                AnyRange => match found.range {
                    Some(other) if Type::Range(other) != ty => {
                        return Err(not_alike(AnyRange, &Type::Range(other), &ty));
                    }
                    _ => found.range = Some(range()?),
                },
                AnyCompatible | AnyCompatibleNonArray => common.push(ty),
                AnyCompatibleArray => common.push(element()?),
                AnyCompatibleRange => match found.compatible_range {
                    Some(other) if Type::Range(other) != ty => {
                        return Err(not_alike(AnyCompatibleRange, &Type::Range(other), &ty));
                    }
                    _ => found.compatible_range = Some(range()?),
                },
                _ => match &found.element {
                    Some(other) if *other != ty => return Err(not_alike(AnyElement, other, &ty)),
                    _ => found.element = Some(ty),
                },
            }
        }
        if let Some(array) = &array {
            let of = array.element().expect("seen above");
            match &found.element {
                Some(element) if *element != of => {
                    return Err(inconsistent(AnyArray, "anyelement", array, element));
                }
                _ => found.element = Some(of),
            }
        }
        if let Some(range) = found.range {
            let of = range.element();
            match &found.element {
                Some(element) if *element != of => {
                    return Err(inconsistent(AnyRange, "anyelement", &Type::Range(range), element));
                }
                _ => found.element = Some(of),
            }
        }
        if first.is_some() && found.element.is_none() {
            return Err(mismatch(
                "could not determine polymorphic type because input has type unknown".to_owned(),
            ));
        }
        found.look_at(l, given, second.is_some(), &common)?;
        Ok(found)
    }

    /// The common type, and what some parameters ask of theirs.
    fn look_at(
        &mut self,
        l: &Lowerer<'_>,
        given: &[(SystemType, Type)],
        common_wanted: bool,
        common: &[Type],
    ) -> Result<()> {
        use SystemType::*;
        if common_wanted {
            let mut types: Vec<Type> = common.to_vec();
            types.extend(self.compatible_range.map(RangeType::element));
            let placed: Vec<(&Type, u32)> = types.iter().map(|ty| (ty, 0)).collect();
            let ty = match placed.is_empty() {
                // All of them are literals.
                true => Type::Text,
                false => unmodified(&l.common_type("anycompatible", &placed).map_err(|mut e| {
                    e.fields_mut().position = None;
                    e
                })?),
            };
            if let Some(range) = self.compatible_range
                && range.element() != ty
            {
                return Err(inconsistent(AnyCompatibleRange, "anycompatible", &Type::Range(range), &ty));
            }
            self.compatible = Some(ty);
        }
        for (declared, ty) in given {
            let message = match (declared, &self.element, &self.compatible) {
                (AnyNonArray, Some(of @ Type::Array(_)), _) => {
                    format!("type matched to anynonarray is an array type: {}", base_name(of))
                }
                (AnyCompatibleNonArray, _, Some(of @ Type::Array(_))) => {
                    format!("type matched to anycompatiblenonarray is an array type: {}", base_name(of))
                }
                (AnyEnum, Some(of), _) if !matches!(of, Type::Enum(_)) => {
                    format!("type matched to anyenum is not an enum type: {}", base_name(of))
                }
                (AnyRange, ..) if self.range.is_none() && *ty == Type::Unknown => {
                    "could not determine polymorphic type anyrange because input has type unknown".to_owned()
                }
                (AnyCompatibleRange, ..) if self.compatible_range.is_none() && *ty == Type::Unknown => {
                    "could not determine polymorphic type anycompatiblerange because input has type unknown"
                        .to_owned()
                }
                _ => continue,
            };
            return Err(mismatch(message));
        }
        Ok(())
    }

    /// What it makes of a type.
    fn apply(&self, ty: &Type) -> Result<Type> {
        use SystemType::*;
        let Type::System(system) = ty else { return Ok(ty.clone()) };
        let known = match system {
            AnyElement | AnyNonArray | AnyEnum => self.element.clone(),
            AnyArray => self.element.as_ref().map(array_of).transpose()?,
            AnyRange => self.range.map(Type::Range),
            AnyCompatible | AnyCompatibleNonArray => self.compatible.clone(),
            AnyCompatibleArray => self.compatible.as_ref().map(array_of).transpose()?,
            AnyCompatibleRange => self.compatible_range.map(Type::Range),
            _ => return Ok(ty.clone()),
        };
        known.ok_or_else(|| Error::internal("a polymorphic result without a parameter that says its type"))
    }

    /// The routine with these types.
    fn instance(&self, routine: &Procedure) -> Result<Procedure> {
        let alone = routine.outputs().count() == 1;
        let parameter = |p: &Parameter| {
            let ty = self.apply(&p.ty)?;
            if matches!(ty, Type::Record(_)) && p.ty.is_polymorphic() && p.mode != Mode::In && alone {
                let hint = "Declare its columns one by one, or RETURNS with the polymorphic type.";
                let what =
                    "a row as the only OUT, INOUT or TABLE parameter of a polymorphic type is not supported";
                return Err(Error::unsupported(what, hint));
            }
            Ok(Parameter { ty, ..p.clone() })
        };
        let table = |ty: &Type| match ty {
            Type::Record(row) => row.of.as_ref().map(|of| of.table),
            _ => None,
        };
        let returns = match &routine.returns {
            Returns::Scalar(ty) => {
                let ty = self.apply(ty)?;
                table(&ty).map_or(Returns::Scalar(ty), Returns::RowOf)
            }
            Returns::SetOf(ty) => {
                let ty = self.apply(ty)?;
                table(&ty).map_or(Returns::SetOf(ty), Returns::SetOfTable)
            }
            other => other.clone(),
        };
        Ok(Procedure {
            parameters: routine.parameters.iter().map(parameter).collect::<Result<_>>()?,
            returns,
            aggregate: match &routine.aggregate {
                Some(of) => Some(Box::new(AggregateOf { state: self.apply(&of.state)?, ..(**of).clone() })),
                None => None,
            },
            instance_of: Some(routine.id),
            ..routine.clone()
        })
    }
}

/// The routine as CREATE looks at it: `integer` for what a call would say, as in PostgreSQL.
pub(crate) fn assumed(routine: &Procedure) -> Result<Procedure> {
    let types = Solution {
        element: Some(Type::Int4),
        range: Some(RangeType::Int4),
        compatible: Some(Type::Int4),
        compatible_range: Some(RangeType::Int4),
    };
    types.instance(routine)
}

/// A type as CREATE looks at it, in the same way.
pub(crate) fn assumed_type(ty: &Type) -> Type {
    let types = Solution {
        element: Some(Type::Int4),
        range: Some(RangeType::Int4),
        compatible: Some(Type::Int4),
        compatible_range: Some(RangeType::Int4),
    };
    types.apply(ty).unwrap_or_else(|_| ty.clone())
}

/// 42P13 for a polymorphic result whose type no parameter says.
pub(crate) fn check_result(ty: &Type, inputs: &[Type]) -> Result<()> {
    use SystemType::*;
    let Type::System(system) = ty else { return Ok(()) };
    let (needed, told): (&[SystemType], &str) = match system {
        AnyElement | AnyArray | AnyNonArray | AnyEnum => (
            &[AnyElement, AnyArray, AnyNonArray, AnyEnum, AnyRange],
            "anyelement, anyarray, anynonarray, anyenum, anyrange, or anymultirange",
        ),
        AnyRange => (&[AnyRange], "anyrange or anymultirange"),
        AnyCompatible | AnyCompatibleArray | AnyCompatibleNonArray => (
            &[AnyCompatible, AnyCompatibleArray, AnyCompatibleNonArray, AnyCompatibleRange],
            "anycompatible, anycompatiblearray, anycompatiblenonarray, anycompatiblerange, or anycompatiblemultirange",
        ),
        AnyCompatibleRange => (&[AnyCompatibleRange], "anycompatiblerange or anycompatiblemultirange"),
        _ => return Ok(()),
    };
    if inputs.iter().any(|input| matches!(input, Type::System(s) if needed.contains(s))) {
        return Ok(());
    }
    let name = system.name();
    let detail = format!("A result of type {name} requires at least one input of type {told}.");
    Err(Error::new(SqlState::INVALID_FUNCTION_DEFINITION, "cannot determine result data type")
        .with_detail(detail))
}

/// The polymorphic ones among the types that were declared for arguments, with the types of these.
pub(super) fn polymorphic<'t>(
    declared: impl IntoIterator<Item = &'t Type>,
    given: impl IntoIterator<Item = Type>,
) -> Vec<(SystemType, Type)> {
    let of = |(declared, ty): (&Type, Type)| match declared {
        Type::System(system) if system.is_polymorphic() => Some((*system, ty)),
        _ => None,
    };
    declared.into_iter().zip(given).filter_map(of).collect()
}

impl Lowerer<'_> {
    /// What a call of a routine calls: the routine, or with the types of the call's arguments in place of its polymorphic ones.
    pub(super) fn called(
        &mut self,
        id: ProcedureId,
        mut given: Vec<(SystemType, Type)>,
        left_out: &[&Parameter],
        position: u32,
    ) -> Result<ProcedureId> {
        let catalog = self.catalog;
        let routine = catalog.procedure(id);
        if !routine.is_polymorphic() {
            return Ok(id);
        }
        for parameter in left_out {
            if let Type::System(system) = &parameter.ty
                && system.is_polymorphic()
            {
                let default = self.bind_text(parameter.default.as_deref().unwrap_or("NULL"), position)?;
                given.push((*system, default.ty));
            }
        }
        let solution = Solution::of(self, &given).map_err(|e| e.at(position))?;
        let made = solution.instance(routine).map_err(|e| e.at(position))?;
        catalog.instance(made).map_err(|e| e.at(position))
    }
}
