//! Ranges: operators, constructors, and the functions that ask for their bounds.

use super::Lowerer;
use super::bound::Bound;
use super::functions::{ambiguous, no_function};
use super::operators::{comparison, no_operator, symbol};
use super::types::{CastContext, cast_allowed};
use planaria_base::types::{RangeType, TypeClass};
use planaria_base::{Datum, Error, Result, SqlState, Type};
use planaria_ir::Func;
use planaria_syntax::ast::BinaryOp;

/// The function of an operator between two ranges, what it gives (`None`: a range of their type), and whether its operands
/// change places.
fn between_ranges(which: BinaryOp) -> Option<(Func, Option<Type>, bool)> {
    let truth = Some(Type::Bool);
    Some(match which {
        BinaryOp::Overlaps => (Func::RangeOverlaps, truth, false),
        BinaryOp::Contains => (Func::RangeContains, truth, false),
        BinaryOp::ContainedBy => (Func::RangeContains, truth, true),
        BinaryOp::Shl => (Func::RangeBefore, truth, false),
        BinaryOp::Shr => (Func::RangeBefore, truth, true),
        BinaryOp::EndsWithin => (Func::RangeEndsWithin, truth, false),
        BinaryOp::BeginsWithin => (Func::RangeBeginsWithin, truth, false),
        BinaryOp::Adjacent => (Func::RangeAdjacent, truth, false),
        BinaryOp::Add => (Func::RangeUnion, None, false),
        BinaryOp::Sub => (Func::RangeMinus, None, false),
        BinaryOp::Mul => (Func::RangeIntersect, None, false),
        which => (comparison(which, TypeClass::Range)?, truth, false),
    })
}

impl Lowerer<'_> {
    /// An operator of which one side is a range. The other side is a range of the same type or, of `@>` and `<@`, a value
    /// of just the type of its bounds; a bare literal is read as a range.
    pub(super) fn range_operator(
        &mut self,
        which: BinaryOp,
        left: &Bound,
        right: &Bound,
        position: u32,
    ) -> Result<Option<Bound>> {
        let (l, r) = (&left.ty, &right.ty);
        let (of, left_is) = match (l, r) {
            (Type::Range(of), _) => (*of, true),
            (_, Type::Range(of)) => (*of, false),
            _ => return Ok(None),
        };
        // `||` takes anything beside a text; an array of ranges has its own operators.
        if which == BinaryOp::Concat || matches!(l, Type::Array(_)) || matches!(r, Type::Array(_)) {
            return Ok(None);
        }
        let ty = Type::Range(of);
        let other = if left_is { r } else { l };
        let element = of.element();
        if other.base() == element {
            let has = match which {
                BinaryOp::Contains if left_is => Some((left, right)),
                BinaryOp::ContainedBy if !left_is => Some((right, left)),
                _ => None,
            };
            if let Some((range, value)) = has {
                let args = vec![range.clone(), self.operand(value.clone(), &element)?];
                return Ok(Some(Bound::apply(Func::RangeHas, args, Type::Bool, position)));
            }
        }
        let missing = || no_operator(symbol(which), Some(l), r, position);
        if *other != ty && *other != Type::Unknown {
            return Err(missing());
        }
        let (func, result, turned) = between_ranges(which).ok_or_else(missing)?;
        let mut args = vec![self.operand(left.clone(), &ty)?, self.operand(right.clone(), &ty)?];
        if turned {
            args.reverse();
        }
        Ok(Some(Bound::apply(func, args, result.unwrap_or(ty), position)))
    }

    /// Constructors, bounds and their like; `None` where it is no function of ranges.
    pub(super) fn range_function(
        &mut self,
        name: &str,
        args: &[Bound],
        position: u32,
    ) -> Result<Option<Bound>> {
        if let Some(of) = RangeType::by_name(name)
            && matches!(args.len(), 2 | 3)
        {
            return self.made_range(of, args, position).map(Some);
        }
        let asked = match name {
            "isempty" => Func::RangeIsEmpty,
            "lower_inc" => Func::RangeLowerInc,
            "upper_inc" => Func::RangeUpperInc,
            "lower_inf" => Func::RangeLowerInf,
            "upper_inf" => Func::RangeUpperInf,
            "lower" | "upper" => {
                let [Bound { ty: Type::Range(of), .. }] = args else { return Ok(None) };
                let func = if name == "lower" { Func::RangeLower } else { Func::RangeUpper };
                return Ok(Some(Bound::apply(func, args.to_vec(), of.element(), position)));
            }
            "range_merge" => return self.merged(args, position),
            _ => return Ok(None),
        };
        match args {
            [Bound { ty: Type::Range(_), .. }] => {
                Ok(Some(Bound::apply(asked, args.to_vec(), Type::Bool, position)))
            }
            // Of a multirange, or of a range?
            [Bound { ty: Type::Unknown, .. }] => Err(ambiguous(name, &[Type::Unknown], position)),
            _ => Ok(None),
        }
    }

    fn merged(&mut self, args: &[Bound], position: u32) -> Result<Option<Bound>> {
        let [a, b] = args else { return Ok(None) };
        let ty = match (&a.ty, &b.ty) {
            (ty @ Type::Range(_), other) | (other, ty @ Type::Range(_))
                if *other == *ty || *other == Type::Unknown =>
            {
                ty.clone()
            }
            (Type::Unknown, Type::Unknown) => return Err(undetermined(position)),
            _ => return Ok(None),
        };
        let args = vec![self.operand(a.clone(), &ty)?, self.operand(b.clone(), &ty)?];
        Ok(Some(Bound::apply(Func::RangeMerge, args, ty, position)))
    }

    /// `int4range(lower, upper [, flags])`
    fn made_range(&mut self, of: RangeType, args: &[Bound], position: u32) -> Result<Bound> {
        let element = of.element();
        let wanted = [&element, &element, &Type::Text];
        let fits = args.iter().zip(wanted).all(|(arg, ty)| cast_allowed(&arg.ty, ty, CastContext::Implicit));
        if !fits {
            let types: Vec<Type> = args.iter().map(|a| a.ty.clone()).collect();
            return Err(no_function(of.name(), &types, position));
        }
        let mut all = Vec::with_capacity(4);
        for (arg, ty) in args.iter().zip(wanted) {
            all.push(self.coerce(arg.clone(), ty, CastContext::Implicit)?);
        }
        if all.len() == 2 {
            all.push(Bound::constant(Datum::Text("[)".to_owned()), Type::Text, position));
        }
        all.push(Bound::constant(Datum::Int(of.index()), Type::Int4, position));
        Ok(Bound::apply(Func::RangeMake, all, Type::Range(of), position))
    }
}

#[cold]
fn undetermined(position: u32) -> Error {
    let message = "could not determine polymorphic type because input has type unknown";
    Error::new(SqlState::DATATYPE_MISMATCH, message).at(position)
}
