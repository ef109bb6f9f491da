//! Parameters into registers, converted to their declared types.

use crate::params::{ParamRef, Params};
use planaria_base::datetime::{date_from_days, parse_timestamptz, time_from_micros, timestamp_from_micros};
use planaria_base::range::Range;
use planaria_base::text_io::to_real;
use planaria_base::types::TypeClass;
use planaria_base::{Datum, Error, Numeric, Result, SqlState, Type};
use planaria_exec::functions::{cast, nest_arrays};
use planaria_exec::heap::Heap;
use planaria_exec::slot::Slot;
use planaria_syntax::parse::zero_byte;
use std::fmt;

/// Puts parameter number `position` (from 1) into the heap as a value of type `ty`.
#[inline]
pub(crate) fn bind(param: ParamRef<'_>, ty: &Type, position: usize, heap: &mut Heap) -> Result<Slot> {
    match (param, ty) {
        (ParamRef::Null, _) => Ok(Slot::Null),
        (ParamRef::Text(t), _) if t.as_bytes().contains(&0) => Err(at(zero_byte(), position)),
        (ParamRef::Int(n) | ParamRef::Stored(n), Type::Int8) => Ok(Slot::Int(n)),
        (ParamRef::Int(n) | ParamRef::Stored(n), Type::Int4) if i32::try_from(n).is_ok() => Ok(Slot::Int(n)),
        (ParamRef::Int(n) | ParamRef::Stored(n), Type::Int2) if i16::try_from(n).is_ok() => Ok(Slot::Int(n)),
        (ParamRef::Int(n) | ParamRef::Stored(n), Type::Numeric(None)) => {
            Ok(Slot::numeric(Numeric::from_i64(n)))
        }
        (ParamRef::Int(n) | ParamRef::Stored(n), Type::Float8) => Ok(Slot::Float(n as f64)),
        (ParamRef::Numeric(n), Type::Numeric(None)) => Ok(Slot::numeric(n)),
        (ParamRef::Float(x), Type::Float8) => Ok(Slot::Float(x)),
        (ParamRef::Float(x), Type::Float4) => to_real(x).map(Slot::Float).map_err(|e| at(e, position)),
        (ParamRef::Bool(b), Type::Bool) => Ok(Slot::Bool(b)),
        (ParamRef::Uuid(u), Type::Uuid) => Ok(Slot::Uuid(u)),
        (ParamRef::Bytes(b), Type::Bytea) => heap.bytea(b),
        // What an answer had.
        (ParamRef::Bytes(b), Type::Range(of)) if Range::decode(b).is_some_and(|r| r.of == *of) => {
            heap.bytea(b)
        }
        (ParamRef::Bytes(b), Type::Packed(of)) if of.is_value(b) => heap.bytea(b),
        (ParamRef::Text(t), Type::Citext) => heap.citext(t),
        (ParamRef::Text(t), Type::Text | Type::Varchar(None) | Type::Unknown) => heap.text(t),
        (ParamRef::Stored(n), Type::Date) => date_from_days(n).map(Slot::Int).map_err(|e| at(e, position)),
        (ParamRef::Stored(n), Type::Timestamp | Type::TimestampTz) => {
            timestamp_from_micros(n).map(Slot::Int).map_err(|e| at(e, position))
        }
        (ParamRef::Stored(n), Type::Time) => time_from_micros(n).map(Slot::Int).map_err(|e| at(e, position)),
        (ParamRef::Stored(n), Type::Enum(of)) if of.label(n).is_some() => Ok(Slot::Int(n)),
        (ParamRef::Interval(i), Type::Interval) => Ok(Slot::Interval(i)),
        (ParamRef::Array(items), Type::Array(of)) => bind_array(items, ty, of, position, heap),
        (ParamRef::Shaped(array), Type::Array(of)) => {
            let list = bind_array(&array.elements(), ty, of, position, heap)?.array();
            heap.shaped(list, Some(*array.shape()))
        }
        (ParamRef::Array(items), Type::Record(fields)) if items.count() == fields.len() => {
            let fields = fields.iter().enumerate();
            let row: Vec<Slot> =
                fields.map(|(i, (_, of))| bind(items.param(i), of, position, heap)).collect::<Result<_>>()?;
            heap.array(&row)
        }
        // It was stored as one.
        (ParamRef::Stored(_), Type::Rounded(..)) => bind(param, ty.plain(), position, heap),
        // As clocks of the session's time zone show it.
        (ParamRef::Text(t), Type::TimestampTz) => {
            let micros = parse_timestamptz(t, heap.forms()).map_err(|e| at(e, position))?;
            Ok(Slot::Int(micros))
        }
        // What it comes to is an argument, and logged as one.
        (ParamRef::Text(t), ty)
            if ty.has_zone()
                || ty.row_of().is_some()
                || heap.styles().reads_otherwise() && ty.has_style() =>
        {
            let text = heap.text(t)?;
            heap.unnoticed(|heap| cast(text, &Type::Text, ty, true, heap)).map_err(|e| at(e, position))
        }
        (ParamRef::Text(t), ty) => heap.push_datum(&Datum::parse(ty, t).map_err(|e| at(e, position))?),
        (param, ty) => convert(param, ty, position, heap),
    }
}

fn bind_array(items: &dyn Params, ty: &Type, of: &Type, position: usize, heap: &mut Heap) -> Result<Slot> {
    let mut few = [Slot::Null; 32];
    let n = items.count();
    // Of arrays: they are the rows of one.
    if n > 0
        && !matches!(of, Type::Record(_))
        && matches!(items.param(0), ParamRef::Array(_) | ParamRef::Shaped(_))
    {
        let rows: Vec<Slot> =
            (0..n).map(|i| bind(items.param(i), ty, position, heap)).collect::<Result<_>>()?;
        return nest_arrays(heap, &rows).map_err(|e| at(e, position));
    }
    if n <= few.len() {
        for (i, slot) in few[..n].iter_mut().enumerate() {
            *slot = bind(items.param(i), of, position, heap)?;
        }
        return heap.array(&few[..n]);
    }
    let many: Vec<Slot> = (0..n).map(|i| bind(items.param(i), of, position, heap)).collect::<Result<_>>()?;
    heap.array(&many)
}

/// The rare conversions: by way of the text form, which every type has.
#[cold]
fn convert(param: ParamRef<'_>, ty: &Type, position: usize, heap: &mut Heap) -> Result<Slot> {
    let (datum, from) = match param {
        ParamRef::Date(days) => (Datum::Int(days), Type::Date),
        ParamRef::Time(micros) => (Datum::Int(micros), Type::Time),
        ParamRef::Timestamp(micros) => (Datum::Int(micros), Type::Timestamp),
        ParamRef::TimestampTz(micros) => (Datum::Int(micros), Type::TimestampTz),
        ParamRef::Json(value) => (Datum::Text(json(value, position)?), JSON),
        ParamRef::Refused(state, why) => return Err(at(Error::new(state, why), position)),
        ParamRef::Bool(b) => (Datum::Bool(b), Type::Bool),
        ParamRef::Int(n) | ParamRef::Stored(n) => (Datum::Int(n), Type::Int8),
        ParamRef::Float(x) => (Datum::Float(x), Type::Float8),
        ParamRef::Numeric(n) => (Datum::Numeric(n), Type::Numeric(None)),
        ParamRef::Long(n) => (n.clone().narrow().into(), Type::Numeric(None)),
        ParamRef::Uuid(u) => (Datum::Uuid(u), Type::Uuid),
        ParamRef::Interval(i) => (Datum::Interval(i), Type::Interval),
        ParamRef::Bytes(b) => (Datum::Bytea(b.to_vec()), Type::Bytea),
        ParamRef::Null | ParamRef::Text(_) | ParamRef::Array(_) | ParamRef::Shaped(_) => {
            return Err(Error::new(
                SqlState::DATATYPE_MISMATCH,
                format!("parameter ${position} is of type {ty}, the value given is an array"),
            ));
        }
    };
    let moment = |ty: &Type| matches!(ty, Type::Date | Type::Timestamp | Type::TimestampTz);
    let compatible = match (&from, ty) {
        // With a zone, or without? Nobody would agree. A day begins at midnight.
        (from, ty) if moment(from) && moment(ty) => {
            from == ty || (from, ty) == (&Type::Date, &Type::Timestamp)
        }
        (from, Type::Jsonb) => *from == JSON,
        _ => {
            from.class() == ty.class()
                || matches!(ty.class(), TypeClass::Text | TypeClass::Citext)
                || matches!(
                    (from.class(), ty.class()),
                    (
                        TypeClass::Integer | TypeClass::Numeric | TypeClass::Float,
                        TypeClass::Numeric | TypeClass::Float
                    )
                )
        }
    };
    if !compatible {
        let message = format!("parameter ${position} is of type {ty}, the value given is of type {from}");
        let error = Error::new(SqlState::DATATYPE_MISMATCH, message);
        return Err(match (ty.class(), from.class()) {
            // Of which unit, since when?
            (TypeClass::DateTime | TypeClass::Time | TypeClass::Interval, TypeClass::Integer) => {
                error.with_hint("Pass it as text, such as '2026-11-25 12:00'.")
            }
            (TypeClass::DateTime, TypeClass::DateTime) => error.with_hint(
                "Pass a value of that type, or state the conversion, as in $1::timestamp AT TIME ZONE 'UTC'.",
            ),
            _ => error,
        });
    }
    heap.push_datum(&Datum::parse(ty, &datum.display(&from)).map_err(|e| at(e, position))?)
}

const JSON: Type = Type::JSON;

/// The text of a JSON value.
fn json(value: &dyn fmt::Display, position: usize) -> Result<String> {
    let mut text = String::new();
    match fmt::write(&mut text, format_args!("{value}")) {
        Ok(()) if text.contains('\0') => Err(at(zero_byte(), position)),
        Ok(()) => Ok(text),
        Err(_) => {
            let message = "the value cannot be written as JSON";
            Err(at(Error::new(SqlState::INVALID_PARAMETER_VALUE, message), position))
        }
    }
}

#[cold]
fn at(error: Error, position: usize) -> Error {
    error.context(format!("parameter ${position}"))
}
