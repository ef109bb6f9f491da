//! Numbers that a [`Numeric`] does not hold: more than 35 digits, NaN, the infinities.
//!
//! All of PostgreSQL's `numeric`: up to 131072 digits before the point and 16383 behind it. Everything here is the cold path:
//! whoever computes asks [`Numeric`] first and comes here where that overflows, or where a [`Long`] is among the operands. A
//! result is narrowed ([`Long::narrow`]), so a number that fits a `Numeric` is never kept as a `Long`.
//!
//! | file | holds |
//! |---|---|
//! | `long.rs` | the type, its bytes, its text, order |
//! | `long/arith.rs` | `+ - * / %`, rounding, sqrt, gcd |
//! | `long/power.rs` | power, exp, ln, log |
//!
//! Bytes of a `Long` (in rows, records of the log, the heap of a worker): of NaN and the infinities one byte; else whether it is
//! negative (0 or 1), the scale in two bytes, the digits as a whole number without leading zeros, all little-endian.

mod arith;
mod power;
#[cfg(test)]
mod tests;

use super::{MANTISSA_BOUND, Numeric, overflow};
use crate::error::{Error, Result, SqlState};
use crate::watch;
use num_bigint::{BigInt, BigUint, Sign};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::cmp::Ordering;

/// Digits before the point.
pub const DIGITS_BEFORE_MAX: u64 = 131_072;
/// Digits behind it.
pub const SCALE_MAX: u32 = 16_383;

/// Any `numeric`, in a form that has room for it. Equality of the type is equality of text.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Long {
    /// Not a number: equal to itself, above all others.
    Nan,
    /// Above all finite numbers.
    Infinity,
    /// Below them.
    NegInfinity,
    /// A number.
    Finite(Decimal),
}

/// `digits / 10^scale`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Decimal {
    pub(super) digits: BigInt,
    pub(super) scale: u32,
}

/// A `numeric` where it fits best.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Number {
    /// In two words.
    Short(Numeric),
    /// Anything else.
    Long(Long),
}

const NAN: u8 = 2;
const INFINITY: u8 = 3;
const NEG_INFINITY: u8 = 4;

impl Long {
    /// The bytes of NaN.
    pub const NAN_BYTES: &'static [u8] = &[NAN];

    /// The bytes of NaN or an infinity by their byte; those of NaN for any other.
    pub fn special_bytes(byte: u8) -> &'static [u8] {
        match byte {
            INFINITY => &[INFINITY],
            NEG_INFINITY => &[NEG_INFINITY],
            _ => Long::NAN_BYTES,
        }
    }
}

/// 10^`n`.
pub(super) fn pow10(n: u32) -> BigUint {
    BigUint::from(10u32).pow(n)
}

/// Number of decimal digits; 0 for zero.
pub(super) fn digits_of(n: &BigUint) -> u64 {
    let bits = n.bits();
    if bits == 0 {
        return 0;
    }
    // Of a number with so many bits the digits are these or one more.
    let least = ((bits - 1) as f64 * std::f64::consts::LOG10_2) as u64;
    least + 1 + u64::from(*n >= pow10(least as u32 + 1))
}

impl From<Numeric> for Long {
    fn from(n: Numeric) -> Long {
        Long::Finite(Decimal { digits: BigInt::from(n.mantissa()), scale: u32::from(n.scale()) })
    }
}

impl From<Number> for Long {
    fn from(n: Number) -> Long {
        match n {
            Number::Short(n) => n.into(),
            Number::Long(n) => n,
        }
    }
}

impl From<Decimal> for Long {
    fn from(n: Decimal) -> Long {
        Long::Finite(n)
    }
}

impl Number {
    /// Reads what PostgreSQL reads.
    pub fn parse(text: &str) -> Result<Number> {
        match Numeric::parse(text) {
            Ok(n) => Ok(Number::Short(n)),
            Err(e) if is_overflow(&e) => Ok(Long::parse(text)?.narrow()),
            Err(e) => Err(e),
        }
    }

    /// Coerced to `numeric(precision, scale)`.
    pub fn rescale(self, precision: u16, scale: i16) -> Result<Number> {
        match self {
            Number::Short(n) => match n.rescale(precision, scale) {
                Err(e) if is_overflow(&e) => Ok(Long::from(n).rescale(precision, scale)?.narrow()),
                done => done.map(Number::Short),
            },
            Number::Long(n) => Ok(n.rescale(precision, scale)?.narrow()),
        }
    }

    pub(super) fn rescale_long(self, precision: u16, scale: i16) -> Result<Long> {
        Long::from(self).rescale(precision, scale)
    }

    /// Appends the text form.
    pub fn write(&self, out: &mut Vec<u8>) {
        match self {
            Number::Short(n) => n.write(out),
            Number::Long(n) => n.write(out),
        }
    }
}

/// The error of whatever has no room in a [`Numeric`].
#[cold]
pub fn no_room() -> Error {
    overflow()
}

/// Whether an error says that a [`Numeric`] has no room, and a [`Long`] may have it.
pub fn is_overflow(e: &Error) -> bool {
    e.sqlstate() == SqlState::NUMERIC_VALUE_OUT_OF_RANGE && e.message() == super::OVERFLOW
}

impl Long {
    /// A whole number.
    pub fn whole(n: i64) -> Long {
        Long::Finite(Decimal::new(BigInt::from(n), 0))
    }

    /// The form in which it is kept.
    pub fn narrow(self) -> Number {
        match self.short() {
            Some(n) => Number::Short(n),
            None => Number::Long(self),
        }
    }

    /// As a [`Numeric`], if that holds it.
    pub fn short(&self) -> Option<Numeric> {
        let Long::Finite(n) = self else { return None };
        if n.digits.bits() > 119 {
            return None;
        }
        let mantissa = i128::try_from(&n.digits).ok().filter(|m| m.abs() < MANTISSA_BOUND)?;
        Numeric::checked(mantissa, n.scale).ok()
    }

    /// The number, if it is one.
    pub fn finite(&self) -> Option<&Decimal> {
        match self {
            Long::Finite(n) => Some(n),
            _ => None,
        }
    }

    /// Whether it is NaN.
    pub fn is_nan(&self) -> bool {
        matches!(self, Long::Nan)
    }

    /// -1, 0 or 1; 1 for NaN.
    pub fn signum(&self) -> i32 {
        match self {
            Long::Nan | Long::Infinity => 1,
            Long::NegInfinity => -1,
            Long::Finite(n) => n.signum(),
        }
    }

    /// The order of the values: NaN equals itself and is above all.
    pub fn compare(&self, other: &Long) -> Ordering {
        let rank = |n: &Long| match n {
            Long::NegInfinity => 0,
            Long::Finite(_) => 1,
            Long::Infinity => 2,
            Long::Nan => 3,
        };
        match (self, other) {
            (Long::Finite(a), Long::Finite(b)) => a.compare(b),
            (a, b) => rank(a).cmp(&rank(b)),
        }
    }

    /// About how many bytes it takes.
    pub fn bytes_about(&self) -> usize {
        self.finite().map_or(1, |n| n.digits.bits() as usize / 8 + 4)
    }

    /// Appends its bytes.
    pub fn encode(&self, out: &mut Vec<u8>) {
        match self {
            Long::Nan => out.push(NAN),
            Long::Infinity => out.push(INFINITY),
            Long::NegInfinity => out.push(NEG_INFINITY),
            Long::Finite(n) => {
                out.push(u8::from(n.signum() < 0));
                out.extend_from_slice(&(n.scale as u16).to_le_bytes());
                if n.signum() != 0 {
                    out.extend_from_slice(&n.digits.magnitude().to_bytes_le());
                }
            }
        }
    }

    /// Back from bytes; `None` for those that [`Long::encode`] does not make, or of a number that a [`Numeric`] holds.
    pub fn decode(bytes: &[u8]) -> Option<Long> {
        let n = Long::decode_trusted(bytes)?;
        match &n {
            Long::Finite(d) => {
                let canonical = bytes.len() == 3 || bytes.last() != Some(&0);
                let room = d.scale <= SCALE_MAX && !d.is_too_large();
                (canonical && room && n.short().is_none()).then_some(n)
            }
            _ => Some(n),
        }
    }

    fn decode_trusted(bytes: &[u8]) -> Option<Long> {
        Some(match bytes {
            [NAN] => Long::Nan,
            [INFINITY] => Long::Infinity,
            [NEG_INFINITY] => Long::NegInfinity,
            [sign @ (0 | 1), a, b, digits @ ..] => {
                let magnitude = BigUint::from_bytes_le(digits);
                let sign = if *sign == 1 { Sign::Minus } else { Sign::Plus };
                let scale = u32::from(u16::from_le_bytes([*a, *b]));
                Long::Finite(Decimal { digits: BigInt::from_biguint(sign, magnitude), scale })
            }
            _ => return None,
        })
    }

    /// Back from bytes that [`Long::encode`] made; NaN for others.
    pub fn from_bytes(bytes: &[u8]) -> Long {
        Long::decode_trusted(bytes).unwrap_or(Long::Nan)
    }

    /// Reads what PostgreSQL reads; 22003 for what not even this has room for.
    pub fn parse(text: &str) -> Result<Long> {
        let trimmed = crate::text_io::trim(text);
        let invalid = || {
            let message = format!("invalid input syntax for type numeric: \"{text}\"");
            Error::new(SqlState::INVALID_TEXT_REPRESENTATION, message)
        };
        let (negative, body) = match trimmed.as_bytes() {
            [b'-', rest @ ..] => (true, rest),
            [b'+', rest @ ..] => (false, rest),
            all => (false, all),
        };
        let signed = body.len() != trimmed.len();
        let word = |w: &str| body.eq_ignore_ascii_case(w.as_bytes());
        if word("nan") && !signed {
            return Ok(Long::Nan);
        }
        if word("infinity") || word("inf") {
            return Ok(if negative { Long::NegInfinity } else { Long::Infinity });
        }
        let (mantissa, exponent) = match body.iter().position(|b| matches!(b, b'e' | b'E')) {
            Some(at) => (&body[..at], Some(&body[at + 1..])),
            None => (body, None),
        };
        let (whole, fraction) = match mantissa.iter().position(|b| *b == b'.') {
            Some(at) => (&mantissa[..at], &mantissa[at + 1..]),
            None => (mantissa, &[][..]),
        };
        let plain = |digits: &[u8]| digits.iter().all(u8::is_ascii_digit);
        if whole.len() + fraction.len() == 0 || !plain(whole) || !plain(fraction) {
            return Err(invalid());
        }
        let exponent = match exponent {
            None => 0,
            Some(text) => {
                let digits = text.strip_prefix(b"-").or(text.strip_prefix(b"+")).unwrap_or(text);
                if digits.is_empty() || !plain(digits) {
                    return Err(invalid());
                }
                let value = std::str::from_utf8(text).ok().and_then(|t| t.parse::<i32>().ok());
                i64::from(value.filter(|n| n.unsigned_abs() < i32::MAX as u32 / 2).ok_or_else(overflow)?)
            }
        };
        watch::count(body.len());
        let digits: Vec<u8> = whole.iter().chain(fraction).copied().skip_while(|d| *d == b'0').collect();
        let scale = fraction.len() as i64 - exponent;
        if digits.len() as i64 - scale > DIGITS_BEFORE_MAX as i64 && !digits.is_empty()
            || scale > i64::from(SCALE_MAX)
        {
            return Err(overflow());
        }
        let number = BigUint::parse_bytes(&digits, 10).unwrap_or_default();
        let (number, scale) = match u32::try_from(scale) {
            Ok(scale) => (number, scale),
            Err(_) if digits.is_empty() => (number, 0),
            Err(_) => (number * pow10(scale.unsigned_abs() as u32), 0),
        };
        let sign = if negative { Sign::Minus } else { Sign::Plus };
        Ok(Decimal { digits: BigInt::from_biguint(sign, number), scale }.into())
    }

    /// The number of these decimal digits times a power of ten, of whatever scale: to be rounded or cut by the caller.
    pub fn of_digits(negative: bool, digits: &[u8], exponent: i32) -> Long {
        let number = BigUint::parse_bytes(digits, 10).unwrap_or_default();
        let sign = if negative { Sign::Minus } else { Sign::Plus };
        let (number, scale) = match exponent {
            0.. => (number * pow10(exponent as u32), 0),
            _ => (number, exponent.unsigned_abs()),
        };
        Decimal::new(BigInt::from_biguint(sign, number), scale).into()
    }

    /// Appends the text form.
    pub fn write(&self, out: &mut Vec<u8>) {
        match self {
            Long::Nan => out.extend_from_slice(b"NaN"),
            Long::Infinity => out.extend_from_slice(b"Infinity"),
            Long::NegInfinity => out.extend_from_slice(b"-Infinity"),
            Long::Finite(n) => n.write(out),
        }
    }

    /// The nearest double.
    pub fn to_f64(&self) -> f64 {
        match self {
            Long::Nan => f64::NAN,
            Long::Infinity => f64::INFINITY,
            Long::NegInfinity => f64::NEG_INFINITY,
            Long::Finite(_) => self.to_string().parse().unwrap_or(f64::NAN),
        }
    }

    /// The cast of a double: 15 significant digits of it.
    pub fn from_f64(x: f64) -> Result<Long> {
        Long::from_digits(x, 14)
    }

    /// From a `real`, which `x` is: its six digits.
    pub fn from_real(x: f64) -> Result<Long> {
        Long::from_digits(x, 5)
    }

    fn from_digits(x: f64, further: usize) -> Result<Long> {
        if x.is_nan() {
            return Ok(Long::Nan);
        }
        if x.is_infinite() {
            return Ok(if x < 0.0 { Long::NegInfinity } else { Long::Infinity });
        }
        let text = format!("{x:.further$e}");
        let Long::Finite(n) = Long::parse(&text)? else { return Ok(Long::Nan) };
        Ok(n.trimmed().into())
    }

    /// As a whole number of 64 bits, half away from zero; `None` beyond them. 0A000 for NaN and the infinities, which name the
    /// type.
    pub fn to_i64(&self, ty: &str) -> Result<Option<i64>> {
        let what = match self {
            Long::Finite(n) => return Ok(i64::try_from(&n.round_digits(0)).ok()),
            Long::Nan => "NaN",
            _ => "infinity",
        };
        Err(Error::new(SqlState::FEATURE_NOT_SUPPORTED, format!("cannot convert {what} to {ty}")))
    }

    /// Digits behind the point; `None` for NaN and the infinities.
    pub fn scale(&self) -> Option<u32> {
        self.finite().map(|n| n.scale)
    }

    /// Without zeros at the end behind the point.
    pub fn normalized(&self) -> Long {
        match self {
            Long::Finite(n) => n.clone().trimmed().into(),
            special => special.clone(),
        }
    }

    /// The digits at a scale, rounded down, and whether that was exact. What is too large for 127 bits is as large as they
    /// allow.
    pub fn floor_at(&self, scale: u32) -> (i128, bool) {
        let saturated = if self.signum() < 0 { i128::MIN / 4 } else { i128::MAX / 4 };
        let Long::Finite(n) = self else { return (saturated, false) };
        if n.scale <= scale {
            return (i128::try_from(&n.at_scale(scale)).unwrap_or(saturated), true);
        }
        let power = BigInt::from(pow10(n.scale - scale));
        let (mut floor, rest) = (&n.digits / &power, &n.digits % &power);
        if rest.sign() == Sign::Minus {
            floor -= 1;
        }
        (i128::try_from(&floor).unwrap_or(saturated), rest.sign() == Sign::NoSign)
    }

    /// What orders it in an index: see `storage::key`. `None` for NaN and the infinities.
    pub fn parts(&self) -> Option<KeyParts> {
        let n = self.finite()?;
        let mut digits = n.digits.magnitude().to_str_radix(10).into_bytes();
        let exponent = digits.len() as i64 - i64::from(n.scale);
        if n.signum() == 0 {
            return Some(KeyParts { sign: 0, exponent: 0, digits: Vec::new() });
        }
        while digits.last() == Some(&b'0') {
            digits.pop();
        }
        digits.iter_mut().for_each(|d| *d -= b'0');
        Some(KeyParts { sign: n.signum(), exponent, digits })
    }
}

/// A number as `0.d1d2d3.. * 10^exponent` with d1 > 0.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeyParts {
    /// -1, 0 or 1.
    pub sign: i32,
    /// Of ten.
    pub exponent: i64,
    /// From 0 to 9, the last of them not 0.
    pub digits: Vec<u8>,
}

impl KeyParts {
    /// The number of these parts.
    pub fn number(&self) -> Option<Number> {
        let text: Vec<u8> = self.digits.iter().map(|d| d + b'0').collect();
        let sign = if self.sign < 0 { "-" } else { "" };
        let text = String::from_utf8(text).ok()?;
        Number::parse(&format!("{sign}0.{text}e{}", self.exponent)).ok()
    }
}

impl Decimal {
    pub(super) fn new(digits: BigInt, scale: u32) -> Decimal {
        Decimal { digits, scale }
    }

    /// -1, 0 or 1.
    pub fn signum(&self) -> i32 {
        match self.digits.sign() {
            Sign::Minus => -1,
            Sign::NoSign => 0,
            Sign::Plus => 1,
        }
    }

    /// Whether it is zero.
    pub fn is_zero(&self) -> bool {
        self.signum() == 0
    }

    /// Digits behind the point.
    pub fn scale(&self) -> u32 {
        self.scale
    }

    /// Digits without sign and point.
    pub fn digits(&self) -> String {
        self.digits.magnitude().to_str_radix(10)
    }

    /// Digits before the point; not above 0 for numbers below 1.
    fn digits_before(&self) -> i64 {
        if self.is_zero() { 0 } else { digits_of(self.digits.magnitude()) as i64 - i64::from(self.scale) }
    }

    fn is_too_large(&self) -> bool {
        let about = (self.digits.bits() as f64 * std::f64::consts::LOG10_2) as i64 - i64::from(self.scale);
        about + 2 > DIGITS_BEFORE_MAX as i64 && self.digits_before() > DIGITS_BEFORE_MAX as i64
    }

    /// 22003 beyond the limits.
    pub(super) fn checked(self) -> Result<Long> {
        if self.scale > SCALE_MAX || self.is_too_large() {
            return Err(overflow());
        }
        Ok(self.into())
    }

    /// The digits of the same number with a larger scale.
    pub(super) fn at_scale(&self, scale: u32) -> BigInt {
        debug_assert!(scale >= self.scale);
        if scale == self.scale {
            return self.digits.clone();
        }
        &self.digits * BigInt::from(pow10(scale - self.scale))
    }

    fn compare(&self, other: &Decimal) -> Ordering {
        let signs = self.signum().cmp(&other.signum());
        if signs.is_ne() || self.is_zero() {
            return signs;
        }
        let scale = self.scale.max(other.scale);
        self.at_scale(scale).cmp(&other.at_scale(scale))
    }

    /// Without zeros at the end behind the point.
    pub fn trimmed(mut self) -> Decimal {
        if self.is_zero() {
            return Decimal::new(BigInt::default(), 0);
        }
        // Halves of the scale first: few divisions even of the longest.
        let mut step = self.scale.next_power_of_two();
        while step > 0 && self.scale > 0 {
            if step <= self.scale {
                let power = BigInt::from(pow10(step));
                if (&self.digits % &power).sign() == Sign::NoSign {
                    self.digits /= power;
                    self.scale -= step;
                    continue;
                }
            }
            step /= 2;
        }
        self
    }

    fn write(&self, out: &mut Vec<u8>) {
        if self.signum() < 0 {
            out.push(b'-');
        }
        let digits = self.digits().into_bytes();
        watch::count(digits.len());
        let scale = self.scale as usize;
        let whole = digits.len().saturating_sub(scale);
        out.extend_from_slice(if whole == 0 { b"0" } else { &digits[..whole] });
        if scale > 0 {
            out.push(b'.');
            out.resize(out.len() + scale.saturating_sub(digits.len()), b'0');
            out.extend_from_slice(&digits[whole..]);
        }
    }
}

impl std::fmt::Display for Long {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mut text = Vec::new();
        self.write(&mut text);
        f.pad(std::str::from_utf8(&text).unwrap_or(""))
    }
}

impl std::fmt::Display for Number {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Number::Short(n) => n.fmt(f),
            Number::Long(n) => n.fmt(f),
        }
    }
}

impl Serialize for Long {
    fn serialize<S: Serializer>(&self, serializer: S) -> std::result::Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.to_string())
    }
}

impl<'de> Deserialize<'de> for Long {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> std::result::Result<Long, D::Error> {
        let text = String::deserialize(deserializer)?;
        Long::parse(&text).map_err(|e| serde::de::Error::custom(e.message()))
    }
}
