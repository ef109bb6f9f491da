//! An array, or a row, as bytes that are ordered as SQL orders them: what keys of indexes are made of.
//!
//! Of each element a mark (`01` a value, `02` NULL, which comes last) and the value; then `00`, so that of two arrays that
//! begin alike the shorter one comes first; then the dimensions, of which arrays with the same elements may have others.
//!
//! | value | bytes |
//! |---|---|
//! | boolean | `00` or `01` |
//! | integers, dates, labels | 8, biased to unsigned |
//! | float | 8: sign-magnitude turned; -0 is 0, NaN above all |
//! | numeric | `01` -Infinity, `02` a number as in `jsonb`, `03` Infinity, `04` NaN |
//! | interval | 16: its span in microseconds, biased |
//! | uuid | 16 |
//! | text, bytea, citext, jsonb | what orders it, with `00` as `01 01` and `01` as `01 02`, then `00` |
//! | row | its fields as elements |

use super::{Value, ValueReader};
use crate::citext;
use crate::json::key::{key as json_key, push_number};
use crate::numeric::Long;
use crate::shape::Shape;
use std::borrow::Cow;

const END: u8 = 0x00;
const VALUE: u8 = 0x01;
const NULL: u8 = 0x02;

/// The bytes of an array or a row as a row keeps it.
pub fn key(stored: &[u8]) -> Cow<'_, [u8]> {
    let mut out = Vec::with_capacity(2 * stored.len() + 16);
    match push(&mut ValueReader::new(stored), &mut out) {
        Some(()) => Cow::Owned(out),
        // Nobody writes other ones.
        None => Cow::Borrowed(stored),
    }
}

fn push(values: &mut ValueReader<'_>, out: &mut Vec<u8>) -> Option<()> {
    match peeked(values)? {
        Value::Shape => {
            values.value()?;
            let shape = values.shape()?;
            push_elements(values, out)?;
            push_shape(&shape, out);
        }
        Value::Array(n) | Value::Ints(n) => {
            push_elements(values, out)?;
            match n {
                0 => out.push(0),
                n => push_shape(&Shape::list(n), out),
            }
        }
        _ => push_value(values.value()?, out)?,
    }
    Some(())
}

/// The next value, which stays there.
fn peeked<'a>(values: &ValueReader<'a>) -> Option<Value<'a>> {
    values.clone().value()
}

/// The elements of an array whose head comes next.
fn push_elements(values: &mut ValueReader<'_>, out: &mut Vec<u8>) -> Option<()> {
    match values.value()? {
        Value::Ints(n) => {
            for _ in 0..n {
                out.push(VALUE);
                push_int(values.int()?, out);
            }
        }
        Value::Array(n) => {
            for _ in 0..n {
                if peeked(values)? == Value::Null {
                    values.value()?;
                    out.push(NULL);
                } else {
                    out.push(VALUE);
                    push(values, out)?;
                }
            }
        }
        _ => return None,
    }
    out.push(END);
    Some(())
}

fn push_shape(shape: &Shape, out: &mut Vec<u8>) {
    let dimensions = shape.dimensions();
    out.push(dimensions.len() as u8);
    dimensions.iter().for_each(|d| out.extend(d.len.to_be_bytes()));
    dimensions.iter().for_each(|d| out.extend((d.lower as u32 ^ 1 << 31).to_be_bytes()));
}

fn push_int(n: i64, out: &mut Vec<u8>) {
    out.extend((n as u64 ^ 1 << 63).to_be_bytes());
}

fn push_bytes(bytes: &[u8], out: &mut Vec<u8>) {
    for byte in bytes {
        match byte {
            0 | 1 => out.extend([1, byte + 1]),
            byte => out.push(*byte),
        }
    }
    out.push(0);
}

fn push_numeric(text: &str, out: &mut Vec<u8>) {
    match text {
        "-Infinity" => out.push(1),
        "Infinity" => out.push(3),
        "NaN" => out.push(4),
        number => {
            out.push(2);
            push_number(number, out);
        }
    }
}

fn push_value(value: Value<'_>, out: &mut Vec<u8>) -> Option<()> {
    match value {
        Value::Null => out.push(NULL),
        Value::Bool(b) => out.push(u8::from(b)),
        Value::Int(n) => push_int(n, out),
        Value::Float(x) => {
            let x = if x == 0.0 { 0.0 } else { x };
            let bits = if x.is_nan() { f64::NAN.to_bits() & !(1 << 63) } else { x.to_bits() };
            let turned = if bits >> 63 == 1 { !bits } else { bits ^ 1 << 63 };
            out.extend(turned.to_be_bytes());
        }
        Value::Numeric(n) => push_numeric(&n.to_string(), out),
        Value::Long(bytes) => push_numeric(&Long::decode(bytes)?.to_string(), out),
        Value::Text(text) => push_bytes(text.as_bytes(), out),
        Value::Bytea(bytes) => push_bytes(bytes, out),
        Value::Jsonb(text) => push_bytes(&json_key(text.as_bytes()), out),
        Value::Citext(text) => push_bytes(&citext::fold(text.as_bytes()), out),
        Value::Uuid(bytes) => out.extend(bytes),
        Value::Interval(i) => out.extend((i.span() as u128 ^ 1 << 127).to_be_bytes()),
        Value::Array(_) | Value::Ints(_) | Value::Shape => return None,
    }
    Some(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::value::ValueWriter;
    use crate::{Datum, Type};

    fn key_of(ty: &Type, text: &str) -> Vec<u8> {
        let array = Datum::parse(&Type::Array(Box::new(ty.clone())), text).expect("an array");
        let mut stored = Vec::new();
        let mut writer = ValueWriter::new(&mut stored, 1);
        writer.datum(&array);
        writer.finish();
        key(&stored).into_owned()
    }

    #[test]
    fn keys_are_ordered_as_arrays_are() {
        let ordered: [(Type, &[&str]); 5] = [
            (
                Type::Int4,
                &[
                    "{}",
                    "{-5}",
                    "{-5,0}",
                    "{0}",
                    "[0:1]={1,2}",
                    "{1,2}",
                    "{{1,2}}",
                    "{1,3}",
                    "{1,NULL}",
                    "{NULL}",
                ],
            ),
            (Type::Text, &["{\"\"}", "{\"\",a}", "{a}", "{a,a}", "{ab}", "{b}", "{NULL}"]),
            (
                Type::Numeric(None),
                &["{-Infinity}", "{-10}", "{-9.5}", "{0}", "{0.5,1}", "{1e40}", "{Infinity}", "{NaN}"],
            ),
            (Type::Float8, &["{-Infinity}", "{-1.5}", "{0}", "{1e-3}", "{Infinity}", "{NaN}"]),
            (Type::Interval, &["{-1 day}", "{23 hours}", "{1 day}", "{29 days}", "{1 mon 1 day}"]),
        ];
        for (ty, texts) in ordered {
            for pair in texts.windows(2) {
                assert!(key_of(&ty, pair[0]) < key_of(&ty, pair[1]), "{pair:?}");
            }
        }
        assert_eq!(key_of(&Type::Numeric(None), "{1.50}"), key_of(&Type::Numeric(None), "{1.5}"));
        assert_eq!(key_of(&Type::Float8, "{-0}"), key_of(&Type::Float8, "{0}"));
        assert_eq!(key_of(&Type::Interval, "{1 mon}"), key_of(&Type::Interval, "{30 days}"));
    }
}
