//! Values as the client wants them: text or binary, in PostgreSQL's own forms.

use planaria::serving::{RowRef, ValueRef};
use planaria::{Column, Datum, Numeric, Row, Type};
use planaria_base::datetime::Forms;
use planaria_base::range::{self, Range, RangeValue};
use planaria_base::shape::{Dimension, Shape};
use planaria_base::types::SystemType;
use planaria_base::{datetime, oid, text_io};

/// How a value travels.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) enum Format {
    /// As psql shows it.
    #[default]
    Text = 0,
    /// As PostgreSQL's send functions write it.
    Binary = 1,
}

/// The format of column `i`: none given is text, one is for all.
pub(crate) fn format_of(formats: &[Format], i: usize) -> Format {
    match formats {
        [] => Format::Text,
        [all] => *all,
        each => each.get(i).copied().unwrap_or_default(),
    }
}

/// Appends a row as a DataRow message.
pub(crate) fn data_row(out: &mut Vec<u8>, row: RowRef<'_>, columns: &[Column], formats: &[Format]) {
    let at = begin_row(out, row.len());
    for (i, (value, column)) in row.values().zip(columns).enumerate() {
        field(out, &value, &column.ty, format_of(formats, i), row.forms());
    }
    end_row(out, at);
}

/// The same of owned values.
pub(crate) fn data_row_of(out: &mut Vec<u8>, row: &Row, columns: &[Column], formats: &[Format]) {
    let values = row.values();
    let at = begin_row(out, values.len());
    for (i, (value, column)) in values.iter().zip(columns).enumerate() {
        field(out, &ValueRef::from(value), &column.ty, format_of(formats, i), row.forms());
    }
    end_row(out, at);
}

fn begin_row(out: &mut Vec<u8>, values: usize) -> usize {
    out.push(b'D');
    let at = out.len();
    out.extend_from_slice(&[0; 4]);
    out.extend_from_slice(&(values as i16).to_be_bytes());
    at
}

fn end_row(out: &mut [u8], at: usize) {
    let len = (out.len() - at) as i32;
    out[at..at + 4].copy_from_slice(&len.to_be_bytes());
}

/// Length, then the value; NULL is the length -1. What a function gives that returns nothing is no NULL, but empty.
pub(crate) fn field(out: &mut Vec<u8>, value: &ValueRef<'_>, ty: &Type, format: Format, forms: Forms<'_>) {
    if matches!(value, ValueRef::Null) && *ty != Type::Void {
        out.extend_from_slice(&(-1i32).to_be_bytes());
        return;
    }
    let at = out.len();
    out.extend_from_slice(&[0; 4]);
    match format {
        Format::Text => text(out, value, ty, forms),
        Format::Binary => binary(out, value, ty),
    }
    let len = (out.len() - at - 4) as i32;
    out[at..at + 4].copy_from_slice(&len.to_be_bytes());
}

/// The text form, in the forms of the session.
pub(crate) fn text(out: &mut Vec<u8>, value: &ValueRef<'_>, ty: &Type, forms: Forms<'_>) {
    match (value, ty) {
        (ValueRef::Null, _) => {}
        (ValueRef::Bool(b), _) => out.push(if *b { b't' } else { b'f' }),
        (ValueRef::Int(n), Type::Int2 | Type::Int4 | Type::Int8) => text_io::write_int(out, *n),
        (ValueRef::Int(n), ty) => Datum::Int(*n).write_in(ty, forms, out),
        (ValueRef::Float(x), ty) => text_io::write_float_as(out, *x, *ty == Type::Float4, forms.styles),
        (ValueRef::Numeric(n), _) => n.write(out),
        (ValueRef::Long(n), _) => n.write(out),
        (ValueRef::Text(s), Type::Char(n)) => text_io::write_char(out, s.as_bytes(), *n as usize),
        (ValueRef::Text(s), _) => out.extend_from_slice(s.as_bytes()),
        (ValueRef::Bytes(b), Type::Range(_)) => range::write(b, forms, out),
        (ValueRef::Bytes(b), Type::Packed(of)) => of.write(b, out),
        (ValueRef::Bytes(b), _) => text_io::write_bytea(out, b, forms.styles.bytes),
        (ValueRef::Uuid(u), _) => text_io::write_uuid(out, u),
        (ValueRef::Interval(i), _) => datetime::write_interval(out, *i, forms.styles),
        (ValueRef::Reg(_, name), _) => out.extend_from_slice(name.as_bytes()),
        (ValueRef::Array(items), ty) => Datum::Array(items.clone()).write_in(ty, forms, out),
        (ValueRef::Shaped(of), ty) => Datum::Shaped(of.clone()).write_in(ty, forms, out),
    }
}

/// The binary form.
pub(crate) fn binary(out: &mut Vec<u8>, value: &ValueRef<'_>, ty: &Type) {
    match (value, ty) {
        (ValueRef::Null, _) => {}
        (ValueRef::Bool(b), _) => out.push(u8::from(*b)),
        (ValueRef::Int(n), Type::Int2) => out.extend_from_slice(&(*n as i16).to_be_bytes()),
        (ValueRef::Int(n), Type::Int4 | Type::Date) => out.extend_from_slice(&(*n as i32).to_be_bytes()),
        // What does not go into the 48 bits that PostgreSQL's have is sent whole.
        (ValueRef::Int(n), &Type::TID) => match u64::try_from(*n) {
            Ok(n) if n < 1 << 48 => out.extend_from_slice(&n.to_be_bytes()[2..]),
            _ => out.extend_from_slice(&n.to_be_bytes()),
        },
        (ValueRef::Int(n), Type::System(_)) => out.extend_from_slice(&(*n as u32).to_be_bytes()),
        (ValueRef::Interval(i), _) => {
            out.extend_from_slice(&i.micros.to_be_bytes());
            out.extend_from_slice(&i.days.to_be_bytes());
            out.extend_from_slice(&i.months.to_be_bytes());
        }
        (ValueRef::Int(n), Type::Enum(of)) => of.write(out, *n),
        (ValueRef::Int(n), _) => out.extend_from_slice(&n.to_be_bytes()),
        (ValueRef::Float(x), Type::Float4) => out.extend_from_slice(&(*x as f32).to_be_bytes()),
        (ValueRef::Float(x), _) => out.extend_from_slice(&x.to_be_bytes()),
        (ValueRef::Numeric(n), _) => numeric(out, *n),
        (ValueRef::Long(n), _) => crate::numeric::put(out, n),
        (ValueRef::Text(s), Type::Char(n)) => text_io::write_char(out, s.as_bytes(), *n as usize),
        (ValueRef::Text(s), Type::Jsonb) => {
            // The version of the form.
            out.push(1);
            out.extend_from_slice(s.as_bytes());
        }
        (ValueRef::Text(s), _) => out.extend_from_slice(s.as_bytes()),
        (ValueRef::Bytes(b), Type::Range(_)) => range(out, b),
        (ValueRef::Bytes(b), Type::Packed(of)) => of.send(b, out),
        (ValueRef::Bytes(b), _) => out.extend_from_slice(b),
        (ValueRef::Uuid(u), _) => out.extend_from_slice(u),
        (ValueRef::Reg(oid, _), _) => out.extend_from_slice(&oid.to_be_bytes()),
        (ValueRef::Array(items), Type::Record(fields)) => {
            out.extend_from_slice(&(items.len() as i32).to_be_bytes());
            for (item, (_, ty)) in items.iter().zip(fields.iter()) {
                out.extend_from_slice(&oid::of(ty).to_be_bytes());
                field(out, &ValueRef::from(item), ty, Format::Binary, Forms::default());
            }
        }
        (ValueRef::Array(items), Type::Array(element)) => array(out, None, items, element, 1),
        (ValueRef::Shaped(of), ty) => {
            let element = if let Type::Array(element) = ty { element } else { &Type::Text };
            array(out, Some(of.shape()), of.elements(), element, 1);
        }
        // Vectors of the catalogs count from 0.
        (ValueRef::Array(items), Type::System(system)) => {
            let element = system.element().unwrap_or(Type::System(SystemType::Oid));
            array(out, None, items, &element, 0);
        }
        (ValueRef::Array(items), _) => array(out, None, items, &Type::Text, 1),
    }
}

/// Flags of a range's binary form.
pub(crate) mod range_flags {
    pub(crate) const EMPTY: u8 = 0x01;
    pub(crate) const LOWER_INCLUSIVE: u8 = 0x02;
    pub(crate) const UPPER_INCLUSIVE: u8 = 0x04;
    pub(crate) const LOWER_INFINITE: u8 = 0x08;
    pub(crate) const UPPER_INFINITE: u8 = 0x10;
}

/// Flags, then those bounds that there are, as fields.
fn range(out: &mut Vec<u8>, bytes: &[u8]) {
    use range_flags::*;
    let Some(range) = Range::decode(bytes) else { return };
    let Some((lower, upper)) = range.bounds else {
        out.push(EMPTY);
        return;
    };
    let flag = |set: bool, flag: u8| if set { flag } else { 0 };
    out.push(
        flag(lower.inclusive, LOWER_INCLUSIVE)
            | flag(upper.inclusive, UPPER_INCLUSIVE)
            | flag(lower.value.is_none(), LOWER_INFINITE)
            | flag(upper.value.is_none(), UPPER_INFINITE),
    );
    for value in [lower.value, upper.value].into_iter().flatten() {
        let value = match value {
            RangeValue::Int(n) => ValueRef::Int(n),
            RangeValue::Numeric(n) => ValueRef::Numeric(n),
        };
        field(out, &value, &range.of.element(), Format::Binary, Forms::default());
    }
}

/// Dimensions, whether there are NULLs, the element type; for each dimension its length and lower
/// bound; the elements as fields. An empty array has no dimension.
fn array(out: &mut Vec<u8>, shape: Option<&Shape>, items: &[Datum], element: &Type, lower_bound: i32) {
    let list = [Dimension { lower: lower_bound, len: items.len() as u32 }];
    let dimensions = match shape {
        Some(shape) => shape.dimensions(),
        None if items.is_empty() => &[],
        None => &list,
    };
    out.extend_from_slice(&(dimensions.len() as i32).to_be_bytes());
    out.extend_from_slice(&i32::from(items.iter().any(|item| item.is_null())).to_be_bytes());
    out.extend_from_slice(&oid::of(element).to_be_bytes());
    for dimension in dimensions {
        out.extend_from_slice(&(dimension.len as i32).to_be_bytes());
        out.extend_from_slice(&dimension.lower.to_be_bytes());
    }
    for item in items {
        field(out, &ValueRef::from(item), element, Format::Binary, Forms::default());
    }
}

/// Digits to the base 10000, aligned at the point: their number, the weight of the first, the sign, the
/// display scale, the digits.
fn numeric(out: &mut Vec<u8>, n: Numeric) {
    let scale = u32::from(n.scale());
    // Digits of the part behind the point are filled up with zeros to whole groups of four.
    let groups_behind = scale.div_ceil(4) as i32;
    let fill = groups_behind as u32 * 4 - scale;
    let mut rest = n.mantissa().unsigned_abs();
    let mut digits = Vec::with_capacity(16);
    // The last group has `4 - fill` digits of the mantissa.
    if fill > 0 {
        let low = 10u128.pow(4 - fill);
        digits.push((rest % low) as i16 * 10i16.pow(fill));
        rest /= low;
    }
    while rest > 0 {
        digits.push((rest % 10_000) as i16);
        rest /= 10_000;
    }
    let weight = digits.len() as i32 - groups_behind - 1;
    // Trailing zero groups are not sent; digits stand from the last to the first here.
    let trailing = digits.iter().take_while(|d| **d == 0).count();
    let sent = &digits[trailing..];
    let weight = if sent.is_empty() { 0 } else { weight };
    out.extend_from_slice(&(sent.len() as i16).to_be_bytes());
    out.extend_from_slice(&(weight as i16).to_be_bytes());
    out.extend_from_slice(&(if n.signum() < 0 { 0x4000i16 } else { 0 }).to_be_bytes());
    out.extend_from_slice(&(scale as i16).to_be_bytes());
    for digit in sent.iter().rev() {
        out.extend_from_slice(&digit.to_be_bytes());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sent(text: &str) -> Vec<i16> {
        let mut out = Vec::new();
        numeric(&mut out, Numeric::parse(text).expect("a number"));
        out.chunks(2).map(|c| i16::from_be_bytes([c[0], c[1]])).collect()
    }

    /// As PostgreSQL 15 sends them (`SELECT numeric_send(..)`).
    #[test]
    fn numerics_are_groups_of_four_digits() {
        assert_eq!(sent("0"), [0, 0, 0, 0]);
        assert_eq!(sent("0.00"), [0, 0, 0, 2]);
        assert_eq!(sent("1"), [1, 0, 0, 0, 1]);
        assert_eq!(sent("10000"), [1, 1, 0, 0, 1]);
        assert_eq!(sent("12345.678"), [3, 1, 0, 3, 1, 2345, 6780]);
        assert_eq!(sent("-0.5"), [1, -1, 0x4000, 1, 5000]);
        assert_eq!(sent("0.00001"), [1, -2, 0, 5, 1000]);
        assert_eq!(sent("100.00"), [1, 0, 0, 2, 100]);
        assert_eq!(sent("0.0100"), [1, -1, 0, 4, 100]);
    }

    #[test]
    fn arrays_have_a_dimension_unless_empty() {
        let mut out = Vec::new();
        array(&mut out, None, &[Datum::Int(7), Datum::Null], &Type::Int4, 1);
        let words: Vec<i32> = out.chunks(4).map(|c| i32::from_be_bytes([c[0], c[1], c[2], c[3]])).collect();
        assert_eq!(words, [1, 1, 23, 2, 1, 4, 7, -1]);
        out.clear();
        array(&mut out, None, &[], &Type::Text, 1);
        assert_eq!(out, [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 25]);
    }
}
