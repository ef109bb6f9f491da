//! Aggregates of statistics: functions of the arrays of their inputs.

use super::Lowerer;
use super::bind_aggregate::GATHERED;
use super::bound::{Bound, BoundKind};
use super::types::CastContext;
use planaria_base::types::{PackedKind, PackedType};
use planaria_base::{Datum, Error, Result, SqlState, Type};
use planaria_ir::{Func, ProgramKind};
use planaria_syntax::ast::{Argument, Expr, ExprKind, FunctionCall, Name, TypeName, TypeNameKind};

/// Of one input, of pairs, of bits, of what is sorted. Nothing that SQL can call has a blank in its name unquoted.
const SPREAD: &str = "our spread";
const REGRESSION: &str = "our regression";
const BITS: &str = "our bits";
const SORTED: &str = "our sorted";

/// Whether an aggregate is one of those that are given their input by WITHIN GROUP.
pub(super) fn is_ordered_set(name: &str) -> bool {
    matches!(name, "mode" | "percentile_cont" | "percentile_disc")
}

/// A call of such an aggregate as one of a function over `array_agg`; `None` for all else.
pub(super) fn aggregate(name: &str, call: &FunctionCall, position: u32) -> Result<Option<FunctionCall>> {
    let plain = |name: &str, args: Vec<Expr>| {
        let name = Name { parts: vec![name.to_owned()], position };
        FunctionCall::plain(name, args.into_iter().map(|value| Argument { name: None, value }).collect())
    };
    let expr = |call: FunctionCall| Expr { position, kind: ExprKind::Call(Box::new(call)) };
    let own_name = || Expr { position, kind: ExprKind::String(name.to_owned()) };
    let gathered = |value: &Expr| {
        expr(FunctionCall {
            distinct: call.distinct,
            order_by: call.order_by.clone(),
            filter: call.filter.clone(),
            over: call.over.clone(),
            ..plain(GATHERED, vec![value.clone()])
        })
    };
    let values: Vec<&Expr> = call.args.iter().map(|arg| &arg.value).collect();
    let unknown = |e: &Expr| matches!(e.kind, ExprKind::String(_) | ExprKind::Null);
    let double = |e: &Expr| {
        let ty = TypeName { position, kind: TypeNameKind::Known(Type::Float8) };
        Expr { position, kind: ExprKind::Cast(Box::new(e.clone()), ty) }
    };
    if let [value] = values[..]
        && unknown(value)
        && !is_ordered_set(name)
    {
        return Err(super::functions::ambiguous(name, &[Type::Unknown], position));
    }
    Ok(Some(match (name, &values[..]) {
        ("stddev" | "stddev_pop" | "stddev_samp" | "variance" | "var_pop" | "var_samp", [value]) => {
            plain(SPREAD, vec![gathered(value), own_name()])
        }
        ("bit_and" | "bit_or" | "bit_xor", [value]) => plain(BITS, vec![gathered(value), own_name()]),
        (
            "corr" | "covar_pop" | "covar_samp" | "regr_avgx" | "regr_avgy" | "regr_count" | "regr_intercept"
            | "regr_r2" | "regr_slope" | "regr_sxx" | "regr_sxy" | "regr_syy",
            [y, x],
        ) => {
            if call.distinct {
                let hint = "Tell the pairs apart in a subquery.";
                return Err(Error::unsupported(format!("{name} of DISTINCT pairs is not supported"), hint)
                    .at(position));
            }
            let [y, x] = [y, x].map(|e| if unknown(e) { double(e) } else { (*e).clone() });
            plain(REGRESSION, vec![gathered(&y), gathered(&x), own_name()])
        }
        _ if is_ordered_set(name) => {
            if call.over.is_some() {
                let message = format!("OVER is not supported for ordered-set aggregate {name}");
                return Err(Error::new(SqlState::FEATURE_NOT_SUPPORTED, message).at(position));
            }
            let [item] = &call.order_by[..] else { return Ok(None) };
            if unknown(&item.expr) {
                let message = "could not determine polymorphic type because input has type unknown";
                return Err(Error::new(SqlState::DATATYPE_MISMATCH, message).at(position));
            }
            match (name, &values[..]) {
                ("mode", []) => plain(SORTED, vec![gathered(&item.expr), own_name()]),
                ("mode", _) | (_, []) => return Ok(None),
                (_, [share]) => plain(SORTED, vec![gathered(&item.expr), own_name(), (*share).clone()]),
                _ => return Ok(None),
            }
        }
        _ => return Ok(None),
    }))
}

/// The name that a call tells.
fn told(name: &Bound) -> String {
    match name.as_const() {
        Some(Datum::Text(name)) => name.clone(),
        _ => String::new(),
    }
}

impl Lowerer<'_> {
    /// The functions that the calls are of.
    pub(super) fn bind_statistics(
        &mut self,
        name: &str,
        args: &[Bound],
        position: u32,
    ) -> Result<Option<Bound>> {
        let apply = |func, args, ty| Ok(Some(Bound::apply(func, args, ty, position)));
        let doubles = Type::Array(Box::new(Type::Float8));
        let element = args.first().and_then(|a| a.ty.element()).map(|ty| ty.base());
        let no_function = |name: &Bound| {
            let name = told(name);
            let types: Vec<Type> = element.iter().cloned().collect();
            super::functions::no_function(&name, &types, position)
        };
        match (name, args) {
            (SPREAD, [all, name]) => match element {
                Some(Type::Float4 | Type::Float8) => {
                    let all = self.coerce(all.clone(), &doubles, CastContext::Explicit)?;
                    let name = self.operand(name.clone(), &Type::Text)?;
                    apply(Func::FltSpread, vec![all, name], Type::Float8)
                }
                Some(Type::Int2 | Type::Int4 | Type::Int8 | Type::Numeric(_)) => {
                    let name = self.operand(name.clone(), &Type::Text)?;
                    apply(Func::NumSpread, vec![all.clone(), name], Type::Numeric(None))
                }
                _ => Err(no_function(name)),
            },
            (BITS, [all, name]) => match element.clone() {
                Some(ty @ (Type::Int2 | Type::Int4 | Type::Int8)) => {
                    let name = self.operand(name.clone(), &Type::Text)?;
                    apply(Func::BitFold, vec![all.clone(), name], ty)
                }
                Some(Type::Packed(of)) if of.kind() == PackedKind::Bits => {
                    let name = self.operand(name.clone(), &Type::Text)?;
                    apply(Func::BitsFold, vec![all.clone(), name], PackedType::Bit(None).ty())
                }
                _ => Err(no_function(name)),
            },
            (REGRESSION, [ys, xs, name]) => {
                let ys = self.coerce(ys.clone(), &doubles, CastContext::Explicit)?;
                let xs = self.coerce(xs.clone(), &doubles, CastContext::Explicit)?;
                let counts = told(name).contains("count");
                let name = self.operand(name.clone(), &Type::Text)?;
                let bound = Bound::apply(Func::Regression, vec![ys, xs, name], Type::Float8, position);
                match counts {
                    true => {
                        let count = self.coerce(bound, &Type::Int8, CastContext::Explicit)?;
                        let none = Bound::constant(Datum::Int(0), Type::Int8, position);
                        Ok(Some(Bound::new(BoundKind::Coalesce(vec![count, none]), Type::Int8, position)))
                    }
                    false => Ok(Some(bound)),
                }
            }
            (SORTED, [all, _]) => {
                let Some(ty) = all.ty.element() else { return Ok(None) };
                apply(Func::ModeOf, vec![all.clone()], ty)
            }
            (SORTED, [all, name, share]) => {
                let Some(ty) = all.ty.element() else { return Ok(None) };
                let given = share.ty.clone();
                // One share, or an array of them, for as many percentiles.
                let several = given.element().is_some();
                let all = &match several {
                    true => self.unless_empty(all, &ty, position),
                    // Of no rows, too, the share is looked at.
                    false => {
                        let none = Bound::apply(Func::ArrayMake, Vec::new(), all.ty.clone(), position);
                        let values = vec![all.clone(), none];
                        Bound::new(BoundKind::Coalesce(values), all.ty.clone(), position)
                    }
                };
                let share = self.operand(share.clone(), if several { &doubles } else { &Type::Float8 })?;
                if told(name).contains("disc") {
                    return match several {
                        true => apply(Func::PercentileDiscs, vec![all.clone(), share], all.ty.clone()),
                        false => apply(Func::PercentileDisc, vec![all.clone(), share], ty),
                    };
                }
                if ty == Type::Interval && several {
                    let message = "percentiles of several shares of intervals are not supported";
                    return Err(Error::unsupported(message, "Call it once for each share.").at(position));
                }
                if ty == Type::Interval {
                    return apply(Func::PercentileInterval, vec![all.clone(), share], ty);
                }
                let number = matches!(
                    ty.base(),
                    Type::Int2 | Type::Int4 | Type::Int8 | Type::Numeric(_) | Type::Float4 | Type::Float8
                );
                if !number {
                    return Err(super::functions::no_function(&told(name), &[given, ty], position));
                }
                let all = self.coerce(all.clone(), &doubles, CastContext::Explicit)?;
                match several {
                    true => apply(Func::PercentileConts, vec![all, share], doubles),
                    false => apply(Func::PercentileCont, vec![all, share], Type::Float8),
                }
            }
            _ => Ok(None),
        }
    }

    /// The rows for the percentiles of several shares: NULL, where there is none, as in PostgreSQL. Routines give an array of
    /// NULLs, as logs have calls that stored it.
    fn unless_empty(&self, all: &Bound, ty: &Type, position: u32) -> Bound {
        let statement = self.program.kind == ProgramKind::Statement && !self.kept_text;
        if !statement || ty.element().is_some() {
            return all.clone();
        }
        let there = vec![all.clone(), Bound::null(ty.clone(), position)];
        let there = Bound::apply(Func::ArrayRemove, there, all.ty.clone(), position);
        let count = Bound::apply(Func::Cardinality, vec![there], Type::Int4, position);
        let zero = Bound::constant(Datum::Int(0), Type::Int4, position);
        let empty = Bound::apply(Func::IntEq, vec![count, zero], Type::Bool, position);
        let whens = vec![(empty, Bound::null(all.ty.clone(), position))];
        Bound::new(BoundKind::Case(whens, Box::new(all.clone())), all.ty.clone(), position)
    }
}
