//! The binary form of numerics that have no room in two words, and reading it of all.
//!
//! Digits to the base 10000, aligned at the point: their number, the weight of the first, the sign or what it is else, the
//! display scale, the digits; all in two bytes.

use planaria::{Error, Numeric, Result, SqlState};
use planaria_base::limits::NUMERIC_SCALE_MAX;
use planaria_base::numeric::{Long, Number};

const NEGATIVE: u16 = 0x4000;
const NAN: u16 = 0xC000;
const INFINITY: u16 = 0xD000;
const NEG_INFINITY: u16 = 0xF000;
/// What PostgreSQL has as the scale of infinities.
const SCALE_OF_INFINITY: u16 = 0x20;
/// The largest scale.
const SCALE_MAX: u16 = 0x3FFF;

/// Appends the binary form.
#[cold]
pub(crate) fn put(out: &mut Vec<u8>, n: &Long) {
    let mut words = |words: [u16; 4]| words.iter().for_each(|w| out.extend_from_slice(&w.to_be_bytes()));
    let n = match n {
        Long::Nan => return words([0, 0, NAN, 0]),
        Long::Infinity => return words([0, 0, INFINITY, SCALE_OF_INFINITY]),
        Long::NegInfinity => return words([0, 0, NEG_INFINITY, SCALE_OF_INFINITY]),
        Long::Finite(n) => n,
    };
    let scale = n.scale() as usize;
    let mut digits = n.digits().into_bytes();
    // Whole groups of four on both sides of the point.
    digits.resize(digits.len() + scale.next_multiple_of(4) - scale, b'0');
    let before = digits.len().next_multiple_of(4) - digits.len();
    digits.splice(0..0, std::iter::repeat_n(b'0', before));
    let group = |g: &[u8]| g.iter().fold(0u16, |n, d| n * 10 + u16::from(d - b'0'));
    let groups: Vec<u16> = digits.chunks(4).map(group).collect();
    let behind = scale.div_ceil(4);
    let first = groups.iter().position(|g| *g != 0).unwrap_or(groups.len());
    let last = groups.iter().rposition(|g| *g != 0).map_or(first, |at| at + 1);
    let sent = &groups[first..last];
    let weight = if sent.is_empty() { 0 } else { (groups.len() - first) as i32 - behind as i32 - 1 };
    let sign = if n.signum() < 0 { NEGATIVE } else { 0 };
    words([sent.len() as u16, weight as i16 as u16, sign, scale as u16]);
    sent.iter().for_each(|g| out.extend_from_slice(&g.to_be_bytes()));
}

fn invalid(what: &str) -> Error {
    Error::new(
        SqlState::INVALID_BINARY_REPRESENTATION,
        format!("invalid {what} in external \"numeric\" value"),
    )
}

/// Reads the binary form; 22P03 of bytes that are none.
pub(crate) fn take(bytes: &[u8]) -> Result<Number> {
    match short(bytes) {
        Some(n) => Ok(Number::Short(n)),
        None => long(bytes),
    }
}

/// The same of a number that two words have room for.
fn short(bytes: &[u8]) -> Option<Numeric> {
    let (words, odd) = bytes.as_chunks::<2>();
    let mut words = words.iter().map(|word| i16::from_be_bytes(*word));
    let (count, weight) = (words.next()?, i32::from(words.next()?));
    let (sign, scale) = (words.next()? as u16, u8::try_from(words.next()?).ok()?);
    if !matches!(sign, 0 | NEGATIVE) || words.len() != usize::try_from(count).ok()? || !odd.is_empty() {
        return None;
    }
    let mut mantissa = 0i128;
    for digit in words {
        if !(0..10_000).contains(&digit) {
            return None;
        }
        mantissa = mantissa.checked_mul(10_000)?.checked_add(digit.into())?;
    }
    // The mantissa counts groups up to here behind the point; the display scale cuts or fills up.
    let mut behind = 4 * (i32::from(count) - 1 - weight);
    let wanted = i32::from(scale);
    if mantissa == 0 {
        behind = wanted;
    }
    while behind < wanted {
        mantissa = mantissa.checked_mul(10)?;
        behind += 1;
    }
    while behind > wanted {
        mantissa /= 10;
        behind -= 1;
    }
    if u32::from(scale) > NUMERIC_SCALE_MAX {
        return None;
    }
    Numeric::from_parts(if sign == 0 { mantissa } else { -mantissa }, scale)
}

#[cold]
fn long(bytes: &[u8]) -> Result<Number> {
    let mut words = bytes.chunks(2).map(|pair| match pair {
        [a, b] => Some(u16::from_be_bytes([*a, *b])),
        _ => None,
    });
    let short = || Error::new(SqlState::INVALID_BINARY_REPRESENTATION, "incorrect binary data format");
    let mut next = || words.next().flatten().ok_or_else(short);
    let (count, weight, sign, scale) = (next()?, next()? as i16, next()?, next()?);
    let number = match sign {
        0 | NEGATIVE => {
            if scale > SCALE_MAX {
                return Err(invalid("scale"));
            }
            let mut text = String::with_capacity(usize::from(count) * 4 + 16);
            for _ in 0..count {
                let digit = next()?;
                if digit >= 10_000 {
                    return Err(invalid("digit"));
                }
                text.push_str(&format!("{digit:04}"));
            }
            let text = if text.is_empty() { "0".to_owned() } else { text };
            // The digits count whole groups up to here behind the point.
            let behind = 4 * (i32::from(count) - 1 - i32::from(weight));
            let exponent = if count == 0 { 0 } else { -behind };
            Long::of_digits(sign == NEGATIVE, text.as_bytes(), exponent).trunc(i32::from(scale))?
        }
        NAN => Long::Nan,
        INFINITY => Long::Infinity,
        NEG_INFINITY => Long::NegInfinity,
        _ => return Err(invalid("sign")),
    };
    if words.next().is_some() {
        return Err(Error::new(SqlState::INVALID_BINARY_REPRESENTATION, "incorrect binary data format"));
    }
    Ok(number.narrow())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_sent_comes_back() {
        let zeros = "0".repeat(300);
        for text in [
            "NaN",
            "Infinity",
            "-Infinity",
            "1234567890123456789012345678901234567890.5",
            "-0.00000000000000000000000000000000000000012345678901234567890123456789012345678901234567890",
            &format!("1{zeros}"),
            &format!("0.{zeros}"),
            &format!("7.{zeros}12"),
        ] {
            let n = Long::parse(text).expect("a number");
            let mut out = Vec::new();
            put(&mut out, &n);
            assert_eq!(take(&out), Ok(Number::Long(n)), "{text}");
        }
    }
}
