//! Numerics in keys.
//!
//! | number | bytes |
//! |---|---|
//! | up to 35 digits | 2 of sign and exponent, 15 of digits |
//! | more | the same with the first 35 digits and a 5 behind them; the others two to a byte, from 1 on; a byte 0 |
//! | exponents beyond those | 2 that say so, 4 of the exponent, all digits two to a byte, a byte 0 |
//! | NaN, infinities | 2 |
//!
//! What follows the first two bytes is complemented in negative numbers. Equal numbers have equal bytes, however many zeros
//! they are shown with.

use super::*;
use crate::row::Stored;
use planaria_base::numeric::long::KeyParts;
use planaria_base::numeric::{Number, PackedNumeric};

/// Digits of the short form; the last of them is 0 in numbers that have no more.
const DIGITS: u32 = 36;
const ZERO: u64 = 1 << 15;
/// What is added to an exponent.
const EXPONENT: i64 = 300;
/// Exponents of the short form.
const EXPONENTS: std::ops::RangeInclusive<i64> = -290..=32_000;
/// Instead of an exponent: a smaller one follows, a larger one, infinity, NaN.
const SMALLER: u64 = 1;
const LARGER: u64 = 32_500;
const INFINITE: u64 = 32_766;
const NAN: u64 = 32_767;
/// What is added to an exponent in four bytes.
const EXPONENT_WIDE: i64 = 1 << 20;

/// Bytes of keys of `numeric(precision, scale)`.
pub(super) fn bytes_max(precision: u16, scale: i16) -> usize {
    if u32::from(precision) < DIGITS && i64::from(scale) <= -EXPONENTS.start() {
        17
    } else {
        26 + usize::from(precision) / 2
    }
}

/// A mantissa in a column of 8 bytes in the order of what it says: NaN is above all.
#[inline]
pub(super) fn mantissa_order(mantissa: i64) -> i64 {
    if mantissa == i64::MIN { i64::MAX } else { mantissa }
}

/// Appends the numeric of a row.
#[inline]
pub(super) fn push_stored(c: &Column, image: &[u64], key: &mut KeyBuf) {
    match c.stored(image) {
        Stored::Packed(packed) => push_numeric(PackedNumeric::unpack(packed), key),
        Stored::Special(_) | Stored::Long(_) => {
            if let Field::Long(bytes) = c.field(image) {
                push_long(&Long::from_bytes(bytes), key);
            }
        }
    }
}

/// 2 bytes `sign and exponent`, 15 bytes of digits. A value is `0.d1d2d3.. * 10^exponent` with d1 > 0;
/// its digits are scaled up to the most a mantissa can have, so that they compare as an integer.
/// Negative values complement both. A number of 36 digits has more bytes, as one of any length.
#[inline]
pub(super) fn push_numeric(v: Numeric, key: &mut KeyBuf) {
    // 2^119 has 36 digits; scaled to 36 a mantissa is below 10^36 < 2^120: 15 bytes.
    let magnitude = v.mantissa().unsigned_abs();
    if magnitude == 0 {
        key.push(ZERO, 2);
        key.push(0, 8);
        key.push(0, 7);
        return;
    }
    let digits = magnitude.ilog10() + 1;
    if digits == DIGITS && !magnitude.is_multiple_of(10) {
        return push_long(&v.into(), key);
    }
    let aligned = magnitude * 10u128.pow(DIGITS - digits);
    // -255..=36, so positive exponents of the encoding lie in 1..512.
    let exponent = i64::from(digits) - i64::from(v.scale());
    let head = (exponent + 300) as u64;
    let (head, aligned) =
        if v.mantissa() > 0 { (ZERO + head, aligned) } else { (ZERO - head, !aligned & ((1 << 120) - 1)) };
    key.push(head, 2);
    key.push((aligned >> 56) as u64, 8);
    key.push(aligned as u64 & ((1 << 56) - 1), 7);
}

/// Appends a number of any length.
#[cold]
pub(super) fn push_long(v: &Long, key: &mut KeyBuf) {
    let Some(KeyParts { sign, exponent, digits }) = v.parts() else {
        let head = match v {
            Long::NegInfinity => ZERO - INFINITE,
            Long::Infinity => ZERO + INFINITE,
            _ => ZERO + NAN,
        };
        return key.push(head, 2);
    };
    if sign == 0 {
        return push_numeric(Numeric::ZERO, key);
    }
    let flip = if sign < 0 { 0xFF } else { 0 };
    let head = |code: u64| if sign > 0 { ZERO + code } else { ZERO - code };
    let rest = if EXPONENTS.contains(&exponent) {
        key.push(head((exponent + EXPONENT) as u64), 2);
        let kept = DIGITS as usize - 1;
        let (first, rest) = digits.split_at(digits.len().min(kept));
        let mut aligned =
            (0..kept).fold(0u128, |n, i| n * 10 + u128::from(first.get(i).copied().unwrap_or(0)));
        aligned = aligned * 10 + if rest.is_empty() { 0 } else { 5 };
        for byte in &aligned.to_be_bytes()[1..] {
            key.push(u64::from(byte ^ flip), 1);
        }
        if rest.is_empty() {
            return;
        }
        rest
    } else {
        key.push(head(if exponent < 0 { SMALLER } else { LARGER }), 2);
        for byte in ((exponent + EXPONENT_WIDE) as u32).to_be_bytes() {
            key.push(u64::from(byte ^ flip), 1);
        }
        &digits[..]
    };
    for pair in rest.chunks(2) {
        let byte = 1 + pair[0] * 10 + pair.get(1).copied().unwrap_or(0);
        key.push(u64::from(byte ^ flip), 1);
    }
    key.push(u64::from(flip), 1);
}

/// Whether it is negative, what stands for its exponent, and the number of bytes before digits two to a byte, if any follow.
fn head_of(key: &[u8]) -> Option<(bool, u64, usize, bool)> {
    let (head, rest) = key.split_first_chunk::<2>()?;
    let head = u64::from(u16::from_be_bytes(*head));
    let (negative, code) = (head < ZERO, head.abs_diff(ZERO));
    Some(match code {
        INFINITE.. => (negative, code, 2, false),
        SMALLER | LARGER => (negative, code, 6, true),
        _ => {
            let mut bytes = [0; 16];
            bytes[1..].copy_from_slice(rest.get(..15)?);
            let aligned = u128::from_be_bytes(bytes);
            let aligned = if negative { !aligned & ((1 << 120) - 1) } else { aligned };
            (negative, code, 17, !aligned.is_multiple_of(10))
        }
    })
}

/// Bytes of the number at the beginning of a key; of bytes that are none, anything up to their length.
pub(super) fn numeric_len(key: &[u8]) -> usize {
    let Some((negative, _, len, more)) = head_of(key) else { return key.len() };
    if !more {
        return len;
    }
    let end = if negative { 0xFF } else { 0 };
    let rest = key.get(len..).unwrap_or_default();
    len + rest.iter().position(|b| *b == end).map_or(rest.len(), |at| at + 1)
}

/// Back from bytes.
pub(super) fn take_numeric(rest: &mut &[u8]) -> Option<Number> {
    let (negative, code, before, more) = head_of(rest)?;
    let (bytes, behind) = rest.split_at_checked(numeric_len(rest))?;
    *rest = behind;
    if code >= INFINITE {
        return Some(Number::Long(match (code, negative) {
            (INFINITE, true) => Long::NegInfinity,
            (INFINITE, false) => Long::Infinity,
            _ => Long::Nan,
        }));
    }
    if code == 0 {
        return Some(Number::Short(Numeric::ZERO));
    }
    let flip = if negative { 0xFF } else { 0 };
    let bytes: Vec<u8> = bytes.iter().map(|b| b ^ flip).collect();
    let mut digits = Vec::new();
    let exponent = if before == 6 {
        i64::from(u32::from_be_bytes(*bytes[2..].first_chunk()?)) - EXPONENT_WIDE
    } else {
        let mut aligned = [0; 16];
        aligned[1..].copy_from_slice(bytes.get(2..17)?);
        let text = format!("{:036}", u128::from_be_bytes(aligned));
        digits.extend(text.bytes().take(DIGITS as usize - 1).map(|b| b - b'0'));
        code as i64 - EXPONENT
    };
    if more {
        for byte in &bytes[before..bytes.len().checked_sub(1)?] {
            let pair = byte.checked_sub(1).filter(|pair| *pair < 100)?;
            digits.extend([pair / 10, pair % 10]);
        }
    }
    while digits.last() == Some(&0) {
        digits.pop();
    }
    KeyParts { sign: if negative { -1 } else { 1 }, exponent, digits }.number()
}
