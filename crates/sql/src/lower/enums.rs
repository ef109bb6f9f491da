//! Enumerated types: comparison, and the functions that answer with their labels.

use super::Lowerer;
use super::bound::Bound;
use super::operators::{comparison, no_operator, symbol};
use planaria_base::enumeration::Enum;
use planaria_base::types::TypeClass;
use planaria_base::{Datum, Error, Result, SqlState, Type};
use planaria_syntax::ast::BinaryOp;

impl Lowerer<'_> {
    /// Values of one type compare in the order of its labels; a bare literal beside one is one.
    pub(super) fn enum_operator(
        &mut self,
        which: BinaryOp,
        left: &Bound,
        right: &Bound,
        position: u32,
    ) -> Result<Option<Bound>> {
        let Some(func) = comparison(which, TypeClass::Enum) else { return Ok(None) };
        let ty = match (&left.ty, &right.ty) {
            (ty @ Type::Enum(a), Type::Enum(b)) if a == b => ty,
            (ty @ Type::Enum(_), Type::Unknown) | (Type::Unknown, ty @ Type::Enum(_)) => ty,
            (Type::Enum(_), other) | (other, Type::Enum(_)) if !matches!(other, Type::Array(_)) => {
                return Err(no_operator(symbol(which), Some(&left.ty), &right.ty, position));
            }
            _ => return Ok(None),
        };
        let ty = ty.clone();
        let args = vec![self.operand(left.clone(), &ty)?, self.operand(right.clone(), &ty)?];
        Ok(Some(Bound::apply(func, args, Type::Bool, position)))
    }

    /// `enum_first`, `enum_last`, `enum_range` of one argument, of which the type counts and not the value.
    pub(super) fn enum_function(&self, name: &str, args: &[Bound], position: u32) -> Result<Option<Bound>> {
        let ("enum_first" | "enum_last" | "enum_range", [arg]) = (name, args) else { return Ok(None) };
        let of = match &arg.ty {
            Type::Enum(of) => of,
            Type::Unknown => {
                return Err(super::functions::missing_function(&format!("{name}(unknown)"), position));
            }
            _ => return Ok(None),
        };
        let value = |rank: i32| Datum::Int(rank.into());
        let end = |label: Option<&planaria_base::enumeration::Label>| match label {
            Some(label) => Ok(Some(Bound::constant(value(label.rank), arg.ty.clone(), position))),
            None => Err(empty(of)),
        };
        match name {
            "enum_first" => end(of.labels().first()),
            "enum_last" => end(of.labels().last()),
            _ => {
                let all = of.labels().iter().map(|label| value(label.rank)).collect();
                let ty = Type::Array(Box::new(arg.ty.clone()));
                Ok(Some(Bound::constant(Datum::Array(all), ty, position)))
            }
        }
    }
}

/// 55000 of a type without labels.
fn empty(of: &Enum) -> Error {
    let message = format!("enum {} contains no values", of.shown());
    Error::new(SqlState::OBJECT_NOT_IN_PREREQUISITE_STATE, message)
}
