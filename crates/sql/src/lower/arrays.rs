//! Arrays: subscripts and slices, ARRAY of arrays, functions whose types follow from those of arrays.

use super::Lowerer;
use super::bound::{Bound, BoundKind};
use super::names::Names;
use super::types::{CastContext, unmodified};
use planaria_base::limits::ARRAY_DIMENSIONS_MAX;
use planaria_base::shape::too_many_dimensions;
use planaria_base::types::PackedType;
use planaria_base::{Datum, Error, Result, SqlState, Type};
use planaria_catalog::ELEMENTS_FIT;
use planaria_ir::Func;
use planaria_syntax::ast::{self, BinaryOp, Expr, ExprKind, Subscript};

/// 42804
pub(super) fn no_subscripts(ty: &Type) -> Error {
    let message = format!("cannot subscript type {ty} because it does not support subscripting");
    Error::new(SqlState::DATATYPE_MISMATCH, message)
}

/// The elements of an array, or its slices, that are asked for.
pub(super) enum Place<T> {
    /// A subscript for each dimension.
    Element(Vec<T>),
    /// Of each bound whether it is given, as [`Func::ArraySlice`] has it; those that are.
    Slice(String, Vec<T>),
}

impl<T> Place<T> {
    /// Of what is in brackets; `bind` makes of an expression what is wanted. Where one is a slice all are: `[n]` is `[1:n]`.
    pub(super) fn of(
        list: &[Subscript],
        one: impl Fn() -> T,
        mut bind: impl FnMut(&Expr) -> Result<T>,
    ) -> Result<Place<T>> {
        if list.len() > ARRAY_DIMENSIONS_MAX {
            return Err(too_many_dimensions(list.len()));
        }
        let elements = |s: &Subscript| if let Subscript::Element(e) = s { Some(e.clone()) } else { None };
        if let Some(all) = list.iter().map(elements).collect::<Option<Vec<Expr>>>() {
            return Ok(Place::Element(all.iter().map(&mut bind).collect::<Result<_>>()?));
        }
        let (mut given, mut bounds) = (String::new(), Vec::new());
        for subscript in list {
            match subscript {
                Subscript::Element(upper) => {
                    given.push_str("11");
                    bounds.push(one());
                    bounds.push(bind(upper)?);
                }
                Subscript::Slice(lower, upper) => {
                    for bound in [lower, upper] {
                        given.push(if bound.is_some() { '1' } else { '0' });
                        bounds.extend(bound.as_ref().map(&mut bind).transpose()?);
                    }
                }
            }
        }
        Ok(Place::Slice(given, bounds))
    }
}

impl Lowerer<'_> {
    /// `base[..]..`
    pub(super) fn bind_subscripts(
        &mut self,
        names: &Names<'_>,
        base: Bound,
        list: &[Subscript],
        position: u32,
    ) -> Result<Bound> {
        let int = |n: i64| Bound::constant(Datum::Int(n), Type::Int4, position);
        match &base.ty {
            Type::Jsonb => {
                let mut value = base;
                for subscript in list {
                    let Subscript::Element(step) = subscript else {
                        let message = "jsonb subscript does not support slices";
                        return Err(Error::new(SqlState::DATATYPE_MISMATCH, message).at(position));
                    };
                    let step = self.bind(names, step)?;
                    value = self.json_subscript(value, step, position)?;
                }
                return Ok(value);
            }
            // Its letters, counted from 0.
            &Type::NAME => {
                let [Subscript::Element(index)] = list else { return Err(no_subscripts(&base.ty)) };
                let index = self.bind(names, index)?;
                let index = self.subscript(index)?;
                let from = self.binary(BinaryOp::Add, index, int(1), position)?;
                return Ok(Bound::apply(Func::SubstrFor, vec![base, from, int(1)], Type::CHAR, position));
            }
            _ => {}
        }
        let Some(of) = base.ty.element() else { return Err(no_subscripts(&base.ty)) };
        let from_zero = matches!(base.kind, BoundKind::Reg(r) if Some(r) == self.counted_from_zero);
        if from_zero || matches!(base.ty, Type::System(_)) {
            // Those of vectors count from 0, and so do the arguments of a trigger.
            let [Subscript::Element(index)] = list else { return Err(no_subscripts(&base.ty)) };
            let index = self.bind(names, index)?;
            let index = self.subscript(index)?;
            let index = self.binary(BinaryOp::Add, index, int(1), position)?;
            return Ok(Bound::apply(Func::ArrayGet, vec![base, index], of, position));
        }
        let place = Place::of(
            list,
            || int(1),
            |e| {
                let index = self.bind(names, e)?;
                self.subscript(index)
            },
        )?;
        Ok(match place {
            Place::Element(subscripts) => {
                let func = if subscripts.len() == 1 { Func::ArrayGet } else { Func::ArrayAt };
                let args = std::iter::once(base).chain(subscripts).collect();
                Bound::apply(func, args, of, position)
            }
            Place::Slice(given, bounds) => {
                let ty = base.ty.clone();
                let given = Bound::constant(Datum::Text(given), Type::Text, position);
                let args = [base, given].into_iter().chain(bounds).collect();
                Bound::apply(Func::ArraySlice, args, ty, position)
            }
        })
    }

    fn subscript(&mut self, index: Bound) -> Result<Bound> {
        if matches!(index.ty, Type::Int2 | Type::Int4 | Type::Int8) {
            return Ok(index);
        }
        self.coerce(index, &Type::Int4, CastContext::Assignment).map_err(|e| {
            if e.sqlstate() == SqlState::CANNOT_COERCE {
                Error::new(SqlState::DATATYPE_MISMATCH, "array subscript must have type integer")
            } else {
                e
            }
        })
    }

    /// `ARRAY[..]`, which is to be of a type if it stands in a cast.
    pub(super) fn bind_array(
        &mut self,
        names: &Names<'_>,
        list: &[Expr],
        wanted: Option<&Type>,
        position: u32,
    ) -> Result<Bound> {
        if list.is_empty() && wanted.is_none() {
            let message = "cannot determine type of empty array";
            return Err(Error::new(SqlState::INDETERMINATE_DATATYPE, message)
                .with_hint("Explicitly cast to the desired type, for example ARRAY[]::integer[]."));
        }
        let mut items = Vec::with_capacity(list.len());
        let mut nested = false;
        for e in list {
            let item = match &e.kind {
                ExprKind::Array(inner) => {
                    nested = true;
                    self.bind_array(names, inner, wanted, e.position)?
                }
                _ => self.bind(names, e)?,
            };
            nested |= matches!(item.ty, Type::Array(_));
            items.push(item);
        }
        let (items, ty) = match wanted {
            // The elements are converted, each on its own.
            Some(Type::Array(of)) => {
                let to = if nested { Type::Array(of.clone()) } else { (**of).clone() };
                let mut args = Vec::with_capacity(items.len());
                for item in items {
                    args.push(self.coerce(item, &to, CastContext::Explicit)?);
                }
                (args, Type::Array(of.clone()))
            }
            _ => {
                let (items, ty) = self.unify("ARRAY", items)?;
                let ty = unmodified(&ty);
                (items, if nested { ty } else { Type::Array(Box::new(ty)) })
            }
        };
        let func = if nested { Func::ArrayNest } else { Func::ArrayMake };
        Ok(Bound::apply(func, items, ty, position))
    }

    /// A function whose types follow from those of the arrays it is given; `None` where the name is no such function's.
    pub(super) fn bind_array_function(
        &mut self,
        name: &str,
        args: &[Bound],
        position: u32,
    ) -> Result<Option<Bound>> {
        if let Some(args) = self.in_common_type(name, args)? {
            return self.bind_array_function(name, &args, position);
        }
        let apply = |func, args, ty| Ok(Some(Bound::apply(func, args, ty, position)));
        let element = |b: &Bound| b.ty.element();
        let ints = Type::Array(Box::new(Type::Int4));
        match (name, args) {
            ("trim_array", [a, n]) if element(a).is_some() => {
                let n = self.operand(n.clone(), &Type::Int4)?;
                apply(Func::ArrayTrim, vec![a.clone(), n], unmodified(&a.ty))
            }
            ("array_length" | "array_upper" | "array_lower", [a, n]) if element(a).is_some() => {
                let n = self.operand(n.clone(), &Type::Int4)?;
                let func = match name {
                    "array_length" => Func::ArrayLength,
                    "array_upper" => Func::ArrayUpper,
                    _ => Func::ArrayLower,
                };
                apply(func, vec![a.clone(), n], Type::Int4)
            }
            ("cardinality", [a]) if element(a).is_some() => {
                apply(Func::Cardinality, vec![a.clone()], Type::Int4)
            }
            ("array_ndims", [a]) if element(a).is_some() => {
                apply(Func::ArrayNdims, vec![a.clone()], Type::Int4)
            }
            ("array_dims", [a]) if element(a).is_some() => {
                apply(Func::ArrayDims, vec![a.clone()], Type::Text)
            }
            ("array_fill", [value, lengths, lowers @ ..]) if lowers.len() < 2 => {
                if value.ty == Type::Unknown {
                    let message = "could not determine polymorphic type because input has type unknown";
                    return Err(Error::new(SqlState::DATATYPE_MISMATCH, message));
                }
                if matches!(value.ty, Type::Array(_)) {
                    let message = format!("could not find array type for data type {}", value.ty);
                    return Err(Error::new(SqlState::UNDEFINED_OBJECT, message));
                }
                let ty = Type::Array(Box::new(unmodified(&value.ty)));
                let mut all = vec![value.clone(), self.operand(lengths.clone(), &ints)?];
                for lower in lowers {
                    all.push(self.operand(lower.clone(), &ints)?);
                }
                let func = if lowers.is_empty() { Func::ArrayFill } else { Func::ArrayFillFrom };
                apply(func, all, ty)
            }
            ("array_append" | "array_remove" | "array_position" | "array_positions", [a, e])
                if element(a).is_some() =>
            {
                let of = unmodified(&element(a).expect("just seen"));
                let e = self.operand(e.clone(), &of)?;
                let (func, ty) = match name {
                    "array_append" => (Func::ArrayAppend, a.ty.clone()),
                    "array_remove" => (Func::ArrayRemove, a.ty.clone()),
                    "array_positions" => (Func::ArrayPositions, ints),
                    _ => (Func::ArrayPosition, Type::Int4),
                };
                apply(func, vec![a.clone(), e], ty)
            }
            ("array_position", [a, e, from]) if element(a).is_some() => {
                let of = unmodified(&element(a).expect("just seen"));
                let e = self.operand(e.clone(), &of)?;
                let from = self.operand(from.clone(), &Type::Int4)?;
                apply(Func::ArrayPositionFrom, vec![a.clone(), e, from], Type::Int4)
            }
            ("array_replace", [a, from, to]) if element(a).is_some() => {
                let of = unmodified(&element(a).expect("just seen"));
                let from = self.operand(from.clone(), &of)?;
                let to = self.operand(to.clone(), &of)?;
                apply(Func::ArrayReplace, vec![a.clone(), from, to], a.ty.clone())
            }
            (
                "array_append" | "array_remove" | "array_replace" | "array_position" | "array_positions",
                [a, elements @ ..],
            ) if a.ty == Type::Unknown && elements.iter().any(|e| e.ty != Type::Unknown) => {
                // The third argument of `array_position` is a number.
                let counted = if name == "array_position" { 1 } else { elements.len() };
                let known = elements.iter().take(counted).find(|e| e.ty != Type::Unknown);
                let Some(of) = known.map(|e| unmodified(&e.ty)) else { return Ok(None) };
                if matches!(of, Type::Array(_)) {
                    let message = format!("could not find array type for data type {of}");
                    return Err(Error::new(SqlState::UNDEFINED_OBJECT, message));
                }
                let whole = Type::Array(Box::new(of));
                let mut all = vec![self.coerce(a.clone(), &whole, CastContext::Implicit)?];
                all.extend_from_slice(elements);
                self.bind_array_function(name, &all, position)
            }
            ("array_prepend", [e, a]) if element(a).is_some() => {
                let of = unmodified(&element(a).expect("just seen"));
                let e = self.operand(e.clone(), &of)?;
                apply(Func::ArrayPrepend, vec![e, a.clone()], a.ty.clone())
            }
            ("array_prepend", [e, a]) if a.ty == Type::Unknown && e.ty != Type::Unknown => {
                let whole = Type::Array(Box::new(unmodified(&e.ty)));
                let a = self.coerce(a.clone(), &whole, CastContext::Implicit)?;
                apply(Func::ArrayPrepend, vec![e.clone(), a], whole)
            }
            ("array_cat", [a, b]) => self.binary(BinaryOp::Concat, a.clone(), b.clone(), position).map(Some),
            ("array_to_string", [a, sep, null @ ..]) if element(a).is_some() && null.len() < 2 => {
                if matches!(element(a), Some(Type::Bool | Type::Packed(PackedType::Inet))) {
                    let what = format!("array_to_string of {} is not supported", a.ty);
                    return Err(Error::unsupported(what, "cast the array to text[]").at(position));
                }
                let texts = Type::Array(Box::new(Type::Text));
                let a = self.coerce(a.clone(), &texts, CastContext::Assignment)?;
                let sep = self.operand(sep.clone(), &Type::Text)?;
                match null {
                    [null] => {
                        let null = self.operand(null.clone(), &Type::Text)?;
                        apply(Func::ArrayToStringOr, vec![a, sep, null], Type::Text)
                    }
                    _ => apply(Func::ArrayToString, vec![a, sep], Type::Text),
                }
            }
            (ast::PUT_FIELD, [row, field, value]) => self.put_field(row, field, value, position).map(Some),
            // What assignments to elements and slices stand for.
            (ast::PUT, [a, subscripts @ .., value]) => {
                if a.ty == Type::Jsonb {
                    return self.put_into_json_at(a, subscripts, value, position).map(Some);
                }
                let Some(of) = element(a) else { return Err(no_subscripts(&a.ty)) };
                let of = if self.form >= ELEMENTS_FIT { of } else { unmodified(&of) };
                if subscripts.len() > ARRAY_DIMENSIONS_MAX {
                    return Err(too_many_dimensions(subscripts.len()));
                }
                let mut places = self.assigned_subscripts(subscripts)?;
                let value = self.coerce(value.clone(), &of, CastContext::Assignment)?;
                if let [_] = places[..] {
                    let place = places.remove(0);
                    return apply(Func::ArrayPut, vec![a.clone(), place, value], a.ty.clone());
                }
                let args = [a.clone(), value].into_iter().chain(places).collect();
                apply(Func::ArrayPutAt, args, a.ty.clone())
            }
            (ast::PUT_SLICE, [a, given, bounds @ .., value]) => {
                if a.ty == Type::Jsonb {
                    let message = "jsonb subscript does not support slices";
                    return Err(Error::new(SqlState::DATATYPE_MISMATCH, message));
                }
                if !matches!(a.ty, Type::Array(_)) {
                    return Err(no_subscripts(&a.ty));
                }
                let given = match given.as_const() {
                    Some(Datum::Text(given)) if given.len() <= 2 * ARRAY_DIMENSIONS_MAX => given.clone(),
                    Some(Datum::Text(given)) => return Err(too_many_dimensions(given.len() / 2)),
                    _ => return Err(Error::internal("the bounds of a slice")),
                };
                let bounds = self.assigned_subscripts(bounds)?;
                let whole = if self.form >= ELEMENTS_FIT { a.ty.clone() } else { unmodified(&a.ty) };
                let value = self.coerce(value.clone(), &whole, CastContext::Assignment)?;
                let given = Bound::constant(Datum::Text(given), Type::Text, position);
                let args = [a.clone(), value, given].into_iter().chain(bounds).collect();
                apply(Func::ArrayPutSlice, args, a.ty.clone())
            }
            // Elements that are the third text are NULL.
            ("string_to_array", [_, _, null]) => {
                let Some(all) = self.bind_builtin(name, &args[..2], false, position)? else {
                    return Ok(None);
                };
                let null = self.operand(null.clone(), &Type::Text)?;
                let ty = all.ty.clone();
                let none = Bound::null(Type::Text, position);
                apply(Func::ArrayReplace, vec![all, null, none], ty)
            }
            _ => Ok(None),
        }
    }

    /// The arguments of a function of an array and elements where these do not fit it: the array becomes one of their common
    /// type.
    fn in_common_type(&mut self, name: &str, args: &[Bound]) -> Result<Option<Vec<Bound>>> {
        let (array, elements) = match (name, args) {
            ("array_append" | "array_remove" | "array_replace" | "array_positions", [_, elements @ ..]) => {
                (0, elements)
            }
            // The third argument of `array_position` is a number.
            ("array_position", [_, elements @ ..]) => (0, &elements[..elements.len().min(1)]),
            ("array_prepend", [element, _]) => (1, std::slice::from_ref(element)),
            _ => return Ok(None),
        };
        let mut known = elements.iter().filter(|e| e.ty != Type::Unknown);
        let own = match &args[array].ty {
            Type::Unknown => known.next().map(|e| e.ty.clone()),
            ty => ty.element(),
        };
        let Some(own) = own.map(|ty| unmodified(&ty)) else { return Ok(None) };
        let others: Vec<&Bound> =
            known.filter(|e| !self.castable(&e.ty, &own, CastContext::Implicit)).collect();
        if others.is_empty() {
            return Ok(None);
        }
        let types: Vec<(&Type, u32)> =
            std::iter::once((&own, 0)).chain(others.iter().map(|e| (&e.ty, e.position))).collect();
        let Ok(common) = self.common_type("ARRAY", &types) else { return Ok(None) };
        let common = unmodified(&common);
        if common == own || matches!(common, Type::Array(_)) {
            return Ok(None);
        }
        let mut all = args.to_vec();
        let whole = Type::Array(Box::new(common));
        all[array] = self.coerce(args[array].clone(), &whole, CastContext::Implicit)?;
        Ok(Some(all))
    }

    fn assigned_subscripts(&mut self, subscripts: &[Bound]) -> Result<Vec<Bound>> {
        let subscripts = subscripts.iter().cloned();
        subscripts.map(|index| self.coerce(index, &Type::Int4, CastContext::Assignment)).collect()
    }

    /// `value[key][key].. = new` of jsonb: what is at the first key is put there with what is to be in it.
    fn put_into_json_at(
        &mut self,
        whole: &Bound,
        keys: &[Bound],
        new: &Bound,
        position: u32,
    ) -> Result<Bound> {
        let Some((key, rest)) = keys.split_first() else { return Ok(new.clone()) };
        if rest.is_empty() {
            return self.put_into_json(whole, key, new);
        }
        let inner = self.json_subscript(whole.clone(), key.clone(), position)?;
        let inner = self.put_into_json_at(&inner, rest, new, position)?;
        self.put_into_json(whole, key, &inner)
    }
}
