//! A `jsonb` value as bytes that are ordered as [`Json::compare`] orders values: what keys of indexes are made of.
//!
//! | value | bytes |
//! |---|---|
//! | an empty array, alone | `01` |
//! | null | `10` |
//! | string | `11`, its bytes with `00` as `01 01` and `01` as `01 02`, then `00` |
//! | number | `12`, then its sign, the place of the point and the digits; all inverted where it is negative |
//! | boolean | `13`, then `00` or `01` |
//! | array | `14`, how many elements in 4 bytes, the elements |
//! | object | `15`, how many pairs in 4 bytes, of each the key as a string has it, then the value |

use super::Json;
use std::borrow::Cow;

const EMPTY: u8 = 0x01;
const NULL: u8 = 0x10;
const STRING: u8 = 0x11;
const NUMBER: u8 = 0x12;
const BOOL: u8 = 0x13;
const ARRAY: u8 = 0x14;
const OBJECT: u8 = 0x15;

/// The bytes of a value in the form of `jsonb`.
pub fn key(text: &[u8]) -> Cow<'_, [u8]> {
    let json = std::str::from_utf8(text).ok().and_then(|text| Json::parse(text).ok());
    // It was read before, with no less stack.
    let Some(json) = json else { return Cow::Borrowed(text) };
    let mut out = Vec::with_capacity(text.len() + 8);
    match &json {
        Json::Array(elements) if elements.is_empty() => out.push(EMPTY),
        json => push(json, &mut out),
    }
    Cow::Owned(out)
}

fn push(json: &Json<'_>, out: &mut Vec<u8>) {
    match json {
        Json::Null => out.push(NULL),
        Json::String(s) => {
            out.push(STRING);
            push_text(s, out);
        }
        Json::Number(n) => {
            out.push(NUMBER);
            push_number(n, out);
        }
        Json::Bool(b) => out.extend([BOOL, u8::from(*b)]),
        Json::Array(elements) => {
            out.push(ARRAY);
            out.extend((elements.len() as u32).to_be_bytes());
            elements.iter().for_each(|e| push(e, out));
        }
        Json::Object(pairs) => {
            out.push(OBJECT);
            out.extend((pairs.len() as u32).to_be_bytes());
            for (key, value) in pairs {
                push_text(key, out);
                push(value, out);
            }
        }
    }
}

fn push_text(text: &str, out: &mut Vec<u8>) {
    for byte in text.bytes() {
        match byte {
            0 | 1 => out.extend([1, byte + 1]),
            byte => out.push(byte),
        }
    }
    out.push(0);
}

/// A number as `numeric` prints it.
pub(crate) fn push_number(n: &str, out: &mut Vec<u8>) {
    let (negative, n) = n.strip_prefix('-').map_or((false, n), |n| (true, n));
    let (whole, fraction) = n.split_once('.').unwrap_or((n, ""));
    let whole = whole.trim_start_matches('0');
    let fraction = fraction.trim_end_matches('0');
    let first = out.len();
    let digits = match whole.is_empty() {
        true => fraction.trim_start_matches('0'),
        false => whole,
    };
    if digits.is_empty() {
        out.push(1);
        return;
    }
    // The first digit stands so many places before the point.
    let place = match whole.is_empty() {
        true => digits.len() as i64 - fraction.len() as i64,
        false => whole.len() as i64,
    };
    out.push(2);
    out.extend((place as u32 ^ 1 << 31).to_be_bytes());
    match whole.is_empty() {
        true => out.extend(digits.bytes()),
        false if fraction.is_empty() => out.extend(whole.trim_end_matches('0').bytes()),
        false => {
            out.extend(whole.bytes());
            out.extend(fraction.bytes());
        }
    }
    out.push(0);
    if negative {
        out[first..].iter_mut().for_each(|b| *b = !*b);
        // Below zero, and below a positive one.
        out[first] = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::json::compare;

    #[test]
    fn keys_are_ordered_as_values_are() {
        let values = [
            "[]",
            "null",
            "\"\"",
            "\"\\u0001\"",
            "\"a\"",
            "\"ab\"",
            "\"b\"",
            "-100",
            "-99.5",
            "-10",
            "-9",
            "-1.5",
            "-1",
            "-0.5",
            "-0.05",
            "0",
            "0.00",
            "0.005",
            "0.05",
            "0.5",
            "0.50",
            "1",
            "1.0",
            "1.5",
            "9",
            "10",
            "12",
            "99.5",
            "100",
            "1000000000000000000000",
            "false",
            "true",
            "[null]",
            "[1]",
            "[2]",
            "[1, 2]",
            "[2, 1]",
            "[[]]",
            "[[1]]",
            "{}",
            "{\"a\": 1}",
            "{\"a\": 2}",
            "{\"b\": 0}",
            "{\"aa\": 0}",
            "{\"a\": 1, \"b\": 2}",
        ];
        for a in values {
            for b in values {
                let keys = key(a.as_bytes()).cmp(&key(b.as_bytes()));
                assert_eq!(keys, compare(a, b), "{a} and {b}");
            }
        }
    }
}
