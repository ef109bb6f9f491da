//! Doubles: shortest digits that read back as the same value, in PostgreSQL's layout.

use super::{invalid_syntax, trim};
use crate::datetime::Styles;
use crate::error::{Error, Result, SqlState};
use crate::watch;
use std::io::Write;

/// Appends a double, or a `real`, as `extra_float_digits` has it ([`Styles::fewer_digits`]).
pub fn write_float_as(out: &mut Vec<u8>, x: f64, real: bool, styles: Styles) {
    let fewer = usize::from(styles.fewer_digits);
    if fewer == 0 || !x.is_finite() {
        return if real { write_real(out, x) } else { write_float(out, x) };
    }
    let kept: usize = if real { f32::DIGITS as usize } else { f64::DIGITS as usize };
    let digits = kept.saturating_sub(fewer - 1).max(1);
    let text = format!("{:.*e}", digits - 1, x.abs());
    lay_out(out, x.is_sign_negative(), &text, digits as i32 - 1);
}

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
    // The shortest digits that read back, ties to the even one, as PostgreSQL's algorithm (Ryu,
    // Adams 2018) has it; only its layout differs.
    let mut buffer = ryu::Buffer::new();
    let shortest = buffer.format_finite(x.abs());
    let longer;
    let text = if between_two(x.abs(), shortest, f64::MANTISSA_DIGITS) {
        longer = longer_digits(x.abs(), f64::MANTISSA_DIGITS, 16, |text| text.parse() == Ok(x.abs()));
        &longer
    } else {
        shortest
    };
    lay_out(out, x.is_sign_negative(), text, 14);
}

/// Appends a `real`, which `x` is: as [`write_float`], with fixed notation for exponents up to 5.
pub fn write_real(out: &mut Vec<u8>, x: f64) {
    if !x.is_finite() {
        return write_float(out, x);
    }
    let real = (x as f32).abs();
    let mut buffer = ryu::Buffer::new();
    let shortest = buffer.format_finite(real);
    let longer;
    let text = if between_two(real.into(), shortest, f32::MANTISSA_DIGITS) {
        longer = longer_digits(real.into(), f32::MANTISSA_DIGITS, 8, |text| text.parse() == Ok(real));
        &longer
    } else {
        shortest
    };
    lay_out(out, x.is_sign_negative(), text, 5);
}

/// Digits as PostgreSQL shows them: in fixed notation for exponents from -4 to `fixed`.
fn lay_out(out: &mut Vec<u8>, negative: bool, text: &str, fixed: i32) {
    if negative {
        out.push(b'-');
    }
    let (number, exponent) = text.split_once('e').unwrap_or((text, "0"));
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    let mut digits = [0u8; 40];
    let mut count = 0;
    for digit in whole.bytes().chain(fraction.bytes()) {
        // Leading zeros are no digits of the number.
        if count > 0 || digit != b'0' {
            digits[count] = digit;
            count += 1;
        }
    }
    // The exponent of the first digit.
    let zeros = fraction.bytes().take_while(|b| *b == b'0').count() as i32;
    let first = if whole == "0" { -1 - zeros } else { whole.len() as i32 - 1 };
    let exponent = if count == 0 { 0 } else { first + exponent.parse::<i32>().unwrap_or(0) };
    while count > 1 && digits[count - 1] == b'0' {
        count -= 1;
    }
    let digits = if count == 0 { &b"0"[..] } else { &digits[..count] };
    let count = digits.len();
    match exponent {
        0.. if exponent <= fixed => {
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

/// Whether the text lies exactly half way to a neighbour of `x`, which has so many bits of precision. Reading it rounds to
/// even and so gives `x`, but PostgreSQL does not rely on that and prints more digits. Only whole numbers beyond that
/// precision have so short a text there.
#[inline]
fn between_two(x: f64, text: &str, bits: u32) -> bool {
    ((1u64 << (bits - 1)) as f64..1e38).contains(&x) && is_midpoint(x, text, bits)
}

fn is_midpoint(x: f64, text: &str, bits: u32) -> bool {
    let (number, exponent) = text.split_once('e').unwrap_or((text, "0"));
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    let fraction = fraction.trim_end_matches('0');
    let zeros = exponent.parse::<usize>().unwrap_or(0).saturating_sub(fraction.len());
    let Ok(digits) = format!("{whole}{fraction}").parse::<u128>() else { return false };
    let Some(value) = 10u128.checked_pow(zeros as u32).and_then(|p| digits.checked_mul(p)) else {
        return false;
    };
    let exact = x as u128;
    let ulp = 1u128 << (exact.ilog2() - (bits - 1));
    let below = if exact.is_power_of_two() { ulp / 4 } else { ulp / 2 };
    // Between neighbours that are whole numbers one apart there is none.
    ulp > 1 && value == exact + ulp / 2 || below > 0 && value == exact - below
}

/// The fewest digits, no more than suffice for all, that read back as `x` and are not half way to a neighbour.
#[cold]
fn longer_digits(x: f64, bits: u32, most: usize, reads_back: impl Fn(&str) -> bool) -> String {
    let mut all = (0..=most).map(|digits| format!("{x:.digits$e}"));
    let found = all.find(|text| reads_back(text) && !is_midpoint(x, text, bits));
    found.unwrap_or_else(|| format!("{x:.most$e}"))
}

/// Reads a double.
pub fn parse_float(text: &str) -> Result<f64> {
    read(text, "double precision", |body| body.parse().ok())
}

/// Reads a `real`: the nearest one of 32 bits.
pub fn parse_real(text: &str) -> Result<f64> {
    read(text, "real", |body| body.parse::<f32>().ok().map(f64::from))
}

/// A double as a `real`; 22003 where it is too large or, other than 0, too small for one.
pub fn to_real(x: f64) -> Result<f64> {
    let real = x as f32;
    let wrong = |what: &str| {
        Err(Error::new(SqlState::NUMERIC_VALUE_OUT_OF_RANGE, format!("value out of range: {what}")))
    };
    if real.is_infinite() && x.is_finite() {
        return wrong("overflow");
    }
    if real == 0.0 && x != 0.0 {
        return wrong("underflow");
    }
    Ok(f64::from(real))
}

fn read(text: &str, ty: &str, parse: impl Fn(&str) -> Option<f64>) -> Result<f64> {
    let trimmed = trim(text);
    watch::count(trimmed.len());
    let (negative, body) = match trimmed.as_bytes() {
        [b'-', rest @ ..] => (true, rest),
        [b'+', rest @ ..] => (false, rest),
        all => (false, all),
    };
    let magnitude = if body.first().is_some_and(|b| b.is_ascii_digit() || *b == b'.') {
        let body = std::str::from_utf8(body).unwrap_or("");
        let x = parse(body).ok_or_else(|| invalid_syntax(ty, text))?;
        let mantissa = body.split(['e', 'E']).next().unwrap_or("");
        if x.is_infinite() || x == 0.0 && mantissa.bytes().any(|b| matches!(b, b'1'..=b'9')) {
            return Err(Error::new(
                SqlState::NUMERIC_VALUE_OUT_OF_RANGE,
                format!("\"{text}\" is out of range for type {ty}"),
            ));
        }
        x
    } else {
        match body.to_ascii_lowercase().as_slice() {
            b"nan" => f64::NAN,
            b"infinity" | b"inf" => f64::INFINITY,
            _ => return Err(invalid_syntax(ty, text)),
        }
    };
    Ok(if negative { -magnitude } else { magnitude })
}
