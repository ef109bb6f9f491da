//! Doubles: shortest digits that read back as the same value, in PostgreSQL's layout.

use super::{invalid_syntax, trim};
use crate::error::{Error, Result, SqlState};
use std::io::Write;

/// Appends a double: fixed notation for exponents from -4 to 14, else `1e+15`, `1.5e-07`.
pub fn write_float(out: &mut Vec<u8>, x: f64) {
    if !x.is_finite() {
        let word: &[u8] = if x.is_nan() {
            b"NaN"
        } else if x > 0.0 {
            b"Infinity"
        } else {
            b"-Infinity"
        };
        out.extend_from_slice(word);
        return;
    }
    if x.is_sign_negative() {
        out.push(b'-');
    }
    // Rust prints the shortest digits in scientific notation; only the layout differs.
    let mut shortest = [0u8; 32];
    let mut cursor = &mut shortest[..];
    let _ = write!(cursor, "{:e}", x.abs());
    let left = cursor.len();
    let text = &shortest[..32 - left];
    let split = text.iter().position(|b| *b == b'e').unwrap_or(text.len());
    let exponent: i32 = std::str::from_utf8(text.get(split + 1..).unwrap_or(b""))
        .ok()
        .and_then(|e| e.parse().ok())
        .unwrap_or(0);
    let mut digits = [0u8; 20];
    let mut count = 0;
    for digit in text[..split].iter().filter(|b| b.is_ascii_digit()) {
        digits[count] = *digit;
        count += 1;
    }
    let digits = &digits[..count];
    match exponent {
        0..=14 => {
            let whole = exponent as usize + 1;
            if count <= whole {
                out.extend_from_slice(digits);
                out.resize(out.len() + whole - count, b'0');
            } else {
                out.extend_from_slice(&digits[..whole]);
                out.push(b'.');
                out.extend_from_slice(&digits[whole..]);
            }
        }
        -4..=-1 => {
            out.extend_from_slice(b"0.");
            out.resize(out.len() + exponent.unsigned_abs() as usize - 1, b'0');
            out.extend_from_slice(digits);
        }
        _ => {
            out.push(digits[0]);
            if count > 1 {
                out.push(b'.');
                out.extend_from_slice(&digits[1..]);
            }
            let sign = if exponent < 0 { '-' } else { '+' };
            let _ = write!(out, "e{sign}{:02}", exponent.unsigned_abs());
        }
    }
}

/// Reads a double.
pub fn parse_float(text: &str) -> Result<f64> {
    let trimmed = trim(text);
    let (negative, body) = match trimmed.as_bytes() {
        [b'-', rest @ ..] => (true, rest),
        [b'+', rest @ ..] => (false, rest),
        all => (false, all),
    };
    let magnitude = if body.first().is_some_and(|b| b.is_ascii_digit() || *b == b'.') {
        let body = std::str::from_utf8(body).unwrap_or("");
        let x: f64 = body.parse().map_err(|_| invalid_syntax("double precision", text))?;
        let mantissa = body.split(['e', 'E']).next().unwrap_or("");
        if x.is_infinite() || x == 0.0 && mantissa.bytes().any(|b| matches!(b, b'1'..=b'9')) {
            return Err(Error::new(
                SqlState::NUMERIC_VALUE_OUT_OF_RANGE,
                format!("\"{text}\" is out of range for type double precision"),
            ));
        }
        x
    } else {
        match body.to_ascii_lowercase().as_slice() {
            b"nan" => f64::NAN,
            b"infinity" | b"inf" => f64::INFINITY,
            _ => return Err(invalid_syntax("double precision", text)),
        }
    };
    Ok(if negative { -magnitude } else { magnitude })
}
