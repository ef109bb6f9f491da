//! Parameters as the client sends them, text or binary, kept with their portal and lent to the engine.

use crate::encode::Format;
use crate::read::{Reader, text, violation};
use planaria::serving::ServedSession;
use planaria::{Datum, Error, Numeric, ParamRef, Params, Result, Session, SqlState, Type};
use planaria_base::datetime::Interval;
use planaria_base::datetime::{date_from_days, time_from_micros, timestamp_from_micros};
use planaria_base::limits::ARRAY_DIMENSIONS_MAX;
use planaria_base::numeric::Long;
use planaria_base::range::{self, RangeBound, RangeType, RangeValue};
use planaria_base::shape::{Dimension, Shape, Shaped, too_many_dimensions, too_many_elements};
use planaria_base::types::{RowType, TypeClass};
use planaria_base::{json, oid};
use std::ops::Range;

/// OIDs that declare nothing: unspecified and unknown.
const UNDECLARED: [u32; 2] = [0, 705];

/// The type that a client declares for a parameter; `None`: from its context. 0A000 for types that are not
/// known here.
pub(crate) fn declared(oid: u32, session: &mut Session) -> Result<Option<Type>> {
    if UNDECLARED.contains(&oid) {
        return Ok(None);
    }
    match oid::to_type(oid, -1).or_else(|| session.user_type(oid)) {
        Some(Type::Char(_)) => Ok(Some(Type::Text)),
        Some(ty) => Ok(Some(ty)),
        None => Err(Error::unsupported(
            format!("parameters of the type with OID {oid} are not supported"),
            "Send the value as text or cast it in the statement.",
        )),
    }
}

/// A parameter: a value, or where it lies in the bytes of its Bind message.
enum Value {
    Null,
    Bool(bool),
    Int(i64),
    Float(f64),
    Numeric(Numeric),
    Long(Box<Long>),
    Uuid([u8; 16]),
    Interval(Interval),
    Text(Range<usize>),
    Bytes(Range<usize>),
    Array(Vec<Datum>),
    Shaped(Box<Shaped>),
}

/// The parameters of a portal. Its memory is used again by the next one.
#[derive(Default)]
pub(crate) struct Parameters {
    values: Vec<Value>,
    bytes: Vec<u8>,
}

impl Parameters {
    /// Memory that it takes.
    pub(crate) fn bytes(&self) -> usize {
        self.values.capacity() * size_of::<Value>() + self.bytes.capacity()
    }
}

impl Params for Parameters {
    fn count(&self) -> usize {
        self.values.len()
    }

    fn param(&self, i: usize) -> ParamRef<'_> {
        match &self.values[i] {
            Value::Null => ParamRef::Null,
            Value::Bool(b) => ParamRef::Bool(*b),
            Value::Int(n) => ParamRef::Stored(*n),
            Value::Float(x) => ParamRef::Float(*x),
            Value::Numeric(n) => ParamRef::Numeric(*n),
            Value::Long(n) => ParamRef::Long(n),
            Value::Uuid(u) => ParamRef::Uuid(*u),
            Value::Interval(i) => ParamRef::Interval(*i),
            // Checked when it came in.
            Value::Text(at) => {
                ParamRef::Text(std::str::from_utf8(&self.bytes[at.clone()]).unwrap_or_default())
            }
            Value::Bytes(at) => ParamRef::Bytes(&self.bytes[at.clone()]),
            Value::Array(items) => ParamRef::Array(items),
            Value::Shaped(array) => ParamRef::Shaped(array),
        }
    }
}

impl Parameters {
    /// Reads the parameters of a Bind message: formats, then values. `types`: what the statement of that name wants.
    pub(crate) fn read(&mut self, body: &mut Reader<'_>, name: &str, types: &[Type]) -> Result<()> {
        self.values.clear();
        self.bytes.clear();
        let formats = body.count(2)?;
        let mut formats = Reader::new(body.bytes(formats * 2)?);
        let count = body.count(4)?;
        let given = formats.rest().len() / 2;
        if given > 1 && given != count {
            return Err(violation(format!(
                "bind message has {given} parameter formats but {count} parameters"
            )));
        }
        if count != types.len() {
            return Err(violation(format!(
                "bind message supplies {count} parameters, but prepared statement \"{name}\" requires {}",
                types.len()
            )));
        }
        let mut format = Format::Text;
        for (i, ty) in types.iter().enumerate() {
            if i < given {
                format = format_code(formats.i16()?)?;
            }
            let len = body.i32()?;
            let Ok(len) = usize::try_from(len) else {
                if len != -1 {
                    return Err(violation("insufficient data left in message"));
                }
                self.values.push(Value::Null);
                continue;
            };
            let bytes = body.bytes(len)?;
            let value = match format {
                Format::Text => self.text(bytes, ty)?,
                Format::Binary => self
                    .binary(bytes, ty)
                    .map_err(|e| e.context(format!("unnamed portal parameter ${}", i + 1)))?,
            };
            self.values.push(value);
        }
        Ok(())
    }

    fn text(&mut self, bytes: &[u8], ty: &Type) -> Result<Value> {
        let text = text(bytes)?;
        // What is plain is read here: it need not be kept.
        if let Type::Int2 | Type::Int4 | Type::Int8 = ty
            && let Ok(n) = text.parse::<i64>()
        {
            return Ok(Value::Int(n));
        }
        Ok(Value::Text(self.keep(bytes)))
    }

    fn keep(&mut self, bytes: &[u8]) -> Range<usize> {
        let start = self.bytes.len();
        self.bytes.extend_from_slice(bytes);
        start..self.bytes.len()
    }

    fn binary(&mut self, bytes: &[u8], ty: &Type) -> Result<Value> {
        Ok(match ty {
            Type::Text | Type::Varchar(_) | Type::Char(_) | Type::Citext | Type::Unknown => {
                text(bytes)?;
                Value::Text(self.keep(bytes))
            }
            Type::Bytea => Value::Bytes(self.keep(bytes)),
            Type::Array(_) | Type::Record(_) => match binary_datum(bytes, ty)? {
                Datum::Array(items) => Value::Array(items),
                Datum::Shaped(array) => Value::Shaped(array),
                _ => Value::Null,
            },
            ty => match binary_datum(bytes, ty)? {
                Datum::Bool(b) => Value::Bool(b),
                Datum::Int(n) => Value::Int(n),
                Datum::Float(x) => Value::Float(x),
                Datum::Numeric(n) => Value::Numeric(n),
                Datum::Long(n) => Value::Long(n),
                Datum::Uuid(u) => Value::Uuid(u),
                Datum::Interval(i) => Value::Interval(i),
                other => {
                    let shown = other.display(ty);
                    Value::Text(self.keep(shown.as_bytes()))
                }
            },
        })
    }
}

/// 0 is text, 1 is binary.
pub(crate) fn format_code(code: i16) -> Result<Format> {
    match code {
        0 => Ok(Format::Text),
        1 => Ok(Format::Binary),
        code => {
            Err(Error::new(SqlState::INVALID_PARAMETER_VALUE, format!("unsupported format code: {code}")))
        }
    }
}

#[cold]
fn incorrect() -> Error {
    Error::new(SqlState::INVALID_BINARY_REPRESENTATION, "incorrect binary data format")
}

fn fixed<const N: usize>(bytes: &[u8]) -> Result<[u8; N]> {
    bytes.try_into().map_err(|_| incorrect())
}

/// A value of a type from its binary form; 22P03 where it is none.
pub(crate) fn binary_datum(bytes: &[u8], ty: &Type) -> Result<Datum> {
    Ok(match ty.plain() {
        Type::Bool => Datum::Bool(fixed::<1>(bytes)?[0] != 0),
        Type::Int2 => Datum::Int(i16::from_be_bytes(fixed(bytes)?).into()),
        Type::Int4 => Datum::Int(i32::from_be_bytes(fixed(bytes)?).into()),
        Type::Date => Datum::Int(date_from_days(i32::from_be_bytes(fixed(bytes)?).into())?),
        Type::Timestamp | Type::TimestampTz => {
            Datum::Int(timestamp_from_micros(i64::from_be_bytes(fixed(bytes)?))?)
        }
        Type::Time => Datum::Int(time_from_micros(i64::from_be_bytes(fixed(bytes)?))?),
        Type::Int8 => Datum::Int(i64::from_be_bytes(fixed(bytes)?)),
        Type::Float8 => Datum::Float(f64::from_be_bytes(fixed(bytes)?)),
        Type::Float4 => Datum::Float(f32::from_be_bytes(fixed(bytes)?).into()),
        Type::Uuid => Datum::Uuid(fixed(bytes)?),
        Type::Bytea => Datum::Bytea(bytes.to_vec()),
        Type::Jsonb => match bytes.split_first() {
            // The version of the form: there is one.
            Some((1, form)) => Datum::Jsonb(json::canonical(text(form)?)?),
            Some((version, _)) => {
                let message = format!("unsupported jsonb version number {version}");
                return Err(Error::new(SqlState::INTERNAL_ERROR, message));
            }
            None => return Err(incorrect()),
        },
        Type::Numeric(_) => crate::numeric::take(bytes)?.into(),
        Type::Interval => {
            let mut r = Reader::new(bytes);
            let (micros, days, months) = (r.i64()?, r.i32()?, r.i32()?);
            r.end()?;
            Datum::Interval(Interval { months, days, micros })
        }
        Type::Range(of) => range(bytes, *of)?,
        Type::Packed(of) => Datum::Bytea(of.receive(bytes)?),
        Type::Enum(of) => Datum::Int(of.parse(text(bytes)?)?),
        Type::Array(element) => array(bytes, element)?,
        Type::Record(row) if row.of.is_some() => record(bytes, row)?,
        Type::Citext => Datum::Citext(text(bytes)?.to_owned()),
        ty if ty.class() == TypeClass::Text || *ty == Type::Unknown => Datum::Text(text(bytes)?.to_owned()),
        Type::System(system) if system.element().is_some() => {
            array(bytes, &system.element().unwrap_or(Type::Unknown))?
        }
        &Type::TID if bytes.len() == 6 => {
            let mut number = [0; 8];
            number[2..].copy_from_slice(bytes);
            Datum::Int(i64::from_be_bytes(number))
        }
        &Type::TID => Datum::Int(i64::from_be_bytes(fixed(bytes)?)),
        Type::System(_) if bytes.len() == 4 => Datum::Int(u32::from_be_bytes(fixed(bytes)?).into()),
        ty => {
            return Err(Error::unsupported(
                format!("no binary input function available for type {ty}"),
                "Send the value as text.",
            ));
        }
    })
}

/// See [`crate::encode`] for the form.
fn range(bytes: &[u8], of: RangeType) -> Result<Datum> {
    use crate::encode::range_flags::*;
    let (&flags, rest) = bytes.split_first().ok_or_else(incorrect)?;
    let mut r = Reader::new(rest);
    let is = |flag: u8| flags & flag != 0;
    if is(EMPTY) {
        r.end()?;
        return Ok(Datum::Bytea(range::Range::empty(of).encode()));
    }
    let mut bound = |infinite: u8, inclusive: u8| -> Result<RangeBound> {
        if is(infinite) {
            return Ok(RangeBound::INFINITE);
        }
        let len = usize::try_from(r.i32()?).map_err(|_| incorrect())?;
        let value = match binary_datum(r.bytes(len)?, &of.element())? {
            Datum::Int(n) => RangeValue::Int(n),
            Datum::Numeric(n) => RangeValue::Numeric(n),
            Datum::Long(_) => return Err(range::no_room(planaria_base::numeric::long::no_room())),
            _ => return Err(incorrect()),
        };
        Ok(RangeBound { value: Some(value), inclusive: is(inclusive) })
    };
    let lower = bound(LOWER_INFINITE, LOWER_INCLUSIVE)?;
    let upper = bound(UPPER_INFINITE, UPPER_INCLUSIVE)?;
    r.end()?;
    Ok(Datum::Bytea(range::Range::new(of, lower, upper)?.encode()))
}

/// Their number; for each field its type, and the field.
fn record(bytes: &[u8], row: &RowType) -> Result<Datum> {
    let mut r = Reader::new(bytes);
    let count = r.i32()?;
    if usize::try_from(count) != Ok(row.len()) {
        let message = format!("wrong number of columns: {count}, expected {}", row.len());
        return Err(Error::new(SqlState::DATATYPE_MISMATCH, message));
    }
    let mut fields = Vec::with_capacity(row.len());
    for (i, (_, ty)) in row.iter().enumerate() {
        let (given, wanted) = (r.i32()? as u32, oid::of(ty));
        if given != wanted {
            let message = format!(
                "binary data has type {given} instead of expected {wanted} in record column {}",
                i + 1
            );
            return Err(Error::new(SqlState::DATATYPE_MISMATCH, message));
        }
        fields.push(match usize::try_from(r.i32()?) {
            Ok(len) => binary_datum(r.bytes(len)?, ty)?,
            Err(_) => Datum::Null,
        });
    }
    r.end()?;
    Ok(Datum::Array(fields))
}

fn array(bytes: &[u8], element: &Type) -> Result<Datum> {
    let mut r = Reader::new(bytes);
    let (count, _nulls, _oid) = (r.i32()?, r.i32()?, r.i32()?);
    let count = usize::try_from(count).map_err(|_| incorrect())?;
    if count > ARRAY_DIMENSIONS_MAX {
        return Err(too_many_dimensions(count));
    }
    let mut dimensions = Vec::with_capacity(count);
    for _ in 0..count {
        let (len, lower) = (r.i32()?, r.i32()?);
        dimensions.push(Dimension { lower, len: u32::try_from(len).map_err(|_| too_many_elements())? });
    }
    let shape = Shape::new(&dimensions)?;
    // Each element has a length at least.
    let length = shape.map_or(0, |shape| shape.elements());
    if length * 4 > r.rest().len() {
        return Err(incorrect());
    }
    let mut items = Vec::with_capacity(length);
    for _ in 0..length {
        items.push(match usize::try_from(r.i32()?) {
            Ok(len) => binary_datum(r.bytes(len)?, element)?,
            Err(_) => Datum::Null,
        });
    }
    r.end()?;
    Ok(Datum::array(shape, items))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::encode;
    use planaria::serving::ValueRef;
    use planaria_base::types::RowOf;

    /// What is sent in binary form comes back.
    #[test]
    fn binary_forms_are_read_as_they_are_written() {
        let of = RowOf { table: planaria_base::TableId(1), name: "pair".into(), oids: (16_400, 16_401) };
        let fields = vec![("a".to_owned(), Type::Int4), ("b".to_owned(), Type::Text)];
        let row = Type::Record(RowType { of: Some(Box::new(of)), fields });
        let values = [
            (Datum::Bool(true), Type::Bool),
            (Datum::Int(-7), Type::Int2),
            (Datum::Int(1 << 30), Type::Int4),
            (Datum::Int(i64::MIN), Type::Int8),
            (Datum::Int(-3), Type::Date),
            (Datum::Int(i32::MAX.into()), Type::Date),
            (Datum::Int(i64::MIN), Type::Timestamp),
            (Datum::Interval(Interval { months: -14, days: 3, micros: 1 }), Type::Interval),
            (Datum::Float(-0.1), Type::Float8),
            (Datum::Text("ä".into()), Type::Text),
            (Datum::Bytea(vec![0, 255]), Type::Bytea),
            (Datum::Uuid([7; 16]), Type::Uuid),
            (Datum::Array(vec![Datum::Int(1), Datum::Null]), Type::Array(Box::new(Type::Int8))),
            (Datum::Array(vec![]), Type::Array(Box::new(Type::Text))),
            (
                Datum::parse(&Type::Array(Box::new(Type::Int4)), "[0:1][1:2]={{1,2},{3,NULL}}")
                    .expect("an array"),
                Type::Array(Box::new(Type::Int4)),
            ),
            (Datum::Array(vec![Datum::Int(1), Datum::Null]), row.clone()),
            (Datum::Array(vec![Datum::Array(vec![Datum::Null; 2]), Datum::Null]), Type::Array(Box::new(row))),
        ];
        for (value, ty) in values {
            let mut out = Vec::new();
            encode::binary(&mut out, &ValueRef::from(&value), &ty);
            assert_eq!(binary_datum(&out, &ty), Ok(value), "{ty}");
        }
        // Flags, then the bounds as fields, as range_send of PostgreSQL has them.
        for (ty, text, form) in [
            (RangeType::Int4, "[1,5)", &[2, 0, 0, 0, 4, 0, 0, 0, 1, 0, 0, 0, 4, 0, 0, 0, 5][..]),
            (RangeType::Int4, "empty", &[1]),
            (RangeType::Int8, "(,)", &[24]),
            (RangeType::Date, "[2000-01-02,)", &[18, 0, 0, 0, 4, 0, 0, 0, 1]),
        ] {
            let (value, ty) = (Datum::parse(&Type::Range(ty), text).expect("a range"), Type::Range(ty));
            let mut out = Vec::new();
            encode::binary(&mut out, &ValueRef::from(&value), &ty);
            assert_eq!((&out[..], binary_datum(&out, &ty)), (form, Ok(value)), "{text}");
        }
        for text in ["[0.5,20.25]", "(-7,)"] {
            let ty = Type::Range(RangeType::Num);
            let value = Datum::parse(&ty, text).expect("a range");
            let mut out = Vec::new();
            encode::binary(&mut out, &ValueRef::from(&value), &ty);
            assert_eq!(binary_datum(&out, &ty), Ok(value), "{text}");
            assert!(binary_datum(&out[..out.len() - 1], &ty).is_err(), "{text}");
        }
        for text in
            ["0", "0.00", "1", "-1.50", "12345678901234567890.123456789", "0.0001", "10000", "-99999.99999"]
        {
            let n = Numeric::parse(text).expect("a number");
            let mut out = Vec::new();
            encode::binary(&mut out, &ValueRef::Numeric(n), &Type::Numeric(None));
            assert_eq!(crate::numeric::take(&out), Ok(planaria_base::numeric::Number::Short(n)), "{text}");
        }
    }

    #[test]
    fn broken_binary_values_are_errors() {
        for (bytes, ty) in [
            (&[1u8, 2, 3][..], Type::Int4),
            (&[0, 5, 0, 0, 0, 0, 0, 0], Type::Numeric(None)),
            (
                &[0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 23, 0x7f, 0xff, 0xff, 0xff, 0, 0, 0, 1],
                Type::Array(Box::new(Type::Int4)),
            ),
            (&[0xff], Type::Text),
            (b"a\0b", Type::Text),
            // One day, and one microsecond, from the infinities.
            (&(i32::MIN + 1).to_be_bytes(), Type::Date),
            (&(i64::MAX - 1).to_be_bytes(), Type::TimestampTz),
        ] {
            assert!(binary_datum(bytes, &ty).is_err(), "{ty}");
        }
    }
}
